# SPDX-License-Identifier: BSD-2-Clause
"""Messages of a Redis stream: each is executed once, and acknowledged when its
record is COMPLETED (a test for each row of the contract's table)."""

import datetime
import email.utils
import json
import os
import re
import signal
import time

from once import tap
from once.admin import Admin
from once.gateway import write
from once.messages import Stream, as_text, id_of, releasing, source
from once.tap import each, equal, test
from once.upstream import Hold, answer, close_unanswered
from once.wait import eventually


def reload(gateway, config):
    since = len(gateway.events)
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded", since)


def lasting_redis(bench):
    """A Redis that keeps what it has over its own death."""
    return bench.own_redis("--appendonly", "yes", "--appendfsync", "always")


def started(bench, upstream, idempotency=None, members=None, stream=None,
            **more):
    """A stream, and a gateway that reads it."""
    stream = stream or Stream(lasting_redis(bench))
    config = bench.config(upstream, idempotency, **more)
    source(config, stream, **(members or {}))
    return stream, bench.serve(config)


def wait_until_older(position, ms):
    made_ms = int(position.split(b"-")[0])
    eventually(lambda: time.time() * 1000 > made_ms + ms, "it is too old")


@test
def a_message_is_executed_once_and_acknowledged(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream)
    stream.add(body=b'{"amount":5}', idempotency_key="k1")
    gateway.wait_for_log("message", outcome="executed")
    equal(stream.pending(), [])
    equal(upstream.count(key="k1"), 1)
    request = upstream.requests[0]
    equal((request.method, request.target, request.body),
          ("POST", "/v1/charges", b'{"amount":5}'))
    equal(request.get("Content-Type"), "application/json")
    equal(request.get("Idempotency-Attempt"), "1")
    equal(request.get("X-Forwarded-For"), None)


@test
def the_same_key_by_http_and_by_message_is_one_execution(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream)
    first = gateway.ask("k", body=b'{"amount":5}')
    equal(first.status, 201)
    stream.add(body=b'{"amount":5}', idempotency_key="k")
    gateway.wait_for_log("message", outcome="duplicate")
    stream.add(body=b'{"amount":6}', idempotency_key="m")
    gateway.wait_for_log("message", outcome="executed")
    again = gateway.ask("m", body=b'{"amount":6}')
    equal((again.status, again.replayed), (201, True))
    equal(upstream.count(), 2)
    equal(stream.pending(), [])


@test
def what_another_has_completed_meanwhile_is_a_duplicate(bench):
    """Its execution was under way for longer than its lease."""
    hold = Hold()

    def script(connection, request):
        if request.get("Idempotency-Attempt") == "1":
            hold.wait()
        connection.send(answer(201, b'{"id":"%d"}' % connection.number))
    upstream = bench.upstream(script)
    stream, gateway = started(
        bench, upstream, {"lease": "1s"}, {"results": {"stream": "done"}})
    config = {name: value for name, value in gateway.config.items()
              if name not in ("sources", "brokers")}
    other = bench.serve({**config, "state_dir": bench.folder(),
                         "admin": {"listen": "127.0.0.1:0"}})
    stream.add(body=b"{}", idempotency_key="k")
    hold.wait_arrived()
    gateway.freeze()
    eventually(lambda: other.ask("k", body=b"{}").problem ==
               "outcome-unknown", "nobody knows any more")
    key_id = other.wait_for_log("request")["key_id"]
    equal(Admin(other).post(f"/keys/{key_id}/release").status, 200)
    told = other.ask("k", body=b"{}")
    equal(told.status, 201)
    gateway.thaw()
    hold.release()
    gateway.wait_for_log("message", outcome="duplicate")
    result, = stream.entries("done")
    equal((result["body"], "onceproxy-duplicate" in result),
          (told.body, True))


@test
def a_gateway_killed_in_the_middle_leaves_the_message(bench):
    upstream = bench.upstream()
    idempotency = {"lease": "1s"}
    stream, gateway = started(
        bench, upstream, idempotency,
        {"hold": "1h", "results": {"stream": "done"}})
    hold = upstream.hold()
    stream.add(body=b"{}", idempotency_key="k")
    hold.wait_arrived()
    gateway.kill()
    hold.release()
    second = bench.serve(gateway.config)
    second.wait_for_log("message_held", source="charges")
    equal(len(stream.pending()), 1)
    equal(upstream.count(), 1)
    equal(stream.entries("done"), [])


