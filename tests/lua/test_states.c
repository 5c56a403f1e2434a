/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/steps.h"

/*
 * The record's machine: every state, every step, and every owner, against what
 * src/store/record/lua/ promises.  Names of states are those of steps.c.
 */

/* --- claims --- */

struct claim_row {
	const char *record, *policy, *a, *b, *x; /* who claims */
};

static void
claims_are(const struct claim_row *rows, size_t count, const char *print,
    int max_attempts)
{
	static const char *const owners[] = {A, B, X};
	char before[VALUE_MAX], after[VALUE_MAX];
	for (size_t i = 0; i < 3 * count; i++) {
		const struct claim_row *row = &rows[i / 3];
		const char *owner = owners[i % 3];
		const char *expected[] = {row->a, row->b, row->x};
		print_message("# %s, claim %s by %c: %s\n", row->record,
		    row->policy, owner[0], expected[i % 3]);
		put(row->record);
		get_record(before);
		outcome_is(claim(owner, print, row->policy, max_attempts, 0),
		    expected[i % 3], before);
		/* A repeated claim is the same claim. */
		get_record(after);
		char word[32];
		sscanf(expected[i % 3], "%31s", word);
		word_is(claim(owner, print, row->policy, max_attempts, 0),
		    word);
		get_record(before);
		assert_memory_equal(before + 2, after + 2, 14);
	}
}

