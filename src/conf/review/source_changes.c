/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/review/source_changes.h"
#include "conf/review/warning_private.h"
#include "conf/show_running.h"

/* What is told of one source before, and now (conf/show_running.h). */
struct told {
	const char *name;
	const json_t *before, *after;
	struct complaints *complaints;
};

static const char *
text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text != NULL ? text : "";
}

static const json_t *
source_of(const json_t *sources, const char *name)
{
	size_t i;
	const json_t *one;
	json_array_foreach(sources, i, one)
		if (!strcmp(text_of(one, "name"), name))
			return one;
	return NULL;
}

static char *
pointer_to(const struct told *told, const char *path)
{
	char *pointer = mem_printf("/sources/%s/%s", told->name, path);
	for (char *p = pointer; *p != '\0'; p++)
		if (*p == '.')
			*p = '/';
	return pointer;
}

static void
compare_members(const struct told *told)
{
	const json_t *old = json_object_get(told->before, "key");
	const json_t *new = json_object_get(told->after, "key");
	const char *path = text_of(told->before, "path");
	const char *next_path = text_of(told->after, "path");
	const char *broker = text_of(told->before, "broker");
	const char *next_broker = text_of(told->after, "broker");
	if (!json_equal(old, new)) {
		char *from = json_dumps(old, JSON_ENCODE_ANY | JSON_COMPACT);
		char *to = json_dumps(new, JSON_ENCODE_ANY | JSON_COMPACT);
		warning_add(told->complaints, pointer_to(told, "key"),
		    "source \"%s\": key changes from %s to %s: what was "
		    "executed has another key by now, and a message that comes "
		    "again is executed again", told->name, from, to);
		free(from);
		free(to);
	}
	/* Its keys are the route's, and the path may be compared. */
	if (*path != '\0' && strcmp(path, next_path) != 0)
		warning_add(told->complaints, pointer_to(told, "request.path"),
		    "source \"%s\": request.path changes from \"%s\" to "
		    "\"%s\": a message that comes again is executed again "
		    "where the route, or what the path says of its tenant, has "
		    "other keys, and is taken for another one (mismatch) "
		    "elsewhere", told->name, path, next_path);
	/* A position has the name of its broker in it. */
	if (json_is_string(new) && strcmp(broker, next_broker) != 0)
		warning_add(told->complaints, pointer_to(told, "broker"),
		    "source \"%s\": broker changes from \"%s\" to \"%s\", "
		    "whose name is in the key of a message that has none of "
		    "its own: one that comes again is executed again",
		    told->name, broker, next_broker);
}

/* What makes the body of a request, or its method. */
static void
compare_made(const struct told *told)
{
	const char *path;
	json_t *value;
	json_t *made = json_object_get(told->before, "made");
	json_object_foreach(made, path, value)
		if (!json_equal(value,
			json_object_get(
			    json_object_get(told->after, "made"), path)))
			warning_add(told->complaints, pointer_to(told, path),
			    "source \"%s\": %s changes: a message that comes "
			    "again is taken for another one (mismatch) where "
			    "the route compares that", told->name, path);
}

/* One header of the requests; its value may be a secret, and is not said. */
static void
compare_header(const struct told *told, const json_t *before,
    const json_t *after)
{
	const char *header = text_of(after, "header");
	const char *use = text_of(after, "use");
	if (strcmp(text_of(before, "use"), use) != 0 ||
	    !json_equal(json_object_get(before, "name"),
		json_object_get(after, "name")) ||
	    json_equal(json_object_get(before, "hash"),
		json_object_get(after, "hash")))
		return;
	char *pointer = mem_printf("/sources/%s/request/headers%s%s",
	    told->name, *header != '\0' ? "/" : "", header);
	if (!strcmp(use, "scope"))
		warning_add(told->complaints, pointer, "source \"%s\": what "
		    "its headers say of the tenant of route \"%s\" changes "
		    "(scope, %s): a message that comes again has another key, "
		    "and is executed again", told->name,
		    text_of(after, "route"), text_of(after, "name"));
	else
		warning_add(told->complaints, pointer, "source \"%s\": a "
		    "header changes that route \"%s\" compares (%s, %s): a "
		    "message that comes again is taken for another one "
		    "(mismatch)", told->name, text_of(after, "route"), use,
		    text_of(after, "name"));
}

static void
compare_headers(const struct told *told)
{
	size_t i, k;
	const json_t *before, *after;
	json_array_foreach(json_object_get(told->after, "names"), i, after)
		json_array_foreach(
		    json_object_get(told->before, "names"), k, before)
			compare_header(told, before, after);
}

void
source_changes_find(const json_t *before, const struct conf *next,
    const char *secret, const char *salt, struct complaints *complaints)
{
	size_t i, k;
	const json_t *one, *former;
	json_t *all = show_running_sources(
	    next, secret, salt != NULL ? salt : "");
	json_array_foreach(all, i, one)
	{
		const char *name = text_of(one, "name");
		const struct told told = {
		    name, source_of(before, name), one, complaints};
		if (told.before != NULL) {
			compare_members(&told);
			compare_made(&told);
			if (salt != NULL)
				compare_headers(&told);
			continue;
		}
		/* Another name for what is read already. */
		json_array_foreach(before, k, former)
			if (!source_of(all, text_of(former, "name")) &&
			    json_equal(json_object_get(former, "reads"),
				json_object_get(one, "reads")))
				warning_add(complaints,
				    mem_printf("/sources/%s", name), "source "
				    "\"%s\" reads what was of source \"%s\": "
				    "whether it is paused, and what is parked "
				    "or held, is known by that name alone",
				    name, text_of(former, "name"));
	}
	json_decref(all);
}
