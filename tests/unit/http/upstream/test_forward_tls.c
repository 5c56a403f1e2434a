/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/client.h"
#include "lib/stage.h"

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* --- certificates, made once --- */

static char folder[] = "/tmp/once-XXXXXX";

static void
shell(const char *command)
{
	char *all = mem_printf("cd %s && (%s) >log 2>&1", folder, command);
	if (system(all) != 0)
		fail_msg("failed: %s", all);
	free(all);
}

/* A CA, and a certificate of it for 127.0.0.1 and upstream.test. */
static void
make_ca(const char *name)
{
	char *command = mem_printf(
	    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256"
	    " -nodes -days 2 -subj /CN=%s-ca -keyout %s-ca.key -out %s-ca.pem"
	    " && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256"
	    " -nodes -subj /CN=upstream -keyout %s.key -out %s.csr"
	    " && echo subjectAltName=IP:127.0.0.1,DNS:upstream.test > %s.ext"
	    " && openssl x509 -req -in %s.csr -CA %s-ca.pem -CAkey %s-ca.key"
	    " -CAcreateserial -days 2 -extfile %s.ext -out %s.pem",
	    name, name, name, name, name, name, name, name, name, name, name);
	shell(command);
	free(command);
}

static int
make_certificates(void **state)
{
	(void)state;
	if (system("openssl version >/dev/null 2>&1") != 0 ||
	    access("/usr/bin/python3", X_OK) != 0) {
		printf("1..0 # SKIP needs openssl and python3\n");
		exit(0);
	}
	assert_non_null(mkdtemp(folder));
	make_ca("good");
	return 0;
}

static int
remove_certificates(void **state)
{
	(void)state;
	char *command = mem_printf("rm -r %s", folder);
	assert_int_equal(system(command), 0);
	free(command);
	return 0;
}

static char *
file(const char *name)
{
	return mem_printf("%s/%s", folder, name);
}

/* --- an upstream behind TLS --- */

struct fixture {
	struct sender sender;
	struct peer *peer;
	struct conf_target *target;
	pid_t pid;
	int input; /* of the front: closing it ends it */
	uint16_t port;
};

static char *
front_path(void)
{
	static const char below[] = "/lib/tls_front.py";
	const char *top = getenv("top_srcdir");
	if (top != NULL)
		return mem_printf("%s/tests%s", top, below);
	/* .../tests/unit/http/upstream/test_forward_tls.c */
	struct span here = span_str(__FILE__);
	for (int slashes = 0; slashes < 2; here.len--)
		slashes += here.ptr[here.len - 1] == '/';
	return mem_printf("%.*s%s", SPAN_FMT(here), below);
}

