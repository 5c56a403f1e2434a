# SPDX-License-Identifier: BSD-2-Clause
"""Dead letters that an operator has finished stay so, whatever becomes of the
group that read their messages.  Skipped where there is no Kafka (contrib/check
--kafka)."""

import json

from once import tap
from once.kafka import START_S
from once.kafka_letters import QUICK, Letters, begun
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually


def set_back(b):
    """As an operator who sets the group back does."""
    b.topic.reset(0)


def forget_group(b):
    """As Kafka does with a group that was silent for a week."""
    b.kafka.delete_group(b.topic.group)


def set_forward(b):
    b.topic.reset(b.kafka.ends(b.topic.name)[0][1])


def start_again(b, *happens):
    """Its records are gone meanwhile, so nothing else tells what was
    executed."""
    b.gateway.stop()
    b.kafka.wait_members(b.topic.group, 0)
    for each_of in happens:
        each_of(b)
    for name in b.bench.redis("KEYS", "*:r:*"):
        b.bench.redis("DEL", name)
    return b.serve()


def key_of(b, message):
    place = message["position"].split("@")[0]
    _, partition, offset = place.split("/")
    return f"k{int(offset) * b.topic.partitions + int(partition)}"


def four(bench, **more):
    """Of four dead letters the second was dropped, and the third replayed."""
    b = Letters(bench, QUICK, **more)
    b.of.update({f"k{n}": answer(503) for n in range(4)})
    b.serve()
    for n in range(4):
        b.add(f"k{n}", partition=n % b.topic.partitions)
        b.wait_listed(n + 1)
    b.found = {key_of(b, m): m for m in b.listed()}
    b.of.clear()
    b.act(b.found["k1"], "drop", 200)
    b.replay(b.found["k2"])
    b.wait_listed(2)
    return b


@each([("was set back", set_back), ("was forgotten", forget_group),
       ("was set forward", set_forward)])
def what_is_finished_stays_so_where_a_group(bench, happens):
    b = four(bench)
    start_again(b, happens)
    equal([key_of(b, m) for m in b.wait_listed(2)], ["k0", "k3"])
    for key in "k1", "k2":
        equal(b.act(b.found[key], "replay").status, 404)
        equal(b.act(b.found[key], "drop").status, 404)
    b.replay(b.found["k3"])
    b.wait_listed(1)
    # What comes then is known beside what was known before.
    start_again(b, happens)
    equal([key_of(b, m) for m in b.wait_listed(1)], ["k0"])
    b.replay(b.found["k0"])
    b.wait_listed(0)
    b.wait_executed("k2", "k3", "k0")


@test
def the_group_itself_knows_them_again(bench):
    """So does who lists them, and has another partition."""
    b = four(bench, partitions=2)
    start_again(b, set_back)
    b.wait_listed(2)
    # Another Redis, and what was kept in this one is gone.
    start_again(b, lambda b: [b.bench.redis("DEL", name) for name in
                              b.bench.redis("KEYS", "*:floor:source:*")])
    equal({key_of(b, m) for m in b.wait_listed(2)}, {"k0", "k3"})
    b.serve("two")
    b.kafka.wait_members(b.topic.group, 2)
    equal({key_of(b, m) for m in b.wait_listed(2)}, {"k0", "k3"})


@test
def nobody_is_told_of_them_by_a_topic_that_was_made_again(bench):
    b, message = begun(bench)
    b.act(message, "drop", 200)
    b.gateway.stop()
    b.kafka.wait_members(b.topic.group, 0)
    b.kafka.delete_topic(b.topic.dead)
    b.kafka.topic(b.topic.dead)
    b.of["m"], b.of["n"] = answer(503), answer(503)
    b.serve()
    b.add("m")
    second, = b.wait_listed(1)
    b.act(second, "drop", 200)
    b.add("n")
    third, = b.wait_listed(1)
    start_again(b, set_back)
    equal([m["id"] for m in b.wait_listed(1)], [third["id"]])


@test
def a_group_that_may_stand_lower_brings_no_letter_back(bench):
    b = four(bench)
    part = f"{b.topic.name}/0"
    said = eventually(
        lambda: [said for said in [b.command("rewind", "charges", "--json")]
                 if said.returncode == 0], "it has a floor", START_S)[0]
    equal(json.loads(said.stdout)["partitions"], [part])
    equal(b.command("rewind", "charges", f"{part} letters").returncode, 1)
    b.of.update({f"k{n}": answer(503) for n in range(4)})
    start_again(b, set_back)
    # All four are executed again, and become new letters beside the old ones.
    b.wait_put(8)
    equal(sorted(key_of(b, m) for m in b.wait_listed(6)),
          ["k0", "k0", "k1", "k2", "k3", "k3"])


def committed(b):
    return b.kafka.committed(b.topic.group, b.topic.name)[0]


@test
def nothing_is_committed_before_they_are_known(bench):
    b = four(bench)
    b.gateway.stop()
    b.kafka.wait_members(b.topic.group, 0)
    b.topic.reset(0)
    key, = b.bench.redis("KEYS", "*:floor:source:charges")
    kept = b.bench.redis("HGETALL", key)
    b.bench.redis("SET", key, "another's")
    b.serve()
    b.gateway.wait_for_log(
        "source_stands", reason="store", timeout=START_S)
    equal(committed(b), (0, ""))
    b.bench.redis("DEL", key)
    b.bench.redis("HSET", key, *kept)
    eventually(lambda: committed(b)[0] == 4, "it is committed", START_S)
    equal([key_of(b, m) for m in b.wait_listed(2)], ["k0", "k3"])


tap.main()
