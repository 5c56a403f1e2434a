# SPDX-License-Identifier: BSD-2-Clause
"""What the file may say of relays, and how errors are shown."""

import copy
import json

from once import tap
from once.gateway import command, is_without
from once.skip import Skip
from once.tap import each, equal, test

GOOD = {
    "listen": ["127.0.0.1:0"],
    "upstreams": {"payments": "http://127.0.0.1:9000"},
    "routes": [
        {"name": "charges", "methods": ["POST"], "path": "/v1/charges",
         "upstream": "payments", "idempotency": {"scope": []}},
        {"name": "rest", "path": "/*", "upstream": "payments"},
    ],
    "brokers": {"shop": {"postgres": "postgresql://h/shop"},
                "same": {"postgres": "postgresql://h/shop"},
                "queue": {"redis": "redis://h"}},
    "sources": {"outbox": {
        "broker": "shop", "table": "outbox", "results": {"table": "done"},
        "request": {"path": "/v1/charges", "method": "POST"}}},
    "relays": {"ledger": {"broker": "shop", "table": "ledger"}},
}


def check(bench, config):
    """The errors as (pointer, words)."""
    done = command("check", "-c", bench.file(json.dumps(config).encode()),
                   "--json")
    return [(e["pointer"], e["words"])
            for e in json.loads(done.stdout)["errors"]]


def changed(**members):
    """GOOD with other members of its relay; None: without it."""
    config = copy.deepcopy(GOOD)
    relay = config["relays"]["ledger"]
    for name, value in members.items():
        relay[name] = value
        if value is None:
            del relay[name]
    return config


def need_kafka():
    if is_without("kafka"):
        raise Skip("built without Kafka")


@each([
    ("the shortest relay", {}),
    ("a schema", {"table": "shop.ledger"}),
    ("a choice", {"routes": ["charges"], "states": ["FAILED", "NONE"],
                  "answer": True}),
    ("a table as long as PostgreSQL allows", {"table": "x" * 54}),
])
def check_accepts(bench, members):
    equal(check(bench, changed(**members)), [])


@each([
    ("no broker", "", {"broker": None}, '"broker" is missing'),
    ("no table", "", {"table": None}, '"table" is missing'),
    ("an unknown broker", "/broker", {"broker": "x"}, "no broker is named"),
    ("a broker of Redis", "/broker", {"broker": "queue"},
     "is a broker of Redis"),
    ("a topic instead of a table", "/topic", {"table": None, "topic": "t"},
     'for a broker of Kafka; "shop" is one of PostgreSQL, where it is "table"'),
    ("a member that is none", "/stream", {"stream": "t"},
     "there is no such member"),
    ("a name that is too long", "/table", {"table": "x" * 55}, "too long"),
    ("the name of a position", "/table", {"table": "a_position"},
     "must not end in"),
    ("a name with two dots", "/table", {"table": "a.b.c"}, "SCHEMA.TABLE"),
    ("what a source reads", "/table", {"table": "outbox"}, "the source"),
    ("what a source reads, with its schema", "/table",
     {"table": "public.outbox"}, "the source"),
    ("what a source reads of the same database", "/table",
     {"broker": "same", "table": "outbox"}, "the source"),
    ("a source's results", "/table", {"table": "done"}, "the source"),
    ("a source's dead letters", "/table", {"table": "outbox_dead"},
     "the source"),
    ("a route that is none", "/routes/1", {"routes": ["charges", "x"]},
     "no idempotent route"),
    ("a route without keys", "/routes/0", {"routes": ["rest"]},
     "no idempotent route"),
    ("no routes", "/routes", {"routes": []}, "must not be empty"),
    ("a state that is none", "/states/0", {"states": ["DONE"]}, ""),
    ("no states", "/states", {"states": []}, "must not be empty"),
    ("an answer that is no boolean", "/answer", {"answer": "yes"}, ""),
])
def check_refuses(bench, pointer, members, words):
    errors = check(bench, changed(**members))
    equal([p for p, _ in errors], ["/relays/ledger" + pointer])
    assert words in errors[0][1], errors


# --- of a broker of Kafka ----------------------------------------------------

def with_topic(**members):
    """GOOD with a relay to a topic, and a source that reads others."""
    config = changed()
    config["brokers"]["events"] = {"kafka": ["h:9092"]}
    config["sources"]["orders"] = {
        "broker": "events", "topics": ["orders", "refunds"],
        "results": {"topic": "done"},
        "request": {"path": "/v1/charges", "method": "POST"}}
    config["relays"]["ledger"] = {
        "broker": "events", "topic": "outcomes", **members}
    if members.get("topic", "") is None:
        del config["relays"]["ledger"]["topic"]
    return config


@test
def check_accepts_a_relay_to_a_topic(bench):
    need_kafka()
    equal(check(bench, with_topic(answer=True, routes=["charges"])), [])


@each([
    ("no topic", "", {"topic": None}, '"topic" is missing'),
    ("a table too", "/table", {"table": "t"}, "only a broker of PostgreSQL"),
    ("a table instead of a topic", "/table", {"topic": None, "table": "t"},
     '"events" is one of Kafka, where it is "topic"'),
    ("a name that is none", "/topic", {"topic": "a b"}, "letters, digits"),
    ("an empty name", "/topic", {"topic": ""}, ""),
    ("a topic that is no text", "/topic", {"topic": ["a"]}, ""),
    ("what a source reads", "/topic", {"topic": "refunds"}, "the source"),
    ("a source's results", "/topic", {"topic": "done"}, "the source"),
    ("a source's dead letters", "/topic", {"topic": "orders.dead"},
     "the source"),
    ("secrets", "/secrets", {"secrets": ["whsec_" + "QUFB" * 11]},
     "only a webhook"),
])
def check_refuses_of_a_topic(bench, pointer, members, words):
    need_kafka()
    errors = check(bench, with_topic(**members))
    equal([p for p, _ in errors], ["/relays/ledger" + pointer])
    assert words in errors[0][1], errors


@test
def a_topic_of_a_broker_of_postgresql_is_refused(bench):
    equal([(p, "only a broker of Kafka" in w) for p, w in
           check(bench, changed(topic="t"))],
          [("/relays/ledger/topic", True)])


@test
def without_kafka_check_says_so(bench):
    if not is_without("kafka"):
        raise Skip("built with Kafka")
    errors = check(bench, with_topic())
    assert ("/brokers/events/kafka", "built without Kafka") in errors, errors


@each([("a list", []), ("a text", "x")])
def relays_are_an_object(bench, value):
    equal([p for p, _ in check(bench, dict(GOOD, relays=value))], ["/relays"])


@test
def its_name_is_plain(bench):
    config = dict(GOOD, relays={"a/b": GOOD["relays"]["ledger"]})
    equal([p for p, _ in check(bench, config)], ["/relays/a~1b"])


@test
def relays_switch_events_on(bench):
    def maxlen(config):
        file = bench.file(json.dumps(config).encode())
        shown = json.loads(
            command("check", "-c", file, "--explain", "--json").stdout)
        return shown["store"].get("events", {}).get("maxlen", 0)
    equal(maxlen(GOOD), 100000)
    equal(maxlen(dict(GOOD, store={"events": {"maxlen": 7}})), 7)
    equal(maxlen(dict(GOOD, relays={})), 0)


if is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
