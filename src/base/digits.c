/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/ascii.h"
#include "base/digits.h"

size_t
digits_put(char *out, int64_t number)
{
	if (number >= 0 && number < 10) {
		*out = (char)('0' + number);
		return 1;
	}
	char text[DIGITS_MAX];
	char *at = text + sizeof text;
	uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (number < 0)
		*--at = '-';
	size_t len = (size_t)(text + sizeof text - at);
	memcpy(out, at, len);
	return len;
}

void
digits_pad(char *out, size_t width, int64_t number)
{
	for (; width > 0; number /= 10)
		out[--width] = (char)('0' + number % 10);
}

/* Whether one more digit still fits into 64 bits. */
static bool
has_room(uint64_t number)
{
	return number <= (uint64_t)INT64_MAX / 10;
}

size_t
digits_take(struct span *text, int64_t max, int64_t *ret_number)
{
	uint64_t number = 0;
	size_t len = 0;
	for (; len < text->len && ascii_is_digit(text->ptr[len]); len++) {
		if (has_room(number))
			number = 10 * number + (uint64_t)(text->ptr[len] - '0');
		else
			number = UINT64_MAX;
	}
	*ret_number = number > (uint64_t)max ? max : (int64_t)number;
	*text = span_from(*text, len);
	return len;
}

bool
digits_read(struct span text, int64_t max, int64_t *ret_number)
{
	uint64_t number = 0;
	if (text.len == 0)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!ascii_is_digit(text.ptr[i]) || !has_room(number))
			return false;
		number = 10 * number + (uint64_t)(text.ptr[i] - '0');
	}
	if (number > (uint64_t)max)
		return false;
	*ret_number = (int64_t)number;
	return true;
}
