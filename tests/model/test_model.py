# SPDX-License-Identifier: BSD-2-Clause
"""The model of a record's life, searched by spin: whatever happens, the
promises are kept, and each mistake that somebody might make breaks one."""

import os
import re
import shlex
import shutil
import subprocess

from once import tap
from once.demo import source
from once.tap import comment, each, equal, test

# The largest search takes 10 s of one processor, if it has that to itself.
tap.LIMIT_S = 300

MODEL = source("tests/model/once.pml")
CC = os.environ.get("CC") or "cc"

VARIANTS = [
    ("one Redis", ""),
    ("one Redis, on_unknown is retry", "RETRY"),
    ("a replica takes over", "FAILOVER"),
    ("a replica takes over, on_unknown is retry", "FAILOVER RETRY"),
    ("Redis forgets the record", "FORGETS"),
    ("Redis forgets the record, on_unknown is retry", "FORGETS RETRY"),
]

MISTAKES = [
    ("claiming an expired lease again executes twice",
     "RECLAIM_EXPIRED", "ONCE"),
    ("releasing after a send that failed executes twice",
     "RELEASE_AFTER_SEND", "ONCE"),
    ("taking a step from a stranger executes twice",
     "NO_FENCING", "ONCE"),
    ("taking a step from a stranger changes an answer that was given",
     "NO_FENCING RETRY", "ONE_ANSWER"),
    ("an owner for all requests of a gateway executes twice",
     "SAME_OWNER", "ONCE"),
    ("a claim without a deadline leaves in doubt what was never sent",
     "NO_DEADLINE", "NO_IDLE_DOUBT"),
    ("without a sweeper a dead owner's record stays PROCESSING",
     "NO_SWEEPER", "UNSTUCK"),
    ("an answer given before it is stored is not there for a retry",
     "ANSWER_BEFORE_STORE", "LASTING"),
    ("an answer given before it is stored is not the one that retries get",
     "ANSWER_BEFORE_STORE RETRY", "ONE_ANSWER"),
    ("an answer given from a journal in memory is not there for a retry",
     "JOURNAL_IN_MEMORY", "LASTING"),
    ("a fenced owner's own answer is not the one that retries get",
     "FENCED_ANSWERS RETRY", "ONE_ANSWER"),
    ("with on_unknown retry, a journal's answer is not the one that counts",
     "JOURNAL_ANSWERS RETRY", "ONE_ANSWER"),
    ("an outcome that is given up for want of a record is not there any more",
     "FORGETS GONE_IS_LATE", "LASTING"),
    ("an outcome that is given up for want of a record executes twice",
     "FORGETS GONE_IS_LATE", "ONCE"),
    ("a claim that only the master has executes twice after a failover",
     "FAILOVER NO_WAIT", "ONCE"),
    ("a claim that only the master has repeats an attempt number",
     "FAILOVER NO_WAIT", "NUMBERED"),
    ("WAIT on another connection than the claim's executes twice",
     "FAILOVER WAIT_ELSEWHERE", "ONCE"),
    ("a replay that no replica has yet is not there for the next retry",
     "FAILOVER EARLY_REPLAY", "LASTING"),
    ("a replay that no replica has yet is not the answer that others get",
     "FAILOVER EARLY_REPLAY RETRY", "ONE_ANSWER"),
]

LIMITS = [
    ("an operator's answer differs from one that the owner has given",
     "OPERATOR_COMPLETES", "ONE_ANSWER"),
    ("an operator's release while the owner may still act executes twice",
     "OPERATOR_RELEASES", "ONCE"),
]


def call(argv, folder):
    done = subprocess.run(argv, cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{shlex.join(argv)}\n{done.stdout}"
    return done.stdout


def spin(folder, macros, *options):
    return call(["spin", f"-P{CC} -E -x c", *(f"-D{m}" for m in macros),
                 *options, "once.pml"], folder)


def search(bench, macros, optimize):
    """Searches until everything was seen or a promise is broken; (folder,
    output of the search)."""
    for tool in ("spin", shlex.split(CC)[0]):
        if not shutil.which(tool):
            raise tap.Skip(f"{tool} is not installed")
    folder = bench.folder()
    shutil.copy(MODEL, os.path.join(folder, "once.pml"))
    spin(folder, macros, "-a")
    call([*shlex.split(CC), optimize, "-w", "-DSAFETY", "-DMEMLIM=2048",
          "-o", "pan", "pan.c"], folder)
    said = call(["./pan", "-m10000"], folder)
    states = re.search(r"(\d+) states, stored", said)
    took = re.search(r"elapsed time (\S+) seconds", said)
    assert states and took, said
    comment(f"{states[1]} states, {took[1]} s")
    return folder, said


def errors(said):
    return re.findall(r"errors: (\d+)", said)


def in_model(pattern):
    with open(MODEL, encoding="utf-8") as file:
        return set(re.findall(pattern, file.read(), re.M))


def promises():
    return in_model(r"^#define (\w+)\t+\d+ /\*")


@each(VARIANTS)
def every_promise_is_kept(bench, macros):
    _, said = search(bench, macros.split(), "-O2")
    equal(errors(said), ["0"], said)
    assert "Full statespace search" in said, said
    for shortened in ("search depth", "not completed", "out of memory"):
        assert shortened not in said, said
    # The end, where the promises are checked, was reached.
    assert re.search(r"unreached in init\n\t\(0 of ", said), said


def is_broken(bench, macros, promise):
    """The search finds a story that breaks the promise, and nothing else."""
    macros = [*macros.split(), f"ONLY={promise}"]
    folder, said = search(bench, macros, "-O0")
    equal(errors(said), ["1"], said)
    assert "assertion violated" in said, said
    story = spin(folder, macros, "-t", "-T").split("spin: trail ends")[0]
    comment(story)
    assert "assertion violated" in story, story


@each(MISTAKES)
def a_mistake_is_found(bench, macros, promise):
    is_broken(bench, macros, promise)


@each(LIMITS)
def no_gateway_can_help_it(bench, macros, promise):
    is_broken(bench, macros, promise)


@test
def every_macro_of_the_model_is_tried(bench):
    lines = in_model(r"^#(?:if|ifdef|ifndef|elif)\b.*")
    known = set(re.findall(r"\b[A-Z][A-Z_]+\b", " ".join(lines)))
    tried = {macro for _, macros, *_ in (*VARIANTS, *MISTAKES, *LIMITS)
             for macro in macros.split()}
    equal(known - promises() - {"ONLY", "ASKED"}, tried)


@test
def every_promise_is_broken_by_some_mistake(bench):
    equal({promise for *_, promise in MISTAKES}, promises())


tap.main()
