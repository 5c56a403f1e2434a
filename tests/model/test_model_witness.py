# SPDX-License-Identifier: BSD-2-Clause
"""The model of a payment's witness in the API's database, searched by spin."""

from once import tap

from searching import Model

MODEL = Model("witness.pml")

VARIANTS = [
    ("enforced_by", ""),
    ("enforced_by, asked too early", "EARLY"),
    ("an attempt is sent twice by somebody between", "REPEATED UNIQUE"),
    ("what is started is held", "STARTED"),
    ("what is started is reconciled", "STARTED RECONCILE SWEEPS"),
    ("an API that writes the row, unenforced", "UNENFORCED SWEEPS"),
    ("an API that does not write it, and a guard", "UNENFORCED FORGETFUL"),
    ("an API that ceases to write it, and a guard",
     "UNENFORCED FORGETS PROMPT"),
    ("one that does again, as an operator says",
     "UNENFORCED FORGETS PROMPT MENDED"),
]

MISTAKES = [
    ("a key that is free before the revocation is committed is free too early",
     "FREE_EARLY", "FREE"),
    ("a key that is free before the revocation is committed is paid twice",
     "FREE_EARLY", "ONCE"),
    ("a gateway that is frozen before its COMMIT holds the API",
     "TWO_BATCHES", "ENDS"),
    ("a payment that another one's row allows is a second one",
     "REPEATED", "ONCE"),
    ("taking a lock that was not had for no row pays twice",
     "LOCK_IS_ABSENT", "ONCE"),
    ("ignoring `done` executes again",
     "DONE_IGNORED", "LAST"),
    ("ignoring `done` pays twice",
     "DONE_IGNORED", "ONCE"),
    ("taking `started` for no row pays twice",
     "STARTED STARTED_IS_ABSENT", "ONCE"),
    ("an attempt with the number of a revoked one can never commit",
     "SAME_NUMBER", "FRESH"),
    ("releasing what was revoked frees what runs by now",
     "NO_FENCING", "FREE"),
    ("a refusal that is not looked up is not what stands",
     "NO_LOOK", "TOLD"),
    ("a 503 that is not looked up pays twice",
     "NO_LOOK", "ONCE"),
    ("a refusal that is looked up without revoking is not what stands",
     "LOOK_ONLY", "TOLD"),
    ("a 503 that is looked up without revoking frees the key too early",
     "LOOK_ONLY", "FREE"),
    ("an owner's own answer is not the one that was made of the row",
     "OWN_ANSWER", "TOLD"),
    ("an operator's release that does not revoke frees the key too early",
     "OPERATOR_RELEASES", "FREE"),
    ("an operator's release that does not revoke pays twice",
     "OPERATOR_RELEASES", "ONCE"),
    ("asking about what was started before the API is done pays twice",
     "STARTED RECONCILE NO_SETTLE", "ONCE"),
    ("sending after the lease what may be started pays twice",
     "STARTED RECONCILE SEND_LATE", "ONCE"),
    ("sending after the lease, when the guard has its proof, pays twice",
     "UNENFORCED FORGETS PROMPT SEND_LATE", "ONCE"),
    ("asking without a guard an API that writes no row pays twice",
     "UNENFORCED FORGETFUL NO_GUARD", "ONCE"),
    ("a row from before the attempt is no proof that it wrote one",
     "UNENFORCED FORGETS PROMPT OLD_PROOF", "ONCE"),
    ("nor is one from after its claim, if it was sent later",
     "UNENFORCED FORGETS PROMPT PROOF_SINCE_CLAIM", "ONCE"),
    ("an operator's word for what was sent before it pays twice",
     "UNENFORCED FORGETS PROMPT MENDED WORD_FOR_ALL", "ONCE"),
]

# What no gateway can prevent.
LIMITS = [
    ("an API that may change the row pays what was revoked",
     "UPSERTS", "ONCE"),
    ("a database that loses a revocation lets the late payment in",
     "ROW_LOST", "ONCE"),
    ("what an operator says of it is not what stands",
     "OPERATOR_COMPLETES", "TOLD"),
    ("the guard takes an API that learns to write for one that wrote",
     "UNENFORCED LEARNS PROMPT", "ONCE"),
    ("the guard does not know which release will begin what was sent",
     "UNENFORCED FORGETS", "ONCE"),
]

MODEL.begin_tests(VARIANTS, MISTAKES, LIMITS)
MODEL.begin_tests_of_rows(VARIANTS, MISTAKES, LIMITS)
tap.main()
