/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/random.h"
#include "broker/kafka/kafka_private.h"
#include "loop/log.h"

/*
 * Where a partition is read from: behind the floor where the group stands
 * before that, else where the group stands, else where the source begins.  Of
 * a floor and of a commit of ours the message at its anchor is read first: only
 * where it is the one that was there, this is the topic that was read.
 */
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

static void
log_part(const struct kafka_part *part, enum event event, int64_t offset)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", part->kafka->source->name);
	log_str(&line, "partition", part->name);
	log_int(&line, "offset", offset);
	log_end(&line);
}

/* --- where it begins --- */

/* Unlike all others, and not the first. */
static uint32_t
new_era(void)
{
	uint32_t era;
	random_bytes(&era, sizeof era);
	return era != 0 ? era : 1;
}

/* Those of the floor can only prove, so that it may be of an older topic. */
static void
keep_anchors(struct kafka_part *part)
{
	const struct kafka_floor *floor = &part->floor;
	if (floor->low < 0 || part->ring.next < floor->low)
		return;
	part->ring.older = floor->older;
	kafka_ring_floor_note(&part->ring.older, floor->anchor);
}

/* The ring begins at what is known; its ranges are the ring's. */
static void
begin_at(struct kafka_part *part, struct kafka_stand *stand)
{
	kafka_ring_clear(&part->ring);
	kafka_ring_init(&part->ring, stand);
	keep_anchors(part);
	part->ring.next_era = new_era();
	part->step = KAFKA_READING;
	part->era_untold = part->era_ends;
	if (part->era_ends)
		part->ring.era = part->ring.next_era;
	part->ring.changed = part->era_ends || part->shelved.news;
	part->era_ends = false;
	kafka_trouble_end(part->kafka, KAFKA_OF_PROOF, part->name);
}

static int64_t
begin_unknown(struct kafka_part *part, int64_t offset)
{
	struct kafka_stand nothing = {.low = -1, .anchor = {-1, 0}};
	begin_at(part, &nothing);
	return offset;
}

static int64_t
prove(struct kafka_part *part, struct kafka_anchor anchor)
{
	part->step = KAFKA_PROVING;
	part->prove = anchor;
	return anchor.offset;
}

static int64_t
try_floor(struct kafka_part *part)
{
	part->trial = KAFKA_TRY_FLOOR;
	part->untried = part->floor.older.count;
	return prove(part, part->floor.anchor);
}

/* A commit that is not ours has no anchor: it is believed. */
static int64_t
try_commit(struct kafka_part *part)
{
	struct kafka_anchor anchor = part->commit.anchor;
	int64_t low = part->commit.low;
	part->trial = KAFKA_TRY_COMMIT;
	if (anchor.offset >= 0 && anchor.offset < low)
		return prove(part, anchor);
	begin_at(part, &part->commit);
	return low;
}

static int64_t
try_start(struct kafka_part *part, bool latest)
{
	part->trial = KAFKA_TRY_START;
	return begin_unknown(
	    part, latest ? RD_KAFKA_OFFSET_END : RD_KAFKA_OFFSET_BEGINNING);
}

/*
 * Nothing of ours is committed: the group was set by somebody else, was deleted
 * or has forgotten it, or is another one.  What was put before is not known.
 */
static bool
is_without_era(const struct kafka_part *part)
{
	return part->commit.foreign || part->commit.low < 0;
}

int64_t
kafka_part_begin(struct kafka_part *part)
{
	bool is_below = part->floor.low > part->commit.low &&
	    part->floor.anchor.offset >= 0;
	/* Whoever sets a group forgets what is finished above the floor. */
	part->era_ends = is_below || is_without_era(part);
	if (is_below && part->lowered) {
		part->lower_floor = true;
	} else if (is_below) {
		return try_floor(part);
	}
	if (part->commit.low >= 0)
		return try_commit(part);
	/* Of what has a floor, all is read that an operator has come again. */
	bool is_new = part->group_is_new && part->floor.low < 0;
	return try_start(part, is_new && part->kafka->source->start_latest);
}

/* --- the proof --- */

static void
seek(struct kafka_part *part, int64_t offset)
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
	else if (part->ring.next >= 0)
		offset = part->ring.next;
	seek(part, offset);
}

/* What was kept is not of this topic: the next thing that is known. */
static void
disproved(struct kafka_part *part)
{
	bool was_floor = part->trial == KAFKA_TRY_FLOOR;
	log_part(part, EV_source_topic_again, part->prove.offset);
	part->lower_floor = true;
	part->floor.low = -1;
	part->era_ends = was_floor && is_without_era(part);
	if (was_floor && part->commit.low >= 0)
		seek(part, try_commit(part));
	else
		seek(part, try_start(part, false));
	part->ring.changed = true;
}

