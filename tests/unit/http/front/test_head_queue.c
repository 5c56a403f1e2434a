/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/body.h"
#include "base/mem.h"
#include "base/must.h"
#include "http/front/client_connection_private.h"
#include "http/front/front_private.h"
#include "http/front/head_queue_private.h"

/*
 * Pipelines of requests, drawn at random, come in pieces of any size.  What
 * libmicrohttpd is shown of them must be as many requests, with heads that say
 * no more than where the bodies end, which is in the same places, and chunks
 * with nothing beside them; and what an exchange gets of each must be the head
 * that was sent.
 */
enum {
	PIPELINES = 4000,
	REQUESTS_MAX = 4,
	ROOM_MAX = 8192,
	HEAD_MAX = 64 * 1024,
};

static struct front front;

static void
put(struct body *body, const void *bytes, size_t len)
{
	must(body_append(body, bytes, len) == 0);
}

static unsigned
draw(unsigned below)
{
	static uint64_t state = 1;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

/* --- what is sent --- */

struct request {
	struct span head;
	size_t count; /* of fields */
	bool chunked;
	struct span body; /* as libmicrohttpd is to see it */
};

static struct span
letters(struct arena *arena, size_t len)
{
	char *text = arena_alloc(arena, len + 1);
	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + draw(26));
	if (len > 2 && draw(2) == 0)
		text[1 + draw((unsigned)len - 2)] = ':';
	return span_of(text, len);
}

/* Mostly short, and sometimes as long as what is cut, or longer. */
static size_t
some_bytes(void)
{
	static const unsigned sizes[] = {1, 20, 20, 100, 700, 4100, 9000};
	return 1 + draw(sizes[draw(sizeof sizes / sizeof *sizes)]);
}

static void
add(struct request *r, struct body *all, struct span name, struct span value)
{
	static const char *const blanks[] = {"", " ", " ", "\t", "     "};
	char many[5000];
	r->count++;
	put(all, name.ptr, name.len);
	put(all, ":", 1);
	size_t n = draw(30) == 0 ? draw(sizeof many) : 0;
	memset(many, ' ', n);
	put(all, many, n);
	const char *more = blanks[draw(5)];
	put(all, more, strlen(more));
	put(all, value.ptr, value.len);
	/* Behind what says where a body ends the wire takes none. */
	bool framing = span_eq(name, SPAN("Content-Length")) ||
	    span_eq(name, SPAN("Transfer-Encoding"));
	more = blanks[framing ? 0 : draw(5)];
	put(all, more, strlen(more));
	put(all, "\r\n", 2);
}

static void
add_any(struct arena *arena, struct request *r, struct body *all)
{
	static const char *const names[] = {
	    "cookie", "Cookie2", "Expect", "Content", "Connection", "Host"};
	struct span name = draw(3) == 0
	    ? arena_dup(arena, span_str(names[draw(6)]))
	    : letters(arena, some_bytes() % 5000 + 1);
	char *colon;
	while ((colon = memchr(name.ptr, ':', name.len)) != NULL)
		*colon = '-';
	struct span value = letters(arena, draw(8) == 0 ? 0 : some_bytes());
	size_t inner = value.len > 2 ? value.len - 2 : 0;
	if (inner > 0 && draw(2) == 0)
		((char *)(uintptr_t)value.ptr)[1 + draw((unsigned)inner)] = ' ';
	add(r, all, name, value);
}

/* However the sizes are written, and whatever stands beside them. */
static void
send_chunks(struct arena *arena, struct request *r, struct body *all)
{
	static const char *const zeros[] = {"", "", "0", "000000"};
	static const char *const extensions[] = {"", "", ";a=b", ";\t\"x\" "};
	struct body shown;
	body_init(&shown, NULL);
	for (unsigned left = draw(4) + 1; left-- > 0;) {
		size_t len = left > 0 ? some_bytes() : 0;
		struct span data = letters(arena, len);
		struct span size = arena_printf(arena,
		    draw(2) == 0 ? "%s%zx%s\r\n" : "%s%zX%s\r\n",
		    zeros[draw(4)], len, extensions[draw(4)]);
		put(all, size.ptr, size.len);
		size = arena_printf(arena, "%zx\r\n", len);
		put(&shown, size.ptr, size.len);
		data = left > 0 ? arena_printf(arena, "%.*s\r\n", (int)len,
				      data.ptr)
				: SPAN("");
		put(all, data.ptr, data.len);
		put(&shown, data.ptr, data.len);
	}
	const char *end = draw(2) == 0 ? "\r\n" : "A: b\r\nC:d\r\n\r\n";
	put(all, end, strlen(end));
	put(&shown, "\r\n", 2);
	r->body = arena_dup(arena, body_span(&shown));
	body_clear(&shown);
}