@test
def what_an_operator_completes_ends_a_held_message(bench):
    upstream = bench.upstream(close_unanswered)
    stream, gateway = started(bench, upstream, admin={
        "listen": "127.0.0.1:0"})
    stream.add(body=b"{}", idempotency_key="k")
    held = gateway.wait_for_log("message_held", source="charges")
    Admin(gateway).act(held["key_id"], "complete", {
        "status": 201, "headers": {}, "body": "{}"})
    gateway.wait_for_log("message", outcome="duplicate")
    equal(stream.pending(), [])
    equal(upstream.count(), 1)


@test
def a_held_message_hears_at_once_what_another_gateway_knows(bench):
    """Not only when it looks again, after half a minute."""
    upstream = bench.upstream()
    idempotency = {"lease": "1s"}
    stream, gateway = started(bench, upstream, idempotency)
    config = bench.config(upstream, idempotency)
    other = bench.serve(config)
    hold = upstream.hold()
    asked = bench.background(other.ask, "k", body=b"{}")
    hold.wait_arrived()
    other.signal(signal.SIGSTOP)
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message_held", source="charges")
    began = time.monotonic()
    hold.release()
    other.signal(signal.SIGCONT)
    gateway.wait_for_log("message", outcome="duplicate")
    assert time.monotonic() - began < 10, "it has only looked again"
    equal(asked.result().status, 201)
    equal((upstream.count(), stream.pending()), (1, []))


@test
def what_an_operator_releases_may_be_held_again(bench):
    upstream = bench.upstream(close_unanswered)
    stream, gateway = started(bench, upstream, members={"hold": "1h"}, admin={
        "listen": "127.0.0.1:0"})
    stream.add(body=b"{}", idempotency_key="k")
    held = gateway.wait_for_log("message_held", source="charges")
    since = len(gateway.events)
    Admin(gateway).act(held["key_id"], "release")
    gateway.wait_for_log("message_held", since, key_id=held["key_id"])
    equal(len(stream.pending()), 1)
    equal(upstream.count(), 2)


REFUSED = [
    ("nothing can be made of the body",
        {"request": {"path": "/v1/{json:/a}/x", "method": "POST"}},
        {"body": b"no json", "idempotency_key": "k"}, "malformed", ""),
    ("a value of the path that walks up",
        {"request": {"path": "/v1/{json:/a}/x", "method": "POST"}},
        {"body": b'{"a":".."}', "idempotency_key": "k"}, "malformed", ""),
    ("a value of the path with a control character",
        {"request": {"path": "/v1/{json:/a}/x", "method": "POST"}},
        {"body": b'{"a":"a\\tb"}', "idempotency_key": "k"}, "malformed",
        "usable value"),
    ("a value of the path with a slash",
        {"request": {"path": "/v1/{json:/a}/x", "method": "POST"}},
        {"body": b'{"a":"a/b"}', "idempotency_key": "k"}, "malformed",
        "bad-request: the path can be read as two"),
    ("a value of a header with a control character",
        {"request": {"path": "/v1/charges", "headers": {
            "Authorization": "Bearer t", "X-A": "{json:/a}"}}},
        {"body": b'{"a":"a\\u007fb"}', "idempotency_key": "k"}, "malformed",
        "X-A has a variable"),
    ("a key that is none",
        {}, {"body": b"{}", "idempotency_key": "a b"}, "malformed",
        "key-invalid"),
    ("two keys", {}, {"body": b"{}", "idempotency_key": "a",
                      "Idempotency-Key": "b"}, "malformed", "key-invalid"),
    ("two keys in a field of its own", {"key": {"header": "Order"}},
        {"body": b"{}", "order": "a", "ORDER": "b"}, "malformed",
        "key-invalid"),
    ("a header that is not there",
        {"key": {"header": "Order"}}, {"body": b"{}"}, "key-missing",
        'it has no field "Order"'),
    ("members that the key is made of are missing",
        {"key": ["/order_id"]}, {"body": b'{"other":1}'}, "key-missing",
        "it has no key, because /order_id is missing, null or empty"),
    ("one of the members that the key is made of is null",
        {"key": ["/order/id", "/order/act"]},
        {"body": b'{"order":{"id":1,"act":null}}'}, "key-missing",
        "it has no key, because /order/act is missing, null or empty"),
    ("a member with a slash in its name",
        {"key": ["/order~1id"]}, {"body": b"{}"}, "key-missing",
        "it has no key, because /order~1id is missing, null or empty"),
    ("members of a body that is no JSON",
        {"key": ["/order_id"]}, {"body": b"order_id=1"}, "key-missing",
        "it has no key, because the body of this request is not JSON"),
    ("a body that is too large",
        {}, {"body": b'"' + b"x" * 2000 + b'"', "idempotency_key": "k"},
        "too-large", ""),
    ("fields that are no utf-8",
        {}, {"name": b"\xff\xfe", "idempotency_key": "k"}, "malformed", ""),
]


