# SPDX-License-Identifier: BSD-2-Clause
"""A proxy that breaks what passes through it, when and where it is told to.

It stands between a client and a gateway, a gateway and its Redis, or a gateway
and an upstream, on TCP or a Unix socket on either side.  It knows no protocol:
whatever the near side (the one that connected) sends is requests, whatever the
far side (the target) sends is replies.  A reply begins with the first byte
that comes back after a request's, and a request with the first byte that goes
after a reply's."""

import errno
import os
import selectors
import socket
import threading
import time

from .folder import drop_folder, make_folder
from .http import reset
from .wait import PATIENCE, Watched

REQUESTS, REPLIES = "requests", "replies"
BOTH = (REQUESTS, REPLIES)
WORKABLE = (errno.EAGAIN, errno.EINTR, errno.EINPROGRESS)
ROOM = 1 << 20  # bytes that wait in a link before it reads no more


def split(address):
    """Address family and address of "unix:/path", "HOST:PORT" or such a
    URL."""
    if address.startswith("unix:"):
        return socket.AF_UNIX, address[5:]
    host, port = address.split("://")[-1].split("/")[0].rsplit(":", 1)
    return socket.AF_INET, (host, int(port))


class Cut:
    """Which requests or replies are cut, and after how many bytes."""

    def __init__(self, after_bytes, every, times, how):
        assert how in ("reset", "close")
        self.after_bytes, self.every, self.times = after_bytes, every, times
        self.how, self.seen = how, 0

    def takes(self):
        """Whether the one that begins now is cut."""
        self.seen += 1
        if self.times == 0 or self.seen % self.every:
            return False
        if self.times is not None:
            self.times -= 1
        return True


class CutWhen(Cut):
    """The first reply that begins while a condition holds."""

    def __init__(self, condition):
        super().__init__(0, 1, 1, "reset")
        self.condition = condition

    def takes(self):
        return self.times > 0 and self.condition() and super().takes()


class Way:
    """One direction of a link: from one socket, through a buffer, to the
    other."""

    def __init__(self, name, source, sink):
        self.name, self.source, self.sink = name, source, sink
        self.buffer = b""
        self.ended = False  # the source sent FIN
        self.passed_end = False  # and the sink has it
        self.left = None  # bytes until the cut; None: no cut
        self.next_at = 0  # of a trickle: when it may pass the next piece
        self.cut = None


class Link:
    """One connection through the proxy, used by the proxy's thread, or under
    the proxy's lock."""

    def __init__(self, near, far):
        self.near, self.far = near, far
        self.ways = {REQUESTS: Way(REQUESTS, near, far),
                     REPLIES: Way(REPLIES, far, near)}
        self.last = None  # who sent last
        self.connected = False
        self.dead = False  # the near side is gone; the far side drains

    def sockets(self):
        return [s for s in (self.near, self.far) if s.fileno() >= 0]


