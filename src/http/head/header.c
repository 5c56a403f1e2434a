/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <time.h>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/digits.h"
#include "base/random.h"
#include "base/test_build.h"
#include "http/head/header.h"

#define NAME(literal) {literal, sizeof(literal) - 1}

/* Lists end with an empty name. */
static const struct span answer_own[] = {
	NAME("Content-Length"),
	NAME("Idempotency-Outcome"),
	NAME("Original-Request-Id"),
	NAME(""),
};

/* What a client's Connection may not name, whatever the routes. */
static const struct span never_named[] = {
	NAME("Host"),
	NAME("Content-Length"),
	NAME("Transfer-Encoding"),
	NAME("Via"),
	NAME("X-Forwarded-For"),
	NAME("X-Forwarded-Proto"),
	NAME("X-Forwarded-Host"),
	NAME("X-Request-Id"),
	NAME("Original-Request-Id"),
	NAME("Idempotency-Outcome"),
	NAME(""),
};

enum { REQUEST_ID_MAX = 128, REQUEST_ID_RANDOM = 16 };

/* More options in Connection are an attack on our time. */
enum { CONNECTION_OPTIONS_MAX = 100 };

/* A day: who prefers to wait for longer is taken to mean that. */
enum { PREFER_WAIT_MAX_S = 86400 };

/* How many fields are added at most: see header_for_upstream. */
enum { ADDED_MAX = 7 };

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
header_connection_names(const struct fields *fields, struct span name)
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

/* Whether Connection may name another one than Keep-Alive, of that kind. */
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

/* Of a field of this kind; named: Connection may name some of them. */
static bool
ends_here(const struct fields *fields, struct span name, enum field_kind kind,
    bool named)
{
	return INVARIANT(hop_by_hop) &&
	    (kind == FIELD_HOP ||
		(named && header_connection_names(fields, name)));
}

/* --- names --- */

typedef bool same_name(struct span a, struct span b);

static bool
listed(const struct strings *names, struct span name, same_name *same)
{
	for (size_t i = 0; i < names->count; i++) {
		if (same(span_str(names->list[i]), name))
			return true;
	}
	return false;
}

static bool
names_scope(const struct conf_scopes *scope, struct span name, same_name *same)
{
	for (size_t i = 0; i < scope->count; i++) {
		const char *header = scopes_header(&scope->list[i]);
		if (header != NULL && same(span_str(header), name))
			return true;
	}
	return false;
}

/* True of a field that the route goes by or sets. */
static bool
route_uses(const struct conf_idempotency *policy, struct span name,
    same_name *same)
{
	return listed(&policy->headers, name, same) ||
	    names_scope(&policy->scope, name, same) ||
	    listed(&policy->fingerprint_headers, name, same) ||
	    same(span_str(policy->attempt_header), name) ||
	    same(span_str(policy->replay_header), name);
}

/* --- lists --- */

static struct fields
list_new(struct arena *arena, size_t room)
{
	return (struct fields){
		.list = arena_alloc(arena, (room + 1) * sizeof(struct field)),
	};
}

static void
append_field(struct fields *list, struct span name, struct span value)
{
	list->list[list->count++] = (struct field){name, value};
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

static struct span
decimal(struct arena *arena, int64_t number)
{
	char text[DIGITS_MAX];

	return arena_dup(arena, span_of(text, digits_put(text, number)));
}

/* --- to the upstream --- */

/* Sets one of the fields that an upstream may trust to come from the front. */
static void
set_forwarded(struct fields *out, const struct header_request *request,
    struct span name, struct span value)
{
	bool kept = request->forwarded == FORWARDED_TRUST &&
	    fields_first(request->fields, name);

	if (!kept && value.len)
		append_field(out, name, value);
}

/*
 * True of a field that CGI takes for one that the gateway sets or goes by:
 * "Idempotency_Attempt", "X_Forwarded_For".
 */
static bool
is_alias(const struct header_request *request, struct span name)
{
	const struct conf_idempotency *policy = request->policy;
	enum field_kind kind = field_kind_met(name);

	if (kind == FIELD_OTHER && !route_uses(policy, name, field_names_meet))
		return false;
	if (route_uses(policy, name, span_ieq))
		return false;
	return kind != FIELD_OVERRIDE || !request->trust_overrides;
}

/* Whether a field that does not end here does not go on either. */
static bool
is_dropped(const struct header_request *request, struct span name,
    enum field_kind kind)
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
	if (span_ieq(name, request->attempt_header))
		return INVARIANT(own_attempt);
	return is_alias(request, name) && INVARIANT(no_alias);
}

