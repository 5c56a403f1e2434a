/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/steps.h"

/* What a record says for people: where its requests came from. */

/* Of ROUTE, METHOD, PATH, gateway, label and the first request's id. */
#define CAME(gateway, id) "charges\tPOST\t/v1\t" gateway "\t=l\t" id

static void
a_record_says_where_it_comes_from(void **state)
{
	(void)state;
	put("none");
	claimed = CAME("gw1", "one");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	head_has(77, PRINT "\n" CAME("gw1", "one") "\n");
	word_is(step("mark unknown", A, 1), "DONE");
	/* Another attempt, of another request on another gateway. */
	claimed = CAME("gw2", "two");
	word_is(claim(B, PRINT, "retry", 5, 0), "OURS");
	head_has(77, PRINT "\n" CAME("gw2", "one") "\n");
	word_is(step("complete", B, 2), "DONE");
	head_has(77, PRINT "\n" CAME("gw2", "one") "\n");
	claimed = NULL;
}

static void
what_operators_did_outlives_a_release(void **state)
{
	char value[VALUE_MAX];
	(void)state;
	put("none");
	claimed = CAME("gw1", "one");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	word_is(step("mark unknown", A, 1), "DONE");
	word_is(operate("release"), "DONE");
	head_has(77, NOBODY "\n" CAME("gw1", "one") "\t");
	get_record(value);
	assert_non_null(strstr(value, "r" NOTE "\n"));
	/* A new first request. */
	claimed = CAME("gw2", "two");
	word_is(claim(B, PRINT, "hold", 5, 0), "OURS");
	head_has(77, PRINT "\n" CAME("gw2", "two") "\t");
	word_is(step("mark unknown", B, 2), "DONE");
	word_is(operate("complete"), "DONE");
	get_record(value);
	assert_non_null(strstr(value, "r" NOTE " "));
	assert_non_null(strstr(value, "c" NOTE "\np\n"));
	claimed = NULL;
}

/* created, as records have it. */
static void
came_at(char digits[14])
{
	char value[VALUE_MAX];
	get_record(value);
	memcpy(digits, value + 16, 13);
	digits[13] = '\0';
}

/* Waits until Redis' clock is beyond that. */
static void
let_pass(const char *digits)
{
	while (redis_now() <= strtoll(digits, NULL, 10))
		continue;
}

/* Another attempt of B, by that request, which the upstream releases. */
static void
send_in_vain(const char *from, int attempt)
{
	char created[14];
	claimed = from;
	word_is(claim(B, OTHER_PRINT, "retry", 5, 0), "OURS");
	came_at(created);
	let_pass(created);
	word_is(step("release sent", B, attempt), "DONE");
}

static void
a_failed_record_says_what_was_sent(void **state)
{
	char first[14], now[14];
	(void)state;
	put("none");
	claimed = CAME("gw1", "one");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	came_at(first);
	let_pass(first);
	word_is(step("release sent", A, 1), "DONE");
	head_has(16, first);
	head_has(77, NOBODY "\n" CAME("gw1", "one") "\n");
	send_in_vain(CAME("gw2", "two"), 2);
	head_has(16, first);
	head_has(77, NOBODY "\n" CAME("gw2", "one") "\n");
	/* While it is executed, a record is of that request. */
	claimed = CAME("gw3", "three");
	word_is(claim(X, PRINT, "retry", 5, 0), "OURS");
	head_has(77, PRINT "\n" CAME("gw3", "three") "\n");
	came_at(now);
	assert_true(strcmp(now, first) > 0);
	redisReply *reply = claim(B, OTHER_PRINT, "retry", 3, 0);
	word_is(reply, "MISMATCH");
	word_is(step("mark unknown", X, 3), "DONE");
	head_has(77, PRINT "\n" CAME("gw3", "three") "\n");
	claimed = CAME("gw4", "four");
	for (int i = 0; i < 2; i++) {
		reply = claim(B, PRINT, "retry", 3, 0);
		assert_string_equal(reply->element[4]->str, "one");
		word_is(reply, "FAILED");
		head_has(2, "F-000003000003");
		head_has(16, first);
		head_has(77, PRINT "\n" CAME("gw3", "one") "\n");
	}
	claimed = NULL;
}

static void
what_is_refused_at_once_is_not_what_was_sent(void **state)
{
	(void)state;
	put("none");
	send_in_vain(CAME("gw1", "one"), 1);
	send_in_vain(CAME("gw2", "two"), 2);
	claimed = CAME("gw3", "three");
	redisReply *reply = claim(A, PRINT, "hold", 2, 0);
	assert_string_equal(reply->element[4]->str, "one");
	word_is(reply, "FAILED");
	head_has(77, PRINT "\n" CAME("gw2", "one") "\n");
	/* After an operator's release all begins anew. */
	word_is(operate("release"), "DONE");
	send_in_vain(CAME("gw4", "four"), 3);
	word_is(claim(A, PRINT, "hold", 1, 0), "FAILED");
	head_has(77, PRINT "\n" CAME("gw4", "four") "\t");
	claimed = NULL;
}

static void
what_was_not_sent_is_not_remembered(void **state)
{
	(void)state;
	put("none");
	claimed = CAME("gw1", "one");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	word_is(step("release unsent", A, 1), "DONE");
	head_has(77, NOBODY "\n\n");
	send_in_vain(CAME("gw2", "two"), 2);
	claimed = CAME("gw3", "three");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	word_is(step("release unsent", A, 3), "DONE");
	word_is(claim(A, PRINT, "hold", 1, 0), "FAILED");
	head_has(77, PRINT "\n" CAME("gw3", "two") "\n");
	claimed = NULL;
}

/* People find it, though it does not count. */
static void
what_was_refused_before_any_work_was_sent(void **state)
{
	char first[14];
	(void)state;
	put("none");
	claimed = CAME("gw1", "one");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	came_at(first);
	let_pass(first);
	word_is(step("release refused", A, 1), "DONE");
	head_has(2, "R-000001000000");
	head_has(16, first);
	head_has(77, NOBODY "\n" CAME("gw1", "one") "\n");
	/* Nothing is sent of the next one. */
	claimed = CAME("gw2", "two");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	word_is(step("release unsent", A, 2), "DONE");
	head_has(2, "R-000002000000");
	head_has(16, first);
	send_in_vain(CAME("gw3", "three"), 3);
	head_has(2, "R-000003000001");
	head_has(16, first);
	head_has(77, NOBODY "\n" CAME("gw3", "one") "\n");
	redisReply *reply = claim(A, PRINT, "hold", 1, 0);
	assert_string_equal(reply->element[4]->str, "one");
	word_is(reply, "FAILED");
	/* After an operator's release all begins anew. */
	word_is(operate("release"), "DONE");
	send_in_vain(CAME("gw4", "four"), 4);
	word_is(claim(A, PRINT, "hold", 1, 0), "FAILED");
	head_has(77, PRINT "\n" CAME("gw4", "four") "\t");
	claimed = NULL;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_BOTH(a_record_says_where_it_comes_from),
	    IN_BOTH(what_operators_did_outlives_a_release),
	    IN_BOTH(a_failed_record_says_what_was_sent),
	    IN_BOTH(what_is_refused_at_once_is_not_what_was_sent),
	    IN_BOTH(what_was_not_sent_is_not_remembered),
	    IN_BOTH(what_was_refused_before_any_work_was_sent),
	};
	return cmocka_run_group_tests_name(
	    "provenance", tests, start_redis, stop_redis);
}
