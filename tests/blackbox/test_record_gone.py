# SPDX-License-Identifier: BSD-2-Clause
"""A message that was sent, of which nobody knows what became, is not executed
because its record is gone: Redis has lost data, or somebody deleted it."""

import base64
import signal

from once import tap
from once.admin import Admin
from once.gateway import write
from once.messages import Stream, source
from once.postgres import Outbox, outbox_source
from once.tap import each, equal, test
from once.tokens import Issuer, Key
from once.upstream import Hold, answer, close_unanswered
from once.wait import eventually


def id_of(position):
    return base64.urlsafe_b64encode(
        b"charges\0" + position).decode().rstrip("=")


class Lost:
    """A message that is held, in a gateway whose Redis then loses it all."""

    def __init__(self, bench, idempotency=None, waits=None, redis=None,
                 log=None, **members):
        self.bench, self.answer, self.waits = bench, None, waits
        self.redis = redis or bench.redis
        self.upstream = bench.upstream(self.serve)
        self.stream = Stream(bench.own_redis())
        self.config = bench.config(
            self.upstream, idempotency, redis=self.redis,
            admin={"listen": "127.0.0.1:0"}, log=log or {})
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
            self.redis("FLUSHALL")
        else:
            self.redis("DEL", *self.redis("KEYS", "*:r:*"))
        self.redis("CLIENT", "KILL", "TYPE", "pubsub")
        line = self.gateway.wait_for_log("message_record_gone", since)
        equal((line["source"], line["position"]),
              ("charges", self.position.decode()))
        return self

    def shown(self):
        """Empty as long as no gateway has taken it."""
        got = self.admin.send("GET", f"/messages/{id_of(self.position)}")
        return got.json() if got.status == 200 else {}

    def count(self):
        return self.upstream.count(key="k")

    def act(self, what):
        return self.admin.post(f"/messages/{id_of(self.position)}/{what}",
                               {"note": "n"})

    def release(self):
        self.admin.act(self.key_id, "release")

    def wait_acknowledged(self):
        eventually(lambda: self.stream.pending() == [], "it is acknowledged")


def stays_held(lost):
    eventually(lambda: lost.shown().get("state") == "held", "it is held")
    equal((lost.shown()["reason"], lost.count()), ("unknown", 1))


@test
def a_held_message_whose_record_redis_has_lost_stays_held(bench):
    lost = Lost(bench).held().lose()
    stays_held(lost)
    # It is looked at again, as who listens has connected again.
    eventually(lambda: lost.act("drop").status == 200, "it is dropped")
    lost.wait_acknowledged()
    equal(lost.count(), 1)


@test
def so_does_one_of_an_order_whose_turn_is_lost_as_well(bench):
    lost = Lost(bench, order_by=["/a"]).held().lose(everything=True)
    stays_held(lost)
    # It is looked at again, as who listens has connected again.
    eventually(lambda: lost.act("drop").status == 200, "it is dropped")
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


class Waits:
    """A message that waits for a client's attempt with its key."""

    def __init__(self, bench, **idempotency):
        self.hold = Hold()
        self.upstream = bench.upstream(lambda connection, _: (
            self.hold.wait(), connection.send(answer(201))))
        stream = Stream(bench.own_redis())
        config = bench.config(self.upstream, idempotency,
                              admin={"listen": "127.0.0.1:0"})
        source(config, stream)
        self.gateway = bench.serve(config)
        self.first = bench.background(self.gateway.ask, "k", body=b'{"a":1}')
        self.hold.wait_arrived()
        stream.add(body=b'{"a":1}', idempotency_key="k")
        eventually(lambda: b'outcome="waited"} 1' in Admin(self.gateway).send(
            "GET", "/metrics").body, "it waits")

    def is_executed_once(self):
        self.hold.release()
        self.first.result()
        equal(self.upstream.count(), 1)


@test
def nor_is_one_that_waited_for_an_attempt_of_somebody_else(bench):
    waits = Waits(bench)
    bench.redis("DEL", *bench.redis("KEYS", "*:r:*"))
    bench.redis("CLIENT", "KILL", "TYPE", "pubsub")
    waits.gateway.wait_for_log("message_record_gone")
    waits.gateway.wait_for_log("message_held")
    waits.is_executed_once()


