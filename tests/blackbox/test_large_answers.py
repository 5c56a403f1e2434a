# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6, "response was too large to keep": it is streamed to
the first client, and the record says so before that client sees it."""

import select
import threading

from once import tap
from once.http import Broken, build, keyed
from once.raw import head, read_pattern, send_pattern, small_window, takes
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import PATIENCE, eventually

MIB = 1 << 20
BYTES = 64 * MIB
KEPT = {"max_response_body": "64KiB"}
LIMIT = {"in_flight_bytes": "1MiB"}
CHUNKED = ("Transfer-Encoding", "chunked")


def large(size=BYTES, chunked=False, fields=()):
    """A script that answers with the pattern."""
    framing = CHUNKED if chunked else ("Content-Length", size)

    def script(connection, request):
        connection.send(answer(201, b"", [framing, *fields], length=False))
        send_pattern(connection.send, size, chunked)
    return script


def check_not_kept(got, status=201):
    equal((got.status, got.problem), (409, "response-not-kept"))
    equal(got.json()["original_status"], status)


@each([("with a length", False), ("chunked", True)])
def it_streams_in_bounded_memory(bench, chunked):
    upstream, gateway = bench.pair(
        large(chunked=chunked), KEPT, limits=LIMIT, workers=1)
    upstream.replies["/small"] = answer(200, b"x")
    with gateway.client() as client:
        client.send(keyed("k"))
        status, fields = head(client)
        equal((status, "idempotent-replayed" in fields), (201, False))
        size = fields.get("content-length")
        equal(size, None if chunked else str(BYTES))
        equal(read_pattern(client.reader, BYTES if size else None, chunked),
              BYTES)
        check_not_kept(gateway.ask("k"))
        equal(client.exchange("GET", "/small").status, 200)  # it was kept
    equal(upstream.count(key="k"), 1)
    line = gateway.wait_for_log("request", outcome="executed")
    equal((line["status"], line["bytes_out"]), (201, BYTES))


@each([("with a body", answer(201, b"secret", [("X-Secret", "s")])),
       ("without one", answer(204, b"", [("X-Secret", "s")]))])
def where_none_is_kept_the_first_client_alone_has_it(bench, reply):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(
        reply, {"max_response_body": 0}, redis=redis)
    first = gateway.ask("k")
    equal((first.get("X-Secret"), first.replayed), ("s", False))
    again = gateway.ask("k")
    check_not_kept(again, first.status)
    assert "keep none" in again.json()["detail"], again.body
    assert not [key for key in redis.keys() if redis("TYPE", key) == "string"
                and b"X-Secret" in redis("GET", key)]
    equal(upstream.count(), 1)


@each([("at the limit", 64 * 1024, True), ("beyond", 64 * 1024 + 1, False)])
def the_limit_decides(bench, size, kept):
    upstream, gateway = bench.pair(large(size), KEPT)
    with gateway.client() as client:
        client.send(keyed("k"))
        equal(len(client.read().body), size)
    got = gateway.ask("k")
    if kept:
        equal((got.status, got.replayed, len(got.body)), (201, True, size))
    else:
        check_not_kept(got)


@test
def the_record_says_so_before_the_client_sees_a_byte(bench):
    go_on = threading.Event()

    def script(connection, request):
        connection.send(
            answer(201, b"", [("Content-Length", BYTES)], length=False))
        go_on.wait(PATIENCE)
        send_pattern(connection.send, BYTES)
    upstream, gateway = bench.pair(script, KEPT)
    with gateway.client() as client:
        client.send(keyed("k"))
        equal(head(client)[0], 201)
        check_not_kept(gateway.ask("k"))  # while the first still streams
        go_on.set()
        equal(read_pattern(client.reader, BYTES), BYTES)


@each([("stored", 201, "executed"), ("released", 503, "released")])
def it_waits_for_the_whole_request(bench, status, outcome):
    """Until the API has that, its attempt is under way: nobody else executes
    it, nor does its body become another's memory."""
    go_on, bodies = threading.Event(), []
    upload = bytes(range(256)) * (16 * MIB // 256)

    def script(connection, request):
        connection.send(answer(status, b"", [("Content-Length", MIB)],
                               length=False) + b"a" * 1000)
        go_on.wait(PATIENCE)
        bodies.append(connection.reader.exactly(len(upload)))
        connection.send(b"a" * (MIB - 1000))
    upstream, gateway = bench.pair(None, {
        **KEPT, "max_request_body": 2 * len(upload)})
    takes(upstream, script)
    with gateway.client() as client:
        client.send(keyed("k", body=upload))
        upstream.wait_for(1)
        for _ in range(2):
            equal(gateway.ask("k", body=upload).problem, "in-flight")
        go_on.set()
        got = client.read()
        equal((got.status, len(got.body)), (status, MIB))
    assert bodies == [upload], "it has another body"
    gateway.wait_for_log("request", outcome=outcome)


@test
def without_the_record_the_client_sees_nothing(bench):
    redis = bench.own_redis()
    upstream = bench.upstream()
    hold = upstream.hold(large())
    upstream.replies["/small"] = answer(200, b"x")
    gateway = bench.gateway(
        upstream, {**KEPT, "lease": "10m"}, redis=redis, workers=1,
        store={"timeout": "1m"}, log={"level": "debug"})
    with gateway.client() as client:
        client.send(keyed("k"))
        hold.wait_arrived()
        redis.freeze()
        hold.release()
        gateway.wait_for_steps("COMPLETED", 1)
        equal(gateway.send(build("GET", "/small")).status, 200)
        equal(select.select([client.sock], [], [], 0)[0], [])
        redis.thaw()
        equal(head(client)[0], 201)
        equal(read_pattern(client.reader, BYTES), BYTES)


@test
def a_client_that_leaves_changes_nothing(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, KEPT)
    hold = threading.Event()

    def script(connection, request):
        hold.wait(PATIENCE)
        large()(connection, request)
    takes(upstream, script)
    before = gateway.client()
    before.send(keyed("left-before"))
    upstream.wait_for(1)
    before.close()
    hold.set()
    eventually(lambda: gateway.ask("left-before").problem
               == "response-not-kept", "the record of the one that left")
    with small_window(gateway.address) as within:
        within.send(keyed("left-within"))
        head(within)
    check_not_kept(gateway.ask("left-within"))
    upstream.wait_until(lambda: not upstream.open_connections(),
                        "the end of the upstream's connections")
    equal(upstream.count(key="left-before"), 1)
    equal(upstream.count(key="left-within"), 1)


@test
def one_that_breaks_off_behind_the_limit_cuts_the_client(bench):
    def script(connection, request):
        connection.send(
            answer(201, b"", [("Content-Length", BYTES)], length=False))
        send_pattern(connection.send, BYTES // 2)
        connection.close()
    upstream, gateway = bench.pair(script, KEPT)
    with gateway.client() as client:
        client.send(keyed("k"))
        equal(head(client)[0], 201)
        try:
            read_pattern(client.reader, BYTES)
            raise AssertionError("a whole answer")
        except Broken:
            pass
    check_not_kept(gateway.ask("k"))
    equal(upstream.count(), 1)


@test
def one_that_breaks_off_within_the_limit_is_unknown(bench):
    def script(connection, request):
        connection.send(answer(201, b"", [CHUNKED], length=False)
                        + b"5\r\nhello\r\n")
        connection.close()
    upstream, gateway = bench.pair(script, KEPT)
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(upstream.count(), 1)


@each([("released", 503, "release"), ("unknown", 502, "unknown")])
def other_outcomes_stream_too(bench, status, word):
    def script(connection, request):
        connection.send(answer(
            status, b"", [("Content-Length", BYTES)], length=False))
        send_pattern(connection.send, BYTES)
    upstream, gateway = bench.pair(script, KEPT, limits=LIMIT)
    with gateway.client() as client:
        client.send(keyed("k"))
        equal(head(client)[0], status)
        equal(read_pattern(client.reader, BYTES), BYTES)
    upstream.reply = answer(201, b"again")
    got = gateway.ask("k")
    if word == "release":
        equal((got.status, got.body), (201, b"again"))
    else:
        equal(got.problem, "outcome-unknown")


@test
def a_slow_reader_is_not_cut_by_the_upstreams_time_out(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, KEPT, {"timeout": "2s"})
    large_one = large(16 * MIB)

    def script(connection, request):
        if request.target == "/silent":
            connection.sock.settimeout(None)
            connection.reader.more()
        else:
            large_one(connection, request)
    upstream.reply = script
    with small_window(gateway.address) as slow:
        slow.send(keyed("k"))
        equal(head(slow)[0], 201)
        for _ in range(2):  # how long it reads nothing
            equal(gateway.send(build("GET", "/silent")).status, 504)
        equal(read_pattern(slow.reader, 16 * MIB), 16 * MIB)


@test
def omitted_fields_reach_the_first_client(bench):
    upstream, gateway = bench.pair(
        large(fields=[("Set-Cookie", "a=1")]),
        {**KEPT, "omit_headers": ["Set-Cookie"]})
    with gateway.client() as client:
        client.send(keyed("k"))
        equal(head(client)[1]["set-cookie"], "a=1")
        read_pattern(client.reader, BYTES)
    check_not_kept(gateway.ask("k"))


tap.main()
