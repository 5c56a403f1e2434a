# SPDX-License-Identifier: BSD-2-Clause
"""Messages that are held, or wait to be tried again, have no bytes in memory:
neither clients nor other messages are short of it, and what goes on has its
own body."""

import json

from once import tap
from once.admin import Admin
from once.gateway import is_without
from once.messages import Stream, source
from once.postgres import Outbox, outbox_source, programs
from once.tap import Skip, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

LARGE = 200_000
MANY = 60
LOST = 30
SHORT = {"in_flight_bytes": "2MiB"}
ROOM = {"max_request_body": "256KiB"}


def body_of(n):
    return json.dumps({"n": n, "pad": chr(97 + n % 26) * LARGE}).encode()


class Api:
    """An upstream that answers no large request until it is well."""

    def __init__(self, ill=close_unanswered):
        self.ill, self.well = ill, False

    def __call__(self, connection, request):
        if self.well or len(request.body) < LARGE:
            connection.send(answer())
        else:
            self.ill(connection, request)


class Queue:
    """A stream as a source of large messages."""

    def __init__(self, bench, config, **members):
        self.stream = Stream(bench.own_redis())
        source(config, self.stream, **members)

    def add(self, key, body, entity="a"):
        del entity
        return self.stream.add(body=body, idempotency_key=key).decode()

    def left(self):
        return len(self.stream.pending())

    def take_away(self, position):
        self.stream.redis("XDEL", self.stream.name, position)


class Table:
    """The same of a table."""

    def __init__(self, bench, config, **members):
        if programs() is None or is_without("postgres"):
            raise Skip("no PostgreSQL")
        self.outbox = Outbox(bench.postgres())
        self.outbox.postgres("ALTER TABLE outbox ALTER payload TYPE bytea "
                             "USING convert_to(payload::text, 'UTF8')")
        outbox_source(config, self.outbox, "charges", **members)

    def add(self, key, body, entity="a"):
        return self.outbox.postgres(
            "INSERT INTO outbox (aggregateid, type, payload, headers) "
            f"VALUES ('{entity}', 'charge', '{body.decode()}', "
            f"'{{\"Idempotency-Key\": \"{key}\"}}') RETURNING id")[0]

    def left(self):
        return len(self.outbox.unread())

    def take_away(self, position):
        self.outbox.postgres(f"DELETE FROM outbox WHERE id = {position}")


def started(bench, kind, api, idempotency=None, **members):
    upstream = bench.upstream(api)
    config = bench.config(upstream, {**ROOM, **(idempotency or {})},
                          limits=SHORT,
                          admin={"listen": "127.0.0.1:0"})
    queue = kind(bench, config, **members)
    return upstream, queue, bench.serve(config)


def held(gateway):
    return {e["position"]: e["key_id"]
            for e in gateway.find_log("message_held", source="charges")}


def wait_held(gateway, count):
    gateway.wait_until(lambda: len(held(gateway)) >= count,
                       f"{count} messages are held", 60)


def ended(gateway, count, **members):
    gateway.wait_until(
        lambda: len(gateway.find_log("message", **members)) >= count,
        f"{count} messages {members}", 60)


def bodies(upstream):
    """What was sent in the end, by key."""
    return {r.get("Idempotency-Key"): r.body for r in upstream.requests}


def many_are_held(bench, kind):
    api = Api()
    upstream, queue, gateway = started(bench, kind, api)
    for n in range(MANY):
        queue.add(f"k{n}", body_of(n))
    wait_held(gateway, MANY)
    queue.add("small", b"{}")
    ended(gateway, 1, outcome="executed")
    for n in range(10):
        equal(gateway.ask(f"h{n}", body=b"x" * 250_000 if n else b"x").status,
              502 if n else 201)
    api.well = True
    equal(gateway.ask("new", body=b"y" * 250_000).status, 201)
    admin = Admin(gateway)
    for key_id in held(gateway).values():
        admin.act(key_id, "release")
    ended(gateway, MANY + 1, outcome="executed")
    eventually(lambda: queue.left() == 0, "all are acknowledged")
    for n in range(MANY):
        equal(upstream.count(key=f"k{n}"), 2)
        assert bodies(upstream)[f"k{n}"] == body_of(n), n


