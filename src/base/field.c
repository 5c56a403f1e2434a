/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>

#include "base/field.h"

/* The bytes of a token besides letters and digits (RFC 9110, 5.6.2). */
static const char token_marks[] = "!#$%&'*+-.^_`|~";

static bool
is_token_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') ||
	    (c != '\0' && strchr(token_marks, c) != NULL);
}

bool
field_is_token(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_token_byte((unsigned char)s.ptr[i]))
			return false;
	return s.len > 0;
}

bool
field_is_value(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}
