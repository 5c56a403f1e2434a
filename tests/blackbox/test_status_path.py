# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3 (status_path, policy_path): a client learns what became
of its own key, and nothing of anybody else's."""

import base64
import json
import os
import urllib.parse

from once import http, tap
from once.gateway import command
from once.tap import each, equal, test
from once.tokens import Key, write_keys
from once.upstream import answer, close_unanswered
from once.wait import eventually

PATH = "/v1/charges/idempotency/"
PLACES = {"status_path": PATH + "{key}",
          "policy_path": "/.well-known/idempotency"}
TENANT = "Bearer t"


def configured(bench, upstream, idempotency=None, route=(), **members):
    config = bench.config(upstream, idempotency, cache={"size": 0}, **members)
    config["routes"][0].update({**PLACES, **dict(route)})
    return config


def start(bench, reply=None, idempotency=None, route=(), **members):
    upstream = bench.upstream(reply)
    return upstream, bench.serve(configured(
        bench, upstream, idempotency, route, **members))


def look(gateway, key, tenant=TENANT, fields=(), path=PATH, quote=True):
    """What GET says of a key: status and what is said."""
    own = [("Authorization", tenant)] if tenant is not None else []
    shown = urllib.parse.quote(key, safe="") if quote else key
    got = gateway.send(http.build("GET", path + shown, own + list(fields)))
    return got.status, got


def state(gateway, key, **kwargs):
    status, got = look(gateway, key, **kwargs)
    equal((status, got.get("Content-Type")), (200, "application/json"))
    equal(got.get("Cache-Control"), "no-store")
    return got.json()


# --- what became of a key ---------------------------------------------------

@test
def a_key_that_was_never_used_is_none(bench):
    upstream, gateway = start(bench)
    equal(state(gateway, "k"), {"state": "none"})
    gateway.ask("k", tenant=TENANT)
    equal(upstream.count(), 1)  # nothing was claimed by the look


@test
def a_completed_key_has_its_answers_status_and_nothing_of_it(bench):
    _, gateway = start(bench, answer(402, b"declined", [("X-Secret", "s")]))
    gateway.ask("k", tenant=TENANT)
    _, got = look(gateway, "k")
    equal(got.json(), {"state": "completed", "status": 402})
    assert b"declined" not in got.raw and b"X-Secret" not in got.raw
    equal(got.get("Idempotent-Replayed"), None)


@test
def a_key_in_flight_says_when_to_look_again(bench):
    upstream, gateway = start(bench)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k", tenant=TENANT)
    hold.wait_arrived()
    equal(state(gateway, "k"), {"state": "in-flight", "retry_after": 1})
    hold.release()
    equal(first.result().status, 201)
    equal(state(gateway, "k"), {"state": "completed", "status": 201})


@test
def an_outcome_that_nobody_knows_is_unknown(bench):
    _, gateway = start(bench, close_unanswered)
    gateway.ask("k", tenant=TENANT)
    equal(state(gateway, "k"), {"state": "unknown", **hints(gateway)})


def hints(gateway):
    """What a retry is told to do."""
    retry = gateway.ask("k", tenant=TENANT).json()
    assert retry["instance"].startswith("urn:onceproxy:key:"), retry
    return {name: retry[name]
            for name in ("detail", "retry", "retryable", "instance")}


@each([("at once", "0s", None), ("later", "60s", range(50, 61))])
def an_unknown_key_says_when_the_api_is_asked(bench, settle, seconds):
    _, gateway = start(bench, close_unanswered, {"on_unknown": {"reconcile": {
        "path": "/by-key/{key}", "settle": settle}}})
    gateway.ask("k", tenant=TENANT)
    said = state(gateway, "k")
    equal(said["state"], "unknown")
    assert "first asks the API" in said["detail"], said
    assert (said.get("retry_after") in seconds if seconds
            else "retry_after" not in said), said


