# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 3, 8 and 9: a stuck payment is found by what people know
of it, and its record says where it is from and what operators did."""

import base64
import json
import os
import re
import time

from once import tap
from once.admin import Admin
from once.gateway import command
from once.http import TENANT
from once.messages import Stream, source
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

BODY = b'{"order_id": "order-17", "amount": 1250, "n": {"x": true}}'
LABEL = {"label": ["/order_id", "/n/x", "/none", "/amount"]}
SCOPE = ("--scope", "Authorization: " + TENANT)
KEY = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


def wall_ms():
    return time.time_ns() // 1_000_000


class Desk:
    """A gateway, its API, and the operator's two ways to it."""

    def __init__(self, bench, idempotency=None, **more):
        path = os.path.join(bench.folder(), "admin")
        self.upstream = bench.upstream()
        self.gateway = bench.gateway(
            self.upstream, idempotency, admin={"listen": "unix:" + path},
            instance="gw-1", **more)
        self.admin = Admin(self.gateway)

    def command(self, *args):
        done = command("keys", "-c", self.gateway.file, *args)
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def found(self, *args):
        got = json.loads(self.command("find", *args, "--json"))
        return [record["key_id"] for record in got["keys"]]

    def unknown(self, key, body=BODY, **more):
        """One whose outcome is unknown: its key_id.  Lists go by milliseconds,
        and none has that of the one before."""
        begun_ms = wall_ms()
        eventually(lambda: wall_ms() > begun_ms)
        self.upstream.reply = close_unanswered
        got = self.gateway.ask(key, body=body, **more)
        equal(got.problem, "outcome-unknown")
        self.upstream.reply = answer()
        return got.json()["instance"].rsplit(":", 1)[-1]

    def record(self, key_id):
        return self.admin.get("/keys/" + key_id)


@test
def a_record_says_what_its_first_request_was(bench):
    desk = Desk(bench, LABEL)
    key_id = desk.unknown("k", fields=[("X-Request-Id", "req-one")])
    record = desk.record(key_id)
    equal({name: record.get(name) for name in (
        "route", "method", "path", "request_id", "instance", "label")},
          {"route": "charges", "method": "POST", "path": "/v1/charges",
           "request_id": "req-one", "instance": "gw-1",
           "label": "order-17 true 1250"})
    assert "history" not in record
    text = desk.command("show", key_id)
    for line in ("method       POST", "path         /v1/charges",
                 "label        order-17 true 1250"):
        assert line in text, text


@test
def a_completed_record_says_it_too(bench):
    desk = Desk(bench, LABEL)
    got = desk.gateway.ask("k", body=BODY)
    shown = json.loads(desk.command("show", "--key", "k", *SCOPE, "--json"))
    equal((shown["state"], shown["label"], shown["request_id"]),
          ("COMPLETED", "order-17 true 1250",
           got.get("X-Request-Id")))
    equal(desk.gateway.ask("k", body=BODY).replayed, True)


@test
def a_later_attempt_keeps_the_first_requests_id(bench):
    desk = Desk(bench, {**LABEL, "on_unknown": "retry"})
    desk.unknown("k", fields=[("X-Request-Id", "req-one")])
    desk.unknown("k", fields=[("X-Request-Id", "req-two")])
    equal(desk.gateway.ask(
        "k", body=BODY, fields=[("X-Request-Id", "req-three")]).status, 201)
    shown = json.loads(desk.command("show", "--key", "k", *SCOPE, "--json"))
    equal((shown["attempt"], shown["request_id"], shown["label"]),
          (3, "req-one", "order-17 true 1250"))


@test
def the_label_may_be_the_key(bench):
    desk = Desk(bench, {"label": "key"})
    key_id = desk.unknown("pay-4711")
    equal(desk.record(key_id)["label"], "pay-4711")
    equal(desk.found("pay-47"), [key_id])


@test
def a_label_is_cut_and_cannot_break_a_record(bench):
    desk = Desk(bench, {"label": ["/a"]})
    long = "\u00fc" * 400
    first = desk.unknown("k1", json.dumps({"a": long}).encode())
    label = desk.record(first)["label"]
    assert len(label.encode()) <= 256 and label.endswith("\u2026"), label
    assert long.startswith(label[:-1])
    odd = desk.unknown("k2", json.dumps({"a": "x\ty\nz\u0000\u2028"}).encode())
    equal(desk.record(odd)["label"], "x y z \u2028")
    for body in (b"no json", b"", b'{"a": null}', b'{"a": {"b": 1}}'):
        none = desk.unknown("k-" + body.hex()[:20], body)
        assert "label" not in desk.record(none), body
    equal(desk.found("x y"), [odd])


