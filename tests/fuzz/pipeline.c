/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "fuzz/fuzz.h"
#include "http/head/head_check.h"
#include "http/head/wire.h"

/*
 * All that a client sends on one connection.  A parser of whole lines, written
 * in another way, finds the same requests in it, ending at the same bytes,
 * however they are cut into pieces; it refuses what is refused, and reads the
 * same of how long a body is.
 */
enum { MAX_BYTES = 1024, MOST_COOKIES = 500, FIELDS = HEAD_CHECK_FIELDS_MAX };

struct request {
	size_t end;
	struct field list[FIELDS];
	struct head_as_sent head;
	int64_t length; /* -1: none was said */
	bool chunked;
};

/* --- the other parser --- */

enum reading { READ, SHORT, WRONG, LARGE };

/* The line that begins there, and where the next one does. */
static enum reading
take_line(struct span all, size_t *at, size_t most, struct span *ret_line)
{
	size_t begin = *at, i = begin;
	while (i < all.len && i - begin <= most) {
		uint8_t c = (uint8_t)all.ptr[i];
		if ((c < ' ' && c != '\t') || c == 127)
			break;
		i++;
	}
	if (i - begin > most)
		return LARGE;
	if (i == all.len)
		return SHORT;
	if (all.ptr[i] != '\r' || (i + 1 < all.len && all.ptr[i + 1] != '\n'))
		return WRONG;
	if (i + 1 == all.len)
		return SHORT;
	*ret_line = span_of(all.ptr + begin, i - begin);
	*at = i + 2;
	return READ;
}

static struct span
left_trim(struct span s)
{
	while (s.len > 0 && (*s.ptr == ' ' || *s.ptr == '\t'))
		s = span_from(s, 1);
	return s;
}

/* Fields up to the empty line; begin: where what is limited begins. */
static enum reading
take_fields(struct span all, size_t *at, size_t begin, size_t most,
    struct fields *fields)
{
	struct span line;
	for (;;) {
		enum reading got = take_line(all, at, most, &line);
		if (got != READ)
			return got;
		if (*at - begin > most)
			return LARGE;
		if (line.len == 0)
			return READ;
		struct span value = line;
		struct span name = fuzz_cut(&value, ':');
		if (name.len == line.len || !field_is_token(name))
			return WRONG;
		if (fields->count == FIELDS)
			return LARGE;
		fields->list[fields->count++] =
		    (struct field){name, left_trim(value)};
	}
}

static enum reading
read_first(struct span line, struct request *r)
{
	r->head.method = fuzz_cut(&line, ' ');
	r->head.target = fuzz_cut(&line, ' ');
	r->head.version = line;
	struct span target = r->head.target;
	for (size_t i = 0; i < target.len; i++)
		if ((uint8_t)target.ptr[i] <= ' ' ||
		    (uint8_t)target.ptr[i] >= 127)
			return WRONG;
	bool known = span_eq(line, SPAN("HTTP/1.1")) ||
	    span_eq(line, SPAN("HTTP/1.0"));
	return known && target.len > 0 && r->head.method.len <= 32 &&
		field_is_token(r->head.method)
	    ? READ
	    : WRONG;
}

/* What the fields say of the body, which they say once. */
static enum reading
read_framing(struct request *r)
{
	size_t said = 0, cookies = 0;
	r->length = -1;
	for (size_t i = 0; i < r->head.fields.count; i++) {
		struct field f = r->head.fields.list[i];
		bool length = span_ieq(f.name, SPAN("Content-Length"));
		bool coding = span_ieq(f.name, SPAN("Transfer-Encoding"));
		said += length + coding;
		if (length &&
		    (f.value.len > 18 ||
			(f.value.len > 1 && *f.value.ptr == '0') ||
			!digits_read(f.value, INT64_MAX, &r->length)))
			return WRONG;
		if (coding && !span_ieq(f.value, SPAN("chunked")))
			return WRONG;
		r->chunked = r->chunked || coding;
		for (size_t n = 0; n < f.value.len; n++)
			cookies += f.value.ptr[n] == ';' &&
			    span_ieq(f.name, SPAN("Cookie"));
	}
	bool old = span_eq(r->head.version, SPAN("HTTP/1.0"));
	return said > 1 || (r->chunked && old) || cookies >= MOST_COOKIES
	    ? WRONG
	    : READ;
}

