# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 7: pass-through routes stream both ways with
back-pressure, in bounded memory, whatever the size."""

import os
import signal
import threading

from once import tap
from once.http import Broken, build
from once.raw import (PIECE, fill, head, memory, read_pattern, send_pattern,
                      small_window, takes)
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import PATIENCE

MIB = 1 << 20
BYTES = int(os.environ.get("ONCE_STREAM_BYTES", 256 * MIB))
MOST_GROWTH = 16 * MIB
LIMIT = {"in_flight_bytes": "1MiB"}
# For sanitizers: freed memory is returned, not kept back for checks.
LEAN = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")
        + ":quarantine_size_mb=1"}

LAST = b"0\r\n\r\n"
CHUNKED = ("Transfer-Encoding", "chunked")
LENGTH = ("Content-Length", str(BYTES))


def up(connection, request):
    """Reads a body that is the pattern; its size."""
    connection.reader.taken = b""
    length = request.get("Content-Length")
    return read_pattern(connection.reader, int(length) if length else None,
                        request.get("Transfer-Encoding") == "chunked")


def check_memory(gateway, before):
    """However much has passed, little of it was held at any time."""
    growth = memory(gateway.pid)[1] - before
    tap.comment(f"{growth / MIB:.1f} MiB more")
    assert growth < MOST_GROWTH


def never(connection, request):
    """Reads and sends nothing, until the gateway closes."""
    connection.sock.settimeout(None)
    while connection.reader.more():
        connection.reader.buffer = b""


# --- any size, in bounded memory ---

@each([("with a length", LENGTH, False), ("chunked", CHUNKED, True)])
def an_upload_passes_in_bounded_memory(bench, framing, chunked):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, env=LEAN, limits=LIMIT, workers=1)
    sizes = []

    def script(connection, request):
        sizes.append(up(connection, request))
        connection.send(answer(200, b"thanks"))
    with gateway.client() as client:
        equal(client.exchange("GET", "/warm").status, 201)
        takes(upstream, script)
        before = memory(gateway.pid)[0]
        client.send(build("PUT", "/x", [framing]))
        send_pattern(client.send, BYTES, chunked)
        equal(client.read().body, b"thanks")
    equal(sizes, [BYTES])
    request = upstream.requests[-1]
    equal((request.get("Content-Length"), request.get("Transfer-Encoding")),
          (None, "chunked") if chunked else (str(BYTES), None))
    check_memory(gateway, before)
    line = gateway.wait_for_log("request", method="PUT")
    equal((line["outcome"], line["bytes_in"], line["bytes_out"]),
          ("passed", BYTES, 6))


@each([("with a length", LENGTH, "1.1"), ("chunked", CHUNKED, "1.1"),
       ("up to the end", ("X-A", "b"), "1.1"),
       ("with a length to HTTP/1.0", LENGTH, "1.0"),
       ("chunked to HTTP/1.0", CHUNKED, "1.0")])
def a_download_passes_in_bounded_memory(bench, framing, version):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, env=LEAN, limits=LIMIT, workers=1)

    def script(connection, request):
        connection.send(answer(200, b"", [framing], length=False))
        send_pattern(connection.send, BYTES, framing == CHUNKED)
    with gateway.client() as client:
        equal(client.exchange("GET", "/warm").status, 201)
        takes(upstream, script)
        before = memory(gateway.pid)[0]
        request = build("GET", "/x")
        client.send(request.replace(b"HTTP/1.1", b"HTTP/" + version.encode()))
        status, fields = head(client)
        equal(status, 200)
        length = fields.get("content-length")
        coding = fields.get("transfer-encoding")
        if framing == LENGTH:
            equal((length, coding), (str(BYTES), None))
        else:
            equal((length, coding),
                  (None, "chunked" if version == "1.1" else None))
        got = read_pattern(client.reader, int(length) if length else None,
                           coding == "chunked")
        equal(got, BYTES)
    check_memory(gateway, before)
    line = gateway.wait_for_log("request", path="/x")
    equal((line["outcome"], line["bytes_in"], line["bytes_out"]),
          ("passed", 0, BYTES))


@test
def many_streams_at_once_stay_within_their_memory(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, limits=LIMIT, workers=1)
    size, count = 3 * MIB, 10

    def script(connection, request):
        got = up(connection, request)
        connection.send(answer(200, b"", [CHUNKED], length=False))
        send_pattern(connection.send, got, True)
    takes(upstream, script)

    def echo():
        with gateway.client() as client:
            client.send(build("POST", "/x", [("Content-Length", size)]))
            send_pattern(client.send, size)
            head(client)
            return read_pattern(client.reader, None, True)
    tasks = [bench.background(echo) for _ in range(count)]
    equal([task.result() for task in tasks], [size] * count)


@test
def a_stream_goes_on_with_the_least_memory(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, limits={"in_flight_bytes": "64KiB"})
    size = 32 * MIB

    def script(connection, request):
        equal(up(connection, request), size)
        connection.send(
            answer(200, b"", [("Content-Length", size)], length=False))
        send_pattern(connection.send, size)
    takes(upstream, script)
    with gateway.client() as client:
        client.send(build("POST", "/x", [("Content-Length", size)]))
        send_pattern(client.send, size)
        equal(head(client)[0], 200)
        equal(read_pattern(client.reader, size), size)


@test
def a_connection_is_kept_behind_streams_both_ways(bench):
    size = 300_000
    upstream, gateway = bench.pair(answer(200, b"y" * size))
    with gateway.client() as client:
        for _ in range(3):
            got = client.exchange("POST", "/x", body=b"x" * size)
            equal((got.status, len(got.body)), (200, size))
            client.send(build("POST", "/x", [CHUNKED]))
            send_pattern(client.send, size, True)
            equal(len(client.read().body), size)
    equal([len(r.body) for r in upstream.requests], [size] * 6)
    equal(len(upstream.connections), 1)


# --- as it comes ---

@test
def events_arrive_as_they_are_sent(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    heard = threading.Semaphore(0)

    def script(connection, request):
        connection.send(answer(200, b"", [
            CHUNKED, ("Content-Type", "text/event-stream")], length=False))
        for number in range(5):
            assert heard.acquire(timeout=PATIENCE), "it was held back"
            connection.send(b"a\r\ndata: %03d\n\r\n" % number)
        heard.acquire(timeout=PATIENCE)
        connection.send(b"0\r\n\r\n")
    takes(upstream, script)
    with gateway.client() as client:
        client.send(build("GET", "/events"))
        equal(head(client)[0], 200)
        for number in range(5):
            heard.release()
            equal(int(client.reader.line(), 16), 10)
            equal(client.reader.exactly(12), b"data: %03d\n\r\n" % number)
        heard.release()
        equal(client.reader.exactly(5), b"0\r\n\r\n")


@test
def an_upload_arrives_as_it_is_sent(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    heard = threading.Semaphore(0)

    def script(connection, request):
        for number in range(5):
            equal(connection.reader.line(), b"3\r\n")
            equal(connection.reader.exactly(5), b"%03d\r\n" % number)
            heard.release()
        equal(connection.reader.exactly(5), b"0\r\n\r\n")
        connection.send(answer(200, b"all"))
    takes(upstream, script)
    with gateway.client() as client:
        client.send(build("POST", "/x", [CHUNKED]))
        for number in range(5):
            client.send(b"3\r\n%03d\r\n" % number)
            assert heard.acquire(timeout=PATIENCE), "it was held back"
        client.send(b"0\r\n\r\n")
        equal(client.read().body, b"all")


# --- back-pressure ---

@test
def a_slow_reader_holds_only_its_own_stream(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, limits=LIMIT, workers=1)
    taken = []

    def script(connection, request):
        connection.send(answer(200, b"", [CHUNKED], length=False))
        taken.append(fill(connection.sock, b"3e8\r\n%s\r\n" % (b"x" * 1000)))
        blocked.set()
        connection.sock.settimeout(PATIENCE)
        go_on.wait(PATIENCE)
        connection.close()
    blocked, go_on = threading.Event(), threading.Event()
    takes(upstream, script)
    slow = small_window(gateway.address)
    slow.send(build("GET", "/slow"))
    assert blocked.wait(PATIENCE * 2), "the upstream was never slowed down"
    upstream.on_head = lambda connection, request: None
    for _ in range(3):
        equal(gateway.send(build("GET", "/quick")).status, 201)
    # What was accepted is in buffers, most of it in the kernel's.
    assert taken[0] < 64 * MIB, taken
    slow.close()
    go_on.set()


@test
def a_slow_upstream_holds_only_its_own_stream(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, limits=LIMIT, workers=1)
    go_on = threading.Event()
    sizes = []

    def script(connection, request):
        go_on.wait(PATIENCE * 2)
        sizes.append(up(connection, request))
        connection.send(answer(200, b"at last"))
    takes(upstream, script)
    size = 64 * MIB
    with gateway.client() as slow:
        slow.send(build("POST", "/slow", [("Content-Length", size)]))
        sender = bench.background(send_pattern, slow.send, size)
        upstream.wait_for(1)
        upstream.on_head = lambda connection, request: None
        for _ in range(3):
            equal(gateway.send(build("GET", "/quick")).status, 201)
        assert sender.thread.is_alive(), "more was taken than there is memory"
        go_on.set()
        sender.result()
        equal(slow.read().body, b"at last")
    equal(sizes, [size])


@each([("with a length", False), ("chunked", True)])
def an_answer_has_room_whatever_stands_behind_a_slow_upload(bench, chunked):
    """What libmicrohttpd reads ahead leaves room for the answer's head."""
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, workers=1)
    go_on = threading.Event()
    go_on = threading.Event()
    size, behind = 16 * MIB, 64 * 1024
    lines = [("X-Long", "l" * 4000), ("Connection", "close")]

    def script(connection, request):
        go_on.wait(PATIENCE * 2)
        taken = up(connection, request)
        connection.send(answer(200, str(taken).encode(), lines))
    takes(upstream, script)
    framing = CHUNKED if chunked else ("Content-Length", size)
    with gateway.client() as client:
        client.send(build("PUT", "/x", [framing]))

        def send_all():
            send_pattern(client.send, size, chunked)
            client.send(build("PUT", "/y", [("Content-Length", behind)]))
            send_pattern(client.send, behind)
        sender = bench.background(send_all)
        upstream.wait_for(1)
        go_on.set()
        equal([client.read().body for _ in range(2)],
              [b"%d" % size, b"%d" % behind])
        sender.result()


