# SPDX-License-Identifier: BSD-2-Clause
"""The model of two messages (turn, lane, letter, acknowledgement), searched by
spin."""

from once import tap

from searching import Model

MODEL = Model("message.pml")

VARIANTS = [
    ("an order", ""),
    ("one key, and a client has it too", "ONE_KEY CALLER"),
    ("one key, which is tried again", "ONE_KEY RETRIES"),
    ("no order, and gateways of one name", "UNORDERED ONE_KEY ONE_NAME"),
]

MISTAKES = [
    ("claiming what is PROCESSING elsewhere executes twice",
     "CLAIM_ANYWAY", "ONCE"),
    ("a put for what is not pending any more is a second one",
     "UNORDERED BLIND_PUT", "ONE_PUT"),
    ("a put that is not one step with its acknowledgement is done again",
     "TWO_STEPS", "ONE_PUT"),
    ("acknowledging from the journal loses what only a disk has",
     "JOURNAL_ACKS", "STORED"),
    ("acknowledging what nobody knows loses it",
     "DOUBT_ACKS", "STORED"),
    ("a turn that is not given up before its end lets two read",
     "LATE_TURN", "ORDER"),
    ("a claim by who was frozen and lost its turn overtakes",
     "TURN_UNSEEN", "ORDER"),
    ("reading new messages before those that others had overtakes them",
     "NEW_FIRST", "ORDER"),
    ("a message that does not wait for the one before it overtakes it",
     "NO_LANES", "ORDER"),
    ("a letter that is written after the acknowledgement is lost between them",
     "LETTER_LATER", "STORED"),
    ("a letter that is written when the turn is over is not known to the next",
     "LETTER_OVERDUE", "ORDER"),
    ("a parked lane that is not asked for at a new turn is passed",
     "LANES_BEFORE", "ORDER"),
    ("what a gateway had that died is left for ever",
     "NO_TAKING_OVER", "ENDS"),
]

MODEL.begin_tests(VARIANTS, MISTAKES)
MODEL.begin_tests_of_rows(VARIANTS, MISTAKES)
tap.main()
