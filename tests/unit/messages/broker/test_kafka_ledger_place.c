/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "messages/broker/kafka/kafka_ledger_place.h"

/*
 * Places as the metadata of an offset: what was written is read again, it fits
 * whatever the places are, and of what others wrote nothing is believed.
 */
enum { SHARDS = KAFKA_LEDGER_SHARDS };

static char text[KAFKA_LEDGER_TEXT_MAX];
static struct kafka_ledger_place places[SHARDS], found[SHARDS];

static size_t
write_places(int64_t turn, size_t n)
{
	size_t len = kafka_ledger_place_write(turn, places, n, text);
	assert_int_equal(strlen(text), len);
	return len;
}

static bool
read_text(const char *said, int64_t *turn, size_t n)
{
	return kafka_ledger_place_read(span_str(said), turn, found, n);
}

static void
places_are_read_as_they_were_written(void **state)
{
	(void)state;
	int64_t turn;
	memset(places, 0, sizeof places);
	places[0] = (struct kafka_ledger_place){true, 1700000000000, 3, 12};
	places[2] = (struct kafka_ledger_place){true, 0, 0, -1};
	places[3] = (struct kafka_ledger_place){true, 0, 0, 0};
	write_places(255, 4);
	assert_string_equal(text, "1 ff 18bcfe56800-3-c - 0-0 0-0-0");
	assert_true(read_text(text, &turn, 4));
	assert_int_equal(turn, 255);
	assert_memory_equal(places, found, 4 * sizeof *places);
}

static void
the_largest_fit_what_a_broker_takes(void **state)
{
	(void)state;
	int64_t turn;
	for (size_t i = 0; i < SHARDS; i++)
		places[i] = (struct kafka_ledger_place){
		    true, UINT64_MAX, UINT64_MAX, INT64_MAX};
	assert_true(write_places(INT64_MAX, SHARDS) < 4096);
	assert_true(read_text(text, &turn, SHARDS));
	assert_int_equal(turn, INT64_MAX);
	assert_memory_equal(places, found, sizeof places);
}

static void
of_missing_ones_nothing_is_known(void **state)
{
	(void)state;
	int64_t turn;
	assert_true(read_text("1 a 5-6-7", &turn, 3));
	assert_true(found[0].known);
	assert_false(found[1].known || found[2].known);
}

static void
what_others_wrote_is_nothing(void **state)
{
	(void)state;
	static const char *const wrong[] = {"", "1", "2 a 5-6-7", "1 ", "1 x",
	    "1 a 5", "1 a 5-", "1 a 5-6-", "1 a 5-6-7-", "1 a 5-6-7 5-6-7 1-1",
	    "1 a 5-6-7 x", "1 a 5-6-ffffffffffffffff", "1 a -5-6",
	    "1 a 5-6-7 10000000000000000-0", "1 -a 5-6", "1 A 5-6", "1 a b 5-6",
	    "{\"offset\": 5}", "1 a 5-6-7 "};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		int64_t turn = 1;
		assert_false(read_text(wrong[i], &turn, 2));
		assert_int_equal(turn, 0);
		assert_false(found[0].known || found[1].known);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(places_are_read_as_they_were_written),
	    cmocka_unit_test(the_largest_fit_what_a_broker_takes),
	    cmocka_unit_test(of_missing_ones_nothing_is_known),
	    cmocka_unit_test(what_others_wrote_is_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
