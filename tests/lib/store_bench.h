/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "lib/redis.h"
#include "store/store.h"

/*
 * A store on a loop of its own and, if wanted, a redis-server, with functions
 * that start an operation and run the loop until it has ended.  A failure here
 * fails the test.
 */
struct bench {
	struct loop *loop;
	struct budget budget;
	const struct conf *conf;
	struct store_health *health;
	struct store *store;
	struct redis *redis;
	const struct conf_idempotency *policy;
};

/* store.timeout: where Redis works, and where the test waits for its end. */
enum { BENCH_TIMEOUT_MS = 5000, BENCH_SHORT_MS = 400 };

/*
 * A store on that URL (NULL: a redis-server of the bench's, started with these
 * options); idempotency is the text of the route's object.
 */
struct bench *bench_new(
    const char *url, const char *const *options, const char *idempotency);
/* The same, with a redis-server, and store.timeout is BENCH_SHORT_MS. */
struct bench *bench_new_short(const char *const *options);
/*
 * The same on a cluster of one shard, and a server that has no slots yet;
 * store.timeout is BENCH_TIMEOUT_MS.
 */
struct bench *bench_new_cluster(void);
void bench_free(struct bench **bench);

/* Replaces the store by a new one with the same configuration. */
void bench_renew_store(struct bench *bench);
/*
 * The same, and store.timeout is BENCH_TIMEOUT_MS from then on.  What was made
 * with the policy of before has none any more.
 */
void bench_take_time(struct bench *bench);

/* An operation whose end stops the loop. */
void bench_op(struct bench *bench, struct store_op *op);
/* Runs the loop until the operation is done; its error. */
int bench_wait(struct bench *bench, struct store_op *op);
/* Runs the loop until store_is_up() is that. */
void bench_until(struct bench *bench, bool (*is_so)(struct bench *bench));
bool bench_is_up(struct bench *bench);
bool bench_is_down(struct bench *bench);
bool bench_is_settled(struct bench *bench);

/* The claim of that key by a new owner. */
struct claim bench_claim(struct bench *bench, const char *key);
/* That claim as its owner has it, to end it. */
struct owned_claim bench_owned(
    struct bench *bench, const struct claim *claim, uint32_t attempt);
/* Claims and waits: 0 or an error; op has the verdict. */
int bench_claimed(
    struct bench *bench, struct store_op *op, const struct claim *claim);
/* Claims, with new owners, until the verdict is OURS; the last claim. */
struct claim bench_claimed_ours(
    struct bench *bench, struct store_op *op, const char *key);

/* A small answer with that body. */
struct answer *bench_answer(struct bench *bench, const char *body);
/* Completes with that body and waits; the verdict. */
enum verdict bench_completed(
    struct bench *bench, const struct owned_claim *owned, const char *body);
/* Asserts that a new claim of that key is answered with that body. */
void bench_replays(struct bench *bench, const char *key, const char *body);
