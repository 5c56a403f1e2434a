/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/base64.h"
#include "base/container.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/test_build.h"
#include "loop/log.h"
#include "record/answer_codec.h"
#include "record/redis_keys.h"
#include "store/operation.h"

enum { ATTEMPT_DIGITS = 6 };

/* --- arguments --- */

struct store_call *
operation_call(struct store *store, enum script script,
    const struct key_id *key_id, size_t n_argv)
{
	return operation_call_sized(
	    store, script, key_id, n_argv, sizeof(struct store_call));
}

struct store_call *
operation_call_sized(struct store *store, enum script script,
    const struct key_id *key_id, size_t n_argv, size_t size)
{
	const struct conf *conf = store->conf;
	unsigned shard = redis_keys_shard(conf, key_id);
	bool tells = conf->store.events_maxlen > 0;
	size_t n_keys = tells ? 5 : 3;
	struct store_call *call =
	    call_new_sized(
	    store, shard, script, 1 + n_keys + n_argv, size);
	call->key_id = *key_id;
	call->events_maxlen = conf->store.events_maxlen;
	resp_number(&call->args, (int64_t)n_keys);
	redis_keys_record(&call->args, conf, key_id);
	redis_keys_index(&call->args, conf, shard, "leases");
	redis_keys_index(&call->args, conf, shard, "held");
	if (tells) {
		redis_keys_index(&call->args, conf, shard, "events");
		redis_keys_index(&call->args, conf, shard, "dead");
	}
	return call;
}

void
operation_arg_token(struct store_call *call, const uint8_t bytes[16])
{
	char token[TOKEN_CHARS + 1];
	base64_encode(bytes, 16, token);
	resp_arg(&call->args, span_of(token, TOKEN_CHARS));
}

void
operation_arg_owner(struct store_call *call, const struct owner *owner)
{
	operation_arg_token(call, owner->bytes);
}

void
operation_arg_attempt(struct store_call *call, uint32_t attempt)
{
	char digits[ATTEMPT_DIGITS];
	digits_pad(digits, sizeof digits, attempt);
	resp_arg(&call->args, span_of(digits, sizeof digits));
}

/* Never less than its lease. */
int64_t
operation_alive_ms(const struct conf_idempotency *policy)
{
	int64_t alive_ms = policy->retention_ms;
	if (policy->unknown_retention_ms > alive_ms)
		alive_ms = policy->unknown_retention_ms;
	return policy->lease_ms > alive_ms ? policy->lease_ms : alive_ms;
}

void
operation_longest(struct store *store, const struct conf_idempotency *policy)
{
	int64_t alive_ms = operation_alive_ms(policy);
	if (alive_ms > store->longest_ms)
		store->longest_ms = alive_ms;
}

/* --- operations --- */

/*
 * A Redis that did not answer in time, or the way to it, may be frozen: the
 * connection is not used any more.
 */
static void
reset_late(struct store *store, int error)
{
	for (struct node *node = store->nodes; node != NULL;
	     node = node->next) {
		bool late = node->is_late && error == E_TIMEOUT;
		node->is_late = false;
		if (late && INVARIANT(late_link_reset))
			link_reset(
			    node->link, "no answer within store.timeout");
	}
}

/* Parts an operation from its calls; those that were sent go on alone. */
static void
on_detach(struct op *op, int error)
{
	struct store_op *store_op = CONTAINER_OF(op, struct store_op, op);
	struct store *store = NULL;
	while (store_op->call != NULL) {
		struct store_call *call = store_op->call;
		store_op->call = call->sibling;
		call->op = NULL;
		store = call->store;
		struct node *node = call->node;
		if (!call_drop(call))
			node->is_late = true;
	}
	if (store != NULL)
		reset_late(store, error);
}

void
operation_begin(struct store *store, struct store_op *op)
{
	op->verdict = VERDICT_BROKEN;
	op->attempt = 0;
	op->reason = REASON_NONE;
	op->state = STATE_PROCESSING;
	op->answer = NULL;
	op->lease_left_ms = 0;
	op->settle_left_ms = 0;
	op->before = false;
	op->current[0] = '\0';
	op->until_ms = 0;
	op->unreadable = false;
	op->call = NULL;
	op->failure = 0;
	op_start(&op->op, store->conf->store.timeout_ms, on_detach);
}

void
operation_add(struct store_call *call, struct store_op *op)
{
	call->op = op;
	call->sibling = op->call;
	op->call = call;
	call->give_up_us =
	    clock_us() + call->store->conf->store.timeout_ms * 1000;
}

