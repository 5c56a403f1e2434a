/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/must.h"
#include "base/span.h"
#include "conf/conf.h"

/*
 * An entry of the events streams (store.events) as others see it: its id, and
 * its message as JSON.  It knows no connection.  Pure; any thread.
 */

/* The place of an entry: its shard, and its id in that shard's stream. */
struct event_id {
	unsigned shard;
	uint64_t ms; /* when it was written, by Redis' clock; since 1970 */
	uint64_t number; /* of that millisecond */
};

enum { EVENT_ID_MAX = 10 + 1 + 20 + 1 + 20 + 1 /* with its NUL */ };

/* In the order of time; of one millisecond by number, then by shard. */
int event_compare(const struct event_id *a, const struct event_id *b);
/* "SHARD-MS-SEQ"; false, and nothing is written: it is none. */
MUST_USE bool event_read(struct span text, struct event_id *ret_id);
/* "MS-SEQ", as Redis has it; the shard is left as it is. */
MUST_USE bool event_read_entry(struct span text, struct event_id *ret_id);
/* The reverse of event_read, without a NUL; returns how long it is. */
size_t event_write(const struct event_id *id, char ret_text[EVENT_ID_MAX]);
/* A field of an entry, as the stream has it. */
struct event_field {
	struct span name;
	struct span value;
};
/*
 * The value of the field of that name; empty where there is none.  In "route"
 * an older gateway writes all of a record's provenance.
 */
struct span event_value(
    const struct event_field *fields, size_t count, const char *name);
/*
 * The message, as JSON in the arena: id, key_id, route, from, to, status,
 * attempt, time, instance, request_id, label, and that end, which is "}", or
 * more members and "}".  null is what the entry does not say, what is no UTF-8,
 * or a label that no encryption key of the configuration opens.  A label ends
 * before a NUL, which PostgreSQL's jsonb does not take.
 */
struct span event_message(struct arena *arena, const struct conf_store *conf,
    const struct event_id *id, const struct event_field *fields, size_t count,
    struct span end);
