# SPDX-License-Identifier: BSD-2-Clause
"""What a source's table may be: which rows are unread, in which order they
were written, and how large they are; what cannot be kept makes the source
stand, and it says so."""

import json

from once import tap
from once.admin import Admin
from once.gateway import is_without
from once.messages import ended
from once.postgres import Outbox, outbox_source, programs
from once.raw import memory
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually


def begin(bench, upstream, members=None, key="bigserial", prepare="", **more):
    outbox = Outbox(bench.postgres_for_all, key=key)
    outbox.postgres(prepare)
    config = bench.config(
        upstream, admin={"listen": "127.0.0.1:0"}, **more)
    outbox_source(config, outbox, **(members or {}))
    return outbox, config


def sent(upstream):
    return [json.loads(r.body)["n"] for r in upstream.requests]


def stands(gateway, reason):
    """The source does, for that; what it says."""
    admin = Admin(gateway)

    def source():
        return admin.get("/sources")["sources"][0]
    eventually(lambda: source()["standing"] == reason, f"it stands: {reason}")
    return source()["error"]


def goes(gateway):
    admin = Admin(gateway)
    eventually(lambda: admin.get("/sources")["sources"][0]["standing"] is None,
               "it goes")


# --- which rows are unread ---

COLUMNS = [
    ("a text", "status text NOT NULL DEFAULT 'pending'",
     {"set": "status", "from": "pending", "to": "sent"}, "sent"),
    ("a text with quotes", "status text NOT NULL DEFAULT 'it''s \"new\"'",
     {"set": "status", "from": "it's \"new\"", "to": "'"}, "'"),
    ("a boolean", "sent boolean NOT NULL DEFAULT false",
     {"set": "sent", "from": False, "to": True}, "true"),
    ("a number", "state smallint NOT NULL DEFAULT 0",
     {"set": "state", "from": 0, "to": 2}, "2"),
    ("an enumeration", "state stage NOT NULL DEFAULT 'new'",
     {"set": "state", "from": "new", "to": "done"}, "done"),
]


@each(COLUMNS)
def a_column_may_tell_by_its_value_which_rows_are_unread(
        bench, column, finish, done):
    upstream = bench.upstream()
    outbox, config = begin(
        bench, upstream, {"finish": finish, "order_by": "entity"},
        prepare="DROP TYPE IF EXISTS stage; "
        "CREATE TYPE stage AS ENUM ('new', 'done', 'other'); "
        f"ALTER TABLE outbox ADD {column}")
    gateway = bench.serve(config)
    for n in range(4):
        outbox.add({"n": n})
    ended(gateway, 4, outcome="executed")
    equal(sent(upstream), [0, 1, 2, 3])
    equal(outbox.postgres(
        f"SELECT count(*), min({finish['set']}::text), "
        f"max({finish['set']}::text) FROM outbox"), [f"4|{done}|{done}"])
    outbox.postgres(f"UPDATE outbox SET {finish['set']} = DEFAULT "
                    "WHERE payload->>'n' = '2'")
    ended(gateway, 1, outcome="duplicate")
    equal(sent(upstream), [0, 1, 2, 3])


@test
def a_row_of_another_value_is_left_alone(bench):
    upstream = bench.upstream()
    outbox, config = begin(
        bench, upstream,
        {"finish": {"set": "status", "from": "pending", "to": "sent"}},
        prepare="ALTER TABLE outbox ADD status text DEFAULT 'pending'")
    outbox.postgres("INSERT INTO outbox (aggregateid, payload, status) "
                    "VALUES ('a', '{\"n\": 0}', 'draft'), "
                    "('a', '{\"n\": 1}', NULL)")
    gateway = bench.serve(config)
    outbox.add({"n": 2})
    ended(gateway, 1, outcome="executed")
    equal(sent(upstream), [2])
    equal(outbox.postgres("SELECT status FROM outbox ORDER BY id"),
          ["draft", "", "sent"])


@each([(of, of) for of in ("text", "date", "timestamp")])
def a_table_that_does_not_say_how_old_its_rows_are_is_said(bench, of):
    upstream = bench.upstream()
    outbox, config = begin(
        bench, upstream, {"max_age": "1h", "columns": {"order": "at"}},
        prepare=f"ALTER TABLE outbox ADD at {of} DEFAULT now()")
    outbox.add({"n": 1})
    gateway = bench.serve(config)
    words = stands(gateway, "broker")
    assert "max_age" in words and "columns.order" in words, words
    assert "timestamptz" in words, words
    equal(upstream.count(), 0)
    outbox.postgres("ALTER TABLE outbox ALTER at DROP DEFAULT, "
                    "ALTER at TYPE timestamptz USING now()")
    ended(gateway, 1, outcome="executed")
    goes(gateway)


@test
def a_table_of_which_nothing_can_ever_be_read_is_said(bench):
    upstream = bench.upstream()
    outbox, config = begin(
        bench, upstream, {"finish": {"set": "status"}}, prepare="ALTER TABLE "
        "outbox ADD status text NOT NULL DEFAULT 'pending'")
    outbox.add({"n": 1})
    gateway = bench.serve(config)
    words = stands(gateway, "broker")
    assert "nothing can ever be read" in words and "status" in words, words
    equal(upstream.count(), 0)
    outbox.postgres("ALTER TABLE outbox ALTER status DROP DEFAULT, "
                    "ALTER status DROP NOT NULL, "
                    "ALTER status TYPE timestamptz USING NULL")
    ended(gateway, 1, outcome="executed")
    goes(gateway)


