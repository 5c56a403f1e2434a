# SPDX-License-Identifier: BSD-2-Clause
"""What happened to many keys under faults, and whether the promise was kept.

A history is what the clients, the upstream and the operator saw.  Each check
goes through it key by key, and returns in words what broke the promise; it
does not know how the history came about.  Times are those of one clock.  What
nobody can know is not held against the gateway: an operation without a result
may have been anything, and where a fault, a failure of the upstream or a stall
of the machine touched a key, its outcome may be unknown."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

SLACK_S = 1.0  # so long a fault works after its end
SLOW_S = 2.5  # an upstream that takes longer may have been given up
LIFE_S = 3.0  # so long an attempt lives whose end nobody saw


class Record(NamedTuple):
    """What shares one record: a key within a scope, on a route.  That is named
    after its on_unknown, and before that after its guard, if it has one: in
    "newer-retry" entity and version count, which follow from the key."""
    route: str
    tenant: str
    key: str
    entity: str = ""
    version: int = 0

    @property
    def on_unknown(self):
        return self.route.split("-")[-1]

    @property
    def guard(self):
        """"newer" (newer_only), "serial" (serialize) or ""."""
        return self.route.rpartition("-")[0]

    def __str__(self):
        return "/".join(self[:3])


class Answer(NamedTuple):
    """An answer byte for byte, without the gateway's own fields."""
    status: int
    fields: tuple
    body: bytes


@dataclass
class Given:
    """An answer that the upstream or the operator gave; name is unique, and
    part of it.  kind: "store", "large" (stored, not kept), "release" or
    "unknown" (what the route makes of it)."""
    name: str
    record: Record
    kind: str
    answer: Answer
    variant: int | None = None  # of the request's body; None: any


@dataclass
class Arrival:
    """A request that the upstream read to its end.  effect: it was executed;
    failed: the gateway got no whole answer, or one that leaves the outcome
    open; given: the name of the answer."""
    record: Record
    attempt: int
    at: float
    effect: bool = True
    failed: bool = False
    done: float | None = None  # when it was answered
    given: str | None = None
    variant: int = 0
    ready: float | None = None  # when the answer was about to be sent
    of_message: bool = False


@dataclass
class Question:
    """A reconciling GET, and whether the upstream denied any execution, in
    words that the route takes for that."""
    record: Record
    at: float
    denied: bool


@dataclass
class Act:
    """An operator's "release" or "complete"; end is None where nobody knows
    whether it was done."""
    record: Record
    act: str
    begin: float
    end: float | None = None


@dataclass
class Fault:
    words: str
    begin: float
    end: float
    stall: bool = False  # of the machine: nothing is known of what was when


@dataclass
class Op:
    """A client's request and its result: got, the name of the answer; or
    problem; or neither, if the client left or its connection broke."""
    number: int
    record: Record
    variant: int
    gateway: int
    begin: float
    end: float | None = None
    got: str | None = None
    answer: Answer | None = None
    replayed: bool = False
    problem: str | None = None
    last: bool = False  # asked when all was healed
    of_message: bool = False  # not a client's: it is tried as a source says

    @property
    def known(self):
        return self.got is not None or self.problem is not None


@dataclass
class History:
    max_attempts: int
    lease_s: float = 2.0
    settle_s: float = 4.0  # of a route that reconciles
    ops: list = field(default_factory=list)
    given: dict = field(default_factory=dict)  # by name
    arrivals: list = field(default_factory=list)
    questions: list = field(default_factory=list)
    acts: list = field(default_factory=list)
    faults: list = field(default_factory=list)  # stalls of the machine too
    rows: dict = field(default_factory=dict)  # see paid.py
    works: list = field(default_factory=list)  # see faulty()
    merged: int = 0

    def stories(self):
        """The story of each record, in the order of their first requests."""
        stories = {}
        for op in sorted(list(self.ops), key=lambda op: op.begin):
            stories.setdefault(op.record, Story(self, op.record)).ops.append(
                op)
        for name in ("arrivals", "questions", "acts"):
            by_record = defaultdict(list)
            for event in list(getattr(self, name)):
                by_record[event.record].append(event)
            for record, events in by_record.items():
                if record in stories:
                    setattr(stories[record], name, events)
        families = defaultdict(list)  # by entity
        for record, story in stories.items():
            if record.guard:
                families[record._replace(key="", version=0)].append(story)
        for family in families.values():
            for story in family:
                story.kin = [kin for kin in family if kin is not story]
        return list(stories.values())

    def faulty(self, begin, end):
        """Whether a fault was at work in that time."""
        if len(self.faults) != self.merged:
            self.merged = len(self.faults)
            self.works = []  # apart from each other, in their order
            for f in sorted(list(self.faults), key=lambda f: f.begin):
                if self.works and f.begin <= self.works[-1][1]:
                    self.works[-1][1] = max(
                        self.works[-1][1], f.end + SLACK_S)
                else:
                    self.works.append([f.begin, f.end + SLACK_S])
        at = bisect_right(self.works, end, key=lambda work: work[0])
        return at > 0 and begin <= self.works[at - 1][1]

    def strangers(self):
        """Records of which no client sent the key."""
        asked = {op.record for op in self.ops}
        return sorted({a.record for a in self.arrivals} - asked)


