/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/review/fingerprint_changes_private.h"

static bool
differs_in(const json_t *old, const json_t *new, const char *path)
{
	return !json_equal(
	    json_object_get(old, path), json_object_get(new, path));
}

static json_t *
ignored_by(const json_t *meant, const char *kind)
{
	return json_object_get(
	    json_object_get(meant, "fingerprint.ignore"), kind);
}

/* A query's parts are compared one by one where some do not count. */
static bool
splits_query(const json_t *meant)
{
	return json_object_size(ignored_by(meant, "query")) > 0;
}

static bool
has_part(const json_t *meant, const char *part)
{
	return json_object_get(
		   json_object_get(meant, "fingerprint.include"), part) != NULL;
}

static bool
differs_in_part(const json_t *old, const json_t *new, const char *part)
{
	return has_part(old, part) != has_part(new, part);
}

/* Whether no request has the fingerprint that it had. */
static bool
refuses_all(const json_t *old, const json_t *new)
{
	return differs_in_part(old, new, "method") ||
	    differs_in_part(old, new, "path") ||
	    differs_in_part(old, new, "body") ||
	    differs_in(old, new, "fingerprint.headers") ||
	    differs_in(old, new, "entity") ||
	    differs_in(old, new, "newer_only") ||
	    splits_query(old) != splits_query(new);
}

/* Whether no body of JSON has the fingerprint that it had. */
static bool
refuses_json(const json_t *old, const json_t *new)
{
	return differs_in(old, new, "fingerprint.json") ||
	    differs_in(old, new, "fingerprint.only");
}

/* Whether that member, or what it is in, is in the set. */
static bool
is_in_set(const json_t *set, const char *pointer)
{
	char *above = mem_text(pointer);
	bool in = json_object_get(set, above) != NULL;
	for (char *slash; !in && (slash = strrchr(above, '/')) != NULL;) {
		*slash = '\0';
		in = json_object_get(set, above) != NULL;
	}
	free(above);
	return in;
}

/* Whether something counts no more that did. */
static bool
ignores_more(const json_t *old, const json_t *new, const char *kind)
{
	const char *name;
	json_t *one;
	json_t *set = ignored_by(new, kind);
	json_object_foreach(set, name, one)
		if (!is_in_set(ignored_by(old, kind), name))
			return true;
	return false;
}

/* Which retries are refused, and whether others are not any more. */
static char *
words_of_retries(const char *which, bool others)
{
	return mem_printf("a retry of a key that exists%s is taken for another "
	    "request, and refused (key-reused)%s", which, others
	    ? "; a request that has one where the first had none, and was "
	      "refused so far, is taken for its retry"
	    : "");
}

static char *
words_of_ignored(const json_t *old, const json_t *new)
{
	bool json = refuses_json(old, new);
	bool others = ignores_more(old, new, "query") ||
	    (!json && ignores_more(old, new, "members"));
	return words_of_retries(
	    json ? ", if its body is JSON," : ", if it has one of these,",
	    others);
}

char *
fingerprint_changes_words(
    const json_t *old, const json_t *new, const char *path)
{
	bool ignored = differs_in(old, new, "fingerprint.ignore");
	if (!differs_in(old, new, path))
		return NULL;
	if (refuses_all(old, new))
		return words_of_retries("", false);
	if (!strcmp(path, "fingerprint.include"))
		return words_of_retries(
		    ", if it has a query,", has_part(old, "query"));
	if (!strcmp(path, "fingerprint.ignore"))
		return words_of_ignored(old, new);
	/* JSON follows from the others. */
	if (!strcmp(path, "fingerprint.json") &&
	    (ignored || differs_in(old, new, "fingerprint.only")))
		return NULL;
	return words_of_retries(", if its body is JSON,", false);
}
