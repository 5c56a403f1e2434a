/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/field.h"
#include "base/must.h"
#include "conf/conf.h"
#include "http/client_certificate.h"
#include "http/request_target.h"

/*
 * The scope that a key is valid in: what tells one client of the upstream from
 * another (conf/scopes.h).  Pure; any thread.
 */
enum scope_verdict {
	SCOPE_FOUND,
	SCOPE_MISSING,  /* nothing that could name it has a value */
	SCOPE_REPEATED, /* a header that does stands there twice */
	SCOPE_MALFORMED, /* credentials that nobody can read for certain */
};

/* Where the values come from. */
struct scope_request {
	struct arena *arena; /* in which values may lie */
	const struct fields *fields;
	const struct conf_route *route;
	const struct request_target *target;
	const struct client_certificate *certificate;
};

/*
 * The values of the scope, in the policy's order, an absent one empty;
 * ret_values has policy->scope.count places, which are untouched unless it is
 * FOUND.
 */
MUST_USE enum scope_verdict scope_find(const struct conf_idempotency *policy,
    const struct scope_request *request, struct span *ret_values);

/*
 * The same of values that somebody names by hand, each by scopes_name(); false
 * where they are not the policy's.
 */
MUST_USE bool scope_by_hand(const struct conf_idempotency *policy,
    const struct fields *named, struct span *ret_values);
