/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "conf/address.h"
#include "conf/nearest.h"
#include "jsonc/spots.h"
#include "load/certificates.h"
#include "review/covers.h"
#include "review/said.h"
#include "review/warnings.h"

static const int64_t hour_ms = 3600 * 1000;
static const int64_t soon_s = INT64_C(14) * 24 * 3600;

/* A warning about a member; one that several routes inherit is said once. */
static void
warn(struct complaints *complaints, const char *pointer, const char *words)
{
	for (size_t i = 0; i < complaints->count; i++)
		if (!strcmp(complaints->list[i].pointer, pointer) &&
		    !strcmp(complaints->list[i].message, words))
			return;
	complaints_add(complaints, pointer, "%s", words);
	complaints->list[complaints->count - 1].warning = true;
}

static void
warn_of(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route, const char *path, const char *words)
{
	char *pointer = said_pointer(conf, route, path);
	warn(complaints, pointer, words);
	free(pointer);
}

/* --- routes that hide others --- */

static void
warn_of_hidden(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	for (size_t i = route->index + 1; i < conf->n_routes; i++) {
		const struct conf_route *other = &conf->routes[i];
		if (other->idempotency == NULL ||
		    !covers_paths_of(route, other) ||
		    !covers_some_method_of(route, other))
			continue;
		char *pointer = mem_printf("/routes/%u", route->index);
		char *words = mem_printf("this route, without "
		    "\"idempotency\", hides the route \"%s\" behind it, whose "
		    "keys nobody looks at then: put that one first",
		    other->name);
		warn(complaints, pointer, words);
		free(pointer);
		free(words);
	}
}

/* --- paths of the gateway's own that requests do not reach --- */

/* The name of what serves the path before it does, and its route's. */
static const char *
hider_of(const struct conf *conf, const struct conf_route *own,
    const struct conf_route **ret_route)
{
	for (size_t i = 0; i <= own->index; i++) {
		const struct conf_route *r = *ret_route = &conf->routes[i];
		if (r->status == own)
			return NULL;
		if (r->status != NULL && covers_paths_of(r->status, own))
			return "status_path";
		if (r->policy == own)
			return NULL;
		if (r->policy != NULL && covers_paths_of(r->policy, own))
			return "policy_path";
		if (covers_method(r, "GET") && covers_paths_of(r, own))
			return "path";
	}
	return NULL;
}

static void
warn_of_own(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *own, const char *member)
{
	const struct conf_route *hider;
	const char *hides = own != NULL ? hider_of(conf, own, &hider) : NULL;
	if (hides == NULL)
		return;
	char *pointer = mem_printf("/routes/%u/%s", own->index, member);
	char *words = mem_printf("\"%s\" of the route \"%s\", which comes "
	    "first, serves this path: nobody is told anything here",
	    hides, hider->name);
	warn(complaints, pointer, words);
	free(pointer);
	free(words);
}

/* "/v1/:id" of other programs fits nothing but ":id". */
static void
warn_of_colons(struct complaints *complaints, const struct conf_route *route)
{
	for (size_t i = 0; i < route->n_segments; i++) {
		struct span text = route->segments[i].text;
		if (route->segments[i].kind != SEGMENT_TEXT || text.len < 2 ||
		    text.ptr[0] != ':')
			continue;
		char *pointer = mem_printf("/routes/%u/path", route->index);
		char *words = mem_printf("\"%.*s\" fits only itself; a "
		    "variable is {%.*s}", SPAN_FMT(text),
		    SPAN_FMT(span_from(text, 1)));
		warn(complaints, pointer, words);
		free(pointer);
		free(words);
	}
}

/* Where the file names it: in a list, or alone. */
static char *
methods_pointer(
    const struct conf *conf, const struct conf_route *route, size_t index)
{
	char *all = mem_printf("/routes/%u/methods", route->index);
	char *one = mem_printf("%s/%zu", all, index);
	char *found = spots_has(conf->spots, one) ? one : all;
	free(found == one ? all : one);
	return found;
}

/* "*" and "POTS" are methods, too, as far as HTTP goes. */
static void
warn_of_methods(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	static const char usual[] =
	    " GET HEAD POST PUT PATCH DELETE OPTIONS QUERY ";
	for (size_t i = 0; i < route->methods.count; i++) {
		char *word = mem_printf(" %s ", route->methods.list[i]);
		if (strstr(usual, word) == NULL) {
			char *pointer = methods_pointer(conf, route, i);
			warn(complaints, pointer,
			    "it is no usual method, and others are not served "
			    "here; without \"methods\" the usual ones are");
			free(pointer);
		}
		free(word);
	}
}

