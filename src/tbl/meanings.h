/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MEANING(found, step, outcome, why): what is found out about a message's key,
 * by its claim or by its execution, and what the message does then: its next
 * step, what it is counted as (COUNT_: not now), and why it waits, for
 * operators (NULL: it does not).
 */
MEANING(OURS, START, COUNT_, NULL)
MEANING(STORED_GOOD, FINISH, EXECUTED, NULL)
MEANING(STORED_BAD, REFUSE, REFUSED, NULL)
MEANING(FOUND_GOOD, FINISH, DUPLICATE, NULL)
MEANING(FOUND_BAD, REFUSE, DUPLICATE, NULL)
MEANING(STALE, FINISH, STALE, NULL)
MEANING(RELEASED, BACK_OFF, RETRIED, "released")
MEANING(NOT_SENT, UNSENT, COUNT_, "not-sent")
MEANING(UNKNOWN_HELD, HOLD, HELD, "unknown")
MEANING(UNKNOWN_TRIED, BACK_OFF, RETRIED, "unknown")
MEANING(IN_FLIGHT, WAIT, WAITED, "in-flight")
MEANING(FAILED, BURY, EXHAUSTED, NULL)
MEANING(MISMATCH, BURY, MISMATCH, NULL)
MEANING(FORGOTTEN, MISS, HELD, "forgotten")
MEANING(BROKEN, HOLD, HELD, "broken")
MEANING(NO_STORE, STAND, COUNT_, "store")
MEANING(NOT_STORED, LOOK, COUNT_, "in-flight")
