/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/field.h"
#include "base/mem.h"
#include "conf/address.h"
#include "conf/load/asks_private.h"
#include "conf/load/certificates.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/path_private.h"

/* --- members that exclude or need each other --- */

void
cross_check_pairs(struct loader *l, enum group group,
    const struct json_place *at, json_t *object)
{
	static const struct {
		enum group group;
		const char *path;
		enum { NEEDS, NOT_BESIDE } relation;
		const char *other;
	} pairs[] = {
#define PAIR(group, path, relation, other) \
	{GROUP_##group, path, relation, other},
#include "tbl/option_pairs.h"
#undef PAIR
	};
	const char *said = "";
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		const char *path = pairs[i].path, *other = pairs[i].other;
		bool beside = loader_value(object, other) != NULL;
		if (pairs[i].group != group || !strcmp(path, said) ||
		    loader_value(object, path) == NULL ||
		    beside == (pairs[i].relation == NEEDS))
			continue;
		said = path;
		if (beside)
			complaints_at_member(l, at, path, "cannot be combined "
			    "with \"%s\": leave one of them out", other);
		else
			complaints_at_member(
			    l, at, path, "\"%s\" is needed too", other);
	}
}

/* --- addresses --- */

static void
check_listen(struct loader *l)
{
	static const char message[] = "only a Unix socket can have this";
	const struct conf *conf = l->conf;
	struct json_place list = {NULL, "listen", 0};
	for (size_t i = 0; i < conf->n_listen; i++) {
		const struct conf_listen *listen = &conf->listen[i];
		const struct address *a = &listen->address;
		struct json_place at = {&list, NULL, i};
		bool local = a->kind == ADDRESS_UNIX;
		if (local && listen->proxies.count > 0)
			complaints_at_member(l, &at, "proxy_protocol",
			    "nobody on a Unix socket has an address");
		if (!local && listen->mode != 0)
			complaints_at_member(l, &at, "mode", "%s", message);
		if (!local && listen->group != NULL)
			complaints_at_member(
			    l, &at, "group", "%s", message);
		bool fixed = a->text != NULL && (local || a->port != 0);
		for (size_t j = 0; j < i && fixed; j++) {
			const char *other = conf->listen[j].address.text;
			if (other == NULL || strcmp(other, a->text) != 0)
				continue;
			complaints_at(l, &at,
			    "this address appears twice (first at /%s/%zu)",
			    list.member, j);
			break;
		}
	}
}

/* Whether the host is the other one, or among all that it stands for. */
static bool
is_within(const char *host, const char *all)
{
	bool v6 = strchr(host, ':') != NULL;
	return *all == '\0' || !strcmp(all, host) ||
	    !strcmp(all, v6 ? "::" : "0.0.0.0");
}

/* Whether no two sockets can have both; port 0 is another one each time. */
static bool
collide(const struct address *a, const struct address *b)
{
	if (b->text == NULL || a->kind != b->kind)
		return false;
	if (a->kind == ADDRESS_UNIX)
		return !strcmp(a->text, b->text);
	return a->port != 0 && a->port == b->port &&
	    (is_within(a->host, b->host) || is_within(b->host, a->host));
}

static void
check_admin(struct loader *l)
{
	const struct conf *conf = l->conf;
	const struct json_place admin = {NULL, "admin", 0};
	const struct json_place list = {&admin, "tokens", 0};
	for (size_t i = 0; i < conf->n_listen && conf->admin.text; i++)
		if (collide(&conf->admin, &conf->listen[i].address)) {
			complaints_at_member(l, NULL, "admin.listen",
			    "clients have this address already "
			    "(\"listen\"): another port is needed");
			break;
		}
	if (conf->admin.text != NULL && !address_is_local(&conf->admin) &&
	    loader_value(l->root, "admin.token") == NULL &&
	    json_object_size(loader_value(l->root, "admin.tokens")) == 0)
		complaints_at_member(l, NULL, "admin.listen",
		    "others can reach this address: \"admin.token\" is "
		    "needed");
	/* By the names history tells gateways and retries from people. */
	for (size_t i = 0; i < conf->n_admin_tokens; i++) {
		const char *name = conf->admin_tokens[i].name;
		const struct json_place at = {&list, name, 0};
		if (name != NULL &&
		    (!strcmp(name, "request") || !strcmp(name, "sweep")))
			complaints_at(l, &at,
			    "its name stands in history for a retry, or for "
			    "the gateway itself");
	}
}

/* --- a Redis: the store's, or a broker's --- */

