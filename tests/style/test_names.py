# SPDX-License-Identifier: BSD-2-Clause
"""A name leads to its room: an exported function begins with its file's name
and is declared in that file's header, and a tag stands once."""

import collections
import os
import re

from modules import COMMENT, below_src, exported, read, sources
from once import tap
from once.tap import equal, test

PROGRAMS = ("main.c", "gen.c")  # they export nothing
# By make, where the build is in place.
MADE = ("store/record/lua/scripts.c", "operators/admin/page/page.c")
TAG = re.compile(r"^\t*(?:static (?:const )?)?(struct|enum|union) (\w+) \{",
                 re.M)


def files():
    return [path for _, path in sources(".c")
            if below_src(path) not in PROGRAMS + MADE]


def stem(path):
    return os.path.basename(path)[:-2]


@test
def an_exported_function_begins_with_its_files_name(bench):
    wrong = [f"{below_src(path)}: {name}" for path in files()
             for name in exported(read(path))
             if name != stem(path) and not name.startswith(stem(path) + "_")]
    equal(wrong, [])


def headers_of(path):
    """NAME.h and NAME_private.h of a file, or of the family whose name its
    own begins with: request_claim.c may stand in request_private.h."""
    words = stem(path).split("_")
    found = []
    for count in range(len(words), 0, -1):
        start = os.path.join(os.path.dirname(path), "_".join(words[:count]))
        found += [start + ".h", start + "_private.h"]
    return [name for name in found if os.path.exists(name)]


@test
def an_exported_function_stands_in_its_files_header(bench):
    wrong = []
    for path in files():
        text = "\n".join(read(name) for name in headers_of(path))
        # Tables of steps or types (X-macros) declare some functions.
        tables = "\n".join(
            read(name) for folder, name in sources(".h") if folder == "tbl"
            and os.path.basename(name) in re.findall(r'"tbl/(\w+\.h)"', text))
        tables += "\n".join(read(name) for _, name in sources("types.h"))
        wrong += [f"{below_src(path)}: {name}"
                  for name in exported(read(path))
                  if not re.search(rf"\b{name}[(;]", text)
                  and not re.search(rf"\b{name}\b", tables)]
    equal(wrong, [])


@test
def every_file_has_its_header(bench):
    """Or there is a table that declares all that it exports."""
    table = "\n".join(read(name) for _, name in sources("types.h"))
    equal([below_src(path) for path in files() if not headers_of(path)
           and not all(re.search(rf"\b{name}\b", table)
                       for name in exported(read(path)))], [])


@test
def a_tag_stands_once(bench):
    where = collections.defaultdict(list)
    for _, path in sources(".c", ".h"):
        for kind, tag in TAG.findall(COMMENT.sub("", read(path))):
            where[tag].append(below_src(path))
    equal({tag: names for tag, names in where.items() if len(names) > 1}, {})


tap.main()
