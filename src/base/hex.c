/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/hex.h"

void
hex_encode(const uint8_t *bytes, size_t len, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[bytes[i] >> 4];
		ret_hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_hex[2 * len] = '\0';
}

bool
hex_decode(struct span s, uint8_t *ret_bytes, size_t len)
{
	if (s.len != 2 * len)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (ascii_hex_value(s.ptr[i]) < 0)
			return false;
	for (size_t i = 0; i < len; i++)
		ret_bytes[i] = (uint8_t)(ascii_hex_value(s.ptr[2 * i]) << 4 |
		    ascii_hex_value(s.ptr[2 * i + 1]));
	return true;
}