static void
a_claim_gets_what_the_record_says(void **state)
{
	(void)state;
	static const struct claim_row rows[] = {
	    {"none", "hold", "OURS P1-", "OURS P1-", "OURS P1-"},
	    {"none", "retry", "OURS P1-", "OURS P1-", "OURS P1-"},
	    {"none", "reconcile:0", "OURS P1-", "OURS P1-", "OURS P1-"},
	    {"none", "execute", "OURS P1-", "OURS P1-", "OURS P1-"},
	    {"P", "hold", "OURS P3-", "IN_FLIGHT =", "IN_FLIGHT ="},
	    {"P", "retry", "OURS P3-", "IN_FLIGHT =", "IN_FLIGHT ="},
	    {"P", "reconcile:0", "OURS P3-", "IN_FLIGHT =", "IN_FLIGHT ="},
	    {"P", "execute", "OURS P3-", "IN_FLIGHT =", "IN_FLIGHT ="},
	    {"P expired", "hold", "OURS P3-", "UNKNOWN U3l", "UNKNOWN U3l"},
	    {"P expired", "retry", "OURS P3-", "OURS P4-", "OURS P4-"},
	    {"P expired", "reconcile:0", "OURS P3-", "RECONCILE P3l",
		"RECONCILE P3l"},
	    {"P expired", "execute", "OURS P3-", "UNKNOWN U3l",
		"UNKNOWN U3l"},
	    {"P retry", "retry", "OURS P3-", "IN_FLIGHT =", "IN_FLIGHT ="},
	    {"P retry expired", "hold", "OURS P3-", "UNKNOWN U3l",
		"UNKNOWN U3l"},
	    {"P retry expired", "retry", "OURS P3-", "OURS P4-", "OURS P4-"},
	    {"P asking", "hold", "IN_FLIGHT =", "RECONCILE P3t",
		"IN_FLIGHT ="},
	    {"P asking", "retry", "IN_FLIGHT =", "RECONCILE P3t",
		"IN_FLIGHT ="},
	    {"P asking", "reconcile:0", "IN_FLIGHT =", "RECONCILE P3t",
		"IN_FLIGHT ="},
	    {"P asking", "execute", "IN_FLIGHT =", "OURS P4-",
		"IN_FLIGHT ="},
	    {"P asking expired", "hold", "UNKNOWN U3t", "RECONCILE P3t",
		"UNKNOWN U3t"},
	    {"P asking expired", "retry", "OURS P4-", "RECONCILE P3t",
		"OURS P4-"},
	    {"P asking expired", "reconcile:0", "RECONCILE P3t",
		"RECONCILE P3t", "RECONCILE P3t"},
	    {"P asking expired", "execute", "UNKNOWN U3t", "OURS P4-",
		"UNKNOWN U3t"},
	    {"U", "hold", "UNKNOWN =", "UNKNOWN =", "UNKNOWN ="},
	    {"U", "retry", "OURS P4-", "OURS P4-", "OURS P4-"},
	    {"U", "reconcile:0", "RECONCILE P3t", "RECONCILE P3t",
		"RECONCILE P3t"},
	    {"U", "execute", "UNKNOWN =", "UNKNOWN =", "UNKNOWN ="},
	    {"U after retry", "hold", "UNKNOWN =", "UNKNOWN =", "UNKNOWN ="},
	    {"U after retry", "retry", "OURS P4-", "OURS P4-", "OURS P4-"},
	    {"U put back", "hold", "UNKNOWN =", "UNKNOWN =", "UNKNOWN ="},
	    {"U put back", "execute", "UNKNOWN =", "OURS P4-", "UNKNOWN ="},
	    {"U unsent, o1", "hold", "UNKNOWN =", "UNKNOWN =", "UNKNOWN ="},
	    {"U unsent, o1", "retry", "OURS P4-", "OURS P4-", "OURS P4-"},
	    {"P retry, o1", "retry", "OURS P3-", "IN_FLIGHT =",
		"IN_FLIGHT ="},
	    {"P retry expired, o1", "hold", "OURS P3-", "UNKNOWN U3l",
		"UNKNOWN U3l"},
	    {"P asking, o1", "execute", "IN_FLIGHT =", "OURS P4-",
		"IN_FLIGHT ="},
	    {"P asking expired, o1", "hold", "UNKNOWN U3t",
		"RECONCILE P3t", "UNKNOWN U3t"},
	    {"U after retry, o1", "retry", "OURS P4-", "OURS P4-",
		"OURS P4-"},
	    {"U put back, o1", "execute", "UNKNOWN =", "OURS P4-",
		"UNKNOWN ="},
	    /* A gateway asks by itself; it does not know the record. */
	    {"none", "ask:0:0", "GONE =", "GONE =", "GONE ="},
	    {"P", "ask:0:0", "GONE =", "GONE =", "GONE ="},
	    {"P expired", "ask:0:0", "GONE =", "GONE =", "GONE ="},
	    {"P asking", "ask:0:0", "GONE =", "RECONCILE P3t", "GONE ="},
	    {"U", "ask:0:0", "RECONCILE P3t", "RECONCILE P3t",
		"RECONCILE P3t"},
	    {"U", "ask:60000:0", "UNKNOWN =", "UNKNOWN =", "UNKNOWN ="},
	    {"U", "ask:0:1", "GONE =", "GONE =", "GONE ="},
	    {"U put back", "ask:0:0", "RECONCILE P3t", "RECONCILE P3t",
		"RECONCILE P3t"},
	    {"F", "ask:0:0", "GONE =", "GONE =", "GONE ="},
	    {"R", "ask:0:0", "GONE =", "GONE =", "GONE ="},
	    {"C", "hold", "COMPLETED =", "COMPLETED =", "COMPLETED ="},
	    {"C", "retry", "COMPLETED =", "COMPLETED =", "COMPLETED ="},
	    {"C", "reconcile:0", "COMPLETED =", "COMPLETED =", "COMPLETED ="},
	    {"C", "execute", "COMPLETED =", "COMPLETED =", "COMPLETED ="},
	    {"F", "hold", "FAILED =", "FAILED =", "FAILED ="},
	    {"F", "retry", "FAILED =", "FAILED =", "FAILED ="},
	    {"F", "reconcile:0", "FAILED =", "FAILED =", "FAILED ="},
	    {"F", "execute", "FAILED =", "FAILED =", "FAILED ="},
	    {"R", "hold", "OURS P4-", "OURS P4-", "OURS P4-"},
	    {"R", "retry", "OURS P4-", "OURS P4-", "OURS P4-"},
	    {"R", "reconcile:0", "OURS P4-", "OURS P4-", "OURS P4-"},
	    {"R", "execute", "OURS P4-", "OURS P4-", "OURS P4-"},
	};
	claims_are(rows, sizeof rows / sizeof *rows, PRINT, 5);
}

