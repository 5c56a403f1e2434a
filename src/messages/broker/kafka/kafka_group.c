/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * Which partitions a reader has: what its group gives, once it is known where
 * each is to be read from, and as long as the group does not want them back.
 * Nobody waits for a call: deliveries of what is given back are ended at once,
 * and what is executed goes on without them.
 */
enum {
	/* So long it may take until the group has our answer. */
	GIVEN_MS = 1000,
	REVOKE_MS = 1000,
	/* How often an operator's decision is asked for. */
	UNDECIDED_MS = 2000,
	DECIDED_MS = 10000,
};

/* --- parts --- */

void
kafka_group_clear(struct kafka *kafka)
{
	struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link) {
		list_remove(&part->link);
		kafka_part_free(&part);
	}
	kafka->n_parts = 0;
	kafka->given = kafka->assigned = kafka->revoking = false;
	kafka->again = kafka->anew = kafka->commits = false;
}

/* What the store keeps of them, and what an operator has decided. */
static void
want_copies(struct kafka *kafka)
{
	const struct broker_events *events = &kafka->core.events;
	struct kafka_part *part;
	bool undecided = false;
	LIST_EACH (part, &kafka->parts, link) {
		events->floor_wanted(events->arg, part->name, false);
		undecided |= part->step == KAFKA_UNPROVEN;
	}
	kafka->copies_ms = loop_now_ms(kafka->core.loop) +
	    (undecided ? UNDECIDED_MS : DECIDED_MS);
}

/*
 * The group has its answer at once, since its others wait for that: nothing is
 * fetched until it is known from where.  Of a topic that was made again there
 * are other queues.
 */
static void
begin(struct kafka *kafka, const rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_topic_partition_list_t *none =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_assign(kafka->consumer, none);
	rd_kafka_topic_partition_list_destroy(none);
	kafka_group_clear(kafka);
	for (int i = 0; i < list->cnt; i++) {
		const rd_kafka_topic_partition_t *at = &list->elems[i];
		struct kafka_part *part =
		    kafka_part_new(kafka, at->topic, at->partition);
		if (part == NULL)
			continue;
		list_add_last(&kafka->parts, &part->link);
		kafka->n_parts++;
	}
	kafka->given = true;
	kafka->given_ms = loop_now_ms(kafka->core.loop);
	kafka->ask_again_ms = kafka->look_ms = kafka->given_ms;
	want_copies(kafka);
}

/* --- where they are to be read from --- */

void
kafka_group_copy(struct broker_reader *core, const char *name,
    struct span floor, enum broker_decision decided)
{
	struct kafka *kafka = (struct kafka *)core;
	struct kafka_part *part;
	struct span low;
	int64_t offset;
	LIST_EACH (part, &kafka->parts, link) {
		if (strcmp(part->name, name) != 0)
			continue;
		if (part->has_copy) {
			/* It is used with the next beginning, and once. */
			kafka->anew |= decided != BROKER_UNDECIDED &&
			    kafka->assigned &&
			    part->decided == BROKER_UNDECIDED;
			continue;
		}
		part->decided = decided;
		part->has_copy = true;
		if (span_next(&floor, ' ', &low) &&
		    digits_read(low, INT64_MAX, &offset))
			kafka_tracker_read(offset, floor, &part->copy);
		/* What cannot be read is not to be in the way of the next. */
		part->anew = part->copy.low < 0;
	}
	reader_kick(&kafka->core);
}

/*
 * All is read once it is known where that begins; only logs that nobody leads,
 * or whose leaders are too slow, begin later, each by itself.  Of these nothing
 * is taken until then.  librdkafka has them from their beginning: it may go
 * back there later (kafka_part.c), and from their end it would skip messages.
 */
