# SPDX-License-Identifier: BSD-2-Clause
"""A running onceproxy: its configuration, its log, its end."""

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys

from . import http
from .process import Process
from .skip import Skip
from .wait import PATIENCE, Late

SANITIZER_WORDS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer",
                   "runtime error:", "must(")


def program():
    return os.environ.get("ONCEPROXY", "onceproxy")


def is_sanitized():
    """A sanitizer adds memory of its own."""
    with open(program(), "rb") as file:
        return b"__asan_init" in file.read()


def command(*args, env=None, timeout=PATIENCE):
    """Runs a command of onceproxy to its end: exit status, output, errors."""
    done = subprocess.run(
        [program(), *args], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, errors="backslashreplace", timeout=timeout, check=False,
        env=dict(os.environ, **(env or {})))
    for word in SANITIZER_WORDS:
        assert word not in done.stderr, done.stderr
    return done


def without_places(text, file):
    """What check says of a file, less the lines and columns."""
    return re.sub(rf"(?m)^{re.escape(file)}:\d+:\d+: ", f"{file}: ", text)


def is_without(part):
    """Whether the program was built without an optional part."""
    return f"without {part}" in command("--version").stdout


def needs_systemd():
    if is_without("systemd"):
        raise Skip("built --without-systemd")


# Does what a service manager does, by sd_listen_fds(3): sockets from number 3
# on, announced in the environment of the process that has them.
ACTIVATE = """
import os, sys
fds = [int(fd) for fd in sys.argv[1].split(",")]
for number, fd in enumerate(fds, 3):
    os.dup2(fd, number)
    os.close(fd)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)),
                  LISTEN_FDNAMES=sys.argv[2])
os.execv(sys.argv[3], sys.argv[3:])
"""


class Gateway(Process):
    """Serves a configuration (a dict, written into folder).  run is a program
    in place of the one under test; passed is a list of (name, socket) that it
    gets as from a service manager."""

    def __init__(self, config, folder, env=None, ready=True, run=None,
                 passed=(), limits=None):
        self.config, self.folder = config, folder
        self.file = os.path.join(folder, "onceproxy.json")
        self.events = []  # the log, parsed
        self.stray = []  # lines that are no JSON
        self.sanitizer = False
        write(self.file, config)
        argv = [run or program(), "serve", "-c", self.file]
        fds = [fcntl.fcntl(s, fcntl.F_DUPFD_CLOEXEC, 100) for _, s in passed]
        if passed:
            needs_systemd()
            argv = [sys.executable, "-c", ACTIVATE,
                    ",".join(str(fd) for fd in fds),
                    ":".join(name for name, _ in passed), *argv]
        super().__init__(argv, env, pass_fds=fds, limits=limits)
        for fd in fds:
            os.close(fd)
        if ready:
            self.wait_ready()

    def heard(self, line):
        if any(word in line for word in SANITIZER_WORDS):
            self.sanitizer = True
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if isinstance(entry, dict):
            self.events.append(entry)
        else:
            self.stray.append(line)

    def wait_ready(self):
        self.ready = self.wait_for_log("ready")
        self.addresses = self.ready["listen"]
        self.address = self.addresses[0]

    def find_log(self, event, since=0, **members):
        return [e for e in self.events[since:] if e.get("event") == event
                and all(e.get(k) == v for k, v in members.items())]

    def wait_for_log(self, event, since=0, timeout=PATIENCE, **members):
        """The first line of the log with this event and these members."""
        self.wait_until(
            lambda: self.find_log(event, since, **members) or self.ended,
            f"{event} {members} in the log", timeout)
        found = self.find_log(event, since, **members)
        if not found:
            raise Late(f"the gateway ended without {event} {members}\n"
                       + "\n".join(self.lines[-20:]))
        return found[0]

    def wait_for_steps(self, step, count, timeout=PATIENCE):
        """Waits until so many machines have reached a step (log level
        debug)."""
        self.wait_until(
            lambda: len(self.find_log("step", step=step)) >= count,
            f"{count} machines at {step}", timeout)

    def ask(self, *args, **kwargs):
        """Sends a payment on a connection of its own (http.keyed); its
        answer."""
        return self.send(http.keyed(*args, **kwargs))

    def send(self, data):
        """Sends any bytes on a connection of their own; the answer."""
        answer = http.ask(self.address, data)
        if answer is None:
            raise http.Broken("the gateway closed and gave no answer")
        return answer

    def client(self, tls=None):
        return http.Client(self.address, tls=tls)

    def stop(self, number=signal.SIGTERM, status=0):
        """Ends it by a signal; its log must say how it ended."""
        self.signal(number)
        ended = self.wait()
        assert ended == status, f"the gateway ended with {ended}"
        self.check_sanitizer()

    def check_sanitizer(self):
        assert not self.sanitizer, "a sanitizer or must() complained"

    def tail(self, count=40):
        return self.lines[-count:]


@contextlib.contextmanager
def frozen(gateway):
    gateway.signal(signal.SIGSTOP)
    yield
    gateway.signal(signal.SIGCONT)


def write(file, config):
    with open(file, "w", encoding="utf-8") as out:
        out.write(config if isinstance(config, str)
                  else json.dumps(config, indent=2))
