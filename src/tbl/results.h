/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RESULT(name, word, words): how a request ended, the `outcome` of its log
 * line and of the metrics, and what the manual says of it.
 */
RESULT(EXECUTED, "executed", "The request went to the upstream, and the "
	"client got its answer, which is stored.")
RESULT(REPLAYED, "replayed", "A retry was given the stored answer, or the one "
	"that the upstream gave when it was asked (reconcile).")
RESULT(FENCED, "fenced", "The request went to the upstream, but another owner "
	"had decided about its key meanwhile. The client got what the record "
	"says, never the answer of this attempt.")
RESULT(IN_FLIGHT, "in-flight", "409: the first request with this key was still "
	"in flight, also at the end of wait_timeout.")
RESULT(WAITED, "waited", "A retry waited for the first request, and was given "
	"its answer.")
RESULT(MISMATCH, "mismatch", "422: the key was used for another request.")
RESULT(KEY_MISSING, "key-missing", "400: the route needs a key.")
RESULT(KEY_INVALID, "key-invalid", "400: the key is empty, too long or "
	"malformed, or there are two.")
RESULT(SCOPE_MISSING, "scope-missing", "400: no header field named the tenant.")
RESULT(UNKNOWN, "unknown", "The request was sent and nobody can know what "
	"became of it, now or when the retried one was. The client was told "
	"so (409, 502, 504), or got the upstream's answer where that itself "
	"means unknown.")
RESULT(RELEASED, "released", "The upstream's answer means that nothing "
	"happened (outcomes). It was passed on; the key is free again.")
RESULT(EXHAUSTED, "exhausted", "409: max_attempts is used up.")
RESULT(NOT_KEPT, "not-kept", "409: the first answer was too large to keep.")
RESULT(UNREACHABLE, "unreachable", "502: nothing could be sent to the "
	"upstream. The key, if any, is free again.")
RESULT(UPSTREAM_FAILED, "upstream-failed", "502, 504 or a cut connection, "
	"without a key: sent, and no whole answer came.")
RESULT(STORE_DOWN, "store-down", "503 or 500: Redis or the journal could not "
	"be used, and nothing was forwarded; or the answer could not be stored "
	"yet, so it was not handed out.")
RESULT(PASSED, "passed", "Passed through without a key.")
RESULT(NO_ROUTE, "no-route", "404: no route serves this path and method.")
RESULT(OVERLOADED, "overloaded", "503: no memory for more bodies.")
RESULT(DRAINING, "draining", "503: the gateway is about to end.")
RESULT(BAD_REQUEST, "bad-request", "400 or the like: no well-formed request; "
	"also where the client left, or was too slow (408), before it was "
	"whole.")
RESULT(TOO_LARGE, "too-large", "413 or 431: the body or the head is too "
	"large.")
