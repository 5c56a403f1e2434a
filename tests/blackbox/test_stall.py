# SPDX-License-Identifier: BSD-2-Clause
"""No request waits for others, or for the next tick of a clock."""

from once import tap
from once.http import build, keyed
from once.tap import each, equal, test

ROUNDS = 12


def replay(number):
    return keyed("one")


def first(number):
    return keyed(f"key-{number}")


def passed(number):
    return build("GET", "/else")


@each([(f"{what}, {count} clients", kind, count, cache)
       for what, kind, cache in [
           ("first", first, 0), ("from redis", replay, 0),
           ("from memory", replay, "64MiB"), ("passed", passed, 0)]
       for count in (1, 48)])
def requests_that_come_at_once_leave_nobody_behind(bench, kind, count, cache):
    """What libmicrohttpd still has to do when the loop is about to block."""
    upstream, gateway = bench.pair(workers=1, cache={"size": cache})
    clients = [gateway.client() for _ in range(count)]
    for turn in range(ROUNDS):
        for index, client in enumerate(clients):
            number = 2 * (turn * count + index)
            client.send(kind(number) + kind(number + 1))
        for client in clients:
            for _ in range(2):
                got = client.read("GET" if kind is passed else "POST")
                assert got.status in (201, 409), got


@test
def an_upstream_that_takes_its_time_slows_nobody_else(bench):
    slow, quick = bench.upstream(), bench.upstream()
    config = bench.config(quick, workers=1)
    config["upstreams"]["slow"] = {"targets": [slow.url], "timeout": "100s"}
    config["routes"][:0] = [
        {"path": "/slow/*", "methods": ["POST"], "upstream": "slow",
         "idempotency": {}},
        {"path": "/slow/*", "methods": ["GET"], "upstream": "slow"}]
    gateway = bench.serve(config)
    hold = slow.hold()
    held = []
    for number in range(60):
        client = gateway.client()
        client.send(keyed(f"slow-{number}", target="/slow/charges")
                    if number % 2 else build("GET", "/slow/reports"))
        held.append((client, "POST" if number % 2 else "GET"))
    slow.wait_for(len(held))
    with gateway.client() as client:
        for number in range(100):
            client.send(keyed(f"quick-{number}"))
            equal(client.read().status, 201)
            client.send(build("GET", "/reports"))
            equal(client.read("GET").status, 201)
    equal((slow.count(), quick.count()), (len(held), 200))
    hold.release()
    for client, method in held:
        equal(client.read(method).status, 201)


tap.main()
