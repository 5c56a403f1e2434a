# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: `onceproxy keys`, the operator's view of records."""

import json
import os
import pty
import re
import shlex
import subprocess
import time

from once import http, tap
from once.gateway import command, program
from once.tap import all_test, each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

NONE_SUCH = "0" * 32
NO_RECORD = "No record is PROCESSING, UNKNOWN or FAILED.\n"


class Operator:
    """Runs `onceproxy keys` for a gateway with an admin interface."""

    def __init__(self, bench, idempotency=None, **admin):
        path = os.path.join(bench.folder(), "admin")
        self.upstream = bench.upstream()
        self.gateway = bench.gateway(
            self.upstream, idempotency,
            admin={"listen": "unix:" + path, **admin})

    def __call__(self, *args):
        return command("keys", "-c", self.gateway.file, *args)

    def well(self, *args):
        done = self(*args)
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def json(self, *args):
        return json.loads(self.well(*args, "--json"))

    def unknown(self, key="k"):
        self.upstream.reply = close_unanswered
        got = self.gateway.ask(key)
        equal(got.problem, "outcome-unknown")
        self.upstream.reply = answer()
        # The oldest is listed first, by the millisecond.
        now_ms = time.time_ns() // 1_000_000
        eventually(lambda: time.time_ns() // 1_000_000 > now_ms,
                   "the clock goes on")
        return got.json()["instance"].rsplit(":", 1)[-1]


@test
def list_shows_a_table(bench):
    operator = Operator(bench)
    equal(operator.well("list"), NO_RECORD)
    made = [operator.unknown(f"k{i}") for i in range(3)]
    title, *lines = operator.well("list").splitlines()
    equal(title.split(),
          ["KEY_ID", "STATE", "REASON", "ATTEMPT", "CHANGED", "AGE", "ROUTE"])
    equal([line.split()[:4] for line in lines],
          [[key_id, "UNKNOWN", "broken", "1"] for key_id in made])
    equal({line.split()[-1] for line in lines}, {"charges"})
    for line in lines:
        assert re.search(r"Z  (just now|\d+ (seconds|minutes) ago)  charges$",
                         line), line
    for state in ("FAILED", "failed"):
        equal(operator.well("list", "--state", state),
              "No record is FAILED.\n")
    equal(operator.well("list", "--state", "unknown").count("UNKNOWN"), 3)


@each([
    ("--scope", ["show", "--key", "k", "--scope", "Bearer t"],
     "'Authorization: Bearer T' or 'basic.user: alice'"),
    ("--header", ["complete", NONE_SUCH, "--header", "application/json"],
     "'Content-Type: application/json'"),
    ("--json-value", ["show", "--json-value", "order_id=1"],
     "/order_id=order-17"),
    ("--status", ["complete", NONE_SUCH, "--status", "2xx"], "200 to 599"),
    ("--state", ["list", "--state", "unkown"],
     "it is PROCESSING, UNKNOWN or FAILED; did you mean UNKNOWN?"),
    ("a state that is not listed", ["find", "x", "--state", "LOST"],
     "--state cannot be LOST; it is PROCESSING, UNKNOWN or FAILED\n"),
    ("--limit", ["list", "--limit", "0"], "whole number from 1 to 1000000"),
    ("--limit", ["list", "--limit", "100000000"],
     "whole number from 1 to 1000000"),
    ("--attempt", ["release", NONE_SUCH, "--attempt", "1000000"],
     "whole number from 1 to 999999"),
    ("a key for a KEY_ID", ["show", "order-17"], "keys find TEXT"),
    ("an option of another verb", ["complete", NONE_SUCH, "--body", "a"],
     "complete does not take --body; did you mean --body-file?\n"),
    ("an option that no other is like", ["list", "--note", "a"],
     "list does not take --note\n"),
])
def a_wrong_value_is_answered_with_a_right_one(bench, args, words):
    done = command("keys", *args)
    equal((done.returncode, done.stdout), (2, ""))
    assert words in done.stderr, done.stderr


@test
def a_scope_of_no_route_is_answered_with_those_that_there_are(bench):
    operator = Operator(bench, {"scope": [{"basic": "user"}, "X-Shop"]})
    hint = ("  route charges: --scope 'basic.user: VALUE' "
            "--scope 'X-Shop: VALUE' (those that the request had)\n")
    for scope in ([], ["--scope", "Authorization: Bearer t"],
                  ["--scope", "x-shop: 1"]):
        done = operator("show", "--key", "k", *scope)
        equal(done.returncode, 1)
        assert done.stderr.endswith(hint), done.stderr


