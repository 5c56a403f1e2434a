/* SPDX-License-Identifier: BSD-2-Clause */
#include "broker/kafka/kafka_private.h"

/*
 * Messages out of the queues of partitions: as many as there is credit for.
 * What is not read stays where it is, and librdkafka fetches no more of that
 * partition.
 */
enum {
	TURN_MAX = 1000, /* events of one turn */
	ROUND_MAX = 16,  /* of one partition, before the next has its turn */
	ODD_AGAIN_MS = 10000,
};

/* What the broker has dropped before it was read. */
static void
look_for_loss(struct kafka_part *part, int64_t offset)
{
	int64_t from, to;
	if (part->ring.next < 0 || offset <= part->ring.next)
		return;
	kafka_part_ends(part, &from, &to);
	if (from > offset)
		from = offset;
	if (from <= part->ring.next)
		return;
	kafka_lost(
	    part->kafka, part, (uint64_t)(from - part->ring.next));
	/* Else whoever reads it next counts that too. */
	part->ring.changed = part->kafka->lost = true;
}

static void
take_message(struct kafka_part *part, const rd_kafka_message_t *message)
{
	struct kafka *kafka = part->kafka;
	uint32_t mark = kafka_message_mark(message);
	int64_t offset = message->offset;
	if (part->step == KAFKA_PROVING &&
	    !kafka_part_proves(part, offset, mark, false))
		return;
	look_for_loss(part, offset);
	if (kafka_part_leaves(part, offset))
		return;
	enum kafka_come come = kafka_ring_add(&part->ring, offset, mark);
	if (come == KAFKA_COME_BACK) {
		kafka_part_anew(part);
		come = kafka_ring_add(&part->ring, offset, mark);
	}
	if (come != KAFKA_COME_NEW)
		return;
	kafka->credit--;
	kafka->events.took(kafka->events.arg,
	    kafka_message_read(part, message, kafka->most_bytes));
}

static void
take_eof(struct kafka_part *part, int64_t offset)
{
	if (part->step == KAFKA_PROVING &&
	    !kafka_part_proves(part, offset, 0, true))
		return;
	look_for_loss(part, offset);
	kafka_ring_reach(&part->ring, offset);
}

/*
 * What cannot be read is left out by librdkafka, which may go on behind it.  It
 * is neither finished nor lost by the broker: the partition stands there, and
 * is fetched again in a while.
 */
static void
take_odd(struct kafka_part *part, int64_t offset)
{
	part->odd_ms = loop_now_ms(part->kafka->loop);
	part->odd_offset = offset;
}

static void
take_error(struct kafka_part *part, rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	rd_kafka_topic_partition_t *at = rd_kafka_event_topic_partition(event);
	if (error != RD_KAFKA_RESP_ERR__PARTITION_EOF)
		kafka_note(part->kafka, rd_kafka_event_error_string(event));
	if (at == NULL)
		return;
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		take_eof(part, at->offset);
		break;
	case RD_KAFKA_RESP_ERR__BAD_MSG:
	case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
	case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED:
		take_odd(part, at->offset);
		break;
	default:
		break;
	}
	rd_kafka_topic_partition_destroy(at);
}

static void
take_event(struct kafka_part *part, rd_kafka_event_t *event)
{
	const rd_kafka_message_t *message;
	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) {
		take_error(part, event);
		return;
	}
	while ((message = rd_kafka_event_message_next(event)) != NULL)
		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			take_message(part, message);
}

static bool
may_read(const struct kafka_part *part)
{
	if (part->empty || part->odd_ms != 0 || part->kafka->credit == 0 ||
	    part->step == KAFKA_ASKING)
		return false;
	return part->step == KAFKA_PROVING ||
	    (!kafka_ring_is_full(&part->ring) && !kafka_part_waits(part));
}

/* How many events that were. */
static unsigned
take_some(struct kafka_part *part)
{
	unsigned count = 0;
	while (count < ROUND_MAX && may_read(part)) {
		rd_kafka_event_t *event = rd_kafka_queue_poll(part->queue, 0);
		part->empty = event == NULL;
		if (event == NULL)
			break;
		take_event(part, event);
		rd_kafka_event_destroy(event);
		count++;
	}
	return count;
}

static struct kafka_part *
next_of(const struct kafka *kafka, const struct kafka_part *part)
{
	return part != NULL && part->next != NULL ? part->next : kafka->parts;
}

/* A message may have the owner give no more credit, or close the reader. */
static bool
may_take(const struct kafka *kafka)
{
	return kafka->assigned && !kafka->revoking && !kafka->remake &&
	    !kafka->leaving && kafka->parts != NULL && kafka->credit > 0;
}

bool
kafka_take_all(struct kafka *kafka)
{
	unsigned count = 0, idle = 0;
	if (kafka->turn == NULL)
		kafka->turn = kafka->parts;
	struct kafka_part *first = kafka->turn;
	while (may_take(kafka) && count < TURN_MAX) {
		unsigned some = take_some(kafka->turn);
		kafka->turn = next_of(kafka, kafka->turn);
		count += some;
		idle = some > 0 ? 0 : idle + (kafka->turn == first);
		if (idle > 1)
			return false;
	}
	return may_take(kafka);
}

void
kafka_take_again(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->loop);
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next) {
		part->empty = false;
		if (part->odd_ms == 0 || now - part->odd_ms < ODD_AGAIN_MS)
			continue;
		part->odd_ms = 0;
		if (kafka->assigned && !kafka->revoking)
			kafka_part_fetch_again(part, part->odd_offset);
	}
}
