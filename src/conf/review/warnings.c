/* SPDX-License-Identifier: BSD-2-Clause */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "conf/address.h"
#include "conf/amount.h"
#include "conf/jsonc/spots.h"
#include "conf/load/certificates.h"
#include "conf/review/warnings_private.h"
#include "conf/review/warnings.h"
#include "conf/source_asks.h"

enum { SHORT_TOKEN = 8, HOUR_MS = 3600 * 1000 };

/* --- upstreams --- */

/* The pointer to it, or to one of its members; the caller frees it. */
static char *
upstream_pointer(const struct conf_upstream *upstream, const char *member)
{
	const struct json_place all = {NULL, "upstreams", 0};
	const struct json_place at = {&all, upstream->name, 0};
	return complaints_pointer(&at, member);
}

/* Whether a target's host and port may be what the gateway listens on. */
static bool
is_address_of(const struct conf_target *target, const struct address *listen)
{
	struct address there = {.kind = ADDRESS_TCP, .host = target->host};
	if (listen->kind == ADDRESS_UNIX)
		return target->unix_path != NULL &&
		    !strcmp(target->unix_path, listen->host);
	if (target->unix_path != NULL || target->port != listen->port)
		return false;
	bool all = *listen->host == '\0' || !strcmp(listen->host, "::") ||
	    !strcmp(listen->host, "0.0.0.0");
	bool local = all || (address_is_local(listen) &&
	    (!strcasecmp(listen->host, "localhost") ||
		!strcasecmp(target->host, "localhost")));
	return !strcasecmp(target->host, listen->host) ||
	    (local && address_is_local(&there));
}

/* The address of ours that a target is; NULL: none is. */
static const char *
circle_of(const struct conf *conf, const struct conf_upstream *upstream)
{
	for (size_t i = 0; i < upstream->n_targets; i++)
		/* One with a path may be meant: another route serves that. */
		for (size_t k = 0; k < conf->n_listen &&
		     *upstream->targets[i].base_path == '\0'; k++)
			if (is_address_of(&upstream->targets[i],
				&conf->listen[k].address))
				return conf->listen[k].address.text;
	return NULL;
}

static void
look_at_upstream(struct complaints *complaints, const struct conf *conf,
    const struct conf_upstream *upstream)
{
	bool named = false, keyed = false, braces = false, tls = false;
	const char *circle = circle_of(conf, upstream);
	for (size_t i = 0; i < conf->n_routes; i++) {
		bool is = conf->routes[i].upstream == upstream;
		named |= is;
		keyed |= is && conf->routes[i].idempotency != NULL;
	}
	for (size_t i = 0; i < upstream->n_targets; i++) {
		const char *url = upstream->targets[i].url;
		braces |= strpbrk(url, "{}") != NULL && !strstr(url, "${");
		tls |= upstream->targets[i].tls;
	}
	if (!named) {
		struct complaint *added = complaints_add(complaints,
		    upstream_pointer(upstream, NULL), "no route names it");
		added->warning = added->of_name = true;
	}
	/* Whether a call outlives a drain; it is said where one of both is. */
	bool long_call = keyed && upstream->timeout_ms > conf->drain_timeout_ms;
	char *place = upstream_pointer(upstream, "timeout");
	const char *timeout_member =
	    spots_has(conf->spots, place) ? "timeout" : NULL;
	char *timeout = amount_text(upstream->timeout_ms, AMOUNT_DURATION);
	char *drain = amount_text(conf->drain_timeout_ms, AMOUNT_DURATION);
#define WARN_UPSTREAM(member, when, ...)                                    \
	if (when)                                                           \
		warning_add(complaints, upstream_pointer(upstream, member), \
		    __VA_ARGS__);
#include "tbl/warnings.h"
#undef WARN_UPSTREAM
	free(place);
	free(timeout);
	free(drain);
}

/* --- listeners --- */

static void
look_at_certificate(struct complaints *complaints, char *pointer,
    const struct conf_tls *tls, int64_t now_ms)
{
	char *words = certificates_words(tls, now_ms);
	if (certificates_time(tls, now_ms) != CERTIFICATES_VALID)
		warning_add(complaints, pointer, "%s", words);
	else
		free(pointer);
	free(words);
}

/* The field of a scope by which its reader may act for the tenant, or NULL. */
static const char *
token_of(const struct conf_scopes *scopes)
{
	static const char *const parts[] = {
	    "authorization", "cookie", "key", "secret", "token"};
	for (size_t i = 0; i < scopes->count; i++) {
		const char *header = scopes_header(&scopes->list[i]);
		for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
			if (header != NULL && strcasestr(header, parts[k]))
				return header;
	}
	return NULL;
}

static void
look_at_listeners(
    struct complaints *complaints, const struct conf *conf, int64_t now_ms)
{
	const struct conf_tls *of_redis = &conf->store.redis.tls.files;
	const char *token = NULL;
	if (of_redis->certificate != NULL)
		look_at_certificate(complaints,
		    mem_text("/store/tls/certificate"), of_redis, now_ms);
	for (size_t i = 0; i < conf->n_routes && token == NULL; i++)
		if (conf->routes[i].idempotency != NULL)
			token = token_of(&conf->routes[i].idempotency->scope);
	for (size_t i = 0; i < conf->n_listen; i++) {
		const struct conf_listen *listen = &conf->listen[i];
		if (listen->tls.certificate != NULL)
			look_at_certificate(complaints,
			    mem_printf("/listen/%zu/tls/certificate", i),
			    &listen->tls, now_ms);
		else if (token != NULL && !address_is_local(&listen->address))
			warning_add(complaints, mem_printf("/listen/%zu", i),
			    "clients' tokens (%s) come here without TLS: add "
			    "\"tls\", or listen on 127.0.0.1 behind a proxy "
			    "that has it", token);
	}
}

