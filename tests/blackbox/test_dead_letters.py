# SPDX-License-Identifier: BSD-2-Clause
"""What operators do with dead letters: they are executed again under their own
key, or dropped, and what is parked behind them comes back in its order."""

import base64
import os
import re
import signal

from once import tap
from once.admin import Admin
from once.gateway import command, write
from once.messages import Stream, as_text, source
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import eventually

QUICK = {"retry": {"first": "10ms", "most": "20ms", "attempts": 1}}
IN_ORDER = {"order_by": ["/a"], **QUICK}


class Fate:
    """An upstream whose answer to each key can be changed."""

    def __init__(self, bench):
        self.of = {}
        self.holds = {}
        self.done = []
        self.upstream = bench.upstream(self.serve)

    def serve(self, connection, request):
        key = request.get("Idempotency-Key")
        if key in self.holds:
            self.holds[key].wait()
        fate = self.of.get(key, answer())
        if fate is None:
            connection.close()
            return
        if fate.startswith(b"HTTP/1.1 2"):
            self.done.append(key)
        connection.send(fate)


    def hold(self, key):
        self.holds[key] = Hold()
        return self.holds[key]


class Bench:
    """A stream with dead letters, a gateway and its admin interface."""

    def __init__(self, bench, members, idempotency=None, **more):
        self.bench, self.fate = bench, Fate(bench)
        self.stream = Stream(bench.own_redis(
            "--appendonly", "yes", "--appendfsync", "always"))
        self.config = bench.config(
            self.fate.upstream, idempotency, admin={"listen": "127.0.0.1:0"},
            **more)
        source(self.config, self.stream, **members)
        self.serve()

    def serve(self):
        self.gateway = self.bench.serve(self.config)
        self.admin = Admin(self.gateway)

    def add(self, key, lane=1):
        return self.stream.add(
            body=b'{"a":%d}' % lane, idempotency_key=key)

    def dead(self):
        return [(e["idempotency_key"].decode(),
                 e["onceproxy-reason"].decode())
                for e in self.stream.entries("charges:dead")]

    def wait_dead(self, *wanted):
        eventually(lambda: self.dead() == list(wanted)
                   and self.stream.pending() == [],
                   f"dead letters {wanted}")

    def command(self, *words):
        file = os.path.join(self.bench.folder(), "onceproxy.json")
        write(file, {**self.config, "admin": {
            "listen": self.gateway.ready["admin"]}})
        return command("messages", words[0], "-c", file, *words[1:])

    def act(self, position, what):
        return self.admin.post(f"/messages/{id_of(position)}/{what}",
                               {"note": "n"})

    def replay(self, position, status=202):
        """The broker has the letter a moment before its gateway knows."""
        got = []

        def knows():
            got[:] = [self.act(position, "replay")]
            return b"it is at work" not in got[0].body
        eventually(knows, "the letter is at rest")
        equal(got[0].status, status, got[0].body)
        return got[0]

    def listed(self, state):
        return self.admin.get(
            f"/messages?source=charges&state={state}")["messages"]


def id_of(position, name="charges"):
    return base64.urlsafe_b64encode(
        name.encode() + b"\0" + position).decode().rstrip("=")


@each([("text", b'{"error":"card_declined"}' + b" " * 2000, "answer"),
       ("bytes", b"\xff\xfe", "answer_base64")])
def a_refused_one_is_shown_with_its_answer(bench, body, name):
    b = Bench(bench, QUICK)
    b.fate.of["k"] = answer(422, body)
    position = b.add("k")
    b.wait_dead(("k", "refused"))
    shown = b.admin.get("/messages/" + id_of(position))
    wanted = body.decode() if name == "answer" else as_text(
        base64.b64encode(body))
    equal((shown["status"], shown[name]), (422, wanted))
    listed, = b.listed("dead")
    equal((listed["status"], name in listed), (422, False))


