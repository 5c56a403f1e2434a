/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/random.h"
#include "messages/broker/kafka/kafka_producer.h"

enum {
	SLICE_MS = 500,      /* of a call that blocks */
	PATIENCE_MS = 10000, /* for what has no consequences yet */
	AGAIN_MS = 20,
	NAME_BYTES = 512,
};

/* --- a batch --- */

void
kafka_producer_free_batch(struct kafka_batch **batch)
{
	struct kafka_batch *b = *batch;
	*batch = NULL;
	if (b == NULL)
		return;
	if (b->offsets != NULL)
		rd_kafka_topic_partition_list_destroy(b->offsets);
	if (b->group != NULL)
		rd_kafka_consumer_group_metadata_destroy(b->group);
	struct arena *arena = b->arena;
	arena_free(&arena);
}

/* --- its calls --- */

static bool
gives_up(struct kafka_producer *p, int64_t until_ms)
{
	return atomic_load(&p->stop) ||
	    (until_ms > 0 && clock_us() / 1000 > until_ms);
}

/*
 * Whoever has our name now keeps it: else two of one name would fence each
 * other for ever.
 */
void
kafka_producer_drop(struct kafka_producer *p)
{
	if (p->client == NULL)
		return;
	rd_kafka_resp_err_t error =
	    rd_kafka_fatal_error(p->client, NULL, 0);
	if (error == RD_KAFKA_RESP_ERR__FENCED ||
	    error == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
	    error == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH)
		p->fenced = true;
	rd_kafka_destroy(p->client);
	p->client = NULL;
}

/* What became of a call: its error, which is freed. */
enum call_result { CALL_DONE, CALL_ABORT, CALL_BROKEN };

static void
note_words(struct kafka_batch *b, const char *words, const char *name,
    const char *right)
{
	snprintf(b->words, sizeof b->words, "no right to %s \"%s\": %s", words,
	    name, right);
}

static void
note_denied_id(struct kafka_producer *p, struct kafka_batch *b)
{
	char name[NAME_BYTES] = "";
	size_t size = sizeof name;
	b->denied = true;
	rd_kafka_conf_get(
	    rd_kafka_conf(p->client), "transactional.id", name, &size);
	note_words(b, "use the transactional id", name, "Describe, Write");
}

/* Where all of them are put; NULL: to several. */
static const char *
only_topic(const struct kafka_batch *b)
{
	for (size_t i = 1; i < b->count; i++)
		if (strcmp(b->records[i].topic, b->records[0].topic) != 0)
			return NULL;
	return b->count > 0 ? b->records[0].topic : NULL;
}

/*
 * A topic that is put to may be refused, or the offsets of one that is read:
 * only the words tell, and not which one of several.  That is known once a
 * record is alone.
 */
static void
note_denied_topic(struct kafka_batch *b, const char *words)
{
	/* "partitions", or "partition(s)". */
	bool puts = b->count > 0 && strstr(words, "add partition") != NULL;
	b->refused = puts && only_topic(b) == NULL;
	b->denied = !b->refused;
	if (puts) {
		note_words(
		    b, "write to the topic", b->records[0].topic, "Write");
		return;
	}
	note_words(b, "read the topic",
	    b->offsets != NULL && b->offsets->cnt > 0
		? b->offsets->elems[0].topic
		: "",
	    "Read");
}

/* What a call says that has failed. */
static void
note_call(struct kafka_producer *p, struct kafka_batch *b,
    const rd_kafka_error_t *error)
{
	const char *words = rd_kafka_error_string(error);
	b->code = rd_kafka_error_code(error);
	if (b->code == RD_KAFKA_RESP_ERR__FATAL)
		b->code = rd_kafka_fatal_error(p->client, NULL, 0);
	snprintf(b->words, sizeof b->words, "%s", words);
	switch ((int)b->code) {
	case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
		note_denied_id(p, b);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		note_denied_topic(b, words);
		break;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		b->denied = true;
		snprintf(b->words, sizeof b->words,
		    "no right to read as the group: Read");
		break;
	default:
		break;
	}
}

/*
 * Repeats a call while it may be repeated; the words of its error are noted.
 * until_ms 0: as long as it takes.
 */
