# SPDX-License-Identifier: BSD-2-Clause
"""Checks the promise on what a cell of the matrix saw: the bank's ledger,
every answer that a client got, and the record that is left."""

SLACK_S = 3.0
CHANGES = ("X-Request-Id", "Original-Request-Id", "Idempotent-Replayed",
           "Connection")
TRY_AGAIN = ("in-flight", "store-unavailable", "upstream-unreachable",
             "overloaded", "token-unverified")


def seconds(duration):
    return float(duration.removesuffix("s"))


def is_answer(got):
    """Whether this is the upstream's answer about a payment that it made."""
    return got.problem is None and got.status in (200, 201)


def content(got):
    return got.status, sorted(got.without(*CHANGES)), got.body


def promised(cell):
    """Whether the answer must be known in the end: somebody got it, it was in
    Redis, or a gateway that is still alive has read all of it."""
    lives = not cell.fault.kills and not cell.fault.breaks_answers
    return (any(is_answer(got) for _, got in cell.seen)
            or cell.state_at_stop == "C"
            or lives and any(entry.whole for entry in cell.bank.paid))


def is_final(cell, got, in_doubt):
    """Whether this answer to a retry is final."""
    if is_answer(got):
        return got.replayed
    if got.problem in TRY_AGAIN or got.body == b"busy":
        return False
    assert got.problem == "outcome-unknown", f"a retry was told {got}"
    if cell.scenario.policy != "hold":
        return False
    return in_doubt or not promised(cell)


def check_in_flight(cell, after_s):
    """A retry got this, after_s seconds after the world was well again.  A
    gateway that is alive does not leave a key until its lease expires."""
    most_s = seconds(cell.fault.lease) + SLACK_S
    if not cell.fault.kills and not cell.fault.freezes:
        most_s = seconds(cell.fault.lease) / 2
    assert after_s <= most_s, f"still in flight after {after_s:.1f} s"


def allowed(cell):
    """How often something may happen that happens once: what Redis forgets
    may happen again, once for each time that it forgets."""
    return 2 if cell.fault.forgets else 1


def check(cell):
    if not cell.fault.kills:
        assert cell.gateway.running(), "the gateway has ended"
    if not cell.scenario.keyed:
        check_passed(cell)
        return
    check_executions(cell)
    check_answers(cell)
    check_doubt(cell)
    state = cell.record_state()
    assert state != "P", "the record is still in flight"


def check_passed(cell):
    """Pass-through: never sent twice by the gateway itself."""
    ids = [r.get("X-Request-Id") for r in cell.bank.requests]
    assert len(ids) == len(set(ids)), f"sent twice: {ids}"


def check_executions(cell):
    sent = [e for e in cell.bank.entries if e.move != "busy"]
    paid = cell.bank.paid
    if cell.scenario.policy == "hold":
        assert len(sent) <= allowed(cell), f"sent {len(sent)} times"
    elif cell.scenario.policy == "reconcile":
        assert len(paid) <= allowed(cell), f"executed {len(paid)} times"
    if cell.fault.forgets:
        return
    attempts = [e.attempt for e in cell.bank.entries]
    assert len(attempts) == len(set(attempts)), f"attempts {attempts}"
    assert len(attempts) <= 5, f"attempts {attempts}"
    told = [when for when, got in cell.seen if is_answer(got)]
    late = [e for e in paid if told and e.at > min(told)]
    assert not late, f"executed after a client had its answer: {late}"


def check_answers(cell):
    answers = {repr(content(got)) for _, got in cell.seen if is_answer(got)}
    assert len(answers) <= allowed(cell), (
        "different answers:\n" + "\n".join(answers))
    if answers:
        assert cell.final.replayed, f"an answer was given, then {cell.final}"
    first = [got for _, got in cell.seen if is_answer(got)
             and not got.replayed]
    assert len(first) <= allowed(cell), f"{len(first)} clients were first"


def check_doubt(cell):
    """UNKNOWN needs a reason: something was sent, or the owner is dead."""
    if cell.final.problem != "outcome-unknown":
        return
    owner_lost = ((cell.fault.kills or cell.fault.freezes)
                  and cell.state_at_stop == "P")
    assert cell.bank.entries or owner_lost, (
        "unknown, although nothing was ever sent")
