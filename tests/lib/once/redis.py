# SPDX-License-Identifier: BSD-2-Clause
"""A real redis-server on a Unix socket in a folder of its own, and a RESP
client of a few lines."""

import os
import re
import shutil
import signal
import socket

from .folder import drop_folder, make_folder
from .ports import free_port
from .process import Process
from .wait import PATIENCE, eventually


class RedisError(Exception):
    """An error reply of Redis."""


class RedisClient:
    """where: the path of a Unix socket, or (HOST, PORT)."""

    def __init__(self, where, timeout=PATIENCE):
        self.sock = socket.socket(
            socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
        self.sock.settimeout(timeout)
        self.sock.connect(where)
        self.file = self.sock.makefile("rb")

    def __call__(self, *words):
        data = b"*%d\r\n" % len(words)
        for word in words:
            if not isinstance(word, bytes):
                word = str(word).encode()
            data += b"$%d\r\n%s\r\n" % (len(word), word)
        self.sock.sendall(data)
        return self.reply()

    def reply(self):
        line = self.file.readline()
        assert line.endswith(b"\r\n"), "Redis closed the connection"
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest.decode()
        count = int(rest)
        if count < 0:
            return None
        if kind == b"$":
            return self.file.read(count + 2)[:-2]
        return [self.reply() for _ in range(count)]

    def keys(self):
        """All but the store's ids, which are there before any record."""
        return [name for name in self("KEYS", "*")
                if not name.endswith((b":{0}:store", b":{0}:data"))]

    def left(self):
        """And but the shards' indexes, which outlive what they name."""
        return [name for name in self.keys()
                if not name.endswith((b":leases", b":held"))]

    def indexed(self, ending):
        """What the shards' indexes with such a name have."""
        return [name for index in self.keys() if index.endswith(ending)
                for name in self("ZRANGE", index, 0, -1) if name != b"-"]

    def close(self):
        self.file.close()
        self.sock.close()


class Redis:
    """url is what store.redis says; call it to run a command."""

    def __init__(self, *options):
        self.folder = make_folder()
        self.path = os.path.join(self.folder, "redis")
        self.url = "unix:" + self.path
        self.options = options
        self.process = None
        self.client = None
        self.start()

    def start(self):
        self.launch()
        self.wait_started()

    def launch(self):
        """Only begins to start it, on the thread that outlives it."""
        program = os.environ.get("REDIS_SERVER", "redis-server")
        self.process = Process([
            program, "--port", "0", "--unixsocket", self.path, "--save", "",
            "--dir", self.folder, *self.options])

    def wait_started(self):
        self.process.wait_for_line("eady to accept connections")
        self.client = RedisClient(self.path)

    def __call__(self, *words):
        return self.client(*words)

    def keys(self):
        return self.client.keys()

    def left(self):
        return self.client.left()

    def indexed(self, ending):
        return self.client.indexed(ending)

    def save(self):
        """A copy of what it has now, which go_back() takes; it has an
        append-only file that is always synced."""
        copy = os.path.join(make_folder(), "saved")
        shutil.copytree(os.path.join(self.folder, "appendonlydir"), copy)
        return copy

    def go_back(self, copy, meanwhile=None):
        """Dies, and is there again with no more than it had then."""
        self.kill()
        if meanwhile:
            meanwhile()
        where = os.path.join(self.folder, "appendonlydir")
        shutil.rmtree(where)
        shutil.copytree(copy, where)
        drop_folder(os.path.dirname(copy))
        self.start()

    def calls(self, command):
        """How often it ran a command, such as "set" or "config|get"."""
        found = re.search(rb"cmdstat_%s:calls=(\d+)"
                          % re.escape(command.encode()),
                          self("INFO", "commandstats"))
        return int(found.group(1)) if found else 0

    def follow(self, master):
        """Becomes a replica of another one, and waits until it has all its
        data."""
        line = re.compile(rb"slave\d+:.*port=%d,state=online" % self.port())
        self("CONFIG", "SET", "repl-diskless-sync-delay", 0)
        master("CONFIG", "SET", "repl-diskless-sync-delay", 0)
        self("REPLICAOF", "127.0.0.1", master.port())
        eventually(lambda: line.search(master("INFO", "replication")),
                   "the replica follows")

    def port(self, option="port"):
        """The TCP port on which it listens, from now on; option: "tls-port"
        for the one with TLS."""
        port = int(self("CONFIG", "GET", option)[1])
        while port == 0:
            free = free_port()
            try:
                self("CONFIG", "SET", option, free)
                port = free
            except RedisError:  # somebody else took it meanwhile
                pass
        return port

    def contents(self):
        """Every byte that it stores: names and values."""
        data = b""
        for key in self.keys():
            data += key + b"\n" + (self("DUMP", key) or b"") + b"\n"
            if self("TYPE", key) == "string":
                data += self("GET", key)
        return data

    def freeze(self):
        self.process.signal(signal.SIGSTOP)

    def thaw(self):
        self.process.signal(signal.SIGCONT)

    def kill(self):
        self.client.close()
        self.process.kill()

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        self.kill()
        drop_folder(self.folder)
