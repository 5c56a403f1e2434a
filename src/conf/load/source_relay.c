/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/kinds.h"
#include "conf/load/complaints_private.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/object_private.h"
#include "conf/load/path_private.h"
#include "conf/load/source_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/load/url_private.h"

/* Of each shard, where the file does not say it. */
enum { EVENTS_MAXLEN = 100000 };

/* What stands behind the name of the table with the relay's position. */
static const char position[] = "_position";
/* What stands behind the name of a topic for its dead letters. */
static const char dead[] = ".dead";

#define RELAY_OPTION(field) \
	option_at(GROUP_RELAY, offsetof(struct conf_relay, field))

static const struct option *
relays_option(void)
{
	return option_at(GROUP_ROOT, offsetof(struct conf, relays));
}

/* --- the receiver of a webhook --- */

/* How many bytes stand before the path; 0: it is no such URL. */
static size_t
length_of_authority(const char *url)
{
	static const char *const schemes[] = {"http://", "https://"};
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
		size_t len = strlen(schemes[i]);
		if (strncasecmp(url, schemes[i], len) == 0)
			return len + strcspn(url + len, "/?#");
	}
	return 0;
}

/* What stands behind the authority; the caller frees it. */
static char *
read_rest(struct loader *l, const struct json_place *at, const char *rest)
{
	char *target =
	    mem_printf("%s%s", *rest == '/' ? "" : "/", rest);
	const char *wrong = path_wrong_target(target);
	if (wrong != NULL)
		complaints_at(l, at, "what follows the host %s", wrong);
	return target;
}

static void
read_url(struct loader *l, const struct json_place *at, const char *url,
    struct conf_upstream *receiver)
{
	size_t len = length_of_authority(url);
	if (len == 0) {
		complaints_at(l, at, "must be a URL: https://HOST[:PORT]/PATH "
		    "or http://HOST[:PORT]/PATH");
		return;
	}
	json_t *authority = json_stringn(url, len);
	if (authority != NULL)
		url_load_target(l, at, authority, receiver);
	json_decref(authority);
	if (receiver->n_targets == 0)
		return;
	struct conf_target *target = &receiver->targets[0];
	text_free(&target->url);
	text_free(&target->base_path);
	target->url = mem_str(span_str(url));
	target->base_path = read_rest(l, at, url + len);
}

void
source_relay_parse_receiver(struct loader *l, const struct given *given)
{
	struct conf_upstream *receiver = given_field(given);
	char *url = text_read(l, given->at, given->value);
	if (url == NULL)
		return;
	text_env_hide(given->value);
	object_load_presets(l, GROUP_UPSTREAM, receiver);
	receiver->host = HOST_TARGET;
	read_url(l, given->at, url, receiver);
	text_free(&url);
}

void
source_relay_clear_receiver(void *base, void *field)
{
	(void)base;
	object_clear(GROUP_UPSTREAM, field);
}

/* --- checks --- */

/* One relay on its way. */
struct relaying {
	struct loader *l;
	const struct json_place *at;
	json_t *object; /* as the file has it */
	struct conf_relay *relay;
};

#define COMPLAIN(c, field, ...) \
	complaints_at_option((c)->l, (c)->at, RELAY_OPTION(field), __VA_ARGS__)

static bool
is_named(const char *name, const char *other)
{
	return other != NULL && !strcmp(name, other);
}

/* Whether a source reads or writes what has that name. */
static bool
has_place(const struct conf_source *source, const char *name)
{
	if (is_named(name, source->table) || is_named(name, source->results) ||
	    is_named(name, source->dead_letters))
		return true;
	for (size_t i = 0; i < source->topics.count; i++) {
		const char *topic = source->topics.list[i];
		size_t len = strlen(topic);
		if (strncmp(name, topic, len) == 0 &&
		    (name[len] == '\0' || !strcmp(name + len, dead)))
			return true;
	}
	return false;
}

/* What the relay brings would be a message, or a result among results. */
static void
check_sources(const struct relaying *c, const struct option *option,
    const char *name)
{
	const struct conf *conf = c->l->conf;
	for (size_t i = 0; i < conf->n_sources; i++)
		if (conf->sources[i].broker == c->relay->broker &&
		    has_place(&conf->sources[i], name))
			complaints_at_option(c->l, c->at, option,
			    "the source \"%s\" has this %s",
			    conf->sources[i].name, option->path);
}

/* The name of a table, beside which is that of its positions. */
static void
check_table(const struct relaying *c, const char *table)
{
	const char *dot = strchr(table, '.');
	const char *name = dot != NULL ? dot + 1 : table;
	size_t len = strlen(name), more = sizeof position - 1;
	if (len + more > IDENTIFIER_MAX)
		COMPLAIN(c, table,
		    "\"%s%s\" is needed too: its name is too long", table,
		    position);
	else if (len > more && !strcmp(name + len - more, position))
		COMPLAIN(c, table,
		    "must not end in \"%s\", as the tables of positions do",
		    position);
}

