/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lua/steps.h"
#include "store/record/script.h"

/* lua/hold.lua, step by step, also where a clock was set. */
#define HOLDS "t:{7}:holds:source:s"
#define ONE "0123456789abcdef0123456789abcdef"
#define TWO "fedcba9876543210fedcba9876543210"

enum { KEEP_MS = 100000, MOST_MS = 20000 };

static redisReply *
hold(const char *act, const char *name, int64_t held_ms)
{
	char keep[24], held[24], most[24];
	snprintf(keep, sizeof keep, "%d", KEEP_MS);
	snprintf(held, sizeof held, "%" PRId64, held_ms);
	snprintf(most, sizeof most, "%d", MOST_MS);
	const char *words[] = {"EVAL", script_text(SCRIPT_hold).ptr, "1", HOLDS,
	    act, name, keep, "!source:s", held, most, "00112233445566aa"};
	redisReply *reply = redisCommandArgv(
	    redis->client, sizeof words / sizeof *words, words, NULL);
	assert_non_null(reply);
	return reply;
}

/* For so long it has been held, give or take how long this test takes. */
static void
held_is(redisReply *reply, int64_t least_ms)
{
	assert_int_equal(reply->elements, 5);
	assert_in_range(
	    atoll(reply->element[4]->str), least_ms, least_ms + 10000);
	word_is(reply, "DONE");
}

static void
looked_is(const char *most, const char *names)
{
	redisReply *reply = hold("look", most, 0);
	assert_string_equal(reply->element[4]->str, names);
	word_is(reply, "DONE");
}

static void
what_is_noted_keeps_its_time_until_it_is_dropped(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	looked_is("10", "");
	word_is(hold("find", ONE, 0), "GONE");
	word_is(hold("drop", ONE, 0), "DONE");
	assert_int_equal(redis_integer(redis, "DBSIZE"), 0);
	held_is(hold("note", ONE, 5000), 5000);
	held_is(hold("note", ONE, 0), 5000);
	held_is(hold("note", ONE, 9000), 5000);
	held_is(hold("find", ONE, 0), 5000);
	word_is(hold("find", TWO, 0), "GONE");
	looked_is("10", ONE);
	word_is(hold("drop", ONE, 0), "DONE");
	word_is(hold("find", ONE, 0), "GONE");
	assert_int_equal(redis_integer(redis, "DBSIZE"), 0);
}

static void
all_are_listed_or_none(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	held_is(hold("note", ONE, 0), 0);
	held_is(hold("note", TWO, 5000), 5000);
	looked_is("2", TWO ONE);
	word_is(hold("look", "1", 0), "GONE");
}

static void
what_nobody_notes_again_is_forgotten(void **state)
{
	char since[24];
	(void)state;
	redis_just(redis, "FLUSHALL");
	snprintf(since, sizeof since, "%" PRId64,
	    redis_now() - KEEP_MS - 1000);
	redis_just(redis, "ZADD " HOLDS " %s " ONE, since);
	redis_just(redis, "ZADD " HOLDS " %s " TWO, since);
	/* Somebody still keeps it; longer than that nobody need know. */
	held_is(hold("note", TWO, 0), MOST_MS);
	looked_is("10", TWO);
	assert_in_range(
	    redis_integer(redis, "PTTL " HOLDS), KEEP_MS - 10000, KEEP_MS);
}

static void
a_clock_that_was_set_back_makes_it_begin_anew(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	redis_just(redis, "ZADD " HOLDS " 9000000000000 " ONE);
	held_is(hold("find", ONE, 0), 0);
	held_is(hold("note", ONE, 0), 0);
	redisReply *reply = redis_do(redis, "ZSCORE " HOLDS " " ONE);
	assert_in_range(atoll(reply->str), redis_now() - 10000, redis_now());
	freeReplyObject(reply);
}

static void
a_full_redis_does_not_stop_it(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	redis_just(redis, "CONFIG SET maxmemory 1");
	held_is(hold("note", ONE, 0), 0);
	held_is(hold("find", ONE, 0), 0);
	word_is(hold("drop", ONE, 0), "DONE");
	redis_just(redis, "CONFIG SET maxmemory 0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_noted_keeps_its_time_until_it_is_dropped),
	    cmocka_unit_test(all_are_listed_or_none),
	    cmocka_unit_test(what_nobody_notes_again_is_forgotten),
	    cmocka_unit_test(a_clock_that_was_set_back_makes_it_begin_anew),
	    cmocka_unit_test(a_full_redis_does_not_stop_it),
	};
	return cmocka_run_group_tests_name(
	    "holds", tests, start_redis, stop_redis);
}