@test
def a_mismatch_says_what_is_another_one(bench):
    """As far as the record has it."""
    b = Bench(bench, QUICK)
    b.gateway.ask("k", target="/v1/charges/", body=b'{"a":1}')
    first = b.fate.upstream.requests[0].get("X-Request-Id")
    position = b.add("k")
    b.wait_dead(("k", "mismatch"))
    equal(b.admin.get("/messages/" + id_of(position))["detail"],
          f"its key is that of request {first}, of another path")


@test
def dead_letters_are_counted(bench):
    """Those that are parked behind one of them are not."""
    b = Bench(bench, IN_ORDER)
    b.fate.of["k"] = b.fate.of["m"] = answer(422)
    count = lambda: b.admin.get("/sources")["sources"][0]["dead"]
    eventually(lambda: count() == 0, "there is none")
    first = b.add("k")
    b.add("l")
    b.add("m", lane=2)
    eventually(lambda: len(b.dead()) == 3, "two are dead, one is parked")
    eventually(lambda: count() == 2, "two are counted")
    said = b.command("sources").stdout.splitlines()
    at = said[0].index("DEAD")
    equal(said[1][at:].split()[0], "2")
    equal(b.act(first, "drop").status, 200)
    eventually(lambda: count() == 1, "one is left")


@test
def of_many_dead_letters_a_thousand_are_counted(bench):
    b = Bench(bench, QUICK)
    for n in range(1001):
        b.stream.redis("XADD", "charges:dead", "*", "onceproxy-source",
                       "charges", "onceproxy-reason", "refused")
    shown = lambda: b.admin.get("/sources")["sources"][0]
    eventually(lambda: (shown()["dead"], shown().get("dead_more"))
               == (1000, True), "a thousand are counted")
    said = b.command("sources").stdout.splitlines()
    equal(said[1][said[0].index("DEAD"):].split()[0], "1000+")


@test
def the_command_lists_and_replays_dead_letters(bench):
    b = Bench(bench, QUICK)
    b.fate.of["k"] = answer(422)
    position = b.add("k")
    b.wait_dead(("k", "refused"))
    name = id_of(position)
    said = b.command("list", "--source", "charges", "--state", "dead")
    assert said.returncode == 0 and name in said.stdout, said
    said = b.command("replay", name)
    equal(said.returncode, 1)
    assert "409" in said.stderr, said
    key_id = b.gateway.find_log("message")[0]["key_id"]
    equal(b.admin.send("DELETE", f"/keys/{key_id}").status, 200)
    b.fate.of["k"] = answer(201)
    said = b.command("replay", name, "--note", "fixed")
    equal((said.returncode, said.stdout), (0, f"{name}: replayed\n"))
    b.wait_dead()
    equal(b.fate.upstream.count(key="k"), 2)


@test
def a_dead_letter_is_a_warning_in_the_log(bench):
    b = Bench(bench, QUICK, log={"access": False})
    b.fate.of.update(k=answer(422), m=answer(422))
    b.add("well")
    b.add("k")
    line = b.gateway.wait_for_log("message")
    equal((line["level"], line["reason"]), ("warn", "refused"))
    loaded = lambda: b.admin.get("/status")["configuration"]["loaded"]
    before = loaded()
    b.config["log"] = {"level": "warn"}
    write(b.gateway.file, b.config)
    b.gateway.signal(signal.SIGHUP)
    eventually(lambda: loaded() != before, "a reload")
    b.add("also")
    b.add("m")
    b.wait_dead(("k", "refused"), ("m", "refused"))
    eventually(lambda: len(b.gateway.find_log("message")) == 2, "its line")


