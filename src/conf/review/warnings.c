/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/address.h"
#include "conf/amount.h"
#include "conf/jsonc/spots.h"
#include "conf/load/certificates.h"
#include "conf/review/covers.h"
#include "conf/review/said.h"
#include "conf/review/usual_headers.h"
#include "conf/review/warning_private.h"
#include "conf/review/warnings.h"
#include "conf/review/warnings_outcomes_private.h"
#include "conf/review/warnings_routes_private.h"
#include "conf/review/warnings_scope_private.h"
#include "conf/review/warnings_tokens_private.h"
#include "conf/review/warnings_useless_private.h"
#include "conf/review/warnings_variables_private.h"

static const int64_t hour_ms = 3600 * 1000;

/* --- what a route's idempotency says --- */

static size_t
list_length(const struct conf_route *route, const char *path)
{
	json_t *value = said_value(route, path);
	size_t length = json_array_size(value);
	json_decref(value);
	return length;
}

static bool
compares_what_is_new(const struct conf_idempotency *policy)
{
	const struct strings *headers = &policy->fingerprint_headers;
	for (size_t i = 0; i < headers->count; i++)
		if (usual_headers_change(headers->list[i]))
			return true;
	return false;
}

/* What two sendings of one payment, or two payments, have as their key. */
static void
warn_of_key_header(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	const struct strings *headers = &route->idempotency->headers;
	for (size_t i = 0; i < headers->count; i++) {
		const char *header = headers->list[i];
		bool changes = usual_headers_change(header);
		if (!changes && !usual_headers_stay(header) &&
		    strcasecmp(header, "Cookie") != 0)
			continue;
		char *words = changes
		    ? mem_printf("many clients have another \"%s\" each time "
			"that they send a request: a retry is executed again; "
			"name the header of a key", header)
		    : mem_printf("\"%s\" is no key: the next payment has the "
			"same, and is answered as a retry", header);
		warning_add_said(complaints, conf, route, "header", words);
		free(words);
	}
}

static void
warn_of_observing(struct complaints *complaints, const struct conf_route *route)
{
	char *pointer = mem_printf("/routes/%u/mode", route->index);
	warning_add(complaints, pointer, "this route only observes: nothing is "
	    "held back, and each retry is executed");
	free(pointer);
}

static void
warn_of_policy(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	if (route->observes)
		warn_of_observing(complaints, route);
	if (policy->on_unknown == UNKNOWN_RETRY)
		warning_add_said(complaints, conf, route, "on_unknown",
		    "what may have happened is executed again: a payment may "
		    "be made twice");
	if (policy->on_store_down == STORE_DOWN_FORWARD)
		warning_add_said(complaints, conf, route, "on_store_down",
		    "while Redis is away, requests are forwarded without the "
		    "promise: each retry is executed");
	if (list_length(route, "scope") == 0)
		warning_add_said(complaints, conf, route, "scope",
		    "all clients share one scope: whoever sends another's key "
		    "gets another's answer");
	if (list_length(route, "fingerprint.include") == 0)
		warning_add_said(complaints, conf, route, "fingerprint.include",
		    "no part of a request is compared: another payment with "
		    "the same key gets the first one's answer");
	if (compares_what_is_new(policy))
		warning_add_said(complaints, conf, route, "fingerprint.headers",
		    "each sending of a request has such a header anew: a retry "
		    "is taken for another request (422)");
	if (policy->scope_missing_forward)
		warning_add_said(complaints, conf, route, "scope_missing",
		    "who names no tenant is passed on without the promise: "
		    "each retry is executed");
	warn_of_key_header(complaints, conf, route);
	warnings_scope_find(conf, route, complaints);
	warnings_outcomes_find(conf, route, complaints);
}

/* --- upstreams --- */

static void
warn_of_member(struct complaints *complaints,
    const struct conf_upstream *upstream, const char *words, bool of_name)
{
	complaints_add_member(
	    complaints, "/upstreams", upstream->name, words);
	complaints->list[complaints->count - 1].warning = true;
	complaints->list[complaints->count - 1].of_name = of_name;
}

