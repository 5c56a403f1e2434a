# SPDX-License-Identifier: BSD-2-Clause
"""A plain `curl --retry` pays once, whatever gets lost on the way."""

import json
import shutil
import subprocess

from once import tap
from once.demo import PaymentApi
from once.tap import equal, test
from once.wait import eventually


def curl(port, key, *options):
    """Runs curl --retry; the body of its last answer, or None."""
    if not shutil.which("curl"):
        raise tap.Skip("no curl program")
    done = subprocess.run(
        ["curl", "--silent", "--fail-with-body", "--retry", "4",
         "--retry-delay", "1", "--retry-all-errors", "--max-time", "30",
         "-H", "Authorization: Bearer a", "-H", f"Idempotency-Key: {key}",
         "-H", "Content-Type: application/json", *options,
         "-d", json.dumps({"amount": 100, "description": key}),
         f"http://127.0.0.1:{port}/v1/charges"],
        capture_output=True, text=True, check=False)
    # curl prints the bodies of all its tries; the last line is the last's.
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 else None


@test
def answers_lost_between_gateway_and_curl_are_replayed_to_its_retries(bench):
    api = bench.process(PaymentApi())
    gateway = bench.gateway(api.url)
    proxy = bench.proxy(gateway.address)
    proxy.cut_replies(every=2, times=None)
    tasks = [bench.background(curl, proxy.port, f"k{n}") for n in range(6)]
    paid = [task.result(50) for task in tasks]
    assert proxy.cuts >= 3, proxy.cuts
    made = api.charges()
    equal(sorted(c["description"] for c in made),
          [f"k{n}" for n in range(6)])
    equal(sorted(c["id"] for c in paid), sorted(c["id"] for c in made))
    eventually(lambda: len(gateway.find_log(
        "request", outcome="executed")) == 6, "all six are logged")


@test
def answers_lost_behind_the_gateway_are_errors_and_never_doubles(bench):
    api = bench.process(PaymentApi("--drop-every", "3"))
    gateway = bench.gateway(api.url)
    tasks = [bench.background(curl, gateway.address.split(":")[1], f"k{n}",
                              "--retry", "2") for n in range(6)]
    paid = [task.result(50) for task in tasks]
    equal(sorted(c["description"] for c in api.charges()),
          [f"k{n}" for n in range(6)])
    equal(sum(c is None for c in paid), 2)


tap.main()
