# SPDX-License-Identifier: BSD-2-Clause
"""Dead and parked messages as operators see them: from Redis, whichever gateway
has their source, and what is asked of them stands there until one has done it.
The source's own broker is away, so that nobody takes what was asked."""

import base64
import hashlib
import threading

from once import tap
from once.admin import Admin
from once.messages import pairs
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

SHARDS = 64
KEY_ID = "00112233445566778899aabbccddeeff"


def digest(*parts):
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "little") + part)
    return made.digest()


def part(value):
    return b"-," if value is None else b"%d:%s," % (len(value), value)


class Letters:
    """What the scripts of letters would have written."""

    def __init__(self, redis, source="charges"):
        self.redis, self.source = redis, source
        self.put_ms = 1700000000000

    def name(self, shard, word, more=""):
        return f"onceproxy:{{{shard}}}:{word}:source:{self.source}{more}"

    def put(self, position, lane=None, state="confirmed", reason=b"refused",
            key_id=b"", answer=None, cut=b"0", status=b"409",
            route=b"charges"):
        own = digest(b"letter", position)
        lane = digest(lane) if lane else None
        shard = int.from_bytes(digest(
            b"letters", self.source.encode(), lane or own)[:4],
            "big") % SHARDS
        self.put_ms += 1
        first = not lane or not self.redis(
            "EXISTS", self.name(shard, "lane", ":" + lane.hex()))
        head = b"h1\n" + b"".join(part(p) for p in (
            position, reason, key_id, route, b"why", b"", status, b"3",
            b"1700000000000"))
        body = b"b1\n" + b"".join(part(p) for p in (
            cut, b"{}", None, None, None, None, None, answer, b"0"))
        self.redis("HSET", self.name(shard, "letter", ":" + own.hex()),
                   "state", state, "lane", lane.hex() if lane else "",
                   "put", self.put_ms, "reason", reason, "head", head,
                   "body", body)
        self.redis("ZADD", self.name(shard, "letters" if first else "behind"),
                   self.put_ms, own.hex())
        if lane:
            self.redis("ZADD", self.name(shard, "lane", ":" + lane.hex()),
                       self.put_ms, own.hex())
            self.redis("ZADD", self.name(shard, "lanes"), self.put_ms,
                       lane.hex())
        return self.name(shard, "letter", ":" + own.hex())


def id_of(position, name=b"charges"):
    return base64.urlsafe_b64encode(
        name + b"\0" + position).decode().rstrip("=")


class Bench:
    def __init__(self, bench, **members):
        self.redis = bench.own_redis()
        gone = bench.own_redis()
        config = bench.config(
            bench.upstream(lambda connection, request:
                           connection.send(answer())),
            redis=self.redis, admin={"listen": "127.0.0.1:0"})
        config["brokers"] = {"queue": {"redis": gone.url}}
        config["sources"] = {"charges": {
            "broker": "queue", "stream": "charges", "request": {
                "path": "/v1/charges",
                "headers": {"Authorization": "Bearer t"}}, **members}}
        gone.kill()
        self.gateway = bench.serve(config)
        self.admin = Admin(self.gateway)
        self.letters = Letters(self.redis)

    def listed(self, state, more=""):
        return self.admin.get(
            f"/messages?source=charges&state={state}{more}")

    def act(self, position, what):
        return self.admin.post(f"/messages/{id_of(position)}/{what}",
                               {"note": "n"})

    def state(self, name):
        found = pairs(self.redis("HGETALL", name))
        return (found["state"], found.get("act", b""))


