# SPDX-License-Identifier: BSD-2-Clause
"""Silent clients cost next to nothing, however many they are, and a request in
flight costs little besides its body."""

import resource

from once import tap
from once.gateway import is_sanitized
from once.http import build, keyed
from once.raw import memory
from once.tap import Skip, equal, test

MANY = 10_000
IN_FLIGHT = 2000
# What a silent connection may cost, and a request in flight, with all that
# malloc() adds.  A sanitizer keeps what was freed for a while.
SILENT_BYTES = (64 if is_sanitized() else 12) * 1024
IN_FLIGHT_BYTES = 24 * 1024


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
    clients = []
    # Each says something at once: a first head has header_timeout to come.
    for _ in range(count):
        clients.append(gateway.client())
        clients[-1].send(request)
        assert clients[-1].read().replayed

    def each_costs():
        return (memory(gateway.pid)[0] - before) / count
    tap.comment(f"{count} clients, {each_costs():.0f} bytes each")
    assert each_costs() < SILENT_BYTES
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
    clients = []
    # The first request on a connection costs less than the next ones.
    for _ in range(count):
        clients.append(gateway.client())
        clients[-1].send(keyed("warm", body=body))
        assert clients[-1].read().replayed
    hold = upstream.hold()
    for number, client in enumerate(clients):
        client.send(keyed(f"k{number}", body=body))
        # Connecting needs more memory for a while than waiting does.
        upstream.wait_for(2 + number)

    def each_costs():
        return (memory(gateway.pid)[0] - before) / count - len(body)
    tap.comment(f"{count} in flight, {each_costs():.0f} bytes each besides "
                "the body")
    assert each_costs() < IN_FLIGHT_BYTES
    hold.release()
    for client in clients:
        equal(client.read().status, 201)
        client.close()
    equal(upstream.count(), 1 + count)


tap.main()
