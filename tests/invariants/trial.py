# SPDX-License-Identifier: BSD-2-Clause
"""Runs tests of other files against the test build, with an invariant off, and
judges whether they have seen it.

A killing test is one that sees the loss of an invariant: (file, name).  It
must pass with all invariants on; and with that one off it must fail by an
assertion of its own, not by a crash, and not by running out of time.  Where a
loss can only be waited for, the row says so (waits), and waits are short.
The quick tier tries the first of a tenth of all invariants, which the commit
draws; the others try all killing tests of each."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from once import tap, tier
from once.demo import source
from once.gateway import SANITIZER_WORDS
from once.tap import each

# Each program that is run has a limit of its own.
tap.LIMIT_S = 300

AT_ONCE = 3  # programs that run at the same time
SHORT_S = "3"
OWN_WORDS = ("AssertionError", "once.wait.Late", "once.http.Broken")
WAITED_WORDS = ("TimeoutError",)


def waits(file, name):
    return file, name, True


def tried(killing_tests):
    all_of_them = [(*one, False)[:3] for one in killing_tests]
    return all_of_them if tier.ALL else all_of_them[:1]


class Seen:
    """The result of a test program, from what it printed."""

    def __init__(self, text):
        self.text = text
        self.plan = int((re.findall(r"^1\.\.(\d+)", text, re.M) or [0])[0])
        self.passed = re.findall(r"^ok \d+ - (.*)", text, re.M)
        self.failed = re.findall(r"^not ok \d+ - (.*)", text, re.M)

    def all_passed(self, count=1):
        return len(self.passed) == self.plan >= count and not self.failed


def is_unit(file):
    return file.startswith("unit/")


def command(file, names):
    """A black-box file with names, or unit/ROOM/FILE (see run)."""
    if is_unit(file):
        built = os.environ.get("top_builddir", ".")
        return [os.path.join(built, "tests/invariants", os.path.basename(file))]
    return [sys.executable, source(f"tests/blackbox/{file}.py"), *names]


def run(file, names, waiting=False, **env):
    """The tests of that file with these names, of unit/ROOM/FILE the only
    name, on the test build."""
    if is_unit(file):
        env["ONCE_ONE_TEST"], = names
    env = dict(os.environ, ONCEPROXY=os.environ["ONCEPROXY_TEST_BUILD"],
               ONCE_TIER="all", **env)
    # A test that fails need not tidy up.
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    if waiting:
        env["ONCE_PATIENCE"] = SHORT_S
    done = subprocess.run(
        command(file, names), env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        errors="backslashreplace", text=True, check=False)
    return Seen(done.stdout)


def passes(file, names):
    """These tests of a file must pass while all invariants are on."""
    for some in [[name] for name in names] if is_unit(file) else [names]:
        seen = run(file, some)
        assert seen.all_passed(), seen.text
        for name in some:
            assert any(name in passed for passed in seen.passed), (
                f"{file} has no test {name!r}\n{seen.text}")


def failed_well(seen, waiting):
    """By assertions, of Python or cmocka, and not by a crash."""
    words = OWN_WORDS + (WAITED_WORDS if waiting else ())
    named = re.findall(r"^# ([\w.]+(?:Error|Late|Broken|TooSlow|Exception))\b",
                       seen.text, re.M)
    return (all(word in words for word in named)
            and not any(word in seen.text for word in SANITIZER_WORDS))


def goes_red(killing_tests, off):
    """Each must see the loss of the invariant that environment off switches
    off."""
    for file, name, waiting in killing_tests:
        seen = run(file, [name], waiting, **off)
        assert any(name in failed for failed in seen.failed), (
            f"{file}: {name}: nothing was seen\n{seen.text}")
        assert failed_well(seen, waiting), seen.text


def by_file(table):
    """The tests that are tried, file by file."""
    files = {}
    for killing_tests in table.values():
        for file, name, _ in tried(killing_tests):
            files.setdefault(file, set()).add(name)
    return sorted((file, sorted(names)) for file, names in files.items())


def show(table, without):
    """Makes tests of a table (invariant: killing tests).  without(invariant)
    is a context whose value is the environment in which that one is off."""
    if not tier.ALL:
        drawn = tier.tenth(table)
        table = {name: table[name] for name in table if name in drawn}
    pool = ThreadPoolExecutor(AT_ONCE)
    begun = {}

    def red(invariant):
        with without(invariant) as off:
            goes_red(tried(table[invariant]), off)

    # Begins the runs that the tests will ask for, in their order, ahead of
    # them.
    def begin(test, name, function, *args):
        title = f"{test.__name__.replace('_', ' ')}: {name}"
        if tap.is_chosen(title):
            begun[name] = pool.submit(function, *args)

    def with_all_guards_on_its_tests_pass(bench, file):
        begun[file].result()

    def a_test_sees_that_this_is_gone(bench, invariant):
        begun[invariant].result()

    files = by_file(table)
    for file, names in files:
        begin(with_all_guards_on_its_tests_pass, file, passes, file, names)
    for invariant in table:
        begin(a_test_sees_that_this_is_gone, invariant, red, invariant)
    each((file, file) for file, _ in files)(with_all_guards_on_its_tests_pass)
    each((name, name) for name in table)(a_test_sees_that_this_is_gone)
