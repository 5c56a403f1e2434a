/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "conf/load/conf_restart.h"
#include "conf/review/covers.h"
#include "conf/review/key_changes.h"
#include "conf/review/source_changes.h"
#include "conf/review/warning_private.h"
#include "conf/show.h"
#include "conf/show_running.h"

/* The options, as tbl/key_options.h has them. */
enum loss { GONE, OTHER_REQUEST };
static const struct key_option {
	const char *path;
	enum loss loss;
} key_options[] = {
#define KEY_OPTION(path, what) {path, what},
#include "tbl/key_options.h"
#undef KEY_OPTION
};
enum { N_KEY_OPTIONS = sizeof key_options / sizeof *key_options };

/* --- what the options of a route come to --- */

/* Names of fields are written in any case (RFC 9110, section 5.1). */
static json_t *
lower_name(const json_t *name)
{
	char *text = mem_text(json_string_value(name));
	for (char *p = text; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	json_t *lower = json_string(text);
	free(text);
	return lower;
}

/* Of a name, or a list of such: an object of which each member is true. */
static json_t *
set_of(const json_t *names)
{
	json_t *set = json_object();
	size_t count = json_is_array(names) ? json_array_size(names) : 1;
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_is_array(names)
		    ? json_array_get(names, i)
		    : names;
		json_t *lower = json_is_string(one) ? lower_name(one) : NULL;
		if (lower != NULL)
			json_object_set_new(
			    set, json_string_value(lower), json_true());
		json_decref(lower);
	}
	return set;
}

/* A key belongs to all of it, in its order; not to how a token is believed. */
static json_t *
scope_of(const json_t *scope)
{
	size_t i;
	json_t *one;
	json_t *list = json_array();
	json_array_foreach(scope, i, one)
	{
		json_t *copy = json_is_string(one) ? lower_name(one)
						   : json_deep_copy(one);
		json_object_del(copy, "keys");
		json_object_del(copy, "issuer");
		json_object_del(copy, "audience");
		json_array_append_new(list, copy);
	}
	return list;
}

/* Whether that member, or (below) only what it is in, is in the set. */
static bool
is_in(const json_t *set, const char *pointer, bool below)
{
	char *above = mem_text(pointer);
	bool in = !below && json_object_get(set, above) != NULL;
	for (char *slash; !in && (slash = strrchr(above, '/')) != NULL;) {
		*slash = '\0';
		in = json_object_get(set, above) != NULL;
	}
	free(above);
	return in;
}

/* {"members": a set, "query": a set}; what is in another one goes with it. */
static json_t *
ignored_of(const json_t *ignore)
{
	size_t i;
	const char *name;
	json_t *one;
	void *next;
	json_t *members = json_object(), *query = json_object();
	json_array_foreach(ignore, i, one)
		json_object_set_new(json_is_string(one) ? members : query,
		    json_string_value(json_is_string(one)
			    ? one
			    : json_object_get(one, "query")),
		    json_true());
	json_object_foreach_safe(members, next, name, one)
		if (is_in(members, name, true))
			json_object_del(members, name);
	return json_pack("{s:o, s:o}", "members", members, "query", query);
}

/* How many a set or a list of the meaning has; path, then one of its own. */
static size_t
count_of(const json_t *meant, const char *path, const char *own)
{
	const json_t *value = json_object_get(meant, path);
	if (own != NULL)
		value = json_object_get(value, own);
	return json_is_array(value) ? json_array_size(value)
	    : json_is_true(value)   ? 1
				    : json_object_size(value);
}

/*
 * Of options by their path (conf/show_running.h): what is written in another
 * way, or is made void by another option, comes to the same.
 */