@test
def a_policy_that_executes_again_stands_where_somebody_may_be_at_it(bench):
    waits = Waits(bench, lease="2s", on_unknown="retry")
    bench.redis("FLUSHALL")
    waits.gateway.wait_for_log("source_stands", reason="unproven")
    waits.is_executed_once()


@each([("held", False), ("in flight", True)])
def nor_is_one_executed_whose_key_a_reload_has_changed(bench, in_flight):
    """As with a token that is renewed, where that names the tenant: no record
    has the new key."""
    hold = Hold() if in_flight else None
    lost = Lost(bench, waits=hold)
    if in_flight:
        hold.wait_arrived()
    else:
        lost.held()
    lost.answer = None if in_flight else answer(201)
    headers = lost.config["sources"]["charges"]["request"]["headers"]
    headers["Authorization"] = "Bearer another"
    since = len(lost.gateway.events)
    write(lost.gateway.file, lost.config)
    lost.gateway.signal(signal.SIGHUP)
    lost.gateway.wait_for_log("reloaded", since)
    if in_flight:
        hold.release()
    lost.gateway.wait_for_log("message_record_gone", since)
    stays_held(lost)
    # It is looked at again, as who listens has connected again.
    eventually(lambda: lost.act("drop").status == 200, "it is dropped")
    lost.wait_acknowledged()
    equal(lost.count(), 1)


def reload_with(gateway, config, source_name, **members):
    """SIGHUP, with a source that names another place."""
    config["sources"][source_name].update(members)
    since = len(gateway.events)
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    line = gateway.wait_for_log("reload_keys", since)
    equal(line["member"], f"/sources/{source_name}/{next(iter(members))}")
    return since


@test
def nor_is_one_whose_table_is_spelled_in_another_way(bench):
    """That name is in its key, so that no record has the new one."""
    box = Outbox(bench.postgres())
    upstream = bench.upstream(close_unanswered)
    config = bench.config(upstream, admin={"listen": "127.0.0.1:0"})
    outbox_source(config, box, key="position")
    gateway = bench.serve(config)
    box.add({"n": 1})
    gateway.wait_for_log("message_held")
    since = reload_with(gateway, config, "outbox", table="public.outbox")
    gateway.wait_for_log("message_record_gone", since)
    gateway.wait_for_log("message_held", since)
    equal(upstream.count(), 1)


@test
def one_of_another_stream_with_the_same_id_is_executed(bench):
    lost = Lost(bench, key="position").held()
    lost.answer = answer(201)
    Stream(lost.stream.redis, "others").add(lost.position, body=b"{}")
    since = reload_with(lost.gateway, lost.config, "charges", stream="others")
    lost.gateway.wait_for_log("message", since, outcome="executed")
    equal(lost.gateway.find_log("message_record_gone", since), [])


@test
def it_is_executed_where_an_operator_releases_its_key(bench):
    lost = Lost(bench).held().lose()
    stays_held(lost)
    equal(lost.act("replay").status, 409)
    lost.release()
    lost.gateway.wait_for_log("message", outcome="executed")
    lost.wait_acknowledged()
    equal(lost.count(), 2)


@test
def it_is_not_where_an_operator_completes_its_key(bench):
    lost = Lost(bench).held().lose()
    stays_held(lost)
    equal(lost.gateway.ask("k", body=b'{"a":2}').problem, "key-reused")
    lost.admin.act(lost.key_id, "complete", {"status": 201, "body": "{}"})
    lost.gateway.wait_for_log("message", outcome="duplicate")
    lost.wait_acknowledged()
    again = lost.gateway.ask("k", body=b'{"a":1}')
    equal((again.status, again.body, again.replayed, lost.count()),
          (201, b"{}", True, 1))


@test
def it_is_a_dead_letter_of_unknown_outcome_after_hold(bench):
    lost = Lost(bench, hold="5s").held().lose()
    eventually(lambda: lost.stream.entries("charges:dead"), "it is dead")
    letter, = lost.stream.entries("charges:dead")
    equal((letter["onceproxy-reason"], lost.count()), (b"unknown", 1))
    equal(lost.act("replay").status, 409)


@test
def a_held_message_whose_record_is_deleted_is_held_until_it_is_released(bench):
    lost = Lost(bench).held()
    lost.answer = answer(201)
    equal(lost.admin.send("DELETE", f"/keys/{lost.key_id}").status, 200)
    lost.gateway.wait_for_log("message_record_gone")
    stays_held(lost)
    lost.release()
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


