/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/kinds.h"
#include "conf/load/brokers_private.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/kafka_settings_private.h"

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

/* What says where a broker is. */
static const char *const ways[] = {
    "redis", "cluster", "sentinels", "postgres", "kafka"};

static bool
is_way(const struct option *option)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (option->group == GROUP_BROKER &&
		    !strcmp(option->path, ways[i]))
			return true;
	return false;
}

void
brokers_check_members(struct loader *l, enum group group,
    const struct json_place *at, json_t *object,
    const struct conf_broker *broker)
{
	const struct option *needed = NULL, *instead = NULL;
	if (group != GROUP_BROKER)
		needed = kinds_place(group, broker->kind);
	/* What stands in the place of what is to be read or written. */
	if (needed != NULL && loader_value(object, needed->path) == NULL) {
		for (unsigned k = BROKER_KIND_COUNT_; k-- > 0;) {
			const struct option *other =
			    kinds_place(group, (enum broker_kind)k);
			if (other != NULL &&
			    loader_value(object, other->path) != NULL)
				instead = other;
		}
		const char *kind = kinds_all[broker->kind].name;
		if (instead != NULL)
			complaints_at_member(l, at, instead->path,
			    "\"%s\" is for a broker of %s; \"%s\" is one of "
			    "%s, where it is \"%s\"", instead->path,
			    kinds_words(instead), broker->name, kind,
			    needed->path);
		else
			complaints_at(l, at,
			    "\"%s\" is missing: \"%s\" is a broker of %s",
			    needed->path, broker->name, kind);
	}
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		if (option->group != group ||
		    kinds_fit(option, broker->kind) ||
		    loader_value(object, option->path) == NULL)
			continue;
		/* What goes with the other one is no mistake of its own. */
		if (is_way(option))
			complaints_at_member(l, at, option->path, "cannot be "
			    "combined with \"%s\": leave one of them out",
			    kinds_all[broker->kind].broker);
		else if (instead == NULL ||
		    (kinds_of(option) & kinds_of(instead)) == 0)
			complaints_at_member(l, at, option->path,
			    "only a %s of %s has this",
			    group == GROUP_SOURCE ? "source" : "broker",
			    kinds_words(option));
	}
}

void
brokers_check(struct loader *l, const struct json_place *at, json_t *value,
    void *entry)
{
	struct conf_broker *broker = entry;
	const struct redis_members m = {"", value, at, &broker->redis};
	if (!json_is_object(value))
		return;
	broker->kind = json_object_get(value, "kafka") != NULL ? BROKER_KAFKA
	    : json_object_get(value, "postgres") != NULL       ? BROKER_POSTGRES
							 : BROKER_STREAMS;
	brokers_check_members(l, GROUP_BROKER, at, value, broker);
	if (broker->kind == BROKER_KAFKA) {
		struct json_place settings = {at, "settings", 0};
		if (!has_kafka)
			complaints_at_member(
			    l, at, "kafka", "built without Kafka");
		kafka_settings_check(l, &settings, &broker->settings);
	} else if (broker->kind == BROKER_POSTGRES) {
		if (!has_postgres)
			complaints_at_member(
			    l, at, "postgres", "built without PostgreSQL");
		if (broker->redis.url.password == NULL)
			return;
		if (json_object_get(value, "password") != NULL)
			complaints_at_member(l, at, "password",
			    "\"postgres\" already has a password");
		broker->password = broker->redis.url.password;
	} else {
		bool some = false;
		for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
			some |= json_object_get(value, ways[i]) != NULL;
		if (!some)
			complaints_at(l, at, "\"redis\", \"cluster\", "
			    "\"sentinels\", \"postgres\" or \"kafka\" is "
			    "missing");
		cross_check_pairs(l, GROUP_BROKER, at, value);
		cross_check_redis(l, &m, &broker->password);
		broker->redis.password = broker->password;
	}
}
