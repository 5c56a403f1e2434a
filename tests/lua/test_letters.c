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
#include "store/record/script.h"

/*
 * The scripts of letters, step by step: each act in each state, lanes and their
 * order, two owners, leases that are over, and what was damaged.
 */
#define BEGINNING "t:{7}:letter:source:s:"
#define LANE_BEGINNING "t:{7}:lane:source:s:"
#define LANES "t:{7}:lanes:source:s"
#define LETTERS "t:{7}:letters:source:s"
#define BEHIND "t:{7}:behind:source:s"
#define WRITTEN "t:{7}:written:source:s"
#define BEGUN "t:{7}:begun:source:s"
#define ONE "11111111111111111111111111111111"
#define TWO "22222222222222222222222222222222"
#define THREE "33333333333333333333333333333333"
#define LANE "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ALONE ""

/* Places in the answer (letter_keys.lua), behind its first four. */
enum { AT_DEAD = 4, AT_BEHIND, AT_HAS_LANE, AT_ID, AT_STATE, AT_ACT, AT_LANE,
	AT_PUT, AT_PARKED, AT_REASON, AT_HEAD, AT_BODY };

static redisReply *
run(enum script script, const char *const *argv)
{
	const char *words[32] = {"EVAL", script_text(script).ptr, "7",
	    BEGINNING, LANE_BEGINNING, LANES, LETTERS, BEHIND, WRITTEN, BEGUN};
	int n = 10;
	while (*argv != NULL)
		words[n++] = *argv++;
	words[n++] = "00112233445566aa";
	redisReply *reply = redisCommandArgv(redis->client, n, words, NULL);
	assert_non_null(reply);
	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s", reply->str);
	return reply;
}

static redisReply *
put_letter(const char *act, const char *id, const char *lane)
{
	return run(SCRIPT_letter_put,
	    (const char *const[]){act, id, lane, "refused", "the head",
		"the body", "!source:s", "9999999999999", NULL});
}

static redisReply *
does(const char *act, const char *id, const char *lane, const char *owner,
    const char *purpose)
{
	return run(SCRIPT_letter,
	    (const char *const[]){act, id, lane, "!source:s", owner, purpose,
		strcmp(act, "put_back") ? NULL : "exhausted", "another head",
		NULL});
}

/* "": there is none, or no letter. */
static void
text_is(const redisReply *reply, size_t at, const char *text)
{
	if (*text == '\0' && at >= reply->elements)
		return;
	assert_in_range(at, 0, reply->elements - 1);
	assert_string_equal(reply->element[at]->str, text);
}

/* The verdict, and the state that comes with it; frees the reply. */
static void
says(redisReply *reply, const char *word, const char *state)
{
	text_is(reply, AT_STATE, state);
	word_is(reply, word);
}

static void
counts_are(long long dead, long long behind, long long lanes)
{
	assert_int_equal(redis_integer(redis, "ZCARD " LETTERS), dead);
	assert_int_equal(redis_integer(redis, "ZCARD " BEHIND), behind);
	assert_int_equal(redis_integer(redis, "ZCARD " LANES), lanes);
}

/* A letter in that state, which A has where it is begun; id is ONE, alone. */
static void
make(const char *state)
{
	redis_just(redis, "FLUSHALL");
	if (!strcmp(state, "none"))
		return;
	says(put_letter("first", ONE, ALONE), "DONE", "written");
	if (!strcmp(state, "written"))
		return;
	says(does("confirm", ONE, ALONE, "", ""), "DONE", "confirmed");
	if (!strcmp(state, "asked"))
		says(does("ask", ONE, ALONE, "", "drop"), "DONE", "begun");
	else if (strcmp(state, "confirmed") != 0)
		says(does("begin", ONE, ALONE, A, "replay"), "DONE",
		    "confirmed");
	if (!strcmp(state, "over")) {
		redis_just(redis, "HSET " BEGINNING ONE " until 5");
		redis_just(redis, "ZADD " BEGUN " 5 " ONE);
	}
}

/* --- each act in each state --- */

