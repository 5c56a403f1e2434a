# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, preset: the names, lengths, statuses and bodies that
clients of a well-known API count on (src/tbl/presets.h).  tests/node tries the
same with the clients themselves."""

import json
import re
import signal

from once import http, tap
from once.demo import source
from once.gateway import command, write
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered, refused_port

PAY = b'{"idempotency_key":"k-1","amount":1}'
OTHER = b'{"idempotency_key":"k-1","amount":2}'
TENANT = ("Authorization", "Bearer alice")

# Header of the key, longest key, retention.
NAMES = {
    "stripe": ("Idempotency-Key", 255, "1d"),
    "adyen": ("Idempotency-Key", 64, "31d"),
    "paypal": ("PayPal-Request-Id", 108, "45d"),
    "square": (None, None, "1d"),
    "ietf": ("Idempotency-Key", 255, "1d"),
}
PRESETS = [(name, name) for name in NAMES]
WITH_HEADER = [(name, name) for name in NAMES if name != "square"]
# The field that says whether to send the same again.
AGAIN = {"stripe": "Stripe-Should-Retry", "adyen": "transient-error"}


def rows(*answers):
    return [(row[0], *row) for row in answers]


def pay(gateway, preset, key="k-1", body=PAY, fields=(TENANT,)):
    """A payment as clients of that API send it."""
    header = NAMES[preset][0]
    fields = list(fields)
    if header is not None and key is not None:
        fields.append((header, f'"{key}"' if preset == "ietf" else key))
    return gateway.send(http.build("POST", "/v1/charges", fields, body))


def words(preset, got):
    """What clients of that API read of an answer."""
    body = got.json()
    if preset == "stripe":
        equal(body["error"]["message"], body["detail"])
        return body["error"]["type"], body["error"]["code"]
    if preset == "adyen":
        equal((body["status"], body["message"]), (got.status, body["detail"]))
        return body["errorType"], body["errorCode"]
    if preset == "paypal":
        equal(body["debug_id"], got.get("X-Request-Id"))
        equal((body["message"], body["details"][0]["description"]),
              (body["detail"], body["detail"]))
        return body["name"], body["details"][0]["issue"]
    if preset == "square":
        equal(body["errors"][0]["detail"], body["detail"])
        return body["errors"][0]["category"], body["errors"][0]["code"]
    return body["error"]["type"], body["error"]["code"]


def again(preset, got):
    """What it says of sending the same again; None: nothing."""
    return got.get(AGAIN[preset]) if preset in AGAIN else None


def check(preset, got, name, status, wanted, retry):
    """A problem document, which has the API's own words besides."""
    equal((got.status, got.problem), (status, name))
    document = got.json()
    equal(document["status"], status)
    assert document["title"] and document["detail"], document
    equal(document["retryable"], document["retry"] == "same-key")
    equal((words(preset, got), again(preset, got)), (wanted, retry))
    equal("error" in document, preset in ("stripe", "ietf"))


def in_table():
    with open(source("src/tbl/presets.h"), encoding="utf-8") as table:
        return re.findall(r'^PRESET\(\w+, "(\w+)"', table.read(), re.M)


