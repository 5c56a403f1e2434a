# SPDX-License-Identifier: BSD-2-Clause
"""What operators do with dead letters, from any gateway: they are executed
again under their own key, or dropped, and what is parked behind them comes back
in its order.  The copies in the stream's own place stay there, and say which
are done with."""

import base64
import datetime
import os
import re
import signal
import time

from once import tap
from once.admin import Admin
from once.gateway import command, write
from once.messages import (
    Beside, Stream, as_text, copies, id_of, marks, source)
from once.skip import Skip
from once.tap import all_test, each, equal, test
from once.upstream import Hold, answer
from once.wait import eventually

QUICK = {"retry": {"first": "10ms", "most": "20ms", "attempts": 1}}
IN_ORDER = {"order_by": ["/a"], **QUICK}


class Fate:
    """An upstream whose answer to each key can be changed.  What it releases
    is charged with that: another message is executed beside each."""

    def __init__(self, bench):
        self.of = {}
        self.holds = {}
        self.done = []
        self.beside = None
        self.upstream = bench.upstream(self.serve)

    def serve(self, connection, request):
        key = request.get("Idempotency-Key")
        if Beside.is_one(key):
            connection.send(answer())
            return
        if key in self.holds:
            self.holds[key].wait()
        fate = self.of.get(key, answer())
        if fate is None:
            connection.close()
            return
        if fate.startswith(b"HTTP/1.1 2"):
            self.done.append(key)
        elif fate.startswith(b"HTTP/1.1 503"):
            self.beside.execute()
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
        self.fate.beside = Beside(self.stream, b'{"a":"beside"}')
        self.keys = {}  # by position
        self.config = bench.config(
            self.fate.upstream, idempotency, admin={"listen": "127.0.0.1:0"},
            **more)
        source(self.config, self.stream, **members)
        self.serve()

    def serve(self):
        self.gateway = self.bench.serve(self.config)
        self.admin = Admin(self.gateway)

    def add(self, key, lane=1):
        position = self.stream.add(
            body=b'{"a":%d}' % lane, idempotency_key=key)
        self.keys[as_text(position)] = key
        return position

    def listed(self, state):
        return self.admin.get(
            f"/messages?source=charges&state={state}")["messages"]

    def letters(self):
        """Those that are dead or parked, in the order of the stream."""
        return sorted(self.listed("dead") + self.listed("parked"),
                      key=lambda m: [int(part) for part in
                                     m["position"].split("-")])

    def dead(self):
        return [(self.keys[m["position"]], m["reason"])
                for m in self.letters()]

    def wait_dead(self, *wanted):
        eventually(lambda: self.dead() == list(wanted)
                   and self.stream.pending() == [],
                   f"dead letters {wanted}")

    def results(self):
        """But for those of what was executed beside others."""
        return [e for e in self.stream.entries("done")
                if as_text(e["onceproxy-position"]) in self.keys]

    def command(self, *words):
        file = os.path.join(self.bench.folder(), "onceproxy.json")
        write(file, {**self.config, "admin": {
            "listen": self.gateway.ready["admin"]}})
        return command("messages", words[0], "-c", file, *words[1:])

    def act(self, position, what, admin=None):
        """The broker has acknowledged it a moment before the store knows."""
        got = []

        def is_confirmed():
            got[:] = [(admin or self.admin).post(
                f"/messages/{id_of(position)}/{what}", {"note": "n"})]
            return b"has not confirmed" not in got[0].body and \
                b"executed or acknowledged" not in got[0].body and \
                b"it is at work" not in got[0].body
        eventually(is_confirmed, "its acknowledgement is confirmed")
        return got[0]

    def replay(self, position, status=202):
        got = self.act(position, "replay")
        equal(got.status, status, got.body)
        return got


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
    b.gateway.ask("k", target="/v1//charges", body=b'{"a":1}')
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
    b.wait_dead(("k", "refused"), ("l", "behind"), ("m", "refused"))
    eventually(lambda: count() == 2, "two are counted")
    said = b.command("sources").stdout.splitlines()
    at = said[0].index("DEAD")
    equal(said[1][at:].split()[0], "2")
    equal(b.act(first, "drop").status, 200)
    eventually(lambda: count() == 1, "one is left")