static const struct step_of {
	const char *state, *act, *owner, *purpose;
	const char *word, *after; /* after "": there is none */
} steps[] = {
    {"none", "find", "", "", "GONE", ""},
    {"none", "confirm", "", "", "GONE", ""},
    {"none", "begin", A, "replay", "GONE", ""},
    {"none", "ask", "", "replay", "GONE", ""},
    {"none", "renew", A, "", "GONE", ""},
    {"none", "put_back", A, "", "GONE", ""},
    {"none", "end", A, "", "GONE", ""},
    {"written", "find", "", "", "DONE", "written"},
    {"written", "confirm", "", "", "DONE", "confirmed"},
    {"written", "confirm", "", "drop", "DONE", "begun"},
    {"written", "begin", A, "replay", "REFUSED", "written"},
    {"written", "begin", A, "drop", "REFUSED", "written"},
    {"written", "ask", "", "drop", "REFUSED", "written"},
    {"written", "renew", A, "", "FENCED", "written"},
    {"written", "put_back", A, "", "FENCED", "written"},
    {"written", "end", A, "", "FENCED", "written"},
    {"confirmed", "find", "", "", "DONE", "confirmed"},
    {"confirmed", "confirm", "", "", "DONE", "confirmed"},
    {"confirmed", "confirm", "", "drop", "DONE", "begun"},
    {"confirmed", "begin", A, "replay", "DONE", "begun"},
    {"confirmed", "begin", A, "drop", "DONE", "begun"},
    {"confirmed", "ask", "", "replay", "DONE", "begun"},
    {"confirmed", "renew", A, "", "FENCED", "confirmed"},
    {"confirmed", "put_back", A, "", "FENCED", "confirmed"},
    {"confirmed", "end", A, "", "FENCED", "confirmed"},
    {"asked", "confirm", "", "", "DONE", "begun"},
    {"asked", "confirm", "", "drop", "DONE", "begun"},
    {"asked", "begin", A, "drop", "DONE", "begun"},
    {"asked", "begin", A, "replay", "REFUSED", "begun"},
    {"asked", "ask", "", "drop", "DONE", "begun"},
    {"asked", "ask", "", "replay", "DONE", "begun"},
    {"asked", "renew", A, "", "FENCED", "begun"},
    {"asked", "put_back", A, "", "FENCED", "begun"},
    {"asked", "end", A, "", "FENCED", "begun"},
    {"begun", "find", "", "", "DONE", "begun"},
    {"begun", "confirm", "", "", "DONE", "begun"},
    {"begun", "confirm", "", "drop", "REFUSED", "begun"},
    {"begun", "begin", A, "replay", "DONE", "begun"},
    {"begun", "begin", B, "replay", "REFUSED", "begun"},
    {"begun", "begin", B, "drop", "REFUSED", "begun"},
    {"begun", "ask", "", "replay", "DONE", "begun"},
    {"begun", "ask", "", "drop", "REFUSED", "begun"},
    {"begun", "renew", A, "", "DONE", "begun"},
    {"begun", "renew", B, "", "FENCED", "begun"},
    {"begun", "put_back", A, "", "DONE", "confirmed"},
    {"begun", "put_back", B, "", "FENCED", "begun"},
    {"begun", "end", A, "", "DONE", ""},
    {"begun", "end", B, "", "FENCED", "begun"},
    {"over", "begin", B, "replay", "DONE", "begun"},
    {"over", "begin", B, "drop", "REFUSED", "begun"},
    {"over", "ask", "", "drop", "REFUSED", "begun"},
    {"over", "renew", A, "", "DONE", "begun"},
    {"over", "put_back", A, "", "DONE", "confirmed"},
    {"over", "end", A, "", "DONE", ""},
};

/*
 * What it has by then; whoever begins it hears whether another one had it
 * before.
 */
static const char *
said_of(const struct step_of *s)
{
	bool begins = !strcmp(s->act, "begin") && !strcmp(s->word, "DONE");
	return begins && strcmp(s->state, "over") != 0 ? "confirmed" : s->after;
}

static void
what_each_act_does_in_each_state(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		const struct step_of *s = &steps[i];
		make(s->state);
		says(does(s->act, ONE, ALONE, s->owner, s->purpose), s->word,
		    said_of(s));
		redisReply *has =
		    redis_do(redis, "HMGET " BEGINNING ONE " state");
		const char *in_redis = has->element[0]->str;
		assert_string_equal(in_redis ? in_redis : "", s->after);
		freeReplyObject(has);
		assert_int_equal(redis_integer(redis, "ZCARD " WRITTEN),
		    !strcmp(s->after, "written"));
		assert_int_equal(redis_integer(redis, "ZCARD " BEGUN),
		    !strcmp(s->after, "begun"));
		counts_are(*s->after != '\0', 0, 0);
		if (*s->after == '\0')
			assert_int_equal(redis_integer(redis, "DBSIZE"), 0);
		else
			assert_int_equal(
			    redis_integer(redis, "PTTL " BEGINNING ONE), -1);
	}
}

