/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/record/owner.h"
#include "store/shared.h"

/*
 * The leadership of an ordered stream, or of a relay: one gateway at a time has
 * it, and each of them tries to.  It is a lease of LEADERSHIP_LEASE_MS in
 * Redis, by Redis' clock, and is renewed each second; its holder counts from
 * when it sent the renewal, by a clock that never jumps, and gives up
 * LEADERSHIP_MARGIN_MS before that is over.  So nobody else has it before
 * lost() was called, unless Redis itself forgets it, or its clock jumps:
 * records still keep an execution from being made twice then, and the term
 * tells an old holder from a new one.  It knows nothing of what is led.  A
 * member of its owner, which stops it before it or the store is gone; the
 * store's thread.
 */
enum {
	LEADERSHIP_LEASE_MS = 5000,
	LEADERSHIP_RENEW_MS = 1000,
	LEADERSHIP_MARGIN_MS = 500,
};

/* Each may do nothing with the leadership itself but stop it. */
struct leadership_events {
	void (*gained)(void *arg);
	void (*lost)(void *arg);
	void *arg;
};

struct leadership {
	struct shared_watch watch;
	struct leadership_events events;
	struct owner token;
	/*
	 * The number of this leadership, greater than that of all before it,
	 * from 1; 0: it is not ours.
	 */
	int64_t term;
	int64_t asked;    /* the term that it was last asked for with */
	int64_t until_us; /* it is ours, by clock_us */
	struct timer end;
};

/*
 * Tries to get it from now on, until it is stopped: gained, lost, gained ...
 * events are copied; kind and name as in shared_init.
 */
void leadership_start(struct leadership *leader, struct store *store,
    struct loop *loop, const char *kind, const char *name,
    const struct leadership_events *events);
/*
 * Gives it back at once, where it is ours and Redis can be reached, so that
 * another gateway need not wait for its end; lost is not called.  Zeroed memory
 * is one that is stopped.
 */
void leadership_stop(struct leadership *leader);
/* Whether it is ours at this moment, whatever the loop has come to. */
bool leadership_is_held(const struct leadership *leader);
/*
 * Appends its token, with which a script may ask whether it is still ours:
 * random bits, and the instance, for people.
 */
void leadership_arg_token(
    const struct leadership *leader, struct store_call *call);
