/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/address.h"
#include "conf/load/brokers_private.h"
#include "conf/load/certificates.h"
#include "conf/load/choice_private.h"
#include "conf/load/complaints_private.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/kafka_settings_private.h"
#include "conf/load/list_private.h"
#include "conf/load/object_private.h"
#include "conf/load/path_private.h"
#include "conf/load/secret_value_private.h"
#include "conf/load/source_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/load/url_private.h"
#include "conf/load/value_private.h"
#include "conf/name.h"
#include "conf/words.h"

/*
 * An object has values, and a value may be an object or a list of some: that
 * circle is closed here, and no file that reads one value knows this one.
 */

static void read_members(struct loader *l, enum group group,
    struct span prefix, const struct json_place *at, json_t *value,
    void *base);

/* --- any object --- */

static void
parse_value(struct loader *l, const struct given *given)
{
	static void (*const parse[])(
	    struct loader *l, const struct given *given) = {
#define TYPE(name, ctype, parse, clear, show, ...) parse,
#include "conf/types.h"
#undef TYPE
	};
	parse[given->option->type](l, given);
}

static void
clear_value(const struct option *option, void *base)
{
	static void (*const clear[])(void *base, void *field) = {
#define TYPE(name, ctype, parse, clear, show, ...) clear,
#include "conf/types.h"
#undef TYPE
	};
	if (clear[option->type] != NULL)
		clear[option->type](base, (char *)base + option->offset);
}

void
object_load_option(struct loader *l, const struct option *option,
    const struct json_place *at, json_t *value, void *base)
{
	struct given given = {option, at, value, base};
	parse_value(l, &given);
}

void
object_load_presets(struct loader *l, enum group group, void *base)
{
	size_t before = l->complaints->count;
	for (size_t i = 0; i < n_options; i++) {
		const char *text = option_preset(&options[i]);
		if (options[i].group != group || text == NULL)
			continue;
		json_t *value = json_loads(
		    text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
		must(value != NULL);
		object_load_option(l, &options[i], NULL, value, base);
		json_decref(value);
	}
	must(l->complaints->count == before);
}

void
object_load(struct loader *l, enum group group, const struct json_place *at,
    json_t *value, void *base)
{
	read_members(l, group, SPAN(""), at, value, base);
}

static void
read_member(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, json_t *value, void *base)
{
	const struct option *option = option_find(group, prefix, at->member);
	struct span section = option_section(group, prefix, at->member);
	if (option != NULL)
		object_load_option(l, option, at, value, base);
	else if (section.len > 0)
		read_members(l, group, section, at, value, base);
	else
		unknown_member(l, group, prefix, at, value);
}

/* Whether the object has a name that is nearly that, and told to be wrong. */
static bool
is_mistyped(json_t *object, const char *name)
{
	struct nearest nearest = nearest_to(span_str(name));
	const char *given;
	json_t *value;
	json_object_foreach(object, given, value)
		nearest_try(&nearest, span_str(given));
	return nearest.found.ptr != NULL && nearest.distance <= 2;
}

/* Complains about what the object that prefix leads to must have. */
static void
complain_missing(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, json_t *value)
{
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		if (option->group != group || !option_required(option) ||
		    !span_starts(span_str(option->path), prefix))
			continue;
		const char *name = option->path + prefix.len;
		if (strchr(name, '.') == NULL &&
		    json_object_get(value, name) == NULL &&
		    !is_mistyped(value, name))
			complaints_at(l, at, "\"%s\" is missing", name);
	}
}

static void
read_members(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, json_t *value, void *base)
{
	const char *name;
	json_t *member;
	if (!json_is_object(value)) {
		unknown_shape(l, group, prefix, at);
		return;
	}
	complain_missing(l, group, prefix, at, value);
	json_object_foreach(value, name, member)
	{
		struct json_place here = {at, name, 0};
		read_member(l, group, prefix, &here, member, base);
	}
}

void
object_clear(enum group group, void *base)
{
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == group)
			clear_value(&options[i], base);
}