/* Whoever did not hear of it does it again. */
static void
each_act_may_be_repeated(void **state)
{
	(void)state;
	make("written");
	says(put_letter("first", ONE, ALONE), "DONE", "written");
	says(does("confirm", ONE, ALONE, "", ""), "DONE", "confirmed");
	says(does("confirm", ONE, ALONE, "", ""), "DONE", "confirmed");
	says(put_letter("behind", ONE, ALONE), "DONE", "confirmed");
	says(does("begin", ONE, ALONE, A, "replay"), "DONE", "confirmed");
	says(does("begin", ONE, ALONE, A, "replay"), "DONE", "confirmed");
	says(does("put_back", ONE, ALONE, A, ""), "DONE", "confirmed");
	says(does("put_back", ONE, ALONE, A, ""), "DONE", "confirmed");
	says(does("put_back", ONE, ALONE, B, ""), "FENCED", "confirmed");
	says(does("begin", ONE, ALONE, B, "drop"), "DONE", "confirmed");
	says(does("put_back", ONE, ALONE, A, ""), "FENCED", "begun");
	says(does("end", ONE, ALONE, B, ""), "DONE", "");
	says(does("end", ONE, ALONE, B, ""), "GONE", "");
	counts_are(0, 0, 0);
}

static void
a_letter_is_what_was_written_and_put_back(void **state)
{
	(void)state;
	make("confirmed");
	redisReply *reply = does("begin", ONE, ALONE, A, "replay");
	text_is(reply, AT_ID, ONE);
	text_is(reply, AT_ACT, "replay");
	text_is(reply, AT_LANE, "");
	text_is(reply, AT_REASON, "refused");
	text_is(reply, AT_HEAD, "the head");
	text_is(reply, AT_BODY, "the body");
	word_is(reply, "DONE");
	says(does("put_back", ONE, ALONE, A, ""), "DONE", "confirmed");
	reply = does("show", ONE, ALONE, "", "");
	text_is(reply, AT_REASON, "exhausted");
	text_is(reply, AT_HEAD, "another head");
	text_is(reply, AT_BODY, "the body");
	word_is(reply, "DONE");
	says(does("show", TWO, ALONE, "", ""), "GONE", "");
}

static void
a_lease_of_a_clock_that_was_set_back_ends(void **state)
{
	(void)state;
	make("begun");
	redis_just(redis, "HSET " BEGINNING ONE " until 9000000000000");
	redis_just(redis, "ZADD " BEGUN " 9000000000000 " ONE);
	redisReply *reply =
	    run(SCRIPT_letters, (const char *const[]){"look", NULL});
	assert_int_equal(reply->element[8]->len, 65);
	word_is(reply, "DONE");
	says(does("begin", ONE, ALONE, B, "replay"), "REFUSED", "begun");
	reply = redis_do(redis, "HMGET " BEGINNING ONE " until");
	assert_in_range(atoll(reply->element[0]->str), redis_now(),
	    redis_now() + LEASE);
	freeReplyObject(reply);
	says(does("renew", ONE, ALONE, A, ""), "DONE", "begun");
}

/* --- lanes --- */

/* Three in their lane; all are confirmed where that is wanted. */
static void
make_lane(bool confirmed)
{
	static const char *const ids[] = {ONE, TWO, THREE};
	redis_just(redis, "FLUSHALL");
	says(put_letter("behind", TWO, LANE), "GONE", "");
	counts_are(0, 0, 0);
	for (size_t i = 0; i < 3; i++) {
		redisReply *reply =
		    put_letter(i == 0 ? "first" : "behind", ids[i], LANE);
		text_is(reply, AT_PARKED, i == 0 ? "" : "1");
		text_is(reply, AT_HAS_LANE, "1");
		says(reply, "DONE", "written");
		if (confirmed)
			says(does("confirm", ids[i], LANE, "", ""), "DONE",
			    "confirmed");
	}
	counts_are(1, 2, 1);
}