@test
def silence_is_the_upstreams_and_not_a_slow_readers(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, options={"timeout": "2s"},
                            limits=LIMIT, workers=1)
    size = 32 * MIB

    def script(connection, request):
        if request.target == "/silent":
            return never(connection, request)
        connection.send(
            answer(200, b"", [("Content-Length", size)], length=False))
        return send_pattern(connection.send, size)
    takes(upstream, script)
    with small_window(gateway.address) as slow:
        slow.send(build("GET", "/slow"))
        equal(head(slow)[0], 200)
        for _ in range(2):  # how long it reads nothing
            got = gateway.send(build("GET", "/silent"))
            equal((got.status, got.problem), (504, "upstream-failed"))
        equal(read_pattern(slow.reader, size), size)


@test
def silence_is_the_upstreams_and_not_a_slow_senders(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, options={"timeout": "2s"})

    def script(connection, request):
        if request.target == "/silent":
            return never(connection, request)
        equal(connection.reader.chunks(), b"abcdef")
        return connection.send(answer(200, b"whole"))
    takes(upstream, script)
    with gateway.client() as slow:
        slow.send(build("POST", "/slow", [CHUNKED]) + b"3\r\nabc\r\n")
        for _ in range(2):
            equal(gateway.send(build("GET", "/silent")).status, 504)
        slow.send(b"3\r\ndef\r\n0\r\n\r\n")
        equal(slow.read().body, b"whole")


