/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/*
 * How the lines of a head are divided.  libmicrohttpd 0.9.75 accepts folded
 * lines (and glues their ends to field NAMES), bare line feeds, NULs and
 * colons that end a head early, and shows none of it.  But names and values
 * still stand in its read buffer where they came, so what lies between them
 * tells: it must be one space in the first line, CRLF between lines, and a
 * colon with blanks between a name and its value.  Pure; it reads bytes just
 * behind the spans that it is given, which must be libmicrohttpd's own.
 */
struct head_lines {
	const char *end; /* of what was looked at last */
	bool broken;     /* there was something that HTTP does not allow */
};

/* True of versions of libmicrohttpd whose buffers are as described. */
bool head_lines_are_known(const char *version);

/*
 * The first line: method and version as libmicrohttpd hands them over, and
 * how long the target is.
 */
void head_lines_begin(struct head_lines *framing, const char *method,
    size_t target_len, const char *version);
/* The fields in the order in which libmicrohttpd lists them. */
void head_lines_field(
    struct head_lines *framing, struct span name, struct span value);
/* The empty line behind the last field; head_end: what follows that. */
void head_lines_end(struct head_lines *framing, const char *head_end);
