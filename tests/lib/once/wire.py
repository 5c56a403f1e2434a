# SPDX-License-Identifier: BSD-2-Clause
"""The line between a gateway and its Redis: a test may cut a connection when a
command has passed, or hold the command back."""

import os
import socket
import threading

from .folder import drop_folder, make_folder
from .wait import PATIENCE

OF_A_RECORD = b":r:"  # in all commands that name a record
WORD = b"all before this was run"
ASK = b"*2\r\n$4\r\nECHO\r\n$%d\r\n%s\r\n" % (len(WORD), WORD)


class Line:
    """One connection of the gateway, and the one to Redis behind it."""

    def __init__(self, wire, near, far):
        self.wire, self.near, self.far = wire, near, far
        self.held = None  # what was sent, from the held command on
        self.asked = threading.Event()  # and Redis has answered ASK
        for pump in (self.to_redis, self.to_gateway):
            threading.Thread(target=pump, daemon=True).start()

    def to_redis(self):
        try:
            while data := self.near.recv(65536):
                if self.held is not None:
                    self.held += data
                elif self.wire.catch and OF_A_RECORD in data:
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
            while data := self.far.recv(65536):
                said = said[-len(WORD):] + data
                if WORD in said:
                    self.asked.set()
                self.say(data)
        except OSError:
            pass
        self.cut()

    def say(self, data):
        try:
            self.near.sendall(data)
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
        self.catch = None  # what becomes of the next command about a record
        self.lines = []
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
            far.connect(self.redis.path)
            self.lines.append(Line(self, near, far))

    def lose_reply(self):
        """Redis runs the next command about a record, and its reply is
        lost."""
        def caught(line, data):
            line.near.shutdown(socket.SHUT_RDWR)
            line.far.sendall(data)
        self.catch = caught

    def hold(self, cut=False):
        """Holds back the next command about a record, and all that follow,
        until deliver(); with cut the gateway loses its connection at once."""
        held = Held()

        def caught(line, data):
            line.held, held.line = data, line
            if cut:
                line.cut()
            held.arrived.set()
        self.catch = caught
        return held

    def stop(self):
        self.listener.close()
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
