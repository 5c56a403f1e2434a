/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "upstream/outcome.h"

/* 503 releases, 504 is unknown, the rest is stored. */
static void
fill(uint8_t outcomes[600])
{
	for (int status = 0; status < 600; status++)
		outcomes[status] = OUTCOME_STORE;
	outcomes[503] = OUTCOME_RELEASE;
	outcomes[504] = OUTCOME_UNKNOWN;
}

static void
the_upstreams_word_beats_the_table(void **state)
{
	static const struct {
		int status;
		const char *said;
		enum outcome outcome;
	} table[] = {
		{200, "", OUTCOME_STORE},
		{599, "", OUTCOME_STORE},
		{503, "", OUTCOME_RELEASE},
		{504, "", OUTCOME_UNKNOWN},
		{200, "release", OUTCOME_RELEASE},
		{200, "unknown", OUTCOME_UNKNOWN},
		{503, "store", OUTCOME_STORE},
		{504, "Store", OUTCOME_STORE},
		{504, "RELEASE", OUTCOME_RELEASE},
	};
	uint8_t outcomes[600];

	(void)state;
	fill(outcomes);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		assert_int_equal(outcome_of(outcomes, table[i].status,
				     span_str(table[i].said)),
		    table[i].outcome);
}

static void
unknown_words_are_ignored(void **state)
{
	static const char *const words[] = {
		"stored", "stor", "store, release", "release ", "\"store\"",
		"1", "yes", "none",
	};
	uint8_t outcomes[600];

	(void)state;
	fill(outcomes);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct span said = span_str(words[i]);
		assert_int_equal(outcome_of(outcomes, 201, said),
		    OUTCOME_STORE);
		assert_int_equal(outcome_of(outcomes, 503, said),
		    OUTCOME_RELEASE);
		assert_int_equal(outcome_of(outcomes, 504, said),
		    OUTCOME_UNKNOWN);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_upstreams_word_beats_the_table),
		cmocka_unit_test(unknown_words_are_ignored),
	};
	return cmocka_run_group_tests_name("outcome", tests, NULL, NULL);
}
