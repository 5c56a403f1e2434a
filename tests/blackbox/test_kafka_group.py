# SPDX-License-Identifier: BSD-2-Clause
"""Members of a real Kafka's group: a session is so long in these tests that
whoever has to wait for the end of one is late.  Skipped where there is no Kafka
(contrib/check --all)."""

import itertools
import json
import signal
import time
from collections import Counter

from once import tap
from once.admin import Admin
from once.gateway import command, write
from once.kafka import START_S, confluent_kafka
from once.kafka_topic import Topic
from once.tap import each, equal, long_test, test
from once.wait import eventually

NUMBERS = itertools.count()
LONG = {"session.timeout.ms": "60000"}


def topic_of(kafka, partitions=1):
    return Topic(kafka, f"members-{next(NUMBERS)}", partitions)


def config_of(bench, upstream, topic, instance, **members):
    return topic.source(
        bench.config(upstream, instance=instance), settings=LONG,
        results={"topic": topic.results}, **members)


def wait_executed(upstream, keys):
    """Waits until those are executed, and nothing twice."""
    wanted = Counter(keys)

    def executed():
        return Counter(r.get("Idempotency-Key") for r in upstream.requests)
    upstream.wait_until(lambda: not wanted - executed(), f"{keys}", START_S)
    equal(executed(), wanted)


@test
def who_drains_gives_its_partitions_to_others_at_once(bench):
    upstream, topic = bench.upstream(), topic_of(bench.kafka)
    first = bench.serve(config_of(bench, upstream, topic, "one"))
    topic.add(b"{}", "a")
    wait_executed(upstream, ["a"])
    first.stop()
    equal(topic.kafka.group(topic.group)[1], [])
    bench.serve(config_of(bench, upstream, topic, "two"))
    topic.add(b"{}", "b")
    wait_executed(upstream, ["a", "b"])


@test
def two_gateways_of_one_instance_share_a_group(bench):
    upstream, topic = bench.upstream(), topic_of(bench.kafka, 2)
    first = bench.serve(config_of(bench, upstream, topic, "one"))
    topic.kafka.wait_members(topic.group, 1)
    second = bench.serve(config_of(bench, upstream, topic, "one"))
    topic.kafka.wait_members(topic.group, 2, START_S)
    keys = [f"k{n}" for n in range(100)]
    topic.add_all(keys)
    wait_executed(upstream, keys)
    topic.wait_finished(START_S)
    equal(len(topic.result_keys()), 100)
    for gateway in (first, second):
        gateway.wait_for_log("message")
        equal(gateway.find_log("source_broker_down"), [])


@test
def a_reload_leaves_no_member_behind(bench):
    upstream, topic = bench.upstream(), topic_of(bench.kafka, 2)
    gateway = bench.serve(config_of(bench, upstream, topic, "one"))
    keys = []
    for turn in range(5):
        new = [f"k{turn}.{n}" for n in range(20)]
        topic.add_all(new)
        keys += new
        config = gateway.config
        config["sources"]["charges"]["in_flight"] = 20 + turn
        write(gateway.file, config)
        gateway.signal(signal.SIGHUP)
        wait_executed(upstream, keys)
    topic.wait_finished(START_S)
    topic.kafka.wait_members(topic.group, 1)


def take_topic(gateway, topic):
    """The configuration with another topic."""
    config = gateway.config
    config["sources"]["charges"]["topics"] = [topic.name]
    return config


@test
def other_topics_are_read_after_a_reload(bench):
    upstream = bench.upstream()
    old, new = topic_of(bench.kafka), topic_of(bench.kafka, 3)
    gateway = bench.serve(config_of(bench, upstream, old, "one"))
    old.add(b"{}", "a")
    wait_executed(upstream, ["a"])
    write(gateway.file, take_topic(gateway, new))
    gateway.signal(signal.SIGHUP)
    new.add_all(["b", "c", "d"])
    wait_executed(upstream, ["a", "b", "c", "d"])


def source_of(gateway):
    found, = Admin(gateway).get("/sources")["sources"]
    return found


def others_of(gateway):
    """What doctor says of those who are in the group besides."""
    found, = (f for f in json.loads(command(
        "doctor", "-c", gateway.file, "--json").stdout)["findings"]
        if f["name"] == "source_others")
    return found


@test
def members_that_share_in_another_way_are_told_until_they_leave(bench):
    upstream, topic = bench.upstream(), topic_of(bench.kafka)
    other = confluent_kafka.Consumer(topic.kafka.settings(
        group_id=topic.group, auto_offset_reset="earliest",
        enable_auto_commit=False,
        partition_assignment_strategy="cooperative-sticky"))
    other.subscribe([topic.name])
    eventually(lambda: other.poll(0.1) is None and other.assignment(),
               "it has the partition", START_S)
    gateway = bench.serve({
        **config_of(bench, upstream, topic, "one"),
        "admin": {"listen": "127.0.0.1:0"}})
    line = gateway.wait_for_log("source_stands", timeout=START_S)
    equal(line["reason"], "broker")
    for word in (topic.group, '"range"', "another group"):
        assert word in line["error"], line
    equal(source_of(gateway)["standing"], "broker")
    found = others_of(gateway)
    equal((found["level"], found["where"]), ("fail", "/sources/charges"))
    assert f"{topic.group}, by cooperative-sticky" in found["words"], found
    topic.add(b"{}", "a")
    other.close()
    gateway.wait_for_log("source_goes", reason="broker", timeout=START_S)
    wait_executed(upstream, ["a"])
    equal(source_of(gateway)["standing"], None)
    equal(len(gateway.find_log("source_refused")), 1)
    equal(len(gateway.find_log("source_accepted")), 1)
    equal(gateway.find_log("source_broker_down"), [])


