/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/swappable.h"
#include "conf/kinds.h"
#include "conf/load/brokers_private.h"
#include "conf/load/complaints_private.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/kafka_settings_private.h"
#include "conf/load/object_private.h"
#include "conf/load/secret_value_private.h"
#include "conf/load/text_private.h"
#include "conf/name.h"

#define BROKER_OPTION(field) \
	option_at(GROUP_BROKER, offsetof(struct conf_broker, field))

#ifdef HAVE_POSTGRES
static const bool has_postgres = true;
#else
static const bool has_postgres = false;
#endif

#ifdef HAVE_KAFKA
static const bool has_kafka = true;
#else
static const bool has_kafka = false;
#endif

/* Complains about what only other kinds have; way: what makes it this one. */
static void
check_members(struct loader *l, const struct redis_members *m,
    enum broker_kind kind, const struct option *way)
{
	/* What says where a broker of another kind is. */
	static const char *const ways[] = {
	    "redis", "cluster", "sentinels", "postgres", "kafka"};
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		if (option->group != GROUP_BROKER || kinds_fit(option, kind) ||
		    loader_value_in(m->object, option) == NULL)
			continue;
		bool is_way = false;
		for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
			is_way |= !strcmp(option->path, ways[k]);
		if (is_way)
			complaints_at_option(l, m->at, option, "cannot be "
			    "combined with \"%s\": leave one of them out",
			    way->path);
		else
			complaints_at_option(l, m->at, option,
			    "only a broker of %s has this",
			    kinds_words(option));
	}
}

static void
check_postgres(struct loader *l, const struct redis_members *m,
    struct conf_broker *broker)
{
	const struct option *url = BROKER_OPTION(postgres);
	const struct option *password = BROKER_OPTION(password);
	broker->kind = BROKER_POSTGRES;
	if (!has_postgres)
		complaints_at_option(l, m->at, url, "built without PostgreSQL");
	check_members(l, m, BROKER_POSTGRES, url);
	if (l->url_password != NULL &&
	    loader_value_in(m->object, password) != NULL) {
		complaints_at_option(l, m->at, password,
		    "\"%s\" already has a password", url->path);
	} else if (l->url_password != NULL) {
		broker->password = l->url_password;
		l->url_password = NULL;
	}
}

static void
check_kafka(struct loader *l, const struct redis_members *m,
    struct conf_broker *broker)
{
	const struct option *servers = BROKER_OPTION(kafka);
	struct json_place settings = {
	    m->at, BROKER_OPTION(settings)->path, 0};
	broker->kind = BROKER_KAFKA;
	if (!has_kafka)
		complaints_at_option(l, m->at, servers, "built without Kafka");
	check_members(l, m, BROKER_KAFKA, servers);
	kafka_settings_check(l, &settings, &broker->settings);
}

static void
check_streams(struct loader *l, const struct redis_members *m,
    struct conf_broker *broker)
{
	const struct option *way = BROKER_OPTION(redis.address);
	broker->kind = BROKER_STREAMS;
	if (loader_value_in(m->object, way) == NULL &&
	    loader_value_in(m->object, BROKER_OPTION(redis.cluster)) == NULL &&
	    loader_value_in(m->object, BROKER_OPTION(redis.sentinels)) == NULL)
		complaints_at(l, m->at, "\"redis\", \"cluster\", "
		    "\"sentinels\", \"postgres\" or \"kafka\" is missing");
	check_members(l, m, BROKER_STREAMS, way);
	cross_check_pairs(l, GROUP_BROKER, m->at, m->object);
	cross_check_redis(l, m, &broker->password);
	broker->redis.password = broker->password;
}

/* The loader has what the URL of the store said, and gets it back. */
static void
load_broker(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_broker *broker)
{
	char *user = l->url_user;
	char *password = l->url_password;
	const struct redis_members members = {
	    GROUP_BROKER, "", value, at, &broker->redis};
	l->url_user = l->url_password = NULL;
	object_load_presets(l, GROUP_BROKER, broker);
	object_load(l, GROUP_BROKER, at, value, broker);
	if (loader_value_in(value, BROKER_OPTION(kafka)) != NULL)
		check_kafka(l, &members, broker);
	else if (loader_value_in(value, BROKER_OPTION(postgres)) != NULL)
		check_postgres(l, &members, broker);
	else if (json_is_object(value))
		check_streams(l, &members, broker);
	secret_value_set_login(l, user, password);
}

void
brokers_parse(struct loader *l, const struct given *given)
{
	struct conf *conf = given->base;
	const char *name;
	json_t *value;
	if (!json_is_object(given->value)) {
		complaints_at(l, given->at, "must be an object");
		return;
	}
	conf->brokers =
	    mem_zero(json_object_size(given->value) * sizeof *conf->brokers);
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		struct conf_broker *broker = &conf->brokers[conf->n_brokers];
		const char *wrong = name_wrong_plain(name);
		if (wrong != NULL)
			complaints_at(l, &at, "its name %s", wrong);
		broker->name = mem_str(span_str(name));
		broker->index = (unsigned)conf->n_brokers++;
		load_broker(l, &at, value, broker);
	}
}

void
brokers_clear(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	for (size_t i = 0; i < conf->n_brokers; i++) {
		struct conf_broker *broker = &conf->brokers[i];
		object_clear(GROUP_BROKER, broker);
		swappable_free(&broker->redis.tls.credentials);
		text_free(&broker->name);
	}
	free(conf->brokers);
	conf->brokers = NULL;
	conf->n_brokers = 0;
}
