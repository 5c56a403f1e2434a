/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/ascii.h"
#include "base/field.h"
#include "base/test_build.h"
#include "http/head/wire.h"

enum {
	METHOD_MAX = 32,
	LENGTH_DIGITS = 18,
	SIZE_DIGITS = 15,
};

static const char version[] = "HTTP/1.1";
static const char version_line[] = "HTTP/1.1\r\n";
static const char coding[] = "chunked";

/* --- steps: each takes bytes of its state, or finds them wrong --- */

static size_t
refuse(struct wire *w, enum head_verdict verdict, const char *message)
{
	w->verdict = verdict;
	w->message = message;
	return 0;
}

static size_t
refuse_line(struct wire *w)
{
	if (!INVARIANT(strict_wire))
		return 1;
	return refuse(w, HEAD_CHECK_BAD_REQUEST,
	    "A line is not ended or divided as HTTP requires.");
}

static size_t
go_on(struct wire *w, enum wire_state state)
{
	w->state = state;
	w->count = 0;
	if (state <= WIRE_BEGIN_LF)
		w->bytes = 0; /* what is between requests is no head's */
	return 1;
}

/* One byte that can only be this one. */
static size_t
take_one(struct wire *w, char got, char wanted, enum wire_state state)
{
	return got == wanted ? go_on(w, state) : refuse_line(w);
}

static size_t
take_begin(struct wire *w, char c)
{
	bool behind_cr = w->state == WIRE_BEGIN_LF;
	if (behind_cr && c == '\n')
		return go_on(w, WIRE_BEGIN);
	if (!behind_cr && c == '\r' &&
	    w->empty_lines++ < WIRE_EMPTY_LINES_MAX)
		return go_on(w, WIRE_BEGIN_LF);
	w->requests++;
	w->bytes = w->fields = 0;
	w->left = 0;
	w->cookies = w->empty_lines = 0;
	w->version_1_0 = w->has_length = w->chunked = w->in_trailers = false;
	if (behind_cr || !field_is_token(span_of(&c, 1)))
		return refuse(w, HEAD_CHECK_BAD_REQUEST,
		    "This is not the beginning of an HTTP request.");
	go_on(w, WIRE_METHOD);
	return 0;
}

static size_t
take_version(struct wire *w, const char *bytes, size_t len)
{
	enum { NAMED = 5 }; /* "HTTP/" */
	const unsigned last = sizeof version - 2;
	const size_t whole = sizeof version_line - 1;
	if (w->count == 0 && len >= whole &&
	    !memcmp(bytes, version_line, whole)) {
		go_on(w, WIRE_FIELD);
		return whole;
	}
	char c = *bytes;
	if (w->count > last)
		return take_one(w, c, '\r', WIRE_LINE_LF);
	w->version_1_0 = w->count == last && c == '0';
	if (c != version[w->count] && !w->version_1_0 &&
	    (w->count < NAMED || ((c < '0' || c > '9') && c != '.')))
		return refuse_line(w);
	if (c != version[w->count] && !w->version_1_0)
		return refuse(w, HEAD_CHECK_VERSION,
		    "The gateway speaks only HTTP/1.0 and HTTP/1.1.");
	w->count++;
	return 1;
}

/* What follows in the same line is taken in the same step. */
static size_t
take_target(struct wire *w, const char *bytes, size_t len)
{
	size_t n = 0;
	while (n < len && bytes[n] > ' ' && bytes[n] < 0x7f)
		n++;
	w->count += n;
	if (n == len)
		return n;
	if (w->count == 0 || bytes[n] != ' ')
		return n + refuse(w, HEAD_CHECK_BAD_REQUEST,
		    "The request target is not a well-formed path or http "
		    "URL.");
	n += go_on(w, WIRE_VERSION);
	return n == len ? n : n + take_version(w, bytes + n, len - n);
}

/* What follows in the same line is taken in the same step. */
static size_t
take_method(struct wire *w, const char *bytes, size_t len)
{
	size_t n = field_token_bytes(span_of(bytes, len));
	if (n == 0)
		return take_one(w, *bytes, ' ', WIRE_TARGET);
	if (w->count == METHOD_MAX)
		return refuse(w, HEAD_CHECK_BAD_REQUEST,
		    "The method is empty or too long.");
	if (n > METHOD_MAX - w->count)
		n = METHOD_MAX - w->count;
	w->count += n;
	if (n == len || bytes[n] != ' ')
		return n;
	n += go_on(w, WIRE_TARGET);
	return n == len ? n : n + take_target(w, bytes + n, len - n);
}

