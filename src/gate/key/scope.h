/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/field.h"
#include "base/must.h"
#include "conf/conf.h"
#include "conf/token/token_set.h"
#include "http/front/client_certificate.h"
#include "http/head/request_target.h"

/*
 * A key is valid in its scope, which tells one client of the upstream from
 * another (conf/scopes.h).  Its values are found in a request here.  Pure; any
 * thread.
 */
enum scope_verdict {
	SCOPE_FOUND,
	SCOPE_MISSING,  /* nothing that could name it has a value */
	SCOPE_REPEATED, /* a header that does stands there twice */
	SCOPE_MALFORMED, /* credentials that nobody can read for certain */
	SCOPE_UNVERIFIED, /* a token that may be right: there are no keys yet */
	SCOPE_INVALID, /* a token that is not to be believed */
};

/* The request that the values come from. */
struct scope_request {
	struct arena *arena; /* in which values may lie */
	const struct fields *fields;
	const struct conf_route *route;
	const struct request_target *target;
	const struct client_certificate *certificate;
	int64_t now_ms; /* since 1970: tokens have a time */
	/* Of UNVERIFIED and INVALID; its words are of the arena, or for good */
	struct token_refusal *ret_refusal;
};

/*
 * Finds the values of the scope, in the policy's order, an absent one empty;
 * ret_values has policy->scope.count places, which are untouched unless it is
 * FOUND.
 */
MUST_USE enum scope_verdict scope_find(const struct conf_idempotency *policy,
    const struct scope_request *request, struct span *ret_values);

/*
 * Names the values of which a request needs one, for people who write clients:
 * "the header X-Tenant or a client certificate"; empty where there is one scope
 * for all.
 */
struct span scope_wanted(
    struct arena *arena, const struct conf_scopes *scopes);

/*
 * Does what scope_find() does, with values that somebody names by hand, each by
 * scopes_name(), and a token's issuer, which the route may have, by "jwt.iss".
 * number: claims that look like numbers are some.  False where the values are
 * not the policy's.
 */
MUST_USE bool scope_by_hand(struct arena *arena,
    const struct conf_idempotency *policy, const struct fields *named,
    bool number, struct span *ret_values);
