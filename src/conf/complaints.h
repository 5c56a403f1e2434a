/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

#include "base/must.h"

/*
 * What is wrong with a configuration, or a reload does not change, for
 * people: a list of JSON pointers (RFC 6901) with a sentence each.  It knows
 * neither the file nor who prints the list.  Main thread; whoever began a
 * list, as zeroed memory, frees it.
 */
struct complaint {
	char *pointer; /* "/" for the whole file; NULL: not about a member */
	char *message;
};

struct complaints {
	struct complaint *list;
	size_t count;
};

/* One more; a NULL pointer says that it is not about a member. */
void complaints_add(struct complaints *complaints, const char *pointer,
    const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Empties the list. */
void complaints_free(struct complaints *complaints);
