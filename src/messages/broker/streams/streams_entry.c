/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>

#include "messages/broker/streams/streams_private.h"

enum {
	FIELDS_MAX = 1024, /* a put has them in one command of Lua */
	HEAD_BYTES = 64 * 1024, /* what is kept of one that is too large */
};

/* --- ids --- */

/* Takes digits off the front; false: there are none, or too many. */
static bool
take_number(struct span *text, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t i = 0;
	for (; i < text->len; i++) {
		unsigned digit = (unsigned char)text->ptr[i] - (unsigned)'0';
		if (digit > 9)
			break;
		if (number > (UINT64_MAX - digit) / 10)
			return false;
		number = 10 * number + digit;
	}
	*text = span_from(*text, i);
	*ret_number = number;
	return i > 0;
}

bool
streams_entry_id_read(struct span text, struct streams_id *ret_id)
{
	if (!take_number(&text, &ret_id->ms) || text.len == 0 ||
	    text.ptr[0] != '-')
		return false;
	text = span_from(text, 1);
	return take_number(&text, &ret_id->seq) && text.len == 0;
}

void
streams_entry_id_write(struct streams_id id, struct streams_id_text *ret_text)
{
	int len = snprintf(ret_text->text, sizeof ret_text->text,
	    "%" PRIu64 "-%" PRIu64, id.ms, id.seq);
	ret_text->span = span_of(ret_text->text, (size_t)len);
}

/* An id that Redis made has the time; one below 2001 has something else. */
static const uint64_t time_least_ms = 1000000000000;
static const uint64_t time_most_ms = 4102444800000;

static int64_t
time_of(struct streams_id id)
{
	bool is_time = id.ms >= time_least_ms && id.ms < time_most_ms;
	return is_time ? (int64_t)id.ms : -1;
}

static struct broker_message *
new_message(struct streams_id id, bool again)
{
	struct streams_id_text text;
	struct arena *arena = arena_new();
	struct broker_message *message = arena_alloc(arena, sizeof *message);
	streams_entry_id_write(id, &text);
	message->arena = arena;
	message->position = arena_dup(arena, text.span);
	message->time_ms = time_of(id);
	message->again = again;
	/* Its group may have been set back before somebody else took it. */
	message->may_be_put = true;
	message->bytes = sizeof *message + message->position.len;
	return message;
}

/* --- fields --- */

static size_t
length_of(const redisReply *values)
{
	size_t bytes = 0;
	for (size_t i = 0; i < values->elements; i++)
		bytes += values->element[i]->len;
	return bytes;
}

/* Copies the fields that fit, and leaves out the others. */
static void
copy_fields(struct broker_message *message, const redisReply *values,
    size_t most_bytes)
{
	size_t count = values->elements / 2;
	if (count > FIELDS_MAX)
		count = FIELDS_MAX;
	struct arena *arena = message->arena;
	struct field *list = arena_alloc(arena, count * sizeof *list);
	message->bytes += count * sizeof *list;
	message->fields.list = list;
	for (size_t i = 0; i < count; i++) {
		struct span name = resp_text(values->element[2 * i]);
		struct span value = resp_text(values->element[2 * i + 1]);
		if (name.len + value.len > most_bytes)
			continue;
		most_bytes -= name.len + value.len;
		message->bytes += name.len + value.len;
		list[message->fields.count++] =
		    (struct field){arena_dup(arena, name),
			arena_dup(arena, value)};
	}
}

/*
 * Its body may be a field, or all of them: it is too large where what it has in
 * all is; where even a reply is too small for it, it comes without any.
 */
static void
read_fields(struct broker_message *message, const redisReply *values,
    size_t most)
{
	message->too_large = values->elements == 0 ||
	    values->elements / 2 > FIELDS_MAX ||
	    length_of(values) > most;
	if (message->too_large && most > HEAD_BYTES)
		most = HEAD_BYTES;
	copy_fields(message, values, most);
}

static bool
are_fields(const redisReply *values)
{
	if (values->type != REDIS_REPLY_ARRAY || values->elements % 2 != 0)
		return false;
	for (size_t i = 0; i < values->elements; i++)
		if (values->element[i]->type != REDIS_REPLY_STRING)
			return false;
	return true;
}

/* --- an entry --- */

/* Its values are nil where its bytes are gone. */
static bool
is_entry(const redisReply *entry, struct streams_id *ret_id)
{
	return entry->type == REDIS_REPLY_ARRAY && entry->elements == 2 &&
	    streams_entry_id_read(resp_text(entry->element[0]), ret_id) &&
	    are_fields(entry->element[1]);
}

static struct broker_message *
read_message(const struct streams *streams, struct streams_id id,
    const redisReply *values, bool again)
{
	struct broker_message *message = new_message(id, again);
	read_fields(message, values, streams->core.most_bytes);
	return message;
}

bool
streams_entry_take(
    struct streams *streams, const redisReply *entry, bool again)
{
	struct streams_id id;
	struct broker_reader *core = &streams->core;
	if (!is_entry(entry, &id)) {
		link_distrust(
		    streams->taker.link, "an entry that cannot be read");
		return false;
	}
	if (streams_id_cmp(id, streams->take.taken) > 0)
		streams->take.taken = id;
	struct flight *f =
	    reader_flight_came_again(core, resp_text(entry->element[0]));
	if (f != NULL) {
		((struct streams_flight *)f)->foreign = false;
		return true;
	}
	reader_flight_add(
	    core, read_message(streams, id, entry->element[1], again));
	reader_flight_weigh(core, length_of(entry->element[1]));
	return true;
}

/* --- a copy, or a mark --- */

/* What was put beside a payload as large as any: names, the answer. */
enum { BESIDE_BYTES = 64 * 1024 };

struct broker_message *
streams_entry_copy(const struct streams *streams, const redisReply *entry)
{
	struct streams_id id, stood;
	if (!is_entry(entry, &id))
		return NULL;
	struct broker_message *message = new_message(id, true);
	read_fields(message, entry->element[1],
	    streams->core.most_bytes + BESIDE_BYTES);
	const struct field *field =
	    fields_first(&message->fields, SPAN("onceproxy-position"));
	if (field == NULL)
		field = fields_first(&message->fields, SPAN("onceproxy-done"));
	message->position = field != NULL ? field->value : SPAN("");
	message->time_ms = streams_entry_id_read(message->position, &stood)
	    ? time_of(stood)
	    : -1;
	return message;
}
