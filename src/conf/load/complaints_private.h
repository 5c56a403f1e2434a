/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Complaints of the loader, which knows where in the file it is.  The pointer
 * of each is made from the place.  Main thread.
 */

/*
 * The pointer to a member of the object at that place, by its path ("tls.ca"),
 * or (NULL) to the place; the caller frees it.
 */
char *complaints_at_pointer(const struct json_place *at, const char *path);
/*
 * Complains about a member of the object at that place, which has that path
 * there; of none, about what stands there, or (NULL) about the whole file.
 */
void complaints_at_member(struct loader *l, const struct json_place *at,
    const char *path, const char *fmt, ...) PRINTF_LIKE(4, 5);
#define complaints_at(l, at, ...) \
	complaints_at_member(l, at, NULL, __VA_ARGS__)
/* Complains about the name of the member at that place. */
void complaints_at_name(struct loader *l, const struct json_place *at,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

/*
 * Whether the value of a member of the object at that place is wrong by itself,
 * so that what is found wrong beside others would only follow.
 */
bool complaints_at_alone(const struct loader *l, const struct json_place *at,
    const char *path);
