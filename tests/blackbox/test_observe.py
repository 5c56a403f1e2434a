# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3 (mode): a route that observes forwards everything as it
comes, replays nothing, and counts what it would have done."""

import json
import os

from once import http, tap
from once.admin import Admin
from once.gateway import command, write
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually


def configured(bench, upstream, idempotency=None, **members):
    config = bench.config(upstream, idempotency, cache={"size": 0}, **members)
    config["admin"] = {"listen": "unix:" + os.path.join(
        bench.folder(), "admin")}
    config["routes"][0]["mode"] = "observe"
    return config


def start(bench, reply=None, idempotency=None, **members):
    upstream = bench.upstream(reply)
    return upstream, bench.serve(
        configured(bench, upstream, idempotency, **members))


def would(gateway):
    """What it would have done, as the report says it."""
    (route,) = Admin(gateway).get("/observed")["routes"]
    equal(route["route"], "charges")
    return route["would"]


def expect(gateway, **wanted):
    wanted = {name.replace("_", "-"): n for name, n in wanted.items()}
    eventually(lambda: would(gateway) == wanted,
               f"{wanted}; now {would(gateway)}")


def pay(bench, gateway, *args, redis=None, **kwargs):
    """A request that has its answer, was counted, and is no longer in flight
    in Redis.  Its own question may come there after the answer."""
    redis = redis or bench.redis
    before = sum(would(gateway).values())
    got = gateway.ask(*args, **kwargs)

    def settled():
        return sum(would(gateway).values()) > before and all(
            redis("GETRANGE", name, 0, 0) != b"P"
            for name in redis.keys() if b":o:" in name)
    eventually(settled)
    return got


def counted():
    count = [0]

    def reply(connection, request):
        count[0] += 1
        connection.send(answer(201, b"execution %d" % count[0]))
    return reply


# --- what is forwarded -------------------------------------------------------

@test
def every_request_reaches_the_api_and_none_is_replayed(bench):
    upstream, gateway = start(bench, counted())
    for number in (1, 2, 3):
        got = pay(bench, gateway, "k")
        equal((got.status, got.body, got.replayed),
              (201, b"execution %d" % number, False))
        expect(gateway, executed=1, **(
            {"replayed": number - 1} if number > 1 else {}))
    equal(upstream.count(), 3)


@each([("no key", dict(key=None), "key-missing"),
       ("a bad key", dict(key="a,b"), "key-invalid"),
       ("no tenant", dict(key="k", tenant=None), "scope-missing"),
       ("two tenants", dict(key="k", fields=[("Authorization", "b")]),
        "bad-request"),
       ("too large a body", dict(key="k", body=b"x" * 3000), "too-large"),
       ("too large by far", dict(key="k", body=b"x" * 100000), "too-large")])
def what_would_be_refused_is_forwarded(bench, how, wanted):
    upstream, gateway = start(bench, idempotency={"max_request_body": 2000})
    equal(gateway.ask(**how).status, 201)
    (request,) = upstream.requests
    equal(request.body, how.get("body", http.BODY))
    equal(request.all("Authorization"), [
        v for n, v in ([("", how.get("tenant", http.TENANT))]
                       if how.get("tenant", "") is not None else [])
    ] + [v for n, v in how.get("fields", ())])
    eventually(lambda: would(gateway) == {wanted: 1})


@test
def a_body_that_nobody_knows_the_length_of_is_passed_on(bench):
    upstream, gateway = start(bench)
    with gateway.client() as client:
        client.send(http.build("POST", "/v1/charges", [
            ("Idempotency-Key", "k"), ("Authorization", "t"),
            ("Transfer-Encoding", "chunked")], None))
        client.send(b"3\r\nabc\r\n0\r\n\r\n")
        equal(client.read().status, 201)
    equal(upstream.requests[0].body, b"abc")
    expect(gateway, not_observed=1)


@test
def the_api_sees_what_the_client_sent_and_nothing_more(bench):
    upstream, gateway = start(bench, idempotency={
        "derive_key": ["/order"], "send_derived": True})
    pay(bench, gateway, body=b'{"order": 1}')
    (request,) = upstream.requests
    equal(request.get("Idempotency-Key"), None)
    equal(request.get("Idempotency-Attempt"), None)
    pay(bench, gateway, body=b'{"order": 1}')
    expect(gateway, executed=1, replayed=1)


# --- what would have been done -----------------------------------------------

@test
def another_request_with_the_key_would_be_a_mismatch(bench):
    _, gateway = start(bench)
    pay(bench, gateway, "k", body=b"one")
    expect(gateway, executed=1)
    equal(pay(bench, gateway, "k", body=b"other").status, 201)
    expect(gateway, executed=1, mismatch=1)


@test
def another_tenants_key_is_another_key(bench):
    _, gateway = start(bench)
    pay(bench, gateway, "k", tenant="a")
    pay(bench, gateway, "k", tenant="b")
    expect(gateway, executed=2)


@test
def a_retry_beside_the_first_would_find_it_in_flight(bench):
    upstream, gateway = start(bench)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    # Its own question is in Redis before it is answered, or soon.
    eventually(lambda: any(b":o:" in name for name in bench.redis.keys()))
    upstream.reply = answer(202)
    equal(gateway.ask("k").status, 202)  # not kept waiting
    expect(gateway, executed=1, in_flight=1)
    hold.release()
    equal(first.result().status, 201)


@each([("hold", {}, "unknown"), ("retry", {"on_unknown": "retry"},
                                 "executed")])
def after_an_unknown_outcome(bench, idempotency, wanted):
    upstream, gateway = start(bench, close_unanswered, idempotency)
    gateway.ask("k")
    expect(gateway, executed=1)
    eventually(lambda: b"U" == bench.redis(
        "GETRANGE", next(n for n in bench.redis.keys() if b":o:" in n), 0, 0))
    upstream.reply = answer()
    equal(gateway.ask("k").status, 201)
    eventually(lambda: would(gateway) == (
        {"executed": 2} if wanted == "executed"
        else {"executed": 1, "unknown": 1}))


@test
def an_answer_that_says_that_nothing_happened_frees_the_key(bench):
    upstream, gateway = start(bench, answer(503))
    equal(pay(bench, gateway, "k").status, 503)
    eventually(lambda: not any(
        b":o:" in name for name in bench.redis.keys())
        and would(gateway) == {"executed": 1})
    upstream.reply = answer()
    pay(bench, gateway, "k")
    expect(gateway, executed=2)


@test
def two_gateways_observe_together(bench):
    upstream, gateway = start(bench)
    other = bench.serve(configured(bench, upstream))
    pay(bench, gateway, "k")
    expect(gateway, executed=1)
    pay(bench, other, "k")
    expect(other, replayed=1)


# --- the store ----------------------------------------------------------------

@test
def while_redis_is_away_all_is_forwarded_and_not_observed(bench):
    redis = bench.own_redis()
    upstream, gateway = start(bench, redis=redis)
    redis.kill()
    gateway.wait_for_log("store_down")
    for _ in range(5):
        equal(gateway.ask("k").status, 201)
    expect(gateway, not_observed=5)
    equal(upstream.count(), 5)


@test
def a_redis_that_says_nothing_delays_nobody(bench):
    """The answer is here long before the store's timeout."""
    redis = bench.own_redis()
    _, gateway = start(bench, redis=redis, store={"timeout": "1h"})
    redis.freeze()
    for _ in range(5):
        equal(gateway.ask("k").status, 201)
    equal(would(gateway), {})
    redis.thaw()


