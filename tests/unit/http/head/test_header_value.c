/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "http/head/header_value.h"

static void
dates_are_imf_fixdates(void **state)
{
	static const struct {
		int64_t wall_ms;
		const char *text;
	} table[] = {
		{0, "Thu, 01 Jan 1970 00:00:00 GMT"},
		{999, "Thu, 01 Jan 1970 00:00:00 GMT"},
		{951782400000, "Tue, 29 Feb 2000 00:00:00 GMT"},
		{4102444799000, "Thu, 31 Dec 2099 23:59:59 GMT"},
	};
	struct arena *arena = arena_new();

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct span date = header_value_date(arena, table[i].wall_ms);
		assert_true(span_eq(date, span_str(table[i].text)));
	}
	arena_free(&arena);
}

/* --- the id of a request --- */

/* The id of a request with these fields, "Name: value|Name: value". */
static struct span
request_id(struct arena *arena, const char *text)
{
	struct field list[4];
	struct fields fields = {list, 0};

	while (*text) {
		size_t len = strcspn(text, "|");
		size_t name = strcspn(text, ":");
		assert_true(name < len && fields.count < 4);
		list[fields.count++] = (struct field){
			span_of(text, name),
			span_trim(span_of(text + name + 1, len - name - 1)),
		};
		text += len + (text[len] == '|');
	}
	return header_value_request_id(arena, &fields);
}

static void
a_sane_request_id_is_kept(void **state)
{
	static const char *const sane[] = {
		"x", "0", "azAZ09._~+/=:@-",
		"0fa3b1c2-d4e5-4f60-8a7b-9c0d1e2f3a4b", "Root=1-5759e988:x",
	};
	struct arena *arena = arena_new();
	char line[160];

	(void)state;
	for (size_t i = 0; i < sizeof sane / sizeof *sane; i++) {
		snprintf(line, sizeof line, "A: b|x-request-ID: %s", sane[i]);
		assert_true(
		    span_eq(request_id(arena, line), span_str(sane[i])));
	}
	snprintf(line, sizeof line, "X-Request-Id: %0128d", 1);
	assert_int_equal(request_id(arena, line).len, 128);
	arena_free(&arena);
}

static void
any_other_request_id_is_replaced(void **state)
{
	static const char *const lines[] = {
		"", "X-Request-Id: ", "X-Request-Id: a b",
		"X-Request-Id: a\"b", "X-Request-Id: a,b", "X-Request-Id: <a>",
		"X-Request-Id: caf\xc3\xa9", "X-Request-Id: a\tb",
		"X-Request-Id: a|X-Request-Id: a",
		"X-Request-Id: a|x-request-id: ",
		"X-Request-Id: {\"a\":1}", "X-Request-Id: a\\n",
	};
	struct arena *arena = arena_new();
	char line[160];

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct span id = request_id(arena, lines[i]);
		struct span again = request_id(arena, lines[i]);
		assert_int_equal(id.len, 32);
		for (size_t c = 0; c < id.len; c++)
			assert_non_null(strchr("0123456789abcdef", id.ptr[c]));
		assert_false(span_eq(id, again));
	}
	snprintf(line, sizeof line, "X-Request-Id: %0129d", 1);
	assert_int_equal(request_id(arena, line).len, 32);
	struct field nul = {SPAN("X-Request-Id"), SPAN("a\0b")};
	struct fields fields = {&nul, 1};
	assert_int_equal(header_value_request_id(arena, &fields).len, 32);
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_are_imf_fixdates),
		cmocka_unit_test(a_sane_request_id_is_kept),
		cmocka_unit_test(any_other_request_id_is_replaced),
	};
	return cmocka_run_group_tests_name("header_value", tests, NULL, NULL);
}
