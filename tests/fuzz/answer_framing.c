/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "http/upstream/answer_framing.h"

/*
 * The decoder of chunks against a second one that has all bytes at once (RFC
 * 9112, section 7.1).  The bytes are cut in every way, and what was read is
 * written and read again.
 */
struct decoded {
	enum answer_framing_state state;
	char *content;
	size_t content_len;
	size_t taken; /* bytes of the input; 0 where it is malformed */
};

enum { WHOLE, BYTES, PIECES };

static struct answer_framing
begin(bool chunked, size_t length)
{
	const struct http1_head head = {
		.status = 200,
		.chunked = chunked,
		.content_length = chunked ? -1 : (int64_t)length,
	};
	struct answer_framing framing;

	answer_framing_begin(&framing, &head, false);
	return framing;
}

/* Feeds the input in pieces, and collects the output. */
static struct decoded
decode(struct answer_framing framing, struct span input, int cuts)
{
	struct decoded d = {FRAMING_MORE, mem_grow(NULL, input.len + 1), 0, 0};
	struct dice dice = dice_of(input);

	while (d.state == FRAMING_MORE && d.taken < input.len) {
		size_t left = input.len - d.taken;
		size_t len = cuts == WHOLE ? left
		    : cuts == BYTES	   ? 1
					   : 1 + dice_throw(&dice, left);
		/*
		 * In memory of its own, so that a read past its end is noticed.
		 */
		char *piece = mem_copy(input.ptr + d.taken, len);
		struct span rest = span_of(piece, len);
		do {
			size_t before = rest.len;
			struct span content;
			d.state =
			    answer_framing_feed(&framing, &rest, &content);
			must(d.content_len + content.len <= input.len);
			memcpy(d.content + d.content_len, content.ptr,
			    content.len);
			d.content_len += content.len;
			must(d.state != FRAMING_MORE || rest.len < before);
		} while (d.state == FRAMING_MORE && rest.len > 0);
		d.taken += len - rest.len;
		free(piece);
	}
	return d;
}

static void
equal(const struct decoded *a, const struct decoded *b)
{
	must(a->state == b->state);
	must(a->state == FRAMING_MALFORMED || a->taken == b->taken);
	must(span_eq(span_of(a->content, a->content_len),
	    span_of(b->content, b->content_len)));
}

/* --- the second reader --- */

/* Reads a line, without its end; false: it is not whole. */
static bool
take_line(struct span *left, struct span *ret_line)
{
	for (size_t i = 0; i + 1 < left->len; i++) {
		if (left->ptr[i] != '\r')
			continue;
		*ret_line = span_of(left->ptr, i);
		*left = span_from(*left, i + 2);
		return true;
	}
	return false;
}

static bool
line_ends_well(struct span line)
{
	return line.ptr[line.len] == '\r' && line.ptr[line.len + 1] == '\n' &&
	    field_is_value(line);
}

static bool
read_size(struct span line, size_t *extension_bytes, uint64_t *ret_size)
{
	char digits[17] = "";
	size_t n = 0;

	while (n < line.len && n < 16 &&
	    memchr("0123456789abcdefABCDEF", line.ptr[n], 22) != NULL) {
		digits[n] = line.ptr[n];
		n++;
	}
	if (n == 0 || n > 15)
		return false;
	*ret_size = strtoull(digits, NULL, 16);
	if (n == line.len)
		return true;
	*extension_bytes += line.len - n - 1;
	return line.ptr[n] == ';' &&
	    *extension_bytes <= FRAMING_EXTENSION_BYTES;
}

/* The trailer section: -1 malformed, 0 not whole, 1 good. */
static int
read_trailers(struct span *left)
{
	size_t bytes = 0;
	struct span line;

	while (take_line(left, &line)) {
		if (!line_ends_well(line))
			return -1;
		if (line.len == 0)
			return 1;
		bytes += line.len;
		const char *colon = memchr(line.ptr, ':', line.len);
		if (colon == NULL || bytes > FRAMING_TRAILER_BYTES ||
		    !field_is_token(
			span_of(line.ptr, (size_t)(colon - line.ptr))))
			return -1;
	}
	return 0;
}

/*
 * False where the input does not reach far enough to judge it, or is long
 * enough for the decoder to refuse it early.
 */
static bool
read_chunks(struct span input, struct decoded *ret_decoded)
{
	struct decoded d = {
		FRAMING_MALFORMED, mem_grow(NULL, input.len + 1), 0, 0};
	struct span left = input, line;
	size_t extension_bytes = 0;
	bool judged = false;

	while (take_line(&left, &line)) {
		uint64_t size;
		judged = true;
		if (!line_ends_well(line) ||
		    !read_size(line, &extension_bytes, &size))
			break;
		if (size == 0) {
			int how = read_trailers(&left);
			judged = how != 0;
			if (how == 1)
				d.state = FRAMING_END;
			break;
		}
		judged = left.len >= 2 && size <= left.len - 2;
		if (!judged)
			break;
		memcpy(d.content + d.content_len, left.ptr, (size_t)size);
		d.content_len += (size_t)size;
		left = span_from(left, (size_t)size);
		if (left.ptr[0] != '\r' || left.ptr[1] != '\n')
			break;
		left = span_from(left, 2);
		judged = false;
	}
	d.taken = input.len - left.len;
	*ret_decoded = d;
	return judged;
}

/* --- */

static void
read_again(const struct decoded *d)
{
	char *text = mem_printf("%zx;again=\"1\"\r\n%.*s\r\n0\r\nX: y\r\n\r\n",
	    d->content_len, (int)d->content_len, d->content);
	size_t front = strcspn(text, "\n") + 1;
	size_t len = front + d->content_len +
	    strlen("\r\n0\r\nX: y\r\n\r\n");
	char *bytes = mem_grow(NULL, len);

	/* The content may have NULs, at which the formatting would end. */
	memcpy(bytes, text, front);
	memcpy(bytes + front, d->content, d->content_len);
	memcpy(bytes + front + d->content_len, "\r\n0\r\nX: y\r\n\r\n", 13);
	struct decoded again =
	    decode(begin(true, 0), span_of(bytes, len), PIECES);
	must(again.state == FRAMING_END && again.taken == len);
	must(span_eq(span_of(again.content, again.content_len),
	    span_of(d->content, d->content_len)));
	free(again.content);
	free(bytes);
	free(text);
}

static void
try_all_cuts(struct answer_framing framing, struct span input)
{
	struct decoded whole = decode(framing, input, WHOLE);

	for (int cuts = BYTES; cuts <= PIECES; cuts++) {
		struct decoded other = decode(framing, input, cuts);
		equal(&whole, &other);
		free(other.content);
	}
	free(whole.content);
}

void
fuzz_answer_framing(struct span input)
{
	struct dice dice = dice_of(input);
	struct decoded other;

	try_all_cuts(begin(true, 0), input);
	try_all_cuts(begin(false, 1 + dice_throw(&dice, input.len + 2)), input);

	struct decoded whole = decode(begin(true, 0), input, WHOLE);
	if (read_chunks(input, &other))
		equal(&whole, &other);
	else
		must(whole.state != FRAMING_END);
	if (whole.state == FRAMING_END && whole.content_len > 0)
		read_again(&whole);
	free(other.content);
	free(whole.content);
}
