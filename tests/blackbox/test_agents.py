# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3: what agents that pay expect.  The presets acp and ucp by
the rules of their documents (src/tbl/presets.h names them), and JSON-RPC, whose
answers are known by the id of their request (replay_json)."""

import json

from once import http, tap
from once.admin import Admin
from once.gateway import command
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered, refused_port

TENANT = ("Authorization", "Bearer alice")
UUID = "550e8400-e29b-41d4-a716-446655440000"
COMPLETE = "/checkout_sessions/{}/complete"


def agent(bench, preset, reply=None, redis=None, upstream=None, **members):
    """An API of checkouts, and a gateway in front of it."""
    upstream = upstream or bench.upstream(reply)
    config = bench.config(upstream, {"preset": preset, **members},
                          redis=redis)
    config["routes"] = [{"path": "/*", "methods": ["POST", "PUT"],
                         "upstream": "api",
                         "idempotency": {"preset": preset, **members}}]
    return upstream, bench.serve(config)


def post(gateway, key=UUID, body=b'{"amount":1}', path=COMPLETE.format(1),
         fields=(TENANT,), method="POST"):
    fields = [*fields, ("Content-Type", "application/json")]
    if key is not None:
        fields.append(("Idempotency-Key", key))
    return gateway.send(http.build(method, path, fields, body))


def says_acp(got, status, code, kind="invalid_request"):
    """Exactly the members of the document's Error."""
    body = got.json()
    assert body.pop("message"), body
    equal((got.status, body), (status, {"type": kind, "code": code}))
    equal(got.get("Content-Type"), "application/json")


def says_ucp(got, status, code):
    equal((got.status, got.json()["code"]), (status, code))
    assert got.json()["content"], got.body


# --- ACP: rfcs/rfc.agentic_checkout.md ---

@test
def acp_6_1_a_key_is_required(bench):
    upstream, gateway = agent(bench, "acp")
    got = post(gateway, key=None)
    says_acp(got, 400, "idempotency_key_required")
    equal(got.all("Idempotency-Key"), [])
    equal(upstream.count(), 0)


@test
def acp_6_1_a_key_is_any_text_of_255_characters(bench):
    upstream, gateway = agent(bench, "acp")
    equal(post(gateway, "k" * 255).status, 201)
    says_acp(post(gateway, "k" * 256), 400, "key-invalid")
    equal(upstream.count(), 1)


@test
def acp_6_1_keys_belong_to_identity_and_path(bench):
    """Another spelling of a path is the same endpoint."""
    upstream, gateway = agent(bench, "acp")
    for path, fields in ((COMPLETE.format(1), [TENANT]),
                         (COMPLETE.format(2), [TENANT]),
                         ("/checkout_sessions", [TENANT]),
                         (COMPLETE.format(1), [(TENANT[0], "Bearer bob")])):
        got = post(gateway, path=path, fields=fields)
        equal((got.status, got.replayed), (201, False), path)
    for path in (COMPLETE.format(1) + "/", "/checkout_sessions/./1//complete",
                 "/checkout%5Fsessions/1/complete"):
        equal(post(gateway, path=path).replayed, True, path)
    equal(upstream.count(), 4)


@each([("the order of members", b'{"b":[1,2],"a":null}', True),
       ("trailing zeros", b'{"a":null,"b":[1.0,2.00]}', True),
       ("null and absent", b'{"b":[1,2]}', False),
       ("the order of an array", b'{"a":null,"b":[2,1]}', False),
       ("a member of an extension", b'{"a":null,"b":[1,2],"c":1}', False)])
def acp_6_2_bodies_are_compared_as_json(bench, body, same):
    upstream, gateway = agent(bench, "acp")
    post(gateway, body=b'{"a": null, "b": [1, 2]}')
    got = post(gateway, body=body)
    if same:
        equal((got.status, got.replayed), (201, True))
    else:
        says_acp(got, 422, "idempotency_conflict")
    equal(upstream.count(), 1)


