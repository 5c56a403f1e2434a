/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "lib/client.h"

/*
 * A forward with streamed bodies: the test is the other side of both flows, as
 * fast or slow as it likes.
 */
#define OK_LINE "HTTP/1.1 200 OK\r\n"

enum {
	LARGE_BYTES = 3000000,
	/* How long a peer may take where it is not silent on purpose. */
	PATIENCE_MS = 1000,
};

struct fixture {
	struct sender sender;
	struct peer *peer;
	struct call call;
	struct client client;
};

static void
begin(struct fixture *f, void (*script)(struct talk *talk), void *arg)
{
	sender_init(&f->sender);
	f->peer = peer_new(script, arg);
	sender_add(&f->sender, f->peer);
	call_init(&f->call, &f->sender);
	f->call.limits.streams = true;
	f->call.limits.max_body = SIZE_MAX;
	f->call.limits.close_delimited = true;
	client_init(&f->client, &f->sender);
}

/* Makes the client the source of the message's body. */
static void
upload(struct fixture *f, int64_t length)
{
	client_upload(&f->client, &f->call, LARGE_BYTES, length);
}

/* Reads the rest to its end. */
static void
read_rest(struct fixture *f)
{
	client_read(&f->client, &f->call);
}

static void
end(struct fixture *f)
{
	forward_stop(&f->call.forward);
	call_clear(&f->call);
	client_end(&f->client);
	sender_end(&f->sender);
	peer_free(&f->peer);
}

/* --- answers --- */

/* Sends a head, and then the body, in one way or another. */
static void
answer_large(struct talk *talk)
{
	const char *framing = talk_arg(talk);
	bool chunked = strstr(framing, "chunked") != NULL;
	char *body = client_body(LARGE_BYTES);
	while (talk_read(talk)) {
		char size[16];
		talk_say(talk, OK_LINE);
		talk_say(talk, framing);
		snprintf(size, sizeof size, "%x\r\n", LARGE_BYTES);
		if (chunked)
			talk_say(talk, size);
		talk_send(talk, body, LARGE_BYTES);
		if (chunked)
			talk_say(talk, "\r\n0\r\n\r\n");
		if (!strcmp(framing, "\r\n"))
			break;
	}
	free(body);
}

static const struct {
	const char *framing;
	int64_t length;
	unsigned connections;
} framings[] = {
	{"Content-Length: 3000000\r\n\r\n", LARGE_BYTES, 1},
	{"Transfer-Encoding: chunked\r\n\r\n", -1, 1},
	{"\r\n", -1, 2},
};
enum { FRAMINGS = sizeof framings / sizeof *framings };

static void
an_answer_flows_in_little_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < FRAMINGS; i++) {
		struct fixture f;
		begin(&f, answer_large, (void *)(uintptr_t)framings[i].framing);
		for (int n = 0; n < 2; n++) {
			assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
			assert_int_equal(f.call.forward.status, 200);
			assert_non_null(f.call.forward.rest);
			assert_int_equal(f.call.forward.rest_length,
			    framings[i].length);
			read_rest(&f);
			assert_int_equal(f.call.forward.rest->error, 0);
			assert_int_equal(f.client.got, LARGE_BYTES);
			call_clear(&f.call);
		}
		assert_true(f.client.most <= FLOW_BYTES);
		assert_int_equal(
		    peer_connections(f.peer), framings[i].connections);
		end(&f);
	}
}

static void
an_answer_beyond_max_body_flows(void **state)
{
	(void)state;
	for (size_t i = 0; i < FRAMINGS; i++)
		for (size_t max = 0; max < LARGE_BYTES + 1000000;
		     max += 999999) {
			struct fixture f;
			begin(&f, answer_large,
			    (void *)(uintptr_t)framings[i].framing);
			f.call.limits.streams = false;
			f.call.limits.max_body = max;
			assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
			if (max < LARGE_BYTES) {
				assert_non_null(f.call.forward.rest);
				read_rest(&f);
				assert_int_equal(f.client.got, LARGE_BYTES);
			} else {
				assert_null(f.call.forward.rest);
				assert_int_equal(
				    f.call.forward.body.len, LARGE_BYTES);
			}
			end(&f);
		}
}

static void
nobody_reads_faster_than_the_client(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, answer_large, (void *)(uintptr_t)framings[0].framing);
	f.sender.upstream.timeout_ms = PATIENCE_MS;
	assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
	/*
	 * Much longer than the upstream may be silent; but it is not its turn.
	 */
	sender_run(&f.sender, 2 * PATIENCE_MS);
	struct flow *rest = f.call.forward.rest;
	assert_false(rest->ended);
	assert_true(flow_look(rest).len <= FLOW_BYTES);
	assert_true(f.sender.budget.used <= FLOW_BYTES);
	read_rest(&f);
	assert_int_equal(f.client.got, LARGE_BYTES);
	end(&f);
}

/* A short answer is whole at once, and needs no flow. */
static void
answer_text(struct talk *talk)
{
	while (talk_read(talk))
		talk_say(talk, talk_arg(talk));
}

