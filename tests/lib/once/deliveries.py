# SPDX-License-Identifier: BSD-2-Clause
"""What happened to the messages of a stream or an outbox under faults, and
whether the promise was kept.

A history is what the broker, the upstream, the operator and the store have
seen of it.  Each check returns in words what broke the promise; it does not
know how the history came about.  A key is held where its outcome is unknown,
so only an operator's release allows it another execution."""

from collections import defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

REASONS = ("refused", "exhausted", "unknown", "behind")


class Entry(NamedTuple):
    """A message: what identifies it, and whose it is.  Others send keys of a
    free entity too, so that nothing is known of its order."""
    key: str
    entity: str = "a"

    @property
    def free(self):
        return self.entity.startswith("free")


@dataclass
class Arrival:
    """A request that the upstream read to its end.  effect: it was executed;
    ready: when its answer was about to be sent; None: never."""
    key: str
    attempt: int
    at: float
    effect: bool = True
    status: int = 201
    name: str = ""  # of the answer
    ready: float | None = None
    by_client: bool = False  # by HTTP, and not for a message


@dataclass
class Act:
    """An operator's "release" or "complete", which may not have been done;
    name: of the answer that it gave."""
    key: str
    act: str
    at: float
    name: str = ""


class Result(NamedTuple):
    position: str
    key: str | None  # None: its key_id is nobody's
    name: str  # of the answer in it
    status: int = 201
    duplicate: bool = False


class Dead(NamedTuple):
    position: str
    reason: str
    at: float


class Made(NamedTuple):
    """When a row was: its transaction began, and was told that it is
    committed; never, where nobody was told."""
    begun: float
    committed: float = inf
    transaction: int = 0


class Told(NamedTuple):
    """An answer that a client was given."""
    key: str
    name: str
    replayed: bool = False


class Seen(NamedTuple):
    """A message that was acknowledged while its record was in that state (a
    letter, or None)."""
    position: str
    state: str | None
    at: float


