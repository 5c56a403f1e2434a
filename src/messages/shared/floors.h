/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/timer.h"
#include "messages/shared/shared.h"

/*
 * What is kept of each part of a source in the store's Redis, without an end:
 * its floor, a text that begins with a number.  Below that all is finished,
 * whatever the broker says of a group that was set back.  A floor only grows,
 * unless it is of something that was made again; an operator may say that the
 * group is meant to stand lower, once (floors_lower), but not of what has a
 * blank in its name: that is beside a part.  It knows neither parts nor what a
 * floor says.  A member of its owner, which stops it before it or the store is
 * gone; the store's thread.
 */
enum { FLOORS_LOWERED_MS = 24 * 3600 * 1000 };

struct floors_part;

struct floors {
	struct shared shared;
	/* What is kept of a part that was wanted; "": nothing. */
	void (*known)(void *arg, const char *part, struct span floor,
	    bool lowered);
	void *arg;
	struct floors_part *parts; /* wanted, or to be kept */
	struct store_call *call;   /* under way; NULL: none */
	bool keeps;                /* it is one that keeps */
	struct timer timer;
};

/* known(arg, ...) is called from the loop; kind and name as in shared_init. */
void floors_start(struct floors *floors, struct store *store,
    struct loop *loop, const char *kind, const char *name,
    void (*known)(void *arg, const char *part, struct span floor,
	bool lowered),
    void *arg);
/* What was not sent is forgotten.  Zeroed memory is stopped. */
void floors_stop(struct floors *floors);
/* known() is called with what is kept of the part, as soon as Redis says it. */
void floors_want(struct floors *floors, const char *part);
/*
 * That is to be kept of the part, unless what is kept begins with a greater
 * number; lower: whatever that begins with.
 */
void floors_keep(
    struct floors *floors, const char *part, struct span floor, bool lower);

/* Whether Redis has all that is to be kept. */
bool floors_are_kept(const struct floors *floors);

/*
 * What an operator says: the group may stand below the floors of these parts
 * (none: of all), within FLOORS_LOWERED_MS, and what is there comes again.  An
 * operation as in store/store.h.  Verdicts: DONE; GONE, where of one of them
 * nothing is kept, and nothing was changed.
 */
struct floors_op {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	struct span *parts;  /* DONE: their names, in arena */
	size_t count;
};
void floors_lower(struct floors_op *op, struct store *store, const char *kind,
    const char *name, const struct span *parts, size_t count);
