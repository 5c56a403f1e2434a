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

/* The member that says how long a call may take; NULL: none does. */
static const char *
timeout_member(const struct conf *conf, const struct json_place *at)
{
	char *pointer = complaints_pointer(at, "timeout");
	bool said = spots_has(conf->spots, pointer);
	free(pointer);
	return said ? "timeout" : NULL;
}

static void
look_at_upstream(struct complaints *complaints, const struct conf *conf,
    const struct conf_upstream *upstream)
{
	const struct json_place all = {NULL, "upstreams", 0};
	const struct json_place at = {&all, upstream->name, 0};
	bool named = false, keyed = false, braces = false, tls = false;
	const char *circle = NULL; /* the address of ours that a target is */
	for (size_t i = 0; i < conf->n_routes; i++) {
		bool is = conf->routes[i].upstream == upstream;
		named |= is;
		keyed |= is && conf->routes[i].idempotency != NULL;
	}
	for (size_t i = 0; i < upstream->n_targets; i++) {
		const struct conf_target *target = &upstream->targets[i];
		const char *url = target->url;
		/* One with a path may be meant: another route serves that. */
		bool plain = *target->base_path == '\0';
		braces |= strpbrk(url, "{}") != NULL && !strstr(url, "${");
		tls |= target->tls;
		for (size_t k = 0; plain && !circle && k < conf->n_listen; k++)
			if (is_address_of(target, &conf->listen[k].address))
				circle = conf->listen[k].address.text;
	}
	if (!named) {
		struct complaint *added = complaints_add(complaints,
		    complaints_pointer(&at, NULL), "no route names it");
		added->warning = added->of_name = true;
	}
	/* Whether a call outlives a drain; it is said where one of both is. */
	bool long_call = keyed && upstream->timeout_ms > conf->drain_timeout_ms;
#define WARN_UPSTREAM(member, when, ...)                                    \
	if (when)                                                           \
		warning_add(complaints, complaints_pointer(&at, member),    \
		    __VA_ARGS__);
#include "tbl/warnings.h"
#undef WARN_UPSTREAM
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
	if (of_redis->certificate != NULL)
		look_at_certificate(complaints,
		    mem_text("/store/tls/certificate"), of_redis, now_ms);
	for (size_t i = 0; i < conf->n_listen; i++) {
		const struct conf_listen *listen = &conf->listen[i];
		bool tls = listen->tls.certificate != NULL;
		bool open = !tls && !address_is_local(&listen->address);
		const char *token = NULL;
		if (tls)
			look_at_certificate(complaints,
			    mem_printf("/listen/%zu/tls/certificate", i),
			    &listen->tls, now_ms);
		for (size_t k = 0; open && k < conf->n_routes && !token; k++)
			if (conf->routes[k].idempotency != NULL)
				token = token_of(
				    &conf->routes[k].idempotency->scope);
		if (token != NULL)
			warning_add(complaints, mem_printf("/listen/%zu", i),
			    "clients' tokens (%s) come here without TLS: add "
			    "\"tls\", or listen on 127.0.0.1 behind a proxy "
			    "that has it", token);
	}
}

/* --- secrets, and what was meant to stand elsewhere --- */

/* It may be the name of a file that was meant to have it; NULL: no secret. */
static void
look_at_secret(struct complaints *complaints, const struct conf *conf,
    const struct json_place *at, const char *member, const char *secret,
    bool is_token)
{
	bool control = false; /* a header's value ends at its line's end */
	if (secret == NULL)
		return;
	for (const char *p = secret; *p != '\0'; p++)
		control |= (unsigned char)*p < 0x20 || *p == 0x7f;
#define WARN_TOKEN(when, ...)                                               \
	if (is_token && (when))                                             \
		warning_add(complaints, complaints_pointer(at, member),     \
		    __VA_ARGS__);
#include "tbl/warnings.h"
#undef WARN_TOKEN
	char *pointer = complaints_pointer(at, member);
	char *env = mem_printf("%s/env", pointer);
	char *file = mem_printf("%s/file", pointer);
	bool here = spots_has(conf->spots, pointer) &&
	    !spots_has(conf->spots, env) && !spots_has(conf->spots, file);
	/* What base64 has, and a path hardly, tells passwords apart. */
	bool path = *secret == '/' &&
	    (access(secret, F_OK) == 0 ||
		(strchr(secret + 1, '/') && !strpbrk(secret, "+=")));
	if (here && path)
		warning_add(complaints, mem_text(pointer), "this is the secret "
		    "itself, and no file is read; did you mean {\"file\": "
		    "PATH}?");
	free(pointer);
	free(env);
	free(file);
}

static void
look_at_secrets(struct complaints *c, const struct conf *conf)
{
	const struct json_place admin = {NULL, "admin", 0};
	const struct json_place tokens = {&admin, "tokens", 0};
	const struct json_place store = {NULL, "store", 0};
	const struct json_place brokers = {NULL, "brokers", 0};
	look_at_secret(c, conf, &admin, "token", conf->admin_token, true);
	for (size_t i = 0; i < conf->n_admin_tokens; i++) {
		const struct conf_admin_token *token = &conf->admin_tokens[i];
		const struct json_place at = {&tokens, token->name, 0};
		look_at_secret(c, conf, &at, NULL, token->token, true);
	}
	look_at_secret(c, conf, &store, "secret", conf->store.secret, false);
	look_at_secret(
	    c, conf, &store, "password", conf->store.redis.password, false);
	for (size_t i = 0; i < conf->n_brokers; i++) {
		const struct conf_broker *broker = &conf->brokers[i];
		const struct json_place at = {&brokers, broker->name, 0};
		look_at_secret(
		    c, conf, &at, "password", broker->password, false);
	}
}

static void
look_at_variable(void *arg, const char *pointer, struct spot first)
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
	(void)first;
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
#define WARN_FILE(pointer, when, ...)                                       \
	if (when)                                                           \
		warning_add(complaints, mem_text(pointer), __VA_ARGS__);
#include "tbl/warnings.h"
#undef WARN_FILE
	spots_each(
	    conf->spots, SPOTS_VARIABLE, look_at_variable, complaints);
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
