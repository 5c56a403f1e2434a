/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate/key/key.h"

/* --- helpers --- */

static char idempotency_key[] = "Idempotency-Key";
static char paypal_id[] = "PayPal-Request-Id";
static char *key_names[] = {idempotency_key, paypal_id};

static struct conf_idempotency
policy_of(enum key_format format)
{
	return (struct conf_idempotency){
		.headers = {key_names, 2},
		.key_format = format,
		.max_length = 255,
	};
}

static enum key_verdict
find_value(struct arena *arena, enum key_format format, struct span value,
    struct key *ret_key)
{
	struct conf_idempotency policy = policy_of(format);
	struct field field = {SPAN("idempotency-key"), {NULL, 0}};
	struct fields fields = {&field, 1};

	/*
	 * A copy of exactly its size, so that a read past its end is noticed.
	 */
	field.value = arena_dup(arena, value);
	return key_find(arena, &policy, &fields, ret_key);
}

/* Asserts that the value is that key; NULL: that it is none. */
static void
expect(enum key_format format, const char *value, const char *want)
{
	struct arena *arena = arena_new();
	struct key key = {.message = NULL};
	enum key_verdict verdict =
	    find_value(arena, format, span_str(value), &key);

	if (want == NULL && verdict != KEY_INVALID)
		fail_msg("<%s> was taken", value);
	if (want == NULL)
		assert_non_null(key.message);
	if (want && verdict != KEY_FOUND)
		fail_msg(
		    "<%s>: %s", value, key.message ? key.message : "missing");
	if (want && !span_eq(key.bytes, span_str(want)))
		fail_msg("<%s> gave <%.*s>", value, SPAN_FMT(key.bytes));
	arena_free(&arena);
}

struct expected {
	const char *value, *key; /* NULL: invalid */
};

/* --- the key among the fields --- */