@test
def acp_6_2_header_fields_are_not_compared(bench):
    upstream, gateway = agent(bench, "acp")
    post(gateway, fields=[TENANT, ("API-Version", "2026-01-16")])
    equal(post(gateway, fields=[TENANT, ("Request-Id", "r2")]).replayed, True)
    equal(upstream.count(), 1)


@test
def acp_6_3_a_retry_has_the_first_answer_and_a_mark(bench):
    upstream, gateway = agent(bench, "acp")
    first, again = post(gateway), post(gateway)
    equal((again.status, again.body, again.get("Idempotent-Replayed")),
          (first.status, first.body, "true"))
    equal(upstream.count(), 1)


@test
def acp_6_4_what_is_in_flight_is_409_with_a_time_to_come_back(bench):
    upstream, gateway = agent(bench, "acp")
    hold = upstream.hold()
    first = bench.background(post, gateway)
    hold.wait_arrived()
    got = post(gateway)
    says_acp(got, 409, "idempotency_in_flight")
    assert int(got.get("Retry-After")) >= 1, got.fields
    hold.release()
    equal(first.result().status, 201)


@each([(str(status), status) for status in (500, 501, 502, 503, 504, 599)])
def acp_6_5_a_5xx_is_not_stored_and_not_paid_again(bench, status):
    """The API may have executed it: what a retry may not be is a second
    payment, or the stored 5xx."""
    upstream, gateway = agent(bench, "acp", answer(status, b"broken"))
    equal(post(gateway).status, status)
    upstream.reply = answer()
    got = post(gateway)
    says_acp(got, 409, "idempotency_in_flight")
    assert int(got.get("Retry-After")) >= 1, got.fields
    equal(upstream.count(), 1)


@test
def acp_6_5_what_is_unknown_is_no_5xx(bench):
    """Or its agent would take it for a payment that did not happen."""
    upstream, gateway = agent(bench, "acp", close_unanswered)
    for _ in range(2):
        got = post(gateway)
        says_acp(got, 409, "idempotency_in_flight")
        assert int(got.get("Retry-After")) >= 1, got.fields
    equal(upstream.count(), 1)


@test
def acp_6_5_what_was_paid_and_is_not_stored_yet_is_no_5xx(bench):
    redis = bench.own_redis()
    upstream, gateway = agent(bench, "acp", redis=redis, on_unknown="retry")
    hold = upstream.hold()
    first = bench.background(post, gateway)
    hold.wait_arrived()
    redis.kill()
    hold.release()
    got = first.result()
    says_acp(got, 409, "idempotency_in_flight")
    assert int(got.get("Retry-After")) >= 1, got.fields
    equal(upstream.count(), 1)


@test
def acp_6_5_what_was_not_sent_is_a_5xx_and_then_new(bench):
    keep, port = refused_port()
    _, gateway = agent(bench, "acp", upstream=f"http://127.0.0.1:{port}")
    for _ in range(2):
        says_acp(post(gateway), 502, "upstream-unreachable",
                 "service_unavailable")
    keep.close()


@test
def acp_3_1_all_answers_repeat_the_key(bench):
    """As it was sent, once, also where the API does so itself."""
    echo = answer(fields=[("idempotency-key", "of another")])
    upstream, gateway = agent(bench, "acp", echo)
    for key in (UUID, '"quoted"'):
        for body in (b'{"amount":1}', b'{"amount":1}', b'{"amount":2}'):
            equal(post(gateway, key, body).all("Idempotency-Key"), [key])
    upstream.reply = close_unanswered
    equal(post(gateway, "lost").all("Idempotency-Key"), ["lost"])


# --- UCP: docs/specification/signatures.md, Replay Protection ---

@test
def ucp_keys_have_22_characters_at_least(bench):
    upstream, gateway = agent(bench, "ucp")
    says_ucp(post(gateway, "k" * 21), 400, "key-invalid")
    equal(post(gateway, "k" * 22).status, 201)
    equal(post(gateway).status, 201)
    says_ucp(post(gateway, key=None), 400, "key-missing")
    equal(upstream.count(), 2)


