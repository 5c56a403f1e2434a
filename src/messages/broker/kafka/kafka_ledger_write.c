/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_ledger_private.h"

enum {
	SLICE_MS = 500,
	RETRY_MS = 1000,
	/* The number means nothing: its metadata tells where it stands. */
	THE_OFFSET = 0,
};

/* --- messages --- */

/*
 * A broker refuses all that comes to it together for being too large together:
 * one that is too large by itself is known only where each came alone.
 */
void
kafka_ledger_write_failed(
    rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
	struct kafka_ledger *l = opaque;
	const struct kafka_ledger_message *failed = message->_private;
	rd_kafka_resp_err_t err = message->err;
	(void)rk;
	if (err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE && !l->apart &&
	    l->batch->count > 1)
		l->again = true;
	if (l->again || l->refused != RD_KAFKA_RESP_ERR_NO_ERROR ||
	    err == RD_KAFKA_RESP_ERR_NO_ERROR ||
	    err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
	    err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
	    err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
		return;
	l->refused = err;
	l->culprit = (size_t)(failed - l->batch->messages);
}

/* The bytes are the batch's, which outlives the transaction. */
static rd_kafka_resp_err_t
produce(struct kafka_ledger *l, struct kafka_ledger_message *m)
{
	for (;;) {
		if (rd_kafka_produce(l->rkt, RD_KAFKA_PARTITION_UA, 0,
			(void *)(uintptr_t)m->value.ptr, m->value.len,
			m->key.ptr, m->key.len, m) == 0)
			return RD_KAFKA_RESP_ERR_NO_ERROR;
		rd_kafka_resp_err_t err = rd_kafka_last_error();
		if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL ||
		    l->refused != RD_KAFKA_RESP_ERR_NO_ERROR ||
		    atomic_load(&l->closed))
			return err;
		rd_kafka_poll(l->producer, SLICE_MS);
	}
}

static enum kafka_ledger_result
produce_all(struct kafka_ledger *l)
{
	struct kafka_ledger_batch *b = l->batch;
	for (size_t i = 0; b != NULL && i < b->count; i++) {
		rd_kafka_resp_err_t err = produce(l, &b->messages[i]);
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			continue;
		/* That of the transaction says more. */
		if (err == RD_KAFKA_RESP_ERR__FATAL ||
		    err == RD_KAFKA_RESP_ERR__STATE)
			return KAFKA_LEDGER_DONE;
		if (l->refused == RD_KAFKA_RESP_ERR_NO_ERROR) {
			l->refused = err;
			l->culprit = i;
		}
		return KAFKA_LEDGER_ABORT;
	}
	return KAFKA_LEDGER_DONE;
}

/* --- places --- */

static void
look_ahead(struct kafka_ledger *l)
{
	memcpy(l->ahead, l->kept, l->shards * sizeof *l->ahead);
	for (unsigned i = 0; l->batch != NULL && i < l->shards; i++)
		if (l->batch->places[i].known)
			l->ahead[i] = l->batch->places[i];
}

static bool
has_moved(const struct kafka_ledger *l, unsigned group)
{
	unsigned first = group * KAFKA_LEDGER_SHARDS;
	if (l->batch == NULL)
		return false;
	for (size_t i = 0; i < kafka_ledger_client_shards(l, group); i++)
		if (l->batch->places[first + i].known)
			return true;
	return false;
}

struct told {
	rd_kafka_topic_partition_list_t *offsets;
	rd_kafka_consumer_group_metadata_t *group;
};

static rd_kafka_error_t *
call_offsets(struct kafka_ledger *l, void *arg)
{
	struct told *told = arg;
	return rd_kafka_send_offsets_to_transaction(
	    l->producer, told->offsets, told->group, SLICE_MS);
}

