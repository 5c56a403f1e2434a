/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/sender.h"
#include "lib/stage.h"

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void
answer(struct talk *talk)
{
	while (talk_read(talk))
		talk_say(talk, OK_ANSWER);
}

/* Answers each request when it is let go on. */
static void
answer_when_told(struct talk *talk)
{
	while (talk_read(talk)) {
		talk_wait(talk, 0);
		talk_say(talk, OK_ANSWER);
	}
}

static void
check_not_sent(struct sender *sender, int error)
{
	struct call call;
	call_init(&call, sender);
	assert_int_equal(call_make(&call), FORWARD_NOT_SENT);
	assert_int_equal(call.forward.op.error, error);
	assert_int_equal(call.forward.sent_bytes, 0);
	call_clear(&call);
}

/* --- what keeps a request from being sent --- */

static void
a_refused_connection_sends_nothing(void **state)
{
	struct sender sender;

	(void)state;
	sender_init(&sender);
	sender_add_port(&sender, "127.0.0.1", peer_closed_port());
	check_not_sent(&sender, E_UNREACHABLE);
	/* An only target is tried again at once. */
	check_not_sent(&sender, E_UNREACHABLE);
	sender_end(&sender);
}

static void
a_name_without_address_sends_nothing(void **state)
{
	static const char *const none[] = {NULL};
	struct sender sender;

	(void)state;
	stage_addresses(none);
	sender_init(&sender);
	sender_add_port(&sender, "nobody.test", 80);
	check_not_sent(&sender, E_RESOLVE);
	sender_end(&sender);

	sender_init(&sender);
	sender.upstream.connect_timeout_ms = 15000;
	sender.upstream.timeout_ms = 15000;
	sender_add_port(&sender, "name.invalid", 80);
	check_not_sent(&sender, E_RESOLVE);
	sender_end(&sender);
}

static void
a_connection_that_takes_too_long_sends_nothing(void **state)
{
	struct sender sender;
	struct full full;

	(void)state;
	assert_true(full_open(&full, false, 0));
	/* By connect_timeout, and by the time for the whole exchange. */
	for (int i = 0; i < 2; i++) {
		sender_init(&sender);
		sender_add_port(&sender, "127.0.0.1", full.port);
		if (i == 0)
			sender.upstream.connect_timeout_ms = 100;
		else
			sender.upstream.timeout_ms = 100;
		check_not_sent(&sender, E_TIMEOUT);
		sender_end(&sender);
	}
	full_close(&full);
}

/* Sends something, or closes, before there is a request. */
static void
speak_first(struct talk *talk)
{
	const char *text = talk_arg(talk);
	talk_say(talk, text);
	if (text[0] != '\0')
		talk_read(talk);
}

static void
wait_spoken(void *arg)
{
	struct peer *peer = arg;
	peer_wait_sent(peer, 1);
}

static void
wait_ended(void *arg)
{
	struct peer *peer = arg;
	peer_wait_ended(peer, 1);
}

static void
an_upstream_that_speaks_first_is_sent_nothing(void **state)
{
	static const char *const said[] = {
		OK_ANSWER, "HTTP/1.1 408 Timeout\r\n\r\n", "\r\n", ""};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct peer *peer =
		    peer_new(speak_first, (void *)(uintptr_t)said[i]);
		struct sender sender;
		sender_init(&sender);
		sender_add(&sender, peer);
		stage_after_connect(
		    said[i][0] != '\0' ? wait_spoken : wait_ended, peer);
		check_not_sent(&sender, E_CLOSED);
		stage_after_connect(NULL, NULL);
		sender_wait_ended(&sender, peer, 1);
		assert_int_equal(peer_requests(peer), 0);
		sender_end(&sender);
		peer_free(&peer);
	}
}

static void
the_proxy_of_the_environment_is_not_used(void **state)
{
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;

	(void)state;
	assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
	assert_int_equal(setenv("all_proxy", "http://127.0.0.1:1", 1), 0);
	sender_init(&sender);
	sender_add(&sender, peer);
	assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	sender_end(&sender);
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	peer_free(&peer);
}

