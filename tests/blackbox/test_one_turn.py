# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 5 and 6: claims that come in one turn of the loop are
made together, and answers stored together; each has its own verdict."""

import random
import re

from once import tap
from once.http import keyed
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import eventually

NEW = 12


def connected(gateway, count):
    """Clients that the gateway knows already."""
    clients = [gateway.client() for _ in range(count)]
    for client in clients:
        client.send(keyed("warm"))
        client.read()
    return clients


def at_once(gateway, clients, *requests):
    """The gateway finds all of them waiting."""
    gateway.freeze()
    try:
        for client, request in zip(clients, requests):
            client.send(request)
    finally:
        gateway.thaw()


def serve(bench, **store):
    redis, upstream = bench.own_redis(), bench.upstream()
    return redis, upstream, bench.gateway(
        upstream, redis=redis, workers=1, cache={"size": 0}, store=store)


# What claims of one turn are answered (lua/claims.lua): a name, a time, and a
# letter for each.
CLAIMS = re.compile(rb"\$16\r\n[0-9a-f]{16}\r\n\$13\r\n\d{13}\r\n"
                    rb"\$\d+\r\n([OCLSE]+)\r\n")


@each([("scripts", {}), ("functions", {"scripting": "function"})])
def each_claim_of_a_turn_has_its_own_verdict(bench, store):
    upstream, wire = bench.upstream(), bench.wire()
    gateway = bench.gateway(upstream, redis=wire, workers=1,
                            cache={"size": 0}, store=store)
    seen = []

    def look(data):
        seen.extend(CLAIMS.findall(data))
        return data
    wire.edit = look
    equal(gateway.ask("done").status, 201)
    clients = connected(gateway, 3 + NEW)
    held = upstream.hold(answer())
    first = bench.background(gateway.ask, "held")
    held.wait_arrived()
    new = [f"new{i}" for i in range(NEW)]
    at_once(gateway, clients, keyed("done"), keyed("held"),
            keyed("done", body=b"another"), *map(keyed, new))
    replies = [client.read() for client in clients[:3]]
    equal([reply.status for reply in replies], [201, 409, 422])
    assert replies[0].replayed
    held.release()
    equal([client.read().status for client in clients[3:]], [201] * NEW)
    equal(first.result().status, 201)
    equal([upstream.count(key=key) for key in new], [1] * NEW)
    equal([upstream.count(key=key) for key in ("done", "held")], [1, 1])
    assert max(map(len, seen)) > 1, seen


@test
def one_key_twice_in_a_turn_is_executed_once(bench):
    _, upstream, gateway = serve(bench)
    clients = connected(gateway, 3)
    at_once(gateway, clients, keyed("k"), keyed("k"), keyed("k"))
    statuses = sorted(client.read().status for client in clients)
    assert set(statuses) <= {201, 409} and 201 in statuses, statuses
    equal(upstream.count(key="k"), 1)


@test
def a_full_redis_refuses_each_claim_of_a_turn_and_replays(bench):
    redis, upstream, gateway = serve(bench)
    equal(gateway.ask("done").status, 201)
    clients = connected(gateway, 3)
    redis("CONFIG", "SET", "maxmemory", 1)
    at_once(gateway, clients, keyed("a"), keyed("done"), keyed("b"))
    replies = [client.read() for client in clients]
    equal([reply.status for reply in replies], [503, 201, 503])
    assert replies[1].replayed
    redis("CONFIG", "SET", "maxmemory", 0)
    for key in ("a", "b"):
        eventually(lambda name=key: gateway.ask(name).status == 201,
                   "an answer of 201")
        equal(upstream.count(key=key), 1)


@test
def a_turn_goes_on_after_redis_forgot_its_scripts(bench):
    redis, upstream, gateway = serve(bench)
    equal(gateway.ask("done").status, 201)
    keys = ["a", "b", "c"]
    clients = connected(gateway, len(keys))
    redis("SCRIPT", "FLUSH")
    at_once(gateway, clients, *map(keyed, keys))
    equal([client.read().status for client in clients], [201] * len(keys))
    equal([upstream.count(key=key) for key in keys], [1, 1, 1])


def record_of(redis, before):
    """The name of the record that came since."""
    [name] = [name for name in redis.keys()
              if b":r:" in name and name not in before]
    return name


def of_another_type(redis, name):
    redis("DEL", name)
    redis("LPUSH", name, "x")


def without_an_attempt(redis, name):
    redis("SETRANGE", name, 4, "x")


def cut_short(redis, name):
    redis("SET", name, redis("GET", name)[:99])


def without_a_list(redis, name):
    redis("DEL", name)
    leases = name[:-34] + b"leases"
    redis("DEL", leases)
    redis("LPUSH", leases, "x")


@each([("another type", of_another_type, {503}),
       ("no number of an attempt", without_an_attempt, {409}),
       ("cut short", cut_short, {409}),
       ("no list of leases", without_a_list, {503})])
def a_damaged_record_harms_no_other_of_its_turn(bench, damage, statuses):
    redis, upstream, gateway = serve(bench, compression="none", shards=1024)
    equal(gateway.ask("done").status, 201)
    clients = connected(gateway, 4)
    before = redis.keys()
    equal(gateway.ask("odd").status, 201)
    damage(redis, record_of(redis, before))
    at_once(gateway, clients, *map(keyed, ("a", "odd", "done", "b")))
    replies = [client.read() for client in clients]
    odd = replies.pop(1)
    assert odd.status in statuses, odd.status
    equal([reply.status for reply in replies], [201] * 3)
    assert replies[1].replayed
    equal([upstream.count(key=key) for key in ("a", "odd", "done", "b")],
          [1] * 4)
    for event in ("store_garbled", "store_down"):
        equal(gateway.find_log(event), [])


@test
def an_answer_without_its_record_harms_no_other_of_its_turn(bench):
    redis, upstream, gateway = serve(bench)
    clients = connected(gateway, 3)
    before, sent = redis.keys(), upstream.count()
    hold, answered = Hold(), []

    def tell(connection, request):
        hold.wait()
        connection.send(answer())
        answered.append(request)
    upstream.reply = tell
    for number, key in enumerate(("odd", "a", "b"), 1):
        clients[number - 1].send(keyed(key))
        upstream.wait_for(sent + number)
        if key == "odd":
            of_another_type(redis, record_of(redis, before))
    gateway.freeze()
    hold.release()
    eventually(lambda: len(answered) == 3, "all answers are there")
    gateway.thaw()
    equal([client.read().status for client in clients[1:]], [201, 201])
    # The script itself has not failed, and all with it.
    assert b"errorstat_ERR:" not in redis("INFO", "errorstats")
    assert gateway.ask("a").replayed


class OnceOfSeveral:
    """Changes the first reply to several claims (or answers) of a turn."""

    def __init__(self, letters, change):
        self.pattern = re.compile(
            rb"\*(\d+)(\r\n\$16\r\n[0-9a-f]{16}\r\n\$13\r\n\d{13}\r\n)"
            rb"\$\d+\r\n([" + letters + rb"]{2,})\r\n")
        self.change, self.done = change, False

    def __call__(self, data):
        found = None if self.done else self.pattern.search(data)
        if found is None:
            return data
        self.done = True
        start, end = found.span()
        return data[:start] + self.change(*found.groups()) + data[end:]


def told(count, head, letters, rest=b""):
    return b"*%s%s$%d\r\n%s\r\n%s" % (
        count, head, len(letters), letters, rest)


# Of a reply: how many elements, its head, its letters; all are O.
UNSOUND = [
    ("a letter too few", lambda n, head, got: told(n, head, got[1:])),
    ("a letter too many", lambda n, head, got: told(n, head, got + b"O")),
    ("an element too many",
     lambda n, head, got: told(b"4", head, got, b"$1\r\nx\r\n")),
    ("an answer too few", lambda n, head, got: told(n, head, b"C" + got[1:])),
    ("no error", lambda n, head, got: told(
        b"4", head, b"E" + got[1:], b"$1\r\nx\r\n")),
    ("an unknown letter",
     lambda n, head, got: told(n, head, got[1:] + b"x")),
    ("a letter of answers",
     lambda n, head, got: told(n, head, got[1:] + b"D")),
    ("what one claim is answered", lambda n, head, got: (
        b"*7\r\n$4\r\nOURS\r\n:1\r\n:1700000000000\r\n" + head[2:25] +
        b"$1\r\n-\r\n$6\r\n000001\r\n$13\r\n1700000000000\r\n")),
]


@each(UNSOUND)
def a_reply_that_is_not_whole_is_believed_by_none(bench, change):
    upstream, wire = bench.upstream(), bench.wire()
    gateway = bench.gateway(upstream, redis=wire, workers=1,
                            cache={"size": 0})
    keys = ["a", "b", "c"]
    clients = connected(gateway, len(keys))
    wire.edit = edit = OnceOfSeveral(b"O", change)
    at_once(gateway, clients, *map(keyed, keys))
    statuses = [client.read().status for client in clients]
    assert edit.done, "nothing was changed"
    assert statuses.count(503) >= 2, statuses
    gateway.wait_for_log("store_garbled",
                         error="a reply of an unexpected form")
    for key in keys:
        eventually(lambda name=key: gateway.ask(name).status == 201,
                   "an answer of 201")
        equal(upstream.count(key=key), 1)


@each([(f"{what}: {error[:9]}", letters, error)
       for what, letters in (("claims", b"O"), ("answers", b"D"))
       for error in ("CROSSSLOT Keys in request don't hash to the same slot",
                     "ERR whatever")])
def what_a_server_refuses_together_is_asked_one_by_one(bench, letters, error):
    """It was done, even."""
    upstream, wire = bench.upstream(), bench.wire()
    gateway = bench.gateway(upstream, redis=wire, workers=1,
                            cache={"size": 0})
    keys = ["a", "b", "c", "d"]
    clients = connected(gateway, len(keys))
    wire.edit = edit = OnceOfSeveral(
        letters, lambda *_: f"-{error}\r\n".encode())
    hold, before = upstream.hold(answer()), upstream.count()
    at_once(gateway, clients, *map(keyed, keys))
    upstream.wait_for(before + len(keys))
    hold.release()
    first = [client.read() for client in clients]
    equal([reply.status for reply in first], [201] * len(keys))
    equal([upstream.count(key=key) for key in keys], [1] * len(keys))
    again = [gateway.ask(key) for key in keys]
    assert all(reply.replayed for reply in again)
    if letters == b"O":
        assert edit.done, "nothing was changed"


# What a claim is answered that is made again alone, by the owner of the record.
OURS = re.compile(rb"\*8\r\n\$4\r\nOURS\r\n:1\r\n(:\d+\r\n\$16\r\n"
                  rb"[0-9a-f]{16}\r\n)(?:\$\d+\r\n[^\r]*\r\n){4}")


@test
def what_was_refused_together_and_came_late_alone_is_given_back(bench):
    """It was done the first time, so the key was taken; nobody knew."""
    upstream, wire = bench.upstream(), bench.wire()
    gateway = bench.gateway(upstream, redis=wire, workers=1,
                            cache={"size": 0})
    keys = ["a", "b", "c"]
    clients = connected(gateway, len(keys))
    refuse = OnceOfSeveral(b"O", lambda *_: b"-ERR whatever\r\n")

    def edit(data):
        if not refuse.done:
            return refuse(data)
        return OURS.sub(rb"*4\r\n$4\r\nLATE\r\n:0\r\n\1", data)
    wire.edit = edit
    at_once(gateway, clients, *map(keyed, keys))
    statuses = [client.read().status for client in clients]
    assert refuse.done, "nothing was changed"
    assert statuses.count(503) >= 2, statuses
    wire.edit = bytes
    for key in keys:
        eventually(lambda name=key: gateway.ask(name).status == 201,
                   "an answer of 201")
        equal(upstream.count(key=key), 1)


@test
def what_is_too_much_for_one_reply_comes_all_the_same(bench):
    sizes = [100, 50_000, 200_000, 100, 60_000, 100, 65_000, 70_000, 200_000,
             60_000, 60_000, 60_000, 100]
    bodies = [random.Random(i).randbytes(size)
              for i, size in enumerate(sizes)]

    def tell(connection, request):
        key = request.get("Idempotency-Key")
        body = bodies[int(key[1:])] if key != "warm" else b"warm"
        connection.send(answer(201, body))
    gateway = bench.gateway(bench.upstream(tell), workers=1,
                            cache={"size": 0})
    for i in range(len(sizes)):
        equal(gateway.ask(f"k{i}").status, 201)
    clients = connected(gateway, len(sizes))
    at_once(gateway, clients, *(keyed(f"k{i}") for i in range(len(sizes))))
    replies = [client.read() for client in clients]
    equal([reply.body == body for reply, body in zip(replies, bodies)],
          [True] * len(sizes))
    assert all(reply.replayed for reply in replies)


@test
def each_tenant_of_a_turn_is_given_its_own(bench):
    def tell(connection, request):
        connection.send(answer(
            201, f"of {request.get('Authorization')}".encode()))
    gateway = bench.gateway(bench.upstream(tell), workers=1,
                            cache={"size": 0})
    tenants = [f"Bearer {i}" for i in range(20)]
    clients = connected(gateway, len(tenants))
    for replayed in (None, True):
        at_once(gateway, clients,
                *(keyed("k", tenant=tenant) for tenant in tenants))
        replies = [client.read() for client in clients]
        equal([reply.body.decode() for reply in replies],
              [f"of {tenant}" for tenant in tenants])
        assert not replayed or all(reply.replayed for reply in replies)


tap.main()