static void
tell_rewound(const struct kafka_part *part)
{
	const struct broker_events *events = &part->kafka->events;
	int64_t from = part->commit.low, to;
	int64_t start;
	kafka_part_ends(part, &start, &to);
	if (from < start)
		from = start;
	if (from < 0 || from >= part->floor.low)
		return;
	log_part(part, EV_source_rewound, from);
	if (events->rewound != NULL)
		events->rewound(
		    events->arg, (uint64_t)(part->floor.low - from));
}

static bool
is_older(const struct kafka_part *part)
{
	return part->trial == KAFKA_TRY_FLOOR &&
	    part->prove.offset != part->floor.anchor.offset;
}

static void
proven(struct kafka_part *part)
{
	struct kafka_stand stand = {
	    .low = part->floor.low, .anchor = part->floor.anchor};
	if (part->trial == KAFKA_TRY_COMMIT) {
		begin_at(part, &part->commit);
		return;
	}
	tell_rewound(part);
	begin_at(part, &stand);
	part->ring.changed = true;
	if (is_older(part))
		seek(part, part->floor.low);
}

/*
 * Compacted, or another topic, which has no message there.  To read on would
 * leave out what was never executed, to begin anew would execute again what has
 * no record any more.
 */
static void
stand_still(struct kafka_part *part)
{
	char words[KAFKA_WORDS_BYTES];
	snprintf(words, sizeof words,
	    "nothing tells whether the topic was made again, or is finished "
	    "below %" PRId64 " as it was: \"messages rewind\" it, or set the "
	    "group to that (%s)",
	    part->floor.low, part->name);
	part->step = KAFKA_UNPROVEN;
	part->odd_ms = loop_now_ms(part->kafka->loop);
	kafka_trouble_begin(
	    part->kafka, KAFKA_OF_PROOF, part->name, words);
}

/* The next one before that; what the log begins behind says nothing. */
static void
try_older(struct kafka_part *part)
{
	int64_t start, to;
	kafka_part_ends(part, &start, &to);
	const struct kafka_anchor *older = part->floor.older.list;
	if (part->untried == 0 || older[part->untried - 1].offset < start)
		stand_still(part);
	else
		seek(part, prove(part, older[--part->untried]));
}

/* The log has the anchor's offset behind it, and no message there. */
static bool
proves_without(struct kafka_part *part, int64_t offset, bool end)
{
	int64_t start, to;
	kafka_part_ends(part, &start, &to);
	if (start > part->prove.offset) {
		/* It was trimmed: no log that begins so late is a new one. */
		proven(part);
		return true;
	}
	bool gone = end ||
	    offset >= (part->trial == KAFKA_TRY_FLOOR ? part->floor.low
						      : part->commit.low);
	if (part->trial == KAFKA_TRY_FLOOR && gone) {
		try_older(part);
		return false;
	}
	/* A broker forgets commits with a topic; above it, none is sure. */
	if (part->trial == KAFKA_TRY_COMMIT && gone) {
		part->era_ends |= part->commit.n_ranges > 0;
		kafka_ring_forget(&part->commit);
		part->commit.anchor.offset = -1;
		begin_at(part, &part->commit);
		return true;
	}
	disproved(part);
	return false;
}

bool
kafka_part_proves(
    struct kafka_part *part, int64_t offset, uint32_t mark, bool end)
{
	bool is = offset == part->prove.offset && !end &&
	    mark == part->prove.mark;
	if (!is && !is_older(part) && offset > part->prove.offset)
		return proves_without(part, offset, end);
	if (is)
		proven(part);
	else if (is_older(part))
		try_older(part);
	else
		disproved(part);
	return false;
}

/* Somebody set the group behind the end, which says nothing of the log. */
static bool
tries_floor(struct kafka_part *part)
{
	if (part->trial != KAFKA_TRY_COMMIT || !part->ring.kept.foreign ||
	    part->ring.count > 0 || part->lowered || part->floor.low < 0)
		return false;
	part->era_ends = true;
	seek(part, try_floor(part));
	return true;
}

bool
kafka_part_anew(struct kafka_part *part)
{
	struct kafka *kafka = part->kafka;
	if (tries_floor(part))
		return false;
	log_part(part, EV_source_topic_again, part->ring.next);
	kafka->events.recalled(kafka->events.arg, (void *)part->serial);
	part->serial = ++kafka->serials;
	part->lower_floor = true;
	part->era_ends = false;
	begin_unknown(part, -1);
	return true;
}

/* --- its era --- */

void
kafka_part_end_era(struct kafka_part *part)
{
	part->ring.era = part->ring.next_era;
	part->ring.next_era = new_era();
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
	size_t len = text.len;
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
	part->lowered = lowered;
	read_floor(part, text);
	if (part->step != KAFKA_UNPROVEN || kafka->revoking || kafka->remake)
		return;
	part->odd_ms = 0;
	seek(part, kafka_part_begin(part));
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
