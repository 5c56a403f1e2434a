/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Complaints of the loader, which knows where in the file it is.  The pointer
 * of each is made from the place.  Main thread.
 */

/*
 * The pointer to an option of the object at that place, or (NULL) to the place;
 * the caller frees it.
 */
char *complaints_at_pointer(
    const struct json_place *at, const struct option *option);
/* Complains about what stands at a place; NULL: about the whole file. */
void complaints_at(struct loader *l, const struct json_place *at,
    const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same about a member of the object at that place. */
void complaints_at_option(struct loader *l, const struct json_place *at,
    const struct option *option, const char *fmt, ...) PRINTF_LIKE(4, 5);

/*
 * Whether the value of an option of the object at that place is wrong by
 * itself, so that what is found wrong beside others would only follow.
 */
bool complaints_at_alone(const struct loader *l, const struct json_place *at,
    const struct option *option);

/* Complains about the name of the member at that place. */
void complaints_at_name(struct loader *l, const struct json_place *at,
    const char *fmt, ...) PRINTF_LIKE(3, 4);
