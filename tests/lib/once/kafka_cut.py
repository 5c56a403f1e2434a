# SPDX-License-Identifier: BSD-2-Clause
"""A real Kafka of one node that others reach through a door of ours, which can
keep the reply to a request back: the node has done what it was asked, and who
asked does not know.  The tests themselves come in by another door."""

import socket
import struct
import threading

from .kafka import START_S, Kafka
from .ports import free_ports
from .wait import eventually

REQUESTS = {"Produce": 0, "InitProducerId": 22, "AddPartitionsToTxn": 24,
            "AddOffsetsToTxn": 25, "EndTxn": 26, "TxnOffsetCommit": 28}
COMMIT = 1  # how a request of EndTxn ends; 0: an abort


def shut(sock):
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class Connection:
    """One that goes through the door."""

    def __init__(self, door, client):
        self.door, self.client = door, client
        self.node = socket.create_connection(
            ("127.0.0.1", door.behind), START_S)
        self.node.settimeout(None)
        self.kept = None  # the number of the reply that is kept back
        for source, to, pass_on in ((client, self.node, self.asks),
                                    (self.node, client, self.tells)):
            threading.Thread(target=self.pump, daemon=True,
                             args=(source, to, pass_on)).start()

    def pump(self, source, to, pass_on):
        """Frame after frame, until one of both ends."""
        try:
            with source.makefile("rb") as file:
                while len(head := file.read(4)) == 4:
                    frame = file.read(struct.unpack(">i", head)[0])
                    if pass_on(frame):
                        to.sendall(head + frame)
        except (OSError, ValueError):
            pass
        self.end()

    def asks(self, frame):
        kind, _, number = struct.unpack_from(">hhi", frame)
        if self.door.wants(kind, frame):
            self.kept = number
        return True

    def tells(self, frame):
        if struct.unpack_from(">i", frame)[0] != self.kept:
            return True
        self.door.keep(self)
        return False

    def end(self):
        shut(self.client)
        shut(self.node)


class CutKafka(Kafka):
    """addresses is the door, as for a broker's "kafka"; the node's own are
    those of nodes[0]."""

    def __init__(self, **settings):
        self.behind, = free_ports(1)
        self.lock = threading.Lock()
        self.wanted, self.holder = None, None
        self.server = socket.create_server(("127.0.0.1", 0))
        self.door = f"127.0.0.1:{self.server.getsockname()[1]}"
        self.doors = {"DOOR": self.behind}
        threading.Thread(target=self.accept, daemon=True).start()
        super().__init__(**{
            "listener.security.protocol.map":
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,DOOR:PLAINTEXT",
            **settings})

    def start(self):
        self.node_settings["advertised.listeners"] = (
            f"PLAINTEXT://{self.nodes[0].address},DOOR://{self.door}")
        super().start()

    def stop(self):
        self.server.close()
        super().stop()

    def accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            try:
                Connection(self, client)
            except OSError:
                client.close()

    # --- what is kept back -------------------------------------------------

    def keep_reply(self, request):
        """The reply to the next request of that name; of EndTxn to a
        commit."""
        with self.lock:
            self.wanted, self.holder = REQUESTS[request], None

    def wants(self, kind, frame):
        with self.lock:
            wanted = kind == self.wanted and (
                kind != REQUESTS["EndTxn"] or frame[-1] == COMMIT)
            if wanted:
                self.wanted = None
            return wanted

    def keep(self, connection):
        with self.lock:
            self.holder = connection

    def wait_kept(self):
        """The node has done it, and nobody else knows."""
        eventually(lambda: self.holder, "a reply is kept back", START_S)

    def cut(self):
        """The connection that waits for it."""
        self.holder.end()
