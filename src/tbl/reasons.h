/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * REASON(name, letter, word, sentence): why a record is UNKNOWN: its letter in
 * the record, its word for people, and the manual's sentence.
 */
REASON(NONE, '-', "", "")
REASON(LEASE_EXPIRED, 'l', "lease-expired", "Nothing was heard of its gateway "
	"for the length of the lease: it died, was frozen, or lost Redis. It "
	"may or may not have sent the request; its journal may have the "
	"outcome.")
REASON(TIMEOUT, 't', "timeout", "The upstream did not answer in time.")
REASON(BROKEN, 'b', "broken", "The connection to the upstream closed, or was "
	"lost, before the answer was complete.")
REASON(MALFORMED, 'm', "malformed", "The upstream's answer was not "
	"well-formed HTTP, or it had no length and ended by closing, which "
	"upstreams.NAME.close_delimited accepts; the log says which.")
REASON(STATUS, 's', "status", "The upstream's answer itself means unknown "
	"(outcomes, or its field Idempotency-Outcome).")
REASON(DRAIN, 'd', "drain", "The gateway had to shut down before the upstream "
	"answered (drain_timeout).")
REASON(OPERATOR, 'o', "operator", "Its record was damaged, and an operator has "
	"deleted that.")