static void
keys_are_bare_or_quoted(void **state)
{
	static const struct expected table[] = {
		{"abc", "abc"},
		{"\"abc\"", "abc"},
		{"a", "a"},
		{"0", "0"},
		{"a=b:c/d?e&f'g\\h<i>", "a=b:c/d?e&f'g\\h<i>"},
		{"!~", "!~"},
		{":YWJj:", ":YWJj:"},
		{"?1", "?1"},
		{"\"a b,c;d\"", "a b,c;d"},
		{"\" \"", " "},
		{"\"a\\\"b\\\\c\"", "a\"b\\c"},
		{"\"\\\\\"", "\\"},
		/* neither of the two */
		{"", NULL},
		{"\"\"", NULL},
		/* in a path they would lead elsewhere */
		{".", NULL},
		{"..", NULL},
		{"\"..\"", NULL},
		{"\".\";x", NULL},
		{"...", "..."},
		{".a", ".a"},
		{"\"\";x", NULL},
		{"a b", NULL},
		{"a\tb", NULL},
		{"a,b", NULL},
		{"a, b", NULL},
		{"a;b", NULL},
		{"a;b=1", NULL},
		{"a\"b", NULL},
		{"a\"", NULL},
		{"\"", NULL},
		{"\"a", NULL},
		{"\"a\\", NULL},
		{"\"a\\\"", NULL},
		{"\"a\\b\"", NULL},
		{"\"a\tb\"", NULL},
		{"\"a\x7f\"", NULL},
		{"\"caf\xc3\xa9\"", NULL},
		{"caf\xc3\xa9", NULL},
		{"a\x7f", NULL},
		{"a\x01", NULL},
		{"'a b'", NULL},
		/* two of them */
		{"\"a\", \"b\"", NULL},
		{"\"a\",\"b\"", NULL},
		{"\"a\" \"b\"", NULL},
		{"\"a\"\"b\"", NULL},
		{"\"a\"b", NULL},
		{"\"a\" b", NULL},
		{"(\"a\")", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		expect(KEY_ANY, table[i].value, table[i].key);
}

static void
parameters_are_read_and_ignored(void **state)
{
	static const struct expected table[] = {
		{"\"k\";a", "k"},
		{"\"k\"; a", "k"},
		{"\"k\";  a;b", "k"},
		{"\"k\";a=1;b=-1;c=1.5;d=-0.125", "k"},
		{"\"k\";a=123456789012345", "k"},
		{"\"k\";a=123456789012.123", "k"},
		{"\"k\";a=\"x;\\\"y\\\\\"", "k"},
		{"\"k\";a=\"\"", "k"},
		{"\"k\";a=token", "k"},
		{"\"k\";a=*to:k/en!#$%&'*+-.^_`|~", "k"},
		{"\"k\";a=::", "k"},
		{"\"k\";a=:YWJj+/8=:", "k"},
		{"\"k\";a=?0;b=?1", "k"},
		{"\"k\";*a-b_c.d*1", "k"},
		{"\"k\";a;a", "k"},
		{"\"k\";", NULL},
		{"\"k\"; ", NULL},
		{"\"k\" ;a", NULL},
		{"\"k\";a ;b", NULL},
		{"\"k\";\ta", NULL},
		{"\"k\";;a", NULL},
		{"\"k\";A", NULL},
		{"\"k\";1a", NULL},
		{"\"k\";-a", NULL},
		{"\"k\";a=", NULL},
		{"\"k\";a =1", NULL},
		{"\"k\";a= 1", NULL},
		{"\"k\";a=-", NULL},
		{"\"k\";a=--1", NULL},
		{"\"k\";a=1.", NULL},
		{"\"k\";a=.5", NULL},
		{"\"k\";a=1.1234", NULL},
		{"\"k\";a=1.2.3", NULL},
		{"\"k\";a=1234567890123456", NULL},
		{"\"k\";a=1234567890123.1", NULL},
		{"\"k\";a=\"x", NULL},
		{"\"k\";a=\"\\x\"", NULL},
		{"\"k\";a=:YWJj", NULL},
		{"\"k\";a=:Y-Jj:", NULL},
		{"\"k\";a=?", NULL},
		{"\"k\";a=?2", NULL},
		{"\"k\";a=?true", NULL},
		{"\"k\";a=(1)", NULL},
		{"\"k\";a=@1", NULL},
		{"\"k\";a=1, \"l\"", NULL},
		{"\"k\";a=x\"", NULL},
		{"\"k\";a=x y", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		expect(KEY_ANY, table[i].value, table[i].key);
}

static void
a_uuid_is_required_where_the_route_says_so(void **state)
{
	static const char lower[] = "0fa3b1c2-d4e5-4f60-8a7b-9c0d1e2f3a4b";
	static const char upper[] = "0FA3B1C2-D4E5-4F60-8A7B-9C0D1E2F3A4B";
	static const struct expected table[] = {
		{"\"0fa3b1c2-d4e5-4f60-8a7b-9c0d1e2f3a4b\"", lower},
		{"\"0fa3b1c2-d4e5-4f60-8a7b-9c0d1e2f3a4b\";x", lower},
		{"0fa3b1c2-d4e5-4f60-8a7b-9c0d1e2f3a4", NULL},
		{"0fa3b1c2-d4e5-4f60-8a7b-9c0d1e2f3a4bb", NULL},
		{"0fa3b1c2d4e54f608a7b9c0d1e2f3a4b", NULL},
		{"{0fa3b1c2-d4e5-4f60-8a7b-9c0d1e2f3a}", NULL},
		{"0fa3b1c2-d4e5-4f60-8a7b-9c0d1e2f3a4g", NULL},
		{"0fa3b1c-2d4e5-4f60-8a7b-9c0d1e2f3a4b", NULL},
		{"0fa3b1c2-d4e5-4f60-8a7b-9c0d-e2f3a4b", NULL},
		{"abc", NULL},
	};

	(void)state;
	/* As sent: upper case and lower case differ. */
	expect(KEY_UUID, lower, lower);
	expect(KEY_UUID, upper, upper);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		expect(KEY_UUID, table[i].value, table[i].key);
}

static void
only_strings_pass_where_the_route_says_so(void **state)
{
	(void)state;
	expect(KEY_QUOTED, "\"abc\"", "abc");
	expect(KEY_QUOTED, "\"abc\";v=1", "abc");
	expect(KEY_QUOTED, "abc", NULL);
	expect(KEY_QUOTED, "\"abc", NULL);
}

static void
the_length_is_that_of_the_unquoted_key(void **state)
{
	struct conf_idempotency policy = policy_of(KEY_ANY);
	struct field field = {SPAN("Idempotency-Key"), {NULL, 0}};
	struct fields fields = {&field, 1};
	struct arena *arena = arena_new();
	struct key key;

	(void)state;
	policy.max_length = 4;
	field.value = SPAN("abcd");
	assert_int_equal(key_find(arena, &policy, &fields, &key), KEY_FOUND);
	field.value = SPAN("\"a\\\"\\\\d\";parameter=1");
	assert_int_equal(key_find(arena, &policy, &fields, &key), KEY_FOUND);
	assert_true(span_eq(key.bytes, SPAN("a\"\\d")));
	field.value = SPAN("abcde");
	assert_int_equal(key_find(arena, &policy, &fields, &key), KEY_INVALID);
	assert_non_null(strstr(key.message, " 4 "));
	field.value = SPAN("\"abcde\"");
	assert_int_equal(key_find(arena, &policy, &fields, &key), KEY_INVALID);
	arena_free(&arena);
}

static void
a_request_without_the_field_has_no_key(void **state)
{
	struct conf_idempotency policy = policy_of(KEY_ANY);
	struct field list[] = {
		{SPAN("Idempotency-Keys"), SPAN("a")},
		{SPAN("X-Idempotency-Key"), SPAN("a")},
	};
	struct fields none = {NULL, 0}, others = {list, 2};
	struct arena *arena = arena_new();
	struct key key;

	(void)state;
	assert_int_equal(key_find(arena, &policy, &none, &key), KEY_MISSING);
	assert_int_equal(key_find(arena, &policy, &others, &key), KEY_MISSING);
	arena_free(&arena);
}

static void
any_accepted_name_will_do(void **state)
{
	struct conf_idempotency policy = policy_of(KEY_ANY);
	struct field field = {SPAN("paypal-REQUEST-id"), SPAN("a")};
	struct fields fields = {&field, 1};
	struct arena *arena = arena_new();
	struct key key;

	(void)state;
	assert_int_equal(key_find(arena, &policy, &fields, &key), KEY_FOUND);
	assert_true(span_eq(key.bytes, SPAN("a")));
	policy.headers.count = 1;
	assert_int_equal(key_find(arena, &policy, &fields, &key), KEY_MISSING);
	arena_free(&arena);
}

static void
two_key_lines_are_invalid(void **state)
{
	static const struct field pairs[][2] = {
		{{{"Idempotency-Key", 15}, {"a", 1}},
		    {{"Idempotency-Key", 15}, {"b", 1}}},
		{{{"Idempotency-Key", 15}, {"a", 1}},
		    {{"idempotency-key", 15}, {"a", 1}}},
		{{{"Idempotency-Key", 15}, {"a", 1}},
		    {{"Idempotency-Key", 15}, {"", 0}}},
		{{{"PayPal-Request-Id", 17}, {"a", 1}},
		    {{"Idempotency-Key", 15}, {"a", 1}}},
	};
	struct conf_idempotency policy = policy_of(KEY_ANY);

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct arena *arena = arena_new();
		struct field list[] = {
			pairs[i][0],
			{SPAN("Accept"), SPAN("*/*")},
			pairs[i][1],
		};
		struct fields fields = {list, 3};
		struct key key = {.bytes = SPAN("before")};
		assert_int_equal(
		    key_find(arena, &policy, &fields, &key), KEY_INVALID);
		assert_true(span_eq(key.bytes, SPAN("before")));
		assert_non_null(key.message);
		arena_free(&arena);
	}
}

static void
a_nul_in_a_key_is_invalid(void **state)
{
	struct arena *arena = arena_new();
	struct key key;

	(void)state;
	assert_int_equal(
	    find_value(arena, KEY_ANY, SPAN("a\0b"), &key), KEY_INVALID);
	assert_int_equal(
	    find_value(arena, KEY_ANY, SPAN("\"a\0b\""), &key), KEY_INVALID);
	assert_int_equal(
	    find_value(arena, KEY_ANY, SPAN("\"a\";b\0"), &key), KEY_INVALID);
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_bare_or_quoted),
		cmocka_unit_test(parameters_are_read_and_ignored),
		cmocka_unit_test(a_uuid_is_required_where_the_route_says_so),
		cmocka_unit_test(only_strings_pass_where_the_route_says_so),
		cmocka_unit_test(the_length_is_that_of_the_unquoted_key),
		cmocka_unit_test(a_request_without_the_field_has_no_key),
		cmocka_unit_test(any_accepted_name_will_do),
		cmocka_unit_test(two_key_lines_are_invalid),
		cmocka_unit_test(a_nul_in_a_key_is_invalid),
	};
	return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
