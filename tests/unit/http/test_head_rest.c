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
#include "http/client_connection_private.h"
#include "http/head_rest_private.h"

/*
 * Pipelines of requests, drawn at random, come in pieces of any size.  What
 * libmicrohttpd is shown of them must be as many requests, with heads that are
 * small, and bodies that end in the same places; and what an exchange makes of
 * that and of the rest must be what was sent.
 */
enum {
	PIPELINES = 4000,
	REQUESTS_MAX = 4,
	ROOM_MAX = 8192,
	HEAD_MAX = 64 * 1024,
};

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
	struct span target;
	struct field fields[HEAD_CHECK_FIELDS_MAX];
	size_t count;
	struct span body; /* as it stands on the wire, without trailers */
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
	r->fields[r->count++] = (struct field){name, value};
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

static void
send_request(struct arena *arena, struct request *r, struct body *all)
{
	unsigned framing = draw(3), many = draw(4) == 0 ? 90 : draw(12);
	unsigned at = draw(many + 1);
	size_t len = some_bytes();
	r->target = letters(arena, some_bytes());
	r->count = 0;
	for (unsigned n = draw(20) == 0 ? draw(300) : 0; n > 0; n--)
		put(all, "\r\n", 2);
	put(all, "POST ", 5);
	put(all, r->target.ptr, r->target.len);
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
	r->body = SPAN("");
	if (framing == 1)
		r->body = letters(arena, len);
	else if (framing == 2)
		r->body = arena_printf(arena, "1;a=b\r\nx\r\n0\r\n");
	put(all, r->body.ptr, r->body.len);
	if (framing == 2) {
		const char *end = draw(2) == 0 ? "\r\n" : "A: b\r\nC:d\r\n\r\n";
		put(all, end, strlen(end));
	}
}

/* --- what is shown --- */

/* In pieces, each in a place of just its room. */
static void
show_all(struct client_connection *c, struct span all, struct body *shown)
{
	while (all.len > 0 || c->spilled_len > 0) {
		size_t room = 1 + draw(draw(3) == 0 ? 10 : ROOM_MAX), more = 0;
		char *place = mem_zero(room);
		size_t had = head_rest_spilled(c, place, room);
		size_t len = all.len < room - had ? all.len : room - had;
		if (len > 0 && draw(3) == 0)
			len = 1 + draw((unsigned)len);
		if (len > 0) {
			memcpy(place + had, all.ptr, len);
			size_t right = head_rest_take(
			    c, place + had, len, room - had, &more);
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

/* Whatever the wire has marked in names. */
static void
assert_name(struct arena *arena, struct span got, struct span wanted)
{
	struct span name = arena_dup(arena, got);
	for (size_t i = 0; i < name.len; i++)
		((char *)(uintptr_t)name.ptr)[i] &= ~WIRE_MARK;
	assert_span(name, wanted);
}

/* The head is read as libmicrohttpd does, and then as an exchange does. */
static void
read_request(struct client_connection *c, struct arena *arena,
    const struct request *r, struct span *left)
{
	struct field list[HEAD_CHECK_FIELDS_MAX + 2];
	struct fields fields = {list, 0};
	const char *begin = left->ptr;
	struct span line = line_of(left), coding = SPAN(""), length = SPAN("");
	struct span target = span_of(line.ptr + 5, line.len - 5 - 9);
	assert_memory_equal(line.ptr, "POST ", 5);
	assert_memory_equal(target.ptr + target.len, " HTTP/1.1", 9);
	while ((line = line_of(left)).len > 0) {
		const char *colon = memchr(line.ptr, ':', line.len);
		assert_non_null(colon);
		size_t name = (size_t)(colon - line.ptr);
		struct field f = {span_of(line.ptr, name),
		    span_trim(span_from(line, name + 1))};
		assert_true(name > 0 && fields.count < HEAD_CHECK_FIELDS_MAX);
		list[fields.count++] = f;
		if (span_ieq(f.name, SPAN("Content-Length")))
			length = f.value;
		if (span_ieq(f.name, SPAN("Transfer-Encoding")))
			coding = f.value;
	}
	assert_true(left->ptr - begin <=
	    HEAD_REST_FROM_BYTES + HEAD_REST_END_MAX + 64);

	c->requests++;
	const struct head_rest *rest = head_rest_of(c);
	if (rest != NULL) {
		target = head_rest_target(rest, arena, target);
		assert_true(head_rest_fields(rest, arena, &fields));
	}
	head_rest_drop(c);
	assert_span(target, r->target);
	assert_int_equal(fields.count, r->count);
	for (size_t i = 0; i < r->count; i++) {
		assert_name(arena, fields.list[i].name, r->fields[i].name);
		assert_span(fields.list[i].value, r->fields[i].value);
	}
	bool chunked = coding.len > 0;
	assert_int_equal(chunked, r->body.len > 0 && r->body.ptr[1] == ';');
	if (chunked)
		assert_span(coding, SPAN("chunked"));
	else
		assert_int_equal(
		    length.len > 0 ? atoi(length.ptr) : 0, r->body.len);
	assert_span(span_of(left->ptr, r->body.len), r->body);
	*left = span_from(*left, r->body.len);
	/* No trailer is shown. */
	if (chunked)
		assert_span(line_of(left), SPAN(""));
}

static void
what_is_shown_is_small_and_what_is_made_of_it_whole(void **state)
{
	(void)state;
	static struct request requests[REQUESTS_MAX];
	for (unsigned n = 0; n < PIPELINES; n++) {
		struct client_connection c = {0};
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
		assert_null(c.rests);
		head_rest_end(&c);
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
		struct client_connection c = {0};
		struct client_connection again = {0};
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
		assert_int_equal(
		    head_rest_take(&c, bytes, len + 1, len + 1, &more), len);
		put(&shown, bytes, more);
		struct span end = head_rest_finish(&c);
		put(&shown, end.ptr, end.len);
		for (size_t i = 0; i < shown.len; i++)
			shown.ptr[i] &= ~WIRE_MARK;
		head_rest_take(&again, shown.ptr, shown.len, shown.len, &more);
		assert_int_equal(again.wire.verdict, HEAD_CHECK_OK);
		assert_int_equal(again.wire.requests, 1);
		assert_true(again.wire.state == WIRE_BEGIN ||
		    again.wire.state >= WIRE_BODY);
		free(bytes);
		head_rest_end(&c);
		head_rest_end(&again);
		body_clear(&all);
		body_clear(&shown);
		arena_free(&arena);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		what_is_shown_is_small_and_what_is_made_of_it_whole),
	    cmocka_unit_test(what_is_wrong_has_an_end),
	};
	return cmocka_run_group_tests_name("head_rest", tests, NULL, NULL);
}