/* User and password come from the URL, or from members of their own. */
static void
check_login(struct loader *l, const struct redis_members *m, char **password)
{
	static const char *const both[] = {"user", "password"};
	struct conf_redis *redis = m->redis;
	bool has_user = loader_value(m->object, "user") != NULL;
	bool has_password = loader_value(m->object, "password") != NULL;
	redis->login_elsewhere =
	    (redis->url.user != NULL || redis->url.password != NULL) &&
	    json_is_object(json_object_get(m->object, "redis"));
	for (size_t i = 0; i < 2; i++) {
		if (loader_value(m->object, both[i]) == NULL)
			continue;
		if (redis->managed)
			complaints_at_member(l, m->at, both[i],
			    "the managed Redis takes no user or password");
		else if (redis->url.password != NULL)
			complaints_at_member(l, m->at, both[i], "\"%sredis\" "
			    "already has a password: leave this out",
			    m->prefix);
	}
	if (redis->url.password != NULL) {
		*password = redis->url.password;
		redis->user = redis->url.user;
	} else if (redis->url.user == NULL) {
		if (has_user && !has_password)
			complaints_at_member(l, m->at, "user",
			    "\"%spassword\" is needed too", m->prefix);
	} else if (has_user) {
		complaints_at_member(l, m->at, "user", "\"%sredis\" already "
		    "has a user: leave one of them out", m->prefix);
	} else if (!has_password) {
		complaints_at_member(l, m->at, "redis", "a user needs a "
		    "password: redis://USER:PASSWORD@HOST, or the member "
		    "\"%spassword\"", m->prefix);
	} else {
		redis->user = redis->url.user;
	}
}

void
cross_check_redis(
    struct loader *l, const struct redis_members *m, char **password)
{
	static const char *const all[] = {
	    "tls.ca", "tls.certificate", "tls.key", "tls.server_name"};
	struct conf_redis *redis = m->redis;
	bool many = redis->cluster.count > 0 || redis->sentinels.count > 0;
	check_login(l, m, password);
	/* The mere presence says whether TLS is spoken there. */
	if (many && loader_value(m->object, "tls") != NULL)
		redis->tls.on = true;
	/* Otherwise it has been complained about, and may have meant TLS. */
	bool known = redis->managed || redis->address.text != NULL || many;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (known && !redis->tls.on &&
		    loader_value(m->object, all[i]) != NULL)
			complaints_at_member(l, m->at, all[i],
			    "only \"rediss://...\", a cluster and Sentinels "
			    "have this: where that Redis speaks TLS, its URL "
			    "begins with \"rediss://\"");
	if (redis->tls.on)
		certificates_load_redis(l, m->at, m->prefix, &redis->tls);
}

static void
check_store(struct loader *l)
{
	struct conf_store *store = &l->conf->store;
	struct json_place at = {NULL, "store", 0};
	json_t *object = loader_value(l->root, "store");
	const struct redis_members members = {
	    "store.", object, &at, &store->redis};
	const char *text = json_string_value(loader_value(object, "redis"));
	/* What is meant to lead to a Redis may be wrong. */
	bool meant = (text != NULL && strcmp(text, "managed") != 0) ||
	    loader_value(object, "cluster") != NULL ||
	    loader_value(object, "sentinels") != NULL;
	/* Under a name that there is not, too. */
	for (size_t i = 0; i < l->n_alone && !meant; i++)
		meant = l->complaints->list[i].of_name &&
		    !strncmp(l->complaints->list[i].pointer, "/store/", 7);
	if (meant)
		store->redis.managed = false;
	cross_check_pairs(l, GROUP_ROOT, NULL, l->root);
	cross_check_redis(l, &members, &store->redis.password);
	for (size_t i = 0; i < store->n_encryption_keys; i++) {
		const struct json_place keys = {&at, "encryption_keys", 0};
		const struct json_place here = {&keys, NULL, i};
		const char *id = store->encryption_keys[i].id;
		bool repeats = false;
		for (size_t k = 0; k < i && id != NULL; k++) {
			const char *other = store->encryption_keys[k].id;
			repeats |= other != NULL && !strcmp(other, id);
		}
		if (repeats)
			complaints_at(l, &here, "another key has this id");
	}
	if (store->wait_replicas > 0 && store->redis.managed)
		complaints_at_member(l, NULL, "store.wait_replicas",
		    "the managed Redis has no replicas");
	if (store->encryption_strict && store->n_encryption_keys == 0)
		complaints_at_member(l, NULL, "store.encryption_strict",
		    "without store.encryption_keys no answer could be read");
}

/* --- routes --- */

/*
 * A name that the file gives is for telling routes apart in logs and metrics;
 * routes without one may share a path, by methods that differ.
 */
static void
check_route_name(struct loader *l, const struct json_place *at,
    const struct conf_route *route)
{
	if (!strcmp(route->name, "-"))
		complaints_at_member(
		    l, at, "name", "\"-\" stands for no route in the log");
	for (size_t i = 0; i < l->conf->n_routes; i++) {
		const struct conf_route *other = &l->conf->routes[i];
		bool given = other->name != other->path;
		/* Of two given names only the second is wrong. */
		if (other == route || (given && i > route->index) ||
		    other->name == NULL ||
		    strcmp(other->name, route->name) != 0)
			continue;
		complaints_at_member(l, at, "name",
		    "another route has this name: /routes/%zu", i);
		break;
	}
}

