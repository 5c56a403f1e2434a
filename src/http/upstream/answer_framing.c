/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "http/upstream/answer_framing.h"

/* The place in a chunked body (RFC 9112, section 7.1). */
enum chunk_place {
	SIZE,           /* the digits of a chunk's size */
	EXTENSION,      /* behind ";" */
	SIZE_LF,        /* the line feed of that line */
	DATA,           /* the chunk's content */
	DATA_CR,        /* and its line end */
	DATA_LF,
	TRAILER_BEGIN,  /* the first byte of a line behind the last chunk */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	LAST_LF,        /* of the empty line that ends all */
	ENDED,
	BROKEN,
};

/* A size of so many digits cannot overflow. */
enum { SIZE_DIGITS = 15 };

static enum chunk_place take_byte(struct answer_framing *f, char c);

void
answer_framing_begin(struct answer_framing *framing,
    const struct http1_head *head, bool to_head)
{
	*framing =
	    (struct answer_framing){.kind = FRAMING_CLOSE, .place = SIZE};
	if (to_head || head->status == 204 || head->status == 304) {
		framing->kind = FRAMING_NONE;
	} else if (head->chunked) {
		framing->kind = FRAMING_CHUNKED;
	} else if (head->content_length >= 0) {
		framing->kind = FRAMING_LENGTH;
		framing->left = (uint64_t)head->content_length;
	}
}

/* Takes the next piece of content, left bytes at most. */
static void
take_content(
    struct answer_framing *f, struct span *bytes, struct span *ret_content)
{
	size_t len = bytes->len < f->left ? bytes->len : (size_t)f->left;
	*ret_content = span_of(bytes->ptr, len);
	*bytes = span_from(*bytes, len);
	f->left -= len;
}

enum answer_framing_state
answer_framing_feed(
    struct answer_framing *f, struct span *bytes, struct span *ret_content)
{
	*ret_content = SPAN("");
	switch (f->kind) {
	case FRAMING_NONE:
		return FRAMING_END;
	case FRAMING_LENGTH:
		take_content(f, bytes, ret_content);
		return f->left == 0 ? FRAMING_END : FRAMING_MORE;
	case FRAMING_CLOSE:
		*ret_content = *bytes;
		*bytes = span_from(*bytes, bytes->len);
		return FRAMING_MORE;
	case FRAMING_CHUNKED:
		break;
	}
	while (f->place != ENDED && bytes->len > 0) {
		if (f->place == DATA) {
			take_content(f, bytes, ret_content);
			if (f->left == 0)
				f->place = DATA_CR;
			return FRAMING_MORE;
		}
		f->place = (int)take_byte(f, bytes->ptr[0]);
		if (f->place == BROKEN)
			return FRAMING_MALFORMED;
		*bytes = span_from(*bytes, 1);
	}
	return f->place == ENDED ? FRAMING_END : FRAMING_MORE;
}

/* --- the bytes between chunks --- */

/* Trailers are dropped, but a malformed one spoils the answer. */
static enum chunk_place
take_trailer(struct answer_framing *f, char c)
{
	if (c == '\r' && f->place == TRAILER_BEGIN)
		return LAST_LF;
	if (++f->trailer_bytes > FRAMING_TRAILER_BYTES)
		return BROKEN;
	if (f->place == TRAILER_VALUE) {
		if (c == '\r')
			return TRAILER_LF;
		return field_is_value(span_of(&c, 1)) ? TRAILER_VALUE : BROKEN;
	}
	if (c == ':' && f->place == TRAILER_NAME)
		return TRAILER_VALUE;
	return field_is_token(span_of(&c, 1)) ? TRAILER_NAME : BROKEN;
}

static enum chunk_place
take_byte(struct answer_framing *f, char c)
{
	int digit;
	switch ((enum chunk_place)f->place) {
	case SIZE:
		digit = ascii_hex_value(c);
		if (digit >= 0 && f->size_digits < SIZE_DIGITS) {
			f->size_digits++;
			f->left = 16 * f->left + (uint64_t)digit;
			return SIZE;
		}
		if (digit >= 0 || f->size_digits == 0)
			return BROKEN;
		if (c == ';')
			return EXTENSION;
		return c == '\r' ? SIZE_LF : BROKEN;
	case EXTENSION:
		if (c == '\r')
			return SIZE_LF;
		if (++f->extension_bytes > FRAMING_EXTENSION_BYTES ||
		    !field_is_value(span_of(&c, 1)))
			return BROKEN;
		return EXTENSION;
	case SIZE_LF:
		f->size_digits = 0;
		if (c != '\n')
			return BROKEN;
		return f->left > 0 ? DATA : TRAILER_BEGIN;
	case DATA_CR:
		return c == '\r' ? DATA_LF : BROKEN;
	case DATA_LF:
		return c == '\n' ? SIZE : BROKEN;
	case TRAILER_BEGIN:
	case TRAILER_NAME:
	case TRAILER_VALUE:
		return take_trailer(f, c);
	case TRAILER_LF:
		return c == '\n' ? TRAILER_BEGIN : BROKEN;
	case LAST_LF:
		return c == '\n' ? ENDED : BROKEN;
	case DATA:
	case ENDED:
	case BROKEN:
		break;
	}
	must(false);
	return BROKEN;
}
