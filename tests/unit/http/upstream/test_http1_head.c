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
#include "http/upstream/http1_head.h"

enum { MAX_BYTES = 4096 };

/* --- the head of a request --- */

static struct http1_request
request_of(const struct fields *fields)
{
	return (struct http1_request){
	    .method = SPAN("POST"),
	    .base_path = SPAN(""),
	    .target = SPAN("/v1/charges?x=%20"),
	    .host = SPAN("shop.example"),
	    .fields = fields,
	    .has_body = true,
	    .body_bytes = 20,
	};
}

/* The head as a string, or NULL where it is refused. */
static char *
written(const struct http1_request *request)
{
	struct body out = {0};
	int error = http1_head_write(request, &out);
	if (error != 0) {
		assert_int_equal(error, E_MALFORMED);
		assert_int_equal(out.len, 0);
	}
	char *text = error ? NULL : mem_str(body_span(&out));
	body_clear(&out);
	return text;
}

static void
assert_written(const struct http1_request *request, const char *expected)
{
	char *text = written(request);
	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void
assert_refused(const struct http1_request *request)
{
	char *text = written(request);
	if (text != NULL)
		fail_msg("was written: %s", text);
}

static void
a_request_has_host_first_and_our_length_last(void **state)
{
	struct field list[] = {
		{SPAN("Authorization"), SPAN("Bearer s3cret")},
		{SPAN("Idempotency-Key"), SPAN("\"a\"")},
		{SPAN("X-Empty"), SPAN("")},
		{SPAN("X-Eight"), SPAN("gr\xfc\xdf\tGott")},
	};
	struct fields fields = {list, 4};
	struct http1_request request = request_of(&fields);

	(void)state;
	assert_written(&request,
	    "POST /v1/charges?x=%20 HTTP/1.1\r\n"
	    "Host: shop.example\r\n"
	    "Authorization: Bearer s3cret\r\n"
	    "Idempotency-Key: \"a\"\r\n"
	    "X-Empty: \r\n"
	    "X-Eight: gr\xfc\xdf\tGott\r\n"
	    "Content-Length: 20\r\n"
	    "\r\n");
}

static void
a_request_without_body_has_no_length(void **state)
{
	struct fields none = {NULL, 0};
	struct http1_request request = request_of(&none);

	(void)state;
	request.method = SPAN("GET");
	request.has_body = false;
	request.base_path = SPAN("/api");
	request.close = true;
	assert_written(&request,
	    "GET /api/v1/charges?x=%20 HTTP/1.1\r\n"
	    "Host: shop.example\r\n"
	    "Connection: close\r\n"
	    "\r\n");
}

static void
an_empty_body_has_a_length(void **state)
{
	struct fields none = {NULL, 0};
	struct http1_request request = request_of(&none);

	(void)state;
	request.target = SPAN("/");
	request.body_bytes = 0;
	assert_written(&request,
	    "POST / HTTP/1.1\r\n"
	    "Host: shop.example\r\n"
	    "Content-Length: 0\r\n"
	    "\r\n");
}

static void
a_head_is_appended(void **state)
{
	struct fields none = {NULL, 0};
	struct http1_request request = request_of(&none);
	struct body out = {0};

	(void)state;
	assert_int_equal(body_append(&out, "before", 6), 0);
	assert_int_equal(http1_head_write(&request, &out), 0);
	assert_true(span_starts(body_span(&out), SPAN("beforePOST /v1")));
	body_clear(&out);
}

/*
 * Every byte that could end a line, a word or a string, in every part of a
 * head.
 */
static void
no_part_can_bring_a_line_of_its_own(void **state)
{
	static const struct span evil[] = {
		{"\r\nX: y", 6}, {"\r\n\r\nPOST /evil HTTP/1.1\r\n", 24},
		{"\n", 1}, {"\r", 1}, {"\0", 1}, {"\x7f", 1}, {"\x1b", 1},
		{"\x01", 1}, {"\v", 1}, {"\f", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
		char text[64] = "/a";
		memcpy(text + 2, evil[i].ptr, evil[i].len);
		struct span bad = span_of(text, 2 + evil[i].len);
		struct field field = {SPAN("X-A"), SPAN("b")};
		struct fields fields = {&field, 1};

		struct http1_request request = request_of(&fields);
		request.target = bad;
		assert_refused(&request);
		request = request_of(&fields);
		request.base_path = bad;
		assert_refused(&request);
		request = request_of(&fields);
		request.host = bad;
		assert_refused(&request);
		request = request_of(&fields);
		request.method = span_from(bad, 1);
		assert_refused(&request);
		request = request_of(&fields);
		field.value = bad;
		assert_refused(&request);
		field.value = SPAN("b");
		field.name = span_from(bad, 1);
		assert_refused(&request);
	}
}

static void
parts_with_blanks_or_none_at_all_are_refused(void **state)
{
	static const char *const targets[] = {
		"", "v1", "*", "http://other/", "/a b", "/a\t", "/\xc3\xbc",
	};
	static const char *const methods[] = {
		"", "PO ST", "POST ", "P\xd6ST", "GET/", "(", "a:b",
	};
	struct fields none = {NULL, 0};

	(void)state;
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		struct http1_request request = request_of(&none);
		request.target = span_str(targets[i]);
		assert_refused(&request);
	}
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		struct http1_request request = request_of(&none);
		request.method = span_str(methods[i]);
		assert_refused(&request);
	}
	struct http1_request request = request_of(&none);
	request.host = SPAN("");
	assert_refused(&request);
	request.host = SPAN("a b");
	assert_refused(&request);
}

