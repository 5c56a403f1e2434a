/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop/op.h"
#include "base/loop/watch.h"
#include "base/mem.h"
#include "unit/messages/broker/outbox.h"

/*
 * Whatever befalls the server, the reader comes back by itself, loses no row
 * and gives none twice, and says what is wrong.
 */
static void
put_rows(int from, int to)
{
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox (id, aggregateid, type, payload) "
	    "SELECT n, 'e' || n, 'made', '{}' FROM generate_series(%d, %d) n",
	    from, to);
}

static struct outbox *
with_rows(int rows)
{
	outbox_table(outbox_server, "int");
	put_rows(1, rows);
	struct outbox *o = outbox_new(NULL);
	outbox_open(o, 100);
	outbox_until_took(o, (size_t)rows);
	return o;
}

static const char *
message_of(const struct outbox *o)
{
	return broker_reader_health(o->reader).message;
}

static void
a_session_that_is_ended_is_made_again(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct outbox *o = with_rows(2);
	outbox_run_ms(o, 1200);
	for (int i = 3; i < 6; i++) {
		postgres_just(outbox_server, NULL,
		    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
		    "WHERE application_name = 'onceproxy/test'");
		put_rows(i, i);
		outbox_until_took(o, (size_t)i);
	}
	/* Others may have finished it meanwhile: it is not said to be lost. */
	postgres_just(outbox_server, NULL, "DELETE FROM outbox WHERE id = 1");
	assert_int_equal(outbox_finish(o, &f, o->took[0], NULL), 0);
	assert_int_equal(f.finish.finished, BROKER_NOT_PENDING);
	assert_int_equal(o->deleted, 0);
	outbox_free(&o);
}

/*
 * Takes the number of a descriptor as soon as its connection is closed: behind
 * the events of each turn it looks.
 */
struct taker {
	struct loop *loop;
	struct watch *always;
	struct op look;
	int number;
	int there;
	struct watch *watch;
	bool heard;
};

static void
look_each_turn(void *arg, unsigned events)
{
	struct taker *t = arg;
	(void)events;
	op_start(&t->look, OP_UNTIMED, NULL);
	op_done(&t->look, 0);
}

static void
on_byte(void *arg, unsigned events)
{
	struct taker *t = arg;
	(void)events;
	t->heard = true;
	watch_want(t->watch, 0);
}

static void
take_number(void *arg)
{
	struct taker *t = arg;
	int pair[2];
	if (t->watch != NULL || fcntl(t->number, F_GETFD) != -1)
		return;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	t->there = pair[0] == t->number ? pair[1] : pair[0];
	int here = pair[0] == t->number ? pair[0] : pair[1];
	if (here != t->number) {
		assert_int_equal(dup2(here, t->number), t->number);
		close(here);
	}
	t->watch = watch_new(t->loop, t->number, WATCH_READ, on_byte, t);
}

/* The reader's, which was made last; the test's own is there, too. */
static int
socket_of_reader(void)
{
	for (int fd = 1023; fd > 2; fd--) {
		struct sockaddr_un name;
		socklen_t size = sizeof name;
		if (getpeername(fd, (struct sockaddr *)&name, &size) == 0 &&
		    name.sun_family == AF_UNIX && size > sizeof(sa_family_t) &&
		    strstr(name.sun_path, ".s.PGSQL") != NULL)
			return fd;
	}
	fail_msg("it has no connection to the server");
	return -1;
}

/* Whoever has its number next is a client, perhaps. */
static void
a_connection_that_is_lost_takes_no_other_with_it(void **state)
{
	(void)state;
	struct outbox *o = with_rows(1);
	int always[2];
	struct taker t = {.loop = o->loop, .number = socket_of_reader()};
	assert_int_equal(pipe(always), 0);
	assert_int_equal(write(always[1], "a", 1), 1);
	op_init(&t.look, o->loop, take_number, &t);
	t.always =
	    watch_new(o->loop, always[0], WATCH_READ, look_each_turn, &t);
	postgres_just(outbox_server, NULL,
	    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
	    "WHERE application_name = 'onceproxy/test'");
	put_rows(2, 2);
	outbox_until_took(o, 2);
	assert_non_null(t.watch);
	assert_int_equal(write(t.there, "a", 1), 1);
	outbox_run_ms(o, 100);
	assert_true(t.heard);
	watch_free(&t.watch);
	watch_free(&t.always);
	outbox_free(&o);
	close(t.there);
	close(t.number);
	close(always[0]);
	close(always[1]);
}

