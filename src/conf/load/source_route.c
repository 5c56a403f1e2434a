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
static void
check_scopes(const struct led *led)
{
	const struct conf_scopes *scope = &led->route->idempotency->scope;
	bool all = true, named = false;
	size_t headers = 0; /* of which one is enough, unless all are */
	for (size_t i = 0; i < scope->count; i++) {
		const char *header = scopes_header(&scope->list[i]);
		all &= scope->list[i].kind == SCOPE_HEADER;
		headers += header != NULL && !repeats_header(scope, i, header);
		named |= scope->list[i].kind == SCOPE_PATH ||
		    (header != NULL && sets_header(led->source, header));
	}
	for (size_t i = 0; i < scope->count && (all || !named); i++) {
		const char *header = scopes_header(&scope->list[i]);
		if (scope->list[i].kind == SCOPE_CERTIFICATE)
			COMPLAIN(led, request.path,
			    "the scope of the route \"%s\" is a certificate, "
			    "which no message has: give messages a route of "
			    "their own, with another scope", led->route->name);
		if (header != NULL && !sets_header(led->source, header) &&
		    !repeats_header(scope, i, header))
			COMPLAIN(led, request.headers, "\"%s\" is missing, "
			    "which is in the scope of the route \"%s\"%s",
			    header, led->route->name,
			    headers > 1 && !all
				? ": one of its entries is enough"
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

/* --- how long a route must remember --- */

/* Where the file says an option of a route. */
struct saying {
	struct json_place routes, route;
	struct json_place at; /* in the route's own object, or in "defaults" */
	bool said;	      /* false: nowhere */
	bool wrong;	      /* by itself, whatever the source says */
};

static void
find_said(const struct led *led, const struct option *option,
    struct saying *ret_saying)
{
	const struct loader *l = led->l;
	json_t *routes = json_object_get(l->root, "routes");
	json_t *own = json_object_get(
	    json_object_get(
		json_array_get(routes, led->route->index), "idempotency"),
	    option->path);
	json_t *preset = json_object_get(
	    json_object_get(l->root, "defaults"), option->path);
	struct saying *s = ret_saying;
	s->routes = (struct json_place){NULL, "routes", 0};
	s->route = (struct json_place){&s->routes, NULL, led->route->index};
	s->at = own != NULL
	    ? (struct json_place){&s->route, "idempotency", 0}
	    : (struct json_place){NULL, "defaults", 0};
	s->said = own != NULL || preset != NULL;
	s->wrong = s->said && complaints_at_alone(l, &s->at, option);
}

/* Gives the route what it does not say; or complains where it says it. */
static void
check_retention(const struct led *led)
{
	/* The conf is still in the making. */
	struct conf_idempotency *policy =
	    (struct conf_idempotency *)(uintptr_t)led->route->idempotency;
	const struct conf_source *source = led->source;
	const struct option *option = POLICY_OPTION(retention_ms);
	const struct option *unknown = POLICY_OPTION(unknown_retention_ms);
	struct saying saying;
	find_said(led, option, &saying);
	if (policy->retention_ms < retention_ms && !saying.said)
		policy->retention_ms = retention_ms;
	if (policy->retention_ms < retention_ms && !saying.wrong) {
		char *least = amount_text(retention_ms, AMOUNT_DURATION);
		complaints_at_option(led->l, &saying.at, option, "the source "
		    "\"%s\" leads to the route \"%s\", which must remember for "
		    "%s at least", source->name, led->route->name, least);
		free(least);
	}
	/* What is less is to be more, by what has just been said. */
	if (source->max_age_ms > policy->retention_ms && !saying.wrong &&
	    source->max_age_ms > retention_ms)
		COMPLAIN(led, max_age_ms,
		    "must not be longer than the \"%s\" of the route \"%s\"",
		    option->path, led->route->name);
	find_said(led, unknown, &saying);
	if (source->hold_ms > policy->unknown_retention_ms && !saying.wrong)
		COMPLAIN(led, hold_ms,
		    "must not be longer than the \"%s\" of the route \"%s\"",
		    unknown->path, led->route->name);
}

static void
check_served_by(const struct led *led)
{
	const struct conf_idempotency *policy = led->route->idempotency;
	const char *name = led->route->name;
	if (policy == NULL) {
		COMPLAIN(led, request.path,
		    "the route \"%s\" may serve it, which is not idempotent",
		    name);
		return;
	}
	if (led->route->observes)
		COMPLAIN(led, request.path,
		    "the route \"%s\" may serve it, which only observes", name);
	if (policy->on_store_down == STORE_DOWN_FORWARD)
		COMPLAIN(led, request.path, "the route \"%s\" may serve it, "
		    "which forwards without the promise (\"%s\")", name,
		    POLICY_OPTION(on_store_down)->path);
	if (policy->scope_missing_forward)
		COMPLAIN(led, request.path, "the route \"%s\" may serve it, "
		    "which forwards what names no tenant (\"%s\")", name,
		    POLICY_OPTION(scope_missing_forward)->path);
	if (policy->headers.count == 0 &&
	    led->source->key != SOURCE_KEY_POINTERS)
		COMPLAIN(led, key, "the route \"%s\" takes no keys (\"%s\" is "
		    "empty): a list of pointers is needed here", name,
		    POLICY_OPTION(headers)->path);
	check_scopes(led);
	check_headers(led);
	if (led->source->key == SOURCE_KEY_POINTERS && !policy->send_derived &&
	    template_has(&policy->reconcile.path, TEMPLATE_KEY))
		COMPLAIN(led, key, "the route \"%s\" asks its upstream by a "
		    "key that it never sees: \"%s\" is needed there", name,
		    POLICY_OPTION(send_derived)->path);
	check_retention(led);
	/*
	 * A message and its body, which is as long, must fit into what clients
	 * leave to sources, with room for a second one on its way.
	 */
	if (policy->max_request_body > led->l->conf->in_flight_bytes / 4)
		COMPLAIN(led, request.path, "the route \"%s\" may serve it, "
		    "whose \"%s\" is more than a quarter of "
		    "\"limits.in_flight_bytes\"", name,
		    POLICY_OPTION(max_request_body)->path);
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
