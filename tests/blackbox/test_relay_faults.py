# SPDX-License-Identifier: BSD-2-Clause
"""Relays while something dies: gateways, Redis, PostgreSQL.  Each event is
there exactly once all the same."""

import os
import signal

from once import tap
from once.admin import Admin
from once.gateway import is_without
from once.messages import Stream, source
from once.postgres import programs
from once.relays import Ledger, named, pay, relay, streams
from once.tap import equal, test
from once.wait import PATIENCE, eventually

SHARDS = 4
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


def begin(bench, redis=None, **store):
    upstream = bench.upstream()
    postgres = bench.postgres()
    redis = redis or bench.own_redis(*DURABLE)
    config = bench.config(
        upstream, redis=redis, store={"shards": SHARDS, **store})
    return relay(config, postgres), Ledger(postgres, redis, SHARDS)


@test
def another_gateway_takes_over_from_one_that_is_killed(bench):
    config, ledger = begin(bench)
    one = bench.serve(named(config, "one"))
    one.wait_for_log("relay_begins")
    other = bench.serve(named(config, "other"))
    for turn in range(3):
        task = bench.background(pay, other, 100 * turn, 100)
        ledger.wait_for(100 * turn + 1)
        one.kill()
        other.wait_for_log("relay_begins", timeout=PATIENCE)
        task.result()
        ledger.wait_whole()
        one, other = other, bench.serve(
            named(config, "one" if turn % 2 == 0 else "other"))
    pay(one, 300, 50)
    equal(len(ledger.wait_whole()), 700)


@test
def another_gateway_takes_over_at_once_from_one_that_drains(bench):
    config, ledger = begin(bench)
    one = bench.serve(named(config, "one"))
    one.wait_for_log("relay_begins")
    other = bench.serve(named(config, "other"))
    pay(other, 0, 50)
    one.stop()
    other.wait_for_log("relay_begins", timeout=3)
    pay(other, 50, 50)
    equal(len(ledger.wait_whole()), 200)


@test
def what_a_frozen_gateway_still_sends_moves_nothing_back(bench):
    config, ledger = begin(bench)
    one = bench.serve(named(config, "one"))
    one.wait_for_log("relay_begins")
    other = bench.serve(named(config, "other"))
    pay(other, 0, 20)
    ledger.wait_whole()
    task = bench.background(pay, other, 20, 200)
    ledger.wait_for(60)
    one.signal(signal.SIGSTOP)
    other.wait_for_log("relay_begins")
    task.result()
    ledger.wait_whole()
    one.signal(signal.SIGCONT)
    one.wait_for_log("relay_ends")
    pay(other, 220, 20)
    ledger.wait_whole()
    equal(ledger.read(), 480)


@test
def postgresql_may_be_killed_and_come_back(bench):
    config, ledger = begin(bench)
    gateway = bench.serve(config)
    task = bench.background(pay, gateway, 0, 600)
    for count in (50, 150, 300):
        ledger.wait_for(count)
        ledger.postgres.kill()
        gateway.wait_for_log("relay_down")
        ledger.postgres.start()
    task.result()
    equal(len(ledger.wait_whole(2 * PATIENCE)), 1200)


@test
def postgresql_may_be_frozen(bench):
    config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, 0, 20)
    ledger.wait_whole()
    pid, = ledger.sessions()
    ledger.postgres.freeze()
    os.kill(pid, signal.SIGSTOP)
    pay(gateway, 20, 20)
    line = gateway.wait_for_log("relay_down")
    assert "does not answer" in line["error"], line
    os.kill(pid, signal.SIGCONT)
    ledger.postgres.thaw()
    equal(len(ledger.wait_whole(2 * PATIENCE)), 80)


@test
def a_table_that_takes_its_time_is_not_taken_for_one_that_is_away(bench):
    """Its rows take longer than a server may be silent, or a statement last."""
    config, ledger = begin(bench)
    relays = config.pop("relays")
    config["store"]["events"] = {"maxlen": 1000}
    gateway = bench.serve(config)
    pay(gateway, 0, 110)
    gateway.stop()
    ledger.postgres(
        "CREATE TABLE ledger (id text PRIMARY KEY, key_id text, route text, "
        "\"from\" text, \"to\" text, status int, attempt int, time "
        "timestamptz, instance text, request_id text, label jsonb, answer "
        "jsonb); CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN PERFORM pg_sleep(0.035); RETURN NEW; END$$; CREATE TRIGGER "
        "slow BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION slow()")
    config["relays"] = relays
    proxy = bench.proxy(
        f"unix:{ledger.postgres.folder}/.s.PGSQL.5432", unix=False)
    config["brokers"]["shop"]["postgres"] = (
        f"postgresql://{ledger.postgres.user}@{proxy.address}/postgres")
    gateway = bench.serve(config)
    ledger.wait_for(220, timeout=3 * PATIENCE)
    equal(gateway.find_log("relay_down"), [])


