/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/claimant.h"
#include "gate/key_waiters.h"
#include "messages/shared/letter.h"
#include "messages/source/inquiry.h"
#include "messages/source/source.h"
#include "store/records.h"

/*
 * A delivery is a message's wait for its end: beside struct request, the other
 * one who claims a key and starts executions.  It makes a request of its
 * message, claims the key, and is acknowledged when Redis has the record
 * COMPLETED, or its letter; on its way it may wait, rest, or stand still with
 * its source.  It knows no broker but through its source's reader.  The
 * worker's thread only.
 */

/*
 * What the delivery of a letter has besides: an operator has it executed again,
 * under its own key, or dropped; or it comes back because the one before it in
 * its lane is done with.  Its broker has acknowledged it long ago: so it ends
 * with a result and a mark in the broker's own place, and then in the store,
 * which names the next of its lane.  It stays a letter where it cannot be
 * executed.  Also here is the end of one whose acknowledgement nobody has
 * confirmed.  It needs a reader to put something with, and any gateway's will
 * do.
 */
struct replay {
	struct delivery *delivery;
	enum letter_act act;
	struct letter_name name;
	struct owner owner;
	int64_t until_us; /* it is ours, by clock_us */
	struct timer renew;
	struct letter_op renewal;
	bool shut;  /* it does not open */
	bool tried; /* its record was executed, or released */
	struct records_op record;
};

struct delivery {
	struct machine machine;
	struct source *source;
	struct replay *replay; /* of a letter; NULL: its broker has it */
	struct broker_message *message; /* of a letter: once it is begun */
	struct arena *arena; /* of the message, and of all of this */
	struct lane_place place;
	bool placed; /* it was given its place, or needs none */
	struct letters_lane lane; /* where it has a place */
	uint64_t number; /* the first that its source took has 1 */
	size_t charged; /* for it and its body (source_credit.h), to its end */

	/* The request of this try; c is there while its arena is not NULL. */
	struct claimant c;
	struct body body;
	struct key_waiter waiter; /* its op is that of each rest, too */
	bool busy;  /* its entity is held: by another record */
	bool whole; /* the stored answer is wanted, not only its status */
	bool bare;  /* that is too large: its status has to be enough */
	bool asks;  /* the claim asks what is known, and takes nothing */
	bool lost;  /* and makes the record UNKNOWN that is missed */
	bool looks; /* the claim has nobody asked about what is UNKNOWN */
	bool there; /* its record was, at the look just now */

	/* What is known of its key. */
	bool old;   /* it is not executed, unless something is known of that */
	bool tried; /* something is: its key may be claimed */
	/*
	 * The attempt of it that may be executed, or one before that: its
	 * record is not to be missing, nor one of an earlier attempt.  0: none.
	 */
	uint32_t sent;
	struct span own_id; /* of its execution that was not stored; "": none */
	bool parks; /* its lane is parked: it is behind, unless COMPLETED */
	int met; /* status of its last execution here; 0: no answer came */
	struct source_refusals refusals; /* of its API */

	/* What people see of the last try, also after its request. */
	struct span detail; /* of a mismatch, or why no request was made */
	char key_hex[DIGEST_HEX + 1]; /* "": there was none */
	uint32_t attempt;             /* of its record; 0 */
	const char *route;            /* NULL */
	struct span label;            /* "" */

	struct standing_place stand; /* its source stands still */
	unsigned next; /* the step after its rest, of enum delivery_step */
	bool resting;
	bool finishing; /* it is not at work any more */
	bool rejected; /* the broker does not take its end, alone of all */
	bool refused;  /* it did not take it once */
	/* What operators are told: HELD, RETRYING or WAITING, and why. */
	enum message_state rested;
	const char *why; /* of tbl/meanings.h; NULL: nothing was found yet */
	struct inquiry *dropped; /* an operator waits for its end; or NULL */
	unsigned tries;
	unsigned yields;       /* somebody had locked it when it ended */
	int64_t next_ms;       /* when it is tried again, by the wall clock */
	int64_t first_ms;      /* when it was taken, by the wall clock */
	int64_t began_us;      /* the same, by clock_us */
	/*
	 * Since then the store is to have its data: it came again, somebody was
	 * at it, or its lane was gone all at once; and it has waited for
	 * something else since.  0: it need not.
	 */
	int64_t again_us;
	bool proves; /* it waits for that alone, or for an operator's word */
	int64_t held_since_ms; /* by loop_now_ms; 0: it is not */
	int64_t known_us; /* since then it may be another thing, by clock_us */

	/* How it ends. */
	enum message_outcome outcome; /* what it is counted as */
	enum message_outcome reason;  /* of a letter */
	bool burying; /* the store is asked to have its letter */
	bool buried; /* it becomes a letter, or stays one … */
	bool was_letter; /* … and it is one already, … */
	bool sought;     /* … which was asked */
	bool namesake; /* its position is that of the letter of another */
	struct letter letter; /* that is written, or was found */
	struct letter_op written;
	struct broker_put put;
	struct arena *put_arena; /* has what of it is its own; or NULL */
	struct broker_finish finish;
};

/* A new one; it runs.  The message is its own now. */
void delivery_new(struct source *source, struct broker_message *message);
/*
 * That of a letter: it is begun, or taken over, if nobody has it; nothing
 * happens where one of that letter runs here already.
 */
void delivery_replay_new(struct source *source,
    const struct letter_name *name, enum letter_act act);
/* Its acknowledgement is on its way. */
bool delivery_is_finishing(const struct machine *machine);
/* That, or its letter is being confirmed or ended after it. */
bool delivery_is_ending(const struct machine *machine);
struct delivery *delivery_of(struct machine *machine);
/* That of what stands there; NULL: there is none. */
struct delivery *delivery_find(
    const struct source *source, struct span position);
/* The status of its answer, stored or met; 0: there is none. */
int delivery_status(const struct delivery *d);
/* What its letter is called. */
struct letter_name delivery_letter_name(const struct delivery *d);

/* What operators see of it, and tell it. */

enum message_state delivery_view_state(const struct delivery *d);
/* How many of a source's are in each state. */
void delivery_count_states(
    const struct source *source, uint64_t ret_counts[MESSAGE_STATES_]);
/* What it is now, in the inquiry's arena. */
struct message_view *delivery_view(
    const struct delivery *d, struct inquiry *inquiry);
/*
 * Has it acknowledged, its record untouched; the inquiry goes on when that is
 * so.  False: it is at work, and nothing was changed.
 */
MUST_USE bool delivery_view_drop(struct delivery *d, struct inquiry *inquiry);
/* It is over: whoever had it dropped hears of that. */
void delivery_view_over(struct delivery *d);
