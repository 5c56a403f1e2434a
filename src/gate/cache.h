/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/answer.h"
#include "base/counter.h"
#include "store/store.h"

/*
 * The cache gives answers from memory: COMPLETED is final until the record
 * ends, so a worker may replay such an answer without asking Redis.  When an
 * operator deletes or releases a record, Redis says so (store_listen), and its
 * answer is dropped; while Redis could not say it, nothing is given or kept.
 * An answer that was under way when a change was heard of may be that of the
 * record before it: so whoever asks Redis takes a mark first, and puts the
 * answer with that mark.  The least recently used answers go first.  The cache
 * knows nothing of requests.  The worker's thread only.
 */
struct cache;

/* An answer, and as much of its record as a replay needs. */
struct cached {
	struct answer *answer; /* the cache's reference */
	uint32_t attempt;
	uint8_t fingerprint[DIGEST_BYTES];
	int64_t until_ms; /* on Redis' clock: when the record ends */
};

/*
 * A cache of limit bytes at most; 0: nothing is ever kept.  It counts the bytes
 * that it has, and the answers that it gave; both counters outlive it.
 */
struct cache *cache_new(
    size_t limit, struct counter *bytes, struct counter *hits);
void cache_free(struct cache **cache);

/*
 * Tells the cache that changes of records are heard of, or are not.  A new
 * cache is not subscribed; it becomes empty each time that this changes.
 */
void cache_subscribed(struct cache *cache, bool subscribed);

/*
 * Returns the answer of that record, valid until the next call, or NULL; now_ms
 * is the latest that Redis' clock may show.
 */
const struct cached *cache_find(
    struct cache *cache, const struct key_id *key_id, int64_t now_ms);

/* A mark is taken before Redis is asked for a record (cache_put). */
typedef uint64_t cache_mark;
cache_mark cache_asking(struct cache *cache, const struct key_id *key_id);
/*
 * Keeps an answer: takes a reference, and takes its body off the budget of what
 * is in flight.  Does nothing where the answer is too large, or where the
 * record was changed since the mark was taken.
 */
void cache_put(struct cache *cache, const struct key_id *key_id,
    cache_mark mark, const struct cached *cached);

/* Forgets a record, which somebody has changed; NULL: all of them. */
void cache_drop(struct cache *cache, const struct key_id *key_id);
