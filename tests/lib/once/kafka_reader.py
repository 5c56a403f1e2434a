# SPDX-License-Identifier: BSD-2-Clause
"""A pretended Kafka with one topic, and gateways that read it."""

import itertools
from collections import Counter

from .admin import Admin
from .kafka_topic import Topic
from .tap import equal

LONG_S = 60  # members join and leave meanwhile, and requests are sent again
NUMBERS = itertools.count()


class MockReader:
    """A topic of a pretended Kafka, its upstream, and gateways that read it."""

    def __init__(self, bench, nodes=1, partitions=1, reply=None, settings=None,
                 **members):
        self.bench, self.kafka = bench, bench.mock_kafka(nodes)
        self.topic = Topic(
            self.kafka, f"charges-{next(NUMBERS)}", partitions)
        self.upstream = bench.upstream(reply)
        self.settings, self.members = settings, members

    def serve(self, instance="one"):
        # What a test holds may have to wait until partitions have moved.
        config = self.bench.config(
            self.upstream, {"lease": "10s"}, {"timeout": "240s"},
            instance=instance, admin={"listen": "127.0.0.1:0"},
            log={"level": "debug"})
        self.topic.source(config, settings=self.settings, **self.members)
        return self.bench.serve(config)

    def reading(self, instance="one"):
        """A gateway that has all partitions."""
        gateway = self.serve(instance)
        wait_partitions(gateway, self.topic.partitions)
        return gateway

    def add(self, count, word="k", body=b"{}"):
        """So many messages over all partitions; their keys."""
        keys = [f"{word}{number}" for number in range(count)]
        self.kafka.produce_all(self.topic.name, [
            self.topic.message(body, key, number % self.topic.partitions)
            for number, key in enumerate(keys)])
        return keys

    def wait_executed(self, count):
        self.upstream.wait_for(count, LONG_S)

    def wait_ended(self):
        self.topic.wait_finished(LONG_S)

    def each_once(self, keys):
        equal(Counter(r.get("Idempotency-Key")
                      for r in self.upstream.requests), Counter(keys))


def wait_partitions(gateway, count, since=0):
    return gateway.wait_for_log("source_partitions", since, timeout=LONG_S,
                                partitions=count)


def source_of(gateway):
    found, = Admin(gateway).get("/sources")["sources"]
    return found
