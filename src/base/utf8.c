/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utf8.h"

size_t
utf8_length(struct span s)
{
	const uint8_t *p = (const uint8_t *)s.ptr;
	if (p[0] < 0x80)
		return 1;
	/* Unicode, table 3-7. */
	size_t len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint8_t low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
	uint8_t high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;

	if (p[0] < 0xc2 || p[0] > 0xf4 || s.len < len)
		return 0;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	}
	return len;
}

size_t
utf8_shown(struct span s)
{
	const uint8_t *p = (const uint8_t *)s.ptr;
	bool c1 = s.len > 1 && p[0] == 0xc2 && p[1] < 0xa0;
	return p[0] < 0x20 || p[0] == 0x7f || c1 ? 0 : utf8_length(s);
}

bool
utf8_is_valid(struct span s)
{
	for (size_t len; s.len > 0; s = span_from(s, len))
		if ((len = utf8_length(s)) == 0)
			return false;
	return true;
}

size_t
utf8_put(uint32_t c, char *ret_bytes)
{
	uint8_t *p = (uint8_t *)ret_bytes;
	if (c < 0x80) {
		p[0] = (uint8_t)c;
		return 1;
	}
	size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = len; i-- > 1; c >>= 6)
		p[i] = (uint8_t)(0x80 | (c & 0x3f));
	/* The first has a one for each byte, a zero, and the rest. */
	p[0] = (uint8_t)((0xf00 >> len) | c);
	return len;
}
