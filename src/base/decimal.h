/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/must.h"

/*
 * Decimal numbers of any size and precision, compared without arithmetic on
 * their value: each has one spelling.  It knows nothing of where a number
 * comes from.  Any thread.
 */

/*
 * Takes a number as JSON has it (RFC 8259, section 6) off the front of *text;
 * false where that begins with none.  Its one spelling is "0", or sign, digits
 * without zeros at either end, and the exponent unless it is 0: that of
 * -12.50e3 is "-125e2".  It is never much longer than the number (1e999999999
 * stays as short as it is).  It comes from the arena or points into the text.
 */
MUST_USE bool decimal_take(
    struct arena *arena, struct span *text, struct span *ret_spelling);

/*
 * A spelling without its exponent, as people write numbers: "-125e2" is
 * "-12500", "5e-2" is "0.05".  One that would have more than 64 digits stays as
 * it is.
 */
struct span decimal_plain(struct arena *arena, struct span spelling);
