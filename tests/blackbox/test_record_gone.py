# SPDX-License-Identifier: BSD-2-Clause
"""A message that was sent, of which nobody knows what became, is not executed
because its record is gone: Redis has lost data, or somebody deleted it."""

import base64

from once import tap
from once.admin import Admin
from once.messages import Stream, source
from once.tap import equal, test
from once.upstream import Hold, answer
from once.wait import eventually


def id_of(position):
    return base64.urlsafe_b64encode(
        b"charges\0" + position).decode().rstrip("=")


class Lost:
    """A message that is held, in a gateway whose Redis then loses it all."""

    def __init__(self, bench, idempotency=None, waits=None, **members):
        self.bench, self.answer, self.waits = bench, None, waits
        self.upstream = bench.upstream(self.serve)
        self.stream = Stream(bench.own_redis())
        self.config = bench.config(
            self.upstream, idempotency, admin={"listen": "127.0.0.1:0"})
        source(self.config, self.stream, **members)
        self.gateway = bench.serve(self.config)
        self.admin = Admin(self.gateway)
        self.position = self.stream.add(
            body=b'{"a":1}', idempotency_key="k")

    def serve(self, connection, _request):
        if self.waits is not None:
            self.waits.wait()
        if self.answer is None:
            connection.close()
        else:
            connection.send(self.answer)

    def held(self):
        self.key_id = self.gateway.wait_for_log("message_held")["key_id"]
        return self

    def lose(self, everything=False):
        """Whoever listens looks again when it is connected again."""
        self.answer = answer(201)
        since = len(self.gateway.events)
        if everything:
            self.bench.redis("FLUSHALL")
        else:
            self.bench.redis("DEL", *self.bench.redis("KEYS", "*:r:*"))
        self.bench.redis("CLIENT", "KILL", "TYPE", "pubsub")
        line = self.gateway.wait_for_log("message_record_gone", since)
        equal((line["source"], line["position"]),
              ("charges", self.position.decode()))
        return self

    def shown(self):
        return self.admin.get(f"/messages/{id_of(self.position)}")

    def count(self):
        return self.upstream.count(key="k")

    def act(self, what):
        return self.admin.post(f"/messages/{id_of(self.position)}/{what}",
                               {"note": "n"})

    def wait_acknowledged(self):
        eventually(lambda: self.stream.pending() == [], "it is acknowledged")


def stays_held(lost):
    eventually(lambda: lost.shown()["state"] == "held", "it is held")
    equal((lost.shown()["reason"], lost.count()), ("forgotten", 1))


@test
def a_held_message_whose_record_redis_has_lost_stays_held(bench):
    lost = Lost(bench).held().lose()
    stays_held(lost)
    equal(lost.act("drop").status, 200)
    lost.wait_acknowledged()
    equal(lost.count(), 1)


@test
def so_does_one_of_an_order_whose_turn_is_lost_as_well(bench):
    lost = Lost(bench, order_by=["/a"]).held().lose(everything=True)
    stays_held(lost)
    equal(lost.act("drop").status, 200)
    lost.wait_acknowledged()
    equal(lost.count(), 1)


@test
def nor_is_one_executed_beside_itself_whose_turn_is_lost(bench):
    hold = Hold()
    lost = Lost(bench, waits=hold, order_by=["/a"])
    hold.wait_arrived()
    lost.lose(everything=True)
    stays_held(lost)
    hold.release()
    lost.gateway.wait_for_log("message", outcome="duplicate")
    lost.wait_acknowledged()
    equal(lost.count(), 1)


@test
def it_is_executed_where_an_operator_replays_it(bench):
    lost = Lost(bench).held()
    equal(lost.act("replay").status, 409)
    lost.lose()
    stays_held(lost)
    equal(lost.act("replay").status, 202)
    lost.gateway.wait_for_log("message", outcome="executed")
    lost.gateway.wait_for_log("operator_replay", before="held")
    lost.wait_acknowledged()
    equal(lost.count(), 2)


@test
def it_is_a_dead_letter_of_unknown_outcome_after_hold(bench):
    lost = Lost(bench, hold="2s").held().lose()
    eventually(lambda: lost.stream.entries("charges:dead"), "it is dead")
    letter, = lost.stream.entries("charges:dead")
    equal((letter["onceproxy-reason"], lost.count()), (b"unknown", 1))
    equal(lost.act("replay").status, 409)


@test
def a_held_message_whose_record_is_deleted_is_held_until_it_is_replayed(bench):
    lost = Lost(bench).held()
    lost.answer = answer(201)
    equal(lost.admin.send("DELETE", f"/keys/{lost.key_id}").status, 200)
    lost.gateway.wait_for_log("message_record_gone")
    stays_held(lost)
    equal(lost.act("replay").status, 202)
    lost.wait_acknowledged()
    equal(lost.count(), 2)


@test
def a_message_that_is_to_be_asked_about_is_not_executed_instead(bench):
    lost = Lost(bench, {"lease": "2s", "on_unknown": {"reconcile": {
        "path": "/by-key/{key}", "settle": "2s"}}},
        retry={"first": "5s", "most": "5s"})
    eventually(lambda: lost.admin.get(
        "/messages?state=retrying")["messages"], "it is tried again")
    lost.lose()
    stays_held(lost)
    equal(lost.count(), 1)


@test
def what_was_released_is_executed_again_without_its_record(bench):
    lost = Lost(bench).held()
    lost.answer = answer(503)
    lost.admin.act(lost.key_id, "release")
    eventually(lambda: lost.admin.get(
        "/messages?state=retrying")["messages"], "it is tried again")
    bench.redis("DEL", *bench.redis("KEYS", "*:r:*"))
    lost.answer = answer(201)
    lost.wait_acknowledged()


tap.main()
