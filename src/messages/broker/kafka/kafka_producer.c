/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/random.h"
#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_producer.h"

enum {
	SLICE_MS = 500,      /* of a call that blocks */
	PATIENCE_MS = 10000, /* for what has no consequences yet */
	FOREVER = INT32_MAX,
	AGAIN_MS = 20,
	NAME_BYTES = 512,
};

struct kafka_producer {
	struct kafka_thread *thread;
	void (*done)(void *arg, struct kafka_batch *batch);
	void *arg;
	bool sole;

	/* The thread's: */
	char broke[KAFKA_WORDS_BYTES]; /* what was last said of a connection */
	rd_kafka_conf_t *conf;
	rd_kafka_t *client; /* NULL: none */
	bool fenced;        /* another has the name in conf */
};

/* --- a batch --- */

struct kafka_batch *
kafka_producer_batch(size_t records)
{
	struct arena *arena = arena_new();
	struct kafka_batch *batch = arena_alloc(arena, sizeof *batch);
	batch->arena = arena;
	batch->records = arena_alloc(arena, records * sizeof *batch->records);
	return batch;
}

void
kafka_producer_free_batch(struct kafka_batch **batch)
{
	struct kafka_batch *b = *batch;
	*batch = NULL;
	if (b->offsets != NULL)
		rd_kafka_topic_partition_list_destroy(b->offsets);
	if (b->group != NULL)
		rd_kafka_consumer_group_metadata_destroy(b->group);
	struct arena *arena = b->arena;
	arena_free(&arena);
}

/* --- what goes wrong --- */

/* Whoever has our name now keeps it, or two would fence each other for ever. */
static bool
is_fence(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR__FENCED ||
	    code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
	    code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

static void
drop(struct kafka_producer *p)
{
	if (p->client == NULL)
		return;
	p->fenced |= is_fence(rd_kafka_fatal_error(p->client, NULL, 0));
	rd_kafka_destroy(p->client);
	p->client = NULL;
}

/* In the thread, from within calls: what a connection suffers. */
static void
on_error(rd_kafka_t *rk, int error, const char *reason, void *opaque)
{
	struct kafka_producer *p = opaque;
	(void)rk;
	/* Calls tell the rest. */
	if (error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN &&
	    error != RD_KAFKA_RESP_ERR__FATAL)
		kafka_call_words(reason, p->broke, sizeof p->broke);
}

/* What a call says that has failed. */
static void
note_call(struct kafka_producer *p, struct kafka_batch *b,
    const rd_kafka_error_t *error)
{
	const char *words = rd_kafka_error_string(error);
	char id[NAME_BYTES] = "";
	size_t size = sizeof id;
	rd_kafka_conf_get(
	    rd_kafka_conf(p->client), "transactional.id", id, &size);
	struct kafka_call_names names = {.id = id, .group = b->group_name};
	if (b->offsets != NULL)
		names.topic = b->offsets->elems[0].topic;
	/*
	 * Of a topic that is put to, or of one that is read, of which offsets
	 * are told ("partition(s)"): only the words tell which.
	 */
	names.writes = strstr(words, "add partition") != NULL && b->count > 0;
	if (names.writes)
		names.topic = b->records[0].topic;
	b->code = rd_kafka_error_code(error);
	if (b->code == RD_KAFKA_RESP_ERR__FATAL)
		b->code = rd_kafka_fatal_error(p->client, NULL, 0);
	b->denied |=
	    kafka_call_refused(b->code, &names, b->words, sizeof b->words);
	if (!b->denied)
		kafka_call_words(words, b->words, sizeof b->words);
}

/*
 * A record was not taken: for itself or its topic, or else with the transaction
 * that has come to its end, or is to be made again.
 */
static void
note_failure(const struct kafka_record *record, rd_kafka_resp_err_t error)
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
	struct kafka_batch *b = record->batch;
	const struct kafka_call_names names = {
	    .topic = record->topic, .writes = true};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		if (error != refusals[i] || b->refused != NULL)
			continue;
		b->refused = record;
		b->too_large = error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
		    error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
		b->denied |= kafka_call_refused(
		    error, &names, b->words, sizeof b->words);
	}
}

/* In the thread, from within calls. */
static void
on_delivered(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
	(void)rk;
	(void)opaque;
	if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		note_failure(message->_private, message->err);
}

/* --- calls that block --- */

/* What became of a call: its error, which is freed. */
enum call_result { CALL_DONE, CALL_ABORT, CALL_BROKEN };