@test
def the_command_lists_and_replays_dead_letters(bench):
    b = Bench(bench, QUICK)
    b.fate.of["k"] = answer(422)
    position = b.add("k")
    b.wait_dead(("k", "refused"))
    key_id = b.gateway.wait_for_log("message")["key_id"]  # it is confirmed
    name = id_of(position)
    said = b.command("list", "--source", "charges", "--state", "dead")
    assert said.returncode == 0 and name in said.stdout, said
    said = b.command("replay", name)
    equal(said.returncode, 1)
    assert "409" in said.stderr, said
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
    copy, = copies(b.stream)
    equal(copy["onceproxy-status"], b"503")
    name = id_of(position)
    equal(b.admin.get("/messages/" + name)["status"], 503)
    assert re.search(r"^status +503$", b.command("show", name).stdout, re.M)
    equal(b.gateway.wait_for_log("message", outcome="exhausted")["status"],
          503)
    sent = b.fate.upstream.count(key="k")
    b.fate.of["k"] = answer(201)
    b.replay(position)
    done = b.gateway.wait_for_log(
        "message", outcome="executed", position=as_text(position))
    equal(done["replayed"], True)
    b.wait_dead()
    equal(b.fate.upstream.count(key="k"), sent + 1)
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
    first, = b.listed("dead")
    copy, = copies(b.stream)
    for count in (2, 3):
        sent = b.fate.upstream.count(key="k")
        b.replay(position)
        eventually(lambda: b.fate.upstream.count(key="k") > sent,
                   "it is tried again")
        eventually(lambda: len(b.gateway.find_log(
            "message", outcome="exhausted")) == count, "it ends")
        b.wait_dead(("k", "exhausted"))
    again, = b.listed("dead")
    assert again["attempt"] > first["attempt"], again
    equal({**again, "attempt": 0}, {**first, "attempt": 0})
    equal((copies(b.stream), marks(b.stream)), ([copy], []))


@test
def what_is_replayed_or_dropped_leaves_its_copy_and_a_mark(bench):
    b = Bench(bench, {"refused": "dead-letter", **QUICK})
    b.fate.of.update(k=answer(422), m=answer(422))
    first, second = b.add("k"), b.add("m")
    b.wait_dead(("k", "refused"), ("m", "refused"))
    store = as_text(b.bench.redis("GET", "onceproxy:{0}:data"))
    before = copies(b.stream)
    equal(sorted((e["onceproxy-position"],
                  e["onceproxy-store"].decode() in store) for e in before),
          [(first, True), (second, True)])
    equal(marks(b.stream), [])
    equal(b.act(first, "drop").status, 200)
    message, = b.listed("dead")
    equal(b.admin.send("DELETE", "/keys/" + message["key_id"]).status, 200)
    b.fate.of["m"] = answer(201)
    b.replay(second)
    b.wait_dead()
    eventually(lambda: marks(b.stream) == [first, second], "both marks")
    equal(copies(b.stream), before)


@test
def a_refused_message_needs_its_key_deleted(bench):
    b = Bench(bench, QUICK)
    b.fate.of["k"] = answer(422)
    position = b.add("k")
    b.wait_dead(("k", "refused"))
    before = b.listed("dead")
    got = b.replay(position, 409)
    equal(got.problem, "conflict")
    assert b"delete its key" in got.body, got.body
    equal(b.listed("dead"), before)
    message, = before
    equal(b.admin.send("DELETE", "/keys/" + message["key_id"]).status, 200)
    b.fate.of["k"] = answer(201)
    b.replay(position)
    b.gateway.wait_for_log("message", outcome="executed")
    b.wait_dead()
    equal(b.fate.upstream.count(key="k"), 2)


