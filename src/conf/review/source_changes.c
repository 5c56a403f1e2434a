/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/review/source_changes.h"
#include "conf/review/warning_private.h"
#include "conf/show_running.h"

/* Warns of a member of that source, NULL: of the source itself. */
static void
say_of_source(struct complaints *complaints, const char *source,
    const char *member, char *words)
{
	char *pointer = mem_printf("/sources/%s%s%s", source,
	    member != NULL ? "/" : "", member != NULL ? member : "");
	warning_add(complaints, pointer, words);
	free(pointer);
	free(words);
}

static const char *
source_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text != NULL ? text : "";
}

static const json_t *
told_source(const json_t *sources, const char *name)
{
	size_t i;
	const json_t *one;
	json_array_foreach(sources, i, one)
		if (!strcmp(source_text(one, "name"), name))
			return one;
	return NULL;
}

static void
compare_key(struct complaints *complaints, const json_t *before,
    const json_t *after)
{
	const char *name = source_text(after, "name");
	const json_t *old = json_object_get(before, "key");
	const json_t *new = json_object_get(after, "key");
	if (json_equal(old, new))
		return;
	char *from = json_dumps(old, JSON_ENCODE_ANY | JSON_COMPACT);
	char *to = json_dumps(new, JSON_ENCODE_ANY | JSON_COMPACT);
	say_of_source(complaints, name, "key",
	    mem_printf("source \"%s\": key changes from %s to %s: what was "
		"executed has another key by now, and a message that comes "
		"again is executed again",
		name, from != NULL ? from : "nothing",
		to != NULL ? to : "nothing"));
	free(from);
	free(to);
}

/* It is the route's keys that a message has, and its path may be compared. */
static void
compare_path(struct complaints *complaints, const json_t *before,
    const json_t *after)
{
	const char *name = source_text(after, "name");
	const char *old = source_text(before, "path");
	const char *new = source_text(after, "path");
	if (*old == '\0' || !strcmp(old, new))
		return;
	say_of_source(complaints, name, "request/path",
	    mem_printf("source \"%s\": request.path changes from \"%s\" to "
		"\"%s\": a message that comes again is executed again where "
		"the route, or what the path says of its tenant, has other "
		"keys, and is taken for another one (mismatch) elsewhere",
		name, old, new));
}

/* An older gateway does not tell it. */
static void
compare_made(struct complaints *complaints, const json_t *before,
    const json_t *after)
{
	const char *name = source_text(after, "name"), *path;
	json_t *old = json_object_get(before, "made");
	json_t *new = json_object_get(after, "made"), *value;
	json_object_foreach(old, path, value)
	{
		if (json_equal(value, json_object_get(new, path)))
			continue;
		char *member = mem_text(path);
		for (char *p = member; *p != '\0'; p++)
			if (*p == '.')
				*p = '/';
		say_of_source(complaints, name, member,
		    mem_printf("source \"%s\": %s changes: a message that "
			"comes again is taken for another one (mismatch) "
			"where the route compares that", name, path));
		free(member);
	}
}

/* A position has the name of its broker in it. */
static void
compare_broker(struct complaints *complaints, const json_t *before,
    const json_t *after)
{
	const char *name = source_text(after, "name");
	const char *old = source_text(before, "broker");
	const char *new = source_text(after, "broker");
	if (!json_is_string(json_object_get(after, "key")) ||
	    !strcmp(old, new))
		return;
	say_of_source(complaints, name, "broker",
	    mem_printf("source \"%s\": broker changes from \"%s\" to \"%s\", "
		"whose name is in the key of a message that has none of its "
		"own: one that comes again is executed again",
		name, old, new));
}

/* What is said of the same before; NULL: nothing. */
static const json_t *
told_name(const json_t *before, const json_t *name)
{
	size_t i;
	const json_t *one;
	json_array_foreach(json_object_get(before, "names"), i, one)
		if (json_equal(json_object_get(one, "use"),
			json_object_get(name, "use")) &&
		    json_equal(json_object_get(one, "name"),
			json_object_get(name, "name")))
			return one;
	return NULL;
}

/* One header of the requests; its value may be a secret, and is not said. */
static void
say_of_header(struct complaints *complaints, const char *source,
    const json_t *name)
{
	const char *header = source_text(name, "header");
	const char *use = source_text(name, "use");
	char *member = *header != '\0'
	    ? mem_printf("request/headers/%s", header)
	    : mem_text("request/headers");
	char *words = !strcmp(use, "scope")
	    ? mem_printf("source \"%s\": what its headers say of the tenant of "
		  "route \"%s\" changes (scope, %s): a message that comes "
		  "again has another key, and is executed again",
		  source, source_text(name, "route"), source_text(name, "name"))
	    : mem_printf("source \"%s\": a header changes that route \"%s\" "
		  "compares (%s, %s): a message that comes again is taken for "
		  "another one (mismatch)",
		  source, source_text(name, "route"), use,
		  source_text(name, "name"));
	say_of_source(complaints, source, member, words);
	free(member);
}

static void
compare_headers(struct complaints *complaints, const json_t *before,
    const json_t *after)
{
	size_t i;
	const json_t *one;
	json_array_foreach(json_object_get(after, "names"), i, one)
	{
		const json_t *same = told_name(before, one);
		if (same != NULL &&
		    !json_equal(json_object_get(same, "hash"),
			json_object_get(one, "hash")))
			say_of_header(
			    complaints, source_text(after, "name"), one);
	}
}

/* Another name for what is read already. */
static void
look_for_former(struct complaints *complaints, const json_t *before,
    const json_t *all, const json_t *after)
{
	size_t i;
	const json_t *one;
	const char *name = source_text(after, "name");
	json_array_foreach(before, i, one)
		if (told_source(all, source_text(one, "name")) == NULL &&
		    json_equal(json_object_get(one, "reads"),
			json_object_get(after, "reads")))
			say_of_source(complaints, name, NULL,
			    mem_printf("source \"%s\" reads what was of source "
				"\"%s\": whether it is paused, and what is "
				"parked or held, is known by that name alone",
				name, source_text(one, "name")));
}

void
source_changes_find(const json_t *before, const struct conf *next,
    const char *secret, const char *salt, struct complaints *complaints)
{
	size_t i;
	json_t *one;
	json_t *all = show_running_sources(
	    next, secret, salt != NULL ? salt : "");
	json_array_foreach(all, i, one)
	{
		const json_t *same =
		    told_source(before, source_text(one, "name"));
		if (same == NULL) {
			look_for_former(complaints, before, all, one);
			continue;
		}
		compare_key(complaints, same, one);
		compare_path(complaints, same, one);
		compare_made(complaints, same, one);
		compare_broker(complaints, same, one);
		if (salt != NULL)
			compare_headers(complaints, same, one);
	}
	json_decref(all);
}
