# SPDX-License-Identifier: BSD-2-Clause
"""onceproxy.json(5), Agents: a server and a client of MCP, as the npm registry
has them, with the gateway between them.  contrib/check installs them where
there are node and npm."""

import json
import os
import shutil
import subprocess

from once import tap
from once.demo import source
from once.manual import Examples
from once.process import Process
from once.tap import equal, test
from once.wait import eventually

SDK = "@modelcontextprotocol/sdk"
EXAMPLE = Examples("onceproxy.json.5").take("mcp", {})


def start(bench):
    """A server, and the example of the manual in front of it."""
    modules = os.environ.get("NODE_PATH", "")
    if not shutil.which("node"):
        raise tap.Skip("no node program")
    if not os.path.isdir(os.path.join(modules, SDK)):
        raise tap.Skip(f"{SDK} is not installed (contrib/check)")
    server = bench.process(Process(
        ["node", source("tests/node/mcp.js"), "serve"]))
    eventually(lambda: server.lines, "it listens")
    config = bench.config(f"http://127.0.0.1:{server.lines[0]}")
    config.update(json.loads("{" + EXAMPLE + "}"))
    for route in config["routes"]:
        route["upstream"] = "api"
    return server, bench.serve(config)


def pay(gateway, *payments):
    """What the client was told of each KEY=AMOUNT."""
    done = subprocess.run(
        ["node", source("tests/node/mcp.js"), "pay",
         f"http://{gateway.address}/mcp", *payments],
        capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


@test
def a_call_that_is_made_again_is_told_the_first_result(bench):
    """Its client waits for an answer with the id of its own request."""
    server, gateway = start(bench)
    equal(pay(gateway, "k1=1", "k1=1", "k2=1", "k1=1"),
          ["pay_1", "pay_1", "pay_2", "pay_1"])
    equal(pay(gateway, "k2=1", "k3=1"), ["pay_2", "pay_3"])
    equal(len(server.lines), 4)


@test
def another_call_with_the_key_is_refused(bench):
    server, gateway = start(bench)
    equal(pay(gateway, "k1=1", "k1=2"), ["pay_1", "422"])
    equal(len(server.lines), 2)


tap.main()