class Story:
    """All that happened to one record."""

    def __init__(self, history, record):
        self.history, self.record = history, record
        self.ops = []
        self.arrivals = []
        self.questions = []
        self.acts = []
        self.kin = []  # the other stories of its entity

    def releases(self, before=float("inf")):
        """How often an operator may have set the key free."""
        return sum(a.act == "release" and a.begin < before for a in self.acts)

    def touched(self, until):
        """Whether the outcome of an attempt until then may be unknown.
        Attempts live while a client waits, or while the upstream is busy."""
        lives = [(op.begin, op.end or op.begin + LIFE_S) for op in self.ops
                 if op.begin <= until]
        for a in self.arrivals:
            if a.at > until:
                continue
            if a.failed or a.done is None or a.done - a.at > SLOW_S:
                return True
            lives.append((a.at, a.done))
        return any(self.history.faulty(begin, end) for begin, end in lives)

    def stalled(self):
        """Whether a request may have been on its way for longer than its
        sender's lease."""
        last = max((a.at for a in self.arrivals), default=0)
        return any(f.stall and f.begin <= last and f.end >= self.ops[0].begin
                   for f in self.history.faults)

    def stalls(self, at):
        """Whether what was seen then may have come from long before."""
        return any(f.stall and f.begin <= at <= f.end + SLACK_S
                   for f in self.history.faults)

    def decided(self, first, second):
        """Whether an operator may have decided between two operations."""
        return any(a.begin < second.end and
                   (a.end is None or a.end > first.begin) for a in self.acts)

    def token(self, op):
        """The final outcome that the operation got; None where it got none.
        An answer that is too large to keep is one, whatever is in it."""
        if op.got is not None:
            return self.outcome(op.got)
        return {"response-not-kept": "not-kept",
                "attempts-exhausted": "exhausted"}.get(op.problem)

    def outcome(self, name):
        """What a key with this answer tells from then on, if it ends so."""
        given = self.history.given.get(name)
        if given is None or given.kind in ("release", "unknown"):
            return None
        return "not-kept" if given.kind == "large" else name

    def came_late(self, first, op):
        """Whether op got the truth about an attempt that was under way when
        first was told that they are used up."""
        return self.token(first) == "exhausted" and self.token(op) in [
            self.outcome(a.given) for a in self.arrivals
            if a.at < first.end and a.given is not None]

    def tell(self):
        """The story in words, in the order of time."""
        events = [(f.begin, f"  {f.words} until {f.end:.3f}")
                  for f in self.history.faults
                  if f.begin <= self.ops[-1].begin and
                  f.end + SLACK_S >= self.ops[0].begin]
        for op in self.ops:
            result = op.got or op.problem or "no result"
            events.append((op.begin, f"op {op.number} body {op.variant} "
                                     f"gateway {op.gateway}"))
            if op.end is not None:
                events.append((op.end, f"op {op.number}: {result}"
                               + (" replayed" if op.replayed else "")))
        for a in self.arrivals:
            events.append((a.at, f"upstream: attempt {a.attempt} "
                                 f"body {a.variant} effect {a.effect} "
                                 f"failed {a.failed} answer {a.given}"))
            if a.done is not None:
                events.append((a.done, f"upstream: {a.given} is out"))
        events += [(q.at, f"upstream: asked, denied {q.denied}")
                   for q in self.questions]
        for a in self.acts:
            events.append((a.begin, f"operator: {a.act}"))
            if a.end is not None:
                events.append((a.end, f"operator: {a.act} is done"))
        return [f"{at:.3f} {words}" for at, words in sorted(events)]


def check(history, checks):
    """The findings of all checks: a list of (sentence, story or None)."""
    found = []
    for story in history.stories():
        for one in checks:
            found += [(f"{story.record}: {words}", story)
                      for words in one(story)]
    return found


# --- the upstream executes at most once, unless the route lets it ------------

