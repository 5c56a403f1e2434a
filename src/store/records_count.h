/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/types.h"

/*
 * Counts the records that are not COMPLETED.  The store's own thread only.
 */
struct store;

/* How many records are in each state but COMPLETED, over all shards. */
struct records_count {
	struct store_op op;
	uint64_t records[STATE_COUNT_];
	unsigned shard; /* the store's own */
};
void records_count(struct store *store, struct records_count *count);
