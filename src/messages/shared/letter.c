/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/must.h"
#include "messages/shared/letter.h"
#include "messages/shared/letter_stored.h"

enum { UNTIL_DIGITS = 13 }; /* as scripts have Redis' clock */

/* --- what is done with it --- */

/* What an answer says of the letter; 0 or an error. */
static int
read_answer(struct letter_op *op, const struct call_reply *reply)
{
	struct span head, body;
	const struct letters *letters = op->letters;
	struct letter *letter = &op->letter;
	if (call_reply_text(reply, SAID_ID).len == 0)
		return 0;
	if (!letter_stored_read_said(
		reply, SAID_ID, op->arena, SAID_REASON, letter))
		return E_MALFORMED;
	op->state = letter->state;
	if (reply->n_extra <= SAID_HEAD)
		return 0;
	if (!letter_stored_open(&letters->shared, op->arena, letter->name.id,
		call_reply_text(reply, SAID_HEAD), &head))
		return E_NO_MEMORY;
	op->sealed_shut = !letter_stored_read_head(letter, head);
	if (reply->n_extra <= SAID_BODY)
		return 0;
	if (!letter_stored_open(&letters->shared, op->arena, letter->name.id,
		call_reply_text(reply, SAID_BODY), &body))
		return E_NO_MEMORY;
	op->sealed_shut |= !letter_codec_read_body(body, op->arena, letter);
	return 0;
}

static void
on_letter_told(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct letter_op *op = CONTAINER_OF(call->op, struct letter_op, op);
	struct letters *letters = op->letters;
	if (how == CALL_ANSWERED) {
		op->op.verdict = reply->verdict;
		op->op.now_ms = reply->now_ms;
		error = read_answer(op, reply);
		op->has_next = op->ends && reply->verdict == VERDICT_DONE &&
			       op->letter.name.in_order;
		if (error == E_MALFORMED) {
			call_log_odd(call);
			error = E_STORE_REFUSED;
		} else if (letters->shards != NULL) {
			letters_note(letters, call->shard, &op->name, reply);
		}
	}
	call_end_op(call, error);
	if (letters->shards != NULL && letters->n_unknown == 0)
		letters->events.changed(letters->events.arg);
}

/* A call of that operation; n_more arguments are still to come. */
static struct store_call *
begin_call(struct letters *letters, struct letter_op *op, enum script script,
    const char *act, const struct letter_name *name, size_t n_more)
{
	call_begin_op(letters->shared.store, &op->op);
	op->letter = (struct letter){.position = SPAN("")};
	op->state = LETTER_WRITTEN;
	op->has_next = op->sealed_shut = op->ends = false;
	op->letters = letters;
	op->name = *name;
	struct store_call *call = letter_stored_call(&letters->shared,
	    letter_stored_shard(&letters->shared, name), script, 3 + n_more);
	resp_arg(&call->args, span_str(act));
	letter_stored_arg_digest(call, name->id);
	if (name->in_order)
		letter_stored_arg_digest(call, name->lane);
	else
		resp_arg(&call->args, SPAN(""));
	call->done = on_letter_told;
	call_join_op(call, &op->op);
	return call;
}

/*
 * Fills in until when it may be written, by the clock of the Redis that it is
 * sent to; where nobody waits for it any more, it may not.
 */
static void
on_put_prepare(struct store_call *call)
{
	if (call->op == NULL)
		return;
	struct letter_op *op = CONTAINER_OF(call->op, struct letter_op, op);
	int64_t until_ms = op->until_us == INT64_MAX
	    ? REDIS_CLOCK_MAX_MS
	    : redis_clock_ms(link_clock(call->channel->link), op->until_us);
	digits_pad(call->args.bytes + op->until_at, UNTIL_DIGITS, until_ms);
}

static void
put(struct letters *letters, struct letter_op *op, const char *act,
    const struct letter *letter)
{
	char *bytes;
	size_t len;
	struct store_call *call =
	    begin_call(letters, op, SCRIPT_letter_put, act, &letter->name, 5);
	resp_arg(&call->args, letter->reason);
	letter_codec_put_head(letter, &bytes, &len);
	letter_stored_arg_sealed(
	    call, &letters->shared, letter->name.id, bytes, len);
	letter_codec_put_body(letter, &bytes, &len);
	letter_stored_arg_sealed(
	    call, &letters->shared, letter->name.id, bytes, len);
	shared_arg_notice(&letters->shared, call);
	resp_arg(&call->args, SPAN("0000000000000"));
	op->until_at = call->args.len - UNTIL_DIGITS - 2;
	call->prepare = on_put_prepare;
	call->large = store_is_large(call->args.len);
	call_start(call);
}

void
letter_put(struct letters *letters, struct letter_op *op,
    const struct letter *letter, bool behind, int64_t until_us)
{
	must(!behind || letter->name.in_order);
	op->until_us = until_us;
	put(letters, op, behind ? "behind" : "first", letter);
}

void
letter_restore(
    struct letters *letters, struct letter_op *op, const struct letter *letter)
{
	op->until_us = INT64_MAX;
	put(letters, op, "restore", letter);
}

