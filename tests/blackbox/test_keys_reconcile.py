# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 2, 8 and 14: an operator asks now what became of a
payment, by the command and through the admin interface."""

import base64
import os

from once import tap
from once.admin import Admin
from once.gateway import command
from once.tap import equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

KEY = base64.b64encode(32 * b"k").decode()
TOKEN = {"ONCEPROXY_TOKEN": "alices"}


class Desk:
    """An API that dies at each payment and knows later what became of it; a
    gateway that can ask it, and an operator."""

    def __init__(self, bench, alone=True):
        self.known = {}  # what is said of a key; 409 until then
        self.upstream = bench.upstream(self.serve)
        self.gateway = bench.gateway(
            self.upstream, {
                "scope": [], "label": ["/order"], "on_unknown": {"reconcile": {
                    "path": "/v1/charges/by-key/{key}", "settle": "0s",
                    "absent": [404], **({"headers": {"X-Api": "gateway"}}
                                        if alone else {})}}},
            store={"encryption_keys": [{"id": "a", "key": KEY}]},
            admin={"listen": "unix:" + os.path.join(bench.folder(), "a"),
                   "tokens": {"alice": "alices"}})
        self.admin = Admin(self.gateway, "alices")

    def serve(self, connection, request):
        if request.method == "POST":
            close_unanswered(connection, request)
            return
        key = request.target.rsplit("/", 1)[-1]
        connection.send(self.known.get(key, answer(409)))

    def unknown(self, key):
        got = self.gateway.ask(key, body=b'{"order": "o-%s"}' % key.encode())
        equal(got.problem, "outcome-unknown")
        return got.json()["instance"].rsplit(":", 1)[-1]

    def command(self, *args):
        return command("keys", "-c", self.gateway.file, "reconcile", *args,
                       env=TOKEN)

    def asked(self, key_id):
        got = self.admin.post(f"/keys/{key_id}/reconcile")
        equal(got.status, 200, got.body)
        return got.json()


@test
def an_operator_asks_until_it_is_known(bench):
    desk = Desk(bench)
    key_id = desk.unknown("k")
    eventually(lambda: desk.admin.get("/keys/" + key_id).get("askable"),
               "it is nobody's who asks")
    record = eventually(lambda: [
        record for record in [desk.asked(key_id)]
        if any(act.get("who") == "alice" for act in
               record.get("history", []))],
        "his question is told")[0]
    equal(record["state"], "UNKNOWN")
    act = record["history"][-1]
    equal((act["act"], act["note"]), ("ask", "unknown"))
    desk.gateway.wait_for_log("asked", by="alice", key_id=key_id,
                              answer="unknown")
    desk.known["k"] = answer(201, b'{"id": "ch_1"}')
    record = eventually(lambda: [
        record for record in [desk.asked(key_id)]
        if record["state"] == "COMPLETED"], "it is known")[0]
    equal(record["status"], 201)
    assert "askable" not in record
    # One that is known already is shown as it is.
    equal(desk.asked(key_id)["state"], "COMPLETED")
    got = desk.gateway.ask("k", body=b'{"order": "o-k"}')
    equal((got.status, got.replayed, got.body),
          (201, True, b'{"id": "ch_1"}'))


@test
def the_command_prints_a_line_each(bench):
    desk = Desk(bench)
    ids = {key: desk.unknown(key) for key in ("happened", "not", "open")}
    desk.known = {"happened": answer(201, b"{}"), "not": answer(404)}

    def asked(*args):
        done = desk.command(*args)
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.splitlines()
    wanted = [f"{ids['happened']} COMPLETED 201 o-happened",
              f"{ids['not']} RELEASED o-not",
              f"{ids['open']} UNKNOWN o-open"]
    eventually(lambda: asked(*ids.values()) == wanted, "all are asked about")
    for route in (["--route", "charges"], []):
        # While the sweep asks about it, it is PROCESSING.
        eventually(lambda more=route: asked("--state", "UNKNOWN", *more) ==
                   wanted[2:], "the open one is asked about")
    for args in (["--state", "FAILED"], [ids["open"], "--state", "UNKNOWN"],
                 ["--route", "charges"], []):
        equal(desk.command(*args).returncode, 2, args)
    done = desk.command("0" * 32)
    equal(done.returncode, 1)
    assert "no record" in done.stderr, done.stderr


@test
def a_route_that_needs_a_client_is_not_asked_about(bench):
    desk = Desk(bench, alone=False)
    key_id = desk.unknown("k")
    assert "askable" not in desk.admin.get("/keys/" + key_id)
    got = desk.admin.post(f"/keys/{key_id}/reconcile")
    equal((got.status, got.problem), (409, "conflict"))
    assert "without a client" in got.json()["detail"], got.json()
    equal(desk.admin.post("/keys/" + "0" * 32 + "/reconcile").status, 404)
    equal(desk.admin.post(f"/keys/{key_id}/reconcile", {"note": "x"}).status,
          400)
    equal(desk.command(key_id).returncode, 1)
    done = desk.command("--state", "UNKNOWN")
    equal(done.returncode, 1)
    assert f"said of {key_id}\n" in done.stderr, done.stderr


tap.main()
