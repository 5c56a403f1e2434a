/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lua/steps.h"

/*
 * What a request changes (src/store/record/lua/entities.lua): versions and
 * holders, of one key and the other, which are of different shards.
 */

#define HERE "7}:r:" ID
#define THERE "9}:r:" OTHER_ID
#define NOBODY_HOLDS "- - "

static const struct changed serialized = {"", "", true};
static const struct changed v1 = {"125000000000" "1", "1", false};
static const struct changed v2 = {"125000000000" "2", "2", false};
static const struct changed v3 = {"125000000000" "3", "3", false};
static const struct changed both = {"125000000000" "2", "2", true};

/* --- setups: both ways of store.scripting, with and without events --- */

static void
begin_quiet(void)
{
	telling = other = waiting = unsafe = false;
	changed = NULL;
	redis_just(redis, "FLUSHALL");
}

static int
quiet_by_script(void **state)
{
	begin_quiet();
	return by_script(state);
}

static int
quiet_by_function(void **state)
{
	begin_quiet();
	return by_function(state);
}

static int
telling_by_script(void **state)
{
	begin_quiet();
	telling = true;
	return by_script(state);
}

static int
telling_by_function(void **state)
{
	begin_quiet();
	telling = true;
	return by_function(state);
}

#define IN_ALL(test)                                               \
	cmocka_unit_test_setup(test, quiet_by_script),             \
	    {#test " (function)", test, quiet_by_function, NULL,   \
		NULL},                                             \
	    {#test " (events)", test, telling_by_script, NULL,     \
		NULL},                                             \
	    {#test " (function, events)", test, telling_by_function, \
		NULL, NULL}

/* --- steps --- */

/* Steps are about the one key, or the other, from now on. */
static void
with(bool which, const struct changed *what)
{
	other = which;
	changed = what;
}

static redisReply *
claims(const char *owner, const char *policy)
{
	return claim(owner, PRINT, policy, 9, 0);
}

/* A claim of the other key, and what it is answered. */
static void
other_gets(const struct changed *what, const char *owner, const char *word)
{
	with(true, what);
	word_is(claims(owner, "hold"), word);
	other = false;
}

static void
entity_is(const char *expected)
{
	redisReply *reply = redis_do(redis, "GET t:{%s", ENTITY);
	assert_string_equal(
	    reply->type == REDIS_REPLY_STRING ? reply->str : "", expected);
	freeReplyObject(reply);
}

static void
text_is(const char *command, const char *key, const char *expected)
{
	redisReply *reply = redis_do(redis, command, key);
	assert_int_equal(reply->type, REDIS_REPLY_STRING);
	assert_string_equal(reply->str, expected);
	freeReplyObject(reply);
}

/* Its lease has been over for a while. */
static void
end_lease(const char *record)
{
	redis_just(redis, "SETRANGE %s 42 1700000000000", record);
}

static bool
exists(const char *key)
{
	return redis_integer(redis, "EXISTS %s", key) == 1;
}

static void
answer_is(redisReply *reply, size_t i, const char *expected)
{
	assert_in_range(i, 0, reply->elements - 1);
	assert_string_equal(reply->element[i]->str, expected);
}

/* --- versions --- */

static void
only_what_is_above_the_highest_completed_version_is_claimed(void **state)
{
	(void)state;
	with(false, &v2);
	word_is(claims(A, "hold"), "OURS");
	entity_is("");
	word_is(step("complete", A, 1), "DONE");
	entity_is(NOBODY_HOLDS "1250000000002 2");
	with(true, &v2);
	redisReply *reply = claims(B, "hold");
	answer_is(reply, 4, "2");
	word_is(reply, "STALE");
	other_gets(&v1, B, "STALE");
	assert_false(exists(OTHER_RECORD));
	other_gets(&v3, B, "OURS");
	/* The same key gets its answer, whatever the version is by now. */
	with(false, &v2);
	word_is(claims(B, "hold"), "COMPLETED");
}

