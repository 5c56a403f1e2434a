/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/types.h"

/*
 * Finds the records of routes that are UNKNOWN and due to be asked about, in
 * the shards' indexes (lua/transitions.lua).  It changes nothing: who asks
 * claims the record first.  The store's thread.
 */
struct store;

struct asking_index {
	const char *route;
	unsigned most; /* of each shard; 0: none */
};

struct asking_found {
	size_t index; /* of the route, in what was asked */
	struct key_id key_id;
};

struct asking_op {
	struct store_op op;
	/* Results, in this arena, which is the owner's. */
	struct arena *arena;
	struct asking_found *list;
	size_t count;
	size_t room;          /* of the list; the store's own, as the next */
	const size_t *wanted; /* the routes that each shard is asked for */
	size_t n_wanted;
};

/* Looks into so many shards from that one on, at once; ends as store.h says. */
void asking_find(struct store *store, struct asking_op *op, unsigned first,
    unsigned n_shards, const struct asking_index *indexes, size_t count);
