# SPDX-License-Identifier: BSD-2-Clause
"""The page for people (contract, section 8), in a browser: what it shows of a
gateway, and what an operator does with it by mouse, keyboard and phone."""

import base64
import itertools
import os
import re
import signal

from once import http, tap
from once.browser import BACKSPACE, ENTER, ESCAPE, SPACE, TAB, new_window
from once.demo import source
from once.gateway import is_without, write
from once.messages import Stream
from once.messages import source as message_source
from once.postgres import programs
from once.relays import relay
from once.tap import Skip, each, equal, test
from once.topics import Topic, topic_source
from once.upstream import answer, close_unanswered
from once.wait import eventually

ADMIN = {"listen": "127.0.0.1:0"}


# The result has the focus, and all of it is in the window.
IS_BEFORE_THE_EYES = """
const result = document.querySelector(".result");
const {top, bottom} = result.getBoundingClientRect();
return document.activeElement === result && top >= 0
    && bottom <= innerHeight;"""


# An act goes to the gateway when go() is called.
HOLD = """
const send = fetch;
window.held = [];
window.go = () => held.shift()();
window.fetch = async (path, options) => {
    if (options.method === "POST")
        await new Promise(done => held.push(done));
    return send(path, options);
};"""


class Stage:
    """A gateway, its upstream, and a browser that shows its page."""

    def __init__(self, bench, admin=None, route=None, **members):
        self.upstream = bench.upstream()
        config = bench.config(self.upstream, admin=admin or ADMIN, **members)
        if route:
            config["routes"][0]["name"] = route
        self.gateway = bench.serve(config)
        self.address = self.gateway.ready["admin"]
        self.browser = new_window()

    def open(self):
        self.browser.open(f"http://{self.address}/")

    def look(self):
        self.open()
        self.browser.wait_for("#tiles dd")

    def unknown(self, key="k"):
        """Makes a key UNKNOWN; its key_id."""
        self.upstream.reply = close_unanswered
        got = self.gateway.ask(key)
        equal(got.problem, "outcome-unknown")
        self.upstream.reply = answer()
        return got.json()["instance"].rsplit(":", 1)[-1]

    def stuck(self):
        """Shows an UNKNOWN key on the page; its key_id."""
        key_id = self.unknown()
        self.look()
        self.browser.wait_for(self.row(key_id))
        return key_id

    def send(self, method, target, body=None):
        return http.ask(self.address, http.build(
            method, target, (), body, self.address))

    def record(self, key_id):
        return self.send("GET", "/keys/" + key_id).json()

    def asks_alone_no_more(self, redis, ids):
        """Until somebody asks about one of these, the gateway does not, which
        would have it PROCESSING meanwhile, and not on the list."""
        for name in redis.keys():
            if b":asking:" in name:
                redis("ZADD", name, "XX", "+inf", ids[0], "+inf", ids[1])
        for key_id in ids:
            eventually(lambda k=key_id: self.record(k)["state"] == "UNKNOWN")

    def row(self, key_id, part=""):
        return f"#k{key_id} {part}".strip()

    def name(self, key_id):
        """What the page calls it: its label, or what there is."""
        return self.browser.text(self.row(key_id, ".name"))

    def told(self, words):
        """What came of an act stands before the eyes, has the focus, and was
        said to those who hear the page."""
        self.browser.wait_text(".result", words)
        eventually(lambda: self.browser.run(IS_BEFORE_THE_EYES), "the focus")
        assert words in self.said()

    def said(self):
        return self.browser.run(
            "return document.getElementById('said').textContent")

    def press_until(self, focus):
        """Presses the tab key until this has the focus."""
        for _ in range(40):
            if self.browser.focus() == focus:
                return
            self.browser.press(TAB)
        raise AssertionError(f"{focus!r} is not to be reached")

    def calm(self):
        """The browser logged nothing: no error, no violation of the policy."""
        equal(self.browser.complaints(), [])

    def refused_once(self):
        """The gateway answered 409, and else the browser logged nothing."""
        complaint, = self.browser.complaints()
        assert " 409 " in complaint, complaint


# --- what it shows ----------------------------------------------------------

@test
def an_unknown_key_is_shown_and_released_by_a_click(bench):
    s = Stage(bench)
    key_id = s.stuck()
    row = s.row(key_id)
    shown = s.browser.text(row)
    for words in ("POST /v1/charges", "charges", "attempt 1", "second",
                  "broken"):
        assert words in shown, shown
    shown = s.browser.text("#held .head")
    for words in ("1", "UNKNOWN", "charges", "the answer broke off"):
        assert words in shown, shown
    instance = s.send("GET", "/status").json()["instance"]
    equal(s.browser.run("return document.title;"), f"(1) onceproxy {instance}")
    s.browser.click(s.row(key_id, ".release"))
    dialog = s.browser.text("#release")
    for words in (key_id, "did not happen", "twice"):
        assert words in dialog, dialog
    s.browser.type("#release [name=note]", "not in the ledger")
    s.browser.click("#release .do")
    eventually(lambda: not s.browser.shows(row), "the key is gone")
    s.told(key_id)
    s.browser.click(".result button")
    assert not s.browser.shows(".result")
    equal(s.browser.focus(), "held-title")
    logged = s.gateway.wait_for_log("operator", key_id=key_id)
    equal((logged["act"], logged["note"]), ("release", "not in the ledger"))
    equal(s.upstream.count(), 1)
    equal(s.gateway.ask("k").status, 201)
    equal(s.upstream.count(), 2)
    s.calm()


@test
def a_payment_is_found_by_the_number_of_its_order(bench):
    s = Stage(bench, idempotency={"label": ["/order_id"]})
    s.upstream.reply = close_unanswered
    made = [s.gateway.ask(f"k{i}", body=b'{"order_id": "o<%d>"}' % i,
                          fields=[("X-Request-Id", f"req-{i}")])
            for i in range(3)]
    ids = [got.json()["instance"].rsplit(":", 1)[-1] for got in made]
    s.upstream.reply = answer()
    s.look()
    s.browser.wait_for(s.row(ids[2]))
    for text, one in (("o<1>", ids[1]), ("req-2", ids[2]), (ids[0], ids[0])):
        s.browser.type("#find-text", text)
        s.browser.press(ENTER)
        eventually(lambda: s.browser.shows(s.row(one)) and not any(
            s.browser.shows(s.row(other)) for other in ids if other != one),
            "the others are not shown")
        s.browser.click("#find-end")
        eventually(lambda: all(s.browser.shows(s.row(one)) for one in ids),
                   "all are shown again")
    shown = s.browser.text(s.row(ids[1]))
    for words in ("o<1>", "POST /v1/charges", "req-1"):
        assert words in shown, shown
    s.browser.type("#find-text", "nothing")
    s.browser.press(ENTER)
    s.browser.wait_text("#held-none", "whole label or key_id")
    s.gateway.ask("done", body=b'{"order_id": "o<7>"}')
    s.browser.click("#find-end")
    s.browser.type("#find-text", "o<7>")
    s.browser.press(ENTER)
    s.browser.wait_text("#held", "COMPLETED")
    assert not s.browser.shows("#held .acts")
    s.calm()


