/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/timer.h"
#include "messages/shared/shared.h"
#include "store/record/key_set.h"

/*
 * Since when messages of a source are held, in Redis, so that neither a restart
 * of all gateways nor the loss of their records makes one that nobody knows
 * anything of a new one.  It knows a message by its position alone, whose hash
 * is its name there, and not why it is held.  Which are held is loaded, asked
 * again now and then, and followed by channels: what was never held costs
 * nothing.  While that is not known, each may be.  A member of its owner, which
 * stops it before it or the store is gone; the store's thread.
 */
enum {
	HOLDS_ASK_MS = 4000,  /* where there are few */
	HOLDS_ASK_FEW = 250,  /* times as long for each of so many */
	HOLDS_KNOWN = 20000,  /* of more, none is known */
	HOLDS_RETRY_MS = 500, /* where Redis did not say */
};

struct holds {
	struct shared shared;
	int64_t most_ms; /* longer than that need not be known */
	int64_t keep_ms; /* for so long, what nobody drops */
	bool known;      /* what is in names, and no other, may be held */
	struct key_set names;
	struct store_call *call; /* under way; NULL: none */
	bool again; /* there may be a new one since that was sent */
	struct timer timer;
	struct subscriber_hearing hearing;
};

/*
 * kind and name as in shared_init; a message is held for at most most_ms, and
 * what nobody drops or notes again is forgotten keep_ms later; both above 0.
 */
void holds_start(struct holds *holds, struct store *store, struct loop *loop,
    const char *kind, const char *name, int64_t most_ms, int64_t keep_ms);
/* Zeroed memory is stopped. */
void holds_stop(struct holds *holds);
/* Others had its messages until now: what is known may be old. */
void holds_load(struct holds *holds);
/* Whether the message may be held, by whichever gateway. */
bool holds_may(const struct holds *holds, struct span position);

/*
 * An operation, a member of its owner; it and its errors are as in
 * store/store.h, and it may be repeated until it is answered.
 */
struct hold_op {
	struct store_op op;
	int64_t held_ms; /* DONE: for so long by now, at most most_ms */
};
/* It has been held for held_ms, or was already for longer or shorter: DONE. */
void holds_note(struct holds *holds, struct hold_op *op, struct span position,
    int64_t held_ms);
/* DONE; or GONE: it is not held. */
void holds_find(struct holds *holds, struct hold_op *op, struct span position);
/* It is held no more; nobody waits for that. */
void holds_drop(struct holds *holds, struct span position);
