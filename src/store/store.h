/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/histogram.h"
#include "record/script.h"
#include "store/renew.h"
#include "store/store_health.h"
#include "store/types.h"

/*
 * The store: records of idempotency keys in Redis, each changed by one
 * atomic Lua step (src/lua/) on Redis' own clock.  It knows nothing of HTTP
 * requests or upstreams; C never decides a transition.  One store per
 * worker, called by that worker's thread only.
 *
 * Every verb starts an operation that its owner embeds; when op is done,
 * op.error is 0 and verdict says what the script decided, or op.error is
 * E_STORE_DOWN, E_STORE_REFUSED or E_TIMEOUT and nothing is known but this:
 * a claim that failed so is given back by the store itself.  E_NO_MEMORY:
 * the record is COMPLETED and the budget does not allow its answer now.
 * Steps other than a claim may be repeated until they are answered.
 */
struct store;

/*
 * A new store on that loop; connects by itself and again when lost.  What is
 * asked before the first attempt to connect has ended waits for it.  health
 * outlives it.
 */
struct store *store_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, struct store_health *health);
/*
 * Operations that are still pending end with E_STORE_DOWN; nulls the
 * caller's pointer, accepts NULL.
 */
void store_free(struct store **store);
/* Once per store. */
void store_listen(struct store *store, const struct store_listener *listener);
/* The latest that Redis' clock may show now, ms since 1970. */
int64_t store_latest_ms(const struct store *store);
/*
 * From now on this store looks for leases that ran out, on whichever
 * gateway, and makes their records UNKNOWN, within a few seconds; the log is
 * told of each.  It also asks Redis every few seconds whether it still is a
 * master that evicts nothing.  One store per process does both.
 */
void store_sweep(struct store *store);
/*
 * From now on took[script] has what each run took, from when it was sent
 * to its answer; SCRIPT_COUNT_ of them, which outlive the store.
 */
void store_measure(struct store *store, struct histogram *took);
/* True while Redis answers. */
bool store_is_up(const struct store *store);
/*
 * "HOST:PORT" of the master that the Sentinels name, which the caller frees;
 * NULL where none is known.
 */
char *store_master(const struct store *store);
/*
 * Why this Redis, which answers, is not given new claims (they end with
 * E_STORE_REFUSED, retries of what is COMPLETED do not): a sentence that says
 * what to do; NULL where all is well.
 */
const char *store_fault(const struct store *store);
/*
 * What Redis uses of its memory, and its limit (0: none), as it said a few
 * seconds ago; false while that is not known.
 */
MUST_USE bool store_memory(const struct store *store, uint64_t *ret_bytes,
    uint64_t *ret_max_bytes);
/* How many given-back claims Redis has not confirmed yet (for drain). */
unsigned store_unsettled(const struct store *store);

/*
 * Claims the key: OURS, or what the record says (IN_FLIGHT, UNKNOWN,
 * COMPLETED with its answer, FAILED, MISMATCH, BROKEN).  Takes store.timeout
 * at most.  A claim that ends in an error, or that is cancelled while it is
 * pending, is given back in the background, so that the next retry executes;
 * its owner must not claim again (a new one does).  One that is done when it
 * is cancelled is its owner's to release.
 *
 * RECONCILE (policy->on_unknown is UNKNOWN_RECONCILE): the attempt, whose
 * number it brings, is unknown, and this owner alone holds its record to ask
 * the upstream about it.  It then completes it (store_complete), or claims
 * it with reconciled set and executes it as OURS, or puts it back as it was
 * (store_mark_unknown with any reason, or store_release).
 */
void store_claim(
    struct store *store, struct store_op *op, const struct claim *claim);

/* PROCESSING, or UNKNOWN of the same attempt, becomes COMPLETED: DONE, or
 * FENCED (with the record's answer where it has one), or GONE. */
void store_complete(struct store *store, struct store_op *op,
    const struct held *held, const struct answer *answer);
/* The same, of an answer as it is stored (record/answer_codec.h); status is
 * for its event, 0 where nobody knows it. */
void store_complete_stored(struct store *store, struct store_op *op,
    const struct held *held, struct span bytes, int status);
/* The key is free again: DONE, FENCED or GONE.  sent: the attempt counts
 * towards max_attempts.  One that was not sent, and followed one whose
 * outcome is unknown, leaves that one UNKNOWN. */
void store_release(struct store *store, struct store_op *op,
    const struct held *held, bool sent);
/* PROCESSING becomes UNKNOWN: DONE, FENCED or GONE. */
void store_mark_unknown(struct store *store, struct store_op *op,
    const struct held *held, enum reason reason);
