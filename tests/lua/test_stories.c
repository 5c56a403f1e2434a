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

/* Stories of a record in several steps, and steps in any order. */

static void
what_was_not_sent_does_not_count(void **state)
{
	(void)state;
	put("P");
	word_is(step("release unsent", A, 3), "DONE");
	head_has(4, "000003000001");
	put("P");
	word_is(step("release sent", A, 3), "DONE");
	head_has(4, "000003000002");
	put("P retry");
	word_is(step("release unsent", A, 3), "DONE");
	head_has(2, "Ut000002000001");
	head_has(55, Y);
	/* Asking did not count as an attempt. */
	put("P asking");
	word_is(step("release unsent", B, 3), "DONE");
	head_has(4, "000003000002");
}

/* Its number stays its own all the same. */
static void
what_was_refused_before_any_work_does_not_count(void **state)
{
	(void)state;
	put("P");
	for (int i = 0; i < 2; i++) { /* its reply was lost */
		word_is(step("release refused", A, 3), "DONE");
		head_has(2, "R-000003000001");
	}
	put("P");
	word_is(step("forget refused", A, 3), "DONE");
	head_has(2, "R-000003000001");
	/* The attempt before counts, and nobody asks about it any more. */
	put("P retry");
	word_is(step("release refused", A, 3), "DONE");
	head_has(2, "R-000003000001");
	put("P asking");
	word_is(step("release refused", B, 3), "DONE");
	head_has(2, "Ut000003000002");
	put("none");
	for (int i = 1; i <= 7; i++) {
		word_is(claim(A, PRINT, "hold", 1, 0), "OURS");
		word_is(step("release refused", A, i), "DONE");
	}
	head_has(2, "R-000007000000");
	word_is(claim(A, PRINT, "hold", 1, 0), "OURS");
	word_is(step("release sent", A, 8), "DONE");
	word_is(claim(A, PRINT, "hold", 1, 0), "FAILED");
	/* Nothing stays of a first attempt. */
	put("none");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	word_is(step("forget refused", A, 1), "DONE");
	assert_int_equal(redis_integer(redis, "EXISTS %s", RECORD), 0);
}

static void
a_released_key_remembers_its_attempts_and_nothing_else(void **state)
{
	(void)state;
	put("P");
	word_is(step("release sent", A, 3), "DONE");
	head_has(77, NOBODY "\n\n");
	word_is(claim(B, OTHER_PRINT, "hold", 5, 0), "OURS");
	head_has(4, "000004000003");
	head_has(77, OTHER_PRINT "\ncharges\n");
	char value[VALUE_MAX];
	get_record(value);
	assert_memory_equal(value + 16, value + 29, 13);
}

/* Without its anchor (lua/anchor.lua). */
static long long
names_in(const char *index)
{
	redisReply *anchor = redis_do(redis, "ZSCORE %s -", index);
	assert_int_equal(anchor->type, REDIS_REPLY_STRING);
	freeReplyObject(anchor);
	return redis_integer(redis, "ZCARD %s", index) - 1;
}

static long long
score_in(const char *index)
{
	redisReply *reply = redis_do(redis, "ZSCORE %s %s", index, ID);
	assert_int_equal(reply->type, REDIS_REPLY_STRING);
	long long score = atoll(reply->str);
	freeReplyObject(reply);
	return score;
}

static void
nothing_stays_of_a_first_attempt_that_is_forgotten(void **state)
{
	(void)state;
	put("none");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	word_is(step("forget", A, 1), "DONE");
	assert_int_equal(redis_integer(redis, "DBSIZE"), 1);
	assert_int_equal(names_in(LEASES), 0);
	/* Its reply was lost. */
	word_is(step("forget", A, 1), "GONE");
	word_is(claim(B, OTHER_PRINT, "hold", 5, 0), "OURS");
	head_has(4, "000001000001");
	word_is(step("forget", A, 1), "FENCED");
	word_is(step("mark unknown", B, 1), "DONE");
	word_is(step("forget", A, 1), "FENCED");
	/* The owner of an unknown attempt knows by now. */
	word_is(step("forget", B, 1), "DONE");
	assert_int_equal(redis_integer(redis, "DBSIZE"), 3);
	assert_int_equal(
	    names_in(LEASES) + names_in(HELD) + names_in(ASKING), 0);
}

