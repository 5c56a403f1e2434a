/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/claimant.h"
#include "gate/key_waiters.h"
#include "messages/shared/parked.h"
#include "messages/source/inquiry.h"
#include "messages/source/letter.h"
#include "messages/source/source.h"
#include "store/records.h"

/*
 * A delivery is a message's wait for its end: beside struct request, the other
 * one who claims a key and starts executions.  It makes a request of its
 * message, claims the key, and is acknowledged when Redis has the record
 * COMPLETED; on its way it may wait, rest, or stand still with its source.  It
 * knows no broker but through its source's reader.  The worker's thread only.
 */
struct delivery {
	struct machine machine;
	struct source *source;
	struct broker_message *message;
	struct lane_place place;
	bool placed; /* it was given its place, or needs none */
	struct parked_lane lane; /* where it has a place */
	struct parked_op park;
	bool parked; /* its lane is parked, and it is the first of it */
	bool known;  /* its lane is parked, and its record is COMPLETED */
	bool proved; /* the first of its lane was looked for, for it */
	struct broker_letters *first; /* of the first's, or its own; or NULL */
	bool missing; /* the first has not been found, once */
	uint64_t number; /* the first that its source took has 1 */

	/* The request of this try; c is there while arena is not NULL. */
	struct claimant c;
	struct body body;
	struct key_waiter waiter;
	bool busy;  /* its entity is held: by another record */
	bool whole; /* the stored answer is wanted, not only its status */
	bool old;   /* expired, unless something is known of its key */
	bool looks; /* the claim asks whether anything is, and takes nothing */
	bool tried; /* something is: its key may be claimed */
	/* An attempt may have happened: its record is not to be missing. */
	bool sent;
	bool there; /* it was not, at the look just now */
	bool gone;  /* it was, and the message is held for that */
	bool let;   /* an operator has it go on all the same */
	/* Since when it is held, Redis knows from now on. */
	struct hold_op hold;
	bool noted;
	bool recalled; /* and it was asked whether it was before */

	/* Its bytes were given back, and are read again when it goes on. */
	bool shed;
	unsigned stood; /* at how many looks in a row it stood still */
	struct broker_again again;
	size_t reserved; /* for what is read again */
	struct records_op record; /* of one that is held without its bytes */
	const struct conf *held_under; /* a reference; or NULL */

	struct op gate; /* it may go on: its source goes again */
	bool probe;     /* it tries for all others */
	struct op rest;
	bool resting;
	bool finishing; /* it is not at work any more */
	bool starving; /* it waits for memory */
	bool held; /* it rests until somebody decides */
	bool rejected; /* the broker does not take its end, alone of all */
	bool refused;  /* it did not take it once */
	/* What operators are told: HELD, RETRYING or WAITING, and why. */
	enum message_state rested;
	const char *why; /* of tbl/meanings.h; NULL: nothing was found yet */
	char key_hex[DIGEST_HEX + 1]; /* of the last try; "" */
	uint32_t attempt;             /* the same; 0 */
	const char *route;            /* the same; NULL */
	struct span label;            /* the same; "" */
	struct inquiry *dropped; /* an operator waits for its end; or NULL */

	/* Of a dead letter that is brought back, or dropped. */
	struct letter letter;
	struct inquiry *asked; /* an operator waits for its begin; or NULL */
	bool drop;
	bool behind;   /* another one is the first of its lane */
	bool confirmed; /* it is there itself, as was seen just now */
	bool decided;  /* Redis knows that it is about to be finished */
	bool released; /* its record was */
	struct records_op release;
	unsigned tries;
	unsigned yields;       /* somebody had locked it when it ended */
	int64_t next_ms;       /* when it is tried again, by the wall clock */
	int64_t first_ms;      /* when it was taken, by the wall clock */
	int64_t began_us;      /* the same, by clock_us */
	int64_t held_since_ms; /* by loop_now_ms; 0: it is not */

	/* How it ends. */
	enum message_outcome outcome; /* what it is counted as */
	enum message_outcome reason;  /* of a dead letter */
	bool buried;                  /* it is a dead letter */
	int met; /* the status of its last attempt here; 0: none came */
	struct span detail;
	struct broker_put put;
	struct arena *put_arena; /* has what of it is its own; or NULL */
	struct broker_finish finish;
};

/* Each second: what rests by now gives its bytes back (delivery_memory.c). */
void delivery_memory_look(struct delivery *d);

/* A new one; it runs.  The message is its own now. */
void delivery_new(struct source *source, struct broker_message *message);
/*
 * The same of a dead letter: it is executed again, or dropped.  lane: the
 * parked one that it is the first of; NULL: not known.  asked: an operator's,
 * who hears that it has begun, or why not; of a drop, that it is over; NULL:
 * nobody's.
 */
struct delivery_letter {
	const struct parked_lane *lane;
	struct inquiry *asked;
	bool drop;
};
void delivery_new_letter(struct source *source,
    struct broker_message *message, const struct delivery_letter *letter);
/* It stands, and may go on: as the one that tries, or with all others. */
void delivery_let_go(struct delivery *d, bool probe);
/* Whether it stands still before its claim, or before its acknowledgement. */
bool delivery_stands(struct machine *machine, bool *ret_to_finish);
/* Its acknowledgement is on its way. */
bool delivery_is_finishing(const struct machine *machine);
struct delivery *delivery_of(struct machine *machine);
/* That of what stands there, a dead letter's too; NULL: there is none. */
struct delivery *delivery_find(
    const struct source *source, struct span position);

/* What operators see of it, and tell it (delivery_view.c). */

enum message_state delivery_view_state(const struct delivery *d);
/* What it is now, in the inquiry's arena. */
struct message_view *delivery_view(
    const struct delivery *d, struct inquiry *inquiry);
/*
 * Has it acknowledged, its record untouched; the inquiry goes on when that is
 * so.  False: it is at work, and nothing was changed.
 */
MUST_USE bool delivery_view_drop(struct delivery *d, struct inquiry *inquiry);
/*
 * It is held because its record is gone: it is executed all the same.  False:
 * it is not held for that, and nothing was changed.
 */
MUST_USE bool delivery_view_replay(struct delivery *d);
/* It is over: whoever had it dropped hears of that. */
void delivery_view_over(struct delivery *d);