static void
a_resolver_that_hangs_holds_up_nobody(void **state)
{
	static const char *const address[] = {"127.0.0.1", NULL};
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;

	(void)state;
	stage_addresses(address);
	stage_resolver_hangs(true);
	for (int i = 0; i < 2; i++) {
		sender_init(&sender);
		sender_add_port(&sender, "slow.test", peer_port(peer));
		if (i == 0)
			sender.upstream.connect_timeout_ms = 100;
		else
			sender.upstream.timeout_ms = 100;
		check_not_sent(&sender, E_TIMEOUT);
		sender_end(&sender);
	}
	stage_resolver_hangs(false);
	peer_free(&peer);
}

static void
giving_up_closes_the_connection(void **state)
{
	struct peer *peer = peer_new(answer_when_told, NULL);
	struct sender sender;
	struct call call;

	(void)state;
	sender_init(&sender);
	sender_add(&sender, peer);
	call_init(&call, &sender);
	/* While it connects: nothing was sent. */
	sender_start(&call);
	op_cancel(&call.forward.op);
	assert_int_equal(call.forward.sent_bytes, 0);
	assert_int_equal(call.forward.result, FORWARD_NOT_SENT);
	call_clear(&call);
	/* While it waits: it is known that the request was sent. */
	sender_start(&call);
	sender_wait_requests(&sender, peer, 1);
	op_cancel(&call.forward.op);
	assert_true(call.forward.sent_bytes > 0);
	assert_int_equal(call.forward.result, FORWARD_TIMEOUT);
	assert_false(call.done);
	call_clear(&call);
	peer_go(peer, 0);
	sender_wait_ended(&sender, peer, 1);
	/* And the same object can be used again. */
	sender.pending = 0;
	peer_go(peer, 0);
	assert_int_equal(call_make(&call), FORWARD_ANSWERED);
	call_clear(&call);
	sender_end(&sender);
	peer_free(&peer);
}

/* --- time --- */

static void
a_request_without_answer_times_out(void **state)
{
	struct peer *peer = peer_new(answer_when_told, NULL);
	struct sender sender;
	struct call call;

	(void)state;
	sender_init(&sender);
	sender_add(&sender, peer);
	for (int i = 0; i < 2; i++) {
		call_init(&call, &sender);
		if (i == 0)
			call.limits.timeout_ms = 100;
		else
			sender.upstream.timeout_ms = 100;
		assert_int_equal(call_make(&call), FORWARD_TIMEOUT);
		assert_int_equal(call.forward.op.error, E_TIMEOUT);
		assert_true(call.forward.sent_bytes > 0);
		assert_true(call.forward.op.took_us >= 50000);
		call_clear(&call);
	}
	peer_wait_requests(peer, 2);
	assert_int_equal(peer_connections(peer), 2);
	sender_end(&sender);
	peer_free(&peer);
}

static void
idle_connections_end_before_the_upstream_ends_them(void **state)
{
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;

	(void)state;
	sender_init(&sender);
	sender_add(&sender, peer);
	sender.upstream.max_idle_ms = 1000;
	assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	stage_pass(900);
	sender_run(&sender, 0);
	assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	assert_int_equal(peer_connections(peer), 1);
	stage_pass(1001);
	sender_wait_ended(&sender, peer, 1);
	assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	assert_int_equal(peer_connections(peer), 2);
	sender_end(&sender);
	peer_free(&peer);
}

static void
no_connection_lives_for_ever(void **state)
{
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;

	(void)state;
	sender_init(&sender);
	sender_add(&sender, peer);
	sender.upstream.max_idle_ms = 1000000;
	assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	stage_pass(299000);
	sender_run(&sender, 0);
	assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	assert_int_equal(peer_connections(peer), 1);
	stage_pass(1001);
	sender_wait_ended(&sender, peer, 1);
	assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	assert_int_equal(peer_connections(peer), 2);
	sender_end(&sender);
	peer_free(&peer);
}