/* Where the message ends is said once, and in one way. */
static size_t
note_field(struct wire *w, struct span name)
{
	w->field = WIRE_ANY;
	if (w->in_trailers)
		return go_on(w, WIRE_BLANKS);
	if (span_ieq(name, SPAN("content-length")))
		w->field = WIRE_LENGTH;
	else if (span_ieq(name, SPAN("transfer-encoding")))
		w->field = WIRE_CODING;
	else if (span_ieq(name, SPAN("cookie")))
		w->field = WIRE_COOKIE;
	if (w->field != WIRE_LENGTH && w->field != WIRE_CODING)
		return go_on(w, WIRE_BLANKS);
	if (w->has_length || w->chunked)
		return refuse(w, HEAD_CHECK_BAD_REQUEST,
		    "The request says more than once where it ends: by "
		    "Content-Length or Transfer-Encoding.");
	if (w->field == WIRE_CODING && w->version_1_0)
		return refuse(w, HEAD_CHECK_BAD_REQUEST,
		    "HTTP/1.0 has no Transfer-Encoding.");
	return go_on(w, WIRE_BLANKS);
}

/* As far as it has come. */
static size_t
take_line_end(struct wire *w, const char *bytes, size_t len)
{
	size_t n = take_one(w, *bytes, '\r', WIRE_LINE_LF);
	return n > 0 && n < len ? n + take_one(w, bytes[n], '\n', WIRE_FIELD)
				: n;
}

/* One plain number, with nothing behind it. */
static size_t
take_length(struct wire *w, const char *bytes, size_t len)
{
	size_t n = 0;
	for (; n < len && ascii_is_digit(bytes[n]); n++, w->count++) {
		if (w->count == 1 && w->left == 0)
			break;
		if (w->count == LENGTH_DIGITS)
			return n + refuse(w, HEAD_CHECK_TOO_LARGE,
			    "The Content-Length is too large.");
		w->left = 10 * w->left + (uint64_t)(bytes[n] - '0');
	}
	if (n == len)
		return n;
	if (bytes[n] != '\r' || w->count == 0)
		return n + refuse(w, HEAD_CHECK_BAD_REQUEST,
		    "The Content-Length is not a single plain number.");
	w->has_length = true;
	return n + take_line_end(w, bytes + n, len - n);
}

/* Exactly "chunked", and no blank behind it. */
static size_t
take_coding(struct wire *w, char c)
{
	const unsigned whole = sizeof coding - 1;
	if (c == '\r' && w->count == whole) {
		w->chunked = true;
		return go_on(w, WIRE_LINE_LF);
	}
	bool named = field_is_token(span_of(&c, 1)) || c == ',' || c == ';';
	/* No other byte of a token than its capital becomes a letter. */
	if (w->count == whole || (c | 0x20) != coding[w->count])
		return refuse(w,
		    named ? HEAD_CHECK_CODING : HEAD_CHECK_BAD_REQUEST,
		    "The only Transfer-Encoding that is accepted is "
		    "\"chunked\", once.");
	w->count++;
	return 1;
}

static size_t
take_value(struct wire *w, const char *bytes, size_t len)
{
	if (w->field == WIRE_LENGTH)
		return take_length(w, bytes, len);
	if (w->field == WIRE_CODING)
		return take_coding(w, *bytes);
	size_t n = field_value_bytes(span_of(bytes, len));
	for (size_t i = 0; w->field == WIRE_COOKIE && i < n; i++) {
		w->cookies += bytes[i] == ';';
		if (w->cookies == WIRE_COOKIES_MAX)
			return i + refuse(w, HEAD_CHECK_HEADERS_TOO_LARGE,
			    "The request has more than 500 cookies.");
	}
	return n == len ? n : n + take_line_end(w, bytes + n, len - n);
}

static size_t
take_blanks(struct wire *w, const char *bytes, size_t len)
{
	size_t n = 0;
	while (n < len && (bytes[n] == ' ' || bytes[n] == '\t'))
		n++;
	if (n == len)
		return n;
	go_on(w, WIRE_VALUE);
	return n + take_value(w, bytes + n, len - n);
}

/* Of which so many bytes from the front on are a name's. */
static size_t
take_name(struct wire *w, const char *bytes, size_t len, size_t n)
{
	const char *name = bytes;
	/* One that comes in pieces is kept as far as it may matter. */
	if (w->count > 0 || n == len) {
		size_t kept = w->count < WIRE_NAME_MAX ? w->count
						       : WIRE_NAME_MAX;
		size_t room = WIRE_NAME_MAX - kept;
		memcpy(w->name + kept, bytes, n < room ? n : room);
		name = w->name;
	}
	w->count += n;
	if (n == len)
		return n;
	if (bytes[n] != ':')
		return n + refuse_line(w);
	size_t at = n + note_field(w, span_of(name, w->count));
	return at == n ? n : at + take_blanks(w, bytes + at, len - at);
}

/* Behind the head or the trailers. */
static size_t
take_end(struct wire *w, char c)
{
	bool chunks = w->chunked && !w->in_trailers;
	bool body = w->left > 0 && !w->in_trailers;
	enum wire_state next = body ? WIRE_BODY : WIRE_BEGIN;
	return take_one(w, c, '\n', chunks ? WIRE_SIZE : next);
}

