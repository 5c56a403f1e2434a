# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6: Redis is lost after the upstream has answered.  The
outcome is on disk first, and reaches Redis as soon as possible, even from the
next process."""

import glob
import json
import os
import resource
import select
import signal

from once import tap
from once.http import Client, ask, build, keyed
from once.slow_disk import SlowDisk
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


def lost_at_complete(bench, how, reply=None, store=None, **idempotency):
    """A payment whose Redis is gone when the upstream has answered.  Of two
    workers one may deliver it before the other one has found Redis again."""
    upstream = bench.upstream(reply)
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(
        upstream, idempotency={"lease": "8s", **idempotency}, redis=redis,
        store=store or {}, workers=1)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    getattr(redis, how)()
    hold.release()
    return upstream, redis, gateway, first.result()


def is_problem(got, name):
    return got if got.problem == name else None


def back(redis, how):
    redis.thaw() if how == "freeze" else redis.start()


def journals(gateway):
    return glob.glob(os.path.join(
        gateway.config["state_dir"], "journal", "*"))


def entries(gateway):
    return sum(os.path.getsize(name) for name in journals(gateway))


LOST = [("killed", "kill"), ("frozen", "freeze")]


@each(LOST)
def the_client_gets_its_answer_and_so_does_every_retry(bench, how):
    upstream, redis, gateway, first = lost_at_complete(bench, how)
    equal((first.status, first.replayed), (201, False))
    back(redis, how)
    gateway.wait_for_log("journal_delivered")
    again = gateway.ask("k")
    equal((again.status, again.body, again.replayed),
          (201, first.body, True))
    equal(upstream.count(), 1)


@each(LOST)
def the_next_process_delivers_it(bench, how):
    upstream, redis, gateway, first = lost_at_complete(bench, how)
    equal(first.status, 201)
    gateway.kill()
    back(redis, how)
    other = bench.serve({**gateway.config, "instance": "gw-2"})
    other.wait_for_log("journal_adopted", instance="gw-2")
    line = other.wait_for_log("journal_delivered", instance="gw-2")
    equal(line["written_by"], gateway.wait_for_log("starting")["instance"])
    equal(other.ask("k").replayed, True)
    equal(upstream.count(), 1)


@each([("retry", "retry"), ("reconcile", {"reconcile": "/by/{key}"})])
def where_another_execution_may_decide_it_is_not_handed_out(bench, policy):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", on_unknown=policy)
    equal((first.status, first.problem), (503, "store-unavailable"))
    redis.start()
    gateway.wait_for_log("journal_delivered")
    equal(gateway.ask("k").replayed, True)
    equal(upstream.count(), 1)


@each([("an answer", answer(201, b"of the API"), "store-unavailable"),
       ("a release", answer(503), "store-unavailable"),
       ("a doubt", answer(502), "outcome-unknown")])
def after_its_lease_an_owner_gives_nothing_away(bench, reply, problem):
    """An operator has found out what happened, and said it to the client."""
    redis = bench.own_redis()
    proxy = bench.proxy(redis.url)
    upstream = bench.upstream(reply)
    gateway = bench.gateway(
        upstream, redis=proxy.url, idempotency={"lease": "1s"},
        store={"timeout": "1s"})
    other = bench.gateway(
        upstream, redis=redis, admin={"listen": "127.0.0.1:0"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    proxy.hold()
    got = eventually(lambda: is_problem(other.ask("k"), "outcome-unknown"))
    key_id = got.json()["instance"].rsplit(":", 1)[1]
    equal(ask(other.ready["admin"], build(
        "POST", f"/keys/{key_id}/complete", host="localhost",
        body=b'{"status": 202, "body": "found out"}')).status, 200)
    hold.release()
    equal(first.result().problem, problem)
    proxy.release()
    gateway.wait_for_log("journal_late")
    for one in (gateway, other):
        got = one.ask("k")
        equal((got.status, got.body), (202, b"found out"))
    equal(upstream.count(), 1)


@test
def what_a_gateway_knows_itself_it_never_calls_unknown(bench):
    """Redis is away for longer than the lease; then it is back."""
    upstream = bench.upstream()
    redis = bench.own_redis(*DURABLE)
    proxy = bench.proxy(redis.url)
    gateway = bench.gateway(
        upstream, redis=proxy.url, idempotency={"lease": "3s"},
        store={"events": {"maxlen": 1000}})
    keys = [f"k{i}" for i in range(40)]
    hold = upstream.hold()
    firsts = [bench.background(gateway.ask, key) for key in keys]
    eventually(lambda: upstream.count() == len(keys))
    proxy.refuse()
    proxy.reset_all()
    begun = int(redis("TIME")[0])
    hold.release()
    for first in firsts:
        equal(first.result().status, 201)
    eventually(lambda: int(redis("TIME")[0]) > begun + 3, "the leases end")
    proxy.accept()
    met = set()
    left = list(keys)
    while left:
        got = gateway.ask(left[0])
        met.add((got.status, got.problem))
        if got.status == 201:
            left.pop(0)
    assert met <= {(201, None), (409, "in-flight"),
                   (503, "store-unavailable")}, met
    equal(gateway.find_log("outcome_unknown"), [])
    told = [words[words.index(b"to") + 1] for name in redis.keys()
            if name.endswith(b":events")
            for _, words in redis("XRANGE", name, "-", "+")]
    equal((told.count(b"COMPLETED"), set(told)),
          (len(keys), {b"PROCESSING", b"COMPLETED"}))
    equal(upstream.count(), len(keys))


@test
def what_is_forgotten_while_redis_is_away_is_forgotten_later(bench):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", reply=answer(401))
    equal(first.status, 401)
    redis.start()
    gateway.wait_for_log("journal_delivered", step="release")
    equal(redis.left(), [])


@test
def a_release_is_journaled_too(bench):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", reply=answer(503))
    equal(first.status, 503)
    redis.start()
    gateway.wait_for_log("journal_delivered")
    upstream.reply = answer()
    got = gateway.ask("k")
    equal((got.status, got.replayed), (201, False))
    equal(upstream.count(), 2)


@each([("429: it does not", answer(429), 201),
       ("forget: it does not", answer(
           401, fields=[("Idempotency-Outcome", "forget")]), 201),
       ("503: it does", answer(503), 409)])
def a_journaled_release_says_whether_its_attempt_counts(
        bench, reply, status):
    """Of a second attempt: nothing stays of a first one that is forgotten."""
    upstream = bench.upstream(answer(503))
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(
        upstream, idempotency={"lease": "8s", "max_attempts": 2}, redis=redis)
    equal(gateway.ask("k").status, 503)
    upstream.reply = reply
    hold = upstream.hold()
    second = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis.kill()
    hold.release()
    equal(second.result().status, int(reply.split()[1]))
    redis.start()
    gateway.wait_for_log("journal_delivered", step="release")
    upstream.reply = answer(201)
    equal(gateway.ask("k").status, status)


@test
def a_doubt_is_journaled_too(bench):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", reply=then_close(b""))
    equal((first.status, first.problem), (502, "outcome-unknown"))
    redis.start()
    gateway.wait_for_log("journal_delivered")
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(upstream.count(), 1)


@test
def a_journal_that_cannot_be_written_stops_new_claims(bench):
    upstream, gateway = bench.pair(workers=1, admin={"listen": "127.0.0.1:0"})
    equal(gateway.ask("k").status, 201)
    for name in journals(gateway):
        os.unlink(name)
    eventually(
        lambda: gateway.ask("new").problem == "store-unavailable")
    assert gateway.wait_for_log("journal_unwritable")["error"]
    count = upstream.count()
    equal(gateway.ask("newer").problem, "store-unavailable")
    equal(upstream.count(), count)
    status = ask(gateway.ready["admin"],
                 build("GET", "/status", host="localhost")).json()
    equal(status["journal"], {"entries": 0, "writable": False, "blocked": 0,
                              "foreign": 0, "damaged": 0})
    # Said once, not for each refused claim.
    equal(len(gateway.find_log("journal_unwritable")), 1)


@test
def an_outcome_that_is_refused_is_delivered_again_and_again(bench):
    upstream = bench.upstream()
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(upstream, redis=redis)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis("CONFIG", "SET", "min-replicas-to-write", "1")
    hold.release()
    equal(first.result().status, 201)
    # Refused twice: to the execution, and to the delivery.
    eventually(lambda: len(gateway.find_log(
        "store_refused", operation="complete")) > 1, "it is tried again")
    redis("CONFIG", "SET", "min-replicas-to-write", "0")
    gateway.wait_for_log("journal_delivered")
    equal(gateway.ask("k").replayed, True)
    equal(upstream.count(), 1)


def taken_by_nothing(bench):
    """A payment whose outcome neither Redis nor the disk takes."""
    upstream = bench.upstream()
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(upstream, redis=redis, workers=1)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    for name in journals(gateway):
        os.unlink(name)
    redis.kill()
    hold.release()
    equal(first.result().problem, "store-unavailable")
    return upstream, redis, gateway


@test
def an_outcome_that_nothing_takes_is_tried_until_redis_is_back(bench):
    upstream, redis, gateway = taken_by_nothing(bench)
    redis.start()
    other = bench.gateway(upstream, redis=redis)
    eventually(lambda: other.ask("k").replayed, "the stored answer")
    equal(upstream.count(), 1)


@test
def an_outcome_that_nothing_takes_is_drained_too(bench):
    upstream, redis, gateway = taken_by_nothing(bench)
    gateway.signal(signal.SIGTERM)
    gateway.wait_for_log("draining")
    redis.start()
    equal(gateway.wait(), 0)
    assert bench.gateway(upstream, redis=redis).ask("k").replayed
    equal(upstream.count(), 1)


def slowed(bench, count=1, **members):
    """Payments whose outcomes are on their way to a disk that is held up."""
    disk = SlowDisk(bench)
    upstream = bench.upstream()
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(upstream, redis=redis, workers=1, env=disk.env,
                            **members)
    equal(gateway.ask("before").status, 201)
    hold = upstream.hold()
    clients = [Client(gateway.address) for _ in range(count)]
    for number, client in enumerate(clients):
        client.send(keyed(f"k{number}"))
    upstream.wait_for(1 + count)
    redis.kill()
    gateway.wait_for_log("store_down")
    disk.hold()
    hold.release()
    disk.wait_arrived()
    return upstream, redis, gateway, disk, clients


def heard(clients):
    """Those of them to which something has come."""
    return select.select([client.sock for client in clients], [], [], 0)[0]


@test
def a_disk_that_is_slow_holds_up_nobody_else(bench):
    upstream, redis, gateway, disk, clients = slowed(bench, count=5)
    for _ in range(3):
        equal(gateway.send(build("GET", "/else")).status, 201)
    # Nobody has an answer that is not on disk.
    equal(heard(clients), [])
    disk.release()
    equal([client.read().status for client in clients], [201] * 5)
    redis.start()
    for number in range(5):
        eventually(lambda n=number: gateway.ask(f"k{n}").replayed)
    equal(len([r for r in upstream.requests if r.get("Idempotency-Key")]), 6)


@test
def a_drain_waits_for_a_disk_that_is_slow(bench):
    upstream, redis, gateway, disk, clients = slowed(bench)
    gateway.signal(signal.SIGTERM)
    gateway.wait_for_log("draining")
    equal(heard(clients), [])
    disk.release()
    equal(clients[0].read().status, 201)
    equal(gateway.wait(), 0)
    redis.start()
    other = bench.serve(gateway.config)
    other.wait_for_log("journal_delivered")
    equal(other.ask("k0").replayed, True)


def limit_files(gateway, bytes_):
    """No file of the gateway may become larger; -1: any may."""
    resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE,
                     (bytes_, resource.RLIM_INFINITY))


def flip(name, at):
    """A byte of a file is no longer what was written; from the end, below 0."""
    with open(name, "r+b") as file:
        data = bytearray(file.read())
        data[at] ^= 1
        file.seek(0)
        file.write(data)
    return bytes(data)


def damage(name):
    """A journal has another answer than the one that was written."""
    return flip(name, -1)


@test
def an_entry_that_was_damaged_is_not_delivered(bench):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", answer(201, b"a whole answer"),
        store={"compression": "none"})
    equal(first.status, 201)
    gateway.kill()
    name, = [name for name in journals(gateway) if os.path.getsize(name)]
    damaged = damage(name)
    redis.start()
    other = bench.serve({**gateway.config, "admin": {
        "listen": "127.0.0.1:0"}})
    aside = os.path.basename(name) + ".damaged-1"
    other.wait_for_log("journal_adopted", damaged=1, aside=aside,
                       file=os.path.basename(name))
    # Nobody can know what the answer was any more.
    eventually(lambda: other.ask("k").problem == "outcome-unknown")
    equal(upstream.count(), 1)
    # But perhaps somebody wants to look.
    with open(os.path.join(os.path.dirname(name), aside), "rb") as file:
        equal(file.read(), damaged)
    got = ask(other.ready["admin"], build("GET", "/status", host="localhost"))
    equal(got.json()["journal"]["damaged"], 1)


@each([("of this process", False), ("of a dead process", True)])
def an_entry_that_cannot_be_read_back_is_named(bench, dies):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "kill", answer(201, b"a whole answer"),
        store={"compression": "none"})
    equal(first.status, 201)
    name, = [name for name in journals(gateway) if os.path.getsize(name)]
    if dies:
        gateway.kill()
        gateway = bench.serve(gateway.config)
        gateway.wait_for_log("journal_adopted", entries=1,
                             file=os.path.basename(name))
    damaged = damage(name)
    redis.start()
    line = gateway.wait_for_log("journal_damaged")
    equal((line["file"], line["entry"]), (os.path.basename(name), 1))
    assert "keys list --state UNKNOWN" in line["words"], line
    eventually(lambda: gateway.ask("k").problem == "outcome-unknown")
    equal(gateway.find_log("journal_delivered"), [])
    equal(upstream.count(), 1)
    gateway.stop(signal.SIGTERM)
    with open(name + ".damaged-1", "rb") as file:
        assert file.read().startswith(damaged)


@test
def a_damaged_head_takes_nothing_else_with_it(bench):
    upstream = bench.upstream()
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(upstream, {"lease": "4s"}, redis=redis, workers=1)
    hold = upstream.hold()
    tasks = [bench.background(gateway.ask, key) for key in "abc"]
    upstream.wait_for(3)
    redis.kill()
    hold.release()
    equal([task.result().status for task in tasks], [201] * 3)
    gateway.kill()
    name, = [name for name in journals(gateway) if os.path.getsize(name)]
    damaged = flip(name, 5)
    redis.start()
    other = bench.serve(gateway.config)
    line = other.wait_for_log("journal_adopted", file=os.path.basename(name))
    equal((line["entries"], line["damaged"]), (2, 0))
    assert line["cut_bytes"] > 0, line
    eventually(lambda: len(other.find_log("journal_delivered")) == 2)

    def settled():
        answers = [other.ask(key) for key in "abc"]
        return [str(got.problem or got.replayed) for got in answers] if not (
            any(got.problem == "in-flight" for got in answers)) else None
    equal(sorted(eventually(settled)),
          ["True", "True", "outcome-unknown"])
    equal(upstream.count(), 3)
    with open(os.path.join(os.path.dirname(name), line["aside"]),
              "rb") as file:
        equal(file.read(), damaged)


@test
def a_key_whose_answer_waits_on_disk_is_not_set_free(bench):
    """The answer is larger than what Redis reads from a client."""
    large = os.urandom(1536 << 10)
    upstream = bench.upstream(answer(201, large))
    redis = bench.own_redis(*DURABLE)
    redis("CONFIG", "SET", "client-query-buffer-limit", 1 << 20)
    gateway = bench.gateway(
        upstream, {"lease": "3s", "max_response_body": "4MiB"}, redis=redis,
        workers=1, admin={"listen": "127.0.0.1:0"})
    got = gateway.ask("k")
    equal((got.status, got.body), (201, large))

    def operate(act, **body):
        method, target = (("DELETE", "") if act == "delete"
                          else ("POST", "/" + act))
        return ask(gateway.ready["admin"], build(
            method, f"/keys/{key_id}{target}",
            [("Content-Type", "application/json")],
            json.dumps(body).encode(), host="localhost"))

    key_id = gateway.wait_for_log("request")["key_id"]
    name, = [os.path.basename(name) for name in journals(gateway)]
    for act in ("release", "delete"):
        # Its lease ends, for it is not renewed: nobody executes it any more.
        refused = eventually(lambda a=act: next(
            (r for r in [operate(a)]
             if r.status != 503 and name in r.json()["detail"]), None))
        equal((refused.status, refused.problem), (409, "conflict"))
    redis("CONFIG", "SET", "client-query-buffer-limit", 1 << 30)
    gateway.wait_for_log("journal_delivered")
    again = gateway.ask("k")
    equal((again.body, again.replayed), (large, True))
    equal(operate("delete").status, 200)
    equal(upstream.count(), 1)


@test
def a_gateway_whose_journal_cannot_be_written_is_not_ready(bench):
    upstream = bench.upstream()
    redis = bench.own_redis(*DURABLE)
    gateway = bench.gateway(upstream, redis=redis, workers=1,
                            admin={"listen": "127.0.0.1:0"})

    def ready():
        got = ask(gateway.ready["admin"],
                  build("GET", "/readyz", host="localhost"))
        return got.status, got.json().get("reason")
    equal(ready(), (200, None))
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    limit_files(gateway, 0)
    redis.kill()
    hold.release()
    equal(first.result().problem, "store-unavailable")
    redis.start()
    eventually(lambda: ready() == (503, "journal"), "not ready")
    limit_files(gateway, -1)
    # Without a single request, which nobody would send to it.
    eventually(lambda: ready() == (200, None), "ready again")
    equal(gateway.ask("k").replayed, True)
    equal(upstream.count(), 1)


@test
def a_process_that_lives_keeps_its_journal(bench):
    upstream = bench.upstream()
    one = bench.gateway(upstream, workers=1)
    equal(one.ask("one").status, 201)
    before = journals(one)
    equal(len(before), 1)
    two = bench.gateway(upstream, workers=1, state_dir=one.config["state_dir"])
    equal(two.ask("two").status, 201)
    # A gateway adopts journals at its start, and has closed them at its end.
    two.stop()
    equal(set(before) - set(journals(one)), set())
    equal(one.ask("more").status, 201)


@test
def an_outcome_that_comes_too_late_is_said_and_changes_nothing(bench):
    upstream, redis, gateway, first = lost_at_complete(
        bench, "freeze", on_unknown="retry", lease="1s")
    equal(first.problem, "store-unavailable")
    # While the gateway is frozen, another one executes the next attempt.
    gateway.signal(signal.SIGSTOP)
    back(redis, "freeze")
    other = bench.gateway(upstream, redis=redis, idempotency={
        "on_unknown": "retry"})
    eventually(lambda: other.ask("k").status == 201)
    gateway.signal(signal.SIGCONT)
    line = gateway.wait_for_log("journal_late", route="charges", attempt=1,
                                step="complete")
    assert line["key_id"], line
    equal(other.ask("k").replayed, True)
    equal(upstream.count(), 2)


@test
def a_state_dir_that_cannot_be_written_is_refused_at_start(bench):
    config = bench.config(bench.upstream())
    for folder, words in (("/proc/no/such/place", "neither is the folder"),
                          ("/sys/no-such-place", "may not make it")):
        config["state_dir"] = folder
        gateway = bench.serve(config, ready=False)
        equal(gateway.wait(), 1)
        assert words in gateway.find_log("fatal")[0]["error"], words


@test
def a_clean_end_leaves_no_journal_behind(bench):
    upstream, gateway = bench.pair()
    equal(gateway.ask("k").status, 201)
    gateway.stop(signal.SIGTERM)
    equal(entries(gateway), 0)


@test
def a_journal_that_has_nothing_left_is_adopted_without_a_word(bench):
    config = bench.config(bench.upstream())
    gateway = bench.serve(config)
    equal(gateway.ask("k").status, 201)
    folder = os.path.join(config["state_dir"], "journal")
    left = set(os.listdir(folder))
    equal(len(left), config["workers"])
    gateway.kill()
    gateway = bench.serve(config)
    eventually(lambda: not left & set(os.listdir(folder)))
    equal(gateway.ask("k").replayed, True)
    equal(gateway.find_log("journal_adopted"), [])


tap.main()
