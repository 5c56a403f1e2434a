# SPDX-License-Identifier: BSD-2-Clause
"""An outcome is for one store: it makes its record again where that store has
forgotten it, and no other store is given it."""

import os
import signal

from once import tap
from once.admin import Admin
from once.http import ask, build
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
ADMIN = {"listen": "127.0.0.1:0"}
FIFTH = b'{"account": "a-1", "version": 5}'


def admin_of(gateway, target):
    return ask(gateway.ready["admin"], build("GET", target, host="localhost"))


def metric(gateway, name):
    return float(next(line.split()[1] for line in admin_of(
        gateway, "/metrics").body.decode().split("\n")
        if line.startswith(name + " ")))


def begun(bench, redis, reply=None, **members):
    """A payment that the upstream has not answered yet."""
    upstream = bench.upstream(reply)
    gateway = bench.gateway(upstream, redis=redis, workers=1, **members)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    return upstream, gateway, hold, first


# --- Redis has forgotten the record ----------------------------------------

@each([("by script", {}), ("by function", {"scripting": "function"}),
       ("with events", {"events": {"maxlen": 1000}})])
def an_outcome_makes_its_record_again(bench, store):
    redis = bench.own_redis(*DURABLE)
    upstream, gateway, hold, first = begun(bench, redis, store=store)
    redis("FLUSHALL")
    hold.release()
    got = first.result()
    equal((got.status, got.replayed), (201, False))
    gateway.wait_for_log("record_made_again", attempt=1, step="complete")
    # Whoever comes finds it, through whichever gateway.
    other = bench.gateway(upstream, redis=redis, store=store)
    for asked in (gateway, other):
        again = asked.ask("k")
        equal((again.status, again.body, again.replayed),
              (201, got.body, True))
    equal(other.ask("k", body=b"another").problem, "key-reused")
    equal(upstream.count(), 1)


@test
def an_outcome_of_which_nobody_knows_is_made_again_too(bench):
    redis = bench.own_redis(*DURABLE)
    upstream, gateway, hold, first = begun(bench, redis, then_close(b""))
    redis("FLUSHALL")
    hold.release()
    equal(first.result().problem, "outcome-unknown")
    gateway.wait_for_log("record_made_again", step="unknown")
    upstream.reply = answer()
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(upstream.count(), 1)


@each([("an answer", None), ("a doubt", then_close(b""))])
def a_claim_that_comes_to_nothing_does_not_take_its_place(bench, reply):
    """Another gateway has claimed the key since, and has sent nothing yet when
    the outcome comes, nor ever does."""
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program or not os.access(program, os.X_OK):
        raise tap.Skip("there is no test build")
    redis = bench.own_redis(*DURABLE)
    upstream, gateway, hold, first = begun(bench, redis, reply)
    redis("FLUSHALL")
    nobody = bench.upstream()
    nobody.stop()
    other = bench.serve(bench.config(nobody, redis=redis),
                        {"ONCE_FAULT": "execution:FORWARD"}, program=program)
    second = bench.background(other.ask, "k")
    other.wait_for_log("fault_point")
    hold.release()
    equal(first.result().problem, "in-flight")
    other.thaw()
    equal(second.result().problem, "upstream-unreachable")
    gateway.wait_for_log("journal_delivered")
    upstream.reply = answer()
    again = gateway.ask("k")
    equal((again.replayed, again.problem),
          (False, "outcome-unknown") if reply else (True, None))
    equal(upstream.count(), 1)


@test
def a_release_makes_no_record(bench):
    redis = bench.own_redis(*DURABLE)
    upstream, gateway, hold, first = begun(bench, redis, answer(503))
    redis("FLUSHALL")
    hold.release()
    equal(first.result().status, 503)
    equal([name for name in redis.keys() if b":r:" in name], [])


@test
def who_has_claimed_meanwhile_goes_first(bench):
    redis = bench.own_redis(*DURABLE)
    upstream, gateway, hold, first = begun(bench, redis)
    redis("FLUSHALL")
    second = bench.background(gateway.ask, "k")
    upstream.wait_for(2)
    hold.release()
    answers = [first.result(), second.result()]
    # Redis has let it be executed twice; all the same there is one answer.
    given = {got.body for got in answers if got.status == 201}
    equal(len(given), 1, answers)
    again = gateway.ask("k")
    equal((again.replayed, {again.body}), (True, given))
    equal(gateway.find_log("record_made_again"), [])


