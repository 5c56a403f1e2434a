/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "record/key_id.h"
#include "redis/resp.h"

/*
 * The names of keys in Redis.  All that one record touches has its shard's
 * hash tag, so that each script runs on one slot of a Redis Cluster.  Pure.
 */

/* The shard of a record, below store.shards. */
unsigned redis_keys_shard(const struct conf *conf, const struct key_id *key_id);

/* PREFIX:{SHARD}:r:KEYID, as an argument. */
void redis_keys_record(
    struct resp *resp, const struct conf *conf, const struct key_id *key_id);
/* PREFIX:{SHARD}:WORD, as an argument: "leases" or "held". */
void redis_keys_index(struct resp *resp, const struct conf *conf,
    unsigned shard, const char *word);

/* What a key is, to a gateway with this configuration. */
enum redis_keys_kind { KEY_RECORD, KEY_INDEX, KEY_OTHER };
/*
 * KEY_OTHER: none of its own.  Another number of shards, another version or
 * another program has written it.
 */
enum redis_keys_kind redis_keys_kind(const struct conf *conf, struct span name);
