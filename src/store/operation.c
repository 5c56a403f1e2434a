/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/base64.h"
#include "base/container.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/test_build.h"
#include "store/operation.h"
#include "store/record/answer_codec.h"
#include "store/record/redis_keys.h"

enum {
	ATTEMPT_DIGITS = 6,
	ATTEMPT_MAX = 999999,
	CREATED_DIGITS = 13,
	STATUS_FIRST = 200,
	STATUS_LAST = 599,
};

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
	bool refuses = tells && conf->store.events_refuse;
	size_t n_keys = refuses ? 6 : tells ? 5 : 3;
	struct store_call *call = call_new_sized(
	    store, shard, script, 1 + n_keys + n_argv, size);
	call->key_id = *key_id;
	call->events_maxlen = conf->store.events_maxlen;
	resp_number(&call->args, (int64_t)n_keys);
	call->keys_from = call->args.len;
	redis_keys_record(&call->args, conf, key_id);
	call->keys_to = call->args.len;
	call->keys_to +=
	    redis_keys_names(&store->shard_names, shard, &call->args);
	if (tells) {
		redis_keys_index(&call->args, conf, shard, "events");
		redis_keys_index(&call->args, conf, shard, "dead");
	}
	if (refuses)
		redis_keys_index(&call->args, conf, shard, "relayed");
	call->joint_from = call->args.len;
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

void
operation_arg_held(struct store_call *call, const struct held *held)
{
	call->owner = held->owner;
	call->attempt = held->attempt;
	operation_arg_owner(call, &held->owner);
	operation_arg_attempt(call, held->attempt);
}

void
operation_arg_entity(
    struct store_call *call, const struct store_entity *entity)
{
	redis_keys_entity(&call->args, call->store->conf, entity->name);
	resp_arg(&call->args, entity->version);
	resp_arg(&call->args, entity->shown);
}

void
operation_arg_history(struct store_call *call,
    const uint8_t fingerprint[DIGEST_BYTES], uint32_t tries,
    int64_t created_ms, struct span provenance)
{
	char digits[CREATED_DIGITS];
	operation_arg_token(call, fingerprint);
	operation_arg_attempt(call, tries);
	digits_pad(digits, sizeof digits, created_ms);
	resp_arg(&call->args, span_of(digits, sizeof digits));
	resp_arg(&call->args, operation_one_line(provenance));
}

struct span
operation_one_line(struct span s)
{
	const char *end = s.len ? memchr(s.ptr, '\n', s.len) : NULL;
	return end ? span_of(s.ptr, (size_t)(end - s.ptr)) : s;
}

