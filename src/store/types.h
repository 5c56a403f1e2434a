/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/answer.h"
#include "base/arena.h"
#include "base/list.h"
#include "base/loop/op.h"
#include "base/loop/timer.h"
#include "conf/conf.h"
#include "store/record/key_id.h"
#include "store/record/origin.h"
#include "store/record/owner.h"
#include "store/record/reason.h"
#include "store/record/release.h"
#include "store/record/state.h"
#include "store/record/verdict.h"

/*
 * The arguments and results of a store's functions, which are in store.h.
 * Plain data; the store's thread.
 */

/*
 * An operation of a store, a member of whatever waits for it; store.h says how
 * it ends.
 */
enum { STORE_VERSION_BYTES = 72, STORE_ID_BYTES = 136 };

struct store_op {
	struct op op;
	enum verdict verdict;
	/* Results, each of the verdicts that it names: */
	uint32_t attempt;        /* OURS: the fencing number, from 1 */
	uint32_t tries;          /* OURS, RECONCILE: of the record, … */
	int64_t created_ms;      /* … and when it was made; 0: not known */
	/*
	 * OURS, RECONCILE, FAILED: the first request's id; "": this one.
	 * MISMATCH: the same; "": not known.
	 */
	char first_id[STORE_ID_BYTES];
	enum reason reason;      /* UNKNOWN, RECONCILE */
	/* FENCED: the record's state; DONE of a release: where it is UNKNOWN */
	enum record_state state;
	struct answer *answer;   /* COMPLETED, FENCED with one: counted, the
				    owner of the operation unrefs it */
	int64_t lease_left_ms;   /* IN_FLIGHT, BUSY */
	int64_t settle_left_ms;  /* UNKNOWN: before it may be asked about, … */
	int64_t unknown_ms;      /* … and for how long it is */
	int64_t now_ms;          /* Redis' clock, when it answered */
	bool before; /* FENCED: the attempt after it may come to nothing */
	/* MISMATCH: what the first request had another of, where its id is
	 * known: m method, p path, - the rest. */
	char differs;
	struct key_id holder; /* BUSY: the record that holds the entity */
	/* STALE: the highest version, as JSON; "" where it is too long. */
	char current[STORE_VERSION_BYTES];
	bool unreadable; /* BROKEN: it is well, but its answer does not open */
	/*
	 * COMPLETED: the answer has its status and nothing else, and is not to
	 * be given to anybody.  Only where the claim had brief set, and not
	 * always then.
	 */
	bool brief;
	bool beyond; /* E_NO_MEMORY: for its answer all memory is too little */
	bool quiet; /* the log has heard of its damaged record before */
	/*
	 * The record is COMPLETED, and its answer is so large that it is asked
	 * for by itself: an error says that it did not come, and no more.
	 */
	bool fetches;
	/*
	 * Redis has told of a record that is not ours to execute, and replicas
	 * are asked for; or its slot is being moved: an error does not say that
	 * Redis is away.
	 */
	bool reached;
	bool gone; /* the record was, also where it was made again since */
	/*
	 * RECONCILE: the attempt was sent with the mark that the claim's owner
	 * has; since when it is unknown, by Redis' clock; and since when its
	 * witness is known to say `started`, 0: nobody knows of that.
	 */
	bool marked;
	int64_t unknown_at_ms;
	int64_t started_at_ms;
	/*
	 * RECONCILE of a claim that asks: the record's fingerprint, its
	 * provenance with acts, and the question that rests in it; empty: none
	 * does, or none that can be read.  In the claim's arena.
	 */
	struct span fingerprint, provenance, question;
	int64_t until_ms; /* COMPLETED: when the record ends; 0: not known */
	/* The store's own: */
	struct arena *arena;
	struct list calls; /* those under way */
	int failure;       /* the first error of them */
};

/* The entity that a request changes, and its version (record/version.h). */
struct store_entity {
	uint8_t name[DIGEST_BYTES];
	struct span version; /* in digits; empty: no newer_only */
	struct span shown;   /* the same as JSON */
	bool serialize;
};

