/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/container.h"
#include "base/digits.h"
#include "messages/shared/kept.h"

enum { PAGE = 500, LARGE_BYTES = 65536 };

static void on_kept_done(struct store_call *call, enum call_end how,
    int error, const struct call_reply *reply);

/* A call of that operation, with the keys of both scripts. */
static struct store_call *
begin_call(const struct shared *shared, struct kept_op *op,
    enum script script, size_t n_keys, size_t n_argv)
{
	call_begin_op(shared->store, &op->op);
	op->lists = false;
	struct store_call *call =
	    shared_call(shared, script, 1 + n_keys + n_argv);
	resp_number(&call->args, (int64_t)n_keys);
	shared_arg_key(shared, call, "kept", "");
	shared_arg_key(shared, call, "kept", ":bodies");
	if (n_keys > 2)
		shared_arg_key(shared, call, "turn", "");
	call->done = on_kept_done;
	call_join_op(call, &op->op);
	return call;
}

void
kept_put(const struct shared *shared, struct kept_op *op,
    const struct turn *turn, const struct kept_event *events, size_t count)
{
	struct store_call *call =
	    begin_call(shared, op, SCRIPT_keep, 3, 1 + 3 * count);
	turn_arg_token(turn, call);
	size_t bytes = 0;
	for (size_t i = 0; i < count; i++) {
		resp_arg(&call->args, events[i].id);
		resp_arg(&call->args, events[i].key_id);
		resp_arg(&call->args, events[i].body);
		bytes += events[i].body.len;
	}
	call->large = bytes > LARGE_BYTES;
	call_start(call);
}

void
kept_drop(const struct shared *shared, struct kept_op *op,
    const struct span *ids, size_t count)
{
	struct store_call *call =
	    begin_call(shared, op, SCRIPT_kept, 2, 1 + count);
	resp_arg(&call->args, SPAN("drop"));
	for (size_t i = 0; i < count; i++)
		resp_arg(&call->args, ids[i]);
	call_start(call);
}

void
kept_read(const struct shared *shared, struct kept_op *op, struct span id,
    size_t body_bytes)
{
	struct store_call *call = begin_call(shared, op, SCRIPT_kept, 2, 2);
	op->body = SPAN("");
	resp_arg(&call->args, SPAN("read"));
	resp_arg(&call->args, id);
	call->large = body_bytes > LARGE_BYTES;
	call_start(call);
}

void
kept_list(const struct shared *shared, struct kept_op *op)
{
	struct store_call *call = begin_call(shared, op, SCRIPT_kept, 2, 3);
	op->lists = true;
	op->list = NULL;
	op->count = 0;
	resp_arg(&call->args, SPAN("list"));
	resp_arg(&call->args, span_str(op->cursor));
	resp_number(&call->args, PAGE);
	call_start(call);
}

/* --- replies --- */

/* "SINCE BYTES RECORD"; false: somebody else wrote that. */
static bool
read_event(struct arena *arena, struct span text, struct kept_event *ret_event)
{
	int64_t since_ms, bytes;
	struct span word;
	if (!span_next(&text, ' ', &word) ||
	    !digits_read(word, INT64_MAX, &since_ms) ||
	    !span_next(&text, ' ', &word) ||
	    !digits_read(word, INT64_MAX, &bytes) || text.ptr == NULL)
		return false;
	ret_event->since_ms = since_ms;
	ret_event->body_bytes = (size_t)bytes;
	ret_event->key_id = arena_dup(arena, text);
	return true;
}

static void
take_list(struct kept_op *op, const struct call_reply *reply)
{
	struct span cursor = call_reply_text(reply, 0);
	snprintf(op->cursor, sizeof op->cursor, "%.*s", SPAN_FMT(cursor));
	op->list = arena_alloc(
	    op->arena, (reply->n_extra / 2 + 1) * sizeof *op->list);
	for (size_t i = 1; i + 1 < reply->n_extra; i += 2) {
		struct kept_event *event = &op->list[op->count];
		event->id = arena_dup(op->arena, call_reply_text(reply, i));
		if (read_event(op->arena, call_reply_text(reply, i + 1), event))
			op->count++;
	}
}

static void
on_kept_done(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct kept_op *op = CONTAINER_OF(call->op, struct kept_op, op);
	if (how == CALL_ANSWERED) {
		op->op.verdict = reply->verdict;
		op->op.now_ms = reply->now_ms;
		if (op->lists)
			take_list(op, reply);
		else if (reply->n_extra > 0)
			op->body = arena_dup(
			    op->arena, call_reply_text(reply, 0));
	}
	call_end_op(call, error);
}
