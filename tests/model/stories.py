# SPDX-License-Identifier: BSD-2-Clause
"""What once.pml is searched for: its macros, and the promise that is broken.
Rows are (words, macros) and (words, macros, promise)."""

VARIANTS = [
    ("one Redis", ""),
    ("a replica takes over", "FAILOVER"),
    ("a replica takes over, on_unknown is retry", "FAILOVER RETRY THREE"),
    ("Redis forgets the record", "FORGETS"),
    ("the record is damaged", "DAMAGES"),
]

MISTAKES = [
    ("claiming an expired lease again executes twice",
     "RECLAIM_EXPIRED", "ONCE"),
    ("releasing after a send that failed executes twice",
     "RELEASE_AFTER_SEND", "ONCE"),
    ("taking a step from a stranger executes twice",
     "NO_FENCING", "ONCE"),
    ("an owner for all requests of a gateway executes twice",
     "SAME_OWNER", "ONCE"),
    ("a claim without a deadline leaves in doubt what was never sent",
     "NO_DEADLINE", "NO_IDLE_DOUBT"),
    ("without a sweeper a dead owner's record stays PROCESSING",
     "NO_SWEEPER", "UNSTUCK"),
    ("an answer given before it is stored is not there for a retry",
     "ANSWER_BEFORE_STORE", "LASTING"),
    ("an answer given from a journal in memory is not there for a retry",
     "JOURNAL_IN_MEMORY", "LASTING"),
    ("an outcome that is given up for want of a record is not there any more",
     "FORGETS GONE_IS_LATE", "LASTING"),
    ("an outcome that is given up for want of a record executes twice",
     "FORGETS GONE_IS_LATE", "ONCE"),
    ("an outcome that is given up for a damaged record leaves a doubt",
     "DAMAGES BROKEN_IS_LATE", "TRUTH"),
    ("a damaged record whose delete frees the key executes twice",
     "DAMAGES DELETE_FREES", "ONCE"),
    ("an outcome that comes after the delete and is refused leaves a doubt",
     "DAMAGES DELETE_DECIDES", "TRUTH"),
    ("an answer that comes after the delete and is refused is not there",
     "DAMAGES DELETE_DECIDES", "LASTING"),
    ("a claim that only the master has executes twice after a failover",
     "FAILOVER NO_WAIT", "ONCE"),
    ("a claim that only the master has repeats an attempt number",
     "FAILOVER NO_WAIT", "NUMBERED"),
    ("WAIT on another connection than the claim's executes twice",
     "FAILOVER WAIT_ELSEWHERE", "ONCE"),
    ("a replay that no replica has yet is not there for the next retry",
     "FAILOVER EARLY_REPLAY", "LASTING"),
    ("a replay that no replica has yet is not the answer that others get",
     "FAILOVER EARLY_REPLAY RETRY", "ONE_ANSWER"),
]

# What no gateway can prevent.
LIMITS = [
    ("an operator's answer differs from one that the owner has given",
     "OPERATOR_COMPLETES", "ONE_ANSWER"),
    ("an operator's release while the owner may still act executes twice",
     "OPERATOR_RELEASES", "ONCE"),
]

# Where an outcome that is unknown does not stay so.
UNKNOWN_VARIANTS = [
    ("on_unknown is retry", "RETRY THREE"),
    ("on_unknown is retry, four requests, no late claims", "RETRY PROMPT"),
    ("on_unknown is reconcile", "RECONCILE"),
    ("Redis forgets the record, on_unknown is retry", "FORGETS RETRY THREE"),
]

UNKNOWN_MISTAKES = [
    ("taking a step from a stranger changes an answer that was given",
     "NO_FENCING RETRY", "ONE_ANSWER"),
    ("an answer given before it is stored is not the one that retries get",
     "ANSWER_BEFORE_STORE RETRY", "ONE_ANSWER"),
    ("a fenced owner's own answer is not the one that retries get",
     "FENCED_ANSWERS RETRY", "ONE_ANSWER"),
    ("with on_unknown retry, a journal's answer is not the one that counts",
     "JOURNAL_ANSWERS RETRY", "ONE_ANSWER"),
    ("an attempt that was not sent, freeing the key, loses the one before",
     "RETRY FORGET_BEFORE", "TRUTH"),
    ("a number that was sent and is given again is sent twice",
     "RETRY RESTORE_AFTER_SEND", "NUMBERED"),
    ("a journal that drops a truth too early leaves a doubt",
     "RETRY JOURNAL_FORGETS", "TRUTH"),
    ("the latest attempt alone being heard, the truth of another is lost",
     "RETRY LATEST_ONLY", "TRUTH"),
    ("asking before the API is done executes twice",
     "RECONCILE NO_SETTLE", "ONCE"),
    ("sending after the lease, when the API has been asked, executes twice",
     "RECONCILE SEND_LATE", "ONCE"),
    ("an owner that is not heard while another asks leaves a doubt",
     "RECONCILE REFUSE_ASKED", "TRUTH"),
    ("executing what the API denied before somebody else asked executes twice",
     "RECONCILE OLD_DENIAL", "ONCE"),
    ("with reconcile, a journal's answer is not the one that counts",
     "RECONCILE JOURNAL_ANSWERS", "ONE_ANSWER"),
]