/* A claim to be made. */
struct claim {
	struct key_id key_id;
	struct owner owner;
	uint8_t fingerprint[DIGEST_BYTES];
	const struct conf_idempotency *policy; /* lease, retention, … */
	/*
	 * So many attempts that count (record/release.h); one more, and it is
	 * FAILED, whoever claims it: from 1.
	 */
	int64_t max_attempts;
	struct span provenance; /* record/provenance.h, without acts */
	const struct store_entity *entity;     /* NULL: none */
	/*
	 * This owner was answered RECONCILE, and the upstream says that the
	 * attempt did not happen: now it is to be executed.
	 */
	bool reconciled;
	/*
	 * With reconciled: nothing is to be executed, and the key is set free
	 * (DONE).
	 */
	bool frees;
	/*
	 * Nobody has come with a request: the gateway asks by itself about a
	 * record that is UNKNOWN, of the route that stands for the provenance.
	 * Its fingerprint is not known yet.  Answers: RECONCILE; GONE, there is
	 * nothing to ask about; UNKNOWN, not yet.
	 */
	bool asks;
	struct arena *arena; /* where it asks: for its reply */
	/*
	 * Of a route whose gateways ask by themselves and need the question for
	 * it: what asks about this attempt, which the record keeps, sealed.
	 * May be empty.
	 */
	struct span question;
	/*
	 * With reconciled: what the record's history is to say, a letter and
	 * provenance_act_text(); may be empty.
	 */
	struct span asked;
	/*
	 * Where it is IN_FLIGHT or BUSY, store_listen's changed is to hear of
	 * the end of that.
	 */
	bool waits;
	/*
	 * Of a COMPLETED record its status is enough (store_op's brief).
	 */
	bool brief;
	/*
	 * Of on_unknown: reconcile, a hash of the query that would ask what
	 * became of this attempt, in hex digits; no other query may ask that.
	 * May be empty.
	 */
	struct span query_hash;
	/* Nothing new may be executed: instead of ours, E_STORE_REFUSED. */
	bool withheld;
	/* Of an attempt that is UNKNOWN: that is told, and it is not asked. */
	bool looks;
	/*
	 * That attempt was sent, and its record is not there, or is one of an
	 * attempt before: one is made that is UNKNOWN, so that nobody executes
	 * it (withheld, too).  0: nothing is missed.
	 */
	uint32_t lost;
	/*
	 * The gateway has an outcome of the key that Redis has not: as if it
	 * were withheld, and E_STORE_REFUSED also where the record says
	 * UNKNOWN, or would say so now.
	 */
	bool has_outcome;
};

/* A claim that is ours, as the operations need it that end it. */
struct owned_claim {
	struct key_id key_id;
	struct owner owner;
	uint32_t attempt;
	uint8_t fingerprint[DIGEST_BYTES];
	/* With which a record is made again that is gone; 0: it cannot be. */
	int64_t created_ms;
	uint32_t tries;
	const struct conf_idempotency *policy;
	struct span provenance; /* of the claim */
	bool labelled;          /* that may have a label */
	const struct store_entity *entity; /* as in the claim */
	/* Of an owner that asked: as in the claim. */
	struct span asked;
};

/* Which store it is, and which data it has (identity.h). */
enum { IDENTITY_CHARS = 22, IDENTITY_MAX = 64 };
struct identity {
	struct origin origin; /* as far as it is known */
	/* Its id, as it is in Redis, and that of its data; "": not known. */
	char kept[IDENTITY_MAX + 1];
	char data[IDENTITY_MAX + 1]; /* another one where all of it was lost */
	/*
	 * Redis has been asked, or has refused, once: until then, an outcome of
	 * another id may be ours all the same.
	 */
	bool answered;
	/* By clock_us(), when that was asked which it has told; 0: never. */
	int64_t as_of_us;
	/* The store's own: */
	bool asking;
	int64_t began_us;   /* when it was asked last */
	struct timer timer; /* to ask again */
};

/* Hears what others change. */
struct store_listener {
	/*
	 * Called for each record that is no longer PROCESSING and was found
	 * IN_FLIGHT by a claim with waits set, and for each that an operator
	 * has changed.  NULL: something may have been missed, so it may be any.
	 */
	void (*changed)(void *arg, const struct key_id *key_id);
	/*
	 * Called when it changes whether changes are heard: with false within
	 * three seconds of a loss, with true only when it was proven.  NULL:
	 * nobody asks, and nothing is proven.
	 */
	void (*hears)(void *arg, bool hears);
	void *arg;
};
