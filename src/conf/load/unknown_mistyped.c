/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/kinds.h"
#include "conf/load/complaints_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"

/* --- which parts --- */

/* What a part looks like: one that looks otherwise may mean something else. */
enum part_shape { SHAPE_LIST, SHAPE_OBJECT, SHAPE_TEXT };

/* What others depend on, and are complained about where it is not there. */
static const struct {
	enum group group;
	const char *name;
	enum part_shape shape;
} parts[] = {
    {GROUP_ROOT, "listen", SHAPE_LIST},
    {GROUP_ROOT, "routes", SHAPE_LIST},
    {GROUP_ROOT, "upstreams", SHAPE_OBJECT},
    {GROUP_ROOT, "defaults", SHAPE_OBJECT},
    {GROUP_ROOT, "brokers", SHAPE_OBJECT},
    {GROUP_ROOT, "sources", SHAPE_OBJECT},
    {GROUP_ROOT, "relays", SHAPE_OBJECT},
    {GROUP_ROUTE, "idempotency", SHAPE_OBJECT},
    {GROUP_BROKER, "redis", SHAPE_TEXT},
    {GROUP_BROKER, "cluster", SHAPE_LIST},
    {GROUP_BROKER, "sentinels", SHAPE_LIST},
    {GROUP_BROKER, "master", SHAPE_TEXT},
    {GROUP_BROKER, "postgres", SHAPE_TEXT},
    {GROUP_BROKER, "kafka", SHAPE_LIST},
    {GROUP_SOURCE, "broker", SHAPE_TEXT},
    {GROUP_SOURCE, "stream", SHAPE_TEXT},
    {GROUP_SOURCE, "topics", SHAPE_LIST},
    {GROUP_SOURCE, "table", SHAPE_TEXT},
    {GROUP_SOURCE, "request", SHAPE_OBJECT},
    {GROUP_RELAY, "broker", SHAPE_TEXT},
    {GROUP_RELAY, "table", SHAPE_TEXT},
    {GROUP_RELAY, "topic", SHAPE_TEXT},
    {GROUP_RELAY, "webhook", SHAPE_TEXT},
    {GROUP_RELAY, "secrets", SHAPE_LIST},
};
enum { N_PARTS = sizeof parts / sizeof *parts };

static bool
has_shape(const json_t *value, enum part_shape shape)
{
	switch (shape) {
	case SHAPE_LIST:
		return json_is_array(value);
	case SHAPE_OBJECT:
		return json_is_object(value);
	case SHAPE_TEXT:
		break;
	}
	return text_is_one(value);
}

/* Whether the value may be the part of that name. */
static bool
is_part(enum group group, const char *name, const json_t *value)
{
	for (size_t i = 0; i < N_PARTS; i++)
		if (parts[i].group == group && !strcmp(parts[i].name, name))
			return has_shape(value, parts[i].shape);
	return group == GROUP_ROOT && json_is_object(value) &&
	    option_section(group, SPAN(""), name).len > 0;
}

/*
 * Which members of an object are meant to be which, by their right names; null
 * where several are, and nobody knows which one is.
 */
static json_t *
find_mistyped(const struct loader *l, enum group group, json_t *object)
{
	json_t *found = json_object(), *value;
	const char *given;
	json_object_foreach(object, given, value)
	{
		struct span meant = unknown_meant(group, SPAN(""), given);
		if (meant.ptr == NULL)
			continue;
		char *name = mem_str(meant);
		/* Whoever asks a gateway goes where that is, and no guess. */
		bool asks = l->only_admin && group == GROUP_ROOT &&
		    !strcmp(name, "admin");
		if (json_object_get(object, name) == NULL && !asks &&
		    is_part(group, name, value))
			must(json_object_set_new(found, name,
				 json_object_get(found, name) != NULL
				     ? json_null()
				     : json_string(given)) == 0);
		free(name);
	}
	return found;
}

/* --- their names --- */

/* at: the object's place, by right names; NULL: the whole file. */
static void
rename_one(struct loader *l, enum group group, const struct json_place *at,
    json_t *object, const char *name, const char *given)
{
	struct json_place here = {at, given, 0};
	json_t *value = json_object_get(object, given);
	struct json_place there = {at, name, 0};
	char *right = complaints_at_pointer(&there, NULL);
	char *wrong = complaints_at_pointer(&here, NULL);
	unknown_member(l, group, SPAN(""), &here, value);
	must(json_array_append_new(l->mistyped,
		 json_pack("[s, s]", right, wrong)) == 0);
	must(json_object_set(object, name, value) == 0);
	json_object_del(object, given);
	free(right);
	free(wrong);
}

