/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "broker/kafka/kafka_thread.h"

enum {
	SLICE_MS = 500,    /* of a call that blocks */
	PATIENCE_MS = 30000, /* for what has no consequences yet */
};

struct kafka_thread {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	/* With the mutex: */
	struct kafka_batch *batch; /* to be worked on */
	struct kafka_batch *over;  /* for the loop */
	bool end;
	bool orphan; /* there is no loop any more */

	atomic_bool stop; /* a batch under way is given up */
	struct loop *loop;
	/* The loop's: */
	void (*done)(void *arg, struct kafka_batch *batch);
	void (*ended)(void *arg);
	void *arg; /* NULL: nobody's any more */
	struct kafka_thread *next; /* of those that end */
	/* The thread's, and after its end the last one's: */
	rd_kafka_conf_t *conf;
	rd_kafka_t *producer; /* NULL: none */
	rd_kafka_t *consumer;
};

static _Thread_local struct kafka_thread *ending;

/* --- a batch --- */

void
kafka_batch_free(struct kafka_batch **batch)
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

/* --- the thread's own --- */

static int64_t
now_ms(void)
{
	return clock_us() / 1000;
}

static bool
gives_up(struct kafka_thread *t, int64_t until_ms)
{
	return atomic_load(&t->stop) || (until_ms > 0 && now_ms() > until_ms);
}

static void
drop_producer(struct kafka_thread *t)
{
	if (t->producer != NULL)
		rd_kafka_destroy(t->producer);
	t->producer = NULL;
}

/* What became of a call: its error, which is freed. */
enum call_result { CALL_DONE, CALL_ABORT, CALL_BROKEN };

/*
 * Repeats a call while it may be repeated; the words of its error are noted.
 * until_ms 0: as long as it takes.
 */
static enum call_result
insist(struct kafka_thread *t, struct kafka_batch *b, int64_t until_ms,
    rd_kafka_error_t *(*call)(struct kafka_thread *t, struct kafka_batch *b))
{
	rd_kafka_error_t *error;
	while ((error = call(t, b)) != NULL) {
		bool again = rd_kafka_error_is_retriable(error) &&
		    !gives_up(t, until_ms);
		bool abort = rd_kafka_error_txn_requires_abort(error);
		if (b->words[0] == '\0')
			snprintf(b->words, sizeof b->words, "%s",
			    rd_kafka_error_string(error));
		rd_kafka_error_destroy(error);
		if (!again)
			return abort ? CALL_ABORT : CALL_BROKEN;
		b->words[0] = '\0';
	}
	return CALL_DONE;
}

static rd_kafka_error_t *
call_init(struct kafka_thread *t, struct kafka_batch *b)
{
	(void)b;
	return rd_kafka_init_transactions(t->producer, SLICE_MS);
}

static rd_kafka_error_t *
call_begin(struct kafka_thread *t, struct kafka_batch *b)
{
	(void)b;
	return rd_kafka_begin_transaction(t->producer);
}

static rd_kafka_error_t *
call_send_offsets(struct kafka_thread *t, struct kafka_batch *b)
{
	return rd_kafka_send_offsets_to_transaction(
	    t->producer, b->offsets, b->group, SLICE_MS);
}

static rd_kafka_error_t *
call_commit(struct kafka_thread *t, struct kafka_batch *b)
{
	(void)b;
	return rd_kafka_commit_transaction(t->producer, SLICE_MS);
}

static rd_kafka_error_t *
call_abort(struct kafka_thread *t, struct kafka_batch *b)
{
	(void)b;
	return rd_kafka_abort_transaction(t->producer, SLICE_MS);
}

static void
note_failure(struct kafka_record *record, rd_kafka_resp_err_t error)
{
	struct kafka_batch *b = record->batch;
	bool ours = error == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
	    error == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
	    error == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
	if (ours || b->refused)
		return;
	b->refused = true;
	b->culprit = (size_t)(record - b->records);
	snprintf(b->words, sizeof b->words, "%s: %s", record->topic,
	    rd_kafka_err2str(error));
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

static bool
make_producer(struct kafka_thread *t, struct kafka_batch *b)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_dup(t->conf);
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivered);
	t->producer = rd_kafka_new(
	    RD_KAFKA_PRODUCER, conf, b->words, sizeof b->words);
	if (t->producer == NULL) {
		rd_kafka_conf_destroy(conf);
		return false;
	}
	if (insist(t, b, now_ms() + PATIENCE_MS, call_init) == CALL_DONE)
		return true;
	drop_producer(t);
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
produce(struct kafka_thread *t, struct kafka_record *record)
{
	rd_kafka_headers_t *headers = headers_of(record);
	rd_kafka_resp_err_t error;
	while ((error = rd_kafka_producev(t->producer,
		    RD_KAFKA_V_TOPIC(record->topic),
		    RD_KAFKA_V_PARTITION(record->partition),
		    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		    RD_KAFKA_V_KEY(record->key.ptr, record->key.len),
		    RD_KAFKA_V_VALUE((void *)(uintptr_t)record->body.ptr,
			record->body.len),
		    RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(record),
		    RD_KAFKA_V_END)) == RD_KAFKA_RESP_ERR__QUEUE_FULL &&
	    !gives_up(t, 0))
		rd_kafka_poll(t->producer, SLICE_MS);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_headers_destroy(headers);
	return error;
}

static enum call_result
produce_all(struct kafka_thread *t, struct kafka_batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		rd_kafka_resp_err_t error = produce(t, &b->records[i]);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			continue;
		if (error == RD_KAFKA_RESP_ERR__FATAL ||
		    error == RD_KAFKA_RESP_ERR__STATE)
			return CALL_BROKEN;
		note_failure(&b->records[i], error);
		return CALL_ABORT;
	}
	rd_kafka_poll(t->producer, 0);
	return CALL_DONE;
}

