# SPDX-License-Identifier: BSD-2-Clause
"""Pipelines of requests, right ones and such as are wrong in one or more
places: all of it follows from a seed and a number."""

import random

from once.http import build

HOSTS = [b"h", b"h:80", b"api.example:8080", b"[::1]", b"[::1]:443", b"", b" ",
         b"h h", b"h,h", b"u@h", b"h:", b"h:080", b"h:65536", b"h:-1", b"%68",
         b"..", b".h", b"h.", b"[a]", b"[::1", b"h/", b"h#", b"h\\", b"\xc3",
         b"h:80:80", b"127.1", b"[::1%25lo]", b"h;a", b"_h", b"http://h"]
LENGTHS = [b"+%d", b"-%d", b"0%d", b"0x%x", b"%d ", b"%d\t", b" %d", b"\t%d",
           b"%d,%d", b"%d, %d", b"%d;a", b"\"%d\"", b"%d.0", b"%de0", b"", b" ",
           b"%d\x0b", b"\x0b%d", b"%d\x00", b"%d_0", b"18446744073709551616",
           b"9223372036854775808", b"99999999999999999999999999999999999",
           b"1048577", b"1048576", b"70000", b"\xd9\xa5", b"%d%%", b"00%d"]
CODINGS = [b"chunked", b"Chunked", b"CHUNKED", b" chunked", b"chunked ",
           b"chunked\t", b"\tchunked", b"\"chunked\"", b"chunked,",
           b",chunked", b"chunked, chunked", b"gzip, chunked",
           b"chunked, gzip", b"identity", b"gzip", b"xchunked", b"chunkedx",
           b"chunked;q=1", b"", b"chunked\x00", b"\x0bchunked", b"chun\tked",
           b"identity, chunked", b"cow", b"chunked\xa0"]
NAMES = [b"Content-Length", b"content-length", b"CONTENT-LENGTH",
         b"Content_Length", b"Content-Length ", b"Content-Length\t",
         b" Content-Length", b"Content-Length\x00", b"Content\rLength",
         b"\xefContent-Length", b"Content-Lengt\x68", b"Content Length",
         b"Transfer-Encoding", b"transfer-encoding", b"Transfer_Encoding",
         b"Transfer-Encoding ", b" Transfer-Encoding", b"Transfer-Encodin",
         b"Transfer-Encoding\x0b", b"X-Transfer-Encoding", b"TE"]
CONNECTIONS = [b"close", b"keep-alive", b"Close", b"close, keep-alive",
               b"keep-alive, X-A", b"Content-Length", b"Transfer-Encoding",
               b"Host", b"Idempotency-Key", b"authorization", b"X-A", b",",
               b"", b"upgrade", b"X-Forwarded-For", b"TE, close", b"x,close",
               b"closed", b"\"close\"", b"close;a"]
FIELDS = [(b"X-A", b"b"), (b"X-A", b""), (b"X-A", b"a" * 9000),
          (b"X-A", b"a" * 40000), (b"Expect", b"100-continue"),
          (b"Expect", b"100-Continue"), (b"Expect", b"200-ok"),
          (b"Expect", b""), (b"Cookie", b"a=b; c=d"), (b"Cookie", b";" * 499),
          (b"Cookie", b";" * 500), (b"COOKIE", b"a"), (b"Trailer", b"X-A"),
          (b"TE", b"trailers"), (b"Upgrade", b"h2c"),
          (b"Idempotency_Key", b"other"), (b"Idempotency-Attempt", b"99"),
          (b"Idempotency_Attempt", b"99"), (b"X-Forwarded-For", b"192.0.2.1"),
          (b"X_Forwarded_For", b"192.0.2.1"),
          (b"X-Original-URL", b"/v1/charges"),
          (b"X-HTTP-Method-Override", b"POST"), (b"Via", b"1.1 a"),
          (b"X-Request-Id", b"mine"), (b"Keep-Alive", b"timeout=1"),
          (b"Proxy-Connection", b"close"), (b"Content-Type", b"a/b"),
          (b"X-A", b"Content-Length: 5"), (b"X-\xe9", b"a"), (b"", b"a"),
          (b"X-A", b"a\x00b"), (b"X-A", b"a\rb"), (b"X-A", b"a\nb"),
          (b"X-A", b"a\x7fb"), (b"X-A", b"\xff\x80"), (b"HTTP2-Settings", b"")]
