/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/amount.h"
#include "conf/nearest.h"
#include "conf/review/warnings_private.h"
#include "conf/token/token_keys.h"
#include "conf/token/token_set.h"

#define SAY_IF(member, when, ...)                                           \
	if (when)                                                           \
		warning_of(at, member, __VA_ARGS__);

enum { UUID_LENGTH = 36, HOUR_MS = 3600 * 1000 };

static bool
is_among(const char *name, const char *const *names)
{
	while (*names != NULL && strcasecmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* --- usual headers --- */

/* Of many clients each sending of a request has another value of it. */
static const char *const changing[] = {"Date", "Request-Id", "Signature",
    "Signature-Input", "Traceparent", "Tracestate", "X-Amzn-Trace-Id",
    "X-B3-TraceId", "X-Correlation-Id", "X-Request-Id", "X-Request-Start",
    "X-Signature", "X-Timestamp", NULL};

/* Requests of many clients have the same value of it. */
static const char *const staying[] = {"Accept", "Accept-Charset",
    "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding",
    "Content-Language", "Content-Length", "Content-Type", "Forwarded",
    "If-Match", "If-None-Match", "Origin", "Referer", "User-Agent",
    "X-Forwarded-For", "X-Real-IP", NULL};

/* Without which a body cannot be read (RFC 9110, section 8). */
static const char *const of_body[] = {
    "Content-Type", "Content-Encoding", NULL};

static bool
has(const struct strings *headers, const char *const *names)
{
	for (size_t i = 0; i < headers->count; i++)
		if (is_among(headers->list[i], names))
			return true;
	return false;
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
	/* "X-Authorization" is somebody's own, and meant. */
	if ((*header != 'A' && *header != 'a') ||
	    !strcasecmp(header, "Authorization"))
		return NULL;
	struct nearest nearest = nearest_to(span_str(header));
	nearest_try(&nearest, SPAN("Authorization"));
	return nearest.found.ptr != NULL && nearest.distance <= 2
	    ? "\"Authorization\""
	    : NULL;
}

/* Claims of tokens (RFC 7519, 4.1). */
static const char *const renewed_claims[] = {
    "auth_time", "exp", "iat", "jti", "nbf", "nonce", "sid", NULL};

/* Those of many tenants have it alike. */
static const char *const shared_claims[] = {
    "aud", "iss", "scope", "scp", "token_use", "typ", NULL};

/* Whether some entry tells tenants apart. */
static bool
says_who(const struct conf_idempotency *policy)
{
	const struct conf_scopes *all = &policy->scope;
	for (size_t i = 0; i < all->count; i++) {
		const struct conf_scope *scope = &all->list[i];
		bool jwt = scope->kind == SCOPE_JWT;
		const char *name = jwt ? scope->jwt : scope->header;
		if ((!jwt && scope->kind != SCOPE_HEADER) ||
		    !is_among(name, jwt ? shared_claims : staying))
			return true;
	}
	return false;
}

static void
look_at_scope(const struct looked_at *at, const struct conf_scope *scope)
{
	const struct conf_idempotency *p = at->route->idempotency;
	const char *header = scopes_header(scope);
	bool is_key = false, some_basic = false, some_jwt = false;
	for (size_t i = 0; header != NULL && i < p->headers.count; i++)
		is_key |= !strcasecmp(p->headers.list[i], header);
	for (size_t i = 0; i < p->scope.count; i++) {
		some_basic |= p->scope.list[i].kind == SCOPE_BASIC;
		some_jwt |= p->scope.list[i].kind == SCOPE_JWT;
	}
	/*
	 * Whether clients renew the token that names them: PayPal's ends after
	 * some hours, and those of whom any route verifies a token have such.
	 */
	struct conf_keys_at first = {0, 0};
	bool renewed = p->preset == API_PRESET_PAYPAL ||
	    conf_next_keys(at->conf, &first) != NULL;
	bool jwt = scope->kind == SCOPE_JWT;
	bool plain = scope->kind == SCOPE_HEADER && !is_key;
	const char *name = plain ? header : "";
	const char *meant = meant_scope(name);
	const char *claim = jwt ? scope->jwt : "";
	char *private_key =
	    jwt ? token_set_words(scope->set, token_keys_private) : NULL;
	bool is_token = !strcasecmp(name, "Authorization");
#define WARN_SCOPE SAY_IF
#include "tbl/warnings.h"
#undef WARN_SCOPE
	free(private_key);
}

/* --- the rest --- */

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

/* A variable of the namespace that the entity does not belong to; or "". */
static struct span
not_of_entity(const struct conf_idempotency *p)
{
	const struct template *namespace = &p->namespace;
	for (size_t i = 0; i < namespace->count; i++) {
		const struct span name = namespace->pieces[i].text;
		bool belongs =
		    namespace->pieces[i].kind != TEMPLATE_PATH ||
		    span_eq(name, SPAN("*")) ||
		    span_eq(name, span_str(p->entity.path));
		for (size_t k = 0; k < p->scope.count && !belongs; k++)
			belongs =
			    span_eq(name, span_str(p->scope.list[k].path));
		if (!belongs)
			return name;
	}
	return SPAN("");
}

static void
look_at_policy(const struct looked_at *at)
{
	const struct conf *conf = at->conf;
	const struct conf_idempotency *p = at->route->idempotency;
	unsigned parts = p->fingerprint_include;
	bool body = (parts & FINGERPRINT_BODY) != 0;
	bool ignores = p->fingerprint_ignore.count > 0;
	bool only = p->fingerprint_only.count > 0;
	bool query = p->fingerprint_ignore_query.count > 0;
	/* What `defaults` say for other routes this one does not count on. */
	bool own =
	    (ignores || query) && warning_is_own(at, "fingerprint.ignore");
	bool derives = p->derive_from_body || p->derive_from.count > 0;
	bool asks = p->on_unknown == UNKNOWN_RECONCILE ||
	    p->witness.then_reconcile;
	int vain = asks ? absent_in_vain(&p->reconcile) : 0;
	struct span apart = conf_has_entity(p) ? not_of_entity(p) : SPAN("");
	bool forgets[600];
	bool forgotten = false; /* what was made */
	for (int status = 200; status < 600; status++) {
		forgets[status] = p->outcomes[status] == DISPOSITION_RELEASE ||
		    p->outcomes[status] == DISPOSITION_FORGET;
		forgotten |= forgets[status] && status < 300;
	}
	bool messages = false; /* their keys may be derived, and are sent */
	for (size_t i = 0; i < conf->n_sources; i++)
		messages |= conf->sources[i].key == SOURCE_KEY_POINTERS;
	int64_t refused = p->problems[ROUTE_PROBLEM_OUTCOME_UNKNOWN];
#define WARN_POLICY SAY_IF
#include "tbl/warnings.h"
#undef WARN_POLICY
}

void
warnings_policy_find(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	if (at->route->observes)
		warning_at(at, "mode", "this route only observes: nothing is "
		    "held back, and each retry is executed");
	for (size_t i = 0; i < policy->headers.count; i++) {
		const char *name = policy->headers.list[i];
		bool is_cookie = !strcasecmp(name, "Cookie");
#define WARN_KEY SAY_IF
#include "tbl/warnings.h"
#undef WARN_KEY
	}
	for (size_t i = 0; i < policy->scope.count; i++)
		look_at_scope(at, &policy->scope.list[i]);
	look_at_policy(at);
}
