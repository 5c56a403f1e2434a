# SPDX-License-Identifier: BSD-2-Clause
"""A disk that takes its time: a library for LD_PRELOAD, in which fsync and
fdatasync wait for as long as the test says."""

import errno
import os
import shlex
import shutil
import subprocess

from . import tap
from .gateway import is_sanitized
from .wait import eventually

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Until the one who writes to the FIFO has closed it; at once without one. */
static void
wait_for_disk(void)
{
	char byte;
	int fifo = open(getenv("ONCE_DISK"), O_RDONLY | O_CLOEXEC);
	if (fifo < 0)
		return;
	while (read(fifo, &byte, 1) > 0)
		continue;
	close(fifo);
}

int
fsync(int file)
{
	wait_for_disk();
	return (int)syscall(SYS_fsync, file);
}

int
fdatasync(int file)
{
	wait_for_disk();
	return (int)syscall(SYS_fdatasync, file);
}
"""


class SlowDisk:
    """env is for the gateway whose disk it is."""

    def __init__(self, bench):
        folder = bench.folder()
        compiler = shlex.split(os.environ.get("CC") or "cc")
        if not shutil.which(compiler[0]):
            raise tap.Skip(f"{compiler[0]} is not installed")
        code = os.path.join(folder, "disk.c")
        library = os.path.join(folder, "disk.so")
        with open(code, "w", encoding="utf-8") as out:
            out.write(SOURCE)
        subprocess.run([*compiler, "-shared", "-fPIC", "-o", library, code],
                       check=True)
        self.path = os.path.join(folder, "fifo")
        self.fifo = None
        self.env = {"LD_PRELOAD": library, "ONCE_DISK": self.path}
        if is_sanitized():
            self.env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + (
                os.environ.get("ASAN_OPTIONS", ""))

    def hold(self):
        """From now on, nothing that is synced is on disk until release()."""
        os.mkfifo(self.path)

    def wait_arrived(self):
        """Waits until something is being synced."""
        eventually(self._open, "something is synced")

    def _open(self):
        try:
            self.fifo = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            assert error.errno == errno.ENXIO, error
        return self.fifo is not None

    def release(self):
        os.unlink(self.path)
        os.close(self.fifo)
        self.fifo = None
