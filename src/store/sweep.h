/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The sweeper: looks for leases that ran out, on whichever gateway, a few
 * shards at a time, and makes their records UNKNOWN, so that nobody has to
 * retry before a stuck payment is seen.  For src/store/ alone; the store's
 * thread.
 */
struct store;

/* Of a new store; it does not sweep yet. */
void sweep_init(struct store *store);
/* From now on it does. */
void sweep_start(struct store *store);
void sweep_end(struct store *store);
