/* SPDX-License-Identifier: BSD-2-Clause */
/* What is finished of dead letters, in the metadata of a commit. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <stdio.h>

#include "messages/broker/kafka/kafka_shelf.h"

static void
finish(struct kafka_ring *ring, int64_t offset)
{
	struct kafka_given *given = kafka_ring_find(ring, offset);
	assert_non_null(given);
	kafka_ring_set(ring, given, KAFKA_FINISHED);
}

/* Letters at all offsets up to that one, of which every second is finished. */
static struct kafka_shelf *
fill_shelf(struct kafka_shelf **list, int32_t number, int64_t count)
{
	struct kafka_shelf *shelf = kafka_shelf_at(list, number);
	for (int64_t i = 0; i < count; i++)
		kafka_ring_add(&shelf->ring, i, (uint32_t)i);
	for (int64_t i = 1; i < count; i += 2)
		finish(&shelf->ring, i);
	return shelf;
}

static void
nothing_is_written_of_what_is_unfinished(void **state)
{
	struct kafka_shelf *list = NULL;
	char text[KAFKA_SHELF_MAX + 1];
	(void)state;
	struct kafka_shelf *shelf = kafka_shelf_at(&list, 3);
	kafka_ring_add(&shelf->ring, 7, 1);
	assert_int_equal(kafka_shelf_write(list, "t.dead", false, text), 0);
	kafka_shelf_clear(&list);
}

static void
what_is_written_is_read_again(void **state)
{
	struct kafka_shelf *list = NULL, *again = NULL;
	char text[KAFKA_SHELF_MAX + 1], other[KAFKA_SHELF_MAX + 1];
	(void)state;
	fill_shelf(&list, 3, 9);
	struct kafka_shelf *whole = fill_shelf(&list, 0, 5);
	for (int64_t i = 0; i < 5; i += 2)
		finish(&whole->ring, i);
	int len = kafka_shelf_write(list, "t.dead", false, text);
	assert_true(len > 0);
	kafka_shelf_read(&again, "t.dead", span_of(text, (size_t)len));
	assert_int_equal(again->number, 0);
	assert_int_equal(kafka_ring_low(&again->ring, false), 5);
	assert_int_equal(again->next->number, 3);
	assert_int_equal(kafka_ring_low(&again->next->ring, false), 0);
	assert_int_equal(again->next->ring.kept.n_ranges, 4);
	assert_int_equal(kafka_shelf_write(again, "t.dead", false, other), len);
	assert_string_equal(text, other);
	struct span whole_text = span_of(text, (size_t)len);
	assert_int_equal(kafka_shelf_count("t.dead", whole_text), 5 + 4);
	assert_int_equal(kafka_shelf_count("u.dead", whole_text), 0);
	/* Of another topic it says nothing. */
	kafka_shelf_read(&again, "u.dead", span_of(text, (size_t)len));
	assert_null(again);
	kafka_shelf_clear(&list);
}

static int64_t
count_of(const struct kafka_shelf *list, bool putting)
{
	char text[KAFKA_SHELF_MAX + 1];
	int len = kafka_shelf_write(list, "t.dead", putting, text);
	assert_true(len >= 0);
	return kafka_shelf_count("t.dead", span_of(text, (size_t)len));
}

/* In whatever order they end, and whatever is read of others meanwhile. */
static void
each_letter_that_is_finished_counts_more(void **state)
{
	static const int64_t order[] = {6, 1, 8, 0, 3, 4, 9};
	struct kafka_shelf *list = NULL;
	int64_t before = 0;
	(void)state;
	struct kafka_shelf *shelf = kafka_shelf_at(&list, 0);
	for (int64_t i = 0; i < 10; i++)
		if (i != 2 && i != 7)
			kafka_ring_add(&shelf->ring, i, (uint32_t)i);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		kafka_ring_set(&shelf->ring,
		    kafka_ring_find(&shelf->ring, order[i]), KAFKA_PUTTING);
		assert_true(count_of(list, false) == before);
		int64_t put = count_of(list, true);
		assert_true(put > before);
		finish(&shelf->ring, order[i]);
		assert_true(count_of(list, false) == put);
		before = put;
	}
	kafka_ring_reach(&shelf->ring, 20);
	assert_true(count_of(list, false) == before);
	finish(&shelf->ring, 5);
	assert_int_equal(count_of(list, false), 20);
	kafka_shelf_clear(&list);
}

static void
what_is_being_put_is_told_only_with_its_transaction(void **state)
{
	struct kafka_shelf *list = NULL;
	char text[KAFKA_SHELF_MAX + 1];
	(void)state;
	struct kafka_shelf *shelf = kafka_shelf_at(&list, 0);
	kafka_ring_add(&shelf->ring, 0, 1);
	kafka_ring_set(&shelf->ring, kafka_ring_find(&shelf->ring, 0),
	    KAFKA_PUTTING);
	assert_int_equal(kafka_shelf_write(list, "t", false, text), 0);
	assert_true(kafka_shelf_write(list, "t", true, text) > 0);
	kafka_shelf_clear(&list);
}

static void
too_much_is_not_cut(void **state)
{
	struct kafka_shelf *list = NULL;
	char text[KAFKA_SHELF_MAX + 1];
	(void)state;
	fill_shelf(&list, 0, 2000);
	assert_int_equal(kafka_shelf_write(list, "t", false, text), -1);
	kafka_shelf_clear(&list);
}

