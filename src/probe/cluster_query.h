/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "redis/slots.h"

/*
 * The masters of a Redis Cluster that have our shards, asked of its seeds,
 * for what looks at them before a gateway serves, and for commands.  It
 * blocks, for store.timeout with each step; any thread that may.
 */
struct cluster_master {
	struct place place; /* of slots */
	unsigned shard;     /* one that it has */
};

struct cluster_masters {
	struct slots *slots;
	struct cluster_master *list;
	size_t count; /* 1 or more */
	bool serve;   /* the cluster says that it does */
	struct place seed; /* who told */
};

/*
 * Of the first seed that tells; false with the words of the last one, which
 * the caller frees.  Who was told clears it.
 */
MUST_USE bool cluster_query(const struct conf *conf,
    struct cluster_masters *ret_seen, char **ret_message);
/* Frees what it holds. */
void cluster_query_clear(struct cluster_masters *masters);
