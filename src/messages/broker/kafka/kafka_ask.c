/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_ask.h"
#include "messages/broker/kafka/kafka_thread.h"

enum { PATIENCE_MS = 3000, LOOK_MS = 1000 };

struct kafka_ask {
	struct kafka_job last; /* frees the consumer, and then it */
	struct kafka_thread *thread;
	rd_kafka_t *consumer;
	struct kafka_ask_events events;
	size_t first; /* which log is asked for first, one by one */
};

/* One of them, with its answer. */
struct question {
	struct kafka_job job;
	struct kafka_ask *ask;
	rd_kafka_topic_partition_list_t *committed;
	rd_kafka_resp_err_t error;
	struct kafka_ask_logs *logs;
	struct kafka_ask_topics *topics;
	char *topic; /* whose policy it is about */
	enum kafka_policy policy;
	char words[160];
};

/* --- what the group has committed --- */

static void
ask_committed(struct question *q)
{
	q->error = rd_kafka_committed(
	    q->ask->consumer, q->committed, PATIENCE_MS);
}

/* --- where logs begin and end --- */

struct kafka_ask_logs *
kafka_ask_logs_new(size_t count)
{
	struct kafka_ask_logs *logs =
	    mem_zero(sizeof *logs + count * sizeof *logs->list);
	logs->count = count;
	return logs;
}

/* One side of the logs from first on; false: of one it is not told. */
static bool
ask_side(struct kafka_ask *ask, struct kafka_ask_logs *logs, size_t first,
    size_t count, int64_t side, int timeout_ms)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new((int)count);
	for (size_t i = first; i < first + count; i++)
		rd_kafka_topic_partition_list_add(
		    list, logs->list[i].topic, logs->list[i].number)
		    ->offset = side;
	bool good = rd_kafka_offsets_for_times(ask->consumer, list,
			timeout_ms) == RD_KAFKA_RESP_ERR_NO_ERROR;
	for (size_t i = first; i < first + count; i++) {
		const rd_kafka_topic_partition_t *at =
		    rd_kafka_topic_partition_list_find(
			list, logs->list[i].topic, logs->list[i].number);
		int64_t offset = good && at != NULL && at->offset >= 0 &&
			at->err == RD_KAFKA_RESP_ERR_NO_ERROR
		    ? at->offset
		    : -1;
		good &= offset >= 0;
		if (side == RD_KAFKA_OFFSET_END)
			logs->list[i].end = offset;
		else
			logs->list[i].begin = offset;
	}
	rd_kafka_topic_partition_list_destroy(list);
	return good;
}

static bool
ask_both(struct kafka_ask *ask, struct kafka_ask_logs *logs, size_t first,
    size_t count, int timeout_ms)
{
	return ask_side(ask, logs, first, count, RD_KAFKA_OFFSET_BEGINNING,
		   timeout_ms) &&
	    ask_side(
		ask, logs, first, count, RD_KAFKA_OFFSET_END, timeout_ms);
}

#if RD_KAFKA_VERSION >= 0x020300ff

static rd_kafka_event_t *
describe(rd_kafka_t *consumer, const char *topic)
{
	char words[160];
	rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
	    consumer, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
	rd_kafka_TopicCollection_t *topics =
	    rd_kafka_TopicCollection_of_topic_names(&topic, 1);
	rd_kafka_AdminOptions_set_request_timeout(
	    options, LOOK_MS, words, sizeof words);
	rd_kafka_DescribeTopics(consumer, topics, options, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, PATIENCE_MS);
	rd_kafka_TopicCollection_destroy(topics);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
	return event;
}

