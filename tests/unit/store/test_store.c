/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/ports.h"
#include "lib/store_bench.h"
#include "store/leases.h"
#include "store/outcome.h"

/* The operations of a store, on a redis-server that works well. */

static int
set_up(void **state)
{
	*state = bench_new(NULL, NULL, "");
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;
	bench_free(&bench);
	return 0;
}

static void
a_step_that_is_fenced_brings_the_truth(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	struct claim claim = bench_claimed_ours(bench, &op, "k");
	struct owned_claim owned = bench_owned(bench, &claim, 1);
	struct owned_claim other = owned;
	owner_new(&other.owner);

	bench_op(bench, &op);
	outcome_store(bench->store, &op, &other,
	    &(struct owned_outcome){JOURNAL_UNKNOWN, .reason = REASON_TIMEOUT});
	assert_int_equal(bench_wait(bench, &op), 0);
	assert_int_equal(op.verdict, VERDICT_FENCED);
	assert_int_equal(op.state, STATE_PROCESSING);
	assert_null(op.answer);

	assert_int_equal(bench_completed(bench, &owned, "mine"), VERDICT_DONE);
	struct answer *answer = bench_answer(bench, "not mine");
	bench_op(bench, &op);
	outcome_store(bench->store, &op, &other,
	    &(struct owned_outcome){.answer = answer});
	assert_int_equal(bench_wait(bench, &op), 0);
	assert_int_equal(op.verdict, VERDICT_FENCED);
	assert_int_equal(op.state, STATE_COMPLETED);
	assert_true(span_eq(body_span(&op.answer->body), SPAN("mine")));
	answer_unref(&op.answer);
	answer_unref(&answer);

	struct claim gone = bench_claim(bench, "another");
	owned = bench_owned(bench, &gone, 1);
	assert_int_equal(bench_completed(bench, &owned, "x"), VERDICT_GONE);
}

static void
large_and_binary_answers_are_replayed_byte_for_byte(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	size_t len = 1024 * 1024;
	char *bytes = mem_zero(len);
	for (int i = 0; i < 2; i++) {
		/* Bodies that compress well, and not at all. */
		if (i == 1)
			randombytes_buf(bytes, len);
		struct body body = {.budget = &bench->budget};
		assert_int_equal(body_append(&body, bytes, len), 0);
		struct fields none = {NULL, 0};
		struct answer *answer =
		    answer_new(200, &none, &body, SPAN(""));
		struct claim claim =
		    bench_claimed_ours(bench, &op, i ? "noise" : "zeros");
		struct owned_claim owned = bench_owned(bench, &claim, 1);
		bench_op(bench, &op);
		outcome_store(bench->store, &op, &owned,
		    &(struct owned_outcome){.answer = answer});
		assert_int_equal(bench_wait(bench, &op), 0);
		owner_new(&claim.owner);
		assert_int_equal(bench_claimed(bench, &op, &claim), 0);
		assert_int_equal(op.verdict, VERDICT_COMPLETED);
		assert_true(span_eq(
		    body_span(&op.answer->body), span_of(bytes, len)));
		answer_unref(&op.answer);
		/* The same without memory for it. */
		atomic_store(&bench->budget.limit, len);
		owner_new(&claim.owner);
		assert_int_equal(
		    bench_claimed(bench, &op, &claim), E_NO_MEMORY);
		assert_null(op.answer);
		atomic_store(&bench->budget.limit, 16 * len);
		answer_unref(&answer);
	}
	free(bytes);
}

/* Stores an answer with a body of so many bytes under that key. */
static void
complete_with(struct bench *bench, const char *key, const char *bytes,
    size_t len)
{
	struct store_op op;
	struct body body = {.budget = &bench->budget};
	assert_int_equal(body_append(&body, bytes, len), 0);
	struct fields none = {NULL, 0};
	struct answer *answer = answer_new(202, &none, &body, SPAN(""));
	struct claim claim = bench_claimed_ours(bench, &op, key);
	struct owned_claim owned = bench_owned(bench, &claim, 1);
	bench_op(bench, &op);
	outcome_store(bench->store, &op, &owned,
	    &(struct owned_outcome){.answer = answer});
	assert_int_equal(bench_wait(bench, &op), 0);
	answer_unref(&answer);
}

