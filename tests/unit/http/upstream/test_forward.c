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

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define OK_ANSWER OK_LINE "Content-Length: 2\r\n\r\nok"

/* Answers each request with its argument, a text. */
static void
answer_with(struct talk *talk)
{
	while (talk_read(talk))
		talk_say(talk, talk_arg(talk));
}

/* The same, and closes. */
static void
answer_and_close(struct talk *talk)
{
	if (talk_read(talk))
		talk_say(talk, talk_arg(talk));
}

/* Makes one call to one peer. */
struct fixture {
	struct sender sender;
	struct peer *peer;
	struct call call;
};

static void
begin(struct fixture *f, void (*script)(struct talk *talk), const char *text)
{
	sender_init(&f->sender);
	f->peer = peer_new(script, (void *)(uintptr_t)text);
	sender_add(&f->sender, f->peer);
	call_init(&f->call, &f->sender);
}

static void
end(struct fixture *f)
{
	call_clear(&f->call);
	sender_end(&f->sender);
	peer_free(&f->peer);
}

static void
assert_body(const struct call *call, const char *expected)
{
	assert_true(
	    span_eq(body_span(&call->forward.body), span_str(expected)));
}

static void
a_request_is_sent_as_it_was_given(void **state)
{
	struct field list[] = {{SPAN("Idempotency-Key"), SPAN("k1")}};
	struct fixture f;

	(void)state;
	begin(&f, answer_with, "HTTP/1.1 201 Created\r\nX-A: b\r\n"
			       "Content-Length: 2\r\n\r\nok");
	f.call.message.fields = (struct fields){list, 1};
	assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
	assert_int_equal(f.call.forward.op.error, 0);
	assert_int_equal(f.call.forward.status, 201);
	assert_int_equal(f.call.forward.fields.count, 2);
	assert_true(span_eq(f.call.forward.fields.list[0].name, SPAN("X-A")));
	assert_int_equal(f.call.forward.head_length, -1);
	assert_body(&f.call, "ok");
	char *request = peer_last_request(f.peer);
	assert_string_equal(request,
	    "POST /v1/charges HTTP/1.1\r\n"
	    "Host: shop.example\r\n"
	    "Idempotency-Key: k1\r\n"
	    "Content-Length: 20\r\n"
	    "\r\n"
	    "amount=100&to=seller");
	assert_int_equal(
	    f.call.forward.sent_bytes, strlen(request));
	free(request);
	end(&f);
}

static void
a_target_can_have_a_base_path_and_its_own_name(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, answer_with, OK_ANSWER);
	free(f.sender.targets[0].base_path);
	f.sender.targets[0].base_path = mem_str(SPAN("/api"));
	f.sender.upstream.host = HOST_TARGET;
	assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
	char *request = peer_last_request(f.peer);
	char *expected = mem_printf("POST /api/v1/charges HTTP/1.1\r\n"
				    "Host: 127.0.0.1:%u\r\n",
	    (unsigned)peer_port(f.peer));
	assert_memory_equal(request, expected, strlen(expected));
	free(expected);
	free(request);
	end(&f);
}

static void
what_cannot_stand_in_a_head_is_not_sent(void **state)
{
	struct field list[] = {{SPAN("X-A"), SPAN("b\r\nX-B: c")}};
	struct fixture f;

	(void)state;
	begin(&f, answer_with, OK_ANSWER);
	f.call.message.fields = (struct fields){list, 1};
	assert_int_equal(call_make(&f.call), FORWARD_NOT_SENT);
	assert_int_equal(f.call.forward.op.error, E_MALFORMED);
	assert_int_equal(f.call.forward.sent_bytes, 0);
	assert_int_equal(peer_connections(f.peer), 0);
	end(&f);
}

