/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_ring.h"

/*
 * The metadata: "o1:DISTANCE.MARK:GAP+LENGTH,GAP+LENGTH...", in hex.  DISTANCE
 * is from the anchor to the low-water mark, with a "-" where the anchor is the
 * first of what is finished above that; "o1:" alone has no anchor.  The first
 * GAP is from the low-water mark on, the others from the end of the last range.
 * ".MARK" behind the last one is that of the message at its end: a log that has
 * lost its end may have another one there, though the anchor is what it was.
 * "o2:ERA:" stands for "o1:" in every era but the first: to who knows no eras
 * that is nobody's commit.
 */
#define HEAD "o1:"
#define HEAD_ERA "o2:"

enum { TOP_BYTES = 9 }; /* at most so many for the last one's mark */

/* --- what is committed --- */

struct ring_writer {
	char *text;
	size_t len, most;
	int64_t end; /* of the last range */
	struct kafka_anchor top; /* the last message of that */
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
	size_t i = kafka_ring_count_over(ring, putting);
	while (i < ring->count) {
		if (!kafka_ring_is_over(kafka_ring_at(ring, i), putting)) {
			i++;
			continue;
		}
		int64_t from = kafka_ring_at(ring, i)->offset;
		while (i + 1 < ring->count &&
		    kafka_ring_is_over(kafka_ring_at(ring, i + 1), putting))
			i++;
		const struct kafka_given *last = kafka_ring_at(ring, i);
		if (!write_range(writer, from, last->offset + 1))
			return false;
		writer->top = (struct kafka_anchor){last->offset, last->mark};
		i++;
	}
	return true;
}

/* The first that is finished above the low-water mark. */
static struct kafka_anchor
anchor_above(const struct kafka_ring *ring, bool putting)
{
	size_t i = kafka_ring_count_over(ring, putting);
	for (; i < ring->count; i++) {
		const struct kafka_given *given = kafka_ring_at(ring, i);
		if (kafka_ring_is_over(given, putting))
			return (struct kafka_anchor){
			    given->offset, given->mark};
	}
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
	writer->top.offset = -1;
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
	if (writer->end > ring->next && kept->n_ranges > 0)
		writer->top = kept->top;
	return true;
}

/* Of what was written, where its last message is known. */
static void
write_top(struct ring_writer *writer)
{
	if (writer->top.offset < 0 || writer->top.offset + 1 != writer->end)
		return;
	int len = snprintf(writer->text + writer->len, TOP_BYTES + 1,
	    ".%" PRIx32, writer->top.mark);
	writer->len += (size_t)len;
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
kafka_ring_text_write(const struct kafka_ring *ring, bool putting, size_t most,
    char ret_text[KAFKA_METADATA_MAX + 1])
{
	struct ring_writer writer = {.text = ret_text,
	    .most = ring->tells_top ? most - TOP_BYTES : most};
	if (!write_all(ring, putting, ring->era, &writer))
		write_all(ring, putting, ring->next_era, &writer);
	if (ring->tells_top)
		write_top(&writer);
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
read_top(struct span text, int64_t end, struct kafka_stand *stand)
{
	uint64_t mark;
	if (!take_hex(&text, UINT32_MAX, &mark) || text.len > 0)
		return false;
	stand->top = (struct kafka_anchor){end - 1, (uint32_t)mark};
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
		if (take_letter(&text, '.'))
			return read_top(text, end, stand);
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
kafka_ring_text_read(
    int64_t low, struct span metadata, struct kafka_stand *ret_stand)
{
	struct kafka_stand stand = {
	    .low = low, .anchor = {-1, 0}, .top = {-1, 0}};
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
