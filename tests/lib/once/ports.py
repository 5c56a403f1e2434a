# SPDX-License-Identifier: BSD-2-Clause
"""Ports of 127.0.0.1 for servers that are started, and started again, by
tests.  They lie below those that the kernel gives to clients: nobody gets one
of them while its server is down."""

import random
import socket

given = set()  # to servers of this process, which may not have begun yet


def is_free(port):
    with socket.socket() as sock:
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count):
    with open("/proc/sys/net/ipv4/ip_local_port_range",
              encoding="ascii") as file:
        end = int(file.read().split()[0])
    found = []
    while len(found) < count:
        port = random.randrange(min(10000, end // 2), end)
        if port not in given and is_free(port):
            given.add(port)
            found.append(port)
    return found


def free_port():
    return free_ports(1)[0]


def own_address():
    """For who is killed and asked all the same: with a port of the kernel's,
    the server of another test might answer in its place."""
    return f"127.0.0.1:{free_port()}"
