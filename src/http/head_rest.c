/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/test_build.h"
#include "http/client_connection_private.h"
#include "http/head_rest_private.h"

/* Of one head, from where it was cut to its end, as the client has sent it. */
struct head_rest {
	struct head_rest *next; /* of later requests on the connection */
	uint64_t request;       /* its number there */
	enum wire_state at;     /* where it was cut */
	enum wire_field field;  /* in whose line, if it was in a value */
	size_t count;  /* bytes that were shown of what was cut there */
	size_t fields; /* whose lines were shown, or a part of the line */
	bool framed; /* what was shown says where the body ends */
	size_t len, room;
	char *text;
};

static bool
is_in_head(const struct wire *w)
{
	return w->state >= WIRE_METHOD && w->state < WIRE_BODY &&
	    !w->in_trailers;
}

/* --- cutting --- */

/* What libmicrohttpd needs as it stands is not cut, and is short. */
static bool
can_cut(const struct wire *w)
{
	return w->state == WIRE_TARGET || w->state == WIRE_FIELD ||
	    w->state == WIRE_NAME || w->state == WIRE_BLANKS ||
	    (w->state == WIRE_VALUE && w->field != WIRE_LENGTH &&
		w->field != WIRE_CODING);
}

static bool
is_too_long(const struct wire *w)
{
	return w->bytes >= HEAD_REST_FROM_BYTES && is_in_head(w) && can_cut(w);
}

static void
cut(struct client_connection *c)
{
	const struct wire *w = &c->wire;
	struct head_rest *rest = mem_zero(sizeof *rest);
	bool in_value = w->state == WIRE_BLANKS || w->state == WIRE_VALUE;
	rest->request = w->requests;
	rest->at = w->state;
	rest->field = in_value ? w->field : WIRE_ANY;
	rest->count = w->count;
	rest->fields = w->fields;
	rest->framed = w->has_length || w->chunked;
	struct head_rest **end = &c->rests;
	while (*end != NULL)
		end = &(*end)->next;
	*end = rest;
	c->rest = rest;
}

static void
keep(struct head_rest *rest, const char *bytes, size_t len)
{
	if (len == 0)
		return;
	if (rest->room - rest->len < len) {
		rest->room = 2 * rest->room + len;
		rest->text = mem_grow(rest->text, rest->room);
	}
	memcpy(rest->text + rest->len, bytes, len);
	rest->len += len;
}

/* --- the end that libmicrohttpd is shown --- */

/* Of the line that was cut. */
static const char *
end_of_line(const struct head_rest *rest, const struct wire *w)
{
	if (rest->at == WIRE_TARGET && rest->count == 0)
		return w->version_1_0 ? "/ HTTP/1.0\r\n" : "/ HTTP/1.1\r\n";
	if (rest->at == WIRE_TARGET)
		return w->version_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";
	if (rest->at == WIRE_NAME)
		return "-: x\r\n";
	if (rest->field == WIRE_CODING)
		return "chunked\r\n";
	return rest->at == WIRE_FIELD || rest->field == WIRE_LENGTH ? ""
								   : "0\r\n";
}

/* How long the body is; nothing where the lines that were shown say so. */
static size_t
put_framing(const struct head_rest *rest, const struct wire *w, char *to)
{
	bool name = rest->field == WIRE_ANY || rest->field == WIRE_COOKIE;
	*to = '\0';
	if (rest->field == WIRE_LENGTH)
		sprintf(to, "%" PRIu64 "\r\n", w->left);
	else if (name && !rest->framed && w->has_length)
		sprintf(to, "Content-Length: %" PRIu64 "\r\n", w->left);
	else if (name && !rest->framed && w->chunked)
		sprintf(to, "Transfer-Encoding: chunked\r\n");
	return strlen(to);
}

static size_t
put_end(const struct head_rest *rest, const struct wire *w, char *to)
{
	size_t len = (size_t)sprintf(to, "%s", end_of_line(rest, w));
	len += put_framing(rest, w, to + len);
	memcpy(to + len, "\r\n", 2);
	return len + 2;
}

