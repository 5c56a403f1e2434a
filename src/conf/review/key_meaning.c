/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/review/fingerprint_changes_private.h"
#include "conf/review/key_meaning_private.h"

/* --- names --- */

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

static void
put_in_set(json_t *set, const char *name)
{
	json_object_set_new(set, name, json_true());
}

/* A name, or a list of such. */
static json_t *
set_of_names(const json_t *names)
{
	size_t i;
	json_t *one;
	json_t *set = json_object();
	if (json_is_string(names)) {
		json_t *lower = lower_name(names);
		put_in_set(set, json_string_value(lower));
		json_decref(lower);
	}
	json_array_foreach(names, i, one)
	{
		json_t *others = set_of_names(one);
		json_object_update(set, others);
		json_decref(others);
	}
	return set;
}

/* A key belongs to all of it, in its order; not to how a token is believed. */
static json_t *
scope_meant(const json_t *scope)
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

/* --- what is compared --- */

static json_t *
set_of_parts(const json_t *include)
{
	size_t i;
	const json_t *one;
	json_t *set = json_object();
	json_array_foreach(include, i, one)
		put_in_set(set, json_string_value(one));
	return set;
}

static bool
is_below(const char *pointer, const char *other)
{
	size_t len = strlen(other);
	return !strncmp(pointer, other, len) && pointer[len] == '/';
}

/* What is below another one is left out with that. */
static bool
is_left_out(const json_t *ignore, const char *pointer)
{
	size_t i;
	const json_t *one;
	json_array_foreach(ignore, i, one)
		if (json_is_string(one) &&
		    is_below(pointer, json_string_value(one)))
			return true;
	return false;
}

static json_t *
set_of_members(const json_t *ignore)
{
	size_t i;
	const json_t *one;
	json_t *set = json_object();
	json_array_foreach(ignore, i, one)
		if (json_is_string(one) &&
		    !is_left_out(ignore, json_string_value(one)))
			put_in_set(set, json_string_value(one));
	return set;
}

static json_t *
set_of_parameters(const json_t *ignore)
{
	size_t i;
	const json_t *one;
	json_t *set = json_object();
	json_array_foreach(ignore, i, one)
		if (json_is_object(one))
			put_in_set(set,
			    json_string_value(json_object_get(one, "query")));
	return set;
}

static void
set_meant(json_t *meant, const char *path, json_t *value)
{
	json_object_set_new(meant, path, value);
}

/* Of a body only some members count, or it does not. */
static void
reduce_body(json_t *meant)
{
	json_t *parts = json_object_get(meant, "fingerprint.include");
	json_t *ignore = json_object_get(meant, "fingerprint.ignore");
	if (json_object_get(parts, "query") == NULL)
		set_meant(ignore, "query", json_object());
	if (json_object_get(parts, "body") == NULL) {
		set_meant(meant, "fingerprint.json", json_false());
		set_meant(meant, "fingerprint.only", json_array());
		set_meant(ignore, "members", json_object());
	}
	if (json_array_size(json_object_get(meant, "fingerprint.only")) > 0)
		set_meant(ignore, "members", json_object());
}

/* As key/fingerprint.c does it: the rest says what is changed anyway. */
static void
reduce_entity(json_t *meant)
{
	const json_t *parts = json_object_get(meant, "fingerprint.include");
	const json_t *ignore = json_object_get(meant, "fingerprint.ignore");
	bool says = json_object_get(parts, "path") != NULL &&
	    json_object_get(parts, "body") != NULL &&
	    json_object_size(json_object_get(ignore, "members")) == 0 &&
	    json_array_size(json_object_get(meant, "fingerprint.only")) == 0;
	if (says)
		set_meant(meant, "entity", json_null());
	if (says || json_is_null(json_object_get(meant, "entity")))
		set_meant(meant, "newer_only", json_null());
}

json_t *
key_meaning_of(const json_t *keys)
{
	json_t *meant = json_deep_copy(keys);
	const json_t *ignore = json_object_get(keys, "fingerprint.ignore");
	set_meant(meant, "scope", scope_meant(json_object_get(keys, "scope")));
	set_meant(
	    meant, "header", set_of_names(json_object_get(keys, "header")));
	set_meant(meant, "fingerprint.include",
	    set_of_parts(json_object_get(keys, "fingerprint.include")));
	json_t *ignored = json_object();
	set_meant(ignored, "members", set_of_members(ignore));
	set_meant(ignored, "query", set_of_parameters(ignore));
	set_meant(meant, "fingerprint.ignore", ignored);
	reduce_body(meant);
	reduce_entity(meant);
	return meant;
}

/* --- changes --- */

/* Whether whatever had a key before has it still. */
static bool
keeps_names(json_t *old, const json_t *new)
{
	const char *name;
	const json_t *one;
	json_object_foreach(old, name, one)
		if (json_object_get(new, name) == NULL)
			return false;
	return true;
}

#define GONE gone
#define OTHER_REQUEST other_request
static const char gone[] =
    "keys that exist are not found any more, and their retries are executed "
    "again";
static const char other_request[] =
    "a retry of a key that exists is taken for another request, and refused "
    "(key-reused)";

const char *
key_meaning_loss(const char *path)
{
	static const struct {
		const char *path;
		const char *words;
	} losses[] = {
#define KEY_OPTION(path, what) {path, what},
#include "tbl/key_options.h"
#undef KEY_OPTION
	};
	size_t i = 0;
	while (strcmp(losses[i].path, path) != 0)
		i++;
	return losses[i].words;
}

char *
key_meaning_change(const json_t *old, const json_t *new, const char *path)
{
	const char *loss = key_meaning_loss(path);
	json_t *one = json_object_get(old, path);
	const json_t *other = json_object_get(new, path);
	if (loss == other_request)
		return fingerprint_changes_words(old, new, path);
	bool same = !strcmp(path, "header") ? keeps_names(one, other)
					    : json_equal(one, other);
	return same ? NULL : mem_text(loss);
}
