/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/operation.h"
#include "store/record/redis_keys.h"
#include "store/renew.h"

#define BATCHED UINT_MAX /* a renewal's index, once it is in a batch */

/* The renewals of one shard; arg of its call. */
struct batch {
	size_t count;
	struct renewal *list[];
};

/* One number for each, and no more. */
static bool
is_whole(const struct batch *batch, const struct call_reply *reply)
{
	if (reply->n_extra != batch->count)
		return false;
	for (size_t i = 0; i < batch->count; i++)
		if (reply->extra[i]->type != REDIS_REPLY_INTEGER)
			return false;
	return true;
}

static void
on_renewed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct batch *batch = call->arg;
	if (how == CALL_ANSWERED && !is_whole(batch, reply)) {
		call_log_odd(call);
		error = E_STORE_REFUSED;
	} else if (call->op != NULL && how == CALL_ANSWERED) {
		for (size_t i = 0; i < batch->count; i++)
			batch->list[i]->lost = reply->extra[i]->integer == 0;
		call->op->verdict = VERDICT_DONE;
	}
	if (call->op != NULL)
		operation_end_call(call, error);
	free(batch);
}

static void
renew_shard(struct store *store, struct store_op *op, unsigned shard,
    struct batch *batch)
{
	struct store_call *call =
	    call_new(store, shard, SCRIPT_renew, 3 + 5 * batch->count);
	resp_number(&call->args, (int64_t)batch->count + 1);
	redis_keys_index(&call->args, store->conf, shard, "leases");
	for (size_t i = 0; i < batch->count; i++)
		redis_keys_record(
		    &call->args, store->conf, &batch->list[i]->held.key_id);
	resp_number(&call->args, store->longest_ms);
	for (size_t i = 0; i < batch->count; i++) {
		const struct held *held = &batch->list[i]->held;
		operation_arg_owner(call, &held->owner);
		operation_arg_attempt(call, held->attempt);
		resp_number(&call->args, held->policy->lease_ms);
		resp_number(&call->args, operation_alive_ms(held->policy));
	}
	call->done = on_renewed;
	call->arg = batch;
	operation_add(call, op);
}

/* The first renewal that is in no batch yet, with all others of its shard. */
static struct batch *
next_batch(struct renewal *renewals, size_t count, unsigned *ret_shard)
{
	struct batch *batch =
	    mem_zero(sizeof *batch + count * sizeof *batch->list);
	unsigned shard = BATCHED;
	for (size_t i = 0; i < count; i++) {
		struct renewal *renewal = &renewals[i];
		if (renewal->index == BATCHED ||
		    (shard != BATCHED && renewal->index != shard))
			continue;
		shard = renewal->index;
		renewal->index = BATCHED;
		batch->list[batch->count++] = renewal;
	}
	*ret_shard = shard;
	return batch;
}

void
renew_leases(struct store *store, struct store_op *op,
    struct renewal *renewals, size_t count)
{
	operation_begin(store, op);
	for (size_t i = 0; i < count; i++) {
		const struct held *held = &renewals[i].held;
		operation_longest(store, held->policy);
		renewals[i].lost = false;
		renewals[i].index =
		    redis_keys_shard(store->conf, &held->key_id);
	}
	for (size_t left = count; left > 0;) {
		unsigned shard;
		struct batch *batch = next_batch(renewals, left, &shard);
		renew_shard(store, op, shard, batch);
		while (left > 0 && renewals[left - 1].index == BATCHED)
			left--;
	}
	if (op->call == NULL)
		op_done(&op->op, 0);
	/* A call may end, and leave the chain, as it is started. */
	struct store_call *next;
	for (struct store_call *call = op->call; call != NULL; call = next) {
		next = call->sibling;
		call_start(call);
	}
}
