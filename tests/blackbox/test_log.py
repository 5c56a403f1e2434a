# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 9: what the log says, and what it never says."""

import re

from once import tap
from once.http import Broken, build
from once.tap import each, equal, test
from once.upstream import (answer, close_unanswered, refused_port,
                           then_close)
from once.wait import eventually

TS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@test
def every_line_is_a_json_object_with_event_time_and_instance(bench):
    upstream, gateway = bench.pair(log={"level": "debug"}, instance="gw-7")
    gateway.ask("k")
    gateway.ask("k")
    with gateway.client() as client:
        client.send(b"oops\r\n\r\n")
        client.read()
    gateway.stop()
    equal(gateway.stray, [])
    for entry in gateway.events:
        assert entry["event"], entry
        assert TS.fullmatch(entry["ts"]), entry
        equal(entry["instance"], "gw-7")


@test
def an_access_line_has_these_members(bench):
    upstream, gateway = bench.pair()
    gateway.ask("k", fields=[("X-Request-Id", "rid-1")])
    line = gateway.wait_for_log("request", request_id="rid-1")
    for member, wanted in (
            ("route", "charges"), ("method", "POST"),
            ("path", "/v1/charges"), ("status", 201),
            ("outcome", "executed"), ("attempt", 1), ("bytes_in", 32),
            ("bytes_out", 13)):
        equal((member, line.get(member)), (member, wanted))
    assert re.fullmatch("[0-9a-f]{32}", line["key_id"]), line
    assert line["client"].startswith("127.0.0.1"), line
    for member in ("total_ms", "store_ms", "upstream_ms"):
        assert 0 <= line[member] < 60_000, line
    assert line["total_ms"] >= line["upstream_ms"], line


@test
def what_means_nothing_is_left_out(bench):
    upstream, gateway = bench.pair()
    gateway.send(build("GET", "/x", [("X-Request-Id", "rid-1")]))
    line = gateway.wait_for_log("request", request_id="rid-1")
    equal((line["route"], line["outcome"]), ("rest", "passed"))
    for member in ("key_id", "attempt", "store_ms"):
        assert member not in line, line


OUTCOMES = [
    ("executed", 201, lambda g, u: g.ask("k")),
    ("replayed", 201, lambda g, u: (g.ask("k"), g.ask("k"))),
    ("mismatch", 422, lambda g, u: (g.ask("k"), g.ask("k", body=b"b"))),
    ("key-missing", 400, lambda g, u: g.ask(None)),
    ("key-invalid", 400, lambda g, u: g.ask("a b")),
    ("scope-missing", 400, lambda g, u: g.ask("k", tenant=None)),
    ("passed", 201, lambda g, u: g.ask("k", target="/other")),
    ("too-large", 413, lambda g, u: g.ask("k", body=b"x" * 2_000_000)),
    ("bad-request", 400,
     lambda g, u: g.send(build("GET", "/a%00", host="a"))),
]


@each([(row[0], *row) for row in OUTCOMES])
def an_outcome_is_called(bench, outcome, status, act):
    upstream, gateway = bench.pair()
    act(gateway, upstream)
    gateway.wait_for_log("request", outcome=outcome, status=status)


@each([("unknown", close_unanswered, 502),
       ("released", answer(503), 503),
       ("upstream-failed", close_unanswered, 502)])
def an_upstream_that_fails_is_called(bench, reply, status):
    upstream, gateway = bench.pair(reply)
    if reply is close_unanswered:
        gateway.ask("k", target="/other")
        line = gateway.wait_for_log("request", outcome="upstream-failed")
        gateway.wait_for_log(
            "pass_failed", route="rest", upstream="api", level="warn",
            request_id=line["request_id"], error="the connection was closed")
    gateway.ask("k")
    gateway.wait_for_log(
        "request", status=status,
        outcome="unknown" if reply is close_unanswered else "released")


@test
def a_retry_in_flight_is_called_in_flight(bench):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    gateway.ask("k")
    gateway.wait_for_log("request", outcome="in-flight", status=409)
    hold.release()
    first.result()


@test
def an_answer_that_breaks_on_its_way_is_told(bench):
    body = b"x" * 200_000
    upstream, gateway = bench.pair(
        then_close(answer(200, body)[:-100]))
    with gateway.client() as client:
        client.send(build("GET", "/other"))
        try:
            raise AssertionError(client.read("GET"))
        except Broken:
            pass
    gateway.wait_for_log("request", outcome="upstream-failed", status=200)
    gateway.wait_for_log("pass_failed", route="rest")


@test
def what_is_passed_and_cannot_be_sent_is_told(bench):
    sock, port = refused_port()
    with sock:
        gateway = bench.gateway(f"http://127.0.0.1:{port}")
        gateway.send(build("GET", "/other"))
        gateway.wait_for_log("request", outcome="unreachable", status=502)
        gateway.wait_for_log("pass_failed", error="no connection")


@test
def a_path_without_a_route_is_called_no_route(bench):
    config = bench.config(bench.upstream())
    config["routes"].pop()
    gateway = bench.serve(config)
    gateway.send(build("GET", "/other"))
    gateway.wait_for_log("request", outcome="no-route", status=404, route="-")