@test
def many_held_entries_leave_memory_to_others(bench):
    many_are_held(bench, Queue)


@test
def many_held_rows_leave_memory_to_others(bench):
    many_are_held(bench, Table)


def many_are_retried(bench, kind):
    api = Api()
    upstream, queue, gateway = started(
        bench, kind, api, {"on_unknown": "retry"},
        retry={"first": "4s", "most": "4s", "attempts": 100})
    for n in range(MANY):
        queue.add(f"k{n}", body_of(n))
    gateway.wait_until(lambda: upstream.count() >= MANY,
                       "each was tried", 60)
    api.well = True
    ended(gateway, MANY, outcome="executed")
    for n in range(MANY):
        assert bodies(upstream)[f"k{n}"] == body_of(n), n


@test
def many_entries_to_be_tried_again_have_their_bodies(bench):
    many_are_retried(bench, Queue)


@test
def many_rows_to_be_tried_again_have_their_bodies(bench):
    many_are_retried(bench, Table)


def an_order_is_held(bench, kind, order):
    api = Api()
    upstream, queue, gateway = started(bench, kind, api, order_by=order)
    queue.add("first", body_of(0))
    wait_held(gateway, 1)
    for n in range(1, MANY):
        queue.add(f"k{n}", body_of(n))
    eventually(lambda: gateway.ask(
        "probe", body=b"x").status in (200, 201), "clients are served")
    queue.add("last", b"{}")
    eventually(lambda: Admin(gateway).get("/sources")["sources"][0]["lag"]
               == 0, "all are taken", 60)
    equal(upstream.count(), 2)
    api.well = True
    Admin(gateway).act(*held(gateway).values(), "release")
    ended(gateway, MANY + 1, outcome="executed")
    equal([r.get("Idempotency-Key") for r in upstream.requests[2:]],
          ["first", *(f"k{n}" for n in range(1, MANY)), "last"])
    for n in range(1, MANY):
        assert bodies(upstream)[f"k{n}"] == body_of(n), n


@test
def entries_behind_a_held_one_have_their_bodies_in_order(bench):
    an_order_is_held(bench, Queue, "partition")


@test
def rows_behind_a_held_one_have_their_bodies_in_order(bench):
    an_order_is_held(bench, Table, "entity")


def one_is_gone(bench, kind, how):
    api = Api()
    upstream, queue, gateway = started(bench, kind, api)
    position = queue.add("k", body_of(1))
    wait_held(gateway, 1)
    queue.take_away(position)
    api.well = True
    Admin(gateway).act(held(gateway)[position], "release")
    lost = gateway.wait_for_log(how)
    equal((lost["source"], upstream.count()), ("charges", 1))
    eventually(lambda: Admin(gateway).get("/messages")["messages"] == [],
               "nothing is held any more")
    queue.add("new", body_of(2))
    ended(gateway, 1, outcome="executed")
    equal((queue.left(), upstream.count()), (0, 2))


@test
def a_held_entry_that_was_deleted_is_lost(bench):
    one_is_gone(bench, Queue, "source_lost")


def in_hand(stream):
    return stream.redis("XPENDING", stream.name, stream.group)[0]


@test
def lost_entries_do_not_keep_a_source_standing(bench):
    """Whoever is to find out whether the store is back has lost its bytes, and
    so have those that come next."""
    store, stream = bench.own_redis(), Stream(bench.own_redis())
    upstream = bench.upstream(Api())
    config = bench.config(upstream, ROOM, redis=store)
    source(config, stream)
    gateway = bench.serve(config)
    gateway.wait_until(lambda: stream.blocked() > 0, "the source reads")
    store.freeze()
    for n in range(LOST):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    gateway.wait_until(lambda: in_hand(stream) == LOST, "all are in hand")
    store.kill()
    gateway.wait_for_log("source_stands", reason="store")
    stream.redis("XTRIM", stream.name, "MAXLEN", 0)
    gateway.wait_until(lambda: sum(
        e["count"] for e in gateway.find_log("source_lost")) == LOST,
        "all are lost")
    store.start()
    stream.add(body=b"{}", idempotency_key="new")
    ended(gateway, 1, outcome="executed")
    equal(upstream.count(), 1)


