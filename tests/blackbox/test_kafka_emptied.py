# SPDX-License-Identifier: BSD-2-Clause
"""A log that has lost its end while Redis was emptied: of what was read only
the commit is known, and nothing has a record.  Whether the topic was made again
or lacks its end, nobody can tell, and what was executed must not be executed
again.  Skipped where there is no Kafka (contrib/check --all)."""

from once import tap
from once.admin import Admin
from once.gateway import command
from once.kafka import START_S
from once.kafka_disk import LEFT, LOST, DiskReader, keys_of, read_all
from once.tap import each, equal, test
from once.upstream import answer, reset_unanswered
from once.wait import eventually


def executed_keys(r):
    return [request.get("Idempotency-Key") for request in r.upstream.requests]


def stands(r):
    """Nothing is executed, and an operator is asked."""
    told = r.gateway.wait_for_log("source_unproven", timeout=START_S)
    for word in (f"{r.topic.name}/0", "lost its end", "no record",
                 "messages rewind"):
        assert word in told["error"], told
    equal(sorted(executed_keys(r)), sorted(r.executed))
    shown, = Admin(r.gateway).get("/sources")["sources"]
    equal(shown["parts_standing"], 1)


def lost_twice(bench):
    """All was finished; then went the log's end, and what Redis had."""
    r = read_all(bench)
    r.stop()
    r.restore()
    r.redis("FLUSHALL")
    return r


def rewind(r):
    equal(command("messages", "-c", r.gateway.file, "rewind",
                  r.topic.name).returncode, 0)


@each([("which ends before it", LOST - 1), ("which goes on beyond it", LOST)])
def what_was_executed_is_not_executed_again(bench, count):
    r = lost_twice(bench)
    new = keys_of("new", count)
    r.add(new)
    r.serve()
    stands(r)
    # That is so for whoever comes next, until somebody says otherwise.
    r.stop()
    r.serve()
    stands(r)
    r.stop()
    r.topic.reset(LEFT)
    r.serve()
    r.finished(new)


@test
def an_operator_may_have_all_of_it_read_again(bench):
    r = lost_twice(bench)
    r.serve()
    stands(r)
    rewind(r)
    r.finished(keys_of("old", LEFT))
    r.finish(["new"])


@test
def a_marker_in_the_place_of_the_last_one_proves_nothing(bench):
    """As of a message that was compacted away, there is nothing."""
    r = lost_twice(bench)
    r.add_in_transaction(keys_of("new", LOST - 1))
    r.topic.add_all(["last"])
    r.serve()
    stands(r)
    r.stop()
    r.topic.reset(LEFT)
    r.serve()
    r.finished([*keys_of("new", LOST - 1), "last"])


@test
def a_group_that_was_forgotten_meanwhile_decides_nothing(bench):
    r = lost_twice(bench)
    r.serve()
    stands(r)
    r.stop()
    r.kafka.delete_group(r.topic.group)
    r.serve()
    told = r.gateway.wait_for_log("source_unproven", timeout=START_S)
    assert "the group has forgotten" in told["error"], told
    equal(sorted(executed_keys(r)), sorted(r.executed))
    rewind(r)
    r.finished(keys_of("old", LEFT))


@test
def a_redis_that_is_emptied_once_more_decides_nothing(bench):
    r = lost_twice(bench)
    r.serve()
    stands(r)
    r.redis("FLUSHALL")
    eventually(lambda: r.topic.floors(r.redis), "it can be rewound again",
               START_S)
    equal(sorted(executed_keys(r)), sorted(r.executed))
    rewind(r)
    r.finished(keys_of("old", LEFT))


@test
def what_was_finished_above_one_that_is_not_is_not_executed_again(bench):
    """The last one below it is there, and the last one above it is not."""
    r = read_all(bench)
    r.upstream.reply = reset_unanswered
    r.topic.add_all(["held"])
    r.gateway.wait_for_log("message_held", timeout=START_S)
    r.upstream.reply = answer()
    above = keys_of("above", 4)
    r.topic.add_all(above)
    eventually(lambda: ":1+4" in r.kafka.committed(
        r.topic.group, r.topic.name)[0][1], "that is committed", START_S)
    r.keep()
    lost = keys_of("lost", 4)
    r.topic.add_all(lost)
    eventually(lambda: ":1+8" in r.kafka.committed(
        r.topic.group, r.topic.name)[0][1], "that is, too", START_S)
    r.executed = executed_keys(r)
    r.stop()
    r.restore(LEFT + LOST + 5)
    r.redis("FLUSHALL")
    r.serve()
    stands(r)


@test
def what_has_come_since_redis_was_emptied_is_known(bench):
    """That is still there, and all that has no record is before it."""
    r = read_all(bench)
    r.stop()
    r.redis("FLUSHALL")
    r.serve()
    r.finish(["kept"])
    r.keep()
    r.finish(["lost"])
    r.stop()
    r.restore(LEFT + LOST + 1)
    r.add(["new", "newer"])
    r.serve()
    r.finished(["new", "newer"])
    r.reads_on_behind(LEFT + LOST + 1)


@each([("when it is started", False), ("while it reads", True)])
def what_came_before_redis_was_emptied_is_not_executed_again(
        bench, is_frozen):
    """Nothing is left of what has a record."""
    r = read_all(bench)
    r.stop()
    r.redis("FLUSHALL")
    r.serve()
    r.finish(keys_of("since", 2))
    if is_frozen:
        r.gateway.freeze()
    else:
        r.stop()
    r.restore()
    if is_frozen:
        r.gateway.thaw()
    else:
        r.serve()
    stands(r)


@test
def a_log_with_nothing_before_the_first_one_is_read_from_there(bench):
    r = DiskReader(bench)
    r.keep()
    r.serve()
    r.finish(["first"])
    r.stop()
    r.restore(0)
    r.redis("FLUSHALL")
    r.add(["new", "newer"])
    r.serve()
    r.finished(["new", "newer"])


tap.main()
