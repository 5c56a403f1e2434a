/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/field.h"
#include "base/mem.h"
#include "conf/address.h"
#include "conf/load/certificates.h"
#include "conf/load/complaints_private.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/path_private.h"
#include "conf/load/source_private.h"

enum { HEALTH_INTERVAL_MS = 5000 };

#define ROOT_OPTION(field) option_at(GROUP_ROOT, offsetof(struct conf, field))
#define POLICY_OPTION(field) \
	option_at(GROUP_IDEMPOTENCY, offsetof(struct conf_idempotency, field))

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
	const struct option *said = NULL;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (pairs[i].group != group)
			continue;
		const struct option *option =
		    option_of_path(group, pairs[i].path);
		const struct option *other =
		    option_of_path(group, pairs[i].other);
		bool beside = loader_value_in(object, other) != NULL;
		if (option == said || loader_value_in(object, option) == NULL ||
		    beside == (pairs[i].relation == NEEDS))
			continue;
		said = option;
		if (beside)
			complaints_at_option(l, at, option, "cannot be "
			    "combined with \"%s\": leave one of them out",
			    other->path);
		else
			complaints_at_option(l, at, option,
			    "\"%s\" is needed too", other->path);
	}
}

/* --- addresses --- */

static void
check_listen(struct loader *l)
{
	static const char message[] = "only a Unix socket can have this";
	const struct conf *conf = l->conf;
	struct json_place list = {NULL, ROOT_OPTION(listen)->path, 0};
	for (size_t i = 0; i < conf->n_listen; i++) {
		const struct conf_listen *listen = &conf->listen[i];
		const struct address *a = &listen->address;
		struct json_place at = {&list, NULL, i};
		bool local = a->kind == ADDRESS_UNIX;
		if (local && listen->proxies.count > 0)
			complaints_at_option(l, &at,
			    option_of_path(GROUP_LISTEN, "proxy_protocol"),
			    "nobody on a Unix socket has an address");
		if (!local && listen->mode != 0)
			complaints_at_option(l, &at,
			    option_of_path(GROUP_LISTEN, "mode"), "%s",
			    message);
		if (!local && listen->group != NULL)
			complaints_at_option(l, &at,
			    option_of_path(GROUP_LISTEN, "group"), "%s",
			    message);
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
	if (a->text == NULL || b->text == NULL || a->kind != b->kind)
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
	for (size_t i = 0; i < conf->n_listen; i++)
		if (collide(&conf->admin, &conf->listen[i].address)) {
			complaints_at_option(l, NULL, ROOT_OPTION(admin),
			    "clients have this address already (\"%s\"): "
			    "another port is needed",
			    ROOT_OPTION(listen)->path);
			break;
		}
	if (conf->admin.text != NULL && !address_is_local(&conf->admin) &&
	    loader_value(l, ROOT_OPTION(admin_token)) == NULL)
		complaints_at_option(l, NULL, ROOT_OPTION(admin),
		    "others can reach this address: \"%s\" is needed",
		    ROOT_OPTION(admin_token)->path);
}

/* --- a Redis: the store's, or a broker's --- */

static const struct option *
option_of(const struct redis_members *m, const char *name)
{
	char *path = mem_printf("%s%s", m->prefix, name);
	const struct option *option = option_of_path(m->group, path);
	free(path);
	return option;
}

static bool
has(const struct redis_members *m, const char *name)
{
	return loader_value_in(m->object, option_of(m, name)) != NULL;
}

/* User and password come from the URL, or from members of their own. */
static void
check_login(struct loader *l, const struct redis_members *m, char **password)
{
	static const char *const both[] = {"user", "password"};
	struct conf_redis *redis = m->redis;
	const char *url = option_of(m, "redis")->path;
	redis->login_elsewhere =
	    (l->url_user != NULL || l->url_password != NULL) &&
	    json_is_object(loader_value_in(m->object, option_of(m, "redis")));
	for (size_t i = 0; i < 2; i++) {
		if (!has(m, both[i]))
			continue;
		if (redis->managed)
			complaints_at_option(l, m->at, option_of(m, both[i]),
			    "the managed Redis takes no user or password");
		else if (l->url_password != NULL)
			complaints_at_option(l, m->at, option_of(m, both[i]),
			    "\"%s\" already has a password: leave this out",
			    url);
	}
	if (l->url_password != NULL && !has(m, "user") && !has(m, "password")) {
		*password = l->url_password;
		l->url_password = NULL;
	} else if (l->url_password != NULL) {
		return;
	} else if (l->url_user == NULL) {
		if (has(m, "user") && !has(m, "password"))
			complaints_at_option(l, m->at, option_of(m, "user"),
			    "\"%s\" is needed too",
			    option_of(m, "password")->path);
		return;
	} else if (has(m, "user")) {
		complaints_at_option(l, m->at, option_of(m, "user"),
		    "\"%s\" already has a user: leave one of them out", url);
		return;
	} else if (!has(m, "password")) {
		complaints_at_option(l, m->at, option_of(m, "redis"),
		    "a user needs a password: redis://USER:PASSWORD@HOST, or "
		    "the member \"%s\"", option_of(m, "password")->path);
		return;
	}
	redis->user = l->url_user;
	l->url_user = NULL;
}

/* Whether TLS is spoken, and with what. */
static void
check_tls(struct loader *l, const struct redis_members *m)
{
	static const char *const all[] = {
	    "tls.ca", "tls.certificate", "tls.key", "tls.server_name"};
	struct conf_redis *redis = m->redis;
	bool many = redis->cluster.count > 0 || redis->sentinels.count > 0;
	char *pointer = mem_printf("%stls", m->prefix);
	const struct option object = {.path = pointer};
	/* Its mere presence says so. */
	if (many && loader_value_in(m->object, &object) != NULL)
		redis->tls.on = true;
	free(pointer);
	/* Otherwise it has been complained about, and may have meant TLS. */
	bool known = redis->managed || redis->address.text != NULL || many;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (known && !redis->tls.on && has(m, all[i]))
			complaints_at_option(l, m->at, option_of(m, all[i]),
			    "only \"rediss://...\", a cluster and Sentinels "
			    "have this: where that Redis speaks TLS, its URL "
			    "begins with \"rediss://\"");
	if (redis->tls.on)
		certificates_load_redis(l, m->at, option_of(m, "tls.ca"),
		    option_of(m, "tls.certificate"), option_of(m, "tls.key"),
		    &redis->tls);
}

void
cross_check_redis(
    struct loader *l, const struct redis_members *m, char **password)
{
	check_login(l, m, password);
	check_tls(l, m);
}

/* Whether the store has something wrong that is meant to lead to a Redis. */
static bool
is_meant(const struct loader *l)
{
	const char *text = json_string_value(
	    loader_value(l, ROOT_OPTION(store.redis.address)));
	bool meant = text != NULL && strcmp(text, "managed") != 0;
	/* Under a name that there is not, too. */
	for (size_t i = 0; i < l->n_alone && !meant; i++)
		meant = l->complaints->list[i].of_name &&
		    !strncmp(l->complaints->list[i].pointer, "/store/", 7);
	return meant;
}

static void
check_store(struct loader *l)
{
	struct conf_store *store = &l->conf->store;
	const struct redis_members members = {
	    GROUP_ROOT, "store.", l->root, NULL, &store->redis};
	/* Also where what they say is wrong. */
	if (has(&members, "cluster") || has(&members, "sentinels") ||
	    is_meant(l))
		store->redis.managed = false;
	cross_check_pairs(l, GROUP_ROOT, NULL, l->root);
	cross_check_redis(l, &members, &store->redis.password);
	if (store->wait_replicas > 0 && store->redis.managed)
		complaints_at_option(l, NULL, ROOT_OPTION(store.wait_replicas),
		    "the managed Redis has no replicas");
	if (store->encryption_strict && store->n_encryption_keys == 0)
		complaints_at_option(l, NULL,
		    ROOT_OPTION(store.encryption_strict),
		    "without store.encryption_keys no answer could be read");
}

/* --- upstreams and routes --- */

static void
check_upstreams(struct loader *l)
{
	const struct conf *conf = l->conf;
	struct json_place list = {NULL, ROOT_OPTION(upstreams)->path, 0};
	json_t *objects = loader_value(l, ROOT_OPTION(upstreams));
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		struct conf_upstream *upstream = &conf->upstreams[i];
		struct json_place at = {&list, upstream->name, 0};
		if (upstream->health_path != NULL &&
		    upstream->health_interval_ms == 0)
			upstream->health_interval_ms = HEALTH_INTERVAL_MS;
		cross_check_pairs(l, GROUP_UPSTREAM, &at,
		    json_object_get(objects, upstream->name));
		certificates_check_upstream(l, &at, upstream);
	}
}

