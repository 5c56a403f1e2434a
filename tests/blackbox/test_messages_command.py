# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: `onceproxy messages`, the operator's view of sources and
of their messages."""

import json
import os

from once import tap
from once.gateway import command
from once.messages import Stream, source
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually


class Operator:
    """Runs `onceproxy messages` for a gateway that reads a stream."""

    def __init__(self, bench, idempotency=None, reply=close_unanswered):
        path = os.path.join(bench.folder(), "admin")
        self.stream = Stream(bench.own_redis())
        config = bench.config(
            bench.upstream(reply), idempotency, admin={
                "listen": "unix:" + path})
        source(config, self.stream)
        self.gateway = bench.serve(config)

    def __call__(self, *args):
        return command("messages", "-c", self.gateway.file, *args)

    def well(self, *args):
        done = self(*args)
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def json(self, *args):
        return json.loads(self.well(*args, "--json"))

    def held(self, count):
        """Adds so many messages; when they are held, what is listed."""
        for n in range(count):
            self.stream.add(body=b"{}", idempotency_key=f"k{n}")
        eventually(lambda: len(self.json("list")["messages"]) == count,
                   "they are held")
        return self.json("list")["messages"]


@test
def a_file_that_is_wrong_elsewhere_leads_to_the_gateway(bench):
    operator = Operator(bench)
    operator.held(1)
    config = json.loads(json.dumps(operator.gateway.config))
    config["routes"][0]["colour"] = "red"
    done = command("messages", "-c", bench.file(json.dumps(config).encode()),
                   "list", "--json")
    equal((done.returncode, len(json.loads(done.stdout)["messages"])), (0, 1))
    assert "warning: /routes/0/colour: " in done.stderr, done.stderr


@test
def sources_are_a_table(bench):
    operator = Operator(bench)
    operator.held(2)
    title, line = operator.well("sources").splitlines()
    equal(title.split(), ["SOURCE", "KIND", "BROKER", "STANDS", "LAG", "IN",
                          "FLIGHT", "HELD", "RETRYING", "WAITING", "PARKED",
                          "DEAD", "ERROR"])
    equal(line.split()[:4], ["charges", "redis", "queue", "-"])
    shown, = operator.json("sources")["sources"]
    equal((shown["name"], shown["held"]), ("charges", 2))


@test
def messages_are_a_table(bench):
    operator = Operator(bench)
    equal(operator.well("list"), "No message is held or retrying. "
          "(--source SOURCE --state dead lists dead letters.)\n")
    made = operator.held(3)
    title, *lines = operator.well("list", "--source", "charges",
                                  "--state", "held").splitlines()
    equal(title.split(), ["ID", "SOURCE", "STATE", "REASON", "ATTEMPT",
                          "TAKEN", "NEXT", "TRY", "KEY_ID"])
    equal([line.split()[:5] for line in lines],
          [[m["id"], "charges", "held", "unknown", "1"] for m in made])
    equal([line.split()[-1] for line in lines], [m["key_id"] for m in made])
    equal(operator.well("list", "--state", "retrying"),
          "No message is retrying.\n")
    lines = operator.well("list", "--limit", "2").splitlines()
    equal((len(lines), lines[-1]),
          (4, "There are more; --limit 4 shows twice as many."))


@test
def dead_letters_have_their_labels_too(bench):
    operator = Operator(bench, {"label": ["/order"]}, answer(422))
    operator.stream.add(body=b'{"order":"A-7"}', idempotency_key="k")
    operator.gateway.wait_for_log("message", outcome="refused")
    dead = "list", "--source", "charges", "--state", "dead"
    title, row = operator.well(*dead).splitlines()
    equal((title.split()[-1], row.split()[-1]), ("LABEL", "A-7"))
    shown = operator.well("show", row.split()[0])
    assert "label        A-7\n" in shown, shown


@test
def of_several_a_refusal_says_whose_it_is(bench):
    operator = Operator(bench)
    message, = operator.held(1)
    for verb in ("show", "drop"):
        done = operator(verb, "b3JkZXJz", message["id"])
        equal(done.returncode, 1)
        assert done.stderr.endswith(
            "onceproxy messages: that was said of b3JkZXJz\n"), done.stderr
        assert message["id"] not in done.stderr, done.stderr
        assert message["id"] in done.stdout, done.stdout
    done = operator("drop", "b3JkZXJz")
    assert "said of" not in done.stderr, done.stderr


@test
def labels_have_a_column_where_there_are_any(bench):
    operator = Operator(bench, {"label": "key"})
    operator.held(2)
    title, *lines = operator.well("list").splitlines()
    equal([title.split()[-1]] + [line.split()[-1] for line in lines],
          ["LABEL", "k0", "k1"])


@test
def one_message_is_shown_a_member_a_line(bench):
    operator = Operator(bench)
    message, = operator.held(1)
    shown = operator.well("show", message["id"])
    assert f"id           {message['id']}\n" in shown, shown
    assert f"key_id       {message['key_id']}\n" in shown, shown
    equal(operator.json("show", message["id"]), message)


@test
def several_are_dropped_and_one_that_is_gone_says_so(bench):
    operator = Operator(bench)
    first, second, third = operator.held(3)
    equal(operator.well("drop", first["id"], "--note", "twice"),
          first["id"] + ": dropped\n")
    equal(operator.gateway.wait_for_log("operator_message")["note"], "twice")
    done = operator("drop", first["id"], second["id"])
    equal((done.returncode, done.stdout),
          (1, second["id"] + ": dropped\n"))
    assert "(status 404)" in done.stderr, done.stderr
    equal([m["id"] for m in operator.json("list")["messages"]],
          [third["id"]])
    equal(len(operator.stream.pending()), 1)


@test
def a_source_is_paused_and_resumed(bench):
    operator = Operator(bench)
    equal(operator.well("pause", "charges", "--note", "a count"),
          "charges: paused, for all gateways\n")
    equal(operator.gateway.wait_for_log("source_paused")["note"], "a count")
    line = operator.well("sources").splitlines()[1]
    assert " operator " in line, line
    assert line.endswith(", unix: a count"), line
    operator.stream.redis.kill()
    operator.gateway.wait_for_log("source_broker_down")
    line = operator.well("sources").splitlines()[1]
    assert ", unix: a count; " in line, line
    operator.stream.redis.restart()
    equal(operator.well("resume", "charges"),
          "charges: resumed, for all gateways\n")
    operator.gateway.wait_for_log("source_resumed")
    done = operator("resume", "charges")
    equal((done.returncode, done.stderr), (1, "onceproxy messages: The "
          "source is not paused. Nothing was changed. (status 409)\n"))


@each([
    ("paused", ("pause", "chargs")),
    ("resumed", ("resume", "chargs")),
    ("set back", ("rewind", "chargs")),
    ("listed", ("list", "--source", "chargs"))])
def the_source_that_may_be_meant_is_said(bench, args):
    operator = Operator(bench)
    done = operator(*args)
    equal((done.returncode, done.stdout), (1, ""))
    equal(done.stderr, "onceproxy messages: There is no source of this name; "
          "did you mean charges? (status 404)\n")
    far = operator(*args[:-1], "orders")
    equal(far.stderr, "onceproxy messages: There is no source of this name. "
          "(status 404)\n")


VERBS = ("\nThe verbs are sources, list, show, drop, replay, pause, resume, "
         "restore and rewind.")


@each([
    ("no verb", (), "a verb is missing" + VERBS),
    ("another verb", ("replace",),
     "no such verb: replace; did you mean replay?" + VERBS),
    ("no id", ("drop",), "drop needs an ID"),
    ("no source", ("pause",), "pause needs a SOURCE"),
    ("two sources", ("pause", "a", "b"), "unexpected argument: b"),
    ("a list of something", ("list", "a"), "unexpected argument: a"),
    ("an option of another verb", ("list", "--note", "x"),
     "list does not take --note"),
    ("another option", ("list", "--all"), "no such option: --all"),
    ("no number", ("list", "--limit", "0"),
     "--limit cannot be 0; it is a whole number from 1 to 1000000"),
    ("a number too high", ("list", "--limit", "1000001"),
     "--limit cannot be 1000001; it is a whole number from 1 to 1000000"),
    ("a state in other letters", ("list", "--state", "hled"),
     "--state cannot be hled; it is held, retrying, waiting, dead or parked; "
     "did you mean held?"),
    ("no value", ("list", "--limit"), "--limit needs a value"),
    ("a partition that is no text", ("resume", "a", "--unproven", "\udcff"),
     "names must be UTF-8"),
    ("a note that is none", ("pause", "a", "--note", "\udcff"),
     "--note must be UTF-8"),
    ("dead letters of no source", ("list", "--state", "dead"),
     "--state dead needs --source SOURCE")])
def what_is_asked_wrongly_is_said(bench, args, message):
    done = command("messages", *args)
    equal((done.returncode, done.stdout), (2, ""))
    equal(done.stderr, f"onceproxy messages: {message}\n"
          "Try 'onceproxy messages --help'.\n")


# --- what is unproven ---

class Lost(Operator):
    """Two dead letters, a message that is parked behind the first, and one that
    was dropped; then the gateway has another store, and one more message."""

    def __init__(self, bench):
        self.stream = Stream(bench.own_redis())
        self.upstream = bench.upstream(
            lambda connection, request: connection.send(
                answer(422 if request.get("Idempotency-Key").startswith("bad")
                       else 201)))
        config = bench.config(
            self.upstream, redis=bench.own_redis(),
            admin={"listen": "unix:" + os.path.join(bench.folder(), "admin")})
        source(config, self.stream, order_by=["/a"])
        self.gateway = bench.serve(config)
        for key, lane in (("bad0", 1), ("k1", 1), ("bad2", 2), ("bad3", 3)):
            self.add(key, lane)
        eventually(lambda: len(self.letters("dead")) == 3
                   and len(self.letters("parked")) == 1
                   and self.stream.pending() == [], "they are letters")
        *dead, dropped = self.letters("dead")
        self.before = dead, self.letters("parked")
        eventually(lambda: self("drop", dropped["id"]).returncode == 0,
                   "it is dropped")
        self.gateway.stop()
        self.gateway = bench.serve(
            {**config, "store": {"redis": bench.own_redis().url}})
        self.add("k4", 4)
        self.gateway.wait_for_log("source_stands", reason="unproven")

    def add(self, key, lane):
        self.stream.add(body=b'{"a":%d}' % lane, idempotency_key=key)

    def letters(self, state):
        """In the order of the stream."""
        return sorted(self.json("list", "--source", "charges", "--state",
                                state)["messages"],
                      key=lambda m: [int(part) for part in
                                     m["position"].split("-")])

    def standing(self):
        shown, = self.json("sources")["sources"]
        return shown["standing"]


def about(letters):
    return [[m[name] for name in ("id", "reason", "key_id", "position")]
            for m in letters]


@test
def letters_are_restored_from_their_copies(bench):
    operator = Lost(bench)
    equal((operator.standing(), operator.letters("dead")), ("unproven", []))
    equal(operator.upstream.count(key="k4"), 0)
    equal(operator.json("restore", "charges", "--note", "Redis was lost"),
          {"name": "charges", "restored": 3})
    operator.gateway.wait_for_log("source_goes", reason="unproven")
    equal(operator.gateway.wait_for_log("operator_decided")["note"],
          "Redis was lost")
    operator.gateway.wait_for_log("message", outcome="executed")
    equal((about(operator.letters("dead")), about(operator.letters("parked"))),
          tuple(about(letters) for letters in operator.before))
    # They are there, and the one that was dropped is over.
    equal(operator.well("restore", "charges"),
          "charges: its letters are restored\n")
    said = operator.gateway.wait_for_log("source_restored", restored=0)
    equal((said["there"], said["over"]), (3, 1))
    # What is parked behind the first comes when that is decided about.
    equal(operator.upstream.count(key="k1"), 0)
    operator.well("drop", operator.letters("dead")[0]["id"])
    eventually(lambda: operator.upstream.count(key="k1") == 1, "it follows")
    eventually(lambda: operator.letters("parked") == [], "none is parked")


@test
def it_goes_on_without_letters(bench):
    operator = Lost(bench)
    equal(operator.well("resume", "charges", "--unproven"),
          "charges: it goes on behind what was finished\n")
    operator.gateway.wait_for_log("message", outcome="executed")
    equal((operator.standing(), operator.letters("dead"),
           operator.letters("parked")), (None, [], []))
    equal([operator.upstream.count(key=key) for key in ("k1", "k4")], [0, 1])


@test
def help_has_each_verb(bench):
    done = command("messages", "--help")
    equal((done.returncode, done.stderr), (0, ""))
    for verb in ("sources", "list", "show", "drop", "replay", "pause",
                 "resume", "restore", "rewind"):
        assert f"\n    {verb}" in done.stdout, done.stdout
        one = command("messages", verb, "--help")
        equal(one.returncode, 0)
        assert f"\n  onceproxy messages {verb}" in one.stdout, one.stdout


tap.main()