/* Of a message that was held, whose record somebody has deleted. */
static void
what_was_sent_and_has_no_record_is_unknown(void **state)
{
	(void)state;
	put("none");
	word_is(claim(B, PRINT, "lost:000001", 5, 0), "UNKNOWN");
	head_has(2, "Ul000001000001");
	assert_int_equal(names_in(HELD), 1);
	/* A witness knows no such attempt, whichever was sent. */
	word_is(claim(B, PRINT, "witness:0::", 5, 0), "UNKNOWN");
	word_is(claim(B, PRINT, "ask:0:0", 5, 0), "GONE");
	word_is(claim(B, OTHER_PRINT, "hold", 5, 0), "MISMATCH");
	/* Whose attempt it was may know. */
	word_is(step("complete again", A, 1), "DONE");
	head_has(2, "C");
	word_is(claim(B, PRINT, "lost:000001", 5, 0), "COMPLETED");
	put("none");
	word_is(claim(A, PRINT, "lost:000001", 5, 0), "UNKNOWN");
	word_is(claim(B, PRINT, "reconcile:0:", 5, 0), "RECONCILE");
	/* Nor after it was asked about in vain. */
	word_is(step("mark unknown", B, 1), "DONE");
	/* What answers that may be lost: it does so once more. */
	word_is(step("mark unknown", B, 1), "DONE");
	word_is(claim(B, PRINT, "witness:0::", 5, 0), "UNKNOWN");
	word_is(claim(B, PRINT, "ask:0:0", 5, 0), "GONE");
	word_is(step("complete again", A, 1), "DONE");
}

/* Redis may have come back as it was before the message was sent. */
static void
so_is_what_was_sent_and_has_the_record_of_an_attempt_before(void **state)
{
	(void)state;
	static const struct {
		const char *record, *of_3, *of_5;
	} rows[] = {
	    {"R", "OURS P4-", "UNKNOWN U5l"},
	    {"R by nobody", "OURS P4-", "UNKNOWN U5l"},
	    {"U", "UNKNOWN =", "UNKNOWN U5l"},
	    {"U put back", "UNKNOWN =", "UNKNOWN U5l"},
	    {"P", "IN_FLIGHT =", "IN_FLIGHT ="},
	    {"P expired", "UNKNOWN U3l", "UNKNOWN U3l"},
	    {"F", "FAILED =", "FAILED ="},
	    {"C", "COMPLETED =", "COMPLETED ="},
	};
	char before[VALUE_MAX];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		put(rows[i].record);
		get_record(before);
		outcome_is(claim(B, PRINT, "lost:000003", 5, 0), rows[i].of_3,
		    before);
		put(rows[i].record);
		get_record(before);
		outcome_is(claim(B, PRINT, "lost:000005", 5, 0), rows[i].of_5,
		    before);
	}
	/* Numbers go on rising, and all truth is welcome. */
	put("R by nobody");
	word_is(claim(B, PRINT, "lost:000005", 5, 0), "UNKNOWN");
	head_has(4, "000005000003");
	word_is(operate("release"), "DONE");
	word_is(claim(B, PRINT, "lost:000005", 5, 0), "OURS");
	head_has(4, "000006");
	put("U");
	word_is(claim(B, PRINT, "lost:000005", 5, 0), "UNKNOWN");
	word_is(step("complete again", A, 3), "DONE");
}

static void
what_others_know_of_is_not_forgotten(void **state)
{
	(void)state;
	/* An attempt before it that was refused, or is unknown. */
	put("none");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	word_is(step("release sent", A, 1), "DONE");
	word_is(claim(B, PRINT, "hold", 5, 0), "OURS");
	word_is(step("forget", B, 2), "DONE");
	head_has(2, "R-000002000002");
	put("P retry");
	word_is(step("forget", A, 3), "DONE");
	head_has(2, "R-000003000002");
	/* Somebody who asked about it, whose step may come again. */
	put("none");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	word_is(step("mark unknown", A, 1), "DONE");
	word_is(claim(B, PRINT, "reconcile:0", 5, 0), "RECONCILE");
	word_is(step("forget", A, 1), "FENCED");
	word_is(step("mark unknown", B, 1), "DONE");
	word_is(step("forget", A, 1), "DONE");
	head_has(2, "R-000001000001");
}

static void
an_owner_that_only_asked_puts_everything_back(void **state)
{
	(void)state;
	put("U");
	word_is(claim(B, PRINT, "reconcile:0", 5, 0), "RECONCILE");
	head_has(55, B);
	word_is(claim(X, PRINT, "reconcile:0", 5, 0), "IN_FLIGHT");
	word_is(step("mark unknown", B, 3), "DONE");
	head_has(2, "Ut");
	head_has(55, A);
	/* The owner of the attempt may still complete it. */
	word_is(step("complete", A, 3), "DONE");
	head_has(2, "C-");
}

