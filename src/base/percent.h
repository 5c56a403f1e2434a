/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"

/*
 * Percent-encoding (RFC 3986, section 2.1), there and back.  What comes of it
 * lies in the arena.  Pure; any thread.
 */

/* The marks that are never special (RFC 3986, section 2.3). */
#define PERCENT_UNRESERVED "-._~"
/* Encodes all but letters, digits and those marks. */
struct span percent_encode(
    struct arena *arena, struct span text, const char *marks);
/*
 * The reverse; a "%" without two hex digits behind it stands for itself.  form:
 * "+" is a blank (WHATWG URL, section 5.1).
 */
struct span percent_decode(struct arena *arena, struct span text, bool form);
