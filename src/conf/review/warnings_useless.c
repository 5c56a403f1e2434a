/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/amount.h"
#include "conf/jsonc/spots.h"
#include "conf/review/said.h"
#include "conf/review/warning_private.h"
#include "conf/review/warnings_useless_private.h"

enum { UUID_LENGTH = 36 };

/* What is looked at: a file, and one of its routes. */
struct looked_at {
	const struct conf *conf;
	const struct conf_route *route;
	struct complaints *complaints;
};

static void
warn_at(const struct looked_at *at, const char *path, const char *words)
{
	warning_add_said(at->complaints, at->conf, at->route, path, words);
}

/* --- whether somebody counts on it --- */

/* Whether the route itself says it. */
static bool
is_own(const struct looked_at *at, const char *path)
{
	char *pointer = said_pointer(at->conf, at->route, path);
	bool own = strncmp(pointer, "/routes/", 8) == 0 &&
	    spots_has(at->conf->spots, pointer) &&
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

/* Whether a route of those that have it from `defaults` has a use for it. */
static bool
is_used(const struct conf *conf,
    bool (*uses)(const struct conf_idempotency *policy))
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].idempotency != NULL &&
		    uses(conf->routes[i].idempotency))
			return true;
	return false;
}

/* --- keys --- */

static bool
derives(const struct conf_idempotency *policy)
{
	return policy->derive_from_body || policy->derive_from.count > 0;
}

/* A message's key may be derived, too, and is sent then. */
static bool
has_derived_messages(const struct conf *conf)
{
	for (size_t i = 0; i < conf->n_sources; i++)
		if (conf->sources[i].key == SOURCE_KEY_POINTERS)
			return true;
	return false;
}

static void
warn_of_key(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	if (policy->key_format == KEY_UUID && policy->max_length < UUID_LENGTH)
		warn_at(at, "max_length",
		    "\"key_format\" is \"uuid\", which has 36 characters: no "
		    "key is accepted");
	if (policy->send_derived && !derives(policy) &&
	    !has_derived_messages(at->conf) &&
	    (is_own(at, "send_derived") || !is_used(at->conf, derives)))
		warn_at(at, "send_derived",
		    "no key is sent: without \"derive_key\" none is derived");
}

/* --- what is compared --- */

static void
warn_of_ignored(const struct looked_at *at, bool ignores, unsigned part,
    const char *words)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	if (ignores && (policy->fingerprint_include & part) == 0 &&
	    is_together(at, "fingerprint.ignore", "fingerprint.include"))
		warn_at(at, "fingerprint.ignore", words);
}

/* What derive_key "body" makes another key of is never compared. */
static void
warn_of_whole_body(const struct looked_at *at)
{
	static const char words[] = "a key that is derived of the whole body "
	    "(\"derive_key\") is another one where a byte differs, also of "
	    "what does not count here, and the retry is executed: let "
	    "\"derive_key\" name the members that say which payment it is";
	const struct conf_idempotency *policy = at->route->idempotency;
	const char *path = policy->fingerprint_ignore.count > 0
	    ? "fingerprint.ignore"
	    : policy->fingerprint_only.count > 0 ? "fingerprint.only"
						 : "fingerprint.json";
	if (policy->derive_from_body && policy->fingerprint_json)
		warn_at(at, path, words);
}

static bool
looks_at_entity(const struct conf_idempotency *policy)
{
	return policy->serialize || policy->newer_only.count > 0;
}

