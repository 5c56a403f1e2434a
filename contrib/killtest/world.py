# SPDX-License-Identifier: BSD-2-Clause
"""What a payment meets on its way, and how each of it breaks.

    clients ── gateway ──(link)── the payment API (upstream), with a ledger
                  └─────(link)── Redis

The gateways and Redis are processes: they are killed and frozen.  Links are
relays of bytes between them: they are held, slowed and cut.  The upstream and
the clients are here, so that what was executed and what was told is known
whatever is killed."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import uuid

HERE = os.path.dirname(os.path.realpath(__file__))
READY_S = 60  # for a process that starts
ANSWER_S = 30  # for which a client waits


HELD = []  # what keeps each port until a server listens there


def free_port():
    """One that no client's connection is given meanwhile."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", 0))
    HELD.append(sock)
    return sock.getsockname()[1]


async def until(condition, what, seconds=READY_S):
    """Returns condition()'s value as soon as it is true."""
    for _ in range(int(seconds / 0.02)):
        if value := condition():
            return value
        await asyncio.sleep(0.02)
    raise TimeoutError(f"{what}: not within {seconds} s")


class Process:
    """A server with all processes that it starts."""

    def __init__(self, argv, port, folder, env=None):
        self.argv, self.port, self.folder = argv, port, folder
        self.env = {**os.environ, **(env or {})}
        self.child = None

    async def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.child = subprocess.Popen(
                self.argv, cwd=self.folder, env=self.env, stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        await until(self.answers, f"{self.argv[0]} listens ({self.folder})")

    def answers(self):
        if self.child.poll() is not None:
            raise ChildProcessError(
                f"{self.argv} has ended; see {self.folder}/log")
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", self.port)) == 0

    def signal(self, number):
        os.killpg(self.child.pid, number)

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        if self.child is not None and self.child.poll() is None:
            self.signal(signal.SIGKILL)
            self.child.wait()


class Redis(Process):
    """A redis-server that writes all that it is told to a file."""

    def __init__(self, folder, env=None):
        port = free_port()
        super().__init__(
            ["redis-server", "--port", str(port), "--save", "",
             "--appendonly", "yes"], port, folder, env)

    def lose(self):
        """Forgets its file: for one that was killed."""
        shutil.rmtree(os.path.join(self.folder, "appendonlydir"))

    def limit(self, to_bytes):
        """Beyond so many it is full, and takes nothing new; 0: no limit."""
        subprocess.run(["redis-cli", "-p", str(self.port), "CONFIG", "SET",
                        "maxmemory", str(to_bytes)],
                       check=True, stdout=subprocess.DEVNULL)


class Link:
    """A relay to a port: up is what is sent there, down what comes back."""

    def __init__(self, target):
        self.target, self.delay = target, 0
        self.open = {"up": asyncio.Event(), "down": asyncio.Event()}
        self.bytes = {"up": 0, "down": 0}  # that came, sent on or not
        self.writers = set()
        self.release()

    async def start(self, path=None):
        """At a port, and at that path of the file system."""
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        if path:
            self.socket = await asyncio.start_unix_server(self.accept, path)

    def hold(self, *directions):
        """Sends nothing on, until it is released."""
        for direction in directions:
            self.open[direction].clear()

    def release(self):
        for event in self.open.values():
            event.set()

    def cut(self):
        """Ends its connections, with what is held."""
        for writer in self.writers:
            writer.transport.abort()

    async def quiet(self, direction, more_than):
        """Waits until more bytes came, and for a second no other."""
        await until(lambda: self.bytes[direction] > more_than,
                    f"something comes {direction}")
        seen = None
        while seen != self.bytes[direction]:
            seen = self.bytes[direction]
            await asyncio.sleep(1)

    async def accept(self, reader, writer):
        try:
            there = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, there[1]}
        self.writers |= both
        await asyncio.gather(self.pump(reader, there[1], "up"),
                             self.pump(there[0], writer, "down"))
        self.writers -= both

    async def pump(self, reader, writer, direction):
        try:
            while data := await reader.read(65536):
                self.bytes[direction] += len(data)
                await asyncio.sleep(self.delay)
                await self.open[direction].wait()
                writer.write(data)
                await writer.drain()
            writer.close()
        except OSError:
            writer.transport.abort()


