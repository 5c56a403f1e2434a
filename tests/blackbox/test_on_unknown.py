# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3: on_unknown, what a retry does where the outcome is
unknown, and max_attempts."""

import json
import re
import uuid

from once import tap
from once.admin import Admin
from once.gateway import frozen
from once.http import keyed
from once.tap import each, equal, test
from once.upstream import answer, refused_port, then_close
from once.wait import eventually

BY_KEY = "/v1/charges/by-key/"
KEY, ENCODED = "k:1~x", "k%3A1~x"


def ask_at(path=BY_KEY + "{key}", **more):
    """At once, unless said otherwise."""
    return {"reconcile": {"path": path, "settle": "0s", **more}}


def in_doubt(bench, on_unknown, **idempotency):
    """A key whose outcome is unknown: the upstream has executed it once."""
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(
        upstream, idempotency={"on_unknown": on_unknown, **idempotency})
    first = gateway.ask(KEY)
    equal((first.status, first.problem), (502, "outcome-unknown"))
    equal(upstream.count(), 1)
    upstream.reply = answer()
    return upstream, gateway


def reconciled(bench, reply):
    upstream, gateway = in_doubt(bench, ask_at())
    upstream.replies[BY_KEY + ENCODED] = reply
    return upstream, gateway, gateway.ask(KEY)


@test
def retry_executes_again_and_says_which_attempt_it_is(bench):
    upstream, gateway = in_doubt(bench, "retry")
    again = gateway.ask(KEY)
    equal((again.status, again.replayed), (201, False))
    equal([r.get("Idempotency-Attempt") for r in upstream.requests],
          ["1", "2"])
    equal(gateway.ask(KEY).replayed, True)
    equal(upstream.count(), 2)


def ids(gateway, n):
    """The id of the first request, as a retry of that number is told."""
    got = gateway.ask(KEY, fields=[("X-Request-Id", f"retry-{n}")])
    equal(got.get("X-Request-Id"), f"retry-{n}")
    return got.all("Original-Request-Id")


@each([(who, who) for who in ("reconcile", "retry", "operator")])
def whoever_completes_it_a_replay_names_the_first_request(bench, who):
    upstream = bench.upstream(then_close(b""))
    members = {"admin": {"listen": "127.0.0.1:0"},
               "idempotency": {"on_unknown": {
                   "reconcile": ask_at(), "retry": "retry",
                   "operator": "hold"}[who]}}
    gateway = bench.gateway(upstream, **members)
    first = gateway.ask(KEY, fields=[("X-Request-Id", "first-1")])
    equal(first.problem, "outcome-unknown")
    upstream.reply = answer()
    upstream.replies[BY_KEY + ENCODED] = answer(200, b"it happened")
    if who == "operator":
        key_id = first.json()["instance"].rsplit(":", 1)[-1]
        Admin(gateway).act(key_id, "complete", {
            "status": 201, "body": "done"})
    equal(ids(gateway, 2), [] if who == "retry" else ["first-1"])
    equal(ids(gateway, 3), ["first-1"])
    equal(ids(bench.gateway(upstream, **members), 4), ["first-1"])


@test
def attempts_are_exhausted_after_max_attempts(bench):
    upstream, gateway = in_doubt(bench, "retry", max_attempts=2)
    upstream.reply = then_close(b"")
    equal(gateway.ask(KEY).status, 502)
    for _ in range(2):
        last = gateway.ask(KEY)
        equal((last.status, last.problem), (409, "attempts-exhausted"))
        equal(last.json()["retry"], "new-key")
        assert "may have been executed" in last.json()["detail"], last.raw
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
    equal(gateway.ask(KEY).problem, "outcome-unknown")
    equal(gateway.ask(KEY, body=b"another").problem, "key-reused")


@test
def what_was_not_sent_leaves_the_owner_before_its_truth(bench):
    """The first owner is frozen; nothing is sent of the second attempt."""
    upstream = bench.upstream()
    hold = upstream.hold(answer(201, b"the truth"))
    options = {"lease": "1s", "on_unknown": "retry"}
    first = bench.gateway(upstream, idempotency=options)
    config = bench.config(upstream, idempotency=options)
    dead, port = refused_port()
    config["upstreams"]["api"] = f"http://127.0.0.1:{port}"
    second = bench.serve(config)
    got = bench.background(first.ask, "k")
    hold.wait_arrived()
    with dead, frozen(first):
        eventually(lambda: second.ask("k").problem == "outcome-unknown")
    hold.release()
    equal(got.result().body, b"the truth")
    equal(first.ask("k").body, b"the truth")
    equal(upstream.count(), 1)


@test
def an_unknown_attempt_does_not_shut_out_the_truth_about_the_one_before(bench):
    """The first owner is frozen; what becomes of the second is not known."""
    upstream = bench.upstream()
    hold = upstream.hold(answer(201, b"the truth"))
    options = {"lease": "1s", "on_unknown": "retry"}
    first = bench.gateway(upstream, idempotency=options)
    second = bench.gateway(upstream, idempotency=options)
    got = bench.background(first.ask, "k")
    hold.wait_arrived()
    upstream.reply = then_close(b"")
    with frozen(first):
        eventually(lambda: second.ask("k").problem == "outcome-unknown")
    hold.release()
    equal(got.result().body, b"the truth")
    equal(second.ask("k").body, b"the truth")
    equal(upstream.count(), 2)


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
        bench, answer(200, b"it happened", fields=[("X-Kept", "1")]))
    equal((got.status, got.body, got.get("X-Kept")),
          (200, b"it happened", "1"))
    again = gateway.ask(KEY)
    equal((again.status, again.body, again.replayed),
          (200, b"it happened", True))
    equal([r.method for r in upstream.requests], ["POST", "GET"])


@test
def reconcile_asks_with_the_scope_and_the_encoded_key(bench):
    upstream, gateway, _ = reconciled(bench, answer(200))
    question = upstream.requests[1]
    equal(question.target, BY_KEY + ENCODED)
    equal(question.get("Authorization"),
          upstream.requests[0].get("Authorization"))
    equal(question.get("Idempotency-Key"), None)
    equal(question.get("Content-Length"), None)


@test
def a_record_that_vanishes_while_the_upstream_is_asked_is_not_executed(bench):
    """A Redis that forgot it, or an operator who deleted it."""
    upstream, gateway = in_doubt(bench, ask_at())
    hold = upstream.hold(answer(404))
    got = bench.background(gateway.ask, KEY)
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
    upstream, gateway = in_doubt(bench, ask_at())
    [name] = [key for key in bench.redis.keys() if b":r:" in key]
    bench.redis("SETRANGE", name, 3, "-")
    got = gateway.ask(KEY)
    equal((got.status, got.problem), (409, "outcome-unknown"))
    gateway.wait_for_log("record_broken")
    equal(upstream.count(), 1)
    gateway.stop()


@test
def reconcile_does_not_ask_before_the_outcome_has_settled(bench):
    """The API is slow: it commits what it was sent after we have given up."""
    upstream = bench.upstream()
    commits = upstream.hold(then_close(b""))
    upstream.replies[BY_KEY + "k"] = answer(404)
    gateway = bench.gateway(
        upstream, options={"timeout": "300ms"}, idempotency={
            "on_unknown": {"reconcile": {"path": BY_KEY + "{key}"}}})
    first = gateway.ask("k")
    equal((first.status, first.problem), (504, "outcome-unknown"))
    equal(first.get("Retry-After"), "60")
    retry = gateway.ask("k")
    equal((retry.status, retry.problem), (409, "outcome-unknown"))
    assert 50 <= int(retry.get("Retry-After")) <= 60, retry.get("Retry-After")
    equal(upstream.count(method="GET"), 0)
    equal(upstream.count(method="POST"), 1)
    commits.release()


@test
def reconcile_asks_once_the_outcome_has_settled(bench):
    upstream, gateway = in_doubt(bench, ask_at(settle="2s"))
    upstream.replies[BY_KEY + ENCODED] = answer(200, b"it happened")
    early = gateway.ask(KEY)
    equal((early.problem, early.get("Retry-After")), ("outcome-unknown", "2"))
    eventually(lambda: gateway.ask(KEY).body == b"it happened")
    equal([r.method for r in upstream.requests], ["POST", "GET"])


@each([(way, way) for way in ("reject", "forward")])
def nothing_is_asked_by_a_clock_that_has_just_jumped(bench, way):
    """It is the answer to the claim that tells of it: Redis is not away."""
    wire = bench.wire(bench.own_redis())
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(
        upstream, {"on_unknown": ask_at(), "lease": "1s",
                   "on_store_down": way}, redis=wire, workers=1)
    equal(gateway.ask("k").problem, "outcome-unknown")
    upstream.reply = answer()
    upstream.replies[BY_KEY + "k"] = answer(404)

    def two_minutes_later(match):
        return match[1] + b"%d" % (int(match[2]) + 120000)
    wire.edit = lambda said: re.sub(
        rb"(RECONCILE\r\n:\d+\r\n:)(\d{13})", two_minutes_later, said)
    got = gateway.ask("k")
    equal((got.status, got.problem), (503, "store-unavailable"))
    equal(upstream.count(), 1)
    wire.edit = lambda said: said
    eventually(lambda: gateway.ask("k").status == 201, "it has settled")
    equal((upstream.count(path=BY_KEY + "k"), upstream.count(method="POST")),
          (1, 2))


@test
def a_question_that_nobody_answered_is_asked_again_at_once(bench):
    """It has settled; only the wait for the API's commits is over once."""
    upstream, gateway = in_doubt(bench, ask_at(settle="700ms"))
    upstream.replies[BY_KEY + ENCODED] = answer(500)
    eventually(lambda: gateway.ask(KEY).get("Retry-After") is None)
    asked = upstream.count(method="GET")
    equal(gateway.ask(KEY).problem, "outcome-unknown")
    equal(upstream.count(method="GET"), asked + 1)


