/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

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

/* --- addresses --- */

static void
the_next_address_of_a_name_is_tried(void **state)
{
	/* Nobody listens there. */
	static const char *const addresses[] = {
		"127.0.0.77", "127.0.0.78", "127.0.0.1", NULL};
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;

	(void)state;
	stage_addresses(addresses);
	sender_init(&sender);
	sender_add_port(&sender, "three.test", peer_port(peer));
	sender.upstream.connect_timeout_ms = 5000;
	for (int i = 0; i < 3; i++) {
		struct call call;
		call_init(&call, &sender);
		call.limits.reuse = false;
		assert_int_equal(call_make(&call), FORWARD_ANSWERED);
		assert_true(call.forward.op.took_us < 2000000);
		call_clear(&call);
	}
	sender_end(&sender);
	peer_free(&peer);
}

/* Where the first address refuses, and where it does not answer. */
static void
the_other_family_of_a_name_is_tried(void **state)
{
	static const char *const addresses[] = {"::1", "127.0.0.1", NULL};

	(void)state;
	stage_addresses(addresses);
	for (int silent = 0; silent < 2; silent++) {
		struct peer *peer = peer_new(answer, NULL);
		struct sender sender;
		struct full full;
		bool is_full =
		    silent && full_open(&full, true, peer_port(peer));
		sender_init(&sender);
		sender.upstream.connect_timeout_ms = 300;
		sender_add_port(&sender, "both.test", peer_port(peer));
		for (int i = 0; i < 3; i++) {
			struct call call;
			call_init(&call, &sender);
			call.limits.reuse = false;
			assert_int_equal(call_make(&call), FORWARD_ANSWERED);
			call_clear(&call);
		}
		sender_end(&sender);
		if (is_full)
			full_close(&full);
		peer_free(&peer);
	}
}

static void
changes_of_dns_are_followed(void **state)
{
	static const char *const wrong[] = {"127.0.0.77", NULL};
	static const char *const right[] = {"127.0.0.1", NULL};
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;

	(void)state;
	stage_addresses(wrong);
	sender_init(&sender);
	sender_add_port(&sender, "moving.test", peer_port(peer));
	check_not_sent(&sender, E_UNREACHABLE);
	stage_addresses(right);
	stage_pass(6000);
	assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	sender_end(&sender);
	peer_free(&peer);
}

static void
a_name_is_not_resolved_for_each_connection(void **state)
{
	static const char *const address[] = {"127.0.0.1", NULL};
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;
	unsigned before = stage_resolved();

	(void)state;
	stage_addresses(address);
	sender_init(&sender);
	sender_add_port(&sender, "one.test", peer_port(peer));
	for (int i = 0; i < 10; i++) {
		struct call call;
		call_init(&call, &sender);
		call.limits.reuse = false;
		assert_int_equal(call_make(&call), FORWARD_ANSWERED);
		call_clear(&call);
	}
	assert_int_equal(stage_resolved(), before + 1);
	sender_end(&sender);
	peer_free(&peer);
}

/* --- several targets --- */

static void
targets_are_taken_in_turns(void **state)
{
	struct peer *peers[3];
	struct sender sender;

	(void)state;
	sender_init(&sender);
	for (int i = 0; i < 3; i++) {
		peers[i] = peer_new(answer, NULL);
		sender_add(&sender, peers[i]);
	}
	for (int i = 0; i < 12; i++)
		assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(peer_requests(peers[i]), 4);
		assert_int_equal(peer_connections(peers[i]), 1);
	}
	sender_end(&sender);
	for (int i = 0; i < 3; i++)
		peer_free(&peers[i]);
}

static void
another_target_is_tried_where_nothing_was_sent(void **state)
{
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;
	struct full full;

	(void)state;
	assert_true(full_open(&full, false, 0));
	sender_init(&sender);
	sender.upstream.connect_timeout_ms = 3000;
	sender_add_port(&sender, "127.0.0.1", peer_closed_port());
	sender_add_port(&sender, "127.0.0.1", full.port);
	sender_add(&sender, peer);
	for (int i = 0; i < 6; i++) {
		struct call call;
		call_init(&call, &sender);
		assert_int_equal(call_make(&call), FORWARD_ANSWERED);
		/* Avoided, once that is known. */
		if (i > 0)
			assert_true(call.forward.op.took_us < 2500000);
		call_clear(&call);
	}
	assert_int_equal(peer_requests(peer), 6);
	sender_end(&sender);
	full_close(&full);
	peer_free(&peer);
}

static void
a_target_that_is_back_is_found(void **state)
{
	char folder[] = "/tmp/once-XXXXXX";
	struct peer *peer = peer_new(answer, NULL);
	struct sender sender;

	(void)state;
	assert_non_null(mkdtemp(folder));
	char *path = mem_printf("%s/socket", folder);
	sender_init(&sender);
	sender_add(&sender, peer);
	sender_add_port(&sender, "localhost", 0)->unix_path =
	    mem_str(span_str(path));
	/*
	 * What fails at the same time is one failure: one second passes, not
	 * two.
	 */
	sender_post_at_once(&sender, 4);
	struct peer *back = peer_new_unix(path, answer, NULL);
	for (int i = 0; i < 4; i++)
		assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	assert_int_equal(peer_requests(back), 0);
	stage_pass(1100);
	sender_run(&sender, 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(sender_post(&sender), FORWARD_ANSWERED);
	assert_int_equal(peer_requests(back), 2);
	assert_int_equal(peer_requests(peer), 10);
	sender_end(&sender);
	peer_free(&peer);
	peer_free(&back);
	unlink(path);
	rmdir(folder);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_address_of_a_name_is_tried),
		cmocka_unit_test(the_other_family_of_a_name_is_tried),
		cmocka_unit_test(changes_of_dns_are_followed),
		cmocka_unit_test(a_name_is_not_resolved_for_each_connection),
		cmocka_unit_test(targets_are_taken_in_turns),
		cmocka_unit_test(
		    another_target_is_tried_where_nothing_was_sent),
		cmocka_unit_test(a_target_that_is_back_is_found),
	};
	return cmocka_run_group_tests_name(
	    "forward, targets", tests, NULL, NULL);
}