static void
what_was_on_its_way_is_done_once(void **state)
{
	(void)state;
	enum { ROWS = 64 };
	static struct outbox_finish f[ROWS];
	static char results[] = "done";
	struct broker_put put = {.place = BROKER_RESULTS};
	outbox_table(outbox_server, "int");
	put_rows(1, ROWS);
	struct outbox *o = outbox_new(NULL);
	o->source.results = results;
	outbox_open(o, ROWS);
	outbox_until_took(o, ROWS);
	int again = 0;
	for (int round = 0; round < 8; round++) {
		struct outbox_finish *of = &f[round * 8];
		for (int i = 0; i < 8; i++)
			outbox_finish_begin(
			    o, &of[i], o->took[round * 8 + i], &put);
		outbox_run_ms(o, round);
		postgres_just(outbox_server, NULL,
		    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
		    "WHERE application_name = 'onceproxy/test'");
		for (int i = 0; i < 8; i++) {
			outbox_until_done(o, &of[i]);
			int error = of[i].finish.op.error;
			for (; error == E_BROKER_DOWN; again++) {
				outbox_until_up(o, true);
				error = outbox_finish(o, &of[i],
				    o->took[round * 8 + i], &put);
			}
			assert_int_equal(error, 0);
		}
	}
	print_message("# asked again: %d\n", again);
	assert_int_equal(
	    postgres_number(outbox_server, "SELECT count(*) FROM done"),
	    ROWS);
	assert_int_equal(
	    postgres_number(outbox_server, "SELECT count(*) FROM outbox"), 0);
	assert_int_equal(o->deleted, 0);
	outbox_free(&o);
}

