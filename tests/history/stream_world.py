# SPDX-License-Identifier: BSD-2-Clause
"""A history of messages: a stream, the gateways that read it, what happens to
all of them, and what is left when that is over."""

import copy
import json
import signal
import threading
import time
from collections import Counter

from once import http, tap
from once.deliveries import Dead, Deliveries, Result, Seen
from once.gateway import write
from once.messages import Stream, as_text, fields_of, source
from once.redis import RedisClient, RedisError
from once.wait import PATIENCE, Late, eventually

from flow import (LEASE_S, Flow, Ledger, Operator, Producer, Watcher,
                  entry_of, send_keys)

ATTEMPTS = 4
TURN_S = 5  # the lease of an ordered stream
CLIENTS = 3
LOST = ("trimmed-unread", "trimmed-pending", "deleted")
# Two names of their own, and one that two gateways share.
INSTANCES = ("one", "two", "pair", "pair")
FAULTS = {
    "gateway": {"kill": 4, "freeze": 4, "drain": 3, "reload": 3, "leave": 2},
    "store": {"kill": 4, "freeze": 3, "disconnect": 2, "flush": 1},
    "broker": {"kill": 4, "freeze": 3, "disconnect": 3, "destroy": 2,
               "reset": 2, "trim": 2, "delete": 2}}
# What leaves no doubt about how many messages were lost.
GENTLE = {
    "gateway": {"freeze": 4, "drain": 3, "reload": 3, "leave": 2},
    "store": FAULTS["store"],
    "broker": {"freeze": 3, "disconnect": 3, "trim": 4}}
LANES = ("gateway", "gateway", "store", "broker")
# Removes entries in one step, and tells which.
REMOVE = """
    local gone = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])
    for _, each in ipairs(gone) do redis.call('XDEL', KEYS[1], each[1]) end
    return gone"""
TRIM = """
    local all = redis.call('XLEN', KEYS[1])
    local gone = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT',
        math.max(all - ARGV[1], 0))
    redis.call('XTRIM', KEYS[1], 'MAXLEN', ARGV[1])
    return gone"""


