# SPDX-License-Identifier: BSD-2-Clause
"""A Redis stream with messages, and a gateway's source that reads it."""

from . import http


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
        group, = [g for g in groups
                  if as_text(g["name"]) == self.group]
        last = as_text(group["last-delivered-id"])
        unread = self.redis("XRANGE", self.name, f"({last}", "+")
        pending = self.redis("XPENDING", self.name, self.group, "-", "+",
                             "100000")
        return [p[0] for p in pending] + [e[0] for e in unread]

    def blocked(self):
        """How many clients wait for entries."""
        listed = as_text(self.redis("CLIENT", "LIST"))
        return sum("cmd=xreadgroup" in line for line in listed.split("\n"))


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
