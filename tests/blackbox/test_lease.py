# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 3 and 5: leases are renewed, and everything in Redis has
an end."""

import os
import signal
import socket
import threading
import time

from once import tap
from once.certificates import Authority
from once.raw import takes
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import PATIENCE, eventually

DAY_MS = 24 * 3600 * 1000


def lives_of(redis):
    """The time to live of every key in Redis, in milliseconds."""
    return {name: redis("PTTL", name) for name in redis.keys()}


def record_life(redis):
    """The longest life of a string: records are strings."""
    return max(redis("PTTL", name) for name in redis.keys()
               if redis("TYPE", name) == "string")


def stays_in_flight(gateway, seconds):
    until = time.monotonic() + seconds

    def still_in_flight():
        equal(gateway.ask("k").problem, "in-flight")
        return time.monotonic() > until
    eventually(still_in_flight)


@test
def an_upstream_slower_than_three_leases_ends_completed(bench):
    # Long enough not to expire because the machine is busy.
    upstream, gateway = bench.pair(idempotency={"lease": "2s"})
    other = bench.gateway(upstream, {"lease": "2s"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    stays_in_flight(other, 6.5)
    hold.release()
    equal(first.result().status, 201)
    assert other.ask("k").replayed
    equal(upstream.count(), 1)
    equal(gateway.find_log("lease_lost"), [])


@test
def a_payment_in_flight_is_not_given_up_before_its_lease(bench):
    upstream, gateway = bench.pair(idempotency={"lease": "60s"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    stays_in_flight(gateway, 2.5)  # all shards are looked at in 2 s
    hold.release()
    equal(first.result().status, 201)


@test
def an_owner_that_slept_past_its_lease_still_completes(bench):
    """Nobody has taken its place: its answer is the truth, even if late."""
    upstream, gateway = bench.pair(idempotency={"lease": "1500ms"})
    other = bench.gateway(upstream)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    gateway.signal(signal.SIGSTOP)
    eventually(lambda: other.ask("k").problem == "outcome-unknown",
               "the lease is over")
    hold.release()
    gateway.signal(signal.SIGCONT)
    got = first.result()
    equal((got.status, got.replayed), (201, False))
    again = other.ask("k")
    equal((again.replayed, again.body), (True, got.body))
    equal(upstream.count(), 1)


@test
def a_redis_that_freezes_for_a_lease_costs_no_outcome(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(
        redis=redis, idempotency={"lease": "1500ms"},
        store={"timeout": "500ms"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis.freeze()
    until = time.monotonic() + 3  # two leases
    eventually(lambda: time.monotonic() > until)
    redis.thaw()
    hold.release()
    first.result()
    eventually(lambda: gateway.ask("k").replayed, "the stored answer")
    equal(upstream.count(), 1)


STATES = [
    ("completed", answer(), DAY_MS),
    ("released", answer(503), DAY_MS),
    ("unknown", close_unanswered, 30 * DAY_MS),
]


@each(STATES)
def everything_in_redis_has_an_end(bench, reply, life):
    upstream, gateway = bench.pair(reply)
    gateway.ask("k")
    lives = lives_of(bench.redis)
    assert lives
    for name, left in lives.items():
        assert left > 0, f"{name} has no end"
    record = record_life(bench.redis)
    assert life - 60_000 < record <= life + 60_000, (record, life)


@test
def a_record_in_flight_outlives_the_longer_retention(bench):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    for name, left in lives_of(bench.redis).items():
        assert left > 0, f"{name} has no end"
    assert record_life(bench.redis) > 30 * DAY_MS - 60_000
    hold.release()
    first.result()
    assert record_life(bench.redis) <= DAY_MS


@test
def what_nobody_renews_is_unknown_for_as_long_as_that_is_kept(bench):
    """Counted from when it became unknown, and not from its last renewal."""
    kept = {"lease": "3s", "retention": "3s", "unknown_retention": "3s"}
    redis = bench.own_redis()
    upstream, gateway = bench.pair(redis=redis, idempotency=kept)
    bench.gateway(upstream, kept, redis=redis)
    hold = upstream.hold()
    bench.background(gateway.ask, "k")
    hold.wait_arrived()
    gateway.kill()
    record, = (k for k in redis.keys() if b":r:" in k)

    def unknown():
        value = redis("GET", record)
        assert value, "it was forgotten while it was in flight"
        return value[2:3] == b"U" and value
    since = int(eventually(unknown)[29:42])  # lua/layout.lua
    life = redis("PEXPIRETIME", record) - since
    assert 2900 < life < 3100, life


@test
def a_failed_record_is_kept_as_long_as_an_unknown_one(bench):
    upstream, gateway = bench.pair(answer(503),
                                   idempotency={"max_attempts": 1})
    gateway.ask("k")
    equal(gateway.ask("k").problem, "attempts-exhausted")
    assert record_life(bench.redis) > 30 * DAY_MS - 60_000
    for name, left in lives_of(bench.redis).items():
        assert left > 0, f"{name} has no end"


@test
def an_answer_is_forgotten_after_its_retention(bench):
    upstream, gateway = bench.pair(idempotency={"retention": "300ms"},
                                   cache={"size": 0})
    equal(gateway.ask("k").status, 201)
    eventually(lambda: not gateway.ask("k").replayed, "it is forgotten", 10)
    equal(upstream.count(), 2)


@test
def every_key_in_redis_begins_with_the_prefix(bench):
    upstream, gateway = bench.pair(store={"prefix": "shop"})
    gateway.ask("k")
    for name in bench.redis.keys():
        assert name.startswith(b"shop:"), name


@test
def prefixes_keep_gateways_apart(bench):
    upstream = bench.upstream()
    for prefix in ("one", "two"):
        gateway = bench.gateway(upstream, store={"prefix": prefix})
        assert not gateway.ask("k").replayed
    equal(upstream.count(), 2)


class Reluctant:
    """An upstream that reads the head of a request, and the rest when it is
    told to; size is then how much of the body it got."""

    def __init__(self, upstream):
        upstream.listener.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        self.arrived, self.go_on = threading.Event(), threading.Event()
        self.ended, self.size = threading.Event(), 0
        takes(upstream, self.serve)

    def serve(self, connection, request):
        self.arrived.set()
        self.go_on.wait(PATIENCE)
        reader = connection.reader
        try:
            self.size = len(reader.buffer)
            whole = int(request.get("Content-Length"))
            while self.size < whole:
                reader.buffer = b""
                if not reader.more():
                    break
                self.size += len(reader.buffer)
        except OSError:
            pass
        self.ended.set()

    def read(self):
        self.go_on.set()
        assert self.ended.wait(PATIENCE), "it is still connected"
        return self.size


SLOW = {"lease": "1s", "max_request_body": "32MiB"}
HALF_SENT = [("with us", 24 << 20, False), ("with us, TLS", 24 << 20, True),
             ("with the kernel", 120_000, False),
             ("with the kernel, TLS", 120_000, True)]


def half_sent(bench, size, tls, lease="1s", **members):
    """A request of which the upstream has not read the body."""
    authority = Authority(bench.folder()) if tls else None
    upstream = bench.upstream(tls=authority and authority.server())
    reluctant = Reluctant(upstream)
    gateway = bench.gateway(
        upstream, {**SLOW, "lease": lease},
        {"ca": authority.file} if tls else None, workers=1, **members)
    first = bench.background(gateway.ask, "k", body=b"x" * size)
    assert reluctant.arrived.wait(PATIENCE)
    return upstream, reluctant, gateway, first


def after(seconds):
    until = time.monotonic() + seconds
    eventually(lambda: time.monotonic() > until)


@each(HALF_SENT)
def the_rest_of_a_request_is_not_sent_after_its_lease(bench, size, tls):
    """The lease cannot be renewed: the key is another owner's soon."""
    redis = bench.own_redis()
    upstream, reluctant, gateway, first = half_sent(
        bench, size, tls, redis=redis, store={"timeout": "1s"})
    redis.freeze()
    after(2.5)
    got = reluctant.read()
    assert got < size, f"{got} bytes went out"
    redis.thaw()
    answered = first.result()
    equal((answered.status, answered.problem), (502, "outcome-unknown"))
    line = gateway.wait_for_log("outcome_unknown", reason="broken")
    assert "lease" in line["error"], line
    equal(upstream.count(), 1)


