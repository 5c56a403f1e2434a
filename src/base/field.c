/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/field.h"
#include "base/word.h"

/* The bytes of a token (RFC 9110, section 5.6.2). */
static const bool is_token_byte[256] = {
    ['!'] = true,
    ['#' ... '\''] = true,
    ['*'] = true,
    ['+'] = true,
    ['-'] = true,
    ['.'] = true,
    ['0' ... '9'] = true,
    ['A' ... 'Z'] = true,
    ['^' ... 'z'] = true,
    ['|'] = true,
    ['~'] = true,
};

bool
field_is_token(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_token_byte[(unsigned char)s.ptr[i]])
			return false;
	return s.len > 0;
}

/* No control among eight bytes. */
static bool
are_plain(const char *bytes)
{
	uint64_t word = word_at(bytes);
	return !word_may_be_below(word, 0x20) && !word_may_have(word, 0x7f);
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
