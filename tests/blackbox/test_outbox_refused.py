# SPDX-License-Identifier: BSD-2-Clause
"""What a server refuses of one row holds up that one alone; what it refuses of
all makes the source stand, for what is really wrong."""

from once import tap
from once.admin import Admin
from once.gateway import is_without
from once.postgres import Outbox, outbox_source, programs
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

WAIT_S = 60
tap.LIMIT_S = 150


class World:
    def __init__(self, bench, members=None, prepare="", user=None, sql=None,
                 **more):
        self.upstream = bench.upstream(self.reply)
        self.status = 201
        self.sql = sql or bench.postgres_for_all
        self.sql(prepare)
        self.outbox = Outbox(self.sql)
        config = bench.config(
            self.upstream, admin={"listen": "127.0.0.1:0"}, **more)
        outbox_source(config, self.outbox,
                      **{"results": {"table": "done"}, **(members or {})})
        if user:
            config["brokers"]["shop"]["postgres"] = self.sql.url.replace(
                "//postgres@", f"//{user}@")
        self.gateway = bench.serve(config)
        self.admin = Admin(self.gateway)

    def reply(self, connection, request):
        connection.send(answer(self.status))

    def ended(self, count, **members):
        self.gateway.wait_until(
            lambda: len(self.gateway.find_log("message", **members)) >= count,
            f"{count} messages {members}", WAIT_S)

    def source(self):
        return self.admin.get("/sources")["sources"][0]

    def held(self):
        return self.admin.get(
            "/messages?source=outbox&state=held")["messages"]

    def holds(self, position):
        """That one alone, which is not held while it is tried again."""
        def found():
            held = self.held()
            return [m["position"] for m in held] == [position] and held[0]
        return eventually(found, "it is held", WAIT_S)

    def stands(self, reason, words):
        eventually(lambda: self.source()["standing"] == reason and
                   words in self.source()["error"],
                   f"it stands for {reason}", WAIT_S)

    def goes(self):
        eventually(lambda: self.source()["standing"] is None,
                   "it goes", WAIT_S)

    def once_each(self, count):
        """All of them were executed once, and have one result."""
        equal((self.outbox.unread(), self.upstream.count()), ([], count))
        equal(self.sql("SELECT count(*), "
                       "count(DISTINCT headers->>'onceproxy-position') "
                       "FROM done"), [f"{count}|{count}"])


RAISES = """
CREATE FUNCTION no() RETURNS trigger AS $$ BEGIN
IF OLD.aggregateid = 'bad' THEN RAISE EXCEPTION 'not this one' {0}; END IF;
RETURN coalesce(NEW, OLD); END $$ LANGUAGE plpgsql;
CREATE TRIGGER no BEFORE DELETE OR UPDATE ON outbox
FOR EACH ROW EXECUTE FUNCTION no()"""

ONE_ROW = [
    ("a foreign key", "CREATE TABLE audit (o bigint REFERENCES outbox (id));"
     "INSERT INTO audit SELECT id FROM outbox WHERE aggregateid = 'bad'",
     "DROP TABLE audit", "violates foreign key", {}),
    ("a trigger", RAISES.format(""), "DROP TRIGGER no ON outbox",
     "not this one", {"order_by": "entity"}),
    ("a trigger of another mind", RAISES.format(
        "USING ERRCODE = 'insufficient_privilege'"),
     "DROP TRIGGER no ON outbox", "not this one",
     {"finish": {"set": "published_at"}}),
    *((f"a trigger that says {state}",
       RAISES.format(f"USING ERRCODE = '{state}'"),
       "DROP TRIGGER no ON outbox", "not this one", {})
      for state in ("0A000", "26000", "57P01", "08006")),
    ("a trigger that says 40001 at the end", RAISES.format(
        "USING ERRCODE = '40001'").replace(
            "TRIGGER no BEFORE", "CONSTRAINT TRIGGER no AFTER").replace(
                "FOR EACH", "DEFERRABLE INITIALLY DEFERRED FOR EACH"),
     "DROP TRIGGER no ON outbox", "not this one", {}),
    ("a trigger that finds no table", RAISES.replace(
        "RAISE EXCEPTION 'not this one' {0}", "DELETE FROM audit"),
     "DROP TRIGGER no ON outbox", '"audit" does not exist', {}),
    ("a constraint of the results", "ALTER TABLE done ADD CONSTRAINT one_row "
     "CHECK (headers->>'onceproxy-position' <> '{row}')",
     "ALTER TABLE done DROP CONSTRAINT one_row", "one_row", {}),
    ("a trigger that does not come to an end", RAISES.replace(
        "RAISE EXCEPTION 'not this one' {0}", "PERFORM pg_sleep(600)"),
     "DROP TRIGGER no ON outbox", "statement timeout", {}),
    ("a trigger that keeps it", RAISES.replace(
        "RAISE EXCEPTION 'not this one' {0}", "RETURN NULL"),
     "DROP TRIGGER no ON outbox", "nothing failed", {}),
]


