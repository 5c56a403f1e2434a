/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/head_check.h"

#include "base/test_build.h"

/* Each looks at one thing; *g is theirs to fill in, words when they refuse. */
static enum guard_verdict check_version(
    const struct guard_head *head, struct guarded *g);
static enum guard_verdict check_method(
    const struct guard_head *head, struct guarded *g);
static enum guard_verdict check_fields(
    const struct guard_head *head, struct guarded *g);
static enum guard_verdict check_host(
    const struct guard_head *head, struct guarded *g);
static enum guard_verdict check_length(
    const struct guard_head *head, struct guarded *g);
static enum guard_verdict check_coding(
    const struct guard_head *head, struct guarded *g);
static enum guard_verdict check_expectation(
    const struct guard_head *head, struct guarded *g);
static struct fields trimmed(struct arena *arena, const struct fields *fields);

enum { METHOD_MAX = 32 };

static enum guard_verdict
refuse(struct guarded *g, enum guard_verdict verdict, const char *words)
{
	g->words = words;
	return verdict;
}

enum guard_verdict
guard_check(struct arena *arena, const struct guard_head *head,
    struct guarded *ret_guarded)
{
	static enum guard_verdict (*const checks[])(
	    const struct guard_head *, struct guarded *) = {
		check_version,
		check_method,
		check_fields,
		check_host,
		check_length,
		check_coding,
		check_expectation,
	};
	struct guarded g = {.authority = SPAN("")};
	enum guard_verdict verdict = GUARD_OK;

	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		verdict = checks[i](head, &g);
		if (verdict != GUARD_OK)
			break;
	}
	if (verdict == GUARD_OK &&
	    !target_parse(arena, head->target, &g.target))
		verdict = refuse(&g, GUARD_BAD_REQUEST,
		    "The request target is not a well-formed path or http "
		    "URL.");
	if (verdict != GUARD_OK) {
		ret_guarded->words = g.words;
		return verdict;
	}
	/* What an absolute target says beats Host (RFC 9112, 3.2.2). */
	if (g.target.authority.len)
		g.authority = g.target.authority;
	g.fields = trimmed(arena, &head->fields);
	*ret_guarded = g;
	return GUARD_OK;
}

static enum guard_verdict
check_version(const struct guard_head *head, struct guarded *g)
{
	g->version_1_0 = span_eq(head->version, SPAN("HTTP/1.0"));
	if (!g->version_1_0 && !span_eq(head->version, SPAN("HTTP/1.1")))
		return refuse(g, GUARD_VERSION,
		    "Only HTTP/1.0 and HTTP/1.1 are spoken here.");
	return GUARD_OK;
}

static enum guard_verdict
check_method(const struct guard_head *head, struct guarded *g)
{
	struct span method = head->method;

	for (size_t i = 0; i < method.len; i++) {
		char c = method.ptr[i];
		if (!(c >= 'A' && c <= 'Z') && c != '-' && c != '_')
			return refuse(g, GUARD_BAD_REQUEST,
			    "The method is not a word of capital letters.");
	}
	if (method.len == 0 || method.len > METHOD_MAX)
		return refuse(g, GUARD_BAD_REQUEST,
		    "The method is empty or too long.");
	if (span_eq(method, SPAN("CONNECT")) || span_eq(method, SPAN("TRACE")))
		return refuse(g, GUARD_METHOD,
		    "CONNECT and TRACE are not served here.");
	return GUARD_OK;
}

static enum guard_verdict
check_fields(const struct guard_head *head, struct guarded *g)
{
	if (head->fields.count > GUARD_FIELDS_MAX)
		return refuse(g, GUARD_HEADERS_TOO_LARGE,
		    "The request has more than 100 header fields.");
	for (size_t i = 0; i < head->fields.count; i++) {
		if (!field_is_token(head->fields.list[i].name) &&
		    GUARD(field_names))
			return refuse(g, GUARD_BAD_REQUEST,
			    "The name of a header field is not a token.");
		if (!field_is_value(head->fields.list[i].value) &&
		    GUARD(field_values))
			return refuse(g, GUARD_BAD_REQUEST,
			    "The value of a header field has a control "
			    "character in it.");
	}
	return GUARD_OK;
}

