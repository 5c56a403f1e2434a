/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/head/request_target.h"

/* The spelling of a target; NULL where it is refused.  The caller frees it. */
static char *
spelling_of(struct span text)
{
	struct arena *arena = arena_new();
	/*
	 * A copy of exactly its size, so that a read past its end is noticed.
	 */
	char *copy = mem_copy(text.ptr, text.len);
	struct request_target target;
	char *spelling = NULL;

	if (request_target_parse(arena, span_of(copy, text.len), &target)) {
		assert_true(target.spelling.len > 0);
		assert_true(target.origin_form.ptr[0] == '/');
		spelling = mem_str(target.spelling);
	}
	free(copy);
	arena_free(&arena);
	return spelling;
}

static void
a_path_has_one_spelling(void **state)
{
	static const char *const table[][2] = {
		{"/", "/"},
		{"/a", "/a"},
		{"/a/b", "/a/b"},
		/* a trailing slash is ignored */
		{"/a/", "/a"},
		{"/a//", "/a"},
		{"/a/%2F", "/a"},
		/* doubled slashes */
		{"//", "/"},
		{"///a////b//", "/a/b"},
		{"//a", "/a"},
		/* dot segments */
		{"/.", "/"},
		{"/..", "/"},
		{"/../../..", "/"},
		{"/a/.", "/a"},
		{"/a/./b", "/a/b"},
		{"/./a", "/a"},
		{"/a/..", "/"},
		{"/a/../b", "/b"},
		{"/a/b/../../c", "/c"},
		{"/a/b/../../../../c", "/c"},
		{"/../a", "/a"},
		{"/a/./../b", "/b"},
		{"/a/.//b", "/a/b"},
		{"/a/..//b", "/b"},
		{"//../b", "/b"},
		{"///.././a", "/a"},
		/* not dot segments */
		{"/...", "/..."},
		{"/.a", "/.a"},
		{"/a..", "/a.."},
		{"/..a", "/..a"},
		{"/a/..;/b", "/a/..;/b"},
		/* encoded letters, dots and slashes */
		{"/%61", "/a"},
		{"/%41%5a", "/AZ"},
		{"/a%2Fb", "/a/b"},
		{"/a%2fb", "/a/b"},
		{"/%2Fa", "/a"},
		{"/a/%2e/b", "/a/b"},
		{"/a/%2E%2e/b", "/b"},
		{"/a/.%2e/b", "/b"},
		{"/a/%2e./b", "/b"},
		{"/a/..%2Fb", "/b"},
		{"/a%2F%2E%2E%2Fb", "/b"},
		{"/a%2F..%2Fb", "/b"},
		/* decoded once, not twice */
		{"/%2561", "/%61"},
		{"/a%252Fb", "/a%2Fb"},
		{"/a/%252e%252e/b", "/a/%2e%2e/b"},
		{"/%2500", "/%00"},
		/* ordinary bytes */
		{"/a;x", "/a;x"},
		{"/a;x=1/b", "/a;x=1/b"},
		{"/a%5Cb", "/a\\b"},
		{"/a/..%5Cb", "/a/..\\b"},
		{"/a%20b", "/a b"},
		{"/%20/%09", "/ /\t"},
		{"/a%0d%0ab", "/a\r\nb"},
		{"/%7f%80%ff", "/\x7f\x80\xff"},
		{"/%23", "/#"},
		{"/%3f", "/?"},
		{"/A", "/A"},
		{"/a+b", "/a+b"},
		{"/\"<>^`{|}", "/\"<>^`{|}"},
		/* the query is no part of it */
		{"/a?b/../..", "/a"},
		{"/?", "/"},
		{"/a/?x", "/a"},
		{"/a?%", "/a"},
		{"/a?%zz&%00\\", "/a"},
		/* absolute-form */
		{"http://h", "/"},
		{"http://h/", "/"},
		{"http://h?x", "/"},
		{"http://h/a/../b", "/b"},
		{"HTTPS://h:443/a", "/a"},
		{"http://h//a", "/a"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		char *spelling = spelling_of(span_str(table[i][0]));
		if (spelling == NULL)
			fail_msg("%s was refused", table[i][0]);
		if (strcmp(spelling, table[i][1]) != 0)
			fail_msg("%s gave %s", table[i][0], spelling);
		free(spelling);
	}
}

static void
bad_targets_are_refused(void **state)
{
	static const struct span bad[] = {
		{"", 0},
		/* other forms */
		{"*", 1},
		{"a", 1},
		{"a/b", 3},
		{"?x", 2},
		{"h:80", 4},
		{"www.example.com:443", 19},
		{"%2Fa", 4},
		{".", 1},
		{"ftp://h/", 8},
		{"ws://h/", 7},
		{"http:/a", 7},
		{"http:a", 6},
		{"http//h/a", 9},
		{"://h/", 5},
		/* bad authorities */
		{"http://", 7},
		{"http:///a", 9},
		{"http://?x", 9},
		{"http://u@h/", 11},
		{"http://u:p@h/", 13},
		{"http://h:x/", 11},
		{"http://h:1:2/", 13},
		{"http://:80/", 11},
		{"http://h:65536/", 15},
		{"http://h\\x/", 11},
		{"http://[::1/", 12},
		/* bytes */
		{"/a b", 4},
		{" /a", 3},
		{"/a ", 3},
		{"/a\tb", 4},
		{"/a\rb", 4},
		{"/a\nb", 4},
		{"/a\0b", 4},
		{"\0", 1},
		{"/a\x7f", 3},
		{"/\x80", 2},
		{"/\xc3\xa9", 3},
		{"/a#", 3},
		{"/a?b#c", 6},
		{"/a?b c", 6},
		{"/a?\xff", 4},
		{"/a?\0", 4},
		/* a raw backslash */
		{"/a\\b", 4},
		{"/\\", 2},
		{"/a/..\\b", 7},
		/* broken percent-encoding, and NUL */
		{"/%", 2},
		{"/%4", 3},
		{"/%4?1", 5},
		{"/%zz", 4},
		{"/%4g", 4},
		{"/%g4", 4},
		{"/%%41", 5},
		{"/%u0041", 7},
		{"/%-1", 4},
		{"/%00", 4},
		{"/a%00/b", 7},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char *spelling = spelling_of(bad[i]);
		if (spelling)
			fail_msg("%s gave %s", bad[i].ptr, spelling);
	}
}

/*
 * Servers read them in different ways, so a request could slip past its route.
 */
static void
paths_with_two_meanings_are_refused(void **state)
{
	static const char *const bad[] = {
		"/a//../b",
		"/a//%2e%2e/b",
		"/v1//../v1/charges",
		"/a/b//../../c",
		"/a%2F/../b",
		"/a%2Fb/../c",
		"/a%2Fb/c/../../d",
		"/a%2fb/..",
		"/a/%2F../b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char *spelling = spelling_of(span_str(bad[i]));
		if (spelling)
			fail_msg("%s gave %s", bad[i], spelling);
	}
}

struct parts {
	const char *text, *origin_form, *path, *query, *authority;
	bool has_query;
};

static void
a_target_is_taken_apart_as_it_was_sent(void **state)
{
	static const struct parts table[] = {
		{"/", "/", "/", "", "", false},
		{"/?", "/?", "/", "", "", true},
		{"/a/../%62/?x=1", "/a/../%62/?x=1", "/a/../%62/", "x=1", "",
		    true},
		{"/a??b?", "/a??b?", "/a", "?b?", "", true},
		{"//h/a", "//h/a", "//h/a", "", "", false},
		{"/http://h/", "/http://h/", "/http://h/", "", "", false},
		{"http://h/a?b", "/a?b", "/a", "b", "h", true},
		{"http://h", "/", "/", "", "h", false},
		{"http://h?", "/?", "/", "", "h", true},
		{"http://h?a/b", "/?a/b", "/", "a/b", "h", true},
		{"hTTp://H.example:80//x", "//x", "//x", "", "H.example:80",
		    false},
		{"https://[::1]:8443/", "/", "/", "", "[::1]:8443", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const struct parts *p = &table[i];
		struct arena *arena = arena_new();
		struct request_target t;
		assert_true(request_target_parse(arena, span_str(p->text), &t));
		assert_true(span_eq(t.origin_form, span_str(p->origin_form)));
		assert_true(span_eq(t.path, span_str(p->path)));
		assert_true(span_eq(t.query, span_str(p->query)));
		assert_true(span_eq(t.authority, span_str(p->authority)));
		assert_int_equal(t.has_query, p->has_query);
		arena_free(&arena);
	}
}

static void
a_refused_target_leaves_the_result_alone(void **state)
{
	struct arena *arena = arena_new();
	struct request_target t = {.path = SPAN("before")};

	(void)state;
	assert_false(request_target_parse(arena, SPAN("/%"), &t));
	assert_true(span_eq(t.path, SPAN("before")));
	arena_free(&arena);
}

static void
a_spelling_spelled_again_is_the_same(void **state)
{
	static const char letters[] = "/./..//a%2F%2e%62/;x/../b";
	uint64_t seed = 42;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[24] = "/";
		size_t len = 1;
		while (len < sizeof text - 4) {
			seed = seed * 6364136223846793005u + 1;
			unsigned pick =
			    (unsigned)(seed >> 33) % (sizeof letters - 1);
			if (letters[pick] == '%') {
				memcpy(text + len, letters + pick, 3);
				len += 3;
			} else {
				text[len++] = letters[pick];
			}
		}
		char *once = spelling_of(span_of(text, len));
		if (once == NULL)
			continue;
		assert_null(strstr(once, "//"));
		assert_null(strstr(once, "/./"));
		assert_null(strstr(once, "/../"));
		assert_true(once[0] == '/');
		assert_true(once[1] == '\0' || once[strlen(once) - 1] != '/');
		char *twice = spelling_of(span_str(once));
		assert_non_null(twice);
		assert_string_equal(once, twice);
		free(once);
		free(twice);
	}
}

static void
long_paths_take_little_time(void **state)
{
	enum { BYTES = 60000 };
	char *text = mem_zero(BYTES);

	(void)state;
	for (size_t i = 0; i < BYTES; i++)
		text[i] = i < BYTES / 2 ? '/' : "/.."[i % 3];
	for (int round = 0; round < 100; round++) {
		char *spelling = spelling_of(span_of(text, BYTES));
		assert_string_equal(spelling, "/");
		free(spelling);
	}
	free(text);
}

static void
an_authority_is_a_host_and_perhaps_a_port(void **state)
{
	static const char *const valid[] = {
		"h", "example.com", "example.com:80", "h:", "h:0", "h:65535",
		"127.0.0.1:8080", "[::1]", "[::1]:80", "[::ffff:1.2.3.4]",
		"a_b-c~d", "xn--bcher-kva.example", "h.",
		"a!$&'()*+;=b", "[::]:1", "1.2.3.4",
	};
	static const char *const bad[] = {
		"", ":", ":80", "h:x", "h:8x", "h:-1", "h: 80", "h:65536",
		"caf%C3%A9", "%68", "h%2f", "h%3a80", "h,h", "h,",
		".", "..", "h..", ".h", "a..b", "[:]", "[.]", "[a]",
		"[1.2.3.4]",
		"[::1::]", "[:::::::::]", "[0:0:0:0:0:0:0:1:2]", "[v1.a]",
		"h:080", "h:00", "[::1]:080",
		"h:000080", "h:99999", "a b", "a/b", "a?b", "a#b", "a@b",
		"a\\b", "a\"b", "<h>", "[", "[]", "[::1", "::1", "[::1]x",
		"[::1]80", "[g::]", "[fe80::1%25eth0]", "h%", "h%4", "h%zz",
		"a\tb", "a\rb", "caf\xc3\xa9", "h,h2:80:80", "a:b:1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
		if (!request_target_authority_is_valid(span_str(valid[i])))
			fail_msg("refused: %s", valid[i]);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (request_target_authority_is_valid(span_str(bad[i])))
			fail_msg("accepted: %s", bad[i]);
	}
	assert_false(request_target_authority_is_valid(SPAN("a\0b")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_has_one_spelling),
		cmocka_unit_test(bad_targets_are_refused),
		cmocka_unit_test(paths_with_two_meanings_are_refused),
		cmocka_unit_test(a_target_is_taken_apart_as_it_was_sent),
		cmocka_unit_test(a_refused_target_leaves_the_result_alone),
		cmocka_unit_test(a_spelling_spelled_again_is_the_same),
		cmocka_unit_test(long_paths_take_little_time),
		cmocka_unit_test(an_authority_is_a_host_and_perhaps_a_port),
	};
	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
