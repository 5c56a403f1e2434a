# SPDX-License-Identifier: BSD-2-Clause
"""The world of a history whose messages are entries of a Redis stream."""

import json
import time

from once.deliveries import Dead, Entry, Result, place
from once.messages import Stream, as_text, fields_of, source
from once.redis import RedisClient, RedisError
from once.wait import PATIENCE

from flow import BACKLOG, body_of
from message_world import DURABLE, FAULTS, GENTLE, MessageWorld, ask

# Removes entries in one step, and tells which.
REMOVE = """
    local gone = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])
    for _, each in ipairs(gone) do redis.call('XDEL', KEYS[1], each[1]) end
    return gone"""
# The same from the beginning, and what the group had of it: the last that it
# had read, and what was pending.
TRIM = """
    local key, group = KEYS[1], ARGV[2]
    local all = redis.call('XLEN', key)
    local gone = redis.call('XRANGE', key, '-', '+', 'COUNT',
        math.max(all - ARGV[1], 0))
    local last, pending = '', {}
    local groups = redis.pcall('XINFO', 'GROUPS', key)
    for _, each in ipairs(groups.err and {} or groups) do
        local m = {}
        for i = 1, #each, 2 do m[each[i]] = each[i + 1] end
        if m.name == group then
            last = m['last-delivered-id']
            pending = redis.call('XPENDING', key, group, '-', '+', 100000)
        end
    end
    redis.call('XTRIM', key, 'MAXLEN', ARGV[1])
    return {gone or {}, last, pending}"""
# What the group has read, and is not pending.
ENDED = """
    local key, group = KEYS[1], ARGV[1]
    local last
    for _, each in ipairs(redis.call('XINFO', 'GROUPS', key)) do
        local m = {}
        for i = 1, #each, 2 do m[each[i]] = each[i + 1] end
        if m.name == group then last = m['last-delivered-id'] end
    end
    if not last then return {} end
    local pending, found = {}, {}
    for _, each in ipairs(redis.call(
        'XPENDING', key, group, '-', '+', 100000)) do
        pending[each[1]] = true
    end
    for _, each in ipairs(redis.call('XRANGE', key, '-', last)) do
        if not pending[each[1]] then found[#found + 1] = each[1] end
    end
    return found"""
BROKER = {"kill": 4, "freeze": 3, "disconnect": 3, "destroy": 2, "reset": 2,
          "trim": 2, "delete": 2}


