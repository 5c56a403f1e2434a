/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "messages/shared/letter_codec.h"

/* A letter as bytes: it comes back as it was, and nothing else is one. */

#define ID "0123456789abcdef0123456789abcdef"
#define HEAD "h1\n3:1-0,7:refused,0:,0:,0:,0:,3:409,1:2,2:77,"
#define BODY "b1\n1:0,2:{},-,-,-,-,-,-,1:1,1:a,0:,"

static struct arena *arena;

static int
begin(void **state)
{
	(void)state;
	arena = arena_new();
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_free(&arena);
	arena_trim();
	return 0;
}

/* Copies, so that nothing is read beyond the end. */
static struct span
kept(char *bytes, size_t len)
{
	struct span copy = arena_dup(arena, span_of(bytes, len));
	free(bytes);
	return copy;
}

static struct span
head_of(const struct letter *letter)
{
	char *bytes;
	size_t len;
	letter_codec_put_head(letter, &bytes, &len);
	return kept(bytes, len);
}

static struct span
body_of(const struct letter *letter)
{
	char *bytes;
	size_t len;
	letter_codec_put_body(letter, &bytes, &len);
	return kept(bytes, len);
}

static void
a_head_comes_back_as_it_was(void **state)
{
	(void)state;
	const struct letter letter = {.position = SPAN("t/3/17:9,\n\0"),
	    .reason = SPAN("key-missing"),
	    .key_id = SPAN(ID),
	    .route = SPAN("charges"),
	    .detail = SPAN("a: \"b\""),
	    .label = SPAN("\xc3\xa9"),
	    .status = 409,
	    .attempt = UINT32_MAX,
	    .first_ms = INT64_MAX};
	struct letter read = {0};
	assert_true(letter_codec_read_head(head_of(&letter), &read));
	assert_true(span_eq(read.position, letter.position));
	assert_true(span_eq(read.reason, letter.reason));
	assert_true(span_eq(read.key_id, letter.key_id));
	assert_true(span_eq(read.route, letter.route));
	assert_true(span_eq(read.detail, letter.detail));
	assert_true(span_eq(read.label, letter.label));
	assert_int_equal(read.status, 409);
	assert_true(read.attempt == UINT32_MAX);
	assert_true(read.first_ms == INT64_MAX);
}

static void
a_body_comes_back_as_it_was(void **state)
{
	(void)state;
	struct field list[] = {{SPAN("a"), SPAN("1")}, {SPAN("a"), SPAN("")},
	    {SPAN(""), SPAN("\0,\n")}};
	const struct letter letter = {.fields = {list, 3},
	    .has_payload = true,
	    .payload = SPAN("{\"a\":1}\0"),
	    .key = SPAN(""),
	    .type = SPAN("paid"),
	    .part = SPAN("t/3"),
	    .time_ms = 0,
	    .answer = SPAN("no")};
	struct letter read = {0};
	assert_true(
	    letter_codec_read_body(body_of(&letter), arena, &read));
	assert_int_equal(read.fields.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(span_eq(read.fields.list[i].name, list[i].name));
		assert_true(span_eq(read.fields.list[i].value, list[i].value));
	}
	assert_true(read.has_payload);
	assert_true(span_eq(read.payload, letter.payload));
	assert_non_null(read.key.ptr);
	assert_int_equal(read.key.len, 0);
	assert_null(read.entity.ptr);
	assert_true(span_eq(read.type, letter.type));
	assert_true(span_eq(read.part, letter.part));
	assert_int_equal(read.time_ms, 0);
	assert_true(span_eq(read.answer, letter.answer));
	assert_false(read.is_cut);
}

static void
what_there_is_none_of_is_told_from_what_is_empty(void **state)
{
	(void)state;
	const struct letter none = {.is_cut = true, .time_ms = -1};
	const struct letter empty = {.has_payload = true, .time_ms = -1};
	struct letter read = {0};
	assert_true(span_eq(
	    body_of(&none), SPAN("b1\n1:1,-,-,-,-,-,-,-,1:0,")));
	assert_true(letter_codec_read_body(body_of(&none), arena, &read));
	assert_true(read.is_cut);
	assert_false(read.has_payload);
	assert_null(read.payload.ptr);
	assert_true(read.time_ms == -1);
	assert_true(letter_codec_read_body(body_of(&empty), arena, &read));
	assert_true(read.has_payload);
	assert_int_equal(read.payload.len, 0);
}

/* Each cut, and each byte that is another one, is refused or reads the same. */
static void
nothing_else_is_a_letter(void **state)
{
	(void)state;
	static const char *const heads[] = {"", "h1", "h2\n", "b1\n", HEAD "x",
	    "h1\n3:1-0,0:,0:,0:,0:,0:,3:409,1:2,2:77,",
	    "h1\n3:1-0,7:Refused,0:,0:,0:,0:,3:409,1:2,2:77,",
	    "h1\n3:1-0,7:refused,2:ab,0:,0:,0:,3:409,1:2,2:77,",
	    "h1\n-,7:refused,0:,0:,0:,0:,3:409,1:2,2:77,",
	    "h1\n3:1-0,7:refused,0:,0:,0:,0:,4:1000,1:2,2:77,",
	    "h1\n3:1-0,7:refused,0:,0:,0:,0:,3:409,10:4294967296,2:77,",
	    "h1\n3:1-0,7:refused,0:,0:,0:,0:,3:409,2:02,2:77,",
	    "h1\n03:1-0,7:refused,0:,0:,0:,0:,3:409,1:2,2:77,",
	    "h1\n9223372036854775807:1-0,7:refused,",
	    "h1\n99999999999999999999:1-0,", "h1\n-1:1-0,"};
	static const char *const bodies[] = {"b1\n2:{},-,-,-,-,-,-,-,1:0,",
	    "b1\n1:2,2:{},-,-,-,-,-,-,1:0,", BODY "1:b,1:c,",
	    "b1\n1:0,2:{},-,-,-,-,-,-,1:2,1:a,0:,",
	    "b1\n1:0,2:{},-,-,-,-,-,-,18:999999999999999999,1:a,0:,",
	    "b1\n1:0,2:{},-,-,-,-,2:-1,-,1:0,",
	    "b1\n1:0,2:{},-,-,-,-,-,-,-,"};
	struct letter read;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		assert_false(
		    letter_codec_read_head(span_str(heads[i]), &read));
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		assert_false(letter_codec_read_body(
		    span_str(bodies[i]), arena, &read));
	assert_true(letter_codec_read_head(SPAN(HEAD), &read));
	assert_true(letter_codec_read_body(SPAN(BODY), arena, &read));
	for (size_t i = 0; i < sizeof HEAD - 1; i++)
		assert_false(letter_codec_read_head(
		    arena_dup(arena, span_of(HEAD, i)), &read));
	for (size_t i = 0; i < sizeof BODY - 1; i++)
		assert_false(letter_codec_read_body(
		    arena_dup(arena, span_of(BODY, i)), arena, &read));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_head_comes_back_as_it_was),
	    cmocka_unit_test(a_body_comes_back_as_it_was),
	    cmocka_unit_test(what_there_is_none_of_is_told_from_what_is_empty),
	    cmocka_unit_test(nothing_else_is_a_letter),
	};
	return cmocka_run_group_tests_name("letter codec", tests, begin, end);
}
