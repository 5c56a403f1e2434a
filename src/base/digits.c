/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/ascii.h"
#include "base/digits.h"

#define TEN(d) \
	d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7" d "8" d "9"

/* The digits of 0 to 99. */
static const char pairs[] = TEN("0") TEN("1") TEN("2") TEN("3") TEN("4")
    TEN("5") TEN("6") TEN("7") TEN("8") TEN("9");

static size_t
put_number(char *out, uint64_t number)
{
	size_t len = 0;
	if (number < 10) {
		*out = (char)('0' + number);
		return 1;
	}
	/* Most have a few digits only. */
	if (number >= 100)
		len = put_number(out, number / 100);
	memcpy(out + len, pairs + 2 * (number % 100), 2);
	return len + 2;
}

size_t
digits_put(char *out, int64_t number)
{
	if (number >= 0)
		return put_number(out, (uint64_t)number);
	*out = '-';
	return 1 + put_number(out + 1, 0 - (uint64_t)number);
}

void
digits_pad(char *out, size_t width, int64_t number)
{
	for (; width >= 2; number /= 100)
		memcpy(out + (width -= 2), pairs + 2 * (number % 100), 2);
	if (width > 0)
		*out = (char)('0' + number % 10);
}

/*
 * Counts the digits that a text begins with.  *ret_number is their number, or
 * UINT64_MAX where that has no room in an int64_t.
 */
static size_t
read_digits(struct span text, uint64_t *ret_number)
{
	enum { SAFE = 18 }; /* so many digits always have room */
	uint64_t number = 0;
	size_t len = 0, safe = text.len < SAFE ? text.len : SAFE;
	for (; len < safe && ascii_is_digit(text.ptr[len]); len++)
		number = 10 * number + (uint64_t)(text.ptr[len] - '0');
	for (; len < text.len && ascii_is_digit(text.ptr[len]); len++) {
		if (number <= (uint64_t)INT64_MAX / 10)
			number = 10 * number + (uint64_t)(text.ptr[len] - '0');
		else
			number = UINT64_MAX;
	}
	*ret_number = number;
	return len;
}

size_t
digits_take(struct span *text, int64_t max, int64_t *ret_number)
{
	uint64_t number;
	size_t len = read_digits(*text, &number);
	*ret_number = number > (uint64_t)max ? max : (int64_t)number;
	*text = span_from(*text, len);
	return len;
}

bool
digits_read(struct span text, int64_t max, int64_t *ret_number)
{
	uint64_t number;
	if (text.len == 0 || read_digits(text, &number) < text.len ||
	    number > (uint64_t)max)
		return false;
	*ret_number = (int64_t)number;
	return true;
}
