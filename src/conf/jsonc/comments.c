/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "conf/jsonc/comments.h"

size_t
comments_length(const char *text, size_t len, bool *ret_closed)
{
	*ret_closed = true;
	if (len < 2 || text[0] != '/' || (text[1] != '/' && text[1] != '*'))
		return 0;
	if (text[1] == '/') {
		const char *end = memchr(text, '\n', len);
		return end == NULL ? len : (size_t)(end - text);
	}
	for (size_t i = 2; i + 1 < len; i++)
		if (text[i] == '*' && text[i + 1] == '/')
			return i + 2;
	*ret_closed = false;
	return len;
}

size_t
comments_mark(const char *text, size_t len)
{
	return len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

/* The bytes of a string with its quotes, or what there is of it. */
static size_t
string_length(const char *text, size_t len)
{
	size_t i = 1;
	while (i < len && text[i] != '"')
		i += text[i] == '\\' ? 2 : 1;
	return i < len ? i + 1 : len;
}

static void
blank(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != '\n')
			text[i] = ' ';
}

void
comments_blank(char *text, size_t len)
{
	bool closed;
	size_t at = comments_mark(text, len);
	blank(text, at);
	while (at < len) {
		size_t n = comments_length(text + at, len - at, &closed);
		blank(text + at, n);
		if (n == 0)
			n = text[at] == '"'
			    ? string_length(text + at, len - at)
			    : 1;
		at += n;
	}
}