@test
def the_time_until_the_api_is_asked_runs_out(bench):
    _, gateway = start(bench, close_unanswered, {"on_unknown": {"reconcile": {
        "path": "/by-key/{key}", "settle": "2s"}}})
    gateway.ask("k", tenant=TENANT)
    equal(state(gateway, "k")["retry_after"], 2)
    eventually(lambda: "retry_after" not in state(gateway, "k"))
    equal(state(gateway, "k")["state"], "unknown")


@test
def a_key_whose_attempts_are_used_up_has_failed(bench):
    _, gateway = start(bench, answer(503), {"max_attempts": 1})
    for _ in range(2):
        gateway.ask("k", tenant=TENANT)
    equal(state(gateway, "k"), {"state": "failed", **hints(gateway)})


@test
def a_key_that_is_free_again_is_none(bench):
    _, gateway = start(bench, answer(503))
    gateway.ask("k", tenant=TENANT)
    equal(state(gateway, "k"), {"state": "none"})


@test
def an_answer_that_was_too_large_is_completed_all_the_same(bench):
    _, gateway = start(bench, answer(201, b"x" * 2000),
                       {"max_response_body": 1000})
    gateway.ask("k", tenant=TENANT)
    gateway.wait_for_log("request", outcome="executed")
    equal(state(gateway, "k"), {"state": "completed", "status": 201})


@each([("stored as it is", {"compression": "none"}, b"x"),
       ("compressed", {}, b"x" * 5000),
       ("large", {"compression": "none"}, b"y" * 200000),
       ("sealed", {"encryption_keys": [
           {"id": "a", "key": base64.b64encode(b"k" * 32).decode()}]}, b"x"),
       ("sealed and large", {"compression": "none", "encryption_keys": [
           {"id": "a", "key": base64.b64encode(b"k" * 32).decode()}]},
        b"z" * 200000)])
def the_status_is_read_of_an_answer_that_is(bench, store, body):
    _, gateway = start(bench, answer(202, body), store=store)
    gateway.ask("k", tenant=TENANT)
    equal(state(gateway, "k"), {"state": "completed", "status": 202})


@test
def what_is_done_over_and_over_needs_no_memory(bench):
    """Looks at sealed answers give back what they took."""
    seal = {"encryption_keys": [
        {"id": "a", "key": base64.b64encode(b"k" * 32).decode()}],
        "compression": "none"}
    _, gateway = start(bench, answer(202, b"z" * 100000), store=seal,
                       limits={"in_flight_bytes": "512KiB"})
    gateway.ask("k", tenant=TENANT)
    for _ in range(20):
        equal(state(gateway, "k"), {"state": "completed", "status": 202})


# --- whose key it is ---------------------------------------------------------

@test
def another_tenant_does_not_even_learn_that_a_key_is_used(bench):
    _, gateway = start(bench)
    gateway.ask("k", tenant="Bearer a")
    equal(state(gateway, "k", tenant="Bearer b"), {"state": "none"})
    equal(state(gateway, "k", tenant="Bearer a")["state"], "completed")


@test
def who_says_nothing_of_a_tenant_learns_nothing(bench):
    _, gateway = start(bench)
    gateway.ask("k", tenant="")
    for tenant in (None, ""):
        status, got = look(gateway, "k", tenant=tenant)
        equal((status, got.problem), (400, "scope-missing"))
    status, got = look(gateway, "k", fields=[("Authorization", "b")])
    equal((status, got.problem), (400, "bad-request"))


@test
def where_all_share_one_scope_so_do_the_looks(bench):
    _, gateway = start(bench, idempotency={"scope": []})
    gateway.ask("k", tenant="a")
    equal(state(gateway, "k", tenant=None)["state"], "completed")


