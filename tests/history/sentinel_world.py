# SPDX-License-Identifier: BSD-2-Clause
"""The world of a history of messages in which the store and the Redis of the
stream each have a replica, and Sentinels that move their masters."""

import os

from once.messages import Stream, as_text, fields_of
from once.process import Process
from once.redis import RedisClient
from once.wait import PATIENCE

from failovers import Failovers
from message_world import FAULTS, GENTLE, ask
from stream_world import StreamWorld

STORE = {"kill": 3, "part": 3, "switch": 4, "freeze": 2, "flush": 1,
         "disconnect": 2}
BROKER = {"kill": 3, "part": 3, "switch": 4, "freeze": 2, "disconnect": 2,
          "trim": 2, "delete": 2, "destroy": 1, "reset": 1}


def path_of(server):
    return os.path.join(server.folder, "redis")


class Master:
    """The Redis that has the stream, whichever it is."""

    def __init__(self, world):
        self.world, self.store = world, world.broker.store

    def __call__(self, *words):
        return ask(self.world.broker_client(), *words)


class SentinelWorld(StreamWorld):
    """All of the store's records have been copied before anybody is told of
    them; the stream's entries have not."""
    TABLES = (
        {**FAULTS, "store": STORE, "broker": BROKER},
        # What leaves no doubt about how many messages were lost.
        {**GENTLE, "store": STORE, "broker": {
            "switch": 4, "freeze": 3, "disconnect": 2, "trim": 2}})

    def make_sentinels(self):
        redis = self.bench.sentinels(replicas=1, sentinels=2, quorum=1,
                                     down_after_ms=600000)
        return redis, Failovers(redis, self.over.wait)

    def make_store(self):
        self.store, self.store_failovers = self.make_sentinels()

    def more_of_store(self):
        return {"wait_replicas": 1, "wait_timeout": "150ms"}

    def store_client(self, timeout=PATIENCE):
        return RedisClient(path_of(self.store_failovers.current), timeout)

    def make_broker(self):
        self.broker, self.broker_failovers = self.make_sentinels()
        self.stream = Stream(Master(self))

    def broker_client(self, timeout=PATIENCE):
        return RedisClient(path_of(self.broker_failovers.current), timeout)

    # --- faults ------------------------------------------------------------

    def length(self, random):
        return random.choice((0, random.uniform(0, 1.5)))

    def store_kill(self, random):
        self.told.forgets = True
        self.store_failovers.kill(
            self.store_failovers.settle(), self.length(random))

    def store_part(self, random):
        self.told.forgets = True
        self.store_failovers.part(self.length(random))

    def store_freeze(self, random):
        self.store_failovers.freeze(self.length(random))

    def store_switch(self, random):
        self.store_failovers.switch()

    def broker_kill(self, random):
        self.told.forgot = True
        self.broker_failovers.kill(self.broker_failovers.settle(),
                                   self.length(random), self.note_lost)

    def broker_part(self, random):
        self.told.forgot = True
        self.broker_failovers.part(self.length(random), self.note_lost)

    def broker_freeze(self, random):
        self.told.unsure = True
        self.broker_failovers.freeze(self.length(random))

    def broker_switch(self, random):
        self.told.unsure = True
        self.broker_failovers.switch()

    def note_lost(self, old, new):
        """What the old master had, and the new one has not: it is started
        where only we find it."""
        process = Process([*old.argv(), "--port", "0"])
        process.wait_for_line(old.ready)
        client = RedisClient(path_of(old))
        had = client("XRANGE", self.stream.name, "-", "+")
        dead = client("XRANGE", f"{self.stream.name}:dead", "-", "+")
        process.kill()
        has = {as_text(p) for p, _ in
               new("XRANGE", self.stream.name, "-", "+")}
        lost = [each for each in had or [] if as_text(each[0]) not in has]
        with self.lock:
            self.counts["entries lost"] += len(lost)
            self.told.was_dead |= {
                as_text(fields_of(fields)["onceproxy-position"])
                for _, fields in dead or []
                if "onceproxy-done" not in fields_of(fields)}
        self.lose(lost)

    # --- the end -----------------------------------------------------------

    def heal_broker(self):
        for failovers in (self.store_failovers, self.broker_failovers):
            failovers.settle()

    def tell_broker(self):
        """A master that becomes a replica is empty for a moment, so that a
        reader may set the group back."""
        super().tell_broker()
        self.told.resets += sum(
            len(g.find_log("source_group_made_again"))
            for g in self.bench.gateways)