static void
another_request_is_a_mismatch_unless_the_key_is_free(void **state)
{
	(void)state;
#define MISMATCH(record) \
	{record, "hold", "MISMATCH =", "MISMATCH =", "MISMATCH ="}, \
	    {record, "retry", "MISMATCH =", "MISMATCH =", "MISMATCH ="}
	static const struct claim_row rows[] = {
	    MISMATCH("P"),
	    MISMATCH("P expired"),
	    MISMATCH("P retry"),
	    MISMATCH("P retry expired"),
	    MISMATCH("P asking"),
	    MISMATCH("P asking expired"),
	    MISMATCH("U"),
	    MISMATCH("U after retry"),
	    MISMATCH("U put back"),
	    MISMATCH("U unsent, o1"),
	    MISMATCH("C"),
	    MISMATCH("F"),
	    {"R", "hold", "OURS P4-", "OURS P4-", "OURS P4-"},
	    {"none", "hold", "OURS P1-", "OURS P1-", "OURS P1-"},
	};
#undef MISMATCH
	claims_are(rows, sizeof rows / sizeof *rows, OTHER_PRINT, 5);
}

static void
the_attempt_that_would_be_one_too_many_fails(void **state)
{
	(void)state;
	static const struct claim_row rows[] = {
	    {"R", "hold", "FAILED F3-", "FAILED F3-", "FAILED F3-"},
	    {"U", "hold", "UNKNOWN =", "UNKNOWN =", "UNKNOWN ="},
	    {"U", "retry", "FAILED F3-", "FAILED F3-", "FAILED F3-"},
	    {"U", "reconcile:0", "RECONCILE P3t", "RECONCILE P3t",
		"RECONCILE P3t"},
	    {"P expired", "hold", "OURS P3-", "UNKNOWN U3l", "UNKNOWN U3l"},
	    {"P expired", "retry", "OURS P3-", "FAILED F3-", "FAILED F3-"},
	    {"P asking", "execute", "IN_FLIGHT =", "FAILED F3-",
		"IN_FLIGHT ="},
	    {"none", "hold", "OURS P1-", "OURS P1-", "OURS P1-"},
	};
	claims_are(rows, sizeof rows / sizeof *rows, PRINT, 2);
}

static void
where_redis_is_not_to_be_trusted_nothing_new_is_executed(void **state)
{
	(void)state;
#define ALL(word) word, word, word
	static const struct claim_row rows[] = {
	    {"none", "hold", ALL("REFUSED =")},
	    {"R", "hold", ALL("REFUSED =")},
	    {"P", "hold", "REFUSED =", "IN_FLIGHT =", "IN_FLIGHT ="},
	    {"P expired", "hold", "REFUSED =", "UNKNOWN U3l", "UNKNOWN U3l"},
	    {"P expired", "retry", ALL("REFUSED =")},
	    {"P expired", "reconcile:0", ALL("REFUSED =")},
	    {"P asking", "execute", "IN_FLIGHT =", "REFUSED =",
		"IN_FLIGHT ="},
	    {"U", "hold", ALL("UNKNOWN =")},
	    {"U", "retry", ALL("REFUSED =")},
	    {"U", "reconcile:0", ALL("REFUSED =")},
	    {"C", "hold", ALL("COMPLETED =")},
	    {"F", "hold", ALL("FAILED =")},
	};
#undef ALL
	unsafe = true;
	claims_are(rows, sizeof rows / sizeof *rows, PRINT, 5);
	unsafe = false;
}