static void
nobody_else_writes_framing_or_connection_fields(void **state)
{
	static const char *const names[] = {
		"Host", "content-length", "Transfer-Encoding", "CONNECTION",
		"Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade",
		"Expect", "expect", "", " X", "X ", "X:", "X-\xc3\xbc",
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct field field = {span_str(names[i]), SPAN("2")};
		struct fields fields = {&field, 1};
		struct http1_request request = request_of(&fields);
		assert_refused(&request);
	}
}

/* --- the head of an answer --- */

/*
 * Feeds the text in pieces of that size, each a copy of exactly that size, so
 * that a read past its end is noticed.
 */
static enum http1_head_state
feed(struct http1_head *head, struct span text, size_t piece, size_t *ret_rest)
{
	enum http1_head_state state = HEAD_MORE;
	while (text.len > 0 && state == HEAD_MORE) {
		size_t len = text.len < piece ? text.len : piece;
		char *copy = mem_copy(text.ptr, len);
		struct span bytes = span_of(copy, len);
		state = http1_head_feed(head, &bytes);
		if (state == HEAD_MORE)
			assert_int_equal(bytes.len, 0);
		text = span_from(text, len - bytes.len);
		free(copy);
	}
	*ret_rest = text.len;
	return state;
}

/* The state, which is the same however the text is cut. */
static enum http1_head_state
state_of(struct span text)
{
	static const size_t pieces[] = {SIZE_MAX, 1, 2, 3, 7, 64};
	enum http1_head_state first = HEAD_MORE;
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		struct http1_head head = {0};
		size_t rest;
		http1_head_begin(&head, MAX_BYTES);
		enum http1_head_state state =
		    feed(&head, text, pieces[i], &rest);
		http1_head_free(&head);
		if (i == 0)
			first = state;
		else if (state != first)
			fail_msg("pieces of %zu give %d, not %d: %.*s",
			    pieces[i], (int)state, (int)first,
			    SPAN_FMT(text));
	}
	return first;
}

static void
what_upstreams_say_is_read(void **state)
{
	static const struct {
		const char *text;
		int status;
		int64_t length;
		bool chunked;
		bool persistent;
		int64_t keep_alive_s;
	} table[] = {
		{"HTTP/1.1 200 OK\r\n\r\n", 200, -1, false, true, -1},
		{"HTTP/1.1 200\r\n\r\n", 200, -1, false, true, -1},
		{"HTTP/1.1 200 \r\n\r\n", 200, -1, false, true, -1},
		{"HTTP/1.1 599 \xc3\xa4rger\t!\r\n\r\n", 599, -1, false, true,
		    -1},
		{"HTTP/1.0 201 Created\r\n\r\n", 201, -1, false, false, -1},
		{"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"
		 "Content-Length: 3\r\n\r\n", 200, 3, false, false, -1},
		{"HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\n", 200, 5, false,
		    true, -1},
		{"HTTP/1.1 200 OK\r\nContent-Length: \t 0 \t\r\n\r\n", 200, 0,
		    false, true, -1},
		{"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n"
		 "\r\n", 200, INT64_MAX, false, true, -1},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", 200,
		    -1, true, true, -1},
		{"HTTP/1.1 200 OK\r\nConnection: x, Close ,y\r\n\r\n", 200, -1,
		    false, false, -1},
		{"HTTP/1.1 200 OK\r\nConnection: x\r\nconnection: close\r\n"
		 "\r\n", 200, -1, false, false, -1},
		{"HTTP/1.1 200 OK\r\nConnection: closed\r\n\r\n", 200, -1,
		    false, true, -1},
		{"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=100\r\n\r\n",
		    200, -1, false, true, 5},
		{"HTTP/1.1 200 OK\r\nKeep-Alive: max=100, Timeout=60\r\n\r\n",
		    200, -1, false, true, 60},
		{"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=0\r\n\r\n", 200, -1,
		    false, true, 0},
		{"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=\r\n\r\n", 200, -1,
		    false, true, -1},
		{"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=99999999999999\r\n"
		 "\r\n", 200, -1, false, true, -1},
		/* interim answers */
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 C\r\n\r\n", 201,
		    -1, false, true, -1},
		{"HTTP/1.1 103 Hints\r\nLink: </a>\r\nConnection: close\r\n"
		 "Keep-Alive: timeout=5\r\nContent-Length: 7\r\n\r\n"
		 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", 200, 2, false,
		    true, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct span text = span_str(table[i].text);
		struct http1_head head = {0};
		size_t rest;
		if (state_of(text) != HEAD_WHOLE)
			fail_msg("not read: %s", table[i].text);
		http1_head_begin(&head, MAX_BYTES);
		feed(&head, text, 1, &rest);
		assert_int_equal(rest, 0);
		assert_int_equal(head.status, table[i].status);
		assert_int_equal(head.content_length, table[i].length);
		assert_int_equal(head.chunked, table[i].chunked);
		assert_int_equal(head.persistent, table[i].persistent);
		assert_int_equal(head.keep_alive_s, table[i].keep_alive_s);
		http1_head_free(&head);
	}
}

