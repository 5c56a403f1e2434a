/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PROBLEM(name, status, type, retry, retry_after_s, title, detail): the problem
 * documents (RFC 9457) that we answer with ourselves, one entry each.  retry is
 * SAME_KEY, NEW_KEY or FIX_REQUEST; retry_after_s is that field's value in
 * seconds, or 0: no such field.  What a retry of an unknown outcome does stands
 * behind its detail (front/problem.c).
 */
PROBLEM(IN_FLIGHT, 409, "in-flight", SAME_KEY, 1,
	"The first request with this key is still in flight",
	"A request with this idempotency key is being executed. Send this one "
	"again with the same key: it will get the answer to the first.")
PROBLEM(UNKNOWN_HELD, 409, "outcome-unknown", SAME_KEY, 0,
	"The outcome of the first request is unknown",
	"An earlier request with this idempotency key was sent to the API, and "
	"nothing that came back says whether it was executed.")
PROBLEM(UNKNOWN_TIMEOUT, 504, "outcome-unknown", SAME_KEY, 0,
	"The API did not answer in time",
	"The request was sent to the API, which did not answer in time, so it "
	"may or may not have been executed.")
PROBLEM(UNKNOWN_BROKEN, 502, "outcome-unknown", SAME_KEY, 0,
	"The API did not give a complete answer",
	"The request was sent to the API and no complete, well-formed answer "
	"came back, so it may or may not have been executed.")
PROBLEM(UNKNOWN_DRAIN, 504, "outcome-unknown", SAME_KEY, 0,
	"The gateway had to shut down before the API answered",
	"The request was sent to the API, which had not answered when the "
	"gateway had to shut down, so it may or may not have been executed.")
PROBLEM(UNKNOWN_UNPROVEN, 502, "outcome-unknown", SAME_KEY, 0,
	"What the API answered is not borne out",
	"The API answered, and its database, which knows what it did, could "
	"not be asked, so the request may or may not have been executed.")
PROBLEM(ATTEMPT_REVOKED, 409, "in-flight", SAME_KEY, 1,
	"The request came too late to the API",
	"The request reached the API when its attempt had been taken back, so "
	"nothing was executed. Send it again with the same key.")
PROBLEM(ENTITY_BUSY, 409, "entity-busy", SAME_KEY, 1,
	"Another request is changing the same thing",
	"A request with another idempotency key changes what this one would "
	"change, and is being executed. Send this one again with the same "
	"key.")
PROBLEM(STALE_VERSION, 409, "stale-version", FIX_REQUEST, 0,
	"A newer version has been executed",
	"A request with the same or a higher version of what this one would "
	"change has been executed. current_version is the highest; this "
	"request was not executed.")
PROBLEM(KEY_REUSED, 422, "key-reused", NEW_KEY, 0,
	"The idempotency key was used for a different request",
	"An earlier request with this idempotency key differs from this one in "
	"what the route compares. A new request needs a new key; a retry is "
	"sent as the first request was.")
PROBLEM(ATTEMPTS_EXHAUSTED, 409, "attempts-exhausted", NEW_KEY, 0,
	"All attempts with this key are used up",
	"This idempotency key was sent to the API as often as is allowed, and "
	"is not sent again. Unless the API said each time that nothing had "
	"happened (503, for example), one of these attempts may have been "
	"executed: make a new key only once the operator, who can look the "
	"key up, says that none was.")
PROBLEM(RESPONSE_NOT_KEPT, 409, "response-not-kept", NEW_KEY, 0,
	"The answer was too large to keep",
	"The first request with this idempotency key was executed. Its answer "
	"was too large to keep, so it cannot be given again; original_status "
	"is its status. With a new key it would be executed again.")
PROBLEM(RESPONSE_NEVER_KEPT, 409, "response-not-kept", NEW_KEY, 0,
	"Answers to these requests are never kept",
	"The first request with this idempotency key was executed. Its answer "
	"cannot be given again, because the gateway is told to keep none of "
	"these answers (they may have a secret in them); original_status is "
	"its status. With a new key it would be executed again.")
