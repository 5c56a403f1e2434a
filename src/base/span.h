/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/*
 * A span is a piece of bytes that somebody else owns: a pointer and a
 * length, no terminating NUL promised, any byte allowed within.  It must not
 * outlive what it points into.
 */
struct span {
	const char *ptr;
	size_t len;
};

/* The span of a string literal. */
#define SPAN(literal) ((struct span){"" literal, sizeof(literal) - 1})

/* For printf's "%.*s". */
#define SPAN_FMT(s) (int)(s).len, (s).ptr

static inline struct span
span_of(const void *ptr, size_t len)
{
	return (struct span){ptr, len};
}

/* The span of a NUL-terminated string; NULL gives the empty span. */
static inline struct span
span_str(const char *s)
{
	return (struct span){s ? s : "", s ? strlen(s) : 0};
}

static inline bool
span_eq(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || !memcmp(a.ptr, b.ptr, a.len));
}

/* Equality of ASCII words without regard to case, as of field names. */
static inline bool
span_ieq(struct span a, struct span b)
{
	if (a.len != b.len || a.len == 0)
		return a.len == b.len;
	/* Most that differ do so in the first byte, by more than its case. */
	return ((a.ptr[0] ^ b.ptr[0]) & ~0x20) == 0 &&
	    !strncasecmp(a.ptr, b.ptr, a.len);
}

/* In a path these segments lead elsewhere (RFC 3986, section 5.2.4). */
static inline bool
span_is_dots(struct span s)
{
	return span_eq(s, SPAN(".")) || span_eq(s, SPAN(".."));
}

static inline bool
span_starts(struct span s, struct span prefix)
{
	return s.len >= prefix.len &&
	    span_eq(span_of(s.ptr, prefix.len), prefix);
}

/* Copies its bytes, and returns where those of the copy end. */
static inline char *
span_put(char *to, struct span s)
{
	if (s.len > 0)
		memcpy(to, s.ptr, s.len);
	return to + s.len;
}

/* S without its first n bytes; n is at most s.len. */
static inline struct span
span_from(struct span s, size_t n)
{
	return (struct span){s.ptr + n, s.len - n};
}

/* S without the blanks and tabs at both ends (RFC 9110, section 5.6.3). */
static inline struct span
span_trim(struct span s)
{
	while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = span_from(s, 1);
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/*
 * Takes a word off the front of *s; false where it does not begin with it.
 * Most words are a byte or two, which is all that is compared where this is
 * inlined.
 */
__attribute__((always_inline)) static inline bool
span_skip(struct span *s, struct span word)
{
	if (!span_starts(*s, word))
		return false;
	*s = span_from(*s, word.len);
	return true;
}

static inline bool
span_has(struct span s, char byte)
{
	return s.len > 0 && memchr(s.ptr, byte, s.len) != NULL;
}

/*
 * Cuts everything up to a byte off the front of *left, and the byte itself;
 * false, and nothing is written, where that byte is not in it.
 */
static inline bool
span_cut(struct span *left, char byte, struct span *ret_piece)
{
	const char *end = left->len ? memchr(left->ptr, byte, left->len) : NULL;
	if (end == NULL)
		return false;
	*ret_piece = span_of(left->ptr, (size_t)(end - left->ptr));
	*left = span_from(*left, ret_piece->len + 1);
	return true;
}

/*
 * Cuts the next piece of *list off at the separator and returns it, trimmed;
 * false when the list is at its end.
 */
static inline bool
span_next(struct span *list, char separator, struct span *ret_piece)
{
	struct span piece = *list;
	if (list->ptr == NULL)
		return false;
	if (!span_cut(list, separator, &piece))
		*list = (struct span){NULL, 0};
	*ret_piece = span_trim(piece);
	return true;
}