static void
a_short_answer_is_whole(void **state)
{
	static const char text[] = OK_LINE "Content-Length: 2\r\n\r\nok";
	struct fixture f;
	(void)state;
	begin(&f, answer_text, (void *)(uintptr_t)text);
	assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
	assert_null(f.call.forward.rest);
	assert_int_equal(f.call.forward.body.len, 2);
	end(&f);
}

/* Sends the first part, and the second part when it is told to. */
struct parts {
	const char *first;
	const char *second;
};

static void
answer_in_parts(struct talk *talk)
{
	const struct parts *parts = talk_arg(talk);
	if (!talk_read(talk))
		return;
	talk_say(talk, parts->first);
	talk_wait(talk, 0);
	talk_say(talk, parts->second);
}

static void
a_head_is_told_at_once_and_what_breaks_behind_it(void **state)
{
	static const struct {
		struct parts parts;
		int error;
	} table[] = {
		{{OK_LINE "Content-Length: 3\r\n\r\n", "abc"}, 0},
		{{OK_LINE "Content-Length: 3\r\n\r\na", "b"}, E_CLOSED},
		{{OK_LINE "Content-Length: 3\r\n\r\n", ""}, E_CLOSED},
		{{OK_LINE "Transfer-Encoding: chunked\r\n\r\n",
		     "3\r\nabc\r\n0\r\n\r\n"}, 0},
		{{OK_LINE "Transfer-Encoding: chunked\r\n\r\n",
		     "3\r\nabc\r\n0\r\n"}, E_CLOSED},
		{{OK_LINE "Transfer-Encoding: chunked\r\n\r\n",
		     "3\r\nabc\r\n3\r\n"}, E_CLOSED},
		{{OK_LINE "Transfer-Encoding: chunked\r\n\r\n",
		     "3\r\nabc\r\nx\r\n"}, E_MALFORMED},
		{{OK_LINE "\r\n", "abc"}, 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct fixture f;
		begin(&f, answer_in_parts,
		    (void *)(uintptr_t)&table[i].parts);
		assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
		assert_non_null(f.call.forward.rest);
		assert_false(f.call.forward.rest->ended);
		peer_go(f.peer, 0);
		read_rest(&f);
		if (f.call.forward.rest->error != table[i].error)
			fail_msg("%zu: %d", i, f.call.forward.rest->error);
		end(&f);
	}
}

static void
an_upstream_that_falls_silent_is_given_up(void **state)
{
	static const struct parts table[] = {
		{"", ""},
		{OK_LINE "Content-Length: 3\r\n\r\n", ""},
	};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		begin(&f, answer_in_parts, (void *)(uintptr_t)&table[i]);
		f.sender.upstream.timeout_ms = PATIENCE_MS;
		enum forward_result result = call_make(&f.call);
		if (i == 0) {
			assert_int_equal(result, FORWARD_TIMEOUT);
			assert_int_equal(f.call.forward.op.error, E_TIMEOUT);
		} else {
			assert_int_equal(result, FORWARD_ANSWERED);
			read_rest(&f);
			assert_int_equal(
			    f.call.forward.rest->error, E_TIMEOUT);
		}
		end(&f);
	}
}

static void
a_rest_can_be_given_up_and_handed_over(void **state)
{
	struct fixture f;
	struct forward other = {0};
	(void)state;
	begin(&f, answer_large, (void *)(uintptr_t)framings[0].framing);
	assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
	forward_move(&other, &f.call.forward);
	assert_null(f.call.forward.rest);
	call_clear(&f.call);
	assert_int_equal(other.status, 200);
	forward_stop(&other);
	assert_true(other.rest->ended);
	assert_int_equal(other.rest->error, E_CANCELLED);
	forward_clear(&other);
	sender_wait_ended(&f.sender, f.peer, 1);
	end(&f);
}

/* --- requests --- */

/* Reads a request of either framing to its end, and compares its body. */
struct sink {
	size_t size;
	bool waits;  /* before it reads */
	bool whole;
};

static void
read_upload(struct talk *talk)
{
	struct sink *sink = talk_arg(talk);
	if (sink->waits)
		talk_wait(talk, 0);
	sink->whole = talk_read_upload(talk, client_byte, &sink->size);
	if (sink->whole)
		talk_say(talk, OK_LINE "Content-Length: 0\r\n\r\n");
}

static void
an_upload_flows_in_little_memory(void **state)
{
	(void)state;
	for (int chunked = 0; chunked < 2; chunked++) {
		struct sink sink = {0};
		struct fixture f;
		begin(&f, read_upload, &sink);
		upload(&f, chunked ? -1 : LARGE_BYTES);
		assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
		assert_int_equal(f.call.forward.status, 200);
		assert_int_equal(sink.size, LARGE_BYTES);
		/* The flow, and the memory reserved for the answer. */
		assert_true(f.client.most <= FLOW_BYTES + FLOW_LEAST_BYTES);
		end(&f);
	}
}