@each(REFUSED)
def what_can_never_be_executed_is_a_dead_letter(
        bench, members, fields, reason, detail):
    upstream = bench.upstream()
    stream = Stream(bench.own_redis())
    config = bench.config(upstream, {"max_request_body": "1KiB"})
    config["routes"].insert(0, {
        "name": "x", "path": "/v1/{a}/x", "upstream": "api",
        "idempotency": {"max_request_body": "1KiB"}})
    source(config, stream, **members)
    gateway = bench.serve(config)
    entry = stream.add(**fields)
    gateway.wait_for_log("message", reason=reason)
    equal(stream.pending(), [])
    dead, = stream.entries("charges:dead")
    equal((dead["onceproxy-reason"], dead["onceproxy-source"],
           dead["onceproxy-position"]),
          (reason.encode(), b"charges", entry))
    for name, value in fields.items():
        equal(dead[name], value if isinstance(value, bytes)
              else value.encode())
    assert detail.encode() in dead.get("onceproxy-detail", b""), dead
    equal(upstream.count(), 0)
    equal([key for key in bench.redis.keys() if b":r:" in key], [])


@each([
    ("is no JSON", b"account=1",
     b"it has nothing to be ordered by, because the body of this request is "
     b"not JSON, or has a member twice."),
    ("lacks them", b"{}", b"it has nothing to be ordered by, because /account "
     b"is missing, null or empty in this request.")])
def a_body_that_is_to_be_ordered_by_its_members_and_cannot_be_says_why(
        bench, body, detail):
    upstream = bench.upstream()
    stream, gateway = started(
        bench, upstream, members={"order_by": ["/account"]})
    stream.add(body=body, idempotency_key="k")
    gateway.wait_for_log("message", reason="malformed")
    dead, = stream.entries("charges:dead")
    equal((dead["onceproxy-detail"], dead["body"]), (detail, body))
    equal(upstream.count(), 0)


@test
def what_memory_can_never_hold_keeps_nobody_from_going_on(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream, {"max_request_body": "256KiB"},
                              limits={"in_flight_bytes": "1MiB"})
    stream.add(body=b"x" * 900_000, idempotency_key="k1")
    stream.add(body=b"{}", idempotency_key="k2")
    gateway.wait_for_log("message", outcome="executed")
    gateway.wait_for_log("message", reason="too-large")
    dead, = stream.entries("charges:dead")
    equal((len(dead["body"]), upstream.count(key="k2")), (900_000, 1))
    equal(stream.pending(), [])


@test
def a_message_that_is_too_old_is_a_dead_letter(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream, None, {"max_age": "1h"})
    stream.add("1500000000000-0", body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", reason="expired")
    dead, = stream.entries("charges:dead")
    equal(dead["onceproxy-reason"], b"expired")
    equal((upstream.count(), stream.pending()), (0, []))


@test
def a_held_message_that_has_become_too_old_is_held_by_the_next_reader(bench):
    upstream = bench.upstream(close_unanswered)
    stream, gateway = started(bench, upstream, None, {"max_age": "3s"})
    position = stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message_held")
    gateway.kill()
    wait_until_older(position, 3000)
    again = bench.serve(gateway.config)
    again.wait_for_log("message_held", position=position.decode())
    equal((stream.entries("charges:dead"), stream.pending()), ([], [position]))
    equal(upstream.count(), 1)


@test
def a_stored_message_that_has_become_too_old_is_a_duplicate(bench):
    upstream = bench.upstream()
    stream, gateway = started(
        bench, upstream, None, {"max_age": "3s", "results": {"stream": "r"}})
    first = stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="executed")
    gateway.kill()
    wait_until_older(first, 3000)
    stream.redis("XGROUP", "SETID", stream.name, stream.group, "0")
    bench.serve(gateway.config).wait_for_log("message", outcome="duplicate")
    equal((stream.entries("charges:dead"), stream.pending()), ([], []))
    equal((len(stream.entries("r")), upstream.count()), (2, 1))


