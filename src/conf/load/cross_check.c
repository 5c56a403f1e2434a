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

static bool
is_set(const struct loader *l, const struct option *option)
{
	return loader_value(l, option) != NULL;
}

/* What only a Unix socket has, or has not. */
static void
check_socket_only(struct loader *l, const struct json_place *at,
    const struct conf_listen *listen)
{
	static const char message[] = "only a Unix socket can have this";
	if (listen->address.kind == ADDRESS_UNIX && listen->proxies.count > 0)
		complaints_at_option(l, at,
		    option_at(
			GROUP_LISTEN, offsetof(struct conf_listen, proxies)),
		    "nobody on a Unix socket has an address");
	if (listen->address.kind == ADDRESS_UNIX)
		return;
	if (listen->mode != 0)
		complaints_at_option(l, at,
		    option_at(GROUP_LISTEN, offsetof(struct conf_listen, mode)),
		    "%s", message);
	if (listen->group != NULL)
		complaints_at_option(l, at,
		    option_at(
			GROUP_LISTEN, offsetof(struct conf_listen, group)),
		    "%s", message);
}

static void
check_listen(struct loader *l)
{
	const struct conf *conf = l->conf;
	struct json_place list = {NULL, ROOT_OPTION(listen)->path, 0};
	for (size_t i = 0; i < conf->n_listen; i++) {
		const struct address *a = &conf->listen[i].address;
		struct json_place at = {&list, NULL, i};
		check_socket_only(l, &at, &conf->listen[i]);
		bool fixed = a->text != NULL &&
			     (a->kind == ADDRESS_UNIX || a->port != 0);
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
	    !is_set(l, ROOT_OPTION(admin_token)))
		complaints_at_option(l, NULL, ROOT_OPTION(admin),
		    "others can reach this address: \"%s\" is needed",
		    ROOT_OPTION(admin_token)->path);
}

/* --- the store --- */

static void
check_redis(struct loader *l)
{
	struct conf_store *store = &l->conf->store;
	const struct redis_members members = {l->root, NULL,
	    ROOT_OPTION(store.redis.address), ROOT_OPTION(store.redis.cluster),
	    ROOT_OPTION(store.redis.sentinels),
	    ROOT_OPTION(store.redis.master), ROOT_OPTION(store.redis.user),
	    ROOT_OPTION(store.redis.password),
	    ROOT_OPTION(store.redis.tls.files.ca),
	    ROOT_OPTION(store.redis.tls.files.certificate),
	    ROOT_OPTION(store.redis.tls.files.key),
	    ROOT_OPTION(store.redis.tls.server_name)};
	cross_check_redis_ways(l, &members);
	/* Also where what they say is wrong. */
	if (is_set(l, ROOT_OPTION(store.redis.cluster)) ||
	    is_set(l, ROOT_OPTION(store.redis.sentinels)) ||
	    cross_check_redis_is_meant(l))
		store->redis.managed = false;
	cross_check_redis_login(
	    l, &members, &store->redis, &store->redis.password);
	cross_check_redis_tls(l, &members, &store->redis);
}

static void
check_replicas(struct loader *l)
{
	const struct conf_store *store = &l->conf->store;
	if (store->wait_replicas > 0 && store->redis.managed)
		complaints_at_option(l, NULL, ROOT_OPTION(store.wait_replicas),
		    "the managed Redis has no replicas");
}