void
operation_end_call(struct store_call *call, int error)
{
	struct store_op *op = call->op;
	struct store_call **at = &op->call;
	while (*at != call)
		at = &(*at)->sibling;
	*at = call->sibling;
	if (op->failure == 0)
		op->failure = error;
	if (op->call == NULL)
		op_done(&op->op, op->failure);
}

/* --- replies --- */

static struct span
extra_text(const struct call_reply *reply, size_t i)
{
	return i < reply->n_extra ? resp_text(reply->extra[i]) : SPAN("");
}

static int64_t
extra_number(const struct call_reply *reply, size_t i)
{
	return i < reply->n_extra &&
		reply->extra[i]->type == REDIS_REPLY_INTEGER
	    ? reply->extra[i]->integer
	    : 0;
}

/* The answer of a COMPLETED record; errors as of answer_codec_read. */
static int
read_answer(struct store_call *call, struct span value)
{
	struct record record;
	struct store_op *op = call->op;
	int error = record_read(value, &record);
	if (error != 0)
		return error;
	op->until_ms = record.lease_until_ms;
	return answer_codec_read(
	    &call->store->codec, &call->key_id, &record, &op->answer);
}

/* An unknown attempt has a number, and there is a reason why it is. */
static int
read_reason(struct store_op *op, struct span letter)
{
	return letter.len == 1 && op->attempt > 0 &&
		reason_of(*letter.ptr, &op->reason) &&
		op->reason != REASON_NONE
	    ? 0
	    : E_MALFORMED;
}

/* The record that holds the entity, and for how long. */
static int
read_holder(struct store_op *op, const struct call_reply *reply)
{
	op->lease_left_ms = extra_number(reply, 0);
	return hex_decode(extra_text(reply, 1), op->holder.bytes, DIGEST_BYTES)
	    ? 0
	    : E_MALFORMED;
}

/* Ends with a NUL; empty where the text has one or has no room. */
static void
copy_text(char *to, size_t size, struct span text)
{
	bool fits = text.len < size && memchr(text.ptr, '\0', text.len) == NULL;
	snprintf(to, size, "%.*s", fits ? (int)text.len : 0, text.ptr);
}

/* Reads what comes with a verdict, by the head of each script. */
static int
read_extra(struct store_call *call, const struct call_reply *reply)
{
	struct store_op *op = call->op;
	struct span first = extra_text(reply, 0);
	struct span value = first;
	if (op->verdict == VERDICT_LATE)
		return E_STORE_DOWN;
	if (op->verdict == VERDICT_REFUSED)
		return E_STORE_REFUSED;
	if (op->verdict == VERDICT_UNKNOWN ||
	    op->verdict == VERDICT_RECONCILE) {
		op->settle_left_ms = extra_number(reply, 1);
		return read_reason(op, first);
	}
	if (op->verdict == VERDICT_OURS)
		return op->attempt > 0 ? 0 : E_MALFORMED;
	if (op->verdict == VERDICT_IN_FLIGHT) {
		op->lease_left_ms = extra_number(reply, 0);
		return 0;
	}
	if (op->verdict == VERDICT_BUSY)
		return read_holder(op, reply);
	if (op->verdict == VERDICT_STALE) {
		copy_text(op->current, sizeof op->current, first);
		return 0;
	}
	if (op->verdict == VERDICT_FENCED) {
		if (first.len != 1 || !state_of(*first.ptr, &op->state))
			return E_MALFORMED;
		value = extra_text(reply, 1);
		op->before = span_eq(value, SPAN("BEFORE"));
	}
	if (op->verdict == VERDICT_COMPLETED ||
	    (op->verdict == VERDICT_FENCED && op->state == STATE_COMPLETED))
		return read_answer(call, value);
	return op->verdict == VERDICT_BROKEN ? E_MALFORMED : 0;
}

static void
read_answered(struct store_call *call, const struct call_reply *reply)
{
	struct store_op *op = call->op;
	op->verdict = reply->verdict;
	op->attempt = reply->attempt;
	op->now_ms = reply->now_ms;
	int error = read_extra(call, reply);
	if (error == E_MALFORMED)
		answer_codec_log_broken(&call->key_id);
	op->unreadable = answer_codec_is_shut(error);
	/* A record that cannot be read is BROKEN, whatever the script said. */
	if (error == E_MALFORMED || op->unreadable) {
		op->verdict = VERDICT_BROKEN;
		error = 0;
	}
	operation_end_call(call, error);
}

void
operation_done(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	if (how == CALL_ANSWERED)
		read_answered(call, reply);
	else
		operation_end_call(call, error);
}