/* The route that has the name, too, that the file gives one; or n_routes. */
static size_t
namesake(const struct conf *conf, size_t index)
{
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *other = &conf->routes[i];
		const char *name = other->name ? other->name : other->path;
		/* Of two given names only the second is wrong. */
		if (i == index || (other->name != NULL && i > index))
			continue;
		if (name != NULL && !strcmp(name, conf->routes[index].name))
			return i;
	}
	return conf->n_routes;
}

/*
 * Names that the file gives are for telling routes apart in logs and
 * metrics; routes without one may share a path, by methods that differ.
 */
static void
check_route_names(struct loader *l)
{
	const struct conf *conf = l->conf;
	const struct option *option =
	    option_at(GROUP_ROUTE, offsetof(struct conf_route, name));
	struct json_place list = {NULL, ROOT_OPTION(routes)->path, 0};
	for (size_t i = 0; i < conf->n_routes; i++) {
		struct json_place at = {&list, NULL, i};
		if (conf->routes[i].name == NULL)
			continue;
		if (!strcmp(conf->routes[i].name, "-"))
			complaints_at_option(l, &at, option,
			    "\"-\" stands for no route in the log");
		size_t other = namesake(conf, i);
		if (other < conf->n_routes)
			complaints_at_option(l, &at, option,
			    "another route has this name: /%s/%zu", list.member,
			    other);
	}
}

