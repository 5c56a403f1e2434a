# SPDX-License-Identifier: BSD-2-Clause
"""The arrows of knowledge: base <- conf <- {http, store, upstream} <- gate
<- cmd, and which folder may see which library."""

import os
import re
import shlex
import subprocess

from once import tap
from once.demo import source
from once.tap import equal, test

# What each folder may include from, besides itself and the tables.
MAY_SEE = {
    "base": set(),
    "tbl": set(),
    "conf": {"base"},
    "http": {"base", "conf"},
    "store": {"base", "conf"},
    "upstream": {"base", "conf"},
    "gate": {"base", "conf", "http", "store", "upstream"},
    "cmd": {"base", "conf", "http", "store", "upstream", "gate"},
    "lua": {"base", "store"},  # scripts.c, which make writes
    "man": {"base", "conf"},
}
# The libraries that these folders alone talk to.
OWNED = {"microhttpd.h": {"http"}, "curl/curl.h": {"upstream"},
         "hiredis/": {"store"}, "uv.h": {"base"}, "gnutls/": {"conf", "http"}}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


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


@test
def folders_include_only_what_is_below_them(bench):
    wrong = []
    for folder, path in sources(".c", ".h"):
        if folder not in MAY_SEE:
            continue  # main.c and gen.c see all
        for kind, name in INCLUDE.findall(read(path)):
            to = name.split("/")[0]
            if kind == '"' and to not in MAY_SEE[folder] | {folder, "tbl"}:
                wrong.append(f"{os.path.relpath(path)} includes {name}")
    equal(wrong, [])


@test
def every_folder_has_its_place_in_the_order(bench):
    folders = {folder for folder, _ in sources(".c", ".h")}
    equal(folders - set(MAY_SEE) - {".", "man"}, set())


@test
def each_library_is_known_to_its_folder_only(bench):
    wrong = []
    for folder, path in sources(".c", ".h"):
        for kind, name in INCLUDE.findall(read(path)):
            for library, owners in OWNED.items():
                if (kind == "<" and name.startswith(library)
                        and folder not in owners):
                    wrong.append(f"{os.path.relpath(path)} includes {name}")
    equal(wrong, [])


@test
def includes_of_ours_name_their_folder(bench):
    wrong = [f"{os.path.relpath(path)} includes {name}"
             for _, path in sources(".c", ".h")
             for kind, name in INCLUDE.findall(read(path))
             if kind == '"' and "/" not in name]
    equal(wrong, [])


@test
def every_header_compiles_alone(bench):
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = shlex.split(os.environ.get("CPPFLAGS", ""))
    if not flags:
        raise tap.Skip("the compiler's flags come from make check")
    headers = [path for folder, path in sources(".h")
               if folder != "tbl" and not path.endswith("conf/types.h")]
    assert headers
    broken = []
    for path in headers:
        done = subprocess.run(
            [*compiler, *flags, "-fsyntax-only", "-Werror", "-Wall", "-xc",
             "-"], input=f'#include "{path}"\n', text=True,
            capture_output=True, check=False)
        if done.returncode:
            broken.append(f"{os.path.relpath(path)}:\n{done.stderr}")
    assert not broken, "\n".join(broken)


tap.main()
