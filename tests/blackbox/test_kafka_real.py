# SPDX-License-Identifier: BSD-2-Clause
"""Messages of a real Kafka: each is executed once, and has one result for who
reads only what is committed, whatever happens to gateways and brokers.
Skipped where there is no Kafka (contrib/check --all)."""

import itertools
import json
import signal
import threading
from collections import Counter

from once import tap
from once.kafka import START_S, confluent_kafka
from once.kafka_topic import Topic
from once.tap import each, equal, long_test, test
from once.upstream import answer
from once.wait import eventually

NUMBERS = itertools.count()


def topic_of(kafka, partitions=1, **settings):
    """A topic that no other test uses."""
    return Topic(kafka, f"charges-{next(NUMBERS)}", partitions, **settings)


def results(topic):
    return {"results": {"topic": topic.results}}


class Reader:
    """A topic, and gateways that read it."""

    def __init__(self, bench, kafka=None, partitions=1, reply=None,
                 members=None, idempotency=None, with_results=True, **more):
        self.bench, self.more, self.idempotency = bench, more, idempotency
        self.upstream = bench.upstream(reply)
        self.kafka = kafka or bench.kafka
        self.topic = topic_of(self.kafka, partitions)
        self.members = {**(results(self.topic) if with_results else {}),
                        **(members or {})}
        self.gateways = []

    def config(self, instance, settings=None):
        config = self.bench.config(
            self.upstream, self.idempotency, instance=instance,
            admin={"listen": "127.0.0.1:0"}, **self.more)
        return self.topic.source(config, settings=settings,
                                 **json.loads(json.dumps(self.members)))

    def serve(self, instance="one", settings=None):
        gateway = self.bench.serve(self.config(instance, settings))
        self.gateways.append(gateway)
        return gateway

    def executions(self):
        """How often each key was executed."""
        return Counter(r.get("Idempotency-Key")
                       for r in self.upstream.requests)

    def wait_executed(self, count):
        self.upstream.wait_until(
            lambda: len(self.upstream.requests) >= count,
            f"{count} executions", START_S)

    def wait_ended(self):
        """Waits until each message is acknowledged, and no transaction is
        open any more."""
        self.topic.wait_finished(START_S)

    def each_once(self, keys):
        """Executed once, and one result of each message; the number of
        results."""
        equal(self.executions(), Counter(keys))
        found = Counter(r.header("onceproxy-position") for r in
                        self.kafka.consume(self.topic.results))
        equal({p: n for p, n in found.items() if n > 1}, {})
        return len(found)


def keys_of(count, word="k"):
    return [f"{word}{number}" for number in range(count)]


# --- what happens to a message -----------------------------------------------

@test
def a_message_is_executed_once_and_acknowledged(bench):
    r = Reader(bench, with_results=False)
    gateway = r.serve()
    r.topic.add(b'{"amount":5}', "k1", order=b"account")
    gateway.wait_for_log("message", outcome="executed")
    r.wait_ended()
    request, = r.upstream.requests
    equal((request.method, request.target, request.body,
           request.get("Idempotency-Key"), request.get("Content-Type")),
          ("POST", "/v1/charges", b'{"amount":5}', "k1", "application/json"))
    equal(r.topic.ended(committed=False), ([], []))


@test
def the_same_key_by_http_and_by_message_is_one_execution(bench):
    r = Reader(bench)
    gateway = r.serve()
    equal(gateway.ask("k", body=b"{}").status, 201)
    r.topic.add(b"{}", "k")
    gateway.wait_for_log("message", outcome="duplicate")
    r.topic.add(b"{}", "m")
    gateway.wait_for_log("message", outcome="executed")
    again = gateway.ask("m", body=b"{}")
    equal((again.status, again.replayed), (201, True))
    equal(r.executions(), Counter(["k", "m"]))
    r.wait_ended()