@test
def a_damaged_record_is_found_by_its_key_id(bench):
    s = Stage(bench)
    key_id = s.unknown()
    name = next(key for key in bench.redis.keys() if b":r:" in key)
    bench.redis("SETRANGE", name, 0, "?")
    s.look()
    s.browser.type("#find-text", key_id + ENTER)
    s.browser.wait_text(s.row(key_id), "BROKEN")
    assert "is damaged" in s.browser.text(s.row(key_id, ".why"))
    assert not s.browser.shows(s.row(key_id, ".acts"))
    s.browser.click(s.row(key_id, ".name"))
    s.browser.wait_text("#detail", key_id)
    s.calm()


@test
def a_key_is_released_by_keyboard_alone(bench):
    s = Stage(bench)
    key_id = s.stuck()
    s.press_until(f"{s.name(key_id)}: Release…")
    s.browser.press(ENTER)
    equal(s.browser.focus(), "Cancel")
    s.press_until("It did not happen: release")
    s.browser.press(ENTER)
    eventually(lambda: not s.browser.shows(s.row(key_id)), "the key is gone")
    # The focus does not fall back to the top of the page.
    s.told("is released")
    s.press_until("OK")
    s.browser.press(ENTER)
    equal(s.browser.focus(), "held-title")
    equal(s.gateway.ask("k").status, 201)
    equal(s.upstream.count(), 2)
    s.calm()


@test
def complete_gives_every_retry_what_the_form_says(bench):
    s = Stage(bench)
    key_id = s.stuck()
    s.browser.click(s.row(key_id, ".complete"))
    s.browser.click("#complete .do")  # no status: the form is not complete
    equal(s.record(key_id)["state"], "UNKNOWN")
    s.browser.type("#complete [name=status]", "201")
    s.browser.type("#complete [name=headers]", "\nX-Ledger: 4711\nX-More")
    s.browser.type("#complete [name=body]", '{"id":"ch_é"}')
    s.browser.click("#complete .do")
    s.browser.wait_text("#complete .error", "X-More")
    equal(s.record(key_id)["state"], "UNKNOWN")
    s.browser.type("#complete [name=headers]", ": 1")
    s.browser.type("#complete [name=body]", ",")
    s.browser.click("#complete .do")
    s.browser.wait_text("#complete .error", "no JSON")
    s.browser.type("#complete [name=body]", BACKSPACE)
    s.browser.click("#complete .do")
    eventually(lambda: s.record(key_id)["state"] == "COMPLETED")
    for _ in range(2):
        got = s.gateway.ask("k")
        equal((got.status, got.replayed, got.get("Content-Type"),
               got.get("X-Ledger"), got.get("X-More"), got.body),
              (201, True, "application/json", "4711", "1",
               '{"id":"ch_é"}'.encode()))
    equal(s.upstream.count(), 1)


@test
def a_payment_is_completed_without_a_body_only_where_that_is_said(bench):
    s = Stage(bench)
    key_id = s.stuck()
    s.browser.click(s.row(key_id, ".complete"))
    s.browser.type("#complete [name=status]", "201")
    s.browser.click("#complete .do")
    s.browser.wait_text("#complete .error", "empty answer")
    equal(s.record(key_id)["state"], "UNKNOWN")
    s.browser.click("#complete [name=bare]")
    s.browser.type("#complete [name=body]", "{}")
    s.browser.click("#complete .do")
    s.browser.wait_text("#complete .error", "There is a body")
    s.browser.type("#complete [name=body]", BACKSPACE * 2)
    s.browser.click("#complete .do")
    eventually(lambda: s.record(key_id)["state"] == "COMPLETED")
    got = s.gateway.ask("k")
    equal((got.status, got.body, got.get("Content-Type")), (201, b"", None))
    s.calm()


@test
def who_cancels_changes_nothing(bench):
    s = Stage(bench)
    key_id = s.stuck()
    before = s.record(key_id)
    for act in ("release", "complete"):
        for leave in (lambda: s.browser.click(f"#{act} .cancel"),
                      lambda: s.browser.press(ESCAPE)):
            s.browser.click(s.row(key_id, "." + act))
            s.browser.type(f"#{act} [name=note]", "well")
            leave()
            eventually(lambda: not s.browser.shows("#" + act))
            equal(s.browser.focus(),
                  f"{s.name(key_id)}: {act.title()}…")
    # Enter in a field does not decide about a payment either.
    s.browser.click(s.row(key_id, ".complete"))
    s.browser.type("#complete [name=status]", "201" + ENTER)
    equal(s.record(key_id), before)
    equal(s.gateway.find_log("operator"), [])
    s.calm()


@each([("an attempt was made", "POST", "/release", "attempt 2", 2),
       ("it was deleted, and came again", "DELETE", "", "has changed since",
        1)])
def what_changed_while_the_dialog_was_open_is_not_released(
        bench, method, act, words, attempt):
    """The operator has asked nobody about it."""
    s = Stage(bench)
    key_id = s.stuck()
    s.browser.click(s.row(key_id, ".release"))
    equal(s.send(method, f"/keys/{key_id}{act}").status, 200)
    equal(s.unknown(), key_id)
    s.browser.click("#release .do")
    s.browser.wait_text("#release .error", words)
    equal((s.record(key_id)["state"], s.record(key_id)["attempt"]),
          ("UNKNOWN", attempt))


def askable(bench):
    """A page with two unknown keys whose API can be asked, which answers
    known["GET"]; their key_ids."""
    s = Stage(bench, idempotency={"scope": [], "on_unknown": {"reconcile": {
        "path": "/v1/charges/by-key/{key}", "settle": "0s", "absent": [404],
        "headers": {"X-Api": "gateway"}}}}, store={"encryption_keys": [
            {"id": "a", "key": base64.b64encode(32 * b"k").decode()}]})
    known = {"GET": answer(409)}

    def serve(connection, request):
        if request.method == "POST":
            close_unanswered(connection, request)
        else:
            connection.send(known["GET"])
    s.upstream.reply = serve
    ids = [s.gateway.ask(key).json()["instance"].rsplit(":", 1)[-1]
           for key in ("a", "b")]
    s.asks_alone_no_more(bench.redis, ids)
    s.look()
    for key_id in ids:
        s.browser.wait_for(s.row(key_id))
    return s, known, ids


@test
def the_api_is_asked_about_one_and_about_a_selection(bench):
    s, known, ids = askable(bench)
    assert not s.browser.shows("#chosen button")
    s.browser.click(s.row(ids[0], ".ask"))
    s.told("asked: 1 still unknown")
    s.asks_alone_no_more(bench.redis, ids)
    for key_id in ids:
        s.browser.click(s.row(key_id, ".pick"))
    s.browser.wait_text("#chosen", "2 selected")
    known["GET"] = answer(404)
    s.browser.click("#chosen-ask")
    s.told("Asked: 2 free to execute")
    for key_id in ids:
        eventually(lambda: not s.browser.shows(s.row(key_id)), "it is free")
    assert not s.browser.shows("#chosen-release")
    s.calm()


