/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MESSAGE_OUTCOME(name, word): what became of a message, as it is counted
 * (onceproxy_messages_total).  The first three are counted each time; each of
 * the others is an end, DROPPED by an operator's word.  Those of MESSAGE_REASON
 * are also why it went to the dead letters.
 */
#ifndef MESSAGE_OUTCOME
#define MESSAGE_OUTCOME(name, word)
#endif
#ifndef MESSAGE_REASON
#define MESSAGE_REASON(name, word) MESSAGE_OUTCOME(name, word)
#endif

MESSAGE_OUTCOME(WAITED, "waited")
MESSAGE_OUTCOME(HELD, "held")
MESSAGE_OUTCOME(RETRIED, "retried")

MESSAGE_OUTCOME(EXECUTED, "executed")
MESSAGE_OUTCOME(DUPLICATE, "duplicate")
MESSAGE_OUTCOME(STALE, "stale")
MESSAGE_OUTCOME(DROPPED, "dropped")

MESSAGE_REASON(REFUSED, "refused")
MESSAGE_REASON(EXHAUSTED, "exhausted")
MESSAGE_REASON(MISMATCH, "mismatch")
MESSAGE_REASON(UNKNOWN, "unknown")
MESSAGE_REASON(MALFORMED, "malformed")
MESSAGE_REASON(KEY_MISSING, "key-missing")
MESSAGE_REASON(TOO_LARGE, "too-large")
MESSAGE_REASON(EXPIRED, "expired")
MESSAGE_REASON(BEHIND, "behind")

#undef MESSAGE_OUTCOME
#undef MESSAGE_REASON
