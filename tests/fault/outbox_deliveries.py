# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix in which the payment is a row of an outbox, in a
PostgreSQL of its own; their scenarios are those of deliveries.py."""

import json

from once.pgwire import PostgresClient, PostgresError
from once.postgres import Outbox, outbox_source
from once.wait import eventually

from deliveries import (MACHINES, MessageCell, NotStored, Standing)
from deliveries import REACHED as ALL
from faults import SHORT, Fault
from matrix import AMOUNT, torture
from scenarios import database_like_all

RIGHTS = """
CREATE ROLE reader LOGIN;
GRANT CREATE ON SCHEMA public TO reader;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO reader;
ALTER TABLE outbox ALTER payload TYPE text;
GRANT ALL ON outbox TO reader"""


class NotOurs(Standing):
    """Results cannot be put: nothing may be inserted into their table."""

    members = {"results": {"table": "not_ours"}}

    def prepare(self, cell):
        cell.broker(
            "CREATE TABLE not_ours (id text PRIMARY KEY, status int, headers "
            "json NOT NULL, body bytea, key_id text, created timestamptz NOT "
            "NULL DEFAULT now()); REVOKE INSERT ON not_ours FROM reader")

    def heal(self, cell):
        cell.broker("GRANT INSERT ON not_ours TO reader")


REACHED = {
    step: [NotOurs if one is Standing else one for one in scenarios]
    for step, scenarios in ALL.items()}


class OutboxCell(MessageCell):
    def _read(self):
        self.broker = database_like_all()
        self.bench.redises.append(self.broker)
        self.table = Outbox(self.broker)
        # Its payload is as it is, so that it is what the client sends.
        self.broker(RIGHTS)
        outbox_source(self.config, self.table, name="charges", **{
            "results": {"table": "done"}, "retry": {
                "first": "100ms", "most": "200ms", "attempts": 5},
            **self.scenario.members})
        shop = self.config["brokers"]["shop"]
        shop["postgres"] = shop["postgres"].replace(
            f"{self.broker.user}@", "reader@")
        self.results = self.config["sources"]["charges"]["results"]["table"]
        self.dead = "outbox_dead"

    def add(self, number):
        """The first has the key of the client's payments; its position."""
        self.added += 1
        key = "k" if number == 0 else f"k{number}"
        return self.broker(
            "INSERT INTO outbox (aggregateid, payload, headers) VALUES ('a', "
            f"'{AMOUNT.decode()}', '{{\"Idempotency-Key\": \"{key}\"}}') "
            "RETURNING id")[0].encode()

    def put_nowhere(self):
        """It can be read, and nothing can be put there."""
        eventually(lambda: self.broker(
            "SELECT 1 FROM pg_tables WHERE tablename = 'outbox_dead'"),
            "the gateway has made it")
        self.broker("REVOKE INSERT ON outbox_dead FROM reader")

    def put_again(self):
        self.broker("GRANT INSERT ON outbox_dead TO reader")

    def query(self, sql):
        client = PostgresClient(self.broker.folder)
        try:
            return client(sql)
        finally:
            client.close()

    def pending(self):
        try:
            return self.query("SELECT id FROM outbox")
        except (OSError, PostgresError):
            return None

    def put_into(self, place):
        there = self.query("SELECT 1 FROM pg_class WHERE relkind = 'r' AND "
                           f"relname = '{place}'")
        return [json.loads(headers) for headers, in self.query(
            f"SELECT headers FROM {place}")] if there else []

    def check(self):
        """A journal may still have what the record does not know."""
        if isinstance(self.scenario, NotStored):
            eventually(lambda: self.pending() == [], "the row is finished")
        self.left = self.pending()
        super().check()


class PostgresKilled(Fault):
    def strike(self, cell):
        cell.broker.cut()

    def heal(self, cell):
        cell.broker.start()


class PostgresFrozen(Fault):
    def strike(self, cell):
        cell.broker.freeze_all()

    def heal(self, cell):
        cell.broker.thaw_all()


class SessionsTerminated(Fault):
    def strike(self, cell):
        cell.broker("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name LIKE 'onceproxy/%'")


class ReaderFrozen(SessionsTerminated):
    """For so long that another gateway has the parts, and all is done."""

    lease = SHORT
    freezes = True

    def strike(self, cell):
        cell.heal()
        super().strike(cell)
        cell.others.append(cell.serve_another())
        eventually(cell.is_through, "the other gateway is through",
                   cell.end_s)


def torture_outbox(title, *faults):
    torture(title, *faults, machines=MACHINES, reached=REACHED,
            cell=OutboxCell)
