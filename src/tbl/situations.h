/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SITUATION(verdict, step, problem, outcome): what a claim's verdict means for
 * the request, one line each: its next step, the problem that it answers with
 * (COUNT_: none) and its outcome.  Verdicts that no claim can have are missing,
 * and so are IN_FLIGHT and BUSY, about which route and client decide.
 */
SITUATION(OURS, START, COUNT_, EXECUTED)
SITUATION(RECONCILE, START, COUNT_, REPLAYED)
SITUATION(COMPLETED, ANSWER, COUNT_, REPLAYED)
SITUATION(UNKNOWN, ANSWER, UNKNOWN_HELD, UNKNOWN)
SITUATION(FAILED, ANSWER, ATTEMPTS_EXHAUSTED, EXHAUSTED)
SITUATION(MISMATCH, ANSWER, KEY_REUSED, MISMATCH)
SITUATION(STALE, ANSWER, STALE_VERSION, STALE)
SITUATION(FULL, ANSWER, EVENTS_FULL, OVERLOADED)
SITUATION(BROKEN, ANSWER, RECORD_BROKEN, UNKNOWN)