static json_t *
meaning_of(const json_t *keys)
{
	static const char include[] = "fingerprint.include";
	json_t *meant = json_deep_copy(keys);
	json_t *ignored =
	    ignored_of(json_object_get(keys, "fingerprint.ignore"));
	json_object_set_new(
	    meant, "scope", scope_of(json_object_get(keys, "scope")));
	json_object_set_new(
	    meant, "header", set_of(json_object_get(keys, "header")));
	json_object_set_new(
	    meant, include, set_of(json_object_get(keys, include)));
	json_object_set_new(meant, "fingerprint.ignore", ignored);
	bool body = count_of(meant, include, "body") > 0;
	if (count_of(meant, include, "query") == 0)
		json_object_set_new(ignored, "query", json_object());
	if (!body) {
		json_object_set_new(meant, "fingerprint.json", json_false());
		json_object_set_new(meant, "fingerprint.only", json_array());
	}
	if (!body || count_of(meant, "fingerprint.only", NULL) > 0)
		json_object_set_new(ignored, "members", json_object());
	/* As key/fingerprint.c does it: the rest says what is changed. */
	bool says = body && count_of(meant, include, "path") > 0 &&
	    json_object_size(json_object_get(ignored, "members")) == 0 &&
	    count_of(meant, "fingerprint.only", NULL) == 0;
	if (says)
		json_object_set_new(meant, "entity", json_null());
	if (says || json_is_null(json_object_get(meant, "entity")))
		json_object_set_new(meant, "newer_only", json_null());
	return meant;
}

/* --- two of them --- */

/* A route's options before and now, and what they come to. */
struct key_pair {
	json_t *old, *new;
	json_t *old_meant, *new_meant;
};

/* Whether what has keys is another, or more than what had them. */
static bool
differs(const struct key_pair *pair, const char *path)
{
	const char *name;
	json_t *one;
	json_t *old = json_object_get(pair->old_meant, path);
	json_t *new = json_object_get(pair->new_meant, path);
	/* Of what a gateway of another version does not tell. */
	if (json_object_get(pair->old, path) == NULL)
		return false;
	if (strcmp(path, "header") != 0)
		return !json_equal(old, new);
	json_object_foreach(old, name, one)
		if (json_object_get(new, name) == NULL)
			return true;
	return false;
}

/* Whether something counts no more that did. */
static bool
ignores_more(const struct key_pair *pair, const char *kind)
{
	const char *name;
	json_t *one;
	const json_t *old = json_object_get(
	    json_object_get(pair->old_meant, "fingerprint.ignore"), kind);
	json_t *new = json_object_get(
	    json_object_get(pair->new_meant, "fingerprint.ignore"), kind);
	json_object_foreach(new, name, one)
		if (!is_in(old, name, false))
			return true;
	return false;
}

/*
 * Whether a request that was none is taken for a retry, where that is not
 * prevented by a fingerprint that no request had before.
 */
static bool
replays_more(const struct key_pair *pair)
{
	static const char include[] = "fingerprint.include";
	static const char *const parts[] = {"method", "path", "body"};
	const json_t *old = pair->old_meant, *new = pair->new_meant;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (count_of(old, include, parts[i]) !=
		    count_of(new, include, parts[i]))
			return false;
	/* A query's parts are compared one by one where some do not count. */
	if (differs(pair, "fingerprint.headers") || differs(pair, "entity") ||
	    differs(pair, "newer_only") ||
	    (count_of(old, "fingerprint.ignore", "query") > 0) !=
		(count_of(new, "fingerprint.ignore", "query") > 0))
		return false;
	return count_of(old, include, "query") >
	    count_of(new, include, "query") ||
	    ignores_more(pair, "query") ||
	    (!differs(pair, "fingerprint.json") &&
		!differs(pair, "fingerprint.only") &&
		ignores_more(pair, "members"));
}

static const char *
words_of_loss(const struct key_pair *pair, enum loss loss)
{
	if (loss == GONE)
		return "keys that exist are not found any more, and their "
		       "retries are executed again";
	return replays_more(pair)
	    ? "a retry of a key that exists, where that makes a difference, is "
	      "taken for another request, and refused (key-reused); a request "
	      "that differs from the first in that alone, and was refused so "
	      "far, is taken for its retry"
	    : "a retry of a key that exists, where that makes a difference, is "
	      "taken for another request, and refused (key-reused)";
}

