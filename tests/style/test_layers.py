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

# What each folder may include from, besides itself and the tables: the arrow
#
#   base <- loop <- conf <- redis <- record <- {journal, probe} <- store
#                   conf <- {head, upstream, load}; redis <- broker
#                   base <- jsonc <- load <- review <- cmd
#   head <- http; {base, jsonc} <- token <- {conf, load, review, key}
#   {http, store} <- key; store <- shared
#   all of these but probe, load <- gate; {broker, shared, gate} <- source
#   {broker, shared, gate} <- relay; {source, relay} <- admin <- cmd
#   cmd <- {operate, doctor}; {cmd, doctor} -> {probe, load};
#   broker <- doctor
BASE = {"base"}
LOOP = BASE | {"loop"}
CONF = LOOP | {"conf"}
REDIS = CONF | {"redis"}
RECORD = REDIS | {"record"}
STORE = RECORD | {"journal", "store"}
SHARED = STORE | {"shared"}
HEAD = CONF | {"head"}
KEY = STORE | HEAD | {"http", "key", "token"}
GATE = KEY | {"upstream", "gate"}
SOURCE = GATE | {"broker", "shared", "source"}
RELAY = GATE | {"broker", "shared", "relay"}
MAY_SEE = {
    "tbl": set(),
    "base": set(),
    "loop": BASE,
    "conf": LOOP | {"token"},
    "jsonc": BASE,
    "token": BASE | {"jsonc"},
    "load": CONF | {"jsonc", "token"},
    "review": CONF | {"jsonc", "load", "token"},
    "redis": CONF,
    "record": REDIS,
    "journal": RECORD,
    "probe": RECORD,
    "store": STORE,
    "shared": SHARED,
    "head": HEAD,
    "http": HEAD,
    "upstream": CONF,
    "broker": REDIS,
    "broker/kafka": CONF | {"broker"},
    "key": KEY,
    "gate": GATE,
    "source": GATE | {"broker", "shared"},
    "relay": GATE | {"broker", "shared"},
    "admin": SOURCE | RELAY,
    "cmd": SOURCE | RELAY | {"admin", "load", "probe", "review"},
    "operate": GATE | {"cmd", "load"},
    "doctor": GATE | {"broker", "cmd", "load", "probe"},
    "lua": {"record"},  # scripts.c, which make writes
    "man": CONF,
}
# The libraries that these folders alone talk to.
OWNED = {"microhttpd.h": {"http"}, "curl/curl.h": {"upstream"},
         "hiredis/": {"broker", "redis", "probe", "store"}, "uv.h": {"loop"},
         "gnutls/": {"load", "http", "redis", "token"}, "zstd.h": {"record"},
         "libpq-fe.h": {"broker", "probe"},
         "librdkafka/": {"broker/kafka", "load", "probe"},
         "systemd/": {"cmd"}}


@test
def folders_include_only_what_is_below_them(bench):
    wrong = []
    for folder, path in sources(".c", ".h"):
        if folder not in MAY_SEE:
            continue  # main.c and gen.c see all
        for kind, name in INCLUDE.findall(read(path)):
            to = name.split("/")[0]
            if kind == '"' and to not in MAY_SEE[folder] | {folder, "tbl"}:
                wrong.append(f"{below_src(path)} includes {name}")
    equal(wrong, [])


@test
def every_folder_has_its_place_in_the_order(bench):
    folders = {folder for folder, _ in sources(".c", ".h")}
    equal(folders - set(MAY_SEE) - {"."}, set())


@test
def the_arrows_form_no_circle(bench):
    """Whatever a folder may see, nothing there may see the folder."""
    wrong = [(one, other) for one, seen in MAY_SEE.items() for other in seen
             if one != other and one in MAY_SEE[other]]
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


@each([(folder, folder) for folder in sorted(set(MAY_SEE) - {"tbl"})])
def every_header_compiles_alone(bench, room):
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = shlex.split(os.environ.get("CPPFLAGS", ""))
    if not flags:
        raise tap.Skip("the compiler's flags come from make check")
    headers = [path for folder, path in sources(".h")
               if folder == room and not path.endswith("conf/types.h")]
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