def indexes(redis):
    """The indexes of labels."""
    return redis("KEYS", "*:label:*")


@each([("plain", {}), ("secret", {"secret": "s"}),
       ("sealed", {"encryption_keys": [{"id": "a", "key": KEY}]})])
def a_completed_payment_is_found_by_its_whole_label(bench, store):
    desk = Desk(bench, {"label": ["/order_id"]}, store=store)
    ids = {}
    for key in ("k1", "k2"):
        body = b'{"order_id": "order-%s"}' % key.encode()
        equal(desk.gateway.ask(key, body=body).status, 201)
        shown = json.loads(
            desk.command("show", "--key", key, *SCOPE, "--json"))
        ids[key] = shown["key_id"]
    equal(desk.found("order-k1"), [ids["k1"]])
    equal(desk.found("order-k2", "--route", "charges"), [ids["k2"]])
    for none in (["order-k"], ["order-k1", "--state", "UNKNOWN"],
                 ["order-k2", "--limit", "1", "--state", "failed"]):
        equal(desk.found(*none), [])
    # It rests under no name that tells the label, and ends with its record.
    names = indexes(bench.redis)
    equal(len(names), 2)
    for name in names:
        assert b"order" not in name, name
        left = bench.redis("PTTL", name)
        assert 23 * 3600_000 < left <= 24 * 3600_000, left
    equal(len({name.rsplit(b":", 1)[1] for name in names}), 2)
    # One that an operator has completed, beside one that is unknown still.
    done, open_ = (desk.unknown(key, b'{"order_id": "order-k1"}')
                   for key in ("k3", "k4"))
    desk.command("complete", done, "--status", "201", "--yes")
    equal(set(desk.found("order-k1")), {ids["k1"], done, open_})
    equal(desk.found("order-k1")[-1], done)
    desk.command("delete", done, "--yes")
    equal(set(desk.found("order-k1")), {ids["k1"], open_})


@each([("a cluster", True, {}), ("functions", False,
                                  {"scripting": "function"})])
def a_label_is_found_on(bench, clustered, store):
    desk = Desk(bench, {"label": ["/order_id"]}, store=store,
                redis=bench.cluster() if clustered else bench.redis)
    for n in range(20):
        equal(desk.gateway.ask(
            f"k{n}", body=b'{"order_id": "o%d"}' % (n % 2)).status, 201)
    equal([len(desk.found(f"o{n}")) for n in range(3)], [10, 10, 0])


@test
def who_seals_with_a_new_key_finds_what_was_labelled_before(bench):
    keys = [{"id": "a", "key": KEY}]
    desk = Desk(bench, {"label": ["/order_id"]},
                store={"encryption_keys": keys})
    equal(desk.gateway.ask("k1", body=BODY).status, 201)
    desk.gateway.stop()
    new = {"id": "b", "key": base64.b64encode(32 * b"b").decode()}
    later = Desk(bench, {"label": ["/order_id"]},
                 store={"encryption_keys": [new] + keys})
    equal(later.gateway.ask("k2", body=BODY).status, 201)
    equal(len(later.found("order-17")), 2)


@test
def without_a_label_no_index_is_made_and_of_one_label_the_newest_count(bench):
    desk = Desk(bench, {"label": ["/order_id"]}, store={"shards": 1})
    equal(desk.gateway.ask("k", body=b"{}").status, 201)
    equal(indexes(bench.redis), [])
    for n in range(102):
        equal(desk.gateway.ask(f"k{n}", body=BODY).status, 201)
    begun_ms = wall_ms()
    eventually(lambda: wall_ms() > begun_ms)  # none is as new as the last
    equal(desk.gateway.ask("k102", body=BODY).status, 201)
    name, = indexes(bench.redis)
    equal(bench.redis("ZCARD", name), 100)
    found = desk.found("order-17", "--limit", "200")
    equal(len(found), 100)
    last = json.loads(desk.command("show", "--key", "k102", *SCOPE, "--json"))
    equal(found[-1], last["key_id"])


