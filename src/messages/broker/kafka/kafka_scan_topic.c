/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "messages/broker/kafka/kafka_scan_private.h"
#include "messages/broker/kafka/kafka_shelf.h"

/* What a job must know before it reads: topics, and what others finished. */
enum { PAUSE_MS = 300, MADE_TRIES = 10 };

bool
kafka_scan_topic_fail(struct kafka_scan_job *job, const char *topic,
    rd_kafka_resp_err_t error)
{
	snprintf(job->words, sizeof job->words, "%s: %s", topic,
	    rd_kafka_err2str(error));
	if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		job->denied = topic;
	return false;
}

bool
kafka_scan_topic_is_ours(const struct kafka_scan_job *job, struct span part)
{
	for (size_t i = 0; i < job->n_ours; i++)
		if (span_eq(job->ours[i], part))
			return true;
	return false;
}

/* --- topics --- */

static rd_kafka_resp_err_t
count_partitions(rd_kafka_t *consumer, struct kafka_scan_topic *topic)
{
	const struct rd_kafka_metadata *found;
	rd_kafka_topic_t *handle =
	    rd_kafka_topic_new(consumer, topic->name, NULL);
	if (handle == NULL)
		return rd_kafka_last_error();
	rd_kafka_resp_err_t error =
	    rd_kafka_metadata(consumer, 0, handle, &found, KAFKA_SCAN_ASK_MS);
	topic->count = 0;
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (found->topic_cnt > 0)
			error = found->topics[0].err;
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    found->topic_cnt > 0)
			topic->count = found->topics[0].partition_cnt;
		rd_kafka_metadata_destroy(found);
	}
	rd_kafka_topic_destroy(handle);
	return error;
}

/* One that is not there is empty. */
static bool
look_at_topic(rd_kafka_t *consumer, struct kafka_scan_job *job,
    struct kafka_scan_topic *topic)
{
	rd_kafka_resp_err_t error = count_partitions(consumer, topic);
	if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
	    error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
	    error == RD_KAFKA_RESP_ERR_NO_ERROR)
		return true;
	return kafka_scan_topic_fail(job, topic->name, error);
}

static void
pass_time(rd_kafka_t *consumer)
{
	rd_kafka_message_t *message =
	    rd_kafka_consumer_poll(consumer, PAUSE_MS);
	if (message != NULL)
		rd_kafka_message_destroy(message);
}

/* The broker may make it, once it was asked for it. */
static bool
await_topic(rd_kafka_t *consumer, struct kafka_scan_job *job,
    struct kafka_scan_topic *topic)
{
	for (int i = 0; i < MADE_TRIES; i++) {
		if (!look_at_topic(consumer, job, topic))
			return false;
		if (topic->count > 0)
			return true;
		pass_time(consumer);
	}
	return true;
}

bool
kafka_scan_topic_look(rd_kafka_t *consumer, struct kafka_scan_job *job)
{
	bool good = true;
	for (size_t i = 0; i < job->n_topics && good; i++)
		good = job->look
		    ? await_topic(consumer, job, &job->topics[i])
		    : look_at_topic(consumer, job, &job->topics[i]);
	return good;
}

/* --- what is known of others' letters --- */

static struct span
part_name(struct kafka_scan_job *job, const char *topic, int32_t number)
{
	return arena_printf(job->arena, "%s/%" PRId32, topic, number);
}

static void
add_known(struct kafka_scan_job *job, struct span part, unsigned topic,
    struct kafka_shelf *shelf)
{
	struct kafka_known *known = arena_alloc(job->arena, sizeof *known);
	known->part = part;
	known->topic = topic;
	known->number = shelf->number;
	known->stand = shelf->ring.kept;
	known->stand.low = kafka_ring_low(&shelf->ring, false);
	if (shelf->ring.anchor.offset >= 0)
		known->stand.anchor = shelf->ring.anchor;
	shelf->ring.kept = (struct kafka_stand){.low = -1, .anchor = {-1, 0}};
	known->next = job->known;
	job->known = known;
}

static void
learn_part(struct kafka_scan_job *job, size_t source,
    const rd_kafka_topic_partition_t *at)
{
	struct kafka_shelf *list = NULL;
	struct span ring, text;
	unsigned topic = job->letters_of[source];
	kafka_shelf_part(
	    span_of(at->metadata, at->metadata_size), &ring, &text);
	kafka_shelf_read(&list, job->topics[topic].name, text);
	struct span part = part_name(job, at->topic, at->partition);
	for (struct kafka_shelf *s = list; s != NULL; s = s->next)
		add_known(job, part, topic, s);
	kafka_shelf_clear(&list);
}

/* A group's coordinator may have to be found, or made, first. */
static rd_kafka_resp_err_t
ask_committed(rd_kafka_t *consumer, const struct kafka_scan_job *job,
    rd_kafka_topic_partition_list_t *list)
{
	for (;;) {
		rd_kafka_resp_err_t error =
		    rd_kafka_committed(consumer, list, KAFKA_SCAN_ASK_MS);
		bool passes = error == RD_KAFKA_RESP_ERR__WAIT_COORD ||
		    error == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
		    error == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE ||
		    error == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS;
		if (!passes || clock_us() / 1000 >= job->until_ms)
			return error;
		pass_time(consumer);
	}
}

static bool
learn_topic(rd_kafka_t *consumer, struct kafka_scan_job *job, size_t source)
{
	struct kafka_scan_topic *topic = &job->sources[source];
	if (!look_at_topic(consumer, job, topic))
		return false;
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(topic->count + 1);
	for (int32_t i = 0; i < topic->count; i++)
		if (!kafka_scan_topic_is_ours(
			job, part_name(job, topic->name, i)))
			rd_kafka_topic_partition_list_add(
			    list, topic->name, i);
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
	if (list->cnt > 0)
		error = ask_committed(consumer, job, list);
	for (int i = 0; i < list->cnt; i++)
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			learn_part(job, source, &list->elems[i]);
	rd_kafka_topic_partition_list_destroy(list);
	return error == RD_KAFKA_RESP_ERR_NO_ERROR ||
	    kafka_scan_topic_fail(job, topic->name, error);
}

bool
kafka_scan_topic_learn(rd_kafka_t *consumer, struct kafka_scan_job *job)
{
	bool good = true;
	if (job->position.len > 0 &&
	    kafka_scan_topic_is_ours(job, kafka_scan_part(job->position)))
		return true;
	for (size_t i = 0; i < job->n_sources && good; i++)
		good = learn_topic(consumer, job, i);
	return good;
}