/* What seems to have settled may have been sent a moment ago. */
static void
after_its_clock_jumped_nothing_is_asked_about(void **state)
{
	(void)state;
	static const char *const records[] = {"U", "P expired"};
	jumped = true;
	for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
		put(records[i]);
		word_is(claim(X, PRINT, "reconcile:0", 5, 0), "UNKNOWN");
		head_has(2, "U");
	}
	jumped = false;
	word_is(claim(X, PRINT, "reconcile:0", 5, 0), "RECONCILE");
}

/* --- steps --- */

/* Owner A, owner B, a stranger, A of the attempt before, and of the next. */
struct step_row {
	const char *record, *a3, *b3, *x3, *a2, *a4;
};

static void
steps_are(const char *verb, const struct step_row *rows, size_t count)
{
	static const struct {
		const char *owner;
		int attempt;
	} who[] = {{A, 3}, {B, 3}, {X, 3}, {A, 2}, {A, 4}};
	char before[VALUE_MAX];
	for (size_t i = 0; i < 5 * count; i++) {
		const struct step_row *row = &rows[i / 5];
		const char *expected[] = {
		    row->a3, row->b3, row->x3, row->a2, row->a4};
		const char *owner = who[i % 5].owner;
		int attempt = who[i % 5].attempt;
		if (expected[i % 5] == NULL)
			continue;
		if (strcmp(verb, "give back") == 0)
			attempt = 0;
		print_message("# %s, %s by %c of %d: %s\n", row->record, verb,
		    owner[0], attempt, expected[i % 5]);
		put(row->record);
		get_record(before);
		outcome_is(
		    step(verb, owner, attempt), expected[i % 5], before);
		/* Its reply was lost; it is sent again. */
		char word[32];
		sscanf(expected[i % 5], "%31s", word);
		get_record(before);
		outcome_is(step(verb, owner, attempt),
		    strcmp(word, "DONE") == 0	  ? "DONE ="
			: strcmp(word, "GONE") == 0 ? "GONE ="
						    : "FENCED =",
		    before);
	}
}

#define FENCED "FENCED ="
#define STEPS(verb, rows) steps_are(verb, rows, sizeof rows / sizeof *rows)

#define DONE "DONE C3-"
/* later: A's step of attempt 4, which another life of the key had. */
#define COMPLETE_ROWS(later)                                                  \
	{"P", DONE, FENCED, FENCED, FENCED, FENCED}, \
	{"P expired", DONE, FENCED, FENCED, FENCED, later}, \
	{"P retry", DONE, FENCED, FENCED, FENCED, FENCED}, \
	{"P retry expired", DONE, FENCED, FENCED, FENCED, later}, \
	{"P asking", DONE, DONE, FENCED, FENCED, FENCED}, \
	{"P asking, o1", DONE, DONE, FENCED, FENCED, FENCED}, \
	{"U put back, o1", DONE, DONE, FENCED, FENCED, later}, \
	{"P asking expired", DONE, DONE, FENCED, FENCED, later}, \
	{"U", DONE, FENCED, FENCED, FENCED, later}, \
	{"U after retry", DONE, FENCED, FENCED, FENCED, later}, \
	{"U put back", DONE, DONE, FENCED, FENCED, later}, \
	{"C", "DONE =", FENCED, FENCED, FENCED, FENCED}, \
	{"F", DONE, FENCED, FENCED, FENCED, later}

static void
only_who_holds_it_or_a_late_owner_completes(void **state)
{
	(void)state;
	static const struct step_row rows[] = {
	    {"none", "GONE =", "GONE =", "GONE =", "GONE =", "GONE ="},
	    {"R", FENCED, "GONE =", "GONE =", FENCED, "GONE ="},
	    {"R by nobody", FENCED, FENCED, FENCED, FENCED, "GONE ="},
	    COMPLETE_ROWS("GONE ="),
	};
	STEPS("complete", rows);
}

