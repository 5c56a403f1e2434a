/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

#include "base/arena.h"

/*
 * A field is one header line: its name and its value without the blanks
 * around it.  A list of fields keeps order and repetitions.
 */
struct field {
	struct span name;
	struct span value;
};

struct fields {
	struct field *list;
	size_t count;
};

/* An empty list with that much room. */
static inline struct fields
fields_new(struct arena *arena, size_t room)
{
	return (struct fields){
	    arena_alloc(arena, (room + 1) * sizeof(struct field)), 0};
}

/* Appends to a list that has room. */
static inline void
fields_add(struct fields *fields, struct span name, struct span value)
{
	fields->list[fields->count++] = (struct field){name, value};
}

/* The first field of that name from index *at on, moving *at behind it. */
static inline const struct field *
fields_next(const struct fields *fields, struct span name, size_t *at)
{
	while (*at < fields->count) {
		const struct field *f = &fields->list[(*at)++];
		if (span_ieq(f->name, name))
			return f;
	}
	return NULL;
}

static inline const struct field *
fields_first(const struct fields *fields, struct span name)
{
	size_t at = 0;
	return fields_next(fields, name, &at);
}

/*
 * True of names that CGI and its successors do not tell apart: they differ at
 * most in case, and in "_" for "-".
 */
bool field_names_meet(struct span a, struct span b);

/* The kind of a request's field decides what becomes of it. */
enum field_kind {
	FIELD_OTHER, /* it goes on as it came */
	FIELD_HOP,
	FIELD_OWN,
	FIELD_FORWARDED,
	FIELD_OVERRIDE,
};
enum field_kind field_kind(struct span name);
/* The kind of the field whose name it meets. */
enum field_kind field_kind_met(struct span name);

/* True of the bytes of a token: names and methods (RFC 9110, 5.6.2). */
bool field_is_token(struct span s);
/* The number of bytes, from the first on, that are of that kind. */
size_t field_token_bytes(struct span s);
/*
 * Finds what stands behind the scheme of credentials and its blanks (RFC 9110,
 * section 11.4); false: another scheme.
 */
bool field_credentials(
    struct span value, struct span scheme, struct span *ret_rest);
/* True where each byte is 0x21-0x7e, as in a target. */
bool field_is_visible(struct span s);
/* True where each byte is HTAB, 0x20-0x7e or 0x80-0xff (RFC 9110, 5.5). */
bool field_is_value(struct span s);
/* The number of bytes, from the first on, that are of that kind. */
size_t field_value_bytes(struct span s);
