# SPDX-License-Identifier: BSD-2-Clause
"""A topic of a real Kafka whose disk is put back to what it was, and gateways
that read it one after the other."""

import itertools
import os
import shutil
from collections import Counter

from .kafka import START_S
from .kafka_topic import Topic
from .tap import equal
from .wait import eventually

NUMBERS = itertools.count()
LEFT, LOST = 6, 4  # messages that are still there, and that are not


def keys_of(word, count):
    return [f"{word}{number}" for number in range(count)]


class DiskReader:
    """A topic, and gateways that read it one after the other."""

    def __init__(self, bench, start="earliest", kafka=None, settings=None,
                 topic=None, **members):
        """The members are all messages'; settings: the source's, and the
        topic's."""
        self.start, self.settings = start, settings
        self.bench, self.redis = bench, bench.own_redis()
        self.members = members
        self.upstream = bench.upstream()
        self.kafka = kafka or bench.own_kafka()
        self.node = self.kafka.nodes[0]
        self.topic = Topic(
            self.kafka, f"end-lost-{next(NUMBERS)}", **(topic or {}))
        self.executed = []

    def serve(self):
        self.gateway = self.bench.serve(self.topic.source(
            self.bench.config(
                self.upstream, instance="one", redis=self.redis,
                log={"level": "debug"},
                admin={"listen": f"unix:{self.bench.folder()}/admin"}),
            self.topic.name, self.settings, start=self.start))
        return self.gateway

    def add(self, keys):
        self.topic.add_all(keys, **self.members)

    def finish(self, keys):
        self.add(keys)
        self.finished(keys)

    def finished(self, keys):
        """These are executed yet, once, and nothing else."""
        self.executed += keys
        self.upstream.wait_until(
            lambda: len(self.upstream.requests) >= len(self.executed),
            f"{keys} are executed", START_S)
        self.topic.wait_finished(START_S)
        equal(Counter(r.get("Idempotency-Key")
                      for r in self.upstream.requests),
              Counter(self.executed))

    # --- the disk ----------------------------------------------------------

    def folder(self):
        return os.path.join(self.node.data, f"{self.topic.name}-0")

    def keep(self):
        """Of the partition, a copy."""
        self.node.stop()
        self.copy = os.path.join(self.bench.folder(), "copy")
        shutil.copytree(self.folder(), self.copy)
        self.node.start()

    def restore(self, left=LEFT):
        """Puts the copy back, and has Redis forget all records."""
        self.node.stop()
        self.put_back(left)

    def put_back(self, left=LEFT):
        shutil.rmtree(self.folder())
        shutil.copytree(self.copy, self.folder())
        self.node.start()
        eventually(lambda: self.kafka.ends(self.topic.name)[0][1] == left,
                   "the end is lost")
        for name in self.redis("KEYS", "*:r:*"):
            self.redis("DEL", name)

    def stop(self):
        self.gateway.stop()
        self.kafka.wait_members(self.topic.group, 0)


def read_all(bench, **members):
    """All of it is finished; some of that will be lost."""
    r = DiskReader(bench, **members)
    r.serve()
    r.finish(keys_of("old", LEFT))
    r.keep()
    r.finish(keys_of("gone", LOST))
    return r
