/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/shared/letter.h"
#include "store/record/redis_keys.h"

enum {
	UNTIL_DIGITS = 13, /* as scripts have Redis' clock */
	KNOWN_MS = 1000, /* what is known of a message may be so for so long */
};

/* --- what is done with it --- */

/* Begins it; the shard in which that letter is, with its lane. */
static unsigned
begin_op(struct letters *letters, struct letter_op *op,
    const struct letter_name *name)
{
	struct digest digest;
	struct key_id of;
	call_begin_op(letters->shared.store, &op->op);
	op->letter = (struct letter){.position = SPAN("")};
	op->has_next = op->sealed_shut = false;
	op->letters = letters;
	op->name = *name;
	digest_begin(&digest, SPAN("letters"), SPAN(""));
	digest_part(&digest, span_str(letters->shared.name));
	digest_part(&digest, span_of(name->lane, DIGEST_BYTES));
	digest_end(&digest, of.bytes);
	return redis_keys_shard(letters->shared.store->conf, &of);
}

/* What an answer says of the letter; 0 or an error. */
static int
read_answer(struct letter_op *op, struct store_call *call,
    const struct call_reply *reply)
{
	op->op.verdict = reply->verdict;
	op->op.now_ms = reply->now_ms;
	if (call_reply_text(reply, SAID_LETTER).len == 0)
		return 0;
	int error = letter_stored_read(&op->letters->shared, reply, SAID_LETTER,
	    reply->n_extra, op->arena, &op->letter, &op->sealed_shut);
	return error == E_MALFORMED ? call_log_odd(call) : error;
}

static void
on_letter_told(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct letter_op *op = CONTAINER_OF(call->op, struct letter_op, op);
	struct letters *letters = op->letters;
	bool keeps = letters->shards != NULL;
	if (how == CALL_ANSWERED) {
		error = read_answer(op, call, reply);
		op->has_next = reply->verdict == VERDICT_DONE &&
		    op->letter.name.in_order &&
		    memcmp(op->letter.name.id, op->name.id, DIGEST_BYTES) != 0;
		if (error != E_STORE_REFUSED && keeps)
			letters_note(letters, call->shard, &op->name,
			    &op->letter, reply);
	}
	call_end_op(call, error);
	if (keeps && letters->n_unknown == 0)
		letters->events.changed(letters->events.arg);
}

/* A call of that operation; n_more arguments are still to come. */
static struct store_call *
begin_call(struct letter_op *op, unsigned shard, enum script script,
    const char *act, size_t n_more)
{
	const struct letter_name *name = &op->name;
	struct store_call *call = letter_stored_call(
	    &op->letters->shared, shard, script, 3 + n_more);
	char hex[DIGEST_HEX + 1];
	call->item.terms_from = call->args.len;
	resp_arg(&call->args, span_str(act));
	call->item.own_from = call->args.len;
	hex_encode(name->id, DIGEST_BYTES, hex);
	resp_arg(&call->args, span_str(hex));
	/* Of one in an order its lane is asked about as well. */
	if (!name->in_order &&
	    (strcmp(act, "find") == 0 || strcmp(act, "show") == 0))
		call->item.own_to = call->args.len;
	hex_encode(name->lane, DIGEST_BYTES, hex);
	resp_arg(&call->args, name->in_order ? span_str(hex) : SPAN(""));
	call->done = on_letter_told;
	call_join_op(call, &op->op);
	return call;
}

/*
 * Fills in until when it may be written, by the clock of the Redis that it is
 * sent to; where nobody waits for it any more, it may not.
 */
static void
on_put_prepare(struct batch_item *item)
{
	struct store_call *call = CONTAINER_OF(item, struct store_call, item);
	if (call->op == NULL)
		return;
	struct letter_op *op = CONTAINER_OF(call->op, struct letter_op, op);
	digits_pad(call->args.bytes + op->until_at, UNTIL_DIGITS,
	    redis_clock_ms(link_clock(call->channel->link), op->until_us));
}

/* A large one is on its way for longer: for a second of each megabyte. */
int64_t
letter_until_us(int64_t known_us, size_t bytes)
{
	return known_us + KNOWN_MS * INT64_C(1000) + (int64_t)bytes;
}

