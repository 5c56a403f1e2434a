/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/list.h"

enum { ITEMS = 1000 };

struct thing {
	int number;
	struct list link;
	struct hash_item hashed;
};

/* The numbers in a list, forwards and, as the links must agree, backwards. */
static const char *
numbers_in(const struct list *head)
{
	static char text[64];
	size_t length = 0, n = 0;
	const struct list *back = head->prev;
	const struct thing *thing;
	LIST_EACH (thing, head, link) {
		length += (size_t)snprintf(text + length, sizeof text - length,
		    "%d ", thing->number);
		n++;
	}
	text[length] = '\0';
	for (; back != head; back = back->prev)
		n--;
	assert_int_equal(n, 0);
	return text;
}

static void
items_stand_in_the_order_in_which_they_were_put(void **state)
{
	struct thing things[4] = {
		{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
	struct list head;
	(void)state;
	list_init(&head);
	assert_null(LIST_FIRST(&head, struct thing, link));
	assert_null(LIST_LAST(&head, struct thing, link));
	list_add_last(&head, &things[1].link);
	list_add_last(&head, &things[3].link);
	list_add_first(&head, &things[0].link);
	list_add_before(&things[3].link, &things[2].link);
	assert_string_equal(numbers_in(&head), "0 1 2 3 ");
	assert_ptr_equal(LIST_FIRST(&head, struct thing, link), &things[0]);
	assert_ptr_equal(LIST_LAST(&head, struct thing, link), &things[3]);
}

static void
an_item_is_removed_once_and_knows_it(void **state)
{
	struct thing *thing, things[3] = {
		{.number = 0}, {.number = 1}, {.number = 2}};
	struct list head;
	(void)state;
	list_init(&head);
	list_remove(&things[1].link);
	for (int i = 0; i < 3; i++) {
		assert_false(list_linked(&things[i].link));
		list_add_last(&head, &things[i].link);
		assert_true(list_linked(&things[i].link));
	}
	list_remove(&things[1].link);
	list_remove(&things[1].link);
	assert_string_equal(numbers_in(&head), "0 2 ");
	LIST_EACH (thing, &head, link)
		list_remove(&thing->link);
	assert_true(list_empty(&head));
}

static void
a_whole_list_is_moved_behind_another(void **state)
{
	struct thing things[4] = {
		{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
	struct list one, other;
	(void)state;
	list_init(&one);
	list_init(&other);
	list_move_all(&one, &other);
	assert_true(list_empty(&other));
	for (int i = 0; i < 4; i++)
		list_add_last(i < 2 ? &other : &one, &things[i].link);
	list_move_all(&one, &other);
	assert_string_equal(numbers_in(&other), "0 1 2 3 ");
	assert_true(list_empty(&one));
}

/* Spreads neighbours (as MurmurHash3 does). */
static uint64_t
number_hash(uint64_t number)
{
	number = (number ^ number >> 33) * UINT64_C(0xff51afd7ed558ccd);
	return number ^ number >> 33;
}

static void
what_is_in_a_table_is_found_however_much_it_grows(void **state)
{
	static struct thing things[ITEMS];
	struct hash hash = {0};
	struct thing *thing;
	(void)state;
	assert_null(hash_find(&hash, 7, NULL));
	assert_null(hash_next(&hash, NULL));
	for (int i = 0; i < ITEMS; i++) {
		things[i].number = i;
		/* Two have each hash. */
		hash_add(&hash, &things[i].hashed,
		    number_hash((uint64_t)i / 2));
	}
	assert_int_equal(hash.count, ITEMS);
	for (int i = 0; i < ITEMS; i++) {
		int found = 0;
		HASH_EACH_OF (thing, &hash, number_hash((uint64_t)i / 2),
		    hashed)
			found += 1 + (thing->number == i);
		assert_int_equal(found, 3);
	}
	assert_null(hash_find(&hash, number_hash(ITEMS), NULL));
	hash_remove(&hash, &things[0].hashed);
	assert_ptr_equal(
	    hash_find(&hash, number_hash(0), NULL), &things[1].hashed);
	assert_null(hash_find(&hash, number_hash(0), &things[1].hashed));
	hash_free(&hash);
}

static void
each_item_of_a_table_is_met_once_and_may_leave(void **state)
{
	static struct thing things[ITEMS];
	struct hash hash = {0};
	struct thing *thing;
	int met = 0;
	(void)state;
	for (int i = 0; i < ITEMS; i++)
		hash_add(&hash, &things[i].hashed, (uint64_t)i * 3);
	HASH_EACH (thing, &hash, hashed) {
		assert_int_equal(thing->number++, 0);
		hash_remove(&hash, &thing->hashed);
		met++;
	}
	assert_int_equal(met, ITEMS);
	assert_int_equal(hash.count, 0);
	assert_null(hash_next(&hash, NULL));
	hash_free(&hash);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    items_stand_in_the_order_in_which_they_were_put),
		cmocka_unit_test(an_item_is_removed_once_and_knows_it),
		cmocka_unit_test(a_whole_list_is_moved_behind_another),
		cmocka_unit_test(
		    what_is_in_a_table_is_found_however_much_it_grows),
		cmocka_unit_test(
		    each_item_of_a_table_is_met_once_and_may_leave),
	};
	return cmocka_run_group_tests_name("containers", tests, NULL, NULL);
}
