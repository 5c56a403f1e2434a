# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6: without Redis nothing is forwarded, and service comes
back by itself."""

import itertools
import re
import time

from once import tap
from once.http import build
from once.redis import RedisClient, RedisError
from once.tap import equal, test
from once.upstream import answer
from once.wait import eventually


NUMBERS = itertools.count()


def refused(gateway, key):
    got = gateway.ask(key)
    equal((got.status, got.problem), (503, "store-unavailable"))
    assert int(got.get("Retry-After")) >= 1
    equal(got.json()["retry"], "same-key")


def works(gateway):
    """New keys are executed again, soon and without help."""
    eventually(lambda: gateway.ask(f"after-{next(NUMBERS)}").status == 201,
               "service is back")


@test
def a_redis_that_died_means_503_and_nothing_is_forwarded(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(redis=redis)
    equal(gateway.ask("before").status, 201)
    redis.kill()
    for number in range(5):
        refused(gateway, f"k{number}")
    equal(upstream.count(), 1)
    gateway.wait_for_log("store_down")
    since = len(gateway.events)
    redis.start()
    works(gateway)
    gateway.wait_for_log("store_up", since)
    # Each worker finds its own way back.
    for number in range(5):
        eventually(lambda: gateway.ask(f"k{number}").status == 201)


@test
def a_route_may_forward_without_the_promise_while_redis_is_away(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(
        redis=redis, idempotency={"on_store_down": "forward"})
    redis.kill()
    for count in (1, 2):
        got = gateway.ask("k")
        equal((got.status, got.replayed, upstream.count()),
              (201, False, count))

@test
def what_redis_has_called_in_flight_is_not_forwarded_when_it_dies(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(redis=redis, idempotency={
        "on_store_down": "forward", "in_flight": "wait",
        "wait_timeout": "1s"}, log={"level": "debug"}, workers=1)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    retry = bench.background(gateway.ask, "k")
    gateway.wait_for_steps("WAITED", 1)
    redis.kill()
    got = retry.result()  # it has looked once more
    equal((got.status, got.problem), (503, "store-unavailable"))
    hold.release()
    first.result()
    equal(upstream.count(), 1)


@test
def workers_do_not_say_each_that_redis_is_gone_or_back(bench):
    """Nine connections; one may be back before another has noticed."""
    redis = bench.own_redis()
    upstream, gateway = bench.pair(
        redis=redis, workers=8, admin={"listen": "127.0.0.1:0"})
    for outage in (1, 2):
        redis.kill()
        gateway.wait_for_log("store_down")
        refused(gateway, f"k{outage}")
        since = len(gateway.events)
        redis.start()
        gateway.wait_for_log("store_up", since)
        works(gateway)
        # One for each reason, of which there may be four.
        assert len(gateway.find_log("store_down")) <= 4 * outage
        assert len(gateway.find_log("store_up")) <= 4 * outage


@test
def pass_through_needs_no_redis(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(redis=redis)
    redis.kill()
    equal(gateway.send(build("GET", "/x")).status, 201)


@test
def a_frozen_redis_means_503_within_its_timeout(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(redis=redis, store={"timeout": "1s"})
    equal(gateway.ask("before").status, 201)
    redis.freeze()
    started = time.monotonic()
    refused(gateway, "k")
    took = time.monotonic() - started
    assert 0.9 < took < 10, took
    equal(upstream.count(), 1)
    redis.thaw()
    works(gateway)


@test
def a_claim_that_came_too_late_is_given_back(bench):
    """Redis may have executed what we no longer wait for."""
    redis = bench.own_redis()
    upstream, gateway = bench.pair(redis=redis, store={"timeout": "1s"})
    equal(gateway.ask("before").status, 201)
    redis.freeze()
    refused(gateway, "k")
    redis.thaw()
    works(gateway)
    eventually(lambda: gateway.ask("k").status == 201, "the key is free")
    equal(upstream.count(key="k"), 1)
    assert gateway.ask("k").replayed


def on_a_wire(bench, timeout):
    """A gateway whose connections to Redis can be cut; Redis has its
    scripts."""
    wire = bench.wire()
    upstream, gateway = bench.pair(
        redis=wire, workers=1, store={"timeout": timeout})
    equal(gateway.ask("before").status, 201)
    return wire, upstream, gateway


@test
def a_claim_that_was_late_only_by_a_wrong_clock_is_made_again(bench):
    """The gateway takes Redis' clock to be ten seconds behind, as far as TIME
    says, which it asks for each second: so far its claims come too late."""
    wire = bench.wire()
    wire.edit = lambda data: re.sub(
        rb"\*2\r\n\$10\r\n(\d{10})\r\n",
        lambda found: b"*2\r\n$10\r\n%d\r\n" % (int(found[1]) - 10), data)
    upstream, gateway = bench.pair(
        redis=wire, workers=1, store={"timeout": "5s", "shards": 1})
    for number in range(4):
        pulses = wire.redis.calls("time")
        eventually(lambda: wire.redis.calls("time") > pulses, "a pulse")
        equal(gateway.ask(f"k{number}").status, 201)
    equal(upstream.count(), 4)


@test
def a_claim_whose_reply_is_lost_is_given_back(bench):
    wire, upstream, gateway = on_a_wire(bench, "5s")
    wire.lose_reply()
    refused(gateway, "k")
    # The release that gives it back is sent before a claim is answered.
    works(gateway)
    got = gateway.ask("k", body=b"another")
    equal((got.status, got.replayed), (201, False))
    equal(upstream.count(key="k"), 1)


@test
def a_claim_that_arrives_after_its_deadline_is_no_claim(bench):
    wire, upstream, gateway = on_a_wire(bench, "1s")
    held = wire.hold()
    refused(gateway, "k")
    works(gateway)
    held.deliver()
    got = gateway.ask("k")
    equal((got.status, got.replayed), (201, False))
    equal(upstream.count(key="k"), 1)


@test
def a_claim_that_arrives_behind_what_gives_it_back_is_given_back(bench):
    wire, upstream, gateway = on_a_wire(bench, "2s")
    held = wire.hold(cut=True)
    refused(gateway, "k")
    works(gateway)
    held.deliver()
    eventually(lambda: gateway.ask("k").status == 201, "the key is free")
    equal(upstream.count(key="k"), 1)


@test
def a_gateway_that_starts_before_redis_serves_when_it_comes(bench):
    redis = bench.own_redis()
    redis.kill()
    upstream, gateway = bench.pair(redis=redis)
    refused(gateway, "k")
    redis.start()
    works(gateway)
    equal(upstream.count(key="k"), 0)


def loads(redis):
    try:
        return b"loading:1" in RedisClient(redis.path)("INFO")
    except OSError:
        return False


@test
def a_gateway_that_starts_while_redis_loads_serves_when_it_has(bench):
    redis = bench.own_redis("--appendonly", "yes", "--rdbcompression", "no")
    for number in range(1000):
        redis("SET", f"other-{number}", "x" * 2000)
    redis("BGREWRITEAOF")
    redis.process.wait_for_line("rewrite finished successfully")
    redis.kill()
    redis.options += ("--key-load-delay", "100000",
                      "--loading-process-events-interval-bytes", "1024")
    redis.launch()
    eventually(lambda: loads(redis), "it loads")
    upstream, gateway = bench.pair(redis=redis)
    refused(gateway, "k")
    equal(gateway.find_log("store_volatile"), [])
    equal(upstream.count(), 0)
    RedisClient(redis.path)("CONFIG", "SET", "key-load-delay", "0")
    redis.wait_started()
    works(gateway)


@test
def scripts_that_were_flushed_are_loaded_again(bench):
    upstream, gateway = bench.pair()
    for number in range(5):
        bench.redis("SCRIPT", "FLUSH")
        equal(gateway.ask(f"k{number}").status, 201)
        bench.redis("SCRIPT", "FLUSH")
        assert gateway.ask(f"k{number}").replayed
    equal(upstream.count(), 5)


@test
def connections_that_redis_kills_are_made_again(bench):
    upstream, gateway = bench.pair()
    for number in range(5):
        equal(gateway.ask(f"k{number}").status, 201)
        bench.redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        eventually(lambda n=number: gateway.ask(f"k{n}").replayed,
                   "the replay")
    for number in range(5):
        equal(upstream.count(key=f"k{number}"), 1)


@test
def an_outcome_that_redis_could_not_take_at_once_is_not_lost(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(redis=redis, store={"timeout": "1s"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis.freeze()
    hold.release()
    gateway.wait_for_log("settle_late")
    redis.thaw()
    got = first.result()
    if got.status == 201:
        assert not got.replayed
    else:
        assert got.problem in ("outcome-unknown", "store-unavailable"), got

    def replayed():
        again = gateway.ask("k")
        assert again.status in (201, 409, 503), again
        return again.replayed
    eventually(replayed, "the outcome is in Redis")
    equal(upstream.count(), 1)


@test
def a_redis_that_is_full_refuses_claims_and_takes_outcomes(bench):
    redis = bench.own_redis("--maxmemory-policy", "noeviction")
    upstream, gateway = bench.pair(redis=redis)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    upstream.reply = answer()
    redis("CONFIG", "SET", "maxmemory", "1")
    got = gateway.ask("another")
    equal((got.status, got.problem), (503, "store-unavailable"))
    hold.release()
    equal(first.result().status, 201)
    equal(upstream.count(), 1)
    # Redis has the outcome, and not from the journal later on.
    assert gateway.ask("k").replayed
    redis("CONFIG", "SET", "maxmemory", "0")
    assert gateway.ask("k").replayed


@test
def serve_refuses_a_redis_that_may_evict(bench):
    redis = bench.own_redis("--maxmemory", "100mb", "--maxmemory-policy",
                            "allkeys-lru")
    gateway = bench.serve(bench.config("http://127.0.0.1:9", redis=redis),
                          ready=False)
    equal(gateway.wait(), 1)
    assert any("evict" in line for line in gateway.lines), gateway.lines


@test
def serve_refuses_a_replica(bench):
    redis = bench.own_redis("--replicaof", "127.0.0.1", "1")
    gateway = bench.serve(bench.config("http://127.0.0.1:9", redis=redis),
                          ready=False)
    equal(gateway.wait(), 1)
    assert any("master" in line for line in gateway.lines), gateway.lines


@test
def serve_takes_a_redis_that_may_evict_where_that_is_allowed(bench):
    redis = bench.own_redis("--maxmemory", "100mb", "--maxmemory-policy",
                            "allkeys-lru")
    upstream, gateway = bench.pair(redis=redis,
                                   store={"allow_eviction": True})
    equal(gateway.ask("k").status, 201)


@test
def a_record_that_nobody_can_read_is_refused_and_not_executed(bench):
    upstream, gateway = bench.pair(cache={"size": 0})
    equal(gateway.ask("k").status, 201)
    broken = 0
    for name in bench.redis.keys():
        if bench.redis("TYPE", name) == "string":
            try:
                bench.redis("SETRANGE", name, 0, b"\xff\xff\xff\xff")
                broken += 1
            except RedisError:
                pass
    assert broken
    got = gateway.ask("k")
    assert got.status in (409, 500, 503), got
    equal(upstream.count(), 1)


tap.main()
