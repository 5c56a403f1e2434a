/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "base/hex.h"
#include "operators/admin/admin_query.h"

enum { LIMIT_MAX = 1000 };

bool
admin_query_next(
    struct span *query, struct span *ret_name, struct span *ret_value)
{
	struct span piece;
	do {
		if (!span_next(query, '&', &piece))
			return false;
	} while (piece.len == 0);
	const char *sign = memchr(piece.ptr, '=', piece.len);
	size_t len = sign ? (size_t)(sign - piece.ptr) : piece.len;
	*ret_name = span_of(piece.ptr, len);
	*ret_value = sign ? span_from(piece, len + 1) : SPAN("");
	return true;
}

bool
admin_query_limit(struct span digits, size_t *ret_limit)
{
	int64_t limit;
	if (digits.len > 9 || !digits_read(digits, 999999999, &limit))
		return false;
	*ret_limit = limit < LIMIT_MAX ? (size_t)limit : LIMIT_MAX;
	return limit > 0;
}

struct span
admin_query_text(struct arena *arena, struct span value)
{
	char *out = arena_alloc(arena, value.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < value.len; i++) {
		uint8_t byte = (uint8_t)value.ptr[i];
		if (byte == '+')
			byte = ' ';
		else if (byte == '%' && i + 2 < value.len &&
		    hex_decode(span_of(value.ptr + i + 1, 2), &byte, 1))
			i += 2;
		out[len++] = (char)byte;
	}
	return span_of(out, len);
}