@each([("near", "chargs", "; did you mean charges?"), ("far", "nope", "")])
def a_route_that_is_none_is_said(bench, route, meant):
    desk = Desk(bench)
    desk.unknown("k")
    for verb in (["list"], ["find", "k"]):
        done = command("keys", "-c", desk.gateway.file, *verb, "--route",
                       route)
        equal((done.returncode, done.stdout), (1, ""))
        equal(done.stderr, f"onceproxy keys: no record is of a route {route}, "
              "and the configuration has none of this name; those with keys "
              f"are charges{meant}\n")


@test
def a_stuck_payment_is_found_by_its_label_its_request_or_its_key_id(bench):
    desk = Desk(bench, {"label": ["/order_id"]})
    made = [desk.unknown(
        f"k{i}", json.dumps({"order_id": f"order-{i}"}).encode(),
        fields=[("X-Request-Id", f"req-{i}")]) for i in range(12)]
    equal(desk.found("order-7"), [made[7]])
    equal(desk.found("req-3"), [made[3]])
    equal(desk.found("order-1"), [made[1], made[10], made[11]])
    equal(desk.found(made[5][:9]), [made[5]])
    equal(desk.found(made[5]), [made[5]])
    equal(desk.found("nothing"), [])
    equal(desk.found("order-1", "--limit", "2"), [made[1], made[10]])
    equal(desk.found("order", "--state", "failed"), [])
    equal(desk.found("order-7", "--route", "charges"), [made[7]])
    equal(desk.found("order-7", "--route", "rest"), [])
    first = desk.admin.get("/keys?find=order-1&limit=2")
    equal([r["key_id"] for r in first["keys"]], [made[1], made[10]])
    rest = desk.admin.get("/keys?find=order-1&cursor=" + first["next"])
    equal([r["key_id"] for r in rest["keys"]], [made[11]])
    equal(rest["next"], None)
    made.append(desk.unknown("k12"))
    given = desk.record(made[-1])["request_id"]
    assert re.fullmatch("[0-9a-f]{32}", given), given  # as a key_id
    equal(desk.found(given), made[-1:])
    equal(desk.found("urn:onceproxy:key:" + made[5]), [made[5]])
    assert "LABEL" in desk.command("list")
    assert "No such record" in desk.command("find", "nothing")


def groups(desk):
    got = desk.admin.get("/keys/groups")
    equal(got["more"], False)
    for group in got["groups"]:
        state = group["state"], group.get("route", ""), group.get("reason", "")
        query = "state={}&route={}&reason={}".format(*state)
        keys = desk.admin.get("/keys?" + query)["keys"]
        equal(len(keys), group["count"])
        equal(group.pop("oldest"), keys[0]["changed"])
    return got["groups"]


@test
def what_is_not_final_is_counted_by_route_and_reason(bench):
    desk = Desk(bench, {"on_unknown": "retry", "max_attempts": 1})
    equal(groups(desk), [])
    broken = [desk.unknown(f"k{i}") for i in range(3)]
    desk.upstream.reply = answer(502)
    equal(desk.gateway.ask("k3").status, 502)
    group = {"state": "UNKNOWN", "route": "charges", "reason": "broken"}
    other = dict(group, reason="status", count=1)
    equal(groups(desk), [dict(group, count=3), other])
    equal(desk.gateway.ask("k0", body=BODY).problem, "attempts-exhausted")
    failed = {"state": "FAILED", "route": "charges", "count": 1}
    desk.admin.act(broken[1], "release")
    equal(sorted(groups(desk), key=str),
          sorted([failed, dict(group, count=1), other], key=str))
    for query in ("route=", "reason=timeout", "route=rest"):
        equal(desk.admin.get("/keys?" + query)["keys"], [])
    equal(desk.admin.get("/keys?reason=")["keys"],
          [desk.record(broken[0])])


@test
def an_outcome_is_no_younger_where_nothing_more_was_sent(bench):
    desk = Desk(bench, {"on_unknown": "retry"})
    key_id = desk.unknown("k")
    told = desk.admin.get("/keys/groups")
    changed = desk.record(key_id)["changed"]
    equal(told["groups"][0]["oldest"], changed)
    desk.upstream.stop()
    eventually(lambda: desk.gateway.ask("k", body=BODY).problem ==
               "outcome-unknown" and
               desk.record(key_id)["changed"] != changed, "it was tried")
    equal(desk.admin.get("/keys/groups"), told)


