# SPDX-License-Identifier: BSD-2-Clause
"""Results in Kafka's transactions: each message has one, marked only where
there may be another, whatever becomes of a transaction.  Skipped where there is
no Kafka (contrib/check --all)."""

import itertools
import signal
import time
from collections import Counter

from once import tap
from once.kafka import START_S, confluent_kafka
from once.kafka_topic import Topic
from once.tap import each, equal, long_test, test
from once.upstream import answer
from once.wait import PATIENCE, eventually

NUMBERS = itertools.count()


class Reader:
    """A topic with results, and a gateway that reads it."""

    def __init__(self, bench, kafka=None, partitions=1, settings=None,
                 topic=None, **members):
        self.bench, self.members, self.settings = bench, members, settings
        self.kafka = kafka or bench.kafka
        self.upstream = bench.upstream()
        self.topic = Topic(self.kafka, f"results-{next(NUMBERS)}",
                           partitions, **(topic or {}))
        self.gateway = self.serve()

    def serve(self, instance="one", **members):
        config = self.bench.config(self.upstream, instance=instance)
        self.gateway = self.bench.serve(self.topic.source(
            config, settings=self.settings,
            results={"topic": self.topic.results},
            **{**self.members, **members}))
        return self.gateway

    def set_back(self):
        """The group, of which nobody is there any more."""
        self.gateway.stop()
        self.kafka.wait_members(self.topic.group, 0)
        self.topic.reset(0)

    def wait_executed(self, count):
        self.upstream.wait_until(
            lambda: len(self.upstream.requests) >= count,
            f"{count} executions", START_S)

    def marks(self):
        """By the key of each result's message, whether each is marked."""
        found = {}
        for result in self.kafka.consume(self.topic.results):
            found.setdefault(result.key.decode(), []).append(
                result.header("onceproxy-duplicate"))
        return found

    def once_each(self, keys):
        """Executed once each, and one unmarked result of each."""
        self.topic.wait_finished(START_S)
        equal(Counter(r.get("Idempotency-Key")
                      for r in self.upstream.requests), Counter(keys))
        equal(self.marks(), {key: [None] for key in keys})


def keys_of(count, word="k"):
    return [f"{word}{number}" for number in range(count)]


def add_all(topic, keys):
    topic.kafka.produce_all(topic.name, [
        topic.message(b"{}", key, number % topic.partitions,
                      order=key.encode())
        for number, key in enumerate(keys)])


# --- the mark ----------------------------------------------------------------

@test
def what_another_message_or_a_client_executed_is_marked(bench):
    r = Reader(bench)
    equal(r.gateway.ask("http", body=b"{}").status, 201)
    add_all(r.topic, ["k", "http"])
    r.wait_executed(2)
    r.topic.wait_finished(START_S)
    add_all(r.topic, ["k"])
    r.topic.wait_finished(START_S)
    equal(r.marks(), {"k": [None, "true"], "http": ["true"]})


@test
def a_result_that_died_with_its_gateway_comes_unmarked(bench):
    r = Reader(bench)
    hold, keys = r.upstream.hold(), keys_of(5)
    add_all(r.topic, keys)
    r.wait_executed(5)
    r.kafka.freeze()
    hold.release()
    for key in keys:
        eventually(lambda key=key: r.gateway.ask(
            key, body=b"{}").status == 201, "its answer is stored")
    r.gateway.kill()
    r.kafka.thaw()
    r.serve("two").wait_for_log(
        "message", outcome="duplicate", timeout=START_S)
    r.once_each(keys)


def finished_above_one(bench, keys, below=("below",)):
    """A reader that has finished all of them, which stand above a message that
    is not finished; and one below, so that there is a floor."""
    r = Reader(bench, retry={
        "first": "100ms", "most": "200ms", "attempts": 1000})

    def reply(connection, request):
        is_stuck = request.get("Idempotency-Key") == "stuck"
        connection.send(answer(503 if is_stuck else 201))
    r.upstream.reply = reply
    add_all(r.topic, [*below, "stuck", *keys])
    eventually(lambda: len(r.marks()) == len(below) + len(keys),
               "the others' results", START_S)
    return r


@each([("was set back", lambda r: r.topic.reset(0)),
       ("was deleted", lambda r: r.kafka.delete_group(r.topic.group)),
       ("is another one", lambda r: setattr(
           r.topic, "group", r.topic.group + ".another"))])
def nothing_is_given_again_of_a_group_that(bench, happens):
    """Nor what stands above a message that is not finished."""
    keys = keys_of(5)
    r = finished_above_one(bench, keys)
    r.gateway.stop()
    r.kafka.wait_members(r.topic.group, 0)
    happens(r)
    r.upstream.reply = answer()
    r.serve()
    r.topic.wait_finished(START_S)
    equal(r.marks(), {k: [None] for k in ("below", "stuck", *keys)})


