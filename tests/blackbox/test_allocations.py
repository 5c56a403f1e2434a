# SPDX-License-Identifier: BSD-2-Clause
"""How often a request makes the gateway ask for memory, which no clock can show
on a busy machine.  contrib/bench/instructions has what it costs."""

from once import tap
from once.allocations import Allocations
from once.http import ask, build, keyed
from once.tap import each
from once.wait import eventually

# Calls of malloc(), calloc() and realloc() per request, at most; to be lowered
# whenever there are fewer.
CEILINGS = {"memory": 5, "replay": 13, "first": 18, "pass": 8}
WARM, COUNTED = 200, 300
# As an application sends them.
FIELDS = [("Content-Type", "application/json"), ("Accept", "application/json"),
          ("User-Agent", "test/1.0")]


def request(path, number):
    if path == "pass":
        return build("POST", "/pass", [*FIELDS, ("Authorization", "a")],
                     body=b"{}")
    return keyed(f"k{number}" if path == "first" else "kept", FIELDS)


def send(gateway, path, start, count):
    """One after the other, on one connection."""
    with gateway.client() as client:
        for number in range(start, start + count):
            client.send(request(path, number))
            assert client.read().status == 201


def kept(gateway):
    """Whether an answer is in memory: not until Redis tells of deletions."""
    send(gateway, "memory", 0, 1)
    got = ask(gateway.ready["admin"], build("GET", "/metrics",
                                            host="localhost"))
    return b"\nonceproxy_cache_bytes 0\n" not in got.body


@each([(f"{path}: at most {ceiling} allocations per request", path, ceiling)
       for path, ceiling in CEILINGS.items()])
def asks_for_memory(bench, path, ceiling):
    allocations = Allocations(bench)
    config = bench.config(
        bench.upstream(), workers=1, admin={"listen": "127.0.0.1:0"},
        cache={"size": "16MiB" if path == "memory" else 0},
        store={"shards": 1})
    gateway = bench.serve(config, env=allocations.env)
    if path == "memory":
        eventually(lambda: kept(gateway), "an answer in memory")
    send(gateway, path, 0, WARM)
    found = []
    # Timers fall into it, and more of them where a machine is slow.
    while len(found) < 5 and not any(n < ceiling + 0.5 for n in found):
        before = allocations.count()
        send(gateway, path, WARM + COUNTED * len(found), COUNTED)
        found.append((allocations.count() - before) / COUNTED)
    assert found[-1] < ceiling + 0.5, found


tap.main()