@test
def who_has_enough_asks_no_more(bench):
    s, _, ids = askable(bench)
    for key_id in ids:
        s.browser.click(s.row(key_id, ".pick"))
    s.browser.wait_text("#chosen", "2 selected")
    s.browser.run(HOLD)
    s.browser.click("#chosen-ask")
    eventually(lambda: s.browser.run("return held.length") == 1, "the first")
    s.browser.click(".result .ok")
    s.browser.run("go();")
    s.browser.wait_text("#chosen", "1 selected")
    equal(s.browser.run("return held.length"), 0)
    s.calm()


@test
def what_is_believed_of_a_witness_is_shown(bench):
    if programs() is None or is_without("postgres"):
        return
    database = bench.postgres()
    database("CREATE TABLE onceproxy_witness (key_id text, attempt integer, "
             "verdict text NOT NULL DEFAULT 'done', status integer, "
             "headers jsonb, body bytea, at timestamptz NOT NULL DEFAULT "
             "now(), PRIMARY KEY (key_id, attempt))")
    s = Stage(bench, idempotency={"on_unknown": {"witness": {
        "broker": "ledger", "table": "onceproxy_witness"}}},
              brokers={"ledger": {"postgres": database.url}}, workers=1)
    s.look()
    s.browser.wait_text("#wcharges", "unproven")
    for words in ("charges", "ledger, onceproxy_witness", "Nobody has seen"):
        assert words in s.browser.text("#wcharges"), words
    assert not s.browser.shows("#wcharges .trust")
    # A 2xx had no row that was sent when the witness was known.
    tries = itertools.count()
    eventually(lambda: s.gateway.ask(f"k{next(tries)}").status == 201 and
               s.gateway.find_log("witness_absent"), "it is seen")
    s.browser.wait_text("#wcharges", "absent")
    s.browser.click("#wcharges .trust")
    assert "until it is resolved by hand" in s.browser.text("#trust")
    s.browser.click("#trust .do")
    s.browser.wait_text("#trust .error", "in the note")
    s.browser.type("#trust [name=note]", "taken back")
    s.browser.click("#trust .do")
    s.told("may be believed again")
    equal(s.gateway.wait_for_log("witness_trusted")["note"], "taken back")
    eventually(lambda: not s.browser.shows("#wcharges .trust"), "it is over")
    s.calm()


@test
def the_focus_stays_while_others_resolve_keys(bench):
    s = Stage(bench)
    first, second = s.unknown("a"), s.unknown("b")
    s.look()
    s.browser.wait_for(s.row(second))
    s.browser.run("document.querySelector(arguments[0]).focus();",
                  s.row(second, ".release"))
    equal(s.send("POST", f"/keys/{first}/release").status, 200)
    eventually(lambda: not s.browser.shows(s.row(first)), "the key is gone")
    assert s.browser.run("return document.activeElement ==="
                         " document.querySelector(arguments[0]);",
                         s.row(second, ".release"))


@test
def a_long_list_is_shown_when_it_is_asked_for(bench):
    s = Stage(bench)
    for n in range(52):
        s.unknown(f"k{n}")
    s.look()
    s.browser.wait_text("#held .fold", "52")
    rows = "return document.querySelectorAll('#held li li').length"
    equal(s.browser.run(rows), 0)
    s.browser.click("#held .fold")
    eventually(lambda: s.browser.run(rows) == 50, "50 keys")
    s.browser.click("#held .more")
    eventually(lambda: s.browser.run(rows) == 52, "52 keys")
    equal(s.browser.run("return number(1234)"), "1,234")
    assert not s.browser.shows("#held .more")


@test
def the_chart_and_the_latencies_follow_the_traffic(bench):
    s = Stage(bench)
    s.look()
    equal(s.browser.run(
        "return document.querySelectorAll('#chart rect').length"), 0)
    hold = s.upstream.hold()
    first = bench.background(s.gateway.ask, "a")
    hold.wait_arrived()
    s.browser.wait_text("#flying", "PROCESSING")
    assert not s.browser.shows("#flying .acts")
    hold.release()
    equal(first.result().status, 201)
    for key in ("a", "b", "c", "a"):
        s.gateway.ask(key)
    eventually(lambda: s.browser.text("#legend").split("\n")[:4] ==
               ["Executed", "3", "Replayed", "2"], "the legend")
    for kind in ("executed", "replayed"):
        assert s.browser.run(
            "return document.querySelector('rect.' + arguments[0])"
            ".getBoundingClientRect().height", kind) > 1
    s.browser.wait_text("#latency", "Requests 5")
    s.browser.click("#latency-none ~ details summary")
    s.browser.wait_text("#each", "charges 5")
    s.browser.wait_text("#each-title", "Since you opened this page")
    s.calm()


@test
def a_redis_that_is_down_and_a_gateway_that_is_gone_are_seen(bench):
    redis = bench.own_redis()
    s = Stage(bench, redis=redis)
    s.look()
    s.browser.wait_text("#ready", "Ready")
    redis.kill()
    s.browser.wait_text("#ready", "Not ready: store")
    s.browser.wait_text("#tiles", "Down")
    s.browser.wait_text("#held-old", "What is shown was told at")
    for part in ("#held-none", "#flying-none"):
        assert not s.browser.shows(part), part
    s.look()
    s.browser.wait_text("#held-old", "nobody can tell")
    for part in ("#held-none", "#flying-none"):
        assert not s.browser.shows(part), part
    s.browser.wait_text("#flying-more", "Not known")
    assert s.browser.run("return document.title;").startswith("(?) onceproxy")
    redis.start()
    eventually(lambda: s.browser.text("#ready") == "Ready", "ready again")
    assert not s.browser.shows("#held-old")
    s.gateway.stop()
    s.browser.wait_text("#ready", "No answer")
    s.browser.wait_text("#trouble", "is out of date")
    eventually(lambda: "bad" in s.browser.run(
        "return document.getElementById('updated').className"), "it is old")


@test
def a_file_that_was_refused_is_shown_until_one_is_loaded(bench):
    s = Stage(bench)
    s.look()
    assert not s.browser.shows("#refused")
    write(s.gateway.file, {**s.gateway.config, "colour": 1})
    s.gateway.signal(signal.SIGHUP)
    s.browser.wait_text("#refused", "/colour")
    write(s.gateway.file, s.gateway.config)
    s.gateway.signal(signal.SIGHUP)
    eventually(lambda: not s.browser.shows("#refused"), "loaded again")
    s.calm()


