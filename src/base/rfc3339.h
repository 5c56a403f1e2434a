/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/must.h"
#include "base/span.h"

/*
 * A time as RFC 3339 writes it, in UTC with milliseconds, such as
 * "2026-11-28T21:15:00.123Z".  Pure; any thread.
 */
enum { RFC3339_MAX = 32 };

/* ms since 1970; the text, or "" outside of the years 1970 to 9999. */
const char *rfc3339_write(int64_t ms, char text[RFC3339_MAX]);
/* Reads what that has written; false: it is none such. */
MUST_USE bool rfc3339_read(struct span text, int64_t *ret_ms);
