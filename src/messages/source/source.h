/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"
#include "gate/worker.h"
#include "messages/broker/broker.h"
#include "messages/members.h"
#include "messages/shared/floors.h"
#include "messages/shared/letters.h"
#include "messages/shared/pause.h"
#include "messages/shared/leadership.h"
#include "messages/source/lanes.h"
#include "messages/source/source_meter.h"
#include "store/record/key_set.h"

/*
 * A source takes messages from its broker, as many as it has credit for, and
 * makes a delivery of each (source/delivery.h).  It stands still while
 * something that no message is to blame for is in the way.  It knows nothing of
 * what becomes of a message, and its broker only as broker/broker.h shows it.
 * One worker has it; that worker's thread only.
 *
 * Circle: delivery, message_end, restore, source, source_credit, source_proof,
 * source_standing.  A source makes its deliveries, which tell it what stands in
 * their way.
 */
struct delivery;

/* Why it stands still, as bits: 1u << STANDING_STORE … */
enum standing {
#define STANDING(name, word, sentence) STANDING_##name,
#include "tbl/standings.h"
#undef STANDING
	STANDING_COUNT_,
};

/* What the API says, whichever message may be to blame. */
#define STANDINGS_OF_API                                                      \
	(1u << STANDING_UPSTREAM | 1u << STANDING_TOKEN |                      \
	    1u << STANDING_REDIRECTED)

enum {
	SOURCE_RESTING_MAX = 10000, /* more that wait, and it takes none */
	SOURCE_UNSENT_MAX = 5,      /* in a row, and it stands still */
	SOURCE_REFUSED_MAX = 5,     /* the same, of what else is refused */
	SOURCE_FINISHING_MAX = 2000, /* and it takes none */
};

struct source {
	struct part_member member;
	struct worker *worker;
	const struct conf *conf; /* a reference: source is of it */
	const struct conf_source *source;
	struct source_meter *meter;
	struct broker_reader *reader; /* NULL: it reads nothing now */
	struct leadership leadership; /* where one gateway at a time reads it */
	struct letters letters; /* dead and parked messages */
	struct pause pause;   /* an operator's */
	struct floors floors; /* of what its broker counts */
	struct machines deliveries;
	struct machines replays; /* of letters */
	bool left; /* there were more letters to replay than it could */
	struct restore *restore; /* under way; NULL: none */
	struct hash lanes;
	/* The store that it began with, and what else is known of stores. */
	char store_id[72]; /* "": not known */
	char other_store[72]; /* the broker knows that one; "" */
	bool heard;          /* the broker has said which store it knows */
	int64_t origin_us;   /* when, until that is compared; 0 */
	bool asked;   /* whether an operator has accepted that one */
	bool doubted; /* a message has come that may have been executed */
	uint64_t emptied_at; /* of taken, when Redis lost its data; 0: never */
	struct task prove; /* the store is asked, once for all of a turn */
	unsigned in_flight; /* taken and at work */
	unsigned finishing; /* their results wait to be put, many at a time */
	unsigned resting;   /* held, or waiting to be tried again */
	size_t bytes;       /* that its messages have of the budget */
	size_t wanted; /* the same of one that waits for memory; 0: none */
	unsigned burying; /* become letters: the store is being asked */
	unsigned rejected; /* are held, as the broker takes no end of them */
	unsigned credit;    /* that the reader has now */
	uint64_t taken;     /* of all times */

	struct list waiting; /* of standing_place, the newest first */
	unsigned standing; /* of enum standing */
	bool unshared; /* it stands as Redis does not say what gateways share */
	char why[STANDING_COUNT_][512]; /* the trouble, for operators */
	unsigned unsent;   /* in a row */
	unsigned refused;  /* so many ends in a row, each alone */
	uint64_t executed; /* messages, and stored */
	unsigned refused_by_api; /* messages, since one was executed */
	enum standing api_standing; /* for that; STANDING_COUNT_: none */
	bool token_refused; /* the route does not take its own */
	int64_t probe_ms;  /* until the next one may try */
	unsigned probing;  /* that try, for all others */
	struct timer probe;
	struct timer look;
	struct task settle; /* the credit is worked out anew */
	int64_t drained_ms; /* then nothing is waited for any more */
};

/*
 * What a message has been refused by its API.  Where five different messages
 * are refused in a row, or one five times with none executed between, it is the
 * API that refuses, and not the message: the source stands.
 */
struct source_refusals {
	uint64_t run;      /* of the source's executions, when that was last */
	unsigned count;    /* in that run */
	uint64_t attempted; /* of those, at the message's last attempt */
};

/* Where a delivery waits until it is let go; a member of it. */
struct standing_place {
	struct op *op; /* its owner's; done: it may go on */
	struct list item; /* of its source's, while it waits */
	bool to_finish; /* before its acknowledgement, not before its claim */
	bool probes;    /* it tries for all others */
};

/* Begins to read. */
struct source *source_new(struct worker *worker, const struct conf *conf,
    const struct conf_source *source, struct source_meter *meter);

/* As struct member_kind has them. */

/*
 * Gives everything back at once: what is being executed goes on without it, and
 * only acknowledgements that are on their way are waited for.
 */
void source_drain(struct part_member *member);
bool source_is_drained(struct part_member *member);
void source_free(struct part_member *member);
