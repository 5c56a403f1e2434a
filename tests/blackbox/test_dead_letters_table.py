# SPDX-License-Identifier: BSD-2-Clause
"""Dead letters of an outbox are the store's, as those of a stream are; its
table of them has their copies, is put into in the step of the acknowledgement,
and is read only where the store has lost them."""

import base64
import signal

from once import http, tap
from once.admin import Admin
from once.gateway import command, is_without, write
from once.postgres import programs
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

TABLE = """CREATE TABLE outbox (id bigint PRIMARY KEY, aggregateid text,
    type text, payload jsonb)"""


class Bench:
    """An outbox that is read in the order of its entities, a gateway, and an
    upstream that refuses what is in `bad`."""

    def __init__(self, bench, **members):
        self.bench, self.bad, self.done = bench, set(), []
        self.on_bad = lambda: None  # before it is refused
        self.shop = bench.postgres()
        self.shop(TABLE)
        self.redis = bench.own_redis()
        self.upstream = bench.upstream(self.serve)
        self.config = bench.config(
            self.upstream, redis=self.redis, admin={"listen": "127.0.0.1:0"})
        self.config["brokers"] = {"shop": {"postgres": self.shop.url}}
        self.config["sources"] = {"outbox": {
            "broker": "shop", "table": "outbox", "poll": "50ms",
            "order_by": "entity", "key": ["/id"], "request": {
                "path": "/v1/charges",
                "headers": {"Authorization": http.TENANT}}, **members}}
        self.start()

    def start(self):
        self.gateway = self.bench.serve(self.config)
        self.admin = Admin(self.gateway)

    def serve(self, connection, request):
        body = request.body
        if body in self.bad:
            self.on_bad()
            connection.send(answer(422))
        else:
            self.done.append(body)
            connection.send(answer())

    def add(self, *ids, entity="e"):
        for n in ids:
            self.shop(f"INSERT INTO outbox VALUES ({n}, '{entity}', 'made', "
                      f"'{{\"id\": {n}}}')")

    def unread(self):
        return self.shop("SELECT id FROM outbox ORDER BY id")

    def copies(self):
        if self.shop("SELECT to_regclass('outbox_dead')") == [""]:
            return []
        return [tuple(line.split("|")) for line in self.shop(
            "SELECT id, headers->>'onceproxy-reason' "
            "FROM outbox_dead ORDER BY number")]

    def listed(self, state):
        return [(m["position"], m["reason"]) for m in self.admin.get(
            f"/messages?source=outbox&state={state}")["messages"]]

    def wait_dead(self, *wanted):
        """Those are dead or parked, and nothing else is unread."""
        eventually(lambda: self.listed("dead") + self.listed("parked")
                   == list(wanted) and self.unread() == [],
                   f"dead letters {wanted}")

    def source(self):
        return self.admin.get("/sources")["sources"][0]

    def command(self, *words):
        file = self.bench.folder() + "/onceproxy.json"
        write(file, {**self.config,
                     "admin": {"listen": self.gateway.ready["admin"]}})
        return command("messages", words[0], "-c", file, *words[1:])

    def act(self, number, what):
        """It is confirmed a moment after its row is finished."""
        name = base64.urlsafe_b64encode(
            b"outbox\0%d" % number).decode().rstrip("=")
        got = []

        def is_confirmed():
            got[:] = [self.admin.post(f"/messages/{name}/{what}")]
            return b"has not confirmed" not in got[0].body
        eventually(is_confirmed, "its acknowledgement is confirmed")
        return got[0]

    def free_key(self, number):
        """A refused one is executed again only where its key is deleted."""
        key_id, = [m["key_id"] for m in self.admin.get(
            "/messages?source=outbox&state=dead")["messages"]
            if m["position"] == str(number)]
        equal(self.admin.send("DELETE", "/keys/" + key_id).status, 200)
        self.bad.clear()

    def lose_redis(self):
        """All that it had, while no gateway runs; then one runs again."""
        self.gateway.stop()
        self.redis("FLUSHALL")
        self.start()

    def standing(self):
        return self.source()["standing"]


