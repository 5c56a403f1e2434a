# SPDX-License-Identifier: BSD-2-Clause
"""The tests' own tools see what they must see."""

import os
import subprocess
import sys

from once import http, tap
from once.http import Client, ask, build, keyed
from once.tap import equal, test
from once.upstream import (answer, close_unanswered, refused_port,
                           reset_unanswered, then_close)
from once.wait import Late


@test
def the_upstream_keeps_the_exact_bytes_of_a_request(bench):
    upstream = bench.upstream()
    data = build("POST", "/a?b", [("X-Odd", "\xe9"), ("X-A", "1")], b"\0\xff")
    equal(ask(upstream.address, data).status, 201)
    equal(upstream.requests[0].raw + upstream.requests[0].body, data)


@test
def the_upstream_reads_chunks_and_counts_by_key_and_path(bench):
    upstream = bench.upstream()
    head = keyed("k", body=None, fields=[("Transfer-Encoding", "chunked")])
    ask(upstream.address, head + b"2\r\nhi\r\n0\r\n\r\n")
    ask(upstream.address, keyed("l"))
    equal(upstream.requests[0].body, b"hi")
    equal((upstream.count(), upstream.count(key="k"),
           upstream.count("/v1/charges"), upstream.count("/x")), (2, 1, 2, 0))


@test
def the_client_shows_repeated_and_empty_fields_in_order(bench):
    fields = [("Set-Cookie", "a"), ("X-E", ""), ("set-cookie", "b")]
    upstream = bench.upstream(answer(200, b"x", fields))
    got = ask(upstream.address, keyed("k"))
    equal(got.without("Date", "Content-Length"), fields)


@test
def fin_and_rst_are_told_apart(bench):
    upstream = bench.upstream(close_unanswered)
    equal(ask(upstream.address, keyed("k")), None)
    upstream.reply = reset_unanswered
    try:
        ask(upstream.address, keyed("k"))
    except ConnectionResetError:
        return
    raise AssertionError("no RST")


@test
def a_cut_answer_is_not_taken_for_a_whole_one(bench):
    for cut in (1, 20, len(answer()) - 1):
        upstream = bench.upstream(then_close(answer()[:cut]))
        try:
            ask(upstream.address, keyed("k"))
        except http.Broken:
            continue
        raise AssertionError(f"cut at {cut} was not seen")


@test
def a_chunked_answer_is_decoded_and_its_bytes_are_kept(bench):
    data = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2;x\r\nhi\r\n0\r\n\r\n")
    upstream = bench.upstream(data)
    got = ask(upstream.address, keyed("k"))
    equal((got.body, got.raw), (b"hi", data))


@test
def held_requests_wait_until_they_are_released(bench):
    upstream = bench.upstream()
    hold = upstream.hold()
    task = bench.background(ask, upstream.address, keyed("k"))
    hold.wait_arrived()
    assert task.thread.is_alive()
    hold.release()
    equal(task.result().status, 201)


@test
def bytes_on_an_idle_connection_reach_the_client(bench):
    upstream = bench.upstream()
    with Client(upstream.address) as client:
        client.exchange("GET", "/")
        upstream.connections[0].send(answer(408, b""))
        equal(client.read().status, 408)


@test
def the_fault_proxy_passes_on_and_counts(bench):
    upstream = bench.upstream()
    for unix in (False, True):
        proxy = bench.proxy(upstream.url, unix=unix)
        proxy.split_bytes()
        with Client(proxy.address) as client:
            for number in (1, 2):
                client.send(keyed("k"))
                equal(client.read().raw, answer())
                equal((proxy.requests, proxy.replies), (number, number))
        equal((proxy.connections, proxy.cuts), (1, 0))
    equal(upstream.count(key="k"), 4)


@test
def the_fault_proxy_cuts_replies_of_what_was_executed(bench):
    upstream = bench.upstream()
    proxy = bench.proxy(upstream.url)
    proxy.cut_replies()
    try:
        ask(proxy.address, keyed("k"))
        raise AssertionError("no RST")
    except ConnectionResetError:
        proxy.wait_cut()
    proxy.cut_replies(how="close")
    equal(ask(proxy.address, keyed("k")), None)
    proxy.cut_replies(after_bytes=20, how="close")
    try:
        ask(proxy.address, keyed("k"))
        raise AssertionError("the answer was not cut")
    except http.Broken as broken:
        assert repr(answer()[:20]) in str(broken), broken
    equal((upstream.count(), proxy.cuts), (3, 3))
    equal(ask(proxy.address, keyed("k")).status, 201)
    proxy.cut_replies(every=2, times=None, how="close")
    got = [ask(proxy.address, keyed("k")) for _ in range(4)]
    equal([g and g.status for g in got], [201, None, 201, None])
    proxy.pass_all()
    equal(ask(proxy.address, keyed("k")).status, 201)