struct fields
header_for_upstream(struct arena *arena, const struct header_request *request)
{
	const struct fields *in = request->fields;
	struct fields out = list_new(arena, in->count + ADDED_MAX);
	struct span proto = SPAN("X-Forwarded-Proto");
	struct span host = SPAN("X-Forwarded-Host");
	bool named = names_fields(in);

	for (size_t i = 0; i < in->count; i++) {
		const struct field *f = &in->list[i];
		enum field_kind kind = field_kind(f->name);
		if (!ends_here(in, f->name, kind, named) &&
		    !is_dropped(request, f->name, kind))
			out.list[out.count++] = *f;
	}
	bool local = span_eq(request->client, SPAN("unix"));
	append_field(&out, SPAN("X-Forwarded-For"),
	    joined(arena, in, SPAN("X-Forwarded-For"),
		local ? SPAN("unknown") : request->client));
	set_forwarded(&out, request, proto,
	    request->tls ? SPAN("https") : SPAN("http"));
	set_forwarded(&out, request, host, request->authority);
	append_field(&out, SPAN("Via"),
	    joined(arena, in, SPAN("Via"),
		request->version_1_0 ? SPAN("1.0 onceproxy")
				     : SPAN("1.1 onceproxy")));
	append_field(&out, SPAN("X-Request-Id"), request->request_id);
	if (request->attempt_header.len && request->attempt)
		append_field(&out, request->attempt_header,
		    decimal(arena, request->attempt));
	if (request->key.len)
		append_field(&out, request->key_header, request->key);
	return out;
}

/* --- to the client --- */

/* What our X-Request-Id would hide: an id of the upstream's own. */
static struct span
name_for_client(const struct field *field)
{
	return span_ieq(field->name, SPAN("X-Request-Id"))
	    ? SPAN("Upstream-Request-Id")
	    : field->name;
}

struct fields
header_for_client(struct arena *arena, const struct fields *upstream,
    const struct header_client *client)
{
	struct fields out = list_new(arena, upstream->count + 1);
	bool named = names_fields(upstream);

	for (size_t i = 0; i < upstream->count; i++) {
		const struct field *f = &upstream->list[i];
		bool echo = span_ieq(f->name, SPAN("X-Request-Id")) &&
		    span_eq(f->value, client->request_id);
		enum field_kind kind = field_kind(f->name);
		if (ends_here(upstream, f->name, kind, named) || echo ||
		    is_one_of(f->name, answer_own) ||
		    (span_ieq(f->name, client->replay_header) &&
			INVARIANT(own_replay)))
			continue;
		append_field(&out, name_for_client(f), f->value);
	}
	if (!fields_first(&out, SPAN("Date")))
		append_field(
		    &out, SPAN("Date"), header_date(arena, client->wall_ms));
	return out;
}

/* The fields that are listed, or those that are not. */
static struct fields
chosen(struct arena *arena, const struct fields *fields,
    const struct strings *names, bool want_listed)
{
	struct fields out = list_new(arena, fields->count);

	for (size_t i = 0; i < fields->count; i++) {
		struct span name = fields->list[i].name;
		if (listed(names, name, span_ieq) == want_listed ||
		    !INVARIANT(omitted_fields))
			out.list[out.count++] = fields->list[i];
	}
	return out;
}

struct fields
header_without(struct arena *arena, const struct fields *fields,
    const struct strings *names)
{
	return chosen(arena, fields, names, false);
}

struct fields
header_only(struct arena *arena, const struct fields *fields,
    const struct strings *names)
{
	return chosen(arena, fields, names, true);
}

