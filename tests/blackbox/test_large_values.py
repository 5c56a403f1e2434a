# SPDX-License-Identifier: BSD-2-Clause
"""Answers that take longer than store.timeout to travel to Redis or back:
that is for silence, not for bytes that flow, and what is large holds up
nothing small."""

import random
import signal
import threading
import time

from once import tap
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import eventually

MIB = 1 << 20
BODY = random.Random(1).randbytes(6 * MIB)
RATE = 3 * MIB // 2  # of the wire, per second
TIMEOUT_S = 2  # store.timeout: half of what BODY takes
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
LARGE = {"max_response_body": "8MiB"}
STORE = {"timeout": f"{TIMEOUT_S}s", "compression": "none"}


def started(bench, wire, idempotency=None, store=None, **members):
    """A gateway at the wire, and an upstream whose answer to the key "large"
    is."""
    upstream = bench.upstream()

    def script(connection, request):
        large = request.get("Idempotency-Key") == "large"
        connection.send(answer(201, BODY if large else b"small"))
    upstream.reply = script
    gateway = bench.gateway(
        upstream, {**LARGE, **(idempotency or {})}, redis=wire.url, workers=1,
        store={**STORE, **(store or {})}, cache={"size": 0}, **members)
    return upstream, gateway


class Others(threading.Thread):
    """Payments of others, one after the other, and how they fared."""

    def __init__(self, gateway):
        super().__init__(daemon=True)
        self.gateway, self.over, self.seen = gateway, False, []
        self.start()

    def run(self):
        while not self.over:
            self.seen.append(
                self.gateway.ask(f"small-{len(self.seen)}").status)

    def check(self):
        """All were paid: who had to wait for the large one is answered 503
        after store.timeout."""
        self.over = True
        self.join()
        equal(set(self.seen), {201})
        assert len(self.seen) > 5, self.seen


def is_large(got):
    equal((got.status, len(got.body)), (201, len(BODY)))
    equal(got.body == BODY, True)


def is_slow(began):
    """It took longer than store.timeout, so the test has shown something."""
    assert time.monotonic() - began > 1.5 * TIMEOUT_S


@test
def one_on_its_way_to_redis_holds_up_nobody(bench):
    wire = bench.wire()
    upstream, gateway = started(bench, wire)
    equal(gateway.ask("first").status, 201)
    wire.limit(RATE)
    began = time.monotonic()
    first = bench.background(gateway.ask, "large")
    others = Others(gateway)
    is_large(first.result())
    others.check()
    is_slow(began)
    wire.limit(None)
    got = gateway.ask("large")
    equal(got.replayed, True)
    is_large(got)
    equal(upstream.count(key="large"), 1)
    for event in ("store_down", "settle_late", "journal_delivered"):
        equal(gateway.find_log(event), [])


@test
def one_that_is_replayed_holds_up_nobody(bench):
    wire = bench.wire()
    upstream, gateway = started(bench, wire)
    is_large(gateway.ask("large"))
    wire.limit(RATE)
    began = time.monotonic()
    retries = [bench.background(gateway.ask, "large") for _ in range(2)]
    others = Others(gateway)
    for retry in retries:
        is_large(retry.result())
        equal(retry.result().replayed, True)
    others.check()
    is_slow(began)
    equal(upstream.count(key="large"), 1)
    equal(gateway.find_log("store_down"), [])


def left_in_a_journal(bench, keys):
    """A dead gateway's journal has the outcomes of these keys, in this
    order."""
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream()
    holds = {key: Hold() for key in keys}

    def script(connection, request):
        key = request.get("Idempotency-Key")
        if key in holds:
            holds[key].wait()
        connection.send(answer(
            201, BODY if key.startswith("large") else b"small"))
    upstream.reply = script
    gateway = bench.gateway(upstream, {**LARGE, "lease": "1h"}, redis=redis,
                            workers=1, store=STORE)
    firsts = [(holds[key], bench.background(gateway.ask, key))
              for key in keys]
    for hold, _ in firsts:
        hold.wait_arrived()
    redis.kill()
    for hold, first in firsts:
        hold.release()
        equal(first.result().status, 201)
    gateway.kill()
    redis.start()
    return redis, upstream, gateway.config


def delivered(gateway):
    """Of the journal's entries, in this order: the ids of their keys."""
    return [e["key_id"] for e in gateway.find_log("journal_delivered")]