class StreamWorld(MessageWorld):
    TABLES = (
        {**FAULTS, "broker": BROKER}, {**FAULTS, "broker": BROKER},
        # What leaves no doubt about how many messages were lost.
        {**GENTLE, "broker": {"freeze": 3, "disconnect": 3, "trim": 4}})

    def make_broker(self):
        self.broker = self.bench.own_redis(*DURABLE)
        self.stream = Stream(self.broker)

    def add_source(self, config, members):
        if self.flow.ordered:
            members["order_by"] = ["/account"]
        source(config, self.stream, results={"stream": "done"}, **members)

    def producers(self):
        return [Producer(self).run]

    def broker_client(self, timeout=PATIENCE):
        return RedisClient(self.broker.path, timeout)

    # --- faults ------------------------------------------------------------

    def broker_kill(self, random):
        self.told.forgot = True
        self.kill(self.broker, random)

    def broker_freeze(self, random):
        self.freeze(self.broker, random)

    def broker_disconnect(self, random):
        self.told.tells_again = True  # who heard nothing of its counting
        ask(self.broker_client(), "CLIENT", "KILL", "TYPE", "normal")

    def broker_destroy(self, random):
        """And an operator, whom its readers wait for, makes it again."""
        self.told.resets += 1
        self.told.forgot = True
        names = self.stream.name, self.stream.group
        ask(self.broker_client(), "XGROUP", "DESTROY", *names)
        try:
            ask(self.broker_client(), "XGROUP", "CREATE", *names, "0",
                "MKSTREAM")
        except RedisError as error:  # a gateway was quicker
            assert str(error).startswith("BUSYGROUP"), error

    def broker_reset(self, random):
        """All of it comes again."""
        self.told.resets += 1
        self.told.forgot = True
        try:
            ask(self.broker_client(), "XGROUP", "SETID", self.stream.name,
                self.stream.group, "0")
        except RedisError:
            pass  # there is no group at this moment

    def broker_trim(self, random):
        """To a few of what was not read, or is pending, or is done."""
        left = random.choice((0, 10, 100))
        gone, last, pending = ask(
            self.broker_client(), "EVAL", TRIM, 1, self.stream.name, left,
            self.stream.group)
        self.lose(gone)
        trimmed = [as_text(position) for position, _ in gone]
        self.told.trimmed |= set(trimmed)
        self.told.stood.update(how_they_stood(
            trimmed, as_text(last), pending, f"{self.now():.3f}"))

    def broker_delete(self, random):
        """A few of the youngest."""
        newest = ask(self.broker_client(), "XREVRANGE", self.stream.name, "+",
                     "-", "COUNT", 20)
        if newest:
            self.lose(ask(
                self.broker_client(), "EVAL", REMOVE, 1, self.stream.name,
                random.choice(newest)[0], random.randint(1, 5)) or [])

    def lose(self, entries):
        with self.lock:
            for position, fields in entries:
                self.told.entries[as_text(position)] = entry_of(fields)
                self.told.gone.add(as_text(position))

    # --- what is there -----------------------------------------------------

    def ended_positions(self):
        return [(as_text(p), None) for p in ask(
            self.broker_client(2), "EVAL", ENDED, 1, self.stream.name,
            self.stream.group)]

    def entries_at(self, position):
        if position in self.told.entries:
            return [self.told.entries[position]]
        return [entry_of(fields) for _, fields in ask(
            self.broker_client(), "XRANGE", self.stream.name, position,
            position)]

    def heal_broker(self):
        self.broker.client = RedisClient(self.broker.path)  # it was cut

    def is_through(self):
        try:
            return self.stream.pending() == []
        except (ValueError, RedisError):
            return False  # the group is about to be made

    def tell_broker(self):
        told, broker = self.told, self.stream.redis
        for position, fields in broker(
                "XRANGE", self.stream.name, "-", "+") or []:
            told.entries[as_text(position)] = entry_of(fields)
        told.letters = self.letters()
        told.pending = {as_text(p) for p in self.stream.pending()}
        told.results = [self.result_of(r) for r in self.stream.entries("done")]
        told.dead = [self.dead_of(p, fields_of(f)) for p, f in broker(
            "XRANGE", f"{self.stream.name}:dead", "-", "+")
            if "onceproxy-done" not in fields_of(f)]

    def result_of(self, fields):
        return Result(
            as_text(fields["onceproxy-position"]),
            self.ids.get(as_text(fields["onceproxy-key-id"])),
            json.loads(fields["body"])["execution"],
            int(fields["onceproxy-status"]),
            "onceproxy-duplicate" in fields)

    def dead_of(self, position, fields):
        at = int(as_text(position).partition("-")[0]) / 1000
        return Dead(as_text(fields["onceproxy-position"]),
                    as_text(fields["onceproxy-reason"]),
                    at - time.time() + self.now())


def how_they_stood(positions, last, pending, at):
    """In words, when they were removed."""
    whose = {as_text(p): f"pending for {as_text(name)}, idle for {idle} ms, "
                         f"delivered {count} times"
             for p, name, idle, count in pending}
    return {p: f"trimmed at {at}, " + (whose.get(p) or (
        "acknowledged" if last and place(p) <= place(last) else "unread"))
        for p in positions}


def entry_of(fields):
    """What an entry of the stream is, by its fields as Redis has them."""
    body = json.loads(fields_of(fields)["body"])
    return Entry(body["key"], body["account"])


class Producer:
    """Adds what the supply has, some a second time, each at a moment of its
    own."""

    def __init__(self, world):
        self.world, self.supply = world, world.supply
        self.client = None
        self.added = 0

    def run(self):
        while not self.world.over.is_set():
            random, entries = self.supply.take()
            for entry in entries:
                if not self.add(entry):
                    return
            if random.random() < 0.5:
                self.world.over.wait(random.uniform(0, 0.05))

    def add(self, entry):
        """Until it is there, maybe twice; False: it is over."""
        while not self.world.over.is_set():
            try:
                if self.client is None:
                    self.client = self.world.broker_client(5)
                if self.is_behind():
                    self.world.over.wait(0.1)
                    continue
                self.client("XADD", self.world.stream.name, "*", "body",
                            body_of(entry), "idempotency_key", entry.key)
                self.added += 1
                return True
            except (OSError, AssertionError, ValueError, RedisError):
                self.client = None
                self.world.over.wait(0.05)
        return False

    def is_behind(self):
        """The readers have too much to do."""
        ended = sum(self.client("XLEN", name) for name in (
            "done", f"{self.world.stream.name}:dead"))
        return self.added - ended - len(self.world.told.gone) > BACKLOG
