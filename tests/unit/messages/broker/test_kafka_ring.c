/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "messages/broker/kafka/kafka_ring.h"

/*
 * Positions: what is finished below and above the first unfinished one survives
 * as a commit and its metadata, and holds only of the topic that it was of.
 */
static struct kafka_ring
begun(int64_t low)
{
	struct kafka_ring ring;
	struct kafka_stand stand = {.low = low, .anchor = {-1, 0}};
	kafka_ring_init(&ring, &stand);
	return ring;
}

static void
finish(struct kafka_ring *ring, int64_t offset)
{
	struct kafka_given *given = kafka_ring_find(ring, offset);
	assert_non_null(given);
	kafka_ring_set(ring, given, KAFKA_FINISHED);
}

/* A reader that begins where the other one has committed. */
static struct kafka_ring
again(const struct kafka_ring *ring, bool putting)
{
	char text[KAFKA_METADATA_MAX + 1];
	struct kafka_ring next;
	struct kafka_stand stand;
	size_t len = kafka_ring_text_write(
	    ring, putting, KAFKA_METADATA_MAX, text);
	assert_int_equal(strlen(text), len);
	kafka_ring_text_read(
	    kafka_ring_low(ring, putting), span_of(text, len), &stand);
	kafka_ring_init(&next, &stand);
	return next;
}

static void
the_oldest_unfinished_is_committed(void **state)
{
	(void)state;
	struct kafka_ring ring = begun(5);
	for (int64_t i = 5; i < 9; i++)
		assert_int_equal(kafka_ring_add(&ring, i, 1), KAFKA_COME_NEW);
	assert_int_equal(kafka_ring_low(&ring, false), 5);
	finish(&ring, 6);
	assert_int_equal(kafka_ring_low(&ring, false), 5);
	finish(&ring, 5);
	assert_int_equal(kafka_ring_low(&ring, false), 7);
	assert_null(kafka_ring_find(&ring, 6));
	finish(&ring, 7);
	finish(&ring, 8);
	assert_int_equal(kafka_ring_low(&ring, false), 9);
	kafka_ring_clear(&ring);
}

static void
holes_are_nobodys(void **state)
{
	(void)state;
	struct kafka_ring ring = begun(0);
	kafka_ring_add(&ring, 3, 1);
	kafka_ring_add(&ring, 10, 1);
	assert_int_equal(kafka_ring_low(&ring, false), 3);
	finish(&ring, 3);
	assert_int_equal(kafka_ring_low(&ring, false), 10);
	finish(&ring, 10);
	kafka_ring_reach(&ring, 15);
	assert_int_equal(kafka_ring_low(&ring, false), 15);
	assert_int_equal(kafka_ring_anchor(&ring, false).offset, 10);
	assert_int_equal(kafka_ring_add(&ring, 14, 1), KAFKA_COME_BACK);
	kafka_ring_clear(&ring);
}

static void
what_is_finished_above_comes_back_finished(void **state)
{
	(void)state;
	struct kafka_ring ring = begun(100);
	for (int64_t i = 100; i < 200; i++)
		kafka_ring_add(&ring, i, (uint32_t)i);
	finish(&ring, 100);
	for (int64_t i = 102; i < 200; i++)
		if (i % 7 != 0)
			finish(&ring, i);
	struct kafka_ring next = again(&ring, false);
	assert_int_equal(next.anchor.offset, 100);
	assert_int_equal(next.anchor.mark, 100);
	for (int64_t i = 101; i < 210; i++) {
		bool was = i > 101 && i < 200 && i % 7 != 0;
		assert_int_equal(kafka_ring_add(&next, i, (uint32_t)i),
		    was ? KAFKA_COME_FINISHED : KAFKA_COME_NEW);
		/* What has not come yet is still told. */
		struct kafka_ring third = again(&next, false);
		assert_int_equal(kafka_ring_low(&third, false), 101);
		for (int64_t k = 101; k < 200; k++)
			assert_int_equal(
			    kafka_ring_add(&third, k, (uint32_t)k),
			    k > 101 && k % 7 != 0 ? KAFKA_COME_FINISHED
						  : KAFKA_COME_NEW);
		kafka_ring_clear(&third);
	}
	kafka_ring_clear(&next);
	kafka_ring_clear(&ring);
}

