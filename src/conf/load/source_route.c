/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/amount.h"
#include "conf/load/complaints_private.h"
#include "conf/load/source_private.h"
#include "conf/source_asks.h"

/* How long a message may come again: what Kafka keeps, and Redis for ever. */
static const int64_t retention_ms = INT64_C(7) * 24 * 3600 * 1000;

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

/* --- what a route must be --- */

static bool
sets_header(const struct conf_source *source, const char *header)
{
	for (size_t i = 0; i < source->request.n_headers; i++)
		if (!strcasecmp(source->request.headers[i].name, header))
			return true;
	return false;
}

/* Whether one of the scope's entries before that one is of the header, too. */
static bool
repeats_header(
    const struct conf_scopes *scope, size_t index, const char *header)
{
	for (size_t i = 0; i < index; i++) {
		const char *other = scopes_header(&scope->list[i]);
		if (other != NULL && !strcasecmp(other, header))
			return true;
	}
	return false;
}

/* Several headers name a tenant together; of several kinds, any one does. */
static bool
needs_all(const struct conf_scopes *scope)
{
	for (size_t i = 0; i < scope->count; i++)
		if (scope->list[i].kind != SCOPE_HEADER)
			return false;
	return true;
}

/* Whether there are several headers of which one is enough. */
static bool
has_choice(const struct conf_scopes *scope)
{
	size_t count = 0;
	for (size_t i = 0; i < scope->count; i++) {
		const char *header = scopes_header(&scope->list[i]);
		count += header != NULL && !repeats_header(scope, i, header);
	}
	return count > 1 && !needs_all(scope);
}

static bool
names_tenant(const struct led *led, const struct conf_scopes *scope)
{
	for (size_t i = 0; i < scope->count; i++) {
		const char *header = scopes_header(&scope->list[i]);
		if (scope->list[i].kind == SCOPE_PATH ||
		    (header != NULL && sets_header(led->source, header)))
			return true;
	}
	return false;
}

static void
check_scopes(const struct led *led)
{
	const struct conf_scopes *scope = &led->route->idempotency->scope;
	if (!needs_all(scope) && names_tenant(led, scope))
		return;
	for (size_t i = 0; i < scope->count; i++) {
		const char *header = scopes_header(&scope->list[i]);
		if (scope->list[i].kind == SCOPE_CERTIFICATE)
			COMPLAIN(led, request.path,
			    "the scope of the route \"%s\" is a certificate, "
			    "which no message has: give messages a route of "
			    "their own, with another scope",
			    led->route->name);
		if (header != NULL && !sets_header(led->source, header) &&
		    !repeats_header(scope, i, header))
			COMPLAIN(led, request.headers,
			    "\"%s\" is missing, which is in the scope of the "
			    "route \"%s\"%s",
			    header, led->route->name,
			    has_choice(scope) ? ": one of its entries is enough"
					      : "");
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

/* Where the file says an option of a route. */
struct saying {
	struct json_place routes, route;
	struct json_place at; /* in the route's own object, or in "defaults" */
};

/* False: nowhere. */
static bool
find_said(const struct led *led, const struct option *option,
    struct saying *ret_saying)
{
	const struct loader *l = led->l;
	json_t *routes = loader_value(
	    l, option_at(GROUP_ROOT, offsetof(struct conf, routes)));
	json_t *own = json_object_get(
	    json_object_get(
		json_array_get(routes, led->route->index), "idempotency"),
	    option->path);
	ret_saying->routes = (struct json_place){NULL, "routes", 0};
	ret_saying->route = (struct json_place){
	    &ret_saying->routes, NULL, led->route->index};
	ret_saying->at = own != NULL
	    ? (struct json_place){&ret_saying->route, "idempotency", 0}
	    : (struct json_place){NULL, "defaults", 0};
	return own != NULL ||
	    json_object_get(json_object_get(l->root, "defaults"),
		option->path) != NULL;
}

/* Whether what the file says of it is wrong, whatever the source says. */
static bool
is_wrong_alone(const struct led *led, const struct option *option)
{
	struct saying saying;
	return find_said(led, option, &saying) &&
	    complaints_at_alone(led->l, &saying.at, option);
}

/* Gives the route what it does not say; or complains where it says it. */
static void
check_remembers(const struct led *led, struct conf_idempotency *policy)
{
	const struct option *option = POLICY_OPTION(retention_ms);
	struct saying saying;
	if (!find_said(led, option, &saying)) {
		policy->retention_ms = retention_ms;
		return;
	}
	char *least = amount_text(retention_ms, AMOUNT_DURATION);
	complaints_at_option(led->l, &saying.at, option,
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
	if (is_wrong_alone(led, option))
		return;
	if (policy->retention_ms < retention_ms)
		check_remembers(led, policy);
	/* What is less is to be more, by what has just been said. */
	if (led->source->max_age_ms > policy->retention_ms &&
	    led->source->max_age_ms > retention_ms)
		COMPLAIN(led, max_age_ms,
		    "must not be longer than the \"%s\" of the route \"%s\"",
		    option->path, led->route->name);
}

static void
check_unknown_retention(const struct led *led)
{
	const struct option *option = POLICY_OPTION(unknown_retention_ms);
	if (led->source->hold_ms >
		led->route->idempotency->unknown_retention_ms &&
	    !is_wrong_alone(led, option))
		COMPLAIN(led, hold_ms,
		    "must not be longer than the \"%s\" of the route \"%s\"",
		    option->path, led->route->name);
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
	check_unknown_retention(led);
	check_memory(led);
}

void
source_route_check(struct loader *l, const struct json_place *at,
    const struct conf_source *source)
{
	const struct conf *conf = l->conf;
	struct led led = {l, at, source, NULL};
	size_t i = 0;
	if (source->request.path.text == NULL)
		return;
	while ((led.route = source_asks_route(conf, source, &i)) != NULL)
		check_served_by(&led);
	if (i == 0)
		COMPLAIN(&led, request.path, "no route serves it");
}
