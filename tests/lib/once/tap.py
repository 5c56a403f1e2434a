# SPDX-License-Identifier: BSD-2-Clause
"""A test file is a program.  Its functions marked @test run in order, each
with a Bench, and print TAP; a failing one also prints the gateways' logs.  The
names say what is shown."""

import faulthandler
import os
import random
import signal
import sys
import time
import traceback

from . import tier
from .bench import Bench, end_shared
from .skip import Skip

LIMIT_S = 240  # one test; a sanitizer build included

tests = []
skipped = []  # names of those that could not run here


class TooSlow(BaseException):
    """The time of a test is over; no except clause of a test catches this."""


def test(function):
    """Marks a function as a test."""
    tests.append((function.__name__.replace("_", " "), function, ()))
    return function


def all_test(function):
    """Marks one that the quick tier leaves out."""
    return test(function) if tier.ALL else function


def long_test(function):
    """Marks one that takes a minute in a sanitizer build."""
    function.limit_s = 10 * 60
    return all_test(function)


def each(rows):
    """Marks a function as one test per row; a row is (words, value, …)."""
    def mark(function):
        title = function.__name__.replace("_", " ")
        for words, *values in rows:
            tests.append((f"{title}: {words}", function, tuple(values)))
        return function
    return mark


def first_seed():
    """Where chance begins: at ONCE_SEED; else at 1, so that the same plans are
    tried each time, and in the long tier at a new one."""
    given = os.environ.get("ONCE_SEED")
    if given or not tier.LONG:
        return int(given or 1)
    return random.randrange(1 << 32)


def equal(got, wanted, what=""):
    assert got == wanted, f"{what}\n  got    {got!r}\n  wanted {wanted!r}"


def comment(text):
    for line in str(text).splitlines():
        print("# " + line)


def on_alarm(_signal, _frame):
    raise TooSlow("the time of the test is over")


def run_one(number, name, function, values):
    """Runs one test and prints its line; False where it failed."""
    bench = Bench()
    limit_s = getattr(function, "limit_s", LIMIT_S)
    # Should the alarm's exception get stuck somewhere, this ends us.
    faulthandler.dump_traceback_later(limit_s + 30, exit=True)
    signal.alarm(limit_s)
    started = time.monotonic()
    trouble = skip = None
    try:
        function(bench, *values)
    except Skip as why:
        skip = str(why)
        skipped.append(name)
    except (Exception, TooSlow):
        trouble = traceback.format_exc()
    signal.alarm(0)
    logs = [(g.argv[-1], g.tail()) for g in bench.gateways] if trouble else []
    try:
        bench.clean()
    except Exception:
        if trouble is None:
            logs = [(g.argv[-1], g.tail(200)) for g in bench.gateways]
        trouble = (trouble or "") + traceback.format_exc()
    faulthandler.cancel_dump_traceback_later()
    took = f" # SKIP {skip}" if skip else ""
    # TAP has "#" for directives.
    print(f"{'not ok' if trouble else 'ok'} {number} - "
          f"{name.replace('#', 'hash')}{took}")
    if trouble:
        comment(trouble)
        for file, lines in logs:
            comment(f"--- log of {file}")
            for line in lines:
                comment(line)
    if os.environ.get("ONCE_TIMES"):
        comment(f"{time.monotonic() - started:.2f} s")
    sys.stdout.flush()
    return trouble is None


def is_chosen(name):
    """All are chosen, unless the command line has parts of names."""
    words = sys.argv[1:]
    return not words or any(word in name for word in words)


def main():
    """Runs the tests that are marked and chosen."""
    chosen = [t for t in tests if is_chosen(t[0])]
    signal.signal(signal.SIGALRM, on_alarm)
    sys.stdout.reconfigure(errors="backslashreplace")
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, (name, function, values) in enumerate(chosen, 1):
        failed += not run_one(number, name, function, values)
    end_shared()
    sys.exit(1 if failed else 0)