@each([
    ("any issuer", {},
     " --scope 'jwt.iss: VALUE' (those that the request had)"),
    ("one", {"issuer": "https://id.example"}, "")])
def a_tokens_issuer_is_asked_for_where_no_route_says_it(bench, own, words):
    keys = bench.file(json.dumps({"keys": [
        {"kty": "oct", "k": "A" * 43}]}).encode())
    operator = Operator(
        bench, {"scope": [{"jwt": "sub", "keys": keys, **own}]})
    done = operator("show", "--key", "k")
    assert done.stderr.endswith(
        f"  route charges: --scope 'jwt.sub: VALUE'{words}\n"), done.stderr


@each([
    ("none is said", "refunds", (), "--namespace 'refunds'"),
    ("another one is said", "refunds", ("--namespace", "refund"),
     "--namespace 'refunds'"),
    ("it has a variable", "r/{id}", (), "--namespace 'r/{id}'")])
def a_namespace_of_no_route_is_answered_with_those_that_there_are(
        bench, namespace, given, words):
    upstream = bench.upstream()
    path = os.path.join(bench.folder(), "admin")
    config = bench.config(upstream, {"namespace": namespace},
                          admin={"listen": "unix:" + path})
    config["routes"][0]["path"] = "/v1/charges/{id}"
    gateway = bench.serve(config)
    done = command("keys", "-c", gateway.file, "show", "--key", "k",
                   "--scope", "Authorization: Bearer t", *given)
    equal(done.returncode, 1)
    assert done.stderr.endswith(
        f"  route charges: {words} --scope 'Authorization: VALUE'\n"), \
        done.stderr


@test
def a_key_that_is_not_there_is_answered_with_the_scopes_of_all_routes(bench):
    """A token is what one route goes by, and says nothing on the other."""
    upstream = bench.upstream()
    path = os.path.join(bench.folder(), "admin")
    config = bench.config(upstream, {"scope": ["Authorization"]},
                          admin={"listen": "unix:" + path})
    shop = dict(config["routes"][0], name="shop", path="/shop")
    shop["idempotency"] = {**shop["idempotency"], "scope": ["X-Shop"]}
    config["routes"].insert(0, shop)
    gateway = bench.serve(config)
    done = command("keys", "-c", gateway.file, "show", "--key", "k",
                   "--scope", "Authorization: Bearer t")
    equal(done.returncode, 1)
    assert done.stderr.endswith(
        "\nThis configuration's routes find their keys by:\n"
        "  route shop: --scope 'X-Shop: VALUE'\n"
        "  route charges: --scope 'Authorization: VALUE'\n"), done.stderr


@test
def a_file_that_is_not_there_leads_to_the_option(bench):
    done = command("keys", "list", "-c", "/gone/onceproxy.json")
    equal((done.returncode, done.stdout), (1, ""))
    assert "With -c FILE, onceproxy keys takes" in done.stderr, done.stderr


@test
def help_says_which_scopes_there_are(bench):
    said = command("keys", "show", "--help").stdout
    for spelling in ("basic.user", "path.NAME", "jwt.CLAIM",
                     "certificate.subject", "certificate.fingerprint"):
        assert spelling in said, said


@test
def what_list_prints_can_be_pasted(bench):
    operator = Operator(bench)
    key_id = operator.unknown()
    row = operator.well("list").splitlines()[1]
    equal(row.split()[0], key_id)
    assert f"key_id       {key_id}\n" in operator.well(
        "show", row.split()[0])


@test
def times_have_how_far_they_are_beside_them(bench):
    operator = Operator(bench, {"retention": "72h", "lease": "1h"})
    hold = operator.upstream.hold()
    task = bench.background(operator.gateway.ask, "k")
    operator.upstream.wait_for(1)
    record, = operator.json("list", "--state", "PROCESSING")["keys"]
    text = operator.well("show", record["key_id"])
    now = r"(just now|\d+ (seconds|minutes) ago)"
    for name, age in (("created", now), ("changed", now),
                      ("lease_until", r"in (5\d|60) minutes"),
                      ("expires", r"in (29|30) days")):
        assert re.search(
            rf"^{name} +{record[name]} \({age}\)$", text, re.M), text
    hold.release()
    equal(task.result().status, 201)
    assert re.search(r"\(in (2 days|7\d hours|3 days)\)",
                     operator.well("show", record["key_id"]))