@each(ONE_ROW)
def what_one_row_has_holds_that_row_alone(
        bench, how, undo, words, members):
    world = World(bench, members)
    hold = world.upstream.hold()
    bad = world.outbox.add({"n": 0}, entity="bad")
    hold.wait_arrived()
    world.sql(how.replace("{row}", bad))
    hold.release()
    told = world.gateway.wait_for_log(
        "message_not_finished", timeout=WAIT_S, position=bad)
    assert words in told["error"], told
    for n in range(1, 41):
        world.outbox.add({"n": n}, entity=str(n))
    world.ended(40, outcome="executed")
    held = world.holds(bad)
    equal(held["reason"], "not-finished")
    assert words in held["detail"], held
    eventually(lambda: world.source()["held"] == 1, "it is held", WAIT_S)
    equal(world.source()["standing"], None)
    equal(world.gateway.find_log("source_stands"), [])
    world.sql(undo)
    world.ended(41, outcome="executed")
    if "finish" in members:
        equal(world.outbox.unread("published_at IS NULL"), [])
        world.sql("DELETE FROM outbox")
    world.once_each(41)
    equal((world.held(), world.source()["held"]), ([], 0))


EVERY_ROW = RAISES.replace("OLD.aggregateid = 'bad'", "true")


@each([
    ("for each row", EVERY_ROW.format("")),
    ("for the statement", EVERY_ROW.format("").replace("EACH ROW",
                                                       "EACH STATEMENT")),
    ("for what may pass", EVERY_ROW.format("USING ERRCODE = '53100'")),
    ("by what it puts", """
CREATE FUNCTION no() RETURNS trigger AS $$ BEGIN
RAISE EXCEPTION 'not this one'; END $$ LANGUAGE plpgsql;
CREATE TRIGGER no BEFORE INSERT ON done FOR EACH ROW EXECUTE FUNCTION no()""")])
def a_trigger_that_refuses_every_row_makes_the_source_stand(bench, how):
    """Of which it cannot be known whether it is the fault of each row."""
    world = World(bench, {"in_flight": 8})
    first = world.outbox.add({"n": 0})
    world.ended(1, position=first)
    hold = world.upstream.hold()
    for n in range(1, 200):
        world.outbox.add({"n": n}, entity=str(n))
    hold.wait_arrived()
    world.sql(how)
    hold.release()
    told = world.gateway.wait_for_log(
        "source_stands", timeout=WAIT_S, reason="broker")
    assert "not this one" in told["error"], told
    assert world.upstream.count() < 100, world.upstream.count()
    assert world.source()["held"] < 100, world.source()
    world.sql("DROP FUNCTION no CASCADE")
    world.ended(200, outcome="executed")
    world.goes()
    world.once_each(200)
    equal((world.held(), world.source()["held"]), ([], 0))


@test
def what_passes_when_it_is_tried_again_is_no_fault_of_its_row(bench):
    world = World(bench, prepare="CREATE SEQUENCE tries")
    world.sql(RAISES.format("USING ERRCODE = '40001'").replace(
        "= 'bad'", "= 'bad' AND nextval('tries') < 4"))
    world.outbox.add({"n": 0}, entity="bad")
    world.ended(1, outcome="executed")
    equal(world.gateway.find_log("source_stands") +
          world.gateway.find_log("message_not_finished"), [])
    world.once_each(1)