static void
start_front(struct fixture *f, const char *option)
{
	int input[2], output[2];
	char *path = front_path();
	char *certificate = file("good.pem"), *key = file("good.key");
	char *port = mem_printf("%u", (unsigned)peer_port(f->peer));
	assert_int_equal(pipe(input), 0);
	assert_int_equal(pipe(output), 0);
	f->pid = fork();
	if (f->pid == 0) {
		dup2(input[0], 0);
		dup2(output[1], 1);
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		execl("/usr/bin/python3", "python3", path, certificate, key,
		    port, option, (char *)NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	f->input = input[1];
	FILE *said = fdopen(output[0], "r");
	char digits[16] = "";
	assert_non_null(fgets(digits, sizeof digits, said));
	fclose(said);
	f->port = (uint16_t)atoi(digits);
	assert_true(f->port > 0);
	free(path);
	free(certificate);
	free(key);
	free(port);
}

static void
begin(struct fixture *f, void (*script)(struct talk *talk), const void *arg,
    const char *option)
{
	memset(f, 0, sizeof *f);
	f->peer = peer_new(script, (void *)(uintptr_t)arg);
	start_front(f, option);
	sender_init(&f->sender);
	f->target = sender_add_port(&f->sender, "127.0.0.1", f->port);
	f->target->tls = true;
	f->sender.upstream.ca = file("good-ca.pem");
}

static void
end(struct fixture *f)
{
	int status;
	sender_end(&f->sender);
	close(f->input);
	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	peer_free(&f->peer);
}

static void
answer(struct talk *talk)
{
	while (talk_read(talk))
		talk_say(talk, OK_ANSWER);
}

static void
answer_when_told(struct talk *talk)
{
	while (talk_read(talk)) {
		talk_wait(talk, 0);
		talk_say(talk, OK_ANSWER);
	}
}

/* --- the tests --- */

static const char *const versions[] = {NULL, "tls12"};

static void
connections_are_verified_and_reused(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture f;
		begin(&f, answer, NULL, versions[i]);
		for (int n = 0; n < 20; n++)
			assert_int_equal(
			    sender_post(&f.sender), FORWARD_ANSWERED);
		assert_int_equal(peer_connections(f.peer), 1);
		assert_int_equal(peer_requests(f.peer), 20);
		end(&f);
	}
}

enum { LARGE_BYTES = 3000000 };

static void
answer_largely(struct talk *talk)
{
	char *body = client_body(LARGE_BYTES);
	while (talk_read(talk)) {
		talk_say(talk, "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n"
			       "\r\n");
		talk_send(talk, body, LARGE_BYTES);
	}
	free(body);
}

static void
large_bodies_go_both_ways(void **state)
{
	char *body = client_body(LARGE_BYTES);
	struct fixture f;

	(void)state;
	begin(&f, answer_largely, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		struct call call;
		call_init(&call, &f.sender);
		call.message.body = span_of(body, LARGE_BYTES);
		call.limits.max_body = LARGE_BYTES;
		assert_int_equal(call_make(&call), FORWARD_ANSWERED);
		assert_int_equal(call.forward.body.len, LARGE_BYTES);
		char *request = peer_last_request(f.peer);
		char *sent = strstr(request, "\r\n\r\n") + 4;
		assert_int_equal(strlen(sent), LARGE_BYTES);
		assert_memory_equal(sent, body, LARGE_BYTES);
		free(request);
		call_clear(&call);
	}
	assert_int_equal(peer_connections(f.peer), 1);
	free(body);
	end(&f);
}

static void
large_bodies_flow_both_ways(void **state)
{
	char *body = client_body(LARGE_BYTES);
	struct fixture f;

	(void)state;
	begin(&f, answer_largely, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		struct client client;
		struct call call;
		call_init(&call, &f.sender);
		call.limits.streams = true;
		client_init(&client, &f.sender);
		client_upload(&client, &call, LARGE_BYTES, LARGE_BYTES);
		assert_int_equal(call_make(&call), FORWARD_ANSWERED);
		client_read(&client, &call);
		assert_int_equal(call.forward.rest->error, 0);
		assert_int_equal(client.got, LARGE_BYTES);
		char *request = peer_last_request(f.peer);
		assert_string_equal(strstr(request, "\r\n\r\n") + 4, body);
		free(request);
		call_clear(&call);
		client_end(&client);
	}
	assert_int_equal(peer_connections(f.peer), 1);
	free(body);
	end(&f);
}

/* Answers once, then takes the next request and ends, as the arg says. */
static void
answer_once_then_end(struct talk *talk)
{
	if (!talk_read(talk))
		return;
	talk_say(talk, OK_ANSWER);
	if (!talk_read(talk))
		return;
	if (talk_arg(talk) != NULL)
		talk_reset(talk);
}

static void
an_upstream_that_takes_a_post_and_closes_sees_it_once(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fixture f;
		struct call call;
		begin(&f, answer_once_then_end, i == 1 ? "reset" : NULL,
		    i == 2 ? "rude" : NULL);
		assert_int_equal(sender_post(&f.sender), FORWARD_ANSWERED);
		call_init(&call, &f.sender);
		assert_int_equal(call_make(&call), FORWARD_BROKEN);
		assert_true(call.forward.sent_bytes > 0);
		call_clear(&call);
		sender_run(&f.sender, 20);
		assert_int_equal(peer_requests(f.peer), 2);
		assert_int_equal(peer_connections(f.peer), 1);
		end(&f);
	}
}

