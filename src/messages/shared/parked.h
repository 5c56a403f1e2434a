/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/digest.h"
#include "base/loop/timer.h"
#include "messages/shared/parked_list.h"
#include "messages/shared/leadership.h"

/*
 * The parked lanes of a source: whose first message is a dead letter, so that
 * what comes behind it in its order follows it there, until an operator has
 * decided.  Redis has them, without an end (lua/park.lua); here is a copy, so
 * that each message need not ask.  The copy follows what is parked and freed
 * here, and by others as far as channels tell; it may lag behind, and so only
 * who leads, or owns the lane otherwise, goes by it, after it was loaded
 * since (parked_load).  A lane that it wrongly has is found out by
 * parked_behind.  It knows nothing of messages or brokers.  A member of its
 * owner, which stops it before it or the store is gone; the store's thread.
 *
 * There are PARKED_LANES_MAX lanes at most.  One more is REFUSED: its first
 * message cannot be put away without losing its order, so the source is to
 * stand still ("held") until an operator has freed some.
 */
enum { PARKED_LANES_MAX = 10000 };

/* The digest of the value that a message is ordered by. */
struct parked_lane {
	uint8_t bytes[DIGEST_BYTES];
};

struct parked_events {
	void (*changed)(void *arg);
	/* A lane that was loaded is to be brought back: entry->decided. */
	void (*decided)(void *arg, const struct parked_entry *entry);
	void *arg;
};

struct parked {
	struct shared shared;
	struct parked_events events;
	bool known;
	struct parked_lanes {
		struct parked_lane *list; /* in the order of their bytes */
		size_t count, size;
	} lanes, loading; /* what is known, and what is being loaded */
	struct parked_lanes freed; /* while the page is under way */
	char after[PARKED_PLACE_CHARS + 1]; /* the last that was loaded */
	struct store_call *call; /* that loads; NULL: none */
	bool again; /* it is to be loaded once more */
	struct timer timer;
	struct subscriber_hearing hearing;
};

/*
 * Loads them; changed is called when they are known, and when they have
 * changed.  events are copied; kind and name as in shared_init.
 */
void parked_start(struct parked *parked, struct store *store,
    struct loop *loop, const char *kind, const char *name,
    const struct parked_events *events);
/* Zeroed memory is stopped. */
void parked_stop(struct parked *parked);
/*
 * They are not known any more, and are loaded anew: leadership was gained, or a
 * lane that was another's.
 */
void parked_load(struct parked *parked);
bool parked_is_known(const struct parked *parked);
/* Only where they are known. */
bool parked_has(const struct parked *parked, const struct parked_lane *lane);
size_t parked_count(const struct parked *parked);

/*
 * A change, a member of its owner; operations and errors are as in
 * store/store.h, and may be repeated until they are answered.  Verdicts: DONE;
 * or as below, and FENCED, where a leadership was given and Redis says that it
 * is another's.
 */
struct parked_op {
	struct store_op op;
	int64_t count; /* DONE: so many are parked in the lane, or were */
	struct span first; /* their first position, in arena */
	struct arena *arena; /* set by the owner, kept while it is pending */
	/* Its own: */
	struct parked *copy;
	struct parked_lane lane;
	enum parked_act {
		PARKED_PARK,
		PARKED_BEHIND,
		PARKED_LOOK,
		PARKED_BACK,
		PARKED_DROP,
		PARKED_NEXT,
		PARKED_SKIP,
		PARKED_UNPARK,
	} act;
};
/*
 * The first message of the lane, at that position, is about to become a dead
 * letter: call it before.  A position counts once.  REFUSED: there are too many
 * lanes.  leader: only while it is held; NULL: whoever's.
 */
void parked_park(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader);
/* A message behind it, likewise.  GONE: the lane is not parked any more. */
void parked_behind(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader);
/* What is parked there.  GONE: the lane is not parked. */
void parked_look(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, const struct leadership *leader);
/*
 * It was decided that the first, at that position, is brought back, or dropped,
 * and all behind it brought back: say so before that is done, so that whoever
 * loads the lanes later goes on with it (decided).  REFUSED: another one is the
 * first.  GONE as above.
 */
void parked_decide(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position, bool drop,
    const struct leadership *leader);
/*
 * That position is done with.  REFUSED: it was not the first, and nothing was
 * decided about that, so the lane stays parked.  DONE: op->count is 0 where the
 * lane is free now, else op->first is the next to be brought back.  GONE as
 * above.
 */
void parked_next(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader);
/*
 * That position is neither a dead letter nor a message of the source any more:
 * where it is the first, the one behind it is, or the lane is free (op->count
 * is 0).  REFUSED: it was decided what becomes of the first.  GONE as above.
 */
void parked_skip(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader);
/* The lane is free.  GONE: it was already.  For whoever has a store. */
void parked_unpark(const struct shared *shared, struct parked_op *op,
    const struct parked_lane *lane);