static void
nothing_is_asked_before_the_outcome_has_settled(void **state)
{
	(void)state;
	put("P");
	word_is(step("mark unknown", A, 3), "DONE");
	redisReply *reply = claim(B, PRINT, "reconcile:60000", 5, 0);
	assert_in_range(reply->element[5]->integer, 55000, 60000);
	word_is(reply, "UNKNOWN");
	/* What was asked once without an answer stays settled. */
	put("U");
	word_is(claim(B, PRINT, "reconcile:10", 5, 0), "RECONCILE");
	word_is(step("mark unknown", B, 3), "DONE");
	word_is(claim(X, PRINT, "reconcile:10", 5, 0), "RECONCILE");
	/* A lease that expired did so at its end, not when it is noticed. */
	put("P expired");
	word_is(claim(B, PRINT, "reconcile:10", 5, 0), "RECONCILE");
	put("P expired");
	word_is(claim(B, PRINT, "reconcile:60000", 5, 0), "UNKNOWN");
	head_has(2, "Ul");
}

static void
late_truth_beats_who_is_still_asking(void **state)
{
	(void)state;
	put("U");
	word_is(claim(B, PRINT, "reconcile:0", 5, 0), "RECONCILE");
	word_is(step("complete", A, 3), "DONE");
	redisReply *reply = step("complete", B, 3);
	assert_string_equal(reply->element[4]->str, "C");
	assert_non_null(strstr(reply->element[5]->str, "answer of " A));
	word_is(reply, "FENCED");
}

static void
an_owner_that_was_told_it_did_not_happen_executes(void **state)
{
	(void)state;
	put("U");
	word_is(claim(B, PRINT, "reconcile:0", 5, 0), "RECONCILE");
	word_is(claim(B, PRINT, "execute", 5, 0), "OURS");
	head_has(2, "P-000004000003");
	/* From now on it is an attempt like any other. */
	word_is(claim(B, PRINT, "execute", 5, 0), "OURS");
	word_is(step("complete", A, 3), "FENCED");
	word_is(step("complete", B, 3), "FENCED");
	word_is(step("complete", B, 4), "DONE");
}

static void
a_claim_that_comes_after_its_deadline_does_nothing(void **state)
{
	(void)state;
	put("none");
	word_is(claim(A, PRINT, "hold", 5, redis_now() - 1), "LATE");
	assert_int_equal(redis_integer(redis, "DBSIZE"), 0);
	word_is(claim(A, PRINT, "hold", 5, redis_now() + 60000), "OURS");
	word_is(claim(B, PRINT, "hold", 5, 1), "LATE");
}

static void
replies_bring_what_belongs_to_them(void **state)
{
	(void)state;
	put("P");
	redisReply *reply = claim(B, PRINT, "hold", 5, 0);
	assert_int_equal(reply->element[1]->integer, 3);
	assert_in_range(
	    reply->element[2]->integer, redis_now() - 1000, redis_now());
	assert_in_range(reply->element[4]->integer, LEASE - 1000, LEASE);
	word_is(reply, "IN_FLIGHT");

	char value[VALUE_MAX];
	put("C");
	get_record(value);
	reply = claim(B, PRINT, "hold", 5, 0);
	assert_string_equal(reply->element[4]->str, value);
	word_is(reply, "COMPLETED");
	reply = step("mark unknown", B, 3);
	assert_string_equal(reply->element[4]->str, "C");
	assert_string_equal(reply->element[5]->str, value);
	word_is(reply, "FENCED");

	put("P expired");
	reply = claim(B, PRINT, "hold", 5, 0);
	assert_string_equal(reply->element[4]->str, "l");
	word_is(reply, "UNKNOWN");
}

/* The completed record is now one with that answer. */
static void
put_answer(const char *bytes, size_t len)
{
	char value[VALUE_MAX];
	put("C");
	get_record(value);
	size_t head = (size_t)(strchr(value + 100, '\n') + 1 - value);
	assert_true(head + len < sizeof value);
	memcpy(value + head, bytes, len);
	redis_just(redis, "SET %s %b PX %d", RECORD, value, head + len,
	    RETENTION);
}

