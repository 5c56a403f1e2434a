/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * What JSONC has besides JSON, taken away for a reader that knows JSON alone:
 * comments, from two slashes to the end of the line or between slash-star and
 * star-slash, and a byte order mark.  Strings stay as they are, and every other
 * byte stays where it is.  Pure; any thread.
 */

/* Puts a blank in the place of each byte of a comment but line feeds. */
void comments_blank(char *text, size_t len);
/*
 * How many bytes the comment has that the text begins with, a line feed at its
 * end left out; 0: it begins with none.  One that is never closed has all;
 * *ret_closed is false then.
 */
size_t comments_length(const char *text, size_t len, bool *ret_closed);
/* How many bytes of a byte order mark the text begins with. */
size_t comments_mark(const char *text, size_t len);