@test
def letters_are_listed_from_redis_the_oldest_first(bench):
    b = Bench(bench)
    for i in range(5):
        b.letters.put(b"%d-0" % i, lane=b"x" if i > 2 else None)
    dead = b.listed("dead")
    equal([m["position"] for m in dead["messages"]],
          ["0-0", "1-0", "2-0", "3-0"])
    equal(dead["next"], None)
    equal([m["position"] for m in b.listed("parked")["messages"]], ["4-0"])
    first = b.listed("dead", "&limit=3")
    equal([m["position"] for m in first["messages"]], ["0-0", "1-0", "2-0"])
    rest = b.listed("dead", "&limit=3&cursor=" + first["next"])
    equal([m["position"] for m in rest["messages"]], ["3-0"])
    one = dead["messages"][0]
    equal({k: one[k] for k in ("id", "source", "state", "reason", "status",
                               "route", "attempt", "detail", "first")},
          {"id": id_of(b"0-0"), "source": "charges", "state": "dead",
           "reason": "refused", "status": 409, "route": "charges",
           "attempt": 3, "detail": "why",
           "first": "2023-11-14T22:13:20.000Z"})
    assert "answer" not in one, one


@test
def a_cursor_is_of_its_own_list(bench):
    b = Bench(bench)
    for target in ("/messages?source=charges&state=dead&cursor=1.x",
                   "/messages?source=charges&cursor=1700000000000" + KEY_ID,
                   "/messages?source=charges&state=dead&cursor=x",
                   "/messages?state=dead",
                   "/messages?source=charges&state=dead&state=held"):
        equal(b.admin.send("GET", target).status, 400, target)
    equal(b.admin.send(
        "GET", "/messages?source=other&state=dead").status, 404)


@each([("text", b'{"error":"declined"}', "answer", '{"error":"declined"}'),
       ("bytes", b"\xff\x00", "answer_base64", "/wA=")])
def one_is_shown_with_its_answer(bench, body, name, shown):
    b = Bench(bench)
    b.letters.put(b"1-0", answer=body, key_id=KEY_ID.encode())
    got = b.admin.get("/messages/" + id_of(b"1-0"))
    equal((got[name], got["key_id"], got["state"]), (shown, KEY_ID, "dead"))
    equal(b.admin.send("GET", "/messages/" + id_of(b"2-0")).status, 404)
    equal(b.act(b"2-0", "replay").status, 404)


@test
def what_is_asked_stands_in_redis(bench):
    b = Bench(bench)
    name = b.letters.put(b"1-0")
    got = b.act(b"1-0", "replay")
    equal((got.status, got.json()),
          (202, {"id": id_of(b"1-0"), "replayed": True}))
    equal(b.state(name), (b"begun", b"replay"))
    b.gateway.wait_for_log("operator_replay", position="1-0", note="n")


@test
def a_drop_is_answered_when_the_letter_is_gone(bench):
    b = Bench(bench)
    name = b.letters.put(b"1-0", lane=b"x")
    b.letters.put(b"2-0", lane=b"x")
    got = []
    asking = threading.Thread(
        target=lambda: got.append(b.act(b"1-0", "drop")))
    asking.start()
    eventually(lambda: b.state(name) == (b"begun", b"drop"), "it is asked")
    b.redis("DEL", name)
    asking.join()
    equal((got[0].status, got[0].json()),
          (200, {"id": id_of(b"1-0"), "dropped": True}))
    b.gateway.wait_for_log("operator_message", position="1-0", note="n")


@test
def a_drop_that_nobody_does_is_not_known_to_have_come_about(bench):
    b = Bench(bench)
    name = b.letters.put(b"1-0")
    got = b.act(b"1-0", "drop")
    equal((got.status, got.problem), (503, "not-answered"), got.body)
    equal(b.state(name), (b"begun", b"drop"))
    b.gateway.wait_for_log("operator_message_unsure", id=id_of(b"1-0"))


def refuses(b, position, what, words):
    got = b.act(position, what)
    equal((got.status, got.problem), (409, "conflict"), got.body)
    assert words in got.json()["detail"], got.body
    assert got.json()["detail"].endswith("Nothing was changed."), got.body


@test
def what_its_broker_has_not_confirmed_is_not_touched(bench):
    b = Bench(bench)
    b.letters.put(b"1-0", state="written")
    for what in ("replay", "drop"):
        refuses(b, b"1-0", what, "has not confirmed")


