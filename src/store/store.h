/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/answer.h"
#include "base/digest.h"
#include "base/histogram.h"
#include "base/op.h"
#include "conf/conf.h"

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

/* What a script decided: one name for each line of tbl/verdicts.h. */
enum verdict {
#define VERDICT(name, word) VERDICT_##name,
#include "tbl/verdicts.h"
#undef VERDICT
	VERDICT_COUNT_,
};

/* The states of a record, of tbl/states.h. */
enum record_state {
#define STATE(name, letter, ...) STATE_##name,
#include "tbl/states.h"
#undef STATE
	STATE_COUNT_,
};

/* Why a record is UNKNOWN, of tbl/reasons.h. */
enum reason {
#define REASON(name, letter, word, ...) REASON_##name,
#include "tbl/reasons.h"
#undef REASON
	REASON_COUNT_,
};
/* The contract's word for a reason, such as "lease-expired". */
const char *reason_word(enum reason reason);

/* The name of a record: the hash over namespace, scope and key. */
struct key_id {
	uint8_t bytes[DIGEST_BYTES];
};

/* Unique per request: 128 random bits. */
struct owner {
	uint8_t bytes[16];
};
void owner_new(struct owner *ret_owner);

/*
 * What the stores of one process find out together about their Redis; any
 * thread makes it and frees it, when no store has it any more.
 */
struct store_health;
struct store_health *store_health_new(void);
/* Nulls the caller's pointer, accepts NULL. */
void store_health_free(struct store_health **health);

struct store_op {
	struct op op;
	enum verdict verdict;
	/* What the verdict brings along: */
	uint32_t attempt;        /* OURS: the fencing number, from 1 */
	enum reason reason;      /* UNKNOWN, RECONCILE */
	enum record_state state; /* FENCED: what the record is now */
	struct answer *answer;   /* COMPLETED, FENCED with one: counted, the
				    owner of the operation unrefs it */
	int64_t lease_left_ms;   /* IN_FLIGHT */
	int64_t now_ms;          /* Redis' clock when it answered */
	int64_t until_ms; /* COMPLETED: when the record ends; 0: not known */
	/* The store's own: */
	struct store_call *call; /* those that are under way */
	int failure;             /* the first of theirs */
};

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
/* Who wants to hear of what others change. */
struct store_listener {
	/*
	 * Of each record that a claim with waits set found IN_FLIGHT, and
	 * that is PROCESSING no longer, and of each that an operator has
	 * changed; NULL: something may have been missed, so it may be any.
	 */
	void (*changed)(void *arg, const struct key_id *key_id);
	/*
	 * Whether such word can be heard: false is told within three seconds
	 * of what ends it, and true only when it was proven.  NULL: nobody
	 * asks, and nothing is proven.
	 */
	void (*hears)(void *arg, bool hears);
	void *arg;
};
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
/* The scripts that a store runs, counted and by name, such as "claim". */
enum {
#define SCRIPT(name, word) STORE_OPERATION_##name,
#include "tbl/scripts.h"
#undef SCRIPT
	STORE_OPERATIONS,
};
const char *store_operation_word(unsigned operation);
/*
 * From now on took[operation] has what each run took, from when it was sent
 * to its answer; STORE_OPERATIONS of them, which outlive the store.
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

struct claim {
	struct key_id key_id;
	struct owner owner;
	uint8_t fingerprint[DIGEST_BYTES];
	const struct conf_idempotency *policy; /* lease, retention, … */
	struct span route;                     /* its name, kept for people */
	/*
	 * This owner was answered RECONCILE, has asked the upstream, and was
	 * told that it did not happen: now it is to be executed.
	 */
	bool reconciled;
	/* Where it is IN_FLIGHT, store_listen is to tell of its end. */
	bool waits;
};
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

/* Who steps: the claim that is ours. */
struct held {
	struct key_id key_id;
	struct owner owner;
	uint32_t attempt;
	uint8_t fingerprint[DIGEST_BYTES]; /* for store_complete alone */
	const struct conf_idempotency *policy;
	struct span route;
};
/* PROCESSING, or UNKNOWN of the same attempt, becomes COMPLETED: DONE, or
 * FENCED (with the record's answer where it has one), or GONE. */
void store_complete(struct store *store, struct store_op *op,
    const struct held *held, const struct answer *answer);
/* The key is free again: DONE, FENCED or GONE.  sent: the attempt counts
 * towards max_attempts.  One that was not sent, and followed one whose
 * outcome is unknown, leaves that one UNKNOWN. */
void store_release(struct store *store, struct store_op *op,
    const struct held *held, bool sent);
/* PROCESSING becomes UNKNOWN: DONE, FENCED or GONE. */
void store_mark_unknown(struct store *store, struct store_op *op,
    const struct held *held, enum reason reason);

/* Several leases renewed in one go (one command per shard). */
struct renewal {
	struct held held;
	bool lost; /* set at the end: the record is somebody else's, or gone */
	unsigned index; /* the store's own */
};
void store_renew(struct store *store, struct store_op *op,
    struct renewal *renewals, size_t count);

/*
 * key_id over namespace, key and the scope, keyed with store.secret.  Each
 * scope field counts with its name: the same value in another field is
 * another tenant.  values has scope->count places.
 */
void store_key_id(const struct conf *conf, struct span namespace,
    const struct strings *scope, const struct span *values, struct span key,
    struct key_id *ret_id);
