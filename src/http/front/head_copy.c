/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/front/client_connection_private.h"
#include "http/front/exchange_private.h"
#include "http/front/front_private.h"
#include "http/front/head_copy_private.h"
#include "http/front/tls_private.h"
#include "http/head/proxy_headers.h"

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

/* Method, target, version: the wire has found that. */
static bool
read_first_line(char **text, const char *end, struct head_as_sent *head)
{
	struct span line;
	if (!cut_line(text, end, &line))
		return false;
	char *at = (char *)(uintptr_t)line.ptr;
	const char *line_end = at + line.len;
	if (!cut_at(' ', &at, line_end, &head->method) ||
	    !cut_at(' ', &at, line_end, &head->target))
		return false;
	head->version = span_of(at, (size_t)(line_end - at));
	return true;
}

/*
 * As the client has sent it; of what is wrong only what stands before it, and
 * of a first line that is none nothing.
 */
static void
read_lines(struct mhd_exchange *x)
{
	struct client_connection *c = x->connection;
	struct head_as_sent *head = &x->shown.head;
	struct fields *fields = &head->fields;
	size_t most = c->wire.fields;
	struct span line;
	char *text = c->head;
	const char *end = text + c->head_len;
	head->method = SPAN("-");
	head->target = head->version = SPAN("");
	if (c->head_len == 0 || !read_first_line(&text, end, head))
		return;
	fields->list =
	    arena_alloc(x->shown.arena, (most + 1) * sizeof *fields->list);
	while (fields->count < most && cut_line(&text, end, &line)) {
		struct field *f = &fields->list[fields->count];
		if (!span_cut(&line, ':', &f->name))
			break;
		f->value = span_trim(line);
		fields->count++;
	}
}

/* --- what they say --- */

/* How the fields say that the connection goes on, each looked at once. */
static void
read_connection(struct mhd_exchange *x)
{
	const struct fields *fields = &x->shown.head.fields;
	bool old = span_eq(x->shown.head.version, SPAN("HTTP/1.0"));
	bool connection = false, expects = false;
	for (size_t i = 0; i < fields->count; i++) {
		struct span name = fields->list[i].name;
		expects |= span_ieq(name, SPAN("Expect"));
		connection |= span_ieq(name, SPAN("Connection"));
	}
	x->expects_continue = expects && !old && x->shown.has_body;
	x->client_closes =
	    connection && proxy_headers_connection_names(fields, SPAN("close"));
	/* Without the memory for it, the connection closes. */
	if (connection && old && !x->client_closes &&
	    proxy_headers_connection_names(fields, SPAN("keep-alive")))
		(void)MHD_set_connection_value(
		    x->mhd, MHD_HEADER_KIND, "Connection", "keep-alive");
}

void
head_copy(struct mhd_exchange *x)
{
	struct client_connection *c = x->connection;
	const struct wire *w = &c->wire;
	struct exchange *shown = &x->shown;
	read_lines(x);
	shown->head.verdict = w->verdict;
	shown->head.message = w->message;
	shown->head.fields_are_good = w->verdict == HEAD_CHECK_OK;
	shown->client = arena_dup(shown->arena, span_str(c->client));
	shown->tls = c->conf != NULL;
	tls_certificate(c, shown->arena, &shown->certificate);
	shown->has_body =
	    w->verdict == HEAD_CHECK_OK && w->state != WIRE_BEGIN;
	x->body_over = !shown->has_body;
	x->content_length = w->chunked ? -1 : (int64_t)w->left;
	read_connection(x);
	shown->began_us = clock_us();
}
