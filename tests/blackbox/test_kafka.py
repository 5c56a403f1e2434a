# SPDX-License-Identifier: BSD-2-Clause
"""Messages of a real Kafka: each is executed once, and its position committed,
in one transaction with its result or dead letter."""

import json
import re
import signal

from once import tap
from once.gateway import is_without
from once.tap import equal, test
from once.topics import Topic, topic_source
from once.upstream import answer, close_unanswered
from once.wait import eventually


def begin(bench, upstream, name, members=None, partitions=1, puts=(),
          **more):
    """A topic of that name and its group, those of what is put, and what a
    gateway needs to read it."""
    topic = Topic(bench.kafka, name, partitions, group=name)
    for other in puts:
        bench.kafka.topic(other)
    config = bench.config(upstream, **more)
    topic_source(config, topic, group=name, **(members or {}))
    return topic, config


def ended(gateway, count, **members):
    gateway.wait_until(
        lambda: len(gateway.find_log("message", **members)) >= count,
        f"{count} messages {members}")


def wait_committed(topic, offsets):
    eventually(lambda: topic.committed() == offsets,
               f"{offsets} is committed")


@test
def a_message_is_executed_once_and_committed(bench):
    upstream = bench.upstream()
    topic, config = begin(bench, upstream, "once")
    gateway = bench.serve(config)
    partition, offset = topic.add({"amount": 5}, idempotency_key="k1")
    message = gateway.wait_for_log("message", outcome="executed")
    equal(message["position"].split("@")[0], f"once/{partition}/{offset}")
    wait_committed(topic, {0: 1})
    request, = upstream.requests
    equal((request.method, request.target, request.body),
          ("POST", "/v1/charges", b'{"amount": 5}'))


@test
def a_result_and_a_dead_letter_are_in_the_messages_own_transaction(bench):
    def script(connection, request):
        bad = json.loads(request.body)["n"] == 2
        connection.send(answer(422 if bad else 201, b'{"id":"ch"}'))
    upstream = bench.upstream(script)
    topic, config = begin(
        bench, upstream, "puts", {"results": {"topic": "puts.done"}},
        puts=["puts.done", "puts.dead"])
    gateway = bench.serve(config)
    topic.add({"n": 1}, key="a")
    topic.add({"n": 2}, key="b", headers=[("x", b"\xff\x00"), ("y", None)])
    ended(gateway, 2)
    wait_committed(topic, {0: 2})
    done, = bench.kafka.consume("puts.done")
    equal((done.key, done.value, done.header("onceproxy-status"),
           done.header("onceproxy-source"),
           done.header("onceproxy-position").split("@")[0]),
          (b"a", b'{"id":"ch"}', "201", "charges", "puts/0/0"))
    dead, = bench.kafka.consume("puts.dead")
    equal((dead.key, json.loads(dead.value), dead.headers[:2],
           dead.header("onceproxy-reason"), dead.header("onceproxy-status")),
          (b"b", {"n": 2}, [("x", b"\xff\x00"), ("y", None)],
           "refused", "422"))


@test
def a_gateway_killed_in_the_middle_leaves_the_message(bench):
    upstream = bench.upstream()
    topic, config = begin(
        bench, upstream, "killed",
        {"hold": "1h", "results": {"topic": "killed.done"}},
        puts=["killed.done"], idempotency={"lease": "1s"})
    gateway = bench.serve(config)
    topic.add({"n": 1}, idempotency_key="first")
    ended(gateway, 1, outcome="executed")
    hold = upstream.hold()
    topic.add({"n": 2}, idempotency_key="second")
    hold.wait_arrived()
    gateway.kill()
    hold.release()
    second = bench.serve(gateway.config)
    second.wait_for_log("message_held", source="charges")
    equal(topic.committed(), {0: 1})
    equal(upstream.count(), 2)
    equal(len(bench.kafka.consume("killed.done")), 1)


@test
def what_is_finished_above_the_first_unfinished_is_skipped(bench):
    def script(connection, request):
        if json.loads(request.body)["n"] == 1:
            close_unanswered(connection, request)
        else:
            connection.send(answer(201, b"{}"))
    upstream = bench.upstream(script)
    topic, config = begin(bench, upstream, "map", {"hold": "1h"})
    gateway = bench.serve(config)
    topic.add_all([{"n": n} for n in range(20)])
    ended(gateway, 19, outcome="executed")
    eventually(lambda: re.search(r":1\+12$", topic.kafka.committed(
        "map", "map").get(0, (0, ""))[1]), "the map is committed")
    equal(topic.committed(), {0: 1})
    gateway.stop()
    second = bench.serve(gateway.config)
    second.wait_for_log("message_held", source="charges")
    topic.add({"n": 20})
    ended(second, 1, outcome="executed")
    equal(second.find_log("message", outcome="duplicate"), [])
    equal(upstream.count(), 21)


@test
def two_gateways_share_the_partitions(bench):
    upstream = bench.upstream()
    topic, config = begin(bench, upstream, "shared", partitions=4)
    first = bench.serve({**config, "instance": "one"})
    topic.kafka.wait_members("shared", 1)
    second = bench.serve({**config, "instance": "two"})
    topic.kafka.wait_members("shared", 2)
    for n in range(40):
        topic.add({"n": n}, key=str(n))
    eventually(
        lambda: len(first.find_log("message", outcome="executed")) +
        len(second.find_log("message", outcome="executed")) == 40,
        "40 are executed")
    equal(upstream.count(), 40)
    equal(bool(first.find_log("message")), True)
    equal(bool(second.find_log("message")), True)


if is_without("kafka"):
    print("1..0 # SKIP built without Kafka")
else:
    tap.main()
