# SPDX-License-Identifier: BSD-2-Clause
"""The line between a gateway and its Redis: a test may cut a connection when a
command has passed, hold the command back, or make the line slow."""

import os
import socket
import threading
import time

from .folder import drop_folder, make_folder
from .wait import PATIENCE

OF_A_RECORD = b":r:"  # in all commands that name a record
WORD = b"all before this was run"
ASK = b"*2\r\n$4\r\nECHO\r\n$%d\r\n%s\r\n" % (len(WORD), WORD)


class Way:
    """One direction of a wire: what all its connections together may carry
    there.  Each in turn gets a small piece through."""

    PIECE = 4096

    def __init__(self):
        self.lock = threading.Lock()
        self.rate = None  # bytes per second; None: as fast as it goes
        self.free_at = 0  # when what was sent so far is through

    def take(self):
        """How many bytes to read next."""
        return self.PIECE if self.rate else 65536

    def passed(self, size):
        """Returns when so many bytes are through."""
        if not self.rate:
            return
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic()) + size / (
                self.rate or 1e9)
            wait_s = self.free_at - time.monotonic()
        threading.Event().wait(max(wait_s, 0))


class Line:
    """One connection of the gateway, and the one to Redis behind it."""

    def __init__(self, wire, near, far):
        self.wire, self.near, self.far = wire, near, far
        self.held = None  # what was sent, from the held command on
        self.opened = wire.opened
        self.asked = threading.Event()  # and Redis has answered ASK
        for pump in (self.to_redis, self.to_gateway):
            threading.Thread(target=pump, daemon=True).start()

    def to_redis(self):
        self.opened.wait()
        try:
            while data := self.near.recv(self.wire.up.take()):
                self.wire.up.passed(len(data))
                if self.held is not None:
                    self.held += data
                elif self.wire.catch and self.wire.of in data:
                    caught, self.wire.catch = self.wire.catch, None
                    caught(self, data)
                else:
                    self.far.sendall(data)
        except OSError:
            pass

    def to_gateway(self):
        """What Redis says to a gateway that was cut off is read too: its
        answer to ASK may come behind that."""
        said = b""
        try:
            while data := self.far.recv(self.wire.down.take()):
                self.wire.down.passed(len(data))
                said = said[-len(WORD):] + data
                if WORD in said:
                    self.asked.set()
                self.say(data)
        except OSError:
            pass
        self.cut()

    def say(self, data):
        try:
            self.near.sendall(self.wire.edit(data))
        except OSError:
            pass

    def cut(self):
        """Cuts the gateway's connection, not that of Redis."""
        try:
            self.near.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Wire:
    """A Redis behind a socket of our own; url is what store.redis says."""

    def __init__(self, redis):
        self.redis = redis
        self.catch = None  # what becomes of the next command that has …
        self.of = OF_A_RECORD
        self.edit = lambda data: data  # what becomes of what Redis says
        self.lines = []
        self.up, self.down = Way(), Way()
        self.refuses = False  # new connections
        self.opened = threading.Event()  # new connections wait for it
        self.opened.set()
        self.folder = make_folder()
        path = os.path.join(self.folder, "wire")
        self.url = "unix:" + path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                if self.refuses:
                    raise ConnectionRefusedError
                far.connect(self.redis.path)
            except OSError:
                near.close()
                continue
            self.lines.append(Line(self, near, far))

    def limit(self, rate):
        """From now on each direction carries so many bytes per second (None:
        any), shared by all connections."""
        self.up.rate = self.down.rate = rate

    def hold_new(self):
        """Connections made from now on carry nothing until let_new()."""
        self.opened = threading.Event()

    def let_new(self):
        self.opened.set()

    def lose_reply(self):
        """Redis runs the next command about a record, and its reply is
        lost."""
        def caught(line, data):
            line.near.shutdown(socket.SHUT_RDWR)
            line.far.sendall(data)
        self.catch = caught

    def hold(self, cut=False, of=OF_A_RECORD):
        """Holds back the next command that has that, and all that follow,
        until deliver(); with cut the gateway loses its connection at once."""
        held = Held()
        self.of = of

        def caught(line, data):
            line.held, held.line = data, line
            if cut:
                line.cut()
            held.arrived.set()
        self.catch = caught
        return held

    def stop(self):
        self.listener.close()
        self.opened.set()
        for line in self.lines:
            line.near.close()
            line.far.close()
        drop_folder(self.folder)


class Held:
    def __init__(self):
        self.arrived = threading.Event()
        self.line = None

    def deliver(self):
        """Redis runs it now."""
        assert self.arrived.wait(PATIENCE), "nothing was held"
        self.line.far.sendall(self.line.held + ASK)
        assert self.line.asked.wait(PATIENCE), "Redis did not answer"

    def let_go(self):
        """It passes now, and so does what follows."""
        held, self.line.held = self.line.held, None
        self.line.far.sendall(held)
