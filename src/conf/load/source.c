/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"
#include "conf/amount.h"
#include "conf/load/asks_private.h"
#include "conf/load/brokers_private.h"
#include "conf/load/conf_said.h"
#include "conf/load/source_private.h"
#include "conf/show.h"
#include "conf/source_asks.h"

/* How long a message may come again: what Kafka keeps, and Redis for ever. */
static const int64_t retention_ms = INT64_C(7) * 24 * 3600 * 1000;

/* One source on its way. */
struct checked {
	struct loader *l;
	const struct json_place *at;
	struct conf_source *source;
	const struct conf_route *route; /* where it may come to */
};

#define COMPLAIN(c, path, ...) \
	complaints_at_member((c)->l, (c)->at, path, __VA_ARGS__)

/* --- what a message has --- */

static const char *
missing_variable(const struct checked *c, enum template_kind kind)
{
	const struct conf_columns *columns = &c->source->columns;
	const enum broker_kind broker = c->source->broker->kind;
	bool table = broker == BROKER_POSTGRES;
	if (kind == TEMPLATE_KEY && broker != BROKER_KAFKA)
		return "{key}: the messages of this broker have no key";
	if (kind == TEMPLATE_ENTITY && !table)
		return "{entity}: only the rows of a table have one";
	if (kind == TEMPLATE_ENTITY && columns->entity == NULL)
		return "{entity}: \"columns.entity\" must not be null";
	if (kind == TEMPLATE_TYPE && !table)
		return "{type}: only the rows of a table have one";
	if (kind == TEMPLATE_TYPE && columns->type == NULL)
		return "{type}: \"columns.type\" must not be null";
	return kind == TEMPLATE_HEADER && table && columns->headers == NULL
	    ? "{header:NAME}: \"columns.headers\" is needed too"
	    : NULL;
}

static void
check_variables(const struct checked *c, const struct json_place *at,
    const struct template *t)
{
	unsigned said = 0;
	for (size_t i = 0; i < t->count; i++) {
		enum template_kind kind = t->pieces[i].kind;
		const char *wrong = missing_variable(c, kind);
		if (wrong != NULL && (said & 1u << kind) == 0)
			complaints_at(c->l, at, "%s", wrong);
		said |= 1u << kind;
	}
}

/* All that is to be in one: variables, the key and the order. */
static void
check_parts(const struct checked *c)
{
	static const char no_headers[] = "\"columns.headers\" is needed too";
	const struct conf_source *source = c->source;
	const enum broker_kind broker = source->broker->kind;
	bool table = broker == BROKER_POSTGRES;
	bool has_headers = !table || source->columns.headers != NULL;
	struct json_place request = {c->at, "request", 0};
	struct json_place path = {&request, "path", 0};
	struct json_place headers = {&request, "headers", 0};
	check_variables(c, &path, &source->request.path);
	for (size_t i = 0; i < source->request.n_headers; i++) {
		struct json_place at = {
		    &headers, source->request.headers[i].name, 0};
		check_variables(c, &at, &source->request.headers[i].value);
	}
	if (source->key == SOURCE_KEY_HEADER && !has_headers)
		COMPLAIN(c, "key", "%s", no_headers);
	if (source->order_by == SOURCE_ORDER_HEADER && !has_headers)
		COMPLAIN(c, "order_by", "%s", no_headers);
	if (source->order_by == SOURCE_ORDER_KEY && broker != BROKER_KAFKA)
		COMPLAIN(c, "order_by",
		    "the messages of this broker have no key");
	if (source->order_by == SOURCE_ORDER_ENTITY && !table)
		COMPLAIN(c, "order_by",
		    "only the rows of a table have an entity");
	else if (source->order_by == SOURCE_ORDER_ENTITY &&
	    source->columns.entity == NULL)
		COMPLAIN(c, "order_by",
		    "\"columns.entity\" must not be null");
	if (source->max_age_ms > 0 && table && source->columns.order == NULL)
		COMPLAIN(c, "max_age",
		    "\"columns.order\" is needed too, a timestamptz: nothing "
		    "else says how old a row is");
}

/* --- what a route must be --- */

/* Whether one of the scope's entries before that one is of the header, too. */
static bool
repeats_header(
    const struct conf_scopes *scope, size_t index, const char *header)
{
	for (size_t i = 0; i < index; i++) {
		const char *other = scopes_header(&scope->list[i]);
		if (other != NULL && !strcasecmp(other, header))
			return true;
	}
	return false;
}

/* Several headers name a tenant together; of several kinds, any one does. */
static void
check_scopes(const struct checked *c)
{
	const struct conf_scopes *scope = &c->route->idempotency->scope;
	bool all = true, named = false;
	size_t headers = 0; /* of which one is enough, unless all are */
	for (size_t i = 0; i < scope->count; i++) {
		const char *header = scopes_header(&scope->list[i]);
		all &= scope->list[i].kind == SCOPE_HEADER;
		headers += header != NULL && !repeats_header(scope, i, header);
		named |= scope->list[i].kind == SCOPE_PATH ||
		    (header != NULL &&
			conf_source_header(c->source, header) != NULL);
	}
	for (size_t i = 0; i < scope->count && (all || !named); i++) {
		const char *header = scopes_header(&scope->list[i]);
		if (scope->list[i].kind == SCOPE_CERTIFICATE)
			COMPLAIN(c, "request.path",
			    "the scope of the route \"%s\" is a certificate, "
			    "which no message has: give messages a route of "
			    "their own, with another scope", c->route->name);
		if (header != NULL && !repeats_header(scope, i, header) &&
		    conf_source_header(c->source, header) == NULL)
			COMPLAIN(c, "request.headers", "\"%s\" is missing, "
			    "which is in the scope of the route \"%s\"%s",
			    header, c->route->name,
			    headers > 1 && !all
				? ": one of its entries is enough"
				: "");
	}
}