@each([("days", "7d", "7 days"), ("hours", "24h", "24 hours"),
       ("under two days", "2d", "48 hours")])
def a_time_to_come_is_not_less_a_moment_later(bench, retention, words):
    operator = Operator(bench, {"retention": retention})
    equal(operator.gateway.ask("k").status, 201)

    def is_said():
        text = operator.well("show", "--key", "k", "--scope",
                             f"Authorization: {http.TENANT}")
        expires, = [line for line in text.splitlines()
                    if line.startswith("expires ")]
        return expires.endswith(f"(in {words})")
    eventually(is_said, f"it says {words}")


@test
def list_ends_at_its_limit_and_says_that_there_are_more(bench):
    operator = Operator(bench)
    made = [operator.unknown(f"k{i}") for i in range(3)]
    lines = operator.well("list", "--limit", "2").splitlines()
    equal([line.split()[0] for line in lines[1:3]], made[:2])
    equal(lines[3], "There are more; --limit 4 shows twice as many.")
    equal(len(operator.well("list", "--limit", "3").splitlines()), 4)
    got = operator.json("list", "--limit", "2", "--state", "UNKNOWN")
    equal([r["key_id"] for r in got["keys"]], made[:2])
    assert got["next"]
    equal(operator.json("list")["next"], None)


@test
def show_shows_a_record_by_id_and_by_key(bench):
    operator = Operator(bench)
    operator.gateway.ask("k")
    key_id = operator.gateway.wait_for_log("request")["key_id"]
    text = operator.well("show", key_id)
    for line in (f"key_id       {key_id}", "state        COMPLETED",
                 "status       201"):
        assert line + "\n" in text, text
    assert "ch_1" not in text
    by_key = ["show", "--key", "k", "--scope",
              f"Authorization: {http.TENANT}"]
    equal(operator.json(*by_key), operator.json("show", key_id))
    equal(operator.json(*by_key, "--namespace", "default"),
          operator.json("show", key_id))
    whole = operator.json("show", key_id, "--body")
    equal(whole["body"], '{"id":"ch_1"}')
    text = operator.well(*by_key, "--body")
    assert "Content-Length" not in text
    assert text.endswith('\n{"id":"ch_1"}\n'), text


@test
def what_an_upstream_said_does_not_speak_to_the_terminal(bench):
    operator = Operator(bench)
    operator.upstream.reply = answer(200, b"a\x1b[2Jb\r\x07c")
    operator.gateway.ask("k")
    key_id = operator.gateway.wait_for_log("request")["key_id"]
    text = operator.well("show", key_id, "--body")
    assert text.endswith("a\\u001b[2Jb\\u000d\\u0007c\n"), text
    equal(operator.json("show", key_id, "--body")["body"],
          "a\x1b[2Jb\r\x07c")


@test
def nor_does_a_label_in_a_list(bench):
    operator = Operator(bench, {"label": ["/order"]})
    operator.upstream.reply = close_unanswered
    operator.gateway.ask("k", body='{"order": "a\u009b31m"}'.encode())
    text = operator.well("list")
    assert re.search(r" a\S*31m$", text, re.M), text
    assert "\u009b" not in text, text


@test
def release_frees_a_key(bench):
    operator = Operator(bench)
    key_id = operator.unknown()
    text = operator.well("release", key_id, "--note", "not there")
    assert "state        RELEASED\n" in text, text
    operator.gateway.wait_for_log("operator", note="not there",
                                  act="release", key_id=key_id)
    equal(operator.gateway.ask("k").status, 201)


@test
def complete_gives_a_key_its_answer(bench):
    operator = Operator(bench)
    key_id = operator.unknown()
    file = bench.file(b'{"id":"ch_9"}')
    got = operator.json(
        "complete", key_id, "--status", "202", "--header", "X-A: 1",
        "--header", "X-A:2", "--body-file", file, "--note", "there")
    equal((got["state"], got["status"], got["bytes"]),
          ("COMPLETED", 202, 13))
    again = operator.gateway.ask("k")
    equal((again.status, again.all("X-A"), again.body),
          (202, ["1", "2"], b'{"id":"ch_9"}'))
    equal(again.all("Content-Type"), ["application/json"])
    operator.gateway.wait_for_log("operator", note="there", act="complete")