/* --- the variables of a route's path, and what else rests on it --- */

static void
check_variable(struct loader *l, const struct json_place *at,
    const char *path, const struct conf_route *route, struct span name)
{
	if (conf_variable(route, name) >= 0)
		return;
	char *words = path_no_variable(route, name);
	complaints_at_member(l, at, path, "%s", words);
	free(words);
}

/*
 * Whether requests with one key all have one entity, so that the shard of the
 * record may follow from the entity.
 */
static bool
key_determines_entity(const struct conf_idempotency *policy)
{
	const struct conf_entity *entity = &policy->entity;
	const struct template *namespace = &policy->namespace;
	for (size_t i = 0; entity->path != NULL && i < namespace->count; i++)
		if (namespace->pieces[i].kind == TEMPLATE_PATH &&
		    span_eq(namespace->pieces[i].text, span_str(entity->path)))
			return true;
	if (entity->path != NULL || policy->derive_from_body)
		return entity->path == NULL;
	for (size_t i = 0; i < entity->pointers.count; i++)
		if (!json_pointer_is_in(
			&entity->pointers.list[i], &policy->derive_from))
			return false;
	return true;
}

static void
check_entity(struct loader *l, const struct json_place *at,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	bool has = conf_has_entity(policy);
	if (policy->entity.path != NULL)
		check_variable(l, at, "entity", route,
		    span_str(policy->entity.path));
	if (has && l->conf->store.redis.cluster.count > 0 &&
	    !key_determines_entity(policy))
		complaints_at_member(l, at, "entity", "on a cluster the key "
		    "must determine the entity: its pointers must be among "
		    "those of \"derive_key\", or its variable in "
		    "\"namespace\"");
	if (!has && policy->serialize)
		complaints_at_member(
		    l, at, "serialize", "\"entity\" is needed too");
	if (!has && policy->newer_only.count > 0)
		complaints_at_member(
		    l, at, "newer_only", "\"entity\" is needed too");
}

/* One entry of the scope. */
static void
check_scope(struct loader *l, const struct json_place *list,
    const struct conf_route *route, const struct conf_scope *s)
{
	const struct conf *conf = l->conf;
	const struct conf_upstream *upstream = route->upstream;
	struct json_place at = {list, NULL, s->index};
	bool asks = conf->n_listen == 0; /* clients for a certificate */
	for (size_t i = 0; i < conf->n_listen; i++)
		asks |= conf->listen[i].tls.ca != NULL;
	if (s->kind == SCOPE_PATH)
		check_variable(l, &at, "path", route, span_str(s->path));
	if (s->kind == SCOPE_CERTIFICATE && !asks)
		complaints_at(l, &at, "no address asks clients for a "
		    "certificate: \"tls.client_ca\" of one of \"listen\" is "
		    "needed");
	/* The upstream would not see what tells tenants apart. */
	if (s->kind == SCOPE_HEADER && upstream != NULL &&
	    !upstream->trust_overrides &&
	    field_kind_met(span_str(s->header)) == FIELD_OVERRIDE)
		complaints_at(l, &at, "%s is dropped unless "
		    "\"trust_overrides\" of the upstream is true", s->header);
}

/*
 * What the upstream is told is dropped from the client's request, where the key
 * and the scope are needed; a witness must be told both.
 */
static void
check_told(struct loader *l, const struct json_place *at,
    const struct conf_idempotency *policy)
{
	const char *const told[][2] = {
	    {"attempt_header", policy->attempt_header},
	    {"key_id_header", policy->key_id_header}};
	const struct strings *keys = &policy->headers;
	for (size_t k = 0; k < 2; k++) {
		const char *member = told[k][0], *header = told[k][1];
		for (size_t i = 0; i < keys->count + policy->scope.count; i++) {
			const char *used = i < keys->count
			    ? keys->list[i]
			    : scopes_header(
				  &policy->scope.list[i - keys->count]);
			if (used != NULL && !strcasecmp(used, header))
				complaints_at(l, at, "\"%s\" names a header "
				    "of the key or the scope", member);
		}
		if (*header == '\0' && policy->on_unknown == UNKNOWN_WITNESS)
			complaints_at_member(l, at, member, "the API must be "
			    "told, or it cannot write a row for the witness");
	}
	if (*policy->key_id_header != '\0' &&
	    !strcasecmp(policy->key_id_header, policy->attempt_header))
		complaints_at_member(l, at, "key_id_header",
		    "\"attempt_header\" is the same");
}

