/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/probe/dial.h"
#include "store/redis/redis_address.h"
#include "store/redis/sentinel_protocol.h"
#include "store/redis/slots.h"

/*
 * Which servers a Redis has: what its Sentinels name as the master, and what
 * the masters of a cluster are.  Each question blocks, up to the timeout with
 * each server; any thread that may.
 */

/* --- the one server --- */

/* Managed, where the file says, or the master; of any but a cluster. */
struct dialled *servers_dial(
    const struct conf *conf, const struct conf_redis *at, char **ret_message);

/* --- Sentinels --- */

struct sentinel_answer {
	char *message; /* why it names no master; NULL: it does */
	struct sentinel_named named;
};

/*
 * One for each Sentinel, which servers_free_sentinels frees, and which master a
 * gateway would believe in; its host is "" where none is named.
 */
struct sentinel_answer *servers_sentinels(const struct conf *conf,
    const struct conf_redis *at, struct sentinel_named *ret_named);
/* Nulls the pointer, accepts NULL. */
void servers_free_sentinels(
    const struct conf_redis *at, struct sentinel_answer **seen);

/* --- clusters --- */

struct cluster_master {
	struct redis_address place;
	unsigned shard; /* one of those that it has */
};

struct cluster_masters {
	struct redis_address seed; /* which was asked */
	struct slots *slots;
	struct cluster_master *list; /* that have shards of ours */
	size_t count;
	bool serve; /* as far as the seed sees */
};

/* False: no seed can say; its message is the caller's. */
MUST_USE bool servers_cluster(const struct conf *conf,
    struct cluster_masters *ret_masters, char **ret_message);
/* Which of the masters has the shard; their count: none. */
size_t servers_master_of(const struct cluster_masters *masters, unsigned shard);
void servers_free_cluster(struct cluster_masters *masters);
