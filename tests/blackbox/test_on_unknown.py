# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3: on_unknown, what a retry does where the outcome is
unknown, and max_attempts."""

from once import tap
from once.tap import each, equal, test
from once.upstream import answer, then_close

BY_KEY = "/v1/charges/by-key/"


def in_doubt(bench, on_unknown, **idempotency):
    """A key whose outcome is unknown: the upstream has executed it once."""
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(
        upstream, idempotency={"on_unknown": on_unknown, **idempotency})
    first = gateway.ask("k/1~x")
    equal((first.status, first.problem), (502, "outcome-unknown"))
    equal(upstream.count(), 1)
    upstream.reply = answer()
    return upstream, gateway


def reconciled(bench, reply):
    upstream, gateway = in_doubt(bench, {"reconcile": BY_KEY + "{key}"})
    upstream.replies[BY_KEY + "k%2F1~x"] = reply
    return upstream, gateway, gateway.ask("k/1~x")


@test
def retry_executes_again_and_says_which_attempt_it_is(bench):
    upstream, gateway = in_doubt(bench, "retry")
    again = gateway.ask("k/1~x")
    equal((again.status, again.replayed), (201, False))
    equal([r.get("Idempotency-Attempt") for r in upstream.requests],
          ["1", "2"])
    equal(gateway.ask("k/1~x").replayed, True)
    equal(upstream.count(), 2)


@test
def attempts_are_exhausted_after_max_attempts(bench):
    upstream, gateway = in_doubt(bench, "retry", max_attempts=2)
    upstream.reply = then_close(b"")
    equal(gateway.ask("k/1~x").status, 502)
    for _ in range(2):
        last = gateway.ask("k/1~x")
        equal((last.status, last.problem), (409, "attempts-exhausted"))
        equal(last.json()["retry"], "new-key")
    equal(upstream.count(), 2)


@test
def what_was_not_sent_does_not_count_as_an_attempt(bench):
    upstream = bench.upstream()
    config = bench.config(upstream, idempotency={"max_attempts": 1})
    url, config["upstreams"] = config["upstreams"], {
        "api": "http://127.0.0.1:1"}
    gateway = bench.serve(config)
    for _ in range(3):
        equal(gateway.ask("k").problem, "upstream-unreachable")
    gateway.stop()
    config["upstreams"] = url
    equal(bench.serve(config).ask("k").status, 201)


@test
def what_was_not_sent_leaves_an_earlier_attempt_unknown(bench):
    """A free key would accept another request."""
    upstream, gateway = in_doubt(bench, "retry")
    upstream.stop()
    equal(gateway.ask("k/1~x").problem, "upstream-unreachable")
    equal(gateway.ask("k/1~x", body=b"another").problem, "key-reused")


@test
def attempts_are_remembered_over_releases(bench):
    upstream = bench.upstream(answer(503))
    gateway = bench.gateway(upstream, idempotency={"max_attempts": 2})
    equal(gateway.ask("k").status, 503)
    equal(gateway.ask("k").status, 503)
    equal(gateway.ask("k").problem, "attempts-exhausted")
    equal(upstream.count(), 2)


@test
def reconcile_stores_what_the_upstream_says_has_happened(bench):
    upstream, gateway, got = reconciled(
        bench, answer(200, b"it happened", fields=[
            ("X-Kept", "1"), ("Idempotency-Outcome", "release")]))
    equal((got.status, got.body, got.get("X-Kept")),
          (200, b"it happened", "1"))
    again = gateway.ask("k/1~x")
    equal((again.status, again.body, again.replayed),
          (200, b"it happened", True))
    equal([r.method for r in upstream.requests], ["POST", "GET"])


@test
def reconcile_asks_with_the_scope_and_the_encoded_key(bench):
    upstream, gateway, _ = reconciled(bench, answer(200))
    question = upstream.requests[1]
    equal(question.target, BY_KEY + "k%2F1~x")
    equal(question.get("Authorization"),
          upstream.requests[0].get("Authorization"))
    equal(question.get("Idempotency-Key"), None)
    equal(question.get("Content-Length"), None)


@test
def a_record_that_vanishes_while_the_upstream_is_asked_is_not_executed(bench):
    """A Redis that forgot it, or an operator who deleted it."""
    upstream, gateway = in_doubt(bench, {"reconcile": BY_KEY + "{key}"})
    hold = upstream.hold(answer(404))
    got = bench.background(gateway.ask, "k/1~x")
    hold.wait_arrived()
    bench.redis("FLUSHALL")
    hold.release()
    got = got.result()
    equal((got.status, got.problem), (409, "outcome-unknown"))
    gateway.wait_for_log("record_broken")
    equal(upstream.count(method="POST"), 1)
    equal(gateway.find_log("request")[-1]["outcome"], "unknown")
    gateway.stop()


@test
def an_unknown_record_without_a_reason_is_said_to_be_broken(bench):
    upstream, gateway = in_doubt(bench, {"reconcile": BY_KEY + "{key}"})
    [name] = [key for key in bench.redis.keys() if b":r:" in key]
    bench.redis("SETRANGE", name, 3, "-")
    got = gateway.ask("k/1~x")
    equal((got.status, got.problem), (409, "outcome-unknown"))
    gateway.wait_for_log("record_broken")
    equal(upstream.count(), 1)
    gateway.stop()


@each([("404", 404), ("410", 410)])
def reconcile_executes_what_did_not_happen(bench, status):
    upstream, gateway, got = reconciled(bench, answer(status))
    equal((got.status, got.replayed), (201, False))
    equal([(r.method, r.get("Idempotency-Attempt"))
           for r in upstream.requests],
          [("POST", "1"), ("GET", None), ("POST", "2")])
    equal(gateway.ask("k/1~x").replayed, True)


@each([("500", answer(500)), ("403", answer(403)), ("302", answer(302)),
       ("a broken answer", then_close(b"HTTP/1.1 200 OK\r\nContent-Le")),
       ("nothing", then_close(b""))])
def reconcile_leaves_unknown_what_nobody_tells(bench, reply):
    upstream, gateway, got = reconciled(bench, reply)
    equal((got.status, got.problem), (409, "outcome-unknown"))
    gateway.wait_for_log("reconcile_failed")
    # The next retry asks again, and the truth is still welcome.
    upstream.replies[BY_KEY + "k%2F1~x"] = answer(200, b"late truth")
    equal(gateway.ask("k/1~x").body, b"late truth")
    equal(upstream.count(method="POST"), 1)


@test
def concurrent_retries_reconcile_once(bench):
    upstream, gateway = in_doubt(bench, {"reconcile": BY_KEY + "{key}"})
    hold = upstream.hold()
    asking = bench.background(gateway.ask, "k/1~x")
    hold.wait_arrived()
    for _ in range(5):
        equal(gateway.ask("k/1~x").problem, "in-flight")
    hold.release()
    equal(asking.result().status, 201)
    equal(upstream.count(method="GET"), 1)
    equal(upstream.count(method="POST"), 1)


tap.main()
