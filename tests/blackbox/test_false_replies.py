# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 5 and 6: a Redis, or something on the way to it, that says
what no Redis would say.  It ends no gateway, takes it no memory and no time,
and costs the requests that it hits no more than a lost connection does."""

import json
import re
import time

from once import tap
from once.gateway import command
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import PATIENCE, eventually

WAIT = {"in_flight": "wait", "wait_timeout": "10s"}
SOON_S = 5  # the program before stood still for so long


class Once:
    """Changes the first thing that Redis says and that wanted() picks."""

    def __init__(self, wanted, change):
        self.wanted, self.change, self.done = wanted, change, False

    def __call__(self, data):
        if self.done or not self.wanted(data):
            return data
        self.done = True
        return self.change(data)


# What claims of one turn are answered (lua/claims.lua): a name, a time, and a
# letter for each.
CLAIMS = re.compile(rb"\*\d+\r\n\$16\r\n[0-9a-f]{16}\r\n\$13\r\n\d{13}\r\n"
                    rb"\$\d+\r\n([A-Z]+)\r\n")


def of_claim(data):
    found = CLAIMS.search(data)
    return found is not None and b"O" in found[1]


def peak_kib(gateway):
    with open(f"/proc/{gateway.pid}/status", encoding="ascii") as file:
        return int(file.read().split("VmHWM:")[1].split()[0])


def is_well(gateway, upstream, edit):
    """It serves on; what was hit was refused, and executed by nobody; no
    payment was made twice."""
    began = time.monotonic()
    statuses = {}
    for i in range(4):
        statuses[f"k{i}"] = gateway.ask(f"k{i}").status
    assert edit.done, "nothing was changed"
    eventually(lambda: gateway.ask("after").status == 201, "an answer of 201")
    assert time.monotonic() - began < SOON_S, "the gateway stood still"
    for key, status in statuses.items():
        assert status in (201, 503), (key, status)
        equal(upstream.count(key=key), 1 if status == 201 else 0)
        eventually(lambda name=key: gateway.ask(name).status == 201,
                   "an answer of 201")
        equal(upstream.count(key=key), 1)
    assert not gateway.ended


@each([
    ("a status", b"+OK\r\n"),
    ("a number", b":1\r\n"),
    ("an array", b"*1\r\n$1\r\nx\r\n"),
    ("nil", b"$-1\r\n"),
    ("an error", b"-ERR x\r\n"),
    ("a push", b">2\r\n+invalidate\r\n*0\r\n"),
    ("a message", b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"),
    ("a boolean", b"#t\r\n"),
    ("a map", b"%1\r\n+a\r\n+b\r\n"),
])
def a_reply_that_nobody_asked_for_ends_no_gateway(bench, more):
    upstream, wire = bench.upstream(), bench.wire()
    gateway = bench.gateway(upstream, redis=wire, workers=1)
    equal(gateway.ask("first").status, 201)
    wire.edit = edit = Once(of_claim, lambda data: data + more)
    is_well(gateway, upstream, edit)


@test
def an_array_that_is_one_shorter_than_it_was_ends_no_gateway(bench):
    upstream, wire = bench.upstream(), bench.wire()
    gateway = bench.gateway(upstream, redis=wire, workers=1)
    equal(gateway.ask("first").status, 201)
    wire.edit = edit = Once(
        of_claim, lambda data: b"*%c" % (data[1] - 1) + data[2:])
    is_well(gateway, upstream, edit)
    gateway.wait_for_log("store_garbled")


@each([
    ("two thousand million elements", b"*2000000000\r\n"),
    ("elements inside", b"*4\r\n" + b"*200000000\r\n"),
    ("elements beyond 32 bits", b"*4294967296\r\n"),
    ("five thousand million bytes", b"$5000000000\r\n"),
    ("the most bytes", b"$9223372036854775807\r\n"),
    ("less than no elements", b"*-2\r\n"),
    ("less than no bytes", b"$-2\r\n"),
    ("a line without an end", b"+" + 80000 * b"x"),
])
def what_is_announced_takes_no_memory_and_no_time(bench, said):
    upstream, wire = bench.upstream(), bench.wire()
    gateway = bench.gateway(upstream, redis=wire, workers=1)
    equal(gateway.ask("first").status, 201)
    before = peak_kib(gateway)
    wire.edit = edit = Once(of_claim, lambda data: said)
    is_well(gateway, upstream, edit)
    assert peak_kib(gateway) - before < 50000, "memory was taken"
    gateway.wait_for_log("store_garbled")


@test
def what_is_announced_at_the_start_takes_no_memory(bench):
    """The questions that block are asked with the same care."""
    wire = bench.wire()
    wire.edit = edit = Once(lambda data: b"redis_version" in data,
                            lambda data: b"*2000000000\r\n")
    gateway = bench.gateway(bench.upstream(), redis=wire, workers=1)
    assert edit.done, "nothing was changed"
    eventually(lambda: gateway.ask("k").status == 201, "an answer of 201")
    assert peak_kib(gateway) < 200000, "memory was taken"


@each([
    ("INFO", b"redis_version", b":1\r\n"),
    ("the names of keys", b"$1\r\n0\r\n", b"*2\r\n$-1\r\n*1\r\n$-1\r\n"),
    ("a setting", b"appendfsync\r\n", b"*2\r\n$-1\r\n$-1\r\n"),
    ("very many elements", b"redis_version", b"*2000000000\r\n"),
])
def what_the_doctor_is_told_does_not_end_it(bench, wanted, said):
    wire = bench.wire()
    config = bench.config(bench.upstream(), redis=wire)
    wire.edit = edit = Once(lambda data: wanted in data, lambda data: said)
    ended = command("doctor", "-c", bench.file(
        json.dumps(config).encode(), "config.json"))
    assert edit.done, "nothing was changed"
    assert ended.returncode in (0, 1, 2, 3), ended


def last(data, text):
    """The message, with another text for its payload."""
    return data[:data.rindex(b"$")] + text


MESSAGES = [
    ("a number first", lambda d: d.replace(b"$8\r\npmessage", b":7")),
    ("nil first", lambda d: d.replace(b"$8\r\npmessage", b"$-1")),
    ("an array first", lambda d: d.replace(b"$8\r\npmessage", b"*0")),
    ("one element", lambda d: b"*1\r\n$8\r\npmessage\r\n"),
    ("two elements", lambda d: b"*2\r\n$8\r\npmessage\r\n$1\r\nx\r\n"),
    ("no elements", lambda d: b"*0\r\n"),
    ("nil", lambda d: b"$-1\r\n"),
    ("a status", lambda d: b"+OK\r\n"),
    ("an error", lambda d: b"-ERR x\r\n"),
    ("the end of it",
     lambda d: b"*3\r\n$12\r\npunsubscribe\r\n$1\r\nx\r\n$1\r\n0\r\n"),
    ("the end of nothing",
     lambda d: b"*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n"),
    ("no payload", lambda d: last(d, b"$-1\r\n")),
    ("a number as payload", lambda d: last(d, b":1\r\n")),
    ("very many elements", lambda d: b"*2000000000\r\n"),
    ("arrays in arrays", lambda d: 12 * b"*1\r\n"),
]


@each(MESSAGES)
def a_message_of_any_form_ends_no_gateway(bench, change):
    upstream, wire = bench.upstream(), bench.wire()
    listens = bench.gateway(upstream, WAIT, redis=wire, workers=1)
    other = bench.gateway(upstream, WAIT, workers=1)
    wire.edit = edit = Once(
        lambda data: b"$8\r\npmessage" in data and b":changes" in data, change)
    for key in ("a", "b"):
        held = upstream.hold(answer())
        first = bench.background(other.ask, key)
        held.wait_arrived()
        second = bench.background(listens.ask, key)
        eventually(lambda: edit.done, "a message")
        held.release()
        for result in (first.result(), second.result()):
            equal((result.status, upstream.count(key=key)), (201, 1))
    assert not listens.ended
    equal(listens.ask("after").status, 201)


SUBSCRIBED = b"$10\r\npsubscribe"


@each([
    ("a number first", lambda d: d.replace(SUBSCRIBED, b":9")),
    ("one element", lambda d: b"*1\r\n$10\r\npsubscribe\r\n"),
    ("no channel", lambda d: b"*3\r\n$10\r\npsubscribe\r\n$-1\r\n:1\r\n"),
    ("a status", lambda d: b"+OK\r\n"),
    ("nil", lambda d: b"$-1\r\n"),
    ("the end of it",
     lambda d: d.replace(SUBSCRIBED, b"$12\r\npunsubscribe").replace(
         b":1\r\n", b":0\r\n")),
    ("twice", lambda d: d + d),
])
def a_subscription_of_any_form_ends_no_gateway(bench, change):
    upstream, wire = bench.upstream(), bench.wire()
    wire.edit = edit = Once(lambda data: SUBSCRIBED in data, change)
    gateway = bench.gateway(upstream, WAIT, redis=wire, workers=1)
    eventually(lambda: edit.done, "a subscription")
    gateway.wait_for_log("store_garbled")
    eventually(lambda: gateway.ask("after").status == 201, "an answer")
    assert not gateway.ended


def first_of(data):
    """How long the first reply to claims is."""
    behind = re.search(rb"\*\d+\r\n\$16\r\n", data[1:])
    return 1 + behind.start() if behind else len(data)


def both_held(bench, wire, ask_first, ask_second):
    """Two claims that Redis is given at once, the first of them first."""
    held = wire.hold()
    first = bench.background(ask_first)
    assert held.arrived.wait(PATIENCE), "no claim"
    size = len(held.line.held)
    second = bench.background(ask_second)
    eventually(lambda: len(held.line.held) > size + 200, "a second claim")
    held.line.far.sendall(held.line.held)
    return first.result(), second.result()


def twice(letter):
    """The first reply with that letter comes twice."""
    def wanted(data):
        found = CLAIMS.search(data)
        return found is not None and letter in found[1]
    return Once(wanted, lambda data: data[:first_of(data)] + data)


@test
def an_answer_that_comes_twice_is_given_to_no_other_tenant(bench):
    """Each call behind it would be given its neighbour's reply."""
    first, second = "Bearer first", "Bearer second"

    def tell(connection, request):
        connection.send(answer(
            201, f"secret of {request.get('Authorization')}".encode()))
    upstream, wire = bench.upstream(tell), bench.wire()
    gateway = bench.gateway(
        upstream, redis=wire, workers=1, cache={"size": 0},
        store={"timeout": "10s"})  # one is held until the other is there
    for tenant in (first, second):
        equal(gateway.ask("k", tenant=tenant).status, 201)
    wire.edit = edit = twice(b"C")
    own, other = both_held(
        bench, wire, lambda: gateway.ask("k", tenant=first),
        lambda: gateway.ask("k", tenant=second))
    assert edit.done, "nothing was changed"
    equal(own.body, b"secret of Bearer first")
    assert b"Bearer first" not in other.body, other.body
    equal(other.status, 503)
    gateway.wait_for_log("store_garbled", error="a reply to another call")
    eventually(lambda: gateway.ask("k", tenant=second).body
               == b"secret of Bearer second", "the own answer")
    equal(upstream.count(key="k"), 2)


