/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The sweeper searches for expired leases, of whichever gateway, a few shards
 * at a time, and makes their records UNKNOWN, so that a stuck payment is seen
 * before anybody retries it.  It knows nothing of the executions of its own
 * gateway.  For src/store/ alone; the store's thread.
 */
struct store;

/* For a new store; it does not sweep yet. */
void lease_sweep_init(struct store *store);
/* From now on this store sweeps. */
void lease_sweep_start(struct store *store);
/* Stops it; calls that are under way end by themselves. */
void lease_sweep_end(struct store *store);