static void
warn_of_comparing(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	warn_of_ignored(at, policy->fingerprint_ignore.count > 0,
	    FINGERPRINT_BODY,
	    "nothing of the body is compared: \"fingerprint.include\" does "
	    "not have it");
	warn_of_ignored(at, policy->fingerprint_ignore_query.count > 0,
	    FINGERPRINT_QUERY,
	    "nothing of the query is compared: \"fingerprint.include\" does "
	    "not have it");
	if (policy->fingerprint_ignore.count > 0 &&
	    policy->fingerprint_only.count > 0 &&
	    is_together(at, "fingerprint.ignore", "fingerprint.only"))
		warn_at(at, "fingerprint.ignore",
		    "of the body only what \"fingerprint.only\" names is "
		    "compared, also where it is named here");
	warn_of_whole_body(at);
	if (conf_has_entity(policy) && !looks_at_entity(policy) &&
	    (is_own(at, "entity") || !is_used(at->conf, looks_at_entity)))
		warn_at(at, "entity",
		    "it changes nothing without \"newer_only\" or "
		    "\"serialize\"");
}

/* --- what is unknown --- */

static void
warn_of_unknown(const struct looked_at *at)
{
	const struct conf_idempotency *policy = at->route->idempotency;
	/* A message has attempts of its own. */
	if (policy->on_unknown == UNKNOWN_RETRY && policy->max_attempts == 1 &&
	    at->conf->n_sources == 0)
		warn_at(at, "max_attempts",
		    "\"on_unknown\" is \"retry\", and no second attempt is "
		    "allowed: a retry finds the key FAILED; say 2 or more, or "
		    "\"hold\"");
	if (policy->on_unknown == UNKNOWN_RECONCILE &&
	    policy->reconcile.settle_ms >= policy->unknown_retention_ms)
		warn_at(at, "unknown_retention",
		    "the key is forgotten before the upstream is asked "
		    "(\"settle\" of \"on_unknown\"): a retry is executed "
		    "again");
}

/* --- memory --- */

static void
warn_of_memory(const struct looked_at *at)
{
	const struct conf *conf = at->conf;
	if (at->route->idempotency->max_request_body <= conf->in_flight_bytes)
		return;
	char *most = amount_text(conf->in_flight_bytes, AMOUNT_SIZE);
	char *words = mem_printf("a body longer than %s "
	    "(limits.in_flight_bytes) never has memory: each retry is "
	    "answered 503 (overloaded)", most);
	warn_at(at, "max_request_body", words);
	free(most);
	free(words);
}

/* --- the whole file --- */

static void
warn_of_waiting(const struct conf *conf, struct complaints *complaints)
{
	static const char pointer[] = "/store/wait_timeout";
	const struct conf_store *store = &conf->store;
	int64_t most_ms = conf_longest_wait_ms(store);
	if (!spots_has(conf->spots, pointer))
		return;
	if (store->wait_replicas == 0) {
		warning_add(complaints, pointer,
		    "no replica is waited for: \"wait_replicas\" is 0");
		return;
	}
	if (store->wait_timeout_ms <= most_ms)
		return;
	char *most = amount_text(most_ms, AMOUNT_DURATION);
	char *words = mem_printf("only %s are waited, two fifths of "
	    "\"timeout\": make that longer, or this shorter", most);
	warning_add(complaints, pointer, words);
	free(most);
	free(words);
}

/* A header's value ends at the end of its line. */
static bool
has_control(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

static void
warn_of_token(const struct conf *conf, struct complaints *complaints)
{
	if (conf->admin_token == NULL)
		return;
	if (conf->admin.text == NULL)
		warning_add(complaints, "/admin/token",
		    "there is no admin interface without \"admin.listen\"");
	if (has_control(conf->admin_token))
		warning_add(complaints, "/admin/token",
		    "no request can carry it: it has more than one line, or "
		    "another control character");
}

void
warnings_useless_find(const struct conf *conf, struct complaints *complaints)
{
	warn_of_waiting(conf, complaints);
	warn_of_token(conf, complaints);
	for (size_t i = 0; i < conf->n_routes; i++) {
		struct looked_at at = {conf, &conf->routes[i], complaints};
		if (at.route->idempotency == NULL)
			continue;
		warn_of_key(&at);
		warn_of_comparing(&at);
		warn_of_unknown(&at);
		warn_of_memory(&at);
	}
}
