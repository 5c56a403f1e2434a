# SPDX-License-Identifier: BSD-2-Clause
"""What a broker deletes of a topic before it was read is lost, and counted
once; a topic that was made again is another one, of which nothing was read.
Neither is taken for the other.  Skipped where there is no Kafka (contrib/check
--kafka)."""

import itertools
import signal
from collections import Counter

from once import tap
from once.gateway import command
from once.kafka import START_S
from once.kafka_topic import Topic
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import eventually

NUMBERS = itertools.count()
# Of drain_timeout, 30 s, what is enough to leave a group.
STOP_S = 15


class Reader:
    """A topic, and gateways that read it."""

    def __init__(self, bench, **members):
        self.bench, self.members = bench, members
        self.kafka, self.holds, self.gateways = bench.kafka, {}, []
        self.upstream = bench.upstream(self.reply)
        self.topic = Topic(self.kafka, f"cut-{next(NUMBERS)}")

    def reply(self, connection, request):
        key = request.get("Idempotency-Key")
        if key in self.holds:
            self.holds[key].wait()
        connection.send(answer(201))

    def serve(self, instance="one"):
        self.gateway = self.bench.serve(self.topic.source(
            self.bench.config(
                self.upstream, {"lease": "2s"}, instance=instance,
                admin={"listen": f"unix:{self.bench.folder()}/admin"}),
            self.topic.name, **self.members))
        self.gateways.append(self.gateway)
        return self.gateway

    def stop(self):
        self.gateway.stop()
        self.kafka.wait_members(self.topic.group, 0)

    def add(self, *keys):
        self.topic.add_all(keys)

    def cut(self, offset):
        """All before that is deleted, as retention does."""
        self.kafka.delete_before(self.topic.name, 0, offset)

    def end(self):
        return self.kafka.ends(self.topic.name)[0][1]

    def finished(self, *keys):
        """All of these were executed once, nothing else was, and all that
        there is is acknowledged."""
        self.upstream.wait_until(
            lambda: len(self.upstream.requests) >= len(keys),
            f"{keys} are executed", START_S)
        self.topic.wait_finished(START_S)
        equal(Counter(r.get("Idempotency-Key")
                      for r in self.upstream.requests), Counter(keys))

    def told(self, event):
        return [e for gateway in self.gateways
                for e in gateway.find_log(event)]

    def lost(self):
        assert not self.told("source_topic_again")
        assert {e["how"] for e in self.told("source_lost")} <= {
            "trimmed-unread"}
        return sum(e["count"] for e in self.told("source_lost"))


def keys_of(count, word="k"):
    return [f"{word}{n}" for n in range(count)]


def begun(bench, **members):
    """Three messages are finished, and the gateway has ended."""
    r = Reader(bench, **members)
    r.serve()
    r.add(*keys_of(3))
    r.finished(*keys_of(3))
    eventually(lambda: r.topic.kept_sum(bench.redis) == 3,
               "the floor is kept")
    r.stop()
    return r


# --- it was cut --------------------------------------------------------------

@each([("in the middle of what is finished", 2, 0),
       ("where the group stands", 3, 0),
       ("in the middle of what is unread", 5, 2),
       ("at its end", 7, 4)])
def what_was_not_read_is_counted_of_a_log_that_was_cut(bench, offset, lost):
    r = begun(bench)
    r.add(*keys_of(4, "more"))
    r.cut(offset)
    r.serve()
    r.add("last")
    r.finished(*keys_of(3), *keys_of(4, "more")[lost:], "last")
    equal(r.lost(), lost)


@each([("set back", lambda r: r.topic.reset(0)),
       ("forgotten", lambda r: r.kafka.delete_group(r.topic.group))])
def the_floor_tells_what_was_read_where_the_group_was(bench, happens):
    r = begun(bench)
    r.add(*keys_of(4, "more"))
    r.cut(5)
    happens(r)
    r.serve()
    r.add("last")
    r.finished(*keys_of(3), "more2", "more3", "last")
    equal(r.lost(), 2)
    equal(r.told("source_rewound"), [])


@test
def a_loss_is_not_told_again_by_whoever_reads_next(bench):
    r = begun(bench)
    r.holds["more2"] = hold = Hold()
    r.add(*keys_of(3, "more"))
    r.cut(5)
    r.serve()
    r.gateway.wait_for_log("source_lost", timeout=START_S)
    hold.wait_arrived()
    # Nothing behind it is finished.
    eventually(lambda: r.kafka.committed(
        r.topic.group, r.topic.name)[0][0] == 5, "it is committed", START_S)
    r.gateway.kill()
    r.serve("two")
    r.gateway.wait_for_log("message_held", timeout=START_S)
    hold.release()
    r.add("last")
    r.upstream.wait_until(lambda: r.upstream.count(key="last") == 1,
                          "the last one is executed", START_S)
    equal(r.lost(), 2)
    equal(r.upstream.count(key="more2"), 1)


