# SPDX-License-Identifier: BSD-2-Clause
"""A client that sends exactly as many requests as it is told, the same as
request.lua's, and reads the answers: for what is counted and not timed."""

import re
import selectors
import socket
import ssl

BODY = (b'{"amount":4200,"currency":"eur","customer":"cus_9s6XKzkNRiz8i3",'
        b'"description":"an order of the usual kind","metadata":'
        b'{"order":"6735","basket":"3a9c5f1e77"},"capture":true,"x":"12"}')
LENGTH = re.compile(rb"\r\nContent-Length: *(\d+)", re.IGNORECASE)
# How long anybody may take; valgrind makes everything fifty times as slow.
PATIENCE_S = 60
# So many keys have their answers kept, where a path is for replays.
KEPT_KEYS = 64


def request(path, key=None, body=BODY):
    fields = [("Host", "127.0.0.1"), ("Content-Type", "application/json"),
              ("Authorization", "Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc"),
              ("User-Agent", "bench/1.0"), ("Accept", "application/json"),
              ("Content-Length", len(body))]
    if key:
        fields.append(("Idempotency-Key", key))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def whole(data):
    """The head and the body of an answer, or None if there is more of it."""
    head, end, body = data.partition(b"\r\n\r\n")
    found = LENGTH.search(head)
    if not end:
        return None
    if found:
        return (head, body) if len(body) >= int(found[1]) else None
    if b"chunked" not in head.lower():
        return head, body
    return (head, unchunk(body)) if body.endswith(b"0\r\n\r\n") else None


def unchunk(body):
    parts = []
    while True:
        size, _, body = body.partition(b"\r\n")
        count = int(size, 16)
        if not count:
            return b"".join(parts)
        parts.append(body[:count])
        body = body[count + 2:]


def connect(port, tls=False):
    sock = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not tls:
        return sock
    context = ssl.create_default_context()
    context.check_hostname = False  # of a certificate for this run only
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(sock)


def read(sock):
    """One answer: its status, the lines of its head, its body."""
    data = b""
    while not (got := whole(data)):
        more = sock.recv(1 << 16)
        if not more:
            raise ConnectionError(f"closed after {data!r}")
        data += more
    lines = got[0].decode("latin-1").split("\r\n")
    return int(lines[0].split()[1]), lines[1:], got[1]


def ask(port, path, key=None, body=BODY):
    with connect(port) as sock:
        sock.sendall(request(path, key, body))
        return read(sock)


class Crowd:
    """Connections that each send a request as soon as the last is answered."""

    def __init__(self, port, connections):
        self.socks = [connect(port) for _ in range(connections)]

    def send(self, path, keys, count):
        """keys(number) is the key of a request, or None."""
        sent = done = 0
        with selectors.DefaultSelector() as waiting:
            for sock in self.socks:
                waiting.register(sock, selectors.EVENT_READ)
                sock.sendall(request(path, keys(sent)))
                sent += 1
            while done < count:
                ready = waiting.select(PATIENCE_S)
                assert ready, "no answer"
                for one, _ in ready:
                    status, _, body = read(one.fileobj)
                    assert status == 200, (status, body)
                    done += 1
                    if sent < count:
                        one.fileobj.sendall(request(path, keys(sent)))
                        sent += 1

    def close(self):
        for sock in self.socks:
            sock.close()


def keys_of(path, word):
    """How the requests of a path choose their keys, as in request.lua."""
    if path == "pass":
        return lambda number: None
    if path == "first":
        return lambda number: f"{word}-0-{number}"
    return lambda number: f"kept-fixed-{number % KEPT_KEYS + 1}"
