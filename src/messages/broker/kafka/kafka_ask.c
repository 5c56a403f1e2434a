/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_ask.h"
#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_thread.h"

enum { PATIENCE_MS = 3000, SOON_MS = 1000 };

struct kafka_ask {
	struct kafka_job last; /* frees the consumer, and then it */
	struct kafka_thread *thread;
	rd_kafka_t *consumer;
	struct kafka_ask_events events;
	int first; /* which log is asked for first, one by one */
};

/* One of them, with its answer. */
struct question {
	struct kafka_job job;
	struct kafka_ask *ask;
	rd_kafka_topic_partition_list_t *committed;
	rd_kafka_resp_err_t error;
	struct kafka_ask_look *look;
};

/* --- a topic's policy --- */

static void
read_policy(
    struct kafka_ask_topic *topic, const rd_kafka_ConfigResource_t *resource)
{
	size_t count;
	const rd_kafka_ConfigEntry_t **entries =
	    rd_kafka_ConfigResource_configs(resource, &count);
	rd_kafka_resp_err_t error = rd_kafka_ConfigResource_error(resource);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		snprintf(topic->words, sizeof topic->words, "%s",
		    rd_kafka_err2str(error));
	for (size_t i = 0; i < count && error == RD_KAFKA_RESP_ERR_NO_ERROR;
	     i++) {
		const char *value = rd_kafka_ConfigEntry_value(entries[i]);
		if (value != NULL &&
		    !strcmp(rd_kafka_ConfigEntry_name(entries[i]),
			"cleanup.policy"))
			topic->policy = strstr(value, "compact") != NULL
			    ? KAFKA_POLICY_COMPACT
			    : KAFKA_POLICY_DELETE;
	}
}

static void
look_at_policy(rd_kafka_t *consumer, struct kafka_ask_topic *topic)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
	    consumer, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	rd_kafka_ConfigResource_t *resource =
	    rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic->name);
	rd_kafka_AdminOptions_set_request_timeout(
	    options, SOON_MS, topic->words, sizeof topic->words);
	rd_kafka_DescribeConfigs(consumer, &resource, 1, options, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, PATIENCE_MS);
	const rd_kafka_DescribeConfigs_result_t *result =
	    event != NULL ? rd_kafka_event_DescribeConfigs_result(event) : NULL;
	size_t count = 0;
	const rd_kafka_ConfigResource_t **resources = result != NULL
	    ? rd_kafka_DescribeConfigs_result_resources(result, &count)
	    : NULL;
	snprintf(topic->words, sizeof topic->words, "%s",
	    event != NULL ? rd_kafka_event_error_string(event) : "no answer");
	if (resources != NULL && count > 0)
		read_policy(topic, resources[0]);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_ConfigResource_destroy(resource);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
}

/* --- topics and logs --- */

struct kafka_ask_look *
kafka_ask_look_new(size_t n_topics)
{
	struct kafka_ask_look *look = mem_zero(sizeof *look);
	look->n_topics = n_topics;
	look->topics = mem_zero(n_topics * sizeof *look->topics);
	look->begins = rd_kafka_topic_partition_list_new(16);
	look->ends = rd_kafka_topic_partition_list_new(16);
	return look;
}

static void
free_look(struct kafka_ask_look *look)
{
	for (size_t i = 0; i < look->n_topics; i++) {
		free(look->topics[i].name);
		free(look->topics[i].leaders);
	}
	free(look->topics);
	rd_kafka_topic_partition_list_destroy(look->begins);
	rd_kafka_topic_partition_list_destroy(look->ends);
	free(look);
}