/* One object of idempotency, by itself. */
static void
check_policy(struct loader *l, const struct json_place *at,
    const struct conf_idempotency *policy)
{
	/* The conf is still in the making. */
	struct conf_idempotency *made =
	    (struct conf_idempotency *)(uintptr_t)policy;
	if (policy->key_id_header == NULL)
		made->key_id_header = loader_str(l,
		    policy->on_unknown == UNKNOWN_WITNESS
			? "Idempotency-Key-Id"
			: "");
	check_told(l, at, policy);
	if (policy->fingerprint_only.count > 0 &&
	    (policy->fingerprint_include & FINGERPRINT_BODY) == 0)
		complaints_at_member(l, at, "fingerprint.only",
		    "without \"body\" in \"fingerprint.include\" no member "
		    "counts");
	if (policy->min_length > policy->max_length)
		complaints_at_member(l, at, "min_length",
		    "is more than \"max_length\": no key would be accepted");
	for (size_t i = 0; i < policy->replay_json.count; i++)
		if (!json_pointer_is_in(&policy->replay_json.list[i],
			&policy->fingerprint_ignore))
			complaints_at_member(l, at, "replay_json",
			    "each of them must be in \"fingerprint.ignore\" "
			    "too, or no retry could have another value");
	if (policy->fingerprint_ignore.count > 0 ||
	    policy->fingerprint_only.count > 0)
		made->fingerprint_json = true;
}

/* What rests on the path of a route, and what it asks about its keys. */
static void
check_keys(struct loader *l, const struct json_place *at,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	struct json_place scope = {at, "scope", 0};
	for (size_t k = 0; k < policy->scope.count; k++)
		check_scope(l, &scope, route, &policy->scope.list[k]);
	/* No key of a client is looked at: then the body must make one. */
	bool bare = policy->headers.count == 0 &&
	    !loader_wrong_alone(l, route, "header") &&
	    !loader_wrong_alone(l, route, "derive_key");
	if (bare && !policy->derive_from_body && policy->derive_from.count == 0)
		complaints_at_member(l, at, "header",
		    "no request would have a key: without a header "
		    "\"derive_key\" is needed");
	if (bare && policy->send_derived)
		complaints_at_member(l, at, "send_derived",
		    "there is no header to send it in: \"header\" is empty");
	/* It may have {*}, too. */
	for (size_t k = 0; k < policy->namespace.count; k++) {
		const struct template_piece *piece =
		    &policy->namespace.pieces[k];
		if (piece->kind == TEMPLATE_PATH &&
		    !span_eq(piece->text, SPAN("*")))
			check_variable(l, at, "namespace", route, piece->text);
	}
	check_entity(l, at, route);
	asks_check(l, at, route);
}

/* --- what follows from others --- */

void
cross_check_fill_in(struct loader *l)
{
	struct conf *conf = l->conf;
	if (conf->instance == NULL) {
		char host[65] = "";
		bool named =
		    gethostname(host, sizeof host - 1) == 0 && *host != '\0';
		conf->instance = loader_str(l, named ? host : "onceproxy");
		/* For what a name here does not have. */
		for (char *p = conf->instance; *p != '\0'; p++)
			if (!ascii_is_alpha(*p) && !ascii_is_digit(*p) &&
			    strchr("._-", *p) == NULL)
				*p = '-';
	}
	if (conf->workers == 0) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);
		int64_t most = option_of_path(GROUP_ROOT, "workers")->max;
		conf->workers = online < 1 ? 1 : online;
		if (conf->workers > most)
			conf->workers = most;
	}
	if (conf->state_dir == NULL)
		conf->state_dir =
		    loader_str(l, LOCALSTATEDIR "/lib/onceproxy");
}

void
cross_check_conf(struct loader *l)
{
	struct json_place list = {NULL, "routes", 0};
	struct json_place defaults = {NULL, "defaults", 0};
	check_listen(l);
	check_admin(l);
	check_store(l);
	check_policy(l, &defaults, l->conf->defaults);
	for (size_t i = 0; i < l->conf->n_routes; i++) {
		const struct conf_route *route = &l->conf->routes[i];
		struct json_place at = {&list, NULL, i};
		struct json_place policy = {&at, "idempotency", 0};
		if (route->name != route->path)
			check_route_name(l, &at, route);
		if (route->idempotency != NULL)
			check_policy(l, &policy, route->idempotency);
		else if (route->observes)
			complaints_at_member(l, &at, "mode",
			    "a route without \"idempotency\" has no keys");
		if (route->idempotency != NULL && route->path != NULL)
			check_keys(l, &policy, route);
		if (route->status != NULL)
			path_finish_own(
			    l, &at, route, route->status, ROUTE_STATUS);
		if (route->policy != NULL)
			path_finish_own(
			    l, &at, route, route->policy, ROUTE_POLICY);
	}
	cross_check_fill_in(l);
}