static enum call_result
insist(struct kafka_producer *p, struct kafka_batch *b, int64_t until_ms,
    rd_kafka_error_t *(*call)(struct kafka_producer *p, struct kafka_batch *b))
{
	rd_kafka_error_t *error;
	bool before = b->words[0] != '\0';
	while ((error = call(p, b)) != NULL) {
		bool again = rd_kafka_error_is_retriable(error) &&
		    !gives_up(p, until_ms);
		bool abort = rd_kafka_error_txn_requires_abort(error);
		/* What was said of a record says more. */
		if (!before && !b->refused)
			note_call(p, b, error);
		rd_kafka_error_destroy(error);
		if (!again)
			return abort ? CALL_ABORT : CALL_BROKEN;
		/* Some that may be repeated come back at once. */
		rd_kafka_poll(p->client, AGAIN_MS);
	}
	if (!before && !b->refused)
		b->words[0] = '\0';
	return CALL_DONE;
}

static rd_kafka_error_t *
call_init(struct kafka_producer *p, struct kafka_batch *b)
{
	(void)b;
	return rd_kafka_init_transactions(p->client, SLICE_MS);
}

static rd_kafka_error_t *
call_begin(struct kafka_producer *p, struct kafka_batch *b)
{
	(void)b;
	return rd_kafka_begin_transaction(p->client);
}

static rd_kafka_error_t *
call_send_offsets(struct kafka_producer *p, struct kafka_batch *b)
{
	return rd_kafka_send_offsets_to_transaction(
	    p->client, b->offsets, b->group, SLICE_MS);
}

static rd_kafka_error_t *
call_commit(struct kafka_producer *p, struct kafka_batch *b)
{
	(void)b;
	return rd_kafka_commit_transaction(p->client, SLICE_MS);
}

static rd_kafka_error_t *
call_abort(struct kafka_producer *p, struct kafka_batch *b)
{
	(void)b;
	return rd_kafka_abort_transaction(p->client, SLICE_MS);
}

/*
 * Whether the record, or its topic, is why it was not taken: all else is the
 * transaction's end, or passes.
 */
static bool
is_refusal(rd_kafka_resp_err_t error)
{
	static const rd_kafka_resp_err_t refusals[] = {
	    RD_KAFKA_RESP_ERR__INVALID_ARG,
	    RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
	    RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
	    RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
	    RD_KAFKA_RESP_ERR_INVALID_MSG,
	    RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE,
	    RD_KAFKA_RESP_ERR_INVALID_RECORD,
	    RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
	    RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
	    RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
	    RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE,
	    RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
	    RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
	    RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
	    RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT,
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		if (error == refusals[i])
			return true;
	return false;
}

static void
note_failure(struct kafka_record *record, rd_kafka_resp_err_t error)
{
	struct kafka_batch *b = record->batch;
	if (!is_refusal(error) || b->refused)
		return;
	b->refused = true;
	b->too_large = error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	    error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		snprintf(b->words, sizeof b->words,
		    "there is no topic \"%s\"", record->topic);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		note_words(b, "write to the topic", record->topic,
		    "Describe, Write");
		break;
	default:
		snprintf(b->words, sizeof b->words, "%s: %s", record->topic,
		    rd_kafka_err2str(error));
		break;
	}
}

/* Until when that is tried which has no consequences yet. */
static int64_t
soon_ms(void)
{
	return clock_us() / 1000 + PATIENCE_MS;
}

/* In this thread, from within the calls of the producer. */
static void
on_delivered(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
	(void)rk;
	(void)opaque;
	if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		note_failure(message->_private, message->err);
}

/* One that nobody else has. */
static void
set_other_name(rd_kafka_conf_t *conf)
{
	char name[NAME_BYTES], words[160];
	size_t size = sizeof name;
	uint32_t random;
	if (rd_kafka_conf_get(conf, "transactional.id", name, &size) !=
	    RD_KAFKA_CONF_OK)
		return;
	random_bytes(&random, sizeof random);
	char *other = mem_printf("%s-%08" PRIx32, name, random);
	rd_kafka_conf_set(
	    conf, "transactional.id", other, words, sizeof words);
	free(other);
}

/*
 * With its transactions begins the end of those that one of its name before has
 * left open, and that who reads the partition next would wait for.
 */
static bool
make_client(struct kafka_producer *p, struct kafka_batch *b)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_dup(p->conf);
	if (p->fenced)
		set_other_name(conf);
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivered);
	p->client = rd_kafka_new(
	    RD_KAFKA_PRODUCER, conf, b->words, sizeof b->words);
	if (p->client == NULL) {
		rd_kafka_conf_destroy(conf);
		return false;
	}
	if (insist(p, b, soon_ms(), call_init) == CALL_DONE)
		return true;
	kafka_producer_drop(p);
	return false;
}

