# SPDX-License-Identifier: BSD-2-Clause
"""The stripe client of the npm registry, with its network retries on, creates
charges through the gateway.  Each is executed exactly once, whatever is lost.
contrib/check installs the client where there are node and npm."""

import json
import os
import shutil
import subprocess

from once import tap
from once.demo import PaymentApi, source
from once.tap import equal, test

COUNT = 9


def node(script, *words):
    """Runs a script with the client; what it prints, from JSON."""
    modules = os.environ.get("NODE_PATH", "")
    if not shutil.which("node"):
        raise tap.Skip("no node program")
    if not os.path.isdir(os.path.join(modules, "stripe")):
        raise tap.Skip("the stripe client is not installed (contrib/check)")
    done = subprocess.run(
        ["node", source(f"tests/node/{script}"), *map(str, words)],
        capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def create_charges(port, retries):
    """What became of each charge."""
    return node("charges.js", port, COUNT, retries)


def check_each_once(api):
    equal(sorted(c["description"] for c in api.charges()),
          [f"charge {n}" for n in range(COUNT)])


@test
def answers_that_the_api_drops_after_executing_are_errors_not_doubles(bench):
    """The gateway cannot know what happened and says so to every retry."""
    api = bench.process(PaymentApi("--drop-every", "3"))
    gateway = bench.gateway(api.url)
    results = create_charges(gateway.address.split(":")[1], retries=2)
    check_each_once(api)
    lost = [r for r in results if "id" not in r]
    equal(len(lost), COUNT // 3, results)
    for result in lost:
        equal((result["status"], result["code"]), (409, "outcome-unknown"))
    made = {c["id"]: c["description"] for c in api.charges()}
    for result in results:
        if "id" in result:
            equal(made[result["id"]], result["description"])


@test
def answers_that_the_client_loses_are_replayed_to_its_retries(bench):
    api = bench.process(PaymentApi())
    gateway = bench.gateway(api.url)
    proxy = bench.proxy(gateway.address)
    proxy.cut_replies(every=3, times=None)
    results = create_charges(proxy.port, retries=5)
    assert proxy.cuts >= COUNT // 3, proxy.cuts
    check_each_once(api)
    made = {c["id"]: c["description"] for c in api.charges()}
    equal({r.get("id"): r["description"] for r in results}, made)
    equal(len(gateway.find_log("request", outcome="executed")), COUNT)
    equal(len(gateway.find_log("request", outcome="replayed")),
          proxy.replies - COUNT)


@test
def a_key_that_is_used_again_is_the_clients_idempotency_error(bench):
    """With the status that Stripe itself has for it."""
    api = bench.process(PaymentApi())
    gateway = bench.gateway(api.url, {"problems": {"key-reused": 400}})
    made = node("reused.js", gateway.address.split(":")[1])
    equal(made, {"type": "StripeIdempotencyError", "status": 400,
                 "code": "key-reused"})
    equal(len(api.charges()), 1)


tap.main()