/*
 * Where somebody has claimed meanwhile, it is a late owner like any other; but
 * not where that came to nothing.  An operator's word stands.
 */
static void
an_outcome_makes_a_record_again_that_is_gone(void **state)
{
	(void)state;
	static const struct step_row rows[] = {
	    {"none", DONE, DONE, DONE, "DONE C2-", "DONE C4-"},
	    {"R", FENCED, DONE, DONE, FENCED, FENCED},
	    {"R by nobody", FENCED, FENCED, FENCED, FENCED, FENCED},
	    COMPLETE_ROWS(FENCED),
	};
	STEPS("complete again", rows);
	char value[VALUE_MAX];
	put("none");
	word_is(step("complete again", A, 3), "DONE");
	head_has(4, "000003000002" "1700000000000");
	head_has(55, A PRINT "\ncharges\np\nanswer of " A);
	word_is(claim(B, PRINT, "hold", 5, 0), "COMPLETED");
	word_is(claim(B, OTHER_PRINT, "hold", 5, 0), "MISMATCH");
	get_record(value);
	assert_memory_not_equal(value + 16, value + 29, 13);
}

#undef DONE
#undef COMPLETE_ROWS

/* The attempt is A's; B may have asked about it, and X claims in vain. */
static void
a_failed_record_welcomes_the_truth_of_its_last_attempt(void **state)
{
	(void)state;
	static const struct {
		const char *record, *claimer, *policy;
	} rows[] = {{"P expired", X, "retry"}, {"U", X, "retry"},
	    {"P asking expired", X, "retry"}, {"P asking", B, "execute"},
	    {"U put back", B, "execute"}};
	char before[VALUE_MAX];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		print_message("# %s, %s\n", rows[i].record, rows[i].policy);
		put(rows[i].record);
		word_is(
		    claim(rows[i].claimer, PRINT, rows[i].policy, 2, 0),
		    "FAILED");
		get_record(before);
		outcome_is(step("complete", rows[i].claimer, 3), FENCED,
		    before);
		outcome_is(step("complete", A, 3), "DONE C3-", before);
	}
}

static void
only_who_holds_it_or_a_late_owner_releases(void **state)
{
	(void)state;
#define DONE "DONE R3-"
	static const struct step_row rows[] = {
	    {"none", "GONE =", "GONE =", "GONE =", "GONE =", "GONE ="},
	    {"P", DONE, FENCED, FENCED, FENCED, FENCED},
	    {"P expired", DONE, FENCED, FENCED, FENCED, FENCED},
	    {"P retry", DONE, FENCED, FENCED, FENCED, FENCED},
	    {"P asking", FENCED, "DONE U3t", FENCED, FENCED, FENCED},
	    {"U", DONE, FENCED, FENCED, FENCED, FENCED},
	    {"U after retry", DONE, FENCED, FENCED, FENCED, FENCED},
	    {"U put back", DONE, "DONE =", FENCED, FENCED, FENCED},
	    {"U unsent, o1", "DONE =", FENCED, FENCED, FENCED, FENCED},
	    {"C", FENCED, FENCED, FENCED, FENCED, FENCED},
	    {"F", FENCED, FENCED, FENCED, FENCED, FENCED},
	    {"R", "DONE =", FENCED, FENCED, FENCED, "GONE ="},
	};
	STEPS("release sent", rows);
	/* None of them is a first attempt. */
	STEPS("forget", rows);
	STEPS("release refused", rows);
	STEPS("forget refused", rows);
}

