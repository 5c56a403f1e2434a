/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/field.h"

/*
 * The fields of an answer that somebody has written down as JSON: an object, or
 * a list of pairs of a name and a value.  What cannot stand in a head, belongs
 * to framing or to the connection, or is the gateway's own, is refused.  Pure;
 * any thread.
 *
 * Returns NULL, or a sentence about what is wrong.  headers NULL: there are
 * none.  The list comes from the arena; names and values point into headers.
 */
const char *answer_fields_read(
    struct arena *arena, json_t *headers, struct fields *ret_fields);
