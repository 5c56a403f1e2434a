# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 6 and 7: what an upstream may send, and what becomes of
everything else.

A malformed or truncated answer reaches nobody.  On a keyed route the client is
told that the outcome is unknown, and the record says why; on a pass-through
route it is told that the upstream failed, or the connection is cut.  Whoever
uses the pool next, a stranger, gets the answer to his own request."""

import contextlib

from once import http, tap
from once.http import Broken, build, keyed
from once.tap import each, equal, test
from once.upstream import answer

OK = b"HTTP/1.1 201 Made\r\n"
NONE = b"Content-Length: 0\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SECRET = b"SECRET"  # in what must not reach anybody


def head(*lines):
    return b"\r\n".join(lines) + b"\r\n\r\n"


# Refused as soon as it has arrived, whatever the connection does next.
BAD_HEADS = {
    "two lengths":
        OK + head(b"Content-Length: 6", b"Content-Length: 3") + SECRET,
    "two equal lengths":
        OK + head(b"Content-Length: 6", b"Content-Length: 6") + SECRET,
    "a list of lengths": OK + head(b"Content-Length: 6, 6") + SECRET,
    "a signed length": OK + head(b"Content-Length: +6") + SECRET,
    "a negative length": OK + head(b"Content-Length: -6") + SECRET,
    "a length with junk": OK + head(b"Content-Length: 6x") + SECRET,
    "a length in hex": OK + head(b"Content-Length: 0x6") + SECRET,
    "a length with zeros in front": OK + head(b"Content-Length: 06") + SECRET,
    "a length with a blank": OK + head(b"Content-Length: 6 6") + SECRET,
    "an empty length": OK + head(b"Content-Length:") + SECRET,
    "a length of 2^63":
        OK + head(b"Content-Length: 9223372036854775808") + SECRET,
    "a length of 2^64 and 6":
        OK + head(b"Content-Length: 18446744073709551622") + SECRET,
    "both lengths": OK + head(b"Content-Length: 6",
                              b"Transfer-Encoding: chunked")
    + b"6\r\nSECRET\r\n0\r\n\r\n",
    "both lengths the other way": OK + head(b"Transfer-Encoding: chunked",
                                            b"Content-Length: 6")
    + b"6\r\nSECRET\r\n0\r\n\r\n",
    "an unknown coding": OK + head(b"Transfer-Encoding: gzip") + SECRET,
    "a coding before chunked":
        OK + head(b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
    "chunked twice": OK + head(b"Transfer-Encoding: chunked",
                               b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "identity": OK + head(b"Transfer-Encoding: identity",
                          b"Content-Length: 6") + SECRET,
    "xchunked": OK + head(b"Transfer-Encoding: xchunked") + b"0\r\n\r\n",
    "chunks on HTTP/1.0": b"HTTP/1.0 201 Made\r\n"
    + head(b"Transfer-Encoding: chunked") + b"6\r\nSECRET\r\n0\r\n\r\n",
    "a folded line": OK + b"X-A: 1\r\n SECRET\r\n" + NONE,
    "a line folded with a tab": OK + b"X-A: 1\r\n\tSECRET\r\n" + NONE,
    "a blank in front of the first field": OK + b" X-A: SECRET\r\n" + NONE,
    "bare line feeds":
        b"HTTP/1.1 201 Made\nContent-Length: 6\n\nSECRET",
    "a bare line feed between fields": OK + b"X-A: 1\nX-B: 2\r\n" + NONE,
    "a bare line feed at the end": OK + b"Content-Length: 6\r\n\nSECRET",
    "a bare CR in a value": OK + b"X-A: 1\rSECRET\r\n" + NONE,
    "a CR before the CRLF": OK + b"X-A: SECRET\r\r\n" + NONE,
    "a bare CR in the reason": b"HTTP/1.1 201 Ma\rde\r\n" + NONE,
    "a NUL in a value": OK + b"X-A: SEC\0RET\r\n" + NONE,
    "a NUL in a name": OK + b"X\0A: SECRET\r\n" + NONE,
    "a NUL in the reason": b"HTTP/1.1 201 Ma\0de\r\n" + NONE,
    "a control": OK + b"X-A: \x01SECRET\r\n" + NONE,
    "a DEL": OK + b"X-A: \x7fSECRET\r\n" + NONE,
    "a space before a colon": OK + b"X-A : SECRET\r\n" + NONE,
    "a space before the length's colon":
        OK + b"Content-Length : 6\r\n\r\nSECRET",
    "a field without a colon": OK + b"SECRET\r\n" + NONE,
    "an empty name": OK + b": SECRET\r\n" + NONE,
    "a blank in a name": OK + b"X A: SECRET\r\n" + NONE,
    "8-bit in a name": OK + b"X-\xe9: SECRET\r\n" + NONE,
    "a status of 999": b"HTTP/1.1 999 SECRET\r\n" + NONE,
    "a status of 600": b"HTTP/1.1 600 SECRET\r\n" + NONE,
    "a status of 099": b"HTTP/1.1 099 SECRET\r\n" + NONE,
    "a status of 000": b"HTTP/1.1 000 SECRET\r\n" + NONE,
    "a status of 101":
        b"HTTP/1.1 101 SECRET\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "a status of two digits": b"HTTP/1.1 20 SECRET\r\n" + NONE,
    "a status of four digits": b"HTTP/1.1 2010 SECRET\r\n" + NONE,
    "a signed status": b"HTTP/1.1 +20 SECRET\r\n" + NONE,
    "two spaces before the status": b"HTTP/1.1  201 SECRET\r\n" + NONE,
    "no status": b"HTTP/1.1\r\n" + NONE,
    "HTTP/2": b"HTTP/2 201 SECRET\r\n" + NONE,
    "HTTP/2.0": b"HTTP/2.0 201 SECRET\r\n" + NONE,
    "HTTP/1.2": b"HTTP/1.2 201 SECRET\r\n" + NONE,
    "HTTP/0.9": b"SECRET\r\n",
    "http in small letters": b"http/1.1 201 SECRET\r\n" + NONE,
    "a blank in front of the status line": b" HTTP/1.1 201 SECRET\r\n" + NONE,
    "an empty line in front of the status line":
        b"\r\nHTTP/1.1 201 SECRET\r\n" + NONE,
    "a preface of HTTP/2": b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64",
    "another protocol": b"220 mail.example ESMTP SECRET\r\n",
    "a TLS alert": b"\x15\x03\x01\x00\x02\x02\x16\r\n\r\n",
    "a head without an end": OK + b"X-A: SECRET\r\n" * 20_000,
    "a line without an end": OK + b"X-A: " + b"SECRET" * 20_000,
    "too many fields": OK + b"X-A: SECRET\r\n" * 300 + NONE,
    "a flood of interim answers": b"HTTP/1.1 100 Go on\r\n\r\n" * 2000,
    "a flood of hints": b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" * 9
    + OK + NONE,
    "an interim answer that is malformed":
        b"HTTP/1.1 100 Go on\r\nX-A : 1\r\n\r\n" + OK + NONE,
}

# The head is good; where it is streamed, part of the answer is out already.
BAD_BODIES = {
    "a chunk size in C": CHUNKED + b"0x6\r\nSECRET\r\n0\r\n\r\n",
    "a signed chunk size": CHUNKED + b"+6\r\nSECRET\r\n0\r\n\r\n",
    "a blank behind a chunk size": CHUNKED + b"6 \r\nSECRET\r\n0\r\n\r\n",
    "a blank before a chunk size": CHUNKED + b" 6\r\nSECRET\r\n0\r\n\r\n",
    "no chunk size": CHUNKED + b"\r\nSECRET\r\n0\r\n\r\n",
    "a chunk size beyond all bounds":
        CHUNKED + b"FFFFFFFFFFFFFFFF6\r\nSECRET\r\n0\r\n\r\n",
    "a chunk size of 2^64 and 6":
        CHUNKED + b"10000000000000006\r\nSECRET\r\n0\r\n\r\n",
    "a bare line feed behind a chunk size":
        CHUNKED + b"6\nSECRET\r\n0\r\n\r\n",
    "a bare CR behind a chunk size": CHUNKED + b"6\rSECRET\r\n0\r\n\r\n",
    "another byte than a line feed behind a chunk size":
        CHUNKED + b"6\rXSECRET\r\n0\r\n\r\n",
    "a bare line feed behind a chunk": CHUNKED + b"6\r\nSECRET\n0\r\n\r\n",
    "a chunk longer than it says": CHUNKED + b"5\r\nSECRET\r\n0\r\n\r\n",
    "a NUL in a chunk extension":
        CHUNKED + b"6;a=\0\r\nSECRET\r\n0\r\n\r\n",
    "chunk extensions without an end": CHUNKED + b"6;" + b"e" * 10_000,
    "a trailer without a colon": CHUNKED + b"0\r\nSECRET\r\n\r\n",
    "a folded trailer": CHUNKED + b"0\r\nX-T: 1\r\n SECRET\r\n\r\n",
    "a space before a trailer's colon": CHUNKED + b"0\r\nX-T : 1\r\n\r\n",
    "a NUL in a trailer": CHUNKED + b"0\r\nX-T: \0\r\n\r\n",
    "a bare line feed in the trailers": CHUNKED + b"0\r\nX-T: 1\n\r\n",
    "trailers without an end": CHUNKED + b"0\r\n" + b"X-T: 1\r\n" * 2000,
}

BY_LENGTH = OK + b"X-A: 1\r\nContent-Length: 6\r\n\r\nSECRET"
BY_CHUNKS = CHUNKED + b"3;e=1\r\nSEC\r\n3\r\nRET\r\n0\r\nX-T: 1\r\n\r\n"

GOOD = {
    "by length": (BY_LENGTH, b"SECRET"),
    "by chunks, with trailers": (BY_CHUNKS, b"SECRET"),
    "HTTP/1.0": (b"HTTP/1.0 201 Made\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "no reason": (b"HTTP/1.1 201\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "interim answers in front":
        (b"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
         b"HTTP/1.1 102 Wait\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nhi",
         b"hi"),
    "names in small letters":
        (b"HTTP/1.1 201 Made\r\ncontent-length:2\r\n\r\nhi", b"hi"),
    "a coding in capitals":
        (OK + b"TRANSFER-ENCODING: CHUNKED\r\n\r\n2\r\nhi\r\n00\r\n\r\n",
         b"hi"),
    "bytes behind the body":
        (OK + b"Content-Length: 2\r\n\r\nhiX-Surplus: yes", b"hi"),
    "an answer behind the answer":
        (OK + b"Content-Length: 2\r\n\r\nhi" + answer(200, b"X-Surplus"),
         b"hi"),
    "bytes behind the last chunk":
        (CHUNKED + b"2\r\nhi\r\n0\r\n\r\nX-Surplus", b"hi"),
    "no content, and bytes behind it":
        (b"HTTP/1.1 204 None\r\n\r\nX-Surplus", b""),
}


class Bench:
    """A gateway with one worker, so that all connections are in one pool, and
    an upstream that answers a request with "X-Row" with that row's bytes, and
    any other one with an answer that only its sender can have."""

    def __init__(self, bench, rows, then, **options):
        self.rows, self.then = rows, then
        self.wrong = []
        self.asked = 0
        self.upstream = bench.upstream(self.script)
        self.gateway = bench.gateway(
            self.upstream, options={"max_idle": "30s", **options}, workers=1,
            admin={"listen": "127.0.0.1:0"})

    def script(self, connection, request):
        row = request.get("X-Row")
        if row is None:
            connection.send(answer(201, request.get("X-Mine").encode()))
            return
        data = self.rows[int(row)]
        connection.send(data)
        if self.then == "FIN":
            connection.close()
        elif self.then == "RST":
            connection.reset()

    def ask(self, row, use_key):
        """A row's answer; None where the connection was cut."""
        fields = [("X-Row", str(row))]
        data = (keyed(f"row-{row}", fields) if use_key else
                build("POST", f"/row/{row}", fields, b"{}"))
        with self.gateway.client() as client:
            client.send(data)
            try:
                return client.read()
            except (Broken, ConnectionResetError):
                return None

    def check(self, what, got, wanted):
        if got != wanted:
            self.wrong.append((what, got, wanted))

    def reason(self, got):
        key_id = got.json()["instance"].rsplit(":", 1)[-1]
        record = http.ask(self.gateway.ready["admin"],
                          build("GET", f"/keys/{key_id}",
                                host="localhost")).json()
        return record["state"], record["reason"]

    def stranger(self, what):
        """Another tenant uses the same pool, with a key and without."""
        self.asked += 1
        for number, data in enumerate((
                keyed(f"own-{self.asked}", tenant="Bearer of-another",
                      fields=[("X-Mine", f"mine-{self.asked}-0")]),
                build("GET", "/own",
                      [("X-Mine", f"mine-{self.asked}-1")]))):
            got = self.gateway.send(data)
            self.check((what, "the next one"), (got.status, got.body),
                       (201, b"mine-%d-%d" % (self.asked, number)))

    def held(self, what, row, reasons):
        """A row sent with a key is unknown, and stays unknown."""
        got = self.ask(row, True)
        if got is None or got.problem != "outcome-unknown":
            self.wrong.append((what, got))
            return
        self.check(what, (got.status, SECRET in got.raw), (502, False))
        state, reason = self.reason(got)
        self.check(what, (state, reason in reasons or reason),
                   ("UNKNOWN", True))
        again = self.ask(row, True)
        self.check((what, "again"), (again.status, again.problem),
                   (409, "outcome-unknown"))

    def failed(self, what, row, may_be_cut):
        """A row that passes through has failed."""
        got = self.ask(row, False)
        if got is None and may_be_cut:
            return
        self.check(what, (got and got.status, got and got.problem,
                          got is None or SECRET in got.raw),
                   (502, "upstream-failed", False))

    def end(self, count):
        equal(self.wrong, [])
        equal(self.upstream.count("/v1/charges"), count[0])
        equal(sum(r.target.startswith("/row/")
                  for r in self.upstream.requests), count[1])


