# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 14: what `onceproxy witness sql` prints, and what `doctor`
finds of a witness in a real PostgreSQL."""

import json
import os

from once import tap
from once.gateway import command, is_without, write
from once.postgres import Postgres, programs
from once.tap import Skip, each, equal, test

PAYMENTS = ("CREATE TABLE payments (id bigserial PRIMARY KEY, amount int); "
            "INSERT INTO payments (amount) VALUES (1), (2)")


class Patient:
    """A route with a witness in an API's database, and what is said of it; the
    gateway logs in as gate, the API as api."""

    def __init__(self, bench, made=True, **witness):
        if not programs() or is_without("postgres"):
            raise Skip("no PostgreSQL, or built without it")
        self.postgres = bench.postgres_for_all
        self.postgres(f"CREATE ROLE gate LOGIN; CREATE ROLE api; {PAYMENTS}; "
                      "GRANT ALL ON SCHEMA public TO gate, api")
        self.witness = {"broker": "ledger", "enforced_by": "payments",
                        **witness}
        self.config = bench.config(bench.upstream(), idempotency={
            "on_unknown": {"witness": self.witness}})
        self.config["brokers"] = {"ledger": {"postgres": self.url()}}
        self.file = os.path.join(bench.folder(), "onceproxy.json")
        if made:
            self.postgres(self.sql())

    def url(self):
        return self.postgres.url.replace("//postgres@", "//gate@")

    def sql(self, *names):
        write(self.file, self.config)
        done = command("witness", "sql", "-c", self.file, *names)
        equal((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def look(self):
        """What is found of witnesses, by name."""
        write(self.file, self.config)
        done = command("doctor", "-c", self.file, "--json")
        equal(done.stderr, "")
        found = [f for f in json.loads(done.stdout)["findings"]
                 if f["name"].startswith("witness_")]
        return {f["name"]: f for f in found}

    def ill(self):
        return {name: f["level"] for name, f in self.look().items()
                if f["level"] != "ok"}

    def finds(self, name, level):
        found = self.look()[name]
        equal((found["level"], found["where"]),
              (level, "/routes/0/idempotency/on_unknown"), found)
        assert found["cure"] and "{}" not in str(found), found
        return found

    def cured(self, name, level):
        """It is found, and what the cure says is done."""
        found = self.finds(name, level)
        self.postgres(found["cure"].split(" say: ")[-1])
        equal(self.look()[name]["level"], "ok")
        return found["words"]


# --- what makes it ---

@test
def what_is_printed_makes_a_witness_that_is_well(bench):
    patient = Patient(bench)
    equal(patient.ill(), {})
    # Payments that were there have a row each.
    equal(patient.postgres("SELECT count(*) FROM onceproxy_witness"), ["2"])


@test
def an_api_is_exchanged_between_the_columns_and_the_key(bench):
    patient = Patient(bench, made=False)
    columns, key = patient.sql().split("-- Have the API write", 1)
    patient.postgres(columns)
    patient.postgres("INSERT INTO payments DEFAULT VALUES")  # the old one
    patient.postgres(
        "INSERT INTO payments (key_id, attempt) VALUES ('k', 1); "
        "INSERT INTO onceproxy_witness (key_id, attempt) VALUES ('k', 1)")
    patient.postgres("-- Have the API write" + key)
    equal(patient.ill(), {})
    equal(patient.postgres("SELECT count(*), count(DISTINCT key_id) FROM "
                           "onceproxy_witness"), ["4|4"])


@test
def no_payment_is_there_without_its_row(bench):
    patient = Patient(bench)
    pay = ("INSERT INTO payments (amount, key_id, attempt) "
           "VALUES (3, 'k', 1); ")
    seen = "INSERT INTO onceproxy_witness (key_id, attempt) VALUES ('k', 1)"
    for sql in (pay, pay + seen + " ON CONFLICT DO NOTHING"):
        patient.postgres("INSERT INTO onceproxy_witness (key_id, attempt, "
                         "verdict) VALUES ('k', 1, 'revoked') "
                         "ON CONFLICT DO NOTHING")
        done = patient.postgres.psql(f"BEGIN; {sql}; COMMIT")
        assert "violates foreign key constraint" in done.stderr, done.stderr
    patient.postgres("DELETE FROM onceproxy_witness WHERE key_id = 'k'")
    patient.postgres(f"BEGIN; {pay}{seen}; COMMIT")
    equal(patient.postgres("SELECT count(*) FROM payments"), ["3"])


@test
def a_table_in_a_schema_with_odd_names_is_made(bench):
    patient = Patient(bench, made=False, table='Api."w', enforced_by="Api.p w")
    patient.postgres('CREATE SCHEMA "Api"; CREATE TABLE "Api"."p w" (id int)')
    patient.postgres(patient.sql())
    equal(patient.ill(), {})


@test
def each_table_is_printed_once(bench):
    patient = Patient(bench)
    routes = patient.config["routes"]
    first = routes[0]["name"]
    for name, more in (("b", {}), ("c", {"enforced_by": "refunds"}),
                       ("d", {"table": "other"})):
        routes.insert(0, json.loads(json.dumps(routes[-1])))
        routes[0].update(
            name=name, path=f"/v1/{name}", idempotency={"on_unknown": {
                "witness": {**patient.witness, **more}}})
    made = [line.split()[2] for line in patient.sql().splitlines()
            if line.startswith("CREATE TABLE")]
    equal(sorted(made), ['"onceproxy_witness"', '"other"'])
    assert '"refunds"' in patient.sql("c") and '"other"' not in patient.sql("c")
    assert '"other"' not in patient.sql(first)
    for names in (["nowhere"], ["a", "b"]):
        done = command("witness", "sql", "-c", patient.file, *names)
        assert done.returncode and done.stderr and not done.stdout, done


@test
def without_a_witness_there_is_nothing_to_print(bench):
    config = bench.config(bench.upstream())
    file = os.path.join(bench.folder(), "onceproxy.json")
    write(file, config)
    done = command("witness", "sql", "-c", file)
    equal((done.returncode, done.stdout), (1, ""))
    assert "witness" in done.stderr, done.stderr


# --- what doctor finds ---

@test
def a_database_that_is_away_or_refuses_us_is_a_failure(bench):
    patient = Patient(bench)
    patient.postgres("ALTER ROLE gate NOLOGIN")
    said = patient.finds("witness_unreachable", "fail")["words"]
    assert "not permitted to log in" in said, said
    equal(patient.look()["witness_table"]["level"], "skip")
    patient.config["brokers"]["ledger"]["postgres"] = \
        f"postgresql:///postgres?host={bench.folder()}"
    patient.finds("witness_unreachable", "fail")


@test
def a_table_that_is_not_there_is_a_failure(bench):
    patient = Patient(bench, made=False)
    said = patient.finds("witness_table", "fail")
    assert "no such table" in said["words"], said
    assert f"onceproxy witness sql -c {patient.file}" in said["cure"], said
    equal(patient.look()["witness_answers"]["level"], "skip")


@test
def a_table_without_its_key_is_a_failure(bench):
    patient = Patient(bench, enforced_by="payments")
    patient.postgres("ALTER TABLE onceproxy_witness "
                     "DROP CONSTRAINT onceproxy_witness_pkey")
    said = patient.finds("witness_table", "fail")["words"]
    assert "no primary key (key_id, attempt)" in said, said


@each([("to insert", "INSERT", "fail"), ("to see", "SELECT", "fail"),
       ("to revoke what was started", "UPDATE (verdict)", "fail")])
def a_right_is_missing(bench, right, level):
    patient = Patient(bench, then={"reconcile": {
        "path": "/v1/by-key/{key}", "absent": [404]}})
    patient.postgres(f"REVOKE {right} ON onceproxy_witness FROM gate")
    said = patient.cured("witness_rights", level)
    assert right.split()[0] in said, said
    equal(patient.ill(), {})


@test
def what_was_revoked_is_not_deleted_without_the_right(bench):
    patient = Patient(bench)
    patient.postgres("REVOKE DELETE ON onceproxy_witness FROM gate")
    patient.cured("witness_rest", "warn")


@test
def row_security_hides_rows(bench):
    patient = Patient(bench)
    patient.postgres("ALTER TABLE onceproxy_witness ENABLE ROW LEVEL SECURITY")
    assert "row security" in patient.cured("witness_rights", "fail")


@each([("a trigger that drops rows", """CREATE FUNCTION no() RETURNS trigger
        LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
        CREATE TRIGGER no BEFORE INSERT ON onceproxy_witness
        FOR EACH ROW EXECUTE FUNCTION no()""", '"revoked" was to be there'),
       ("a trigger that writes another verdict", """CREATE FUNCTION no()
        RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.verdict = 'done';
        RETURN NEW; END $$;
        CREATE TRIGGER no BEFORE INSERT ON onceproxy_witness
        FOR EACH ROW EXECUTE FUNCTION no()""", 'is "done"'),
       ("a verdict that is not known there", """ALTER TABLE onceproxy_witness
        ADD CHECK (verdict IN ('done', 'revoked'))""", "violates check"),
       ("another default", """ALTER TABLE onceproxy_witness
        ALTER verdict SET DEFAULT 'paid'""", '"done" was to be there')])
def an_answer_that_is_another_is_a_failure(bench, sql, words):
    patient = Patient(bench)
    patient.postgres(sql)
    said = patient.finds("witness_answers", "fail")["words"]
    assert words in said, said


@test
def it_leaves_nothing_in_the_table(bench):
    patient = Patient(bench, made=False, enforced_by=None)
    del patient.witness["enforced_by"]
    patient.postgres(patient.sql())
    equal(patient.ill(), {})
    equal(patient.postgres("SELECT count(*) FROM onceproxy_witness"), ["0"])


@each([("no key", "ALTER TABLE payments DROP COLUMN verdict"),
       ("null allowed", "ALTER TABLE payments ALTER attempt DROP NOT NULL"),
       ("no table", "DROP TABLE payments"),
       ("triggers off", "ALTER TABLE payments DISABLE TRIGGER ALL")])
def a_table_that_enforces_nothing_is_a_failure(bench, sql):
    patient = Patient(bench)
    patient.postgres(sql)
    said = patient.finds("witness_enforced", "fail")
    assert "payments" in said["words"], said


@test
def one_attempt_that_may_make_two_rows_is_a_warning(bench):
    patient = Patient(bench)
    patient.postgres("ALTER TABLE payments "
                     "DROP CONSTRAINT payments_key_id_attempt_key")
    assert "payments" in patient.cured("witness_single", "warn")


@test
def an_api_that_may_change_rows_is_a_warning(bench):
    patient = Patient(bench)
    patient.postgres("GRANT INSERT ON onceproxy_witness TO api; GRANT UPDATE "
                     "(verdict, status) ON onceproxy_witness TO api")
    equal(patient.ill(), {})
    patient.postgres("GRANT UPDATE ON onceproxy_witness TO api")
    assert "api may UPDATE" in patient.cured("witness_changed", "warn")


@test
def commits_that_may_be_lost_are_a_warning(bench):
    patient = Patient(bench)
    patient.postgres("ALTER ROLE gate SET synchronous_commit = off")
    assert "is off" in patient.finds("witness_commit", "warn")["words"]
    patient.postgres("ALTER ROLE gate RESET synchronous_commit")
    standby = Postgres(primary=patient.postgres)
    try:
        said = patient.finds("witness_commit", "warn")["words"]
        assert "may lack the last rows" in said, said
    finally:
        standby.stop()
    equal(patient.ill(), {})


tap.main()
