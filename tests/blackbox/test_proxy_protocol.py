# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3 (proxy_protocol): the header of the PROXY protocol is
required from the networks that are named, and refused from others."""

import ipaddress
import json
import os
import re
import ssl
import struct

from once import http, tap
from once.admin import Admin
from once.certificates import Authority
from once.gateway import command
from once.tap import each, equal, test
from once.wait import eventually

LOOPBACK = ["127.0.0.0/8"]
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
V1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 51000 443\r\n"
V1_SIX = b"PROXY TCP6 2001:db8::7 2001:db8::1 51000 443\r\n"


def version_2(command=1, family=0x11, addresses=None, more=b"", length=None):
    if addresses is None:
        addresses = (ipaddress.ip_address("192.0.2.7").packed
                     + ipaddress.ip_address("198.51.100.1").packed
                     + struct.pack("!HH", 51000, 443))
    body = addresses + more
    return SIGNATURE + struct.pack(
        "!BBH", 0x20 | command, family,
        len(body) if length is None else length) + body


SIX = (ipaddress.ip_address("2001:db8::7").packed
       + ipaddress.ip_address("2001:db8::1").packed
       + struct.pack("!HH", 51000, 443))
V2 = version_2()


def start(bench, networks=None, **members):
    upstream = bench.upstream()
    tls = members.pop("tls", None)
    entry = {"address": "127.0.0.1:0",
             "proxy_protocol": networks or LOOPBACK}
    if tls:
        entry["tls"] = tls
    return upstream, bench.gateway(upstream, listen=[entry], **members)


def ask(gateway, header, pieces=None):
    """A request behind a header; the answer."""
    with gateway.client() as client:
        for piece in pieces or [header]:
            client.send(piece)
        client.send(http.build("GET", "/x"))
        return client.read()


def closed(gateway, data):
    """Whether it is closed without a byte of an answer."""
    with http.connect(gateway.address) as sock:
        sock.sendall(data)
        try:
            return sock.recv(100) == b""
        except ConnectionResetError:
            return True


# --- whom it speaks for -----------------------------------------------------

@each([("version 1", V1, "192.0.2.7"), ("IPv6", V1_SIX, "2001:db8::7"),
       ("version 2", V2, "192.0.2.7"),
       ("IPv6 in version 2", version_2(family=0x21, addresses=SIX),
        "2001:db8::7"),
       ("more than addresses", version_2(more=b"\x04\0\3abc" * 40),
        "192.0.2.7"),
       ("as much more as can be", version_2(more=b"x" * (65535 - 12)),
        "192.0.2.7"),
       ("nobody known", b"PROXY UNKNOWN\r\n", "127.0.0.1"),
       ("nobody known, in many words",
        b"PROXY UNKNOWN " + b"x" * 91 + b"\r\n", "127.0.0.1"),
       ("the proxy itself", version_2(command=0, family=0, addresses=b""),
        "127.0.0.1"),
       ("the proxy itself, with addresses", version_2(command=0),
        "127.0.0.1"),
       ("nobody said", version_2(family=0, addresses=b""), "127.0.0.1"),
       ("a Unix socket", version_2(family=0x31, addresses=b"\0" * 216),
        "127.0.0.1")])
def the_client_is_who_the_header_says(bench, header, client):
    upstream, gateway = start(bench)
    equal(ask(gateway, header).status, 201)
    equal(upstream.requests[0].get("X-Forwarded-For"), client)
    equal(gateway.wait_for_log("request")["client"], client)


@each([("version 1", V1), ("version 2", version_2(more=b"\4\0\1x"))])
def a_header_may_come_in_two_pieces(bench, header):
    """Cut in every place."""
    upstream, gateway = start(bench)
    for cut in range(1, len(header)):
        got = ask(gateway, header, [header[:cut], header[cut:]])
        equal(got.status, 201, cut)
    equal({r.get("X-Forwarded-For") for r in upstream.requests},
          {"192.0.2.7"})


@test
def a_header_may_come_byte_by_byte(bench):
    upstream, gateway = start(bench)
    for header in (V1, V2):
        equal(ask(gateway, header, [
            bytes([byte]) for byte in header]).status, 201)


@test
def header_and_request_may_come_in_one_piece(bench):
    _, gateway = start(bench)
    for header in (V1, V2):
        with gateway.client() as client:
            client.send(header + http.build("GET", "/x"))
            equal(client.read().status, 201)
            client.send(http.build("GET", "/y"))  # no header of its own
            equal(client.read().status, 201)


@test
def a_second_header_is_malformed_http(bench):
    upstream, gateway = start(bench)
    for header in (V1, V2):
        with gateway.client() as client:
            client.send(header + header + http.build("GET", "/x"))
            equal(client.read().status, 400)
    equal(upstream.count(), 0)


@test
def tls_comes_behind_it(bench):
    authority = Authority(bench.folder())
    tls = authority.issue("gate")
    upstream, gateway = start(
        bench, tls={"certificate": tls.file, "key": tls.key})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for header in (V1, V2):
        sock = http.connect(gateway.address)
        sock.sendall(header)
        with context.wrap_socket(sock) as secure:
            secure.sendall(http.build("GET", "/x"))
            assert secure.recv(100).startswith(b"HTTP/1.1 201")
    equal([r.get("X-Forwarded-For") for r in upstream.requests],
          ["192.0.2.7"] * 2)
    equal([r.get("X-Forwarded-Proto") for r in upstream.requests],
          ["https"] * 2)


# --- what is none -----------------------------------------------------------

@each([("no header", http.build("GET", "/x")),
       ("another word", b"PROXX TCP4 1.2.3.4 1.2.3.4 1 2\r\n"),
       ("lower case", V1.lower()),
       ("no family", b"PROXY \r\n"),
       ("another family", b"PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n"),
       ("IPv6 as IPv4", b"PROXY TCP4 ::1 ::1 1 2\r\n"),
       ("IPv4 as IPv6", b"PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n"),
       ("a name", b"PROXY TCP4 localhost 1.2.3.4 1 2\r\n"),
       ("zeros in front", b"PROXY TCP4 01.2.3.4 1.2.3.4 1 2\r\n"),
       ("two blanks", b"PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n"),
       ("a blank at the end", b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n"),
       ("a tab", b"PROXY TCP4\t1.2.3.4 1.2.3.4 1 2\r\n"),
       ("a NUL", b"PROXY TCP4 1.2.3.4\0 1.2.3.4 1 2\r\n"),
       ("one address", b"PROXY TCP4 1.2.3.4 1 2\r\n"),
       ("no ports", b"PROXY TCP4 1.2.3.4 1.2.3.4\r\n"),
       ("a port too high", b"PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n"),
       ("a port of zeros", b"PROXY TCP4 1.2.3.4 1.2.3.4 00 2\r\n"),
       ("a port below zero", b"PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n"),
       ("a line end of its own", b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n"),
       ("too long a line", b"PROXY UNKNOWN " + b"x" * 200 + b"\r\n"),
       ("one byte too long", b"PROXY UNKNOWN " + b"x" * 92 + b"\r\n"),
       ("a broken signature", b"\r\n\r\n\0\r\nQUIT\r"),
       ("version 1 in version 2", SIGNATURE + b"\x11\x11\0\0"),
       ("another command", version_2(command=2)),
       ("datagrams", version_2(family=0x12)),
       ("another family of 2", version_2(family=0x41)),
       ("too few bytes", version_2(addresses=b"\0" * 11)),
       ("too few for IPv6", version_2(family=0x21)),
       ("a handshake", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")])
def it_is_closed_without_a_word_behind(bench, data):
    upstream, gateway = start(bench)
    assert closed(gateway, data + http.build("GET", "/x"))
    equal(gateway.wait_for_log("proxy_refused")["why"], "malformed")
    equal(upstream.count(), 0)
    equal(ask(gateway, V1).status, 201)


@test
def one_that_says_nothing_is_closed_in_time(bench):
    _, gateway = start(bench, limits={"header_timeout": "200ms"})
    assert closed(gateway, V1[:10])
    equal(gateway.wait_for_log("proxy_refused")["why"], "late")


@test
def those_that_wait_have_places_and_give_them_back(bench):
    _, gateway = start(bench, limits={"connections": 3}, admin={
        "listen": "unix:" + os.path.join(bench.folder(), "admin")})

    def taken():
        text = Admin(gateway).send("GET", "/metrics").body.decode()
        return int(re.search(
            r'onceproxy_connections\{side="client"\} (\d+)', text)[1])
    waiting = [http.connect(gateway.address) for _ in range(3)]
    eventually(lambda: taken() == 3)
    equal(gateway.send(V1 + http.build("GET", "/x")).problem, "overloaded")
    for sock in waiting:
        sock.close()
    eventually(lambda: taken() == 0)
    equal(ask(gateway, V1).status, 201)


@test
def a_drain_waits_for_nobody_who_has_said_nothing(bench):
    _, gateway = start(bench)
    sock = http.connect(gateway.address)
    sock.sendall(b"PROXY ")
    equal(ask(gateway, V1).status, 201)
    gateway.stop()
    sock.close()


# --- from elsewhere ---------------------------------------------------------

@test
def from_elsewhere_a_header_is_malformed_http(bench):
    upstream, gateway = start(bench, ["10.0.0.0/8", "192.0.2.1"])
    got = gateway.send(V1 + http.build("GET", "/x"))
    equal((got.status, got.problem), (400, "bad-request"))
    equal(gateway.send(V2 + http.build("GET", "/x")).status, 400)
    equal(upstream.count(), 0)
    equal(gateway.send(http.build("GET", "/x")).status, 201)
    equal(upstream.requests[0].get("X-Forwarded-For"), "127.0.0.1")


@each([("all of it", "127.0.0.0/8", True), ("one address", "127.0.0.1", True),
       ("its own /32", "127.0.0.1/32", True), ("half", "127.0.0.0/31", True),
       ("the other half", "127.0.0.2/31", False), ("all", "0.0.0.0/0", True),
       ("IPv6", "::/0", False)])
def a_network_is(bench, network, inside):
    _, gateway = start(bench, [network])
    got = gateway.send((V1 if inside else b"") + http.build("GET", "/x"))
    equal(got.status, 201)


# --- the configuration ------------------------------------------------------

@each([("a name", "localhost"), ("no address", ""),
       ("too long", "10.0.0.0/33"), ("a sign", "10.0.0.0/-1"),
       ("a word", "10.0.0.0/x"),
       ("bits behind it", "10.0.0.1/8"), ("two slashes", "10.0.0.0/8/8"),
       ("IPv4 in IPv6", "::ffff:10.0.0.0/104"), ("a blank", " 10.0.0.0/8")])
def it_is_no_network(bench, text):
    config = bench.config("http://127.0.0.1:9", listen=[
        {"address": "127.0.0.1:0", "proxy_protocol": [text]}])
    got = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(got.returncode, 1)
    assert "/listen/0/proxy_protocol/0: " in got.stdout, got.stdout


@test
def a_unix_socket_has_no_networks(bench):
    config = bench.config("http://127.0.0.1:9", listen=[
        {"address": "unix:/run/x", "proxy_protocol": LOOPBACK}])
    got = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(got.returncode, 1)
    assert "nobody on a Unix socket has an address" in got.stdout, got.stdout


tap.main()
