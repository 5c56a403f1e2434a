# SPDX-License-Identifier: BSD-2-Clause
"""A Redis stream with messages, and a gateway's source that reads it."""

import base64
import threading

from . import http
from .redis import RedisClient
from .upstream import answer
from .wait import Late, eventually


class Stream:
    """A stream of a Redis, read by the group "onceproxy"."""

    def __init__(self, redis, name="charges", group="onceproxy"):
        self.redis, self.name, self.group = redis, name, group

    def add(self, entry="*", **fields):
        """Adds an entry, "_" for "-" as it is; its id, as bytes."""
        words = [word for field in fields.items() for word in field]
        return as_bytes(self.redis("XADD", self.name, entry, *words))

    def entries(self, name):
        """The entries of a stream, as dicts of bytes."""
        return [fields_of(fields) for _, fields in
                self.redis("XRANGE", name, "-", "+") or []]

    def pending(self):
        """The ids of the group that are not acknowledged; those that were not
        even read are in there too."""
        groups = [pairs(g) for g in self.redis("XINFO", "GROUPS", self.name)]
        found = [g for g in groups if as_text(g["name"]) == self.group]
        if not found:
            return [e[0] for e in self.redis("XRANGE", self.name, "-", "+")]
        last = as_text(found[0]["last-delivered-id"])
        unread = self.redis("XRANGE", self.name, f"({last}", "+")
        pending = self.redis("XPENDING", self.name, self.group, "-", "+",
                             "100000")
        return [p[0] for p in pending] + [e[0] for e in unread]

    def blocked(self):
        """How many clients wait for entries."""
        listed = as_text(self.redis("CLIENT", "LIST"))
        return sum(" cmd=xread " in line for line in listed.split("\n"))


class Beside:
    """Messages that are executed beside one that the upstream releases: an
    attempt counts against a message only where another one of its source was
    executed since its last one.  Upstreams that release messages call
    execute() before each such answer, and answer themselves what is_one()."""

    def __init__(self, stream, body=b"{}"):
        self.stream, self.body = stream, body
        self.lock = threading.Lock()
        self.count = 0

    @staticmethod
    def is_one(key):
        return bool(key) and key.startswith("beside-")

    def execute(self, patience=10):
        """Adds one, and waits until it is acknowledged; where nobody does that
        in time, its absence is for the test to notice."""
        with self.lock:
            self.count += 1
            redis = RedisClient(self.stream.redis.path)
            try:
                own = Stream(redis, self.stream.name, self.stream.group)
                entry = own.add(body=self.body,
                                idempotency_key=f"beside-{self.count}")
                eventually(lambda: entry not in own.pending(),
                           "it is acknowledged", patience)
            except (Late, OSError, AssertionError):
                pass
            finally:
                redis.close()


def releasing(stream, refusal, good=None, body=b"{}"):
    """What an upstream says that releases all messages but those that are
    executed beside them: so their attempts count.  refusal: the answer, or a
    function of the request; None of that: good."""
    beside = Beside(stream, body)

    def script(connection, request):
        said = refusal(request) if callable(refusal) else refusal
        if said is None or Beside.is_one(request.get("Idempotency-Key")):
            connection.send(good or answer())
            return
        beside.execute()
        connection.send(said)
    return script


def ended(gateway, count, **members):
    gateway.wait_until(
        lambda: len(gateway.find_log("message", **members)) >= count,
        f"{count} messages {members}")


def id_of(position, name="charges"):
    """By which operators know the message."""
    return base64.urlsafe_b64encode(
        name.encode() + b"\0" + position).decode().rstrip("=")


def copies(stream, place=None):
    """The copies of letters in a stream's own place, in their order."""
    return [entry for entry in stream.entries(place or stream.name + ":dead")
            if "onceproxy-done" not in entry]


def marks(stream, place=None):
    """The positions of which that place says that they are done with."""
    return [entry["onceproxy-done"] for entry in
            stream.entries(place or stream.name + ":dead")
            if "onceproxy-done" in entry]


def source(config, stream, name="charges", **members):
    """Adds a source of that stream to a configuration."""
    request = {"path": "/v1/charges", "headers": {
        "Authorization": http.TENANT}, **members.pop("request", {})}
    config.setdefault("brokers", {})["queue"] = getattr(
        stream.redis, "store", None) or {"redis": stream.redis.url}
    config.setdefault("sources", {})[name] = {
        "broker": "queue", "stream": stream.name, "request": request,
        **members}


def as_bytes(value):
    return value if isinstance(value, bytes) else str(value).encode()


def as_text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def pairs(flat):
    return {as_text(k): v for k, v in zip(flat[::2], flat[1::2])}


def fields_of(flat):
    return {as_text(k): as_bytes(v) for k, v in zip(flat[::2], flat[1::2])}