class StreamWorld:
    def __init__(self, bench, seed, ordered):
        self.bench, self.flow = bench, Flow(seed, ordered)
        options = self.flow.random("options", ordered)
        self.faults = options.choice((FAULTS, FAULTS, GENTLE))
        self.start = time.monotonic()
        self.over, self.ended = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.counts = Counter()
        self.broken = []  # what went wrong in a thread of ours
        hold = options.choice(("1h", "1h", "2s"))
        self.told = Deliveries(ATTEMPTS, ordered, hold == "1h")
        durable = ("--appendonly", "yes", "--appendfsync", "always")
        self.store = bench.own_redis(*durable)
        self.broker = bench.own_redis(*durable)
        self.stream = Stream(self.broker)
        self.ledger = Ledger(self.flow, self.told, self.now)
        bench.upstreams.append(self.ledger)
        self.producer = Producer(self)
        self.watcher, self.operator = Watcher(self), Operator(self)
        members = {
            "results": {"stream": "done"}, "hold": hold,
            "in_flight": options.choice((4, 16, 64)),
            "retry": {"first": "50ms", "most": "300ms",
                      "attempts": ATTEMPTS}}
        if ordered:
            members["order_by"] = ["/account"]
        self.configs = [self.config(name, options, members)
                        for name in INSTANCES]
        self.busy = [threading.Lock() for _ in INSTANCES]
        self.gateways = [bench.serve(config) for config in self.configs]

    def config(self, instance, options, members):
        config = self.bench.config(
            self.ledger.url, {
                "lease": f"{LEASE_S}s", "in_flight": options.choice(
                    ("reject", "wait")), "wait_timeout": "2s",
                "max_attempts": ATTEMPTS, "namespace": "charges"},
            {"timeout": "5s", "connect_timeout": "1s"}, self.store.url,
            workers=options.randint(1, 2), instance=instance,
            admin={"listen": "127.0.0.1:0"}, drain_timeout="2s",
            store={"timeout": "500ms"})
        source(config, self.stream, **copy.deepcopy(members))
        return config

    def now(self):
        return time.monotonic() - self.start

    # --- threads -----------------------------------------------------------

    def guarded(self, function, *args):
        """Runs in a thread; keeps what it raises."""
        def run():
            try:
                function(*args)
            except BaseException as error:
                self.broken.append(error)
                self.over.set()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

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
                   for lane in enumerate(LANES)]
        threads += [self.guarded(send_keys, self, n) for n in range(CLIENTS)]
        threads += [self.guarded(self.producer.run),
                    self.guarded(self.watcher.run)]
        self.over.wait(seconds)
        self.over.set()
        for thread in threads:
            thread.join(60)
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

    def gateway_kill(self, random):
        number = self.one_gateway(random)
        self.told.forgot = True
        self.gateways[number].kill()
        self.over.wait(random.uniform(0, 2.5))
        self.gateways[number] = self.bench.serve(self.configs[number])
        self.busy[number].release()

    def gateway_freeze(self, random):
        """At times for longer than its leases."""
        number = self.one_gateway(random)
        longer = TURN_S if self.flow.ordered else 2 * LEASE_S
        self.gateways[number].signal(signal.SIGSTOP)
        self.over.wait(random.choice((0, 0, longer))
                       + random.uniform(0.1, 1.5))
        self.gateways[number].signal(signal.SIGCONT)
        self.busy[number].release()

    def gateway_drain(self, random):
        number = self.one_gateway(random)
        self.gateways[number].stop()
        self.gateways[number] = self.bench.serve(self.configs[number])
        self.busy[number].release()

    def gateway_reload(self, random):
        """With another number in flight."""
        number = self.one_gateway(random)
        config = copy.deepcopy(self.configs[number])
        config["sources"]["charges"]["in_flight"] = random.choice((2, 9, 99))
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

    # --- faults: the store -------------------------------------------------

    def kill(self, redis, random):
        redis.kill()
        self.over.wait(random.choice((0, random.uniform(0, 1.5))))
        redis.start()
        eventually(lambda: self.has_loaded(redis), "Redis has its data")

    def has_loaded(self, redis):
        try:
            return self.ask(redis, "PING")
        except RedisError:
            return False

    def freeze(self, redis, random):
        redis.freeze()
        self.over.wait(random.uniform(0.1, 2))
        redis.thaw()

    def ask(self, redis, *words):
        """On a connection of its own."""
        client = RedisClient(redis.path, PATIENCE)
        try:
            return client(*words)
        finally:
            client.close()

    def store_kill(self, random):
        self.kill(self.store, random)

    def store_freeze(self, random):
        self.freeze(self.store, random)

    def store_disconnect(self, random):
        self.ask(self.store, "CLIENT", "KILL", "TYPE", "normal")

    def store_flush(self, random):
        self.ask(self.store, "SCRIPT", "FLUSH")

    # --- faults: the broker ------------------------------------------------

    def broker_kill(self, random):
        self.told.forgot = True
        self.kill(self.broker, random)

    def broker_freeze(self, random):
        self.freeze(self.broker, random)

    def broker_disconnect(self, random):
        self.ask(self.broker, "CLIENT", "KILL", "TYPE", "normal")

    def broker_destroy(self, random):
        """Each reader sets the new group back to where it was itself."""
        self.told.resets += len(self.gateways)
        self.told.forgot = True
        self.ask(self.broker, "XGROUP", "DESTROY", self.stream.name,
                 self.stream.group)

    def broker_reset(self, random):
        """All of it comes again."""
        self.told.resets += 1
        self.told.forgot = True
        try:
            self.ask(self.broker, "XGROUP", "SETID", self.stream.name,
                     self.stream.group, "0")
        except RedisError:
            pass  # there is no group at this moment

    def broker_trim(self, random):
        """To a few of what was not read, or is pending, or is done."""
        left = random.choice((0, 10, 100))
        gone = self.ask(
            self.broker, "EVAL", TRIM, 1, self.stream.name, left) or []
        self.lose(gone)
        self.told.trimmed |= {as_text(position) for position, _ in gone}

    def broker_delete(self, random):
        """A few of the youngest."""
        newest = self.ask(self.broker, "XREVRANGE", self.stream.name, "+",
                          "-", "COUNT", 20)
        if newest:
            self.lose(self.ask(
                self.broker, "EVAL", REMOVE, 1, self.stream.name,
                random.choice(newest)[0], random.randint(1, 5)) or [])

    def lose(self, entries):
        with self.lock:
            for position, fields in entries:
                self.told.entries[as_text(position)] = entry_of(fields)
                self.told.gone.add(as_text(position))

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

    def entry_at(self, position):
        if position in self.told.entries:
            return self.told.entries[position]
        found = self.ask(self.broker, "XRANGE", self.stream.name, position,
                         position)
        return entry_of(found[0][1]) if found else None

    # --- the end -----------------------------------------------------------

    def heal(self):
        """Waits until all messages have ended."""
        self.ledger.honest = True
        for redis in (self.store, self.broker):
            redis.client = RedisClient(redis.path)  # it may have been cut
        for gateway in self.gateways:
            eventually(lambda g=gateway: http.ask(
                g.ready["admin"], http.build(
                    "GET", "/readyz", host="localhost")).status == 200,
                "the gateway is ready again", 3 * PATIENCE)
        self.healed = self.now()
        try:
            eventually(self.is_through, "all messages have ended",
                       3 * PATIENCE)
        except Late:
            self.tell()
            for position in sorted(self.told.pending)[:3]:
                self.show(self.told.entries[position].key)
            raise
        finally:
            self.watcher.look()
        self.through = self.now()

    def show(self, key):
        """All that is known of a key."""
        for line in (*self.told.story(key), *self.logs(key)):
            tap.comment("  " + line)

    def is_through(self):
        try:
            return self.stream.pending() == []
        except (ValueError, RedisError):
            return False  # the group is about to be made

    def stop(self):
        """All gateways must end well."""
        for gateway in self.gateways:
            gateway.stop()

    def logs(self, key):
        """The log lines of the gateways about a key."""
        mine = {p for p, e in self.told.entries.items() if e.key == key}
        mine |= {key_id for key_id, k in self.ids.items() if k == key}
        lines = [(e["ts"], g.pid, e) for g in self.bench.gateways
                 for e in g.events if mine & {
                     e.get("position"), e.get("key_id"), e.get("id")}]
        return [f"{at} pid {pid} {e}" for at, pid, e in sorted(
            lines, key=lambda line: line[:2])]

    # --- what is known in the end ------------------------------------------

    def tell(self):
        """Completes the history by what is left."""
        told = self.told
        for position, fields in self.broker(
                "XRANGE", self.stream.name, "-", "+") or []:
            told.entries[as_text(position)] = entry_of(fields)
        told.pending = {as_text(p) for p in self.stream.pending()}
        told.asked = {entry.key for entry in self.producer.known}
        ids = self.look_up(told.asked)
        self.ids = ids
        told.results = [self.result_of(r, ids)
                        for r in self.stream.entries("done")]
        told.dead = [self.dead_of(p, fields_of(f)) for p, f in self.broker(
            "XRANGE", f"{self.stream.name}:dead", "-", "+")]
        told.counted = sum(
            e["count"] for g in self.bench.gateways
            for e in g.events if e.get("event") == "source_lost")
        self.tell_samples({key: key_id for key_id, key in ids.items()})

    def look_up(self, keys):
        """The keys by their ids; their states are noted."""
        ids = {}
        for key in keys:
            got = self.admin("POST", "/keys/lookup", {
                "namespace": "charges", "key": key,
                "scope": {"Authorization": http.TENANT}})
            if got.status == 200:
                found = got.json()
                ids[found["key_id"]] = key
                self.told.states[key] = found["state"]
        return ids

    def result_of(self, fields, ids):
        return Result(
            as_text(fields["onceproxy-position"]),
            ids.get(as_text(fields["onceproxy-key-id"])),
            json.loads(fields["body"])["execution"],
            int(fields["onceproxy-status"]),
            "onceproxy-duplicate" in fields)

    def dead_of(self, position, fields):
        at = int(as_text(position).partition("-")[0]) / 1000
        return Dead(as_text(fields["onceproxy-position"]),
                    as_text(fields["onceproxy-reason"]),
                    at - time.time() + self.now())

    def tell_samples(self, ids):
        """Records have the key's id in their names."""
        for at, positions, letters in self.watcher.samples:
            states = {name.rpartition(":")[2]: letter
                      for name, letter in letters.items()}
            for position in positions:
                entry = self.told.entries.get(position)
                if entry is not None:
                    self.told.seen.append(Seen(
                        position, states.get(ids.get(entry.key)), at))