static void
warn_of_upstream(struct complaints *complaints, const struct conf *conf,
    const struct conf_upstream *upstream)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].upstream == upstream)
			return;
	warn_of_member(complaints, upstream, "no route names it", true);
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

/* A target with a path of its own may be meant: another route serves that. */
static void
warn_of_circles(struct complaints *complaints, const struct conf *conf,
    const struct conf_upstream *upstream)
{
	for (size_t i = 0; i < upstream->n_targets * conf->n_listen; i++) {
		const struct conf_target *target =
		    &upstream->targets[i / conf->n_listen];
		const struct address *listen =
		    &conf->listen[i % conf->n_listen].address;
		if (*target->base_path != '\0' ||
		    !is_address_of(target, listen))
			continue;
		char *words = mem_printf("the gateway itself listens there "
		    "(\"%s\"): its requests come back to it", listen->text);
		warn_of_member(complaints, upstream, words, false);
		free(words);
		return;
	}
}

/* What would be in its place by its name goes there as it stands. */
static void
warn_of_braces(struct complaints *complaints,
    const struct conf_upstream *upstream)
{
	for (size_t i = 0; i < upstream->n_targets; i++) {
		if (strpbrk(upstream->targets[i].url, "{}") == NULL ||
		    strstr(upstream->targets[i].url, "${") != NULL)
			continue;
		warn_of_member(complaints, upstream,
		    "its URL has no variables, and what stands in {} is taken "
		    "as it is; the path of each request is put behind the URL: "
		    "leave it out", false);
		return;
	}
}

static void
warn_of_plain(struct complaints *complaints,
    const struct conf_upstream *upstream)
{
	for (size_t i = 0; i < upstream->n_targets; i++)
		if (upstream->targets[i].tls)
			return;
	if (upstream->n_targets > 0 &&
	    (upstream->ca != NULL || upstream->certificate != NULL))
		warn_of_member(complaints, upstream,
		    "no target begins with https://: its certificates are not "
		    "used, and nothing that is sent is encrypted", false);
}

static bool
serves_keys(const struct conf *conf, const struct conf_upstream *upstream)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].upstream == upstream &&
		    conf->routes[i].idempotency != NULL)
			return true;
	return false;
}

/* Why it matters that a drain ends before the call; the caller frees it. */
static char *
words_of_drain(int64_t timeout_ms, int64_t drain_ms)
{
	char *timeout = amount_text(timeout_ms, AMOUNT_DURATION);
	char *drain = amount_text(drain_ms, AMOUNT_DURATION);
	char *words = timeout_ms > hour_ms
	    ? mem_printf("a call may take %s, which is longer than any call "
	    "should be: until then nobody knows what became of the payment; "
	    "make it shorter", timeout)
	    : mem_printf("a call may take %s, and a drain waits for it "
	    "%s (drain_timeout) at most: each restart may leave payments "
	    "UNKNOWN; make drain_timeout as long", timeout, drain);
	free(timeout);
	free(drain);
	return words;
}

/* Where one of the two is said. */
static void
warn_of_drain(struct complaints *complaints, const struct conf *conf,
    const struct conf_upstream *upstream)
{
	if (upstream->timeout_ms <= conf->drain_timeout_ms ||
	    !serves_keys(conf, upstream))
		return;
	char *words =
	    words_of_drain(upstream->timeout_ms, conf->drain_timeout_ms);
	warn_of_member(complaints, upstream, words, false);
	struct complaint *last = &complaints->list[complaints->count - 1];
	char *place = mem_printf("%s/timeout", last->pointer);
	bool said = spots_has(conf->spots, place);
	if (said) {
		free(last->pointer);
		last->pointer = place;
	} else {
		free(place);
	}
	free(words);
}

/* --- listeners --- */

static void
warn_of_certificate(struct complaints *complaints, const char *pointer,
    const struct conf_tls *tls, int64_t now_ms)
{
	if (certificates_time(tls, now_ms) == CERTIFICATES_VALID)
		return;
	char *words = certificates_words(tls, now_ms);
	warning_add(complaints, pointer, words);
	free(words);
}