@test
def what_waits_for_a_restart_is_shown(bench):
    s = Stage(bench)
    s.look()
    assert not s.browser.shows("#restart")
    write(s.gateway.file, {**s.gateway.config, "cache": {"size": 0}})
    s.gateway.signal(signal.SIGHUP)
    s.browser.wait_text("#restart", "/cache/size")
    write(s.gateway.file, s.gateway.config)
    s.gateway.signal(signal.SIGHUP)
    eventually(lambda: not s.browser.shows("#restart"), "as it was")
    s.calm()


@test
def names_are_text_and_no_markup(bench):
    name = "<img src=x onerror=\"document.title='broken'\"><b>&amp;"
    s = Stage(bench, route=name)
    key_id = s.unknown()
    s.look()
    s.browser.wait_text("#held .route", name)
    s.browser.wait_text(s.row(key_id, ".why"), name)
    equal(s.browser.run("return document.querySelectorAll('img').length"), 0)
    s.calm()


# --- what stands first ------------------------------------------------------

@test
def the_number_of_the_order_leads_and_the_id_comes_last(bench):
    s = Stage(bench, idempotency={"label": ["/order"]})
    s.upstream.reply = close_unanswered
    got = s.gateway.ask("k", body=b'{"order": "order-9001"}')
    key_id = got.json()["instance"].rsplit(":", 1)[-1]
    s.look()
    s.browser.wait_for(s.row(key_id))
    row = s.row(key_id)
    for shown in (s.browser.text(row),
                  s.browser.run("return document.querySelector(arguments[0])"
                                ".textContent.trim()", row)):
        places = [shown.index(words) for words in (
            "order-9001", " ago, ", "broken", "POST /v1/charges", key_id)]
        equal(places, sorted(places))
        equal(places[0], 0)
    named = s.browser.run(
        "return [...document.querySelectorAll(arguments[0])].map(e =>"
        "e.getAttribute('aria-label'));", row + " :is(.acts, .id) button")
    equal({name.split(": ")[0] for name in named}, {"order-9001"})
    s.browser.click(row + " .release")
    shown = s.browser.text("#release")
    assert shown.startswith("order-9001: release"), shown
    assert shown.index("broken") < shown.index(key_id), shown
    s.browser.click("#release .do")
    s.told("order-9001 is released")
    s.calm()


@test
def an_id_is_copied_by_a_button(bench):
    s = Stage(bench)
    key_id = s.stuck()
    for name in ("clipboard-read", "clipboard-write"):
        s.browser.command("POST", "permissions", {
            "descriptor": {"name": name}, "state": "granted"})
    s.browser.click(s.row(key_id, ".copy"))
    # It stands on the button for two seconds, and is said to those who hear.
    eventually(lambda: s.said() == "Copied", "it is copied")
    equal(s.browser.run("return navigator.clipboard.readText();"), key_id)
    s.browser.wait_text(s.row(key_id, ".copy"), "Copy")
    s.calm()


@test
def a_key_is_shown_with_its_history_and_its_answer(bench):
    s = Stage(bench, idempotency={"label": ["/order"]})
    s.upstream.reply = close_unanswered
    got = s.gateway.ask("k", body=b'{"order": "o-7"}')
    key_id = got.json()["instance"].rsplit(":", 1)[-1]
    s.send("POST", f"/keys/{key_id}/complete", b'{"status": 201, "headers":'
           b' {"X-Ledger": "4711"}, "body": "<b>paid", "note": "seen"}')
    s.look()
    s.browser.type("#find-text", "o-7" + ENTER)
    s.browser.wait_text("#held", "COMPLETED")
    s.browser.click(s.row(key_id, ".name"))
    s.browser.wait_text("#detail", "o-7")
    equal(s.browser.focus(), "detail-title")
    shown = s.browser.text("#detail")
    for words in ("POST /v1/charges", "Attempt", "Created", key_id,
                  "completed", ": seen", "Status 201", "X-Ledger: 4711",
                  "<b>paid"):
        assert words in shown, shown
    s.browser.press(ESCAPE)
    equal(s.browser.focus(), "o-7")
    s.calm()


@test
def cards_lead_to_their_lists(bench):
    s = Stage(bench)
    s.stuck()
    for name, words in (("Unknown", "held-title"), ("Failed", "held-title"),
                        ("In flight", "flying-title")):
        s.browser.run("document.getElementById(arguments[0])"
                      ".querySelector('a').focus();", "tile-" + name)
        s.browser.press(ENTER)
        equal(s.browser.focus(), words)
        top, bottom = s.browser.run(
            "const box = document.activeElement.getBoundingClientRect();"
            "return [box.top, box.bottom - innerHeight];")
        assert top >= 0 >= bottom, (top, bottom)
    s.calm()


@test
def it_says_which_gateway_it_is_and_how_old_what_it_shows_is(bench):
    s = Stage(bench)
    s.look()
    status = s.send("GET", "/status").json()
    shown = s.browser.text("#place")
    for words in (status["instance"], status["store"]["redis"],
                  status["store"]["prefix"]):
        assert words in shown, shown
    s.browser.wait_text("#updated", "updated 1 s ago")
    s.browser.wait_text("#updated", "updated 0 s ago")


# --- the last hour ----------------------------------------------------------

@test
def the_last_hour_is_there_when_the_page_is_opened(bench):
    s = Stage(bench)
    for key in ("a", "b", "a"):
        equal(s.gateway.ask(key).status, 201)
    s.unknown()
    s.look()
    eventually(lambda: s.browser.text("#legend").split("\n") == [
        "Executed", "2", "Replayed", "1", "Passed", "0",
        "Refused", "0", "Failed", "0", "Unknown", "1"], "the legend")
    for kind in ("#chart .executed", "#chart .unknown", "#times .body"):
        assert s.browser.run("return document.querySelector(arguments[0])"
                             ".getBoundingClientRect().height", kind) > 1
    rows = s.browser.run("return [...document.querySelectorAll('#latency th')"
                         "].map(e => e.textContent);")
    equal(rows, ["Requests", "Upstreams", "Redis"])
    s.browser.wait_text("#latency", "Requests 4")
    equal(s.browser.run("return document.querySelectorAll('.clock')[0]"
                        ".children.length;"), 5)
    s.calm()


# --- many of them -----------------------------------------------------------

def many(s, count):
    """That many unknown keys on each of two routes; their key_ids."""
    s.upstream.reply = close_unanswered
    made = [s.gateway.ask(f"{name}{n}", target=path,
                          body=b'{"order": "%s-%d"}' % (name.encode(), n))
            for path, name in (("/v1/charges", "c"), ("/v1/refunds", "r"))
            for n in range(count)]
    s.upstream.reply = answer()
    return [got.json()["instance"].rsplit(":", 1)[-1] for got in made]


class ManyStage(Stage):
    """Eight unknown keys on each of two routes, on the page."""

    def __init__(self, bench):
        self.upstream = bench.upstream()
        config = bench.config(self.upstream, admin=ADMIN,
                              idempotency={"label": ["/order"]})
        config["routes"].insert(0, {**config["routes"][0], "name": "refunds",
                                    "path": "/v1/refunds"})
        self.gateway = bench.serve(config)
        self.address = self.gateway.ready["admin"]
        self.browser = new_window()
        self.ids = many(self, 8)
        self.look()
        self.browser.wait_for(self.group("refunds"))

    @staticmethod
    def group(route, part=""):
        return f"[id='g-UNKNOWN-{route}-broken'] {part}".strip()

    def states(self):
        return [self.record(key_id)["state"] for key_id in self.ids]