/* --- the variables of a route's path, and what else rests on it --- */

static void
check_variable(struct loader *l, const struct json_place *at,
    const struct option *option, const struct conf_route *route,
    struct span name)
{
	if (conf_variable(route, name) >= 0)
		return;
	char *words = path_no_variable(route, name);
	complaints_at_option(l, at, option, "%s", words);
	free(words);
}

static void
check_template(struct loader *l, const struct json_place *at,
    const struct option *option, const struct conf_route *route,
    const struct template *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->pieces[i].kind == TEMPLATE_PATH)
			check_variable(
			    l, at, option, route, t->pieces[i].text);
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
	const struct json_pointers *key = &policy->derive_from;
	for (size_t i = 0; entity->path != NULL && i < namespace->count; i++)
		if (namespace->pieces[i].kind == TEMPLATE_PATH &&
		    span_eq(namespace->pieces[i].text, span_str(entity->path)))
			return true;
	if (entity->path != NULL || policy->derive_from_body)
		return entity->path == NULL;
	for (size_t i = 0; i < entity->pointers.count; i++) {
		size_t k = 0;
		while (k < key->count &&
		    !json_pointer_eq(
			&key->list[k], &entity->pointers.list[i]))
			k++;
		if (k == key->count)
			return false;
	}
	return true;
}