static size_t
take_field(struct wire *w, const char *bytes, size_t len)
{
	if (*bytes == '\r') {
		size_t cr = go_on(w, WIRE_END_LF);
		return len == cr ? cr : cr + take_end(w, bytes[cr]);
	}
	size_t n = field_token_bytes(span_of(bytes, len));
	if (n == 0)
		return refuse_line(w);
	if (++w->fields > HEAD_CHECK_FIELDS_MAX)
		return refuse(w, HEAD_CHECK_HEADERS_TOO_LARGE,
		    "The request has more than 100 header fields.");
	go_on(w, WIRE_NAME);
	return take_name(w, bytes, len, n);
}

static size_t
take_bytes(struct wire *w, size_t len, enum wire_state state)
{
	size_t n = len < w->left ? len : (size_t)w->left;
	if ((w->left -= n) == 0)
		go_on(w, state);
	return n;
}

static size_t
refuse_chunk(struct wire *w)
{
	return refuse(w, HEAD_CHECK_BAD_REQUEST,
	    "A chunk of the body is not framed as HTTP requires.");
}

static size_t
take_size(struct wire *w, char c)
{
	int digit = ascii_hex_value(c);
	if (w->count == 0)
		w->left = 0;
	if (digit >= 0 && w->count < SIZE_DIGITS) {
		w->left = 16 * w->left + (uint64_t)digit;
		w->count++;
		return 1;
	}
	if (w->count == 0 || (c != '\r' && c != ';'))
		return refuse_chunk(w);
	if (c == '\r')
		return go_on(w, WIRE_SIZE_LF);
	w->state = WIRE_EXTENSION;
	return w->count++ > 0; /* of the line, so it goes on */
}

static size_t
take_extension(struct wire *w, const char *bytes, size_t len)
{
	size_t n = field_value_bytes(span_of(bytes, len));
	if (n == 0)
		return *bytes == '\r' ? go_on(w, WIRE_SIZE_LF)
				      : refuse_chunk(w);
	if (!INVARIANT(short_chunk_lines))
		return n;
	if (w->count == WIRE_CHUNK_LINE_MAX)
		return refuse_chunk(w);
	if (n > WIRE_CHUNK_LINE_MAX - w->count)
		n = WIRE_CHUNK_LINE_MAX - w->count;
	w->count += n;
	return n;
}

static size_t
take_step(struct wire *w, const char *bytes, size_t len)
{
	switch (w->state) {
	case WIRE_BEGIN:
	case WIRE_BEGIN_LF:
		return take_begin(w, *bytes);
	case WIRE_METHOD:
		return take_method(w, bytes, len);
	case WIRE_TARGET:
		return take_target(w, bytes, len);
	case WIRE_VERSION:
		return take_version(w, bytes, len);
	case WIRE_FIELD:
		return take_field(w, bytes, len);
	case WIRE_NAME:
		return take_name(w, bytes, len,
		    field_token_bytes(span_of(bytes, len)));
	case WIRE_BLANKS:
		return take_blanks(w, bytes, len);
	case WIRE_VALUE:
		return take_value(w, bytes, len);
	case WIRE_LINE_LF:
		return take_one(w, *bytes, '\n', WIRE_FIELD);
	case WIRE_END_LF:
		return take_end(w, *bytes);
	case WIRE_BODY:
		return take_bytes(w, len, WIRE_BEGIN);
	case WIRE_SIZE:
		return take_size(w, *bytes);
	case WIRE_EXTENSION:
		return take_extension(w, bytes, len);
	case WIRE_SIZE_LF:
		if (*bytes != '\n')
			return refuse_chunk(w);
		w->in_trailers = w->left == 0;
		w->bytes = w->fields = 0;
		return go_on(w, w->in_trailers ? WIRE_FIELD : WIRE_DATA);
	case WIRE_DATA:
		return take_bytes(w, len, WIRE_DATA_CR);
	case WIRE_DATA_CR:
		return take_one(w, *bytes, '\r', WIRE_DATA_LF);
	case WIRE_DATA_LF:
		return take_one(w, *bytes, '\n', WIRE_SIZE);
	}
	return 0;
}

/* --- all of it --- */

void
wire_init(struct wire *wire, size_t max_bytes)
{
	*wire = (struct wire){
	    .max_bytes = max_bytes, .message = "", .verdict = HEAD_CHECK_OK};
}

size_t
wire_step(struct wire *w, const char *bytes, size_t len)
{
	bool counts = w->state < WIRE_BODY;
	if (w->verdict != HEAD_CHECK_OK)
		return 0;
	/* Of what is no head and no trailer there may be any number. */
	size_t most = w->in_trailers ? WIRE_TRAILERS_MAX : w->max_bytes;
	if (counts && w->state > WIRE_BEGIN_LF && len > most - w->bytes)
		len = most - w->bytes;
	if (len == 0)
		return refuse(w, HEAD_CHECK_HEADERS_TOO_LARGE, w->in_trailers
			? "The request's trailer fields are larger than the "
			  "gateway accepts: 8192 bytes (8 KiB) at most."
			: "");
	size_t n = take_step(w, bytes, len);
	w->bytes += counts ? n : 0;
	return n;
}