struct span
head_rest_finish(struct client_connection *c)
{
	struct head_rest *rest = c->rest;
	struct span end = wire_finish(&c->wire);
	/* The line feed would end an empty line, which was not shown. */
	if (c->wire.state == WIRE_BEGIN_LF)
		return span_from(end, 1);
	if (rest == NULL)
		return end;
	/* Nothing is behind it. */
	c->wire.left = 0;
	c->wire.has_length = c->wire.chunked = false;
	if (rest->field == WIRE_CODING)
		c->wire.chunked = true;
	c->rest = NULL;
	return span_of(c->rest_end, put_end(rest, &c->wire, c->rest_end));
}

/* --- what comes --- */

/* So many of these bytes may be taken before it is cut. */
static size_t
bytes_to_cut(const struct wire *w, size_t len)
{
	if (!is_in_head(w) || !can_cut(w) || w->bytes >= HEAD_REST_FROM_BYTES)
		return len;
	size_t room = HEAD_REST_FROM_BYTES - w->bytes;
	return len < room ? len : room;
}

/* What nobody reads, from the first byte of its line to the last. */
static bool
is_for_nobody(const struct wire *w, char c)
{
	if (w->in_trailers)
		return w->state == WIRE_FIELD ? c != '\r'
					      : w->state < WIRE_END_LF;
	return w->state == WIRE_BEGIN_LF ||
	    (w->state == WIRE_BEGIN && c == '\r');
}

/* Where what is shown is put: there, or behind it. */
struct showing {
	char *to;
	size_t len, room;
};

static void
show(struct client_connection *c, struct showing *showing, const char *bytes,
    size_t len)
{
	size_t n = showing->room - showing->len;
	if (n > len)
		n = len;
	if (showing->to + showing->len != bytes && n > 0)
		memmove(showing->to + showing->len, bytes, n);
	showing->len += n;
	if (n == len)
		return;
	c->spilled = mem_grow(c->spilled, c->spilled_len + len - n);
	memcpy(c->spilled + c->spilled_len, bytes + n, len - n);
	c->spilled_len += len - n;
}

/* One step of the wire. */
static size_t
take_step(struct client_connection *c, struct showing *showing, char *bytes,
    size_t len)
{
	struct wire *w = &c->wire;
	char end[HEAD_REST_END_MAX];
	bool for_nobody = is_for_nobody(w, *bytes);
	size_t n = wire_step(
	    w, bytes, c->rest != NULL ? len : bytes_to_cut(w, len));
	if (c->rest != NULL)
		keep(c->rest, bytes, n);
	else if (!for_nobody)
		show(c, showing, bytes, n);
	if (c->rest != NULL && !is_in_head(w)) {
		show(c, showing, end, put_end(c->rest, w, end));
		c->rest = NULL;
	}
	return n;
}

/* An end may be longer than what it ends: it has these bytes out of its way. */
static size_t
take_cut(struct client_connection *c, struct showing *showing,
    const char *bytes, size_t len)
{
	char *copy = mem_copy(bytes, len);
	size_t at = 0;
	while (at < len && c->wire.verdict == HEAD_CHECK_OK) {
		if (c->rest == NULL && is_too_long(&c->wire))
			cut(c);
		at += take_step(c, showing, copy + at, len - at);
	}
	free(copy);
	return at;
}

/*
 * What is too little to be cut, and is shown as it stands: all of most
 * requests.
 */
static size_t
take_short(struct wire *w, char *bytes, size_t len)
{
	size_t at = 0;
	if (w->bytes + len > HEAD_REST_FROM_BYTES)
		return 0;
	while (at < len && w->verdict == HEAD_CHECK_OK && !w->in_trailers &&
	    (w->state > WIRE_BEGIN_LF || bytes[at] > '\r'))
		at += wire_step(w, bytes + at, len - at);
	return at;
}

size_t
head_rest_take(struct client_connection *c, char *bytes, size_t len,
    size_t room, size_t *ret_shown)
{
	size_t at = c->rest == NULL ? take_short(&c->wire, bytes, len) : 0;
	struct showing showing = {bytes, at, room};
	while (at < len && c->wire.verdict == HEAD_CHECK_OK) {
		if (c->rest != NULL || is_too_long(&c->wire))
			at += take_cut(c, &showing, bytes + at, len - at);
		else
			at += take_step(c, &showing, bytes + at, len - at);
	}
	if (!INVARIANT(strict_wire)) {
		show(c, &showing, bytes + at, len - at);
		at = len;
	}
	*ret_shown = showing.len;
	return at;
}

