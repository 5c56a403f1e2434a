# SPDX-License-Identifier: BSD-2-Clause
"""The checker of histories sees each kind of damage: made-up histories, each
with one thing wrong, and the same without it."""

import dataclasses

from once import entities, history
from once.history import (Act, Answer, Arrival, Fault, Given, History, Op,
                          Question, Record)
from once.paid import LEDGER, Row
from once.tap import each, equal, main, test

from plan import Plan

OWN = Record("hold", "Bearer a", "k")
OTHER = OWN._replace(tenant="Bearer b")
ALL = (*history.EXECUTIONS, *history.ANSWERS, *history.LINEAR,
       *history.REFUSALS, *entities.ENTITIES, *history.ENDS)


class Making:
    """A history in the making; at is the time of the last event."""

    def __init__(self, record=OWN):
        self.history = History(max_attempts=3)
        self.record = record
        self.at = 0.0

    def tick(self):
        self.at += 1
        return self.at

    def later(self, seconds):
        self.at += seconds
        return self

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
            Answer(402 if name.startswith("n") else 201,
                   (("X-Execution", name),), name.encode()), 0)
        return self

    def forget(self, name):
        del self.history.given[name]
        return self

    def asked(self, denied):
        self.history.questions.append(
            Question(self.record, self.tick(), denied))
        return self

    def act(self, act, record=None):
        self.history.acts.append(
            Act(record or self.record, act, self.tick(), self.tick()))
        return self

    def fault(self, stall=False):
        self.history.faults.append(
            Fault("a fault", self.tick(), self.tick(), stall))
        return self

    def replays(self, name="e1"):
        """A good end: a retry, and one after the healing."""
        return self.op(name, replayed=True).op(
            name, replayed=True, last=True)

    def row(self, name, attempt=1):
        """A payment in the API's database."""
        self.history.rows.setdefault(self.record, []).append(
            Row(name, "an id", attempt))
        return self

    def found(self):
        checks = ALL
        if self.record.on_unknown == "witness":
            checks += LEDGER
        return [words for words, _ in history.check(self.history, checks)]


def on(route, **members):
    making = Making(OWN._replace(route=route))
    for name, value in members.items():
        setattr(making.history, name, value)
    return making


def key_of(entity, route, key="k", version=1):
    return Record(route, "Bearer a", key, entity, version)


OLD, NEW, ODD = (key_of("a-1", "newer-retry", key, version) for key, version in
                 (("old", 1), ("new", 2), ("odd", 2)))
ONE, TWO = (key_of("a-1", "serial-hold", key) for key in ("one", "two"))


