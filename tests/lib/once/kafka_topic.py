# SPDX-License-Identifier: BSD-2-Clause
"""A topic with messages, what becomes of them, and a gateway's source that
reads it."""

import contextlib
import hashlib
import struct
import threading

from . import http
from .gateway import command
from .messages import as_text
from .skip import Skip
from .wait import PATIENCE, Late, eventually

# A member that is dead is noticed soon, and a topic that is new.
SETTINGS = {"session.timeout.ms": "3000", "heartbeat.interval.ms": "300",
            "reconnect.backoff.max.ms": "500",
            "topic.metadata.refresh.interval.ms": "1000"}


def need_reader():
    """Skips where the program cannot read Kafka."""
    if "with kafka" not in command("--version").stdout:
        raise Skip("built without Kafka")


class Beside:
    """Messages that are executed beside one that the upstream releases: an
    attempt counts against a message only where another one of its source was
    executed since its last one.  Upstreams that release messages call
    execute() before each such answer, and answer what is_one() themselves."""

    def __init__(self, topic, gateways):
        """gateways: those that have read the topic, as a list that grows."""
        topic.add_beside()
        self.topic, self.gateways = topic, gateways
        self.lock = threading.Lock()
        self.count = 0

    @staticmethod
    def is_one(key):
        return bool(key) and key.startswith("beside-")

    def execute(self, partition=0, patience=10):
        """Adds one, and waits until it has ended; where nobody reads it in
        time, its absence is for the test to notice."""
        with self.lock:
            self.count += 1
            value, members = self.topic.message(
                b"{}", f"beside-{self.count}", partition, order=b"beside")
            _, offset = self.topic.kafka.produce(
                self.topic.beside, value, **members)[0]
        at = f"{self.topic.beside}/{partition}/{offset}@"
        with contextlib.suppress(Late):
            eventually(lambda: any(
                line["position"].startswith(at)
                for gateway in self.gateways
                for line in gateway.find_log("message")), "it ends", patience)


class Topic:
    """A topic of a Kafka, read by a group of its name, with topics for
    results and dead letters."""

    def __init__(self, kafka, name, partitions=1, **settings):
        need_reader()
        self.kafka, self.name, self.partitions = kafka, name, partitions
        self.group = f"{name}.group"
        self.results, self.dead = f"{name}.done", f"{name}.dead"
        self.beside = None
        for each in (self.name, self.results, self.dead):
            kafka.topic(each, partitions, **settings)

    def message(self, body, key=None, partition=0, headers=(), order=None,
                timestamp=None):
        """(value, members) of a message with that idempotency key."""
        members = {"partition": partition, "headers": [
            *([("idempotency-key", key.encode())] if key else []), *headers]}
        if order is not None:
            members["key"] = order
        if timestamp is not None:
            members["timestamp"] = timestamp
        return body, members

    def add(self, body=b"{}", key=None, **more):
        """Adds a message; its (partition, offset)."""
        return self.kafka.produce_all(
            self.name, [self.message(body, key, **more)])[0]

    def add_all(self, keys, **more):
        """A message for each key, one after the other over all
        partitions."""
        return self.kafka.produce_all(self.name, [
            self.message(b"{}", key, number % self.partitions, **more)
            for number, key in enumerate(keys)])

    def add_beside(self):
        """Makes the topic of what is executed beside others (Beside), which
        has the same partitions, so that the same gateways read it."""
        self.beside = f"{self.name}.beside"
        self.kafka.topic(self.beside, self.partitions)

    def floors_key(self, redis):
        """Where Redis keeps how far the partitions are finished."""
        names = map(as_text, redis("KEYS", "*:floor:source:*"))
        return next((name for name in names if name.endswith(
            f":floor:source:{self.name}")), "none")

    def floors(self, redis):
        """By partition, what is kept there."""
        found = redis("HGETALL", self.floors_key(redis)) or []
        return dict(zip(map(as_text, found[::2]),
                        map(as_text, found[1::2])))

    def kept_sum(self, redis):
        """Of all partitions, the offsets below which all is finished."""
        return sum(int(value.split()[0])
                   for name, value in self.floors(redis).items()
                   if " " not in name)

    def ended(self, committed=True):
        """The results, and the dead letters."""
        return (self.kafka.consume(self.results, committed),
                self.kafka.consume(self.dead, committed))

    def result_keys(self, committed=True):
        """The key_ids of all results, in the order of their topic."""
        return [r.header("onceproxy-key-id") for r in
                self.kafka.consume(self.results, committed)]

    def unfinished(self):
        """How many messages are not below what the group has committed."""
        found = self.kafka.committed(self.group, self.name)
        return sum(max(0, end - max(found.get(n, (0, ""))[0], begin))
                   for n, (begin, end) in
                   self.kafka.ends(self.name).items())

    def wait_finished(self, timeout=PATIENCE):
        eventually(lambda: self.unfinished() == 0,
                   f"all of {self.name} is committed", timeout)

    def reset(self, offset=0):
        """Sets the group, which has no members, back to an offset."""
        self.kafka.commit(self.group, self.name, {
            n: offset for n in range(self.partitions)})

    def transactional_id(self, instance="one", source="charges"):
        """That of who reads it."""
        parts = ("kafka transactions", self.group, source, instance)
        hashed = hashlib.blake2b(digest_size=16)
        for part in parts:
            hashed.update(struct.pack("<Q", len(part)) + part.encode())
        return f"onceproxy-{source}-{instance}-{hashed.hexdigest()[:8]}"

    def source(self, config, name="charges", settings=None, **members):
        """Adds a source of this topic to a configuration."""
        request = {"path": "/v1/charges", "headers": {
            "Authorization": http.TENANT}, **members.pop("request", {})}
        config.setdefault("brokers", {})["events"] = {
            "kafka": self.kafka.addresses,
            "settings": {**SETTINGS, **(settings or {})}}
        config.setdefault("sources", {})[name] = {
            "broker": "events", "group": self.group,
            "topics": [self.name, *([self.beside] if self.beside else [])],
            "request": request, **members}
        return config