PATHS = [b"/v1/charges/", b"//v1/charges", b"/v1//charges", b"/v1/./charges",
         b"/v1/x/../charges", b"/v1/charges/..", b"/v1/%63harges",
         b"/v1%2Fcharges", b"/v1%2fcharges", b"/static/..%2Fv1/charges",
         b"/a/%2e%2e/v1/charges", b"/a%2f..%2fv1/charges",
         b"/a//../v1/charges",
         b"/v1/charges?a=b", b"/v1/charges;a", b"/v1/charges%00",
         b"/v1\\charges", b"/v1%5Ccharges", b"/V1/CHARGES", b"/v1/charges#a",
         b"/v1/charges%", b"/v1/charges%4", b"*", b"", b"v1/charges",
         b"http://h/v1/charges", b"http://i/v1/charges", b"HTTP://h/x",
         b"https://h/v1/charges", b"http://h", b"http://h?a", b"http:///x",
         b"http://u@h/x", b"ftp://h/x", b"h:80", b"/x\xc3", b"/x\x01y",
         b"/?http://h/v1/charges", b"/x%2f..%2f..%2fv1%2fcharges", b"/.",
         b"/..", b"http://h,i/x", b"http://[::1]:8/x", b"/v1/charges/%2e",
         b"/a%2Fb/../c"]
VERSIONS = [b"HTTP/1.0", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/0.9", b"http/1.1",
            b"HTTP/1.1 ", b"HTTP/1.10", b"HTTP/01.1", b"HTTP/1", b"HTTP/1.1x",
            b"", b"HTTP/1,1", b"HTTP /1.1", b"HTTP/1.1\t", b"HTTPS/1.1"]
METHODS = [b"GET", b"HEAD", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"QUERY",
           b"post", b"Post", b"CONNECT", b"TRACE", b"P@ST", b"POST\x00", b"",
           b"A" * 32, b"A" * 33, b"M-SEARCH", b"GET_IT", b"GET1", b"PRI"]
KEYS = [b"", b'""', b'"%s"', b'"%s";a=1', b'"%s', b"%s,b", b"%s;a", b"%s b",
        b".", b"..", b'"."', b"a" * 256, b"%s\xff", b'"a\\"%s"', b'"a\\b%s"',
        b'"%s" ', b'"%s" x', b'"%s";A', b"\t%s", b'"%s";a=?1;b="c"', b"'%s'"]
SCOPES = [b"", b" ", b"a,%s", b"Bearer  %s", b"\xff%s", b"%s,", b"\"%s\""]
ENDS = [b"\n", b"\r", b"\r\r\n", b"\n\r", b"", b" \r\n", b"\x00\r\n", b"\t\r\n",
        b"\r\n ", b"\r\n\t", b"\x0b\r\n", b"\r\n\r\n"]
BEFORE = [b"\r\n", b"\r\n\r\n", b"\n", b"\r", b" ", b"\x00", b"\t", b"x", b"0",
          b"\x16\x03\x01\x02\x00\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
          b"HTTP/1.1 200 OK\r\n\r\n", b"0\r\n\r\n", b"\r\n0\r\n\r\n"]
SIZES = [b"%X", b"0%x", b"000000000000%x", b"+%x", b"-%x", b"0x%x", b" %x",
         b"%x ", b"%x\t", b"", b"%xg", b"%x\x00", b"%x,", b"%x\x0b",
         b"ffffffffffffffff", b"1000000000000000%x", b"fffffffffffffff",
         b"0000000000000000%x", b"%xh", b"%x.", b"%x_0", b"\xef\xbc\x91"]
