/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>

#include "base/must.h"
#include "broker/kafka/kafka_private.h"
#include "loop/log.h"

/*
 * Which partitions a reader has: what its group gives, once it is known where
 * each is to be read from, and as long as the group does not want them back.
 * Nobody waits for a call: deliveries of what is given back are ended at once,
 * and what is executed goes on without them.
 */
enum {
	/* So long it may take until the group has our answer. */
	GIVEN_MS = 1000,
	REVOKE_MS = 500,
	ASK_MS = 5000,
	ASK_AGAIN_MS = 500,
};

/* --- parts --- */

struct kafka_part *
kafka_group_part(const struct kafka *kafka, const void *token)
{
	struct kafka_part *part = kafka->parts;
	while (part != NULL && part->serial != (uintptr_t)token)
		part = part->next;
	return part;
}

struct kafka_part *
kafka_group_part_at(
    const struct kafka *kafka, const char *topic, int32_t number)
{
	struct kafka_part *part = kafka->parts;
	while (part != NULL &&
	    (part->number != number || strcmp(part->topic, topic) != 0))
		part = part->next;
	return part;
}

static void
recall(struct kafka *kafka)
{
	const struct broker_events *events = &kafka->events;
	for (struct kafka_part *part = kafka->parts;
	     part != NULL && !kafka->leaving; part = part->next)
		if (events->recalled != NULL)
			events->recalled(events->arg, (void *)part->serial);
}

static void
free_parts(struct kafka *kafka)
{
	while (kafka->parts != NULL) {
		struct kafka_part *part = kafka->parts;
		kafka->parts = part->next;
		kafka_part_free(&part);
	}
	kafka->turn = NULL;
}

void
kafka_group_clear(struct kafka *kafka)
{
	recall(kafka);
	free_parts(kafka);
	if (kafka->list != NULL)
		rd_kafka_topic_partition_list_destroy(kafka->list);
	kafka->list = NULL;
	kafka->given = kafka->assigned = kafka->revoking = false;
	kafka->again = kafka->asking = kafka->pinging = false;
	kafka->commits = 0;
}

static void
make_parts(struct kafka *kafka)
{
	for (int i = 0; i < kafka->list->cnt; i++) {
		const rd_kafka_topic_partition_t *at = &kafka->list->elems[i];
		struct kafka_part *part =
		    kafka_part_new(kafka, at->topic, at->partition);
		part->next = kafka->parts;
		part->has_floor = kafka->events.floor_wanted == NULL;
		kafka->parts = part;
	}
	kafka->given = true;
	kafka->assigned = false;
	kafka->given_ms = loop_now_ms(kafka->loop);
	kafka->ask_again_ms = kafka->given_ms;
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		if (!part->has_floor)
			kafka->events.floor_wanted(
			    kafka->events.arg, part->name);
}

/* --- what is committed --- */

/*
 * All partitions of its topics up to the last of ours: a partition that was
 * added to a topic is no reason to begin anew.
 */
static rd_kafka_topic_partition_list_t *
list_to_ask(const struct kafka *kafka)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(16);
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		for (int32_t i = part->number; i >= 0; i--) {
			if (rd_kafka_topic_partition_list_find(
				list, part->topic, i) != NULL)
				break;
			rd_kafka_topic_partition_list_add(list, part->topic, i);
		}
	if (list->cnt == 0)
		rd_kafka_topic_partition_list_add(
		    list, kafka->source->topics.list[0], 0);
	return list;
}

