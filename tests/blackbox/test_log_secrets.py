# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 9: whatever happens, and at the most talkative level, the
log has no key, token, query or body, nor a secret of the configuration."""

import json
import os
import signal

from once import tap
from once.http import Broken, ask, build, keyed
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered, then_close

MARK = "hush"  # in everything that is secret, and nowhere else
TOKEN = f"Bearer {MARK}-token"
BODY = b'{"card":"hush-card","order_id":"hush-order"}'
QUERY = f"?q={MARK}-query"
OWN = [("Cookie", f"a={MARK}-cookie"), ("X-Api-Key", f"{MARK}-header"),
       ("User-Agent", f"{MARK}-agent"), ("Referer", f"http://a/{MARK}")]
SAID = answer(201, b'{"id":"hush-answer"}', [
    ("Set-Cookie", f"{MARK}-set"), ("Location", f"/{MARK}-place")])


def pay(key=f"{MARK}-key", fields=(), body=BODY, path="/v1/charges"):
    return keyed(key, OWN + list(fields), body, path + QUERY, tenant=TOKEN)


def started(bench, reply=SAID, idempotency=None, **members):
    members.setdefault("admin", {"listen": "127.0.0.1:0",
                                 "token": f"{MARK}-admin"})
    return bench.pair(reply, idempotency, log={"level": "debug"},
                      store={"secret": f"{MARK}-secret",
                             **members.pop("store", {})}, **members)


def nothing_is_told(gateway):
    """Ends it; the log has all its lines then."""
    gateway.stop()
    assert gateway.find_log("step"), "the level is not debug"
    assert gateway.find_log("request")
    told = [line for line in gateway.lines if MARK in line.lower()]
    equal(told, [])
    equal(gateway.stray, [])


def admin(gateway, method, target, body=None):
    return ask(gateway.ready["admin"], build(
        method, target, [("Authorization", f"Bearer {MARK}-admin")],
        None if body is None else json.dumps(body).encode()))


@test
def of_payments_retries_and_refusals(bench):
    upstream, gateway = started(bench)
    for _ in range(2):
        equal(gateway.send(pay()).status, 201)
    equal(gateway.send(pay(body=b"hush-other")).problem, "key-reused")
    equal(gateway.send(pay(f"{MARK} key")).problem, "key-invalid")
    equal(gateway.send(pay(None)).problem, "key-missing")
    equal(gateway.send(pay(f"{MARK}{'x' * 300}")).problem, "key-invalid")
    equal(gateway.send(keyed(f"{MARK}-key", OWN, BODY, tenant=None)).problem,
          "scope-missing")
    equal(gateway.send(pay(body=BODY * 50_000)).problem, "request-too-large")
    equal(gateway.send(pay(path="/other")).status, 201)
    for status in (503, 502):
        upstream.reply = answer(status, f"{MARK}-{status}".encode())
        equal(gateway.send(pay(f"{MARK}-{status}")).status, status)
    nothing_is_told(gateway)


MALFORMED = [
    ("a name", [("Authorization ", f"{MARK}"), ("Hush\x01", "x")]),
    ("a value", [("X-A", f"{MARK}\x01")]),
    ("two keys", [("Idempotency-Key", f"{MARK}-2")]),
    ("two lengths", [("Content-Length", "3")]),
    ("Connection", [("Connection", f"{MARK}, Authorization")]),
    ("an expectation", [("Expect", MARK)]),
    ("a coding", [("Transfer-Encoding", MARK)]),
    ("a large head", [("X-A", MARK * 20_000)]),
]


@each([(row[0], *row) for row in MALFORMED])
def of_requests_that_are_malformed_in(bench, words, fields):
    upstream, gateway = started(bench)
    equal(gateway.send(pay()).status, 201)
    try:
        assert gateway.send(pay(fields=fields)).status >= 400
    except (Broken, ConnectionError):
        pass
    for data in (f"{MARK}\r\n\r\n", f"GET /?{MARK} HTTP/{MARK}\r\n\r\n",
                 f"GET http://{MARK}@a/ HTTP/1.1\r\nHost: {MARK}@a\r\n\r\n"):
        try:
            gateway.send(data.encode())
        except (Broken, ConnectionError):
            pass
    nothing_is_told(gateway)


@each([("closes", close_unanswered),
       ("is cut", then_close(b"HTTP/1.1 201 hush\r\nX-A: hush\r\nConte")),
       ("is malformed", then_close(b"HTTP/1.1 201 hush\r\nhush hush\r\n\r\n")),
       ("has two lengths", then_close(
           b"HTTP/1.1 200 hush\r\nContent-Length: 4\r\n"
           b"Content-Length: 5\r\n\r\nhush!"))])
def of_an_answer_that(bench, reply):
    upstream, gateway = started(bench, reply)
    equal(gateway.send(pay()).problem, "outcome-unknown")
    equal(gateway.send(pay()).problem, "outcome-unknown")
    equal(gateway.send(pay(path="/other")).problem, "upstream-failed")
    gateway.wait_for_log("outcome_unknown")
    nothing_is_told(gateway)


@test
def of_an_upstream_that_is_asked_by_the_key(bench):
    upstream, gateway = started(
        bench, close_unanswered,
        {"on_unknown": {"reconcile": {
            "path": "/v1/charges/by-key/{key}", "settle": "0s"}}})
    for _ in range(2):
        equal(gateway.send(pay()).problem, "outcome-unknown")
    gateway.wait_for_log("reconcile_failed")
    upstream.replies[f"/v1/charges/by-key/{MARK}-key"] = SAID
    equal(gateway.send(pay()).status, 201)
    nothing_is_told(gateway)


@test
def of_keys_that_bodies_make(bench):
    upstream, gateway = started(bench, idempotency={
        "derive_key": ["/order_id"], "fingerprint": {"json": True}})
    for body in (BODY, BODY, BODY + b" ", b'{"order_id": ', b"hush"):
        gateway.send(pay(None, body=body))
    nothing_is_told(gateway)


@test
def of_retries_that_wait(bench):
    upstream, gateway = started(bench, idempotency={"in_flight": "wait"})
    hold = upstream.hold()
    first = bench.background(gateway.send, pay())
    hold.wait_arrived()
    retry = bench.background(gateway.send, pay())
    gateway.wait_for_steps("WAITED", 1)
    hold.release()
    equal((first.result().status, retry.result().status), (201, 201))
    nothing_is_told(gateway)


@test
def of_what_operators_do(bench):
    upstream, gateway = started(bench, close_unanswered)
    equal(gateway.send(pay()).problem, "outcome-unknown")
    got = admin(gateway, "POST", "/keys/lookup", {
        "namespace": "default", "key": f"{MARK}-key",
        "scope": {"Authorization": TOKEN}})
    equal(got.status, 200)
    key_id = got.json()["key_id"]
    equal(admin(gateway, "GET", f"/keys?state={MARK}").status, 400)
    equal(admin(gateway, "POST", f"/keys/{key_id}/complete", {
        "status": 201, "headers": {"Set-Cookie": f"{MARK}-set"},
        "body": f"{MARK}-body"}).status, 200)
    assert gateway.send(pay()).replayed
    equal(admin(gateway, "DELETE", f"/keys/{key_id}").status // 100, 2)
    equal(ask(gateway.ready["admin"], build("GET", "/status", [
        ("Authorization", f"Bearer {MARK}-guess")])).status, 401)
    gateway.wait_for_log("operator")
    nothing_is_told(gateway)


@test
def of_outcomes_that_go_to_the_journal(bench):
    redis = bench.own_redis("--appendonly", "yes")
    upstream, gateway = started(bench, redis=redis, idempotency={
        "lease": "60s"})
    hold = upstream.hold()
    first = bench.background(gateway.send, pay())
    hold.wait_arrived()
    redis.kill()
    hold.release()
    equal(first.result().status, 201)
    equal(gateway.send(pay(f"{MARK}-2")).problem, "store-unavailable")
    redis.start()
    gateway.wait_for_log("journal_delivered")
    nothing_is_told(gateway)


@test
def of_the_configuration(bench):
    """Neither where a file is refused, nor where Redis refuses the
    password."""
    redis = bench.own_redis()
    redis("CONFIG", "SET", "requirepass", f"{MARK}-password")
    upstream, gateway = started(bench, redis=redis, store={
        "password": f"{MARK}-password"})
    equal(gateway.send(pay()).status, 201)
    wrong = json.loads(json.dumps(gateway.config))
    wrong["admin"]["token"] = {"secret": f"{MARK}-admin"}
    wrong["store"]["redis"] = f"redis://gate:{MARK}-password@:0/x"
    wrong["store"]["encryption_keys"] = [{"id": "a", "key": f"{MARK}-key"}]
    wrong["upstreams"]["api"] = f"http://gate:{MARK}-password@a/"
    with open(gateway.file, "w", encoding="utf-8") as out:
        json.dump(wrong, out)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reload_refused")
    with open(gateway.file, "w", encoding="utf-8") as out:
        out.write('{"admin": {"token" "hush-admin"}}')
    gateway.signal(signal.SIGHUP)
    gateway.wait_until(
        lambda: len(gateway.find_log("reload_refused")) > 1, "refused twice")
    with open(gateway.file, "w", encoding="utf-8") as out:
        json.dump(gateway.config, out)
    redis("CONFIG", "SET", "requirepass", "another")
    redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    equal(gateway.send(pay(f"{MARK}-2")).problem, "store-unavailable")
    nothing_is_told(gateway)


@test
def of_a_start_that_fails(bench):
    config = bench.config(bench.upstream(), store={
        "password": f"{MARK}-password"}, log={"level": "debug"})
    gateway = bench.serve(config, ready=False)
    equal(gateway.wait(), 1)
    assert gateway.find_log("fatal"), gateway.lines
    equal([line for line in gateway.lines if MARK in line], [])
    for file in os.listdir(gateway.folder):
        assert file == "onceproxy.json"


tap.main()