@test
def a_log_that_is_cut_while_it_is_read_loses_each_once(bench):
    r = Reader(bench, in_flight=1)
    hold = r.holds["first"] = Hold()
    r.serve()
    r.add("first")
    hold.wait_arrived()
    r.topic.add_all(keys_of(3000, "more"))
    r.cut(r.end() - 5)
    hold.release()
    r.add("last")
    r.upstream.wait_until(lambda: r.upstream.count(key="last") == 1,
                          "the last one is executed", 2 * START_S)
    r.topic.wait_finished(START_S)
    counts = Counter(q.get("Idempotency-Key") for q in r.upstream.requests)
    equal(set(counts.values()), {1})
    # What was read ahead is executed; all else is counted.
    equal(len(counts) + r.lost(), r.end())
    assert r.lost() > 0


@each([("in the middle of that", 0, 5), ("behind all of it", 0, 10),
       ("and something is below it", 3, 8)])
def what_is_finished_above_an_unfinished_one_is_not_lost(
        bench, before, offset):
    r = Reader(bench)
    r.members = {"results": {"topic": r.topic.results}}
    r.serve()
    below, keys = keys_of(before, "below"), keys_of(10)
    r.add(*below)
    r.finished(*below)
    hold = r.holds["k0"] = Hold()
    r.add(*keys)
    hold.wait_arrived()
    eventually(lambda: len(r.topic.result_keys()) == before + 9,
               "all but the first have a result", START_S)
    r.gateway.kill()
    r.cut(offset)
    r.serve("two")
    hold.release()
    r.add("last")
    r.finished(*below, *keys, "last")
    equal(r.lost(), 1)
    equal(len(r.topic.result_keys()), before + 10)


@test
def a_group_that_was_set_ahead_is_told_with_what_it_left_out(bench):
    r = begun(bench)
    r.add(*keys_of(4, "more"))
    r.topic.reset(5)
    r.serve()
    r.finished(*keys_of(3), *keys_of(4, "more")[2:])
    told, = r.told("source_set_ahead")
    equal((told["partition"], told["offset"], told["to"]),
          (f"{r.topic.name}/0", 3, 5))
    # As it says: nothing is executed twice, and all of it once.
    equal(command("messages", "-c", r.gateway.file, "rewind",
                  r.topic.name).returncode, 0)
    r.stop()
    r.topic.reset(3)
    r.serve()
    r.finished(*keys_of(3), *keys_of(4, "more"))


# --- it was made again -------------------------------------------------------

def make_again(r):
    r.kafka.delete_topic(r.topic.name)
    r.kafka.topic(r.topic.name)


@each([("is shorter", 1), ("is as long", 3), ("is longer", 6)])
def all_of_a_topic_that_was_made_again_is_new_where_it(bench, count):
    r = begun(bench)
    make_again(r)
    r.add(*keys_of(count, "new"))
    r.serve()
    r.finished(*keys_of(3), *keys_of(count, "new"))
    equal(len(r.told("source_topic_again")), 1)
    equal(r.told("source_lost"), [])
    # From then on it is read as any other.
    r.stop()
    r.add("unread", "last")
    r.cut(count + 1)
    r.serve()
    r.finished(*keys_of(3), *keys_of(count, "new"), "last")
    equal([e["count"] for e in r.told("source_lost")], [1])
    equal(len(r.told("source_topic_again")), 1)


@each([("with fewer messages", 2, False), ("with as many", 3, False),
       ("with more", 40, False),
       ("with more while nobody looked", 40, True)])
def one_that_is_made_again_while_it_is_read_is_new(bench, count, is_frozen):
    r = Reader(bench)
    gateway = r.serve()
    old, new = keys_of(3), keys_of(count, "new")
    r.add(*old)
    r.finished(*old)
    if is_frozen:
        gateway.freeze()
    make_again(r)
    r.add(*new)
    gateway.thaw()
    r.upstream.wait_until(
        lambda: len(r.upstream.requests) == len(old) + len(new),
        "the new ones are executed", START_S)
    r.finished(*old, *new)
    equal(r.told("source_lost"), [])
    assert r.told("source_topic_again")


@test
def who_read_a_topic_that_was_made_again_is_not_long_in_stopping(bench):
    """The library may not come to an end then; nothing waits for it."""
    r = Reader(bench)
    gateway = r.serve()
    r.add(*keys_of(3))
    r.finished(*keys_of(3))
    make_again(r)
    r.add(*keys_of(2, "new"))
    gateway.wait_for_log("source_topic_again", timeout=START_S)
    r.finished(*keys_of(3), *keys_of(2, "new"))
    gateway.signal(signal.SIGTERM)
    equal(gateway.wait(timeout=STOP_S), 0)


@test
def a_log_that_ends_before_where_a_group_was_set_is_read_whole(bench):
    """Also where it has grown beyond that by the time of another start."""
    r = Reader(bench)
    r.kafka.commit(r.topic.group, r.topic.name, {0: 5})
    r.serve().wait_for_log("source_topic_again", timeout=START_S)
    eventually(lambda: r.kafka.committed(r.topic.group, r.topic.name)[0][0]
               == 0, "it begins anew")
    r.stop()
    r.add(*keys_of(8))
    r.serve()
    r.finished(*keys_of(8))


tap.main()
