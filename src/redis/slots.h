/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "redis/place.h"

/*
 * What a Redis Cluster says of itself (the Redis Cluster Specification): its
 * slots, who has them, and where a key is that is not where we asked.  What
 * comes over the wire is not trusted: a reply that is not what it should be
 * is no reply.  Pure; any thread.
 */
enum { SLOTS = 16384 };

/* The slot of all keys with that hash tag, what stands between braces. */
unsigned slots_of_tag(struct span tag);

/* That of a shard, by the tag of its keys (record/redis_keys.h). */
unsigned slots_of_shard(unsigned shard);

/* All servers of a cluster, and whose each slot is. */
struct slots {
	struct place *places;
	size_t count;
	uint16_t owner[SLOTS]; /* an index of places, from 1; 0: nobody's */
};
struct redisReply;
/*
 * Of CLUSTER SHARDS, of CLUSTER SLOTS.  asked is who answered: a server that
 * does not know its own address is that one.  The caller clears it.
 */
bool slots_read_shards(const struct redisReply *reply,
    const struct place *asked, struct slots *ret_slots);
bool slots_read_slots(const struct redisReply *reply,
    const struct place *asked, struct slots *ret_slots);
void slots_clear(struct slots *slots);

/* CLUSTER INFO: the cluster serves, as far as this server can see. */
bool slots_serve(struct span info);

/* Redis' words where the key is not its own: MOVED and ASK. */
struct slots_redirect {
	bool ask; /* this one time, and for one that says ASKING */
	unsigned slot;
	struct place place; /* the caller clears it */
};
bool slots_redirect_read(struct span error, const struct place *asked,
    struct slots_redirect *ret_redirect);