EXTENSIONS = [b";", b";a", b";a=b", b";a=\"b;c\"", b"; a", b" ;a", b";a\r",
              b";a\x00", b";a\nb", b";a\rb", b";" + b"a" * 254,
              b";" + b"a" * 255, b";a\t", b";\xff", b";a\x7f", b";a=\"\r\n\""]
TRAILERS = [b"X-T: a\r\n", b"Content-Length: 5\r\n", b"X-T : a\r\n",
            b"Transfer-Encoding: chunked\r\n", b" folded\r\n", b": a\r\n",
            b"X-T\r\n", b"X-T: a\n", b"X-T: \x00\r\n", b"X-T: a\r\r\n",
            b"Idempotency-Key: t\r\n", b"Host: t\r\n", b"Connection: close\r\n",
            b"A: b\r\n" * 100, b"A: b\r\n" * 101, b"X-T: a\rb\r\n",
            b"A: " + b"b" * 9000 + b"\r\n"]


class Draft:
    """A request whose parts can be made wrong one by one."""

    def __init__(self, dice, name, number):
        self.dice, self.name = dice, name
        self.before = b""
        self.blanks = [b" ", b" "]
        self.version, self.end = b"HTTP/1.1", b"\r\n"
        self.method = dice.choice([b"POST", b"POST", b"GET", b"PUT", b"HEAD"])
        self.key = b"k%d-%s" % (dice.choice([number, number, 0]), name)
        self.target = {
            b"POST": b"/v1/charges", b"PUT": b"/v1/optional"}.get(
                self.method, b"/x/%d" % number)
        if dice.random() < 0.15:
            self.target = b"/y"
        self.fields = [[b"Host", b": ", b"h", b"\r\n"],
                       [b"Authorization", b": ", b"T " + name, b"\r\n"],
                       [b"Idempotency-Key", b": ", self.key, b"\r\n"]]
        if self.method in (b"GET", b"HEAD"):
            del self.fields[1:]
        self.data = self.content()
        self.framing = dice.choice(["none", "length", "length", "chunked",
                                    "chunked"])
        if self.framing == "none":
            self.data = b""
        if self.framing == "length":
            self.add(b"Content-Length", b"%d" % len(self.data))
        if self.framing == "chunked":
            self.add(b"Transfer-Encoding", b"chunked")
        self.chunks = self.cut_chunks() if self.framing == "chunked" else []
        self.last, self.trailers, self.over = [b"0", b"", b"\r\n"], b"", b"\r\n"

    def content(self):
        """A body; some are requests, which must never become any."""
        kind = self.dice.random()
        if kind < 0.3:
            return b"hello"
        if kind < 0.4:
            return b""
        hidden = build("GET", "/smuggled").replace(
            b"api.example", b"h")
        if kind < 0.7:
            return b"0\r\n\r\n" + hidden
        if kind < 0.9:
            return hidden
        return bytes(self.dice.choices(b"\r\n0123:; \0ab", k=60))

    def cut_chunks(self):
        """[size, extension, end, data, end] each."""
        at, chunks = 0, []
        while at < len(self.data):
            size = self.dice.choice([1, 5, 16, 40, 1000])
            data = self.data[at:at + size]
            chunks.append([b"%x" % len(data), b"", b"\r\n", data, b"\r\n"])
            at += size
        return chunks

    def add(self, name, value):
        at = self.dice.randrange(len(self.fields) + 1)
        self.fields.insert(at, [name, b": ", value, b"\r\n"])

    def field(self, name):
        """The field of that name, or any."""
        named = [f for f in self.fields if f[0] == name]
        return named[0] if named else self.dice.choice(self.fields)

    def render(self):
        body = self.data
        if self.framing == "chunked":
            body = b"".join(b"".join(chunk) for chunk in self.chunks)
            body += b"".join(self.last) + self.trailers + self.over
        return (self.before + self.method + self.blanks[0] + self.target
                + self.blanks[1] + self.version + b"\r\n"
                + b"".join(b"".join(field) for field in self.fields)
                + self.end + body)


