# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 1: what a client has been told is on the gateway's own
disk, and a Redis that comes back may have forgotten that it was ever claimed.
Whatever is asked meanwhile executes nothing."""

import os
import re
import threading

from once import tap
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

COUNT = 40
LARGE = os.urandom(200_000)
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
VERSIONED = {"entity": ["/e"], "newer_only": "/v"}


def numbered():
    """Each execution has an answer of its own."""
    count = [0]

    def reply(connection, request):
        count[0] += 1
        connection.send(answer(201, b"execution %d" % count[0]))
    return reply


def keys(count=COUNT):
    return [f"k{number}" for number in range(count)]


def on_disk(bench, redis, url=None, reply=None, body=None, **idempotency):
    """Payments whose Redis is gone when the upstream has answered."""
    upstream = bench.upstream()
    upstream.reply = reply or numbered()
    gateway = bench.gateway(
        upstream, redis=url or redis, workers=2,
        idempotency={"lease": "15s", **idempotency})
    hold = upstream.hold(upstream.reply)
    asked = [bench.background(gateway.ask, key, **(
        {"body": body(key)} if body else {})) for key in keys()]
    upstream.wait_for(COUNT)
    redis.kill()
    hold.release()
    upstream.reply = reply or numbered()
    return upstream, gateway, [one.result() for one in asked]


def is_later(got):
    """Redis is not asked yet, or has not taken the outcome yet."""
    return got.problem in ("store-unavailable", "in-flight")


def ask_all(gateway):
    """Everybody at once, the last of the journal first; and again until each
    has an answer."""
    given = {}
    for key in reversed(keys()):
        given[key] = gateway.ask(key)
    for key, got in given.items():
        if is_later(got):
            equal(got.get("Retry-After"), "1")
            given[key] = eventually(lambda: (
                lambda again: not is_later(again) and again)(
                    gateway.ask(key)))
    return [given[key] for key in keys()]


def equal_answers(first, again):
    equal([got.status for got in first], [201] * COUNT)
    equal([got.body for got in again], [got.body for got in first])
    equal({got.replayed for got in again}, {True})


@test
def an_empty_redis_is_not_asked_first(bench):
    redis = bench.own_redis()
    upstream, gateway, first = on_disk(bench, redis)
    redis.start()
    gateway.wait_for_log("store_up")
    equal_answers(first, ask_all(gateway))
    equal(upstream.count(), COUNT)


@test
def the_next_process_knows_it_before_it_serves(bench):
    """However long it has to read."""
    redis = bench.own_redis()
    upstream, gateway, first = on_disk(bench, redis)
    gateway.kill()
    long = os.path.join(
        gateway.config["state_dir"], "journal", "long.journal2")
    with open(long, "wb") as file:
        file.truncate(256 << 20)
    redis.start()
    other = bench.serve(gateway.config)
    equal_answers(first, ask_all(other))
    equal(upstream.count(), COUNT)


@test
def a_replica_that_lacks_the_claim_is_not_asked_first(bench):
    """A proxy stands for whatever leads the gateway to the new master."""
    master, replica = bench.own_redis(), bench.own_redis()
    proxy = bench.proxy(master.url)
    replica.follow(master)
    replica("REPLICAOF", "NO", "ONE")
    upstream, gateway, first = on_disk(bench, master, proxy.url)
    proxy.retarget(replica.url)
    gateway.wait_for_log("store_up")
    equal_answers(first, ask_all(gateway))
    equal(upstream.count(), COUNT)


@test
def who_follows_the_data_knows_it_before_it_serves(bench):
    """The data has another address now, and lacks the claims: whose the file
    is, only the store's own id says."""
    redis, copy = bench.own_redis(), bench.own_redis()
    starter = bench.gateway(bench.upstream(), redis=redis)
    equal(starter.ask("before").status, 201)  # the store has its id
    copy.follow(redis)
    copy("REPLICAOF", "NO", "ONE")
    upstream, gateway, first = on_disk(bench, redis)
    gateway.kill()
    moved = bench.serve({**gateway.config, "store": {
        **gateway.config["store"], "redis": copy.url}})
    equal_answers(first, ask_all(moved))
    equal(upstream.count(), COUNT)


@test
def a_doubt_is_known_first_too(bench):
    redis = bench.own_redis()
    upstream, gateway, first = on_disk(bench, redis, reply=then_close(b""))
    equal({got.problem for got in first}, {"outcome-unknown"})
    upstream.reply = numbered()
    redis.start()
    gateway.wait_for_log("store_up")
    equal({got.problem for got in ask_all(gateway)}, {"outcome-unknown"})
    equal(upstream.count(), COUNT)


