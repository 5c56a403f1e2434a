/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Decimal digits of whole numbers, for the places that every request passes:
 * printf costs ten times as much.  Pure; any thread.
 */

/* What a number may need, with its sign. */
enum { DIGITS_MAX = 20 };

/* Writes the number and returns how many bytes that were, no NUL. */
size_t digits_put(char *out, int64_t number);
/* The last width digits of a number that is not negative, with zeros. */
void digits_pad(char *out, size_t width, int64_t number);
