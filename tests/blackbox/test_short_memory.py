# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6, "no memory for the upstream's answer": its status counts
first, and the answer waits, unread, until there is memory or the upstream's
time is up.  It is never response-not-kept."""

import threading

from once import tap
from once.http import build, keyed
from once.raw import unread_bytes
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import PATIENCE, eventually

MIB = 1 << 20
LIMIT = {"in_flight_bytes": "1MiB"}
LARGE = b"y" * 400_000
CHUNKED = ("Transfer-Encoding", "chunked")
RECONCILE = {"on_unknown": {
    "reconcile": {"path": "/by-key/{key}", "settle": "0s"}}}
FORMS = [("with a length", False), ("chunked", True)]


class Hog:
    """A client that holds most of the memory: a body that never ends."""

    def __init__(self, gateway, size=900_000):
        self.client = gateway.client()
        self.client.send(build(
            "POST", "/v1/charges",
            [("Authorization", "hog"), ("Idempotency-Key", "hog"),
             ("Content-Length", size)]))
        self.client.send(b"x" * (size - 1))
        eventually(lambda: unread_bytes(self.client.sock) == 0, "it came")
        # What was read is counted at the latest when this is answered.
        equal(gateway.send(build("GET", "/x")).status, 201)
        equal(gateway.send(keyed("room", body=b"x" * 300_000)).status, 503)

    def leave(self):
        self.client.reset()


def large(status=201, chunked=False, body=LARGE, fields=()):
    if not chunked:
        return answer(status, body, fields)
    return (answer(status, b"", [CHUNKED, *fields], length=False)
            + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))


def short_of_memory(bench, reply, policy=None, timeout="20s", **members):
    """A gateway whose memory is used up, in front of an upstream that answers
    so; the one who holds the memory."""
    upstream = bench.upstream(answer())
    gateway = bench.gateway(
        upstream, policy, {"timeout": timeout}, workers=1, limits=LIMIT,
        **members)
    hog = Hog(gateway)
    upstream.reply = reply
    upstream.requests.clear()
    return upstream, gateway, hog


def waits(bench, upstream, gateway, key="k"):
    """A payment whose answer has come and waits for memory."""
    sent = threading.Event()
    before = upstream.reply

    def script(connection, request):
        connection.send(before)
        sent.set()
    upstream.reply = script
    first = bench.background(gateway.ask, key)
    assert sent.wait(PATIENCE)
    upstream.reply = answer(200, b"passed")
    # It came before this one's answer, on the same loop.
    equal(gateway.send(build("GET", "/x")).status, 200)
    assert first.thread.is_alive()
    return first


def check_held(gateway, key="k"):
    got = gateway.ask(key)
    equal((got.status, got.problem), (409, "outcome-unknown"))


# --- there is memory again ---

@each(FORMS)
def an_answer_waits_for_memory(bench, chunked):
    upstream, gateway, hog = short_of_memory(bench, large(chunked=chunked))
    first = waits(bench, upstream, gateway)
    hog.leave()
    got = first.result()
    equal((got.status, got.body, got.replayed), (201, LARGE, False))
    again = gateway.ask("k")
    equal((again.status, again.body, again.replayed), (201, LARGE, True))
    equal(upstream.count(key="k"), 1)


@each(FORMS)
def one_that_is_unknown_stays_so(bench, chunked):
    upstream, gateway, hog = short_of_memory(bench, large(502, chunked))
    first = waits(bench, upstream, gateway)
    hog.leave()
    got = first.result()
    equal((got.status, got.problem, got.body), (502, None, LARGE))
    check_held(gateway)
    equal(upstream.count(key="k"), 1)
    gateway.wait_for_log("request", status=502, outcome="unknown")


@each(FORMS)
def one_that_releases_is_said_to_release(bench, chunked):
    upstream, gateway, hog = short_of_memory(bench, large(503, chunked))
    first = waits(bench, upstream, gateway)
    hog.leave()
    got = first.result()
    equal((got.status, got.problem, got.body), (503, None, LARGE))
    upstream.reply = answer()
    equal(gateway.ask("k").status, 201)
    equal(upstream.count(key="k"), 2)


def asked_about(bench, reply, **more):
    """A payment whose outcome is unknown; memory is used up, and the answer
    about it is this one."""
    upstream, gateway, hog = short_of_memory(
        bench, close_unanswered, RECONCILE, **more)
    equal(gateway.ask("k").problem, "outcome-unknown")
    upstream.reply = reply
    return upstream, gateway, hog


@each(FORMS)
def what_happened_is_waited_for(bench, chunked):
    upstream, gateway, hog = asked_about(bench, large(200, chunked))
    second = waits(bench, upstream, gateway)
    hog.leave()
    got = second.result()
    equal((got.status, got.body, got.replayed), (200, LARGE, True))
    again = gateway.ask("k")
    equal((again.status, again.body, again.replayed), (200, LARGE, True))
    equal(upstream.count(path="/v1/charges", key="k"), 1)


# --- there is none until the time is up ---

@each([(f"{status}, {name}", status, chunked)
       for status in (201, 502) for name, chunked in FORMS])
def then_the_answer_is_a_broken_one(bench, status, chunked):
    upstream, gateway, hog = short_of_memory(
        bench, large(status, chunked), timeout="2s")
    got = gateway.ask("k")
    equal((got.status, got.problem), (502, "outcome-unknown"))
    line = gateway.wait_for_log("outcome_unknown")
    assert "memory" in line["error"], line
    gateway.wait_for_log("answer_unread", level="warn", status=status)
    check_held(gateway)
    hog.leave()
    check_held(gateway)
    equal(upstream.count(key="k"), 1)


@each([("its status", 503, ()),
       ("its own word", 201, [("Idempotency-Outcome", "release")])])
def what_releases_by_its_head_releases(bench, status, fields):
    upstream, gateway, hog = short_of_memory(
        bench, large(status, fields=fields), timeout="2s")
    got = gateway.ask("k")
    equal((got.status, got.problem), (503, "overloaded"))
    equal(got.json()["retry"], "same-key")
    gateway.wait_for_log("request", status=503, outcome="released")
    upstream.reply = answer()
    equal(gateway.ask("k").status, 201)
    equal(upstream.count(key="k"), 2)
    hog.leave()


@test
def a_no_about_an_unknown_outcome_is_a_no(bench):
    upstream, gateway, hog = asked_about(bench, large(404), timeout="2s")
    before = upstream.reply

    def script(connection, request):
        connection.send(
            before if request.target == "/by-key/k" else answer())
    upstream.reply = script
    got = gateway.ask("k")
    equal((got.status, got.replayed), (201, False))
    equal(upstream.count(path="/v1/charges", key="k"), 2)
    hog.leave()


@test
def a_yes_that_cannot_be_read_leaves_it_unknown(bench):
    upstream, gateway, hog = asked_about(bench, large(200), timeout="2s")
    equal(gateway.ask("k").problem, "outcome-unknown")
    hog.leave()
    got = gateway.ask("k")
    equal((got.status, got.body, got.replayed), (200, LARGE, True))
    equal(upstream.count(path="/v1/charges", key="k"), 1)


# --- many of them ---

def in_two_parts(count, reply):
    """Sends the second half of an answer when the first half of all of them
    is sent."""
    halves = threading.Barrier(count)

    def script(connection, request):
        connection.send(reply[:len(reply) // 2])
        halves.wait(PATIENCE)
        connection.send(reply[len(reply) // 2:])
    return script


@each([(f"{name}, {workers} workers", chunked, workers)
       for name, chunked in FORMS for workers in (1, 2)])
def answers_that_are_more_than_memory_all_end(bench, chunked, workers):
    """Half of all of them is more than there is."""
    count = 12
    body = b"z" * 200_000
    upstream = bench.upstream(
        in_two_parts(count, large(chunked=chunked, body=body)))
    gateway = bench.gateway(upstream, {"max_response_body": "250KiB"},
                            workers=workers, limits=LIMIT)
    tasks = [bench.background(gateway.ask, f"k{n}") for n in range(count)]
    for task in tasks:
        got = task.result()
        equal((got.status, got.body), (201, body))
    equal(upstream.count(), count)


@test
def requests_that_were_sent_leave_their_memory_to_answers(bench):
    """Their bodies fill the memory, and each waits for an answer."""
    count = 5
    upstream = bench.upstream()
    hold = upstream.hold(large())
    gateway = bench.gateway(upstream, workers=1, limits=LIMIT)
    tasks = [bench.background(gateway.ask, f"k{n}", body=b"x" * 200_000)
             for n in range(count)]
    upstream.wait_for(count)
    hold.release()
    for task in tasks:
        got = task.result()
        equal((got.status, got.body), (201, LARGE))
    equal(upstream.count(), count)


tap.main()
