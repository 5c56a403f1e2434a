# SPDX-License-Identifier: BSD-2-Clause
"""A topic takes no message above its max.message.bytes, and none of those that
come to it together where they are above it together: only what is too large by
itself stays behind.  Skipped where there is no Kafka (contrib/check
--kafka)."""

import itertools

from once import tap
from once.admin import Admin
from once.kafka import START_S
from once.kafka_topic import Beside, Topic
from once.raw import memory
from once.relays import TopicLedger, topic_relay
from once.tap import equal, test
from once.upstream import answer
from once.wait import eventually

MOST = 20000  # bytes of what the topic of results takes
NUMBERS = itertools.count()


class Reader:
    """A gateway that reads a topic, and answers by key."""

    def __init__(self, bench, **members):
        self.kafka, self.of, self.gateways = bench.kafka, {}, []
        self.upstream = bench.upstream(self.reply)
        self.topic = Topic(self.kafka, f"sizes-{next(NUMBERS)}")
        self.beside = Beside(self.topic, self.gateways)
        self.small = self.kafka.topic(
            f"{self.topic.name}.small", max_message_bytes=MOST)
        config = bench.config(self.upstream, admin={"listen": "127.0.0.1:0"})
        self.topic.source(
            config, results={"topic": self.small}, **members)
        self.gateway = bench.serve(config)
        self.gateways.append(self.gateway)
        self.admin = Admin(self.gateway)

    def reply(self, connection, request):
        said = self.of.get(request.get("Idempotency-Key"), answer())
        if said.startswith(b"HTTP/1.1 503"):
            self.beside.execute()
        connection.send(said)

    def results(self):
        found = (r.header("onceproxy-position").split("@")[0]
                 for r in self.kafka.consume(self.small))
        return sorted(position for position in found
                      if position.startswith(f"{self.topic.name}/"))

    def wait_results(self, *offsets):
        wanted = sorted(f"{self.topic.name}/0/{n}" for n in offsets)
        eventually(lambda: self.results() == wanted,
                   f"results of {wanted}", START_S)

    def dead(self):
        return self.admin.get("/messages?source=charges&state=dead")[
            "messages"]


@test
def results_that_are_too_large_only_together_are_all_put(bench):
    r = Reader(bench)
    count = 60
    for number in range(count):
        r.of[f"k{number}"] = answer(201, b"x" * 5000)
    r.topic.add_all([f"k{number}" for number in range(count)])
    r.wait_results(*range(count))
    r.topic.wait_finished(START_S)
    equal(r.gateway.find_log("source_stands"), [])


@test
def a_result_that_is_too_large_is_the_one_that_stays_behind(bench):
    r = Reader(bench)
    r.of["large"] = answer(201, b"x" * 2 * MOST)
    r.topic.add_all(["large", "one", "two", "three"])
    told = r.gateway.wait_for_log(
        "message_result_too_large", timeout=START_S)
    assert "Message size too large" in told["error"], told
    r.wait_results(1, 2, 3)
    equal(r.upstream.count(), 4)
    equal(r.gateway.find_log("source_stands"), [])


@test
def it_keeps_no_replay_from_its_end(bench):
    r = Reader(bench, retry={"first": "10ms", "most": "20ms", "attempts": 1})
    r.of["bad"] = answer(503)
    r.of["large"] = answer(201, b"x" * 2 * MOST)
    r.topic.add(b"{}", "bad")
    bad, = eventually(r.dead, "a dead letter", START_S)
    r.topic.add(b"{}", "large")
    r.gateway.wait_for_log("message_result_too_large", timeout=START_S)
    r.of["bad"] = answer()
    got = r.admin.post(f"/messages/{bad['id']}/replay", {"note": "n"})
    equal(got.status, 202, got.body)
    r.wait_results(0)
    eventually(lambda: r.dead() == [], "it is no dead letter", START_S)


@test
def memory_is_bounded_however_much_waits(bench):
    """Of what waits, the library has as much as a few requests bring."""
    count, size = 60, 900_000
    upstream = bench.upstream()
    topic = Topic(bench.kafka, f"sizes-{next(NUMBERS)}", 2)
    config = bench.config(upstream, {"max_request_body": "1MiB"},
                          limits={"in_flight_bytes": "4MiB"}, workers=1)
    gateway = bench.serve(topic.source(config))
    topic.add(b"{}", "first")
    gateway.wait_for_log("message", outcome="executed", timeout=START_S)
    before, _ = memory(gateway.pid)
    hold = upstream.hold()
    body = b'"' + b"x" * (size - 2) + b'"'
    for number in range(count):
        topic.add(body, f"k{number}", partition=number % 2)
    gateway.wait_for_log("source_stands", reason="memory", timeout=START_S)
    hold.wait_arrived()
    eventually(lambda: upstream.count() > 1, "some are sent", START_S)
    _, most = memory(gateway.pid)
    assert most - before < 16 << 20, (before, most)
    assert upstream.count() < 6, upstream.count()
    hold.release()
    topic.wait_finished(START_S)
    _, most = memory(gateway.pid)
    assert most - before < 24 << 20, (before, most)
    equal(upstream.count(), count + 1)


@test
def an_event_goes_without_its_answer_only_where_that_is_too_large(bench):
    answers = [answer(201, b"x" * size) for size in (
        *[15000] * 6, 2 * MOST, *[15000] * 3)]
    given = iter(answers)
    upstream = bench.upstream(
        lambda connection, _request: connection.send(next(given)))
    redis = bench.own_redis("--appendonly", "yes")
    config = bench.config(upstream, redis=redis, store={"shards": 1},
                          admin={"listen": "127.0.0.1:0"})
    ledger = TopicLedger(bench.kafka, redis, 1, partitions=1,
                         max_message_bytes=MOST)
    topic_relay(config, ledger.kafka, ledger.place, answer=True)
    gateway = bench.serve(config)
    admin = Admin(gateway)
    equal(admin.post("/relays/ledger/pause", {"note": "n"}).status, 200)
    for number in range(len(answers)):
        equal(gateway.ask(f"k{number}").status, 201)
    equal(admin.post("/relays/ledger/resume", {"note": "n"}).status, 200)
    rows = [row for row in ledger.wait_whole() if row["to"] == "COMPLETED"]
    equal([row["answer"] is None for row in rows],
          [number == 6 for number in range(len(answers))])


tap.main()
