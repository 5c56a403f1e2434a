/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "messages/broker/streams/streams_private.h"

enum {
	FIELDS_MAX = 1024, /* a put has them in one command of Lua */
	HEAD_BYTES = 64 * 1024, /* what is kept of one that is too large */
};

/* --- ids --- */

/* What Redis says, and what was copied of it, ends with a NUL. */
bool
streams_entry_id_read(struct span text, struct streams_id *ret_id)
{
	static const char digits[] = "0123456789";
	size_t ms = strspn(text.ptr, digits);
	size_t seq = ms < text.len ? strspn(text.ptr + ms + 1, digits) : 0;
	if (ms == 0 || text.ptr[ms] != '-' || seq == 0 ||
	    ms + 1 + seq != text.len)
		return false;
	errno = 0;
	ret_id->ms = strtoull(text.ptr, NULL, 10);
	ret_id->seq = strtoull(text.ptr + ms + 1, NULL, 10);
	return errno == 0;
}

struct span
streams_entry_id_text(struct streams_id id, char text[STREAMS_ID_BYTES])
{
	int len = snprintf(text, STREAMS_ID_BYTES, "%" PRIu64 "-%" PRIu64,
	    id.ms, id.seq);
	return span_of(text, (size_t)len);
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

/* --- an entry --- */

/* Its values are nil where its bytes are gone. */
static bool
is_entry(const redisReply *entry, struct streams_id *ret_id)
{
	if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2 ||
	    !streams_entry_id_read(resp_text(entry->element[0]), ret_id))
		return false;
	const redisReply *values = entry->element[1];
	if (values->type != REDIS_REPLY_ARRAY || values->elements % 2 != 0)
		return false;
	for (size_t i = 0; i < values->elements; i++)
		if (values->element[i]->type != REDIS_REPLY_STRING)
			return false;
	return true;
}

static size_t
length_of(const redisReply *values)
{
	size_t bytes = 0;
	for (size_t i = 0; i < values->elements; i++)
		bytes += values->element[i]->len;
	return bytes;
}

/*
 * Its body may be a field, or all of them: it is too large where what it has in
 * all is; where even a reply is too small for it, it comes without any.  Of one
 * that is, those fields are there that fit.
 */
static struct broker_message *
read_entry(const redisReply *entry, struct streams_id id, size_t most_bytes,
    bool again)
{
	const redisReply *values = entry->element[1];
	size_t count = values->elements / 2;
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	m->arena = arena;
	m->position = arena_dup(arena, resp_text(entry->element[0]));
	m->time_ms = time_of(id);
	m->again = again;
	/* Its group may have been set back before somebody else took it. */
	m->may_be_put = true;
	m->too_large = count == 0 || count > FIELDS_MAX ||
	    length_of(values) > most_bytes;
	if (m->too_large && most_bytes > HEAD_BYTES)
		most_bytes = HEAD_BYTES;
	if (count > FIELDS_MAX)
		count = FIELDS_MAX;
	struct field *list = arena_alloc(arena, count * sizeof *list);
	m->fields.list = list;
	m->bytes = sizeof *m + m->position.len + count * sizeof *list;
	for (size_t i = 0; i < count; i++) {
		struct span name = resp_text(values->element[2 * i]);
		struct span value = resp_text(values->element[2 * i + 1]);
		if (name.len + value.len > most_bytes)
			continue;
		most_bytes -= name.len + value.len;
		m->bytes += name.len + value.len;
		list[m->fields.count++] = (struct field){
		    arena_dup(arena, name), arena_dup(arena, value)};
	}
	return m;
}

bool
streams_entry_take(
    struct streams *streams, const redisReply *entry, bool again)
{
	struct streams_id id, *taken = &streams->take.taken;
	struct broker_reader *core = &streams->core;
	if (!is_entry(entry, &id)) {
		link_distrust(
		    streams->taker.link, "an entry that cannot be read");
		return false;
	}
	if (id.ms > taken->ms || (id.ms == taken->ms && id.seq > taken->seq))
		*taken = id;
	struct flight *f =
	    reader_flight_find(core, resp_text(entry->element[0]));
	if (f != NULL) {
		f->came_again |= f->finishing != NULL;
		((struct streams_flight *)f)->foreign = false;
		return true;
	}
	reader_flight_add(
	    core, read_entry(entry, id, core->most_bytes, again));
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
	struct broker_message *message = read_entry(
	    entry, id, streams->core.most_bytes + BESIDE_BYTES, true);
	reader_ask_place(message);
	message->time_ms = streams_entry_id_read(message->position, &stood)
	    ? time_of(stood)
	    : -1;
	return message;
}
