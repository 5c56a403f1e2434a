# SPDX-License-Identifier: BSD-2-Clause
"""One thread of a process of ours stands still, while its others go on: what a
scheduler may do at any time, and a test cannot wait for."""

import ctypes
import os
from contextlib import contextmanager

from .skip import Skip
from .wait import eventually

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17  # <sys/ptrace.h>
WALL = 0x40000000  # of waitpid(2): threads, too
POLLS = ("7", "73")  # poll(2) of x86-64, ppoll(2) of AArch64
LIBC = ctypes.CDLL(None, use_errno=True)


def threads(pid, name):
    """The numbers of its threads of that name."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/comm") as file:
                if file.read().strip() == name:
                    found.append(int(thread))
        except FileNotFoundError:
            pass  # it has ended
    return found


def trace(request, thread):
    zero = ctypes.c_void_p(0)
    if LIBC.ptrace(ctypes.c_long(request), ctypes.c_int(thread), zero,
                   zero) != 0:
        why = os.strerror(ctypes.get_errno())
        raise Skip(f"no thread can be stopped here: {why}")


def stop(thread):
    trace(SEIZE, thread)
    trace(INTERRUPT, thread)
    os.waitpid(thread, WALL)


def stop_in_poll(thread):
    """True: it stands where it waits for its peers, and holds no lock that
    others need."""
    stop(thread)
    with open(f"/proc/{thread}/syscall") as file:
        if file.read().split()[0] in POLLS:
            return True
    trace(DETACH, thread)
    return False


@contextmanager
def stopped(those):
    """All of these threads, which poll; where this process ends, they go
    on."""
    done = []
    try:
        for thread in those:
            eventually(lambda: stop_in_poll(thread), "a thread that polls")
            done.append(thread)
        yield
    finally:
        for thread in done:
            trace(DETACH, thread)
