# SPDX-License-Identifier: BSD-2-Clause
"""A source that has too much at hand stands still, says why, and goes on: too
many messages that rest, or too little memory."""

from once import http, tap
from once.admin import Admin
from once.gateway import is_sanitized
from once.messages import Stream, source
from once.raw import memory
from once.tap import equal, test
from once.upstream import Hold, answer, close_unanswered
from once.wait import eventually

ADMIN = {"admin": {"listen": "127.0.0.1:0"}}
RESTING, IN_FLIGHT, MORE = 10_000, 64, 200


def at_hand(gateway):
    found, = Admin(gateway).get("/sources")["sources"]
    return found


def stands_for(gateway, reason):
    """On a busy machine it may stand for its broker meanwhile."""
    eventually(lambda: at_hand(gateway)["standing"] == reason,
               f"it stands for {reason}")


def is_counted(gateway, reason):
    line = (f'onceproxy_source_standing{{source="charges",reason="{reason}"}}'
            ' 1')
    return line in Admin(gateway).send("GET", "/metrics").body.decode()


def taken(stream):
    """How many entries readers have been given."""
    return stream.redis("XPENDING", stream.name, stream.group)[0]


def add_many(stream, count):
    stream.redis("EVAL", """
        for n = 1, ARGV[1] do
            redis.call('XADD', KEYS[1], '*', 'body', '{}',
                'idempotency-key', 'k' .. n)
        end""", 1, stream.name, count)


def drop(gateway, count):
    """Drops so many of those that are held."""
    admin = Admin(gateway)
    found = admin.get(f"/messages?source=charges&state=held&limit={count}")
    equal(len(found["messages"]), count)
    for message in found["messages"]:
        equal(admin.post(f"/messages/{message['id']}/drop").status, 200)


class Ill:
    """It answers nothing until it is well: nobody knows what it has done."""

    well = False

    def __call__(self, connection, request):
        if self.well:
            connection.send(answer(201))
        else:
            close_unanswered(connection, request)


@test
def too_many_that_rest_stop_a_source_until_some_are_let_go(bench):
    upstream = bench.upstream(Ill())
    stream = Stream(bench.own_redis())
    config = bench.config(upstream, **ADMIN)
    source(config, stream, in_flight=IN_FLIGHT)
    add_many(stream, RESTING + MORE)
    gateway = bench.serve(config)
    gateway.wait_for_log("source_stands", reason="held", timeout=120)
    stands_for(gateway, "held")
    assert is_counted(gateway, "held")
    eventually(lambda: at_hand(gateway)["in_flight"] == 0, "all rest")
    rest = at_hand(gateway)["held"]
    equal(upstream.count(), rest)
    assert RESTING <= rest <= RESTING + IN_FLIGHT, rest
    upstream.reply.well = True
    equal(gateway.ask("by-http", body=b"{}").status, 201)  # clients go on
    equal(gateway.find_log("message"), [])
    drop(gateway, rest - RESTING + 1)
    gateway.wait_for_log("source_goes", reason="held")
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == RESTING + MORE - rest,
        "what was not taken is executed")
    equal(len(stream.pending()), RESTING - 1)
    equal(upstream.count(), RESTING + MORE + 1)
    stands_for(gateway, None)


# --- memory ------------------------------------------------------------------

MIB = 1 << 20
MEMORY, PIECE = 16 * MIB, MIB // 4


def started(bench, upstream):
    config = bench.config(upstream, limits={"in_flight_bytes": MEMORY},
                          **ADMIN)
    config["routes"].insert(0, {
        "path": "/v1/uploads", "methods": "POST", "upstream": "api",
        "idempotency": {"max_request_body": MEMORY}})
    stream = Stream(bench.own_redis())
    source(config, stream)
    return stream, bench.serve(config)


class Upload:
    """A body of which most is sent, and held by the gateway."""

    def __init__(self, gateway, size):
        data = http.keyed("upload", target="/v1/uploads", body=b"x" * size)
        self.client, self.rest = gateway.client(), data[-PIECE:]
        self.client.send(data[:-PIECE])

    def end(self):
        self.client.send(self.rest)
        return self.client.read()


@test
def a_source_leaves_the_rest_of_the_memory_to_clients(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream)
    stream.add(body=b"{}", idempotency_key="k0")
    gateway.wait_for_log("message", outcome="executed")
    upload = Upload(gateway, MEMORY // 4 * 3 + PIECE)
    keys = ["k0"]

    def stands():
        return gateway.find_log("source_stands", reason="memory")

    def stands_at_another_one():
        keys.append(f"k{len(keys)}")
        stream.add(body=b"{}", idempotency_key=keys[-1])
        gateway.wait_until(lambda: stands() or len(gateway.find_log(
            "message")) == len(keys), "it is read")
        return stands()
    eventually(stands_at_another_one, "most of the upload has come")
    stands_for(gateway, "memory")
    assert is_counted(gateway, "memory")
    for n in range(MORE):
        stream.add(body=b"{}", idempotency_key=f"more-{n}")
    count = len(keys) + MORE
    equal(gateway.ask("by-http", body=b"{}").status, 201)
    assert taken(stream) <= 1, taken(stream)  # what it was about to read
    assert len(stream.pending()) >= MORE
    equal(upload.end().status, 201)
    gateway.wait_for_log("source_goes", reason="memory")
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == count, "all are executed")
    equal((stream.pending(), at_hand(gateway)["standing"]), ([], None))
    equal(upstream.count(), count + 2)


@test
def a_replay_needs_no_memory_that_only_its_own_end_makes(bench):
    upstream = bench.upstream(answer(422))
    stream = Stream(bench.own_redis())
    config = bench.config(upstream, limits={"in_flight_bytes": "4MiB"},
                          **ADMIN)
    source(config, stream, keep_dead=1)
    gateway = bench.serve(config)
    for n in range(2):
        stream.add(body=b"x" * 1_000_000, idempotency_key=f"k{n}")
    gateway.wait_for_log("source_stands", reason="dead-letters")
    upstream.reply = answer(201)
    admin = Admin(gateway)
    one, = admin.get("/messages?source=charges&state=dead")["messages"]
    equal(admin.send("DELETE", f"/keys/{one['key_id']}").status, 200)
    equal(admin.post(f"/messages/{one['id']}/replay").status, 202)
    gateway.wait_for_log("message", outcome="executed")


@test
def as_many_are_taken_as_there_is_memory_for(bench):
    """By the sizes that were seen: 60 of 900 kB were taken at once, and 104
    MiB, though in_flight_bytes was 4 MiB."""
    hold = Hold()

    def serve(connection, request):
        hold.wait()
        connection.send(answer())
    stream = Stream(bench.own_redis())
    for n in range(60):
        stream.add(body=b"x" * 900_000, idempotency_key=f"k{n}")
    config = bench.config(bench.upstream(serve),
                          limits={"in_flight_bytes": "4MiB"}, **ADMIN)
    source(config, stream)
    gateway = bench.serve(config)
    hold.wait_arrived()
    before, _ = memory(gateway.pid)
    eventually(lambda: at_hand(gateway)["standing"] == "memory", "it is full")
    assert taken(stream) <= 6, taken(stream)
    hold.release()
    eventually(lambda: len(gateway.find_log("message")) == 60, "all end")
    eventually(lambda: stream.pending() == [], "and are acknowledged")
    _, most = memory(gateway.pid)
    if not is_sanitized():  # which keeps what was freed
        assert most - before < 24 << 20, (before, most)


tap.main()