@test
def a_namespace_of_the_path_is_of_the_status_path_too(bench):
    upstream = bench.upstream()
    config = configured(
        bench, upstream, {"namespace": "p/{id}"},
        {"path": "/v1/p/{id}", "status_path": "/v1/p/{id}/keys/{key}"})
    gateway = bench.serve(config)
    gateway.ask("k", target="/v1/p/one", tenant=TENANT)
    equal(state(gateway, "k", path="/v1/p/one/keys/")["state"], "completed")
    equal(state(gateway, "k", path="/v1/p/two/keys/")["state"], "none")


# --- keys --------------------------------------------------------------------

@each([("a slash", "a/b"), ("two of them", "a//b/c"), ("a percent", "a%2Fb"),
       ("a question", "what?"), ("a plus", "a+b=="), ("a colon", "a:b"),
       ("a tilde", "~a")])
def a_key_is_found_that_has(bench, key):
    _, gateway = start(bench)
    equal(gateway.ask(key, tenant=TENANT).status, 201)
    equal(state(gateway, key)["state"], "completed")


@test
def a_quoted_key_is_the_same_key(bench):
    _, gateway = start(bench)
    gateway.ask('"a b"', tenant=TENANT)
    gateway.ask("c", tenant=TENANT)
    equal(state(gateway, '"a b"')["state"], "completed")
    equal(state(gateway, '"c"')["state"], "completed")


@each([("a blank", "a b"), ("a comma", "a,b"), ("a quote", 'a"b'),
       ("half a string", '"a'), ("another alphabet", "ä"),
       ("a line", "a\nb"), ("too much", "k" * 256)])
def a_key_is_refused_as_the_header_is_that_has(bench, key):
    _, gateway = start(bench)
    status, got = look(gateway, key)
    equal((status, got.problem), (400, "key-invalid"))


@test
def where_keys_are_quoted_they_are_here(bench):
    _, gateway = start(bench, idempotency={"key_format": "quoted"})
    gateway.ask('"c"', tenant=TENANT)
    equal(look(gateway, "c")[1].problem, "key-invalid")
    equal(state(gateway, '"c"')["state"], "completed")


@test
def a_format_is_asked_for_here_too(bench):
    _, gateway = start(bench, idempotency={"key_format": "uuid"})
    equal(look(gateway, "k")[1].problem, "key-invalid")
    equal(state(gateway, "c1f0b1a0-0000-4000-8000-0123456789ab"),
          {"state": "none"})


@each([("none", ""), ("a dot", "."), ("two", ".."), ("a written dot", "%2E"),
       ("a zero", "%00")])
def what_is_no_key_in_a_path_reaches_nobody_as_one(bench, text):
    upstream, gateway = start(bench)
    _, got = look(gateway, text, quote=False)
    assert got.problem or upstream.count() == 1  # the catch-all's path
    assert b'"state"' not in got.body


# --- Redis -------------------------------------------------------------------

@test
def without_redis_nothing_is_said_of_a_key(bench):
    redis = bench.own_redis("--appendonly", "yes", "--appendfsync", "always")
    _, gateway = start(bench, redis=redis)
    gateway.ask("k", tenant=TENANT)
    redis.kill()
    status, got = look(gateway, "k")
    equal((status, got.problem), (503, "store-unavailable"))
    equal(got.get("Retry-After"), "1")
    redis.start()
    got = eventually(lambda: (lambda got: got.status == 200 and got)(
        look(gateway, "k")[1]))
    equal(got.json(), {"state": "completed", "status": 201})


@test
def a_redis_that_says_nothing_is_no_answer_either(bench):
    redis = bench.own_redis()
    _, gateway = start(bench, redis=redis, store={"timeout": "300ms"})
    redis.freeze()
    equal(look(gateway, "k")[1].problem, "store-unavailable")
    redis.thaw()