static rd_kafka_headers_t *
headers_of(const struct kafka_record *record)
{
	rd_kafka_headers_t *headers =
	    rd_kafka_headers_new(record->headers.count);
	for (size_t i = 0; i < record->headers.count; i++) {
		const struct field *f = &record->headers.list[i];
		rd_kafka_header_add(headers, f->name.ptr, (ssize_t)f->name.len,
		    f->value.ptr, (ssize_t)f->value.len);
	}
	return headers;
}

/* The bytes are the batch's, which outlives the transaction. */
static rd_kafka_resp_err_t
produce(struct kafka_producer *p, struct kafka_record *record)
{
	rd_kafka_headers_t *headers = headers_of(record);
	rd_kafka_resp_err_t error;
	while ((error = rd_kafka_producev(p->client,
		    RD_KAFKA_V_TOPIC(record->topic),
		    RD_KAFKA_V_PARTITION(record->partition),
		    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		    RD_KAFKA_V_KEY((void *)(uintptr_t)record->key.ptr,
			record->key.len),
		    RD_KAFKA_V_VALUE((void *)(uintptr_t)record->body.ptr,
			record->body.len),
		    RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(record),
		    RD_KAFKA_V_END)) == RD_KAFKA_RESP_ERR__QUEUE_FULL &&
	    !gives_up(p, 0))
		rd_kafka_poll(p->client, SLICE_MS);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_headers_destroy(headers);
	return error;
}

static enum call_result
produce_all(struct kafka_producer *p, struct kafka_batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		rd_kafka_resp_err_t error = produce(p, &b->records[i]);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			continue;
		b->code = error;
		if (error == RD_KAFKA_RESP_ERR__FATAL ||
		    error == RD_KAFKA_RESP_ERR__STATE)
			return CALL_BROKEN;
		note_failure(&b->records[i], error);
		return CALL_ABORT;
	}
	rd_kafka_poll(p->client, 0);
	return CALL_DONE;
}

/*
 * The transaction had failed when something more was to go into it, and that
 * was all the words said: whatever is called next says why.
 */
static void
ask_why(struct kafka_producer *p, struct kafka_batch *b)
{
	if (b->code != RD_KAFKA_RESP_ERR__STATE || b->refused)
		return;
	rd_kafka_error_t *error = call_send_offsets(p, b);
	if (error == NULL)
		return;
	note_call(p, b, error);
	rd_kafka_error_destroy(error);
}

/* Up to here nothing can have been committed. */
static enum call_result
fill(struct kafka_producer *p, struct kafka_batch *b)
{
	enum call_result result = insist(p, b, 0, call_begin);
	if (result == CALL_DONE)
		result = produce_all(p, b);
	if (result == CALL_DONE)
		result = insist(
		    p, b, soon_ms(), call_send_offsets);
	if (result != CALL_DONE)
		ask_why(p, b);
	return result;
}

/* A producer that cannot even do this is let go of: another one fences it. */
static void
abort_batch(struct kafka_producer *p, struct kafka_batch *b)
{
	b->end = KAFKA_BATCH_ABORTED;
	/* What became of each is told here. */
	rd_kafka_poll(p->client, 0);
	enum call_result result = insist(p, b, soon_ms(), call_abort);
	/* After a record that was refused it misses a number (2.0.2). */
	if (result != CALL_DONE || b->refused || b->denied)
		kafka_producer_drop(p);
}

void
kafka_producer_run(struct kafka_producer *p, struct kafka_batch *b)
{
	b->end = KAFKA_BATCH_ABORTED;
	if (p->client == NULL && !make_client(p, b))
		return;
	enum call_result result = fill(p, b);
	bool commits = result == CALL_DONE;
	if (commits)
		result = insist(p, b, 0, call_commit);
	if (result == CALL_DONE) {
		b->end = KAFKA_BATCH_COMMITTED;
	} else if (result == CALL_ABORT || !commits) {
		abort_batch(p, b);
	} else {
		b->end = KAFKA_BATCH_UNCLEAR;
		kafka_producer_drop(p);
	}
}

/* --- its life --- */

void
kafka_producer_prepare(struct kafka_producer *p)
{
	struct kafka_batch nothing = {.records = NULL};
	if (p->client == NULL && !gives_up(p, 0))
		make_client(p, &nothing);
}

void
kafka_producer_init(struct kafka_producer *producer, rd_kafka_conf_t *conf)
{
	*producer = (struct kafka_producer){.conf = conf};
}

void
kafka_producer_clear(struct kafka_producer *producer)
{
	rd_kafka_conf_destroy(producer->conf);
}
