# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 8: the admin interface, and what an operator decides."""

import base64
import collections
import contextlib
import json
import os
import re
import signal
import time

from once import http, tap
from once.admin import Admin
from once.gateway import command, is_sanitized, write
from once.http import TENANT, build
from once.raw import memory
from once.redis import RedisClient
from once.tap import Skip, each, equal, test
from once.upstream import Hold, answer, close_unanswered
from once.wait import eventually

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
NONE_SUCH = "0" * 32


def start(bench, reply=None, idempotency=None, **members):
    upstream = bench.upstream(reply)
    members.setdefault("admin", {"listen": "127.0.0.1:0"})
    gateway = bench.gateway(upstream, idempotency, **members)
    return upstream, gateway, Admin(gateway)


def key_id_of(problem):
    return problem.json()["instance"].rsplit(":", 1)[-1]


def unknown(upstream, gateway, key="k"):
    """Makes a key UNKNOWN; its key_id."""
    upstream.reply = close_unanswered
    got = gateway.ask(key)
    equal(got.problem, "outcome-unknown")
    upstream.reply = answer()
    return key_id_of(got)


def refused(got, status, problem):
    equal((got.status, got.problem), (status, problem), got)


# --- health and status ------------------------------------------------------

@test
def the_ready_line_has_the_real_address(bench):
    _, gateway, admin = start(bench)
    assert not gateway.ready["admin"].endswith(":0")
    equal(admin.get("/healthz"), {"status": "ok"})


@test
def without_admin_listen_there_is_none(bench):
    _, gateway = bench.pair()
    equal(gateway.ready["admin"], None)


@test
def it_serves_on_a_unix_socket_and_removes_it(bench):
    path = os.path.join(bench.folder(), "admin")
    _, gateway, admin = start(bench, admin={"listen": "unix:" + path})
    equal(gateway.ready["admin"], "unix:" + path)
    equal(admin.get("/readyz"), {"status": "ready"})
    gateway.stop()
    assert not os.path.exists(path)


@test
def a_taken_address_ends_the_start(bench):
    _, gateway, _ = start(bench)
    other = bench.serve(dict(gateway.config, admin={
        "listen": gateway.ready["admin"]}), ready=False)
    other.wait_for_log("fatal")
    equal(other.wait(), 1)


@test
def ready_follows_redis(bench):
    redis = bench.own_redis()
    _, gateway, admin = start(bench, redis=redis)
    equal(admin.send("GET", "/readyz").status, 200)
    redis.kill()
    got = admin.send("GET", "/readyz")
    equal((got.status, got.json()["reason"]), (503, "store"))
    equal(admin.send("GET", "/healthz").status, 200)
    equal(admin.get("/status")["store"]["state"], "down")
    redis.start()
    eventually(lambda: admin.send("GET", "/readyz").status == 200)


SILENT = {
    "that say nothing": b"",
    "with half a head": b"GET /healthz HTTP/1.1\r\nHo",
    "that are kept alive": build("GET", "/healthz"),
    "with half a body": (b"POST /keys/lookup HTTP/1.1\r\nHost: localhost\r\n"
                         b"Content-Type: application/json\r\n"
                         b"Content-Length: 9\r\n\r\n{"),
    "that are answered before their body": (
        b"POST /keys/x HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Length: 1000\r\n\r\n"),
    "that are answered before their end": (
        b"GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n"),
    "that wait for a word to go on": (
        b"POST /keys/x HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n"),
}


@each([(words, sent) for words, sent in SILENT.items()])
def however_many_connections_are_idle_probes_are_answered(bench, sent):
    """128 of them: twice as many as the admin interface has places."""
    _, gateway, admin = start(bench)
    idle = [http.Client(gateway.ready["admin"]) for _ in range(128)]
    for client in idle:
        with contextlib.suppress(OSError):  # it has made way
            client.send(sent)
    # One that has begun with a body has a second for it.
    eventually(lambda: all(admin.send("GET", "/readyz").status == 200
                           for _ in range(70)))
    for client in idle:
        client.close()


@test
def the_connection_that_has_been_idle_longest_makes_way(bench):
    """A new one asks, too: an answer shows that it was taken."""
    _, gateway, admin = start(bench)
    used = http.Client(gateway.ready["admin"])
    idle = []
    for _ in range(200):
        idle.append(http.Client(gateway.ready["admin"]))
        for client in (idle[-1], used):
            answer = client.exchange("GET", "/healthz", host=admin.host)
            equal(answer.status, 200)
    for client in [used, *idle]:
        client.close()


@test
def a_connection_whose_request_has_arrived_makes_no_way(bench):
    """Nobody has been idle for longer, and the new ones come first."""
    _, gateway, admin = start(bench)
    used = http.Client(gateway.ready["admin"])
    used.exchange("GET", "/healthz", host=admin.host)
    gateway.wait_for_rest()
    gateway.freeze()
    others = [http.Client(gateway.ready["admin"]) for _ in range(70)]
    used.send(build("GET", "/healthz", host=admin.host))
    gateway.thaw()
    equal(used.read().status, 200)
    for client in [used, *others]:
        client.close()


@test
def a_frozen_redis_is_not_ready(bench):
    redis = bench.own_redis()
    _, gateway, admin = start(bench, redis=redis)
    equal(admin.send("GET", "/readyz").status, 200)
    redis.freeze()
    equal(admin.send("GET", "/readyz").json()["reason"], "store")
    redis.thaw()
    eventually(lambda: admin.send("GET", "/readyz").status == 200)


