/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>

#include "base/ascii.h"
#include "base/digits.h"
#include "base/field.h"
#include "base/test_build.h"
#include "http/head/request_target.h"

/*
 * How a decoded "%2F" is told from a raw slash until the path is resolved;
 * "%00" is refused, so no other byte is 0.
 */
enum { CODED_SLASH = '\0' };

/* --- authority --- */

/*
 * How many bytes of it are a registered name (RFC 3986, section 3.2.2) without
 * empty labels; 0 for none.  Bytes that have two meanings are none: "%", which
 * some decode and others do not, and ",", where others see a list.
 */
static size_t
name_length(struct span s)
{
	size_t n = 0;

	for (; n < s.len; n++) {
		char c = s.ptr[n];
		if (!ascii_is_digit(c) && !ascii_is_alpha(c) &&
		    (c == '\0' || !strchr(".-_~!$&'()*+;=", c)))
			break;
		if (c == '.' && (n == 0 || s.ptr[n - 1] == '.'))
			return 0;
	}
	return n;
}

/* How many bytes of it are an IPv6 address in brackets; 0 for none. */
static size_t
literal_length(struct span s)
{
	const char *end = memchr(s.ptr, ']', s.len);
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;
	size_t len = end ? (size_t)(end - s.ptr) - 1 : 0;

	if (len == 0 || len >= sizeof text)
		return 0;
	memcpy(text, s.ptr + 1, len);
	text[len] = '\0';
	bool whole = memchr(text, '\0', len) == NULL;
	return whole && inet_pton(AF_INET6, text, &address) == 1 ? len + 2 : 0;
}

bool
request_target_authority_is_valid(struct span authority)
{
	bool literal = authority.len && authority.ptr[0] == '[';
	size_t n = literal ? literal_length(authority) : name_length(authority);
	int64_t port;

	if (n == 0)
		return false;
	struct span rest = span_from(authority, n);
	if (rest.len == 0)
		return true;
	if (rest.ptr[0] != ':' || rest.len > 6)
		return false;
	/* Zeros in front: is it octal? */
	if (rest.len > 2 && rest.ptr[1] == '0')
		return false;
	return rest.len == 1 || digits_read(span_from(rest, 1), 65535, &port);
}

/* Takes "http://authority" off an absolute-form target. */
static bool
take_scheme_and_authority(struct span *text, struct span *ret_authority)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < 2; i++) {
		struct span scheme = span_str(schemes[i]);
		if (text->len < scheme.len ||
		    !span_ieq(span_of(text->ptr, scheme.len), scheme))
			continue;
		struct span rest = span_from(*text, scheme.len);
		size_t n = 0;
		while (n < rest.len && rest.ptr[n] != '/' && rest.ptr[n] != '?')
			n++;
		struct span authority = span_of(rest.ptr, n);
		if (!request_target_authority_is_valid(authority))
			return false;
		*ret_authority = authority;
		*text = span_from(rest, n);
		return true;
	}
	return false;
}

/* --- spelling --- */

static bool
decode_path(struct span path, char *out, size_t *ret_len)
{
	size_t len = 0;

	for (size_t i = 0; i < path.len; i++) {
		char c = path.ptr[i];
		if (c == '\\' && INVARIANT(no_backslash))
			return false;
		if (c == '%' && INVARIANT(path_decoded)) {
			if (path.len - i < 3)
				return false;
			int high = ascii_hex_value(path.ptr[i + 1]);
			int low = ascii_hex_value(path.ptr[i + 2]);
			if (high < 0 || low < 0)
				return false;
			c = (char)(high * 16 + low);
			if (c == '\0' && INVARIANT(no_coded_nul))
				return false;
			if (c == '/' && INVARIANT(coded_slash))
				c = CODED_SLASH;
			i += 2;
		}
		out[len++] = c;
	}
	*ret_len = len;
	return true;
}

static bool
is_slash(char c, bool coded)
{
	return c == '/' || (coded && c == CODED_SLASH);
}

/* Drops the last piece for a ".." that stands between raw slashes or not. */
static bool
drop_last(const char *path, size_t *len, bool coded, bool raw)
{
	size_t at = *len;

	if (at == 0)
		return true; /* above the root is the root */
	while (!is_slash(path[at - 1], coded))
		at--;
	/* An empty segment: dropped, or not there at all? */
	if (at == *len)
		return false;
	/* "a%2Fb": one segment, or two? */
	if (raw && path[at - 1] == CODED_SLASH)
		return false;
	*len = at - 1;
	return true;
}

