# SPDX-License-Identifier: BSD-2-Clause
"""The world of a history whose gateways ask a witness: the API's PostgreSQL is
under faults as well, and messages bring the same keys."""

import itertools
import json
import time

from once.history import Act, Op
from once.messages import Stream, source
from once.pgwire import PostgresClient, PostgresError
from once.redis import RedisClient
from once.wait import PATIENCE, eventually

from bank import body_of
from clients import Clients
from ledger_bank import ENFORCES, TABLES, LedgerBank
from plan import FAULTS, MAX_ATTEMPTS, Request
from world import World, ask_admin

TABLES_OF_FAULTS = {
    **FAULTS,
    "network": {**FAULTS["network"], "database_replies": 3,
                "database_requests": 3, "database_reset": 2,
                "database_hold": 3},
    "database": {"kill": 2, "freeze": 3, "disconnect": 4, "lock": 2}}


class LedgerWorld(World):
    LANES = (*World.LANES, "database")

    def __init__(self, bench, plan, **more):
        random = plan.random("ledger")
        self.enforced = random.random() < 0.7
        self.postgres = bench.postgres()
        self.postgres(TABLES + (ENFORCES if self.enforced else ""))
        # One for both: the same URL is the same witness.
        self.to_database = bench.proxy(
            f"unix:{self.postgres.folder}/.s.PGSQL.5432", unix=False)
        self.queue = Stream(bench.own_redis("--appendonly", "yes"))
        super().__init__(bench, plan, **more)
        self.wait_trusted()

    def make_bank(self):
        return LedgerBank(self.plan, self.history, self.postgres.folder)

    def policy(self, on_unknown):
        witness = {"broker": "ledger", "table": "onceproxy_witness",
                   "wait": "1s"}
        if self.enforced:
            witness["enforced_by"] = "payments"
        return {on_unknown: witness}

    def route(self, name, in_flight):
        """What a message is needs its share of the room."""
        route = super().route(name, in_flight)
        route["idempotency"]["max_request_body"] = "16KiB"
        return route

    def more(self, i):
        config = {"brokers": {"ledger": {
            "postgres": f"postgresql://postgres@{self.to_database.address}"
            "/postgres"}}}
        source(config, self.queue, results={"stream": "done"},
               retry={"attempts": MAX_ATTEMPTS},
               request={"path": "/v1/witness", "headers": {
                   "Authorization": "{header:tenant}",
                   "X-Of-Message": "1"}})
        return config

    def wait_trusted(self):
        """What is sent before a gateway has seen the witness is never asked
        about; and without a foreign key, payments have to show it."""
        keys = (f"first-{number}" for number in itertools.count())
        self.bank.honest = True
        eventually(lambda: self.prove(itertools.islice(keys, 2)) or all(
            self.is_trusted(gateway) for gateway in self.gateways),
            "the witness is trusted")
        self.bank.honest = False

    def is_trusted(self, gateway):
        said = ask_admin(gateway.ready["admin"], "GET", "/status").json()
        return all(w["trusted"] for w in said["witnesses"])

    # --- messages ----------------------------------------------------------

    def send_messages(self):
        """They bring keys that clients send as well, and some of their own."""
        random = self.plan.random("messages")
        redis = RedisClient(self.queue.redis.path)
        queue = Stream(redis, self.queue.name)
        number = 0
        while not self.over.wait(random.uniform(0, 0.2)):
            number += random.random() < 0.5
            record = self.plan.record(number)
            with self.lock:
                op = Op(len(self.history.ops), record, 0, 0, time.monotonic(),
                        of_message=True)
                self.history.ops.append(op)
            queue.add(idempotency_key=record.key,
                      tenant=record.tenant,
                      body=body_of(record, 0))
        redis.close()

    def beside(self):
        return [self.send_messages]

    def tell_results(self):
        """What messages were answered is told as to a client."""
        now = time.monotonic()
        for fields in self.queue.entries("done"):
            given = self.history.given[json.loads(fields["body"])["execution"]]
            self.history.ops.append(Op(
                len(self.history.ops), given.record, 0, 0, now, now,
                given.name, given.answer, replayed=True))

    # --- faults: the database ----------------------------------------------

    def database_kill(self, fault):
        self.postgres.kill()
        self.over.wait(fault.length)
        self.postgres.start()

    def database_freeze(self, fault):
        self.postgres.freeze_all()
        self.over.wait(fault.length * 3)
        self.postgres.thaw_all()

    def in_database(self, *statements, hold_s=0):
        try:
            db = PostgresClient(self.postgres.folder)
            for sql in statements:
                db(sql)
            self.over.wait(hold_s)
            db.close()
        except (OSError, PostgresError):
            pass  # another fault was there

    def database_disconnect(self, fault):
        """Sessions end in the middle: of gateways and of the API."""
        self.in_database(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
            "backend_type = 'client backend' AND pid <> pg_backend_pid()")

    def database_lock(self, fault):
        """Nobody can write into the table for a while."""
        self.in_database("BEGIN", "LOCK TABLE onceproxy_witness IN SHARE MODE",
                         hold_s=fault.length * 3)

    def network_database_replies(self, fault):
        self.cut(self.to_database, fault, "cut_replies")

    def network_database_requests(self, fault):
        self.cut(self.to_database, fault, "cut_requests")

    def network_database_reset(self, fault):
        self.to_database.reset_all()

    def network_database_hold(self, fault):
        self.to_database.hold()
        self.over.wait(fault.length * 4)
        self.to_database.release()

    # --- the operator ------------------------------------------------------

    def resolve(self, record, gateway):
        """Somebody who looks nowhere: what is unknown is asked about, or set
        free, which is refused where it was paid, or may yet be."""
        try:
            admin = self.gateways[gateway].ready["admin"]
            found = ask_admin(admin, "POST", "/keys/lookup", {
                "namespace": self.namespace(record), "key": record.key,
                "scope": {"Authorization": record.tenant}})
            if found is None or found.status != 200 or \
                    found.json()["state"] not in ("UNKNOWN", "FAILED"):
                return
            self.decide(admin, record, found.json()["key_id"])
        except (OSError, AssertionError, AttributeError):
            pass  # nobody knows

    def decide(self, admin, record, key_id):
        asks = self.plan.random("decides", *record).random() < 0.5
        act = Act(record, "release", time.monotonic())
        if not asks:
            self.history.acts.append(act)
        got = ask_admin(admin, "POST", f"/keys/{key_id}/"
                        + ("reconcile" if asks else "release"), {})
        if asks or got is None:
            return
        if got.status == 200:
            act.end = time.monotonic()
        elif got.status in (404, 409):
            self.history.acts.remove(act)

    # --- the end -----------------------------------------------------------

    def heal(self):
        self.to_database.pass_all()
        self.to_database.release()
        super().heal()

    def wait_none_is_processing(self):
        """Where nothing is enforced, a payment after all that shows that the
        API writes its rows."""
        super().wait_none_is_processing()
        self.prove(f"proof-{number}" for number in range(10))

    def prove(self, keys):
        clients = Clients(self)
        for number, key in enumerate(keys):
            record = self.plan.record(number)._replace(key=key)
            clients.ask(Request(record, 0, number % 2), last=True)

    def drain(self):
        eventually(lambda: not self.queue.pending(), "messages are through",
                   4 * PATIENCE)
        super().drain()
        self.check_trust()

    def trouble(self):
        """Completes the history by what is there in the end."""
        super().trouble()
        self.tell_results()
        told = self.history
        told.rows = self.bank.read_rows({op.record for op in told.ops})
        paid = {(record, row.attempt) for record, rows in told.rows.items()
                for row in rows}
        for arrival in told.arrivals:
            arrival.effect = (arrival.record, arrival.attempt) in paid

    def check_trust(self):
        """This API never fails to write its row."""
        said = [e for g in self.bench.gateways for e in g.events
                if e.get("event") in ("witness_absent", "witness_broken")]
        assert not said, said
