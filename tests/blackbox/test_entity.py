# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3: entity, newer_only and serialize, what a request
changes: only in a newer version, and only one at a time."""

import json
import threading

from once import http, tap
from once.gateway import frozen
from once.http import BODY
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

ITEM = "/v1/items/7"
DAY_MS = 24 * 3600 * 1000
LEASE_MS = 15 * 1000


def about(version=None, account="a-1", **more):
    body = {"account": account, **more}
    if version is not None:
        body["version"] = version
    return json.dumps(body).encode()


def newer_only(bench, reply=None, **idempotency):
    return bench.pair(reply, idempotency={
        "entity": ["/account"], "newer_only": "/version", **idempotency})


def serialized(bench, reply=None, **idempotency):
    return bench.pair(reply, idempotency={
        "entity": ["/account"], "serialize": True, **idempotency})


def by_path(bench, upstream, **idempotency):
    config = bench.config(upstream, idempotency={
        "entity": {"path": "id"}, "serialize": True, **idempotency})
    config["routes"][0].update(path="/v1/items/{id}", methods=["PUT"])
    return bench.serve(config)


class Counted:
    """Answers, and knows how many requests it answered at once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.now = self.most = 0

    def __call__(self, connection, request):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        whole = answer()
        connection.send(whole[:-1])
        with self.lock:
            self.now -= 1  # whoever has all of it may send the next
        connection.send(whole[-1:])


# --- newer_only


@each([("numbers", 9, 10, "10"), ("decimals", 1.25, 1.5, "1.5"),
       ("below zero", -2, -1.5, "-1.5"), ("from below zero", -1, 0, "0"),
       ("large ones", 10**20, 10**20 + 1, f'"{10**20 + 1}"'),
       ("small ones", 1e-9, 0.1, "0.1"),
       ("times", "2026-11-22T10:00:00Z", "2026-11-22T10:00:00.5Z",
        '"2026-11-22T10:00:00.5Z"'),
       ("zones", "2026-11-22T12:30:00+02:00", "2026-11-22T10:30:01Z",
        '"2026-11-22T10:30:01Z"'),
       ("years", "1999-12-31T23:59:59Z", "2000-01-01T00:00:00Z",
        '"2000-01-01T00:00:00Z"')])
def only_a_newer_version_is_executed(bench, older, newer, shown):
    upstream, gateway = newer_only(bench)
    equal(gateway.ask("1", body=about(older)).status, 201)
    equal(gateway.ask("2", body=about(newer)).status, 201)
    for key, version in (("3", newer), ("4", older)):
        got = gateway.ask(key, body=about(version))
        equal((got.status, got.problem), (409, "stale-version"))
        equal(json.dumps(got.json()["current_version"]), shown)
        equal(got.json()["retry"], "fix-request")
    gateway.wait_for_log("request", outcome="stale")
    equal(upstream.count(), 2)
    # What was executed is replayed, however old.
    equal(gateway.ask("1", body=about(older)).replayed, True)


@test
def entities_tenants_and_namespaces_have_versions_of_their_own(bench):
    upstream, gateway = newer_only(bench)
    equal(gateway.ask("1", body=about(5)).status, 201)
    equal(gateway.ask("2", body=about(1, "a-2")).status, 201)
    equal(gateway.ask("3", body=about(1), tenant="Bearer t2").status, 201)
    equal(gateway.ask("4", body=about(5)).problem, "stale-version")
    equal(upstream.count(), 3)


@each([("refused", answer(503)), ("unknown", then_close(b""))])
def only_what_was_completed_counts(bench, reply):
    upstream, gateway = newer_only(bench, reply)
    gateway.ask("1", body=about(5))
    upstream.reply = answer()
    equal(gateway.ask("2", body=about(3)).status, 201)
    equal(gateway.ask("3", body=about(3)).problem, "stale-version")


@test
def a_version_is_compared_when_the_request_is_claimed(bench):
    """Both were newer when they came; the highest stays the highest."""
    upstream, gateway = newer_only(bench)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "1", body=about(5))
    hold.wait_arrived()
    second = bench.background(gateway.ask, "2", body=about(6))
    eventually(lambda: upstream.count() == 2)
    hold.release()
    equal((first.result().status, second.result().status), (201, 201))
    equal(gateway.ask("3", body=about(6)).json()["current_version"], 6)


@test
def an_operators_completion_raises_the_version(bench):
    upstream, gateway = newer_only(bench, then_close(b""))
    gateway.stop()
    gateway = bench.serve(
        {**gateway.config, "admin": {"listen": "127.0.0.1:0"}})
    got = gateway.ask("1", body=about(5))
    key_id = got.json()["instance"].rsplit(":", 1)[1]
    done = http.ask(gateway.ready["admin"], http.build(
        "POST", f"/keys/{key_id}/complete", body=b'{"status": 201}',
        host="localhost"))
    equal(done.status, 200)
    upstream.reply = answer()
    equal(gateway.ask("2", body=about(5)).problem, "stale-version")
    equal(gateway.ask("3", body=about(6)).status, 201)


