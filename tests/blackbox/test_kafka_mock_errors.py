# SPDX-License-Identifier: BSD-2-Clause
"""Messages of a pretended Kafka whose requests fail: each is executed once, and
none is forgotten."""

from collections import Counter

from once import tap
from once.gateway import is_without
from once.kafka_mock import DISCONNECT
from once.kafka_reader import LONG_S, MockReader, wait_partitions
from once.tap import each, equal
from once.upstream import answer

# Kafka's errors.
(UNKNOWN_TOPIC, NO_LEADER, NOT_LEADER, TIMED_OUT, LOADING, NO_COORDINATOR,
 NOT_COORDINATOR, OLD_GENERATION, UNKNOWN_MEMBER, REBALANCING) = (
     3, 5, 6, 7, 14, 15, 16, 22, 25, 27)
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


if is_without("kafka"):
    print("1..0 # SKIP built without Kafka")
else:
    tap.main()
