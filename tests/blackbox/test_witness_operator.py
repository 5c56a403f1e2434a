# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 14: what operators say of keys whose route has a witness,
and of that."""

import itertools
import os
import signal

from once import tap
from once.admin import Admin
from once.gateway import command, is_without, write
from once.postgres import programs
from once.tap import Skip, each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

TABLE = """
CREATE TABLE onceproxy_witness (
    key_id text, attempt integer, verdict text NOT NULL DEFAULT 'done',
    status integer, headers jsonb, body bytea,
    at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (key_id, attempt),
    UNIQUE (key_id, attempt, verdict));"""


class Desk:
    """A gateway whose route has a witness that nobody has proven, so that it
    asks nothing by itself; and an operator.  It logs in as gate, with no more
    rights than it needs where nothing is started."""

    def __init__(self, bench):
        if programs() is None or is_without("postgres"):
            raise Skip("there is no PostgreSQL")
        self.database = bench.postgres_for_all
        other = TABLE.replace("onceproxy_witness", "other_witness")
        self.database(f"{TABLE} {other} CREATE ROLE gate LOGIN; GRANT SELECT, "
                      "INSERT ON onceproxy_witness, other_witness TO gate")
        url = self.database.url.replace("//postgres@", "//gate@")
        self.upstream = bench.upstream(close_unanswered)
        self.gateway = bench.gateway(
            self.upstream, {"on_unknown": {"witness": {
                "broker": "ledger", "table": "onceproxy_witness",
                "wait": "300ms"}}},
            brokers={"ledger": {"postgres": url},
                     "other": {"postgres": url + "&application_name=other"}},
            workers=1,
            admin={"listen": "unix:" + os.path.join(bench.folder(), "a"),
                   "tokens": {"alice": "alices"}})
        self.admin = Admin(self.gateway, "alices")

    def unknown(self, key="k"):
        got = self.gateway.ask(key)
        equal(got.problem, "outcome-unknown")
        return got.json()["instance"].rsplit(":", 1)[-1]

    def reload(self, *routes):
        since = len(self.gateway.events)
        write(self.gateway.file,
              {**self.gateway.config, "routes": list(routes)})
        self.gateway.signal(signal.SIGHUP)
        self.gateway.wait_for_log("reloaded", since)

    def with_policy(self, members):
        """The routes, with these members in the witness."""
        route, *others = self.gateway.config["routes"]
        witness = route["idempotency"]["on_unknown"]["witness"]
        return {**route, "idempotency": {"on_unknown": {"witness": {
            **witness, **members}}}}, *others

    def insert(self, key_id, verdict):
        return ("INSERT INTO onceproxy_witness (key_id, attempt, verdict) "
                f"VALUES ('{key_id}', 1, '{verdict}')")

    def rows(self):
        return self.database("SELECT key_id, attempt, verdict FROM "
                             "onceproxy_witness ORDER BY 1, 2")

    def said(self, key_id, act, body=None):
        """The answer to an act, once nobody asks about the key."""
        def say():
            got = self.admin.post(f"/keys/{key_id}/{act}", body)
            return "is PROCESSING" not in got.body.decode() and got
        return eventually(say, "nobody asks about it")

    def act(self, key_id, act, body=None):
        got = self.said(key_id, act, body)
        equal(got.status, 200, got.body)
        return got.json()

    def refused(self, key_id, act, body, words):
        got = self.said(key_id, act, body)
        equal((got.status, got.problem), (409, "conflict"))
        assert words in got.json()["detail"], got.json()
        assert self.admin.get("/keys/" + key_id)["state"] in (
            "UNKNOWN", "PROCESSING")


REFUSED = {"status": 422, "body": "{}"}


@each([("released", "release", {}, "RELEASED"),
       ("refused", "complete", REFUSED, "COMPLETED")])
def what_did_not_happen_is_revoked_first(bench, act, body, state):
    desk = Desk(bench)
    key_id = desk.unknown()
    equal(desk.rows(), [])
    equal(desk.act(key_id, act, body)["state"], state)
    equal(desk.rows(), [f"{key_id}|1|revoked"])
    # The late payment is refused by the database.
    done = desk.database.psql(desk.insert(key_id, "done"))
    assert "duplicate key" in done.stderr, done.stderr


@test
def what_happened_needs_no_row(bench):
    desk = Desk(bench)
    key_id = desk.unknown()
    done = desk.act(key_id, "complete", {"status": 201, "body": "{}"})
    equal((done["state"], desk.rows()), ("COMPLETED", []))


@test
def nor_does_it_need_its_route(bench):
    desk = Desk(bench)
    route, *others = desk.gateway.config["routes"]
    key_id = desk.unknown()
    desk.reload({**route, "name": "payments"}, *others)
    done = desk.act(key_id, "complete", {"status": 201, "body": "{}"})
    equal((done["state"], desk.rows()), ("COMPLETED", []))


@each([("released", "release", {}), ("refused", "complete", REFUSED)])
def what_was_executed_cannot_be(bench, act, body):
    desk = Desk(bench)
    key_id = desk.unknown()
    desk.database(desk.insert(key_id, "done"))
    desk.refused(key_id, act, body, "it was executed")
    equal(desk.rows(), [f"{key_id}|1|done"])


@test
def what_is_still_at_work_cannot_be_released(bench):
    desk = Desk(bench)
    key_id = desk.unknown()
    desk.database.begin(desk.insert(key_id, "done"))
    desk.refused(key_id, "release", {}, "lock")
    desk.database.end()
    equal(desk.act(key_id, "release")["state"], "RELEASED")
    equal(desk.rows(), [f"{key_id}|1|revoked"])


@each([("in another table", {"table": "other_witness"}),
       ("by another URL", {"broker": "other"})])
def what_was_sent_with_another_witness_is_not_set_free(bench, other):
    desk = Desk(bench)
    key_id = desk.unknown()
    desk.database.begin(desk.insert(key_id, "done"))
    desk.refused(key_id, "release", {}, "lock")
    desk.reload(*desk.with_policy(other))
    for act, body in ("release", {}), ("complete", REFUSED):
        desk.refused(key_id, act, body, "not sent with the witness")
    equal(desk.database("SELECT * FROM other_witness"), [])
    desk.reload(*desk.gateway.config["routes"])
    desk.refused(key_id, "release", {}, "lock")
    desk.database.end()
    equal(desk.act(key_id, "release")["state"], "RELEASED")
    equal(desk.rows(), [f"{key_id}|1|revoked"])


@each([("completed", "POST", "/complete", {"status": 201}),
       ("deleted", "DELETE", "", None)])
def it_can_be(bench, method, act, body):
    desk = Desk(bench)
    key_id = desk.unknown()
    desk.reload(*desk.with_policy({"table": "other_witness"}))
    desk.refused(key_id, "release", {}, "not sent with the witness")
    eventually(lambda: desk.admin.send(
        method, f"/keys/{key_id}{act}", body).status == 200, "it is decided")
    equal(desk.rows(), [])


@test
def what_was_sent_before_there_was_a_witness_is_revoked_all_the_same(bench):
    """The API may write its rows before gateways ask for them."""
    desk = Desk(bench)
    route, *others = desk.gateway.config["routes"]
    desk.reload({**route, "idempotency": {
        "key_id_header": "Idempotency-Key-Id"}}, *others)
    paid, lost = desk.unknown("paid"), desk.unknown("lost")
    desk.database(desk.insert(paid, "done"))
    desk.reload(route, *others)
    desk.refused(paid, "release", {}, "it was executed")
    equal(desk.act(lost, "release")["state"], "RELEASED")
    equal(desk.rows(), sorted([f"{paid}|1|done", f"{lost}|1|revoked"]))


@each([("has another name", {"name": "payments"}),
       ("is gone", {"name": "refunds", "path": "/v1/refunds"}),
       ("only observes", {"mode": "observe"})])
def what_is_of_a_route_that_cannot_be_found_is_not_set_free(bench, change):
    desk = Desk(bench)
    route, *others = desk.gateway.config["routes"]
    key_id = desk.unknown()
    desk.reload({**route, **change}, *others)
    for act, body in ("release", {}), ("complete", REFUSED):
        desk.refused(key_id, act, body, "route, charges, is not in the")
    equal(desk.rows(), [])
    desk.reload(route, *others)
    equal(desk.act(key_id, "release")["state"], "RELEASED")
    equal(desk.rows(), [f"{key_id}|1|revoked"])


@test
def a_route_whose_name_is_damaged_in_redis_ends_nothing(bench):
    desk = Desk(bench)
    key_id = desk.unknown()
    record, = [key for key in bench.redis.keys()
               if key.endswith(b":r:" + key_id.encode())]
    bench.redis("SETRANGE", record, 100, b"\xff")
    desk.refused(key_id, "release", {}, "route, ?, is not in the")


@test
def a_route_that_observes_on_the_same_path_has_no_records(bench):
    """Without names of their own both are called by their path."""
    desk = Desk(bench)
    route, *others = desk.gateway.config["routes"]
    route = {member: route[member] for member in route if member != "name"}
    desk.reload({**route, "methods": ["PUT"], "mode": "observe",
                 "idempotency": {}}, route, *others)
    key_id = desk.unknown()
    desk.database.begin(desk.insert(key_id, "done"))
    desk.refused(key_id, "release", {}, "lock")
    desk.database.end()
    equal(desk.act(key_id, "release")["state"], "RELEASED")
    equal(desk.rows(), [f"{key_id}|1|revoked"])


def frozen_at_its_look(bench, desk, key_id, act, body):
    """Another gateway, and what its operator will be answered."""
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program or not os.access(program, os.X_OK):
        raise Skip("there is no test build")
    other = bench.serve(
        {**desk.gateway.config, "state_dir": bench.folder(),
         "admin": {**desk.gateway.config["admin"],
                   "listen": "unix:" + os.path.join(bench.folder(), "a")}},
        {"ONCE_FAULT": "admin:SHOWN"}, program=program)
    said = bench.background(
        Admin(other, "alices").post, f"/keys/{key_id}/{act}", body)
    other.wait_for_log("fault_point")
    return other, said


@each([("released", "release", {}), ("refused", "complete", REFUSED)])
def what_becomes_unknown_while_an_operator_decides_is_not_set_free_unasked(
        bench, act, body):
    """Its record was PROCESSING when the operator's gateway looked at it."""
    desk = Desk(bench)
    hold = desk.upstream.hold()
    first = bench.background(desk.gateway.ask, "k")
    hold.wait_arrived()
    key_id = desk.gateway.ask("k").json()["instance"].rsplit(":", 1)[-1]
    other, said = frozen_at_its_look(bench, desk, key_id, act, body)
    hold.release()
    equal(first.result().problem, "outcome-unknown")
    desk.database(desk.insert(key_id, "done"))
    other.thaw()
    equal((said.result().status, said.result().problem), (409, "conflict"))
    equal(desk.rows(), [f"{key_id}|1|done"])
    desk.refused(key_id, act, body, "it was executed")