def with_a_replica(bench, size, tls):
    """The same, where a renewal counts when a replica has it."""
    master, replica = bench.own_redis(), bench.own_redis()
    replica.follow(master)
    # Long enough for the claim, however busy the machine is.
    times = {"timeout": "10s", "wait_timeout": "2s"}
    return master, replica, *half_sent(
        bench, size, tls, "2s", redis=master,
        store={**times, "wait_replicas": 1})


@each(HALF_SENT)
def nor_while_replicas_lack_the_renewal(bench, size, tls):
    """The master may have been replaced, and renew what nobody else knows."""
    master, replica, upstream, reluctant, gateway, first = with_a_replica(
        bench, size, tls)
    replica.freeze()
    master("CLIENT", "KILL", "TYPE", "replica")
    after(4)
    got = reluctant.read()
    assert got < size, f"{got} bytes went out"
    equal(first.result().problem, "outcome-unknown")
    gateway.wait_for_log("replicas_few")
    equal(gateway.find_log("lease_lost"), [])
    equal(upstream.count(), 1)


@each(HALF_SENT)
def while_a_replica_has_the_renewal_a_slow_upstream_gets_all(bench, size, tls):
    *_, reluctant, gateway, first = with_a_replica(bench, size, tls)
    after(3.5)
    equal(reluctant.read(), size)
    equal(first.result().problem, "outcome-unknown")
    equal(gateway.find_log("replicas_few"), [])


