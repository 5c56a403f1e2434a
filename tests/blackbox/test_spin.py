# SPDX-License-Identifier: BSD-2-Clause
"""A connection that keeps its event loop busy with nothing is found and ended,
and nobody else pays for it.  libmicrohttpd 0.9.75 does that at a chunk line
that is longer than its memory; what keeps such lines from it is switched off
here.  Of later versions nothing is known that makes them do so."""

import ctypes
import os
import re
import signal
import time

from once import tap
from once.certificates import Authority
from once.http import Broken, Client, ask, build, keyed
from once.raw import head, read_pattern, send_pattern, small_window
from once.tap import Skip, each, equal, test
from once.upstream import answer

TEST_BUILD = os.environ.get("ONCEPROXY_TEST_BUILD", "")
OFF = {"ONCE_INVARIANTS_OFF": "short_chunk_lines"}
LARGE = 8 << 20
MANY = 40
# A second to be suspected, one to be ended, and the search between them.
SOON_S = 15


def version():
    library = ctypes.CDLL("libmicrohttpd.so.12")
    library.MHD_get_version.restype = ctypes.c_char_p
    return library.MHD_get_version().decode()


def start(bench, tls=False, **members):
    if not os.access(TEST_BUILD, os.X_OK):
        raise Skip("there is no test build")
    if version() != "0.9.75":
        raise Skip(f"nothing makes libmicrohttpd {version()} spin")
    upstream = bench.upstream()
    config = bench.config(upstream, workers=1,
                          admin={"listen": "127.0.0.1:0"}, **members)
    context = None
    if tls:
        authority = Authority(bench.folder())
        server = authority.issue("localhost")
        config["listen"] = [{"address": "127.0.0.1:0", "tls": {
            "certificate": server.file, "key": server.key}}]
        context = authority.client()
    gateway = bench.serve(config, env=OFF, program=TEST_BUILD)
    return upstream, gateway, context


def spinning(address, target="/x", tls=None):
    """A client whose connection spins from now on."""
    client = Client(address, tls=tls)
    client.send(build("POST", target, [
        ("Idempotency-Key", "s"), ("Authorization", "a"),
        ("Transfer-Encoding", "chunked")], host="localhost"))
    client.send(b"5;" + b"a" * 50_000)
    return client


def found(gateway):
    return len(gateway.find_log("connection_spun"))


def until_found(gateway, count=1):
    """Yields until so many were found, which must be soon."""
    began = time.monotonic()
    while found(gateway) < count:
        yield
        assert time.monotonic() - began < SOON_S, \
            f"{found(gateway)} of {count} found"


def ended_in_time(gateway):
    began = time.monotonic()
    gateway.stop(signal.SIGTERM)
    assert time.monotonic() - began < SOON_S


def counted(gateway):
    got = ask(gateway.ready["admin"],
              build("GET", "/metrics", host="localhost"))
    return int(re.search(rb"^onceproxy_connections_spun_total (\d+)$",
                         got.body, re.M)[1])


@each([(f"{words}, the client {does}{over}", target, does == "leaves",
        bool(over))
       for words, target in (("with a key", "/v1/charges"),
                             ("passed through", "/x"))
       for does in ("leaves", "stays")
       for over in ("", ", over TLS")])
def a_connection_that_spins_is_ended(bench, target, leaves, tls):
    upstream, gateway, context = start(bench, tls)
    client = spinning(gateway.address, target, context)
    if leaves:
        client.close()
    for _ in until_found(gateway):
        with gateway.client(tls=context) as other:
            other.send(keyed("k"))
            equal(other.read().status, 201)
    line = gateway.find_log("connection_spun")[0]
    equal((line["level"], line["client"], line["doing"], line["requests"]),
          ("error", "127.0.0.1", "sending the body", 1))
    if not leaves:
        assert client.is_closed()
        client.close()
    # Its request is over too: the only one without an answer.
    gateway.wait_until(lambda: any(
        "status" not in e for e in gateway.find_log("request")), "its end")
    equal(counted(gateway), 1)
    ended_in_time(gateway)
    equal(found(gateway), 1)
    equal(upstream.count(), 1)


@test
def so_is_one_to_the_admin_interface(bench):
    upstream, gateway, _ = start(bench)
    with spinning(gateway.ready["admin"],
                  "/keys/" + "0" * 32 + "/release") as client:
        for _ in until_found(gateway):
            counted(gateway)  # it answers all the while
        assert client.is_closed()
    equal(counted(gateway), 1)
    ended_in_time(gateway)


@test
def a_drain_does_not_wait_for_it(bench):
    upstream, gateway, _ = start(bench)
    with spinning(gateway.address):
        equal(gateway.ask("k").status, 201)
        ended_in_time(gateway)
    equal(found(gateway), 1)


@test
def many_that_spin_are_all_found(bench):
    upstream, gateway, _ = start(bench)
    clients = [spinning(gateway.address) for _ in range(MANY)]
    for _ in until_found(gateway, MANY):
        equal(gateway.ask("k").status, 201)
    for client in clients:
        assert client.is_closed()
        client.close()
    equal(counted(gateway), MANY)
    equal(gateway.ask("k").status, 201)


def downloads(gateway, upstream):
    """Clients that read slowly what is large, one of which has closed its
    half behind its request."""
    def on_head(connection, request):
        if request.target != "/large":
            return
        connection.send(answer(
            200, b"", [("Content-Length", str(LARGE))], length=False))
        send_pattern(connection.send, LARGE)
        raise Broken("served")
    upstream.on_head = on_head
    clients = [small_window(gateway.address) for _ in range(2)]
    for client in clients:
        client.send(build("GET", "/large"))
        equal(head(client)[0], 200)
    clients[0].half_close()
    return clients


@test
def nobody_else_is_ended(bench):
    """Idle clients, such as wait, and such as send or read all the while."""
    upstream, gateway, _ = start(bench, limits={"idle_timeout": "1m"})
    idle = [gateway.client() for _ in range(200)]
    for client in idle:
        client.send(keyed("k"))
        equal(client.read().status, 201)
    slow = downloads(gateway, upstream)
    hold = upstream.hold()
    waiting = gateway.client()
    waiting.send(keyed("held"))
    waiting.half_close()
    hold.wait_arrived()
    sender = gateway.client()
    sender.send(build("POST", "/v1/charges", [
        ("Idempotency-Key", "sent"), ("Authorization", "a"),
        ("Transfer-Encoding", "chunked")]))
    begun = gateway.client()
    begun.send(build("GET", "/x")[:-2])
    bad = [spinning(gateway.address) for _ in range(3)]
    bad.append(spinning(gateway.address, "/v1/charges"))
    for _ in until_found(gateway, len(bad)):
        sender.send(b"1\r\nx\r\n")
        client = idle[found(gateway)]
        client.send(keyed("k"))
        assert client.read().replayed
    for client in bad:
        assert client.is_closed()
    hold.release()
    equal(waiting.read().status, 201)
    sender.send(b"0\r\n\r\n")
    equal(sender.read().status, 201)
    begun.send(b"\r\n")
    equal(begun.read("GET").status, 201)
    for client in slow:
        equal(read_pattern(client.reader, LARGE), LARGE)
    for client in idle:
        client.send(keyed("k"))
        assert client.read().replayed
    equal(found(gateway), len(bad))


tap.main()
