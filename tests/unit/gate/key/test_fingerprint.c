/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate/key/fingerprint.h"

enum {
	EVERYTHING = FINGERPRINT_METHOD | FINGERPRINT_PATH |
	    FINGERPRINT_QUERY | FINGERPRINT_BODY,
};

/* The content of a body that is as it came. */
#define BODY(text) \
	(&(const struct content){.bytes = {text, sizeof(text) - 1}})

struct print {
	uint8_t bytes[DIGEST_BYTES];
};

static const struct fingerprinted plain = {
	.method = {"POST", 4},
	.path = {"/v1/charges", 11},
	.query = {"a=1", 3},
	.has_query = true,
	.body = BODY("{\"a\":1}"),
};

static struct print
print_of(const struct conf_idempotency *policy,
    const struct fingerprinted *request)
{
	static const struct fields none = {NULL, 0};
	static const struct content nothing;
	struct fingerprinted r = *request;
	struct print print;

	if (r.fields == NULL)
		r.fields = &none;
	if (r.body == NULL)
		r.body = &nothing;
	fingerprint_make(policy, SPAN("secret"), &r, print.bytes);
	return print;
}

static bool
same(struct print a, struct print b)
{
	return memcmp(a.bytes, b.bytes, DIGEST_BYTES) == 0;
}

static void
the_same_request_has_the_same_fingerprint(void **state)
{
	struct conf_idempotency policy = {.fingerprint_include = EVERYTHING};

	(void)state;
	assert_true(same(print_of(&policy, &plain), print_of(&policy, &plain)));
}

/*
 * For each part, a request that differs from the plain one in that part only.
 */
static const struct {
	unsigned part;
	struct fingerprinted request;
} changes[] = {
	{FINGERPRINT_METHOD,
	    {.method = {"PUT", 3}, .path = {"/v1/charges", 11},
		.query = {"a=1", 3}, .has_query = true,
		.body = BODY("{\"a\":1}")}},
	{FINGERPRINT_PATH,
	    {.method = {"POST", 4}, .path = {"/v1//charges", 12},
		.query = {"a=1", 3}, .has_query = true,
		.body = BODY("{\"a\":1}")}},
	{FINGERPRINT_QUERY,
	    {.method = {"POST", 4}, .path = {"/v1/charges", 11},
		.query = {"a=2", 3}, .has_query = true,
		.body = BODY("{\"a\":1}")}},
	{FINGERPRINT_QUERY,
	    {.method = {"POST", 4}, .path = {"/v1/charges", 11},
		.query = {"", 0}, .has_query = true,
		.body = BODY("{\"a\":1}")}},
	{FINGERPRINT_QUERY,
	    {.method = {"POST", 4}, .path = {"/v1/charges", 11},
		.query = {"", 0}, .has_query = false,
		.body = BODY("{\"a\":1}")}},
	{FINGERPRINT_BODY,
	    {.method = {"POST", 4}, .path = {"/v1/charges", 11},
		.query = {"a=1", 3}, .has_query = true,
		.body = BODY("{\"a\": 1}")}},
	{FINGERPRINT_BODY,
	    {.method = {"POST", 4}, .path = {"/v1/charges", 11},
		.query = {"a=1", 3}, .has_query = true,
		.body = BODY("")}},
};

static void
what_is_changed_counts_always(void **state)
{
	const struct fingerprinted rows[] = {
	    {.entity = {"a", 1}}, {.entity = {"b", 1}},
	    {.entity = {"a", 1}, .version = {"1", 1}},
	    {.entity = {"a", 1}, .version = {"2", 1}}, {.body = BODY("x")},
	};
	enum { COUNT = sizeof rows / sizeof *rows };
	static const struct conf_idempotency nothing;
	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		for (size_t k = 0; k < COUNT; k++)
			assert_int_equal(same(print_of(&nothing, &rows[i]),
					     print_of(&nothing, &rows[k])),
			    i == k);
	/* Of a whole body it follows: to configure it changes nothing. */
	struct conf_idempotency whole = {.fingerprint_include = EVERYTHING};
	assert_true(same(
	    print_of(&whole, &rows[0]), print_of(&whole, &rows[2])));
	whole.fingerprint_ignore.count = 1;
	assert_false(same(
	    print_of(&whole, &rows[0]), print_of(&whole, &rows[2])));
}

