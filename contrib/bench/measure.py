# SPDX-License-Identifier: BSD-2-Clause
"""CPU time of processes, wrk, and the client in an open loop."""

import json
import os
import shlex
import subprocess

from client import request

HERE = os.path.dirname(os.path.realpath(__file__))


def cpu_ns(pids):
    """What all threads of these processes had of the processors."""
    total = 0
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat",
                      encoding="ascii") as file:
                total += int(file.read().split()[0])
    return total


def said(argv, data=None):
    """The one line with figures that a client writes."""
    out = subprocess.run(argv, input=data, stdout=subprocess.PIPE,
                         check=True).stdout.decode()
    line = next(line for line in out.split("\n") if line.startswith("@"))
    return json.loads(line[1:])


def wrk(stage, rival, kind, target, word, seconds, connections):
    """Runs wrk against a rival; what its script says at the end."""
    scheme = "https" if stage.options.tls else "http"
    return said(
        [*stage.pinned("client"), "wrk", "-t1", f"-c{connections}",
         f"-d{seconds}s", "--timeout", "10s", "--latency",
         "-s", os.path.join(HERE, "request.lua"),
         f"{scheme}://127.0.0.1:{rival.port}", "--", kind, target, word])


def paced(stage, rival, kind, target, word, seconds, connections, per_second):
    """The same in an open loop, at that rate."""
    program = stage.path("paced")
    if not os.path.exists(program):
        subprocess.run(
            [*shlex.split(os.environ.get("CC") or "cc"), "-O2", "-o", program,
             os.path.join(HERE, "paced.c"), "-lm"], check=True)
    return said(
        [*stage.pinned("client"), program, str(rival.port), str(connections),
         str(per_second), str(seconds), kind, word],
        request(target, None if kind == "pass" else "@KEY@"))