@test
def a_refusal_is_a_dead_letter_with_the_answer(bench):
    upstream = bench.upstream(answer(422, b'{"no":"money"}'))
    stream, gateway = started(bench, upstream)
    stream.add(body=b"{}", idempotency_key="k")
    done = gateway.wait_for_log("message", outcome="refused")
    dead, = stream.entries("charges:dead")
    equal((dead["onceproxy-reason"], dead["onceproxy-status"],
           dead["onceproxy-answer"], dead["onceproxy-attempt"],
           dead["onceproxy-key-id"], dead["body"]),
          (b"refused", b"422", b'{"no":"money"}', b"1",
           done["key_id"].encode(), b"{}"))
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="duplicate", reason="refused")
    equal((upstream.count(), stream.pending()), (1, []))


@test
def a_refusal_may_be_acknowledged(bench):
    upstream = bench.upstream(answer(422))
    stream, gateway = started(bench, upstream, None, {"refused": "ack"})
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="refused")
    equal((stream.pending(), stream.entries("charges:dead")), ([], []))


@each([("a result", 201, "done"), ("a letter", 422, "charges:dead")])
def an_answer_that_is_larger_than_all_memory_is_not_waited_for(
        bench, status, place):
    """It was kept before there was less; only its status counts."""
    upstream = bench.upstream(answer(status, bytes(range(256)) * 12288))
    stream = Stream(lasting_redis(bench))
    config = bench.config(upstream, {"max_response_body": "4MiB"})
    first = bench.serve(config)
    equal(first.ask("k", body=b"{}").status, status)
    first.stop()
    source(config, stream, results={"stream": "done"})
    config["routes"][0]["idempotency"] = {
        "max_response_body": "256KiB", "max_request_body": "64KiB"}
    config["limits"] = {"in_flight_bytes": "2MiB"}
    gateway = bench.serve(config)
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="duplicate")
    put, = stream.entries(place)
    equal((put["onceproxy-status"], upstream.count()),
          (str(status).encode(), 1))
    assert sum(map(len, put.values())) < 1000, put


@test
def a_result_goes_out_with_the_acknowledgement(bench):
    upstream = bench.upstream(answer(201, b'{"id":"ch_7"}', [
        ("Content-Type", "application/json")]))
    stream, gateway = started(
        bench, upstream, None, {"results": {"stream": "done"}})
    entry = stream.add(body=b"{}", idempotency_key="k")
    done = gateway.wait_for_log("message", outcome="executed")
    again = stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="duplicate")
    first, second = stream.entries("done")
    equal(first, {
        "content-type": b"application/json", "onceproxy-status": b"201",
        "onceproxy-key-id": done["key_id"].encode(),
        "onceproxy-attempt": b"1", "onceproxy-source": b"charges",
        "onceproxy-position": entry, "body": b'{"id":"ch_7"}'})
    equal((second["onceproxy-duplicate"], second["onceproxy-position"],
           second["body"]), (b"true", again, b'{"id":"ch_7"}'))
    equal(stream.pending(), [])


@each([("in a result", 201, "executed", "done"),
       ("in a dead letter", 422, "refused", "charges:dead")])
