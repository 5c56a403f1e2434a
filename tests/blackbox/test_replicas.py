# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, store.wait_replicas: a claim counts, and an answer
reaches the client, only when so many replicas have it."""

import random
import re

from once import tap
from once.http import TENANT, ask, build, keyed
from once.messages import Stream, source
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

# How long a claim waits in vain.  A busy machine may take longer, so a claim
# that is to count is repeated until it does (World.pay).
BRIEF = {"timeout": "5s", "wait_timeout": "700ms"}
# For tests in which nobody waits in vain.
LONG = {"timeout": "40s", "wait_timeout": "20s"}
RECONCILE = {"reconcile": {"path": "/v1/charges/by-key/{key}", "settle": "0s"}}


class World:
    """A master with replicas, behind an address that a failover moves."""

    def __init__(self, bench, wait=1, replicas=1, idempotency=None,
                 times=BRIEF, **members):
        self.bench = bench
        self.master = bench.own_redis()
        self.replicas = [bench.own_redis() for _ in range(replicas)]
        for replica in self.replicas:
            replica.follow(self.master)
        self.proxy = bench.proxy(self.master.url)
        self.upstream = bench.upstream()
        store = {**times, **members.pop("store", {}), "wait_replicas": wait}
        self.gateway = bench.gateway(
            self.upstream, redis=self.proxy.url, store=store,
            idempotency=idempotency, cache={"size": 0}, **members)

    def ask(self, *args, **kwargs):
        return self.gateway.ask(*args, **kwargs)

    def pay(self, key):
        """Pays until the claim counts; the first answer then."""
        def paid():
            got = self.ask(key)
            return got.status == 201 and got
        return eventually(paid, f"{key} is paid")

    def wait_noted(self):
        """That enough replicas have the answer is noted behind it."""
        record, = (k for k in self.master.keys() if b":r:" in k)
        eventually(lambda: self.master("GETRANGE", record, 99, 99) == b"+")

    def part(self):
        """The master goes on, but no replica hears from it."""
        for replica in self.replicas:
            replica.freeze()
        self.master("CLIENT", "KILL", "TYPE", "replica")

    def join(self):
        for replica in self.replicas:
            replica.thaw()

    def fail_over(self):
        """The master dies, and the first replica takes its place."""
        self.master.kill()
        new = self.replicas[0]
        new.thaw()
        new("REPLICAOF", "NO", "ONE")
        self.proxy.retarget(new.url)
        self.proxy.reset_all()
        return new

    def refused(self, key):
        got = self.ask(key)
        equal((got.status, got.problem), (503, "store-unavailable"))
        equal(got.json()["retry"], "same-key")
        assert got.get("Retry-After")

    def few(self):
        return self.gateway.find_log("replicas_few")


@test
def with_its_replicas_all_is_as_ever(bench):
    world = World(bench, times=LONG)
    equal([world.ask("k").status for _ in range(3)], [201] * 3)
    equal(world.upstream.count(), 1)
    assert world.master.calls("wait") >= 2
    record, = (k for k in world.replicas[0].keys() if b":r:" in k)
    # The client has its answer, so the replica had it before.
    equal(world.replicas[0]("GETRANGE", record, 0, 2), b"o1C")
    equal(world.few(), [])


@test
def a_claim_that_replicas_lack_is_given_back_and_nothing_is_sent(bench):
    world = World(bench)
    world.part()
    world.refused("k")
    world.refused("another")
    equal(world.upstream.count(), 0)
    said = world.gateway.wait_for_log("replicas_few")
    equal((said["level"], said["replicas"], said["wait_replicas"]),
          ("error", 0, 1))
    world.join()
    assert not world.pay("k").replayed
    equal(world.upstream.count(), 1)


@test
def too_few_of_several_replicas_are_too_few(bench):
    world = World(bench, wait=2, replicas=2)
    world.pay("k")
    last = world.replicas.pop()
    last.freeze()
    world.refused("k2")
    world.gateway.wait_for_log("replicas_few", replicas=1)
    last.thaw()
    world.pay("k2")
    equal(world.upstream.count(), 2)


@test
def old_answers_are_given_while_replicas_are_away(bench):
    world = World(bench)
    first = world.pay("old")
    world.wait_noted()
    world.part()
    for number in range(2):
        again = world.ask("old")
        assert again.replayed
        equal(again.body, first.body)
        world.refused(f"k{number}")
    equal(world.gateway.find_log("store_down"), [])


def answered_without_replicas(world, reply=None):
    """The answer to a payment of which the replicas have the claim, not the
    answer."""
    def ask_until_sent():
        while True:
            got = world.ask("k")
            if world.upstream.requests:
                return got
    hold = world.upstream.hold(reply)
    task = world.bench.background(ask_until_sent)
    world.upstream.wait_for(1)
    world.upstream.reply = answer()
    world.part()
    hold.release()
    return task.result()


# The second goes by another connection than the claim, and WAIT counts for
# the connection that wrote.
SIZES = [("small", b"paid"), ("large", random.Random(1).randbytes(100_000))]


@each(SIZES)
def an_answer_that_replicas_lack_is_in_the_journal_first(bench, body):
    world = World(bench)
    got = answered_without_replicas(world, answer(201, body))
    equal((got.status, got.body), (201, body))
    world.gateway.wait_for_log("settle_late")
    # Only the master has it, which is not enough, however often it is asked.
    eventually(lambda: world.master.calls("wait") > 3, "it is tried again")
    equal(world.gateway.find_log("journal_delivered"), [])
    world.join()
    world.gateway.wait_for_log("journal_delivered")
    got = world.ask("k")
    equal((got.replayed, got.body), (True, body))
    equal(world.upstream.count(), 1)


@each([("retry", "retry"), ("reconcile", RECONCILE)])
def where_another_execution_may_decide_it_is_not_given_out(bench, policy):
    world = World(bench, idempotency={"on_unknown": policy})
    got = answered_without_replicas(world)
    equal((got.status, got.problem), (503, "store-unavailable"))
    world.join()
    world.gateway.wait_for_log("journal_delivered")
    assert world.ask("k").replayed
    equal(world.upstream.count(), 1)


@each(SIZES)
def another_gateway_replays_only_what_replicas_have(bench, body):
    """The owner's client was told 503: nobody is told more."""
    world = World(bench, idempotency={"on_unknown": "retry"})
    other = bench.gateway(
        world.upstream, redis=world.proxy.url, cache={"size": 0},
        store={**BRIEF, "wait_replicas": 1},
        idempotency={"on_unknown": "retry"})
    equal(answered_without_replicas(world, answer(201, body)).status, 503)
    got = other.ask("k")
    equal((got.status, got.problem), (503, "store-unavailable"))
    world.join()
    titles = [got.json()["title"]]

    def replayed():
        got = other.ask("k")
        if got.status == 503:
            titles.append(got.json()["title"])
        return got.replayed and got.body == body
    eventually(replayed)
    equal(set(titles), {"The store of idempotency keys cannot be reached"})
    equal(world.upstream.count(), 1)
    # Once that is known, replicas may be away.
    world.wait_noted()
    world.part()
    assert other.ask("k").replayed
    assert world.ask("k").replayed


