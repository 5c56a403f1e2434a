# SPDX-License-Identifier: BSD-2-Clause
"""A strict reader of what a client sends (RFC 9112, and what
onceproxy-limits(7) and the contract add), which shares nothing with the
gateway's own: it reads whole lines, and knows the bytes to their end."""

import ipaddress
import re

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
ODD = re.compile(rb"[^\t\x20-\x7e\x80-\xff]")
METHOD = re.compile(rb"[A-Z_-]{1,32}")
FIRST = re.compile(rb"(" + TOKEN + rb") ([\x21-\x7e]+) (HTTP/[0-9.]+)")
FIELD = re.compile(rb"(" + TOKEN + rb"):(.*)", re.S)
SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;(.*))?", re.S)
TARGET = re.compile(
    rb"(?:(?i:https?)://([^/?#]*))?((?:/[^?#]*)?(?:\?[^#]*)?)", re.S)
NAME = re.compile(rb"[0-9A-Za-z\-_~!$&'()*+;=.]+")
MAX_TRAILERS, MAX_CHUNK_LINE = 8192, 256

# How a head is refused that may be wrong in more places than one.
REFUSALS = (400, 405, 413, 417, 431, 501, 505)


class Refused(Exception):
    """The client must be answered one of these, and the connection closed."""

    def __init__(self, *statuses):
        super().__init__(statuses)
        self.statuses = statuses or REFUSALS


class More(Exception):
    """The bytes end before the message does."""


class Message:
    """One request; fields are pairs of (name, value without blanks)."""

    method = target = authority = b""
    version_1_0 = chunked = False
    length = None
    fields = ()
    max_fields, max_head = 100, 16384
    body = b""
    begun = False  # the head is whole
    end = 0  # where the next one begins

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name]

    def options(self):
        """What Connection names, in small letters."""
        lists = b",".join(self.all(b"connection")).split(b",")
        return [o.strip(b" \t").lower() for o in lists if o.strip(b" \t")]

    def has_body(self):
        return self.chunked or bool(self.length)


def line_at(data, at):
    """The line there and where the next one begins."""
    odd = ODD.search(data, at)
    if odd is None:
        raise More
    end = odd.start()
    if data[end:end + 1] != b"\r" or data[end + 1:end + 2] not in (b"", b"\n"):
        raise Refused
    if end + 1 == len(data):
        raise More
    return data[at:end], end + 2


def read_within(most, read_it, data, at, what):
    """What read_it() finds there, which must end within so many bytes."""
    some = data[:at + most]
    try:
        return read_it(some, at, what)
    except More:
        if len(some) < len(data):
            raise Refused from None
        raise


def fields_at(data, at, most_fields):
    """The field lines up to the empty one, and where that ends."""
    fields = []
    while True:
        line, at = line_at(data, at)
        if line == b"":
            return fields, at
        field = FIELD.fullmatch(line)
        if field is None:
            raise Refused
        fields.append((field[1], field[2]))
        if len(fields) > most_fields:
            raise Refused


def port_is_right(port):
    return port == b"" or (port.isdigit() and len(port) <= 5 and
                           int(port) <= 65535 and
                           (port == b"0" or port[:1] != b"0"))


def authority_is_right(text):
    """A host that all servers read in one way, and a port."""
    if text.startswith(b"["):
        host, end, rest = text[1:].partition(b"]")
        try:
            ipaddress.IPv6Address(host.decode("latin-1"))
        except ValueError:
            return False
        return (end == b"]" and b"%" not in host and
                (rest == b"" or
                 (rest[:1] == b":" and port_is_right(rest[1:]))))
    host, _, port = text.partition(b":")
    return (NAME.fullmatch(host) is not None and b".." not in host and
            not host.startswith(b".") and port_is_right(port))


def read_first(line, message):
    first = FIRST.fullmatch(line)
    if first is None:
        raise Refused
    message.method, message.target = first[1], first[2]
    if first[3] not in (b"HTTP/1.0", b"HTTP/1.1"):
        raise Refused
    message.version_1_0 = first[3] == b"HTTP/1.0"


def read_framing(message, raw):
    """How long the body is: said once, and in one way.  raw: the values with
    their blanks."""
    lengths = [v for n, v in raw if n.lower() == b"content-length"]
    codings = [v for n, v in raw if n.lower() == b"transfer-encoding"]
    for value in codings:
        if value.lstrip(b" \t").lower() != b"chunked":
            raise Refused
    if len(lengths) + len(codings) > 1 or (codings and message.version_1_0):
        raise Refused
    message.chunked = bool(codings)
    for value in lengths:
        value = value.lstrip(b" \t")
        if re.fullmatch(rb"0|[1-9][0-9]*", value) is None:
            raise Refused
        if len(value) > 18:
            raise Refused
        message.length = int(value)


def read_host(message):
    hosts = message.all(b"host")
    if len(hosts) > 1 or (not hosts and not message.version_1_0):
        raise Refused
    if hosts:
        if not authority_is_right(hosts[0]):
            raise Refused
        message.authority = hosts[0]


def read_target(message):
    target = TARGET.fullmatch(message.target)
    if target is None or (target[1] is None and target[2][:1] != b"/"):
        raise Refused
    if target[1] is not None:
        if not authority_is_right(target[1]):
            raise Refused
        message.authority = target[1]
    message.target = target[2] if target[2][:1] == b"/" else b"/" + target[2]


def read_head(data, at, message):
    """Where the body begins.  What is wrong in a line is wrong before what is
    wrong with the head as a whole; but any of it is refused."""
    first, at = line_at(data, at)
    read_first(first, message)
    raw, at = fields_at(data, at, message.max_fields)
    if sum(v.count(b";") for n, v in raw if n.lower() == b"cookie") > 499:
        raise Refused
    message.fields = [(n, v.strip(b" \t")) for n, v in raw]
    read_framing(message, raw)
    if METHOD.fullmatch(message.method) is None:
        raise Refused
    if message.method in (b"CONNECT", b"TRACE"):
        raise Refused
    read_host(message)
    if any(v.lower() != b"100-continue" for v in message.all(b"expect")):
        raise Refused
    read_target(message)
    return at


def read_chunks(data, at, message):
    """The chunks, and where the trailers end."""
    while True:
        line, at = line_at(data, at)
        size = SIZE.fullmatch(line)
        if size is None or len(line) > MAX_CHUNK_LINE:
            raise Refused
        count = int(size[1], 16)
        if count == 0:
            return read_within(MAX_TRAILERS, fields_at, data, at,
                               message.max_fields)[1]
        message.body += data[at:at + count]
        at += count
        if at >= len(data):
            raise More
        if line_at(data, at)[0] != b"":
            raise Refused
        at += 2


def read_body(data, at, message):
    """Where the message ends."""
    if message.chunked:
        return read_chunks(data, at, message)
    end = at + (message.length or 0)
    message.body = data[at:end]
    if end > len(data):
        raise More
    return end


def read(data, at, message):
    """Reads the request that begins there into message, as far as it goes.
    Raises Refused or More where it is not a whole and right one."""
    while data[at:at + 2] == b"\r\n":
        at += 2
    if at == len(data):
        raise More
    message.end = read_within(message.max_head, read_head, data, at, message)
    message.begun = True
    message.end = read_body(data, message.end, message)
    return message