static char *
text_at(json_t *keys, const char *path)
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
    const struct key_option *option)
{
	const char *path = option->path;
	const struct looked_at at = {change->next, route, change->complaints};
	const char *loss = words_of_loss(pair, option->loss);
	/* JSON follows from the others. */
	bool follows = !strcmp(path, "fingerprint.json") &&
	    (differs(pair, "fingerprint.ignore") ||
		differs(pair, "fingerprint.only"));
	char *from = text_at(pair->old, path);
	char *to = text_at(pair->new, path);
	char *meant = text_at(pair->new_meant, path);
	char *other = strcmp(route->name, before->name) != 0
	    ? mem_printf("what was of route \"%s\" comes here, and ",
		before->name)
	    : mem_text("");
	if (differs(pair, path) && !follows)
		warning_of(&at, path,
		    "route \"%s\": %s%s changes from %s to %s: %s",
		    route->name, other, path, from, to, loss);
	else if (names_elsewhere(before, route, meant))
		warning_of(&at, path, "route \"%s\": %s%s %s stands elsewhere "
		    "in the path: %s", route->name, other, path, meant, loss);
	free(from);
	free(to);
	free(meant);
	free(other);
}

/* The options of a route, each by its path. */
static json_t *
keys_of(const struct conf_route *route)
{
	json_t *keys = json_object();
	for (size_t i = 0; i < N_KEY_OPTIONS; i++) {
		json_t *value = show_option(
		    option_of_path(GROUP_IDEMPOTENCY, key_options[i].path),
		    route->idempotency);
		json_object_set_new(keys, key_options[i].path,
		    value != NULL ? value : json_null());
	}
	return keys;
}

/* Requests with keys that go to a route from now on which looks at none. */
static void
say_lost(const struct change *change, const struct conf_route *route,
    const struct conf_route *before, const char *methods)
{
	char *pointer = mem_printf("/routes/%u", route->index);
	if (route->observes && !strcmp(route->name, before->name))
		warning_add(change->complaints, pointer, "route \"%s\" only "
		    "observes now: keys that exist are not looked at, and each "
		    "retry is executed", route->name);
	else
		warning_add(change->complaints, pointer, "route \"%s\": %s %s "
		    "comes here, where it was of route \"%s\", and no key is "
		    "looked at any more: each retry is executed", route->name,
		    methods, covers_paths_of(route, before) ? before->path
							    : route->path,
		    before->name);
}

/* Of a route that takes over what another one had, by some of its methods. */
static void
compare_routes(const struct change *change, const struct conf_route *route,
    const struct conf_route *before)
{
	char *methods = NULL; /* "POST, PUT"; one that has keys names them */
	for (size_t i = 0; i < before->methods.count; i++) {
		const char *method = before->methods.list[i];
		if (!covers_same(
			change->running, before, change->next, route, method))
			continue;
		char *longer = methods == NULL
		    ? mem_text(method)
		    : mem_printf("%s, %s", methods, method);
		free(methods);
		methods = longer;
	}
	if (methods != NULL &&
	    (route->idempotency == NULL || route->observes)) {
		say_lost(change, route, before, methods);
	} else if (methods != NULL) {
		json_t *old = json_object_get(
		    json_array_get(change->told, before->index), "keys");
		json_t *new = keys_of(route);
		const struct key_pair pair = {
		    old, new, meaning_of(old), meaning_of(new)};
		for (size_t i = 0; i < N_KEY_OPTIONS; i++)
			compare_option(
			    change, route, before, &pair, &key_options[i]);
		json_decref(new);
		json_decref(pair.old_meant);
		json_decref(pair.new_meant);
	}
	free(methods);
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

void
key_changes_find(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	/* Nobody is told the hashes. */
	static const char secret[] = "none", salt[] = "none";
	json_t *told = show_running(running, running);
	json_t *sources = show_running_sources(running, secret, salt);
	find_changes(running, json_object_get(told, "routes"), next,
	    complaints);
	source_changes_find(sources, next, secret, salt, complaints);
	json_decref(sources);
	json_decref(told);
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

void
key_changes_of_store(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	json_t *told = show_running(running, running);
	compare_stores(json_object_get(told, "store"), next, complaints);
	json_decref(told);
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
