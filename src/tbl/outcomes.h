/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OUTCOME(name, word, sentence): how a request ended: the `outcome` in its log
 * line and in the metrics, and what the manual says about it.
 */
OUTCOME(EXECUTED, "executed", "The request went to the upstream, and the "
	"client got its answer, which is stored.")
OUTCOME(REPLAYED, "replayed", "A retry got the stored answer, or the one that "
	"the upstream gave when it was asked (reconcile).")
OUTCOME(FENCED, "fenced", "The request went to the upstream, but another owner "
	"had decided about its key in the meantime. The client got what the "
	"record says, never the answer of this attempt.")
OUTCOME(IN_FLIGHT, "in-flight",
    "409: the first request with this key was still in flight, even at the end "
    "of wait_timeout where the route waits.")
OUTCOME(ENTITY_BUSY, "entity-busy", "409: another request was changing the "
	"same entity (serialize), even at the end of wait_timeout where the "
	"route waits.")
OUTCOME(STALE, "stale", "409: a version of the entity that is as high, or "
	"higher, was executed before (newer_only).")
OUTCOME(WAITED, "waited", "A retry waited for the first request and got its "
	"answer.")
OUTCOME(MISMATCH, "mismatch", "422: the key was used for a different request.")
OUTCOME(KEY_MISSING, "key-missing", "400: the route requires a key.")
OUTCOME(KEY_INVALID, "key-invalid", "400: the key is empty, too long, "
	"malformed or only a dot or two, or there are two.")
OUTCOME(SCOPE_MISSING, "scope-missing", "400: nothing names the tenant.")
OUTCOME(TOKEN_INVALID, "token-invalid", "401: the token that names the tenant "
	"is not valid.")
OUTCOME(TOKEN_UNVERIFIED, "token-unverified", "503: the keys that verify the "
	"token could not be fetched yet.")
OUTCOME(UNKNOWN, "unknown", "The request was sent and nobody can know what "
	"became of it, whether just now or when an earlier request with the "
	"key was sent. The client was told so (409, 502, 504), or got the "
	"upstream's answer where that itself means unknown.")
OUTCOME(RELEASED, "released", "The upstream's answer means that nothing "
	"happened (outcomes). It was passed on; the key is free again.")
OUTCOME(EXHAUSTED, "exhausted", "409: max_attempts is used up.")
OUTCOME(NOT_KEPT, "not-kept", "409: the first answer was too large to keep.")
OUTCOME(UNREACHABLE, "unreachable", "502: nothing could be sent to the "
	"upstream. The key, if any, is free again.")
OUTCOME(UPSTREAM_FAILED, "upstream-failed", "502, 504 or a broken connection: "
	"the request was sent to be passed through, and no complete answer "
	"came.")
OUTCOME(STORE_DOWN, "store-down", "503 or 500: Redis or the journal could not "
	"be used, and nothing was forwarded; or the answer could not be stored "
	"yet, so it was not given out.")
OUTCOME(PASSED, "passed", "Passed through: there is no key to look at, or the "
	"route has no idempotency, or only observes.")
OUTCOME(LOOKED_UP, "looked-up", "The client asked about a key (status_path) "
	"or about the route (policy_path), and was told.")
OUTCOME(PREFLIGHT, "preflight", "204: a browser asked what a page of another "
	"origin may send, and was told (cors).")
OUTCOME(NO_ROUTE, "no-route", "404: no route serves this path and method.")
OUTCOME(OVERLOADED, "overloaded", "503: no memory was left for bodies, "
	"or the events that wait for relays are too many.")
OUTCOME(DRAINING, "draining", "503: the gateway is about to shut down.")
OUTCOME(BAD_REQUEST, "bad-request", "400 or similar: the request was not "
	"well-formed; also where the client left, or was too slow (408), "
	"before its request was complete.")
OUTCOME(TOO_LARGE, "too-large", "413 or 431: the body or the head is too "
	"large.")
