/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"

/* --- helpers --- */

struct hash {
	uint8_t bytes[DIGEST_BYTES];
};

/* A copy of exactly its size, so that a read past its end is noticed. */
static bool
try_digest(
    struct span text, const struct json_pointers *ignore, struct hash *ret)
{
	struct arena *arena = arena_new();
	char *copy = mem_copy(text.ptr, text.len);
	const struct json *json = json_read(arena, span_of(copy, text.len));

	if (json) {
		struct digest digest;
		digest_begin(&digest, SPAN("test"), SPAN(""));
		json_digest(json, ignore, &digest);
		digest_end(&digest, ret->bytes);
	}
	free(copy);
	arena_free(&arena);
	return json != NULL;
}

static struct hash
digest_of(const char *text, const struct json_pointers *ignore)
{
	struct hash hash;

	if (!try_digest(span_str(text), ignore, &hash))
		fail_msg("not read: %s", text);
	return hash;
}

static bool
same(struct hash a, struct hash b)
{
	return memcmp(a.bytes, b.bytes, DIGEST_BYTES) == 0;
}

/* A pointer (RFC 6901) from its text, "" or "/a/b"; nothing to unescape. */
static struct json_pointer
point(struct arena *arena, const char *text)
{
	struct json_pointer p = {
	    arena_alloc(arena, 16 * sizeof(struct span)), 0};

	/* Not span_next(), which would trim the segments. */
	while (*text == '/') {
		size_t len = strcspn(++text, "/");
		p.segments[p.count++] = span_of(text, len);
		text += len;
	}
	return p;
}

/* --- what is equal, what is not --- */

static void
spellings_of_one_value_give_one_digest(void **state)
{
	static const char *const pairs[][2] = {
		{"1", "1.0"},
		{"1", "10e-1"},
		{"1", "0.01E+2"},
		{"0", "-0"},
		{"0", "0.0e10"},
		{"100", "1e2"},
		{"1e999999999", "10e999999998"},
		{" \t\r\n[ 1 , 2 ] ", "[1,2]"},
		{"{\"a\":1,\"b\":2}", "{\"b\" : 2, \"a\" : 1}"},
		{"{\"a\":{\"y\":[],\"x\":{}}}", "{\"a\":{\"x\":{},\"y\":[]}}"},
		{"\"abc\"", "\"\\u0061b\\u0063\""},
		{"\"/\"", "\"\\/\""},
		{"\"\\b\\f\\n\\r\\t\\\\\\\"\"",
		    "\"\\u0008\\u000C\\u000a\\u000d\\u0009\\u005c\\u0022\""},
		{"\"\xc3\xa9\"", "\"\\u00e9\""},
		{"\"\xe2\x82\xac\"", "\"\\u20AC\""},
		{"\"\xf0\x9f\x98\x80\"", "\"\\uD83D\\uDE00\""},
		{"{\"\\u0061\":1}", "{\"a\":1}"},
		{"{\"\\ud83d\\ude00\":1,\"b\":2}",
		    "{\"b\":2,\"\xf0\x9f\x98\x80\":1}"},
		{"{\"ab\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"ab\":1}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (!same(digest_of(pairs[i][0], NULL),
			digest_of(pairs[i][1], NULL)))
			fail_msg("%s is not %s", pairs[i][0], pairs[i][1]);
	}
}

