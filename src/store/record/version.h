/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/json.h"

/*
 * The version of an entity (newer_only) in digits that compare, byte by byte,
 * like the versions: a script compares them without knowing what they are.  It
 * knows neither entities nor requests.  Pure; any thread.
 *
 *   a number   "1", the sign (0, 1, 2), and unless it is 0 its magnitude as
 *              ten digits (exponent of the first digit, plus 5e9), and its
 *              digits; of a negative number all digits from 9 down, each with a
 *              0 before it, and a 1 at the end
 *   a time     "2", the seconds since 1 March of the year -400 in UTC as twelve
 *              digits, and the digits of the fraction
 *
 * so a time is above every number.
 */

/*
 * A number, or a string that is a time (RFC 3339, section 5.6).  shown is the
 * same as JSON has it, without blanks, at most 64 bytes.  False of anything
 * else, and of what would be longer than that.  They come from the arena.
 */
MUST_USE bool version_read(struct arena *arena, const struct json *json,
    struct span *ret_version, struct span *ret_shown);
