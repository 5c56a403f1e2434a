/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "messages/source/message_text.h"

/* What a message says, as text. */

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
	return 0;
}

#define F(name, value) {SPAN(name), SPAN(value)}

static void
assert_span(struct span got, const char *wanted)
{
	assert_int_equal(got.len, strlen(wanted));
	assert_memory_equal(got.ptr, wanted, got.len);
}

static void
fields_are_found_in_any_case_and_with_underscores(void **state)
{
	struct field list[] = {
	    F("Idempotency_Key", "k"), F("CONTENT-TYPE", "text/plain")};
	const struct broker_message m = {.fields = {list, 2}};
	(void)state;
	assert_span(
	    message_text_field(&m, SPAN("idempotency-key"))->value, "k");
	assert_span(message_text_field(&m, SPAN("content-type"))->value,
	    "text/plain");
	assert_null(message_text_field(&m, SPAN("ce-id")));
}

static bool
value(void *arg, const struct template_piece *piece, struct span *ret_value)
{
	return message_text_value(arg, SPAN("{\"a\":{\"b\":12.50},\"n\":null,"
		"\"l\":[1],\"t\":true,\"s\":\"\\u0007\",\"e\":\"\"}"),
	    arena, piece, ret_value);
}

/* The text of a header's template; NULL: there is none. */
static const char *
filled(const struct broker_message *m, const char *text)
{
	struct template t;
	struct span out;
	struct broker_message copy = *m;
	const unsigned kinds = 1u << TEMPLATE_JSON | 1u << TEMPLATE_HEADER |
	    1u << TEMPLATE_KEY | 1u << TEMPLATE_ENTITY | 1u << TEMPLATE_TYPE |
	    1u << TEMPLATE_ID;
	assert_null(template_read(arena, text, kinds, &t));
	bool good = message_text_fill(arena, &t, value, &copy, &out);
	return good ? arena_dup(arena, out).ptr : NULL;
}

static void
templates_take_strings_numbers_and_booleans(void **state)
{
	struct field list[] = {F("tenant", "acme")};
	const struct broker_message m = {
	    .fields = {list, 1},
	    .position = SPAN("7-0"),
	    .entity = SPAN("e1"),
	    .type = SPAN("paid"),
	};
	(void)state;
	assert_string_equal(filled(&m, "x {json:/a/b} y"), "x 12.5 y");
	assert_string_equal(filled(&m, "{json:/t}"), "true");
	assert_string_equal(filled(&m, "{header:Tenant}/{entity}/{type}/{id}"),
	    "acme/e1/paid/7-0");
}

static void
values_that_are_none_fill_nothing(void **state)
{
	const struct broker_message m = {.fields = {NULL, 0}};
	(void)state;
	static const char *const texts[] = {"{json:/n}", "{json:/l}",
	    "{json:/a}", "{json:/none}", "{json:/s}", "{json:/e}",
	    "{header:none}", "{entity}", "{type}", "{key}"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_null(filled(&m, texts[i]));
}

static void
fields_become_an_object_of_strings(void **state)
{
	struct field list[] = {F("a", "1"), F("b\"\\", "\n\xc3\xa4")};
	const struct fields fields = {list, 2};
	struct span text;
	(void)state;
	assert_true(message_text_json(arena, &fields, &text));
	assert_span(text, "{\"a\":\"1\",\"b\\\"\\\\\":\"\\u000a\xc3\xa4\"}");
	assert_true(message_text_json(
	    arena, &(struct fields){NULL, 0}, &text));
	assert_span(text, "{}");
	list[0].value = SPAN("\xff");
	assert_false(message_text_json(arena, &fields, &text));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		fields_are_found_in_any_case_and_with_underscores),
	    cmocka_unit_test(templates_take_strings_numbers_and_booleans),
	    cmocka_unit_test(values_that_are_none_fill_nothing),
	    cmocka_unit_test(fields_become_an_object_of_strings),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
