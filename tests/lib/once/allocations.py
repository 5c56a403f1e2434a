# SPDX-License-Identifier: BSD-2-Clause
"""How often a program asks for memory: a library for LD_PRELOAD that counts the
calls of malloc(), calloc() and realloc()."""

import mmap
import os
import shlex
import shutil
import subprocess

from . import tap
from .gateway import is_sanitized

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

/* Until the file is mapped, nobody reads what is counted. */
static unsigned long before;
static unsigned long *calls = &before;

__attribute__((constructor)) static void
map_counter(void)
{
	int file = open(getenv("ONCE_ALLOCATIONS"), O_RDWR | O_CLOEXEC);
	void *there = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE,
	    MAP_SHARED, file, 0);
	if (there == MAP_FAILED)
		abort();
	close(file);
	calls = there;
}

static void
count(void)
{
	__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

void *
malloc(size_t size)
{
	count();
	return __libc_malloc(size);
}

void *
calloc(size_t many, size_t size)
{
	count();
	return __libc_calloc(many, size);
}

void *
realloc(void *old, size_t size)
{
	count();
	return __libc_realloc(old, size);
}
"""


class Allocations:
    """env is for the program whose calls are counted."""

    def __init__(self, bench):
        if is_sanitized():
            raise tap.Skip("a sanitizer has a malloc() of its own")
        folder = bench.folder()
        compiler = shlex.split(os.environ.get("CC") or "cc")
        if not shutil.which(compiler[-1]):
            raise tap.Skip(f"{compiler[-1]} is not installed")
        code = os.path.join(folder, "allocations.c")
        library = os.path.join(folder, "allocations.so")
        with open(code, "w", encoding="utf-8") as out:
            out.write(SOURCE)
        subprocess.run([*compiler, "-O1", "-fno-builtin", "-shared", "-fPIC",
                        "-o", library, code], check=True)
        path = os.path.join(folder, "calls")
        with open(path, "wb+") as file:
            file.truncate(mmap.PAGESIZE)
            self.counter = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.env = {"LD_PRELOAD": library, "ONCE_ALLOCATIONS": path}

    def count(self):
        """Calls until now."""
        return int.from_bytes(self.counter[:8], "little")