@test
def one_in_a_journal_holds_up_nothing_behind_it(bench):
    redis, upstream, config = left_in_a_journal(
        bench, ["large", "large-2", "a", "b", "c"])
    wire = bench.wire(redis)
    wire.limit(RATE)
    config["store"]["redis"] = wire.url
    began = time.monotonic()
    gateway = bench.serve(config)
    others = Others(gateway)
    gateway.wait_until(lambda: len(delivered(gateway)) >= 3)
    small = set(delivered(gateway)[:3])
    for key in ("a", "b", "c"):
        got = gateway.ask(key)
        equal((got.status, got.body, got.replayed), (201, b"small", True))
    gateway.wait_until(lambda: len(delivered(gateway)) == 5)
    others.check()
    is_slow(began)
    equal(len(small | set(delivered(gateway)[3:])), 5)
    wire.limit(None)
    for key in ("large", "large-2"):
        is_large(gateway.ask(key))
        equal(upstream.count(key=key), 1)
    equal(gateway.find_log("store_down"), [])


@test
def one_that_the_memory_cannot_hold_is_delivered_as_well(bench):
    redis, upstream, config = left_in_a_journal(bench, ["large", "a", "b"])
    config["limits"] = {"in_flight_bytes": "4MiB"}
    gateway = bench.serve(config)
    gateway.wait_until(lambda: len(delivered(gateway)) == 3)
    for key in ("a", "b"):
        equal(gateway.ask(key).replayed, True)
    # It is in Redis, and this gateway cannot read it.
    equal(gateway.ask("large").problem, "overloaded")
    equal(upstream.count(key="large"), 1)


@test
def an_entry_that_redis_refuses_holds_up_nothing_behind_it(bench):
    redis, upstream, config = left_in_a_journal(bench, ["a", "b", "c"])
    helper = bench.serve({**config, "state_dir": bench.folder()})
    key_id = helper.ask("a").json()["instance"].rsplit(":", 1)[-1]
    name, = [n for n in redis.keys() if n.endswith(key_id.encode())]
    record = redis("GET", name)
    # No record can be read or written there.
    redis("DEL", name)
    redis("RPUSH", name, "x")
    gateway = bench.serve(config)
    gateway.wait_until(lambda: len(delivered(gateway)) == 2)
    gateway.wait_for_log("store_refused", operation="complete")
    redis("DEL", name)
    redis("SET", name, record)
    gateway.wait_until(lambda: len(delivered(gateway)) == 3)
    for key in ("a", "b", "c"):
        equal(gateway.ask(key).replayed, True)
        equal(upstream.count(key=key), 1)


@each([("retry", "retry"), ("reconcile", {"reconcile": "/by/{key}"})])
def its_lease_is_renewed_as_long_as_it_travels(bench, policy):
    """Or another one would execute, or ask, before it is there."""
    wire = bench.wire()
    upstream, gateway = started(
        bench, wire, {"lease": "3s", "on_unknown": policy})
    other = bench.serve({
        **gateway.config, "state_dir": bench.folder(),
        "store": {**gateway.config["store"], "redis": bench.redis.url}})
    equal(gateway.ask("first").status, 201)
    wire.limit(RATE)
    first = bench.background(gateway.ask, "large")
    upstream.wait_for(2)
    eventually(lambda: (got := other.ask("large")).problem != "in-flight"
               and is_large(got) is None)
    is_large(first.result())
    equal(upstream.count(key="large"), 1)
    equal(upstream.count(), 2)
    for event in ("lease_lost", "fenced", "outcome_unknown"):
        equal(gateway.find_log(event), [])


