/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "conf/amount.h"
#include "load/complaints_private.h"
#include "load/source_private.h"

/* How long a message may come again: what Kafka keeps, and Redis for ever. */
static const int64_t retention_ms = INT64_C(7) * 24 * 3600 * 1000;

/* Stands for a variable's value: no path has it (load/path.c). */
enum { VALUE = '\0' };

#define POLICY_OPTION(field) \
	option_at(GROUP_IDEMPOTENCY, offsetof(struct conf_idempotency, field))

/* One source on its way. */
struct led {
	struct loader *l;
	const struct json_place *at;
	const struct conf_source *source;
	const struct conf_route *route; /* where it may come to */
};

#define COMPLAIN(led, field, ...)                                  \
	complaints_at_option((led)->l, (led)->at, SOURCE_OPTION(field), \
	    __VA_ARGS__)

/* --- paths --- */

static void
add_decoded(char *path, size_t *len, struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '%' && i + 2 < text.len) {
			c = (char)(ascii_hex_value(text.ptr[i + 1]) << 4 |
			    ascii_hex_value(text.ptr[i + 2]));
			i += 2;
		}
		path[(*len)++] = c;
	}
}

/*
 * The template's path, decoded, without a query and a slash at its end, and
 * with VALUE for each variable; the caller frees its bytes.
 */
static struct span
path_of(const struct template *t)
{
	char *path = mem_zero(strlen(t->text) + 1);
	size_t len = 0;
	for (size_t i = 0; i < t->count; i++) {
		struct span text = t->pieces[i].text;
		if (t->pieces[i].kind != TEMPLATE_TEXT) {
			path[len++] = VALUE;
			continue;
		}
		size_t end = 0;
		while (end < text.len && text.ptr[end] != '?')
			end++;
		add_decoded(path, &len, span_of(text.ptr, end));
		if (end < text.len)
			break;
	}
	if (len > 0 && path[len - 1] == '/')
		len--;
	return span_of(path, len);
}

/*
 * Whether some values, of a byte at least, make the segment that text.  What
 * fits behind a value as far to the left as it may leaves the most to the
 * others, so only the last value is ever made longer.
 */
static bool
may_be(struct span segment, struct span text)
{
	size_t s = 0, t = 0;
	size_t value = segment.len; /* the last one; none yet */
	size_t value_end = 0;       /* in the text */
	while (t < text.len) {
		if (s < segment.len && segment.ptr[s] == VALUE) {
			value = s++;
			value_end = ++t;
		} else if (s < segment.len && segment.ptr[s] == text.ptr[t]) {
			s++;
			t++;
		} else if (value < segment.len) {
			s = value + 1;
			t = ++value_end;
		} else {
			return false;
		}
	}
	return s == segment.len;
}

enum fit { FITS_NEVER, FITS_SOMETIMES, FITS_ALWAYS };

/* Takes a slash and the segment behind it. */
static struct span
next_segment(struct span *rest)
{
	*rest = span_from(*rest, 1);
	size_t len = 0;
	while (len < rest->len && rest->ptr[len] != '/')
		len++;
	struct span segment = span_of(rest->ptr, len);
	*rest = span_from(*rest, len);
	return segment;
}

/* As http/route.c does it, for all the values of the variables at once. */
static enum fit
path_fit(const struct conf_route *route, struct span rest)
{
	enum fit fit = FITS_ALWAYS;
	for (size_t i = 0; i < route->n_segments; i++) {
		const struct conf_segment *want = &route->segments[i];
		if (want->kind == SEGMENT_REST)
			return fit;
		if (rest.len == 0)
			return FITS_NEVER;
		struct span segment = next_segment(&rest);
		if (want->kind != SEGMENT_TEXT ||
		    span_eq(segment, want->text))
			continue;
		if (!may_be(segment, want->text))
			return FITS_NEVER;
		fit = FITS_SOMETIMES;
	}
	return rest.len == 0 ? fit : FITS_NEVER;
}

static bool
has_method(const struct conf_route *route, const char *method)
{
	for (size_t i = 0; i < route->methods.count; i++)
		if (!strcmp(route->methods.list[i], method))
			return true;
	return route->methods.count == 0;
}

/* --- what a route must be --- */

static bool
sets_header(const struct conf_source *source, const char *header)
{
	for (size_t i = 0; i < source->request.n_headers; i++)
		if (!strcasecmp(source->request.headers[i].name, header))
			return true;
	return false;
}

static void
check_scopes(const struct led *led)
{
	const struct conf_scopes *scope = &led->route->idempotency->scope;
	for (size_t i = 0; i < scope->count; i++) {
		const char *header = scopes_header(&scope->list[i]);
		if (scope->list[i].kind == SCOPE_CERTIFICATE)
			COMPLAIN(led, request.path,
			    "the scope of the route \"%s\" is a certificate, "
			    "which no message has",
			    led->route->name);
		if (header != NULL && !sets_header(led->source, header))
			COMPLAIN(led, request.headers,
			    "\"%s\" is missing, which is in the scope of the "
			    "route \"%s\"",
			    header, led->route->name);
	}
}

/* What the gateway says of the key and the attempt, it says by itself. */
static void
check_headers(const struct led *led)
{
	const struct conf_idempotency *policy = led->route->idempotency;
	struct json_place request = {led->at, "request", 0};
	struct json_place headers = {&request, "headers", 0};
	for (size_t i = 0; i < led->source->request.n_headers; i++) {
		const char *name = led->source->request.headers[i].name;
		struct json_place at = {&headers, name, 0};
		for (size_t k = 0; k < policy->headers.count; k++)
			if (!strcasecmp(policy->headers.list[k], name))
				complaints_at(led->l, &at,
				    "this header is for the key of the route "
				    "\"%s\": \"%s\" says what it is",
				    led->route->name, SOURCE_OPTION(key)->path);
		if (!strcasecmp(policy->attempt_header, name))
			complaints_at(led->l, &at,
			    "this header is for the attempt of the route "
			    "\"%s\"",
			    led->route->name);
	}
}

