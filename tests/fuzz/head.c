/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "http/upstream/http1_head.h"

/*
 * The parser of answers' heads: however the bytes are cut, the result is the
 * same; a head that was accepted has no byte that others read in another way,
 * and at most one framing; written again, it is the same head.
 */
enum { MAX_BYTES = 1024, WHOLE, BYTES, PIECES };

/* *ret_left gets the rest of the input. */
static enum http1_head_state
feed(struct http1_head *head, struct span input, int cuts, size_t *ret_left)
{
	enum http1_head_state state = HEAD_MORE;
	struct dice dice = dice_of(input);
	size_t taken = 0;

	http1_head_begin(head, MAX_BYTES);
	while (state == HEAD_MORE && taken < input.len) {
		size_t left = input.len - taken;
		size_t len = cuts == WHOLE ? left
		    : cuts == BYTES	   ? 1
					   : 1 + dice_throw(&dice, left);
		/*
		 * In memory of its own, so that a read past its end is noticed.
		 */
		char *piece = mem_copy(input.ptr + taken, len);
		struct span rest = span_of(piece, len);
		state = http1_head_feed(head, &rest);
		must(state != HEAD_MORE || rest.len == 0);
		taken += len - rest.len;
		free(piece);
	}
	*ret_left = input.len - taken;
	return state;
}

static void
equal(const struct http1_head *a, const struct http1_head *b)
{
	struct fields x, y;
	char *blocks[] = {http1_head_take(a, &x), http1_head_take(b, &y)};

	must(a->status == b->status && a->persistent == b->persistent);
	must(a->chunked == b->chunked);
	must(a->content_length == b->content_length);
	must(a->keep_alive_s == b->keep_alive_s);
	must(x.count == y.count);
	for (size_t i = 0; i < x.count; i++) {
		must(span_eq(x.list[i].name, y.list[i].name));
		must(span_eq(x.list[i].value, y.list[i].value));
	}
	free(blocks[0]);
	free(blocks[1]);
}

/* No line feed without its CR, no CR without its line feed, no NUL. */
static void
lines_are_clean(struct span text)
{
	must(text.len > 4);
	must(!memcmp(text.ptr + text.len - 4, "\r\n\r\n", 4));
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		must(c != '\0');
		must(c != '\n' || (i > 0 && text.ptr[i - 1] == '\r'));
		must(c != '\r' || text.ptr[i + 1] == '\n');
		/* A folded line. */
		must(c != '\n' || i + 1 == text.len ||
		    (text.ptr[i + 1] != ' ' && text.ptr[i + 1] != '\t'));
	}
}

static void
is_one_answer(const struct http1_head *head, const struct fields *fields)
{
	size_t lengths = fuzz_count(fields, SPAN("Content-Length"));
	size_t codings = fuzz_count(fields, SPAN("Transfer-Encoding"));

	must(head->status >= 200 && head->status <= 599);
	must(fields->count <= HEAD_FIELDS_MAX);
	must(lengths + codings <= 1);
	must((lengths == 1) == (head->content_length >= 0));
	must((codings == 1) == head->chunked);
	must(head->persistent || head->version_1_0 ||
	    fuzz_count(fields, SPAN("Connection")) > 0);
	must(head->keep_alive_s >= -1);
	for (size_t i = 0; i < fields->count; i++) {
		struct span value = fields->list[i].value;
		must(field_is_token(fields->list[i].name));
		must(field_is_value(value));
		must(span_eq(value, span_trim(value)));
	}
}

static void
read_again(const struct http1_head *head, const struct fields *fields)
{
	struct body text = {0};
	struct http1_head again = {0};
	char line[32];
	size_t left;

	snprintf(line, sizeof line, "HTTP/1.%d %d\r\n", !head->version_1_0,
	    head->status);
	must(body_append(&text, line, strlen(line)) == 0);
	for (size_t i = 0; i < fields->count; i++) {
		struct span name = fields->list[i].name;
		struct span value = fields->list[i].value;
		must(body_append(&text, name.ptr, name.len) == 0);
		must(body_append(&text, ":", 1) == 0);
		must(body_append(&text, value.ptr, value.len) == 0);
		must(body_append(&text, "\r\n", 2) == 0);
	}
	must(body_append(&text, "\r\n", 2) == 0);
	must(feed(&again, body_span(&text), PIECES, &left) == HEAD_WHOLE);
	must(left == 0);
	equal(head, &again);
	http1_head_free(&again);
	body_clear(&text);
}

void
fuzz_head(struct span input)
{
	struct http1_head head = {0}, other = {0};
	size_t left, other_left;
	enum http1_head_state state = feed(&head, input, WHOLE, &left);

	for (int cuts = BYTES; cuts <= PIECES; cuts++) {
		must(feed(&other, input, cuts, &other_left) == state);
		if (state != HEAD_WHOLE)
			continue;
		must(other_left == left);
		equal(&head, &other);
	}
	if (state == HEAD_WHOLE) {
		struct fields fields;
		char *block = http1_head_take(&head, &fields);
		lines_are_clean(span_of(input.ptr, input.len - left));
		is_one_answer(&head, &fields);
		read_again(&head, &fields);
		free(block);
	}
	http1_head_free(&head);
	http1_head_free(&other);
}