/* A shell would put something else in the place of these. */
static void
warn_of_state_dir(struct complaints *complaints, const char *path)
{
	if (*path == '~' || strstr(path, "${") != NULL)
		warn(complaints, "/state_dir",
		    "it is a folder of exactly this name; no \"~\" and no "
		    "\"${...}\" is replaced: write the whole path, or "
		    "{\"env\": NAME}");
}

/* --- what a route's idempotency says --- */

static void
warn_of_reconcile(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	char *pointer = said_pointer(conf, route, "on_unknown");
	char *absent = mem_printf("%s/reconcile/absent", pointer);
	char *place = mem_printf("%s/reconcile", pointer);
	if (!spots_has(conf->spots, absent))
		warn(complaints, place,
		    "a 404 for a mistyped path would mean that nothing "
		    "happened, and the payment be made again: try the path, "
		    "then say what means it: {\"path\": ..., \"absent\": "
		    "[404, 410]}");
	free(pointer);
	free(absent);
	free(place);
}

static size_t
list_length(const struct conf_route *route, const char *path)
{
	json_t *value = said_value(route, path);
	size_t length = json_array_size(value);
	json_decref(value);
	return length;
}

/* Whether some answers that say "done" leave nothing behind. */
static bool
forgets_success(const struct conf_route *route)
{
	json_t *value = said_value(route, "outcomes"), *meaning;
	const char *status;
	bool forgets = false;
	json_object_foreach(value, status, meaning)
	{
		const char *word = json_string_value(meaning);
		forgets |= *status == '2' && word != NULL &&
		    (!strcmp(word, "release") || !strcmp(word, "forget"));
	}
	json_decref(value);
	return forgets;
}

static void
warn_of_memory(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	if (policy->retention_ms < hour_ms)
		warn_of(complaints, conf, route, "retention",
		    "an answer is forgotten within the hour: a retry after "
		    "that is executed again");
	if (policy->unknown_retention_ms < hour_ms)
		warn_of(complaints, conf, route, "unknown_retention",
		    "what may have happened is forgotten within the hour: a "
		    "retry after that is executed again");
	if (forgets_success(route))
		warn_of(complaints, conf, route, "outcomes",
		    "a payment that was made is not remembered: each retry is "
		    "executed again");
}

/* Whether clients take a status for "it did not happen". */
static bool
means_refused(int64_t status)
{
	return status >= 400 && status < 500 && status != 408 &&
	    status != 409 && status != 425 && status != 429;
}

/* What the name of a header in a scope was meant to be; NULL: that header. */
static const char *
scope_meant(const char *header)
{
	static const struct {
		const char *header;
		const char *meant;
	} kinds[] = {
	    {"basic", "{\"basic\": \"user\"}"},
	    {"certificate", "{\"certificate\": \"subject\"}"},
	    {"certificate.fingerprint", "{\"certificate\": \"fingerprint\"}"},
	    {"certificate.subject", "{\"certificate\": \"subject\"}"},
	    {"jwt", "{\"jwt\": \"sub\", \"keys\": FILE}"},
	    {"path", "{\"path\": NAME}"},
	};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strcasecmp(kinds[i].header, header))
			return kinds[i].meant;
	struct nearest nearest = nearest_to(span_str(header));
	nearest_try(&nearest, SPAN("Authorization"));
	/* "X-Authorization" is somebody's own, and meant. */
	bool near = nearest.found.ptr != NULL && nearest.distance <= 2 &&
	    strcasecmp(header, "Authorization") != 0 &&
	    (*header == 'A' || *header == 'a');
	return near ? "\"Authorization\"" : NULL;
}

static void
warn_of_scope(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	const struct conf_scopes *scope = &route->idempotency->scope;
	for (size_t i = 0; i < scope->count; i++) {
		const struct conf_scope *s = &scope->list[i];
		const char *meant = s->kind == SCOPE_HEADER
		    ? scope_meant(s->header)
		    : NULL;
		if (meant == NULL)
			continue;
		char *words = mem_printf("\"%s\" is the name of a header here, "
		    "which a request must have; did you mean %s?", s->header,
		    meant);
		warn_of(complaints, conf, route, "scope", words);
		free(words);
	}
}

