/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/field.h"
#include "base/mem.h"
#include "conf/basic_user.h"
#include "conf/review/covers.h"
#include "conf/review/key_changes.h"
#include "conf/review/warning_private.h"
#include "conf/show.h"
#include "conf/source_asks.h"
#include "conf/token/token.h"

/* --- two values of an option, as they are shown --- */

static json_t *
shown(enum group group, const char *path, const void *base)
{
	json_t *value = show_option(option_of_path(group, path), base);
	return value != NULL ? value : json_null();
}

static char *
shown_text(enum group group, const char *path, const void *base)
{
	json_t *value = shown(group, path, base);
	char *text = json_is_null(value)
	    ? mem_text("nothing")
	    : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(value);
	return text;
}

/* Names of fields are written in any case (RFC 9110, section 5.1). */
static bool
is_same(const json_t *one, const json_t *other)
{
	const char *a = json_string_value(one);
	const char *b = json_string_value(other);
	return a != NULL && b != NULL && *a != '/' ? !strcasecmp(a, b)
						   : json_equal(one, other);
}

/* Whether a list, or a text alone, has all of another one. */
static bool
has_all(json_t *list, json_t *of)
{
	size_t i = 0, k, count = json_is_array(of) ? json_array_size(of) : 1;
	bool in = true;
	for (; i < count && in; i++) {
		json_t *one = json_is_array(of) ? json_array_get(of, i) : of;
		in = is_same(list, one);
		for (k = 0; k < json_array_size(list) && !in; k++)
			in = is_same(json_array_get(list, k), one);
	}
	return in;
}

/* A key belongs to all of it, in its order; not to how a token is believed. */
static bool
is_same_scope(const json_t *old, const json_t *new)
{
	static const char *const believed[] = {
	    "keys", "ca", "issuer", "audience", NULL};
	size_t i, count = json_array_size(new);
	bool same = json_array_size(old) == count;
	for (i = 0; i < count && same; i++) {
		json_t *one = json_deep_copy(json_array_get(old, i));
		json_t *other = json_deep_copy(json_array_get(new, i));
		for (size_t k = 0; believed[k] != NULL; k++) {
			json_object_del(one, believed[k]);
			json_object_del(other, believed[k]);
		}
		same = is_same(one, other);
		json_decref(one);
		json_decref(other);
	}
	return same;
}

/*
 * Whether what has keys is another, or more than what had them.  A header that
 * is looked at now takes the place of keys that were derived.
 */
static bool
differs(const struct conf_idempotency *before,
    const struct conf_idempotency *policy, const char *path)
{
	json_t *old = shown(GROUP_IDEMPOTENCY, path, before);
	json_t *new = shown(GROUP_IDEMPOTENCY, path, policy);
	bool derives = before->derive_from_body || policy->derive_from_body ||
	    before->derive_from.count > 0 || policy->derive_from.count > 0;
	bool same;
	if (!strcmp(path, "scope"))
		same = is_same_scope(old, new);
	else if (!strcmp(path, "header"))
		same = has_all(new, old) && (!derives || has_all(old, new));
	else if (!strcmp(path, "fingerprint.include") ||
	    !strcmp(path, "fingerprint.ignore"))
		same = has_all(new, old) && has_all(old, new);
	else
		same = json_equal(old, new);
	json_decref(old);
	json_decref(new);
	return !same;
}

/* Whether a variable of the path that the text has stands elsewhere in it. */
static bool
names_elsewhere(const struct conf_route *before,
    const struct conf_route *route, const char *text)
{
	bool elsewhere = false;
	for (size_t i = 0; i < route->n_segments; i++) {
		struct span name = route->segments[i].text;
		if (route->segments[i].kind != SEGMENT_ANY ||
		    conf_variable(before, name) == (int)i)
			continue;
		char *variable = mem_printf("{%.*s}", SPAN_FMT(name));
		char *scope = mem_printf("\"path\":\"%.*s\"", SPAN_FMT(name));
		elsewhere |= strstr(text, variable) != NULL ||
		    strstr(text, scope) != NULL;
		free(variable);
		free(scope);
	}
	return elsewhere;
}

/* --- routes --- */