@test
def a_completed_one_is_found_by_its_whole_key_id_alone(bench):
    desk = Desk(bench, LABEL)
    desk.gateway.ask("k", body=BODY)
    shown = json.loads(desk.command("show", "--key", "k", *SCOPE, "--json"))
    key_id = shown["key_id"]
    equal(desk.found("order-17"), [])
    equal(desk.found(key_id[:12]), [])
    equal(desk.found(key_id), [key_id])
    equal(desk.found("0" * 32), [])


@test
def many_are_searched_page_by_page(bench):
    desk = Desk(bench, {"label": ["/order_id"]})
    for i in range(230):
        last = desk.unknown(
            f"k{i}", json.dumps({"order_id": f"order<{i}>"}).encode())
    equal(desk.found("order<229>"), [last])
    equal(len(desk.found("order", "--limit", "500")), 230)


@test
def what_cannot_be_searched_for_is_refused(bench):
    desk = Desk(bench)
    for query, word in (("find=", "find"), ("find=" + "x" * 257, "find"),
                        ("reason=slow", "reason"), ("finds=x", "parameters")):
        got = desk.admin.send("GET", "/keys?" + query)
        equal(got.status, 400, query)
        assert word in got.json()["detail"], got.body


@test
def what_operators_did_stays_in_the_record(bench):
    desk = Desk(bench)
    key_id = desk.unknown("k")
    desk.command("release", key_id, "--note", "not in the ledger: \u00fc\n2")
    free = desk.record(key_id)
    equal([(one["act"], one["note"]) for one in free["history"]],
          [("release", "not in the ledger: \u00fc\n2")])
    equal((free["path"], "request_id" in free), ("/v1/charges", True))
    desk.unknown("k", fields=[("X-Request-Id", "again")])
    equal(desk.record(key_id)["request_id"], "again")
    desk.command("complete", key_id, "--status", "202", "--note", "seen")
    record = desk.record(key_id)
    equal([(one["act"], one["note"]) for one in record["history"]],
          [("release", "not in the ledger: \u00fc\n2"), ("complete", "seen")])
    equal((record["state"], record["path"]), ("COMPLETED", "/v1/charges"))
    assert record["history"][0]["time"] <= record["history"][1]["time"]
    equal(desk.gateway.ask("k", body=BODY).status, 202)
    shown = desk.command("show", key_id)
    times = [one["time"] for one in record["history"]]
    assert (f"history      {times[0]} release: not in the ledger: \u00fc\n2\n"
            f"             {times[1]} complete: seen\n") in shown, shown


@test
def a_failed_record_says_what_was_sent(bench):
    """When the first request came and its id, and the rest of the last, of
    those that were sent; nothing of what was refused."""
    desk = Desk(bench, {"max_attempts": 2, "label": ["/order_id"]})
    desk.upstream.reply = answer(503)
    began = {}
    for request_id in ("one", "two"):
        got = desk.gateway.ask("k", body=BODY,
                               fields=[("X-Request-Id", request_id)])
        equal(got.status, 503)
        key_id = desk.gateway.wait_for_log(
            "request", request_id=request_id)["key_id"]
        began[request_id] = desk.record(key_id)["created"]
        equal(desk.record(key_id)["request_id"], "one")
    late = wall_ms()
    eventually(lambda: wall_ms() > late)
    for request_id in ("three", "four"):
        got = desk.gateway.ask("k", body=BODY,
                               fields=[("X-Request-Id", request_id)])
        equal(got.problem, "attempts-exhausted")
        line = desk.gateway.wait_for_log("attempts_exhausted",
                                         request_id=request_id)
        equal(line["first_request_id"], "one")
    record = desk.record(key_id)
    equal([record[name] for name in (
        "state", "request_id", "created", "path", "label")],
          ["FAILED", "one", began["one"], "/v1/charges", "order-17"])
    equal(began["two"], began["one"])
    equal(desk.found("one"), [key_id])


@test
def of_many_acts_the_last_eight_stay(bench):
    desk = Desk(bench)
    for i in range(10):
        key_id = desk.unknown("k")
        desk.command("release", key_id, "--note", f"n{i}")
    equal([one["note"] for one in desk.record(key_id)["history"]],
          [f"n{i}" for i in range(2, 10)])


