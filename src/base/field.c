/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>

#include "base/field.h"

/* Sets of bytes: 64 of them to a word, one bit each. */
#define BIT(c) ((uint64_t)1 << ((c) & 63))
#define RANGE(from, to) ((BIT(to) - BIT(from)) | BIT(to))

/* The bytes of a token (RFC 9110, section 5.6.2), from 0 and from 64 on. */
static const uint64_t token_bytes[2] = {
    RANGE('#', '\'') | RANGE('0', '9') | BIT('!') | BIT('*') | BIT('+') |
	BIT('-') | BIT('.'),
    RANGE('A', 'Z') | RANGE('^', 'z') | BIT('|') | BIT('~'),
};

static bool
is_token_byte(unsigned char c)
{
	return c < 128 && (token_bytes[c / 64] & BIT(c)) != 0;
}

bool
field_is_token(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_token_byte((unsigned char)s.ptr[i]))
			return false;
	return s.len > 0;
}

/*
 * True where none of eight bytes is below 0x20, or 0x7f; false is no proof.
 * A byte borrows in the subtraction from the next one only where it is itself
 * one of those that are looked for.
 */
static bool
are_plain(const char *bytes)
{
	const uint64_t ones = 0x0101010101010101u, highs = 0x80 * ones;
	uint64_t word;
	memcpy(&word, bytes, sizeof word);
	uint64_t dels = word ^ (0x7f * ones);
	uint64_t controls = (word - 0x20 * ones) & ~word;
	return ((controls | ((dels - ones) & ~dels)) & highs) == 0;
}

bool
field_is_value(struct span s)
{
	size_t i = 0;
	while (s.len - i >= 8 && are_plain(s.ptr + i))
		i += 8;
	for (; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}
