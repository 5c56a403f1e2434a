# SPDX-License-Identifier: BSD-2-Clause
"""What the previous version has written is still read: records of each state,
and journal entries of each kind.  version_before.json has the bytes that it
wrote for the requests made here, with the name of each record."""

import base64
import json
import os

from once import tap
from once.demo import source
from once.tap import each, equal, test
from once.upstream import answer

with open(source("tests/blackbox/version_before.json"),
          encoding="utf-8") as file:
    BEFORE = json.load(file)
TENANT = "Bearer token-of-tenant-a"
BODY = b'{"amount":1000,"currency":"eur"}'
KEY = {"id": "2026-1", "key": base64.b64encode(b"1" * 32).decode()}
SMALL = b'{"id":"ch_1","paid":true}'
LARGE = (b'{"paid":"' + b"four hundred and nineteen " * 200 + b'"}')
FIELDS = [("X-Receipt", "r-17"), ("Content-Type", "application/json"),
          ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
DAY_MS = "86400000"


def put(redis, name, value):
    redis("SET", name, base64.b64decode(value), "PX", DAY_MS)


def serve(bench, **members):
    upstream = bench.upstream(answer(201, b"new"))
    return upstream, bench.gateway(
        upstream, {"retention": "30d"}, redis=bench.redis,
        store={"encryption_keys": [KEY]}, **members)


def found(bench, name):
    """The answer to a retry, of a gateway that finds that record."""
    record = BEFORE["records"][name]
    put(bench.redis, record["name"], record["value"])
    upstream, gateway = serve(bench)
    return upstream, gateway, retry(gateway, name)


def retry(gateway, name):
    return gateway.ask("key-" + name, body=BODY, tenant=TENANT)


def is_replayed(reply, body):
    equal((reply.status, reply.body, reply.replayed), (201, body, True))
    for field in FIELDS:
        assert field in reply.fields, (field, reply.fields)


@each([("as it is", "plain", SMALL), ("compressed", "compressed", LARGE),
       ("encrypted", "sealed", LARGE)])
def a_stored_answer_is_replayed(bench, name, body):
    upstream, _, reply = found(bench, name)
    is_replayed(reply, body)
    equal(upstream.count(), 0)


@each([(name, name, problem) for name, problem in (
    ("not-kept", "response-not-kept"), ("unknown", "outcome-unknown"),
    ("failed", "attempts-exhausted"), ("processing", "outcome-unknown"))])
def what_is_no_answer_stays_what_it_was(bench, name, problem):
    upstream, _, reply = found(bench, name)
    equal((reply.status, reply.problem), (409, problem))
    equal(upstream.count(), 0)


@test
def a_released_key_remembers_its_attempt(bench):
    upstream, _, reply = found(bench, "released")
    equal((reply.status, reply.body), (201, b"new"))
    equal(upstream.requests[0].get("Idempotency-Attempt"), "2")


def delivered(bench, name):
    """A gateway that adopts and delivers that journal."""
    journal = BEFORE["journals"][name]
    for record, value in journal["record"].items():
        put(bench.redis, record, value)
    state_dir = bench.folder()
    folder = os.path.join(state_dir, "journal")
    os.mkdir(folder, 0o700)
    with open(os.path.join(folder, journal["file"]), "wb") as out:
        out.write(base64.b64decode(journal["bytes"]))
    upstream, gateway = serve(bench, state_dir=state_dir)
    gateway.wait_for_log("journal_adopted", entries=1, damaged=0, cut_bytes=0)
    gateway.wait_for_log("journal_delivered")
    return upstream, retry(gateway, name)


@each([("as it is", "journal-complete", SMALL),
       ("encrypted", "journal-sealed", LARGE)])
def a_journaled_answer_is_delivered(bench, name, body):
    upstream, reply = delivered(bench, name)
    is_replayed(reply, body)
    equal(upstream.count(), 0)


@test
def a_journaled_release_is_delivered(bench):
    upstream, reply = delivered(bench, "journal-release")
    equal((reply.status, reply.body), (201, b"new"))
    equal(upstream.requests[0].get("Idempotency-Attempt"), "2")


@test
def a_journaled_unknown_is_delivered(bench):
    upstream, reply = delivered(bench, "journal-unknown")
    equal((reply.status, reply.problem), (409, "outcome-unknown"))
    equal(upstream.count(), 0)


tap.main()
