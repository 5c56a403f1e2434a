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

void
source_load(struct loader *l)
{
	struct conf *conf = l->conf;
	const struct option *option =
	    option_at(GROUP_ROOT, offsetof(struct conf, sources));
	struct json_place list = {NULL, option->path, 0};
	json_t *sources = loader_value(l, option);
	const char *name;
	json_t *value;
	if (sources == NULL)
		return;
	if (!json_is_object(sources)) {
		complaints_at(l, &list, "must be an object");
		return;
	}
	conf->sources =
	    mem_zero(json_object_size(sources) * sizeof *conf->sources);
	json_object_foreach(sources, name, value)
	{
		struct json_place at = {&list, name, 0};
		struct conf_source *source = &conf->sources[conf->n_sources];
		const char *wrong = name_wrong_plain(name);
		if (wrong != NULL)
			complaints_at(l, &at, "its name %s", wrong);
		source->name = mem_str(span_str(name));
		source->index = (unsigned)conf->n_sources++;
		object_load_presets(l, GROUP_SOURCE, source);
		object_load(l, GROUP_SOURCE, &at, value, source);
	}
}

void
source_clear(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	for (size_t i = 0; i < conf->n_sources; i++) {
		object_clear(GROUP_SOURCE, &conf->sources[i]);
		text_free(&conf->sources[i].name);
	}
	free(conf->sources);
	conf->sources = NULL;
	conf->n_sources = 0;
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
