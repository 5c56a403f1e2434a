/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "messages/broker/kafka/kafka_private.h"

/* A partition: what is fetched of it, its era, and its floor as text. */

/* --- its life --- */

struct kafka_part *
kafka_part_new(struct kafka *kafka, const char *topic, int32_t number)
{
	static const uint64_t one = 1;
	rd_kafka_queue_t *queue =
	    rd_kafka_queue_get_partition(kafka->consumer, topic, number);
	if (queue == NULL)
		return NULL;
	struct kafka_part *part = mem_zero(sizeof *part);
	part->kafka = kafka;
	part->topic = mem_text(topic);
	part->number = number;
	part->name = mem_printf("%s/%" PRId32, topic, number);
	part->shelved.name = mem_printf("%s letters", part->name);
	part->serial = ++kafka->serials;
	part->floor.low = part->commit.low = -1;
	part->floor.anchor.offset = part->commit.anchor.offset = -1;
	part->ring.next = part->end = -1;
	part->seen.leader = KAFKA_LEADER_UNKNOWN;
	part->seen.last.offset = -1;
	part->queue = queue;
	rd_kafka_queue_forward(part->queue, NULL);
	rd_kafka_queue_io_event_enable(
	    part->queue, kafka->fd, &one, sizeof one);
	return part;
}

void
kafka_part_free(struct kafka_part **part)
{
	struct kafka_part *p = *part;
	*part = NULL;
	rd_kafka_queue_io_event_enable(p->queue, -1, NULL, 0);
	rd_kafka_queue_destroy(p->queue);
	kafka_ring_clear(&p->ring);
	kafka_letters_floor_forget(p);
	kafka_ring_forget(&p->commit);
	free(p->topic);
	free(p->name);
	free(p);
}

void
kafka_part_ends(
    const struct kafka_part *part, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = *ret_to = -1;
	rd_kafka_get_watermark_offsets(part->kafka->consumer, part->topic,
	    part->number, ret_from, ret_to);
}

/* --- what is fetched --- */

void
kafka_part_seek(struct kafka_part *part, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(
	    list, part->topic, part->number);
	at->offset = offset;
	/*
	 * It is not waited for: what was read before is outdated at once, and
	 * a partition that is no longer fetched is about to be taken away.
	 */
	rd_kafka_error_t *error =
	    rd_kafka_seek_partitions(part->kafka->consumer, list, 0);
	if (error != NULL || at->err != RD_KAFKA_RESP_ERR__IN_PROGRESS)
		kafka_remake(part->kafka, "a position could not be set");
	if (error != NULL)
		rd_kafka_error_destroy(error);
	rd_kafka_topic_partition_list_destroy(list);
}

void
kafka_part_fetch_again(struct kafka_part *part, int64_t offset)
{
	if (part->step == KAFKA_PROVING)
		offset = part->prove.offset;
	else if (part->seen.doubts)
		offset = part->seen.last.offset;
	else if (part->ring.next >= 0)
		offset = part->ring.next;
	kafka_part_seek(part, offset);
}

/* --- what is told of it --- */

void
kafka_part_log(const struct kafka_part *part, enum event event, int64_t offset)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", part->kafka->source->name);
	log_str(&line, "partition", part->name);
	log_int(&line, "offset", offset);
	log_end(&line);
}

/* Whoever set the group left out what was not finished there. */
void
kafka_part_tell_ahead(const struct kafka_part *part)
{
	int64_t from = part->floor.low, to = part->commit.low;
	if (!part->commit.foreign || from < 0 || to <= from)
		return;
	struct logline line = log_begin(EV_source_set_ahead);
	log_str(&line, "source", part->kafka->source->name);
	log_str(&line, "partition", part->name);
	log_int(&line, "offset", from);
	log_int(&line, "to", to);
	log_end(&line);
}

void
kafka_part_tell_rewound(const struct kafka_part *part)
{
	const struct broker_events *events = &part->kafka->events;
	int64_t from = part->commit.low, to;
	int64_t start;
	kafka_part_ends(part, &start, &to);
	if (from < start)
		from = start;
	if (from < 0 || from >= part->floor.low)
		return;
	kafka_part_log(part, EV_source_rewound, from);
	if (events->rewound != NULL)
		events->rewound(
		    events->arg, (uint64_t)(part->floor.low - from));
}

/* --- its era --- */

/* Unlike all others, and not the first. */
uint32_t
kafka_part_new_era(void)
{
	uint32_t era;
	random_bytes(&era, sizeof era);
	return era != 0 ? era : 1;
}

void
kafka_part_end_era(struct kafka_part *part)
{
	part->ring.era = part->ring.next_era;
	part->ring.next_era = kafka_part_new_era();
	part->ring.changed = part->kafka->tells = true;
	part->era_untold = true;
	part->left = false;
}

