/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/container.h"
#include "base/loop/timer.h"
#include "store/call.h"
#include "store/subscriber.h"

/*
 * What all gateways of one store share of a source or a relay has one hash tag,
 * so that a script may touch all of it: that tag, the names of keys, and how
 * gateways tell each other that something has changed.  It knows neither what
 * is shared nor brokers.  The store's thread.
 */
enum { SHARED_TROUBLE_BYTES = 160 };

/* A member of whatever is shared. */
struct shared {
	struct store *store;
	const char *kind; /* "source" or "relay" */
	const char *name; /* its owner's */
	unsigned shard;   /* of all its keys */
	/* Why it cannot learn from Redis what it must, for operators; "". */
	char trouble[SHARED_TROUBLE_BYTES];
};

/* kind and name, neither of them empty, live as long as *ret_shared. */
void shared_init(struct shared *ret_shared, struct store *store,
    const char *kind, const char *name);
/*
 * A call of that script, not yet started, with the key of WORD alone; the
 * caller appends n_argv arguments.
 */
struct store_call *shared_call(const struct shared *shared, enum script script,
    const char *word, size_t n_argv);
/* The same with an act, and two words for it; all arguments are there. */
struct store_call *shared_act(const struct shared *shared, enum script script,
    const char *word, const char *act, struct span what, struct span more);
/* Appends the key PREFIX:{SHARD}:WORD:KIND:NAME and more, which may be "". */
void shared_arg_key(const struct shared *shared, struct store_call *call,
    const char *word, const char *more);
/* Appends what its notices begin with (lua/publish.lua). */
void shared_arg_notice(const struct shared *shared, struct store_call *call);
/*
 * A call has ended so that asks for what the key of WORD has: its trouble is
 * another one, or over.  has_last: it goes by what it heard last, unless Redis
 * can be reached and refuses to say.
 */
void shared_ended(struct shared *shared, const char *word,
    const struct store_call *call, int error, bool has_last);
/*
 * Whether that notice (subscriber.h) is about it, and what it says: empty where
 * something may have been missed.
 */
bool shared_notice(const struct shared *shared, struct span notice,
    struct span *ret_what);

/*
 * What Redis has of it, asked for again and again: at once where a notice says
 * that it has changed, one call at a time.  A member of its owner, which sets
 * the first members and stops it before it or the store is gone.
 */
struct shared_watch {
	const char *word; /* of its key, and of notices about it */
	int64_t every_ms;
	/* Makes the call that asks, and does not start it. */
	struct store_call *(*ask)(struct shared_watch *watch);
	/*
	 * What it said; reply NULL: Redis did not answer.  It may set the timer
	 * anew, and stop the watch.
	 */
	void (*heard)(struct shared_watch *watch, const struct store_call *call,
	    const struct call_reply *reply);
	bool has_last; /* what was heard before holds meanwhile */
	/* Its own: */
	struct shared shared;
	struct store_call *call; /* under way; NULL: none */
	bool again;              /* it may have changed since that was sent */
	struct timer timer;      /* the next call */
	struct subscriber_hearing hearing;
};

/* Asks from now on; kind and name as in shared_init. */
void shared_watch_start(struct shared_watch *watch, struct store *store,
    struct loop *loop, const char *kind, const char *name);
/* Zeroed memory is one that is stopped. */
void shared_watch_stop(struct shared_watch *watch);

/* A number that a script has put into its reply; -1: there is none. */
int64_t shared_number(const struct call_reply *reply, size_t i);