/* What an end says comes next. */
static void
end_leads_to(const char *id, const char *owner, const char *next)
{
	redisReply *reply = does("end", id, LANE, owner, "");
	text_is(reply, AT_ID, next);
	if (*next != '\0') {
		text_is(reply, AT_STATE, "begun");
		text_is(reply, AT_ACT, "replay");
		text_is(reply, AT_PARKED, "");
		text_is(reply, AT_HEAD, "the head");
	}
	word_is(reply, "DONE");
}

static void
a_lane_comes_back_in_its_order(void **state)
{
	(void)state;
	make_lane(true);
	says(does("begin", TWO, LANE, A, "replay"), "REFUSED", "confirmed");
	says(does("ask", TWO, LANE, "", "replay"), "REFUSED", "confirmed");
	says(does("begin", ONE, LANE, A, "replay"), "DONE", "confirmed");
	end_leads_to(ONE, A, TWO);
	counts_are(1, 1, 1);
	/* It was not heard of. */
	end_leads_to(ONE, A, TWO);
	says(does("end", ONE, LANE, B, ""), "GONE", "");
	says(does("end", TWO, LANE, B, ""), "FENCED", "begun");
	end_leads_to(TWO, A, THREE);
	end_leads_to(THREE, A, "");
	assert_int_equal(redis_integer(redis, "DBSIZE"), 0);
}

static void
the_first_that_stays_keeps_its_lane(void **state)
{
	(void)state;
	make_lane(true);
	says(does("begin", ONE, LANE, A, "replay"), "DONE", "confirmed");
	says(does("put_back", ONE, LANE, A, ""), "DONE", "confirmed");
	counts_are(1, 2, 1);
	says(does("begin", TWO, LANE, A, "replay"), "REFUSED", "confirmed");
}

static void
the_first_of_a_lane_that_is_there_goes_to_its_end(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	says(put_letter("first", ONE, LANE), "DONE", "written");
	redisReply *reply = put_letter("first", TWO, LANE);
	text_is(reply, AT_PARKED, "1");
	word_is(reply, "DONE");
	reply = put_letter("restore", THREE, LANE);
	text_is(reply, AT_PARKED, "1");
	says(reply, "DONE", "confirmed");
	reply = redis_do(redis, "ZRANGE " LANE_BEGINNING LANE " 0 -1");
	text_is(reply, 0, ONE);
	text_is(reply, 1, TWO);
	text_is(reply, 2, THREE);
	freeReplyObject(reply);
	counts_are(1, 2, 1);
}

static void
a_parked_one_can_be_dropped_and_nothing_else(void **state)
{
	(void)state;
	make_lane(true);
	says(does("ask", TWO, LANE, "", "drop"), "DONE", "begun");
	says(does("begin", TWO, LANE, B, "drop"), "DONE", "confirmed");
	/* The first ends meanwhile: this one is its owner's to end. */
	says(does("begin", ONE, LANE, A, "drop"), "DONE", "confirmed");
	end_leads_to(ONE, A, "");
	counts_are(1, 1, 1);
	end_leads_to(TWO, B, THREE);
	says(does("put_back", THREE, LANE, B, ""), "DONE", "confirmed");
	says(put_letter("behind", TWO, LANE), "DONE", "written");
	says(does("confirm", TWO, LANE, "", ""), "DONE", "confirmed");
	says(does("begin", TWO, LANE, A, "drop"), "DONE", "confirmed");
	end_leads_to(TWO, A, "");
	counts_are(1, 0, 1);
}

/* Its broker has yet to confirm it: then it is anybody's. */
static void
the_next_that_is_not_confirmed_is_begun_when_it_is(void **state)
{
	(void)state;
	make_lane(false);
	says(does("confirm", ONE, LANE, "", ""), "DONE", "confirmed");
	says(does("begin", ONE, LANE, A, "replay"), "DONE", "confirmed");
	end_leads_to(ONE, A, "");
	says(does("begin", TWO, LANE, A, "replay"), "REFUSED", "written");
	redisReply *reply = does("confirm", TWO, LANE, "", "");
	text_is(reply, AT_ACT, "replay");
	says(reply, "DONE", "begun");
	reply = run(SCRIPT_letters, (const char *const[]){"look", NULL});
	text_is(reply, 8, TWO LANE "r");
	word_is(reply, "DONE");
	says(does("begin", TWO, LANE, B, "replay"), "DONE", "confirmed");
	says(does("confirm", THREE, LANE, "", ""), "DONE", "confirmed");
	end_leads_to(TWO, B, THREE);
}