/* --- listen --- */

/* An object, or in short its address. */
static void
load_listen(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_listen *listen)
{
	const struct option *address =
	    option_at(GROUP_LISTEN, offsetof(struct conf_listen, address));
	object_load_presets(l, GROUP_LISTEN, listen);
	if (text_is_one(value))
		object_load_option(l, address, at, value, listen);
	else if (json_is_object(value))
		object_load(l, GROUP_LISTEN, at, value, listen);
	else
		complaints_at(l, at,
		    "must be a string like \"127.0.0.1:8080\" or an object");
	certificates_load(l, at, listen);
}

void
object_parse_listens(struct loader *l, const struct given *given)
{
	struct conf *conf = given->base;
	if (!list_is_one(l, given, 1))
		return;
	size_t count = json_array_size(given->value);
	conf->listen = mem_zero(count * sizeof *conf->listen);
	conf->n_listen = count;
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		load_listen(
		    l, &at, json_array_get(given->value, i), &conf->listen[i]);
	}
}

void
object_clear_listens(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	for (size_t i = 0; i < conf->n_listen; i++) {
		certificates_clear(&conf->listen[i].tls);
		object_clear(GROUP_LISTEN, &conf->listen[i]);
	}
	free(conf->listen);
	conf->listen = NULL;
	conf->n_listen = 0;
}

/* --- store.encryption_keys --- */

/* Whether one of the keys before it has the same id. */
static bool
repeats_id(const struct conf_store *store, size_t index)
{
	const char *id = store->encryption_keys[index].id;
	for (size_t i = 0; i < index && id != NULL; i++) {
		const char *other = store->encryption_keys[i].id;
		if (other != NULL && !strcmp(other, id))
			return true;
	}
	return false;
}

void
object_parse_encryption_keys(
    struct loader *l, const struct given *given)
{
	struct conf_store *store = &l->conf->store;
	if (!list_is_one(l, given, 1))
		return;
	size_t count = json_array_size(given->value);
	store->encryption_keys =
	    mem_zero(count * sizeof *store->encryption_keys);
	store->n_encryption_keys = count;
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		struct conf_encryption_key *key = &store->encryption_keys[i];
		object_load_presets(l, GROUP_ENCRYPTION_KEY, key);
		object_load(l, GROUP_ENCRYPTION_KEY, &at,
		    json_array_get(given->value, i), key);
		if (repeats_id(store, i))
			complaints_at(l, &at, "another key has this id");
	}
}

void
object_clear_encryption_keys(void *base, void *field)
{
	struct conf_store *store = &((struct conf *)base)->store;
	(void)field;
	for (size_t i = 0; i < store->n_encryption_keys; i++)
		object_clear(GROUP_ENCRYPTION_KEY, &store->encryption_keys[i]);
	free(store->encryption_keys);
	store->encryption_keys = NULL;
	store->n_encryption_keys = 0;
}

/* --- upstreams --- */

/* An object, or in short the URL of its one target. */
static void
load_upstream(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_upstream *upstream)
{
	object_load_presets(l, GROUP_UPSTREAM, upstream);
	if (text_is_one(value))
		url_load_target(l, at, value, upstream);
	else if (json_is_object(value))
		object_load(l, GROUP_UPSTREAM, at, value, upstream);
	else
		complaints_at(l, at, "must be a string or an object%s",
		    json_is_array(value)
			? "; several URLs are {\"targets\": [\"http://...\"]}"
			: "");
}

void
object_parse_upstreams(struct loader *l, const struct given *given)
{
	struct conf *conf = given->base;
	const char *name;
	json_t *value;
	if (!json_is_object(given->value)) {
		complaints_at(l, given->at, "must be an object of names: "
		    "{\"NAME\": \"http://127.0.0.1:9000\"}");
		return;
	}
	conf->upstreams =
	    mem_zero(json_object_size(given->value) * sizeof *conf->upstreams);
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		struct conf_upstream *upstream =
		    &conf->upstreams[conf->n_upstreams];
		const char *wrong = name_wrong(name);
		if (wrong != NULL)
			complaints_at(l, &at, "its name %s", wrong);
		upstream->name = mem_str(span_str(name));
		upstream->index = (unsigned)conf->n_upstreams++;
		load_upstream(l, &at, value, upstream);
	}
}