# --- broken off ---

def cut_answers():
    whole = answer(200, b"", [CHUNKED], length=False)
    length = answer(200, b"x" * 1000)
    return [("a length", length[:-10]), ("chunks", whole + b"5\r\nhello\r\n"),
            ("within a chunk", whole + b"5\r\nhel"),
            ("a bad chunk", whole + b"5\r\nhello\r\nzz\r\n"),
            ("a bad trailer", whole + b"5\r\nhello\r\n0\r\nbad line\r\n\r\n")]


@each([(f"{words}, HTTP/{version}", data, version)
       for words, data in cut_answers() for version in ("1.1", "1.0")])
def an_answer_that_breaks_off_cuts_the_client(bench, data, version):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    got_head = threading.Event()

    def script(connection, request):
        end = data.index(b"\r\n\r\n") + 4
        connection.send(data[:end])
        got_head.wait(PATIENCE)
        connection.send(data[end:])
    takes(upstream, script)
    with gateway.client() as client:
        request = build("GET", "/x")
        client.send(request.replace(b"HTTP/1.1", b"HTTP/" + version.encode()))
        status, fields = head(client)
        equal(status, 200)
        got_head.set()
        cut = False
        try:
            client.reader.to_end()
        except ConnectionResetError:
            cut = True
        rest = client.reader.buffer + client.reader.taken
        if "content-length" in fields:
            cut = len(rest) < int(fields["content-length"])
        elif "transfer-encoding" in fields:
            cut = not rest.endswith(b"0\r\n\r\n")
        assert cut, f"a clean end behind {rest!r}"
    equal(gateway.wait_for_log("request")["outcome"], "upstream-failed")


