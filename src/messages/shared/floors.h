/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/timer.h"
#include "store/shared.h"

/*
 * What is kept of each part of a source in the store's Redis, without an end:
 * its floor, a text that begins with a number.  Below that all is finished,
 * whatever the broker says of a group that was set back.  A floor only grows,
 * unless an operator has decided what becomes of a part that stands, as nothing
 * tells whether what it was read of is still there; that stands here, too, for
 * whoever has the part, and is used once.  It knows neither parts nor what a
 * floor says.  A member of its owner, which stops it before it or the store is
 * gone; the store's thread.
 */
struct floors_part;

struct floors {
	struct shared shared;
	/*
	 * What is kept of a part that was wanted ("": nothing), and what was
	 * decided of it: "resume", "rewind" or "".
	 */
	void (*known)(void *arg, const char *part, struct span floor,
	    struct span decided);
	void *arg;
	struct list parts;       /* of which there is something to do */
	struct store_call *call; /* under way; NULL: none */
	/* What is done with parts, in this order. */
	enum floors_act { FLOORS_KEEP, FLOORS_STAND, FLOORS_LOOK } act;
	struct timer timer;
};

/* known(arg, ...) is called from the loop; the source's name lives as long. */
void floors_start(struct floors *floors, struct store *store,
    struct loop *loop, const char *source,
    void (*known)(void *arg, const char *part, struct span floor,
	struct span decided),
    void *arg);
/* What was not sent is forgotten.  Zeroed memory is stopped. */
void floors_stop(struct floors *floors);
/*
 * FLOORS_LOOK: known() is called with what is kept of the part, as soon as
 * Redis says it.  FLOORS_STAND: an operator is to decide what becomes of it.
 */
void floors_due(
    struct floors *floors, const char *part, enum floors_act act);
/*
 * That is to be kept of the part, unless what is kept begins with a greater
 * number; anew: whatever that begins with, and what was decided is used.
 */
void floors_keep(
    struct floors *floors, const char *part, struct span floor, bool anew);

/* Whether Redis has all that is to be kept. */
bool floors_are_kept(const struct floors *floors);

/*
 * What an operator decides of these parts (none: of all that stand).  An
 * operation as in store/store.h.  Verdicts: DONE; GONE, where one of them does
 * not stand (of a rewind: nor is anything kept of it), or none does, and
 * nothing was changed.
 */
struct floors_op {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	struct span *parts;  /* DONE: their names, in arena */
	size_t count;
};
void floors_decide(struct floors_op *op, struct store *store,
    const char *source, bool rewinds, const struct span *parts, size_t count);