@test
def what_is_on_the_disk_is_never_none(bench):
    """Redis is gone when the API has answered, and comes back empty."""
    redis = bench.own_redis()
    upstream, gateway = start(bench, redis=redis)
    keys = [f"k{number}" for number in range(20)]
    hold = upstream.hold()
    asked = [bench.background(gateway.ask, key, tenant=TENANT)
             for key in keys]
    upstream.wait_for(len(keys))
    redis.kill()
    hold.release()
    equal({one.result().status for one in asked}, {201})
    redis.start()
    left = list(keys)

    def all_completed():
        for key in list(left):
            status, got = look(gateway, key)
            if status == 503:
                continue
            state = got.json()["state"]
            assert state in ("in-flight", "completed"), state
            if state == "completed":
                left.remove(key)
        return not left
    eventually(all_completed)


def break_record(redis, change):
    name = next(key for key in redis.keys() if b":r:" in key)
    redis("SET", name, change(redis("GET", name)), "KEEPTTL")


@each([("its head", lambda value: b"?" + value[1:]),
       ("its length", lambda value: value[:60]),
       ("its status", lambda value: value.replace(b"p\n201", b"p\n9x1"))])
def a_damaged_record_is_said(bench, change):
    _, gateway = start(bench, store={"compression": "none"})
    gateway.ask("k", tenant=TENANT)
    break_record(bench.redis, change)
    status, got = look(gateway, "k")
    assert (status, got.problem) in (
        (409, "outcome-unknown"), (500, "store-unavailable")), got.raw
    equal(look(gateway, "k")[0], gateway.ask("k", tenant=TENANT).status)


@test
def an_answer_that_nobody_can_open_is_said(bench):
    def sealing(letter):
        return {"encryption_keys": [{"id": letter, "key": base64.b64encode(
            letter.encode() * 32).decode()}]}
    _, gateway = start(bench, store=sealing("a"))
    gateway.ask("k", tenant=TENANT)
    _, other = start(bench, store=sealing("b"), redis=bench.redis)
    status, got = look(other, "k")
    equal((status, got.problem), (500, "store-unavailable"))


# --- where it is served ------------------------------------------------------

@test
def only_get_and_head_are_served_there(bench):
    upstream, gateway = start(bench)
    for method in ("POST", "DELETE", "PUT", "OPTIONS"):
        got = gateway.send(http.build(
            method, PATH + "k", [("Authorization", TENANT)]))
        equal(got.status, 201)  # the catch-all's
    equal(upstream.count(), 4)


@each([("status", PATH + "k"), ("policy", "/.well-known/idempotency")])
def head_is_answered_as_get_is_without_the_body(bench, path):
    upstream, gateway = start(bench)
    own = [("Authorization", TENANT)]
    whole = gateway.send(http.build("GET", path, own))
    with gateway.client() as client:
        client.send(http.build("HEAD", path, own))
        head = client.read("HEAD")
        equal((head.status, head.body, head.get("Content-Length")),
              (200, b"", str(len(whole.body))))
        # Nothing stands between it and the next answer.
        client.send(http.build("GET", path, own))
        equal(client.read("GET").body, whole.body)
    equal(upstream.count(), 0)


@test
def a_route_before_it_comes_first(bench):
    upstream = bench.upstream()
    config = configured(bench, upstream)
    config["routes"].reverse()
    gateway = bench.serve(config)
    equal(look(gateway, "k")[0], 201)
    equal(upstream.count(), 1)


@test
def the_log_and_the_metrics_know_a_look(bench):
    _, gateway = start(bench, admin={"listen": "127.0.0.1:0"})
    look(gateway, "k")
    line = gateway.wait_for_log("request", outcome="looked-up")
    equal((line["route"], line["method"], line["status"]),
          ("charges", "GET", 200))
    equal(len(line["key_id"]), 32)
    got = http.ask(gateway.ready["admin"], http.build(
        "GET", "/metrics", host="localhost"))
    assert (b'onceproxy_requests_total{route="charges",outcome="looked-up"} 1'
            in got.body)


# --- the configuration -------------------------------------------------------

