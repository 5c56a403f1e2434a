/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/types.h"

/*
 * Counts the records that are not final, over all shards.  It knows nothing of
 * operators.  The store's own thread only; the caller owns the operation.
 */
struct store;

/*
 * The result: how many records are PROCESSING, UNKNOWN and FAILED; the other
 * states have no index, and stay 0.
 */
struct records_count {
	struct store_op op;
	uint64_t records[STATE_COUNT_];
	unsigned shard; /* the store's own */
};
/* Starts the operation; its errors are those of store.h. */
void records_count(struct store *store, struct records_count *count);