@test
def an_exhausted_message_is_released_and_executed_again(bench):
    b = Bench(bench, QUICK)
    b.fate.of["k"] = answer(503)
    position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    letter, = b.stream.entries("charges:dead")
    equal(letter["onceproxy-status"], b"503")
    name = id_of(position)
    equal(b.admin.get("/messages/" + name)["status"], 503)
    assert re.search(r"^status +503$", b.command("show", name).stdout, re.M)
    equal(b.gateway.wait_for_log("message", outcome="exhausted")["status"],
          503)
    b.fate.of["k"] = answer(201)
    b.replay(position)
    done = b.gateway.wait_for_log("message", outcome="executed")
    equal(done["replayed"], True)
    b.wait_dead()
    equal(b.fate.upstream.count(key="k"), 2)
    line = b.gateway.wait_for_log("operator_replay", note="n")
    equal((line["act"], line["source"], line["before"]),
          ("replay", "charges", "dead"))
    equal(b.act(position, "replay").status, 404)


@test
def one_that_fails_again_is_one_dead_letter_again(bench):
    b = Bench(bench, QUICK)
    b.fate.of["k"] = answer(503)
    position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    first, = b.stream.entries("charges:dead")
    for count in (2, 3):
        b.replay(position)
        eventually(lambda: b.fate.upstream.count(key="k") == count,
                   "it is tried again")
        eventually(lambda: len(b.gateway.find_log(
            "message", outcome="exhausted")) == count, "it ends")
        b.wait_dead(("k", "exhausted"))
    again, = b.stream.entries("charges:dead")
    equal(again, {**first, "onceproxy-attempt": b"3"})


@test
def a_refused_message_needs_its_key_deleted(bench):
    b = Bench(bench, QUICK)
    b.fate.of["k"] = answer(422)
    position = b.add("k")
    b.wait_dead(("k", "refused"))
    before = b.stream.entries("charges:dead")
    got = b.replay(position, 409)
    equal(got.problem, "conflict")
    assert b"delete its key" in got.body, got.body
    equal(b.stream.entries("charges:dead"), before)
    message, = b.listed("dead")
    equal(b.admin.send("DELETE", "/keys/" + message["key_id"]).status, 200)
    b.fate.of["k"] = answer(201)
    b.replay(position)
    b.gateway.wait_for_log("message", outcome="executed")
    b.wait_dead()
    equal(b.fate.upstream.count(key="k"), 2)


@test
def a_letter_is_not_dropped_and_replayed_at_once(bench):
    """Both are asked for while the broker looks for it."""
    b = Bench(bench, {**QUICK, "results": {"stream": "done"}})
    b.fate.of["k"] = answer(503)
    position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    b.fate.of["k"] = answer(201)
    b.stream.redis("CLIENT", "PAUSE", "250", "ALL")
    asked = [bench.background(b.act, position, what)
             for what in ("replay", "replay", "drop")]
    said = sorted(one.result().status for one in asked)
    eventually(lambda: b.dead() == [] and b.stream.pending() == [],
               "it is over")
    assert said in ([200, 404, 404], [200, 409, 409], [202, 409, 409],
                    [200, 404, 409], [202, 404, 409], [202, 404, 404]), said
    done = len(b.stream.entries("done"))
    equal((b.fate.upstream.count(key="k") - 1, done),
          (1, 1) if 202 in said else (0, 0))


def with_two_gateways(bench, retry=None, **more):
    """A dead letter, two gateways that may both act on it, and its result."""
    b = Bench(bench, {**QUICK, **(retry or {}), "results": {"stream": "done"}},
              **more)
    b.other = Admin(bench.serve({**b.config, "instance": "other"}))
    b.fate.of["k"] = answer(503)
    b.position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    b.fate.of["k"] = answer(201)
    return b


@test
def a_gateway_that_waits_for_its_turn_names_the_one_that_has_it(bench):
    b = Bench(bench, IN_ORDER, instance="one")
    b.fate.of["k"] = answer(422)
    name = id_of(b.add("k"))
    b.wait_dead(("k", "refused"))
    other = Admin(bench.serve({**b.config, "instance": "other"}))

    def says(whose, ask):
        """What it says of another one; empty: it answers itself."""
        got = ask()
        if got.status != 409:
            return ""
        assert whose in got.json()["detail"], got.body
        return got.json()["detail"]
    listed = "/messages?source=charges&state=dead"
    for ask in (lambda: other.send("GET", listed),
                lambda: other.send("GET", "/messages/" + name)):
        eventually(lambda: says("", ask) == 'The gateway "one" reads this '
                   "source now: ask that one.", "it names it")
    said = says("one", lambda: other.post(f"/messages/{name}/drop", {}))
    assert said.endswith("Nothing was changed."), said
    b.gateway.stop()
    eventually(lambda: other.send("GET", listed).status == 200,
               "it is the other's turn")