/* Whether who reads the field's value may act for the tenant. */
static bool
is_token(const char *field)
{
	static const char *const parts[] = {
	    "authorization", "cookie", "key", "secret", "token"};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (strcasestr(field, parts[i]) != NULL)
			return true;
	return false;
}

/* What of a scope is a token; NULL: nothing. */
static const char *
token_in(const json_t *scope)
{
	size_t i;
	const json_t *one;
	json_array_foreach(scope, i, one)
	{
		if (json_is_string(one) && is_token(json_string_value(one)))
			return json_string_value(one);
		if (json_object_get(one, "basic") != NULL ||
		    json_object_get(one, "jwt") != NULL)
			return "Authorization";
	}
	return NULL;
}

/* The field of a route's scope that is a token; NULL: none has one. */
static char *
token_of_routes(const struct conf *conf)
{
	char *token = NULL;
	for (size_t i = 0; i < conf->n_routes && token == NULL; i++) {
		if (conf->routes[i].idempotency == NULL)
			continue;
		json_t *scope = said_value(&conf->routes[i], "scope");
		token = mem_text(token_in(scope));
		json_decref(scope);
	}
	return token;
}

static void
warn_of_listener(struct complaints *complaints, const struct conf *conf,
    size_t index, const char *token, int64_t now_ms)
{
	const struct conf_listen *listen = &conf->listen[index];
	char *pointer = mem_printf("/listen/%zu", index);
	if (listen->tls.certificate != NULL) {
		char *below = mem_printf("%s/tls/certificate", pointer);
		warn_of_certificate(complaints, below, &listen->tls, now_ms);
		free(below);
	} else if (token != NULL && !address_is_local(&listen->address)) {
		char *words = mem_printf("clients' tokens (%s) come here "
		    "without TLS: add \"tls\", or listen on 127.0.0.1 behind "
		    "a proxy that has it", token);
		warning_add(complaints, pointer, words);
		free(words);
	}
	free(pointer);
}

/* As errors have it: which route it is, where the file gives it a name. */
static void
name_routes(const struct conf *conf, struct complaints *complaints)
{
	for (size_t i = 0; i < complaints->count; i++) {
		struct complaint *c = &complaints->list[i];
		static const char list[] = "/routes/";
		if (strncmp(c->pointer, list, sizeof list - 1) != 0)
			continue;
		const struct conf_route *route = &conf->routes[strtoul(
		    c->pointer + sizeof list - 1, NULL, 10)];
		if (!strcmp(route->name, route->path))
			continue;
		char *longer = mem_printf(
		    "route \"%s\": %s", route->name, c->message);
		free(c->message);
		c->message = longer;
	}
}

void
warnings_find(
    const struct conf *conf, int64_t now_ms, struct complaints *complaints)
{
	char *token = token_of_routes(conf);
	warnings_variables_find(conf, complaints);
	warnings_useless_find(conf, complaints);
	warnings_tokens_find(conf, now_ms, complaints);
	for (size_t i = 0; i < conf->n_listen; i++)
		warn_of_listener(complaints, conf, i, token, now_ms);
	if (conf->store.redis.tls.files.certificate != NULL)
		warn_of_certificate(complaints, "/store/tls/certificate",
		    &conf->store.redis.tls.files, now_ms);
	if (conf->store.allow_eviction)
		warning_add(complaints, "/store/allow_eviction",
		    "a Redis that has no memory left may forget keys: their "
		    "retries are executed again");
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		warn_of_upstream(complaints, conf, &conf->upstreams[i]);
		warn_of_circles(complaints, conf, &conf->upstreams[i]);
		warn_of_braces(complaints, &conf->upstreams[i]);
		warn_of_plain(complaints, &conf->upstreams[i]);
		warn_of_drain(complaints, conf, &conf->upstreams[i]);
	}
	if (conf->n_routes == 0)
		warning_add(complaints, "/routes",
		    "there is no route: each request is answered 404");
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		warnings_routes_find(conf, route, complaints);
		if (route->idempotency != NULL)
			warn_of_policy(complaints, conf, route);
	}
	name_routes(conf, complaints);
	free(token);
}
