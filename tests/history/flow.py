# SPDX-License-Identifier: BSD-2-Clause
"""What flows through a history of messages: who adds them and who sends the
same keys by HTTP, the upstream that executes them, and the operator who
decides about those that are held."""

import json
import threading
from itertools import count
from random import Random

from once.deliveries import Act, Arrival, Entry, Told
from once.http import Broken, Client, keyed
from once.messages import as_text
from once.pgwire import PostgresError
from once.redis import RedisError
from once.upstream import Upstream, answer

LEASE_S = 1
# How the upstream treats an attempt; all but release is an execution.
BEHAVIOURS = {"answer": 60, "slow": 12, "outlast": 2, "refuse": 2,
              "release": 8, "lose": 2, "reset": 2}
NEVER = 0.006  # of all keys are released each time
BACKLOG = 200  # so many unread ones are enough
PATH = "/v1/charges"


class Flow:
    """What the seed says of each message."""

    def __init__(self, seed, ordered):
        self.seed, self.ordered = seed, ordered

    def random(self, *words):
        return Random("/".join(str(w) for w in (self.seed, *words)))

    def entry(self, number):
        """Entities live for a while, some at the same time."""
        random = self.random("entry", number)
        if self.ordered and random.random() < 0.2:
            return Entry(f"key-{number}", f"free-{number % 50}")
        return Entry(f"key-{number}",
                     f"account-{number // 40}-{random.randrange(4)}")

    def behaviour(self, key, attempt):
        if self.random("never", key).random() < NEVER:
            return "release"
        random = self.random("behaviour", key, attempt)
        return random.choices(
            list(BEHAVIOURS), list(BEHAVIOURS.values()))[0]


def body_of(entry):
    return json.dumps({"key": entry.key, "account": entry.entity}).encode()


class Ledger(Upstream):
    """honest: from now on it answers everything at once and well."""

    def __init__(self, flow, told, now):
        self.flow, self.told, self.now = flow, told, now
        self.honest = False
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.count_names = 0
        super().__init__(self.execute)

    def stop(self):
        self.over.set()
        super().stop()

    def name(self):
        """Of an answer.  Hold the lock."""
        self.count_names += 1
        return f"e{self.count_names}"

    def execute(self, connection, request):
        key = request.get("Idempotency-Key")
        attempt = int(request.get("Idempotency-Attempt"))
        behaviour = self.flow.behaviour(key, attempt)
        if self.honest:
            behaviour = "answer"
        with self.lock:
            arrival = Arrival(
                key, attempt, self.now(), behaviour != "release",
                {"refuse": 402, "release": 503}.get(behaviour, 201),
                self.name(), by_client=request.get("X-By") == "client")
            self.told.arrivals.append(arrival)
        if behaviour == "slow":
            self.over.wait(self.flow.random("slow", key).uniform(0.05, 0.7))
        elif behaviour == "outlast":
            self.over.wait(LEASE_S + 0.4)
        arrival.ready = self.now()
        if behaviour == "lose":
            connection.close()
        elif behaviour == "reset":
            connection.reset()
        else:
            connection.send(answer(
                arrival.status, answer_of(arrival.name, key),
                [("Content-Type", "application/json")]))

    def decide(self, key):
        """The act of an operator who knows what was executed and how it was
        answered, noted before it is done."""
        with self.lock:
            names = [a.name for a in self.told.arrivals
                     if a.key == key and a.effect]
            act = Act(key, "complete" if names else "release", self.now(),
                      names[-1] if names else "")
            self.told.acts.append(act)
        return act


def answer_of(name, key):
    return json.dumps({"execution": name, "of": key}).encode()


