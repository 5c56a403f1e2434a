# SPDX-License-Identifier: BSD-2-Clause
"""A scripted HTTP/1.1 upstream on raw sockets.  It counts and keeps every
request with its exact bytes, and answers what it is told to, byte for byte."""

import contextlib
import socket
import threading

from .http import Broken, Message, Reader, parse_head, reset
from .wait import PATIENCE, Watched

DATE = "Mon, 02 Jan 2006 15:04:05 GMT"


def answer(status=201, body=b'{"id":"ch_1"}', fields=(), reason="Said",
           length=True):
    """The bytes of an answer, with a Date of its own."""
    lines = [f"HTTP/1.1 {status} {reason}", f"Date: {DATE}"]
    lines += [f"{name}: {value}" if value else f"{name}:"
              for name, value in fields]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


class Request(Message):
    """A request that arrived: method, target, fields, body; raw is the head's
    bytes."""

    @property
    def method(self):
        return self.first.split(" ")[0]

    @property
    def target(self):
        return self.first.split(" ")[1]


class Hold:
    """A place where requests wait: wait_arrived() waits for one, and release()
    lets all of them go on."""

    def __init__(self):
        self.arrived = threading.Event()
        self.open = threading.Event()

    def wait(self):
        self.arrived.set()
        self.open.wait(PATIENCE * 3)

    def wait_arrived(self, timeout=PATIENCE):
        assert self.arrived.wait(timeout), "no request reached the upstream"

    def release(self):
        self.open.set()


class Connection:
    """One accepted connection; scripts act on it."""

    def __init__(self, upstream, sock, number):
        self.upstream, self.sock, self.number = upstream, sock, number
        self.reader = Reader(sock)
        self.served = 0  # requests read on it
        self.done = False  # we close it
        self.closed = threading.Event()  # it is closed, by either side

    def send(self, data):
        self.sock.sendall(data)

    def close(self):
        """FIN."""
        self.done = True
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()

    def reset(self):
        """RST, unless the connection is closed by now."""
        self.done = True
        try:
            reset(self.sock)
        except OSError:
            pass

    def read(self):
        """The next request, or None at the end."""
        head = self.reader.until(b"\r\n\r\n")
        if head is None:
            return None
        first, fields = parse_head(head[:-4])
        request = Request(first, fields, b"", head)
        self.upstream.on_head(self, request)
        if request.get("Transfer-Encoding"):
            request.body = self.reader.chunks()
        elif request.get("Content-Length"):
            request.body = self.reader.exactly(
                int(request.get("Content-Length")))
        self.served += 1
        return request

    def serve(self):
        try:
            if not self.upstream.tls and self.sock.recv(
                    1, socket.MSG_PEEK) == b"\x16":
                self.send(b"HTTP/1.1 400 This is no TLS\r\n\r\n")
                return
            while not self.done:
                request = self.read()
                if request is None:
                    break
                # Whoever waits for it may change the replies at once.
                reply = self.upstream.answer_to(request)
                self.upstream.seen(request)
                reply(self, request)
        except (OSError, Broken, ValueError):
            pass  # the gateway left; what it sent is what counts
        finally:
            try:
                self.sock.close()
            except OSError:
                pass
            with self.upstream.changed:
                self.closed.set()
                self.upstream.changed.notify_all()


class Upstream(Watched):
    """Answers self.reply unless a path or a script says otherwise.

    A reply is bytes, or a function of (connection, request)."""

    def __init__(self, reply=None, backlog=1024, unix=None, tls=None,
                 at=("127.0.0.1", 0)):
        super().__init__()
        self.tls = tls  # an ssl.SSLContext
        self.unix = unix  # the path of its socket
        self.requests = []
        self.connections = []
        self.replies = {}
        self.reply = answer() if reply is None else reply
        self.on_head = lambda connection, request: None
        if unix:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(unix)
        else:
            self.listener = socket.socket()
            self.listener.bind(at)
            self.port = self.listener.getsockname()[1]
        self.listener.listen(backlog)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        if self.unix:
            return f"unix:{self.unix}"
        return f"{'https' if self.tls else 'http'}://{self.address}"

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            if sock.family == socket.AF_INET:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:  # the connection's thread shakes hands
                sock = self.tls.wrap_socket(
                    sock, server_side=True, do_handshake_on_connect=False)
            with self.changed:
                connection = Connection(self, sock, len(self.connections))
                self.connections.append(connection)
                self.changed.notify_all()
            threading.Thread(target=connection.serve, daemon=True).start()

    def seen(self, request):
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()

    def answer_to(self, request):
        path = request.target.split("?")[0]
        reply = self.replies.get(path, self.reply)
        if isinstance(reply, bytes):
            return lambda connection, request: connection.send(reply)
        return reply

    def hold(self, reply=None):
        """From now on requests wait; then they get reply."""
        hold, before = Hold(), self.reply if reply is None else reply

        def script(connection, request):
            hold.wait()
            if isinstance(before, bytes):
                connection.send(before)
            else:
                before(connection, request)
        self.reply = script
        return hold

    def count(self, path=None, key=None, method=None):
        """How many requests were executed here."""
        return sum(
            (path is None or r.target.split("?")[0] == path)
            and (key is None or r.all("Idempotency-Key") == [key])
            and (method is None or r.method == method)
            for r in self.requests)

    def wait_for(self, count, timeout=PATIENCE):
        self.wait_until(lambda: len(self.requests) >= count,
                        f"{count} requests at the upstream", timeout)

    def open_connections(self):
        return [c for c in self.connections if not c.closed.is_set()]

    def stop(self):
        """Refuses connections from now on, and cuts open ones."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for connection in self.open_connections():
            connection.close()


def close_unanswered(connection, request):
    """Executes, says nothing, FIN."""
    connection.close()


def reset_unanswered(connection, request):
    """Executes, says nothing, RST."""
    connection.reset()


def then_close(data):
    """Sends these bytes and closes."""
    def script(connection, request):
        connection.send(data)
        connection.close()
    return script


def refused_port():
    """A port that nobody listens on, reserved by the socket that is
    returned."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    return sock, sock.getsockname()[1]


def refuse_plainly(listener):
    """As servers of plain HTTP answer what is no request line."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client, contextlib.suppress(ConnectionError):
            client.recv(65536)
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n"
                           b"Content-Length: 0\r\n\r\n")
            client.recv(65536)