@test
def many_are_folded_by_reason_and_route_and_released_together(bench):
    s = ManyStage(bench)
    shown = s.browser.text(s.group("refunds"))
    for words in ("8", "UNKNOWN", "refunds", "the answer broke off",
                  "oldest"):
        assert words in shown, shown
    assert not s.browser.shows(s.row(s.ids[8]))
    s.browser.click(s.group("refunds", ".all"))
    s.browser.wait_text("#chosen", "8 selected")
    assert not s.browser.shows("#chosen-ask")
    s.browser.click(s.group("refunds", ".fold"))
    s.browser.wait_for(s.row(s.ids[8]))
    s.browser.click(s.row(s.ids[8], ".pick"))
    s.browser.wait_text("#chosen", "7 selected")
    s.browser.click(s.group("refunds", ".fold"))
    # Another one was executed again since.
    equal(s.send("POST", f"/keys/{s.ids[9]}/release").status, 200)
    s.upstream.reply = close_unanswered
    s.gateway.ask("r1", target="/v1/refunds", body=b'{"order": "r-1"}')
    s.upstream.reply = answer()
    s.browser.click("#chosen-release")
    shown = s.browser.text("#release")
    for words in ("7 selected", "r-1; r-2", "and 2 more"):
        assert words in shown, shown
    s.browser.click("#release .do")  # nobody says that each was looked up
    equal(s.states(), ["UNKNOWN"] * 16)
    s.browser.click("#release [name=sure]")
    s.browser.type("#release [name=note]", "none is there")
    s.browser.click("#release .do")
    s.told("6 of 7 selected: released")
    s.told("r-1: The record is now UNKNOWN at attempt 2")
    equal(s.states(), ["UNKNOWN"] * 10 + ["RELEASED"] * 6)
    equal(s.gateway.find_log("operator")[-1]["note"], "none is there")
    assert not s.browser.shows("#chosen-release")
    s.refused_once()


@test
def what_was_found_and_released_is_not_selected_any_more(bench):
    s = ManyStage(bench)
    s.browser.type("#find-text", "r-" + ENTER)
    s.browser.wait_for(s.row(s.ids[11]))
    s.browser.click(s.row(s.ids[11], ".pick"))
    s.browser.wait_text("#chosen", "1 selected")
    s.browser.click("#chosen-release")
    s.browser.click("#release .do")
    s.told("is released")
    eventually(lambda: not s.browser.shows("#chosen-release"), "it is done")
    assert s.browser.shows("#chosen")
    equal(s.states(), ["UNKNOWN"] * 11 + ["RELEASED"] + ["UNKNOWN"] * 4)
    s.calm()


@test
def a_group_is_completed_with_one_status_by_keyboard_alone(bench):
    s = ManyStage(bench)
    s.press_until("select all 8 of refunds, broken: the answer broke off")
    s.browser.press(SPACE)
    s.browser.wait_text("#chosen", "8 selected")
    s.press_until("chosen-complete")
    s.browser.press(ENTER)
    s.browser.press(*"204", TAB, TAB, TAB, TAB, SPACE)
    s.press_until("It happened: complete")
    s.browser.press(ENTER)
    s.told("8 of 8 selected: completed")
    equal(s.states(), ["UNKNOWN"] * 8 + ["COMPLETED"] * 8)
    eventually(lambda: not s.browser.shows(s.group("refunds")), "it is gone")
    got = s.gateway.ask("r3", target="/v1/refunds", body=b'{"order": "r-3"}')
    equal((got.status, got.replayed), (204, True))
    s.calm()


@test
def what_was_cancelled_does_not_go_on_in_the_next_dialog(bench):
    s = ManyStage(bench)
    s.browser.run(HOLD)
    s.browser.click(s.group("charges", ".all"))
    s.browser.wait_text("#chosen", "8 selected")
    s.browser.click("#chosen-release")
    s.browser.click("#release [name=sure]")
    s.browser.click("#release .do")
    eventually(lambda: s.browser.run("return held.length") == 1, "the first")
    s.browser.click("#release .cancel")
    eventually(lambda: not s.browser.shows("#release"))
    s.browser.click("#chosen-release")
    s.browser.wait_for("#release")
    s.browser.run("go();")
    s.browser.wait_text(".result", "1 of 8 selected: released")
    assert s.browser.shows("#release")
    equal(s.browser.run("return held.length"), 0)
    equal(sorted(s.states()), ["RELEASED"] + ["UNKNOWN"] * 15)
    s.calm()


@test
def a_refusal_is_told_though_the_dialog_was_closed_before(bench):
    s = Stage(bench)
    key_id = s.stuck()
    s.browser.run(HOLD)
    s.browser.click(s.row(key_id, ".release"))
    s.browser.click("#release .do")
    eventually(lambda: s.browser.run("return held.length") == 1, "it is sent")
    s.browser.click("#release .cancel")
    equal(s.send("POST", f"/keys/{key_id}/release").status, 200)
    equal(s.unknown(), key_id)
    s.browser.run("go();")
    s.told("attempt 2")
    s.refused_once()


# --- the token --------------------------------------------------------------

@test
def the_page_asks_for_the_token_and_keeps_it_in_its_tab(bench):
    s = Stage(bench, admin={"listen": "127.0.0.1:0", "token": "s3cret"})
    key_id = s.unknown()
    s.open()
    s.browser.wait_for("#login")
    assert not s.browser.shows("#board")
    s.browser.type("#token", "wrong" + ENTER)
    s.browser.wait_text("#login-error", "not the token")
    s.browser.type("#token", "s3cret" + ENTER)
    s.browser.wait_for(s.row(key_id))
    s.browser.click(s.row(key_id, ".release"))
    s.browser.click("#release .do")
    eventually(lambda: not s.browser.shows(s.row(key_id)), "the key is gone")
    equal(s.browser.run("return [localStorage.length, document.cookie]"),
          [0, ""])
    s.open()
    s.browser.wait_for("#board")
    s.browser.click("#forget")
    s.browser.wait_for("#login")
    equal(s.browser.run("return sessionStorage.length"), 0)
    policy = [c for c in s.browser.complaints() if "status of 401" not in c]
    equal(policy, [])


