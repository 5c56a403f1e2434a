# SPDX-License-Identifier: BSD-2-Clause
"""Answers from memory (cache.size): what Redis would say, without asking
it."""

import re
import time

from once import tap
from once.http import ask, build
from once.tap import each, equal, test
from once.wait import eventually

BOUND_S = 2.0  # onceproxy-store(7), ANSWERS FROM MEMORY
ADMIN = {"listen": "127.0.0.1:0"}


def start(bench, count=1, **members):
    """An upstream, and gateways of one worker each that can cache answers."""
    upstream = bench.upstream()
    members = {"workers": 1, "admin": ADMIN, **members}
    gateways = [bench.gateway(upstream, **members) for _ in range(count)]
    for gateway in gateways:
        keeps(gateway)
    return (upstream, *gateways)


def keeps(gateway, key="first"):
    """Waits until answers are cached, which it finds out with a key of its
    own."""
    eventually(lambda: gateway.ask(key) and metric(gateway, "bytes") > 0,
               "an answer in memory")


def metric(gateway, name):
    got = ask(gateway.ready["admin"], build("GET", "/metrics",
                                              host="localhost"))
    name = {"bytes": "onceproxy_cache_bytes",
            "hits": "onceproxy_cache_hits_total"}[name]
    return next(float(line.split()[1]) for line in
                got.body.decode().splitlines() if line.startswith(name))


def claims(redis):
    """How many scripts Redis has run."""
    stats = redis("INFO", "commandstats").decode()
    return sum(int(line.split("calls=")[1].split(",")[0])
               for line in stats.splitlines()
               if line.startswith("cmdstat_evalsha"))


def delete(gateway, key_id):
    got = ask(gateway.ready["admin"], build(
        "DELETE", "/keys/" + key_id, body=b"", host="localhost"))
    equal(got.status, 200)


@test
def a_retry_is_answered_without_asking_redis(bench):
    redis = bench.own_redis()
    upstream, gateway = start(bench, redis=redis, store={"shards": 1})
    first = gateway.ask("k")

    def are_from_memory():
        """The sweeper and the lists run scripts too, but not a hundred; and
        whoever has stood still asks, until he has heard from Redis."""
        hits, before = metric(gateway, "hits"), claims(redis)
        for _ in range(100):
            again = gateway.ask("k")
            equal((again.status, again.replayed, again.body),
                  (first.status, True, first.body))
            equal(again.get("Original-Request-Id"),
                  first.get("X-Request-Id"))
        return (claims(redis) - before < 50 and
                metric(gateway, "hits") - hits == 100)
    eventually(are_from_memory, "a hundred answers from memory")
    equal(upstream.count(key="k"), 1)


@test
def an_answer_that_another_gateway_stored_is_kept_after_one_look(bench):
    upstream, one, other = start(bench, 2)
    one.ask("k")
    hits = metric(other, "hits")
    for _ in range(3):
        equal(other.ask("k").replayed, True)
    equal(metric(other, "hits") - hits, 2)


@test
def another_body_with_the_key_is_refused_all_the_same(bench):
    upstream, gateway = start(bench)
    gateway.ask("k")
    equal(gateway.ask("k", body=b"{}").problem, "key-reused")
    equal(gateway.ask("k").replayed, True)


@test
def what_an_operator_deletes_is_dropped_by_all_gateways(bench):
    upstream, one, other = start(bench, 2)
    one.ask("k", fields=[("X-Request-Id", "mine")])
    equal(other.ask("k").replayed, True)
    equal(other.ask("k").replayed, True)
    line = one.wait_for_log("request", request_id="mine")
    delete(one, line["key_id"])
    eventually(lambda: not other.ask("k").replayed, "executed again")
    equal(upstream.count(key="k"), 2)
    eventually(lambda: one.ask("k").replayed)


@test
def who_cannot_hear_of_changes_keeps_nothing(bench):
    redis = bench.own_redis()
    upstream, gateway = start(bench, redis=redis)
    gateway.ask("k")
    # Nobody may PUBLISH: an operator's delete could not be heard of.
    redis("ACL", "SETUSER", "default", "-publish")
    redis("CLIENT", "KILL", "TYPE", "pubsub")
    eventually(lambda: metric(gateway, "bytes") == 0)
    gateway.wait_for_log("store_deaf")
    hits = metric(gateway, "hits")
    equal(gateway.ask("k").replayed, True)
    equal(gateway.ask("k").replayed, True)
    equal(metric(gateway, "hits"), hits)
    redis("ACL", "SETUSER", "default", "+publish")
    redis("CLIENT", "KILL", "TYPE", "pubsub")
    keeps(gateway)


@each([("publish or listen on the channel", ["resetchannels"]),
       ("subscribe", ["-psubscribe"]),
       ("publish", ["-publish"])])