static void
what_was_not_sent_leaves_an_earlier_unknown_attempt_unknown(void **state)
{
	(void)state;
	static const struct step_row rows[] = {
	    {"none", "GONE =", "GONE =", "GONE =", "GONE =", "GONE ="},
	    {"P", DONE, FENCED, FENCED, FENCED, FENCED},
	    {"P expired", DONE, FENCED, FENCED, FENCED, FENCED},
	    {"P retry", "DONE U2t", FENCED, FENCED, FENCED, FENCED},
	    {"P retry, o1", "DONE U2t", FENCED, FENCED, FENCED, FENCED},
	    {"P retry expired", "DONE U2t", FENCED, FENCED, FENCED, FENCED},
	    {"P asking", FENCED, "DONE U3t", FENCED, FENCED, FENCED},
	    {"U", DONE, FENCED, FENCED, FENCED, FENCED},
	    {"U after retry", "DONE U2t", FENCED, FENCED, FENCED, FENCED},
	    {"U put back", DONE, "DONE =", FENCED, FENCED, FENCED},
	    {"U after retry, put back", "DONE U2t", "DONE =", FENCED, FENCED,
		FENCED},
	    {"U unsent, o1", "DONE =", FENCED, FENCED, FENCED, FENCED},
	    {"C", FENCED, FENCED, FENCED, FENCED, FENCED},
	    {"F", FENCED, FENCED, FENCED, FENCED, FENCED},
	    {"R", "DONE =", FENCED, FENCED, FENCED, "GONE ="},
	};
	STEPS("release unsent", rows);
}

static void
a_claim_is_given_back_whatever_its_attempt(void **state)
{
	(void)state;
	static const struct step_row rows[] = {
	    {"none", "GONE =", "GONE =", "GONE =", NULL, NULL},
	    {"P", DONE, FENCED, FENCED, NULL, NULL},
	    {"P expired", DONE, FENCED, FENCED, NULL, NULL},
	    {"P retry", "DONE U2t", FENCED, FENCED, NULL, NULL},
	    {"P asking", FENCED, "DONE U3t", FENCED, NULL, NULL},
	    {"P asking expired", FENCED, "DONE U3t", FENCED, NULL, NULL},
	    {"U", DONE, FENCED, FENCED, NULL, NULL},
	    {"U put back", DONE, "DONE =", FENCED, NULL, NULL},
	    {"U unsent, o1", "DONE =", FENCED, FENCED, NULL, NULL},
	    {"C", FENCED, FENCED, FENCED, NULL, NULL},
	    {"F", FENCED, FENCED, FENCED, NULL, NULL},
	    {"R", "DONE =", FENCED, FENCED, NULL, NULL},
	};
#undef DONE
	STEPS("give back", rows);
}

#define UNKNOWN_ROWS(later)                                                   \
	{"P", "DONE U3b", FENCED, FENCED, FENCED, FENCED}, \
	{"P expired", "DONE U3b", FENCED, FENCED, FENCED, later}, \
	{"P retry", "DONE U3b", FENCED, FENCED, FENCED, FENCED}, \
	{"P asking", "DONE =", "DONE U3t", FENCED, FENCED, FENCED}, \
	{"U", "DONE =", FENCED, FENCED, FENCED, later}, \
	{"U after retry", "DONE =", FENCED, FENCED, FENCED, later}, \
	{"U put back", "DONE =", "DONE =", FENCED, FENCED, later}, \
	{"C", FENCED, FENCED, FENCED, FENCED, FENCED}, \
	{"F", FENCED, FENCED, FENCED, FENCED, later}, \
	{"R by nobody", FENCED, FENCED, FENCED, FENCED, later}

static void
only_who_holds_it_makes_it_unknown(void **state)
{
	(void)state;
	static const struct step_row rows[] = {
	    {"none", "GONE =", "GONE =", "GONE =", "GONE =", "GONE ="},
	    {"R", FENCED, "GONE =", "GONE =", FENCED, "GONE ="},
	    UNKNOWN_ROWS("GONE ="),
	};
	STEPS("mark unknown", rows);
}