/*
 * Resolves dot segments in place; what is left is a row of pieces, a slash
 * and a segment each, empty ones included but for those at the front.  Sets
 * *climbs where one is above the root.  False where servers read a ".." in
 * different ways.
 */
static bool
resolve_dots(char *path, size_t *ret_len, bool coded, bool *climbs)
{
	size_t len = *ret_len;
	size_t out = 0;

	for (size_t at = 0, end; at < len; at = end) {
		end = at + 1;
		while (end < len && !is_slash(path[end], coded))
			end++;
		struct span segment = span_of(path + at + 1, end - at - 1);
		if (span_eq(segment, SPAN("..")) && INVARIANT(dots_resolved)) {
			bool raw = path[at] == '/' &&
			    (end == len || path[end] == '/');
			*climbs |= out == 0;
			if (!drop_last(path, &out, coded, raw))
				return false;
		} else if (out == 0 && segment.len == 0) {
			continue; /* all agree on slashes at the front */
		} else if (!span_eq(segment, SPAN("."))) {
			memmove(path + out, path + at, end - at);
			out += end - at;
		}
	}
	*ret_len = out;
	return true;
}

/* Leaves empty segments out; every slash is a plain one afterwards. */
static struct span
join_slashes(char *path, size_t len, bool coded)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		if (!is_slash(path[i], coded))
			path[out++] = path[i];
		else if ((i + 1 < len && !is_slash(path[i + 1], coded)) ||
		    !INVARIANT(slashes_joined))
			path[out++] = '/';
	}
	return out > 0 ? span_of(path, out) : SPAN("/");
}

/*
 * Spelled in one way only: nothing is coded, and no segment is empty or begins
 * with a dot.
 */
static bool
is_spelled(struct span path)
{
	char before = '\0';

	for (size_t i = 0; i < path.len; i++) {
		char c = path.ptr[i];
		if (c == '%' || c == '\\' ||
		    (before == '/' && (c == '/' || c == '.')))
			return false;
		before = c;
	}
	return path.len > 0 && path.ptr[0] == '/' && before != '/';
}

static bool
spell(struct arena *arena, struct span path, struct request_target *target)
{
	if (is_spelled(path)) {
		target->spelling = path;
		return true;
	}
	char *out = arena_alloc(arena, path.len);
	size_t len;

	if (!decode_path(path, out, &len))
		return false;
	char *other = memchr(out, CODED_SLASH, len)
	    ? arena_str(arena, span_of(out, len))
	    : NULL;
	/* What it is to those who take a coded slash for a slash. */
	size_t out_len = len;
	if (!resolve_dots(out, &out_len, true, &target->climbs))
		return false;
	target->spelling = join_slashes(out, out_len, true);
	if (other == NULL)
		return true;
	/* And to those who do not take a coded slash for a slash. */
	if (!resolve_dots(other, &len, false, &target->climbs))
		return false;
	char *left = arena_str(arena, span_of(other, len));
	for (size_t i = 0; i < len; i++)
		if (left[i] == CODED_SLASH)
			left[i] = '/';
	char *again = arena_str(arena, span_of(left, len));
	target->others[0] = join_slashes(other, len, false);
	target->others[1] = join_slashes(left, len, false);
	target->n_others = REQUEST_TARGET_OTHERS;
	if (!resolve_dots(again, &len, true, &target->climbs))
		return false;
	target->others[2] = join_slashes(again, len, true);
	return true;
}

/* --- all of it --- */

bool
request_target_parse(
    struct arena *arena, struct span text, struct request_target *ret_target)
{
	struct request_target t = {.query = SPAN(""), .authority = SPAN("")};

	if (text.len == 0 || !field_is_visible(text) || span_has(text, '#'))
		return false;
	if (text.ptr[0] != '/' &&
	    !take_scheme_and_authority(&text, &t.authority))
		return false;
	/* An empty path is "/" (RFC 9112, section 3.2.1). */
	t.origin_form = text.len && text.ptr[0] == '/'
	    ? text
	    : arena_printf(arena, "/%.*s", SPAN_FMT(text));
	t.path = t.origin_form;
	const char *mark = memchr(t.path.ptr, '?', t.path.len);
	if (mark) {
		t.path.len = (size_t)(mark - t.path.ptr);
		t.query = span_from(t.origin_form, t.path.len + 1);
		t.has_query = true;
	}
	if (!spell(arena, t.path, &t))
		return false;
	*ret_target = t;
	return true;
}
