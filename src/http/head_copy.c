/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "http/client_connection_private.h"
#include "http/exchange_private.h"
#include "http/front_private.h"
#include "http/head_copy_private.h"
#include "http/tls_private.h"
#include "head/header.h"

enum {
	/* What libmicrohttpd notes of a field. */
	NOTE_BYTES = 64,
	/* A Content-Length of more is no number here. */
	LENGTH_DIGITS = 18,
	COOKIE_BYTES = 6, /* of a name whose last one may have WIRE_MARK */
};

/* Where the fields stand in libmicrohttpd's memory, and how many. */
struct lines {
	uintptr_t begin, end;
	size_t count;
	struct fields *fields;
};

/* As it stands there. */
static enum MHD_Result
note_field(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	struct lines *lines = arg;
	uintptr_t begin = (uintptr_t)name, end = (uintptr_t)value + value_len;
	(void)kind;
	struct fields *fields = lines->fields;
	if (fields->count == lines->count)
		return MHD_NO;
	if (fields->count == 0 || begin < lines->begin)
		lines->begin = begin;
	if (end > lines->end)
		lines->end = end;
	fields->list[fields->count++] = (struct field){
	    span_of(name, name_len), span_of(value, value_len)};
	return MHD_YES;
}

static struct span
move_part(const struct lines *lines, const char *copy, struct span part)
{
	return part.ptr == NULL
	    ? SPAN("")
	    : span_of(copy + ((uintptr_t)part.ptr - lines->begin), part.len);
}

/* All of them at once, each with the NUL behind it. */
static void
copy_together(struct arena *arena, const struct lines *lines)
{
	const char *copy = arena_dup(arena,
	    span_of((const char *)lines->begin, lines->end - lines->begin)).ptr;
	for (size_t i = 0; i < lines->count; i++) {
		struct field *f = &lines->fields->list[i];
		f->name = move_part(lines, copy, f->name);
		f->value = move_part(lines, copy, f->value);
	}
}

static void
copy_each(struct arena *arena, const struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		struct field *f = &lines->fields->list[i];
		f->name = arena_dup(arena, f->name);
		f->value = arena_dup(arena, f->value);
	}
}

static void
unmark(struct field *f)
{
	if (f->name.len >= COOKIE_BYTES)
		((char *)(uintptr_t)f->name.ptr)[COOKIE_BYTES - 1] &=
		    ~WIRE_MARK;
}

/*
 * Of a version of libmicrohttpd that we know the fields are copied at once; of
 * others one by one, for who knows what lies between them.  False: that is not
 * what the client has sent.
 */
static bool
copy_fields(struct mhd_exchange *x, struct lines *lines)
{
	struct fields *fields = &x->shown.head.fields;
	int count =
	    MHD_get_connection_values_n(x->mhd, MHD_HEADER_KIND, NULL, NULL);
	*lines = (struct lines){.fields = fields};
	lines->count = count > 0 ? (size_t)count : 0;
	fields->list =
	    arena_alloc(x->shown.arena, lines->count * sizeof *fields->list);
	MHD_get_connection_values_n(
	    x->mhd, MHD_HEADER_KIND, note_field, lines);
	lines->count = fields->count;
	if (lines->count > 0 && x->front->knows_layout)
		copy_together(x->shown.arena, lines);
	else
		copy_each(x->shown.arena, lines);
	const struct head_rest *rest = head_rest_of(x->connection);
	bool whole = rest == NULL ||
	    head_rest_fields(rest, x->shown.arena, fields);
	head_rest_drop(x->connection);
	for (size_t i = 0; i < fields->count; i++)
		unmark(&fields->list[i]);
	return whole;
}

/* The length that a Content-Length speaks of; -1 where it is not a number. */
static int64_t
parse_length(struct span text)
{
	int64_t length;
	return text.len <= LENGTH_DIGITS &&
		digits_read(text, INT64_MAX, &length)
	    ? length
	    : -1;
}

/*
 * libmicrohttpd 0.9.75 finds no "close" behind "clo", and no "keep-alive"
 * behind "ke": where that is what an HTTP/1.0 client says, it finds it in a
 * line of its own.
 */
static void
keep_alive(struct mhd_exchange *x)
{
	if (x->client_closes ||
	    !header_connection_names(
		&x->shown.head.fields, SPAN("keep-alive")))
		return;
	/* Without the memory for it, the connection closes. */
	(void)MHD_set_connection_value(
	    x->mhd, MHD_HEADER_KIND, "Connection", "keep-alive");
}

/* In what it was not shown of the head, libmicrohttpd sees no expectation. */
static void
show_expectation(struct mhd_exchange *x)
{
	if (MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND,
		MHD_HTTP_HEADER_EXPECT) == NULL)
		(void)MHD_set_connection_value(x->mhd, MHD_HEADER_KIND,
		    MHD_HTTP_HEADER_EXPECT, "100-continue");
}

