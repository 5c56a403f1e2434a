/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/message_text.h"
#include "messages/source/shape_key.h"

/* --- what it is made of --- */

/* Where it stands, in words that no other message of any broker has. */
static struct span
position_key(const struct conf_source *source,
    const struct broker_message *m, struct arena *arena)
{
	const char *place =
	    source->stream != NULL ? source->stream : source->table;
	/* Kafka's has its topic in it. */
	if (m->part.ptr != NULL)
		return arena_printf(arena, "%s/%.*s", source->broker->name,
		    SPAN_FMT(message_text_encode(arena, m->position)));
	return arena_printf(arena, "%s/%.*s/%.*s", source->broker->name,
	    SPAN_FMT(message_text_encode(arena, span_str(place))),
	    SPAN_FMT(message_text_encode(arena, m->position)));
}

/*
 * An event is its source and id (CloudEvents 1.0, section 3.1.1), each with its
 * length, so that no two pairs blur.
 */
static bool
event_key(
    const struct broker_message *m, struct arena *arena, struct span *ret_key)
{
	const struct field *from = message_text_field(m, SPAN("ce-source"));
	const struct field *id = message_text_field(m, SPAN("ce-id"));
	if (from == NULL || id == NULL || from->value.len == 0 ||
	    id->value.len == 0)
		return false;
	*ret_key = arena_printf(arena, "%zu:%.*s/%zu:%.*s", from->value.len,
	    SPAN_FMT(message_text_encode(arena, from->value)), id->value.len,
	    SPAN_FMT(message_text_encode(arena, id->value)));
	return true;
}

/* Whether an HTTP client would have sent its key in such a field. */
static bool
is_key_of_client(const struct claimant *c, struct span name)
{
	const struct strings *names = &c->policy->headers;
	for (size_t i = 0; i < names->count; i++)
		if (field_names_meet(name, span_str(names->list[i])))
			return true;
	return field_names_meet(name, SPAN("Idempotency-Key"));
}

static bool
is_key(const struct conf_source *source, const struct claimant *c,
    struct span name)
{
	return source->key == SOURCE_KEY_HEADER
	    ? field_names_meet(name, span_str(source->key_header))
	    : is_key_of_client(c, name);
}

/* How many fields have a key; the first of them is the key's. */
static size_t
find_keys(const struct conf_source *source, const struct broker_message *m,
    const struct claimant *c, const struct field **ret_first)
{
	size_t count = 0;
	for (size_t i = 0; i < m->fields.count; i++) {
		const struct field *f = &m->fields.list[i];
		if (is_key(source, c, f->name) && count++ == 0)
			*ret_first = f;
	}
	return count;
}

/* --- as the value of its field --- */

static bool
is_bare(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (c < 0x21 || c > 0x7e || c == ',' || c == '"' || c == ';')
			return false;
	}
	return s.len > 0;
}

/* As a quoted string (RFC 8941, section 3.3.3) where it has to be one. */
static struct span
as_value(const struct claimant *c, struct span key)
{
	if (c->policy->key_format != KEY_QUOTED && is_bare(key))
		return key;
	char *out = arena_alloc(c->arena, 2 * key.len + 3);
	size_t len = 0;
	out[len++] = '"';
	for (size_t i = 0; i < key.len; i++) {
		if (key.ptr[i] == '"' || key.ptr[i] == '\\')
			out[len++] = '\\';
		out[len++] = key.ptr[i];
	}
	out[len++] = '"';
	return span_of(out, len);
}

/* The value of the key's field. */
static enum key_verdict
key_value(const struct conf_source *source, const struct broker_message *m,
    struct claimant *c, struct span *ret_value)
{
	const struct field *f = NULL;
	struct span key;
	size_t count = source->key == SOURCE_KEY_POSITION
	    ? 0
	    : find_keys(source, m, c, &f);
	if (count > 1) {
		c->key.message = "More than one field has an idempotency key.";
		return KEY_INVALID;
	}
	*ret_value = f != NULL ? f->value : SPAN("");
	if (f != NULL)
		return KEY_FOUND;
	if (source->key == SOURCE_KEY_HEADER)
		return KEY_MISSING;
	f = message_text_field(m, SPAN("webhook-id"));
	if (source->key == SOURCE_KEY_POSITION)
		key = position_key(source, m, c->arena);
	else if (!event_key(m, c->arena, &key))
		key = f != NULL && f->value.len > 0
		    ? f->value
		    : position_key(source, m, c->arena);
	*ret_value = as_value(c, key);
	return KEY_FOUND;
}

/* --- the claimant's --- */

/* The key that the route's derive_key would make of the same members. */
static enum key_verdict
derive(const struct conf_source *source, struct claimant *c)
{
	struct conf_idempotency policy = *c->policy;
	policy.derive_from_body = false;
	policy.derive_from = source->key_pointers;
	c->derived = true;
	return key_derive(c->arena, &policy, &c->content, &c->key);
}

enum key_verdict
shape_key(const struct conf_source *source, const struct broker_message *m,
    struct claimant *c)
{
	if (source->key == SOURCE_KEY_POINTERS)
		return derive(source, c);
	struct span value;
	enum key_verdict verdict = key_value(source, m, c, &value);
	if (verdict != KEY_FOUND)
		return verdict;
	if (!field_is_value(value)) {
		c->key.message = "The idempotency key has control characters.";
		return KEY_INVALID;
	}
	struct fields *fields = &c->head.fields;
	fields->list[fields->count++] = (struct field){
	    span_str(c->policy->headers.list[0]), value};
	return key_find(c->arena, c->policy, fields, &c->key);
}
