# SPDX-License-Identifier: BSD-2-Clause
"""What messages are read from, a topic of Kafka, and the Kafka itself."""

import os
import subprocess
import sys

import rivals
import sources

TOP = os.path.realpath(os.path.join(rivals.HERE, "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "lib"))
PARTITIONS = 4
JAVA = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:-UsePerfData")
GROUPS = {"onceproxy": "onceproxy", "node": "consumers", "plain": "plain"}


def fetch():
    """The Kafka of the tests, where it is not there yet."""
    where = os.path.join(TOP, "build", "bench")
    subprocess.run(
        ["bash", "-euc", 'top=$1 build=$2; '
         '. "$top/contrib/lib-debian.sh"; need_packages maven '
         'default-jdk-headless python3-confluent-kafka; '
         'fetch_kafka "$build"', "fetch", TOP, where],
        check=True, stdout=sys.stderr)
    return where


def message(body, key, partition):
    return body, {"key": key, "partition": partition,
                  "headers": [("idempotency-key", key)]}


class Kafka:
    """A node on the client's processors, in the stage's care."""

    def __init__(self, stage):
        os.environ["top_builddir"] = stage.options.kafka_build
        from once.kafka import Kafka as Real
        self.kafka = Real(words=stage.pinned("client"), java=JAVA)
        stage.servers.append(self)

    def pids(self):
        return [self.kafka.nodes[0].process.pid]

    def stop(self):
        self.kafka.stop()


class Topic:
    """A topic with so many messages, read by one of GROUPS, and one for
    results, if they are wanted."""

    look_s = 0.05

    def __init__(self, server, stage, name, reader, results, ledger=False,
                 settings=None):
        """ledger: who executes is not the stage's upstream; settings: of a
        gateway's library."""
        self.kafka, self.stage, self.name = server.kafka, stage, name
        self.group = GROUPS[reader]
        self.ledger, self.settings = ledger, settings or {}
        self.count = self.before = 0
        self.results = results and f"{name}.done"
        for each in (name, f"{name}.done", f"{name}.dead"):
            self.kafka.topic(each, PARTITIONS)

    def conf(self):
        where = {"topics": [self.name]}
        if self.results:
            where["results"] = {"topic": self.results}
        return {"kafka": self.kafka.addresses,
                "settings": self.settings}, where

    def fill(self, count):
        for at in range(0, count, 50000):
            self.kafka.produce_all(self.name, [
                message(sources.BODY, f"{self.name}-{i}".encode(),
                        i % PARTITIONS)
                for i in range(at, min(count, at + 50000))])
        self.count = count
        self.before = self.stage.upstream_requests()

    def committed(self):
        return sum(offset for offset, _ in self.kafka.committed(
            self.group, self.name).values())

    def done(self):
        """All are done when they are committed too, which happens once a
        second."""
        if self.ledger:
            return self.committed()
        executed = self.stage.upstream_requests() - self.before
        if executed < self.count:
            return executed
        return self.count if self.committed() == self.count \
            else self.count - 1

    def keys_of_results(self):
        """As who reads only what is committed sees them."""
        return [r.key.decode() for r in self.kafka.consume(self.results)]

    def drop(self):
        self.kafka.delete_topic(self.name)
