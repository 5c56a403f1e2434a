/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/record/record.h"
#include "store/replicas.h"

enum {
	BYTES_MAX = 128 * 1024,
	KEYS_EACH = 2, /* the record, and its shard's leases */
	HEAD = 3,      /* of a reply: its name, Redis' clock, the letters */
	APART_MS = 1000, /* after a refusal each call leaves by itself */
};

/* What an item is alone, what its batch is, and how many arguments it has. */
static const struct batch_kind {
	enum script alone, script;
	size_t own;
} kinds[BATCH_KINDS] = {
    {SCRIPT_claim, SCRIPT_claims, 1},
    {SCRIPT_complete, SCRIPT_completes, 2},
    {SCRIPT_letter, SCRIPT_seeks, 1},
};

static void on_reply(struct link_call *link, const redisReply *reply);

/* Ends them all with the same result. */
static void
end_all(struct batch *batch, const struct batch_result *result)
{
	for (size_t i = 0; i < batch->n_items; i++) {
		struct batch_item *item = batch->items[i];
		item->batch = NULL;
		item->done(item, result);
	}
	free(batch);
}

/* --- gathering --- */

static struct span
part_of(const struct batch_item *item, size_t from, size_t to)
{
	return span_of(item->whole->bytes + from, to - from);
}

static void
send_batch(struct batch *batch)
{
	struct channel *channel = batch->channel;
	struct resp *command = &channel->batches.command;
	struct span terms[BATCH_ITEMS];
	size_t n_args = 1 + batch->n_items * (KEYS_EACH + batch->own_args);
	for (size_t i = 0; i < batch->n_items; i++) {
		struct batch_item *item = batch->items[i];
		if (item->prepare != NULL)
			item->prepare(item);
		terms[i] = part_of(item, item->terms_from, item->own_from);
		n_args += i == 0 || !span_eq(terms[i], terms[i - 1]);
	}
	command->len = 0;
	channel_begin(channel, &batch->run, n_args, command);
	/* All that the script touches: some servers let it do nothing else. */
	resp_number(command, (int64_t)(KEYS_EACH * batch->n_items));
	for (size_t i = 0; i < batch->n_items; i++) {
		const struct batch_item *item = batch->items[i];
		resp_bytes(command,
		    part_of(item, item->keys_from, item->keys_to));
	}
	for (size_t i = 0; i < batch->n_items; i++) {
		const struct batch_item *item = batch->items[i];
		if (i == 0 || !span_eq(terms[i], terms[i - 1]))
			resp_bytes(command, terms[i]);
		resp_bytes(
		    command, part_of(item, item->own_from, item->own_to));
	}
	batch->sent = true;
	channel_send(channel, &batch->run, command);
	replicas_sent(channel, batch->items[0]->script);
}

/* It is sent, or where its connection is down, lost. */
static void
send_open(struct batch **open)
{
	struct batch *batch = *open;
	*open = NULL;
	if (batch == NULL)
		return;
	if (batch->channel->link != NULL && link_is_up(batch->channel->link))
		send_batch(batch);
	else
		end_all(batch, &(struct batch_result){.what = BATCH_LOST});
}

static bool
on_flush_leave(void *arg)
{
	struct channel *channel = arg;
	for (size_t i = 0; i < BATCH_KINDS; i++)
		send_open(&channel->batches.open[i]);
	return false;
}

bool
batch_add(struct channel *channel, struct batch_item *item)
{
	struct batches *batches = &channel->batches;
	size_t kind = 0;
	while (kinds[kind].alone != item->script)
		must(++kind < BATCH_KINDS);
	struct batch **open = &batches->open[kind];
	size_t bytes = item->own_to - item->terms_from;
	if (batches->refused_us != 0 &&
	    clock_us() - batches->refused_us <= APART_MS * 1000)
		return false;
	if (*open != NULL && (*open)->bytes + bytes > BYTES_MAX)
		send_open(open);
	/* After that of replicas, so it runs before: WAIT follows a script. */
	if (!batches->hooked)
		loop_hook(channel->store->loop, HOOK_FLUSH,
		    &batches->flush, on_flush_leave, channel);
	batches->hooked = true;
	if (*open == NULL) {
		*open = mem_zero(sizeof **open);
		(*open)->run.link.done = on_reply;
		(*open)->run.script = kinds[kind].script;
		(*open)->own_args = kinds[kind].own;
		(*open)->channel = channel;
	}
	struct batch *batch = item->batch = *open;
	batch->bytes += bytes;
	batch->items[batch->n_items++] = item;
	if (batch->n_items == BATCH_ITEMS || channel->store->topology != NULL)
		send_open(open);
	return true;
}

void
batch_end(struct channel *channel)
{
	struct batches *batches = &channel->batches;
	(void)on_flush_leave(channel);
	if (batches->hooked)
		loop_unhook(&batches->flush);
	batches->hooked = false;
	resp_clear(&batches->command);
}

/* --- replies --- */

/* A letter of the reply: the result that it stands for, and its extras. */
struct batch_letter {
	char letter;
	enum script script; /* that may say so */
	size_t n_extra;
	int type; /* of those */
	int what; /* of a batch_result */
	enum verdict verdict;
};