@test
def an_upstream_that_falls_silent_in_its_answer_cuts_the_client(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, options={"timeout": "2s"})

    def script(connection, request):
        connection.send(answer(200, b"x" * 1000)[:-10])
        never(connection, request)
    takes(upstream, script)
    with gateway.client() as client:
        client.send(build("GET", "/x"))
        try:
            client.read()
            raise AssertionError("a whole answer")
        except Broken:
            pass


LEAVING = [("with FIN", lambda client: client.close()),
           ("with RST", lambda client: client.reset())]


@each(LEAVING)
def a_client_that_leaves_a_download_ends_it(bench, leave):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)

    def script(connection, request):
        connection.send(answer(200, b"", [CHUNKED], length=False))
        while True:  # until it breaks
            connection.send(b"3e8\r\n%s\r\n" % (b"x" * 1000))
    takes(upstream, script)
    client = gateway.client()
    client.send(build("GET", "/x"))
    head(client)
    leave(client)
    upstream.wait_until(lambda: not upstream.open_connections(),
                        "the end of the upstream's connection")
    gateway.wait_for_log("request")


def flowing(upstream, gateway):
    """A client that has the head of an answer of which no more comes."""
    def script(connection, request):
        connection.send(answer(200, b"", [CHUNKED], length=False))
        never(connection, request)
    takes(upstream, script)
    client = gateway.client()
    client.send(build("GET", "/x"))
    head(client)
    return client


@test
def a_client_that_resets_is_noticed_while_the_upstream_is_silent(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    client = flowing(upstream, gateway)
    client.reset()
    upstream.wait_until(lambda: not upstream.open_connections(),
                        "the end of the upstream's connection")


@test
def a_client_that_leaves_may_be_the_last_of_an_old_configuration(bench):
    """The gateway goes on, and what flowed is ended."""
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, workers=1)
    client = flowing(upstream, gateway)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    client.reset()
    upstream.wait_until(lambda: not upstream.open_connections(),
                        "the end of the upstream's connection")
    upstream.on_head = lambda connection, request: None
    equal(gateway.ask("k").status, 201)
    gateway.stop()


@test
def a_client_that_half_closes_still_gets_its_stream(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, workers=1)
    go_on = threading.Event()

    def script(connection, request):
        got = up(connection, request)
        connection.send(answer(200, b"", [CHUNKED], length=False))
        go_on.wait(PATIENCE)
        send_pattern(connection.send, got, True)
    takes(upstream, script)
    size = 3 * MIB
    with gateway.client() as older, gateway.client() as client:
        older.send(b"GET /x HT")
        client.send(build("POST", "/x", [("Content-Length", size)]))
        send_pattern(client.send, size)
        client.half_close()
        equal(head(client)[0], 200)
        go_on.set()
        equal(read_pattern(client.reader, None, True), size)


