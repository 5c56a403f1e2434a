# SPDX-License-Identifier: BSD-2-Clause
"""The upstream of a history that commits in PostgreSQL, each payment with its
witness: it is killed and frozen at every statement, and says what is not so."""

import json
import time
from typing import NamedTuple

from once.history import Arrival
from once.paid import Row
from once.pgwire import PostgresClient, PostgresError, literal

from bank import Bank, record_of
from plan import UPSTREAM_TIMEOUT_S, Plan, weighted

TABLES = """
CREATE TABLE onceproxy_witness (
    key_id text, attempt integer, verdict text NOT NULL DEFAULT 'done',
    status integer, headers jsonb, body bytea,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key_id, attempt), UNIQUE (key_id, attempt, verdict));
CREATE TABLE payments (
    record text NOT NULL, name text NOT NULL,
    key_id text NOT NULL, attempt integer NOT NULL,
    verdict text GENERATED ALWAYS AS ('done') STORED,
    UNIQUE (key_id, attempt));
"""
ENFORCES = """
ALTER TABLE payments ADD FOREIGN KEY (key_id, attempt, verdict)
    REFERENCES onceproxy_witness (key_id, attempt, verdict)
    DEFERRABLE INITIALLY DEFERRED;
"""
# What it says without a transaction, as outcomes take it: status, the kind of
# a Given, Idempotency-Outcome.
REFUSES = {"refuse": (402, "store", None), "break": (500, "store", None),
           "release": (503, "release", None),
           "say-release": (409, "release", "release"),
           "doubt": (502, "unknown", None)}
# What it says after its commit, and is not so.
LIES = {"break": REFUSES["break"], "release": REFUSES["release"],
        "say-release": REFUSES["say-release"], "doubt": REFUSES["doubt"],
        "say-unknown": (201, "unknown", "unknown")}
DEEDS = {"pay": 40, "die": 12, "send-and-die": 12, "freeze": 16,
         "refuse": 4, "break": 3, "release": 5, "say-release": 3, "doubt": 3}
# How a payment that was committed is told.
TELLS = {"answer": 60, "close": 8, "reset": 4, "truncate": 5, "malform": 2,
         "stall": 3, "break": 4, "release": 4, "say-release": 3, "doubt": 4,
         "say-unknown": 3}
TROUBLE = (OSError, PostgresError)


class Deed(NamedTuple):
    """What an attempt does; at: before which statement it dies or freezes,
    behind the last one too."""
    does: str = "pay"
    tells: str = "answer"
    at: int = 0
    seconds: float = 0
    witness_first: bool = False


class LedgerPlan(Plan):
    ROUTES = ("witness",)

    def deed(self, record, attempt):
        random = self.random("ledger", *record, attempt)
        table = DEEDS
        if self.random("luck", *record).random() < 0.2:
            table = {**table, "pay": 0}
        return Deed(
            weighted(random, table), weighted(random, TELLS),
            random.randint(0, 4), random.choice((
                random.uniform(0.05, 0.5), random.uniform(1, 3),
                UPSTREAM_TIMEOUT_S + random.uniform(0.5, 4))),
            random.random() < 0.5), random


class LedgerBank(Bank):
    def __init__(self, plan, history, folder):
        self.folder = folder  # of the database's socket
        super().__init__(plan, history)

    def execute(self, connection, request):
        record = record_of(request)
        attempt = int(request.get("Idempotency-Attempt"))
        variant = json.loads(request.body)["amount"] - 100
        deed, random = self.plan.deed(record, attempt)
        if self.honest:
            deed = Deed()
        arrival = Arrival(
            record, attempt, time.monotonic(), False,
            deed.does == "doubt" or deed.tells != "answer" or
            deed.does not in ("pay", *REFUSES),
            None, None, variant,
            of_message=request.get("X-Of-Message") is not None)
        self.history.arrivals.append(arrival)
        if deed.does in REFUSES:
            self.say(connection, arrival, REFUSES[deed.does])
            return
        with self.log:
            given, data = self.give(record, "store", 201, variant,
                                    padding=random.choice((0, 10, 1000)))
        arrival.given = given.name
        try:
            lives = self.pay(request, record, given, deed)
        except TROUBLE as error:
            # It was not made: the database says so, or cannot be had.
            refused = getattr(error, "state", "").startswith("23")
            self.say(connection, arrival,
                     REFUSES["break" if refused else "release"])
            return
        if not lives:
            connection.close()
        elif deed.tells in LIES:
            self.say(connection, arrival, LIES[deed.tells])
        else:
            if deed.tells == "stall":
                self.over.wait(UPSTREAM_TIMEOUT_S + 0.5)
            self.act(deed.tells, random, connection, data)
        arrival.done = time.monotonic()

    def pay(self, request, record, given, deed):
        """The transaction; False: it was killed on its way."""
        db = PostgresClient(self.folder, 60, name="api")
        try:
            for number, sql in enumerate(
                    (*self.statements(request, record, given, deed), None)):
                if number == deed.at and deed.does == "freeze":
                    self.over.wait(deed.seconds)
                if number == deed.at and deed.does.endswith("die"):
                    if deed.does == "send-and-die" and sql:
                        db.send(sql)
                    return False
                if sql:
                    db(sql)
        finally:
            db.close()
        return True

    def statements(self, request, record, given, deed):
        of = (f"{literal(request.get('Idempotency-Key-Id'))}, "
              f"{int(request.get('Idempotency-Attempt'))}")
        headers = literal(json.dumps([list(f) for f in given.answer.fields]))
        body = literal(given.answer.body.decode())
        rows = [
            "INSERT INTO payments (record, name, key_id, attempt) VALUES "
            f"({literal(str(record))}, {literal(given.name)}, {of})",
            "INSERT INTO onceproxy_witness (key_id, attempt, status, headers, "
            f"body) VALUES ({of}, {given.answer.status}, {headers}, "
            f"convert_to({body}, 'UTF8'))"]
        if deed.witness_first:
            rows.reverse()
        return "BEGIN", *rows, "COMMIT"

    def say(self, connection, arrival, how):
        """An answer that is not the payment's own."""
        status, kind, says = how
        with self.log:
            given, data = self.give(arrival.record, kind, status,
                                    arrival.variant, "n", says=says)
        arrival.given = given.name
        connection.send(data)
        arrival.done = time.monotonic()

    def read_rows(self, records):
        """What the database has in the end, by record."""
        db = PostgresClient(self.folder)
        names = {str(record): record for record in records}
        rows = {}
        for record, name, key_id, attempt in db(
                "SELECT record, name, key_id, attempt FROM payments"):
            rows.setdefault(names[record], []).append(
                Row(name, key_id, int(attempt)))
        db.close()
        return rows
