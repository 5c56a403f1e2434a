/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>

#include "base/loop/thread.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_thread.h"

struct kafka_thread {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	/* With the mutex: */
	struct kafka_batch *batch; /* to be worked on */
	struct kafka_batch *over;  /* for the loop */
	bool prepare; /* a producer is to be there */
	bool end;
	bool orphan; /* there is no loop any more */
	unsigned refs; /* the thread's, the loop's, and of what was posted */

	struct loop *loop;
	/* The loop's: */
	void (*done)(void *arg, struct kafka_batch *batch);
	void (*ended)(void *arg);
	void *arg; /* NULL: nobody's any more */
	struct kafka_thread *next; /* of those that end */
	/* The thread's, and after its end the last one's: */
	struct kafka_producer producer;
	bool prepared; /* it is to have a client all the time */
	rd_kafka_t *consumer;
};

static _Thread_local struct kafka_thread *ending;

/* --- between the two --- */

static void
unref_thread(struct kafka_thread *t)
{
	pthread_mutex_lock(&t->mutex);
	bool last = --t->refs == 0;
	pthread_mutex_unlock(&t->mutex);
	if (!last)
		return;
	kafka_producer_clear(&t->producer);
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
		kafka_producer_free_batch(&batch);
	unref_thread(t);
}

static void
on_thread_over(void *arg)
{
	struct kafka_thread *t = arg;
	struct kafka_thread **at = &ending;
	while (*at != NULL && *at != t)
		at = &(*at)->next;
	/* Else it was abandoned since this was posted. */
	if (*at == t) {
		*at = t->next;
		if (t->ended != NULL)
			t->ended(t->arg);
		unref_thread(t);
	}
	unref_thread(t);
}

/* With the mutex: the loop calls that, unless there is none any more. */
static bool
post_to_loop(struct kafka_thread *t, void (*call)(void *arg))
{
	if (t->orphan)
		return false;
	t->refs++;
	loop_post(t->loop, call, t);
	return true;
}

static void
tell_over(struct kafka_thread *t)
{
	pthread_mutex_lock(&t->mutex);
	post_to_loop(t, on_thread_over);
	pthread_mutex_unlock(&t->mutex);
	unref_thread(t);
}

static void
hand_back(struct kafka_thread *t, struct kafka_batch *batch)
{
	pthread_mutex_lock(&t->mutex);
	t->over = batch;
	bool posted = post_to_loop(t, on_batch_over);
	pthread_mutex_unlock(&t->mutex);
	if (!posted)
		kafka_producer_free_batch(&batch);
}

/* Whether there is something to do; the next batch, or NULL: to prepare. */
static bool
wait_work(struct kafka_thread *t, struct kafka_batch **ret_batch)
{
	pthread_mutex_lock(&t->mutex);
	while (t->batch == NULL && !t->prepare && !t->end)
		pthread_cond_wait(&t->wake, &t->mutex);
	*ret_batch = t->batch;
	bool works = t->batch != NULL || (t->prepare && !t->end);
	t->batch = NULL;
	t->prepared |= t->prepare;
	t->prepare = false;
	pthread_mutex_unlock(&t->mutex);
	return works;
}

static void *
run(void *arg)
{
	struct kafka_thread *t = arg;
	struct kafka_batch *batch;
	while (wait_work(t, &batch)) {
		if (batch != NULL) {
			kafka_producer_run(&t->producer, batch);
			hand_back(t, batch);
		}
		if (t->prepared)
			kafka_producer_prepare(&t->producer);
	}
	kafka_producer_drop(&t->producer);
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
	t->loop = loop;
	t->refs = 2;
	kafka_producer_init(&t->producer, producer);
	t->done = done;
	t->arg = arg;
	must(pthread_mutex_init(&t->mutex, NULL) == 0);
	must(pthread_cond_init(&t->wake, NULL) == 0);
	if (thread_begin(run, t))
		return t;
	t->refs = 1;
	unref_thread(t);
	return NULL;
}

/* batch NULL: a producer is to be there. */
static void
give_work(struct kafka_thread *t, struct kafka_batch *batch)
{
	pthread_mutex_lock(&t->mutex);
	t->prepare |= batch == NULL;
	t->batch = batch != NULL ? batch : t->batch;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->mutex);
}

void
kafka_thread_prepare(struct kafka_thread *thread)
{
	give_work(thread, NULL);
}

void
kafka_thread_begin(struct kafka_thread *thread, struct kafka_batch *batch)
{
	give_work(thread, batch);
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
	atomic_store(&t->producer.stop, true);
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
		unref_thread(t);
	}
}
