# SPDX-License-Identifier: BSD-2-Clause
"""A broker that is away when a gateway starts: it starts all the same, is
ready, serves clients, and reads when the broker is there."""

from once import tap
from once.admin import Admin
from once.gateway import is_without
from once.messages import Stream, source
from once.postgres import Outbox, outbox_source, programs
from once.tap import Skip, each, equal
from once.wait import eventually


class Queue:
    """A stream of a Redis."""

    def __init__(self, bench, config):
        self.server = bench.own_redis()
        self.stream = Stream(self.server)
        source(config, self.stream)

    def add(self):
        self.stream.add(body=b"{}", idempotency_key="k")

    def left(self):
        return self.stream.pending()


class Table:
    """A table of a PostgreSQL."""

    def __init__(self, bench, config):
        if programs() is None or is_without("postgres"):
            raise Skip("no PostgreSQL")
        self.server = bench.postgres()
        self.outbox = Outbox(self.server)
        outbox_source(config, self.outbox, "charges")

    def add(self):
        self.outbox.add({}, headers={"Idempotency-Key": "k"})

    def left(self):
        return self.outbox.unread()


@each([("a stream's redis", Queue), ("a table's postgresql", Table)])
def a_gateway_starts_and_is_ready_without(bench, kind):
    upstream = bench.upstream()
    config = bench.config(upstream, admin={"listen": "127.0.0.1:0"})
    broker = kind(bench, config)
    broker.server.kill()
    gateway = bench.serve(config)
    admin = Admin(gateway)
    eventually(lambda: admin.send("GET", "/readyz").status == 200, "ready")
    equal(gateway.ask("by-http").status, 201)
    gateway.wait_for_log("source_stands", source="charges", reason="broker")
    equal(admin.get("/sources")["sources"][0]["standing"], "broker")
    equal(admin.send("GET", "/readyz").status, 200)
    broker.server.start()
    gateway.wait_for_log("source_goes", source="charges", reason="broker")
    broker.add()
    gateway.wait_for_log("message", outcome="executed")
    equal((upstream.count(), broker.left()), (2, []))


tap.main()