def numbered(text, number):
    """A text of one of the tables, its numbers filled in."""
    fills = text.replace(b"%%", b"").count(b"%")
    if fills == 0 or b"%6" in text:
        return text
    return text % ((number,) * fills)


# --- what is made wrong, or odd: each does one thing to a draft ---

def odd_method(d):
    d.method = d.dice.choice(METHODS)


def odd_target(d):
    d.target = d.dice.choice(PATHS)


def odd_version(d):
    d.version = d.dice.choice(VERSIONS)


def old_version(d):
    d.version = b"HTTP/1.0"
    if d.dice.random() < 0.6:
        d.add(b"Connection", d.dice.choice(CONNECTIONS[:4]))


def odd_blank(d):
    d.blanks[d.dice.randrange(2)] = d.dice.choice(
        [b"  ", b"\t", b"", b" \t", b"\r", b"\x0b", b"\x00", b"\r\n"])


def odd_host(d):
    d.field(b"Host")[2] = d.dice.choice(HOSTS)


def other_hosts(d):
    if d.dice.random() < 0.5:
        d.fields = [f for f in d.fields if f[0] != b"Host"] or d.fields
    else:
        d.add(d.dice.choice([b"Host", b"host"]), d.dice.choice(HOSTS))


def odd_length(d):
    value = numbered(d.dice.choice(LENGTHS), len(d.data))
    if d.dice.random() < 0.5:
        d.add(b"Content-Length", value)
    else:
        d.field(b"Content-Length")[2] = value


def wrong_length(d):
    size = max(0, len(d.data) + d.dice.choice([-5, -1, 0, 1, 2, 30]))
    d.field(b"Content-Length")[2] = b"%d" % size


def odd_coding(d):
    value = d.dice.choice(CODINGS)
    if d.dice.random() < 0.5:
        d.add(b"Transfer-Encoding", value)
    else:
        d.field(b"Transfer-Encoding")[2] = value


def odd_name(d):
    field = d.field(d.dice.choice([b"Content-Length", b"Transfer-Encoding"]))
    field[0] = d.dice.choice(NAMES)


def second_framing(d):
    value = d.dice.choice([b"%d" % len(d.data), b"0", b"5", b"chunked"])
    name = d.dice.choice(NAMES)
    d.add(name, value)


def more_fields(d):
    for _ in range(d.dice.choice([1, 1, 2, 3, 95, 100])):
        d.add(*d.dice.choice(FIELDS[:2] if len(d.fields) > 10 else FIELDS))


def connection(d):
    d.add(d.dice.choice([b"Connection", b"connection"]),
          d.dice.choice(CONNECTIONS))


def odd_separator(d):
    d.dice.choice(d.fields)[1] = d.dice.choice(
        [b":", b":  ", b":\t", b" : ", b"", b"\t:", b"::", b"=", b":\r\n ",
         b": \t ", b"\x00:", b":\x0b"])


def odd_end(d):
    d.dice.choice(d.fields)[3] = d.dice.choice(ENDS)


def odd_end_of_head(d):
    d.end = d.dice.choice(ENDS)


def odd_key(d):
    d.field(b"Idempotency-Key")[2] = numbered_name(
        d, d.dice.choice(KEYS))


def odd_scope(d):
    d.field(b"Authorization")[2] = numbered_name(d, d.dice.choice(SCOPES))


def numbered_name(d, text):
    return text.replace(b"%s", d.key)


def no_field(d):
    d.fields.remove(d.dice.choice(d.fields))
    d.fields = d.fields or [[b"X-A", b": ", b"b", b"\r\n"]]


def twice(d):
    d.fields.insert(d.dice.randrange(len(d.fields) + 1),
                    list(d.dice.choice(d.fields)))


def odd_before(d):
    d.before = d.dice.choice(BEFORE)


def odd_size(d):
    chunk = d.dice.choice(d.chunks + [d.last])
    size = len(chunk[3]) if len(chunk) > 3 else 0
    chunk[0] = numbered(d.dice.choice(SIZES), size)