@each([("as they name themselves", {}),
       ("as the file names them", {"client.id": "shop"})])
def a_member_that_is_no_gateway_is_told(bench, names):
    """It shares as gateways do, and is given some of the partitions."""
    upstream, topic = bench.upstream(), topic_of(bench.kafka, 2)
    config = config_of(bench, upstream, topic, "one")
    config["brokers"]["events"]["settings"].update(names)
    gateway = bench.serve(config)
    topic.kafka.wait_members(topic.group, 1)
    equal(others_of(gateway)["level"], "ok")
    other = confluent_kafka.Consumer(topic.kafka.settings(
        group_id=topic.group, client_id="billing", enable_auto_commit=False))
    other.subscribe([topic.name])
    eventually(lambda: other.poll(0.1) is None and other.assignment(),
               "it has a partition", START_S)
    found = others_of(gateway)
    equal(found["level"], "fail")
    assert f'{topic.group}, "billing" of ' in found["words"], found
    other.close()
    equal(others_of(gateway)["level"], "ok")


@long_test
def a_broker_that_is_away_for_long_ends_nothing(bench):
    upstream, kafka = bench.upstream(), bench.own_kafka()
    topic = topic_of(kafka, 2)
    gateway = bench.serve(config_of(bench, upstream, topic, "one"))
    topic.add_all(["a", "b"])
    wait_executed(upstream, ["a", "b"])
    kafka.kill()
    gone = time.monotonic()
    gateway.wait_for_log("source_broker_down", timeout=START_S)
    # Longer than whatever the library waits for.
    eventually(lambda: time.monotonic() > gone + 65, "a minute", 70)
    assert gateway.running(), "it has ended"
    equal(gateway.ask("by-http", body=b"{}").status, 201)
    kafka.start()
    topic.add_all(["c", "d"])
    wait_executed(upstream, ["a", "b", "by-http", "c", "d"])
    topic.wait_finished(START_S)
    gateway.stop()


@long_test
def nodes_that_are_restarted_one_by_one_lose_nothing(bench):
    upstream, kafka = bench.upstream(), bench.own_kafka(3)
    topic = topic_of(kafka, 3)
    gateways = [bench.serve(config_of(bench, upstream, topic, instance))
                for instance in ("one", "two")]
    keys = []
    for turn, node in enumerate(kafka.nodes):
        new = [f"k{turn}.{n}" for n in range(60)]
        topic.add_all(new)
        keys += new
        node.stop()
        wait_executed(upstream, keys)
        node.start()
    topic.wait_finished(START_S)
    positions = Counter(r.header("onceproxy-position")
                        for r in kafka.consume(topic.results))
    equal((len(positions), set(positions.values())), (180, {1}))
    for gateway in gateways:
        gateway.stop()


@test
def a_gateway_drains_while_its_broker_is_away(bench):
    upstream, kafka = bench.upstream(), bench.own_kafka()
    topic = topic_of(kafka)
    gateway = bench.serve(config_of(bench, upstream, topic, "one"))
    topic.add(b"{}", "a")
    wait_executed(upstream, ["a"])
    kafka.kill()
    gateway.wait_for_log("source_broker_down", timeout=START_S)
    gateway.stop()


def leave_open(topic, name):
    """A transaction under that name, with a position of the group in it, as a
    gateway leaves it that is killed; the caller keeps what is returned."""
    producer = confluent_kafka.Producer(topic.kafka.settings(
        transactional_id=name, transaction_timeout_ms=600000))
    producer.init_transactions(START_S)
    reader = confluent_kafka.Consumer(topic.kafka.settings(
        group_id=topic.group))
    producer.begin_transaction()
    producer.produce(topic.results, b"open")
    producer.flush(START_S)
    producer.send_offsets_to_transaction(
        [confluent_kafka.TopicPartition(topic.name, 0, 1)],
        reader.consumer_group_metadata())
    return producer, reader


@test
def who_died_in_a_transaction_ends_it_when_it_comes_back(bench):
    upstream, topic = bench.upstream(), topic_of(bench.kafka)
    kept = leave_open(topic, topic.transactional_id())
    bench.serve(config_of(bench, upstream, topic, "one"))
    topic.add(b"{}", "a")
    wait_executed(upstream, ["a"])
    topic.wait_finished(START_S)
    equal([r.value for r in topic.kafka.consume(topic.results)],
          [b'{"id":"ch_1"}'])
    assert kept


tap.main()
