# SPDX-License-Identifier: BSD-2-Clause
"""onceproxy-reconcile(7): each example does what the page says, with an API
that is slow, and one whose word for an unknown order is its own."""

import json
import shutil
import subprocess

from once import tap
from once.demo import PaymentApi
from once.manual import Examples
from once.tap import Skip, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

EXAMPLES = Examples("onceproxy-reconcile.7")
ORDER = b'{"order_id": "o-17", "amount": 5}'


def in_doubt(bench, name):
    """An unknown outcome, on a route as printed but for settle."""
    policy = json.loads("{" + EXAMPLES.take(name) + "}")["idempotency"]
    long_form = policy["on_unknown"]["reconcile"]
    assert long_form["settle"] in ("60s", "2m", "5m"), long_form
    upstream = bench.upstream(then_close(b""))
    early = bench.gateway(upstream, idempotency=policy)
    key = None if "derive_key" in policy else "k"
    equal(early.ask(key, body=ORDER).status, 502)
    equal(early.ask(key, body=ORDER).problem, "outcome-unknown")
    equal([r.method for r in upstream.requests], ["POST"])
    long_form["settle"] = "10ms"
    gateway = bench.gateway(upstream, idempotency=policy)
    return upstream, gateway, key


@test
def by_key_retries_get_the_status_of_the_first(bench):
    upstream, gateway, key = in_doubt(bench, "by-key")
    upstream.reply = answer(200, b"made")
    eventually(lambda: gateway.ask(key, body=ORDER).status == 201)
    equal(gateway.ask(key, body=ORDER).body, b"made")
    equal(upstream.requests[-1].target, "/v1/charges/by-key/k")


@test
def by_order_only_the_apis_own_word_executes(bench):
    upstream, gateway, key = in_doubt(bench, "by-order")
    path = "/v1/orders/o-17/charge"
    upstream.replies[path] = answer(404)
    upstream.reply = answer()
    eventually(lambda: gateway.ask(key, body=ORDER).status == 409
               and upstream.count(path))
    equal(upstream.count(method="POST"), 1)
    upstream.replies[path] = answer(409)
    equal(gateway.ask(key, body=ORDER).status, 201)
    equal(upstream.count(method="POST"), 2)


@test
def the_api_knows_a_derived_key_that_was_sent(bench):
    upstream, gateway, key = in_doubt(bench, "derived")
    upstream.reply = answer(200, b"made")
    eventually(lambda: gateway.ask(key, body=ORDER).body == b"made")
    sent = upstream.requests[0].get("Idempotency-Key")
    equal(upstream.requests[-1].target, f"/v1/charges/by-key/{sent}")


@test
def a_made_up_key_shows_what_the_api_says(bench):
    if not shutil.which("curl"):
        raise Skip("there is no curl")
    api = bench.process(PaymentApi())
    text = EXAMPLES.take("made-up.sh", {
        "http://127.0.0.1:9000": api.url})
    done = subprocess.run(["sh", "-euc", text], capture_output=True,
                          text=True, check=True)
    assert done.stdout.startswith("HTTP/1.1 404"), done.stdout


@test
def every_example_was_tried(bench):
    EXAMPLES.all_were_tried()


tap.main()
