/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "store/record/event.h"

static struct arena *arena;
#define KEY_ID "00112233445566778899aabbccddeeff"

static void
an_id_is_read_as_it_is_written(void **state)
{
	struct event_id id;
	(void)state;
	assert_true(event_read(SPAN("12-1763888400123-7"), &id));
	assert_int_equal(id.shard, 12);
	assert_int_equal(id.ms, 1763888400123);
	assert_int_equal(id.number, 7);
	struct event_id most = {1023, INT64_MAX, INT64_MAX};
	char text[EVENT_ID_MAX];
	assert_true(
	    event_read(span_of(text, event_write(&most, text)), &id));
	assert_int_equal(event_compare(&id, &most), 0);
}

static void
what_is_no_id_is_refused(void **state)
{
	static const char *const texts[] = {"", "-", "--", "1", "1-2", "1-2-",
	    "1-2-3-", "1-2-3-4", "x-2-3", "1-x-3", "1-2-x", "-1-2-3",
	    "1024-2-3", "1-99999999999999999999-0"};
	struct event_id id;
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_false(event_read(span_str(texts[i]), &id));
}

static void
they_are_in_the_order_of_time(void **state)
{
	static const struct event_id ordered[] = {
	    {3, 1, 1}, {2, 2, 0}, {0, 2, 1}, {1, 2, 1}, {0, 3, 0}};
	(void)state;
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 5; j++)
			assert_int_equal(
			    event_compare(&ordered[i], &ordered[j]),
			    i < j ? -1 : i > j);
}

static const char *
message_of(const struct event_field *fields, size_t count, const char *end)
{
	static const struct conf_store conf;
	static const struct event_id id = {1, 1763888400123, 0};
	return event_message(
	    arena, &conf, &id, fields, count, span_str(end)).ptr;
}

static void
a_message_has_all_members_in_their_order(void **state)
{
	static const struct event_field fields[] = {
	    {{"id", 2}, {KEY_ID, 32}}, {{"route", 5}, {"charges", 7}},
	    {{"from", 4}, {"\xc0\x80", 2}}, {{"from", 4}, {"NONE", 4}},
	    {{"to", 2}, {"\xff", 1}}, {{"status", 6}, {"no", 2}},
	    {{"instance", 8}, {"\"\\/\n\x7f\xc3\xa4", 7}},
	    {{"attempt", 7}, {"2", 1}},
	    {{"label", 5}, {"=a\0b", 4}}};
	(void)state;
	const char *text = message_of(fields, 9, ",\"answer\":null}");
	assert_string_equal(text,
	    "{\"id\":\"1-1763888400123-0\",\"key_id\":\"" KEY_ID "\","
	    "\"route\":\"charges\",\"from\":\"NONE\",\"to\":null,"
	    "\"status\":null,\"attempt\":2,"
	    "\"time\":\"2025-11-23T09:00:00.123Z\","
	    "\"instance\":\"\\\"\\\\/\\u000a\x7f\xc3\xa4\","
	    "\"request_id\":null,\"label\":\"a\",\"answer\":null}");
}

static void
a_text_may_become_six_times_as_long(void **state)
{
	char value[10000];
	const struct event_field field = {
	    SPAN("request_id"), span_of(value, sizeof value)};
	(void)state;
	memset(value, '\1', sizeof value);
	const char *text = message_of(&field, 1, "}");
	assert_int_equal(strspn(strchr(text, '\\'), "\\u001"), 60000);
}

static void
an_older_gateways_route_ends_where_the_provenance_goes_on(void **state)
{
	static const char *const texts[] = {
	    "charges", "charges\tPOST\t/v1\tgw\t=label\tid", "charges\t", ""};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const struct event_field field = {
		    SPAN("route"), span_str(texts[i])};
		const char *text = message_of(&field, 1, "}");
		assert_non_null(strstr(text, *texts[i] != '\0'
			? "\"route\":\"charges\","
			: "\"route\":\"\","));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_id_is_read_as_it_is_written),
	    cmocka_unit_test(
		an_older_gateways_route_ends_where_the_provenance_goes_on),
	    cmocka_unit_test(what_is_no_id_is_refused),
	    cmocka_unit_test(they_are_in_the_order_of_time),
	    cmocka_unit_test(a_message_has_all_members_in_their_order),
	    cmocka_unit_test(a_text_may_become_six_times_as_long),
	};
	arena = arena_new();
	int failed = cmocka_run_group_tests_name("event", tests, NULL, NULL);
	arena_free(&arena);
	return failed;
}