@test
def rows_that_are_refused_one_after_the_other_hold_up_no_others(bench):
    world = World(bench, {"in_flight": 2})
    world.sql(RAISES.format(""))
    bad = [world.outbox.add({"n": n}, entity="bad") for n in range(8)]
    for n in range(8, 36):
        world.outbox.add({"n": n}, entity="good")
    world.ended(28, outcome="executed")
    world.goes()
    equal(world.outbox.unread(), bad)
    eventually(lambda: world.source()["held"] == 8, "they are held", WAIT_S)
    equal({m["reason"] for m in world.held()}, {"not-finished"})
    world.sql("DROP TRIGGER no ON outbox")
    world.ended(36, outcome="executed")
    world.once_each(36)


@test
def what_one_dead_letter_has_holds_its_message_alone(bench):
    world = World(bench)
    world.status = 422
    first = world.outbox.add({"n": 0}, entity="good")
    world.ended(1, outcome="refused", position=first)
    world.sql("ALTER TABLE outbox_dead ADD CONSTRAINT short "
              "CHECK (entity <> 'bad')")
    bad = world.outbox.add({"n": 1}, entity="bad")
    told = world.gateway.wait_for_log(
        "message_not_finished", timeout=WAIT_S, position=bad)
    equal(told["reason"], "refused")
    world.outbox.add({"n": 2}, entity="good")
    world.ended(2, outcome="refused")
    world.holds(bad)
    equal(world.gateway.find_log("source_stands"), [])
    world.sql("ALTER TABLE outbox_dead DROP CONSTRAINT short")
    world.ended(3, outcome="refused")
    equal(world.outbox.unread(), [])
    equal(world.sql("SELECT count(*) FROM outbox_dead"), ["3"])
    equal(world.upstream.count(), 3)


@test
def with_a_message_that_is_held_so_its_letter_is_dropped(bench):
    world = World(bench)
    world.status = 422
    first = world.outbox.add({"n": 0}, entity="good")
    world.ended(1, outcome="refused", position=first)
    world.sql("ALTER TABLE outbox_dead ADD CONSTRAINT short "
              "CHECK (entity <> 'bad')")
    bad = world.outbox.add({"n": 1}, entity="bad")
    world.gateway.wait_for_log(
        "message_not_finished", timeout=WAIT_S, position=bad)
    held = world.holds(bad)
    equal(world.admin.post(f"/messages/{held['id']}/drop").status, 200)
    dead = lambda: [m["position"] for m in world.admin.get(
        "/messages?source=outbox&state=dead")["messages"]]
    eventually(lambda: dead() == [first], "its letter is gone", WAIT_S)
    equal(world.outbox.unread(), [])


@test
def a_row_that_is_held_so_is_dropped_once_that_is_allowed(bench):
    world = World(bench)
    hold = world.upstream.hold()
    bad = world.outbox.add({"n": 0}, entity="bad")
    hold.wait_arrived()
    world.sql(RAISES.format(""))
    hold.release()
    world.gateway.wait_for_log(
        "message_not_finished", timeout=WAIT_S, position=bad)
    held = world.holds(bad)
    path = f"/messages/{held['id']}/drop"
    equal(world.admin.post(path).status, 409)
    world.sql("DROP TRIGGER no ON outbox")
    eventually(lambda: world.outbox.unread() == [], "it is over", WAIT_S)
    world.ended(1, outcome="dropped", position=bad)
    equal(world.upstream.count(), 1)


RIGHTS = """
CREATE ROLE poor LOGIN;
GRANT CREATE ON SCHEMA public TO poor;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO poor;
CREATE TABLE done (id text PRIMARY KEY, status int, headers json NOT NULL,
body bytea, key_id text, created timestamptz NOT NULL DEFAULT now())"""

