# SPDX-License-Identifier: BSD-2-Clause
"""What the file may say of relays, and how errors are shown."""

import copy
import json

from once import tap
from once.gateway import command, is_without
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
    ("a broker of Redis", "/broker", {"broker": "queue"}, "is a Redis"),
    ("a member that is none", "/topic", {"topic": "t"},
     "there is no such member"),
    ("a name that is too long", "/table", {"table": "x" * 55}, "too long"),
    ("the name of a position", "/table", {"table": "a_position"},
     "must not end in"),
    ("a name with two dots", "/table", {"table": "a.b.c"}, "SCHEMA.TABLE"),
    ("what a source reads", "/table", {"table": "outbox"}, "the source"),
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