static enum reading
read_chunks(struct span all, size_t *at)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	struct span line;
	for (;;) {
		enum reading got =
		    take_line(all, at, WIRE_CHUNK_LINE_MAX, &line);
		if (got != READ)
			return got;
		char size[16] = "";
		size_t n = strspn(line.len ? line.ptr : "", digits);
		if (n == 0 || n > 15 || n > line.len ||
		    (n < line.len && line.ptr[n] != ';'))
			return WRONG;
		memcpy(size, line.ptr, n);
		unsigned long long bytes = strtoull(size, NULL, 16);
		if (bytes == 0)
			return READ;
		if (bytes > all.len - *at)
			return SHORT;
		*at += (size_t)bytes;
		got = take_line(all, at, 0, &line);
		if (got != READ)
			return got == LARGE ? WRONG : got;
	}
}

static enum reading
read_trailers(struct span all, size_t *at)
{
	static struct field list[FIELDS];
	struct fields trailers = {list, 0};
	return take_fields(all, at, *at, WIRE_TRAILERS_MAX, &trailers);
}

static enum reading
read_body(struct span all, size_t at, struct request *r)
{
	enum reading got = READ;
	if (r->chunked) {
		got = read_chunks(all, &at);
		if (got == READ)
			got = read_trailers(all, &at);
	} else if (r->length > 0) {
		if ((uint64_t)r->length > all.len - at)
			return SHORT;
		at += (size_t)r->length;
	}
	r->end = at;
	return got;
}

static enum reading
read_request(struct span all, size_t at, struct request *r)
{
	struct span line;
	while (at + 1 < all.len && all.ptr[at] == '\r' &&
	    all.ptr[at + 1] == '\n')
		at += 2;
	size_t begin = at;
	r->head = (struct head_as_sent){.fields = {r->list, 0}, .message = ""};
	r->chunked = false;
	enum reading got = take_line(all, &at, MAX_BYTES, &line);
	if (got == READ)
		got = read_first(line, r);
	if (got == READ)
		got = take_fields(
		    all, &at, begin, MAX_BYTES, &r->head.fields);
	if (got == READ)
		got = read_framing(r);
	return got == READ ? read_body(all, at, r) : got;
}

/* --- what is compared --- */

/* What is between two requests, or nothing is wrong yet. */
static bool
is_between(const struct wire *wire)
{
	return wire->state == WIRE_BEGIN && wire->verdict == HEAD_CHECK_OK;
}

/* From here on as many bytes as are right; fewer than len: it is wrong. */
static size_t
feed(struct wire *wire, struct span bytes, struct dice *dice)
{
	size_t at = 0;
	while (at < bytes.len) {
		size_t len = 1 + dice_throw(dice, bytes.len - at);
		char *copy = mem_copy(bytes.ptr + at, len);
		size_t taken = fuzz_wire_take(wire, copy, len);
		free(copy);
		at += taken;
		if (taken < len) {
			must(wire->verdict != HEAD_CHECK_OK);
			break;
		}
	}
	return at;
}

void
fuzz_pipeline(struct span input)
{
	static struct request r;
	struct dice dice = dice_of(input);
	struct wire wire;
	size_t at = 0;
	uint64_t requests = 0;
	/* A copy that ends, for strspn(). */
	char *copy = mem_str(input);
	struct span all = span_of(copy, input.len);
	enum reading got = READ;

	wire_init(&wire, MAX_BYTES);
	while (at < all.len && (got = read_request(all, at, &r)) == READ) {
		struct span whole = span_of(all.ptr + at, r.end - at);
		must(feed(&wire, whole, &dice) == whole.len);
		must(is_between(&wire) && wire.requests == ++requests);
		must(wire.chunked == r.chunked);
		must(wire.has_length == (r.length >= 0));
		at = r.end;
	}
	struct span rest = span_from(all, at);
	size_t right = feed(&wire, rest, &dice);
	/* One more has begun at the most, and is known to have. */
	must(got != READ || right == rest.len);
	must(got == READ || got == SHORT || right < rest.len);
	must(wire.requests <= requests + 1);
	must(wire.verdict == HEAD_CHECK_OK || wire.requests == requests + 1);
	free(copy);
}