@test
def nor_is_what_was_free_and_said_nothing_of_its_route(bench):
    """Nothing was sent of the attempt before, so its record has no route."""
    desk = Desk(bench)
    desk.upstream.stop()
    got = desk.gateway.ask("k")
    equal(got.problem, "upstream-unreachable")
    key_id = got.json()["instance"].rsplit(":", 1)[-1]
    equal("route" in desk.admin.get("/keys/" + key_id), False)
    other, said = frozen_at_its_look(bench, desk, key_id, "release", {})
    # Nor does that one hear of what it might ask about itself.
    bench.redis("CLIENT", "KILL", "TYPE", "pubsub")
    bench.upstream(close_unanswered, at=("127.0.0.1", desk.upstream.port))
    eventually(lambda: desk.gateway.ask("k").problem == "outcome-unknown",
               "it is sent")
    # The sweep has it for a moment.
    desk.gateway.wait_for_log("asked", by="sweep")
    eventually(lambda: desk.admin.get("/keys/" + key_id)["state"] ==
               "UNKNOWN", "nobody asks about it")
    attempt = desk.admin.get("/keys/" + key_id)["attempt"]
    desk.database(desk.insert(key_id, "done").replace(
        ", 1,", f", {attempt},"))
    other.thaw()
    equal((said.result().status, said.result().problem), (409, "conflict"))
    equal(desk.rows(), [f"{key_id}|{attempt}|done"])
    desk.refused(key_id, "release", {}, "it was executed")


