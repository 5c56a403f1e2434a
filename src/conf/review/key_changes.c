/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "conf/load/conf_restart.h"
#include "conf/review/source_changes.h"
#include "conf/review/covers.h"
#include "conf/review/key_changes.h"
#include "conf/review/warning_private.h"
#include "conf/show.h"
#include "conf/show_running.h"

/* --- two values of an option, as they are told --- */

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

/* A route's options before and now, each by its path. */
struct key_pair {
	const json_t *old, *new;
};

/* Whether what has keys is another, or more than what had them. */
static bool
differs(const struct key_pair *pair, const char *path)
{
	json_t *old = json_object_get(pair->old, path);
	json_t *new = json_object_get(pair->new, path);
	/* Of what a gateway of another version does not tell. */
	if (old == NULL)
		return false;
	if (!strcmp(path, "scope"))
		return !is_same_scope(old, new);
	if (!strcmp(path, "header"))
		return !has_all(new, old);
	if (!strcmp(path, "fingerprint.include") ||
	    !strcmp(path, "fingerprint.ignore"))
		return !has_all(new, old) || !has_all(old, new);
	return !json_equal(old, new);
}

static char *
text_at(const json_t *keys, const char *path)
{
	json_t *value = json_object_get(keys, path);
	return json_is_null(value)
	    ? mem_text("nothing")
	    : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
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
	const json_t *told; /* of the running one's (conf/show_running.h) */
	struct complaints *complaints;
};

static void
compare_option(const struct change *change, const struct conf_route *route,
    const struct conf_route *before, const struct key_pair *pair,
    const char *path, const char *loss)
{
	const struct looked_at at = {change->next, route, change->complaints};
	/* JSON follows from the others. */
	bool follows = !strcmp(path, "fingerprint.json") &&
	    (differs(pair, "fingerprint.ignore") ||
		differs(pair, "fingerprint.only"));
	char *from = text_at(pair->old, path);
	char *to = text_at(pair->new, path);
	char *other = strcmp(route->name, before->name) != 0
	    ? mem_printf("what was of route \"%s\" comes here, and ",
		before->name)
	    : mem_text("");
	if (differs(pair, path) && !follows)
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
	if (comes && (route->idempotency == NULL || route->observes)) {
		warning_add(change->complaints,
		    mem_printf("/routes/%u", route->index), "route \"%s\": "
		    "what was of route \"%s\" comes here, and no key is looked "
		    "at any more: each retry is executed", route->name,
		    before->name);
	} else if (comes) {
		json_t *new = show_running_keys(route->idempotency);
		const struct key_pair pair = {
		    json_object_get(
			json_array_get(change->told, before->index), "keys"),
		    new};
#define KEY_OPTION(path, loss)                                              \
	compare_option(change, route, before, &pair, path, loss);
#include "tbl/key_options.h"
#undef KEY_OPTION
		json_decref(new);
	}
}

static void
find_changes(const struct conf *running, const json_t *told,
    const struct conf *next, struct complaints *complaints)
{
	const struct change change = {running, next, told, complaints};
	for (size_t i = 0; i < next->n_routes; i++)
		for (size_t k = 0; k < running->n_routes; k++)
			if (running->routes[k].idempotency != NULL &&
			    !running->routes[k].observes)
				compare_routes(&change, &next->routes[i],
				    &running->routes[k]);
}

/* --- the store --- */

#define AFTER_A_RESTART                                                \
	"a reload does not change this; after a restart, keys that exist " \
	"are not found any more, and their retries are executed again"

/* A member's text; empty: it has none. */
static const char *
text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text != NULL ? text : "";
}

static bool
has_secret(const json_t *store, const struct conf *next)
{
	json_t *secret =
	    show_running_secret(next->store.secret, text_of(store, "salt"));
	bool has = json_equal(json_object_get(store, "secret"), secret);
	json_decref(secret);
	return has;
}

