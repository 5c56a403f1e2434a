/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "store/postgres/postgres_name.h"

struct span
postgres_name_quoted(struct arena *arena, struct span text, char quote)
{
	char *out = arena_alloc(arena, 2 * text.len + 3);
	size_t at = 0;
	out[at++] = quote;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == quote)
			out[at++] = quote;
		out[at++] = text.ptr[i];
	}
	out[at++] = quote;
	out[at] = '\0';
	return span_of(out, at);
}

struct span
postgres_name_of(struct arena *arena, const char *name)
{
	return postgres_name_quoted(arena, span_str(name), '"');
}

const char *
postgres_name_table(struct arena *arena, const char *table)
{
	const char *dot = strchr(table, '.');
	if (dot == NULL)
		return postgres_name_of(arena, table).ptr;
	struct span schema = span_of(table, (size_t)(dot - table));
	return arena_printf(arena, "%s.%s",
	    postgres_name_quoted(arena, schema, '"').ptr,
	    postgres_name_of(arena, dot + 1).ptr).ptr;
}