@test
def a_letter_is_not_dropped_and_replayed_at_once(bench):
    b = Bench(bench, {**QUICK, "results": {"stream": "done"}})
    b.fate.of["k"] = answer(503)
    position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    sent = b.fate.upstream.count(key="k")
    b.fate.of["k"] = answer(201)
    asked = [bench.background(b.act, position, what)
             for what in ("replay", "replay", "drop")]
    said = [one.result().status for one in asked]
    b.wait_dead()
    assert set(said) <= {200, 202, 404, 409}, said
    executed = b.fate.upstream.count(key="k") - sent
    equal(len(b.results()), executed)
    assert executed <= 1, said
    # An operator's last word counts for as long as nobody has begun it.
    assert said[2] in (200, 404, 409), said
    assert executed == 0 or 202 in said, said
    assert executed == 1 or said[2] == 200, said
    equal(len(marks(b.stream)), 1)


def with_two_gateways(bench):
    """A dead letter, two gateways that may both act on it, and its result."""
    b = Bench(bench, {**QUICK, "results": {"stream": "done"}})
    b.fate.of["k"] = answer(503)
    b.position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    b.fate.of["k"] = answer(201)
    b.second = bench.serve({**b.config, "instance": "other",
                            "state_dir": bench.folder()})
    b.other = Admin(b.second)
    return b


def other_says(b, what):
    return b.act(b.position, what, b.other)


@test
def any_gateway_lists_shows_and_replays_it(bench):
    b = with_two_gateways(bench)
    equal(b.other.get("/messages?source=charges&state=dead"),
          b.admin.get("/messages?source=charges&state=dead"))
    equal(b.other.get(f"/messages/{id_of(b.position)}"),
          b.admin.get(f"/messages/{id_of(b.position)}"))
    equal(other_says(b, "replay").status, 202)
    b.wait_dead()
    equal((b.fate.done, len(b.results())), (["k"], 1))
    equal(other_says(b, "replay").status, 404)


@test
def any_gateway_drops_it(bench):
    b = with_two_gateways(bench)
    equal(other_says(b, "drop").status, 200)
    equal((b.dead(), marks(b.stream)), ([], [b.position]))
    equal((b.fate.done, b.results()), ([], []))
    equal(b.act(b.position, "replay").status, 404)


@test
def a_replay_whose_outcome_nobody_knows_leaves_a_letter(bench):
    b = with_two_gateways(bench)
    sent = b.fate.upstream.count(key="k")
    b.fate.of["k"] = None
    b.replay(b.position)
    b.wait_dead(("k", "unknown"))
    got = other_says(b, "replay")
    equal(got.status, 409, got.body)
    equal(other_says(b, "drop").status, 200)
    message = b.admin.send("GET", f"/messages/{id_of(b.position)}")
    equal(message.status, 404)
    equal((b.fate.upstream.count(key="k"), b.results()), (sent + 1, []))


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
    b.wait_dead()
    equal((b.fate.done, len(b.results())), (["k"], 1))
    equal(other_says(b, "drop").status, 404)


@test
def a_replay_outlives_its_gateway(bench):
    """Whoever has the source goes on with what was asked for."""
    b = Bench(bench, {**QUICK, "results": {"stream": "done"}},
              {"lease": "1s", "on_unknown": "retry"})
    b.fate.of["k"] = answer(503)
    b.position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    sent = b.fate.upstream.count(key="k")
    b.fate.of["k"] = answer(201)
    hold = b.fate.hold("k")
    b.replay(b.position)
    hold.wait_arrived()
    b.gateway.kill()
    hold.release()
    b.serve()
    b.wait_dead()
    assert b.fate.upstream.count(key="k") - sent in (1, 2)
    equal((len(b.results()), marks(b.stream)), (1, [b.position]))


