# SPDX-License-Identifier: BSD-2-Clause
"""The checker of histories sees each kind of damage: made-up histories, each
with one thing wrong, and the same without it."""

import dataclasses

from once import history
from once.history import (Act, Answer, Arrival, Fault, Given, History, Op,
                          Question, Record)
from once.tap import each, equal, main, test

from plan import Plan

OWN = Record("hold", "Bearer a", "k")
OTHER = OWN._replace(tenant="Bearer b")
ALL = (*history.EXECUTIONS, *history.ANSWERS, *history.LINEAR,
       *history.REFUSALS, *history.ENDS)


class Making:
    """A history in the making; at is the time of the last event."""

    def __init__(self, record=OWN):
        self.history = History(max_attempts=3)
        self.record = record
        self.at = 0.0

    def tick(self):
        self.at += 1
        return self.at

    def op(self, got=None, problem=None, **members):
        """An operation that takes no time, after all before it."""
        record = members.pop("record", self.record)
        answer = self.history.given[got].answer if got else None
        begin = members.pop("begin", None) or self.tick()
        op = Op(len(self.history.ops), record, 0, 0, begin, self.tick(),
                got, answer, problem=problem)
        self.history.ops.append(dataclasses.replace(op, **members))
        return self

    def sent(self, attempt, name=None, kind="store", record=None, **members):
        """A request that reached the upstream."""
        record = record or self.record
        at = self.tick()
        if name:
            self.given(name, kind, record)
        self.history.arrivals.append(Arrival(record, attempt, at, **{
            "done": at, "given": name, "effect": kind != "release",
            "failed": kind == "unknown", **members}))
        return self

    def given(self, name, kind="store", record=None):
        self.history.given[name] = Given(
            name, record or self.record, kind,
            Answer(201, (("X-Execution", name),), name.encode()), 0)
        return self

    def forget(self, name):
        del self.history.given[name]
        return self

    def asked(self, denied):
        self.history.questions.append(
            Question(self.record, self.tick(), denied))
        return self

    def act(self, act):
        self.history.acts.append(
            Act(self.record, act, self.tick(), self.tick()))
        return self

    def fault(self):
        self.history.faults.append(
            Fault("a fault", self.tick(), self.tick()))
        return self

    def replays(self, name="e1"):
        """A good end: a retry, and one after the healing."""
        return self.op(name, replayed=True).op(
            name, replayed=True, last=True)

    def found(self):
        return [words for words, _ in history.check(self.history, ALL)]


def on(route):
    return Making(OWN._replace(route=route))


def plain():
    """A payment, whose client waits while it is executed."""
    return Making().sent(1, "e1").op("e1", begin=0.5)


GOOD = [
    ("a payment and its replays", plain().replays()),
    ("an answer that nobody got", Making().op(begin=0.5, end=None)
     .sent(1, "e1").replays()),
    ("what was released is executed", Making().sent(1, "e1", "release")
     .op("e1", begin=0.5).sent(2, "e2").op("e2", begin=3.5).replays("e2")),
    ("what failed is unknown, and an operator decides",
     Making().sent(1, "e1", failed=True)
     .op(problem="outcome-unknown", begin=0.5).given("o1").act("complete")
     .replays("o1")),
    ("what an operator released is executed again",
     Making().fault().sent(1, "e1").op(problem="outcome-unknown", begin=0.5)
     .act("release").sent(2, "e2").op("e2", begin=8.5).replays("e2")),
    ("retry executes again what is unknown",
     on("retry").sent(1, "e1", failed=True)
     .op(problem="outcome-unknown", begin=0.5)
     .sent(2, "e2").op("e2", begin=3.5).replays("e2")),
    ("reconcile executes again what was denied",
     on("reconcile").sent(1, "e1", failed=True, effect=False)
     .op(problem="outcome-unknown", begin=0.5).asked(True)
     .sent(2, "e2").op("e2", begin=4.5).replays("e2")),
    ("another body is refused",
     plain().op(problem="key-reused", variant=1).replays()),
    ("attempts are used up", on("retry").sent(1, failed=True)
     .sent(2, failed=True).sent(3, failed=True)
     .op(problem="attempts-exhausted", begin=0.5)
     .op(problem="attempts-exhausted", last=True)),
    ("an answer from the journal may have to wait",
     Making().fault().sent(1, "e1").op("e1", begin=0.5)
     .op(problem="outcome-unknown").replays()),
    ("what is too large is not kept",
     Making().sent(1, "e1", "large").op("e1", begin=0.5)
     .op(problem="response-not-kept")
     .op(problem="response-not-kept", last=True)),
]


