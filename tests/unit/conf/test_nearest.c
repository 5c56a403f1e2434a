/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf/nearest.h"

static const char names[] =
    "listen workers instance upstreams routes in_flight on_unknown";

static void
assert_found(const char *wanted, const char *expected)
{
	struct nearest nearest = nearest_to(span_str(wanted));
	struct span list = span_str(names), name;
	while (span_next(&list, ' ', &name))
		nearest_try(&nearest, name);
	if (!span_eq(nearest.found, span_str(expected)))
		print_error("for %s: %.*s\n", wanted, SPAN_FMT(nearest.found));
	assert_true(span_eq(nearest.found, span_str(expected)));
}

static void
a_slip_of_the_keyboard_is_near(void **state)
{
	(void)state;
	assert_found("liste", "listen");
	assert_found("lisetn", "listen");
	assert_found("route", "routes");
	assert_found("Routes", "routes");
	assert_found("in-flight", "in_flight");
	assert_found("inFlight", "in_flight");
	assert_found("upstraems", "upstreams");
	assert_found("worker_s", "workers");
}

static void
what_is_another_word_is_not_near(void **state)
{
	(void)state;
	assert_found("", "");
	assert_found("x", "");
	assert_found("log", "");
	assert_found("colour", "");
	assert_found("retention", "");
	assert_found("a_name_that_is_longer_than_any_other_name_that_there_is_"
		     "in_any_table_of_ours", "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_slip_of_the_keyboard_is_near),
	    cmocka_unit_test(what_is_another_word_is_not_near),
	};
	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
