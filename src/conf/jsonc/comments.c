/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/jsonc/comments.h"

#include "base/utf8.h"

/* The bytes of a string with its quotes, or what there is of it on its line. */
static size_t
string_length(const char *text, size_t len)
{
	size_t i = 1;
	while (i < len && text[i] != '"' && text[i] != '\n')
		i += text[i] == '\\' && i + 1 < len && text[i + 1] != '\n' ? 2
									   : 1;
	return i < len ? i + 1 : len;
}

/*
 * The bytes of the comment that the text begins with, a line feed at its end
 * left out; 0: it begins with none.
 */
static size_t
comment_length(const char *text, size_t len, bool *ret_closed)
{
	bool line = len > 1 && text[0] == '/' && text[1] == '/';
	bool block = len > 1 && text[0] == '/' && text[1] == '*';
	const char *end = line ? memchr(text, '\n', len)
	    : block            ? memmem(text + 2, len - 2, "*/", 2)
			       : text;
	*ret_closed = !block || end != NULL;
	if (end == NULL)
		return len;
	return (size_t)(end - text) + (block ? 2 : 0);
}

/* A comment is text, too: no other program would read the file otherwise. */
static const char *
wrong_in(struct span comment, bool closed, const char **ret_at)
{
	const char *nul = memchr(comment.ptr, '\0', comment.len);
	struct span rest = comment;
	*ret_at = comment.ptr;
	if (!closed)
		return "this comment is never closed";
	for (size_t n = 1; n > 0 && rest.len > 0; rest = span_from(rest, n))
		n = utf8_length(rest);
	*ret_at = rest.len > 0 ? rest.ptr : nul;
	if (rest.len > 0)
		return "this comment is not UTF-8: save the file as UTF-8";
	return nul == NULL ? NULL : "a NUL byte stands here: take it out";
}

const char *
comments_blank(char *text, size_t len, const char **ret_at)
{
	const char *wrong = NULL, *at;
	size_t n, begin = 0;
	bool closed;
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		memset(text, ' ', begin = 3);
	for (size_t i = begin; i < len; i += n) {
		n = comment_length(text + i, len - i, &closed);
		if (n > 0 && wrong == NULL) {
			wrong = wrong_in(span_of(text + i, n), closed, &at);
			*ret_at = at;
		}
		for (size_t k = i; k < i + n; k++)
			if (text[k] != '\n' && text[k] != '\r')
				text[k] = ' ';
		if (n == 0)
			n = text[i] == '"' ? string_length(text + i, len - i)
					   : 1;
	}
	return wrong;
}
