/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "conf/load/conf_load.h"
#include "fuzz/fuzz.h"
#include "http/head/head_check.h"
#include "http/head/header_value.h"
#include "http/head/proxy_headers.h"
#include "http/upstream/http1_head.h"

/*
 * A request's head, from its check to the upstream's connection.  One that is
 * let through has one host; its key and its tenant get through
 * whatever Connection says; what is written for the upstream has no line that
 * the client made up, and passes the check itself.
 */
static const char text[] =
    "{\"listen\":[\"127.0.0.1:1\"],\"upstreams\":{\"u\":\"http://h\"},"
    "\"routes\":[{\"path\":\"/*\",\"upstream\":\"u\",\"idempotency\":"
    "{\"fingerprint\":{\"headers\":[\"X-Mode\"]}}}]}";

static const struct conf *
configuration(void)
{
	static const struct conf *conf;
	struct complaints complaints = {NULL, 0};

	if (conf == NULL)
		conf =
		    conf_load_text("fuzz", span_str(text), false, &complaints);
	must(conf != NULL);
	return conf;
}

enum { LINES_MAX = 128 };

/*
 * Lines end with a line feed; a value may have any other byte.  As
 * libmicrohttpd does, leading blanks of a value are removed, trailing ones are
 * not.
 */
static struct head_as_sent
read_head(struct span input, struct field list[LINES_MAX])
{
	struct head_as_sent head = {.fields = {list, 0}};
	struct span first = fuzz_cut(&input, '\n');

	head.method = fuzz_cut(&first, ' ');
	head.target = fuzz_cut(&first, ' ');
	head.version = first;
	while (input.len > 0 && head.fields.count < LINES_MAX) {
		struct span value = fuzz_cut(&input, '\n');
		struct span name = fuzz_cut(&value, ':');
		while (value.len && (*value.ptr == ' ' || *value.ptr == '\t'))
			value = span_from(value, 1);
		list[head.fields.count++] = (struct field){name, value};
	}
	return head;
}

static void
is_one_request(const struct head_as_sent *head, const struct checked_head *g)
{
	must(g->fields.count == head->fields.count);
	must(g->fields.count <= HEAD_CHECK_FIELDS_MAX);
	must(fuzz_count(&g->fields, SPAN("Host")) == 1 || g->version_1_0);
	must(g->authority.len > 0 || g->version_1_0);
	must(g->authority.len == 0 ||
	    request_target_authority_is_valid(g->authority));
	for (size_t i = 0; i < g->fields.count; i++) {
		must(field_is_token(g->fields.list[i].name));
		must(field_is_value(g->fields.list[i].value));
	}
}

/* --- what goes upstream --- */

static struct fields
for_upstream(struct arena *arena, const struct checked_head *g)
{
	static char key[] = "Idempotency-Key", tenant[] = "Authorization",
		    attempt[] = "Idempotency-Attempt", none[] = "";
	static char *keys[] = {key};
	static struct conf_scope scope[] = {{.header = tenant}};
	static const struct conf_idempotency policy = {
		.headers = {keys, 1},
		.scope = {scope, 1},
		.attempt_header = attempt,
		.replay_header = none,
		.key_id_header = none,
	};
	const struct proxy_request request = {
		.policy = &policy,
		.fields = &g->fields,
		.version_1_0 = g->version_1_0,
		.client = SPAN("192.0.2.1"),
		.authority = g->authority,
		.request_id = header_value_request_id(arena, &g->fields),
		.attempt_header = SPAN("Idempotency-Attempt"),
		.attempt = 3,
	};

	return proxy_headers_for_upstream(arena, &request);
}

static void
all_lines_get_through(
    const struct fields *in, const struct fields *out, struct span name)
{
	size_t from = 0, to = 0;
	const struct field *f;

	must(fuzz_count(in, name) == fuzz_count(out, name));
	while ((f = fields_next(in, name, &from)) != NULL) {
		const struct field *sent = fields_next(out, name, &to);
		must(sent != NULL && span_eq(f->value, sent->value));
	}
}

static bool
ends_with(struct span s, struct span end)
{
	return s.len >= end.len &&
	    span_eq(span_from(s, s.len - end.len), end);
}