static void
ask_ids(struct kafka_ask *ask, struct kafka_ask_logs *logs)
{
	for (size_t i = 0; i < logs->count; i++) {
		struct kafka_ask_log *log = &logs->list[i];
		if (i > 0 && !strcmp(log->topic, log[-1].topic)) {
			memcpy(log->topic_id, log[-1].topic_id,
			    sizeof log->topic_id);
			continue;
		}
		size_t count = 0;
		rd_kafka_event_t *event = describe(ask->consumer, log->topic);
		const rd_kafka_DescribeTopics_result_t *result = event != NULL
		    ? rd_kafka_event_DescribeTopics_result(event)
		    : NULL;
		const rd_kafka_TopicDescription_t **found = result != NULL
		    ? rd_kafka_DescribeTopics_result_topics(result, &count)
		    : NULL;
		if (found != NULL && count > 0 &&
		    rd_kafka_error_code(
			rd_kafka_TopicDescription_error(found[0])) ==
			RD_KAFKA_RESP_ERR_NO_ERROR)
			snprintf(log->topic_id, sizeof log->topic_id, "%s",
			    rd_kafka_Uuid_base64str(
				rd_kafka_TopicDescription_topic_id(
				    found[0])));
		if (event != NULL)
			rd_kafka_event_destroy(event);
	}
}

#else

static void
ask_ids(struct kafka_ask *ask, struct kafka_ask_logs *logs)
{
	(void)ask;
	(void)logs;
}

#endif

/*
 * librdkafka tells nothing of any where one has an error: then as many as there
 * is time for are asked alone, the next time others.
 */
static void
ask_logs(struct question *q)
{
	struct kafka_ask *ask = q->ask;
	size_t count = q->logs->count;
	ask_ids(ask, q->logs);
	if (ask_both(ask, q->logs, 0, count, PATIENCE_MS))
		return;
	for (size_t i = 0; i < count; i++)
		q->logs->list[i].begin = q->logs->list[i].end = -1;
	int64_t until_ms = clock_us() / 1000 + PATIENCE_MS;
	for (size_t i = 0; i < count && clock_us() / 1000 < until_ms &&
	     !kafka_thread_ends(ask->thread);
	     i++)
		(void)ask_both(
		    ask, q->logs, ask->first++ % count, 1, LOOK_MS);
}

/* --- topics --- */

