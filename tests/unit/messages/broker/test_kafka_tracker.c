/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "messages/broker/kafka/kafka_tracker.h"

/*
 * Positions: what is finished below and above the first unfinished one survives
 * as a commit and its metadata, with a mark of the last that is finished.
 */
static struct kafka_tracker
begun(int64_t low)
{
	struct kafka_tracker t;
	struct kafka_stand stand = {.low = low, .mark = {.offset = -1}};
	kafka_tracker_init(&t, &stand);
	return t;
}

static enum kafka_come
add(struct kafka_tracker *t, int64_t offset)
{
	const struct kafka_mark mark = {
	    offset, 1000 + offset, (uint32_t)offset * 7};
	return kafka_tracker_add(t, &mark);
}

static struct kafka_given *
found(struct kafka_tracker *t, int64_t offset)
{
	struct kafka_given *given = kafka_tracker_find(t, offset);
	assert_non_null(given);
	return given;
}

static void
finish(struct kafka_tracker *t, int64_t offset)
{
	kafka_tracker_finish(t, found(t, offset));
}

static struct kafka_stand
stand_of(const struct kafka_tracker *t, bool putting)
{
	char text[KAFKA_METADATA_MAX + 1];
	struct kafka_stand stand;
	kafka_tracker_write(t, putting, "abc", text);
	assert_true(strlen(text) <= KAFKA_METADATA_MAX);
	kafka_tracker_read(
	    kafka_tracker_low(t, putting), span_str(text), &stand);
	assert_true(stand.ours);
	assert_string_equal(stand.store, "abc");
	return stand;
}

/* A reader that begins where the other one has committed. */
static struct kafka_tracker
again(const struct kafka_tracker *t, bool putting)
{
	struct kafka_tracker next;
	struct kafka_stand stand = stand_of(t, putting);
	kafka_tracker_init(&next, &stand);
	return next;
}

static void
the_oldest_unfinished_is_committed(void **state)
{
	(void)state;
	struct kafka_tracker t = begun(5);
	for (int64_t i = 5; i < 9; i++)
		assert_int_equal(add(&t, i), KAFKA_COME_NEW);
	assert_int_equal(kafka_tracker_low(&t, false), 5);
	finish(&t, 6);
	assert_int_equal(kafka_tracker_low(&t, false), 5);
	finish(&t, 5);
	assert_int_equal(kafka_tracker_low(&t, false), 7);
	assert_null(kafka_tracker_find(&t, 6));
	finish(&t, 7);
	finish(&t, 8);
	assert_int_equal(kafka_tracker_low(&t, false), 9);
	kafka_tracker_clear(&t);
}

static void
holes_are_nobodys(void **state)
{
	(void)state;
	struct kafka_tracker t = begun(0);
	add(&t, 3);
	add(&t, 10);
	assert_int_equal(kafka_tracker_low(&t, false), 3);
	finish(&t, 3);
	assert_int_equal(kafka_tracker_low(&t, false), 10);
	finish(&t, 10);
	kafka_tracker_reach(&t, 15);
	assert_int_equal(kafka_tracker_low(&t, false), 15);
	assert_int_equal(t.mark.offset, 10);
	assert_int_equal(add(&t, 14), KAFKA_COME_BACK);
	kafka_tracker_clear(&t);
}

static void
what_is_finished_above_comes_back_finished(void **state)
{
	(void)state;
	struct kafka_tracker t = begun(100);
	for (int64_t i = 100; i < 200; i++)
		add(&t, i);
	finish(&t, 100);
	for (int64_t i = 102; i < 200; i++)
		if (i % 7 != 0)
			finish(&t, i);
	struct kafka_tracker next = again(&t, false);
	for (int64_t i = 101; i < 210; i++) {
		bool was = i > 101 && i < 200 && i % 7 != 0;
		assert_int_equal(
		    add(&next, i), was ? KAFKA_COME_FINISHED : KAFKA_COME_NEW);
		/* What has not come yet is still told. */
		struct kafka_tracker third = again(&next, false);
		assert_int_equal(kafka_tracker_low(&third, false), 101);
		for (int64_t k = 101; k < 200; k++)
			assert_int_equal(add(&third, k),
			    k > 101 && k % 7 != 0 ? KAFKA_COME_FINISHED
						  : KAFKA_COME_NEW);
		kafka_tracker_clear(&third);
	}
	kafka_tracker_clear(&next);
	kafka_tracker_clear(&t);
}

