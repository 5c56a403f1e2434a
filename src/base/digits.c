/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

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
