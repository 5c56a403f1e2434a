# SPDX-License-Identifier: BSD-2-Clause
"""contrib/killtest, which counts what is paid when things are killed: three of
its scenarios, with this gateway.  All of them, and others, are for a person to
run (contrib/killtest/README)."""

import importlib
import json
import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

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


def part(name):
    """One of its modules."""
    sys.path.insert(0, source("contrib/killtest"))
    return importlib.import_module(name)


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


def told(operation="a", number=1, status=201):
    return status, {}, json.dumps(
        {"id": f"ch_{number}", "operation": operation}).encode()


NOTHING = (503, {}, b"unknown")


@each([
    ("once, and told so", 1, [None, told(), told()], []),
    ("twice", 2, [told(), told()], ["doubled"]),
    ("twice, and told of both", 2, [told(), told(number=2)],
     ["contradicted", "doubled"]),
    ("told, and never paid", 0, [told()], ["lost"]),
    ("told of another payment", 1, [told(operation="b")], ["foreign"]),
    ("told half", 1, [(201, {}, told()[2][:-9])], ["foreign"]),
    ("told nothing", 1, [None, (409, {}, b"busy")], ["stuck"]),
    ("told that nobody knows", 1, [None, NOTHING], ["unknown"]),
    ("told so in the end", 1, [NOTHING, told()], [])])
def the_checker_sees_a_payment_that_was(_bench, payments, answers, wrongs):
    operation = SimpleNamespace(key="a", told=answers)
    found = part("checker").judge(operation, payments, lambda status, fields,
                                  body: body == b"unknown")
    equal(sorted(found), wrongs)


@test
def the_rate_is_of_all_payments_beyond_the_first(_bench):
    checker = part("checker")
    found = checker.check(SimpleNamespace(
        upstream=SimpleNamespace(ledger=["a", "b", "a", "a"]),
        adapter=SimpleNamespace(says_unknown=None),
        operations=[SimpleNamespace(key=key, told=[told(key)])
                    for key in "abcd"]))
    equal((found["doubled"], found["beyond"], found["lost"]), (1, 2, 2))
    equal(checker.rate(found)[0], 0.5)
    none = checker.rate({"operations": 220, "beyond": 0, "doubled": 0})
    equal((none[0], none[1][0], round(none[1][1], 3)), (0, 0, 0.017))


@test
def the_adapter_that_readme_shows_is_one(_bench):
    with open(source("contrib/killtest/README"), encoding="utf-8") as file:
        shown = file.read().split("# adapters/my_gateway.py\n")[1]
    part("adapter")
    made = {}
    exec(textwrap.dedent(shown.split("\ncommand()")[0]), made)
    adapter = made["Adapter"]()
    argv, environment = adapter.command("folder", 1, 2, 3)
    equal((argv[::2], environment), (
        ["my-gateway", "127.0.0.1:1", "2s", "5s", "redis://127.0.0.1:2",
         "http://127.0.0.1:3"], {}))
    equal((adapter.version(), adapter.path, adapter.key_header),
          ("1.2.3", "/charges", "Idempotency-Key"))


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
    equal([s.words for s in part("scenarios").SCENARIOS
           if "Redis" in s.words and not s.redis], [])


tap.main()
