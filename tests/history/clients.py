# SPDX-License-Identifier: BSD-2-Clause
"""The clients of a history: they send what the plan says, and note what they
sent and what they got."""

import threading
import time
from dataclasses import replace

from once.history import Answer, Op
from once.http import Broken, Client, keyed

from bank import body_of

CLIENTS = 24
PATIENCE_S = 15  # a client's; then it leaves, and knows nothing
# What the gateway adds to an answer, or frames it with.
ADDED = ("Connection", "Content-Length", "Keep-Alive", "Via", "X-Request-Id",
         "Idempotent-Replayed", "Original-Request-Id")

FINAL = ("attempts-exhausted", "response-not-kept", "key-reused",
         "stale-version")


class Clients:
    def __init__(self, world):
        self.world, self.plan = world, world.plan
        self.history = world.history
        self.lock = threading.Lock()
        self.stories = 0

    def run(self):
        """A client's life: one story after the other."""
        while not self.world.over.is_set():
            with self.lock:
                number = self.stories
                self.stories += 1
            together = []
            for request in self.plan.story(number):
                if request.pause > 0:
                    self.join(together)
                    if self.world.over.wait(request.pause):
                        break
                together.append(self.world.guarded(self.insist, request))
            self.join(together)

    def join(self, threads):
        while threads:
            threads.pop().join()

    def insist(self, request):
        """Reads like a patient client, and tries the other gateway too."""
        op = self.ask(request)
        gateway = request.gateway
        for pause in request.again:
            if self.is_final(op) or self.world.over.wait(pause):
                return
            gateway = 1 - gateway
            op = self.ask(replace(request, gateway=gateway, leave=None))

    def is_final(self, op):
        """Whether its answer is final: every later retry gets the same."""
        return op.problem in FINAL or op.got is not None and (
            self.history.given[op.got].kind in ("store", "large"))

    def ask(self, request, last=False):
        """One request, from its bytes to its answer."""
        fields = []
        if request.wait is not None:
            fields.append(("Prefer", f"wait={request.wait}"))
        with self.lock:
            op = Op(len(self.history.ops), request.record, request.variant,
                    request.gateway, time.monotonic(), last=last)
            self.history.ops.append(op)
        fields.append(("X-Request-Id", f"op-{op.number}"))
        data = keyed(request.record.key, fields,
                     body_of(request.record, request.variant),
                     self.world.path_of(request.record),
                     tenant=request.record.tenant)
        try:
            self.exchange(op, request, data)
        except (OSError, Broken):
            pass  # nobody knows
        return op

    def exchange(self, op, request, data):
        door = self.world.doors[request.gateway]
        with Client(door.address, PATIENCE_S) as client:
            client.send(data)
            if request.leave is not None:
                self.world.over.wait(request.leave)
                if request.leave < 0.1:
                    client.reset()
                return
            got = client.read()
        if got is None:
            return
        if got.problem is not None:
            op.problem = got.problem
        else:
            op.got = got.get("X-Execution")
            op.answer = Answer(got.status, tuple(got.without(*ADDED)),
                               got.body)
            op.replayed = got.replayed
        op.end = time.monotonic()