/* strftime would use the words of the locale. */
static void
write_date(char *ret_text, size_t size, time_t seconds)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm tm;

	must(gmtime_r(&seconds, &tm) != NULL);
	snprintf(ret_text, size, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
	    days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon,
	    tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* Worked out once a second. */
struct span
header_date(struct arena *arena, int64_t wall_ms)
{
	static _Thread_local struct {
		time_t second;
		char text[64];
	} cache = {.second = -1};
	time_t second = (time_t)(wall_ms / 1000);

	if (second != cache.second)
		write_date(cache.text, sizeof cache.text, second);
	cache.second = second;
	return arena_dup(arena, span_str(cache.text));
}

/* --- checks --- */

static bool
is_sane_id(struct span id)
{
	static const char others[] = "._~+/=:@-";

	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];
		if (!ascii_is_digit(c) && !ascii_is_alpha(c) &&
		    (c == '\0' || !strchr(others, c)))
			return false;
	}
	return id.len >= 1 && id.len <= REQUEST_ID_MAX;
}

struct span
header_request_id(struct arena *arena, const struct fields *fields)
{
	struct span name = SPAN("X-Request-Id");
	size_t at = 0;
	const struct field *f = fields_next(fields, name, &at);
	uint8_t random[REQUEST_ID_RANDOM];
	char hex[2 * REQUEST_ID_RANDOM + 1];

	if (f && (is_sane_id(f->value) || !INVARIANT(sane_request_id)) &&
	    !fields_next(fields, name, &at))
		return arena_dup(arena, f->value);
	random_bytes(random, sizeof(random));
	hex_encode(random, sizeof(random), hex);
	return arena_dup(arena, span_str(hex));
}

static bool
may_be_named(const struct conf *conf, struct span option)
{
	/* An empty element of a list (RFC 9110, section 5.6.1) is none. */
	if (option.len == 0)
		return true;
	if (is_one_of(option, never_named))
		return false;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy && route_uses(policy, option, span_ieq))
			return false;
	}
	return true;
}

bool
header_connection_ok(const struct conf *conf, const struct fields *fields)
{
	const struct field *f;
	size_t at = 0, options = 0;

	while ((f = fields_next(fields, SPAN("Connection"), &at)) != NULL) {
		struct span list = f->value;
		struct span option;
		while (span_next(&list, ',', &option)) {
			if (++options > CONNECTION_OPTIONS_MAX ||
			    !may_be_named(conf, option))
				return false;
		}
	}
	return true;
}

int64_t
header_prefer_wait(struct span preference)
{
	struct span name = preference;
	const char *mark = memchr(name.ptr, '=', name.len);
	if (mark == NULL)
		return -1;
	name.len = (size_t)(mark - name.ptr);
	struct span value = span_trim(span_from(preference, name.len + 1));
	if (!span_ieq(span_trim(name), SPAN("wait")) || value.len == 0)
		return -1;
	int64_t seconds;
	digits_take(&value, PREFER_WAIT_MAX_S, &seconds);
	return value.len == 0 ? seconds : -1;
}

/* An IMF-fixdate, which is all that may be sent; -1: it is none. */
static int64_t
read_date(struct span text)
{
	char copy[40];
	struct tm tm = {0};
	snprintf(copy, sizeof copy, "%.*s", SPAN_FMT(text));
	const char *end = strptime(copy, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	if (end == NULL || *end != '\0')
		return -1;
	return (int64_t)timegm(&tm) * 1000;
}

int64_t
header_retry_after(const struct fields *fields, int64_t now_ms)
{
	static const int64_t year_ms = INT64_C(365) * 24 * 3600 * 1000;
	const struct field *field = fields_first(fields, SPAN("Retry-After"));
	int64_t seconds, at_ms, ms = 0;
	if (field == NULL)
		return 0;
	if (digits_read(field->value, INT32_MAX, &seconds))
		ms = seconds * 1000;
	else if ((at_ms = read_date(field->value)) > now_ms)
		ms = at_ms - now_ms;
	return ms < year_ms ? ms : year_ms;
}
