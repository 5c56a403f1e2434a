# SPDX-License-Identifier: BSD-2-Clause
"""Stored answers at rest (store.encryption_keys): encrypted wherever they are
stored, replayed by whoever has the key, and useless in another record."""

import base64
import glob
import itertools
import os
import threading

from once import http, journal, tap
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import PATIENCE, eventually

MARK = b"four-hundred-and-nineteen-euros"
BODY = b'{"id":"ch_1","paid":"' + MARK + b'"}'
FIELDS = [("X-Receipt", "receipt-of-the-payer"),
          ("Content-Type", "application/json")]
# What must be found nowhere: values of fields, pieces of the body.
PIECES = [MARK, b"receipt-of-the-payer", b"application/json", b"ch_1"]
ADMIN = {"listen": "127.0.0.1:0"}
LOOKS = itertools.count()
ALICE, BOB = "Bearer alice", "Bearer bob"


def key(name, byte=None):
    raw = (byte or name[-1].encode()) * 32
    return {"id": name, "key": base64.b64encode(raw[:32]).decode()}


ONE, TWO = key("2026-1"), key("2026-2")


def sealing(*keys, **more):
    return {"encryption_keys": list(keys), **more}


def start(bench, *keys, reply=None, redis=None, idempotency=None, **store):
    """An upstream, and a gateway that caches no answers."""
    upstream = bench.upstream(reply or answer(201, BODY, FIELDS))
    return upstream, more(bench, upstream, *keys, redis=redis,
                          idempotency=idempotency, **store)


def more(bench, upstream, *keys, redis=None, idempotency=None, **store):
    return bench.gateway(
        upstream, idempotency, redis=redis, workers=1, admin=ADMIN,
        cache={"size": 0}, store=sealing(*keys, **store))


def record_of(redis, gateway, name, tenant=None):
    """The name in Redis of a key's record."""
    look = f"look-{next(LOOKS)}"
    more = {"tenant": tenant} if tenant else {}
    gateway.ask(name, fields=[("X-Request-Id", look)], **more)
    line = gateway.wait_for_log("request", request_id=look)
    found = [key for key in redis.keys()
             if key.endswith(b":r:" + line["key_id"].encode())]
    equal(len(found), 1)
    return found[0], line["key_id"]


def admin(gateway, method, target, body=None):
    return http.ask(gateway.ready["admin"], http.build(
        method, target, body=body, host="localhost"))


def same(again, first):
    """Byte for byte the first answer, and marked as a replay."""
    equal((again.status, again.replayed, again.body),
          (first.status, True, first.body))
    own = ("Idempotent-Replayed", "X-Request-Id", "Original-Request-Id")
    equal(sorted(again.without(*own)), sorted(first.without(*own)))


def unreadable(gateway, upstream, name, event, **members):
    """A retry is refused, not executed and not answered."""
    count = upstream.count()
    got = gateway.ask(name, **members)
    equal((got.status, got.problem), (500, "store-unavailable"))
    assert MARK not in got.raw, got
    equal(upstream.count(), count)
    line = gateway.wait_for_log(event)
    assert line["key_id"] and line["words"], line
    return line


def has_no_piece(data, what):
    assert data, what
    for piece in PIECES:
        assert piece not in data, (what, piece)


def contents_of(file):
    with open(file, "rb") as opened:
        return opened.read()


@test
def answers_are_given_again_byte_for_byte(bench):
    upstream, gateway = start(bench, ONE)
    first = gateway.ask("k")
    equal((first.status, first.body), (201, BODY))
    same(gateway.ask("k"), first)
    same(more(bench, upstream, ONE).ask("k"), first)
    equal(upstream.count(), 1)


@each([("plain", "none"), ("compressed", "zstd")])
def redis_and_its_file_hold_no_piece_of_an_answer(bench, compression):
    redis = bench.own_redis("--appendonly", "yes", "--appendfsync", "always")
    upstream, gateway = start(bench, ONE, redis=redis,
                              compression=compression)
    for name in ("k", "l", "m"):
        equal(gateway.ask(name).status, 201)
    # What redis-server has on disk: its append-only file, and a snapshot.
    for rewritten in (False, True):
        if rewritten:
            redis("BGREWRITEAOF")
            eventually(lambda: b"aof_rewrite_in_progress:0" in
                       redis("INFO", "persistence"), "it is written")
        files = glob.glob(os.path.join(redis.folder, "appendonlydir", "*"))
        assert files
        has_no_piece(b"".join(map(contents_of, files)), "the file of Redis")
    contents = redis.contents()
    has_no_piece(contents, "Redis")
    # What operators look for is still in the clear.
    assert b"charges" in contents and b"e 2026-1\n" in contents


