# SPDX-License-Identifier: BSD-2-Clause
"""The dead letter of a message that is too large to be taken has all that the
message has, or says how much of that it has not."""

import json

from once import tap
from once.gateway import is_without
from once.messages import Stream, source
from once.postgres import Outbox, outbox_source, programs
from once.tap import equal, test

WAIT_S = 60
MANY = 5000  # fields; Lua puts 3,500 of them in one command
LONG = 17 * 1024 * 1024  # bytes; none as long is kept
tap.LIMIT_S = 120


@test
def fields_of_an_entry_that_are_left_out_are_counted(bench):
    upstream = bench.upstream()
    redis = bench.own_redis()
    stream = Stream(redis)
    config = bench.config(upstream)
    source(config, stream, name="outbox")
    gateway = bench.serve(config)
    fields = {f"f{n}": str(n) for n in range(MANY)}
    stream.add(**{"onceproxy-left-out": "7", **fields})

    def letters():
        return stream.entries("charges:dead")

    gateway.wait_for_log("message", reason="too-large", timeout=WAIT_S)
    letter, = letters()
    kept = [name for name in letter if name.startswith("f")]
    equal((len(kept), letter["onceproxy-reason"]), (3500, b"too-large"))
    equal(letter["onceproxy-left-out"], str(MANY - 3500).encode())
    stream.add(**{f"f{n}": "x" for n in range(3000)})
    gateway.wait_until(lambda: len(letters()) == 2, "both are", WAIT_S)
    whole = letters()[1]
    equal(len([name for name in whole if name.startswith("f")]), 3000)
    assert "onceproxy-left-out" not in whole, whole
    equal(upstream.count(), 0)


@test
def columns_of_a_row_that_are_too_large_are_kept(bench):
    if programs() is None or is_without("postgres"):
        raise tap.Skip("no PostgreSQL, or built without it")
    upstream = bench.upstream()
    outbox = Outbox(bench.postgres())
    config = bench.config(upstream)
    outbox_source(config, outbox)
    outbox.postgres(
        "INSERT INTO outbox (aggregateid, type, payload, headers) VALUES "
        "(repeat('e', 9000), 'charge', '{\"n\": 1}', json_build_object("
        f"'long', repeat('h', {LONG}), 'onceproxy-reason', 'mine', 'n', 7))")
    gateway = bench.serve(config)

    gateway.wait_for_log("message", reason="too-large", timeout=WAIT_S)
    letter, = outbox.postgres.rows(
        "SELECT length(entity) AS entity, type, headers, "
        "convert_from(payload, 'UTF8') AS payload FROM outbox_dead")
    equal((letter["entity"], letter["type"]), (9000, "charge"))
    equal(json.loads(letter["payload"]), {"n": 1})
    headers = letter["headers"]
    equal((len(headers["long"]), headers["n"]), (LONG, 7))
    equal((headers["onceproxy-reason"], headers["onceproxy-source"]),
          ("too-large", "outbox"))
    outbox.postgres("INSERT INTO outbox (aggregateid, type, payload, headers) "
                    f"VALUES ('a', 'b', '1', to_jsonb(repeat('h', {LONG})))")
    gateway.wait_until(lambda: outbox.unread() == [], "both are over", WAIT_S)
    equal(outbox.postgres(
        "SELECT length(headers->>'headers') FROM outbox_dead "
        "WHERE entity = 'a'"), [str(LONG + 2)])
    equal(upstream.count(), 0)


tap.main()
