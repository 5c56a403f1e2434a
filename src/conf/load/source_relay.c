/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/load/brokers_private.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/object_private.h"
#include "conf/load/rule_private.h"
#include "conf/load/source_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/load/url_private.h"

/* Of each shard, where the file does not say it. */
enum { EVENTS_MAXLEN = 100000 };

/* What stands behind the name of the table with the relay's position. */
static const char position[] = "_position";

/* --- the receiver of a webhook --- */

/* A URL, which may have a path and a query, into a struct conf_upstream. */
void
source_relay_parse_receiver(struct loader *l, const struct given *given)
{
	static const char *const schemes[] = {"http://", "https://"};
	struct conf_upstream *receiver = given->field;
	size_t len = 0; /* of what stands before the path */
	char *url = text_read_hidden(l, given->at, given->value);
	if (url == NULL)
		return;
	object_load_presets(l, GROUP_UPSTREAM, receiver);
	receiver->host = HOST_TARGET;
	receiver->targets = loader_alloc(l, sizeof *receiver->targets);
	for (size_t i = 0; i < 2 && len == 0; i++)
		if (!strncasecmp(url, schemes[i], strlen(schemes[i])))
			len = strlen(schemes[i]);
	if (len == 0) {
		complaints_at(l, given->at, "must be a URL: "
		    "https://HOST[:PORT]/PATH or http://HOST[:PORT]/PATH");
		return;
	}
	len += strcspn(url + len, "/?#");
	url_add_target(l, given->at,
	    arena_str(l->conf->arena, span_of(url, len)), receiver);
	if (receiver->n_targets == 0)
		return;
	struct conf_target *target = &receiver->targets[0];
	target->url = url;
	target->base_path = loader_printf(
	    l, "%s%s", url[len] == '/' ? "" : "/", url + len);
	const char *wrong = rule_of[TYPE_TARGET_PATH].wrong(target->base_path);
	if (wrong != NULL)
		complaints_at(
		    l, given->at, "what follows the host %s", wrong);
}

/* --- checks --- */

#define COMPLAIN(path, ...) complaints_at_member(l, at, path, __VA_ARGS__)

/* The name of a table, beside which is that of its positions. */
static void
check_table(
    struct loader *l, const struct json_place *at, const char *table)
{
	const char *dot = strchr(table, '.');
	const char *name = dot != NULL ? dot + 1 : table;
	size_t len = strlen(name), more = sizeof position - 1;
	if (len + more > IDENTIFIER_MAX)
		COMPLAIN("table",
		    "\"%s%s\" is needed too: its name is too long", table,
		    position);
	else if (len > more && !strcmp(name + len - more, position))
		COMPLAIN("table",
		    "must not end in \"%s\", as the tables of positions do",
		    position);
}

/* Whether there is an idempotent route of that name. */
static void
check_route(struct loader *l, const struct json_place *at, const char *name)
{
	struct nearest nearest = nearest_to(span_str(name));
	for (size_t i = 0; i < l->conf->n_routes; i++) {
		const struct conf_route *route = &l->conf->routes[i];
		if (route->idempotency == NULL || route->name == NULL)
			continue;
		if (strcmp(route->name, name) == 0)
			return;
		nearest_try(&nearest, span_str(route->name));
	}
	unknown_name(l, at, "idempotent route", &nearest, NULL);
}

void
source_relay_check(struct loader *l, const struct json_place *at,
    json_t *value, void *entry)
{
	struct conf_relay *relay = entry;
	const struct conf_broker *broker = relay->broker;
	struct json_place list = {at, "routes", 0};
	const json_t *states = json_object_get(value, "states");
	bool webhook = json_object_get(value, "webhook") != NULL;
	bool secrets = json_object_get(value, "secrets") != NULL;
	relay->kind = webhook				     ? RELAY_WEBHOOK
	    : broker != NULL && broker->kind == BROKER_KAFKA ? RELAY_KAFKA
							     : RELAY_POSTGRES;
	if (l->conf->store.events_maxlen == 0)
		l->conf->store.events_maxlen = EVENTS_MAXLEN;
	if (!json_is_object(value))
		return;
	cross_check_pairs(l, GROUP_RELAY, at, value);
	if (webhook && !secrets)
		complaints_at(l, at, "\"secrets\" is missing");
	if (secrets && !webhook)
		COMPLAIN("secrets", "only a webhook has secrets");
	if (!webhook && json_object_get(value, "broker") == NULL)
		complaints_at(
		    l, at, "\"broker\" is missing, or \"webhook\" instead");
	if (!webhook && broker != NULL && broker->kind == BROKER_STREAMS) {
		COMPLAIN("broker", "\"%s\" is a broker of Redis, to which "
		    "no outcomes are brought: name one of PostgreSQL or Kafka",
		    broker->name);
	} else if (!webhook && broker != NULL) {
		brokers_check_members(l, GROUP_RELAY, at, value, broker);
		if (broker->kind == BROKER_POSTGRES && relay->table != NULL)
			check_table(l, at, relay->table);
	}
	for (size_t i = 0; i < relay->routes.count; i++) {
		struct json_place here = {&list, NULL, i};
		check_route(l, &here, relay->routes.list[i]);
	}
	if (json_is_array(states) && json_array_size(states) == 0)
		COMPLAIN("states", "must not be empty");
}
