# SPDX-License-Identifier: BSD-2-Clause
"""What others do to an outbox and its server: it holds up nobody else, and
nothing is executed or finished twice."""

import json

from once import tap
from once.gateway import is_without
from once.postgres import Outbox, outbox_source, programs
from once.tap import equal, test
from once.upstream import answer


def begin(bench, upstream, members=None, key="bigserial", **more):
    outbox = Outbox(bench.postgres(), key=key)
    config = bench.config(upstream, **more)
    outbox_source(config, outbox, **(members or {}))
    return outbox, config


def ended(gateway, count, **members):
    gateway.wait_until(
        lambda: len(gateway.find_log("message", **members)) >= count,
        f"{count} messages {members}")


def sent(upstream):
    return [json.loads(r.body)["n"] for r in upstream.requests]


def lock(outbox, row):
    outbox.postgres.begin(
        f"SELECT 1 FROM {outbox.name} WHERE id = {row} FOR UPDATE")


@test
def a_locked_row_holds_up_no_other_one(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {
        "in_flight": 4, "results": {"table": "done"}})
    first = outbox.add({"n": 0})
    lock(outbox, first)
    gateway = bench.serve(config)
    for n in range(1, 40):
        outbox.add({"n": n}, entity=str(n))
    ended(gateway, 39, outcome="executed")
    gateway.wait_for_log("source_row_locked", position=first)
    equal(outbox.unread(), [first])
    equal(gateway.find_log("source_stands"), [])
    equal(gateway.find_log("message", position=first), [])
    outbox.postgres.end()
    ended(gateway, 1, outcome="executed", position=first)
    equal((outbox.unread(), sorted(sent(upstream))), ([], list(range(40))))
    equal(outbox.postgres("SELECT count(*) FROM done"), ["40"])


@test
def more_locked_rows_than_may_be_in_flight_hold_up_no_others(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {
        "in_flight": 2, "finish": {"set": "published_at"}})
    rows = [outbox.add({"n": n}) for n in range(6)]
    outbox.postgres.begin("SELECT 1 FROM outbox FOR UPDATE")
    gateway = bench.serve(config)
    last = outbox.add({"n": 6})
    ended(gateway, 1, outcome="executed", position=last)
    equal(outbox.unread("published_at IS NULL"), rows)
    outbox.postgres.end()
    ended(gateway, 7, outcome="executed")
    equal(sorted(sent(upstream)), list(range(7)))


@test
def a_row_that_may_not_be_locked_holds_up_others_for_a_moment_only(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    outbox.postgres("CREATE ROLE poor LOGIN; "
                    "GRANT SELECT, DELETE ON outbox TO poor")
    config["brokers"]["shop"]["postgres"] = outbox.postgres.url.replace(
        "//postgres@", "//poor@")
    first = outbox.add({"n": 0})
    lock(outbox, first)
    gateway = bench.serve(config)
    for n in range(1, 40):
        outbox.add({"n": n}, entity=str(n))
    ended(gateway, 39, outcome="executed")
    gateway.wait_for_log("source_row_locked", position=first)
    equal(gateway.find_log("source_stands"), [])
    outbox.postgres.end()
    ended(gateway, 1, outcome="executed", position=first)
    equal((outbox.unread(), sorted(sent(upstream))), ([], list(range(40))))


@test
def a_locked_row_of_an_entity_holds_up_that_entity(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"order_by": "entity"})
    first = outbox.add({"n": 1}, entity="a")
    lock(outbox, first)
    gateway = bench.serve(config)
    outbox.add({"n": 2}, entity="a")
    outbox.add({"n": 3}, entity="b")
    ended(gateway, 1, outcome="executed")
    gateway.wait_for_log("source_row_locked", position=first)
    equal(sorted(sent(upstream)), [1, 3])
    outbox.postgres.end()
    ended(gateway, 3, outcome="executed")
    equal((outbox.unread(), sent(upstream)[-1]), ([], 2))


@test
def a_drain_leaves_a_locked_row_to_others(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    first = outbox.add({"n": 1})
    lock(outbox, first)
    gateway = bench.serve(config)
    gateway.wait_for_log("source_row_locked", position=first)
    gateway.stop()
    other = bench.serve(config)
    outbox.postgres.end()
    ended(other, 1, outcome="duplicate", position=first)
    equal((outbox.unread(), sent(upstream)), ([], [1]))


@test
def a_dead_letter_of_a_locked_row_is_put_once(bench):
    upstream = bench.upstream(answer(422))
    outbox, config = begin(bench, upstream)
    first = outbox.add({"n": 1})
    lock(outbox, first)
    gateway = bench.serve(config)
    gateway.wait_for_log("source_row_locked", position=first)
    outbox.postgres.end()
    ended(gateway, 1, outcome="refused", position=first)
    equal((outbox.unread(), upstream.count()), ([], 1))
    equal(outbox.postgres("SELECT id FROM outbox_dead"), [first])


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