@test
def a_claim_that_was_granted_once_is_executed_once(bench):
    """Two requests with one key claim it at once, and Redis' yes to the first
    comes twice."""
    upstream, wire = bench.upstream(), bench.wire()
    gateway = bench.gateway(upstream, redis=wire, workers=1,
                            store={"timeout": "10s"})
    equal(gateway.ask("before").status, 201)
    wire.edit = edit = twice(b"O")
    held = upstream.hold(answer())
    replies = bench.background(
        both_held, bench, wire, lambda: gateway.ask("k"),
        lambda: gateway.ask("k"))
    held.wait_arrived()
    gateway.wait_for_log("store_garbled")
    held.release()
    first, second = replies.result()
    assert edit.done, "nothing was changed"
    eventually(lambda: gateway.ask("k").status == 201, "the answer")
    equal(upstream.count(key="k"), 1)
    equal((first.status, second.status), (201, 503))


@test
def what_never_makes_sense_is_logged_once(bench):
    """It connects anew and hears the same: the log does not fill."""
    upstream, wire = bench.upstream(), bench.wire()
    gateway = bench.gateway(upstream, WAIT, redis=wire, workers=1)
    equal(gateway.ask("first").status, 201)
    cut = [0]

    def edit(data):
        if SUBSCRIBED not in data:
            return data
        cut[0] += 1
        return b"+OK\r\n"
    wire.edit = edit
    for line in wire.lines:
        line.cut()
    eventually(lambda: cut[0] >= 4, "four connections")
    equal(len(gateway.find_log("store_garbled")), 1)


tap.main()
