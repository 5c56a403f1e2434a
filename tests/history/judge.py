# SPDX-License-Identifier: BSD-2-Clause
"""Runs a history of messages, and has it checked."""

from collections import Counter

from once import tap, tier
from once.deliveries import CHECKS, check
from once.tap import each

from happen import SEEDS, faults_s

TOLD = 3  # stories, of those that broke the promise
KINDS = [("any order", False), ("in order", True)]


def say(world):
    """How much happened, for people."""
    told = world.told
    tap.comment(f"{len(told.entries)} messages of "
                f"{len({e.key for e in told.entries.values()})} keys, "
                f"{len(told.arrivals)} attempts, {len(told.results)} results, "
                f"{len(told.dead)} dead letters, {len(told.gone)} gone, "
                f"{told.counted} counted as lost, {len(told.told)} answers by "
                f"HTTP, {len(told.acts)} operator's acts; "
                f"{world.through - world.healed:.1f} s until the last ended")
    tap.comment(", ".join(f"{k} {n}" for k, n in world.counts.items()))
    events = Counter(
        e["event"] if e["event"] != "message" else
        f"message {e['outcome']}" for g in world.bench.gateways
        for e in g.events if e.get("level") != "debug")
    tap.comment("the gateways said: " + ", ".join(
        f"{event} {count}" for event, count in events.most_common()))


def tests(make_world, usual_s=8):
    """The tests of a history for each seed; make_world(bench, seed, ordered).
    Seconds of faults: usually, and in the long tier 5 times as many."""
    seconds = faults_s(usual_s * (5 if tier.LONG else 1))

    @each([(f"{words}, {seed_words}", seed, ordered)
           for words, ordered in KINDS for seed_words, seed in SEEDS])
    def each_message_is_executed_once_and_ends_once(bench, seed, ordered):
        tap.comment(f"ONCE_SEED={seed} repeats this plan")
        world = make_world(bench, seed, ordered)
        world.happen(seconds)
        world.tell()
        say(world)
        found = [(key, f"{title}: {words}") for title, checks in CHECKS.items()
                 for key, words in check(world.told, checks)]
        for key, words in found[:TOLD]:
            tap.comment(f"{key}: {words}")
            world.show(key)
        assert not found, "\n".join(
            [f"{len(found)} times, with seed {seed}:",
             *(f"{key}: {words}" for key, words in found[:20])])
        world.stop()
