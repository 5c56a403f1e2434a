/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "gate/key/entity.h"
#include "gate/key/key.h"
#include "gate/key/scope.h"
#include "gate/key/variables.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_lookup.h"
#include "operators/admin/admin_private.h"

/* The values that a key is derived from have so many readings. */
enum { VALUES_MAX = 6, READINGS_MAX = 1 << VALUES_MAX };

/* An operator asks for a key, or for the values of a derived one. */
struct lookup {
	struct span namespace;
	struct fields scope;
	struct span key; /* empty: values */
	struct json_pointers pointers;
	const json_t **values; /* one for each of them */
};

/* A route whose requests may have that scope. */
struct wanted {
	const struct lookup *asked;
	const struct conf_route *route;
	struct span *scope;
	struct span entity; /* the value of its variable in the namespace */
};

/* --- one record that may be meant --- */

/* body is the one that the key is derived from; empty: it is not. */
static void
add_candidate(struct admin_request *a, const struct wanted *wanted,
    struct span key, struct span body)
{
	const struct conf *conf = a->admin->conf;
	const struct conf_idempotency *policy = wanted->route->idempotency;
	struct store_entity entity = {0};
	const struct content content = content_of(body);
	const struct variables variables = {
	    .arena = a->arena, .route = wanted->route, .body = &content};
	struct key_id key_id;
	key_id_make(conf, wanted->asked->namespace, &policy->scope,
	    wanted->scope, key, &key_id);
	/* On a cluster the record is where its entity is. */
	if (a->conf->store.redis.cluster.count > 0 && conf_has_entity(policy)) {
		bool found = wanted->entity.len > 0;
		if (found)
			entity_name_by_path(conf, policy, wanted->scope,
			    wanted->entity, entity.name);
		else if (body.len > 0)
			found = entity_find(conf, &variables, wanted->scope,
				    &entity).len == 0;
		if (found)
			entity_share_shard(&entity, &key_id);
	}
	for (size_t i = 0; i < a->n_others; i++)
		if (!memcmp(&a->others[i], &key_id, sizeof key_id))
			return;
	a->others[a->n_others++] = key_id;
}

/* --- of the values of a derived key --- */

static void
put_at(json_t *body, const struct json_pointer *pointer, json_t *value)
{
	json_t *object = body;
	for (size_t i = 0; i < pointer->count; i++) {
		char *name = mem_str(pointer->segments[i]);
		json_t *next = json_object_get(object, name);
		if (i + 1 == pointer->count)
			json_object_set_new(object, name, value);
		else if (!json_is_object(next))
			json_object_set_new(
			    object, name, next = json_object());
		free(name);
		object = next;
	}
}

/*
 * A body with those values: of those whose bit is set in reading, the other
 * reading, as JSON.  Empty where that is no number and no boolean.
 */
static struct span
body_with(
    struct admin_request *a, const struct lookup *asked, unsigned reading)
{
	json_t *body = json_object();
	bool all = true;
	for (size_t i = 0; i < asked->pointers.count; i++) {
		const json_t *text = asked->values[i];
		json_t *value = NULL;
		if (reading & (1u << i)) {
			value = json_loadb(json_string_value(text),
			    json_string_length(text), JSON_DECODE_ANY, NULL);
			all &= json_is_number(value) || json_is_boolean(value);
		} else {
			value = json_deep_copy(text);
		}
		if (all)
			put_at(body, &asked->pointers.list[i], value);
		else
			json_decref(value);
	}
	char *text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	struct span dumped =
	    all ? arena_dup(a->arena, span_str(text)) : SPAN("");
	free(text);
	return dumped;
}

/* A key that is made of the members from is made of exactly the given ones. */
static bool
is_derived_of(
    const struct json_pointers *from, const struct json_pointers *given)
{
	bool same = from->count == given->count && given->count > 0;
	for (size_t i = 0; i < from->count && same; i++)
		same = json_pointer_is_in(&from->list[i], given);
	return same;
}

/* --- all records that may be meant --- */

/* Adds a key for each reading of the values, where a key is made of them. */
static void
add_derived(struct admin_request *a, const struct wanted *wanted,
    const struct json_pointers *from)
{
	const struct lookup *asked = wanted->asked;
	struct conf_idempotency deriving = *wanted->route->idempotency;
	deriving.derive_from_body = false;
	deriving.derive_from = *from;
	if (!is_derived_of(from, &asked->pointers))
		return;
	for (unsigned i = 0; i < 1u << asked->pointers.count; i++) {
		struct key key;
		struct span body = body_with(a, asked, i);
		struct content content = content_of(body);
		if (body.len > 0 &&
		    key_derive(a->arena, &deriving, &content, &key) ==
			KEY_FOUND)
			add_candidate(a, wanted, key.bytes, body);
	}
}

/* A source may name members where the route that it leads to does not. */
static const struct json_pointers *
members_of_source(const struct conf_source *source)
{
	static const struct json_pointers none;
	return source->key == SOURCE_KEY_POINTERS ? &source->key_pointers
						  : &none;
}