static enum kafka_ledger_result
tell_group(struct kafka_ledger *l, unsigned group)
{
	char text[KAFKA_LEDGER_TEXT_MAX];
	size_t len = kafka_ledger_place_write(l->turn,
	    l->ahead + group * KAFKA_LEDGER_SHARDS,
	    kafka_ledger_client_shards(l, group), text);
	char *name = kafka_ledger_client_group(l, group);
	struct told told = {rd_kafka_topic_partition_list_new(1),
	    rd_kafka_consumer_group_metadata_new(name)};
	rd_kafka_topic_partition_t *at =
	    rd_kafka_topic_partition_list_add(told.offsets, l->topic, 0);
	at->offset = THE_OFFSET;
	at->metadata = mem_copy(text, len);
	at->metadata_size = len;
	enum kafka_ledger_result result =
	    kafka_ledger_client_insist(l, call_offsets, &told);
	rd_kafka_topic_partition_list_destroy(told.offsets);
	rd_kafka_consumer_group_metadata_destroy(told.group);
	free(name);
	return result;
}

static enum kafka_ledger_result
tell_places(struct kafka_ledger *l, bool all)
{
	enum kafka_ledger_result result = KAFKA_LEDGER_DONE;
	for (unsigned i = 0; i < l->groups && result == KAFKA_LEDGER_DONE;
	     i++)
		if (all || has_moved(l, i))
			result = tell_group(l, i);
	return result;
}

/* --- the transaction --- */

static rd_kafka_error_t *
call_begin(struct kafka_ledger *l, void *arg)
{
	(void)arg;
	return rd_kafka_begin_transaction(l->producer);
}

static rd_kafka_error_t *
call_commit(struct kafka_ledger *l, void *arg)
{
	(void)arg;
	return rd_kafka_commit_transaction(l->producer, SLICE_MS);
}

static rd_kafka_error_t *
call_abort(struct kafka_ledger *l, void *arg)
{
	(void)arg;
	return rd_kafka_abort_transaction(l->producer, SLICE_MS);
}

static enum kafka_ledger_result
transact(struct kafka_ledger *l, bool all)
{
	enum kafka_ledger_result result =
	    kafka_ledger_client_insist(l, call_begin, NULL);
	if (result == KAFKA_LEDGER_DONE)
		result = produce_all(l);
	if (result == KAFKA_LEDGER_DONE)
		result = tell_places(l, all);
	if (result == KAFKA_LEDGER_DONE)
		result = kafka_ledger_client_insist(l, call_commit, NULL);
	return result;
}

void
kafka_ledger_write_settled(struct kafka_ledger *l)
{
	struct kafka_ledger_place *before = l->kept;
	l->kept = l->ahead;
	l->ahead = before;
	kafka_ledger_client_is_well(l);
	kafka_ledger_say(l, true, "");
	if (l->batch != NULL)
		kafka_ledger_bring(l);
}

/* Aborted for the sake of a message; it goes without what may be left out. */
static void
go_without(struct kafka_ledger *l)
{
	char words[KAFKA_LEDGER_WORDS];
	struct kafka_ledger_message *m = &l->batch->messages[l->culprit];
	if (l->refused == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE &&
	    m->less.ptr != NULL) {
		m->value = m->less;
		m->less.ptr = NULL;
		return;
	}
	snprintf(words, sizeof words, "a message of %zu bytes: %s",
	    m->value.len, rd_kafka_err2str(l->refused));
	kafka_ledger_client_refused(l, l->refused, words);
	kafka_ledger_rest(l, RETRY_MS);
}

void
kafka_ledger_write(struct kafka_ledger *l)
{
	bool all = l->beats;
	l->beats = false;
	l->refused = RD_KAFKA_RESP_ERR_NO_ERROR;
	l->again = false;
	look_ahead(l);
	enum kafka_ledger_result result = transact(l, all);
	if (result == KAFKA_LEDGER_DONE) {
		if (all)
			l->beat_ms = kafka_ledger_now_ms();
		kafka_ledger_write_settled(l);
		return;
	}
	l->beats |= all;
	if (result == KAFKA_LEDGER_ABORT)
		result = kafka_ledger_client_insist(l, call_abort, NULL);
	l->apart |= l->again;
	if (result != KAFKA_LEDGER_DONE || l->again) {
		kafka_ledger_client_drop(l);
		return;
	}
	if (l->refused != RD_KAFKA_RESP_ERR_NO_ERROR)
		go_without(l);
	else
		kafka_ledger_rest(l, RETRY_MS);
}