static void
a_part_counts_exactly_where_it_is_included(void **state)
{
	(void)state;
	for (unsigned include = 0; include <= EVERYTHING; include++) {
		struct conf_idempotency policy = {
			.fingerprint_include = include,
		};
		struct print print = print_of(&policy, &plain);
		for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
			bool differs = !same(
			    print, print_of(&policy, &changes[i].request));
			assert_int_equal(
			    differs, (include & changes[i].part) != 0);
		}
	}
}

static void
an_empty_query_is_not_no_query(void **state)
{
	struct conf_idempotency policy = {.fingerprint_include = EVERYTHING};

	(void)state;
	assert_false(same(print_of(&policy, &changes[3].request),
	    print_of(&policy, &changes[4].request)));
}

static void
parts_do_not_pass_for_each_other(void **state)
{
	struct conf_idempotency path = {
		.fingerprint_include = FINGERPRINT_PATH,
	};
	struct conf_idempotency body = {
		.fingerprint_include = FINGERPRINT_BODY,
	};
	struct conf_idempotency both = {
		.fingerprint_include = FINGERPRINT_PATH | FINGERPRINT_QUERY,
	};
	struct fingerprinted a = {.path = SPAN("/x"), .body = BODY("/x")};
	struct fingerprinted b = {.path = SPAN("/x"), .query = SPAN("yz"),
		.has_query = true, .body = BODY("")};
	struct fingerprinted c = {.path = SPAN("/xy"), .query = SPAN("z"),
		.has_query = true};

	(void)state;
	assert_false(same(print_of(&path, &a), print_of(&body, &a)));
	assert_false(same(print_of(&both, &b), print_of(&both, &c)));
}

static void
the_secret_counts(void **state)
{
	struct conf_idempotency policy = {.fingerprint_include = EVERYTHING};
	struct print a, b, c;
	struct fields none = {NULL, 0};
	struct fingerprinted r = plain;

	(void)state;
	r.fields = &none;
	fingerprint_make(&policy, SPAN(""), &r, a.bytes);
	fingerprint_make(&policy, SPAN("one"), &r, b.bytes);
	fingerprint_make(&policy, SPAN("two"), &r, c.bytes);
	assert_false(same(a, b));
	assert_false(same(b, c));
}

/* --- header fields --- */

static char content_type[] = "Content-Type", version[] = "X-Version";
static char *listed[] = {content_type, version};

#define FIELD(name, value) \
	{{name, sizeof(name) - 1}, {value, sizeof(value) - 1}}

static void
listed_fields_count_line_by_line(void **state)
{
	/* All of them are different. */
	static const struct field lists[][3] = {
		{FIELD("Accept", "a"), FIELD("Accept", "b")},
		{FIELD("Content-Type", "")},
		{FIELD("Content-Type", "a")},
		{FIELD("Content-Type", "A")},
		{FIELD("X-Version", "a")},
		{FIELD("Content-Type", "a"), FIELD("X-Version", "a")},
		{FIELD("Content-Type", "a"), FIELD("X-Version", "")},
		{FIELD("Content-Type", "a"), FIELD("Content-Type", "b")},
		{FIELD("Content-Type", "b"), FIELD("Content-Type", "a")},
		{FIELD("Content-Type", "a, b")},
		{FIELD("Content-Type", "a"), FIELD("Content-Type", "")},
		{FIELD("Content-Type", ""), FIELD("Content-Type", "a")},
		{FIELD("Content-Type", "header"),
		    FIELD("Content-Type", "X-Version")},
		{FIELD("X-Version", "header"),
		    FIELD("X-Version", "X-Version")},
		{FIELD("Content-Type", "value"), FIELD("Content-Type", "a")},
		{FIELD("Content-Type", "header"), FIELD("X-Version", "b")},
	};
	enum { COUNT = sizeof lists / sizeof *lists };
	struct conf_idempotency policy = {
		.fingerprint_include = EVERYTHING,
		.fingerprint_headers = {listed, 2},
	};
	struct print prints[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		struct field list[3];
		struct fields fields = {list, 0};
		memcpy(list, lists[i], sizeof list);
		while (fields.count < 3 && list[fields.count].name.len)
			fields.count++;
		struct fingerprinted r = plain;
		r.fields = &fields;
		prints[i] = print_of(&policy, &r);
		for (size_t j = 0; j < i; j++) {
			if (same(prints[i], prints[j]))
				fail_msg("list %zu is list %zu", i, j);
		}
	}
}