@test
def an_answer_whose_record_is_gone_is_not_handed_out_from_disk(bench):
    """Redis says that the record is gone, and then nothing more: as long as it
    is not there again, another one may execute."""
    wire = bench.wire()
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, redis=wire, workers=1,
                            store={"timeout": "1s"})
    equal(gateway.ask("before").status, 201)  # and Redis has the scripts
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    bench.redis("FLUSHALL")

    def hear_gone(data):
        if b"GONE" in data:
            wire.edit = lambda data: data
            wire.hold()
        return data
    wire.edit = hear_gone
    hold.release()
    got = first.result()
    equal((got.status, got.problem), (503, "store-unavailable"))
    gateway.wait_for_log("journal_delivered")
    equal(gateway.ask("k").replayed, True)
    equal(upstream.count(), 2)


@each([("of this process", False), ("of a dead process", True)])
def an_outcome_on_disk_makes_its_record_again(bench, dies):
    redis = bench.own_redis()  # it keeps nothing
    upstream, gateway, hold, first = begun(bench, redis)
    redis.kill()
    hold.release()
    got = first.result()
    equal(got.status, 201)
    if dies:
        gateway.kill()
        redis.start()
        gateway = bench.serve(gateway.config)
    else:
        redis.start()
    gateway.wait_for_log("journal_delivered")
    gateway.wait_for_log("record_made_again")
    again = gateway.ask("k")
    equal((again.body, again.replayed), (got.body, True))
    equal(upstream.count(), 1)


def versioned(bench, redis, reply=None):
    """The fifth version of an account, at the upstream."""
    upstream = bench.upstream(reply)
    gateway = bench.gateway(upstream, {
        "entity": ["/account"], "newer_only": "/version"},
        redis=redis, workers=1, admin=ADMIN)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "5", body=FIFTH)
    hold.wait_arrived()
    return upstream, gateway, hold, first


def is_stale(gateway):
    for key in ("4", "other-5"):
        got = gateway.ask(key, body=FIFTH.replace(b"5", key[-1:].encode()))
        equal((got.problem, got.json().get("current_version")),
              ("stale-version", 5))


@each([("at once", False), ("from disk", True)])
def a_record_made_again_knows_its_version(bench, from_disk):
    redis = bench.own_redis()
    upstream, gateway, hold, first = versioned(bench, redis)
    redis.kill() if from_disk else redis("FLUSHALL")
    hold.release()
    equal(first.result().status, 201)
    if from_disk:
        redis.start()
        gateway.wait_for_log("journal_delivered")
    gateway.wait_for_log("record_made_again")
    is_stale(gateway)
    equal(upstream.count(), 1)


@test
def a_doubt_made_again_knows_its_version(bench):
    redis = bench.own_redis()
    upstream, gateway, hold, first = versioned(
        bench, redis, then_close(b""))
    redis("FLUSHALL")
    hold.release()
    equal(first.result().problem, "outcome-unknown")
    line = gateway.wait_for_log("record_made_again")
    equal(ask(gateway.ready["admin"], build(
        "POST", f"/keys/{line['key_id']}/complete", body=b'{"status": 201}',
        host="localhost")).status, 200)
    is_stale(gateway)
    equal(upstream.count(), 1)


@test
def a_doubt_on_disk_makes_its_record_again(bench):
    redis = bench.own_redis()
    upstream, gateway, hold, first = begun(bench, redis, then_close(b""))
    redis.kill()
    hold.release()
    equal(first.result().problem, "outcome-unknown")
    redis.start()
    gateway.wait_for_log("journal_delivered", step="unknown")
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(upstream.count(), 1)


# --- Redis is as it was before the attempt ----------------------------------

def released(bench, reply):
    """The second attempt is on its way, when an operator has released the
    first; and what Redis had before that."""
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(upstream, redis=redis, workers=1, admin=ADMIN)
    key_id = gateway.ask("k").json()["instance"].rsplit(":", 1)[1]
    Admin(gateway).act(key_id, "release")
    return redis, gateway, redis.save(), *sent_next(bench, gateway, upstream,
                                                    reply)


def sent_next(bench, gateway, upstream, reply):
    upstream.reply = reply
    hold = upstream.hold()
    second = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    return upstream, hold, second


def comes_back(redis, gateway, saved, hold, second, away=False):
    """What the second client got."""
    answers = []

    def answered():
        hold.release()
        answers.append(second.result())
    redis.go_back(saved, answered if away else None)
    if away:
        gateway.wait_until(lambda: gateway.find_log("journal_delivered") or
                           gateway.find_log("journal_late"), "it is told")
    else:
        gateway.wait_for_log("store_up")
        answered()
    return answers[0]


AWAY = [("Redis is back before the answer", False),
        ("Redis is away when the answer comes", True)]


