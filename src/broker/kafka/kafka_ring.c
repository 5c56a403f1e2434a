/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "broker/kafka/kafka_ring.h"

/*
 * The metadata: "o1:DISTANCE.MARK:GAP+LENGTH,GAP+LENGTH...", in hex.  DISTANCE
 * is from the anchor to the low-water mark, with a "-" where the anchor is the
 * first of what is finished above that; "o1:" alone has no anchor.  The first
 * GAP is from the low-water mark on, the others from the end of the last range.
 * "o2:ERA:" stands for "o1:" in every era but the first: to who knows no eras
 * that is nobody's commit.
 */
#define HEAD "o1:"
#define HEAD_ERA "o2:"

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
	*stand = (struct kafka_stand){.low = -1, .anchor = {-1, 0}};
}

void
kafka_ring_clear(struct kafka_ring *ring)
{
	free(ring->list);
	kafka_ring_forget(&ring->kept);
	*ring = (struct kafka_ring){.next = -1, .anchor = {-1, 0}};
}

static struct kafka_given *
at(const struct kafka_ring *ring, size_t i)
{
	return &ring->list[(ring->first + i) & (ring->size - 1)];
}

static void
grow_ring(struct kafka_ring *ring)
{
	struct kafka_given *list =
	    mem_zero(2 * ring->size * sizeof *ring->list);
	for (size_t i = 0; i < ring->count; i++)
		list[i] = *at(ring, i);
	free(ring->list);
	ring->list = list;
	ring->first = 0;
	ring->size *= 2;
}