static void
different_values_give_different_digests(void **state)
{
	/* All of them are different. */
	static const char *const values[] = {
		"null", "true", "false", "0", "1", "-1", "10", "0.1",
		"\"\"", "\"0\"", "\"1\"", "\"null\"", "\"true\"", "\" \"",
		"[]", "{}", "[[]]", "[{}]", "[[],[]]", "[[[]]]", "[\"\"]",
		"[null]", "[0]", "[1]", "[\"1\"]", "[1,2]", "[2,1]", "[12]",
		"[[1],2]", "[[1,2]]", "[1,[2]]", "[[1],[2]]", "[\"1\",2]",
		"{\"\":1}", "{\"a\":1}", "{\"a\":\"1\"}", "{\"a\":[1]}",
		"{\"a\":null}", "{\"b\":1}", "{\"a\":1,\"b\":2}",
		"{\"a\":2,\"b\":1}", "{\"a\":{\"b\":1}}", "[\"a\",1]",
		"{\"a\":{},\"b\":1}", "{\"a\":{\"b\":{}}}",
		"{\"a\":{\"b\":1},\"c\":2}", "{\"a\":{\"b\":1,\"c\":2}}",
		"[\"k\",\"a\",1]", "[\".\"]", "[\"]\"]", "[\"}\"]",
		"{\"}\":1}", "{\".\":1}", "{\"k\":\"s\"}", "\"s\"", "\"n\"",
		"\"a\\u0000b\"", "\"a\"", "\"A\"", "\"ab\"", "[\"a\",\"b\"]",
		"\"\xc3\xa9\"", "\"e\xcc\x81\"",
		"9007199254740992", "9007199254740993",
		"18446744073709551615", "18446744073709551616",
		"0.1000000000000000055511151231257827",
		"1e309", "1e310", "-1e309", "1e999999999", "1e-999999999",
		"1e99999999999999999999", "1e99999999999999999998",
		"1e-99999999999999999999",
	};
	enum { COUNT = sizeof values / sizeof *values };
	struct hash hashes[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		hashes[i] = digest_of(values[i], NULL);
		for (size_t j = 0; j < i; j++) {
			if (same(hashes[i], hashes[j]))
				fail_msg("%s blurs into %s", values[i],
				    values[j]);
		}
	}
}

/* --- what is refused --- */

static void
texts_that_are_not_json_are_refused(void **state)
{
	static const char *const bad[] = {
		"", " ", "nul", "nulll", "True", "NaN", "Infinity", "-",
		"+1", "01", "-01", "00", ".5", "5.", "1.e1", "1e", "1e+",
		"1.5.5", "0x10", "1_000", "- 1", "1 2",
		"[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1 2]", "[1}",
		"{", "}", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,",
		"{\"a\":1,}", "{,}", "{a:1}", "{1:1}", "{\"a\" 1}",
		"{\"a\"::1}", "{\"a\":1 \"b\":2}", "{\"a\"}", "{\"a\",1}",
		"{\"a\":1]", "{null:1}", "'a'", "\"", "\"a", "\"\\", "\"\\\"",
		"\"\\x\"", "\"\\u\"", "\"\\u12\"", "\"\\u123\"",
		"\"\\u123g\"", "\"\\U0041\"", "\"\\u 041\"", "\"\\u+041\"",
		"\"\n\"", "\"\t\"", "\"\x01\"", "\"\x1f\"",
		/* surrogates alone or in the wrong order */
		"\"\\ud83d\"", "\"\\ude00\"", "\"\\ude00\\ud83d\"",
		"\"\\ud83dx\"", "\"\\ud83d\\n\"", "\"\\ud83d\\u0041\"",
		"\"\\ud83d\\ud83d\"", "\"\\ud83d\\ude0\"", "\"\\ud83d\\u\"",
		/* not UTF-8 */
		"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xc3\"",
		"{\"\xff\":1}", "\"\\n\xff\"",
		/* blanks, comments and other bytes that JSON does not have */
		"\xef\xbb\xbf{}", "\v1", "\f1", "1\xc2\xa0", "[1]x", "{}{}",
		"// a\n1", "/**/1",
		/* the same name twice, however it is spelled */
		"{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":2,\"a\":3}",
		"{\"a\":1,\"\\u0061\":2}", "{\"\":1,\"\":1}",
		"[{\"x\":{\"a\":1,\"a\":1}}]",
		"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":1}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct hash hash;
		if (try_digest(span_str(bad[i]), NULL, &hash))
			fail_msg("read: %s", bad[i]);
	}
}

static void
a_nul_byte_is_refused(void **state)
{
	struct hash hash;

	(void)state;
	assert_false(try_digest(SPAN("1\0"), NULL, &hash));
	assert_false(try_digest(SPAN("\0"), NULL, &hash));
	assert_false(try_digest(SPAN("\"\0\""), NULL, &hash));
	assert_false(try_digest(SPAN("\"\\\0\""), NULL, &hash));
}

static void
every_cut_of_a_text_is_refused(void **state)
{
	struct span text = SPAN("{\"a\\u00e9\\ud83d\\ude00\xc3\xa9\":"
				"[true,false,null,{\"b\":\"\\n\"}]}");
	struct hash hash;

	(void)state;
	assert_true(try_digest(text, NULL, &hash));
	for (size_t len = 0; len < text.len; len++)
		assert_false(try_digest(span_of(text.ptr, len), NULL, &hash));
}