@test
def a_lease_that_expired_has_to_settle_too(bench):
    """Its owner was cut off from Redis; the API may still be at work."""
    upstream = bench.upstream()
    hold = upstream.hold(answer(201, b"late"))
    options = {"lease": "1s", "on_unknown": {
        "reconcile": {"path": BY_KEY + "{key}", "settle": "10s"}}}
    upstream.replies[BY_KEY + "k"] = answer(404)
    first = bench.gateway(upstream, idempotency=options)
    second = bench.gateway(upstream, idempotency=options)
    got = bench.background(first.ask, "k")
    hold.wait_arrived()
    with frozen(first):
        eventually(lambda: second.ask("k").problem == "outcome-unknown")
        equal(upstream.count(method="GET"), 0)
    hold.release()
    equal(got.result().body, b"late")
    equal(second.ask("k").body, b"late")
    equal(upstream.count(method="POST"), 1)


@test
def absent_says_which_statuses_mean_that_it_did_not_happen(bench):
    upstream, gateway = in_doubt(bench, ask_at(absent=[409]))
    upstream.replies[BY_KEY + ENCODED] = answer(404)
    equal(gateway.ask(KEY).problem, "outcome-unknown")
    equal(upstream.count(method="POST"), 1)
    upstream.replies[BY_KEY + ENCODED] = answer(409)
    equal(gateway.ask(KEY).status, 201)
    equal(upstream.count(method="POST"), 2)


