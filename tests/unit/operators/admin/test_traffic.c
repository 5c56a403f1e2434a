/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "gate/claimant.h"
#include "gate/worker.h"
#include "operators/admin/admin_private.h"

/* The ring of the last hour; here a minute is over when the test says so. */
enum { MINUTES = 60 };

static struct loop *loop;
static struct worker one, other;
static struct worker *const workers[] = {&one, &other};
static struct traffic *traffic;

static int
begin(void **state)
{
	(void)state;
	meter_init(&one.meter);
	meter_init(&other.meter);
	loop = loop_new();
	traffic = admin_traffic_new(loop, workers, 2);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	admin_traffic_free(&traffic);
	loop_free(&loop);
	meter_clear(&one.meter);
	meter_clear(&other.meter);
	return 0;
}

/* Requests to no route end, each after so long. */
static void
requests_end(struct worker *worker, unsigned count, int64_t took_us)
{
	struct series *series = worker->meter.no_route;
	counter_add(&series->outcomes[OUTCOME_NO_ROUTE], count);
	for (unsigned i = 0; i < count; i++)
		histogram_add(&series->seconds, took_us);
}

static void
are_told(size_t n_minutes, size_t at, json_int_t count, size_t bucket)
{
	json_t *told = admin_traffic_json(traffic);
	const json_t *minutes = json_object_get(told, "minutes");
	const json_t *minute = json_array_get(minutes, at);
	const json_t *took = json_object_get(minute, "requests");
	const json_t *outcomes = json_object_get(minute, "outcomes");
	assert_int_equal(json_array_size(minutes), n_minutes);
	assert_non_null(minute);
	assert_int_equal(
	    json_integer_value(json_object_get(outcomes, "no-route")), count);
	assert_int_equal(json_object_size(outcomes), count > 0);
	assert_int_equal(
	    json_array_size(took), count > 0 ? HISTOGRAM_BOUNDS + 1 : 0);
	assert_int_equal(
	    json_integer_value(json_array_get(took, bucket)), count);
	assert_int_equal(
	    json_array_size(json_object_get(told, "bounds")),
	    HISTOGRAM_BOUNDS);
	json_decref(told);
}

static void
the_minute_that_runs_is_told_with_those_before(void **state)
{
	(void)state;
	are_told(1, 0, 0, 0);
	requests_end(&one, 3, 90);
	are_told(1, 0, 3, 0);
	admin_traffic_turn(traffic);
	are_told(2, 0, 3, 0);
	are_told(2, 1, 0, 0);
	requests_end(&other, 2, 70 * 1000 * 1000);
	requests_end(&one, 2, 70 * 1000 * 1000);
	are_told(2, 1, 4, HISTOGRAM_BOUNDS);
}

static void
an_hour_is_kept_and_no_more(void **state)
{
	(void)state;
	for (unsigned minute = 1; minute <= 200; minute++) {
		requests_end(&one, minute, 0);
		are_told(minute < MINUTES + 1 ? minute : MINUTES + 1,
		    minute < MINUTES + 1 ? minute - 1 : MINUTES, minute, 0);
		admin_traffic_turn(traffic);
	}
	are_told(MINUTES + 1, 0, 200 - MINUTES + 1, 0);
	are_told(MINUTES + 1, MINUTES - 1, 200, 0);
	are_told(MINUTES + 1, MINUTES, 0, 0);
}

static void
what_is_counted_for_long_still_has_its_differences(void **state)
{
	(void)state;
	struct series *series = one.meter.no_route;
	counter_set(&series->outcomes[OUTCOME_NO_ROUTE], UINT32_MAX - 1);
	admin_traffic_turn(traffic);
	requests_end(&one, 5, 0);
	are_told(2, 1, 5, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, end)
	    EACH(the_minute_that_runs_is_told_with_those_before),
	    EACH(an_hour_is_kept_and_no_more),
	    EACH(what_is_counted_for_long_still_has_its_differences),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
