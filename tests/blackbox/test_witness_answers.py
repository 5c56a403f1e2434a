# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 14: whatever befalls the gateway, the witness' database and
what lies between them while a question is asked, a payment is made once."""

import itertools
import os
import signal

from once import tap
from once.admin import Admin
from once.gateway import is_without
from once.ledger import Ledger
from once.pooler import POOLER, Pooler
from once.postgres import programs
from once.tap import Skip, each, equal, test
from once.upstream import answer
from once.wait import eventually

OWN, ROW = b'{"id":"own"}', b'{"id":"row"}'


def begin(bench, postgres, url=None, **witness):
    """A ledger there, which the gateway reaches by that URL, and believes."""
    ledger = Ledger(postgres)
    upstream = bench.upstream(answer(402))
    gateway = bench.gateway(
        upstream, {"on_unknown": ledger.policy(**witness)},
        {"timeout": "2s"}, workers=1, admin={"listen": "127.0.0.1:0"},
        brokers={"ledger": {"postgres": url or postgres.url}})
    tries = itertools.count()
    eventually(lambda: gateway.ask(f"warm-{next(tries)}").status == 402,
               "the witness bears an answer out")
    postgres(f"TRUNCATE {ledger.name}_witness CASCADE")
    upstream.requests.clear()
    upstream.reply = ledger
    return ledger, upstream, gateway


def settled(gateway):
    def known():
        got = gateway.ask("k")
        return got.problem not in ("outcome-unknown", "in-flight") and got
    return eventually(known, "the outcome is known")


def until_asked(gateway, answer, key="k", count=1):
    """Retries are told that nobody knows it."""
    def came():
        got = gateway.ask(key)
        assert got.problem in ("outcome-unknown", "in-flight"), got
        return len(gateway.find_log("asked", answer=answer)) >= count
    eventually(came, f"it is asked: {answer}", 90)


WAITS = ("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
         "application_name LIKE 'onceproxy/%'")


def is_made_once(ledger, upstream, gateway, attempt, body):
    """By that attempt; clients are told what stands."""
    for _ in range(2):
        got = settled(gateway)
        equal((got.status, got.body), (201, body))
    equal((ledger.payments(), upstream.count()), ([attempt], attempt))


@each([("before its commit", "open", 2, OWN),
       ("after it", "committed", 1, ROW)])
def a_pooler_of_transactions_may_be_between(bench, point, attempt, body):
    if POOLER is None:
        raise Skip("there is no PgBouncer")
    postgres = bench.postgres_for_all
    pooler = Pooler(postgres, "transaction")
    bench.upstreams.append(pooler)
    ledger, upstream, gateway = begin(bench, postgres, pooler.url)
    ledger.dies(point)
    equal(gateway.ask("k").status, 502)
    is_made_once(ledger, upstream, gateway, attempt, body)
    # Where it waits for a lock in vain, the session is not spoilt for others.
    hold = ledger.stop("open")
    equal(gateway.ask("other").status, 504)
    until_asked(gateway, "unknown", "other")
    pooler.restart()
    hold.release()
    eventually(lambda: gateway.ask("other").status == 201, "it is known")
    equal(ledger.payments(), [attempt, 1])


@test
def a_gateway_that_is_frozen_when_it_asks_holds_nobody(bench):
    """All of the question is on its way: the server commits it alone."""
    postgres = bench.postgres_for_all
    ledger, upstream, gateway = begin(bench, postgres, wait="5s")
    hold = ledger.stop("open", dies=True)
    equal(gateway.ask("k").status, 504)
    retry = bench.background(gateway.ask, "k")
    eventually(lambda: postgres(WAITS), "its question waits")
    gateway.signal(signal.SIGSTOP)
    hold.release()
    eventually(lambda: ledger.rows() == [(1, "revoked")], "it is revoked")
    equal(postgres("SELECT 1 FROM pg_stat_activity WHERE state LIKE "
                   "'idle in transaction%'"), [])
    gateway.signal(signal.SIGCONT)
    retry.result()
    is_made_once(ledger, upstream, gateway, 2, OWN)


@test
def a_database_that_is_killed_when_it_is_asked_is_asked_again(bench):
    postgres = bench.postgres()
    ledger, upstream, gateway = begin(bench, postgres, wait="5s")
    hold = ledger.stop("open", dies=True)
    equal(gateway.ask("k").status, 504)
    retry = bench.background(gateway.ask, "k")
    eventually(lambda: postgres(WAITS), "the question waits")
    postgres.kill()
    hold.release()
    # The sweep asks as well, and perhaps before it.
    assert retry.result().problem in ("outcome-unknown", "in-flight")
    until_asked(gateway, "away")
    postgres.start()
    is_made_once(ledger, upstream, gateway, 2, OWN)
    equal(len(gateway.find_log("witness_down")), 1)


@test
def a_database_that_is_frozen_holds_no_client(bench):
    postgres = bench.postgres()
    ledger, upstream, gateway = begin(bench, postgres)
    hold = ledger.stop("committed", dies=True)
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    postgres.freeze_all()
    hold.release()
    equal(first.result().status, 502)
    until_asked(gateway, "away")
    postgres.thaw_all()
    is_made_once(ledger, upstream, gateway, 1, ROW)


@test
def the_server_that_takes_its_place_is_asked(bench):
    pair = bench.postgres_pair()
    ledger, upstream, gateway = begin(bench, pair)
    ledger.dies("committed")
    first = gateway.ask("k")
    equal(first.status, 502)
    pair.wait_copied()
    pair.primary.kill(signal.SIGINT)
    pair.promote()
    is_made_once(ledger, upstream, gateway, 1, ROW)


@test
def no_other_server_is_asked_than_the_one_that_is_looked_at(bench):
    """Both take writes, as in a split brain; the API pays in the first, which
    takes no more connections of the gateway."""
    postgres, other = bench.postgres(), bench.postgres_for_all
    way = os.path.join(bench.folder(), "a")
    os.symlink(postgres.folder, way)
    Ledger(other)
    hosts = ",".join(folder.replace("/", "%2F")
                     for folder in (way, other.folder))
    ledger, upstream, gateway = begin(
        bench, postgres, f"postgresql://postgres@/postgres?host={hosts}")
    os.unlink(way)
    # By that one its catalogue is read.
    postgres("SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM "
             "pg_stat_activity WHERE application_name LIKE 'onceproxy/%' "
             "ORDER BY backend_start OFFSET 1) AS all_but_the_first")
    ledger.dies("committed")
    equal(gateway.ask("k").status, 502)
    until_asked(gateway, "away")
    os.symlink(postgres.folder, way)
    is_made_once(ledger, upstream, gateway, 1, ROW)
    equal(other("SELECT 1 FROM ledger_witness"), [])


@test
def a_server_that_takes_writes_no_more_is_left_behind_a_pooler_too(bench):
    """Which keeps the connections of its clients over a failover."""
    if POOLER is None:
        raise Skip("there is no PgBouncer")
    pair = bench.postgres_pair()
    pooler = Pooler(pair, "transaction")
    bench.upstreams.append(pooler)
    ledger, upstream, gateway = begin(bench, pair, pooler.url)
    pair.wait_copied()
    pair.primary.kill(signal.SIGINT)
    pair.promote()
    pair.copy_again()
    ledger.dies("open")
    equal(gateway.ask("k").status, 502)
    # Its catalogue is read anew, as it is each minute.
    gateway.signal(signal.SIGHUP)
    is_made_once(ledger, upstream, gateway, 2, OWN)


@test
def what_is_refused_at_its_commit_does_not_free_the_key(bench):
    postgres = bench.postgres_for_all
    ledger, upstream, gateway = begin(bench, postgres)
    postgres("CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS "
             "'BEGIN IF NEW.verdict = ''revoked'' THEN RAISE ''never''; "
             "END IF; RETURN NULL; END'; CREATE CONSTRAINT TRIGGER t AFTER "
             "INSERT ON ledger_witness DEFERRABLE INITIALLY DEFERRED "
             "FOR EACH ROW EXECUTE FUNCTION refuses()")
    hold = ledger.stop("come")
    equal(gateway.ask("k").status, 504)
    until_asked(gateway, "unknown", count=3)
    equal({line["answer"] for line in gateway.find_log("asked")}, {"unknown"})
    hold.release()
    is_made_once(ledger, upstream, gateway, 1, ROW)


@test
def enforced_by_that_enforces_nothing_any_more_is_no_proof(bench):
    postgres = bench.postgres_for_all
    ledger, upstream, gateway = begin(bench, postgres)

    def state():
        return Admin(gateway).get("/status")["witnesses"][0]["state"]
    equal(state(), "enforced")
    postgres("ALTER TABLE ledger_payments DISABLE TRIGGER ALL")
    gateway.signal(signal.SIGHUP)
    eventually(lambda: state() == "unproven", "it is read anew")
    [line] = eventually(lambda: gateway.find_log("witness_unenforced"))
    assert "foreign key" in line["error"], line
    ledger.dies("open")
    equal(gateway.ask("k").status, 502)
    until_asked(gateway, "unknown")
    equal((ledger.rows(), upstream.count()), ([], 1))
    # One that had its row, and was sent since, is proof for the guard.
    equal(gateway.ask("another").status, 201)
    eventually(lambda: state() == "proven", "it is proven")
    equal(settled(gateway).status, 201)
    equal(sorted(ledger.rows()), [(1, "done"), (1, "revoked"), (2, "done")])


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
