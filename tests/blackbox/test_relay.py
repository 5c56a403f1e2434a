# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 12 and 13: outcomes go out to a table of PostgreSQL, each
event exactly once, in the order of each record."""

import json
import signal

from once import tap
from once.gateway import is_without
from once.http import ask, build
from once.postgres import programs
from once.relays import NAMES, Ledger, relay, streams
from once.tap import equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

SHARDS = 4


def begin(bench, reply=None, idempotency=None, redis=None, **members):
    """An upstream, a PostgreSQL, a configuration, and the relay's ledger."""
    upstream = bench.upstream(reply)
    postgres = bench.postgres()
    store = {"shards": SHARDS, **members.pop("store", {})}
    redis = redis or bench.redis
    config = bench.config(upstream, idempotency, redis=redis, store=store)
    relay(config, postgres, **members)
    return upstream, config, Ledger(postgres, redis, SHARDS)


def pay(gateway, keys):
    for key in keys:
        equal(gateway.ask(key).status, 201)


@test
def each_event_is_a_row(bench):
    upstream, config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, ["a", "b", "c"])
    rows = ledger.wait_whole()
    equal(len(rows), 6)
    equal(list(ledger.stories().values()),
          [["NONE>PROCESSING 1", "PROCESSING>COMPLETED 1 201"]] * 3)
    equal(list(rows[0]), NAMES)
    for row in rows:
        equal((row["route"], row["answer"]), ("charges", None))


@test
def a_new_relay_begins_with_what_the_streams_have(bench):
    upstream, config, ledger = begin(bench)
    relays = config.pop("relays")
    config["store"]["events"] = {"maxlen": 1000}
    gateway = bench.serve(config)
    pay(gateway, ["a", "b"])
    gateway.stop()
    config["relays"] = relays
    bench.serve(config)
    equal(len(ledger.wait_whole()), 4)


@test
def it_goes_on_where_it_stands_after_a_restart(bench):
    upstream, config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, ["a", "b"])
    ledger.wait_whole()
    gateway.stop()
    ledger.postgres("DELETE FROM ledger")
    gateway = bench.serve(config)
    pay(gateway, ["c"])
    ledger.wait_for(2)
    rows = ledger.rows()
    equal([row["to"] for row in rows], ["PROCESSING", "COMPLETED"])


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