/* As a claim that wants no more than the status is answered. */
static void
is_brief(struct bench *bench, const char *key)
{
	struct store_op op;
	struct claim claim = bench_claim(bench, key);
	claim.brief = true;
	assert_int_equal(bench_claimed(bench, &op, &claim), 0);
	assert_int_equal(op.verdict, VERDICT_COMPLETED);
	assert_int_equal(op.answer->status, 202);
	assert_true(op.brief);
	assert_int_equal(op.answer->body.len, 0);
	assert_false(op.fetches);
	assert_true(op.until_ms > op.now_ms);
	answer_unref(&op.answer);
	claim.brief = false;
	owner_new(&claim.owner);
	assert_int_equal(bench_claimed(bench, &op, &claim), 0);
	assert_false(op.brief);
	assert_true(op.answer->body.len > 0);
	answer_unref(&op.answer);
}

/* Whatever its size: plain, compressed, and what would be fetched by itself. */
static void
a_brief_claim_brings_the_status_and_no_body(void **state)
{
	struct bench *bench = *state;
	size_t len = 1024 * 1024;
	char *bytes = mem_zero(len);
	complete_with(bench, "plain", "hello", 5);
	complete_with(bench, "compressed", bytes, 100000);
	randombytes_buf(bytes, len);
	complete_with(bench, "large", bytes, len);
	memset(bytes + len / 4, 0, 3 * len / 4);
	complete_with(bench, "large, compressed", bytes, len);
	is_brief(bench, "plain");
	is_brief(bench, "compressed");
	is_brief(bench, "large");
	is_brief(bench, "large, compressed");
	free(bytes);
}

/* Whoever claims says how many attempts there may be; FAILED is for all. */
static void
a_claim_brings_its_own_number_of_attempts(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	assert_int_equal(bench->policy->max_attempts, 5);
	for (uint32_t attempt = 1; attempt <= 7; attempt++) {
		struct claim claim = bench_claim(bench, "k");
		claim.max_attempts = 7;
		assert_int_equal(bench_claimed(bench, &op, &claim), 0);
		assert_int_equal(op.verdict, VERDICT_OURS);
		assert_int_equal(op.attempt, attempt);
		struct owned_claim owned = bench_owned(bench, &claim, attempt);
		bench_op(bench, &op);
		outcome_store(bench->store, &op, &owned,
		    &(struct owned_outcome){
			JOURNAL_RELEASE, .release = RELEASE_COUNTED});
		assert_int_equal(bench_wait(bench, &op), 0);
		assert_int_equal(op.verdict, VERDICT_DONE);
	}
	struct claim claim = bench_claim(bench, "k");
	assert_int_equal(bench_claimed(bench, &op, &claim), 0);
	assert_int_equal(op.verdict, VERDICT_FAILED);
	claim = bench_claim(bench, "k");
	claim.max_attempts = 100;
	assert_int_equal(bench_claimed(bench, &op, &claim), 0);
	assert_int_equal(op.verdict, VERDICT_FAILED);
}

static void
names_in_redis_are_hashed_and_share_their_shard_s_tag(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	struct claim claim = bench_claimed_ours(bench, &op, "secret-key");
	char hex[DIGEST_HEX + 1];
	hex_encode(claim.key_id.bytes, DIGEST_BYTES, hex);
	unsigned long shard = strtoul(
	    (char[]){hex[0], hex[1], hex[2], hex[3], hex[4], hex[5], hex[6],
		hex[7], 0},
	    NULL, 16) % 64;
	assert_int_equal(redis_integer(bench->redis,
			     "EXISTS onceproxy:{%lu}:r:%s", shard, hex), 1);
	assert_int_equal(redis_integer(bench->redis,
			     "ZRANK onceproxy:{%lu}:leases %s", shard, hex), 0);
	assert_int_equal(redis_integer(bench->redis,
			     "STRLEN onceproxy:{0}:store"), 22);
	assert_int_equal(redis_integer(bench->redis,
			     "EXISTS onceproxy:{0}:data"), 1);
	assert_int_equal(redis_integer(bench->redis, "DBSIZE"), 4);
}

/* --- renewal --- */

enum { RENEWALS = 40 };

