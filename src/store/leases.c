/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/call.h"
#include "store/journal/journal_awaited.h"
#include "store/leases.h"
#include "store/record/label.h"
#include "store/record/record.h"
#include "store/record/redis_keys.h"
#include "store/store.h"

enum {
	/* Steps in which all shards are searched, one every STEP_MS. */
	STEPS = 8,
	STEP_MS = 250,
	/* Of one shard in one round; the rest waits for the next round. */
	DUE_MAX = 100,
};

/* --- renewing ours --- */

#define TAKEN UINT_MAX /* a renewal's index, once a call has it */

/* The renewals of one shard; arg of its call. */
struct shard_renewals {
	size_t count;
	struct renewal *list[];
};

static void
on_renewed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct shard_renewals *all = call->arg;
	/* One number for each, and no more. */
	bool whole = how == CALL_ANSWERED && reply->n_extra == all->count;
	for (size_t i = 0; whole && i < all->count; i++)
		whole = reply->extra[i]->type == REDIS_REPLY_INTEGER;
	if (how == CALL_ANSWERED && !whole) {
		error = call_log_odd(call);
	} else if (call->op != NULL && whole) {
		for (size_t i = 0; i < all->count; i++)
			all->list[i]->lost = reply->extra[i]->integer == 0;
		call->op->verdict = VERDICT_DONE;
	}
	if (call->op != NULL)
		call_end_op(call, error);
	free(all);
}

/* The first renewal that no call has yet, with all others of its shard. */
static void
renew_shard(struct store *store, struct store_op *op,
    struct renewal *renewals, size_t count)
{
	struct shard_renewals *all =
	    mem_zero(sizeof *all + count * sizeof *all->list);
	unsigned shard = TAKEN;
	for (size_t i = 0; i < count; i++) {
		struct renewal *renewal = &renewals[i];
		if (renewal->index == TAKEN ||
		    (shard != TAKEN && renewal->index != shard))
			continue;
		shard = renewal->index;
		renewal->index = TAKEN;
		all->list[all->count++] = renewal;
	}
	struct store_call *call =
	    call_new(store, shard, SCRIPT_renew, 3 + 5 * all->count);
	resp_number(&call->args, (int64_t)all->count + 1);
	redis_keys_index(&call->args, store->conf, shard, "leases");
	for (size_t i = 0; i < all->count; i++)
		redis_keys_record(&call->args,
		    redis_keys_names(&store->shard_names, shard),
		    &all->list[i]->owned.key_id);
	resp_number(&call->args, store->longest_ms);
	for (size_t i = 0; i < all->count; i++) {
		const struct owned_claim *owned = &all->list[i]->owned;
		call_arg_token(call, owned->owner.bytes);
		call_arg_attempt(call, owned->attempt);
		resp_number(&call->args, owned->policy->lease_ms);
		resp_number(&call->args, call_outlive(store, owned->policy));
	}
	call->done = on_renewed;
	call->arg = all;
	call_join_op(call, op);
}

void
leases_renew(struct store *store, struct store_op *op,
    struct renewal *renewals, size_t count)
{
	call_begin_op(store, op);
	for (size_t i = 0; i < count; i++) {
		const struct owned_claim *owned = &renewals[i].owned;
		(void)call_outlive(store, owned->policy);
		renewals[i].lost = false;
		renewals[i].index =
		    redis_keys_shard(store->conf, &owned->key_id);
	}
	for (size_t left = count; left > 0;) {
		renew_shard(store, op, renewals, left);
		while (left > 0 && renewals[left - 1].index == TAKEN)
			left--;
	}
	call_start_op(op);
}

/* --- searching for expired ones --- */

/* A lease that was found has expired: says what has become of its record. */
static void
on_expired(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	enum reason reason;
	(void)error;
	if (how != CALL_ANSWERED || reply->verdict != VERDICT_UNKNOWN ||
	    reply->n_extra < 2)
		return;
	struct span letter = call_reply_text(reply, 0);
	if (letter.len == 0 || !reason_of(*letter.ptr, &reason))
		return;
	char hex[DIGEST_HEX + 1];
	hex_encode(call->key_id.bytes, DIGEST_BYTES, hex);
	struct logline line = log_begin(EV_outcome_unknown);
	log_str(&line, "key_id", hex);
	const struct provenance from =
	    provenance_read(call_reply_text(reply, 1));
	log_span(&line, "route", from.route);
	label_log(&line, &call->store->conf->store, &call->key_id, &from);
	if (from.path.len > 0) {
		log_span(&line, "method", from.method);
		log_cut(&line, "path", from.path, LOG_PATH_BYTES);
	}
	log_int(&line, "attempt", reply->attempt);
	log_str(&line, "reason", reason_words[reason]);
	log_end(&line);
}

static void
on_due(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct store *store = call->store;
	struct key_id key_id;
	(void)error;
	store->sweeping--;
	struct call_reply due = {0};
	if (how == CALL_ANSWERED)
		due = call_reply_list(reply, 0);
	for (size_t i = 0; i < due.n_extra; i++) {
		if (!hex_decode(call_reply_text(&due, i), key_id.bytes,
			sizeof key_id.bytes) ||
		    journal_awaited_has(store->awaited,
			&store->identity.origin, store->identity.answered,
			&key_id, NULL))
			continue;
		struct store_call *expire = call_of_record(
		    store, SCRIPT_expire, &key_id, 1, sizeof *expire);
		resp_number(&expire->args, store->longest_ms);
		expire->done = on_expired;
		call_start(expire);
	}
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
	if (!store_is_up(store) ||
	    store_health_fault(store->health) == FAULT_ROLE ||
	    !INVARIANT(leases_swept))
		return;
	for (unsigned i = 0; i < count; i++) {
		unsigned shard = (store->sweep_shard + 1) % shards;
		struct store_call *call =
		    call_new(store, shard, SCRIPT_due, 3);
		resp_number(&call->args, 1);
		redis_keys_index(&call->args, store->conf, shard, "leases");
		resp_number(&call->args, DUE_MAX);
		call->done = on_due;
		store->sweep_shard = shard;
		store->sweeping++;
		call_start(call);
	}
}

void
leases_sweep(struct store *store, struct journal_awaited *awaited)
{
	store->awaited = awaited;
	store->sweeps = true;
	timer_init(&store->sweep, store->loop, on_sweep_timer, store);
	timer_set(&store->sweep, STEP_MS);
}