@test
def a_held_row_that_was_deleted_is_told(bench):
    one_is_gone(bench, Table, "source_row_deleted")


@test
def a_held_row_that_was_written_anew_is_another_message(bench):
    api = Api()
    upstream, table, gateway = started(bench, Table, api)
    position = table.add("k", body_of(1))
    wait_held(gateway, 1)
    table.outbox.postgres(
        f"UPDATE outbox SET payload = '{{}}' WHERE id = {position}")
    api.well = True
    Admin(gateway).act(held(gateway)[position], "release")
    ended(gateway, 1, outcome="executed", position=position)
    equal((table.left(), [len(r.body) for r in upstream.requests]),
          (0, [len(body_of(1)), 2]))


@test
def a_held_message_of_a_broker_that_was_away_has_its_body(bench):
    api = Api()
    upstream, table, gateway = started(bench, Table, api)
    position = table.add("k", body_of(1))
    wait_held(gateway, 1)
    table.outbox.postgres.kill()
    gateway.wait_for_log("source_stands", reason="broker")
    api.well = True
    Admin(gateway).act(held(gateway)[position], "release")
    table.outbox.postgres.start()
    ended(gateway, 1, outcome="executed", position=position)
    equal((table.left(), bodies(upstream)["k"]), (0, body_of(1)))


@test
def hold_that_is_over_has_the_whole_dead_letter(bench):
    api = Api()
    _, queue, gateway = started(bench, Queue, api, hold="2s")
    queue.add("k", body_of(1))
    ended(gateway, 1, reason="unknown")
    dead, = queue.stream.entries("charges:dead")
    equal((dead["body"], queue.left()), (body_of(1), 0))


@test
def what_a_client_has_done_meanwhile_ends_a_held_message(bench):
    """An operator releases the key, a client is first: a duplicate."""
    api = Api()
    upstream, queue, gateway = started(bench, Queue, api)
    position = queue.add("k", body_of(1))
    wait_held(gateway, 1)
    Admin(gateway).act(held(gateway)[position], "complete", {
        "status": 201, "headers": {}, "body": "{}"})
    ended(gateway, 1, outcome="duplicate")
    equal((queue.left(), upstream.count()), (0, 1))


# Two messages of this length, each with its body, do not fit at once.
HALF = 250_000
STREAMS = "abcdefgh"


def several(bench, api):
    """Streams that are read by several workers at once."""
    upstream = bench.upstream(api)
    config = bench.config(
        upstream, ROOM, limits={"in_flight_bytes": "1MiB"}, workers=2,
        admin={"listen": "127.0.0.1:0"})
    redis = bench.own_redis()
    streams = [Stream(redis, name) for name in STREAMS]
    for stream in streams:
        source(config, stream, stream.name)
    return upstream, config, streams


def fill(streams, each):
    for n in range(each):
        for stream in streams:
            stream.add(body=b"%d" % n + b"x" * HALF,
                       idempotency_key=f"{stream.name}{n}")


@test
def messages_that_come_at_once_never_wait_for_each_others_memory(bench):
    api = Api()
    api.well = True
    upstream, config, streams = several(bench, api)
    fill(streams, 4)
    gateway = bench.serve(config)
    ended(gateway, 4 * len(streams), outcome="executed")
    equal(upstream.count(), 4 * len(streams))


@test
def messages_that_are_released_at_once_never_wait_for_each_others(bench):
    api = Api()
    upstream, config, streams = several(bench, api)
    fill(streams, 2)
    gateway = bench.serve(config)
    gateway.wait_until(
        lambda: len(gateway.find_log("message_held")) >= 2 * len(streams),
        "all are held", 60)
    api.well = True
    for e in gateway.find_log("message_held"):
        bench.background(Admin(gateway).act, e["key_id"], "release")
    ended(gateway, 2 * len(streams), outcome="executed")
    for stream in streams:
        equal(stream.pending(), [])
        for n in range(2):
            equal(upstream.count(key=f"{stream.name}{n}"), 2)


tap.main()
