# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3: in_flight "wait" and Prefer: wait=N."""

import signal

from once import tap
from once.http import ask, build, keyed
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

WAIT = {"in_flight": "wait", "wait_timeout": "1m"}


def first_held(bench, gateway, upstream):
    """A first request that the upstream holds."""
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    return hold, first


def waiting(bench, gateway, count, fields=()):
    asks = [bench.background(gateway.ask, "k", fields=fields)
            for _ in range(count)]
    gateway.wait_for_steps("WAITED", count)
    return asks


@test
def retries_wait_for_the_first_and_get_its_answer(bench):
    upstream, gateway = bench.pair(idempotency=WAIT, log={"level": "debug"})
    hold, first = first_held(bench, gateway, upstream)
    asks = waiting(bench, gateway, 20)
    hold.release()
    got = first.result()
    equal((got.status, got.replayed), (201, False))
    for ask in asks:
        again = ask.result()
        equal((again.status, again.body, again.replayed),
              (201, got.body, True))
    equal(upstream.count(), 1)
    gateway.wait_for_log("request", outcome="waited")


@test
def retries_on_another_gateway_wait_too(bench):
    upstream = bench.upstream()
    one, two = (bench.gateway(upstream, idempotency=WAIT,
                              log={"level": "debug"}) for _ in range(2))
    hold, first = first_held(bench, one, upstream)
    asks = waiting(bench, two, 5)
    hold.release()
    equal(first.result().status, 201)
    for ask in asks:
        equal((ask.result().status, ask.result().replayed), (201, True))
    equal(upstream.count(), 1)


@test
def one_of_those_that_wait_executes_what_was_released(bench):
    upstream, gateway = bench.pair(answer(503), idempotency=WAIT,
                                   log={"level": "debug"})
    hold, first = first_held(bench, gateway, upstream)
    asks = waiting(bench, gateway, 5)
    hold.release()
    upstream.reply = answer()
    equal(first.result().status, 503)
    equal(sorted(ask.result().replayed for ask in asks),
          [False] + 4 * [True])
    equal(upstream.count(), 2)


@test
def those_that_wait_are_told_when_the_outcome_is_unknown(bench):
    upstream, gateway = bench.pair(then_close(b""), idempotency=WAIT,
                                   log={"level": "debug"})
    hold, first = first_held(bench, gateway, upstream)
    asks = waiting(bench, gateway, 3)
    hold.release()
    equal(first.result().status, 502)
    for ask in asks:
        equal((ask.result().status, ask.result().problem),
              (409, "outcome-unknown"))
    equal(upstream.count(), 1)


@test
def a_wait_ends_with_409_when_its_time_is_up(bench):
    upstream, gateway = bench.pair(
        idempotency={"in_flight": "wait", "wait_timeout": "300ms"})
    hold, first = first_held(bench, gateway, upstream)
    equal(gateway.ask("k").problem, "in-flight")
    hold.release()
    equal(first.result().status, 201)


@test
def a_wait_looks_once_more_when_its_time_is_up(bench):
    """A Redis that is full tells nobody that the first request is done."""
    redis = bench.own_redis()
    upstream = bench.upstream()
    one, two = (bench.gateway(
        upstream, {"in_flight": "wait", "wait_timeout": "2s"}, redis=redis,
        log={"level": "debug"}) for _ in range(2))
    hold, first = first_held(bench, one, upstream)
    redis("CONFIG", "SET", "maxmemory", "1mb")
    asks = waiting(bench, two, 2)
    hold.release()
    equal(first.result().status, 201)
    for ask in asks:
        equal((ask.result().status, ask.result().replayed), (201, True))
    equal(upstream.count(), 1)


@test
def a_client_may_ask_for_a_wait(bench):
    upstream, gateway = bench.pair(log={"level": "debug"})
    hold, first = first_held(bench, gateway, upstream)
    equal(gateway.ask("k").problem, "in-flight")
    asks = waiting(bench, gateway, 1, [("Prefer", "respond-async, wait=8")])
    hold.release()
    equal(first.result().status, 201)
    equal(asks[0].result().replayed, True)


