/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "lua/steps.h"

/* The attempts before the present one, of which nobody knows what became. */

/* Nobody knows yet whether anything is sent of the attempt after it. */
static void
an_attempt_of_which_nothing_was_sent_leaves_no_trace(void **state)
{
	(void)state;
	put("U");
	word_is(claim(B, PRINT, "retry", 5, 0), "OURS");
	head_has(2, "P-000004000003");
	redisReply *reply = step("complete", A, 3);
	assert_string_equal(reply->element[4]->str, "P");
	assert_string_equal(reply->element[5]->str, "BEFORE");
	word_is(reply, "FENCED");
	word_is(step("release unsent", B, 4), "DONE");
	head_has(2, "Ut000003000002");
	head_has(55, A);
	word_is(step("complete", A, 3), "DONE");
	head_has(2, "C-000003");
}

/* Each of the attempts before is what it was, one after the other. */
static void
several_attempts_of_which_nothing_was_sent_leave_no_trace(void **state)
{
	(void)state;
	put("P expired");
	word_is(claim(B, PRINT, "retry", 9, 0), "OURS");
	word_is(step("mark unknown", B, 4), "DONE");
	word_is(claim(X, PRINT, "retry", 9, 0), "OURS");
	word_is(step("give back", X, 0), "DONE");
	head_has(2, "Ub000004000003");
	head_has(55, B);
	word_is(step("release unsent", B, 4), "DONE");
	head_has(2, "Ul000003000002");
	head_has(55, A);
}

/*
 * Whoever came after A knows nothing either: A's truth is all there is.  B was
 * not sent, but the step that says so comes when X has its place.
 */
static void
the_truth_about_an_attempt_before_is_welcome(void **state)
{
	(void)state;
	char before[VALUE_MAX];
	put("P expired");
	word_is(claim(B, PRINT, "retry", 9, 0), "OURS");
	word_is(step("mark unknown", B, 4), "DONE");
	word_is(claim(X, PRINT, "retry", 9, 0), "OURS");
	redisReply *reply = step("complete", A, 3);
	assert_string_equal(reply->element[5]->str, "BEFORE");
	word_is(reply, "FENCED");
	word_is(step("release unsent", B, 4), "FENCED");
	word_is(step("give back", X, 0), "DONE");
	head_has(2, "Ub000004000003");
	/* Not that of anybody else, or of another attempt. */
	get_record(before);
	outcome_is(step("complete", Y, 3), "FENCED =", before);
	outcome_is(step("complete", B, 3), "FENCED =", before);
	outcome_is(step("complete", A, 2), "FENCED =", before);
	outcome_is(step("complete", A, 4), "FENCED =", before);
	outcome_is(step("complete", A, 3), "DONE C3-", before);
	get_record(before);
	outcome_is(step("complete", A, 3), "DONE =", before);
	outcome_is(step("complete", B, 4), "FENCED =", before);
}

static void
a_failed_record_welcomes_the_truth_about_an_attempt_before(void **state)
{
	(void)state;
	char before[VALUE_MAX];
	put("P expired");
	word_is(claim(B, PRINT, "retry", 3, 0), "OURS");
	word_is(step("mark unknown", B, 4), "DONE");
	word_is(claim(X, PRINT, "retry", 3, 0), "FAILED");
	get_record(before);
	outcome_is(step("complete", A, 3), "DONE C3-", before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_BOTH(an_attempt_of_which_nothing_was_sent_leaves_no_trace),
	    IN_BOTH(
		several_attempts_of_which_nothing_was_sent_leave_no_trace),
	    IN_BOTH(the_truth_about_an_attempt_before_is_welcome),
	    IN_BOTH(
		a_failed_record_welcomes_the_truth_about_an_attempt_before),
	};
	return cmocka_run_group_tests_name(
	    "before", tests, start_redis, stop_redis);
}