static void
names_order_and_other_fields_do_not_count(void **state)
{
	struct conf_idempotency policy = {
		.fingerprint_include = EVERYTHING,
		.fingerprint_headers = {listed, 2},
	};
	struct field a[] = {FIELD("Content-Type", "a"),
		FIELD("X-Version", "b")};
	struct field b[] = {FIELD("Accept", "x"), FIELD("x-version", "b"),
		FIELD("content-TYPE", "a")};
	struct fields fields_a = {a, 2}, fields_b = {b, 3};
	struct fingerprinted r = plain, s = plain;

	(void)state;
	r.fields = &fields_a;
	s.fields = &fields_b;
	assert_true(same(print_of(&policy, &r), print_of(&policy, &s)));
}

/* --- JSON --- */

static struct print
print_of_json(const char *body, const struct json_pointers *ignore)
{
	struct conf_idempotency policy = {
		.fingerprint_include = EVERYTHING,
		.fingerprint_json = true,
	};
	struct fingerprinted r = plain;

	if (ignore)
		policy.fingerprint_ignore = *ignore;
	struct content content = content_of(span_str(body));
	r.body = &content;
	return print_of(&policy, &r);
}

static void
json_is_compared_by_value(void **state)
{
	(void)state;
	assert_true(same(print_of_json("{\"a\":1,\"b\":[2]}", NULL),
	    print_of_json(" {\"b\" : [2.0], \"a\" : 1}\n", NULL)));
	assert_false(same(print_of_json("{\"a\":1}", NULL),
	    print_of_json("{\"a\":\"1\"}", NULL)));
	assert_false(same(print_of_json("{\"a\":9007199254740993}", NULL),
	    print_of_json("{\"a\":9007199254740992}", NULL)));
}

static void
what_is_not_json_is_compared_byte_for_byte(void **state)
{
	(void)state;
	assert_true(
	    same(print_of_json("a=1", NULL), print_of_json("a=1", NULL)));
	assert_false(
	    same(print_of_json("a=1", NULL), print_of_json("a=1 ", NULL)));
	assert_false(same(print_of_json("", NULL), print_of_json(" ", NULL)));
	assert_false(same(print_of_json("", NULL), print_of_json("{}", NULL)));
	/* A name that is there twice has no single value. */
	assert_false(same(print_of_json("{\"a\":1,\"a\":2}", NULL),
	    print_of_json("{\"a\":1, \"a\":2}", NULL)));
	assert_false(same(print_of_json("{\"a\":1,\"a\":2}", NULL),
	    print_of_json("{\"a\":2}", NULL)));
}

static void
ignored_places_do_not_count(void **state)
{
	struct span time[] = {SPAN("meta"), SPAN("time")};
	struct span second[] = {SPAN("list"), SPAN("1")};
	struct json_pointer list[] = {{time, 2}, {second, 2}};
	struct json_pointers ignore = {list, 2};
	struct print print = print_of_json(
	    "{\"meta\":{\"time\":1},\"list\":[1,2,3]}", &ignore);

	(void)state;
	assert_true(same(print,
	    print_of_json(
		"{\"meta\":{},\"list\":[1,{\"x\":1},3]}", &ignore)));
	assert_false(same(print,
	    print_of_json(
		"{\"meta\":{\"time\":1},\"list\":[1,3]}", &ignore)));
	assert_false(same(print,
	    print_of_json(
		"{\"meta\":{\"Time\":1},\"list\":[1,2,3]}", &ignore)));
}

static void
a_body_that_is_not_included_is_not_read(void **state)
{
	struct conf_idempotency policy = {
		.fingerprint_include = FINGERPRINT_METHOD,
		.fingerprint_json = true,
	};
	struct fingerprinted r = plain;

	(void)state;
	r.body = BODY("{\"b\":2}");
	assert_true(same(print_of(&policy, &plain), print_of(&policy, &r)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_request_has_the_same_fingerprint),
		cmocka_unit_test(a_part_counts_exactly_where_it_is_included),
		cmocka_unit_test(what_is_changed_counts_always),
		cmocka_unit_test(an_empty_query_is_not_no_query),
		cmocka_unit_test(parts_do_not_pass_for_each_other),
		cmocka_unit_test(the_secret_counts),
		cmocka_unit_test(listed_fields_count_line_by_line),
		cmocka_unit_test(names_order_and_other_fields_do_not_count),
		cmocka_unit_test(json_is_compared_by_value),
		cmocka_unit_test(what_is_not_json_is_compared_byte_for_byte),
		cmocka_unit_test(ignored_places_do_not_count),
		cmocka_unit_test(a_body_that_is_not_included_is_not_read),
	};
	return cmocka_run_group_tests_name("fingerprint", tests, NULL, NULL);
}
