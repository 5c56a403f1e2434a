# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 3 and 9 (health): a target that says that it is not well
gets no requests, and gets them again when it is."""

import json
import os

from once import http, tap
from once.admin import Admin
from once.gateway import command, write
from once.tap import each, equal, test
from once.upstream import answer, refused_port, reset_unanswered
from once.wait import eventually


def start(bench, *targets, interval="2s", **members):
    config = bench.config(
        targets[0], options={"targets": [t if isinstance(t, str) else t.url
                                         for t in targets],
                             "health": {"path": "/well?x=1",
                                        "interval": interval}},
        workers=1, **members)
    config["admin"] = {"listen": "unix:" + os.path.join(
        bench.folder(), "admin")}
    return bench.serve(config)


def up(gateway):
    """{target: 1 or 0}"""
    text = Admin(gateway).send("GET", "/metrics").body.decode()
    head = 'onceproxy_upstream_up{upstream="api",target="'
    return {line[len(head):].split('"')[0]: int(line.rsplit(" ", 1)[1])
            for line in text.splitlines() if line.startswith(head)}


def payments(upstream):
    return upstream.count(path="/v1/charges")


def pair(bench):
    one, other = bench.upstream(), bench.upstream()
    for upstream in (one, other):
        upstream.replies["/well"] = answer(204, b"")
    return one, other


@each([("500", answer(500)), ("404", answer(404)), ("reset", reset_unanswered),
       ("no HTTP", lambda connection, request: connection.send(b"no\r\n\r\n")),
       ("no answer", lambda connection, request: None)])
def one_that_is_not_well_is_taken_out_and_in(bench, reply):
    one, other = pair(bench)
    gateway = start(bench, one, other)
    one.replies["/well"] = reply
    gateway.wait_for_log("target_out", target=one.url)
    eventually(lambda: up(gateway) == {one.url: 0, other.url: 1})
    before = payments(one)
    for number in range(6):
        equal(gateway.ask(f"k{number}").status, 201)
    equal(payments(one), before)
    one.replies["/well"] = answer(200)
    gateway.wait_for_log("target_in", target=one.url)
    eventually(lambda: up(gateway) == {one.url: 1, other.url: 1})
    eventually(lambda: gateway.send(http.keyed(os.urandom(8).hex())).status
               == 201 and payments(one) > before)


@each([("a redirection", answer(302)), ("a long one", answer(
    200, b"x" * 300_000)), ("an empty one", answer(204, b""))])
def it_is_well_whose_answer_is(bench, reply):
    one, other = pair(bench)
    one.replies["/well"] = answer(500)
    gateway = start(bench, one, other)
    gateway.wait_for_log("target_out", target=one.url)
    one.replies["/well"] = reply
    gateway.wait_for_log("target_in", target=one.url)


@test
def where_none_is_well_all_are_tried(bench):
    one, other = pair(bench)
    gateway = start(bench, one, other)
    for upstream in (one, other):
        upstream.replies["/well"] = answer(503)
        gateway.wait_for_log("target_out", target=upstream.url)
    equal(gateway.ask("k").status, 201)
    equal(payments(one) + payments(other), 1)


@test
def the_question_is_a_plain_get(bench):
    one, other = pair(bench)
    start(bench, one, other)
    one.wait_for(1)
    request = one.requests[0]
    equal((request.method, request.target), ("GET", "/well?x=1"))
    equal((request.get("Host"), request.get("User-Agent"), request.body),
          (one.address, "onceproxy", b""))


@test
def one_that_cannot_be_reached_is_not_up(bench):
    one = bench.upstream()
    one.replies["/well"] = answer(200)
    reserved, port = refused_port()
    nobody = f"http://127.0.0.1:{port}"
    gateway = start(bench, one, nobody)
    gateway.wait_for_log("target_out", target=nobody)
    eventually(lambda: up(gateway) == {one.url: 1, nobody: 0})
    reserved.close()


@test
def those_that_are_not_asked_are_up_unless_they_cannot_be_reached(bench):
    reserved, port = refused_port()
    nobody = f"http://127.0.0.1:{port}"
    config = bench.config(nobody, workers=1)
    config["admin"] = {"listen": "unix:" + os.path.join(
        bench.folder(), "admin")}
    gateway = bench.serve(config)
    equal(up(gateway), {nobody: 1})
    equal(gateway.ask("k").status, 502)
    equal(up(gateway), {nobody: 0})
    reserved.close()


@test
def a_reload_asks_where_the_new_file_says(bench):
    one, other = pair(bench)
    gateway = start(bench, one, interval="1h")
    config = gateway.config
    config["upstreams"]["api"]["targets"] = [other.url]
    write(gateway.file, config)
    gateway.signal(1)
    gateway.wait_for_log("reloaded")
    other.wait_for(1)
    equal(up(gateway), {other.url: 1})


@test
def a_gateway_ends_while_it_asks(bench):
    one, _ = pair(bench)
    one.replies["/well"] = lambda connection, request: None
    gateway = start(bench, one, interval="1h")
    one.wait_for(1)
    gateway.stop()


@each([("no path", {"interval": "5s"}, '"path" is missing'),
       ("a bad path", {"path": "well"}, 'must begin with "/"'),
       ("a short interval", {"path": "/", "interval": "1ms"}, "")])
def it_is_refused(bench, health, words):
    config = bench.config("http://127.0.0.1:9", options={"health": health})
    got = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(got.returncode, 1)
    assert "/upstreams/api/health" in got.stdout, got.stdout
    assert words in got.stdout, got.stdout


tap.main()
