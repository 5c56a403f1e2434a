/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/loop/clock.h"
#include "unit/messages/broker/outbox.h"

/*
 * A row is acknowledged together with what is put for it, or not at all, once,
 * and what cannot be put holds nobody else up.
 */
static char results[] = "done", set_column[] = "published_at";

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
	o->source.results = results;
	outbox_open(o, (unsigned)rows);
	outbox_until_took(o, (size_t)rows);
	return o;
}

static long long
count(const char *table)
{
	return postgres_number(
	    outbox_server, "SELECT count(*) FROM %s", table);
}

static bool
says(const char *sql, const char *wanted)
{
	char *text = postgres_text(outbox_server, "%s", sql);
	bool same = strcmp(text, wanted) == 0;
	if (!same)
		print_message("# \"%s\" is not \"%s\"\n", text, wanted);
	free(text);
	return same;
}

static void
or_a_column_is_set(void **state)
{
	(void)state;
	struct outbox_finish f;
	outbox_table(outbox_server, "int");
	put_rows(1, 2);
	struct outbox *o = outbox_new(NULL);
	o->source.finish.column = set_column;
	outbox_open(o, 100);
	outbox_until_took(o, 2);
	assert_int_equal(outbox_finish(o, &f, o->took[0], NULL), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_true(says("SELECT published_at > now() - interval '1 minute' "
			 "FROM outbox WHERE id = 1", "t"));
	/* Somebody else has set the other one: it is not deleted. */
	postgres_just(outbox_server, NULL, "UPDATE outbox SET published_at = "
					   "'2020-01-01' WHERE id = 2");
	assert_int_equal(outbox_finish(o, &f, o->took[1], NULL), 0);
	assert_int_equal(f.finish.finished, BROKER_NOT_PENDING);
	assert_int_equal(o->deleted, 0);
	assert_true(says("SELECT extract(year FROM published_at) FROM outbox "
			 "WHERE id = 2", "2020"));
	/* A row that is made unread comes again. */
	postgres_just(outbox_server, NULL,
	    "UPDATE outbox SET published_at = NULL WHERE id = 2");
	outbox_until_took(o, 3);
	outbox_free(&o);
}

static void
a_result_is_put_with_the_acknowledgement(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct field fields[] = {
	    {SPAN("content-type"), SPAN("text/plain; x=\"y\\\"")},
	    {SPAN("latin"), SPAN("\xe9")},
	    {SPAN("control"), SPAN("\1")},
	};
	struct broker_put put = {.place = BROKER_RESULTS,
	    .fields = {fields, 3},
	    .has_body = true,
	    .body = SPAN("\0\xff bytes"),
	    .status = 201,
	    .key_id = SPAN("00ff")};
	struct outbox *o = with_rows(3);
	assert_int_equal(outbox_finish(o, &f, o->took[0], &put), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_int_equal(count("outbox"), 2);
	assert_true(says("SELECT concat_ws('|', id ~ '^1/[0-9a-f]{16}$', "
			 "status, headers->>'content-type', "
			 "headers->>'latin', ascii(headers->>'control'), "
			 "encode(body, 'hex'), key_id, "
			 "created > now() - interval '1 minute') FROM done",
	    "t|201|text/plain; x=\"y\\\"|\xc3\xa9|1|00ff206279746573|00ff|t"));
	/* Without a body, and without a status. */
	put.has_body = false;
	put.status = 0;
	assert_int_equal(outbox_finish(o, &f, o->took[1], &put), 0);
	assert_true(says("SELECT concat(body IS NULL, status IS NULL) "
			 "FROM done WHERE id LIKE '2/%'", "tt"));
	/* An empty one is one. */
	put.has_body = true;
	put.body = span_of(NULL, 0);
	assert_int_equal(outbox_finish(o, &f, o->took[2], &put), 0);
	assert_true(says(
	    "SELECT body = '' FROM done WHERE id LIKE '3/%'", "t"));
	outbox_free(&o);
}

static void
a_dead_letter_can_be_put_back(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct field fields[] = {{SPAN("a"), SPAN("1")},
	    {SPAN("onceproxy-reason"), SPAN("refused")}};
	struct outbox *o = with_rows(1);
	const struct broker_message *m = o->took[0];
	struct broker_put put = {.place = BROKER_DEAD_LETTERS,
	    .fields = {fields, 2},
	    .has_body = true,
	    .body = m->payload,
	    .entity = m->entity,
	    .type = m->type};
	assert_int_equal(outbox_finish(o, &f, m, &put), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_int_equal(count("outbox"), 0);
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox (id, aggregateid, type, payload) SELECT "
	    "id::int, entity, type, convert_from(payload, 'UTF8')::jsonb "
	    "FROM outbox_dead WHERE headers->>'onceproxy-reason' = 'refused'");
	broker_reader_credit(o->reader, 1, SIZE_MAX);
	outbox_until_took(o, 2);
	outbox_assert_span(o->took[1]->position, "1");
	outbox_assert_span(o->took[1]->entity, "e1");
	outbox_assert_span(o->took[1]->payload, "{}");
	outbox_free(&o);
}

static void
a_row_that_others_delete_is_lost_and_nothing_is_put(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct broker_put put = {.place = BROKER_RESULTS};
	struct outbox *o = with_rows(2);
	assert_int_equal(outbox_finish(o, &f, o->took[0], &put), 0);
	postgres_just(outbox_server, NULL, "DELETE FROM outbox");
	assert_int_equal(outbox_finish(o, &f, o->took[1], &put), 0);
	assert_int_equal(f.finish.finished, BROKER_NOT_PENDING);
	assert_int_equal(o->deleted, 1);
	assert_int_equal(count("done"), 1);
	/* What is finished a second time is not pending, and not lost. */
	assert_int_equal(outbox_finish(o, &f, o->took[1], &put), 0);
	assert_int_equal(f.finish.finished, BROKER_NOT_PENDING);
	assert_int_equal(o->deleted, 1);
	outbox_free(&o);
}

static void
one_that_cannot_be_put_does_not_fail_others(void **state)
{
	(void)state;
	enum { ROWS = 300, BAD = 150 };
	static struct outbox_finish f[ROWS];
	static char key_ids[ROWS][8];
	static struct broker_put puts[ROWS];
	struct outbox *o = with_rows(ROWS);
	postgres_just(outbox_server, NULL,
	    "DROP TABLE done; "
	    "CREATE TABLE done (id text, status int CHECK (status <> 666), "
	    "headers jsonb, body bytea, key_id text UNIQUE DEFERRABLE "
	    "INITIALLY DEFERRED, created timestamptz)");
	for (int i = 0; i < ROWS; i++) {
		/* Two with one key fail when they are committed. */
		snprintf(key_ids[i], sizeof key_ids[i], "%d",
		    i == BAD + 1 ? 0 : i);
		puts[i] = (struct broker_put){.place = BROKER_RESULTS,
		    .status = i == BAD ? 666 : 200,
		    .key_id = span_str(key_ids[i])};
		outbox_finish_begin(o, &f[i], o->took[i], &puts[i]);
	}
	for (int i = 0; i < ROWS; i++) {
		outbox_until_done(o, &f[i]);
		bool bad = i == BAD || i == BAD + 1;
		assert_int_equal(
		    f[i].finish.op.error, bad ? E_BROKER_REFUSED : 0);
	}
	assert_non_null(strstr(f[BAD].finish.refused, "check constraint"));
	assert_non_null(strstr(f[BAD + 1].finish.refused, "duplicate key"));
	assert_int_equal(count("outbox"), 2);
	assert_int_equal(count("done"), ROWS - 2);
	/* It is still in hand, and can be asked again. */
	puts[BAD].status = 200;
	assert_int_equal(
	    outbox_finish(o, &f[BAD], o->took[BAD], &puts[BAD]), 0);
	assert_int_equal(f[BAD].finish.finished, BROKER_FINISHED);
	outbox_free(&o);
}

static void
a_table_with_other_columns_is_said_until_it_is_right(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct broker_put put = {.place = BROKER_RESULTS, .status = 201};
	struct outbox *o = with_rows(1);
	postgres_just(outbox_server, NULL, "ALTER TABLE done DROP key_id");
	assert_int_equal(
	    outbox_finish(o, &f, o->took[0], &put), E_BROKER_DOWN);
	outbox_run_ms(o, 500);
	assert_false(broker_reader_health(o->reader).up);
	assert_non_null(
	    strstr(broker_reader_health(o->reader).message, "key_id"));
	postgres_just(
	    outbox_server, NULL, "ALTER TABLE done ADD key_id text");
	outbox_until_up(o, true);
	assert_int_equal(outbox_finish(o, &f, o->took[0], &put), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_int_equal(count("done"), 1);
	outbox_free(&o);
}

static void
a_table_that_is_dropped_is_made_again(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct broker_put put = {.place = BROKER_DEAD_LETTERS};
	struct outbox *o = with_rows(2);
	assert_int_equal(outbox_finish(o, &f, o->took[0], &put), 0);
	postgres_just(outbox_server, NULL, "DROP TABLE outbox_dead");
	assert_int_equal(
	    outbox_finish(o, &f, o->took[1], &put), E_BROKER_DOWN);
	outbox_until_up(o, true);
	assert_int_equal(outbox_finish(o, &f, o->took[1], &put), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_int_equal(count("outbox_dead"), 1);
	outbox_free(&o);
}

static void
missing_rights_are_said_in_the_servers_words(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct broker_put put = {.place = BROKER_DEAD_LETTERS};
	outbox_table(outbox_server, "int");
	put_rows(1, 2);
	postgres_just(outbox_server, NULL,
	    "DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN; "
	    "REVOKE CREATE ON SCHEMA public FROM public; "
	    "GRANT SELECT ON outbox TO poor");
	struct outbox *o = outbox_new(NULL);
	free(o->broker.postgres);
	o->broker.postgres = postgres_uri(outbox_server, "poor");
	outbox_open(o, 100);
	outbox_until_up(o, false);
	assert_string_equal(broker_reader_health(o->reader).message,
	    "the table outbox_dead is not there and cannot be made: "
	    "permission denied for schema public");
	postgres_just(outbox_server, NULL,
	    "GRANT CREATE ON SCHEMA public TO poor");
	outbox_run_ms(o, 3000);
	assert_string_equal(broker_reader_health(o->reader).message,
	    "permission denied for table outbox");
	assert_int_equal(o->n_took, 0);
	postgres_just(outbox_server, NULL, "GRANT DELETE ON outbox TO poor");
	outbox_until_took(o, 2);
	/* A right that is taken away meanwhile. */
	postgres_just(
	    outbox_server, NULL, "REVOKE DELETE ON outbox FROM poor");
	assert_int_equal(
	    outbox_finish(o, &f, o->took[0], &put), E_BROKER_REFUSED);
	assert_int_equal(f.finish.fault, BROKER_FAULT_SOURCE);
	assert_string_equal(
	    f.finish.refused, "permission denied for table outbox");
	assert_string_equal(broker_reader_health(o->reader).message,
	    "permission denied for table outbox");
	postgres_just(outbox_server, NULL,
	    "GRANT DELETE ON outbox TO poor; "
	    "REVOKE INSERT ON outbox_dead FROM poor");
	outbox_until_up(o, true);
	assert_int_equal(
	    outbox_finish(o, &f, o->took[0], &put), E_BROKER_REFUSED);
	assert_string_equal(
	    f.finish.refused, "permission denied for table outbox_dead");
	assert_int_equal(f.finish.fault, BROKER_FAULT_PLACE);
	assert_true(broker_reader_health(o->reader).up);
	/* The rights are given, and it is asked again. */
	postgres_just(outbox_server, NULL,
	    "GRANT INSERT ON outbox_dead TO poor");
	assert_int_equal(outbox_finish(o, &f, o->took[0], &put), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_string_equal(broker_reader_health(o->reader).message, "");
	outbox_free(&o);
	postgres_just(
	    outbox_server, NULL, "DROP OWNED BY poor; DROP ROLE poor");
}

/* Locked, then deleted or written anew, or neither. */
static void
what_becomes_of_a_locked_row_is_found_later(void **state)
{
	(void)state;
	static const char *const ends[] = {
	    "DELETE FROM outbox WHERE id = 1; COMMIT",
	    "UPDATE outbox SET payload = '[]' WHERE id = 1; COMMIT",
	    "DELETE FROM outbox WHERE id = 1; ROLLBACK"};
	for (int i = 0; i < 3; i++) {
		struct outbox_finish f;
		struct outbox *o = with_rows(1);
		PGconn *other = postgres_connection(outbox_server);
		postgres_just(outbox_server, other,
		    "BEGIN; SELECT 1 FROM outbox WHERE id = 1 FOR UPDATE");
		assert_int_equal(outbox_finish(o, &f, o->took[0], NULL), 0);
		assert_int_equal(f.finish.finished, BROKER_LOCKED);
		postgres_just(outbox_server, other, "%s", ends[i]);
		assert_int_equal(outbox_finish(o, &f, o->took[0], NULL), 0);
		assert_int_equal(f.finish.finished,
		    i == 2 ? BROKER_FINISHED : BROKER_NOT_PENDING);
		assert_int_equal(count("outbox"), i == 1);
		PQfinish(other);
		outbox_free(&o);
	}
}

static void
what_is_given_up_by_its_owner_may_be_done(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct outbox *o = with_rows(2);
	outbox_finish_begin(o, &f, o->took[0], NULL);
	op_cancel(&f.finish.op);
	outbox_run_ms(o, 100);
	assert_int_equal(count("outbox"), 2);
	assert_int_equal(outbox_finish(o, &f, o->took[0], NULL), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	outbox_finish_begin(o, &f, o->took[1], NULL);
	broker_reader_close(&o->reader);
	outbox_until_done(o, &f);
	assert_int_equal(f.finish.op.error, E_CANCELLED);
	outbox_free(&o);
}

static void
finishing_is_fast(void **state)
{
	(void)state;
	enum { ROWS = 10000 };
	static struct outbox_finish f[ROWS];
	struct broker_put put = {.place = BROKER_RESULTS,
	    .has_body = true,
	    .body = SPAN("{\"id\": 1}"),
	    .status = 200,
	    .key_id = SPAN("00112233445566778899aabbccddeeff")};
	for (int kind = 0; kind < 2; kind++) {
		struct outbox *o = with_rows(ROWS);
		int64_t began_us = clock_us();
		for (int i = 0; i < ROWS; i++)
			outbox_finish_begin(
			    o, &f[i], o->took[i], kind ? &put : NULL);
		for (int i = 0; i < ROWS; i++) {
			outbox_until_done(o, &f[i]);
			assert_int_equal(
			    f[i].finish.finished, BROKER_FINISHED);
		}
		int64_t took_us = clock_us() - began_us;
		print_message("# %d finishes a second%s\n",
		    (int)(INT64_C(1000000) * ROWS / took_us),
		    kind ? ", with results" : "");
		outbox_free(&o);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(or_a_column_is_set),
	    cmocka_unit_test(a_result_is_put_with_the_acknowledgement),
	    cmocka_unit_test(a_dead_letter_can_be_put_back),
	    cmocka_unit_test(
		a_row_that_others_delete_is_lost_and_nothing_is_put),
	    cmocka_unit_test(one_that_cannot_be_put_does_not_fail_others),
	    cmocka_unit_test(
		a_table_with_other_columns_is_said_until_it_is_right),
	    cmocka_unit_test(a_table_that_is_dropped_is_made_again),
	    cmocka_unit_test(missing_rights_are_said_in_the_servers_words),
	    cmocka_unit_test(what_becomes_of_a_locked_row_is_found_later),
	    cmocka_unit_test(what_is_given_up_by_its_owner_may_be_done),
	    cmocka_unit_test(finishing_is_fast),
	};
	return cmocka_run_group_tests(
	    tests, outbox_start_server, outbox_stop_server);
}
