/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/loop/log.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * Partitions that stand still: librdkafka may stop to read one for ever, and
 * say nothing.  In all versions it leaves one at a broker that does not lead it
 * where the leader moves there and back before the thread of the first broker
 * has given it up; what it shows of that partition then, its statistics and the
 * end of its log too, is what it was when it was last read.
 *
 * So the leader is asked for the end of each partition of which nothing has
 * come for a while.  One of which nothing comes although it has more, that is
 * asked for, and the leader answers, again and again, is not read any more, for
 * whatever reason: only another consumer is sure to read it.  A leader that is
 * away, or slow, does not answer either; so it is never blamed.
 *
 * Where that was of no use, it is tried again after twice the time.
 */
enum {
	LOOK_MS = 10000,
	ROUNDS_FIRST = 2, /* answers; the first may be too early */
	ROUNDS_MOST = 32,
	CALM_MS = 600000, /* more than those and the time to read on */
};

void
kafka_still_init(struct kafka *kafka)
{
	kafka->still.rounds = ROUNDS_FIRST;
	kafka_still_clear(kafka);
}

/* --- the question --- */

/* Of what came since the last look, nothing has to be asked. */
static bool
is_silent(struct kafka_part *part)
{
	bool is = !part->heard;
	part->heard = false;
	if (is)
		return true;
	part->still = 0;
	part->end = -1;
	return false;
}

static rd_kafka_topic_partition_list_t *
list_silent(const struct kafka *kafka)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(16);
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		if (is_silent(part))
			rd_kafka_topic_partition_list_add(
			    list, part->topic, part->number)
			    ->offset = RD_KAFKA_OFFSET_END;
	if (list->cnt > 0)
		return list;
	rd_kafka_topic_partition_list_destroy(list);
	return NULL;
}

void
kafka_still_look(struct kafka *kafka)
{
	struct kafka_still *still = &kafka->still;
	int64_t now = loop_now_ms(kafka->loop);
	if (!kafka->up || !kafka->assigned || kafka->revoking ||
	    still->asking || now < still->look_ms)
		return;
	still->look_ms = now + LOOK_MS;
	rd_kafka_topic_partition_list_t *list = list_silent(kafka);
	if (list == NULL)
		return;
	still->asking = true;
	still->asked_for = kafka->serials;
	/* A topic that was made again may have as many as the old one. */
	kafka_group_ping(kafka);
	kafka_ask_ends_begin(kafka->ask, list);
}

/* --- the answer --- */

/* Something is to come of it that was asked for, and is not there. */
static bool
is_owed(const struct kafka_part *part)
{
	const struct kafka *kafka = part->kafka;
	if (part->end < 0 || part->heard || kafka->credit == 0 ||
	    part->odd_ms != 0 || kafka_ring_is_full(&part->ring) ||
	    kafka_trouble_is(kafka, KAFKA_OF_READ, part->topic) ||
	    rd_kafka_queue_length(part->queue) > 0)
		return false;
	if (part->step == KAFKA_PROVING)
		return true;
	return part->step == KAFKA_READING && !kafka_part_waits(part) &&
	    part->ring.next < part->end;
}

static void
log_still(const struct kafka_part *part)
{
	const struct kafka *kafka = part->kafka;
	struct logline line = log_begin(EV_source_opened_again);
	log_str(&line, "source", kafka->source->name);
	log_str(&line, "broker", kafka->source->broker->name);
	log_str(&line, "partition", part->name);
	if (part->ring.next >= 0)
		log_int(&line, "offset", part->ring.next);
	log_int(&line, "end", part->end);
	log_end(&line);
}

static void
learn_end(struct kafka_part *part, const rd_kafka_topic_partition_list_t *list)
{
	struct kafka_still *still = &part->kafka->still;
	const rd_kafka_topic_partition_t *at =
	    rd_kafka_topic_partition_list_find(list, part->topic, part->number);
	/* Nobody was asked, or has told: that neither blames nor excuses. */
	if (at == NULL || at->offset < 0)
		return;
	part->end = at->offset;
	part->still = is_owed(part) ? part->still + 1 : 0;
	if (part->still < still->rounds)
		return;
	log_still(part);
	still->due = true;
}

void
kafka_still_answered(void *arg, rd_kafka_topic_partition_list_t *list)
{
	struct kafka *kafka = arg;
	struct kafka_still *still = &kafka->still;
	bool of_these = still->asked_for == kafka->serials;
	still->asking = false;
	if (!of_these || !kafka->assigned || kafka->revoking || still->due ||
	    kafka->leaving)
		return;
	if (loop_now_ms(kafka->loop) - still->mended_ms > CALM_MS)
		still->rounds = ROUNDS_FIRST;
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		learn_end(part, list);
	kafka_kick(kafka);
}

/* --- the cure --- */

/* What is being committed in a transaction is not made undone. */
void
kafka_still_go_on(struct kafka *kafka)
{
	struct kafka_still *still = &kafka->still;
	if (!still->due || kafka->batch != NULL)
		return;
	still->mended_ms = loop_now_ms(kafka->loop);
	still->rounds *= 2;
	if (still->rounds > ROUNDS_MOST)
		still->rounds = ROUNDS_MOST;
	kafka->wait_s = KAFKA_REMAKE_FIRST_S;
	kafka->remake = true;
}

void
kafka_still_clear(struct kafka *kafka)
{
	struct kafka_still *still = &kafka->still;
	still->due = still->asking = false;
	still->look_ms = loop_now_ms(kafka->loop) + LOOK_MS;
}