@test
def status_says_what_runs(bench):
    upstream, gateway, admin = start(
        bench, instance="gw-1", store={"prefix": "shop"})
    hold = upstream.hold()
    bench.background(gateway.ask, "k")
    hold.wait_arrived()
    got = admin.get("/status")
    assert got["version"].startswith("0.")
    equal(got["listen"], gateway.addresses)
    equal(got["admin"], gateway.ready["admin"])
    equal(got["workers"], 2)
    equal((got["instance"], got["store"]["prefix"]), ("gw-1", "shop"))
    equal(got["store"]["state"], "up")
    equal(got["journal"], {"entries": 0, "writable": True, "blocked": 0,
                           "foreign": 0, "damaged": 0})
    equal(got["configuration"]["file"], gateway.file)
    assert TIME.match(got["configuration"]["loaded"]), got
    assert TIME.match(got["started"]), got
    assert got["uptime_seconds"] >= 0
    equal(got["draining"], False)
    equal((got["in_flight"]["requests"], got["in_flight"]["executions"]),
          (1, 1))
    equal(len(got["in_flight"]["workers"]), 2)
    hold.release()


@test
def the_traffic_of_the_last_hour_is_told(bench):
    _, gateway, admin = start(bench)
    def told():
        minutes = admin.get("/traffic")["minutes"]
        return [sum((collections.Counter(minute["outcomes"])
                     for minute in minutes), collections.Counter()),
                *(sum(sum(minute[what]) for minute in minutes)
                  for what in ("requests", "upstreams"))]
    equal(told(), [{}, 0, 0])
    for _ in range(3):
        gateway.ask("k")
    wanted = [{"executed": 1, "replayed": 2}, 3, 1]
    eventually(lambda: told() == wanted, f"{wanted}; now {told()}")
    got = admin.get("/traffic")
    minute = got["minutes"][-1]
    equal(sorted(minute), ["from", "outcomes", "redis", "requests", "to",
                           "upstreams"])
    equal(minute["to"], got["now"])
    equal((got["bounds"][0], got["bounds"][-1], len(got["bounds"])),
          (0.0001, 60.0, 18))
    assert all(len(minute[what]) in (0, 19)
               for minute in got["minutes"] for what in minute
               if isinstance(minute[what], list)), got
    equal(admin.send("GET", "/traffic?minutes=5").status, 400)