/* Complains where what the broker has is not there, or the other one is. */
static void
check_place(const struct relaying *c)
{
	const struct conf_broker *broker = c->relay->broker;
	bool kafka = broker->kind == BROKER_KAFKA;
	const struct option *place =
	    kafka ? RELAY_OPTION(topic) : RELAY_OPTION(table);
	const struct option *other =
	    kafka ? RELAY_OPTION(table) : RELAY_OPTION(topic);
	const char *others = kafka ? "PostgreSQL" : "Kafka";
	const char *kind = kinds_name(broker->kind);
	const char *name = kafka ? c->relay->topic : c->relay->table;
	bool has = json_object_get(c->object, place->path) != NULL;
	bool has_other = json_object_get(c->object, other->path) != NULL;
	if (has_other && has)
		complaints_at_option(c->l, c->at, other,
		    "only a broker of %s has this", others);
	else if (has_other)
		complaints_at_option(c->l, c->at, other, "\"%s\" is for a "
		    "broker of %s; \"%s\" is one of %s, where it is \"%s\"",
		    other->path, others, broker->name, kind, place->path);
	else if (!has)
		complaints_at(c->l, c->at,
		    "\"%s\" is missing: \"%s\" is a broker of %s",
		    place->path, broker->name, kind);
	if (name != NULL && !kafka)
		check_table(c, name);
	if (name != NULL)
		check_sources(c, place, name);
}

static bool
has_events(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].name != NULL &&
		    !strcmp(conf->routes[i].name, name) &&
		    conf->routes[i].idempotency != NULL)
			return true;
	return false;
}

static void
say_no_route(
    struct loader *l, const struct json_place *at, const char *name)
{
	struct nearest nearest = nearest_to(span_str(name));
	for (size_t i = 0; i < l->conf->n_routes; i++)
		if (l->conf->routes[i].idempotency != NULL &&
		    l->conf->routes[i].name != NULL)
			nearest_try(
			    &nearest, span_str(l->conf->routes[i].name));
	unknown_name(l, at, "idempotent route", &nearest, NULL);
}

static void
check_one(const struct relaying *c)
{
	const struct conf_broker *broker = c->relay->broker;
	const struct strings *routes = &c->relay->routes;
	struct json_place list = {c->at, RELAY_OPTION(routes)->path, 0};
	const json_t *states =
	    json_object_get(c->object, RELAY_OPTION(states)->path);
	bool webhook =
	    json_object_get(c->object, RELAY_OPTION(receiver)->path) != NULL;
	c->relay->kind = webhook			     ? RELAY_WEBHOOK
	    : broker != NULL && broker->kind == BROKER_KAFKA ? RELAY_KAFKA
							     : RELAY_POSTGRES;
	if (!json_is_object(c->object))
		return;
	cross_check_pairs(c->l, GROUP_RELAY, c->at, c->object);
	bool secrets =
	    json_object_get(c->object, RELAY_OPTION(secrets)->path) != NULL;
	if (webhook && !secrets)
		complaints_at(c->l, c->at, "\"secrets\" is missing");
	if (secrets && !webhook)
		COMPLAIN(c, secrets, "only a webhook has secrets");
	if (!webhook &&
	    json_object_get(c->object, RELAY_OPTION(broker)->path) == NULL)
		complaints_at(c->l, c->at,
		    "\"broker\" is missing, or \"webhook\" instead");
	if (!webhook && broker != NULL && broker->kind == BROKER_STREAMS)
		COMPLAIN(c, broker, "\"%s\" is a broker of Redis, to which no "
		    "outcomes are brought: name one of PostgreSQL or Kafka",
		    broker->name);
	else if (!webhook && broker != NULL)
		check_place(c);
	for (size_t i = 0; i < routes->count; i++) {
		struct json_place at = {&list, NULL, i};
		if (!has_events(c->l->conf, routes->list[i]))
			say_no_route(c->l, &at, routes->list[i]);
	}
	if (json_is_array(states) && json_array_size(states) == 0)
		COMPLAIN(c, states, "must not be empty");
}

void
source_relay_check(struct loader *l)
{
	struct conf *conf = l->conf;
	struct json_place list = {NULL, relays_option()->path, 0};
	json_t *objects = loader_value(l, relays_option());
	for (size_t i = 0; i < conf->n_relays; i++) {
		struct conf_relay *relay = &conf->relays[i];
		struct json_place at = {&list, relay->name, 0};
		const struct relaying c = {
		    l, &at, json_object_get(objects, relay->name), relay};
		check_one(&c);
	}
	if (conf->n_relays > 0 && conf->store.events_maxlen == 0)
		conf->store.events_maxlen = EVENTS_MAXLEN;
}
