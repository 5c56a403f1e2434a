# SPDX-License-Identifier: BSD-2-Clause
"""The floors of Kafka's partitions: what was finished is not executed again,
whatever becomes of the group, unless an operator says so.  Skipped where there
is no Kafka (contrib/check --all)."""

import itertools
import json
import os
import re
import time
from collections import Counter

from once import tap
from once.admin import Admin
from once.gateway import command
from once.kafka import START_S
from once.kafka_topic import Topic
from once.messages import Stream, source
from once.tap import each, equal, test
from once.wait import PATIENCE, eventually

NUMBERS = itertools.count()


def admin_of(bench):
    return {"listen": f"unix:{os.path.join(bench.folder(), 'admin')}"}


class Reader:
    """A topic with messages that are finished, and their gateway."""

    def __init__(self, bench, partitions=1, count=6, redis=None,
                 results=True):
        self.bench, self.redis = bench, redis or bench.redis
        self.more = {"redis": redis} if redis else {}
        self.upstream = bench.upstream()
        self.topic = Topic(
            bench.kafka, f"floors-{next(NUMBERS)}", partitions)
        self.members = (
            {"results": {"topic": self.topic.results}} if results else {})
        self.keys = [f"k{number}" for number in range(count)]
        self.gateway = self.serve()
        self.topic.add_all(self.keys)
        self.wait(count)

    def serve(self, instance="one"):
        config = self.bench.config(
            self.upstream, instance=instance, admin=admin_of(self.bench),
            **self.more)
        self.gateway = self.bench.serve(self.topic.source(
            config, self.topic.name,
            **self.members))
        return self.gateway

    def wait(self, count):
        """So many were executed, and all are acknowledged."""
        self.upstream.wait_until(
            lambda: len(self.upstream.requests) >= count,
            f"{count} executions", START_S)
        self.topic.wait_finished(START_S)
        eventually(lambda: self.kept_sum() == sum(
            end for _, end in self.topic.kafka.ends(
                self.topic.name).values()), "all of it is kept")

    def kept(self):
        return self.topic.floors(self.redis)

    def kept_sum(self):
        return self.topic.kept_sum(self.redis)

    def forget_records(self):
        for name in self.redis("KEYS", "*:r:*"):
            self.redis("DEL", name)

    def reset(self, offset=0):
        """As an operator who sets the group back does, or elsewhere."""
        self.gateway.stop()
        self.topic.kafka.wait_members(self.topic.group, 0)
        self.topic.reset(offset)
        return self.serve()

    def add_last(self, key="last"):
        self.topic.add(b"{}", key)
        self.gateway.wait_for_log(
            "message", outcome="executed", timeout=START_S)
        self.topic.wait_finished(START_S)

    def executions(self):
        return Counter(r.get("Idempotency-Key")
                       for r in self.upstream.requests)

    def rewound(self):
        page = Admin(self.gateway).send("GET", "/metrics").body.decode()
        return int(re.search(
            r"^onceproxy_messages_total\{source=\"" + self.topic.name +
            r"\",outcome=\"rewound\"\} (\d+)$", page, re.M)[1])

    def operator(self, *args):
        return command("messages", "-c", self.gateway.file, *args)


@each([("that was set back", lambda r: r.reset()),
       ("that was set behind the end", lambda r: r.reset(1000)),
       ("whose offsets are gone", lambda r: forget_group(r))])
def a_group_executes_nothing_and_says_so(bench, happens):
    r = Reader(bench, partitions=2)
    r.gateway.stop()
    r.forget_records()
    r.serve()
    happens(r)
    told = r.gateway.wait_for_log("source_rewound", timeout=START_S)
    assert told["partition"].startswith(r.topic.name), told
    eventually(lambda: r.rewound() == 6, "six are counted")
    r.add_last()
    equal(r.executions(), Counter([*r.keys, "last"]))
    equal(len(r.topic.kafka.consume(r.topic.results)), 7)


def forget_group(r):
    """As Kafka does with a group that was silent for a week."""
    r.gateway.stop()
    r.topic.kafka.wait_members(r.topic.group, 0)
    r.topic.kafka.delete_group(r.topic.group)
    r.serve()


@test
def a_topic_that_was_made_again_has_no_floor(bench):
    r = Reader(bench)
    r.gateway.stop()
    r.topic.kafka.delete_topic(r.topic.name)
    r.topic.kafka.topic(r.topic.name)
    r.topic.add(b"{}", "new")
    r.serve().wait_for_log("message", outcome="executed", timeout=START_S)
    r.topic.wait_finished(START_S)
    equal(r.executions(), Counter([*r.keys, "new"]))
    eventually(lambda: r.kept_sum() == 1, "the floor is the new topic's")


@each([("set back", lambda r: r.reset()),
       ("begin anew", lambda r: forget_group(r))])
