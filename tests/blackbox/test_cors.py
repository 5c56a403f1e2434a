# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3 (cors): pages of other origins may read what the gateway
answers, and ask beforehand what they may send."""

import json

from once import tap
from once.gateway import command
from once.http import build
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered

SHOP = "https://shop.example"
OTHER = "https://other.example"
TELL = ("Access-Control-Allow-Origin", "Access-Control-Allow-Credentials",
        "Access-Control-Expose-Headers", "Vary")
OURS = "Idempotent-Replayed, Retry-After, X-Request-Id"


def start(bench, origins, reply=None, **cors):
    upstream = bench.upstream(reply)
    return upstream, bench.gateway(
        upstream, {"cors": {"origins": origins, **cors}})


def told(got):
    """What an answer says of other origins: one value of each field, or the
    list of them."""
    return tuple(values[0] if len(values) == 1 else values or None
                 for values in (got.all(name) for name in TELL))


def asked(gateway, origin=SHOP, method="POST", target="/v1/charges",
          names="idempotency-key, content-type"):
    fields = [("Origin", origin), ("Access-Control-Request-Method", method)]
    if names:
        fields.append(("Access-Control-Request-Headers", names))
    return gateway.send(build("OPTIONS", target, fields))


def pay(gateway, key, origin=SHOP, **more):
    fields = [("Origin", origin)] if origin else []
    return gateway.ask(key, fields=fields, **more)


FOR_SHOP = (SHOP, "true", OURS, "Origin")
FOR_NOBODY = (None, None, None, "Origin")


@test
def a_preflight_is_answered_by_the_gateway(bench):
    upstream, gateway = start(bench, [SHOP, OTHER])
    got = asked(gateway)
    equal((got.status, got.body, told(got)), (204, b"", FOR_SHOP))
    equal(got.get("Access-Control-Allow-Methods"), "POST")
    equal(got.get("Access-Control-Allow-Headers"),
          "idempotency-key, content-type")
    equal(got.get("Access-Control-Max-Age"), "3600")
    equal(upstream.count(), 0)
    gateway.wait_for_log("request", outcome="preflight", status=204)


@test
def max_age_is_what_the_route_says(bench):
    _, gateway = start(bench, SHOP, max_age="90s")
    equal(asked(gateway).get("Access-Control-Max-Age"), "90")


@each([("another origin", {"origin": "https://evil.example"}, FOR_NOBODY),
       ("its scheme", {"origin": "http://shop.example"}, FOR_NOBODY),
       ("what begins like it", {"origin": SHOP + ".evil"}, FOR_NOBODY),
       ("no origin of its own", {"origin": "null"}, FOR_NOBODY)])
def a_preflight_lets_nobody_in_who_is_not_named(bench, how, wanted):
    upstream, gateway = start(bench, [SHOP])
    got = asked(gateway, **how)
    equal((got.status, told(got)), (204, wanted))
    equal(upstream.count(), 0)


@each([("another method", {"method": "GET"}),
       ("another path", {"target": "/elsewhere"})])
def what_asks_about_another_route_passes(bench, how):
    upstream, gateway = start(bench, [SHOP], answer(200, b"mine"))
    got = asked(gateway, **how)
    equal((got.status, got.body), (200, b"mine"))
    equal(upstream.count(method="OPTIONS"), 1)


@test
def what_became_of_a_key_may_be_asked_too(bench):
    upstream = bench.upstream()
    config = bench.config(upstream, {"cors": {"origins": [SHOP]}})
    config["routes"][0].update(
        status_path="/v1/charges/keys/{key}", policy_path="/policy")
    gateway = bench.serve(config)
    for target in ("/v1/charges/keys/k", "/policy"):
        got = asked(gateway, method="GET", target=target,
                    names="authorization")
        equal((got.status, told(got),
               got.get("Access-Control-Allow-Methods")),
              (204, FOR_SHOP, "GET"))
        got = gateway.send(build("GET", target, [
            ("Origin", SHOP), ("Authorization", "Bearer t")]))
        equal((got.status, told(got)), (200, FOR_SHOP))
    equal(upstream.count(), 0)


@test
def options_that_are_no_question_pass(bench):
    upstream, gateway = start(bench, [SHOP], answer(200, b"mine"))
    equal(gateway.send(build("OPTIONS", "/v1/charges",
                             [("Origin", SHOP)])).body, b"mine")
    equal(upstream.count(method="OPTIONS"), 1)


@test
def without_cors_a_preflight_is_the_upstreams(bench):
    upstream, gateway = bench.pair(answer(204, b""))
    asked(gateway)
    equal(upstream.count(method="OPTIONS"), 1)


@test
def a_route_that_observes_changes_nothing(bench):
    upstream = bench.upstream(answer(
        201, b"x", [("Access-Control-Allow-Origin", OTHER)]))
    config = bench.config(upstream, {"cors": {"origins": [SHOP]}})
    config["routes"][0]["mode"] = "observe"
    gateway = bench.serve(config)
    for got in (asked(gateway), pay(gateway, "k")):
        equal((got.status, told(got)), (201, (OTHER, None, None, None)))
    equal(upstream.count(method="OPTIONS"), 1)


@test
def every_answer_of_the_route_may_be_read(bench):
    upstream, gateway = start(bench, [SHOP, OTHER])
    first, again = pay(gateway, "k"), pay(gateway, "k")
    equal((first.status, first.replayed, told(first)), (201, False, FOR_SHOP))
    equal((again.status, again.replayed, told(again)), (201, True, FOR_SHOP))
    for got, status in ((pay(gateway, "k", body=b"another"), 422),
                        (pay(gateway, None), 400),
                        (pay(gateway, "a b"), 400)):
        equal((got.status, told(got)), (status, FOR_SHOP))
    hold = upstream.hold()
    task = bench.background(pay, gateway, "k2")
    hold.wait_arrived()
    got = pay(gateway, "k2")
    equal((got.status, told(got)), (409, FOR_SHOP))
    hold.release()
    task.result()
    upstream.reply = close_unanswered
    for status in (502, 409):
        got = pay(gateway, "k3")
        equal((got.status, got.problem, told(got)),
              (status, "outcome-unknown", FOR_SHOP))


@test
def that_the_store_is_away_may_be_read(bench):
    redis = bench.own_redis()
    gateway = bench.gateway(
        bench.upstream(), {"cors": {"origins": [SHOP]}}, redis=redis)
    redis.kill()
    equal(asked(gateway).status, 204)
    got = pay(gateway, "k")
    equal((got.status, got.problem, told(got)),
          (503, "store-unavailable", FOR_SHOP))


@test
def a_replay_is_for_the_origin_that_asks_now(bench):
    upstream, gateway = start(bench, [SHOP, OTHER], answer(201, b"x", [
        ("Access-Control-Allow-Origin", SHOP),
        ("Access-Control-Allow-Credentials", "true"), ("X-Mine", "1")]))
    equal(told(pay(gateway, "k")), FOR_SHOP)
    for origin, wanted in ((OTHER, (OTHER, *FOR_SHOP[1:])),
                           (SHOP, FOR_SHOP),
                           ("https://evil.example", FOR_NOBODY),
                           (None, FOR_NOBODY)):
        got = pay(gateway, "k", origin)
        equal((got.replayed, got.body, got.get("X-Mine"), told(got)),
              (True, b"x", "1", wanted), origin)
    equal(upstream.count(), 1)


@test
def for_all_origins_there_are_no_credentials(bench):
    upstream, gateway = start(bench, "*", answer(201, b"x", [
        ("Access-Control-Allow-Origin", SHOP),
        ("Access-Control-Allow-Credentials", "true")]))
    for got in (pay(gateway, "k"), pay(gateway, "k", OTHER)):
        equal((got.status, told(got)), (201, ("*", None, OURS, None)))
    equal(told(asked(gateway, OTHER)), ("*", None, OURS, None))


@test
def a_long_answer_is_for_the_origin_that_asks_too(bench):
    body = b"x" * 200_000
    upstream = bench.upstream(answer(201, body, [
        ("Access-Control-Allow-Origin", OTHER)]))
    gateway = bench.gateway(upstream, {
        "cors": {"origins": [SHOP]}, "max_response_body": "64KiB"})
    got = pay(gateway, "k")
    equal((got.status, got.body == body, told(got)), (201, True, FOR_SHOP))


@each([("a path", "https://a/"), ("no scheme", "shop.example"),
       ("capitals", "https://Shop.example"), ("none", []),
       ("a star in it", "https://*.example")])
def check_refuses(bench, origins):
    config = bench.config(
        "http://127.0.0.1:9", idempotency={"cors": {"origins": origins}})
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(done.returncode, 1, done.stdout)
    assert "/idempotency/cors/origins" in done.stdout, done.stdout


tap.main()
