# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 12 and 13: what waits in Redis to be brought by a webhook:
sealed where keys are configured, and tried until it is given up."""

import base64

from once import tap
from once.admin import Admin
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually
from once.webhooks import Receiver, TAKEN, nothing_is_kept

MARK = b"four-hundred-and-nineteen-euros"
LABEL = "a-label-of-somebody"
THREE_DAYS_S = 3 * 24 * 3600


def key(name):
    return {"id": name, "key": base64.b64encode(
        (name[-1].encode() * 32)[:32]).decode()}


ONE, TWO = key("2026-1"), key("2026-2")


def begin(bench, *keys, reply=None, states=("COMPLETED",)):
    receiver = Receiver(reply or answer(500))
    bench.upstreams.append(receiver)
    config = bench.config(
        bench.upstream(answer(201, b'{"paid":"' + MARK + b'"}')),
        {"label": ["/order"]})
    config["store"]["shards"] = 4
    config["admin"] = {"listen": "127.0.0.1:0"}
    with_keys(config, *keys)
    receiver.relay(config, answer=True, states=list(states))
    return receiver, config


def with_keys(config, *keys):
    config["store"].pop("encryption_keys", None)
    if keys:
        config["store"]["encryption_keys"] = list(keys)


def pay(gateway, *keys):
    for name in keys:
        equal(gateway.ask(name, body=b'{"order":"' + LABEL.encode() +
                          b'"}').status, 201)


def names_of(redis, end=b""):
    return [name for name in redis.keys() if b":kept:relay:hooks" in name
            and name.endswith(b":hooks" + end)]


def kept(redis, end=b""):
    """What is kept, or else its bodies, by the events' ids."""
    words = [redis("HGETALL", name) for name in names_of(redis, end)]
    words = words[0] if words else []
    return dict(zip(words[::2], words[1::2]))


def shows(gateway, **members):
    def shown():
        relay, = Admin(gateway).get("/relays")["relays"]
        return {name: relay[name] for name in members}
    eventually(lambda: shown() == members, members)


def kept_and_stopped(bench, config, *names, count=None):
    """These were paid, and their events wait; no gateway runs."""
    gateway = bench.serve(config)
    pay(gateway, *names)
    eventually(lambda: len(kept(bench.redis, b":bodies")) ==
               (count or len(names)), "all are kept")
    gateway.stop()
    return kept(bench.redis, b":bodies")


def values(redis, name):
    command, *more = {
        "string": ("GET",), "hash": ("HGETALL",), "zset": ("ZRANGE", 0, -1),
        "stream": ("XRANGE", "-", "+")}[redis("TYPE", name)]
    return repr(redis(command, name, *more)).encode()


@test
def nothing_of_an_answer_or_a_label_is_in_redis_in_the_clear(bench):
    receiver, config = begin(bench, ONE)
    bodies = kept_and_stopped(bench, config, "a", "b")
    assert all(body.startswith(b"e 2026-1\n") for body in bodies.values())
    everything = b"".join(
        name + values(bench.redis, name) for name in bench.redis.keys())
    for piece in (MARK, LABEL.encode(), b'"paid"', b'"answer"'):
        assert piece not in everything, piece
    receiver.reply = TAKEN
    bench.serve(config)
    nothing_is_kept(bench.redis)
    for event in receiver.events():
        equal((event["label"], event["answer"]["body"]),
              (LABEL, '{"paid":"' + MARK.decode() + '"}'))


def with_one_bit_changed(bodies, first, second):
    return bodies[first][:-1] + bytes([bodies[first][-1] ^ 1])


def of_another_event(bodies, first, second):
    return bodies[second]


def in_the_clear(bodies, first, second):
    return b'{"id":"' + first + b'"}'


def cut_short(bodies, first, second):
    return bodies[first][:20]


@each([("changed", with_one_bit_changed),
       ("exchanged for another one", of_another_event),
       ("put there in the clear", in_the_clear), ("cut", cut_short)])
def a_body_that_does_not_open_is_not_sent(bench, change):
    """It counts as lost, and the log names it."""
    receiver, config = begin(bench, ONE)
    bodies = kept_and_stopped(bench, config, "a", "b")
    first, second = sorted(bodies)
    name, = names_of(bench.redis, b":bodies")
    bench.redis("HSET", name, first, change(bodies, first, second))
    receiver.reply = TAKEN
    since = len(receiver.requests)
    gateway = bench.serve(config)
    lost = gateway.wait_for_log("relay_unsealed", relay="hooks", count=1)
    assert first.decode() in lost["error"], lost
    nothing_is_kept(bench.redis)
    equal(receiver.ids()[since:], [second.decode()])
    receiver.events()
    shows(gateway, lost=1, lag=0)


@test
def what_has_a_long_name_in_redis_is_no_event(bench):
    receiver, config = begin(bench)
    kept_and_stopped(bench, config, "a")
    name, = names_of(bench.redis)
    bench.redis("HSET", name, b"0" * 200000 + b"1-1-1", b"0 0 5 " + b"a" * 32)
    receiver.reply = TAKEN
    since = len(receiver.requests)
    bench.serve(config)
    eventually(lambda: receiver.ids()[since:], "its own is sent")


@test
def a_body_opens_in_no_other_relay(bench):
    receiver, config = begin(bench, ONE)
    other = Receiver()
    bench.upstreams.append(other)
    bodies = kept_and_stopped(bench, config, "a")
    for end in (b"", b":bodies", b":ran"):
        name, = names_of(bench.redis, end)
        shard = name[name.index(b"{"):name.index(b"}") + 1]
        for n in range(4):
            moved = name.replace(shard, b"{%d}" % n).replace(
                b"relay:hooks", b"relay:other")
            bench.redis("COPY", name, moved)
    other.relay(config, name="other", states=["FAILED"])
    gateway = bench.serve(config)
    lost = gateway.wait_for_log("relay_unsealed", relay="other")
    assert list(bodies)[0].decode() in lost["error"], lost
    equal(other.requests, [])