static void
leases_are_renewed_together_and_lost_ones_are_told(void **state)
{
	struct bench *bench = *state;
	struct renewal renewals[RENEWALS] = {0};
	struct store_op op;
	char key[16], hex[DIGEST_HEX + 1];
	for (int i = 0; i < RENEWALS; i++) {
		snprintf(key, sizeof key, "k%d", i);
		struct claim claim = bench_claimed_ours(bench, &op, key);
		renewals[i].owned = bench_owned(bench, &claim, 1);
		renewals[i].lost = true;
	}
	/* One is deleted, one is completed, one is somebody else's. */
	hex_encode(renewals[7].owned.key_id.bytes, DIGEST_BYTES, hex);
	redisReply *keys = redis_do(bench->redis, "KEYS *%s", hex);
	redis_just(bench->redis, "DEL %s", keys->element[0]->str);
	freeReplyObject(keys);
	bench_completed(bench, &renewals[8].owned, "done");
	renewals[9].owned.attempt = 2;

	bench_op(bench, &op);
	leases_renew(bench->store, &op, renewals, RENEWALS);
	assert_int_equal(bench_wait(bench, &op), 0);
	for (int i = 0; i < RENEWALS; i++)
		assert_int_equal(renewals[i].lost, i >= 7 && i <= 9);

	bench_op(bench, &op);
	leases_renew(bench->store, &op, renewals, 0);
	assert_int_equal(bench_wait(bench, &op), 0);
}

static void
a_renewal_that_was_given_up_touches_nothing(void **state)
{
	struct bench *bench = *state;
	struct store_op op;
	struct renewal *renewals = mem_zero(RENEWALS * sizeof *renewals);
	struct claim claim = bench_claimed_ours(bench, &op, "k");
	for (int i = 0; i < RENEWALS; i++) {
		renewals[i].owned = bench_owned(bench, &claim, 1);
		renewals[i].owned.key_id.bytes[3] ^= (uint8_t)i;
	}
	bench_op(bench, &op);
	leases_renew(bench->store, &op, renewals, RENEWALS);
	op_cancel(&op.op);
	free(renewals);
	/* Its replies come before this operation's. */
	struct owned_claim owned = bench_owned(bench, &claim, 1);
	assert_int_equal(bench_completed(bench, &owned, "x"), VERDICT_DONE);
}

/* --- names --- */

static void
a_scope_fields_name_is_the_same_in_all_letters(void **state)
{
	struct bench *bench = *state;
	char upper[] = "Authorization", lower[] = "authorization";
	struct conf_scope lists[] = {{.header = upper}, {.header = lower}};
	const struct span value = SPAN("a");
	struct key_id ids[2];
	for (int i = 0; i < 2; i++) {
		const struct conf_scopes names = {&lists[i], 1};
		key_id_make(bench->conf, SPAN("n"), &names, &value, SPAN("k"),
		    &ids[i]);
	}
	assert_memory_equal(&ids[0], &ids[1], sizeof ids[0]);
}

static void
a_redis_that_wants_a_password_is_reached_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *url;
		bool works;
	} cases[] = {
	    {"redis://:secret@localhost:%d/3", true},
	    {"redis://default:secret@127.0.0.1:%d", true},
	    {"redis://:wrong@127.0.0.1:%d", false},
	    {"redis://127.0.0.1:%d", false},
	    {"redis://:secret@127.0.0.1:%d/99", false},
	    {"redis://:secret@no-such-host.invalid:%d", false},
	};
	char port[8];
	snprintf(port, sizeof port, "%u", ports_free());
	const char *const options[] = {
	    "--port", port, "--bind", "127.0.0.1", NULL};
	struct redis *redis = redis_start(options);
	redis_just(redis, "CONFIG SET requirepass secret");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct store_op op;
		char *url = mem_zero(128);
		const char *mark = strstr(cases[i].url, "%d");
		snprintf(url, 128, "%.*s%s%s", (int)(mark - cases[i].url),
		    cases[i].url, port, mark + 2);
		struct bench *bench = bench_new(url, NULL, "");
		struct claim claim = bench_claim(bench, "k");
		int error = bench_claimed(bench, &op, &claim);
		if (cases[i].works)
			assert_int_equal(error, 0);
		else
			assert_true(
			    error == E_STORE_DOWN || error == E_TIMEOUT);
		assert_int_equal(store_is_up(bench->store), cases[i].works);
		bench_free(&bench);
		free(url);
	}
	redis_just(redis, "SELECT 3");
	assert_int_equal(redis_integer(redis, "DBSIZE"), 4);
	redis_stop(&redis);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_step_that_is_fenced_brings_the_truth),
	    TEST(a_brief_claim_brings_the_status_and_no_body),
	    TEST(a_claim_brings_its_own_number_of_attempts),
	    TEST(large_and_binary_answers_are_replayed_byte_for_byte),
	    TEST(names_in_redis_are_hashed_and_share_their_shard_s_tag),
	    TEST(leases_are_renewed_together_and_lost_ones_are_told),
	    TEST(a_renewal_that_was_given_up_touches_nothing),
	    TEST(a_scope_fields_name_is_the_same_in_all_letters),
	    cmocka_unit_test(a_redis_that_wants_a_password_is_reached_by_name),
	};
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