def attempts_are_sent_once(story):
    """A request that was sent is never sent again."""
    seen = set()
    for a in story.arrivals:
        if a.attempt in seen:
            yield f"attempt {a.attempt} was sent twice"
        seen.add(a.attempt)


def counted(story, perhaps=False):
    """The attempts that count towards max_attempts, whatever became of their
    answers: but for those that the upstream refused before any work, as only
    its 503 does not say.  Those of a message that it released count perhaps:
    not while all messages of its source are released."""
    given = story.history.given
    return [a for a in story.arrivals if a.given not in given or
            given[a.given].kind != "release" or
            (perhaps if a.of_message else
             given[a.given].answer.status == 503)]


def executions_have_leave(story):
    """The route or the operator must allow each execution after the first."""
    effects = sorted((a for a in story.arrivals if a.effect),
                     key=lambda a: a.at)
    releases = story.releases()
    route = story.record.on_unknown
    # Where the upstream denied it, nothing was executed; and whoever was still
    # to send it had lost its lease, and what it had sent was settled.
    most = {"hold": 1 + releases,
            "reconcile": 1 + releases,
            "witness": 1,  # an operator's release revokes first
            "retry": story.history.max_attempts * (1 + releases)}[route]
    if len(effects) > most:
        yield (f"executed {len(effects)} times, {releases} releases, "
               f"{sum(q.denied for q in story.questions)} denials")
    sent = len(counted(story))
    if sent > story.history.max_attempts * (1 + releases):
        yield f"sent {sent} times"
    for before, a in zip(effects, effects[1:]):
        if story.releases(a.at):
            continue
        if route == "retry" and not story.touched(a.at):
            yield f"executed again at {a.at:.3f} and nothing was unknown"
        if route == "reconcile" and not any(
                q.denied and q.at < a.at for q in story.questions):
            yield f"executed again at {a.at:.3f} and the upstream denied none"


def late_releases_are_not_sent_on(story):
    """On a route that holds, only an operator allows another execution."""
    if story.record.on_unknown != "hold":
        return
    first = min((a.at for a in story.arrivals if a.effect), default=None)
    for a in story.arrivals:
        if first is not None and a.at > first and not story.releases(a.at):
            yield f"attempt {a.attempt} was sent after an execution"


def nothing_is_asked_early(story):
    """What was sent has so long to settle."""
    for q in story.questions:
        sent = [a for a in story.arrivals if a.at <= q.at]
        if not sent or story.stalls(sent[-1].at):
            continue
        after = q.at - sent[-1].at
        if after < story.history.settle_s - SLACK_S:
            yield (f"asked {after:.3f} s after attempt {sent[-1].attempt} "
                   "was sent")


EXECUTIONS = (attempts_are_sent_once, executions_have_leave,
              late_releases_are_not_sent_on, nothing_is_asked_early)


# --- an answer is the upstream's, for this key and this body -----------------

def answers_are_genuine(story):
    first = set()
    for op in story.ops:
        if op.got is None:
            continue
        given = story.history.given.get(op.got)
        if given is None:
            yield f"op {op.number} got {op.got}, which nobody gave"
            continue
        if given.record != story.record:
            yield f"op {op.number} got {op.got} of {given.record}"
        elif given.variant not in (None, op.variant):
            yield f"op {op.number} got {op.got} of another body"
        elif given.answer != op.answer:
            yield (f"op {op.number} got {op.got} changed: "
                   f"{op.answer} and not {given.answer}")
        if op.replayed:
            if given.kind in ("release", "unknown", "large"):
                yield f"op {op.number} got {op.got}, which is not to be kept"
        elif op.got in first:
            yield f"op {op.number} got {op.got} a second time, as the first"
        else:
            first.add(op.got)


ANSWERS = (answers_are_genuine,)


# --- once an answer was given, every retry is given it ----------------------

REFUSED = ("store-unavailable", "overloaded", "draining")
IN_DOUBT = ("in-flight", "outcome-unknown")


def outcomes_do_not_change(story):
    told = [op for op in story.ops if op.known]
    for first in told:
        token = story.token(first)
        if token is None:
            continue
        for op in told:
            if op.begin <= first.end or story.decided(first, op):
                continue
            wrong = changed(story, token, first, op)
            if wrong:
                yield (f"op {op.number} was told {wrong} after op "
                       f"{first.number} was told {token}")


