# SPDX-License-Identifier: BSD-2-Clause
"""Rows of a PostgreSQL outbox: each is executed once, and finished in the same
transaction as its result or dead letter."""

import json
import signal
import time

from once import tap
from once.gateway import is_without
from once.messages import ended
from once.pgwire import PostgresClient
from once.postgres import Outbox, outbox_source, programs
from once.tap import each, equal, test
from once.upstream import Hold, answer, close_unanswered
from once.wait import eventually


def begin(bench, upstream, members=None, key="bigserial", **more):
    outbox = Outbox(bench.postgres(), key=key)
    config = bench.config(upstream, **more)
    outbox_source(config, outbox, **(members or {}))
    return outbox, config


def sent(upstream):
    return [json.loads(r.body)["n"] for r in upstream.requests]


@test
def a_row_is_executed_once_and_deleted(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    gateway = bench.serve(config)
    row = outbox.add({"n": 1})
    ended(gateway, 1, outcome="executed", position=row)
    equal((outbox.unread(), sent(upstream)), ([], [1]))


@test
def a_finished_row_may_be_marked(bench):
    upstream = bench.upstream()
    outbox, config = begin(
        bench, upstream, {"finish": {"set": "published_at"}}, key="uuid")
    gateway = bench.serve(config)
    for n in range(20):
        outbox.add({"n": n}, entity=str(n))
    ended(gateway, 20, outcome="executed")
    equal(outbox.unread("published_at IS NULL"), [])
    equal(len(outbox.unread()), 20)
    equal(sorted(sent(upstream)), list(range(20)))


@test
def the_same_key_by_http_and_by_row_is_one_execution(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    gateway = bench.serve(config)
    first = gateway.ask("k", body=b'{"n": 1}')
    equal(first.status, 201)
    outbox.add({"n": 1}, headers={"Idempotency-Key": "k"})
    ended(gateway, 1, outcome="duplicate")
    equal((upstream.count(), outbox.unread()), (1, []))


@test
def a_result_and_a_dead_letter_are_in_the_rows_own_transaction(bench):
    def script(connection, request):
        bad = json.loads(request.body)["n"] == 2
        connection.send(answer(422 if bad else 201, b'{"id":"ch"}'))
    upstream = bench.upstream(script)
    outbox, config = begin(bench, upstream, {"results": {"table": "done"}})
    gateway = bench.serve(config)
    good = outbox.add({"n": 1})
    bad = outbox.add({"n": 2}, kind="refund", headers={"a": "b"})
    ended(gateway, 2)
    equal(outbox.unread(), [])
    done, = outbox.postgres.rows(
        "SELECT status, headers, key_id, convert_from(body, 'UTF8') AS body "
        "FROM done")
    equal((done["status"], done["body"], done["headers"]["onceproxy-position"]),
          (201, '{"id":"ch"}', good))
    dead, = outbox.postgres.rows(
        "SELECT id, entity, type, headers, "
        "convert_from(payload, 'UTF8') AS payload FROM outbox_dead")
    equal((dead["id"], dead["entity"], dead["type"],
           json.loads(dead["payload"]), dead["headers"]["a"],
           dead["headers"]["onceproxy-reason"],
           dead["headers"]["onceproxy-status"]),
          (bad, "a", "refund", {"n": 2}, "b", "refused", "422"))


def open_transactions(postgres, since):
    """Which sessions of gateways are in one that began before that."""
    found = postgres.rows(
        f"SELECT xact_start < '{since}' AS open, state, query "
        "FROM pg_stat_activity WHERE application_name LIKE 'onceproxy%'")
    assert found, "there is no session"
    return [session for session in found if session["open"]]


@each([("without an order", {}),
       ("with one, and results", {"order_by": "entity",
                                  "results": {"table": "done"}})])
def no_transaction_is_open_during_a_call(bench, members):
    hold = Hold()

    def script(connection, request):
        if json.loads(request.body)["n"] == 1:
            hold.wait()
        connection.send(answer())
    upstream = bench.upstream(script)
    outbox, config = begin(bench, upstream, members)
    gateway = bench.serve(config)
    outbox.add({"n": 1})
    hold.wait_arrived()
    for n in (2, 3):  # what looks for more rows, and finishes others, ends
        since, = outbox.postgres("SELECT clock_timestamp()")
        eventually(lambda since=since: not open_transactions(
            outbox.postgres, since), "all transactions end")
        outbox.add({"n": n}, entity=f"of-{n}")
        ended(gateway, n - 1, outcome="executed")
    equal((sent(upstream), len(outbox.unread())), ([1, 2, 3], 1))
    hold.release()
    ended(gateway, 3, outcome="executed")
    equal(outbox.unread(), [])


@test
def an_outage_of_postgresql_loses_nothing(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    gateway = bench.serve(config)
    hold = upstream.hold()
    outbox.add({"n": 1})
    hold.wait_arrived()
    outbox.postgres.kill()
    hold.release()
    gateway.wait_for_log("source_stands", reason="broker")
    outbox.postgres.start()
    ended(gateway, 1)
    equal((upstream.count(), outbox.unread()), (1, []))


@test
def a_gateway_killed_in_the_middle_leaves_the_row(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, idempotency={"lease": "1s"})
    gateway = bench.serve(config)
    hold = upstream.hold()
    outbox.add({"n": 1})
    hold.wait_arrived()
    gateway.kill()
    hold.release()
    second = bench.serve(config)
    second.wait_for_log("message_held", source="outbox")
    equal((upstream.count(), len(outbox.unread())), (1, 1))


@test
def a_row_that_nobody_knows_of_holds_its_entity_only(bench):
    def script(connection, request):
        if json.loads(request.body)["n"] == 1:
            close_unanswered(connection, request)
        else:
            connection.send(answer())
    upstream = bench.upstream(script)
    outbox, config = begin(bench, upstream, {"order_by": "entity"})
    gateway = bench.serve(config)
    outbox.add({"n": 1}, entity="a")
    outbox.add({"n": 2}, entity="a")
    outbox.add({"n": 3}, entity="b")
    ended(gateway, 1, outcome="executed")
    gateway.wait_for_log("message_held", source="outbox")
    equal(sorted(sent(upstream)), [1, 3])
    equal(len(outbox.unread()), 2)


@test
def two_gateways_share_a_table_in_order(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"order_by": "entity"})
    gateways = [bench.serve(dict(config, instance=name,
                                 state_dir=bench.folder()))
                for name in ("one", "two")]
    rows = ", ".join(
        f"('x', '{n % 10}', 'charge', '{{\"n\": {n}}}')" for n in range(300))
    outbox.postgres("INSERT INTO outbox (aggregatetype, aggregateid, type, "
                    f"payload) VALUES {rows}")
    gateways[0].wait_until(
        lambda: upstream.count() >= 300 and outbox.unread() == [],
        "all rows are finished")
    for account in range(10):
        mine = [n for n in sent(upstream) if n % 10 == account]
        equal(mine, sorted(mine))
        equal(len(set(mine)), 30)


@each([("at once", 0), ("when it is looked for less often", 5)])
def a_row_that_is_committed_late_is_before_those_written_after_it(
        bench, late_s):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"order_by": "entity"})
    gateway = bench.serve(config)

    def add(client, number, entity):
        client("INSERT INTO outbox (aggregateid, type, payload) VALUES "
               f"('{entity}', 'charge', '{{\"n\": {number}}}')")
    late, prompt = (PostgresClient(outbox.postgres.folder) for _ in (0, 1))
    late("BEGIN")
    add(late, 1, "a")
    add(prompt, 2, "b")
    ended(gateway, 1)
    until = time.monotonic() + late_s
    eventually(lambda: time.monotonic() >= until)
    late("COMMIT")
    add(prompt, 3, "a")
    ended(gateway, 3)
    equal(sent(upstream), [2, 1, 3])