@test
def the_same_without_keys_would_be_seen(bench):
    """Shows that the test before this one would see something."""
    redis = bench.own_redis()
    upstream = bench.upstream(answer(201, BODY, FIELDS))
    gateway = bench.gateway(upstream, redis=redis)
    gateway.ask("k")
    contents = redis.contents()
    for piece in PIECES:
        assert piece in contents, piece


@test
def answers_are_compressed_first(bench):
    body = b'{"item":"book","price":12.5},' * 400
    upstream, gateway = start(bench, ONE, reply=answer(201, body))
    redis = bench.redis
    first = gateway.ask("k")
    name, _ = record_of(redis, gateway, "k")
    assert redis("STRLEN", name) < len(body) / 10
    same(gateway.ask("k"), first)


@test
def an_answer_that_was_moved_to_another_record_is_nobodys(bench):
    upstream, gateway = start(bench, ONE)
    redis = bench.redis
    upstream.reply = answer(201, BODY, FIELDS)
    gateway.ask("k", tenant=ALICE)
    upstream.reply = answer(201, b"bob's")
    gateway.ask("k", tenant=BOB)
    alices, _ = record_of(redis, gateway, "k", ALICE)
    bobs, _ = record_of(redis, gateway, "k", BOB)
    assert alices != bobs
    one, other = redis("GET", alices), redis("GET", bobs)
    at, there = one.index(b"\n", 100) + 1, other.index(b"\n", 100) + 1
    redis("SET", bobs, other[:there] + one[at:])
    redis("SET", alices, one[:at] + other[there:])
    unreadable(gateway, upstream, "k", "answer_not_authentic", tenant=BOB)
    unreadable(gateway, upstream, "k", "answer_not_authentic", tenant=ALICE)
    # A whole record in another's place is no more use.
    redis("SET", bobs, one)
    unreadable(gateway, upstream, "k", "answer_not_authentic", tenant=BOB)
    # And nothing was broken for good.
    redis("SET", bobs, other)
    equal(gateway.ask("k", tenant=BOB).body, b"bob's")


NONCE = None  # where a key's id ends, behind the record's first line


@each([("the attempt", 9, b"000002"[5:]), ("a byte of the answer", -1, None),
       ("its tag's place", -17, None), ("its nonce", NONCE, None)])
def a_record_that_was_changed_is_refused(bench, at, byte):
    upstream, gateway = start(bench, ONE)
    redis = bench.redis
    gateway.ask("k")
    name, _ = record_of(redis, gateway, "k")
    value = bytearray(redis("GET", name))
    if at is NONCE:
        at = value.index(b"\n", value.index(b"\n", 100) + 1) + 1
    value[at] = byte[0] if byte else value[at] ^ 1
    redis("SET", name, bytes(value))
    unreadable(gateway, upstream, "k", "answer_not_authentic")


@test
def an_answer_is_not_given_to_another_request(bench):
    """The fingerprint of another request is put into the record."""
    upstream, gateway = start(bench, ONE)
    redis = bench.redis
    gateway.ask("k", body=b'{"amount":1}')
    gateway.ask("other", body=b'{"amount":2}')
    name, _ = record_of(redis, gateway, "k")
    other, _ = record_of(redis, gateway, "other")
    value = redis("GET", name)
    redis("SET", name,
          value[:77] + redis("GET", other)[77:99] + value[99:])
    unreadable(gateway, upstream, "k", "answer_not_authentic",
               body=b'{"amount":2}')


@test
def a_record_whose_state_was_changed_gives_nothing_away(bench):
    upstream, gateway = start(bench, ONE)
    redis = bench.redis
    gateway.ask("k")
    name, _ = record_of(redis, gateway, "k")
    redis("SETRANGE", name, 2, "U")
    got = gateway.ask("k")
    equal((got.status, got.problem), (409, "outcome-unknown"))
    equal(upstream.count(), 1)


@test
def a_new_key_is_put_first_on_one_gateway_after_the_other(bench):
    upstream, old = start(bench, ONE)
    redis = bench.redis
    first = old.ask("before")
    # Step one: all gateways can read what the new key will encrypt.
    ready = more(bench, upstream, ONE, TWO)
    # Step two: it encrypts, while others still use the old one.
    new = more(bench, upstream, TWO, ONE)
    second = new.ask("after")
    for gateway in (ready, new):
        same(gateway.ask("before"), first)
        same(gateway.ask("after"), second)
    used = {redis("GET", name).split(b"\n")[2] for name in redis.keys()
            if b":r:" in name}
    equal(used, {b"e 2026-1", b"e 2026-2"})
    equal(upstream.count(), 2)