def an_answer_too_large_to_keep_is_none(bench, status, outcome, place):
    """As it is for a message that finds it stored: no empty one."""
    upstream = bench.upstream(answer(status, b"x" * 5000, [
        ("Content-Type", "application/json")]))
    stream, gateway = started(
        bench, upstream, {"max_response_body": "1KiB"},
        {"results": {"stream": "done"}})
    stream.add(idempotency_key="k")
    gateway.wait_for_log("message", outcome=outcome)
    stream.add(idempotency_key="k")
    gateway.wait_for_log("message", outcome="duplicate")
    first, second = stream.entries(place)
    equal(first["onceproxy-status"], str(status).encode())
    equal({"body", "content-type", "onceproxy-answer"} & set(first), set())
    changed = {"onceproxy-position", "onceproxy-duplicate",
               "onceproxy-first"}
    equal(*({name: value for name, value in entry.items()
             if name not in changed} for entry in (first, second)))
    equal((upstream.count(), stream.pending()), (1, []))


@test
def another_message_with_one_key_is_never_acknowledged_away(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream)
    stream.add(body=b'{"a":1}', idempotency_key="k")
    gateway.wait_for_log("message", outcome="executed")
    first = upstream.requests[0].get("X-Request-Id")
    stream.add(body=b'{"a":2}', idempotency_key="k")
    told = gateway.wait_for_log("message", outcome="mismatch")
    dead, = stream.entries("charges:dead")
    equal(told["detail"], f"its key is that of request {first}, of the same "
          "method and path, but another query, body or header")
    equal(dead["onceproxy-detail"].decode(), told["detail"])
    equal((dead["onceproxy-reason"], dead["body"]), (b"mismatch", b'{"a":2}'))
    equal(upstream.count(), 1)


@test
def a_dead_letter_has_the_label_that_people_know_it_by(bench):
    upstream = bench.upstream(answer(422))
    stream, gateway = started(bench, upstream, {"label": ["/order"]})
    stream.add(body=b'{"order":"o-17"}', idempotency_key="k")
    stream.add(body=b"{}", idempotency_key="l")
    eventually(lambda: len(stream.entries("charges:dead")) == 2)
    equal({(e["idempotency_key"], e.get("onceproxy-label"))
           for e in stream.entries("charges:dead")},
          {(b"k", b"o-17"), (b"l", None)})


@each([("is released", 503), ("is forgotten", 401)])
def a_release_is_tried_again_until_attempts_are_used_up(bench, status):
    """One counts where another message was executed since the last one; where
    nothing stays of a client's first attempt (401), a message's counts all the
    same: it comes again by itself."""
    stream = Stream(lasting_redis(bench))
    upstream = bench.upstream(releasing(stream, answer(status)))
    _, gateway = started(
        bench, upstream, None,
        {"retry": {"first": "10ms", "most": "20ms", "attempts": 3}}, stream)
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="exhausted")
    dead, = stream.entries("charges:dead")
    equal(dead["onceproxy-reason"], b"exhausted")
    equal((upstream.count(key="k"), stream.pending()), (4, []))


@each([("a time of its own", lambda: "172800", 172000),
       ("a date", lambda: email.utils.formatdate(time.time() + 7200,
                                                 usegmt=True), 7000)])
def an_upstream_that_wants_to_be_left_alone_is(bench, said, least_s):
    upstream = bench.upstream(answer(503, b"", [("Retry-After", said())]))
    stream, gateway = started(
        bench, upstream, None,
        {"retry": {"first": "10ms", "most": "20ms", "attempts": 3}},
        admin={"listen": "127.0.0.1:0"})
    stream.add(body=b"{}", idempotency_key="k")
    admin = Admin(gateway)
    found, = eventually(lambda: admin.get("/messages")["messages"],
                        "it is tried again later")
    at = datetime.datetime.fromisoformat(found["next_try"]).timestamp()
    assert at - time.time() > least_s, found
    equal(upstream.count(), 1)


@test
def a_stale_version_is_acknowledged(bench):
    upstream = bench.upstream()
    stream, gateway = started(
        bench, upstream, {"entity": ["/account"], "newer_only": "/version"})
    stream.add(body=b'{"account":"a","version":2}', idempotency_key="k2")
    gateway.wait_for_log("message", outcome="executed")
    stream.add(body=b'{"account":"a","version":1}', idempotency_key="k1")
    gateway.wait_for_log("message", outcome="stale")
    equal((upstream.count(), stream.pending()), (1, []))


