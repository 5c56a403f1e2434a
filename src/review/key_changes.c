/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"
#include "conf/show.h"
#include "conf/show_running.h"
#include "load/conf_load.h"
#include "load/conf_restart.h"
#include "review/covers.h"
#include "review/key_changes.h"
#include "review/said.h"
#include "review/warning_private.h"

#define GONE gone
#define OTHER_REQUEST other_request
static const char gone[] =
    "keys that exist are not found any more, and their retries are executed "
    "again";
static const char other_request[] =
    "a retry of a key that exists is taken for another request, and refused "
    "(key-reused)";

/* The options, and what becomes of keys where one changes. */
static const struct {
	const char *path;
	const char *words;
} meaning[] = {
#define KEY_OPTION(path, what) {path, what},
#include "tbl/key_options.h"
#undef KEY_OPTION
};

/* --- routes --- */

/* The idempotent route that had what this one will have; NULL: none. */
static const struct conf_route *
route_before(const struct conf *running, const struct conf_route *next)
{
	const struct conf_route *by_path = NULL;
	for (size_t i = 0; i < running->n_routes; i++) {
		const struct conf_route *route = &running->routes[i];
		if (route->idempotency == NULL ||
		    !covers_some_method_of(route, next))
			continue;
		if (!strcmp(route->name, next->name))
			return route;
		if (by_path == NULL && !strcmp(route->path, next->path))
			by_path = route;
	}
	return by_path;
}

static void
add_warning(struct complaints *complaints, const char *pointer, char *words)
{
	complaints_add(complaints, pointer, "%s", words);
	complaints->list[complaints->count - 1].warning = true;
	free(words);
}

static char *
value_text(json_t *value)
{
	return value != NULL
	    ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT)
	    : mem_str(SPAN("nothing"));
}

/* What does not name a record: how a token is believed. */
static void
leave_out_trust(json_t *scope)
{
	size_t i;
	json_t *one;
	json_array_foreach(scope, i, one)
	{
		json_object_del(one, "keys");
		json_object_del(one, "issuer");
		json_object_del(one, "audience");
	}
}

/* Of a value, or of a list of such. */
static bool
has_value(const json_t *all, const json_t *one)
{
	size_t i;
	const json_t *other;
	json_array_foreach(all, i, other)
		if (json_equal(one, other))
			return true;
	return json_equal(all, one);
}

/* Whether whatever had a key before has it still. */
static bool
keeps_all(const json_t *old, const json_t *new)
{
	size_t i;
	const json_t *one;
	json_array_foreach(old, i, one)
		if (!has_value(new, one))
			return false;
	return json_is_array(old) || has_value(new, old);
}

static bool
means_the_same(const char *path, json_t *old, json_t *new)
{
	if (!strcmp(path, "scope")) {
		leave_out_trust(old);
		leave_out_trust(new);
	}
	return old == new || json_equal(old, new) ||
	    (!strcmp(path, "header") && keeps_all(old, new));
}

/* The value of a route before; told: of each, as show_running() tells it. */
static json_t *
value_before(
    const struct conf_route *before, const json_t *told, const char *path)
{
	if (told == NULL)
		return said_value(before, path);
	json_t *keys =
	    json_object_get(json_array_get(told, before->index), "keys");
	json_t *value = json_object_get(keys, path);
	return value == NULL || json_is_null(value) ? NULL
						    : json_deep_copy(value);
}

static void
compare_option(struct complaints *complaints, const struct conf *next,
    const struct conf_route *route, const struct conf_route *before,
    const json_t *told, size_t i)
{
	json_t *old = value_before(before, told, meaning[i].path);
	json_t *new = said_value(route, meaning[i].path);
	if (!means_the_same(meaning[i].path, old, new)) {
		char *pointer = said_pointer(next, route, meaning[i].path);
		char *from = value_text(old);
		char *to = value_text(new);
		add_warning(complaints, pointer,
		    mem_printf("route \"%s\": %s changes from %s to %s: %s",
			route->name, meaning[i].path, from, to,
			meaning[i].words));
		free(pointer);
		free(from);
		free(to);
	}
	json_decref(old);
	json_decref(new);
}

/* The route that serves such requests of another configuration; or NULL. */
static const struct conf_route *
route_after(const struct conf *next, const struct conf_route *before,
    const char *method)
{
	for (size_t i = 0; i < next->n_routes; i++)
		if (covers_method(&next->routes[i], method) &&
		    covers_paths_of(&next->routes[i], before))
			return &next->routes[i];
	return NULL;
}