static void
a_server_that_hangs_is_left_and_found_again(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct outbox *o = with_rows(2);
	postgres_freeze(outbox_server);
	outbox_finish_begin(o, &f, o->took[0], NULL);
	outbox_until_done(o, &f);
	assert_int_equal(f.finish.op.error, E_BROKER_DOWN);
	outbox_until_up(o, false);
	assert_string_equal(
	    message_of(o), "the server does not answer any more");
	postgres_thaw(outbox_server);
	outbox_until_up(o, true);
	assert_int_equal(outbox_finish(o, &f, o->took[1], NULL), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	outbox_free(&o);
}

/* --- several hosts --- */

static int
listen_silently(int *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void
of_several_hosts_the_one_that_serves_is_found(void **state)
{
	(void)state;
	int port, fd = listen_silently(&port);
	outbox_table(outbox_server, "int");
	put_rows(1, 1);
	struct outbox *o = outbox_new(NULL);
	free(o->broker.postgres);
	/* No socket; a name that there is not; one that hangs; by name. */
	o->broker.postgres = mem_printf(
	    "postgresql://once@%%2Fnowhere:1,no.such.name.invalid:1,"
	    "127.0.0.1:%d,localhost:%d/postgres",
	    port, outbox_server->port);
	outbox_open(o, 10);
	outbox_until_took(o, 1);
	outbox_free(&o);
	close(fd);
}

static void
a_server_that_only_reads_is_passed_over(void **state)
{
	(void)state;
	struct postgres *writes = postgres_start();
	outbox_table(writes, "int");
	postgres_just(writes, NULL,
	    "INSERT INTO outbox (id, payload) VALUES (1, '1'), (2, '1')");
	outbox_table(outbox_server, "int");
	put_rows(100, 100);
	struct outbox *o = outbox_new(NULL);
	free(o->broker.postgres);
	o->broker.postgres = mem_printf(
	    "postgresql://once@/postgres?host=%s,%s&port=%d,%d",
	    outbox_server->folder, writes->folder, outbox_server->port,
	    writes->port);
	postgres_just(outbox_server, NULL,
	    "ALTER ROLE once SET default_transaction_read_only = on");
	outbox_open(o, 10);
	outbox_until_took(o, 2);
	outbox_assert_span(o->took[1]->position, "2");
	/* It fails over: the first writes, and the second is gone. */
	postgres_just(outbox_server, NULL,
	    "ALTER ROLE once RESET default_transaction_read_only");
	postgres_stop(&writes);
	outbox_until_took(o, 3);
	outbox_assert_span(o->took[2]->position, "100");
	outbox_free(&o);
}

/* --- what cannot be read --- */

static void
what_is_wrong_with_the_table_is_said_until_it_is_right(void **state)
{
	(void)state;
	static char headers[] = "headers";
	postgres_just(outbox_server, NULL, "DROP TABLE IF EXISTS outbox");
	struct outbox *o = outbox_new(NULL);
	o->source.columns.headers = headers;
	outbox_open(o, 10);
	outbox_until_up(o, false);
	assert_string_equal(
	    message_of(o), "relation \"outbox\" does not exist");
	postgres_just(outbox_server, NULL,
	    "CREATE TABLE outbox (id int, type text, payload json, "
	    "headers text)");
	outbox_run_ms(o, 3000);
	assert_string_equal(message_of(o),
	    "the table outbox has no column aggregateid, which is its "
	    "columns.entity");
	postgres_just(outbox_server, NULL,
	    "ALTER TABLE outbox ADD aggregateid text");
	outbox_run_ms(o, 6000);
	assert_string_equal(message_of(o),
	    "the column headers is neither json nor jsonb");
	postgres_just(outbox_server, NULL,
	    "ALTER TABLE outbox DROP headers; "
	    "ALTER TABLE outbox ADD headers json; "
	    "INSERT INTO outbox (id, payload) VALUES (1, '1')");
	outbox_until_took(o, 1);
	assert_true(broker_reader_health(o->reader).up);
	assert_string_equal(message_of(o), "");
	outbox_free(&o);
}

static void
ask_for_the_password_of(const char *role)
{
	char path[FOLDER_MAX + 32];
	snprintf(
	    path, sizeof path, "%s/data/pg_hba.conf", outbox_server->folder);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file, "host all %s all scram-sha-256\nlocal all all trust\n"
		      "host all all all trust\n", role);
	assert_int_equal(fclose(file), 0);
}

static void
a_password_is_given_and_never_said(void **state)
{
	(void)state;
	static char password[] = "s3cret-of-the-shop";
	outbox_table(outbox_server, "int");
	put_rows(1, 1);
	struct outbox *o = outbox_new(NULL);
	ask_for_the_password_of("careful");
	postgres_just(outbox_server, NULL,
	    "DROP ROLE IF EXISTS careful; "
	    "CREATE ROLE careful LOGIN SUPERUSER PASSWORD 'other'; "
	    "SELECT pg_reload_conf()");
	free(o->broker.postgres);
	o->broker.postgres = mem_printf("postgresql://careful@localhost:%d/"
					"postgres", outbox_server->port);
	o->broker.password = password;
	outbox_open(o, 10);
	outbox_until_up(o, false);
	assert_non_null(strstr(message_of(o), "authentication failed"));
	assert_null(strstr(message_of(o), password));
	postgres_just(outbox_server, NULL,
	    "ALTER ROLE careful PASSWORD '%s'", password);
	outbox_until_took(o, 1);
	outbox_free(&o);
}

static void
rows_come_over_tls_too(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	postgres_just(outbox_server, NULL,
	    "COPY (SELECT 1) TO PROGRAM 'openssl req -new -x509 -days 2 "
	    "-nodes -subj /CN=x -keyout server.key -out server.crt "
	    "2>/dev/null && chmod 600 server.key'; "
	    "INSERT INTO outbox (id, payload) SELECT n, "
	    "to_jsonb(repeat('x', 7001 * n)) FROM generate_series(1, 100) n");
	postgres_just(outbox_server, NULL, "ALTER SYSTEM SET ssl = on");
	postgres_just(outbox_server, NULL, "SELECT pg_reload_conf()");
	struct outbox *o = outbox_new(NULL);
	free(o->broker.postgres);
	o->broker.postgres = mem_printf(
	    "postgresql://once@localhost:%d/postgres?sslmode=require",
	    outbox_server->port);
	outbox_open(o, 100);
	outbox_until_took(o, 100);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(o->took[i]->payload.len, 7001 * (i + 1) + 2);
	assert_int_equal(
	    postgres_number(outbox_server,
		"SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity "
		"USING (pid) WHERE ssl AND "
		"application_name = 'onceproxy/test'"),
	    1);
	outbox_free(&o);
}

static void
a_uri_that_cannot_be_read_is_said(void **state)
{
	(void)state;
	struct outbox *o = outbox_new(NULL);
	free(o->broker.postgres);
	o->broker.postgres = mem_printf("postgresql://[x");
	outbox_open(o, 10);
	outbox_until_up(o, false);
	assert_string_equal(message_of(o), "the URI cannot be read");
	outbox_free(&o);
}

static void
close_takes_no_time_whatever_is_under_way(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	put_rows(1, 100);
	for (int ms = 0; ms < 30; ms++) {
		struct outbox *o = outbox_new(NULL);
		outbox_open(o, 100);
		outbox_run_ms(o, ms);
		outbox_free(&o);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_session_that_is_ended_is_made_again),
	    cmocka_unit_test(a_connection_that_is_lost_takes_no_other_with_it),
	    cmocka_unit_test(what_was_on_its_way_is_done_once),
	    cmocka_unit_test(a_server_that_hangs_is_left_and_found_again),
	    cmocka_unit_test(of_several_hosts_the_one_that_serves_is_found),
	    cmocka_unit_test(a_server_that_only_reads_is_passed_over),
	    cmocka_unit_test(
		what_is_wrong_with_the_table_is_said_until_it_is_right),
	    cmocka_unit_test(a_password_is_given_and_never_said),
	    cmocka_unit_test(rows_come_over_tls_too),
	    cmocka_unit_test(a_uri_that_cannot_be_read_is_said),
	    cmocka_unit_test(close_takes_no_time_whatever_is_under_way),
	};
	return cmocka_run_group_tests(
	    tests, outbox_start_server, outbox_stop_server);
}