def at_a_terminal(operator, said, *words):
    """What was printed where somebody sits and says that."""
    person, terminal = pty.openpty()
    os.write(person, said)
    done = subprocess.run(
        [program(), "keys", "-c", operator.gateway.file, *words],
        stdin=terminal, capture_output=True, text=True, check=False)
    os.close(person)
    os.close(terminal)
    return done.stdout + done.stderr


@each([("no", b"\n", "nothing was completed", 409),
       ("yes", b"y\n", "COMPLETED", 201)])
def at_a_terminal_an_answer_without_a_body_is_asked_about(
        bench, said, words, status):
    operator = Operator(bench)
    key_id = operator.unknown()
    printed = at_a_terminal(
        operator, said, "complete", key_id, "--status", "201")
    assert "no --body-file" in printed, printed
    assert words in printed, printed
    equal(operator.gateway.ask("k").status, status)


@each([("no", b"\n", (), "nothing was released", 409),
       ("yes", b"y\n", (), "next retry executes", 201),
       ("nobody is asked", b"", ("--yes",), "", 201)])
def at_a_terminal_a_release_is_asked_about(
        bench, said, more, words, status):
    operator = Operator(bench)
    key_id = operator.unknown()
    printed = at_a_terminal(operator, said, "release", key_id, *more)
    assert words in printed, printed
    equal("next retry executes" in printed, not more, printed)
    equal(operator.gateway.ask("k").status, status)


@test
def what_is_completed_has_the_type_that_was_said(bench):
    operator = Operator(bench)
    operator.well(
        "complete", operator.unknown(), "--status", "200", "--header",
        "content-type: application/vnd.api+json", "--body-file",
        bench.file(b"{}"))
    equal(operator.gateway.ask("k").all("Content-Type"),
          ["application/vnd.api+json"])


@each([("bytes that are no text", b"\x00\xff" * 50_000), ("nothing", b"")])
def complete_takes_any_file_and_standard_input(bench, data):
    operator = Operator(bench)
    operator.well("complete", operator.unknown("a"), "--status", "200",
                  "--body-file", bench.file(data))
    got = operator.gateway.ask("a")
    equal((got.body, got.all("Content-Type")), (data, []))
    done = subprocess.run(
        [program(), "keys", "-c", operator.gateway.file, "complete",
         operator.unknown("b"), "--status", "200", "--body-file", "-"],
        input=data, capture_output=True, check=False, timeout=20)
    equal((done.returncode, done.stderr), (0, b""))
    equal(operator.gateway.ask("b").body, data)


@test
def delete_forgets_a_record(bench):
    operator = Operator(bench)
    key_id = operator.unknown()
    equal(operator.json("delete", key_id, "--yes", "--note", "a test"),
          {"key_id": key_id, "deleted": True})
    operator.gateway.wait_for_log("operator", act="delete", note="a test")
    equal(operator("show", key_id).returncode, 1)


def typed(operator, text, *args):
    """The same with a standard input: exit status and both outputs."""
    done = subprocess.run(
        [program(), "keys", "-c", operator.gateway.file, *args], input=text,
        capture_output=True, text=True, check=False, timeout=20)
    return done.returncode, done.stdout, done.stderr


@each([("a yes", "yes\n", 0), ("a y", "y\n", 0), ("a no", "n\n", 1),
       ("something else", "delete\n", 1), ("nothing", "", 1)])
def delete_asks_and_takes_only_a_yes(bench, answer_, code):
    operator = Operator(bench)
    key_id = operator.unknown()
    got, _, asked = typed(operator, answer_, "delete", key_id)
    assert f"Forget the record {key_id}?" in asked, asked
    equal(got, code, asked)
    equal(operator("show", key_id).returncode, 1 - code)


@test
def several_records_are_resolved_at_once(bench):
    operator = Operator(bench)
    made = [operator.unknown(f"k{i}") for i in range(3)]
    text = operator.well("show", *made)
    equal(re.findall(r"^key_id +(\w+)$", text, re.M), made)
    done = operator("release", made[0], NONE_SUCH, made[1],
                    "--note", "an outage")
    equal(done.returncode, 1)
    assert "no record" in done.stderr, done.stderr
    assert f"said of {NONE_SUCH}\n" in done.stderr, done.stderr
    urn = f"urn:onceproxy:key:{made[2]}"
    equal(operator.json("show", urn), operator.json("show", made[2]))
    equal([operator.json("show", key_id)["state"] for key_id in made],
          ["RELEASED", "RELEASED", "UNKNOWN"])