@test
def status_is_stored_in_place_of_the_answers_own(bench):
    upstream, gateway = in_doubt(bench, ask_at(status=201))
    upstream.replies[BY_KEY + ENCODED] = answer(200, b"it happened")
    for _ in range(2):
        got = gateway.ask(KEY)
        equal((got.status, got.body), (201, b"it happened"))


@each([("200", "release", 200, "201"), ("500", "release", 500, "201"),
       ("404", "unknown", 404, "outcome-unknown"),
       ("of success", "unknown", 200, "outcome-unknown"),
       ("402", "store", 402, "402")])
def the_upstreams_own_word_beats_the_status(bench, word, status, then):
    upstream, gateway = in_doubt(bench, ask_at())
    upstream.replies[BY_KEY + ENCODED] = answer(
        status, fields=[("Idempotency-Outcome", word)])
    got = gateway.ask(KEY)
    equal(got.problem or str(got.status), then)
    equal(upstream.count(method="POST"), 2 if word == "release" else 1)


ORDER = b'{"order_id": "o/1 \xc3\xa9", "n": 1.50e3, "ok": true, "s": ".."}'


@each([("a member", "/orders/{json:/order_id}", "/orders/o%2F1%20%C3%A9"),
       ("a number", "/n/{json:/n}/x", "/n/1500/x"),
       ("a query", "/by?ok={json:/ok}&k={key}", "/by?ok=true&k=" + ENCODED),
       ("a segment", "/a/{path:account}/k", "/a/a%2Fb%20c/k")])