/* Where nothing is below, the first that is finished is the anchor. */
static void
what_is_finished_above_holds_of_this_topic_only(void **state)
{
	(void)state;
	for (uint32_t mark = 0; mark < 2; mark++) {
		struct kafka_ring ring = begun(0);
		for (int64_t i = 0; i < 5; i++)
			kafka_ring_add(&ring, i, 0);
		finish(&ring, 2);
		finish(&ring, 3);
		struct kafka_ring next = again(&ring, false);
		assert_int_equal(next.anchor.offset, -1);
		kafka_ring_add(&next, 0, mark);
		kafka_ring_add(&next, 1, mark);
		assert_int_equal(kafka_ring_add(&next, 2, mark),
		    mark == 0 ? KAFKA_COME_FINISHED : KAFKA_COME_NEW);
		assert_int_equal(kafka_ring_add(&next, 3, mark),
		    mark == 0 ? KAFKA_COME_FINISHED : KAFKA_COME_NEW);
		assert_int_equal(
		    kafka_ring_add(&next, 4, mark), KAFKA_COME_NEW);
		kafka_ring_clear(&next);
		kafka_ring_clear(&ring);
	}
}

/* The first is not finished, those behind it are: nothing stands below. */
static struct kafka_ring
finished_above(void)
{
	struct kafka_ring ring = begun(0);
	for (int64_t i = 0; i < 10; i++)
		kafka_ring_add(&ring, i, (uint32_t)i);
	for (int64_t i = 1; i < 10; i++)
		finish(&ring, i);
	struct kafka_ring next = again(&ring, false);
	kafka_ring_clear(&ring);
	return next;
}

static void
of_a_log_that_was_cut_what_was_finished_stays_so(void **state)
{
	(void)state;
	struct kafka_ring ring = finished_above();
	assert_int_equal(kafka_ring_cut(&ring, 5), 1);
	assert_false(kafka_ring_doubts(&ring, 5, 5));
	kafka_ring_reach(&ring, 5);
	struct kafka_ring next = again(&ring, false);
	for (int64_t i = 5; i < 10; i++) {
		assert_int_equal(kafka_ring_add(&ring, i, 5),
		    KAFKA_COME_FINISHED);
		assert_int_equal(kafka_ring_add(&next, i, 5),
		    KAFKA_COME_FINISHED);
	}
	assert_int_equal(kafka_ring_cut(&ring, 12), 2);
	kafka_ring_clear(&ring);
	kafka_ring_clear(&next);
}

static void
what_has_no_anchor_any_more_is_doubted_once(void **state)
{
	(void)state;
	struct kafka_ring ring = finished_above();
	kafka_ring_add(&ring, 0, 0);
	assert_true(kafka_ring_doubts(&ring, 2, 2));
	assert_false(kafka_ring_doubts(&ring, 2, 2));
	assert_int_equal(kafka_ring_add(&ring, 2, 2), KAFKA_COME_NEW);
	kafka_ring_clear(&ring);
	ring = finished_above();
	kafka_ring_add(&ring, 0, 0);
	assert_false(kafka_ring_doubts(&ring, 1, 1));
	assert_int_equal(kafka_ring_add(&ring, 1, 1), KAFKA_COME_FINISHED);
	kafka_ring_clear(&ring);
}

static void
what_is_being_put_is_finished_only_there(void **state)
{
	(void)state;
	struct kafka_ring ring = begun(0);
	for (int64_t i = 0; i < 4; i++)
		kafka_ring_add(&ring, i, 1);
	kafka_ring_set(&ring, kafka_ring_find(&ring, 0), KAFKA_PUTTING);
	kafka_ring_set(&ring, kafka_ring_find(&ring, 2), KAFKA_PUTTING);
	assert_int_equal(kafka_ring_low(&ring, false), 0);
	assert_int_equal(kafka_ring_low(&ring, true), 1);
	struct kafka_ring next = again(&ring, true);
	assert_int_equal(kafka_ring_add(&next, 1, 1), KAFKA_COME_NEW);
	assert_int_equal(kafka_ring_add(&next, 2, 1), KAFKA_COME_FINISHED);
	kafka_ring_clear(&next);
	kafka_ring_set(&ring, kafka_ring_find(&ring, 0), KAFKA_UNFINISHED);
	assert_int_equal(kafka_ring_low(&ring, true), 0);
	kafka_ring_clear(&ring);
}

