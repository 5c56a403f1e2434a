# SPDX-License-Identifier: BSD-2-Clause
"""What others do to an outbox and its server: it holds up nobody else, and
nothing is executed or finished twice."""

import json

from once import tap
from once.admin import Admin
from once.gateway import is_without
from once.messages import ended, id_of
from once.postgres import Outbox, outbox_source, programs
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually


def begin(bench, upstream, members=None, postgres=None, **more):
    outbox = Outbox(postgres or bench.postgres_for_all)
    config = bench.config(upstream, **more)
    outbox_source(config, outbox, **(members or {}))
    return outbox, config


def sent(upstream):
    return [json.loads(r.body)["n"] for r in upstream.requests]


def lock(outbox, row):
    outbox.postgres.begin(
        f"SELECT 1 FROM {outbox.name} WHERE id = {row} FOR UPDATE")


@test
def what_was_malformed_before_its_turn_is_malformed(bench):
    """What an order is parked behind is asked for meanwhile."""
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"order_by": "entity"},
                           admin={"listen": "127.0.0.1:0"})
    for n in range(10):
        outbox.add({"n": n}, entity=f"e{n}",
                   headers={"idempotency-key": "bad key"})
    gateway = bench.serve(config)
    ended(gateway, 10, outcome="malformed", reason="malformed")
    counted = Admin(gateway).send("GET", "/metrics").body.decode()
    for name in ("onceproxy_messages_total{source=\"outbox\",outcome",
                 "onceproxy_dead_letters_total{source=\"outbox\",reason"):
        assert f'\n{name}="malformed"}} 10\n' in counted, counted
    equal(upstream.count(), 0)


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
                    "GRANT CREATE ON SCHEMA public TO poor; "
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
def a_locked_row_that_is_dropped_behind_a_held_one_counts_once(bench):
    """Else its source loses credit for ever, and takes nothing any more."""
    upstream = bench.upstream(close_unanswered)
    outbox, config = begin(bench, upstream, {"order_by": "entity"},
                           admin={"listen": "127.0.0.1:0"})
    gateway = bench.serve(config)
    admin = Admin(gateway)
    outbox.add({"n": 1}, entity="a")
    behind = outbox.add({"n": 2}, entity="a")
    gateway.wait_for_log("message_held", source="outbox")
    name = id_of(behind.encode(), "outbox")
    eventually(lambda: admin.send("GET", f"/messages/{name}").status == 200,
               "it waits behind that")
    lock(outbox, behind)
    dropped = bench.background(admin.post, f"/messages/{name}/drop")
    gateway.wait_for_log("source_row_locked", position=behind)
    outbox.postgres.end()
    equal(dropped.result().status, 200)
    upstream.reply = answer()
    for n in range(3, 6):
        last = outbox.add({"n": n}, entity="b")
        gateway.wait_for_log("message", outcome="executed", position=last)
    metric = '\nonceproxy_source_in_flight{source="outbox"} 0\n'
    eventually(lambda: metric in admin.send(
        "GET", "/metrics").body.decode(), "none is at work")
    equal(sent(upstream), [1, 3, 4, 5])


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



HOSTILE = [
    ("headers that are a list", "'{}'", "'[1, 2]'", "malformed",
     {"headers": "[1, 2]"}),
    ("headers whose values are no strings", "'{}'",
     "'{\"a\": 1, \"b\": {\"c\": null}, \"d\": \"e\"}'", "malformed",
     {"a": "1", "b": '{"c": null}', "d": "e"}),
    ("headers with a NUL", "'{}'", "'{\"a\": \"b\\u0000c\", \"d\": 1}'",
     "malformed",
     {"a": "b\ufffdc"}),
    ("headers that no text can hold", "'{}'", "'{\"a\": \"\\ud800\"}'",
     "malformed", {"headers": '{"a": "\\ud800"}'}),
    ("headers that no request may have", "'{}'",
     "'{\"Idempotency-Key\": \"\"}'", "malformed", {}),
    ("a payload that is null", "NULL", "NULL", "malformed", {}),
    ("a payload that is one byte too long",
     "convert_to(repeat('x', 1024 * 1024 + 1), 'UTF8')", "NULL",
     "too-large", {}),
]