/* The lease, and then as long as what it ends with is kept. */
int64_t
operation_alive_ms(const struct conf_idempotency *policy)
{
	int64_t after_ms = policy->retention_ms;
	if (policy->unknown_retention_ms > after_ms)
		after_ms = policy->unknown_retention_ms;
	return policy->lease_ms + after_ms;
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
reset_late_line(struct line *line)
{
	bool late = line->is_late;
	line->is_late = false;
	if (late && INVARIANT(late_link_reset))
		link_reset(line->link, "no answer within store.timeout");
}

static void
reset_late(struct store *store)
{
	for (struct node *node = store->nodes; node != NULL;
	     node = node->next) {
		reset_late_line(&node->large);
		reset_late_line(&node->small);
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
		if (error == E_TIMEOUT && call_is_silent(call))
			call->line->is_late = true;
		call_drop(call);
	}
	if (store != NULL)
		reset_late(store);
}

/* store.timeout is for silence: what flows may take longer. */
static int64_t
on_more_ms(struct op *op)
{
	const struct store_op *store_op =
	    CONTAINER_OF(op, struct store_op, op);
	int64_t least_ms = INT64_MAX;
	for (struct store_call *call = store_op->call; call != NULL;
	     call = call->sibling) {
		int64_t left_ms =
		    call->store->hurries ? 0 : call_left_ms(call);
		least_ms = left_ms < least_ms ? left_ms : least_ms;
	}
	return store_op->call != NULL ? least_ms : 0;
}

void
operation_begin(struct store *store, struct store_op *op)
{
	op->verdict = VERDICT_BROKEN;
	op->attempt = 0;
	op->tries = 0;
	op->created_ms = 0;
	op->first_id[0] = '\0';
	op->differs = '-';
	op->reason = REASON_NONE;
	op->state = STATE_PROCESSING;
	op->answer = NULL;
	op->lease_left_ms = 0;
	op->settle_left_ms = 0;
	op->before = false;
	op->current[0] = '\0';
	op->until_ms = 0;
	op->unreadable = op->fetches = op->gone = op->quiet = false;
	op->brief = false;
	op->call = NULL;
	op->failure = 0;
	op_start(&op->op, store->conf->store.redis.timeout_ms, on_detach);
	op->op.more_ms = on_more_ms;
}

void
operation_add(struct store_call *call, struct store_op *op)
{
	call->op = op;
	call->sibling = op->call;
	op->call = call;
	call->give_up_us =
	    clock_us() + call->store->conf->store.redis.timeout_ms * 1000;
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

/* How long something lasts yet. */
static int64_t
extra_ms(const struct call_reply *reply, size_t i)
{
	if (i >= reply->n_extra ||
	    reply->extra[i]->type != REDIS_REPLY_INTEGER ||
	    reply->extra[i]->integer < 0)
		return 0;
	int64_t ms = reply->extra[i]->integer;
	return ms < REDIS_CLOCK_MAX_MS ? ms : REDIS_CLOCK_MAX_MS;
}

/* The answer of a COMPLETED record; errors as of answer_codec_read. */
static int
read_answer(struct store_call *call, const struct record *record)
{
	struct store_op *op = call->op;
	op->until_ms = record->lease_until_ms;
	return answer_codec_read(
	    &call->store->codec, &call->key_id, record, &op->answer);
}

/* The call was answered, and this is what reading that has come to. */
static void
end_reading(struct store_call *call, int error)
{
	struct store_op *op = call->op;
	if (error == E_MALFORMED && !op->quiet)
		answer_codec_log_broken(&call->key_id);
	op->unreadable = answer_codec_is_shut(error);
	/* A record that cannot be read is BROKEN, whatever the script said. */
	if (error == E_MALFORMED || op->unreadable) {
		op->verdict = VERDICT_BROKEN;
		error = 0;
	}
	operation_end_call(call, error);
}

/* --- a large answer --- */

/*
 * Fetches a large answer, of which a script gave only the record's head; first
 * member of a call.
 */
struct fetch {
	struct store_call call; /* first: see call_new_sized */
	char head[RECORD_HEAD_BYTES - 1]; /* without the mark, which changes */
};

/* It must be the record still of which we were told. */
static int
read_fetched(struct fetch *fetch, const struct call_reply *reply)
{
	struct record record;
	struct span value =
	    reply->n_extra > 2 ? resp_text(reply->extra[2]) : SPAN("");
	struct span head = span_of(fetch->head, sizeof fetch->head);
	if (reply->verdict != VERDICT_DONE ||
	    (!span_starts(value, head) && INVARIANT(fetched_same)))
		return E_NOT_FETCHED;
	int error = record_read(value, &record);
	return error != 0 ? error : read_answer(&fetch->call, &record);
}

static void
on_fetched(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct fetch *fetch = CONTAINER_OF(call, struct fetch, call);
	(void)error;
	if (call->op != NULL)
		end_reading(call, how == CALL_ANSWERED
			? read_fetched(fetch, reply)
			: E_NOT_FETCHED);
}

/* For the operation that was told of it by this call. */
static void
fetch_answer(const struct store_call *told, struct span head)
{
	struct store_call *call = operation_call_sized(told->store,
	    SCRIPT_show, &told->key_id, 1, sizeof(struct fetch));
	struct fetch *fetch = CONTAINER_OF(call, struct fetch, call);
	memcpy(fetch->head, head.ptr, sizeof fetch->head);
	resp_number(&call->args, 1);
	call->large = true;
	call->done = on_fetched;
	told->op->fetches = true;
	operation_add(call, told->op);
	call_start(call);
}

/* The status alone, of an answer that was asked for briefly. */
static int
take_status(struct store_op *op, const struct record *record,
    struct span digits)
{
	const struct fields none = {NULL, 0};
	int64_t status;
	if (!digits_read(digits, STATUS_LAST, &status) ||
	    status < STATUS_FIRST)
		return E_MALFORMED;
	op->until_ms = record->lease_until_ms;
	op->answer = answer_new((int)status, &none, NULL, SPAN(""));
	op->brief = true;
	return 0;
}

/*
 * A COMPLETED record, or only its head, which is followed by no answer; status
 * is what stands for that, or empty.
 */
static int
take_record(struct store_call *call, struct span value, struct span status)
{
	struct record record;
	int error = record_read(value, &record);
	if (error != 0)
		return error;
	if (record.state == STATE_COMPLETED && status.len > 0)
		return take_status(call->op, &record, status);
	if (record.state != STATE_COMPLETED || record.rest.len > 0)
		return read_answer(call, &record);
	fetch_answer(call, value);
	return 0;
}

/* --- what comes with a verdict --- */

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
	op->lease_left_ms = extra_ms(reply, 0);
	return hex_decode(extra_text(reply, 1), op->holder.bytes, DIGEST_BYTES)
	    ? 0
	    : E_MALFORMED;
}

/* Ends with a NUL; empty where the text has one or has no room. */
static void
copy_text(char *to, size_t size, struct span text)
{
	bool fits = text.len < size && memchr(text.ptr, '\0', text.len) == NULL;
	size_t len = fits ? text.len : 0;
	memcpy(to, text.ptr, len);
	to[len] = '\0';
}

/* What it takes to make the record again; left out, that cannot be done. */
static void
read_history(struct store_op *op, const struct call_reply *reply)
{
	int64_t tries, created_ms;
	copy_text(op->first_id, sizeof op->first_id, extra_text(reply, 3));
	if (!digits_read(extra_text(reply, 1), ATTEMPT_MAX, &tries) ||
	    !digits_read(extra_text(reply, 2), INT64_MAX, &created_ms))
		return;
	op->tries = (uint32_t)tries;
	op->created_ms = created_ms;
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
	if (op->verdict == VERDICT_DONE && first.len == 1)
		return state_of(*first.ptr, &op->state) ? 0 : E_MALFORMED;
	if (op->verdict == VERDICT_REFUSED)
		return E_STORE_REFUSED;
	if (op->verdict == VERDICT_OURS || op->verdict == VERDICT_RECONCILE)
		read_history(op, reply);
	if (op->verdict == VERDICT_FAILED || op->verdict == VERDICT_MISMATCH)
		copy_text(op->first_id, sizeof op->first_id, first);
	if (op->verdict == VERDICT_MISMATCH)
		op->differs = extra_text(reply, 1).len == 1
		    ? *extra_text(reply, 1).ptr : '-';
	if (op->verdict == VERDICT_UNKNOWN ||
	    op->verdict == VERDICT_RECONCILE) {
		op->settle_left_ms = extra_ms(reply, 1);
		return read_reason(op, first);
	}
	if (op->verdict == VERDICT_OURS)
		return op->attempt > 0 ? 0 : E_MALFORMED;
	if (op->verdict == VERDICT_IN_FLIGHT) {
		op->lease_left_ms = extra_ms(reply, 0);
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
	if (op->verdict == VERDICT_COMPLETED)
		return take_record(call, first, extra_text(reply, 1));
	if (op->verdict == VERDICT_FENCED && op->state == STATE_COMPLETED)
		return take_record(call, value, SPAN(""));
	return op->verdict == VERDICT_BROKEN ? E_MALFORMED : 0;
}

static void
read_answered(struct store_call *call, const struct call_reply *reply)
{
	struct store_op *op = call->op;
	op->verdict = reply->verdict;
	op->attempt = reply->attempt;
	op->now_ms = reply->now_ms;
	end_reading(call, read_extra(call, reply));
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
