/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/upstream/answer_framing.h"

enum { CHUNKED = -2, CLOSE = -1 }; /* or a length */

static struct http1_head
head_of(int64_t framing)
{
	return (struct http1_head){
	    .status = 200,
	    .chunked = framing == CHUNKED,
	    .content_length = framing >= 0 ? framing : -1,
	};
}

struct decoded {
	enum answer_framing_state state;
	struct body content;
	size_t rest; /* bytes after the answer */
};

/* Decodes the text in pieces of that size, each a copy of exactly that size. */
static struct decoded
decode(int64_t kind, struct span text, size_t piece)
{
	struct http1_head head = head_of(kind);
	struct decoded d = {.state = FRAMING_MORE};
	struct answer_framing framing;
	answer_framing_begin(&framing, &head, false);
	while (d.state == FRAMING_MORE && text.len > 0) {
		size_t len = text.len < piece ? text.len : piece;
		char *copy = mem_copy(text.ptr, len);
		struct span bytes = span_of(copy, len);
		do {
			struct span content;
			d.state =
			    answer_framing_feed(&framing, &bytes, &content);
			assert_int_equal(body_append(&d.content, content.ptr,
					     content.len), 0);
		} while (d.state == FRAMING_MORE && bytes.len > 0);
		text = span_from(text, len - bytes.len);
		free(copy);
	}
	d.rest = text.len;
	return d;
}

/* The same result, however the text is cut. */
static void
check(int64_t kind, struct span text, enum answer_framing_state state,
    struct span content, size_t rest)
{
	static const size_t pieces[] = {SIZE_MAX, 1, 2, 3, 5, 64};
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		struct decoded d = decode(kind, text, pieces[i]);
		if (d.state != state)
			fail_msg("pieces of %zu give %d: %.*s", pieces[i],
			    (int)d.state, SPAN_FMT(text));
		if (state != FRAMING_MALFORMED) {
			if (!span_eq(body_span(&d.content), content))
				fail_msg("%.*s gave %.*s", SPAN_FMT(text),
				    SPAN_FMT(body_span(&d.content)));
			assert_int_equal(d.rest, rest);
		}
		body_clear(&d.content);
	}
}

static void
a_length_ends_a_body(void **state)
{
	(void)state;
	check(5, SPAN("hello"), FRAMING_END, SPAN("hello"), 0);
	check(5, SPAN("hell"), FRAMING_MORE, SPAN("hell"), 0);
	check(5, SPAN("hello, more"), FRAMING_END, SPAN("hello"), 6);
	check(0, SPAN("x"), FRAMING_END, SPAN(""), 1);
	check(INT64_MAX, SPAN("abc"), FRAMING_MORE, SPAN("abc"), 0);
}

static void
an_empty_body_has_ended_at_once(void **state)
{
	struct http1_head head = head_of(0);
	struct answer_framing framing;
	struct span none = SPAN(""), content;

	(void)state;
	answer_framing_begin(&framing, &head, false);
	assert_int_equal(
	    answer_framing_feed(&framing, &none, &content), FRAMING_END);
}

static void
a_body_up_to_the_end_never_ends_by_itself(void **state)
{
	(void)state;
	check(CLOSE, SPAN("anything\r\n0\r\n\r\n"), FRAMING_MORE,
	    SPAN("anything\r\n0\r\n\r\n"), 0);
}

static void
some_answers_have_no_body(void **state)
{
	static const struct {
		int status;
		bool to_head;
	} table[] = {{200, true}, {404, true}, {204, false}, {304, false},
	    {304, true}};
	static const int64_t kinds[] = {5, 0, CHUNKED, CLOSE};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
			struct http1_head head = head_of(kinds[k]);
			struct answer_framing framing;
			struct span bytes = SPAN("5\r\nhello"), content;
			head.status = table[i].status;
			answer_framing_begin(&framing, &head, table[i].to_head);
			assert_int_equal(framing.kind, FRAMING_NONE);
			assert_int_equal(
			    answer_framing_feed(&framing, &bytes, &content),
			    FRAMING_END);
			assert_int_equal(content.len, 0);
			assert_int_equal(bytes.len, 8);
		}
	}
}

