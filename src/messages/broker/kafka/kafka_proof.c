/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "base/loop/log.h"
#include "messages/broker/kafka/kafka_private.h"

enum {
	/* Offsets before the end of a log that tell which log it is. */
	LATEST_TAIL = 100,
};

/*
 * Where a partition is read from: behind the floor where the group stands
 * before that, else where the group stands, else where the source begins.  Of
 * a floor and of a commit of ours the message at its anchor is read first, or
 * the last that is finished above: only where it is the one that was there,
 * this is the log that was read.  Where it is not, older anchors say more, the
 * newest first, until one is met again:
 *
 *     there      before
 *     nothing    one is met                compacted: all holds
 *     another    one is met                the log has lost its end: what is
 *     nothing    one is met, behind it     behind that one comes again
 *                another one stands
 *     another    none is met               the topic was made again
 *     nothing    none is met, another one  nobody knows, and it stands still
 *                stands there
 *     nothing    nothing                   of a commit all holds, as brokers
 *                                          forget it with its topic; without
 *                                          a floor, or of one, nobody knows
 *
 * Where anchors are missing, as all but those of the commit are if Redis has
 * forgotten its floor, another one may stand there because the log has lost its
 * end as well as because the topic was made again: nobody knows, then, unless
 * the log has nothing before them.
 */

/* --- where it begins --- */

/* Those of the floor can only prove, so that it may be of an older topic. */
static void
keep_anchors(struct kafka_part *part)
{
	const struct kafka_floor *floor = &part->floor;
	struct kafka_anchors *older = &part->ring.older;
	older->cut = part->ring.next > 0;
	if (floor->low < 0 || part->ring.next < floor->low)
		return;
	*older = floor->older;
	kafka_ring_floor_note(older, floor->anchor);
}

