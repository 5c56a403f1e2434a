/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/types.h"

/*
 * Leases, renewed together: one command for each shard that they are of, so
 * that a command touches one slot of a Redis Cluster.  The store's thread.
 */
struct store;

struct renewal {
	struct held held;
	bool lost; /* set at the end: the record is somebody else's, or gone */
	unsigned index; /* the store's own */
};

/* Renews all of them; op is done when the last command was answered. */
void renew_leases(struct store *store, struct store_op *op,
    struct renewal *renewals, size_t count);
