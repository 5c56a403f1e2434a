/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/must.h"
#include "messages/broker/streams_private.h"

enum {
	FIELDS_MAX = 1024, /* a put has them in one command of Lua */
	HEAD_BYTES = 64 * 1024, /* what is kept of one that is too large */
};

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
new_message(const struct streams *streams, struct streams_id id, bool again)
{
	char text[STREAMS_ID_MAX];
	struct arena *arena = arena_new();
	struct broker_message *message = arena_alloc(arena, sizeof *message);
	message->arena = arena;
	message->position =
	    arena_dup(arena, span_of(text, streams_hand_put_id(id, text)));
	message->time_ms = time_of(id);
	message->again = again;
	message->token = (void *)streams->age;
	message->bytes = sizeof *message + message->position.len;
	return message;
}

static void
keep(struct streams *streams, struct streams_id id,
    struct broker_message *message)
{
	struct streams_held *held = streams_hand_add(&streams->hand, id);
	streams_hand_queue(&streams->hand, held, message,
	    streams->sole || streams->take.remaking);
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
	struct arena *arena =
	    message->bulk != NULL ? message->bulk : message->arena;
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
 * all is.
 */
static void
read_fields(struct streams *streams, struct broker_message *message,
    const redisReply *values)
{
	size_t most = streams->most_bytes;
	message->too_large = values->elements / 2 > FIELDS_MAX ||
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

/* --- dead letters --- */

struct broker_message *
streams_entry_letter(struct streams *streams, const redisReply *entry)
{
	struct streams_id id, was;
	if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2 ||
	    !streams_hand_read_id(resp_text(entry->element[0]), &id) ||
	    !are_fields(entry->element[1]))
		return NULL;
	struct broker_message *message = new_message(streams, id, true);
	message->letter = message->position;
	message->time_ms = -1;
	read_fields(streams, message, entry->element[1]);
	const struct field *position =
	    fields_first(&message->fields, SPAN("onceproxy-position"));
	message->position = position != NULL ? position->value : SPAN("");
	if (streams_hand_read_id(message->position, &was))
		message->time_ms = time_of(was);
	return message;
}

/* --- an entry --- */

static bool
read_entry(const redisReply *entry, struct streams_id *ret_id)
{
	return entry->type == REDIS_REPLY_ARRAY && entry->elements == 2 &&
	    streams_hand_read_id(resp_text(entry->element[0]), ret_id) &&
	    (entry->element[1]->type == REDIS_REPLY_NIL ||
		are_fields(entry->element[1]));
}

/* Its bytes are gone, and it is pending here all the same. */
static void
take_empty(struct streams *streams, struct streams_id id)
{
	if (streams_hand_find(&streams->hand, id) == NULL)
		streams_look_drop(
		    streams, id, BROKER_TRIMMED_PENDING, false);
}

static struct broker_message *
whole_message(struct streams *streams, struct streams_id id,
    const redisReply *values, bool again)
{
	struct broker_message *message = new_message(streams, id, again);
	message->bulk = arena_new();
	read_fields(streams, message, values);
	return message;
}

struct broker_message *
streams_entry_again(struct streams *streams, const redisReply *entry)
{
	struct streams_id id;
	if (!read_entry(entry, &id) ||
	    entry->element[1]->type == REDIS_REPLY_NIL)
		return NULL;
	return whole_message(streams, id, entry->element[1], true);
}

static void
take_whole(struct streams *streams, struct streams_id id,
    const redisReply *values, bool again)
{
	struct streams_held *held = streams_hand_find(&streams->hand, id);
	if (held != NULL) {
		held->foreign = false;
		return;
	}
	bool page = streams->take.reading != STREAMS_READ_NEW ||
	    streams->standing == STREAMS_AGAIN;
	if (page && streams_take_was_finished(streams, id))
		return;
	keep(streams, id, whole_message(streams, id, values, again));
}

bool
streams_entry_take(struct streams *streams, const redisReply *entry,
    bool again, struct streams_id *ret_id)
{
	if (!read_entry(entry, ret_id)) {
		link_distrust(
		    streams->taker.link, "an entry that cannot be read");
		return false;
	}
	if (entry->element[1]->type == REDIS_REPLY_NIL)
		take_empty(streams, *ret_id);
	else
		take_whole(streams, *ret_id, entry->element[1], again);
	return true;
}

void
streams_entry_take_unread(struct streams *streams, struct streams_id id)
{
	if (streams_hand_find(&streams->hand, id) != NULL)
		return;
	struct broker_message *message = new_message(streams, id, true);
	message->too_large = true;
	keep(streams, id, message);
}