static void
answers_are_decoded(void **state)
{
	static const struct {
		const char *method;
		const char *text;
		int status;
		const char *body;
		long long head_length;
		bool reused;
	} table[] = {
		{"GET", OK_ANSWER, 200, "ok", -1, true},
		{"GET", OK_LINE "Content-Length: 0\r\n\r\n", 200, "", -1, true},
		{"GET", OK_LINE "Transfer-Encoding: chunked\r\n\r\n"
		    "1;x\r\no\r\n1\r\nk\r\n0\r\nX-Trailer: y\r\n\r\n", 200,
		    "ok", -1, true},
		{"GET", OK_LINE "Connection: close\r\nContent-Length: 2\r\n"
		    "\r\nok", 200, "ok", -1, false},
		{"GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"
		    "Content-Length: 2\r\n\r\nok", 200, "ok", -1, false},
		/* what they announce may come yet */
		{"HEAD", OK_LINE "Content-Length: 77\r\n\r\n", 200, "", 77,
		    false},
		{"HEAD", OK_LINE "Transfer-Encoding: chunked\r\n\r\n", 200, "",
		    -1, false},
		{"HEAD", OK_LINE "Content-Length: 0\r\n\r\n", 200, "", 0,
		    true},
		{"HEAD", OK_LINE "\r\n", 200, "", -1, true},
		{"GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", -1, true},
		{"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n"
		    "\r\n", 304, "", 9, false},
		{"GET", "HTTP/1.1 100 Continue\r\n\r\n" OK_ANSWER, 200, "ok",
		    -1, true},
		{"GET", "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 H\r\nLink: x\r\n"
		    "\r\n" OK_ANSWER, 200, "ok", -1, true},
		/* surplus bytes: the answer is good, the connection is not */
		{"GET", OK_ANSWER OK_ANSWER, 200, "ok", -1, false},
		{"GET", OK_ANSWER "\r\n", 200, "ok", -1, false},
		{"HEAD", OK_LINE "Content-Length: 2\r\n\r\nok", 200, "", 2,
		    false},
		{"GET", "HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "0\r\n\r\n", 204, "", -1, false},
		/* the upstream is about to close it */
		{"GET", OK_LINE "Keep-Alive: timeout=1\r\n"
		    "Content-Length: 2\r\n\r\nok", 200, "ok", -1, false},
		{"GET", OK_LINE "Keep-Alive: timeout=5\r\n"
		    "Content-Length: 2\r\n\r\nok", 200, "ok", -1, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct fixture f;
		begin(&f, answer_with, table[i].text);
		f.call.message.method = span_str(table[i].method);
		f.call.message.body = SPAN("");
		f.call.message.has_body = false;
		for (int n = 0; n < 2; n++) {
			if (call_make(&f.call) != FORWARD_ANSWERED)
				fail_msg("%s", table[i].text);
			assert_int_equal(
			    f.call.forward.status, table[i].status);
			assert_int_equal(f.call.forward.head_length,
			    table[i].head_length);
			assert_body(&f.call, table[i].body);
			call_clear(&f.call);
		}
		if (peer_connections(f.peer) != (table[i].reused ? 1 : 2))
			fail_msg("%u connections: %s",
			    peer_connections(f.peer), table[i].text);
		end(&f);
	}
}

static void
malformed_answers_are_not_passed_on(void **state)
{
	enum { NO_LENGTH = 4 };
	static const char *const table[] = {
		OK_LINE "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok",
		OK_LINE "X: y\r\n folded\r\nContent-Length: 2\r\n\r\nok",
		OK_LINE "Transfer-Encoding: chunked\r\n\r\n2 \r\nok\r\n",
		OK_LINE "Transfer-Encoding: chunked\r\n\r\n2\r\nok!\r\n",
		[NO_LENGTH] = OK_LINE "\r\nup to the end",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/2 200\r\n\r\n",
		"garbage",
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct fixture f;
		begin(&f, answer_with, table[i]);
		if (call_make(&f.call) != FORWARD_MALFORMED)
			fail_msg("%s", table[i]);
		assert_int_equal(f.call.forward.op.error,
		    i == NO_LENGTH ? E_NO_LENGTH : E_MALFORMED);
		assert_int_equal(f.call.forward.body.len, 0);
		assert_null(f.call.forward.head);
		call_clear(&f.call);
		peer_wait_ended(f.peer, 1);
		end(&f);
	}
}

static void
a_head_that_is_too_large_is_malformed(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, answer_with, OK_LINE "X: 1234567890123456\r\n\r\n");
	f.call.limits.max_head = 32;
	assert_int_equal(call_make(&f.call), FORWARD_MALFORMED);
	assert_int_equal(f.call.forward.op.error, E_TOO_LARGE);
	end(&f);
}

/* The argument of a script that sends a part of a text. */
struct part {
	const char *text;
	size_t len;
	bool reset;
};

static void
answer_a_part(struct talk *talk)
{
	const struct part *part = talk_arg(talk);
	if (!talk_read(talk))
		return;
	talk_send(talk, part->text, part->len);
	if (part->reset) {
		talk_wait(talk, 0);
		talk_reset(talk);
	}
}

static void
a_part_of_an_answer_is_no_answer(void **state)
{
	static const char *const table[] = {
		"HTTP/1.1 100 Continue\r\n\r\n" OK_ANSWER,
		OK_LINE "Transfer-Encoding: chunked\r\n\r\n"
			"2\r\nok\r\n0\r\nX: y\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct part part = {table[i], 0, false};
		for (; part.len < strlen(table[i]); part.len++) {
			struct sender sender;
			struct call call;
			struct peer *peer = peer_new(answer_a_part, &part);
			sender_init(&sender);
			sender_add(&sender, peer);
			call_init(&call, &sender);
			if (call_make(&call) != FORWARD_BROKEN)
				fail_msg("%zu bytes of %s gave %d", part.len,
				    table[i], (int)call.forward.result);
			assert_int_equal(call.forward.op.error, E_CLOSED);
			assert_int_equal(peer_requests(peer), 1);
			call_clear(&call);
			sender_end(&sender);
			peer_free(&peer);
		}
	}
}

static void
a_reset_within_an_answer_is_told_at_once(void **state)
{
	static const char *const table[] = {
		"", "HTTP/1.1 2", OK_LINE, OK_LINE "Content-Length: 2\r\n\r\no",
		OK_LINE "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
		OK_LINE "\r\nup to the end",
	};

	(void)state;
	for (size_t i = 0; i < 2 * (sizeof table / sizeof *table); i++) {
		/*
		 * With the bytes before it still unread, or after they were
		 * read.
		 */
		const char *text = table[i / 2];
		bool together = i % 2;
		struct part part = {text, strlen(text), true};
		struct sender sender;
		struct call call;
		struct peer *peer = peer_new(answer_a_part, &part);
		sender_init(&sender);
		sender_add(&sender, peer);
		call_init(&call, &sender);
		call.limits.close_delimited = true;
		if (together)
			peer_go(peer, 0);
		sender_start(&call);
		sender_wait_requests(&sender, peer, 1);
		sender_run(&sender, 10);
		peer_go(peer, 0);
		sender_wait(&sender);
		assert_int_equal(call.forward.result, FORWARD_BROKEN);
		assert_int_equal(call.forward.op.error, E_CLOSED);
		assert_true(call.forward.op.took_us < 5000000);
		call_clear(&call);
		sender_end(&sender);
		peer_free(&peer);
	}
}

static void
an_answer_can_end_by_closing_where_that_is_allowed(void **state)
{
	static const char *const table[] = {
		OK_LINE "\r\nup to the end",
		"HTTP/1.0 200 OK\r\n\r\nup to the end",
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct fixture f;
		begin(&f, answer_and_close, table[i]);
		f.call.limits.close_delimited = true;
		assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
		assert_body(&f.call, "up to the end");
		call_clear(&f.call);
		assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
		assert_int_equal(peer_connections(f.peer), 2);
		end(&f);
	}
}

/* --- large bodies --- */

enum { LARGE_BYTES = 3000000 };

/* Answers with the request's body, with a length or in chunks. */
static void
answer_with_the_body(struct talk *talk)
{
	const char *kind = talk_arg(talk);
	char *zeros = mem_zero(LARGE_BYTES);
	memset(zeros, 'z', LARGE_BYTES);
	while (talk_read(talk)) {
		char head[128];
		bool chunked = !strcmp(kind, "chunked");
		if (chunked)
			snprintf(head, sizeof head, OK_LINE
			    "Transfer-Encoding: chunked\r\n\r\n%x\r\n",
			    LARGE_BYTES);
		else
			snprintf(head, sizeof head, OK_LINE
			    "Content-Length: %d\r\n\r\n", LARGE_BYTES);
		talk_say(talk, head);
		talk_send(talk, zeros, LARGE_BYTES);
		if (chunked)
			talk_say(talk, "\r\n0\r\n\r\n");
	}
	free(zeros);
}

static void
large_bodies_go_both_ways(void **state)
{
	static const char *const kinds[] = {"length", "chunked"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		char *body = mem_zero(LARGE_BYTES);
		for (size_t n = 0; n < LARGE_BYTES; n++)
			body[n] = (char)('a' + n % 23);
		begin(&f, answer_with_the_body, kinds[i]);
		f.call.message.body = span_of(body, LARGE_BYTES);
		f.call.limits.max_body = LARGE_BYTES;
		for (int n = 0; n < 2; n++) {
			assert_int_equal(call_make(&f.call), FORWARD_ANSWERED);
			assert_int_equal(f.call.forward.body.len, LARGE_BYTES);
			char *request = peer_last_request(f.peer);
			char *sent = strstr(request, "\r\n\r\n") + 4;
			assert_int_equal(strlen(sent), LARGE_BYTES);
			assert_memory_equal(sent, body, LARGE_BYTES);
			free(request);
			call_clear(&f.call);
		}
		assert_int_equal(peer_connections(f.peer), 1);
		free(body);
		end(&f);
	}
}

/* --- answers that come before the request is in --- */

static void
refuse_early(struct talk *talk)
{
	const struct part *part = talk_arg(talk);
	if (!talk_read_head(talk))
		return;
	talk_say(talk, part->text);
	talk_wait(talk, 0);
	if (part->reset)
		talk_reset(talk);
}

static void
an_early_answer_counts_and_its_connection_does_not(void **state)
{
	static const char refusal[] =
	    "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno";
	char *body = mem_zero(LARGE_BYTES);

	(void)state;
	memset(body, 'b', LARGE_BYTES);
	for (int reset = 0; reset < 2; reset++) {
		struct part part = {refusal, 0, reset};
		struct sender sender;
		struct call call;
		struct peer *peer = peer_new(refuse_early, &part);
		sender_init(&sender);
		sender_add(&sender, peer);
		call_init(&call, &sender);
		call.message.body = span_of(body, LARGE_BYTES);
		peer_go(peer, 0);
		for (int n = 0; n < 2; n++) {
			assert_int_equal(call_make(&call), FORWARD_ANSWERED);
			assert_int_equal(call.forward.status, 413);
			assert_body(&call, "no");
			assert_true(call.forward.sent_bytes > 0);
			call_clear(&call);
			peer_go(peer, 0);
		}
		assert_int_equal(peer_connections(peer), 2);
		assert_int_equal(peer_requests(peer), 0);
		sender_end(&sender);
		peer_free(&peer);
	}
	free(body);
}

/*
 * Refuses with an answer that ends with the connection, and cuts it by a reset.
 */
static void
an_early_answer_cut_by_a_reset_is_broken(void **state)
{
	struct part part = {"HTTP/1.1 413 No\r\n\r\ncut", 0, true};
	char *body = mem_zero(LARGE_BYTES);

	(void)state;
	memset(body, 'b', LARGE_BYTES);
	struct sender sender;
	struct call call;
	struct peer *peer = peer_new(refuse_early, &part);
	sender_init(&sender);
	sender_add(&sender, peer);
	call_init(&call, &sender);
	call.limits.close_delimited = true;
	call.message.body = span_of(body, LARGE_BYTES);
	sender_start(&call);
	sender_run(&sender, 20);
	assert_false(call.done);
	peer_go(peer, 0);
	sender_wait(&sender);
	assert_int_equal(call.forward.result, FORWARD_BROKEN);
	call_clear(&call);
	sender_end(&sender);
	peer_free(&peer);
	free(body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_sent_as_it_was_given),
		cmocka_unit_test(
		    a_target_can_have_a_base_path_and_its_own_name),
		cmocka_unit_test(what_cannot_stand_in_a_head_is_not_sent),
		cmocka_unit_test(answers_are_decoded),
		cmocka_unit_test(malformed_answers_are_not_passed_on),
		cmocka_unit_test(a_head_that_is_too_large_is_malformed),
		cmocka_unit_test(a_part_of_an_answer_is_no_answer),
		cmocka_unit_test(a_reset_within_an_answer_is_told_at_once),
		cmocka_unit_test(
		    an_answer_can_end_by_closing_where_that_is_allowed),
		cmocka_unit_test(large_bodies_go_both_ways),
		cmocka_unit_test(
		    an_early_answer_counts_and_its_connection_does_not),
		cmocka_unit_test(an_early_answer_cut_by_a_reset_is_broken),
	};
	return cmocka_run_group_tests_name("forward", tests, NULL, NULL);
}