static void
rename_members(struct loader *l, enum group group,
    const struct json_place *at, json_t *object)
{
	const char *name;
	json_t *given;
	json_t *found = find_mistyped(l, group, object);
	json_object_foreach(found, name, given)
		if (json_is_string(given))
			rename_one(l, group, at, object, name,
			    json_string_value(given));
	json_decref(found);
}

/* Those of each object that the file has by a name. */
static void
rename_named(struct loader *l, enum group group, const char *list)
{
	struct json_place at = {NULL, list, 0};
	const char *name;
	json_t *object;
	json_object_foreach(json_object_get(l->root, list), name, object)
	{
		struct json_place here = {&at, name, 0};
		rename_members(l, group, &here, object);
	}
}

void
unknown_mistyped_rename(struct loader *l)
{
	struct json_place routes = {NULL, "routes", 0};
	size_t i;
	json_t *route;
	l->mistyped = json_array();
	rename_members(l, GROUP_ROOT, NULL, l->root);
	json_array_foreach(json_object_get(l->root, "routes"), i, route)
	{
		struct json_place here = {&routes, NULL, i};
		rename_members(l, GROUP_ROUTE, &here, route);
	}
	rename_named(l, GROUP_BROKER, "brokers");
	rename_named(l, GROUP_SOURCE, "sources");
	rename_named(l, GROUP_RELAY, "relays");
}

/* --- where complaints point --- */

/* A pointer through the right name gets the one that the file has. */
static void
point_through(struct complaint *c, const char *right, const char *wrong)
{
	size_t len = strlen(right);
	if (strncmp(c->pointer, right, len) != 0 ||
	    (c->pointer[len] != '\0' && c->pointer[len] != '/'))
		return;
	char *anew = mem_printf("%s%s", wrong, c->pointer + len);
	free(c->pointer);
	c->pointer = anew;
}

void
unknown_mistyped_point(struct loader *l)
{
	/* What is renamed last stands in what was renamed before. */
	for (size_t k = json_array_size(l->mistyped); k-- > 0;) {
		const json_t *pair = json_array_get(l->mistyped, k);
		const char *right = json_string_value(json_array_get(pair, 0));
		const char *wrong = json_string_value(json_array_get(pair, 1));
		for (size_t i = 0; i < l->complaints->count; i++)
			if (l->complaints->list[i].pointer != NULL)
				point_through(
				    &l->complaints->list[i], right, wrong);
	}
}

/* --- of a source: what is read of another kind of broker --- */

bool
unknown_mistyped_is_of(
    const struct conf_broker *broker, json_t *source, const char *name)
{
	const struct option *own = kinds_read(broker->kind);
	struct span meant = unknown_meant(GROUP_SOURCE, SPAN(""), name);
	bool other = false;
	for (unsigned k = 0; k < BROKER_KIND_COUNT_; k++) {
		const struct option *read = kinds_read((enum broker_kind)k);
		if (loader_value_in(source, read) != NULL)
			return false;
		other |= read != own && meant.ptr != NULL &&
		    span_eq(meant, span_str(read->path));
	}
	return other;
}

/* The broker that the source names; NULL: none, or no such one. */
static const struct conf_broker *
broker_named(const struct conf *conf, json_t *source)
{
	const char *name = json_string_value(json_object_get(source, "broker"));
	for (size_t i = 0; i < conf->n_brokers && name != NULL; i++)
		if (!strcmp(conf->brokers[i].name, name))
			return &conf->brokers[i];
	return NULL;
}

bool
unknown_mistyped_is_told(const struct loader *l, const struct json_place *at)
{
	const struct option *option =
	    option_at(GROUP_ROOT, offsetof(struct conf, sources));
	json_t *source =
	    json_object_get(loader_value(l, option), at->up->member);
	const struct conf_broker *broker = broker_named(l->conf, source);
	return broker != NULL &&
	    unknown_mistyped_is_of(broker, source, at->member);
}