static void
check_key(const struct led *led)
{
	const struct conf_idempotency *policy = led->route->idempotency;
	if (led->source->key == SOURCE_KEY_POINTERS && !policy->send_derived &&
	    template_has(&policy->reconcile.path, TEMPLATE_KEY))
		COMPLAIN(led, key,
		    "the route \"%s\" asks its upstream by a key that it "
		    "never sees: \"%s\" is needed there",
		    led->route->name, POLICY_OPTION(send_derived)->path);
}

/* --- how long a route must remember --- */

/* Where the file says an option of the route; NULL: nowhere. */
static json_t *
find_said(const struct led *led, const struct option *option,
    const char **ret_member)
{
	const struct loader *l = led->l;
	json_t *routes = loader_value(
	    l, option_at(GROUP_ROOT, offsetof(struct conf, routes)));
	json_t *own = json_object_get(
	    json_object_get(
		json_array_get(routes, led->route->index), "idempotency"),
	    option->path);
	*ret_member = own != NULL ? NULL : "defaults";
	return own != NULL
	    ? own
	    : json_object_get(
		  json_object_get(l->root, "defaults"), option->path);
}

/* Complains where the route's retention is said. */
static void
complain_retention(const struct led *led, const char *member)
{
	const struct option *option = POLICY_OPTION(retention_ms);
	struct json_place routes = {NULL, "routes", 0};
	struct json_place route = {&routes, NULL, led->route->index};
	struct json_place own = {&route, "idempotency", 0};
	struct json_place other = {NULL, member, 0};
	char *least = amount_text(retention_ms, AMOUNT_DURATION);
	complaints_at_option(led->l, member != NULL ? &other : &own, option,
	    "the source \"%s\" leads to the route \"%s\", which must remember "
	    "for %s at least",
	    led->source->name, led->route->name, least);
	free(least);
}

static void
check_retention(const struct led *led)
{
	/* The conf is still in the making. */
	struct conf_idempotency *policy =
	    (struct conf_idempotency *)(uintptr_t)led->route->idempotency;
	const struct option *option = POLICY_OPTION(retention_ms);
	const char *member;
	if (policy->retention_ms < retention_ms) {
		if (find_said(led, option, &member) == NULL)
			policy->retention_ms = retention_ms;
		else
			complain_retention(led, member);
	}
	if (led->source->max_age_ms > policy->retention_ms)
		COMPLAIN(led, max_age_ms,
		    "must not be longer than the \"%s\" of the route \"%s\"",
		    option->path, led->route->name);
	if (led->source->hold_ms > policy->unknown_retention_ms)
		COMPLAIN(led, hold_ms,
		    "must not be longer than the \"%s\" of the route \"%s\"",
		    POLICY_OPTION(unknown_retention_ms)->path,
		    led->route->name);
}

/*
 * A message and its body, which is as long, must fit into what clients leave to
 * sources, with room for a second one on its way.
 */
static void
check_memory(const struct led *led)
{
	const struct conf *conf = led->l->conf;
	if (led->route->idempotency->max_request_body >
	    conf->in_flight_bytes / 4)
		COMPLAIN(led, request.path,
		    "the route \"%s\" may serve it, whose \"%s\" is more "
		    "than a quarter of \"%s\"",
		    led->route->name, POLICY_OPTION(max_request_body)->path,
		    option_at(GROUP_ROOT,
			offsetof(struct conf, in_flight_bytes))
			->path);
}

static void
check_served_by(const struct led *led)
{
	const struct conf_idempotency *policy = led->route->idempotency;
	if (policy == NULL) {
		COMPLAIN(led, request.path,
		    "the route \"%s\" may serve it, which is not idempotent",
		    led->route->name);
		return;
	}
	if (led->route->observes)
		COMPLAIN(led, request.path,
		    "the route \"%s\" may serve it, which only observes",
		    led->route->name);
	if (policy->on_store_down == STORE_DOWN_FORWARD)
		COMPLAIN(led, request.path,
		    "the route \"%s\" may serve it, which forwards without "
		    "the promise (\"%s\")",
		    led->route->name, POLICY_OPTION(on_store_down)->path);
	if (policy->scope_missing_forward)
		COMPLAIN(led, request.path,
		    "the route \"%s\" may serve it, which forwards what names "
		    "no tenant (\"%s\")",
		    led->route->name,
		    POLICY_OPTION(scope_missing_forward)->path);
	check_scopes(led);
	check_headers(led);
	check_key(led);
	check_retention(led);
	check_memory(led);
}

void
source_route_check(struct loader *l, const struct json_place *at,
    const struct conf_source *source)
{
	const struct conf *conf = l->conf;
	struct led led = {l, at, source, NULL};
	enum fit fit = FITS_NEVER;
	if (source->request.path.text == NULL)
		return;
	struct span path = path_of(&source->request.path);
	for (size_t i = 0; i < conf->n_routes && fit != FITS_ALWAYS; i++) {
		const struct conf_route *route = &conf->routes[i];
		/* One without a path was complained about. */
		enum fit now = route->path == NULL ||
			!has_method(route, source->request.method)
		    ? FITS_NEVER
		    : path_fit(route, path);
		if (now == FITS_NEVER)
			continue;
		fit = now;
		led.route = route;
		check_served_by(&led);
	}
	if (fit == FITS_NEVER)
		COMPLAIN(&led, request.path, "no route serves it");
	free((char *)(uintptr_t)path.ptr);
}
