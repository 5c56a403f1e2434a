/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "http/client_connection_private.h"
#include "http/exchange_private.h"
#include "http/front_private.h"
#include "http/head_copy_private.h"
#include "http/tls_private.h"
#include "http/header.h"

enum {
	/* What libmicrohttpd notes of a field. */
	NOTE_BYTES = 64,
	/* A Content-Length of more is no number here. */
	LENGTH_DIGITS = 18,
	COOKIE_BYTES = 6, /* of a name whose last one may have WIRE_MARK */
};

/*
 * Where the fields stand in libmicrohttpd's memory, and how many.  Of a version
 * that we know they are copied at once, each with the NUL behind it; of others
 * one by one, for who knows what lies between them.
 */
struct lines {
	uintptr_t begin, end;
	size_t count;
	struct mhd_exchange *x;
	const char *copy; /* NULL: one by one */
};

static enum MHD_Result
count_field(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	struct lines *lines = arg;
	uintptr_t begin = (uintptr_t)name, end = (uintptr_t)value + value_len;
	(void)kind;
	(void)name_len;
	if (lines->count++ == 0 || begin < lines->begin)
		lines->begin = begin;
	if (end > lines->end)
		lines->end = end;
	return MHD_YES;
}

static struct span
copy_part(const struct lines *lines, const char *part, size_t len)
{
	if (part == NULL)
		return SPAN("");
	if (lines->copy == NULL)
		return arena_dup(lines->x->shown.arena, span_of(part, len));
	return span_of(lines->copy + ((uintptr_t)part - lines->begin), len);
}

static enum MHD_Result
copy_field(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	const struct lines *lines = arg;
	struct fields *fields = &lines->x->shown.head.fields;
	(void)kind;
	struct span copy = copy_part(lines, name, name_len);
	if (copy.len >= COOKIE_BYTES)
		((char *)(uintptr_t)copy.ptr)[COOKIE_BYTES - 1] &= ~WIRE_MARK;
	fields->list[fields->count++] =
	    (struct field){copy, copy_part(lines, value, value_len)};
	return MHD_YES;
}

static void
copy_fields(struct mhd_exchange *x, struct lines *lines)
{
	*lines = (struct lines){.x = x};
	MHD_get_connection_values_n(
	    x->mhd, MHD_HEADER_KIND, count_field, lines);
	if (x->front->knows_layout)
		lines->copy = arena_dup(x->shown.arena,
		    span_of((const char *)lines->begin,
			lines->end - lines->begin)).ptr;
	x->shown.head.fields.list = arena_alloc(
	    x->shown.arena, (lines->count + 1) * sizeof(struct field));
	MHD_get_connection_values_n(
	    x->mhd, MHD_HEADER_KIND, copy_field, lines);
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

static void
read_framing(struct mhd_exchange *x)
{
	const struct field *f =
	    fields_first(&x->shown.head.fields, SPAN("Content-Length"));
	if (f != NULL)
		x->content_length = parse_length(span_trim(f->value));
	x->shown.has_body = (f != NULL && x->content_length != 0) ||
			    fields_first(&x->shown.head.fields,
				SPAN("Transfer-Encoding")) != NULL;
	f = fields_first(&x->shown.head.fields, SPAN("Expect"));
	x->expects_continue = f != NULL;
	x->client_closes =
	    header_connection_names(&x->shown.head.fields, SPAN("close"));
	if (span_eq(x->shown.head.version, SPAN("HTTP/1.0")))
		keep_alive(x);
}

/*
 * Up to there the head lies in the connection's pool, with all its blanks and
 * what empty lines were in front of it.
 */
static size_t
end_in_pool(const struct mhd_exchange *x, const struct lines *lines)
{
	uintptr_t pool = (uintptr_t)client_connection_of(x->mhd)->pool;
	size_t size = x->front->engines[x->shown.tls].pool_bytes;
	if (pool != 0 && lines->end > pool && lines->end - pool <= size)
		return lines->end - pool;
	size_t bytes = lines->end - lines->begin;
	if (bytes > x->front->max_head)
		bytes = x->front->max_head;
	return x->shown.head.target.len + bytes;
}

/*
 * Where libmicrohttpd has no room for the head of the answer, it would close
 * the connection without one when the request has been executed.  It reads into
 * a half of the pool, or as much as the head needs and some more; where the
 * next request is there already, none of that is free.  Its notes are in the
 * rest; keep_alive() may have made one.
 */
static void
find_room(struct mhd_exchange *x, const struct lines *lines)
{
	const struct engine *engine = &x->front->engines[x->shown.tls];
	size_t pool = engine->pool_bytes, end = end_in_pool(x, lines);
	size_t notes = NOTE_BYTES * (lines->count + 1);
	size_t used = notes + (end < pool / 2 ? pool / 2 : end + pool / 16);
	x->no_response_room = end + notes > engine->kept_max;
	x->response_room = used < pool ? pool - used : 0;
}

/* Of a first line that is none, nobody knows what stands in it. */
static void
hide_first_line(struct mhd_exchange *x)
{
	if (client_connection_of(x->mhd)->wire.fields > 0)
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
	copy_fields(x, &lines);
	struct client_connection *connection = client_connection_of(x->mhd);
	x->shown.client =
	    arena_dup(x->shown.arena, span_str(connection->client));
	x->shown.tls = connection->conf != NULL;
	tls_certificate(connection, x->shown.arena, &x->shown.certificate);
	read_framing(x);
	find_room(x, &lines);
	x->shown.began_us = clock_us();
	x->shown.head.verdict = HEAD_CHECK_OK;
	x->shown.head.message = "";
	if (client_connection_is_spoiled(connection)) {
		x->shown.head.verdict = connection->wire.verdict;
		x->shown.head.message = connection->wire.message;
		hide_first_line(x);
	}
}

/*
 * libmicrohttpd 0.9.75 would note each argument of the query in the
 * connection's memory, and where that does not suffice (some 1000 of them) it
 * falls silent until a time-out.  We have our own copy, so it finds none: it
 * has looked for the "?" by now and will read what stands behind.
 */
void
head_copy_hide_query(const char *target)
{
	char *query = (char *)(uintptr_t)strchr(target, '?');
	if (query != NULL)
		query[1] = '\0';
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
