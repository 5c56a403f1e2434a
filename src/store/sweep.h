/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The sweeper: leases that ran out become UNKNOWN without a client having to
 * come.  It reads each shard's list of leases in turn, all of them every two
 * seconds.  For src/store/ alone; the store's thread.
 */

/* Looks at some shards, and sets the timer for the next ones. */
void sweep_on_timer(void *store);
