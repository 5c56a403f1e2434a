/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"
#include "conf/load/complaints_private.h"
#include "conf/load/object_private.h"
#include "conf/load/source_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/name.h"
#include "conf/show.h"

void
source_parse(struct loader *l, const struct given *given)
{
	(void)l;
	(void)given;
}

/* --- objects with names: sources and relays --- */

#define BEGINS_WITH_NAME(type)                                        \
	_Static_assert(offsetof(struct type, name) == 0 &&            \
		offsetof(struct type, index) == sizeof(char *),       \
	    "its name and its index stand first")
BEGINS_WITH_NAME(conf_source);
BEGINS_WITH_NAME(conf_relay);

/*
 * The entries, each read into a struct of the group that begins with its name
 * and its index; NULL: there are none, or after complaining.
 */
static void *
load_named(struct loader *l, const struct given *given, enum group group,
    size_t size, size_t *ret_count)
{
	const char *name;
	json_t *value;
	if (given->value == NULL)
		return NULL;
	if (!json_is_object(given->value)) {
		complaints_at(l, given->at, "must be an object");
		return NULL;
	}
	char *entries = mem_zero(json_object_size(given->value) * size);
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		char *entry = entries + *ret_count * size;
		const char *wrong = name_wrong_plain(name);
		if (wrong != NULL)
			complaints_at(l, &at, "its name %s", wrong);
		*(char **)entry = mem_str(span_str(name));
		*(unsigned *)(entry + sizeof(char *)) =
		    (unsigned)(*ret_count)++;
		object_load_presets(l, group, entry);
		object_load(l, group, &at, value, entry);
	}
	return entries;
}

static void
clear_named(enum group group, void *entries, size_t size, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *entry = (char *)entries + i * size;
		object_clear(group, entry);
		text_free((char **)entry);
	}
	free(entries);
}

void
source_load(struct loader *l)
{
	struct conf *conf = l->conf;
	const struct option *sources =
	    option_at(GROUP_ROOT, offsetof(struct conf, sources));
	const struct option *relays =
	    option_at(GROUP_ROOT, offsetof(struct conf, relays));
	struct json_place source = {NULL, sources->path, 0};
	struct json_place relay = {NULL, relays->path, 0};
	const struct given of_sources = {
	    sources, &source, loader_value(l, sources), conf};
	const struct given of_relays = {
	    relays, &relay, loader_value(l, relays), conf};
	conf->sources = load_named(l, &of_sources, GROUP_SOURCE,
	    sizeof *conf->sources, &conf->n_sources);
	conf->relays = load_named(l, &of_relays, GROUP_RELAY,
	    sizeof *conf->relays, &conf->n_relays);
}

void
source_clear(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	clear_named(GROUP_SOURCE, conf->sources, sizeof *conf->sources,
	    conf->n_sources);
	conf->sources = NULL;
	conf->n_sources = 0;
}

void
source_clear_relays(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	clear_named(GROUP_RELAY, conf->relays, sizeof *conf->relays,
	    conf->n_relays);
	conf->relays = NULL;
	conf->n_relays = 0;
}

void
source_parse_broker_name(struct loader *l, const struct given *given)
{
	const struct conf *conf = l->conf;
	char *name = text_read(l, given->at, given->value);
	if (name == NULL)
		return;
	const struct conf_broker *found = NULL;
	struct nearest nearest = nearest_to(span_str(name));
	for (size_t i = 0; i < conf->n_brokers && found == NULL; i++) {
		nearest_try(&nearest, span_str(conf->brokers[i].name));
		if (!strcmp(conf->brokers[i].name, name))
			found = &conf->brokers[i];
	}
	if (found == NULL)
		unknown_name(l, given->at, "broker", &nearest,
		    conf->n_brokers == 1 ? conf->brokers[0].name : NULL);
	else
		*(const struct conf_broker **)given_field(given) = found;
	text_free(&name);
}

/* --- what is configured, as a digest: a reload that changes it begins anew */

static void
add_json(struct digest *digest, const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS);
	digest_part(digest, span_str(text));
	free(text);
}

/* A broker as it is shown, and what of it is a secret. */
static void
add_broker(struct digest *digest, const struct conf_broker *broker,
    const json_t *brokers)
{
	const struct conf_redis_tls *tls = &broker->redis.tls;
	add_json(digest, json_object_get(brokers, broker->name));
	digest_part(digest, span_str(broker->password));
	digest_part(
	    digest, span_of((const char *)tls->digest, sizeof tls->digest));
	for (size_t i = 0; i < broker->settings.count; i++)
		digest_part(digest, span_str(broker->settings.list[i].value));
}

void
source_digest_all(struct conf *conf)
{
	bool some = conf->n_sources + conf->n_relays > 0;
	json_t *shown = some ? show_conf(conf) : NULL;
	json_t *brokers = json_object_get(shown, "brokers");
	struct digest digest;
	for (size_t i = 0; i < conf->n_relays; i++) {
		struct conf_relay *relay = &conf->relays[i];
		digest_begin(&digest, SPAN("relay"), SPAN(""));
		add_json(&digest,
		    json_object_get(
			json_object_get(shown, "relays"), relay->name));
		for (size_t k = 0; k < relay->receiver.n_targets; k++)
			digest_part(&digest,
			    span_str(relay->receiver.targets[k].url));
		for (size_t k = 0; k < relay->n_secrets; k++)
			digest_part(&digest, span_of(relay->secrets[k].key,
						 relay->secrets[k].len));
		if (relay->broker != NULL)
			add_broker(&digest, relay->broker, brokers);
		digest_end(&digest, relay->digest);
	}
	for (size_t i = 0; i < conf->n_sources; i++) {
		struct conf_source *source = &conf->sources[i];
		digest_begin(&digest, SPAN("source"), SPAN(""));
		add_json(&digest,
		    json_object_get(
			json_object_get(shown, "sources"), source->name));
		add_broker(&digest, source->broker, brokers);
		for (size_t k = 0; k < source->request.n_headers; k++)
			digest_part(&digest,
			    span_str(source->request.headers[k].secret));
		digest_end(&digest, source->digest);
	}
	json_decref(shown);
}
