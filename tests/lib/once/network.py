# SPDX-License-Identifier: BSD-2-Clause
"""Machines on a switch, each in a network namespace of its own, that can be
cut off from each other.  A namespace lives as long as the process that holds
it, so nothing is left when a test dies."""

import os
import shutil
import subprocess

from .process import Process
from .skip import Skip
from .wait import eventually


class Namespace:
    """A machine; words in front of a command run it there."""

    def __init__(self):
        self.holder = Process(["unshare", "-n", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")

        def is_apart():
            if not self.holder.running():
                raise Skip("no network namespaces here: "
                           + " ".join(self.holder.lines))
            return os.readlink(f"/proc/{self.holder.pid}/ns/net") != own
        eventually(is_apart, "a namespace of its own")
        self.words = ["nsenter", "-t", str(self.holder.pid), "-n"]

    def ip(self, line):
        done = subprocess.run([*self.words, "ip", *line.split()],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Skip(f"ip {line}: {done.stderr.strip()}")

    def stop(self):
        self.holder.kill()


class Machine(Namespace):
    def __init__(self, switch, number):
        super().__init__()
        self.switch, self.number = switch, number
        self.host = f"10.77.0.{number}"
        switch.ip(f"link add p{number} type veth peer name eth0 "
                  f"netns {self.holder.pid}")
        switch.ip(f"link set p{number} master br0")
        switch.ip(f"link set p{number} up")
        self.ip("link set lo up")
        self.ip("link set eth0 up")
        self.ip(f"addr add {self.host}/24 dev eth0")

    def unplug(self):
        self.switch.ip(f"link set p{self.number} down")

    def plug(self):
        self.switch.ip(f"link set p{self.number} up")

    def lose(self, others):
        """Lets nothing pass between it and those, and everything else."""
        for other in others:
            self.ip(f"route add blackhole {other.host}/32")
            other.ip(f"route add blackhole {self.host}/32")

    def find(self, others):
        for other in others:
            self.ip(f"route del blackhole {other.host}/32")
            other.ip(f"route del blackhole {self.host}/32")


class Network:
    def __init__(self, count):
        if not all(shutil.which(p) for p in ("unshare", "nsenter", "ip")):
            raise Skip("there is no unshare, nsenter or ip")
        self.namespaces = []
        try:
            self.switch = Namespace()
            self.namespaces.append(self.switch)
            self.switch.ip("link add br0 type bridge")
            self.switch.ip("link set br0 up")
            for number in range(1, count + 1):
                self.namespaces.append(Machine(self.switch, number))
        except BaseException:
            self.stop()
            raise

    @property
    def machines(self):
        return self.namespaces[1:]

    def stop(self):
        for namespace in self.namespaces:
            namespace.stop()