@test
def keys_tokens_queries_and_bodies_are_never_logged(bench):
    upstream, gateway = bench.pair(
        answer(201, b"secret-answer", [("Set-Cookie", "secret-cookie")]),
        log={"level": "debug"})
    for data in (b"secret-body", b"secret-other"):
        for _ in range(2):
            gateway.ask("secret-key", tenant="Bearer secret-token", body=data,
                        target="/v1/charges?q=secret-query",
                        fields=[("Cookie", "secret-cookie")])
    gateway.ask("secret key", tenant="Bearer secret-token")
    upstream.reply = close_unanswered
    gateway.ask("secret-key-2", tenant="Bearer secret-token",
                target="/v1/charges?q=secret-query")
    gateway.ask("secret-key-2", tenant="Bearer secret-token",
                target="/x?q=secret-query")
    gateway.stop()
    for line in gateway.lines:
        assert "secret" not in line, line


@test
def control_bytes_in_a_path_cannot_forge_a_line(bench):
    upstream, gateway = bench.pair()
    gateway.send(build("GET", '/a%0a{"event":"ready"}%22',
                       [("X-Request-Id", "rid-1")]))
    line = gateway.wait_for_log("request", request_id="rid-1")
    assert line["path"].startswith("/a"), line
    equal(gateway.stray, [])


@each([(f"{n} bytes", n) for n in (1023, 1024, 1025, 2705, 8000, 12000)])
def a_long_path_is_cut_where_one_sees_it(bench, length):
    upstream, gateway = bench.pair()
    path = "/" + "x" * (length - 1)
    gateway.send(build("GET", path, [("X-Request-Id", "rid-1")]))
    line = gateway.wait_for_log("request", request_id="rid-1")
    equal(line["path"],
          path if length <= 1024 else path[:1024] + "\N{HORIZONTAL ELLIPSIS}")
    for member in ("client", "status", "outcome", "total_ms"):
        assert member in line, line
    equal(upstream.requests[-1].target, path)


@test
def a_name_too_long_for_a_line_is_cut_between_characters(bench):
    config = bench.config(bench.upstream())
    # Each of two bytes: half of all places are none to cut at.
    name = "x" + "\u00e9" * 4000
    config["routes"][0]["name"] = name
    gateway = bench.serve(config)
    gateway.ask("k")
    line = gateway.wait_for_log("request", outcome="executed")
    assert line["route"].endswith("\N{HORIZONTAL ELLIPSIS}"), line["route"]
    assert name.startswith(line["route"][:-1]), line["route"]
    assert len(line["route"]) > 500, line["route"]
    equal(line["path"], "/v1/charges")
    equal(gateway.stray, [])


@test
def what_a_terminal_obeys_never_goes_out_raw(bench):
    """C1 controls stand for ESC and another byte: U+009B begins a command."""
    c1 = "".join(map(chr, range(0x80, 0xa0)))
    config = bench.config(bench.upstream())
    config["routes"][0]["name"] = f"a{c1}\u00a0b"
    gateway = bench.serve(config)
    gateway.ask("k")
    gateway.wait_for_log("request", outcome="executed",
                         route=f"a{c1}\u00a0b")
    with gateway.client() as client:
        client.send(b"P\x9bST\xc2\x9b\xff /v1/charges HTTP/1.1\r\n"
                    b"Host: h\r\n\r\n")
        equal(client.read().status, 400)
    gateway.wait_for_log("request", outcome="bad-request", method="-")
    for line in gateway.lines:
        raw = [c for c in line if c < " " or "\x7f" <= c < "\xa0"]
        equal((line, raw), (line, []))
        assert "\N{REPLACEMENT CHARACTER}" not in line, line


@test
def the_access_line_can_be_switched_off(bench):
    upstream, gateway = bench.pair(log={"access": False})
    gateway.ask("k")
    gateway.stop()
    equal(gateway.find_log("request"), [])
    gateway.wait_for_log("stopped")


@test
def what_could_not_start_has_not_ended_as_it_should(bench):
    upstream, gateway = bench.pair()
    second = bench.serve({**gateway.config, "state_dir": bench.folder(),
                          "listen": gateway.ready["listen"]}, ready=False)
    second.wait_for_log("fatal")
    equal(second.wait(), 1)
    equal(second.find_log("stopped"), [])


@test
def a_client_that_left_has_its_line_too(bench):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    client = gateway.client()
    client.send(build("POST", "/v1/charges", [
        ("Idempotency-Key", "k"), ("Authorization", "a"),
        ("X-Request-Id", "rid-1")], b"{}"))
    hold.wait_arrived()
    client.reset()
    hold.release()
    gateway.wait_for_log("request", request_id="rid-1")


@test
def a_log_that_nobody_reads_stops_no_request(bench):
    upstream, gateway = bench.pair(workers=1)
    gateway.reading.clear()
    path = "/" + "x" * 1500
    many = 400  # of lines: more than pipe and buffers can hold
    with gateway.client() as client:
        for _ in range(many):
            equal(client.exchange("GET", path).status, 201)
    gateway.reading.set()
    # What found no room is counted, as soon as there is room for a line again.
    def told():
        nonlocal many
        gateway.ask("k")
        many += 1
        return gateway.find_log("log_dropped")
    eventually(told, "log_dropped in the log")

    def counted():
        dropped = sum(e["lines"] for e in gateway.find_log("log_dropped"))
        return len(gateway.find_log("request")) + dropped
    gateway.wait_until(lambda: counted() == many, f"{many} lines")
    equal(gateway.stray, [])


tap.main()