void
letter_put(struct letters *letters, struct letter_op *op,
    const struct letter *letter, enum letter_way way, int64_t until_us)
{
	static const char *const words[] = {[LETTER_FIRST] = "first",
	    [LETTER_BEHIND] = "behind", [LETTER_RESTORED] = "restore"};
	must(way != LETTER_BEHIND || letter->name.in_order);
	unsigned shard = begin_op(letters, op, &letter->name);
	struct store_call *call =
	    begin_call(op, shard, SCRIPT_letter_put, words[way], 5);
	resp_arg(&call->args, letter->reason);
	letter_stored_arg(call, &letters->shared, letter, false);
	letter_stored_arg(call, &letters->shared, letter, true);
	shared_arg_notice(&letters->shared, call);
	resp_arg(&call->args, SPAN("0000000000000"));
	op->until_us = until_us;
	op->until_at = call->args.len - UNTIL_DIGITS - 2;
	call->item.prepare = on_put_prepare;
	call->large = call->args.len >= STORE_LARGE_BYTES;
	call_start(call);
}

/* owner NULL: nobody; n_more arguments are still to come. */
static struct store_call *
begin_act(struct letter_op *op, unsigned shard, const char *word,
    const struct owner *owner, enum letter_act act, size_t n_more)
{
	struct store_call *call =
	    begin_call(op, shard, SCRIPT_letter, word, 3 + n_more);
	shared_arg_notice(&op->letters->shared, call);
	if (owner != NULL)
		call_arg_token(call, owner->bytes);
	else
		resp_arg(&call->args, SPAN(""));
	resp_arg(
	    &call->args, act == LETTER_DROP ? SPAN("drop") : SPAN("replay"));
	return call;
}

void
letter_do(struct letters *letters, struct letter_op *op, enum letter_verb verb,
    const struct letter_name *name, enum letter_act act,
    const struct owner *owner)
{
	static const char *const words[] = {[LETTER_FIND] = "find",
	    [LETTER_SHOW] = "show", [LETTER_CONFIRM] = "confirm",
	    [LETTER_BEGIN] = "begin", [LETTER_ASK] = "ask",
	    [LETTER_RENEW] = "renew", [LETTER_END] = "end"};
	unsigned shard = begin_op(letters, op, name);
	struct store_call *call =
	    begin_act(op, shard, words[verb], owner, act, 0);
	/* Its body may be. */
	call->large = verb == LETTER_BEGIN || verb == LETTER_SHOW;
	call_start(call);
}

void
letter_put_back(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner,
    const struct letter *head)
{
	unsigned shard = begin_op(letters, op, name);
	struct store_call *call =
	    begin_act(op, shard, "put_back", owner, LETTER_REPLAY, 2);
	resp_arg(&call->args, head != NULL ? head->reason : SPAN(""));
	if (head != NULL)
		letter_stored_arg(call, &letters->shared, head, false);
	else
		resp_arg(&call->args, SPAN(""));
	call_start(call);
}

/* --- wherever it is --- */

static void
on_sought(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct letter_op *op = CONTAINER_OF(call->op, struct letter_op, op);
	bool found = op->op.verdict == VERDICT_DONE;
	if (!found && how == CALL_ANSWERED && reply->verdict == VERDICT_DONE) {
		error = read_answer(op, call, reply);
		/* Whatever other shards cannot say does not matter then. */
		op->op.failure = 0;
	} else if (found) {
		error = 0;
	}
	call_end_op(call, error);
}

void
letter_seek(struct letters *letters, struct letter_op *op, struct span position)
{
	const struct letter_name name = letter_stored_name(position, NULL);
	size_t n_shards = (size_t)letters->shared.store->conf->store.shards;
	struct store_call **calls = mem_zero(n_shards * sizeof *calls);
	begin_op(letters, op, &name);
	op->op.verdict = VERDICT_GONE;
	/* All are added before one can end: with the last it ends. */
	for (size_t i = 0; i < n_shards; i++) {
		calls[i] = begin_act(
		    op, (unsigned)i, "show", NULL, LETTER_REPLAY, 0);
		calls[i]->large = true;
		calls[i]->done = on_sought;
	}
	for (size_t i = 0; i < n_shards; i++)
		call_start(calls[i]);
	free(calls);
}
