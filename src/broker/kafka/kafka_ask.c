/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "broker/kafka/kafka_ask.h"

enum { PATIENCE_MS = 3000 };

struct kafka_ask {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	/* With the mutex: */
	rd_kafka_topic_partition_list_t *list; /* to be asked */
	bool end;
	bool orphan; /* there is no loop any more */
	unsigned refs; /* the thread's, the loop's, and of what was posted */

	/* The thread's until it has posted them, then the loop's: */
	rd_kafka_topic_partition_list_t *found;
	rd_kafka_resp_err_t error;

	struct loop *loop;
	rd_kafka_t *consumer;
	/* The loop's: */
	void (*answered)(void *arg, rd_kafka_resp_err_t error,
	    rd_kafka_topic_partition_list_t *list);
	void (*ended)(void *arg);
	void *arg;
	struct kafka_ask *next; /* of those that end */
};

static _Thread_local struct kafka_ask *ending;

static void
free_list(rd_kafka_topic_partition_list_t **list)
{
	if (*list != NULL)
		rd_kafka_topic_partition_list_destroy(*list);
	*list = NULL;
}

static void
free_ask(struct kafka_ask *ask)
{
	free_list(&ask->list);
	free_list(&ask->found);
	pthread_cond_destroy(&ask->wake);
	pthread_mutex_destroy(&ask->mutex);
	free(ask);
}

static void
unref_ask(struct kafka_ask *ask)
{
	pthread_mutex_lock(&ask->mutex);
	bool last = --ask->refs == 0;
	pthread_mutex_unlock(&ask->mutex);
	if (last)
		free_ask(ask);
}

/* --- on the loop --- */

static void
on_answered(void *arg)
{
	struct kafka_ask *ask = arg;
	rd_kafka_topic_partition_list_t *list = ask->found;
	ask->found = NULL;
	if (!ask->end)
		ask->answered(ask->arg, ask->error, list);
	free_list(&list);
	unref_ask(ask);
}

static void
on_ask_over(void *arg)
{
	struct kafka_ask *ask = arg, **at = &ending;
	while (*at != NULL && *at != ask)
		at = &(*at)->next;
	/* Else it was abandoned since this was posted. */
	if (*at == ask) {
		*at = ask->next;
		if (ask->ended != NULL)
			ask->ended(ask->arg);
		unref_ask(ask);
	}
	unref_ask(ask);
}

/* --- the thread's own --- */

/* False: there is no loop any more, and nothing is told. */
static bool
post(struct kafka_ask *ask, void (*run)(void *arg))
{
	pthread_mutex_lock(&ask->mutex);
	bool orphan = ask->orphan;
	if (!orphan) {
		ask->refs++;
		loop_post(ask->loop, run, ask);
	}
	pthread_mutex_unlock(&ask->mutex);
	return !orphan;
}

/* The next question; NULL: it is to end. */
static rd_kafka_topic_partition_list_t *
wait_list(struct kafka_ask *ask)
{
	pthread_mutex_lock(&ask->mutex);
	while (ask->list == NULL && !ask->end)
		pthread_cond_wait(&ask->wake, &ask->mutex);
	rd_kafka_topic_partition_list_t *list = ask->end ? NULL : ask->list;
	if (list != NULL)
		ask->list = NULL;
	pthread_mutex_unlock(&ask->mutex);
	return list;
}

static void *
ask_until_end(void *arg)
{
	struct kafka_ask *ask = arg;
	rd_kafka_topic_partition_list_t *list;
	while ((list = wait_list(ask)) != NULL) {
		ask->error =
		    rd_kafka_committed(ask->consumer, list, PATIENCE_MS);
		ask->found = list;
		if (!post(ask, on_answered))
			free_list(&ask->found);
	}
	rd_kafka_destroy_flags(
	    ask->consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	post(ask, on_ask_over);
	unref_ask(ask);
	return NULL;
}

/* --- for the loop --- */

static bool
begin_thread(struct kafka_ask *ask)
{
	pthread_t thread;
	sigset_t every, before;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	bool begun = pthread_create(&thread, NULL, ask_until_end, ask) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (begun)
		pthread_detach(thread);
	return begun;
}

struct kafka_ask *
kafka_ask_new(struct loop *loop, rd_kafka_t *consumer,
    void (*answered)(void *arg, rd_kafka_resp_err_t error,
	rd_kafka_topic_partition_list_t *list),
    void *arg)
{
	struct kafka_ask *ask = mem_zero(sizeof *ask);
	ask->loop = loop;
	ask->refs = 2;
	ask->consumer = consumer;
	ask->answered = answered;
	ask->arg = arg;
	must(pthread_mutex_init(&ask->mutex, NULL) == 0);
	must(pthread_cond_init(&ask->wake, NULL) == 0);
	if (begin_thread(ask))
		return ask;
	free_ask(ask);
	return NULL;
}

void
kafka_ask_begin(struct kafka_ask *ask, rd_kafka_topic_partition_list_t *list)
{
	pthread_mutex_lock(&ask->mutex);
	ask->list = list;
	pthread_cond_signal(&ask->wake);
	pthread_mutex_unlock(&ask->mutex);
}

void
kafka_ask_end(struct kafka_ask **ask, void (*ended)(void *arg))
{
	struct kafka_ask *a = *ask;
	*ask = NULL;
	a->ended = ended;
	a->next = ending;
	ending = a;
	pthread_mutex_lock(&a->mutex);
	a->end = true;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->mutex);
}

void
kafka_ask_abandon(struct loop *loop)
{
	struct kafka_ask **at = &ending;
	while (*at != NULL) {
		struct kafka_ask *ask = *at;
		if (ask->loop != loop) {
			at = &ask->next;
			continue;
		}
		*at = ask->next;
		pthread_mutex_lock(&ask->mutex);
		ask->orphan = true;
		pthread_mutex_unlock(&ask->mutex);
		unref_ask(ask);
	}
}