def body(number):
    return b'{"id": %d}' % number


LANE = (("1", "refused"), ("2", "behind"), ("3", "behind"))


def with_a_parked_lane(bench, **members):
    b = Bench(bench, **members)
    b.bad.add(body(1))
    b.add(1)
    b.wait_dead(LANE[0])
    b.add(2, 3)
    b.wait_dead(*LANE)
    equal((b.copies(), b.done), (list(LANE), []))
    return b


@test
def dead_letters_are_counted(bench):
    """What is parked behind them is not; nor is a table needed for that."""
    b = Bench(bench)
    eventually(lambda: b.source()["dead"] == 0, "there is no table yet")
    b.bad.add(body(1))
    b.add(1, 2)
    b.wait_dead(*LANE[:2])
    eventually(lambda: (b.source()["dead"], b.source()["parked"]) == (1, 1),
               "one is dead, and one parked")


def ends_well(b, number, what, status, wanted):
    """That is done, and what it leaves is executed before anything newer."""
    if what == "replay":
        b.free_key(number)
    got = b.act(number, what)
    equal(got.status, status, got.body)
    b.add(4)
    eventually(lambda: len(b.done) == len(wanted), "all are executed")
    equal(b.done, [body(n) for n in wanted])
    b.wait_dead()


@test
def what_is_dropped_is_not_executed_as_its_lane_comes_back(bench):
    """The table of dead letters refuses its copy: so its letter waits, and is
    the next of its lane when its message is dropped."""
    b = Bench(bench)
    b.bad.add(body(1))
    b.add(1)
    b.wait_dead(LANE[0])
    b.shop("ALTER TABLE outbox_dead ADD CHECK (id <> '2')")
    b.add(2)
    eventually(lambda: b.listed("held") == [("2", "not-finished")],
               "its copy is refused")
    equal(b.act(1, "drop").status, 200)
    equal(b.act(2, "drop").status, 200)
    b.add(3)
    eventually(lambda: body(3) in b.done, "what is newer is executed")
    b.wait_dead()
    equal(b.done, [body(3)])


@each([("a replay", "replay", 202, [1, 2, 3, 4]),
       ("a drop", "drop", 200, [2, 3, 4])])
def what_is_parked_comes_back_in_order(bench, what, status, wanted):
    b = with_a_parked_lane(bench)
    ends_well(b, 1, what, status, wanted)
    eventually(lambda: b.copies() == [], "their copies are gone")


@test
def copies_that_are_deleted_change_nothing(bench):
    b = with_a_parked_lane(bench)
    b.shop("DELETE FROM outbox_dead WHERE id <> '3'")
    b.wait_dead(*LANE)
    ends_well(b, 1, "replay", 202, [1, 2, 3, 4])


@test
def a_copy_that_somebody_has_locked_is_waited_for(bench):
    """The letter is not ended before its mark and its result are put."""
    b = Bench(bench, results={"table": "done"})
    b.bad.add(body(1))
    b.add(1)
    b.wait_dead(("1", "refused"))
    b.free_key(1)
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
    b.shop.begin("SELECT 1 FROM outbox_dead FOR UPDATE")
    b.act(1, "replay")
    eventually(lambda: b.shop(waiting) != [], "it is in the way")
    eventually(lambda: b.shop(waiting) == [], "nobody waits for that")
    b.shop.end()
    eventually(lambda: b.listed("dead") == [], "it is over")
    equal(b.shop("SELECT count(*) FROM done"), ["1"])