@each(HOSTILE)
def a_hostile_row_is_a_dead_letter_that_can_be_read(
        bench, payload, headers, reason, kept):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, admin={"listen": "127.0.0.1:0"})
    outbox.postgres(
        "ALTER TABLE outbox ALTER payload TYPE bytea USING NULL, "
        "ALTER headers TYPE json")
    row, = outbox.postgres(
        "INSERT INTO outbox (aggregateid, type, payload, headers) "
        f"VALUES ('a', 'b', {payload}, {headers}) RETURNING id")
    gateway = bench.serve(config)
    ended(gateway, 1, reason=reason, position=row)
    equal((outbox.unread(), upstream.count()), ([], 0))
    dead, = outbox.postgres.rows(
        "SELECT id, headers, octet_length(payload) AS bytes "
        "FROM outbox_dead")
    for name, value in kept.items():
        equal(dead["headers"].get(name), value)
    if reason == "too-large":
        equal(dead["bytes"], 1024 * 1024 + 1)
    listed = Admin(gateway).get(
        "/messages?source=outbox&state=dead")["messages"]
    equal([m["position"] for m in listed], [row])


@each([("acknowledged", "ack", "malformed", 0),
       ("sent without a body", "send", "executed", 1)])
def a_row_whose_payload_is_null_may_be(bench, nulls, outcome, count):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"nulls": nulls},
                           admin={"listen": "127.0.0.1:0"})
    outbox.postgres("INSERT INTO outbox (aggregateid, type, payload) "
                    "VALUES ('a', 'b', NULL)")
    gateway = bench.serve(config)
    ended(gateway, 1, outcome=outcome)
    equal((outbox.unread(), [r.body for r in upstream.requests]),
          ([], [b""] * count))
    equal(Admin(gateway).get(
        "/messages?source=outbox&state=dead")["messages"], [])


@test
def bytes_that_are_no_text_reach_the_upstream_as_they_are(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"request": {
        "content_type": "application/octet-stream"}})
    outbox.postgres(
        "ALTER TABLE outbox ALTER payload TYPE bytea USING NULL")
    body = bytes(range(256))
    outbox.postgres("INSERT INTO outbox (aggregateid, type, payload) "
                    f"VALUES ('a', 'b', '\\x{body.hex()}')")
    gateway = bench.serve(config)
    ended(gateway, 1, outcome="executed")
    equal([r.body for r in upstream.requests], [body])


def make_again(outbox, key):
    outbox.postgres(f"DROP TABLE {outbox.name}")
    return Outbox(outbox.postgres, key=key)


@each([("of the same type", "bigserial"), ("of another type", "uuid")])
def a_table_that_is_made_again_is_read(bench, key):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    gateway = bench.serve(config)
    outbox.add({"n": 1}, headers={"Idempotency-Key": "k1"})
    ended(gateway, 1, outcome="executed")
    outbox = make_again(outbox, key)
    outbox.add({"n": 2}, headers={"Idempotency-Key": "k2"})
    ended(gateway, 2, outcome="executed")
    equal((outbox.unread(), sent(upstream)), ([], [1, 2]))


@each([("of the same type", "bigserial"), ("of another type", "uuid")])
def a_row_whose_table_is_made_again_meanwhile_has_ended(bench, key):
    upstream = bench.upstream()
    # An order would make the source stand, where ids do not rise.
    order = {"order_by": "entity"} if key != "uuid" else {}
    outbox, config = begin(bench, upstream, order)
    gateway = bench.serve(config)
    hold = upstream.hold()
    outbox.add({"n": 1}, headers={"Idempotency-Key": "k1"})
    hold.wait_arrived()
    outbox = make_again(outbox, key)
    outbox.add({"n": 2}, headers={"Idempotency-Key": "k2"})
    hold.release()
    gateway.wait_until(lambda: upstream.count() == 2, "both are executed")
    gateway.wait_until(lambda: outbox.unread() == [], "it is finished")
    equal(sent(upstream), [1, 2])


@each([("an id that becomes longer", "id TYPE bigint", "integer"),
       ("an id that becomes a text", "id TYPE text USING id::text",
        "integer"),
       ("a payload that becomes bytes",
        "payload TYPE bytea USING convert_to(payload::text, 'UTF8')",
        "bigint")])
def a_column_of_another_type_is_read_as_that(bench, change, key):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream)
    outbox.postgres("ALTER TABLE outbox ALTER id DROP DEFAULT, "
                    f"ALTER id TYPE {key}")
    gateway = bench.serve(config)
    hold = upstream.hold()
    insert = ("INSERT INTO outbox (id, aggregateid, type, payload) VALUES "
              "({0}, 'a', 'b', '{{\"n\": {0}}}')")
    outbox.postgres(insert.format(1))
    hold.wait_arrived()
    outbox.postgres(f"ALTER TABLE outbox ALTER {change}")
    last = 3_000_000_000 if "bigint" in change else 2
    outbox.postgres(insert.format(last))
    hold.release()
    gateway.wait_until(lambda: outbox.unread() == [], "all are finished")
    gateway.wait_until(lambda: len(gateway.find_log("message")) >= 2,
                       "both have ended")
    equal(sent(upstream), [1, last])


