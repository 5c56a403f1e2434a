/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "http/front/client_connection_private.h"
#include "http/front/exchange_private.h"
#include "http/front/front_private.h"
#include "http/front/head_copy_private.h"
#include "http/front/tls_private.h"
#include "http/head/proxy_headers.h"

enum {
	/* A Content-Length of more is no number here. */
	LENGTH_DIGITS = 18,
};

/* --- lines --- */

/* What stands before that byte, with a NUL in its place; false: it is none. */
static bool
cut_at(char mark, char **text, const char *end, struct span *ret_part)
{
	char *begin = *text, *at = memchr(begin, mark, (size_t)(end - begin));
	if (at == NULL)
		return false;
	*at = '\0';
	*text = at + 1;
	*ret_part = span_of(begin, (size_t)(at - begin));
	return true;
}

/* One that has come whole. */
static bool
cut_line(char **text, const char *end, struct span *ret_line)
{
	if (!cut_at('\r', text, end, ret_line) || *text == end)
		return false;
	(*text)++;
	return true;
}

static struct span
target_of(struct span line)
{
	const char *begin = memchr(line.ptr, ' ', line.len);
	if (begin == NULL)
		return SPAN("");
	line = span_from(line, (size_t)(++begin - line.ptr));
	char *end = memchr(line.ptr, ' ', line.len);
	if (end == NULL)
		return SPAN("");
	*end = '\0';
	return span_of(begin, (size_t)(end - begin));
}

static bool
read_field(struct span line, struct field *ret_field)
{
	const char *colon = memchr(line.ptr, ':', line.len);
	if (colon == NULL)
		return false;
	size_t name = (size_t)(colon - line.ptr);
	ret_field->name = span_of(line.ptr, name);
	ret_field->value = span_trim(span_from(line, name + 1));
	return true;
}

/* As the client has sent it; the wire judged it.  False: nobody read it. */
static bool
read_lines(struct mhd_exchange *x)
{
	struct fields *fields = &x->shown.head.fields;
	size_t len, most;
	char *text = head_queue_pop(x->connection, x->shown.arena, &len, &most);
	struct span line;
	x->shown.head.target = SPAN("");
	if (text == NULL)
		return false;
	const char *end = text + len;
	fields->list =
	    arena_alloc(x->shown.arena, most * sizeof *fields->list);
	if (cut_line(&text, end, &line))
		x->shown.head.target = target_of(line);
	while (fields->count < most && cut_line(&text, end, &line))
		fields->count += read_field(line, &fields->list[fields->count]);
	return true;
}

/* --- what they say --- */

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

/* Where that is what an HTTP/1.0 client says, libmicrohttpd hears it. */
static void
keep_alive(struct mhd_exchange *x)
{
	if (x->client_closes ||
	    !proxy_headers_connection_names(
		&x->shown.head.fields, SPAN("keep-alive")))
		return;
	/* Without the memory for it, the connection closes. */
	(void)MHD_set_connection_value(
	    x->mhd, MHD_HEADER_KIND, "Connection", "keep-alive");
}

/* So that it sends a 100 (Continue). */
static void
show_expectation(struct mhd_exchange *x)
{
	(void)MHD_set_connection_value(x->mhd, MHD_HEADER_KIND,
	    MHD_HTTP_HEADER_EXPECT, "100-continue");
}

/* How the fields say that the message goes on, each looked at once. */
static void
read_framing(struct mhd_exchange *x)
{
	const struct fields *fields = &x->shown.head.fields;
	const struct field *length = NULL;
	bool coded = false, connection = false, expects = false;
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *f = &fields->list[i];
		if (length == NULL &&
		    span_ieq(f->name, SPAN("Content-Length")))
			length = f;
		coded |= span_ieq(f->name, SPAN("Transfer-Encoding"));
		expects |= span_ieq(f->name, SPAN("Expect"));
		connection |= span_ieq(f->name, SPAN("Connection"));
	}
	if (length != NULL)
		x->content_length = parse_length(span_trim(length->value));
	x->shown.has_body = coded ||
	    (length != NULL && x->content_length != 0);
	x->expects_continue = expects && x->shown.has_body;
	if (x->expects_continue)
		show_expectation(x);
	x->client_closes =
	    connection && proxy_headers_connection_names(fields, SPAN("close"));
	if (connection && span_eq(x->shown.head.version, SPAN("HTTP/1.0")))
		keep_alive(x);
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

void
head_copy(struct mhd_exchange *x, const char *method, const char *version)
{
	struct client_connection *connection = x->connection;
	x->shown.head.method = arena_dup(x->shown.arena, span_str(method));
	x->shown.head.version = arena_dup(x->shown.arena, span_str(version));
	bool was_read = read_lines(x);
	x->shown.client =
	    arena_dup(x->shown.arena, span_str(connection->client));
	x->shown.tls = connection->conf != NULL;
	tls_certificate(connection, x->shown.arena, &x->shown.certificate);
	read_framing(x);
	x->shown.began_us = clock_us();
	x->shown.head.verdict =
	    was_read ? HEAD_CHECK_OK : HEAD_CHECK_BAD_REQUEST;
	x->shown.head.message = "";
	if (client_connection_is_spoiled(connection)) {
		x->shown.head.verdict = connection->wire.verdict;
		x->shown.head.message = connection->wire.message;
		hide_first_line(x);
	}
}