static void
ask(struct kafka *kafka)
{
	rd_kafka_topic_partition_list_t *list = list_to_ask(kafka);
	rd_kafka_ListConsumerGroupOffsets_t *request =
	    rd_kafka_ListConsumerGroupOffsets_new(kafka->source->group, list);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
	    kafka->consumer, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
	char words[KAFKA_WORDS_BYTES];
	rd_kafka_AdminOptions_set_request_timeout(
	    options, ASK_MS, words, sizeof words);
	/* Not what a transaction under way may still take back. */
	rd_kafka_error_t *error =
	    rd_kafka_AdminOptions_set_require_stable_offsets(options, 1);
	if (error != NULL)
		rd_kafka_error_destroy(error);
	rd_kafka_AdminOptions_set_opaque(
	    options, (void *)(uintptr_t)kafka->serials);
	rd_kafka_ListConsumerGroupOffsets(
	    kafka->consumer, &request, 1, options, kafka->queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_ListConsumerGroupOffsets_destroy(request);
	rd_kafka_topic_partition_list_destroy(list);
	kafka->asking = true;
}

void
kafka_group_ping(struct kafka *kafka)
{
	if (!kafka->asking)
		ask(kafka);
}

static bool
is_new(const rd_kafka_topic_partition_list_t *list, const char *topic)
{
	for (int i = 0; i < list->cnt; i++)
		if (!strcmp(list->elems[i].topic, topic) &&
		    list->elems[i].offset >= 0)
			return false;
	return true;
}

static void
learn(struct kafka_part *part, rd_kafka_topic_partition_list_t *list)
{
	const rd_kafka_topic_partition_t *at =
	    rd_kafka_topic_partition_list_find(list, part->topic, part->number);
	if (part->has_commit || at == NULL ||
	    at->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	part->has_commit = true;
	part->group_is_new = is_new(list, part->topic);
	kafka_ring_read(at->offset,
	    span_of(at->metadata, at->metadata_size), &part->commit);
}

static void
learn_all(struct kafka *kafka, const rd_kafka_group_result_t *result)
{
	const rd_kafka_topic_partition_list_t *offsets =
	    rd_kafka_group_result_partitions(result);
	if (rd_kafka_group_result_error(result) != NULL || offsets == NULL)
		return;
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_copy(offsets);
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		learn(part, list);
	rd_kafka_topic_partition_list_destroy(list);
}

void
kafka_group_offsets(struct kafka *kafka, rd_kafka_event_t *event)
{
	const rd_kafka_ListConsumerGroupOffsets_result_t *result =
	    rd_kafka_event_ListConsumerGroupOffsets_result(event);
	size_t count = 0;
	bool of_these = (uintptr_t)rd_kafka_event_opaque(event) ==
	    kafka->serials;
	kafka->asking = false;
	kafka->ask_again_ms = loop_now_ms(kafka->loop) + ASK_AGAIN_MS;
	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	kafka_is_up(kafka);
	const rd_kafka_group_result_t **groups =
	    rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count);
	/* What was asked for those before is older than what they are. */
	if (of_these && count > 0)
		learn_all(kafka, groups[0]);
	else
		kafka->ask_again_ms = loop_now_ms(kafka->loop);
	kafka_kick(kafka);
}

/* --- what the group gives --- */

static void
assign_nothing(struct kafka *kafka)
{
	rd_kafka_topic_partition_list_t *none =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_assign(kafka->consumer, none);
	rd_kafka_topic_partition_list_destroy(none);
}

static void
on_given(struct kafka *kafka, const rd_kafka_topic_partition_list_t *list)
{
	kafka_group_clear(kafka);
	kafka->list = rd_kafka_topic_partition_list_copy(list);
	kafka->rebalances++;
	make_parts(kafka);
	kafka_changed(kafka);
}

static void
log_parts(const struct kafka *kafka)
{
	struct logline line = log_begin(EV_source_partitions);
	log_str(&line, "source", kafka->source->name);
	log_int(&line, "partitions", kafka->list->cnt);
	log_end(&line);
}

static void
assign(struct kafka *kafka)
{
	for (int i = 0; i < kafka->list->cnt; i++) {
		rd_kafka_topic_partition_t *at = &kafka->list->elems[i];
		struct kafka_part *part =
		    kafka_group_part_at(kafka, at->topic, at->partition);
		must(part != NULL);
		at->offset = kafka_part_begin(part);
		rd_kafka_queue_forward(part->queue, NULL);
	}
	rd_kafka_resp_err_t error =
	    rd_kafka_assign(kafka->consumer, kafka->list);
	kafka->assigned = true;
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		kafka_remake(kafka, rd_kafka_err2str(error));
	log_parts(kafka);
}

static bool
all_is_known(const struct kafka *kafka)
{
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		if (!part->has_floor || !part->has_commit)
			return false;
	return true;
}

/* The group has an answer in any case: its others wait for that. */
static void
answer(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->loop);
	if (all_is_known(kafka)) {
		assign(kafka);
		return;
	}
	if (!kafka->asking && now >= kafka->ask_again_ms)
		ask(kafka);
	if (now - kafka->given_ms < GIVEN_MS)
		return;
	assign_nothing(kafka);
	kafka->given_ms = INT64_MAX;
}

/* --- what it takes back --- */

static void
on_revoked(struct kafka *kafka)
{
	recall(kafka);
	kafka->revoking = true;
	kafka->revoke_ms = loop_now_ms(kafka->loop);
	kafka_commit_go_on(kafka);
}

static void
give_up(struct kafka *kafka)
{
	bool waits = kafka->commits > 0 || kafka->batch != NULL;
	int64_t took = loop_now_ms(kafka->loop) - kafka->revoke_ms;
	if (waits && took < REVOKE_MS)
		return;
	kafka_group_clear(kafka);
	rd_kafka_assign(kafka->consumer, NULL);
}

void
kafka_group_rebalance(struct kafka *kafka, rd_kafka_event_t *event)
{
	kafka_is_up(kafka);
	if (rd_kafka_event_error(event) ==
		RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS &&
	    !kafka->leaving)
		on_given(kafka, rd_kafka_event_topic_partition_list(event));
	else if (kafka->parts != NULL)
		on_revoked(kafka);
	else
		rd_kafka_assign(kafka->consumer, NULL);
	kafka_kick(kafka);
}

void
kafka_group_again(struct kafka *kafka)
{
	if (!kafka->given || kafka->revoking)
		return;
	rd_kafka_topic_partition_list_t *list = kafka->list;
	kafka->list = NULL;
	assign_nothing(kafka);
	kafka_group_clear(kafka);
	kafka->list = list;
	make_parts(kafka);
}

void
kafka_group_go_on(struct kafka *kafka)
{
	if (kafka->revoking)
		give_up(kafka);
	else if (kafka->given && !kafka->assigned)
		answer(kafka);
	else if (kafka->again && kafka->credit > 0 && kafka->batch == NULL)
		kafka_group_again(kafka);
}
