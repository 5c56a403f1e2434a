/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * What is finished is told to the broker: each second, at the end, and in the
 * transactions of what is put.  One thing at a time, so that an older position
 * never comes behind a newer one.  The store has a copy of it afterwards.
 */
enum {
	MOMENT_MS = 100, /* no topic is deleted and made again in less */
	AGAIN_MS = 500,
	PATIENCE_MS = 3000,
	/* An answer that is older, as after we were stopped, tells nothing. */
	OLD_MS = 3000,
};

/* --- what is committed --- */

/*
 * What is unknown, or not proven yet, is not committed; nor where it is another
 * store's, before the owner takes it as it is, which gives credit.
 */
static bool
is_due(const struct kafka_part *part, bool putting)
{
	return (part->step == KAFKA_READING || part->step == KAFKA_TELLING) &&
	    !part->foreign &&
	    (part->tracker.changed || (putting && part->putting > 0));
}

static bool
has_due(const struct kafka *kafka)
{
	const struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link)
		if (is_due(part, false))
			return true;
	return false;
}

rd_kafka_topic_partition_list_t *
kafka_commit_list(struct kafka *kafka, bool putting)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(16);
	char text[KAFKA_METADATA_MAX + 1];
	struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link) {
		if (!is_due(part, putting))
			continue;
		rd_kafka_topic_partition_t *at =
		    rd_kafka_topic_partition_list_add(
			list, part->topic, part->number);
		at->offset = kafka_tracker_low(&part->tracker, putting);
		kafka_tracker_write(
		    &part->tracker, putting, kafka->core.store_id, text);
		/* The list frees it. */
		at->metadata_size = strlen(text);
		at->metadata = mem_text(text);
		part->committing = true;
		free(part->told);
		part->told = mem_printf("%" PRId64 " %s", at->offset, text);
		part->tracker.changed = false;
	}
	if (list->cnt > 0)
		return list;
	rd_kafka_topic_partition_list_destroy(list);
	return NULL;
}

bool
kafka_commit_tell(struct broker_reader *core)
{
	struct kafka *kafka = (struct kafka *)core;
	if (!core->reachable ||
	    (!kafka->commits && kafka->batch == NULL && !has_due(kafka)))
		return true;
	if (!kafka->told) {
		kafka->told = kafka->tells = true;
		reader_kick(core);
	}
	return false;
}

void
kafka_commit_over(struct kafka *kafka, bool good)
{
	const struct broker_events *events = &kafka->core.events;
	struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link) {
		if (!part->committing)
			continue;
		part->committing = false;
		part->tracker.changed |= !good;
		if (!good)
			continue;
		if (!kafka->core.leaving) {
			events->floor(events->arg, part->name,
			    span_str(part->told), part->anew);
			part->anew = false;
			part->decided = BROKER_UNDECIDED;
		}
		reader_trouble_end(&kafka->core, KAFKA_OF_READ, part->topic);
		if (part->step == KAFKA_TELLING)
			part->step = KAFKA_READING;
	}
}

/* --- whether it is still there --- */

