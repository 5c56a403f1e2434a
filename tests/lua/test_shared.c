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
#include "store/record/script.h"

/*
 * The scripts of what gateways share of a source (src/messages/shared/), step
 * by step, also where a clock was set and where values are damaged.
 */
#define LEADER "t:{7}:leadership:source:s"
#define PAUSE "t:{7}:pause:source:s"
#define FLOORS "t:{7}:floor:source:s"
#define LEASE "5000"

/* Runs a script; argv ends with NULL; the caller frees the reply. */
static redisReply *
run(enum script script, int n_keys, const char *const *argv)
{
	const char *words[32] = {"EVAL", script_text(script).ptr};
	char count[8];
	int n = 2;
	snprintf(count, sizeof count, "%d", n_keys);
	words[n++] = count;
	while (*argv != NULL)
		words[n++] = *argv++;
	words[n++] = "00112233445566aa";
	redisReply *reply = redisCommandArgv(redis->client, n, words, NULL);
	assert_non_null(reply);
	return reply;
}

static redisReply *
lead(const char *act, const char *token, const char *number)
{
	return run(SCRIPT_leadership, 1,
	    (const char *const[]){LEADER, act, token, LEASE, number,
		"!source:s", NULL});
}

/* The number that comes with the word. */
static int64_t
number_of(redisReply *reply, const char *word)
{
	int64_t number = atoll(reply->element[4]->str);
	word_is(reply, word);
	return number;
}

static int64_t
renewed(const char *token, int64_t number)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, number);
	return number_of(lead("take", token, text), "OURS");
}

static void
a_term_grows_whatever_the_clock_was_set_to(void **state)
{
	(void)state;
	char value[80];
	/* Redis' clock was years ahead once. */
	snprintf(value, sizeof value, "9000000000000 %" PRId64 " " A,
	    redis_now() - 1);
	redis_just(redis, "SET " LEADER " %s", value);
	int64_t number = number_of(lead("take", B, "0"), "OURS");
	assert_true(number == INT64_C(9000000000001));
	/* A holder that asks anew, and not for what it has, gets a new one. */
	assert_true(number_of(lead("take", B, "0"), "OURS") == number + 1);
	assert_true(renewed(B, number + 1) == number + 1);
	assert_true(renewed(B, number) == number + 2);
}

static void
a_lease_of_a_clock_that_was_set_back_ends(void **state)
{
	(void)state;
	redis_just(redis, "SET " LEADER " %s", "5 9000000000000 " A);
	assert_int_equal(
	    number_of(lead("take", B, "0"), "IN_FLIGHT"), 5000);
	/* From then on it counts down. */
	redisReply *value = redis_do(redis, "GET " LEADER);
	assert_in_range(atoll(value->str + 2), redis_now(),
	    redis_now() + 5000);
	freeReplyObject(value);
	assert_true(renewed(A, 5) == 5);
}

static void
a_damaged_leadership_is_nobodys(void **state)
{
	(void)state;
	static const char *const damage[] = {
	    "", "x", "1 2", ("1 x " A), "-1 2 "};
	for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
		redis_just(redis, "SET " LEADER " %s", damage[i]);
		assert_true(number_of(lead("take", A, "0"), "OURS") > 1);
	}
	assert_true(redis_integer(redis, "PTTL " LEADER) > 0);
}

/* --- a pause --- */

static redisReply *
pause_as(const char *act, const char *who, const char *note)
{
	return run(SCRIPT_pause, 1,
	    (const char *const[]){PAUSE, act, who, note, "!source:s", NULL});
}

/* They are small, and what they decide must be kept. */
static void
a_full_redis_does_not_stop_them(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	redis_just(redis, "CONFIG SET maxmemory 1");
	number_of(lead("take", A, "0"), "OURS");
	word_is(pause_as("pause", "", ""), "DONE");
	redis_just(redis, "CONFIG SET maxmemory 0");
}

/* --- whether a witness may be believed --- */

#define TRUST "t:{7}:trust:witness:r"

static redisReply *
trust_as(const char *act, const char *what, const char *more)
{
	return run(SCRIPT_trust, 1,
	    (const char *const[]){TRUST, act, what, more, "!witness:r", NULL});
}

/* Its answer, and the last proof; the end of all trust is there, or not. */
static void
trust_is(redisReply *reply, const char *word, const char *proven, bool ended)
{
	assert_string_equal(reply->element[4]->str, proven);
	assert_int_equal(strcmp(reply->element[5]->str, "0") != 0, ended);
	word_is(reply, word);
}