THEN = [("then it waits", "wait"), ("then FIN", "FIN"), ("then RST", "RST")]


def refuse_all(bench, rows, then, reasons, may_be_cut):
    """Every row on both routes, and a stranger's request after each."""
    b = Bench(bench, list(rows.values()), then)
    for row, what in enumerate(rows):
        b.held((what, "keyed"), row, reasons)
        b.stranger(what)
        b.failed((what, "passed"), row, may_be_cut)
        b.stranger(what)
    b.end((3 * len(rows), len(rows)))


@each(THEN)
def a_malformed_head_reaches_nobody(bench, then):
    # A reset may overtake what was sent before it.
    reasons = {"malformed", "broken"} if then == "RST" else {"malformed"}
    refuse_all(bench, BAD_HEADS, then, reasons, may_be_cut=False)


@each(THEN)
def a_malformed_body_reaches_nobody_whole(bench, then):
    reasons = {"malformed", "broken"} if then == "RST" else {"malformed"}
    refuse_all(bench, BAD_BODIES, then, reasons, may_be_cut=True)


@each([(f"{how}, {then}", data, then)
       for how, data in (("by length", BY_LENGTH), ("by chunks", BY_CHUNKS))
       for then in ("FIN", "RST")])
def an_answer_that_is_cut_anywhere_is_none(bench, data, then):
    rows = {f"{at} bytes": data[:at] for at in range(len(data))}
    whole = len(data[:data.index(b"\r\n\r\n") + 4])
    b = Bench(bench, list(rows.values()), then)
    for row, what in enumerate(rows):
        b.held((what, "keyed"), row, {"broken"})
        b.failed((what, "passed"), row, may_be_cut=row >= whole)
        if row % 8 == 0:
            b.stranger(what)
    b.end((len(rows) + (len(rows) + 7) // 8, len(rows)))


@test
def a_body_that_only_ends_by_closing_is_none_with_a_key(bench):
    rows = [b"HTTP/1.1 201 Made\r\n\r\nSECRET", b"HTTP/1.0 200 OK\r\n\r\n"]
    b = Bench(bench, rows, "FIN")
    for row in range(len(rows)):
        b.held(row, row, {"malformed"})
        b.stranger(row)
    equal(b.ask(0, False).body, b"SECRET")
    equal(b.wrong, [])


@test
def what_http_allows_is_taken_and_nothing_more(bench):
    # An upstream that closes after such an answer, unannounced, may hit the
    # next request; other tests cover that.
    b = Bench(bench, [data for data, _ in GOOD.values()], "wait")
    for row, (what, (_, body)) in enumerate(GOOD.items()):
        status = 204 if what.startswith("no content") else 201
        for use_key in (True, True, False):
            got = b.ask(row, use_key)
            b.check(what, (got.status, got.body), (status, body))
            b.check((what, "surplus"), (b"Surplus" in got.raw,
                                        got.all("X-T")), (False, []))
        b.stranger(what)
    b.end((2 * len(GOOD), len(GOOD)))


@each([("by length", OK + b"Content-Length: 2\r\n\r\nhi"),
       ("by chunks", CHUNKED + b"2\r\nhi\r\n0\r\n\r\n")])
def an_upstream_that_said_too_much_is_not_asked_again_there(bench, data):
    """One surplus byte, and the rest may still be on its way."""
    upstream, gateway = bench.pair(
        data + b"H", options={"max_idle": "30s"}, workers=1)
    for number in range(4):
        equal(gateway.ask(f"k{number}").body, b"hi")
    equal(len(upstream.connections), 4)


# What a gateway might take for the next answer, sent once the connection is
# idle.
IDLE = {
    "an answer": answer(200, b"of another tenant"),
    "half an answer": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
    "a 408": b"HTTP/1.1 408 Slow\r\nConnection: close\r\n" + NONE,
    "an interim answer": b"HTTP/1.1 100 Go on\r\n\r\n",
    "an empty line": b"\r\n",
    "a chunk": b"0\r\n\r\n",
}


@each(list(IDLE.items()))
def bytes_that_come_later_are_nobodys_answer(bench, data):
    b = Bench(bench, [], "wait")
    for _ in range(3):
        b.stranger("warm")
        for connection in b.upstream.open_connections():
            # The gateway may be about to close one that spoke before.
            with contextlib.suppress(OSError):
                connection.send(data)
    b.stranger("last")
    equal(b.wrong, [])


EARLY = [("200, then it reads on", 200, False), ("413, then FIN", 413, True)]


@each(EARLY)
def an_answer_that_comes_before_the_body_counts(bench, status, close):
    """The upstream answers at the head; it has decided."""
    reply = answer(status, b"early")
    upstream = bench.upstream()
    gateway = bench.gateway(
        upstream, {"max_request_body": "8MiB"}, {"max_idle": "30s"},
        workers=1)

    def on_head(connection, request):
        if request.get("X-Early"):
            connection.send(reply)
            if close:
                connection.close()
    upstream.on_head = on_head
    upstream.reply = lambda connection, request: (
        connection.send(answer(201, b"later")) if not request.get("X-Early")
        else None)
    body = b"x" * 4_000_000
    got = gateway.ask("k", [("X-Early", "1")], body=body)
    if got.problem != "outcome-unknown":  # what came before a reset counts
        equal((got.status, got.body), (status, b"early"))
        assert gateway.ask("k", [("X-Early", "1")], body=body).replayed
    equal(gateway.ask("n", tenant="Bearer of-another").body, b"later")


tap.main()