@test
def a_session_that_hangs_holds_up_the_next_one_only_for_a_while(bench):
    """Frozen in its transaction it holds the lock on the turn."""
    config, ledger = begin(bench)
    gateway = bench.serve(config)
    task = bench.background(pay, gateway, 0, 300)
    ledger.wait_for(100)
    pid, = ledger.sessions()
    os.kill(pid, signal.SIGSTOP)
    try:
        task.result()
        gateway.wait_for_log("relay_down")
    finally:
        os.kill(pid, signal.SIGCONT)
    equal(len(ledger.wait_whole(2 * PATIENCE)), 600)


@test
def sessions_that_are_ended_lose_and_repeat_nothing(bench):
    config, ledger = begin(bench)
    gateway = bench.serve(config)
    task = bench.background(pay, gateway, 0, 500)
    for count in (50, 200, 400, 600):
        ledger.wait_for(count)
        ledger.postgres(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name LIKE 'onceproxy%'")
    task.result()
    equal(len(ledger.wait_whole()), 1000)


@test
def a_commit_whose_answer_is_lost_is_not_made_again(bench):
    """Also where somebody has taken its rows out of the table meanwhile."""
    config, ledger = begin(bench)
    server = ledger.postgres
    proxy = bench.proxy(f"unix:{server.folder}/.s.PGSQL.5432", unix=False)
    config["brokers"]["shop"]["postgres"] = (
        f"postgresql://postgres@{proxy.address}/postgres")
    gateway = bench.serve(config)
    taken = []

    def take(count):
        taken.extend(server("WITH gone AS (DELETE FROM ledger RETURNING id) "
                            "SELECT id FROM gone"))
        return len(taken) >= count
    pay(gateway, 0, 10)
    eventually(lambda: ledger.read() == 20 and take(20), "20 are there")
    proxy.hold("replies")
    pay(gateway, 10, 1)
    eventually(lambda: take(21), "one more is committed")
    proxy.reset_all()
    proxy.release()
    pay(gateway, 11, 9)
    eventually(lambda: ledger.read() == 40, "all are committed")
    take(40)
    equal(sorted(taken), sorted(streams(ledger.redis, SHARDS)))


@test
def what_a_failover_of_postgresql_has_lost_is_brought_again(bench):
    redis, pair = bench.own_redis(*DURABLE), bench.postgres_pair()
    config = relay(bench.config(
        bench.upstream(), redis=redis, store={"shards": SHARDS}), pair)
    ledger = Ledger(pair, redis, SHARDS)
    gateway = bench.serve(config)
    pay(gateway, 0, 10)
    ledger.wait_whole()
    pair.wait_copied()
    pair.standby.kill()
    pay(gateway, 10, 10)
    ledger.wait_whole()
    pair.primary.cut()
    pair.standby.start()
    pair.promote()
    pay(gateway, 20, 10)
    equal(len(ledger.wait_whole(2 * PATIENCE)), 60)
    eventually(lambda: ledger.read() == 60, "it stands behind all of them")
    equal(gateway.find_log("relay_lost"), [])


@test
def redis_may_be_killed_and_come_back(bench):
    config, ledger = begin(bench)
    gateway = bench.serve(config)
    for turn in range(3):
        pay(gateway, 50 * turn, 50)
        ledger.redis.kill()
        ledger.redis.start()
        eventually(lambda: gateway.ask(f"x{turn}").status == 201, "it is back")
    pay(gateway, 150, 10)
    ledger.wait_whole()


@test
def what_was_trimmed_before_it_was_read_is_counted(bench):
    config, ledger = begin(bench, events={"maxlen": 100})
    gateway = bench.serve(config)
    pay(gateway, 0, 20)
    ledger.wait_whole()
    ledger.postgres.kill()
    gateway.wait_for_log("relay_down")
    pay(gateway, 20, 1200)
    had = 2 * 1220
    ledger.postgres.start()
    eventually(lambda: ledger.read() == had, "it has read all", 2 * PATIENCE)
    lost = sum(line["count"] for line in gateway.find_log("relay_lost"))
    assert lost > 0
    equal(ledger.count() + lost, had)


@test
def what_was_lost_while_no_gateway_ran_is_counted(bench):
    config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, 0, 20)
    ledger.wait_whole()
    eventually(lambda: ledger.read() == 40, "it stands behind all")
    gateway.stop()
    relays = config.pop("relays")
    gateway = bench.serve({**config, "store": {
        **config["store"], "events": {"maxlen": 100}}})
    pay(gateway, 20, 600)
    gateway.stop()
    config["relays"] = relays
    gateway = bench.serve(config)
    eventually(lambda: ledger.read() == 1240, "it has read all")
    lost = sum(line["count"] for line in gateway.find_log("relay_lost"))
    assert lost > 0
    equal(ledger.count() + lost, 1240)