@test
def a_reload_is_seen(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    before = admin.get("/status")["configuration"]["loaded"]
    config = dict(gateway.config)
    config["routes"][0]["idempotency"] = {"retention": "100s"}
    write(gateway.file, config)
    gateway.signal(1)  # SIGHUP
    gateway.wait_for_log("reloaded")
    eventually(lambda: admin.get("/status")["configuration"]["loaded"]
               > before)
    admin.act(key_id, "release")
    [name] = [k for k in bench.redis.keys() if b":r:" in k]
    assert bench.redis("PTTL", name) <= 100_000


@test
def what_a_reload_does_not_change_is_said_until_it_is_as_it_was(bench):
    _, gateway, admin = start(bench)
    equal(admin.get("/status")["configuration"]["restart"], [])
    for changed in ({**gateway.config, "cache": {"size": 0}}, gateway.config):
        since = len(gateway.events)
        write(gateway.file, changed)
        gateway.signal(signal.SIGHUP)
        gateway.wait_for_log("reloaded", since)
        partial = [line for line in gateway.find_log("reload_partial")
                   if "cache" in changed]
        equal(admin.get("/status")["configuration"]["restart"], [
            {name: line[name] for name in ("member", "line", "column",
                                           "error")} for line in partial])
        equal([line["member"] for line in partial],
              ["/cache/size"] if "cache" in changed else [])


@test
def what_a_reload_has_changed_of_keys_is_said_until_another_does(bench):
    _, gateway, admin = start(bench)
    equal(admin.get("/status")["configuration"]["keys"], None)
    config = json.loads(json.dumps(gateway.config))
    policy = config["routes"][0]["idempotency"]

    def reload():
        since = len(gateway.events)
        write(gateway.file, config)
        gateway.signal(signal.SIGHUP)
        gateway.wait_for_log("reloaded", since)
        told = admin.get("/status")["configuration"]["keys"]
        return told, gateway.find_log("reload_keys", since)
    times = []
    for name in ("eu", "us"):
        policy["namespace"] = name
        told, lines = reload()
        assert TIME.match(told["time"]) and name in lines[0]["error"], told
        times.append(told["time"])
        equal(told["changes"], [
            {name: line[name] for name in ("member", "line", "column",
                                           "error")} for line in lines])
    assert times[0] < times[1], times
    policy["retention"] = "25h"
    equal(reload(), (told, []))


@test
def a_reload_that_was_refused_is_said_until_one_succeeds(bench):
    _, gateway, admin = start(bench)
    valid = gateway.config
    loaded = admin.get("/status")["configuration"]
    equal(loaded["refused"], None)
    for words, member in (
            (json.dumps({**valid, "colour": 1}), "/colour"), ("{", None)):
        since = len(gateway.events)
        with open(gateway.file, "w", encoding="utf-8") as file:
            file.write(words)
        gateway.signal(signal.SIGHUP)
        line = gateway.wait_for_log("reload_refused", since)
        got = admin.get("/status")["configuration"]
        equal(got["loaded"], loaded["loaded"])
        assert TIME.match(got["refused"]["time"]), got
        [why] = got["refused"]["errors"]
        equal(why, {name: line[name] for name in (
            "member", "line", "column", "error") if name in line})
        equal(why.get("member"), member)
    write(gateway.file, valid)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    equal(admin.get("/status")["configuration"]["refused"], None)


@test
def it_answers_to_the_end_of_a_drain(bench):
    upstream, gateway, admin = start(bench)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    gateway.signal(15)
    gateway.wait_for_log("draining")
    got = admin.send("GET", "/readyz")
    equal((got.status, got.json()["reason"]), (503, "draining"))
    equal(admin.send("GET", "/healthz").status, 200)
    equal(admin.get("/status")["draining"], True)
    equal(len(admin.get("/keys")["keys"]), 1)
    hold.release()
    equal(first.result().status, 201)
    equal(gateway.wait(), 0)


# --- who may ask ------------------------------------------------------------

@test
def a_token_is_needed_for_all_but_health(bench):
    _, gateway, admin = start(
        bench, admin={"listen": "127.0.0.1:0", "token": "s3cret"})
    for target in ("/healthz", "/readyz"):
        equal(admin.send("GET", target).status, 200)
    for target in ("/status", "/keys", "/keys/" + NONE_SUCH, "/nowhere"):
        got = admin.send("GET", target)
        refused(got, 401, "unauthorized")
        assert got.get("WWW-Authenticate").startswith("Bearer")
    for fields in ([("Authorization", "Bearer s3cre")],
                   [("Authorization", "Bearer s3crett")],
                   [("Authorization", "Bearer ")],
                   [("Authorization", "Basic s3cret")],
                   [("Authorization", "s3cret")],
                   [("Authorization", "Bearer s3cret"),
                    ("Authorization", "Bearer s3cret")]):
        equal(admin.send("GET", "/status", fields=fields).status, 401, fields)
    equal(Admin(gateway, "s3cret").send("GET", "/status").status, 200)
    equal(admin.send("GET", "/status", fields=[
        ("Authorization", "bearer s3cret")]).status, 200)
    assert "s3cret" not in "\n".join(gateway.lines)


@test
def whose_token_it_is_stands_in_the_history_and_the_log(bench):
    upstream, gateway, _ = start(bench, admin={
        "listen": "127.0.0.1:0", "token": "s3cret", "tokens": {
            "alice": "alices", "bob": {"token": "bobs"},
            "carol": {"token": "carols", "read_only": True}}})
    upstream.reply = close_unanswered
    names = {"s3cret": "admin", "alices": "alice", "bobs": "bob"}
    for token, name in names.items():
        got = gateway.ask("of-" + name)
        key_id = got.json()["instance"].rsplit(":", 1)[-1]
        asker = Admin(gateway, token)
        equal(asker.get("/status")["you"], {"name": name, "read_only": False})
        told = asker.act(key_id, "release", {"note": "not there"})
        equal([(act["act"], act.get("who"), act.get("note"))
               for act in told["history"]], [("release", name, "not there")])
        line = gateway.wait_for_log("operator", key_id=key_id)
        equal((line["operator"], line["note"]), (name, "not there"))
    carol = Admin(gateway, "carols")
    equal(carol.get("/status")["you"], {"name": "carol", "read_only": True})
    got = gateway.ask("of-carol")
    key_id = got.json()["instance"].rsplit(":", 1)[-1]
    equal(carol.get("/keys/" + key_id)["state"], "UNKNOWN")
    equal(carol.send("POST", "/keys/lookup", {
        "key": "of-carol", "scope": {"Authorization": TENANT}}).status, 200)
    for method, target in (("POST", f"/keys/{key_id}/release"),
                           ("DELETE", f"/keys/{key_id}"),
                           ("POST", "/sources/any/pause")):
        refused(carol.send(method, target, {}), 403, "read-only")
    equal(carol.get("/keys/" + key_id)["state"], "UNKNOWN")
    refused(Admin(gateway, "nobodys").send("GET", "/status"), 401,
            "unauthorized")
    for token in (*names, "carols"):
        assert token not in "\n".join(gateway.lines), token


@test
def a_token_of_a_person_is_enough_and_commands_take_it(bench):
    upstream, gateway, admin = start(bench, admin={
        "listen": "unix:" + os.path.join(bench.folder(), "a"),
        "tokens": {"alice": "alices"}})
    refused(admin.send("GET", "/status"), 401, "unauthorized")
    upstream.reply = close_unanswered
    got = gateway.ask("k")
    key_id = got.json()["instance"].rsplit(":", 1)[-1]
    for env, words in ((None, "put a token of admin.tokens into the"),
                       ({"ONCEPROXY_TOKEN": "nobodys"},
                        "ONCEPROXY_TOKEN is neither admin.token nor one")):
        done = command("keys", "-c", gateway.file, "show", key_id, env=env)
        equal(done.returncode, 1)
        assert words in done.stderr, done.stderr
        assert "a different admin.token" not in done.stderr, done.stderr
    done = command("keys", "-c", gateway.file, "release", key_id, "--note",
                   "not there", env={"ONCEPROXY_TOKEN": "alices"})
    equal((done.returncode, done.stderr), (0, ""))
    assert " release by alice: not there" in done.stdout, done.stdout


@test
def who_has_a_token_needs_nobody_elses(bench):
    secrets = bench.folder()
    for name in ("admin", "alices"):
        write(os.path.join(secrets, name), name)
    _, gateway, _ = start(bench, env={"BOBS": "bobs"}, admin={
        "listen": "unix:" + os.path.join(secrets, "a"),
        "token": {"file": os.path.join(secrets, "admin")},
        "tokens": {"alice": {"file": os.path.join(secrets, "alices")},
                   "bob": {"token": {"env": "BOBS"}}}})
    for name in ("admin", "alices"):
        os.remove(os.path.join(secrets, name))
    line = ("keys", "-c", gateway.file, "list")
    done = command(*line, env={"ONCEPROXY_TOKEN": "bobs"})
    equal((done.returncode, done.stderr), (0, ""))
    done = command(*line)
    equal(done.returncode, 1)
    assert "BOBS is not set in the environment" in done.stderr, done.stderr
    assert "as ONCEPROXY_TOKEN" in done.stderr, done.stderr


@each([("a path", "GET", "/nowhere", 404, "not-found"),
       ("an id that is none", "GET", "/keys/xyz", 404, "not-found"),
       ("an id that is too long", "GET", "/keys/" + "0" * 33, 404,
        "not-found"),
       ("an unknown act", "POST", f"/keys/{NONE_SUCH}/undo", 404,
        "not-found"),
       ("a method", "POST", "/status", 405, "method-not-allowed"),
       ("a method of a record", "PUT", f"/keys/{NONE_SUCH}", 405,
        "method-not-allowed"),
       ("a parameter", "GET", "/keys?colour=red", 400, "bad-request"),
       ("a state", "GET", "/keys?state=unknown", 400, "bad-request"),
       ("completed ones", "GET", "/keys?state=COMPLETED", 400,
        "bad-request"),
       ("a limit", "GET", "/keys?limit=0", 400, "bad-request"),
       ("a limit in words", "GET", "/keys?limit=ten", 400, "bad-request"),
       ("a cursor", "GET", "/keys?cursor=x", 400, "bad-request"),
       ("a record that is not there", "GET", f"/keys/{NONE_SUCH}", 404,
        "not-found"),
       ("a release of it", "POST", f"/keys/{NONE_SUCH}/release", 404,
        "not-found"),
       ("its end", "DELETE", f"/keys/{NONE_SUCH}", 404, "not-found")])
def it_refuses(bench, method, target, status, problem):
    _, _, admin = start(bench)
    refused(admin.send(method, target), status, problem)


@test
def a_method_that_is_not_served_names_those_that_are(bench):
    _, _, admin = start(bench)
    equal(admin.send("PUT", f"/keys/{NONE_SUCH}").get("Allow"), "GET, DELETE")


# --- records ----------------------------------------------------------------

@test
def a_completed_record_is_shown_with_its_answer(bench):
    reply = answer(201, b'{"id":"ch_1"}', [("X-A", "1"), ("X-A", "2")])
    _, gateway, admin = start(bench, reply)
    gateway.ask("k")
    key_id = gateway.wait_for_log("request")["key_id"]
    got = admin.get("/keys/" + key_id)
    equal(set(got), {"key_id", "state", "attempt", "route", "owner",
                     "created", "changed", "expires", "status", "bytes",
                     "method", "path", "request_id", "instance"})
    equal((got["key_id"], got["state"], got["attempt"], got["route"],
           got["status"], got["bytes"]),
          (key_id, "COMPLETED", 1, "charges", 201, 13))
    for name in ("created", "changed", "expires"):
        assert TIME.match(got[name]), got
    assert got["created"] <= got["changed"] < got["expires"]
    whole = admin.get(f"/keys/{key_id}?body=1")
    equal(whole["body"], '{"id":"ch_1"}')
    equal([p for p in whole["headers"] if p[0] == "X-A"],
          [["X-A", "1"], ["X-A", "2"]])


@test
def bytes_that_are_no_text_come_as_base64(bench):
    data = b"\x00\xff\xfe" * 999
    _, gateway, admin = start(bench, answer(200, data))
    gateway.ask("k")
    key_id = gateway.wait_for_log("request")["key_id"]
    got = admin.get(f"/keys/{key_id}?body=1")
    assert "body" not in got
    equal(base64.b64decode(got["body_base64"]), data)
    equal(got["bytes"], len(data))


@test
def a_record_in_flight_has_its_lease(bench):
    upstream, gateway, admin = start(bench)
    hold = upstream.hold()
    bench.background(gateway.ask, "k")
    hold.wait_arrived()
    [got] = admin.get("/keys")["keys"]
    equal((got["state"], got["route"]), ("PROCESSING", "charges"))
    assert got["changed"] < got["lease_until"] < got["expires"], got
    assert len(got["owner"]) == 22
    hold.release()


@test
def an_unknown_record_has_its_reason(bench):
    upstream, gateway, admin = start(bench)
    got = admin.get("/keys/" + unknown(upstream, gateway))
    equal((got["state"], got["reason"]), ("UNKNOWN", "broken"))
    assert "status" not in got and "lease_until" not in got


@test
def a_record_is_found_by_its_key(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway, "pay-1")
    for scope in ({"Authorization": http.TENANT},
                  {"authorization": http.TENANT}):
        for key in ("pay-1", '"pay-1"'):
            got = admin.post("/keys/lookup", {"key": key, "scope": scope})
            equal((got.status, got.json()["key_id"]), (200, key_id))
    got = admin.post("/keys/lookup", {
        "namespace": "default", "key": "pay-1",
        "scope": {"Authorization": "Bearer another"}})
    refused(got, 404, "not-found")


@test
def each_scope_of_a_namespace_is_tried(bench):
    upstream = bench.upstream()
    config = bench.config(upstream, {"scope": ["X-A", "X-B"]},
                          admin={"listen": "127.0.0.1:0"})
    config["routes"].insert(0, {
        "name": "other", "path": "/other", "upstream": "api",
        "idempotency": {"scope": ["X-B"]}})
    gateway = bench.serve(config)
    admin = Admin(gateway)
    equal(gateway.ask("k", [("X-B", "7")]).status, 201)
    key_id = gateway.wait_for_log("request")["key_id"]
    got = admin.post("/keys/lookup", {"key": "k", "scope": {"x-b": "7"}})
    equal((got.status, got.json()["key_id"]), (200, key_id))


@each([("no body", None), ("no key", {"scope": {"Authorization": "x"}}),
       ("an empty key", {"key": "", "scope": {"Authorization": "x"}}),
       ("a key of another type", {"key": 7}),
       ("no scope", {"key": "k"}),
       ("a scope of other headers", {"key": "k", "scope": {"X-A": "1"}}),
       ("a namespace of no route",
        {"namespace": "x", "key": "k", "scope": {"Authorization": "x"}}),
       ("a member that is none",
        {"key": "k", "scopes": {}, "scope": {"Authorization": "x"}}),
       ("a list", b"[]"), ("no JSON", b"{"),
       ("a member twice", b'{"key":"a","key":"b"}')])
def a_lookup_refuses(bench, body):
    _, _, admin = start(bench)
    refused(admin.send("POST", "/keys/lookup", body), 400, "bad-request")


# --- a list -----------------------------------------------------------------

def pages(admin, query):
    """All key_ids, page by page."""
    found, cursor = [], None
    while True:
        got = admin.get(f"/keys?{query}"
                        + (f"&cursor={cursor}" if cursor else ""))
        found.append([r["key_id"] for r in got["keys"]])
        cursor = got["next"]
        if cursor is None:
            return found


@test
def a_list_goes_from_old_to_new_in_pages(bench):
    upstream, gateway, admin = start(bench)
    made = []
    for number in range(7):
        made.append(unknown(upstream, gateway, f"k{number}"))
        # Of two in one millisecond neither is the older one.
        then = time.monotonic() + 0.002
        eventually(lambda: time.monotonic() > then)
    equal(pages(admin, "state=UNKNOWN"), [made])
    equal(pages(admin, "limit=3"), [made[:3], made[3:6], made[6:]])
    equal(pages(admin, "limit=7"), [made])
    equal(pages(admin, "limit=1"), [[key_id] for key_id in made])
    equal(pages(admin, "state=FAILED"), [[]])
    equal(pages(admin, "state=PROCESSING"), [[]])


@test
def a_list_of_many_is_whole_and_in_order(bench):
    """More records than one ZRANGE of list.lua takes from an index, on few
    shards.  All are copies of one record, which is listed last."""
    upstream, gateway, admin = start(bench, store={"shards": 2})
    unknown(upstream, gateway)
    [name] = [k for k in bench.redis.keys() if b":r:" in k]
    value = bench.redis("GET", name)
    wanted = []
    for i in range(500):
        key_id = "%08x" % (2 * i + i % 3) + "%024x" % (i * 7919 % 1000)
        changed = b"%013d" % (1700000000000 + i // 4)
        shard = int(key_id[:8], 16) % 2
        state = b"F" if i % 2 else b"U"
        bench.redis("SET", f"onceproxy:{{{shard}}}:r:{key_id}",
                    value[:2] + state + value[3:29] + changed + value[42:])
        bench.redis("ZADD", f"onceproxy:{{{shard}}}:held", changed, key_id)
        wanted.append((changed, key_id, state))
    wanted.sort()
    got = pages(admin, "limit=130")
    equal([len(page) for page in got], [130, 130, 130, 111])
    equal(sum(got, [])[:-1], [w[1] for w in wanted])
    equal(sum(pages(admin, "state=FAILED&limit=99"), []),
          [w[1] for w in wanted if w[2] == b"F"])


@test
def what_is_resolved_leaves_the_list(bench):
    upstream, gateway, admin = start(bench)
    made = [unknown(upstream, gateway, f"k{i}") for i in range(4)]
    admin.act(made[0], "release")
    admin.act(made[1], "complete", {"status": 200})
    equal(admin.send("DELETE", "/keys/" + made[2]).status, 200)
    equal(pages(admin, ""), [[made[3]]])


# --- what an operator decides -----------------------------------------------

@each([(act, act) for act in ("release", "complete", "delete")])
def the_log_says_which_payment_an_operator_decided_about(bench, act):
    upstream, gateway, admin = start(
        bench, close_unanswered, {"label": ["/order"]})
    got = gateway.ask("k", body=b'{"order": "o-7"}',
                      fields=[("X-Request-Id", "first-1")])
    key_id = key_id_of(got)
    if act == "delete":
        equal(admin.send("DELETE", "/keys/" + key_id).status, 200)
    else:
        admin.act(key_id, act, {"status": 200} if act == "complete" else None)
    line = gateway.wait_for_log("operator", act=act)
    equal((line["route"], line["first_request_id"], line["label"]),
          ("charges", "first-1", "o-7"))
    assert line["request_id"] not in ("", "first-1")


@test
def a_key_that_an_operator_released_still_says_what_it_was(bench):
    upstream, gateway, admin = start(
        bench, close_unanswered, {"label": ["/order"]})
    first = gateway.ask("k", body=b'{"order": "o-7"}',
                        fields=[("X-Request-Id", "first-1")])
    key_id = key_id_of(first)
    before = admin.get("/keys/" + key_id)
    admin.act(key_id, "release", {"note": "asked the bank"})
    upstream.reply = answer(503)
    equal(gateway.ask("other").status, 503)
    got = admin.get("/keys/" + key_id)
    equal((got["state"], got["history"][0]["note"]),
          ("RELEASED", "asked the bank"))
    said = ("route", "method", "path", "request_id", "instance", "label")
    equal({name: got.get(name) for name in said},
          {name: before[name] for name in said})
    equal((got["path"], got["request_id"], got["label"]),
          ("/v1/charges", "first-1", "o-7"))
    upstream.reply = answer()
    equal(gateway.ask("k", body=b'{"order": "o-8"}',
                      fields=[("X-Request-Id", "next-1")]).status, 201)
    got = admin.get("/keys/" + key_id)
    equal((got["state"], got["request_id"], got["label"]),
          ("COMPLETED", "next-1", "o-8"))
    equal([act["act"] for act in got["history"]], ["release"])


@test
def a_released_key_executes_again_under_the_next_attempt(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    got = admin.act(key_id, "release", {"note": "asked the bank"})
    equal((got["state"], got["attempt"]), ("RELEASED", 1))
    line = gateway.wait_for_log("operator", act="release")
    equal((line["key_id"], line["before"], line["after"], line["note"]),
          (key_id, "UNKNOWN", "RELEASED", "asked the bank"))
    equal(gateway.ask("k").status, 201)
    equal(upstream.requests[-1].get("Idempotency-Attempt"), "2")
    equal(gateway.ask("k").replayed, True)


@test
def a_release_gives_a_fresh_allowance(bench):
    idempotency = {"on_unknown": "retry", "max_attempts": 2}
    upstream, gateway, admin = start(bench, close_unanswered, idempotency)
    for _ in range(2):
        equal(gateway.ask("k").problem, "outcome-unknown")
    got = gateway.ask("k")
    equal(got.problem, "attempts-exhausted")
    key_id = key_id_of(got)
    equal(admin.get("/keys?state=FAILED")["keys"][0]["key_id"], key_id)
    equal(admin.act(key_id, "release")["state"], "RELEASED")
    for _ in range(2):
        equal(gateway.ask("k").problem, "outcome-unknown")
    equal(gateway.ask("k").problem, "attempts-exhausted")
    equal([r.get("Idempotency-Attempt") for r in upstream.requests],
          ["1", "2", "3", "4"])


def who_has_looked(bench, gateway, key_id):
    """Another gateway, whose operator's release waits once it has looked at
    the record; and what comes of it."""
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program or not os.access(program, os.X_OK):
        raise Skip("there is no test build")
    slow = bench.serve({**gateway.config, "state_dir": bench.folder()},
                       {"ONCE_FAULT": "admin:SHOWN"}, program=program)
    said = bench.background(Admin(slow).post, f"/keys/{key_id}/release")
    slow.wait_for_log("fault_point")
    slow.wait_stopped()
    return slow, said


@test
def a_release_is_of_what_was_looked_at(bench):
    """The key was free then; it is UNKNOWN when Redis is asked."""
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    equal(admin.act(key_id, "release")["state"], "RELEASED")
    slow, said = who_has_looked(bench, gateway, key_id)
    equal(unknown(upstream, gateway), key_id)
    slow.thaw()
    refused(said.result(), 409, "conflict")
    equal(admin.get("/keys/" + key_id)["state"], "UNKNOWN")


@test
def nor_is_it_of_the_attempt_after_that(bench):
    """It names none; another operator was first, and the client has sent it
    again."""
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    slow, said = who_has_looked(bench, gateway, key_id)
    admin.act(key_id, "release")
    equal(unknown(upstream, gateway), key_id)
    slow.thaw()
    refused(said.result(), 409, "conflict")
    equal(said.result().json()["detail"],
          "The record has changed since it was looked at, and is UNKNOWN now: "
          "look at it again. Nothing was changed.")
    found = admin.get("/keys/" + key_id)
    equal((found["state"], found["attempt"]), ("UNKNOWN", 2))
    admin.act(key_id, "release")


@test
def of_two_who_have_looked_one_decides(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    slow, said = who_has_looked(bench, gateway, key_id)
    admin.act(key_id, "complete", {"status": 201, "body": "{}"})
    slow.thaw()
    refused(said.result(), 409, "conflict")
    equal(admin.get("/keys/" + key_id)["state"], "COMPLETED")


@each([("headers as pairs", [["X-A", "1"], ["X-A", "2"]], ["1", "2"]),
       ("headers as an object", {"X-A": "1"}, ["1"])])
def a_completed_key_replays_what_the_operator_said(bench, headers, wanted):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    got = admin.act(key_id, "complete", {
        "status": 202, "headers": headers, "body": '{"id":"ch_é"}',
        "note": "they have it"})
    equal((got["state"], got["status"], got["bytes"]),
          ("COMPLETED", 202, 14))
    assert "reason" not in got
    again = gateway.ask("k")
    equal((again.status, again.replayed), (202, True))
    equal(again.body, '{"id":"ch_é"}'.encode())
    equal(again.all("X-A"), wanted)
    assert again.get("Date")
    equal(upstream.count(), 1)
    line = gateway.wait_for_log("operator", act="complete")
    equal((line["before"], line["after"], line["status"], line["note"]),
          ("UNKNOWN", "COMPLETED", 202, "they have it"))
    assert "ch_" not in "\n".join(gateway.lines)


@test
def a_completed_key_still_knows_its_request(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    admin.act(key_id, "complete", {"status": 200})
    equal(gateway.ask("k", body=b'{"amount":2}').problem, "key-reused")
    equal(gateway.ask("k").status, 200)


@test
def a_key_is_completed_whatever_its_fingerprint(bench):
    """One begins like what stands where there is none."""
    upstream, gateway, admin = start(bench, close_unanswered)
    for number in range(2000):
        key_id = key_id_of(gateway.ask("k", body=b"%d" % number, tenant=str(
            number)))
        name, = bench.redis("KEYS", f"*:r:{key_id}")
        if bench.redis("GETRANGE", name, 77, 77) == b"-":
            break
    else:
        raise AssertionError("no fingerprint begins so")
    equal(admin.act(key_id, "complete", {"status": 200, "body": ""})[
        "state"], "COMPLETED")


@test
def bytes_can_be_said_in_base64(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    data = bytes(range(256)) * 9
    admin.act(key_id, "complete", {
        "status": 200, "headers": {"Content-Type": "image/png"},
        "body_base64": base64.b64encode(data).decode()})
    got = gateway.ask("k")
    equal((got.body, got.get("Content-Type")), (data, "image/png"))


@each([
    ("no status", {}),
    ("a status of 100", {"status": 100}),
    ("a status of 600", {"status": 600}),
    ("a status in words", {"status": "200"}),
    ("a field name with a space", {"status": 200, "headers": {"X A": "1"}}),
    ("an empty field name", {"status": 200, "headers": {"": "1"}}),
    ("a value with a line feed",
     {"status": 200, "headers": {"X-A": "1\r\nX-B: 2"}}),
    ("a value with a NUL", {"status": 200, "headers": {"X-A": "1\u0000"}}),
    ("a value that is a number", {"status": 200, "headers": {"X-A": 1}}),
    ("a length", {"status": 200, "headers": {"content-length": "1"}}),
    ("chunks", {"status": 200, "headers": {"Transfer-Encoding": "chunked"}}),
    ("a connection", {"status": 200, "headers": [["Connection", "close"]]}),
    ("headers of three", {"status": 200, "headers": [["A", "1", "2"]]}),
    ("headers of another type", {"status": 200, "headers": "A: 1"}),
    ("too many headers", {"status": 200, "headers": [["A", "1"]] * 101}),
    ("two bodies", {"status": 200, "body": "", "body_base64": ""}),
    ("a body that is an object", {"status": 200, "body": {}}),
    ("bad base64", {"status": 200, "body_base64": "a"}),
    ("a body of 204", {"status": 204, "body": "x"}),
    ("a member that is none", {"status": 200, "boddy": "x"}),
    ("a note that is a number", {"status": 200, "note": 1}),
    ("a note that is too long", {"status": 200, "note": "x" * 1001}),
])
def complete_refuses(bench, body):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    refused(admin.post(f"/keys/{key_id}/complete", body), 400, "bad-request")
    equal(admin.get("/keys/" + key_id)["state"], "UNKNOWN")


@test
def complete_names_the_header_that_cannot_be_stored(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    got = admin.post(f"/keys/{key_id}/complete", {"status": 201, "headers": [
        ["Content-Type", "text/plain"], ["X-Request-Id", "1"]]})
    assert '"X-Request-Id"' in got.json()["detail"], got.body


@each([("lists in lists", b"[" * 100_000, 400),
       ("lists beside lists", b"{\"a\": [" + b"[]," * 600_000, 400),
       ("members", b"{" + b'"a": 1,' * 250_000, 400),
       ("15 MB of them", b"[]," * 5_000_000, 413)])
def a_body_of_nothing_but_structure_takes_no_memory(bench, body, status):
    upstream, gateway, admin = start(bench, workers=1)
    key_id = unknown(upstream, gateway)
    refused(admin.post(f"/keys/{key_id}/complete", b"{}"), 400, "bad-request")
    before = memory(gateway.pid)[1]
    problem = "bad-request" if status == 400 else "request-too-large"
    for fields in ((), (("Transfer-Encoding", "chunked"),)):
        data = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if fields \
            else body
        head = build("POST", f"/keys/{key_id}/complete", [
            ("Content-Type", "application/json"),
            *(fields or [("Content-Length", len(body))])], host="localhost")
        with http.Client(gateway.ready["admin"]) as client:
            try:
                client.send(head + data)
            except ConnectionError:
                pass
            got = client.read()
        equal((got.status, got.problem), (status, problem))
    more = memory(gateway.pid)[1] - before
    if not is_sanitized():
        assert more < 12 << 20, f"{more >> 20} MiB more"
    equal(admin.get("/keys/" + key_id)["state"], "UNKNOWN")


@test
def a_body_is_as_long_as_the_largest_answer_needs(bench):
    size = 3 << 20
    upstream, gateway, admin = start(
        bench, idempotency={"max_response_body": size})
    key_id = unknown(upstream, gateway)
    for act in ("release", "lookup"):
        path = "/keys/lookup" if act == "lookup" else f"/keys/{key_id}/{act}"
        refused(admin.post(path, {"note": "n" * 70_000}), 413,
                "request-too-large")
    body = base64.b64encode(os.urandom(size)).decode()
    equal(admin.act(key_id, "complete", {
        "status": 200, "body_base64": body,
        "headers": [[f"A-{n}", "x"] for n in range(100)]})["bytes"], size)


@test
def an_answer_that_is_too_long_is_refused(bench):
    upstream, gateway, admin = start(
        bench, idempotency={"max_response_body": 10})
    key_id = unknown(upstream, gateway)
    refused(admin.post(f"/keys/{key_id}/complete",
                       {"status": 200, "body": "x" * 11}),
            413, "request-too-large")
    equal(admin.act(key_id, "complete",
                    {"status": 200, "body": "x" * 10})["bytes"], 10)


@test
def a_deleted_record_is_forgotten(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    got = admin.send("DELETE", "/keys/" + key_id, {"note": "a test"})
    equal((got.status, got.json()), (200, {"key_id": key_id,
                                           "deleted": True}))
    line = gateway.wait_for_log("operator", act="delete")
    equal((line["before"], line["after"], line["note"]),
          ("UNKNOWN", "NONE", "a test"))
    refused(admin.send("GET", "/keys/" + key_id), 404, "not-found")
    equal(gateway.ask("k").status, 201)
    equal(upstream.requests[-1].get("Idempotency-Attempt"), "1")
    equal(admin.send("DELETE", "/keys/" + key_id).status, 200)
    # A worker that caches the answer hears of it a moment later.
    eventually(lambda: not gateway.ask("k").replayed)
    equal(upstream.count(), 3)


@test
def nothing_is_decided_about_a_record_in_flight(bench):
    upstream, gateway, admin = start(bench, idempotency={"lease": "5m"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    [record] = admin.get("/keys")["keys"]
    key_id = record["key_id"]
    for got in (admin.post(f"/keys/{key_id}/release"),
                admin.post(f"/keys/{key_id}/complete", {"status": 200}),
                admin.send("DELETE", "/keys/" + key_id)):
        refused(got, 409, "conflict")
        assert "PROCESSING" in got.json()["detail"], got.json()
    equal(admin.get("/keys")["keys"], [record])
    equal(gateway.find_log("operator"), [])
    hold.release()
    equal(first.result().status, 201)
    equal(gateway.ask("k").replayed, True)


@test
def a_completed_record_is_neither_released_nor_completed(bench):
    _, gateway, admin = start(bench)
    gateway.ask("k")
    key_id = gateway.wait_for_log("request")["key_id"]
    changed = admin.get("/keys/" + key_id)["changed"]
    for act, body in (("release", {}), ("complete", {"status": 500}),
                      ("release", {"changed": changed})):
        got = admin.post(f"/keys/{key_id}/{act}", body)
        refused(got, 409, "conflict")
        assert "this one is COMPLETED" in got.json()["detail"], got.json()
    equal(gateway.ask("k").status, 201)


@test
def what_was_said_of_one_attempt_is_not_taken_for_another(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    admin.act(key_id, "release", {"attempt": 1})
    equal(unknown(upstream, gateway), key_id)
    for method, target, more in (
            ("POST", f"/keys/{key_id}/release", {}),
            ("POST", f"/keys/{key_id}/complete", {"status": 200}),
            ("DELETE", f"/keys/{key_id}", {})):
        got = admin.send(method, target, {"attempt": 1, **more})
        refused(got, 409, "conflict")
        assert "attempt 2" in got.json()["detail"], got.json()
        for wrong in (0, "2", -1, 1.5, 1000000):
            refused(admin.send(method, target, {"attempt": wrong, **more}),
                    400, "bad-request")
    equal(admin.get("/keys/" + key_id)["state"], "UNKNOWN")
    admin.act(key_id, "complete", {"status": 200, "attempt": 2})
    equal(admin.send("DELETE", "/keys/" + key_id, {"attempt": 2}).status, 200)


@test
def what_was_said_of_one_record_is_not_taken_for_the_next(bench):
    """Once it is deleted, its attempts begin at 1 again."""
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    changed = admin.get("/keys/" + key_id)["changed"]
    equal(admin.send("DELETE", "/keys/" + key_id,
                     {"attempt": 1, "changed": changed}).status, 200)
    eventually(lambda: admin.send("GET", "/keys/" + key_id).status == 404)
    equal(unknown(upstream, gateway), key_id)
    now = admin.get("/keys/" + key_id)
    equal(now["attempt"], 1)
    for method, target, more in (
            ("POST", f"/keys/{key_id}/release", {}),
            ("POST", f"/keys/{key_id}/complete", {"status": 200}),
            ("DELETE", f"/keys/{key_id}", {})):
        got = admin.send(method, target, {"changed": changed, **more})
        refused(got, 409, "conflict")
        assert "has changed since" in got.json()["detail"], got.json()
        for wrong in (1, "", "today"):
            refused(admin.send(method, target, {"changed": wrong, **more}),
                    400, "bad-request")
    equal(admin.get("/keys/" + key_id), now)
    admin.act(key_id, "release", {"attempt": 1, "changed": now["changed"]})


@test
def a_late_owner_hears_what_the_operator_said(bench):
    """A gateway that was frozen does not overrule the operator."""
    upstream = bench.upstream()
    hold = upstream.hold()
    late = bench.gateway(upstream, {"lease": "1s"})
    first = bench.background(late.ask, "k")
    hold.wait_arrived()
    late.signal(19)  # SIGSTOP
    gateway = bench.gateway(upstream, admin={"listen": "127.0.0.1:0"})
    admin = Admin(gateway)
    [record] = eventually(
        lambda: admin.get("/keys?state=UNKNOWN")["keys"], "the lease ends")
    admin.act(record["key_id"], "complete", {"status": 200, "body": "said"})
    hold.release()
    late.signal(18)  # SIGCONT
    got = first.result()
    equal((got.status, got.body), (200, b"said"))
    equal(gateway.ask("k").body, b"said")
    equal(upstream.count(), 1)


@test
def a_late_owner_of_a_freed_key_does_not_answer_for_its_next_one(bench):
    """The operator was wrong about the first attempt; the second stands."""
    upstream = bench.upstream()
    holds = {"1": Hold(), "2": Hold()}

    def reply(connection, request):
        attempt = request.get("Idempotency-Attempt")
        holds[attempt].wait()
        connection.send(answer(201, b"of attempt " + attempt.encode()))
    upstream.reply = reply
    late = bench.gateway(upstream, {"lease": "1s"})
    first = bench.background(late.ask, "k")
    holds["1"].wait_arrived()
    late.signal(signal.SIGSTOP)
    gateway = bench.gateway(upstream, admin={"listen": "127.0.0.1:0"})
    admin = Admin(gateway)
    [record] = eventually(
        lambda: admin.get("/keys?state=UNKNOWN")["keys"], "the lease ends")
    admin.act(record["key_id"], "release")
    second = bench.background(gateway.ask, "k")
    holds["2"].wait_arrived()
    holds["1"].release()
    late.signal(signal.SIGCONT)
    equal(first.result().problem, "in-flight")
    equal(gateway.ask("k").problem, "in-flight")
    holds["2"].release()
    equal(second.result().body, b"of attempt 2")
    equal(late.ask("k").body, b"of attempt 2")


@test
def a_record_that_cannot_be_read_is_left_alone_or_deleted(bench):
    upstream, gateway, admin = start(bench)
    key_id = unknown(upstream, gateway)
    [name] = [k for k in bench.redis.keys() if b":r:" in k]
    bench.redis("SET", name, "o9 from the future")
    equal(admin.get("/keys/" + key_id)["state"], "BROKEN")
    equal(admin.post(f"/keys/{key_id}/release").status, 409)
    equal(bench.redis("GET", name), b"o9 from the future")
    equal(admin.send("DELETE", "/keys/" + key_id).json()["state"], "UNKNOWN")
    equal(admin.send("DELETE", "/keys/" + key_id).status, 200)
    equal(bench.redis("GET", name), None)


@test
def who_keeps_or_waits_hears_of_a_decision(bench):
    upstream, gateway, admin = start(bench, store={"shards": 1})
    made = [unknown(upstream, gateway, f"k{i}") for i in range(3)]
    ear = RedisClient(bench.redis.path)
    ear("SUBSCRIBE", "onceproxy:{0}:changes")
    admin.act(made[0], "release")
    admin.act(made[1], "complete", {"status": 200})
    admin.send("DELETE", "/keys/" + made[2])
    equal([ear.reply()[2].decode() for _ in range(3)], made)
    ear.close()


@test
def without_redis_it_says_so(bench):
    redis = bench.own_redis()
    upstream, gateway, admin = start(bench, redis=redis)
    key_id = unknown(upstream, gateway)
    redis.kill()
    for got in (admin.send("GET", "/keys"),
                admin.send("GET", "/keys/" + key_id),
                admin.post(f"/keys/{key_id}/release")):
        refused(got, 503, "store-unavailable")


@test
def an_act_that_redis_broke_off_is_not_called_done(bench):
    redis = bench.own_redis()
    upstream, gateway, admin = start(bench, redis=redis)
    key_id = unknown(upstream, gateway)
    redis("ACL", "SETUSER", "default", "-publish")
    got = admin.post(f"/keys/{key_id}/release", {"note": "n"})
    refused(got, 503, "store-unavailable")
    assert "may have been changed" in got.json()["detail"], got.json()
    gateway.wait_for_log("operator_unsure", key_id=key_id, note="n",
                         act="release")
    equal(gateway.find_log("operator"), [])


@test
def a_released_key_lives_as_long_as_retention(bench):
    upstream, gateway, admin = start(
        bench, idempotency={"retention": "100s", "unknown_retention": "9d"})
    key_id = unknown(upstream, gateway)
    admin.act(key_id, "release")
    [name] = [k for k in bench.redis.keys() if b":r:" in k]
    assert 90_000 < bench.redis("PTTL", name) <= 100_000


tap.main()
