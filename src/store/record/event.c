/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "base/hex.h"
#include "base/rfc3339.h"
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

/* --- the message --- */

/* The members, in the order of a message, each with its field of the entry. */
static const struct member {
	const char *name;
	struct span field;
	enum { TEXT, ROUTE, NUMBER, TIME } kind;
} members[] = {
    {"key_id", {"id", 2}, TEXT},
    {"route", {"route", 5}, ROUTE},
    {"from", {"from", 4}, TEXT},
    {"to", {"to", 2}, TEXT},
    {"status", {"status", 6}, NUMBER},
    {"attempt", {"attempt", 7}, NUMBER},
    {"time", {"", 0}, TIME}, /* of the id */
    {"instance", {"instance", 8}, TEXT},
    {"request_id", {"request_id", 10}, TEXT},
};

/* The first field of that name that can be read; or null. */
static json_t *
member_json(const struct member *member, const struct event_field *fields,
    size_t count)
{
	json_t *json = NULL;
	for (size_t i = 0; i < count && json == NULL; i++) {
		struct span value = fields[i].value;
		int64_t number;
		if (!span_eq(fields[i].name, member->field))
			continue;
		if (member->kind == ROUTE)
			value = provenance_read(value).route;
		if (member->kind != NUMBER)
			json = json_stringn(value.ptr, value.len);
		else if (digits_read(value, INT32_MAX, &number))
			json = json_integer(number);
	}
	return json != NULL ? json : json_null();
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

json_t *
event_message(const struct conf_store *conf, const struct event_id *id,
    const struct event_field *fields, size_t count)
{
	char text[EVENT_ID_MAX], time[RFC3339_MAX];
	json_t *message = json_object(), *label = NULL;
	snprintf(text, sizeof text, "%u-%" PRIu64 "-%" PRIu64, id->shard,
	    id->ms, id->number);
	must(json_object_set_new(message, "id", json_string(text)) == 0);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		must(json_object_set_new(message, members[i].name,
			 members[i].kind == TIME
			     ? json_string(rfc3339_write((int64_t)id->ms, time))
			     : member_json(&members[i], fields, count)) == 0);

	/* It may be sealed for the key that the entry is of. */
	struct key_id key_id;
	struct span plain;
	struct arena *scratch = arena_new();
	if (hex_decode(event_value(fields, count, "id"), key_id.bytes,
		sizeof key_id.bytes) &&
	    label_read(scratch, conf, &key_id,
		event_value(fields, count, "label"), &plain))
		label = json_stringn(
		    plain.ptr, strnlen(plain.ptr, plain.len));
	arena_free(&scratch);
	must(json_object_set_new(message, "label",
		 label != NULL ? label : json_null()) == 0);
	return message;
}
