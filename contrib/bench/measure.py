# SPDX-License-Identifier: BSD-2-Clause
"""CPU time of processes, and wrk."""

import json
import os
import subprocess

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


def wrk(stage, rival, kind, target, word, seconds, connections, delay_ms=0):
    """Runs wrk against a rival; what its script says at the end.  delay_ms:
    a connection waits so long between two requests, on the average."""
    scheme = "https" if stage.options.tls else "http"
    out = subprocess.run(
        [*stage.pinned("client"), "wrk", "-t1", f"-c{connections}",
         f"-d{seconds}s", "--timeout", "10s", "--latency",
         "-s", os.path.join(HERE, "request.lua"),
         f"{scheme}://127.0.0.1:{rival.port}", "--", kind, target, word,
         str(delay_ms)],
        capture_output=True, text=True, check=True).stdout
    line = next(line for line in out.split("\n") if line.startswith("@"))
    return json.loads(line[1:])
