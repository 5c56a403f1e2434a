/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/container.h"
#include "base/error.h"
#include "store/operation.h"
#include "store/record/redis_keys.h"
#include "store/records_count.h"

/* Shards that are asked at the same time. */
enum { SHARDS_AT_ONCE = 8 };

static struct store_call *count_call(
    struct store *store, struct records_count *count);

/* False: these are no counts. */
static bool
add_counts(struct records_count *count, const struct call_reply *reply)
{
	static const enum record_state states[] = {
	    STATE_PROCESSING, STATE_UNKNOWN, STATE_FAILED};
	for (size_t i = 0; i < 3; i++) {
		if (i >= reply->n_extra ||
		    reply->extra[i]->type != REDIS_REPLY_INTEGER ||
		    reply->extra[i]->integer < 0)
			return false;
		count->records[states[i]] +=
		    (uint64_t)reply->extra[i]->integer;
	}
	return true;
}

static void
on_counted(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct records_count *count =
	    CONTAINER_OF(call->op, struct records_count, op);
	if (how == CALL_ANSWERED && !add_counts(count, reply)) {
		call_log_odd(call);
		error = E_STORE_REFUSED;
	}
	if (error == 0 && count->op.failure == 0 &&
	    count->shard < call->store->conf->store.shards)
		call_start(count_call(call->store, count));
	operation_end_call(call, error);
}

static struct store_call *
count_call(struct store *store, struct records_count *count)
{
	unsigned shard = count->shard++;
	struct store_call *call = call_new(store, shard, SCRIPT_count, 3);
	resp_number(&call->args, 2);
	redis_keys_index(&call->args, store->conf, shard, "leases");
	redis_keys_index(&call->args, store->conf, shard, "held");
	call->done = on_counted;
	operation_add(call, &count->op);
	return call;
}

void
records_count(struct store *store, struct records_count *count)
{
	struct store_call *calls[SHARDS_AT_ONCE];
	size_t n = 0;
	operation_begin(store, &count->op);
	for (int state = 0; state < STATE_COUNT_; state++)
		count->records[state] = 0;
	count->shard = 0;
	while (n < SHARDS_AT_ONCE && count->shard < store->conf->store.shards)
		calls[n++] = count_call(store, count);
	/*
	 * All are added before one can end: the last to end ends the operation.
	 */
	for (size_t i = 0; i < n; i++)
		call_start(calls[i]);
}
