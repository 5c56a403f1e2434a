# SPDX-License-Identifier: BSD-2-Clause
"""The arrows of knowledge (src/README), which folder may see which library,
and that every circle of includes is explained."""

import os
import re
import shlex
import subprocess

from modules import INCLUDE, below_src, circles, includes, read, sources
from once import tap
from once.demo import source
from once.tap import each, equal, test

# What each wing may include from, besides itself and the tables: the arrow
#
#   base <- conf <- store <- gate <- messages <- operators <- main
#           conf <- http  <-'
WINGS = {
    "tbl": set(),
    "base": set(),
    "conf": {"base"},
    "store": {"base", "conf"},
    "http": {"base", "conf"},
    "gate": {"base", "conf", "store", "http"},
    "messages": {"base", "conf", "store", "http", "gate"},
    "operators": {"base", "conf", "store", "http", "gate", "messages"},
    "man": {"base", "conf"},
}
# And each room from the rooms of its own wing.
LOAD = {"conf", "conf/jsonc", "conf/token"}
DRIVERS = {"messages/broker/" + name for name in
           ("kafka", "postgres", "streams")}
ROOMS = {
    "base": set(),
    "base/loop": {"base"},
    "conf": {"conf/token"},
    "conf/jsonc": set(),
    "conf/token": {"conf/jsonc"},
    "conf/load": LOAD,
    "conf/review": LOAD | {"conf/load"},
    "store": {"store/redis", "store/record", "store/journal"},
    "store/postgres": set(),  # of an API, and of messages
    "store/redis": set(),
    "store/record": {"store/redis"},
    "store/record/lua": {"store/record"},  # scripts.c, which make writes
    "store/journal": {"store/redis", "store/record"},
    "http/head": set(),
    "http/front": {"http/head"},
    "http/upstream": set(),
    "gate": {"gate/key"},
    "gate/key": set(),
    "messages": {"messages/broker"} | DRIVERS,
    "messages/broker": set(),
    **{driver: {"messages/broker"} for driver in DRIVERS},
    "messages/shared": set(),
    "messages/source": {"messages", "messages/broker", "messages/shared"},
    "messages/relay": {"messages", "messages/broker", "messages/shared",
                       "messages/broker/kafka", "messages/broker/postgres"},
    "operators/probe": set(),
    "operators/admin": set(),
    "operators/admin/page": {"operators/admin"},  # page.c, likewise
    "operators/commands": {"operators/admin", "operators/probe"},
    "operators/doctor": {"operators/commands", "operators/probe"},
    "tbl": set(),
    "man": set(),
}
# The libraries that these folders alone talk to.
OWNED = {
    "microhttpd.h": {"http/front"},
    "curl/curl.h": {"base", "conf/token", "http/upstream",
                    "operators/commands"},
    "hiredis/": {"messages/broker/streams", "operators/doctor",
                 "operators/probe", "store", "store/redis"},
    "uv.h": {"base/loop"},
    "gnutls/": {"conf/load", "conf/token", "http/front", "store/redis"},
    "zstd.h": {"store/record"},
    "libpq-fe.h": {"gate", "messages/broker/postgres", "operators/doctor",
                   "store/postgres"},
    "librdkafka/": {"conf/load", "messages/broker/kafka", "operators/doctor"},
    "systemd/": {"operators/commands"},
}


def wing(folder):
    return folder.split("/")[0]


@test
def wings_include_only_what_is_below_them(bench):
    wrong = []
    for folder, path in sources(".c", ".h"):
        if folder == ".":
            continue  # main.c and gen.c see all
        own = wing(folder)
        for kind, name in INCLUDE.findall(read(path)):
            if kind == '"' and wing(name) not in WINGS[own] | {own, "tbl"}:
                wrong.append(f"{below_src(path)} includes {name}")
    equal(wrong, [])


@test
def rooms_include_only_what_is_below_them_in_their_wing(bench):
    wrong = []
    for folder, path in sources(".c", ".h"):
        if folder == ".":
            continue
        for kind, name in INCLUDE.findall(read(path)):
            own, to = folder, os.path.dirname(name)
            if (kind == '"' and wing(to) == wing(own)
                    and to not in ROOMS[own] | {own}):
                wrong.append(f"{below_src(path)} includes {name}")
    equal(wrong, [])


