# SPDX-License-Identifier: BSD-2-Clause
"""onceproxy-tutorial(7), typed by somebody who follows it: from its first line
to its last, in one shell, with nothing else but other ports."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess

from once import tap
from once.demo import source
from once.gateway import program
from once.manual import Examples, page, plain
from once.ports import free_ports
from once.tap import Skip, equal, test

EXAMPLES = Examples("onceproxy-tutorial.7")
PATIENCE_S = 120
# A reader's second is a busy machine's moment: until the API has the payment.
SECOND = "& sleep 1\n"
UNTIL = "& until grep -q '^waiting' api.log; do sleep 0.1; done\n"
OLD = '     "idempotency": {"lease": "2s", "label": ["/order"]}},\n'


def typed(name):
    """The commands of a block, after a line with its name."""
    text = re.sub(r"^\$ ", "", EXAMPLES.take(name), flags=re.M)
    return f"echo; echo '--- {name}'\n{text}"


def written(text):
    return f"cat >onceproxy.json <<'END'\n{text}END\n"


def script():
    """All blocks in their order."""
    first = EXAMPLES.take("onceproxy.json")
    assert OLD in first
    files = {"onceproxy.json": first,
             "reconcile": first.replace(OLD, EXAMPLES.take("reconcile"))}
    json.loads(files["reconcile"])
    return "".join(written(files[name]) if name in files else typed(name)
                   for name in EXAMPLES.texts)


def follow(bench):
    """Types it all; what came out, by the names of the blocks."""
    text = script().replace("SOURCE", source("."))
    assert SECOND in text
    text = text.replace(SECOND, UNTIL)
    for old, new in zip(("8080", "9090", "9000"), free_ports(3)):
        text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
    folder = bench.folder()
    os.symlink(program(), os.path.join(folder, "onceproxy"))
    output = os.path.join(folder, "output")
    with open(output, "wb") as out, subprocess.Popen(
            ["sh", "-c", text], cwd=folder, stdout=out, stderr=out,
            start_new_session=True,
            env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")) as sh:
        try:
            sh.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            pass  # the output shows where it stands
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(sh.pid, signal.SIGKILL)
    with open(output, encoding="utf-8") as file:
        output = file.read()
    equal(sh.returncode, 0, output)
    parts = re.split(r"^--- (\S+)\n", output, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def statuses(text):
    return re.findall(r"^HTTP/1.1 (\d+)", text, re.M)


@test
def half_an_hour_ends_with_nobody_charged_twice(bench):
    if not shutil.which("curl"):
        raise Skip("there is no curl")
    said = follow(bench)
    assert said["check"].startswith("onceproxy.json: ok\n"), said["check"]
    equal(statuses(said["first"]), ["201", "201"])
    equal(said["first"].count("Idempotent-Replayed: true"), 1)
    equal(statuses(said["refused"]), ["422", "409", "201"])
    equal(statuses(said["lost"]), ["502", "409"])
    assert "dropped the answer" in said["lost"], said["lost"]
    equal(said["resolved"].count("UNKNOWN"), 2, said["resolved"])
    equal(statuses(said["resolved"]), ["201"])
    equal(statuses(said["asked"]), ["502", "201"])
    equal(len(re.findall("^charged", said["asked"], re.M)), 1)
    lines = [line for line in said["killed"].strip().split("\n")
             if line != "Killed"]  # the shell's word, if it has one
    assert all("tries again" in line for line in lines[:3]), lines
    equal(lines[3:], ["20"])


@test
def every_block_of_the_page_was_tried(bench):
    EXAMPLES.all_were_tried()
    equal(plain(page("onceproxy-tutorial.7")).count("\n.Bd "),
          len(EXAMPLES.texts))


tap.main()
