/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "messages/broker/postgres_private.h"

/* --- headers in --- */

static const char no_strings[] = "its headers are not an object of strings";

static void
add_header(struct broker_message *message, struct span name, struct span value)
{
	struct arena *arena =
	    message->bulk != NULL ? message->bulk : message->arena;
	message->fields.list[message->fields.count++] = (struct field){
	    arena_dup(arena, name), arena_dup(arena, value)};
}

static void
add_as_json(
    struct broker_message *message, const char *name, const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY);
	if (text != NULL)
		add_header(message, span_str(name), span_str(text));
	free(text);
}

static void
expect_fields(struct broker_message *message, size_t most)
{
	struct arena *arena =
	    message->bulk != NULL ? message->bulk : message->arena;
	message->fields.list =
	    arena_alloc(arena, most * sizeof *message->fields.list);
}

/*
 * NULL: well; else what is odd.  What is no string is there as its JSON, for
 * the dead letter that the message becomes.
 */
static const char *
add_fields(struct broker_message *message, json_t *object)
{
	const char *odd = NULL;
	expect_fields(message, json_object_size(object));
	const char *name;
	json_t *value;
	json_object_foreach(object, name, value) {
		if (json_is_null(value))
			continue;
		if (json_is_string(value)) {
			add_header(message, span_str(name),
			    span_of(json_string_value(value),
				json_string_length(value)));
			continue;
		}
		add_as_json(message, name, value);
		odd = no_strings;
	}
	return odd;
}

const char *
postgres_message_fields(struct broker_message *message, struct span text)
{
	if (text.ptr == NULL)
		return NULL;
	json_t *json = json_loadb(
	    text.ptr, text.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	const char *odd = NULL;
	if (json_is_object(json)) {
		odd = add_fields(message, json);
	} else if (json == NULL || !json_is_null(json)) {
		odd = no_strings;
		expect_fields(message, 1);
		add_header(message, SPAN("headers"), text);
	}
	json_decref(json);
	return odd;
}

/* --- a row --- */

static struct span
copy(struct arena *arena, const PGresult *result, int at,
    enum postgres_column column)
{
	struct span value = postgres_pipe_value(result, at, (int)column);
	return value.ptr != NULL ? arena_dup(arena, value) : POSTGRES_NULL;
}

static bool
is_so(const PGresult *result, int at, enum postgres_column column)
{
	return span_eq(
	    postgres_pipe_value(result, at, (int)column), SPAN("true"));
}

static size_t
bytes_of(const struct broker_message *message)
{
	size_t bytes = sizeof *message + message->position.len +
	    message->payload.len + message->entity.len + message->type.len;
	for (size_t i = 0; i < message->fields.count; i++)
		bytes += sizeof(struct field) +
		    message->fields.list[i].name.len +
		    message->fields.list[i].value.len;
	return bytes;
}

static struct broker_message *
message_of(const PGresult *result, int at)
{
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	m->arena = arena;
	m->bulk = arena_new();
	m->position = copy(arena, result, at, COLUMN_ID);
	m->entity = copy(m->bulk, result, at, COLUMN_ENTITY);
	m->type = copy(m->bulk, result, at, COLUMN_TYPE);
	m->payload = copy(m->bulk, result, at, COLUMN_PAYLOAD);
	m->has_payload = m->payload.ptr != NULL;
	m->key = POSTGRES_NULL;
	m->time_ms = -1;
	if (postgres_pipe_value(result, at, COLUMN_TIME).ptr != NULL)
		m->time_ms = postgres_pipe_number(result, at, COLUMN_TIME);
	return m;
}

static void
note_what_is_odd(struct broker_message *m, const PGresult *result, int at,
    size_t most_bytes)
{
	const char *odd = postgres_message_fields(
	    m, postgres_pipe_value(result, at, COLUMN_HEADERS));
	m->too_large = is_so(result, at, COLUMN_TOO_LARGE) ||
	    m->payload.len > most_bytes;
	if (is_so(result, at, COLUMN_IS_NULL))
		odd = "its payload is null";
	if (m->too_large)
		odd = "a column of its row is too large";
	m->odd = odd;
	m->has_payload |= m->odd == NULL;
	m->bytes = bytes_of(m);
}

/* Two numbers: it fits. */
static void
copy_version(
    const PGresult *result, int at, char ret_version[POSTGRES_VERSION_BYTES])
{
	struct span version =
	    postgres_pipe_value(result, at, (int)COLUMN_VERSION);
	if (version.len < POSTGRES_VERSION_BYTES && version.len > 0)
		memcpy(ret_version, version.ptr, version.len);
}

struct broker_message *
postgres_message_read(const PGresult *result, int at, size_t most_bytes,
    struct postgres_row *ret_row)
{
	int64_t part = postgres_pipe_number(result, at, COLUMN_PART);
	if (postgres_pipe_value(result, at, COLUMN_ID).ptr == NULL ||
	    part < 0 || part >= POSTGRES_PARTS)
		return NULL;
	struct broker_message *message = message_of(result, at);
	note_what_is_odd(message, result, at, most_bytes);
	*ret_row = (struct postgres_row){
	    .part = (uint32_t)part,
	    .no_order =
		postgres_pipe_value(result, at, COLUMN_ORDER).ptr == NULL,
	    .position = message->position,
	};
	copy_version(result, at, ret_row->version);
	return message;
}

/* --- headers out --- */

struct writer {
	struct arena *arena;
	char *text;
	size_t len, size;
};

static void
put(struct writer *w, const char *bytes, size_t len)
{
	if (w->size - w->len < len) {
		size_t size = 2 * w->size + len + 256;
		char *text = arena_alloc(w->arena, size);
		if (w->len > 0)
			memcpy(text, w->text, w->len);
		w->text = text;
		w->size = size;
	}
	memcpy(w->text + w->len, bytes, len);
	w->len += len;
}

static void
put_escaped(struct writer *w, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	char text[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
	put(w, text, sizeof text);
}

/* U+FFFD: PostgreSQL reads no object that has a NUL anywhere. */
static const char no_text[] = "\xef\xbf\xbd";

static void
put_string(struct writer *w, struct span s)
{
	put(w, "\"", 1);
	while (s.len > 0) {
		unsigned char c = (unsigned char)s.ptr[0];
		size_t len = utf8_length(s);
		if (c == '\0')
			put(w, no_text, sizeof no_text - 1);
		else if (c == '"' || c == '\\' || c < ' ' || c == 0x7f ||
		    len == 0)
			put_escaped(w, c);
		else
			put(w, s.ptr, len);
		s = span_from(s, len > 0 ? len : 1);
	}
	put(w, "\"", 1);
}

struct span
postgres_message_headers(struct arena *arena, const struct fields *fields)
{
	struct writer w = {.arena = arena};
	put(&w, "{", 1);
	for (size_t i = 0; i < fields->count; i++) {
		if (i > 0)
			put(&w, ",", 1);
		put_string(&w, fields->list[i].name);
		put(&w, ":", 1);
		put_string(&w, fields->list[i].value);
	}
	put(&w, "}", 1);
	return span_of(w.text, w.len);
}
