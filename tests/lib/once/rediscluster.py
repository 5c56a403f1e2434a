# SPDX-License-Identifier: BSD-2-Clause
"""A real Redis Cluster on loopback: masters, replicas of each, and what its
operators do with it."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

from .folder import drop_folder, make_folder
from .ports import free_port
from .process import Process
from .redis import RedisClient, RedisError
from .wait import PATIENCE, eventually

SLOTS = 16384
TRIES = 10  # somebody else may have been given a port meanwhile
# The longer a master must be silent to be taken for dead, the fewer are by
# mistake where the machine is busy.
NODE_TIMEOUT_MS = 2000


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xffff
    return crc


def slot_of(name):
    """The slot of a key: of its hash tag, if it has one."""
    data = name if isinstance(name, bytes) else str(name).encode()
    begin = data.find(b"{")
    end = data.find(b"}", begin + 1)
    if begin >= 0 and end > begin + 1:
        data = data[begin + 1:end]
    return crc16(data) % SLOTS


class Node:
    """One redis-server; call it to run a command there.  file: its redis.conf,
    which overrides the options here.  tls: it has a port with TLS besides, and
    these are its options."""

    def __init__(self, *options, file=None, tls=()):
        self.folder = make_folder()
        self.options, self.file, self.tls = options, file, tls
        self.tls_port = None
        self.process = self.client = None
        for _ in range(TRIES):
            self.port, self.bus = free_port(), free_port()
            if tls:
                self.tls_port = free_port()
            self.launch()
            if self.came_up():
                break
        else:
            raise AssertionError("no port is free")
        self.address = f"127.0.0.1:{self.port}"
        self.connect()

    @property
    def id(self):
        return self("CLUSTER", "MYID").decode()

    def launch(self):
        program = os.environ.get("REDIS_SERVER", "redis-server")
        self.process = Process([
            program, *filter(None, [self.file]),
            "--bind", "127.0.0.1", "--port", str(self.port),
            "--cluster-enabled", "yes", "--cluster-port", str(self.bus),
            "--cluster-node-timeout", str(NODE_TIMEOUT_MS), "--save", "",
            "--repl-diskless-sync-delay", "0", "--dir", self.folder,
            *(["--tls-port", str(self.tls_port), *self.tls]
              if self.tls else []),
            *self.options])

    def came_up(self):
        """False: somebody else has taken one of its ports."""
        process = self.process
        process.wait_until(
            lambda: process.ended or any(
                "eady to accept connections" in line
                for line in process.lines), "redis-server starts")
        if process.running() and not process.ended:
            return True
        process.wait()
        return False

    def connect(self):
        self.client = RedisClient(("127.0.0.1", self.port))

    def __call__(self, *words):
        return self.client(*words)

    def info(self):
        """CLUSTER INFO, as a dict."""
        lines = self("CLUSTER", "INFO").decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def role(self):
        return self("ROLE")[0].decode()

    def keys(self):
        return self("KEYS", "*")

    def freeze(self):
        self.process.signal(signal.SIGSTOP)

    def thaw(self):
        self.process.signal(signal.SIGCONT)

    def running(self):
        return self.process.running()

    def kill(self):
        self.client.close()
        self.process.kill()

    def start(self):
        """Starts it again, at the same address."""
        self.launch()
        assert self.came_up(), "redis-server did not start again"
        self.connect()

    def stop(self):
        self.kill()
        drop_folder(self.folder)


class RedisCluster:
    """So many masters, each with so many replicas; when it is made, all
    agree."""

    def __init__(self, masters=3, replicas=1, options=(), tls=()):
        count = masters * (1 + replicas)
        with ThreadPoolExecutor(count) as pool:
            made = [pool.submit(Node, *options, tls=tls) for _ in range(count)]
        self.nodes = [task.result() for task in made]
        self.masters = self.nodes[:masters]
        try:
            self.form(masters)
        except BaseException:
            self.stop()
            raise

    def form(self, masters):
        first = self.nodes[0]
        for number, node in enumerate(self.nodes, 1):
            node("CLUSTER", "SET-CONFIG-EPOCH", number)
        for node in self.nodes[1:]:
            first("CLUSTER", "MEET", "127.0.0.1", node.tls_port or node.port,
                  node.bus)
        share = SLOTS / masters
        for number, node in enumerate(self.masters):
            node("CLUSTER", "ADDSLOTSRANGE", round(number * share),
                 round((number + 1) * share) - 1)
        self.wait_known()
        for number, node in enumerate(self.nodes[masters:]):
            master = self.masters[number % masters]
            node("CLUSTER", "REPLICATE", master.id)
        self.wait_well()

    def wait_known(self):
        eventually(lambda: all(
            int(n.info()["cluster_known_nodes"]) == len(self.nodes)
            for n in self.nodes), "all nodes know each other", 3 * PATIENCE)

    def wait_well(self):
        """Waits until all that run serve, and each replica has all of its
        master's data."""
        eventually(lambda: all(
            self.is_well(n) for n in self.nodes if n.running()),
            "the cluster is well", 3 * PATIENCE)

    def is_well(self, node):
        info = node.info()
        # One that serves with a part of the slots is "ok" with any part.
        if (info["cluster_state"] != "ok" or
                int(info["cluster_slots_assigned"]) != SLOTS):
            return False
        role = node("ROLE")
        if role[0] == b"slave":
            # What its master has written by now: a master hears only once a
            # second how much of that was taken.
            written = [said[1] for said in (
                n("ROLE") for n in self.nodes
                if n.running() and n.port == int(role[2]))
                if said[0] == b"master"]
            return (role[3] == b"connected" and written != []
                    and node("ROLE")[4] >= written[0])
        replicas = len([line for line in self.lines(node)
                        if line[3] == node.id and "fail" not in line[2]])
        return len(role[2]) == replicas

    @staticmethod
    def lines(node):
        """CLUSTER NODES, as it sees them."""
        text = node("CLUSTER", "NODES").decode()
        return [line.split() for line in text.splitlines()]

    @property
    def seeds(self):
        return [node.address for node in self.masters]

    @property
    def store(self):
        """The members of the configuration's store."""
        return {"cluster": self.seeds}

    def living(self):
        return next(n for n in self.nodes if n.running())

    def owner(self, slot, asked=None):
        """The master that has a slot, as far as one of them knows."""
        for first, last, master, *_ in (asked or self.living())(
                "CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(
                    n for n in self.nodes if n.port == master[1])
        raise AssertionError(f"slot {slot} is nobody's")

    def replica_of(self, master):
        """One of its replicas."""
        for node in self.nodes:
            role = node("ROLE") if node.running() else [None]
            if role[0] == b"slave" and role[2] == master.port:
                return node
        raise AssertionError("it has no replica")

    def __call__(self, name, *words):
        """A command, its key first, on the master that has the key."""
        node = self.owner(slot_of(name))
        return node(words[0], name, *words[1:])

    def keys(self):
        """Of all masters."""
        return [key for node in self.nodes
                if node.running() and node.role() == "master"
                for key in node.keys()]

    # --- what operators do --------------------------------------------------

    def begin_move(self, slot, to):
        """Begins to move the slot; returns the master that has it."""
        source = self.owner(slot)
        to("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        source("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
        return source

    def carry(self, slot, source, to, most=SLOTS, ending=b""):
        """Moves some keys of it, or those with that ending; how many there
        were."""
        names = source("CLUSTER", "GETKEYSINSLOT", slot, most)
        names = [name for name in names if name.endswith(ending)]
        if names:
            source("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS",
                   *names)
        return len(names)

    def end_move(self, slot, source, to):
        """Ends the move.  The other servers hear of it by themselves; until
        all have, no other slot is moved, or two masters might get the same
        epoch, and each be believed by some."""
        for node in (to, source):
            node("CLUSTER", "SETSLOT", slot, "NODE", to.id)
        eventually(lambda: all(self.owner(slot, node) is to
                               for node in self.nodes if node.running()),
                   "all know who has the slot")

    def move(self, slot, to):
        source = self.begin_move(slot, to)
        while self.carry(slot, source, to, 10):
            pass
        self.end_move(slot, source, to)

    def kill(self, master):
        """Kills a master, whose replica is to take its place."""
        master.kill()

    def wait_failover(self, slot, dead):
        """Waits until another server has the slot, and all that run know
        it."""
        def over():
            return all(self.owner(slot, n) is not dead and
                       n.info()["cluster_state"] == "ok"
                       for n in self.nodes if n.running())
        eventually(over, "a replica takes the place", 3 * PATIENCE)

    def stop(self):
        for node in self.nodes:
            node.stop()


__all__ = ["Node", "RedisCluster", "RedisError", "slot_of"]
