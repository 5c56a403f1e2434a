# SPDX-License-Identifier: BSD-2-Clause
"""An HTTP/1.1 client on raw sockets: sends the given bytes in the given
pieces, and shows exactly what came back."""

import json
import socket
import struct

from .wait import PATIENCE


class Broken(AssertionError):
    """The connection ended before there was a whole answer."""


def connect(address, timeout=PATIENCE):
    """A socket to "HOST:PORT" or "unix:/path"."""
    if address.startswith("unix:"):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(timeout)
        sock.connect(address[5:])
        return sock
    host, port = address.rsplit(":", 1)
    sock = socket.create_connection((host.strip("[]"), int(port)), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def reset(sock):
    """Closes with RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    sock.close()


def parse_head(head):
    """The first line and the list of (name, value), bytes as Latin-1."""
    lines = head.decode("latin-1").split("\r\n")
    fields = []
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields.append((name, value.strip(" \t")))
    return lines[0], fields


class Reader:
    """Parses messages as they arrive on a socket."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        self.taken = b""  # what was read of the message, as it came

    def more(self):
        data = self.sock.recv(65536)
        self.buffer += data
        return bool(data)

    def take(self, count):
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        self.taken += data
        return data

    def until(self, end):
        """The bytes up to and including end; None where the stream ended
        before any."""
        while end not in self.buffer:
            if not self.more():
                if self.buffer:
                    raise Broken(f"cut after {self.buffer!r}")
                return None
        return self.take(self.buffer.index(end) + len(end))

    def exactly(self, count):
        while len(self.buffer) < count:
            if not self.more():
                raise Broken(f"cut {count - len(self.buffer)} bytes too early")
        return self.take(count)

    def to_end(self):
        while self.more():
            pass
        return self.take(len(self.buffer))

    def line(self):
        """The next line within a message."""
        line = self.until(b"\r\n")
        if line is None:
            raise Broken("cut between two lines")
        return line

    def chunks(self):
        body = b""
        while True:
            size = int(self.line().split(b";")[0], 16)
            if size == 0:
                while self.line() != b"\r\n":
                    pass
                return body
            body += self.exactly(size)
            assert self.exactly(2) == b"\r\n"


class Message:
    """Fields in order; names are compared without case."""

    def __init__(self, first, fields, body, raw):
        self.first, self.fields, self.body, self.raw = first, fields, body, raw

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    def get(self, name):
        """The only value of a field; None where there is none."""
        values = self.all(name)
        assert len(values) < 2, f"{name} stands there {len(values)} times"
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)


class Response(Message):
    @property
    def status(self):
        return int(self.first.split(" ")[1])

    @property
    def replayed(self):
        return self.get("Idempotent-Replayed") == "true"

    @property
    def problem(self):
        """The name of the problem; None where it is no problem document."""
        if self.get("Content-Type") != "application/problem+json":
            return None
        return self.json()["type"].rsplit(":", 1)[-1]

    def without(self, *names):
        """All fields but these, for the comparison of two answers."""
        drop = {name.lower() for name in names}
        return [f for f in self.fields if f[0].lower() not in drop]

    def __repr__(self):
        return f"<{self.first}, {self.problem or self.body[:80]!r}>"


class Client:
    """One connection; tls: its SSL context, if it has one."""

    def __init__(self, address, timeout=PATIENCE, tls=None):
        self.sock = connect(address, timeout)
        if tls is not None:
            self.sock = tls.wrap_socket(self.sock, server_hostname="localhost")
        self.reader = Reader(self.sock)

    def send(self, data):
        self.sock.sendall(data)

    def read(self, method="POST"):
        """The next answer; None where the connection was closed instead."""
        self.reader.taken = b""
        head = self.reader.until(b"\r\n\r\n")
        if head is None:
            return None
        first, fields = parse_head(head[:-4])
        answer = Response(first, fields, b"", head)
        if answer.status in (100, 103):
            return self.read(method)
        if method == "HEAD" or answer.status in (204, 304):
            return answer
        if "chunked" in [v.lower() for v in answer.all("Transfer-Encoding")]:
            answer.body = self.reader.chunks()
        elif answer.get("Content-Length") is not None:
            answer.body = self.reader.exactly(int(answer.get("Content-Length")))
        else:
            answer.body = self.reader.to_end()
        answer.raw = self.reader.taken
        return answer

    def exchange(self, *args, **kwargs):
        data = build(*args, **kwargs)
        self.send(data)
        return self.read(data.split(b" ", 1)[0].decode("latin-1"))

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def is_closed(self):
        """Waits for the other side to close; False where bytes come
        instead."""
        try:
            return self.reader.buffer == b"" and self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self):
        self.sock.close()

    def reset(self):
        reset(self.sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def build(method="POST", target="/v1/charges", fields=(), body=None,
          host="api.example"):
    """The bytes of a request; body None sends no Content-Length."""
    lines = [f"{method} {target} HTTP/1.1"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{name}: {value}" for name, value in fields]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode("latin-1") + (body or b"")


TENANT = "Bearer token-of-tenant-a"
BODY = b'{"amount":1000,"currency":"eur"}'


def keyed(key=None, fields=(), body=BODY, target="/v1/charges", method="POST",
          tenant=TENANT):
    """The bytes of a payment with a key and a tenant."""
    own = []
    if key is not None:
        own.append(("Idempotency-Key", key))
    if tenant is not None:
        own.append(("Authorization", tenant))
    return build(method, target, own + list(fields), body)


def ask(address, data, timeout=PATIENCE, tls=None):
    """Sends a request on a connection of its own; its answer."""
    with Client(address, timeout, tls) as client:
        client.send(data)
        return client.read(data.split(b" ", 1)[0].decode("latin-1"))