static void
only_so_many_are_idle(void **state)
{
	struct peer *peer = peer_new(answer_when_told, NULL);
	struct sender sender;

	(void)state;
	sender_init(&sender);
	sender_add(&sender, peer);
	sender.upstream.keepalive = 3;
	for (int i = 0; i < 16; i++)
		peer_go(peer, 0);
	sender_post_at_once(&sender, 8);
	sender_wait_ended(&sender, peer, 5);
	assert_int_equal(peer_connections(peer), 8);
	sender_post_at_once(&sender, 3);
	assert_int_equal(peer_connections(peer), 8);
	sender_end(&sender);
	peer_free(&peer);
}

static void
without_reuse_each_request_has_its_connection(void **state)
{
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;

	(void)state;
	sender_init(&sender);
	sender_add(&sender, peer);
	for (unsigned i = 0; i < 3; i++) {
		struct call call;
		call_init(&call, &sender);
		call.limits.reuse = false;
		assert_int_equal(call_make(&call), FORWARD_ANSWERED);
		call_clear(&call);
		char *request = peer_last_request(peer);
		assert_non_null(strstr(request, "\r\nConnection: close\r\n"));
		free(request);
		sender_wait_ended(&sender, peer, i + 1);
		assert_int_equal(peer_connections(peer), i + 1);
	}
	/* Nor does it use a connection that another request has left. */
	assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	struct call call;
	call_init(&call, &sender);
	call.limits.reuse = false;
	assert_int_equal(call_make(&call), FORWARD_ANSWERED);
	call_clear(&call);
	assert_int_equal(peer_connections(peer), 5);
	sender_end(&sender);
	peer_free(&peer);
}

/*
 * libcurl closes connections that it believes idle for longer than 118
 * seconds whenever another one is made.
 */
static void
long_requests_survive_while_others_connect(void **state)
{
	enum { LONG = 60 };
	struct peer *slow = peer_new(answer_when_told, NULL);
	struct sender sender;
	struct call calls[LONG];

	(void)state;
	sender_init(&sender);
	sender_add(&sender, slow);
	sender.upstream.timeout_ms = 10000000;
	for (int i = 0; i < LONG; i++) {
		call_init(&calls[i], &sender);
		sender_start(&calls[i]);
	}
	sender_wait_requests(&sender, slow, LONG);
	for (int i = 0; i < 3; i++) {
		struct call call;
		stage_pass(1000000);
		sender_run(&sender, 0);
		call_init(&call, &sender);
		sender_start(&call);
		sender_wait_requests(
		    &sender, slow, LONG + 1 + (unsigned)i);
		call_clear(&call);
	}
	sender.pending = LONG;
	for (int i = 0; i < LONG + 3; i++)
		peer_go(slow, 0);
	sender_wait(&sender);
	for (int i = 0; i < LONG; i++) {
		assert_int_equal(calls[i].forward.result, FORWARD_ANSWERED);
		call_clear(&calls[i]);
	}
	assert_int_equal(peer_connections(slow), LONG + 3);
	sender_end(&sender);
	peer_free(&slow);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_connection_sends_nothing),
		cmocka_unit_test(a_name_without_address_sends_nothing),
		cmocka_unit_test(
		    a_connection_that_takes_too_long_sends_nothing),
		cmocka_unit_test(an_upstream_that_speaks_first_is_sent_nothing),
		cmocka_unit_test(the_proxy_of_the_environment_is_not_used),
		cmocka_unit_test(a_resolver_that_hangs_holds_up_nobody),
		cmocka_unit_test(giving_up_closes_the_connection),
		cmocka_unit_test(a_request_without_answer_times_out),
		cmocka_unit_test(
		    idle_connections_end_before_the_upstream_ends_them),
		cmocka_unit_test(no_connection_lives_for_ever),
		cmocka_unit_test(only_so_many_are_idle),
		cmocka_unit_test(
		    without_reuse_each_request_has_its_connection),
		cmocka_unit_test(long_requests_survive_while_others_connect),
	};
	return cmocka_run_group_tests_name(
	    "forward, connections", tests, NULL, NULL);
}
