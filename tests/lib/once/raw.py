# SPDX-License-Identifier: BSD-2-Clause
"""Bodies of any size, piece by piece: what is sent is generated on the way,
and what arrives is compared with that and dropped."""

import os
import socket

from .http import Broken, Client, Reader, parse_head
from .wait import PATIENCE

PIECE = os.urandom(1 << 20)


def pattern(size):
    """Size bytes, in pieces."""
    view = memoryview(PIECE)
    while size > 0:
        yield view[:min(size, len(PIECE))]
        size -= len(PIECE)


class Matches:
    """Compares bytes that must be those of pattern()."""

    def __init__(self):
        self.size = 0

    def take(self, data):
        at = 0
        while at < len(data):
            start = self.size % len(PIECE)
            count = min(len(data) - at, len(PIECE) - start)
            assert data[at:at + count] == PIECE[start:start + count], \
                f"other bytes within {count} behind {self.size}"
            self.size += count
            at += count


def send_pattern(send, size, chunked=False):
    for piece in pattern(size):
        if chunked:
            send(b"%x\r\n" % len(piece))
        send(piece)
        if chunked:
            send(b"\r\n")
    if chunked:
        send(b"0\r\n\r\n")


def read_pattern(reader, size=None, chunked=False):
    """Reads a body that must be pattern(): of that size, in chunks, or up to
    the end; its size.  Raises Broken where it is cut."""
    got = Matches()

    def some(left):
        if not reader.buffer and not reader.more():
            raise Broken(f"cut after {got.size} bytes")
        data, reader.buffer = reader.buffer[:left], reader.buffer[left:]
        got.take(data)
        return len(data)

    if chunked:
        while True:
            left = int(reader.line(), 16)
            if left == 0:
                assert reader.line() == b"\r\n"
                return got.size
            while left > 0:
                left -= some(left)
            assert reader.exactly(2) == b"\r\n"
            reader.taken = b""
    if size is not None:
        while got.size < size:
            some(size - got.size)
        return got.size
    while reader.buffer or reader.more():
        some(len(reader.buffer))
    return got.size


def head(client):
    """The head of the next answer: status, and the fields by name."""
    raw = client.reader.until(b"\r\n\r\n")
    assert raw is not None, "closed without an answer"
    first, fields = parse_head(raw[:-4])
    client.reader.taken = b""
    return int(first.split(" ")[1]), {n.lower(): v for n, v in fields}


def takes(upstream, script):
    """From now on script(connection, request) serves each connection, from the
    head on; then it is closed."""
    def on_head(connection, request):
        upstream.seen(request)
        script(connection, request)
        raise Broken("served")
    upstream.on_head = on_head


def fill(sock, data, patience=1.0):
    """Sends the same piece until nobody accepts more; how many bytes were
    accepted."""
    sock.settimeout(patience)
    sent = 0
    try:
        while True:
            sent += sock.send(data)
    except (socket.timeout, TimeoutError):
        sock.settimeout(PATIENCE)
        return sent


def small_window(address):
    """A client whose kernel buffers little."""
    client = Client.__new__(Client)
    sock = socket.socket()
    sock.settimeout(PATIENCE)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    host, port = address.rsplit(":", 1)
    sock.connect((host, int(port)))
    client.sock = sock
    client.reader = Reader(sock)
    return client


def memory(pid):
    """Resident bytes: now, and at most so far."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        fields = dict(line.split(":", 1) for line in status)
    return tuple(int(fields[name].split()[0]) * 1024
                 for name in ("VmRSS", "VmHWM"))


def unread_bytes(sock):
    """What was sent on this connection over IPv4 and the other side, a process
    of this machine, has not read yet."""
    (_, far), (_, near) = sock.getpeername(), sock.getsockname()
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    ports = [tuple(int(end.split(":")[1], 16) for end in row[1:3])
             for row in rows]
    # What is not there yet, and what was not taken there.
    return sum(int(row[4].split(":")[number], 16)
               for row, pair in zip(rows, ports)
               for number, wanted in enumerate([(near, far), (far, near)])
               if pair == wanted)