@dataclass
class Deliveries:
    max_attempts: int = 5
    ordered: bool = False
    parks: bool = True  # what is behind a dead letter of its order
    holds_on: bool = True  # whatever is held stays so
    entries: dict = field(default_factory=dict)  # by position
    # Of an outbox, by position: where a row stands, and when it was made.  What
    # is not in there is in a stream, or nobody knows when it was made.
    places: dict = field(default_factory=dict)
    made: dict = field(default_factory=dict)
    gone: set = field(default_factory=set)  # positions that the broker lost
    trimmed: set = field(default_factory=set)  # the same, from the beginning
    resets: int = 0  # of the group: all may come once more
    # A message that is executed has a result that is no duplicate, whoever
    # died meanwhile; but not where its group was set back in between.
    unmarked: bool = False
    stood: dict = field(default_factory=dict)  # how, by position, in words
    counted: int = 0  # losses, as the gateways have told
    counted_at: set = field(default_factory=set)  # positions of some of them
    # Who has told of losses is dead, or Redis has forgotten how many entries
    # were read: it does when a group is made or set, and 7.0 when it starts.
    forgot: bool = False
    unsure: bool = False  # the same, but what was read is not taken for lost
    # Who reads on, or is cut off as it counts, may tell of a loss again.
    tells_again: bool = False
    # The store may forget that a key's attempts are used up, as nobody waits
    # for its replicas to have that.
    forgets: bool = False
    asked: set = field(default_factory=set)  # keys that somebody sends
    arrivals: list = field(default_factory=list)
    acts: list = field(default_factory=list)
    results: list = field(default_factory=list)
    dead: list = field(default_factory=list)
    told: list = field(default_factory=list)
    seen: list = field(default_factory=list)
    states: dict = field(default_factory=dict)  # by key, in the end
    pending: set = field(default_factory=set)  # positions, in the end
    # Positions whose dead letters were there, and went with their broker.
    was_dead: set = field(default_factory=set)
    # Positions that several gateways held: one may end a message well in the
    # moment in which it becomes a letter with another.
    shared: set = field(default_factory=set)
    # The states of letters in the store, by position, in the end; None: nobody
    # has looked.
    letters: dict | None = None

    def place(self, position):
        """What positions are compared by."""
        return self.places.get(position) or place(position)

    def positions(self):
        """In the order of the stream, or of the table."""
        return sorted(self.entries, key=self.place)

    def was_there(self, position, other):
        """Whoever sees the other one sees that position too.  An entry of a
        stream is there at once."""
        if not self.places:
            return True
        one, two = self.made.get(position), self.made.get(other)
        return None not in (one, two) and (
            one.committed < two.begun or
            one.transaction == two.transaction)

    def precedes(self, positions, others):
        """The messages of a key come before those of another one, whichever of
        those was taken."""
        return all(any(
            self.place(p) < self.place(o) and self.was_there(p, o)
            for p in positions) for o in others)

    def lost(self):
        """The positions that were trimmed and have not ended."""
        ended = {one.position for one in (*self.results, *self.dead)}
        return [p for p in self.positions()
                if p in self.trimmed and p not in ended]

    def releases(self, key):
        return sum(a.key == key and a.act == "release" for a in self.acts)

    def grouped(self, name, member="key"):
        """A list of the history by a member of what is in it."""
        groups = defaultdict(list)
        for one in list(getattr(self, name)):
            groups[getattr(one, member)].append(one)
        return groups

    def given(self):
        """The keys of all answers that somebody gave, by their names."""
        return {one.name: one.key for one in (*self.arrivals, *self.acts)
                if one.name}

    def story(self, key):
        """What happened to a key, in words."""
        events = [(a.at, f"upstream: attempt {a.attempt} effect {a.effect} "
                         f"{a.status} {a.name} ready {a.ready}")
                  for a in self.arrivals if a.key == key]
        events += [(a.at, f"operator: {a.act}") for a in self.acts
                   if a.key == key]
        lines = [f"{at:.3f} {words}" for at, words in sorted(events)]
        mine = [p for p in self.positions() if self.entries[p].key == key]
        for p in mine:
            lines.append(f"{p} {self.entries[p].entity}"
                         + (" gone" if p in self.gone else "")
                         + (" pending" if p in self.pending else ""))
        lines += [str(one) for one in (*self.results, *self.dead)
                  if one.position in mine]
        return [*lines, f"in the end {self.states.get(key)}"]


def place(position):
    """Of an entry of a stream, or of a record of a topic: TOPIC/PARTITION/
    OFFSET@MS, where what is of one order is in one partition."""
    if "@" in position:
        _, partition, offset = position.partition("@")[0].split("/")
        return int(partition), int(offset)
    ms, _, number = position.partition("-")
    return int(ms), int(number)


# --- the upstream executes each identity at most once ------------------------

def executions_have_leave(told):
    for key, arrivals in told.grouped("arrivals").items():
        most = 1 + told.releases(key)
        effects = sum(a.effect for a in arrivals)
        if effects > most:
            yield key, f"executed {effects} times"
        # What a reader's messages count follows from what it has executed.
        by_client = sum(a.by_client for a in arrivals)
        if by_client > told.max_attempts * most and not told.forgets:
            yield key, f"sent {by_client} times"
        attempts = [a.attempt for a in arrivals]
        if len(attempts) != len(set(attempts)):
            yield key, f"an attempt was sent twice: {sorted(attempts)}"


def nobody_else_is_executed(told):
    known = {entry.key for entry in told.entries.values()} | told.asked
    for key in told.grouped("arrivals"):
        if key not in known:
            yield key, "executed, and nobody asked for it"


# --- what is acknowledged is stored, or a dead letter ------------------------

def acknowledged_is_stored(told):
    dead = told.grouped("dead", "position")
    for position, entry in told.entries.items():
        if position in told.pending:
            yield entry.key, f"{position} is pending in the end"
        elif position not in told.gone and position not in dead and \
                told.states.get(entry.key) != "COMPLETED":
            yield entry.key, (f"{position} is acknowledged, and its record is "
                              f"{told.states.get(entry.key)}")


