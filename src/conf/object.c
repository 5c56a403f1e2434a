/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/loader_private.h"

static bool
is_list(struct loader *l, const struct given *given, size_t least)
{
	bool list = json_is_array(given->value);
	if (!list)
		complain_at(l, given->at, "must be a list");
	else if (json_array_size(given->value) < least)
		complain_at(l, given->at, "must not be empty");
	return list;
}

/* --- listen --- */

/* An object, or in short its address. */
static void
load_listen(struct loader *l, const struct place *at, json_t *value,
    struct conf_listen *listen)
{
	const struct option *address =
	    option_at(GROUP_LISTEN, offsetof(struct conf_listen, address));
	load_presets(l, GROUP_LISTEN, listen);
	if (is_text(value))
		load_option(l, address, at, value, listen);
	else if (json_is_object(value))
		load_object(l, GROUP_LISTEN, at, value, listen);
	else
		complain_at(l, at, "must be a string or an object");
	load_tls(l, at, listen);
}

/* Permissions in octal, three digits or four. */
void
parse_mode(struct loader *l, const struct given *given)
{
	char *text = text_of(l, given->at, given->value);
	if (text == NULL)
		return;
	size_t len = strlen(text);
	unsigned long mode = strtoul(text, NULL, 8);
	if (strspn(text, "01234567") != len || len < 3 || len > 4 ||
	    mode == 0 || mode > 0777)
		complain_at(l, given->at,
		    "must be octal permissions like \"0660\"");
	else
		*(int64_t *)given_field(given) = (int64_t)mode;
	text_free(&text);
}

void
parse_listens(struct loader *l, const struct given *given)
{
	struct conf *conf = given->base;
	if (!is_list(l, given, 1))
		return;
	size_t count = json_array_size(given->value);
	conf->listen = mem_zero(count * sizeof *conf->listen);
	conf->n_listen = count;
	for (size_t i = 0; i < count; i++) {
		struct place at = {given->at, NULL, i};
		load_listen(
		    l, &at, json_array_get(given->value, i), &conf->listen[i]);
	}
}

void
clear_listens(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	for (size_t i = 0; i < conf->n_listen; i++) {
		clear_tls(&conf->listen[i].tls);
		clear_group(GROUP_LISTEN, &conf->listen[i]);
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
parse_encryption_keys(struct loader *l, const struct given *given)
{
	struct conf_store *store = &l->conf->store;
	if (!is_list(l, given, 1))
		return;
	size_t count = json_array_size(given->value);
	store->encryption_keys =
	    mem_zero(count * sizeof *store->encryption_keys);
	store->n_encryption_keys = count;
	for (size_t i = 0; i < count; i++) {
		struct place at = {given->at, NULL, i};
		struct conf_encryption_key *key = &store->encryption_keys[i];
		load_presets(l, GROUP_ENCRYPTION_KEY, key);
		load_object(l, GROUP_ENCRYPTION_KEY, &at,
		    json_array_get(given->value, i), key);
		if (repeats_id(store, i))
			complain_at(l, &at, "another key has this id");
	}
}

void
clear_encryption_keys(void *base, void *field)
{
	struct conf_store *store = &((struct conf *)base)->store;
	(void)field;
	for (size_t i = 0; i < store->n_encryption_keys; i++)
		clear_group(GROUP_ENCRYPTION_KEY, &store->encryption_keys[i]);
	free(store->encryption_keys);
	store->encryption_keys = NULL;
	store->n_encryption_keys = 0;
}

/* --- upstreams --- */

/* An object, or in short the URL of its one target. */
static void
load_upstream(struct loader *l, const struct place *at, json_t *value,
    struct conf_upstream *upstream)
{
	load_presets(l, GROUP_UPSTREAM, upstream);
	if (is_text(value))
		load_target(l, at, value, upstream);
	else if (json_is_object(value))
		load_object(l, GROUP_UPSTREAM, at, value, upstream);
	else
		complain_at(l, at, "must be a string or an object");
}

void
parse_upstreams(struct loader *l, const struct given *given)
{
	struct conf *conf = given->base;
	const char *name;
	json_t *value;
	if (!json_is_object(given->value)) {
		complain_at(l, given->at, "must be an object");
		return;
	}
	conf->upstreams =
	    mem_zero(json_object_size(given->value) * sizeof *conf->upstreams);
	json_object_foreach(given->value, name, value)
	{
		struct place at = {given->at, name, 0};
		struct conf_upstream *upstream =
		    &conf->upstreams[conf->n_upstreams];
		const char *wrong = wrong_name(name);
		if (wrong != NULL)
			complain_at(l, &at, "its name %s", wrong);
		upstream->name = mem_str(span_str(name));
		upstream->index = (unsigned)conf->n_upstreams++;
		load_upstream(l, &at, value, upstream);
	}
}

void
clear_upstreams(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		clear_group(GROUP_UPSTREAM, &conf->upstreams[i]);
		text_free(&conf->upstreams[i].name);
	}
	free(conf->upstreams);
	conf->upstreams = NULL;
	conf->n_upstreams = 0;
}

/* --- routes --- */

/* Routes need what stands behind them in the file: load_routes reads them. */
void
parse_routes(struct loader *l, const struct given *given)
{
	(void)l;
	(void)given;
}

void
load_routes(struct loader *l)
{
	struct conf *conf = l->conf;
	const struct option *option =
	    option_at(GROUP_ROOT, offsetof(struct conf, routes));
	struct place list = {NULL, option->path, 0};
	struct given given = {option, &list, file_value(l, option), conf};
	if (given.value == NULL || !is_list(l, &given, 0))
		return;
	size_t count = json_array_size(given.value);
	conf->routes = mem_zero(count * sizeof *conf->routes);
	conf->n_routes = count;
	for (size_t i = 0; i < count; i++) {
		struct place at = {&list, NULL, i};
		struct conf_route *route = &conf->routes[i];
		route->index = (unsigned)i;
		load_presets(l, GROUP_ROUTE, route);
		load_object(
		    l, GROUP_ROUTE, &at, json_array_get(given.value, i), route);
	}
}

void
clear_routes(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	for (size_t i = 0; i < conf->n_routes; i++)
		clear_group(GROUP_ROUTE, &conf->routes[i]);
	free(conf->routes);
	conf->routes = NULL;
	conf->n_routes = 0;
}

void
parse_upstream_name(struct loader *l, const struct given *given)
{
	const struct conf *conf = l->conf;
	char *name = text_of(l, given->at, given->value);
	if (name == NULL)
		return;
	const struct conf_upstream *found = NULL;
	for (size_t i = 0; i < conf->n_upstreams && found == NULL; i++)
		if (!strcmp(conf->upstreams[i].name, name))
			found = &conf->upstreams[i];
	if (found == NULL)
		complain_at(l, given->at, "no upstream is named \"%s\"", name);
	else
		*(const struct conf_upstream **)given_field(given) = found;
	text_free(&name);
}
