# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6: what the client gets, row by row, and the document
that says why."""

import json

from once import tap
from once.gateway import command
from once.http import BODY, Client, build, keyed
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered, refused_port

SAME, NEW, FIX = "same-key", "new-key", "fix-request"


def check_problem(got, status, name, retry, instance):
    """All members of a problem document (RFC 9457)."""
    equal((got.status, got.problem), (status, name))
    document = got.json()
    equal(document["type"], "urn:onceproxy:problem:" + name)
    equal(document["status"], status)
    equal(document["retry"], retry)
    equal(document["retryable"], retry == SAME)
    for member in ("title", "detail"):
        assert document[member].strip(), document
    error = document["error"]
    equal((error["type"], error["code"], error["message"]),
          ("idempotency_error", name, document["detail"]))
    equal("instance" in document, instance)
    assert got.get("X-Request-Id"), got.fields


@test
def the_first_time_it_is_the_upstreams_answer(bench):
    upstream, gateway = bench.pair()
    got = gateway.ask("pay-1")
    equal((got.status, got.body), (201, b'{"id":"ch_1"}'))
    equal(got.get("Idempotent-Replayed"), None)


@test
def another_body_with_a_used_key_is_key_reused(bench):
    upstream, gateway = bench.pair()
    gateway.ask("pay-1")
    got = gateway.ask("pay-1", body=b"another")
    check_problem(got, 422, "key-reused", NEW, True)
    equal(upstream.count(), 1)


MEMBERS = {"derive_key": ["/order_id", "/a~1b"]}


def ordered(note="", **others):
    made = json.dumps({"order_id": "17", "a/b": 1, "note": note}).encode()
    return {"key": None, "body": made, **others}


@each([("members", MEMBERS, "the body's members /order_id and /a~1b"),
       ("a member", {"derive_key": ["/order_id"]},
        "the body's member /order_id"),
       ("the body", {"derive_key": "body"}, "the whole body")])
def who_sends_no_key_is_told_what_makes_it(bench, idempotency, makers):
    """And never to make a new one, which nobody can of the same members."""
    upstream, gateway = bench.pair(idempotency=idempotency)
    equal(gateway.ask(**ordered()).status, 201)
    got = gateway.ask(**ordered(
        "" if makers == "the whole body" else "x",
        target="/v1/charges?a=b"))
    check_problem(got, 422, "key-reused", FIX, True)
    detail = got.json()["detail"]
    assert f"is made of {makers}." in detail, detail
    assert b"new key" not in got.body, got.body
    equal(upstream.count(), 1)


@test
def a_derived_key_is_no_better_when_it_is_used_up(bench):
    upstream, gateway = bench.pair(close_unanswered, idempotency={
        **MEMBERS, "on_unknown": "retry", "max_attempts": 1})
    gateway.ask(**ordered())
    got = gateway.ask(**ordered())
    check_problem(got, 409, "attempts-exhausted", FIX, True)
    assert "/order_id and /a~1b" in got.json()["detail"], got.body
    assert b"new key" not in got.body, got.body
    equal(upstream.count(), 1)


@each([("held", {}, "Send the same request again later, and no other"),
       ("retried", {"on_unknown": "retry"},
        "A retry is sent to the API again."),
       ("asked about", {"on_unknown": {"reconcile": {
           "path": "/by/{json:/order_id}", "absent": [404]}}},
        "A retry first asks the API")])
def who_sends_no_key_is_not_told_to_send_the_same(
        bench, idempotency, words):
    _, gateway = bench.pair(
        close_unanswered, idempotency={**MEMBERS, **idempotency})
    got = gateway.ask(**ordered())
    check_problem(got, 502, "outcome-unknown", SAME, True)
    assert words in got.json()["detail"], got.body
    assert b"same key" not in got.body, got.body


@test
def who_sends_no_key_is_told_to_send_it_again_as_it_was(bench):
    upstream, gateway = bench.pair(idempotency=MEMBERS)
    hold = upstream.hold()
    first = bench.background(gateway.ask, **ordered())
    hold.wait_arrived()
    got = gateway.ask(**ordered())
    check_problem(got, 409, "in-flight", SAME, True)
    assert "Send this one again: it will get" in got.json()["detail"], got
    assert b"same key" not in got.body, got.body
    hold.release()
    equal(first.result().status, 201)


@test
def a_derived_keys_answer_that_was_not_kept_names_its_members(bench):
    upstream, gateway = bench.pair(answer(201, b"x" * 5000), idempotency={
        **MEMBERS, "max_response_body": 100})
    equal(len(gateway.ask(**ordered()).body), 5000)
    got = gateway.ask(**ordered())
    check_problem(got, 409, "response-not-kept", FIX, True)
    equal(got.json()["original_status"], 201)
    assert "/order_id and /a~1b" in got.json()["detail"], got.body
    assert b"new key" not in got.body, got.body


@each([("members", MEMBERS, b'{"order_id": "17", "a/b": null}',
        "the body's members /order_id and /a~1b"),
       ("the body", {"derive_key": "body"}, b"", "the whole body")])
def who_sends_nothing_that_makes_a_key_is_told_what_would(
        bench, idempotency, body, makers):
    upstream, gateway = bench.pair(idempotency=idempotency)
    got = gateway.ask(None, body=body)
    check_problem(got, 400, "key-missing", FIX, False)
    detail = got.json()["detail"]
    assert f"is made of {makers}. No key can be made" in detail, detail
    equal(upstream.count(), 0)


@test
def who_sent_a_key_hears_nothing_of_members(bench):
    _, gateway = bench.pair(idempotency=MEMBERS)
    gateway.ask("k")
    got = gateway.ask("k", body=b"another")
    check_problem(got, 422, "key-reused", NEW, True)
    assert "made of" not in got.json()["detail"], got.body


# --- other statuses ---

@test
def a_route_may_answer_a_problem_with_another_status(bench):
    upstream, gateway = bench.pair(idempotency={"problems": {
        "key-reused": 400, "key-missing": 428, "scope-missing": 401,
        "key-invalid": 422}})
    gateway.ask("k")
    check_problem(gateway.ask("k", body=b"x"), 400, "key-reused", NEW, True)
    check_problem(gateway.ask(None), 428, "key-missing", FIX, False)
    check_problem(gateway.ask("a b"), 422, "key-invalid", FIX, False)
    check_problem(
        gateway.ask("k", tenant=None), 401, "scope-missing", FIX, False)
    equal(gateway.wait_for_log("request", status=428)["outcome"],
          "key-missing")
    equal(upstream.count(), 1)


@test
def a_status_of_the_defaults_is_a_routes_unless_it_says_another(bench):
    upstream = bench.upstream()
    gateway = bench.serve(bench.config(
        upstream, {"problems": {"key-missing": 428}},
        defaults={"problems": {"key-missing": 401, "key-invalid": 422}}))
    equal(gateway.ask(None).status, 428)
    equal(gateway.ask("a b").status, 422)


@each([("an outcome that is none", {"x": 400}, "no problem of this name"),
       ("one that no route has", {"no-route": 400},
        "no problem of this name"),
       ("a status of success", {"key-reused": 200}, "from 400 to 599"),
       ("a text", {"key-reused": "400"}, "from 400 to 599"),
       ("a list", [400], "must be an object")])
def check_refuses_problems(bench, problems, words):
    config = bench.config("http://127.0.0.1:9", {"problems": problems},
                          redis="redis://127.0.0.1:9")
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(done.returncode, 1)
    assert "/routes/0/idempotency/problems" in done.stdout, done.stdout
    assert words in done.stdout, done.stdout


@test
def a_retry_while_the_first_runs_is_in_flight(bench):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    first = bench.background(gateway.ask, "pay-1")
    hold.wait_arrived()
    got = gateway.ask("pay-1")
    check_problem(got, 409, "in-flight", SAME, True)
    assert int(got.get("Retry-After")) >= 1
    hold.release()
    equal(first.result().status, 201)
    assert gateway.ask("pay-1").replayed
    equal(upstream.count(), 1)


@test
def another_body_while_the_first_runs_is_key_reused(bench):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    first = bench.background(gateway.ask, "pay-1")
    hold.wait_arrived()
    check_problem(gateway.ask("pay-1", body=b"another"),
                  422, "key-reused", NEW, True)
    hold.release()
    first.result()


@test
def a_lost_answer_is_outcome_unknown_and_held(bench):
    upstream, gateway = bench.pair(close_unanswered)
    check_problem(gateway.ask("pay-1"), 502, "outcome-unknown", SAME, True)
    check_problem(gateway.ask("pay-1"), 409, "outcome-unknown", SAME, True)
    check_problem(gateway.ask("pay-1", body=b"another"),
                  422, "key-reused", NEW, True)
    equal(upstream.count(), 1)


RETRIES = {
    "hold": "It is not executed again until the outcome is known. Ask again "
            "later with the same key, and make no new one for it.",
    "retry": "A retry with the same key is sent to the API again.",
    "reconcile": "A retry with the same key first asks the API what became "
                 "of it.",
}


@each([(f"{policy}, {status}", policy, status) for policy in RETRIES
       for status in (502, 504)])
def an_unknown_outcome_says_what_a_retry_does(bench, policy, status):
    asks = {"reconcile": {"reconcile": {"path": "/by-key/{key}"}}}
    upstream = bench.upstream(close_unanswered)
    gateway = bench.gateway(
        upstream, {"on_unknown": asks.get(policy, policy)},
        options={"timeout": "300ms"} if status == 504 else {})
    hold = upstream.hold() if status == 504 else None
    got = gateway.ask("k")
    if hold:
        hold.release()
    check_problem(got, status, "outcome-unknown", SAME, True)
    detail = got.json()["detail"]
    assert detail.endswith("have been executed. " + RETRIES[policy]), detail
    if policy == "retry":
        return
    got = gateway.ask("k")
    check_problem(got, 409, "outcome-unknown", SAME, True)
    assert got.json()["detail"].endswith(RETRIES[policy]), got.body


@test
def attempts_that_are_used_up_are_attempts_exhausted(bench):
    upstream, gateway = bench.pair(idempotency={
        "max_attempts": 2, "outcomes": {"5xx": "release"}})
    upstream.reply = b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
    equal([gateway.ask("pay-1").status for _ in range(2)], [500, 500])
    for _ in range(2):
        check_problem(gateway.ask("pay-1"),
                      409, "attempts-exhausted", NEW, True)
    equal(upstream.count(), 2)
    line = gateway.wait_for_log("attempts_exhausted", level="warn")
    equal((line["route"], len(line["key_id"])), ("charges", 32))


@test
def an_answer_too_large_to_keep_is_streamed_once_and_not_kept(bench):
    big = b"x" * 300_000
    upstream, gateway = bench.pair(
        b"HTTP/1.1 201 Made\r\nContent-Length: %d\r\n\r\n%s"
        % (len(big), big), idempotency={"max_response_body": "64KiB"})
    first = gateway.ask("pay-1")
    got = gateway.ask("pay-1")
    check_problem(got, 409, "response-not-kept", NEW, True)
    equal(got.json()["original_status"], 201)
    equal(upstream.count(), 1)
    equal((first.status, first.body == big), (201, True))


@test
def a_key_is_missing(bench):
    _, gateway = bench.pair()
    check_problem(gateway.ask(None), 400, "key-missing", FIX, False)


@test
def a_key_is_invalid(bench):
    _, gateway = bench.pair()
    check_problem(gateway.ask("a b"), 400, "key-invalid", FIX, False)


@test
def the_scope_is_missing(bench):
    upstream, gateway = bench.pair()
    for fields in ([], [("Authorization", "")], [("Authorization", " ")]):
        got = gateway.ask("pay-1", tenant=None, fields=fields)
        check_problem(got, 400, "scope-missing", FIX, False)
    equal(upstream.count(), 0)


@test
def nothing_that_listens_is_upstream_unreachable_and_frees_the_key(bench):
    keep, port = refused_port()
    gateway = bench.gateway(f"http://127.0.0.1:{port}")
    for _ in range(2):
        check_problem(gateway.ask("pay-1"),
                      502, "upstream-unreachable", SAME, True)
    keep.close()


@test
def a_path_without_a_route_is_no_route(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["routes"].pop()
    gateway = bench.serve(config)
    check_problem(gateway.send(build("GET", "/other")),
                  404, "no-route", FIX, False)
    equal(upstream.count(), 0)


@test
def a_body_beyond_the_limit_is_request_too_large(bench):
    upstream, gateway = bench.pair(idempotency={"max_request_body": 1000})
    check_problem(gateway.ask("pay-1", body=b"x" * 1001),
                  413, "request-too-large", FIX, False)
    equal(gateway.ask("pay-1", body=b"x" * 1000).status, 201)
    equal(upstream.count(), 1)


@each([("bytes", 1000, "1000 bytes at most."),
       ("a unit", "1KiB", "1024 bytes (1 KiB) at most.")])
def a_body_beyond_the_limit_is_told_the_limit(bench, limit, words):
    _, gateway = bench.pair(idempotency={"max_request_body": limit})
    got = gateway.ask("pay-1", body=b"x" * 1025)
    equal(got.json()["detail"],
          "The request's body is larger than this path accepts: " + words)


@test
def a_chunked_body_beyond_the_limit_is_request_too_large(bench):
    upstream, gateway = bench.pair(idempotency={"max_request_body": 1000})
    head = keyed("pay-1", body=None, fields=[("Transfer-Encoding", "chunked")])
    got = gateway.send(head + b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n")
    equal((got.status, got.problem), (413, "request-too-large"))
    equal(upstream.count(), 0)


@test
def headers_beyond_the_limit_are_headers_too_large(bench):
    upstream, gateway = bench.pair(limits={"request_headers": "4KiB"})
    got = gateway.ask("pay-1", fields=[("X-Long", "x" * 6000)])
    equal(got.status, 431)
    equal(gateway.ask("pay-1", fields=[("X-Long", "x" * 3000)]).status, 201)
    equal(upstream.count(), 1)


def raw(lines, body=b""):
    """A request with these lines after a good beginning."""
    return (b"POST /v1/charges HTTP/1.1\r\nHost: api\r\n"
            b"Authorization: a\r\nIdempotency-Key: k\r\n"
            + lines + b"\r\n" + body)


CODINGS = [
    raw(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
    raw(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
]

MALFORMED = [
    ("both lengths",
     raw(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
         b"0\r\n\r\n")),
    ("both lengths the other way",
     raw(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
         b"0\r\n\r\n")),
    ("two equal lengths",
     raw(b"Content-Length: 2\r\nContent-Length: 2\r\n", b"hi")),
    ("two lengths", raw(b"Content-Length: 2\r\nContent-Length: 0\r\n", b"hi")),
    ("a signed length", raw(b"Content-Length: +2\r\n", b"hi")),
    ("a length with zeros in front", raw(b"Content-Length: 002\r\n", b"hi")),
    ("a list of lengths", raw(b"Content-Length: 2, 2\r\n", b"hi")),
    ("an empty length", raw(b"Content-Length: \r\n")),
    ("an unknown coding", CODINGS[0]),
    ("xchunked", CODINGS[1]),
    ("two codings", raw(b"Transfer-Encoding: chunked\r\n"
                        b"Transfer-Encoding: identity\r\n", b"0\r\n\r\n")),
    ("a folded line", raw(b"X-A: 1\r\n 2\r\n")),
    ("a fold that makes a key",
     b"POST /v1/charges HTTP/1.1\r\nHost: api\r\nAuthorization: a\r\n"
     b"Idempotency: v\r\n -Key\r\n\r\n"),
    ("a fold that makes a length",
     raw(b"Content: 2\r\n -Length\r\n", b"hi")),
    ("a blank in front of the first field",
     b"POST /v1/charges HTTP/1.1\r\n Host: api\r\n\r\n"),
    ("a space before a colon", raw(b"X-A : 1\r\n")),
    ("a space before the length's colon",
     raw(b"Content-Length : 2\r\n", b"hi")),
    ("a tab before the coding's colon",
     raw(b"Transfer-Encoding\t: chunked\r\n", b"0\r\n\r\n")),
    ("a line without a colon", raw(b"X-A\r\n")),
    ("bare line feeds",
     b"POST /v1/charges HTTP/1.1\nHost: api\nAuthorization: a\n"
     b"Idempotency-Key: k\n\n"),
    ("one bare line feed", raw(b"X-A: 1\nX-B: 2\r\n")),
    ("a bare carriage return in a value", raw(b"X-A: 1\r2\r\n")),
    ("a NUL in a value", raw(b"X-A: 1\x002\r\n")),
    ("a NUL in a name", raw(b"X\x00A: 1\r\n")),
    ("a control in a value", raw(b"X-A: 1\x012\r\n")),
    ("8-bit in a name", raw(b"X-\xe9: 1\r\n")),
    ("no host", b"POST /v1/charges HTTP/1.1\r\nAuthorization: a\r\n"
                b"Idempotency-Key: k\r\n\r\n"),
    ("two hosts", raw(b"Host: other\r\n")),
    ("a coding on HTTP/1.0",
     b"POST /v1/charges HTTP/1.0\r\nHost: api\r\nAuthorization: a\r\n"
     b"Idempotency-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"0\r\n\r\n"),
    ("OPTIONS *", b"OPTIONS * HTTP/1.1\r\nHost: api\r\n\r\n"),
    ("a target without a slash",
     b"POST v1/charges HTTP/1.1\r\nHost: api\r\n\r\n"),
    ("a fragment", b"GET /a#b HTTP/1.1\r\nHost: api\r\n\r\n"),
    ("8-bit in the target", b"GET /\xe9 HTTP/1.1\r\nHost: api\r\n\r\n"),
    ("%00 in the path", b"GET /a%00b HTTP/1.1\r\nHost: api\r\n\r\n"),
    ("dots behind a coded slash",
     b"GET /a%2Fb/../c HTTP/1.1\r\nHost: api\r\n\r\n"),
    ("broken percent-encoding", b"GET /a%zz HTTP/1.1\r\nHost: api\r\n\r\n"),
    ("a backslash", b"GET /a\\b HTTP/1.1\r\nHost: api\r\n\r\n"),
    ("a Connection that names the key",
     raw(b"Connection: Idempotency-Key\r\n")),
    ("a Connection that names the scope",
     raw(b"Connection: close, authorization\r\n")),
    ("a Connection that names the host", raw(b"Connection: Host\r\n")),
    ("a Connection that names a length",
     raw(b"Connection: Content-Length\r\nContent-Length: 2\r\n", b"hi")),
    ("a Connection that names what the gateway sets",
     raw(b"Connection: X-Forwarded-For\r\n")),
    ("two lines of a scope field", raw(b"Authorization: b\r\n")),
    ("a bad chunk size",
     raw(b"Transfer-Encoding: chunked\r\n", b"0x5\r\nhello\r\n0\r\n\r\n")),
    ("no protocol at all", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n"
                           b"\r\n"),
]


@each(MALFORMED)
def malformed_http_is_never_forwarded_and_ends_the_connection(bench, data):
    upstream, gateway = bench.pair()
    with Client(gateway.address) as client:
        client.send(data)
        client.half_close()
        got = client.read("GET")
        if got is not None:
            equal(got.status, 501 if data in CODINGS else 400)
            client.reader.to_end()
    equal(upstream.count(), 0)
    equal(gateway.send(keyed("k")).status, 201)


# Those that libmicrohttpd lets through, and we answer.
OURS = ("both lengths", "two equal lengths", "a length with zeros in front",
        "a folded line", "a fold that makes a key", "bare line feeds",
        "a NUL in a value", "a control in a value", "two hosts", "OPTIONS *",
        "a fragment", "%00 in the path", "a backslash",
        "a Connection that names the key", "two lines of a scope field")


@each([row for row in MALFORMED if row[0] in OURS])
def malformed_http_has_a_problem_document(bench, data):
    _, gateway = bench.pair()
    with Client(gateway.address) as client:
        client.send(data)
        got = client.read("GET")
        check_problem(got, 400, "bad-request", FIX, False)
        assert client.is_closed(), "the connection stayed open"


@each([("CONNECT", b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 405,
        "method-not-allowed"),
       ("TRACE", b"TRACE / HTTP/1.1\r\nHost: api\r\n\r\n", 405,
        "method-not-allowed"),
       ("another Expect", raw(b"Expect: cake\r\nContent-Length: 2\r\n",
                              b"hi"), 417, "expectation-failed"),
       ("HTTP/1.2", b"GET / HTTP/1.2\r\nHost: api\r\n\r\n", 505,
        "version-not-supported"),
       ("HTTP/2.0", b"GET / HTTP/2.0\r\nHost: api\r\n\r\n", 505, None)])
def what_is_not_served(bench, data, status, name):
    upstream, gateway = bench.pair()
    got = gateway.send(data)
    equal(got.status, status)
    if name:
        equal(got.problem, name)
    equal(upstream.count(), 0)


@test
def a_client_that_expects_100_continue_is_served(bench):
    upstream, gateway = bench.pair()
    with gateway.client() as client:
        client.send(build(fields=[
            ("Idempotency-Key", "k"), ("Authorization", "a"),
            ("Expect", "100-continue"), ("Content-Length", len(BODY))]))
        assert client.reader.until(b"\r\n\r\n").startswith(b"HTTP/1.1 100 ")
        client.send(BODY)
        equal(client.read().status, 201)
    equal(upstream.requests[0].get("Expect"), None)
    equal(upstream.requests[0].body, BODY)


@each([("route before key", dict(key="a b", target="/none"), "no-route"),
       ("key before scope", dict(key="a b", tenant=None), "key-invalid"),
       ("scope before size", dict(key="k", tenant=None, body=b"x" * 2000),
        "scope-missing"),
       ("size before claim", dict(key="used", body=b"x" * 2000),
        "request-too-large")])
def the_checks_come_in_this_order(bench, request, name):
    upstream = bench.upstream()
    config = bench.config(upstream, {"max_request_body": 1000})
    config["routes"].pop()
    gateway = bench.serve(config)
    gateway.ask("used")
    equal(gateway.ask(**request).problem, name)
    equal(upstream.count(), 1)


@test
def too_many_connections_are_overloaded(bench):
    _, gateway = bench.pair(limits={"connections": 2}, workers=1)
    clients = [gateway.client() for _ in range(2)]
    for number, client in enumerate(clients):
        equal(client.exchange("GET", f"/{number}").status, 201)
    with gateway.client() as third:
        third.send(keyed("k"))
        got = third.read()
        check_problem(got, 503, "overloaded", SAME, False)
        assert int(got.get("Retry-After")) >= 1
        equal(got.get("Connection"), "close")
        assert third.is_closed()
    for client in clients:
        client.close()


@test
def bodies_beyond_the_memory_for_them_are_overloaded(bench):
    upstream, gateway = bench.pair(
        limits={"in_flight_bytes": "64KiB"},
        idempotency={"max_request_body": "1MiB"})
    got = gateway.ask("k", body=b"x" * 200_000)
    equal((got.status, got.problem), (503, "overloaded"))
    assert int(got.get("Retry-After")) >= 1
    equal(upstream.count(), 0)
    equal(gateway.ask("k", body=b"x" * 1000).status, 201)


@test
def a_request_id_that_is_sane_is_kept_and_one_that_is_not_is_replaced(bench):
    upstream, gateway = bench.pair()
    got = gateway.ask("k1", fields=[("X-Request-Id", "mine-1")])
    equal(got.get("X-Request-Id"), "mine-1")
    equal(upstream.requests[0].all("X-Request-Id"), ["mine-1"])
    for number, bad in enumerate(["", "a b", "x" * 1000, '"<>'], 2):
        got = gateway.ask(f"k{number}", fields=[("X-Request-Id", bad)])
        own = got.get("X-Request-Id")
        assert own and own != bad
        equal(upstream.requests[-1].all("X-Request-Id"), [own])


tap.main()
