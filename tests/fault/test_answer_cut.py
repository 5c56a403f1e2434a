# SPDX-License-Identifier: BSD-2-Clause
"""The upstream's answer ends at byte n, for every n: a whole answer is given
and replayed, anything less is unknown, and nothing is executed again."""

from once import tap
from once.tap import each, equal
from once.upstream import DATE

HEAD = f"HTTP/1.1 201 Created\r\nDate: {DATE}\r\n".encode()
BODY = b'{"id":"ch_1"}'
ANSWERS = {
    "length": HEAD + b"Content-Length: 13\r\n\r\n" + BODY,
    "chunked": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
                + b"4\r\n" + BODY[:4] + b"\r\n9;x=y\r\n" + BODY[4:]
                + b"\r\n0\r\nTrailing: field\r\n\r\n"),
    "close-delimited": HEAD + b"\r\n" + BODY,
}
WARM = HEAD + b"Content-Length: 0\r\n\r\n"

ROWS = [(f"{framing}, {how}, {connection} connection",
         framing, how, connection)
        for framing in ANSWERS for how in ("close", "reset")
        for connection in ("fresh", "reused")]


def cut_at(data, size, how, connection):
    """A reply: its first bytes, and then the end of the connection.  Requests
    that only warm a connection up are answered, and leave it open."""
    def reply(conn, request):
        if request.get("Idempotency-Key").startswith("warm"):
            conn.send(WARM)
            return
        if (connection == "reused") != (conn.served > 1):
            conn.upstream.wrong.append(request.get("Idempotency-Key"))
        conn.send(data[:size])
        getattr(conn, how)()
    return reply


def check(first, again, size, framing, how):
    whole = size == len(ANSWERS[framing])
    if first.problem is None:
        got = (first.status, first.body)
        if framing == "close-delimited" and how == "close":
            # It ends with the connection, so whatever came is a whole answer.
            at = ANSWERS[framing].index(b"\r\n\r\n") + 4
            equal(got, (201, ANSWERS[framing][at:size]))
        else:
            assert whole, f"given, although it was cut at {size}"
            equal(got, (201, BODY))
        equal((again.status, again.body, again.replayed), (*got, True))
        equal(again.all("Date"), first.all("Date"))
    else:
        assert how == "reset" or not whole, f"refused: {first}"
        equal((first.status, first.problem), (502, "outcome-unknown"))
        equal((again.status, again.problem), (409, "outcome-unknown"))


@each(ROWS)
def an_answer_cut_at_any_byte(bench, framing, how, connection):
    data = ANSWERS[framing]
    upstream = bench.upstream()
    upstream.wrong = []
    gateway = bench.gateway(
        upstream, workers=1, options={
            "reuse": "safe" if connection == "reused" else "never",
            "close_delimited": True})
    given = 0
    for size in range(len(data) + 1):
        upstream.reply = cut_at(data, size, how, connection)
        if connection == "reused":
            equal(gateway.ask(f"warm-{size}").status, 201)
        first, again = gateway.ask(f"k-{size}"), gateway.ask(f"k-{size}")
        check(first, again, size, framing, how)
        given += first.problem is None
        equal(upstream.count(key=f"k-{size}"), 1, f"executions, {size}")
    equal(upstream.wrong, [], "not on the connection that was meant")
    assert given or how == "reset"


@each([("close", "close"), ("reset", "reset")])
def where_no_length_is_wanted_an_answer_without_one_is_unknown(bench, how):
    data = ANSWERS["close-delimited"]
    upstream = bench.upstream()
    upstream.wrong = []
    gateway = bench.gateway(upstream, workers=1, options={"reuse": "never"})
    for size in range(len(data) + 1):
        upstream.reply = cut_at(data, size, how, "fresh")
        for status in (502, 409):
            got = gateway.ask(f"k-{size}")
            equal((got.status, got.problem), (status, "outcome-unknown"))
        equal(upstream.count(key=f"k-{size}"), 1, f"executions, {size}")


tap.main()
