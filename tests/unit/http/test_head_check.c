/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "http/head_check.h"

#define FIELD(name, value) \
	{{name, sizeof(name) - 1}, {value, sizeof(value) - 1}}
#define HOST FIELD("Host", "example.com")

enum { FIELDS = 4 };

struct head {
	const char *method, *target, *version;
	struct field fields[FIELDS]; /* ends where a name's pointer is NULL */
	enum guard_verdict verdict;
};

static enum guard_verdict
judge(struct arena *arena, const struct head *h, struct guarded *ret_guarded)
{
	struct guard_head head = {
		.method = span_str(h->method),
		.target = span_str(h->target),
		.version = span_str(h->version),
	};

	head.fields.list = arena_alloc(arena, sizeof h->fields);
	memcpy(head.fields.list, h->fields, sizeof h->fields);
	while (head.fields.count < FIELDS &&
	    head.fields.list[head.fields.count].name.ptr)
		head.fields.count++;
	return guard_check(arena, &head, ret_guarded);
}

static void
assert_verdicts(const struct head *heads, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct head *h = &heads[i];
		struct arena *arena = arena_new();
		struct guarded g = {.words = NULL};
		enum guard_verdict verdict = judge(arena, h, &g);
		if (verdict != h->verdict)
			fail_msg("head %zu (%s %s %s) got %d: %s", i,
			    h->method, h->target, h->version, (int)verdict,
			    g.words ? g.words : "");
		/* Every refusal has a sentence. */
		if (verdict != GUARD_OK) {
			assert_non_null(g.words);
			assert_int_equal(g.words[strlen(g.words) - 1], '.');
		} else {
			assert_null(g.words);
		}
		arena_free(&arena);
	}
}

#define ASSERT_VERDICTS(heads) \
	assert_verdicts(heads, sizeof(heads) / sizeof(heads[0]))

/* A head like any other but for these fields. */
#define POST(verdict, ...) \
	{"POST", "/x", "HTTP/1.1", {HOST, __VA_ARGS__}, verdict}

