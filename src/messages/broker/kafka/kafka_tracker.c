/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_tracker.h"

enum {
	FIRST_SIZE = 64,
	RANGE_BYTES = 9,    /* that one takes of the metadata, or less */
	HASHED_BYTES = 512, /* at most so many of a value make its hash */
};

static const struct kafka_mark no_mark = {-1, -1, 0};

/* FNV-1a, of its length and its bytes. */
uint32_t
kafka_tracker_mix(uint32_t hash, struct span s)
{
	size_t some = s.len < HASHED_BYTES ? s.len : HASHED_BYTES;
	for (size_t len = s.len, i = 0; i < sizeof len; i++, len >>= 8)
		hash = (hash ^ (uint8_t)len) * 16777619u;
	for (size_t i = 0; i < some; i++)
		hash = (hash ^ (uint8_t)s.ptr[i]) * 16777619u;
	return hash;
}

/* --- the list --- */

void
kafka_tracker_init(struct kafka_tracker *t, struct kafka_stand *stand)
{
	*t = (struct kafka_tracker){.next = stand->low,
	    .mark = stand->mark,
	    .put_below = stand->put_below,
	    .kept = stand->ranges,
	    .n_kept = stand->n_ranges};
	stand->ranges = NULL;
	stand->n_ranges = 0;
}

void
kafka_tracker_clear(struct kafka_tracker *t)
{
	free(t->list);
	free(t->kept);
	*t = (struct kafka_tracker){.next = -1, .mark = no_mark};
}

/* The mark is of the last that is finished. */
static void
note_finished(struct kafka_tracker *t, const struct kafka_mark *mark)
{
	t->changed = true;
	if (mark->offset > t->mark.offset)
		t->mark = *mark;
}

enum kafka_come
kafka_tracker_add(struct kafka_tracker *t, const struct kafka_mark *mark)
{
	size_t over = 0;
	if (mark->offset < t->next)
		return KAFKA_COME_BACK;
	t->next = mark->offset + 1;
	t->given++;
	/* Ranges before it are done with; the first one left may have it. */
	while (over < t->n_kept && t->kept[over].to <= mark->offset)
		over++;
	t->n_kept -= over;
	if (over > 0 && t->n_kept > 0)
		memmove(t->kept, t->kept + over, t->n_kept * sizeof *t->kept);
	if (t->n_kept > 0 && t->kept[0].from <= mark->offset) {
		t->finished_to = t->next;
		note_finished(t, mark);
		return KAFKA_COME_FINISHED;
	}
	if (t->count == t->size) {
		t->size = t->size > 0 ? 2 * t->size : FIRST_SIZE;
		t->list = mem_grow(t->list, t->size * sizeof *t->list);
	}
	t->list[t->count++] = (struct kafka_given){.mark = *mark,
	    .number = t->given - 1,
	    .finished_to = t->finished_to};
	t->finished_to = 0;
	return KAFKA_COME_NEW;
}

void
kafka_tracker_finish(struct kafka_tracker *t, struct kafka_given *given)
{
	bool last = given == &t->list[t->count - 1];
	int64_t *to = last ? &t->finished_to : &given[1].finished_to;
	if (*to == 0)
		*to = given->mark.offset + 1;
	note_finished(t, &given->mark);
	t->count--;
	memmove(given, given + 1,
	    (size_t)(&t->list[t->count] - given) * sizeof *given);
}

void
kafka_tracker_reach(struct kafka_tracker *t, int64_t next)
{
	if (next <= t->next)
		return;
	t->next = next;
	t->changed = true;
}

uint64_t
kafka_tracker_lost(const struct kafka_tracker *t, int64_t begin)
{
	int64_t lost = begin - t->next;
	for (size_t i = 0; i < t->n_kept; i++) {
		int64_t from = t->kept[i].from, to = t->kept[i].to;
		from = from > t->next ? from : t->next;
		to = to < begin ? to : begin;
		lost -= from < to ? to - from : 0;
	}
	return lost > 0 ? (uint64_t)lost : 0;
}

struct kafka_given *
kafka_tracker_find(const struct kafka_tracker *t, int64_t offset)
{
	size_t low = 0, high = t->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->list[middle].mark.offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->count && t->list[low].mark.offset == offset
	    ? &t->list[low]
	    : NULL;
}

/*
 * A range for each that is finished, or unfinished, at worst.  What is kept of
 * the time before does not count: it is read away, and would else be in its own
 * way.
 */
bool
kafka_tracker_is_full(const struct kafka_tracker *t)
{
	uint64_t given = t->count > 0 ? t->given - t->list[0].number : 0;
	uint64_t finished = given - t->count;
	uint64_t ranges = finished < t->count ? finished : t->count;
	return given >= KAFKA_GAP_MAX ||
	    ranges * RANGE_BYTES >= KAFKA_METADATA_MAX / 4 * 3;
}

/* --- what is committed ---
 *
 * "o2:STORE:PUT:OFFSET.TIME.HASH:GAP+LENGTH,GAP+LENGTH...": below which results
 * may have been put; the mark, TIME one more than it is, without a mark nothing
 * between the colons; and what is finished above the low-water mark, of which
 * the first GAP is from there on, the others from the end of the last one.
 */
#define HEAD "o2:"

/* The first from there on that is not finished, nor said to be. */
static size_t
unfinished_from(const struct kafka_tracker *t, size_t at, bool putting)
{
	while (at < t->count && putting && t->list[at].putting)
		at++;
	return at;
}