/* A consumer joins its group anew where an answer has all topics. */
static void
look_at_topics(rd_kafka_t *consumer, struct kafka_ask_look *look)
{
	const struct rd_kafka_metadata *all;
	bool is_new = false;
	while (look->heard < look->n_topics) {
		struct kafka_ask_topic *topic = &look->topics[look->heard];
		topic->error = kafka_call_topic(consumer, topic->name, SOON_MS,
		    &topic->leaders, &topic->n_leaders);
		if (topic->error < 0)
			break;
		look->heard++;
		is_new |= topic->wanted && topic->n_leaders > 0;
		if (topic->holed)
			look_at_policy(consumer, topic);
	}
	if (is_new &&
	    rd_kafka_metadata(consumer, 1, NULL, &all, PATIENCE_MS) ==
		RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_metadata_destroy(all);
}

static bool
has_leader(
    const struct kafka_ask_look *look, const rd_kafka_topic_partition_t *at)
{
	for (size_t i = 0; i < look->heard; i++) {
		const struct kafka_ask_topic *topic = &look->topics[i];
		if (!strcmp(topic->name, at->topic))
			return at->partition < topic->n_leaders &&
			    topic->leaders[at->partition] >= 0;
	}
	return false;
}

static bool
ask_sides(rd_kafka_t *consumer, rd_kafka_topic_partition_list_t *begins,
    rd_kafka_topic_partition_list_t *ends, int timeout_ms)
{
	return kafka_call_side(consumer, begins, RD_KAFKA_OFFSET_BEGINNING,
		   timeout_ms) == RD_KAFKA_RESP_ERR_NO_ERROR &&
	    kafka_call_side(consumer, ends, RD_KAFKA_OFFSET_END, timeout_ms) ==
	    RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Of one log alone, in a list of its own. */
static void
look_at_one(rd_kafka_t *consumer, rd_kafka_topic_partition_t *begin,
    rd_kafka_topic_partition_t *end)
{
	rd_kafka_topic_partition_list_t *one[2];
	for (int i = 0; i < 2; i++) {
		one[i] = rd_kafka_topic_partition_list_new(1);
		rd_kafka_topic_partition_list_add(
		    one[i], begin->topic, begin->partition);
	}
	if (ask_sides(consumer, one[0], one[1], SOON_MS)) {
		begin->offset = one[0]->elems[0].offset;
		end->offset = one[1]->elems[0].offset;
	}
	for (int i = 0; i < 2; i++)
		rd_kafka_topic_partition_list_destroy(one[i]);
}

/*
 * librdkafka tells nothing of any where one has an error: then as many as there
 * is time for are asked alone, the next time others.
 */
static void
look_at_logs(struct kafka_ask *ask, struct kafka_ask_look *look)
{
	rd_kafka_topic_partition_list_t *begins = look->begins,
					*ends = look->ends;
	for (int i = begins->cnt - 1; i >= 0; i--)
		if (!has_leader(look, &begins->elems[i])) {
			rd_kafka_topic_partition_list_del_by_idx(begins, i);
			rd_kafka_topic_partition_list_del_by_idx(ends, i);
		}
	if (begins->cnt == 0 ||
	    ask_sides(ask->consumer, begins, ends, PATIENCE_MS))
		return;
	for (int i = 0; i < begins->cnt; i++)
		begins->elems[i].offset = ends->elems[i].offset = -1;
	int64_t until_ms = clock_us() / 1000 + PATIENCE_MS;
	for (int i = 0; i < begins->cnt && clock_us() / 1000 < until_ms &&
	     !kafka_thread_ends(ask->thread);
	     i++) {
		int at = ask->first++ % begins->cnt;
		look_at_one(
		    ask->consumer, &begins->elems[at], &ends->elems[at]);
	}
}

/* --- questions --- */

static void
run_question(struct kafka_job *job)
{
	struct question *q = CONTAINER_OF(job, struct question, job);
	if (q->committed != NULL) {
		q->error = rd_kafka_committed(
		    q->ask->consumer, q->committed, PATIENCE_MS);
	} else {
		look_at_topics(q->ask->consumer, q->look);
		look_at_logs(q->ask, q->look);
	}
}

static void
on_answered(struct kafka_job *job, bool wanted)
{
	struct question *q = CONTAINER_OF(job, struct question, job);
	const struct kafka_ask_events *events = &q->ask->events;
	if (q->committed != NULL) {
		if (wanted)
			events->committed(events->arg, q->error, q->committed);
		rd_kafka_topic_partition_list_destroy(q->committed);
	} else {
		if (wanted)
			events->looked(events->arg, q->look);
		free_look(q->look);
	}
	free(q);
}

static void
ask_it(struct kafka_ask *ask, struct question question)
{
	struct question *q = mem_zero(sizeof *q);
	*q = question;
	q->ask = ask;
	q->job.run = run_question;
	q->job.done = on_answered;
	kafka_thread_add(ask->thread, &q->job);
}

void
kafka_ask_committed(
    struct kafka_ask *ask, rd_kafka_topic_partition_list_t *list)
{
	ask_it(ask, (struct question){.committed = list});
}

void
kafka_ask_look(struct kafka_ask *ask, struct kafka_ask_look *look)
{
	ask_it(ask, (struct question){.look = look});
}

/* --- its life --- */

static void
run_last(struct kafka_job *job)
{
	struct kafka_ask *ask = CONTAINER_OF(job, struct kafka_ask, last);
	rd_kafka_destroy_flags(
	    ask->consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static void
free_ask(struct kafka_job *job, bool wanted)
{
	(void)wanted;
	free(CONTAINER_OF(job, struct kafka_ask, last));
}

struct kafka_ask *
kafka_ask_new(struct loop *loop, rd_kafka_t *consumer,
    const struct kafka_ask_events *events)
{
	struct kafka_ask *ask = mem_zero(sizeof *ask);
	ask->last.run = run_last;
	ask->last.done = free_ask;
	ask->consumer = consumer;
	ask->events = *events;
	ask->thread = kafka_thread_new(loop);
	if (ask->thread != NULL)
		return ask;
	free(ask);
	return NULL;
}

void
kafka_ask_end(struct kafka_ask **ask)
{
	struct kafka_thread *thread = (*ask)->thread;
	struct kafka_job *last = &(*ask)->last;
	*ask = NULL;
	kafka_thread_end(&thread, last);
}
