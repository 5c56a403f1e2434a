# SPDX-License-Identifier: BSD-2-Clause
"""A model, searched by spin: all of it, or until a promise is broken."""

import os
import re
import shlex
import shutil
import subprocess

from once import tap
from once.demo import source
from once.tap import comment, each, equal, test

CC = os.environ.get("CC") or "cc"


def call(argv, folder):
    done = subprocess.run(argv, cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{shlex.join(argv)}\n{done.stdout}"
    return done.stdout


def errors(said):
    return re.findall(r"errors: (\d+)", said)


class Model:
    def __init__(self, name):
        self.name = name
        with open(source(f"tests/model/{name}"), encoding="utf-8") as file:
            self.text = file.read()

    def all(self, pattern):
        return set(re.findall(pattern, self.text, re.M))

    def promises(self):
        return self.all(r"^#define (\w+)\t+\d+ /\*")

    def macros(self):
        """Those that a search may be given."""
        lines = self.all(r"^#(?:if|ifdef|ifndef|elif)\b.*")
        known = set(re.findall(r"\b[A-Z][A-Z_]+\b", " ".join(lines)))
        return known - self.promises() - {"ONLY", "ASKED"}

    def spin(self, folder, macros, *options):
        return call(["spin", f"-P{CC} -E -x c", *(f"-D{m}" for m in macros),
                     *options, self.name], folder)

    def search(self, bench, macros, optimize):
        """Searches until everything was seen or a promise is broken; (folder,
        output of the search)."""
        for tool in ("spin", shlex.split(CC)[0]):
            if not shutil.which(tool):
                raise tap.Skip(f"{tool} is not installed")
        folder = bench.folder()
        with open(os.path.join(folder, self.name), "w",
                  encoding="utf-8") as file:
            file.write(self.text)
        self.spin(folder, macros, "-a")
        call([*shlex.split(CC), optimize, "-w", "-DSAFETY", "-DMEMLIM=2048",
              "-o", "pan", "pan.c"], folder)
        said = call(["./pan", "-m10000"], folder)
        states = re.search(r"(\d+) states, stored", said)
        took = re.search(r"elapsed time (\S+) seconds", said)
        assert states and took, said
        comment(f"{states[1]} states, {took[1]} s")
        return folder, said

    def is_kept(self, bench, macros):
        """Nothing in the whole model breaks a promise."""
        _, said = self.search(bench, macros.split(), "-O2")
        equal(errors(said), ["0"], said)
        assert "Full statespace search" in said, said
        for shortened in ("search depth", "not completed", "out of memory"):
            assert shortened not in said, said
        # The end, where the promises are checked, was reached.
        assert re.search(r"unreached in init\n\t\(0 of ", said), said

    def is_broken(self, bench, macros, promise):
        """The search finds a story that breaks the promise, and nothing
        else."""
        macros = [*macros.split(), f"ONLY={promise}"]
        folder, said = self.search(bench, macros, "-O0")
        equal(errors(said), ["1"], said)
        assert "assertion violated" in said, said
        story = self.spin(
            folder, macros, "-t", "-T").split("spin: trail ends")[0]
        comment(story)
        assert "assertion violated" in story, story

    def begin_tests(self, variants, mistakes, limits=()):
        """A test of each row.  The largest search takes 15 s of one processor,
        if it has that to itself."""
        tap.LIMIT_S = 300

        @each(variants)
        def every_promise_is_kept(bench, macros):
            self.is_kept(bench, macros)

        @each(mistakes)
        def a_mistake_is_found(bench, macros, promise):
            self.is_broken(bench, macros, promise)

        @each(limits)
        def no_gateway_can_help_it(bench, macros, promise):
            self.is_broken(bench, macros, promise)

    def begin_tests_of_rows(self, variants, mistakes, limits=()):
        """All that may go wrong in the model is in some row."""
        @test
        def every_macro_of_the_model_is_tried(bench):
            equal(self.macros(), {macro for _, macros, *_ in (
                *variants, *mistakes, *limits) for macro in macros.split()})

        @test
        def every_promise_is_broken_by_some_mistake(bench):
            equal({promise for *_, promise in mistakes}, self.promises())