int64_t
kafka_tracker_low(const struct kafka_tracker *t, bool putting)
{
	size_t first = unfinished_from(t, 0, putting);
	return first < t->count ? t->list[first].mark.offset : t->next;
}

struct range_writer {
	char *text;
	size_t len;
	int64_t end; /* of the last range */
};

/* A whole range, or none of it. */
static bool
write_range(struct range_writer *w, int64_t from, int64_t to)
{
	char text[48];
	int len = snprintf(text, sizeof text, "%s%" PRId64 "+%" PRId64,
	    w->text[w->len - 1] == ':' ? "" : ",", from - w->end, to - from);
	if (w->len + (size_t)len > KAFKA_METADATA_MAX)
		return false;
	memcpy(w->text + w->len, text, (size_t)len + 1);
	w->len += (size_t)len;
	w->end = to;
	return true;
}

static void
write_ranges(
    const struct kafka_tracker *t, bool putting, struct range_writer *w)
{
	size_t at = unfinished_from(t, 0, putting);
	while (at < t->count) {
		int64_t from = t->list[at].mark.offset + 1;
		size_t next = unfinished_from(t, at + 1, putting);
		int64_t to = next < t->count ? t->list[next].finished_to
					     : t->finished_to;
		int64_t put_to = t->list[next - 1].mark.offset + 1;
		if (to < put_to)
			to = put_to;
		if (from < to && !write_range(w, from, to))
			return;
		at = next;
	}
	for (size_t i = 0; i < t->n_kept; i++) {
		int64_t from =
		    t->kept[i].from > t->next ? t->kept[i].from : t->next;
		if (from < t->kept[i].to &&
		    !write_range(w, from, t->kept[i].to))
			return;
	}
}

void
kafka_tracker_write(const struct kafka_tracker *t, bool putting,
    const char *store, char ret_text[KAFKA_METADATA_MAX + 1])
{
	struct kafka_mark mark = t->mark;
	for (size_t i = 0; i < t->count && putting; i++)
		if (t->list[i].putting && t->list[i].mark.offset > mark.offset)
			mark = t->list[i].mark;
	struct range_writer w = {
	    .text = ret_text, .end = kafka_tracker_low(t, putting)};
	int len =
	    snprintf(ret_text, KAFKA_METADATA_MAX, HEAD "%.64s:%" PRId64 ":",
		store, w.end < t->put_below ? t->put_below : 0);
	if (mark.offset >= 0)
		len += snprintf(ret_text + len,
		    KAFKA_METADATA_MAX - (size_t)len,
		    "%" PRId64 ".%" PRId64 ".%" PRIu32, mark.offset,
		    mark.time_ms + 1, mark.hash);
	len += snprintf(ret_text + len, KAFKA_METADATA_MAX - (size_t)len, ":");
	w.len = (size_t)len;
	write_ranges(t, putting, &w);
}

/* --- what was committed --- */

static const int64_t number_max = (INT64_C(1) << 56) - 1;

/* Takes a number up to that byte, or up to the end, off the front. */
static bool
take_number(struct span *text, char end, int64_t *ret_number)
{
	struct span word;
	return span_next(text, end, &word) &&
	    digits_read(word, number_max, ret_number);
}

static bool
read_mark(struct span text, struct kafka_stand *stand)
{
	int64_t offset, time, hash;
	if (text.len == 0)
		return true;
	if (!take_number(&text, '.', &offset) ||
	    !take_number(&text, '.', &time) ||
	    !take_number(&text, '.', &hash) || text.ptr != NULL)
		return false;
	stand->mark = (struct kafka_mark){offset, time - 1, (uint32_t)hash};
	return true;
}

static bool
read_ranges(struct span text, struct kafka_stand *stand)
{
	int64_t end = stand->low, gap, len;
	struct span word;
	if (text.len == 0)
		return true;
	stand->ranges = mem_zero((text.len / 3 + 1) * sizeof *stand->ranges);
	while (span_next(&text, ',', &word)) {
		if (!take_number(&word, '+', &gap) ||
		    !take_number(&word, '+', &len) || len == 0 ||
		    end > number_max)
			return false;
		stand->ranges[stand->n_ranges++] = (struct kafka_range){
		    end + gap, end + gap + len};
		end += gap + len;
	}
	return true;
}

void
kafka_tracker_read(
    int64_t low, struct span metadata, struct kafka_stand *ret_stand)
{
	struct kafka_stand *stand = ret_stand;
	struct span store, mark;
	*stand =
	    (struct kafka_stand){.low = low < 0 ? -1 : low, .mark = no_mark};
	if (low < 0 || low > number_max ||
	    !span_skip(&metadata, SPAN(HEAD)))
		return;
	stand->ours = span_next(&metadata, ':', &store) &&
	    store.len <= KAFKA_STORE_MAX &&
	    take_number(&metadata, ':', &stand->put_below) &&
	    span_next(&metadata, ':', &mark) && metadata.ptr != NULL &&
	    read_mark(mark, stand) && read_ranges(metadata, stand);
	if (stand->ours) {
		memcpy(stand->store, store.ptr, store.len);
		return;
	}
	kafka_tracker_forget(stand);
	*stand = (struct kafka_stand){.low = low, .mark = no_mark};
}

void
kafka_tracker_forget(struct kafka_stand *stand)
{
	free(stand->ranges);
	stand->ranges = NULL;
	stand->n_ranges = 0;
}