@test
def a_result_has_the_answer_and_says_whose_it_is(bench):
    r = Reader(bench, reply=answer(201, b'{"id":"ch_7"}', [
        ("Content-Type", "application/json")]))
    gateway = r.serve()
    r.topic.add(b"{}", "k", order=b"account-1")
    done = gateway.wait_for_log("message", outcome="executed")
    r.topic.add(b"{}", "k", order=b"account-1")
    gateway.wait_for_log("message", outcome="duplicate")
    r.wait_ended()
    first, second = r.kafka.consume(r.topic.results)
    equal((first.value, first.header("content-type"),
           first.header("onceproxy-status"), first.header("onceproxy-key-id"),
           first.header("onceproxy-attempt"),
           first.header("onceproxy-source"),
           first.header("onceproxy-duplicate")),
          (b'{"id":"ch_7"}', "application/json", "201", done["key_id"], "1",
           "charges", None))
    assert first.header("onceproxy-position"), first
    equal((second.value, second.header("onceproxy-duplicate")),
          (b'{"id":"ch_7"}', "true"))
    equal((first.key, second.key), (b"account-1", b"account-1"))


@test
def a_refusal_is_a_dead_letter_with_headers_that_say_why(bench):
    r = Reader(bench, reply=answer(422, b'{"no":"money"}'))
    gateway = r.serve()
    r.topic.add(b'{"amount":5}', "k", order=b"account-1",
                headers=[("trace", b"t1"), ("odd", b"\xff\x00")])
    done = gateway.wait_for_log("message", outcome="refused")
    r.wait_ended()
    ended, (dead,) = r.topic.ended()
    equal(ended, [])
    equal((dead.key, dead.value), (b"account-1", b'{"amount":5}'))
    for name, value in (("trace", b"t1"), ("odd", b"\xff\x00"),
                        ("idempotency-key", b"k")):
        equal([v for n, v in dead.headers if n == name], [value], name)
    equal([dead.header(f"onceproxy-{name}") for name in (
        "reason", "status", "key-id", "attempt", "source", "answer")],
        ["refused", "422", done["key_id"], "1", "charges",
         '{"no":"money"}'])
    assert dead.header("onceproxy-position"), dead
    assert dead.header("onceproxy-first"), dead


@test
def what_a_producer_has_aborted_is_never_executed(bench):
    r = Reader(bench)
    gateway = r.serve()
    producer = confluent_kafka.Producer(r.kafka.settings(
        transactional_id=f"producer-{r.topic.name}"))
    producer.init_transactions(START_S)
    for key, end in (("aborted", producer.abort_transaction),
                     ("committed", producer.commit_transaction)):
        producer.begin_transaction()
        value, members = r.topic.message(b"{}", key)
        producer.produce(r.topic.name, value, **members)
        producer.flush(START_S)
        end(START_S)
    gateway.wait_for_log("message", outcome="executed")
    r.topic.add(b"{}", "last")
    r.wait_executed(2)
    equal(r.executions(), Counter(["committed", "last"]))
    r.wait_ended()


@test
def messages_of_one_key_are_executed_one_after_the_other(bench):
    r = Reader(bench, partitions=2,
               members={"order_by": "key", "behind": "go-on"})
    r.serve()
    hold = r.upstream.hold()
    for number in range(4):
        r.topic.add(b"{}", f"a{number}", order=b"a")
        r.topic.add(b"{}", f"b{number}", order=b"b")
    r.wait_executed(2)
    equal(r.executions(), Counter(["a0", "b0"]))
    hold.release()
    r.wait_executed(8)
    order = [q.get("Idempotency-Key") for q in r.upstream.requests]
    for lane in "ab":
        equal([k for k in order if k[0] == lane], keys_of(4, lane))
    r.wait_ended()


