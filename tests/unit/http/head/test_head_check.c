/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "http/head/head_check.h"

#define FIELD(name, value) \
	{{name, sizeof(name) - 1}, {value, sizeof(value) - 1}}
#define HOST FIELD("Host", "example.com")

enum { FIELDS = 4 };

struct head {
	const char *method, *target, *version;
	struct field fields[FIELDS]; /* ends where a name's pointer is NULL */
	enum head_verdict verdict;
};

static enum head_verdict
judge(
    struct arena *arena, const struct head *h, struct checked_head *ret_checked)
{
	struct head_as_sent head = {
		.method = span_str(h->method),
		.target = span_str(h->target),
		.version = span_str(h->version),
	};

	head.fields.list = arena_alloc(arena, sizeof h->fields);
	memcpy(head.fields.list, h->fields, sizeof h->fields);
	while (head.fields.count < FIELDS &&
	    head.fields.list[head.fields.count].name.ptr)
		head.fields.count++;
	return head_check(arena, &head, ret_checked);
}

static void
assert_verdicts(const struct head *heads, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct head *h = &heads[i];
		struct arena *arena = arena_new();
		struct checked_head g = {.message = NULL};
		enum head_verdict verdict = judge(arena, h, &g);
		if (verdict != h->verdict)
			fail_msg("head %zu (%s %s %s) got %d: %s", i,
			    h->method, h->target, h->version, (int)verdict,
			    g.message ? g.message : "");
		/* Every refusal has a sentence. */
		if (verdict != HEAD_CHECK_OK) {
			assert_non_null(g.message);
			assert_int_equal(g.message[strlen(g.message) - 1], '.');
		} else {
			assert_null(g.message);
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
		{"GET", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_OK},
		{"HEAD", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_OK},
		{"POST", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_OK},
		{"OPTIONS", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_OK},
		{"VERSION-CONTROL", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_OK},
		{"PROPFIND", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_OK},
		{"post", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
		{"Post", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
		{"POSt", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
		{"P@\x01ST", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
		{"P0ST", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
		{"POST\x80", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
		{"POST\t", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
		{"", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG", "/", "HTTP/1.1", {HOST},
		    HEAD_CHECK_BAD_REQUEST},
		{"CONNECT", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_METHOD},
		{"CONNECT", "h:80", "HTTP/1.1", {HOST}, HEAD_CHECK_METHOD},
		{"TRACE", "/", "HTTP/1.1", {HOST}, HEAD_CHECK_METHOD},
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
only_two_versions_are_spoken(void **state)
{
	static const struct head heads[] = {
		{"GET", "/", "HTTP/1.0", {HOST}, HEAD_CHECK_OK},
		{"GET", "/", "HTTP/1.2", {HOST}, HEAD_CHECK_VERSION},
		{"GET", "/", "HTTP/1.10", {HOST}, HEAD_CHECK_VERSION},
		{"GET", "/", "HTTP/1.01", {HOST}, HEAD_CHECK_VERSION},
		{"GET", "/", "HTTP/0.9", {HOST}, HEAD_CHECK_VERSION},
		{"GET", "/", "HTTP/2.0", {HOST}, HEAD_CHECK_VERSION},
		{"PRI", "*", "HTTP/2.0", {HOST}, HEAD_CHECK_VERSION},
		{"GET", "/", "http/1.1", {HOST}, HEAD_CHECK_VERSION},
		{"GET", "/", "HTTP/1.1 ", {HOST}, HEAD_CHECK_VERSION},
		{"GET", "/", "HTTP/1,1", {HOST}, HEAD_CHECK_VERSION},
		{"GET", "/", "", {HOST}, HEAD_CHECK_VERSION},
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
only_paths_and_urls_are_targets(void **state)
{
	static const struct head heads[] = {
	    {"GET", "/a?b", "HTTP/1.1", {HOST}, HEAD_CHECK_OK},
	    {"GET", "http://h/a", "HTTP/1.1", {HOST}, HEAD_CHECK_OK},
	    {"GET", "//a/../b", "HTTP/1.1", {HOST}, HEAD_CHECK_OK},
	    {"OPTIONS", "*", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "*", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "foo", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "?x", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "h:80", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "ftp://h/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "http://u@h/", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/a#b", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/a b", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/a\r\nX: y", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/\xc3\xa9", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/%00", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/\\", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/%4", "HTTP/1.1", {HOST}, HEAD_CHECK_BAD_REQUEST},
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
one_valid_host_is_needed(void **state)
{
	static const struct head heads[] = {
	    {"GET", "/", "HTTP/1.1", {FIELD("host", "h:8080")}, HEAD_CHECK_OK},
	    {"GET", "/", "HTTP/1.1", {FIELD("Host", " h ")}, HEAD_CHECK_OK},
	    {"GET", "/", "HTTP/1.1", {FIELD("Host", "[::1]")}, HEAD_CHECK_OK},
	    {"GET", "/", "HTTP/1.1", {FIELD("A", "b")}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "http://h/", "HTTP/1.1", {FIELD("A", "b")},
		HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.0", {FIELD("A", "b")}, HEAD_CHECK_OK},
	    {"GET", "/", "HTTP/1.0", {HOST, HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.0", {FIELD("Host", "a b")},
		HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.1", {HOST, HOST}, HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.1", {HOST, FIELD("HOST", "x")},
		HEAD_CHECK_BAD_REQUEST},
	    {"GET", "http://h/", "HTTP/1.1", {HOST, HOST},
		HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.1", {FIELD("Host", "")},
		HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.1", {FIELD("Host", " ")},
		HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.1", {FIELD("Host", "a, b")},
		HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.1", {FIELD("Host", "u@h")},
		HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.1", {FIELD("Host", "h/p")},
		HEAD_CHECK_BAD_REQUEST},
	    {"GET", "/", "HTTP/1.1", {FIELD("Host", "h:x")},
		HEAD_CHECK_BAD_REQUEST},
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
the_only_expectation_is_100_continue(void **state)
{
	static const struct head heads[] = {
	    POST(HEAD_CHECK_OK, FIELD("Expect", "100-continue")),
	    POST(HEAD_CHECK_OK, FIELD("expect", "100-Continue ")),
	    POST(HEAD_CHECK_EXPECTATION, FIELD("Expect", "")),
	    POST(HEAD_CHECK_EXPECTATION, FIELD("Expect", "x")),
	    POST(HEAD_CHECK_EXPECTATION, FIELD("Expect", "100-continue, x")),
	    POST(HEAD_CHECK_EXPECTATION, FIELD("Expect", "100-continue;x")),
	    POST(HEAD_CHECK_EXPECTATION, FIELD("Expect", "100-continue"),
		FIELD("Expect", "x")),
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
names_are_tokens(void **state)
{
	static const struct head heads[] = {
		POST(HEAD_CHECK_OK, FIELD("X-_.~!#$%&'*+^`|0", "")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD(" X", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X ", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X:Y", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X(Y)", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X\"", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X\0Y", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X\x01", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X\x7f", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X\xc3\xa9", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X\r", "x")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X\nY", "x")),
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

static void
values_have_no_control_characters(void **state)
{
	static const struct head heads[] = {
		POST(HEAD_CHECK_OK, FIELD("X", "")),
		POST(HEAD_CHECK_OK, FIELD("X", " \t ")),
		POST(HEAD_CHECK_OK, FIELD("X", "a\tb \x80\xff~!")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X", "a\rb")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X", "a\nb")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X", "a\r\n b")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X", "a\0b")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X", "a\x01")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X", "\x0b")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X", "\x7f")),
		POST(HEAD_CHECK_BAD_REQUEST, FIELD("X", "\x1f")),
	};

	(void)state;
	ASSERT_VERDICTS(heads);
}

/* What the front knows about a head besides its parts: where its body ends. */
static void
what_the_wire_found_is_the_verdict(void **state)
{
	struct arena *arena = arena_new();
	struct field list[] = {HOST};
	struct head_as_sent head = {
		.method = SPAN("GET"),
		.target = SPAN("/path"),
		.version = SPAN("HTTP/1.1"),
		.fields = {list, 1},
		.has_length = true,
		.length = 1234567890123,
		.message = "",
	};
	struct checked_head g;

	(void)state;
	assert_int_equal(head_check(arena, &head, &g), HEAD_CHECK_OK);
	assert_true(span_eq(g.target.path, SPAN("/path")));
	assert_true(g.has_length && !g.chunked && g.length == 1234567890123);
	head.verdict = HEAD_CHECK_CODING;
	head.message = "not this one";
	assert_int_equal(head_check(arena, &head, &g), HEAD_CHECK_CODING);
	assert_string_equal(g.message, "not this one");
	arena_free(&arena);
}

static void
there_are_not_too_many_fields(void **state)
{
	struct arena *arena = arena_new();
	struct field list[HEAD_CHECK_FIELDS_MAX + 1];
	struct head_as_sent head = {
		.method = SPAN("GET"),
		.target = SPAN("/"),
		.version = SPAN("HTTP/1.1"),
		.fields = {list, HEAD_CHECK_FIELDS_MAX},
	};
	struct checked_head g;

	(void)state;
	list[0] = (struct field)HOST;
	for (size_t i = 1; i <= HEAD_CHECK_FIELDS_MAX; i++)
		list[i] = (struct field)FIELD("A", "b");
	assert_int_equal(head_check(arena, &head, &g), HEAD_CHECK_OK);
	head.fields.count++;
	assert_int_equal(
	    head_check(arena, &head, &g), HEAD_CHECK_HEADERS_TOO_LARGE);
	arena_free(&arena);
}

static void
a_good_head_is_told_as_it_is(void **state)
{
	static const struct head blanks = {"POST", "/a?b", "HTTP/1.1",
		{FIELD("Host", " h:1\t"), FIELD("X", "\t a b  "),
		    FIELD("X", "")}, HEAD_CHECK_OK};
	static const struct head absolute = {"POST", "http://other:9/a",
		"HTTP/1.1", {HOST}, HEAD_CHECK_OK};
	static const struct head old = {"GET", "/", "HTTP/1.0",
		{FIELD("A", "b")}, HEAD_CHECK_OK};
	struct arena *arena = arena_new();
	struct checked_head g;

	(void)state;
	assert_int_equal(judge(arena, &blanks, &g), HEAD_CHECK_OK);
	assert_true(span_eq(g.authority, SPAN("h:1")));
	assert_true(span_eq(g.target.query, SPAN("b")));
	assert_true(span_eq(g.target.spelling, SPAN("/a")));
	assert_false(g.version_1_0);
	assert_int_equal(g.fields.count, 3);
	assert_true(span_eq(g.fields.list[0].value, SPAN("h:1")));
	assert_true(span_eq(g.fields.list[1].name, SPAN("X")));
	assert_true(span_eq(g.fields.list[1].value, SPAN("a b")));
	assert_true(span_eq(g.fields.list[2].value, SPAN("")));

	/*
	 * An absolute target's authority replaces the Host (RFC 9112, 3.2.2).
	 */
	assert_int_equal(judge(arena, &absolute, &g), HEAD_CHECK_OK);
	assert_true(span_eq(g.authority, SPAN("other:9")));
	assert_true(span_eq(g.target.origin_form, SPAN("/a")));

	assert_int_equal(judge(arena, &old, &g), HEAD_CHECK_OK);
	assert_true(g.version_1_0);
	assert_int_equal(g.authority.len, 0);
	arena_free(&arena);
}

static void
a_bad_head_tells_only_why(void **state)
{
	static const struct head bad = {"POST", "/", "HTTP/1.1",
		{HOST, HOST}, HEAD_CHECK_BAD_REQUEST};
	struct arena *arena = arena_new();
	struct checked_head g = {.length = -7};

	(void)state;
	assert_int_equal(judge(arena, &bad, &g), HEAD_CHECK_BAD_REQUEST);
	assert_true(g.length == -7 && !g.has_length && !g.fields.list);
	assert_non_null(g.message);
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
		cmocka_unit_test(the_only_expectation_is_100_continue),
		cmocka_unit_test(names_are_tokens),
		cmocka_unit_test(values_have_no_control_characters),
		cmocka_unit_test(what_the_wire_found_is_the_verdict),
		cmocka_unit_test(there_are_not_too_many_fields),
		cmocka_unit_test(a_good_head_is_told_as_it_is),
		cmocka_unit_test(a_bad_head_tells_only_why),
	};
	return cmocka_run_group_tests_name("head_check", tests, NULL, NULL);
}
