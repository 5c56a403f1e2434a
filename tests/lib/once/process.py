# SPDX-License-Identifier: BSD-2-Clause
"""A process of a test: a thread reads its output, and it never outlives the
test."""

import ctypes
import os
import resource
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from .wait import PATIENCE, Late, Watched, eventually

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
# Children die with the thread that made them, so one thread makes them all.
MOTHER = ThreadPoolExecutor(1)


def prepare(parent, limits):
    """Runs in the child: it is killed when the test dies."""
    for which, pair in limits.items():
        resource.setrlimit(which, pair)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


class Process(Watched):
    """Runs argv; self.lines is everything on standard output and error.
    limits: of resources, (soft, hard) each."""

    def __init__(self, argv, env=None, cwd=None, pass_fds=(),
                 limits=None):
        super().__init__()
        self.argv = argv
        self.lines = []
        self.ended = False  # of output
        self.reading = threading.Event()  # cleared: its pipe fills up
        self.reading.set()
        parent = os.getpid()
        self.child = MOTHER.submit(
            subprocess.Popen, argv, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=dict(os.environ, **(env or {})), cwd=cwd, pass_fds=pass_fds,
            preexec_fn=lambda: prepare(parent, limits or {})).result()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @property
    def pid(self):
        return self.child.pid

    def _read(self):
        with self.child.stdout as output:
            for raw in output:
                self.reading.wait()
                line = raw.decode("utf-8", "backslashreplace").rstrip("\n")
                with self.changed:
                    self.heard(line)
                    self.lines.append(line)
                    self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def heard(self, line):
        """Called for each line; subclasses read more out of it."""

    def wait_for_line(self, part, timeout=PATIENCE):
        """The first line that contains part."""
        def found():
            return next((line for line in self.lines if part in line), None)
        self.wait_until(lambda: found() or self.ended,
                        f'"{part}" from {self.argv[0]}', timeout)
        if not found():
            raise Late(f'{self.argv[0]} ended and never said "{part}":\n'
                       + "\n".join(self.lines[-20:]))
        return found()

    def running(self):
        return self.child.poll() is None

    def signal(self, number):
        if self.running():
            self.child.send_signal(number)

    def freeze(self):
        """SIGSTOP; when this returns, none of its threads runs any more."""
        self.signal(signal.SIGSTOP)
        self.wait_stopped()

    def wait_stopped(self):
        """The same of one that stops by itself."""
        eventually(lambda: self._all_are("T"), f"{self.argv[0]} is frozen")

    def wait_for_rest(self):
        """Waits until all of its threads wait for something."""
        eventually(lambda: self._all_are("S"), f"{self.argv[0]} rests")

    def _all_are(self, state):
        tasks = f"/proc/{self.pid}/task"
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/stat", encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] != state:
                    return False
        return True

    def thaw(self):
        self.signal(signal.SIGCONT)

    def wait(self, timeout=PATIENCE):
        """Its exit status, once it and its output have ended."""
        try:
            status = self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Late(f"{self.argv[0]} did not end") from None
        self.reader.join(timeout)
        return status

    def kill(self):
        """Kills it, frozen or not, and reaps it."""
        self.reading.set()
        if self.running():
            self.child.kill()
        return self.wait()
