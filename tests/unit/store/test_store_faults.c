/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lib/store_bench.h"
#include "store/claim.h"
#include "store/leases.h"
#include "store/outcome.h"

/*
 * A store whose redis-server dies, freezes, forgets, refuses or cuts
 * connections: nothing is executed twice, nothing is lost, and service comes
 * back by itself.
 */

static const char *const durable[] = {
    "--appendonly", "yes", "--appendfsync", "always", NULL};

static int
set_up(void **state)
{
	struct bench *bench = bench_new(NULL, durable, "");
	bench_until(bench, bench_is_up);
	*state = bench;
	return 0;
}

/* For tests that wait until time is up. */
static int
set_up_short(void **state)
{
	struct bench *bench = bench_new_short(durable);
	bench_until(bench, bench_is_up);
	*state = bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;
	bench_free(&bench);
	return 0;
}

/* Asserts that a new claim is ours and has that attempt; 1: it is the first. */
static void
next_claim_is_ours(struct bench *bench, const char *key, uint32_t attempt)
{
	struct store_op op;
	struct claim claim = bench_claim(bench, key);
	assert_int_equal(bench_claimed(bench, &op, &claim), 0);
	assert_int_equal(op.verdict, VERDICT_OURS);
	assert_int_equal(op.attempt, attempt);
}

static bool
took_between(const struct store_op *op, int64_t least_ms, int64_t most_ms)
{
	return op->op.took_us >= least_ms * 1000 &&
	    op->op.took_us <= most_ms * 1000;
}

/* --- death --- */

static void
steps_fail_while_redis_is_away_and_are_taken_afterwards(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	struct claim claim = bench_claimed_ours(bench, &op, "k");
	struct owned_claim owned = bench_owned(bench, &claim, 1);
	struct renewal renewal = {.owned = owned};
	struct answer *answer = bench_answer(bench, "late");
	redis_kill(bench->redis);
	for (int i = 0; i < 2; i++) {
		bench_op(bench, &op);
		outcome_store(bench->store, &op, &owned,
		    &(struct owned_outcome){.answer = answer});
		assert_int_equal(bench_wait(bench, &op), E_STORE_DOWN);
		bench_op(bench, &op);
		leases_renew(bench->store, &op, &renewal, 1);
		assert_int_equal(bench_wait(bench, &op), E_STORE_DOWN);
		assert_false(renewal.lost);
	}
	redis_again(bench->redis);
	bench_until(bench, bench_is_up);
	bench_op(bench, &op);
	outcome_store(bench->store, &op, &owned,
	    &(struct owned_outcome){.answer = answer});
	assert_int_equal(bench_wait(bench, &op), 0);
	assert_int_equal(op.verdict, VERDICT_DONE);
	bench_replays(bench, "k", "late");
	answer_unref(&answer);
}

/* --- frost --- */

enum { KEY_BYTES = 16 };

/*
 * Freezes Redis, and makes a claim, of a new key, that is the first to notice:
 * in its first second a link does not look for signs of life by itself.
 */
static void
claim_on_a_frozen_redis(
    struct bench *bench, struct store_op *op, char ret_key[KEY_BYTES])
{
	for (int i = 0;; i++) {
		int64_t began_us = clock_us();
		snprintf(ret_key, KEY_BYTES, "k%d", i);
		struct claim claim = bench_claim(bench, ret_key);
		bench_renew_store(bench);
		bench_until(bench, bench_is_up);
		redis_freeze(bench->redis);
		int error = bench_claimed(bench, op, &claim);
		if (clock_us() - began_us < 1000 * 1000) {
			assert_int_equal(error, E_TIMEOUT);
			return;
		}
		/* The machine was too slow. */
		redis_thaw(bench->redis);
		bench_until(bench, bench_is_settled);
	}
}

static void
a_claim_on_a_frozen_redis_ends_in_time_and_leaves_nothing(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	char key[KEY_BYTES];
	claim_on_a_frozen_redis(bench, &op, key);
	assert_true(took_between(
	    &op, BENCH_SHORT_MS / 2, 5 * BENCH_SHORT_MS));
	assert_int_equal(store_unsettled(bench->store), 1);
	assert_false(store_is_up(bench->store));
	redis_thaw(bench->redis);
	bench_until(bench, bench_is_settled);
	bench_take_time(bench);
	/* It waited in the socket, and was refused because it came too late. */
	next_claim_is_ours(bench, key, 1);
}