@test
def what_was_there_when_a_group_was_set_back_comes_marked(bench):
    """Though its result died with its gateway: nobody knows."""
    keys, others = keys_of(5), keys_of(5, "later")
    r = finished_above_one(bench, keys)
    r.set_back()
    add_all(r.topic, others)
    hold = r.upstream.hold()
    r.serve("two")
    eventually(lambda: {q.get("Idempotency-Key") for q in r.upstream.requests}
               >= set(others), "they are executed", START_S)
    r.kafka.freeze()
    hold.release()
    for key in others:
        eventually(lambda key=key: r.gateway.ask(
            key, body=b"{}").status == 201, "its answer is stored")
    r.gateway.kill()
    r.kafka.thaw()
    r.upstream.reply = answer()
    r.serve("three")
    r.topic.wait_finished(START_S)
    marks = r.marks()
    equal({key: marks[key] for key in others}, {k: ["true"] for k in others})


@test
def a_transaction_that_another_producer_aborts_is_made_again(bench):
    r = Reader(bench)
    keys = []
    for number in range(3):
        some = keys_of(5, f"turn{number}-")
        keys += some
        hold = r.upstream.hold()
        add_all(r.topic, some)
        r.wait_executed(len(keys))
        thief = confluent_kafka.Producer(r.kafka.settings(
            transactional_id=r.topic.transactional_id()))
        thief.init_transactions(START_S)
        hold.release()
        r.once_each(keys)
    equal(r.gateway.find_log("source_broker_down"), [])
    equal(r.gateway.find_log("source_stands"), [])


@long_test
def a_transaction_that_has_timed_out_is_made_again(bench):
    r = Reader(bench, bench.own_kafka(), settings={
        "socket.timeout.ms": "60000", "message.timeout.ms": "60000"})
    keys = keys_of(5)
    add_all(r.topic, ["first"])
    r.once_each(["first"])
    hold = r.upstream.hold()
    add_all(r.topic, keys)
    r.wait_executed(6)
    r.kafka.freeze()
    hold.release()
    r.gateway.wait_for_log("source_stands", timeout=START_S)
    r.kafka.thaw()
    eventually(lambda: len(r.gateway.find_log("message")) == 6,
               "all are acknowledged", START_S)
    r.once_each(["first", *keys])


@test
def only_the_result_that_is_not_taken_keeps_its_message(bench):
    r = Reader(bench, topic={"max_message_bytes": 20000})
    keys = keys_of(20)

    def reply(connection, request):
        large = request.get("Idempotency-Key") == "k7"
        connection.send(answer(200, b"x" * (50000 if large else 3)))
    r.upstream.reply = reply
    add_all(r.topic, keys)
    told = r.gateway.wait_for_log(
        "message_result_too_large", timeout=START_S)
    assert r.topic.results in told["error"], told
    eventually(lambda: len(r.marks()) == 19, "all others", START_S)
    equal(r.topic.unfinished() > 0, True)
    equal(len(r.upstream.requests), 20)


# --- speed -------------------------------------------------------------------

TENTH_S = 0.1  # what a transaction waits for others' results


def clocked(upstream):
    """A list that gets the moment of each request."""
    moments = []

    def reply(connection, _request):
        moments.append(time.monotonic())
        connection.send(answer())
    upstream.reply = reply
    return moments


def quick_s(moments):
    """The time between two of them, than which nine in ten are longer: a
    machine may be slow, but whoever waits for a clock is never quick."""
    gaps = sorted(b - a for a, b in zip(moments, moments[1:]))
    return gaps[len(gaps) // 10]


@test
def what_waits_for_its_transaction_is_not_in_flight(bench):
    r = Reader(bench, in_flight=1)
    moments, keys = clocked(r.upstream), keys_of(100)
    add_all(r.topic, keys)
    r.wait_executed(100)
    r.once_each(keys)
    assert quick_s(moments) < TENTH_S / 2, quick_s(moments)


@each([("by key", "key"), ("by partition", "partition")])
def an_order_waits_for_no_tenth_of_a_second(bench, order_by):
    r = Reader(bench, order_by=order_by, behind="go-on")
    moments, keys = clocked(r.upstream), keys_of(100)
    r.kafka.produce_all(r.topic.name, [
        r.topic.message(b"{}", key, order=b"one") for key in keys])
    r.wait_executed(100)
    r.topic.wait_finished(START_S)
    equal([q.get("Idempotency-Key") for q in r.upstream.requests], keys)
    positions = [int(q.header("onceproxy-position").split("/")[-1]
                     .split("@")[0])
                 for q in r.kafka.consume(r.topic.results)]
    equal(positions, list(range(100)))
    assert quick_s(moments) < TENTH_S, quick_s(moments)


# --- the end -----------------------------------------------------------------

@test
def a_gateway_that_ends_does_not_wait_for_a_broker_that_is_away(bench):
    r = Reader(bench, bench.own_kafka())
    hold, keys = r.upstream.hold(), keys_of(5)
    add_all(r.topic, keys)
    r.wait_executed(5)
    r.kafka.freeze()
    hold.release()
    for key in keys:
        eventually(lambda key=key: r.gateway.ask(
            key, body=b"{}").status == 201, "its answer is stored")
    r.gateway.signal(signal.SIGTERM)
    equal(r.gateway.wait(3 * PATIENCE), 0)
    r.kafka.thaw()
    r.serve("two")
    r.once_each(keys)


tap.main()
