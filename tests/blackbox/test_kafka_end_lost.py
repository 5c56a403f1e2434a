# SPDX-License-Identifier: BSD-2-Clause
"""A log that has lost its end, as after an unclean election or a disk that was
restored: what stands there since then is new, and what stands before it was
read, though nobody has a record of it any more.  Skipped where there is no
Kafka (contrib/check --all)."""

import time

from once import tap
from once.admin import Admin
from once.gateway import command
from once.kafka import START_S
from once.kafka_disk import LEFT, LOST, DiskReader, keys_of, read_all
from once.tap import each, equal, test
from once.upstream import answer, reset_unanswered
from once.wait import eventually

NOW_MS = int(time.time() * 1000)


@each([("of a group that stands there", False, 1, {}),
       ("beyond where the group stood", False, LOST + 2, {}),
       ("of a group that was forgotten", True, LOST + 2, {}),
       ("of messages with no other time", False, LOST + 2,
        {"timestamp": NOW_MS})])
def what_is_new_is_read_and_nothing_else(
        bench, is_forgotten, count, members):
    r = read_all(bench, **members)
    r.stop()
    r.restore()
    if is_forgotten:
        r.kafka.delete_group(r.topic.group)
    r.add(keys_of("new", count))
    r.serve()
    r.finished(keys_of("new", count))
    r.reads_on_behind(LEFT)
    # From then on it is read as any other.
    r.stop()
    r.serve()
    r.finish(["last"])
    equal(r.gateway.find_log("source_end_lost"), [])


@test
def nothing_stands_where_the_group_left_off(bench):
    """A marker is there, so that only what is before it tells."""
    r = read_all(bench)
    r.stop()
    r.restore()
    new = keys_of("new", LOST - 1)
    r.add_in_transaction(new)
    r.topic.add_all(["last"])
    r.serve()
    r.finished([*new, "last"])
    r.reads_on_behind(LEFT)


@test
def a_gateway_that_reads_meanwhile_reads_on(bench):
    r = read_all(bench)
    r.gateway.freeze()
    r.restore()
    r.topic.add_all(["new"])
    r.gateway.thaw()
    r.finished(["new"])
    r.reads_on_behind(LEFT)


@test
def what_was_finished_above_one_that_is_not_hides_nothing_new(bench):
    """All below it is what it was, and says nothing of what is behind it."""
    r = read_all(bench)
    left = LEFT + LOST + 1
    r.upstream.reply = reset_unanswered
    r.topic.add_all(["held"])
    r.gateway.wait_for_log("message_held", timeout=START_S)
    r.upstream.reply = answer()
    r.keep()
    above, new = keys_of("above", 8), keys_of("new", 20)

    def executed(keys):
        r.upstream.wait_until(
            lambda: all(r.upstream.count(key=key) for key in keys),
            f"{keys} are executed", START_S)
    r.topic.add_all(above)
    executed(above)
    eventually(lambda: ":1+8" in r.kafka.committed(
        r.topic.group, r.topic.name)[0][1], "that is committed", START_S)
    r.stop()
    r.restore(left)
    r.topic.add_all(new)
    r.serve()
    executed(new)
    r.reads_on_behind(left - 1)
    equal({r.upstream.count(key=key) for key in above + new}, {1})


@test
def where_nothing_that_was_read_is_known_to_be_left_an_operator_decides(
        bench):
    """Of what was read, the floor knows only what is gone."""
    r = read_all(bench)
    r.stop()
    r.restore()
    (name, floor), = r.topic.floors(r.redis).items()
    low, anchor, mark, older, cluster = floor.split()
    older = ",".join(older.split(",")[-2:])
    r.redis("HSET", r.topic.floors_key(r.redis), name,
            f"{low} {anchor} {mark} {older} {cluster}")
    r.add_in_transaction(keys_of("skipped", LOST - 1))
    r.topic.add_all(["new"])
    r.serve()
    told = r.gateway.wait_for_log("source_unproven", timeout=START_S)
    for word in (f"{r.topic.name}/0", f"below {LEFT + LOST}",
                 "messages rewind"):
        assert word in told["error"], told
    shown, = Admin(r.gateway).get("/sources")["sources"]
    equal(shown["parts_standing"], 1)
    equal(command("messages", "-c", r.gateway.file, "rewind",
                  r.topic.name).returncode, 0)
    r.finished(["new"])


# Nobody leaves the group meanwhile, so that nothing else asks.
PATIENT = {"session.timeout.ms": "60000", "debug": "metadata"}


def without_coordinator(kafka):
    """The other nodes: all groups of this Kafka have the same one."""
    stays = kafka.coordinator_number("any")
    return [n for n in kafka.nodes if n.number != stays]


def looked(gateway, since):
    """How often it has been told of a topic."""
    return sum("application requested =====" in line["message"]
               for line in gateway.find_log("source_library", since))


@each([("", False),
       ("and a marker stands where the last one stood", True)])
def a_leader_that_comes_back_without_the_end_is_noticed_while_others_answer(
        bench, is_marked):
    kafka = bench.own_kafka(3)
    r = DiskReader(bench, kafka=kafka, settings=PATIENT, topic={
        "nodes": [without_coordinator(kafka)[0].number],
        "min_insync_replicas": 1})
    r.node = without_coordinator(kafka)[0]
    r.serve()
    r.finish(keys_of("old", LEFT))
    r.keep()
    r.finish(keys_of("gone", LOST))
    r.node.stop()
    eventually(lambda: kafka.leader_number(r.topic.name) is None,
               "nobody leads it", START_S)
    # It looks at two topics, and may have begun to before that.
    since = len(r.gateway.events)
    r.gateway.wait_until(lambda: looked(r.gateway, since) >= 5,
                         "it has seen that", START_S)
    r.gateway.freeze()
    r.put_back()
    if not is_marked:
        r.reads_what_is_new(r.gateway.thaw)
        return
    # As of a message that was compacted away, there is nothing.
    marked = keys_of("marked", LOST - 1)
    r.add_in_transaction(marked)
    r.add(["new", "newer"])
    r.gateway.thaw()
    r.finished([*marked, "new", "newer"])
    r.reads_on_behind(LEFT)


@test
def another_leader_that_lacks_the_end_is_noticed_while_others_answer(bench):
    """An unclean election; the log is beyond where it was read when the
    gateway hears of it."""
    kafka = bench.own_kafka(3)
    first, other = without_coordinator(kafka)
    r = DiskReader(bench, kafka=kafka, settings=PATIENT, topic={
        "nodes": [first.number, other.number], "min_insync_replicas": 1,
        "unclean_leader_election_enable": "true"})
    r.serve()
    r.finish(keys_of("old", LEFT))
    other.kill()
    eventually(lambda: kafka.described(r.topic.name)[0].isrs
               == [first.number], "it is no replica in sync", START_S)
    r.finish(keys_of("gone", LOST))
    r.gateway.freeze()
    first.kill()
    other.start()
    eventually(lambda: kafka.leader_number(r.topic.name) == other.number,
               "it leads", START_S)
    r.reads_what_is_new(r.gateway.thaw)


@test
def a_source_that_begins_with_the_latest_knows_the_log_before_it_reads(bench):
    """What stood before it began is neither executed nor forgotten."""
    r = DiskReader(bench, "latest")
    r.add(keys_of("left", LEFT))
    r.keep()
    r.add(keys_of("gone", LOST))
    r.serve()
    eventually(lambda: r.topic.floors(r.redis), "where it began is kept",
               START_S)
    r.stop()
    r.restore()
    r.reads_what_is_new(r.serve)


tap.main()
