# SPDX-License-Identifier: BSD-2-Clause
"""The world of a history whose messages are rows of a table of PostgreSQL, with
a standby or without: those who write rows, what happens to the servers and to
the rows, and what the tables have in the end.

Triggers keep a list of all rows that were ever there, and of those that others
than onceproxy took away, in the transactions that did it: so what a server
forgets, it forgets there too."""

import json
import signal
import time

from once.admin import Admin
from once.deliveries import Dead, Entry, Made, Result
from once.messages import id_of
from once.pgwire import PostgresClient, PostgresError, literal
from once.postgres import Outbox, outbox_source
from once.wait import PATIENCE, eventually

from flow import BACKLOG, body_of
from message_world import FAULTS, MessageWorld

WRITERS = 3
LATE_S = (0.05, 0.4, 3)  # a transaction that has rows is open for so long
TROUBLE = (OSError, PostgresError)
OURS = "onceproxy/%"  # the names of the gateways' sessions
NOTED = f"""
    CREATE TABLE noted (id text, place bigint, key text, entity text);
    CREATE TABLE taken_away (id text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO noted VALUES (NEW.id::text, NEW.place,
            NEW.payload->>'key', NEW.payload->>'account');
        NOTIFY outbox;
        RETURN NULL; END $$;
    CREATE FUNCTION note_taken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF current_setting('application_name') NOT LIKE '{OURS}' THEN
            INSERT INTO taken_away VALUES (OLD.id::text);
        END IF;
        RETURN NULL; END $$;
    ALTER TABLE outbox ADD place bigserial;
    CREATE TRIGGER note AFTER INSERT ON outbox
        FOR EACH ROW EXECUTE FUNCTION note();
    CREATE TRIGGER note_taken AFTER DELETE ON outbox
        FOR EACH ROW EXECUTE FUNCTION note_taken()"""
ALL_NOTED = "SELECT id, place, key, entity FROM noted"
# Some rows that nobody has finished, by chance.
SOME = """SELECT id FROM outbox WHERE published_at IS NULL
    ORDER BY random() LIMIT {}"""
BROKER = {"cut": 4, "restart": 3, "freeze": 3, "door": 2, "terminate": 4}
ROWS = {"lock": 4, "touch": 3, "snapshot": 3, "table": 1, "delete": 1,
        "again": 1}
PAIR = {**BROKER, "switch": 4, "lose": 4}


