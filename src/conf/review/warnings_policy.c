/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/amount.h"
#include "conf/jsonc/spots.h"
#include "conf/nearest.h"
#include "conf/review/warnings_policy_private.h"
#include "conf/token/token_file.h"

enum { UUID_LENGTH = 36 };

static const int64_t hour_ms = 3600 * 1000;

static bool
is_among(const char *name, const char *const *names)
{
	while (*names != NULL && strcasecmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* --- usual headers --- */

/* Of many clients each sending of a request has another value of it. */
static bool
changes(const char *header)
{
	static const char *const names[] = {"Date", "Request-Id", "Signature",
	    "Signature-Input", "Traceparent", "Tracestate",
	    "X-Amzn-Trace-Id", "X-B3-TraceId", "X-Correlation-Id",
	    "X-Request-Id", "X-Request-Start", "X-Signature",
	    "X-Timestamp", NULL};
	return is_among(header, names);
}

/* Requests of many clients have the same value of it. */
static bool
stays(const char *header)
{
	static const char *const names[] = {"Accept", "Accept-Charset",
	    "Accept-Encoding", "Accept-Language", "Cache-Control",
	    "Content-Encoding", "Content-Language", "Content-Length",
	    "Content-Type", "Forwarded", "If-Match", "If-None-Match",
	    "Origin", "Referer", "User-Agent", "X-Forwarded-For",
	    "X-Real-IP", NULL};
	return is_among(header, names);
}

/* --- whether somebody counts on it --- */

/* Whether the route itself says it. */
static bool
is_own(const struct looked_at *at, const char *path)
{
	char *pointer = warning_pointer(at, path);
	bool own = !strncmp(pointer, "/routes/", 8) &&
	    strcmp(strrchr(pointer, '/'), "/idempotency") != 0;
	free(pointer);
	return own;
}

/*
 * Whether both come from one place; what `defaults` say for other routes is
 * not counted on by one that takes it back.
 */
static bool
is_together(const struct looked_at *at, const char *path, const char *other)
{
	return is_own(at, path) || !is_own(at, other);
}

static bool
derives(const struct conf_idempotency *policy)
{
	return policy->derive_from_body || policy->derive_from.count > 0;
}

static bool
looks_at_entity(const struct conf_idempotency *policy)
{
	return policy->serialize || policy->newer_only.count > 0;
}

/* Whether the option is the route's own, or no route that has it uses it. */
static bool
is_useless(const struct looked_at *at, const char *path,
    bool (*uses)(const struct conf_idempotency *policy))
{
	const struct conf *conf = at->conf;
	if (uses(at->route->idempotency))
		return false;
	for (size_t i = 0; i < conf->n_routes && !is_own(at, path); i++)
		if (conf->routes[i].idempotency != NULL &&
		    uses(conf->routes[i].idempotency))
			return false;
	return true;
}

/* --- the key --- */

static void
look_at_key(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	bool messages = false; /* their keys may be derived, and are sent */
	for (size_t i = 0; i < policy->headers.count; i++) {
		const char *header = policy->headers.list[i];
		if (changes(header))
			warning_of(at, "header", "many clients have another "
			    "\"%s\" each time that they send a request: a "
			    "retry is executed again; name the header of a "
			    "key", header);
		else if (stays(header) || !strcasecmp(header, "Cookie"))
			warning_of(at, "header", "\"%s\" is no key: the next "
			    "payment has the same, and is answered as a retry",
			    header);
	}
	for (size_t i = 0; i < at->conf->n_sources; i++)
		messages |= at->conf->sources[i].key == SOURCE_KEY_POINTERS;
	if (policy->key_format == KEY_UUID && policy->max_length < UUID_LENGTH)
		warning_of(at, "max_length", "\"key_format\" is \"uuid\", "
		    "which has 36 characters: no key is accepted");
	if (policy->send_derived && !messages &&
	    is_useless(at, "send_derived", derives))
		warning_of(at, "send_derived", "no key is sent: without "
		    "\"derive_key\" none is derived");
}

/* --- whose key it is --- */

/* What the name of a header was meant to be; NULL: that header. */
static const char *
meant_scope(const char *header)
{
	static const char *const kinds[][2] = {
	    {"basic", "{\"basic\": \"user\"}"},
	    {"certificate", "{\"certificate\": \"subject\"}"},
	    {"certificate.fingerprint", "{\"certificate\": \"fingerprint\"}"},
	    {"certificate.subject", "{\"certificate\": \"subject\"}"},
	    {"jwt", "{\"jwt\": \"sub\", \"keys\": FILE}"},
	    {"path", "{\"path\": NAME}"},
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcasecmp(kinds[i][0], header))
			return kinds[i][1];
	struct nearest nearest = nearest_to(span_str(header));
	nearest_try(&nearest, SPAN("Authorization"));
	/* "X-Authorization" is somebody's own, and meant. */
	bool near = nearest.found.ptr != NULL && nearest.distance <= 2 &&
	    strcasecmp(header, "Authorization") != 0 &&
	    (*header == 'A' || *header == 'a');
	return near ? "\"Authorization\"" : NULL;
}

static bool
has_kind(const struct conf_idempotency *policy, enum scope_kind kind)
{
	for (size_t i = 0; i < policy->scope.count; i++)
		if (policy->scope.list[i].kind == kind)
			return true;
	return false;
}

/*
 * Whether clients renew the token that names them: PayPal's ends after some
 * hours, and those of whom other routes verify a token have such.
 */
static bool
is_renewed(const struct looked_at *at)
{
	bool renewed = at->route->idempotency->preset == API_PRESET_PAYPAL;
	for (size_t i = 0; i < at->conf->n_routes && !renewed; i++)
		renewed = at->conf->routes[i].idempotency != NULL &&
		    has_kind(at->conf->routes[i].idempotency, SCOPE_JWT);
	return renewed;
}

static void
look_at_scope_header(const struct looked_at *at, const char *header)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	const char *meant = meant_scope(header);
	if (!strcasecmp(header, "Authorization")) {
		if (has_kind(policy, SCOPE_BASIC))
			warning_of(at, "scope", "the password is in the scope "
			    "besides its user: a retry with a new one is "
			    "executed again; leave \"Authorization\" out");
		if (has_kind(policy, SCOPE_JWT))
			warning_of(at, "scope", "the token is in the scope "
			    "besides its claim: a retry with a renewed one is "
			    "executed again; leave \"Authorization\" out");
		else if (is_renewed(at))
			warning_of(at, "scope", "clients renew their tokens, "
			    "and a retry with the next one is executed again: "
			    "name the tenant by what stays, as {\"jwt\": "
			    "\"sub\", \"keys\": FILE} of signed tokens");
	}
	if (meant != NULL)
		warning_of(at, "scope", "\"%s\" is the name of a header here, "
		    "which a request must have; did you mean %s?", header,
		    meant);
	else if (stays(header))
		warning_of(at, "scope", "\"%s\" does not say who a client is: "
		    "alone, it shows one client another's answer, and where a "
		    "retry has another one, it is executed again", header);
	else if (changes(header))
		warning_of(at, "scope", "\"%s\" does not say who a client is: "
		    "where a retry has another one, it is executed again",
		    header);
	else if (!strcasecmp(header, "Cookie"))
		warning_of(at, "scope", "the cookies of a client change, at "
		    "each login and with any site's own: a retry with others "
		    "is executed again; name the tenant by what stays");
}

/* Claims of tokens (RFC 7519, 4.1): those of many tenants have it alike. */
static bool
is_shared_claim(const struct conf_scope *scope)
{
	static const char *const claims[] = {
	    "aud", "iss", "scope", "scp", "token_use", "typ", NULL};
	return scope->kind == SCOPE_JWT && is_among(scope->jwt, claims);
}

static void
look_at_claim(const struct looked_at *at, const struct conf_scope *scope)
{
	static const char *const renewed[] = {
	    "auth_time", "exp", "iat", "jti", "nbf", "nonce", "sid", NULL};
	const struct conf_scopes *all = &at->route->idempotency->scope;
	bool somebody = false;
	for (size_t i = 0; i < all->count; i++)
		somebody |= !is_shared_claim(&all->list[i]) &&
		    (all->list[i].kind != SCOPE_HEADER ||
			!stays(all->list[i].header));
	if (is_among(scope->jwt, renewed))
		warning_of(at, "scope", "a renewed token has another \"%s\", "
		    "and a retry with it is executed again: name the claim "
		    "that says whose it is, as \"sub\"", scope->jwt);
	else if (is_shared_claim(scope) && !somebody)
		warning_of(at, "scope", "\"%s\" is the same in the tokens of "
		    "many tenants: whoever sends another's key gets another's "
		    "answer; name the claim that says whose it is, as \"sub\"",
		    scope->jwt);
	/* Who reads the file of keys could be any tenant. */
	char *key = token_file_private(scope->file);
	if (key != NULL)
		warning_of(at, "scope", "the file of keys has a private key "
		    "(%s), with which whoever reads the file makes tokens of "
		    "any tenant: the issuer's public keys are enough, so leave "
		    "\"d\" out", key);
	free(key);
}

static void
look_at_scope(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	if (policy->scope.count == 0)
		warning_of(at, "scope", "all clients share one scope: whoever "
		    "sends another's key gets another's answer");
	if (policy->scope_missing_forward)
		warning_of(at, "scope_missing", "who names no tenant is passed "
		    "on without the promise: each retry is executed");
	for (size_t i = 0; i < policy->scope.count; i++) {
		const struct conf_scope *scope = &policy->scope.list[i];
		const char *header = scopes_header(scope);
		bool is_key = false;
		for (size_t k = 0; k < policy->headers.count; k++)
			is_key |= header != NULL &&
			    !strcasecmp(policy->headers.list[k], header);
		if (is_key && scope->kind == SCOPE_HEADER)
			warning_of(at, "header", "this header is the key and "
			    "the scope at once, so whoever sends another's key "
			    "gets another's answer: name the tenant by "
			    "something else in \"scope\"");
		else if (scope->kind == SCOPE_HEADER)
			look_at_scope_header(at, header);
		else if (is_key)
			warning_of(at, "header", "this header has the "
			    "credentials that name the tenant, and so no key: "
			    "name the one that clients send a key in");
		if (scope->kind == SCOPE_JWT)
			look_at_claim(at, scope);
	}
}

/* --- what is compared --- */

static void
look_at_parts(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	unsigned parts = policy->fingerprint_include;
	bool ignores = policy->fingerprint_ignore.count > 0 &&
	    is_together(at, "fingerprint.ignore", "fingerprint.include");
	bool ignores_query = policy->fingerprint_ignore_query.count > 0 &&
	    is_together(at, "fingerprint.ignore", "fingerprint.include");
	if (parts == 0)
		warning_of(at, "fingerprint.include", "no part of a request "
		    "is compared: another payment with the same key gets the "
		    "first one's answer");
	else if ((parts & FINGERPRINT_BODY) == 0 && ignores)
		warning_of(at, "fingerprint.ignore", "nothing of the body is "
		    "compared: \"fingerprint.include\" does not have it");
	else if ((parts & FINGERPRINT_BODY) == 0 && !policy->derive_from_body)
		warning_of(at, "fingerprint.include", "the body is not "
		    "compared: another payment with the same key gets the "
		    "first one's answer; name \"body\", too");
	if ((parts & FINGERPRINT_QUERY) == 0 && ignores_query)
		warning_of(at, "fingerprint.ignore", "nothing of the query is "
		    "compared: \"fingerprint.include\" does not have it");
}

static void
look_at_fingerprint(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	bool ignores = policy->fingerprint_ignore.count > 0;
	bool only = policy->fingerprint_only.count > 0;
	look_at_parts(at);
	for (size_t i = 0; i < policy->fingerprint_headers.count; i++)
		if (changes(policy->fingerprint_headers.list[i]))
			warning_of(at, "fingerprint.headers", "each sending "
			    "of a request has such a header anew: a retry is "
			    "taken for another request (422)");
	if (ignores && only &&
	    is_together(at, "fingerprint.ignore", "fingerprint.only"))
		warning_of(at, "fingerprint.ignore", "of the body only what "
		    "\"fingerprint.only\" names is compared, also where it is "
		    "named here");
	if (policy->derive_from_body && policy->fingerprint_json)
		warning_of(at,
		    ignores    ? "fingerprint.ignore"
			: only ? "fingerprint.only"
			       : "fingerprint.json",
		    "a key that is derived of the whole body (\"derive_key\") "
		    "is another one where a byte differs, also of what does "
		    "not count here, and the retry is executed: let "
		    "\"derive_key\" name the members that say which payment "
		    "it is");
	if (conf_has_entity(policy) &&
	    is_useless(at, "entity", looks_at_entity))
		warning_of(at, "entity", "it changes nothing without "
		    "\"newer_only\" or \"serialize\"");
}

/* --- what is unknown --- */

/* A status by which an API says nothing of a payment; 0: none is taken so. */
static int
absent_in_vain(const struct conf_reconcile *reconcile)
{
	static const int statuses[] = {401, 403, 407, 408, 425, 429};
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (reconcile->absent[statuses[i]])
			return statuses[i];
	int status = 500;
	while (status < 600 && !reconcile->absent[status])
		status++;
	return status < 600 ? status : 0;
}

static void
look_at_reconcile(const struct looked_at *at)
{
	const struct conf_reconcile *asked = &at->route->idempotency->reconcile;
	char *place = warning_pointer(at, "on_unknown");
	char *absent = mem_printf("%s/reconcile/absent", place);
	int vain = absent_in_vain(asked);
	if (vain != 0)
		warning_add(at->complaints, mem_text(absent), "%d may say that "
		    "the API cannot tell just now, or not to us: a payment "
		    "that was made would be made again; name only what says "
		    "that there is none, as 404", vain);
	if (asked->status >= 400)
		warning_add(at->complaints,
		    mem_printf("%s/reconcile/status", place), "clients take a "
		    "payment that was found for refused, and make another: "
		    "say 200 or 201");
	if (!spots_has(at->conf->spots, absent))
		warning_add(at->complaints, mem_printf("%s/reconcile", place),
		    "a 404 for a mistyped path would mean that nothing "
		    "happened, and the payment be made again: try the path, "
		    "then say what means it: {\"path\": ..., \"absent\": "
		    "[404, 410]}");
	free(absent);
	free(place);
}

static void
look_at_unknown(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	if (policy->on_unknown == UNKNOWN_RETRY)
		warning_of(at, "on_unknown", "what may have happened is "
		    "executed again: a payment may be made twice");
	/* A message has attempts of its own. */
	if (policy->on_unknown == UNKNOWN_RETRY && policy->max_attempts == 1 &&
	    at->conf->n_sources == 0)
		warning_of(at, "max_attempts", "\"on_unknown\" is \"retry\", "
		    "and no second attempt is allowed: a retry finds the key "
		    "FAILED; say 2 or more, or \"hold\"");
	if (policy->on_unknown != UNKNOWN_RECONCILE)
		return;
	look_at_reconcile(at);
	if (policy->reconcile.settle_ms >= policy->unknown_retention_ms)
		warning_of(at, "unknown_retention", "the key is forgotten "
		    "before the upstream is asked (\"settle\" of "
		    "\"on_unknown\"): a retry is executed again");
}

/* --- what is remembered, and how it is told --- */

static bool
forgets(const struct conf_idempotency *policy, int status)
{
	return policy->outcomes[status] == DISPOSITION_RELEASE ||
	    policy->outcomes[status] == DISPOSITION_FORGET;
}

static void
look_at_outcomes(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	int64_t refused = policy->problems[ROUTE_PROBLEM_OUTCOME_UNKNOWN];
	bool success = false;
	for (int status = 200; status < 300; status++)
		success |= forgets(policy, status);
	if (success)
		warning_of(at, "outcomes", "a payment that was made is not "
		    "remembered: each retry is executed again");
	/* The last two are of proxies (Cloudflare). */
	if (forgets(policy, 500) || forgets(policy, 502) ||
	    forgets(policy, 504) || forgets(policy, 520) ||
	    forgets(policy, 524))
		warning_of(at, "outcomes", "an API may have made the payment "
		    "before it answers 500, 502 or 504, and the retry is "
		    "executed: say \"unknown\" or \"store\", and release what "
		    "says that nothing happened, as 503");
	if (refused >= 400 && refused < 500 && refused != 408 &&
	    refused != 409 && refused != 425 && refused != 429)
		warning_of(at, "problems", "outcome-unknown has a status by "
		    "which clients take the payment for refused, and make "
		    "another: leave it as it is, or say 409 or a 5xx");
}

static void
look_at_memory(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	int64_t room = at->conf->in_flight_bytes;
	int64_t timeout_ms = at->conf->store.redis.timeout_ms;
	if (policy->retention_ms < hour_ms)
		warning_of(at, "retention", "an answer is forgotten within the "
		    "hour: a retry after that is executed again");
	if (policy->unknown_retention_ms < hour_ms)
		warning_of(at, "unknown_retention", "what may have happened is "
		    "forgotten within the hour: a retry after that is executed "
		    "again");
	if (policy->on_store_down == STORE_DOWN_FORWARD)
		warning_of(at, "on_store_down", "while Redis is away, requests "
		    "are forwarded without the promise: each retry is "
		    "executed");
	if (policy->lease_ms < timeout_ms) {
		char *timeout = amount_text(timeout_ms, AMOUNT_DURATION);
		warning_of(at, "lease", "its renewal may take %s "
		    "(store.timeout), and it is over by then: what is still "
		    "being executed becomes UNKNOWN; make it longer", timeout);
		free(timeout);
	}
	if (policy->max_request_body > room) {
		char *most = amount_text(room, AMOUNT_SIZE);
		warning_of(at, "max_request_body", "a body longer than %s "
		    "(limits.in_flight_bytes) never has memory: each retry is "
		    "answered 503 (overloaded)", most);
		free(most);
	}
}

static void
look_at_answer(const struct looked_at *at)
{
	/* Without which a body cannot be read (RFC 9110, section 8). */
	static const char *const of_body[] = {
	    "Content-Type", "Content-Encoding", NULL};
	const struct conf_idempotency *policy = at->route->idempotency;
	const char *mark = policy->replay_header;
	for (size_t i = 0; i < policy->omit_headers.count; i++)
		if (is_among(policy->omit_headers.list[i], of_body))
			warning_of(at, "omit_headers", "a stored answer cannot "
			    "be read without its Content-Type and "
			    "Content-Encoding: leave them out here");
	if (stays(mark) || changes(mark) || !strcasecmp(mark, "Location"))
		warning_of(at, "replay_header", "the API's own header of this "
		    "name is lost: name one that no answer has");
}

void
warnings_policy_find(const struct looked_at *at)
{
	if (at->route->observes)
		warning_add(at->complaints,
		    mem_printf("/routes/%u/mode", at->route->index), "this "
		    "route only observes: nothing is held back, and each "
		    "retry is executed");
	look_at_key(at);
	look_at_scope(at);
	look_at_fingerprint(at);
	look_at_unknown(at);
	look_at_outcomes(at);
	look_at_memory(at);
	look_at_answer(at);
}