PROBLEM(RESPONSE_NOT_SAID, 409, "response-not-kept", NEW_KEY, 0,
	"The answer is not known",
	"The first request with this idempotency key was executed, says the "
	"API's database. What the API answered is not there, nor its status, "
	"original_status. With a new key it would be executed again.")
PROBLEM(KEY_MISSING, 400, "key-missing", FIX_REQUEST, 0,
	"The idempotency key is missing",
	"Requests to this path need an idempotency key.")
PROBLEM(KEY_INVALID, 400, "key-invalid", FIX_REQUEST, 0,
	"The idempotency key is not valid",
	"The idempotency key is not valid.")
PROBLEM(SCOPE_MISSING, 400, "scope-missing", FIX_REQUEST, 0,
	"Nothing says whose idempotency key this is",
	"A request with an idempotency key must say whose key it is, but "
	"nothing that does so is in this one.")
PROBLEM(TOKEN_INVALID, 401, "token-invalid", FIX_REQUEST, 0,
	"The token is not valid",
	"The bearer token, which says whose idempotency key this is, is not "
	"valid. This says nothing of a request that was sent before: renew the "
	"token, and keep the key.")
PROBLEM(TOKEN_UNVERIFIED, 503, "token-unverified", SAME_KEY, 5,
	"The token cannot be verified at the moment",
	"The gateway could not fetch the keys yet that verify the bearer "
	"token, which says whose idempotency key this is. Nothing was "
	"forwarded; send the request again with the same key.")
PROBLEM(UPSTREAM_UNREACHABLE, 502, "upstream-unreachable", SAME_KEY, 1,
	"The API could not be reached",
	"No connection to the API could be made in time. Nothing was sent, and "
	"nothing was executed.")
PROBLEM(UPSTREAM_BROKEN, 502, "upstream-failed", FIX_REQUEST, 0,
	"The API did not give a complete answer",
	"The request was sent to the API and no complete, well-formed answer "
	"came back.")
PROBLEM(UPSTREAM_TIMEOUT, 504, "upstream-failed", FIX_REQUEST, 0,
	"The API did not answer in time",
	"The request was sent to the API, which did not answer in time.")
PROBLEM(STORE_UNAVAILABLE, 503, "store-unavailable", SAME_KEY, 1,
	"The store of idempotency keys cannot be reached",
	"The gateway cannot reach its store, and without it cannot promise "
	"that a request is executed only once. Nothing was forwarded.")
PROBLEM(OUTCOME_NOT_STORED, 503, "store-unavailable", SAME_KEY, 1,
	"The answer could not be stored yet",
	"The request was executed, but its answer could not be stored yet, so "
	"it is not given out. Send the request again with the same key.")
PROBLEM(OUTCOME_WAITS, 409, "in-flight", SAME_KEY, 1,
	"An earlier outcome is not in the store yet",
	"The gateway has the outcome of an earlier request, with this key or "
	"for the same thing, on its disk, and the store has not taken it yet. "
	"Nothing was forwarded. Send the request again with the same key.")
PROBLEM(RECORD_BROKEN, 409, "outcome-unknown", SAME_KEY, 0,
	"What the store says of this key makes no sense",
	"The record of this idempotency key vanished or is damaged, so nobody "
	"can know what became of its request. It is not executed; the operator "
	"has to look into it.")
PROBLEM(RECORD_UNREADABLE, 500, "store-unavailable", SAME_KEY, 0,
	"The stored record cannot be read",
	"The record of this idempotency key cannot be read, so the request is "
	"neither executed nor answered from it. The operator has to look into "
	"it.")
PROBLEM(NO_ROUTE, 404, "no-route", FIX_REQUEST, 0,
	"No route serves this path and method",
	"The gateway has no route for this path and method.")
PROBLEM(DRAINING, 503, "draining", SAME_KEY, 1,
	"The gateway is shutting down",
	"This gateway takes no new requests because it is about to shut down. "
	"Send the request again.")
PROBLEM(OVERLOADED, 503, "overloaded", SAME_KEY, 1,
	"The gateway is overloaded",
	"The gateway's memory for requests in flight is used up. Nothing was "
	"forwarded; send the request again.")
