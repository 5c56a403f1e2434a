# SPDX-License-Identifier: BSD-2-Clause
"""The checker of messages sees each damage that it is made for, and nothing
where there is none."""

from once.deliveries import (Act, Arrival, Dead, Deliveries, Entry, Made,
                             Result, Seen, Told, check)
from once.tap import each, equal, main


class Making:
    """A history in the making; at is the time of the last event."""

    def __init__(self, **members):
        self.told = Deliveries(max_attempts=3, **members)
        self.at = 0.0

    def tick(self):
        self.at += 1
        return self.at

    def entry(self, position, key="k", entity="a"):
        self.told.entries[position] = Entry(key, entity)
        return self

    def sent(self, key="k", attempt=1, name="e1", **members):
        at = self.tick()
        self.told.arrivals.append(Arrival(key, attempt, at, **{
            "name": name, "ready": at + 0.5, **members}))
        return self

    def asked(self, key, count):
        """By clients, in vain."""
        for n in range(count):
            self.sent(key, attempt=n + 2, name="", effect=False, status=503,
                      by_client=True)
        return self

    def act(self, act, key="k", name=""):
        self.told.acts.append(Act(key, act, self.tick(), name))
        return self

    def result(self, position, key="k", name="e1", **members):
        self.told.results.append(Result(position, key, name, **members))
        return self

    def again(self, position, key="k", name="e1"):
        return self.result(position, key, name, duplicate=True)

    def dead(self, position, reason):
        self.told.dead.append(Dead(position, reason, self.tick()))
        return self

    def letter(self, position, state="confirmed"):
        self.told.letters = {**(self.told.letters or {}), position: state}
        return self

    def client(self, name="e1", key="k"):
        self.told.told.append(Told(key, name))
        return self

    def seen(self, position, state):
        self.told.seen.append(Seen(position, state, self.tick()))
        return self

    def state(self, state="COMPLETED", key="k"):
        self.told.states[key] = state
        return self

    def pending(self, position):
        self.told.pending.add(position)
        return self

    def row(self, position, *made):
        """A row of an outbox; its position is its place, made says when."""
        self.told.places[position] = (int(position), 0)
        if made:
            self.told.made[position] = Made(*made)
        return self

    def was_dead(self, position):
        self.told.was_dead.add(position)
        return self

    def shared(self, position):
        self.told.shared.add(position)
        return self

    def gone(self, position):
        self.told.gone.add(position)
        return self

    def trimmed(self, position):
        self.told.gone.add(position)
        self.told.trimmed.add(position)
        return self

    def counted(self, count):
        self.told.counted = count
        return self

    def one(self, position="1-0", key="k", name="e1", entity="a"):
        """A message that is executed, stored and acknowledged."""
        return self.entry(position, key, entity).sent(
            key, name=name).state(key=key).result(position, key, name)


def at(partition, offset):
    """The position of a record."""
    return f"charges/{partition}/{offset}@{1700000000000 + offset}"


def in_order():
    return Making(ordered=True)


def refused():
    return Making().entry("1-0").sent(status=402).state().dead(
        "1-0", "refused")


def second_first(*made):
    """Two rows, of which the second is executed first; made: when the first
    was, and in which transaction."""
    return (in_order().row("1", *made).row("2", 5, 6, 2).entry("1")
            .one("2", "l", "e2").one("1"))