def changed(story, token, first, op):
    """What is wrong with op's result, after first got a final one."""
    if story.token(op) is not None:
        same = story.token(op) == token or story.came_late(first, op)
        return None if same else story.token(op)
    if op.got is not None:
        return op.got
    if op.problem in REFUSED:
        return None
    if op.problem == "key-reused" and op.variant != first.variant:
        return None
    # An answer that was given from the journal may have to wait for Redis.
    # Of a witness, too: another gateway may have asked it meanwhile.
    waits = {"hold": IN_DOUBT, "witness": ("in-flight",)}
    if (op.problem in waits.get(story.record.on_unknown, ())
            and not op.last and story.touched(op.end)):
        return None
    return op.problem


def nothing_is_sent_after_an_answer(story):
    """Unless the machine stalls, and they had their attempt before."""
    for first in story.ops:
        if first.end is None or story.token(first) is None:
            continue
        known = max((a.attempt for a in story.arrivals if a.at < first.end
                     and story.stalled()), default=0)
        for a in story.arrivals:
            if a.at > first.end and a.attempt >= known and not any(
                    act.begin < a.at and
                    (act.end is None or act.end > first.begin)
                    for act in story.acts):
                yield (f"attempt {a.attempt} was sent at {a.at:.3f} after op "
                       f"{first.number} was told {story.token(first)}")


LINEAR = (outcomes_do_not_change, nothing_is_sent_after_an_answer)


# --- a refusal has its reason ------------------------------------------------

def refusals_have_a_reason(story):
    for op in story.ops:
        reason = REASONS.get(op.problem)
        if reason is not None and not reason(story, op):
            yield f"op {op.number} was told {op.problem} without a reason"


def another_body(story, op):
    return any(other.variant != op.variant and other.begin < op.end
               for other in story.ops)


def something_failed(story, op):
    return story.touched(op.end)


def was_often_sent(story, op):
    """What was sent may have been lost on its way, or with its owner; but each
    attempt needs an operation of its own, or a message's."""
    most = story.history.max_attempts
    tries = sum(most if other.of_message else 1 for other in story.ops
                if other is not op and other.begin < op.end)
    return len(counted(story, perhaps=True)) >= most or (
        tries >= most and story.touched(op.end))


def was_large(story, op):
    return any(story.history.given[a.given].kind == "large"
               for a in story.arrivals if a.given in story.history.given)


def was_another(story, op):
    return any(other is not op and other.begin < op.end
               for other in story.ops)


def an_outcome_waits(story, op):
    """Of its key; or of another of its entity, whose version Redis may not
    have yet; or another gateway has had a witness take its attempt back."""
    revoked = story.record.on_unknown == "witness" and story.touched(op.end)
    return revoked or was_another(story, op) or any(
        other.begin < op.end and kin.touched(op.end)
        for kin in story.kin if story.record.guard == "newer"
        for other in kin.ops)


def another_is_newer(story, op):
    return any(kin.record.version >= story.record.version and
               (kin.acts or any(a.at < op.end for a in kin.arrivals))
               for kin in story.kin)


def another_key_has_it(story, op):
    """For as long as it lives, or its lease lasts."""
    last_s = LIFE_S + story.history.lease_s
    return story.record.guard == "serial" and any(
        other.begin < op.end and
        (other.end or other.begin + LIFE_S) + last_s > op.begin
        for kin in story.kin for other in kin.ops)


REASONS = {"key-reused": another_body, "outcome-unknown": something_failed,
           "attempts-exhausted": was_often_sent,
           "in-flight": an_outcome_waits,
           "response-not-kept": was_large,
           "stale-version": another_is_newer,
           "entity-busy": another_key_has_it}
KNOWN = (*REASONS, *REFUSED, "upstream-unreachable")


def refusals_are_known(story):
    for op in story.ops:
        if op.problem is not None and op.problem not in KNOWN:
            yield f"op {op.number} was told {op.problem}"


REFUSALS = (refusals_have_a_reason, refusals_are_known)


# --- every key comes to an end -----------------------------------------------

def keys_end(story):
    """The operations after the healing must get a final outcome."""
    last = [op for op in story.ops if op.last]
    if not last or (story.token(last[-1]) is None and
                    last[-1].problem != "stale-version"):
        yield "it has no final state"


def nothing_is_lost(story):
    """An outcome that somebody got must be the one after the healing."""
    told = [op for op in story.ops if not op.last and story.token(op)]
    last = [op for op in story.ops if op.last and story.token(op)]
    for op in told:
        if last and story.token(last[-1]) != story.token(op) and \
                not story.came_late(op, last[-1]) and \
                not story.decided(op, last[-1]):
            yield (f"op {op.number} was told {story.token(op)}, and in the "
                   f"end it is {story.token(last[-1])}")


ENDS = (keys_end, nothing_is_lost)