def restart(lost, meanwhile=None):
    """All gateways are away for a while."""
    lost.gateway.stop()
    if meanwhile:
        meanwhile()
    lost.gateway = lost.bench.serve(lost.config)
    lost.admin = Admin(lost.gateway)


DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


class Back(Lost):
    """A message that is held after its second attempt, and a Redis that is
    then as it was when the first one had been released."""

    def __init__(self, bench, *args, **members):
        super().__init__(bench, *args, redis=bench.own_redis(*DURABLE),
                         retry={"first": "2s", "most": "2s"}, **members)
        self.answer = answer(503)
        eventually(lambda: self.admin.get(
            "/messages?state=retrying")["messages"], "it is released")
        self.saved = self.redis.save()
        self.answer = None
        self.held()
        equal(self.count(), 2)

    def go_back(self):
        self.answer = answer(201)
        since = len(self.gateway.events)
        self.redis.go_back(self.saved)
        self.gateway.wait_until(
            lambda: self.gateway.find_log("message_record_gone", since) or
            self.count() > 2, "it is looked at")
        equal(self.count(), 2)
        return self


@test
def a_held_message_stays_held_where_redis_has_an_attempt_before(bench):
    back = Back(bench).go_back()
    eventually(lambda: back.shown().get("state") == "held", "it is held")
    shown = back.admin.get("/keys/" + back.key_id)
    equal((shown["state"], shown["attempt"]), ("UNKNOWN", 2))
    equal(back.gateway.ask("k", body=b'{"a":1}').problem, "outcome-unknown")
    # What an operator sets free is of that attempt, and not of one before.
    back.release()
    back.gateway.wait_for_log("message", outcome="executed")
    back.wait_acknowledged()
    equal([r.get("Idempotency-Attempt") for r in back.upstream.requests],
          ["1", "2", "3"])


def is_dead(back, words):
    """Nobody knows whether its second attempt was executed."""
    eventually(lambda: words in back.act("replay").body or back.count() > 2,
               "its replay is refused")
    equal(back.count(), 2)
    shown = back.shown()
    equal((shown["state"], shown["reason"], shown["attempt"]),
          ("dead", "unknown", 2))


@test
def a_dead_letter_stays_one_where_redis_has_an_attempt_before(bench):
    back = Back(bench, hold="1s")
    eventually(lambda: back.stream.entries("charges:dead"), "it is dead")
    is_dead(back, b"complete or release its key first")
    back.answer = answer(201)
    back.redis.go_back(back.saved)
    got = eventually(lambda: (lambda got: got.status == 200 and got.json())(
        back.admin.post("/sources/charges/restore")), "it is restored", 20)
    equal(got["restored"], 1)
    is_dead(back, b"of an attempt before")


@test
def so_does_one_whose_record_alone_is_that_when_it_is_replayed(bench):
    back = Back(bench, hold="1s")
    name, = back.redis("KEYS", "*:r:*")
    spare = bench.own_redis(*DURABLE)
    spare.go_back(back.saved)
    eventually(lambda: back.stream.entries("charges:dead"), "it is dead")
    back.release()
    back.answer = answer(201)
    equal(back.admin.post("/sources/charges/pause").status, 200)
    eventually(lambda: back.act("replay").status == 202, "it is replayed")
    back.redis("SET", name, spare("GET", name), "PX", "3600000")
    equal(back.admin.post("/sources/charges/resume").status, 200)
    back.gateway.wait_until(
        lambda: len(back.gateway.find_log("message", reason="unknown")) > 1 or
        back.count() > 2, "it is looked at")
    is_dead(back, b"of an attempt before")


@test
def its_outcome_is_asked_about_as_late_as_if_redis_knew_it(bench):
    """An attempt before it has been UNKNOWN for long enough."""
    lost = Lost(bench, {"lease": "2s", "on_unknown": {"reconcile": {
        "path": "/by-key/{key}", "absent": [404], "settle": "3s"}}},
        redis=bench.own_redis(*DURABLE),
        retry={"first": "1s", "most": "1s"})
    lost.upstream.replies["/by-key/k"] = answer(404)
    key_id = lost.gateway.wait_for_log("outcome_unknown")["key_id"]

    def is_unknown(attempt):
        shown = lost.admin.get(f"/keys/{key_id}")
        return (shown["state"], shown["attempt"]) == ("UNKNOWN", attempt)
    eventually(lambda: is_unknown(1))
    saved = lost.redis.save()
    eventually(lambda: is_unknown(2))
    lost.answer = answer(201)
    since = len(lost.gateway.events)
    lost.redis.go_back(saved)
    lost.gateway.wait_for_log("message_record_gone", since)
    equal((is_unknown(2), lost.upstream.count(method="POST")), (True, 2))
    lost.gateway.wait_for_log("message", outcome="executed")
    equal([r.get("Idempotency-Attempt") for r in lost.upstream.requests
           if r.method == "POST"], ["1", "2", "3"])


