/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "http/head/proxy_headers.h"

/* --- helpers: lists of fields as text, "Name: value|Name: value" --- */

static struct fields
fields_of(struct arena *arena, const char *text)
{
	struct fields fields = {
		arena_alloc(arena, 32 * sizeof(struct field)), 0,
	};

	while (*text) {
		size_t len = strcspn(text, "|");
		size_t name = strcspn(text, ":");
		assert_true(name < len && fields.count < 32);
		fields.list[fields.count++] = (struct field){
			span_of(text, name),
			span_trim(span_of(text + name + 1, len - name - 1)),
		};
		text += len + (text[len] == '|');
	}
	return fields;
}

static void
assert_fields(struct fields fields, const char *want)
{
	char text[2048] = "";

	for (size_t i = 0; i < fields.count; i++) {
		const struct field *f = &fields.list[i];
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, "%s%.*s: %.*s",
		    i ? "|" : "", SPAN_FMT(f->name), SPAN_FMT(f->value));
	}
	assert_string_equal(text, want);
}

static struct proxy_request
request_of(const struct fields *fields)
{
	static char key[] = "Idempotency-Key", tenant[] = "X_Tenant",
		    attempt[] = "Idempotency-Attempt", none[] = "";
	static char *keys[] = {key};
	static struct conf_scope scope[] = {{.header = tenant}};
	static const struct conf_idempotency policy = {
		.headers = {keys, 1},
		.scope = {scope, 1},
		.attempt_header = attempt,
		.key_id_header = none,
		.replay_header = none,
	};
	return (struct proxy_request){
		.policy = &policy,
		.fields = fields,
		.client = SPAN("192.0.2.1"),
		.authority = SPAN("api.example"),
		.request_id = SPAN("id-1"),
		.forwarded = FORWARDED_SET,
		.attempt_header = SPAN("Idempotency-Attempt"),
		.attempt = 1,
	};
}

#define OURS \
	"X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|" \
	"X-Forwarded-Host: api.example|Via: 1.1 onceproxy|" \
	"X-Request-Id: id-1|Idempotency-Attempt: 1"

static void
assert_upstream(const char *client, const char *want)
{
	struct arena *arena = arena_new();
	struct fields fields = fields_of(arena, client);
	struct proxy_request request = request_of(&fields);

	assert_fields(proxy_headers_for_upstream(arena, &request), want);
	arena_free(&arena);
}

/* --- to the upstream --- */

static void
end_to_end_fields_go_upstream_as_they_came(void **state)
{
	(void)state;
	assert_upstream("", OURS);
	assert_upstream("Accept: */*|Cookie: a=1|cookie: b=2|X-Empty: |"
			"Idempotency-Key: \"k\"|Authorization: Bearer t",
	    "Accept: */*|Cookie: a=1|cookie: b=2|X-Empty: |"
	    "Idempotency-Key: \"k\"|Authorization: Bearer t|" OURS);
}

static void
hop_by_hop_fields_end_here(void **state)
{
	(void)state;
	assert_upstream("Connection: close|Keep-Alive: timeout=5|"
			"proxy-connection: x|Proxy-Authorization: x|"
			"Proxy-Authenticate: x|te: trailers|Trailer: x|"
			"TRANSFER-ENCODING: chunked|Upgrade: h2c|A: b",
	    "A: b|" OURS);
}

static void
what_connection_names_ends_here(void **state)
{
	(void)state;
	assert_upstream("X-A: 1|Connection: keep-alive, x-a|X-B: 2|"
			"connection: ,X-B ,|X-C: 3|X-A: 4|X-AB: 5",
	    "X-C: 3|X-AB: 5|" OURS);
}

static void
framing_and_expectations_are_not_forwarded(void **state)
{
	(void)state;
	assert_upstream("Host: other|Content-Length: 5|Expect: 100-continue|"
			"Content-Type: a/b",
	    "Content-Type: a/b|" OURS);
}

static void
a_client_cannot_set_what_the_gateway_says(void **state)
{
	(void)state;
	assert_upstream("X-Forwarded-Proto: https|x-forwarded-host: evil|"
			"X-Request-Id: evil|idempotency-attempt: 7|"
			"Idempotency-Attempt: 8",
	    OURS);
}