static void
check_encryption(struct loader *l)
{
	const struct conf_store *store = &l->conf->store;
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
	const struct option *certificate = option_at(
	    GROUP_UPSTREAM, offsetof(struct conf_upstream, certificate));
	const struct option *key =
	    option_at(GROUP_UPSTREAM, offsetof(struct conf_upstream, key));
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		struct conf_upstream *upstream = &conf->upstreams[i];
		struct json_place at = {&list, upstream->name, 0};
		if (upstream->health_path != NULL &&
		    upstream->health_interval_ms == 0)
			upstream->health_interval_ms = HEALTH_INTERVAL_MS;
		if (upstream->certificate != NULL && upstream->key == NULL)
			complaints_at_option(l, &at, certificate,
			    "\"%s\" is needed too", key->path);
		if (upstream->key != NULL && upstream->certificate == NULL)
			complaints_at_option(l, &at, key,
			    "\"%s\" is needed too", certificate->path);
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

/* --- the variables of a route's path --- */

#define POLICY_OPTION(group, field)                                           \
	option_at(group, offsetof(struct conf_idempotency, field))

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

/* An upstream cannot be asked for a key that it never saw. */
static void
check_reconcile(struct loader *l, const struct json_place *at,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	const struct template *path = &policy->reconcile.path;
	const struct option *option =
	    POLICY_OPTION(GROUP_IDEMPOTENCY, on_unknown);
	bool derives =
	    policy->derive_from_body || policy->derive_from.count > 0;
	check_template(l, at, option, route, path);
	if (derives && !policy->send_derived &&
	    template_has(path, TEMPLATE_KEY))
		complaints_at_option(l, at, option,
		    "the upstream never sees a derived key: \"%s\" is "
		    "needed, or another variable than {key}",
		    POLICY_OPTION(GROUP_IDEMPOTENCY, send_derived)->path);
}

static bool
has_pointer(const struct json_pointers *pointers,
    const struct json_pointer *pointer)
{
	for (size_t i = 0; i < pointers->count; i++)
		if (json_pointer_eq(&pointers->list[i], pointer))
			return true;
	return false;
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
	if (entity->path != NULL) {
		for (size_t i = 0; i < namespace->count; i++)
			if (namespace->pieces[i].kind == TEMPLATE_PATH &&
			    span_eq(namespace->pieces[i].text,
				span_str(entity->path)))
				return true;
		return false;
	}
	if (policy->derive_from_body)
		return true;
	for (size_t i = 0; i < entity->pointers.count; i++)
		if (!has_pointer(
			&policy->derive_from, &entity->pointers.list[i]))
			return false;
	return true;
}

static void
check_entity(struct loader *l, const struct json_place *at,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	const struct option *entity =
	    POLICY_OPTION(GROUP_IDEMPOTENCY, entity);
	if (policy->entity.path != NULL)
		check_variable(l, at, entity, route,
		    span_str(policy->entity.path));
	if (conf_has_entity(policy)) {
		if (l->conf->store.redis.cluster.count > 0 &&
		    !key_determines_entity(policy))
			complaints_at_option(l, at, entity,
			    "on a cluster the key must determine the entity: "
			    "its pointers must be among those of \"%s\", or "
			    "its variable in \"%s\"",
			    POLICY_OPTION(GROUP_IDEMPOTENCY, derive_from)->path,
			    POLICY_OPTION(GROUP_IDEMPOTENCY, namespace)->path);
		return;
	}
	if (policy->serialize)
		complaints_at_option(l, at,
		    POLICY_OPTION(GROUP_IDEMPOTENCY, serialize),
		    "\"%s\" is needed too", entity->path);
	if (policy->newer_only.count > 0)
		complaints_at_option(l, at,
		    POLICY_OPTION(GROUP_IDEMPOTENCY, newer_only),
		    "\"%s\" is needed too", entity->path);
}

/* The upstream would not see what tells tenants apart. */
static void
check_scope_header(struct loader *l, const struct json_place *at,
    const struct conf_route *route, const char *header)
{
	if (route->upstream == NULL || route->upstream->trust_overrides ||
	    field_kind_met(span_str(header)) != FIELD_OVERRIDE)
		return;
	complaints_at(l, at,
	    "%s is dropped unless \"trust_overrides\" of the upstream is true",
	    header);
}

static bool
asks_for_certificates(const struct conf *conf)
{
	for (size_t i = 0; i < conf->n_listen; i++)
		if (conf->listen[i].tls.ca != NULL)
			return true;
	return false;
}

static void
check_scope(struct loader *l, const struct json_place *at,
    const struct conf_route *route)
{
	const struct conf_scopes *scope = &route->idempotency->scope;
	struct json_place list = {
	    at, POLICY_OPTION(GROUP_IDEMPOTENCY, scope)->path, 0};
	for (size_t i = 0; i < scope->count; i++) {
		const struct conf_scope *s = &scope->list[i];
		struct json_place entry = {&list, NULL, s->index};
		if (s->kind == SCOPE_HEADER)
			check_scope_header(l, &entry, route, s->header);
		else if (s->kind == SCOPE_PATH)
			check_variable(l, &entry,
			    option_at(GROUP_SCOPE,
				offsetof(struct conf_scope, path)),
			    route, span_str(s->path));
		else if (s->kind == SCOPE_CERTIFICATE &&
		    l->conf->n_listen > 0 && !asks_for_certificates(l->conf))
			complaints_at(l, &entry,
			    "no address asks clients for a certificate: "
			    "\"tls.client_ca\" of one of \"listen\" is needed");
	}
}

static void
check_routes(struct loader *l)
{
	const struct conf *conf = l->conf;
	struct json_place list = {NULL, ROOT_OPTION(routes)->path, 0};
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		struct json_place place = {&list, NULL, i};
		struct json_place at = {&place,
		    option_at(GROUP_ROUTE,
			offsetof(struct conf_route, idempotency))->path, 0};
		if (route->idempotency == NULL || route->path == NULL)
			continue;
		check_scope(l, &at, route);
		check_reconcile(l, &at, route);
		check_template(l, &at,
		    POLICY_OPTION(GROUP_IDEMPOTENCY, namespace), route,
		    &route->idempotency->namespace);
		check_entity(l, &at, route);
	}
}

static void
check_attempt_header(struct loader *l, const struct json_place *at,
    const struct conf_idempotency *policy, const char *used)
{
	const struct option *option =
	    POLICY_OPTION(GROUP_IDEMPOTENCY, attempt_header);
	if (used != NULL && !strcasecmp(used, policy->attempt_header))
		complaints_at(l, at,
		    "\"%s\" names a header of the key or the scope",
		    option->path);
}

void
cross_check_policy(struct loader *l, const struct json_place *at,
    struct conf_idempotency *policy)
{
	/* It is dropped from the client's request, and these are needed. */
	for (size_t i = 0; i < policy->headers.count; i++)
		check_attempt_header(l, at, policy, policy->headers.list[i]);
	for (size_t i = 0; i < policy->scope.count; i++)
		check_attempt_header(
		    l, at, policy, scopes_header(&policy->scope.list[i]));
	if (policy->fingerprint_only.count > 0 &&
	    (policy->fingerprint_include & FINGERPRINT_BODY) == 0)
		complaints_at_option(l, at,
		    POLICY_OPTION(GROUP_IDEMPOTENCY, fingerprint_only),
		    "without \"body\" in \"%s\" no member counts",
		    POLICY_OPTION(
			GROUP_IDEMPOTENCY, fingerprint_include)->path);
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
	check_redis(l);
	check_replicas(l);
	check_encryption(l);
	check_upstreams(l);
	check_route_names(l);
	check_routes(l);
	fill_in(l->conf);
	path_finish_own(l);
	source_check(l);
	source_relay_check(l);
}