@test
def ucp_keys_belong_to_client_and_operation(bench):
    upstream, gateway = agent(bench, "ucp")
    for path, field in ((COMPLETE.format(1), TENANT),
                        (COMPLETE.format(1), ("X-API-Key", "bob")),
                        ("/checkout_sessions/1/cancel", TENANT)):
        equal(post(gateway, path=path, fields=[field]).replayed, False)
        equal(post(gateway, path=path, fields=[field]).replayed, True)
    says_ucp(post(gateway, fields=[]), 400, "scope-missing")
    equal(upstream.count(), 3)


@each([("the order of members", b'{"b":2,"a":1}'),
       ("white space", b'{"a": 1,"b":2}'), ("a value", b'{"a":1,"b":3}')])
def ucp_the_bytes_of_the_body_are_compared(bench, body):
    upstream, gateway = agent(bench, "ucp")
    first = post(gateway, body=b'{"a":1,"b":2}')
    says_ucp(post(gateway, body=body), 409, "idempotency_conflict")
    again = post(gateway, body=b'{"a":1,"b":2}')
    equal((again.status, again.body, again.replayed),
          (201, first.body, True))
    equal(upstream.count(), 1)


@test
def ucp_nothing_passes_while_the_store_is_away(bench):
    redis = bench.own_redis()
    upstream, gateway = agent(bench, "ucp", redis=redis)
    redis.kill()
    got = post(gateway)
    says_ucp(got, 503, "store-unavailable")
    assert int(got.get("Retry-After")) >= 1, got.fields
    equal(upstream.count(), 0)


@test
def ucp_explain_says_503_of_what_is_in_flight(bench):
    config = bench.config("http://127.0.0.1:9", {"preset": "ucp"},
                          redis="redis://127.0.0.1:9")
    done = command("check", "--explain", "-c",
                   bench.file(json.dumps(config).encode()))
    assert "    in flight  503\n" in done.stdout, done.stdout


@test
def ucp_nothing_but_another_body_is_409(bench):
    """Or its agent would take another key for what may have been paid."""
    upstream, gateway = agent(bench, "ucp")
    hold = upstream.hold()
    first = bench.background(post, gateway)
    hold.wait_arrived()
    got = post(gateway)
    says_ucp(got, 503, "in-flight")
    assert int(got.get("Retry-After")) >= 1, got.fields
    hold.release()
    first.result()
    upstream.reply = close_unanswered
    for _ in range(2):
        says_ucp(post(gateway, "lost" * 8), 504, "outcome-unknown")
    equal(upstream.count(), 2)


# --- both ---

@each([("acp 6.6", "acp", 24), ("ucp", "ucp", 48)])
def answers_are_kept_as_long_as_there(bench, preset, hours):
    _, gateway = agent(bench, preset)
    post(gateway)
    key_id = gateway.wait_for_log("request", outcome="executed")["key_id"]
    left = [int(bench.redis("PTTL", name)) for name in bench.redis.keys()
            if key_id in str(name)]
    assert len(left) == 1 and 0 <= hours * 3600e3 - left[0] < 600e3, left


@test
def a_person_finds_a_key_by_its_path(bench):
    config = bench.config(bench.upstream(), {"preset": "ucp"},
                          admin={"listen": "127.0.0.1:0"})
    gateway = bench.serve(config)
    equal(post(gateway, path="/v1/charges").status, 201)
    got = Admin(gateway).post("/keys/lookup", {
        "key": UUID, "namespace": "%2Fv1%2Fcharges",
        "scope": dict([TENANT])})
    equal((got.status, got.json()["state"]), (200, "COMPLETED"))


# --- JSON-RPC ---

PAY = '{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":' \
      '"pay","arguments":{{"order":"{}"}}}}}}'
MCP = {"derive_key": ["/params/arguments/order"], "replay_json": ["/id"],
       "fingerprint": {"ignore": ["/id"]}}


def rpc(gateway, number, order="o1", path="/v1/charges"):
    return post(gateway, None, PAY.format(number, order).encode(), path)


def result(number, more=""):
    return f'{{"jsonrpc": "2.0", "id" : {number} ,"result":{{}}{more}}}'