def the_path_is_made_of_the_request(bench, path, target):
    upstream = bench.upstream(then_close(b""))
    config = bench.config(upstream, idempotency={"on_unknown": ask_at(path)})
    config["routes"][0]["path"] = "/v1/{account}/charges"
    config["routes"].pop()  # what it is where "%2F" is a slash
    gateway = bench.serve(config)
    request = {"body": ORDER, "target": "/v1/a%2Fb%20c/charges"}
    equal(gateway.ask(KEY, **request).status, 502)
    upstream.reply = answer(200, b"it happened")
    equal(gateway.ask(KEY, **request).body, b"it happened")
    equal(upstream.requests[1].target, target)


@each([("a member that is missing", "/o/{json:/nothing}"),
       ("dots", "/o/{json:/s}"), ("a list", "/o/{json:/list}"),
       ("an empty member", "/o/{json:/empty}/x"),
       ("dots behind a slash", "/o/{json:/climbs}"),
       ("dots behind a backslash", "/o/{json:/slides}/x")])
def a_path_that_cannot_be_made_leaves_it_unknown(bench, path):
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(
        upstream, idempotency={"on_unknown": ask_at(path)})
    body = json.dumps({
        "s": "..", "empty": "", "list": [1], "climbs": "x/../../other",
        "slides": "x\\..\\other"}).encode()
    equal(gateway.ask("k", body=body).status, 502)
    upstream.reply = answer(200, b"the list of all orders")
    equal(gateway.ask("k", body=body).problem, "outcome-unknown")
    equal([r.method for r in upstream.requests], ["POST"])


@each([("bare", "any", "{}"), ("quoted", "quoted", '"{}"')])
def a_derived_key_is_sent_and_asked_for(bench, key_format, shape):
    """The same string, which is a UUID, whichever tenant and route."""
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(upstream, idempotency={
        "header": ["X-Key", "Idempotency-Key"], "derive_key": ["/order_id"],
        "send_derived": True, "key_format": key_format,
        "on_unknown": ask_at()})
    equal(gateway.ask(None, body=ORDER).status, 502)
    upstream.reply = answer(200, b"it happened")
    equal(gateway.ask(None, body=ORDER).body, b"it happened")
    first, question = upstream.requests
    sent = first.get("X-Key").strip('"')
    equal(first.get("X-Key"), shape.format(sent))
    equal(str(uuid.UUID(sent)), sent)
    equal(uuid.UUID(sent).version, 8)
    equal(question.target, BY_KEY + sent)


@test
def a_key_that_was_not_sent_is_not_asked_for(bench):
    """The API would know nothing of it, though another gateway sends it now."""
    upstream = bench.upstream(then_close(b""))
    derive = {"header": ["X-Key"], "derive_key": ["/order_id"]}
    before = bench.gateway(upstream, idempotency=derive)
    equal(before.ask(None, body=ORDER).status, 502)
    upstream.reply = answer(404)
    gateway = bench.gateway(upstream, idempotency={
        **derive, "send_derived": True, "on_unknown": ask_at(absent=[404])})
    equal(gateway.ask(None, body=ORDER).problem, "outcome-unknown")
    assert "was not told" in gateway.wait_for_log("asked")["detail"]
    equal(upstream.count(), 1)