static void
nesting_ends_at_the_limit(void **state)
{
	static const char *const shapes[][3] = {
		{"[", "", "]"},
		{"{\"a\":", "1", "}"},
		{"[{\"a\":", "1", "}]"},
	};
	struct hash hash;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t step = i == 2 ? 2 : 1;
		for (size_t depth = 126; depth <= 130; depth += step) {
			char text[2048] = "";
			for (size_t d = 0; d < depth; d += step)
				strcat(text, shapes[i][0]);
			strcat(text, shapes[i][1]);
			for (size_t d = 0; d < depth; d += step)
				strcat(text, shapes[i][2]);
			assert_int_equal(
			    try_digest(span_str(text), NULL, &hash),
			    depth <= JSON_DEPTH);
		}
	}
}

static void
deep_garbage_does_not_exhaust_the_stack(void **state)
{
	enum { BYTES = 1 << 20 };
	char *text = mem_zero(BYTES);
	struct hash hash;

	(void)state;
	memset(text, '[', BYTES);
	assert_false(try_digest(span_of(text, BYTES), NULL, &hash));
	free(text);
}

/* Quadratic work would take minutes here. */
static void
many_members_are_sorted_in_good_time(void **state)
{
	enum { COUNT = 100000, ROOM = 20 };
	char *up = mem_zero(COUNT * ROOM);
	char *down = mem_zero(COUNT * ROOM);
	size_t up_len = 0, down_len = 0;
	struct hash a, b;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		up_len += (size_t)sprintf(up + up_len, "%c\"n%07d\":1",
		    i ? ',' : '{', i);
		down_len += (size_t)sprintf(down + down_len, "%c\"n%07d\":1",
		    i ? ',' : '{', COUNT - 1 - i);
	}
	up[up_len++] = '}';
	down[down_len++] = '}';
	assert_true(try_digest(span_of(up, up_len), NULL, &a));
	assert_true(try_digest(span_of(down, down_len), NULL, &b));
	assert_true(same(a, b));
	free(up);
	free(down);
}

/* --- pointers --- */

static const char document[] =
    "{\"a\":{\"b\":[10,{\"c\":null},[]]},\"0\":\"zero\",\"\":\"empty\","
    "\"m~n\":1,\"x/y\":2,\"-\":3,\"s\":\"text\"}";

static void
pointers_lead_to_values(void **state)
{
	static const char *const found[][2] = {
		{"/a/b/0", "10"},
		{"/a/b/1/c", "null"},
		{"/a/b/1", "{\"c\":null}"},
		{"/a/b/2", "[]"},
		{"/a/b", "[10,{\"c\":null},[]]"},
		{"/0", "\"zero\""},
		{"/", "\"empty\""},
		{"/-", "3"},
		{"", document},
	};
	struct arena *arena = arena_new();
	const struct json *json = json_read(arena, span_str(document));

	(void)state;
	for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
		struct json_pointer p = point(arena, found[i][0]);
		const struct json *value = json_at(json, &p);
		struct digest digest;
		struct hash hash;
		assert_non_null(value);
		digest_begin(&digest, SPAN("test"), SPAN(""));
		json_digest(value, NULL, &digest);
		digest_end(&digest, hash.bytes);
		if (!same(hash, digest_of(found[i][1], NULL)))
			fail_msg("%s led elsewhere", found[i][0]);
	}
	struct json_pointer null = point(arena, "/a/b/1/c");
	struct json_pointer ten = point(arena, "/a/b/0");
	assert_true(json_is_nil(json_at(json, &null)));
	assert_false(json_is_nil(json_at(json, &ten)));
	arena_free(&arena);
}

static void
pointers_to_nothing_find_nothing(void **state)
{
	static const char *const missing[] = {
		"/b", "/A", "/a/c", "/a/b/3", "/a/b/-", "/a/b/00", "/a/b/01",
		"/a/b/+1", "/a/b/ 1", "/a/b/1x", "/a/b/", "/a/b/-1",
		"/a/b/18446744073709551616", "/a/b/18446744073709551617",
		"/a/b/1/c/d", "/a/b/2/0", "/s/0", "/a/", "//",
	};
	struct arena *arena = arena_new();
	const struct json *json = json_read(arena, span_str(document));

	(void)state;
	for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
		struct json_pointer p = point(arena, missing[i]);
		if (json_at(json, &p))
			fail_msg("%s found something", missing[i]);
	}
	arena_free(&arena);
}

