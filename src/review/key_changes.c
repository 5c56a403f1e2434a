/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"
#include "review/covers.h"
#include "review/key_changes.h"
#include "review/said.h"

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
    {"namespace", gone},
    {"scope", gone},
    {"header", gone},
    {"derive_key", gone},
    {"fingerprint.include", other_request},
    {"fingerprint.headers", other_request},
    {"fingerprint.json", other_request},
    {"fingerprint.ignore", other_request},
    {"fingerprint.only", other_request},
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

static void
compare_option(struct complaints *complaints, const struct conf *next,
    const struct conf_route *route, const struct conf_route *before, size_t i)
{
	json_t *old = said_value(before, meaning[i].path);
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
	add_warning(complaints, pointer,
	    mem_printf("route \"%s\": %s %s comes here, where it was of route "
		"\"%s\", and no key is looked at any more: each retry is "
		"executed", route->name, method, before->path, before->name));
	free(pointer);
}

void
key_changes_find(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
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
			compare_option(complaints, next, route, before, m);
	}
}

/* --- the store --- */

void
key_changes_of_store(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	static const char *const names[] = {"redis", "cluster", "sentinels",
	    "master", "prefix", "shards", "secret"};
	if (running->store.redis.managed && next->store.redis.managed &&
	    strcmp(running->state_dir, next->state_dir) != 0)
		add_warning(complaints, "/state_dir",
		    mem_printf("the private Redis is there; a reload does not "
			"change this; after a restart, %s", gone));
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const struct option *option =
		    option_find(GROUP_ROOT, SPAN("store."), names[i]);
		must(option != NULL);
		size_t at = (size_t)(option - options) * DIGEST_BYTES;
		if (!memcmp(running->fixed + at, next->fixed + at,
			DIGEST_BYTES))
			continue;
		char *pointer = mem_printf("/store/%s", names[i]);
		add_warning(complaints, pointer,
		    mem_printf("a reload does not change this; after a "
			"restart, %s", gone));
		free(pointer);
	}
}