static void
what_is_asked_after_a_freeze_waits_no_longer_than_its_time(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	char key[KEY_BYTES];
	claim_on_a_frozen_redis(bench, &op, key);
	for (int i = 0; i < 3; i++) {
		struct claim claim = bench_claim(bench, key);
		assert_int_not_equal(bench_claimed(bench, &op, &claim), 0);
		assert_true(took_between(&op, 0, 5 * BENCH_SHORT_MS));
	}
	/* Only the first was sent. */
	assert_int_equal(store_unsettled(bench->store), 1);
	redis_thaw(bench->redis);
	bench_until(bench, bench_is_settled);
	bench_take_time(bench);
	next_claim_is_ours(bench, key, 1);
}

static void
a_freeze_is_noticed_without_a_request(void **state)
{
	struct bench *bench = *state;
	redis_freeze(bench->redis);
	bench_until(bench, bench_is_down);
	redis_thaw(bench->redis);
	bench_until(bench, bench_is_up);
}

static void
a_complete_that_was_late_is_taken_once(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	struct claim claim = bench_claimed_ours(bench, &op, "k");
	struct owned_claim owned = bench_owned(bench, &claim, op.attempt);
	struct answer *answer = bench_answer(bench, "truth");
	redis_freeze(bench->redis);
	bench_op(bench, &op);
	outcome_store(bench->store, &op, &owned,
	    &(struct owned_outcome){.answer = answer});
	/* As a rule it notices the freeze; else the link does. */
	assert_int_not_equal(bench_wait(bench, &op), 0);
	answer_unref(&answer);
	redis_thaw(bench->redis);
	bench_take_time(bench);
	owned.policy = bench->policy;
	/* The first may have been executed or not: it is the same step. */
	assert_int_equal(bench_completed(bench, &owned, "truth"), VERDICT_DONE);
	bench_replays(bench, "k", "truth");
}

/* --- owners that leave --- */

/* The only record has been released. */
static bool
is_released(struct bench *bench)
{
	redisReply *keys = redis_do(bench->redis, "KEYS *:r:*");
	bool released = false;
	if (keys->elements == 1) {
		redisReply *letter = redis_do(bench->redis,
		    "GETRANGE %s 2 2", keys->element[0]->str);
		released = strcmp(letter->str, "R") == 0;
		freeReplyObject(letter);
	}
	freeReplyObject(keys);
	return released;
}

static void
a_claim_that_nobody_waits_for_is_given_back(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	struct claim claim = bench_claim(bench, "k");
	bench_op(bench, &op);
	claim_start(bench->store, &op, &claim);
	op_cancel(&op.op);
	/* A drain waits for it, from now on. */
	assert_int_equal(store_unsettled(bench->store), 1);
	bench_until(bench, bench_is_settled);
	assert_true(is_released(bench));
	next_claim_is_ours(bench, "k", 2);
}

static void
a_claim_that_was_never_sent_is_forgotten(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	bench_renew_store(bench);
	struct claim claim = bench_claim(bench, "k");
	bench_op(bench, &op);
	claim_start(bench->store, &op, &claim);
	op_cancel(&op.op);
	bench_until(bench, bench_is_up);
	next_claim_is_ours(bench, "k", 1);
	assert_int_equal(store_unsettled(bench->store), 0);
}

static void
a_store_that_is_freed_ends_what_is_pending(void **state)
{
	struct bench *bench = *state;
	struct store_op sent, queued;
	redis_freeze(bench->redis);
	struct claim claim = bench_claim(bench, "k");
	bench_op(bench, &sent);
	claim_start(bench->store, &sent, &claim);
	bench_renew_store(bench);
	assert_int_equal(bench_wait(bench, &sent), E_STORE_DOWN);
	bench_op(bench, &queued);
	claim_start(bench->store, &queued, &claim);
	bench_renew_store(bench);
	assert_int_equal(bench_wait(bench, &queued), E_STORE_DOWN);
	redis_thaw(bench->redis);
}

/* --- refusals --- */

