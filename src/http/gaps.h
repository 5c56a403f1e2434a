/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/*
 * libmicrohttpd 0.9.75 accepts folded lines (and glues their ends to field
 * NAMES), bare line feeds, NULs and colons that end a head early, and shows
 * none of it.  But names and values still stand where they came in its read
 * buffer, so what lies between them tells: exactly CRLF between lines, and a
 * colon with blanks between a name and its value.  Pure; it reads bytes just
 * behind the spans that it is given, which must be libmicrohttpd's own.
 */
struct gaps {
	const char *end; /* of what was looked at last */
	bool found;      /* something that HTTP does not allow */
};

/* True of versions of libmicrohttpd whose buffers are as described. */
bool gaps_are_known(const char *version);

/* version: the request's, as libmicrohttpd hands it over. */
void gaps_begin(struct gaps *gaps, const char *version);
/* The fields in the order in which libmicrohttpd lists them. */
void gaps_field(struct gaps *gaps, struct span name, struct span value);
/* The empty line behind the last field. */
void gaps_end(struct gaps *gaps);