@each([("without an order", {}), ("with an order", {"order_by": ["/a"]})])
def it_stays_held_over_a_restart(bench, members):
    lost = Lost(bench, **members).held().lose(everything=True)
    stays_held(lost)
    for _ in range(2):
        restart(lost)
        stays_held(lost)
    later = lost.stream.add(body=b'{"a":2}', idempotency_key="later")
    eventually(lambda: lost.upstream.count(key="later") == 1,
               "what was never held is executed")
    eventually(lambda: lost.stream.pending() == [lost.position],
               "and acknowledged")
    assert later != lost.position
    lost.release()
    lost.gateway.wait_for_log("message", key_id=lost.key_id)
    lost.wait_acknowledged()
    equal(lost.count(), 2)


@test
def it_stays_held_where_its_group_is_made_again_meanwhile(bench):
    lost = Lost(bench).held().lose()
    stays_held(lost)
    restart(lost, lambda: lost.stream.redis(
        "XGROUP", "DESTROY", "charges", "onceproxy"))
    stays_held(lost)


@test
def it_stays_held_by_the_gateway_that_takes_it_over(bench):
    lost = Lost(bench).held().lose()
    stays_held(lost)
    other = bench.serve({**lost.config, "state_dir": bench.folder(),
                         "instance": "other"})
    lost.gateway.stop()
    lost.gateway, lost.admin = other, Admin(other)
    stays_held(lost)


# --- Redis has lost its data -----------------------------------------------

UNPROVEN = {"unproven": []}


def why_it_stands(gateway):
    return [said["reason"] for said in gateway.find_log("source_stands")]


def stands(gateway, count):
    gateway.wait_until(lambda: gateway.find_log("source_stands") or
                       count() > 1, "it is taken")
    equal((why_it_stands(gateway), count()), (["unproven"], 1))


def reads(admin):
    """And so it knows which store it has."""
    [shown] = admin.get("/sources")["sources"]
    return shown["broker_up"] and shown["standing"] is None


@test
def what_somebody_was_at_before_stands_its_source(bench):
    """Nobody has told the gateway that takes it of what Redis has lost."""
    hold = Hold()
    lost = Lost(bench, {"lease": "1s"}, waits=hold)
    hold.wait_arrived()
    other = bench.serve({**lost.config, "state_dir": bench.folder(),
                         "instance": "two"})
    first, lost.gateway, lost.admin = lost.gateway, other, Admin(other)
    eventually(lambda: reads(lost.admin), "it reads")
    bench.redis("FLUSHALL")
    first.kill()
    lost.answer = answer(201)
    hold.release()
    stands(other, lost.count)
    equal(lost.admin.post("/sources/charges/resume", UNPROVEN).status, 200)
    other.wait_for_log("message", outcome="executed")
    equal(lost.count(), 2)


@test
def so_does_what_waits_meanwhile_for_another_of_its_order(bench):
    """What Redis had before it waited proves nothing; FLUSHALL closes no
    connection, from which it would be known."""
    hold = Hold()
    store, stream = bench.own_redis(), Stream(bench.own_redis())
    upstream = bench.upstream()

    def reply(connection, request):
        if request.get("Idempotency-Key") == "k0":
            hold.wait()
        connection.send(answer(201))
    upstream.reply = reply
    config = bench.config(upstream, redis=store, workers=1)
    before = bench.serve(config)
    equal(before.ask("k1", body=b'{"a":1}').status, 201)
    before.stop()
    for number in range(2):
        stream.add(body=b'{"a":1}', idempotency_key=f"k{number}")
    stream.redis("XGROUP", "CREATE", stream.name, stream.group, "0")
    stream.redis("XREADGROUP", "GROUP", stream.group, "gone", "COUNT", "2",
                 "STREAMS", stream.name, ">")
    source(config, stream, order_by=["/a"])
    gateway = bench.serve(config)
    hold.wait_arrived()
    store("FLUSHALL")
    hold.release()
    stands(gateway, lambda: upstream.count(key="k1"))