@test
def a_view_that_filters_is_read_as_a_table(bench):
    upstream = bench.upstream()
    outbox, config = begin(
        bench, upstream, {"order_by": "entity"},
        prepare="CREATE VIEW mine AS SELECT * FROM outbox "
        "WHERE aggregatetype = 'x' AND type <> 'internal'")
    config["sources"]["outbox"]["table"] = "mine"
    gateway = bench.serve(config)
    other = outbox.add({"n": 0}, kind="internal")
    rows = [outbox.add({"n": n}) for n in (1, 2, 3)]
    ended(gateway, 3, outcome="executed")
    equal((sent(upstream), outbox.unread()), ([1, 2, 3], [other]))
    equal([line["position"] for line in gateway.find_log("message")], rows)


@test
def a_view_that_filters_may_be_marked_in(bench):
    upstream = bench.upstream(answer(422))
    outbox, config = begin(
        bench, upstream, {"finish": {"set": "published_at"}},
        prepare="CREATE VIEW mine AS SELECT * FROM outbox "
        "WHERE type <> 'internal'")
    config["sources"]["outbox"]["table"] = "mine"
    gateway = bench.serve(config)
    outbox.add({"n": 0}, kind="internal")
    row = outbox.add({"n": 1})
    ended(gateway, 1, outcome="refused", position=row)
    equal(outbox.postgres("SELECT id FROM mine_dead"), [row])
    equal(outbox.unread("published_at IS NOT NULL"), [row])


# --- in which order ---

MANY = ("INSERT INTO outbox (aggregateid, type, payload, made) SELECT 'a', "
        "'b', jsonb_build_object('n', n), timestamptz '2026-01-01' + "
        "n * interval '1 ms' FROM generate_series(1, 6) AS n")


@each([("uuids", "uuid"), ("texts", "text DEFAULT md5(random()::text)")])
def ids_that_do_not_rise_keep_no_order(bench, key):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"order_by": "entity"})
    outbox.postgres(f"DROP TABLE {outbox.name}")
    outbox = Outbox(outbox.postgres, key="uuid")
    if key != "uuid":
        outbox.postgres("ALTER TABLE outbox DROP id; "
                        f"ALTER TABLE outbox ADD id {key} PRIMARY KEY")
    outbox.postgres(MANY)
    gateway = bench.serve(config)
    words = stands(gateway, "order")
    assert "columns.order" in words and "id" in words, words
    equal(gateway.wait_for_log("source_stands")["reason"], "order")
    equal((upstream.count(), len(outbox.unread())), (0, 6))
    config["sources"]["outbox"]["columns"]["order"] = "made"
    gateway.stop()
    gateway = bench.serve(config)
    ended(gateway, 6, outcome="executed")
    equal((sent(upstream), outbox.unread()), ([1, 2, 3, 4, 5, 6], []))


@test
def an_order_may_come_back_without_a_restart(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, {"order_by": "partition"},
                           key="uuid")
    gateway = bench.serve(config)
    stands(gateway, "order")
    outbox.postgres("ALTER TABLE outbox DROP id; "
                    "ALTER TABLE outbox ADD id bigserial PRIMARY KEY")
    outbox.postgres(MANY)
    ended(gateway, 6, outcome="executed")
    goes(gateway)
    equal(sent(upstream), [1, 2, 3, 4, 5, 6])


@test
def without_an_order_ids_may_be_anything(bench):
    upstream = bench.upstream()
    outbox, config = begin(bench, upstream, key="uuid")
    gateway = bench.serve(config)
    outbox.postgres(MANY)
    ended(gateway, 6, outcome="executed")
    equal(sorted(sent(upstream)), [1, 2, 3, 4, 5, 6])


# --- an API that has moved ---

@test
def a_redirect_of_all_deletes_no_row(bench):
    """301 is no success, and nobody follows it."""
    moved = [True]

    def serve(connection, request):
        connection.send(answer(301, fields=[("Location", "https://api/v1")])
                        if moved[0] else answer(201))
    upstream = bench.upstream(serve)
    outbox, config = begin(bench, upstream)
    outbox.postgres(
        "INSERT INTO outbox (aggregateid, type, payload) SELECT n, 'b', "
        "jsonb_build_object('n', n) FROM generate_series(1, 500) AS n")
    gateway = bench.serve(config)
    stands(gateway, "redirected")
    asked = upstream.count()
    eventually(lambda: upstream.count() > asked + 1, "one at a time tries")
    equal((len(outbox.unread()), gateway.find_log("message")), (500, []))
    moved[0] = False
    ended(gateway, 500, outcome="executed")
    equal((outbox.unread(), len(gateway.find_log("message"))), ([], 500))


# --- how large ---

@test
def rows_are_taken_as_far_as_there_is_memory_for_them(bench):
    """60 rows of 900 kB, where sources may have 3 MiB."""
    upstream = bench.upstream()
    outbox, config = begin(
        bench, upstream, {"in_flight": 60},
        limits={"in_flight_bytes": "4MiB"})
    gateway = bench.serve(config)
    outbox.add({"n": -1})
    ended(gateway, 1, outcome="executed")
    before, _ = memory(gateway.pid)
    hold = upstream.hold()
    outbox.postgres(
        "INSERT INTO outbox (aggregateid, type, payload) SELECT n, 'b', "
        "jsonb_build_object('n', n, 'pad', repeat('x', 900000)) "
        "FROM generate_series(1, 60) AS n")
    hold.wait_arrived()
    eventually(lambda: Admin(gateway).get(
        "/sources")["sources"][0]["standing"] == "memory", "it stands")
    taken = Admin(gateway).get("/sources")["sources"][0]["in_flight"]
    assert taken <= 6, taken
    hold.release()
    ended(gateway, 61, outcome="executed")
    equal((sorted(sent(upstream)), outbox.unread()), ([-1, *range(1, 61)], []))
    _, most = memory(gateway.pid)
    assert most - before < 40 << 20, (before, most)


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