class OutboxWorld(MessageWorld):
    LANES = ("gateway", "gateway", "store", "broker", "rows")

    def choose_faults(self):
        """With a standby it is failed over to."""
        self.has_standby = self.options.random() < 0.5
        return {**FAULTS, "broker": PAIR if self.has_standby else BROKER,
                "rows": ROWS}

    def make_broker(self):
        options = self.options
        self.broker = (self.bench.postgres_pair() if self.has_standby
                       else self.bench.postgres())
        self.by_place = options.random() < 0.5  # not by the id
        key = "uuid" if self.by_place else "bigserial"
        self.outbox = Outbox(self.broker, key=key)
        self.broker(NOTED)
        self.sets = options.random() < 0.5  # a column, and deletes nothing
        self.notifies = options.random() < 0.5
        self.lost = []  # (id, place, Entry) of a primary that was lost
        self.dropped = set()  # positions of letters, by is_through()

    def add_source(self, config, members):
        columns = {"headers": "headers"}
        if self.by_place:
            columns["order"] = "place"
        if self.flow.ordered:
            members["order_by"] = "entity"
        if self.sets:
            members["finish"] = {"set": "published_at"}
        if self.notifies:
            members.update(notify="outbox", poll="500ms")
        outbox_source(config, self.outbox, columns=columns,
                      results={"table": "done"}, **members)

    def producers(self):
        return [Writer(self, number).run for number in range(WRITERS)]

    def broker_client(self, timeout=PATIENCE):
        return PostgresClient(self.broker.folder, timeout)

    def query(self, sql, timeout=PATIENCE):
        """On a connection for that alone."""
        client = self.broker_client(timeout)
        try:
            return client(sql)
        finally:
            client.close()

    # --- faults: the servers -----------------------------------------------

    def servers(self):
        return [self.broker.primary, self.broker.standby] \
            if self.has_standby else [self.broker]

    def rest(self, random, most):
        self.over.wait(random.choice((0, random.uniform(0, most))))

    def broker_cut(self, random):
        """kill -9."""
        server = random.choice(self.servers())
        server.cut()
        self.rest(random, 1.5)
        server.start()

    def broker_restart(self, random):
        server = self.servers()[0]
        server.kill(random.choice((signal.SIGQUIT, signal.SIGINT)))
        self.rest(random, 1.5)
        server.start()

    def broker_freeze(self, random):
        server = random.choice(self.servers())
        server.freeze_all()
        self.over.wait(random.choice((0.1, 1, 7)) * random.uniform(0.5, 1))
        server.thaw_all()

    def broker_door(self, random):
        """No new connections."""
        server = self.servers()[0]
        server.freeze()
        self.over.wait(random.uniform(0.1, 3))
        server.thaw()

    def broker_terminate(self, random):
        """Sessions of some gateways, or of all."""
        share = random.choice((0.3, 1))
        self.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
            f"application_name LIKE '{OURS}' AND random() < {share}")

    def broker_switch(self, random):
        """To the standby, which has been told all."""
        self.broker.primary.kill(signal.SIGINT)
        self.fail_over(random)

    def broker_lose(self, random):
        """To a standby that may not have been told all."""
        self.broker.standby.freeze_all()
        self.over.wait(random.choice((0.05, 0.3, 1)))
        self.broker.primary.cut()
        self.broker.standby.thaw_all()
        self.fail_over(random)

    def fail_over(self, random):
        self.rest(random, 1)
        self.broker.promote()
        noted = {row[0] for row in self.query(ALL_NOTED)}
        gone = [row for row in self.broker.standby.look_into(ALL_NOTED)
                if row[0] not in noted]
        with self.lock:
            self.counts["rows lost"] += len(gone)
            self.lost += [(i, int(place), Entry(key, entity))
                          for i, place, key, entity in gone]
        self.rest(random, 0.5)
        self.broker.copy_again()
        self.broker.wait_copied()

    # --- faults: the rows --------------------------------------------------

    def disturb(self, *statements, hold_s=0):
        """In a transaction, which is undone where it does not end well."""
        try:
            client = self.broker_client()
            try:
                for sql in statements:
                    client(sql)
                self.over.wait(hold_s)
                client("COMMIT")
            finally:
                client.close()
        except TROUBLE:
            pass  # the server has gone

    def rows_lock(self, random):
        """By somebody else, for longer than a gateway waits, at times."""
        strength = random.choice(("UPDATE", "SHARE", "KEY SHARE"))
        self.disturb("BEGIN", SOME.format(random.randint(1, 10))
                     + f" FOR {strength} SKIP LOCKED",
                     hold_s=random.choice((0.1, 1, 4)))

    def rows_touch(self, random):
        """They are other bytes, and the same messages."""
        self.disturb(
            "BEGIN", "UPDATE outbox SET made = now() WHERE id IN (SELECT id "
            f"FROM ({SOME.format(random.randint(1, 10))} FOR UPDATE SKIP "
            "LOCKED) AS some)", hold_s=random.choice((0, 0.2)))

    def rows_snapshot(self, random):
        """A long transaction, because of which dead rows stay."""
        self.disturb("BEGIN ISOLATION LEVEL REPEATABLE READ",
                     "SELECT count(*) FROM outbox",
                     hold_s=random.uniform(1, 6))

    def rows_table(self, random):
        """The whole table is locked."""
        mode = random.choice(("SHARE", "ACCESS EXCLUSIVE"))
        self.disturb("BEGIN", f"LOCK TABLE outbox IN {mode} MODE",
                     hold_s=random.choice((0.2, 1.5)))

    def rows_delete(self, random):
        self.disturb(
            "BEGIN", "DELETE FROM outbox WHERE id IN (SELECT id FROM "
            f"({SOME.format(random.randint(1, 3))} FOR UPDATE SKIP LOCKED) "
            "AS some)")

    def rows_again(self, random):
        """Some that are finished are unread again."""
        if not self.sets:
            return
        with self.lock:
            self.told.resets += 1
        self.disturb(
            "BEGIN", "UPDATE outbox SET published_at = NULL WHERE id IN "
            "(SELECT id FROM outbox WHERE published_at IS NOT NULL ORDER BY "
            f"random() LIMIT {random.randint(1, 50)})")

    # --- what is there -----------------------------------------------------

    def ended_positions(self):
        client = self.broker_client(2)
        try:
            there = client("SELECT to_regclass('outbox_dead')")[0][0]
            return [(position, key) for position, key in client(
                "SELECT n.id, n.key FROM noted AS n WHERE NOT EXISTS (SELECT "
                "FROM outbox AS o WHERE o.id::text = n.id AND published_at IS "
                "NULL) AND n.id NOT IN (SELECT id FROM taken_away)" + (
                    " AND n.id NOT IN (SELECT id FROM outbox_dead)"
                    if there else ""))]
        finally:
            client.close()

    def entries_at(self, position):
        found = [Entry(*row) for row in self.query(
            f"SELECT key, entity FROM noted WHERE id = {literal(position)}")]
        with self.lock:
            return found + [e for i, _, e in self.lost if i == position]

    def unread(self):
        return self.query("SELECT id FROM outbox WHERE published_at IS NULL")

    def heal_broker(self):
        eventually(self.answers, "PostgreSQL answers")

    def answers(self):
        try:
            return self.query("SELECT 1")
        except TROUBLE:
            return None

    def is_through(self):
        """The dead letter of a row that was lost is dropped where a row that
        was given its number is in need of one: its source stands for that."""
        unread = {position for position, in self.unread()}
        again = unread & {position for position, _, _ in self.lost}
        if any("another message" in e["error"] for g in self.gateways
               for e in g.find_log("source_stands")):
            for position in again:
                name = id_of(position.encode(), "outbox")
                if Admin(self.gateways[0]).post(
                        f"/messages/{name}/drop").status < 300:
                    self.dropped.add(position)  # or the row's own letter
        return not unread

    def tell_broker(self):
        told = self.told
        for position, place, key, entity in self.query(ALL_NOTED):
            told.entries[position] = Entry(key, entity)
            told.places[position] = (int(place), 0)
        for number, (position, place, entry) in enumerate(self.lost, 1):
            if position in told.entries:
                # It was given again: a letter there may be of the lost one.
                told.was_dead.add(position)
                position = f"{position} lost {number}"
            told.entries[position] = entry
            told.places[position] = (place, number)
            told.gone.add(position)
        if self.counts["broker lose"]:  # and with it copies of its letters
            told.was_dead |= {
                one["position"] for gateway in self.bench.gateways
                for one in gateway.find_log("message") if "reason" in one}
        told.gone |= {position for position, in self.query(
            "SELECT id FROM taken_away")} & set(told.entries)
        told.gone |= self.dropped & set(told.entries)
        told.letters = self.letters()
        told.pending = {position for position, in self.unread()}
        told.results = [self.result_of(*row) for row in self.rows_of(
            "done", "headers->>'onceproxy-position', key_id, "
            "convert_from(body, 'UTF8'), status, "
            "headers->>'onceproxy-duplicate'")]
        told.dead = [self.dead_of(*row) for row in self.rows_of(
            "outbox_dead", "id, headers->>'onceproxy-reason', "
            "extract(epoch FROM created)")]

    def rows_of(self, table, columns):
        """Of one that is there once something is in it."""
        there, = self.query(f"SELECT to_regclass('{table}')")
        return self.query(f"SELECT {columns} FROM {table}") if there[0] else []

    def result_of(self, position, key_id, body, status, duplicate):
        return Result(position, self.ids.get(key_id),
                      json.loads(body)["execution"], int(status),
                      duplicate is not None)

    def dead_of(self, position, reason, at):
        return Dead(position, reason, float(at) - time.time() + self.now())


