/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_shelf.h"

/*
 * The text: "d1.TOPIC;NUMBER.LOW.RING;NUMBER.LOW.RING...", TOPIC being a
 * mark of its name.  In a commit's metadata it follows the partition's own ring
 * and a "|".
 */
#define SHELF_HEAD "d1."

enum { BETWEEN = '|' };

/* --- the list --- */

static void
begin_shelf(struct kafka_shelf *shelf, struct kafka_stand *stand)
{
	kafka_ring_clear(&shelf->ring);
	kafka_ring_init(&shelf->ring, stand);
}

void
kafka_shelf_reset(struct kafka_shelf *shelf)
{
	struct kafka_stand stand = {.low = 0, .anchor = {-1, 0}};
	begin_shelf(shelf, &stand);
}

struct kafka_shelf *
kafka_shelf_at(struct kafka_shelf **list, int32_t number)
{
	while (*list != NULL && (*list)->number < number)
		list = &(*list)->next;
	if (*list != NULL && (*list)->number == number)
		return *list;
	struct kafka_shelf *shelf = mem_zero(sizeof *shelf);
	shelf->number = number;
	shelf->next = *list;
	*list = shelf;
	kafka_shelf_reset(shelf);
	return shelf;
}

void
kafka_shelf_clear(struct kafka_shelf **list)
{
	while (*list != NULL) {
		struct kafka_shelf *shelf = *list;
		*list = shelf->next;
		kafka_ring_clear(&shelf->ring);
		free(shelf);
	}
}

/* --- its text --- */

static uint32_t
topic_mark(const char *topic)
{
	return kafka_ring_mark(0, SPAN(""), span_str(topic));
}

/* Those that fit; ret_whole: all do. */
static size_t
write_shelves(const struct kafka_shelf *list, const char *topic, bool putting,
    size_t most, char *ret_text, bool *ret_whole)
{
	char ring[KAFKA_METADATA_MAX + 1];
	size_t len = 0;
	*ret_whole = true;
	for (; list != NULL; list = list->next) {
		kafka_ring_text_write(
		    &list->ring, putting, KAFKA_METADATA_MAX, ring);
		/* Without an anchor nothing of it is finished. */
		if (strchr(ring, '.') == NULL)
			continue;
		if (len == 0)
			len = (size_t)snprintf(ret_text, most,
			    SHELF_HEAD "%" PRIu32, topic_mark(topic));
		size_t more = (size_t)snprintf(ret_text + len, most + 1 - len,
		    ";%" PRId32 ".%" PRId64 ".%s", list->number,
		    kafka_ring_low(&list->ring, putting), ring);
		if (len + more > most)
			*ret_whole = false;
		else
			len += more;
		ret_text[len] = '\0';
	}
	return len;
}

int
kafka_shelf_write(const struct kafka_shelf *list, const char *topic,
    bool putting, char ret_text[KAFKA_SHELF_MAX + 1])
{
	bool whole;
	size_t len = write_shelves(
	    list, topic, putting, KAFKA_SHELF_MAX, ret_text, &whole);
	return whole ? (int)len : -1;
}

size_t
kafka_shelf_tell(const struct kafka_shelf *list, const char *topic,
    bool putting, char ret_text[KAFKA_METADATA_MAX + 1])
{
	bool whole;
	return write_shelves(list, topic, putting,
	    KAFKA_METADATA_MAX - 1 - KAFKA_SHELF_RING_LEAST, ret_text, &whole);
}

static bool
take_dotted(struct span *text, int64_t most, int64_t *ret_number)
{
	struct span piece;
	return span_next(text, '.', &piece) && text->ptr != NULL &&
	    digits_read(piece, most, ret_number);
}

static void
read_shelf(struct kafka_shelf **list, struct span text)
{
	struct kafka_stand stand;
	int64_t number, low;
	if (!take_dotted(&text, INT32_MAX, &number) ||
	    !take_dotted(&text, INT64_MAX, &low))
		return;
	kafka_ring_text_read(low, text, &stand);
	if (stand.low < 0 || stand.anchor.offset < 0) {
		kafka_ring_forget(&stand);
		return;
	}
	begin_shelf(kafka_shelf_at(list, (int32_t)number), &stand);
}

void
kafka_shelf_read(
    struct kafka_shelf **list, const char *topic, struct span text)
{
	struct span piece;
	int64_t mark;
	kafka_shelf_clear(list);
	if (!span_starts(text, SPAN(SHELF_HEAD)))
		return;
	text = span_from(text, sizeof SHELF_HEAD - 1);
	if (!span_next(&text, ';', &piece) ||
	    !digits_read(piece, UINT32_MAX, &mark) ||
	    mark != topic_mark(topic))
		return;
	while (span_next(&text, ';', &piece))
		read_shelf(list, piece);
}

int64_t
kafka_shelf_count(const char *topic, struct span text)
{
	struct kafka_shelf *list = NULL;
	int64_t count = 0;
	kafka_shelf_read(&list, topic, text);
	for (struct kafka_shelf *s = list; s != NULL; s = s->next) {
		const struct kafka_stand *kept = &s->ring.kept;
		count += s->ring.next;
		for (size_t i = 0; i < kept->n_ranges; i++)
			count += kept->ranges[i].to - kept->ranges[i].from;
	}
	kafka_shelf_clear(&list);
	return count;
}

/* --- in a commit --- */

size_t
kafka_shelf_beside(size_t text_len)
{
	return KAFKA_METADATA_MAX - (text_len > 0 ? text_len + 1 : 0);
}

size_t
kafka_shelf_join(char metadata[KAFKA_METADATA_MAX + 1], size_t len,
    struct span text)
{
	if (text.len == 0)
		return len;
	must(len + 1 + text.len <= KAFKA_METADATA_MAX);
	metadata[len++] = BETWEEN;
	memcpy(metadata + len, text.ptr, text.len);
	len += text.len;
	metadata[len] = '\0';
	return len;
}

void
kafka_shelf_part(
    struct span metadata, struct span *ret_ring, struct span *ret_text)
{
	const char *end = metadata.len > 0
	    ? memchr(metadata.ptr, BETWEEN, metadata.len)
	    : NULL;
	size_t len = end != NULL ? (size_t)(end - metadata.ptr) : metadata.len;
	*ret_ring = span_of(metadata.ptr, len);
	*ret_text =
	    end != NULL ? span_from(metadata, len + 1) : SPAN("");
}