@test
def a_letter_is_not_written_long_after_what_it_says_was_so(bench):
    """Another gateway has its message by then, and has executed it."""
    b = Bench(bench, {}, {"lease": "1500ms"})
    first, wire = b.gateway, bench.wire(bench.redis)
    first.stop()
    first = bench.serve({**b.config, "store": {
        **b.config["store"], "redis": wire.url}})
    b.fate.of.update({"other": answer(402), "k": answer(402)})
    b.add("other")  # so that Redis knows the script
    first.wait_for_log("message", reason="refused")
    others = bench.redis("KEYS", "*:r:*")
    held = wire.hold(of=b"\nh1\n")
    b.add("k")
    assert held.arrived.wait(10), "no letter is on its way"
    first.freeze()
    b.config.update(instance="other", state_dir=bench.folder())
    b.serve()
    b.fate.of["k"] = answer(201)
    name, = set(bench.redis("KEYS", "*:r:*")) - set(others)
    equal(b.admin.send("DELETE", "/keys/" + name.decode()[-32:]).status, 200)
    b.gateway.wait_for_log("message", outcome="executed")
    eventually(lambda: b.stream.pending() == [], "it is acknowledged")
    held.deliver()
    equal(b.dead(), [("other", "refused")])
    first.thaw()
    first.wait_for_log("message", outcome="duplicate")
    equal((b.dead(), b.fate.done), ([("other", "refused")], ["k"]))


def to_replay(bench):
    """A dead letter that would be executed, of a source with results."""
    b = Bench(bench, {**QUICK, "results": {"stream": "done"}})
    b.fate.of["k"] = answer(503)
    b.position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    b.fate.of["k"] = answer(201)
    b.gateway.stop()
    return b


@test
def a_result_that_may_be_there_already_says_so(bench):
    """The gateway that put it died before Redis knew."""
    b, wire = to_replay(bench), bench.wire(bench.redis)
    b.config["store"].update(redis=wire.url)
    b.serve()
    held = wire.hold(of=b"\r\nend\r\n")
    b.replay(b.position)
    assert held.arrived.wait(10), "it is not about to be ended"
    b.gateway.kill()
    equal(["onceproxy-duplicate" in e for e in b.results()], [False])
    # Beyond so many others its mark is not looked for.
    for number in range(100):
        b.stream.redis("XADD", b.stream.name + ":dead", "*", "onceproxy-done",
                       f"{number}-0", "onceproxy-source", "charges")
    b.config["store"].update(redis=bench.redis.url)
    b.serve()
    b.wait_dead()
    equal(["onceproxy-duplicate" in e for e in b.results()], [False, True])
    equal(b.fate.done, ["k"])


@test
def what_is_replayed_ends_before_its_gateway_does(bench):
    b = to_replay(bench)
    wire = bench.wire(b.stream.redis)
    b.config["brokers"]["queue"]["redis"] = wire.url
    b.serve()
    held = wire.hold(of=b"onceproxy-status")
    b.replay(b.position)
    assert held.arrived.wait(10), "it has no result"
    b.gateway.signal(signal.SIGTERM)
    b.gateway.wait_for_log("draining")
    held.let_go()
    b.gateway.stop()
    equal(bench.redis("KEYS", "*:letter:*"), [])
    equal(len(b.results()), 1)


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
    equal((done["attempt"], done["replayed"]), (2, True))
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


def reload(b, **members):
    b.config["sources"]["charges"].update(members)
    since = len(b.gateway.events)
    write(b.gateway.file, b.config)
    b.gateway.signal(signal.SIGHUP)
    b.gateway.wait_for_log("reloaded", since)


@test
def an_unknown_message_stays_one_whatever_else_is_wrong_with_it(bench):
    b = Bench(bench, {**QUICK, "hold": "1s"})
    b.fate.of["k"] = None
    position = b.add("k")
    b.wait_dead(("k", "unknown"))
    key_id = b.listed("dead")[0]["key_id"]
    b.admin.act(key_id, "complete", {"status": 201, "body": "{}"})
    reload(b, key=["/order"])
    b.replay(position)
    eventually(lambda: len(b.gateway.find_log(
        "message", reason="unknown")) == 2, "it cannot be executed")
    message, = b.listed("dead")
    equal((message["reason"], message["key_id"]), ("unknown", key_id))
    assert "/order" in message["detail"], message
    reload(b, key="auto")
    bench.redis("DEL", *bench.redis("KEYS", "*:r:*"))
    got = b.replay(position, 409)
    assert b"its record is gone" in got.body, got.body
    equal(b.fate.upstream.count(key="k"), 1)