/* Nor is it replayed where its message was dropped before that. */
static void
the_next_that_is_confirmed_as_dropped_is_not_replayed(void **state)
{
	(void)state;
	make_lane(false);
	says(does("confirm", ONE, LANE, "", ""), "DONE", "confirmed");
	says(does("begin", ONE, LANE, A, "replay"), "DONE", "confirmed");
	says(does("confirm", THREE, LANE, "", "drop"), "DONE", "begun");
	end_leads_to(ONE, A, "");
	redisReply *reply = does("confirm", TWO, LANE, "", "drop");
	text_is(reply, AT_ACT, "drop");
	says(reply, "DONE", "begun");
	says(does("begin", TWO, LANE, A, "replay"), "REFUSED", "begun");
	says(does("begin", TWO, LANE, B, "drop"), "DONE", "confirmed");
	end_leads_to(TWO, B, "");
	says(does("begin", THREE, LANE, A, "replay"), "REFUSED", "begun");
}

static void
what_was_deleted_by_hand_holds_up_nobody(void **state)
{
	(void)state;
	make_lane(true);
	says(does("begin", ONE, LANE, A, "replay"), "DONE", "confirmed");
	redis_just(redis, "DEL " BEGINNING TWO);
	end_leads_to(ONE, A, THREE);
	counts_are(1, 0, 1);
	redis_just(redis, "DEL " BEGINNING THREE);
	says(does("end", THREE, LANE, A, ""), "GONE", "");
}

static void
what_was_damaged_is_begun_by_nobody(void **state)
{
	(void)state;
	make("confirmed");
	redis_just(redis, "HSET " BEGINNING ONE " state x lane - put y");
	says(does("find", ONE, ALONE, "", ""), "DONE", "written");
	says(does("begin", ONE, ALONE, A, "drop"), "REFUSED", "written");
	says(does("confirm", ONE, ALONE, "", ""), "DONE", "confirmed");
	says(does("begin", ONE, ALONE, A, "drop"), "DONE", "confirmed");
	says(does("end", ONE, ALONE, A, ""), "DONE", "");
	counts_are(0, 0, 0);
}

/* --- what is there --- */

static void
who_has_the_source_sees_what_it_must(void **state)
{
	(void)state;
	char put_ms[16];
	make_lane(false);
	says(does("confirm", ONE, LANE, "", ""), "DONE", "confirmed");
	says(does("ask", ONE, LANE, "", "drop"), "DONE", "begun");
	says(does("confirm", THREE, LANE, "", ""), "DONE", "confirmed");
	redisReply *reply = does("find", TWO, LANE, "", "");
	snprintf(put_ms, sizeof put_ms, "%s", reply->element[AT_PUT]->str);
	word_is(reply, "DONE");
	char written[96];
	snprintf(written, sizeof written, TWO LANE "%s", put_ms);
	reply = run(SCRIPT_letters, (const char *const[]){"look", NULL});
	assert_int_equal(reply->elements, 9);
	text_is(reply, 4, "1");
	text_is(reply, 5, "2");
	text_is(reply, 6, LANE);
	text_is(reply, 7, written);
	text_is(reply, 8, ONE LANE "d");
	word_is(reply, "DONE");
	says(does("begin", ONE, LANE, A, "drop"), "DONE", "confirmed");
	reply = run(SCRIPT_letters, (const char *const[]){"look", NULL});
	text_is(reply, 8, "");
	word_is(reply, "DONE");
}

static void
lists(const char *wanted, const char *after, const char *limit,
    const char *const *ids)
{
	redisReply *reply = run(SCRIPT_letters,
	    (const char *const[]){"list", wanted, after, limit, NULL});
	size_t count = (reply->elements - 4) / 8;
	for (size_t i = 0; i < count; i++) {
		assert_non_null(ids[i]);
		text_is(reply, 4 + 8 * i, ids[i]);
		text_is(reply, 4 + 8 * i + 7, "the head");
	}
	assert_null(ids[count]);
	word_is(reply, "DONE");
}

