# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 5 and 6: sent and not answered whole is UNKNOWN and held;
not sent is released."""

import ssl

from once import tap
from once.certificates import Authority
from once.tap import equal, test
from once.upstream import answer, refused_port, then_close
from once.wait import eventually


def held(upstream, gateway, status, count=1):
    """The first answer says that the outcome is unknown, and so does every
    retry."""
    first = gateway.ask("k")
    equal((first.status, first.problem), (status, "outcome-unknown"))
    upstream.reply = answer()
    for _ in range(2):
        again = gateway.ask("k")
        equal((again.status, again.problem), (409, "outcome-unknown"))
    equal(upstream.count(), count)


@test
def no_answer_in_time_is_504_and_held(bench):
    upstream, gateway = bench.pair(options={"timeout": "300ms"})
    hold = upstream.hold()
    held(upstream, gateway, 504)
    gateway.wait_for_log("request", status=504, outcome="unknown")
    hold.release()


@test
def an_answer_that_drips_is_late_all_the_same(bench):
    """timeout is for the whole exchange on idempotent routes."""
    upstream = bench.upstream()
    hold = upstream.hold()

    def drip(connection, request):
        connection.send(b"HTTP/1.1 201 Made\r\nContent-Length: 100000\r\n\r\n")
        while not hold.open.wait(0.02):
            connection.send(b"x")
    upstream.reply = drip
    gateway = bench.gateway(upstream, options={"timeout": "400ms"})
    held(upstream, gateway, 504)
    hold.release()


@test
def an_answer_that_ends_by_closing_is_held_and_named(bench):
    upstream, gateway = bench.pair(
        then_close(b"HTTP/1.0 201 Made\r\n\r\nhello"))
    held(upstream, gateway, 502)
    line = gateway.wait_for_log("outcome_unknown")
    assert "close_delimited" in line["error"], line


@test
def close_delimited_answers_are_taken_where_the_upstream_says_so(bench):
    upstream, gateway = bench.pair(
        then_close(b"HTTP/1.1 201 Made\r\n\r\nhello"),
        options={"close_delimited": True})
    equal(gateway.ask("k").body, b"hello")
    again = gateway.ask("k")
    equal((again.replayed, again.body), (True, b"hello"))


@test
def nobody_who_listens_is_502_and_releases(bench):
    keep, port = refused_port()
    url = f"http://127.0.0.1:{port}"
    gateway = bench.gateway(url)
    for _ in range(7):  # more often than max_attempts
        got = gateway.ask("k")
        equal((got.status, got.problem), (502, "upstream-unreachable"))
    gateway.wait_for_log("request", outcome="unreachable", status=502)
    line = gateway.wait_for_log("not_sent", route="charges", attempt=1)
    assert line["key_id"], line
    equal((line["error"], line["target"]), ("no connection", url))
    keep.close()


@test
def a_name_without_an_address_is_502_and_releases(bench):
    gateway = bench.gateway("http://nowhere.invalid:80")
    for _ in range(2):
        equal(gateway.ask("k").problem, "upstream-unreachable")


@test
def what_was_not_sent_does_not_count_as_an_attempt(bench):
    keep, port = refused_port()
    config = bench.config(f"http://127.0.0.1:{port}", {"max_attempts": 1})
    gateway = bench.serve(config)
    for _ in range(3):
        equal(gateway.ask("k").problem, "upstream-unreachable")
    gateway.stop()
    upstream = bench.upstream()
    config["upstreams"]["api"]["targets"] = [upstream.url]
    gateway = bench.serve(config)
    equal(gateway.ask("k").status, 201)
    keep.close()


@test
def a_certificate_that_is_not_trusted_is_502_and_nothing_is_sent(bench):
    cert = Authority(bench.folder()).issue("localhost")
    upstream = bench.upstream()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert.file, cert.key)
    upstream.listener = context.wrap_socket(upstream.listener,
                                            server_side=True)
    gateway = bench.gateway(f"https://127.0.0.1:{upstream.port}")
    equal(gateway.ask("k").problem, "upstream-unreachable")
    equal(upstream.count(), 0)


@test
def a_gateway_that_was_killed_leaves_an_unknown_key_and_no_second_try(bench):
    upstream = bench.upstream()
    hold = upstream.hold()
    idempotency = {"lease": "2s"}
    gateway = bench.gateway(upstream, idempotency)
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    upstream.reply = answer()
    gateway.kill()
    first.thread.join(10)
    gateway = bench.gateway(upstream, idempotency)

    def unknown():
        got = gateway.ask("k")
        equal(got.status, 409)
        return got.problem == "outcome-unknown"
    eventually(unknown, "the lease ends", 15)
    hold.release()
    equal(upstream.count(), 1)


@test
def a_lease_that_ran_out_is_noticed_without_a_retry(bench):
    """Another gateway logs it within five seconds."""
    upstream = bench.upstream()
    hold = upstream.hold()
    idempotency = {"lease": "2s"}
    gateway = bench.gateway(upstream, idempotency)
    other = bench.gateway(upstream, idempotency)
    bench.background(gateway.ask, "k")
    hold.wait_arrived()
    gateway.kill()
    line = other.wait_for_log("outcome_unknown", timeout=10)
    equal((line["method"], line["path"]), ("POST", "/v1/charges"))
    hold.release()


@test
def the_log_warns_of_an_unknown_outcome_with_its_key_id(bench):
    upstream, gateway = bench.pair(then_close(b""))
    instance = gateway.ask("k").json()["instance"]
    line = gateway.wait_for_log("outcome_unknown")
    equal("urn:onceproxy:key:" + line["key_id"], instance)
    equal(line["target"], upstream.url)


@test
def the_log_says_what_was_asked_for_as_the_access_line_does(bench):
    """Without the query, and cut."""
    upstream, gateway = bench.pair(then_close(b""))
    config = dict(gateway.config)
    gateway.ask("k", target="/v1/charges?card=secret")
    line = gateway.wait_for_log("outcome_unknown")
    equal((line["method"], line["path"]), ("POST", "/v1/charges"))
    config["routes"][0]["path"] = "/v1/*"
    other = bench.serve(config)
    path = "/v1/" + 2000 * "a"
    other.ask("long", target=path)
    seen = [other.wait_for_log(event)["path"]
            for event in ("outcome_unknown", "request")]
    equal(seen, 2 * [path[:1024] + "…"])


tap.main()