def an_operator_may_have_a_group(bench, happens):
    r = Reader(bench)
    done = r.operator("rewind", r.topic.name, "--note", "results were lost")
    equal((done.returncode, done.stdout, done.stderr),
          (0, f"{r.topic.name}: its group may be set back, within a day\n",
           ""))
    said = r.gateway.wait_for_log("operator_rewind")
    equal((said["source"], said["partitions"], said["note"]),
          (r.topic.name, 1, "results were lost"))
    happens(r)
    r.gateway.wait_for_log(
        "message", outcome="duplicate", timeout=START_S)
    r.topic.wait_finished(START_S)
    # Their records know them; each has its result once more, marked.
    equal(r.executions(), Counter(r.keys))
    results = Counter((result.header("onceproxy-position"),
                       result.header("onceproxy-duplicate"))
                      for result in r.topic.kafka.consume(r.topic.results))
    equal(len(results), 2 * len(r.keys))
    equal(set(results.values()), {1})
    equal(r.rewound(), 0)


@test
def that_holds_for_what_it_names_and_once(bench):
    r = Reader(bench, partitions=2)
    part = f"{r.topic.name}/1"
    equal(r.operator("rewind", r.topic.name, part).returncode, 0)
    r.topic.add_all(["more0", "more1"])
    r.upstream.wait_until(lambda: len(r.upstream.requests) == 8, "8")
    r.topic.wait_finished(START_S)
    r.forget_records()
    r.reset()
    r.upstream.wait_until(
        lambda: len(r.upstream.requests) == 12, "it comes again", START_S)
    r.topic.wait_finished(START_S)
    equal(r.rewound(), 4)
    equal({key: count for key, count in r.executions().items()
           if count == 2}, {key: 2 for key in ("k1", "k3", "k5", "more1")})
    eventually(lambda: r.kept_sum() == 8, "it is kept anew")
    r.forget_records()
    r.reset()
    eventually(lambda: r.rewound() == 8, "all are counted", START_S)
    r.add_last()
    equal(len(r.upstream.requests), 13)


@test
def what_cannot_be_set_back_is_refused(bench):
    r = Reader(bench)
    name, kept = r.topic.name, r.kept()
    for args, status in (((name, f"{name}/7"), 409),
                         ((name, f"{name}/0", f"{name}/7"), 409),
                         (("other",), 404)):
        done = r.operator("rewind", *args)
        equal(done.returncode, 1, args)
        assert str(status) in done.stderr, done.stderr
    for body in ({"partitions": []}, {"partitions": [1]},
                 {"partitions": "x"}, {"parts": ["x"]}):
        equal(Admin(r.gateway).post(
            f"/sources/{name}/rewind", body).status, 400, body)
    equal(r.kept(), kept)


@test
def only_a_topic_has_a_group_that_can_be_set_back(bench):
    stream = Stream(bench.own_redis())
    config = bench.config(bench.upstream(), admin=admin_of(bench))
    source(config, stream)
    gateway = bench.serve(config)
    done = command("messages", "-c", gateway.file, "rewind", "charges")
    equal(done.returncode, 1)
    assert "409" in done.stderr, done.stderr


@test
def nothing_is_read_before_its_floor_is_known(bench):
    r = Reader(bench, redis=bench.own_redis())
    r.gateway.stop()
    key, kept = r.topic.floors_key(r.redis), r.kept()
    r.redis("SET", key, "another's")
    r.topic.kafka.wait_members(r.topic.group, 0)
    r.topic.reset(0)
    r.forget_records()
    r.topic.add(b"{}", "last")
    r.serve()
    stands = r.gateway.wait_for_log(
        "source_stands", reason="store", timeout=START_S)
    assert "WRONGTYPE" in stands["error"], stands
    assert key in stands["error"], stands
    equal(r.executions(), Counter(r.keys))
    r.redis("DEL", key)
    r.redis("HSET", key, *itertools.chain(*kept.items()))
    r.gateway.wait_for_log(
        "source_goes", reason="store", timeout=START_S)
    r.gateway.wait_for_log(
        "message", outcome="executed", timeout=START_S)
    r.topic.wait_finished(START_S)
    equal(r.executions(), Counter([*r.keys, "last"]))


def with_an_unkept_end(bench, **more):
    """A gateway that has just executed the last message."""
    r = Reader(bench, results=False, **more)
    r.topic.add(b"{}", "last")
    r.gateway.wait_until(lambda: len(r.gateway.find_log("message")) == 7,
                         "the last one ends", START_S)
    return r


@test
def who_is_stopped_keeps_the_floor_of_all_that_is_finished(bench):
    r = with_an_unkept_end(bench)
    r.gateway.stop()
    equal(r.kept_sum(), 7)
    equal(r.topic.unfinished(), 0)


@test
def who_is_stopped_does_not_wait_long_for_a_redis_that_is_away(bench):
    r = with_an_unkept_end(bench, redis=bench.own_redis())
    r.redis.freeze()
    started = time.monotonic()
    r.gateway.stop()
    took = time.monotonic() - started
    r.redis.thaw()
    assert took < PATIENCE / 2, took
    assert r.kept_sum() in (6, 7)
    equal(r.topic.unfinished(), 0)


@test
def what_is_asked_is_answered_as_json(bench):
    r = Reader(bench, partitions=2)
    answer = json.loads(r.operator(
        "rewind", r.topic.name, "--json").stdout)
    equal((answer["name"], sorted(answer["partitions"])),
          (r.topic.name, [f"{r.topic.name}/0", f"{r.topic.name}/1"]))
    assert all(value.startswith("!") for value in r.kept().values())


tap.main()
