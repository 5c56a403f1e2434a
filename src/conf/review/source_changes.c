/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/review/source_changes.h"
#include "conf/review/warning_private.h"
#include "conf/show_running.h"

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

/* About a member of a source, by its path, of which it is told what was. */
#define SAY_IF(member, when, words, ...)                                    \
	if (when)                                                           \
		warning_add(complaints,                                     \
		    mem_printf("/sources/%s/%s", name, member),             \
		    "source \"%s\": " words, name, __VA_ARGS__);

static void
compare_members(const json_t *before, const json_t *after,
    struct complaints *complaints)
{
	const char *name = text_of(after, "name");
	const json_t *old = json_object_get(before, "key");
	const json_t *new = json_object_get(after, "key");
	const char *path = text_of(before, "path");
	const char *next_path = text_of(after, "path");
	const char *broker = text_of(before, "broker");
	const char *next_broker = text_of(after, "broker");
	char *from = json_dumps(old, JSON_ENCODE_ANY | JSON_COMPACT);
	char *to = json_dumps(new, JSON_ENCODE_ANY | JSON_COMPACT);
#define WARN_SOURCE SAY_IF
#include "tbl/warnings.h"
#undef WARN_SOURCE
	free(from);
	free(to);
}

/* What makes the body of a request, or its method. */
static void
compare_made(const json_t *before, const json_t *after,
    struct complaints *complaints)
{
	const char *path, *name = text_of(after, "name");
	json_t *value;
	json_t *made = json_object_get(before, "made");
	json_object_foreach(made, path, value)
	{
		char *member = mem_text(path);
		for (char *p = member; *p != '\0'; p++)
			if (*p == '.')
				*p = '/';
		SAY_IF(member,
		    !json_equal(value, json_object_get(
			json_object_get(after, "made"), path)),
		    "%s changes: a message that comes again is taken for "
		    "another one (mismatch) where the route compares that",
		    path);
		free(member);
	}
}

/* One header of the requests; its value may be a secret, and is not said. */
static void
compare_header(const char *name, const json_t *before, const json_t *after,
    struct complaints *complaints)
{
	const char *header = text_of(after, "header");
	const char *use = text_of(after, "use");
	const char *route = text_of(after, "route");
	const char *what = text_of(after, "name");
	if (strcmp(text_of(before, "use"), use) != 0 ||
	    !json_equal(json_object_get(before, "name"),
		json_object_get(after, "name")) ||
	    json_equal(json_object_get(before, "hash"),
		json_object_get(after, "hash")))
		return;
	bool scope = !strcmp(use, "scope");
	char *member = mem_printf(
	    "request/headers%s%s", *header != '\0' ? "/" : "", header);
#define WARN_SOURCE_HEADER SAY_IF
#include "tbl/warnings.h"
#undef WARN_SOURCE_HEADER
	free(member);
}

static void
compare_sources(const json_t *before, const json_t *after, bool hashes,
    struct complaints *complaints)
{
	size_t i, k;
	const json_t *old, *new;
	compare_members(before, after, complaints);
	compare_made(before, after, complaints);
	if (!hashes)
		return;
	json_array_foreach(json_object_get(after, "names"), i, new)
		json_array_foreach(json_object_get(before, "names"), k, old)
			compare_header(text_of(after, "name"), old, new,
			    complaints);
}

void
source_changes_find(const json_t *before, const struct conf *next,
    const char *secret, const char *salt, struct complaints *complaints)
{
	size_t i, k;
	const json_t *one, *former;
	json_t *all =
	    show_running_sources(next, secret, salt != NULL ? salt : "");
	json_array_foreach(all, i, one)
	{
		const char *name = text_of(one, "name");
		const json_t *same = source_of(before, name);
		if (same != NULL) {
			compare_sources(same, one, salt != NULL, complaints);
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
