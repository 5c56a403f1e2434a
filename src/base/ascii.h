/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/*
 * The classes of bytes in ASCII, whatever the locale says.  Pure; any thread.
 */
static inline bool
ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
ascii_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool
ascii_is_alpha(char c)
{
	return ascii_is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* The value of a hex digit, of either case; -1: it is none. */
static inline int
ascii_hex_value(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* True where one of the bytes is a control: C0 or DEL, tab included. */
static inline bool
ascii_has_controls(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
			return true;
	return false;
}