/* What the gateway says of the key and the attempt, it says by itself. */
static void
check_headers(const struct checked *c)
{
	const struct conf_idempotency *policy = c->route->idempotency;
	struct json_place request = {c->at, "request", 0};
	struct json_place headers = {&request, "headers", 0};
	for (size_t i = 0; i < c->source->request.n_headers; i++) {
		const char *name = c->source->request.headers[i].name;
		struct json_place at = {&headers, name, 0};
		for (size_t k = 0; k < policy->headers.count; k++)
			if (!strcasecmp(policy->headers.list[k], name))
				complaints_at(c->l, &at,
				    "this header is for the key of the route "
				    "\"%s\": \"key\" says what it is",
				    c->route->name);
		if (!strcasecmp(policy->attempt_header, name) ||
		    !strcasecmp(policy->key_id_header, name))
			complaints_at(c->l, &at,
			    "this header is for the attempt of the route "
			    "\"%s\"",
			    c->route->name);
	}
}

/* --- how long a route must remember --- */

/* Gives the route what it does not say; or complains where it says it. */
static void
check_retention(const struct checked *c)
{
	/* The conf is still in the making. */
	struct conf_idempotency *policy =
	    (struct conf_idempotency *)(uintptr_t)c->route->idempotency;
	const struct conf_source *source = c->source;
	char *said = conf_said(c->l->conf, c->route, "retention");
	bool wrong = loader_wrong_alone(c->l, c->route, "retention");
	if (policy->retention_ms < retention_ms && said == NULL)
		policy->retention_ms = retention_ms;
	if (policy->retention_ms < retention_ms && !wrong)
		complaints_add(c->l->complaints, mem_text(said), "the "
		    "source \"%s\" leads to the route \"%s\", which must "
		    "remember for %s at least", source->name, c->route->name,
		    amount_words(retention_ms, AMOUNT_DURATION).text);
	/* What is less is to be more, by what has just been said. */
	if (source->max_age_ms > policy->retention_ms && !wrong &&
	    source->max_age_ms > retention_ms)
		COMPLAIN(c, "max_age",
		    "must not be longer than the \"retention\" of the route "
		    "\"%s\"", c->route->name);
	free(said);
	if (source->hold_ms > policy->unknown_retention_ms &&
	    !loader_wrong_alone(c->l, c->route, "unknown_retention"))
		COMPLAIN(c, "hold",
		    "must not be longer than the \"unknown_retention\" of "
		    "the route \"%s\"", c->route->name);
}

static void
check_served_by(const struct checked *c)
{
	const struct conf_idempotency *policy = c->route->idempotency;
	const char *name = c->route->name;
	bool derives = c->source->key == SOURCE_KEY_POINTERS;
	const struct {
		bool is;
		const char *words;
	} wrong[] = {{policy == NULL, "which is not idempotent"},
	    {policy != NULL && c->route->observes, "which only observes"},
	    {policy != NULL && policy->on_store_down == STORE_DOWN_FORWARD,
		"which forwards without the promise (\"on_store_down\")"},
	    {policy != NULL && policy->scope_missing_forward,
		"which forwards what names no tenant (\"scope_missing\")"},
	    /*
	     * A message and its body, which is as long, must fit into what
	     * clients leave to sources, with room for a second one on its way.
	     */
	    {policy != NULL &&
		policy->max_request_body > c->l->conf->in_flight_bytes / 4,
		"whose \"max_request_body\" is more than a quarter of "
		"\"limits.in_flight_bytes\""}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (wrong[i].is)
			COMPLAIN(c, "request.path", "the route \"%s\" may "
			    "serve it, %s", name, wrong[i].words);
	if (policy == NULL)
		return;
	if (policy->headers.count == 0 && !derives)
		COMPLAIN(c, "key", "the route \"%s\" takes no keys "
		    "(\"header\" is empty): a list of pointers is needed here",
		    name);
	if (derives && !policy->send_derived &&
	    asks_by_key(&policy->reconcile))
		COMPLAIN(c, "key", "the route \"%s\" asks its upstream by a "
		    "key that it never sees: \"send_derived\" is needed there",
		    name);
	check_scopes(c);
	check_headers(c);
	check_retention(c);
}

void
source_check(struct loader *l, const struct json_place *at, json_t *value,
    void *entry)
{
	struct conf_source *source = entry;
	struct checked c = {l, at, source, NULL};
	const struct conf_columns *columns = &source->columns;
	const char *const all[] = {columns->id, columns->entity,
	    columns->type, columns->payload, columns->headers, columns->order};
	const char *set = source->finish.column;
	/* What its object must have is only found where that is there. */
	if (json_is_object(value) && json_object_get(value, "request") == NULL)
		complaints_at(l, at, "\"request\" is missing");
	if (source->retry_first_ms > source->retry_most_ms)
		COMPLAIN(&c, "retry.first",
		    "must not be longer than \"retry.most\"");
	size_t found = 0;
	bool leads = source->request.path.text != NULL;
	while (leads &&
	    (c.route = source_asks_route(l->conf, source, &found)) != NULL)
		check_served_by(&c);
	if (leads && found == 0)
		COMPLAIN(&c, "request.path", "no route serves it");
	if (source->broker == NULL)
		return;
	brokers_check_members(l, GROUP_SOURCE, at, value, source->broker);
	check_parts(&c);
	/* What a finished row is told by is not what the message says. */
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (set != NULL && all[i] != NULL && !strcmp(set, all[i]))
			COMPLAIN(&c, "finish",
			    "the message itself is in the column \"%s\"", set);
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
	json_t *shown = show_group(GROUP_ROOT, conf);
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