static void
trust_ends_for_all_until_an_operator_speaks(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	trust_is(trust_as("look", "a", "1"), "DONE", "0", false);
	trust_is(trust_as("prove", "a", "7"), "DONE", "7", false);
	trust_is(trust_as("prove", "a", "6"), "GONE", "7", false);
	/* That is said of another witness, and not of this one. */
	trust_is(trust_as("prove", "b", "9"), "GONE", "7", false);
	trust_is(trust_as("trust", "anna", "x"), "GONE", "7", false);
	trust_is(trust_as("end", "absent: k", ""), "DONE", "0", true);
	trust_is(trust_as("prove", "a", "9"), "GONE", "0", true);
	trust_is(trust_as("end", "broken: k", ""), "DONE", "0", true);
	redisReply *reply = trust_as("look", "a", "1");
	assert_string_equal(reply->element[8]->str, "absent: k");
	word_is(reply, "DONE");
	reply = trust_as("trust", "anna\nb", "it\nis gone");
	/* What was sent before that is not asked about. */
	assert_int_equal(strtoll(reply->element[6]->str, NULL, 10),
	    reply->element[2]->integer);
	word_is(reply, "DONE");
	reply = redis_do(redis, "GET " TRUST);
	assert_non_null(strstr(reply->str, "\n\nanna b\nit\nis gone"));
	freeReplyObject(reply);
	trust_is(trust_as("prove", "a", "9"), "DONE", "9", false);
	trust_is(trust_as("look", "b", ""), "DONE", "0", false);
}

/* What a payment needs is as old as it was first seen, of that witness. */
static void
a_witness_is_as_old_as_it_was_first_seen(void **state)
{
	(void)state;
	static const char *const enforced[] = {"", "1", "", "1", "0", ""};
	static const bool is[] = {false, true, true, true, false, false};
	redis_just(redis, "FLUSHALL");
	for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
		redisReply *reply = trust_as("look", "a", enforced[i]);
		assert_int_equal(strlen(reply->element[6]->str), 13);
		assert_int_equal(
		    strcmp(reply->element[7]->str, "0") != 0, is[i]);
		word_is(reply, "DONE");
	}
	redis_just(redis, "SET " TRUST " x");
	trust_is(trust_as("look", "a", "1"), "DONE", "0", true);
}

/* --- events that a relay keeps --- */

#define KEPT "t:{7}:kept:relay:r"
#define RELAY_LEADER "t:{7}:leadership:relay:r"

static redisReply *
kept(const char *const *words)
{
	const char *argv[16] = {
	    KEPT, KEPT ":bodies", KEPT ":ran", RELAY_LEADER};
	for (int i = 0; words[i] != NULL; i++)
		argv[i + 4] = words[i];
	return run(SCRIPT_kept, 4, argv);
}
#define KEEP(...) kept((const char *const[]){__VA_ARGS__, NULL})

static void
lead_relay(const char *token)
{
	freeReplyObject(run(SCRIPT_leadership, 1,
	    (const char *const[]){RELAY_LEADER, "take", token, LEASE, "0",
		"!relay:r", NULL}));
}

static void
an_event_is_kept_once_and_by_who_leads(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	word_is(KEEP("put", A, "7", "1-2-3", "ab", "{}"), "FENCED");
	lead_relay(A);
	word_is(KEEP("put", B, "7", "1-2-3", "ab", "{}"), "FENCED");
	word_is(KEEP("try", B, "7", "1-2-3"), "FENCED");
	word_is(KEEP("try", A, "7", "1-2-3"), "DONE");
	word_is(KEEP("put", A, "7", "1-2-3", "ab", "{}"), "DONE");
	word_is(KEEP("put", A, "8", "1-2-3", "ab", "another"), "DONE");
	redisReply *reply = KEEP("try", A, "8", "1-2-3");
	assert_string_equal(reply->element[4]->str, "={}");
	word_is(reply, "DONE");
}

static void
kept_is(const char *ran, const char *event)
{
	redisReply *reply = KEEP("list");
	assert_int_equal(reply->elements, event != NULL ? 7 : 5);
	assert_string_equal(reply->element[4]->str, ran);
	if (event != NULL) {
		assert_string_equal(reply->element[5]->str, "1-2-3");
		assert_string_equal(reply->element[6]->str, event);
	}
	word_is(reply, "DONE");
}

static void
tries_and_time_are_kept_with_events_until_they_are_dropped(void **state)
{
	(void)state;
	kept_is("8", "7 1 2 ab");
	redisReply *reply = KEEP("try", A, "20", "9-9-9", "1-2-3");
	assert_string_equal(reply->element[4]->str, "-");
	assert_string_equal(reply->element[5]->str, "={}");
	word_is(reply, "DONE");
	kept_is("20", "7 2 2 ab");
	word_is(KEEP("put", A, "31", "9-9-9", "ab", "{}"), "DONE");
	word_is(KEEP("drop", "9-9-9"), "DONE");
	kept_is("31", "7 2 2 ab");
	word_is(KEEP("drop", "1-2-3"), "DONE");
	word_is(KEEP("drop", "1-2-3"), "DONE");
	kept_is("0", NULL);
	/* Time goes with the last event. */
	word_is(KEEP("try", A, "40", "1-2-3"), "DONE");
	kept_is("0", NULL);
	assert_int_equal(redis_integer(redis, "EXISTS " KEPT ":ran"), 0);
}

