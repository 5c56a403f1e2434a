# SPDX-License-Identifier: BSD-2-Clause
"""How much is tested.  ONCE_TIER is `quick` (contrib/check, and the default),
`all` (contrib/check --all) or `long` (make check-long).  Where the quick tier
has a part of what could be tried, the commit's id (ONCE_COMMIT) draws it, so
that commit by commit each has its turn."""

import os
import zlib

NAME = os.environ.get("ONCE_TIER") or "quick"
assert NAME in ("quick", "all", "long"), f"ONCE_TIER={NAME}"
ALL = NAME != "quick"
LONG = NAME == "long"
COMMIT = os.environ.get("ONCE_COMMIT", "")


def draw(what, choices):
    """The one of these choices whose turn it is."""
    return choices[zlib.crc32(f"{COMMIT} {what}".encode()) % len(choices)]


def tenth(names):
    """A tenth of these names, and at least one."""
    by_lot = sorted(names, key=lambda name: zlib.crc32(
        f"{COMMIT} {name}".encode()))
    return set(by_lot[:(len(by_lot) + 9) // 10])
