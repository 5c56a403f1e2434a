# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, limits: no client keeps a connection by doing next to
nothing, and nothing of a request that was cut is forwarded."""

import contextlib
import signal
import socket
import time

from once import tap
from once.certificates import Authority
from once.gateway import write
from once.http import Broken, Client, build, connect, keyed
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import Late

PAUSE_S = 0.1  # between two bytes of a client that trickles


def trickle(sock, data, pause=PAUSE_S):
    """Sends byte after byte, reading whatever comes back meanwhile; what came
    until the other side closed."""
    sock.settimeout(pause)
    said = b""
    for byte in data:
        try:
            sock.sendall(bytes([byte]))
            more = sock.recv(65536)
            said += more
            if more == b"":
                return said
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return said
    raise AssertionError(f"it was not cut; {said!r} came")


class Pace:
    """The longest time that a client did nothing between two of its steps."""

    def __init__(self):
        self.last, self.longest = None, 0

    def step(self):
        now = time.monotonic()
        self.longest = max(self.longest, now - (self.last or now))
        self.last = now


def on_its_way(act):
    """What comes of an act, None where it was cut, in which nobody did nothing
    for nearly as long as LIMITS permits: a machine may stand still."""
    while True:
        pace, came = Pace(), None
        with contextlib.suppress(Broken, ConnectionError):
            came = act(pace)
        if came is None:
            pace.step()
        if pace.longest < 0.8:
            return came


def is_408(said):
    return said.startswith(b"HTTP/1.1 408 ") and b"request-timeout" in said


@each([
    ("empty lines", b"\r\n" * 500, False),
    ("the first line", b"GET /" + b"x" * 1000, False),
    ("a header field", b"POST /x HTTP/1.1\r\nHost: h\r\nA: " + b"x" * 1000,
     True),
])
def a_head_that_trickles_is_cut(bench, data, told):
    upstream, gateway = bench.pair(limits={"header_timeout": "1s"})
    fast = data.rfind(b"\r\n") if told else 0
    with connect(gateway.address) as sock:
        sock.sendall(data[:fast])
        equal(is_408(trickle(sock, data[fast:])), told)
    equal(upstream.count(), 0)
    equal(gateway.ask("k").status, 201)


@test
def the_second_head_of_a_connection_is_cut_too(bench):
    upstream, gateway = bench.pair(limits={"header_timeout": "1s"})
    with gateway.client() as client:
        equal(client.exchange("GET", "/x").status, 201)
        client.send(b"POST /x HTTP/1.1\r\nHost: h\r\nA: ")
        assert is_408(trickle(client.sock, b"x" * 1000))
    equal(upstream.count(), 1)


LIMITS = {"header_timeout": "60s", "idle_timeout": "1s"}


@each([
    ("with a length", keyed("k", body=b"x" * 1000)[:-1000], b"x"),
    ("in chunks", b"POST /v1/charges HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k"
     b"\r\nAuthorization: a\r\nTransfer-Encoding: chunked\r\n\r\n",
     b"1\r\nx\r\n"),
    ("passed through", build("POST", "/x", body=b"x" * 1000)[:-1000], b"x"),
])
def a_body_that_trickles_is_cut(bench, head, piece):
    upstream, gateway = bench.pair(limits=LIMITS)
    with connect(gateway.address) as sock:
        sock.sendall(head)
        said = trickle(sock, piece * 999)
    assert is_408(said), said
    equal(upstream.count(), 0)
    # The key was never claimed: another body may have it.
    equal(gateway.ask("k", body=b"another").status, 201)


@test
def the_log_says_408_of_a_body_that_did_not_come(bench):
    _, gateway = bench.pair(limits=LIMITS, log={"level": "debug"})
    with connect(gateway.address) as sock:
        sock.sendall(keyed("k", fields=[("X-Request-Id", "rid-1")])[:-1])
        assert is_408(sock.recv(65536))
    line = gateway.wait_for_log("request", request_id="rid-1")
    equal((line["status"], line["outcome"]), (408, "bad-request"))
    equal(gateway.find_log("client_slow")[0]["doing"], "sending the body")


@test
def a_body_that_is_slow_and_comes_on_is_not_cut(bench):
    """About twenty times the least rate, for three times as long as a client
    may be silent."""
    upstream, gateway = bench.pair(limits=LIMITS)
    body = b"x" * 32 * 1024

    def upload(pace):
        with gateway.client() as client:
            client.send(keyed("k", body=body)[:-len(body)])
            client.sock.settimeout(PAUSE_S)
            for _ in range(32):
                pace.step()
                client.send(body[:1024])
                try:
                    client.reader.more()
                except TimeoutError:
                    continue
                break
            pace.step()
            client.sock.settimeout(20)
            return client.read().status
    equal(on_its_way(upload), 201)
    equal(upstream.count(), 1)


MIB = 1 << 20
KEYED = [("Idempotency-Key", "k"), ("Authorization", "a")]


def send_slowly(sock, pieces, count, pace=Pace()):
    """About a kilobyte a second; what the gateway says until it closes, or
    until so many pieces are sent."""
    sock.settimeout(PAUSE_S)
    said = b""
    for _ in range(count):
        pace.step()
        try:
            sock.sendall(pieces)
            more = sock.recv(65536)
            said += more
            if more == b"":
                break
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            break
    pace.step()
    return said


@each([("with a length", ("Content-Length", MIB), b"x" * 100),
       ("in chunks", ("Transfer-Encoding", "chunked"),
        b"64\r\n" + b"x" * 100 + b"\r\n")])
def a_body_that_would_take_half_an_hour_is_cut(bench, field, piece):
    """More than the least rate of any moment, and too little for the whole,
    which stays in memory: 1 MiB is to come in five minutes."""
    upstream, gateway = bench.pair(limits=LIMITS)
    with connect(gateway.address) as sock:
        sock.sendall(build("POST", "/v1/charges", [*KEYED, field]))
        said = send_slowly(sock, piece, 80)
    assert is_408(said), said
    equal(upstream.count(), 0)
    gateway.wait_for_log("request", status=408)


@each([("that is short", "/v1/charges", 3000),
       ("that is not kept in memory", "/x", MIB)])
def a_body_as_slow_is_not_cut(bench, path, size):
    upstream, gateway = bench.pair(limits=LIMITS)

    def upload(pace):
        with connect(gateway.address) as sock:
            sock.sendall(build("POST", path, [
                *KEYED, ("Content-Length", size)]))
            return send_slowly(sock, b"x" * 100, 30, pace)
    said = on_its_way(upload)
    assert not is_408(said), said
    equal(gateway.find_log("client_slow"), [])


def small_window(address):
    """A client whose kernel buffers next to nothing."""
    host, port = address.rsplit(":", 1)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(20)
    sock.connect((host, int(port)))
    return sock


def read_bytewise(sock, gateway):
    """Reads a byte each time that the log has been silent about it for a
    while."""
    while True:
        try:
            gateway.wait_for_log("client_slow", timeout=PAUSE_S)
            return
        except Late:
            sock.recv(1)


# More than the kernel buffers for a client.
LARGE = b"y" * 12_000_000


@each([("a byte now and then", read_bytewise),
       ("nothing", lambda sock, gateway: None)])
def a_client_is_cut_that_reads(bench, read):
    upstream, gateway = bench.pair(
        answer(200, LARGE), {"max_response_body": "16MiB"}, limits=LIMITS,
        log={"level": "debug"})
    with small_window(gateway.address) as sock:
        sock.sendall(keyed("k"))
        read(sock, gateway)
        gateway.wait_for_log("client_slow", doing="reading the answer")
    # The answer that it did not read was stored before.
    got = gateway.ask("k")
    equal((got.replayed, got.body == LARGE), (True, True))
    equal(upstream.count(), 1)


@test
def a_client_that_reads_slowly_and_comes_on_is_not_cut(bench):
    upstream, gateway = bench.pair(
        answer(200, LARGE), {"max_response_body": "16MiB"}, limits=LIMITS)

    def download(pace):
        with Client(gateway.address) as client:
            client.send(keyed("k"))
            nothing = socket.socketpair()
            nothing[0].settimeout(PAUSE_S)
            client.reader.more()
            for _ in range(30):  # three times the permitted silence
                pace.step()
                client.reader.buffer += client.sock.recv(100_000)
                with contextlib.suppress(TimeoutError):
                    nothing[0].recv(1)
            pace.step()
            for end in nothing:
                end.close()
            return len(client.read().body)
    equal(on_its_way(download), len(LARGE))


def let_idle_times_pass(gateway, count=3):
    """How many connections were closed for doing nothing."""
    for _ in range(count):
        with gateway.client() as client:
            equal(client.exchange("GET", "/none", host=None).status, 400)
        with gateway.client() as client:
            equal(client.exchange("GET", "/idle").status, 201)
            assert client.is_closed()


@test
def an_upload_that_the_upstream_holds_up_is_not_cut(bench):
    upstream, gateway = bench.pair(limits=LIMITS)
    hold = Hold()
    upstream.on_head = lambda connection, request: (
        hold.wait() if request.method == "POST" else None)
    with gateway.client() as client:
        client.sock.settimeout(60)
        task = bench.background(
            client.exchange, "POST", "/x", body=LARGE)
        hold.wait_arrived()
        let_idle_times_pass(gateway)
        hold.release()
        equal(task.result().status, 201)
    equal(len(upstream.requests[-1].body), len(LARGE))


@test
def an_answer_that_the_upstream_holds_up_is_not_cut(bench):
    hold = Hold()

    def slow(connection, request):
        whole = answer(200, b"z" * 100_000)
        connection.send(whole[:50_000])
        hold.wait()
        connection.send(whole[50_000:])
    upstream, gateway = bench.pair(limits=LIMITS)
    upstream.replies["/slow"] = slow
    with gateway.client() as client:
        task = bench.background(client.exchange, "GET", "/slow")
        hold.wait_arrived()
        let_idle_times_pass(gateway)
        hold.release()
        equal(len(task.result().body), 100_000)


@test
def over_tls_a_client_is_told_too(bench):
    authority = Authority(bench.folder())
    cert = authority.issue("localhost")
    upstream = bench.upstream()
    gateway = bench.serve(bench.config(
        upstream, limits=LIMITS, listen=[
            {"address": "127.0.0.1:0",
             "tls": {"certificate": cert.file, "key": cert.key}}]))
    with Client(gateway.address, tls=authority.client()) as client:
        client.send(keyed("k")[:-1])
        equal(client.read().problem, "request-timeout")
    with Client(gateway.address, tls=authority.client()) as client:
        client.send(keyed("k"))
        equal(client.read().status, 201)
    equal(upstream.count(), 1)


@test
def a_reload_changes_the_time(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    gateway = bench.serve(config)
    config["limits"] = {"header_timeout": "1s", "idle_timeout": "1s"}
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    equal(gateway.find_log("reload_partial"), [])
    with gateway.client() as client:
        equal(client.exchange("GET", "/x").status, 201)
        assert client.is_closed()


tap.main()
