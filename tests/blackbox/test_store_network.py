# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 5 and 6: replies of Redis that come late or never, on a
network that holds and cuts what the test wants."""

import socket
import threading
import time

from once import tap
from once.http import reset
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import Watched, eventually


class Wire(Watched):
    """A TCP port that leads to a Redis.  Each direction can be held; a cut
    lets a command through, but not its reply."""

    def __init__(self, redis):
        super().__init__()
        self.redis = redis
        self.open = {"up": threading.Event(), "down": threading.Event()}
        for event in self.open.values():
            event.set()
        self.armed = None  # what the command that is cut contains
        self.cuts = self.resets = self.ends = self.late = 0
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.url = "redis://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def count(self, name):
        with self.changed:
            setattr(self, name, getattr(self, name) + 1)
            self.changed.notify_all()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self.redis.path)
            except OSError:
                near.close()
                continue
            cut, gone = threading.Event(), threading.Event()
            for way in (self.upwards, self.downwards):
                threading.Thread(target=way, args=(near, far, cut, gone),
                                 daemon=True).start()

    def upwards(self, near, far, cut, gone):
        """From the gateway to Redis; counts how connections end."""
        while True:
            try:
                data = near.recv(65536)
            except ConnectionResetError:
                self.count("resets")
                data = b""
            except OSError:
                data = b""
            else:
                if not data:
                    self.count("ends")
            if not self.open["up"].is_set():
                self.open["up"].wait()
                gone.set()
            try:
                if not data:
                    far.shutdown(socket.SHUT_WR)
                    return
                if self.armed is not None and self.armed in data:
                    self.armed = None
                    cut.set()
                far.sendall(data)
            except OSError:
                return

    def downwards(self, near, far, cut, gone):
        while True:
            try:
                data = far.recv(65536)
            except OSError:
                data = b""
            if data and gone.is_set():
                self.count("late")
            self.open["down"].wait()
            if cut.is_set() and data:
                # Redis has run it: that is its reply.
                self.count("cuts")
                reset(near)
                far.close()
                return
            try:
                if not data:
                    near.close()
                    return
                near.sendall(data)
            except OSError:
                return

    def hold(self, way):
        self.open[way].clear()

    def let_go(self, way):
        self.open[way].set()

    def cut(self, word):
        """Redis runs the next command with that word, and its reply is
        lost."""
        self.armed = word

    def stop(self):
        self.listener.close()
        for event in self.open.values():
            event.set()


def started(bench, reply=None, redis=None):
    """One worker, so that its commands share one connection.  Redis has all
    scripts, so that a step is one command."""
    wire = Wire(redis or bench.redis)
    upstream = bench.upstream(reply)
    gateway = bench.gateway(
        upstream, redis=wire.url, workers=1,
        store={"shards": 1}, cache={"size": 0})
    eventually(lambda: gateway.ask("first").status == 201)
    upstream.reply = answer(503)
    equal(gateway.ask("second").status, 503)
    upstream.reply = answer() if reply is None else reply
    return wire, upstream, gateway


def refused(gateway, key):
    got = gateway.ask(key)
    equal((got.status, got.problem), (503, "store-unavailable"))


def paid_once(gateway, upstream, key):
    """Paid by the next retry that is let in."""
    eventually(lambda: gateway.ask(key).status == 201, "it is paid")
    eventually(lambda: gateway.ask(key).replayed, "it is stored")
    equal(upstream.count(key=key), 1)


def attempts(upstream, key):
    """Of its executions."""
    return [r.get("Idempotency-Attempt") for r in upstream.requests
            if r.get("Idempotency-Key") == key]


@test
def a_connection_that_timed_out_is_reset_and_its_claim_given_back(bench):
    """Were it closed with FIN, Redis would still run what it has not read
    yet."""
    wire, upstream, gateway = started(bench)
    ended = wire.ends
    wire.hold("down")
    refused(gateway, "k")
    wire.wait_until(lambda: wire.resets >= 1, "a reset")
    equal(wire.ends, ended)
    wire.let_go("down")
    paid_once(gateway, upstream, "k")
    # The claim that Redis answered too late was attempt 1.
    equal(attempts(upstream, "k"), ["2"])
    wire.stop()


@test
def a_claim_that_comes_to_redis_too_late_claims_nothing(bench):
    """The claim was still on its way when its client was told to retry."""
    wire, upstream, gateway = started(bench)
    wire.hold("up")
    refused(gateway, "k")
    # Later than its deadline, by more than the clocks can differ.
    then = time.monotonic() + 0.3
    eventually(lambda: time.monotonic() > then)
    late = wire.late
    wire.let_go("up")
    wire.wait_until(lambda: wire.late > late, "Redis has answered it")
    paid_once(gateway, upstream, "k")
    equal(attempts(upstream, "k"), ["1"])
    wire.stop()


@test
def a_claim_whose_reply_was_lost_is_given_back(bench):
    wire, upstream, gateway = started(bench)
    wire.cut(b" hold\r\n")
    refused(gateway, "k")
    equal(wire.cuts, 1)
    paid_once(gateway, upstream, "k")
    # The first was claimed, and nothing was sent for it.
    equal(attempts(upstream, "k"), ["2"])
    wire.stop()


LOST = [("of an answer", answer(), 201, 1, b"\r\np\n"),
        ("of a release", answer(503), 503, 2, b"\r\n2592000000\r\n")]


@each(LOST)
def the_reply_is_lost(bench, reply, status, executions, word):
    """The same owner repeats the step, which makes it the same step."""
    wire, upstream, gateway = started(bench)
    upstream.reply = reply
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    wire.cut(word)
    hold.release()
    wire.wait_until(lambda: wire.cuts >= 1, "the reply is cut off")
    equal(first.result().status, status)
    upstream.reply = answer()
    eventually(lambda: gateway.ask("k").replayed, "the stored answer")
    equal(attempts(upstream, "k"), ["1", "2"][:executions])
    wire.stop()


tap.main()