size_t
head_rest_spilled(struct client_connection *c, char *bytes, size_t room)
{
	size_t n = c->spilled_len < room ? c->spilled_len : room;
	if (n == 0)
		return 0;
	memcpy(bytes, c->spilled, n);
	c->spilled_len -= n;
	memmove(c->spilled, c->spilled + n, c->spilled_len);
	if (c->spilled_len == 0) {
		free(c->spilled);
		c->spilled = NULL;
	}
	return n;
}

/* --- for the exchange --- */

const struct head_rest *
head_rest_of(const struct client_connection *c)
{
	const struct head_rest *rest = c->rests;
	return rest != NULL && rest->request == c->requests ? rest : NULL;
}

static struct span
text_of_rest(const struct head_rest *rest)
{
	return rest->len > 0 ? span_of(rest->text, rest->len) : SPAN("");
}

struct span
head_rest_target(
    const struct head_rest *rest, struct arena *arena, struct span shown)
{
	if (rest->at != WIRE_TARGET)
		return arena_dup(arena, shown);
	struct span text = text_of_rest(rest), more;
	const char *end = memchr(text.ptr, ' ', text.len);
	more = end != NULL ? span_of(text.ptr, (size_t)(end - text.ptr)) : text;
	shown.len = rest->count;
	return arena_printf(arena, "%.*s%.*s", (int)shown.len, shown.ptr,
	    (int)more.len, more.ptr);
}

/* Up to the end of a line, which may be wrong or not have come. */
static struct span
next_line(struct span *text)
{
	const char *end = memmem(text->ptr, text->len, "\r\n", 2);
	size_t len = end != NULL ? (size_t)(end - text->ptr) : text->len;
	struct span line = span_of(text->ptr, len);
	*text = end != NULL ? span_from(*text, len + 2) : SPAN("");
	return line;
}

static struct span
join(struct arena *arena, struct span a, struct span b)
{
	return arena_printf(
	    arena, "%.*s%.*s", (int)a.len, a.ptr, (int)b.len, b.ptr);
}

static void
add_line(struct arena *arena, struct span line, struct fields *fields)
{
	const char *colon = memchr(line.ptr, ':', line.len);
	if (colon == NULL || fields->count == HEAD_CHECK_FIELDS_MAX)
		return;
	size_t name = (size_t)(colon - line.ptr);
	fields->list[fields->count++] =
	    (struct field){arena_dup(arena, span_of(line.ptr, name)),
		arena_dup(arena, span_trim(span_from(line, name + 1)))};
}

/* The line in which it was cut: libmicrohttpd has taken what was put there. */
static void
join_line(const struct head_rest *rest, struct arena *arena, struct span line,
    struct fields *fields)
{
	if (fields->count == 0)
		return;
	struct field *last = &fields->list[fields->count - 1];
	if (rest->at == WIRE_NAME) {
		struct span name = last->name;
		name.len -= name.len > 0;
		fields->count--;
		add_line(arena, join(arena, name, line), fields);
	} else if (rest->at == WIRE_BLANKS) {
		last->value = arena_dup(arena, span_trim(line));
	} else {
		struct span value = last->value;
		value.len -= value.len > 0;
		last->value = span_trim(join(arena, value, line));
	}
}

bool
head_rest_fields(
    const struct head_rest *rest, struct arena *arena, struct fields *fields)
{
	struct span text = text_of_rest(rest);
	struct field *list =
	    arena_alloc(arena, HEAD_CHECK_FIELDS_MAX * sizeof *list);
	if (fields->count < rest->fields)
		return false;
	/* Those of the end that was put there are not the client's. */
	fields->count = rest->fields;
	if (fields->count > 0)
		memcpy(list, fields->list, fields->count * sizeof *list);
	fields->list = list;
	if (rest->at == WIRE_TARGET)
		(void)next_line(&text);
	else if (rest->at != WIRE_FIELD)
		join_line(rest, arena, next_line(&text), fields);
	while (text.len > 0)
		add_line(arena, next_line(&text), fields);
	return true;
}

/* --- life --- */

static void
free_first(struct client_connection *c)
{
	struct head_rest *rest = c->rests;
	c->rests = rest->next;
	free(rest->text);
	free(rest);
}

void
head_rest_drop(struct client_connection *c)
{
	while (c->rests != NULL && c->rests->request <= c->requests)
		free_first(c);
}

void
head_rest_end(struct client_connection *c)
{
	while (c->rests != NULL)
		free_first(c);
	c->rest = NULL;
	free(c->spilled);
}
