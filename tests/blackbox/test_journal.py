# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6: Redis lost after the upstream answered.  The outcome is
on disk first, and reaches Redis as soon as it can, also from the next
process."""

import glob
import os
import signal

from once import tap
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


def lost_at_complete(bench, how, reply=None, **idempotency):
    """A payment whose Redis is gone when the upstream has answered."""
    upstream = bench.upstream(reply)
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(
        upstream, idempotency={"lease": "2s", **idempotency}, redis=redis)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    getattr(redis, how)()
    hold.release()
    return upstream, redis, gateway, first.result()


def back(redis, how):
    redis.thaw() if how == "freeze" else redis.start()


def entries(gateway):
    folder = os.path.join(gateway.config["state_dir"], "journal")
    return sum(os.path.getsize(name)
               for name in glob.glob(os.path.join(folder, "*")))


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
    upstream, gateway = bench.pair(workers=1)
    equal(gateway.ask("k").status, 201)
    for name in glob.glob(os.path.join(
            gateway.config["state_dir"], "journal", "*")):
        os.unlink(name)
    eventually(
        lambda: gateway.ask("new").problem == "store-unavailable")
    assert gateway.wait_for_log("journal_unwritable")["error"]
    count = upstream.count()
    equal(gateway.ask("newer").problem, "store-unavailable")
    equal(upstream.count(), count)
    # Said once, not for each refused claim.
    equal(len(gateway.find_log("journal_unwritable")), 1)


@test
def an_outcome_that_comes_too_late_is_said_and_changes_nothing(bench):
    upstream, redis, gateway, first = lost_at_complete(bench, "freeze")
    equal(first.status, 201)
    # While the gateway is frozen, somebody forgets the record.
    gateway.signal(signal.SIGSTOP)
    back(redis, "freeze")
    redis("FLUSHALL")
    gateway.signal(signal.SIGCONT)
    line = gateway.wait_for_log("journal_late")
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