static void
the_mark_is_of_the_last_that_is_finished(void **state)
{
	(void)state;
	struct kafka_tracker t = begun(0);
	for (int64_t i = 0; i < 9; i++)
		add(&t, i);
	assert_int_equal(stand_of(&t, false).mark.offset, -1);
	finish(&t, 0);
	finish(&t, 4);
	struct kafka_stand stand = stand_of(&t, false);
	const struct kafka_mark expected = {4, 1004, 28};
	assert_int_equal(stand.mark.offset, expected.offset);
	assert_int_equal(stand.mark.time_ms, expected.time_ms);
	assert_int_equal(stand.mark.hash, expected.hash);
	kafka_tracker_forget(&stand);
	/* What is being put is, with its commit. */
	found(&t, 6)->putting = true;
	stand = stand_of(&t, true);
	assert_int_equal(stand.mark.offset, 6);
	kafka_tracker_forget(&stand);
	stand = stand_of(&t, false);
	assert_int_equal(stand.mark.offset, 4);
	kafka_tracker_forget(&stand);
	/* It stays known before what it is of has come again. */
	struct kafka_tracker next = again(&t, false);
	stand = stand_of(&next, false);
	assert_int_equal(stand.mark.offset, 4);
	kafka_tracker_forget(&stand);
	kafka_tracker_clear(&next);
	kafka_tracker_clear(&t);
}

static void
what_was_rewound_is_told_until_it_is_read(void **state)
{
	(void)state;
	struct kafka_tracker t;
	struct kafka_stand stand = {
	    .low = 0, .put_below = 2, .mark = {.offset = -1}};
	kafka_tracker_init(&t, &stand);
	assert_int_equal(stand_of(&t, false).put_below, 2);
	add(&t, 0);
	add(&t, 1);
	add(&t, 2);
	finish(&t, 0);
	stand = stand_of(&t, false);
	assert_int_equal(stand.put_below, 2);
	kafka_tracker_forget(&stand);
	finish(&t, 1);
	stand = stand_of(&t, false);
	assert_int_equal(stand.put_below, 0);
	kafka_tracker_forget(&stand);
	kafka_tracker_clear(&t);
}

static void
what_was_trimmed_is_lost_unless_it_was_finished(void **state)
{
	(void)state;
	struct kafka_tracker t = begun(0);
	for (int64_t i = 0; i < 10; i++)
		add(&t, i);
	for (int64_t i = 3; i < 6; i++)
		finish(&t, i);
	struct kafka_tracker next = again(&t, false);
	assert_int_equal(kafka_tracker_lost(&next, 2), 2);
	assert_int_equal(kafka_tracker_lost(&next, 4), 3);
	assert_int_equal(kafka_tracker_lost(&next, 8), 5);
	kafka_tracker_clear(&next);
	kafka_tracker_clear(&t);
}

static void
ranges_that_do_not_fit_come_again(void **state)
{
	(void)state;
	struct kafka_tracker t = begun(0);
	for (int64_t i = 0; i < KAFKA_GAP_MAX; i++)
		add(&t, i);
	assert_true(kafka_tracker_is_full(&t));
	for (int64_t i = 1; i < KAFKA_GAP_MAX; i += 2)
		finish(&t, i);
	struct kafka_tracker next = again(&t, false);
	size_t finished = 0;
	for (int64_t i = 0; i < KAFKA_GAP_MAX; i++) {
		enum kafka_come come = add(&next, i);
		if (come == KAFKA_COME_FINISHED)
			finished++;
		assert_true(come == KAFKA_COME_NEW || i % 2 == 1);
	}
	assert_in_range(finished, 500, KAFKA_GAP_MAX / 2);
	kafka_tracker_clear(&next);
	kafka_tracker_clear(&t);
}

static void
what_others_have_committed_has_a_position_and_nothing_more(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "x", "o2", "o2:", "o2:a",
	    "o2:a:", "o2:a:0", "o2:a:0:", "o2:a:x::", "o2:a:0:1:",
	    "o2:a:0:1.2:", "o2:a:0:1.2.3.4:", "o2:a:0::1", "o2:a:0::1+",
	    "o2:a:0::1+0", "o2:a:0::1+2,", "o2:a:0::,1+2", "o2:a:0::1+2,x",
	    "o2:a:0:99999999999999999999.2.3:",
	    ("o2:01234567890123456789012345678901234567890123456789012345678"
	     "90123456789:0::")};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct kafka_stand stand;
		kafka_tracker_read(7, span_str(texts[i]), &stand);
		assert_false(stand.ours);
		assert_int_equal(stand.low, 7);
		assert_int_equal(stand.n_ranges, 0);
		assert_int_equal(stand.mark.offset, -1);
		assert_string_equal(stand.store, "");
	}
	struct kafka_stand stand;
	kafka_tracker_read(-1001, SPAN("o2:a:0::"), &stand);
	assert_int_equal(stand.low, -1);
	kafka_tracker_read(7, SPAN("o2:a:0::"), &stand);
	assert_true(stand.ours);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_oldest_unfinished_is_committed),
	    cmocka_unit_test(holes_are_nobodys),
	    cmocka_unit_test(what_is_finished_above_comes_back_finished),
	    cmocka_unit_test(the_mark_is_of_the_last_that_is_finished),
	    cmocka_unit_test(what_was_rewound_is_told_until_it_is_read),
	    cmocka_unit_test(what_was_trimmed_is_lost_unless_it_was_finished),
	    cmocka_unit_test(ranges_that_do_not_fit_come_again),
	    cmocka_unit_test(
		what_others_have_committed_has_a_position_and_nothing_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