@test
def who_acts_is_shown_and_who_may_only_look_has_no_buttons(bench):
    s = Stage(bench, admin={"listen": "127.0.0.1:0", "tokens": {
        "alice": "alices", "carol": {"token": "carols", "read_only": True}}})
    key_id = s.unknown()
    s.open()
    s.browser.wait_for("#login")
    s.browser.type("#token", "carols" + ENTER)
    s.browser.wait_for(s.row(key_id))
    s.browser.wait_text("#you", "carol, who may only look")
    for part in (s.row(key_id, ".release"), s.row(key_id, ".pick"), "#chosen"):
        assert not s.browser.shows(part), part
    s.browser.click("#forget")
    s.browser.type("#token", "alices" + ENTER)
    s.browser.wait_for(s.row(key_id))
    s.browser.wait_text("#you", "alice")
    s.browser.click(s.row(key_id, ".release"))
    s.browser.type("#release [name=note]", "not there")
    s.browser.click("#release .do")
    eventually(lambda: not s.browser.shows(s.row(key_id)), "the key is gone")
    s.upstream.reply = close_unanswered
    equal(s.gateway.ask("k").problem, "outcome-unknown")
    s.browser.wait_text(s.row(key_id, ".past"), ", by alice: not there")


# --- any window, any light --------------------------------------------------

# Elements whose box ends to the right of the window.
BEYOND = """
return [...document.querySelectorAll("*")].filter(e => e.checkVisibility()
    && e.getBoundingClientRect().right > innerWidth + 0.5)
    .map(e => e.outerHTML.slice(0, 80))
    .concat(document.documentElement.scrollWidth > innerWidth
        ? ["the document"] : []);"""


def lightness(browser):
    """Of the background and of the text, 0 to 255."""
    return [sum(int(n) for n in re.findall(r"\d+", colour)[:3]) / 3
            for colour in browser.run(
                "const s = getComputedStyle(document.documentElement);"
                "return [s.backgroundColor, s.color];")]


@test
def a_phone_is_wide_enough(bench):
    s = Stage(bench, route="a_route_whose_name_is_" + "long_" * 12)
    key_id = s.unknown()
    for key in "abc":
        s.gateway.ask(key)
    s.browser.size(360, 740)
    s.look()
    s.browser.wait_for(s.row(key_id))
    s.browser.click("summary")
    equal(s.browser.run(BEYOND), [])
    for act in ("release", "complete"):
        s.browser.click(s.row(key_id, "." + act))
        equal(s.browser.run(BEYOND), [])
        s.browser.press(ESCAPE)


@test
def on_a_phone_a_field_and_its_button_are_one_line(bench):
    s = Stage(bench)
    s.browser.size(360, 740)
    s.look()
    field, button = s.browser.run(
        "return ['#find-text', '#find button'].map(name => {"
        "const box = document.querySelector(name).getBoundingClientRect();"
        "return [box.top, box.bottom, box.right, box.left]; });")
    assert field[0] < button[1] <= field[1] + 1, (field, button)
    assert field[2] < button[3], (field, button)
    equal(s.browser.run(BEYOND), [])


@test
def retries_that_wait_are_said_in_words(bench):
    s = Stage(bench, idempotency={"in_flight": "wait", "wait_timeout": "60s"})
    hold = s.upstream.hold()
    asked = [bench.background(s.gateway.ask, "k")]
    hold.wait_arrived()
    s.look()
    s.browser.wait_text("#tiles", "no retry waits for its first request")
    for words in ("1 retry waits for its first request",
                  "2 retries wait for their first request"):
        asked.append(bench.background(s.gateway.ask, "k"))
        s.browser.wait_text("#tiles", words)
    hold.release()
    equal([one.result().status for one in asked], [201] * 3)


@test
def it_is_dark_where_the_user_is_in_the_dark(bench):
    s = Stage(bench)
    s.look()
    ground, text = lightness(s.browser)
    assert ground > 200 and text < 80, (ground, text)
    s.browser.dark(True)
    ground, text = lightness(s.browser)
    assert ground < 60 and text > 180, (ground, text)
    s.calm()


# --- who does not see it ----------------------------------------------------

# What is read as a button's name has the words that are seen on it.
MISNAMED = r"""
const plain = text => text.replace(/[^\w ]/g, "").trim().toLowerCase();
return [...document.querySelectorAll("[aria-label]:is(a, button)")].filter(
    e => e.checkVisibility() && !plain(e.getAttribute("aria-label")).includes(
        plain(e.textContent))).map(e => e.outerHTML.slice(0, 120));"""
