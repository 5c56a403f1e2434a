# SPDX-License-Identifier: BSD-2-Clause
"""Runs a program under what a unit of systemd lets it do: the system calls,
address families and memory that the unit's SystemCallFilter=,
RestrictAddressFamilies=, MemoryDenyWriteExecute= and RestrictNamespaces= say.

    python3 -m once.confine UNIT PROGRAM ARGUMENT...

libseccomp does it as systemd does; systemd-analyze knows the sets of calls."""

import ctypes
import errno
import mmap
import os
import re
import socket
import subprocess
import sys

ALLOW = 0x7FFF0000
EQUAL, MASKED = 4, 7
PROT_EXEC_WRITE = mmap.PROT_EXEC | mmap.PROT_WRITE
FAMILIES = {"AF_UNIX": socket.AF_UNIX, "AF_INET": socket.AF_INET,
            "AF_INET6": socket.AF_INET6}


def failing(error):
    """What happens at a call that is not allowed."""
    return 0x00050000 | error


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("how", ctypes.c_int),
                ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def settings(unit):
    """{name: [values]} of a unit's file, in their order."""
    found = {}
    with open(unit, encoding="utf-8") as file:
        for name, value in re.findall(r"^(\w+)=(.*)$", file.read(), re.M):
            found.setdefault(name, []).append(value)
    return found


def calls_of(name):
    """The system calls of a set, or the one of that name."""
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(["systemd-analyze", "syscall-filter", name],
                          capture_output=True, text=True, check=True).stdout
    found = set()
    for line in said.splitlines()[1:]:
        if line.strip() and not line.strip().startswith("#"):
            found |= calls_of(line.strip())
    return found


def allowed_calls(unit):
    """The first line allows, "~" takes away, others add."""
    calls = calls_of("@default")
    for line in settings(unit)["SystemCallFilter"]:
        names = set().union(*map(calls_of, line.lstrip("~").split()))
        calls = calls - names if line.startswith("~") else calls | names
    return calls | {"execve"}  # systemd's own, to start the program


def masked(argument, mask, value):
    return Comparison(argument, MASKED, mask, value)


def conditions(unit):
    """{call: comparisons, of which one must hold}."""
    said = settings(unit)
    found = {}
    if said["MemoryDenyWriteExecute"] == ["yes"]:
        plain = masked(2, mmap.PROT_EXEC, 0)
        found["mmap"] = [plain, masked(2, PROT_EXEC_WRITE, mmap.PROT_EXEC)]
        found["mprotect"] = found["pkey_mprotect"] = [plain]
    found["socket"] = [Comparison(0, EQUAL, FAMILIES[name], 0)
                       for name in said["RestrictAddressFamilies"][0].split()]
    return found


def confine(unit):
    """Confines this process, and all that it becomes and starts."""
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(lib.seccomp_init(failing(errno.EPERM)))
    extra = conditions(unit)
    calls = allowed_calls(unit)

    def rule(action, call, comparisons=()):
        number = lib.seccomp_syscall_resolve_name(call.encode())
        if number < 0:  # this architecture has no such call
            return
        array = (Comparison * max(1, len(comparisons)))(*comparisons)
        status = lib.seccomp_rule_add_array(
            context, ctypes.c_uint32(action), number,
            ctypes.c_uint(len(comparisons)), array)
        assert status == 0, (call, status)

    # Its flags cannot be looked at, so that RestrictNamespaces= has glibc
    # take clone() instead.
    rule(failing(errno.ENOSYS), "clone3")
    for call in calls - {"clone3"}:
        for comparison in extra.get(call, [None]):
            rule(ALLOW, call, [comparison] if comparison else [])
    assert lib.seccomp_load(context) == 0


def main():
    unit, program, *arguments = sys.argv[1:]
    confine(unit)
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    main()