/* PayPal's access tokens end after some hours, its keys after days. */
static bool
forgets_with_token(const struct conf_idempotency *policy)
{
	if (policy->preset != API_PRESET_PAYPAL)
		return false;
	for (size_t i = 0; i < policy->scope.count; i++) {
		const char *header = scopes_header(&policy->scope.list[i]);
		if (policy->scope.list[i].kind == SCOPE_HEADER &&
		    !strcasecmp(header, "Authorization"))
			return true;
	}
	return false;
}

static void
warn_of_policy(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	if (policy->on_unknown == UNKNOWN_RETRY)
		warn_of(complaints, conf, route, "on_unknown",
		    "what may have happened is executed again: a payment may "
		    "be made twice");
	if (policy->on_unknown == UNKNOWN_RECONCILE)
		warn_of_reconcile(complaints, conf, route);
	if (policy->on_store_down == STORE_DOWN_FORWARD)
		warn_of(complaints, conf, route, "on_store_down",
		    "while Redis is away, requests are forwarded without the "
		    "promise: each retry is executed");
	if (list_length(route, "scope") == 0)
		warn_of(complaints, conf, route, "scope",
		    "all clients share one scope: whoever sends another's key "
		    "gets another's answer");
	if (list_length(route, "fingerprint.include") == 0)
		warn_of(complaints, conf, route, "fingerprint.include",
		    "no part of a request is compared: another payment with "
		    "the same key gets the first one's answer");
	if (policy->scope_missing_forward)
		warn_of(complaints, conf, route, "scope_missing",
		    "who names no tenant is passed on without the promise: "
		    "each retry is executed");
	warn_of_scope(complaints, conf, route);
	if (forgets_with_token(policy))
		warn_of(complaints, conf, route, "scope",
		    "the access tokens of PayPal are renewed within hours, "
		    "and a retry with the next one is executed again: name "
		    "the tenant by something that stays");
	if (means_refused(policy->problems[ROUTE_PROBLEM_OUTCOME_UNKNOWN]))
		warn_of(complaints, conf, route, "problems",
		    "outcome-unknown has a status by which clients take the "
		    "payment for refused, and make another: leave it as it "
		    "is, or say 409 or a 5xx");
	warn_of_memory(complaints, conf, route);
}

/* --- upstreams --- */

static void
warn_of_upstream(struct complaints *complaints, const struct conf *conf,
    const struct conf_upstream *upstream)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].upstream == upstream)
			return;
	complaints_add_member(
	    complaints, "/upstreams", upstream->name, "no route names it");
	complaints->list[complaints->count - 1].warning = true;
	complaints->list[complaints->count - 1].of_name = true;
}

/* --- listeners --- */

static void
warn_of_certificate(struct complaints *complaints, const char *pointer,
    const struct conf_tls *tls, int64_t now_ms)
{
	int64_t now_s = now_ms / 1000;
	if (now_s >= tls->valid_from_s && tls->valid_until_s - now_s >= soon_s)
		return;
	char *words = certificates_words(tls, now_ms);
	warn(complaints, pointer, words);
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
		warn(complaints, pointer, words);
		free(words);
	}
	free(pointer);
}

void
warnings_find(
    const struct conf *conf, int64_t now_ms, struct complaints *complaints)
{
	char *token = token_of_routes(conf);
	warn_of_state_dir(complaints, conf->state_dir);
	for (size_t i = 0; i < conf->n_listen; i++)
		warn_of_listener(complaints, conf, i, token, now_ms);
	if (conf->store.redis.tls.files.certificate != NULL)
		warn_of_certificate(complaints, "/store/tls/certificate",
		    &conf->store.redis.tls.files, now_ms);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		warn_of_upstream(complaints, conf, &conf->upstreams[i]);
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		warn_of_colons(complaints, route);
		warn_of_methods(complaints, conf, route);
		warn_of_own(complaints, conf, route->status, "status_path");
		warn_of_own(complaints, conf, route->policy, "policy_path");
		if (route->idempotency != NULL)
			warn_of_policy(complaints, conf, route);
		else
			warn_of_hidden(complaints, conf, route);
	}
	free(token);
}