@test
def keys_are_rotated_while_events_wait(bench):
    receiver, config = begin(bench, ONE)
    kept_and_stopped(bench, config, "a")
    # The new key alone does not open it: it is neither sent nor lost.
    with_keys(config, TWO)
    since = len(receiver.requests)
    gateway = bench.serve(config)
    eventually(lambda: "encryption_keys" in (
        Admin(gateway).get("/relays")["relays"][0].get("error") or ""),
        "the page says why", 60)
    gateway.stop()
    equal((len(kept(bench.redis)), len(receiver.requests)), (1, since))
    with_keys(config, TWO, ONE)
    gateway = bench.serve(config)
    pay(gateway, "b")
    eventually(lambda: len(kept(bench.redis)) == 2, "both are kept")
    bodies = kept(bench.redis, b":bodies").values()
    equal({body.split(b"\n")[0] for body in bodies},
          {b"e 2026-1", b"e 2026-2"})
    receiver.reply = TAKEN
    nothing_is_kept(bench.redis)
    equal(len(set(receiver.ids())), 2)
    equal({event["answer"]["status"] for event in receiver.events()}, {201})


@test
def ten_thousand_are_kept_and_what_is_beyond_stays_in_its_stream(bench):
    receiver, config = begin(bench)
    del config["relays"]["hooks"]["answer"]
    hold = receiver.hold()
    gateway = bench.serve(config)
    bench.redis("EVAL", """
        for n = 1, 11000 do
            redis.call('XADD', 'onceproxy:{' .. n % 4 .. '}:events', '*',
                'id', string.format('%032x', n), 'route', 'charges', 'from',
                'PROCESSING', 'to', 'COMPLETED', 'attempt', 1)
        end""", 0)

    def count():
        return sum(bench.redis("HLEN", name)
                   for name in names_of(bench.redis))
    eventually(lambda: count() >= 10_000, "it is full", 60)
    for _ in range(10):
        Admin(gateway).get("/relays")
    assert count() < 10_100, count()
    hold.release()


# --- when it is given up ---

def set_tried(redis, event, kept_s, tries, ran_s):
    """As if the relay had run for so long, and it had been tried so often."""
    name, = names_of(redis)
    rest = kept(redis)[event].split(b" ", 2)[2]
    redis("HSET", name, event, b"%d %d " % (kept_s, tries) + rest)
    redis("SET", name + b":ran", ran_s)


@test
def an_event_is_given_up_after_three_days_and_twelve_tries(bench):
    receiver, config = begin(bench, states=["PROCESSING", "COMPLETED"])
    kept_and_stopped(bench, config, "a", count=2)
    first, second = sorted(kept(bench.redis))
    set_tried(bench.redis, first, 100, 11, 100 + THREE_DAYS_S)
    gateway = bench.serve(config)
    lost = gateway.wait_for_log("relay_lost", relay="hooks", count=1)
    assert first.decode() in lost["error"], lost
    assert "the receiver answered 500" in lost["error"], lost
    # The later one of its record goes on without it.
    receiver.reply = TAKEN
    nothing_is_kept(bench.redis)
    equal(receiver.ids()[-1], second.decode())
    shows(gateway, lost=1, lag=0)


@each([("three days and few tries", 100, 3, 100 + THREE_DAYS_S),
       ("many tries in a short time", 100, 300, 200),
       ("many tries, and time in which it did not run", THREE_DAYS_S, 300,
        THREE_DAYS_S + 5)])
def neither_of_both_is_enough_alone(bench, kept_s, tries, ran_s):
    receiver, config = begin(bench)
    kept_and_stopped(bench, config, "a")
    event, = kept(bench.redis)
    set_tried(bench.redis, event, kept_s, tries, ran_s)
    since = len(receiver.requests)
    gateway = bench.serve(config)
    eventually(lambda: len(receiver.requests) > since, "it is tried")
    # One more failure, which the next leader knows of.
    eventually(lambda: kept(bench.redis)[event].split(b" ")[1] ==
               b"%d" % (tries + len(receiver.requests) - since),
               "its tries are counted")
    equal(gateway.find_log("relay_lost"), [])
    receiver.reply = TAKEN
    gateway.stop()
    bench.serve(config)
    nothing_is_kept(bench.redis)


@test
def time_in_which_it_is_paused_does_not_count(bench):
    receiver, config = begin(bench)
    other = Receiver(answer(500))
    bench.upstreams.append(other)
    other.relay(config, name="other", states=["COMPLETED"])
    gateway = bench.serve(config)
    pay(gateway, "a")

    def ran(name):
        found = [key for key in bench.redis.keys() if key.endswith(
            b":kept:relay:" + name + b":ran")]
        return int(bench.redis("GET", found[0])) if found else -1
    eventually(lambda: min(ran(b"hooks"), ran(b"other")) >= 0, "both run")
    Admin(gateway).post("/relays/hooks/pause")
    gateway.wait_for_log("relay_paused")
    # Each that is tried, or ten seconds, is told to Redis.
    then = ran(b"other")
    eventually(lambda: ran(b"other") > then, "the other one runs", 60)
    stands, then = ran(b"hooks"), ran(b"other")
    eventually(lambda: ran(b"other") > then + 8, "it runs on", 60)
    equal(ran(b"hooks"), stands)
    Admin(gateway).post("/relays/hooks/resume")
    eventually(lambda: ran(b"hooks") > stands, "time counts again", 60)
    receiver.reply = other.reply = TAKEN
    nothing_is_kept(bench.redis, 60)


tap.main()
