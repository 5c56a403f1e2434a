# SPDX-License-Identifier: BSD-2-Clause
"""A history of messages, whatever their broker is: the gateways that read it,
what happens to them and to the store, and what is left when that is over.
stream_world.py, outbox_world.py and topic_world.py have the brokers."""

import copy
import json
import os
import re
import signal
import threading
import time
from collections import Counter

from once import http, tap
from once.deliveries import Deliveries, Seen
from once.demo import source as source_file
from once.gateway import write
from once.messages import as_text, pairs
from once.ports import own_address
from once.redis import RedisClient, RedisError
from once.sentinels import LONG
from once.wait import PATIENCE, Late, eventually

from flow import LEASE_S, Flow, Ledger, Operator, Supply, Watcher, send_keys
from happen import Guarded

ATTEMPTS = 4
TURN_S = 5  # the lease of an ordered stream
CLIENTS = 3
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
STORE = {"kill": 4, "freeze": 3, "disconnect": 2, "flush": 1}
FAULTS = {
    "gateway": {"kill": 4, "freeze": 4, "step": 5, "drain": 3, "reload": 3,
                "leave": 2},
    "store": STORE}
# No gateway dies.
GENTLE = {
    "gateway": {"freeze": 4, "drain": 3, "reload": 3, "leave": 2},
    "store": STORE}
ABOUT_LOSSES = (
    "source_lost", "source_broker_down", "source_broker_up", "source_stands",
    "source_goes", "source_group_made_again", "source_refused", "ready",
    "reloaded", "draining", "stopped")
NEVER_STOPS_S = 3  # a gateway that is to stop at a step


def steps():
    """What a delivery and its execution go through, as ONCE_FAULT names
    it."""
    with open(source_file("src/tbl/steps.h"), encoding="utf-8") as file:
        found = re.findall(r"^(DELIVERY|EXECUTION)_STEP\((\w+),", file.read(),
                           re.M)
    assert len(found) > 20, "tbl/steps.h reads otherwise than it did"
    return [f"{machine.lower()}:{name}" for machine, name in found]


