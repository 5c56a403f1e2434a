# SPDX-License-Identifier: BSD-2-Clause
"""Sends pipelines to a running gateway, many at once, each from an address of
its own in 127/8: by that the upstream knows whose request it has.  What it
sees, and what the client is answered, is compared with expected.py."""

import asyncio
import re
import socket
import ssl
import time
from collections import Counter, deque

from once import tap
from pipelines import pipeline

import expected
import strict

AT_ONCE = 48
PATIENCE_S = 30
KEPT = 4000  # connections that have ended, whose requests may not come late
TOLD = 5  # of what differs; then it is enough
# Written by the gateway, whatever the client sent.
OURS = {b"host", b"via", b"x-forwarded-for", b"x-forwarded-proto",
        b"x-forwarded-host", b"x-request-id", b"idempotency-attempt",
        b"content-length", b"transfer-encoding", b"accept-encoding"}
# And what ends at the gateway; in no spelling that CGI takes for it.
ENDS = {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer",
        b"upgrade", b"expect", b"x-original-url", b"x-http-method-override"}
STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9]) [^\r\n]*")


class Wrong(Exception):
    """The gateway did what it must not, or not what it must."""


# --- the upstream: it notes whose request it has, and says its number ---

class Seen(strict.Message):
    """What the gateway sends: with the fields that it adds."""

    max_fields, max_head = 120, 20000


class Upstream(asyncio.Protocol):
    def __init__(self, differ):
        self.differ, self.data = differ, b""

    def connection_made(self, transport):
        self.transport = transport
        self.differ.upstreams.add(transport)

    def connection_lost(self, _why):
        self.differ.upstreams.discard(self.transport)

    def data_received(self, data):
        self.data += data
        while self.data:
            message = Seen()
            try:
                strict.read(self.data, 0, message)
            except strict.More:
                return
            except strict.Refused:
                self.differ.note(None, f"the upstream was sent {self.data!r}")
                self.transport.close()
                return
            self.data = self.data[message.end:]
            body = b"%d" % self.differ.arrived(message)
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n"
                                 b"\r\n" % len(body)
                                 + (body if message.method != b"HEAD" else b""))


# --- a client ---

class Line:
    """A connection on which sending may fail and reading go on."""

    async def connect(self, address, local):
        host, port = address.rsplit(":", 1)
        self.sock = socket.socket()
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.bind((local, 0))
        self.loop = asyncio.get_running_loop()
        await self.loop.sock_connect(self.sock, (host, int(port)))

    async def send(self, data):
        await self.loop.sock_sendall(self.sock, data)
        await asyncio.sleep(0)

    async def recv(self):
        return await self.loop.sock_recv(self.sock, 65536)

    def close(self):
        self.sock.close()


class TlsLine(Line):
    """The same by TLS, whose records are made and read in memory."""

    def __init__(self, context):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(
            self.incoming, self.outgoing, server_hostname="localhost")

    async def push(self):
        if self.outgoing.pending:
            await super().send(self.outgoing.read())

    async def connect(self, address, local):
        await super().connect(address, local)
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self.push()
                self.incoming.write(await super().recv())
        await self.push()

    async def send(self, data):
        self.tls.write(data)
        await self.push()

    async def recv(self):
        while True:
            try:
                return self.tls.read(65536)
            except ssl.SSLWantReadError:
                data = await super().recv()
                if not data:
                    return b""
                self.incoming.write(data)
            except ssl.SSLZeroReturnError:
                return b""


class Answer:
    def __init__(self, status, fields):
        self.status = status
        self.fields = {n.lower(): v.strip() for n, v in fields}
        self.body = b""

    def closes(self):
        return b"close" in self.fields.get(b"connection", b"").lower()

    def __repr__(self):
        return f"{self.status}{' closes' if self.closes() else ''}"


class Client:
    """One connection; answers are those that are whole."""

    def __init__(self, stream):
        self.stream, self.data = stream, b""
        self.answers = []

    def heard(self, data):
        """True: nothing more is waited for."""
        self.data += data
        while self.take_answer():
            pass
        return self.stream.is_answered(self.answers)

    def take_answer(self):
        """Takes one that is whole off the front."""
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return False
        line, at = strict.line_at(self.data, 0)
        status = STATUS.fullmatch(line)
        if status is None:
            raise Wrong("no status line")
        fields, at = strict.fields_at(self.data, at, 100)
        answer = Answer(int(status[1]), fields)
        if answer.status < 200:
            self.data = self.data[at:]
            return True
        size = int(answer.fields.get(b"content-length", b"0"))
        if self.stream.method(len(self.answers)) == b"HEAD":
            size = 0
        if len(self.data) < at + size:
            return False
        answer.body = self.data[at:at + size]
        self.data = self.data[at + size:]
        self.answers.append(answer)
        return True