@each([("a number", "7"), ("a long one", "9007199254740993"),
       ("a text", '"7"'), ("one with escapes", r'"a\"\\\u00e9"'),
       ("null", "null"), ("as long as may be", '"' + "x" * 254 + '"')])
def a_replay_has_the_id_of_its_own_request(bench, number):
    upstream, gateway = bench.pair(answer(
        200, result(1).encode(), [("Content-Type", "application/json"),
                                  ("ETag", '"1"'), ("X-Kept", "yes"),
                                  ("Content-Digest", "sha-256=:AAAA:")]),
        idempotency=MCP)
    first = rpc(gateway, 1)
    equal((first.body, first.get("ETag")), (result(1).encode(), '"1"'))
    again = rpc(gateway, number)
    equal((again.body.decode(), again.replayed, again.get("X-Kept")),
          (result(number), True, "yes"))
    equal((again.all("ETag"), again.all("Content-Digest")), ([], []))
    equal(rpc(gateway, 1).body, first.body)
    equal(upstream.count(), 1)


@each([("a list", "[7]"), ("an object", '{"n":7}'),
       ("too long", '"' + "x" * 255 + '"')])
def what_is_no_short_value_is_not_taken(bench, number):
    upstream, gateway = bench.pair(answer(200, result(1).encode()),
                                   idempotency=MCP)
    rpc(gateway, 1)
    got = rpc(gateway, number)
    equal((got.body, got.replayed), (result(1).encode(), True))
    equal(upstream.count(), 1)


@each([("an event stream", b'event: message\ndata: {"id":1}\n\n'),
       ("a batch", b'[{"id":1}]'), ("no such member", b'{"ID":1}'),
       ("an object there", b'{"id":{"n":1}}'), ("twice", b'{"id":1,"id":2}'),
       ("nothing", b"")])
def another_answer_is_replayed_byte_for_byte(bench, body):
    _, gateway = bench.pair(
        answer(200, body, [("ETag", '"1"')]), idempotency=MCP)
    rpc(gateway, 1)
    got = rpc(gateway, 2)
    equal((got.body, got.get("ETag"), got.replayed), (body, '"1"', True))


@test
def several_members_are_taken_wherever_they_are(bench):
    _, gateway = bench.pair(
        answer(200, b'{"id":1,"m":{"a/b":["x",true]}}'), idempotency={
            "replay_json": ["/m/a~1b/1", "/id"],
            "fingerprint": {"ignore": ["/id", "/m/a~1b/1"]}})
    gateway.ask("k", body=b'{"m":{"a/b":[0,"long enough"]},"id":1}')
    got = gateway.ask("k", body=b'{"id":22,"m":{"a/b":[0,null]}}')
    equal(got.body, b'{"id":22,"m":{"a/b":["x",null]}}')


@test
def each_retry_that_waited_has_its_own_id(bench):
    """Also where Redis, and not the gateway's memory, has the answer."""
    upstream, gateway = bench.pair(
        answer(200, result(0).encode()), cache={"size": 0},
        idempotency={**MCP, "in_flight": "wait"})
    hold = upstream.hold()
    all_of_them = [bench.background(rpc, gateway, number)
                   for number in range(5)]
    hold.wait_arrived()
    hold.release()
    got = [task.result() for task in all_of_them]
    for number, one in enumerate(got):
        if one.replayed:
            equal(one.body, result(number).encode())
    equal(sum(one.replayed for one in got), 4)
    equal(upstream.count(), 1)


def complaint(bench, **members):
    config = bench.config("http://127.0.0.1:9", members,
                          redis="redis://127.0.0.1:9")
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(done.returncode, 1, done.stdout)
    return done.stdout


@each([("not ignored", {"replay_json": ["/id"]}, "fingerprint.ignore"),
       ("a longest key below the shortest",
        {"min_length": 22, "max_length": 21}, "max_length"),
       ("a whole path in a scope", {"scope": [{"path": "*"}]}, "{*}")])
def check_refuses_what_makes_no_sense(bench, members, words):
    said = complaint(bench, **members)
    assert words in said, said


tap.main()
