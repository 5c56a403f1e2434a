/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/digits.h"
#include "base/test_build.h"
#include "http/head/header_value.h"
#include "http/head/proxy_headers.h"

#define NAME(literal) {literal, sizeof(literal) - 1}

/* Lists end with an empty name. */
static const struct span answer_own[] = {
	NAME("Content-Length"), NAME("Idempotency-Outcome"),
	NAME("Original-Request-Id"), NAME(""),
};

/* A client's Connection may not name these, whatever the routes. */
static const struct span never_named[] = {
	NAME("Host"), NAME("Content-Length"), NAME("Transfer-Encoding"),
	NAME("Via"), NAME("X-Forwarded-For"), NAME("X-Forwarded-Proto"),
	NAME("X-Forwarded-Host"), NAME("X-Request-Id"),
	NAME("Original-Request-Id"), NAME("Idempotency-Outcome"), NAME(""),
};

/* More options in Connection are an attack on our time. */
enum { CONNECTION_OPTIONS_MAX = 100 };

/* So many fields are added at most (proxy_headers_for_upstream). */
enum { ADDED_MAX = 9 };

static bool
is_one_of(struct span name, const struct span *names)
{
	for (; names->len; names++) {
		if (span_ieq(*names, name))
			return true;
	}
	return false;
}

bool
proxy_headers_connection_names(const struct fields *fields, struct span name)
{
	const struct field *f;
	size_t at = 0;

	while ((f = fields_next(fields, SPAN("Connection"), &at)) != NULL) {
		struct span list = f->value;
		struct span option;
		while (span_next(&list, ',', &option)) {
			if (span_ieq(option, name))
				return true;
		}
	}
	return false;
}

/* True where Connection may name a field: not of "keep-alive" alone. */
static bool
names_fields(const struct fields *fields)
{
	const struct field *f;
	size_t at = 0;

	while ((f = fields_next(fields, SPAN("Connection"), &at)) != NULL)
		if (!span_ieq(f->value, SPAN("keep-alive")))
			return true;
	return false;
}

/* True of a hop-by-hop field; named: Connection may name some fields. */
static bool
ends_here(const struct fields *fields, struct span name, enum field_kind kind,
    bool named)
{
	return INVARIANT(hop_by_hop) &&
	    (kind == FIELD_HOP ||
		(named && proxy_headers_connection_names(fields, name)));
}

/* --- names --- */

typedef bool same_name(struct span a, struct span b);

/* Names that differ in a letter that is their first are no names of one. */
static bool
is_name(const char *ours, struct span name, same_name *same)
{
	bool other = ascii_is_alpha(*ours) && name.len > 0 &&
	    ((*ours ^ *name.ptr) & ~0x20) != 0;
	return !other && same(span_str(ours), name);
}

static bool
listed(const struct strings *names, struct span name, same_name *same)
{
	for (size_t i = 0; i < names->count; i++) {
		if (is_name(names->list[i], name, same))
			return true;
	}
	return false;
}

/* Of ours, whatever the name. */
static bool
has_underscore(struct span ours, struct span name)
{
	(void)name;
	return span_has(ours, '_');
}

/* True of a field that the route goes by or sets. */
static bool
route_uses(const struct conf_idempotency *policy, struct span name,
    same_name *same)
{
	for (size_t i = 0; i < policy->scope.count; i++) {
		const char *header = scopes_header(&policy->scope.list[i]);
		if (header != NULL && is_name(header, name, same))
			return true;
	}
	return listed(&policy->headers, name, same) ||
	    listed(&policy->fingerprint_headers, name, same) ||
	    is_name(policy->attempt_header, name, same) ||
	    is_name(policy->key_id_header, name, same) ||
	    is_name(policy->replay_header, name, same);
}

/* All lines of that name and one more value, as one list. */
static struct span
joined(struct arena *arena, const struct fields *fields, struct span name,
    struct span last)
{
	const struct field *f;
	size_t bytes = last.len, len = 0;

	for (size_t at = 0; (f = fields_next(fields, name, &at)) != NULL;)
		bytes += f->value.len + 2;
	if (bytes == last.len)
		return last;
	char *out = arena_alloc(arena, bytes);
	for (size_t at = 0; (f = fields_next(fields, name, &at)) != NULL;) {
		if (f->value.len == 0)
			continue;
		memcpy(out + len, f->value.ptr, f->value.len);
		len += f->value.len;
		memcpy(out + len, ", ", 2);
		len += 2;
	}
	memcpy(out + len, last.ptr, last.len);
	return span_of(out, len + last.len);
}

/* --- to the upstream --- */

/*
 * True of a field, of no kind, that CGI takes for one that the gateway sets or
 * goes by: "Idempotency_Attempt", "X_Forwarded_For".
 */
static bool
is_alias(const struct proxy_request *request, struct span name)
{
	const struct conf_idempotency *policy = request->policy;
	/* What has a kind has no "_" in its name. */
	enum field_kind kind =
	    span_has(name, '_') ? field_kind_met(name) : FIELD_OTHER;

	if (kind == FIELD_OTHER && !route_uses(policy, name, field_names_meet))
		return false;
	if (route_uses(policy, name, span_ieq))
		return false;
	return kind != FIELD_OVERRIDE || !request->trust_overrides;
}

/*
 * True of a field that is not hop-by-hop and is dropped all the same.
 * underscored: so is a name that the route goes by or sets.
 */
