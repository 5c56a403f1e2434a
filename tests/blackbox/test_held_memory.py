# SPDX-License-Identifier: BSD-2-Clause
"""Messages that are held, or wait to be tried again, keep their bytes: their
source takes no more then than it has a share of memory for, and neither
clients, nor other sources, nor what goes on are short of it."""

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
MANY = 12
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


def stands(gateway, name="charges"):
    source, = (s for s in Admin(gateway).get("/sources")["sources"]
               if s["name"] == name)
    return source["standing"]


def wait_full(gateway):
    eventually(lambda: stands(gateway) == "memory", "its share is used up", 60)


def release_all(gateway, until):
    """Whatever is held, until then."""
    admin, done = Admin(gateway), set()

    def released():
        for key_id in set(held(gateway).values()) - done:
            admin.act(key_id, "release")
            done.add(key_id)
        return until()
    eventually(released, "all are executed", 60)


def executed(gateway):
    return len(gateway.find_log("message", outcome="executed"))


def many_are_held(bench, kind):
    api = Api()
    upstream, queue, gateway = started(bench, kind, api)
    for n in range(MANY):
        queue.add(f"k{n}", body_of(n))
    wait_full(gateway)
    assert upstream.count() < MANY, upstream.count()
    for n in range(10):
        equal(gateway.ask(f"h{n}", body=b"x" * 250_000 if n else b"x").status,
              502 if n else 201)
    api.well = True
    equal(gateway.ask("new", body=b"y" * 250_000).status, 201)
    release_all(gateway, lambda: executed(gateway) == MANY)
    eventually(lambda: queue.left() == 0, "all are acknowledged")
    eventually(lambda: stands(gateway) is None, "it has its memory again")
    for n in range(MANY):
        assert upstream.count(key=f"k{n}") <= 2, n
        assert bodies(upstream)[f"k{n}"] == body_of(n), n


@test
def many_held_entries_leave_memory_to_clients(bench):
    many_are_held(bench, Queue)


@test
def many_held_rows_leave_memory_to_clients(bench):
    many_are_held(bench, Table)


@test
def many_to_be_tried_again_have_their_bodies(bench):
    api = Api()
    upstream, queue, gateway = started(
        bench, Queue, api, {"on_unknown": "retry"},
        retry={"first": "1s", "most": "1s", "attempts": 100})
    for n in range(MANY):
        queue.add(f"k{n}", body_of(n))
    wait_full(gateway)
    api.well = True
    ended(gateway, MANY, outcome="executed")
    for n in range(MANY):
        assert bodies(upstream)[f"k{n}"] == body_of(n), n


@test
def what_is_behind_a_held_one_has_its_body_in_its_order(bench):
    api = Api()
    upstream, queue, gateway = started(
        bench, Queue, api, order_by="partition")
    for n in range(MANY):
        queue.add(f"k{n}", body_of(n))
    wait_held(gateway, 1)
    wait_full(gateway)
    equal(gateway.ask("probe", body=b"x").status, 201)
    api.well = True
    Admin(gateway).act(*held(gateway).values(), "release")
    ended(gateway, MANY, outcome="executed")
    equal([r.get("Idempotency-Key") for r in upstream.requests],
          ["k0", "probe", *(f"k{n}" for n in range(MANY))])
    for n in range(MANY):
        assert bodies(upstream)[f"k{n}"] == body_of(n), n


@test
def a_source_that_holds_as_much_as_it_may_leaves_others_their_share(bench):
    upstream = bench.upstream(Api())
    config = bench.config(upstream, ROOM, limits=SHORT,
                          admin={"listen": "127.0.0.1:0"})
    redis = bench.own_redis()
    streams = [Stream(redis, name) for name in ("charges", "others")]
    for stream in streams:
        source(config, stream, stream.name)
    gateway = bench.serve(config)
    for n in range(MANY):
        streams[0].add(body=body_of(n), idempotency_key=f"k{n}")
    wait_full(gateway)
    for n in range(MANY):
        streams[1].add(body=b"x" * (LARGE - 1), idempotency_key=f"o{n}")
    ended(gateway, MANY, source="others", outcome="executed")
    eventually(lambda: stands(gateway, "others") is None, "it has room")
    equal(stands(gateway), "memory")


@test
def a_small_one_that_is_held_keeps_no_large_one_out(bench):
    """One that is larger than its source's share: there is memory for it."""
    upstream = bench.upstream(close_unanswered)
    config = bench.config(upstream, ROOM, limits=SHORT,
                          admin={"listen": "127.0.0.1:0"})
    redis = bench.own_redis()
    streams = [Stream(redis, name)
               for name in ("charges", "others", "third", "fourth")]
    for stream in streams:
        source(config, stream, stream.name)
    gateway = bench.serve(config)
    streams[0].add(body=b"x", idempotency_key="small")
    wait_held(gateway, 1)
    upstream.reply = answer()
    streams[0].add(body=body_of(1), idempotency_key="large")
    ended(gateway, 1, outcome="executed")
    equal(bodies(upstream)["large"], body_of(1))


@test
def one_that_another_has_meanwhile_is_waited_for_no_more(bench):
    api = Api()
    upstream, queue, gateway = started(bench, Queue, api, {"lease": "6s"})
    stream = queue.stream
    for n in range(4):
        last = queue.add(f"k{n}", body_of(n))
    wait_held(gateway, 3)
    wait_full(gateway)
    stream.redis("XCLAIM", stream.name, stream.group, "another", 0, last)
    eventually(lambda: stands(gateway) is None, "it waits for no memory")
    stream.redis("XACK", stream.name, stream.group, last)
    queue.add("new", b"x")
    ended(gateway, 1, outcome="executed")
    equal((upstream.count(), upstream.count(key="k3")), (4, 0))


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


# Two messages of this length, each with its body, do not fit at once, of
# whichever source.
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


@test
def messages_that_come_at_once_never_wait_for_each_others_memory(bench):
    api = Api()
    api.well = True
    upstream, config, streams = several(bench, api)
    for n in range(4):
        for stream in streams:
            stream.add(body=b"%d" % n + b"x" * HALF,
                       idempotency_key=f"{stream.name}{n}")
    gateway = bench.serve(config)
    ended(gateway, 4 * len(streams), outcome="executed")
    equal(upstream.count(), 4 * len(streams))


tap.main()
