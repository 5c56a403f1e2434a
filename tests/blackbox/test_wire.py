# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6: chunk lines, trailers and heads are framed strictly;
and what the head alone decides is answered at once."""

import fcntl
import os
import signal
import termios
import time

from once import tap
from once.certificates import Authority
from once.http import Client, build, connect, keyed
from once.raw import small_window
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

NEXT = b"POST /v1/charges HTTP/1.1\r\nHost: h\r\nIdempotency-Key: next\r\n" \
       b"Authorization: a\r\n\r\n"
MIB = 1 << 20


def chunked(target="/v1/charges"):
    return build("POST", target, [
        ("Idempotency-Key", "k"), ("Authorization", "a"),
        ("Transfer-Encoding", "chunked")])


def sockets_of(gateway):
    """Connections to its port that it has not closed."""
    port = int(gateway.address.rsplit(":", 1)[1])
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return [row for row in rows if int(row[1].split(":")[1], 16) == port
            and row[3] in ("01", "08")]  # established, or left by the client


def with_keys_only(bench, tls=False):
    """A gateway that has one route, with a key."""
    upstream = bench.upstream()
    config = bench.config(upstream, workers=1)
    config["routes"] = config["routes"][:1]
    context = None
    if tls:
        authority = Authority(bench.folder())
        server = authority.issue("localhost")
        config["listen"] = [{"address": "127.0.0.1:0", "tls": {
            "certificate": server.file, "key": server.key}}]
        context = authority.client()
    return upstream, bench.serve(config), context


ODD = [
    ("a bare LF behind a size", b"5\nhello\r\n0\r\n\r\n"),
    ("a bare LF behind an extension", b"66;\n" + b"x" * 102 + b"\r\n0\r\n\r\n"),
    ("a bare LF behind the last size", b"5\r\nhello\r\n0\n\r\n"),
    ("a bare LF behind the data", b"5\r\nhello\n0\r\n\r\n"),
    ("a bare LF at the end", b"5\r\nhello\r\n0\r\n\n"),
    ("a bare LF behind a trailer", b"5\r\nhello\r\n0\r\nA: b\n\r\n"),
    ("a CR in an extension", b"5;a\rb\r\nhello\r\n0\r\n\r\n"),
    ("a NUL in an extension", b"5;a\0b\r\nhello\r\n0\r\n\r\n"),
    ("an extension without an end", b"5;" + b"a" * 50_000),
    ("a line of 257 bytes",
     b"%015x;" % 5 + b"a" * 241 + b"\r\nhello\r\n0\r\n\r\n"),
    ("a size without an end", b"0" * 50_000),
    ("a blank behind the size", b"5 \r\nhello\r\n0\r\n\r\n"),
    ("a size with a sign", b"+5\r\nhello\r\n0\r\n\r\n"),
    ("a size that is too large", b"f" * 16 + b"\r\nhello\r\n0\r\n\r\n"),
    ("no size", b"\r\nhello\r\n0\r\n\r\n"),
    ("more than the size", b"5\r\nhello!\r\n0\r\n\r\n"),
    ("a trailer with a blank in its name", b"5\r\nhello\r\n0\r\nX : a\r\n\r\n"),
    ("a folded trailer", b"5\r\nhello\r\n0\r\nA: b\r\n c\r\n\r\n"),
    ("a trailer without a name", b"5\r\nhello\r\n0\r\n: b\r\n\r\n"),
    ("a trailer without a colon", b"5\r\nhello\r\n0\r\nab\r\n\r\n"),
    ("a NUL in a trailer", b"5\r\nhello\r\n0\r\nA: b\0\r\n\r\n"),
]
WHERE = [("with a key", "/v1/charges"), ("passed through", "/x")]


@each([(f"{words}, {where}", body, target)
       for words, body in ODD for where, target in WHERE])
def odd_chunks_are_400_and_nothing_behind_is_served(bench, body, target):
    upstream, gateway = bench.pair(workers=1)
    with gateway.client() as client:
        client.send(chunked(target))
        try:
            client.send(body + NEXT)
        except (BrokenPipeError, ConnectionResetError):
            pass
        got = client.read()
        equal((got.status, got.problem), (400, "bad-request"))
        equal(got.get("Connection"), "close")
        equal(client.reader.to_end(), b"")
    line = gateway.wait_for_log("request")
    equal((line["status"], line["outcome"]), (400, "bad-request"))
    equal(len(gateway.find_log("request")), 1)
    equal(upstream.count(), 0)


@test
def a_chunk_line_has_256_bytes_at_most(bench):
    upstream, gateway = bench.pair(workers=1)
    for size, status in ((254, 201), (255, 400)):
        with gateway.client() as client:
            client.send(chunked() + b"5;" + b"a" * size
                        + b"\r\nhello\r\n0\r\n\r\n")
            equal(client.read().status, status)
    equal(upstream.count(), 1)


@test
def a_chunk_line_of_256_bytes_is_right(bench):
    upstream, gateway = bench.pair(workers=1)
    for target in ("/v1/charges", "/x"):
        got = gateway.send(chunked(target) + b"%015x;" % 5 + b"a" * 240
                           + b"\r\nhello\r\n0\r\n\r\n")
        equal(got.status, 201)
    equal([request.body for request in upstream.requests], [b"hello"] * 2)


@each([(f"{words}, {where}, {how}", body, target, pieces)
       for words, body in ODD[:1] + [("behind a chunk", b"5\r\nhellozz")]
       for where, target in WHERE
       for how, pieces in (("at once", False), ("behind the head", True))])
def odd_chunks_of_who_expects_a_100_are_400(bench, body, target, pieces):
    """At once, whether the 100 was sent or not; and nothing is left."""
    upstream, gateway = bench.pair(workers=1)
    data = chunked(target).replace(b"\r\n\r\n", b"\r\n"
                                   b"Expect: 100-continue\r\n\r\n")
    with gateway.client() as client:
        if pieces:
            client.send(data)
            client.reader.until(b" 100 Continue\r\n\r\n")
            client.send(body)
        else:
            client.send(data + body)
        equal(client.read().status, 400)
        equal(client.reader.to_end(), b"")
    equal(gateway.wait_for_log("request")["status"], 400)
    equal(upstream.count(), 0)
    eventually(lambda: not sockets_of(gateway), "its connection is closed")


@test
def a_wrong_head_of_who_expects_a_100_is_400(bench):
    upstream, gateway = bench.pair(workers=1)
    for length in (b"5, 5", b"5 ", b"5\r\n folded"):
        with gateway.client() as client:
            client.send(b"POST /x HTTP/1.1\r\nHost: h\r\nExpect: "
                        b"100-continue\r\nContent-Length: " + length
                        + b"\r\n\r\nhello" + NEXT)
            equal(client.read().status, 400)
            equal(client.reader.to_end(), b"")
    equal(upstream.count(), 0)


@each([(value, value) for value in (
    "close", "Close", "close, x", "x,clo,close", "clo, close", ",close",
    "keep-alive, close", "x,\tclose\t,y")])
def nothing_is_served_behind_a_client_that_closes(bench, value):
    upstream, gateway = bench.pair(workers=1)
    for data in (build("GET", "/x", [("Connection", value)]),
                 keyed("k-" + value.encode().hex(), [("Connection", value)])):
        before = upstream.count()
        with gateway.client() as client:
            client.send(data + NEXT)
            got = client.read()
            equal((got.status, got.all("Connection")), (201, ["close"]))
            equal(client.reader.to_end(), b"")
        equal(upstream.count(), before + 1)


@test
def nothing_is_served_behind_a_client_that_closes_in_two_lines(bench):
    upstream, gateway = bench.pair(workers=1)
    with gateway.client() as client:
        client.send(build("GET", "/x", [("Connection", "keep-alive"),
                                        ("Connection", "close")]) + NEXT)
        equal(client.read().status, 201)
        equal(client.reader.to_end(), b"")
    equal(upstream.count(), 1)


# --- between two requests

def behind(bench, between, **members):
    """What a payment and a request behind it are answered, with that between
    them, and what the upstream saw."""
    upstream, gateway = bench.pair(workers=1, **members)
    with gateway.client() as client:
        client.send(keyed(f"k{len(between)}") + between + build("GET", "/x"))
        statuses = [client.read().status for _ in range(2)]
    return statuses, [r.target for r in upstream.requests]


@test
def a_bare_cr_in_front_of_a_request_is_400(bench):
    """And no other request: none that nobody sent, and not the one before."""
    upstream, gateway = bench.pair(workers=1)
    with gateway.client() as client:
        client.send(b"\r" + build("GET", "/x"))
        equal(client.read().status, 400)
        equal(client.reader.to_end(), b"")
    equal(upstream.count(), 0)
    equal(behind(bench, b"\r"), ([201, 400], ["/v1/charges"]))
    equal(behind(bench, b"\r\n\r"), ([201, 400], ["/v1/charges"]))


@test
def a_bare_cr_does_not_take_the_answer_of_what_is_in_flight(bench):
    upstream, gateway = bench.pair(workers=1)
    hold = upstream.hold()
    with gateway.client() as client:
        client.send(keyed("k"))
        hold.wait_arrived()
        client.send(b"\r" + build("GET", "/x"))
        hold.release()
        equal([client.read().status for _ in range(2)], [201, 400])
    equal(upstream.count(), 1)


@test
def empty_lines_in_front_of_a_request_are_skipped(bench):
    """They count for no head, however long one may be."""
    small = {"limits": {"request_headers": "4KiB"}}
    equal(behind(bench, b"\r\n" * 4000, **small),
          ([201, 201], ["/v1/charges", "/x"]))
    equal(behind(bench, b"\r\n" * 4100, **small),
          ([201, 400], ["/v1/charges"]))


@each([
    ("many", b"A: b\r\n" * 2000, "has more than 100 header fields."),
    ("long", b"A: " + b"b" * 9000 + b"\r\n",
     "trailer fields are larger than the gateway accepts: 8192 bytes (8 KiB) "
     "at most.")])
def trailers_are_431_that_are_too(bench, trailers, words):
    upstream, gateway = bench.pair(workers=1)
    with gateway.client() as client:
        client.send(chunked() + b"5\r\nhello\r\n0\r\n" + trailers)
        got = client.read()
    equal(got.status, 431)
    assert got.json()["detail"].endswith(words), got.body
    equal(upstream.count(), 0)


@test
def what_was_right_before_it_is_served(bench):
    upstream, gateway = bench.pair(workers=1)
    for odd in (b"\x16\x03", b"GET /\0", chunked("/y") + b"5\nhello"):
        before = upstream.count()
        with gateway.client() as client:
            client.send(build("GET", "/x") + odd)
            equal([client.read().status for _ in range(2)], [201, 400])
        equal(upstream.count(), before + 1)


@each([(words, body) for words, body in ODD if len(body) < 40])
def odd_chunks_are_400_by_the_byte_too(bench, body):
    upstream, gateway = bench.pair(workers=1)
    with gateway.client() as client:
        client.send(chunked())
        for at in range(len(body)):
            try:
                client.send(body[at:at + 1])
            except (BrokenPipeError, ConnectionResetError):
                break
        equal(client.read().status, 400)
    equal(upstream.count(), 0)


@test
def odd_chunks_are_400_over_tls(bench):
    upstream, gateway, context = with_keys_only(bench, tls=True)
    for body in (b"5\nhello\r\n0\r\n\r\n", b"5;" + b"a" * 50_000):
        with gateway.client(tls=context) as client:
            client.send(chunked())
            try:
                client.send(body + NEXT)
            except OSError:
                pass
            equal(client.read().status, 400)
    equal(upstream.count(), 0)


@test
def odd_chunks_are_400_on_the_admin_interface(bench):
    gateway = bench.gateway(
        bench.upstream(), admin={"listen": "127.0.0.1:0"})
    with Client(gateway.ready["admin"]) as client:
        client.send(build("POST", "/keys/" + "0" * 32 + "/release", [
            ("Transfer-Encoding", "chunked")], host="localhost")
            + b"5;" + b"a" * 50_000)
        equal(client.read().status, 400)


@each([("an extension", b"5;" + b"a" * 50_000), ("a size", b"5"),
       ("a trailer", b"0\r\n" + b"a" * 50_000)])
def a_client_that_leaves_within_a_chunk_line_ends_its_request(bench, body):
    """And does not keep the loop busy: a drain has nothing to wait for."""
    upstream, gateway = bench.pair(workers=1)
    for target in ("/v1/charges", "/x"):
        sock = connect(gateway.address)
        sock.sendall(chunked(target) + body)
        sock.close()
    eventually(lambda: len(gateway.find_log("request")) == 2)
    before = os.times().elapsed
    gateway.stop(signal.SIGTERM)
    assert os.times().elapsed - before < 10
    equal(upstream.count(), 0)


# --- every head that is wrong has one answer, a log line and a count

HEAD = b"POST /v1/charges HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n" \
       b"Cookie: a=b\r\nIdempotency-Key: k\r\nAuthorization: a\r\n\r\n"


def one_answer(gateway, data, status=400):
    seen = len(gateway.find_log("request"))
    with gateway.client() as client:
        client.send(data)
        got = client.read()
        equal((got.status, got.get("Connection")), (status, "close"), data)
        equal(got.get("Content-Type"), "application/problem+json")
        equal(client.reader.to_end(), b"", data)
    gateway.wait_until(
        lambda: len(gateway.find_log("request")) == seen + 1, "its line")
    equal(gateway.find_log("request")[-1]["status"], status)


@test
def a_nul_anywhere_in_a_head_is_400(bench):
    upstream, gateway = bench.pair(workers=1)
    for at in range(len(HEAD)):
        one_answer(gateway, HEAD[:at] + b"\0" + HEAD[at:] + b"hi")
    equal(upstream.count(), 0)


@each([(repr(value)[2:-1] or "nothing", value, status) for value, status in (
    (b"-1", 400), (b"abc", 400), (b"5, 5", 400), (b"", 400), (b"5 ", 400),
    (b"+5", 400), (b"0x5", 400), (b"05", 400), (b"5\t", 400),
    (b"9" * 19, 413), (b"9" * 400, 413), (b"18446744073709551617", 413))])
def a_length_that_is_none_has_one_answer(bench, value, status):
    upstream, gateway = bench.pair(workers=1)
    one_answer(gateway, HEAD.replace(b": 2", b": " + value) + b"hello", status)
    equal(upstream.count(), 0)


@each([("a coding", HEAD.replace(b"Content-Length: 2",
                                 b"Transfer-Encoding: gzip, chunked"), 501),
       ("a thousand cookies", HEAD.replace(b"a=b", b";" * 1000), 431),
       ("two lengths", HEAD.replace(b"Cookie: a=b", b"Content-Length: 2"), 400),
       ("a version", HEAD.replace(b"HTTP/1.1", b"HTTP/1.2"), 505),
       ("the next version", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
       ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400)])
def a_head_that_is_wrong_has_one_answer(bench, data, status):
    upstream, gateway = bench.pair(workers=1)
    one_answer(gateway, data, status)
    equal(upstream.count(), 0)


@each([("Cookie", "Cookie"), ("COOKIE", "COOKIE"), ("cookies", "cookies"),
       ("Cookie2", "Cookie2")])
def cookies_pass_as_they_came(bench, name):
    upstream, gateway = bench.pair(workers=1)
    for key in "ab":
        equal(gateway.ask(key, fields=[(name, "a=b; c")]).status, 201)
    for seen in upstream.requests:
        assert (name, "a=b; c") in seen.fields, seen.fields


# --- what the head decides is answered at once

EARLY = [
    ("a body that is too large", keyed("k"), {"Content-Length": 20 * MIB}, 413),
    ("no key", keyed(None), {"Content-Length": 10}, 400),
    ("no key, chunked", keyed(None), {"Transfer-Encoding": "chunked"}, 400),
    ("no key, and it waits for a 100", keyed(None), {
        "Content-Length": 10, "Expect": "100-continue"}, 400),
    ("no route", build("GET", "//x"), {"Content-Length": 10}, 404),
]


def headed(data, fields):
    head = data.partition(b"\r\n\r\n")[0].split(b"\r\n")
    head = [line for line in head
            if not line.lower().startswith(b"content-length")]
    return b"\r\n".join(head + [
        f"{n}: {v}".encode() for n, v in fields.items()]) + b"\r\n\r\n"


@each([(f"{words}{over}", data, fields, status, bool(over))
       for words, data, fields, status in EARLY for over in ("", ", over TLS")])
def a_client_that_waits_hears_it(bench, data, fields, status, tls):
    upstream, gateway, context = with_keys_only(bench, tls)
    with gateway.client(tls=context) as client:
        client.send(headed(data, fields))
        got = client.read()
        equal((got.status, got.get("Connection")), (status, "close"))
        equal(got.get("Content-Type"), "application/problem+json")
    equal(gateway.wait_for_log("request")["status"], status)
    equal(upstream.count(), 0)


@each([("", False), ("over TLS", True)])
def a_client_that_sends_on_can_read_it(bench, tls):
    upstream, gateway, context = with_keys_only(bench, tls)
    with gateway.client(tls=context) as client:
        client.send(headed(keyed("k"), {"Content-Length": 20 * MIB}))
        for _ in range(20):
            client.send(b"x" * MIB)
        equal(client.read().status, 413)
    equal(upstream.count(), 0)


@each([("without a pause", False),
       ("in pieces, each of which is read before the next one comes", True)])
def what_is_sent_for_ever_is_cut(bench, in_pieces):
    upstream = bench.upstream()
    # Little of what is sent waits within such a socket.
    gateway = bench.gateway(
        upstream, workers=1, listen=["unix:" + bench.folder() + "/socket"])
    sent = 0

    def is_read():
        waiting = fcntl.ioctl(client.sock, termios.TIOCOUTQ, bytes(4))
        return waiting == bytes(4)
    with gateway.client() as client:
        client.send(headed(keyed("k"), {"Content-Length": 1 << 40}))
        equal(client.read().status, 413)
        began = time.monotonic()
        try:
            while sent < 200 * MIB:
                client.send(b"x" * (MIB // 2))
                sent += MIB // 2
                if in_pieces:
                    eventually(is_read, "the gateway reads it")
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 68 * MIB, f"{sent} bytes were taken"
    # Or for ten seconds, which is less where the machine is slow.
    assert sent > 60 * MIB or time.monotonic() - began > 9, sent
    equal(upstream.count(), 0)


@each([("plain", False), ("TLS", True)])
def a_wrong_byte_at_the_end_of_a_full_buffer_is_400(bench, tls):
    """Where there is hardly room, too, for the end of its head."""
    upstream, gateway, context = with_keys_only(bench, tls)
    good = keyed("k", [("A", "b" * 3000)])
    for size in range(8 * 1024 - 6, 8 * 1024 + 1):
        wrong = b"GET /x HTTP/1.1\r\nA: "
        wrong += b"a" * (size - len(good + wrong)) + b"\0"
        with Client(gateway.address, tls=context) as client:
            client.send(good + wrong + b"b" * 100)
            equal([client.read().status for _ in range(2)], [201, 400])
    equal(upstream.count(), 1)


@each([
    ("its own", "keep-alive", None),
    ("capitals", "Keep-Alive", None),
    ("behind another", "a, keep-alive", None),
    ("behind what begins like it", "ke, keep-alive", None),
    ("behind what begins like another", "cle, ke, KEEP-alive,", None),
    ("none", "keep-alivex, ke", "close"),
    ("close, too", "keep-alive, close", "close"),
])
def a_client_of_http_1_0_keeps_its_connection_by_saying_so(
        bench, value, closes):
    upstream, gateway = bench.pair()
    with gateway.client() as client:
        for number in range(2 if closes is None else 1):
            client.send(keyed(f"k{number}", [("Connection", value)]).replace(
                b"HTTP/1.1", b"HTTP/1.0"))
            got = client.read()
            equal(got.status, 201)
            equal(got.get("Connection"), closes or "Keep-Alive")
        assert closes is None or client.is_closed()
    equal(upstream.count(), 1 if closes else 2)


@test
def behind_a_small_body_that_is_there_the_connection_is_kept(bench):
    upstream, gateway, _ = with_keys_only(bench)
    with gateway.client() as client:
        for _ in range(3):
            client.send(keyed(None, body=b"hello"))
            got = client.read()
            equal((got.status, got.problem), (400, "key-missing"))
        client.send(keyed("k"))
        equal(client.read().status, 201)
    equal(upstream.count(), 1)


@test
def behind_a_small_body_that_is_nearly_there_the_connection_is_kept(bench):
    """Of which libmicrohttpd's buffer has had room for a part."""
    upstream, gateway, _ = with_keys_only(bench)
    good, wrong = keyed("k", [("A", "b" * 900)]), keyed(None, body=b"x" * 900)
    for least in range(1, 900, 300):
        many = (8 * 1024 - len(wrong) + 900 - least) // len(good)
        fill = 8 * 1024 - len(wrong) + 900 - least - many * len(good)
        first = keyed("k", [("A", "b" * (900 + fill))])
        with gateway.client() as client:
            client.send(first + good * (many - 1) + wrong + good)
            got = [client.read().status for _ in range(many + 2)]
        equal(got, [201] * many + [400, 201])
    equal(upstream.count(), 1)