PROBLEM(EVENTS_FULL, 503, "overloaded", SAME_KEY, 1,
	"The gateway is overloaded",
	"As many events as there may be wait to be relayed. Nothing was "
	"forwarded; send the request again.")
PROBLEM(ANSWER_NO_MEMORY, 503, "overloaded", SAME_KEY, 1,
	"The gateway is overloaded",
	"The request was executed, and its stored answer does not fit into the "
	"gateway's memory at the moment. Send the request again with the same "
	"key.")
PROBLEM(REFUSAL_NO_MEMORY, 503, "overloaded", SAME_KEY, 1,
	"The gateway is overloaded",
	"The API refused the request, so nothing was executed; its own answer "
	"does not fit into the gateway's memory at the moment. Send the "
	"request again with the same key.")
PROBLEM(ANSWER_NOT_FETCHED, 503, "store-unavailable", SAME_KEY, 1,
	"The stored answer cannot be fetched at the moment",
	"The request was executed, and its stored answer, which is large, did "
	"not come from the store. Send the request again with the same key.")
PROBLEM(REQUEST_TOO_LARGE, 413, "request-too-large", FIX_REQUEST, 0,
	"The request's body is too large",
	"The request's body is larger than this path accepts.")
PROBLEM(HEADERS_TOO_LARGE, 431, "headers-too-large", FIX_REQUEST, 0,
	"The request's header fields are too large",
	"The request's header fields, together with its target, are larger "
	"than the gateway accepts.")
PROBLEM(BAD_REQUEST, 400, "bad-request", FIX_REQUEST, 0,
	"The request is malformed",
	"The request is not well-formed HTTP.")
PROBLEM(REQUEST_TIMEOUT, 408, "request-timeout", SAME_KEY, 0,
	"The request did not arrive in time",
	"The request took too long to arrive and was given up. It can be sent "
	"again.")
PROBLEM(METHOD_NOT_ALLOWED, 405, "method-not-allowed", FIX_REQUEST, 0,
	"The method is not served",
	"The gateway does not serve this method.")
PROBLEM(EXPECTATION_FAILED, 417, "expectation-failed", FIX_REQUEST, 0,
	"The expectation cannot be met",
	"The only expectation that the gateway can meet is 100-continue.")
PROBLEM(CODING_NOT_IMPLEMENTED, 501, "bad-request", FIX_REQUEST, 0,
	"The transfer coding is not implemented",
	"The only Transfer-Encoding that is accepted is \"chunked\", once.")
PROBLEM(VERSION_NOT_SUPPORTED, 505, "version-not-supported", FIX_REQUEST, 0,
	"The HTTP version is not supported",
	"The gateway speaks HTTP/1.0 and HTTP/1.1.")
/* --- of the admin interface --- */
PROBLEM(NOT_FOUND, 404, "not-found", FIX_REQUEST, 0,
	"There is nothing here",
	"There is nothing at this path.")
PROBLEM(CONFLICT, 409, "conflict", FIX_REQUEST, 0,
	"The state of the record does not allow this",
	"The state of the record does not allow this.")
PROBLEM(NOT_ANSWERED, 503, "not-answered", SAME_KEY, 1,
	"A part of the gateway did not answer in time",
	"A worker of this gateway has ended, or did not answer in time.")
PROBLEM(UNAUTHORIZED, 401, "unauthorized", FIX_REQUEST, 0,
	"The token is missing or wrong",
	"The admin interface needs its bearer token in the Authorization "
	"field.")
PROBLEM(FORBIDDEN, 403, "forbidden", FIX_REQUEST, 0,
	"Pages of other sites have no access",
	"Origin or Sec-Fetch-Site says that a page of another site sent this "
	"request.")
PROBLEM(READ_ONLY, 403, "read-only", FIX_REQUEST, 0,
	"This token is for looking only",
	"The token's read_only is true. Nothing was changed.")
PROBLEM(NOT_JSON, 415, "not-json", FIX_REQUEST, 0,
	"The body has to be JSON",
	"A browser that changes something has to send it with the Content-Type "
	"application/json.")