@test
def what_is_no_stream_is_said_and_the_others_are_read(bench):
    config, ledger = begin(bench)
    ledger.redis("SET", "onceproxy:{0}:events", "x")
    gateway = bench.serve(config)
    line = gateway.wait_for_log("relay_down")
    assert "shard 0" in line["error"] and "WRONGTYPE" in line["error"], line
    pay(gateway, 0, 40)
    ledger.wait_for(40)
    ledger.redis("DEL", "onceproxy:{0}:events")
    gateway.wait_for_log("relay_up")


@test
def a_stream_that_was_deleted_is_said_and_read_anew(bench):
    config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, 0, 40)
    ledger.wait_whole()
    for shard in range(SHARDS):
        ledger.redis("DEL", f"onceproxy:{{{shard}}}:events")
    gateway.wait_for_log("relay_stream_again")
    before = ledger.count()
    pay(gateway, 40, 40)
    ledger.wait_for(before + 80)
    equal(ledger.count(), before + 80)


@test
def a_cluster_is_read_too_while_a_master_fails(bench):
    cluster = bench.own_cluster()
    config, ledger = begin(bench, cluster)
    gateway = bench.serve(config)
    pay(gateway, 0, 100)
    equal(len(ledger.wait_whole()), 200)
    gateway.stop()
    gateway = bench.serve(config)
    pay(gateway, 100, 100)
    equal(len(ledger.wait_whole()), 400)


@test
def with_refuse_nothing_is_dropped_and_new_claims_wait(bench):
    config, ledger = begin(
        bench, shards=1, events={"maxlen": 1000, "overflow": "refuse"})
    gateway = bench.serve(config)
    gateway.wait_for_log("relay_up")
    pay(gateway, 0, 1000)  # the stream is trimmed behind the relay
    ledger.wait_for(2000)
    assert ledger.redis("XLEN", "onceproxy:{0}:events") <= 1300
    ledger.postgres.kill()
    gateway.wait_for_log("relay_down")
    paid = 0
    while True:
        got = gateway.ask(f"more-{paid}")
        if got.status != 201:
            break
        paid += 1
        assert paid < 1000
    equal((got.status, got.problem), (503, "overloaded"))
    gateway.wait_for_log("events_full")
    equal(gateway.find_log("memory_full"), [])
    # A replay is no new claim, and neither is the end of what has begun.
    assert gateway.ask("more-0").replayed
    ledger.postgres.start()
    eventually(lambda: gateway.ask("last").status == 201, "it goes on")
    ledger.wait_for(2000 + 2 * paid + 2)
    equal(gateway.find_log("relay_lost"), [])
    equal(ledger.count(), 2000 + 2 * paid + 2)


@test
def what_comes_before_a_relay_first_stands_anywhere_waits_for_it(bench):
    """It has brought nothing, so nothing may be trimmed."""
    config, ledger = begin(
        bench, shards=1, events={"maxlen": 100, "overflow": "refuse"})
    ledger.postgres.kill()
    gateway = bench.serve(config)
    gateway.wait_for_log("relay_down")
    paid = 0
    while (got := gateway.ask(f"k{paid}", tenant="a", body=b"")).status == 201:
        paid += 1
        assert paid < 1000, "nothing is refused"
    equal((got.status, got.problem), (503, "overloaded"))
    ledger.postgres.start()
    ledger.wait_for(2 * paid)
    equal(gateway.find_log("relay_lost"), [])


