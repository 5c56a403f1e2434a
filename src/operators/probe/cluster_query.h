/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "store/redis/slots.h"

/*
 * Asks the seeds of a Redis Cluster for the masters that have our shards: for
 * the check at the start, and for commands.  It knows no records.  It blocks,
 * up to store.timeout with each question; any thread that may.
 */
struct cluster_master {
	struct redis_address place; /* of slots */
	unsigned shard;     /* one of the shards that it has */
};

struct cluster_masters {
	struct slots *slots;
	struct cluster_master *list;
	size_t count; /* 1 or more */
	bool serve;   /* the cluster says that it does */
	struct redis_address seed; /* the seed that answered */
};

/*
 * The answer of the first seed that gives one, which the caller clears; false,
 * with *ret_message, the last seed's, which the caller frees.
 */
MUST_USE bool cluster_query(const struct conf *conf,
    struct cluster_masters *ret_seen, char **ret_message);
/* Frees what it holds; accepts an empty one. */
void cluster_query_clear(struct cluster_masters *masters);
