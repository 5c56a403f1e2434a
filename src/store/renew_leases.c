/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/call.h"
#include "store/record/redis_keys.h"
#include "store/renew_leases.h"

#define TAKEN UINT_MAX /* a renewal's index, once a call has it */

/* The renewals of one shard; arg of its call. */
struct shard_renewals {
	size_t count;
	struct renewal *list[];
};

/* One number for each, and no more. */
static bool
is_whole(const struct shard_renewals *all, const struct call_reply *reply)
{
	if (reply->n_extra != all->count)
		return false;
	for (size_t i = 0; i < all->count; i++)
		if (reply->extra[i]->type != REDIS_REPLY_INTEGER)
			return false;
	return true;
}

static void
on_renewed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct shard_renewals *all = call->arg;
	if (how == CALL_ANSWERED && !is_whole(all, reply)) {
		call_log_odd(call);
		error = E_STORE_REFUSED;
	} else if (call->op != NULL && how == CALL_ANSWERED) {
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
		redis_keys_record(
		    &call->args, store->conf, &all->list[i]->held.key_id);
	resp_number(&call->args, store->longest_ms);
	for (size_t i = 0; i < all->count; i++) {
		const struct held *held = &all->list[i]->held;
		call_arg_owner(call, &held->owner, held->attempt);
		resp_number(&call->args, held->policy->lease_ms);
		resp_number(&call->args, call_alive_ms(held->policy));
	}
	call->done = on_renewed;
	call->arg = all;
	call_join_op(call, op);
}

void
renew_leases(struct store *store, struct store_op *op,
    struct renewal *renewals, size_t count)
{
	call_begin_op(store, op);
	for (size_t i = 0; i < count; i++) {
		const struct held *held = &renewals[i].held;
		call_outlive(store, held->policy);
		renewals[i].lost = false;
		renewals[i].index =
		    redis_keys_shard(store->conf, &held->key_id);
	}
	for (size_t left = count; left > 0;) {
		renew_shard(store, op, renewals, left);
		while (left > 0 && renewals[left - 1].index == TAKEN)
			left--;
	}
	if (list_empty(&op->calls))
		op_done(&op->op, 0);
	/* A call may end, and leave the operation, as it is started. */
	struct store_call *call;
	LIST_EACH(call, &op->calls, in_op)
		call_start(call);
}
