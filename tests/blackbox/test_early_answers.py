# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 7: an upstream may answer while the request is still being
sent to it, and the client gets that answer, not a hang and not a reset."""

import threading

from once import tap
from once.http import Broken, build
from once.raw import head, read_pattern, send_pattern, small_window, takes
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import PATIENCE

MIB = 1 << 20
LAST = b"0\r\n\r\n"
CHUNKED = ("Transfer-Encoding", "chunked")
LENGTH = ("Content-Length", 64 * MIB)
FRAMINGS = [("with a length", LENGTH), ("chunked", CHUNKED)]


def refuse(connection, request):
    connection.send(answer(413, b"too much", [("X-A", "b")]))


def refuse_and_reset(connection, request):
    refuse(connection, request)
    connection.reset()


@each([(f"{words}, then {how}", framing, script)
       for words, framing in FRAMINGS
       for how, script in (("close", refuse), ("reset", refuse_and_reset))])
def a_client_that_waits_within_its_upload_gets_it(bench, framing, script):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    takes(upstream, script)
    with gateway.client() as client:
        client.send(build("POST", "/x", [framing]))
        if framing == CHUNKED:
            client.send(b"3\r\nabc\r\n")
        else:
            client.send(b"abc")
        got = client.read()
        equal((got.status, got.body, got.get("X-A")), (413, b"too much", "b"))
        equal(got.get("Connection"), "close")
        assert got.get("X-Request-Id")
        client.half_close()
        assert client.is_closed(), "the connection stayed open"
    line = gateway.wait_for_log("request")
    equal((line["status"], line["outcome"], line["bytes_out"]),
          (413, "passed", 8))


@each(FRAMINGS)
def a_client_that_reads_only_when_all_is_sent_gets_it(bench, framing):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    takes(upstream, refuse)
    with gateway.client() as client:
        client.send(build("POST", "/x", [framing]))
        send_pattern(client.send, 64 * MIB, framing == CHUNKED)
        equal(client.read().body, b"too much")
    equal(upstream.count(), 1)


@test
def behind_a_short_rest_of_the_body_the_connection_is_kept(bench):
    upstream, gateway = bench.pair()
    upstream.on_head = refuse
    with gateway.client() as client:
        client.send(build("POST", "/x", [("Content-Length", 50_000)]))
        upstream.wait_until(lambda: upstream.connections, "a connection")
        send_pattern(client.send, 50_000)
        equal(client.read().status, 413)
        upstream.on_head = lambda connection, request: None
        equal(client.exchange("GET", "/y").status, 201)


@each([("with a small head", []),
       ("with a large head", [("X-Large", "a" * 12_000)])])
def an_answer_and_the_body_flow_at_the_same_time(bench, fields):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)

    def echo(connection, request):
        connection.send(answer(200, b"", [CHUNKED] + fields, length=False))
        while True:
            size = connection.reader.line()
            piece = connection.reader.exactly(int(size, 16) + 2)
            connection.send(size + piece)
            if size == b"0\r\n":
                break
    takes(upstream, echo)
    with gateway.client() as client:
        client.send(build("POST", "/x", [CHUNKED]))
        equal(head(client)[0], 200)
        for number in range(5):
            client.send(b"3\r\n%03d\r\n" % number)
            equal(client.reader.exactly(8), b"3\r\n%03d\r\n" % number)
        client.send(b"0\r\n\r\n")
        equal(client.reader.exactly(5), b"0\r\n\r\n")
        assert client.is_closed()


@each([("with a small head", []),
       ("with a large head", [("X-Large", "a" * 12_000)])])
def an_answer_goes_on_when_the_body_has_come(bench, fields):
    upstream, hold = bench.upstream(), Hold()
    gateway = bench.gateway(upstream)

    def early(connection, request):
        connection.send(answer(200, b"", [CHUNKED] + fields, length=False))
        connection.reader.exactly(20_000)
        hold.wait()
        connection.send(b"3\r\nend\r\n0\r\n\r\n")
    takes(upstream, early)
    with gateway.client() as client:
        client.send(build("POST", "/x", [("Content-Length", 20_000)]))
        if fields:
            equal(head(client)[0], 200)
        send_pattern(client.send, 20_000)
        hold.wait_arrived()
        hold.release()
        equal(client.reader.chunks() if fields else client.read().body, b"end")
    assert gateway.running()


@each([("over a slow line", small_window), ("over a fast one", None)])
def an_answer_with_a_large_head_is_passed_on_whole(bench, slow):
    size = 8 * MIB
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)

    def script(connection, request):
        connection.send(answer(
            200, b"", [("X-Large", "a" * 12_000), ("Content-Length", size)],
            length=False))
        send_pattern(connection.send, size)
    takes(upstream, script)
    with slow(gateway.address) if slow else gateway.client() as client:
        client.send(build("GET", "/x"))
        equal(head(client)[0], 200)
        equal(read_pattern(client.reader, size), size)
        assert client.is_closed()


@test
def large_bodies_flow_both_ways_at_the_same_time(bench):
    size = 32 * MIB
    upstream = bench.upstream()
    gateway = bench.gateway(
        upstream, limits={"in_flight_bytes": "1MiB"}, workers=1)
    sizes = []

    def script(connection, request):
        connection.send(answer(200, b"", [CHUNKED], length=False))
        reading = bench.background(
            lambda: sizes.append(read_pattern(connection.reader, None, True)))
        send_pattern(
            lambda data: data != LAST and connection.send(data), size, True)
        reading.result()
        connection.send(LAST)
    takes(upstream, script)
    with gateway.client() as client:
        client.send(build("POST", "/x", [CHUNKED]))
        equal(head(client)[0], 200)
        sending = bench.background(send_pattern, client.send, size, True)
        equal(read_pattern(client.reader, None, True), size)
        sending.result()
    equal(sizes, [size])


@test
def a_slow_reader_of_an_early_answer_slows_its_upstream(bench):
    size = 32 * MIB
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, limits={"in_flight_bytes": "1MiB"},
                            options={"timeout": "2s"}, workers=1)

    def script(connection, request):
        if request.target == "/silent":
            connection.reader.more()
            return
        # What it leaves unread would turn its end into a reset.
        equal(connection.reader.exactly(8), b"3\r\nabc\r\n")
        connection.send(
            answer(200, b"", [("Content-Length", size)], length=False))
        send_pattern(connection.send, size)
    takes(upstream, script)
    with small_window(gateway.address) as slow:
        slow.send(build("POST", "/x", [CHUNKED]) + b"3\r\nabc\r\n")
        equal(head(slow)[0], 200)
        for _ in range(2):  # how long it reads nothing
            equal(gateway.send(build("GET", "/silent")).status, 504)
        equal(read_pattern(slow.reader, size), size)


@each([("closes", lambda connection, request: connection.close()),
       ("resets", lambda connection, request: connection.reset())])
def an_upstream_that_only_breaks_off_is_said_so(bench, script):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    takes(upstream, script)
    with gateway.client() as client:
        client.send(build("POST", "/x", [CHUNKED]) + b"3\r\nabc\r\n")
        got = client.read()
        equal((got.status, got.problem), (502, "upstream-failed"))
    equal(upstream.count(), 1)


@test
def an_upstream_out_of_reach_is_said_so(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    upstream.stop()
    with gateway.client() as client:
        client.send(build("POST", "/x", [CHUNKED]) + b"3\r\nabc\r\n")
        got = client.read()
        equal((got.status, got.problem), (502, "upstream-unreachable"))


@test
def one_that_breaks_off_cuts_the_client(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    seen = threading.Event()

    def script(connection, request):
        connection.send(answer(200, b"", [CHUNKED], length=False)
                        + b"5\r\nhello\r\n")
        seen.wait(PATIENCE)
    takes(upstream, script)
    with gateway.client() as client:
        client.send(build("POST", "/x", [CHUNKED]) + b"3\r\nabc\r\n")
        equal(head(client)[0], 200)
        equal(client.reader.exactly(10), b"5\r\nhello\r\n")
        seen.set()
        try:
            equal(client.reader.to_end(), b"")
        except ConnectionResetError:
            pass
    equal(gateway.wait_for_log("request")["outcome"], "upstream-failed")


@test
def it_reaches_a_client_that_was_told_to_continue(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    takes(upstream, refuse)
    with gateway.client() as client:
        client.send(build("POST", "/x", [("Expect", "100-continue"), LENGTH]))
        status, _ = head(client)
        if status == 100:
            client.send(b"abc")
            status, _ = head(client)
        equal(status, 413)
        equal(client.reader.exactly(8), b"too much")


@test
def a_client_that_leaves_ends_both_ways(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)

    def script(connection, request):
        connection.send(answer(200, b"", [CHUNKED], length=False))
        try:
            read_pattern(connection.reader, None, True)
        except (Broken, OSError):
            cut.set()
    cut = threading.Event()
    takes(upstream, script)
    client = gateway.client()
    client.send(build("POST", "/x", [CHUNKED]))
    equal(head(client)[0], 200)
    client.reset()
    assert cut.wait(PATIENCE), "the upload was not cut"
    gateway.wait_for_log("request")


tap.main()