#define OK_LINE "HTTP/1.1 200 OK\r\n"

static void
malformed_answers_are_refused(void **state)
{
#define BYTES(literal) {literal, sizeof(literal) - 1}
	static const struct span table[] = {
		/* what libcurl 7.88 accepts as an answer */
		BYTES(OK_LINE "Content-Length: 5\r\nContent-Length: 3\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 5, 5\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: +5\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 5x\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 9223372036854775808\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 5\r\n"
			      "Transfer-Encoding: chunked\r\n\r\n"),
		BYTES(OK_LINE "Transfer-Encoding: chunked\r\n"
			      "Content-Length: 5\r\n\r\n"),
		BYTES(OK_LINE "X-A: b\r\n folded\r\n\r\n"),
		BYTES(OK_LINE "X-A: b\r\n\tfolded\r\n\r\n"),
		BYTES("HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n"),
		BYTES(OK_LINE "X-A: b\nContent-Length: 0\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 0\r\n\n"),
		BYTES(OK_LINE "X-A: b\rc\r\n\r\n"),
		BYTES(OK_LINE "X-A: b\r\r\n\r\n"),
		BYTES("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
		BYTES("HTTP/1.1 999 What\r\n\r\n"),
		BYTES("HTTP/2 200 OK\r\n\r\n"),
		BYTES("HTTP/2.0 200 OK\r\n\r\n"),
		BYTES("HTTP/1.0 200 OK\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n"),
		/* what it refuses too */
		BYTES(OK_LINE "X-A: b\0c\r\n\r\n"),
		BYTES(OK_LINE "no colon\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: -5\r\n\r\n"),
		BYTES(OK_LINE "Transfer-Encoding: gzip\r\n\r\n"),
		/* and the like */
		BYTES(OK_LINE "Content-Length:\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 05\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 00\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 0x5\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 5 5\r\n\r\n"),
		BYTES(OK_LINE "Content-Length: 18446744073709551621\r\n\r\n"),
		BYTES(OK_LINE "Content-Length : 5\r\n\r\n"),
		BYTES(OK_LINE "Content-Length\t: 5\r\n\r\n"),
		BYTES(OK_LINE ": x\r\n\r\n"),
		BYTES(OK_LINE "X A: b\r\n\r\n"),
		BYTES(OK_LINE "X(A): b\r\n\r\n"),
		BYTES(OK_LINE "X-\xc3\xa4: b\r\n\r\n"),
		BYTES(OK_LINE " X-A: b\r\n\r\n"),
		BYTES(OK_LINE "X-A: b\x7f\r\n\r\n"),
		BYTES(OK_LINE "X-A: \x1b[2J\r\n\r\n"),
		BYTES(OK_LINE "Transfer-Encoding: chunked\r\n"
			      "Transfer-Encoding: chunked\r\n\r\n"),
		BYTES(OK_LINE "Transfer-Encoding: chunked, chunked\r\n\r\n"),
		BYTES(OK_LINE "Transfer-Encoding: gzip, chunked\r\n\r\n"),
		BYTES(OK_LINE "Transfer-Encoding: \r\n\r\n"),
		BYTES(OK_LINE "Transfer-Encoding: identity\r\n\r\n"),
		BYTES(OK_LINE "Transfer-Encoding: chunked;q=1\r\n\r\n"),
		BYTES(OK_LINE "Transfer-Encoding: xchunked\r\n\r\n"),
		BYTES("HTTP/1.1 2000 OK\r\n\r\n"),
		BYTES("HTTP/1.1 20 OK\r\n\r\n"),
		BYTES("HTTP/1.1 2 0 OK\r\n\r\n"),
		BYTES("HTTP/1.1 +20 OK\r\n\r\n"),
		BYTES("HTTP/1.1 200OK\r\n\r\n"),
		BYTES("HTTP/1.1  200 OK\r\n\r\n"),
		BYTES("HTTP/1.1\t200 OK\r\n\r\n"),
		BYTES("HTTP/1.1 200 O\0K\r\n\r\n"),
		BYTES("HTTP/1.1 099 OK\r\n\r\n"),
		BYTES("HTTP/1.1 000 OK\r\n\r\n"),
		BYTES("HTTP/1.1 600 OK\r\n\r\n"),
		BYTES("HTTP/1.1 \r\n\r\n"),
		BYTES("HTTP/1.2 200 OK\r\n\r\n"),
		BYTES("HTTP/1.11 200 OK\r\n\r\n"),
		BYTES("HTTP/0.9 200 OK\r\n\r\n"),
		BYTES("http/1.1 200 OK\r\n\r\n"),
		BYTES(" HTTP/1.1 200 OK\r\n\r\n"),
		BYTES("\r\nHTTP/1.1 200 OK\r\n\r\n"),
		BYTES("\r\n"),
		BYTES("\n"),
		BYTES("ICY 200 OK\r\n\r\n"),
		BYTES("<html>HTTP/0.9 of old</html>"),
		BYTES("POST /v1/charges HTTP/1.1\r\n\r\n"),
		BYTES("HTTP/1.1 100 Continue\r\n\r\n<html>"),
		BYTES("HTTP/1.1 100 Continue\r\nX: y\r\n z\r\n\r\n" OK_LINE
		      "\r\n"),
		BYTES("HTTP/1.1 100 Continue\r\n\r\n"
		      "HTTP/1.1 101 Switching\r\n\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		enum http1_head_state got = state_of(table[i]);
		if (got != HEAD_MALFORMED)
			fail_msg("gave %d: %.*s", (int)got,
			    SPAN_FMT(table[i]));
	}
}

static void
a_part_of_a_head_is_no_head(void **state)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n" OK_LINE
	    "Content-Length: 5\r\nX-A: b\r\nTransfer: none\r\n\r\n";

	(void)state;
	for (size_t len = 0; len < sizeof text - 1; len++)
		assert_int_equal(state_of(span_of(text, len)), HEAD_MORE);
	assert_int_equal(state_of(span_str(text)), HEAD_WHOLE);
}

static void
what_stands_behind_a_head_is_left(void **state)
{
	struct http1_head head = {0};
	struct span bytes = SPAN(OK_LINE "Content-Length: 5\r\n\r\nhello");

	(void)state;
	http1_head_begin(&head, MAX_BYTES);
	assert_int_equal(http1_head_feed(&head, &bytes), HEAD_WHOLE);
	assert_true(span_eq(bytes, SPAN("hello")));
	http1_head_free(&head);
}

static void
fields_are_given_as_they_came(void **state)
{
	struct http1_head head = {0};
	struct span bytes = SPAN(OK_LINE "Set-Cookie: a=1\r\nX-Empty:\r\n"
					 "Set-Cookie:  b=2; x \t\r\n"
					 "Connection: close\r\n\r\n");
	struct fields fields;

	(void)state;
	http1_head_begin(&head, MAX_BYTES);
	assert_int_equal(http1_head_feed(&head, &bytes), HEAD_WHOLE);
	char *block = http1_head_take(&head, &fields);
	http1_head_free(&head);
	assert_int_equal(fields.count, 4);
	assert_true(span_eq(fields.list[0].name, SPAN("Set-Cookie")));
	assert_true(span_eq(fields.list[0].value, SPAN("a=1")));
	assert_true(span_eq(fields.list[1].name, SPAN("X-Empty")));
	assert_true(span_eq(fields.list[1].value, SPAN("")));
	assert_true(span_eq(fields.list[2].value, SPAN("b=2; x")));
	assert_true(span_eq(fields.list[3].name, SPAN("Connection")));
	free(block);
}

static void
a_head_can_be_read_behind_another(void **state)
{
	struct http1_head head = {0};
	struct fields fields;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct span bytes = i == 1
		    ? SPAN("HTTP/1.0 404 No\r\nA: b\r\n\r\n")
		    : SPAN(OK_LINE "Content-Length: 7\r\nC: d\r\n\r\n");
		http1_head_begin(&head, MAX_BYTES);
		assert_int_equal(http1_head_feed(&head, &bytes), HEAD_WHOLE);
		assert_int_equal(head.status, i == 1 ? 404 : 200);
		assert_int_equal(head.content_length, i == 1 ? -1 : 7);
		assert_int_equal(head.persistent, i != 1);
		char *block = http1_head_take(&head, &fields);
		assert_int_equal(fields.count, i == 1 ? 1 : 2);
		free(block);
	}
	http1_head_free(&head);
}

