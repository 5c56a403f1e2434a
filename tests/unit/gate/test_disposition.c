/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate/disposition.h"

/* 503 releases, 504 is unknown, the rest is stored. */
static void
fill(uint8_t outcomes[600])
{
	for (int status = 0; status < 600; status++)
		outcomes[status] = DISPOSITION_STORE;
	outcomes[503] = DISPOSITION_RELEASE;
	outcomes[504] = DISPOSITION_UNKNOWN;
}

/* Of an answer that says so many words, "": it says none. */
static enum disposition
disposition(const char *one, const char *other, uint8_t by_status)
{
	struct field list[] = {
		{SPAN("Date"), SPAN("now")},
		{SPAN("idempotency-outcome"), span_str(one)},
		{SPAN("Idempotency-Outcome"), span_str(other)},
	};
	const struct fields fields = {
		list, 1u + (*one != '\0') + (*other != '\0')};
	return disposition_of_answer(&fields, 200, by_status);
}

static void
the_upstreams_word_beats_the_table(void **state)
{
	static const struct {
		int status;
		const char *said;
		enum disposition disposition;
	} table[] = {
		{200, "", DISPOSITION_STORE},
		{599, "", DISPOSITION_STORE},
		{503, "", DISPOSITION_RELEASE},
		{504, "", DISPOSITION_UNKNOWN},
		{200, "release", DISPOSITION_RELEASE},
		{200, "unknown", DISPOSITION_UNKNOWN},
		{200, "forget", DISPOSITION_FORGET},
		{503, "store", DISPOSITION_STORE},
		{504, "Store", DISPOSITION_STORE},
		{504, "RELEASE", DISPOSITION_RELEASE},
	};
	uint8_t outcomes[600];

	(void)state;
	fill(outcomes);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		assert_int_equal(disposition(table[i].said, "",
				     outcomes[table[i].status]),
		    table[i].disposition);
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
		assert_int_equal(disposition(words[i], "", outcomes[201]),
		    DISPOSITION_STORE);
		assert_int_equal(disposition(words[i], "", outcomes[503]),
		    DISPOSITION_RELEASE);
		assert_int_equal(disposition(words[i], "", outcomes[504]),
		    DISPOSITION_UNKNOWN);
	}
}

static void
two_words_say_nothing_for_certain(void **state)
{
	(void)state;
	assert_int_equal(disposition("store", "store", DISPOSITION_STORE),
	    DISPOSITION_UNKNOWN);
	assert_int_equal(disposition("release", "yes", DISPOSITION_STORE),
	    DISPOSITION_UNKNOWN);
}

static void
an_api_that_was_asked_says_yes_no_or_nothing(void **state)
{
	static const struct fields none = {NULL, 0};
	struct field word = {SPAN("Idempotency-Outcome"), SPAN("release")};
	const struct fields said = {&word, 1};
	struct conf_reconcile rules = {0};

	(void)state;
	rules.absent[404] = true;
	assert_int_equal(disposition_of_reconcile(&rules, 200, &none),
	    DISPOSITION_STORE);
	assert_int_equal(disposition_of_reconcile(&rules, 404, &none),
	    DISPOSITION_RELEASE);
	assert_int_equal(disposition_of_reconcile(&rules, 410, &none),
	    DISPOSITION_UNKNOWN);
	assert_int_equal(disposition_of_reconcile(&rules, 200, &said),
	    DISPOSITION_RELEASE);
}

static void
what_was_refused_before_any_work_is_known(void **state)
{
	static const struct {
		int status;
		const char *said;
		bool refused;
	} table[] = {
		{301, "", true}, {302, "", false}, {303, "", false},
		{307, "", true}, {308, "", true}, {400, "", false},
		{401, "", true}, {403, "", true}, {404, "", false},
		{408, "", true}, {409, "", false}, {425, "", true},
		{429, "", true}, {500, "", false}, {502, "", false},
		{503, "", false}, {504, "", false},
		{503, "release", true}, {200, "Forget", true},
		{503, "released", false}, {429, "perhaps", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct field list[] = {{SPAN("Idempotency-Outcome"),
			span_str(table[i].said)}};
		const struct fields fields = {
			list, *table[i].said != '\0'};
		assert_int_equal(
		    disposition_is_refusal(&fields, table[i].status),
		    table[i].refused);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_refused_before_any_work_is_known),
		cmocka_unit_test(the_upstreams_word_beats_the_table),
		cmocka_unit_test(unknown_words_are_ignored),
		cmocka_unit_test(two_words_say_nothing_for_certain),
		cmocka_unit_test(an_api_that_was_asked_says_yes_no_or_nothing),
	};
	return cmocka_run_group_tests_name("disposition", tests, NULL, NULL);
}