@each(AWAY)
def an_answer_goes_before_a_release_of_the_attempt_before(bench, away):
    redis, gateway, saved, upstream, hold, second = released(bench, answer())
    got = comes_back(redis, gateway, saved, hold, second, away)
    equal((got.status, got.replayed), (201, False))
    gateway.wait_for_log("record_made_again", attempt=2, step="complete")
    again = gateway.ask("k")
    equal((again.body, again.replayed), (got.body, True))
    equal(upstream.count(), 2)
    # What operators did about the key is remembered.
    shown = Admin(gateway).get("/keys/" + gateway.find_log(
        "record_made_again")[0]["key_id"])
    equal([act["act"] for act in shown["history"]], ["release"])


@test
def so_does_a_doubt(bench):
    redis, gateway, saved, upstream, hold, second = released(
        bench, then_close(b""))
    got = comes_back(redis, gateway, saved, hold, second)
    equal((got.status, got.problem), (502, "outcome-unknown"))
    gateway.wait_for_log("record_made_again", attempt=2, step="unknown")
    upstream.reply = answer()
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(upstream.count(), 2)


@test
def a_refusal_leaves_the_key_as_free_as_it_is(bench):
    redis, gateway, saved, upstream, hold, second = released(
        bench, answer(503))
    got = comes_back(redis, gateway, saved, hold, second)
    equal((got.status, got.problem), (503, None))
    upstream.reply = answer()
    equal(gateway.ask("k").status, 201)


@test
def an_answer_goes_before_a_doubt_about_the_attempt_before(bench):
    """That an operator had released it Redis has forgotten, too."""
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(upstream, redis=redis, workers=1, admin=ADMIN)
    key_id = gateway.ask("k").json()["instance"].rsplit(":", 1)[1]
    saved = redis.save()
    Admin(gateway).act(key_id, "release")
    _, hold, second = sent_next(bench, gateway, upstream, answer())
    got = comes_back(redis, gateway, saved, hold, second, True)
    again = gateway.ask("k")
    equal((again.body, again.replayed), (got.body, True))
    equal(upstream.count(), 2)


@each(AWAY)
def an_answer_goes_before_the_end_of_all_attempts(bench, away):
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream(answer(503))
    gateway = bench.gateway(upstream, {"max_attempts": 1}, redis=redis,
                            workers=1, admin=ADMIN)
    equal(gateway.ask("k").status, 503)
    failed = gateway.ask("k")
    equal(failed.problem, "attempts-exhausted")
    saved = redis.save()
    Admin(gateway).act(failed.json()["instance"].rsplit(":", 1)[1], "release")
    _, hold, second = sent_next(bench, gateway, upstream, answer())
    got = comes_back(redis, gateway, saved, hold, second, away)
    equal(got.status, 201)
    again = gateway.ask("k")
    equal((again.body, again.replayed), (got.body, True))
    equal(upstream.count(), 2)


@each([("an answer", answer()), ("a doubt", then_close(b""))])
def an_outcome_comes_after_the_lease_of_the_attempt_before(bench, reply):
    """Which Redis believes to be in flight; nobody else looks after it."""
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream(answer(503))
    gateway = bench.gateway(upstream, {"lease": "2s"}, redis=redis, workers=1)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    saved = redis.save()
    hold.release()
    equal(first.result().status, 503)
    _, hold, second = sent_next(bench, gateway, upstream, reply)
    comes_back(redis, gateway, saved, hold, second)
    gateway.wait_for_log("record_made_again", attempt=2)
    upstream.reply = answer()
    again = gateway.ask("k")
    equal((again.replayed, again.problem),
          (True, None) if reply == answer() else (False, "outcome-unknown"))
    equal(upstream.count(), 2)


@test
def a_doubt_settles_anew_though_the_one_before_it_has_settled(bench):
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream(then_close(b""))
    upstream.replies["/by-key/k"] = answer(404)
    gateway = bench.gateway(upstream, {"lease": "2s", "on_unknown": {
        "reconcile": {"path": "/by-key/{key}", "absent": [404],
                      "settle": "2s"}}}, redis=redis, workers=1)
    equal(gateway.ask("k").status, 502)
    saved = redis.save()
    hold = upstream.hold()

    def ask_until_sent():
        return eventually(lambda: (lambda got: got if got.status == 502 or
                                   got.replayed else None)(gateway.ask("k")))
    second = bench.background(ask_until_sent)
    hold.wait_arrived()
    got = comes_back(redis, gateway, saved, hold, second)
    equal((got.status, got.problem), (502, "outcome-unknown"))
    upstream.reply = answer()
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(upstream.count(method="POST"), 2)


