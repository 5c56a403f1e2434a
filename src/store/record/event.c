/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/digits.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "store/record/event.h"
#include "store/record/label.h"
#include "store/record/provenance.h"

enum { SHARD_MAX = 1023 };

int
event_compare(const struct event_id *a, const struct event_id *b)
{
	if (a->ms != b->ms)
		return a->ms < b->ms ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->shard < b->shard ? -1 : a->shard > b->shard;
}

bool
event_read_entry(struct span text, struct event_id *ret_id)
{
	struct span part;
	int64_t ms, number;
	if (!span_next(&text, '-', &part) ||
	    !digits_read(part, INT64_MAX, &ms) ||
	    !span_next(&text, '-', &part) ||
	    !digits_read(part, INT64_MAX, &number) || text.ptr != NULL)
		return false;
	ret_id->ms = (uint64_t)ms;
	ret_id->number = (uint64_t)number;
	return true;
}

bool
event_read(struct span text, struct event_id *ret_id)
{
	struct span part;
	int64_t shard;
	if (!span_next(&text, '-', &part) ||
	    !digits_read(part, SHARD_MAX, &shard) || text.ptr == NULL ||
	    !event_read_entry(text, ret_id))
		return false;
	ret_id->shard = (unsigned)shard;
	return true;
}

size_t
event_write(const struct event_id *id, char ret_text[EVENT_ID_MAX])
{
	char *to = ret_text + digits_put(ret_text, id->shard);
	*to++ = '-';
	to += digits_put(to, (int64_t)id->ms);
	*to++ = '-';
	to += digits_put(to, (int64_t)id->number);
	return (size_t)(to - ret_text);
}

/* --- the message --- */

/* In the order of a message, each with its field: the entry's, or one MADE. */
static const struct member {
	const char *name;
	struct span field;
	enum { TEXT, ROUTE, NUMBER, MADE } kind;
} members[] = {
    {"id", {"id", 2}, MADE},
    {"key_id", {"id", 2}, TEXT},
    {"route", {"route", 5}, ROUTE},
    {"from", {"from", 4}, TEXT},
    {"to", {"to", 2}, TEXT},
    {"status", {"status", 6}, NUMBER},
    {"attempt", {"attempt", 7}, NUMBER},
    {"time", {"time", 4}, MADE},
    {"instance", {"instance", 8}, TEXT},
    {"request_id", {"request_id", 10}, TEXT},
    {"label", {"label", 5}, MADE},
};

/* The first field of that name that can be read; or null. */
static char *
put_value(char *to, const struct member *member,
    const struct event_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct span value = fields[i].value;
		int64_t number;
		if (!span_eq(fields[i].name, member->field))
			continue;
		if (member->kind == ROUTE)
			value = provenance_read(value).route;
		if (member->kind != NUMBER && utf8_is_valid(value))
			return json_put(to, value);
		if (member->kind == NUMBER &&
		    digits_read(value, INT32_MAX, &number))
			return to + digits_put(to, number);
	}
	return span_put(to, SPAN("null"));
}

struct span
event_value(
    const struct event_field *fields, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (span_eq(fields[i].name, span_str(name)))
			return fields[i].value;
	return SPAN("");
}

struct span
event_message(struct arena *arena, const struct conf_store *conf,
    const struct event_id *id, const struct event_field *fields, size_t count,
    struct span end)
{
	char text[EVENT_ID_MAX], time[RFC3339_MAX];
	struct arena *scratch = arena_new();
	struct event_field made[] = {
	    {SPAN("id"), span_of(text, event_write(id, text))},
	    {SPAN("time"), span_str(rfc3339_write((int64_t)id->ms, time))},
	    {SPAN("label"), SPAN("")}};
	struct span *label = &made[2].value;
	/* Of names, numbers, and what is made; and of texts. */
	size_t n_made = 2, most = 512 + end.len;
	/* It may be sealed for the key that the entry is of. */
	struct key_id key_id;
	if (hex_decode(event_value(fields, count, "id"), key_id.bytes,
		sizeof key_id.bytes) &&
	    label_read(scratch, conf, &key_id,
		event_value(fields, count, "label"), label)) {
		label->len = strnlen(label->ptr, label->len);
		n_made++;
	}
	for (size_t i = 0; i < count; i++)
		most += 6 * fields[i].value.len;
	char *message = arena_alloc(scratch, most), *to = message;
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		*to++ = i > 0 ? ',' : '{';
		to = json_put(to, span_str(members[i].name));
		*to++ = ':';
		to = members[i].kind == MADE
		    ? put_value(to, &members[i], made, n_made)
		    : put_value(to, &members[i], fields, count);
	}
	to = span_put(to, end);
	struct span copy =
	    arena_dup(arena, span_of(message, (size_t)(to - message)));
	arena_free(&scratch);
	return copy;
}