@test
def what_had_begun_is_revoked_too(bench):
    desk = Desk(bench)
    key_id = desk.unknown()
    desk.database(desk.insert(key_id, "started"))
    desk.refused(key_id, "release", {}, "permission denied")
    equal(desk.rows(), [f"{key_id}|1|started"])
    desk.database("GRANT UPDATE (verdict) ON onceproxy_witness TO gate")
    equal(desk.act(key_id, "release")["state"], "RELEASED")
    equal(desk.rows(), [f"{key_id}|1|revoked"])


@test
def a_database_that_is_away_releases_nothing(bench):
    desk = Desk(bench)
    key_id = desk.unknown()
    desk.database("ALTER TABLE onceproxy_witness RENAME TO elsewhere")
    desk.refused(key_id, "release", {}, "could not be told")
    desk.database("ALTER TABLE elsewhere RENAME TO onceproxy_witness")
    equal(desk.act(key_id, "release")["state"], "RELEASED")


@test
def another_attempt_than_was_looked_at_is_not_revoked(bench):
    desk = Desk(bench)
    key_id = desk.unknown()
    got = desk.admin.post(f"/keys/{key_id}/release", {"attempt": 2})
    equal((got.status, desk.rows()), (409, []))


@each([("no attempt", lambda value:
        b"o1" + value[2:4] + b"000000" + value[10:]),
       ("more attempts before it than there were", lambda value:
        b"o2" + value[2:].rstrip(b"\n") + b"\n before=" + b"-" * 22 +
        b"t" + b"1" * 13 + b"\n")])
