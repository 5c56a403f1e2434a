# SPDX-License-Identifier: BSD-2-Clause
"""Presets, tried with the clients of the APIs that they are named after, as
the npm registry has them.  contrib/check installs them where there are node and
npm."""

import json
import os
import shutil
import subprocess

from once import tap
from once.demo import source
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered

PACKAGES = {"stripe": "stripe", "adyen": "@adyen/api-library",
            "paypal": "@paypal/paypal-server-sdk", "square": "square"}
PATHS = {"stripe": "/v1/charges", "adyen": "/{version}/payments",
         "paypal": "/v2/checkout/orders", "square": "/v2/payments"}
TOKEN = {"access_token": "t", "token_type": "Bearer", "expires_in": 32400}
CLIENTS = [(name, name) for name in PATHS]


def rows(*lines):
    return [(line[0], *line) for line in lines]


def pay(gateway, api, *payments, way="apart"):
    """What became of each payment, KEY=AMOUNT."""
    modules = os.environ.get("NODE_PATH", "")
    if not shutil.which("node"):
        raise tap.Skip("no node program")
    if not os.path.isdir(os.path.join(modules, PACKAGES[api])):
        raise tap.Skip(f"{PACKAGES[api]} is not installed (contrib/check)")
    done = subprocess.run(
        ["node", source("tests/node/pay.js"), api,
         gateway.address.split(":")[1], way, *payments],
        capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def executed(upstream):
    """How many payments."""
    return upstream.count() - upstream.count("/v1/oauth2/token")


def executes(api):
    """A reply that has the number of the payment as its id."""
    def reply(connection, request):
        number = f"pay_{executed(connection.upstream)}"
        connection.send(answer(200, json.dumps({
            "stripe": {"id": number, "object": "charge"},
            "adyen": {"pspReference": number, "resultCode": "Authorised"},
            "paypal": {"id": number, "status": "CREATED"},
            "square": {"payment": {"id": number, "status": "COMPLETED"}},
        }[api]).encode(), [("Content-Type", "application/json")]))
    return reply


def start(bench, api, **idempotency):
    """An API, and a gateway with its preset in front of it."""
    upstream = bench.upstream(executes(api))
    upstream.replies["/v1/oauth2/token"] = answer(
        200, json.dumps(TOKEN).encode(),
        [("Content-Type", "application/json")])
    config = bench.config(upstream, {"preset": api, **idempotency})
    config["routes"][0]["path"] = PATHS[api]
    return upstream, bench.serve(config)


@each(CLIENTS)
def a_payment_that_is_sent_again_is_the_same(bench, api):
    upstream, gateway = start(bench, api)
    results = pay(gateway, api, "k=1", "k=1", "other=1")
    equal([result.get("id") for result in results],
          ["pay_1", "pay_1", "pay_2"], results)
    if api in ("stripe", "paypal"):  # which show the header
        equal([result.get("replayed") for result in results],
              [None, "true", None])
    equal(executed(upstream), 2)


@each(rows(
    ("stripe", {"type": "StripeIdempotencyError", "status": 400,
                "code": "key-reused", "rawType": "idempotency_error"}),
    ("adyen", {"type": "HttpClientException", "status": 422,
               "code": "key-reused", "again": "false"}),
    ("paypal", {"type": "CustomError", "status": 400,
                "code": "DUPLICATE_REQUEST_ID",
                "issue": "DUPLICATE_REQUEST_ID", "debugged": True}),
    ("square", {"type": "SquareError", "status": 400,
                "code": "IDEMPOTENCY_KEY_REUSED", "field": "idempotency_key",
                "category": "INVALID_REQUEST_ERROR"})))
def a_key_of_another_payment_is_the_clients_own_error(bench, api, wanted):
    upstream, gateway = start(bench, api)
    first, second = pay(gateway, api, "k=1", "k=2")
    equal(first["id"], "pay_1")
    equal({name: second.get(name) for name in wanted}, wanted, second)
    equal(executed(upstream), 1)


def pay_twice_at_once(bench, upstream, gateway, api):
    """What became of the two; the first is held until the second was told
    that it is in flight."""
    hold = upstream.hold()
    both = bench.background(pay, gateway, api, "k=1", "k=1", way="together")
    while not gateway.find_log("request", outcome="in-flight"):
        both.thread.join(0.05)
        if not both.thread.is_alive():
            break
    hold.release()
    return both.result()


@test
def stripes_client_retries_until_the_first_payment_is_done(bench):
    upstream, gateway = start(bench, "stripe")
    results = pay_twice_at_once(bench, upstream, gateway, "stripe")
    equal([result.get("id") for result in results], ["pay_1"] * 2, results)
    equal(sorted(result.get("replayed") or "" for result in results),
          ["", "true"])
    equal(executed(upstream), 1)


@each(rows(
    ("adyen", {"status": 409, "code": "704", "again": "true"}),
    ("paypal", {"status": 409, "code": "RESOURCE_CONFLICT",
                "issue": "PREVIOUS_REQUEST_IN_PROGRESS"}),
    ("square", {"status": 409, "code": "CONFLICT",
                "category": "INVALID_REQUEST_ERROR"})))
def a_second_payment_meanwhile_is_told_so_in_its_own_words(bench, api,
                                                           wanted):
    upstream, gateway = start(bench, api)
    results = pay_twice_at_once(bench, upstream, gateway, api)
    made = [result for result in results if "id" in result]
    told = [result for result in results if "id" not in result]
    equal((len(made), len(told)), (1, 1), results)
    equal({name: told[0].get(name) for name in wanted}, wanted, told)
    equal(executed(upstream), 1)


@each(rows(
    ("stripe", 502, {"type": "StripeAPIError", "rawType": "api_error",
                     "code": "outcome-unknown"}),
    ("adyen", 502, {"type": "HttpClientException", "again": "false",
                    "code": "outcome-unknown"}),
    ("paypal", 502, {"type": "CustomError", "issue": "OUTCOME_UNKNOWN",
                     "code": "INTERNAL_SERVER_ERROR"}),
    # It sends 5xx again by itself.
    ("square", 409, {"type": "SquareError", "category": "API_ERROR",
                     "code": "GATEWAY_TIMEOUT"})))
def a_payment_that_may_have_happened_is_no_refused_one(bench, api, status,
                                                       wanted):
    """Neither the card's error nor one of the request or the key, and nothing
    that the client answers with another payment."""
    upstream, gateway = start(bench, api)
    upstream.reply = close_unanswered
    first, second = pay(gateway, api, "k=1", "k=1")
    for result, said in ((first, status), (second, 409)):
        wanted = {**wanted, "status": said}
        equal({name: result.get(name) for name in wanted}, wanted, result)
    equal(executed(upstream), 1)


@each([("adyen", "adyen", 64), ("paypal", "paypal", 108)])
def the_longest_key_of_the_api_is_taken(bench, api, length):
    upstream, gateway = start(bench, api)
    results = pay(gateway, api, "k" * length + "=1", "k" * (length + 1) + "=1")
    equal((results[0].get("id"), results[1].get("status")), ("pay_1", 400),
          results)
    equal(executed(upstream), 1)


tap.main()
