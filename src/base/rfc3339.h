/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/must.h"
#include "base/span.h"

/*
 * A time as RFC 3339 writes it; we do so in UTC with milliseconds, such as
 * "2026-11-28T21:15:00.123Z".  Pure; any thread.
 */
enum { RFC3339_MAX = 32 };

/* ms since 1970; the text, or "" outside of the years 1970 to 9999. */
const char *rfc3339_write(int64_t ms, char text[RFC3339_MAX]);
/* Reads any time of section 5.6 from 1970 on; false: it is none. */
MUST_USE bool rfc3339_read(struct span text, int64_t *ret_ms);
/* Reads it to the last digit of its fraction; of all years, 0 to 9999. */
MUST_USE bool rfc3339_parse(
    struct span text, int64_t *ret_seconds, struct span *ret_fraction);