@each(GOOD)
def this_is_no_damage(bench, making):
    equal(making.found(), [])


BAD = [
    ("a second execution", "executed 2 times",
     plain().sent(2, "e2").replays()),
    ("the same attempt twice", "attempt 1 was sent twice",
     on("retry").fault().sent(1, "e1").sent(1, "e2")
     .op("e2", begin=0.5).replays("e2")),
    ("an execution while another is in doubt", "after an execution",
     Making().sent(1, "e1", failed=True)
     .op(problem="outcome-unknown", begin=0.5)
     .sent(2, "e2").op("e2", begin=3.5).replays("e2")),
    ("an execution again, and nothing was unknown", "nothing was unknown",
     on("retry").sent(1, "e1").sent(2, "e2").op("e2", begin=0.5)
     .replays("e2")),
    ("an execution beside the one that was denied", "executed 2 times",
     on("reconcile").fault().asked(True).sent(2, "e2").sent(1, "e1")
     .op("e2", begin=0.5).replays("e2")),
    ("an execution again, and the upstream told of the first",
     "denied none", on("reconcile").sent(1, "e1", failed=True)
     .op(problem="outcome-unknown", begin=0.5).asked(False)
     .sent(2, "e2").op("e2", begin=4.5).replays("e2")),
    ("one attempt too many", "sent 4 times",
     on("retry").sent(1, failed=True).sent(2, failed=True)
     .sent(3, failed=True).sent(4, "e1").op("e1", begin=0.5).replays()),
    ("an execution after an answer", "was sent at",
     on("retry").fault().sent(1, "e1").op("e1", begin=0.5)
     .sent(2, "e2").replays()),
    ("another answer than before", "was told e2 after",
     on("retry").fault().sent(1, "e1").sent(2, "e2").op("e1", begin=0.5)
     .op("e2", replayed=True, last=True)),
    ("bytes that changed", "changed",
     plain().op("e1", replayed=True, answer=Answer(201, (), b"?"))
     .replays()),
    ("the answer of another tenant", "got e2 of hold/Bearer b",
     plain().sent(1, "e2", record=OTHER)
     .op("e2", record=OTHER).op("e2", record=OTHER, last=True,
                                replayed=True)
     .op("e2", replayed=True).replays()),
    ("the answer to another body", "of another body",
     plain().op("e1", replayed=True, variant=1).replays()),
    ("an answer that nobody gave", "which nobody gave",
     plain().given("e9").op("e9", replayed=True).forget("e9").replays()),
    ("the first answer twice", "a second time",
     plain().op("e1").replays()),
    ("a replay of what was released", "not to be kept",
     Making().sent(1, "e1", "release").op("e1", begin=0.5)
     .op("e1", replayed=True).sent(2, "e2").op("e2", begin=5.5)
     .replays("e2")),
    ("a lost answer", "was told outcome-unknown after",
     plain().fault().op(problem="outcome-unknown", last=True)),
    ("an answer that is lost for a while", "was told outcome-unknown after",
     plain().op(problem="outcome-unknown").replays()),
    ("a released answer after the final one", "was told e2 after",
     plain().sent(2, "e2", "release").op("e2").replays()),
    ("a stuck key", "no final state",
     Making().op(problem="in-flight").op(problem="in-flight", last=True)),
    ("a key that nobody could ask for", "no final state", plain()),
    ("a refusal of the same body", "key-reused without a reason",
     plain().op(problem="key-reused").replays()),
    ("a doubt without a cause", "outcome-unknown without a reason",
     Making().sent(1, "e1").op(problem="outcome-unknown", begin=0.5)
     .replays()),
    ("a refusal after too few attempts", "exhausted without a reason",
     on("retry").sent(1, failed=False)
     .op(problem="attempts-exhausted", begin=0.5)
     .op(problem="attempts-exhausted", last=True)),
    ("a small answer that is not kept", "not-kept without a reason",
     plain().op(problem="response-not-kept").replays()),
    ("a problem that no client may meet", "was told record-broken",
     plain().op(problem="record-broken").replays()),
]


@each(BAD)
def this_damage_is_seen(bench, words, making):
    found = making.found()
    assert any(words in sentence for sentence in found), found


@test
def an_execution_that_nobody_asked_for_is_seen(bench):
    making = plain().replays().sent(1, record=OTHER)
    equal(making.history.strangers(), [OTHER])


@test
def a_seed_is_a_plan(bench):
    equal(Plan(7).text(), Plan(7).text())
    assert Plan(7).text() != Plan(8).text()


main()
