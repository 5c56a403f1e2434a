# SPDX-License-Identifier: BSD-2-Clause
"""Reads the files of the journal (src/store/journal/journal_entry.h), so that
a test can look for what must not be there."""

import glob
import os

HEAD_BYTES = 68


def files(state_dir):
    return glob.glob(os.path.join(state_dir, "journal", "*"))


def payloads(name):
    """What a file's records have, their masks taken off."""
    with open(name, "rb") as file:
        data = file.read()
    found = []
    while data:
        assert data[:4] == b"oj2\n", data[:4]
        mask = data[20:36]
        end = HEAD_BYTES + int.from_bytes(data[8:12], "little")
        found.append(bytes(byte ^ mask[i % len(mask)]
                           for i, byte in enumerate(data[HEAD_BYTES:end])))
        data = data[end:]
    return found


def contents(state_dir):
    """Every byte of all journals below a state_dir, as written and as read."""
    data = b""
    for name in files(state_dir):
        with open(name, "rb") as file:
            data += file.read()
        data += b"".join(payloads(name))
    return data