@test
def a_drain_that_is_over_puts_it_into_the_journal(bench):
    wire = bench.wire()
    upstream, gateway = started(
        bench, wire, {"lease": "1h"}, drain_timeout="100ms",
        log={"level": "debug"})
    wire.limit(RATE // 8)
    first = bench.background(gateway.ask, "large")
    gateway.wait_for_log("step", step="COMPLETED")
    gateway.signal(signal.SIGTERM)
    is_large(first.result())
    equal(gateway.wait(), 0)
    equal(gateway.find_log("settle_lost"), [])
    wire.limit(None)
    other = bench.serve(gateway.config)
    other.wait_for_log("journal_delivered")
    got = other.ask("large")
    equal(got.replayed, True)
    is_large(got)
    equal(upstream.count(), 1)


# --- an answer that does not come -------------------------------------------

def stored_and_held(bench, store=None, **idempotency):
    """A gateway that knows that "large" was executed, and whose fetch of the
    answer is held back."""
    wire = bench.wire()
    upstream, gateway = started(bench, wire, idempotency, store)
    helper = bench.serve({
        **gateway.config, "state_dir": bench.folder(),
        "store": {**gateway.config["store"], "redis": bench.redis.url}})
    is_large(helper.ask("large"))
    equal(gateway.ask("first").status, 201)
    return wire, upstream, gateway, helper


@test
def a_fetch_that_fails_is_not_taken_for_a_store_that_is_away(bench):
    """What is known to be executed is not forwarded, whatever on_store_down
    says."""
    wire, upstream, gateway, _ = stored_and_held(
        bench, on_store_down="forward")
    wire.refuses = True
    got = gateway.ask("large")
    equal((got.status, got.problem), (503, "store-unavailable"))
    equal(upstream.count(key="large"), 1)
    gateway.wait_for_log("store_large_down")
    equal(gateway.ask("small").status, 201)
    wire.refuses = False
    eventually(lambda: (got := gateway.ask("large")).status == 201
               and is_large(got) is None)
    equal(upstream.count(key="large"), 1)


@test
def an_answer_that_was_replaced_before_it_was_fetched_is_not_given(bench):
    """An operator deletes the record, and the key is used for another
    payment."""
    wire, upstream, gateway, helper = stored_and_held(
        bench, {"timeout": "30s"})
    wire.hold_new()
    count = len(wire.lines)
    retry = bench.background(gateway.ask, "large")
    eventually(lambda: len(wire.lines) > count, "the fetch")
    for name in bench.redis.keys():
        if b":r:" in name and bench.redis("STRLEN", name) > MIB:
            bench.redis("DEL", name)
    is_large(helper.ask("large", body=b'{"amount":2}'))
    wire.let_new()
    got = retry.result()
    equal((got.status, got.problem), (503, "store-unavailable"))
    equal(gateway.ask("large").problem, "key-reused")
    equal(upstream.count(key="large"), 2)


@test
def a_fenced_owner_that_cannot_fetch_the_answer_gives_none_of_its_own(bench):
    wire = bench.wire()
    upstream = bench.upstream()
    holds = {"1": Hold(), "2": Hold()}

    def script(connection, request):
        attempt = request.get("Idempotency-Attempt")
        holds[attempt].wait()
        connection.send(answer(201, b"own" if attempt == "1" else BODY))
    upstream.reply = script
    one = bench.gateway(
        upstream, {**LARGE, "lease": "2s", "on_unknown": "retry"},
        redis=wire.url, workers=1, store=STORE)
    two = bench.serve({
        **one.config, "state_dir": bench.folder(),
        "store": {**one.config["store"], "redis": bench.redis.url}})
    first = bench.background(one.ask, "k")
    holds["1"].wait_arrived()
    one.signal(signal.SIGSTOP)
    holds["2"].release()
    eventually(lambda: (got := two.ask("k")).problem != "in-flight"
               and is_large(got) is None, "the second attempt")
    wire.refuses = True
    holds["1"].release()
    one.signal(signal.SIGCONT)
    got = first.result()
    equal((got.status, got.problem), (503, "store-unavailable"))
    equal(got.json()["title"],
          "The stored answer cannot be fetched at the moment")
    wire.refuses = False
    eventually(lambda: (got := one.ask("k")).status == 201
               and is_large(got) is None, "the record's answer")
    equal(upstream.count(), 2)


# --- slow, whatever the size ------------------------------------------------

@test
def replies_that_trickle_are_waited_for(bench):
    """Each takes longer than store.timeout.  Without the right to INFO the
    gateway does not ask for it now and then, which would take a minute."""
    redis = bench.own_redis()
    redis("ACL", "SETUSER", "default", "-info")
    proxy = bench.proxy(redis.url)
    upstream = bench.upstream()
    gateway = bench.gateway(
        upstream, redis=proxy.url, workers=1, cache={"size": 0},
        store={"timeout": f"{TIMEOUT_S}s", "shards": 1})
    equal(gateway.ask("first").status, 201)
    proxy.trickle(10, 0.25 * TIMEOUT_S)
    began = time.monotonic()
    equal(gateway.ask("k").status, 201)
    assert time.monotonic() - began > 2 * TIMEOUT_S, "it was not slow"
    proxy.trickle()
    got = gateway.ask("k")
    equal((got.status, got.replayed), (201, True))
    equal(upstream.count(), 2)
    for event in ("store_down", "settle_late"):
        equal(gateway.find_log(event), [])


tap.main()
