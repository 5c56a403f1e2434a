/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/container.h"
#include "base/hex.h"
#include "messages/shared/holds.h"

static struct key_id
name_at(struct span position)
{
	struct digest digest;
	struct key_id name;
	digest_begin(&digest, SPAN("held"), SPAN(""));
	digest_part(&digest, position);
	digest_end(&digest, name.bytes);
	return name;
}

/* name: or, of look, how many. */
static struct store_call *
hold_call(const struct holds *holds, const char *act, struct span name,
    int64_t held_ms)
{
	const struct shared *shared = &holds->shared;
	struct store_call *call = shared_call(shared, SCRIPT_hold, 8);
	resp_number(&call->args, 1);
	shared_arg_key(shared, call, "holds", "");
	resp_arg(&call->args, span_str(act));
	resp_arg(&call->args, name);
	resp_number(&call->args, holds->keep_ms);
	shared_arg_notice(shared, call);
	resp_number(&call->args, held_ms);
	resp_number(&call->args, holds->most_ms);
	return call;
}

static struct store_call *
call_about(const struct holds *holds, const char *act,
    const struct key_id *name, int64_t held_ms)
{
	char hex[DIGEST_HEX + 1];
	hex_encode(name->bytes, sizeof name->bytes, hex);
	return hold_call(holds, act, span_str(hex), held_ms);
}

/* --- which there are --- */

bool
holds_may(const struct holds *holds, struct span position)
{
	if (holds->known && holds->names.count == 0)
		return false;
	const struct key_id name = name_at(position);
	return !holds->known || key_set_has(&holds->names, &name);
}

/* A name that is left out would let its message be executed. */
static bool
read_names(struct holds *holds, struct span names)
{
	struct key_id name;
	for (; names.len > 0; names = span_from(names, DIGEST_HEX)) {
		if (names.len < DIGEST_HEX ||
		    !hex_decode(span_of(names.ptr, DIGEST_HEX), name.bytes,
			sizeof name.bytes))
			return false;
		key_set_add(&holds->names, &name);
	}
	return true;
}

/* What came since it was asked for stays. */
static void
take_names(struct holds *holds, const struct call_reply *reply)
{
	if (!holds->again)
		key_set_clear(&holds->names);
	holds->known = reply->verdict == VERDICT_DONE &&
	    read_names(holds, call_reply_text(reply, 0));
}

static void
on_holds_looked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct holds *holds = call->arg;
	if (holds == NULL)
		return;
	holds->call = NULL;
	shared_ended(&holds->shared, "holds", call, error, holds->known);
	int64_t each = 1 + (int64_t)holds->names.count / HOLDS_ASK_FEW;
	if (how == CALL_ANSWERED)
		take_names(holds, reply);
	timer_set(&holds->timer,
	    how == CALL_ANSWERED ? HOLDS_ASK_MS * each : HOLDS_RETRY_MS);
}

static void
on_hold_timer(void *arg)
{
	char most[16];
	struct holds *holds = arg;
	if (holds->call != NULL)
		return; /* its end sets the timer */
	holds->again = false;
	snprintf(most, sizeof most, "%d", HOLDS_KNOWN);
	holds->call = hold_call(holds, "look", span_str(most), 0);
	holds->call->done = on_holds_looked;
	holds->call->arg = holds;
	call_start(holds->call);
}

/* An answer that is under way may be older, and is not enough. */
void
holds_load(struct holds *holds)
{
	holds->known = false;
	if (holds->call != NULL)
		holds->call->arg = NULL;
	holds->call = NULL;
	timer_set(&holds->timer, 0);
}

static void
there_is_one(struct holds *holds, const struct key_id *name)
{
	key_set_add(&holds->names, name);
	holds->again = true;
}

static void
on_hold_notice(void *arg, struct span notice)
{
	struct holds *holds = arg;
	struct key_id name;
	struct span what;
	if (!shared_notice(&holds->shared, notice, &what))
		return;
	if (what.len == 0)
		holds_load(holds);
	else if (span_starts(what, SPAN("holds ")) &&
	    hex_decode(span_from(what, 6), name.bytes, sizeof name.bytes))
		there_is_one(holds, &name);
}

void
holds_start(struct holds *holds, struct store *store, struct loop *loop,
    const char *kind, const char *name, int64_t most_ms, int64_t keep_ms)
{
	*holds = (struct holds){.most_ms = most_ms, .keep_ms = keep_ms};
	shared_init(&holds->shared, store, kind, name);
	timer_init(&holds->timer, loop, on_hold_timer, holds);
	holds->hearing = (struct subscriber_hearing){
	    .heard = on_hold_notice, .arg = holds};
	subscriber_hear(store, &holds->hearing);
	timer_set(&holds->timer, 0);
}

void
holds_stop(struct holds *holds)
{
	if (holds->shared.store == NULL)
		return;
	timer_clear(&holds->timer);
	subscriber_unhear(&holds->hearing);
	if (holds->call != NULL)
		holds->call->arg = NULL;
	key_set_clear(&holds->names);
	*holds = (struct holds){0};
}

/* --- one message --- */

static void
on_hold_told(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct hold_op *op = CONTAINER_OF(call->op, struct hold_op, op);
	if (how == CALL_ANSWERED) {
		op->op.verdict = reply->verdict;
		op->held_ms = shared_number(reply, 0);
	}
	call_end_op(call, error);
}

static void
tell_of(struct holds *holds, struct hold_op *op, const char *act,
    const struct key_id *name, int64_t held_ms)
{
	call_begin_op(holds->shared.store, &op->op);
	op->held_ms = 0;
	struct store_call *call = call_about(holds, act, name, held_ms);
	call->done = on_hold_told;
	call_join_op(call, &op->op);
	call_start(call);
}

void
holds_note(struct holds *holds, struct hold_op *op, struct span position,
    int64_t held_ms)
{
	const struct key_id name = name_at(position);
	there_is_one(holds, &name);
	tell_of(holds, op, "note", &name, held_ms);
}

void
holds_find(struct holds *holds, struct hold_op *op, struct span position)
{
	const struct key_id name = name_at(position);
	tell_of(holds, op, "find", &name, 0);
}

void
holds_drop(struct holds *holds, struct span position)
{
	const struct key_id name = name_at(position);
	call_start(call_about(holds, "drop", &name, 0));
}