def acknowledged_is_stored_before(told):
    dead = {*told.grouped("dead", "position"), *told.was_dead}
    for one in told.seen:
        if one.state != "C" and one.position not in dead:
            yield told.entries[one.position].key, (
                f"{one.position} was acknowledged at {one.at:.3f}, and its "
                f"record was {one.state}")


# --- one result for each, with its answer ------------------------------------

def results_are_completions(told):
    given = told.given()
    names = defaultdict(set)
    first = defaultdict(int)
    for one in told.results:
        entry = told.entries.get(one.position)
        if entry is None:
            yield one.key, f"a result of {one.position}, which nobody added"
            continue
        if one.key != entry.key or given.get(one.name) != entry.key:
            yield entry.key, (f"the result of {one.position} is that of "
                              f"{one.key}: {one.name}")
        if not 200 <= one.status < 400:
            yield entry.key, f"a result with status {one.status}"
        if told.states.get(entry.key) != "COMPLETED":
            yield entry.key, "a result, and it is not COMPLETED"
        names[entry.key].add(one.name)
        first[entry.key] += not one.duplicate
    for one in told.told:
        if given.get(one.name) != one.key:
            yield one.key, f"a client was given {one.name} of another key"
        names[one.key].add(one.name)
    for key, some in names.items():
        if len(some) > 1:
            yield key, f"different answers: {sorted(some)}"
        if first[key] > 1:
            yield key, f"{first[key]} results that are no duplicates"


def what_a_message_executed_is_no_duplicate(told):
    """Of a key that no operator has decided about."""
    if not told.unmarked or told.resets:
        return
    by_message = {a.name: a.key for a in told.arrivals if not a.by_client}
    decided = {a.key for a in told.acts}
    lost = {told.entries[p].key for p in (*told.gone, *told.pending)}
    for key, results in told.grouped("results").items():
        executed = any(by_message.get(r.name) == key for r in results)
        if executed and all(r.duplicate for r in results) and \
                key not in decided and key not in lost:
            yield key, "a message executed it, and all results are duplicates"


def each_ends_once(told):
    results = told.grouped("results", "position")
    dead = told.grouped("dead", "position")
    for position, entry in told.entries.items():
        ends = len(results[position]) + len(dead[position])
        if ends > 1 + told.resets:
            yield entry.key, f"{position} has ended {ends} times"
        if ends == 0 and position not in told.gone and \
                position not in told.pending:
            yield entry.key, f"{position} is acknowledged without a result"


def dead_letters_have_a_reason(told):
    arrivals = told.grouped("arrivals")
    for one in told.dead:
        entry = told.entries.get(one.position)
        if entry is None:
            yield None, f"a dead letter {one.position}, which nobody added"
            continue
        statuses = {a.status for a in arrivals[entry.key]}
        released = sum(not a.effect for a in arrivals[entry.key])
        state = told.states.get(entry.key)
        wrong = {
            "refused": state != "COMPLETED" or 402 not in statuses,
            "exhausted": (state != "FAILED" or
                          released < told.max_attempts) and not (
                told.forgets and state in ("FAILED", "RELEASED")),
            "unknown": told.holds_on,
            "behind": not told.ordered or not told.parks,
        }.get(one.reason, True)
        if wrong:
            yield entry.key, (f"{one.position} is a dead letter {one.reason} "
                              "without a reason")


def dead_letters_are_in_the_store(told):
    if told.letters is None:
        return
    dead = {one.position for one in told.dead}
    ended = {one.position for one in told.results}
    for position, entry in told.entries.items():
        state = told.letters.get(position)
        if state not in (None, "confirmed"):
            yield entry.key, f"{position} is a letter, and {state} in the end"
        if state is None and position in dead:
            yield entry.key, f"{position} has a copy, and is no letter"
        if state and position not in dead | told.was_dead | told.gone | (
                told.shared & ended):
            yield entry.key, f"{position} is a letter without a copy"


