/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "messages/broker/kafka/kafka_private.h"

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
	uint64_t lost = kafka_ring_cut(&part->ring, from);
	if (lost > 0)
		kafka_lost(part->kafka, part, lost);
	/* Else whoever reads it next counts that too. */
	part->ring.changed = part->kafka->tells = true;
}

/* It is read. */
static void
is_well(struct kafka_part *part)
{
	if (part->kafka->troubles == NULL)
		return;
	kafka_trouble_end(part->kafka, KAFKA_OF_PART, part->name);
	kafka_trouble_end(part->kafka, KAFKA_OF_READ, part->topic);
}

static void
take_message(struct kafka_part *part, const rd_kafka_message_t *message)
{
	struct kafka *kafka = part->kafka;
	uint32_t mark = kafka_message_mark(message);
	int64_t offset = message->offset;
	is_well(part);
	if (part->step == KAFKA_PROVING &&
	    !kafka_proof_meets(part, offset, mark, false)) {
		part->seen.leader = rd_kafka_message_broker_id(message);
		return;
	}
	if (!kafka_doubt_takes(part, message, mark))
		return;
	look_for_loss(part, offset);
	if (kafka_ring_doubts(&part->ring, offset, mark))
		kafka_part_end_era(part);
	if (kafka_part_leaves(part, offset))
		return;
	enum kafka_come come = kafka_ring_add(&part->ring, offset, mark);
	if (come == KAFKA_COME_BACK) {
		if (!kafka_proof_anew(part))
			return;
		come = kafka_ring_add(&part->ring, offset, mark);
	}
	part->seen.last = (struct kafka_anchor){offset, mark};
	if (come != KAFKA_COME_NEW)
		return;
	kafka->credit--;
	kafka->events.took(kafka->events.arg,
	    kafka_message_read(part, message, kafka->most_bytes));
}

/* A log that ends before what is to come is not the one that was meant. */
static void
take_eof(struct kafka_part *part, int64_t offset)
{
	is_well(part);
	if (part->step == KAFKA_PROVING &&
	    !kafka_proof_meets(part, offset, 0, true))
		return;
	if (!kafka_doubt_takes_end(part, offset))
		return;
	if (offset >= 0 && offset < part->ring.next &&
	    !kafka_proof_anew(part))
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
take_forbidden(struct kafka_part *part)
{
	char words[KAFKA_WORDS_BYTES];
	take_odd(part, RD_KAFKA_OFFSET_BEGINNING);
	snprintf(words, sizeof words,
	    "no right to read the topic \"%s\": Read", part->topic);
	kafka_trouble_begin(part->kafka, KAFKA_OF_READ, part->topic, words);
}

static void
take_error_at(struct kafka_part *part, rd_kafka_event_t *event, int64_t offset)
{
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		take_eof(part, offset);
		return;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
		kafka_topics_now(part->kafka);
		return;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		take_forbidden(part);
		return;
	case RD_KAFKA_RESP_ERR__BAD_MSG:
	case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
	case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED:
		take_odd(part, offset);
		break;
	default:
		break;
	}
	kafka_trouble_begin(part->kafka, KAFKA_OF_PART, part->name,
	    rd_kafka_event_error_string(event));
}

static void
take_error(struct kafka_part *part, rd_kafka_event_t *event)
{
	rd_kafka_topic_partition_t *at = rd_kafka_event_topic_partition(event);
	if (at == NULL)
		return;
	take_error_at(part, event, at->offset);
	rd_kafka_topic_partition_destroy(at);
}

static void
take_event(struct kafka_part *part, rd_kafka_event_t *event)
{
	const rd_kafka_message_t *message;
	part->heard = true;
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
	    part->step == KAFKA_ASKING || part->step == KAFKA_UNPROVEN)
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

/*
 * Whether it can be read again, while nothing is to be handed over because it
 * could not be: what comes is left for later.
 */
static void
try_part(struct kafka_part *part)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(part->queue, 0);
	if (event == NULL)
		return;
	part->heard = true;
	if (rd_kafka_event_type(event) != RD_KAFKA_EVENT_ERROR ||
	    rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
		is_well(part);
		kafka_part_fetch_again(part, RD_KAFKA_OFFSET_BEGINNING);
	} else {
		take_event(part, event);
	}
	rd_kafka_event_destroy(event);
}

static void
reconsider(struct kafka_part *part, int64_t now)
{
	const struct kafka *kafka = part->kafka;
	bool reads = kafka->assigned && !kafka->revoking && !kafka->remake;
	part->empty = false;
	bool due = part->odd_ms > 0 && now - part->odd_ms >= ODD_AGAIN_MS;
	if (due && part->step == KAFKA_UNPROVEN) {
		kafka_part_ask_again(part);
	} else if (due) {
		part->odd_ms = 0;
		if (reads)
			kafka_part_fetch_again(part, part->odd_offset);
	} else if (reads && part->odd_ms == 0 && kafka->credit == 0 &&
	    kafka_trouble_is(kafka, KAFKA_OF_READ, part->topic)) {
		try_part(part);
	}
}

void
kafka_take_again(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->loop);
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		reconsider(part, now);
}