def other_says(b, what):
    return b.other.post(f"/messages/{id_of(b.position)}/{what}", {})


def is_dropped_elsewhere(b):
    """It has been tried once more, and is to be tried again."""
    equal(other_says(b, "drop").status, 200)
    equal(b.dead(), [])


def is_executed_no_more(b, sent):
    b.gateway.wait_until(
        lambda: b.gateway.find_log("step", step="CONFIRMED"), "it looked")
    eventually(lambda: b.admin.get("/sources")["sources"][0]["retrying"] +
               b.admin.get("/sources")["sources"][0]["held"] == 0)
    equal((b.fate.upstream.count(key="k"), b.stream.entries("done")),
          (sent, []))
    equal(b.gateway.find_log("message", outcome="executed"), [])


RETRIED = {"retry": {"first": "2s", "most": "2s", "attempts": 2}}


@test
def a_letter_that_was_dropped_elsewhere_is_not_tried_again(bench):
    b = with_two_gateways(bench, RETRIED, log={"level": "debug"})
    sent = b.fate.upstream.count(key="k")
    b.fate.of["k"] = answer(503)
    since = len(b.gateway.events)
    b.replay(b.position)
    b.gateway.wait_until(lambda: b.gateway.find_log(
        "step", since, step="RESTED"), "it waits")
    b.fate.of["k"] = answer(201)
    is_dropped_elsewhere(b)
    is_executed_no_more(b, sent + 1)


@test
def nor_is_one_that_was_held_when_it_was_dropped_elsewhere(bench):
    b = with_two_gateways(bench, log={"level": "debug"})
    sent = b.fate.upstream.count(key="k")
    b.fate.of["k"] = None
    b.replay(b.position)
    held = b.gateway.wait_for_log("message_held")
    is_dropped_elsewhere(b)
    b.fate.of["k"] = answer(201)
    equal(b.admin.post(f"/keys/{held['key_id']}/release").status, 200)
    is_executed_no_more(b, sent + 1)


@test
def a_letter_that_one_gateway_replays_is_not_dropped_by_another(bench):
    b = with_two_gateways(bench)
    hold = b.fate.hold("k")
    b.replay(b.position)
    hold.wait_arrived()
    got = other_says(b, "drop")
    equal((got.status, got.problem), (409, "conflict"))
    assert b"Nothing was changed" in got.body, got.body
    equal(b.dead(), [("k", "exhausted")])
    hold.release()
    done = b.gateway.wait_for_log("message", outcome="executed")
    equal(done.get("elsewhere"), None)
    equal((b.dead(), len(b.stream.entries("done"))), ([], 1))
    equal(other_says(b, "drop").status, 404)


@test
def an_unknown_message_waits_for_a_decision(bench):
    b = Bench(bench, {"hold": "1s", **QUICK})
    b.fate.of["k"] = None
    position = b.add("k")
    b.wait_dead(("k", "unknown"))
    got = b.replay(position, 409)
    assert b"release its key" in got.body, got.body
    b.wait_dead(("k", "unknown"))
    message, = b.listed("dead")
    b.admin.act(message["key_id"], "complete", {
        "status": 201, "headers": {}, "body": "{}"})
    b.replay(position)
    b.gateway.wait_for_log("message", outcome="duplicate")
    b.wait_dead()
    equal(b.fate.upstream.count(key="k"), 1)


