# SPDX-License-Identifier: BSD-2-Clause
"""The C files of src/ as modules, for the style tests.  A module is NAME.c
with NAME.h and NAME_private.h; a header without a .c is one too."""

import os
import re

from once.demo import source

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# A definition has its return type on the line before.
DEFINED = re.compile(r"^(?!static\b)([a-z_][\w ]*[\w*][ *]*)\n([a-z_]\w*)\(",
                     re.M)


def sources(*endings):
    """(folder below src, path) of the C files."""
    top = source("src")
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name.endswith(endings):
                below = os.path.relpath(folder, top)
                yield below, os.path.join(folder, name)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def below_src(path):
    return os.path.relpath(path, source("src"))


def module_of(name):
    """The module of "redis/link.c", "redis/link_private.h" …: redis/link."""
    return re.sub(r"(_private)?\.[ch]$", "", name)


def includes():
    """Which modules each module includes, itself and tables left out."""
    graph = {}
    for _, path in sources(".c", ".h"):
        own = module_of(below_src(path))
        others = graph.setdefault(own, set())
        for kind, name in INCLUDE.findall(read(path)):
            if kind == '"' and not name.startswith("tbl/"):
                others.add(module_of(name))
        others.discard(own)
    return graph


def circles(graph):
    """Sets of modules, each of which leads to each other (Tarjan)."""
    found, stack, numbers, lows = [], [], {}, {}

    def visit(node):
        numbers[node] = lows[node] = len(numbers)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in numbers:
                visit(other)
            if other in stack:
                lows[node] = min(lows[node], lows[other])
        if lows[node] == numbers[node]:
            at = stack.index(node)
            circle = set(stack[at:])
            del stack[at:]
            if len(circle) > 1:
                found.append(circle)
    for node in sorted(graph):
        if node not in numbers:
            visit(node)
    return found


def exported(text):
    """Names of the functions that a .c file defines for others."""
    return [name for _, name in DEFINED.findall(COMMENT.sub("", text))]
