# SPDX-License-Identifier: BSD-2-Clause
"""A topic of a real Kafka with dead letters, what operators do with them, and
gateways that read it."""

import base64
import itertools
import os

from .admin import Admin
from .gateway import command, write
from .kafka import START_S
from .kafka_topic import Beside, Topic
from .tap import equal
from .upstream import Hold, answer
from .wait import eventually

NUMBERS = itertools.count()
EARLY = (b"has not confirmed", b"executed or acknowledged", b"it is at work")
QUICK = {"retry": {"first": "10ms", "most": "20ms", "attempts": 1}}


class Letters:
    """A topic with dead letters, gateways that read it, and an upstream whose
    answer to each key can be changed.  What it releases is charged with that:
    another message is executed beside each."""

    def __init__(self, bench, members, idempotency=None, partitions=1,
                 letters=None, kafka=None):
        self.bench, self.of, self.holds, self.done = bench, {}, {}, []
        self.upstream = bench.upstream(self.serve_key)
        self.kafka = kafka or bench.kafka
        self.topic = Topic(self.kafka, f"letters-{next(NUMBERS)}", partitions)
        self.gateways, self.partition_of = [], {}
        self.beside = Beside(self.topic, self.gateways)
        if letters:
            self.topic.dead = self.kafka.topic(
                f"{self.topic.name}.parted", letters)
            members = {**members,
                       "dead_letters": {"topic": self.topic.dead}}
        self.members, self.idempotency = members, idempotency

    def serve_key(self, connection, request):
        key = request.get("Idempotency-Key")
        if Beside.is_one(key):
            connection.send(answer())
            return
        if key in self.holds:
            self.holds[key].wait()
        fate = self.of.get(key, answer())
        if fate.startswith(b"HTTP/1.1 2"):
            self.done.append(key)
        elif fate.startswith(b"HTTP/1.1 503"):
            self.beside.execute(self.partition_of.get(key, 0))
        connection.send(fate)

    def serve(self, instance="one"):
        self.config = self.topic.source(self.bench.config(
            self.upstream, self.idempotency, instance=instance,
            admin={"listen": "127.0.0.1:0"}), **self.members)
        self.gateway = self.bench.serve(self.config)
        self.gateways.append(self.gateway)
        self.admin = Admin(self.gateway)
        return self.gateway

    def hold(self, key):
        self.holds[key] = Hold()
        return self.holds[key]

    def add(self, *keys, order=b"a", partition=0):
        for key in keys:
            self.partition_of[key] = partition
            self.topic.add(b"{}", key, order=order, partition=partition)

    def put(self):
        """All copies that were ever put, in their order: (key, reason)."""
        return [(r.header("idempotency-key"), r.header("onceproxy-reason"))
                for r in self.kafka.consume(self.topic.dead)
                if r.header("onceproxy-done") is None]

    def standing(self):
        source, = self.admin.get("/sources")["sources"]
        return source["standing"]

    def wait_put(self, count):
        eventually(lambda: len(self.put()) == count,
                   f"{count} dead letters were put", START_S)

    def listed(self, state="dead", admin=None):
        return (admin or self.admin).get(
            f"/messages?source=charges&state={state}")["messages"]

    def wait_listed(self, count, state="dead"):
        return eventually(
            lambda: [m for m in [self.listed(state)] if len(m) == count],
            f"{count} are {state}", START_S)[0]

    def act(self, message, what, status=None, admin=None):
        """The answer: one whose acknowledgement is not confirmed yet is asked
        again."""
        def said():
            got = (admin or self.admin).post(
                f"/messages/{message['id']}/{what}", {"note": "n"})
            early = any(words in got.body for words in EARLY)
            return None if early and status != 409 else got
        got = eventually(said, f"an answer to {what}", START_S)
        if status is not None:
            equal(got.status, status, got.body)
        return got

    def replay(self, message, status=202):
        return self.act(message, "replay", status)

    def wait_confirmed(self):
        """The broker has acknowledged what is dead or parked, and the store
        knows."""
        eventually(lambda: not any(
            self.bench.redis("HGET", key, "state") == b"written"
            for key in self.bench.redis("KEYS", "*:letter:source:*")),
            "all is confirmed", START_S)

    def command(self, *words):
        file = os.path.join(self.bench.folder(), "onceproxy.json")
        write(file, {**self.config, "admin": {
            "listen": self.gateway.ready["admin"]}})
        return command("messages", words[0], "-c", file, *words[1:])

    def wait_executed(self, *wanted):
        eventually(lambda: len(self.done) >= len(wanted),
                   f"{wanted} are executed", START_S)
        equal(self.done, list(wanted))


def id_of(position):
    return base64.urlsafe_b64encode(
        f"charges\0{position}".encode()).decode().rstrip("=")


def begun(bench, members=None, key="k", fate=None, **more):
    """A dead letter of that key."""
    b = Letters(bench, members or QUICK, **more)
    b.of[key] = fate or answer(503)
    b.serve()
    b.add(key)
    message, = b.wait_listed(1)
    b.wait_confirmed()
    return b, message