/* How the fields say that the message goes on, each looked at once. */
static void
read_framing(struct mhd_exchange *x)
{
	const struct fields *fields = &x->shown.head.fields;
	const struct field *length = NULL;
	bool coded = false, connection = false;
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *f = &fields->list[i];
		if (length == NULL &&
		    span_ieq(f->name, SPAN("Content-Length")))
			length = f;
		coded |= span_ieq(f->name, SPAN("Transfer-Encoding"));
		x->expects_continue |= span_ieq(f->name, SPAN("Expect"));
		connection |= span_ieq(f->name, SPAN("Connection"));
	}
	if (length != NULL)
		x->content_length = parse_length(span_trim(length->value));
	x->shown.has_body = coded ||
	    (length != NULL && x->content_length != 0);
	if (x->expects_continue && x->shown.has_body)
		show_expectation(x);
	x->client_closes =
	    connection && header_connection_names(fields, SPAN("close"));
	if (connection && span_eq(x->shown.head.version, SPAN("HTTP/1.0")))
		keep_alive(x);
}

/*
 * Up to there the head lies in the connection's pool, with all its blanks and
 * what empty lines were in front of it.
 */
static size_t
end_in_pool(const struct mhd_exchange *x, const struct lines *lines)
{
	uintptr_t pool = (uintptr_t)x->connection->pool;
	if (pool != 0 && lines->end > pool &&
	    lines->end - pool <= FRONT_POOL_BYTES)
		return lines->end - pool;
	size_t bytes = x->shown.head.target.len + lines->end - lines->begin;
	return bytes < HEAD_REST_FROM_BYTES ? bytes : HEAD_REST_FROM_BYTES;
}

/*
 * Where libmicrohttpd has no room for the head of the answer, it would close
 * the connection without one when the request has been executed.  It reads into
 * a half of the pool, or as much as the head needs and some more; where the
 * next request is there already, none of that is free.  Its notes are in the
 * rest; keep_alive() and show_expectation() may have made one each.
 */
static void
find_room(struct mhd_exchange *x, const struct lines *lines)
{
	const size_t pool = FRONT_POOL_BYTES;
	size_t notes = NOTE_BYTES * (lines->count + 2);
	size_t end = end_in_pool(x, lines);
	size_t used = notes + (end < pool / 2 ? pool / 2 : end + pool / 16);
	x->response_room = used < pool ? pool - used : 0;
}

/*
 * libmicrohttpd 0.9.75 would note each argument of the query in the
 * connection's memory, and where that does not suffice (some 1000 of them) it
 * falls silent until a time-out.  We have our own copy, so it finds none: it
 * has looked for the "?" by now and will read what stands behind.
 */
static void
hide_query(const char *target)
{
	char *query = (char *)(uintptr_t)strchr(target, '?');
	if (query != NULL)
		query[1] = '\0';
}

void
head_copy_target(struct mhd_exchange *x, const char *target)
{
	struct arena *arena = x->shown.arena;
	const struct head_rest *rest = head_rest_of(x->connection);
	x->shown.head.target = rest != NULL
	    ? head_rest_target(rest, arena, span_str(target))
	    : arena_dup(arena, span_str(target));
	if (x->front->knows_layout)
		hide_query(target);
}

/* Of a first line that is none, nobody knows what stands in it. */
static void
hide_first_line(struct mhd_exchange *x)
{
	if (x->connection->wire.fields > 0)
		return;
	x->shown.head.method = SPAN("-");
	x->shown.head.target = SPAN("");
}

/* Copies the head, which libmicrohttpd forgets when the client leaves. */
void
head_copy(struct mhd_exchange *x, const char *method, const char *version)
{
	x->shown.head.method = arena_dup(x->shown.arena, span_str(method));
	x->shown.head.version = arena_dup(x->shown.arena, span_str(version));
	struct lines lines;
	bool whole = copy_fields(x, &lines);
	struct client_connection *connection = x->connection;
	x->shown.client =
	    arena_dup(x->shown.arena, span_str(connection->client));
	x->shown.tls = connection->conf != NULL;
	tls_certificate(connection, x->shown.arena, &x->shown.certificate);
	read_framing(x);
	find_room(x, &lines);
	x->shown.began_us = clock_us();
	x->shown.head.verdict = whole ? HEAD_CHECK_OK : HEAD_CHECK_BAD_REQUEST;
	x->shown.head.message = "";
	if (client_connection_is_spoiled(connection)) {
		x->shown.head.verdict = connection->wire.verdict;
		x->shown.head.message = connection->wire.message;
		hide_first_line(x);
	}
}

/*
 * A 100 (Continue) is for a body.  For a request without one libmicrohttpd
 * sends it all the same, and then, if the next request is there already,
 * calls us in a state that takes no answer.  It finds another word in its
 * buffer now; we have our own copy.
 */
void
head_copy_hide_expectation(struct mhd_exchange *x)
{
	const char *word = MHD_lookup_connection_value(
	    x->mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT);
	if (word != NULL && *word != '\0')
		*(char *)(uintptr_t)word = 'x';
	x->expects_continue = false;
}