static void
the_metadata_never_exceeds_what_brokers_take(void **state)
{
	(void)state;
	struct kafka_ring ring = begun(0);
	int64_t i = 0;
	for (; !kafka_ring_is_full(&ring); i++) {
		kafka_ring_add(&ring, i, 1);
		if (i % 2 == 1)
			finish(&ring, i);
	}
	assert_true(i > 500);
	char text[KAFKA_METADATA_MAX + 1];
	size_t most = KAFKA_METADATA_MAX;
	size_t len = kafka_ring_text_write(&ring, false, most, text);
	assert_true(len < most * 3 / 4);
	for (int64_t k = i; k < 9000; k++) {
		kafka_ring_add(&ring, k, 1);
		if (k % 2 == 1)
			finish(&ring, k);
	}
	assert_in_range(
	    kafka_ring_text_write(&ring, false, most, text), most - 10, most);
	struct kafka_ring next = again(&ring, false);
	assert_int_equal(kafka_ring_add(&next, 0, 1), KAFKA_COME_NEW);
	assert_int_equal(kafka_ring_add(&next, 1, 1), KAFKA_COME_FINISHED);
	assert_int_equal(kafka_ring_add(&next, 8999, 1), KAFKA_COME_NEW);
	kafka_ring_clear(&next);
	kafka_ring_clear(&ring);
}

static void
an_era_goes_on_with_what_is_committed(void **state)
{
	(void)state;
	static const uint32_t eras[] = {0, 1, UINT32_MAX};
	for (size_t i = 0; i < sizeof eras / sizeof *eras; i++) {
		struct kafka_ring ring = begun(7);
		ring.era = eras[i];
		struct kafka_ring next = again(&ring, false);
		assert_int_equal(next.era, eras[i]);
		kafka_ring_clear(&next);
		for (int64_t k = 7; k < 10; k++)
			kafka_ring_add(&ring, k, 1);
		finish(&ring, 7);
		finish(&ring, 9);
		next = again(&ring, false);
		assert_int_equal(next.era, eras[i]);
		assert_int_equal(kafka_ring_add(&next, 8, 1), KAFKA_COME_NEW);
		assert_int_equal(
		    kafka_ring_add(&next, 9, 1), KAFKA_COME_FINISHED);
		kafka_ring_clear(&next);
		kafka_ring_clear(&ring);
	}
}

/* The last message that is finished above; through the next reader, too. */
static void
what_is_finished_above_ends_with_a_mark(void **state)
{
	(void)state;
	struct kafka_ring ring = begun(7);
	char text[KAFKA_METADATA_MAX + 1];
	struct kafka_stand stand;
	for (int64_t i = 7; i < 12; i++)
		kafka_ring_add(&ring, i, 0x100 + (uint32_t)i);
	ring.tells_top = true;
	for (int64_t last = 8; last < 12; last += 2) {
		finish(&ring, last);
		struct kafka_ring next = again(&ring, false);
		assert_int_equal(next.kept.top.offset, last);
		assert_int_equal(next.kept.top.mark, 0x100 + last);
		next.tells_top = true;
		struct kafka_ring after = again(&next, false);
		assert_int_equal(after.kept.top.offset, last);
		assert_int_equal(after.kept.top.mark, 0x100 + last);
		kafka_ring_clear(&after);
		kafka_ring_clear(&next);
	}
	/* A range that leaves no room for the longest mark is left out. */
	size_t len = sizeof "o1:-1.108:1+1,1+1.ffffffff" - 2;
	len = kafka_ring_text_write(&ring, false, len, text);
	kafka_ring_text_read(7, span_of(text, len), &stand);
	assert_int_equal(stand.n_ranges, 1);
	assert_int_equal(stand.top.offset, 8);
	kafka_ring_forget(&stand);
	kafka_ring_clear(&ring);
}

/* Then nobody can say of what comes whether it was finished. */
static void
another_era_begins_where_not_all_can_be_told(void **state)
{
	(void)state;
	struct kafka_ring ring = begun(0);
	char text[KAFKA_METADATA_MAX + 1];
	ring.era = 5;
	ring.next_era = 6;
	for (int64_t i = 0; i < 100; i++)
		kafka_ring_add(&ring, i, 1);
	for (int64_t i = 1; i < 100; i += 2)
		finish(&ring, i);
	struct kafka_ring next = again(&ring, false);
	assert_int_equal(next.era, 5);
	kafka_ring_clear(&next);
	size_t all =
	    kafka_ring_text_write(&ring, false, KAFKA_METADATA_MAX, text);
	for (size_t most = 40; most < all; most++) {
		struct kafka_stand stand;
		size_t len = kafka_ring_text_write(&ring, false, most, text);
		assert_in_range(len, most - 5, most);
		kafka_ring_text_read(0, span_of(text, len), &stand);
		assert_false(stand.foreign);
		assert_int_equal(stand.era, 6);
		kafka_ring_forget(&stand);
	}
	assert_int_equal(all, kafka_ring_text_write(&ring, false, all, text));
	next = again(&ring, false);
	assert_int_equal(next.era, 5);
	kafka_ring_clear(&next);
	kafka_ring_clear(&ring);
}

