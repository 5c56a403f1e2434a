/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/asking.h"
#include "store/call.h"
#include "store/record/redis_keys.h"
#include "store/store.h"

static void
on_found(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct asking_op *op = CONTAINER_OF(call->op, struct asking_op, op);
	size_t lists = how == CALL_ANSWERED ? op->n_wanted : 0;
	for (size_t i = 0; i < lists; i++) {
		const struct call_reply due = call_reply_list(reply, i);
		size_t most = op->count + due.n_extra;
		if (most > op->room) {
			op->room = 2 * most;
			struct asking_found *all =
			    arena_alloc(op->arena, op->room * sizeof *all);
			if (op->count > 0)
				memcpy(all, op->list, op->count * sizeof *all);
			op->list = all;
		}
		for (size_t k = 0; k < due.n_extra; k++) {
			struct asking_found *found = &op->list[op->count];
			found->index = op->wanted[i];
			op->count += hex_decode(call_reply_text(&due, k),
			    found->key_id.bytes, DIGEST_BYTES);
		}
	}
	call_end_op(call, error);
}

void
asking_find(struct store *store, struct asking_op *op, unsigned first,
    unsigned n_shards, const struct asking_index *indexes, size_t count)
{
	unsigned shards = (unsigned)store->conf->store.shards;
	size_t *wanted = arena_alloc(op->arena, count * sizeof *wanted);
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		if (indexes[i].most > 0)
			wanted[n++] = i;
	call_begin_op(store, &op->op);
	op->count = op->room = 0;
	op->list = NULL;
	op->wanted = wanted;
	op->n_wanted = n;
	for (unsigned s = 0; s < n_shards && n > 0; s++) {
		unsigned shard = (first + s) % shards;
		struct store_call *call =
		    call_new(store, shard, SCRIPT_due, 1 + 2 * n);
		resp_number(&call->args, (int64_t)n);
		for (size_t i = 0; i < n; i++)
			redis_keys_index_of(&call->args, store->conf, shard,
			    "asking:", indexes[wanted[i]].route);
		for (size_t i = 0; i < n; i++)
			resp_number(&call->args, indexes[wanted[i]].most);
		call->done = on_found;
		call_join_op(call, &op->op);
	}
	call_start_op(&op->op);
}
