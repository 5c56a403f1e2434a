/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * The admin interface's JSON is printed for people here.  Control characters in
 * the text of upstreams, clients and messages are never written to a terminal.
 * Main thread.
 */
enum { VALUES_COLUMNS_MAX = 12 };

struct values_column {
	const char *title;
	const char *name; /* of the member */
	bool age; /* shows how far that time is from now, instead of it */
};

/* True where one of the objects has a member of this name. */
bool values_have(const json_t *objects, const char *name);
/* Prints a table, one object a line. */
void values_table(const json_t *objects, const struct values_column *columns,
    size_t n_columns);
/* Prints one object, a member a line, and a record's stored answer. */
void values_object(json_t *object);
