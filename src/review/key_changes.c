/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"
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
};

/* --- routes --- */

static bool
has_method(const struct strings *methods, const char *method)
{
	for (size_t i = 0; i < methods->count; i++)
		if (!strcmp(methods->list[i], method))
			return true;
	return methods->count == 0;
}

static bool
methods_meet(const struct strings *a, const struct strings *b)
{
	if (a->count == 0)
		return true;
	for (size_t i = 0; i < a->count; i++)
		if (has_method(b, a->list[i]))
			return true;
	return false;
}

/* The idempotent route that had what this one will have; NULL: none. */
static const struct conf_route *
route_before(const struct conf *running, const struct conf_route *next)
{
	const struct conf_route *by_path = NULL;
	for (size_t i = 0; i < running->n_routes; i++) {
		const struct conf_route *route = &running->routes[i];
		if (route->idempotency == NULL ||
		    !methods_meet(&route->methods, &next->methods))
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

static void
compare_option(struct complaints *complaints, const struct conf *next,
    const struct conf_route *route, const struct conf_route *before, size_t i)
{
	json_t *old = said_value(before, meaning[i].path);
	json_t *new = said_value(route, meaning[i].path);
	if (old != new && !json_equal(old, new)) {
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

void
key_changes_find(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	for (size_t i = 0; i < next->n_routes; i++) {
		const struct conf_route *route = &next->routes[i];
		const struct conf_route *before = route_before(running, route);
		if (before == NULL)
			continue;
		if (route->idempotency == NULL) {
			char *pointer = mem_printf("/routes/%zu", i);
			if (!strcmp(before->name, route->name))
				add_warning(complaints, pointer,
				    mem_printf("route \"%s\": it has no "
					"\"idempotency\" any more: no key is "
					"looked at, and each retry is "
					"executed", route->name));
			free(pointer);
			continue;
		}
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