@each(HALF_SENT)
def nor_by_one_that_slept_past_its_lease(bench, size, tls):
    upstream, reluctant, gateway, first = half_sent(bench, size, tls)
    other = bench.gateway(upstream, SLOW)
    gateway.freeze()
    eventually(lambda: other.ask("k", body=b"x" * size).problem
               == "outcome-unknown", "the lease is over")
    gateway.thaw()
    equal(first.result().problem, "outcome-unknown")
    got = reluctant.read()
    assert got < size, f"{got} bytes went out"


@each(HALF_SENT)
def while_the_lease_is_renewed_a_slow_upstream_gets_all(bench, size, tls):
    upstream, reluctant, gateway, first = half_sent(bench, size, tls, "2s")
    after(3.5)
    equal(reluctant.read(), size)
    equal(first.result().problem, "outcome-unknown")  # it says nothing


def stopped_before_it_sends(bench, on_unknown="hold"):
    """A gateway that is frozen between claiming and sending, for longer than
    its lease; another gateway; and the client that waits for the first."""
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program or not os.access(program, os.X_OK):
        raise tap.Skip("there is no test build")
    upstream = bench.upstream()
    policy = {"lease": "1s", "on_unknown": on_unknown}
    config = bench.config(upstream, policy)
    slow = bench.serve(config, {"ONCE_FAULT": "execution:FORWARD"},
                       program=program)
    first = bench.background(slow.ask, "k")
    slow.wait_for_log("fault_point")
    policy["lease"] = "15s"
    config["state_dir"] = bench.folder()
    return upstream, slow, bench.serve(config), first


@test
def what_was_not_sent_within_its_lease_is_not_sent_beside_another(bench):
    upstream, slow, other, first = stopped_before_it_sends(
        bench, {"reconcile": {"path": "/by-key/{key}", "settle": "0s"}})
    upstream.replies["/by-key/k"] = answer(404)
    eventually(lambda: other.ask("k").status == 201, "the other executes it")
    slow.signal(signal.SIGCONT)
    got = first.result()
    equal((got.status, got.replayed), (201, True))
    equal(upstream.count(key="k"), 1)


@test
def what_was_not_sent_within_its_lease_is_free_again(bench):
    upstream, slow, other, first = stopped_before_it_sends(bench)
    eventually(lambda: other.ask("k").problem == "outcome-unknown",
               "the lease runs out")
    slow.signal(signal.SIGCONT)
    equal(first.result().problem, "upstream-unreachable")
    assert "lease ended" in slow.wait_for_log("not_sent")["error"]
    equal(upstream.count(), 0)
    equal(other.ask("k").status, 201)
    equal(upstream.count(), 1)


tap.main()
