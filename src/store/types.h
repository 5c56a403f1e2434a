/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/answer.h"
#include "conf/conf.h"
#include "loop/op.h"
#include "record/key_id.h"
#include "record/owner.h"
#include "record/reason.h"
#include "record/state.h"
#include "record/verdict.h"

/*
 * What is handed to a store and what it hands back; store.h has the verbs.
 */

/*
 * A verb under way, a member of who waits for it.  When op is done, op.error
 * is 0 and verdict says what the script decided, or op.error is E_STORE_DOWN,
 * E_STORE_REFUSED or E_TIMEOUT and nothing is known; E_NO_MEMORY: the record
 * is COMPLETED and the budget does not allow its answer now.
 */
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

/* A claim to be made. */
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

/* A claim that is ours: who takes the steps that end it. */
struct held {
	struct key_id key_id;
	struct owner owner;
	uint32_t attempt;
	uint8_t fingerprint[DIGEST_BYTES]; /* for store_complete alone */
	const struct conf_idempotency *policy;
	struct span route;
};

/* Who is to be told of what others change. */
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
