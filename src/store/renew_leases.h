/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/types.h"

/*
 * Renews leases together: one command for each shard, so that a command touches
 * one slot of a Redis Cluster.  It does not know when they are due.  The
 * store's thread; the caller owns the renewals until op is done.
 */
struct store;

struct renewal {
	struct held held;
	bool lost; /* set at the end: it is ours no longer */
	unsigned index; /* the store's own */
};

/* Renews them all; op is done when the last command is. */
void renew_leases(struct store *store, struct store_op *op,
    struct renewal *renewals, size_t count);
