# SPDX-License-Identifier: BSD-2-Clause
"""What a message's key, request and order are made of, and what of it goes
upstream."""

import base64
import json

from once import tap
from once.messages import Stream, as_text, ended, source
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import eventually

EVENT = {"ce_source": "/shop/ü", "ce_id": "a b"}
EVENT_KEY = "8:/shop/%C3%BC/3:a%20b"


def started(bench, upstream, members=None, idempotency=None):
    stream = Stream(bench.own_redis())
    config = bench.config(upstream, idempotency)
    source(config, stream, **(members or {}))
    return stream, bench.serve(config)


# --- the key -----------------------------------------------------------------

@each([
    ("a field", {}, {"Idempotency_Key": "k1", **EVENT, "webhook_id": "w1"},
     "k1"),
    ("the source and id of an event", {}, {**EVENT, "webhook_id": "w1"},
     EVENT_KEY),
    ("the id of a webhook, where an event has no id", {},
     {"ce_source": "/shop", "webhook_id": "w1"}, "w1"),
    ("its position", {}, {"ce_id": "a"}, "queue/charges/7-1"),
    ("its position, in spite of all else", {"key": "position"},
     {"idempotency_key": "k1", **EVENT, "webhook_id": "w1"},
     "queue/charges/7-1"),
])
def a_key_goes_upstream_and_comes_again_as_a_duplicate(
        bench, members, fields, key):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream, members)
    stream.add("7-1", body=b"{}", **fields)
    ended(gateway, 1, outcome="executed")
    equal([r.get("Idempotency-Key") for r in upstream.requests], [key])
    stream.redis("XGROUP", "SETID", stream.name, stream.group, "0")
    ended(gateway, 1, outcome="duplicate")
    again = gateway.ask(key, body=b"{}")
    equal((again.status, again.replayed), (201, True))
    stream.add("7-2", body=b"{}", **fields)
    if key.endswith("7-1"):  # another position is another message
        ended(gateway, 2, outcome="executed")
        equal(upstream.requests[1].get("Idempotency-Key"),
              key.replace("7-1", "7-2"))
    else:
        ended(gateway, 2, outcome="duplicate")
    equal(upstream.count(key=key), 1)
    equal(stream.pending(), [])


@test
def the_shortest_key_is_one_that_was_sent(bench):
    """A position is short at first, and longer later."""
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream, idempotency={"min_length": 22})
    stream.add("7-1", body=b"{}")
    ended(gateway, 1, outcome="executed")
    equal(gateway.ask("queue/charges/7-1").problem, "key-invalid")
    equal([r.get("Idempotency-Key") for r in upstream.requests],
          ["queue/charges/7-1"])


@test
def a_key_of_members_is_the_one_that_the_route_derives(bench):
    upstream, pointers = bench.upstream(), ["/order_id", "/action"]
    stream, gateway = started(
        bench, upstream, {"key": pointers},
        {"derive_key": pointers, "send_derived": True})
    body = b'{"order_id": 7, "action": "pay"}'
    stream.add(body=body)
    done = gateway.wait_for_log("message", outcome="executed")
    again = gateway.ask(body=body)
    equal((again.status, again.replayed), (201, True))
    equal(gateway.wait_for_log("request")["key_id"], done["key_id"])
    other = b'{"order_id": "7", "action": "pay"}'  # 7 is not "7"
    equal(gateway.ask(body=other).replayed, False)
    stream.add(body=other)
    gateway.wait_for_log("message", outcome="duplicate")
    first, second = (r.get("Idempotency-Key") for r in upstream.requests)
    assert first and second and first != second, (first, second)


# --- the request -------------------------------------------------------------

BINARY = {"request": {"cloudevents": "binary"}}


def event_fields(upstream):
    request, = upstream.requests
    return {name.lower(): value for name, value in request.fields
            if name.lower().startswith("ce-")}


@test
def an_event_goes_upstream_with_what_has_to_be_encoded(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream, BINARY)
    stream.add(body=b"{}", **EVENT, ce_type='paid "100%"',
               ce_time="2026-11-24 10:00:00Z")
    ended(gateway, 1, outcome="executed")
    equal(event_fields(upstream), {
        "ce-specversion": "1.0", "ce-id": "a%20b",
        "ce-source": "/shop/%C3%BC", "ce-type": "paid%20%22100%25%22",
        "ce-time": "2026-11-24%2010:00:00Z"})


@test
def what_is_no_event_goes_upstream_as_one_of_its_stream(bench):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream, BINARY)
    stream.add("1500000000123-4", body=b"{}")
    ended(gateway, 1, outcome="executed")
    equal(event_fields(upstream), {
        "ce-specversion": "1.0", "ce-id": "1500000000123-4",
        "ce-source": "/onceproxy/queue/charges",
        "ce-type": "/onceproxy/queue/charges",
        "ce-time": "2017-07-14T02:40:00.123Z"})


@each([
    ("a field of its own", {"body": {"field": "event"}},
     {"event": b'{"n":1}', "body": b"no"}, b'{"n":1}'),
    ("the field body", {}, {"event": b"no", "body": b'{"n":1}'}, b'{"n":1}'),
    ("all fields, where there is no such field", {}, {"n": "1", "m": "ü"},
     {"n": "1", "m": "ü"}),
])
def a_body_is_made_of(bench, request, fields, wanted):
    upstream = bench.upstream()
    stream, gateway = started(bench, upstream, {"request": request})
    stream.add(**fields)
    ended(gateway, 1, outcome="executed")
    sent = upstream.requests[0].body
    equal(json.loads(sent) if isinstance(wanted, dict) else sent, wanted)


# --- its order ---------------------------------------------------------------

@test
def messages_are_in_the_order_that_a_field_makes(bench):
    hold = Hold()

    def script(connection, request):
        if request.get("Idempotency-Key") == "a0":
            hold.wait()
        connection.send(answer())
    upstream = bench.upstream(script)
    stream, gateway = started(
        bench, upstream, {"order_by": {"header": "Account"}})
    for n in range(4):
        stream.add(body=b"{}", idempotency_key=f"a{n}", account="a")
    for n in range(4):
        stream.add(body=b"{}", idempotency_key=f"b{n}", ACCOUNT="b")
    hold.wait_arrived()
    ended(gateway, 4, outcome="executed")
    sent = [r.get("Idempotency-Key") for r in upstream.requests]
    sent.remove("a0")
    equal(sent, ["b0", "b1", "b2", "b3"])
    hold.release()
    ended(gateway, 8, outcome="executed")
    equal([r.get("Idempotency-Key") for r in upstream.requests][5:],
          ["a1", "a2", "a3"])
    eventually(lambda: stream.pending() == [], "all are acknowledged")


# --- a refusal ---------------------------------------------------------------

@test
def an_answer_that_is_no_text_is_in_the_dead_letter_all_the_same(bench):
    said = b"\xff\xfe\x00no"
    upstream = bench.upstream(answer(422, said))
    stream, gateway = started(bench, upstream)
    stream.add(body=b"{}", idempotency_key="k")
    ended(gateway, 1, outcome="refused")
    dead, = stream.entries("charges:dead")
    equal((base64.b64decode(dead["onceproxy-answer-base64"], validate=True),
           "onceproxy-answer" in dead, as_text(dead["onceproxy-reason"])),
          (said, False, "refused"))


tap.main()
