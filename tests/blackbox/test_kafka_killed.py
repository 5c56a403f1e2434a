# SPDX-License-Identifier: BSD-2-Clause
"""What a gateway leaves open at Kafka when it is killed holds nobody up: not
itself when it is started again, nor another one.  Skipped where there is no
Kafka (contrib/check --all)."""

import itertools
import time

from once import tap
from once.admin import Admin
from once.kafka import START_S, confluent_kafka
from once.kafka_topic import Topic
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

NUMBERS = itertools.count()
ENDED_S = 40  # a transaction by its broker, after 10 s; by itself 60 s
NEVER_MS = 600000


class Reader:
    """A topic, and gateways that read it."""

    def __init__(self, bench, idempotency=None, kafka=None, **members):
        self.bench, self.kafka = bench, kafka or bench.kafka
        self.idempotency, self.members = idempotency, members
        self.of, self.done = {}, []
        self.upstream = bench.upstream(self.serve_key)
        self.topic = Topic(self.kafka, f"killed-{next(NUMBERS)}")

    def serve_key(self, connection, request):
        key = request.get("Idempotency-Key")
        fate = self.of.get(key, answer())
        if fate.startswith(b"HTTP/1.1 2"):
            self.done.append(key)
        connection.send(fate)

    def serve(self, instance="one", **members):
        config = self.bench.config(
            self.upstream, self.idempotency, instance=instance,
            admin={"listen": "127.0.0.1:0"})
        self.gateway = self.bench.serve(self.topic.source(
            config, **{**self.members, **members}))
        return self.gateway

    def add(self, *keys):
        for key in keys:
            self.topic.add(b"{}", key, order=b"a")

    def wait_done(self, count, timeout=START_S):
        eventually(lambda: len(set(self.done)) >= count,
                   f"{count} are executed", timeout)


def opened(r, dead=False):
    """Kills a gateway while its transaction waits for a topic that is not there
    yet; the topic's name."""
    put = f"{r.topic.name}.late"
    r.members = {"dead_letters" if dead else "results": {"topic": put}}
    gateway = r.serve()
    r.of["stuck"] = answer(422 if dead else 201)
    r.add("stuck")
    eventually(lambda: is_open(r.topic), "one is open", START_S)
    gateway.kill()
    r.kafka.topic(put)
    r.add("after")
    return put


def both_end(r, gateway):
    gateway.wait_until(lambda: len(gateway.find_log("message")) == 2,
                       "both are acknowledged", START_S)
    r.topic.wait_finished(START_S)
    equal(r.upstream.count(key="stuck"), 1)


@each([("results", False), ("dead letters", True)])
def who_comes_back_ends_the_transaction_that_it_left_open(bench, dead):
    """Nobody else does: these brokers do not look."""
    r = Reader(bench, kafka=bench.own_kafka(
        transaction_abort_timed_out_transaction_cleanup_interval_ms=NEVER_MS))
    put = opened(r, dead)
    both_end(r, r.serve())
    equal(len(r.kafka.consume(put)), 1 if dead else 2)


@test
def a_transaction_that_was_left_open_stops_another_one_for_10_s(bench):
    r = Reader(bench)
    put = opened(r)
    began = time.monotonic()
    both_end(r, r.serve("two"))
    took = time.monotonic() - began
    equal(len(r.kafka.consume(put)), 2)
    assert took < ENDED_S, took


def is_open(topic):
    """What is committed is neither what it was, nor yet what it will be: who
    asks for that has no answer."""
    return is_told(topic, "read_uncommitted") and \
        not is_told(topic, "read_committed")


def is_told(topic, isolation):
    consumer = confluent_kafka.Consumer(topic.kafka.settings(
        group_id=topic.group, isolation_level=isolation))
    at = confluent_kafka.TopicPartition(topic.name, 0)
    try:
        consumer.get_watermark_offsets(at, START_S)
        consumer.committed([at], 2)
    except confluent_kafka.KafkaException:
        return False
    finally:
        consumer.close()
    return True


@test
def gateways_of_one_name_and_other_groups_leave_each_other_alone(bench):
    r = Reader(bench)
    r.members = {"results": {"topic": r.topic.results}}
    both = [r.serve(), r.serve(group=f"{r.topic.group}.other")]
    for number in range(3):
        r.add(f"k{number}")
        for gateway in both:
            gateway.wait_until(
                lambda g=gateway, n=number: len(g.find_log("message")) > n,
                "each has read it", START_S)
    for gateway in both:
        for event in ("source_broker_down", "source_stands"):
            equal(gateway.find_log(event), [])
    equal(len(r.kafka.consume(r.topic.results)), 6)


@test
def gateways_that_are_killed_one_after_the_other_keep_the_order(bench):
    """What was under way at a kill is executed again, as its route says."""
    r = Reader(bench, {"lease": "1s", "on_unknown": "retry"}, order_by="key",
               retry={"first": "10ms", "most": "20ms", "attempts": 6})
    r.of["k0"] = answer(422)
    r.serve()
    r.add(*(f"k{n}" for n in range(31)))
    admin = Admin(r.gateway)
    eventually(lambda: len(listed(admin, "parked")) == 30, "30 are parked",
               START_S)
    first, = listed(admin, "dead")
    equal(admin.post(f"/messages/{first['id']}/drop").status, 200)
    for count in (5, 12, 20):
        r.wait_done(count)
        r.gateway.kill()
        r.add(f"new{count}")
        r.serve()
    r.add("last")
    eventually(lambda: "last" in r.done, "all are executed", START_S)
    equal(list(dict.fromkeys(r.done)),
          [*(f"k{n}" for n in range(1, 31)), "new5", "new12", "new20", "last"])
    assert len(r.done) <= 34 + 3, r.done


def listed(admin, state):
    return admin.get(
        f"/messages?source=charges&state={state}")["messages"]


tap.main()