/* --- secrets, and what was meant to stand elsewhere --- */

/* It may be the name of a file that was meant to have it. */
static void
look_at_secret(struct complaints *complaints, const struct conf *conf,
    char *pointer, const char *secret)
{
	char *env = mem_printf("%s/env", pointer);
	char *file = mem_printf("%s/file", pointer);
	bool here = spots_has(conf->spots, pointer) &&
	    !spots_has(conf->spots, env) && !spots_has(conf->spots, file);
	/* What base64 has, and a path hardly, tells passwords apart. */
	bool path = secret != NULL && *secret == '/' &&
	    (access(secret, F_OK) == 0 ||
		(strchr(secret + 1, '/') && !strpbrk(secret, "+=")));
	if (here && path)
		warning_add(complaints, pointer, "this is the secret itself, "
		    "and no file is read; did you mean {\"file\": PATH}?");
	else
		free(pointer);
	free(env);
	free(file);
}

/* It takes the pointer. */
static void
look_at_token(struct complaints *complaints, const struct conf *conf,
    char *pointer, const char *token)
{
	bool control = false; /* a header's value ends at its line's end */
	for (const char *p = token; p != NULL && *p != '\0'; p++)
		control |= (unsigned char)*p < 0x20 || *p == 0x7f;
#define WARN_TOKEN(when, ...)                                               \
	if (token != NULL && (when))                                        \
		warning_add(complaints, mem_text(pointer), __VA_ARGS__);
#include "tbl/warnings.h"
#undef WARN_TOKEN
	look_at_secret(complaints, conf, pointer, token);
}

static void
look_at_secrets(struct complaints *complaints, const struct conf *conf)
{
	look_at_token(
	    complaints, conf, mem_text("/admin/token"), conf->admin_token);
	for (size_t i = 0; i < conf->n_admin_tokens; i++)
		look_at_token(complaints, conf,
		    mem_printf("/admin/tokens/%s", conf->admin_tokens[i].name),
		    conf->admin_tokens[i].token);
	look_at_secret(complaints, conf, mem_text("/store/secret"),
	    conf->store.secret);
	look_at_secret(complaints, conf, mem_text("/store/password"),
	    conf->store.redis.password);
	for (size_t i = 0; i < conf->n_brokers; i++)
		look_at_secret(complaints, conf,
		    mem_printf("/brokers/%s/password", conf->brokers[i].name),
		    conf->brokers[i].password);
}

static void
look_at_variable(void *arg, const char *pointer)
{
	/*
	 * What is no value, has its own warning, or may have variables of ours,
	 * of which one that does not exist is an error.
	 */
	static const char *const others[] = {
	    "/$schema",
	    "/state_dir",
	    "/defaults/namespace",
	    "/defaults/on_unknown/*",
	    "/routes/*/idempotency/namespace",
	    "/routes/*/idempotency/on_unknown/*",
	    "/sources/*/request/*",
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (fnmatch(others[i], pointer, 0) == 0)
			return;
	warning_add(arg, mem_text(pointer),
	    "no \"${NAME}\" or \"$NAME\" is replaced: it is taken as it "
	    "stands; write {\"env\": \"NAME\"} instead of the whole text");
}

/* --- what sources send --- */

/* How many headers the source has that may name the tenant, each alone. */
static size_t
count_names(const struct conf_source *source, const struct conf_scopes *scope)
{
	size_t count = 0;
	bool kinds = false;
	for (size_t i = 0; i < source->request.n_headers; i++) {
		const char *name = source->request.headers[i].name;
		bool names = false;
		for (size_t k = 0; k < scope->count; k++) {
			const char *header = scopes_header(&scope->list[k]);
			kinds |= scope->list[k].kind != SCOPE_HEADER;
			names |= header != NULL && !strcasecmp(header, name);
		}
		count += names;
	}
	return kinds ? count : 0;
}

static void
look_at_source(struct complaints *complaints, const struct conf *conf,
    const struct conf_source *source)
{
	const struct conf_route *route;
	size_t i = 0;
	while ((route = source_asks_route(conf, source, &i)) != NULL)
		if (count_names(source, &route->idempotency->scope) > 1)
			warning_add(complaints,
			    mem_printf("/sources/%s/request/headers",
				source->name),
			    "several of these may name the tenant of the route "
			    "\"%s\", and together they name another one than a "
			    "client that sends one of them, whose same key is "
			    "executed again: leave the one that this tenant's "
			    "clients send", route->name);
}

/* --- all of it --- */

void
warnings_find(
    const struct conf *conf, int64_t now_ms, struct complaints *complaints)
{
	const struct conf_store *store = &conf->store;
	const char *dir = conf->state_dir, *dollar = strchr(dir, '$');
	bool waits = spots_has(conf->spots, "/store/wait_timeout");
	int64_t most_ms = conf_longest_wait_ms(store);
	char *most = amount_text(most_ms, AMOUNT_DURATION);
#define WARN_FILE(pointer, when, ...)                                       \
	if (when)                                                           \
		warning_add(complaints, mem_text(pointer), __VA_ARGS__);
#include "tbl/warnings.h"
#undef WARN_FILE
	free(most);
	spots_each_variable(conf->spots, look_at_variable, complaints);
	look_at_secrets(complaints, conf);
	look_at_listeners(complaints, conf, now_ms);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		look_at_upstream(complaints, conf, &conf->upstreams[i]);
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct looked_at at = {
		    conf, &conf->routes[i], complaints};
		warnings_route_find(&at);
		if (at.route->idempotency != NULL)
			warnings_policy_find(&at);
	}
	for (size_t i = 0; i < conf->n_sources; i++)
		look_at_source(complaints, conf, &conf->sources[i]);
}
