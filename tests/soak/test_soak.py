# SPDX-License-Identifier: BSD-2-Clause
"""Very many requests of all kinds: afterwards descriptors and memory are where
they were.  ONCE_SOAK=N makes it N requests."""

import os
import random
import re
import threading

from once import tap, tier
from once.http import build, keyed
from once.raw import memory
from once.tap import equal, test
from once.wait import eventually

REQUESTS = int(os.environ.get("ONCE_SOAK") or (
    1_000_000 if tier.LONG else 20_000))
CLIENTS = 8
BATCH = 50
# What malloc() keeps may vary by this much; a sanitizer keeps more.
MOST_GROWTH = 6 << 20
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)", re.I)
LEAN = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")
        + ":quarantine_size_mb=1"}


def serve(connection, request):
    """The upstream: quick, and it keeps nothing."""
    head = b"HTTP/1.1 201 Created\r\nContent-Length: 8\r\n\r\nas asked"
    connection.send(head)
    while True:
        first = connection.reader.until(b"\r\n\r\n")
        if first is None:
            return
        length = LENGTH.search(first)
        if length:
            connection.reader.exactly(int(length[1]))
        connection.reader.taken = b""
        connection.send(head)


class Client:
    """Sends batches of mixed requests, and counts the answers of each kind."""

    def __init__(self, gateway, number, counts):
        self.gateway, self.number, self.counts = gateway, number, counts
        self.dice = random.Random(number)
        self.made = 0

    def one(self):
        """A request, and the statuses that its answer may have."""
        self.made += 1
        kind = self.dice.random()
        fresh = f"soak-{os.getpid()}-{self.number}-{self.made}"
        if kind < 0.10:
            return keyed(fresh), (201,)
        if kind < 0.70:
            return keyed(f"kept-{self.made % 64}"), (201,)
        if kind < 0.80:
            return build("GET", f"/x?{self.made}"), (201,)
        if kind < 0.85:
            return keyed("kept-1", body=b"another"), (422,)
        if kind < 0.90:
            return build("POST", "/v1/charges", body=b"{}"), (400,)
        if kind < 0.95:
            return keyed("kept-2", fields=[("Prefer", "wait=1")]), (201,)
        return keyed("bad key " + "x" * 300), (400,)

    def batch(self, client):
        asked = [self.one() for _ in range(BATCH)]
        client.send(b"".join(data for data, _ in asked))
        reader = client.reader
        for data, statuses in asked:
            head = reader.until(b"\r\n\r\n")
            assert head is not None, f"no answer to {data!r}"
            status = int(head[9:12])
            assert status in statuses, f"{status} to {data!r}"
            reader.exactly(int(LENGTH.search(head)[1]))
            reader.taken = b""
            self.counts[status] = self.counts.get(status, 0) + 1

    def run(self, requests):
        while requests > 0:
            # A few leave in the middle, or send something that is not HTTP.
            with self.gateway.client() as bad:
                bad.send(keyed("kept-3")[:self.dice.randrange(1, 100)])
                bad.send(b"\0\r\n\r\n")
            with self.gateway.client() as client:
                for _ in range(20):
                    self.batch(client)
                    requests -= BATCH


def soak(gateway, requests):
    """All clients at once; how many answers of each status there were."""
    counts = [{} for _ in range(CLIENTS)]
    troubles = []

    def run(number):
        try:
            Client(gateway, number, counts[number]).run(requests // CLIENTS)
        except BaseException as trouble:  # pylint: disable=broad-except
            troubles.append(trouble)
    threads = [threading.Thread(target=run, args=(number,))
               for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if troubles:
        raise troubles[0]
    return {status: sum(c.get(status, 0) for c in counts)
            for status in sorted({s for c in counts for s in c})}


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@test
def descriptors_and_memory_are_where_they_were(bench):
    upstream = bench.upstream()
    upstream.on_head = serve
    gateway = bench.gateway(upstream, env=LEAN, log={"access": False},
                            cache={"size": "1MiB"})
    for number in range(64):
        equal(gateway.ask(f"kept-{number}").status, 201)
    at_first = descriptors(gateway.pid)

    def rest():
        """The clients have left, and idle upstream connections too."""
        eventually(lambda: descriptors(gateway.pid) <= at_first,
                   "descriptors are back")
        return memory(gateway.pid)[0]
    soak(gateway, min(REQUESTS, 100_000) // 2)
    before = rest()
    counts = soak(gateway, REQUESTS)
    tap.comment(f"{sum(counts.values())} answers: {counts}")
    grown = rest() - before
    tap.comment(f"{grown / 1024:.0f} KiB more memory")
    assert grown < MOST_GROWTH, f"{grown} bytes more"
    equal(sorted(counts), [201, 400, 422])


tap.main()