/* The ring begins at what is known; its ranges are the ring's. */
static void
begin_at(struct kafka_part *part, struct kafka_stand *stand)
{
	kafka_ring_clear(&part->ring);
	kafka_ring_init(&part->ring, stand);
	keep_anchors(part);
	part->ring.next_era = kafka_part_new_era();
	part->ring.tells_top = true;
	part->step = KAFKA_READING;
	part->seen.last = stand->anchor;
	part->seen.doubts = false;
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
	struct kafka_stand nothing = {
	    .low = -1, .anchor = {-1, 0}, .top = {-1, 0}};
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

/* Beginning with that one, of what stands where it is told. */
static int64_t
prove_newest(struct kafka_part *part, struct kafka_anchor anchor)
{
	part->newest = anchor;
	part->other = part->other_before = part->blind = false;
	return prove(part, anchor);
}

static int64_t
try_floor(struct kafka_part *part)
{
	part->trial = KAFKA_TRY_FLOOR;
	part->tries = part->floor.older;
	return prove_newest(part, part->floor.anchor);
}

/* Above low, some are finished, and the last of them is known. */
static bool
has_top(const struct kafka_part *part)
{
	return part->commit.n_ranges > 0 &&
	    part->commit.top.offset >= part->commit.low;
}

static bool
has_anchor_below(const struct kafka_part *part)
{
	return part->commit.anchor.offset >= 0 &&
	    part->commit.anchor.offset < part->commit.low;
}

/* Of what an operator has had read again, the floor is not asked for more. */
static void
take_tries(struct kafka_part *part)
{
	struct kafka_anchors *tries = &part->tries;
	int64_t end = has_anchor_below(part) ? part->commit.anchor.offset
					     : part->commit.low;
	*tries = (struct kafka_anchors){0};
	if (!part->lowered && part->floor.low >= 0) {
		*tries = part->floor.older;
		kafka_ring_floor_note(tries, part->floor.anchor);
	}
	while (tries->count > 0 &&
	    tries->list[tries->count - 1].offset >= end)
		tries->count--;
	if (has_top(part) && has_anchor_below(part))
		kafka_ring_floor_note(tries, part->commit.anchor);
}

/* A commit that is not ours has no anchor: it is believed. */
static int64_t
try_commit(struct kafka_part *part)
{
	int64_t low = part->commit.low;
	part->trial = KAFKA_TRY_COMMIT;
	if (!has_top(part) && !has_anchor_below(part)) {
		begin_at(part, &part->commit);
		return low;
	}
	take_tries(part);
	int64_t offset = prove_newest(
	    part, has_top(part) ? part->commit.top : part->commit.anchor);
	part->blind = part->floor.low < 0 && !part->lowered;
	return offset;
}

static int64_t
try_start(struct kafka_part *part)
{
	part->trial = KAFKA_TRY_START;
	return begin_unknown(part, RD_KAFKA_OFFSET_BEGINNING);
}

/*
 * Nothing was read that would tell this log from another one, or that it has
 * lost its end since: so the last messages that stand there are its anchors.
 */
static int64_t
try_latest(struct kafka_part *part)
{
	part->trial = KAFKA_TRY_LATEST;
	part->tries = (struct kafka_anchors){0};
	part->latest = -1;
	part->newest.offset = -1;
	return prove(part,
	    (struct kafka_anchor){RD_KAFKA_OFFSET_TAIL(LATEST_TAIL), 0});
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
kafka_proof_begin(struct kafka_part *part)
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
	kafka_part_tell_ahead(part);
	if (part->commit.low >= 0)
		return try_commit(part);
	if (part->stood && !part->lowered)
		return kafka_part_stand_on(part);
	/* Of what has a floor, all is read that an operator has come again. */
	bool is_new = part->group_is_new && part->floor.low < 0;
	return is_new && part->kafka->source->start_latest ? try_latest(part)
							   : try_start(part);
}

/* --- the end of a proof --- */

/* What was kept is not of this topic: the next thing that is known. */
static void
disproved(struct kafka_part *part)
{
	bool was_floor = part->trial == KAFKA_TRY_FLOOR;
	kafka_part_log(part, EV_source_topic_again, part->newest.offset);
	part->lower_floor = true;
	part->floor.low = -1;
	part->era_ends = was_floor && is_without_era(part);
	if (was_floor && part->commit.low >= 0)
		kafka_part_seek(part, try_commit(part));
	else
		kafka_part_seek(part, try_start(part));
	part->ring.changed = true;
}

static bool
is_older(const struct kafka_part *part)
{
	return part->prove.offset < part->newest.offset;
}

/* What is behind the one that was met is not what was read there. */
static void
read_on_behind(struct kafka_part *part)
{
	struct kafka_stand stand = {.low = part->prove.offset + 1,
	    .anchor = part->prove,
	    .top = {-1, 0}};
	kafka_part_log(part, EV_source_end_lost, stand.low);
	part->lower_floor = true;
	part->floor.low = -1;
	part->era_ends = true;
	begin_at(part, &stand);
	part->ring.older = part->tries;
	part->ring.changed = true;
	kafka_part_seek(part, part->ring.next);
}

/* What is finished above low holds where the last of that is met. */
static void
begin_at_commit(struct kafka_part *part)
{
	struct kafka_stand *commit = &part->commit;
	if (has_top(part) && is_older(part)) {
		part->era_ends = true;
		kafka_ring_forget(commit);
	}
	commit->sure |= has_top(part);
	begin_at(part, commit);
}

static int64_t
low_of(const struct kafka_part *part)
{
	return part->trial == KAFKA_TRY_FLOOR ? part->floor.low
					      : part->commit.low;
}

/*
 * To read on would leave out what was never executed, to begin anew would
 * execute again what has no record any more.
 */
static void
stand_still(struct kafka_part *part)
{
	const char *words;
	if (part->other)
		words = "another message stands where one was read, and "
			"nothing tells whether the log has lost its end or "
			"the topic was made again: set the group to where it "
			"is to be read from, or \"messages rewind\" it, which "
			"executes again what has no record";
	else if (part->blind || part->trial == KAFKA_TRY_FLOOR)
		words = "nothing tells whether the topic was made again, or "
			"the log has lost its end: set the group to where it "
			"was finished, or \"messages rewind\" it, which "
			"executes again what has no record";
	else
		words = "other messages stand where some were read, and none "
			"where the group stands: set it to where it is to be "
			"read from, or \"messages rewind\" it to read on there";
	kafka_part_stand(part, words, low_of(part));
}

/* here: what has come is to be looked at, so that nothing is fetched anew. */
static void
proven(struct kafka_part *part, bool here)
{
	struct kafka_stand stand = {.low = part->floor.low,
	    .anchor = part->floor.anchor,
	    .top = {-1, 0}};
	bool is_cut = part->other || part->other_before;
	if (is_cut && part->blind)
		stand_still(part);
	else if (is_cut)
		read_on_behind(part);
	if (is_cut)
		return;
	bool seeks = is_older(part) ||
	    (part->trial == KAFKA_TRY_COMMIT && has_top(part));
	if (part->trial == KAFKA_TRY_COMMIT) {
		begin_at_commit(part);
	} else {
		kafka_part_tell_rewound(part);
		begin_at(part, &stand);
		part->ring.changed = true;
	}
	if (seeks && !here)
		kafka_part_seek(part, part->ring.next);
}

/* Of what is finished above it, its anchor is to be met. */
static void
believe_commit(struct kafka_part *part)
{
	part->era_ends |= part->commit.n_ranges > 0;
	kafka_ring_forget(&part->commit);
	part->commit.anchor.offset = -1;
	begin_at(part, &part->commit);
	kafka_part_seek(part, part->ring.next);
}

/* --- the proof --- */

/* Whether something was finished before all that was looked at. */
static bool
is_open(const struct kafka_part *part)
{
	int64_t start, to;
	kafka_part_ends(part, &start, &to);
	bool is_first = part->tries.count > 0 || part->prove.offset <= start ||
	    (to >= 0 && to <= start);
	return (part->blind || part->tries.cut) && !is_first;
}

static void
none_is_met(struct kafka_part *part)
{
	if (part->other && !is_open(part))
		disproved(part);
	else if (part->other || part->blind || part->trial == KAFKA_TRY_FLOOR ||
	    (part->other_before && !part->lowered))
		stand_still(part);
	else
		believe_commit(part);
}

/*
 * The next one before that.  What the log begins behind says nothing; what it
 * ends before is gone.
 */
static void
try_older(struct kafka_part *part)
{
	struct kafka_anchors *tries = &part->tries;
	int64_t start, to;
	kafka_part_ends(part, &start, &to);
	while (tries->count > 0 && to >= 0 &&
	    tries->list[tries->count - 1].offset >= to) {
		part->other_before = true;
		tries->count--;
	}
	if (tries->count > 0 && tries->list[tries->count - 1].offset >= start)
		kafka_part_seek(
		    part, prove(part, tries->list[--tries->count]));
	else
		none_is_met(part);
}

/* Another message stands there, or the log ends before it. */
static void
another_is_met(struct kafka_part *part)
{
	if (is_older(part))
		part->other_before = true;
	else
		part->other = true;
	try_older(part);
}

/* The log goes on behind it, and has no message there. */
static bool
nothing_is_met(struct kafka_part *part, int64_t offset, bool end)
{
	int64_t start, to;
	kafka_part_ends(part, &start, &to);
	if (start > part->newest.offset) {
		/* It was trimmed: no log that begins so late is a new one. */
		proven(part, true);
		return true;
	}
	/* It was the last one below: no other one stands between. */
	if (is_older(part) || end || offset >= low_of(part))
		try_older(part);
	else
		another_is_met(part);
	return false;
}

/* True: it is the first that is not there yet when the source begins. */
static bool
latest_meets(
    struct kafka_part *part, int64_t offset, uint32_t mark, bool end)
{
	int64_t start;
	if (part->latest < 0)
		kafka_part_ends(part, &start, &part->latest);
	bool begins = end || offset >= part->latest;
	if (begins) {
		struct kafka_stand stand = {
		    .low = offset, .anchor = part->newest, .top = {-1, 0}};
		begin_at(part, &stand);
		part->ring.older = part->tries;
		return true;
	}
	kafka_ring_floor_note(&part->tries, part->newest);
	part->newest = (struct kafka_anchor){offset, mark};
	return false;
}

bool
kafka_proof_meets(
    struct kafka_part *part, int64_t offset, uint32_t mark, bool end)
{
	const struct kafka_anchor *anchor = &part->prove;
	if (part->trial == KAFKA_TRY_LATEST)
		return latest_meets(part, offset, mark, end);
	if (offset > anchor->offset)
		return nothing_is_met(part, offset, end);
	if (offset == anchor->offset && !end && mark == anchor->mark)
		proven(part, false);
	else
		another_is_met(part);
	return false;
}

/* --- while it is read --- */

/* Somebody set the group behind the end, which says nothing of the log. */
static bool
tries_floor(struct kafka_part *part)
{
	if (part->trial != KAFKA_TRY_COMMIT || !part->ring.kept.foreign ||
	    part->ring.count > 0 || part->lowered || part->floor.low < 0)
		return false;
	part->era_ends = true;
	kafka_part_seek(part, try_floor(part));
	return true;
}

/* What was read of it may be there, up to somewhere. */
static bool
tries_read(struct kafka_part *part)
{
	struct kafka_ring *ring = &part->ring;
	part->trial = KAFKA_TRY_COMMIT;
	part->tries = ring->older;
	kafka_ring_floor_note(&part->tries, ring->anchor);
	if (part->tries.count == 0)
		return false;
	prove_newest(part, (struct kafka_anchor){ring->next, 0});
	kafka_ring_clear(ring);
	part->other = true;
	try_older(part);
	return true;
}

bool
kafka_proof_anew(struct kafka_part *part)
{
	struct kafka *kafka = part->kafka;
	if (tries_floor(part))
		return false;
	kafka->events.recalled(kafka->events.arg, (void *)part->serial);
	part->serial = ++kafka->serials;
	part->era_ends = false;
	if (tries_read(part))
		return false;
	kafka_part_log(part, EV_source_topic_again, part->ring.next);
	part->lower_floor = true;
	begin_unknown(part, -1);
	return true;
}
