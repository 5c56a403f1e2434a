/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/ascii.h"
#include "base/hex.h"

#define ROW(d)                                                                 \
	d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7"                        \
	d "8" d "9" d "a" d "b" d "c" d "d" d "e" d "f"

/* Both digits of each byte. */
static const char pairs[] =
    ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7")
    ROW("8") ROW("9") ROW("a") ROW("b") ROW("c") ROW("d") ROW("e") ROW("f");

void
hex_encode(const uint8_t *bytes, size_t len, char *ret_hex)
{
	for (size_t i = 0; i < len; i++)
		memcpy(ret_hex + 2 * i, pairs + 2 * (size_t)bytes[i], 2);
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
