# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 6 and 7: what may be read in two ways is never forwarded.
Each row is sent byte for byte on a connection of its own, followed by a
request that a gateway would serve if it misread the row."""

from once import tap
from once.http import Broken, Client, build, keyed, parse_head
from once.tap import each, equal, test
from once.upstream import answer

LINE = b"POST /v1/charges HTTP/1.1\r\n"
HOST = b"Host: h\r\n"
KEY = b"Authorization: a\r\nIdempotency-Key: k\r\n"
NEXT = b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"


def head(*lines, line=LINE, host=HOST):
    """A request whose fields are these bytes, with its empty line."""
    return line + host + KEY + b"".join(lines) + b"\r\n"


def field(name, value, body=b""):
    return head(name + b": " + value + b"\r\n") + body


def length(value):
    return field(b"Content-Length", value, b"hello")


def coding(value):
    return field(b"Transfer-Encoding", value, CHUNKS)


def with_line(line):
    return head(line=line + b"\r\n")


LENGTHS = [
    ("both, the length first", head(
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + CHUNKS, 400),
    ("both, the coding first", head(
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + CHUNKS, 400),
    ("the same length twice", head(b"Content-Length: 5\r\n" * 2) + b"hello",
     400),
    ("two lengths, 0 and 5", head(
        b"Content-Length: 0\r\nContent-Length: 5\r\n") + b"hello", 400),
    ("two lengths, 5 and 0", head(
        b"Content-Length: 5\r\ncontent-length: 0\r\n") + b"hello", 400),
    ("2^63", length(b"9223372036854775808"), 413),
    ("2^64 - 1", length(b"18446744073709551615"), 413),
    ("2^64", length(b"18446744073709551616"), 413),
    ("forty digits", length(b"9" * 40), 413),
] + [(repr(value)[2:-1], length(value), 400) for value in (
    b"5, 5", b"5,", b"+5", b"-5", b"-0", b"0x5", b"5a", b"a5", b"05", b"00",
    b"0005", b"", b" ", b"5 5", b"5.0", b"1e1", b"5;a", b'"5"', b"5\x0b",
    b"\x0b5", b"\xb5", b"5\x00", b"5 ", b"5\t", b"5_0", b"\xd9\xa5")]

CODINGS = [
    ("twice in two lines", head(b"Transfer-Encoding: chunked\r\n" * 2)
     + CHUNKS, 400),
    ("chunked and then identity", head(
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n")
     + CHUNKS, 400),
    ("identity and then chunked", head(
        b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n")
     + CHUNKS, 501),
    ("in HTTP/1.0", head(b"Transfer-Encoding: chunked\r\n",
                         line=b"POST /v1/charges HTTP/1.0\r\n") + CHUNKS, 400),
    ("with a blank in its name", head(b"Transfer-Encoding : chunked\r\n")
     + CHUNKS, 400),
    ("with a tab in its name", head(b"Transfer-Encoding\t: chunked\r\n")
     + CHUNKS, 400),
] + [(repr(value)[2:-1], coding(value), 501) for value in (
    b"xchunked", b"chunkedx", b"identity", b"gzip", b"gzip, chunked",
    b"chunked, gzip", b"chunked, chunked", b"chunked,", b",chunked",
    b"chunked;q=1", b"cow")
] + [(repr(value)[2:-1], coding(value), 400) for value in (
    b'"chunked"', b"chunked ", b"chunked\t", b"\x0bchunked",
    b"chunked\x0b", b"chunked\x00", b"", b"chunked\xa0",
    b"\xef\xbb\xbfchunked")]

LINES = [
    ("a fold by a space", head(b"A: b\r\n c\r\n"), 400),
    ("a fold by a tab", head(b"A: b\r\n\tc\r\n"), 400),
    ("a fold of nothing", head(b"A: b\r\n \r\n"), 400),
    ("a fold that makes a key", LINE + HOST + b"Authorization: a\r\n"
     b"Idempotency: k\r\n -Key\r\n\r\n", 400),
    ("a fold that makes a length", head(
        b"Content: 5\r\n -Length\r\n") + b"hello", 400),
    ("a fold that makes a coding", head(
        b"Transfer: chunked\r\n -Encoding\r\n") + CHUNKS, 400),
    ("a fold of the last line", head(b"A: b\r\n c\r\n"), 400),
    ("a fold of the first field", LINE + b" Host: h\r\n" + HOST + KEY
     + b"\r\n", 400),
    ("a fold of the first line", LINE + b" x\r\n" + HOST + KEY + b"\r\n", 400),
    ("bare LF behind a field", head(b"A: b\n"), 400),
    ("bare LF between fields", head(b"A: b\nC: d\r\n"), 400),
    ("bare LF behind the first line", LINE[:-2] + b"\n" + HOST + KEY
     + b"\r\n", 400),
    ("bare LF for the empty line", LINE + HOST + KEY + b"\n", 400),
    ("bare LF everywhere", head().replace(b"\r\n", b"\n"), 400),
    ("bare LF everywhere and a body", length(b"5").replace(b"\r\n", b"\n"),
     400),
    ("LF CR", head(b"A: b\n\r"), 400),
    ("CR CR LF", head(b"A: b\r\r\n"), 400),
    ("CR in a value", head(b"A: b\rC: d\r\n"), 400),
    ("CR in a name", head(b"A\rB: c\r\n"), 400),
    ("CR for the empty line", head()[:-2] + b"\r" + b"A: b\r\n\r\n", 400),
    ("a line without a name", head(b": x\r\n"), 400),
    ("a line without a name, then fields", head(b": x\r\nA: b\r\n"), 400),
    ("a line without a name and a body", head(
        b"Content-Length: 5\r\n: x\r\n") + b"hello", 400),
    ("a line that is a colon", head(b":\r\n"), 400),
    ("a line that is a colon, then a request", LINE + HOST + KEY + b":\r\n"
     + NEXT, 400),
    ("a colon for the first field", LINE + b":\r\n" + HOST + KEY + b"\r\n",
     400),
    ("a line without a colon", head(b"A\r\n"), 400),
    ("a line that begins with NUL", head(b"\x00\r\n"), 400),
    ("a line that begins with NUL, then a request", LINE + HOST + KEY
     + b"\x00\r\n" + NEXT, 400),
    ("a NUL behind the last value", head(b"A: b\x00\r\n"), 400),
]

NAMES = [("a space before the colon", head(b"A : b\r\n"), 400),
         ("a tab before the colon", head(b"A\t: b\r\n"), 400),
         ("a blank before Content-Length's", head(b"Content-Length : 5\r\n")
          + b"hello", 400),
         ("a blank before the key's", LINE + HOST + b"Authorization: a\r\n"
          b"Idempotency-Key : k\r\n\r\n", 400),
         ] + [
    (f"byte {byte:#04x}", head(b"A" + bytes([byte]) + b"B: c\r\n"), 400)
    for byte in [*range(0x21), *b'"(),/;<=>?@[\\]{}', 0x7f, 0x80, 0xff]
    if byte != 0x0a]

VALUES = [(f"byte {byte:#04x}", field(b"A", b"b" + bytes([byte]) + b"c"), 400)
          for byte in [*range(0x20), 0x7f] if byte not in (0x09, 0x0a)]

HOSTS = [("none", head(host=b""), 400),
         ("two", head(host=HOST * 2), 400),
         ("two that differ", head(host=HOST + b"Host: other\r\n"), 400),
         ("two in HTTP/1.0", head(host=HOST * 2,
                                  line=b"POST /v1/charges HTTP/1.0\r\n"), 400),
         ("with a blank", head(host=b"Host : h\r\n"), 400),
         ] + [
    (repr(value)[2:-1], head(host=b"Host: " + value + b"\r\n"), 400)
    for value in (b"", b"h h", b"h/", b"h?", b"h#", b"u@h", b"h:x",
                  b"h:-1", b"h:1:2", b"[::1", b"::1", b"h\\", b"h\x00",
                  b"<h>", b"h\xff", b"http://h", b'"h"',
                  b"h,h", b"h, h", b"%68", b"h%3a80", b"h%00", b"h%2fx",
                  b"h%40i", b"h:080", b"h:00", b"h:65536", b"h:+80", b"h: 80",
                  b":80", b".", b"..", b"h..i", b".h", b"[:]", b"[a]",
                  b"[1.2.3.4]", b"[::1]80", b"[::1]:080", b"[::1%25lo]")]

FIRST_LINES = [
    ("HTTP/1.2", with_line(b"POST /v1/charges HTTP/1.2"), 505),
    ("HTTP/2.0", with_line(b"POST /v1/charges HTTP/2.0"), 505),
    ("HTTP/3.0", with_line(b"POST /v1/charges HTTP/3.0"), 505),
    ("HTTP/0.9", with_line(b"POST /v1/charges HTTP/0.9"), (400, 505)),
    ("HTTP/1.10", with_line(b"POST /v1/charges HTTP/1.10"), (400, 505)),
    ("HTTP/01.1", with_line(b"POST /v1/charges HTTP/01.1"), (400, 505)),
    ("HTTP/1", with_line(b"POST /v1/charges HTTP/1"), (400, 505)),
    ("http/1.1", with_line(b"POST /v1/charges http/1.1"), (400, 505)),
    ("HTTP/1.1 and a blank", with_line(b"POST /v1/charges HTTP/1.1 "),
     (400, 505)),
    ("HTTP/1.1 and a tab", with_line(b"POST /v1/charges HTTP/1.1\t"),
     (400, 505)),
    ("HTTP/1.1 and NUL", with_line(b"POST /v1/charges HTTP/1.1\x00"),
     (400, 505)),
    ("HTPP/1.1", with_line(b"POST /v1/charges HTPP/1.1"), (400, 505)),
    ("no version", with_line(b"POST /v1/charges"), (400, 505)),
    ("HTTP/0.9 as it was", b"GET /v1/charges\r\n", (400, 505)),
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("a method alone", with_line(b"POST"), None),
    ("nothing but blanks", with_line(b"  "), None),
    ("two spaces behind the method", with_line(b"POST  /v1/charges HTTP/1.1"),
     400),
    ("two spaces before the version",
     with_line(b"POST /v1/charges  HTTP/1.1"), 400),
    ("a tab for a space", with_line(b"POST\t/v1/charges\tHTTP/1.1"), None),
    ("a tab behind the method", with_line(b"POST\t/v1/charges HTTP/1.1"),
     400),
    ("a space before the method", with_line(b" POST /v1/charges HTTP/1.1"),
     None),
    ("a space in the target", with_line(b"POST /v1/ch arges HTTP/1.1"), 400),
    ("a version in the target",
     with_line(b"POST /v1/charges HTTP/1.1 HTTP/1.1"), 400),
    ("CONNECT", with_line(b"CONNECT h:80 HTTP/1.1"), 405),
    ("CONNECT to a path", with_line(b"CONNECT /v1/charges HTTP/1.1"), 405),
    ("TRACE", with_line(b"TRACE /v1/charges HTTP/1.1"), 405),
    ("OPTIONS *", with_line(b"OPTIONS * HTTP/1.1"), 400),
] + [(f"the method {repr(method)[2:-1]}",
      with_line(method + b" /v1/charges HTTP/1.1"), 400)
     for method in (b"post", b"Post", b"P@ST", b"P\x01ST", b"P\x00ST",
                    b"PO(ST", b"POST:", b"P\xd3ST", b"POST\x7f", b"P" * 40)]

TARGETS = [(repr(target)[2:-1],
            with_line(b"POST " + target + b" HTTP/1.1"), 400)
           for target in (
               b"*", b"foo", b"?x", b"h:80", b"v1/charges", b"\\",
               b"/v1\\charges", b"/v1/charges#a", b"/v1/ch\x00arges",
               b"/v1/ch\x01arges", b"/v1/ch\targes", b"/v1/ch\rarges",
               b"/v1/ch\x7farges", b"/v1/ch\xc3\xa9", b"/v1/%00", b"/v1/%4",
               b"/v1/%zz", b"/v1/charges?a\x00b", b"/v1/charges?a\xffb",
               b"http:///v1/charges", b"http://u@h/v1/charges",
               b"http://h h/v1/charges", b"ftp://h/v1/charges",
               b"https//h/v1/charges", b"//h\\v1/charges",
               b"http://h,i/v1/charges", b"http://h%2f/v1/charges",
               b"http://h:080/v1/charges", b"http://:80/v1/charges",
               b"http://h:80:80/v1/charges", b"http://[a]/v1/charges",
               b"http://h@i/v1/charges", b"http://.h/v1/charges")]

EXPECTATIONS = [
    (repr(value)[2:-1], field(b"Expect", value), 417)
    for value in (b"", b"200-ok", b"100-continue, x", b"100-continue=1",
                  b"chunked", b"100 continue")
] + [("one that is met, and one that is not", head(
    b"Expect: 100-continue\r\nExpect: x\r\n"), 417)]

CHUNKED = head(b"Transfer-Encoding: chunked\r\n")
# When a body is wrong, no part of it may count as the request.
CHUNK_ODDITIES = [(repr(body)[2:-1][:40], CHUNKED + body, (400, 408, 413))
                  for body in (
    b"-5\r\nhello\r\n0\r\n\r\n", b"+5\r\nhello\r\n0\r\n\r\n",
    b"0x5\r\nhello\r\n0\r\n\r\n", b" 5\r\nhello\r\n0\r\n\r\n",
    b"5 \r\nhello\r\n0\r\n\r\n", b"g\r\nhello\r\n0\r\n\r\n",
    b"\r\nhello\r\n0\r\n\r\n", b";a=b\r\nhello\r\n0\r\n\r\n",
    b"5\r\nhelloX\r\n0\r\n\r\n", b"5\r\nhello0\r\n\r\n",
    b"ffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    b"10000000000000000\r\nhello\r\n0\r\n\r\n",
    b"fffffffffffffffff5\r\nhello\r\n0\r\n\r\n",
    b"7fffffffffffffff\r\nhello\r\n0\r\n\r\n",
    b"5\x00\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\nx\r\n\r\n",
    b"-0\r\n\r\n", b"5,\r\nhello\r\n0\r\n\r\n")]


class Table:
    """Rows against one gateway."""

    def __init__(self, bench):
        self.upstream, self.gateway = bench.pair(
            workers=1, limits={"header_timeout": "2s", "idle_timeout": "2s"})

    def said(self, data):
        """All that comes back until the connection is closed."""
        with Client(self.gateway.address) as client:
            try:
                client.send(data + NEXT)
                return client.reader.to_end()
            except (BrokenPipeError, ConnectionResetError):
                return client.reader.buffer

    def judge(self, words, data, wanted):
        """What went wrong with the row; None where it was refused."""
        said = self.said(data)
        seen = [r.first for r in self.upstream.requests]
        if seen:
            self.upstream.requests.clear()
            return f"{words}: {seen} reached the upstream; said {said!r}"
        allowed = wanted if isinstance(wanted, tuple) else (wanted,)
        if None in allowed:
            allowed += (400,)
            if said == b"":
                return None
        starts = [b"HTTP/1.1 %d " % status for status in allowed if status]
        if not said.startswith(tuple(starts)):
            return f"{words}: wanted {wanted}, said {said[:300]!r}"
        top, _, rest = said.partition(b"\r\n\r\n")
        count = dict((n.lower(), v) for n, v in parse_head(top)[1])[
            "content-length"]
        if b"application/problem+json" in top and len(rest) != int(count):
            return f"{words}: more than an answer: {said!r}"
        return None


@each([("lengths", LENGTHS), ("codings", CODINGS), ("lines", LINES),
       ("names", NAMES), ("values", VALUES), ("hosts", HOSTS),
       ("first lines", FIRST_LINES), ("targets", TARGETS),
       ("expectations", EXPECTATIONS), ("chunks", CHUNK_ODDITIES)])
def nothing_that_is_malformed_reaches_the_upstream(bench, rows):
    table = Table(bench)
    wrong = [table.judge(*row) for row in rows]
    wrong = [words for words in wrong if words]
    assert not wrong, "\n".join(wrong)
    # The gateway still works after all of it.
    equal(table.gateway.ask("after").status, 201)
    equal(table.upstream.count(), 1)


@test
def a_body_that_ends_too_early_is_never_forwarded(bench):
    table = Table(bench)
    for data in (length(b"6"), CHUNKED + b"5\r\nhell", CHUNKED
                 + b"5\r\nhello\r\n", CHUNKED + b"5\r\nhello\r\n0\r\n"):
        with Client(table.gateway.address) as client:
            client.send(data)
            client.half_close()
            said = client.reader.to_end()
            assert not said.startswith(b"HTTP/1.1 2"), (data, said)
    equal(table.upstream.count(), 0)


@test
def a_request_without_a_body_that_waits_for_100_is_served(bench):
    upstream, gateway = bench.pair(workers=1)
    for number, fields in enumerate((b"", b"Content-Length: 0\r\n")):
        for behind in (NEXT, b"", b"G"):
            del upstream.requests[:]
            data = head(b"Expect: 100-continue\r\n", fields)
            with gateway.client() as client:
                client.send(data + behind)
                got = client.read()
                equal((got.status, got.replayed),
                      (201, number > 0 or behind != NEXT))
                if behind == NEXT:
                    equal(client.read("GET").status, 201)
    got = gateway.send(LINE + HOST + b"Expect: 100-continue\r\n\r\n")
    equal(got.problem, "key-missing")


@test
def what_follows_a_body_is_the_next_request_and_not_the_body(bench):
    upstream, gateway = bench.pair()
    for number, (fields, body) in enumerate([
            (b"Content-Length: 5\r\n", b"hello"),
            (b"Content-Length:5\r\n", b"hello"),
            (b"Content-Length: 0\r\n", b""),
            (b"", b""),
            (b"Transfer-Encoding: chunked\r\n", CHUNKS),
            (b"transfer-encoding:CHUNKED\r\n", CHUNKS)]):
        del upstream.requests[:]
        data = head(fields).replace(b": k\r\n", b": k%d\r\n" % number)
        with gateway.client() as client:
            client.send(data + body + NEXT)
            equal(client.read().status, 201)
            equal(client.read("GET").status, 201)
        equal([(r.method, r.target, r.body) for r in upstream.requests],
              [("POST", "/v1/charges", b"hello" if body else b""),
               ("GET", "/smuggled", b"")], fields)


# --- what is well-formed, read strictly on the other side ---

def strict(data):
    """Reads a well-formed request, forgiving nothing: first line, fields by
    name in lower case, body."""
    top, _, body = data.partition(b"\r\n\r\n")
    first, *lines = top.split(b"\r\n")
    fields = []
    for line in lines:
        name, colon, value = line.partition(b":")
        assert colon and name and not set(name) & set(b" \t\x00\n\r"), line
        fields.append((name.lower().decode("latin-1"),
                       value.strip(b" \t").decode("latin-1")))
    named = dict(fields)
    if "transfer-encoding" in named:
        whole = b""
        while True:
            size, _, body = body.partition(b"\r\n")
            count = int(size.split(b";")[0].strip(b" \t"), 16)
            if count == 0:
                return first.decode("latin-1"), fields, whole
            whole, body = whole + body[:count], body[count + 2:]
    return (first.decode("latin-1"), fields,
            body[:int(named.get("content-length", 0))])


# The gateway's own, and what it says about the connection or the client.
OWN = {"host", "content-length", "transfer-encoding", "connection", "via",
       "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host",
       "x-request-id", "idempotency-attempt", "expect", "te", "keep-alive",
       "accept-encoding"}

GOOD = [
    ("no body", head()),
    ("a body", length(b"5")),
    ("chunks", CHUNKED + CHUNKS),
    ("chunks with leading zeros", CHUNKED + b"0005\r\nhello\r\n000\r\n\r\n"),
    ("chunks with extensions",
     CHUNKED + b"5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n"),
    ("chunks with trailers",
     CHUNKED + b"5\r\nhello\r\n0\r\nA: b\r\nIdempotency-Key: other\r\n\r\n"),
    ("many small chunks", CHUNKED + b"1\r\nx\r\n" * 500 + b"0\r\n\r\n"),
    ("upper-case sizes", CHUNKED + b"A\r\n0123456789\r\n0\r\n\r\n"),
    ("no blanks behind colons", head(b"A:b\r\nC:d\r\n")),
    ("many blanks", head(b"A:  \t b c \t \r\n")),
    ("an empty value", head(b"A:\r\nB: \r\nC: d\r\n")),
    ("an empty value at the end", head(b"A: b\r\nC:\r\n")),
    ("a tab in a value", head(b"A: b\tc\r\n")),
    ("colons in a value", head(b"A: b:c: d\r\n")),
    ("8-bit bytes in a value", head(b"A: \xc3\xa9\x80\xff\r\n")),
    ("all characters of a name", head(b"!#$%&'*+-.^_`|~09azAZ: b\r\n")),
    ("repeated fields", head(b"A: b\r\na: c\r\nA: b\r\n")),
    ("a query", with_line(b"POST /v1/charges?a=b&c&=d&&e=%41+ HTTP/1.1")),
    ("percent signs", with_line(b"POST /v1/%63harges HTTP/1.1")),
    ("dots and slashes", with_line(b"POST //v1/./x/../charges/ HTTP/1.1")),
    ("odd bytes of a path", with_line(b"POST /v1/a;b=c,d'!$&()*+:@~ HTTP/1.1")),
    ("an expectation", head(b"Expect: 100-continue\r\n"
                            b"Content-Length: 5\r\n") + b"hello"),
    ("an empty line before it", b"\r\n" + head()),
]


@each(GOOD)
def the_upstream_reads_what_a_strict_reader_does(bench, data):
    upstream, gateway = bench.pair(answer(201, b"ok"))
    with gateway.client() as client:
        for piece in (data, data.replace(b": k\r\n", b": l\r\n")):
            client.send(piece)  # twice, on one connection
            equal(client.read().status, 201)
    first, fields, body = strict(data.lstrip(b"\r\n"))
    request = upstream.requests[0]
    equal(request.first, first)
    equal(request.body, body)
    equal([(n.lower(), v) for n, v in request.fields if n.lower() not in OWN],
          [(n, v) for n, v in fields if n not in OWN])
    equal(len(upstream.requests), 2)
    equal(request.all("Transfer-Encoding"), [])
    assert len(request.all("Content-Length")) < 2
    equal(len(request.all("Host")), 1)


@test
def an_absolute_target_becomes_a_path_and_its_host(bench):
    upstream, gateway = bench.pair()
    equal(gateway.send(with_line(
        b"POST http://other:9/v1/charges?a HTTP/1.1")).status, 201)
    request = upstream.requests[0]
    equal((request.target, request.get("Host")), ("/v1/charges?a", "other:9"))


def send_begin(client, data):
    """Waits, so that it is read before what follows; nothing answers it
    yet."""
    client.send(data)
    client.sock.settimeout(0.01)
    try:
        client.reader.more()
    except TimeoutError:
        pass
    client.sock.settimeout(20)


@test
def every_split_of_a_request_is_read_the_same(bench):
    """However the head is cut into pieces, good and bad are told apart."""
    upstream, gateway = bench.pair(workers=1)
    good = head(b"A: b\r\nCookie: c=d\r\nContent-Length: 2\r\n") + b"hi"
    bad = head(b"A: b\r\n c\r\nContent-Length: 2\r\n") + b"hi"
    for at in range(1, len(good), 3):
        with gateway.client() as client:
            send_begin(client, good[:at])
            client.send(good[at:])
            equal((at, client.read().status), (at, 201))
    equal(upstream.count(), 1)
    for at in range(1, len(bad), 3):
        with gateway.client() as client:
            send_begin(client, bad[:at])
            try:
                client.send(bad[at:])
                status = client.read().status
            except (Broken, OSError) as error:
                raise AssertionError(f"at {at}: {error}") from None
            equal((at, status), (at, 400))
    equal(upstream.count(), 1)
    equal(gateway.send(keyed("k2")).status, 201)


@test
def what_is_wrong_behind_heads_that_wait_is_answered(bench):
    """Though what ends it for libmicrohttpd has no room when it is found; and
    no exchange waits, which would make it read again."""
    upstream = bench.upstream()
    config = bench.config(upstream, workers=1)
    config["routes"] = config["routes"][:1]
    gateway = bench.serve(config)
    for count, size in ((4, 5000), (4, 7500), (3, 9000), (5, 4000)):
        long = build("GET", "//x", [("A", "b" * size)])
        with gateway.client() as client:
            client.send(long * count + b"\0" * 9000)
            got = [client.read().status for _ in range(count + 1)]
        equal(got, [404] * count + [400])


tap.main()