static void
methods_are_words_of_capitals(void **state)
{
	static const struct head heads[] = {
		{"GET", "/", "HTTP/1.1", {HOST}, GUARD_OK},
		{"HEAD", "/", "HTTP/1.1", {HOST}, GUARD_OK},
		{"POST", "/", "HTTP/1.1", {HOST}, GUARD_OK},
		{"OPTIONS", "/", "HTTP/1.1", {HOST}, GUARD_OK},
		{"VERSION-CONTROL", "/", "HTTP/1.1", {HOST}, GUARD_OK},
		{"PROPFIND", "/", "HTTP/1.1", {HOST}, GUARD_OK},
		{"post", "/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"Post", "/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"POSt", "/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"P@\x01ST", "/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"P0ST", "/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"POST\x80", "/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"POST\t", "/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"", "/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG", "/", "HTTP/1.1", {HOST},
		    GUARD_BAD_REQUEST},
		{"CONNECT", "/", "HTTP/1.1", {HOST}, GUARD_METHOD},
		{"CONNECT", "h:80", "HTTP/1.1", {HOST}, GUARD_METHOD},
		{"TRACE", "/", "HTTP/1.1", {HOST}, GUARD_METHOD},
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
only_two_versions_are_spoken(void **state)
{
	static const struct head heads[] = {
		{"GET", "/", "HTTP/1.0", {HOST}, GUARD_OK},
		{"GET", "/", "HTTP/1.2", {HOST}, GUARD_VERSION},
		{"GET", "/", "HTTP/1.10", {HOST}, GUARD_VERSION},
		{"GET", "/", "HTTP/1.01", {HOST}, GUARD_VERSION},
		{"GET", "/", "HTTP/0.9", {HOST}, GUARD_VERSION},
		{"GET", "/", "HTTP/2.0", {HOST}, GUARD_VERSION},
		{"PRI", "*", "HTTP/2.0", {HOST}, GUARD_VERSION},
		{"GET", "/", "http/1.1", {HOST}, GUARD_VERSION},
		{"GET", "/", "HTTP/1.1 ", {HOST}, GUARD_VERSION},
		{"GET", "/", "HTTP/1,1", {HOST}, GUARD_VERSION},
		{"GET", "/", "", {HOST}, GUARD_VERSION},
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
only_paths_and_urls_are_targets(void **state)
{
	static const struct head heads[] = {
		{"GET", "/a?b", "HTTP/1.1", {HOST}, GUARD_OK},
		{"GET", "http://h/a", "HTTP/1.1", {HOST}, GUARD_OK},
		{"GET", "//a/../b", "HTTP/1.1", {HOST}, GUARD_OK},
		{"OPTIONS", "*", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "*", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "foo", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "?x", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "h:80", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "ftp://h/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "http://u@h/", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "/a#b", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "/a b", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "/a\r\nX: y", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "/\xc3\xa9", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "/%00", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "/\\", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
		{"GET", "/%4", "HTTP/1.1", {HOST}, GUARD_BAD_REQUEST},
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
one_valid_host_is_needed(void **state)
{
	static const struct head heads[] = {
		{"GET", "/", "HTTP/1.1", {FIELD("host", "h:8080")}, GUARD_OK},
		{"GET", "/", "HTTP/1.1", {FIELD("Host", " h ")}, GUARD_OK},
		{"GET", "/", "HTTP/1.1", {FIELD("Host", "[::1]")}, GUARD_OK},
		{"GET", "/", "HTTP/1.1", {FIELD("A", "b")}, GUARD_BAD_REQUEST},
		{"GET", "http://h/", "HTTP/1.1", {FIELD("A", "b")},
		    GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.0", {FIELD("A", "b")}, GUARD_OK},
		{"GET", "/", "HTTP/1.0", {HOST, HOST}, GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.0", {FIELD("Host", "a b")},
		    GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.1", {HOST, HOST}, GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.1", {HOST, FIELD("HOST", "x")},
		    GUARD_BAD_REQUEST},
		{"GET", "http://h/", "HTTP/1.1", {HOST, HOST},
		    GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.1", {FIELD("Host", "")},
		    GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.1", {FIELD("Host", " ")},
		    GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.1", {FIELD("Host", "a, b")},
		    GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.1", {FIELD("Host", "u@h")},
		    GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.1", {FIELD("Host", "h/p")},
		    GUARD_BAD_REQUEST},
		{"GET", "/", "HTTP/1.1", {FIELD("Host", "h:x")},
		    GUARD_BAD_REQUEST},
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

#define LENGTH(value) FIELD("Content-Length", value)
#define CODING(value) FIELD("Transfer-Encoding", value)

static void
a_length_is_one_plain_number(void **state)
{
	static const struct head heads[] = {
		POST(GUARD_OK, LENGTH("0")),
		POST(GUARD_OK, LENGTH("5")),
		POST(GUARD_OK, LENGTH("1048577")),
		POST(GUARD_OK, LENGTH("9223372036854775807")),
		POST(GUARD_TOO_LARGE, LENGTH("9223372036854775808")),
		POST(GUARD_TOO_LARGE, LENGTH("18446744073709551615")),
		POST(GUARD_TOO_LARGE, LENGTH("18446744073709551616")),
		POST(GUARD_TOO_LARGE, LENGTH("99999999999999999999999999")),
		POST(GUARD_BAD_REQUEST, LENGTH("")),
		POST(GUARD_BAD_REQUEST, LENGTH(" ")),
		POST(GUARD_BAD_REQUEST, LENGTH("+5")),
		POST(GUARD_BAD_REQUEST, LENGTH("-5")),
		POST(GUARD_BAD_REQUEST, LENGTH("-0")),
		POST(GUARD_BAD_REQUEST, LENGTH("0x5")),
		POST(GUARD_BAD_REQUEST, LENGTH("5a")),
		POST(GUARD_BAD_REQUEST, LENGTH("5.0")),
		POST(GUARD_BAD_REQUEST, LENGTH("5, 5")),
		POST(GUARD_BAD_REQUEST, LENGTH("5,5")),
		POST(GUARD_BAD_REQUEST, LENGTH("5 5")),
		POST(GUARD_BAD_REQUEST, LENGTH("5 ")),
		POST(GUARD_BAD_REQUEST, LENGTH("0005")),
		POST(GUARD_BAD_REQUEST, LENGTH("00")),
		POST(GUARD_BAD_REQUEST, LENGTH("5\0")),
		POST(GUARD_BAD_REQUEST, LENGTH("5"), LENGTH("5")),
		POST(GUARD_BAD_REQUEST, LENGTH("5"), LENGTH("0")),
		POST(GUARD_BAD_REQUEST, LENGTH("0"),
		    FIELD("content-length", "5")),
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
the_only_coding_is_chunked_once_and_alone(void **state)
{
	static const struct head heads[] = {
		POST(GUARD_OK, CODING("chunked")),
		POST(GUARD_OK, CODING("Chunked")),
		POST(GUARD_BAD_REQUEST, CODING("")),
		POST(GUARD_BAD_REQUEST, CODING("xchunked")),
		POST(GUARD_BAD_REQUEST, CODING("chunkedx")),
		POST(GUARD_BAD_REQUEST, CODING("identity")),
		POST(GUARD_BAD_REQUEST, CODING("gzip, chunked")),
		POST(GUARD_BAD_REQUEST, CODING("chunked, gzip")),
		POST(GUARD_BAD_REQUEST, CODING("chunked, chunked")),
		POST(GUARD_BAD_REQUEST, CODING("chunked;x=1")),
		POST(GUARD_BAD_REQUEST, CODING("\"chunked\"")),
		POST(GUARD_BAD_REQUEST, CODING("\x0b" "chunked")),
		/* libmicrohttpd would read up to the end of the connection */
		POST(GUARD_BAD_REQUEST, CODING("chunked ")),
		POST(GUARD_BAD_REQUEST, CODING("chunked\t")),
		POST(GUARD_BAD_REQUEST, CODING("chunked"), CODING("chunked")),
		POST(GUARD_BAD_REQUEST, CODING("chunked"), CODING("identity")),
		POST(GUARD_BAD_REQUEST, CODING("identity"), CODING("chunked")),
		POST(GUARD_BAD_REQUEST, CODING("chunked"), LENGTH("5")),
		POST(GUARD_BAD_REQUEST, LENGTH("5"), CODING("chunked")),
		POST(GUARD_BAD_REQUEST, LENGTH("0"), CODING("chunked")),
		{"POST", "/x", "HTTP/1.0", {HOST, CODING("chunked")},
		    GUARD_BAD_REQUEST},
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
the_only_expectation_is_100_continue(void **state)
{
	static const struct head heads[] = {
		POST(GUARD_OK, FIELD("Expect", "100-continue")),
		POST(GUARD_OK, FIELD("expect", "100-Continue ")),
		POST(GUARD_EXPECTATION, FIELD("Expect", "")),
		POST(GUARD_EXPECTATION, FIELD("Expect", "x")),
		POST(GUARD_EXPECTATION, FIELD("Expect", "100-continue, x")),
		POST(GUARD_EXPECTATION, FIELD("Expect", "100-continue;x")),
		POST(GUARD_EXPECTATION, FIELD("Expect", "100-continue"),
		    FIELD("Expect", "x")),
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
names_are_tokens(void **state)
{
	static const struct head heads[] = {
		POST(GUARD_OK, FIELD("X-_.~!#$%&'*+^`|0", "")),
		POST(GUARD_BAD_REQUEST, FIELD("", "x")),
		POST(GUARD_BAD_REQUEST, FIELD(" X", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X ", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("Content-Length ", "5")),
		POST(GUARD_BAD_REQUEST, FIELD("Transfer-Encoding\t", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X:Y", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X(Y)", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X\"", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X\0Y", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X\x01", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X\x7f", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X\xc3\xa9", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X\r", "x")),
		POST(GUARD_BAD_REQUEST, FIELD("X\nY", "x")),
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
values_have_no_control_characters(void **state)
{
	static const struct head heads[] = {
		POST(GUARD_OK, FIELD("X", "")),
		POST(GUARD_OK, FIELD("X", " \t ")),
		POST(GUARD_OK, FIELD("X", "a\tb \x80\xff~!")),
		POST(GUARD_BAD_REQUEST, FIELD("X", "a\rb")),
		POST(GUARD_BAD_REQUEST, FIELD("X", "a\nb")),
		POST(GUARD_BAD_REQUEST, FIELD("X", "a\r\n b")),
		POST(GUARD_BAD_REQUEST, FIELD("X", "a\0b")),
		POST(GUARD_BAD_REQUEST, FIELD("X", "a\x01")),
		POST(GUARD_BAD_REQUEST, FIELD("X", "\x0b")),
		POST(GUARD_BAD_REQUEST, FIELD("X", "\x7f")),
		POST(GUARD_BAD_REQUEST, FIELD("X", "\x1f")),
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
there_are_not_too_many_fields(void **state)
{
	struct arena *arena = arena_new();
	struct field list[GUARD_FIELDS_MAX + 1];
	struct guard_head head = {SPAN("GET"), SPAN("/"), SPAN("HTTP/1.1"),
		{list, GUARD_FIELDS_MAX}};
	struct guarded g;

	(void)state;
	list[0] = (struct field)HOST;
	for (size_t i = 1; i <= GUARD_FIELDS_MAX; i++)
		list[i] = (struct field)FIELD("A", "b");
	assert_int_equal(guard_check(arena, &head, &g), GUARD_OK);
	head.fields.count++;
	assert_int_equal(
	    guard_check(arena, &head, &g), GUARD_HEADERS_TOO_LARGE);
	arena_free(&arena);
}

static void
a_good_head_is_told_as_it_is(void **state)
{
	static const struct head length = {"POST", "/a?b", "HTTP/1.1",
		{FIELD("Host", " h:1\t"), LENGTH("1234567890123"),
		    FIELD("X", "\t a b  "), FIELD("X", "")}, GUARD_OK};
	static const struct head chunked = {"POST", "http://other:9/a",
		"HTTP/1.1", {HOST, CODING("chunked")}, GUARD_OK};
	static const struct head old = {"GET", "/", "HTTP/1.0",
		{FIELD("A", "b")}, GUARD_OK};
	struct arena *arena = arena_new();
	struct guarded g;

	(void)state;
	assert_int_equal(judge(arena, &length, &g), GUARD_OK);
	assert_true(span_eq(g.authority, SPAN("h:1")));
	assert_true(span_eq(g.target.query, SPAN("b")));
	assert_true(span_eq(g.target.spelling, SPAN("/a")));
	assert_true(g.has_length && !g.chunked && !g.version_1_0);
	assert_true(g.length == 1234567890123);
	assert_int_equal(g.fields.count, 4);
	assert_true(span_eq(g.fields.list[0].value, SPAN("h:1")));
	assert_true(span_eq(g.fields.list[2].name, SPAN("X")));
	assert_true(span_eq(g.fields.list[2].value, SPAN("a b")));
	assert_true(span_eq(g.fields.list[3].value, SPAN("")));

	/* The authority of the target is the Host. */
	assert_int_equal(judge(arena, &chunked, &g), GUARD_OK);
	assert_true(span_eq(g.authority, SPAN("other:9")));
	assert_true(span_eq(g.target.origin_form, SPAN("/a")));
	assert_true(g.chunked && !g.has_length && g.length == 0);

	assert_int_equal(judge(arena, &old, &g), GUARD_OK);
	assert_true(g.version_1_0 && !g.chunked && !g.has_length);
	assert_int_equal(g.authority.len, 0);
	arena_free(&arena);
}

static void
a_bad_head_tells_only_why(void **state)
{
	static const struct head bad = {"POST", "/", "HTTP/1.1",
		{HOST, LENGTH("5"), CODING("chunked")}, GUARD_BAD_REQUEST};
	struct arena *arena = arena_new();
	struct guarded g = {.length = -7};

	(void)state;
	assert_int_equal(judge(arena, &bad, &g), GUARD_BAD_REQUEST);
	assert_true(g.length == -7 && !g.has_length && !g.fields.list);
	assert_non_null(g.words);
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_are_words_of_capitals),
		cmocka_unit_test(only_two_versions_are_spoken),
		cmocka_unit_test(only_paths_and_urls_are_targets),
		cmocka_unit_test(one_valid_host_is_needed),
		cmocka_unit_test(a_length_is_one_plain_number),
		cmocka_unit_test(the_only_coding_is_chunked_once_and_alone),
		cmocka_unit_test(the_only_expectation_is_100_continue),
		cmocka_unit_test(names_are_tokens),
		cmocka_unit_test(values_have_no_control_characters),
		cmocka_unit_test(there_are_not_too_many_fields),
		cmocka_unit_test(a_good_head_is_told_as_it_is),
		cmocka_unit_test(a_bad_head_tells_only_why),
	};
	return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