@test
def a_row_that_was_written_anew_is_another_message(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    gateway = bench.serve(config)
    hold = upstream.hold()
    row = outbox.add({"n": 1}, headers={"Idempotency-Key": "k1"})
    hold.wait_arrived()
    outbox.postgres(
        "UPDATE outbox SET payload = '{\"n\": 2}', "
        f"headers = '{{\"Idempotency-Key\": \"k2\"}}' WHERE id = {row}")
    hold.release()
    ended(gateway, 2, position=row)
    equal((outbox.unread(), sent(upstream)), ([], [1, 2]))


@test
def a_row_that_was_touched_is_not_executed_again(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    gateway = bench.serve(config)
    hold = upstream.hold()
    row = outbox.add({"n": 1})
    hold.wait_arrived()
    outbox.postgres(f"UPDATE outbox SET made = now() WHERE id = {row}")
    hold.release()
    ended(gateway, 1, outcome="executed", position=row)
    equal((outbox.unread(), sent(upstream)), ([], [1]))
    equal(len(gateway.find_log("message")), 1)


@test
def a_row_that_was_touched_keeps_its_place_in_its_order(bench):
    """Also while its bytes are not here, as it waits for long."""
    upstream = bench.upstream()
    upstream.reply = lambda connection, request: connection.send(
        answer(503 if upstream.count() == 1 else 201))
    outbox, config = begin(bench, upstream, {
        "order_by": "entity", "retry": {"first": "3s", "most": "3s"}})
    gateway = bench.serve(config)
    rows = [outbox.add({"n": n}, "e") for n in (1, 2, 3)]
    upstream.wait_for(1)
    for row in rows[:2]:
        outbox.postgres(f"UPDATE outbox SET made = now() WHERE id = {row}")
    ended(gateway, 3, outcome="executed")
    equal((outbox.unread(), sent(upstream)), ([], [1, 1, 2, 3]))


@test
def a_row_that_the_server_keeps_is_held(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    outbox.postgres(
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RETURN NULL; END'; CREATE TRIGGER keep BEFORE DELETE "
        "ON outbox FOR EACH ROW EXECUTE FUNCTION keep()")
    gateway = bench.serve(config)
    row = outbox.add({"n": 1})
    told = gateway.wait_for_log("message_not_finished", position=row)
    assert "keeps it" in told["error"], told
    equal((outbox.unread(), gateway.find_log("message")), ([row], []))
    outbox.postgres("DROP TRIGGER keep ON outbox")
    ended(gateway, 1, outcome="executed", position=row)
    equal((outbox.unread(), sent(upstream)), ([], [1]))


@test
def a_drain_gives_rows_back(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    gateway = bench.serve(config)
    hold = upstream.hold()
    outbox.add({"n": 1})
    hold.wait_arrived()
    gateway.signal(signal.SIGTERM)
    gateway.wait_for_log("draining")
    other = bench.serve(dict(config, state_dir=bench.folder()))
    hold.release()
    ended(other, 1, outcome="duplicate")
    equal(gateway.wait(), 0)
    equal((upstream.count(), outbox.unread()), (1, []))


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