def print_of_message(message):
    return message.method, message.target, message.body


class Stream:
    """One pipeline: what is to become of it, and what did."""

    def __init__(self, seed, number):
        self.number = number
        self.name, self.data, self.cuts = pipeline(seed, number)
        self.steps = expected.steps_of(self.data)
        self.seen = []  # (number, message) at the upstream
        self.over = False
        self.to_end = bool(self.steps) and self.steps[-1].closes and (
            self.steps[-1].kind != "unfinished")
        self.answers_due = sum(s.kind != "unfinished" for s in self.steps)

    def address(self):
        n = self.number
        return f"127.{1 + (n >> 16) % 126}.{(n >> 8) & 255}.{n & 255}"

    def method(self, at):
        """Of the request that the answer is to.  A head that is wrong is
        answered as what it began with."""
        return self.steps[at].message.method if at < len(self.steps) else b""

    def is_answered(self, answers):
        """Nothing more comes, and the gateway need not close."""
        return (len(answers) >= self.answers_due and not self.to_end
                and not (answers and answers[-1].closes()))

    def pieces(self):
        at = 0
        for cut in (*self.cuts, len(self.data)):
            if cut > at:
                yield self.data[at:cut]
            at = cut

    async def send(self, line):
        """The gateway may close before it has all."""
        try:
            for piece in self.pieces():
                await line.send(piece)
        except OSError:
            pass

    async def hear(self, line, client):
        try:
            while data := await line.recv():
                if client.heard(data):
                    return
        except ConnectionError:
            pass
        except (strict.Refused, strict.More) as why:
            raise Wrong(f"an answer that is none: {client.data!r}") from why

    async def run(self, line, client):
        """Sends and reads, until what is due has come."""
        sending = asyncio.create_task(self.send(line))
        try:
            if self.answers_due or self.to_end:
                await asyncio.wait_for(self.hear(line, client), PATIENCE_S)
            await sending
        except asyncio.TimeoutError:
            raise Wrong(f"no answer or no end for {PATIENCE_S} s") from None
        finally:
            self.over = True
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            line.close()

    # --- what must hold ---

    def take_seen(self, step):
        """The request that the upstream must have seen next."""
        if not self.seen:
            raise Wrong(f"the upstream never saw {step}")
        number, got = self.seen.pop(0)
        want = step.message
        for part in ("method", "target", "body"):
            if getattr(got, part) != getattr(want, part):
                raise Wrong(f"the upstream saw another {part}, "
                            f"{getattr(got, part)!r}, for {step}")
        sent = [(n.lower(), v) for n, v in want.fields]
        for name, value in got.fields:
            name = name.lower()
            if name.replace(b"_", b"-") in OURS | ENDS and (
                    name not in OURS):
                raise Wrong(f"the upstream saw {name!r}")
            if name not in OURS and (name, value) not in sent:
                raise Wrong(f"nobody sent {name!r}: {value!r}")
        for name in (expected.KEY, expected.SCOPE):
            if got.all(name) != want.all(name):
                raise Wrong(f"{name!r} is {got.all(name)!r}")
        if (got.all(b"host") or [b""])[0] != want.authority and want.authority:
            raise Wrong(f"the host is {got.all(b'host')!r}")
        return number

    def judge_keyed(self, step, answer, known):
        """Executed, or what a key that was used before gives; known: what was
        executed here, by identity."""
        print_of = print_of_message(step.message)
        before = known.get(step.identity)
        if before is None and not any(
                self.name in part for part in step.identity):
            # A key that others may use, too.
            if self.seen and print_of == print_of_message(self.seen[0][1]):
                self.take_seen(step)
            return
        if before is None:
            number = self.take_seen(step)
            known[step.identity] = (print_of, b"%d" % number)
            if (answer.status, answer.body) != (200, b"%d" % number):
                raise Wrong(f"{answer} {answer.body!r}, not that of {step}")
        elif before[0] != print_of:
            if answer.status != 422:
                raise Wrong(f"{answer}, not 422, to {step}")
        elif (answer.status, answer.body) != (200, before[1]) or (
                b"idempotent-replayed" not in answer.fields):
            raise Wrong(f"{answer} is no replay of {step}")

    def judge_answer(self, step, answer, known):
        if step.kind == "keyed":
            self.judge_keyed(step, answer, known)
        elif step.kind == "pass":
            number = self.take_seen(step)
            body = b"" if step.message.method == b"HEAD" else b"%d" % number
            if (answer.status, answer.body) != (200, body):
                raise Wrong(f"{answer} {answer.body!r}, not that of {step}")
        elif answer.status not in step.statuses:
            raise Wrong(f"{answer} to {step}")
        elif step.closes and not answer.closes():
            raise Wrong(f"{answer} does not close, to {step}")

    def judge(self, answers):
        known, at = {}, 0
        for step in self.steps:
            if step.kind == "unfinished":
                # Of a head that is none yet, much may be wrong already.
                at += len(answers) > at
                continue
            if at == len(answers):
                raise Wrong(f"no answer to {step}")
            self.judge_answer(step, answers[at], known)
            at += 1
            if answers[at - 1].closes():
                if not step.closes and not step.may_close:
                    raise Wrong(f"closed behind {step}")
                break
        if self.seen:
            raise Wrong("the upstream saw one too many: "
                        f"{[m.target for _, m in self.seen]}")
        if at < len(answers):
            raise Wrong(f"more answers than requests: {answers[at:]}")


