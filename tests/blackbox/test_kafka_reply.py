# SPDX-License-Identifier: BSD-2-Clause
"""Kafka does what a transaction asks, and its reply never comes: to a gateway
that is killed meanwhile, or whose connection is cut.  Each message was executed
once, and who reads what is committed sees one result, one dead letter, one
event of each.  Skipped where there is no Kafka (contrib/check --all)."""

import itertools
from collections import Counter

from once import tap
from once.kafka import START_S
from once.kafka_topic import Topic
from once.relays import TopicLedger, topic_relay
from once.tap import each, equal
from once.upstream import answer
from once.wait import eventually

NUMBERS = itertools.count()


class Reader:
    """A topic of which each second message is refused."""

    def __init__(self, bench):
        self.bench, self.kafka = bench, bench.cut_kafka
        self.upstream = bench.upstream(self.reply)
        self.topic = Topic(self.kafka, f"reply-{next(NUMBERS)}")
        self.config = bench.config(
            self.upstream, instance="one",
            admin={"listen": "127.0.0.1:0"})
        self.topic.source(self.config, results={"topic": self.topic.results})
        self.config["brokers"]["events"]["kafka"] = [self.kafka.door]
        self.keys = []

    @staticmethod
    def reply(connection, request):
        refused = request.get("Idempotency-Key").endswith("-refused")
        connection.send(answer(422 if refused else 201))

    def serve(self):
        return self.bench.serve(self.config)

    def add(self, word):
        keys = [f"{word}-{end}" for end in ("done", "refused")]
        self.keys += keys
        self.kafka.produce_all(self.topic.name, [
            self.topic.message(b"{}", key, order=key.encode())
            for key in keys])

    def wait_each_once(self):
        self.topic.wait_finished(START_S)
        equal(Counter(r.get("Idempotency-Key")
                      for r in self.upstream.requests), Counter(self.keys))
        results, dead = self.topic.ended()
        for records, end in ((results, "-done"), (dead, "-refused")):
            equal(Counter(r.key.decode() for r in records),
                  Counter(k for k in self.keys if k.endswith(end)))
            equal([r.header("onceproxy-duplicate") for r in records],
                  [None] * len(records))


def is_cut(kafka, gateway, serve):
    kafka.cut()
    return gateway


def is_killed(kafka, gateway, serve):
    gateway.kill()
    kafka.cut()
    return serve()


LOST = [(f"{request} and {how}", request, act) for request in (
    "InitProducerId", "AddPartitionsToTxn", "Produce", "AddOffsetsToTxn",
    "TxnOffsetCommit", "EndTxn") for how, act in (
        ("the connection is cut", is_cut), ("the gateway killed", is_killed))]


@each(LOST)
def each_message_ends_once_where_a_reply_is_lost(bench, request, happens):
    r = Reader(bench)
    if request != "InitProducerId":
        gateway = r.serve()
        r.add("first")
        r.wait_each_once()
        r.kafka.keep_reply(request)
    else:
        r.kafka.keep_reply(request)
        gateway = r.serve()
    r.add("lost")
    r.kafka.wait_kept()
    happens(r.kafka, gateway, r.serve)
    r.add("last")
    r.wait_each_once()


@each(LOST)
def each_event_is_brought_once_where_a_reply_is_lost(bench, request, happens):
    kafka = bench.cut_kafka
    config = bench.config(bench.upstream(), instance="one",
                          admin={"listen": "127.0.0.1:0"})
    ledger = TopicLedger(kafka, bench.own_redis(), 1)
    config["store"].update({"shards": 1, "redis": ledger.redis.url})
    topic_relay(config, kafka, ledger.place)
    config["brokers"]["events"]["kafka"] = [kafka.door]

    def serve():
        return bench.serve(config)
    if request == "InitProducerId":
        kafka.keep_reply(request)
    gateway = serve()
    if request != "InitProducerId":
        equal(gateway.ask("first").status, 201)
        ledger.wait_whole()
        kafka.keep_reply(request)
    equal(gateway.ask("lost").status, 201)
    kafka.wait_kept()
    gateway = happens(kafka, gateway, serve)
    equal(gateway.ask("last").status, 201)
    ledger.wait_whole()
    eventually(lambda: gateway.find_log("relay_up"), "it is up", START_S)


tap.main()