static void
a_brief_claim_brings_the_status_where_it_can_be_read(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t len;
		const char *status; /* NULL: it comes whole */
	} answers[] = {
#define BYTES(text) text, sizeof text - 1
	    {BYTES("p\n201 - 0 0 0 2\n\nhi"), "201"},
	    {BYTES("p\nhi"), NULL},
	    {BYTES("z 9999\n\xb5/\xfd..P*M\x18\3\0\0\0" "409"), "409"},
	    {BYTES("z 9999\n\xb5/\xfd..P*M\x18\3\0\0\0" "4x9"), NULL},
	    {BYTES("z 9999\n\xb5/\xfd.. of an earlier release"), NULL},
	    {BYTES("e 201 what is sealed is not read here"), NULL},
	    {BYTES(""), NULL},
#undef BYTES
	};
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		put_answer(answers[i].bytes, answers[i].len);
		redisReply *whole = claim(B, PRINT, "hold", 5, 0);
		assert_int_equal(whole->elements, 5);
		briefly = true;
		redisReply *reply = claim(B, PRINT, "hold", 5, 0);
		briefly = false;
		if (answers[i].status == NULL) {
			assert_int_equal(reply->elements, 5);
			assert_int_equal(reply->element[4]->len,
			    whole->element[4]->len);
		} else {
			assert_int_equal(reply->elements, 6);
			assert_int_equal(reply->element[4]->len,
			    whole->element[4]->len - answers[i].len);
			assert_string_equal(
			    reply->element[5]->str, answers[i].status);
		}
		word_is(reply, "COMPLETED");
		freeReplyObject(whole);
	}
	/* Of what is not completed there is nothing to leave out. */
	put("U");
	briefly = true;
	word_is(claim(B, PRINT, "hold", 5, 0), "UNKNOWN");
	briefly = false;
}

static void
a_record_that_is_not_ours_to_read_is_never_touched(void **state)
{
	(void)state;
	static const struct {
		long long at;
		const char *bytes;
	} damage[] = {{0, "o2"}, {0, "\xff\xff\xff\xff"}, {2, "Q"}, {3, "9"},
	    {4, "x"}, {20, " "}, {50, "e"}, {99, "x"}};
	static const char *const verbs[] = {
	    "complete", "mark unknown", "release sent", "release unsent"};
	char before[VALUE_MAX], after[VALUE_MAX];
	for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
		put("P expired");
		redis_just(redis, "SETRANGE %s %lld %s", RECORD, damage[i].at,
		    damage[i].bytes);
		get_record(before);
		word_is(claim(A, PRINT, "retry", 5, 0), "BROKEN");
		word_is(claim(X, PRINT, "hold", 5, 0), "BROKEN");
		for (size_t v = 0; v < 4; v++)
			word_is(step(verbs[v], A, 3), "BROKEN");
		get_record(after);
		assert_memory_equal(after, before, VALUE_MAX);
	}
	redis_just(redis, "SET %s o1P", RECORD);
	word_is(claim(A, PRINT, "hold", 5, 0), "BROKEN");
	redis_just(redis, "SET %s %s", RECORD, "");
	word_is(claim(A, PRINT, "hold", 5, 0), "BROKEN");
}

static void
a_full_redis_refuses_new_claims_and_takes_outcomes(void **state)
{
	(void)state;
	static const char *const full_claims[] = {"none", "R"};
	for (size_t i = 0; i < 2; i++) {
		char before[VALUE_MAX], after[VALUE_MAX];
		put(full_claims[i]);
		get_record(before);
		redis_just(redis, "CONFIG SET maxmemory 1");
		redisReply *reply = claim(A, PRINT, "hold", 5, 0);
		assert_int_equal(reply->type, REDIS_REPLY_ERROR);
		assert_memory_equal(reply->str, "OOM ", 4);
		freeReplyObject(reply);
		/* Nothing is left half done. */
		get_record(after);
		assert_memory_equal(after, before, VALUE_MAX);
		assert_false(is_in(LEASES));
		redis_just(redis, "CONFIG SET maxmemory 0");
	}
	static const struct {
		const char *record, *verb;
	} steps[] = {{"P", "complete"}, {"P", "release sent"}, {"P", "forget"},
	    {"P", "mark unknown"}, {"U", "complete"}, {"P retry", "give back"}};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		put(steps[i].record);
		redis_just(redis, "CONFIG SET maxmemory 1");
		word_is(step(steps[i].verb, A, 3), "DONE");
		assert_int_equal(renew(A, 3), 0);
		redis_just(redis, "CONFIG SET maxmemory 0");
	}
	put("P");
	redis_just(redis, "CONFIG SET maxmemory 1");
	assert_int_equal(renew(A, 3), 1);
	put("none");
	redis_just(redis, "CONFIG SET maxmemory 0");
	put("C");
	redis_just(redis, "CONFIG SET maxmemory 1");
	word_is(claim(X, PRINT, "hold", 5, 0), "COMPLETED");
	redis_just(redis, "CONFIG SET maxmemory 0");
}

