# SPDX-License-Identifier: BSD-2-Clause
"""Adapters of servers/, with packages of the registries of Node and Python."""

import os
import subprocess
import sys

from adapter import Base

SERVERS = os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "..", "servers")


def once(folder, wanted, *commands):
    """Runs commands in a folder, unless it has what is wanted."""
    mark = os.path.join(folder, "installed")
    if os.path.exists(mark) and open(mark, encoding="utf-8").read() == wanted:
        return
    os.makedirs(folder, exist_ok=True)
    for command in commands:
        subprocess.run(command, cwd=folder, check=True)
    with open(mark, "w", encoding="utf-8") as file:
        file.write(wanted)


class Node(Base):
    """A server of Node.js, with packages of npm's registry."""
    server = None  # a file of servers/

    def install(self, folder):
        self.modules = os.path.join(folder, "node_modules")
        names = [f"{n}@{v}" for n, v in self.packages.items()]
        once(folder, " ".join(names), [
            "npm", "install", "--prefix", folder, "--no-audit", "--no-fund",
            "--loglevel=error", *names])

    def command(self, folder, port, redis, upstream):
        return (["node", os.path.join(SERVERS, self.server)],
                {"NODE_PATH": self.modules, "PORT": str(port),
                 **self.environment(redis, upstream)})


class Python(Base):
    """An application of uvicorn, with packages of PyPI."""
    application = None  # MODULE:NAME, of a file of servers/

    def install(self, folder):
        self.python = os.path.join(folder, "bin", "python")
        names = [f"{n}=={v}" for n, v in self.packages.items()]
        once(folder, " ".join(names), [sys.executable, "-m", "venv", folder],
             [self.python, "-m", "pip", "install", "-q",
              "--disable-pip-version-check", *names])

    def command(self, folder, port, redis, upstream):
        return ([self.python, "-m", "uvicorn", "--port", str(port),
                 "--app-dir", SERVERS, self.application],
                {"PYTHONDONTWRITEBYTECODE": "1",
                 **self.environment(redis, upstream)})