/* What one configuration gives to another one's routes. */
struct change {
	const struct conf *running, *next;
	struct complaints *complaints;
};

static void
compare_option(const struct change *change, const struct conf_route *route,
    const struct conf_route *before, const char *path, const char *loss)
{
	const struct looked_at at = {change->next, route, change->complaints};
	const struct conf_idempotency *old = before->idempotency;
	const struct conf_idempotency *new = route->idempotency;
	/* JSON follows from the others. */
	bool follows = !strcmp(path, "fingerprint.json") &&
	    (differs(old, new, "fingerprint.ignore") ||
		differs(old, new, "fingerprint.only"));
	char *from = shown_text(GROUP_IDEMPOTENCY, path, old);
	char *to = shown_text(GROUP_IDEMPOTENCY, path, new);
	char *other = strcmp(route->name, before->name) != 0
	    ? mem_printf("what was of route \"%s\" comes here, and ",
		before->name)
	    : mem_text("");
	if (differs(old, new, path) && !follows)
		warning_of(&at, path,
		    "route \"%s\": %s%s changes from %s to %s: %s",
		    route->name, other, path, from, to, loss);
	else if (names_elsewhere(before, route, to))
		warning_of(&at, path, "route \"%s\": %s%s %s stands elsewhere "
		    "in the path: %s", route->name, other, path, to, loss);
	free(from);
	free(to);
	free(other);
}

/* Of a route that takes over what another one had, by some of its methods. */
static void
compare_routes(const struct change *change, const struct conf_route *route,
    const struct conf_route *before)
{
	bool comes = false; /* one that has keys names its methods */
	for (size_t i = 0; i < before->methods.count && !comes; i++)
		comes = covers_same(change->running, before, change->next,
		    route, before->methods.list[i]);
	if (!comes)
		return;
	if (route->idempotency == NULL || route->observes) {
		warning_add(change->complaints,
		    mem_printf("/routes/%u", route->index), "route \"%s\": "
		    "what was of route \"%s\" comes here, and no key is looked "
		    "at any more: each retry is executed", route->name,
		    before->name);
		return;
	}
#define KEY_OPTION(path, loss) \
	compare_option(change, route, before, path, loss);
#include "tbl/key_options.h"
#undef KEY_OPTION
	/* Another API knows nothing of it, and says that it did not happen. */
	if (route->idempotency->reconcile.path.text != NULL &&
	    !conf_shares_target(route->upstream, before->upstream))
		warning_add(change->complaints,
		    mem_printf("/routes/%u/upstream", route->index),
		    "route \"%s\": what is unknown of route \"%s\" was sent to "
		    "other targets, and these are asked about it now: unless "
		    "they are the same API, decide it before, or it is "
		    "executed again", route->name, before->name);
}

/* --- the store --- */

#define AFTER_A_RESTART                                                \
	"a reload does not change this; after a restart, keys that exist " \
	"are not found any more, and their retries are executed again"

static void
compare_stores(const struct change *change)
{
	static const char *const paths[] = {
#define STORE_OPTION(name) "store." name,
#include "tbl/key_options.h"
#undef STORE_OPTION
	};
	const struct conf *running = change->running, *next = change->next;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		json_t *old = shown(GROUP_ROOT, paths[i], running);
		json_t *new = shown(GROUP_ROOT, paths[i], next);
		if (!json_equal(old, new))
			warning_add(change->complaints,
			    complaints_pointer(NULL, paths[i]),
			    AFTER_A_RESTART);
		json_decref(old);
		json_decref(new);
	}
	/* None is empty. */
	const char *was = running->store.secret, *is = next->store.secret;
	if (strcmp(was != NULL ? was : "", is != NULL ? is : "") != 0)
		warning_add(change->complaints, mem_text("/store/secret"),
		    AFTER_A_RESTART);
	if (running->store.redis.managed && next->store.redis.managed &&
	    strcmp(running->state_dir, next->state_dir) != 0)
		warning_add(change->complaints, mem_text("/state_dir"),
		    "the private Redis is there; " AFTER_A_RESTART);
}

/* --- sources --- */