/* Where it begins is not known before something has come. */
bool
kafka_part_waits(const struct kafka_part *part)
{
	return part->era_untold && part->ring.next >= 0;
}

bool
kafka_part_leaves(struct kafka_part *part, int64_t offset)
{
	if (!part->era_untold)
		return false;
	if (!part->left)
		kafka_ring_reach(&part->ring, offset);
	part->left = true;
	return true;
}

void
kafka_part_era_told(struct kafka_part *part)
{
	part->era_untold = false;
	if (part->left)
		kafka_part_fetch_again(part, -1);
	part->left = false;
}

/* --- the floor: its text, and the cluster --- */

/* Of another cluster it says nothing of this one. */
bool
kafka_part_is_of_cluster(const struct kafka_part *part, struct span name)
{
	rd_kafka_t *consumer = part->kafka->consumer;
	char *cluster = rd_kafka_clusterid(consumer, 0);
	bool is = cluster != NULL && span_eq(name, span_str(cluster));
	rd_kafka_mem_free(consumer, cluster);
	return is;
}

bool
kafka_part_keep(struct kafka_part *part, const char *name, const char *text,
    bool lower)
{
	const struct broker_events *events = &part->kafka->events;
	rd_kafka_t *consumer = part->kafka->consumer;
	char *cluster = rd_kafka_clusterid(consumer, 0);
	bool keeps = cluster != NULL && events->floor != NULL &&
	    !part->kafka->leaving;
	if (keeps) {
		char *all = mem_printf("%s %s", text, cluster);
		events->floor(events->arg, name, span_str(all), lower);
		free(all);
	}
	rd_kafka_mem_free(consumer, cluster);
	return keeps;
}

/* By that name it can be rewound; what is there says nothing more. */
static void
keep_standing(struct kafka_part *part)
{
	kafka_part_keep(part, part->name, "0", false);
}

void
kafka_part_stand(struct kafka_part *part, const char *why, int64_t low)
{
	char words[KAFKA_WORDS_BYTES], finished[64] = "";
	if (low >= 0)
		snprintf(finished, sizeof finished,
		    ", which was finished below %" PRId64, low);
	snprintf(words, sizeof words, "%s (%s%s)", why, part->name, finished);
	part->step = KAFKA_UNPROVEN;
	part->odd_ms = loop_now_ms(part->kafka->loop);
	kafka_trouble_begin(
	    part->kafka, KAFKA_OF_PROOF, part->name, words);
	if (part->blind)
		keep_standing(part);
}

int64_t
kafka_part_stand_on(struct kafka_part *part)
{
	part->blind = true;
	kafka_part_stand(part, "it stood before, nobody has said where it is "
	    "to be read from, and the group has forgotten where it was: set "
	    "the group, or \"messages rewind\" it, which executes again what "
	    "has no record", -1);
	return RD_KAFKA_OFFSET_BEGINNING;
}

void
kafka_part_ask_again(struct kafka_part *part)
{
	struct kafka *kafka = part->kafka;
	part->odd_ms = loop_now_ms(kafka->loop);
	part->has_floor = false;
	kafka->events.floor_wanted(kafka->events.arg, part->name);
}

static void
read_floor(struct kafka_part *part, struct span text)
{
	static const struct span standing = {"0 ", 2};
	size_t len = text.len;
	part->stood = span_starts(text, standing) &&
	    kafka_part_is_of_cluster(part, span_from(text, standing.len));
	if (kafka_ring_floor_read(&text, &part->floor) &&
	    kafka_part_is_of_cluster(part, text))
		return;
	/* It is not to be in the way of what is kept next. */
	part->lower_floor = len > 0;
	part->floor.low = -1;
}

void
kafka_part_set_floor(struct kafka_part *part, struct span text, bool lowered)
{
	const struct kafka *kafka = part->kafka;
	part->has_floor = true;
	if (part->step == KAFKA_UNPROVEN && !lowered) {
		/* A Redis that forgets meanwhile has decided nothing. */
		if (text.len == 0)
			keep_standing(part);
		return;
	}
	part->lowered = lowered;
	read_floor(part, text);
	if (part->step != KAFKA_UNPROVEN || kafka->revoking || kafka->remake)
		return;
	part->odd_ms = 0;
	/* A source that stands has nothing read, not even what would prove. */
	kafka_trouble_end(part->kafka, KAFKA_OF_PROOF, part->name);
	kafka_part_seek(part, kafka_proof_begin(part));
}

void
kafka_part_tell_floor(struct kafka_part *part, const struct kafka_floor *floor)
{
	if (floor->anchor.offset < 0)
		return;
	char text[KAFKA_FLOOR_BYTES];
	kafka_ring_floor_write(floor, text);
	if (kafka_part_keep(part, part->name, text, part->lower_floor))
		part->lower_floor = false;
}
