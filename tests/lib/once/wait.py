# SPDX-License-Identifier: BSD-2-Clause
"""Waiting for what gives no event: a condition, looked at until a deadline."""

import threading
import time

PATIENCE = 20.0  # seconds; generous, because sanitizers and CI are slow


class Late(AssertionError):
    """What was waited for did not happen in time."""


def eventually(condition, what="the condition", timeout=PATIENCE):
    """Looks at condition() until it is true and returns its value."""
    pause = threading.Event()
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Late(f"{what}: not within {timeout} s")
        pause.wait(0.01)


class Watched:
    """An object whose changes can be waited for, from any thread."""

    def __init__(self):
        self.changed = threading.Condition()

    def wait_until(self, condition, what="the condition", timeout=PATIENCE):
        """Waits, without looking again and again, until condition() holds."""
        with self.changed:
            if not self.changed.wait_for(condition, timeout):
                raise Late(f"{what}: not within {timeout} s")
            return condition()