static void
what_cgi_takes_for_our_fields_is_dropped(void **state)
{
	(void)state;
	assert_upstream("x_forwarded_for: 1|X_Request-Id: 2|"
			"IDEMPOTENCY_ATTEMPT: 3|Idempotency_Key: 4|"
			"transfer_encoding: 5|Content_Length: 6|X-Tenant: 7|"
			"X_Tenant: a|Content_Type: b|_: c|X_Original_URL: d|"
			"X-Original-Url: e",
	    "X_Tenant: a|Content_Type: b|_: c|" OURS);
}

static void
forwarded_for_and_via_are_appended_to(void **state)
{
	(void)state;
	assert_upstream("X-Forwarded-For: 10.0.0.1, 10.0.0.2|Via: 1.1 a|"
			"Accept: x|x-forwarded-for: 10.0.0.3|Via: 1.0 b, 2 c|"
			"X-Forwarded-For: ",
	    "Accept: x|"
	    "X-Forwarded-For: 10.0.0.1, 10.0.0.2, 10.0.0.3, 192.0.2.1|"
	    "X-Forwarded-Proto: http|X-Forwarded-Host: api.example|"
	    "Via: 1.1 a, 1.0 b, 2 c, 1.1 onceproxy|"
	    "X-Request-Id: id-1|Idempotency-Attempt: 1");
}

static void
a_trusted_front_keeps_its_proto_and_host(void **state)
{
	struct arena *arena = arena_new();
	struct fields fields = fields_of(arena,
	    "X-Forwarded-Proto: https|A: b|X-Forwarded-For: 10.0.0.1");
	struct proxy_request request = request_of(&fields);

	(void)state;
	request.forwarded = FORWARDED_TRUST;
	request.attempt = 0;
	assert_fields(proxy_headers_for_upstream(arena, &request),
	    "X-Forwarded-Proto: https|A: b|"
	    "X-Forwarded-For: 10.0.0.1, 192.0.2.1|"
	    "X-Forwarded-Host: api.example|Via: 1.1 onceproxy|"
	    "X-Request-Id: id-1");
	arena_free(&arena);
}

static void
the_way_of_the_request_is_told(void **state)
{
	struct arena *arena = arena_new();
	struct fields fields = fields_of(arena, "");
	struct proxy_request request = request_of(&fields);

	(void)state;
	request.version_1_0 = true;
	request.tls = true;
	request.client = SPAN("unix");
	request.authority = SPAN("");
	request.attempt = 4294967295u;
	assert_fields(proxy_headers_for_upstream(arena, &request),
	    "X-Forwarded-For: unknown|X-Forwarded-Proto: https|"
	    "Via: 1.0 onceproxy|X-Request-Id: id-1|"
	    "Idempotency-Attempt: 4294967295");
	arena_free(&arena);
}

static void
no_client_names_a_record_by_its_key_id(void **state)
{
	struct arena *arena = arena_new();
	struct fields fields = fields_of(
	    arena, "Idempotency-Key-Id: 9|idempotency_key_id: 9|A: b");
	struct proxy_request request = request_of(&fields);

	(void)state;
	request.attempt = 0;
	struct fields out = proxy_headers_for_upstream(arena, &request);
	assert_null(fields_first(&out, SPAN("Idempotency-Key-Id")));
	assert_null(fields_first(&out, SPAN("idempotency_key_id")));
	assert_non_null(fields_first(&out, SPAN("A")));
	arena_free(&arena);
}

static void
without_an_attempt_the_field_is_dropped_all_the_same(void **state)
{
	struct arena *arena = arena_new();
	struct fields fields = fields_of(arena, "Idempotency-Attempt: 9|A: b");
	struct proxy_request request = request_of(&fields);

	(void)state;
	request.attempt = 0;
	struct fields dropped = proxy_headers_for_upstream(arena, &request);
	assert_null(fields_first(&dropped, SPAN("Idempotency-Attempt")));
	/* A route that reads no such field ignores it. */
	request.attempt_header = SPAN("");
	request.attempt = 3;
	struct fields kept = proxy_headers_for_upstream(arena, &request);
	const struct field *f =
	    fields_first(&kept, SPAN("Idempotency-Attempt"));
	assert_true(f != NULL && span_eq(f->value, SPAN("9")));
	arena_free(&arena);
}