def who_may_not_is_told_once_and_asks_less_and_less(bench, rules):
    """An operator's user often has no channels: that Redis 7 gives none."""
    redis = bench.own_redis()
    redis("ACL", "SETUSER", "default", *rules)
    began = time.monotonic()
    gateway = bench.gateway(bench.upstream(), redis=redis, workers=1,
                            admin=ADMIN)

    def refusals():
        return max((entry[1] for entry in redis("ACL", "LOG") if entry[7] in (
            b"psubscribe", b"onceproxy:{*}:changes")), default=0)
    if rules == ["-publish"]:
        gateway.wait_for_log("store_deaf")
    else:
        # After 0, 50, 100, 200, 400, 800 and 1000 ms.
        eventually(lambda: refusals() >= 8)
        assert time.monotonic() - began > 2, "it connects without a rest"
    gateway.ask("k")
    equal(gateway.ask("k").replayed, True)
    equal(len(gateway.find_log("store_deaf")), 1)
    redis("ACL", "SETUSER", "default", "allchannels", "+@all")
    keeps(gateway)
    redis("ACL", "SETUSER", "default", *rules)
    redis("CLIENT", "KILL", "TYPE", "pubsub")
    eventually(lambda: len(gateway.find_log("store_deaf")) == 2)


@test
def an_ear_that_went_deaf_without_a_sign_is_noticed(bench):
    redis = bench.own_redis()
    upstream, gateway = start(bench, redis=redis)
    gateway.ask("k")
    before = metric(gateway, "bytes")
    assert before > 0
    redis("ACL", "SETUSER", "default", "resetchannels")
    eventually(lambda: metric(gateway, "bytes") == 0)
    redis("ACL", "SETUSER", "default", "allchannels")


def frozen():
    """Nothing arrives."""
    return lambda said: b""


def slow():
    """It arrives when three others have come after it."""
    waiting = []

    def passed(said):
        waiting.append(said)
        return waiting.pop(0) if len(waiting) > 3 else b""
    return passed


@each([("is frozen", frozen), ("is slow", slow)])
def what_was_deleted_is_not_given_for_long_where_the_subscriber(bench, how):
    upstream, one = start(bench)
    wire = bench.wire()
    other = bench.gateway(
        upstream, redis=wire.url, workers=1, admin=ADMIN)
    keeps(other)
    one.ask("k", fields=[("X-Request-Id", "mine")])
    for _ in range(2):
        equal(other.ask("k").replayed, True)
    line = one.wait_for_log("request", request_id="mine")
    path = how()
    wire.edit = lambda said: path(said) if b"pmessage" in said else said
    delete(one, line["key_id"])
    deleted = time.monotonic()

    def is_executed():
        asked = time.monotonic()
        if not other.ask("k").replayed:
            return True
        assert asked < deleted + BOUND_S, asked - deleted
        return False
    eventually(is_executed)
    equal(upstream.count(key="k"), 2)


@test
def an_answer_is_not_given_longer_than_its_record_lives(bench):
    upstream, gateway = start(bench, idempotency={"retention": "2s"})
    eventually(lambda: gateway.ask("k").replayed, "an answer that is kept")
    before = upstream.count(key="k")
    eventually(lambda: not gateway.ask("k").replayed, "the end of it")
    equal(upstream.count(key="k"), before + 1)


@test
def it_ends_with_its_record_when_redis_clock_jumps(bench):
    """Redis tells nobody that a record has expired; of its clock each worker
    hears each second."""
    redis = bench.own_redis()
    wire = bench.wire(redis)
    upstream, gateway = start(bench, redis=wire, store={"timeout": "1s"})
    gateway.ask("k")
    equal(gateway.ask("k").replayed, True)

    def a_week_later(match):
        return b"%s%d%s" % (match[1], int(match[2]) + 7 * 86400, match[3])
    wire.edit = lambda said: re.sub(
        rb"(\*2\r\n\$10\r\n)(\d{10})(\r\n\$\d\r\n\d+\r\n)", a_week_later, said)
    for key in redis.keys():
        if b":r:" in key:
            redis("DEL", key)
    eventually(lambda: not gateway.ask("k").replayed, "as any gateway would")
    equal(upstream.count(key="k"), 2)


@test
def a_cache_of_no_size_keeps_nothing(bench):
    upstream, gateway = bench.pair(admin=ADMIN, cache={"size": 0})
    gateway.ask("k")
    equal(gateway.ask("k").replayed, True)
    equal((metric(gateway, "bytes"), metric(gateway, "hits")), (0, 0))


@test
def another_tenant_is_not_given_it(bench):
    upstream, gateway = start(bench)
    gateway.ask("k")
    equal(gateway.ask("k", tenant="Bearer another").replayed, False)
    equal(upstream.count(key="k"), 2)


tap.main()
