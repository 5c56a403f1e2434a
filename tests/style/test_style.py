# SPDX-License-Identifier: BSD-2-Clause
"""The house style, as far as a machine can see it."""

import os
import re

from once import tap
from once.demo import source
from once.tap import each, equal, test

MAX_FUNCTION_LINES = 80
MAX_COLUMNS = 80
TAB = 8

CODE = (".c", ".h", ".lua", ".py", ".sh", ".js", ".css", ".ac", ".am", ".inc",
        ".m4")
# Lists that are included more than once.
LISTS = ("src/tbl/", "src/conf/types.h", "tests/fuzz/targets.h")
PROGRAMS = ("contrib/check", "contrib/fuzz", "contrib/quickstart",
            "contrib/reproducible", "contrib/build-deb", "contrib/try-deb",
            "contrib/demo/payment-api", ".ci/run")
SPDX = "SPDX-License-Identifier: BSD-2-Clause"
PROMISES = re.compile(r"\b(%s)\b" % "|".join((
    "TO" + "DO", "FIX" + "ME", "XX" + "X", "place" + "holder",
    "un" + "implemented", "for " + "now")))


def files(*endings, below=("src", "etc", "contrib", "tests")):
    """Text files of ours: (path below the top, text)."""
    top = source("")
    found = [name for name in ("configure.ac", "Makefile.am", *PROGRAMS)
             if name.endswith(endings) or "" in endings]
    for start in below:
        for folder, folders, names in os.walk(os.path.join(top, start)):
            folders[:] = sorted(set(folders) - {
                "build-aux", "corpus", "node_modules", "__pycache__",
                ".deps"})
            found += [os.path.relpath(os.path.join(folder, name), top)
                      for name in sorted(names) if name.endswith(endings)]
    for name in dict.fromkeys(found):
        path = os.path.join(top, name)
        if os.path.exists(path) and not is_generated(name):
            with open(path, "rb") as file:
                data = file.read()
            if b"\0" not in data:  # a program, where the build is in place
                yield name, data.decode()


def is_generated(name):
    return (name in ("src/store/record/lua/scripts.c",
                     "src/operators/admin/page/page.c")
            or name.endswith((".log", ".trs", ".5", ".8")))


@test
def the_licence_stands_in_the_first_lines(bench):
    wrong = [name for name, text in files(*CODE)
             if SPDX not in "\n".join(text.split("\n")[:2])]
    equal(wrong, [])


@test
def there_is_no_white_space_at_the_end_of_lines(bench):
    wrong = [f"{name}:{number}" for name, text in files(*CODE, ".json", "")
             for number, line in enumerate(text.split("\n"), 1)
             if line != line.rstrip()]
    equal(wrong, [])


@test
def every_file_ends_with_one_line_feed(bench):
    wrong = [name for name, text in files(*CODE, ".json")
             if text and (not text.endswith("\n") or text.endswith("\n\n"))]
    equal(wrong, [])


@test
def no_line_of_code_is_wider_than_80_columns(bench):
    wrong = [f"{name}:{number}" for name, text in files(*CODE)
             for number, line in enumerate(text.split("\n"), 1)
             if len(line.expandtabs(TAB)) > MAX_COLUMNS]
    equal(wrong, [])


@test
def no_function_of_the_program_is_longer_than_80_lines(bench):
    wrong = []
    for name, text in files(".c", below=("src",)):
        start = None
        for number, line in enumerate(text.split("\n"), 1):
            if line == "{":
                start = number
            elif line == "}" and start is not None:
                if number - start > MAX_FUNCTION_LINES:
                    wrong.append(f"{name}:{start}: {number - start} lines")
                start = None
    equal(wrong, [])


@test
def nothing_promises_later_work(bench):
    wrong = [f"{name}:{number}: {line.strip()}"
             for name, text in files(*CODE, "")
             for number, line in enumerate(text.split("\n"), 1)
             if PROMISES.search(line)]
    equal(wrong, [])


@test
def headers_are_guarded_once(bench):
    wrong = [name for name, text in files(".h", below=("src", "tests"))
             if "#pragma once" not in text and not name.startswith(LISTS)]
    equal(wrong, [])


def table(name, macro):
    """The first names of a table's lines."""
    with open(source(f"src/tbl/{name}.h"), encoding="utf-8") as file:
        return re.findall(rf"^{macro}\(\s*([A-Za-z_]+)", file.read(), re.M)


@each([("events", "events", "EVENT", "EV_"),
       ("errors", "errors", "ERROR", "E_"),
       ("problems", "problems", "PROBLEM", "PROBLEM_"),
       ("invariants", "invariants", "INVARIANT_NAME", r"INVARIANT\(")])
def every_name_of_a_table_is_used(bench, name, macro, prefix):
    if not os.path.exists(source(f"src/tbl/{name}.h")):
        raise tap.Skip("there is no such table")
    names = table(name, macro)
    assert names
    code = "\n".join(text for file, text in files(".c", ".h", below=("src",)))
    unused = [n for n in names if not re.search(rf"\b{prefix}{n}\b", code)]
    if name == "problems":  # a table may choose them too
        unused = [n for n in unused
                  if len(re.findall(rf"\b{n}\b", code)) < 2]
    equal(unused, [])


@test
def every_file_is_in_a_makefile(bench):
    """What is in none is neither built, nor run, nor distributed."""
    makes = "".join(text for _, text in files(".inc", ".am"))
    listed = set(re.findall(r"[\w.-]+", makes))
    names = [name for name, _ in files(".c", ".h", ".lua", ".py",
                                       below=("src", "tests"))]
    equal([name for name in names if os.path.basename(name) not in listed
           and os.path.basename(name).removesuffix(".c") not in listed], [])


@test
def what_the_test_build_changes_is_compiled_for_it(bench):
    """The rest it takes from the program's library (tests/Makefile.inc)."""
    changed = [name for name, text in files(".c", below=("src",))
               if re.search(r"\b(INVARIANT|FAULT_POINT|SCRIPT_IN_TRIAL|OWN_MS)"
                            r"\(", text)]
    inline = [name for name, text in files(".h", below=("src",))
              if re.search(r"\bINVARIANT\(", text)]
    with open(source("tests/Makefile.inc"), encoding="ascii") as file:
        listed = re.search(r"\ntrial_sources = (.*?[^\\])\n", file.read(),
                           re.S)[1]
    equal((listed.replace("\\", "").split(), inline),
          (sorted(changed), ["src/base/test_build.h"]))


tap.main()