@each([(f"{words} {how}", framing, chunked, leave)
       for words, framing, chunked in (
           ("with a length", ("Content-Length", MIB), False),
           ("chunked", CHUNKED, True))
       for how, leave in LEAVING])
def a_client_that_leaves_an_upload_never_makes_it_whole(
        bench, framing, chunked, leave):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    ends = []

    def script(connection, request):
        arrived.set()
        try:
            up(connection, request)
            ends.append("whole")
        except (Broken, OSError):
            ends.append("cut")
        with upstream.changed:
            upstream.changed.notify_all()
    arrived = threading.Event()
    takes(upstream, script)
    client = gateway.client()
    client.send(build("POST", "/x", [framing]))
    if chunked:
        send_pattern(lambda data: data != LAST and client.send(data),
                     MIB - 1, True)
    else:
        send_pattern(client.send, MIB - 2)
    assert arrived.wait(PATIENCE)
    # The last bytes and the end after them are read in one go.
    gateway.signal(signal.SIGSTOP)
    last = PIECE[MIB - 1:] if chunked else PIECE[MIB - 2:MIB - 1]
    client.send(b"1\r\n" + last if chunked else last)
    leave(client)
    gateway.signal(signal.SIGCONT)
    upstream.wait_until(lambda: ends, "the end of the upload")
    equal(ends, ["cut"])
    gateway.wait_for_log("request")


@test
def an_upload_that_stalls_is_cut(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, limits={"idle_timeout": "300ms"})
    takes(upstream, never)
    with gateway.client() as client:
        client.send(build("POST", "/x", [("Content-Length", MIB)]) + b"half")
        got = client.read()
        assert got is None or got.status == 408, got
    upstream.wait_until(lambda: not upstream.open_connections(),
                        "the end of the upstream's connection")


@test
def streams_that_outlast_a_drain_are_cut(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, limits=LIMIT, workers=1,
                            drain_timeout="300ms")

    def script(connection, request):
        if request.target in ("/silent", "/early"):
            connection.send(answer(200, b"", [CHUNKED], length=False))
        if request.target == "/full":
            connection.send(answer(200, b"x" * 64 * MIB))
        never_reads.wait(PATIENCE * 3)
    never_reads = threading.Event()
    takes(upstream, script)
    clients = [small_window(gateway.address) for _ in range(5)]
    clients[0].send(build("GET", "/silent"))
    clients[1].send(build("GET", "/full"))
    clients[2].send(build("POST", "/early", [CHUNKED]) + b"3\r\nabc\r\n")
    clients[3].send(build("POST", "/stalled", [("Content-Length", 64 * MIB)]))
    clients[4].send(build("POST", "/begun", [CHUNKED]))
    for client in clients[:3]:
        equal(head(client)[0], 200)
    upstream.wait_for(5)
    fill(clients[3].sock, b"x" * 65536)
    gateway.stop()
    never_reads.set()
    for client in clients:
        client.close()


# --- what has no body, and what comes before one ---

@each([("HEAD", "HEAD", answer(200, b"", [("Content-Length", 9 * MIB)],
                               length=False), str(9 * MIB)),
       ("HEAD of chunks", "HEAD", answer(200, b"", [CHUNKED], length=False),
        None),
       ("204", "GET", answer(204, b"", length=False), None),
       ("304", "GET", answer(304, b"", [("Content-Length", 9 * MIB)],
                             length=False), str(9 * MIB)),
       ("no content", "GET", answer(200, b""), "0")])
def answers_without_a_body(bench, method, reply, length):
    upstream, gateway = bench.pair(reply)
    for _ in range(2):
        with gateway.client() as client:
            got = client.exchange(method, "/x")
            equal(got.get("Content-Length"), length)
            equal((got.get("Transfer-Encoding"), got.body), (None, b""))
            client.half_close()
            equal(client.reader.to_end(), b"")


