/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "conf/load/conf_restart.h"
#include "conf/review/covers.h"
#include "conf/review/key_changes.h"
#include "conf/review/key_changes_private.h"
#include "conf/review/key_meaning_private.h"
#include "conf/review/said.h"
#include "conf/review/source_changes.h"
#include "conf/review/warning_private.h"
#include "conf/show_running.h"

/* The options, as tbl/key_options.h has them. */
static const char *const paths[] = {
#define KEY_OPTION(path, what) path,
#include "tbl/key_options.h"
#undef KEY_OPTION
};

/* --- routes --- */

/* What one configuration gives to another one's routes. */
struct change {
	const struct conf *running, *next;
	const json_t *told; /* of the routes of a gateway that runs, or NULL */
	struct complaints *complaints;
};

static bool
comes(const struct change *change, const struct conf_route *before,
    const struct conf_route *route, const char *method)
{
	return covers_same(
	    change->running, before, change->next, route, method);
}

/* Whether keys of the route before are looked for by this one. */
static bool
takes_over(const struct change *change, const struct conf_route *before,
    const struct conf_route *route)
{
	/* One that has keys names its methods. */
	for (size_t i = 0; i < before->methods.count; i++)
		if (comes(change, before, route, before->methods.list[i]))
			return true;
	return false;
}

/* The options of a route, each by its path. */
static json_t *
said_keys(const struct conf_route *route)
{
	json_t *keys = json_object();
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		json_t *value = said_value(route, paths[i]);
		json_object_set_new(keys, paths[i],
		    value != NULL ? value : json_null());
	}
	return keys;
}

/*
 * Those of a route before; told: of each, as show_running() tells it.  Of what
 * an older gateway does not tell nothing changes.
 */
static json_t *
keys_before(const struct conf_route *before, const json_t *told,
    const json_t *now)
{
	if (told == NULL)
		return said_keys(before);
	json_t *keys = json_deep_copy(now);
	json_object_update(keys,
	    json_object_get(json_array_get(told, before->index), "keys"));
	return keys;
}

static char *
words_of_other(
    const struct conf_route *route, const struct conf_route *before)
{
	if (!strcmp(route->name, before->name))
		return mem_str(SPAN(""));
	return mem_printf(
	    "what was of route \"%s\" comes here, and ", before->name);
}

/* Whether a variable of the path that the text has stands elsewhere in it. */
static bool
names_elsewhere(const struct conf_route *before,
    const struct conf_route *route, const char *text)
{
	bool elsewhere = false;
	for (size_t i = 0; i < route->n_segments; i++) {
		struct span name = route->segments[i].text;
		if (route->segments[i].kind != SEGMENT_ANY)
			continue;
		char *variable = mem_printf("{%.*s}", SPAN_FMT(name));
		char *scope = mem_printf("\"path\":\"%.*s\"", SPAN_FMT(name));
		elsewhere |= conf_variable(before, name) != (int)i &&
		    (strstr(text, variable) != NULL ||
			strstr(text, scope) != NULL);
		free(variable);
		free(scope);
	}
	return elsewhere;
}

/* A route's options, before and now, and what they come to. */
struct key_pair {
	json_t *old, *new;
	json_t *old_meant, *new_meant;
};

