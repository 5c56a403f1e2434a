# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 12 and 13: outcomes go out to a topic of Kafka, each event
exactly once for who reads what is committed, in the order of each record,
whatever happens to gateways and brokers.  Skipped where there is no Kafka
(contrib/check --all)."""

import signal

from once import tap, tier
from once.admin import Admin
from once.kafka import START_S, confluent_kafka
from once.relays import NAMES, TopicLedger, named, pay, topic_relay
from once.tap import equal, long_test, test
from once.upstream import answer
from once.wait import eventually

SHARDS = 4
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
TURNS = 3 if tier.LONG else 1  # of what happens again


def begin(bench, reply=None, kafka=None, redis=None, idempotency=None,
          settings=None, topic_settings=None, **members):
    """An upstream, a configuration, and the topic that the relay writes."""
    upstream = bench.upstream(reply)
    store = {"shards": SHARDS, **members.pop("store", {})}
    redis = redis or bench.own_redis(*DURABLE)
    config = bench.config(upstream, idempotency, redis=redis, store=store)
    ledger = TopicLedger(kafka or bench.kafka, redis, store["shards"],
                         **(topic_settings or {}))
    topic_relay(config, ledger.kafka, ledger.place, settings=settings,
                **members)
    return upstream, config, ledger


# --- what is brought ---------------------------------------------------------

@test
def each_event_is_a_message(bench):
    upstream, config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, 0, 3)
    rows = ledger.wait_whole()
    equal(len(rows), 6)
    equal(list(ledger.stories().values()),
          [["NONE>PROCESSING 1", "PROCESSING>COMPLETED 1 201"]] * 3)
    equal(list(rows[0]), NAMES)
    for row in rows:
        equal((row["route"], row["answer"]), ("charges", None))


@test
def an_answer_that_the_topic_does_not_take_is_left_out(bench):
    upstream, config, ledger = begin(
        bench, answer(201, b"x" * 800000), answer=True)
    config["admin"] = {"listen": "127.0.0.1:0"}
    gateway = bench.serve(config)
    pay(gateway, 0, 2)
    ledger.wait_whole()
    # So that its two events are in one transaction, the small one first.
    equal(Admin(gateway).send("POST", "/relays/ledger/pause").status, 200)
    gateway.wait_for_log("relay_paused")
    upstream.reply = answer(201, b"\xff" * 900000)  # base64: 1.2 MB
    pay(gateway, 2, 1)
    equal(Admin(gateway).send("POST", "/relays/ledger/resume").status, 200)
    upstream.reply = answer(201, b"small")
    pay(gateway, 3, 1)
    bodies = sorted(len((row["answer"] or {}).get("body", ""))
                    for row in ledger.wait_whole()
                    if row["to"] == "COMPLETED")
    equal(bodies, [0, 5, 800000, 800000])
    # What was aborted is there for those who do not care.
    assert len(ledger.rows(committed=False)) > ledger.count()


@test
def as_many_shards_as_may_be_have_their_place(bench):
    upstream, config, ledger = begin(bench, store={"shards": 128})
    gateway = bench.serve(config)
    pay(gateway, 0, 300)
    equal(len(ledger.wait_whole()), 600)
    eventually(lambda: ledger.read() == 600, "it stands behind all")
    gateway.stop()
    gateway = bench.serve(config)
    pay(gateway, 300, 300)
    equal(len(ledger.wait_whole()), 1200)


@test
def operators_see_it_and_pause_it(bench):
    upstream, config, ledger = begin(bench)
    config["admin"] = {"listen": "127.0.0.1:0"}
    gateway = bench.serve(config)
    admin = Admin(gateway)
    pay(gateway, 0, 5)
    ledger.wait_whole()

    def seen():
        found, = admin.get("/relays")["relays"]
        return found
    eventually(lambda: seen()["events"] == 10, "10 are counted")
    found = seen()
    equal([found[name] for name in (
        "name", "kind", "broker", "topic", "runs", "up", "lag", "lost")],
        ["ledger", "kafka", "events", ledger.place, True, True, 0, 0])
    equal(admin.send("POST", "/relays/ledger/pause").status, 200)
    gateway.wait_for_log("relay_paused")
    pay(gateway, 5, 5)
    eventually(lambda: seen()["lag"] == 10, "10 wait")
    equal(ledger.count(), 10)
    equal(admin.send("POST", "/relays/ledger/resume").status, 200)
    equal(len(ledger.wait_whole()), 20)


# --- where it goes on --------------------------------------------------------

@test
def it_goes_on_where_it_stands_after_a_restart(bench):
    upstream, config, ledger = begin(bench)
    for turn in range(3):
        gateway = bench.serve(config)
        pay(gateway, 20 * turn, 20)
        equal(len(ledger.wait_whole()), 40 * (turn + 1))
        gateway.stop()


@test
def two_relays_may_share_a_topic(bench):
    upstream, config, ledger = begin(bench, states=["COMPLETED"])
    topic_relay(config, ledger.kafka, ledger.place, "others",
                states=["PROCESSING"])
    gateway = bench.serve(config)
    pay(gateway, 0, 10)
    equal(len(ledger.wait_whole(stories=False)), 20)


# --- gateways that die -------------------------------------------------------

@test
def another_gateway_takes_over_from_one_that_is_killed(bench):
    upstream, config, ledger = begin(bench)
    one = bench.serve(named(config, "one"))
    one.wait_for_log("relay_up")
    other = bench.serve(named(config, "other"))
    for turn in range(TURNS):
        task = bench.background(pay, other, 100 * turn, 100)
        ledger.wait_for(200 * turn + 1)
        one.kill()
        other.wait_for_log("relay_begins")
        task.result()
        ledger.wait_whole()
        one, other = other, bench.serve(
            named(config, "one" if turn % 2 == 0 else "other"))
    pay(one, 300, 50)
    equal(len(ledger.wait_whole()), 200 * TURNS + 100)


@test
def what_is_in_a_transaction_of_one_that_is_killed_is_brought_once(bench):
    """It dies while nothing can be committed."""
    kafka = bench.own_kafka()
    upstream, config, ledger = begin(bench, kafka=kafka)
    one = bench.serve(named(config, "one"))
    one.wait_for_log("relay_up")
    other = bench.serve(named(config, "other"))
    for turn in range(TURNS):
        kafka.freeze()
        pay(other, 100 * turn, 100)
        one.wait_for_log("relay_down")
        kafka.thaw()
        one.kill()
        other.wait_for_log("relay_begins")
        ledger.wait_whole()
        one, other = other, bench.serve(
            named(config, "one" if turn % 2 == 0 else "other"))
    equal(len(ledger.wait_whole()), 200 * TURNS)


@test
def a_gateway_that_was_frozen_is_fenced(bench):
    upstream, config, ledger = begin(bench)
    one = bench.serve(named(config, "one"))
    one.wait_for_log("relay_up")
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
    eventually(lambda: ledger.read() == 480, "it stands behind all")


@test
def who_is_fenced_gives_its_turn_back_and_begins_again(bench):
    upstream, config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, 0, 20)
    ledger.wait_whole()
    thief = confluent_kafka.Producer(ledger.kafka.settings(
        transactional_id=ledger.groups()[0]))
    thief.init_transactions(START_S)
    pay(gateway, 20, 20)
    gateway.wait_for_log("relay_fenced")
    equal(len(ledger.wait_whole()), 80)


# --- brokers that die --------------------------------------------------------

@test
def a_broker_may_be_killed_and_come_back(bench):
    upstream, config, ledger = begin(bench, kafka=bench.own_kafka())
    gateway = bench.serve(config)
    gateway.wait_for_log("relay_up")
    for turn in range(TURNS):
        seen = len(gateway.events)
        task = bench.background(pay, gateway, 200 * turn, 200)
        ledger.wait_for(400 * turn + 50)
        ledger.kafka.kill()
        gateway.wait_for_log("relay_down", seen)
        task.result()
        ledger.kafka.start()
        gateway.wait_for_log("relay_up", seen, timeout=START_S)
        ledger.wait_whole(START_S)
    equal(len(ledger.wait_whole()), 400 * TURNS)


@test
def a_broker_that_is_killed_while_nothing_is_put_is_said(bench):
    upstream, config, ledger = begin(bench, kafka=bench.own_kafka())
    gateway = bench.serve(config)
    gateway.wait_for_log("relay_up")
    ledger.kafka.kill()
    line = gateway.wait_for_log("relay_down", timeout=START_S)
    # Which of the two librdkafka tells first is its own affair.
    assert ("refused" in line["error"] or
            line["error"] == "no broker answers"), line
    seen = len(gateway.events)
    ledger.kafka.start()
    gateway.wait_for_log("relay_up", seen, timeout=START_S)
    pay(gateway, 0, 10)
    equal(len(ledger.wait_whole(START_S)), 20)


@test
def a_broker_may_be_away_at_the_start(bench):
    upstream, config, ledger = begin(bench, kafka=bench.own_kafka())
    ledger.kafka.kill()
    gateway = bench.serve(config)
    pay(gateway, 0, 20)
    gateway.wait_for_log("relay_down", timeout=START_S)
    ledger.kafka.start()
    equal(len(ledger.wait_whole(START_S)), 40)


@long_test
def a_leader_and_a_coordinator_that_die_are_replaced(bench):
    upstream, config, ledger = begin(bench, kafka=bench.own_kafka(3))
    gateway = bench.serve(config)
    gateway.wait_for_log("relay_up", timeout=START_S)
    for turn, find in enumerate((
            lambda: ledger.kafka.leader(ledger.place),
            lambda: ledger.kafka.coordinator(ledger.groups()[0]),
            lambda: ledger.kafka.leader("__transaction_state"))):
        task = bench.background(pay, gateway, 200 * turn, 200)
        ledger.wait_for(400 * turn + 50, START_S)
        node = find()
        node.kill()
        task.result()
        ledger.wait_whole(START_S)
        node.start()
    equal(len(ledger.wait_whole()), 1200)


def shown(gateway):
    found, = Admin(gateway).get("/relays")["relays"]
    return found


@test
def a_topic_that_is_not_there_is_said_and_waited_for(bench):
    upstream, config, ledger = begin(bench)
    name = f"{ledger.place}.late"
    config["relays"]["ledger"]["topic"] = name
    config["admin"] = {"listen": "127.0.0.1:0"}
    gateway = bench.serve(config)
    pay(gateway, 0, 10)
    line = gateway.wait_for_log("relay_down", timeout=START_S)
    assert f'no topic "{name}"' in line["error"], line
    eventually(lambda: shown(gateway)["lag"] == 20, "it is behind by all")
    assert f'no topic "{name}"' in shown(gateway)["error"]
    late = TopicLedger(ledger.kafka, ledger.redis, SHARDS, name)
    equal(len(late.wait_whole(START_S)), 20)
    eventually(lambda: shown(gateway)["up"], "it is up", START_S)
    equal((shown(gateway)["lag"], shown(gateway).get("error")), (0, None))
    equal(len(gateway.find_log("relay_down")), 1)


@test
def a_relay_is_behind_by_what_came_since_its_topic_was_deleted(bench):
    upstream, config, ledger = begin(bench)
    config["admin"] = {"listen": "127.0.0.1:0"}
    gateway = bench.serve(config)
    pay(gateway, 0, 10)
    ledger.wait_whole()
    eventually(lambda: shown(gateway)["lag"] == 0, "it is behind by nothing")
    gateway.stop()
    ledger.kafka.delete_topic(ledger.place)
    gateway = bench.serve(config)
    pay(gateway, 10, 5)
    gateway.wait_for_log("relay_down", timeout=START_S)
    eventually(lambda: shown(gateway)["lag"] == 10, "it is behind by these")


# --- Redis -------------------------------------------------------------------

tap.main()
