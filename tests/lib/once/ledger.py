# SPDX-License-Identifier: BSD-2-Clause
"""An API that commits its payments in a real PostgreSQL, with their witnesses
(contract, section 14), and that dies or stops wherever a test says."""

import json
import threading

from .pgwire import PostgresClient, PostgresError
from .upstream import Hold, answer

TABLES = """
CREATE TABLE {0}_witness (key_id text, attempt integer,
    verdict text NOT NULL DEFAULT 'done', status integer, headers jsonb,
    body bytea, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key_id, attempt), UNIQUE (key_id, attempt, verdict));
CREATE TABLE {0}_payments (id serial PRIMARY KEY, amount text,
    key_id text{1}, attempt integer{1},
    verdict text GENERATED ALWAYS AS ('done') STORED);
"""

ENFORCED = """
ALTER TABLE {0}_payments ADD FOREIGN KEY (key_id, attempt, verdict)
    REFERENCES {0}_witness (key_id, attempt, verdict)
    DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE {0}_payments ADD UNIQUE (key_id, attempt);
"""

# Where a payment may be stopped, in the order of its life.
POINTS = ("come", "starting", "started", "open", "committed")


class Died(Exception):
    """The API ends here, with all its connections."""


class Ledger:
    """The API's database, and the script of an upstream that pays into it.

    writes: it writes its witness, which has these columns besides.  starts: in
    a transaction of its own before, `started`.  status: of the answer.  The
    next payment alone is stopped at a point by stop(); it goes on, or dies, as
    that says."""

    def __init__(self, postgres, enforced=True, name="ledger"):
        self.postgres, self.name = postgres, name
        self.enforced = enforced
        self.columns = {"status": 201, "body": b'{"id":"row"}'}
        self.writes, self.starts = True, False
        self.status = 201
        self.stops = {}
        self.lock = threading.Lock()
        null = " NOT NULL" if enforced else ""
        postgres(TABLES.format(name, null))
        if enforced:
            postgres(ENFORCED.format(name))

    def policy(self, **members):
        """on_unknown."""
        if self.enforced:
            members.setdefault("enforced_by", f"{self.name}_payments")
        return {"witness": {"broker": "ledger", "wait": "500ms",
                            "table": f"{self.name}_witness", **members}}

    def brokers(self):
        return {"ledger": {"postgres": self.postgres.url}}

    def stop(self, point, dies=False):
        """The next payment waits there; after that it dies."""
        assert point in POINTS
        hold = Hold()
        with self.lock:
            self.stops[point] = (hold, dies)
        return hold

    def dies(self, point):
        self.stop(point, dies=True).release()

    def reach(self, point):
        with self.lock:
            hold, dies = self.stops.pop(point, (None, False))
        if hold is not None:
            hold.wait()
        if dies:
            raise Died(point)

    def __call__(self, connection, request):
        if request.method != "POST":
            connection.send(answer(404))
            return
        client = PostgresClient(self.postgres.folder, name="api")
        try:
            self.reach("come")
            connection.send(self.pay(client, request))
        except Died:
            connection.close()
        finally:
            client.close()

    def commit(self, request):
        """Whether the payment could be made."""
        client = PostgresClient(self.postgres.folder, name="api")
        try:
            return b" 500 " not in self.pay(client, request)[:16]
        finally:
            client.close()

    def pay(self, client, request):
        """The payment, in one transaction; what the API says of it."""
        key_id = request.get("Idempotency-Key-Id")
        attempt = int(request.get("Idempotency-Attempt"))
        amount = request.body.decode("latin-1").replace("'", "''")
        try:
            if self.starts:
                client("BEGIN")
                self.write(client, key_id, attempt, {"verdict": "started"})
                self.reach("starting")
                client("COMMIT")
                self.reach("started")
            client("BEGIN")
            client(f"INSERT INTO {self.name}_payments (amount, key_id, "
                   f"attempt) VALUES ('{amount}', '{key_id}', {attempt})")
            if self.starts:
                if not client(f"UPDATE {self.name}_witness SET verdict = "
                              f"'done' WHERE key_id = '{key_id}' AND attempt "
                              f"= {attempt} AND verdict = 'started' "
                              "RETURNING attempt"):
                    raise PostgresError({"M": "it was revoked"})
            elif self.writes:
                self.write(client, key_id, attempt, self.columns)
            self.reach("open")
            client("COMMIT")
        except PostgresError as error:
            client("ROLLBACK")
            return answer(500, f"{error.state}".encode())
        self.reach("committed")
        return answer(self.status, b'{"id":"own"}')

    def write(self, client, key_id, attempt, columns):
        names, values = ["key_id", "attempt"], [f"'{key_id}'", str(attempt)]
        for name, value in columns.items():
            names.append(name)
            if isinstance(value, bytes):
                value = "'\\x" + value.hex() + "'"
            elif isinstance(value, str):
                value = f"'{value}'"
            elif not isinstance(value, int):
                value = "'" + json.dumps(value) + "'"
            values.append(str(value))
        client(f"INSERT INTO {self.name}_witness ({', '.join(names)}) "
               f"VALUES ({', '.join(values)})")

    def payments(self):
        """The attempts of those that were made, in their order."""
        return [int(line) for line in self.postgres(
            f"SELECT attempt FROM {self.name}_payments ORDER BY id")]

    def rows(self):
        """[(attempt, verdict), …]"""
        return [(row["attempt"], row["verdict"]) for row in self.postgres.rows(
            f"SELECT attempt, verdict FROM {self.name}_witness "
            "ORDER BY attempt")]