static redisReply *
floors(const char *const *words)
{
	const char *argv[24] = {FLOORS};
	for (int i = 0; words[i] != NULL; i++)
		argv[i + 1] = words[i];
	return run(SCRIPT_floor, 1, argv);
}
#define FLOOR(...) floors((const char *const[]){__VA_ARGS__, NULL})

static void
floor_is(const char *part, const char *floor, const char *decided)
{
	redisReply *reply = FLOOR("look", part);
	assert_string_equal(reply->element[4]->str, floor);
	assert_string_equal(reply->element[5]->str, decided);
	word_is(reply, "DONE");
}

static void
a_floor_only_grows_unless_it_is_of_something_new(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	floor_is("t/0", "", "");
	word_is(FLOOR("keep", "t/0", "9 a", "0", "t/1", "5 b", "0"), "DONE");
	word_is(FLOOR("keep", "t/0", "10 c", "0", "t/1", "4 d", "0"), "DONE");
	floor_is("t/0", "10 c", "");
	floor_is("t/1", "5 b", "");
	/* Beyond what a double can tell apart. */
	word_is(FLOOR("keep", "t/0", "9007199254740993 e", "0"), "DONE");
	word_is(FLOOR("keep", "t/0", "9007199254740992 f", "0"), "DONE");
	floor_is("t/0", "9007199254740993 e", "");
	word_is(FLOOR("keep", "t/0", "2 g", "1"), "DONE");
	floor_is("t/0", "2 g", "");
	/* What is damaged is in nobody's way. */
	redis_just(redis, "HSET " FLOORS " t/2 %s", "nothing");
	word_is(FLOOR("keep", "t/2", "0 h", "0"), "DONE");
	floor_is("t/2", "0 h", "");
}

static void
what_is_decided_of_a_part_that_stands_is_used_once(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	word_is(FLOOR("rewind"), "GONE");
	word_is(FLOOR("keep", "t/0", "9 a", "0", "t/1", "5 b", "0"), "DONE");
	/* None stands. */
	word_is(FLOOR("rewind"), "GONE");
	word_is(FLOOR("resume", "t/0"), "GONE");
	word_is(FLOOR("rewind", "t/2"), "GONE");
	word_is(FLOOR("stand", "t/0", "t/3"), "DONE");
	word_is(FLOOR("resume", "t/0", "t/1"), "GONE");
	word_is(FLOOR("resume", "t/0 unproven"), "GONE");
	floor_is("t/0", "9 a", "");
	redisReply *reply = FLOOR("resume");
	assert_int_equal(reply->elements, 6);
	word_is(reply, "DONE");
	floor_is("t/0", "9 a", "resume");
	floor_is("t/1", "5 b", "");
	floor_is("t/3", "", "resume");
	/* The last word counts, also of one that is read. */
	word_is(FLOOR("rewind", "t/0", "t/1"), "DONE");
	floor_is("t/0", "9 a", "rewind");
	floor_is("t/1", "5 b", "rewind");
	/* Who reads on has not used it. */
	word_is(FLOOR("keep", "t/1", "6 c", "0"), "DONE");
	floor_is("t/1", "6 c", "rewind");
	word_is(FLOOR("keep", "t/0", "0 d", "1", "t/1", "0 e", "1"), "DONE");
	floor_is("t/0", "0 d", "");
	floor_is("t/1", "0 e", "");
	word_is(FLOOR("resume", "t/0"), "GONE");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_term_grows_whatever_the_clock_was_set_to),
	    cmocka_unit_test(a_lease_of_a_clock_that_was_set_back_ends),
	    cmocka_unit_test(a_damaged_leadership_is_nobodys),
	    cmocka_unit_test(a_full_redis_does_not_stop_them),
	    cmocka_unit_test(trust_ends_for_all_until_an_operator_speaks),
	    cmocka_unit_test(a_witness_is_as_old_as_it_was_first_seen),
	    cmocka_unit_test(an_event_is_kept_once_and_by_who_leads),
	    cmocka_unit_test(
		tries_and_time_are_kept_with_events_until_they_are_dropped),
	    cmocka_unit_test(
		a_floor_only_grows_unless_it_is_of_something_new),
	    cmocka_unit_test(
		what_is_decided_of_a_part_that_stands_is_used_once),
	};
	return cmocka_run_group_tests_name(
	    "shared", tests, start_redis, stop_redis);
}
