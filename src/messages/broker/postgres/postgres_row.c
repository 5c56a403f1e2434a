/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop/log.h"
#include "messages/broker/postgres/postgres_private.h"

/* --- headers --- */

static void
add_header(struct broker_message *message, struct span name, struct span value)
{
	struct arena *arena = message->arena;
	message->fields.list[message->fields.count++] = (struct field){
	    arena_dup(arena, name), arena_dup(arena, value)};
}

/*
 * What is no string is there as its JSON, for the dead letter that the message
 * becomes.
 */
static const char *
add_fields(struct broker_message *message, struct span text)
{
	struct arena *arena = message->arena;
	const char *odd = NULL, *name;
	json_t *value;
	if (text.ptr == NULL)
		return NULL;
	json_t *json = json_loadb(
	    text.ptr, text.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	message->fields.list = arena_alloc(arena,
	    (json_object_size(json) + 1) * sizeof *message->fields.list);
	json_object_foreach(json, name, value) {
		char *other = NULL;
		if (json_is_null(value))
			continue;
		if (!json_is_string(value))
			other = json_dumps(value, JSON_ENCODE_ANY);
		add_header(message, span_str(name),
		    other != NULL ? span_str(other)
				  : span_of(json_string_value(value),
					json_string_length(value)));
		if (other != NULL)
			odd = "its headers are not an object of strings";
		free(other);
	}
	if (!json_is_object(json) && !json_is_null(json)) {
		odd = "its headers are not an object of strings";
		add_header(message, SPAN("headers"), text);
	}
	json_decref(json);
	return odd;
}

/* --- a row as a message --- */

static struct span
copy(struct arena *arena, const PGresult *result, int at, int column)
{
	struct span value = postgres_pipe_value(result, at, column);
	return value.ptr != NULL ? arena_dup(arena, value) : POSTGRES_NULL;
}

static void
weigh(struct broker_message *m)
{
	m->bytes = sizeof *m + m->position.len + m->payload.len +
	    m->entity.len + m->type.len;
	for (size_t i = 0; i < m->fields.count; i++)
		m->bytes += sizeof(struct field) +
		    m->fields.list[i].name.len + m->fields.list[i].value.len;
}

static struct broker_message *
read_row(struct postgres_reader *reader, const PGresult *result, int at)
{
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	int64_t part = postgres_pipe_number(result, at, COLUMN_PART);
	m->arena = arena;
	m->position = copy(arena, result, at, COLUMN_ID);
	m->entity = copy(arena, result, at, COLUMN_ENTITY);
	m->type = copy(arena, result, at, COLUMN_TYPE);
	m->payload = copy(arena, result, at, COLUMN_PAYLOAD);
	m->key = POSTGRES_NULL;
	m->time_ms = -1;
	/* Whoever makes a finished row unread takes no result of it away. */
	m->may_be_put = true;
	if (postgres_pipe_value(result, at, COLUMN_TIME).ptr != NULL)
		m->time_ms = postgres_pipe_number(result, at, COLUMN_TIME);
	m->odd = add_fields(
	    m, postgres_pipe_value(result, at, COLUMN_HEADERS));
	m->is_null = postgres_pipe_true(result, at, COLUMN_IS_NULL);
	m->too_large = postgres_pipe_true(result, at, COLUMN_TOO_LARGE) ||
	    m->payload.len > reader->core.most_bytes;
	if (m->too_large)
		m->odd = "a column of its row is too large";
	m->has_payload = m->payload.ptr != NULL;
	if (part >= 0 && part < POSTGRES_PARTS)
		m->token = &reader->parts.is[part];
	weigh(m);
	return m;
}

struct broker_message *
postgres_row_copy(const PGresult *result, int at)
{
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	m->arena = arena;
	m->position = copy(arena, result, at, COPY_ID);
	m->entity = copy(arena, result, at, COPY_ENTITY);
	m->type = copy(arena, result, at, COPY_TYPE);
	m->payload = copy(arena, result, at, COPY_PAYLOAD);
	m->has_payload = m->payload.ptr != NULL;
	m->is_null = postgres_pipe_true(result, at, COPY_IS_NULL);
	m->too_large = postgres_pipe_true(result, at, COPY_TOO_LARGE);
	m->key = POSTGRES_NULL;
	m->time_ms = -1;
	m->again = true;
	m->odd = add_fields(
	    m, postgres_pipe_value(result, at, COPY_HEADERS));
	weigh(m);
	for (size_t i = 0; i < m->fields.count; i++)
		if (span_eq(m->fields.list[i].name,
			SPAN("onceproxy-position")))
			m->position = m->fields.list[i].value;
	return m;
}


/* --- those in flight --- */

void
postgres_row_take(
    struct postgres_reader *reader, const PGresult *result, int at)
{
	struct span id = postgres_pipe_value(result, at, COLUMN_ID);
	struct span version = postgres_pipe_value(result, at, COLUMN_VERSION);
	int64_t part = postgres_pipe_number(result, at, COLUMN_PART);
	if (id.ptr == NULL || part < 0 || part >= POSTGRES_PARTS ||
	    reader->parts.is[part] != PART_MINE ||
	    reader_flight_find(&reader->core, id) != NULL)
		return;
	struct postgres_row *row = postgres_row_of(reader_flight_add(
	    &reader->core, read_row(reader, result, at)));
	row->take = reader->take.number;
	row->session = reader->session;
	row->part = (uint32_t)part;
	if (version.len < sizeof row->version && version.len > 0)
		memcpy(row->version, version.ptr, version.len);
	reader->parts.in_flight[part]++;
}

bool
postgres_row_is_ours(
    const struct postgres_reader *reader, const struct postgres_row *row)
{
	return row->session == reader->session && !row->flight.unsure;
}

void
postgres_row_deleted(struct postgres_reader *reader, struct span position)
{
	struct broker_reader *core = &reader->core;
	struct logline line = log_begin(EV_source_row_deleted);
	log_str(&line, "source", core->source->name);
	log_cut(&line, "position", position, 200);
	log_end(&line);
	if (!core->leaving)
		core->events.lost(
		    core->events.arg, BROKER_DELETED, 1, SPAN(""));
}