/* Requests with keys that go to a route from now on which looks at none. */
static void
look_for_lost(struct complaints *complaints, const struct conf *next,
    const struct conf_route *before, const char *method)
{
	const struct conf_route *route = route_after(next, before, method);
	if (route == NULL || (route->idempotency != NULL && !route->observes))
		return;
	char *pointer = mem_printf("/routes/%u", route->index);
	/* Of the same route all methods are said at once. */
	char *words = route->observes && !strcmp(route->name, before->name)
	    ? mem_printf("route \"%s\" only observes now: keys that exist are "
		"not looked at, and each retry is executed", route->name)
	    : mem_printf("route \"%s\": %s %s comes here, where it was of "
		"route \"%s\", and no key is looked at any more: each retry "
		"is executed", route->name, method, before->path, before->name);
	warning_add(complaints, pointer, words);
	free(words);
	free(pointer);
}

static void
find_changes(const struct conf *running, const json_t *told,
    const struct conf *next, struct complaints *complaints)
{
	for (size_t i = 0; i < running->n_routes; i++) {
		const struct conf_route *before = &running->routes[i];
		if (before->idempotency == NULL || before->observes)
			continue;
		for (size_t m = 0; m < before->methods.count; m++)
			look_for_lost(complaints, next, before,
			    before->methods.list[m]);
		if (before->methods.count == 0)
			look_for_lost(complaints, next, before, "POST");
	}
	for (size_t i = 0; i < next->n_routes; i++) {
		const struct conf_route *route = &next->routes[i];
		const struct conf_route *before = route_before(running, route);
		if (before == NULL || route->idempotency == NULL)
			continue;
		for (size_t m = 0; m < sizeof meaning / sizeof meaning[0]; m++)
			compare_option(
			    complaints, next, route, before, told, m);
	}
}

void
key_changes_find(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	find_changes(running, NULL, next, complaints);
}

/* --- the store --- */

static void
warn_of_store(struct complaints *complaints, const char *name)
{
	char *pointer = mem_printf("/store/%s", name);
	add_warning(complaints, pointer,
	    mem_printf("a reload does not change this; after a restart, %s",
		gone));
	free(pointer);
}

static void
warn_of_state_dir(struct complaints *complaints)
{
	add_warning(complaints, "/state_dir",
	    mem_printf("the private Redis is there; a reload does not change "
		"this; after a restart, %s", gone));
}

/* A member's text; empty: it has none. */
static const char *
text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text != NULL ? text : "";
}

void
key_changes_of_store(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	static const char *const names[] = {
#define STORE_OPTION(name) name,
#include "tbl/key_options.h"
#undef STORE_OPTION
	    "secret"};
	if (running->store.redis.managed && next->store.redis.managed &&
	    strcmp(running->state_dir, next->state_dir) != 0)
		warn_of_state_dir(complaints);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const struct option *option =
		    option_find(GROUP_ROOT, SPAN("store."), names[i]);
		must(option != NULL);
		size_t at = (size_t)(option - options) * DIGEST_BYTES;
		if (!memcmp(running->fixed + at, next->fixed + at,
			DIGEST_BYTES))
			continue;
		warn_of_store(complaints, names[i]);
	}
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
		if (!strcmp(text_of(one, "name"), text_of(one, "path")))
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

static void
compare_store(const json_t *told, const struct conf *next,
    struct complaints *complaints)
{
	static const char *const names[] = {
#define STORE_OPTION(name) name,
#include "tbl/key_options.h"
#undef STORE_OPTION
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_t *value = show_option(
		    option_find(GROUP_ROOT, SPAN("store."), names[i]), next);
		json_t *old = json_object_get(told, names[i]);
		if (value == NULL)
			value = json_null();
		if (!json_equal(old, value))
			warn_of_store(complaints, names[i]);
		json_decref(value);
	}
	json_t *secret =
	    show_running_secret(next->store.secret, text_of(told, "salt"));
	if (!json_equal(json_object_get(told, "secret"), secret))
		warn_of_store(complaints, "secret");
	json_decref(secret);
	if (json_object_get(told, "state_dir") != NULL &&
	    next->store.redis.managed &&
	    strcmp(text_of(told, "state_dir"), next->state_dir) != 0)
		warn_of_state_dir(complaints);
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
	compare_store(store, next, complaints);
	conf_unref(&running);
	return true;
}
