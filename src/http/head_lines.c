/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/head_lines.h"

bool
head_lines_are_known(const char *version)
{
	return !strcmp(version, "0.9.75");
}

/*
 * libmicrohttpd has put NULs in place of the line ends and colons: of CRLF
 * the CR always, the LF where the parser came by.
 */
void
head_lines_begin(struct head_lines *framing, const char *method,
    size_t target_len, const char *version)
{
	size_t before = strlen(method) + 1 + target_len + 1;
	*framing = (struct head_lines){
	    .end = version + strlen(version),
	    .broken = version - method != (ptrdiff_t)before,
	};
}

void
head_lines_field(
    struct head_lines *framing, struct span name, struct span value)
{
	if (framing->broken)
		return;
	framing->broken = name.ptr - framing->end != 2;
	/* An empty value may be a constant of libmicrohttpd's. */
	const char *at = name.ptr + name.len;
	if (value.ptr == NULL || value.len == 0) {
		while (at[1] == ' ' || at[1] == '\t')
			at++;
		framing->end = at + 1;
		return;
	}
	framing->broken |= value.ptr <= at || *at != '\0';
	for (at++; !framing->broken && at < value.ptr; at++)
		framing->broken = *at != ' ' && *at != '\t';
	framing->end = value.ptr + value.len;
}

/* A line that begins with a colon ends the head too: it is longer then. */
void
head_lines_end(struct head_lines *framing, const char *head_end)
{
	static const char nothing[4];
	framing->broken = framing->broken || head_end - framing->end != 4 ||
	    memcmp(framing->end, nothing, 4) != 0;
}
