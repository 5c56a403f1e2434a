/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/error.h"
#include "base/histogram.h"
#include "store/record/script.h"
#include "store/store_health.h"
#include "store/types.h"

/*
 * The store: records of idempotency keys in Redis, each changed by one atomic
 * script (src/store/record/lua/) on Redis' own clock.  C never decides a
 * transition.  It knows nothing of HTTP requests or upstreams.  One store per
 * worker, used by that worker's thread only.  It claims by
 * claim.h, and stores what comes of a claim by outcome.h.
 *
 * Each operation is embedded in its owner.  When op is done, either op.error is
 * 0 and verdict is what the script decided; or op.error is E_STORE_DOWN,
 * E_STORE_REFUSED or E_TIMEOUT, and nothing is known, except that a claim that
 * failed so is given back by the store itself; or the record is COMPLETED (or
 * FENCED and COMPLETED), and its answer cannot be had now: E_NO_MEMORY, the
 * budget does not allow it; or any error, and fetches is set: it is large and
 * did not come.  Operations other than a claim may be repeated until they are
 * answered.
 *
 * An operation ends with E_TIMEOUT when Redis has been silent for
 * store.timeout; while bytes flow, it may take longer.
 */
struct store;

/* Redis has answered, and verdict says what, even if there is an error. */
static inline bool
store_op_answered(const struct store_op *op)
{
	return op->op.error == 0 || op->op.error == E_NO_MEMORY || op->fetches;
}

/*
 * The record itself is damaged, or of a later release: an outcome did not reach
 * it, and nobody else has decided.  A record that says COMPLETED, and has an
 * answer that nobody can read, is none of these.
 */
bool store_op_broken(const struct store_op *op);

/* The record is COMPLETED, and its large answer did not come. */
static inline bool
store_op_unfetched(const struct store_op *op)
{
	return op->fetches && op->op.error != 0 && op->op.error != E_NO_MEMORY;
}

/*
 * A new store on that loop; it connects, and connects again, by itself.
 * Operations that are started before the first attempt to connect has ended
 * wait for it.  health outlives it, and so does took, or it is NULL: to
 * took[script], SCRIPT_COUNT_ of them, it adds the time that each run of a
 * script takes, from sending to reply, in microseconds.
 */
struct store *store_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, struct store_health *health,
    struct histogram *took);
/*
 * Operations that are still pending end with E_STORE_DOWN; nulls the
 * caller's pointer, accepts NULL.
 */
void store_free(struct store **store);
/* Begins to listen for what others change; once per store.  Copied. */
void store_listen(struct store *store, const struct store_listener *listener);
/*
 * All changes that others had made by then, as clock_us() has it, were heard;
 * 0: nothing is known of that.  While all is well, that is a second ago.
 */
int64_t store_heard_us(const struct store *store);
/* The latest time that Redis' clock may show now, ms since 1970. */
int64_t store_latest_ms(const struct store *store);
/*
 * From now on no operation takes longer than store.timeout, even while bytes
 * flow: the process is about to end.
 */
void store_hurry(struct store *store);
/* This store's, and a part of it. */
const struct identity *store_identity(const struct store *store);
/* True while Redis answers; in a cluster, at least one server that has ours. */
bool store_is_up(const struct store *store);
/*
 * The memory that Redis uses, and its limit (0: none), as it said a few seconds
 * ago; false while that is not known.
 */
MUST_USE bool store_memory(const struct store *store, uint64_t *ret_bytes,
    uint64_t *ret_max_bytes);
/*
 * The number of claims that are not answered, or are being given back and not
 * confirmed: for a drain, whose claims have no owner any more.
 */
unsigned store_unsettled(const struct store *store);

/*
 * An answer of so many stored bytes, or more, goes by a connection of its own,
 * in both directions, as it may take longer than a claim may wait (brief() of
 * lua/brief.lua holds back as much from the other connection).
 */
enum { STORE_LARGE_BYTES = 64 * 1024 };