static void
what_was_kept_is_never_in_its_own_way(void **state)
{
	(void)state;
	struct kafka_ring ring = begun(0);
	for (int64_t i = 0; i < 2000; i++)
		kafka_ring_add(&ring, i, 1);
	for (int64_t i = 1; i < 2000; i += 2)
		finish(&ring, i);
	struct kafka_ring next = again(&ring, false);
	assert_true(next.kept.n_ranges > 500);
	for (int64_t i = 0; i < 2000; i++) {
		assert_false(kafka_ring_is_full(&next));
		if (kafka_ring_add(&next, i, 1) == KAFKA_COME_NEW)
			finish(&next, i);
	}
	assert_int_equal(kafka_ring_low(&next, false), 2000);
	kafka_ring_clear(&next);
	kafka_ring_clear(&ring);
}

static void
a_gap_is_bounded(void **state)
{
	(void)state;
	struct kafka_ring ring = begun(0);
	for (int64_t i = 0; i < KAFKA_GAP_MAX; i++) {
		assert_false(kafka_ring_is_full(&ring));
		kafka_ring_add(&ring, i, 1);
		if (i > 0)
			finish(&ring, i);
	}
	assert_true(kafka_ring_is_full(&ring));
	finish(&ring, 0);
	assert_false(kafka_ring_is_full(&ring));
	assert_int_equal(kafka_ring_low(&ring, false), KAFKA_GAP_MAX);
	kafka_ring_clear(&ring);
}

static void
metadata_of_others_says_nothing(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "o", "o1:", "o1:x", "o1:1.2",
	    "o1:1.2:3", "o1:1.2:3+", "o1:1.2:3+4,", "o1:1.2:3+0", "NO_METADATA",
	    "o1:ffff.2:", "o1:1.fffffffff:", "o2:1.2:3+4",
	    "o1:1.2:fffffffffffffffff+1", "o1:1.2:3+4 ", "o2:", "o2:1",
	    "o2:100000000:", "o2:1:1.2:3", "o2:x:1.2:3+4", "o3:1:"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct kafka_stand stand;
		kafka_ring_text_read(9, span_str(texts[i]), &stand);
		assert_int_equal(stand.low, 9);
		assert_int_equal(stand.n_ranges, 0);
		assert_int_equal(stand.anchor.offset, -1);
		assert_int_equal(stand.foreign, strcmp(texts[i], "o1:") != 0);
		assert_int_equal(stand.era, 0);
		kafka_ring_forget(&stand);
	}
}

static void
a_mark_tells_messages_apart(void **state)
{
	(void)state;
	struct span none = {NULL, 0};
	uint32_t mark = kafka_ring_mark(1, SPAN("k"), SPAN("v"));
	assert_int_equal(mark, kafka_ring_mark(1, SPAN("k"), SPAN("v")));
	assert_int_not_equal(mark, kafka_ring_mark(2, SPAN("k"), SPAN("v")));
	assert_int_not_equal(mark, kafka_ring_mark(1, SPAN("kv"), SPAN("")));
	assert_int_not_equal(mark, kafka_ring_mark(1, none, SPAN("v")));
	uint32_t more = kafka_ring_mark_header(mark, SPAN("a"), SPAN("b"));
	assert_int_not_equal(more, mark);
	assert_int_equal(
	    more, kafka_ring_mark_header(mark, SPAN("a"), SPAN("b")));
	assert_int_not_equal(
	    more, kafka_ring_mark_header(mark, SPAN("ab"), SPAN("")));
}

/* --- floors --- */

static void
a_floor_remembers_fewer_the_further_back(void **state)
{
	enum { COUNT = 100000 };
	struct kafka_ring ring = begun(0);
	(void)state;
	for (int64_t i = 0; i < COUNT; i++) {
		kafka_ring_add(&ring, i, (uint32_t)i);
		finish(&ring, i);
	}
	struct kafka_floor floor = kafka_ring_floor(&ring, false);
	const struct kafka_anchor *older = floor.older.list;
	assert_int_equal(floor.low, COUNT);
	assert_int_equal(floor.anchor.offset, COUNT - 1);
	assert_int_equal(floor.older.count, KAFKA_ANCHORS_MAX);
	assert_int_equal(older[0].offset, 0);
	for (size_t i = 0; i < KAFKA_ANCHORS_MAX; i++)
		assert_int_equal(older[i].mark, older[i].offset);
	assert_true(older[KAFKA_ANCHORS_MAX - 1].offset >= COUNT - 4);
	/* No gap is much longer than what comes behind it. */
	for (size_t i = 1; i + 1 < KAFKA_ANCHORS_MAX; i++)
		assert_true(older[i].offset - older[i - 1].offset <=
		    4 * (COUNT - older[i].offset));
	kafka_ring_clear(&ring);
}

