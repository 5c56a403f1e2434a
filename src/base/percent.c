/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/hex.h"
#include "base/percent.h"

struct span
percent_encode(struct arena *arena, struct span text, const char *marks)
{
	static const char digits[] = "0123456789ABCDEF";
	char *out = arena_alloc(arena, 3 * text.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (ascii_is_alpha(c) || ascii_is_digit(c) ||
		    (c != '\0' && strchr(marks, c) != NULL)) {
			out[len++] = c;
			continue;
		}
		out[len++] = '%';
		out[len++] = digits[(unsigned char)c >> 4];
		out[len++] = digits[(unsigned char)c & 15];
	}
	return span_of(out, len);
}

struct span
percent_decode(struct arena *arena, struct span text, bool form)
{
	char *out = arena_alloc(arena, text.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = (uint8_t)text.ptr[i];
		if (form && byte == '+')
			byte = ' ';
		else if (byte == '%' && i + 2 < text.len &&
		    hex_decode(span_of(text.ptr + i + 1, 2), &byte, 1))
			i += 2;
		out[len++] = (char)byte;
	}
	return span_of(out, len);
}