@test
def who_is_in_flight_elsewhere_is_waited_for(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream, log={"level": "debug"})
    hold = upstream.hold()
    client = bench.background(gateway.ask, "k", body=b"{}")
    hold.wait_arrived()
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_steps("WAIT", 1)
    hold.release()
    equal(client.result().status, 201)
    gateway.wait_for_log("message", outcome="duplicate")
    equal((upstream.count(), stream.pending()), (1, []))


@test
def an_outcome_that_nobody_knows_is_held_and_then_a_dead_letter(bench):
    upstream = bench.upstream(close_unanswered)
    stream, gateway = started(bench, upstream, None, {"hold": "300ms"})
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="unknown")
    dead, = stream.entries("charges:dead")
    equal((dead["onceproxy-reason"], dead["onceproxy-attempt"]),
          (b"unknown", b"1"))
    equal((upstream.count(), stream.pending()), (1, []))
    equal(gateway.ask("k", body=b"{}").problem, "outcome-unknown")


def first_unanswered():
    """Closes the connection of the first request; answers all others."""
    seen = []

    def script(connection, request):
        seen.append(request)
        if len(seen) == 1:
            connection.close()
        else:
            connection.send(answer())
    return script


@test
def an_unknown_outcome_may_be_tried_again(bench):
    upstream = bench.upstream(first_unanswered())
    stream, gateway = started(
        bench, upstream, {"on_unknown": "retry"},
        {"retry": {"first": "10ms", "most": "10ms", "attempts": 5}})
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="executed")
    equal((upstream.count(), stream.pending()), (2, []))


@test
def an_outage_of_the_upstream_counts_against_no_message(bench):
    path = os.path.join(bench.folder(), "api")
    stream, gateway = started(
        bench, f"unix:{path}", None,
        {"retry": {"first": "10ms", "most": "10ms", "attempts": 2}},
        options={"timeout": "5s"})
    for n in range(20):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    gateway.wait_for_log("source_stands", reason="upstream")
    equal(stream.entries("charges:dead"), [])
    upstream = bench.upstream(unix=path)
    gateway.wait_for_log("source_goes", reason="upstream")
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == 20, "all are executed")
    equal(stream.pending(), [])
    for n in range(20):
        equal(upstream.count(key=f"k{n}"), 1)


@test
def an_outage_of_the_store_counts_against_no_message(bench):
    upstream = bench.upstream()
    store = bench.own_redis()
    stream, gateway = started(
        bench, upstream, None,
        {"retry": {"first": "10ms", "most": "10ms", "attempts": 2}},
        redis=store)
    stream.add(body=b"{}", idempotency_key="k0")
    gateway.wait_for_log("message", outcome="executed")
    store.kill()
    for n in range(1, 10):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    gateway.wait_for_log("source_stands", reason="store")
    equal(stream.entries("charges:dead"), [])
    store.restart()
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == 10, "all are executed")
    equal(stream.pending(), [])
    for n in range(1, 10):
        equal(upstream.count(key=f"k{n}"), 1)


@each([("who leads", "leadership"), ("whether it is paused", "pause"),
       ("what is parked", "letters")])
def something_else_stands_where_gateways_share(bench, word):
    """The source stands still, and says what is in the way."""
    upstream = bench.upstream()
    store = bench.own_redis()
    stream, gateway = started(
        bench, upstream, members={"order_by": ["/account"]}, redis=store)
    stream.add(body=b'{"account":1}', idempotency_key="k1")
    gateway.wait_for_log("message", outcome="executed")
    turn, = store("KEYS", "*:leadership:source:charges")
    key = as_text(turn).replace(":leadership:", f":{word}:")
    gateway.stop()
    store("DEL", key)
    store("HSET", key, "another's", "1")
    stream.add(body=b'{"account":1}', idempotency_key="k2")
    second = bench.serve(gateway.config)
    stands = second.wait_for_log("source_stands", reason="store")
    assert "WRONGTYPE" in stands["error"], stands
    assert key in stands["error"], stands
    equal(upstream.count(), 1)
    store("DEL", key)
    second.wait_for_log("source_goes", reason="store")
    second.wait_for_log("message", outcome="executed")
    equal(len(second.find_log("source_stands")), 1)
    since = len(second.events)
    # In one piece: the gateway would take its turn in between.
    store("EVAL", "redis.call('DEL', KEYS[1]); return redis.call("
          "'HSET', KEYS[1], 'another', '1')", "1", key)
    second.wait_for_log("source_stands", since, reason="store")
    store("DEL", key)
    stream.add(body=b'{"account":1}', idempotency_key="k3")
    eventually(lambda: upstream.count() == 3, "it goes on")
    eventually(lambda: stream.pending() == [], "all is acknowledged")


