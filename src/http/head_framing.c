/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/head_framing.h"

bool
gaps_are_known(const char *version)
{
	return !strcmp(version, "0.9.75");
}

/*
 * libmicrohttpd has put NULs in place of the line ends and colons: of CRLF
 * the CR always, the LF where the parser came by.
 */
void
gaps_begin(struct gaps *gaps, const char *method, size_t target_len,
    const char *version)
{
	size_t before = strlen(method) + 1 + target_len + 1;
	*gaps = (struct gaps){
	    .end = version + strlen(version),
	    .found = version - method != (ptrdiff_t)before,
	};
}

void
gaps_field(struct gaps *gaps, struct span name, struct span value)
{
	if (gaps->found)
		return;
	gaps->found = name.ptr - gaps->end != 2;
	/* An empty value may be a constant of libmicrohttpd's. */
	const char *at = name.ptr + name.len;
	if (value.ptr == NULL || value.len == 0) {
		while (at[1] == ' ' || at[1] == '\t')
			at++;
		gaps->end = at + 1;
		return;
	}
	gaps->found |= value.ptr <= at || *at != '\0';
	for (at++; !gaps->found && at < value.ptr; at++)
		gaps->found = *at != ' ' && *at != '\t';
	gaps->end = value.ptr + value.len;
}

/* A line that begins with a colon ends the head too: it is longer then. */
void
gaps_end(struct gaps *gaps, const char *head_end)
{
	static const char nothing[4];
	gaps->found = gaps->found || head_end - gaps->end != 4 ||
	    memcmp(gaps->end, nothing, 4) != 0;
}