AXE = os.path.join(os.environ.get("NODE_PATH", ""), "axe-core/axe.min.js")
AXE_RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(({violations}) =>
    done(violations.map(v => [v.id, ...v.nodes.map(n => n.html)])),
    trouble => done([String(trouble)]));"""


def judge(browser, axe):
    """No name of a button is another one than is seen, nothing is wider than
    the window, and axe finds nothing."""
    equal(browser.run(MISNAMED), [])
    equal(browser.run(BEYOND), [])
    if axe:
        browser.run(axe + "; return 0;")
        equal(browser.command("POST", "execute/async",
                              {"script": AXE_RUN, "args": []}), [])


@test
def nothing_is_found_by_axe_at_any_width_in_any_light(bench):
    axe = None
    if os.path.exists(AXE):
        with open(AXE, encoding="utf-8") as text:
            axe = text.read()
    s = ManyStage(bench)
    s.browser.click(s.group("refunds", ".fold"))
    s.browser.wait_for(s.row(s.ids[8]))
    s.browser.click(s.group("charges", ".all"))
    s.browser.wait_for("#chosen-release")
    for width, dark in itertools.product((1280, 390), (False, True)):
        s.browser.size(width, 800)
        s.browser.dark(dark)
        judge(s.browser, axe)
        for button, dialog in (("#chosen-release", "#release"),
                               (s.row(s.ids[8], ".complete"), "#complete"),
                               (s.row(s.ids[8], ".name"), "#detail")):
            s.browser.click(button)
            s.browser.wait_for(dialog)
            judge(s.browser, axe)
            s.browser.press(ESCAPE)
    if axe is None:
        raise Skip("no npm package axe-core (contrib/check --all)")


# --- routes that only observe -------------------------------------------------

@test
def what_a_route_would_have_done_is_shown_and_stays(bench):
    s = Stage(bench)
    s.look()
    assert not s.browser.shows("#observed-card")
    config = s.gateway.config

    def reload(mode):
        since = len(s.gateway.events)
        config["routes"][0]["mode"] = mode
        write(s.gateway.file, config)
        s.gateway.signal(signal.SIGHUP)
        s.gateway.wait_for_log("reloaded", since)

    reload("observe")
    s.browser.wait_text("#o-charges", "No requests yet")
    equal(s.gateway.ask("k").status, 201)
    s.browser.wait_text("#o-charges", "1 executed")
    # What Redis is told of an answer may come there after it.
    eventually(lambda: all(
        bench.redis("GETRANGE", name, 0, 0) != b"P"
        for name in bench.redis.keys() if b":o:" in name))
    equal(s.gateway.ask("k").status, 201)
    s.browser.wait_text("#o-charges", "1 given the first one's answer")
    shown = s.browser.text("#o-charges")
    for words in ("observes", "charges", "1 executed"):
        assert words in shown, shown
    s.browser.click("#again-title")
    first, second = (r.get("X-Request-Id") for r in s.upstream.requests)
    s.browser.wait_text("#again", f"request {second} has the key of {first}")
    reload("enforce")
    s.browser.wait_text("#o-charges", "it does not observe any more")
    s.browser.wait_text("#o-charges", "1 given the first one's answer")
    s.calm()


# --- what it knows ----------------------------------------------------------

@each([("outcome", "chart.js", "outcomes", r'OUTCOME\(\w+, "([^"]+)",'),
       ("reason", "keys.js", "reasons", r'REASON\(\w+, \'.\', "([^"]+)",'),
       ("outcome that was observed", "observed.js", "observed",
        r'OBSERVED\(\w+, "([^"]+)",'),
       ("reason of a dead letter", "sources.js", "message_outcomes",
        r'MESSAGE_REASON\(\w+, "([^"]+)"\)')])
def it_knows_every(bench, file, table, pattern):
    with open(source(f"src/tbl/{table}.h"), encoding="utf-8") as text:
        words = re.findall(pattern, text.read())
    with open(source(f"src/operators/admin/page/{file}"),
              encoding="utf-8") as text:
        page = text.read()
    assert words
    equal([w for w in words if f'"{w}"' not in page], [])


# --- sources and their messages ---------------------------------------------

class SourceStage(Stage):
    """A gateway that reads a stream, and a browser that shows its page."""

    def __init__(self, bench, script=close_unanswered, route=None,
                 **members):
        self.upstream = bench.upstream(script)
        self.stream = Stream(bench.own_redis())
        config = bench.config(self.upstream, route, admin=ADMIN)
        message_source(config, self.stream, **members)
        self.gateway = bench.serve(config)
        self.address = self.gateway.ready["admin"]
        self.browser = new_window()

    def messages(self):
        return self.send("GET", "/messages").json()["messages"]

    def held(self):
        """Shows a held message on the page."""
        self.stream.add(body=b"{}", idempotency_key="k")
        eventually(lambda: len(self.messages()) == 1, "it is held")
        message, = self.messages()
        self.look()
        self.browser.wait_for(self.row(message["key_id"], ".drop"))
        return message

    def letters(self):
        return self.send("GET", "/messages?source=charges&state=dead"
                         "&state=parked").json()["messages"]

    def show_letters(self, count):
        """Shows that many dead letters on the page."""
        eventually(lambda: len(self.letters()) == count, "they are dead")
        letters = self.letters()
        self.look()
        self.browser.wait_for("#scharges .letters")
        assert not self.browser.shows("#letters-part")
        self.browser.click("#scharges .letters")
        for letter in letters:
            self.browser.wait_for("#d" + letter["id"])
        return letters


@test
def without_sources_nothing_of_them_is_shown(bench):
    s = Stage(bench)
    s.look()
    assert not s.browser.shows("#sources-card")
    assert not s.browser.shows("#relays-card")
    s.calm()


class RelayStage(Stage):
    """A gateway with a relay, and a browser that shows its page."""

    def __init__(self, bench):
        self.upstream = bench.upstream()
        config = relay(bench.config(self.upstream, admin=ADMIN),
                       bench.postgres())
        self.gateway = bench.serve(config)
        self.address = self.gateway.ready["admin"]
        self.browser = new_window()

    def is_paused(self):
        found, = self.send("GET", "/relays").json()["relays"]
        return bool(found["paused"])


@test
def a_relay_is_shown_paused_and_resumed(bench):
    if programs() is None or is_without("postgres"):
        return
    s = RelayStage(bench)
    s.gateway.wait_for_log("relay_up")
    s.look()
    s.browser.wait_text("#rledger", "delivering")
    assert "postgres shop ledger" in s.browser.text("#rledger")
    s.browser.click("#rledger .pause")
    assert "store.events.maxlen" in s.browser.text("#pause")
    s.browser.type("#pause [name=note]", "a move")
    s.browser.click("#pause .do")
    s.told("ledger is paused")
    assert s.is_paused()
    s.browser.wait_text("#rledger", "a move")
    s.browser.click("#rledger .resume")
    s.browser.click("#resume .do")
    s.told("ledger is resumed")
    assert not s.is_paused()
    s.calm()


@test
def a_held_message_and_its_key_are_one_row(bench):
    s = SourceStage(bench)
    message = s.held()
    s.browser.wait_text("#scharges", "1 held")
    shown = s.browser.text("#scharges")
    for words in ("running", "redis queue, charges"):
        assert words in shown, shown
    row = s.row(message["key_id"])
    shown = s.browser.text(row)
    for words in ("A message of charges", message["position"], "attempt 1",
                  message["key_id"]):
        assert words in shown, shown
    assert not s.browser.shows("#m" + message["id"])
    s.browser.wait_text("#messages-held", "1 held, with its key")
    s.browser.click(row + " .drop")
    dialog = s.browser.text("#drop")
    for words in (message["position"], "for good", "record"):
        assert words in dialog, dialog
    s.browser.type("#drop [name=note]", "sent twice")
    s.browser.click("#drop .do")
    s.told(message["position"])
    eventually(lambda: not s.browser.shows(row + " .drop"), "it is gone")
    assert s.browser.shows(row), "its key is as it was"
    equal(s.gateway.wait_for_log("operator_message")["note"], "sent twice")
    equal(s.stream.pending(), [])
    s.calm()


@test
def a_dead_letter_is_replayed_once_its_key_is_resolved(bench):
    def script(connection, request):
        if s.upstream.count() == 1:
            close_unanswered(connection, request)
        else:
            connection.send(answer())
    s = SourceStage(bench, lambda *both: script(*both), hold="1s")
    s.stream.add(body=b"{}", idempotency_key="k")
    letter, = s.show_letters(1)
    row = "#d" + letter["id"]
    shown = s.browser.text(row)
    for words in ("unknown", "charges", "attempt 1", "nobody knows",
                  letter["key_id"]):
        assert words in shown, shown
    s.browser.click(row + " .replay")
    dialog = s.browser.text("#replay")
    for words in (letter["position"], "same key", "resolve its key"):
        assert words in dialog, dialog
    s.browser.type("#replay [name=note]", "mended")
    s.browser.click("#replay .do")
    s.browser.wait_text("#replay .error", "complete or release its key first")
    equal(s.upstream.count(), 1)
    s.send("POST", f"/keys/{letter['key_id']}/release", b"{}")
    s.browser.click("#replay .do")
    eventually(lambda: not s.browser.shows(row), "it is no dead letter")
    s.told(letter["position"])
    equal(s.gateway.wait_for_log("operator_replay")["note"], "mended")
    s.gateway.wait_for_log("message", outcome="executed")
    equal(s.upstream.count(), 2)
    s.browser.wait_text("#letters-none", "None")
    s.browser.click("#letters-end")
    assert not s.browser.shows("#letters-part")
    s.refused_once()


@test
def a_mismatch_is_shown_with_its_order_and_what_to_do(bench):
    s = SourceStage(bench, lambda connection, request: connection.send(
        answer()), route={"label": ["/order"]})
    for number in (1, 2):
        s.stream.add(body=b'{"order": "A-7", "n": %d}' % number,
                     idempotency_key="k")
    letter, = s.show_letters(1)
    row = "#d" + letter["id"]
    shown = s.browser.text(row)
    for words in ("mismatch", "A-7", letter["key_id"], "body or header. Ask",
                  "drop the other",
                  "under another key"):
        assert words in shown, shown
    s.calm()


@test
def a_dead_letter_is_dropped_and_what_is_behind_it_comes_back(bench):
    def script(connection, request):
        bad = request.get("Idempotency-Key") == "k0"
        connection.send(answer(422 if bad else 201))
    s = SourceStage(bench, script, order_by=["/lane"])
    for n in range(2):
        s.stream.add(body=b'{"lane":1}', idempotency_key=f"k{n}")
    first, behind = s.show_letters(2)
    assert "refused" in s.browser.text("#d" + first["id"])
    row = "#d" + behind["id"]
    assert "the first of its order" in s.browser.text(row)
    s.browser.click(row + " .replay")
    s.browser.click("#replay .do")
    s.browser.wait_text("#replay .error", "replay or drop the first one")
    s.browser.click("#replay .cancel")
    s.browser.click("#d" + first["id"] + " .drop")
    s.browser.type("#drop [name=note]", "sent by hand")
    s.browser.click("#drop .do")
    eventually(lambda: not s.browser.shows(row), "it is no dead letter")
    equal(s.gateway.wait_for_log("operator_message")["note"], "sent by hand")
    eventually(lambda: s.letters() == [], "none is left")
    s.gateway.wait_for_log("message", outcome="executed")
    equal(s.upstream.count(key="k1"), 1)
    s.refused_once()


@test
def dead_letters_are_led_to(bench):
    s = SourceStage(bench, lambda connection, request:
                    connection.send(answer(422)))
    s.stream.add(body=b"{}", idempotency_key="k")
    letter, = s.show_letters(1)
    equal(s.browser.text("#scharges .letters"), "1 dead letter")
    eventually(lambda: s.browser.focus() == "letters-title", "the focus")
    top, bottom = s.browser.run(
        "const box = document.activeElement.getBoundingClientRect();"
        "return [box.top, box.bottom - innerHeight];")
    assert top >= 0 >= bottom, (top, bottom)
    s.browser.wait_text("[id='tile-Dead letters']", "1")
    assert s.browser.run("return document.title;").startswith("(1) ")
    s.browser.click(f"#d{letter['id']} .name")
    s.browser.wait_text("#detail", "the API refused it")
    s.browser.press(ESCAPE)
    s.browser.click("#letters-end")
    equal(s.browser.focus(), "charges: 1 dead letter")
    s.calm()


@test
def dead_letters_that_nobody_can_count_are_not_said_to_be_none(bench):
    s = SourceStage(bench)
    s.gateway.stop()
    redis = bench.own_redis()
    redis.kill()
    s.gateway = bench.serve({**s.gateway.config, "store": {
        "redis": redis.url}})
    s.address = s.gateway.ready["admin"]
    s.look()
    s.browser.wait_text("#scharges", "dead letters not known")
    equal(s.browser.text("[id='tile-Dead letters'] dd"), "?")


@test
def dead_letters_are_restored_where_redis_was_lost(bench):
    s = SourceStage(bench, lambda connection, request:
                    connection.send(answer(422)))
    s.stream.add(body=b"{}", idempotency_key="k")
    letter, = s.show_letters(1)
    assert not s.browser.shows("#scharges .restore")
    assert not s.browser.shows("#scharges .prove")
    s.gateway.stop()
    s.gateway = bench.serve({**s.gateway.config, "store": {
        "redis": bench.own_redis().url}})
    s.address = s.gateway.ready["admin"]
    s.gateway.wait_for_log("source_stands", reason="unproven")
    s.look()
    s.browser.wait_for("#scharges .restore")
    assert s.browser.shows("#scharges .prove")
    s.browser.click("#scharges .restore")
    dialog = s.browser.text("#restore")
    for words in ("charges", "Redis has lost its data", "ask the API"):
        assert words in dialog, dialog
    s.browser.type("#restore [name=note]", "the disk is gone")
    s.browser.click("#restore .do")
    s.told("charges has its dead letters again")
    equal([m["id"] for m in s.letters()], [letter["id"]])
    equal(s.gateway.wait_for_log("operator_decided")["note"],
          "the disk is gone")
    s.calm()


class TopicStage(SourceStage):
    """The same of a topic, of a Kafka that is only pretended."""

    def __init__(self, bench):
        self.upstream = bench.upstream()
        self.topic = Topic(bench.mock_kafka())
        config = bench.config(self.upstream, admin=ADMIN)
        topic_source(config, self.topic)
        self.gateway = bench.serve(config)
        self.address = self.gateway.ready["admin"]
        self.browser = new_window()


@test
def a_partition_is_rewound_with_a_note(bench):
    if is_without("kafka"):
        return
    s = TopicStage(bench)
    s.look()
    s.browser.wait_for("#scharges")
    assert not s.browser.shows("#scharges .prove")
    s.browser.click("#scharges .rewind")
    dialog = s.browser.text("#rewind")
    for words in ("charges", "group onceproxy", "from their beginning",
                  "executed again", "retention"):
        assert words in dialog, dialog
    s.browser.type("#rewind [name=more]", "charges/7")
    s.browser.click("#rewind .do")
    s.browser.wait_text("#rewind .error", "not unproven")
    s.browser.click("#rewind .cancel")
    s.topic.add()
    eventually(lambda: s.topic.committed() == {0: 1}, "it is committed")
    s.browser.click("#scharges .rewind")
    s.browser.type("#rewind [name=more]", "charges/0")
    s.browser.type("#rewind [name=note]", "results were lost")
    s.browser.click("#rewind .do")
    s.told("charges is rewound")
    said = s.gateway.wait_for_log("operator_decided")
    equal((said["act"], said["partitions"], said["note"]),
          ("rewind", 1, "results were lost"))
    s.refused_once()


@test
def a_source_is_paused_and_resumed_by_keyboard_alone(bench):
    s = SourceStage(bench)
    s.look()
    s.browser.wait_for("#scharges")
    assert not s.browser.shows("#scharges .rewind")
    s.press_until("charges: Pause…")
    s.browser.press(ENTER)
    equal(s.browser.focus(), "Cancel")
    s.press_until("Pause for all gateways")
    s.browser.press(ENTER)
    s.gateway.wait_for_log("source_paused", source="charges")
    s.browser.wait_text("#scharges .why", "Paused")
    equal(s.browser.text("#scharges .chip"), "operator")
    s.browser.click("#scharges .resume")
    s.browser.click("#resume .do")
    s.gateway.wait_for_log("source_resumed", source="charges")
    s.browser.wait_text("#scharges .chip", "running")
    s.calm()


tap.main()