class Supply:
    """What is to be added; whoever adds takes from it.  known: all entries that
    were, or are about to be."""

    def __init__(self, flow):
        self.flow = flow
        self.lock = threading.Lock()
        self.numbers = count()
        self.known = []

    def take(self):
        """What is random about the next entry; it, and some of those before it
        once more."""
        with self.lock:
            number = next(self.numbers)
            random = self.flow.random("produce", number)
            entries = [self.flow.entry(number)]
            while random.random() < 0.12:
                entries.append(self.flow.entry(
                    max(0, number - random.randrange(60))))
            self.known.append(entries[0])
            return random, entries


def send_keys(world, number):
    """A client that sends keys of messages, with the same bytes."""
    step = 0
    while not world.over.is_set():
        step += 1
        random = world.flow.random("client", number, step)
        known = world.supply.known[-40:]
        world.over.wait(random.uniform(0, 0.08))
        if not known:
            continue
        entry = random.choice(known)
        if world.flow.ordered and not entry.free:
            continue
        try:
            ask(world, entry, random.choice(world.gateways))
        except (OSError, Broken):
            pass  # nobody knows


def ask(world, entry, gateway):
    with Client(gateway.address, 5) as client:
        client.send(keyed(entry.key, [("X-By", "client")],
                          body=body_of(entry), target=PATH))
        got = client.read()
    if got is not None and got.problem is None and got.status != 503:
        told = got.json()
        world.told.told.append(
            Told(entry.key, told["execution"], got.replayed))


class Watcher:
    """Looks at the broker and then at the store, so that what was acknowledged
    before its record was COMPLETED is seen."""

    STATES = """
        local found = {}
        for _, name in ipairs(redis.call('KEYS', '*:r:*')) do
            found[#found + 1] = name
            found[#found + 1] = redis.call('GETRANGE', name, 2, 2)
        end
        return found"""

    def __init__(self, world):
        self.world = world
        self.done = set()
        # (when, those that are new: (position, key), {record: letter})
        self.samples = []

    def look(self):
        """Both must answer in time, else it is for another time."""
        world = self.world
        try:
            ended = set(world.ended_positions())
            store = world.store_client(2)
            letters = store("EVAL", self.STATES, 0)
            store.close()
        except (OSError, AssertionError, ValueError, RedisError,
                PostgresError):
            return
        fresh = ended - self.done
        self.done |= fresh
        self.samples.append((world.now(), fresh, dict(zip(
            (as_text(n) for n in letters[::2]),
            (as_text(v) for v in letters[1::2])))))

    def run(self):
        while not self.world.over.wait(0.7):
            self.look()


class Operator:
    """Decides about what is held, as the ledger says."""

    def __init__(self, world):
        self.world = world
        self.heard = {}  # by gateway, how much of its log

    def run(self):
        while not self.world.ended.wait(0.3):
            self.decide_all()

    def decide_all(self):
        for gateway in list(self.world.bench.gateways):
            since = self.heard.get(gateway, 0)
            events = gateway.events[since:]
            held = [e for e in events if e.get("event") == "message_held"]
            if all([self.decide(e) for e in held]):
                self.heard[gateway] = since + len(events)

    def decide(self, event):
        """False: it is to be tried again."""
        world = self.world
        try:
            state = world.state_of(event["key_id"])
            # That it is unknown may be in a journal as yet.
            if state != "UNKNOWN":
                return state not in (None, "PROCESSING")
            entry = self.entry_of(event)
            if entry is None:
                return False
            act = world.ledger.decide(entry.key)
            got = world.admin("POST", f"/keys/{event['key_id']}/{act.act}",
                              {} if act.act == "release" else {
                "status": 201, "headers": [
                    ["Content-Type", "application/json"]],
                "body": answer_of(act.name, entry.key).decode()})
        except (OSError, AssertionError, ValueError, RedisError,
                PostgresError):
            return False
        return got.status in (200, 404, 409)

    def entry_of(self, event):
        """A position alone may be that of another message, once a broker has
        lost some; None: nobody can tell now."""
        for entry in self.world.entries_at(event["position"]):
            found = self.world.look_up(entry.key)
            if found is not None and found[0] == event["key_id"]:
                return entry
        return None
