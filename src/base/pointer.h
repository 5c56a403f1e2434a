/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/span.h"

/*
 * A JSON pointer (RFC 6901) taken apart: its segments in order, "~1" and
 * "~0" already unescaped.  No segments: the whole document.
 */
struct pointer {
	struct span *segments;
	size_t count;
};

struct pointers {
	struct pointer *list;
	size_t count;
};

/* Writes one more segment of a pointer, its slash first, escaped. */
void pointer_write(FILE *out, struct span segment);