@test
def a_malformed_message_is_executed_once_its_source_can(bench):
    b = Bench(bench, {"key": ["/order"], **QUICK})
    position = b.add("k")
    b.wait_dead(("k", "key-missing"))
    b.replay(position)
    eventually(lambda: len(b.gateway.find_log(
        "message", reason="key-missing")) == 2, "it cannot be executed")
    b.wait_dead(("k", "key-missing"))
    reload(b, key="auto")
    b.replay(position)
    b.gateway.wait_for_log("message", outcome="executed")
    b.wait_dead()
    request = b.fate.upstream.requests[0]
    equal((request.body, request.get("Idempotency-Key")), (b'{"a":1}', "k"))


@test
def what_is_wrong_with_a_malformed_message_is_said(bench):
    b = Bench(bench, QUICK)
    position = b.add("a;b")
    b.wait_dead(("a;b", "malformed"))
    detail, = [m["detail"] for m in b.listed("dead")]
    assert detail.startswith("key-invalid: "), detail
    assert "semicolons" in detail, detail
    equal(b.admin.get(f"/messages/{id_of(position)}")["detail"], detail)


@test
def a_result_goes_out_with_the_end_of_a_letter(bench):
    b = Bench(bench, {"results": {"stream": "done"}, **QUICK})
    b.fate.of["k"] = answer(503)
    position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    b.fate.of["k"] = answer(201)
    b.replay(position)
    b.wait_dead()
    result, = b.results()
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
    equal(b.fate.done, [])


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
def messages_that_are_parked_are_counted(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)

    def counts():
        source, = b.admin.get("/sources")["sources"]
        return source["dead"], source["parked"]
    eventually(lambda: counts() == (1, 3), "three are behind one")
    b.fate.of["alone"] = answer(503)
    alone = b.add("alone", lane=2)
    eventually(lambda: counts() == (2, 3), "nothing is behind the other one")
    equal(len(b.listed("parked")), 3)
    metrics = b.admin.send("GET", "/metrics").body.decode()
    assert 'onceproxy_source_parked{source="charges"} 3' in metrics, metrics
    b.act(alone, "drop")
    b.act(positions[0], "drop")
    eventually(lambda: counts() == (0, 0), "none is")


def executed(b, count):
    eventually(lambda: len(b.fate.done) == count, f"{count} executed")
    return b.fate.done