@test
def one_behind_another_is_not_replayed_but_may_be_dropped(bench):
    b = Bench(bench)
    b.letters.put(b"1-0", lane=b"x")
    name = b.letters.put(b"2-0", lane=b"x")
    refuses(b, b"2-0", "replay", "parked behind another")
    equal(b.act(b"2-0", "drop").status, 503)
    equal(b.state(name), (b"begun", b"drop"))


@test
def one_that_was_too_large_to_be_kept_is_not_replayed(bench):
    b = Bench(bench)
    b.letters.put(b"1-0", cut=b"1", reason=b"too-large")
    refuses(b, b"1-0", "replay", "too large")


@test
def what_cannot_be_read_is_not_replayed(bench):
    b = Bench(bench)
    name = b.letters.put(b"1-0")
    b.redis("HSET", name, "head", "e 2026\nxxxxxxxx")
    one = b.listed("dead")["messages"][0]
    equal((one["id"], one["reason"]), (None, "refused"))
    refuses(b, b"1-0", "replay", "does not open")


@test
def what_is_no_text_in_redis_is_shown_all_the_same(bench):
    b = Bench(bench)
    b.letters.put(b"1-0", route=b"\xff")
    b.letters.put(b"2-0", reason=b"\xff")
    first, second = b.listed("dead")["messages"]
    equal((first["route"], second["reason"]), ("\xff", "\xff"))
    equal(b.admin.get("/messages/" + id_of(b"1-0"))["route"], "\xff")


RECORDS = {
    "unknown": (b"U", b"t", b"", "complete or release"),
    "at work": (b"P", b"-", b"", "being executed"),
    "refused": (b"C", b"-", b"p\n409 - 0 0 0 2\n\nno", "delete its key"),
    "found": (b"C", b"-", b"p\n201 - 0 0 0 2\n\nno", None),
    "see other": (b"C", b"-", b"p\n303 - 0 0 0 2\n\nno", None),
    "redirected": (b"C", b"-", b"p\n301 - 0 0 0 2\n\nno", "delete its key"),
    "failed": (b"F", b"-", b"", None),
    "damaged": None,
}


def record(b, what):
    shard = int(KEY_ID[:8], 16) % SHARDS
    value = b"damaged"
    if RECORDS[what]:
        state, reason, rest, _ = RECORDS[what]
        value = (b"o1" + state + reason + b"000003" + b"000002"
                 + b"1700000000000" * 2 + b"1900000000000" + b"A" * 22
                 + b"F" * 22 + b"\ncharges\n" + rest)
    b.redis("SET", f"onceproxy:{{{shard}}}:r:{KEY_ID}", value)


@each([(what, what) for what in RECORDS])
def what_the_record_of_its_key_says_comes_first(bench, what):
    b = Bench(bench)
    b.letters.put(b"1-0", key_id=KEY_ID.encode())
    record(b, what)
    words = RECORDS[what][3] if RECORDS[what] else "damaged"
    if words:
        refuses(b, b"1-0", "replay", words)
    else:
        equal(b.act(b"1-0", "replay").status, 202)


@test
def where_refused_answers_are_acknowledged_one_is_replayed(bench):
    b = Bench(bench, refused="ack")
    b.letters.put(b"1-0", key_id=KEY_ID.encode())
    record(b, "refused")
    equal(b.act(b"1-0", "replay").status, 202)


@each([("unknown", "unknown", "its record is gone"),
       ("mismatch", "mismatch", "another request"),
       ("exhausted", "exhausted", None)])
def a_record_that_is_gone_forbids_what_may_be_done(bench, reason, words):
    b = Bench(bench)
    b.letters.put(b"1-0", key_id=KEY_ID.encode(), reason=reason.encode())
    if words:
        refuses(b, b"1-0", "replay", words)
    else:
        equal(b.act(b"1-0", "replay").status, 202)


@test
def a_mismatch_stays_one_while_the_other_has_its_key(bench):
    b = Bench(bench)
    b.letters.put(b"1-0", key_id=KEY_ID.encode(), reason=b"mismatch")
    record(b, "found")
    refuses(b, b"1-0", "replay", "another request")


tap.main()