@test
def a_derived_key_is_shown_by_the_values_that_made_it(bench):
    desk = Desk(bench, {"derive_key": ["/order_id", "/n/x"]})
    key_id = desk.unknown(None)
    number = desk.unknown(None, b'{"order_id": 17, "n": {"x": "true"}}')
    assert key_id != number

    def shown(*values):
        words = [word for value in values for word in ("--json-value", value)]
        return json.loads(
            desk.command("show", *words, *SCOPE, "--json"))["key_id"]

    equal(shown("/order_id=order-17", "/n/x=true"), key_id)
    equal(shown("/n/x=true", "/order_id=17"), number)
    done = command("keys", "-c", desk.gateway.file, "show",
                   "--json-value", "/order_id=order-17", *SCOPE)
    equal(done.returncode, 1)
    assert "a key made of exactly these members" in done.stderr
    for values in ({}, {"order_id": "x"}, {"/a": 1}, [], "x",
                   {f"/{i}": "x" for i in range(7)}):
        equal(desk.admin.post("/keys/lookup", {"values": values}).status, 400)


@test
def a_messages_key_is_shown_by_the_values_that_made_it(bench):
    stream = Stream(bench.own_redis())
    more = {}
    source(more, stream, key=["/order_id", "/n/x"])
    source(more, Stream(stream.redis, "refunds"), "refunds", key=["/x", "/y"])
    desk = Desk(bench, **more)
    desk.upstream.reply = close_unanswered
    stream.add(body=BODY)
    key_id = desk.gateway.wait_for_log("message_held")["key_id"]
    for values in (("/order_id=order-17", "/n/x=true"),
                   ("/n/x=true", "/order_id=order-17")):
        words = [word for value in values for word in ("--json-value", value)]
        got = json.loads(desk.command("show", *words, *SCOPE, "--json"))
        equal((got["key_id"], got["state"]), (key_id, "UNKNOWN"))
    done = command("keys", "-c", desk.gateway.file, "show",
                   "--json-value", "/order_id=order-17", *SCOPE)
    equal(done.returncode, 1)
    assert "a key made of exactly these members" in done.stderr


@test
def the_log_has_the_label_and_the_request(bench):
    desk = Desk(bench, LABEL)
    desk.unknown("k", fields=[("X-Request-Id", "req-one")])
    for event in ("outcome_unknown", "request"):
        line = desk.gateway.wait_for_log(event)
        equal((line["request_id"], line["label"]),
              ("req-one", "order-17 true 1250"), event)
    plain = Desk(bench)
    plain.gateway.ask("k", body=BODY)
    assert "label" not in plain.gateway.wait_for_log("request")


def told(redis, stream):
    return [dict(zip(fields[::2], fields[1::2]))
            for key in redis("KEYS", f"*:{stream}")
            for _, fields in redis("XRANGE", key, "-", "+")]


@test
def events_carry_the_instance_the_request_and_the_label(bench):
    desk = Desk(bench, LABEL, store={"events": {"maxlen": 100}})
    desk.unknown("k", fields=[("X-Request-Id", "req-one")])
    done = command("events", "-c", desk.gateway.file, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    equal([(one["to"], one["instance"], one["request_id"], one["label"])
           for one in events],
          [(to, "gw-1", "req-one", "order-17 true 1250")
           for to in ("PROCESSING", "UNKNOWN")])
    done = command("events", "-c", desk.gateway.file)
    equal([line.split(" ", 7)[7] for line in done.stdout.splitlines()],
          2 * ["order-17 true 1250"])
    equal([one[b"request_id"] for one in told(bench.redis, "dead")],
          [b"req-one"])


@test
def with_encryption_keys_no_label_rests_in_the_clear(bench):
    desk = Desk(bench, {"label": ["/order_id"]}, store={
        "events": {"maxlen": 100},
        "encryption_keys": [{"id": "a", "key": KEY}]})
    key_id = desk.unknown("k")
    equal(desk.record(key_id)["label"], "order-17")
    equal(desk.found("order-17"), [key_id])
    redis = bench.redis
    for key in redis("KEYS", "*"):
        kind = redis("TYPE", key)
        value = (redis("GET", key) if kind == b"string" else
                 repr(redis("XRANGE", key, "-", "+")).encode()
                 if kind == b"stream" else b"")
        assert b"order-17" not in value, (key, value)
    done = command("events", "-c", desk.gateway.file, "--json")
    equal({json.loads(line)["label"] for line in done.stdout.splitlines()},
          {"order-17"})


tap.main()
