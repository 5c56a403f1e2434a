/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OBSERVED(name, word, is_duplicate): what a route that only observes would
 * have done with a request: the label `would` of onceproxy_observed_total, the
 * words of the outcome that it would have had; and whether another request
 * with its key came before.  The first is what is done where none came.
 */
OBSERVED(EXECUTED, "executed", false)
OBSERVED(REPLAYED, "replayed", true)
OBSERVED(IN_FLIGHT, "in-flight", true)
OBSERVED(UNKNOWN, "unknown", true)
OBSERVED(MISMATCH, "mismatch", true)
OBSERVED(PASSED, "passed", false)
OBSERVED(KEY_MISSING, "key-missing", false)
OBSERVED(KEY_INVALID, "key-invalid", false)
OBSERVED(SCOPE_MISSING, "scope-missing", false)
OBSERVED(TOKEN_INVALID, "token-invalid", false)
OBSERVED(BAD_REQUEST, "bad-request", false)
OBSERVED(TOO_LARGE, "too-large", false)
OBSERVED(NOTHING, "not-observed", false)
