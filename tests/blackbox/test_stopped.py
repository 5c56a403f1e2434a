# SPDX-License-Identifier: BSD-2-Clause
"""A gateway that was stopped past a deadline (by its machine, or because a turn
of its loop took long) takes what has come meanwhile and lies in a socket,
before it declares anything late."""

import threading
import time

from once import tap
from once.http import build, keyed
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import PATIENCE, eventually

TIMEOUT_S = 1.5
TIMEOUT = "1500ms"


class Late(Hold):
    """A script of an upstream that answers when it is told to, and says when
    its answer has left."""

    def __init__(self, reply):
        super().__init__()
        self.reply, self.left = reply, threading.Event()

    def __call__(self, connection, request):
        self.wait()
        connection.send(self.reply)
        self.left.set()

    def answer(self):
        self.release()
        assert self.left.wait(PATIENCE), "no answer left"


def while_stopped(gateway, happens, seconds=TIMEOUT_S + 0.2):
    """The gateway is stopped, something happens, and it goes on later."""
    gateway.freeze()
    happens()
    until = time.monotonic() + seconds
    eventually(lambda: time.monotonic() > until)
    gateway.thaw()


def slow_pair(bench, body=b"paid"):
    late = Late(answer(201, body))
    return late, *bench.pair(
        late, options={"timeout": TIMEOUT}, workers=1)


@each([("small", b"paid"), ("of 100 KiB", b"y" * 100 * 1024)])
def an_answer_that_has_come_is_not_late(bench, body):
    late, upstream, gateway = slow_pair(bench, body)
    first = bench.background(gateway.ask, "k")
    late.wait_arrived()
    while_stopped(gateway, late.answer)
    got = first.result()
    equal((got.status, got.replayed, got.body), (201, False, body))
    again = gateway.ask("k")
    equal((again.status, again.replayed, again.body), (201, True, body))
    equal(upstream.count(), 1)
    equal(gateway.find_log("outcome_unknown"), [])


@test
def nor_is_one_without_a_key(bench):
    late, upstream, gateway = slow_pair(bench)
    first = bench.background(gateway.send, build("POST", "/x", body=b"a"))
    late.wait_arrived()
    while_stopped(gateway, late.answer)
    got = first.result()
    equal((got.status, got.body), (201, b"paid"))


@test
def what_has_not_come_is_late_all_the_same(bench):
    late, upstream, gateway = slow_pair(bench)
    first = bench.background(gateway.ask, "k")
    late.wait_arrived()
    while_stopped(gateway, lambda: None)
    equal((first.result().status, gateway.ask("k").problem),
          (504, "outcome-unknown"))
    late.release()


@test
def a_request_that_has_come_is_not_late(bench):
    upstream, gateway = bench.pair(
        workers=1, limits={"header_timeout": TIMEOUT})
    data = keyed("k")
    with gateway.client() as client:
        client.send(data[:40])
        gateway.ask("another")  # by now the first bytes have been read
        while_stopped(gateway, lambda: client.send(data[40:]))
        equal(client.read().status, 201)
    equal(upstream.count(key="k"), 1)


@test
def a_reply_of_redis_that_has_come_is_not_late(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(
        redis=redis, workers=1, log={"level": "debug"},
        store={"timeout": TIMEOUT})
    equal(gateway.ask("before").status, 201)
    steps = len(gateway.find_log("step", step="CLAIMED"))
    redis.freeze()
    first = bench.background(gateway.ask, "k")
    gateway.wait_for_steps("CLAIMED", steps + 1)
    while_stopped(gateway, redis.thaw)
    equal(first.result().status, 201)
    equal(upstream.count(key="k"), 1)
    equal(gateway.find_log("store_down"), [])


tap.main()