class MessageWorld(Guarded):
    # Two names of their own, and one that two gateways share.
    INSTANCES = ("one", "two", "pair", "pair")
    LANES = ("gateway", "gateway", "store", "broker")
    TABLES = ()  # of faults, of which the seed chooses one

    def __init__(self, bench, seed, ordered):
        self.bench, self.flow = bench, Flow(seed, ordered)
        self.options = self.flow.random("options", ordered)
        self.start = time.monotonic()
        self.over, self.ended = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.counts = Counter()
        self.broken = []  # what went wrong in a thread of ours
        self.ids = {}  # keys by their key_id, in the end
        self.steps = steps()
        self.faults = self.choose_faults()
        hold = self.options.choice(("1h", "1h", "2s"))
        self.told = Deliveries(ATTEMPTS, ordered, holds_on=hold == "1h")
        self.make_store()
        self.make_broker()
        self.ledger = Ledger(self.flow, self.told, self.now)
        bench.upstreams.append(self.ledger)
        self.supply = Supply(self.flow)
        self.watcher, self.operator = Watcher(self), Operator(self)
        members = {
            "hold": hold, "in_flight": self.options.choice((4, 16, 64)),
            "retry": {"first": "50ms", "most": "300ms",
                      "attempts": ATTEMPTS}}
        self.configs = [self.config(name, members) for name in self.INSTANCES]
        self.busy = [threading.Lock() for _ in self.INSTANCES]
        self.gateways = [bench.serve(config) for config in self.configs]

    def config(self, instance, members):
        config = self.bench.config(
            self.ledger.url, {
                "lease": f"{LEASE_S}s", "in_flight": self.options.choice(
                    ("reject", "wait")), "wait_timeout": "2s",
                "max_attempts": ATTEMPTS, "namespace": "charges"},
            {"timeout": "5s", "connect_timeout": "1s"}, self.store,
            workers=self.options.randint(1, 2), instance=instance,
            listen=[own_address()], admin={"listen": own_address()},
            drain_timeout="2s",
            store={"timeout": "500ms", **self.more_of_store()})
        self.add_source(config, copy.deepcopy(members))
        return config

    def now(self):
        return time.monotonic() - self.start

    # --- what a broker has of its own --------------------------------------

    def choose_faults(self):
        return self.options.choice(self.TABLES)

    def make_broker(self):
        raise NotImplementedError

    def add_source(self, config, members):
        raise NotImplementedError

    def producers(self):
        """What their threads run."""
        raise NotImplementedError

    def ended_positions(self):
        """All that are acknowledged, dead letters need not be among them:
        (position, key), key None: any."""
        raise NotImplementedError

    def entries_at(self, position):
        """What was ever there."""
        raise NotImplementedError

    def is_through(self):
        """Each message has ended."""
        raise NotImplementedError

    def tell_broker(self):
        """Completes the history by what the broker has in the end."""
        raise NotImplementedError

    def is_confirmed(self):
        return set(self.letters().values()) <= {"confirmed"}

    def heal_broker(self):
        pass

    # --- threads -----------------------------------------------------------

    def lane(self, number, name):
        """One fault after the other, until the time is over."""
        random = self.flow.random("lane", number, self.flow.ordered)
        table = self.faults.get(name)
        while table and not self.over.wait(random.uniform(0.2, 1.5)):
            kind = random.choices(list(table), list(table.values()))[0]
            with self.lock:
                self.counts[f"{name} {kind}"] += 1
            getattr(self, f"{name}_{kind}")(random)

    def happen(self, seconds):
        """All of it, for so long."""
        decides = self.guarded(self.operator.run)
        threads = [self.guarded(self.lane, *lane)
                   for lane in enumerate(self.LANES)]
        threads += [self.guarded(send_keys, self, n) for n in range(CLIENTS)]
        threads += [self.guarded(run) for run in self.producers()]
        threads.append(self.guarded(self.watcher.run))
        self.over.wait(seconds)
        self.over.set()
        for thread in threads:
            thread.join(6 * LONG)  # a fault waits for several failovers
            assert not thread.is_alive(), "a thread did not come back"
        try:
            self.raise_broken()
            self.heal()
        finally:
            self.ended.set()
            decides.join(30)
        self.raise_broken()

    def raise_broken(self):
        if self.broken:
            raise self.broken[0]

    # --- faults: gateways --------------------------------------------------

    def one_gateway(self, random):
        """The number of one that nothing else happens to."""
        number = random.randrange(len(self.gateways))
        while not self.busy[number].acquire(blocking=False):
            number = (number + 1) % len(self.gateways)
        return number

    def serve_again(self, number, **more):
        self.gateways[number] = self.bench.serve(self.configs[number], **more)

    def gateway_kill(self, random):
        number = self.one_gateway(random)
        self.told.forgot = True
        self.gateways[number].kill()
        self.over.wait(random.uniform(0, 2.5))
        self.serve_again(number)
        self.busy[number].release()

    def freezing_s(self, random):
        """At times for longer than its leases."""
        longer = TURN_S if self.flow.ordered else 2 * LEASE_S
        return random.choice((0, 0, longer)) + random.uniform(0.1, 1.5)

    def gateway_freeze(self, random):
        number = self.one_gateway(random)
        self.gateways[number].signal(signal.SIGSTOP)
        self.over.wait(self.freezing_s(random))
        self.gateways[number].signal(signal.SIGCONT)
        self.busy[number].release()

    def gateway_step(self, random):
        """It stops where a step begins, and is killed there, or goes on
        later."""
        program = os.environ.get("ONCEPROXY_TEST_BUILD")
        step, times = random.choice(self.steps), random.randint(1, 6)
        number = self.one_gateway(random)
        self.gateways[number].stop()
        gateway = self.bench.serve(
            self.configs[number], ready=False, program=program,
            env={"ONCE_FAULT": f"{step}:{times}"} if program else None)
        if self.has_stopped(number, gateway):
            with self.lock:
                self.counts["stopped at a step"] += 1
            self.over.wait(self.freezing_s(random))
            dies = random.random() < 0.5
        else:
            dies = True  # else it stops when nobody expects it
        if dies:
            self.told.forgot = True
            gateway.kill()
            self.serve_again(number)
        else:
            gateway.freeze()
            gateway.thaw()
            self.begin(number, gateway)
        self.busy[number].release()

    def begin(self, number, gateway):
        gateway.wait_ready()
        self.gateways[number] = gateway

    def has_stopped(self, number, gateway):
        """It may stop before it is ready."""
        gateway.wait_until(
            lambda: gateway.find_log("ready") or
            gateway.find_log("fault_point") or gateway.ended,
            "the gateway begins")
        if gateway.find_log("ready"):
            self.begin(number, gateway)
        for _ in range(10 * NEVER_STOPS_S):
            if gateway.find_log("fault_point") or self.over.wait(0.1):
                break
        return gateway.find_log("fault_point")

    def gateway_drain(self, random):
        number = self.one_gateway(random)
        self.gateways[number].stop()
        self.serve_again(number)
        self.busy[number].release()

    def gateway_reload(self, random):
        """With another number in flight."""
        number = self.one_gateway(random)
        config = copy.deepcopy(self.configs[number])
        for source in config["sources"].values():
            source["in_flight"] = random.choice((2, 9, 99))
        self.reload(number, config)
        self.busy[number].release()

    def gateway_leave(self, random):
        """Without the source, for a while."""
        number = self.one_gateway(random)
        config = copy.deepcopy(self.configs[number])
        del config["sources"], config["brokers"]
        self.reload(number, config)
        self.over.wait(random.uniform(0, 1))
        self.reload(number, self.configs[number])
        self.busy[number].release()

    def reload(self, number, config):
        gateway = self.gateways[number]
        since = len(gateway.events)
        write(gateway.file, config)
        gateway.signal(signal.SIGHUP)
        gateway.wait_for_log("reloaded", since)

    # --- a Redis -----------------------------------------------------------

    def kill(self, redis, random):
        redis.kill()
        self.over.wait(random.choice((0, random.uniform(0, 1.5))))
        redis.start()
        eventually(lambda: has_loaded(redis), "Redis has its data")

    def freeze(self, redis, random):
        redis.freeze()
        self.over.wait(random.uniform(0.1, 2))
        redis.thaw()

    # --- faults: the store -------------------------------------------------

    def make_store(self):
        self.store = self.bench.own_redis(*DURABLE)

    def more_of_store(self):
        """Members of the configuration's store."""
        return {}

    def store_client(self, timeout=PATIENCE):
        return RedisClient(self.store.path, timeout)

    def store_kill(self, random):
        self.kill(self.store, random)

    def store_freeze(self, random):
        self.freeze(self.store, random)

    def store_disconnect(self, random):
        ask(self.store_client(), "CLIENT", "KILL", "TYPE", "normal")

    def store_flush(self, random):
        ask(self.store_client(), "SCRIPT", "FLUSH")

    # --- what the operator uses --------------------------------------------

    def admin(self, method, target, body=None):
        """By any gateway that answers."""
        data = None if body is None else json.dumps(body).encode()
        for gateway in list(self.gateways):
            try:
                got = http.ask(gateway.ready["admin"], http.build(
                    method, target, (), data, host="localhost"), 3)
            except (OSError, http.Broken, AttributeError):
                continue
            if got is not None:
                return got
        raise OSError("no gateway answers")

    def state_of(self, key_id):
        """None: nobody can tell now."""
        got = self.admin("GET", f"/keys/{key_id}")
        return got.json()["state"] if got.status == 200 else None

    def look_up(self, key):
        """The key's id and state; None: nobody can tell now."""
        got = self.admin("POST", "/keys/lookup", {
            "namespace": "charges", "key": key,
            "scope": {"Authorization": http.TENANT}})
        if got.status not in (200, 404):
            return None
        found = got.json()
        return found.get("key_id"), found.get("state")

    def letters(self):
        """The states of letters, by position."""
        found, client = {}, self.store_client()
        for name in client("KEYS", "*:letter:source:*"):
            letter = pairs(client("HGETALL", name))
            size, _, rest = letter["head"].partition(b"\n")[2].partition(b":")
            found[as_text(rest[:int(size)])] = as_text(letter["state"])
        client.close()
        return found

    # --- the end -----------------------------------------------------------

    def heal(self):
        """Waits until all messages have ended."""
        self.ledger.honest = True
        self.heal_broker()
        for gateway in self.gateways:
            eventually(lambda g=gateway: http.ask(
                g.ready["admin"], http.build(
                    "GET", "/readyz", host="localhost")).status == 200,
                "the gateway is ready again", 3 * PATIENCE)
        self.healed = self.now()
        try:
            eventually(self.is_through, "all messages have ended",
                       3 * PATIENCE)
            eventually(self.is_confirmed, "all letters are confirmed",
                       3 * PATIENCE)
        except Late:
            self.tell()
            for position in sorted(self.told.pending)[:3]:
                tap.comment(position)
                self.show(self.told.entries[position].key)
            raise
        finally:
            self.watcher.look()
        self.through = self.now()

    def show(self, key):
        """All that is known of a key; None: of what was lost."""
        if key is None:
            self.show_losses()
            return
        for line in (*self.told.story(key), *self.logs(key)):
            tap.comment("  " + line)

    def show_losses(self):
        """What was trimmed and may not be counted, with all that the gateways
        said of it; then what they said of losses and of their broker."""
        told = self.told
        for position in told.lost():
            if position not in told.counted_at:
                tap.comment(f"  {position} {told.stood.get(position, '')}")
                for line in self.logs(told.entries[position].key):
                    tap.comment("    " + line)
        for line in self.log_lines(lambda e: e.get("event") in ABOUT_LOSSES):
            tap.comment("  " + line)

    def stop(self):
        """All gateways must end well."""
        for gateway in self.gateways:
            gateway.stop()

    def logs(self, key):
        """The log lines of the gateways about a key."""
        mine = {p for p, e in self.told.entries.items() if e.key == key}
        mine |= {key_id for key_id, k in self.ids.items() if k == key}
        return self.log_lines(lambda e: mine & {
            e.get("position"), e.get("key_id"), e.get("id")})

    def log_lines(self, wanted):
        lines = [(e["ts"], g.pid, {k: v for k, v in e.items() if k != "words"})
                 for g in self.bench.gateways for e in g.events if wanted(e)]
        return [f"{at} pid {pid} {e}" for at, pid, e in sorted(
            lines, key=lambda line: line[:2])]

    # --- what is known in the end ------------------------------------------

    def tell(self):
        """Completes the history by what is left."""
        told = self.told
        told.asked = {entry.key for entry in self.supply.known}
        for key in told.asked:
            key_id, state = eventually(lambda k=key: self.look_up(k),
                                       "a key is looked up")
            if state is not None:
                self.ids[key_id] = key
                told.states[key] = state
        self.tell_broker()
        held = Counter(position for g in self.bench.gateways for position in {
            e["position"] for e in g.find_log("message_held")})
        told.shared = {position for position, n in held.items() if n > 1}
        losses = [e for g in self.bench.gateways for e in g.events
                  if e.get("event") == "source_lost"]
        told.counted = sum(e["count"] for e in losses)
        told.counted_at = {e["position"] for e in losses if "position" in e}
        self.tell_samples({key: key_id for key_id, key in self.ids.items()})

    def tell_samples(self, ids):
        """Records have the key's id in their names."""
        for at, positions, letters in self.watcher.samples:
            states = {name.rpartition(":")[2]: letter
                      for name, letter in letters.items()}
            for position, key in positions:
                entry = self.told.entries.get(position)
                if entry is not None and key in (None, entry.key):
                    self.told.seen.append(Seen(
                        position, states.get(ids.get(entry.key)), at))


def ask(client, *words):
    """On a connection for that alone."""
    try:
        return client(*words)
    finally:
        client.close()


def has_loaded(redis):
    try:
        return ask(RedisClient(redis.path), "PING")
    except RedisError:
        return False
