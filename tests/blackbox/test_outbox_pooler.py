# SPDX-License-Identifier: BSD-2-Clause
"""An outbox, and the table of a relay, behind a PgBouncer: one that pools
sessions is as the server itself, however often it dies; another is refused."""

import json

from once import tap
from once.gateway import is_without
from once.pooler import POOLER, Pooler
from once.postgres import Outbox, outbox_source, programs
from once.relays import Ledger, relay
from once.tap import equal, test
from once.wait import eventually


def begin(bench, members=None, mode="session"):
    outbox = Outbox(bench.postgres_for_all)
    pooler = Pooler(outbox.postgres, mode)
    bench.upstreams.append(pooler)
    upstream = bench.upstream()
    config = bench.config(upstream, admin={"listen": "127.0.0.1:0"})
    outbox_source(config, outbox, **(members or {}))
    config["brokers"]["shop"]["postgres"] = pooler.url
    return outbox, pooler, upstream, config


def fill(outbox, count, entities):
    outbox.postgres(
        "INSERT INTO outbox (aggregateid, type, payload) SELECT n % "
        f"{entities}, 'b', jsonb_build_object('n', n) "
        f"FROM generate_series(0, {count - 1}) AS n")


@test
def sessions_that_a_pooler_drops_lose_and_repeat_nothing(bench):
    outbox, pooler, upstream, config = begin(bench, {
        "order_by": "entity", "results": {"table": "done"}})
    gateways = [bench.serve({**config, "instance": name,
                             "state_dir": bench.folder()})
                for name in ("one", "two")]
    fill(outbox, 2000, 20)
    for n in range(6):
        gateways[0].wait_until(lambda n=n: upstream.count() > 200 * n,
                               "some are sent")
        pooler.restart()
    gateways[0].wait_until(
        lambda: outbox.unread() == [], "all are finished", 60)
    found = [json.loads(r.body)["n"] for r in upstream.requests]
    equal(sorted(found), list(range(2000)))
    for entity in range(20):
        mine = [n for n in found if n % 20 == entity]
        equal(mine, sorted(mine))
    equal(outbox.postgres(
        "SELECT count(*), count(DISTINCT headers->>'onceproxy-position') "
        "FROM done"), ["2000|2000"])
    equal([g.find_log("source_row_deleted") for g in gateways], [[], []])


@test
def a_relay_brings_each_event_once_through_a_pooler_that_dies(bench):
    outbox, pooler, _, config = begin(bench)
    ledger = Ledger(outbox.postgres, bench.redis, 64)
    relay(config, pooler)
    gateway = bench.serve(config)
    fill(outbox, 1000, 20)
    for n in range(4):
        eventually(lambda n=n: ledger.count() > 300 * n, "some are there")
        pooler.restart()
    gateway.wait_until(lambda: outbox.unread() == [], "all are finished", 60)
    ledger.wait_for(2000)
    equal(len({row["id"] for row in ledger.rows()}), 2000)


@test
def one_that_pools_transactions_is_refused_by_its_name(bench):
    _, _, _, config = begin(
        bench, {"order_by": "entity"}, "transaction")
    gateways = [bench.serve({**config, "instance": name,
                             "state_dir": bench.folder()})
                for name in ("one", "two")]
    eventually(lambda: any("must pool sessions" in line["error"]
                           for gateway in gateways for line in
                           gateway.find_log("source_stands")), "it stands")


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
elif POOLER is None:
    print("1..0 # SKIP no PgBouncer")
else:
    tap.main()