static void
a_doubt_makes_a_record_again_that_is_gone(void **state)
{
	(void)state;
	static const struct step_row rows[] = {
	    {"none", "DONE U3b", "DONE U3b", "DONE U3b", "DONE U2b",
		"DONE U4b"},
	    {"R", FENCED, "DONE U3b", "DONE U3b", FENCED, FENCED},
	    UNKNOWN_ROWS(FENCED),
	};
	STEPS("mark unknown again", rows);
	put("none");
	word_is(step("mark unknown again", A, 3), "DONE");
	head_has(4, "000003000002" "1700000000000");
	head_has(55, A PRINT "\ncharges\n");
	word_is(claim(B, PRINT, "hold", 5, 0), "UNKNOWN");
	/* The attempt that was sent counts, also towards max_attempts. */
	word_is(claim(B, PRINT, "retry", 2, 0), "FAILED");
	/* Its own late owner may still know better. */
	put("none");
	word_is(step("mark unknown again", A, 3), "DONE");
	word_is(step("complete", A, 3), "DONE");
}
#undef UNKNOWN_ROWS

/* A record of a life of the key that began then. */
static void
put_as_of(const char *name, int64_t created)
{
	put(name);
	redis_just(redis, "SETRANGE %s 16 %013" PRId64, RECORD, created);
}

/*
 * Redis has come back as it was before the attempt.  What somebody is at, and
 * what is COMPLETED, stays; and so does all of a later life of the key.
 */
static void
an_outcome_goes_before_what_was_an_attempt_before(void **state)
{
	(void)state;
	static const struct {
		const char *record;
		bool goes;
	} rows[] = {{"R", true}, {"R by nobody", true}, {"U", true},
	    {"U after retry", true}, {"U put back", true}, {"F", true},
	    {"P expired", true}, {"P asking expired", true}, {"P", false},
	    {"P asking", false}, {"C", false}};
	static const char *const verbs[] = {
	    "complete again", "mark unknown again"};
	char before[VALUE_MAX];
	for (size_t i = 0; i < 4 * sizeof rows / sizeof *rows; i++) {
		const char *record = rows[i / 4].record;
		const char *verb = verbs[i % 2];
		int attempt = 4 + (int)(i / 2 % 2);
		const char *made[2][2] = {
		    {"DONE C4-", "DONE C5-"}, {"DONE U4b", "DONE U5b"}};
		print_message("# %s, %s of %d\n", record, verb, attempt);
		put_as_of(record, CREATED + 1);
		get_record(before);
		/* What came to nothing does not count, whenever it began. */
		if (strcmp(record, "R") != 0)
			outcome_is(step(verb, X, attempt), FENCED, before);
		put_as_of(record, CREATED);
		get_record(before);
		outcome_is(step(verb, X, attempt),
		    rows[i / 4].goes ? made[i % 2][attempt - 4] : FENCED,
		    before);
		if (rows[i / 4].goes)
			head_has(16, "1700000000000");
	}
}

/* Who knows something of those may still say it. */
static void
the_truth_about_the_attempts_before_stays_welcome(void **state)
{
	(void)state;
	static const char *const records[] = {
	    "U after retry", "P retry expired"};
	for (size_t i = 0; i < 4; i++) {
		put_as_of(records[i / 2], CREATED);
		word_is(step("mark unknown again", X, 4), "DONE");
		word_is(i % 2 ? step("complete", Y, 2)
			      : step("complete", A, 3), "DONE");
		word_is(step("complete", X, 4), "FENCED");
		put_as_of(records[i / 2], CREATED);
		word_is(step("mark unknown again", X, 4), "DONE");
		word_is(step("complete", X, 4), "DONE");
	}
}