@test
def these_are_all(bench):
    """The schema's are those that the program takes."""
    with open(source("etc/onceproxy.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    choice = schema["$defs"]["idempotency"]["properties"]["preset"]
    equal(choice["anyOf"][0]["enum"], in_table())
    equal([*NAMES, "acp", "ucp"], in_table())  # test_agents.py
    for name in in_table():
        config = bench.config("http://127.0.0.1:9", {"preset": name},
                              redis="redis://127.0.0.1:9")
        equal(shown(bench, config)["routes"][0]["idempotency"]["preset"],
              name)


# --- what each API has ---

@each(PRESETS)
def a_retry_is_the_first_answer_and_marked(bench, preset):
    upstream, gateway = bench.pair(idempotency={"preset": preset})
    first = pay(gateway, preset)
    equal((first.status, first.replayed), (201, False))
    second = pay(gateway, preset)
    equal((second.status, second.body, second.get("Idempotent-Replayed")),
          (201, first.body, "true"))
    equal(upstream.count(), 1)


@each(rows(
    ("stripe", 400, ("idempotency_error", "key-reused"), "false"),
    ("adyen", 422, ("validation", "key-reused"), "false"),
    ("paypal", 400, ("DUPLICATE_REQUEST_ID", "DUPLICATE_REQUEST_ID"), None),
    ("square", 400, ("INVALID_REQUEST_ERROR", "IDEMPOTENCY_KEY_REUSED"),
     None),
    ("ietf", 422, ("idempotency_error", "key-reused"), None)))
def another_request_with_the_key_is_refused(bench, preset, status, wanted,
                                            retry):
    upstream, gateway = bench.pair(idempotency={"preset": preset})
    pay(gateway, preset)
    check(preset, pay(gateway, preset, body=OTHER), "key-reused", status,
          wanted, retry)
    equal(upstream.count(), 1)


@each(rows(
    ("stripe", ("invalid_request_error", "idempotency_key_in_use"), "true"),
    ("adyen", ("validation", "704"), "true"),
    ("paypal", ("RESOURCE_CONFLICT", "PREVIOUS_REQUEST_IN_PROGRESS"), None),
    ("square", ("INVALID_REQUEST_ERROR", "CONFLICT"), None),
    ("ietf", ("idempotency_error", "in-flight"), None)))
def a_retry_while_the_first_runs_is_409(bench, preset, wanted, retry):
    upstream, gateway = bench.pair(idempotency={"preset": preset})
    hold = upstream.hold()
    first = bench.background(pay, gateway, preset)
    hold.wait_arrived()
    got = pay(gateway, preset)
    check(preset, got, "in-flight", 409, wanted, retry)
    assert int(got.get("Retry-After")) >= 1, got.fields
    hold.release()
    equal(first.result().status, 201)
    equal(pay(gateway, preset).replayed, True)
    equal(upstream.count(), 1)


@each(rows(
    ("stripe", ("invalid_request_error", "key-missing"), "false"),
    ("adyen", ("validation", "key-missing"), "false"),
    ("paypal", ("INVALID_REQUEST", "PAYPAL_REQUEST_ID_REQUIRED"), None),
    ("square", ("INVALID_REQUEST_ERROR", "MISSING_REQUIRED_PARAMETER"), None),
    ("ietf", ("idempotency_error", "key-missing"), None)))
def without_a_key_it_is_400(bench, preset, wanted, retry):
    upstream, gateway = bench.pair(idempotency={"preset": preset})
    check(preset, pay(gateway, preset, key=None, body=b'{"amount":1}'),
          "key-missing", 400, wanted, retry)
    equal(upstream.count(), 0)


@each(WITH_HEADER)
def a_key_may_be_as_long_as_there_and_no_longer(bench, preset):
    upstream, gateway = bench.pair(idempotency={"preset": preset})
    most = NAMES[preset][1]
    equal(pay(gateway, preset, "k" * most).status, 201)
    got = pay(gateway, preset, "k" * (most + 1))
    equal((got.status, got.problem), (400, "key-invalid"))
    equal(upstream.count(), 1)


@each(PRESETS)
def an_answer_is_kept_as_long_as_there(bench, preset):
    redis = bench.redis
    _, gateway = bench.pair(idempotency={"preset": preset})
    pay(gateway, preset)
    days = int(NAMES[preset][2][:-1])
    key_id = gateway.wait_for_log("request", outcome="executed")["key_id"]
    left = [int(redis("PTTL", name)) for name in redis.keys()
            if key_id in str(name)]
    assert len(left) == 1, left
    assert days * 86400e3 - 600e3 < left[0] <= days * 86400e3, left


@test
def the_drafts_keys_are_quoted(bench):
    upstream, gateway = bench.pair(idempotency={"preset": "ietf"})
    got = gateway.ask("bare")
    equal((got.status, got.problem), (400, "key-invalid"))
    equal(gateway.ask('"quoted"').status, 201)
    equal(upstream.count(), 1)


@test
def the_key_of_square_is_a_member_of_the_body(bench):
    upstream, gateway = bench.pair(idempotency={"preset": "square"})
    pay(gateway, "square")
    equal(pay(gateway, "square").replayed, True)
    equal(pay(gateway, "square", body=PAY.replace(b"k-1", b"k-2")).replayed,
          False)
    equal([r.body for r in upstream.requests],
          [PAY, PAY.replace(b"k-1", b"k-2")])
    equal([r.get("Idempotency-Key") for r in upstream.requests], [None] * 2)


@test
def the_key_that_adyen_repeats_reaches_the_client_each_time(bench):
    """By it its clients see that a request was processed idempotently."""
    upstream, gateway = bench.pair(
        answer(fields=[("idempotency-key", "k-1")]),
        idempotency={"preset": "adyen"})
    for replayed in (False, True):
        got = pay(gateway, "adyen")
        equal((got.replayed, got.get("Idempotency-Key")), (replayed, "k-1"))


@test
def keys_of_square_are_as_long_as_the_api_takes_them(bench):
    """45 characters for a payment, 192 for a payment link."""
    upstream, gateway = bench.pair(idempotency={"preset": "square"})
    for length in (45, 46, 192, 1000):
        body = PAY.replace(b"k-1", b"k" * length)
        equal([pay(gateway, "square", body=body).replayed for _ in range(2)],
              [False, True])
    equal(upstream.count(), 4)


@test
def the_tenant_of_adyen_is_named_by_its_api_key_too(bench):
    upstream, gateway = bench.pair(idempotency={"preset": "adyen"})
    for api_key in ("a", "b"):
        got = pay(gateway, "adyen", fields=[("X-API-Key", api_key)])
        equal((got.status, got.replayed), (201, False))
    equal(pay(gateway, "adyen", fields=[("X-API-Key", "a")]).replayed, True)
    got = pay(gateway, "adyen", fields=())
    equal((got.status, got.problem), (400, "scope-missing"))
    equal(upstream.count(), 2)


# --- what the API's answers mean ---

@each([("stripe", "stripe"), ("adyen", "adyen"), ("ietf", "ietf")])
def a_500_is_an_answer_like_any_other(bench, preset):
    upstream, gateway = bench.pair(answer(500, b"broken"),
                                   idempotency={"preset": preset})
    equal(pay(gateway, preset).status, 500)
    upstream.reply = answer()
    got = pay(gateway, preset)
    equal((got.status, got.body, got.replayed), (500, b"broken", True))
    equal(upstream.count(), 1)


@each([("paypal", "paypal"), ("square", "square")])
def a_500_leaves_the_outcome_unknown(bench, preset):
    """The client is to send it again; the gateway must not."""
    upstream, gateway = bench.pair(answer(500, b"broken"),
                                   idempotency={"preset": preset})
    got = pay(gateway, preset)
    equal((got.status, got.body), (500, b"broken"))
    upstream.reply = answer()
    got = pay(gateway, preset)
    equal((got.status, got.problem), (409, "outcome-unknown"))
    equal(upstream.count(), 1)


@each([("stripe", "stripe"), ("adyen", "adyen"), ("paypal", "paypal")])
def a_409_of_the_api_is_no_outcome(bench, preset):
    """The key is in use over there: the next retry asks again."""
    upstream, gateway = bench.pair(answer(409, b"in use"),
                                   idempotency={"preset": preset})
    got = pay(gateway, preset)
    equal((got.status, got.body), (409, b"in use"))
    upstream.reply = answer()
    equal(pay(gateway, preset).status, 201)
    equal(pay(gateway, preset).replayed, True)
    equal(upstream.count(), 2)


# --- what is not known is never said to be ---

UNKNOWN = {
    "stripe": ("api_error", "outcome-unknown"),
    "adyen": ("internal", "outcome-unknown"),
    "paypal": ("INTERNAL_SERVER_ERROR", "OUTCOME_UNKNOWN"),
    "square": ("API_ERROR", "GATEWAY_TIMEOUT"),
    "ietf": ("idempotency_error", "outcome-unknown"),
}


@each(PRESETS)
def an_unknown_outcome_is_no_refusal_and_asks_for_no_new_key(bench, preset):
    upstream, gateway = bench.pair(close_unanswered,
                                   idempotency={"preset": preset})
    retry = "false" if preset in AGAIN else None
    for status in (502, 409, 409):
        got = pay(gateway, preset)
        check(preset, got, "outcome-unknown", status, UNKNOWN[preset], retry)
        equal(got.json()["retry"], "same-key")
        assert b"new key" not in got.body, got.body
        for word in (b"declined", b"DECLINED", b"card_error", b"PAYMENT_",
                     b"refused", b"Refused"):
            assert word not in got.body, got.body
    equal(upstream.count(), 1)


@each([("stripe", "stripe"), ("adyen", "adyen")])
def where_a_retry_helps_it_is_not_called_useless(bench, preset):
    upstream, gateway = bench.pair(close_unanswered, idempotency={
        "preset": preset, "on_unknown": "retry"})
    got = pay(gateway, preset)
    equal((got.problem, again(preset, got)), ("outcome-unknown", None))
    upstream.reply = answer()
    equal(pay(gateway, preset).status, 201)


@each([("stripe", "stripe", ("api_error", "upstream-unreachable")),
       ("adyen", "adyen", ("internal", "upstream-unreachable")),
       ("paypal", "paypal",
        ("INTERNAL_SERVER_ERROR", "UPSTREAM_UNREACHABLE")),
       ("square", "square", ("API_ERROR", "SERVICE_UNAVAILABLE"))])
def what_was_not_sent_may_be_sent_again(bench, preset, wanted):
    keep, port = refused_port()
    gateway = bench.gateway(f"http://127.0.0.1:{port}",
                            {"preset": preset})
    check(preset, pay(gateway, preset), "upstream-unreachable", 502, wanted,
          "true" if preset in AGAIN else None)
    keep.close()


# --- with other members ---

@test
def members_beside_it_take_precedence(bench):
    upstream, gateway = bench.pair(idempotency={
        "problems": {"key-reused": 409}, "max_length": 3, "preset": "stripe"})
    equal(pay(gateway, "stripe", "k-22").problem, "key-invalid")
    pay(gateway, "stripe")
    got = pay(gateway, "stripe", body=OTHER)
    equal((got.status, words("stripe", got)),
          (409, ("idempotency_error", "key-reused")))
    equal(upstream.count(), 1)


@test
def a_preset_of_the_defaults_is_every_routes(bench):
    upstream = bench.upstream()
    gateway = bench.serve(bench.config(
        upstream, {"max_length": 3}, defaults={"preset": "paypal"}))
    pay(gateway, "paypal")
    equal(pay(gateway, "paypal", body=OTHER).json()["name"],
          "DUPLICATE_REQUEST_ID")
    equal(pay(gateway, "paypal", "k-22").problem, "key-invalid")


@test
def a_routes_preset_goes_before_the_defaults(bench):
    config = bench.config("http://127.0.0.1:9", {"preset": "adyen"},
                          defaults={"preset": "paypal", "retention": "3d",
                                    "lease": "9s"},
                          redis="redis://127.0.0.1:9")
    policy = shown(bench, config)["routes"][0]["idempotency"]
    equal((policy["preset"], policy["header"], policy["retention"],
           policy["lease"]), ("adyen", "Idempotency-Key", "31d", "9s"))


def shown(bench, config):
    file = bench.file(json.dumps(config).encode())
    done = command("check", "-c", file, "--explain", "--json")
    equal(done.returncode, 0, done.stdout + done.stderr)
    return json.loads(done.stdout)


@each(PRESETS)
def explain_names_it(bench, preset):
    config = bench.config("http://127.0.0.1:9", {"preset": preset},
                          redis="redis://127.0.0.1:9")
    file = bench.file(json.dumps(config).encode())
    text = command("check", "-c", file, "--explain").stdout
    equal(text.count(f"\n    preset     {preset}\n"), 1, text)


@test
def a_name_that_is_nearly_one_is_meant(bench):
    config = bench.config("http://127.0.0.1:9", {"preset": "Stirpe"},
                          redis="redis://127.0.0.1:9")
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(done.returncode, 1)
    assert "/routes/0/idempotency/preset" in done.stdout, done.stdout
    assert 'did you mean "stripe"?' in done.stdout, done.stdout
    equal(len(done.stdout.splitlines()), 1, done.stdout)


@test
def a_reload_changes_it_and_says_what_that_means_for_keys(bench):
    upstream = bench.upstream()
    config = bench.config(upstream, {"preset": "stripe"})
    gateway = bench.serve(config)
    pay(gateway, "stripe")
    config["routes"][0]["idempotency"] = {"preset": "paypal"}
    since = len(gateway.events)
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded", since)
    said = [json.dumps(line) for line in gateway.events[since:]]
    assert any("header changes from" in line and "PayPal-Request-Id" in line
               for line in said), said
    equal(pay(gateway, "paypal").status, 201)
    equal(pay(gateway, "paypal", body=OTHER).json()["name"],
          "DUPLICATE_REQUEST_ID")


@test
def the_policy_says_it(bench):
    config = bench.config(bench.upstream(), {"preset": "stripe"})
    config["routes"][0]["policy_path"] = "/.well-known/idempotency"
    gateway = bench.serve(config)
    said = gateway.send(
        http.build("GET", "/.well-known/idempotency")).json()
    equal((said["preset"], said["statuses"]["key-reused"],
           said["max_length"]), ("stripe", 400, 255))


@each([("more than it has", "stripe", "7d"),
       ("no less than it has", "adyen", "31d")])
def a_source_makes_its_route_remember(bench, preset, retention):
    config = bench.config("http://127.0.0.1:9", {"preset": preset},
                          redis="redis://127.0.0.1:9")
    config["brokers"] = {"q": {"redis": "redis://127.0.0.1:9"}}
    config["sources"] = {"charges": {
        "broker": "q", "stream": "charges", "request": {
            "path": "/v1/charges", "headers": {
                "Authorization": "Bearer x", "X-API-Key": "x"}}}}
    equal(shown(bench, config)["routes"][0]["idempotency"]["retention"],
          retention)


tap.main()
