/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "base/digits.h"
#include "messages/broker/kafka/kafka_ring.h"

/*
 * The text: "LOW ANCHOR MARK OLDER ", numbers in decimal, OLDER as
 * "OFFSET.MARK,OFFSET.MARK...", with a "?" before it where what was finished
 * before those is not known, and missing where it would be empty.  What is
 * behind that is the caller's, and has no blank.
 */

/* --- older anchors --- */

/* How much wider the gap there would be, for so long ago. */
static double
cost_of(const struct kafka_anchors *older, size_t i, int64_t now)
{
	const struct kafka_anchor *at = &older->list[i];
	return (double)(at[1].offset - at[-1].offset) /
	    (double)(now - at->offset);
}

/* The first is kept, and of the others the fewer the further back. */
static void
thin_out(struct kafka_anchors *older, int64_t now)
{
	size_t least = 1;
	for (size_t i = 2; i + 1 < older->count; i++)
		if (cost_of(older, i, now) < cost_of(older, least, now))
			least = i;
	older->count--;
	memmove(&older->list[least], &older->list[least + 1],
	    (older->count - least) * sizeof *older->list);
}

void
kafka_ring_floor_note(struct kafka_anchors *older, struct kafka_anchor anchor)
{
	if (anchor.offset < 0 ||
	    (older->count > 0 &&
		older->list[older->count - 1].offset >= anchor.offset))
		return;
	if (older->count == KAFKA_ANCHORS_MAX)
		thin_out(older, anchor.offset);
	older->list[older->count++] = anchor;
}

/* What is finished with this commit comes before its anchor, too. */
static void
note_given(const struct kafka_ring *ring, struct kafka_floor *floor)
{
	for (size_t i = 0; i < ring->count; i++) {
		const struct kafka_given *given = kafka_ring_at(ring, i);
		if (given->offset >= floor->anchor.offset)
			return;
		kafka_ring_floor_note(&floor->older,
		    (struct kafka_anchor){given->offset, given->mark});
	}
}

struct kafka_floor
kafka_ring_floor(const struct kafka_ring *ring, bool putting)
{
	struct kafka_floor floor = {kafka_ring_low(ring, putting),
	    kafka_ring_anchor(ring, putting), ring->older};
	if (ring->anchor.offset < floor.anchor.offset)
		kafka_ring_floor_note(&floor.older, ring->anchor);
	note_given(ring, &floor);
	return floor;
}

/* --- as text --- */

void
kafka_ring_floor_write(
    const struct kafka_floor *floor, char ret_text[KAFKA_FLOOR_BYTES])
{
	int at = snprintf(ret_text, KAFKA_FLOOR_BYTES,
	    "%" PRId64 " %" PRId64 " %" PRIu32, floor->low,
	    floor->anchor.offset, floor->anchor.mark);
	const char *between = " ";
	if (floor->older.cut) {
		at += snprintf(
		    ret_text + at, KAFKA_FLOOR_BYTES - (size_t)at, " ?");
		between = "";
	}
	for (size_t i = 0; i < floor->older.count &&
	     floor->older.list[i].offset < floor->anchor.offset;
	     i++) {
		at += snprintf(ret_text + at, KAFKA_FLOOR_BYTES - (size_t)at,
		    "%s%" PRId64 ".%" PRIu32, between,
		    floor->older.list[i].offset, floor->older.list[i].mark);
		between = ",";
	}
}

static bool
take_decimal(struct span *text, char end, int64_t most, int64_t *ret_number)
{
	struct span piece;
	return span_next(text, end, &piece) &&
	    digits_read(piece, most, ret_number);
}

static bool
take_anchor(struct span *text, char between, char end,
    struct kafka_anchor *ret_anchor)
{
	int64_t mark;
	if (!take_decimal(text, between, INT64_MAX, &ret_anchor->offset) ||
	    !take_decimal(text, end, UINT32_MAX, &mark))
		return false;
	ret_anchor->mark = (uint32_t)mark;
	return true;
}

static bool
read_older(struct span text, struct kafka_floor *floor)
{
	floor->older.cut = span_starts(text, SPAN("?"));
	if (floor->older.cut)
		text = span_from(text, 1);
	while (text.len > 0) {
		struct kafka_anchor anchor;
		size_t count = floor->older.count;
		if (count == KAFKA_ANCHORS_MAX ||
		    !take_anchor(&text, '.', ',', &anchor) ||
		    anchor.offset >= floor->anchor.offset)
			return false;
		kafka_ring_floor_note(&floor->older, anchor);
		if (floor->older.count == count)
			return false; /* in no order */
	}
	return true;
}

bool
kafka_ring_floor_read(struct span *text, struct kafka_floor *ret_floor)
{
	struct span older;
	*ret_floor = (struct kafka_floor){.low = -1, .anchor = {-1, 0}};
	if (!take_decimal(text, ' ', INT64_MAX, &ret_floor->low) ||
	    !take_anchor(text, ' ', ' ', &ret_floor->anchor) ||
	    ret_floor->anchor.offset >= ret_floor->low)
		return false;
	if (text->len == 0 || memchr(text->ptr, ' ', text->len) == NULL)
		return true;
	return span_next(text, ' ', &older) && read_older(older, ret_floor);
}
