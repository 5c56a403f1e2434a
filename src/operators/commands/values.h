/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/command.h"

/*
 * The admin interface is asked, and its JSON printed for people.  Control
 * characters in the text of upstreams, clients and messages are never written
 * to a terminal.  Main thread.
 */
enum { VALUES_COLUMNS_MAX = 12 };

struct values_column {
	const char *title;
	const char *name; /* of the member */
	bool age; /* shows how far that time is from now, instead of it */
};

/*
 * Prints a table, one object a line.  A last column of labels is left out where
 * none of them has one.
 */
void values_table(const json_t *objects, const struct values_column *columns,
    size_t n_columns);
/* Prints one object, a member a line, and a record's stored answer. */
void values_object(json_t *object);

/* METHOD /FOLDER/NAME and the path behind that, with that body. */
struct values_request {
	const char *method, *folder, *behind;
	json_t *in; /* is taken; NULL: none */
	/* What people read is "NAME: DONE"; NULL: what print writes. */
	const char *done;
	void (*print)(json_t *answer);
	const struct command_meant *meant; /* of each name; NULL: any */
};
/*
 * Asks about each name, and prints the answers; one that is refused stops no
 * other.  Returns an exit status.
 */
int values_ask(const struct command_line *line, const char *const *names,
    size_t count, const struct values_request *request);
