/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/timer.h"
#include "messages/shared/shared.h"
#include "store/record/owner.h"

/*
 * A turn is the lease of an ordered stream, or of a relay: one gateway at a
 * time has it, and each of them tries to.  It lasts TURN_LEASE_MS in Redis, by
 * Redis' clock, and is renewed each second; its holder counts from when it sent
 * the renewal, by a clock that never jumps, and gives up TURN_MARGIN_MS before
 * that is over.  So nobody else has it before lost() was called, unless Redis
 * itself forgets it, or its clock jumps: records still keep an execution from
 * being made twice then, and the number tells an old holder from a new one.  It
 * knows nothing of what it is the turn of.  A member of its owner, which stops
 * it before it or the store is gone; the store's thread.
 */
enum {
	TURN_LEASE_MS = 5000,
	TURN_RENEW_MS = 1000,
	TURN_MARGIN_MS = 500,
	TURN_HOLDER_MAX = 64, /* an instance's name */
};

/* Each may start nothing of the turn itself but turn_stop. */
struct turn_events {
	void (*gained)(void *arg);
	void (*lost)(void *arg);
	void *arg;
};

struct turn {
	struct shared shared;
	struct turn_events events;
	struct owner token;
	int64_t number;   /* of this turn; 0: it is not ours */
	int64_t until_us; /* it is ours, by clock_us */
	struct store_call *call; /* under way; NULL: none */
	int64_t asked;    /* the number that it was sent with */
	bool again;       /* it may have become free since that was sent */
	char holder[TURN_HOLDER_MAX + 1]; /* who else has it; "": not known */
	struct timer beat, end;
	struct subscriber_hearing hearing;
};

/*
 * Tries to get it from now on, until it is stopped: gained, lost, gained ...
 * events are copied; kind and name as in shared_init.
 */
void turn_start(struct turn *turn, struct store *store, struct loop *loop,
    const char *kind, const char *name, const struct turn_events *events);
/*
 * Gives it back at once, where it is ours and Redis can be reached, so that
 * another gateway need not wait for its end; lost is not called.  Zeroed memory
 * is a turn that is stopped.
 */
void turn_stop(struct turn *turn);
/* Whether it is ours at this moment, whatever the loop has come to. */
bool turn_is_held(const struct turn *turn);
/*
 * The number of this turn, greater than that of all before it, from 1; 0: it is
 * not ours.
 */
int64_t turn_number(const struct turn *turn);
/* The instance that had it when Redis was asked last; "": not known, or us. */
const char *turn_holder(const struct turn *turn);
/*
 * Appends its token, with which a script may ask whose turn it is: random bits,
 * and the instance, for people.
 */
void turn_arg_token(const struct turn *turn, struct store_call *call);