@test
def a_reconciled_completion_raises_the_version(bench):
    upstream, gateway = newer_only(bench, then_close(b""), on_unknown={
        "reconcile": {"path": "/by/{key}", "settle": "0s"}})
    equal(gateway.ask("1", body=about(5)).status, 502)
    upstream.reply = answer(200)
    equal(gateway.ask("1", body=about(5)).status, 200)
    equal(gateway.ask("2", body=about(5)).problem, "stale-version")


@test
def what_did_not_happen_and_is_stale_by_now_is_not_executed(bench):
    upstream, gateway = newer_only(bench, then_close(b""), on_unknown={
        "reconcile": {"path": "/by/{key}", "settle": "0s"}})
    upstream.replies["/by/1"] = answer(404)
    equal(gateway.ask("1", body=about(5)).status, 502)
    upstream.reply = answer()
    equal(gateway.ask("2", body=about(6)).status, 201)
    got = gateway.ask("1", body=about(5))
    equal(got.problem, "stale-version")
    equal(got.json()["current_version"], 6)
    equal([r.method for r in upstream.requests], ["POST", "POST", "GET"])
    # It did not happen: its key is free, and stale again.
    equal(gateway.ask("1", body=about(5)).problem, "stale-version")
    equal(upstream.count(method="GET"), 1)


@test
def an_unknown_outcome_that_is_stale_is_not_retried(bench):
    """Nor said to be stale, which would say that it was not executed."""
    upstream, gateway = newer_only(
        bench, then_close(b""), on_unknown="retry")
    equal(gateway.ask("1", body=about(5)).status, 502)
    upstream.reply = answer()
    equal(gateway.ask("2", body=about(6)).status, 201)
    equal(gateway.ask("1", body=about(5)).problem, "outcome-unknown")
    equal(upstream.count(), 2)


@each([("no version", about(), "/version is missing"),
       ("null", b'{"account": "a-1", "version": null}', "/version"),
       ("a word", about("new"), "/version"),
       ("a list", about([1]), "neither a number nor an RFC 3339 time"),
       ("no such day", about("2026-02-29T00:00:00Z"), "/version"),
       ("no zone", about("2026-02-28T00:00:00"), "/version"),
       ("too long", about(int("9" * 80)), "/version"),
       ("no entity", b'{"version": 1}', "/account is missing"),
       ("no JSON", b"version=1", "not JSON"),
       ("no body", b"", "is empty")])
def a_request_without_version_or_entity_is_refused(bench, body, words):
    upstream, gateway = newer_only(bench)
    got = gateway.ask("1", body=body)
    equal((got.status, got.problem), (400, "bad-request"))
    assert words in got.json()["detail"], got.json()
    equal(upstream.count(), 0)


# --- serialize


@test
def another_key_of_the_entity_is_busy_while_one_is_in_flight(bench):
    upstream, gateway = serialized(bench)
    other = bench.gateway(upstream, idempotency={
        "entity": ["/account"], "serialize": True})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "1", body=about())
    hold.wait_arrived()
    for one in (gateway, other):
        got = one.ask("2", body=about())
        equal((got.status, got.problem), (409, "entity-busy"))
        equal((got.get("Retry-After"), got.json()["retry"]),
              ("1", "same-key"))
    other.wait_for_log("request", outcome="entity-busy")
    equal(gateway.ask("1", body=about()).problem, "in-flight")
    hold.release()
    equal(first.result().status, 201)
    equal(other.ask("2", body=about()).status, 201)
    equal(upstream.count(), 2)


@test
def another_entity_or_tenant_is_not_busy(bench):
    upstream, gateway = serialized(bench)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "1", body=about())
    hold.wait_arrived()
    hold.release()
    equal(gateway.ask("2", body=about(account="a-2")).status, 201)
    equal(gateway.ask("3", body=about(), tenant="Bearer t2").status, 201)
    equal(first.result().status, 201)


@each([("an answer", answer()), ("a release", answer(503)),
       ("an unknown outcome", then_close(b""))])
def the_end_of_one_execution_lets_the_next_go(bench, reply):
    upstream, gateway = serialized(bench, reply)
    gateway.ask("1", body=about())
    upstream.reply = answer()
    equal(gateway.ask("2", body=about()).status, 201)


@each([("of this gateway", False), ("of another gateway", True)])
def another_key_of_the_entity_waits_its_turn(bench, elsewhere):
    upstream = bench.upstream()
    gateways = [bench.gateway(upstream, log={"level": "debug"}, idempotency={
        "entity": ["/account"], "serialize": True, "in_flight": "wait",
        "wait_timeout": "1m"}) for _ in range(2)]
    gateway, other = gateways[0], gateways[elsewhere]
    hold = upstream.hold()
    first = bench.background(gateway.ask, "1", body=about())
    hold.wait_arrived()
    rest = [bench.background(other.ask, str(key), body=about())
            for key in range(2, 6)]
    other.wait_for_steps("WAITED", 4)
    equal(upstream.count(), 1)
    counted = upstream.reply = Counted()
    hold.release()
    equal([got.result().status for got in [first, *rest]], [201] * 5)
    equal((upstream.count(), counted.most), (5, 1))


