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
#include "review/source_changes.h"
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

/* Names of fields are written in any case (RFC 9110, section 5.1). */
static bool
same_field(const json_t *a, const json_t *b)
{
	return json_is_string(a) && json_is_string(b) &&
	    !strcasecmp(json_string_value(a), json_string_value(b));
}

/* Of a value, or of a list of such. */
static bool
has_value(const json_t *all, const json_t *one)
{
	size_t i;
	const json_t *other;
	json_array_foreach(all, i, other)
		if (json_equal(one, other) || same_field(one, other))
			return true;
	return json_equal(all, one) || same_field(all, one);
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
	bool names_fields =
	    !strcmp(path, "scope") || !strcmp(path, "fingerprint.headers");
	return old == new || json_equal(old, new) ||
	    (!strcmp(path, "header") && keeps_all(old, new)) ||
	    (names_fields && json_array_size(old) == json_array_size(new) &&
		keeps_all(old, new) && keeps_all(new, old));
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

/* NULL: it means what it did. */
static char *
words_of_change(const char *path, const struct conf_route *before,
    const struct conf_route *route, json_t *old, json_t *new)
{
	char *from = value_text(old);
	char *to = value_text(new);
	char *words = !means_the_same(path, old, new)
	    ? mem_printf("changes from %s to %s", from, to)
	    : names_elsewhere(before, route, to)
	    ? mem_printf("%s stands elsewhere in the path", to)
	    : NULL;
	free(from);
	free(to);
	return words;
}

static void
compare_option(const struct change *change, const struct conf_route *route,
    const struct conf_route *before, size_t i)
{
	json_t *old = value_before(before, change->told, meaning[i].path);
	json_t *new = said_value(route, meaning[i].path);
	char *words =
	    words_of_change(meaning[i].path, before, route, old, new);
	if (words != NULL) {
		char *pointer =
		    said_pointer(change->next, route, meaning[i].path);
		char *other = words_of_other(route, before);
		add_warning(change->complaints, pointer,
		    mem_printf("route \"%s\": %s%s %s: %s", route->name, other,
			meaning[i].path, words, meaning[i].words));
		free(pointer);
		free(other);
	}
	free(words);
	json_decref(old);
	json_decref(new);
}

static void
compare_routes(const struct change *change, const struct conf_route *route,
    const struct conf_route *before)
{
	if (before->idempotency == NULL || before->observes ||
	    !takes_over(change, before, route))
		return;
	for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++)
		compare_option(change, route, before, i);
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
	json_t *sources = show_running_sources(running);
	find_changes(running, NULL, next, complaints);
	source_changes_find(sources, next, complaints);
	json_decref(sources);
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
	source_changes_find(
	    json_object_get(told, "sources"), next, complaints);
	compare_store(store, next, complaints);
	conf_unref(&running);
	return true;
}