@test
def a_derived_key_is_not_sent_unless_the_route_says_so(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(
        upstream, idempotency={"derive_key": ["/order_id"]})
    equal(gateway.ask(None, body=ORDER).status, 201)
    equal(upstream.requests[0].get("Idempotency-Key"), None)


@each([("404", 404), ("410", 410)])
def reconcile_executes_what_did_not_happen(bench, status):
    upstream, gateway, got = reconciled(bench, answer(status))
    equal((got.status, got.replayed), (201, False))
    equal([(r.method, r.get("Idempotency-Attempt"))
           for r in upstream.requests],
          [("POST", "1"), ("GET", None), ("POST", "2")])
    equal(gateway.ask(KEY).replayed, True)


@each([("a router's 404", answer(404), False),
       ("the API's own word", answer(404, fields=[
           ("Idempotency-Outcome", "release")]), True),
       ("an answer", answer(200), True)])
def a_key_with_a_slash_is_asked_for(bench, reply, believed):
    """As one segment, of which many routers make two; then they find none."""
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(
        upstream, idempotency={"on_unknown": ask_at(absent=[404])})
    equal(gateway.ask("k/1").status, 502)
    upstream.reply, upstream.replies[BY_KEY + "k%2F1"] = answer(), reply
    got = gateway.ask("k/1")
    equal(got.problem, None if believed else "outcome-unknown")
    equal(upstream.requests[1].target, BY_KEY + "k%2F1")
    if not believed:
        assert "slash" in gateway.wait_for_log("asked")["detail"]
        equal(upstream.count(method="POST"), 1)


@each([("by its status", ()), ("by a word",
                               [("Idempotency-Outcome", "release")])])
def what_a_cache_says_has_not_happened_may_have(bench, fields):
    upstream, gateway, got = reconciled(
        bench, answer(404, fields=[("Age", "7"), *fields]))
    equal(got.problem, "outcome-unknown")
    equal(upstream.requests[1].get("Cache-Control"), "no-cache")
    upstream.replies[BY_KEY + ENCODED] = answer(404, fields=[("Age", "0")])
    equal(gateway.ask(KEY).status, 201)


@each([("500", answer(500)), ("403", answer(403)), ("302", answer(302)),
       ("a broken answer", then_close(b"HTTP/1.1 200 OK\r\nContent-Le")),
       ("nothing", then_close(b""))])
def reconcile_leaves_unknown_what_nobody_tells(bench, reply):
    upstream, gateway, got = reconciled(bench, reply)
    equal((got.status, got.problem), (409, "outcome-unknown"))
    gateway.wait_for_log("reconcile_failed")
    # The next retry asks again, and the truth is still welcome.
    upstream.replies[BY_KEY + ENCODED] = answer(200, b"late truth")
    equal(gateway.ask(KEY).body, b"late truth")
    equal(upstream.count(method="POST"), 1)


@test
def concurrent_retries_reconcile_once(bench):
    upstream, gateway = in_doubt(bench, ask_at())
    hold = upstream.hold()
    asking = bench.background(gateway.ask, KEY)
    hold.wait_arrived()
    for _ in range(5):
        equal(gateway.ask(KEY).problem, "in-flight")
    hold.release()
    equal(asking.result().status, 201)
    equal(upstream.count(method="GET"), 1)
    equal(upstream.count(method="POST"), 1)


@test
def the_log_of_a_later_attempt_names_the_first_request(bench):
    """Of the second that is unknown, of the one that would be too many, and of
    a retry after that."""
    upstream, gateway = bench.pair(then_close(b""), idempotency={
        "on_unknown": "retry", "max_attempts": 2})
    for request_id in ("one", "two", "three", "four"):
        gateway.ask("k", fields=[("X-Request-Id", request_id)])
    for event, request_id, first in (
            ("outcome_unknown", "one", None), ("outcome_unknown", "two", "one"),
            ("attempts_exhausted", "three", "one"),
            ("attempts_exhausted", "four", "one")):
        line = gateway.wait_for_log(event, request_id=request_id)
        equal(line.get("first_request_id"), first, event)
    equal(gateway.find_log("outcome_unknown")[1]["attempt"], 2)
    equal(upstream.count(), 2)


@each([("another name", "www.example"), ("with its port", "api.example:443"),
       ("in capitals", "API.example")])
def another_host_is_not_asked_about_it(bench, other):
    """It may know nothing of the payment, and then it would be made again."""
    upstream, gateway = bench.pair(then_close(b""), idempotency={
        "on_unknown": ask_at()})

    def pay(host):
        return gateway.send(keyed("k").replace(
            b"api.example", host.encode()))
    equal(pay("api.example").problem, "outcome-unknown")
    upstream.reply = answer(404)
    got = pay(other)
    equal((got.status, got.problem), (409, "outcome-unknown"))
    equal(upstream.count(), 1)
    upstream.replies[BY_KEY + "k"] = answer(200, b"it happened")
    equal(pay("api.example").body, b"it happened")
    equal([r.get("Host") for r in upstream.requests], ["api.example"] * 2)


tap.main()