@test
def a_call_that_takes_longer_than_a_poll_may_moves_nothing(bench):
    r = Reader(bench)
    gateway = r.serve(settings={"max.poll.interval.ms": "3000"})
    r.kafka.wait_members(r.topic.group, 1)
    over = threading.Event()
    bench.upstreams.append(Ending(over))

    def slow(connection, _request):
        over.wait(7)
        connection.send(answer())
    r.upstream.reply = slow
    r.topic.add(b"{}", "k")
    gateway.wait_for_log("message", outcome="executed")
    r.wait_ended()
    r.each_once(["k"])
    equal(gateway.find_log("source_stands"), [])


class Ending:
    """Sets an event when the test is over."""

    def __init__(self, event):
        self.stop = event.set


# --- who reads dies or is joined ---------------------------------------------

@each([("with results", True), ("without results", False)])
def a_gateway_killed_before_its_acknowledgement_executed_for_all(
        bench, with_results):
    r = Reader(bench, with_results=with_results)
    first = r.serve()
    r.topic.add(b"{}", "before")
    first.wait_for_log("message")
    hold = r.upstream.hold()
    r.topic.add(b"{}", "k")
    hold.wait_arrived()
    # Its outcome is stored, and the broker cannot hear of it.
    r.kafka.freeze()
    hold.release()
    eventually(lambda: first.ask("k", body=b"{}").status == 201,
               "its answer is stored")
    first.kill()
    r.kafka.thaw()
    second = r.serve("two")
    second.wait_for_log("message", outcome="duplicate", timeout=START_S)
    r.wait_ended()
    equal(r.executions(), Counter(["before", "k"]))
    equal(len(r.kafka.consume(r.topic.results)), 2 * with_results)


@test
def a_gateway_killed_while_it_executes_leaves_the_message(bench):
    r = Reader(bench, members={"hold": "1h"}, idempotency={"lease": "1s"})
    first = r.serve()
    hold = r.upstream.hold()
    r.topic.add(b"{}", "k")
    hold.wait_arrived()
    first.kill()
    hold.release()
    second = r.serve()
    second.wait_for_log("message_held", source="charges", timeout=START_S)
    equal(r.topic.unfinished(), 1)
    equal(r.executions(), Counter(["k"]))
    equal(r.topic.ended(committed=False), ([], []))


@test
def two_gateways_share_a_group_and_take_over_from_each_other(bench):
    r = Reader(bench, partitions=6)
    first = r.serve("one")
    keys = keys_of(1200)
    r.topic.add_all(keys[:300])
    r.wait_executed(10)
    r.serve("two")
    r.topic.add_all(keys[300:600])
    r.kafka.wait_members(r.topic.group, 2)
    r.topic.add_all(keys[600:900])
    first.stop()
    r.topic.add_all(keys[900:])
    r.wait_executed(1200)
    r.wait_ended()
    equal(r.each_once(keys), 1200)
    equal(len(r.topic.result_keys()), len(set(r.topic.result_keys())))


@test
def gateways_that_come_and_go_execute_nothing_twice(bench):
    r = Reader(bench, partitions=4)
    r.upstream.reply = quick
    keys, added = keys_of(1500), 0
    gateways = [r.serve("one"), r.serve("two")]
    for turn in range(5):
        r.topic.add_all(keys[added:added + 300])
        added += 300
        r.wait_executed(added - 200)
        number = turn % 2
        if turn % 3 == 0:
            gateways[number].stop()
        else:
            gateways[number].freeze()
        gateways.append(r.serve(f"other-{turn}"))
        if turn % 3:
            wait_without(r, ("one", "two")[number])
            gateways[number].thaw()
        else:
            gateways[number] = r.serve(("one", "two")[number])
    r.wait_ended()
    r.each_once(keys)


def wait_without(r, instance):
    """Waits until others have all partitions.  What that one has in flight may
    be held meanwhile."""
    def taken():
        state, members = r.kafka.group(r.topic.group)
        return state == "Stable" and f"onceproxy-charges-{instance}" not in [
            name for name, _ in members]
    eventually(taken, "others take over", START_S)