static long long
writes(void)
{
	static const char name[] = "rdb_changes_since_last_save:";
	redisReply *reply = redis_do(redis, "INFO persistence");
	const char *line = strstr(reply->str, name);
	assert_non_null(line);
	long long count = atoll(line + sizeof name - 1);
	freeReplyObject(reply);
	return count;
}

/* WAIT counts what this connection wrote, so a repeated step must write. */
static void
what_is_said_again_is_written_again(void **state)
{
	(void)state;
	char before[VALUE_MAX], after[VALUE_MAX];
	put("P");
	for (int i = 0; i < 2; i++) {
		long long writes_before = writes();
		word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
		assert_true(writes() > writes_before);
	}
	word_is(step("complete", A, 3), "DONE");
	get_record(before);
	long long writes_before = writes();
	word_is(step("complete", A, 3), "DONE");
	assert_true(writes() > writes_before);
	get_record(after);
	assert_memory_equal(after, before, VALUE_MAX);
}

static void
what_enough_replicas_have_is_marked_in_the_record_itself(void **state)
{
	(void)state;
	put("P");
	word_is(step("complete", A, 3), "DONE");
	word_is(confirm(B), "GONE");
	head_has(99, "\n");
	redis_just(redis, "CONFIG SET maxmemory 1");
	word_is(confirm(A), "DONE");
	redis_just(redis, "CONFIG SET maxmemory 0");
	head_has(99, "+charges\n");
	ttl_is(RECORD, RETENTION);
	word_is(confirm(A), "DONE");
	word_is(claim(B, PRINT, "hold", 5, 0), "COMPLETED");
	static const char *const others[] = {"none", "P", "U", "F", "R"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		char before[VALUE_MAX], after[VALUE_MAX];
		put(others[i]);
		get_record(before);
		word_is(confirm(A), "GONE");
		get_record(after);
		assert_memory_equal(after, before, VALUE_MAX);
	}
	assert_int_equal(redis_integer(redis, "DBSIZE"), 1);
}

static void
names_of_records_that_are_gone_leave_the_indexes(void **state)
{
	(void)state;
	put("P");
	long long old = redis_now() - LONGEST - 2;
	for (int i = 0; i < 5; i++) {
		redis_just(redis, "ZADD %s %lld gone%d", HELD, old, i);
		redis_just(redis, "ZADD %s %lld gone%d", LEASES, old, i);
	}
	redis_just(redis, "ZADD %s %lld kept", HELD, old + 20000);
	/* Of a gateway whose routes keep theirs longer. */
	redis_just(redis, "ZADD %s %lld there", HELD, old);
	redis_just(redis, "SET t:{7}:r:there x");
	redis_just(redis, "PEXPIRE %s 1000", HELD);
	word_is(step("mark unknown", A, 3), "DONE");
	assert_int_equal(names_in(HELD), 3);
	word_is(claim(B, PRINT, "retry", 5, 0), "OURS");
	assert_int_equal(names_in(LEASES), 1);
}

static void
an_index_outlives_its_last_name(void **state)
{
	(void)state;
	put("none");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	ttl_is(LEASES, LONGEST + SLACK);
	word_is(step("complete", A, 1), "DONE");
	assert_int_equal(names_in(LEASES), 0);
	ttl_is(LEASES, LONGEST + SLACK);
}

/* As scripts of earlier releases left it, and as it is a minute later. */
static void
an_index_is_kept_from_minute_to_minute(void **state)
{
	(void)state;
	static const char *const before[] = {"ZREM %s -", "ZADD %s 1 -"};
	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		put("none");
		word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
		redis_just(redis, before[i], LEASES);
		redis_just(redis, "PEXPIRE %s 1000", LEASES);
		renew(A, 1);
		ttl_is(LEASES, LONGEST + SLACK);
	}
}

/* A clock that moves by a minute does not reach it, nor one by the longest. */
static void
no_anchor_is_due(void **state)
{
	(void)state;
	put("none");
	word_is(claim(A, PRINT, "hold", 5, 0), "OURS");
	assert_true(redis_integer(redis,
	    "ZCOUNT %s %lld +inf", LEASES,
	    (long long)redis_now() + LONGEST - SLACK) == 1);
}

static void
an_index_is_never_kept_shorter_than_it_was(void **state)
{
	(void)state;
	put("P");
	redis_just(redis, "ZADD %s 1 other", HELD);
	redis_just(redis, "PEXPIRE %s %d", HELD, 10 * LONGEST);
	word_is(step("mark unknown", A, 3), "DONE");
	ttl_is(HELD, 10 * LONGEST);
}