static void
chunks_are_joined(void **state)
{
	static const struct {
		const char *text;
		const char *content;
		size_t rest;
	} table[] = {
		{"0\r\n\r\n", "", 0},
		{"000\r\n\r\n", "", 0},
		{"5\r\nhello\r\n0\r\n\r\n", "hello", 0},
		{"5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n", "hello, world", 0},
		{"a\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0},
		{"A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0},
		{"00000000000000A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0},
		{"2\r\n\r\n\r\n0\r\n\r\n", "\r\n", 0},
		{"5;a=b\r\nhello\r\n0;c=\"d\"\r\n\r\n", "hello", 0},
		{"5;\r\nhello\r\n0\r\n\r\n", "hello", 0},
		{"5\r\nhello\r\n0\r\nX-A: b\r\nX-B:\r\n\r\n", "hello", 0},
		{"5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200", "hello", 12},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		check(CHUNKED, span_str(table[i].text), FRAMING_END,
		    span_str(table[i].content), table[i].rest);
}

static void
a_part_of_the_chunks_is_not_all(void **state)
{
	static const char text[] =
	    "5;x=y\r\nhello\r\n3\r\nabc\r\n0\r\nX-A: b\r\n\r\n";

	(void)state;
	for (size_t len = 0; len < sizeof text - 1; len++) {
		struct decoded whole =
		    decode(CHUNKED, span_of(text, len), SIZE_MAX);
		check(CHUNKED, span_of(text, len), FRAMING_MORE,
		    body_span(&whole.content), 0);
		body_clear(&whole.content);
	}
	check(CHUNKED, span_str(text), FRAMING_END, SPAN("helloabc"), 0);
}

static void
malformed_chunks_are_refused(void **state)
{
	static const struct span table[] = {
#define BYTES(literal) {literal, sizeof(literal) - 1}
		BYTES("\r\n"),
		BYTES(";a\r\n"),
		BYTES("x\r\n"),
		BYTES("-5\r\n"),
		BYTES("+5\r\n"),
		BYTES("0x5\r\nhello\r\n0\r\n\r\n"),
		BYTES(" 5\r\nhello\r\n0\r\n\r\n"),
		BYTES("5 \r\nhello\r\n0\r\n\r\n"),
		BYTES("5\nhello\r\n0\r\n\r\n"),
		BYTES("5\r\r\nhello\r\n0\r\n\r\n"),
		BYTES("5\rhello\r\n0\r\n\r\n"),
		BYTES("5\r\nhello\n0\r\n\r\n"),
		BYTES("5\r\nhello0\r\n\r\n"),
		BYTES("5\r\nhello\rx0\r\n\r\n"),
		BYTES("5\r\nhello!\r\n0\r\n\r\n"),
		BYTES("5\r\nhello\r\n\r\n"),
		BYTES("5g\r\nhello\r\n0\r\n\r\n"),
		BYTES("5,\r\nhello\r\n0\r\n\r\n"),
		BYTES("1000000000000000\r\n"),
		BYTES("FFFFFFFFFFFFFFFF\r\n"),
		BYTES("10000000000000005\r\nhello\r\n0\r\n\r\n"),
		BYTES("0000000000000005\r\nhello\r\n0\r\n\r\n"),
		BYTES("5;a=b\nhello\r\n0\r\n\r\n"),
		BYTES("5;a=\0\r\nhello\r\n0\r\n\r\n"),
		BYTES("5;a=\x7f\r\nhello\r\n0\r\n\r\n"),
		BYTES("0\r\n\n"),
		BYTES("0\n\r\n"),
		BYTES("0\r\n\rX"),
		BYTES("0\r\n: b\r\n\r\n"),
		BYTES("0\r\nX-A b\r\n\r\n"),
		BYTES("0\r\nX-A\r\n\r\n"),
		BYTES("0\r\nX-A : b\r\n\r\n"),
		BYTES("0\r\n X-A: b\r\n\r\n"),
		BYTES("0\r\nX-A: b\r\n folded\r\n\r\n"),
		BYTES("0\r\nX-A: b\nX: y\r\n\r\n"),
		BYTES("0\r\nX-A: b\rX: y\r\n\r\n"),
		BYTES("0\r\nX-A: \0\r\n\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		check(CHUNKED, table[i], FRAMING_MALFORMED, SPAN(""), 0);
}

/* Text with so many bytes x between a front and an end. */
static void
check_filled(const char *front, size_t count, const char *end,
    enum answer_framing_state state)
{
	char *filled = mem_zero(count + 1);
	memset(filled, 'x', count);
	char *text = mem_printf("%s%s%s", front, filled, end);
	check(CHUNKED, span_str(text), state, SPAN(""), 0);
	free(text);
	free(filled);
}

static void
extensions_and_trailers_are_bounded(void **state)
{
	(void)state;
	check_filled("0;", FRAMING_EXTENSION_BYTES, "\r\n\r\n", FRAMING_END);
	check_filled("0;", FRAMING_EXTENSION_BYTES + 1, "\r\n\r\n",
	    FRAMING_MALFORMED);
	/* "X:" and the carriage return count too. */
	check_filled("0\r\nX:", FRAMING_TRAILER_BYTES - 3, "\r\n\r\n",
	    FRAMING_END);
	check_filled("0\r\nX:", FRAMING_TRAILER_BYTES - 2, "\r\n\r\n",
	    FRAMING_MALFORMED);
	check_filled("0\r\n", FRAMING_TRAILER_BYTES + 1, ":\r\n\r\n",
	    FRAMING_MALFORMED);
}

static void
extensions_of_all_chunks_count_together(void **state)
{
	struct body text = {0};

	(void)state;
	for (int i = 0; i <= FRAMING_EXTENSION_BYTES; i++)
		assert_int_equal(body_append(&text, "1;x\r\na\r\n", 8), 0);
	check(CHUNKED, body_span(&text), FRAMING_MALFORMED, SPAN(""), 0);
	body_clear(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_length_ends_a_body),
		cmocka_unit_test(an_empty_body_has_ended_at_once),
		cmocka_unit_test(a_body_up_to_the_end_never_ends_by_itself),
		cmocka_unit_test(some_answers_have_no_body),
		cmocka_unit_test(chunks_are_joined),
		cmocka_unit_test(a_part_of_the_chunks_is_not_all),
		cmocka_unit_test(malformed_chunks_are_refused),
		cmocka_unit_test(extensions_and_trailers_are_bounded),
		cmocka_unit_test(extensions_of_all_chunks_count_together),
	};
	return cmocka_run_group_tests_name("framing", tests, NULL, NULL);
}
