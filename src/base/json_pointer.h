/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/must.h"
#include "base/span.h"

/*
 * A JSON pointer (RFC 6901) taken apart: its segments in order, "~1" and
 * "~0" already unescaped.  No segments: the whole document.  It knows no JSON.
 * Pure; any thread.
 */
struct json_pointer {
	struct span *segments;
	size_t count;
};

struct json_pointers {
	struct json_pointer *list;
	size_t count;
};

/*
 * Takes a pointer with one segment at least apart, which lives in the arena.
 * False where the text is none.
 */
MUST_USE bool json_pointer_read(struct arena *arena, struct span text,
    struct json_pointer *ret_pointer);
bool json_pointer_is_in(
    const struct json_pointer *pointer, const struct json_pointers *list);
/* Writes one more segment of a pointer, its slash first, escaped. */
void json_pointer_write(FILE *out, struct span segment);
/* All of it as it is written; the caller frees it. */
char *json_pointer_text(const struct json_pointer *pointer);
