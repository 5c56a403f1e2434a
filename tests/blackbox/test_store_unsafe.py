# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, store.allow_eviction: a Redis that answers but cannot
be trusted is given no new claims, whenever that begins."""

import re

from once import tap
from once.http import ask, build
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

EVICTING = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")


def started(bench, *options, **members):
    redis = bench.own_redis(*options)
    upstream, gateway = bench.pair(
        redis=redis, admin={"listen": "127.0.0.1:0"}, cache={"size": 0},
        **members)
    return redis, upstream, gateway


def readiness(gateway):
    got = ask(gateway.ready["admin"], build("GET", "/readyz"))
    return got.status, got.json()


def wait_ready(gateway):
    eventually(lambda: readiness(gateway)[0] == 200, "/readyz says 200")


def wait_unready(gateway, word):
    """Waits until /readyz answers 503 and its text has that word; that
    text."""
    def unready():
        status, said = readiness(gateway)
        return status == 503 and word in said.get("detail", "") and said
    said = eventually(unready, f"/readyz says 503 and {word}")
    equal((said["status"], said["reason"]), ("unready", "store"))
    return said


def refused(gateway, key):
    got = gateway.ask(key)
    equal((got.status, got.problem), (503, "store-unavailable"))
    equal(got.json()["retry"], "same-key")


def evict(redis):
    redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru",
          "maxmemory", "100mb")


def demote(redis):
    redis("REPLICAOF", "127.0.0.1", "1")


def mend(redis):
    redis("CONFIG", "SET", "maxmemory-policy", "noeviction")
    redis("REPLICAOF", "NO", "ONE")


FAULTS = [("eviction", evict, "evict"), ("a replica", demote, "replica")]


@each(FAULTS)
def a_fault_stops_new_claims_until_it_is_mended(bench, harm, word):
    redis, upstream, gateway = started(bench, workers=4)
    wait_ready(gateway)
    equal(gateway.ask("before").status, 201)
    harm(redis)
    wait_unready(gateway, word)
    for number in range(8):
        refused(gateway, f"k{number}")
    equal(upstream.count(), 1)
    # What was answered before is still replayed.
    eventually(lambda: gateway.ask("before").replayed)
    mend(redis)
    wait_ready(gateway)
    for number in range(8):
        eventually(lambda n=number: gateway.ask(f"k{n}").status == 201)
    gateway.wait_for_log("store_safe")
    # One line for the whole process, and it says what to do.
    equal(len(gateway.find_log("store_unsafe")), 1)
    equal(len(gateway.find_log("store_safe")), 1)
    assert word in gateway.find_log("store_unsafe")[0]["fault"]


def fill(redis):
    redis("CONFIG", "SET", "maxmemory", "1")


@each([("eviction", evict, True), ("a replica", demote, True),
       ("full", fill, False)])
def what_it_refuses_is_not_forwarded_either(bench, harm, unsafe):
    """It is reached, so it is not away (on_store_down)."""
    redis, upstream, gateway = started(bench, idempotency={
        "on_store_down": "forward", "on_unknown": {"reconcile": {
            "path": "/by-key/{key}", "settle": "0s", "absent": [404]}}})
    upstream.replies["/v1/charges"] = then_close(b"")
    equal(gateway.ask("unknown").problem, "outcome-unknown")
    upstream.replies["/v1/charges"] = answer()
    harm(redis)
    if unsafe:
        gateway.wait_for_log("store_unsafe")
    refused(gateway, "unknown")
    refused(gateway, "new")
    equal(upstream.count(method="POST"), 1)


@test
def whoever_finds_a_fault_stops_the_claims_of_all(bench):
    """Only one of the workers asks Redis every few seconds.  Here another
    store of the process finds the fault first, as it connects anew."""
    redis, upstream, gateway = started(bench, workers=4)
    wait_ready(gateway)

    def idle():
        """A connection that is asked for the time each second, and for nothing
        else: the store that asks looks for expired leases more often."""
        listed = redis("CLIENT", "LIST", "TYPE", "normal").decode()
        return re.search(r"^id=(\d+) .* idle=1 .* cmd=time ", listed, re.M)
    client = eventually(idle, "a connection is idle").group(1)
    evict(redis)
    redis("CLIENT", "KILL", "ID", client)
    gateway.wait_for_log("store_unsafe")
    for number in range(16):
        refused(gateway, f"k{number}")
    equal(readiness(gateway)[0], 503)
    equal(upstream.count(), 0)
    mend(redis)
    wait_ready(gateway)
    gateway.wait_for_log("store_safe")
    for number in range(16):
        equal(gateway.ask(f"k{number}").status, 201)
    equal(len(gateway.find_log("store_unsafe")), 1)
    equal(len(gateway.find_log("store_safe")), 1)


@test
def outcomes_are_stored_while_new_claims_are_refused(bench):
    redis, upstream, gateway = started(bench)
    hold = upstream.hold()
    tasks = [bench.background(gateway.ask, f"k{n}") for n in range(3)]
    upstream.wait_for(3)
    upstream.reply = answer()
    evict(redis)
    wait_unready(gateway, "evict")
    refused(gateway, "another")
    hold.release()
    for number, task in enumerate(tasks):
        equal(task.result().status, 201)
        assert gateway.ask(f"k{number}").replayed
    equal(gateway.find_log("settle_late"), [])
    equal(upstream.count(), 3)


@test
def a_fault_is_found_before_the_first_claim_on_a_new_connection(bench):
    redis, upstream, gateway = started(bench)
    equal(gateway.ask("before").status, 201)
    redis.kill()
    redis.options = EVICTING
    redis.start()

    def said():
        equal(gateway.ask("k").status, 503)
        return gateway.find_log("store_unsafe")
    eventually(said, "store_unsafe in the log")
    for number in range(8):
        refused(gateway, f"k{number}")
    equal(upstream.count(), 1)
    wait_unready(gateway, "evict")


@test
def a_redis_that_comes_late_is_examined_too(bench):
    redis = bench.own_redis(*EVICTING)
    redis.kill()
    upstream, gateway = bench.pair(redis=redis)
    redis.start()
    gateway.wait_for_log("store_unsafe")
    for number in range(8):
        refused(gateway, f"k{number}")
    equal(upstream.count(), 0)


@test
def where_eviction_is_allowed_nothing_is_refused(bench):
    redis, upstream, gateway = started(
        bench, store={"allow_eviction": True})
    equal(gateway.ask("before").status, 201)
    evict(redis)
    redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    eventually(lambda: gateway.ask("k").status == 201)
    wait_ready(gateway)
    equal(gateway.find_log("store_unsafe"), [])


@test
def a_redis_that_was_restarted_is_said_once_for_all_workers(bench):
    redis, upstream, gateway = started(bench, workers=4)
    equal(gateway.ask("before").status, 201)
    for number in (1, 2):
        redis.restart()
        eventually(lambda n=number:
                   len(gateway.find_log("store_replaced")) >= n)
        wait_ready(gateway)
    # All links are up again: each of the four workers takes claims.
    since = len(gateway.events)
    eventually(lambda: all(gateway.ask(f"k{n}").status == 201
                           for n in range(16)))
    said = gateway.find_log("store_replaced")
    equal(len({line["run_id"] for line in said}), 2)
    equal(len(said), 2)
    for line in said:
        equal((line["level"], line["append_only_file"]), ("warn", False))
    equal(gateway.find_log("store_unsafe", since), [])


@test
def a_redis_that_is_emptied_while_it_runs_is_said_once(bench):
    """It is looked at every ten seconds, by each of the workers."""
    redis, upstream, gateway = started(bench, workers=2)
    # The workers and the admin interface know which store this is: whoever
    # came later would begin it anew.
    eventually(lambda: redis.calls("get") >= 6)  # of each two ids
    redis("FLUSHALL")
    told = gateway.wait_for_log("store_emptied", timeout=60)
    equal((told["level"], told["store"]), ("warn", "onceproxy"))
    name, = redis("KEYS", "*:store")
    kept = redis("GET", name)
    redis("DEL", name)
    gateway.wait_until(lambda: len(gateway.find_log("store_emptied")) == 2,
                       "it is looked at again", 60)
    equal((redis("KEYS", "*:store"), redis("GET", name)), ([name], kept))
    equal(gateway.find_log("store_replaced"), [])


@test
def a_redis_that_somebody_else_has_begun_anew_is_said(bench):
    """The store has an id again, but not the one that this gateway knew."""
    redis, upstream, gateway = started(bench, workers=1)
    equal(gateway.ask("before").status, 201)
    name, = eventually(lambda: redis("KEYS", "*:store"))
    redis("SET", name, "A" * len(redis("GET", name)))
    gateway.wait_for_log("store_emptied", timeout=60)


@test
def a_redis_whose_append_only_file_was_switched_off_is_said(bench):
    redis, upstream, gateway = started(bench, "--appendonly", "yes")
    equal(gateway.ask("before").status, 201)
    equal(gateway.find_log("store_volatile"), [])
    redis("CONFIG", "SET", "appendonly", "no")
    gateway.wait_for_log("store_volatile")
    equal(gateway.ask("k").status, 201)


@test
def a_user_who_may_not_ask_is_warned_of_once(bench):
    redis = bench.own_redis()
    redis("ACL", "SETUSER", "gate", "on", ">secret", "~*", "&*", "+@all",
          "-info")
    upstream, gateway = bench.pair(
        redis=redis, workers=4, admin={"listen": "127.0.0.1:0"},
        store={"user": "gate", "password": "secret"})
    gateway.wait_for_log("store_unexamined")
    equal(gateway.ask("before").status, 201)
    redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    eventually(lambda: all(gateway.ask(f"k{n}").status == 201
                           for n in range(8)))
    wait_ready(gateway)
    equal(len(gateway.find_log("store_unexamined")), 1)


@test
def requests_do_not_ask_again(bench):
    def asked():
        lines = redis("INFO", "commandstats").decode().split("\r\n")
        line = next(li for li in lines if li.startswith("cmdstat_info:"))
        return int(line.split("calls=")[1].split(",")[0])
    redis, upstream, gateway = started(bench)
    equal(gateway.ask("k").status, 201)
    before = asked()
    with gateway.client() as client:
        for _ in range(300):
            client.exchange(fields=[("Idempotency-Key", "k"),
                                    ("Authorization", "a")], body=b"")
    assert asked() - before < 100, asked() - before


tap.main()
