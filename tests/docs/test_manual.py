# SPDX-License-Identifier: BSD-2-Clause
"""The manual pages: well-formed, whole, and their examples are valid."""

import os
import re
import shutil
import subprocess

from once import tap
from once.demo import source
from once.gateway import command
from once.tap import Skip, each, equal, test

PAGES = [("onceproxy(8)", "onceproxy.8"),
         ("onceproxy.json(5)", "onceproxy.json.5")]


def page(name):
    """The page as make built it."""
    top = os.environ.get("top_builddir") or "."
    with open(os.path.join(top, "src/man", name), encoding="utf-8") as file:
        return file.read()


def table(name, pattern):
    with open(source(f"src/tbl/{name}.h"), encoding="utf-8") as file:
        return re.findall(pattern, file.read(), re.M)


def plain(text):
    return text.replace("\\-", "-").replace("\\e", "\\")


@each(PAGES)
def troff_has_nothing_to_complain_of(bench, name):
    if not shutil.which("groff"):
        raise Skip("there is no groff")
    done = subprocess.run(
        ["groff", "-mandoc", "-Tutf8", "-ww"], input=page(name), text=True,
        capture_output=True, check=False)
    if "can't open" in done.stderr or "fatal" in done.stderr:
        raise Skip("this groff has no mdoc")
    equal((done.returncode, done.stderr), (0, ""))


@each(PAGES)
def nothing_is_left_to_be_filled_in(bench, name):
    equal(re.findall("@[A-Za-z]+@", page(name)), [])


@test
def every_option_is_in_the_manual(bench):
    text = plain(page("onceproxy.json.5"))
    options = table("options", r'^OPT\(\w+, "([^"]+)"')
    assert len(options) > 50
    equal([o for o in options if f'.It Sy "{o}"' not in text], [])


@test
def every_problem_event_and_metric_is_in_the_manual(bench):
    text = plain(page("onceproxy.8"))
    names = (table("problems", r'^PROBLEM\(\w+, (\d+, "[^"]+)"')
             + table("metrics", r'"((?:onceproxy|process)_\w+)"'))
    assert len(names) > 20
    missing = [n for n in names if n.replace(', "', " ") not in text]
    equal(missing, [])


@test
def every_example_of_a_configuration_is_valid(bench):
    blocks = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed",
                        page("onceproxy.json.5"), re.M | re.S)
    examples = [plain(b) for b in blocks if b.startswith("{")]
    assert len(examples) >= 2
    for example in examples:
        done = command("check", "-c", bench.file(example.encode()))
        equal(done.returncode, 0, done.stdout)


tap.main()