static void
a_head_has_a_greatest_size(void **state)
{
	static const char front[] = OK_LINE "X: ";
	static const char end[] = "\r\n\r\n";
	char text[MAX_BYTES + 1];

	(void)state;
	for (size_t len = MAX_BYTES - 1; len <= MAX_BYTES + 1; len++) {
		memset(text, 'x', len);
		memcpy(text, front, sizeof front - 1);
		memcpy(text + len - 4, end, 4);
		assert_int_equal(state_of(span_of(text, len)),
		    len <= MAX_BYTES ? HEAD_WHOLE : HEAD_TOO_LARGE);
	}
	/* A line without an end, of each kind. */
	memset(text, 'x', sizeof text);
	memcpy(text, front, sizeof front - 1);
	assert_int_equal(state_of(span_of(text, sizeof text)), HEAD_TOO_LARGE);
	memset(text, '2', sizeof text);
	memcpy(text, "HTTP/1.1 ", 9);
	assert_int_equal(state_of(span_of(text, sizeof text)), HEAD_TOO_LARGE);
	memset(text, 'x', sizeof text);
	assert_int_equal(state_of(span_of(text, sizeof text)), HEAD_MALFORMED);
}

static void
a_head_has_a_greatest_number_of_fields(void **state)
{
	(void)state;
	for (int count = HEAD_FIELDS_MAX; count <= HEAD_FIELDS_MAX + 1;
	     count++) {
		struct body text = {0};
		assert_int_equal(body_append(&text, OK_LINE, 17), 0);
		for (int i = 0; i < count; i++)
			assert_int_equal(body_append(&text, "a:b\r\n", 5), 0);
		assert_int_equal(body_append(&text, "\r\n", 2), 0);
		assert_int_equal(state_of(body_span(&text)),
		    count == HEAD_FIELDS_MAX ? HEAD_WHOLE : HEAD_TOO_LARGE);
		body_clear(&text);
	}
}