static void
what_is_being_put_has_a_floor_of_its_own(void **state)
{
	struct kafka_ring ring = begun(5);
	(void)state;
	for (int64_t i = 5; i < 9; i++)
		kafka_ring_add(&ring, i, (uint32_t)i);
	finish(&ring, 5);
	finish(&ring, 6);
	for (int64_t i = 7; i < 9; i++)
		kafka_ring_set(
		    &ring, kafka_ring_find(&ring, i), KAFKA_PUTTING);
	struct kafka_floor now = kafka_ring_floor(&ring, false);
	struct kafka_floor next = kafka_ring_floor(&ring, true);
	assert_int_equal(now.low, 7);
	assert_int_equal(now.anchor.offset, 6);
	assert_int_equal(now.older.count, 1);
	assert_int_equal(next.low, 9);
	assert_int_equal(next.anchor.offset, 8);
	assert_int_equal(next.older.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(next.older.list[i].offset, 5 + (int)i);
	kafka_ring_clear(&ring);
}

static void
comes_back(bool cut)
{
	struct kafka_floor floor = {
	    INT64_MAX, {INT64_MAX - 1, UINT32_MAX}, {.cut = cut}}, back;
	char text[KAFKA_FLOOR_BYTES + 8], again[KAFKA_FLOOR_BYTES];
	for (size_t n = 0; n <= KAFKA_ANCHORS_MAX; n++) {
		kafka_ring_floor_write(&floor, text);
		size_t len = strlen(text);
		strcat(text, " cluster");
		struct span rest = span_str(text);
		assert_true(kafka_ring_floor_read(&rest, &back));
		assert_true(span_eq(rest, SPAN("cluster")));
		assert_int_equal(back.low, floor.low);
		assert_int_equal(back.older.count, n);
		assert_int_equal(back.older.cut, cut);
		kafka_ring_floor_write(&back, again);
		assert_int_equal(strlen(again), len);
		assert_memory_equal(again, text, len);
		kafka_ring_floor_note(&floor.older,
		    (struct kafka_anchor){
			INT64_MAX - 100 + (int64_t)n, UINT32_MAX});
	}
}

static void
a_floor_comes_back_as_it_was(void **state)
{
	(void)state;
	comes_back(false);
	comes_back(true);
}

static void
what_is_no_floor_says_nothing(void **state)
{
	static const char *const texts[] = {"", "x", "7", "7 6", "7 6 ",
	    "7 7 1 c", "7 6 -1 c", "7 6 4294967296 c", "7 6 1 5 c",
	    "7 6 1 5. c", "7 6 1 5.1,4.1 c", "7 6 1 6.1 c", "7 6 1 5.1,x c",
	    "7 6 1 5.1? c", "7 6 1 ?? c", "0 c"};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct kafka_floor floor;
		struct span text = span_str(texts[i]);
		assert_false(kafka_ring_floor_read(&text, &floor));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_oldest_unfinished_is_committed),
	    cmocka_unit_test(holes_are_nobodys),
	    cmocka_unit_test(what_is_finished_above_comes_back_finished),
	    cmocka_unit_test(what_is_finished_above_holds_of_this_topic_only),
	    cmocka_unit_test(of_a_log_that_was_cut_what_was_finished_stays_so),
	    cmocka_unit_test(what_has_no_anchor_any_more_is_doubted_once),
	    cmocka_unit_test(what_is_being_put_is_finished_only_there),
	    cmocka_unit_test(the_metadata_never_exceeds_what_brokers_take),
	    cmocka_unit_test(an_era_goes_on_with_what_is_committed),
	    cmocka_unit_test(what_is_finished_above_ends_with_a_mark),
	    cmocka_unit_test(another_era_begins_where_not_all_can_be_told),
	    cmocka_unit_test(what_was_kept_is_never_in_its_own_way),
	    cmocka_unit_test(a_gap_is_bounded),
	    cmocka_unit_test(metadata_of_others_says_nothing),
	    cmocka_unit_test(a_mark_tells_messages_apart),
	    cmocka_unit_test(a_floor_remembers_fewer_the_further_back),
	    cmocka_unit_test(what_is_being_put_has_a_floor_of_its_own),
	    cmocka_unit_test(a_floor_comes_back_as_it_was),
	    cmocka_unit_test(what_is_no_floor_says_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