/* The line of that name; *ret_more: there is another. */
static const struct field *
single(const struct fields *fields, struct span name, bool *ret_more)
{
	size_t at = 0;
	const struct field *f = fields_next(fields, name, &at);

	*ret_more = f && fields_next(fields, name, &at);
	return f;
}

static enum guard_verdict
check_host(const struct guard_head *head, struct guarded *g)
{
	bool more;
	const struct field *f = single(&head->fields, SPAN("Host"), &more);

	if (more && GUARD(one_host))
		return refuse(g, GUARD_BAD_REQUEST,
		    "The request has more than one Host.");
	if (f == NULL)
		return g->version_1_0
		    ? GUARD_OK
		    : refuse(g, GUARD_BAD_REQUEST, "The request has no Host.");
	g->authority = span_trim(f->value);
	if (!authority_is_valid(g->authority))
		return refuse(g, GUARD_BAD_REQUEST,
		    "The Host is not a host with or without a port.");
	return GUARD_OK;
}

static enum guard_verdict
check_length(const struct guard_head *head, struct guarded *g)
{
	bool more;
	const struct field *f =
	    single(&head->fields, SPAN("Content-Length"), &more);

	if (f == NULL)
		return GUARD_OK;
	if (more && GUARD(one_length))
		return refuse(g, GUARD_BAD_REQUEST,
		    "The request has more than one Content-Length.");
	struct span text = f->value;
	bool digits = text.len > 0 && (text.ptr[0] != '0' || text.len == 1);
	for (size_t i = 0; i < text.len; i++)
		digits = digits && text.ptr[i] >= '0' && text.ptr[i] <= '9';
	if (!digits && GUARD(plain_length))
		return refuse(g, GUARD_BAD_REQUEST,
		    "The Content-Length is not one plain number.");
	for (size_t i = 0; i < text.len; i++) {
		int digit = text.ptr[i] - '0';
		if (g->length > (INT64_MAX - digit) / 10)
			return refuse(g, GUARD_TOO_LARGE,
			    "The Content-Length is beyond all bounds.");
		g->length = g->length * 10 + digit;
	}
	g->has_length = true;
	return GUARD_OK;
}

/*
 * Exactly "chunked", blanks included: what libmicrohttpd takes for another
 * coding it reads up to the end of the connection.
 */
static enum guard_verdict
check_coding(const struct guard_head *head, struct guarded *g)
{
	bool more;
	const struct field *f =
	    single(&head->fields, SPAN("Transfer-Encoding"), &more);

	if (f == NULL)
		return GUARD_OK;
	if ((more || !span_ieq(f->value, SPAN("chunked"))) && GUARD(one_coding))
		return refuse(g, GUARD_BAD_REQUEST,
		    "The only Transfer-Encoding that is read here is "
		    "\"chunked\", once.");
	if (g->version_1_0)
		return refuse(g, GUARD_BAD_REQUEST,
		    "HTTP/1.0 has no Transfer-Encoding.");
	if (g->has_length && GUARD(one_framing))
		return refuse(g, GUARD_BAD_REQUEST,
		    "The request has both Content-Length and "
		    "Transfer-Encoding.");
	g->chunked = true;
	return GUARD_OK;
}

static enum guard_verdict
check_expectation(const struct guard_head *head, struct guarded *g)
{
	const struct field *f;
	size_t at = 0;

	while ((f = fields_next(&head->fields, SPAN("Expect"), &at)) != NULL) {
		if (!span_ieq(span_trim(f->value), SPAN("100-continue")))
			return refuse(g, GUARD_EXPECTATION,
			    "The only expectation that is met here is "
			    "100-continue.");
	}
	return GUARD_OK;
}

static struct fields
trimmed(struct arena *arena, const struct fields *fields)
{
	struct fields out = {
		.list = arena_alloc(
		    arena, (fields->count + 1) * sizeof(struct field)),
		.count = fields->count,
	};

	for (size_t i = 0; i < fields->count; i++)
		out.list[i] = (struct field){
			fields->list[i].name,
			span_trim(fields->list[i].value),
		};
	return out;
}