static const struct batch_letter *
letter_of(const struct batch *batch, char letter)
{
	static const struct batch_letter letters[] = {
	    {'O', SCRIPT_claims, 0, 0, BATCH_ANSWERED, VERDICT_OURS},
	    {'C', SCRIPT_claims, 1, REDIS_REPLY_STRING, BATCH_ANSWERED,
		VERDICT_COMPLETED},
	    {'B', SCRIPT_claims, 2, REDIS_REPLY_STRING, BATCH_ANSWERED,
		VERDICT_COMPLETED},
	    {'L', SCRIPT_claims, 0, 0, BATCH_ANSWERED, VERDICT_LATE},
	    {'E', SCRIPT_claims, 1, REDIS_REPLY_ERROR, BATCH_REFUSED, 0},
	    {'S', SCRIPT_claims, 0, 0, BATCH_UNUSUAL, 0},
	    {'D', SCRIPT_completes, 0, 0, BATCH_ANSWERED, VERDICT_DONE},
	    {'S', SCRIPT_completes, 0, 0, BATCH_UNUSUAL, 0},
	    {'G', SCRIPT_seeks, 0, 0, BATCH_ANSWERED, VERDICT_GONE},
	    {'S', SCRIPT_seeks, 0, 0, BATCH_UNUSUAL, 0},
	};
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
		if (letters[i].letter == letter &&
		    letters[i].script == batch->run.script)
			return &letters[i];
	return NULL;
}

/*
 * False unless the reply has a letter for each item, and the extras of each:
 * where one is missing or too many, nobody knows whose the others are.
 */
static bool
read_head(const struct batch *batch, const redisReply *reply,
    int64_t *ret_now_ms)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < HEAD ||
	    !digits_read(resp_text(reply->element[1]), REDIS_CLOCK_MAX_MS,
		ret_now_ms))
		return false;
	struct span letters = resp_text(reply->element[2]);
	size_t at = HEAD;
	for (size_t i = 0; i < letters.len; i++) {
		const struct batch_letter *letter =
		    letter_of(batch, letters.ptr[i]);
		if (letter == NULL || letter->n_extra > reply->elements - at)
			return false;
		for (size_t n = 0; n < letter->n_extra; n++)
			if (reply->element[at++]->type != letter->type)
				return false;
	}
	return letters.len == batch->n_items && at == reply->elements;
}

/* Ends each item with its own part of the reply, whose head was read. */
static void
deliver(struct batch *batch, const redisReply *reply, int64_t now_ms)
{
	redisReply **extra = reply->element + HEAD;
	for (size_t i = 0; i < batch->n_items; i++) {
		const struct batch_letter *letter =
		    letter_of(batch, reply->element[2]->str[i]);
		struct batch_item *item = batch->items[i];
		must(letter != NULL);
		struct batch_result result = {.what = letter->what,
		    .sent_us = batch->run.link.sent_us,
		    .error = letter->what == BATCH_REFUSED ? *extra : NULL,
		    .reply = {.verdict = letter->verdict,
			.now_ms = now_ms,
			.first = letter->verdict == VERDICT_OURS,
			.extra = extra,
			.n_extra = letter->n_extra}};
		/* As its own script says it: 0 where a record has none. */
		if (letter->verdict == VERDICT_OURS)
			result.reply.attempt = 1;
		else if (letter->verdict == VERDICT_DONE)
			result.reply.attempt = item->attempt;
		else if (letter->verdict == VERDICT_COMPLETED)
			result.reply.attempt =
			    record_attempt(resp_text(*extra));
		item->batch = NULL;
		item->done(item, &result);
		extra += letter->n_extra;
	}
	free(batch);
}

static void
on_reply(struct link_call *link, const redisReply *reply)
{
	struct batch *batch = CONTAINER_OF(link, struct batch, run.link);
	struct channel *channel = batch->channel;
	if (reply == NULL || reply->type != REDIS_REPLY_ERROR) {
		int64_t now_ms = 0;
		bool whole = reply != NULL && read_head(batch, reply, &now_ms);
		struct span name =
		    whole ? resp_text(reply->element[0]) : SPAN("");
		if (reply != NULL &&
		    channel_is_own(channel, &batch->run, whole, name))
			deliver(batch, reply, now_ms);
		else
			end_all(batch,
			    &(struct batch_result){.what = BATCH_LOST});
		return;
	}
	/*
	 * The reason may concern one item and not the others: each is sent
	 * alone, by its own script, which says what is wrong with it.  An owner
	 * may repeat what was done before the error came.  In a cluster, where
	 * each leaves by itself, the error is about that one, or says where it
	 * is to go.
	 */
	enum redis_error error = redis_error_of_reply(reply);
	struct batch_result result = {.what = BATCH_UNUSUAL,
	    .in_doubt = !redis_error_is(error, REDIS_NOT_RUN),
	    .error = reply};
	if (channel_brings_script(channel, &batch->run, error)) {
		send_batch(batch);
		return;
	}
	if (channel->store->topology != NULL)
		result.what = BATCH_REFUSED;
	else
		channel->batches.refused_us = clock_us();
	end_all(batch, &result);
}