def wrong_size(d):
    if d.chunks:
        chunk = d.dice.choice(d.chunks)
        size = max(0, len(chunk[3]) + d.dice.choice([-2, -1, 1, 2, 3]))
        chunk[0] = b"%x" % size


def odd_extension(d):
    d.dice.choice(d.chunks + [d.last])[1] = d.dice.choice(EXTENSIONS)


def odd_chunk_end(d):
    d.dice.choice(d.chunks + [d.last])[2] = d.dice.choice(ENDS)


def odd_data_end(d):
    if d.chunks:
        d.dice.choice(d.chunks)[4] = d.dice.choice(ENDS)


def no_last_chunk(d):
    d.last = [b"", b"", b""]


def odd_trailers(d):
    d.trailers = b"".join(d.dice.choices(TRAILERS, k=d.dice.choice([1, 1, 2])))


def odd_over(d):
    d.over = d.dice.choice(ENDS)


OF_HEADS = [odd_method, odd_target, odd_target, odd_version, old_version,
            odd_blank, odd_host, other_hosts, odd_length, odd_length,
            wrong_length, odd_coding, odd_coding, odd_name, second_framing,
            second_framing, more_fields, more_fields, connection, connection,
            odd_separator, odd_end, odd_end_of_head, odd_key, odd_key,
            odd_scope, no_field, twice, odd_before]
OF_CHUNKS = [odd_size, odd_size, wrong_size, odd_extension, odd_chunk_end,
             odd_data_end, no_last_chunk, odd_trailers, odd_over]


# --- what is done to the bytes of all of it ---

def spoil(dice, data):
    """One small change anywhere."""
    at = dice.randrange(len(data))
    byte = bytes([dice.choice(b"\0\t\n\r :;,0159aAf\x7f\x80\xff\"/%\\")])
    kind = dice.randrange(6)
    if kind == 0:
        return data[:at] + byte + data[at:]
    if kind == 1:
        return data[:at] + byte + data[at + 1:]
    if kind == 2:
        return data[:at] + data[at + dice.choice([1, 1, 2, 8]):]
    size = dice.choice([1, 2, 4, 20])
    if kind == 3:
        return data[:at + size] + data[at:]
    if kind == 4:
        to = dice.randrange(len(data))
        return data[:at] + data[to:to + size] + data[at:]
    return data[:at] if dice.random() < 0.3 else data[:at] + data[at + 2:]


def draft(dice, name, number):
    d = Draft(dice, name, number)
    for _ in range(dice.choice([0, 0, 0, 1, 1, 2, 3])):
        some = OF_HEADS
        if d.framing == "chunked" and dice.random() < 0.5:
            some = OF_CHUNKS
        dice.choice(some)(d)
    return d.render()


def cuts_of(dice, data):
    """Where the bytes are cut for sending."""
    kind = dice.random()
    if kind < 0.3:
        return []
    if kind < 0.4 and len(data) < 600:
        return list(range(1, len(data)))
    if kind < 0.6:
        ends = [at for at in range(1, len(data))
                if data[at - 1:at] in b"\r\n"]
        return sorted(dice.sample(ends, min(len(ends), 6)))
    return sorted(dice.randrange(len(data))
                  for _ in range(dice.randrange(1, 6)))


def pipeline(seed, number):
    """The name, the bytes and the cuts of a connection."""
    dice = random.Random(f"{seed}:{number}")
    name = b"%016x" % dice.getrandbits(64)
    data = b"".join(draft(dice, name, at)
                    for at in range(dice.choice([1, 1, 2, 2, 3, 5])))
    for _ in range(dice.choice([0, 0, 0, 0, 1, 1, 2])):
        data = spoil(dice, data) or b"G"
    # It shows where what was before it ended.
    if dice.random() < 0.85:
        data += build("GET", "/last", [("Connection", "close")])
    return name, data, cuts_of(dice, data)