struct kafka_ask_topics *
kafka_ask_topics_new(size_t count)
{
	struct kafka_ask_topics *topics =
	    mem_zero(sizeof *topics + count * sizeof *topics->list);
	topics->count = topics->size = count;
	return topics;
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
ask_topic(rd_kafka_t *consumer, struct kafka_ask_topic *topic)
{
	const struct rd_kafka_metadata *found;
	rd_kafka_topic_t *handle =
	    rd_kafka_topic_new(consumer, topic->name, NULL);
	if (handle == NULL)
		return false;
	rd_kafka_resp_err_t error =
	    rd_kafka_metadata(consumer, 0, handle, &found, LOOK_MS);
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
ask_topics(struct question *q)
{
	struct kafka_ask_topics *topics = q->topics;
	const struct rd_kafka_metadata *all;
	bool is_new = false;
	topics->count = 0;
	while (topics->count < topics->size &&
	    ask_topic(q->ask->consumer, &topics->list[topics->count])) {
		const struct kafka_ask_topic *topic =
		    &topics->list[topics->count++];
		is_new |= topic->wanted &&
		    topic->error == RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	if (is_new &&
	    rd_kafka_metadata(q->ask->consumer, 1, NULL, &all, PATIENCE_MS) ==
		RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_metadata_destroy(all);
}

/* --- a topic's policy --- */

static void
read_policy(struct question *q, const rd_kafka_ConfigResource_t *resource)
{
	size_t count;
	const rd_kafka_ConfigEntry_t **entries =
	    rd_kafka_ConfigResource_configs(resource, &count);
	if (rd_kafka_ConfigResource_error(resource) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR) {
		snprintf(q->words, sizeof q->words, "%s",
		    rd_kafka_err2str(rd_kafka_ConfigResource_error(resource)));
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *value = rd_kafka_ConfigEntry_value(entries[i]);
		if (value != NULL &&
		    !strcmp(rd_kafka_ConfigEntry_name(entries[i]),
			"cleanup.policy"))
			q->policy = strstr(value, "compact") != NULL
			    ? KAFKA_POLICY_COMPACT
			    : KAFKA_POLICY_DELETE;
	}
}

static void
ask_policy(struct question *q)
{
	rd_kafka_t *consumer = q->ask->consumer;
	rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
	    consumer, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	rd_kafka_ConfigResource_t *resource =
	    rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, q->topic);
	rd_kafka_AdminOptions_set_request_timeout(
	    options, LOOK_MS, q->words, sizeof q->words);
	rd_kafka_DescribeConfigs(consumer, &resource, 1, options, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, PATIENCE_MS);
	const rd_kafka_DescribeConfigs_result_t *result = event != NULL
	    ? rd_kafka_event_DescribeConfigs_result(event)
	    : NULL;
	size_t count = 0;
	const rd_kafka_ConfigResource_t **resources = result != NULL
	    ? rd_kafka_DescribeConfigs_result_resources(result, &count)
	    : NULL;
	snprintf(q->words, sizeof q->words, "%s",
	    event != NULL ? rd_kafka_event_error_string(event)
			  : "no answer");
	if (resources != NULL && count > 0)
		read_policy(q, resources[0]);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_ConfigResource_destroy(resource);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
}

/* --- questions --- */

static void
run_question(struct kafka_job *job)
{
	struct question *q = CONTAINER_OF(job, struct question, job);
	if (q->committed != NULL)
		ask_committed(q);
	else if (q->logs != NULL)
		ask_logs(q);
	else if (q->topics != NULL)
		ask_topics(q);
	else
		ask_policy(q);
}

static void
free_question(struct question *q)
{
	if (q->committed != NULL)
		rd_kafka_topic_partition_list_destroy(q->committed);
	for (size_t i = 0; q->logs != NULL && i < q->logs->count; i++)
		free(q->logs->list[i].topic);
	for (size_t i = 0; q->topics != NULL && i < q->topics->size; i++) {
		free(q->topics->list[i].name);
		free(q->topics->list[i].leaders);
	}
	free(q->logs);
	free(q->topics);
	free(q->topic);
	free(q);
}

static void
on_answered(struct kafka_job *job, bool wanted)
{
	struct question *q = CONTAINER_OF(job, struct question, job);
	if (wanted) {
		const struct kafka_ask_events *events = &q->ask->events;
		if (q->committed != NULL)
			events->committed(
			    events->arg, q->error, q->committed);
		else if (q->logs != NULL)
			events->logs(events->arg, q->logs);
		else if (q->topics != NULL)
			events->topics(events->arg, q->topics);
		else
			events->policy(
			    events->arg, q->topic, q->policy, q->words);
	}
	free_question(q);
}

static struct question *
question_of(struct kafka_ask *ask)
{
	struct question *q = mem_zero(sizeof *q);
	q->ask = ask;
	q->job.run = run_question;
	q->job.done = on_answered;
	return q;
}

void
kafka_ask_committed(
    struct kafka_ask *ask, rd_kafka_topic_partition_list_t *list)
{
	struct question *q = question_of(ask);
	q->committed = list;
	kafka_thread_add(ask->thread, &q->job);
}

void
kafka_ask_logs(struct kafka_ask *ask, struct kafka_ask_logs *logs)
{
	struct question *q = question_of(ask);
	q->logs = logs;
	kafka_thread_add(ask->thread, &q->job);
}

void
kafka_ask_topics(struct kafka_ask *ask, struct kafka_ask_topics *topics)
{
	struct question *q = question_of(ask);
	q->topics = topics;
	kafka_thread_add(ask->thread, &q->job);
}

void
kafka_ask_policy(struct kafka_ask *ask, const char *topic)
{
	struct question *q = question_of(ask);
	q->topic = mem_text(topic);
	kafka_thread_add(ask->thread, &q->job);
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