static void
what_is_held_is_listed_oldest_first(void **state)
{
	(void)state;
	put("P");
	word_is(step("mark unknown", A, 3), "DONE");
	char value[VALUE_MAX];
	get_record(value);
	value[42] = '\0';
	assert_true(score_in(HELD) == atoll(value + 29));
}

/* --- asked by a gateway itself --- */

static void
what_is_unknown_is_asked_about_at_once_and_then_less_often(void **state)
{
	(void)state;
	put("P");
	word_is(step("mark unknown", A, 3), "DONE");
	assert_true(score_in(ASKING) <= redis_now());
	word_is(claim(X, PRINT, "ask:0:0", 5, 0), "RECONCILE");
	assert_false(is_in(ASKING));
	word_is(step("mark unknown", X, 3), "DONE");
	assert_true(score_in(ASKING) > redis_now() + 500);
	/* Not before it has settled; and never later than in ten minutes. */
	word_is(claim(X, PRINT, "ask:60000:0", 5, 0), "UNKNOWN");
	assert_true(score_in(ASKING) > redis_now() + 50000);
	put("U put back");
	redis_just(redis, "SETRANGE %s 42 %s", RECORD, "1700000000000");
	word_is(claim(X, PRINT, "ask:0:0", 5, 0), "RECONCILE");
	word_is(step("release unsent", X, 3), "DONE");
	assert_true(score_in(ASKING) > redis_now() + 590000);
	assert_true(score_in(ASKING) <= redis_now() + 600000);
	/* Another gateway may know how to ask; of one that is gone nobody. */
	word_is(claim(X, PRINT, "ask:0:1", 5, 0), "GONE");
	assert_true(score_in(ASKING) > redis_now() + 590000);
	redis_just(redis, "DEL %s", RECORD);
	word_is(claim(X, PRINT, "ask:0:1", 5, 0), "GONE");
	assert_false(is_in(ASKING));
}

/* Makes the lease of a PROCESSING record expire. */
static void
let_lease_run_out(void)
{
	char value[VALUE_MAX];
	get_record(value);
	if (value[2] == 'P')
		redis_just(redis, "SETRANGE %s 42 %013lld", RECORD,
		    (long long)redis_now() - 1);
}

/* To ask in vain is no change: forgotten is the record as if nobody had. */
static void
what_was_asked_in_vain_lives_no_longer_for_that(void **state)
{
	(void)state;
	char before[VALUE_MAX], after[VALUE_MAX];
	put("U");
	redis_just(redis, "PEXPIRE %s 200000", RECORD);
	get_record(before);
	for (int i = 0; i < 2; i++) {
		word_is(claim(X, PRINT, "ask:0:0", 5, 0), "RECONCILE");
		ttl_is(RECORD, UNKNOWN_RETENTION);
		word_is(step("mark unknown", X, 3), "DONE");
		ttl_is(RECORD, 200000);
		get_record(after);
		assert_memory_equal(after + 2, before + 2, 98);
		after[42] = '\0';
		assert_true(score_in(HELD) == atoll(after + 29));
	}
	/* Who asks dies, and another one takes its place. */
	word_is(claim(X, PRINT, "ask:0:0", 5, 0), "RECONCILE");
	let_lease_run_out();
	word_is(claim(B, PRINT, "reconcile:0", 5, 0), "RECONCILE");
	word_is(step("release unsent", B, 3), "DONE");
	ttl_is(RECORD, 200000);
	/* It comes to its end while it is asked about. */
	word_is(claim(X, PRINT, "ask:0:0", 5, 0), "RECONCILE");
	let_lease_run_out();
	word_is(claim(B, PRINT, "hold", 5, 0), "UNKNOWN");
	ttl_is(RECORD, 200000);
}

/* Since when the attempt that is asked about is known to be `started`. */
static int64_t
started(const char *owner)
{
	redisReply *reply = claim(owner, PRINT, "reconcile:0", 5, 0);
	assert_string_equal(reply->element[0]->str, "RECONCILE");
	int64_t since = reply->element[10]->integer;
	freeReplyObject(reply);
	return since;
}

