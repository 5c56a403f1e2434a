/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>

#include "base/test_build.h"
#include "operators/admin/admin_auth.h"
#include "operators/admin/admin_private.h"

/* --- the token --- */

/* Compares tokens, in the same time for all of this length. */
static bool
is_token(struct span said, const char *token)
{
	uint8_t hashes[2][DIGEST_BYTES];
	struct span parts[] = {said, span_str(token)};
	if (token == NULL)
		return false;
	for (int i = 0; i < 2; i++) {
		struct digest digest;
		digest_begin(&digest, SPAN("admin token"), SPAN(""));
		digest_part(&digest, parts[i]);
		digest_end(&digest, hashes[i]);
	}
	return sodium_memcmp(hashes[0], hashes[1], DIGEST_BYTES) == 0;
}

static bool
is_guarded(const struct conf *conf)
{
	return conf->admin_token != NULL || conf->n_admin_tokens > 0;
}

bool
admin_auth_has_token(struct admin_request *a)
{
	const struct conf *conf = a->admin->conf;
	size_t at = 0;
	struct span token, name = SPAN("Authorization");
	const struct field *f = fields_next(&a->head.fields, name, &at);
	if (!is_guarded(conf) || !INVARIANT(admin_token))
		return true;
	if (f == NULL || fields_next(&a->head.fields, name, &at) != NULL ||
	    !field_credentials(f->value, SPAN("Bearer"), &token))
		return false;
	bool known = is_token(token, conf->admin_token);
	if (known)
		a->who = SPAN("admin");
	/* All are compared: the time tells nothing of whose it is. */
	for (size_t i = 0; i < conf->n_admin_tokens; i++) {
		const struct conf_admin_token *one = &conf->admin_tokens[i];
		if (!is_token(token, one->token))
			continue;
		known = true;
		a->who = span_str(one->name);
		a->looks_only = one->read_only;
	}
	/* The arena's own copy, which is of no more use. */
	sodium_memzero((char *)(uintptr_t)token.ptr, token.len);
	return known;
}

/* --- by which name --- */

/* Takes off the port, and the brackets of an IPv6 address. */
static struct span
host_of_authority(struct span authority)
{
	bool brackets = span_starts(authority, SPAN("["));
	struct span host = span_from(authority, brackets ? 1 : 0);
	const char *end = host.len > 0
	    ? memchr(host.ptr, brackets ? ']' : ':', host.len)
	    : NULL;
	if (end == NULL)
		return authority;
	return span_of(host.ptr, (size_t)(end - host.ptr));
}

/*
 * A page of another site whose name its owner has bound anew, to 127.0.0.1,
 * is of this origin for the browser: only Host tells it apart.  Browsers know
 * no sockets in the file system, and no tokens of other sites.
 */
static bool
is_of_bound_name(const struct admin_request *a)
{
	const struct admin *admin = a->admin;
	struct span address = span_str(admin->view.address);
	struct span host = host_of_authority(a->head.authority);
	if (is_guarded(admin->conf) || host.len == 0 ||
	    span_starts(address, SPAN("unix:")) ||
	    span_ieq(host, host_of_authority(address)) ||
	    span_ieq(host, SPAN("localhost")))
		return false;
	const char *text = arena_dup(a->arena, host).ptr;
	struct in_addr v4;
	struct in6_addr v6;
	if (inet_pton(AF_INET, text, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 != 127;
	return inet_pton(AF_INET6, text, &v6) != 1 ||
	    !IN6_IS_ADDR_LOOPBACK(&v6);
}

/* --- from which page --- */

bool
admin_auth_reads_only(const struct admin_request *a)
{
	return span_eq(a->x->head.method, SPAN("GET")) ||
	    span_eq(a->x->head.method, SPAN("HEAD"));
}

static struct span
value_of(const struct admin_request *a, struct span name)
{
	const struct field *f = fields_first(&a->head.fields, name);
	return f == NULL ? SPAN("") : f->value;
}

/*
 * A page of another site that an operator looks at can have his browser send
 * requests here, though not read the answers: it may change nothing.  All
 * browsers of these years say where such a request comes from.
 */
static bool
is_of_other_site(const struct admin_request *a)
{
	struct span site = value_of(a, SPAN("Sec-Fetch-Site"));
	struct span origin = value_of(a, SPAN("Origin"));
	if (site.len > 0 && !span_eq(site, SPAN("same-origin")) &&
	    !span_eq(site, SPAN("none")))
		return true;
	if (!span_skip(&origin, SPAN("http://")))
		span_skip(&origin, SPAN("https://"));
	return origin.len > 0 && !span_ieq(origin, a->head.authority);
}

bool
admin_auth_is_suspect(const struct admin_request *a, enum problem *ret_problem,
    struct span *ret_detail)
{
	*ret_problem = PROBLEM_FORBIDDEN;
	*ret_detail = SPAN("");
	if (is_of_bound_name(a) && INVARIANT(admin_host)) {
		*ret_detail =
		    SPAN("Without admin.token, Host must be localhost, a "
			 "loopback address or the address of admin.listen.");
		return true;
	}
	if (admin_auth_reads_only(a))
		return false;
	if (is_of_other_site(a) && INVARIANT(admin_site))
		return true;
	/*
	 * A form of another site has a Content-Type, and never this one; a
	 * script may not set this one without asking first, which is refused.
	 * So this holds where a browser does not say where a request comes
	 * from.  All browsers call themselves this; an operator's curl -d has
	 * a form's type too.
	 */
	if (!span_starts(value_of(a, SPAN("User-Agent")), SPAN("Mozilla/")))
		return false;
	struct span type = value_of(a, SPAN("Content-Type"));
	struct span first;
	*ret_problem = PROBLEM_NOT_JSON;
	return type.len > 0 && span_next(&type, ';', &first) &&
	    !span_ieq(first, SPAN("application/json")) &&
	    INVARIANT(admin_json);
}
