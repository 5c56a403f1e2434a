# SPDX-License-Identifier: BSD-2-Clause
"""Messages of a pretended Kafka whose nodes go away, come back, are slow and
lead in turn: each is executed once, and none is forgotten."""

import threading

from once import tap
from once.admin import Admin
from once.gateway import is_without
from once.kafka_reader import LONG_S, MockReader, source_of
from once.one_thread import threads
from once.tap import each, equal, test
from once.wait import eventually


def goes_on(r, gateway, keys):
    """What is added now is executed too; all of it once."""
    keys = keys + r.add(20, "after")
    r.wait_executed(len(keys))
    r.wait_ended()
    r.each_once(keys)
    eventually(lambda: source_of(gateway)["standing"] is None, "it reads",
               LONG_S)
    equal(gateway.find_log("source_lost"), [])


@test
def calls_end_while_the_broker_is_away(bench):
    r = MockReader(bench)
    gateway = r.reading()
    hold = r.upstream.hold()
    keys = r.add(10)
    r.wait_executed(10)
    r.kafka.down(1)
    gateway.wait_for_log("source_broker_down", timeout=LONG_S)
    hold.release()
    r.kafka.up(1)
    goes_on(r, gateway, keys)


@test
def a_gateway_starts_without_its_broker(bench):
    r = MockReader(bench)
    r.kafka.down(1)
    gateway = r.serve()
    gateway.wait_for_log("source_broker_down", timeout=LONG_S)
    equal(Admin(gateway).send("GET", "/readyz").status, 200)
    equal(gateway.ask("by-http").status, 201)
    r.kafka.up(1)
    goes_on(r, gateway, ["by-http"])


@test
def a_slow_broker_is_only_slow(bench):
    r = MockReader(bench, nodes=2, partitions=2)
    r.kafka.delay(1, 700)
    r.kafka.delay(2, 300)
    gateway = r.reading()
    keys = r.add(50)
    r.wait_ended()
    r.each_once(keys)
    equal(gateway.find_log("source_broker_down"), [])


@each([("first", 0), ("again", 10)])
def a_log_that_is_known_late_is_read_whole(bench, before):
    """The library asks for a place of its own meanwhile; it asks once more, and
    goes there, when it has begun to read where it was told to."""
    r = MockReader(bench, nodes=2, settings={"debug": "fetch"})
    r.kafka.move_leader(r.topic.name, 0, 1)
    r.kafka.move_coordinator(r.topic.group, 2)
    keys = r.add(before, "before")
    if before:
        gateway = r.reading()
        r.wait_ended()
        gateway.stop()
    keys += r.add(10)
    # Where it begins, where it ends; and what the library asks.
    r.kafka.fail_at(1, "ListOffsets", (0, 0), (0, 2500), (0, 3000))
    r.kafka.fail_at(1, "Fetch", (0, 4500))
    gateway = r.reading()
    gateway.wait_until(
        lambda: any("Fetch topic" in e["message"]
                    for e in gateway.find_log("source_library")), "it reads")
    keys += r.add(10, "meanwhile")
    goes_on(r, gateway, keys)
    equal(len(gateway.find_log("source_partitions")), 1)


@test
def leaders_and_the_coordinator_move(bench):
    """A partition may be left behind by the library then, and is read again
    (test_kafka_mock_still); this Kafka's group waits for the session of the
    client that was let go."""
    r = MockReader(bench, nodes=3, partitions=3,
                   settings={"session.timeout.ms": "6000"})
    gateway, keys = r.reading(), []
    for node in (1, 2, 3):
        keys += r.add(30, f"{node}-")
        for partition in range(3):
            r.kafka.move_leader(r.topic.name, partition, node)
        r.kafka.move_coordinator(r.topic.group, node)
        keys += r.add(30, f"{node}+")
    r.upstream.wait_for(len(keys), 2 * LONG_S)
    goes_on(r, gateway, keys)


@test
def a_restore_that_waits_for_a_node_keeps_nothing_else_waiting(bench):
    """What is finished meanwhile is committed."""
    r = MockReader(bench, nodes=2)
    r.kafka.move_leader(r.topic.name, 0, 1)
    r.kafka.move_leader(r.topic.dead, 0, 2)
    r.kafka.move_coordinator(r.topic.group, 1)
    gateway = r.reading()
    hold = r.upstream.hold()
    r.add(1)
    hold.wait_arrived()
    r.kafka.down(2)
    clients = len(threads(gateway.pid, "rdk:main"))
    restore = threading.Thread(target=Admin(gateway).send, args=(
        "POST", "/sources/charges/restore"))
    restore.start()
    eventually(lambda: len(threads(gateway.pid, "rdk:main")) > clients,
               "copies are read", LONG_S)
    hold.release()
    r.wait_ended()
    equal(gateway.find_log("source_not_restored"), [])
    gateway.wait_for_log("source_not_restored", timeout=LONG_S)
    restore.join()


if is_without("kafka"):
    print("1..0 # SKIP built without Kafka")
else:
    tap.main()