@test
def a_client_may_shorten_a_wait(bench):
    upstream, gateway = bench.pair(idempotency=WAIT)
    hold, first = first_held(bench, gateway, upstream)
    got = gateway.ask("k", fields=[("Prefer", "wait=0")])
    equal(got.problem, "in-flight")
    hold.release()
    equal(first.result().status, 201)


@test
def another_body_does_not_wait(bench):
    upstream, gateway = bench.pair(idempotency=WAIT)
    hold, first = first_held(bench, gateway, upstream)
    equal(gateway.ask("k", body=b"another").problem, "key-reused")
    hold.release()
    equal(first.result().status, 201)


@test
def a_waiter_whose_client_leaves_is_forgotten(bench):
    upstream, gateway = bench.pair(idempotency=WAIT, log={"level": "debug"})
    hold, first = first_held(bench, gateway, upstream)
    client = gateway.client()
    client.send(keyed("k"))
    gateway.wait_for_steps("WAITED", 1)
    client.close()
    gateway.wait_for_log("request", outcome="in-flight")
    hold.release()
    equal(first.result().status, 201)


CROWD = 1000


def wait_for_waiting(gateway, count):
    def waiting():
        got = ask(gateway.ready["admin"],
                  build("GET", "/metrics", host="localhost"))
        return f"\nonceproxy_waiting {count}\n" in got.body.decode()
    eventually(waiting, f"{count} wait")


@test
def a_thousand_that_wait_ask_redis_nothing_and_get_the_answer(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(
        redis=redis, admin={"listen": "127.0.0.1:0"},
        options={"timeout": "2m"},
        # One shard, so that the sweeper asks four times a second.
        store={"shards": 1}, log={"access": False},
        idempotency={"in_flight": "wait", "wait_timeout": "50s"})
    hold, first = first_held(bench, gateway, upstream)
    crowd = [gateway.client() for _ in range(CROWD)]
    for client in crowd:
        client.send(keyed("k"))
    wait_for_waiting(gateway, CROWD)

    scripts, pulses = redis.calls("evalsha"), redis.calls("time")
    eventually(lambda: redis.calls("time") > pulses + 9, "time passes")
    asked = redis.calls("evalsha") - scripts
    assert asked < CROWD / 4, asked

    # Waiters whose clients leave are forgotten, the others are not.
    for client in crowd[:CROWD // 10]:
        client.close()
    wait_for_waiting(gateway, CROWD - CROWD // 10)
    hold.release()
    body = first.result().body
    for client in crowd[CROWD // 10:]:
        got = client.read()
        equal((got.status, got.body, got.replayed), (201, body, True))
        client.close()
    wait_for_waiting(gateway, 0)
    equal(upstream.count(), 1)


@each([("a retry", {}), ("another key of its entity", {
    "entity": ["/e"], "serialize": True})])
def who_waits_for_another_gateway_is_answered_in_a_drain(bench, more):
    upstream, redis = bench.upstream(), bench.own_redis()
    policy = {"in_flight": "wait", "wait_timeout": "60s", **more}
    one, two = (bench.gateway(
        upstream, policy, redis=redis, workers=1, drain_timeout="300ms",
        admin={"listen": "127.0.0.1:0"}) for _ in range(2))
    hold = upstream.hold()
    body = b'{"e": 1}'
    first = bench.background(one.ask, "k", body=body)
    hold.wait_arrived()
    waiter = bench.background(two.ask, "k2" if more else "k", body=body)
    wait_for_waiting(two, 1)
    two.signal(signal.SIGTERM)
    got = waiter.result()
    equal((got.status, got.problem),
          (409, "entity-busy" if more else "in-flight"))
    equal(two.wait(), 0)
    hold.release()
    equal(first.result().status, 201)


tap.main()