static void
an_attempt_is_started_since_it_was_first_found_so(void **state)
{
	(void)state;
	put("U put back");
	redis_just(redis, "SETRANGE %s 42 %s", RECORD, "1700000000000");
	assert_int_equal(started(X), 0);
	int64_t before = redis_now();
	word_is(step("mark unknown started", X, 3), "DONE");
	head_has(2, "Ut");
	assert_true(score_in(ASKING) <= redis_now() + 1000);
	int64_t since = started(B);
	assert_in_range(since, before, redis_now());
	/* Whatever comes of questions. */
	word_is(step("mark unknown started", B, 3), "DONE");
	assert_int_equal(started(X), since);
	let_lease_run_out();
	assert_int_equal(started(B), since);
	word_is(step("mark unknown", B, 3), "DONE");
	assert_int_equal(started(X), since);
	/* The next attempt is another one. */
	word_is(claim(X, PRINT, "execute", 5, 0), "OURS");
	word_is(step("mark unknown", X, 4), "DONE");
	assert_int_equal(started(B), 0);
	/* The owner of an attempt may find it, too, and is heard again. */
	for (int i = 0; i < 2; i++) {
		put(i == 0 ? "P" : "none");
		word_is(step("mark unknown started again", A, 3), "DONE");
		head_has(2, "Ub");
		assert_in_range(started(B), before, redis_now());
	}
}

static void
what_did_not_happen_is_free_and_has_its_attempts(void **state)
{
	char value[VALUE_MAX];
	(void)state;
	put("U after retry");
	claimed = "charges";
	word_is(claim(X, OTHER_PRINT, "ask:0:0", 5, 0), "RECONCILE");
	claimed = NULL;
	head_has(77, PRINT "\ncharges\n");
	redis_just(redis, "SETRANGE %s 42 0000000000001", RECORD);
	word_is(claim(B, PRINT, "free:q" NOTE, 5, 0), "UNKNOWN");
	word_is(claim(X, OTHER_PRINT, "ask:0:0", 5, 0), "RECONCILE");
	word_is(claim(X, PRINT, "free:q" NOTE, 5, 0), "DONE");
	head_has(2, "R-000003000002");
	indexes_are_right('R');
	get_record(value);
	assert_non_null(strstr(value, "q" NOTE));
	/* Whoever asks late that it be freed is told that it is. */
	word_is(claim(X, PRINT, "free", 5, 0), "DONE");
	/* The owner that was asked about is fenced, and makes nothing again. */
	word_is(step("complete again", A, 3), "FENCED");
	word_is(claim(B, PRINT, "hold", 5, 0), "OURS");
	head_has(2, "P-000004000003");
}

static void
a_witness_is_asked_about_what_its_own_route_sent(void **state)
{
	(void)state;
	put("U");
	claimed = "refunds";
	word_is(claim(X, PRINT, "witness:0::", 5, 0), "UNKNOWN");
	claimed = NULL;
	word_is(claim(X, PRINT, "witness:0::", 5, 0), "RECONCILE");
}

static void
a_key_is_set_free_by_who_asked_alone(void **state)
{
	(void)state;
	put("none");
	word_is(claim(X, PRINT, "free", 5, 0), "GONE");
	put("U");
	word_is(claim(X, PRINT, "free", 5, 0), "UNKNOWN");
	put("P asking");
	word_is(claim(A, PRINT, "free", 5, 0), "IN_FLIGHT");
	word_is(claim(X, PRINT, "free", 5, 0), "IN_FLIGHT");
	unsafe = true;
	word_is(claim(B, PRINT, "free", 5, 0), "REFUSED");
	unsafe = false;
	word_is(claim(B, PRINT, "free", 5, 0), "DONE");
	put("P asking expired");
	word_is(claim(X, PRINT, "free", 5, 0), "UNKNOWN");
	put("C");
	word_is(claim(X, PRINT, "free", 5, 0), "COMPLETED");
}

/* An owner begins with it (claim_item.lua). */
static void
who_asks_hears_whether_the_attempt_has_its_mark(void **state)
{
	static const char *const owners[] = {
	    "AAAAAAAABBBBBBBBBBBBBB", "AAAAAAABBBBBBBBBBBBBBB"};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		put("U");
		redisReply *reply =
		    claim(owners[i], PRINT, "reconcile:0", 5, 0);
		assert_string_equal(reply->element[0]->str, "RECONCILE");
		assert_int_equal(reply->element[8]->integer, i == 0);
		freeReplyObject(reply);
	}
}

/* --- any order --- */

static uint32_t seed = 20261121;

static uint32_t
dice(uint32_t sides)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % sides;
}

static void
all_keys_have_an_end(void)
{
	redisReply *keys = redis_do(redis, "KEYS *");
	for (size_t i = 0; i < keys->elements; i++)
		assert_true(redis_integer(redis, "PTTL %s",
				keys->element[i]->str) > 0);
	freeReplyObject(keys);
}

/*
 * on_unknown "hold": between two releases only one owner is ever told to
 * execute, in whatever order the steps come, and once there is an answer it
 * stays.
 */
