/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/record/key_id.h"
#include "store/redis/resp.h"

/*
 * The names of our keys in Redis.  All keys that concern one record have its
 * shard's hash tag, so that each script runs on one slot of a Redis Cluster.
 * It knows no connection.  Pure; any thread.
 */

/* The shard of a record, below store.shards. */
unsigned redis_keys_shard(const struct conf *conf, const struct key_id *key_id);

/*
 * Appends PREFIX:{SHARD}:WORD as an argument, such as "leases" or "held"; in
 * shard 0 also "store", the store's id (record/origin.h), and "data", the id of
 * what it has.
 */
void redis_keys_index(struct resp *resp, const struct conf *conf,
    unsigned shard, const char *word);

/*
 * Appends PREFIX:{SHARD}:WORD and a name: of "asking:" and a route, what is
 * UNKNOWN of that; of "label:" and what label_index() makes, a label's records;
 * of "o:" and a KEYID, a key that is only observed.  Of what all gateways share
 * of a source or a relay, WORD is one such as "leadership", "pause", "kept" or
 * "floor", and the name :KIND:NAME and more (store/shared.h).
 */
void redis_keys_index_of(struct resp *resp, const struct conf *conf,
    unsigned shard, const char *word, const char *name);

/*
 * The names that nearly every script touches, the records of a shard, its
 * leases and what is held there: each is made once, when it is first needed.  A
 * member of its owner; one thread.
 */
struct shard_names {
	const struct conf *conf;
	struct shard_names_of {
		char *record; /* up to its key; NULL: none was needed yet */
		struct resp indexes; /* the leases' name and the held's … */
		size_t leases_len;   /* … and how much of it is the first */
	} *list; /* of each shard */
};

/* conf outlives it. */
void redis_keys_names_init(struct shard_names *names, const struct conf *conf);
void redis_keys_names_free(struct shard_names *names);
const struct shard_names_of *redis_keys_names(
    struct shard_names *names, unsigned shard);
/* Appends PREFIX:{SHARD}:r:KEYID as an argument; KEYID is in hex. */
void redis_keys_record(struct resp *resp, const struct shard_names_of *names,
    const struct key_id *key_id);

/*
 * Appends SHARD}:e:NAME as an argument, the end of the name of an entity's key
 * (lua/entities.lua); its shard is that of a record whose name begins alike.
 */
void redis_keys_entity(struct resp *resp, const struct conf *conf,
    const uint8_t name[DIGEST_BYTES]);

/* The meaning of a key in Redis to a gateway with this configuration. */
enum redis_keys_kind { KEY_RECORD, KEY_INDEX, KEY_OTHER };
/*
 * Judges a key's whole name.  KEY_INDEX: whatever is ours and no record.
 * KEY_OTHER: this gateway would never write it; a gateway with another number
 * of shards, another version or another program has.
 */
enum redis_keys_kind redis_keys_kind(const struct conf *conf, struct span name);