/* Answers, and sends something unasked on the first connection. */
static void
answer_then_speak(struct talk *talk)
{
	while (talk_read(talk)) {
		talk_say(talk, OK_ANSWER);
		if (talk_number(talk) > 0)
			continue;
		talk_wait(talk, 1);
		talk_say(talk, talk_arg(talk));
		if (!strcmp(talk_arg(talk), ""))
			return;
	}
}

static void
what_comes_on_an_idle_connection_closes_it(void **state)
{
	static const char *const said[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged", ""};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct fixture f;
		struct call call;
		begin(&f, answer_then_speak, said[i % 2],
		    i < 2 ? NULL : "rude");
		assert_int_equal(sender_post(&f.sender), FORWARD_ANSWERED);
		peer_go(f.peer, 1);
		sender_wait_ended(&f.sender, f.peer, 1);
		/* The front has closed it as well, or passed the bytes on. */
		sender_run(&f.sender, 50);
		call_init(&call, &f.sender);
		assert_int_equal(call_make(&call), FORWARD_ANSWERED);
		assert_true(
		    span_eq(body_span(&call.forward.body), SPAN("ok")));
		assert_int_equal(peer_connections(f.peer), 2);
		assert_int_equal(peer_requests(f.peer), 2);
		call_clear(&call);
		end(&f);
	}
}

static void
say_and_end(struct talk *talk)
{
	if (talk_read(talk))
		talk_say(talk, talk_arg(talk));
}

static void
an_end_without_close_notify_ends_no_answer(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\n\r\nup to the end";

	(void)state;
	for (int i = 0; i < 4; i++) {
		bool rude = i < 2;
		struct fixture f;
		struct call call;
		begin(&f, say_and_end, text, rude ? "rude" : versions[i % 2]);
		call_init(&call, &f.sender);
		call.limits.close_delimited = true;
		assert_int_equal(call_make(&call),
		    rude ? FORWARD_BROKEN : FORWARD_ANSWERED);
		call_clear(&call);
		end(&f);
	}
}

/*
 * libcurl closes connections that it believes idle for longer than 118
 * seconds whenever another one is made.
 */
static void
long_requests_survive_while_others_connect(void **state)
{
	enum { LONG = 60 };
	struct fixture f;
	struct call calls[LONG];

	(void)state;
	begin(&f, answer_when_told, NULL, NULL);
	f.sender.upstream.timeout_ms = 10000000;
	f.sender.upstream.connect_timeout_ms = 10000;
	for (int i = 0; i < LONG; i++) {
		call_init(&calls[i], &f.sender);
		sender_start(&calls[i]);
	}
	sender_wait_requests(&f.sender, f.peer, LONG);
	for (int i = 0; i < 3; i++) {
		struct call call;
		stage_pass(1000000);
		sender_run(&f.sender, 0);
		call_init(&call, &f.sender);
		f.sender.pending = 0;
		sender_start(&call);
		sender_wait_requests(&f.sender, f.peer, LONG + 1 + (unsigned)i);
		call_clear(&call);
	}
	f.sender.pending = LONG;
	for (int i = 0; i < LONG + 3; i++)
		peer_go(f.peer, 0);
	sender_wait(&f.sender);
	for (int i = 0; i < LONG; i++) {
		assert_int_equal(calls[i].forward.result, FORWARD_ANSWERED);
		call_clear(&calls[i]);
	}
	assert_int_equal(peer_connections(f.peer), LONG + 3);
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_are_verified_and_reused),
		cmocka_unit_test(large_bodies_go_both_ways),
		cmocka_unit_test(large_bodies_flow_both_ways),
		cmocka_unit_test(
		    an_upstream_that_takes_a_post_and_closes_sees_it_once),
		cmocka_unit_test(what_comes_on_an_idle_connection_closes_it),
		cmocka_unit_test(an_end_without_close_notify_ends_no_answer),
		cmocka_unit_test(long_requests_survive_while_others_connect),
	};
	return cmocka_run_group_tests_name("forward, TLS", tests,
	    make_certificates, remove_certificates);
}
