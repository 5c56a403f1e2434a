# SPDX-License-Identifier: BSD-2-Clause
"""Waiting for what gives no event: a condition, checked until a deadline."""

import os
import threading
import time

# Seconds; generous, because sanitizers and CI are slow.  Who expects that a
# wait is in vain (tests/invariants/) makes all of them short.
SHORT = os.environ.get("ONCE_PATIENCE")
PATIENCE = float(SHORT or 40)


class Late(AssertionError):
    """A condition did not become true in time."""


def allowed(timeout):
    return min(timeout, PATIENCE) if SHORT else timeout


def eventually(condition, what="the condition", timeout=PATIENCE):
    """Checks condition() until it is true, and returns its value."""
    timeout = allowed(timeout)
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
        """Waits until condition() is true, and returns its value.  It is looked
        at when something changed here, and every 50 ms besides: it may be about
        somebody else, too."""
        timeout = allowed(timeout)
        deadline = time.monotonic() + timeout
        with self.changed:
            while not (value := condition()):
                if time.monotonic() > deadline:
                    raise Late(f"{what}: not within {timeout} s")
                self.changed.wait(0.05)
            return value