@test
def so_does_what_waits_meanwhile_for_the_keys_of_its_token(bench):
    key = Key(bench.folder(), "HS256", "one")
    issuer = Issuer(key)
    bench.upstreams.append(issuer)
    store, stream = bench.own_redis(), Stream(bench.own_redis())
    upstream = bench.upstream()
    config = bench.config(
        upstream, {"scope": [{"jwt": "sub", "keys": issuer.keys_url}]},
        redis=store, workers=1, log={"level": "debug"})
    source(config, stream, key={"header": "Order"}, request={"headers": {
        "Authorization": "Bearer " + key.token({"sub": "shop"})}})
    before = bench.serve(config)
    positions = [stream.add(body=b"{}", order="k"), stream.add(body=b"{}")]
    eventually(lambda: upstream.count() == 1 and stream.pending() == [],
               "they are finished")
    before.stop()
    issuer.reply = answer(500)
    # Their acknowledgements are lost.
    stream.redis("XCLAIM", stream.name, stream.group, "gone", "0", *positions,
                 "IDLE", "1000000", "FORCE", "JUSTID")
    gateway = bench.serve(config)
    gateway.wait_for_log("token_keys_wrong")
    # For the one without a key it was asked, when the other one waited.
    gateway.wait_for_log("message", position=positions[1].decode())
    store("FLUSHALL")
    issuer.publish(key)
    stands(gateway, upstream.count)


@test
def letters_that_are_lost_stand_their_source_at_the_start(bench):
    upstream = bench.upstream(answer(402))
    stream = Stream(bench.own_redis())
    config = bench.config(upstream, admin={"listen": "127.0.0.1:0"})
    source(config, stream, order_by=["/a"])
    gateway = bench.serve(config)
    stream.add(body=b'{"a":1}', idempotency_key="k1")
    gateway.wait_for_log("message", reason="refused")
    gateway.stop()
    bench.redis("FLUSHALL")
    stream.add(body=b'{"a":1}', idempotency_key="k2")
    gateway = bench.serve(config)
    gateway.wait_until(lambda: gateway.find_log("source_stands") or
                       upstream.count() > 1, "it begins")
    equal((why_it_stands(gateway), upstream.count()), (["unproven"], 1))
    admin = Admin(gateway)
    equal(admin.post("/sources/charges/resume", UNPROVEN).status, 200)
    gateway.wait_for_log("message", reason="refused")
    equal(upstream.count(), 2)


@test
def no_row_is_executed_where_somebody_may_have_been_at_it(bench):
    """No row says whether it comes again: so all of them wait."""
    box = Outbox(bench.postgres())
    hold = Hold()
    upstream = bench.upstream(lambda connection, _: (
        hold.wait(), connection.send(answer(201))))
    config = bench.config(upstream, admin={"listen": "127.0.0.1:0"})
    outbox_source(config, box)
    first = bench.serve(config)
    box.add({"n": 1})
    hold.wait_arrived()
    second = bench.serve({**config, "state_dir": bench.folder(),
                          "instance": "two"})
    admin = Admin(second)
    eventually(lambda: reads(admin), "it reads")
    bench.redis("FLUSHALL")
    first.kill()
    hold.release()
    second.wait_until(lambda: second.find_log("source_stands") or
                      upstream.count() > 1, "it is taken")
    equal((why_it_stands(second), upstream.count()), (["unproven"], 1))
    [name] = [s["name"] for s in admin.get("/sources")["sources"]]
    equal(admin.post(f"/sources/{name}/resume", UNPROVEN).status, 200)
    second.wait_for_log("message", outcome="executed")
    equal(upstream.count(), 2)


@test
def the_time_for_which_a_message_is_held_outlives_restarts(bench):
    lost = Lost(bench, hold="1h").held()

    def two_hours_pass():
        name, = bench.redis("KEYS", "*:r:*")
        since = int(bench.redis("GETRANGE", name, "42", "54"))
        bench.redis("SETRANGE", name, "42", f"{since - 7200 * 1000:013}")
    restart(lost, two_hours_pass)
    lost.gateway.wait_for_log("message", outcome="unknown")
    lost.wait_acknowledged()
    equal(lost.count(), 1)


tap.main()
