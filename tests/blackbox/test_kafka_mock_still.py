# SPDX-License-Identifier: BSD-2-Clause
"""Partitions of a pretended Kafka that the library stops reading, without a
word: they are read again, and each message is executed once."""

from once import tap
from once.gateway import is_without
from once.kafka_reader import LONG_S, MockReader, source_of
from once.one_thread import stopped, threads
from once.tap import equal, test

FORBIDDEN = 29  # TOPIC_AUTHORIZATION_FAILED
# The session is that of the client that was left: this Kafka knows no names of
# members, so its group waits for it.
SETTINGS = {"debug": "topic,metadata", "session.timeout.ms": "6000",
            "topic.metadata.refresh.interval.ms": "140",
            "enable.sparse.connections": "false"}


def said(gateway, since, *words):
    """How often it said one of them."""
    return sum(any(one in e["message"] for one in words)
               for e in gateway.find_log("source_library", since))


def wait_said(gateway, since, *words, count=1):
    gateway.wait_until(lambda: said(gateway, since, *words) >= count,
                       words[0], LONG_S)


def reader(bench):
    """Each node leads a partition.  Who leads is asked of the node that was
    sent something last, so of the second one soon after the first one's thread
    stands: its own partition is asked for all the time."""
    r = MockReader(bench, nodes=2, partitions=2, settings=SETTINGS)
    for partition, node in ((0, 1), (1, 2)):
        r.kafka.move_leader(r.topic.name, partition, node)
    r.kafka.move_coordinator(r.topic.group, 2)
    return r


def move_there_and_back(r, gateway):
    """The leader, before the thread of its node has given the partition up.
    True: it went to the other node then, and stays there."""
    name, stays = r.topic.name, "leader 1 unchanged, not migrating away"
    # As librdkafka 2.0 has it, and as 2.8 does.
    leader = (f"Topic {name} partition 0 Leader 1",
              f"Topic {name} [0] Leader 1")
    with stopped(threads(gateway.pid, "rdk:broker1")):
        # What this thread asked last was there before this, and is answered
        # before the move: else it would tell of the other leader later.
        r.kafka.wait_partitions(name, r.topic.partitions)
        since = len(gateway.events)
        r.kafka.move_leader(name, 0, 2)
        wait_said(gateway, since, "migrating from broker 1 to 2")
        since = len(gateway.events)
        r.kafka.move_leader(name, 0, 1)
        # The second time, what was read the first time has been done.
        wait_said(gateway, since, *leader, count=2)
        since = len(gateway.events)
    gateway.wait_until(lambda: said(gateway, since, stays) >= 5 or
                       said(gateway, since, *leader) >= 100, stays, LONG_S)
    return said(gateway, since, stays) >= 5


def leave_behind(r, gateway):
    """Once more where the library goes back: it lets a partition stay with
    another node than the leader for five minutes, and may take them as over
    when it counts them for the first time."""
    wait_said(gateway, 0, f"{r.kafka.addresses[1]}/2: ===== Received")
    assert any(move_there_and_back(r, gateway) for _ in range(20))


@test
def a_partition_that_the_library_left_behind_is_read_again(bench):
    """Although nobody tells the end of another one; and what is being executed
    meanwhile is not executed again."""
    r = reader(bench)
    gateway = r.reading()
    keys = r.add(10)
    r.wait_executed(10)
    hold = r.upstream.hold()
    keys += r.add(6, "held")
    r.wait_executed(16)
    r.kafka.fail_at(2, "ListOffsets", *[(FORBIDDEN, 0)] * 40)
    leave_behind(r, gateway)
    keys += r.add(10, "later")
    found = gateway.wait_for_log("source_opened_again", timeout=4 * LONG_S)
    equal((found["partition"], found["offset"], found["end"]),
          (f"{r.topic.name}/0", 8, 13))
    hold.release()
    r.wait_executed(26)
    r.wait_ended()
    r.each_once(keys)
    equal(source_of(gateway)["standing"], None)


if is_without("kafka"):
    print("1..0 # SKIP built without Kafka")
else:
    tap.main()
