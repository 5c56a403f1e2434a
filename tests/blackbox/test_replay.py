# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 1, 6 and 7: replays are byte-exact."""

import gzip

from once import tap
from once.http import build, keyed
from once.tap import each, equal, test
from once.upstream import DATE, answer

OURS = ("Idempotent-Replayed", "X-Request-Id", "Original-Request-Id")
# Fields of one hop only, which are no part of the answer.
HOP = ("Connection", "Keep-Alive", "Transfer-Encoding")


def replay_of(bench, reply, method="POST", **config):
    """First answer and replay, of these bytes from the upstream."""
    upstream = bench.upstream(reply)
    settings = bench.config(upstream, **config)
    settings["routes"][0]["methods"] = [method]
    gateway = bench.serve(settings)
    body = None if method == "HEAD" else b"{}"
    first, again = (gateway.ask("k", method=method, body=body)
                    for _ in range(2))
    equal(upstream.count(), 1)
    assert not first.replayed and again.replayed
    return first, again


def check_same(first, again):
    equal(again.status, first.status)
    equal(again.body, first.body)
    equal(again.without(*OURS, *HOP), first.without(*OURS, *HOP))


@each([
    ("all 256 bytes", bytes(range(256)) * 40),
    ("NULs", b"\0" * 1000), ("nothing", b""), ("one byte", b"\n"),
    ("what looks like an answer", b"HTTP/1.1 200 OK\r\n\r\n"),
    ("what does not compress", b"".join(
        bytes([(i * i * 7919 + i // 3) & 255]) for i in range(5000))),
    ("what compresses well", b"a" * 900_000),
])
def a_body_comes_back_as_it_was(bench, body):
    first, again = replay_of(bench, answer(201, body))
    equal(first.body == body, True)
    check_same(first, again)


@test
def a_chunked_answer_comes_back_with_its_body(bench):
    first, again = replay_of(
        bench, b"HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5;x=y\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nX-T: trailer\r\n\r\n")
    equal(first.body, b"hello world")
    equal(first.all("X-T"), [])
    check_same(first, again)


@test
def an_answer_that_arrives_byte_by_byte_is_whole(bench):
    data = answer(201, b"slow but whole")

    def drip(connection, request):
        for at in range(len(data)):
            connection.send(data[at:at + 1])
    first, again = replay_of(bench, drip)
    equal(first.body, b"slow but whole")
    check_same(first, again)


@test
def fields_keep_their_order_case_repetition_and_emptiness(bench):
    fields = [("Set-Cookie", "a=1; Path=/"), ("X-Empty", ""),
              ("set-cookie", "b=2"), ("X-Odd", 'a, "b";c=\t d'),
              ("x-lower", "1"), ("X-8bit", "caf\xe9"), ("X-Empty", ""),
              ("Set-Cookie", "c=3"), ("WWW-Authenticate", "Basic, Bearer"),
              ("Server", "theirs/1.0"), ("Location", "/v1/charges/ch_1")]
    first, again = replay_of(bench, answer(201, b"x", fields))
    names = {name.lower() for name, _ in fields}
    for got in (first, again):
        equal([f for f in got.fields if f[0].lower() in names], fields)
    check_same(first, again)


@test
def the_date_of_the_upstream_is_kept_and_stands_there_once(bench):
    first, again = replay_of(bench, answer())
    equal(first.all("Date"), [DATE])
    equal(again.all("Date"), [DATE])


@each([("204", b"HTTP/1.1 204 No\r\nX-A: 1\r\n\r\n", 204),
       ("304", b'HTTP/1.1 304 Same\r\nETag: "x"\r\n\r\n', 304),
       ("205 without a body",
        b"HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n", 205)])
def an_answer_without_a_body_has_none_again(bench, reply, status):
    first, again = replay_of(bench, reply)
    equal((first.status, first.body), (status, b""))
    if status != 205:
        equal(first.all("Content-Length"), [])
        equal(first.all("Transfer-Encoding"), [])
    check_same(first, again)


@each([(str(status), status) for status in
       (200, 201, 202, 301, 302, 307, 308, 400, 402, 404, 405, 409, 422, 500,
        501)])
def this_status_is_stored_and_replayed(bench, status):
    first, again = replay_of(bench, answer(status, b"said"))
    equal(first.status, status)
    check_same(first, again)


@test
def an_encoded_body_stays_encoded(bench):
    packed = gzip.compress(b"hello " * 100, mtime=0)
    first, again = replay_of(
        bench, answer(200, packed, [("Content-Encoding", "gzip"),
                                    ("Content-Type", "text/plain")]))
    equal(first.body == packed, True)
    equal(again.get("Content-Encoding"), "gzip")
    check_same(first, again)


@test
def interim_answers_are_not_the_answer(bench):
    first, again = replay_of(
        bench, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer())
    equal(first.status, 201)
    check_same(first, again)


@test
def a_replay_says_so_and_names_the_first_request(bench):
    upstream, gateway = bench.pair()
    first = gateway.ask("k", fields=[("X-Request-Id", "first-1")])
    again = gateway.ask("k", fields=[("X-Request-Id", "second-2")])
    equal(first.all("Original-Request-Id"), [])
    equal(first.all("Idempotent-Replayed"), [])
    equal(again.get("Idempotent-Replayed"), "true")
    equal(again.get("X-Request-Id"), "second-2")
    equal(again.get("Original-Request-Id"), "first-1")


@test
def an_upstreams_own_request_id_does_not_double_ours(bench):
    first, again = replay_of(
        bench, answer(201, b"x", [("X-Request-Id", "of-the-upstream")]))
    equal(len(first.all("X-Request-Id")), 1)
    equal(len(again.all("X-Request-Id")), 1)
    for got in (first, again):
        equal(got.all("Upstream-Request-Id"), ["of-the-upstream"])


@test
def an_upstream_that_echoes_our_request_id_has_none_of_its_own(bench):
    def echo(connection, request):
        connection.send(answer(201, b"x", [
            ("X-Request-Id", request.get("X-Request-Id"))]))
    upstream, gateway = bench.pair(echo)
    for key in ("k", "k", None):
        got = gateway.ask(key, target="/v1/charges" if key else "/other")
        equal(got.status, 201)
        equal(got.all("Upstream-Request-Id"), [])
        equal(len(got.all("X-Request-Id")), 1)


@test
def a_replay_by_another_name_or_by_none(bench):
    for name in ("X-Again", ""):
        upstream, gateway = bench.pair(idempotency={"replay_header": name})
        gateway.ask("k-" + name)
        again = gateway.ask("k-" + name)
        equal(again.get("Idempotent-Replayed"), None)
        if name:
            equal(again.get(name), "true")
        equal(upstream.count(), 1)


@test
def an_upstream_cannot_call_its_answer_a_replay(bench):
    upstream, gateway = bench.pair(
        answer(201, b"x", [("idempotent-replayed", "true")]))
    equal(gateway.ask("k").all("Idempotent-Replayed"), [])
    equal(gateway.ask("k").all("Idempotent-Replayed"), ["true"])


@test
def omitted_fields_are_for_the_first_client_only(bench):
    first, again = replay_of(
        bench, answer(201, b"x", [("Set-Cookie", "a=1"), ("X-Kept", "1")]),
        idempotency={"omit_headers": ["set-cookie"]})
    equal(first.all("Set-Cookie"), ["a=1"])
    equal(again.all("Set-Cookie"), [])
    equal(again.get("X-Kept"), "1")


@test
def the_upstream_is_told_the_attempt_and_a_clients_own_is_dropped(bench):
    upstream, gateway = bench.pair(
        answer(503), idempotency={"max_attempts": 5})
    for number in range(1, 4):
        gateway.ask("k", fields=[("idempotency-attempt", "99")])
        equal(upstream.requests[-1].all("Idempotency-Attempt"), [str(number)])


@test
def an_attempt_by_another_name_or_by_none(bench):
    upstream, gateway = bench.pair(idempotency={"attempt_header": "X-Try"})
    gateway.ask("k1")
    equal(upstream.requests[0].get("X-Try"), "1")
    equal(upstream.requests[0].get("Idempotency-Attempt"), None)
    upstream, gateway = bench.pair(idempotency={"attempt_header": ""})
    gateway.ask("k2")
    equal(upstream.requests[0].get("Idempotency-Attempt"), None)


@test
def a_replay_survives_a_restart_of_the_gateway(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    first = gateway.ask("k")
    gateway.stop()
    gateway = bench.gateway(upstream)
    again = gateway.ask("k")
    assert again.replayed
    check_same(first, again)
    equal(upstream.count(), 1)


@test
def a_stored_answer_is_found_without_compression_too(bench):
    upstream = bench.upstream(answer(201, b"a" * 50_000))
    first = bench.gateway(upstream, store={"compression": "zstd"}).ask("k")
    other = bench.gateway(upstream, store={"compression": "none"})
    check_same(first, other.ask("k"))
    equal(upstream.count(), 1)


@test
def the_first_answer_is_stored_before_the_client_sees_it(bench):
    upstream, gateway = bench.pair()
    other = bench.gateway(upstream)
    for number in range(50):
        equal(gateway.ask(f"k{number}").status, 201)
        assert other.ask(f"k{number}").replayed
    equal(upstream.count(), 50)


@test
def replays_on_one_connection_follow_one_another(bench):
    upstream, gateway = bench.pair()
    with gateway.client() as client:
        client.send(keyed("a") + keyed("a") + keyed("b") + keyed("a"))
        got = [client.read() for _ in range(4)]
    equal([g.replayed for g in got], [False, True, False, True])
    equal(upstream.count(), 2)


@test
def a_client_of_http_1_0_is_answered_and_closed(bench):
    upstream, gateway = bench.pair(
        b"HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2\r\nhi\r\n0\r\n\r\n")
    for _ in range(2):
        with gateway.client() as client:
            client.send(keyed("k").replace(b"HTTP/1.1", b"HTTP/1.0"))
            got = client.read()
            equal((got.status, got.body), (201, b"hi"))
            equal(got.all("Transfer-Encoding"), [])
            assert client.is_closed()
    equal(upstream.count(), 1)


@test
def an_idempotent_head_is_replayed(bench):
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nX-A: 1\r\n\r\n"
    first, again = replay_of(bench, reply, method="HEAD")
    check_same(first, again)
    equal((first.get("Content-Length"), first.body), ("12", b""))


@test
def an_idempotent_get_is_replayed(bench):
    first, again = replay_of(bench, answer(200, b"got"), method="GET")
    check_same(first, again)


@test
def a_head_that_passes_through_has_the_upstreams_length(bench):
    upstream, gateway = bench.pair(
        b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
    with gateway.client() as client:
        for _ in range(2):
            client.send(build("HEAD", "/x"))
            got = client.read("HEAD")
            equal((got.status, got.get("Content-Length")), (200, "12"))


tap.main()