@test
def where_the_row_of_the_first_was_deleted_it_is_a_letter_all_the_same(bench):
    """It was refused, whoever deletes its row; only its copy is not put."""
    b = Bench(bench)
    b.bad.add(body(1))
    b.on_bad = lambda: b.shop("DELETE FROM outbox WHERE id = 1")
    b.add(1, 2)
    b.wait_dead(*LANE[:2])
    equal((b.copies(), b.done), ([LANE[1]], []))
    b.add(3)
    b.wait_dead(*LANE)
    ends_well(b, 1, "drop", 200, [2, 3, 4])


@test
def an_id_that_is_there_again_does_not_free_its_lane(bench):
    """Its table counts from the start again: the new row is not acknowledged,
    for it cannot be a letter beside the other."""
    b = with_a_parked_lane(bench)
    b.shop("INSERT INTO outbox VALUES (1, 'e', 'made', "
           "'{\"id\": 17}')")
    # An id below those that were read is found later than the next one.
    b.gateway.wait_for_log("source_stands", reason="dead-letters")
    b.add(4)
    equal((b.listed("dead") + b.listed("parked"), b.done), (list(LANE), []))
    equal(b.unread(), ["1", "4"])
    equal(b.act(1, "drop").status, 200)
    b.wait_dead()
    equal(b.done, [body(2), body(3), body(17), body(4)])


@test
def a_row_that_was_put_right_waits_for_its_letter(bench):
    b = Bench(bench, order_by="none", key="position")
    b.bad |= {body(1), body(17)}
    b.add(1)
    b.wait_dead(LANE[0])
    b.shop("INSERT INTO outbox VALUES (1, 'e', 'made', "
           "'{\"id\": 17}')")
    b.gateway.wait_for_log("source_stands", reason="dead-letters")
    b.gateway.stop()
    b.start()
    b.gateway.wait_for_log("source_stands", reason="dead-letters")
    equal((b.unread(), b.copies()), (["1"], [LANE[0]]))
    equal(b.act(1, "drop").status, 200)
    b.wait_dead(("1", "mismatch"))
    equal(b.copies(), [("1", "mismatch")])


# Who was the last to try it, a sequence says, which nothing rolls back.
NO_COPY = """CREATE SEQUENCE tried; CREATE FUNCTION no() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN PERFORM setval('tried', pg_backend_pid());
    RAISE EXCEPTION 'no copy' USING ERRCODE = 'check_violation'; END $$;
    CREATE TRIGGER no BEFORE INSERT ON outbox_dead
    FOR EACH ROW EXECUTE FUNCTION no()"""


def without_copy(b, number, *gateways):
    """A row that becomes a letter, which is not finished; who has read it."""
    b.shop(f"INSERT INTO outbox VALUES ({number}, 'e', 'made', '{{}}')")
    return eventually(lambda: [g for g in gateways for e in g.events if (
        e["event"], e.get("position")) == ("message_not_finished",
                                           str(number))], "it is refused")[0]


def put_right(b, number):
    b.shop(f"UPDATE outbox SET payload = '{{\"id\": {number}}}' "
           f"WHERE id = {number}; DROP TRIGGER no ON outbox_dead")


@each([("is started anew", False), ("goes on with a letter", True)])
def a_gateway_takes_no_row_that_was_written_anew_for_its_letter(
        bench, goes_on):
    """Another one's letter it acknowledges without reading its row."""
    b = Bench(bench, order_by="none")
    eventually(lambda: b.shop("SELECT to_regclass('outbox_dead')") != [""],
               "the table is made")
    b.shop(NO_COPY)
    number, one = 1, b.gateway
    if not goes_on:
        without_copy(b, 1, one)
        one.stop()
        put_right(b, 1)
        b.start()
    else:
        b.config["instance"] = "two"
        b.start()
        for gateway in (one, b.gateway):
            gateway.wait_for_log("source_parts", parts=16)
        while without_copy(b, number, one, b.gateway) is not one:
            b.shop(f"DELETE FROM outbox WHERE id = {number}")
            number += 1
        tried = b.shop("SELECT last_value FROM tried")
        eventually(lambda: b.shop("SELECT last_value FROM tried") != tried,
                   "the other one tries it")
        one.signal(signal.SIGSTOP)
        put_right(b, number)
        equal(b.act(number, "drop").status, 200)
        one.signal(signal.SIGCONT)
    eventually(lambda: b.done == [body(number)], "the row is executed")
    equal(b.copies(), [])