/* Up to here nothing can have been committed. */
static enum call_result
fill(struct kafka_thread *t, struct kafka_batch *b)
{
	enum call_result result = insist(t, b, 0, call_begin);
	if (result == CALL_DONE)
		result = produce_all(t, b);
	if (result == CALL_DONE)
		result = insist(
		    t, b, now_ms() + PATIENCE_MS, call_send_offsets);
	return result;
}

/* A producer that cannot even do this is let go of: another one fences it. */
static void
abort_batch(struct kafka_thread *t, struct kafka_batch *b)
{
	b->end = KAFKA_BATCH_ABORTED;
	if (insist(t, b, now_ms() + PATIENCE_MS, call_abort) != CALL_DONE)
		drop_producer(t);
}

static void
run_batch(struct kafka_thread *t, struct kafka_batch *b)
{
	b->end = KAFKA_BATCH_ABORTED;
	if (t->producer == NULL && !make_producer(t, b))
		return;
	enum call_result result = fill(t, b);
	bool commits = result == CALL_DONE;
	if (commits)
		result = insist(t, b, 0, call_commit);
	if (result == CALL_DONE) {
		b->end = KAFKA_BATCH_COMMITTED;
	} else if (result == CALL_ABORT) {
		abort_batch(t, b);
	} else {
		b->end = commits ? KAFKA_BATCH_UNCLEAR : KAFKA_BATCH_ABORTED;
		drop_producer(t);
	}
}

/* --- between the two --- */

static void
free_thread(struct kafka_thread *t)
{
	rd_kafka_conf_destroy(t->conf);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

/* On the loop. */
static void
on_batch_over(void *arg)
{
	struct kafka_thread *t = arg;
	pthread_mutex_lock(&t->mutex);
	struct kafka_batch *batch = t->over;
	t->over = NULL;
	pthread_mutex_unlock(&t->mutex);
	if (t->arg != NULL && !t->end)
		t->done(t->arg, batch);
	else
		kafka_batch_free(&batch);
}

static void
on_thread_over(void *arg)
{
	struct kafka_thread *t = arg;
	struct kafka_thread **at = &ending;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (t->ended != NULL)
		t->ended(t->arg);
	free_thread(t);
}

/* Where the loop is gone nobody else has it any more. */
static void
tell_over(struct kafka_thread *t)
{
	pthread_mutex_lock(&t->mutex);
	bool orphan = t->orphan;
	if (!orphan)
		loop_post(t->loop, on_thread_over, t);
	pthread_mutex_unlock(&t->mutex);
	if (orphan)
		free_thread(t);
}

static void
hand_back(struct kafka_thread *t, struct kafka_batch *batch)
{
	pthread_mutex_lock(&t->mutex);
	bool orphan = t->orphan;
	if (!orphan) {
		t->over = batch;
		loop_post(t->loop, on_batch_over, t);
	}
	pthread_mutex_unlock(&t->mutex);
	if (orphan)
		kafka_batch_free(&batch);
}

/* The next batch; NULL: it is to end. */
static struct kafka_batch *
wait_batch(struct kafka_thread *t)
{
	pthread_mutex_lock(&t->mutex);
	while (t->batch == NULL && !t->end)
		pthread_cond_wait(&t->wake, &t->mutex);
	struct kafka_batch *batch = t->batch;
	t->batch = NULL;
	pthread_mutex_unlock(&t->mutex);
	return batch;
}

static void *
run(void *arg)
{
	struct kafka_thread *t = arg;
	struct kafka_batch *batch;
	while ((batch = wait_batch(t)) != NULL) {
		run_batch(t, batch);
		hand_back(t, batch);
	}
	drop_producer(t);
	if (t->consumer != NULL)
		rd_kafka_destroy_flags(
		    t->consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	arena_trim();
	tell_over(t);
	return NULL;
}

/* --- for the loop --- */

struct kafka_thread *
kafka_thread_new(struct loop *loop, rd_kafka_conf_t *producer,
    void (*done)(void *arg, struct kafka_batch *batch), void *arg)
{
	struct kafka_thread *t = mem_zero(sizeof *t);
	pthread_t thread;
	sigset_t every, before;
	t->loop = loop;
	t->conf = producer;
	t->done = done;
	t->arg = arg;
	must(pthread_mutex_init(&t->mutex, NULL) == 0);
	must(pthread_cond_init(&t->wake, NULL) == 0);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	must(pthread_create(&thread, NULL, run, t) == 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_detach(thread);
	return t;
}

void
kafka_thread_begin(struct kafka_thread *thread, struct kafka_batch *batch)
{
	pthread_mutex_lock(&thread->mutex);
	thread->batch = batch;
	pthread_cond_signal(&thread->wake);
	pthread_mutex_unlock(&thread->mutex);
}

void
kafka_thread_end(struct kafka_thread **thread, rd_kafka_t *consumer,
    void (*ended)(void *arg))
{
	struct kafka_thread *t = *thread;
	*thread = NULL;
	t->ended = ended;
	t->next = ending;
	ending = t;
	atomic_store(&t->stop, true);
	pthread_mutex_lock(&t->mutex);
	t->consumer = consumer;
	t->end = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->mutex);
}

void
kafka_thread_abandon(struct loop *loop)
{
	struct kafka_thread **at = &ending;
	while (*at != NULL) {
		struct kafka_thread *t = *at;
		if (t->loop != loop) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		pthread_mutex_lock(&t->mutex);
		t->orphan = true;
		pthread_mutex_unlock(&t->mutex);
	}
}