static void
a_list_has_the_longest_there_first(void **state)
{
	(void)state;
	char after[64];
	make_lane(true);
	lists("d", "", "10", (const char *const[]){ONE, NULL});
	lists("p", "", "10", (const char *const[]){TWO, THREE, NULL});
	lists("dp", "", "10", (const char *const[]){ONE, TWO, THREE, NULL});
	lists("dp", "", "2", (const char *const[]){ONE, TWO, NULL});
	redisReply *reply = does("find", TWO, LANE, "", "");
	snprintf(after, sizeof after, "%s" TWO, reply->element[AT_PUT]->str);
	word_is(reply, "DONE");
	lists("dp", after, "2", (const char *const[]){THREE, NULL});
	lists("d", after, "2", (const char *const[]){NULL});
}

/* A clock that stands, or was set back, puts nothing before what is there. */
static void
letters_of_a_shard_are_put_one_after_the_other(void **state)
{
	(void)state;
	redis_just(redis, "FLUSHALL");
	redis_just(redis, "ZADD " BEHIND " 9000000000000 " THREE);
	redisReply *reply = put_letter("first", ONE, ALONE);
	text_is(reply, AT_PUT, "9000000000001");
	word_is(reply, "DONE");
	reply = put_letter("first", TWO, ALONE);
	text_is(reply, AT_PUT, "9000000000002");
	word_is(reply, "DONE");
}

/* Ends that test; a full Redis is one for that time alone. */
static void
a_full_redis_keeps_no_more_and_lets_go_of_what_it_has(void **state)
{
	(void)state;
	make_lane(true);
	redis_just(redis, "CONFIG SET maxmemory 1");
	const char *words[] = {"EVAL", script_text(SCRIPT_letter_put).ptr, "7",
	    BEGINNING, LANE_BEGINNING, LANES, LETTERS, BEHIND, WRITTEN, BEGUN,
	    "first", ID, ALONE, "refused", "head", "body", "!source:s",
	    "9999999999999", "00112233445566aa"};
	redisReply *reply = redisCommandArgv(redis->client,
	    (int)(sizeof words / sizeof *words), words, NULL);
	assert_int_equal(reply->type, REDIS_REPLY_ERROR);
	assert_int_equal(strncmp(reply->str, "OOM ", 4), 0);
	freeReplyObject(reply);
	says(does("ask", ONE, LANE, "", "replay"), "DONE", "begun");
	says(does("begin", ONE, LANE, A, "replay"), "DONE", "confirmed");
	says(does("put_back", ONE, LANE, A, ""), "DONE", "confirmed");
	says(does("begin", ONE, LANE, A, "drop"), "DONE", "confirmed");
	end_leads_to(ONE, A, TWO);
	redis_just(redis, "CONFIG SET maxmemory 0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_each_act_does_in_each_state),
	    cmocka_unit_test(each_act_may_be_repeated),
	    cmocka_unit_test(a_letter_is_what_was_written_and_put_back),
	    cmocka_unit_test(a_lease_of_a_clock_that_was_set_back_ends),
	    cmocka_unit_test(a_lane_comes_back_in_its_order),
	    cmocka_unit_test(the_first_that_stays_keeps_its_lane),
	    cmocka_unit_test(
		the_first_of_a_lane_that_is_there_goes_to_its_end),
	    cmocka_unit_test(a_parked_one_can_be_dropped_and_nothing_else),
	    cmocka_unit_test(
		the_next_that_is_not_confirmed_is_begun_when_it_is),
	    cmocka_unit_test(
		the_next_that_is_confirmed_as_dropped_is_not_replayed),
	    cmocka_unit_test(what_was_deleted_by_hand_holds_up_nobody),
	    cmocka_unit_test(what_was_damaged_is_begun_by_nobody),
	    cmocka_unit_test(who_has_the_source_sees_what_it_must),
	    cmocka_unit_test(a_list_has_the_longest_there_first),
	    cmocka_unit_test(letters_of_a_shard_are_put_one_after_the_other),
	    cmocka_unit_test(
		a_full_redis_keeps_no_more_and_lets_go_of_what_it_has),
	};
	return cmocka_run_group_tests(tests, start_redis, stop_redis);
}