static void
a_claim_that_failed_half_way_is_given_back(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	struct claim claim = bench_claimed_ours(bench, &op, "k");
	struct owned_claim owned = bench_owned(bench, &claim, 1);
	redisReply *keys = redis_do(bench->redis, "KEYS *:leases");
	const char *leases = keys->element[0]->str;
	bench_op(bench, &op);
	outcome_store(bench->store, &op, &owned,
	    &(struct owned_outcome){
		JOURNAL_RELEASE, .release = RELEASE_COUNTED});
	assert_int_equal(bench_wait(bench, &op), 0);
	/* Somebody else's key: the record is written, its index is not. */
	redis_just(bench->redis, "SET %s text", leases);
	claim = bench_claim(bench, "k");
	assert_int_equal(
	    bench_claimed(bench, &op, &claim), E_STORE_REFUSED);
	assert_int_equal(store_unsettled(bench->store), 1);
	redis_just(bench->redis, "DEL %s", leases);
	freeReplyObject(keys);
	bench_until(bench, bench_is_settled);
	next_claim_is_ours(bench, "k", 3);
}

/* A record that was being asked about is free for others to ask about. */
static void
what_was_asked_about_and_is_not_executed_goes_back(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	bench_free(&bench);
	*state = bench = bench_new(
	    NULL, durable,
	    "\"on_unknown\": {\"reconcile\": {\"path\": \"/{key}\", "
	    "\"settle\": \"0s\"}}");
	struct claim claim = bench_claimed_ours(bench, &op, "k");
	struct owned_claim owned = bench_owned(bench, &claim, op.attempt);
	bench_op(bench, &op);
	outcome_store(bench->store, &op, &owned,
	    &(struct owned_outcome){JOURNAL_UNKNOWN, .reason = REASON_TIMEOUT});
	assert_int_equal(bench_wait(bench, &op), 0);

	claim = bench_claim(bench, "k");
	assert_int_equal(bench_claimed(bench, &op, &claim), 0);
	assert_int_equal(op.verdict, VERDICT_RECONCILE);
	claim.reconciled = true;
	redis_just(bench->redis, "CONFIG SET maxmemory 1");
	assert_int_equal(bench_claimed(bench, &op, &claim), E_STORE_REFUSED);
	bench_until(bench, bench_is_settled);
	redis_just(bench->redis, "CONFIG SET maxmemory 0");
	claim = bench_claim(bench, "k");
	assert_int_equal(bench_claimed(bench, &op, &claim), 0);
	assert_int_equal(op.verdict, VERDICT_RECONCILE);
}

static long long
connections_made(struct bench *bench)
{
	static const char word[] = "total_connections_received:";
	redisReply *info = redis_do(bench->redis, "INFO stats");
	const char *at = strstr(info->str, word);
	assert_non_null(at);
	long long made = strtoll(at + sizeof word - 1, NULL, 10);
	freeReplyObject(info);
	return made;
}

static long long made_before;

static bool
has_connected_anew(struct bench *bench)
{
	return connections_made(bench) > made_before && bench_is_up(bench);
}

/* The address of a demoted master may lead to the new one. */
static void
a_replica_is_left_for_whoever_has_its_address(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	redis_just(bench->redis, "REPLICAOF 127.0.0.1 1");
	bench_renew_store(bench);
	struct claim claim = bench_claim(bench, "k");
	assert_int_equal(bench_claimed(bench, &op, &claim), E_STORE_REFUSED);
	made_before = connections_made(bench);
	/* It is down so briefly that a look at it may not see that. */
	bench_until(bench, has_connected_anew);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SHORT(name) \
	cmocka_unit_test_setup_teardown(name, set_up_short, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(steps_fail_while_redis_is_away_and_are_taken_afterwards),
	    SHORT(a_claim_on_a_frozen_redis_ends_in_time_and_leaves_nothing),
	    SHORT(what_is_asked_after_a_freeze_waits_no_longer_than_its_time),
	    SHORT(a_freeze_is_noticed_without_a_request),
	    SHORT(a_complete_that_was_late_is_taken_once),
	    TEST(a_claim_that_nobody_waits_for_is_given_back),
	    TEST(a_claim_that_was_never_sent_is_forgotten),
	    TEST(a_store_that_is_freed_ends_what_is_pending),
	    TEST(a_claim_that_failed_half_way_is_given_back),
	    TEST(what_was_asked_about_and_is_not_executed_goes_back),
	    TEST(a_replica_is_left_for_whoever_has_its_address),
	};
	return cmocka_run_group_tests_name("store_faults", tests, NULL, NULL);
}
