# SPDX-License-Identifier: BSD-2-Clause
"""Topics whose finished messages are compacted away, where nobody else knows
any more what was finished: neither the group nor the records.  Nothing is
executed twice.  Skipped where there is no Kafka (contrib/check --all)."""

import itertools
from collections import Counter

from once import tap
from once.admin import Admin
from once.gateway import command
from once.kafka import START_S
from once.kafka_topic import Topic
from once.tap import each, equal, test
from once.wait import eventually

NUMBERS = itertools.count()
PARTS_STANDING = "onceproxy_source_parts_standing{"
# Each message is a segment, and all but the last are compacted at once.
QUICK = {"log_cleaner_backoff_ms": 100}
COMPACT = {"cleanup_policy": "compact", "segment_bytes": 150,
           "min_cleanable_dirty_ratio": "0.0"}


class Reader:
    """A compacted topic of messages that are finished, and its gateway."""

    def __init__(self, bench, partitions=1):
        self.bench, self.redis = bench, bench.own_redis()
        self.upstream = bench.upstream()
        self.kafka = bench.own_kafka(**QUICK)
        self.topic = Topic(
            self.kafka, f"compacted-{next(NUMBERS)}", partitions)
        self.kafka.configure_topic(self.topic.name, **COMPACT)
        self.executed = []
        self.serve()

    def serve(self, **members):
        self.gateway = self.bench.serve(self.topic.source(
            self.bench.config(
                self.upstream, instance="one", redis=self.redis,
                admin={"listen": f"unix:{self.bench.folder()}/admin"}),
            self.topic.name, **members))

    def add(self, *keys):
        """Messages of that key; what Kafka compacts by is before its dot."""
        for key in keys:
            self.topic.add(b"{}", key, order=key.split(".")[0].encode())

    def finish(self, *keys):
        self.add(*keys)
        self.executed += keys
        self.wait_executed()
        self.topic.wait_finished(START_S)

    def wait_executed(self):
        self.upstream.wait_until(
            lambda: len(self.upstream.requests) >= len(self.executed),
            f"{self.executed} are executed", START_S)
        equal(Counter(r.get("Idempotency-Key")
                      for r in self.upstream.requests),
              Counter(self.executed))

    def forget(self):
        """Of what is finished only z.0 is left, and the floor; two that are
        not finished come behind it."""
        self.gateway.stop()
        self.add("x.3", "x.4")
        eventually(lambda: [r.offset for r in self.kafka.consume(
            self.topic.name)] == [0, 3, 4], "it is compacted", START_S)
        self.kafka.delete_group(self.topic.group)
        for name in self.redis("KEYS", "*:r:*"):
            self.redis("DEL", name)

    def end(self, *keys):
        """These are executed yet, and nothing else."""
        self.executed += keys
        self.wait_executed()
        self.topic.wait_finished(START_S)
        self.wait_executed()

    def shown(self):
        found, = Admin(self.gateway).get("/sources")["sources"]
        return found

    def sample(self, start):
        samples = Admin(self.gateway).send("GET", "/metrics").body.decode()
        sample, = [line.split() for line in samples.splitlines()
                   if line.startswith(start)]
        return int(sample[1])

    def asked(self):
        """How often Redis was asked for floors."""
        return self.sample(
            'onceproxy_store_seconds_count{operation="floor"}')

    def parts(self):
        """How many partitions stand, as is told in two ways, and why."""
        shown = self.shown()
        equal(self.sample(PARTS_STANDING), shown["parts_standing"])
        return shown["parts_standing"], shown.get("error")


@test
def what_is_left_of_what_was_finished_proves_the_topic(bench):
    r = Reader(bench)
    r.finish("z.0", "x.1", "x.2")
    r.forget()
    r.serve()
    told = r.gateway.wait_for_log("source_rewound", timeout=START_S)
    equal(told["partition"], f"{r.topic.name}/0")
    r.end("x.3", "x.4")
    equal(r.gateway.find_log("source_unproven"), [])


def forget_anchors(r):
    """The floor is what it was before it had more than the last one."""
    (name, floor), = r.topic.floors(r.redis).items()
    low, anchor, mark, older, cluster = floor.split()
    equal((low, anchor, len(older.split(","))), ("3", "2", 2))
    r.redis("HSET", r.topic.floors_key(r.redis), name,
            f"{low} {anchor} {mark} {cluster}")


def unproven(bench, partitions=1, **members):
    """Nobody can tell whether this is the topic that was read."""
    r = Reader(bench, partitions)
    r.finish("z.0", "x.1", "x.2")
    r.forget()
    forget_anchors(r)
    r.serve(**members)
    told = r.gateway.wait_for_log("source_unproven", timeout=START_S)
    for word in (f"{r.topic.name}/0", "below 3", "messages rewind"):
        assert word in told["error"], told
    r.wait_executed()
    equal(r.parts(), (1, told["error"]))
    return r


def standing(bench, **members):
    r = unproven(bench, **members)
    r.gateway.wait_for_log("source_stands", reason="broker")
    equal(r.shown()["standing"], "broker")
    return r


@each([("of the earliest", "earliest"), ("of the latest", "latest")])
def what_nobody_can_prove_is_not_read_until_an_operator_has_it_read(
        bench, start):
    r = standing(bench, start=start)
    # It asks every ten seconds, and is not told in the first of them.
    eventually(lambda: r.asked() > 1, "the floor is asked for again", START_S)
    equal(command("messages", "-c", r.gateway.file, "rewind",
                  r.topic.name).returncode, 0)
    r.gateway.wait_for_log("source_goes", reason="broker", timeout=START_S)
    r.end("z.0", "x.3", "x.4")
    equal(len(r.gateway.find_log("source_unproven")), 1)
    equal(r.shown()["standing"], None)
    equal(r.parts(), (0, None))


@test
def a_redis_that_is_emptied_decides_nothing(bench):
    r = standing(bench)
    r.redis("FLUSHALL")
    asked = r.asked()
    eventually(lambda: r.asked() > asked + 1 and r.topic.floors(r.redis),
               "the floor is asked for, and kept again", START_S)
    r.wait_executed()
    equal(r.gateway.find_log("source_goes"), [])
    equal(command("messages", "-c", r.gateway.file, "rewind",
                  r.topic.name).returncode, 0)
    r.end("z.0", "x.3", "x.4")


@test
def a_partition_that_nobody_can_prove_stands_alone_and_is_told(bench):
    r = unproven(bench, partitions=2)
    r.executed.append("y.5")
    r.topic.add(b"{}", "y.5", partition=1, order=b"y")
    r.wait_executed()
    equal(r.shown()["standing"], None)
    equal(r.gateway.find_log("source_stands"), [])
    equal(r.parts()[0], 1)
    equal(command("messages", "-c", r.gateway.file, "rewind",
                  r.topic.name).returncode, 0)
    r.end("z.0", "x.3", "x.4")
    equal(r.parts(), (0, None))


@test
def where_the_group_is_set_to_the_floor_nothing_is_executed_again(bench):
    r = standing(bench)
    r.gateway.stop()
    r.kafka.wait_members(r.topic.group, 0)
    r.topic.reset(3)
    r.serve()
    r.end("x.3", "x.4")
    equal(r.gateway.find_log("source_unproven"), [])


tap.main()
