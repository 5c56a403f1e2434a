/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/digest.h"
#include "base/must.h"
#include "base/random.h"
#include "conf/option.h"
#include "conf/show.h"
#include "conf/show_running.h"
#include "conf/source_names.h"

enum { SALT_BYTES = 16 };

static void
put_shown(json_t *json, const char *name, enum group group, const char *path,
    const void *base)
{
	json_t *value = show_option(option_of_path(group, path), base);
	must(json_object_set_new(
		 json, name, value != NULL ? value : json_null()) == 0);
}

json_t *
show_running_keys(const struct conf_idempotency *policy)
{
	static const char *const paths[] = {
#define KEY_OPTION(path, what) path,
#include "tbl/key_options.h"
#undef KEY_OPTION
	};
	json_t *json = json_object();
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		put_shown(json, paths[i], GROUP_IDEMPOTENCY, paths[i], policy);
	return json;
}

static json_t *
told_route(const struct conf_route *route)
{
	json_t *methods = json_array();
	for (size_t i = 0; i < route->methods.count; i++)
		json_array_append_new(
		    methods, json_string(route->methods.list[i]));
	json_t *json = json_pack("{s:s, s:s, s:o, s:b}", "name", route->name,
	    "path", route->path, "methods", methods, "observes",
	    route->observes);
	must(json != NULL);
	if (route->idempotency != NULL)
		must(json_object_set_new(json, "keys",
			 show_running_keys(route->idempotency)) == 0);
	return json;
}

static json_t *
keyed_hash(struct span value, const char *salt)
{
	char hex[DIGEST_HEX + 1];
	uint8_t hash[DIGEST_BYTES];
	struct digest digest;
	digest_begin(&digest, SPAN("shown"), value);
	digest_part(&digest, span_str(salt));
	digest_end(&digest, hash);
	hex_encode(hash, sizeof hash, hex);
	return json_string(hex);
}

json_t *
show_running_secret(const char *secret, const char *salt)
{
	return secret != NULL ? keyed_hash(span_str(secret), salt)
			      : json_null();
}

json_t *
show_running_restart(const struct conf *conf, const char *salt)
{
	json_t *json = json_object();
	for (size_t i = 0; i < n_options; i++) {
		struct span fixed =
		    span_of(conf->fixed + i * DIGEST_BYTES, DIGEST_BYTES);
		/* A password is easily guessed of its hash. */
		if (options[i].group == GROUP_ROOT && options[i].restart &&
		    options[i].type != TYPE_SECRET &&
		    options[i].type != TYPE_REDIS)
			json_object_set_new(json, options[i].path,
			    keyed_hash(fixed, salt));
	}
	return json;
}

static json_t *
told_store(const struct conf *conf)
{
	static const char *const paths[] = {
#define STORE_OPTION(name) "store." name,
#include "tbl/key_options.h"
#undef STORE_OPTION
	};
	uint8_t random[SALT_BYTES];
	char salt[2 * SALT_BYTES + 1];
	json_t *json = json_object();
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		put_shown(json, paths[i] + strlen("store."), GROUP_ROOT,
		    paths[i], conf);
	if (conf->store.redis.managed)
		json_object_set_new(
		    json, "state_dir", json_string(conf->state_dir));
	json_object_set_new(
	    json, "events", json_boolean(conf->store.events_maxlen > 0));
	random_bytes(random, sizeof random);
	hex_encode(random, sizeof random, salt);
	json_object_set_new(json, "salt", json_string(salt));
	json_object_set_new(
	    json, "secret", show_running_secret(conf->store.secret, salt));
	return json;
}

static json_t *
told_reads(const struct conf_source *source)
{
	json_t *list = json_array();
	if (source->stream != NULL)
		json_array_append_new(list, json_string(source->stream));
	if (source->table != NULL)
		json_array_append_new(list, json_string(source->table));
	for (size_t i = 0; i < source->topics.count; i++)
		json_array_append_new(
		    list, json_string(source->topics.list[i]));
	return list;
}

/* What makes a message's request, besides its path and headers. */
static json_t *
told_made(const struct conf_source *source)
{
	static const char *const paths[] = {
	    "request.method", "request.body.field", "columns.payload"};
	json_t *json = json_object();
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		put_shown(json, paths[i], GROUP_SOURCE, paths[i], source);
	return json;
}

json_t *
show_running_sources(
    const struct conf *conf, const char *secret, const char *salt)
{
	json_t *list = json_array();
	for (size_t i = 0; i < conf->n_sources; i++) {
		const struct conf_source *source = &conf->sources[i];
		json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:o}", "name",
		    source->name, "broker", source->broker->name, "reads",
		    told_reads(source), "made", told_made(source), "names",
		    source_names_show(conf, source, secret, salt));
		must(json != NULL);
		put_shown(json, "key", GROUP_SOURCE, "key", source);
		put_shown(json, "path", GROUP_SOURCE, "request.path", source);
		json_array_append_new(list, json);
	}
	return list;
}

json_t *
show_running(const struct conf *routes, const struct conf *start)
{
	json_t *list = json_array();
	for (size_t i = 0; i < routes->n_routes; i++)
		json_array_append_new(list, told_route(&routes->routes[i]));
	json_t *store = told_store(start);
	const char *salt = json_string_value(json_object_get(store, "salt"));
	json_t *restart = show_running_restart(start, salt);
	json_t *sources =
	    show_running_sources(routes, start->store.secret, salt);
	json_t *json = json_pack("{s:o, s:o, s:o, s:o}", "routes", list,
	    "sources", sources, "store", store, "restart", restart);
	must(json != NULL);
	return json;
}
