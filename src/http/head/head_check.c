/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "http/head/head_check.h"

enum { METHOD_MAX = 32 };

static enum head_verdict
refuse_with(
    struct checked_head *g, enum head_verdict verdict, const char *message)
{
	g->message = message;
	return verdict;
}

/* --- each looks at one thing; its message stands in *g when it refuses --- */

static enum head_verdict
check_method(struct span method, struct checked_head *g)
{
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
check_fields(const struct head_as_sent *head, struct checked_head *g)
{
	const struct fields *fields = &head->fields;

	if (head->fields_are_good)
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
check_host(const struct field *first, size_t count, struct checked_head *g)
{
	if (count > 1 && INVARIANT(one_host))
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The request has more than one Host.");
	if (first == NULL)
		return g->version_1_0 ? HEAD_CHECK_OK
				      : refuse_with(g, HEAD_CHECK_BAD_REQUEST,
					    "The request has no Host.");
	g->authority = span_trim(first->value);
	if (!request_target_authority_is_valid(g->authority))
		return refuse_with(g, HEAD_CHECK_BAD_REQUEST,
		    "The Host is not a host with an optional port.");
	return HEAD_CHECK_OK;
}

/* --- all of it --- */

/* All that the parts of the head say. */
static enum head_verdict
check_parts(struct arena *arena, const struct head_as_sent *head,
    struct checked_head *g)
{
	const struct field *host = NULL;
	size_t hosts = 0;
	bool expects_more = false; /* than 100-continue */
	for (size_t i = 0; i < head->fields.count; i++) {
		const struct field *f = &head->fields.list[i];
		if (span_ieq(f->name, SPAN("Host")) && hosts++ == 0)
			host = f;
		if (span_ieq(f->name, SPAN("Expect")))
			expects_more |= !span_ieq(
			    span_trim(f->value), SPAN("100-continue"));
	}
	g->version_1_0 = span_eq(head->version, SPAN("HTTP/1.0"));
	if (!g->version_1_0 && !span_eq(head->version, SPAN("HTTP/1.1")))
		return refuse_with(g, HEAD_CHECK_VERSION,
		    "The gateway speaks only HTTP/1.0 and HTTP/1.1.");
	enum head_verdict verdict = check_method(head->method, g);
	if (verdict == HEAD_CHECK_OK)
		verdict = check_fields(head, g);
	if (verdict == HEAD_CHECK_OK)
		verdict = check_host(host, hosts, g);
	if (verdict != HEAD_CHECK_OK)
		return verdict;
	if (expects_more)
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
	    .authority = SPAN(""),
	    .has_length = head->has_length,
	    .chunked = head->chunked,
	    .length = head->length,
	    .message = head->message,
	};
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
	ret_checked->fields = fields_new(arena, head->fields.count);
	for (size_t i = 0; i < head->fields.count; i++) {
		const struct field *f = &head->fields.list[i];
		fields_add(
		    &ret_checked->fields, f->name, span_trim(f->value));
	}
	return HEAD_CHECK_OK;
}
