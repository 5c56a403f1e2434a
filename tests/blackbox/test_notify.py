# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: what a service manager is told (sd_notify(3)), and that
a gateway gives no more signs of life when a part of it hangs."""

import os
import signal
import socket
import threading
import time

from once import tap
from once.gateway import needs_systemd, write
from once.http import ask, build, keyed
from once.tap import Skip, equal, test
from once.wait import PATIENCE, Watched

SIGN = "WATCHDOG=1"
ALLOWED_S = 1  # WatchdogSec= of these services


class Manager(Watched):
    """The socket that a service manager listens on: messages has all that
    came, silence() is how long nothing has."""

    def __init__(self, folder):
        super().__init__()
        self.path = os.path.join(folder, "notify")
        self.messages = []
        self.last = time.monotonic()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            message = self.socket.recv(4096).decode()
            with self.changed:
                self.last = time.monotonic()
                self.messages.append(message)
                self.changed.notify_all()

    def but_signs(self):
        return [m for m in self.messages if m != SIGN]

    def signs(self):
        return self.messages.count(SIGN)

    def wait_signs(self, count):
        self.wait_until(lambda: self.signs() >= count, f"{count} signs")

    def wait_silence(self, seconds):
        """Returns once nothing has come for that long."""
        end = time.monotonic() + PATIENCE
        with self.changed:
            while time.monotonic() - self.last < seconds:
                assert time.monotonic() < end, "it goes on giving signs"
                self.changed.wait(0.1)


def serve(bench, program=None, members=None, **env):
    needs_systemd()
    manager = Manager(bench.folder())
    upstream = bench.upstream()
    config = bench.config(upstream, workers=2,
                          admin={"listen": "127.0.0.1:0"}, **(members or {}))
    gateway = bench.serve(config, program=program,
                          env={"NOTIFY_SOCKET": manager.path, **env})
    return manager, gateway


def microseconds(seconds):
    return str(int(seconds * 1e6))


@test
def start_reload_and_end_are_told_in_their_order(bench):
    manager, gateway = serve(bench)
    since = len(gateway.events)
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded", since)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    write(gateway.file, "{")
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reload_refused")
    gateway.stop()
    manager.wait_until(lambda: "STOPPING=1" in manager.messages)
    words = [m.split("\n")[0] for m in manager.messages]
    equal(words, ["READY=1", "RELOADING=1", "READY=1", "RELOADING=1",
                  "READY=1", "STOPPING=1"])
    name, value = manager.messages[1].split("\n")[1].split("=")
    equal(name, "MONOTONIC_USEC")
    assert before <= int(value) <= after, (before, value, after)


@test
def signs_of_life_come_once_it_is_ready_and_until_it_ends(bench):
    manager, gateway = serve(bench, WATCHDOG_USEC=microseconds(ALLOWED_S))
    manager.wait_signs(3)
    equal(manager.messages[0], "READY=1")
    gateway.ask("k")
    gateway.stop()
    manager.wait_until(lambda: "STOPPING=1" in manager.messages)
    equal(manager.messages[-1], "STOPPING=1")


@test
def no_sign_is_given_where_none_is_asked_for(bench):
    manager, gateway = serve(bench)
    gateway.ask("k")
    gateway.stop()
    manager.wait_until(lambda: "STOPPING=1" in manager.messages)
    equal(manager.signs(), 0)


@test
def no_sign_is_given_where_another_process_is_watched(bench):
    manager, gateway = serve(bench, WATCHDOG_USEC="3000",
                             WATCHDOG_PID=str(os.getpid()))
    gateway.ask("k")
    gateway.stop()
    manager.wait_until(lambda: "STOPPING=1" in manager.messages)
    equal(manager.signs(), 0)


@test
def one_worker_that_hangs_ends_the_signs_of_all(bench):
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program:
        raise Skip("this needs the build for tests")
    manager, gateway = serve(
        bench, program, ONCE_FAULT="execution:FORWARD", ONCE_FAULT_HANGS="1",
        WATCHDOG_USEC=microseconds(ALLOWED_S))
    manager.wait_signs(3)
    with gateway.client() as client:
        client.send(keyed("k"))
        gateway.wait_for_log("fault_point")
        manager.wait_silence(3 * ALLOWED_S)
        # The process lives, and so does the thread that gives signs of life.
        equal(ask(gateway.ready["admin"], build("GET", "/healthz")).status,
              200)
        gateway.kill()


tap.main()
