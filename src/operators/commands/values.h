/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * What the admin interface gives (JSON), printed for people.  What upstreams,
 * clients and messages say is never written to a terminal as it is.  Main
 * thread.
 */
enum { VALUES_COLUMNS_MAX = 12 };

struct values_column {
	const char *title;
	const char *name; /* of the member */
	bool age;         /* how far that time is from now, instead of it */
};

/* One of the objects has a member of this name. */
bool values_have(const json_t *objects, const char *name);
/* A table, one object a line. */
void values_table(const json_t *objects, const struct values_column *columns,
    size_t n_columns);
/* One object, a member a line, and a record's stored answer. */
void values_object(json_t *object);