@each([
    ("no key", {"status_path": "/a"}, {}, "must have {key} once"),
    ("two", {"status_path": "/{key}/{key}"}, {}, "must have {key} once"),
    ("a star", {"status_path": "/{key}/*"}, {}, 'must not end with "*"'),
    ("no path", {"status_path": "a/{key}"}, {}, 'must begin with "/"'),
    ("a namespace that it lacks", {"path": "/v1/{id}"},
     {"namespace": "n/{id}"},
     "must have a variable that the namespace has: {id}"),
    ("a scope that it lacks", {"path": "/v1/{shop}"},
     {"scope": [{"path": "shop"}]},
     "must have a variable that the scope has: {shop}"),
    ("the policy's path", {"status_path": "/a/{key}",
                           "policy_path": "/a/{key}"}, {},
     "the gateway answers there already"),
])
def a_path_is_wrong_that_has(bench, route, idempotency, words):
    config = configured(bench, "http://127.0.0.1:9", idempotency, route)
    got = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(got.returncode, 1)
    assert words in got.stdout, got.stdout


@test
def a_route_without_keys_cannot_be_asked(bench):
    config = configured(bench, "http://127.0.0.1:9")
    del config["routes"][0]["idempotency"]
    got = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(got.returncode, 1)
    for name in ("status_path", "policy_path"):
        assert f'/routes/0/{name}: route "charges": without "idempotency"' in \
            got.stdout, got.stdout


# --- the policy --------------------------------------------------------------

OUTCOMES = {
    "301": "forget", "307": "forget", "308": "forget", "4xx": "store",
    "401": "forget", "403": "forget", "408": "release", "425": "release",
    "429": "release", "5xx": "store", "502": "unknown", "503": "release",
    "504": "unknown"}


@test
def the_policy_says_what_the_route_asks_of_its_clients(bench):
    upstream, gateway = start(bench, idempotency={
        "header": ["A-Key", "B-Key"], "max_length": 40, "retention": "36h",
        "required": False, "fingerprint": {"include": ["body"],
                                           "ignore": ["/at"]},
        "scope": ["X-Tenant"], "key_format": "uuid", "in_flight": "wait"})
    got = gateway.send(http.build("GET", "/.well-known/idempotency"))
    equal((got.status, got.get("Content-Type")), (200, "application/json"))
    said = got.json()
    statuses = said.pop("statuses")
    equal(said, {
        "methods": ["POST"], "path": "/v1/charges",
        "header": ["A-Key", "B-Key"], "max_length": 40, "min_length": 1,
        "key_format": "uuid", "required": False, "scope": ["X-Tenant"],
        "fingerprint": {"include": ["body"], "headers": [], "json": True,
                        "ignore": ["/at"],
                        "only": []},
        "retention": "36h", "retention_seconds": 129600,
        "unknown_retention": "30d", "in_flight": "wait", "outcomes": OUTCOMES,
        "wait_timeout": "10s", "max_request_body": "1MiB",
        "max_response_body": "1MiB", "replay_header": "Idempotent-Replayed",
        "max_attempts": 5, "status_path": PATH + "{key}"})
    equal((statuses["key-reused"], statuses["in-flight"],
           statuses["outcome-unknown"]), (422, 409, [409, 502, 504]))
    equal((statuses["overloaded"], statuses["draining"]), (503, 503))
    assert "key-missing" not in statuses
    equal(upstream.count(), 0)


@test
def the_policy_says_what_makes_the_key(bench):
    _, gateway = start(bench, idempotency={"derive_key": ["/order", "/n"]})
    said = gateway.send(http.build("GET", "/.well-known/idempotency")).json()
    equal(said["derive_key"], ["/order", "/n"])


