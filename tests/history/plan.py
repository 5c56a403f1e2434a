# SPDX-License-Identifier: BSD-2-Clause
"""Everything that is to happen, from one seed: what clients send, what the
upstream does with each attempt, and which faults there are.  The same seed
gives the same plan; when things happen depends on the machine."""

from dataclasses import dataclass
from random import Random

from once.history import Record

LEASE_S = 2
SETTLE_S = 4  # longer than a lease and a gateway that is frozen for longer
MAX_ATTEMPTS = 3
UPSTREAM_TIMEOUT_S = 5
TENANTS = ("Bearer a", "Bearer b", "Bearer c")
ROUTES = ("hold", "retry", "reconcile", "newer-retry", "serial-hold")
ROW = 4  # so many keys are of one route
KIN = 40  # and so many may be of one entity
CALM_S, FAULTY_S = 4, 6  # without and with faults, by turns


@dataclass
class Request:
    """pause: before it is sent; 0: together with the one before.  again: the
    pauses before its retries, while its answer is not final."""
    record: Record
    variant: int
    gateway: int
    pause: float = 0
    wait: int | None = None  # Prefer: wait
    leave: float | None = None  # the client goes after so many seconds
    again: tuple = ()


def weighted(random, table):
    return random.choices(list(table), list(table.values()))[0]


# How the upstream treats an attempt.
BEHAVIOURS = {
    "answer": 50, "refuse": 5, "break": 4,  # stored: 201, 402, 500
    "slow": 10, "outlast": 6,  # a lease
    "large": 3,
    "release": 7, "say-release": 3,  # 503, 409 with Idempotency-Outcome
    "doubt": 3, "say-unknown": 2,  # 502, 200 with Idempotency-Outcome
    "lose": 3, "close": 3, "reset": 3, "truncate": 4, "malform": 2, "stall": 2}
# How it treats a question; its router may not know the path (misroute).
TELLING = {"tell": 14, "break": 2, "close": 1, "truncate": 1, "misroute": 2,
           "say-unknown": 1}
# How it says that it has not executed anything: 410, or by a field.
DENYING = {"gone": 3, "say-release": 1}

FAULTS = {
    "gateway": {"kill": 4, "freeze": 3, "drain": 3, "reload": 3, "fill": 2},
    "redis": {"kill": 4, "freeze": 4, "flush": 3, "disconnect": 3,
              "linger": 2, "fill": 3},
    "network": {"redis_replies": 5, "redis_requests": 2, "redis_reset": 2,
                "redis_hold": 2, "upstream_refuse": 3, "upstream_replies": 3,
                "upstream_requests": 3, "upstream_reset": 2,
                "client_replies": 3, "client_requests": 2, "bytes": 2},
    "operator": {"resolve": 1}}


@dataclass
class Fault:
    kind: str
    pause: float  # before it
    length: float  # from 0 to 1, of what is usual for its kind
    gateway: int
    how: str  # of a cut
    bytes: int  # before a cut
    story: float  # from 0 to 1, of those that are known


class Plan:
    ROUTES = ROUTES

    def __init__(self, seed, faults=None):
        """faults: used in place of FAULTS."""
        self.seed, self.tables = seed, faults or FAULTS

    def options(self):
        """What is configured differently from the last history."""
        random = self.random("options")
        return {"workers": random.randint(1, 3),
                "in_flight": random.choice(("reject", "wait")),
                "reuse": random.choice(("safe", "safe", "never"))}

    def random(self, *words):
        return Random("/".join(str(w) for w in (self.seed, *words)))

    def record(self, number):
        random = self.random("record", number)
        # Some in a row, so that keys of an entity come together.
        route = self.random("row", number // ROW).choice(self.ROUTES)
        record = Record(route, random.choice(TENANTS), f"key-{number}")
        if not record.guard:
            return record
        group, place = divmod(number, KIN)
        return record._replace(
            tenant=TENANTS[group % len(TENANTS)], entity=f"account-{group}",
            version=1 + 2 * place + random.randint(0, 9))

    def story(self, number):
        """The requests of a story, in their order."""
        random = self.random("story", number)
        own = self.record(number)
        requests = [self.request(random, own)]
        for _ in range(random.randint(1, 6)):
            record = own
            kind = random.random()
            if kind < 0.15:  # the same key in another scope
                record = own._replace(tenant=random.choice(TENANTS))
            elif kind < 0.35 and number:  # an older story goes on
                record = self.record(
                    max(0, number - random.randint(1, 40)))
            requests.append(self.request(random, record))
        requests[0].pause = random.uniform(0, 0.3)
        if own.on_unknown == "reconcile" and random.random() < 0.4:
            requests.append(self.request(random, own))
            requests[-1].pause = SETTLE_S + random.uniform(0, 2)
        return requests

    def request(self, random, record):
        return Request(
            record, int(random.random() < 0.06), random.randint(0, 1),
            pause=random.choice((0, 0, random.uniform(0, 0.8))),
            wait=random.choice((None, None, None, 2)),
            leave=(random.uniform(0, 0.3) if random.random() < 0.08
                   else None),
            again=tuple(random.uniform(0.02, 1)
                        for _ in range(random.choice((0, 0, 3, 6)))))

    def behaviour(self, record, attempt):
        """Some keys have no luck."""
        random = self.random("upstream", *record, attempt)
        table = BEHAVIOURS
        if record.guard == "serial":  # others come meanwhile
            table = {**table, "slow": 60}
        if self.random("luck", *record).random() < 0.2:
            table = {**table, "answer": 0}
        return weighted(random, table), random

    def telling(self, record, number):
        random = self.random("tell", *record, number)
        return weighted(random, TELLING), weighted(random, DENYING)

    def faults(self, lane):
        """Faults, one after the other, without end; "gateway-0" is a lane."""
        random = self.random("faults", lane)
        table = self.tables[lane.split("-")[0]]
        while True:
            yield Fault(
                weighted(random, table), random.uniform(0.2, 1.6),
                random.random(), random.randint(0, 1),
                random.choice(("reset", "close")),
                random.choice((0, 0, 1, random.randint(2, 200))),
                random.random())

    def text(self, stories=50, faults=50):
        """The beginning of the plan in words, to show what a seed means."""
        lines = [repr(self.options())]
        lines += [repr(r) for n in range(stories) for r in self.story(n)]
        lines += [repr(self.behaviour(self.record(n), 1)[0])
                  for n in range(stories)]
        for lane in self.tables:
            every = self.faults(lane)
            lines += [repr(next(every)) for _ in range(faults)]
        return "\n".join(lines)
