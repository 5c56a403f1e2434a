/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/nearest.h"
#include "conf/review/usual_headers.h"
#include "conf/review/warning_private.h"
#include "conf/review/warnings_scope_private.h"
#include "conf/token/token_file.h"

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

/* What is to be said of a header that names whose key it is; NULL: nothing. */
static char *
scope_header_words(const char *header)
{
	const char *meant = scope_meant(header);
	if (meant != NULL)
		return mem_printf("\"%s\" is the name of a header here, "
		    "which a request must have; did you mean %s?", header,
		    meant);
	if (usual_headers_stay(header))
		return mem_printf("\"%s\" does not say who a client is: alone, "
		    "it shows one client another's answer, and where a retry "
		    "has another one, it is executed again", header);
	return usual_headers_change(header)
	    ? mem_printf("\"%s\" does not say who a client is: where a "
		  "retry has another one, it is executed again", header)
	    : NULL;
}

static bool
has_header(const struct conf_idempotency *policy, const char *header)
{
	for (size_t i = 0; i < policy->headers.count; i++)
		if (!strcasecmp(policy->headers.list[i], header))
			return true;
	return false;
}

/* Whether a part of that header, which is renewed, is in the scope, too. */
static bool
has_part_of(const struct conf_scopes *scope, const char *header,
    enum scope_kind kind)
{
	for (size_t i = 0; i < scope->count; i++)
		if (scope->list[i].kind == kind &&
		    !strcasecmp(scopes_header(&scope->list[i]), header))
			return true;
	return false;
}

static void
warn_of_scope_header(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route, const char *header)
{
	const struct conf_idempotency *policy = route->idempotency;
	if (has_header(policy, header)) {
		warning_add_said(complaints, conf, route, "header",
		    "this header is the key and the scope at once, so whoever "
		    "sends another's key gets another's answer: name the "
		    "tenant by something else in \"scope\"");
		return;
	}
	if (has_part_of(&policy->scope, header, SCOPE_BASIC))
		warning_add_said(complaints, conf, route, "scope",
		    "the password is in the scope besides its user: a retry "
		    "with a new one is executed again; leave "
		    "\"Authorization\" out");
	if (has_part_of(&policy->scope, header, SCOPE_JWT))
		warning_add_said(complaints, conf, route, "scope",
		    "the token is in the scope besides its claim: a retry "
		    "with a renewed one is executed again; leave "
		    "\"Authorization\" out");
	char *words = scope_header_words(header);
	if (words != NULL)
		warning_add_said(complaints, conf, route, "scope", words);
	free(words);
}

/* Credentials are the same in all requests of a tenant. */
static void
warn_of_credentials_as_key(struct complaints *complaints,
    const struct conf *conf, const struct conf_route *route,
    const struct conf_scope *scope)
{
	const char *header = scopes_header(scope);
	if (header != NULL && has_header(route->idempotency, header))
		warning_add_said(complaints, conf, route, "header",
		    "this header has the credentials that name the tenant, "
		    "and so no key: name the one that clients send a key in");
}

/* --- claims of tokens: RFC 7519, section 4.1 --- */

static bool
is_claim_of(const struct conf_scope *scope, const char *const *claims)
{
	if (scope->kind != SCOPE_JWT)
		return false;
	while (*claims != NULL && strcmp(*claims, scope->jwt) != 0)
		claims++;
	return *claims != NULL;
}

/* Whether the tokens of many tenants have it alike. */
static bool
is_shared_claim(const struct conf_scope *scope)
{
	static const char *const claims[] = {
	    "aud", "iss", "scope", "scp", "token_use", "typ", NULL};
	return is_claim_of(scope, claims);
}

static bool
is_renewed_claim(const struct conf_scope *scope)
{
	static const char *const claims[] = {
	    "auth_time", "exp", "iat", "jti", "nbf", "nonce", "sid", NULL};
	return is_claim_of(scope, claims);
}

/* Whether one of them may say who a client is. */
static bool
names_somebody(const struct conf_scopes *scope)
{
	for (size_t i = 0; i < scope->count; i++) {
		const struct conf_scope *one = &scope->list[i];
		if (!is_shared_claim(one) && (one->kind != SCOPE_HEADER ||
			!usual_headers_stay(one->header)))
			return true;
	}
	return false;
}

static void
warn_of_claim(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route, const struct conf_scope *scope)
{
	char *words = NULL;
	if (is_renewed_claim(scope))
		words = mem_printf("a renewed token has another \"%s\", and a "
		    "retry with it is executed again: name the claim that "
		    "says whose it is, as \"sub\"", scope->jwt);
	else if (is_shared_claim(scope) &&
	    !names_somebody(&route->idempotency->scope))
		words = mem_printf("\"%s\" is the same in the tokens of many "
		    "tenants: whoever sends another's key gets another's "
		    "answer; name the claim that says whose it is, as "
		    "\"sub\"", scope->jwt);
	if (words != NULL)
		warning_add_said(complaints, conf, route, "scope", words);
	free(words);
}

/* Who reads the file of keys could be any tenant. */
static void
warn_of_private_key(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route, const struct conf_scope *scope)
{
	char *key = scope->kind == SCOPE_JWT
	    ? token_file_private(scope->file) : NULL;
	if (key == NULL)
		return;
	char *words = mem_printf("the file of keys has a private key (%s), "
	    "with which whoever reads the file makes tokens of any tenant: "
	    "the issuer's public keys are enough, so leave \"d\" out", key);
	warning_add_said(complaints, conf, route, "scope", words);
	free(words);
	free(key);
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

void
warnings_scope_find(const struct conf *conf, const struct conf_route *route,
    struct complaints *complaints)
{
	const struct conf_scopes *scope = &route->idempotency->scope;
	for (size_t i = 0; i < scope->count; i++) {
		const struct conf_scope *entry = &scope->list[i];
		if (entry->kind == SCOPE_HEADER)
			warn_of_scope_header(
			    complaints, conf, route, entry->header);
		else
			warn_of_credentials_as_key(
			    complaints, conf, route, entry);
		warn_of_claim(complaints, conf, route, entry);
		warn_of_private_key(complaints, conf, route, entry);
	}
	if (forgets_with_token(route->idempotency))
		warning_add_said(complaints, conf, route, "scope",
		    "the access tokens of PayPal are renewed within hours, "
		    "and a retry with the next one is executed again: name "
		    "the tenant by something that stays");
}
