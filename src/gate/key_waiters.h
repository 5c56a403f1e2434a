/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/hash.h"
#include "base/counter.h"
#include "base/loop/op.h"
#include "store/store.h"

/*
 * Retries that wait for the first request with their key (in_flight: wait) are
 * found here by the name of its record.  They claim again when an execution of
 * this worker ends, or Redis says that the record has changed; nobody polls.
 * Redis says it on a connection of its own, so it may overtake the reply to the
 * claim: a waiter listens from before its claim on.  Nothing here knows
 * clients.  The worker's thread only.
 */

/* A member of the request or the message that waits. */
struct key_waiter {
	struct op op; /* done: claim again; E_TIMEOUT: the time is up */
	struct hash_item item;
	struct key_id key_id;
	struct key_waiters *waiters; /* NULL: it does not listen */
	bool heard; /* of a change, before it waited */
	bool is_retry; /* a client waits: it is counted */
};

/* Zeros but for waiting, at first; its owner frees listening. */
struct key_waiters {
	struct hash listening;
	struct counter *waiting; /* the owner's: how many retries wait */
};

/* Has it listen from now on; what it heard before is forgotten. */
void key_waiters_listen(struct key_waiters *waiters, struct key_waiter *waiter,
    const struct key_id *key_id);
/*
 * Starts its op, for ms at most; it is done at once where the waiter has heard
 * of a change since it listens.
 */
void key_waiters_wait(struct key_waiter *waiter, int64_t ms);
/* Ends its op, if that is pending. */
void key_waiters_stop(struct key_waiter *waiter);
/* Ends its op, and has it listen no more; always allowed. */
void key_waiters_leave(struct key_waiter *waiter);
/* Wakes those that wait for that key, which has changed; NULL: all. */
void key_waiters_wake(struct key_waiters *waiters, const struct key_id *key_id);
