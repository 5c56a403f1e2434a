/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/body.h"
#include "fuzz/fuzz.h"
#include "http/head/wire.h"

/*
 * What a client sends: first what it begins with, from a table, so that
 * chunks are soon reached, and then the input.  It is found right up to the
 * same byte however it is cut into pieces, and a parser of whole messages,
 * written in another way, sees the same.
 */
enum { MAX_BYTES = 1024 };

static const char *const begins[] = {
    "",
    "GET / HTTP/1.1\r\n",
    "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: ",
    "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    "PUT / HTTP/1.1\r\ncookie: a=b;c\r\nTransfer-Encoding: chunked\r\n\r\n5;",
};

/* --- the other parser: whole lines --- */

struct reader {
	struct span rest;
	bool wrong;
};

/* A line and its CRLF; false where that is not there, or not alone. */
static bool
take_line(struct reader *r, size_t max, struct span *ret_line)
{
	const char *end = r->rest.len > 0
	    ? memmem(r->rest.ptr, r->rest.len, "\r\n", 2)
	    : NULL;
	if (end == NULL || (size_t)(end - r->rest.ptr) > max) {
		r->wrong = true;
		return false;
	}
	*ret_line = span_of(r->rest.ptr, (size_t)(end - r->rest.ptr));
	r->rest = span_from(r->rest, ret_line->len + 2);
	for (size_t i = 0; i < ret_line->len; i++) {
		uint8_t c = (uint8_t)ret_line->ptr[i];
		r->wrong = r->wrong || (c < ' ' && c != '\t') || c == 127;
	}
	return !r->wrong;
}

/* The size; -1: it is none. */
static int64_t
chunk_size(struct span line)
{
	int64_t size = 0;
	size_t i = 0;
	for (; i < line.len && line.ptr[i] != ';'; i++) {
		char c = line.ptr[i];
		static const char digits[] = "0123456789abcdefABCDEF";
		const char *at = strchr(digits, c);
		if (c == '\0' || at == NULL || i == 15)
			return -1;
		size = 16 * size +
		    (at - digits < 16 ? at - digits : at - digits - 6);
	}
	return i > 0 ? size : -1;
}

static bool
is_field(struct span line)
{
	const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
	return colon != NULL &&
	    field_is_token(span_of(line.ptr, (size_t)(colon - line.ptr)));
}

/* True: a whole chunked body is in the front of it. */
static bool
read_chunks(struct reader *r)
{
	struct span line;
	int64_t size;
	do {
		if (!take_line(r, WIRE_CHUNK_LINE_MAX, &line) ||
		    (size = chunk_size(line)) < 0 ||
		    (uint64_t)size > r->rest.len)
			return false;
		r->rest = span_from(r->rest, (size_t)size);
		if (size > 0 &&
		    (!take_line(r, 0, &line) || line.len > 0))
			return false;
	} while (size > 0);
	for (unsigned n = 0;; n++) {
		if (n > HEAD_CHECK_FIELDS_MAX || !take_line(r, 65536, &line))
			return false;
		if (line.len == 0)
			return true;
		if (!is_field(line))
			return false;
	}
}

/* --- what is compared --- */

/* How much of these is taken in pieces of that size; 0: all at once. */
static size_t
take_more(struct wire *wire, const struct body *all, size_t piece)
{
	char *copy = mem_str(body_span(all));
	size_t at = 0;
	while (at < all->len && wire->verdict == HEAD_CHECK_OK) {
		size_t len = all->len - at;
		len = piece > 0 && piece < len ? piece : len;
		size_t taken = fuzz_wire_take(wire, copy + at, len);
		must(taken == len || wire->verdict != HEAD_CHECK_OK);
		at += taken;
	}
	free(copy);
	return at;
}

static size_t
take_in_pieces(struct wire *wire, const struct body *all, size_t piece)
{
	wire_init(wire, MAX_BYTES);
	return take_more(wire, all, piece);
}

static void
is_seen_by_both(const struct body *all, size_t begin)
{
	struct wire wire;
	struct reader reader = {span_from(body_span(all), begin), false};
	if (!read_chunks(&reader))
		return;
	struct body whole = *all;
	whole.len = all->len - reader.rest.len;
	must(take_in_pieces(&wire, &whole, 0) == whole.len ||
	    wire.verdict == HEAD_CHECK_HEADERS_TOO_LARGE);
	must(wire.state == WIRE_BEGIN || wire.verdict != HEAD_CHECK_OK);
}

void
fuzz_wire(struct span input)
{
	struct wire wire, pieces;
	struct body all = {0};
	if (input.len == 0)
		return;
	unsigned which =
	    (uint8_t)input.ptr[0] % (sizeof begins / sizeof *begins);
	size_t piece = 1 + (uint8_t)input.ptr[0] % 7;
	size_t begin = strlen(begins[which]);
	input = span_from(input, 1);
	must(body_append(&all, begins[which], begin) == 0);
	must(body_append(&all, input.ptr, input.len) == 0);

	size_t right = take_in_pieces(&wire, &all, 0);
	must(take_in_pieces(&pieces, &all, piece) == right);
	must(pieces.verdict == wire.verdict && pieces.state == wire.state);
	must(wire.verdict == HEAD_CHECK_OK || wire.message != NULL);
	if (which == 3)
		is_seen_by_both(&all, begin);
	/* And what it takes for a whole message, the other one does. */
	if (which == 3 && wire.verdict == HEAD_CHECK_OK &&
	    wire.state == WIRE_BEGIN && wire.bytes > 0 && !wire.empty_lines) {
		struct reader reader = {span_from(body_span(&all), begin),
		    false};
		must(read_chunks(&reader));
	}
	body_clear(&all);
}
