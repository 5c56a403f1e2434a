/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdarg.h>
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

/*
 * One more, in the list until the next; the pointer is taken over, and NULL
 * says that it is not about a member.
 */
struct complaint *complaints_add(struct complaints *complaints, char *pointer,
    const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same with its words' arguments. */
struct complaint *complaints_add_with(struct complaints *complaints,
    char *pointer, const char *fmt, va_list args) PRINTF_LIKE(3, 0);
/*
 * Logs each as that event, "file", "member", "line", "column" and "error", and
 * empties the list.
 */
void complaints_log(
    struct complaints *complaints, const char *file, enum event event);
/* Puts them into the order of their places; at one place, as found. */
void complaints_sort(struct complaints *complaints);
/* Empties the list. */
void complaints_free(struct complaints *complaints);