@test
def what_replicas_lack_is_not_forwarded_either(bench):
    """It is known to be executed, whatever on_store_down says."""
    world = World(bench, idempotency={"on_unknown": "retry"})
    other = bench.gateway(
        world.upstream, redis=world.proxy.url, cache={"size": 0},
        store={**BRIEF, "wait_replicas": 1},
        idempotency={"on_unknown": "retry", "on_store_down": "forward"})
    equal(answered_without_replicas(world).status, 503)
    got = other.ask("k")
    equal((got.status, got.problem), (503, "store-unavailable"))
    equal(world.upstream.count(), 1)


@each([("too few have it", BRIEF), ("its connection is cut", LONG)])
def what_is_unknown_is_not_forwarded_while_replicas_lack_it(bench, times):
    """Redis knows it, so it is not away."""
    world = World(bench, times=times, idempotency={
        "on_unknown": RECONCILE, "on_store_down": "forward"})
    world.upstream.reply = then_close(b"")
    eventually(lambda: world.ask("k").problem == "outcome-unknown")
    world.upstream.reply = answer()
    world.part()
    retry = bench.background(world.ask, "k")
    if times is LONG:
        eventually(lambda: b"blocked_clients:1" in world.master(
            "INFO", "clients"), "it waits for the replicas")
        world.proxy.reset_all()
    got = retry.result()
    equal((got.status, got.problem), (503, "store-unavailable"))
    equal(world.upstream.count(method="POST"), 1)


# --- failover --------------------------------------------------------------

@test
def without_it_a_failover_may_execute_twice(bench):
    """Shows why store.wait_replicas exists: without it, a failover loses a
    claim."""
    world = World(bench, wait=0)
    world.part()
    equal(world.ask("k").status, 201)
    world.fail_over()
    world.pay("k")
    equal(world.upstream.count(), 2)


@test
def with_it_a_failover_executes_once(bench):
    world = World(bench)
    world.part()
    world.refused("k")
    new = world.fail_over()
    # The new master has no replica: nothing counts there, until it has one.
    world.gateway.wait_for_log("store_up")
    world.refused("k")
    equal(world.upstream.count(), 0)
    bench.own_redis().follow(new)
    world.pay("k")
    equal(world.upstream.count(), 1)


@test
def what_a_client_was_told_survives_a_failover(bench):
    world = World(bench)
    first = answered_without_replicas(world)
    equal(first.status, 201)
    bench.own_redis().follow(world.fail_over())
    world.gateway.wait_for_log("journal_delivered")

    def told():
        """Each worker connects by itself."""
        got = world.ask("k")
        return got.problem != "store-unavailable" and got
    again = eventually(told, "Redis is there again")
    assert again.replayed
    equal(again.body, first.body)
    equal(world.upstream.count(), 1)