@test
def the_fault_proxy_cuts_requests_on_their_way(bench):
    upstream = bench.upstream()
    proxy = bench.proxy(upstream.url)
    proxy.cut_requests(after_bytes=30, how="close")
    try:
        equal(ask(proxy.address, keyed("k")), None)
    except ConnectionResetError:
        pass  # the rest of the request lay unread
    proxy.wait_cut()
    connection = upstream.wait_until(lambda: upstream.connections)[0]
    assert connection.closed.wait(20)
    equal((upstream.count(), connection.reader.buffer), (0, keyed("k")[:30]))


@test
def the_fault_proxy_holds_and_resets(bench):
    upstream = bench.upstream()
    proxy = bench.proxy(upstream.url)
    proxy.hold("replies")
    task = bench.background(ask, proxy.address, keyed("k"))
    proxy.wait_held("replies")
    equal(upstream.count(), 1)
    proxy.release()
    equal(task.result().status, 201)
    proxy.hold()
    task = bench.background(ask, proxy.address, keyed("k"))
    proxy.wait_held("requests")
    proxy.reset_all()
    try:
        task.result()
        raise AssertionError("no RST")
    except ConnectionResetError:
        equal(upstream.count(), 1)


@test
def the_fault_proxy_refuses_and_accepts_at_the_same_address(bench):
    redis = bench.own_redis()
    upstream = bench.upstream()
    for proxy in (bench.proxy(redis.url), bench.proxy(upstream.url)):
        standing = Client(proxy.address)
        proxy.refuse()
        try:
            Client(proxy.address)
            raise AssertionError("somebody listens")
        except ConnectionRefusedError:
            pass
        word = b"PING\r\n" if proxy.unix else keyed("k")
        standing.send(word)
        assert standing.reader.line()[:1] in (b"+", b"H")
        proxy.accept()
        with Client(proxy.address) as client:
            client.send(word)
            assert client.reader.line()[:1] in (b"+", b"H")
        proxy.retarget("127.0.0.1:1")
        try:
            with Client(proxy.address) as client:
                assert client.is_closed()
        except ConnectionResetError:
            pass  # before connect() returned


@test
def a_refused_port_refuses(bench):
    keep, port = refused_port()
    try:
        http.connect(f"127.0.0.1:{port}")
    except ConnectionRefusedError:
        keep.close()
        return
    raise AssertionError("somebody listens")


@test
def redis_runs_freezes_dies_and_comes_back(bench):
    redis = bench.own_redis()
    equal(redis("SET", "a", b"\0\r\n"), "OK")
    equal((redis("GET", "a"), redis("GET", "b"), redis.keys()),
          (b"\0\r\n", None, [b"a"]))
    redis.freeze()
    redis.thaw()
    equal(redis("PING"), "PONG")
    redis.restart()
    equal(redis.keys(), [])


@test
def waiting_in_vain_ends_in_an_error(bench):
    upstream = bench.upstream()
    try:
        upstream.wait_for(1, timeout=0.05)
    except Late:
        return
    raise AssertionError("nothing was late")


FAILING = """
from once import tap
@tap.test
def good(bench): pass
@tap.test
def bad(bench): tap.equal(1, 2)
@tap.test
def skipped(bench): raise tap.Skip("no reason")
@tap.each([("row", 1)])
def table(bench, value): tap.equal(value, 1)
tap.main()
"""


@test
def a_failing_test_is_reported_as_one(bench):
    done = subprocess.run([sys.executable, "-c", FAILING], text=True,
                          capture_output=True, check=False, env=os.environ)
    equal(done.returncode, 1, done.stderr)
    lines = [line for line in done.stdout.splitlines() if line[:1] != "#"]
    equal(lines, ["1..4", "ok 1 - good", "not ok 2 - bad",
                  "ok 3 - skipped # SKIP no reason", "ok 4 - table: row"])


tap.main()