/* --- to the client --- */

/* 1994-11-06 08:49:37 UTC, the example of RFC 9110, section 5.6.7. */
static const int64_t then_ms = 784111777999;

static void
assert_client(const char *upstream, const char *want)
{
	struct arena *arena = arena_new();
	struct fields fields = fields_of(arena, upstream);

	const struct proxy_client client = {
		SPAN("Idempotent-Replayed"), SPAN("ours"), then_ms};
	assert_fields(proxy_headers_for_client(arena, &fields, &client), want);
	arena_free(&arena);
}

static void
an_answer_stays_as_the_upstream_sent_it(void **state)
{
	(void)state;
	assert_client("Date: yesterday|Set-Cookie: a|set-cookie: b|X-E: |"
		      "Via: 1.1 inner|Content-Type: a/b",
	    "Date: yesterday|Set-Cookie: a|set-cookie: b|X-E: |"
	    "Via: 1.1 inner|Content-Type: a/b");
}

static void
hop_by_hop_and_own_fields_of_an_answer_end_here(void **state)
{
	(void)state;
	assert_client("Connection: close, X-Hop|X-Hop: 1|Keep-Alive: x|"
		      "Transfer-Encoding: chunked|Trailer: x|Upgrade: x|"
		      "Content-Length: 5|idempotency-outcome: store|"
		      "X-Request-Id: ours|Original-Request-Id: x|"
		      "IDEMPOTENT-REPLAYED: true|Proxy-Authenticate: x|"
		      "Proxy-Connection: x|Date: d|A: b",
	    "Date: d|A: b");
}

static void
an_id_of_the_upstreams_own_gets_another_name(void **state)
{
	(void)state;
	assert_client("x-request-id: theirs|Date: d",
	    "Upstream-Request-Id: theirs|Date: d");
	assert_client("X-Request-Id: OURS|Upstream-Request-Id: deeper|Date: d",
	    "Upstream-Request-Id: OURS|Upstream-Request-Id: deeper|Date: d");
}

static void
a_missing_date_is_added(void **state)
{
	(void)state;
	assert_client("A: b", "A: b|Date: Sun, 06 Nov 1994 08:49:37 GMT");
	assert_client("Connection: Date|Date: x",
	    "Date: Sun, 06 Nov 1994 08:49:37 GMT");
}

static void
a_route_without_a_replay_field_drops_none(void **state)
{
	struct arena *arena = arena_new();
	struct fields fields =
	    fields_of(arena, "Idempotent-Replayed: true|Date: d");

	(void)state;
	const struct proxy_client client = {
		SPAN(""), SPAN("ours"), then_ms};
	assert_fields(proxy_headers_for_client(arena, &fields, &client),
	    "Idempotent-Replayed: true|Date: d");
	arena_free(&arena);
}

static void
a_list_is_divided_by_names(void **state)
{
	char cookie[] = "Set-Cookie", trace[] = "X-Trace";
	char *names[] = {cookie, trace};
	struct strings omit = {names, 2}, none = {NULL, 0};
	struct arena *arena = arena_new();
	struct fields fields =
	    fields_of(arena, "A: b|set-cookie: x|B: |Set-Cookie: y|X-TRACE: z");

	(void)state;
	assert_fields(proxy_headers_listed(arena, &fields, &omit, false),
	    "A: b|B: ");
	assert_fields(proxy_headers_listed(arena, &fields, &none, false),
	    "A: b|set-cookie: x|B: |Set-Cookie: y|X-TRACE: z");
	assert_fields(proxy_headers_listed(arena, &fields, &omit, true),
	    "set-cookie: x|Set-Cookie: y|X-TRACE: z");
	assert_fields(proxy_headers_listed(arena, &fields, &none, true), "");
	arena_free(&arena);
}

/* --- Connection --- */

static char key_name[] = "PayPal-Request-Id", scope_name[] = "X-Account",
	    print_name[] = "X-Version", attempt_name[] = "X-Attempt",
	    replay_name[] = "X-Replayed", none_name[] = "";