static bool
is_dropped(const struct proxy_request *request, struct span name,
    enum field_kind kind, bool underscored)
{
	switch (kind) {
	case FIELD_HOP:
		return false;
	case FIELD_OWN:
		return true;
	case FIELD_FORWARDED:
		return request->forwarded != FORWARDED_TRUST;
	case FIELD_OVERRIDE:
		return !request->trust_overrides && INVARIANT(no_override);
	case FIELD_OTHER:
		break;
	}
	if (span_ieq(name, request->attempt_header) ||
	    span_ieq(name, span_str(request->policy->key_id_header)))
		return INVARIANT(own_attempt);
	/* No route lets a client name the record that a witness is of. */
	if (field_names_meet(name, SPAN("Idempotency-Key-Id")) &&
	    !route_uses(request->policy, name, span_ieq))
		return INVARIANT(own_attempt);
	if (request->identity &&
	    (field_names_meet(name, SPAN("Accept-Encoding")) ||
		(request->policy->headers.count == 0 &&
		    field_names_meet(name, SPAN("Idempotency-Key")))))
		return true;
	/* Without a "_" on either side names that meet are the same. */
	return (underscored || span_has(name, '_')) &&
	    is_alias(request, name) && INVARIANT(no_alias);
}

struct fields
proxy_headers_for_upstream(
    struct arena *arena, const struct proxy_request *request)
{
	const struct fields *in = request->fields;
	struct fields out = fields_new(arena, in->count + ADDED_MAX);
	struct span proto = SPAN("X-Forwarded-Proto");
	struct span host = SPAN("X-Forwarded-Host");
	char attempt[DIGITS_MAX];
	bool named = names_fields(in);
	bool underscored =
	    route_uses(request->policy, SPAN(""), has_underscore);

	for (size_t i = 0; i < in->count; i++) {
		const struct field *f = &in->list[i];
		enum field_kind kind = field_kind(f->name);
		if (!ends_here(in, f->name, kind, named) &&
		    !is_dropped(request, f->name, kind, underscored))
			out.list[out.count++] = *f;
	}
	bool local = span_eq(request->client, SPAN("unix"));
	/* A message, or a question, is no client's. */
	if (request->client.len > 0)
		fields_add(&out, SPAN("X-Forwarded-For"),
		    joined(arena, in, SPAN("X-Forwarded-For"),
			local ? SPAN("unknown") : request->client));
	/* What comes from a front that is trusted stays. */
	bool trust = request->forwarded == FORWARDED_TRUST;
	if (!trust || !fields_first(in, proto))
		fields_add(&out, proto,
		    request->tls ? SPAN("https") : SPAN("http"));
	if (request->authority.len && (!trust || !fields_first(in, host)))
		fields_add(&out, host, request->authority);
	fields_add(&out, SPAN("Via"),
	    joined(arena, in, SPAN("Via"),
		request->version_1_0 ? SPAN("1.0 onceproxy")
				     : SPAN("1.1 onceproxy")));
	fields_add(&out, SPAN("X-Request-Id"), request->request_id);
	if (request->identity)
		fields_add(
		    &out, SPAN("Accept-Encoding"), SPAN("identity"));
	if (request->attempt_header.len && request->attempt)
		fields_add(&out, request->attempt_header,
		    arena_dup(arena, span_of(attempt,
			digits_put(attempt, request->attempt))));
	if (*request->policy->key_id_header != '\0' && request->attempt)
		fields_add(&out, span_str(request->policy->key_id_header),
		    request->key_id);
	if (request->key.len)
		fields_add(&out, request->key_header, request->key);
	return out;
}

/* --- to the client --- */

struct fields
proxy_headers_for_client(struct arena *arena, const struct fields *upstream,
    const struct proxy_client *client)
{
	struct fields out = fields_new(arena, upstream->count + 1);
	bool named = names_fields(upstream);

	for (size_t i = 0; i < upstream->count; i++) {
		const struct field *f = &upstream->list[i];
		/* Ours would hide the upstream's own: that is renamed. */
		bool is_id = span_ieq(f->name, SPAN("X-Request-Id"));
		enum field_kind kind = field_kind(f->name);
		if (ends_here(upstream, f->name, kind, named) ||
		    (is_id && span_eq(f->value, client->request_id)) ||
		    is_one_of(f->name, answer_own) ||
		    (span_ieq(f->name, client->replay_header) &&
			INVARIANT(own_replay)))
			continue;
		fields_add(&out,
		    is_id ? SPAN("Upstream-Request-Id") : f->name, f->value);
	}
	if (!fields_first(&out, SPAN("Date")))
		fields_add(&out, SPAN("Date"),
		    header_value_date(arena, client->wall_ms));
	return out;
}

struct fields
proxy_headers_listed(struct arena *arena, const struct fields *fields,
    const struct strings *names, bool are_listed)
{
	struct fields out = {NULL, 0};

	if (names->count == 0)
		return are_listed ? out : *fields;
	out = fields_new(arena, fields->count);
	for (size_t i = 0; i < fields->count; i++) {
		struct span name = fields->list[i].name;
		if (listed(names, name, span_ieq) == are_listed ||
		    !INVARIANT(omitted_fields))
			out.list[out.count++] = fields->list[i];
	}
	return out;
}

/* --- a client's Connection --- */

static bool
may_be_named(const struct conf *conf, struct span option)
{
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy && route_uses(policy, option, span_ieq))
			return false;
	}
	return !is_one_of(option, never_named);
}

bool
proxy_headers_connection_ok(
    const struct conf *conf, const struct fields *fields)
{
	const struct field *f;
	size_t at = 0, options = 0;

	while ((f = fields_next(fields, SPAN("Connection"), &at)) != NULL) {
		struct span list = f->value;
		struct span option;
		while (span_next(&list, ',', &option)) {
			if (++options > CONNECTION_OPTIONS_MAX)
				return false;
			/* An empty element of a list (RFC 9110, 5.6.1). */
			if (option.len > 0 && !may_be_named(conf, option))
				return false;
		}
	}
	return true;
}
