/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>

#include "base/loop/clock.h"
#include "base/loop/thread.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_ask.h"

enum { PATIENCE_MS = 3000, LOOK_MS = 1000 };

struct kafka_ask {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	/* With the mutex: */
	rd_kafka_topic_partition_list_t *list; /* to be asked */
	struct kafka_ask_topics *topics; /* the same */
	rd_kafka_topic_partition_list_t *ends; /* the same */
	bool end;
	bool orphan; /* there is no loop any more */
	unsigned refs; /* the thread's, the loop's, and of what was posted */

	/* The thread's until it has posted them, then the loop's: */
	rd_kafka_topic_partition_list_t *found;
	rd_kafka_resp_err_t error;
	struct kafka_ask_topics *looked;
	rd_kafka_topic_partition_list_t *ended_at;
	unsigned first; /* of ends: which is asked first, one by one */

	struct loop *loop;
	rd_kafka_t *consumer;
	/* The loop's: */
	struct kafka_ask_events events;
	void (*ended)(void *arg);
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
free_topics(struct kafka_ask_topics **topics)
{
	for (size_t i = 0; *topics != NULL && i < (*topics)->size; i++) {
		free((*topics)->list[i].name);
		free((*topics)->list[i].leaders);
	}
	free(*topics);
	*topics = NULL;
}

static void
free_ask(struct kafka_ask *ask)
{
	free_list(&ask->list);
	free_list(&ask->found);
	free_list(&ask->ends);
	free_list(&ask->ended_at);
	free_topics(&ask->topics);
	free_topics(&ask->looked);
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
		ask->events.answered(ask->events.arg, ask->error, list);
	free_list(&list);
	unref_ask(ask);
}

static void
on_topics_seen(void *arg)
{
	struct kafka_ask *ask = arg;
	struct kafka_ask_topics *topics = ask->looked;
	ask->looked = NULL;
	if (!ask->end)
		ask->events.topics(ask->events.arg, topics);
	free_topics(&topics);
	unref_ask(ask);
}

static void
on_ends_seen(void *arg)
{
	struct kafka_ask *ask = arg;
	rd_kafka_topic_partition_list_t *list = ask->ended_at;
	ask->ended_at = NULL;
	if (!ask->end)
		ask->events.ends(ask->events.arg, list);
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
			ask->ended(ask->events.arg);
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

/* One of them, the most pressing one. */
struct group_question {
	rd_kafka_topic_partition_list_t *list;
	struct kafka_ask_topics *topics;
	rd_kafka_topic_partition_list_t *ends;
};

static bool
is_pressed(const struct kafka_ask *ask)
{
	return ask->list != NULL || ask->topics != NULL || ask->end;
}

/* The next question; false: it is to end. */
static bool
wait_question(struct kafka_ask *ask, struct group_question *ret_asked)
{
	struct group_question *q = ret_asked;
	*q = (struct group_question){0};
	pthread_mutex_lock(&ask->mutex);
	while (!is_pressed(ask) && ask->ends == NULL)
		pthread_cond_wait(&ask->wake, &ask->mutex);
	bool goes_on = !ask->end;
	if (goes_on && (q->list = ask->list) != NULL)
		ask->list = NULL;
	else if (goes_on && (q->topics = ask->topics) != NULL)
		ask->topics = NULL;
	else if (goes_on && (q->ends = ask->ends) != NULL)
		ask->ends = NULL;
	pthread_mutex_unlock(&ask->mutex);
	return goes_on;
}

static void
ask_committed(struct kafka_ask *ask, rd_kafka_topic_partition_list_t *list)
{
	ask->error = rd_kafka_committed(ask->consumer, list, PATIENCE_MS);
	ask->found = list;
	if (!post(ask, on_answered))
		free_list(&ask->found);
}

static void
note_leaders(struct kafka_ask_topic *topic,
    const struct rd_kafka_metadata_topic *found)
{
	int count = found->partition_cnt;
	topic->leaders = mem_zero((size_t)count * sizeof *topic->leaders);
	topic->n_leaders = count;
	for (int i = 0; i < count; i++)
		topic->leaders[i] = -1;
	for (int i = 0; i < count; i++) {
		int32_t number = found->partitions[i].id;
		if (number >= 0 && number < count)
			topic->leaders[number] = found->partitions[i].leader;
	}
}

/* False: nobody answers. */
static bool
ask_topic(struct kafka_ask *ask, struct kafka_ask_topic *topic)
{
	const struct rd_kafka_metadata *found;
	rd_kafka_topic_t *handle =
	    rd_kafka_topic_new(ask->consumer, topic->name, NULL);
	if (handle == NULL)
		return false;
	rd_kafka_resp_err_t error = rd_kafka_metadata(
	    ask->consumer, 0, handle, &found, LOOK_MS);
	rd_kafka_topic_destroy(handle);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	topic->error = found->topic_cnt == 1
	    ? found->topics[0].err
	    : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (topic->error == RD_KAFKA_RESP_ERR_NO_ERROR)
		note_leaders(topic, &found->topics[0]);
	rd_kafka_metadata_destroy(found);
	return true;
}

/* A consumer joins its group anew where an answer has all topics. */
static void
tell_consumer(struct kafka_ask *ask)
{
	const struct rd_kafka_metadata *found;
	if (rd_kafka_metadata(ask->consumer, 1, NULL, &found, PATIENCE_MS) ==
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_metadata_destroy(found);
}

static void
ask_topics(struct kafka_ask *ask, struct kafka_ask_topics *topics)
{
	bool is_new = false;
	topics->count = 0;
	while (topics->count < topics->size &&
	    ask_topic(ask, &topics->list[topics->count])) {
		const struct kafka_ask_topic *topic =
		    &topics->list[topics->count++];
		is_new |= topic->wanted &&
		    topic->error == RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	if (is_new)
		tell_consumer(ask);
	ask->looked = topics;
	if (!post(ask, on_topics_seen))
		free_topics(&ask->looked);
}

static void
ask_end_of(struct kafka_ask *ask, rd_kafka_topic_partition_t *at)
{
	rd_kafka_topic_partition_list_t *one =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(one, at->topic, at->partition)
	    ->offset = RD_KAFKA_OFFSET_END;
	rd_kafka_resp_err_t error =
	    rd_kafka_offsets_for_times(ask->consumer, one, LOOK_MS);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		at->offset = one->elems[0].offset;
	rd_kafka_topic_partition_list_destroy(one);
}

static bool
has_time(struct kafka_ask *ask, int64_t until_ms)
{
	pthread_mutex_lock(&ask->mutex);
	bool has = !is_pressed(ask);
	pthread_mutex_unlock(&ask->mutex);
	return has && clock_us() / 1000 < until_ms;
}

/*
 * librdkafka tells nothing of any where one has an error: then as many as there
 * is time for are asked alone, the next time others; one at least, whatever is
 * pressing, or all would wait for ever where something presses each time.
 */
static void
ask_ends(struct kafka_ask *ask, rd_kafka_topic_partition_list_t *list)
{
	unsigned count = (unsigned)list->cnt;
	rd_kafka_resp_err_t error =
	    rd_kafka_offsets_for_times(ask->consumer, list, PATIENCE_MS);
	int64_t until_ms = clock_us() / 1000 + PATIENCE_MS;
	for (unsigned i = 0; i < count && (i == 0 || has_time(ask, until_ms)) &&
	     error != RD_KAFKA_RESP_ERR_NO_ERROR;
	     i++)
		ask_end_of(ask, &list->elems[ask->first++ % count]);
	ask->ended_at = list;
	if (!post(ask, on_ends_seen))
		free_list(&ask->ended_at);
}

static void *
ask_until_end(void *arg)
{
	struct kafka_ask *ask = arg;
	struct group_question asked;
	while (wait_question(ask, &asked)) {
		if (asked.list != NULL)
			ask_committed(ask, asked.list);
		else if (asked.topics != NULL)
			ask_topics(ask, asked.topics);
		else if (asked.ends != NULL)
			ask_ends(ask, asked.ends);
	}
	rd_kafka_destroy_flags(
	    ask->consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	post(ask, on_ask_over);
	unref_ask(ask);
	return NULL;
}

/* --- for the loop --- */

struct kafka_ask *
kafka_ask_new(struct loop *loop, rd_kafka_t *consumer,
    const struct kafka_ask_events *events)
{
	struct kafka_ask *ask = mem_zero(sizeof *ask);
	ask->loop = loop;
	ask->refs = 2;
	ask->consumer = consumer;
	ask->events = *events;
	must(pthread_mutex_init(&ask->mutex, NULL) == 0);
	must(pthread_cond_init(&ask->wake, NULL) == 0);
	if (thread_begin(ask_until_end, ask))
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
kafka_ask_ends_begin(
    struct kafka_ask *ask, rd_kafka_topic_partition_list_t *list)
{
	pthread_mutex_lock(&ask->mutex);
	ask->ends = list;
	pthread_cond_signal(&ask->wake);
	pthread_mutex_unlock(&ask->mutex);
}

struct kafka_ask_topics *
kafka_ask_topics_new(size_t count)
{
	struct kafka_ask_topics *topics =
	    mem_zero(sizeof *topics + count * sizeof *topics->list);
	topics->count = topics->size = count;
	return topics;
}

void
kafka_ask_topics_begin(
    struct kafka_ask *ask, struct kafka_ask_topics *topics)
{
	pthread_mutex_lock(&ask->mutex);
	struct kafka_ask_topics *before = ask->topics;
	ask->topics = topics;
	pthread_cond_signal(&ask->wake);
	pthread_mutex_unlock(&ask->mutex);
	free_topics(&before);
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