class Upstream:
    """The payment API: each POST is a payment, whatever it was before.  It
    knows nothing of keys: what is executed twice stands twice in its ledger."""

    def __init__(self):
        self.ledger = []  # operations, in the order of their payments
        self.then = "answer"  # or "die" after the payment, or "half"
        self.answering = asyncio.Event()
        self.answering.set()

    async def start(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def paid(self, count):
        await until(lambda: len(self.ledger) >= count,
                    f"{count} payments were made")

    async def accept(self, reader, writer):
        try:
            while request := await read_message(reader):
                await self.pay(request, writer)
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    async def pay(self, request, writer):
        operation = json.loads(request[2])["operation"]
        self.ledger.append(operation)
        body = json.dumps({"id": f"ch_{len(self.ledger)}",
                           "operation": operation}).encode()
        then = self.then
        await self.answering.wait()
        if then == "die":
            raise EOFError
        data = (b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        writer.write(data if then == "answer" else data[:-9])
        await writer.drain()
        if then == "half":
            raise EOFError


async def read_message(reader):
    """(its first line, fields, body) of HTTP/1.1; None: the end."""
    head = (await reader.readuntil(b"\r\n\r\n") if not reader.at_eof()
            else b"").decode("latin-1")
    if not head:
        return None
    first, *lines = head.split("\r\n")[:-2]
    fields = {name.lower(): value.strip() for name, _, value in (
        line.partition(":") for line in lines)}
    if fields.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(int(fields.get("content-length", 0)))
    return first, fields, body


class Operation:
    """A payment that a client wants once, with one key for all its tries."""

    def __init__(self, world):
        self.world, self.key = world, str(uuid.uuid4())
        self.told = []  # (status, fields, body); None: no answer

    async def attempt(self, gateway):
        """Sends it, and hears what comes of it."""
        body = json.dumps({"operation": self.key, "amount": 4200}).encode()
        adapter, writer = self.world.adapter, None
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", gateway.port)
            writer.write((
                f"POST {adapter.path} HTTP/1.1\r\nHost: api.example\r\n"
                f"Authorization: Bearer one\r\nConnection: close\r\n"
                f"{adapter.key_header}: {self.key}\r\n"
                f"Content-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
            first, fields, body = await asyncio.wait_for(
                read_message(reader), ANSWER_S)
            answer = int(first.split()[1]), fields, body
        except (OSError, EOFError, TypeError, asyncio.TimeoutError):
            answer = None
        finally:
            if writer is not None:
                writer.close()
        self.told.append(answer)
        return answer

    def settled(self):  # told that it happened, or that nobody knows
        return any(answer and (answer[0] < 300 or self.world.adapter.
                               says_unknown(*answer)) for answer in self.told)


class World:
    """One adapter's gateways with all that is around them."""

    def __init__(self, adapter, folder):
        self.adapter, self.folder = adapter, folder
        self.upstream, self.operations, self.tasks = Upstream(), [], []
        self.gateways, self.to_redis, self.to_upstream = [], [], []

    def below(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        return path

    async def start(self, gateways, has_clock):
        """has_clock: that of Redis may be stepped."""
        await self.upstream.start()
        folder = self.below("redis")
        self.clock = os.path.join(folder, "clock")
        library, env = self.clock + ".so", {}
        if has_clock:
            self.step_clock(0)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library,
                            os.path.join(HERE, "clock.c")], check=True)
            env = {"LD_PRELOAD": library, "CLOCK": self.clock}
        self.redis = Redis(folder, env)
        await self.redis.start()
        for number in range(gateways):
            folder, port = self.below(f"gateway-{number}"), free_port()
            to_redis, to_upstream = (
                Link(self.redis.port), Link(self.upstream.port))
            await to_redis.start(os.path.join(folder, "redis"))
            await to_upstream.start()
            self.to_redis.append(to_redis)
            self.to_upstream.append(to_upstream)
            argv, env = self.adapter.command(
                folder, port, to_redis.port, to_upstream.port)
            self.gateways.append(Process(argv, port, folder, env))
            await self.gateways[-1].start()
        self.gateway = self.gateways[0]

    def step_clock(self, seconds):
        with open(self.clock + ".new", "w", encoding="ascii") as file:
            file.write(str(seconds))
        os.replace(self.clock + ".new", self.clock)

    def begin(self, count, gateway=0):
        """So many clients send a payment each; they wait beside."""
        new = [Operation(self) for _ in range(count)]
        self.operations += new
        self.again(new, gateway)
        return new

    def again(self, operations, gateway=0):
        self.tasks += [asyncio.create_task(
            one.attempt(self.gateways[gateway])) for one in operations]

    async def answered(self):
        """All that was sent has its answer."""
        await asyncio.gather(*self.tasks)

    async def retry(self, seconds):
        """Clients send each payment again, as long as nothing was told."""
        async def one(operation):
            for number in range(int(seconds)):
                gateway = self.gateways[number % len(self.gateways)]
                await operation.attempt(gateway)
                if operation.settled():
                    return
                await asyncio.sleep(1)
        await self.answered()
        await asyncio.gather(*map(one, self.operations))
        # Once more: what was told once is what is told for ever.
        await asyncio.gather(*(operation.attempt(self.gateways[-1])
                               for operation in self.operations))

    async def end(self):
        for process in (*self.gateways, self.redis):
            process.kill()
        self.upstream.answering.set()
        for link in (*self.to_redis, *self.to_upstream):
            link.release()
            link.cut()
        await until(lambda: len(asyncio.all_tasks()) == 1, "all has ended")
