# SPDX-License-Identifier: BSD-2-Clause
"""The world of a history of relays: clients pay by two gateways that take turns
at a relay, while the gateways, the store and the relay's target are under
faults; and what the target has in the end, beside what the streams say."""

import threading
import time
from collections import Counter
from random import Random

from once import http, tap
from once.kafka import START_S
from once.relays import (Ledger, TopicLedger, relay, streams,
                         topic_relay)
from once.skip import Skip
from once.gateway import is_without
from once.postgres import programs
from once.tap import equal
from once.upstream import answer, close_unanswered, reset_unanswered
from once.wait import PATIENCE, eventually
from once.webhooks import TAKEN, Receiver

from happen import Guarded

SHARDS = 8
CLIENTS = 3
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
BROUGHT_S = 6 * PATIENCE
GATEWAY = {"kill": 5, "freeze": 3, "drain": 3}
REDIS = {"freeze": 3, "restart": 2}


class Table:
    """A table of PostgreSQL."""

    faults = {"cut": 4, "restart": 2, "freeze": 3, "terminate": 4}

    def __init__(self, world):
        if programs() is None or is_without("postgres"):
            raise Skip("no PostgreSQL")
        self.over = world.over
        self.server = world.bench.postgres()
        self.brought = Ledger(self.server, world.redis, SHARDS)

    def relay(self, config):
        relay(config, self.server)

    def cut(self, random):
        self.server.cut()
        self.over.wait(random.uniform(0, 2))
        self.server.start()

    def restart(self, random):
        self.server.kill()
        self.over.wait(random.uniform(0, 2))
        self.server.start()

    def freeze(self, random):
        self.server.freeze_all()
        self.over.wait(random.choice((0.2, 1, 6)) * random.random())
        self.server.thaw_all()

    def terminate(self, _random):
        self.server(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name LIKE 'onceproxy%'")

    def heal(self):
        pass

    def check(self, _entries):
        self.brought.wait_whole(BROUGHT_S)


class Topic:
    """A topic of Kafka, of three nodes in a half of all histories."""

    faults = {"cut": 3, "freeze": 3}

    def __init__(self, world):
        self.over = world.over
        self.kafka = world.bench.own_kafka(world.random("nodes").choice(
            (1, 3)))
        self.brought = TopicLedger(self.kafka, world.redis, SHARDS)

    def relay(self, config):
        topic_relay(config, self.kafka, self.brought.place)

    def cut(self, random):
        node = random.choice(self.kafka.nodes)
        node.kill()
        self.over.wait(random.uniform(0, 2))
        node.start()

    def freeze(self, random):
        node = random.choice(self.kafka.nodes)
        node.freeze()
        self.over.wait(random.choice((0.2, 1, 6)) * random.random())
        node.thaw()

    def heal(self):
        pass

    def check(self, _entries):
        self.brought.wait_whole(BROUGHT_S)


class Hook:
    """A receiver of webhooks: it takes each at least once."""

    faults = {"refuse": 4, "doubt": 4}

    def __init__(self, world):
        self.over = world.over
        self.script = world.random("receiver")
        self.receiver = Receiver(self.take)
        world.bench.upstreams.append(self.receiver)
        self.replies = [TAKEN]

    def take(self, connection, request):
        reply = self.script.choice(self.replies)
        if callable(reply):
            reply(connection, request)
        else:
            connection.send(reply)

    def relay(self, config):
        self.receiver.relay(config)

    def refuse(self, random):
        """It takes nothing."""
        self.replies = [answer(random.choice((500, 503, 404)))]
        self.over.wait(random.uniform(0.1, 2))
        self.replies = [TAKEN]

    def doubt(self, random):
        """Some are not answered, and may have been taken."""
        self.replies = [TAKEN, TAKEN, TAKEN, answer(500),
                        close_unanswered, reset_unanswered]
        self.over.wait(random.uniform(0.1, 2))
        self.replies = [TAKEN]

    def heal(self):
        self.replies = [TAKEN]

    def check(self, entries):
        """Each was received; of each record the first of each in order."""
        self.receiver.wait_for_events(len(entries), BROUGHT_S)
        at, seen = {}, set()
        for event in self.receiver.events():
            if event["id"] in seen:
                continue
            seen.add(event["id"])
            equal(event["from"], at.get(event["key_id"], "NONE"), event)
            at[event["key_id"]] = event["to"]
        equal(seen, set(entries))


KINDS = {"table": Table, "topic": Topic, "webhook": Hook}


class RelayWorld(Guarded):
    def __init__(self, bench, seed, kind):
        self.bench, self.seed = bench, seed
        self.over = threading.Event()
        self.broken, self.counts = [], Counter()
        self.redis = bench.own_redis(*DURABLE)
        self.target = KINDS[kind](self)
        self.upstream = bench.upstream()
        self.paid = [0] * CLIENTS
        self.gateways = []
        for name in ("one", "two"):
            config = bench.config(
                self.upstream, {"lease": "1s"}, redis=self.redis,
                store={"shards": SHARDS, "timeout": "2s",
                       "events": {"maxlen": 1000000}},
                instance=name)
            self.target.relay(config)
            self.gateways.append(bench.serve(config))

    def random(self, *words):
        return Random("/".join(str(w) for w in (self.seed, *words)))

    # --- clients -----------------------------------------------------------

    def pay(self, number):
        """Sends keys of its own, and some again, to either gateway; what it is
        answered does not matter."""
        random = self.random("client", number)
        while not self.over.is_set():
            if random.random() < 0.9:
                self.paid[number] += 1
            key = f"k-{number}-{self.paid[number]}"
            gateway = random.choice(self.gateways)
            try:
                http.ask(gateway.address, http.keyed(key), 2)
            except (OSError, AssertionError, AttributeError):
                self.over.wait(0.05)

    # --- faults ------------------------------------------------------------

    def lane(self, name, table, act):
        """One fault after the other."""
        random = self.random(name)
        while not self.over.wait(random.expovariate(0.7)):
            kind = random.choices(list(table), list(table.values()))[0]
            self.counts[f"{name} {kind}"] += 1
            act(kind, random)

    def hurt_gateway(self, kind, random):
        at = random.randrange(2)
        gateway = self.gateways[at]
        if kind == "freeze":
            gateway.freeze()
            self.over.wait(random.choice((0.2, 2, 7)))
            gateway.thaw()
            return
        if kind == "kill":
            gateway.kill()
        else:
            gateway.stop()
        self.over.wait(random.choice((0, 0.5, 6)) * random.random())
        self.gateways[at] = self.bench.serve(gateway.config)

    def hurt_redis(self, kind, random):
        if kind == "freeze":
            self.redis.freeze()
            self.over.wait(random.uniform(0, 2))
            self.redis.thaw()
        else:
            self.redis.kill()
            self.over.wait(random.uniform(0, 1))
            self.redis.start()

    def hurt_target(self, kind, random):
        getattr(self.target, kind)(random)

    # --- all together ------------------------------------------------------

    def happen(self, seconds):
        threads = [self.guarded(self.pay, n) for n in range(CLIENTS)]
        for name, table, act in (
                ("gateway", GATEWAY, self.hurt_gateway),
                ("redis", REDIS, self.hurt_redis),
                ("target", self.target.faults, self.hurt_target)):
            threads.append(self.guarded(self.lane, name, table, act))
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.over.wait(0.1):
            pass
        self.over.set()
        for thread in threads:
            thread.join(2 * START_S)
            assert not thread.is_alive(), "a thread did not come back"
        if self.broken:
            raise self.broken[0]
        self.target.heal()

    def settle(self):
        """The gateways answer, and no more events are made."""
        def is_still():
            before = self.entries()
            time.sleep(1.5)  # what a journal has is delivered
            # And no lease may run out any more.
            last = {e["id"]: e["to"] for e in before.values()}
            return before == self.entries() and \
                "PROCESSING" not in last.values()
        eventually(is_still, "no more events are made", 3 * PATIENCE)

    def entries(self):
        return streams(self.redis, SHARDS)

    def say(self):
        tap.comment(f"{sum(self.paid)} keys, {len(self.entries())} events; "
                    + ", ".join(f"{k} {n}" for k, n in self.counts.items()))
        events = Counter(e["event"] for g in self.bench.gateways
                         for e in g.events
                         if e.get("event", "").startswith("relay"))
        tap.comment("the gateways said: " + ", ".join(
            f"{event} {count}" for event, count in events.most_common()))

    def check(self):
        self.target.check(self.entries())
        lost = [e for g in self.bench.gateways
                for e in g.find_log("relay_lost")]
        equal(lost, [])
        for gateway in self.gateways:
            gateway.stop()
        for gateway in self.bench.gateways:
            gateway.check_sanitizer()