static void
only_a_processing_record_is_renewed_and_by_its_owner_alone(void **state)
{
	(void)state;
	static const struct {
		const char *record, *owner;
		int attempt;
		bool kept;
	} rows[] = {
	    {"none", A, 3, false}, {"P", A, 3, true}, {"P", A, 2, false},
	    {"P", A, 4, false}, {"P", B, 3, false}, {"P expired", A, 3, true},
	    {"P retry", A, 3, true}, {"P asking", B, 3, true},
	    {"P asking", A, 3, false}, {"U", A, 3, false},
	    {"U put back", B, 3, false}, {"C", A, 3, false},
	    {"F", A, 3, false}, {"R", A, 3, false}};
	char before[VALUE_MAX], after[VALUE_MAX];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		put(rows[i].record);
		get_record(before);
		assert_int_equal(
		    renew(rows[i].owner, rows[i].attempt), rows[i].kept);
		get_record(after);
		if (!rows[i].kept) {
			assert_memory_equal(after, before, VALUE_MAX);
			continue;
		}
		/* Only the end of the lease differs. */
		assert_memory_equal(after, before, 42);
		assert_memory_equal(
		    after + 55, before + 55, VALUE_MAX - 55);
		/* strtoll ends there: no owner here begins with a digit. */
		int64_t lease_until = strtoll(after + 42, NULL, 10);
		assert_in_range(lease_until, redis_now() + LEASE - 1000,
		    redis_now() + LEASE);
		ttl_is(RECORD, UNKNOWN_RETENTION);
		assert_true(is_in(LEASES));
		ttl_is(LEASES, LONGEST + SLACK);
	}
}

/* Whoever replays a letter decides nothing about an attempt that is UNKNOWN. */
static void
a_replay_sets_free_what_has_failed_and_nothing_else(void **state)
{
	(void)state;
	char before[VALUE_MAX], after[VALUE_MAX];
	const char *name;
	for (size_t i = 0; (name = setup_name(i)) != NULL; i++) {
		bool failed = strcmp(name, "F") == 0;
		print_message("# %s\n", name);
		put(name);
		get_record(before);
		word_is(operate("replay"), failed ? "DONE"
			: strcmp(name, "none") == 0 ? "GONE"
						     : "FENCED");
		get_record(after);
		assert_int_equal(
		    memcmp(after, before, VALUE_MAX) != 0, failed);
	}
	put("F");
	word_is(operate("replay"), "DONE");
	head_has(2, "R-000003000000");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_BOTH(a_claim_gets_what_the_record_says),
	    IN_BOTH(
		another_request_is_a_mismatch_unless_the_key_is_free),
	    IN_BOTH(the_attempt_that_would_be_one_too_many_fails),
	    IN_BOTH(
		where_redis_is_not_to_be_trusted_nothing_new_is_executed),
	    IN_BOTH(after_its_clock_jumped_nothing_is_asked_about),
	    IN_BOTH(only_who_holds_it_or_a_late_owner_completes),
	    IN_BOTH(an_outcome_makes_a_record_again_that_is_gone),
	    IN_BOTH(a_failed_record_welcomes_the_truth_of_its_last_attempt),
	    IN_BOTH(only_who_holds_it_or_a_late_owner_releases),
	    IN_BOTH(
		what_was_not_sent_leaves_an_earlier_unknown_attempt_unknown),
	    IN_BOTH(a_claim_is_given_back_whatever_its_attempt),
	    IN_BOTH(only_who_holds_it_makes_it_unknown),
	    IN_BOTH(a_doubt_makes_a_record_again_that_is_gone),
	    IN_BOTH(an_outcome_goes_before_what_was_an_attempt_before),
	    IN_BOTH(the_truth_about_the_attempts_before_stays_welcome),
	    IN_BOTH(
		only_a_processing_record_is_renewed_and_by_its_owner_alone),
	    IN_BOTH(a_replay_sets_free_what_has_failed_and_nothing_else),
	};
	return cmocka_run_group_tests_name(
	    "states", tests, start_redis, stop_redis);
}