@test
def an_answer_that_only_the_journal_has_acknowledges_nothing(bench):
    """Once it is stored it is that of its own execution."""
    upstream = bench.upstream()
    store = lasting_redis(bench)
    stream, gateway = started(bench, upstream, None, {
        "results": {"stream": "done"}}, redis=store)
    hold = upstream.hold()
    stream.add(body=b"{}", idempotency_key="k")
    hold.wait_arrived()
    store.kill()
    hold.release()
    gateway.wait_until(
        lambda: gateway.find_log("source_stands", reason="store")
        or gateway.find_log("message"), "it cannot be looked for")
    equal(len(stream.pending()), 1)
    store.restart()
    gateway.wait_for_log("message", outcome="executed")
    equal((upstream.count(), stream.pending()), (1, []))
    [result] = stream.entries("done")
    equal("onceproxy-duplicate" in result, False)


@test
def an_outage_of_the_broker_loses_nothing(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream)
    hold = upstream.hold()
    stream.add(body=b"{}", idempotency_key="k")
    hold.wait_arrived()
    stream.redis.kill()
    hold.release()
    gateway.wait_for_log("source_stands", reason="broker")
    eventually(lambda: gateway.ask("k", body=b"{}").status == 201,
               "its answer is stored")
    stream.redis.restart()
    gateway.wait_for_log("message", key_id=gateway.wait_for_log(
        "request")["key_id"])
    equal((upstream.count(), stream.pending()), (1, []))


@test
def a_broker_that_only_reads_any_more_is_said(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream)
    stream.redis("REPLICAOF", "127.0.0.1", "1")
    stands = gateway.wait_for_log("source_stands", reason="broker")
    # Redis also closes the connection of who is blocked in a read.
    assert stands["error"].startswith("READONLY "), stands
    stream.redis("REPLICAOF", "NO", "ONE")
    gateway.wait_for_log("source_goes", reason="broker")
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="executed")
    equal((upstream.count(), stream.pending()), (1, []))


@test
def dead_letters_that_cannot_be_put_stop_the_source(bench):
    upstream = bench.upstream(answer(400))
    stream, gateway = started(bench, upstream)
    stream.redis("SET", "charges:dead", "no stream")
    stream.add(body=b"{}", idempotency_key="k")
    stands = gateway.wait_for_log("source_stands", reason="dead-letters")
    assert "WRONGTYPE" in stands["error"], stands
    equal(len(stream.pending()), 1)
    stream.redis("DEL", "charges:dead")
    gateway.wait_for_log("message", outcome="refused")
    equal(len(stream.entries("charges:dead")), 1)
    equal((upstream.count(), stream.pending()), (1, []))


@test
def a_letter_that_was_written_is_one_whatever_its_key_becomes(bench):
    """Its broker had not acknowledged it when its gateway died; what comes
    behind it waits for an operator's word all the same."""
    upstream = bench.upstream(first_unanswered())
    stream, gateway = started(
        bench, upstream, {"lease": "2s"},
        {"hold": "100ms", "order_by": ["/a"]},
        admin={"listen": "127.0.0.1:0"}, redis=lasting_redis(bench))
    stream.redis("SET", "charges:dead", "no stream")
    first = stream.add(body=b'{"a":1}', idempotency_key="k1")
    held = gateway.wait_for_log("message_held", source="charges")
    gateway.wait_for_log("source_stands", reason="dead-letters")
    admin = Admin(gateway)
    admin.act(held["key_id"], "complete", {
        "status": 201, "headers": {}, "body": "{}"})
    for act in "replay", "drop":
        got = admin.post(f"/messages/{id_of(first)}/{act}")
        equal((got.status, got.problem), (409, "conflict"), got.body)
    gateway.kill()
    stream.redis("DEL", "charges:dead")
    stream.add(body=b'{"a":1}', idempotency_key="k2")
    second = bench.serve(gateway.config)
    second.wait_for_log("message", reason="unknown")
    second.wait_for_log("message", reason="behind")
    equal([(e["idempotency_key"], e["onceproxy-reason"])
           for e in stream.entries("charges:dead")],
          [(b"k1", b"unknown"), (b"k2", b"behind")])
    eventually(lambda: Admin(second).post(
        f"/messages/{id_of(first)}/replay").status == 202, "it is confirmed")
    second.wait_for_log("message", outcome="duplicate")
    second.wait_for_log("message", outcome="executed")
    equal((upstream.count(), stream.pending()), (2, []))


