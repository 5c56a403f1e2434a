/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call_reply.h"
#include "store/channel.h"

/*
 * Claims of one turn of the loop leave together, in one run of a script, and so
 * do answers that are stored, and letters that are sought: what Redis does for
 * a run besides its commands costs it more than they do.  It does the usual
 * ones (lua/claims.lua, lua/completes.lua, lua/seeks.lua), each by itself: each
 * has its own verdict, error and deadline.  One that is not usual is to be sent
 * again alone, as a run of its own script, and so is each where Redis refuses
 * all.  In a cluster each leaves by itself, because its keys must be of one
 * slot.
 *
 * It knows how such a run is asked for and answered, and neither calls nor
 * records.  For src/store/ alone; the store's thread.  A batch belongs to its
 * channel, or where it was sent to that channel's link, and frees itself.
 */
struct batch_item;

/* Redis does nothing else meanwhile: about half a millisecond. */
enum { BATCH_ITEMS = 64 };

struct batch {
	struct channel_run run; /* of the script that does all of them */
	struct channel *channel;
	bool sent;
	size_t bytes; /* of their arguments */
	size_t own_args; /* of each of them */
	size_t n_items;
	struct batch_item *items[BATCH_ITEMS];
};

/* An item's end; all that it points to is valid during done(). */
struct batch_result {
	enum {
		BATCH_ANSWERED, /* reply says how */
		BATCH_REFUSED,  /* Redis refuses this one, by that error */
		BATCH_LOST,     /* nobody knows whether it was executed */
		BATCH_UNUSUAL,  /* it is to be sent alone */
	} what;
	bool in_doubt; /* UNUSUAL: perhaps it was executed all the same */
	int64_t sent_us; /* when it was sent */
	struct call_reply reply;
	const struct redisReply *error;
};

/* A member of each call that may leave with others. */
struct batch_item {
	/*
	 * Fills in, in their place, the arguments that depend on the node or
	 * the time, each time before it is sent, also alone.  NULL: it has
	 * none.
	 */
	void (*prepare)(struct batch_item *item);
	/* Its end, once; it may be sent, and freed, from here. */
	void (*done)(
	    struct batch_item *item, const struct batch_result *result);
	enum script script; /* claim, complete or letter: what it is alone */
	uint32_t attempt;   /* of which the answer is to be stored */
	/*
	 * The arguments that it would have alone, which live until it is done,
	 * and the offsets there of those that are sent of it: two keys (as the
	 * script has them); its terms, unless they are those of the one before;
	 * and its own, which follow them.  own_to is 0: it may
	 * not leave with others.
	 */
	const struct resp *whole;
	size_t keys_from, keys_to, terms_from, own_from, own_to;
	struct batch *batch; /* NULL: it is in none */
};

/*
 * It leaves at the end of the turn at the latest; false: the channel sends
 * nothing in batches now.
 */
MUST_USE bool batch_add(struct channel *channel, struct batch_item *item);
/* The channel's link was freed: what was not sent yet is lost. */
void batch_end(struct channel *channel);
