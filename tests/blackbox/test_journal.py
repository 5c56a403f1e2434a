# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6: Redis is lost after the upstream has answered.  The
outcome is on disk first, and reaches Redis as soon as possible, even from the
next process."""

import glob
import os
import signal

from once import tap
from once.http import ask, build
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


def lost_at_complete(bench, how, reply=None, store=None, **idempotency):
    """A payment whose Redis is gone when the upstream has answered."""
    upstream = bench.upstream(reply)
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(
        upstream, idempotency={"lease": "8s", **idempotency}, redis=redis,
        store=store or {})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    getattr(redis, how)()
    hold.release()
    return upstream, redis, gateway, first.result()


def is_problem(got, name):
    return got if got.problem == name else None


def back(redis, how):
    redis.thaw() if how == "freeze" else redis.start()


def journals(gateway):
    return glob.glob(os.path.join(
        gateway.config["state_dir"], "journal", "*"))


def entries(gateway):
    return sum(os.path.getsize(name) for name in journals(gateway))


LOST = [("killed", "kill"), ("frozen", "freeze")]


@each(LOST)
def the_client_gets_its_answer_and_so_does_every_retry(bench, how):
    upstream, redis, gateway, first = lost_at_complete(bench, how)
    equal((first.status, first.replayed), (201, False))
    back(redis, how)
    gateway.wait_for_log("journal_delivered")
    again = gateway.ask("k")
    equal((again.status, again.body, again.replayed),
          (201, first.body, True))
    equal(upstream.count(), 1)


@each(LOST)
def the_next_process_delivers_it(bench, how):
    upstream, redis, gateway, first = lost_at_complete(bench, how)
    equal(first.status, 201)
    gateway.kill()
    back(redis, how)
    other = bench.serve(gateway.config)
    other.wait_for_log("journal_adopted")
    other.wait_for_log("journal_delivered")
    equal(other.ask("k").replayed, True)
    equal(upstream.count(), 1)


@each([("retry", "retry"), ("reconcile", {"reconcile": "/by/{key}"})])
def where_another_execution_may_decide_it_is_not_handed_out(bench, policy):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", on_unknown=policy)
    equal((first.status, first.problem), (503, "store-unavailable"))
    redis.start()
    gateway.wait_for_log("journal_delivered")
    equal(gateway.ask("k").replayed, True)
    equal(upstream.count(), 1)


@each([("an answer", answer(201, b"of the API"), "store-unavailable"),
       ("a release", answer(503), "store-unavailable"),
       ("a doubt", answer(502), "outcome-unknown")])
def after_its_lease_an_owner_gives_nothing_away(bench, reply, problem):
    """An operator has found out what happened, and said it to the client."""
    redis = bench.own_redis()
    proxy = bench.proxy(redis.url)
    upstream = bench.upstream(reply)
    gateway = bench.gateway(
        upstream, redis=proxy.url, idempotency={"lease": "1s"},
        store={"timeout": "200ms"})
    other = bench.gateway(
        upstream, redis=redis, admin={"listen": "127.0.0.1:0"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    proxy.hold()
    got = eventually(lambda: is_problem(other.ask("k"), "outcome-unknown"))
    key_id = got.json()["instance"].rsplit(":", 1)[1]
    equal(ask(other.ready["admin"], build(
        "POST", f"/keys/{key_id}/complete", host="localhost",
        body=b'{"status": 202, "body": "found out"}')).status, 200)
    hold.release()
    equal(first.result().problem, problem)
    proxy.release()
    gateway.wait_for_log("journal_late")
    for one in (gateway, other):
        got = one.ask("k")
        equal((got.status, got.body), (202, b"found out"))
    equal(upstream.count(), 1)


@test
def a_release_is_journaled_too(bench):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", reply=answer(503))
    equal(first.status, 503)
    redis.start()
    gateway.wait_for_log("journal_delivered")
    upstream.reply = answer()
    got = gateway.ask("k")
    equal((got.status, got.replayed), (201, False))
    equal(upstream.count(), 2)


@test
def a_doubt_is_journaled_too(bench):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", reply=then_close(b""))
    equal((first.status, first.problem), (502, "outcome-unknown"))
    redis.start()
    gateway.wait_for_log("journal_delivered")
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(upstream.count(), 1)


@test
def a_journal_that_cannot_be_written_stops_new_claims(bench):
    upstream, gateway = bench.pair(workers=1, admin={"listen": "127.0.0.1:0"})
    equal(gateway.ask("k").status, 201)
    for name in journals(gateway):
        os.unlink(name)
    eventually(
        lambda: gateway.ask("new").problem == "store-unavailable")
    assert gateway.wait_for_log("journal_unwritable")["error"]
    count = upstream.count()
    equal(gateway.ask("newer").problem, "store-unavailable")
    equal(upstream.count(), count)
    status = ask(gateway.ready["admin"],
                 build("GET", "/status", host="localhost")).json()
    equal(status["journal"], {"entries": 0, "writable": False})
    # Said once, not for each refused claim.
    equal(len(gateway.find_log("journal_unwritable")), 1)


@test
def an_outcome_that_is_refused_is_delivered_again_and_again(bench):
    upstream = bench.upstream()
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(upstream, redis=redis)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis("CONFIG", "SET", "min-replicas-to-write", "1")
    hold.release()
    equal(first.result().status, 201)
    # Refused twice: to the execution, and to the delivery.
    eventually(lambda: len(gateway.find_log(
        "store_refused", operation="complete")) > 1, "it is tried again")
    redis("CONFIG", "SET", "min-replicas-to-write", "0")
    gateway.wait_for_log("journal_delivered")
    equal(gateway.ask("k").replayed, True)
    equal(upstream.count(), 1)


def taken_by_nothing(bench):
    """A payment whose outcome neither Redis nor the disk takes."""
    upstream = bench.upstream()
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(upstream, redis=redis, workers=1)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    for name in journals(gateway):
        os.unlink(name)
    redis.kill()
    hold.release()
    equal(first.result().problem, "store-unavailable")
    return upstream, redis, gateway


@test
def an_outcome_that_nothing_takes_is_tried_until_redis_is_back(bench):
    upstream, redis, gateway = taken_by_nothing(bench)
    redis.start()
    other = bench.gateway(upstream, redis=redis)
    eventually(lambda: other.ask("k").replayed, "the stored answer")
    equal(upstream.count(), 1)


@test
def an_outcome_that_nothing_takes_is_drained_too(bench):
    upstream, redis, gateway = taken_by_nothing(bench)
    gateway.signal(signal.SIGTERM)
    gateway.wait_for_log("draining")
    redis.start()
    equal(gateway.wait(), 0)
    assert bench.gateway(upstream, redis=redis).ask("k").replayed
    equal(upstream.count(), 1)


def damage(name):
    """A journal has another answer than the one that was written."""
    with open(name, "r+b") as file:
        data = file.read()
        equal(data.count(b"whole"), 1)
        file.seek(0)
        file.write(data.replace(b"whole", b"false"))


@test
def an_entry_that_was_damaged_is_not_delivered(bench):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", answer(201, b"a whole answer"),
        store={"compression": "none"})
    equal(first.status, 201)
    gateway.kill()
    name, = [name for name in journals(gateway) if os.path.getsize(name)]
    damage(name)
    redis.start()
    other = bench.serve(gateway.config)
    other.wait_for_log("journal_adopted", damaged=1,
                       file=os.path.basename(name))
    # Nobody can know what the answer was any more.
    eventually(lambda: other.ask("k").problem == "outcome-unknown")
    equal(upstream.count(), 1)


@each([("of this process", False), ("of a dead process", True)])
def an_entry_that_cannot_be_read_back_is_named(bench, dies):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", answer(201, b"a whole answer"),
        store={"compression": "none"})
    equal(first.status, 201)
    name, = [name for name in journals(gateway) if os.path.getsize(name)]
    if dies:
        gateway.kill()
        gateway = bench.serve(gateway.config)
        gateway.wait_for_log("journal_adopted", entries=1,
                             file=os.path.basename(name))
    damage(name)
    redis.start()
    line = gateway.wait_for_log("journal_damaged")
    equal((line["file"], line["entry"]), (os.path.basename(name), 1))
    assert "keys list --state UNKNOWN" in line["words"], line
    eventually(lambda: gateway.ask("k").problem == "outcome-unknown")
    equal(gateway.find_log("journal_delivered"), [])
    equal(upstream.count(), 1)


@test
def a_process_that_lives_keeps_its_journal(bench):
    upstream = bench.upstream()
    one = bench.gateway(upstream, workers=1)
    equal(one.ask("one").status, 201)
    before = journals(one)
    two = bench.gateway(upstream, workers=1, state_dir=one.config["state_dir"])
    # A gateway adopts journals before it serves.
    equal(two.ask("two").status, 201)
    equal(set(before) - set(journals(two)), set())
    equal(one.ask("more").status, 201)


@test
def an_outcome_that_comes_too_late_is_said_and_changes_nothing(bench):
    upstream, redis, gateway, first = lost_at_complete(bench, "freeze")
    equal(first.status, 201)
    # While the gateway is frozen, the record is deleted.
    gateway.signal(signal.SIGSTOP)
    back(redis, "freeze")
    redis("FLUSHALL")
    gateway.signal(signal.SIGCONT)
    line = gateway.wait_for_log("journal_late", route="charges", attempt=1,
                                step="complete")
    assert line["key_id"], line
    equal(upstream.count(), 1)


@test
def a_state_dir_that_cannot_be_written_is_refused_at_start(bench):
    config = bench.config(bench.upstream())
    config["state_dir"] = "/proc/no-such-place"
    gateway = bench.serve(config, ready=False)
    equal(gateway.wait(), 1)


@test
def a_clean_end_leaves_no_journal_behind(bench):
    upstream, gateway = bench.pair()
    equal(gateway.ask("k").status, 201)
    gateway.stop(signal.SIGTERM)
    equal(entries(gateway), 0)


tap.main()