@test
def one_that_waits_in_vain_hears_that_the_entity_is_busy(bench):
    upstream, gateway = serialized(
        bench, in_flight="wait", wait_timeout="200ms")
    hold = upstream.hold()
    first = bench.background(gateway.ask, "1", body=about())
    hold.wait_arrived()
    equal(gateway.ask("2", body=about()).problem, "entity-busy")
    hold.release()
    equal(first.result().status, 201)


@test
def a_holder_whose_lease_is_over_holds_nothing(bench):
    upstream, gateway = serialized(bench, lease="1s")
    other = bench.gateway(upstream, idempotency={
        "entity": ["/account"], "serialize": True})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "1", body=about())
    hold.wait_arrived()
    hold.release()
    with frozen(gateway):
        eventually(lambda: other.ask("2", body=about()).status == 201)
    equal(first.result().status, 201)


@test
def an_entity_lives_as_long_as_the_request_that_holds_it(bench):
    upstream, gateway = serialized(
        bench, lease="3s", retention="1s", unknown_retention="1s")
    hold = upstream.hold()
    first = bench.background(gateway.ask, "1", body=about())
    hold.wait_arrived()
    [name] = [key for key in bench.redis.keys() if b":e:" in key]
    lefts = [bench.redis("PTTL", name)]

    def is_longer():
        lefts.append(bench.redis("PTTL", name))
        return lefts[-1] > lefts[-2]
    eventually(is_longer, "its lease is renewed")
    equal(gateway.ask("2", body=about()).problem, "entity-busy")
    hold.release()
    equal(first.result().status, 201)
    equal(upstream.count(), 1)


@test
def a_key_keeps_its_request_whatever_its_entity(bench):
    """The entity is no part of the key: another one is another request."""
    upstream, gateway = serialized(bench)
    equal(gateway.ask("1", body=about()).status, 201)
    equal(gateway.ask("1", body=about(account="a-2")).problem, "key-reused")
    equal(upstream.count(), 1)


@test
def a_segment_of_the_path_names_the_entity(bench):
    upstream = bench.upstream()
    gateway = by_path(bench, upstream)
    hold = upstream.hold()
    first = bench.background(
        gateway.ask, "1", target=ITEM, method="PUT", body=BODY)
    hold.wait_arrived()
    for target in (ITEM, "/v1//items/%37/", "/v1/x/../items/7"):
        equal(gateway.ask("2", target=target, method="PUT").problem,
              "entity-busy")
    hold.release()
    equal(gateway.ask("3", target=ITEM + "0", method="PUT").status, 201)
    equal(first.result().status, 201)


@test
def a_namespace_may_have_a_segment_of_the_path(bench):
    """One key for two payments: two requests."""
    upstream = bench.upstream()
    gateway = by_path(bench, upstream, namespace="item/{id}")
    for target in (ITEM, "/v1/items/8"):
        equal(gateway.ask("k", target=target, method="PUT").status, 201)
    equal(gateway.ask("k", target=ITEM, method="PUT").replayed, True)
    equal(upstream.count(), 2)


@each([("functions", {"scripting": "function"}),
       ("events", {"events": {"maxlen": 1000}})])
def it_is_the_same_with(bench, store):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, store=store, idempotency={
        "entity": ["/account"], "newer_only": "/version", "serialize": True})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "1", body=about(5))
    hold.wait_arrived()
    equal(gateway.ask("2", body=about(6)).problem, "entity-busy")
    hold.release()
    equal(first.result().status, 201)
    equal(gateway.ask("3", body=about(5)).problem, "stale-version")
    equal(gateway.ask("2", body=about(6)).status, 201)


@test
def everything_about_an_entity_has_an_end(bench):
    _, gateway = newer_only(bench, serialize=True)
    equal(gateway.ask("1", body=about(5)).status, 201)
    [name] = [key for key in bench.redis.keys() if b":e:" in key]
    left = bench.redis("PTTL", name)
    assert 29 * DAY_MS < left <= 30 * DAY_MS + LEASE_MS, left


# --- on a cluster


@each([("a derived key",
        {"derive_key": ["/account", "/version"], "entity": ["/account"]}, {}),
       ("the namespace", {"namespace": "item/{id}",
                          "entity": {"path": "id"}}, {"target": ITEM})])
def on_a_cluster_record_and_entity_share_a_shard(bench, idempotency, more):
    cluster = bench.cluster()
    upstream = bench.upstream()
    config = bench.config(upstream, redis=cluster, idempotency={
        **idempotency, "newer_only": "/version", "serialize": True})
    if more:
        config["routes"][0]["path"] = "/v1/items/{id}"
    gateway = bench.serve(config)

    def ask(number, account):
        key = None if "derive_key" in idempotency else str(number)
        target = {"target": f"/v1/items/{account}"} if more else {}
        return gateway.ask(key, body=about(number, account), **target)

    for account in range(12):
        equal(ask(2, str(account)).status, 201)
        equal(ask(1, str(account)).problem, "stale-version")
        equal(ask(2, str(account)).replayed, True)
    equal(upstream.count(), 12)


tap.main()