static char *keys[] = {key_name}, *prints[] = {print_name};
static struct conf_scope scopes[] = {{.header = scope_name}};
static const struct conf_idempotency policy = {
	.headers = {keys, 1},
	.scope = {scopes, 1},
	.fingerprint_headers = {prints, 1},
	.attempt_header = attempt_name,
	.key_id_header = none_name,
	.replay_header = replay_name,
};
static struct conf_route routes[] = {
	{.idempotency = NULL},
	{.idempotency = &policy},
};
static const struct conf conf = {.routes = routes, .n_routes = 2};

static bool
connection_ok(const char *text)
{
	struct arena *arena = arena_new();
	struct fields fields = fields_of(arena, text);
	bool ok = proxy_headers_connection_ok(&conf, &fields);

	arena_free(&arena);
	return ok;
}

static void
ordinary_connection_options_pass(void **state)
{
	static const char *const lines[] = {
		"", "Connection: close", "Connection: keep-alive",
		"Connection: ", "Connection: ,", "Connection: , close ,,",
		"Connection: Upgrade, HTTP2-Settings", "Connection: TE",
		"Connection: close|Connection: X-Other",
		"Connection: X-Accounts", "Connection: Idempotency-Key",
		"X-Connection: Host", "Host: Connection",
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		if (!connection_ok(lines[i]))
			fail_msg("refused: %s", lines[i]);
	}
}

static void
connection_may_not_name_what_must_not_be_lost(void **state)
{
	static const char *const names[] = {
		"Host", "Content-Length", "Transfer-Encoding", "Via",
		"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host",
		"X-Request-Id", "Original-Request-Id", "Idempotency-Outcome",
		"PayPal-Request-Id", "X-Account", "X-Version", "X-Attempt",
		"X-Replayed", "paypal-request-id", "HOST",
	};

	static const char *const forms[] = {
		"Connection: %s",
		"connection: close, %s",
		"Connection: close ,\t%s ,x",
		"Connection: close|A: b|CONNECTION: %s",
		"Connection: %s,",
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
			char line[128];
			const char *hole = strstr(forms[f], "%s");
			snprintf(line, sizeof line, "%.*s%s%s",
			    (int)(hole - forms[f]), forms[f], names[i],
			    hole + 2);
			if (connection_ok(line))
				fail_msg("passed: %s", line);
		}
	}
}

static void
connection_may_not_name_too_much(void **state)
{
	char value[512] = "";
	struct field field = {SPAN("Connection"), {value, 0}};
	struct fields fields = {&field, 1};

	(void)state;
	/* 100 options have 99 commas between them. */
	for (size_t i = 0; i < 99; i++)
		strcat(value, "x,");
	field.value.len = strlen(value);
	assert_true(proxy_headers_connection_ok(&conf, &fields));
	strcat(value, ",");
	field.value.len = strlen(value);
	assert_false(proxy_headers_connection_ok(&conf, &fields));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(end_to_end_fields_go_upstream_as_they_came),
		cmocka_unit_test(hop_by_hop_fields_end_here),
		cmocka_unit_test(what_connection_names_ends_here),
		cmocka_unit_test(framing_and_expectations_are_not_forwarded),
		cmocka_unit_test(a_client_cannot_set_what_the_gateway_says),
		cmocka_unit_test(what_cgi_takes_for_our_fields_is_dropped),
		cmocka_unit_test(forwarded_for_and_via_are_appended_to),
		cmocka_unit_test(a_trusted_front_keeps_its_proto_and_host),
		cmocka_unit_test(the_way_of_the_request_is_told),
		cmocka_unit_test(no_client_names_a_record_by_its_key_id),
		cmocka_unit_test(
		    without_an_attempt_the_field_is_dropped_all_the_same),
		cmocka_unit_test(an_answer_stays_as_the_upstream_sent_it),
		cmocka_unit_test(
		    hop_by_hop_and_own_fields_of_an_answer_end_here),
		cmocka_unit_test(an_id_of_the_upstreams_own_gets_another_name),
		cmocka_unit_test(a_missing_date_is_added),
		cmocka_unit_test(a_route_without_a_replay_field_drops_none),
		cmocka_unit_test(a_list_is_divided_by_names),
		cmocka_unit_test(ordinary_connection_options_pass),
		cmocka_unit_test(connection_may_not_name_what_must_not_be_lost),
		cmocka_unit_test(connection_may_not_name_too_much),
	};
	return cmocka_run_group_tests_name("proxy_headers", tests, NULL, NULL);
}