static void
assign(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->core.loop);
	bool waits = now - kafka->given_ms < GIVEN_MS;
	bool asked = true, known = true;
	struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link) {
		asked &= part->has_commit;
		known &= part->has_copy && (part->has_log || !waits);
	}
	if (!asked && now >= kafka->ask_again_ms)
		kafka_commit_ask(kafka);
	if (!asked || !known)
		return;
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(16);
	LIST_EACH (part, &kafka->parts, link) {
		rd_kafka_topic_partition_list_add(
		    list, part->topic, part->number)
		    ->offset = part->has_log ? kafka_part_begin(part)
					     : RD_KAFKA_OFFSET_BEGINNING;
		rd_kafka_queue_forward(part->queue, NULL);
	}
	rd_kafka_resp_err_t error = rd_kafka_assign(kafka->consumer, list);
	rd_kafka_topic_partition_list_destroy(list);
	kafka->assigned = true;
	kafka->anew = false;
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		kafka_trouble_remake(kafka, rd_kafka_err2str(error));
	struct logline line = log_begin(EV_source_partitions);
	log_str(&line, "source", kafka->core.source->name);
	log_int(&line, "partitions", kafka->n_parts);
	log_end(&line);
}

/* --- what the group gives, and takes back --- */

static void
give_all_back(struct kafka *kafka)
{
	kafka_group_clear(kafka);
	rd_kafka_assign(kafka->consumer, NULL);
}

void
kafka_group_rebalance(struct kafka *kafka, rd_kafka_event_t *event)
{
	static const enum kafka_subject over[] = {KAFKA_OF_GROUP, KAFKA_OF_ELSE,
	    KAFKA_OF_READ, KAFKA_OF_PART, KAFKA_OF_PROOF};
	struct kafka_part *part;
	reader_kick(&kafka->core);
	if (rd_kafka_event_error(event) ==
		RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS &&
	    !kafka->core.leaving) {
		kafka_trouble_is_up(kafka);
		for (size_t i = 0; i < sizeof over / sizeof *over; i++)
			reader_trouble_end(&kafka->core, over[i], NULL);
		begin(kafka, rd_kafka_event_topic_partition_list(event));
		kafka->rebalances++;
		reader_changed(&kafka->core);
		return;
	}
	if (list_empty(&kafka->parts)) {
		give_all_back(kafka);
		return;
	}
	LIST_EACH (part, &kafka->parts, link)
		reader_flight_recall(&kafka->core, (void *)part->serial);
	kafka->revoking = true;
	kafka->revoke_ms = loop_now_ms(kafka->core.loop);
	/* Where others have them already, nothing can be committed. */
	kafka->revoke_told = rd_kafka_assignment_lost(kafka->consumer) != 0;
}

/* --- what is due --- */

void
kafka_group_go_on(struct kafka *kafka)
{
	bool busy = kafka->commits || kafka->batch != NULL;
	struct kafka_part *part;
	if (kafka->revoking) {
		int64_t took = loop_now_ms(kafka->core.loop) - kafka->revoke_ms;
		if (!kafka->revoke_told && !busy)
			kafka->revoke_told = kafka_commit_go_on(kafka);
		if (took >= REVOKE_MS ||
		    (kafka->revoke_told && !kafka->commits &&
			kafka->batch == NULL))
			give_all_back(kafka);
	} else if (!kafka->given || kafka->core.leaving) {
		return;
	} else if (!kafka->assigned) {
		assign(kafka);
	} else if (!busy &&
	    (kafka->anew || (kafka->again && kafka->core.credit > 0))) {
		rd_kafka_topic_partition_list_t *list =
		    rd_kafka_topic_partition_list_new(16);
		LIST_EACH (part, &kafka->parts, link)
			rd_kafka_topic_partition_list_add(
			    list, part->topic, part->number);
		begin(kafka, list);
		rd_kafka_topic_partition_list_destroy(list);
	}
}

void
kafka_group_look(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->core.loop);
	struct kafka_part *part;
	int64_t lag = kafka->assigned ? 0 : -1;
	LIST_EACH (part, &kafka->parts, link) {
		if (lag < 0 || part->step != KAFKA_READING || part->end < 0)
			lag = -1;
		else if (part->end > part->tracker.next)
			lag += part->end - part->tracker.next;
	}
	if (lag != kafka->lag)
		reader_changed(&kafka->core);
	kafka->lag = lag;
	if (!kafka->core.reachable)
		kafka_commit_ask(kafka);
	if (kafka->given && !kafka->revoking && now >= kafka->copies_ms)
		want_copies(kafka);
}