class FaultProxy(Watched):
    """Passes everything on until told otherwise.  The methods return at once,
    and are about old and new connections.  url and address say where to
    connect; retarget() changes the target.  Counters: connections, requests,
    replies (how many began), cuts, pieces (of a trickle)."""

    def __init__(self, target, unix=None):
        super().__init__()
        self.target = target
        self.connections = self.requests = self.replies = self.cuts = 0
        self.links = []
        self.cut = {REQUESTS: None, REPLIES: None}
        self.held = set()
        self.bytewise = False
        self.slow = None  # replies: (bytes of a piece, seconds behind it)
        self.pieces = 0
        self.stopped = False
        self.folder = self.listener = self.keeper = None
        family = split(target)[0]
        self.unix = family == socket.AF_UNIX if unix is None else unix
        self.selector = selectors.DefaultSelector()
        self.wakes, self.waker = socket.socketpair()
        self.wakes.setblocking(False)
        self.waker.setblocking(False)
        self.selector.register(self.wakes, selectors.EVENT_READ)
        self._bind()
        self._listen()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @property
    def url(self):
        """The address, with the scheme of the target."""
        scheme = self.target.split("://")[0] + "://"
        return (self.address if self.unix or "://" not in self.target
                else scheme + self.address)

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    # --- Methods: any thread -----------------------------------------------

    def cut_replies(self, after_bytes=0, every=1, times=1, how="reset"):
        """Of the next reply (or of every nth one, so many times; None: until
        told otherwise) only the first bytes are passed on, and then the near
        side gets RST ("reset") or FIN ("close").  The far side has done what
        it was asked to, and gets FIN.  A Unix socket has no RST; there both
        look alike."""
        self._set_cut(REPLIES, Cut(after_bytes, every, times, how))

    def cut_reply_when(self, condition):
        """The first one that begins while condition() holds, which the proxy's
        own thread asks."""
        self._set_cut(REPLIES, CutWhen(condition))

    def cut_requests(self, after_bytes=0, every=1, times=1, how="reset"):
        """The same with requests: the far side gets their first bytes, and
        then both get RST or FIN."""
        self._set_cut(REQUESTS, Cut(after_bytes, every, times, how))

    def pass_all(self):
        """No more cuts."""
        self._set_cut(REQUESTS, None)
        self._set_cut(REPLIES, None)

    def hold(self, *directions):
        """Passes nothing on, in both directions or those named ("requests",
        "replies").  Connections stay, and new ones are accepted."""
        with self.changed:
            self.held |= set(directions or BOTH)

    def release(self, *directions):
        """Passes on what was held, and everything after it."""
        with self.changed:
            self.held -= set(directions or BOTH)
        self._wake()

    def split_bytes(self, on=True):
        """Passes on every byte in a send of its own."""
        with self.changed:
            self.bytewise = on

    def trickle(self, count=None, pause_s=None):
        """Passes on so many bytes of replies at a time, with a pause behind
        them; without arguments as ever."""
        with self.changed:
            self.slow = count and (count, pause_s)
        self._wake()

    def reset_all(self):
        """RST on both sides of all connections."""
        with self.changed:
            for link in list(self.links):
                self._drop(link, reset)

    def refuse(self):
        """New connections are refused; existing ones go on."""
        with self.changed:
            while self.listener and self._take():
                pass
            self._close_listener()
        self._wake()

    def accept(self):
        """New connections are accepted again, at the same address."""
        with self.changed:
            if self.listener is None:
                self._listen()
        self._wake()

    def retarget(self, target):
        """New connections go to this target."""
        with self.changed:
            self.target = target

    def wait_cut(self, count=1, timeout=PATIENCE):
        self.wait_until(lambda: self.cuts >= count, f"{count} cuts", timeout)

    def wait_held(self, direction, timeout=PATIENCE):
        """Waits until something is held in this direction."""
        self.wait_until(
            lambda: any(link.ways[direction].buffer for link in self.links),
            f"{direction} that are held", timeout)

    def stop(self):
        with self.changed:
            self.stopped = True
        self._wake()
        self.thread.join(PATIENCE)

    # --- Inside ------------------------------------------------------------

    def _set_cut(self, direction, cut):
        with self.changed:
            self.cut[direction] = cut

    def _wake(self):
        try:
            self.waker.send(b"w")
        except OSError:
            pass

    def _bind(self):
        """Takes an address for good.  The keeper never listens, so the port
        stays ours while connections to it are refused."""
        if self.unix:
            self.folder = make_folder()
            self.address = "unix:" + os.path.join(self.folder, "proxy")
            return
        self.keeper = socket.socket()
        self.keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.keeper.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.keeper.getsockname()[1]}"

    def _listen(self):
        family, name = split(self.address)
        self.listener = socket.socket(family)
        if self.unix:
            if os.path.exists(name):
                os.unlink(name)
        else:
            self.listener.setsockopt(
                socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(name)
        self.listener.listen(256)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)

    def _close_listener(self):
        if self.listener is not None:
            self.selector.unregister(self.listener)
            # A child that another thread has just forked has it open too.
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None

    def _run(self):
        while True:
            events = self.selector.select(self._pause())
            with self.changed:
                if self.stopped:
                    break
                for key, mask in events:
                    self._on_event(key, mask)
                for link in list(self.links):
                    self._turn(link)
                self.changed.notify_all()
        self._end()

    def _pause(self):
        """How long to wait for events: until the next piece is due."""
        with self.changed:
            due = [link.ways[REPLIES].next_at for link in self.links
                   if self.slow and link.ways[REPLIES].buffer]
        return max(min(due) - time.monotonic(), 0) if due else None

    def _holds(self, way):
        return way.name in self.held or bool(
            self.slow and way.name == REPLIES
            and time.monotonic() < way.next_at)

    def _end(self):
        self._close_listener()
        for link in list(self.links):
            self._drop(link, socket.socket.close)
        for sock in (self.wakes, self.waker, self.keeper):
            if sock:
                sock.close()
        self.selector.close()
        if self.folder:
            drop_folder(self.folder)

    def _on_event(self, key, mask):
        if key.fileobj is self.wakes:
            self.wakes.recv(4096)
        elif key.fileobj is self.listener:
            self._take()
        elif key.data in self.links:
            link = key.data
            if mask & selectors.EVENT_WRITE and key.fileobj is link.far:
                link.connected = True
            if mask & selectors.EVENT_READ:
                way = (link.ways[REQUESTS] if key.fileobj is link.near
                       else link.ways[REPLIES])
                self._read(link, way)

    def _take(self):
        """Takes a connection; False where none waits."""
        try:
            near, _ = self.listener.accept()
        except OSError:
            return False
        self.connections += 1
        family, name = split(self.target)
        far = socket.socket(family)
        for sock in (near, far):
            sock.setblocking(False)
            if sock.family == socket.AF_INET:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if far.connect_ex(name) not in (0, errno.EINPROGRESS):
            far.close()
            reset(near)
            return True
        self.links.append(Link(near, far))
        return True

    def _read(self, link, way):
        try:
            data = way.source.recv(65536)
        except OSError as error:
            if error.errno not in WORKABLE:
                self._drop(link, reset)
            return
        if not data:
            way.ended = True
        elif not link.dead:
            way.buffer += data

    def _turn(self, link):
        """Passes on what may be passed on; asks for the next events."""
        for way in link.ways.values():
            if link in self.links and link.connected and not link.dead:
                self._pass(link, way)
        if link not in self.links:
            return
        ways = link.ways.values()
        if link.dead and link.ways[REPLIES].ended or all(
                way.passed_end for way in ways):
            self._drop(link, socket.socket.close)
            return
        self._watch(link)

    def _pass(self, link, way):
        while way.buffer and not self._holds(way):
            self._begin(link, way)
            count = 1 if self.bytewise else len(way.buffer)
            if self.slow and way.name == REPLIES:
                count = min(count, self.slow[0])
                way.next_at = time.monotonic() + self.slow[1]
                self.pieces += 1
            if way.left is not None:
                count = min(count, way.left)
            try:
                sent = way.sink.send(way.buffer[:count]) if count else 0
            except OSError as error:
                if error.errno not in WORKABLE:
                    self._drop(link, reset)
                return
            way.buffer = way.buffer[sent:]
            if way.left is not None:
                way.left -= sent
                if way.left == 0:
                    self._cut(link, way)
                    return
        if way.ended and not way.buffer and not way.passed_end:
            way.passed_end = True
            try:
                way.sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def _begin(self, link, way):
        """Notices the first byte of a request or reply."""
        if link.last == way.name:
            return
        link.last = way.name
        setattr(self, way.name, getattr(self, way.name) + 1)
        cut = self.cut[way.name]
        way.left = None
        if cut is not None and cut.takes():
            way.left, way.cut = cut.after_bytes, cut

    def _cut(self, link, way):
        self.cuts += 1
        end = reset if way.cut.how == "reset" else socket.socket.close
        if way.name == REQUESTS:
            self._drop(link, end)
            return
        self._forget(link.near)
        end(link.near)
        link.dead = True
        try:
            link.far.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _drop(self, link, end):
        self.links.remove(link)
        for sock in link.sockets():
            self._forget(sock)
            end(sock)

    def _forget(self, sock):
        if sock.fileno() in self.selector.get_map():
            self.selector.unregister(sock)

    def _watch(self, link):
        for way, back in ((link.ways[REQUESTS], link.ways[REPLIES]),
                          (link.ways[REPLIES], link.ways[REQUESTS])):
            sock = way.source
            if sock.fileno() < 0:
                continue
            mask = 0
            if not way.ended and len(way.buffer) < ROOM:
                mask |= selectors.EVENT_READ
            unsent = back.buffer and not self._holds(back)
            if sock is link.far and not link.connected or unsent:
                mask |= selectors.EVENT_WRITE
            known = sock.fileno() in self.selector.get_map()
            if known and not mask:
                self.selector.unregister(sock)
            elif known:
                self.selector.modify(sock, mask, link)
            elif mask:
                self.selector.register(sock, mask, link)