@test
def beyond_keep_dead_the_source_stands_before_it_acknowledges(bench):
    b = Bench(bench, keep_dead=2, order_by="none")
    b.bad |= {body(n) for n in (1, 2, 3)}
    b.add(1)
    b.wait_dead(("1", "refused"))
    b.add(2)
    b.wait_dead(("1", "refused"), ("2", "refused"))
    b.add(3)
    b.gateway.wait_for_log("source_stands", reason="dead-letters")
    equal((b.standing(), b.unread(), len(b.copies())),
          ("dead-letters", ["3"], 2))
    equal(b.act(1, "drop").status, 200)
    b.gateway.wait_for_log("source_goes", reason="dead-letters")
    b.wait_dead(("2", "refused"), ("3", "refused"))
    eventually(lambda: b.copies() == [("2", "refused"), ("3", "refused")],
               "its copy is put")
    # What was refused is not asked for again.
    equal(b.upstream.count(), 3)


@test
def copies_carry_the_id_of_their_store(bench):
    b = with_a_parked_lane(bench)
    equal(b.shop("SELECT DISTINCT headers->>'onceproxy-store' "
                 "FROM outbox_dead"),
          [b.redis("GET", "onceproxy:{0}:data").decode()])


@test
def a_restore_puts_back_in_order_what_redis_has_lost(bench):
    b = with_a_parked_lane(bench)
    b.lose_redis()
    b.gateway.wait_for_log("source_stands", reason="unproven")
    equal((b.standing(), b.listed("dead")), ("unproven", []))
    b.add(4)
    said = b.command("restore", "outbox", "--note", "Redis was lost")
    equal(said.returncode, 0, said.stderr)
    b.wait_dead(*LANE, ("4", "behind"))
    equal((b.standing(), b.done), (None, []))
    line = b.gateway.wait_for_log("source_restored")
    equal((line["restored"], line["there"], line["over"]), (3, 0, 0))
    # Of the first no record says that it was refused.
    b.bad.clear()
    equal(b.act(1, "replay").status, 202)
    eventually(lambda: b.done == [body(n) for n in (1, 2, 3, 4)],
               "all are executed in their order")
    b.wait_dead()


@test
def what_was_dropped_is_not_restored(bench):
    b = Bench(bench, order_by="none")
    b.bad |= {body(1), body(2)}
    b.add(1)
    b.wait_dead(("1", "refused"))
    b.add(2)
    b.wait_dead(("1", "refused"), ("2", "refused"))
    equal(b.act(1, "drop").status, 200)
    eventually(lambda: b.copies() == [("2", "refused")], "one copy is left")
    b.lose_redis()
    b.gateway.wait_for_log("source_stands", reason="unproven")
    equal(b.command("restore", "outbox").returncode, 0)
    b.wait_dead(("2", "refused"))


@test
def a_restore_leaves_letters_that_are_there(bench):
    b = with_a_parked_lane(bench)
    equal(b.command("restore", "outbox").returncode, 0)
    line = b.gateway.wait_for_log("source_restored")
    equal((line["restored"], line["there"]), (0, 3))
    b.wait_dead(*LANE)
    ends_well(b, 1, "drop", 200, [2, 3, 4])


@test
def after_redis_was_lost_it_may_go_on_without_its_letters(bench):
    b = with_a_parked_lane(bench)
    b.lose_redis()
    b.gateway.wait_for_log("source_stands", reason="unproven")
    said = b.command("resume", "outbox", "--unproven")
    equal(said.returncode, 0, said.stderr)
    b.add(4)
    eventually(lambda: b.done == [body(4)], "it goes on")
    b.wait_dead()


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
