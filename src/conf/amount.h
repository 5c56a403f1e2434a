/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Amounts as the configuration spells them: "30s" and "64KiB".  Pure; any
 * thread.
 */
enum amount_kind { AMOUNT_COUNT, AMOUNT_DURATION, AMOUNT_SIZE };

/*
 * Digits and a unit of durations (to milliseconds) or sizes (to bytes);
 * INT64_MAX where the amount is beyond that, so that a range refuses it.
 * False where the text is anything else.
 */
bool amount_read(
    const char *text, enum amount_kind kind, int64_t *ret_amount);
/* Digits, a sign, a unit, and a NUL. */
struct amount_words {
	char text[20 + 1 + 3 + 1];
};
/*
 * The amount with the largest unit that fits.  A count, and a number of bytes
 * without a unit, are only digits.
 */
struct amount_words amount_words(int64_t amount, enum amount_kind kind);
