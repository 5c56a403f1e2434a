# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 7: what was sent is never sent again, and bytes that were
waiting on an idle connection are nobody's answer.

HTTP libraries send a POST again when a kept-alive connection turns out to be
dead.  Here the upstream reads the whole POST on such a connection and closes
it, and must have seen the POST exactly once."""

import itertools
import os
import subprocess
import threading

from once import tap
from once.gateway import program
from once.http import build, keyed
from once.tap import each, equal, test
from once.upstream import (answer, close_unanswered, refused_port,
                           reset_unanswered, then_close)
from once.wait import eventually


def warm(bench, gateway, upstream, count):
    """Leaves count idle connections between gateway and upstream."""
    if count == 0:
        return
    before, seen = upstream.reply, len(upstream.requests)
    hold = upstream.hold(answer(200, b"warm"))
    tasks = [bench.background(gateway.send, build("GET", f"/warm/{n}"))
             for n in range(count)]
    upstream.wait_for(seen + count)
    hold.release()
    for task in tasks:
        equal(task.result().status, 200)
    upstream.reply = before
    equal(len(upstream.open_connections()), count, "idle connections")


def one_worker(bench, reply=None, idempotency=None, **options):
    """One worker, so that all idle connections are in its pool."""
    upstream = bench.upstream(reply)
    gateway = bench.gateway(upstream, idempotency,
                            {"max_idle": "30s", **options}, workers=1)
    return upstream, gateway


ENDS = {"FIN": close_unanswered, "RST": reset_unanswered,
        "half a status line": then_close(b"HTTP/1.1 2"),
        "an interim answer": then_close(b"HTTP/1.1 100 Continue\r\n\r\n")}
BODIES = {"an empty": b"", "a small": b"{}", "a large": b"x" * 500_000}


@each([(f"{idle} idle, {end}, {size} body", idle, ENDS[end], BODIES[size])
       for idle in (0, 1, 8) for end in ENDS for size in BODIES])
def a_post_that_gets_no_answer_is_seen_once(bench, idle, end, body):
    upstream, gateway = one_worker(bench)
    warm(bench, gateway, upstream, idle)
    upstream.replies["/v1/charges"] = end
    first = gateway.ask("k", body=body)
    equal((first.status, first.problem), (502, "outcome-unknown"))
    again = gateway.ask("k", body=body)
    equal((again.status, again.problem), (409, "outcome-unknown"))
    equal(upstream.count("/v1/charges"), 1)
    equal(upstream.requests[-1].body == body, True)


@each([(f"{idle} idle", idle) for idle in (0, 1, 8)])
def a_post_that_passes_through_is_seen_once_too(bench, idle):
    upstream, gateway = one_worker(bench)
    warm(bench, gateway, upstream, idle)
    upstream.replies["/other"] = close_unanswered
    got = gateway.ask(None, target="/other")
    equal((got.status, got.problem), (502, "upstream-failed"))
    equal(upstream.count("/other"), 1)


@test
def a_get_is_not_sent_again_either(bench):
    upstream, gateway = one_worker(bench)
    warm(bench, gateway, upstream, 1)
    upstream.replies["/other"] = close_unanswered
    equal(gateway.send(build("GET", "/other")).problem, "upstream-failed")
    equal(upstream.count("/other"), 1)


@test
def an_upstream_that_dies_whole_after_executing_is_outcome_unknown(bench):
    upstream, gateway = one_worker(bench)
    warm(bench, gateway, upstream, 2)

    def die(connection, request):
        upstream.stop()
    upstream.replies["/v1/charges"] = die
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(upstream.count("/v1/charges"), 1)


IDLE_BYTES = {
    "a 408": b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n"
             b"Connection: close\r\n\r\n",
    "a forged answer": answer(200, b"of another tenant"),
    "one byte": b"H",
    "a line feed": b"\r\n",
}


@each([(name + (", then FIN" if fin else ""), data, fin)
       for name, data in IDLE_BYTES.items() for fin in (False, True)])
def bytes_on_an_idle_connection_are_nobodys_answer(bench, data, fin):
    upstream, gateway = one_worker(bench)
    warm(bench, gateway, upstream, 3)
    for connection in upstream.open_connections():
        connection.send(data)
        if fin:
            connection.close()
    for number in range(6):
        got = gateway.ask(f"k{number}")
        equal((got.status, got.body), (201, b'{"id":"ch_1"}'))
    equal(upstream.count("/v1/charges"), 6)
    for number in range(6):
        assert gateway.ask(f"k{number}").replayed


@test
def an_answer_and_a_forged_one_in_one_piece_are_not_mixed_up(bench):
    upstream, gateway = one_worker(
        bench, answer(201, b"mine") + answer(200, b"of another tenant"))
    for number in range(4):
        got = gateway.ask(f"k{number}")
        assert (got.status, got.body) == (201, b"mine") or (
            got.problem == "outcome-unknown"), got
    equal(upstream.count(), 4)


NONE = {"a 200 to HEAD": ("HEAD", 200), "a 204": ("DELETE", 204),
        "a 304": ("GET", 304)}
ANNOUNCED = {"a length": ("Content-Length", "9"),
             "chunks": ("Transfer-Encoding", "chunked")}


@each([(f"{what}, {how}", *NONE[what], ANNOUNCED[how])
       for what in NONE for how in ANNOUNCED])
def content_that_comes_late_is_nobodys_answer(bench, method, status, field):
    """These answers have no content; it is sent all the same, when the next
    request has come."""
    upstream, gateway = one_worker(bench)
    upstream.replies["/file"] = answer(status, b"", [field], length=False)

    def behind(connection, request):
        late = answer(201, b"of another tenant")
        connection.send((late if connection.served > 1 else b"") + answer())
    upstream.replies["/v1/charges"] = behind
    with gateway.client() as client:
        equal(client.exchange(method, "/file").status, status)
    equal(gateway.ask("k").body, b'{"id":"ch_1"}')
    assert gateway.ask("k").replayed


@test
def a_connection_that_speaks_while_idle_is_closed_by_the_gateway(bench):
    upstream, gateway = one_worker(bench)
    warm(bench, gateway, upstream, 1)
    connection = upstream.open_connections()[0]
    connection.send(b"H")
    assert connection.closed.wait(10), "it stayed open"


@test
def an_idle_connection_is_given_up_after_max_idle(bench):
    upstream, gateway = one_worker(bench, max_idle="200ms")
    equal(gateway.ask("k0").status, 201)
    assert upstream.connections[0].closed.wait(10), "it stayed open"
    equal(gateway.ask("k").status, 201)
    equal(len(upstream.connections), 2)


@test
def no_connection_serves_longer_than_max_age(bench):
    upstream, gateway = one_worker(bench, max_age="300ms")
    numbers = itertools.count()
    eventually(lambda: gateway.ask(f"k{next(numbers)}").status == 201 and
               len(upstream.connections) > 2, "under steady traffic")
    assert upstream.connections[0].closed.wait(10), "it stayed open"


MOVED = """#!/bin/sh
exec unshare -rm sh -c 'mount --bind {} /etc/hosts && exec "$@"' - {} "$@"
"""


@test
def a_name_that_moves_is_followed_while_its_old_address_answers(bench):
    hosts = bench.file(b"127.0.0.1 bank.example\n", "hosts")
    if subprocess.run(["unshare", "-rm", "mount", "--bind", hosts,
                       "/etc/hosts"], capture_output=True,
                      check=False).returncode != 0:
        raise tap.Skip("no mount namespaces here")
    old = bench.upstream()
    new = bench.upstream(at=("127.0.0.2", old.port))
    moved = bench.file(MOVED.format(hosts, program()).encode())
    os.chmod(moved, 0o700)
    gateway = bench.serve(bench.config(
        f"http://bank.example:{old.port}", {}, {"max_age": "300ms"},
        workers=1), program=moved)
    numbers = itertools.count()

    def pay():
        equal(gateway.ask(f"k{next(numbers)}").status, 201)
    pay()
    equal((old.count(), new.count()), (1, 0))
    with open(hosts, "r+b") as file:
        file.write(b"127.0.0.2")
    eventually(lambda: pay() or new.count() > 0, "under steady traffic")
    before = old.count()
    for _ in range(5):
        pay()
    equal(old.count(), before)


@test
def an_idle_connection_is_given_up_before_the_upstream_does(bench):
    upstream, gateway = one_worker(
        bench, answer(201, b"x", [("Keep-Alive", "timeout=1")]))
    equal(gateway.ask("k1").status, 201)
    assert upstream.connections[0].closed.wait(5), "it stayed open"
    equal(gateway.ask("k2").status, 201)
    equal(len(upstream.connections), 2)


@test
def an_idle_connection_is_used_again(bench):
    upstream, gateway = one_worker(bench)
    for number in range(5):
        equal(gateway.ask(f"k{number}").status, 201)
    equal(len(upstream.connections), 1)


@test
def an_upstream_that_says_close_is_not_used_again(bench):
    upstream, gateway = one_worker(
        bench, answer(201, b"x", [("Connection", "close")]))
    for number in range(3):
        got = gateway.ask(f"k{number}")
        equal((got.status, got.get("Connection") == "close"), (201, False))
    equal(len(upstream.connections), 3)


@test
def an_answer_before_the_whole_request_ends_the_connection(bench):
    """The rest of it, which an upstream has not read, would be the next
    request."""
    upstream, gateway = one_worker(
        bench, idempotency={"max_request_body": "64MiB"}, timeout="2s")
    rest = threading.Event()

    def answer_early(connection, request):
        if connection.number == 0:
            connection.send(answer(201, b"early"))
            rest.wait(20)
    upstream.on_head = answer_early
    equal(gateway.ask("k1", body=b"x" * 30_000_000).body, b"early")
    equal(gateway.ask("k2").body, b'{"id":"ch_1"}')
    equal(len(upstream.connections), 2)
    rest.set()


@test
def reuse_never_opens_a_connection_for_each_keyed_request(bench):
    upstream, gateway = one_worker(bench, reuse="never")
    for number in range(4):
        equal(gateway.ask(f"k{number}").status, 201)
    equal(len(upstream.connections), 4)


@test
def keepalive_bounds_the_idle_connections(bench):
    upstream, gateway = one_worker(bench, keepalive=2)
    hold = upstream.hold()
    tasks = [bench.background(gateway.ask, f"k{n}") for n in range(6)]
    upstream.wait_for(6)
    hold.release()
    for task in tasks:
        equal(task.result().status, 201)
    upstream.wait_until(lambda: len(upstream.open_connections()) == 2,
                        "two idle connections")


@test
def another_target_is_tried_only_while_nothing_was_sent(bench):
    good, bad = bench.upstream(), bench.upstream(close_unanswered)
    dead, port = refused_port()
    gateway = bench.gateway(good, options={"targets": [
        f"http://127.0.0.1:{port}", good.url]}, workers=1)
    with dead:
        for number in range(6):
            equal(gateway.ask(f"k{number}").status, 201)
    equal(good.count(), 6)
    gateway = bench.gateway(
        good, options={"targets": [bad.url, good.url]}, workers=1)
    got = [gateway.ask(f"n{number}").status for number in range(6)]
    equal(sorted(set(got)), [201, 502])
    equal(bad.count() + good.count(), 12)
    for number in range(6):
        sent = (bad.count(key=f"n{number}") + good.count(key=f"n{number}"))
        equal(sent, 1)


@test
def requests_of_many_clients_at_once_never_get_one_anothers_answers(bench):
    upstream, gateway = one_worker(
        bench, lambda connection, request: connection.send(
            answer(201, request.get("Idempotency-Key").encode())))

    def client(name):
        with gateway.client() as own:
            for number in range(20):
                own.send(keyed(f"{name}-{number}"))
                equal(own.read().body, f"{name}-{number}".encode())
    for task in [bench.background(client, f"c{n}") for n in range(10)]:
        task.result()
    equal(upstream.count(), 200)


tap.main()