static void
is_ours(const struct fields *out, struct span name, struct span end)
{
	const struct field *f = fields_first(out, name);
	must(fuzz_count(out, name) == 1);
	must(f != NULL && ends_with(f->value, end));
}

/* CGI takes no two of them for one, unless they are one. */
static void
is_no_alias(const struct fields *out, struct span ours)
{
	for (size_t i = 0; i < out->count; i++) {
		struct span name = out->list[i].name;
		must(!field_names_meet(name, ours) || span_ieq(name, ours));
	}
}

static void
fields_are_right(const struct checked_head *g, const struct fields *out)
{
	static const char *const gone[] = {"Connection", "Keep-Alive",
		"Proxy-Connection", "Proxy-Authorization", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade", "Content-Length", "Host",
		"Expect"};
	static const char *const ours[] = {"Idempotency-Key",
		"Idempotency-Attempt", "X-Forwarded-For", "X-Forwarded-Host",
		"X-Forwarded-Proto", "X-Request-Id"};
	static const char *const stay[] = {
		"Idempotency-Key", "Authorization", "X-Mode"};

	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
		must(fuzz_count(out, span_str(gone[i])) == 0);
	for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
		all_lines_get_through(&g->fields, out, span_str(stay[i]));
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
		is_no_alias(out, span_str(gone[i]));
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		is_no_alias(out, span_str(ours[i]));
	is_ours(out, SPAN("X-Forwarded-For"), SPAN("192.0.2.1"));
	is_ours(out, SPAN("X-Forwarded-Proto"), SPAN("http"));
	is_ours(out, SPAN("Via"), SPAN(" onceproxy"));
	is_ours(out, SPAN("Idempotency-Attempt"), SPAN("3"));
	must(fuzz_count(out, SPAN("X-Request-Id")) == 1);
	must(fuzz_count(out, SPAN("X-Forwarded-Host")) ==
	    (g->authority.len > 0));
}

static void
written_head_is_right(const struct checked_head *g, struct span method,
    const struct fields *fields)
{
	struct field list[LINES_MAX];
	struct checked_head again;
	struct arena *arena = arena_new();
	struct body out = {0};
	const struct http1_request request = {
		.method = method,
		.base_path = SPAN(""),
		.target = g->target.origin_form,
		.host = g->authority.len ? g->authority : SPAN("h"),
		.fields = fields,
		.has_body = g->fields.count % 2 == 0,
		.body_bytes = g->fields.count,
	};

	must(http1_head_write(&request, &out) == 0);
	struct span bytes = body_span(&out);
	must(ends_with(bytes, SPAN("\r\n\r\n")));
	/* Checks that each line feed follows a CR, and removes the CRs. */
	size_t len = 0;
	for (size_t i = 0; i + 2 < bytes.len; i++) {
		must((bytes.ptr[i] == '\r') == (bytes.ptr[i + 1] == '\n'));
		if (bytes.ptr[i] != '\r')
			out.ptr[len++] = bytes.ptr[i];
	}
	const struct head_as_sent head = read_head(span_of(out.ptr, len), list);
	must(head.fields.count == 1 + fields->count + request.has_body);
	/* With what we add, it may be larger than what we accept. */
	if (head.fields.count <= HEAD_CHECK_FIELDS_MAX) {
		must(head_check(arena, &head, &again) == HEAD_CHECK_OK);
		must(fuzz_count(&again.fields, SPAN("Content-Length")) ==
		    request.has_body);
		must(span_eq(again.target.spelling, g->target.spelling));
	}
	body_clear(&out);
	arena_free(&arena);
}

void
fuzz_head_check(struct span input)
{
	struct arena *arena = arena_new();
	struct field list[LINES_MAX];
	const struct head_as_sent head = read_head(input, list);
	struct checked_head g = {.message = NULL};

	if (head_check(arena, &head, &g) != HEAD_CHECK_OK) {
		must(g.message != NULL && strlen(g.message) > 0);
	} else {
		is_one_request(&head, &g);
		if (proxy_headers_connection_ok(configuration(), &g.fields)) {
			struct fields fields = for_upstream(arena, &g);
			fields_are_right(&g, &fields);
			written_head_is_right(&g, head.method, &fields);
		}
	}
	arena_free(&arena);
}
