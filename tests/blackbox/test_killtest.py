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
from once.tap import each, equal

SCENARIOS = [(words, words) for words in (
    "gateway killed after it has sent", "API dies after the payment",
    "two gateways are sent the same at once")]


@each(SCENARIOS)
def nothing_is_paid_twice_or_lost(bench, words):
    found = os.path.join(bench.folder(), "found.json")
    done = subprocess.run(
        [sys.executable, source("contrib/killtest/run"), "--scenario", words,
         "--json", found], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    with open(found, encoding="utf-8") as file:
        figures = json.load(file)["onceproxy"]["scenarios"][words]
    assert figures.pop("operations") >= 10, figures
    figures.pop("unknown")  # what may be
    equal(figures, dict.fromkeys(figures, 0), done.stdout)


tap.main()
