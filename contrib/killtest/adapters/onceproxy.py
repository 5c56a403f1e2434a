# SPDX-License-Identifier: BSD-2-Clause
import json
import os
import shutil
import subprocess

from adapter import Base

TOP = os.path.join(os.path.dirname(__file__), "..", "..", "..")


class Adapter(Base):
    words = "as it is by default, but for shorter times"

    def install(self, folder):
        """ONCEPROXY, or the one that is installed or built here."""
        built = os.path.join(TOP, "build", "check", "src", "onceproxy")
        self.program = os.environ.get("ONCEPROXY") or shutil.which(
            "onceproxy") or os.path.realpath(built)

    def version(self):
        return subprocess.run([self.program, "--version"], check=True,
                              capture_output=True, text=True).stdout.split()[1]

    def command(self, folder, port, redis, upstream):
        path = os.path.join(folder, "onceproxy.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({
                "listen": [f"127.0.0.1:{port}"], "state_dir": folder,
                "instance": os.path.basename(folder), "workers": 1,
                "store": {"redis": f"redis://127.0.0.1:{redis}/0"},
                "upstreams": {"api": {
                    "targets": [f"http://127.0.0.1:{upstream}"],
                    "timeout": f"{self.patience_s}s"}},
                "routes": [{
                    "name": "charges", "methods": ["POST"],
                    "path": "/charges", "upstream": "api",
                    "idempotency": {"lease": f"{self.lease_s}s"}}]}, file)
        return [self.program, "serve", "-c", path], {}

    def says_unknown(self, status, fields, body):
        return b"outcome-unknown" in body