@test
def a_list_may_be_a_file_of_records(bench):
    operator = Operator(bench)
    made = [operator.unknown(f"k{i}") for i in range(3)]
    table = operator.well("list", "--state", "UNKNOWN") + "\n# the end\r\n"
    file = bench.file(table.encode())
    operator.well("complete", "--from-file", file, "--status", "200")
    equal({operator.json("show", key_id)["state"] for key_id in made},
          {"COMPLETED"})
    # Since then they have changed, and an id alone is of whatever is there.
    ids = "\n".join(made) + "\n"
    code, out, _ = typed(operator, ids, "delete", "--from-file", "-", "--yes")
    equal((code, out.count("deleted")), (0, 3))
    file = bench.file(b"nothing of that kind\n")
    equal(operator("show", "--from-file", file).returncode, 2)
    equal(operator("show", "--from-file", "/nowhere/ids").returncode, 1)


@each([("released", ["release"], "RELEASED"),
       ("completed", ["complete", "--status", "200"], "COMPLETED"),
       ("deleted", ["delete", "--yes"], None)])
def such_a_file_is_of_the_attempts_that_it_shows(bench, act, state):
    operator = Operator(bench)
    made = [operator.unknown(f"k{i}") for i in range(3)]
    # Without the title, as grep may leave it.
    rows = operator.well("list").splitlines()[1:]
    file = bench.file("\n".join(rows).encode())
    operator.well("release", made[1])
    equal(operator.unknown("k1"), made[1])
    done = operator(*act, "--from-file", file)
    equal(done.returncode, 1)
    assert "now UNKNOWN at attempt 2, not at attempt 1" in done.stderr, done
    assert done.stderr.count(" said of ") == 1, done.stderr
    assert made[1] in done.stderr, done.stderr
    shown = operator.json("list")["keys"]
    equal([(key["key_id"], key["state"]) for key in shown],
          [(made[1], "UNKNOWN")])
    for key_id in made[0], made[2]:
        found = operator("show", key_id)
        assert found.returncode if state is None else state in found.stdout
    # An id alone is of any attempt.
    operator.well(*act, "--from-file", bench.file(made[1].encode()))


@each([("released", ["release"]),
       ("completed", ["complete", "--status", "200"]),
       ("deleted", ["delete", "--yes"])])
def what_was_deleted_and_came_again_is_on_no_list_of_before(bench, act):
    operator = Operator(bench)
    key_id = operator.unknown()
    file = bench.file(operator.well("list").encode())
    operator.well("delete", "--yes", "--from-file", file)
    # Nobody has looked at this one, whose attempt is the first one again.
    equal(operator.unknown(), key_id)
    done = operator(*act, "--from-file", file)
    equal(done.returncode, 1)
    assert "has changed since it was looked at" in done.stderr, done
    found = operator.json("show", key_id)
    equal((found["state"], found["attempt"]), ("UNKNOWN", 1))
    operator.well(*act, "--from-file",
                  bench.file(operator.well("list").encode()))


@test
def an_attempt_that_is_said_is_that_of_the_whole_file(bench):
    operator = Operator(bench)
    operator.unknown()
    file = bench.file(operator.well("list").encode())
    equal(operator("release", "--from-file", file, "--attempt", "2")
          .returncode, 1)
    operator.well("release", "--from-file", file, "--attempt", "1")


@all_test
def what_an_outage_has_left_is_released_in_one_go(bench):
    operator = Operator(bench)
    operator.upstream.reply = close_unanswered
    for number in range(1500):
        equal(operator.gateway.ask(f"k{number}").problem, "outcome-unknown")
    table = operator.well("list", "--state", "UNKNOWN", "--limit", "2000")
    operator.well("release", "--from-file", bench.file(table.encode()),
                  "--note", "an outage")
    equal(operator.well("list"), NO_RECORD)
    operator.upstream.reply = answer()
    equal(operator.gateway.ask("k1499").status, 201)


