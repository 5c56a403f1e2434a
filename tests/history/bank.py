# SPDX-License-Identifier: BSD-2-Clause
"""The upstream of a history: it executes, logs what it executes, and treats
each attempt as the plan says."""

import json
import threading
import time

from once.history import Answer, Arrival, Given, Question, Record
from once.upstream import DATE, Upstream, answer

from plan import LEASE_S, UPSTREAM_TIMEOUT_S

STORED = {"answer": 201, "refuse": 402, "break": 500, "slow": 201,
          "outlast": 201, "large": 200}
KINDS = {"release": ("release", 503), "say-release": ("release", 409),
         "doubt": ("unknown", 502), "say-unknown": ("unknown", 200)}
SAYS = {"say-release": "release", "say-unknown": "unknown"}
LARGE_BYTES = 8192  # more than a route keeps
# Of the answers to questions: those that tell nothing, and the status with
# which another one is stored.
UNTOLD = {"break": answer(500), "misroute": answer(404, b"no such path"),
          "say-unknown": answer(
              410, b"{}", [("Idempotency-Outcome", "unknown")])}
ABSENT, TOLD = 410, 201


def record_of(request):
    path = request.target.split("/")
    key = request.get("Idempotency-Key") or path[-1]
    body = json.loads(request.body or b"{}")
    return Record(path[2], request.get("Authorization"), key,
                  body.get("account", ""), body.get("version", 0))


def body_of(record, variant):
    """The body of a client's request."""
    body = {"amount": 100 + variant}
    if record.guard:
        body.update(account=record.entity, version=record.version)
    return json.dumps(body).encode()


class Bank(Upstream):
    """honest: from now on it answers everything at once and well."""

    def __init__(self, plan, history):
        self.plan, self.history = plan, history
        self.honest = False
        self.names = 0
        self.log = threading.Lock()
        self.told = {}  # by record, how many questions were asked
        self.over = threading.Event()
        super().__init__(self.serve)

    def stop(self):
        self.over.set()
        super().stop()

    def effects(self, record):
        """What was executed, in order.  Hold the lock."""
        return [a for a in self.history.arrivals
                if a.record == record and a.effect]

    def give(self, record, kind, status, variant, letter="e", padding=0,
             says=None):
        """A new answer, and its bytes.  Hold the lock."""
        self.names += 1
        name = f"{letter}{self.names}"
        body = json.dumps({"execution": name, "of": list(record),
                           "padding": "x" * padding}).encode()
        fields = [("Content-Type", "application/json"),
                  ("X-Execution", name), ("X-Body", str(variant))]
        given = Given(name, record, kind, Answer(
            status, (("Date", DATE), *fields), body), variant)
        self.history.given[name] = given
        if says:
            fields.append(("Idempotency-Outcome", says))
        return given, answer(status, body, fields)

    def serve(self, connection, request):
        if request.method == "GET":
            self.tell(connection, request)
        else:
            self.execute(connection, request)

    def execute(self, connection, request):
        record = record_of(request)
        attempt = int(request.get("Idempotency-Attempt"))
        variant = json.loads(request.body)["amount"] - 100
        behaviour, random = self.plan.behaviour(record, attempt)
        if self.honest:
            behaviour = "answer"
        kind, status = KINDS.get(
            behaviour, ("store", STORED.get(behaviour, 201)))
        if behaviour == "large":
            kind = "large"
        with self.log:
            given, data = self.give(
                record, kind, status, variant, says=SAYS.get(behaviour),
                padding=LARGE_BYTES if kind == "large" else
                random.choice((0, 10, 1000)))
            arrival = Arrival(
                record, attempt, time.monotonic(),
                kind != "release" and behaviour != "lose",
                kind == "unknown" or behaviour not in {**STORED, **KINDS},
                None, given.name, variant)
            self.history.arrivals.append(arrival)
        self.pause(behaviour, random)
        arrival.ready = time.monotonic()
        self.act(behaviour, random, connection, data)
        arrival.done = time.monotonic()

    def pause(self, behaviour, random):
        if behaviour == "slow":
            self.over.wait(random.uniform(0.05, 0.9))
        elif behaviour == "outlast":
            self.over.wait(LEASE_S + 0.3)
        elif behaviour == "stall":
            self.over.wait(UPSTREAM_TIMEOUT_S + 0.5)

    def act(self, behaviour, random, connection, data):
        if behaviour in ("close", "lose"):
            connection.close()
        elif behaviour == "reset":
            connection.reset()
        elif behaviour == "malform":
            connection.send(b"HTTP/1.1 2x1 \r\n" + data[12:])
        elif behaviour == "truncate":
            connection.send(data[:random.randrange(1, len(data))])
            connection.close()
        else:
            connection.send(data)

    def tell(self, connection, request):
        """What became of a key, for a gateway that reconciles."""
        record = record_of(request)
        with self.log:
            number = self.told[record] = self.told.get(record, 0) + 1
            manner, denying = self.plan.telling(record, number)
            if self.honest:
                manner = "tell"
            self.history.questions.append(Question(
                record, time.monotonic(),
                manner == "tell" and not self.effects(record)))
            data = UNTOLD.get(manner) or self.truth(record, denying)
        if manner == "tell" or manner in UNTOLD:
            connection.send(data)
        else:
            if manner == "truncate":
                connection.send(data[:len(data) - 3])
            connection.close()

    def truth(self, record, denying):
        """The answer to a question.  Hold the lock."""
        done = self.effects(record)
        if not done:
            return answer(410, b"{}") if denying == "gone" else answer(
                404, b"{}", [("Idempotency-Outcome", "release")])
        given, data = self.give(record, "store", 200, done[-1].variant, "q")
        # The route stores it with the status of a payment.
        given.answer = given.answer._replace(status=TOLD)
        return data