/* What is finished from the front on is below the low-water mark. */
static void
advance(struct kafka_ring *ring)
{
	while (ring->count > 0 && at(ring, 0)->state == KAFKA_FINISHED) {
		kafka_ring_floor_note(&ring->older, ring->anchor);
		ring->anchor = (struct kafka_anchor){
		    at(ring, 0)->offset, at(ring, 0)->mark};
		ring->first = (ring->first + 1) & (ring->size - 1);
		ring->count--;
		ring->n_finished--;
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
	*at(ring, ring->count++) = (struct kafka_given){offset, mark,
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
		if (at(ring, middle)->offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ring->count && at(ring, low)->offset == offset
	    ? at(ring, low)
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

static bool
is_over(const struct kafka_given *given, bool putting)
{
	return given->state == KAFKA_FINISHED ||
	    (putting && given->state == KAFKA_PUTTING);
}

/* How many are below the low-water mark that is to be. */
static size_t
count_over(const struct kafka_ring *ring, bool putting)
{
	size_t i = 0;
	while (i < ring->count && is_over(at(ring, i), putting))
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
	size_t over = count_over(ring, putting);
	return over < ring->count ? at(ring, over)->offset : ring->next;
}

struct kafka_anchor
kafka_ring_anchor(const struct kafka_ring *ring, bool putting)
{
	size_t over = count_over(ring, putting);
	if (over == 0)
		return ring->anchor;
	return (struct kafka_anchor){
	    at(ring, over - 1)->offset, at(ring, over - 1)->mark};
}

struct ring_writer {
	char *text;
	size_t len, most;
	int64_t end; /* of the last range */
};

/* A whole range, or none of it. */
static bool
write_range(struct ring_writer *writer, int64_t from, int64_t to)
{
	char text[48];
	int len = snprintf(text, sizeof text, "%s%" PRIx64 "+%" PRIx64,
	    writer->text[writer->len - 1] == ':' ? "" : ",",
	    (uint64_t)(from - writer->end), (uint64_t)(to - from));
	if (writer->len + (size_t)len > writer->most)
		return false;
	memcpy(writer->text + writer->len, text, (size_t)len + 1);
	writer->len += (size_t)len;
	writer->end = to;
	return true;
}

/* Of what was given, above the low-water mark. */
static bool
write_given(const struct kafka_ring *ring, bool putting,
    struct ring_writer *writer)
{
	size_t i = count_over(ring, putting);
	while (i < ring->count) {
		if (!is_over(at(ring, i), putting)) {
			i++;
			continue;
		}
		int64_t from = at(ring, i)->offset;
		while (i + 1 < ring->count &&
		    is_over(at(ring, i + 1), putting))
			i++;
		if (!write_range(writer, from, at(ring, i)->offset + 1))
			return false;
		i++;
	}
	return true;
}

/* The first that is finished above the low-water mark. */
static struct kafka_anchor
anchor_above(const struct kafka_ring *ring, bool putting)
{
	for (size_t i = count_over(ring, putting); i < ring->count; i++)
		if (is_over(at(ring, i), putting))
			return (struct kafka_anchor){
			    at(ring, i)->offset, at(ring, i)->mark};
	return ring->kept.n_ranges > 0 ? ring->kept.anchor
				       : (struct kafka_anchor){-1, 0};
}

static void
write_head(struct ring_writer *writer, uint32_t era, int64_t low,
    struct kafka_anchor anchor)
{
	int64_t distance = low - anchor.offset;
	int len = era == 0
	    ? snprintf(writer->text, KAFKA_METADATA_MAX, HEAD)
	    : snprintf(writer->text, KAFKA_METADATA_MAX,
		  HEAD_ERA "%" PRIx32 ":", era);
	if (anchor.offset >= 0)
		len += snprintf(writer->text + len, KAFKA_METADATA_MAX / 2,
		    "%s%" PRIx64 ".%" PRIx32 ":", distance < 0 ? "-" : "",
		    (uint64_t)(distance < 0 ? -distance : distance),
		    anchor.mark);
	writer->len = (size_t)len;
	writer->end = low;
}

/* Of what was told before, and has not been given. */
static bool
write_kept(const struct kafka_ring *ring, struct ring_writer *writer)
{
	const struct kafka_stand *kept = &ring->kept;
	for (size_t i = 0; i < kept->n_ranges; i++) {
		int64_t from = kept->ranges[i].from > ring->next
		    ? kept->ranges[i].from
		    : ring->next;
		if (from < kept->ranges[i].to &&
		    !write_range(writer, from, kept->ranges[i].to))
			return false;
	}
	return true;
}

/* False: something is left out. */
static bool
write_all(const struct kafka_ring *ring, bool putting, uint32_t era,
    struct ring_writer *writer)
{
	struct kafka_anchor anchor = kafka_ring_anchor(ring, putting);
	if (anchor.offset < 0)
		anchor = anchor_above(ring, putting);
	write_head(writer, era, kafka_ring_low(ring, putting), anchor);
	return anchor.offset < 0 ||
	    (write_given(ring, putting, writer) && write_kept(ring, writer));
}

size_t
kafka_ring_write(const struct kafka_ring *ring, bool putting, size_t most,
    char ret_text[KAFKA_METADATA_MAX + 1])
{
	struct ring_writer writer = {.text = ret_text, .most = most};
	if (!write_all(ring, putting, ring->era, &writer))
		write_all(ring, putting, ring->next_era, &writer);
	return writer.len;
}

/* --- what was committed --- */

/* Takes a number in hex off the front; false: there is none. */
static bool
take_hex(struct span *text, uint64_t most, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t i = 0;
	for (; i < text->len && ascii_hex_value(text->ptr[i]) >= 0; i++) {
		number = number << 4 | (unsigned)ascii_hex_value(text->ptr[i]);
		if (number > most)
			return false;
	}
	*text = span_from(*text, i);
	*ret_number = number;
	return i > 0;
}

static bool
take_letter(struct span *text, char c)
{
	if (text->len == 0 || text->ptr[0] != c)
		return false;
	*text = span_from(*text, 1);
	return true;
}

static const uint64_t number_max = (UINT64_C(1) << 56) - 1;

static bool
read_anchor(struct span *text, int64_t low, struct kafka_anchor *ret_anchor)
{
	uint64_t distance, mark;
	bool above = take_letter(text, '-');
	if (!take_hex(text, number_max, &distance) || !take_letter(text, '.') ||
	    !take_hex(text, UINT32_MAX, &mark) || !take_letter(text, ':'))
		return false;
	int64_t offset =
	    above ? low + (int64_t)distance : low - (int64_t)distance;
	*ret_anchor = (struct kafka_anchor){offset, (uint32_t)mark};
	return offset >= 0;
}

static bool
read_range(struct span *text, int64_t *end, struct kafka_range *ret_range)
{
	uint64_t gap, len;
	if (!take_hex(text, number_max, &gap) || !take_letter(text, '+') ||
	    !take_hex(text, number_max, &len))
		return false;
	if (*end > (int64_t)number_max || len == 0)
		return false;
	ret_range->from = *end + (int64_t)gap;
	*end = ret_range->to = ret_range->from + (int64_t)len;
	return true;
}

static bool
read_ranges(struct span text, struct kafka_stand *stand)
{
	int64_t end = stand->low;
	stand->ranges = mem_zero((text.len / 3 + 1) * sizeof *stand->ranges);
	while (text.len > 0) {
		if (!read_range(&text, &end, &stand->ranges[stand->n_ranges]))
			return false;
		stand->n_ranges++;
		if (text.len > 0 && (!take_letter(&text, ',') || text.len == 0))
			return false;
	}
	return true;
}

/* False: it is not of ours. */
static bool
read_head(struct span *text, uint32_t *ret_era)
{
	uint64_t era;
	bool has_era = span_starts(*text, SPAN(HEAD_ERA));
	if (!has_era && !span_starts(*text, SPAN(HEAD)))
		return false;
	*text = span_from(*text, sizeof HEAD - 1);
	*ret_era = 0;
	if (!has_era)
		return true;
	if (!take_hex(text, UINT32_MAX, &era) || !take_letter(text, ':'))
		return false;
	*ret_era = (uint32_t)era;
	return true;
}

static bool
read_text(struct span text, struct kafka_stand *stand)
{
	if (stand->low > (int64_t)number_max || !read_head(&text, &stand->era))
		return false;
	return text.len == 0 ||
	    (read_anchor(&text, stand->low, &stand->anchor) &&
		read_ranges(text, stand));
}

void
kafka_ring_read(
    int64_t low, struct span metadata, struct kafka_stand *ret_stand)
{
	struct kafka_stand stand = {.low = low, .anchor = {-1, 0}};
	*ret_stand = stand;
	if (low < 0)
		return;
	if (read_text(metadata, &stand)) {
		*ret_stand = stand;
		return;
	}
	kafka_ring_forget(&stand);
	ret_stand->foreign = true;
}

void
kafka_ring_forget(struct kafka_stand *stand)
{
	free(stand->ranges);
	stand->ranges = NULL;
	stand->n_ranges = 0;
}