static void
a_ring_leaves_room_by_whole_ranges(void **state)
{
	struct kafka_shelf *list = NULL;
	char metadata[KAFKA_METADATA_MAX + 1], letters[KAFKA_SHELF_MAX + 1];
	struct kafka_stand stand = {.low = 0, .anchor = {-1, 0}};
	struct kafka_ring ring;
	struct span own, text;
	(void)state;
	kafka_ring_init(&ring, &stand);
	for (int64_t i = 0; i < 2100; i++)
		kafka_ring_add(&ring, i, 5);
	for (int64_t i = 1; i < 2100; i += 2)
		finish(&ring, i);
	fill_shelf(&list, 0, 100);
	int len = kafka_shelf_write(list, "t", false, letters);
	size_t most = kafka_shelf_beside((size_t)len);
	size_t all = kafka_shelf_join(metadata,
	    kafka_ring_text_write(&ring, false, most, metadata),
	    span_of(letters, (size_t)len));
	assert_true(all <= KAFKA_METADATA_MAX);
	kafka_shelf_part(span_of(metadata, all), &own, &text);
	assert_true(span_eq(text, span_of(letters, (size_t)len)));
	kafka_ring_text_read(0, own, &stand);
	assert_in_range(stand.n_ranges, 500, 1049);
	kafka_ring_forget(&stand);
	kafka_ring_clear(&ring);
	kafka_shelf_clear(&list);
}

/* Letters that are read later make the numbers of those before longer. */
static void
what_is_finished_is_told_though_it_grows(void **state)
{
	struct kafka_shelf *list = NULL, *again = NULL;
	struct kafka_ring ring;
	struct kafka_stand stand = {.low = 0, .anchor = {-1, 0}};
	char text[KAFKA_METADATA_MAX + 1], metadata[KAFKA_METADATA_MAX + 1];
	int number = 0;
	(void)state;
	for (; kafka_shelf_write(list, "t", false, text) >= 0; number++) {
		struct kafka_shelf *shelf = kafka_shelf_at(&list, number);
		kafka_ring_add(&shelf->ring, number, UINT32_MAX);
		finish(&shelf->ring, number);
	}
	for (struct kafka_shelf *s = list; s != NULL; s = s->next)
		kafka_ring_reach(&s->ring, INT64_C(1) << 50);
	size_t len = kafka_shelf_tell(list, "t", false, text);
	assert_in_range(len, KAFKA_SHELF_MAX + 1, KAFKA_METADATA_MAX);
	kafka_ring_init(&ring, &stand);
	size_t most = kafka_shelf_beside(len);
	assert_in_range(kafka_shelf_join(metadata,
			    kafka_ring_text_write(&ring, false, most, metadata),
			    span_of(text, len)),
	    len, KAFKA_METADATA_MAX);
	kafka_shelf_read(&again, "t", span_of(text, len));
	for (int i = 0; i < number; i++)
		assert_true(
		    kafka_ring_low(&kafka_shelf_at(&again, i)->ring, false) >
		    i);
	kafka_ring_clear(&ring);
	kafka_shelf_clear(&again);
	kafka_shelf_clear(&list);
}

static void
what_cannot_fit_is_left_out_as_a_whole(void **state)
{
	struct kafka_shelf *list = NULL, *again = NULL;
	char text[KAFKA_METADATA_MAX + 1];
	(void)state;
	fill_shelf(&list, 0, 4000);
	struct kafka_shelf *whole = kafka_shelf_at(&list, 1);
	kafka_ring_add(&whole->ring, 4, 1);
	finish(&whole->ring, 4);
	size_t len = kafka_shelf_tell(list, "t", false, text);
	kafka_shelf_read(&again, "t", span_of(text, len));
	assert_int_equal(again->number, 1);
	assert_int_equal(kafka_ring_low(&again->ring, false), 5);
	assert_null(again->next);
	kafka_shelf_clear(&again);
	kafka_shelf_clear(&list);
}

static void
text_of_others_has_nothing_in_it(void **state)
{
	static const char *const texts[] = {"", "d1.", "d1.x", "d1.5;",
	    "d1.5;1", "d1.5;1.2", "d1.5;1.2.o1:", "d1.5;-1.2.o1:1.1:",
	    "d2.5;1.2.o1:1.1:", "d1.5;99999999999.2.o1:1.1:", "|||"};
	struct kafka_shelf *list = NULL;
	char text[80];
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		snprintf(text, sizeof text, "%s", texts[i]);
		kafka_shelf_read(&list, "t", span_str(text));
		assert_null(list);
	}
	/* A ring's alone, and nothing. */
	struct span own, rest;
	kafka_shelf_part(SPAN("o1:1.1:"), &own, &rest);
	assert_true(span_eq(own, SPAN("o1:1.1:")) && rest.len == 0);
	kafka_shelf_part(SPAN(""), &own, &rest);
	assert_true(own.len == 0 && rest.len == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_written_of_what_is_unfinished),
	    cmocka_unit_test(what_is_written_is_read_again),
	    cmocka_unit_test(each_letter_that_is_finished_counts_more),
	    cmocka_unit_test(
		what_is_being_put_is_told_only_with_its_transaction),
	    cmocka_unit_test(too_much_is_not_cut),
	    cmocka_unit_test(a_ring_leaves_room_by_whole_ranges),
	    cmocka_unit_test(what_is_finished_is_told_though_it_grows),
	    cmocka_unit_test(what_cannot_fit_is_left_out_as_a_whole),
	    cmocka_unit_test(text_of_others_has_nothing_in_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