/* TO_TELL: what is committed with a batch is sent. */
enum call { TO_INIT, TO_BEGIN, TO_TELL, TO_COMMIT, TO_ABORT };

static rd_kafka_error_t *
make_call(struct kafka_producer *p, struct kafka_batch *b, enum call call)
{
	switch (call) {
	case TO_INIT:
		return rd_kafka_init_transactions(p->client, SLICE_MS);
	case TO_BEGIN:
		return rd_kafka_begin_transaction(p->client);
	case TO_TELL:
		return b->offsets != NULL
		    ? rd_kafka_send_offsets_to_transaction(
			  p->client, b->offsets, b->group, SLICE_MS)
		    : NULL;
	case TO_COMMIT:
		return rd_kafka_commit_transaction(p->client, SLICE_MS);
	case TO_ABORT:
		break;
	}
	return rd_kafka_abort_transaction(p->client, SLICE_MS);
}

/*
 * Repeats a call while it may be repeated, so long; the words of its error are
 * noted.
 */
static enum call_result
insist(struct kafka_producer *p, struct kafka_batch *b, int32_t patience_ms,
    enum call call)
{
	rd_kafka_error_t *error;
	int64_t until_ms = clock_us() / 1000 + patience_ms;
	/* What was said of a record says more. */
	bool notes = b->words[0] == '\0' && b->refused == NULL;
	while ((error = make_call(p, b, call)) != NULL) {
		bool late = clock_us() / 1000 >= until_ms;
		bool again = rd_kafka_error_is_retriable(error) && !late &&
		    !kafka_thread_ends(p->thread);
		bool abort = rd_kafka_error_txn_requires_abort(error);
		if (notes && b->refused == NULL)
			note_call(p, b, error);
		rd_kafka_error_destroy(error);
		if (!again)
			return abort ? CALL_ABORT : CALL_BROKEN;
		/* Some that may be repeated come back at once. */
		rd_kafka_poll(p->client, AGAIN_MS);
	}
	if (notes && b->refused == NULL)
		b->words[0] = '\0';
	return CALL_DONE;
}

/* --- the client --- */

/*
 * With its transactions begins the end of those that one of its name before has
 * left open, and that who reads the partition next would wait for.  Where
 * somebody else has the name it takes one that nobody has.
 */
static void
make_client(struct kafka_producer *p, struct kafka_batch *b)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_dup(p->conf);
	char name[NAME_BYTES];
	size_t size = sizeof name;
	uint32_t random;
	if (p->fenced &&
	    rd_kafka_conf_get(conf, "transactional.id", name, &size) ==
		RD_KAFKA_CONF_OK) {
		random_bytes(&random, sizeof random);
		char *other = mem_printf("%s-%08" PRIx32, name, random);
		rd_kafka_conf_set(conf, "transactional.id", other, b->words,
		    sizeof b->words);
		free(other);
	}
	rd_kafka_conf_set_opaque(conf, p);
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivered);
	p->client = kafka_conf_client(RD_KAFKA_PRODUCER, conf, b->words);
	if (p->client != NULL &&
	    insist(p, b, PATIENCE_MS, TO_INIT) != CALL_DONE)
		drop(p);
}

/* --- a transaction --- */

/* The bytes are the batch's, which outlives the transaction. */
static rd_kafka_resp_err_t
produce(struct kafka_producer *p, struct kafka_record *record)
{
	rd_kafka_resp_err_t error;
	rd_kafka_headers_t *headers =
	    rd_kafka_headers_new(record->headers.count);
	for (size_t i = 0; i < record->headers.count; i++) {
		const struct field *f = &record->headers.list[i];
		rd_kafka_header_add(headers, f->name.ptr, (ssize_t)f->name.len,
		    f->value.ptr, (ssize_t)f->value.len);
	}
	while ((error = rd_kafka_producev(p->client,
		    RD_KAFKA_V_TOPIC(record->topic),
		    RD_KAFKA_V_PARTITION(RD_KAFKA_PARTITION_UA),
		    RD_KAFKA_V_KEY(
			(void *)(uintptr_t)record->key.ptr, record->key.len),
		    RD_KAFKA_V_VALUE(
			(void *)(uintptr_t)record->body.ptr, record->body.len),
		    RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(record),
		    RD_KAFKA_V_END)) == RD_KAFKA_RESP_ERR__QUEUE_FULL &&
	    !kafka_thread_ends(p->thread))
		rd_kafka_poll(p->client, SLICE_MS);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_headers_destroy(headers);
	return error;
}