@test
def another_attempt_than_the_one_that_was_looked_at_is_left_alone(bench):
    operator = Operator(bench)
    key_id = operator.unknown()
    for verb in (["release"], ["complete", "--status", "200"],
                 ["delete", "--yes"]):
        done = operator(*verb, key_id, "--attempt", "2")
        equal(done.returncode, 1)
        assert "attempt 1" in done.stderr, done.stderr
    equal(operator.json("show", key_id)["state"], "UNKNOWN")
    operator.well("release", key_id, "--attempt", "1")


@test
def a_token_of_a_scope_may_stand_in_a_file(bench):
    operator = Operator(bench)
    operator.gateway.ask("k")
    scope = f"# the shop's\nAuthorization: {http.TENANT}\n"
    file = bench.file(scope.encode())
    shown = operator.json("show", "--key", "k", "--scope-file", file)
    equal(shown["state"], "COMPLETED")
    code, out, _ = typed(operator, scope, "show", "--key", "k",
                         "--scope-file", "-", "--json")
    equal((code, json.loads(out)), (0, shown))


@test
def what_the_gateway_refuses_is_exit_1_and_its_sentence(bench):
    operator = Operator(bench)
    operator.gateway.ask("k")
    key_id = operator.gateway.wait_for_log("request")["key_id"]
    for args, word in (
            (("show", NONE_SUCH), "no record"),
            (("release", NONE_SUCH), "no record"),
            (("delete", NONE_SUCH, "--yes"), "no record"),
            (("release", key_id), "COMPLETED"),
            (("complete", key_id, "--status", "200"), "COMPLETED"),
            (("show", "--key", "k", "--scope", "X-A: 1"), "scope")):
        done = operator(*args)
        equal((done.returncode, done.stdout), (1, ""), args)
        assert word in done.stderr, done.stderr


@test
def the_token_comes_from_the_configuration(bench):
    file = bench.file(b"s3cret\n")
    operator = Operator(bench, token={"file": file})
    equal(operator.well("list"), NO_RECORD)
    with open(file, "w", encoding="ascii") as out:
        out.write("another\n")
    done = operator("list")
    equal(done.returncode, 1)
    assert "token" in done.stderr, done.stderr
    assert operator.gateway.file in done.stderr, done.stderr