static void
send_request(struct arena *arena, struct request *r, struct body *all)
{
	unsigned framing = draw(3), many = draw(4) == 0 ? 90 : draw(12);
	unsigned at = draw(many + 1);
	size_t len = some_bytes();
	struct span target = letters(arena, some_bytes());
	r->count = 0;
	for (unsigned n = draw(20) == 0 ? draw(300) : 0; n > 0; n--)
		put(all, "\r\n", 2);
	size_t begin = all->len;
	put(all, "POST ", 5);
	put(all, target.ptr, target.len);
	put(all, " HTTP/1.1\r\n", 11);
	for (unsigned i = 0; i <= many; i++) {
		if (i == at && framing == 1)
			add(r, all, SPAN("Content-Length"),
			    arena_printf(arena, "%zu", len));
		else if (i == at && framing == 2)
			add(r, all, SPAN("Transfer-Encoding"), SPAN("chunked"));
		else if (all->len < HEAD_MAX / 2)
			add_any(arena, r, all);
	}
	put(all, "\r\n", 2);
	r->head = arena_dup(arena, span_from(body_span(all), begin));
	r->chunked = framing == 2;
	r->body = framing == 1 ? letters(arena, len) : SPAN("");
	put(all, r->body.ptr, r->body.len);
	if (r->chunked)
		send_chunks(arena, r, all);
}

/* --- what is shown --- */

/* In pieces, each in a place of just its room. */
static void
show_all(struct client_connection *c, struct span all, struct body *shown)
{
	while (all.len > 0 || c->spilled_len > 0) {
		size_t room = 1 + draw(draw(3) == 0 ? 10 : ROOM_MAX), more = 0;
		char *place = mem_zero(room);
		size_t had = head_queue_spilled(c, place, room);
		size_t len = all.len < room - had ? all.len : room - had;
		if (len > 0 && draw(3) == 0)
			len = 1 + draw((unsigned)len);
		if (len > 0) {
			size_t right = head_queue_take(c, all.ptr, len,
			    place + had, room - had, &more);
			assert_int_equal(right, len);
		}
		all = span_from(all, len);
		put(shown, place, had + more);
		free(place);
	}
	assert_int_equal(c->wire.verdict, HEAD_CHECK_OK);
	assert_int_equal(c->wire.state, WIRE_BEGIN);
}

static struct span
line_of(struct span *left)
{
	const char *end = memmem(left->ptr, left->len, "\r\n", 2);
	assert_non_null(end);
	struct span line = span_of(left->ptr, (size_t)(end - left->ptr));
	*left = span_from(*left, line.len + 2);
	return line;
}

static void
assert_span(struct span got, struct span wanted)
{
	if (!span_eq(got, wanted))
		print_message("got %.*s\nnot %.*s\n", (int)got.len, got.ptr,
		    (int)wanted.len, wanted.ptr);
	assert_true(span_eq(got, wanted));
}

/* The head is read as libmicrohttpd does, and then as an exchange gets it. */
static void
read_request(struct client_connection *c, struct arena *arena,
    const struct request *r, struct span *left)
{
	const char *begin = left->ptr;
	struct span line = line_of(left);
	long length = 0;
	bool chunked = false;
	assert_span(line, SPAN("POST / HTTP/1.1"));
	while ((line = line_of(left)).len > 0) {
		char *end;
		if (line.len > 15 && !memcmp(line.ptr, "Content-Length:", 15)) {
			length = strtol(line.ptr + 15, &end, 10);
			assert_ptr_equal(end, line.ptr + line.len);
		} else if (span_eq(line, SPAN("Transfer-Encoding:chunked"))) {
			chunked = true;
		} else {
			assert_memory_equal(line.ptr, "-:x", 3);
		}
	}
	assert_true(left->ptr - begin <=
	    HEAD_QUEUE_FILL_BYTES + HEAD_QUEUE_END_MAX);

	size_t len, count;
	c->requests++;
	char *head = head_queue_pop(c, arena, &len, &count);
	assert_span(span_of(head, len), r->head);
	assert_int_equal(count, r->count);
	assert_int_equal(chunked, r->chunked);
	assert_int_equal(length, chunked ? 0 : r->body.len);
	assert_span(span_of(left->ptr, r->body.len), r->body);
	*left = span_from(*left, r->body.len);
}