@test
def with_refuse_a_source_stands_until_the_relay_is_back(bench):
    config, ledger = begin(
        bench, shards=1, events={"maxlen": 100, "overflow": "refuse"})
    stream = Stream(bench.own_redis())
    source(config, stream)
    gateway = bench.serve({**config, "log": {"level": "debug"}})
    gateway.wait_for_log("relay_up")
    ledger.postgres.kill()
    gateway.wait_for_log("relay_down")
    since = len(gateway.events)
    for n in range(300):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    gateway.wait_for_log("source_stands", since, reason="store")
    gateway.wait_for_steps("RESTED", 8)
    tried = len(gateway.find_log("step", step="CLAIMED"))
    gateway.wait_for_steps("CLAIMED", tried + 2)  # one, now and then
    equal(len(gateway.find_log("source_stands")), 1)
    equal(gateway.find_log("source_goes"), [])
    ledger.postgres.start()
    ledger.wait_for(600)
    eventually(lambda: stream.pending() == [], "all are acknowledged")
    equal(ledger.count(), 600)


@test
def with_refuse_one_that_is_paused_is_waited_for_like_any_other(bench):
    config, ledger = begin(
        bench, shards=1, events={"maxlen": 200, "overflow": "refuse"})
    relay(config, ledger.postgres, "slow", "slow")
    slow = Ledger(ledger.postgres, ledger.redis, 1, "slow")
    gateway = bench.serve({**config, "admin": {"listen": "127.0.0.1:0"}})
    for name in ("ledger", "slow"):
        gateway.wait_for_log("relay_up", relay=name)
    pay(gateway, 0, 10)
    slow.wait_whole()
    equal(Admin(gateway).post("/relays/slow/pause").status, 200)
    gateway.wait_for_log("relay_paused", relay="slow")
    had, paid = slow.count(), 10
    while (got := gateway.ask(f"k{paid}", tenant="a", body=b"")).status == 201:
        paid += 1
        assert paid < 1000, "nothing is refused"
    equal((got.status, got.problem), (503, "overloaded"))
    ledger.wait_for(2 * paid)
    equal(gateway.ask("once-more").problem, "overloaded")
    equal((ledger.count(), slow.count()), (2 * paid, had))
    equal(Admin(gateway).post("/relays/slow/resume").status, 200)
    slow.wait_for(2 * paid)
    pay(gateway, paid, 200)  # and both are trimmed behind
    for each in (ledger, slow):
        each.wait_for(2 * paid + 400)
        equal(len({row["id"] for row in each.rows()}), 2 * paid + 400)
    assert ledger.redis("XLEN", "onceproxy:{0}:events") <= 500
    equal(gateway.find_log("relay_lost"), [])


@test
def a_relay_that_was_taken_away_is_not_waited_for(bench):
    config, ledger = begin(
        bench, shards=1, events={"maxlen": 100, "overflow": "refuse"})
    gateway = bench.serve(config)
    gateway.wait_for_log("relay_up")
    pay(gateway, 0, 10)
    ledger.wait_for(20)
    gateway.stop()
    gateway = bench.serve({**config, "relays": {}})
    eventually(lambda: not ledger.redis(
        "EXISTS", "onceproxy:{0}:relayed"), "it is forgotten")
    pay(gateway, 10, 400)
    assert ledger.redis("XLEN", "onceproxy:{0}:events") <= 300


@test
def a_place_that_another_gateway_has_forgotten_is_there_again(bench):
    """That knows of no such relay, as one of an earlier file; and nothing is
    brought meanwhile."""
    config, ledger = begin(
        bench, shards=1, events={"maxlen": 100, "overflow": "refuse"})
    place = ("onceproxy:{0}:relayed", "ledger")
    gateway = bench.serve(config)
    gateway.wait_for_log("relay_up")
    pay(gateway, 0, 10)
    ledger.wait_for(20)
    last = ledger.redis("XREVRANGE", "onceproxy:{0}:events", "+", "-",
                        "COUNT", "1")[0][0]
    eventually(lambda: last in (ledger.redis("HGET", *place) or b""),
               "the relay's place is there")
    ledger.redis("HDEL", *place)
    eventually(lambda: last in (ledger.redis("HGET", *place) or b""),
               "it is there again")


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