/* Up to here nothing can have been committed. */
static enum call_result
fill(struct kafka_producer *p, struct kafka_batch *b)
{
	enum call_result result = insist(p, b, PATIENCE_MS, TO_BEGIN);
	for (size_t i = 0; i < b->count && result == CALL_DONE; i++) {
		rd_kafka_resp_err_t error = produce(p, &b->records[i]);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			continue;
		b->code = error;
		result = error == RD_KAFKA_RESP_ERR__FATAL ||
			error == RD_KAFKA_RESP_ERR__STATE
		    ? CALL_BROKEN
		    : CALL_ABORT;
		if (result == CALL_ABORT)
			note_failure(&b->records[i], error);
	}
	rd_kafka_poll(p->client, 0);
	if (result == CALL_DONE)
		result = insist(p, b, PATIENCE_MS, TO_TELL);
	/*
	 * Where it has failed when something more is to go into it, or while
	 * offsets are on their way there, those are all the words: whatever is
	 * called next says why.
	 */
	if (b->code == RD_KAFKA_RESP_ERR__STATE && b->refused == NULL &&
	    b->offsets != NULL) {
		b->words[0] = '\0';
		(void)insist(p, b, 0, TO_TELL);
	}
	return result;
}

static void
transact(struct kafka_producer *p, struct kafka_batch *b)
{
	enum call_result result = fill(p, b);
	bool commits = result == CALL_DONE;
	if (commits)
		result = insist(p, b, FOREVER, TO_COMMIT);
	if (result == CALL_DONE) {
		b->end = KAFKA_BATCH_COMMITTED;
	} else if (result == CALL_ABORT || !commits) {
		/* What became of each is told here. */
		rd_kafka_poll(p->client, 0);
		result = insist(p, b, PATIENCE_MS, TO_ABORT);
		/*
		 * Who cannot even do that is let go of, as another one fences
		 * it; after a record that was refused it misses a number (2.0).
		 */
		if (result != CALL_DONE || b->refused != NULL || b->denied)
			drop(p);
	} else {
		b->end = KAFKA_BATCH_UNCLEAR;
		drop(p);
	}
}

static void
run_batch(struct kafka_job *job)
{
	struct kafka_batch *b = CONTAINER_OF(job, struct kafka_batch, job);
	struct kafka_producer *p = b->producer;
	b->end = KAFKA_BATCH_ABORTED;
	bool lost = p->fenced && p->sole;
	b->fenced = lost;
	if (p->client == NULL && !lost)
		make_client(p, b);
	if (p->client != NULL && (b->count > 0 || b->offsets != NULL))
		transact(p, b);
	else if (p->client != NULL)
		b->end = KAFKA_BATCH_COMMITTED;
	b->fenced |= is_fence(b->code);
	p->fenced |= b->fenced;
	/* What its connections suffer says more than that a call took long. */
	if (b->end == KAFKA_BATCH_COMMITTED)
		p->broke[0] = '\0';
	else if (p->broke[0] != '\0' && !b->denied && b->refused == NULL)
		snprintf(b->words, sizeof b->words, "%s", p->broke);
}

static void
on_batch_done(struct kafka_job *job, bool wanted)
{
	struct kafka_batch *b = CONTAINER_OF(job, struct kafka_batch, job);
	if (wanted)
		b->producer->done(b->producer->arg, b);
	else
		kafka_producer_free_batch(&b);
}

/* --- its life --- */

static void
free_producer(void *arg)
{
	struct kafka_producer *p = arg;
	drop(p);
	rd_kafka_conf_destroy(p->conf);
	free(p);
}

struct kafka_producer *
kafka_producer_new(
    const struct kafka_producer_start *start, rd_kafka_conf_t *conf)
{
	struct kafka_producer *p = mem_zero(sizeof *p);
	p->conf = conf;
	p->sole = start->sole;
	p->done = start->done;
	p->arg = start->arg;
	p->thread = kafka_thread_new(start->loop);
	if (p->thread == NULL) {
		free_producer(p);
		return NULL;
	}
	return p;
}

void
kafka_producer_begin(struct kafka_producer *p, struct kafka_batch *batch)
{
	batch->producer = p;
	batch->job.run = run_batch;
	batch->job.done = on_batch_done;
	kafka_thread_add(p->thread, &batch->job);
}

void
kafka_producer_add(struct kafka_producer *p, struct kafka_job *job)
{
	kafka_thread_add(p->thread, job);
}

void
kafka_producer_end(struct kafka_producer **producer)
{
	struct kafka_producer *p = *producer;
	*producer = NULL;
	struct kafka_thread *thread = p->thread;
	kafka_thread_end(&thread, free_producer, p);
}