static char *
text_at(json_t *keys, const char *path)
{
	json_t *value = json_object_get(keys, path);
	return json_is_null(value)
	    ? mem_str(SPAN("nothing"))
	    : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* What changed, and what becomes of keys; NULL: it means what it did. */
static char *
words_of_change(const struct key_pair *pair, const char *path)
{
	if (json_equal(json_object_get(pair->old, path),
		json_object_get(pair->new, path)))
		return NULL;
	char *what = key_meaning_change(pair->old_meant, pair->new_meant, path);
	if (what == NULL)
		return NULL;
	char *from = text_at(pair->old, path);
	char *to = text_at(pair->new, path);
	char *words = mem_printf("changes from %s to %s: %s", from, to, what);
	free(from);
	free(to);
	free(what);
	return words;
}

/* The same of a variable's place; NULL: it stands where it stood. */
static char *
words_of_place(const struct key_pair *pair, const char *path,
    const struct conf_route *before, const struct conf_route *route)
{
	char *text = text_at(pair->new_meant, path);
	char *words = names_elsewhere(before, route, text)
	    ? mem_printf("%s stands elsewhere in the path: %s", text,
		  key_meaning_loss(path))
	    : NULL;
	free(text);
	return words;
}

static void
compare_option(const struct change *change, const struct conf_route *route,
    const struct conf_route *before, const struct key_pair *pair,
    const char *path)
{
	char *words = words_of_change(pair, path);
	if (words == NULL)
		words = words_of_place(pair, path, before, route);
	if (words == NULL)
		return;
	char *other = words_of_other(route, before);
	char *all = mem_printf(
	    "route \"%s\": %s%s %s", route->name, other, path, words);
	warning_add_said(change->complaints, change->next, route, path, all);
	free(all);
	free(other);
	free(words);
}

static void
compare_routes(const struct change *change, const struct conf_route *route,
    const struct conf_route *before)
{
	if (before->idempotency == NULL || before->observes ||
	    !takes_over(change, before, route))
		return;
	json_t *new = said_keys(route);
	json_t *old = keys_before(before, change->told, new);
	const struct key_pair pair = {
	    old, new, key_meaning_of(old), key_meaning_of(new)};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		compare_option(change, route, before, &pair, paths[i]);
	json_decref(old);
	json_decref(new);
	json_decref(pair.old_meant);
	json_decref(pair.new_meant);
}

/* The methods by which requests come, "POST, PUT"; NULL: none does. */
static char *
methods_coming(const struct change *change, const struct conf_route *before,
    const struct conf_route *route)
{
	char *all = NULL;
	for (size_t i = 0; i < before->methods.count; i++) {
		const char *method = before->methods.list[i];
		if (!comes(change, before, route, method))
			continue;
		char *longer = all == NULL ? mem_text(method)
					   : mem_printf("%s, %s", all, method);
		free(all);
		all = longer;
	}
	return all;
}

/* Requests with keys that go to a route from now on which looks at none. */
static void
look_for_lost(const struct change *change, const struct conf_route *route,
    const struct conf_route *before)
{
	if (before->idempotency == NULL || before->observes)
		return;
	char *methods = methods_coming(change, before, route);
	if (methods == NULL)
		return;
	const char *path = covers_paths_of(route, before) ? before->path
							  : route->path;
	char *pointer = mem_printf("/routes/%u", route->index);
	char *words = route->observes && !strcmp(route->name, before->name)
	    ? mem_printf("route \"%s\" only observes now: keys that exist are "
		"not looked at, and each retry is executed", route->name)
	    : mem_printf("route \"%s\": %s %s comes here, where it was of "
		"route \"%s\", and no key is looked at any more: each retry "
		"is executed", route->name, methods, path, before->name);
	warning_add(change->complaints, pointer, words);
	free(words);
	free(pointer);
	free(methods);
}

static void
look_for_changes(const struct change *change, const struct conf_route *route)
{
	bool looks = route->idempotency != NULL && !route->observes;
	for (size_t i = 0; i < change->running->n_routes; i++) {
		const struct conf_route *before = &change->running->routes[i];
		if (looks)
			compare_routes(change, route, before);
		else
			look_for_lost(change, route, before);
	}
}

static void
find_changes(const struct conf *running, const json_t *told,
    const struct conf *next, struct complaints *complaints)
{
	const struct change change = {running, next, told, complaints};
	for (size_t i = 0; i < next->n_routes; i++)
		look_for_changes(&change, &next->routes[i]);
}

void
key_changes_find(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	/* Nobody is told the hashes. */
	static const char secret[] = "none", salt[] = "none";
	json_t *sources = show_running_sources(running, secret, salt);
	find_changes(running, NULL, next, complaints);
	source_changes_find(sources, next, secret, salt, complaints);
	json_decref(sources);
}

/* --- of a gateway that runs --- */

/* Its routes, as far as requests are led to them. */
static const struct conf *
routes_told(const json_t *told, struct complaints *complaints)
{
	size_t i;
	json_t *one;
	json_t *routes = json_array();
	json_array_foreach(told, i, one)
	{
		json_t *keys = json_object_get(one, "keys");
		json_t *entity = json_object_get(keys, "entity");
		json_t *methods = json_object_get(one, "methods");
		json_t *route = json_pack("{s:O*, s:O*, s:s}", "name",
		    json_object_get(one, "name"), "path",
		    json_object_get(one, "path"), "upstream", "x");
		if (json_array_size(methods) > 0)
			json_object_set(route, "methods", methods);
		if (json_is_null(entity))
			entity = NULL;
		if (keys != NULL)
			json_object_set_new(route, "idempotency",
			    json_pack("{s:O*}", "entity", entity));
		if (json_is_true(json_object_get(one, "observes")))
			json_object_set_new(
			    route, "mode", json_string("observe"));
		if (json_equal(json_object_get(one, "name"),
			json_object_get(one, "path")))
			json_object_del(route, "name");
		json_array_append_new(routes, route);
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

/* True where the gateway tells of entities: an older one does not. */
static bool
tells_entities(const json_t *routes)
{
	size_t i;
	json_t *one;
	json_array_foreach(routes, i, one)
	{
		const json_t *keys = json_object_get(one, "keys");
		if (keys != NULL && json_object_get(keys, "entity") == NULL)
			return false;
	}
	return true;
}

/* NULL: it has another secret, with which no hash is the same. */
static const char *
salt_of(const json_t *store, const struct conf *next)
{
	const char *salt = json_string_value(json_object_get(store, "salt"));
	if (salt == NULL)
		return NULL;
	json_t *secret = show_running_secret(next->store.secret, salt);
	bool same = json_equal(json_object_get(store, "secret"), secret);
	json_decref(secret);
	return same ? salt : NULL;
}

bool
key_changes_told(const json_t *told, const struct conf *next,
    struct complaints *complaints, struct complaints *wrong)
{
	const json_t *routes = json_object_get(told, "routes");
	const struct conf *running = routes_told(routes, wrong);
	if (running == NULL)
		return false;
	const json_t *store = json_object_get(told, "store");
	if (json_is_array(json_object_get(store, "cluster")) &&
	    tells_entities(routes))
		(void)conf_restart_finds_there(running, next, complaints);
	find_changes(running, routes, next, complaints);
	source_changes_find(json_object_get(told, "sources"), next,
	    next->store.secret, salt_of(store, next), complaints);
	key_changes_of_store_told(store, next, complaints);
	conf_unref(&running);
	return true;
}
