/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/hash.h"
#include "base/counter.h"
#include "base/loop/op.h"
#include "store/store.h"

/*
 * The retries that wait for the first request with their key (in_flight:
 * wait), found by the key's name.  Woken by an execution of this worker, or
 * by word from Redis that the record has changed, they claim again; nobody
 * polls.  That word comes on a connection of its own, so it may overtake the
 * answer of the claim: a waiter listens from before its claim on.  It knows
 * nothing of clients.  The worker's thread only.
 */

/* A waiter is a member of its request. */
struct key_waiter {
	struct op op; /* done: claim again; E_TIMEOUT: the time is up */
	struct hash_item item;
	struct key_id key_id;
	struct key_waiters *waiters; /* NULL: it does not listen */
	bool heard;              /* word that came before it waited */
};

/* Zeros but for waiting: nobody listens.  Its owner frees listening. */
struct key_waiters {
	struct hash listening;
	struct counter *waiting; /* the owner's: how many wait */
};

/* Listens from now on; what was heard before is forgotten. */
void key_waiters_listen(struct key_waiters *waiters, struct key_waiter *waiter,
    const struct key_id *key_id);
/*
 * Waits at most ms, and not at all where something was heard since it
 * listens; op must be initialised.
 */
void key_waiters_wait(struct key_waiter *waiter, int64_t ms);
/* Ends the wait, if it waits, with that error. */
void key_waiters_stop(struct key_waiter *waiter, int error);
/* The same for all that wait. */
void key_waiters_stop_all(struct key_waiters *waiters, int error);
/* Listens no more; always allowed. */
void key_waiters_leave(struct key_waiter *waiter);
/* Something has changed about that key; NULL: perhaps about any. */
void key_waiters_wake(struct key_waiters *waiters, const struct key_id *key_id);
