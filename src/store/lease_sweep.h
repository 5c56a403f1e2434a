/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The sweeper searches for expired leases, of whichever gateway, a few shards
 * at a time, and makes their records UNKNOWN, so that a stuck payment is seen
 * before anybody retries it.  It knows nothing of the executions of its own
 * gateway.  For src/store/ alone; the store's thread.
 */
struct store;

/*
 * From now on this store sweeps, until its timer (store->sweep) is cleared;
 * calls that are under way then end by themselves.  Once per store.
 */
void lease_sweep_start(struct store *store);