/* owner NULL: nobody; n_more arguments are still to come. */
static struct store_call *
begin_act(struct letters *letters, struct letter_op *op, const char *word,
    const struct letter_name *name, const struct owner *owner,
    enum letter_act act, size_t n_more)
{
	struct store_call *call =
	    begin_call(letters, op, SCRIPT_letter, word, name, 3 + n_more);
	shared_arg_notice(&letters->shared, call);
	if (owner != NULL)
		call_arg_token(call, owner->bytes);
	else
		resp_arg(&call->args, SPAN(""));
	resp_arg(
	    &call->args, act == LETTER_REPLAY ? SPAN("replay") : SPAN("drop"));
	return call;
}

void
letter_find(struct letters *letters, struct letter_op *op,
    const struct letter_name *name)
{
	call_start(begin_act(letters, op, "find", name, NULL, 0, 0));
}

void
letter_confirm(struct letters *letters, struct letter_op *op,
    const struct letter_name *name)
{
	call_start(begin_act(letters, op, "confirm", name, NULL, 0, 0));
}

void
letter_begin(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, enum letter_act act,
    const struct owner *owner)
{
	struct store_call *call =
	    begin_act(letters, op, "begin", name, owner, act, 0);
	call->large = true; /* its body may be */
	call_start(call);
}

void
letter_ask(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, enum letter_act act)
{
	call_start(begin_act(letters, op, "ask", name, NULL, act, 0));
}

void
letter_renew(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner)
{
	call_start(begin_act(letters, op, "renew", name, owner, 0, 0));
}

void
letter_put_back(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner,
    const struct letter *head)
{
	char *bytes;
	size_t len;
	struct store_call *call =
	    begin_act(letters, op, "put_back", name, owner, 0, 2);
	if (head != NULL) {
		resp_arg(&call->args, head->reason);
		letter_codec_put_head(head, &bytes, &len);
		letter_stored_arg_sealed(
		    call, &letters->shared, name->id, bytes, len);
	} else {
		resp_arg(&call->args, SPAN(""));
		resp_arg(&call->args, SPAN(""));
	}
	call_start(call);
}

void
letter_end(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner)
{
	struct store_call *call =
	    begin_act(letters, op, "end", name, owner, 0, 0);
	op->ends = true;
	call_start(call);
}

/* --- reading one --- */

static struct store_call *
show_call(struct letter_op *op, unsigned shard, const uint8_t id[DIGEST_BYTES])
{
	struct store_call *call =
	    letter_stored_call(&op->letters->shared, shard, SCRIPT_letters, 2);
	resp_arg(&call->args, SPAN("show"));
	letter_stored_arg_digest(call, id);
	call->large = true; /* its body may be */
	call_join_op(call, &op->op);
	return call;
}

static void
begin_reading(struct letters *letters, struct letter_op *op,
    const struct letter_name *name)
{
	call_begin_op(letters->shared.store, &op->op);
	op->op.verdict = VERDICT_GONE;
	op->letter = (struct letter){.position = SPAN("")};
	op->has_next = op->sealed_shut = false;
	op->letters = letters;
	op->name = *name;
	op->n_asked = 0;
	op->first = letter_stored_shard(&letters->shared, name);
}

static void on_sought(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

/* The next shard that is to be asked. */
static struct store_call *
seek_call(struct letter_op *op)
{
	int64_t n_shards = op->letters->shared.store->conf->store.shards;
	unsigned shard = (unsigned)((op->first + op->n_asked++) % n_shards);
	struct store_call *call = show_call(op, shard, op->name.id);
	call->done = on_sought;
	return call;
}

static void
on_sought(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct letter_op *op = CONTAINER_OF(call->op, struct letter_op, op);
	int64_t n_shards = op->letters->shared.store->conf->store.shards;
	bool found = op->op.verdict == VERDICT_DONE;
	if (!found && how == CALL_ANSWERED && reply->verdict == VERDICT_DONE) {
		found = true;
		op->op.verdict = VERDICT_DONE;
		op->op.now_ms = reply->now_ms;
		error = read_answer(op, reply);
		if (error == E_MALFORMED)
			error = E_STORE_REFUSED;
		/* Whatever other shards cannot say does not matter then. */
		op->op.failure = 0;
	} else if (found) {
		error = 0;
	}
	if (!found && error == 0 && op->op.failure == 0 &&
	    op->n_asked < n_shards)
		call_start(seek_call(op));
	call_end_op(call, error);
}

void
letter_seek(struct letters *letters, struct letter_op *op, struct span position)
{
	const struct letter_name name = letter_name_of(position, NULL);
	int64_t n_shards = letters->shared.store->conf->store.shards;
	struct store_call *calls[LETTERS_AT_ONCE];
	size_t count = 0;
	begin_reading(letters, op, &name);
	while (count < LETTERS_AT_ONCE && op->n_asked < n_shards)
		calls[count++] = seek_call(op);
	/*
	 * All are added before one can end: the last to end ends the operation.
	 */
	for (size_t i = 0; i < count; i++)
		call_start(calls[i]);
}

void
letter_show(struct letters *letters, struct letter_op *op,
    const struct letter_name *name)
{
	begin_reading(letters, op, name);
	op->n_asked = UINT_MAX; /* no other shard has it */
	struct store_call *call = show_call(op, op->first, name->id);
	call->done = on_sought;
	call_start(call);
}
