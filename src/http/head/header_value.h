/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/field.h"

/*
 * The values of single header fields: Date, X-Request-Id, Prefer and
 * Retry-After.  It knows nothing of who sends them.  Pure but for the random
 * digits of a request's id; any thread.
 */

/* A time as Date has it: IMF-fixdate (RFC 9110, section 5.6.7). */
struct span header_value_date(struct arena *arena, int64_t wall_ms);

/*
 * The client's X-Request-Id where it is one line of 1 to 128 of the bytes
 * A-Z a-z 0-9 . _ ~ + / = : @ -, else 32 new random hex digits.
 */
struct span header_value_request_id(
    struct arena *arena, const struct fields *fields);

/*
 * The seconds of a preference "wait=N" (RFC 7240, section 4.3), at most a
 * day; -1 for any other preference.
 */
int64_t header_value_prefer_wait(struct span preference);

/*
 * The time that Retry-After asks for (RFC 9110, section 10.2.3), in ms from
 * now_ms (since 1970), a year at most; 0 where there is none, or nothing that
 * makes sense.
 */
int64_t header_value_retry_after(const struct fields *fields, int64_t now_ms);
