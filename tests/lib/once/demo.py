# SPDX-License-Identifier: BSD-2-Clause
"""The demo payment API of contrib/."""

import json
import os
import re
import sys

from .http import ask, build
from .process import Process


def source(path):
    """A file of the source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    top = os.environ.get("top_srcdir") or os.path.join(here, "../../..")
    return os.path.join(top, path)


COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)


def uncommented(text):
    """A configuration as editors read it, with comments; ValueError."""
    return json.loads(COMMENT.sub(lambda found: found.group(1) or " ", text))


def sample(path):
    """A configuration of the source tree."""
    with open(source(path), encoding="utf-8") as file:
        return uncommented(file.read())


class PaymentApi(Process):
    def __init__(self, *options, python=sys.executable):
        super().__init__([python, source("contrib/demo/payment-api"),
                          "--listen", "127.0.0.1:0", *options])
        self.url = self.wait_for_line("listening on").split()[-1]
        self.address = self.url.removeprefix("http://")

    def charges(self):
        """The requests that it executed, in order."""
        got = ask(self.address, build("GET", "/v1/charges"))
        return json.loads(got.body)["data"]