def a_record_that_counts_wrongly_ends_no_gateway(bench, damage):
    desk = Desk(bench)
    key_id = desk.unknown()
    name, = [key for key in bench.redis.keys() if b":r:" in key]
    value = eventually(lambda: (found := bench.redis("GET", name))[:3] in
                       (b"o1U", b"o2U") and found, "nobody asks about it")
    bench.redis("SET", name, damage(value.split(b"\n back=")[0] + b"\n"),
                "PX", "3600000")
    desk.said(key_id, "release")
    equal(desk.admin.get("/keys/" + key_id)["key_id"], key_id)


@test
def what_is_believed_of_witnesses_is_shown(bench):
    desk = Desk(bench)
    shown, = desk.admin.get("/status")["witnesses"]
    equal({name: shown[name] for name in ("route", "broker", "table", "state",
                                          "trusted", "enforced_by")},
          {"route": "charges", "broker": "ledger",
           "table": "onceproxy_witness", "state": "unproven",
           "trusted": False, "enforced_by": None})
    word = {"route": "charges", "note": "taken back"}
    for body, status in (({"route": "charges"}, 400), ({"note": "x"}, 400),
                         ({**word, "route": "chargs"}, 404), (word, 409)):
        equal(desk.admin.post("/witnesses/trust", body).status, status, body)
    line = ("witness", "trust", "-c", desk.gateway.file, "charges")
    done = command(*line, env={"ONCEPROXY_TOKEN": "alices"})
    equal(done.returncode, 2)
    assert "--note" in done.stderr, done.stderr


@test
def a_witness_is_believed_again_by_an_operators_word(bench):
    desk = Desk(bench)
    # A 2xx has no row, and was sent when the witness was known.
    desk.upstream.reply = answer()
    tries = itertools.count()
    eventually(lambda: desk.gateway.ask(f"k{next(tries)}").status == 201 and
               desk.gateway.find_log("witness_absent"), "it is seen")
    shown, = desk.admin.get("/status")["witnesses"]
    equal((shown["state"], shown["trusted"]), ("absent", False))
    text = desk.admin.send("GET", "/metrics").body.decode()
    assert 'onceproxy_witness_trusted{route="charges"} 0\n' in text, text
    assert shown["since"].endswith("Z"), shown
    done = command("witness", "trust", "-c", desk.gateway.file, "charges",
                   "--note", "taken back", env={"ONCEPROXY_TOKEN": "alices"})
    equal((done.returncode, done.stderr), (0, ""))
    logged = desk.gateway.wait_for_log("witness_trusted")
    equal((logged["route"], logged["operator"], logged["note"]),
          ("charges", "alice", "taken back"))
    word = {"route": "charges", "note": "taken back"}
    equal(desk.admin.post("/witnesses/trust", word).status, 409)
    eventually(lambda: desk.admin.get("/status")["witnesses"][0]["state"]
               != "absent", "it is heard of")


@test
def what_was_sent_before_that_word_is_never_asked_about(bench):
    """A release of the API that wrote no row may have paid it."""
    desk = Desk(bench)
    eventually(lambda: any(b":trust:" in key for key in bench.redis.keys()),
               "Redis knows the witness")
    desk.unknown("first")  # perhaps of that very millisecond
    before = desk.unknown("before")
    desk.upstream.reply = answer()
    tries = itertools.count()
    eventually(lambda: desk.gateway.ask(f"k{next(tries)}").status == 201 and
               desk.gateway.find_log("witness_absent"), "it lacks its row")

    def write(connection, request):
        desk.database(desk.insert(request.get("Idempotency-Key-Id"), "done"))
        connection.send(answer())
    desk.upstream.reply = write

    def proven():
        """What lacked its row, too, may be seen after that word."""
        desk.admin.post("/witnesses/trust", {
            "route": "charges", "note": "taken back"})
        desk.gateway.ask(f"k{next(tries)}")
        return desk.admin.get("/status")["witnesses"][0]["state"] == "proven"
    eventually(proven, "it is believed")
    desk.upstream.reply = close_unanswered
    after = desk.unknown("after")
    desk.upstream.reply = write
    # The first may have been sent in the very millisecond.
    eventually(lambda: desk.gateway.ask(f"k{next(tries)}").status == 201 and
               desk.said(after, "reconcile") and
               desk.admin.get("/keys/" + after)["state"] == "RELEASED",
               "what was sent since is asked about")
    since = len(desk.gateway.events)
    # The sweep may be at it just now.
    eventually(lambda: desk.act(before, "reconcile")["state"] == "UNKNOWN")
    last = desk.gateway.wait_for_log("asked", since, key_id=before)
    assert last["detail"].startswith("it was sent before"), last
    assert f"{before}|1|revoked" not in desk.rows(), desk.rows()


tap.main()