@test
def an_answer_does_not_go_before_what_an_operator_has_completed(bench):
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(upstream, redis=redis, workers=1, admin=ADMIN)
    admin = Admin(gateway)
    key_id = gateway.ask("k").json()["instance"].rsplit(":", 1)[1]
    saved = redis.save()
    admin.act(key_id, "release")
    _, hold, second = sent_next(bench, gateway, upstream, answer())
    redis.go_back(saved)
    gateway.wait_for_log("store_up")
    equal(admin.post(f"/keys/{key_id}/complete", {"status": 202}).status, 200)
    hold.release()
    got = second.result()
    equal((got.status, got.replayed), (202, True))
    equal(gateway.ask("k").status, 202)


@test
def a_store_that_lost_its_data_gets_its_id_back(bench):
    redis = bench.own_redis(*DURABLE)
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, redis=redis, workers=1)
    equal(gateway.ask("k").status, 201)
    name = b"onceproxy:{0}:store"
    before = redis("GET", name)
    equal(len(before), 22)
    redis("FLUSHALL")
    redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    eventually(lambda: redis("GET", name) == before, "the same id")


# --- another store ---------------------------------------------------------

def left_behind(bench, redis, **members):
    """A configuration whose gateway died with an outcome on its disk."""
    upstream, gateway, hold, first = begun(bench, redis, **members)
    redis.kill()
    hold.release()
    equal(first.result().status, 201)
    gateway.kill()
    redis.start()
    return upstream, gateway.config


def changed(bench, config, what):
    store = dict(config["store"])
    if what == "redis":
        store["redis"] = bench.own_redis().url
    elif what == "prefix":
        store["prefix"] = "another"
    else:
        store["shards"] = 32
    return {**config, "store": store, "admin": ADMIN}


@each([(what, what) for what in ("redis", "prefix", "shards")])
def an_outcome_is_not_delivered_to_another_store(bench, what):
    redis = bench.own_redis(*DURABLE)
    upstream, config = left_behind(bench, redis)
    other = bench.serve(changed(bench, config, what))
    line = other.wait_for_log("journal_foreign", entries=1)
    folder = os.path.join(config["state_dir"], "journal")
    assert line["file"] in os.listdir(folder)
    equal(other.find_log("journal_adopted"), [])
    equal(admin_of(other, "/status").json()["journal"],
          {"entries": 0, "writable": True, "blocked": 0, "foreign": 1,
           "damaged": 0})
    equal(metric(other, "onceproxy_journal_entries"), 0)
    equal(metric(other, "onceproxy_journal_foreign_entries"), 1)
    equal(other.ask("new").status, 201)
    # The one that it is for finds it, while the other one runs.
    right = bench.serve(config)
    right.wait_for_log("journal_delivered")
    equal(right.ask("k").replayed, True)
    eventually(lambda: line["file"] not in os.listdir(folder))
    eventually(lambda: metric(
        other, "onceproxy_journal_foreign_entries") == 0)
    equal(len(other.find_log("journal_foreign")), 1)
    equal(upstream.count(), 2)


@test
def an_outcome_follows_its_data_to_another_place(bench):
    redis, copy = bench.own_redis(*DURABLE), bench.own_redis(*DURABLE)
    upstream, gateway, hold, first = begun(bench, redis)
    copy.follow(redis)
    redis.kill()
    hold.release()
    equal(first.result().status, 201)
    gateway.kill()
    copy("REPLICAOF", "NO", "ONE")
    moved = bench.serve({**gateway.config, "store": {
        **gateway.config["store"], "redis": copy.url}})
    moved.wait_for_log("journal_delivered")
    equal(moved.ask("k").replayed, True)
    equal(upstream.count(), 1)


@test
def two_gateways_with_one_folder_and_two_stores(bench):
    """Each delivers what is its own, also what the other one could see."""
    first, second = bench.own_redis(*DURABLE), bench.own_redis(*DURABLE)
    upstream, config = left_behind(bench, first)
    state_dir = config["state_dir"]
    other_upstream, other_config = left_behind(
        bench, second, state_dir=state_dir)
    gateways = [bench.serve(config), bench.serve(other_config)]
    for gateway in gateways:
        gateway.wait_for_log("journal_delivered")
        equal(gateway.ask("k").replayed, True)
    equal((upstream.count(), other_upstream.count()), (1, 1))
    for gateway in gateways:
        gateway.stop(signal.SIGTERM)
    equal(os.listdir(os.path.join(state_dir, "journal")), [])


tap.main()