@test
def a_key_that_is_lost_is_an_error_and_no_new_payment(bench):
    upstream, gateway = start(bench, ONE)
    redis = bench.redis
    first = gateway.ask("k")
    name, key_id = record_of(redis, gateway, "k")
    value = redis("GET", name)
    without = more(bench, upstream, TWO)
    line = unreadable(without, upstream, "k", "encryption_key_missing")
    equal(line["encryption_key"], "2026-1")
    equal(line["key_id"], key_id)
    equal(redis("GET", name), value)
    # The operator sees all but the answer, and why.
    shown = admin(without, "GET", f"/keys/{key_id}?body=1").json()
    equal((shown["state"], shown["attempt"], shown["route"]),
          ("COMPLETED", 1, "charges"))
    assert '"2026-1"' in shown["unreadable"], shown
    assert "status" not in shown and "body" not in shown, shown
    # New payments go on, and with the key back all is as it was.
    equal(without.ask("new").status, 201)
    back = more(bench, upstream, TWO, ONE)
    same(back.ask("k"), first)
    assert "unreadable" not in admin(back, "GET", f"/keys/{key_id}").json()
    equal(upstream.count(), 2)


@test
def a_key_that_is_another_one_under_its_name_is_an_error(bench):
    upstream, gateway = start(bench, ONE)
    gateway.ask("k")
    other = more(bench, upstream, key("2026-1", b"x"))
    line = unreadable(other, upstream, "k", "answer_not_authentic")
    equal(line["encryption_key"], "2026-1")
    equal(upstream.count(), 1)


@test
def what_was_stored_before_is_still_read_and_turned_off_it_is_too(bench):
    upstream = bench.upstream(answer(201, BODY, FIELDS))
    before = bench.gateway(upstream, cache={"size": 0})
    first = before.ask("plain")
    gateway = more(bench, upstream, ONE)
    same(gateway.ask("plain"), first)
    second = gateway.ask("sealed")
    line = unreadable(before, upstream, "sealed", "encryption_key_missing")
    equal(line["encryption_key"], "2026-1")
    same(gateway.ask("sealed"), second)
    equal(upstream.count(), 2)


@test
def where_encryption_is_strict_a_plain_answer_does_not_open(bench):
    upstream = bench.upstream(answer(201, BODY, FIELDS))
    before = bench.gateway(upstream, cache={"size": 0})
    first = before.ask("plain")
    strict = more(bench, upstream, ONE, encryption_strict=True)
    unreadable(strict, upstream, "plain", "answer_not_encrypted")
    _, key_id = record_of(bench.redis, strict, "plain")
    shown = admin(strict, "GET", f"/keys/{key_id}?body=1").json()
    assert "store.encryption_strict" in str(shown), shown
    second = strict.ask("sealed")
    equal(second.status, 201)
    same(strict.ask("sealed"), second)
    same(before.ask("plain"), first)
    equal(upstream.count(), 2)


@test
def what_an_operator_says_is_encrypted_too(bench):
    upstream, gateway = start(bench, ONE, reply=close_unanswered)
    redis = bench.redis
    equal(gateway.ask("k").problem, "outcome-unknown")
    name, key_id = record_of(redis, gateway, "k")
    said = b'{"status":200,"headers":{"X-Receipt":"receipt-of-the-payer",' \
        b'"Content-Type":"application/json"},"body":"' + MARK + b'"}'
    got = admin(gateway, "POST", f"/keys/{key_id}/complete", said)
    equal((got.status, got.json()["state"]), (200, "COMPLETED"))
    has_no_piece(redis("GET", name), "the record")
    again = gateway.ask("k")
    equal((again.status, again.replayed, again.body), (200, True, MARK))
    equal(again.get("X-Receipt"), "receipt-of-the-payer")
    shown = admin(gateway, "GET", f"/keys/{key_id}?body=1").json()
    equal(shown["body"].encode(), MARK)
    equal(upstream.count(), 1)


@test
def an_operator_may_complete_what_has_failed_and_a_later_attempt(bench):
    upstream, gateway = start(
        bench, ONE, reply=close_unanswered,
        idempotency={"on_unknown": "retry", "max_attempts": 3})
    redis = bench.redis
    for _ in range(3):
        gateway.ask("k")
    equal(gateway.ask("k").problem, "attempts-exhausted")
    name, key_id = record_of(redis, gateway, "k")
    equal(admin(gateway, "POST", f"/keys/{key_id}/complete",
                b'{"status":200,"body":"it is paid"}').status, 200)
    equal(redis("GET", name)[4:10], b"000003")
    equal(gateway.ask("k").body, b"it is paid")
    equal(upstream.count(), 3)


