/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/upstream/status_class.h"

/* 503 releases, 504 is unknown, the rest is stored. */
static void
fill(uint8_t outcomes[600])
{
	for (int status = 0; status < 600; status++)
		outcomes[status] = STATUS_STORE;
	outcomes[503] = STATUS_RELEASE;
	outcomes[504] = STATUS_UNKNOWN;
}

static void
the_upstreams_word_beats_the_table(void **state)
{
	static const struct {
		int status;
		const char *said;
		enum status_class outcome;
	} table[] = {
		{200, "", STATUS_STORE},
		{599, "", STATUS_STORE},
		{503, "", STATUS_RELEASE},
		{504, "", STATUS_UNKNOWN},
		{200, "release", STATUS_RELEASE},
		{200, "unknown", STATUS_UNKNOWN},
		{200, "forget", STATUS_FORGET},
		{503, "store", STATUS_STORE},
		{504, "Store", STATUS_STORE},
		{504, "RELEASE", STATUS_RELEASE},
	};
	uint8_t outcomes[600];

	(void)state;
	fill(outcomes);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		assert_int_equal(status_class_said(span_str(table[i].said),
				     outcomes[table[i].status]),
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
		assert_int_equal(status_class_said(said, outcomes[201]),
		    STATUS_STORE);
		assert_int_equal(status_class_said(said, outcomes[503]),
		    STATUS_RELEASE);
		assert_int_equal(status_class_said(said, outcomes[504]),
		    STATUS_UNKNOWN);
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