static void
seen(struct kafka *kafka, const rd_kafka_topic_partition_list_t *list)
{
	int64_t now = loop_now_ms(kafka->core.loop);
	struct kafka_part *part;
	bool gone = false;
	if (now - kafka->asked_ms > OLD_MS || kafka->batch != NULL)
		return;
	LIST_EACH (part, &kafka->parts, link) {
		const rd_kafka_topic_partition_t *at =
		    rd_kafka_topic_partition_list_find(
			list, part->topic, part->number);
		if (part->step != KAFKA_READING)
			continue;
		if (at == NULL || at->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return;
		gone |= at->offset < 0;
	}
	kafka->ask_again_ms = 0;
	if (gone)
		kafka->anew = true;
	else
		kafka->sure_ms = now;
}

/* Of a topic of which not all is told nothing is known. */
static void
learn(struct kafka_part *part, rd_kafka_topic_partition_list_t *list)
{
	const rd_kafka_topic_partition_t *at =
	    rd_kafka_topic_partition_list_find(list, part->topic, part->number);
	bool is_new = true, told = at != NULL && !part->has_commit;
	for (int i = 0; i < list->cnt; i++) {
		const rd_kafka_topic_partition_t *other = &list->elems[i];
		if (strcmp(other->topic, part->topic) != 0)
			continue;
		told &= other->err == RD_KAFKA_RESP_ERR_NO_ERROR;
		is_new &= other->offset < 0;
	}
	if (!told)
		return;
	part->has_commit = true;
	part->group_is_new = is_new;
	kafka_tracker_read(
	    at->offset, span_of(at->metadata, at->metadata_size), &part->stand);
}

/*
 * What is committed is asked for as a member asks, by no admin request:
 * librdkafka 2.0.2 ends the process where a coordinator is away for longer than
 * such a request may take.
 */
struct commit_asked {
	struct kafka_job job;
	struct kafka *kafka; /* the loop's */
	rd_kafka_t *consumer;
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t error;
};

static void
run_asked(struct kafka_job *job)
{
	struct commit_asked *asked =
	    CONTAINER_OF(job, struct commit_asked, job);
	asked->error =
	    rd_kafka_committed(asked->consumer, asked->list, PATIENCE_MS);
}

/* What was asked for others before these is older than what they are. */
static void
answered(struct kafka *kafka, const struct commit_asked *asked)
{
	rd_kafka_resp_err_t refusal = asked->error;
	struct kafka_part *part;
	bool of_these = kafka->asked_for == kafka->serials;
	kafka->asking = false;
	if (asked->error == RD_KAFKA_RESP_ERR__TIMED_OUT)
		kafka->unanswered = true;
	kafka->ask_again_ms =
	    loop_now_ms(kafka->core.loop) + (of_these ? AGAIN_MS : 0);
	for (int i = 0; i < asked->list->cnt; i++) {
		rd_kafka_resp_err_t error = asked->list->elems[i].err;
		if (refusal == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    error != RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION &&
		    error != RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT)
			refusal = error;
	}
	(void)kafka_trouble_of_group(kafka, refusal);
	if (asked->error == RD_KAFKA_RESP_ERR_NO_ERROR && of_these) {
		LIST_EACH (part, &kafka->parts, link)
			learn(part, asked->list);
		seen(kafka, asked->list);
	}
	reader_kick(&kafka->core);
}

static void
on_asked(struct kafka_job *job, bool wanted)
{
	struct commit_asked *asked =
	    CONTAINER_OF(job, struct commit_asked, job);
	if (wanted)
		answered(asked->kafka, asked);
	rd_kafka_topic_partition_list_destroy(asked->list);
	free(asked);
}

/*
 * All partitions of its topics up to the last of ours: a partition that was
 * added to a topic is no reason to begin anew.  Nothing is known of what an
 * answer leaves out, which is not the same as that nothing was committed.
 */
void
kafka_commit_ask(struct kafka *kafka)
{
	if (kafka->asking)
		return;
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(16);
	struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link)
		for (int32_t i = part->number; i >= 0 &&
		     rd_kafka_topic_partition_list_find(list, part->topic, i) ==
			 NULL;
		     i--)
			rd_kafka_topic_partition_list_add(list, part->topic, i);
	if (list->cnt == 0)
		rd_kafka_topic_partition_list_add(
		    list, kafka->core.source->topics.list[0], 0);
	for (int i = 0; i < list->cnt; i++)
		list->elems[i].err = RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
	int64_t now = loop_now_ms(kafka->core.loop);
	kafka->asking = true;
	kafka->asked_for = kafka->serials;
	kafka->asked_ms = now;
	kafka->ask_again_ms = now + AGAIN_MS;
	struct commit_asked *asked = mem_zero(sizeof *asked);
	asked->job.run = run_asked;
	asked->job.done = on_asked;
	asked->kafka = kafka;
	asked->consumer = kafka->consumer;
	asked->list = list;
	kafka_thread_add(kafka->asker, &asked->job);
}

/* Of what is in a transaction no answer says how it stands. */
bool
kafka_commit_is_sure(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->core.loop);
	if (now - kafka->sure_ms <= MOMENT_MS)
		return true;
	if (now >= kafka->ask_again_ms && kafka->batch == NULL)
		kafka_commit_ask(kafka);
	return false;
}

/* --- commits of their own --- */

bool
kafka_commit_go_on(struct kafka *kafka)
{
	if (kafka->consumer == NULL || kafka->commits || kafka->batch != NULL ||
	    kafka->remake || kafka->anew)
		return true;
	kafka->tells = has_due(kafka);
	if (!kafka->tells)
		return true;
	if (!kafka_commit_is_sure(kafka))
		return false;
	rd_kafka_topic_partition_list_t *list = kafka_commit_list(kafka, false);
	kafka->tells = false;
	rd_kafka_resp_err_t error = rd_kafka_commit_queue(kafka->consumer, list,
	    kafka->queue, NULL, (void *)++kafka->commit_serial);
	rd_kafka_topic_partition_list_destroy(list);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		kafka->commits = true;
	else
		kafka_commit_over(kafka, false);
	return true;
}

void
kafka_commit_answered(struct kafka *kafka, rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	const rd_kafka_topic_partition_list_t *list =
	    rd_kafka_event_topic_partition_list(event);
	/*
	 * One partition that was not taken is as good as all of them.  Who may
	 * only describe a topic is given its partitions, and learns here that
	 * he may not read them.
	 */
	for (int i = 0; list != NULL && i < list->cnt; i++) {
		const rd_kafka_topic_partition_t *at = &list->elems[i];
		if (at->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			kafka_trouble_unreadable(kafka, at->topic);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			error = at->err;
	}
	/* What was asked for before partitions went says nothing of others. */
	if (!kafka->commits ||
	    (uintptr_t)rd_kafka_event_opaque(event) != kafka->commit_serial)
		return;
	kafka->commits = false;
	kafka_commit_over(kafka, error == RD_KAFKA_RESP_ERR_NO_ERROR);
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		kafka_trouble_is_up(kafka);
		reader_trouble_end(&kafka->core, KAFKA_OF_GROUP, NULL);
		reader_trouble_end(&kafka->core, KAFKA_OF_ELSE, NULL);
		break;
	case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
	case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
	case RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST:
	case RD_KAFKA_RESP_ERR__DESTROY:
		/* The group is about to give its partitions anew. */
		break;
	default:
		if (!kafka_trouble_of_group(kafka, error))
			reader_trouble_begin(&kafka->core, KAFKA_OF_ELSE, "",
			    span_str(rd_kafka_err2str(error)));
		break;
	}
	reader_kick(&kafka->core);
}