GOOD = [
    ("a message", Making().one().seen("1-0", "C").client()),
    ("one key twice", Making().one().entry("2-0").again("2-0")),
    ("what an operator completed", Making().entry("1-0").sent()
     .act("complete", name="o1").state().again("1-0", name="o1")),
    ("what an operator released", Making().entry("1-0").sent(effect=False)
     .act("release").sent(attempt=2, name="e2").state()
     .result("1-0", name="e2")),
    ("a release is another attempt", Making().entry("1-0")
     .sent(effect=False, status=503).sent(attempt=2, name="e2").state()
     .result("1-0", name="e2")),
    ("a refusal", Making().entry("1-0").sent(status=402).state()
     .dead("1-0", "refused").seen("1-0", "C")),
    ("a dead letter that a failover lost", Making().entry("1-0", "lost")
     .seen("1-0", None).gone("1-0").was_dead("1-0")),
    ("a group that was reset", Making(resets=1).one().again("1-0")),
    ("what was trimmed is counted", Making().one().entry("2-0", "lost")
     .trimmed("2-0").counted(1)),
    ("a failover that nobody can count", Making(unsure=True).one()
     .entry("2-0", "lost").trimmed("2-0")),
    ("a store that forgot that attempts are used up", Making(forgets=True)
     .entry("1-0").state("RELEASED").dead("1-0", "exhausted")),
    ("one after the other", in_order().one().one("2-0", "l", "e2")),
    ("others are beside them", in_order().entry("1-0", "k", "b")
     .one("2-0", "l", "e2").one("1-0", "k", "e1", "b")),
    ("a row that is committed late comes late", second_first(1, 7, 1)),
    ("nobody knows whether a row was committed", second_first(1)),
    ("nobody knows when a row was made", second_first()),
    ("what a primary took with it", Making().one().row("1", 0, 1, 1)
     .row("2", 2, 3, 2).entry("2", "lost").gone("2")),
    ("what somebody else deleted", Making().one().row("1", 0, 1, 1)
     .row("2", 2, 3, 2).entry("2", "lost").gone("2").counted(1)),
    ("a row that was committed behind what was parked",
     in_order().row("1", 1, 7, 1).row("2", 2, 3, 2).entry("1").entry("2", "l")
     .sent("l", status=402).state(key="l").dead("2", "refused")
     .dead("1", "behind")),
    ("a record, and its key in another one", Making().one(at(0, 9))
     .entry(at(0, 10)).again(at(0, 10)).seen(at(0, 9), "C")),
    ("records of two partitions, beside one another",
     in_order().entry(at(0, 1), "k", "a").one(at(1, 0), "l", "e2", "b")
     .one(at(0, 1))),
    ("a record that is executed after one with more digits",
     in_order().one(at(0, 9)).one(at(0, 10), "l", "e2")),
    ("records behind a dead letter where none are parked",
     Making(ordered=True, parks=False).entry(at(0, 1)).sent(status=402)
     .state().dead(at(0, 1), "refused").one(at(0, 2), "l", "e2")),
    ("a topic that was set back", Making(resets=1).one(at(0, 1))
     .again(at(0, 1))),
    ("results that a group set back has marked", Making(
        unmarked=True, resets=1).entry(at(0, 1)).sent().state()
     .again(at(0, 1))),
    ("a result of what a client executed", Making(unmarked=True)
     .entry(at(0, 1)).sent(by_client=True).state().again(at(0, 1))),
    ("what retention took from a topic", Making().one(at(0, 1))
     .entry(at(0, 2), "lost").trimmed(at(0, 2)).counted(1)),
    ("what retention took, told again by who reads on",
     Making(tells_again=True).one(at(0, 1)).entry(at(0, 2), "lost")
     .trimmed(at(0, 2)).counted(2)),
    ("a letter with its copy", refused().letter("1-0")),
    ("a letter whose copy went with its broker",
     Making().entry("1-0").sent(status=402).state().was_dead("1-0")
     .gone("1-0").letter("1-0")),
    ("a letter of what another gateway ended in that moment",
     Making().one().letter("1-0").shared("1-0")),
    ("what is behind a dead letter follows it",
     in_order().entry("1-0").entry("2-0", "l").sent(status=402).state()
     .dead("1-0", "refused").dead("2-0", "behind")),
]


@each(GOOD)
def this_is_no_damage(bench, making):
    equal(check(making.told), [])


