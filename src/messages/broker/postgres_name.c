/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "messages/broker/postgres_name.h"

struct span
postgres_name_quoted(struct arena *arena, struct span name)
{
	char *out = arena_alloc(arena, 2 * name.len + 3);
	size_t at = 0;
	out[at++] = '"';
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '"')
			out[at++] = '"';
		out[at++] = name.ptr[i];
	}
	out[at++] = '"';
	return span_of(out, at);
}

struct span
postgres_name_table(struct arena *arena, const char *table)
{
	const char *dot = strchr(table, '.');
	if (dot == NULL)
		return postgres_name_quoted(arena, span_str(table));
	struct span schema =
	    postgres_name_quoted(arena, span_of(table, (size_t)(dot - table)));
	struct span name = postgres_name_quoted(arena, span_str(dot + 1));
	return arena_printf(
	    arena, "%.*s.%.*s", SPAN_FMT(schema), SPAN_FMT(name));
}
