# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 11, "Positions", of Kafka: what was finished is neither
read nor executed again, whatever becomes of the group; the last message that
was finished tells whether the log is still the one that was read; where it does
not, the partition stands until an operator has decided.  Skipped where there is
no Kafka (contrib/check --all)."""

import itertools
import json
import os
import time
from collections import Counter

from once import tap
from once.admin import Admin
from once.gateway import command
from once.kafka import START_S
from once.kafka_disk import LEFT, LOST, DiskReader, keys_of, read_all
from once.kafka_topic import Topic
from once.messages import Stream, source
from once.tap import each, equal, test
from once.upstream import Hold, answer, reset_unanswered
from once.wait import PATIENCE, eventually

NUMBERS = itertools.count()


class Reader:
    """A topic and gateways that read it; what they execute, by key."""

    def __init__(self, bench, partitions=1, redis=None, kafka=None,
                 **members):
        self.bench, self.redis = bench, redis or bench.redis
        self.kafka, self.members = kafka or bench.kafka, members
        self.more = {"redis": redis} if redis else {}
        self.holds, self.gateways = {}, []
        self.upstream = bench.upstream(self.reply)
        self.topic = Topic(
            self.kafka, f"positions-{next(NUMBERS)}", partitions)

    def reply(self, connection, request):
        key = request.get("Idempotency-Key")
        if key in self.holds:
            self.holds[key].wait()
        connection.send(answer(201))

    def serve(self, instance="one"):
        self.gateway = self.bench.serve(self.topic.source(
            self.bench.config(
                self.upstream, {"lease": "2s"}, instance=instance,
                admin={"listen": "unix:" + os.path.join(
                    self.bench.folder(), "admin")}, **self.more),
            self.topic.name, **self.members))
        self.gateways.append(self.gateway)
        return self.gateway

    def stop(self):
        self.gateway.stop()
        self.kafka.wait_members(self.topic.group, 0)

    def add(self, *keys):
        self.topic.add_all(keys)

    def finish(self, *keys):
        self.add(*keys)
        self.finished(*keys)

    def executions(self):
        return Counter(r.get("Idempotency-Key")
                       for r in self.upstream.requests)

    def wait_executed(self, *keys):
        self.upstream.wait_until(
            lambda: all(self.upstream.count(key=key) for key in keys),
            f"{keys} are executed", START_S)

    def finished(self, *keys):
        """These were executed once, and all that there is is finished."""
        self.wait_executed(*keys)
        self.topic.wait_finished(START_S)
        assert set(self.executions().values()) <= {1}, self.executions()
        eventually(lambda: self.kept_sum() == sum(
            end for _, end in self.kafka.ends(self.topic.name).values()),
            "the store has a copy of that")

    def kept_sum(self):
        return self.topic.kept_sum(self.redis)

    def forget_records(self):
        for name in self.redis("KEYS", "*:r:*"):
            self.redis("DEL", name)

    def told(self, event):
        return [e for gateway in self.gateways
                for e in gateway.find_log(event)]

    def lost(self):
        assert {e["how"] for e in self.told("source_lost")} <= {
            "trimmed-unread"}
        return sum(e["count"] for e in self.told("source_lost"))

    def operator(self, *args):
        return command("messages", "-c", self.gateway.file, *args)

    def decide(self, *args):
        done = self.operator(*args)
        equal((done.returncode, done.stderr), (0, ""))

    def stands(self, *words, parts=1):
        """Nothing is read of it, and an operator is asked."""
        told = self.gateway.wait_for_log("source_unproven", timeout=START_S)
        for word in (f"{self.topic.name}/", "messages resume",
                     "messages rewind", *words):
            assert word in told["error"], told
        admin = Admin(self.gateway)

        def shown():
            one, = admin.get("/sources")["sources"]
            return one["parts_standing"] == parts and one
        return eventually(shown, f"{parts} stand")

    def make_again(self):
        self.kafka.delete_topic(self.topic.name)
        self.kafka.topic(self.topic.name, self.topic.partitions)


def begun(bench, count=3, **more):
    """So many messages are finished, and the gateway has ended."""
    r = Reader(bench, **more)
    r.serve()
    r.finish(*keys_of("k", count))
    r.stop()
    return r


# --- what was finished is not executed again ---------------------------------

def forget_group(r):
    """As Kafka does with a group that was silent for a week."""
    r.kafka.delete_group(r.topic.group)


@each([("was set back", lambda r: r.topic.reset(0)),
       ("was deleted, or has expired", forget_group)])
def a_group_that(bench, happens):
    """... is read on where it was finished, and that is told."""
    r = begun(bench, 6, partitions=2)
    r.forget_records()
    happens(r)
    r.serve()
    told = r.gateway.wait_for_log("source_rewound", timeout=START_S)
    equal((told["partition"].rpartition("/")[0], told["to"]),
          (r.topic.name, 3))
    r.finish("last")
    equal(len(r.upstream.requests), 7)


@test
def what_is_finished_above_an_unfinished_one_is_not_looked_up_again(bench):
    r = Reader(bench)
    hold = r.holds["held"] = Hold()
    r.serve()
    above = keys_of("above", 9)
    r.add("held", *above)
    r.wait_executed(*above)
    hold.wait_arrived()
    eventually(lambda: ":1+9" in r.kafka.committed(
        r.topic.group, r.topic.name)[0][1], "that is committed", START_S)
    r.gateway.kill()
    r.forget_records()
    hold.release()
    del r.holds["held"]
    r.serve("two")
    r.gateway.wait_for_log("message", timeout=START_S)
    r.add("last")
    r.wait_executed("last")
    r.topic.wait_finished(START_S)
    # Of that one which was not finished nothing has a record any more.
    equal(r.executions(), Counter(["held", "held", *above, "last"]))


@test
def a_commit_says_whose_records_its_messages_have(bench):
    r = begun(bench)
    (offset, metadata), = r.kafka.committed(
        r.topic.group, r.topic.name).values()
    equal((offset, metadata[:3]), (3, "o2:"))
    store = metadata.split(":")[1]
    assert len(store) >= 22, metadata


@test
def a_group_that_was_set_ahead_is_told_with_what_it_left_out(bench):
    r = begun(bench)
    more = keys_of("more", 4)
    r.add(*more)
    r.topic.reset(5)
    r.serve()
    r.finished(*keys_of("k", 3), *more[2:])
    told, = r.told("source_set_ahead")
    equal((told["partition"], told["offset"], told["to"]),
          (f"{r.topic.name}/0", 3, 5))
    # Nothing is executed twice, and all of it once.
    r.decide("rewind", r.topic.name, f"{r.topic.name}/0")
    r.finished(*keys_of("k", 3), *more)


@test
def nothing_is_read_before_the_stores_copy_is_known(bench):
    r = begun(bench, redis=bench.own_redis())
    key, kept = r.topic.floors_key(r.redis), r.topic.floors(r.redis)
    r.redis("SET", key, "another's")
    r.topic.reset(0)
    r.forget_records()
    r.add("last")
    r.serve()
    stands = r.gateway.wait_for_log(
        "source_stands", reason="store", timeout=START_S)
    assert "WRONGTYPE" in stands["error"], stands
    equal(len(r.upstream.requests), 3)
    r.redis("DEL", key)
    r.redis("HSET", key, *itertools.chain(*kept.items()))
    r.finished(*keys_of("k", 3), "last")


def with_an_unkept_end(bench, **more):
    """A gateway that has just executed the last message."""
    r = Reader(bench, **more)
    r.serve()
    r.finish(*keys_of("k", 6))
    r.add("last")
    r.gateway.wait_until(lambda: len(r.gateway.find_log("message")) == 7,
                         "the last one ends", START_S)
    return r


@test
def who_is_stopped_keeps_a_copy_of_all_that_is_finished(bench):
    r = with_an_unkept_end(bench)
    r.gateway.stop()
    equal((r.kept_sum(), r.topic.unfinished()), (7, 0))


@test
def who_is_stopped_does_not_wait_long_for_a_redis_that_is_away(bench):
    r = with_an_unkept_end(bench, redis=bench.own_redis())
    r.redis.freeze()
    started = time.monotonic()
    r.gateway.stop()
    took = time.monotonic() - started
    r.redis.thaw()
    assert took < PATIENCE / 2, took
    assert r.kept_sum() in (6, 7)
    equal(r.topic.unfinished(), 0)


# --- a log that was trimmed is read on, and that is counted ------------------

@each([("in the middle of what is finished", 2, 0),
       ("where the group stands", 3, 0),
       ("in the middle of what is unread", 5, 2),
       ("at its end", 7, 4)])
def what_was_not_read_is_counted_of_a_log_that_was_trimmed(
        bench, offset, lost):
    r = begun(bench)
    more = keys_of("more", 4)
    r.add(*more)
    r.kafka.delete_before(r.topic.name, 0, offset)
    r.serve()
    r.add("last")
    r.finished(*keys_of("k", 3), *more[lost:], "last")
    equal((r.lost(), r.told("source_unproven")), (lost, []))
    # Nor is it told again by whoever reads next.
    r.stop()
    r.serve()
    r.finish("newer")
    equal(r.lost(), lost)


@each([("set back", lambda r: r.topic.reset(0)),
       ("forgotten", forget_group)])
def the_copy_tells_what_was_read_where_the_group_was(bench, happens):
    r = begun(bench)
    r.add(*keys_of("more", 4))
    r.kafka.delete_before(r.topic.name, 0, 5)
    happens(r)
    r.serve()
    r.add("last")
    r.finished(*keys_of("k", 3), "more2", "more3", "last")
    equal(r.lost(), 2)


@test
def a_log_that_is_trimmed_while_it_is_read_loses_each_once(bench):
    r = Reader(bench, in_flight=1)
    hold = r.holds["first"] = Hold()
    r.serve()
    r.add("first")
    hold.wait_arrived()
    # More than what may be read ahead.
    r.topic.add_all(keys_of("more", 3000), headers=[("large", bytes(4096))])
    end = r.kafka.ends(r.topic.name)[0][1]
    r.kafka.delete_before(r.topic.name, 0, end - 5)
    hold.release()
    r.add("last")
    r.wait_executed("last")
    r.topic.wait_finished(START_S)
    equal(set(r.executions().values()), {1})
    # What was read ahead is executed; all else is counted.
    equal(len(r.executions()) + r.lost(), end + 1)
    assert r.lost() > 0


@each([("in the middle of that", 0, 5), ("behind all of it", 0, 10),
       ("and something is below it", 3, 8)])
def what_is_finished_above_an_unfinished_one_is_not_lost(
        bench, before, offset):
    r = Reader(bench)
    r.members = {"results": {"topic": r.topic.results}}
    r.serve()
    below, keys = keys_of("below", before), keys_of("k", 10)
    r.add(*below)
    r.finished(*below)
    hold = r.holds["k0"] = Hold()
    r.add(*keys)
    hold.wait_arrived()
    eventually(lambda: len(r.topic.result_keys()) == before + 9,
               "all but the first have a result", START_S)
    r.gateway.kill()
    r.kafka.delete_before(r.topic.name, 0, offset)
    r.serve("two")
    hold.release()
    r.add("last")
    r.finished(*below, *keys, "last")
    equal(r.lost(), 1)
    equal(len(r.topic.result_keys()), before + 10)


# --- a hole is compaction only where the topic's cleanup.policy says so ------

# Each message is a segment, and all but the last are compacted at once.
QUICK = {"log_cleaner_backoff_ms": 100}
COMPACT = {"cleanup_policy": "compact", "segment_bytes": 150,
           "min_cleanable_dirty_ratio": "0.0"}


def compacted(bench):
    """The last one that is finished is compacted away; x.3 is unread."""
    r = Reader(bench, kafka=bench.own_kafka(**QUICK),
               redis=bench.own_redis())
    r.kafka.configure_topic(r.topic.name, **COMPACT)
    r.serve()

    def add(key):
        r.topic.add(b"{}", key, order=key.split(".")[0].encode())
    for key in ("z.0", "x.1", "x.2"):
        add(key)
    r.finished("z.0", "x.1", "x.2")
    r.stop()
    add("x.3")
    add("y.4")
    eventually(lambda: [m.offset for m in r.kafka.consume(r.topic.name)]
               == [0, 3, 4], "it is compacted", START_S)
    r.forget_records()
    return r


@test
def a_topic_whose_last_finished_message_was_compacted_away_is_read_on(bench):
    r = compacted(bench)
    r.serve()
    r.finished("z.0", "x.1", "x.2", "x.3", "y.4")
    equal(r.told("source_unproven"), [])


@test
def a_hole_in_a_topic_that_is_not_compacted_is_unproven(bench):
    r = compacted(bench)
    r.kafka.configure_topic(r.topic.name, cleanup_policy="delete")
    r.serve()
    r.stands("not compacted")
    r.decide("resume", r.topic.name, "--unproven", f"{r.topic.name}/0")
    r.finished("z.0", "x.1", "x.2", "x.3", "y.4")


# --- anything else is unproven -----------------------------------------------

@each([("is empty", 0, "ends before"), ("is shorter", 1, "ends before"),
       ("is as long", 3, "another message"),
       ("is longer", 6, "another message")])
def a_topic_that_was_made_again_stands_where_it(bench, count, word):
    r = begun(bench)
    r.make_again()
    new = keys_of("new", count)
    r.add(*new)
    r.serve()
    shown = r.stands("below 3", word)
    equal(shown["standing"], "unproven")
    r.decide("rewind", r.topic.name)
    r.gateway.wait_for_log("source_goes", reason="unproven", timeout=START_S)
    r.add("last")
    r.finished(*keys_of("k", 3), *new, "last")
    # From then on it is read as any other.
    r.stop()
    r.serve()
    r.finish("newer")
    equal((len(r.told("source_unproven")), r.told("source_lost")), (1, []))


@each([("with fewer messages", 2, False), ("with as many", 3, False),
       ("with more", 40, False),
       ("with more while nobody looked", 40, True)])
def one_that_is_made_again_while_it_is_read_is_noticed(
        bench, count, is_frozen):
    r = Reader(bench)
    gateway = r.serve()
    old, new = keys_of("k", 3), keys_of("new", count)
    r.finish(*old)
    if is_frozen:
        gateway.freeze()
    r.make_again()
    r.add(*new)
    gateway.thaw()
    r.stands()
    r.decide("rewind", r.topic.name)
    r.finished(*old, *new)
    equal(r.told("source_lost"), [])


@test
def one_that_is_made_again_before_its_first_commit_is_noticed(bench):
    """Nothing of it is finished; where it begins was committed."""
    r = Reader(bench)
    hold = r.holds["k0"] = Hold()
    gateway = r.serve()
    r.add(*keys_of("k", 1))
    hold.wait_arrived()
    gateway.freeze()
    r.make_again()
    new = keys_of("new", 20)
    r.add(*new)
    hold.release()
    gateway.thaw()
    r.wait_executed(*new[1:])
    # The one below it has no chance to be missed.
    eventually(lambda: r.upstream.count(key="new0") or
               gateway.find_log("source_unproven"), "it is noticed", START_S)
    if not r.upstream.count(key="new0"):
        r.decide("rewind", r.topic.name)
    r.finished("k0", *new)


def lost_end(bench, count, **members):
    """The log has lost its end, and has so many new messages."""
    r = read_all(bench, **members)
    r.stop()
    r.restore()
    r.add(keys_of("new", count))
    r.serve()
    told = r.gateway.wait_for_log("source_unproven", timeout=START_S)
    assert f"below {LEFT + LOST}" in told["error"], told
    return r


def decide(r, *args):
    done = command("messages", "-c", r.gateway.file, *args)
    equal((done.returncode, done.stderr), (0, ""))


@each([("ends before it", LOST - 1), ("goes on beyond it", LOST + 2)])
def a_log_that_has_lost_its_end_stands_though_it(bench, count):
    r = lost_end(bench, count)
    equal(len(r.upstream.requests), LEFT + LOST)
    # So it is for whoever comes next, until somebody says otherwise.
    r.stop()
    r.serve()
    r.gateway.wait_for_log("source_unproven", timeout=START_S)
    decide(r, "resume", r.topic.name, "--unproven", f"{r.topic.name}/0")
    r.gateway.wait_for_log("source_goes", reason="unproven", timeout=START_S)
    # Nothing before what was committed is executed.
    r.finished(keys_of("new", count)[LOST:])
    r.finish(["last"])


@test
def where_redis_was_emptied_the_commit_tells_what_was_finished(bench):
    """Once an operator has said that it may go on with that store."""
    r = read_all(bench)
    r.stop()
    r.redis("FLUSHALL")
    r.add(["new"])
    r.serve()
    stands = r.gateway.wait_for_log("source_stands", timeout=START_S)
    equal(stands["reason"], "unproven")
    equal(len(r.upstream.requests), LEFT + LOST)
    decide(r, "resume", r.topic.name, "--unproven")
    r.finished(["new"])
    equal(r.gateway.find_log("source_unproven"), [])
    r.stop()
    r.restore()
    r.redis("FLUSHALL")
    r.serve()
    r.gateway.wait_for_log("source_unproven", timeout=START_S)
    equal(len(r.upstream.requests), LEFT + LOST + 1)


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
    r.gateway.wait_for_log("source_unproven", timeout=START_S)
    decide(r, "resume", r.topic.name, "--unproven", f"{r.topic.name}/0")
    executed(new)


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


def noticed(r, begin):
    """The log goes beyond where it was read, and then is read."""
    r.add(keys_of("new", LOST + 2))
    begin()
    r.gateway.wait_for_log("source_unproven", timeout=2 * START_S)
    equal(len(r.upstream.requests), LEFT + LOST)


@test
def a_leader_that_comes_back_without_the_end_is_noticed(bench):
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
    noticed(r, r.gateway.thaw)


@test
def another_leader_that_lacks_the_end_is_noticed(bench):
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
    noticed(r, r.gateway.thaw)


# --- what an operator decides ------------------------------------------------

def both_made_again(bench):
    """Two partitions, of a topic that was made again."""
    r = begun(bench, 6, partitions=2)
    r.make_again()
    r.add(*keys_of("new", 10))
    r.serve()
    r.stands(parts=2)
    return r


@test
def a_resume_goes_on_behind_what_was_committed(bench):
    r = both_made_again(bench)
    parts = [f"{r.topic.name}/{n}" for n in (0, 1)]
    done = r.operator("resume", r.topic.name, "--unproven", *parts,
                      "--note", "nobody needs them")
    equal((done.returncode, done.stderr), (0, ""))
    said = r.gateway.wait_for_log("operator_decided")
    equal((said["act"], said["partitions"], said["note"]),
          ("resume", 2, "nobody needs them"))
    r.finished(*keys_of("k", 6), *keys_of("new", 10)[6:])


@test
def a_resume_of_no_partition_is_of_all_that_stand(bench):
    r = both_made_again(bench)
    done = r.operator("resume", r.topic.name, "--unproven")
    equal((done.returncode, done.stderr), (0, ""))
    equal(r.gateway.wait_for_log("operator_decided")["partitions"], 2)
    r.finished(*keys_of("k", 6), *keys_of("new", 10)[6:])
    # Of one that none of stands it says no more than that it goes on.
    done = r.operator("resume", r.topic.name, "--unproven")
    equal((done.returncode, done.stderr), (0, ""))


@test
def a_partition_that_is_decided_of_is_read_while_others_stand(bench):
    r = both_made_again(bench)
    r.decide("rewind", r.topic.name, f"{r.topic.name}/1")
    r.wait_executed(*keys_of("new", 10)[1::2])
    equal(len(r.upstream.requests), 11)
    shown, = Admin(r.gateway).get("/sources")["sources"]
    equal((shown["parts_standing"], shown["standing"]), (1, None))
    r.decide("rewind", r.topic.name)  # without a partition: all that stand
    r.finished(*keys_of("k", 6), *keys_of("new", 10))


@test
def a_decision_reaches_whoever_has_the_partition_and_is_used_once(bench):
    r = both_made_again(bench)
    r.serve("two")
    r.kafka.wait_members(r.topic.group, 2)
    # Each has one of them, and either is told.
    r.decide("rewind", r.topic.name)
    r.finished(*keys_of("k", 6), *keys_of("new", 10))
    eventually(lambda: not any(" " in name for name in r.topic.floors(
        r.redis)), "it is used")
    r.forget_records()
    r.gateways[-2].stop()
    r.stop()
    r.serve("three")
    r.finish("last")


@test
def a_rewind_executes_nothing_that_has_a_record(bench):
    r = Reader(bench)
    r.members = {"results": {"topic": r.topic.results}}
    r.serve()
    keys = keys_of("k", 6)
    r.finish(*keys)
    r.decide("rewind", r.topic.name, f"{r.topic.name}/0")
    r.gateway.wait_for_log("message", outcome="duplicate", timeout=START_S)
    r.topic.wait_finished(START_S)
    eventually(lambda: len(r.gateway.find_log(
        "message", outcome="duplicate")) == 6, "all come again", START_S)
    equal(r.executions(), Counter(keys))


@test
def what_is_not_unproven_is_refused(bench):
    r = Reader(bench)
    r.serve()
    r.finish(*keys_of("k", 3))
    name, kept = r.topic.name, r.topic.floors(r.redis)
    for args, status in ((("rewind", name), 409),
                         (("rewind", name, f"{name}/7"), 409),
                         (("rewind", "other"), 404),
                         (("resume", name, "--unproven", f"{name}/0"), 409),
                         (("resume", "other", "--unproven", "x/0"), 404)):
        done = r.operator(*args)
        equal(done.returncode, 1, args)
        assert str(status) in done.stderr, (args, done.stderr)
    equal(r.operator("resume", name, f"{name}/0").returncode, 2)
    for act, body in (("rewind", {"partitions": []}),
                      ("rewind", {"partitions": [1]}),
                      ("rewind", {"partitions": "x"}),
                      ("rewind", {"parts": ["x"]}),
                      ("resume", {"unproven": "x"}),
                      ("resume", {"unproven": [""]})):
        equal(Admin(r.gateway).post(
            f"/sources/{name}/{act}", body).status, 400, body)
    equal(r.topic.floors(r.redis), kept)


@test
def only_a_topic_has_partitions_to_decide_of(bench):
    stream = Stream(bench.own_redis())
    config = bench.config(bench.upstream(), admin={
        "listen": "unix:" + os.path.join(bench.folder(), "admin")})
    source(config, stream)
    gateway = bench.serve(config)
    for args in (("rewind", "charges"),
                 ("resume", "charges", "--unproven", "x/0")):
        done = command("messages", "-c", gateway.file, *args)
        equal(done.returncode, 1)
        assert "409" in done.stderr, done.stderr


@test
def what_is_decided_is_answered_as_json(bench):
    r = both_made_again(bench)
    answered = json.loads(r.operator(
        "rewind", r.topic.name, "--json").stdout)
    equal((answered["name"], sorted(answered["partitions"])),
          (r.topic.name, [f"{r.topic.name}/0", f"{r.topic.name}/1"]))


tap.main()
