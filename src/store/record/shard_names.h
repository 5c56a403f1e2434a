/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "store/redis/resp.h"

/*
 * The names of the indexes that nearly every script touches, the leases of a
 * shard and what is held there, as arguments of a command: redis_keys.h makes
 * them, once for each shard, when they are first needed.  It knows no
 * connection and no script.  A member of its owner; one thread.
 */
struct shard_names {
	const struct conf *conf;
	struct shard_names_of *list; /* of each shard */
};

/* conf outlives it. */
void shard_names_init(struct shard_names *names, const struct conf *conf);
void shard_names_free(struct shard_names *names);
/*
 * Appends the leases' name and the held's, two arguments; returns how many
 * bytes the first of them has there.
 */
size_t shard_names_put(
    struct shard_names *names, unsigned shard, struct resp *args);