static void
what_is_shown_is_small_and_what_was_sent_is_kept(void **state)
{
	(void)state;
	static struct request requests[REQUESTS_MAX];
	for (unsigned n = 0; n < PIPELINES; n++) {
		struct client_connection c = {.front = &front};
		struct arena *arena = arena_new();
		struct body all, shown;
		unsigned many = 1 + draw(REQUESTS_MAX);
		body_init(&all, NULL);
		body_init(&shown, NULL);
		wire_init(&c.wire, HEAD_MAX);
		for (unsigned i = 0; i < many; i++) {
			struct body one;
			body_init(&one, NULL);
			send_request(arena, &requests[i], &one);
			put(&all, one.ptr, one.len);
			body_clear(&one);
		}
		show_all(&c, body_span(&all), &shown);
		struct span left = body_span(&shown);
		for (unsigned i = 0; i < many; i++)
			read_request(&c, arena, &requests[i], &left);
		assert_int_equal(left.len, 0);
		assert_null(c.heads);
		head_queue_end(&c);
		body_clear(&all);
		body_clear(&shown);
		arena_free(&arena);
	}
}

/* However it was cut, what was wrong has an end that libmicrohttpd takes. */
static void
what_is_wrong_has_an_end(void **state)
{
	(void)state;
	for (unsigned n = 0; n < PIPELINES; n++) {
		struct client_connection c = {.front = &front};
		struct client_connection again = {.front = &front};
		struct arena *arena = arena_new();
		struct request *r = arena_alloc(arena, sizeof *r);
		struct body all, shown;
		size_t more = 0;
		body_init(&all, NULL);
		body_init(&shown, NULL);
		wire_init(&c.wire, HEAD_MAX);
		wire_init(&again.wire, HEAD_MAX);
		send_request(arena, r, &all);
		size_t head = (size_t)((char *)memmem(all.ptr, all.len,
					   "\r\n\r\n", 4) - all.ptr);
		size_t len = draw((unsigned)head + 3);
		char *bytes = mem_zero(len + 1);
		memcpy(bytes, all.ptr, len);
		bytes[len] = '\0'; /* wrong, wherever it stands in a head */
		char *place = mem_zero(ROOM_MAX);
		assert_int_equal(head_queue_take(&c, bytes, len + 1, place,
		    ROOM_MAX, &more), len);
		put(&shown, place, more);
		struct span end = head_queue_finish(&c);
		put(&shown, end.ptr, end.len);
		assert_true(shown.len <= HEAD_QUEUE_END_MAX);
		head_queue_take(&again, shown.ptr, shown.len, place, ROOM_MAX,
		    &more);
		free(place);
		assert_int_equal(again.wire.verdict, HEAD_CHECK_OK);
		assert_int_equal(again.wire.requests, 1);
		assert_true(again.wire.state == WIRE_BEGIN ||
		    again.wire.state >= WIRE_BODY);
		free(bytes);
		head_queue_end(&c);
		head_queue_end(&again);
		body_clear(&all);
		body_clear(&shown);
		arena_free(&arena);
	}
}

/* libmicrohttpd reads until its buffer is full, whatever waits here then. */
static void
not_many_heads_wait(void **state)
{
	(void)state;
	struct client_connection c = {.front = &front};
	struct arena *arena = arena_new();
	struct span request = arena_printf(arena,
	    "GET / HTTP/1.1\r\nA: %s\r\n\r\n", letters(arena, 3000).ptr);
	char *place = mem_zero(ROOM_MAX);
	size_t shown = 0, more, taken = 0, kept = 0, len, count;
	wire_init(&c.wire, HEAD_MAX);
	for (; shown < ROOM_MAX; shown += more, taken++)
		assert_int_equal(head_queue_take(&c, request.ptr, request.len,
		    place, ROOM_MAX - shown, &more), request.len);
	for (c.requests = 1; c.requests <= taken; c.requests++) {
		head_queue_pop(&c, arena, &len, &count);
		kept += len;
	}
	assert_null(c.heads);
	assert_true(kept > ROOM_MAX && kept <= 3 * ROOM_MAX);
	free(place);
	head_queue_end(&c);
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		what_is_shown_is_small_and_what_was_sent_is_kept),
	    cmocka_unit_test(what_is_wrong_has_an_end),
	    cmocka_unit_test(not_many_heads_wait),
	};
	int failed =
	    cmocka_run_group_tests_name("head_queue", tests, NULL, NULL);
	head_queue_end_front(&front);
	return failed;
}
