/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/loop/loop.h"
#include "messages/source/lanes.h"

/* Messages of one order go one after the other, beside those of others. */

enum { PLACES = 4 };

static struct loop *loop;
static struct lanes *lanes;
static struct lane_place places[PLACES];
static unsigned woken[PLACES];

static void
on_turn(void *owner)
{
	struct lane_place *place = owner;
	woken[place - places]++;
}

static void
on_end(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

/* All that is ready runs. */
static void
turn(void)
{
	loop_post(loop, on_end, NULL);
	loop_run(loop);
}

static int
begin(void **state)
{
	(void)state;
	loop = loop_new();
	lanes = lanes_new();
	for (size_t i = 0; i < PLACES; i++) {
		places[i] = (struct lane_place){.lane = NULL};
		woken[i] = 0;
		op_init(&places[i].turn, loop, on_turn, &places[i]);
	}
	return 0;
}

static int
end(void **state)
{
	(void)state;
	for (size_t i = 0; i < PLACES; i++)
		lanes_leave(lanes, &places[i]);
	lanes_free(&lanes);
	loop_free(&loop);
	return 0;
}

static void
enter(unsigned place, uint8_t order)
{
	const uint8_t hash[DIGEST_BYTES] = {order};
	lanes_enter(lanes, hash, &places[place]);
	if (!lanes_is_first(&places[place]))
		lanes_wait(&places[place]);
}

static void
one_of_an_order_goes_at_a_time(void **state)
{
	(void)state;
	enter(0, 1);
	enter(1, 1);
	enter(2, 1);
	assert_true(lanes_is_first(&places[0]));
	turn();
	assert_int_equal(woken[1] + woken[2], 0);
	lanes_leave(lanes, &places[0]);
	turn();
	assert_int_equal(woken[1], 1);
	assert_int_equal(woken[2], 0);
	lanes_leave(lanes, &places[1]);
	turn();
	assert_int_equal(woken[2], 1);
}

static void
other_orders_go_beside_it(void **state)
{
	(void)state;
	enter(0, 1);
	enter(1, 2);
	assert_true(lanes_is_first(&places[1]));
	lanes_leave(lanes, &places[0]);
	assert_true(lanes_is_first(&places[1]));
}

static void
one_that_leaves_in_the_middle_keeps_the_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PLACES; i++)
		enter(i, 7);
	lanes_leave(lanes, &places[1]);
	lanes_leave(lanes, &places[0]);
	turn();
	assert_int_equal(woken[1], 0);
	assert_int_equal(woken[2], 1);
	assert_int_equal(woken[3], 0);
	lanes_leave(lanes, &places[3]);
	assert_int_equal(lanes_length(&places[2]), 1);
}

static void
a_first_one_that_rests_is_said_of_all_behind_it(void **state)
{
	(void)state;
	enter(0, 1);
	enter(1, 1);
	enter(2, 2);
	lanes_rest(&places[0], true);
	assert_true(lanes_rests(&places[1]));
	assert_false(lanes_rests(&places[2]));
	assert_int_equal(lanes_length(&places[0]), 2);
	lanes_leave(lanes, &places[0]);
	assert_false(lanes_rests(&places[1]));
}

static void
without_an_order_everybody_is_first(void **state)
{
	(void)state;
	assert_true(lanes_is_first(&places[0]));
	assert_int_equal(lanes_length(&places[0]), 1);
	lanes_rest(&places[0], true);
	assert_false(lanes_rests(&places[0]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		one_of_an_order_goes_at_a_time, begin, end),
	    cmocka_unit_test_setup_teardown(
		other_orders_go_beside_it, begin, end),
	    cmocka_unit_test_setup_teardown(
		one_that_leaves_in_the_middle_keeps_the_order, begin, end),
	    cmocka_unit_test_setup_teardown(
		a_first_one_that_rests_is_said_of_all_behind_it, begin, end),
	    cmocka_unit_test_setup_teardown(
		without_an_order_everybody_is_first, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
