# SPDX-License-Identifier: BSD-2-Clause
"""Whether a rival does what it is measured for: a figure of one that forgets to
store, to compare or to refuse would be worth nothing."""

import time

from client import BODY, connect, read, request

PATH, SLOW = "/v1/charges/s200", "/v1/charges/slow"
# How often two requests are tried at once, until the second comes in time.
TRIES = 50


def ask(sock, path, key, body=BODY):
    sock.sendall(request(path, key, body))
    return read(sock)


def replayed(lines):
    return any(line.lower() == "idempotent-replayed: true" for line in lines)


def content_type(lines):
    return next(line for line in lines
                if line.lower().startswith("content-type:")).lower()


def check_replay(stage, sock, name, key):
    """Executed once; then the same bytes again, marked as such."""
    before = stage.upstream_requests()
    status, head, body = ask(sock, PATH, key)
    assert status == 200 and not replayed(head), (name, status, head)
    for _ in range(3):
        again = ask(sock, PATH, key)
        assert again[0] == 200 and again[2] == body, (name, again, body)
        assert replayed(again[1]), (name, again[1])
        assert content_type(again[1]) == content_type(head), (name, again[1])
    executed = stage.upstream_requests() - before
    assert executed == 1, f"{name}: executed {executed} times"


def check_mismatch(stage, sock, name, key):
    before = stage.upstream_requests()
    status, _, _ = ask(sock, PATH, key, BODY.replace(b"4200", b"4300"))
    assert status == 422, f"{name}: {status} for another body"
    assert stage.upstream_requests() == before, f"{name}: and executed"


def check_in_flight(stage, port, name, key):
    """The second of two at once is refused."""
    for number in range(TRIES):
        before = stage.upstream_requests()
        with connect(port, stage.options.tls) as first, \
                connect(port, stage.options.tls) as second:
            first.sendall(request(SLOW, f"{key}-{number}"))
            while stage.upstream_requests() == before:
                pass
            status, _, _ = ask(second, SLOW, f"{key}-{number}")
            assert read(first)[0] == 200, name
        assert stage.upstream_requests() - before == 1, f"{name}: twice"
        if status == 409:
            return
        assert status == 200, f"{name}: {status} for one in flight"
    raise AssertionError(f"{name}: none of {TRIES} was refused in flight")


def check(stage, name):
    key = f"promise-{name}-{time.time_ns()}"
    port = stage.rival(name).port
    with connect(port, stage.options.tls) as sock:
        check_replay(stage, sock, name, key)
        check_mismatch(stage, sock, name, key)
    check_in_flight(stage, port, name, key + "-flight")
