# SPDX-License-Identifier: BSD-2-Clause
"""Messages of a pretended Kafka whose requests fail: each is executed once, and
none is forgotten."""

import re
from collections import Counter

from once import http, tap
from once.gateway import is_without
from once.kafka_mock import DISCONNECT
from once.kafka_reader import LONG_S, MockReader, wait_partitions
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

# Kafka's errors.
(UNKNOWN_TOPIC, NO_LEADER, NOT_LEADER, TIMED_OUT, LOADING, NO_COORDINATOR,
 NOT_COORDINATOR, OLD_GENERATION, UNKNOWN_MEMBER, REBALANCING) = (
     3, 5, 6, 7, 14, 15, 16, 22, 25, 27)
TOO_LARGE, NO_RIGHT, FENCED = 10, 29, 90
# Or librdkafka waits for half a second after each.
QUICK = {"fetch.error.backoff.ms": "20", "retry.backoff.ms": "20",
         "fetch.wait.max.ms": "20"}


FAILURES = [
    ("Fetch", [NOT_LEADER, DISCONNECT, UNKNOWN_TOPIC, TIMED_OUT, NO_LEADER]),
    ("OffsetCommit", [LOADING, NOT_COORDINATOR, REBALANCING, OLD_GENERATION,
                      UNKNOWN_MEMBER, DISCONNECT]),
    ("OffsetFetch", [LOADING, NOT_COORDINATOR, DISCONNECT]),
    ("Heartbeat", [REBALANCING, OLD_GENERATION, UNKNOWN_MEMBER, NOT_COORDINATOR,
                   NO_COORDINATOR, DISCONNECT]),
    ("FindCoordinator", [NO_COORDINATOR, DISCONNECT, NO_COORDINATOR]),
    ("JoinGroup", [LOADING, NOT_COORDINATOR, UNKNOWN_MEMBER, DISCONNECT]),
    ("SyncGroup", [REBALANCING, OLD_GENERATION, UNKNOWN_MEMBER, DISCONNECT]),
    ("Metadata", [NO_LEADER, DISCONNECT, UNKNOWN_TOPIC]),
    ("ListOffsets", [NOT_LEADER, NO_LEADER, DISCONNECT]),
]


@each([(name, name, errors) for name, errors in FAILURES])
def errors_lose_nothing_and_execute_nothing_twice(bench, name, errors):
    r = MockReader(bench, partitions=2, settings=QUICK)
    r.kafka.fail(name, *errors)
    one = r.serve("one")
    keys = r.add(100)
    r.wait_executed(100)
    r.kafka.fail(name, *errors)
    since = len(one.events)
    two = r.serve("two")  # so that all of them are asked again
    keys += r.add(100, "later")
    wait_partitions(one, 1, since)
    r.wait_executed(200)
    r.wait_ended()
    r.each_once(keys)
    for gateway in (one, two):
        equal(gateway.find_log("source_lost"), [])


@each([(name, name, errors) for name, errors in (
    ("Produce", [TIMED_OUT, NOT_LEADER]),
    ("InitProducerId", [NOT_COORDINATOR, LOADING]),
    ("AddPartitionsToTxn", [NOT_COORDINATOR, LOADING]),
    ("EndTxn", [NOT_COORDINATOR, LOADING, DISCONNECT]))])
def a_dead_letter_that_is_not_taken_is_put_again(bench, name, errors):
    r = MockReader(bench, reply=answer(422), settings=QUICK)
    r.kafka.fail(name, *errors)
    gateway = r.reading()
    keys = r.add(10)
    gateway.wait_until(
        lambda: len(gateway.find_log("message", outcome="refused")) == 10,
        "all are dead letters", LONG_S)
    r.each_once(keys)
    found = Counter(d.header("onceproxy-key-id")
                    for d in r.kafka.consume(r.topic.dead))
    equal(len(found), 10)


@test
def a_missing_right_keeps_its_name_while_offsets_are_on_their_way(bench):
    """librdkafka fails the offsets then, too: "Erroneous state"."""
    r = MockReader(bench, reply=answer(422), settings=QUICK)
    gateway = r.reading()

    def dead(count):
        gateway.wait_until(
            lambda: len(gateway.find_log("message", outcome="refused")) ==
            count, "so many are dead letters", LONG_S)

    keys = r.add(1)
    dead(1)
    # The offsets are asked for behind the partition, and answered behind it.
    r.kafka.fail_at(1, "AddPartitionsToTxn", (NO_RIGHT, 100))
    r.kafka.fail_at(1, "AddOffsetsToTxn", (LOADING, 0), (0, 200))
    keys += r.add(1, "later")
    dead(2)
    r.each_once(keys)
    stood = gateway.find_log("source_stands")
    equal([line["reason"] for line in stood], ["dead-letters"])
    assert f'no right to write to the topic "{r.topic.dead}": Write' in \
        stood[0]["error"], stood
    equal(gateway.find_log("source_broker_down"), [])


def transactions(gateway):
    text = http.ask(gateway.ready["admin"], http.build(
        "GET", "/metrics", host="localhost")).body.decode()
    return {result: int(count) for result, count in re.findall(
        r'^onceproxy_transactions_total\{source="\w+",result="(\w+)"\} '
        r"(\d+)$", text, re.M)}


@each([(result, result, name, errors) for result, name, errors in (
    ("aborted", "Produce", [TOO_LARGE]), ("fenced", "EndTxn", [FENCED]))])
def a_transaction_is_counted_as(bench, result, name, errors):
    """And so is the one in which all is put after that."""
    r = MockReader(bench, settings=QUICK, results={"topic": "results"})
    gateway = r.reading()
    none = dict.fromkeys(("committed", "aborted", "fenced", "unclear"), 0)
    equal(transactions(gateway), none)
    r.add(1)
    eventually(lambda: transactions(gateway) == {**none, "committed": 1},
               "one is committed", LONG_S)
    hold = r.upstream.hold()
    r.add(1, "later")
    hold.wait_arrived()
    r.kafka.fail(name, *errors)
    hold.release()
    eventually(lambda: transactions(gateway)["committed"] == 2,
               "another is committed", LONG_S)
    equal(transactions(gateway), {**none, "committed": 2, result: 1})


if is_without("kafka"):
    print("1..0 # SKIP built without Kafka")
else:
    tap.main()
