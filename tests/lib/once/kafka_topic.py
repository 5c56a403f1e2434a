# SPDX-License-Identifier: BSD-2-Clause
"""A topic with messages, what becomes of them, and a gateway's source that
reads it."""

import hashlib
import struct

from . import http
from .gateway import command
from .messages import as_text
from .skip import Skip
from .wait import PATIENCE, eventually

# A member that is dead is noticed soon, and a topic that is new.
SETTINGS = {"session.timeout.ms": "3000", "heartbeat.interval.ms": "300",
            "reconnect.backoff.max.ms": "500",
            "topic.metadata.refresh.interval.ms": "1000"}


def need_reader():
    """Skips where the program cannot read Kafka."""
    if "with kafka" not in command("--version").stdout:
        raise Skip("built without Kafka")


class Topic:
    """A topic of a Kafka, read by a group of its name, with topics for
    results and dead letters."""

    def __init__(self, kafka, name, partitions=1, **settings):
        need_reader()
        self.kafka, self.name, self.partitions = kafka, name, partitions
        self.group = f"{name}.group"
        self.results, self.dead = f"{name}.done", f"{name}.dead"
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
        return sum(end - max(found.get(n, (0, ""))[0], begin)
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
            "broker": "events", "topics": [self.name], "group": self.group,
            "request": request, **members}
        return config
