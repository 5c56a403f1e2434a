/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * What is finished is told to the broker: each second, at the end, and in the
 * transactions of what is put.  One thing at a time, so that an older position
 * never comes behind a newer one.
 */

/* The list keeps a copy, which it frees. */
static void
add_part(struct kafka_part *part, bool putting,
    rd_kafka_topic_partition_list_t *list)
{
	char text[KAFKA_METADATA_MAX + 1], letters[KAFKA_METADATA_MAX + 1];
	rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(
	    list, part->topic, part->number);
	at->offset = kafka_ring_low(&part->ring, putting);
	struct span told = kafka_letters_tell(part, putting, letters);
	size_t len = kafka_ring_text_write(
	    &part->ring, putting, kafka_shelf_beside(told.len), text);
	at->metadata_size = kafka_shelf_join(text, len, told);
	at->metadata = mem_copy(text, at->metadata_size + 1);
	part->committing = true;
	part->committed_era = part->ring.era;
	part->committed = kafka_ring_floor(&part->ring, putting);
	part->ring.changed = false;
}

/* What is unknown, or not proven yet, is not committed. */
static bool
is_due(const struct kafka_part *part, bool putting)
{
	return part->step == KAFKA_READING &&
	    (part->ring.changed || (putting && part->putting > 0)) &&
	    kafka_ring_low(&part->ring, putting) >= 0;
}

static bool
has_due(const struct kafka *kafka)
{
	for (const struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		if (is_due(part, false))
			return true;
	return false;
}

rd_kafka_topic_partition_list_t *
kafka_commit_list(struct kafka *kafka, bool putting)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(16);
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		if (is_due(part, putting))
			add_part(part, putting, list);
	if (list->cnt > 0)
		return list;
	rd_kafka_topic_partition_list_destroy(list);
	return NULL;
}

bool
kafka_commit_is_over(const struct kafka *kafka)
{
	return kafka->commits == 0 && kafka->batch == NULL && !has_due(kafka);
}

void
kafka_commit_over(struct kafka *kafka, bool good)
{
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next) {
		if (!part->committing)
			continue;
		part->committing = false;
		kafka_letters_floor_told(part, good);
		if (!good) {
			part->ring.changed = true;
			continue;
		}
		kafka_part_tell_floor(part, &part->committed);
		if (part->committed_era == part->ring.era)
			kafka_part_era_told(part);
	}
}

bool
kafka_commit_go_on(struct kafka *kafka)
{
	if (kafka->consumer == NULL || kafka->commits > 0 ||
	    kafka->batch != NULL || kafka->remake)
		return true;
	kafka->tells = has_due(kafka);
	if (!kafka->tells)
		return true;
	if (!kafka_doubt_is_over(kafka))
		return false;
	rd_kafka_topic_partition_list_t *list =
	    kafka_commit_list(kafka, false);
	kafka->tells = false;
	rd_kafka_resp_err_t error = rd_kafka_commit_queue(kafka->consumer, list,
	    kafka->queue, NULL, (void *)++kafka->commit_serial);
	rd_kafka_topic_partition_list_destroy(list);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		kafka->commits = 1;
	else
		kafka_commit_over(kafka, false);
	return true;
}

/* One partition that was not taken is as good as all of them. */
static rd_kafka_resp_err_t
commit_error(rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	const rd_kafka_topic_partition_list_t *list =
	    rd_kafka_event_topic_partition_list(event);
	for (int i = 0; error == RD_KAFKA_RESP_ERR_NO_ERROR && list != NULL &&
	     i < list->cnt;
	     i++)
		error = list->elems[i].err;
	return error;
}

void
kafka_commit_answered(struct kafka *kafka, rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t error = commit_error(event);
	/* What was asked for before partitions went says nothing of others. */
	if (kafka->commits == 0 ||
	    (uintptr_t)rd_kafka_event_opaque(event) != kafka->commit_serial)
		return;
	kafka->commits = 0;
	kafka_commit_over(kafka, error == RD_KAFKA_RESP_ERR_NO_ERROR);
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		kafka_is_up(kafka);
		kafka_trouble_end(kafka, KAFKA_OF_GROUP, NULL);
		kafka_trouble_end(kafka, KAFKA_OF_COMMIT, NULL);
		break;
	case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
	case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
	case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
	case RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST:
	case RD_KAFKA_RESP_ERR__DESTROY:
		/* The group is about to give its partitions anew. */
		break;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		kafka_group_forbidden(kafka);
		break;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		kafka_topics_now(kafka);
		break;
	default:
		kafka_trouble_begin(
		    kafka, KAFKA_OF_COMMIT, "", rd_kafka_err2str(error));
		break;
	}
	kafka_kick(kafka);
}