@test
def a_full_redis_refuses_nobody(bench):
    redis = bench.own_redis()
    _, gateway = start(bench, redis=redis)
    redis("CONFIG", "SET", "maxmemory", "1")
    equal(gateway.ask("k").status, 201)
    expect(gateway, not_observed=1)


@test
def no_record_is_made_and_no_event(bench):
    redis = bench.own_redis()
    _, gateway = start(bench, redis=redis, store={"events": {"maxlen": 100}})
    pay(bench, gateway, redis=redis, key="k")
    pay(bench, gateway, redis=redis, key="k")
    expect(gateway, executed=1, replayed=1)
    names = [name for name in redis.keys() if not name.endswith(b":store")]
    equal(len(names), 1)
    assert b":o:" in names[0], names
    assert redis("PTTL", names[0]) > 0
    equal(Admin(gateway).get("/keys")["keys"], [])


@test
def nothing_of_what_redis_has_is_believed(bench):
    _, gateway = start(bench)
    pay(bench, gateway, "k")
    expect(gateway, executed=1)
    (name,) = [n for n in bench.redis.keys() if b":o:" in n]
    for value in (b"", b"\xff\0odd", b"C" * 400):
        bench.redis("SET", name, value)
        equal(pay(bench, gateway, "k").status, 201)
    expect(gateway, executed=4)
    bench.redis("DEL", name)
    bench.redis("RPUSH", name, "x")
    equal(gateway.ask("k").status, 201)
    expect(gateway, executed=4, not_observed=1)


# --- turning it off and on ---------------------------------------------------

@test
def what_was_only_observed_is_never_replayed(bench):
    upstream, gateway = start(bench, counted())
    gateway.ask("k")
    expect(gateway, executed=1)
    config = gateway.config
    config["routes"][0]["mode"] = "enforce"
    write(gateway.file, config)
    gateway.signal(1)
    gateway.wait_for_log("reloaded")
    got = eventually(lambda: (lambda got: b"2" in got.body and got)(
        gateway.ask("k")))
    equal((got.status, got.replayed), (201, False))
    again = gateway.ask("k")
    equal((again.body, again.replayed), (b"execution 2", True))