@test
def a_retry_that_may_wait_waits_for_it(bench):
    redis = bench.own_redis()
    upstream, gateway, first = on_disk(bench, redis, in_flight="wait")
    redis.start()
    gateway.wait_for_log("store_up")
    asked = [bench.background(gateway.ask, key) for key in keys()]
    equal_answers(first, [one.result() for one in asked])
    equal(upstream.count(), COUNT)


def version(number):
    return lambda key: b'{"e": "%s", "v": %d}' % (key.encode(), number)


@each([("of this process", False), ("of a dead process", True)])
def an_older_version_waits_for_the_newer_one(bench, dies):
    redis = bench.own_redis(*DURABLE)
    upstream, gateway, first = on_disk(
        bench, redis, body=version(5), **VERSIONED)
    equal({got.status for got in first}, {201})
    if dies:
        gateway.kill()
    redis.start()
    asked = bench.serve(gateway.config) if dies else gateway
    if not dies:
        asked.wait_for_log("store_up")

    def older(key):
        return asked.ask("older-" + key, body=version(4)(key))
    given = [older(key) for key in reversed(keys())]
    assert {got.problem for got in given} <= {
        "store-unavailable", "in-flight", "stale-version"}, given
    for key in keys():
        eventually(lambda: older(key).problem == "stale-version")
        equal(asked.ask("newer-" + key, body=version(6)(key)).status, 201)
    equal(upstream.count(), 2 * COUNT)


@test
def a_claim_that_redis_forgot_is_not_replaced(bench):
    """Another claim of the key is made while the answer is on its way, and it
    is known only when the answer is on disk: nothing is sent of it, and the
    answer, which waits for that, is stored."""
    redis = bench.own_redis()
    wire = bench.wire(redis)
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, redis=wire, workers=1,
                            store={"timeout": "10s"})
    equal(gateway.ask("before").status, 201)  # and Redis has the scripts
    hold = upstream.hold(answer(201, LARGE))
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis("FLUSHALL")

    # The reply to the second claim is late.
    claimed, late = threading.Event(), threading.Event()

    def edit(data):
        # As lua/claims.lua says that one is ours.
        if re.search(rb"\r\n\$13\r\n\d{13}\r\n\$1\r\nO\r\n", data):
            claimed.set()
            late.wait()
        return data
    wire.edit = edit
    second = bench.background(gateway.ask, "k")
    claimed.wait()

    # A large answer has a connection of its own.
    redis("CONFIG", "SET", "min-replicas-to-write", "1")
    hold.release()
    got = first.result()
    equal((got.status, got.body), (201, LARGE))
    redis("CONFIG", "SET", "min-replicas-to-write", "0")

    # It is delivered in vain, again and again, while somebody has the key.
    passed = []

    def count(line, data):
        passed.append(line)
        wire.catch = count
        line.far.sendall(data)
    wire.catch = count
    eventually(lambda: len(passed) > 3 or gateway.find_log("journal_late"),
               "it is tried again")
    late.set()
    got = second.result()
    equal((got.status, got.problem), (409, "in-flight"))
    gateway.wait_for_log("journal_delivered")
    got = gateway.ask("k")
    equal((got.status, got.body, got.replayed), (201, LARGE, True))
    equal(upstream.count(key="k"), 1)


@test
def an_entry_larger_than_the_memory_is_delivered(bench):
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream(answer(201, b"z" * (6 << 20)))
    gateway = bench.gateway(
        upstream, redis=redis, store={"compression": "none"},
        idempotency={"max_response_body": "16MiB"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis.kill()
    hold.release()
    equal(first.result().status, 201)
    gateway.kill()
    redis.start()
    small = bench.serve({**gateway.config,
                         "limits": {"in_flight_bytes": "4MiB"}})
    small.wait_for_log("journal_delivered")
    small.stop()
    equal(bench.serve(gateway.config).ask("k").replayed, True)
    equal(upstream.count(), 1)


@test
def attempts_are_not_used_up_while_the_answer_waits(bench):
    """Its lease is over, and the retry would have been one too many."""
    redis = bench.own_redis(*DURABLE)
    upstream, gateway, first = on_disk(
        bench, redis, on_unknown="retry", max_attempts=1, lease="1s")
    equal({got.problem for got in first}, {"store-unavailable"})
    redis.start()
    gateway.wait_for_log("store_up")
    for key in reversed(keys()):
        while (got := gateway.ask(key)).status != 201:
            assert got.problem in ("store-unavailable", "in-flight"), got
    equal(upstream.count(), COUNT)


tap.main()