@each([(str(size), size) for size in (26_000, 27_000, 28_000, 29_000, 30_000)])
def an_answer_is_whole_though_another_request_is_there(bench, size):
    upstream, gateway = bench.pair(
        answer(body=b"y" * MIB), limits={"request_headers": "32KiB"})
    with small_window(gateway.address) as client:
        client.send(build("GET", "/x", [("A", "b" * size)])
                    + build("GET", "/y") * 500)
        got = client.read()
        equal((got.status, len(got.body)), (201, MIB))


@each([(f"{many} fields, {size} bytes", many, size)
       for many in (1, 50, 95) for size in (6000, 10_000, 13_000, 15_000)])
def an_answers_head_has_room_though_another_request_is_there(
        bench, many, size):
    """Its client has an answer to what was executed."""
    upstream, gateway = bench.pair(answer(fields=[("Large", "y" * 15_000)]))
    behind = build("GET", "/y", [("B", "b" * 8000)]) * 4
    for number, body in enumerate((b"", b"x", b"x" * 40_000)):
        bare = keyed(f"k{number}", [("A", "b")] * many)
        data = keyed(f"k{number}", [("A", "b" * (size - len(bare)))]
                     + [("A", "b")] * many, body=body)
        with gateway.client() as client:
            client.send(data + behind)
            got = client.read()
            equal((got.status, got.get("Large")), (201, "y" * 15_000))
    equal(upstream.count("/v1/charges"), 3)


@test
def what_comes_behind_a_head_that_fills_a_read_is_served(bench):
    """It is answered at once, so that nobody is woken for the rest."""
    config = bench.config(bench.upstream())
    config["routes"] = config["routes"][:1]  # of others nothing is known
    gateway = bench.serve(config)
    short = len(build("GET", "/none", [("X-Long", "")]))
    with gateway.client() as client:
        client.send(build("GET", "/none", [("X-Long", "a" * (16384 - short))])
                    + build("GET", "/again"))
        equal([client.read().status for _ in range(2)], [404, 404])


@test
def behind_an_answer_with_a_head_of_four_kib_the_connection_is_kept(bench):
    """Whatever more has come by then; each answer is there, too, where the
    head has more than the library has room for."""
    upstream, gateway = bench.pair(workers=1)
    for size in range(3500, 5300, 100):
        upstream.reply = answer(fields=[("Large", "y" * size)])
        with gateway.client() as client:
            client.send(build("GET", f"/{size}")
                        + build("GET", "/y", [("B", "b" * 8000)]) * 4)
            got = client.read()
            equal(len(got.get("Large")), size)
            if size < 4000:
                equal([client.read().status for _ in range(4)], 4 * [201])


tap.main()
