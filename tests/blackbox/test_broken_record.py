# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 5 and 6: a record that makes no sense is said, and nothing
is executed or answered from it; only the operator can forget it."""

import json
import os

from once import tap
from once.admin import Admin
from once.gateway import command
from once.http import ask, build
from once.tap import Skip, each, equal, test
from once.upstream import answer, then_close

DAY_MS = 24 * 3600 * 1000
WITH_FIELD = answer(201, b"of the API", [("X-Say", "well")])


class Broken:
    """A record that somebody has damaged in Redis."""

    def __init__(self, bench, damage, reply=None):
        self.redis = bench.own_redis()
        self.upstream = bench.upstream(reply or WITH_FIELD)
        path = os.path.join(bench.folder(), "admin")
        self.gateway = bench.gateway(
            self.upstream, redis=self.redis, admin={"listen": "unix:" + path},
            cache={"size": 0}, store={"compression": "none"})
        self.gateway.ask("k")
        name = next(key for key in self.redis.keys() if b":r:" in key)
        self.key_id = name[-32:].decode()
        damaged = damage(self.redis("GET", name))
        self.redis("SET", name, damaged, "PX", "3600000")

    def admin(self, method, target="", body=None):
        return ask(self.gateway.ready["admin"], build(
            method, f"/keys/{self.key_id}{target}",
            [("Content-Type", "application/json")],
            body and json.dumps(body).encode(), "localhost"))

    def keys(self, *args):
        return command("keys", "-c", self.gateway.file, *args)


def begins_otherwise(value):
    return b"?" + value[1:]


DAMAGES = [
    ("a name with a blank", lambda value: value.replace(b"X-Say", b"X Say")),
    ("a name with a control",
     lambda value: value.replace(b"X-Say", b"X\x01Say")),
    ("a value with a control",
     lambda value: value.replace(b"well", b"we\x01l")),
    ("a line of its own", lambda value: value.replace(b"well", b"we\nl")),
]


@each(DAMAGES)
def a_damaged_field_is_no_answer(bench, damage):
    broken = Broken(bench, damage)
    got = broken.gateway.ask("k")
    equal((got.status, got.problem), (409, "outcome-unknown"))
    broken.gateway.wait_for_log("record_broken", key_id=broken.key_id)
    # Its head can be shown all the same, and it can be deleted.
    got = broken.admin("GET", "?body=1")
    equal((got.status, got.json()["state"], got.json()["unreadable"]),
          (200, "COMPLETED", "it is damaged"))
    equal(broken.upstream.count(), 1)
    equal(broken.admin("DELETE").status, 200)
    equal(broken.gateway.ask("k").status, 201)


@each([("an answer", None), ("a doubt", then_close(b""))])
def the_operator_can_look_at_it_and_forget_it(bench, reply):
    broken = Broken(bench, begins_otherwise, reply)
    equal(broken.gateway.ask("k").problem, "outcome-unknown")
    got = broken.admin("GET")
    equal((got.status, got.json()),
          (200, {"key_id": broken.key_id, "state": "BROKEN"}))
    found = ask(broken.gateway.ready["admin"], build(
        "GET", "/keys?find=" + broken.key_id, host="localhost")).json()
    equal(found, {"keys": [got.json()], "next": None})
    for target, body in (("/release", {}), ("/complete", {"status": 200})):
        got = broken.admin("POST", target, body)
        equal((got.status, got.problem), (409, "conflict"))
        assert "damaged" in got.json()["detail"], got.body
    for meant in {"attempt": 1}, {"changed": "2026-11-30T06:00:00.000Z"}:
        got = broken.admin("DELETE", body=meant)
        equal((got.status, got.problem), (409, "conflict"))
    equal(broken.upstream.count(), 1)
    got = broken.admin("DELETE", body={"note": "looked at the bank's list"})
    broken.gateway.wait_for_log("operator", act="delete", before="BROKEN",
                                note="looked at the bank's list")
    # It may have been executed: nobody's word frees the key but another one.
    shown = broken.admin("GET").json()
    equal((got.status, got.json()), (200, shown))
    equal((shown["state"], shown["reason"]), ("UNKNOWN", "operator"))
    for body in (b"1", b"2"):  # whatever it was of
        equal(broken.gateway.ask("k", body=body).problem, "outcome-unknown")
    listed = ask(broken.gateway.ready["admin"], build(
        "GET", "/keys?state=UNKNOWN", host="localhost")).json()["keys"]
    equal([record["key_id"] for record in listed], [broken.key_id])
    got = broken.admin("POST", "/complete", {"status": 200})
    equal((got.status, got.problem), (409, "conflict"))
    equal(broken.upstream.count(), 1)


@each([("deleted again", "DELETE", ""), ("released", "POST", "/release")])
def what_was_damaged_and_deleted_is_free_once_it_is(bench, method, target):
    broken = Broken(bench, begins_otherwise)
    equal(broken.admin("DELETE").status, 200)
    equal(broken.gateway.ask("k").problem, "outcome-unknown")
    equal(broken.admin(method, target).status, 200)
    equal(broken.gateway.ask("k").status, 201)
    equal(broken.gateway.ask("k").replayed, True)
    equal(broken.upstream.count(), 2)


@test
def two_who_delete_it_at_once_forget_no_doubt(bench):
    """Both have found it damaged; one of them is slower."""
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program or not os.access(program, os.X_OK):
        raise Skip("there is no test build")
    broken = Broken(bench, begins_otherwise)
    slow = bench.serve(
        {**broken.gateway.config, "state_dir": bench.folder(),
         "admin": {"listen": "127.0.0.1:0"}},
        {"ONCE_FAULT": "admin:SHOWN"}, program=program)
    said = bench.background(
        Admin(slow).send, "DELETE", "/keys/" + broken.key_id)
    slow.wait_for_log("fault_point")
    equal(broken.admin("DELETE").json()["state"], "UNKNOWN")
    slow.thaw()
    equal((said.result().status, said.result().problem), (409, "conflict"))
    assert "is UNKNOWN now" in said.result().json()["detail"]
    equal(broken.admin("GET").json()["state"], "UNKNOWN")
    equal(broken.gateway.ask("k").problem, "outcome-unknown")
    equal(broken.upstream.count(), 1)


@test
def it_is_kept_as_long_as_an_unknown_outcome(bench):
    broken = Broken(bench, begins_otherwise)
    equal(broken.admin("DELETE").status, 200)
    [name] = [name for name in broken.redis.keys() if b":r:" in name]
    left = broken.redis("PTTL", name)
    assert 29 * DAY_MS < left <= 30 * DAY_MS, left


@each([("all but its state", lambda value: value[:3]),
       ("its times", lambda value: value[:29] + 2 * b"-000000000001" +
        value[55:])])
def it_keeps_no_others_from_being_counted(bench, damage):
    broken = Broken(bench, damage, then_close(b""))
    broken.upstream.reply = then_close(b"")
    equal(broken.gateway.ask("other").problem, "outcome-unknown")
    got = ask(broken.gateway.ready["admin"], build(
        "GET", "/keys/groups", host="localhost"))
    equal(got.status, 200)
    equal(sum(group["count"] for group in got.json()["groups"]), 2)


@test
def the_command_does_the_same(bench):
    broken = Broken(bench, begins_otherwise)
    shown = broken.keys("show", broken.key_id)
    equal(shown.returncode, 0, shown.stderr)
    assert "BROKEN" in shown.stdout, shown.stdout
    refused = broken.keys("release", broken.key_id)
    equal(refused.returncode, 1)
    assert "damaged" in refused.stdout + refused.stderr, refused
    deleted = broken.keys("delete", "--yes", broken.key_id)
    equal(deleted.returncode, 0, deleted.stderr)
    assert "UNKNOWN" in deleted.stdout, deleted.stdout
    deleted = broken.keys("delete", "--yes", broken.key_id)
    equal(deleted.returncode, 0, deleted.stderr)
    equal(broken.admin("GET").status, 404)


tap.main()
