/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"
#include "gate/worker.h"
#include "messages/broker/broker.h"
#include "messages/shared/floors.h"
#include "messages/shared/holds.h"
#include "messages/shared/parked.h"
#include "messages/shared/pause.h"
#include "messages/shared/turn.h"
#include "messages/source/lanes.h"
#include "messages/source/source_dead.h"
#include "messages/source/source_meter.h"
#include "store/record/key_set.h"

/*
 * A source takes messages from its broker, as many as it has credit for, and
 * makes a delivery of each (source/delivery.h).  It stands still while
 * something that no message is to blame for is in the way.  It knows nothing of
 * what becomes of a message, and its broker only as broker/broker.h shows it.
 * One worker has it; that worker's thread only.
 *
 * Circle: delivery, source, source_credit, source_dead, source_floor,
 * source_letters, source_pause, source_standing.  A source makes its
 * deliveries, which tell it what stands in their way.
 */
struct delivery;

/* Why it stands still, as bits: 1u << STANDING_STORE … */
enum standing {
#define STANDING(name, word, sentence) STANDING_##name,
#include "tbl/standings.h"
#undef STANDING
	STANDING_COUNT_,
};

enum {
	SOURCE_RESTING_MAX = 10000, /* more that wait, and it takes none */
	SOURCE_UNSENT_MAX = 5,      /* in a row, and it stands still */
	SOURCE_REFUSED_MAX = 5,     /* the same */
	SOURCE_FINISHING_MAX = 2000, /* and it takes none */
};

struct source {
	struct source *next; /* of its worker */
	struct worker *worker;
	const struct conf *conf; /* a reference: source is of it */
	const struct conf_source *source;
	struct source_meter *meter;
	struct broker_reader *reader; /* NULL: it reads nothing now */
	struct turn turn;     /* where one gateway at a time reads it */
	struct parked parked; /* where it has an order, and parks */
	struct pause pause;   /* an operator's */
	struct floors floors; /* of what its broker counts */
	struct holds holds;   /* since when messages are held */
	struct source_letter *letters; /* that are looked for */
	struct source_dead dead; /* how many of them there are */
	struct machines deliveries;
	/* Of messages that were given back, and may have been executed. */
	struct key_set sent;
	/* Parked lanes, by their digests, whose first is a dead letter. */
	struct key_set firsts;
	const struct delivery *prover; /* looks for one; or NULL */
	struct lanes *lanes;
	unsigned in_flight; /* taken and at work */
	unsigned finishing; /* their results wait to be put, many at a time */
	unsigned resting;   /* held, or waiting to be tried again */
	unsigned starving; /* wait for memory for their bodies */
	unsigned rejected; /* are held, as the broker takes no end of them */
	unsigned credit;    /* that the reader has now */
	uint64_t taken;     /* of all times */

	unsigned standing; /* of enum standing */
	unsigned told;     /* of those, which the log has heard of */
	bool unshared; /* it stands as Redis does not say what gateways share */
	char why[512];     /* the last trouble, for operators */
	unsigned unsent;   /* in a row */
	unsigned refused;  /* so many ends in a row, each alone */
	int64_t probe_ms;  /* until the next one may try */
	unsigned probing;  /* that try, for all others */
	struct timer probe;
	struct timer look;
	struct task settle; /* the credit is worked out anew */
	bool draining;
	int64_t drained_ms; /* then nothing is waited for any more */
	bool telling; /* nothing is left but to tell what is finished */
};

/* Begins to read. */
struct source *source_new(struct worker *worker, const struct conf *conf,
    const struct conf_source *source, struct source_meter *meter);
/*
 * Gives everything back at once: what is being executed goes on without it, and
 * only acknowledgements that are on their way are waited for.
 */
void source_drain(struct source *source);
/* Whether the drain has nothing to wait for any more; asked in each turn. */
bool source_is_drained(struct source *source);
/* Ends what is left; nulls the pointer, accepts NULL. */
void source_free(struct source **source);

/* The turn that it needs and has; NULL: it needs none. */
const struct turn *source_turn(const struct source *source);
/*
 * Whether what it has taken may be begun: it needs no turn, or has it at this
 * moment, whatever the loop has come to.
 */
bool source_may_begin(const struct source *source);