void
object_clear_upstreams(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		object_clear(GROUP_UPSTREAM, &conf->upstreams[i]);
		text_free(&conf->upstreams[i].name);
	}
	free(conf->upstreams);
	conf->upstreams = NULL;
	conf->n_upstreams = 0;
}

/* --- routes --- */

void
object_parse_routes(struct loader *l, const struct given *given)
{
	(void)l;
	(void)given;
}

void
object_load_routes(struct loader *l)
{
	struct conf *conf = l->conf;
	const struct option *option =
	    option_at(GROUP_ROOT, offsetof(struct conf, routes));
	struct json_place list = {NULL, option->path, 0};
	struct given given = {option, &list, loader_value(l, option), conf};
	if (given.value == NULL || !list_is_one(l, &given, 0))
		return;
	size_t count = json_array_size(given.value);
	conf->routes = mem_zero(count * sizeof *conf->routes);
	conf->n_routes = count;
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {&list, NULL, i};
		struct conf_route *route = &conf->routes[i];
		route->index = (unsigned)i;
		object_load_presets(l, GROUP_ROUTE, route);
		object_load(
		    l, GROUP_ROUTE, &at, json_array_get(given.value, i), route);
		list_preset_methods(route);
	}
}

void
object_clear_routes(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	for (size_t i = 0; i < conf->n_routes; i++)
		object_clear(GROUP_ROUTE, &conf->routes[i]);
	free(conf->routes);
	conf->routes = NULL;
	conf->n_routes = 0;
}

/* Where there are none that could be named, that is the mistake. */
static void
say_no_upstream(struct loader *l, const struct json_place *at,
    const struct nearest *nearest)
{
	const struct conf *conf = l->conf;
	const struct option *option =
	    option_at(GROUP_ROOT, offsetof(struct conf, upstreams));
	if (!json_is_object(loader_value(l, option)))
		return;
	if (memmem(nearest->wanted.ptr, nearest->wanted.len, "://", 3) != NULL)
		complaints_at(l, at, "must be a name in \"%s\", not a URL: "
		    "{\"%s\": {\"NAME\": URL}}", option->path, option->path);
	else
		unknown_name(l, at, "upstream", nearest,
		    conf->n_upstreams == 1 ? conf->upstreams[0].name : NULL);
}

void
object_parse_upstream_name(struct loader *l, const struct given *given)
{
	const struct conf *conf = l->conf;
	char *name = text_read(l, given->at, given->value);
	if (name == NULL)
		return;
	const struct conf_upstream *found = NULL;
	struct nearest nearest = nearest_to(span_str(name));
	for (size_t i = 0; i < conf->n_upstreams && found == NULL; i++) {
		nearest_try(&nearest, span_str(conf->upstreams[i].name));
		if (!strcmp(conf->upstreams[i].name, name))
			found = &conf->upstreams[i];
	}
	if (found == NULL)
		say_no_upstream(l, given->at, &nearest);
	else
		*(const struct conf_upstream **)given_field(given) = found;
	text_free(&name);
}

/* --- idempotency --- */

/*
 * What the preset that an object names stands for, which its own members beat;
 * that there is none of the name is said when they are read.
 */
static void
read_preset_of(
    struct loader *l, json_t *object, struct conf_idempotency *policy)
{
	const struct option *option = option_at(
	    GROUP_IDEMPOTENCY, offsetof(struct conf_idempotency, preset));
	json_t *name = loader_value_in(object, option);
	struct complaints said_later = {NULL, 0};
	struct loader quiet = *l;
	if (name == NULL)
		return;
	quiet.complaints = &said_later;
	object_load_option(&quiet, option, NULL, name, policy);
	if (said_later.count == 0) {
		json_t *members = api_preset_members(policy->preset);
		object_load(&quiet, GROUP_IDEMPOTENCY, NULL, members, policy);
		must(said_later.count == 0);
		json_decref(members);
	}
	complaints_free(&said_later);
}

