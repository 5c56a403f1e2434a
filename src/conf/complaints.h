/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/loop/log.h"
#include "base/must.h"

/*
 * What is wrong with a configuration, or a reload does not change, for
 * people: a list of JSON pointers (RFC 6901) with a sentence each, and where in
 * the file that is.  It knows neither the file nor who prints the list.  Main
 * thread; whoever began a list, as zeroed memory, frees it.
 */
struct complaint {
	char *pointer; /* "/" for the whole file; NULL: not about a member */
	char *message;
	/* From 1, columns in characters; 0: not known, or no one place. */
	size_t line;
	size_t column;
	bool of_name; /* it is the member's name, not its value */
	bool warning; /* it is legal, and endangers the promise */
};

struct complaints {
	struct complaint *list;
	size_t count;
};

/* A place in the file: a member or an element of the one it stands in. */
struct json_place {
	const struct json_place *up; /* NULL: it stands in the whole file */
	const char *member;          /* NULL: an element */
	size_t index;
};
/*
 * The pointer to a member of the object at that place, by its path ("tls.ca"),
 * or (NULL) to the place, which may be (NULL) the whole file; the caller frees
 * it.
 */
char *complaints_pointer(const struct json_place *at, const char *path);

/*
 * One more, in the list until the next; the pointer is taken over, and NULL
 * says that it is not about a member.  What was said there already, as of
 * something that several inherit, is not said again.
 */
struct complaint *complaints_add(struct complaints *complaints, char *pointer,
    const char *fmt, ...) PRINTF_LIKE(3, 4);
/*
 * Logs each as that event, "file", "member", "line", "column" and "error", and
 * empties the list.
 */
void complaints_log(
    struct complaints *complaints, const char *file, enum event event);
/* Empties the list. */
void complaints_free(struct complaints *complaints);
