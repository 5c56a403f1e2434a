/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "messages/broker/kafka/kafka_ring.h"

enum {
	FIRST_SIZE = 64,
	RANGE_BYTES = 9, /* that one takes of the metadata, or less */
	MARKED_BYTES = 512, /* at most so many of a value make its mark */
};

/* --- marks: FNV-1a --- */

static uint32_t
mix(uint32_t hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * 16777619u;
	return hash;
}

static uint32_t
mix_span(uint32_t hash, struct span s)
{
	uint64_t len = s.len;
	size_t some = s.len < MARKED_BYTES ? s.len : MARKED_BYTES;
	return mix(mix(hash, &len, sizeof len), s.ptr, some);
}

uint32_t
kafka_ring_mark(int64_t time_ms, struct span key, struct span value)
{
	uint32_t hash = mix(2166136261u, &time_ms, sizeof time_ms);
	return mix_span(mix_span(hash, key), value);
}

uint32_t
kafka_ring_mark_header(uint32_t mark, struct span name, struct span value)
{
	return mix_span(mix_span(mark, name), value);
}

/* --- the list --- */

void
kafka_ring_init(struct kafka_ring *ring, struct kafka_stand *stand)
{
	*ring = (struct kafka_ring){.size = FIRST_SIZE,
	    .next = stand->low,
	    .era = stand->era,
	    .anchor = {-1, 0},
	    .kept = *stand};
	if (stand->anchor.offset < stand->low)
		ring->anchor = stand->anchor;
	ring->list = mem_zero(FIRST_SIZE * sizeof *ring->list);
	*stand = (struct kafka_stand){
	    .low = -1, .anchor = {-1, 0}, .top = {-1, 0}};
}

void
kafka_ring_clear(struct kafka_ring *ring)
{
	free(ring->list);
	kafka_ring_forget(&ring->kept);
	*ring = (struct kafka_ring){.next = -1, .anchor = {-1, 0}};
}

struct kafka_given *
kafka_ring_at(const struct kafka_ring *ring, size_t i)
{
	return &ring->list[(ring->first + i) & (ring->size - 1)];
}

static void
grow_ring(struct kafka_ring *ring)
{
	struct kafka_given *list =
	    mem_zero(2 * ring->size * sizeof *ring->list);
	for (size_t i = 0; i < ring->count; i++)
		list[i] = *kafka_ring_at(ring, i);
	free(ring->list);
	ring->list = list;
	ring->first = 0;
	ring->size *= 2;
}

/* What is finished from the front on is below the low-water mark. */
static void
advance(struct kafka_ring *ring)
{
	const struct kafka_given *first = kafka_ring_at(ring, 0);
	while (ring->count > 0 && first->state == KAFKA_FINISHED) {
		kafka_ring_floor_note(&ring->older, ring->anchor);
		ring->anchor =
		    (struct kafka_anchor){first->offset, first->mark};
		ring->first = (ring->first + 1) & (ring->size - 1);
		ring->count--;
		ring->n_finished--;
		first = kafka_ring_at(ring, 0);
	}
}

bool
kafka_ring_doubts(struct kafka_ring *ring, int64_t offset, uint32_t mark)
{
	struct kafka_stand *kept = &ring->kept;
	bool due = !kept->sure && kept->anchor.offset >= kept->low &&
	    offset >= kept->anchor.offset;
	if (!due || kept->n_ranges == 0)
		return false;
	bool other =
	    offset != kept->anchor.offset || mark != kept->anchor.mark;
	if (other)
		kafka_ring_forget(kept);
	kept->anchor.offset = -1;
	return other;
}

/* Whether one of the ranges has it; those before it are done with. */
static bool
was_finished(struct kafka_ring *ring, int64_t offset)
{
	struct kafka_stand *kept = &ring->kept;
	size_t over = 0;
	while (over < kept->n_ranges && kept->ranges[over].to <= offset)
		over++;
	kept->n_ranges -= over;
	if (over > 0 && kept->n_ranges > 0)
		memmove(kept->ranges, kept->ranges + over,
		    kept->n_ranges * sizeof *kept->ranges);
	return kept->n_ranges > 0 && kept->ranges[0].from <= offset;
}