@test
def each_master_of_a_cluster_waits_for_its_own(bench):
    cluster = bench.own_cluster()
    upstream, gateway = bench.pair(
        redis=cluster, cache={"size": 0}, store={**BRIEF, "wait_replicas": 1})
    keys = [f"k{number}" for number in range(24)]

    def pay_all():
        tasks = [bench.background(gateway.ask, key) for key in keys]
        return [task.result().status for task in tasks]
    away = cluster.replica_of(cluster.masters[0])
    away.freeze()
    got = pay_all()
    equal(set(got), {201, 503})
    equal([upstream.count(key=key) for key in keys],
          [int(status == 201) for status in got])
    away.thaw()
    eventually(lambda: set(pay_all()) == {201}, "all are paid")
    equal([upstream.count(key=key) for key in keys], [1] * len(keys))


# --- what it costs ---------------------------------------------------------

KEYS, CLIENTS = 400, 16


@test
def those_who_come_together_wait_together(bench):
    world = World(bench, workers=1, times=LONG)

    def pay(first):
        with world.gateway.client() as client:
            for number in range(first, KEYS, CLIENTS):
                client.send(keyed(f"k{number}"))
                equal(client.read().status, 201)
    tasks = [bench.background(pay, n) for n in range(CLIENTS)]
    for task in tasks:
        task.result(60)
    equal(world.upstream.count(), KEYS)
    # Each writes its record once, whatever it left together with.
    steps, waits = (world.master.calls(c) for c in ("set", "wait"))
    assert steps >= 2 * KEYS, steps
    assert waits < KEYS, f"{waits} WAITs for {2 * KEYS} steps"


@each([("a moment", BRIEF),
       ("as long as they may", {"timeout": "5s", "wait_timeout": "1h"})])
def many_who_wait_in_vain_are_all_refused_in_time(bench, times):
    world = World(bench, workers=1, times=times)
    world.pay("old")
    world.wait_noted()
    world.part()
    tasks = [bench.background(world.ask, f"k{n}") for n in range(40)]
    equal({task.result(60).problem for task in tasks}, {"store-unavailable"})
    equal(world.gateway.find_log("store_down"), [])
    assert world.ask("old").replayed
    world.join()
    for number in range(40):
        world.pay(f"k{number}")
    equal(world.upstream.count(), 41)


# --- dead messages ---------------------------------------------------------

@test
def a_dead_message_that_replicas_lack_is_not_acknowledged(bench):
    stream, members = Stream(bench.own_redis()), {}
    source(members, stream, request={"headers": {
        "Authorization": TENANT, "X-A": "{json:/a}"}})
    world = World(bench, **members)
    gateway = world.gateway
    stream.add(body=b'{"a":1}')
    gateway.wait_for_log("message", outcome="executed")
    world.part()
    since = len(gateway.events)
    stream.add(body=b"{}")
    gateway.wait_until(
        lambda: gateway.find_log("message", since) or
        gateway.find_log("source_stands", since, reason="store"),
        "somebody looks at it")
    equal((gateway.find_log("message", since), len(stream.pending())),
          ([], 1))
    world.join()
    said = gateway.wait_for_log("message", since)
    equal((said["reason"], stream.pending()), ("malformed", []))
    new = world.fail_over()
    equal(sum(b":letter:source:" in key for key in new.keys()), 1)


# --- an operator, a start, a user ------------------------------------------

@test
def an_operators_word_that_replicas_lack_is_not_confirmed(bench):
    world = World(bench, admin={"listen": "127.0.0.1:0"})
    world.upstream.reply = lambda connection, request: connection.close()
    got = eventually(lambda: (lambda a: a.problem == "outcome-unknown" and a)(
        world.ask("k")), "its outcome is unknown")
    key_id = re.search("[0-9a-f]{32}", got.json()["instance"])[0]
    path = f"/keys/{key_id}"

    def operate(method, path):
        return ask(world.gateway.ready["admin"], build(
            method, path, fields=[("Content-Type", "application/json")],
            body=b"{}" if method == "POST" else b"", host="localhost"))
    world.part()
    equal(operate("POST", path + "/release").status, 503)
    world.join()
    eventually(lambda: operate("DELETE", path).status // 100 == 2)


@test
def a_start_warns_of_too_few(bench):
    world = World(bench)
    equal(world.few(), [])
    world.part()
    after = bench.gateway(world.upstream, redis=world.master,
                          store={**BRIEF, "wait_replicas": 1})
    said = after.wait_for_log("replicas_few")
    equal((said["replicas"], said["wait_replicas"]), (0, 1))


@test
def a_user_who_may_not_wait_claims_nothing(bench):
    world = World(bench)
    world.master("ACL", "SETUSER", "default", "-wait")
    world.refused("k")
    said = world.gateway.wait_for_log("store_refused", operation="wait")
    assert "NOPERM" in said["error"], said
    equal(world.upstream.count(), 0)
    world.master("ACL", "SETUSER", "default", "+wait")
    world.pay("k")


@test
def with_functions_it_is_the_same(bench):
    world = World(bench, store={"scripting": "function"})
    world.pay("k")
    world.wait_noted()
    world.part()
    world.refused("k2")
    assert world.ask("k").replayed
    world.join()
    world.pay("k2")
    equal(world.upstream.count(), 2)


tap.main()
