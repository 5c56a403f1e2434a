/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "store/redis/redis_address.h"

/*
 * Reads what a Redis Cluster says of itself (Redis Cluster Specification): its
 * slots, the server that owns each, and the one to ask for a key that another
 * does not have.  Nothing that comes over the wire is trusted: a malformed
 * reply is no reply.  It knows no connection.  Pure; any thread.
 */
enum { SLOTS = 16384 };

/*
 * The slot, below SLOTS, of all keys with that hash tag (the text between
 * braces): CRC-16/XMODEM of the tag.
 */
unsigned slots_of_tag(struct span tag);

/*
 * The slot of a shard, whose number is the hash tag of its keys
 * (record/redis_keys.h).
 */
unsigned slots_of_shard(unsigned shard);

/* All servers of a cluster, and which of them owns each slot. */
struct slots {
	struct redis_address *addresses;
	size_t count;
	uint16_t owner[SLOTS]; /* index of addresses plus 1; 0: nobody's */
};
struct redisReply;
/*
 * Reads the reply of CLUSTER SHARDS; false: malformed.  asked is the server
 * that answered, for it may not know its own address; tls: their ports for TLS
 * are wanted.  The caller clears *ret_slots.
 */
bool slots_read(const struct redisReply *reply,
    const struct redis_address *asked, bool tls, struct slots *ret_slots);
/* Frees the addresses. */
void slots_clear(struct slots *slots);

/* Of CLUSTER INFO; true: the cluster serves, as far as that server sees. */
bool slots_serve(struct span info);

/* The error of a server that does not have the key: MOVED or ASK. */
struct slots_redirect {
	bool ask; /* only this time, and with ASKING sent first */
	unsigned slot;
	struct redis_address address; /* the caller clears it */
};
/*
 * Reads such an error; false: it is none.  asked is the server that answered.
 */
bool slots_redirect_read(struct span error, const struct redis_address *asked,
    struct slots_redirect *ret_redirect);