def lane_is_free(b):
    eventually(lambda: not any(
        b":lane:" in key or b":lanes:" in key
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


@test
def what_is_newer_stays_behind_a_lane_that_comes_back(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    b.fate.of["k0"] = answer(201)
    hold = b.fate.hold("k1")
    b.replay(positions[0])
    hold.wait_arrived()
    b.add("k4")
    b.gateway.wait_until(lambda: len(b.gateway.find_log(
        "message", outcome="behind")) == 4 or "k4" in b.fate.done, "k4 ends")
    equal(b.fate.done, ["k0"])
    hold.release()
    equal(executed(b, 5), [f"k{n}" for n in range(5)])
    b.wait_dead()


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


@test
def copies_that_are_deleted_change_nothing(bench):
    """They are for others, and for a store that has lost its data."""
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    b.stream.redis("XTRIM", "charges:dead", "MAXLEN", "0")
    b.wait_dead(*((f"k{n}", "behind" if n else "exhausted")
                  for n in range(4)))
    b.fate.of["k0"] = answer(201)
    b.replay(positions[0])
    equal(executed(b, 4), [f"k{n}" for n in range(4)])
    b.wait_dead()
    lane_is_free(b)
    equal((copies(b.stream), marks(b.stream)), ([], positions))


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
def what_was_parked_keeps_its_order_in_a_source_that_has_none_now(bench):
    b = Bench(bench, IN_ORDER)
    positions = parked_lane(b)
    order = b.config["sources"]["charges"]["order_by"]
    with_order(b, b.config, None)
    b.fate.of["k0"] = answer(201)
    b.replay(positions[0])
    equal(executed(b, 4), [f"k{n}" for n in range(4)])
    b.wait_dead()
    lane_is_free(b)
    with_order(b, b.config, order)
    b.add("k4")
    b.add("k5")
    equal(executed(b, 6)[4:], ["k4", "k5"])
    equal(b.dead(), [])


@test
def one_that_a_stranger_has_acknowledged_is_a_letter_all_the_same(bench):
    b = Bench(bench, IN_ORDER)
    hold = b.fate.hold("k0")
    b.fate.of["k0"] = answer(422)
    position = b.add("k0")
    b.add("k1")
    hold.wait_arrived()
    b.stream.redis("XACK", "charges", "onceproxy", position)
    hold.release()
    b.wait_dead(("k0", "refused"), ("k1", "behind"))
    equal(b.act(position, "drop").status, 200)
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
    b.wait_dead(("k2", "exhausted"), ("k3", "behind"))
    equal(b.fate.done, ["k0", "k1"])
    b.add("k4")
    b.wait_dead(("k2", "exhausted"), ("k3", "behind"), ("k4", "behind"))
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
    b.wait_dead(("k2", "unknown"), ("k3", "behind"), ("k4", "behind"))
    equal(b.fate.done[:2], ["k0", "k1"])
    hold.release()
    eventually(lambda: "k2" in b.fate.done, "what was held has ended")
    b.admin.act(b.listed("dead")[0]["key_id"], "release")
    b.replay(positions[2])
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
def a_message_that_is_too_large_is_whole_in_its_letter(bench):
    b = Bench(bench, QUICK, {"max_request_body": "1KiB",
                             "max_response_body": "1KiB"},
              limits={"in_flight_bytes": "4MiB"})
    body = b'"' + b"x" * 1_200_000 + b'"'
    b.stream.add(body=body, idempotency_key="k")
    b.gateway.wait_for_log("message", reason="too-large")
    copy, = copies(b.stream)
    equal(len(copy["body"]), len(body))


def full_of_dead(bench, **members):
    """One message is dead and has no record, and another one finds no room."""
    b = Bench(bench, {**QUICK, "keep_dead": 1, **members})
    b.fate.of.update(k=answer(422), m=answer(422))
    first = b.add("k")
    b.wait_dead(("k", "refused"))
    b.add("m")
    b.gateway.wait_for_log("source_stands", reason="dead-letters")
    message, = b.listed("dead")
    equal(b.admin.send("DELETE", "/keys/" + message["key_id"]).status, 200)
    return b, first


@test
def a_replay_makes_room_where_too_many_are_dead(bench):
    b, first = full_of_dead(bench)
    b.fate.of["k"] = answer(201)
    b.replay(first)
    equal(executed(b, 1), ["k"])
    b.wait_dead(("m", "refused"))


@test
def a_replay_that_cannot_be_sent_waits_where_too_many_are_dead(bench):
    """Each of five tries that its source takes to stand for its upstream."""
    b, first = full_of_dead(bench, retry={
        "first": "500ms", "most": "500ms", "attempts": 1})
    b.fate.upstream.stop()
    b.replay(first)
    began, stood = (
        datetime.datetime.fromisoformat(e["ts"].replace("Z", "+00:00"))
        for e in (b.gateway.wait_for_log("operator_replay"),
                  b.gateway.wait_for_log("source_stands", reason="upstream")))
    assert (stood - began).total_seconds() > 1.5, (began, stood)


@all_test
def a_letter_is_confirmed_when_its_message_is_acknowledged(bench):
    """Its gateway is killed before that.  Another one takes the entry only
    after twice the lease."""
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program:
        raise Skip("there is no test build")
    b = Bench(bench, QUICK, {"lease": "15s"})
    b.gateway.stop()
    b.fate.of["k"] = answer(422)
    one = bench.serve(
        {**b.config, "instance": "one", "state_dir": bench.folder()},
        {"ONCE_FAULT": "delivery:FINISH"}, program=program)
    position = b.add("k")
    one.wait_for_log("fault_point")
    b.config["instance"] = "two"
    b.serve()
    one.kill()
    said = lambda: b.admin.post(f"/messages/{id_of(position)}/drop")
    early = said()
    equal((early.status, b.stream.pending()), (409, [position]), early.body)
    eventually(lambda: said().status == 200, "it is dropped", 60)
    equal(b.stream.pending(), [])
    eventually(lambda: b.listed("dead") == [], "its letter is, too")


@each([("released", "POST", "/release"), ("deleted", "DELETE", "")])
def a_replay_sets_nothing_free_that_became_unknown_meanwhile(
        bench, method, act):
    """Its record was FAILED when it was replayed: an operator has set the key
    free, and retries of it have been sent before the replay goes on.  Of one
    that was deleted attempts begin at 1 again: the last has the number of the
    one that had failed."""
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program or not os.access(program, os.X_OK):
        raise Skip("there is no test build")
    b = Bench(bench, QUICK)
    b.fate.of["k"] = answer(503)
    position = b.add("k")
    b.wait_dead(("k", "exhausted"))
    key_id = b.listed("dead")[0]["key_id"]
    b.gateway.stop()
    plain = bench.serve({
        **{name: value for name, value in b.config.items()
           if name not in ("brokers", "sources")},
        "state_dir": bench.folder()})
    slow = bench.serve(
        {**b.config, "instance": "slow", "state_dir": bench.folder()},
        {"ONCE_FAULT": "delivery:RELEASE"}, program=program)
    b.admin = Admin(slow)
    said = bench.background(b.replay, position)
    slow.wait_for_log("fault_point")
    record = lambda: Admin(plain).get("/keys/" + key_id)
    attempt = record()["attempt"]
    equal(Admin(plain).send(method, f"/keys/{key_id}{act}").status, 200)
    b.fate.of["k"] = answer(429)
    for _ in range(1, attempt):
        equal(plain.ask("k", body=b'{"a":1}').status, 429)
    b.fate.of["k"] = None
    sent = b.fate.upstream.count(key="k")
    equal(plain.ask("k", body=b'{"a":1}').problem, "outcome-unknown")
    slow.thaw()
    said.result()
    b.wait_dead(("k", "unknown"))
    equal(b.fate.upstream.count(key="k"), sent + 1)
    equal(record()["state"], "UNKNOWN")


@test
def what_was_cut_in_its_copy_is_not_executed_when_it_is_restored(bench):
    b = Bench(bench, QUICK, limits={"in_flight_bytes": 8 << 20})
    position = b.stream.add(a="1", big="x" * (3 << 20), idempotency_key="k")
    b.keys[as_text(position)] = "k"
    b.wait_dead(("k", "too-large"))
    b.gateway.stop()
    bench.redis("FLUSHALL")
    b.serve()
    b.gateway.wait_for_log("source_stands", reason="unproven")
    # Of 3 MiB, for which a broker has as long as for any reply.
    eventually(lambda: b.command("restore", "charges").returncode == 0,
               "it is restored")
    b.wait_dead(("k", "too-large"))
    got = b.replay(position, 409)
    assert b"too large to be kept" in got.body, got.body
    equal(b.fate.upstream.count(), 0)


@all_test
def what_is_held_is_a_letter_with_its_bytes(bench):
    """`hold` is over while Redis does not say what its record is."""
    b = Bench(bench, {"hold": "31s", **QUICK})
    b.fate.of["k"] = None
    b.add("k")
    b.gateway.wait_for_log("message_held")
    since = time.monotonic()
    after = lambda seconds: eventually(
        lambda: time.monotonic() >= since + seconds, "it is time")
    after(29.6)  # it looks at its record after 30 s
    bench.redis.freeze()
    after(31.4)
    bench.redis.thaw()
    b.wait_dead(("k", "unknown"))
    copy, = copies(b.stream)
    equal(copy["body"], b'{"a":1}')


tap.main()