@test
def a_drain_gives_everything_back_and_loses_nothing(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream)
    hold = upstream.hold()
    for n in range(5):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    upstream.wait_for(5)
    gateway.signal(signal.SIGTERM)
    gateway.wait_for_log("draining")
    other = bench.serve(gateway.config)
    hold.release()
    other.wait_until(lambda: len(other.find_log(
        "message", outcome="duplicate")) == 5, "all are acknowledged")
    equal(gateway.wait(), 0)
    equal((upstream.count(), stream.pending()), (5, []))


@test
def a_reload_adds_and_takes_away_sources(bench):
    upstream = bench.upstream()
    stream = Stream(bench.own_redis())
    config = bench.config(upstream)
    gateway = bench.serve(config)
    stream.add(body=b"{}", idempotency_key="k1")
    source(config, stream)
    reload(gateway, config)
    gateway.wait_for_log("message", outcome="executed")
    taken = gateway.config
    del taken["sources"], taken["brokers"]
    reload(gateway, taken)
    gateway.wait_until(lambda: stream.blocked() == 0, "nobody reads")
    stream.add(body=b"{}", idempotency_key="k2")
    equal(upstream.count(), 1)


@test
def large_messages_leave_memory_for_their_requests(bench):
    upstream = bench.upstream()
    stream = Stream(bench.own_redis())
    config = bench.config(upstream, limits={"in_flight_bytes": "16MiB"})
    source(config, stream)
    body = b'"' + b"x" * (1024 * 1024 - 2) + b'"'
    for n in range(40):
        stream.add(body=body, idempotency_key=f"k{n}")
    gateway = bench.serve(config)
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == 40, "all are executed")
    equal((upstream.count(), stream.pending()), (40, []))


@test
def messages_that_wait_for_memory_come_before_others(bench):
    upstream = bench.upstream()
    stream = Stream(bench.own_redis())
    config = bench.config(upstream, {"max_request_body": "4MiB"},
                          limits={"in_flight_bytes": "16MiB"})
    source(config, stream)
    body = b'"' + b"x" * (3 * 1024 * 1024) + b'"'
    for n in range(12):
        stream.add(body=body, idempotency_key=f"k{n}")
    gateway = bench.serve(config)
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == 12, "all are executed")
    equal((upstream.count(), stream.pending()), (12, []))


@test
def two_gateways_share_a_stream(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream)
    config = json.loads(json.dumps(gateway.config))
    config["instance"] = "other"
    other = bench.serve(config)
    for n in range(100):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    gateway.wait_until(lambda: upstream.count() == 100, "all are executed")
    gateway.wait_until(lambda: stream.pending() == [], "acknowledged")
    for n in range(100):
        equal(upstream.count(key=f"k{n}"), 1)
    equal(other.find_log("source_stands"), [])


@test
def nothing_rests_after_a_reload_that_changes_the_stream(bench):
    """What a reader that leaves was given last is the next one's at once."""
    redis = bench.own_redis()
    streams = [Stream(redis), Stream(redis, "others")]
    config = bench.config(bench.upstream())
    source(config, streams[0])
    gateway = bench.serve(config)
    for n in range(12):
        for stream in streams:
            stream.add(body=b"{}", idempotency_key=f"{stream.name}{n}")
        config["sources"]["charges"]["stream"] = streams[(n + 1) % 2].name
        reload(gateway, config)
        eventually(lambda: streams[(n + 1) % 2].pending() == [],
                   "all is acknowledged", timeout=20)


tap.main()