class Writer:
    """Writes rows, some in one transaction, some of which are open for a while,
    so that rows with higher ids are there before."""

    def __init__(self, world, number):
        self.world, self.number = world, number
        self.client = None
        self.transactions = 0

    def run(self):
        while not self.world.over.is_set():
            if self.is_behind():
                self.world.over.wait(0.1)
                continue
            random, entries = self.world.supply.take()
            while random.random() < 0.3:
                entries += self.world.supply.take()[1]
            while not self.write(random, entries):
                if self.world.over.wait(0.05):
                    return
            if random.random() < 0.7:
                self.world.over.wait(random.uniform(0, 0.1))

    def is_behind(self):
        """The readers have too much to do."""
        try:
            return len(self.world.unread()) > BACKLOG
        except TROUBLE:
            return True

    def write(self, random, entries):
        """False: nobody knows whether it is there."""
        world, ids = self.world, []
        self.transactions += WRITERS
        transaction = self.transactions + self.number
        begun = world.now()
        try:
            if self.client is None:
                self.client = world.broker_client(10)
            self.client("BEGIN")
            for entry in entries:
                ids.append(self.insert(entry))
                world.told.made[ids[-1]] = Made(begun, transaction=transaction)
            if random.random() < 0.15:
                world.over.wait(random.choice(LATE_S) * random.random())
            self.client("COMMIT")
        except TROUBLE:
            if self.client is not None:
                self.client.close()
            self.client = None
            return False
        committed = world.now()
        for position in ids:
            world.told.made[position] = Made(begun, committed, transaction)
        return True

    def insert(self, entry):
        headers = json.dumps({"Idempotency-Key": entry.key})
        return self.client(
            "INSERT INTO outbox (aggregatetype, aggregateid, type, payload, "
            f"headers) VALUES ('x', {literal(entry.entity)}, 'charge', "
            f"{literal(body_of(entry).decode())}, {literal(headers)}) "
            "RETURNING id")[0][0]
