/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/types.h"

/*
 * The leases of records.  It renews those of our claims together, one command
 * for each shard, so that a command touches one slot of a Redis Cluster; it
 * does not know when they are due.  The sweeper searches for expired leases, of
 * whichever gateway, a few shards at a time, makes their records UNKNOWN, so
 * that a stuck payment is seen before anybody retries it, and logs each.  Those
 * whose outcome this process has, and Redis not yet, it leaves alone; it knows
 * nothing else of the executions of its own gateway.  The store's thread.
 */
struct journal_awaited;
struct store;

struct renewal {
	struct owned_claim owned;
	bool lost; /* set at the end: it is ours no longer */
	unsigned index; /* the store's own */
};

/*
 * Renews them all; op is done when the last command is.  They are the caller's,
 * and live until then.
 */
void leases_renew(struct store *store, struct store_op *op,
    struct renewal *renewals, size_t count);

/*
 * From now on this store sweeps, as one of the process does, until its timer
 * (store->sweep) is cleared; calls that are under way then end by themselves.
 * Once per store.  awaited stays the caller's.
 */
void leases_sweep(struct store *store, struct journal_awaited *awaited);