/* Reads the file's `defaults`; what is wrong is said where they stand. */
static void
read_defaults_into(struct loader *l, struct conf_idempotency *policy)
{
	const struct option *option =
	    option_at(GROUP_ROOT, offsetof(struct conf, defaults));
	json_t *defaults = loader_value(l, option);
	if (defaults == NULL)
		return;
	struct complaints said_already = {NULL, 0};
	struct loader quiet = *l;
	quiet.complaints = &said_already;
	read_preset_of(&quiet, defaults, policy);
	object_load(&quiet, GROUP_IDEMPOTENCY, NULL, defaults, policy);
	complaints_free(&said_already);
}

static void
read_policy(struct loader *l, const struct given *given, bool inherits)
{
	struct conf_idempotency *policy = mem_zero(sizeof *policy);
	object_load_presets(l, GROUP_IDEMPOTENCY, policy);
	if (inherits)
		read_defaults_into(l, policy);
	read_preset_of(l, given->value, policy);
	object_load(l, GROUP_IDEMPOTENCY, given->at, given->value, policy);
	cross_check_policy(l, given->at, policy);
	object_clear_idempotency(NULL, given_field(given));
	*(const struct conf_idempotency **)given_field(given) = policy;
}

void
object_parse_idempotency(struct loader *l, const struct given *given)
{
	read_policy(l, given, true);
}

void
object_parse_defaults(struct loader *l, const struct given *given)
{
	read_policy(l, given, false);
}

void
object_clear_idempotency(void *base, void *field)
{
	struct conf_idempotency **policy = field;
	(void)base;
	if (*policy == NULL)
		return;
	object_clear(GROUP_IDEMPOTENCY, *policy);
	free(*policy);
	*policy = NULL;
}

/* --- on_unknown --- */

/* The path alone, or an object with it; what is not said has its default. */
static void
read_reconcile(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_idempotency *policy)
{
	size_t before = l->complaints->count;
	object_clear(GROUP_RECONCILE, policy);
	object_load_presets(l, GROUP_RECONCILE, policy);
	if (text_is_one(value)) {
		const struct option *option = option_at(GROUP_RECONCILE,
		    offsetof(struct conf_idempotency, reconcile.path));
		object_load_option(l, option, at, value, policy);
	} else if (json_is_object(value)) {
		object_load(l, GROUP_RECONCILE, at, value, policy);
	} else {
		complaints_at(l, at, "must be a path, or an object with one");
	}
	if (l->complaints->count == before)
		policy->on_unknown = UNKNOWN_RECONCILE;
}

void
object_parse_on_unknown(struct loader *l, const struct given *given)
{
	static const char example[] =
	    "{\"reconcile\": {\"path\": \"/v1/charges/by-key/{key}\", "
	    "\"absent\": [404, 410]}}";
	struct conf_idempotency *policy = given->base;
	const char *text = json_string_value(given->value), *name;
	int choice = text ? words_index(given->option->words, text) : -1;
	json_t *value;
	if (choice >= 0) {
		policy->on_unknown = (enum on_unknown)choice;
		object_clear(GROUP_RECONCILE, policy);
	} else if (json_object_size(given->value) == 0) {
		complaints_at(l, given->at,
		    "must be \"hold\", \"retry\" or an object: %s", example);
	}
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		if (!strcmp(name, "reconcile"))
			read_reconcile(l, &at, value, policy);
		else
			complaints_at_name(l, &at, "there is no such member "
			    "here, only \"reconcile\", as in %s", example);
	}
}

void
object_clear_on_unknown(void *base, void *field)
{
	(void)field;
	object_clear(GROUP_RECONCILE, base);
}
