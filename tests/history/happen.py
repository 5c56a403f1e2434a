# SPDX-License-Identifier: BSD-2-Clause
"""Runs a history, whatever its store is."""

import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from once import entities, history, tap
from once.tap import each
from once.wait import eventually

from clients import CLIENTS, Clients
from plan import Request

FIRST = tap.first_seed()
SEEDS = [(f"seed {seed}", seed) for seed in range(
    FIRST, FIRST + int(os.environ.get("ONCE_SEEDS") or 1))]
TOLD = 3  # stories, of those that broke the promise
END_S = 60  # for each key to come to its end


class Guarded:
    """A world whose threads end it by what they raise."""

    def guarded(self, function, *args):
        def run():
            try:
                function(*args)
            except BaseException as error:
                self.broken.append(error)
                self.over.set()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


def faults_s(usual):
    """Seconds of faults; healing may take a while on a slow machine."""
    seconds = float(os.environ.get("ONCE_HISTORY_S") or usual)
    tap.LIMIT_S = int(seconds) + 400
    return seconds


def run(world, enough):
    """All faults and all clients, until it is enough."""
    clients = Clients(world)
    lanes = [world.guarded(world.lane, name) for name in world.LANES]
    threads = [world.guarded(clients.run) for _ in range(CLIENTS)]
    threads += [world.guarded(one) for one in world.beside()]
    beat = world.guarded(world.beat)
    while not world.over.wait(0.2) and not enough():
        pass
    world.over.set()
    for thread in (*lanes, *threads, beat):
        thread.join(60)
        assert not thread.is_alive(), "a thread did not come back"
    if world.broken:
        raise world.broken[0]
    return clients


def finish(world, clients):
    """Sends each key until its answer is final, and once more."""
    world.over.clear()

    def end(record):
        deadline = time.monotonic() + END_S
        variant = gateway = 0
        resolved = False
        while time.monotonic() < deadline:
            op = clients.ask(
                Request(record, variant, gateway, wait=2), last=True)
            gateway = 1 - gateway
            if op.problem == "key-reused":
                variant = 1 - variant
            elif op.problem == "outcome-unknown":
                if record.on_unknown in ("reconcile", "witness"):
                    time.sleep(0.5)  # it has to settle, or is asked about
                else:
                    world.resolve(record, gateway)
            elif op.problem == "stale-version" and not resolved:
                resolved = True
                world.resolve(record, gateway)
            elif clients.is_final(op):
                again = Request(record, variant, gateway)
                # On a machine that stalls, Redis answers too slowly.
                eventually(lambda: clients.ask(again, last=True).problem
                           != "store-unavailable", "Redis answers in time")
                return
            elif op.problem:
                time.sleep(0.05)
    records = list(dict.fromkeys(op.record for op in world.history.ops))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(end, records))


def told_of(ops, problem):
    return sum(op.problem == problem for op in ops)


def say(world):
    """How much happened, for people."""
    told = world.history
    ops = [op for op in told.ops if not op.last]
    stories = told.stories()
    tap.comment(f"{len(ops)} operations on {len(stories)} keys, "
                f"{sum(op.known for op in ops)} were answered, "
                f"{sum(op.replayed for op in ops)} by replays; "
                f"{len(told.arrivals)} attempts, {len(told.questions)} "
                f"questions and {len(told.acts)} operator's acts")
    calm = sum(not s.touched(op.end or op.begin)
               for s in stories for op in s.ops if not op.last)
    tap.comment(f"{told_of(ops, 'entity-busy')} found their entity busy, "
                f"{told_of(ops, 'stale-version')} had a stale version; "
                f"{sum(q.denied for q in told.questions)} questions were "
                "denied")
    tap.comment(f"{sum(world.counts.values())} faults "
                f"({', '.join(f'{k} {n}' for k, n in world.counts.items())}); "
                f"{calm} operations on keys that no fault had touched")


    events = Counter(e["event"] for g in world.bench.gateways
                     for e in g.events if e.get("level") != "debug")
    tap.comment("the gateways said: " + ", ".join(
        f"{event} {count}" for event, count in events.most_common()))


KEPT = [("nothing is executed without leave", history.EXECUTIONS),
        ("an answer is the upstream's, for that key and body",
         history.ANSWERS),
        ("an answer that was given is given to every retry", history.LINEAR),
        ("a refusal has its reason", history.REFUSALS),
        ("of an entity only one is executed, and nothing older",
         entities.ENTITIES),
        ("every key ends in a state that stays", history.ENDS)]


def tests(make_world, seconds, kept=KEPT):
    """The tests of a history for each seed; make_world(bench, seed)."""
    histories = {}  # by seed

    def happen(bench, seed):
        tap.comment(f"ONCE_SEED={seed} repeats this plan")
        world = make_world(bench, seed)
        histories[seed] = world
        try:
            clients = run(world, lambda: world.now() > seconds)
            world.heal()
            world.wait_none_is_processing()
            finish(world, clients)
            world.drain()
            world.done = True
        finally:
            world.trouble()
            say(world)

    @each(SEEDS)
    def a_history_of_faults_heals_and_leaves_nothing_behind(bench, seed):
        happen(bench, seed)

    @each([(f"{words}, {seed_words}", seed, checks)
           for words, checks in kept for seed_words, seed in SEEDS])
    def the_promise_was_kept(bench, seed, checks):
        """Prints the stories that broke the promise."""
        if seed not in histories:
            happen(bench, seed)
        world = histories[seed]
        assert world.done or checks is not history.ENDS, "it broke off"
        found = history.check(world.history, checks)
        strangers = world.history.strangers()
        for words, story in found[:TOLD]:
            tap.comment(words)
            for line in (*story.tell(), *world.logs(story)):
                tap.comment("  " + line)
        assert not found and not strangers, "\n".join(
            [f"{len(found)} times, with seed {seed}:",
             *(words for words, _ in found[:20]), *map(str, strangers)])