class Kin(Making):
    """Histories of several keys, each of which comes to its end."""

    def paid(self, record, name, **members):
        return self.sent(1, name, record=record).op(
            name, record=record, begin=self.at - 0.5, **members)

    def stale(self, record, **members):
        return self.op(problem="stale-version", record=record, **members)

    def both_at_once(self, took_s=1.5, **members):
        """ONE is executed for so long, and TWO as well."""
        self.sent(1, "e1", record=ONE, ready=self.at + took_s + 1,
                  done=self.at + took_s + 1, **members)
        begin = self.at - 0.1
        self.sent(1, "e2", record=TWO).op(
            "e2", record=TWO, begin=begin, end=begin + 1.4)
        return self.op("e1", record=ONE, begin=begin, end=begin + took_s)

    def ends(self, *names):
        for name in names:
            given = self.history.given[name]
            self.op(name, record=given.record, replayed=True, last=True)
        return self


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
     .op(problem="outcome-unknown", begin=0.5).later(2).asked(True)
     .sent(2, "e2").op("e2", begin=6.5).replays("e2")),
    ("a witness tells of a payment whose answer was lost",
     on("witness").sent(1, "e1", failed=True).row("e1")
     .op(problem="outcome-unknown", begin=0.5).replays()),
    ("a gateway is frozen, and another one has its refused attempt revoked",
     on("witness").sent(1, "n1", "release", effect=False, failed=True)
     .op(problem="in-flight", begin=0.5).sent(2, "e2").row("e2", 2)
     .op("e2", begin=3.5).replays("e2")),
    ("a witness denies what was refused, and the next one pays",
     on("witness").sent(1, "n1", "release", effect=False)
     .op("n1", begin=0.5).sent(2, "e2").row("e2", 2).op("e2", begin=3.5)
     .replays("e2")),
    ("another body is refused",
     plain().op(problem="key-reused", variant=1).replays()),
    ("attempts are used up", on("retry").sent(1, failed=True)
     .sent(2, failed=True).sent(3, failed=True)
     .op(problem="attempts-exhausted", begin=0.5)
     .op(problem="attempts-exhausted", last=True)),
    ("attempts that are lost on their way are used up",
     on("retry").fault().op(problem="outcome-unknown")
     .op(problem="outcome-unknown").op(problem="outcome-unknown")
     .op(problem="attempts-exhausted")
     .op(problem="attempts-exhausted", last=True)),
    ("attempts of a message that are lost on their way are used up",
     on("witness").fault().op(end=None, of_message=True)
     .op(problem="attempts-exhausted")
     .op(problem="attempts-exhausted", last=True)),
    ("attempts that were refused at once do not count",
     on("retry").sent(1, "e1", "release").sent(2, "e2", "release")
     .sent(3, "e3", "release").sent(4, "e4").op("e4", begin=0.5)
     .replays("e4")),
    ("attempts of messages that were released count perhaps",
     on("witness").sent(1, "n1", "release", of_message=True)
     .sent(2, "n2", "release", of_message=True)
     .sent(3, "n3", "release", of_message=True)
     .op(problem="attempts-exhausted", begin=0.5)
     .op(problem="attempts-exhausted", last=True)),
    ("the truth about one comes when they are used up",
     on("retry").sent(1, failed=True).sent(2, "e2").sent(3, failed=True)
     .op(problem="attempts-exhausted", begin=0.5).replays("e2")),
    ("an answer from the journal may have to wait",
     Making().fault().sent(1, "e1").op("e1", begin=0.5)
     .op(problem="outcome-unknown").replays()),
    ("what is too large is not kept",
     Making().sent(1, "e1", "large").op("e1", begin=0.5)
     .op(problem="response-not-kept")
     .op(problem="response-not-kept", last=True)),
    ("a newer version, and the older one is stale",
     Kin().paid(OLD, "e1").paid(NEW, "e2").stale(ODD).stale(ODD, last=True)
     .ends("e1", "e2")),
    ("an older version that was claimed before the newer one was done",
     Kin().paid(NEW, "e2").sent(1, "e1", record=OLD)
     .op("e1", record=OLD, begin=1.1).ends("e1", "e2")),
    ("a version that is stale because an operator says so",
     Kin().sent(1, "e2", record=NEW, failed=True)
     .op(problem="outcome-unknown", record=NEW, begin=0.5)
     .given("o2", record=NEW).act("complete", NEW).stale(OLD)
     .stale(OLD, last=True).ends("o2")),
    ("a version that waits for the outcome of an older one",
     Kin().fault().paid(OLD, "e1").op(problem="in-flight", record=NEW)
     .later(2).paid(NEW, "e2").ends("e1", "e2")),
    ("one key of an entity after the other", Kin().paid(ONE, "e1")
     .op(problem="entity-busy", record=TWO, begin=0.7).paid(TWO, "e2")
     .ends("e1", "e2")),
    ("both at once, where a lease may be over",
     Kin().fault().both_at_once(took_s=2.5).ends("e1", "e2")),
    ("entities of two tenants at once",
     Kin().sent(1, "e1", record=ONE, ready=9, done=3)
     .sent(1, "e2", record=TWO._replace(tenant="Bearer b"))
     .op("e1", record=ONE, begin=0.5)
     .op("e2", record=TWO._replace(tenant="Bearer b"), begin=1.5)
     .ends("e1", "e2")),
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
    ("another one where all stood still", "executed 2 times",
     on("reconcile").fault(stall=True).asked(True).sent(2, "e2")
     .sent(1, "e1").op("e2", begin=0.5).replays("e2")),
    ("a question before all has settled", "asked 4.000 s after",
     on("reconcile", settle_s=6).sent(1, "e1", failed=True)
     .op(problem="outcome-unknown", begin=0.5).later(2).asked(False)
     .given("q1").op("q1").replays("q1")),
    ("an execution again, and the upstream told of the first",
     "denied none", on("reconcile").sent(1, "e1", failed=True)
     .op(problem="outcome-unknown", begin=0.5).asked(False)
     .sent(2, "e2").op("e2", begin=4.5).replays("e2")),
    ("two rows of a key", "it was paid 2 times",
     on("witness").sent(1, "e1", failed=True, effect=False).row("e1")
     .op(problem="outcome-unknown", begin=0.5).sent(2, "e2").row("e2", 2)
     .op("e2", begin=3.5).replays("e2")),
    ("a payment that no row has", "and no row has it",
     on("witness").sent(1, "e1", effect=False).op("e1", begin=0.5).replays()),
    ("a refusal of what was paid", "and it was paid",
     on("witness").sent(1, "n1").row("e1").op("n1", begin=0.5)
     .replays("n1")),
    ("a release of what was paid", "that nothing was done",
     on("witness").sent(1, "n1", "release").row("e1").op("n1", begin=0.5)
     .given("e1").replays("e1")),
    ("attempts are used up, and one of them paid", "and it was paid",
     on("witness").sent(1, failed=True).row("e1")
     .sent(2, failed=True, effect=False).sent(3, failed=True, effect=False)
     .op(problem="attempts-exhausted", begin=3.5)
     .op(problem="attempts-exhausted", last=True)),
    ("one attempt too many that a witness denies", "sent 4 times",
     on("witness").sent(1, failed=True, effect=False)
     .sent(2, failed=True, effect=False).sent(3, failed=True, effect=False)
     .sent(4, "e4", of_message=True).row("e4", 4).op("e4", begin=0.5)
     .replays("e4")),
    ("one attempt too many", "sent 4 times",
     on("retry").sent(1, failed=True).sent(2, failed=True)
     .sent(3, failed=True).sent(4, "e1").op("e1", begin=0.5).replays()),
    ("an execution after an answer", "was sent at",
     on("retry").fault().sent(1, "e1").op("e1", begin=0.5)
     .sent(2, "e2").replays()),
    ("another answer when attempts are used up",
     "was told e4 after op 0 was told exhausted",
     on("retry").sent(1, failed=True).sent(2, "e2").sent(3, failed=True)
     .op(problem="attempts-exhausted", begin=0.5).sent(4, "e4")
     .replays("e4")),
    ("attempts that are used up, or are not", "told outcome-unknown after",
     on("retry").sent(1, failed=True).sent(2, failed=True)
     .sent(3, failed=True).op(problem="attempts-exhausted", begin=0.5)
     .op(problem="outcome-unknown")
     .op(problem="attempts-exhausted", last=True)),
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
    ("a refusal after attempts that do not count",
     "exhausted without a reason",
     on("retry").sent(1, "e1", "release").sent(2, "e2", "release")
     .sent(3, "e3", "release").op(problem="attempts-exhausted", begin=0.5)
     .op(problem="attempts-exhausted", last=True)),
    ("a refusal after too few operations", "exhausted without a reason",
     on("retry").fault().op(problem="outcome-unknown")
     .op(problem="outcome-unknown").op(problem="attempts-exhausted")
     .op(problem="attempts-exhausted", last=True)),
    ("a small answer that is not kept", "not-kept without a reason",
     plain().op(problem="response-not-kept").replays()),
    ("a problem that no client may meet", "was told record-broken",
     plain().op(problem="record-broken").replays()),
    ("an older version after a newer one", "and newer-retry/Bearer a/new with",
     Kin().paid(NEW, "e2").paid(OLD, "e1").ends("e1", "e2")),
    ("the same version again", "version 2 was sent",
     Kin().paid(NEW, "e2").paid(ODD, "e1").ends("e1", "e2")),
    ("an older version after what an operator completed", "was COMPLETED at",
     Kin().sent(1, "e2", record=NEW, failed=True)
     .op(problem="outcome-unknown", record=NEW, begin=0.5)
     .given("o2", record=NEW).act("complete", NEW).paid(OLD, "e1")
     .ends("o2", "e1")),
    ("an older version once more, when it is stale", "version 1 was sent",
     Kin().sent(1, "e1", record=OLD, failed=True)
     .op(problem="outcome-unknown", record=OLD, begin=0.5).paid(NEW, "e2")
     .later(2).sent(2, "e3", record=OLD)
     .op("e3", record=OLD, begin=6.5).ends("e3", "e2")),
    ("a version that was stale and is not", "was told that it is stale",
     Kin().sent(1, "e2", record=NEW).op(record=NEW, begin=0.5, end=None)
     .stale(OLD).later(2).paid(OLD, "e1").ends("e1", "e2")),
    ("a version that is stale without a newer one", "stale-version without",
     Kin().stale(NEW).paid(OLD, "e1").paid(NEW, "e2").ends("e1", "e2")),
    ("an attempt that nobody can have revoked", "in-flight without",
     on("witness").sent(1, "e1").row("e1").op(problem="in-flight", begin=0.5)
     .replays()),
    ("a version that waits for nothing", "in-flight without",
     Kin().paid(OLD, "e1").op(problem="in-flight", record=NEW)
     .later(2).paid(NEW, "e2").ends("e1", "e2")),
    ("two keys of an entity at once", "while attempt 1 was executed",
     Kin().both_at_once(took_s=2.5).ends("e1", "e2")),
    ("the same under faults, with leases that lasted",
     "while attempt 1 was executed",
     Kin().fault().both_at_once(took_s=1.5).ends("e1", "e2")),
    ("an entity that is busy, and nobody has it", "entity-busy without",
     Kin().op(problem="entity-busy", record=TWO).paid(ONE, "e1")
     .paid(TWO, "e2").ends("e1", "e2")),
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
