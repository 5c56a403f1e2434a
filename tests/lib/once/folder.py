# SPDX-License-Identifier: BSD-2-Clause
"""Temporary folders, short enough for the path of a Unix socket."""

import shutil
import tempfile


def make_folder():
    path = tempfile.mkdtemp(prefix="once-")
    if len(path) > 60:  # sun_path has 108 bytes, and names come behind it
        shutil.rmtree(path)
        path = tempfile.mkdtemp(prefix="once-", dir="/tmp")
    return path


def drop_folder(path):
    shutil.rmtree(path, ignore_errors=True)