static void
add_of_route(struct admin_request *a, const struct wanted *wanted)
{
	const struct conf_idempotency *policy = wanted->route->idempotency;
	struct span text = wanted->asked->key;
	if (text.len > 0 && policy->headers.count == 0)
		return;
	if (text.len > 0) {
		/* A quoted string stands for what it quotes, as in a field. */
		struct field field = {
		    span_str(policy->headers.list[0]), text};
		struct fields fields = {&field, 1};
		struct key key;
		bool quotes = text.ptr[0] == '"' &&
		    key_find(a->arena, policy, &fields, &key) == KEY_FOUND;
		add_candidate(
		    a, wanted, quotes ? key.bytes : text, SPAN(""));
		return;
	}
	add_derived(a, wanted, &policy->derive_from);
	for (size_t i = 0; i < a->conf->n_sources; i++)
		add_derived(
		    a, wanted, members_of_source(&a->conf->sources[i]));
}

/* Routes of one namespace may have scopes of their own. */
static void
find_candidates(struct admin_request *a, const struct lookup *asked)
{
	const struct conf *conf = a->conf;
	/* Each route may derive keys of its own, and those of each source. */
	size_t makers = 1;
	for (size_t i = 0; i < conf->n_sources; i++)
		makers += is_derived_of(
		    members_of_source(&conf->sources[i]), &asked->pointers);
	a->others = arena_alloc(a->arena,
	    (conf->n_routes * 2 * makers * READINGS_MAX + 1) *
		sizeof *a->others);
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		struct wanted wanted = {
		    .asked = asked, .route = &conf->routes[i]};
		if (policy == NULL ||
		    !variables_fit_namespace(a->arena, policy,
			asked->namespace, &wanted.entity))
			continue;
		wanted.scope = arena_alloc(a->arena,
		    (policy->scope.count + 1) * sizeof *wanted.scope);
		/* A claim may be a text or a number. */
		for (int number = 0; number < 2; number++)
			if (scope_by_hand(a->arena, policy, &asked->scope,
				number, wanted.scope))
				add_of_route(a, &wanted);
	}
}

/* --- the operator's body --- */

static const char *
scope_from_json(
    struct admin_request *a, json_t *scope, struct fields *ret_fields)
{
	struct fields fields = fields_new(a->arena, json_object_size(scope));
	const char *name;
	json_t *value;
	if (scope != NULL && !json_is_object(scope))
		return "\"scope\" must be an object of names, such as those "
		       "of headers, and their values.";
	json_object_foreach(scope, name, value) {
		if (!json_is_string(value))
			return "A value of \"scope\" must be a string.";
		fields_add(&fields, span_str(name),
		    span_trim(admin_body_span(value)));
	}
	*ret_fields = fields;
	return NULL;
}

static const char *
values_from_json(
    struct admin_request *a, json_t *values, struct lookup *asked)
{
	static const char *const wrong =
	    "\"values\" must be an object of 1 to 6 JSON pointers, as "
	    "derive_key has them, and their values as strings.";
	const char *name;
	json_t *value;
	if (!json_is_object(values) || json_object_size(values) == 0 ||
	    json_object_size(values) > VALUES_MAX)
		return wrong;
	asked->pointers.list = arena_alloc(
	    a->arena, VALUES_MAX * sizeof *asked->pointers.list);
	asked->values =
	    arena_alloc(a->arena, VALUES_MAX * sizeof *asked->values);
	json_object_foreach(values, name, value) {
		size_t at = asked->pointers.count;
		if (!json_is_string(value) ||
		    !json_pointer_read(a->arena, span_str(name),
			&asked->pointers.list[at]))
			return wrong;
		asked->values[at] = value;
		asked->pointers.count++;
	}
	return NULL;
}

const char *
admin_lookup_read(struct admin_request *a)
{
	const json_t *namespace = json_object_get(a->in, "namespace");
	const json_t *key = json_object_get(a->in, "key");
	json_t *values = json_object_get(a->in, "values");
	if (namespace != NULL && !json_is_string(namespace))
		return "\"namespace\" must be a string.";
	if (values != NULL && key != NULL)
		return "\"key\" and \"values\" cannot both be given.";
	if (values == NULL &&
	    (!json_is_string(key) || json_string_length(key) == 0))
		return "\"key\" must be a string that is not empty.";
	struct lookup asked = {
	    .namespace =
		namespace ? admin_body_span(namespace) : SPAN("default"),
	    .key = values == NULL ? admin_body_span(key) : SPAN(""),
	};
	const char *message = scope_from_json(
	    a, json_object_get(a->in, "scope"), &asked.scope);
	if (message == NULL && values != NULL)
		message = values_from_json(a, values, &asked);
	if (message != NULL)
		return message;
	find_candidates(a, &asked);
	if (a->n_others > 0)
		return NULL;
	return asked.pointers.count > 0
	    ? "No route has this namespace with this scope and a key made of "
	      "exactly these members, by its derive_key or a source's key."
	    : "No route has this namespace (\"default\" where none is given) "
	      "with this scope: \"scope\" must "
	      "have a value for at least one header (or basic.user, path.NAME, "
	      "certificate.subject, certificate.fingerprint, jwt.CLAIM) that "
	      "the route's scope names, and no others.";
}