static void
interim_answers_end_some_time(void **state)
{
	(void)state;
	for (int count = 0; count <= HEAD_INTERIM_MAX + 1; count++) {
		struct body text = {0};
		for (int i = 0; i < count; i++)
			assert_int_equal(body_append(&text,
					     "HTTP/1.1 100 C\r\n\r\n", 18),
			    0);
		assert_int_equal(body_append(&text, OK_LINE "\r\n", 19), 0);
		assert_int_equal(state_of(body_span(&text)),
		    count <= HEAD_INTERIM_MAX ? HEAD_WHOLE : HEAD_MALFORMED);
		body_clear(&text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_has_host_first_and_our_length_last),
		cmocka_unit_test(a_request_without_body_has_no_length),
		cmocka_unit_test(an_empty_body_has_a_length),
		cmocka_unit_test(a_head_is_appended),
		cmocka_unit_test(no_part_can_bring_a_line_of_its_own),
		cmocka_unit_test(parts_with_blanks_or_none_at_all_are_refused),
		cmocka_unit_test(
		    nobody_else_writes_framing_or_connection_fields),
		cmocka_unit_test(what_upstreams_say_is_read),
		cmocka_unit_test(malformed_answers_are_refused),
		cmocka_unit_test(a_part_of_a_head_is_no_head),
		cmocka_unit_test(what_stands_behind_a_head_is_left),
		cmocka_unit_test(fields_are_given_as_they_came),
		cmocka_unit_test(a_head_can_be_read_behind_another),
		cmocka_unit_test(a_head_has_a_greatest_size),
		cmocka_unit_test(a_head_has_a_greatest_number_of_fields),
		cmocka_unit_test(interim_answers_end_some_time),
	};
	return cmocka_run_group_tests_name("head", tests, NULL, NULL);
}
