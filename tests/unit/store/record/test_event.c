/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "store/record/event.h"

#define KEY_ID "00112233445566778899aabbccddeeff"

static void
an_id_is_read_as_it_is_written(void **state)
{
	static const struct conf_store conf;
	struct event_id id;
	(void)state;
	assert_true(event_read(SPAN("12-1763888400123-7"), &id));
	assert_int_equal(id.shard, 12);
	assert_int_equal(id.ms, 1763888400123);
	assert_int_equal(id.number, 7);
	struct event_id most = {1023, INT64_MAX, INT64_MAX};
	json_t *message = event_message(&conf, &most, NULL, 0);
	const char *text = json_string_value(json_object_get(message, "id"));
	assert_true(event_read(span_str(text), &id));
	assert_int_equal(event_compare(&id, &most), 0);
	json_decref(message);
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

static void
a_message_has_all_members_in_their_order(void **state)
{
	static const struct event_field fields[] = {
	    {{"id", 2}, {KEY_ID, 32}}, {{"route", 5}, {"charges", 7}},
	    {{"from", 4}, {"NONE", 4}}, {{"to", 2}, {"\xff", 1}},
	    {{"attempt", 7}, {"2", 1}}, {{"status", 6}, {"no", 2}},
	    {{"label", 5}, {"=a\0b", 4}}};
	struct event_id id = {1, 1763888400123, 0};
	static const struct conf_store conf;
	(void)state;
	json_t *message = event_message(&conf, &id, fields, 7);
	char *text = json_dumps(message, JSON_COMPACT);
	assert_string_equal(text,
	    "{\"id\":\"1-1763888400123-0\",\"key_id\":\"" KEY_ID "\","
	    "\"route\":\"charges\",\"from\":\"NONE\",\"to\":null,"
	    "\"status\":null,\"attempt\":2,"
	    "\"time\":\"2025-11-23T09:00:00.123Z\",\"instance\":null,"
	    "\"request_id\":null,\"label\":\"a\"}");
	free(text);
	json_decref(message);
}

static void
an_older_gateways_route_ends_where_the_provenance_goes_on(void **state)
{
	static const char *const texts[] = {
	    "charges", "charges\tPOST\t/v1\tgw\t=label\tid", "charges\t", ""};
	static const struct conf_store conf;
	const struct event_id id = {1, 1763888400123, 0};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const struct event_field field = {
		    SPAN("route"), span_str(texts[i])};
		json_t *message = event_message(&conf, &id, &field, 1);
		assert_string_equal(
		    json_string_value(json_object_get(message, "route")),
		    *texts[i] != '\0' ? "charges" : "");
		json_decref(message);
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
	};
	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
