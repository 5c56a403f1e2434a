# SPDX-License-Identifier: BSD-2-Clause
"""Silent clients cost next to nothing, however many they are, and a request in
flight costs little besides its body."""

import resource

from once import tap
from once.certificates import Authority
from once.gateway import is_sanitized
from once.http import build, keyed
from once.raw import memory
from once.tap import Skip, each, equal, test
from once.wait import eventually

MANY = 10_000
IN_FLIGHT = 2000
# What a silent connection may cost, with all that malloc() adds.  A sanitizer
# keeps what was freed for a while.
MOST_BYTES = (32 if is_sanitized() else 24) * 1024
LEAVING = 2000
# Of a client that has left, without TLS and with it (it was 1 KiB, and 11).
LEFT_BYTES = 512


def descriptors(count):
    """Raises this process' limit of descriptors as far as that; the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = count + 200 if hard == resource.RLIM_INFINITY \
        else min(hard, count + 200)
    if soft < want:
        resource.setrlimit(resource.RLIMIT_NOFILE, (want, hard))
    return min(count, max(soft, want) - 200)


@test
def ten_thousand_silent_clients_are_served_and_cost_little(bench):
    count = descriptors(MANY)
    upstream = bench.upstream()
    gateway = bench.gateway(
        upstream, workers=1,
        limits={"connections": MANY + 10, "idle_timeout": "10m"})
    for line in gateway.find_log("descriptors_few"):
        count = min(count, line["connections"] - 10)
    request = keyed("k", fields=[("X-Filler", "f" * 2000)])
    equal(gateway.send(request).status, 201)
    before = memory(gateway.pid)[0]
    clients = [gateway.client() for _ in range(count)]
    for client in clients:
        client.send(request)
        assert client.read().replayed

    def each_costs():
        return (memory(gateway.pid)[0] - before) / count
    tap.comment(f"{count} clients, {each_costs():.0f} bytes each")
    eventually(lambda: each_costs() < MOST_BYTES,
               "memory of silent clients given back")
    tap.comment(f"then {each_costs():.0f} bytes each")
    for client in clients:
        client.send(request)
        assert client.read().replayed
        client.close()
    equal(upstream.count(), 1)


@test
def two_thousand_requests_in_flight_cost_little_besides_their_bodies(bench):
    if is_sanitized():
        raise Skip("a sanitizer needs more memory by itself")
    # A request has two connections, and this process has the other ends of
    # both.
    count = descriptors(2 * IN_FLIGHT) // 2
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, workers=1, options={"timeout": "10m"})
    body = b"b" * 1000
    equal(gateway.ask("warm", body=body).status, 201)
    before = memory(gateway.pid)[0]
    clients = [gateway.client() for _ in range(count)]
    # The first request on a connection costs less than the next ones.
    for client in clients:
        client.send(keyed("warm", body=body))
        assert client.read().replayed
    hold = upstream.hold()
    for number, client in enumerate(clients):
        client.send(keyed(f"k{number}", body=body))
        # Connecting needs more memory for a while than waiting does.
        upstream.wait_for(2 + number)

    def each_costs():
        return (memory(gateway.pid)[0] - before) / count - len(body)
    tap.comment(f"{count} in flight, {each_costs():.0f} bytes each besides "
                "the body")
    eventually(lambda: each_costs() < MOST_BYTES,
               "memory of requests that wait given back")
    tap.comment(f"then {each_costs():.0f} bytes each")
    hold.release()
    for client in clients:
        equal(client.read().status, 201)
        client.close()
    equal(upstream.count(), 1 + count)


@each([("", False), (" over TLS", True)])
def when_they_leave_their_memory_comes_back(bench, tls):
    if is_sanitized():
        raise Skip("a sanitizer keeps memory by itself")
    count = descriptors(LEAVING)
    config = bench.config(bench.upstream(), workers=1)
    context = None
    if tls:
        authority = Authority(bench.folder())
        server = authority.issue("localhost")
        config["listen"] = [{"address": "127.0.0.1:0", "tls": {
            "certificate": server.file, "key": server.key}}]
        context = authority.client()
    gateway = bench.serve(config)

    def come():
        client = gateway.client(tls=context)
        client.send(keyed("k"))
        equal(client.read().status, 201)
        return client
    come().close()
    before = memory(gateway.pid)[0]

    def each_leaves():
        return (memory(gateway.pid)[0] - before) / count
    for _ in range(2):
        clients = [come() for _ in range(count)]
        tap.comment(f"{count} clients, {each_leaves():.0f} bytes each")
        for client in clients:
            client.close()
        eventually(lambda: each_leaves() < LEFT_BYTES,
                   "what they used given back")
        tap.comment(f"left {each_leaves():.0f} bytes each")


@each([("", 0), (" of two bytes", 1), (" of a page", 2048)])
def empty_lines_before_a_request_do_no_harm(bench, lines):
    upstream, gateway = bench.pair(workers=1)
    clients = [gateway.client() for _ in range(400)]
    for client in clients:
        client.send(b"\r\n" * lines + keyed("k"))
        equal(client.read().status, 201)
    for _ in range(2):
        most = 0

        def is_given_back():
            nonlocal most
            now = memory(gateway.pid)[0]
            most = max(most, now)
            return now < most
        for client in clients:
            client.send(keyed("k"))
            assert client.read().replayed
            client.send(b"\r\n" * lines + build("GET", "/x"))
            equal(client.read().status, 201)
        eventually(is_given_back, "memory given back")


tap.main()
