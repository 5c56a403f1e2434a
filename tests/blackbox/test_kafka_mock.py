# SPDX-License-Identifier: BSD-2-Clause
"""Messages of a pretended Kafka, whose partitions move: each is executed once,
none is forgotten, nobody waits for a call, and nothing is read ahead."""

import re
from datetime import datetime

from once import tap
from once.admin import Admin
from once.gateway import is_sanitized, is_without
from once.kafka_reader import MockReader, source_of, wait_partitions
from once.raw import memory
from once.tap import all_test, equal, test
from once.wait import eventually

KIB, MIB = 1 << 10, 1 << 20


# --- what is there is read ---------------------------------------------------

@test
def all_messages_of_one_fetch_come_and_are_committed(bench):
    """A wake tells of the first one alone."""
    r = MockReader(bench, in_flight=1000)
    keys = r.add(500)
    r.serve()
    r.wait_executed(500)
    r.wait_ended()
    r.each_once(keys)


@test
def what_comes_while_nothing_is_read_comes_later(bench):
    r = MockReader(bench, partitions=3, in_flight=2)
    hold = r.upstream.hold()
    r.reading()
    keys = r.add(30)
    hold.wait_arrived()
    hold.release()
    r.wait_ended()
    r.each_once(keys)


@test
def a_new_group_may_begin_with_what_is_added_from_then_on(bench):
    """And where it began is kept, though it has read nothing yet."""
    r = MockReader(bench, start="latest")
    r.add(10, "old")
    gateway = r.reading()
    r.wait_ended()  # where it begins is committed
    gateway.kill()
    keys = r.add(10, "meanwhile")
    r.serve()
    r.wait_ended()
    keys += r.add(10, "new")
    r.wait_ended()
    r.each_once(keys)


# --- back-pressure -----------------------------------------------------------

@test
def nothing_is_read_ahead_of_what_is_in_flight(bench):
    """In memory is what librdkafka may hold of each partition, and no more:
    the messages have twice as much."""
    partitions, waiting, body = 8, 3000, b'{"x":"%s"}' % (b"x" * 12 * KIB)
    r = MockReader(bench, partitions=partitions, in_flight=64, settings={
        "fetch.message.max.bytes": "65536"})  # else a fetch has all of it
    hold = r.upstream.hold()
    gateway = r.reading()
    keys = r.add(64, body=body)
    r.wait_executed(64)
    before = memory(gateway.pid)[0]
    keys += r.add(waiting, "waiting", body)
    eventually(lambda: memory(gateway.pid)[1] - before > partitions * MIB / 2,
               "it has read ahead")
    for _ in range(20):
        equal((len(r.upstream.requests), len(claimed(gateway)),
               source_of(gateway)["in_flight"]), (64, 64, 64))
    most = memory(gateway.pid)[1]
    tap.comment(f"{before >> 10} KiB, and {most >> 10} KiB with "
                f"{waiting * len(body) >> 10} KiB waiting")
    if not is_sanitized():  # which keeps what was freed
        assert most - before < waiting * len(body) // 2, (before, most)
    hold.release()
    r.wait_ended()
    r.each_once(keys)


def claimed(gateway):
    return gateway.find_log("step", step="CLAIM")


# --- members join and leave --------------------------------------------------

STATE = re.compile(r"changed join state ([\w-]+) -> ([\w-]+)")
OURS = ("wait-unassign-call", "wait-assign-call")  # the library waits for us
MOST_S = 10  # and the calls are held for longer


def moment(event):
    return datetime.fromisoformat(event["ts"].replace("Z", "+00:00"))


def waited_s(gateway, since):
    """How long the library waited for the gateway, while partitions were taken
    and given; by the states that it was in since then."""
    total, came, states = 0, None, []
    for event in gateway.find_log("source_library", since):
        found = STATE.search(event["message"])
        if found is None:
            continue
        if came is not None and found[1] in OURS:
            total += (moment(event) - came).total_seconds()
        came = moment(event)
        states.append(found[2])
    assert set(OURS) <= set(states), states
    return total


@test
def nobody_waits_for_a_call_when_partitions_move(bench):
    r = MockReader(bench, partitions=4, settings={"debug": "cgrp"})
    one = r.reading("one")
    hold = r.upstream.hold()
    keys = r.add(8)
    r.wait_executed(8)
    since = len(one.events)
    two = r.serve("two")
    wait_partitions(one, 2, since)
    wait_partitions(two, 2)
    took = waited_s(one, since)
    tap.comment(f"{1000 * took:.0f} ms")
    assert took < MOST_S, took
    for gateway in (one, two):  # all are in flight, and the first one has some
        eventually(lambda g=gateway: source_of(g)["in_flight"] == 4,
                   "what it was given is in flight")
    keys += r.add(8, "later")
    hold.release()
    r.wait_ended()
    r.each_once(keys)
    eventually(lambda: sum(len(g.find_log("message"))
                           for g in (one, two)) == 16, "all are told")
    assert two.find_log("message", outcome="executed")


def rebalances(gateway):
    name = 'onceproxy_source_rebalances_total{source="charges"} '
    text = Admin(gateway).send("GET", "/metrics").body.decode()
    found, = [line for line in text.splitlines() if line.startswith(name)]
    return int(found[len(name):])


@test
def rebalances_are_counted(bench):
    r = MockReader(bench, partitions=2)
    one = r.reading("one")
    alone = rebalances(one)
    assert alone > 0
    two = r.serve("two")
    wait_partitions(two, 1)
    eventually(lambda: rebalances(one) > alone, "it has given one up")
    assert rebalances(two) > 0
    since, shared = len(one.events), rebalances(one)
    two.stop()
    wait_partitions(one, 2, since)
    eventually(lambda: rebalances(one) > shared, "it has it again")


@all_test
def a_frozen_gateway_is_thrown_out_and_comes_back(bench):
    """What it had in flight is executed once, and it does not commit over the
    other one."""
    r = MockReader(bench, partitions=2)
    one = r.reading("one")
    hold = r.upstream.hold()
    keys = r.add(4)
    r.wait_executed(4)
    one.freeze()
    two = r.reading("two")
    hold.release()
    keys += r.add(20, "later")
    since = len(one.events)
    r.wait_executed(20)
    one.thaw()
    wait_partitions(one, 1, since)
    r.wait_ended()
    r.each_once(keys)
    for gateway in (one, two):
        equal(gateway.find_log("source_lost"), [])


if is_without("kafka"):
    print("1..0 # SKIP built without Kafka")
else:
    tap.main()