static void
nobody_sends_faster_than_the_upstream(void **state)
{
	struct sink sink = {.waits = true};
	struct fixture f;
	(void)state;
	begin(&f, read_upload, &sink);
	upload(&f, -1);
	sender_start(&f.call);
	sender_run(&f.sender, 100);
	assert_true(f.sender.budget.used <= FLOW_BYTES + FLOW_LEAST_BYTES);
	assert_false(f.call.done);
	peer_go(f.peer, 0);
	sender_wait(&f.sender);
	assert_int_equal(f.call.forward.result, FORWARD_ANSWERED);
	assert_int_equal(sink.size, LARGE_BYTES);
	end(&f);
}

static void
a_part_of_an_upload_is_never_made_whole(void **state)
{
	(void)state;
	for (int chunked = 0; chunked < 2; chunked++) {
		struct sink sink = {0};
		struct fixture f;
		begin(&f, read_upload, &sink);
		upload(&f, chunked ? -1 : LARGE_BYTES);
		/* As much as there was room for, and no more. */
		flow_by(&f.client.up.writer, NULL, NULL);
		sender_start(&f.call);
		while (f.call.forward.sent_bytes == 0)
			sender_run(&f.sender, 1);
		client_leave(&f.client);
		sender_wait(&f.sender);
		assert_int_equal(f.call.forward.result, FORWARD_BROKEN);
		assert_int_equal(f.call.forward.op.error, E_CLIENT_GONE);
		peer_wait_ended(f.peer, 1);
		assert_false(sink.whole);
		assert_int_equal(peer_connections(f.peer), 1);
		end(&f);
	}
}

/*
 * A source that ends without an error, but too early, is still a partial body.
 */
static void
less_than_was_announced_is_a_part(void **state)
{
	struct sink sink = {0};
	struct fixture f;
	(void)state;
	begin(&f, read_upload, &sink);
	client_upload(&f.client, &f.call, LARGE_BYTES - 1, LARGE_BYTES);
	sender_start(&f.call);
	sender_wait(&f.sender);
	assert_int_equal(f.call.forward.result, FORWARD_BROKEN);
	peer_wait_ended(f.peer, 1);
	assert_false(sink.whole);
	end(&f);
}

static void
a_client_that_left_before_the_first_byte_sent_nothing(void **state)
{
	struct full full;
	struct fixture f;
	(void)state;
	begin(&f, answer_text, NULL);
	if (!full_open(&full, false, 0))
		fail();
	f.sender.targets[0].port = full.port;
	upload(&f, -1);
	sender_start(&f.call);
	client_leave(&f.client);
	sender_wait(&f.sender);
	assert_int_equal(f.call.forward.result, FORWARD_NOT_SENT);
	assert_int_equal(f.call.forward.op.error, E_CLIENT_GONE);
	full_close(&full);
	end(&f);
}

static void
refuse_early(struct talk *talk)
{
	if (!talk_read_head(talk))
		return;
	talk_say(talk, "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno");
	talk_wait(talk, 0);
	if (talk_arg(talk) != NULL)
		talk_reset(talk);
}

static void
an_early_answer_counts_and_closes_the_flow(void **state)
{
	(void)state;
	for (int reset = 0; reset < 2; reset++) {
		struct fixture f;
		begin(&f, refuse_early, reset ? &f : NULL);
		peer_go(f.peer, 0);
		upload(&f, -1);
		assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
		assert_int_equal(f.call.forward.status, 413);
		assert_true(f.client.up.closed);
		sender_wait_ended(&f.sender, f.peer, 1);
		end(&f);
	}
}

static void
without_memory_nothing_is_sent(void **state)
{
	struct fixture f;
	(void)state;
	begin(&f, answer_text, NULL);
	f.sender.budget.limit = FLOW_LEAST_BYTES - 1;
	assert_int_equal(call_make(&f.call), FORWARD_NOT_SENT);
	assert_int_equal(f.call.forward.op.error, E_NO_MEMORY);
	assert_int_equal(peer_connections(f.peer), 0);
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_answer_flows_in_little_memory),
	    cmocka_unit_test(an_answer_beyond_max_body_flows),
	    cmocka_unit_test(nobody_reads_faster_than_the_client),
	    cmocka_unit_test(a_short_answer_is_whole),
	    cmocka_unit_test(a_head_is_told_at_once_and_what_breaks_behind_it),
	    cmocka_unit_test(an_upstream_that_falls_silent_is_given_up),
	    cmocka_unit_test(a_rest_can_be_given_up_and_handed_over),
	    cmocka_unit_test(an_upload_flows_in_little_memory),
	    cmocka_unit_test(nobody_sends_faster_than_the_upstream),
	    cmocka_unit_test(a_part_of_an_upload_is_never_made_whole),
	    cmocka_unit_test(less_than_was_announced_is_a_part),
	    cmocka_unit_test(
		a_client_that_left_before_the_first_byte_sent_nothing),
	    cmocka_unit_test(an_early_answer_counts_and_closes_the_flow),
	    cmocka_unit_test(without_memory_nothing_is_sent),
	};
	return cmocka_run_group_tests_name("forward_stream", tests, NULL, NULL);
}