BAD = [
    ("a second execution", "executed 2 times",
     Making().one().sent(attempt=2)),
    ("an attempt twice", "an attempt was sent twice",
     Making().entry("1-0").sent(effect=False).sent().state()
     .result("1-0")),
    ("one attempt of a client too many", "sent 4 times",
     Making().one().asked("k", 4)),
    ("one attempt too few", "exhausted without a reason",
     Making().entry("1-0").sent(effect=False, status=503)
     .sent(attempt=2, effect=False, status=503).state("FAILED")
     .dead("1-0", "exhausted")),
    ("an execution that nobody asked for", "nobody asked for it",
     Making().one().sent("stranger", name="e2")),
    ("acknowledged, and not stored", "its record is UNKNOWN",
     Making().one().state("UNKNOWN")),
    ("acknowledged, and no record", "its record is None",
     Making().one().entry("2-0", "lost").again("2-0", "lost")),
    ("acknowledged before it was stored", "its record was P",
     Making().one().seen("1-0", "P")),
    ("acknowledged, lost, and never a dead letter", "its record was None",
     Making().entry("1-0", "lost").seen("1-0", None).gone("1-0")),
    ("stuck", "pending in the end",
     Making().one().entry("2-0").pending("2-0")),
    ("no result", "without a result", Making().one().entry("2-0")),
    ("two results", "has ended 2 times", Making().one().again("1-0")),
    ("a result that is not marked", "2 results that are no duplicates",
     Making().one().entry("2-0").result("2-0")),
    ("the result of another key", "is that of k: e1",
     Making().one().one("2-0", "l", "e2").entry("3-0", "l")
     .again("3-0", "k", "e1")),
    ("two answers", "different answers",
     Making().one().sent(attempt=2, name="e2").entry("2-0")
     .again("2-0", name="e2")),
    ("a client was given another answer", "different answers",
     Making().one().sent(attempt=2, name="e2").client("e2")),
    ("a client was given that of another key", "of another key",
     Making().one().one("2-0", "l", "e2").client("e2")),
    ("a result of nothing", "which nobody added", Making().one().again("9-0")),
    ("a result of a refusal", "status 402", Making().entry("1-0")
     .sent(status=402).state().result("1-0", status=402)),
    ("a dead letter of what was stored", "refused without a reason",
     Making().one().entry("2-0").dead("2-0", "refused")),
    ("a dead letter before its attempts are used up",
     "exhausted without a reason",
     Making().one().entry("2-0").dead("2-0", "exhausted")),
    ("a dead letter of what is held", "unknown without a reason",
     Making().entry("1-0").sent().state("UNKNOWN").dead("1-0", "unknown")),
    ("a dead letter that the store has not", "is no letter",
     refused().letter("2-0")),
    ("a letter that is not confirmed", "and written in the end",
     refused().letter("1-0", "written")),
    ("a letter of what ended well", "is a letter without a copy",
     Making().one().letter("1-0")),
    ("a dead letter for an outage", "malformed without a reason",
     Making().one().entry("2-0").dead("2-0", "malformed")),
    ("a loss that is not counted", "1 messages are lost, and 0 counted",
     Making().one().entry("2-0", "lost").trimmed("2-0")),
    ("a loss that was none after a failover", "1 messages are counted",
     Making(unsure=True).one().counted(1)),
    ("a loss that was none", "1 messages are counted as lost, of 0",
     Making().one().counted(1)),
    ("the second before the first", "of a later",
     in_order().entry("1-0").one("2-0", "l", "e2").one()),
    ("the second while the first is executed", "while k was executed",
     in_order().entry("1-0").sent(ready=9).state().result("1-0")
     .one("2-0", "l", "e2")),
    ("the second row, which was written after the first", "of a later",
     second_first(1, 4, 1)),
    ("the second row of a transaction", "of a later", second_first(5, 6, 2)),
    ("past a row that is a dead letter", "behind a dead letter of its order",
     in_order().row("1", 1, 2, 1).row("2", 3, 4, 2).entry("1")
     .sent(status=402).state().dead("1", "refused").one("2", "l", "e2")),
    ("a row that is behind nothing", "is behind nothing",
     in_order().row("1", 1, 2, 1).row("2", 3, 4, 2).one("1")
     .entry("2", "l").dead("2", "behind")),
    ("a row that nobody took away", "without a result",
     Making().one("1").row("1", 0, 1, 1).row("2", 2, 3, 2).entry("2")),
    ("past a dead letter", "behind a dead letter of its order",
     in_order().entry("1-0").sent(status=402).state()
     .dead("1-0", "refused").one("2-0", "l", "e2")),
    ("a record that was executed twice", "executed 2 times",
     Making().one(at(0, 1)).sent(attempt=2)),
    ("a record whose result came twice", "has ended 2 times",
     Making().one(at(0, 1)).again(at(0, 1))),
    ("a record whose result came twice, unmarked",
     "2 results that are no duplicates",
     Making(resets=1).one(at(0, 1)).result(at(0, 1))),
    ("a record whose only result is marked", "all results are duplicates",
     Making(unmarked=True).entry(at(0, 1)).sent().state().again(at(0, 1))),
    ("a record without its result", "without a result",
     Making().one(at(0, 1)).one(at(0, 2), "l", "e2").entry(at(0, 3))),
    ("a record below what is committed, and not stored", "its record is None",
     Making().one(at(0, 1)).entry(at(0, 2), "lost").again(at(0, 2), "lost")),
    ("a record that was committed before it was stored", "its record was P",
     Making().one(at(0, 1)).seen(at(0, 1), "P")),
    ("a record that is not committed", "pending in the end",
     Making().one(at(0, 1)).entry(at(0, 2)).pending(at(0, 2))),
    ("a result with the offset of another time", "which nobody added",
     Making().one(at(0, 1)).again("charges/0/1@5")),
    ("the second record of a partition first", "of a later",
     in_order().entry(at(0, 9)).one(at(0, 10), "l", "e2").one(at(0, 9))),
    ("the second record while the first is executed", "while k was executed",
     in_order().entry(at(0, 9)).sent(ready=9).state().result(at(0, 9))
     .one(at(0, 10), "l", "e2")),
    ("a record past a dead letter", "behind a dead letter of its order",
     in_order().entry(at(0, 1)).sent(status=402).state()
     .dead(at(0, 1), "refused").one(at(0, 2), "l", "e2")),
    ("a record that is parked where none are", "behind without a reason",
     Making(ordered=True, parks=False).entry(at(0, 1)).sent(status=402)
     .state().dead(at(0, 1), "refused").entry(at(0, 2), "l")
     .dead(at(0, 2), "behind")),
    ("records that retention took, uncounted",
     "1 messages are lost, and 0 counted",
     Making().one(at(0, 1)).entry(at(0, 2), "lost").trimmed(at(0, 2))),
    ("a loss of nothing, told again", "1 messages are counted as lost, of 0",
     Making(tells_again=True).one(at(0, 1)).counted(1)),
    ("behind nothing", "is behind nothing",
     in_order().one().entry("2-0", "l").dead("2-0", "behind")),
]


@each(BAD)
def this_damage_is_seen(bench, words, making):
    found = check(making.told)
    assert any(words in sentence for _, sentence in found), found


main()