@test
def what_was_enforced_is_forwarded_again_once_it_observes(bench):
    upstream = bench.upstream(counted())
    config = configured(bench, upstream)
    config["routes"][0]["mode"] = "enforce"
    gateway = bench.serve(config)
    gateway.ask("k")
    assert gateway.ask("k").replayed
    config["routes"][0]["mode"] = "observe"
    other = bench.serve({**config, "state_dir": bench.folder(), "admin": {
        "listen": "unix:" + os.path.join(bench.folder(), "admin")}})
    equal(other.ask("k").body, b"execution 2")
    assert gateway.ask("k").replayed  # its record stands


# --- the report --------------------------------------------------------------

@test
def what_was_observed_before_a_reload_stays_in_the_report(bench):
    """It is what the reload was decided by."""
    _, gateway = start(bench)
    for _ in range(2):
        pay(bench, gateway, "k")
    seen = {"route": "charges", "would": {"executed": 1, "replayed": 1}}
    equal(Admin(gateway).get("/observed")["routes"],
          [{**seen, "observes": True}])
    config = gateway.config
    config["routes"][0]["mode"] = "enforce"
    write(gateway.file, config)
    gateway.signal(1)
    gateway.wait_for_log("reloaded")
    report = Admin(gateway).get("/observed")
    equal(report["routes"], [{**seen, "observes": False}])
    equal([one["route"] for one in report["duplicates"]], ["charges"])


@test
def a_route_that_never_observed_is_not_in_the_report(bench):
    upstream = bench.upstream()
    config = configured(bench, upstream)
    config["routes"][0]["mode"] = "enforce"
    gateway = bench.serve(config)
    gateway.ask("k")
    equal(Admin(gateway).get("/observed"), {"routes": [], "duplicates": []})


@test
def the_report_has_the_last_duplicates(bench):
    _, gateway = start(bench, answer(207))
    pay(bench, gateway, "k", fields=[("X-Request-Id", "first")])
    expect(gateway, executed=1)
    pay(bench, gateway, "k", fields=[("X-Request-Id", "again")])
    expect(gateway, executed=1, replayed=1)
    (one,) = Admin(gateway).get("/observed")["duplicates"]
    line = gateway.wait_for_log("observed")
    equal((one["route"], one["would"], one["request_id"],
           one["first_request_id"], one["first_status"]),
          ("charges", "replayed", "again", "first", 207))
    equal((line["key_id"], line["would"], line["first_request_id"]),
          (one["key_id"], "replayed", "first"))
    assert one["first_time"] <= one["time"], one


@test
def the_report_is_no_longer_than_it_may_be(bench):
    _, gateway = start(bench)
    pay(bench, gateway, "k")
    expect(gateway, executed=1)
    for _ in range(70):
        pay(bench, gateway, "k")
    expect(gateway, executed=1, replayed=70)
    equal(len(Admin(gateway).get("/observed")["duplicates"]), 64)


@test
def the_metrics_count_it(bench):
    _, gateway = start(bench)
    pay(bench, gateway, "k")
    expect(gateway, executed=1)
    pay(bench, gateway, "k")
    expect(gateway, executed=1, replayed=1)
    got = Admin(gateway).send("GET", "/metrics").body.decode()
    for word in ("executed", "replayed"):
        assert (f'onceproxy_observed_total{{route="charges",would="{word}"}}'
                " 1\n") in got, got
    passed = 'onceproxy_requests_total{route="charges",outcome="passed"} 2'
    eventually(lambda: passed in Admin(gateway).send(
        "GET", "/metrics").body.decode(), "both are counted")


# --- the configuration -------------------------------------------------------

def check(bench, config):
    return command("check", "-c", bench.file(json.dumps(config).encode()))


@test
def a_route_without_keys_cannot_observe(bench):
    config = configured(bench, "http://127.0.0.1:9")
    del config["routes"][0]["idempotency"]
    got = check(bench, config)
    equal(got.returncode, 1)
    assert '/routes/0/mode: route "charges": a route without "idempotency"' in \
        got.stdout, got.stdout


@test
def what_observes_promises_nothing_that_could_be_asked_about(bench):
    config = configured(bench, "http://127.0.0.1:9")
    config["routes"][0]["status_path"] = "/a/{key}"
    got = check(bench, config)
    equal(got.returncode, 1)
    assert 'promises nothing of its keys: leave this out until "mode" is ' \
        '"enforce"' in got.stdout, got.stdout


@test
def no_source_leads_to_a_route_that_observes(bench):
    config = configured(bench, "http://127.0.0.1:9",
                        {"scope": [], "retention": "7d"})
    config["brokers"] = {"q": {"redis": "redis://127.0.0.1:1/0"}}
    config["sources"] = {"s": {"broker": "q", "stream": "s",
                               "request": {"path": "/v1/charges"}}}
    got = check(bench, config)
    equal(got.returncode, 1)
    assert "which only observes" in got.stdout, got.stdout


tap.main()
