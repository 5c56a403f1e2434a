/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/loop/log.h"
#include "base/test_build.h"
#include "store/lease_sweep.h"
#include "store/operation.h"
#include "store/record/label.h"
#include "store/record/record.h"
#include "store/record/redis_keys.h"
#include "store/topology.h"

enum {
	/* Steps in which all shards are looked at, one every STEP_MS. */
	STEPS = 8,
	STEP_MS = 250,
	/* Of one shard in one round; the rest waits for the next round. */
	DUE_MAX = 100,
};

static void
log_expired(struct store *store, const struct key_id *key_id,
    const struct call_reply *reply)
{
	enum reason reason;
	if (reply->n_extra < 2 || reply->extra[0]->type != REDIS_REPLY_STRING ||
	    reply->extra[1]->type != REDIS_REPLY_STRING ||
	    !reason_of(reply->extra[0]->str[0], &reason))
		return;
	char hex[DIGEST_HEX + 1];
	hex_encode(key_id->bytes, DIGEST_BYTES, hex);
	struct logline line = log_begin(EV_outcome_unknown);
	log_str(&line, "key_id", hex);
	const struct provenance from = provenance_read(
	    span_of(reply->extra[1]->str, reply->extra[1]->len));
	log_span(&line, "route", from.route);
	label_log(&line, &store->conf->store, key_id, &from);
	if (from.path.len > 0) {
		log_span(&line, "method", from.method);
		log_path(&line, from.path);
	}
	log_int(&line, "attempt", reply->attempt);
	log_str(&line, "reason", reason_word(reason));
	log_end(&line);
}

static void
on_expired(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	(void)error;
	if (how == CALL_ANSWERED && reply->verdict == VERDICT_UNKNOWN)
		log_expired(call->store, &call->key_id, reply);
}

static void
expire(struct store *store, const struct key_id *key_id)
{
	struct store_call *call =
	    operation_call(store, SCRIPT_expire, key_id, 1);
	resp_number(&call->args, store->longest_ms);
	call->done = on_expired;
	call_start(call);
}

static void
on_due(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	(void)error;
	call->store->sweeping--;
	if (how != CALL_ANSWERED)
		return;
	for (size_t i = 0; i < reply->n_extra; i++) {
		const redisReply *name = reply->extra[i];
		struct key_id key_id;
		if (name->type == REDIS_REPLY_STRING &&
		    hex_decode(span_of(name->str, name->len), key_id.bytes,
			sizeof key_id.bytes))
			expire(call->store, &key_id);
	}
}

static void
sweep_shard(struct store *store, unsigned shard)
{
	struct store_call *call = call_new(store, shard, SCRIPT_leases_due, 3);
	resp_number(&call->args, 1);
	redis_keys_index(&call->args, store->conf, shard, "leases");
	resp_number(&call->args, DUE_MAX);
	call->done = on_due;
	store->sweeping++;
	call_start(call);
}

static void
on_sweep_timer(void *arg)
{
	struct store *store = arg;
	unsigned shards = (unsigned)store->conf->store.shards;
	unsigned count = (shards + STEPS - 1) / STEPS;
	timer_set(&store->sweep, STEP_MS);
	/* Where Redis is slow, what it was asked for is not asked again. */
	if (store->sweeping > 0)
		return;
	/* A replica would refuse to mark what is found. */
	if (!topology_store_is_up(store) || store->fault == FAULT_ROLE ||
	    !INVARIANT(leases_swept))
		return;
	for (unsigned i = 0; i < count; i++) {
		store->sweep_shard = (store->sweep_shard + 1) % shards;
		sweep_shard(store, store->sweep_shard);
	}
}

void
lease_sweep_init(struct store *store)
{
	timer_init(&store->sweep, store->loop, on_sweep_timer, store);
}

void
lease_sweep_start(struct store *store)
{
	timer_set(&store->sweep, STEP_MS);
}

void
lease_sweep_end(struct store *store)
{
	timer_clear(&store->sweep);
}