@test
def every_folder_has_its_place_in_the_order(bench):
    folders = {folder for folder, _ in sources(".c", ".h")} - {"."}
    equal(folders - set(ROOMS), set())
    equal({wing(folder) for folder in folders} - set(WINGS), set())


@test
def the_arrows_form_no_circle(bench):
    """Whatever a wing or a room may see, nothing there may see it."""
    wrong = [(one, other) for arrows in (WINGS, ROOMS)
             for one, seen in arrows.items() for other in seen
             if one in arrows[other]]
    equal(wrong, [])


@test
def each_library_is_known_to_its_folder_only(bench):
    wrong = []
    for folder, path in sources(".c", ".h"):
        for kind, name in INCLUDE.findall(read(path)):
            for library, owners in OWNED.items():
                if (kind == "<" and name.startswith(library)
                        and folder not in owners):
                    wrong.append(f"{below_src(path)} includes {name}")
    equal(wrong, [])


@test
def includes_of_ours_name_their_folder(bench):
    wrong = [f"{below_src(path)} includes {name}"
             for _, path in sources(".c", ".h")
             for kind, name in INCLUDE.findall(read(path))
             if kind == '"' and "/" not in name]
    equal(wrong, [])


@test
def what_is_for_siblings_is_included_by_siblings(bench):
    wrong = [f"{below_src(path)} includes {name}"
             for folder, path in sources(".c", ".h")
             for _, name in INCLUDE.findall(read(path))
             if name.endswith("_private.h")
             and os.path.dirname(name) != folder]
    equal(wrong, [])


@test
def what_is_for_its_folder_alone_is_included_there_alone(bench):
    """A header that says "For src/store/ alone" means it."""
    alone = {below_src(path) for folder, path in sources(".h")
             if re.search(rf"\b[Ff]or (the files of )?src/{folder}/ alone",
                          re.sub(r"\n \*", "", read(path)))}
    assert alone
    wrong = [f"{below_src(path)} includes {name}"
             for folder, path in sources(".c", ".h")
             for _, name in INCLUDE.findall(read(path))
             if name in alone and os.path.dirname(name) != folder]
    equal(wrong, [])


@test
def no_circle_of_includes_crosses_a_folder(bench):
    wrong = [sorted(circle) for circle in circles(includes())
             if len({os.path.dirname(name) for name in circle}) > 1]
    equal(wrong, [])


def explained():
    """The circles that comments name: "Circle: link, handshake.  Why ..." in
    a header of one of them."""
    found = set()
    for folder, path in sources(".h"):
        text = re.sub(r"\n \*", "", read(path))
        for names in re.findall(r"\bCircle: ([\w, ]+)\.  \S", text):
            found.add(frozenset(
                f"{folder}/{name.strip()}" for name in names.split(",")))
    return found


@test
def every_circle_within_a_folder_is_explained(bench):
    found = {frozenset(circle) for circle in circles(includes())}
    equal([sorted(circle) for circle in found - explained()], [])
    equal([sorted(circle) for circle in explained() - found], [])


@each([(folder, folder) for folder in sorted(set(ROOMS) - {"tbl"})])
def every_header_compiles_alone(bench, name):
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = shlex.split(os.environ.get("CPPFLAGS", ""))
    if not flags:
        raise tap.Skip("the compiler's flags come from make check")
    headers = [path for folder, path in sources(".h")
               if folder == name and not path.endswith("conf/types.h")]
    broken = []
    for path in headers:
        done = subprocess.run(
            [*compiler, *flags, "-fsyntax-only", "-Werror", "-Wall", "-xc",
             "-"], input=f'#include "{path}"\n', text=True,
            capture_output=True, check=False)
        if done.returncode:
            broken.append(f"{below_src(path)}:\n{done.stderr}")
    assert not broken, "\n".join(broken)


tap.main()
