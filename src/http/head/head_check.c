/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "base/test_build.h"
#include "http/head/head_check.h"

enum { METHOD_MAX = 32 };

/* The first field of a name, and how many there are. */
struct noted {
	const struct field *first;
	size_t count;
};

/* A head, and in it the fields that are looked at. */
struct judged {
	const struct head_as_sent *head;
	struct noted host, length, coding;
	bool expects_more; /* than 100-continue */
};

static enum head_verdict
refuse_with(
    struct checked_head *g, enum head_verdict verdict, const char *message)
{
	g->message = message;
	return verdict;
}

/* --- each looks at one thing; its message stands in *g when it refuses --- */

static enum head_verdict
check_method(const struct judged *judged, struct checked_head *g)
{
	struct span method = judged->head->method;

	for (size_t i = 0; i < method.len; i++) {
		char c = method.ptr[i];
		if (!(c >= 'A' && c <= 'Z') && c != '-' && c != '_')
			return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
			    "The method is not a word in capital letters.");
	}
	if (method.len == 0 || method.len > METHOD_MAX)
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The method is empty or too long.");
	if (span_eq(method, SPAN("CONNECT")) || span_eq(method, SPAN("TRACE")))
		return refuse_with(g, HEAD_CHECK_METHOD,
		    "CONNECT and TRACE are not served.");
	return HEAD_CHECK_OK;
}

static enum head_verdict
check_fields(const struct judged *judged, struct checked_head *g)
{
	const struct fields *fields = &judged->head->fields;

	if (judged->head->fields_are_good)
		return HEAD_CHECK_OK;
	if (fields->count > HEAD_CHECK_FIELDS_MAX)
		return refuse_with(g, HEAD_CHECK_HEADERS_TOO_LARGE,
		    "The request has more than 100 header fields.");
	for (size_t i = 0; i < fields->count; i++) {
		if (!field_is_token(fields->list[i].name))
			return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
			    "The name of a header field is not a token.");
		if (!field_is_value(fields->list[i].value))
			return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
			    "The value of a header field contains a control "
			    "character.");
	}
	return HEAD_CHECK_OK;
}

static enum head_verdict
check_host(const struct judged *judged, struct checked_head *g)
{
	const struct field *f = judged->host.first;

	if (judged->host.count > 1 && INVARIANT(one_host))
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The request has more than one Host.");
	if (f == NULL)
		return g->version_1_0 ? HEAD_CHECK_OK
				      : refuse_with(g, HEAD_CHECK_BAD_REQUEST,
					    "The request has no Host.");
	g->authority = span_trim(f->value);
	if (!request_target_authority_is_valid(g->authority))
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The Host is not a host with an optional port.");
	return HEAD_CHECK_OK;
}

static enum head_verdict
check_length(const struct judged *judged, struct checked_head *g)
{
	const struct field *f = judged->length.first;

	if (f == NULL)
		return HEAD_CHECK_OK;
	if (judged->length.count > 1)
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The request has more than one Content-Length.");
	struct span text = f->value, rest = text;
	size_t digits = digits_take(&rest, INT64_MAX, &g->length);
	if (digits == 0 || rest.len > 0 || (*text.ptr == '0' && digits > 1))
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The Content-Length is not a single plain number.");
	if (!digits_read(text, INT64_MAX, &g->length))
		return refuse_with(g, HEAD_CHECK_TOO_LARGE,
		    "The Content-Length is too large.");
	g->has_length = true;
	return HEAD_CHECK_OK;
}

/*
 * Exactly "chunked", blanks included: what libmicrohttpd takes for another
 * coding it reads up to the end of the connection.
 */
static enum head_verdict
check_coding(const struct judged *judged, struct checked_head *g)
{
	const struct field *f = judged->coding.first;

	if (f == NULL)
		return HEAD_CHECK_OK;
	if (judged->coding.count > 1 || !span_ieq(f->value, SPAN("chunked")))
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The only Transfer-Encoding that is accepted is "
		    "\"chunked\", once.");
	if (g->version_1_0)
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "HTTP/1.0 has no Transfer-Encoding.");
	if (g->has_length)
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The request has both Content-Length and "
		    "Transfer-Encoding.");
	g->chunked = true;
	return HEAD_CHECK_OK;
}

/* --- all of it --- */

static void
note_line(struct noted *line, const struct field *f)
{
	if (line->count++ == 0)
		line->first = f;
}

/* All that the parts of the head say. */
static enum head_verdict
check_parts(struct arena *arena, const struct head_as_sent *head,
    struct checked_head *g)
{
	static enum head_verdict (*const checks[])(
	    const struct judged *, struct checked_head *) = {check_method,
	    check_fields, check_host, check_length, check_coding};
	struct judged judged = {.head = head};
	for (size_t i = 0; i < head->fields.count; i++) {
		const struct field *f = &head->fields.list[i];
		if (span_ieq(f->name, SPAN("Host")))
			note_line(&judged.host, f);
		else if (span_ieq(f->name, SPAN("Content-Length")))
			note_line(&judged.length, f);
		else if (span_ieq(f->name, SPAN("Transfer-Encoding")))
			note_line(&judged.coding, f);
		else if (span_ieq(f->name, SPAN("Expect")))
			judged.expects_more |= !span_ieq(
			    span_trim(f->value), SPAN("100-continue"));
	}
	g->version_1_0 = span_eq(head->version, SPAN("HTTP/1.0"));
	if (!g->version_1_0 && !span_eq(head->version, SPAN("HTTP/1.1")))
		return refuse_with(g, HEAD_CHECK_VERSION,
		    "The gateway speaks only HTTP/1.0 and HTTP/1.1.");
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		enum head_verdict verdict = checks[i](&judged, g);
		if (verdict != HEAD_CHECK_OK)
			return verdict;
	}
	if (judged.expects_more)
		return refuse_with(g, HEAD_CHECK_EXPECTATION,
		    "The only expectation that the gateway can meet is "
		    "100-continue.");
	if (!request_target_parse(arena, head->target, &g->target))
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The request target is not a well-formed path or http "
		    "URL.");
	/* What an absolute target says beats Host (RFC 9112, 3.2.2). */
	if (g->target.authority.len)
		g->authority = g->target.authority;
	return HEAD_CHECK_OK;
}

enum head_verdict
head_check(struct arena *arena, const struct head_as_sent *head,
    struct checked_head *ret_checked)
{
	struct checked_head g = {
	    .authority = SPAN(""), .message = head->message};
	enum head_verdict verdict = head->verdict;
	if (verdict == HEAD_CHECK_OK)
		verdict = check_parts(arena, head, &g);
	if (verdict != HEAD_CHECK_OK) {
		ret_checked->message = g.message;
		return verdict;
	}
	*ret_checked = g;
	ret_checked->fields = head->fields;
	if (head->fields_are_good)
		return HEAD_CHECK_OK;
	ret_checked->fields.list = arena_alloc(
	    arena, (head->fields.count + 1) * sizeof(struct field));
	for (size_t i = 0; i < head->fields.count; i++) {
		const struct field *f = &head->fields.list[i];
		ret_checked->fields.list[i] =
		    (struct field){f->name, span_trim(f->value)};
	}
	return HEAD_CHECK_OK;
}