static void
a_key_that_may_be_executed_again_is_compared_again(void **state)
{
	(void)state;
	static const struct {
		const char *record, *owner, *policy, *word;
		const char *then; /* its state */
		const char *above; /* of a version that is not stale */
	} rows[] = {
	    {"R", X, "hold", "STALE", "R", "OURS"},
	    {"P asking", B, "execute", "STALE", "R", "OURS"},
	    {"U put back", B, "execute", "STALE", "R", "OURS"},
	    /* It may have been executed, so it is not said to be stale. */
	    {"U", X, "retry", "UNKNOWN", "U", "OURS"},
	    {"P expired", X, "retry", "UNKNOWN", "U", "OURS"},
	    {"P retry expired", X, "retry", "UNKNOWN", "U", "OURS"},
	    /* Nothing is executed: what becomes of it is another matter. */
	    {"U", X, "hold", "UNKNOWN", "U", "UNKNOWN"},
	    {"U", X, "reconcile:0", "RECONCILE", "P", "RECONCILE"},
	    {"P", X, "retry", "IN_FLIGHT", "P", "IN_FLIGHT"},
	    {"P", A, "retry", "OURS", "P", "OURS"},
	    {"F", X, "retry", "FAILED", "F", "FAILED"},
	    {"C", X, "hold", "COMPLETED", "C", "COMPLETED"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		print_message("# %s, %s\n", rows[i].record, rows[i].policy);
		put(rows[i].record);
		redis_just(redis, "SET t:{%s %s", ENTITY,
		    NOBODY_HOLDS "1250000000003 3");
		with(false, &v3);
		word_is(claims(rows[i].owner, rows[i].policy), rows[i].word);
		head_has(2, rows[i].then);
		/* With a version that is above it, nothing is stale. */
		put(rows[i].record);
		redis_just(redis, "SET t:{%s %s", ENTITY,
		    NOBODY_HOLDS "1250000000002 2");
		word_is(claims(rows[i].owner, rows[i].policy), rows[i].above);
	}
}

static void
a_version_that_is_completed_late_does_not_lower_it(void **state)
{
	(void)state;
	with(false, &v1);
	word_is(claims(A, "hold"), "OURS");
	other_gets(&v2, B, "OURS");
	other = true;
	word_is(step("complete", B, 1), "DONE");
	other = false;
	word_is(step("complete", A, 1), "DONE");
	entity_is(NOBODY_HOLDS "1250000000002 2");
}

static void
a_late_truth_raises_it_too(void **state)
{
	(void)state;
	with(false, &v2);
	word_is(claims(A, "hold"), "OURS");
	word_is(step("mark unknown", A, 1), "DONE");
	word_is(claims(B, "retry"), "OURS");
	word_is(step("mark unknown", B, 2), "DONE");
	entity_is("");
	word_is(step("complete", A, 1), "DONE");
	entity_is(NOBODY_HOLDS "1250000000002 2");
}

static void
an_operator_who_completes_raises_it(void **state)
{
	(void)state;
	static const char *const acts[] = {"release", "delete", "complete"};
	for (size_t i = 0; i < 3; i++) {
		begin_quiet();
		with(false, &v2);
		word_is(claims(A, "hold"), "OURS");
		word_is(step("mark unknown", A, 1), "DONE");
		word_is(operate(acts[i]), "DONE");
		entity_is(strcmp(acts[i], "complete")
			? ""
			: NOBODY_HOLDS "1250000000002 2");
	}
}

static void
a_version_is_remembered_for_unknown_retention(void **state)
{
	(void)state;
	with(false, &v1);
	word_is(claims(A, "hold"), "OURS");
	word_is(step("complete", A, 1), "DONE");
	ttl_is("t:{" ENTITY, UNKNOWN_RETENTION);
	redis_just(redis, "PEXPIRE t:{%s 1000", ENTITY);
	with(true, &v2);
	word_is(claims(B, "hold"), "OURS");
	ttl_is("t:{" ENTITY, 1000);
	word_is(step("complete", B, 1), "DONE");
	ttl_is("t:{" ENTITY, UNKNOWN_RETENTION);
	/* And not shorter than it was. */
	redis_just(redis, "PEXPIRE t:{%s %d", ENTITY, 2 * UNKNOWN_RETENTION);
	redis_just(redis, "DEL %s", RECORD);
	with(false, &v3);
	word_is(claims(A, "hold"), "OURS");
	word_is(step("complete", A, 1), "DONE");
	ttl_is("t:{" ENTITY, 2 * UNKNOWN_RETENTION);
}

/* --- holders --- */

static void
one_key_at_a_time_holds_an_entity(void **state)
{
	(void)state;
	with(false, &serialized);
	word_is(claims(A, "hold"), "OURS");
	entity_is(HERE " " A " - -");
	ttl_is("t:{" ENTITY, UNKNOWN_RETENTION);
	with(true, &serialized);
	redisReply *reply = claims(B, "hold");
	assert_in_range(reply->element[4]->integer, LEASE - 5000, LEASE);
	answer_is(reply, 5, ID);
	word_is(reply, "BUSY");
	assert_false(exists(OTHER_RECORD));
	entity_is(HERE " " A " - -");
	/* Whoever holds it may have it again, and retries of its key wait. */
	with(false, &serialized);
	word_is(claims(A, "hold"), "OURS");
	word_is(claims(X, "hold"), "IN_FLIGHT");
	/* Keys that do not serialize take no notice. */
	other_gets(NULL, B, "OURS");
}

static void
versions_and_holders_share_an_entity(void **state)
{
	(void)state;
	with(false, &both);
	word_is(claims(A, "hold"), "OURS");
	word_is(step("complete", A, 1), "DONE");
	entity_is(HERE " " A " 1250000000002 2");
	other_gets(&both, B, "STALE");
	other_gets(&serialized, B, "OURS");
	entity_is(THERE " " B " 1250000000002 2");
}

/* Whether the key is free, or would be executed or asked about again. */
static void
a_claim_that_finds_its_entity_busy_changes_nothing(void **state)
{
	(void)state;
	static const struct {
		const char *record, *owner, *policy;
	} rows[] = {{"none", X, "hold"}, {"R", X, "hold"}, {"U", X, "retry"},
	    {"U", X, "reconcile:0"}, {"U after retry", X, "retry"},
	    {"P expired", X, "retry"}, {"P expired", X, "reconcile:0"},
	    {"P asking", B, "execute"}, {"P asking expired", X, "retry"},
	    {"U put back", B, "execute"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char before[VALUE_MAX];
		print_message("# %s, %s\n", rows[i].record, rows[i].policy);
		put(rows[i].record);
		get_record(before);
		other_gets(&serialized, Y, "OURS");
		long long keys = redis_integer(redis, "DBSIZE");
		with(false, &serialized);
		outcome_is(claims(rows[i].owner, rows[i].policy), "BUSY =",
		    before);
		entity_is(THERE " " Y " - -");
		assert_int_equal(redis_integer(redis, "DBSIZE"), keys);
	}
}

/* Whatever ends a claim sets its entity free, without another step. */
static void
the_end_of_a_claim_sets_its_entity_free(void **state)
{
	(void)state;
	static const char *const ends[] = {"complete", "release sent",
	    "release unsent", "release refused", "forget refused",
	    "give back", "mark unknown", "expire", "lease", "lost"};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		const char *end = ends[i];
		print_message("# %s\n", end);
		redis_just(redis, "FLUSHALL");
		with(false, &serialized);
		word_is(claims(A, "hold"), "OURS");
		if (strcmp(end, "expire") == 0 || strcmp(end, "lease") == 0)
			end_lease(RECORD);
		if (strcmp(end, "expire") == 0)
			word_is(expire(), "UNKNOWN");
		else if (strcmp(end, "lost") == 0)
			redis_just(redis, "DEL %s", RECORD);
		else if (strcmp(end, "lease") != 0)
			word_is(step(end, A, strcmp(end, "give back") != 0),
			    "DONE");
		other_gets(&serialized, B, "OURS");
		entity_is(THERE " " B " - -");
	}
}

static void
who_asks_about_an_attempt_holds_its_entity(void **state)
{
	(void)state;
	with(false, &serialized);
	word_is(claims(A, "hold"), "OURS");
	word_is(step("mark unknown", A, 1), "DONE");
	word_is(claims(X, "reconcile:0"), "RECONCILE");
	entity_is(HERE " " X " - -");
	other_gets(&serialized, B, "BUSY");
	with(false, &serialized);
	word_is(step("mark unknown", X, 1), "DONE");
	other_gets(&serialized, B, "OURS");
	/* What it is told meanwhile comes too late. */
	with(false, &serialized);
	word_is(claims(X, "execute"), "BUSY");
	head_has(2, "Ub000001");
}

/* The other key has it: what was over is over. */
static void
an_owner_whose_lease_was_over_does_not_take_its_entity_back(void **state)
{
	(void)state;
	with(false, &serialized);
	word_is(claims(A, "hold"), "OURS");
	assert_int_equal(renew(A, 1), 1);
	/* Nobody has noticed. */
	end_lease(RECORD);
	assert_int_equal(renew(A, 1), 1);
	other_gets(&serialized, B, "BUSY");
	end_lease(RECORD);
	other_gets(&serialized, B, "OURS");
	with(false, &serialized);
	word_is(claims(A, "hold"), "BUSY");
	assert_int_equal(renew(A, 1), 0);
	entity_is(THERE " " B " - -");
	other = true;
	assert_int_equal(renew(B, 1), 1);
	/* What it knows is welcome all the same. */
	other = false;
	word_is(step("complete", A, 1), "DONE");
	other_gets(&serialized, X, "IN_FLIGHT");
}

static void
an_entity_lives_as_long_as_its_holder(void **state)
{
	(void)state;
	with(false, &serialized);
	word_is(claims(A, "hold"), "OURS");
	redis_just(redis, "PEXPIRE t:{%s 1000", ENTITY);
	assert_int_equal(renew(A, 1), 1);
	ttl_is("t:{" ENTITY, UNKNOWN_RETENTION);
	/* And not shorter than it was. */
	redis_just(redis, "PEXPIRE t:{%s %d", ENTITY, 2 * UNKNOWN_RETENTION);
	assert_int_equal(renew(A, 1), 1);
	ttl_is("t:{" ENTITY, 2 * UNKNOWN_RETENTION);
	/* What another holds is the other's. */
	end_lease(RECORD);
	other_gets(&serialized, B, "OURS");
	redis_just(redis, "PEXPIRE t:{%s 1000", ENTITY);
	assert_int_equal(renew(A, 1), 0);
	ttl_is("t:{" ENTITY, 1000);
}

/* Nobody holds anything where there are only versions. */
static void
an_owner_whose_lease_was_over_renews_it_whatever_was_completed(void **state)
{
	(void)state;
	with(false, &v1);
	word_is(claims(A, "hold"), "OURS");
	end_lease(RECORD);
	assert_int_equal(renew(A, 1), 1);
	end_lease(RECORD);
	other_gets(&v2, B, "OURS");
	other = true;
	word_is(step("complete", B, 1), "DONE");
	other = false;
	assert_int_equal(renew(A, 1), 1);
}

static void
who_waits_for_an_entity_leaves_a_mark_with_its_holder(void **state)
{
	(void)state;
	with(false, &serialized);
	word_is(claims(A, "hold"), "OURS");
	other_gets(&serialized, B, "BUSY");
	head_has(99, "\n");
	waiting = true;
	other_gets(&serialized, B, "BUSY");
	waiting = false;
	head_has(99, "+");
	redisContext *listener = redis_connect(redis);
	freeReplyObject(redisCommand(listener, "SUBSCRIBE t:{7}:changes"));
	word_is(step("complete", A, 1), "DONE");
	head_has(99, "\n");
	void *heard = NULL;
	assert_int_equal(redisGetReply(listener, &heard), REDIS_OK);
	answer_is(heard, 2, ID);
	freeReplyObject(heard);
	redisFree(listener);
}

/* --- a full Redis --- */

static void
be_full(bool full)
{
	redis_just(redis, "CONFIG SET maxmemory %d", full ? 1 : 0);
}

static void
is_refused(redisReply *reply)
{
	assert_int_equal(reply->type, REDIS_REPLY_ERROR);
	freeReplyObject(reply);
}

static void
a_full_redis_leaves_no_claim_half_done(void **state)
{
	(void)state;
	with(false, &both);
	word_is(claims(A, "hold"), "OURS");
	word_is(step("complete", A, 1), "DONE");
	long long keys = redis_integer(redis, "DBSIZE");
	const struct changed newer = {v3.version, v3.shown, true};
	be_full(true);
	with(true, &newer);
	is_refused(claims(B, "hold"));
	assert_int_equal(redis_integer(redis, "DBSIZE"), keys);
	entity_is(HERE " " A " 1250000000002 2");
	/* What needs no memory is answered as ever. */
	with(true, &both);
	word_is(claims(B, "hold"), "STALE");
	with(false, &both);
	word_is(claims(X, "hold"), "COMPLETED");
	be_full(false);
	with(true, &newer);
	word_is(claims(B, "hold"), "OURS");
	be_full(true);
	with(false, &newer);
	redis_just(redis, "DEL %s", RECORD);
	waiting = true;
	word_is(claims(X, "hold"), "BUSY");
	waiting = false;
	text_is("GETRANGE %s 99 99", OTHER_RECORD, "\n");
	/* An outcome is taken whole. */
	other = true;
	word_is(step("complete", B, 1), "DONE");
	entity_is(THERE " " B " 1250000000003 3");
	be_full(false);
}

/* --- damage --- */

static void
an_entity_that_nobody_can_read_holds_nothing(void **state)
{
	(void)state;
	redis_just(redis, "SET t:{%s ?", ENTITY);
	with(false, &both);
	word_is(claims(A, "hold"), "OURS");
	entity_is(HERE " " A " - -");
	word_is(step("complete", A, 1), "DONE");
	entity_is(HERE " " A " 1250000000002 2");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_ALL(
		only_what_is_above_the_highest_completed_version_is_claimed),
	    IN_ALL(a_key_that_may_be_executed_again_is_compared_again),
	    IN_ALL(a_version_that_is_completed_late_does_not_lower_it),
	    IN_ALL(a_late_truth_raises_it_too),
	    IN_ALL(an_operator_who_completes_raises_it),
	    IN_ALL(a_version_is_remembered_for_unknown_retention),
	    IN_ALL(one_key_at_a_time_holds_an_entity),
	    IN_ALL(versions_and_holders_share_an_entity),
	    IN_ALL(a_claim_that_finds_its_entity_busy_changes_nothing),
	    IN_ALL(the_end_of_a_claim_sets_its_entity_free),
	    IN_ALL(who_asks_about_an_attempt_holds_its_entity),
	    IN_ALL(
		an_owner_whose_lease_was_over_does_not_take_its_entity_back),
	    IN_ALL(an_entity_lives_as_long_as_its_holder),
	    IN_ALL(
		an_owner_whose_lease_was_over_renews_it_whatever_was_completed),
	    IN_ALL(who_waits_for_an_entity_leaves_a_mark_with_its_holder),
	    IN_ALL(a_full_redis_leaves_no_claim_half_done),
	    IN_ALL(an_entity_that_nobody_can_read_holds_nothing),
	};
	return cmocka_run_group_tests_name(
	    "entities", tests, start_redis, stop_redis);
}
