# SPDX-License-Identifier: BSD-2-Clause
"""What the database of an API has in the end, beside what a history tells
(history.py).  history.rows: by record, the payments that are there."""

from typing import NamedTuple


class Row(NamedTuple):
    """A payment: the name of its answer, and who wrote it."""
    name: str
    key_id: str
    attempt: int


def paid_once(story):
    rows = story.history.rows.get(story.record, ())
    if len(rows) > 1:
        yield f"it was paid {len(rows)} times: {rows}"


def answers_stand(story):
    """A client was told that it was paid if it was, and nothing else."""
    rows = story.history.rows.get(story.record, ())
    paid = {row.name for row in rows}
    released = {a.given for a in story.arrivals
                if a.attempt in {row.attempt for row in rows}}
    for op in story.ops:
        given = story.history.given.get(op.got)
        if given is None:
            continue
        if given.kind == "store" and op.got not in paid and \
                200 <= given.answer.status < 300:
            yield f"op {op.number} was told {op.got}, and no row has it"
        elif paid and story.token(op) not in (None, *paid):
            yield f"op {op.number} was told {op.got}, and it was paid"
        elif given.kind == "release" and op.got in released:
            yield (f"op {op.number} was told {op.got}, that nothing was done, "
                   "of an attempt that paid")


def none_is_given_up_that_paid(story):
    """All attempts are known not to have happened where they are used up."""
    for op in story.ops:
        if op.problem == "attempts-exhausted" and any(
                a.effect and a.at < op.begin for a in story.arrivals):
            yield f"op {op.number} was told {op.problem}, and it was paid"


LEDGER = (paid_once, answers_stand, none_is_given_up_that_paid)
