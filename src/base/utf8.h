/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/span.h"

/*
 * UTF-8 (RFC 3629), strictly: no sequence longer than need be, no
 * surrogates, nothing beyond U+10FFFF.  Pure; any thread.
 */
bool utf8_is_valid(struct span s);

/*
 * The bytes of the character that s, which is not empty, begins with; 0: they
 * are none.
 */
size_t utf8_length(struct span s);

/*
 * As utf8_length, where a terminal shows the character and does not obey it: 0
 * for controls too (C0, DEL, and C1, which are U+0080 to U+009F).
 */
size_t utf8_shown(struct span s);

/* Writes one character, 1 to 4 bytes, and returns how many. */
size_t utf8_put(uint32_t character, char *ret_bytes);
