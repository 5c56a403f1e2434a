/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/postgres/postgres_private.h"

/* --- headers --- */

/*
 * What is no string is there as its JSON, for the dead letter that the message
 * becomes; so is what is no object, under the name of that column.
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
	if (!json_is_object(json) && !json_is_null(json)) {
		json_decref(json);
		json = json_pack("{s:s%}", "headers", text.ptr, text.len);
		odd = "its headers are not an object of strings";
	}
	struct field *field = message->fields.list = arena_alloc(arena,
	    (json_object_size(json) + 1) * sizeof *message->fields.list);
	json_object_foreach(json, name, value) {
		char *other = NULL;
		if (json_is_null(value))
			continue;
		if (!json_is_string(value)) {
			other = json_dumps(value, JSON_ENCODE_ANY);
			odd = "its headers are not an object of strings";
		}
		*field++ = (struct field){arena_dup(arena, span_str(name)),
		    arena_dup(arena,
			other != NULL ? span_str(other)
				      : span_of(json_string_value(value),
					    json_string_length(value)))};
		free(other);
	}
	message->fields.count = (size_t)(field - message->fields.list);
	json_decref(json);
	return odd;
}

/* --- a row as a message --- */

/* A row that was taken, or a copy. */
static struct broker_message *
read_row(const PGresult *result, int at)
{
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	m->arena = arena;
	m->position = reader_copy(
	    arena, postgres_pipe_value(result, at, COLUMN_ID));
	m->entity = reader_copy(
	    arena, postgres_pipe_value(result, at, COLUMN_ENTITY));
	m->type = reader_copy(
	    arena, postgres_pipe_value(result, at, COLUMN_TYPE));
	m->payload = reader_copy(
	    arena, postgres_pipe_value(result, at, COLUMN_PAYLOAD));
	m->has_payload = m->payload.ptr != NULL;
	m->key = POSTGRES_NULL;
	m->time_ms = -1;
	if (postgres_pipe_value(result, at, COLUMN_TIME).ptr != NULL)
		m->time_ms = postgres_pipe_number(result, at, COLUMN_TIME);
	m->odd = add_fields(
	    m, postgres_pipe_value(result, at, COLUMN_HEADERS));
	m->too_large = postgres_pipe_true(result, at, COLUMN_TOO_LARGE);
	m->bytes = sizeof *m + m->position.len + m->payload.len +
	    m->entity.len + m->type.len;
	for (size_t i = 0; i < m->fields.count; i++)
		m->bytes += sizeof(struct field) +
		    m->fields.list[i].name.len + m->fields.list[i].value.len;
	return m;
}

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
	struct broker_message *m = read_row(result, at);
	m->token = &reader->parts.is[part];
	/* It may be larger as UTF-8 than as the server has it. */
	m->too_large |= m->payload.len > reader->core.most_bytes;
	/* Whoever makes a finished row unread takes no result of it away. */
	m->may_be_put = true;
	if (m->too_large)
		m->odd = "a column of its row is too large";
	struct postgres_row *row =
	    (struct postgres_row *)reader_flight_add(&reader->core, m);
	row->take = reader->take.number;
	row->part = (uint32_t)part;
	if (version.len < sizeof row->version && version.len > 0)
		memcpy(row->version, version.ptr, version.len);
}

/* --- pages of copies --- */

/* What is found is the question's own until the batch has ended. */
struct copies_question {
	struct reader_question question; /* first */
	struct broker_message *found;
	size_t limit;
	char next[BROKER_COPY_ID_BYTES];
};

/*
 * Dead letters in the order of their numbers.  What was marked was deleted:
 * there are no marks among them.
 */
static void
copies_result(void *arg, unsigned statement, const PGresult *result)
{
	struct copies_question *q = arg;
	struct broker_message **last = &q->found, *m;
	int rows = PQntuples(result);
	(void)statement;
	for (int at = 0; at < rows; at++, last = &m->next) {
		*last = m = read_row(result, at);
		m->again = true;
	}
	/* Where it is full, or cut to size, there may be more. */
	if (rows > 0 &&
	    ((size_t)rows >= q->limit ||
		rows < postgres_pipe_number(result, 0, COLUMN_COUNT)))
		snprintf(q->next, sizeof q->next, "%.*s",
		    SPAN_FMT(postgres_pipe_value(
			result, rows - 1, COLUMN_ORDER)));
}

static void
copies_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct copies_question *q = arg;
	struct broker_copies *copies = q->question.copies;
	int error = trouble == NULL ? 0
	    : trouble->lost	    ? E_BROKER_DOWN
				    : E_BROKER_REFUSED;
	if (error == 0 && copies != NULL) {
		copies->messages = q->found;
		memcpy(copies->next, q->next, sizeof copies->next);
		q->found = NULL;
	}
	reader_ask_end(
	    &q->question, error, error != 0 ? trouble->words : NULL);
	broker_message_free(&q->found);
	free(q);
}

void
postgres_row_copies(struct broker_reader *core, struct broker_copies *copies)
{
	struct postgres_reader *reader = (struct postgres_reader *)core;
	struct copies_question *q = mem_zero(sizeof *q);
	char limit[24];
	q->limit = copies->limit;
	reader_ask_copies(core, copies, &q->question);
	if (!postgres_pipe_is_ready(reader->pipe)) {
		const struct postgres_trouble away = {.lost = true};
		copies_ended(q, &away);
		return;
	}
	snprintf(limit, sizeof limit, "%zu", copies->limit);
	const struct span values[] = {
	    copies->after[0] != '\0' ? span_str(copies->after) : SPAN("0"),
	    span_str(core->source->name), span_str(limit)};
	postgres_pipe_begin(reader->pipe, copies_result, copies_ended, q);
	postgres_pipe_query(reader->pipe, reader->sql.copies, values, 3);
	postgres_pipe_end(reader->pipe);
}