@test
def it_asks_over_tcp_too(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(
        upstream, admin={"listen": "127.0.0.1:0", "token": "secret"})
    place = gateway.ready["admin"]
    # Its token is for no proxy; who listens everywhere is asked at home.
    closed = "http://127.0.0.1:9"
    env = {"http_proxy": closed, "all_proxy": closed, "no_proxy": "",
           "NO_PROXY": ""}
    for listen in (place, ":" + place.rsplit(":", 1)[1]):
        config = dict(gateway.config,
                      admin={"listen": listen, "token": "secret"})
        file = bench.file(json.dumps(config).encode())
        done = command("keys", "-c", file, "list", env=env)
        equal((done.returncode, done.stdout), (0, NO_RECORD), done.stderr)
    done = command("keys", "-c", gateway.file, "list")
    equal(done.returncode, 1)
    assert "port 0" in done.stderr, done.stderr


@test
def a_gateway_that_is_not_there_is_exit_1(bench):
    operator = Operator(bench)
    operator.gateway.stop()
    done = operator("list")
    equal((done.returncode, done.stdout), (1, ""))
    assert re.search("unix:.*: cannot reach the gateway: (No such file|"
                     "Connection refused)", done.stderr), done.stderr
    assert "Is the gateway running" in done.stderr, done.stderr
    assert operator.gateway.file in done.stderr, done.stderr


@test
def a_configuration_without_an_admin_interface_is_exit_1(bench):
    gateway = bench.gateway(bench.upstream())
    done = command("keys", "-c", gateway.file, "list")
    equal(done.returncode, 1)
    assert "admin.listen" in done.stderr, done.stderr
    done = command("keys", "-c", "/nowhere/x.json", "list")
    equal(done.returncode, 1)
    assert "/nowhere/x.json" in done.stderr, done.stderr


def spoilt(bench, gateway, **members):
    """Its file, with a retention that is none and those members."""
    config = json.loads(json.dumps(dict(gateway.config, **members)))
    config["routes"][0]["idempotency"]["retention"] = "soon"
    return bench.file(json.dumps(config).encode())


@test
def a_file_that_is_wrong_elsewhere_leads_to_the_gateway(bench):
    """It runs on with what it has read, and its payments are stuck now."""
    operator = Operator(bench, token="secret")
    key_id = operator.unknown()
    file = spoilt(bench, operator.gateway)

    def well(*args):
        done = command("keys", "-c", file, *args)
        equal(done.returncode, 0, done.stderr)
        warned, said = done.stderr.splitlines()
        assert re.match(re.escape(file) + r":\d+:\d+: warning: "
                        "/routes/0/idempotency/retention: ", warned), warned
        assert file in said and "admin.listen" in said, said
        return done.stdout
    assert key_id in well("list")
    equal(well("list", "--route", "another"), "No such record is PROCESSING, "
          "UNKNOWN or FAILED.\nOne that is COMPLETED is found by its whole "
          "KEY_ID or label.\n")
    assert key_id in well("find", key_id)
    assert key_id in well("show", "--key", "k", "--scope",
                          f"Authorization: {http.TENANT}")
    assert "UNKNOWN" in well("show", key_id)
    assert "RELEASED" in well("release", key_id, "--note", "asked")
    equal(operator.gateway.ask("k").status, 201)
    well("delete", key_id, "--yes")


@each([("admin.listen", {"listen": "here"}), ("no admin.listen", {}),
       ("what is none", {"listen": "unix:/nowhere", "colour": "red"})])
def a_file_that_is_wrong_there_does_not(bench, admin):
    operator = Operator(bench)
    file = spoilt(bench, operator.gateway, admin=admin)
    done = command("keys", "-c", file, "list")
    equal((done.returncode, done.stdout), (1, ""))
    assert "warning" not in done.stderr, done.stderr
    assert "/routes/0/idempotency/retention" in done.stderr, done.stderr
    assert "curl --unix-socket PATH" in done.stderr, done.stderr


@each([("no verb", []), ("an unknown verb", ["lost"]),
       ("an unknown option", ["list", "--colour"]),
       ("an option of another verb", ["list", "--note", "x"]),
       ("a word too many", ["list", "x"]),
       ("a limit of nothing", ["list", "--limit", "0"]),
       ("an option without its value", ["list", "--limit"]),
       ("show of nothing", ["show"]),
       ("show of an id and a key", ["show", NONE_SUCH, "--key", "k"]),
       ("a scope without a key",
        ["show", NONE_SUCH, "--scope", "A: 1"]),
       ("a scope without a colon", ["show", "--key", "k", "--scope", "A"]),
       ("an id that is none", ["show", "xyz"]),
       ("release of nothing", ["release"]),
       ("ids and a question on one standard input",
        ["delete", "--from-file", "-"]),
       ("an attempt of nothing", ["release", NONE_SUCH, "--attempt", "0"]),
       ("a scope file that is not there",
        ["show", "--key", "k", "--scope-file", "/nowhere/scope"]),
       ("complete without a status", ["complete", NONE_SUCH]),
       ("a status that is none", ["complete", NONE_SUCH, "--status", "99"]),
       ("a header without a colon",
        ["complete", NONE_SUCH, "--status", "200", "--header", "A"])])
def wrong_usage_is_exit_2(bench, args):
    path = os.path.join(bench.folder(), "admin")
    config = bench.config("http://127.0.0.1:9", redis="unix:/nowhere",
                          admin={"listen": "unix:" + path})
    file = bench.file(json.dumps(config).encode())
    done = command("keys", "-c", file, *args)
    equal((done.returncode, done.stdout), (2, ""), done.stderr)
    assert done.stderr.strip()


@test
def help_names_the_verbs(bench):
    for args in (["--help"], ["-h"], ["lost", "--help"]):
        done = command("keys", *args)
        equal(done.returncode, 0)
        for word in ("list", "show", "release", "complete", "delete",
                     "--note", "--scope", "-c", "example:", "exit status"):
            assert word in done.stdout, done.stdout


@each([(verb, verb) for verb in
       ("list", "show", "release", "complete", "delete")])
def a_verb_has_its_own_help_with_an_example(bench, verb):
    done = command("keys", verb, "--help")
    equal((done.returncode, done.stderr), (0, ""))
    example = done.stdout.split("example:\n")[1]
    assert example.startswith(f"  onceproxy keys {verb} "), example
    other = "delete" if verb != "delete" else "release"
    assert other not in done.stdout, done.stdout
    # At least the command line of the example is right.
    words = shlex.split(example.replace("\\\n", " "))[1:]
    done = command(*words, "-c", "/nowhere/x.json")
    equal(done.returncode, 1, done.stderr)


tap.main()