enum kafka_come
kafka_ring_add(struct kafka_ring *ring, int64_t offset, uint32_t mark)
{
	if (offset < ring->next)
		return KAFKA_COME_BACK;
	(void)kafka_ring_doubts(ring, offset, mark);
	bool finished = was_finished(ring, offset);
	if (ring->count == ring->size)
		grow_ring(ring);
	*kafka_ring_at(ring, ring->count++) = (struct kafka_given){offset, mark,
	    finished ? KAFKA_FINISHED : KAFKA_UNFINISHED};
	ring->n_finished += finished;
	ring->next = offset + 1;
	if (finished) {
		ring->changed = true;
		advance(ring);
	}
	return finished ? KAFKA_COME_FINISHED : KAFKA_COME_NEW;
}

void
kafka_ring_reach(struct kafka_ring *ring, int64_t next)
{
	if (next <= ring->next)
		return;
	ring->next = next;
	ring->changed = true;
}

uint64_t
kafka_ring_cut(struct kafka_ring *ring, int64_t begin)
{
	struct kafka_stand *kept = &ring->kept;
	int64_t lost = begin - ring->next;
	kept->sure |= kept->anchor.offset < begin;
	for (size_t i = 0; i < kept->n_ranges; i++) {
		int64_t from = kept->ranges[i].from, to = kept->ranges[i].to;
		from = from > ring->next ? from : ring->next;
		to = to < begin ? to : begin;
		lost -= from < to ? to - from : 0;
	}
	return (uint64_t)lost;
}

struct kafka_given *
kafka_ring_find(const struct kafka_ring *ring, int64_t offset)
{
	size_t low = 0, high = ring->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (kafka_ring_at(ring, middle)->offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ring->count && kafka_ring_at(ring, low)->offset == offset
	    ? kafka_ring_at(ring, low)
	    : NULL;
}

void
kafka_ring_set(struct kafka_ring *ring, struct kafka_given *given,
    enum kafka_given_state state)
{
	must(given->state != KAFKA_FINISHED);
	given->state = state;
	if (state != KAFKA_FINISHED)
		return;
	ring->n_finished++;
	ring->changed = true;
	advance(ring);
}

/* --- what is committed --- */

bool
kafka_ring_is_over(const struct kafka_given *given, bool putting)
{
	return given->state == KAFKA_FINISHED ||
	    (putting && given->state == KAFKA_PUTTING);
}

size_t
kafka_ring_count_over(const struct kafka_ring *ring, bool putting)
{
	size_t i = 0;
	while (i < ring->count &&
	    kafka_ring_is_over(kafka_ring_at(ring, i), putting))
		i++;
	return i;
}

/*
 * A range more for each that is finished, at worst.  What is kept of the time
 * before does not count: it is read away, and would else be in its own way.
 */
bool
kafka_ring_is_full(const struct kafka_ring *ring)
{
	size_t unfinished = ring->count - ring->n_finished;
	size_t ranges = ring->n_finished < unfinished ? ring->n_finished
						      : unfinished;
	return ring->count >= KAFKA_GAP_MAX ||
	    ranges * RANGE_BYTES >= KAFKA_METADATA_MAX / 4 * 3;
}

int64_t
kafka_ring_low(const struct kafka_ring *ring, bool putting)
{
	size_t over = kafka_ring_count_over(ring, putting);
	return over < ring->count ? kafka_ring_at(ring, over)->offset
				  : ring->next;
}

struct kafka_anchor
kafka_ring_anchor(const struct kafka_ring *ring, bool putting)
{
	size_t over = kafka_ring_count_over(ring, putting);
	if (over == 0)
		return ring->anchor;
	const struct kafka_given *last = kafka_ring_at(ring, over - 1);
	return (struct kafka_anchor){last->offset, last->mark};
}

void
kafka_ring_forget(struct kafka_stand *stand)
{
	free(stand->ranges);
	stand->ranges = NULL;
	stand->n_ranges = 0;
}