@test
def rows_without_an_id_are_never_executed_and_hold_up_no_others(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"in_flight": 1})
    outbox.postgres("ALTER TABLE outbox DROP CONSTRAINT outbox_pkey; "
                    "ALTER TABLE outbox ALTER id DROP NOT NULL")
    outbox.postgres(
        "INSERT INTO outbox (id, aggregateid, type, payload) "
        "VALUES (NULL, 'a', 'b', '{\"n\": 0}'), (NULL, 'a', 'b', '{}')")
    outbox.add({"n": 1})
    gateway = bench.serve(config)
    ended(gateway, 1, outcome="executed")
    outbox.add({"n": 2})
    ended(gateway, 2, outcome="executed")
    equal(sent(upstream), [1, 2])


@test
def a_server_that_dies_again_and_again_has_each_result_once(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"results": {"table": "done"}},
                           bench.postgres())
    gateway = bench.serve(config)
    rows = ", ".join(f"('x', '{n}', 'charge', '{{\"n\": {n}}}')"
                     for n in range(3000))
    outbox.postgres("INSERT INTO outbox (aggregatetype, aggregateid, type, "
                    f"payload) VALUES {rows}")
    for n in range(6):
        gateway.wait_until(
            lambda n=n: len(gateway.find_log("message")) > 400 * n,
            "some have ended")
        outbox.postgres.restart()
    gateway.wait_until(lambda: outbox.unread() == [], "all are finished", 60)
    equal(sorted(sent(upstream)), list(range(3000)))
    equal(outbox.postgres(
        "SELECT count(*), count(DISTINCT headers->>'onceproxy-position') "
        "FROM done"), ["3000|3000"])
    equal(gateway.find_log("source_row_deleted"), [])


@test
def sessions_that_are_ended_again_and_again_lose_nothing(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {
        "order_by": "entity", "results": {"table": "done"}})
    gateways = [bench.serve(dict(config, instance=name,
                                 state_dir=bench.folder()))
                for name in ("one", "two")]
    rows = ", ".join(f"('x', '{n % 20}', 'charge', '{{\"n\": {n}}}')"
                     for n in range(2000))
    outbox.postgres("INSERT INTO outbox (aggregatetype, aggregateid, type, "
                    f"payload) VALUES {rows}")
    for n in range(8):
        gateways[0].wait_until(lambda n=n: upstream.count() > 150 * n,
                               "some are sent")
        outbox.postgres("SELECT pg_terminate_backend(pid) FROM "
                        "pg_stat_activity WHERE pid <> pg_backend_pid() "
                        "AND application_name LIKE 'onceproxy%'")
    gateways[0].wait_until(lambda: outbox.unread() == [],
                           "all are finished", 60)
    found = sent(upstream)
    equal(sorted(found), list(range(2000)))
    for account in range(20):
        mine = [n for n in found if n % 20 == account]
        equal(mine, sorted(mine))
    equal(outbox.postgres(
        "SELECT count(*), count(DISTINCT headers->>'onceproxy-position') "
        "FROM done"), ["2000|2000"])


@test
def what_a_session_had_that_ended_is_finished_by_the_next(bench):
    """The rows of a gateway that was frozen until it lost its session: another
    has them by then, and misses none; what was sent is executed to its end."""
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"in_flight": 256},
                           admin={"listen": "127.0.0.1:0"})
    hold = upstream.hold()
    one, two = [dict(config, instance=name, state_dir=bench.folder())
                for name in ("one", "two")]
    one = bench.serve(one)
    rows = ", ".join(f"('x', 'a', 'charge', '{{\"n\": {n}}}')"
                     for n in range(200))
    outbox.postgres("INSERT INTO outbox (aggregatetype, aggregateid, type, "
                    f"payload) VALUES {rows}")
    upstream.wait_for(200)
    one.freeze()
    outbox.postgres(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'onceproxy/one'")
    two = bench.serve(two)
    waited = 'onceproxy_messages_total{source="outbox",outcome="waited"} 200\n'
    two.wait_until(
        lambda: waited in Admin(two).send("GET", "/metrics").body.decode(),
        "the other has all rows")
    one.thaw()
    one.wait_for_log("source_broker_up")
    hold.release()
    ended(two, 200, outcome="duplicate")
    two.wait_until(lambda: outbox.unread() == [], "all are finished")
    equal((upstream.count(), one.find_log("message")), (200, []))
    equal([len(gateway.find_log("source_row_deleted"))
           for gateway in (one, two)], [0, 0])


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