@test
def an_unknown_message_is_executed_again_once_its_key_is_released(bench):
    b = Bench(bench, {**QUICK, "hold": "1s"})
    b.fate.of["k"] = None
    position = b.add("k")
    b.wait_dead(("k", "unknown"))
    message, = b.listed("dead")
    b.admin.act(message["key_id"], "release")
    b.fate.of["k"] = answer(201)
    b.replay(position)
    done = b.gateway.wait_for_log("message", outcome="executed")
    equal(done["attempt"], 2)
    b.wait_dead()


@test
def an_unknown_message_whose_record_is_forgotten_is_not_executed(bench):
    b = Bench(bench, {**QUICK, "hold": "1s"})
    b.fate.of["k"] = None
    position = b.add("k")
    b.wait_dead(("k", "unknown"))
    bench.redis("DEL", *bench.redis("KEYS", "*:r:*"))
    b.fate.of["k"] = answer(201)
    got = b.replay(position, 409)
    assert b"its record is gone" in got.body, got.body
    b.wait_dead(("k", "unknown"))
    equal(b.fate.upstream.count(key="k"), 1)
    equal(b.act(position, "drop").status, 200)


@test
def a_malformed_message_is_executed_once_its_source_can(bench):
    b = Bench(bench, {"key": ["/order"], **QUICK})
    position = b.stream.add(body=b'{"a":1,"id":7}', idempotency_key="k")
    b.wait_dead(("k", "key-missing"))
    got = b.replay(position, 409)
    assert b"key-missing" in got.body, got.body
    b.config["sources"]["charges"]["key"] = "auto"
    since = len(b.gateway.events)
    write(b.gateway.file, b.config)
    b.gateway.signal(signal.SIGHUP)
    b.gateway.wait_for_log("reloaded", since)
    eventually(lambda: b.act(position, "replay").status == 202,
               "the source has begun anew")
    b.gateway.wait_for_log("message", outcome="executed")
    b.wait_dead()
    request = b.fate.upstream.requests[0]
    equal((request.body, request.get("Idempotency-Key")),
          (b'{"a":1,"id":7}', "k"))


@test
def what_is_wrong_with_a_malformed_message_is_one_sentence(bench):
    b = Bench(bench, QUICK)
    position = b.add("a;b")
    b.wait_dead(("a;b", "malformed"))
    detail = b.replay(position, 409).json()["detail"]
    assert detail.endswith(" or semicolons. Nothing was changed."), detail


@test
def a_result_goes_out_with_the_end_of_a_letter(bench):
    b = Bench(bench, {"results": {"stream": "done"}, **QUICK})
    b.fate.of["k"] = answer(503)
    position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    b.fate.of["k"] = answer(201)
    b.replay(position)
    b.wait_dead()
    result, = b.stream.entries("done")
    equal((result["onceproxy-status"], result["onceproxy-position"]),
          (b"201", position))


@test
def a_dropped_letter_is_gone_and_its_record_is_not(bench):
    b = Bench(bench, QUICK)
    b.fate.of["k"] = answer(503)
    position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    message, = b.listed("dead")
    got = b.act(position, "drop")
    equal((got.status, got.json()),
          (200, {"id": id_of(position), "dropped": True}))
    b.wait_dead()
    b.gateway.wait_for_log("message", outcome="dropped")
    equal(b.admin.get("/keys/" + message["key_id"])["state"], "FAILED")
    equal(b.act(position, "drop").status, 404)
    equal(b.fate.upstream.count(key="k"), 1)


@test
def dead_letters_are_listed_in_pages(bench):
    b = Bench(bench, IN_ORDER)
    for n in range(3):
        b.fate.of[f"k{n}"] = answer(503)
        b.add(f"k{n}", lane=n)
    eventually(lambda: len(b.dead()) == 3, "three dead letters")
    b.add("b0", lane=0)
    eventually(lambda: len(b.dead()) == 4, "and one behind")
    page = b.admin.get("/messages?source=charges&state=dead&limit=2")
    rest = b.admin.get("/messages?source=charges&state=dead&limit=2&cursor="
                       + page["next"])
    equal([m["state"] for m in page["messages"] + rest["messages"]],
          ["dead"] * 3)
    equal(rest["next"], None)
    parked, = b.listed("parked")
    equal((parked["state"], parked["reason"]), ("parked", "behind"))
    one = page["messages"][0]
    equal(one["reason"], "exhausted")
    assert one["key_id"] and one["first"], one
    equal(b.admin.get("/messages/" + one["id"]), one)
    equal(b.admin.send("GET", "/messages?state=dead").status, 400)