@test
def an_operators_answer_is_for_the_record_that_was_looked_at(bench):
    """Another request has taken the key when the answer reaches Redis, and
    could not open it."""
    wire = bench.wire()
    upstream, other = start(bench, ONE, reply=close_unanswered)
    gateway = more(bench, upstream, ONE, redis=wire.url, timeout="30s")
    redis = bench.redis
    other.ask("k", body=b"1")
    _, key_id = record_of(redis, other, "k")
    acts, goes = threading.Event(), threading.Event()

    def until_it_acts(line, data):
        """It reads the record first, maybe twice: Redis may not have the
        script."""
        if b"\r\ncomplete\r\n" in data:
            acts.set()
            assert goes.wait(PATIENCE)
        else:
            wire.catch = until_it_acts
        line.far.sendall(data)
    wire.catch = until_it_acts
    says = (gateway, "POST", f"/keys/{key_id}/complete",
            b'{"status":200,"body":"it is paid"}')
    said = bench.background(admin, *says)
    assert acts.wait(PATIENCE)
    equal(admin(other, "POST", f"/keys/{key_id}/release", b"").status, 200)
    equal(other.ask("k", body=b"2").problem, "outcome-unknown")
    goes.set()
    equal((said.result().status, said.result().problem), (409, "conflict"))
    equal(other.ask("k", body=b"2").problem, "outcome-unknown")
    equal(admin(*says).status, 200)
    equal(other.ask("k", body=b"2").body, b"it is paid")
    equal(other.ask("k", body=b"1").problem, "key-reused")
    equal(upstream.count(), 2)


@test
def answers_in_memory_need_no_key_and_are_the_same(bench):
    upstream = bench.upstream(answer(201, BODY, FIELDS))
    gateway = bench.gateway(upstream, workers=1, store=sealing(ONE),
                            admin=ADMIN)
    first = gateway.ask("k")

    def from_memory():
        same(gateway.ask("k"), first)
        return b"onceproxy_cache_hits_total 0\n" not in admin(
            gateway, "GET", "/metrics").body
    eventually(from_memory, "an answer from memory")
    equal(upstream.count(), 1)


@each([("by the same process", False), ("by another process", True)])
def the_journal_holds_no_piece_of_it_and_is_delivered(bench, another):
    redis = bench.own_redis("--appendonly", "yes", "--appendfsync", "always")
    upstream, gateway = start(bench, ONE, redis=redis,
                              events={"maxlen": 100})
    hold = upstream.hold()
    asked = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis.kill()
    hold.release()
    first = asked.result()
    equal((first.status, first.body), (201, BODY))
    data = journal.contents(gateway.config["state_dir"])
    has_no_piece(data, "the journal")
    assert b"e 2026-1\n" in data
    deliverer = gateway
    if another:
        gateway.kill()
        # It delivers what it cannot read: it does not have that key.
        deliverer = more_of(bench, gateway, TWO)
    redis.start()
    deliverer.wait_for_log("journal_delivered")
    reader = more(bench, upstream, TWO, ONE, redis=redis)
    same(reader.ask("k"), first)
    equal(upstream.count(), 1)
    # The event has the status, though nobody decrypted the answer.
    entries = [entry for stream in redis.keys()
               if stream.endswith(b":events")
               for _, entry in redis("XRANGE", stream, "-", "+")]
    last = dict(zip(entries[-1][::2], entries[-1][1::2]))
    equal((last[b"to"], last[b"status"]), (b"COMPLETED", b"201"))


def more_of(bench, gateway, *keys):
    """The next process in place of a gateway, with other keys."""
    config = dict(gateway.config)
    config["store"] = {**config["store"], "encryption_keys": list(keys)}
    return bench.serve(config, ready=False)


@test
def an_owner_that_was_fenced_hears_the_record_or_that_it_cannot(bench):
    upstream = bench.upstream(answer(201, BODY, FIELDS))
    gateway = more(bench, upstream, TWO, idempotency={"lease": "1s"})
    hold = upstream.hold()
    asked = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis = bench.redis
    name = next(name for name in redis.keys() if b":r:" in name)
    value = redis("GET", name)
    # An operator has decided, and the answer is encrypted with a key that this
    # gateway does not have.
    redis("SET", name, value[:2] + b"C" + value[3:55] + b"-" * 22 +
          value[77:] + b"e 2026-1\n" + b"x" * 60)
    hold.release()
    got = asked.result()
    equal((got.status, got.problem), (500, "store-unavailable"))
    gateway.wait_for_log("encryption_key_missing")
    equal(upstream.count(), 1)


tap.main()
