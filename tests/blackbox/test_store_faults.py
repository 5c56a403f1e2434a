# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6: whatever happens to Redis, at whatever moment, a key is
executed once, and the answer that was seen is the one that retries get."""

import itertools
import os
import threading

from once import tap
from once.redis import RedisClient, RedisError
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
LOADED_SLOWLY = ("--key-load-delay", "20000",
                 "--loading-process-events-interval-bytes", "1024")
KEYS_TO_LOAD = 500
# No cache: answers are what Redis has, not what a worker remembers.
NO_CACHE = {"size": 0}
# The problems that a retry may get until the outcome is stored.
TRANSIENT = ("in-flight", "store-unavailable", "outcome-unknown")


class Fault:
    """Something that happens to Redis, until heal()."""

    def __init__(self, redis):
        self.redis = redis

    def cut(self):
        """Cuts connections, so that they are made anew."""
        self.redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    def set(self, name, value):
        self.redis("CONFIG", "SET", name, value)


class Killed(Fault):
    def harm(self):
        self.redis.kill()

    def heal(self):
        self.redis.start()


class Frozen(Fault):
    def harm(self):
        self.redis.freeze()

    def heal(self):
        self.redis.thaw()


class Full(Fault):
    """OOM."""
    stores = True  # outcomes are still stored

    def harm(self):
        self.set("maxmemory", 1)

    def heal(self):
        self.set("maxmemory", 0)


class Replica(Fault):
    """READONLY."""

    def harm(self):
        self.redis("REPLICAOF", "127.0.0.1", 1)

    def heal(self):
        self.redis("REPLICAOF", "NO", "ONE")


class Unsaved(Fault):
    """MISCONF: a folder stands where the snapshot should go."""

    def save(self, status):
        self.redis("BGSAVE", "SCHEDULE")
        eventually(lambda: f"rdb_last_bgsave_status:{status}" in
                   self.redis("INFO", "persistence").decode()
                   and b"rdb_bgsave_in_progress:0" in
                   self.redis("INFO", "persistence"), "the snapshot")

    def harm(self):
        dump = os.path.join(self.redis.folder, "dump.rdb")
        if os.path.isfile(dump):
            os.unlink(dump)
        os.mkdir(dump)
        self.set("save", "3600 1000000")
        self.save("err")

    def heal(self):
        os.rmdir(os.path.join(self.redis.folder, "dump.rdb"))
        self.save("ok")


class Crowded(Fault):
    """maxclients: no connection is left for us."""

    def harm(self):
        self.set("maxclients", 1)
        self.cut()

    def heal(self):
        self.set("maxclients", 10000)


class Locked(Fault):
    """NOAUTH."""

    def harm(self):
        self.set("requirepass", "another secret")
        self.cut()

    def heal(self):
        self.set("requirepass", "")


class Forbidden(Fault):
    """NOPERM."""

    def harm(self):
        self.redis("ACL", "SETUSER", "default", "-eval", "-evalsha",
                   "-fcall")

    def heal(self):
        self.redis("ACL", "SETUSER", "default", "+eval", "+evalsha",
                   "+fcall")


class Loading(Fault):
    """LOADING: it was restarted, and is reading its data."""

    def harm(self):
        redis = self.redis
        for number in range(KEYS_TO_LOAD):
            redis("SET", f"load:{number}", os.urandom(2000))
        # It answers while it reads a snapshot, not while it reads a log.
        redis("BGREWRITEAOF")
        eventually(lambda: b"aof_rewrite_in_progress:0" in
                   redis("INFO", "persistence"), "the log is rewritten")
        redis.kill()
        redis.options += LOADED_SLOWLY
        redis.launch()
        self.second = eventually(self.is_loading, "it is loading")

    def is_loading(self):
        try:
            client = RedisClient(self.redis.path)
        except OSError:
            return None
        try:
            client("PING")
        except RedisError as error:
            if str(error).startswith("LOADING"):
                return client
        except (AssertionError, OSError):
            pass
        client.close()
        return None

    def heal(self):
        self.second("CONFIG", "SET", "key-load-delay", 0)
        self.redis.wait_started()
        self.second.close()


FAULTS = [(kind.__name__.lower(), kind) for kind in (
    Killed, Frozen, Full, Replica, Unsaved, Crowded, Locked, Forbidden,
    Loading)]


def counting():
    """An answer that no two executions share."""
    numbers = itertools.count(1)

    def script(connection, request):
        connection.send(answer(body=b'{"execution":%d}' % next(numbers)))
    return script


def started(bench, kind):
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream(counting())
    gateway = bench.gateway(upstream, redis=redis, cache=NO_CACHE)
    return upstream, gateway, kind(redis)


def replayed(gateway, key):
    """The stored answer, once Redis is well again."""
    def ask():
        got = gateway.ask(key)
        assert got.status == 201 or got.problem in TRANSIENT, got
        return got.replayed and got
    return eventually(ask, f"the stored answer of {key}")


@each(FAULTS)
def before_the_claim_nothing_is_forwarded(bench, kind):
    upstream, gateway, fault = started(bench, kind)
    equal(gateway.ask("before").status, 201)
    fault.harm()
    for number in range(4):
        got = gateway.ask(f"k{number}")
        equal((got.status, got.problem), (503, "store-unavailable"))
        assert int(got.get("Retry-After")) >= 1
    equal(upstream.count(), 1)
    fault.heal()
    for number in range(4):
        eventually(lambda n=number: gateway.ask(f"k{n}").status == 201,
                   "service is back")
        equal(upstream.count(key=f"k{number}"), 1)
    assert replayed(gateway, "before")
    equal(upstream.count(), 5)


@each(FAULTS)
def before_the_outcome_is_stored_nothing_is_lost(bench, kind):
    upstream, gateway, fault = started(bench, kind)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    fault.harm()
    hold.release()
    seen = first.result()
    equal((seen.status, seen.replayed), (201, False))
    if getattr(fault, "stores", False):
        equal(gateway.find_log("settle_late"), [])
    fault.heal()
    equal(replayed(gateway, "k").body, seen.body)
    equal(upstream.count(), 1)


class Load:
    """Clients that send key after key, each until it is paid, and note the
    answers."""

    def __init__(self, bench, gateway, clients=4):
        self.gateway = gateway
        self.enough = threading.Event()
        self.seen = {}  # key: bodies
        self.refused = 0
        self.tasks = [bench.background(self.client, n)
                      for n in range(clients)]

    def client(self, number):
        for turn in itertools.count():
            if self.enough.is_set():
                return
            key = f"k{number}-{turn}"
            for _ in range(2):  # the first, and a retry
                self.pay(key)

    def pay(self, key):
        while True:
            got = self.gateway.ask(key)
            if got.status == 201:
                self.seen.setdefault(key, set()).add(got.body)
                return
            assert got.problem in TRANSIENT, got
            self.refused += 1

    def wait_paid(self, more):
        count = len(self.seen) + more
        eventually(lambda: len(self.seen) >= count, f"{more} more are paid")

    def check(self, upstream):
        """After the fault: all are paid once, with one answer each."""
        self.enough.set()
        for task in self.tasks:
            task.result()
        for key, bodies in self.seen.items():
            equal(len(bodies), 1, key)
            equal(upstream.count(key=key), 1, key)
            equal(replayed(self.gateway, key).body, min(bodies))
        equal(upstream.count(), len(self.seen))


@each(FAULTS)
def under_load_each_key_is_executed_once(bench, kind):
    upstream, gateway, fault = started(bench, kind)
    load = Load(bench, gateway)
    for _ in range(1 if kind is Loading else 3):
        load.wait_paid(10)
        refused = load.refused
        fault.harm()
        eventually(lambda: load.refused >= refused + 4, "it is felt")
        fault.heal()
    load.wait_paid(10)
    load.check(upstream)


def again_and_again(bench, harm):
    upstream, gateway, fault = started(bench, Fault)
    load = Load(bench, gateway)
    for _ in range(30):
        harm(fault)
        load.wait_paid(3)
    load.check(upstream)
    return load


@test
def connections_that_are_cut_again_and_again_execute_nothing_twice(bench):
    again_and_again(bench, Fault.cut)


@test
def scripts_that_are_flushed_under_load_cost_no_request(bench):
    load = again_and_again(
        bench, lambda fault: fault.redis("SCRIPT", "FLUSH"))
    equal(load.refused, 0)


tap.main()