static void
in_any_order_a_held_key_executes_once_and_all_ends(void **state)
{
	(void)state;
	static const char *const owners[] = {A, B, X};
	static const char *const verbs[] = {"complete", "mark unknown",
	    "release sent", "release unsent", "forget", "give back",
	    "release refused", "forget refused"};
	for (int round = 0; round < 150; round++) {
		put("none");
		long long executing = 0; /* the attempt that is */
		bool completed = false;
		for (int i = 0; i < 25; i++) {
			const char *owner = owners[dice(3)];
			uint32_t what = dice(10);
			if (what == 0) {
				let_lease_run_out();
				continue;
			}
			if (what < 4) {
				redisReply *reply =
				    claim(owner, PRINT, "hold", 100, 0);
				long long attempt =
				    reply->element[1]->integer;
				if (strcmp(reply->element[0]->str, "OURS") ==
				    0) {
					assert_false(completed);
					assert_true(executing == 0 ||
					    executing == attempt);
					executing = attempt;
				}
				freeReplyObject(reply);
				continue;
			}
			const char *verb = verbs[dice(8)];
			int attempt = (int)executing - (int)dice(2);
			if (strcmp(verb, "give back") == 0)
				attempt = 0;
			char before = 0, value[VALUE_MAX];
			get_record(value);
			before = value[2];
			redisReply *reply = step(verb, owner, attempt);
			bool done =
			    strcmp(reply->element[0]->str, "DONE") == 0;
			freeReplyObject(reply);
			get_record(value);
			if (done && (value[2] == 'R' || value[2] == 0))
				executing = 0;
			if (value[2] == 'C')
				completed = true;
			if (completed)
				assert_int_equal(value[2], 'C');
			if (!done)
				assert_int_equal(value[2], before);
			indexes_are_right(value[2]);
		}
		all_keys_have_an_end();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_BOTH(what_was_not_sent_does_not_count),
	    IN_BOTH(what_was_refused_before_any_work_does_not_count),
	    IN_BOTH(
		a_released_key_remembers_its_attempts_and_nothing_else),
	    IN_BOTH(nothing_stays_of_a_first_attempt_that_is_forgotten),
	    IN_BOTH(what_was_sent_and_has_no_record_is_unknown),
	    IN_BOTH(
		so_is_what_was_sent_and_has_the_record_of_an_attempt_before),
	    IN_BOTH(what_others_know_of_is_not_forgotten),
	    IN_BOTH(an_owner_that_only_asked_puts_everything_back),
	    IN_BOTH(nothing_is_asked_before_the_outcome_has_settled),
	    IN_BOTH(late_truth_beats_who_is_still_asking),
	    IN_BOTH(an_owner_that_was_told_it_did_not_happen_executes),
	    IN_BOTH(
		a_claim_that_comes_after_its_deadline_does_nothing),
	    IN_BOTH(replies_bring_what_belongs_to_them),
	    IN_BOTH(a_brief_claim_brings_the_status_where_it_can_be_read),
	    IN_BOTH(
		a_record_that_is_not_ours_to_read_is_never_touched),
	    IN_BOTH(
		a_full_redis_refuses_new_claims_and_takes_outcomes),
	    IN_BOTH(what_is_said_again_is_written_again),
	    IN_BOTH(
		what_enough_replicas_have_is_marked_in_the_record_itself),
	    IN_BOTH(names_of_records_that_are_gone_leave_the_indexes),
	    IN_BOTH(an_index_is_never_kept_shorter_than_it_was),
	    IN_BOTH(an_index_outlives_its_last_name),
	    IN_BOTH(an_index_is_kept_from_minute_to_minute),
	    IN_BOTH(no_anchor_is_due),
	    IN_BOTH(what_is_held_is_listed_oldest_first),
	    IN_BOTH(what_is_unknown_is_asked_about_at_once_and_then_less_often),
	    IN_BOTH(what_was_asked_in_vain_lives_no_longer_for_that),
	    IN_BOTH(an_attempt_is_started_since_it_was_first_found_so),
	    IN_BOTH(what_did_not_happen_is_free_and_has_its_attempts),
	    IN_BOTH(a_witness_is_asked_about_what_its_own_route_sent),
	    IN_BOTH(a_key_is_set_free_by_who_asked_alone),
	    IN_BOTH(who_asks_hears_whether_the_attempt_has_its_mark),
	    IN_BOTH(
		in_any_order_a_held_key_executes_once_and_all_ends),
	};
	return cmocka_run_group_tests_name(
	    "stories", tests, start_redis, stop_redis);
}
