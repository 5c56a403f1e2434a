/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The sweeper searches for expired leases, of whichever gateway, a few shards
 * at a time, and makes their records UNKNOWN, so that a stuck payment is seen
 * before anybody retries it, and logs each.  It knows nothing of the executions
 * of its own gateway.  The store's thread.
 */
struct store;

/*
 * From now on this store sweeps, as one of the process does, until its timer
 * (store->sweep) is cleared; calls that are under way then end by themselves.
 * Once per store.
 */
void lease_sweep_start(struct store *store);