@test
def interim_answers_end_here(bench):
    interim = (b"HTTP/1.1 100 Continue\r\n\r\n"
               b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
    upstream, gateway = bench.pair(interim + answer(200, b"final"))
    with gateway.client() as client:
        client.send(build("GET", "/x"))
        equal(head(client)[0], 200)
        equal(client.reader.exactly(5), b"final")


@test
def a_flood_of_interim_answers_is_a_failure(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)

    def script(connection, request):
        while True:
            connection.send(b"HTTP/1.1 102 Processing\r\n\r\n")
    takes(upstream, script)
    got = gateway.send(build("GET", "/x"))
    equal((got.status, got.problem), (502, "upstream-failed"))


@test
def trailers_are_dropped_both_ways(bench):
    upstream, gateway = bench.pair(
        answer(200, b"5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", [CHUNKED],
               length=False))
    with gateway.client() as client:
        client.send(build("POST", "/x", [CHUNKED])
                    + b"2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n")
        got = client.read()
        equal((got.body, got.raw.count(b"X-T")), (b"hello", 0))
    request = upstream.requests[0]
    equal((request.body, request.all("X-T")), (b"hi", []))


EXPECTS = ("Expect", "100-continue")


@each([("a route", "/none", 404), ("a length", "/v1/charges", 413)])
def what_is_refused_early_gets_no_100(bench, target, status):
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["routes"].pop()
    gateway = bench.serve(config)
    with gateway.client() as client:
        client.send(build("POST", target, [
            EXPECTS, ("Content-Length", 2 * MIB), ("Idempotency-Key", "k"),
            ("Authorization", "a")]))
        equal(head(client)[0], status)
    equal(upstream.count(), 0)


@each([("a large one", MIB), ("one of some pieces", 20_000),
       ("one that is nearly there", 65_536)])
def an_upstream_out_of_reach_gets_no_100_for(bench, size):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    upstream.stop()
    with gateway.client() as client:
        client.send(build("POST", "/x", [EXPECTS, ("Content-Length", size)]))
        equal(head(client)[0], 502)


@each([("with a length", ("Content-Length", MIB), False),
       ("chunked", CHUNKED, True)])
def a_body_that_is_wanted_gets_its_100(bench, framing, chunked):
    upstream = bench.upstream(answer(200, b"thanks"))
    gateway = bench.gateway(upstream)
    with gateway.client() as client:
        for _ in range(2):
            client.send(build("POST", "/x", [EXPECTS, framing]))
            equal(head(client)[0], 100)
            send_pattern(client.send, MIB, chunked)
            equal(client.read().body, b"thanks")
    equal([len(r.body) for r in upstream.requests], [MIB, MIB])


# --- memory, and the first byte ---

@test
def without_memory_nothing_is_sent(bench):
    upstream, gateway = bench.pair(limits={"in_flight_bytes": "10KiB"})
    got = gateway.send(build("POST", "/x", body=b"x" * 100_000))
    equal((got.status, got.problem), (503, "overloaded"))
    equal(len(upstream.connections), 0)
    # Who brings no body needs none of it.
    equal(gateway.send(build("GET", "/x")).status, 201)
    gateway.wait_for_log("memory_full", level="warn")


@test
def an_upload_that_was_begun_is_not_sent_again(bench):
    both = [bench.upstream(), bench.upstream()]
    gateway = bench.gateway(
        both[0], options={"targets": [u.url for u in both]}, workers=1)
    for upstream in both:
        takes(upstream, lambda connection, request: connection.reset())
    got = gateway.send(build("POST", "/x", body=b"x" * MIB))
    equal((got.status, got.problem), (502, "upstream-failed"))
    equal(sum(len(u.requests) for u in both), 1)


@test
def nothing_streams_before_it_was_checked(bench):
    upstream, gateway = bench.pair()
    for bad in (b"Content-Length: 5\r\n", b"X-A : 1\r\n", b"X: \x01\r\n"):
        with gateway.client() as client:
            client.send(b"POST /x HTTP/1.1\r\nHost: a\r\n"
                        b"Transfer-Encoding: chunked\r\n" + bad + b"\r\n"
                        b"2\r\nhi\r\n0\r\n\r\n")
            equal(head(client)[0], 400)
    equal(len(upstream.connections), 0)


tap.main()