OF_ALL = [
    ("renamed", "ALTER TABLE outbox RENAME TO other",
     "ALTER TABLE other RENAME TO outbox", "broker", "outbox"),
    ("without a column", "ALTER TABLE outbox RENAME payload TO other",
     "ALTER TABLE outbox RENAME other TO payload", "broker", "payload"),
    ("not ours to delete from", "REVOKE DELETE ON outbox FROM poor",
     "GRANT DELETE ON outbox TO poor", "broker",
     "permission denied for table outbox"),
    ("not ours to put results into", "REVOKE INSERT ON done FROM poor",
     "GRANT INSERT ON done TO poor", "results",
     "permission denied for table done"),
]


@each(OF_ALL)
def what_is_refused_of_all_makes_the_source_stand_for_that(
        bench, how, undo, reason, words):
    world = World(bench, prepare=RIGHTS, user="poor")
    first = world.outbox.add({"n": 0})
    world.ended(1, position=first)
    hold = world.upstream.hold()
    second = world.outbox.add({"n": 1})
    hold.wait_arrived()
    world.sql(how)
    hold.release()
    world.stands(reason, words)
    equal(world.held(), [])
    world.gateway.wait_for_log("source_stands", reason=reason)
    reasons = {e["reason"] for e in world.gateway.find_log("source_stands")}
    equal(reasons, {reason})
    world.sql(undo)
    world.ended(1, position=second)
    world.goes()
    world.outbox.add({"n": 2})
    world.ended(3, outcome="executed")
    world.once_each(3)


@test
def what_is_held_so_waits_for_a_server_that_is_away(bench):
    """It may try while the source stands, but not all the time."""
    world = World(bench, sql=bench.postgres(), log={"level": "debug"})
    gateway, count = world.gateway, 32
    hold = world.upstream.hold()
    world.outbox.add({"n": 0}, entity="bad")
    hold.wait_arrived()
    world.sql(RAISES.format(""))
    hold.release()
    for n in range(1, count):
        world.outbox.add({"n": n}, entity="bad")
    gateway.wait_for_log("source_stands", timeout=WAIT_S, reason="broker")
    gateway.wait_until(
        lambda: len(gateway.find_log("message_not_finished")) >= 4,
        "some are held", WAIT_S)
    world.sql.kill()
    since = len(gateway.events)
    gateway.wait_until(lambda: gateway.find_log(
        "step", since, step="YIELD"), "one of them is tried", WAIT_S)
    world.sql.start()
    world.sql("DROP TRIGGER no ON outbox")
    world.ended(count, outcome="executed")
    tries = len(gateway.find_log("step", since, step="FINISH"))
    assert tries < 10 * count, tries
    world.once_each(count)


@test
def a_policy_for_rows_holds_those_that_it_refuses(bench):
    world = World(bench, prepare=RIGHTS, user="poor")
    world.sql("CREATE POLICY most ON done FOR INSERT "
              "WITH CHECK (headers->>'onceproxy-position' <> '1'); "
              "ALTER TABLE done ENABLE ROW LEVEL SECURITY")
    equal(world.outbox.add({"n": 0}), "1")
    told = world.gateway.wait_for_log("message_not_finished", timeout=WAIT_S)
    assert "row-level security" in told["error"], told
    world.outbox.add({"n": 1})
    world.ended(1, outcome="executed", position="2")
    equal(world.gateway.find_log("source_stands"), [])
    world.sql("ALTER TABLE done DISABLE ROW LEVEL SECURITY")
    world.ended(2, outcome="executed")
    world.once_each(2)


@test
def a_table_that_is_locked_is_what_the_source_stands_for(bench):
    world = World(bench)
    hold = world.upstream.hold()
    first = world.outbox.add({"n": 0})
    hold.wait_arrived()
    world.sql.begin("LOCK TABLE outbox IN SHARE MODE")
    hold.release()
    world.stands("broker", "lock timeout")
    equal(world.held(), [])
    world.sql.end()
    world.ended(1, outcome="executed", position=first)
    world.goes()
    world.once_each(1)


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