def quick(connection, _request):
    connection.send(answer())


@test
def a_drain_gives_everything_back_and_loses_nothing(bench):
    r = Reader(bench)
    first = r.serve()
    hold, keys = r.upstream.hold(), keys_of(20)
    r.topic.add_all(keys)
    r.wait_executed(20)
    first.signal(signal.SIGTERM)
    first.wait_for_log("draining")
    second = r.serve("two")
    hold.release()
    equal(first.wait(), 0)
    second.wait_until(lambda: len(second.find_log("message")) == 20,
                      "all are acknowledged", START_S)
    r.wait_ended()
    equal(r.each_once(keys), 20)


@test
def a_producer_that_is_fenced_puts_nothing_twice(bench):
    r = Reader(bench)
    first = r.serve()
    r.topic.add(b"{}", "before")
    first.wait_for_log("message", outcome="executed")
    hold = r.upstream.hold()
    r.topic.add_all(keys_of(5))
    r.wait_executed(6)
    thief = confluent_kafka.Producer(r.kafka.settings(
        transactional_id=r.topic.transactional_id()))
    thief.init_transactions(START_S)
    hold.release()
    r.wait_ended()
    r.topic.add(b"{}", "after")
    r.wait_executed(7)
    r.wait_ended()
    equal(r.each_once(["before", "after", *keys_of(5)]), 7)
    equal(len(r.topic.result_keys()), 7)


# --- the group, the topic ----------------------------------------------------

@test
def a_new_partition_is_read_from_its_beginning(bench):
    r = Reader(bench)
    r.serve()
    r.topic.add(b"{}", "a")
    r.wait_executed(1)
    r.kafka.more_partitions(r.topic.name, 2)
    r.topic.partitions = 2
    r.topic.add(b"{}", "b", partition=1)
    r.wait_executed(2)
    r.wait_ended()
    r.each_once(["a", "b"])


# --- brokers that die --------------------------------------------------------

@test
def a_broker_that_is_killed_and_comes_back_loses_nothing(bench):
    r = Reader(bench, bench.own_kafka(), 2)
    gateway, keys = r.serve(), keys_of(300)
    r.topic.add_all(keys[:200])
    r.wait_executed(50)
    r.kafka.kill()
    gateway.wait_for_log("source_stands", reason="broker", timeout=START_S)
    r.kafka.start()
    r.topic.add_all(keys[200:])
    r.wait_executed(300)
    r.wait_ended()
    equal(r.each_once(keys), 300)
    equal(len(r.topic.result_keys()), 300)


@long_test
def a_leader_and_a_coordinator_that_die_are_replaced(bench):
    r = Reader(bench, bench.own_kafka(3), 2)
    keys, added = keys_of(400), 0
    r.serve("one")
    r.serve("two")
    for find in (lambda: r.kafka.leader(r.topic.name),
                 lambda: r.kafka.coordinator(r.topic.group)):
        r.topic.add_all(keys[added:added + 200])
        added += 200
        r.wait_executed(added - 150)
        node = find()
        node.kill()
        r.wait_executed(added)
        r.wait_ended()
        node.start()
    equal(r.each_once(keys), 400)
    equal(len(r.topic.result_keys()), 400)


@test
def a_broker_that_is_away_keeps_the_gateway_from_nothing_else(bench):
    r = Reader(bench, bench.own_kafka())
    r.kafka.kill()
    gateway = r.serve()
    equal(gateway.ask("by-http", body=b"{}").status, 201)
    gateway.wait_for_log("source_stands", reason="broker", timeout=START_S)
    r.kafka.start()
    r.topic.add(b"{}", "k")
    gateway.wait_for_log("message", outcome="executed", timeout=START_S)
    r.wait_ended()
    equal(r.executions(), Counter(["by-http", "k"]))


tap.main()