static void
compare_source_option(const struct change *change,
    const struct conf_source *before, const struct conf_source *source,
    const char *path, const char *loss)
{
	/* A key of the message's own has no name of its place in it. */
	bool place = !strcmp(path, "broker") || !strcmp(path, "stream") ||
	    !strcmp(path, "table");
	bool counts = !place || source->key < SOURCE_KEY_POINTERS;
	const struct json_place all = {NULL, "sources", 0};
	const struct json_place at = {&all, source->name, 0};
	char *from = shown_text(GROUP_SOURCE, path, before);
	char *to = shown_text(GROUP_SOURCE, path, source);
	if (counts && strcmp(from, to) != 0)
		warning_add(change->complaints, complaints_pointer(&at, path),
		    "source \"%s\": %s changes from %s to %s: %s",
		    source->name, path, from, to, loss);
	free(from);
	free(to);
}

/*
 * What the source's header of that name says: of the tenant, where it is one of
 * a scope and can be read; else itself.
 */
static struct span
said_by(struct arena *arena, const struct conf_source *source,
    const char *name, const struct conf_scope *scope)
{
	const struct conf_header *header = conf_source_header(source, name);
	if (header == NULL)
		return SPAN("");
	struct span token, named, value = span_str(
	    header->secret != NULL ? header->secret : header->value.text);
	bool basic = scope != NULL && scope->kind == SCOPE_BASIC;
	bool jwt = scope != NULL && scope->kind == SCOPE_JWT;
	if ((basic && field_credentials(value, SPAN("Basic"), &token) &&
		basic_user_read(arena, token, &named)) ||
	    (jwt && field_credentials(value, SPAN("Bearer"), &token) &&
		token_claim(arena, scope->jwt, token, &named)))
		return named;
	return value;
}

/* A header, of which neither value is said: it may be a secret. */
static void
compare_header(const struct change *change, const struct conf_source *before,
    const struct conf_source *source, const struct conf_route *route,
    const struct conf_scope *scope, const char *name)
{
	struct arena *arena = arena_new();
	struct span old = said_by(arena, before, name, scope);
	struct span new = said_by(arena, source, name, scope);
	if (!span_eq(old, new))
		warning_add(change->complaints,
		    mem_printf("/sources/%s/request/headers", source->name),
		    scope != NULL
			? "source \"%s\": \"%s\", which names the tenant of "
			  "route \"%s\", changes: a message that comes again "
			  "has another key, and is executed again"
			: "source \"%s\": \"%s\", which route \"%s\" "
			  "compares, changes: a message that comes again is "
			  "taken for another one (mismatch)",
		    source->name, name, route->name);
	arena_free(&arena);
}

static void
compare_sources(const struct change *change, const struct conf_source *before,
    const struct conf_source *source)
{
	const struct conf_route *route;
	size_t at = 0;
#define SOURCE_OPTION(path, loss) \
	compare_source_option(change, before, source, path, loss);
#include "tbl/key_options.h"
#undef SOURCE_OPTION
	while ((route = source_asks_route(change->next, source, &at)) != NULL) {
		const struct conf_idempotency *policy = route->idempotency;
		const struct strings *compared = &policy->fingerprint_headers;
		for (size_t i = 0; i < policy->scope.count; i++) {
			const struct conf_scope *s = &policy->scope.list[i];
			if (scopes_header(s) != NULL)
				compare_header(change, before, source, route,
				    s, scopes_header(s));
		}
		for (size_t i = 0; i < compared->count; i++)
			compare_header(change, before, source, route, NULL,
			    compared->list[i]);
	}
}

/* --- all of it --- */

void
key_changes_find(const struct conf *running, const struct conf *next,
    bool restart, struct complaints *complaints)
{
	const struct change change = {running, next, complaints};
	for (size_t i = 0; i < next->n_routes; i++)
		for (size_t k = 0; k < running->n_routes; k++)
			if (running->routes[k].idempotency != NULL &&
			    !running->routes[k].observes)
				compare_routes(&change, &next->routes[i],
				    &running->routes[k]);
	for (size_t i = 0; i < next->n_sources; i++)
		for (size_t k = 0; k < running->n_sources; k++)
			if (!strcmp(running->sources[k].name,
				next->sources[i].name))
				compare_sources(&change, &running->sources[k],
				    &next->sources[i]);
	if (restart)
		compare_stores(&change);
}
