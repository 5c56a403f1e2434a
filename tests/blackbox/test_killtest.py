# SPDX-License-Identifier: BSD-2-Clause
"""contrib/killtest, which counts what is paid when things are killed: three of
its scenarios, with this gateway.  All of them, and others, are for a person to
run (contrib/killtest/README)."""

import json
import os
import subprocess
import sys

from once import tap
from once.demo import source
from once.tap import each, equal, test

SCENARIOS = [(words, words) for words in (
    "gateway killed after it has sent", "API dies after the payment",
    "two gateways are sent the same at once")]


def run(bench, *args, **env):
    """What is done with it, and the file of figures."""
    found = os.path.join(bench.folder(), "found.json")
    return subprocess.run(
        [sys.executable, source("contrib/killtest/run"), *args, "--json",
         found], env={**os.environ, **env}, capture_output=True, text=True,
        check=False), found


def figures(found):
    with open(found, encoding="utf-8") as file:
        return json.load(file)["onceproxy"]


@each(SCENARIOS)
def nothing_is_paid_twice_or_lost(bench, words):
    done, found = run(bench, "--scenario", words)
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    counted = figures(found)["scenarios"][words]
    assert counted.pop("operations") >= 10, counted
    counted.pop("unknown")  # what may be
    equal(counted, dict.fromkeys(counted, 0), done.stdout)


@test
def what_does_not_start_is_not_judged_and_no_success(bench):
    program = os.path.join(bench.folder(), "no-gateway")
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho none 1\n")
    os.chmod(program, 0o755)
    done, found = run(bench, "--scenario", "nothing breaks",
                      ONCEPROXY=program, TMPDIR=bench.folder())  # it is left
    equal((done.returncode, done.stderr), (1, ""), done.stdout)
    why, = figures(found)["not judged"].values()
    assert "has ended; see " in why and why in done.stdout, done.stdout


@test
def a_scenario_that_is_not_there_is_answered_with_those_that_are(bench):
    done, _ = run(bench, "--scenario", "nothing breaks", "--scenario", "none")
    equal(done.returncode, 2)
    assert "no scenario 'none'" in done.stderr, done.stderr
    assert "  API answers half\n" in done.stderr, done.stderr


@test
def nothing_of_redis_is_tried_where_there_is_none(_bench):
    sys.path.insert(0, source("contrib/killtest"))
    from scenarios import SCENARIOS as all_scenarios
    equal([s.words for s in all_scenarios if "Redis" in s.words and
           not s.redis], [])


tap.main()
