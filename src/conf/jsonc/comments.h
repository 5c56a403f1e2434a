/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"

/*
 * What JSONC has besides JSON, taken away for readers that know JSON alone:
 * comments, from two slashes to the end of the line or between slash-star and
 * star-slash, and a byte order mark.  Strings stay as they are, and every other
 * byte stays where it is.  Pure; any thread.
 */

/*
 * Puts a blank in the place of each byte of a comment but the ends of lines.
 * NULL, or what is wrong with the first one that is no comment, and *ret_at.
 */
const char *comments_blank(char *text, size_t len, const char **ret_at);
