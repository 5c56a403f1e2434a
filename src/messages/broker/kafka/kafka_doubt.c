/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/broker/kafka/kafka_private.h"

enum {
	MOMENT_MS = 100, /* no topic is deleted and made again in less */
	AGAIN_MS = 500,
	/* An answer that is older, as after we were stopped, tells nothing. */
	OLD_MS = 3000,
};

/* Of what is in a transaction no answer says how it stands. */
bool
kafka_doubt_is_over(struct kafka *kafka)
{
	struct kafka_doubt *doubt = &kafka->doubt;
	int64_t now = loop_now_ms(kafka->loop);
	if (now - doubt->sure_ms <= MOMENT_MS)
		return true;
	if (now >= doubt->again_ms && kafka->batch == NULL)
		kafka_group_ping(kafka);
	return false;
}

void
kafka_doubt_asked(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->loop);
	kafka->doubt.asked_ms = now;
	kafka->doubt.again_ms = now + AGAIN_MS;
}

/* False: it is not known of all of them whether something is committed. */
static bool
look_for_parts(const struct kafka *kafka,
    const rd_kafka_topic_partition_list_t *list, bool *ret_gone)
{
	*ret_gone = false;
	for (const struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next) {
		const rd_kafka_topic_partition_t *at =
		    rd_kafka_topic_partition_list_find(
			list, part->topic, part->number);
		if (part->step != KAFKA_READING || part->era_untold)
			continue;
		if (at == NULL || at->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return false;
		*ret_gone |= at->offset < 0;
	}
	return true;
}

void
kafka_doubt_answered(
    struct kafka *kafka, const rd_kafka_topic_partition_list_t *list)
{
	struct kafka_doubt *doubt = &kafka->doubt;
	int64_t now = loop_now_ms(kafka->loop);
	bool gone;
	if (now - doubt->asked_ms > OLD_MS || kafka->batch != NULL ||
	    !look_for_parts(kafka, list, &gone))
		return;
	doubt->again_ms = 0;
	if (!gone)
		doubt->sure_ms = now;
	else if (!kafka->leaving)
		kafka_group_again(kafka);
}

/* --- the log --- */

void
kafka_doubt_log(struct kafka *kafka, const char *topic, int32_t number)
{
	struct kafka_part *part = kafka_group_part_at(kafka, topic, number);
	if (part != NULL)
		part->seen.leader = KAFKA_LEADER_DOUBTED;
}

/*
 * The newest of those that are known, before that one, is to be there instead;
 * false: none is known.
 */
static bool
asks_older(struct kafka_part *part)
{
	const struct kafka_anchors *older = &part->ring.older;
	struct kafka_anchor *last = &part->seen.last;
	struct kafka_anchor found = {-1, 0};
	if (part->ring.anchor.offset < last->offset)
		found = part->ring.anchor;
	for (size_t i = 0; i < older->count; i++)
		if (older->list[i].offset < last->offset &&
		    older->list[i].offset > found.offset)
			found = older->list[i];
	if (found.offset < 0)
		return false;
	*last = found;
	kafka_part_seek(part, last->offset);
	return true;
}

/*
 * There is no message: it was compacted away, or what ends a transaction came
 * to be there after the log had lost its end.
 */
static bool
is_hole(const struct kafka_part *part, int64_t offset)
{
	int64_t start, to;
	kafka_part_ends(part, &start, &to);
	return offset > part->seen.last.offset &&
	    start <= part->seen.last.offset;
}

/* It is where the last one is to be. */
static void
meet_last(struct kafka_part *part, int64_t offset, uint32_t mark, bool end)
{
	const struct kafka_anchor *last = &part->seen.last;
	if (is_hole(part, offset) && asks_older(part))
		return;
	/* Behind it: it was trimmed, or nothing before it is known. */
	bool holds = offset > last->offset ||
	    (offset == last->offset && !end && mark == last->mark);
	part->seen.doubts = false;
	if (holds)
		kafka_part_seek(part, part->ring.next);
	else if (kafka_proof_anew(part))
		kafka_part_seek(part, RD_KAFKA_OFFSET_BEGINNING);
}

bool
kafka_doubt_takes(struct kafka_part *part, const rd_kafka_message_t *message,
    uint32_t mark)
{
	struct kafka_sight *seen = &part->seen;
	int32_t before = seen->leader;
	seen->leader = rd_kafka_message_broker_id(message);
	if (seen->doubts) {
		meet_last(part, message->offset, mark, false);
		return false;
	}
	seen->doubts = before != seen->leader &&
	    before != KAFKA_LEADER_UNKNOWN && seen->last.offset >= 0 &&
	    seen->last.offset < part->ring.next;
	if (seen->doubts)
		kafka_part_seek(part, seen->last.offset);
	return !seen->doubts;
}

bool
kafka_doubt_takes_end(struct kafka_part *part, int64_t offset)
{
	if (!part->seen.doubts)
		return true;
	meet_last(part, offset, 0, true);
	return false;
}
