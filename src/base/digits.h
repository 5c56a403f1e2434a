/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/must.h"
#include "base/span.h"

/*
 * Whole numbers as decimal digits, there and back.  Writing is for the places
 * that every request passes: printf costs ten times as much.  Reading is for
 * what others say: it believes digits alone (no sign, no blank, nothing
 * behind them), and no number above a bound.  Pure; any thread.
 */

/* The most bytes that a number may need, with its sign. */
enum { DIGITS_MAX = 20 };

/* Writes the number and returns how many bytes that were, no NUL. */
size_t digits_put(char *out, int64_t number);
/* The last width digits of a number that is not negative, with zeros. */
void digits_pad(char *out, size_t width, int64_t number);

/*
 * The number that all bytes of text are the digits of, one at least, leading
 * zeros allowed.  False, and nothing is written, where there is another byte,
 * or none, or the number is above max (which is not negative).
 */
MUST_USE bool digits_read(struct span text, int64_t max, int64_t *ret_number);
/* The same of a number that has one text: no zero stands before a digit. */
MUST_USE static inline bool
digits_read_exact(struct span text, int64_t max, int64_t *ret_number)
{
	return (text.len < 2 || text.ptr[0] != '0') &&
	    digits_read(text, max, ret_number);
}
/*
 * Takes the digits off the front of *text and returns how many those were; 0
 * where it begins with none.  *ret_number is max where the number is greater.
 */
size_t digits_take(struct span *text, int64_t max, int64_t *ret_number);