def parked_lane(b, count=3):
    """A lane whose first is a dead letter, with some behind it."""
    b.fate.of["k0"] = answer(503)
    positions = [b.add("k0")]
    b.wait_dead(("k0", "exhausted"))
    for n in range(1, count + 1):
        positions.append(b.add(f"k{n}"))
    b.wait_dead(("k0", "exhausted"),
                *((f"k{n}", "behind") for n in range(1, count + 1)))
    return positions


@test
def orders_that_are_parked_are_counted(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)

    def parked():
        source, = b.admin.get("/sources")["sources"]
        return source["parked"]
    eventually(lambda: parked() == 1, "one order is parked")
    b.fate.of["alone"] = answer(503)
    alone = b.add("alone", lane=2)
    eventually(lambda: parked() == 2, "so is one with nothing behind it")
    equal(len(b.listed("parked")), 3)
    b.act(alone, "drop")
    b.act(positions[0], "drop")
    eventually(lambda: parked() == 0, "none is")


def executed(b, count):
    eventually(lambda: len(b.fate.done) == count, f"{count} executed")
    return b.fate.done


def lane_is_free(b):
    eventually(lambda: not any(
        b":parked:" in key or b":decided:" in key
        for key in b.bench.redis.keys()), "no lane is parked")


@test
def what_is_parked_comes_back_in_order_before_anything_newer(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    b.fate.of["k0"] = answer(201)
    b.replay(positions[0])
    b.add("k4")
    b.add("k5")
    equal(executed(b, 6), [f"k{n}" for n in range(6)])
    b.wait_dead()
    lane_is_free(b)
    b.add("k6")
    equal(executed(b, 7)[-1], "k6")
    equal(b.dead(), [])
    equal(b.gateway.find_log("message_letter_gone"), [])


@test
def dropping_the_first_brings_the_others_back(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    equal(b.act(positions[0], "drop").status, 200)
    equal(executed(b, 3), ["k1", "k2", "k3"])
    b.wait_dead()
    lane_is_free(b)


@test
def one_behind_is_not_replayed_but_may_be_dropped(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    got = b.replay(positions[2], 409)
    assert b"replay or drop the first" in got.body, got.body
    equal(b.act(positions[2], "drop").status, 200)
    b.wait_dead(("k0", "exhausted"), ("k1", "behind"), ("k3", "behind"))
    b.fate.of["k0"] = answer(201)
    b.replay(positions[0])
    equal(executed(b, 3), ["k0", "k1", "k3"])
    b.wait_dead()
    lane_is_free(b)
    equal(b.gateway.find_log("message_letter_gone"), [])


def is_cured_by(b, act, status, wanted, gone):
    """Whoever is the first dead letter now is the first of its lane; of the
    one before it the log tells."""
    got = act()
    equal(got.status, status, got.body)
    told = b.gateway.wait_for_log("message_letter_gone")
    equal((told["source"], told["position"]), ("charges", as_text(gone)))
    equal(executed(b, len(wanted)), wanted)
    b.wait_dead()
    lane_is_free(b)
    b.add("k9")
    equal(executed(b, len(wanted) + 1)[-1], "k9")
    equal(b.gateway.find_log("message_letter_gone"), [told])


def delete_first_letter(b):
    letters = b.stream.redis("XRANGE", "charges:dead", "-", "+")
    b.stream.redis("XDEL", "charges:dead", letters[0][0])


@test
def where_the_first_was_deleted_the_next_may_be_replayed(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    delete_first_letter(b)
    got = b.replay(positions[2], 409)
    assert b"replay or drop the first" in got.body, got.body
    equal(b.fate.done, [])
    is_cured_by(b, lambda: b.act(positions[1], "replay"), 202,
                ["k1", "k2", "k3"], positions[0])


@test
def where_the_first_was_deleted_the_next_may_be_dropped(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    delete_first_letter(b)
    is_cured_by(b, lambda: b.act(positions[1], "drop"), 200, ["k2", "k3"],
                positions[0])


@test
def one_behind_the_first_that_was_deleted_is_told(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    letters = b.stream.redis("XRANGE", "charges:dead", "-", "+")
    b.stream.redis("XDEL", "charges:dead", letters[1][0])
    b.fate.of["k0"] = answer(201)
    b.replay(positions[0])
    equal(executed(b, 3), ["k0", "k2", "k3"])
    told = b.gateway.wait_for_log("message_letter_gone")
    equal(told["position"], as_text(positions[1]))
    b.wait_dead()
    lane_is_free(b)


@test
def where_all_were_trimmed_a_later_one_may_be_replayed(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    b.stream.redis("XTRIM", "charges:dead", "MAXLEN", "0")
    position = b.add("k4")
    b.wait_dead(("k4", "behind"))
    got = b.act(position, "replay")
    equal(got.status, 202, got.body)
    equal(executed(b, 1), ["k4"])
    b.wait_dead()
    lane_is_free(b)
    equal([told["position"] for told in
           b.gateway.find_log("message_letter_gone")],
          [as_text(position) for position in positions])


def with_order(b, config, order):
    """The source is read on with that order, or with none."""
    source = {**config["sources"]["charges"], "order_by": order}
    if order is None:
        del source["order_by"]
    since = len(b.gateway.events)
    write(b.gateway.file, {**config, "sources": {"charges": source}})
    b.gateway.signal(signal.SIGHUP)
    b.gateway.wait_until(
        lambda: b.gateway.find_log("reloaded", since), "a reload")
    eventually(lambda: b.admin.send(
        "GET", "/messages?source=charges&state=dead").status == 200,
               "it reads again")


@test
def where_the_first_was_replayed_without_an_order_its_lane_is_free(bench):
    """Which parks nothing, and frees nothing."""
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    order = b.config["sources"]["charges"]["order_by"]
    with_order(b, b.config, None)
    b.fate.of["k0"] = answer(201)
    for position in positions:
        b.replay(position)
    equal(sorted(executed(b, 4)), [f"k{n}" for n in range(4)])
    b.wait_dead()
    with_order(b, b.config, order)
    b.add("k4")
    b.add("k5")
    equal(executed(b, 6)[4:], ["k4", "k5"])
    b.wait_dead()  # k5 may be behind k4 until that has freed the lane
    lane_is_free(b)


@test
def where_the_first_was_deleted_the_next_gateway_finds_out(bench):
    """What stays behind a dead letter stays there."""
    b = Bench(bench, IN_ORDER)
    parked_lane(b, count=1)
    delete_first_letter(b)
    b.gateway.stop()
    b.serve()
    b.add("k2")
    b.wait_dead(("k1", "behind"), ("k2", "behind"))
    b.stream.redis("XTRIM", "charges:dead", "MAXLEN", "0")
    b.gateway.stop()
    b.serve()
    b.add("k3")
    equal(executed(b, 1), ["k3"])
    lane_is_free(b)


@test
def where_the_first_became_no_dead_letter_its_lane_is_free(bench):
    """A stranger has acknowledged it, as it was executed."""
    b = Bench(bench, IN_ORDER)
    hold = b.fate.hold("k0")
    b.fate.of["k0"] = answer(422)
    position = b.add("k0")
    b.add("k1")
    hold.wait_arrived()
    b.stream.redis("XACK", "charges", "onceproxy", position)
    hold.release()
    equal(executed(b, 1), ["k1"])
    b.wait_dead()
    lane_is_free(b)
    b.add("k2")
    equal(executed(b, 2), ["k1", "k2"])


@test
def one_that_fails_on_its_way_back_is_the_first_then(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    b.fate.of.update(k0=answer(201), k2=answer(503))
    b.replay(positions[0])
    b.gateway.wait_for_log(
        "message", outcome="exhausted", position=positions[2].decode())
    b.wait_dead(("k3", "behind"), ("k2", "exhausted"))
    equal(b.fate.done, ["k0", "k1"])
    b.add("k4")
    b.wait_dead(("k3", "behind"), ("k2", "exhausted"), ("k4", "behind"))
    b.fate.of["k2"] = answer(201)
    b.replay(positions[2])
    equal(executed(b, 5), ["k0", "k1", "k2", "k3", "k4"])
    b.wait_dead()
    lane_is_free(b)


@test
def a_lane_that_comes_back_outlives_its_gateway(bench):
    b = Bench(bench, IN_ORDER, {"lease": "1s"})
    positions = parked_lane(b)
    b.fate.of["k0"] = answer(201)
    hold = b.fate.hold("k2")
    b.replay(positions[0])
    hold.wait_arrived()
    b.gateway.kill()
    b.add("k4")
    b.serve()
    held = b.gateway.wait_for_log("message_held", source="charges")
    equal(b.fate.done[:2], ["k0", "k1"])
    b.admin.act(held["key_id"], "release")
    hold.release()
    eventually(lambda: b.fate.done[-2:] == ["k3", "k4"], "the others follow")
    b.wait_dead()
    lane_is_free(b)
    equal([b.fate.upstream.count(key=f"k{n}") for n in (1, 3, 4)], [1, 1, 1])


@test
def with_go_on_a_replay_is_for_one_message_only(bench):
    b = Bench(bench, {"behind": "go-on", **IN_ORDER})
    b.fate.of["k0"] = answer(503)
    position = b.add("k0")
    b.wait_dead(("k0", "exhausted"))
    b.add("k1")
    equal(executed(b, 1), ["k1"])
    b.fate.of["k0"] = answer(201)
    b.replay(position)
    equal(executed(b, 2), ["k1", "k0"])
    b.wait_dead()


@test
def who_does_not_read_an_ordered_source_says_so(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b, 1)
    other = bench.serve(bench.config(
        b.fate.upstream, admin={"listen": "127.0.0.1:0"},
        brokers=b.config["brokers"], sources=b.config["sources"]))
    admin = Admin(other)
    for what in ("replay", "drop"):
        got = admin.post(f"/messages/{id_of(positions[0])}/{what}")
        equal((got.status, got.problem), (409, "conflict"))
        assert b"ask that one" in got.body, got.body
    b.wait_dead(("k0", "exhausted"), ("k1", "behind"))


@test
def large_letters_before_it_are_looked_through_a_few_at_a_time(bench):
    """Redis does nothing else while it looks through some."""
    b = Bench(bench, QUICK)
    redis, count = b.stream.redis, 24
    for n in range(count):
        redis("XADD", "charges:dead", "*", "body", b"x" * 1_000_000,
              "onceproxy-source", "charges", "onceproxy-position", f"{n}-1")
    name = f"{count - 1}-1".encode()
    redis("CONFIG", "RESETSTAT")
    equal(b.admin.get(f"/messages/{id_of(name)}")["state"], "dead")
    calls = re.search("cmdstat_eval:calls=([0-9]+)",
                      as_text(redis("INFO", "commandstats")))
    assert int(calls[1]) >= count // 6, calls


@test
def a_message_that_is_too_large_is_whole_in_its_letter(bench):
    b = Bench(bench, QUICK, {"max_request_body": "1KiB",
                             "max_response_body": "1KiB"},
              limits={"in_flight_bytes": "4MiB"})
    body = b'"' + b"x" * 1_200_000 + b'"'
    b.stream.add(body=body, idempotency_key="k")
    b.wait_dead(("k", "too-large"))
    dead, = b.stream.entries("charges:dead")
    equal(len(dead["body"]), len(body))


tap.main()