/* By what is told of the running one's. */
static void
compare_stores(const json_t *store, const struct conf *next,
    struct complaints *complaints)
{
	static const char *const names[] = {
#define STORE_OPTION(name) name,
#include "tbl/key_options.h"
#undef STORE_OPTION
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct span section;
		json_t *value = show_option(option_find(GROUP_ROOT,
		    SPAN("store."), names[i], &section), next);
		if (value == NULL)
			value = json_null();
		if (!json_equal(json_object_get(store, names[i]), value))
			warning_add(complaints,
			    mem_printf("/store/%s", names[i]), AFTER_A_RESTART);
		json_decref(value);
	}
	if (!has_secret(store, next))
		warning_add(
		    complaints, mem_text("/store/secret"), AFTER_A_RESTART);
	if (json_object_get(store, "state_dir") != NULL &&
	    next->store.redis.managed &&
	    strcmp(text_of(store, "state_dir"), next->state_dir) != 0)
		warning_add(complaints, mem_text("/state_dir"),
		    "the private Redis is there; " AFTER_A_RESTART);
}

/* --- of two files --- */

void
key_changes_find(const struct conf *running, const struct conf *next,
    bool restart, struct complaints *complaints)
{
	/* Nobody is told the hashes. */
	static const char secret[] = "none", salt[] = "none";
	json_t *told = show_running(running, running);
	json_t *sources = show_running_sources(running, secret, salt);
	find_changes(running, json_object_get(told, "routes"), next,
	    complaints);
	source_changes_find(sources, next, secret, salt, complaints);
	if (restart)
		compare_stores(
		    json_object_get(told, "store"), next, complaints);
	json_decref(sources);
	json_decref(told);
}

/* --- of a gateway that runs --- */

/* Its routes, as far as requests are led to them, and records found. */
static const struct conf *
routes_told(const json_t *told, struct complaints *complaints)
{
	size_t i;
	json_t *one;
	json_t *routes = json_array();
	json_array_foreach(told, i, one)
	{
		json_t *name = json_object_get(one, "name");
		json_t *path = json_object_get(one, "path");
		json_t *methods = json_object_get(one, "methods");
		json_t *keys = json_object_get(one, "keys");
		json_t *entity = json_object_get(keys, "entity");
		json_array_append_new(routes,
		    json_pack("{s:O*, s:O*, s:s, s:O*, s:s*, s:o*}",
			"name", json_equal(name, path) ? NULL : name,
			"path", path, "upstream", "x", "methods",
			json_array_size(methods) > 0 ? methods : NULL, "mode",
			json_is_true(json_object_get(one, "observes"))
			    ? "observe"
			    : NULL,
			"idempotency",
			keys == NULL ? NULL
				     : json_pack("{s:O*}", "entity",
					   json_is_null(entity) ? NULL
								: entity)));
	}
	json_t *all = json_pack("{s:[s], s:{s:s}, s:o}", "listen",
	    "127.0.0.1:0", "upstreams", "x", "http://127.0.0.1", "routes",
	    routes);
	char *text = json_dumps(all, 0);
	must(text != NULL);
	json_decref(all);
	const struct conf *conf = conf_load_text(
	    "the running gateway", span_str(text), complaints);
	free(text);
	return conf;
}

bool
key_changes_told(const json_t *told, const struct conf *next,
    struct complaints *complaints, struct complaints *wrong)
{
	const json_t *routes = json_object_get(told, "routes");
	const json_t *store = json_object_get(told, "store");
	const struct conf *running = routes_told(routes, wrong);
	if (running == NULL)
		return false;
	if (json_is_array(json_object_get(store, "cluster")))
		(void)conf_restart_finds(running, next, complaints);
	find_changes(running, routes, next, complaints);
	/* With another secret no hash is the same. */
	source_changes_find(json_object_get(told, "sources"), next,
	    next->store.secret,
	    has_secret(store, next) ? text_of(store, "salt") : NULL,
	    complaints);
	compare_stores(store, next, complaints);
	conf_unref(&running);
	return true;
}