# --- all of them ---

class Differ:
    def __init__(self, seed, tls=None):
        self.seed, self.tls = seed, tls
        self.streams = {}  # by address
        self.ended = deque()
        self.upstreams = set()
        self.number = self.sent = self.requests = self.served = 0
        self.kinds = Counter()
        self.wrong = []
        self.enough = asyncio.Event()

    def note(self, stream, words, answers=()):
        if stream is not None:
            words = (f"connection {stream.number}: {words}\n  sent "
                     f"{stream.data!r}\n  steps {stream.steps}\n  answers "
                     f"{list(answers)}")
        self.wrong.append(words)
        if len(self.wrong) >= TOLD:
            self.enough.set()

    def arrived(self, message):
        """A whole request is at the upstream; its number."""
        self.served += 1
        client = b",".join(message.all(b"x-forwarded-for")).rsplit(b",")[-1]
        stream = self.streams.get(client.strip().decode("latin-1"))
        if stream is None or stream.over:
            self.note(stream, f"{message.target!r} reached the upstream when "
                      "all was answered")
        else:
            stream.seen.append((self.served, message))
        return self.served

    def next(self, first, most, until):
        if self.number >= most or time.monotonic() > until:
            return None
        self.number += 1
        return Stream(self.seed, first + self.number - 1)

    async def one(self, stream, addresses):
        tls = stream.number % 32 == 31
        self.streams[stream.address()] = stream
        client = Client(stream)
        try:
            line = TlsLine(self.tls) if tls else Line()
            await line.connect(addresses[tls], stream.address())
            await stream.run(line, client)
            stream.judge(client.answers)
        except (Wrong, OSError) as why:
            self.note(stream, str(why), client.answers)
        self.sent += len(stream.data)
        self.requests += len(stream.steps)
        self.kinds.update(step.kind for step in stream.steps)
        self.ended.append(stream)
        if len(self.ended) > KEPT:
            del self.streams[self.ended.popleft().address()]

    async def run(self, make_gateway, first, most, seconds):
        """make_gateway(port) starts a gateway before an upstream at that
        port, and gives its addresses, without TLS and with."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: Upstream(self), "127.0.0.1", 0, backlog=1024)
        addresses = await loop.run_in_executor(
            None, make_gateway, server.sockets[0].getsockname()[1])
        until = time.monotonic() + seconds

        async def work():
            while (stream := self.next(first, most, until)) is not None:
                await self.one(stream, addresses)
        begin = time.monotonic()
        working = asyncio.gather(*(work() for _ in range(AT_ONCE)))
        enough = asyncio.create_task(self.enough.wait())
        await asyncio.wait({working, enough},
                           return_when=asyncio.FIRST_COMPLETED)
        enough.cancel()
        if working.done():
            working.result()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        took = time.monotonic() - begin
        tap.comment(f"{self.number} connections in {took:.0f} s, {self.sent} "
                    f"bytes, {self.requests} requests: " + ", ".join(
                        f"{n} {kind}" for kind, n in self.kinds.items())
                    + f"; {self.served} at the upstream")
        server.close()
        for transport in list(self.upstreams):
            transport.abort()