static void
check_entity(struct loader *l, const struct json_place *at,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	const struct option *entity = POLICY_OPTION(entity);
	bool has = conf_has_entity(policy);
	if (policy->entity.path != NULL)
		check_variable(l, at, entity, route,
		    span_str(policy->entity.path));
	if (has && l->conf->store.redis.cluster.count > 0 &&
	    !key_determines_entity(policy))
		complaints_at_option(l, at, entity, "on a cluster the key must "
		    "determine the entity: its pointers must be among those of "
		    "\"%s\", or its variable in \"%s\"",
		    POLICY_OPTION(derive_from)->path,
		    POLICY_OPTION(namespace)->path);
	if (!has && policy->serialize)
		complaints_at_option(l, at, POLICY_OPTION(serialize),
		    "\"%s\" is needed too", entity->path);
	if (!has && policy->newer_only.count > 0)
		complaints_at_option(l, at, POLICY_OPTION(newer_only),
		    "\"%s\" is needed too", entity->path);
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
		check_variable(l, &at,
		    option_at(GROUP_SCOPE, offsetof(struct conf_scope, path)),
		    route, span_str(s->path));
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

/* What clients send as a key is not looked at: then the body must make one. */
static void
check_no_header(struct loader *l, const struct json_place *at,
    const struct conf_idempotency *policy)
{
	const struct option *header = POLICY_OPTION(headers);
	const struct option *derive_key = option_of_path(
	    GROUP_IDEMPOTENCY, "derive_key");
	if (policy->headers.count > 0 || complaints_at_alone(l, at, header) ||
	    complaints_at_alone(l, at, derive_key))
		return;
	if (!policy->derive_from_body && policy->derive_from.count == 0)
		complaints_at_option(l, at, header,
		    "no request would have a key: without a header "
		    "\"derive_key\" is needed");
	if (policy->send_derived)
		complaints_at_option(l, at, POLICY_OPTION(send_derived),
		    "there is no header to send it in: \"%s\" is empty",
		    header->path);
}

static void
check_routes(struct loader *l)
{
	const struct conf *conf = l->conf;
	struct json_place list = {NULL, ROOT_OPTION(routes)->path, 0};
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		const struct conf_idempotency *policy = route->idempotency;
		struct json_place place = {&list, NULL, i};
		struct json_place at = {&place, "idempotency", 0};
		struct json_place scope = {&at, POLICY_OPTION(scope)->path, 0};
		if (policy == NULL || route->path == NULL)
			continue;
		for (size_t k = 0; k < policy->scope.count; k++)
			check_scope(l, &scope, route, &policy->scope.list[k]);
		check_template(l, &at, POLICY_OPTION(on_unknown), route,
		    &policy->reconcile.path);
		/* It cannot be asked for a key that it never saw. */
		if ((policy->derive_from_body ||
			policy->derive_from.count > 0) &&
		    !policy->send_derived &&
		    template_has(&policy->reconcile.path, TEMPLATE_KEY))
			complaints_at_option(l, &at, POLICY_OPTION(on_unknown),
			    "the upstream never sees a derived key: \"%s\" is "
			    "needed, or another variable than {key}",
			    POLICY_OPTION(send_derived)->path);
		check_no_header(l, &at, policy);
		check_template(l, &at, POLICY_OPTION(namespace), route,
		    &policy->namespace);
		check_entity(l, &at, route);
	}
}

void
cross_check_policy(struct loader *l, const struct json_place *at,
    struct conf_idempotency *policy)
{
	/* It is dropped from the client's request, and these are needed. */
	for (size_t i = 0; i < policy->headers.count + policy->scope.count;
	     i++) {
		const char *used = i < policy->headers.count
		    ? policy->headers.list[i]
		    : scopes_header(
			  &policy->scope.list[i - policy->headers.count]);
		if (used != NULL && !strcasecmp(used, policy->attempt_header))
			complaints_at(l, at, "\"%s\" names a header of the key "
			    "or the scope",
			    POLICY_OPTION(attempt_header)->path);
	}
	if (policy->fingerprint_only.count > 0 &&
	    (policy->fingerprint_include & FINGERPRINT_BODY) == 0)
		complaints_at_option(l, at, POLICY_OPTION(fingerprint_only),
		    "without \"body\" in \"%s\" no member counts",
		    POLICY_OPTION(fingerprint_include)->path);
	if (policy->fingerprint_ignore.count > 0 ||
	    policy->fingerprint_only.count > 0)
		policy->fingerprint_json = true;
}

/* --- what follows from others --- */

/* The host's name, with "-" for what a name here does not have. */
static char *
name_of_host(void)
{
	char name[65] = "";
	if (gethostname(name, sizeof name - 1) != 0 || *name == '\0')
		return mem_str(SPAN("onceproxy"));
	for (char *p = name; *p != '\0'; p++)
		if (!ascii_is_alpha(*p) && !ascii_is_digit(*p) &&
		    strchr("._-", *p) == NULL)
			*p = '-';
	return mem_str(span_str(name));
}

static void
fill_in(struct conf *conf)
{
	if (conf->instance == NULL)
		conf->instance = name_of_host();
	if (conf->workers == 0) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);
		int64_t most = ROOT_OPTION(workers)->max;
		conf->workers = online < 1 ? 1 : online;
		if (conf->workers > most)
			conf->workers = most;
	}
	if (conf->state_dir == NULL)
		conf->state_dir = mem_str(SPAN(LOCALSTATEDIR "/lib/onceproxy"));
	for (size_t i = 0; i < conf->n_routes; i++) {
		struct conf_route *route = &conf->routes[i];
		if (route->name == NULL && route->path != NULL)
			route->name = mem_str(span_str(route->path));
	}
}

void
cross_check_conf(struct loader *l)
{
	check_listen(l);
	check_admin(l);
	check_store(l);
	check_upstreams(l);
	check_route_names(l);
	check_routes(l);
	fill_in(l->conf);
	path_finish_own(l);
	source_check(l);
	source_relay_check(l);
}