# --- what the broker has lost is counted, and nothing else is lost -----------

def losses_are_counted(told):
    lost = told.lost()
    if told.forgot:
        return
    if told.counted < len(lost) and not told.unsure:
        yield None, (f"{len(lost)} messages are lost, and {told.counted} "
                     "counted")
    if told.counted > len(told.gone) and not (
            told.gone and told.tells_again):
        yield None, (f"{told.counted} messages are counted as lost, of "
                     f"{len(told.gone)}")


# --- one entity's messages are executed in their order -----------------------

def lanes(told):
    """The positions of the keys of each entity, in the order of where each came
    first.  Where that is lost, it may have come later."""
    found = defaultdict(dict)
    lost = {told.entries[p].key for p in told.gone}
    for position in told.positions():
        entry = told.entries[position]
        if not entry.free and entry.key not in lost:
            found[entry.entity].setdefault(entry.key, []).append(position)
    return found


def order_is_kept(told):
    if not told.ordered:
        return
    arrivals = told.grouped("arrivals")
    decided = {a.key for a in told.acts}
    for entity, keys in lanes(told).items():
        earlier = []  # (positions, last arrival) of those that came before
        for key, positions in keys.items():
            mine = sorted(arrivals[key], key=lambda a: a.at)
            before = max((a for some, a in earlier
                          if told.precedes(some, positions)),
                         key=lambda a: a.at, default=None)
            if mine and before and mine[0].at < before.at:
                yield key, (f"sent at {mine[0].at:.3f}, and {before.key} of "
                            f"{entity} later")
            if mine and before and before.key not in decided and (
                    before.ready is None or mine[0].at < before.ready):
                yield key, (f"sent at {mine[0].at:.3f}, while {before.key} "
                            "was executed")
            if mine and told.releases(key) == 0:
                earlier.append((positions, mine[-1]))


def nothing_passes_a_dead_letter(told):
    """What is behind one of its order follows it."""
    if not told.ordered or not told.parks:
        return
    arrivals = told.grouped("arrivals")
    dead = told.grouped("dead", "position")
    lost = {told.entries[p].entity for p in told.gone}  # and its dead letter
    for entity, keys in lanes(told).items():
        first = [(p, min(d.at for d in dead[p] if d.reason != "behind"))
                 for positions in keys.values() for p in positions
                 if {d.reason for d in dead[p]} - {"behind"}]
        for key, positions in keys.items():
            passed = [at for p, at in first if p not in positions and
                      told.precedes([p], positions)]
            if any(a.at > min(passed, default=inf) for a in arrivals[key]):
                yield key, "executed behind a dead letter of its order"
            for p in positions:
                # A row may be committed after those that are behind it.
                causes = [c for c, _ in first if told.places or
                          told.place(c) < told.place(p)]
                # What comes again finds what came behind it parked already.
                if "behind" in {d.reason for d in dead[p]} and not (
                        causes or told.resets or entity in lost):
                    yield key, f"{p} is behind nothing"


CHECKS = {
    "nothing is executed twice": (
        executions_have_leave, nobody_else_is_executed),
    "what is acknowledged is stored, or a dead letter": (
        acknowledged_is_stored, acknowledged_is_stored_before),
    "each message ends once, with the answer of its key": (
        results_are_completions, what_a_message_executed_is_no_duplicate,
        each_ends_once, dead_letters_have_a_reason,
        dead_letters_are_in_the_store),
    "what the broker has lost is counted": (losses_are_counted,),
    "an entity's messages are executed in their order": (
        order_is_kept, nothing_passes_a_dead_letter),
}


def check(told, checks=None):
    """The findings: a list of (key or None, sentence)."""
    every = checks or [c for some in CHECKS.values() for c in some]
    return [found for one in every for found in one(told)]