static void
pointers_go_by_unescaped_names(void **state)
{
	struct span tilde = SPAN("m~n"), slash = SPAN("x/y");
	struct json_pointer to_tilde = {&tilde, 1}, to_slash = {&slash, 1};
	struct arena *arena = arena_new();
	const struct json *json = json_read(arena, span_str(document));

	(void)state;
	assert_non_null(json_at(json, &to_tilde));
	assert_non_null(json_at(json, &to_slash));
	arena_free(&arena);
}

/* --- what is left out --- */

static struct hash
digest_without(const char *text, const char *a, const char *b)
{
	struct arena *arena = arena_new();
	struct json_pointer list[2] = {
	    point(arena, a), point(arena, b ? b : a)};
	struct json_pointers ignore = {list, b ? 2 : 1};
	struct hash hash = digest_of(text, &ignore);

	arena_free(&arena);
	return hash;
}

static void
an_ignored_member_is_as_if_it_were_not_there(void **state)
{
	struct hash bare = digest_of("{\"a\":1}", NULL);

	(void)state;
	assert_true(same(bare,
	    digest_without("{\"a\":1,\"t\":5}", "/t", NULL)));
	assert_true(same(bare,
	    digest_without("{\"t\":{\"x\":[1]},\"a\":1}", "/t", "/u")));
	assert_true(same(bare, digest_without("{\"a\":1}", "/t", NULL)));
	assert_true(same(digest_of("{\"m\":{}}", NULL),
	    digest_without("{\"m\":{\"t\":1}}", "/m/t", NULL)));
	assert_false(same(bare,
	    digest_without("{\"a\":1,\"t\":5}", "/a", NULL)));
	assert_false(same(bare,
	    digest_without("{\"a\":1,\"m\":{\"t\":5}}", "/t", NULL)));
}

static void
an_ignored_element_leaves_a_hole(void **state)
{
	struct hash hole = digest_without("[1,2,3]", "/1", NULL);

	(void)state;
	assert_true(same(hole, digest_without("[1,null,3]", "/1", NULL)));
	assert_true(same(hole, digest_without("[1,{},3]", "/1", NULL)));
	assert_false(same(hole, digest_of("[1,3]", NULL)));
	assert_false(same(hole, digest_of("[1,null,3]", NULL)));
	assert_false(same(hole, digest_of("[1,\"-\",3]", NULL)));
	assert_false(same(hole, digest_without("[2,1,3]", "/1", NULL)));
	assert_false(same(hole, digest_without("[1,2,3]", "/0", NULL)));
	/*
	 * Both are removed at their places in the text, not one shifted by the
	 * other.
	 */
	assert_true(same(digest_without("[1,2,3]", "/0", "/1"),
	    digest_without("[8,9,3]", "/0", "/1")));
	assert_false(same(digest_without("[1,2,3]", "/0", "/1"),
	    digest_without("[1,2,4]", "/0", "/1")));
}

static void
ignoring_within_what_is_ignored_changes_nothing(void **state)
{
	(void)state;
	assert_true(same(
	    digest_without("{\"a\":{\"b\":1},\"c\":1}", "/a", NULL),
	    digest_without("{\"a\":{\"b\":2},\"c\":1}", "/a/b", "/a")));
}

static void
ignoring_the_whole_leaves_one_digest(void **state)
{
	(void)state;
	assert_true(same(
	    digest_without("1", "", NULL), digest_without("{}", "", NULL)));
	assert_false(
	    same(digest_without("1", "", NULL), digest_of("null", NULL)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings_of_one_value_give_one_digest),
		cmocka_unit_test(different_values_give_different_digests),
		cmocka_unit_test(texts_that_are_not_json_are_refused),
		cmocka_unit_test(a_nul_byte_is_refused),
		cmocka_unit_test(every_cut_of_a_text_is_refused),
		cmocka_unit_test(nesting_ends_at_the_limit),
		cmocka_unit_test(deep_garbage_does_not_exhaust_the_stack),
		cmocka_unit_test(many_members_are_sorted_in_good_time),
		cmocka_unit_test(pointers_lead_to_values),
		cmocka_unit_test(pointers_to_nothing_find_nothing),
		cmocka_unit_test(pointers_go_by_unescaped_names),
		cmocka_unit_test(an_ignored_member_is_as_if_it_were_not_there),
		cmocka_unit_test(an_ignored_element_leaves_a_hole),
		cmocka_unit_test(
		    ignoring_within_what_is_ignored_changes_nothing),
		cmocka_unit_test(ignoring_the_whole_leaves_one_digest),
	};
	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
