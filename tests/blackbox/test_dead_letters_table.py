# SPDX-License-Identifier: BSD-2-Clause
"""Dead letters of an outbox: replayed and dropped as those of a stream are."""

import base64

from once import http, tap
from once.admin import Admin
from once.gateway import is_without
from once.postgres import programs
from once.tap import equal, test
from once.upstream import answer
from once.wait import eventually

TABLE = """CREATE TABLE outbox (id bigint PRIMARY KEY, aggregateid text,
    type text, payload jsonb)"""


class Bench:
    """An outbox that is read in the order of its entities, a gateway, and an
    upstream that has no time for what is in `bad`."""

    def __init__(self, bench):
        self.bench, self.bad, self.done = bench, set(), []
        self.on_bad = lambda: None  # before it is refused
        self.shop = bench.postgres()
        self.shop(TABLE)
        self.upstream = bench.upstream(self.serve)
        config = bench.config(
            self.upstream, admin={"listen": "127.0.0.1:0"})
        config["brokers"] = {"shop": {"postgres": self.shop.url}}
        config["sources"] = {"outbox": {
            "broker": "shop", "table": "outbox", "poll": "50ms",
            "order_by": "entity", "key": ["/id"], "request": {
                "path": "/v1/charges",
                "headers": {"Authorization": http.TENANT}},
            "retry": {"first": "10ms", "most": "20ms", "attempts": 1}}}
        self.gateway = bench.serve(config)
        self.admin = Admin(self.gateway)

    def serve(self, connection, request):
        body = request.body
        if body in self.bad:
            self.on_bad()
            connection.send(answer(503))
        else:
            self.done.append(body)
            connection.send(answer())

    def add(self, *ids):
        for n in ids:
            self.shop(f"INSERT INTO outbox VALUES ({n}, 'e', 'made', "
                      f"'{{\"id\": {n}}}')")

    def dead(self):
        if self.shop("SELECT to_regclass('outbox_dead')") == [""]:
            return []
        return [line.split("|") for line in self.shop(
            "SELECT id, headers->>'onceproxy-reason' "
            "FROM outbox_dead ORDER BY number")]

    def wait_dead(self, *wanted):
        eventually(lambda: self.dead() == [list(w) for w in wanted],
                   f"dead letters {wanted}")

    def act(self, number, what):
        name = base64.urlsafe_b64encode(
            b"outbox\0%d" % number).decode().rstrip("=")
        return self.admin.post(f"/messages/{name}/{what}")


def body(number):
    return b'{"id": %d}' % number


def with_a_parked_lane(bench):
    b = Bench(bench)
    b.bad.add(body(1))
    b.add(1)
    b.wait_dead(("1", "exhausted"))
    b.add(2, 3)
    b.wait_dead(("1", "exhausted"), ("2", "behind"), ("3", "behind"))
    return b


def counted(admin):
    """How many dead letters the gateway says that its source has."""
    return admin.get("/sources")["sources"][0]["dead"]


@test
def dead_letters_are_counted(bench):
    """What is parked behind them is not; nor is a table needed for that."""
    b = Bench(bench)
    eventually(lambda: counted(b.admin) == 0, "there is no table yet")
    b.bad.add(body(1))
    b.add(1, 2)
    b.wait_dead(("1", "exhausted"), ("2", "behind"))
    eventually(lambda: counted(b.admin) == 1, "one is counted")


def brings_back(bench, what, status, wanted):
    b = with_a_parked_lane(bench)
    b.bad.clear()
    ends_well(b, 1, what, status, wanted)


def ends_well(b, number, what, status, wanted):
    got = b.act(number, what)
    equal(got.status, status, got.body)
    b.add(4)
    eventually(lambda: len(b.done) == len(wanted), "all are executed")
    equal(b.done, [body(n) for n in wanted])
    b.wait_dead()
    eventually(lambda: b.shop("SELECT count(*) FROM outbox") == ["0"],
               "all rows are finished")


@test
def a_replay_brings_what_is_parked_back_in_order(bench):
    brings_back(bench, "replay", 202, [1, 2, 3, 4])


@test
def a_drop_of_the_first_brings_the_others_back(bench):
    brings_back(bench, "drop", 200, [2, 3, 4])


@test
def where_the_first_was_deleted_the_next_is_the_first(bench):
    b = with_a_parked_lane(bench)
    b.shop("DELETE FROM outbox_dead WHERE id = '1'")
    equal(b.act(3, "replay").status, 409)
    ends_well(b, 2, "replay", 202, [2, 3, 4])


@test
def and_so_is_the_last_where_all_before_were_deleted(bench):
    b = with_a_parked_lane(bench)
    b.shop("DELETE FROM outbox_dead WHERE id <> '3'")
    ends_well(b, 3, "drop", 200, [4])


@test
def where_the_row_of_the_first_was_deleted_its_lane_is_free(bench):
    """As it was executed: there is no dead letter of it."""
    b = Bench(bench)
    b.bad.add(body(1))
    b.on_bad = lambda: b.shop("DELETE FROM outbox WHERE id = 1")
    b.add(1, 2)
    eventually(lambda: b.done == [body(2)], "the next is executed")
    b.add(3)
    eventually(lambda: b.done == [body(2), body(3)], "and those behind")
    b.wait_dead()


@test
def an_id_that_is_there_again_does_not_free_its_lane(bench):
    """Its table counts from the start again."""
    b = with_a_parked_lane(bench)
    b.bad.clear()
    b.shop("INSERT INTO outbox VALUES (1, 'e', 'made', "
           "'{\"id\": 17}')")
    b.wait_dead(("1", "exhausted"), ("2", "behind"), ("3", "behind"),
                ("1", "behind"))
    b.add(4)
    b.wait_dead(("1", "exhausted"), ("2", "behind"), ("3", "behind"),
                ("1", "behind"), ("4", "behind"))
    equal(b.done, [])


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
