/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ROUTE_PROBLEM(name, type): the problems of tbl/problems.h that a route with
 * idempotency may give another status.
 */
ROUTE_PROBLEM(IN_FLIGHT, "in-flight")
ROUTE_PROBLEM(OUTCOME_UNKNOWN, "outcome-unknown")
ROUTE_PROBLEM(ENTITY_BUSY, "entity-busy")
ROUTE_PROBLEM(STALE_VERSION, "stale-version")
ROUTE_PROBLEM(KEY_REUSED, "key-reused")
ROUTE_PROBLEM(ATTEMPTS_EXHAUSTED, "attempts-exhausted")
ROUTE_PROBLEM(RESPONSE_NOT_KEPT, "response-not-kept")
ROUTE_PROBLEM(KEY_MISSING, "key-missing")
ROUTE_PROBLEM(KEY_INVALID, "key-invalid")
ROUTE_PROBLEM(SCOPE_MISSING, "scope-missing")
ROUTE_PROBLEM(TOKEN_INVALID, "token-invalid")
ROUTE_PROBLEM(TOKEN_UNVERIFIED, "token-unverified")
ROUTE_PROBLEM(UPSTREAM_UNREACHABLE, "upstream-unreachable")
ROUTE_PROBLEM(STORE_UNAVAILABLE, "store-unavailable")