@test
def the_policy_says_what_names_an_entity_and_its_version(bench):
    _, gateway = start(bench, idempotency={
        "entity": ["/account"], "newer_only": "/version"})
    said = gateway.send(http.build("GET", "/.well-known/idempotency")).json()
    equal((said["entity"], said["newer_only"], said["serialize"]),
          (["/account"], "/version", False))
    equal(said["statuses"]["bad-request"], [400, 501])


@test
def the_policy_tells_nobody_where_keys_are(bench):
    keys = os.path.join(bench.folder(), "keys.json")
    write_keys(keys, Key(bench.folder(), "HS256", "k"))
    _, gateway = start(bench, idempotency={
        "scope": [{"jwt": "sub", "keys": keys, "issuer": "i"}]})
    got = gateway.send(http.build("GET", "/.well-known/idempotency"))
    equal(got.json()["scope"], [{"jwt": "sub", "issuer": "i"}])
    assert keys.encode() not in got.body
    equal(got.json()["statuses"]["token-invalid"], 401)


@test
def the_statuses_are_those_that_the_route_gives(bench):
    _, gateway = start(bench, idempotency={"problems": {"key-reused": 400}})
    statuses = gateway.send(http.build(
        "GET", "/.well-known/idempotency")).json()["statuses"]
    equal((statuses["key-reused"], statuses["in-flight"]), (400, 409))
    assert "token-invalid" not in statuses
    equal(gateway.ask("k").status, 201)
    equal(gateway.ask("k", body=b"another").status, 400)


@test
def the_statuses_are_those_that_are_answered(bench):
    _, gateway = start(bench)
    said = gateway.send(http.build(
        "GET", "/.well-known/idempotency")).json()["statuses"]
    gateway.ask("k", tenant=TENANT)
    for got in (gateway.ask("k", tenant=TENANT, body=b"another"),
                gateway.ask("a,b", tenant=TENANT),
                gateway.ask(tenant=TENANT), gateway.ask("k", tenant=None)):
        equal(got.status, said[got.problem])


@each([("by default", {}, [409, 502, 504]),
       ("with another", {"problems": {"outcome-unknown": 500}}, 500),
       ("with a preset", {"preset": "adyen"}, None)])
def the_statuses_of_an_unknown_outcome_are_told(bench, idempotency, told):
    """When it happens, in whichever way, and for a retry."""
    upstream, gateway = start(bench, close_unanswered, idempotency,
                              options={"timeout": "2s"})
    said = gateway.send(http.build("GET", "/.well-known/idempotency")).json()
    said = said["statuses"]["outcome-unknown"]
    if told is not None:
        equal(said, told)
    met = [gateway.ask("broken", tenant=TENANT).status for _ in range(2)]
    hold = upstream.hold()
    met.append(gateway.ask("late", tenant=TENANT).status)
    hold.release()
    assert set(met) <= set(said if isinstance(said, list) else [said]), met
    equal(len(set(met)), len(said) if isinstance(said, list) else 1)


@test
def a_tenant_of_the_path_sees_only_its_own(bench):
    gateway = bench.serve(own_paths(bench))
    equal(gateway.ask("k", target="/shops/a/charges", tenant=None).status, 201)
    for shop, state in (("a", "completed"), ("b", "none")):
        got = http.ask(gateway.address, http.build(
            "GET", f"/shops/{shop}/keys/k"))
        equal((shop, got.status, got.json()["state"]), (shop, 200, state))


@test
def who_names_no_tenant_is_not_passed_on_with_a_question(bench):
    upstream, gateway = start(bench, idempotency={"scope_missing": "forward"})
    equal(look(gateway, "k", tenant=None)[0], 400)
    equal(upstream.count(), 0)
    equal(gateway.ask("k", tenant=None).status, 201)
    equal(upstream.count(), 1)


def own_paths(bench):
    config = bench.config(bench.upstream(), {"scope": [{"path": "shop"}]})
    config["routes"][0].update(path="/shops/{shop}/charges",
                               status_path="/shops/{shop}/keys/{key}")
    return config


tap.main()
