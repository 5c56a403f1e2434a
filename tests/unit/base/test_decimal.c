/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/decimal.h"

static const struct {
	const char *text;
	const char *spelling;
} numbers[] = {
	{"0", "0"},
	{"-0", "0"},
	{"0.000", "0"},
	{"-0.0e7", "0"},
	{"0e99999999999999999999999999", "0"},
	{"1", "1"},
	{"1.0", "1"},
	{"10e-1", "1"},
	{"0.001e3", "1"},
	{"1e0", "1"},
	{"1E+0", "1"},
	{"1e-0", "1"},
	{"-1", "-1"},
	{"-1.00", "-1"},
	{"7", "7"},
	{"10", "1e1"},
	{"1e1", "1e1"},
	{"1200", "12e2"},
	{"-12.50e3", "-125e2"},
	{"0.05", "5e-2"},
	{"0.050", "5e-2"},
	{"100.001", "100001e-3"},
	{"1e-7", "1e-7"},
	{"9007199254740993", "9007199254740993"},
	{"18446744073709551616", "18446744073709551616"},
	{"0.1000000000000000055511151231257827",
	    "1000000000000000055511151231257827e-34"},
	{"1e999999999", "1e999999999"},
	{"1e000000000000000000000000000005", "1e5"},
	/* Around the largest numbers of 64 bits. */
	{"1e999999999999999999", "1e999999999999999999"},
	{"10e999999999999999999", "1e1000000000000000000"},
	{"1e1000000000000000000", "1e1000000000000000000"},
	{"0.1e1000000000000000000", "1e999999999999999999"},
	{"1e99999999999999999999", "1e99999999999999999999"},
	{"10e99999999999999999999", "1e100000000000000000000"},
	{"0.001e100000000000000000000", "1e99999999999999999997"},
	{"10e-100000000000000000000", "1e-99999999999999999999"},
	{"0.1e-99999999999999999999", "1e-100000000000000000000"},
	{"1e9223372036854775807", "1e9223372036854775807"},
	{"10e9223372036854775807", "1e9223372036854775808"},
	{"0.1e-9223372036854775808", "1e-9223372036854775809"},
};

static struct span
spelling_of(struct arena *arena, struct span number)
{
	struct span spelling;
	assert_true(decimal_take(arena, &number, &spelling));
	assert_int_equal(number.len, 0);
	return spelling;
}

static void
each_number_has_one_spelling(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct arena *arena = arena_new();
		/*
		 * A copy of exactly its size, so that a read past its end is
		 * noticed.
		 */
		struct span text = span_str(numbers[i].text);
		struct span copy = arena_dup(arena, text);
		struct span got = spelling_of(arena, copy);
		if (!span_eq(got, span_str(numbers[i].spelling)))
			fail_msg("%s gave %.*s", numbers[i].text,
			    SPAN_FMT(got));
		arena_free(&arena);
	}
}

static void
a_spelling_is_its_own_spelling(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct arena *arena = arena_new();
		struct span once = span_str(numbers[i].spelling);
		struct span twice = spelling_of(arena, once);
		assert_true(span_eq(once, twice));
		arena_free(&arena);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_has_one_spelling),
		cmocka_unit_test(a_spelling_is_its_own_spelling),
	};
	return cmocka_run_group_tests_name("decimal", tests, NULL, NULL);
}
