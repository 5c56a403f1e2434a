#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How the house is built: its rooms (the folders of src/), functions, circles
of files that use each other, and tests.

What git ignores is left out.  C is read as this project formats it: a function
has its return type, its name and its two braces in the first column.  It is
used where its name stands, called or handed over, but not where it is declared
or the name is that of a member or struct; names that macros make (##) are not
seen.  In circles a header and the .c file of its name are one file; a header
uses what its functions use, not what its tables name.

A line of the targets is a figure and its limit: "mean_body_min 12" is the
least, "code_room_max 9000" or "code_total 70000" the most; "#" begins a
comment.  After "below store gate/key" limits are those of these folders alone.
Each miss is a line, and exit status 1; wrong targets are status 2.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter, defaultdict, namedtuple

SHORT = 5  # lines of the body of a short function
PROGRAMS = (".c", ".h", ".js", ".lua", ".pml", ".py", ".sh")  # of tests/
BESIDES = {"Lua": r"\.lua$", "JS": r"\.js$", "man": r"\.[1-8]\.in$"}

# A comment, a string, a character.
OPAQUE = re.compile(r"/\*.*?\*/|//[^\n]*"
                    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
# One without a type is named by a macro.
FUNCTION = re.compile(r"^(?P<type>\w[^\n]*\n)?(?P<name>\w+)"
                      r"(?P<parameters>\((?:[^;{}\n]|\n[ \t])*\)\n)"
                      r"\{\n(?P<body>.*?)^\}\n(?P<gap>\n*)", re.M | re.S)
PROTOTYPE = re.compile(r"^(?:[A-Za-z_][\w \t*\n]*[ \t*\n])?\w+"
                       r"\([^;{}]*\)[\w\s(),]*;", re.M)
USE = re.compile(r"(?<![\w.])(?<!->)(?<!struct )(?<!enum )(?<!union )"
                 r"([A-Za-z_]\w*)(\()?")
Function = namedtuple("Function", "name static body overhead")


def blank(opaque):
    """Lines stay lines, and a line of a comment is no empty one."""
    filler = " " if opaque[0].startswith("/") else '""'
    return filler + "\n" * opaque[0].count("\n")


class Source:
    """A file of C."""

    def __init__(self, path, text):
        self.unit, self.suffix = os.path.splitext(path)
        self.lines = text.count("\n")
        text = OPAQUE.sub(blank, text)
        self.code = sum(line.strip() != "" for line in text.split("\n"))
        self.functions, bodies = [], ""
        for match in FUNCTION.finditer(text):
            kind, name, parameters, body, gap = match.groups(default="")
            head = (kind + parameters).count("\n")
            self.functions.append(Function(
                kind and name, "static" in kind.split(), body.count("\n"),
                head + 2 + len(gap)))
            bodies += body
        text = FUNCTION.sub(r"\g<body>", PROTOTYPE.sub("", text))
        uses = USE.findall(bodies if self.suffix == ".h" else text)
        self.uses = Counter(name for name, _ in uses)
        self.calls = Counter(name for name, called in uses if called)


def files(top):
    """The text of each file below it, by its path, but for what git ignores;
    of all of them where git knows none."""
    listed = subprocess.run(
        "unset $(git rev-parse --local-env-vars);"
        "git ls-files -z --cached --others --exclude-standard", shell=True,
        cwd=top, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    paths = os.fsdecode(listed).split("\0")[:-1] or [
        os.path.relpath(os.path.join(folder, name), top)
        for folder, _, names in os.walk(top) for name in names]
    texts = {}
    for path in sorted(paths):
        if os.path.isfile(os.path.join(top, path)):
            with open(os.path.join(top, path), errors="replace") as file:
                texts[path] = file.read()
    return texts


def room_of(unit):
    return os.path.dirname(unit) or "."


def graph(sources):
    """For each name the files that use it, but its own; for each file those
    that it uses; for each room those that it uses."""
    homes, users = defaultdict(set), defaultdict(set)
    for source in sources:
        own = {f.name for f in source.functions if f.static}
        for name in source.uses.keys() - own:
            users[name].add(source.unit)
        for f in source.functions:
            if f.name and (source.suffix == ".h" or not f.static):
                homes[f.name].add(source.unit)
    used, rooms = defaultdict(set), defaultdict(set)
    for name, home in homes.items():
        users[name] -= home
        if len(home) == 1:  # else it is not known which of them is used
            for user in users[name]:
                used[user] |= home
                rooms[room_of(user)] |= set(map(room_of, home))
    return users, used, rooms


def circles(used):
    """The strongly connected components with more than one node, the largest
    first."""
    reach = {}
    for start in used:
        seen, todo = set(), [start]
        while todo:
            new = used.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        reach[start] = seen
    found = {tuple(sorted(b for b in reach[a] if a in reach.get(b, ())))
             for a in reach}
    return sorted((c for c in found if len(c) > 1), key=lambda c: (-len(c), c))


def ratio(part, whole):
    return round(part / max(whole, 1), 4)


def mean(values):
    """Of truths: the share of those that are true."""
    values = list(values)
    return ratio(sum(values), len(values))


def is_below(unit, folders):
    """All is, where no folders are given."""
    return not folders or any(unit.startswith(f + "/") for f in folders)


def measure(checkout, folders=()):
    """Of the whole house, or of what is below these folders of src/."""
    src = files(os.path.join(checkout, "src"))
    house = [Source(path, text) for path, text in src.items()
             if path.endswith((".c", ".h"))]
    sources = [s for s in house if is_below(s.unit, folders)]
    rooms, total, tests = defaultdict(Counter), Counter(), Counter()
    for s in sources:
        for room in (rooms[room_of(s.unit)], total):
            room.update({s.suffix: 1, "lines": s.lines, "code": s.code,
                         "functions": len(s.functions)})
    for path, text in files(os.path.join(checkout, "tests")).items():
        if path.endswith(PROGRAMS):
            tests[path.split("/")[0]] += text.count("\n")
    besides = {kind: sum(text.count("\n") for path, text in src.items()
                         if re.search(pattern, path))
               for kind, pattern in BESIDES.items()}
    largest = max((room["code"] for room in rooms.values()), default=0)
    bodies = sorted(f.body for s in sources for f in s.functions) or [0]
    modules = [(s, f) for s in sources for f in s.functions
               if s.suffix == ".c"]
    module_lines = sum(s.lines for s in sources if s.suffix == ".c")
    statics = [(s.uses[f.name], s.calls[f.name])
               for s, f in modules if f.static]
    users, used, used_rooms = graph(house)
    exports = [len(users[f.name])
               for _, f in modules if f.name and not f.static]
    rings = [ring for ring in circles(used)
             if any(is_below(unit, folders) for unit in ring)]
    room_rings = [ring for ring in circles(used_rooms)
                  if any(is_below(room + "/", folders) for room in ring)]
    figures = {  # and what they are
        "lines_total": (total["lines"], "lines of C in src/"),
        "code_total": (total["code"], "neither empty nor comment"),
        "code_room": (largest, "of them in the largest room"),
        "code_room_share": (ratio(largest, total["code"]), "its share"),
        "functions_total": (total["functions"], "functions"),
        "mean_body": (mean(bodies), "lines of their bodies"),
        "median_body": (bodies[len(bodies) // 2], "lines, or less, in half"),
        "p90_body": (bodies[len(bodies) * 9 // 10], "in nine of ten"),
        "max_body": (bodies[-1], "in all of them"),
        "short_body": (mean(n <= SHORT for n in bodies),
                       f"have {SHORT} lines or less"),
        "statics": (len(statics), "static functions of .c files"),
        "single_use_static": (mean(uses == 1 for uses, _ in statics),
                              "used in one place"),
        "single_call_static": (mean(both == (1, 1) for both in statics),
                               "used in one place, and called there"),
        "exports": (len(exports), "exported functions"),
        "single_user_export": (mean(n <= 1 for n in exports),
                               "used by at most one other file"),
        "overhead": (ratio(sum(f.overhead for _, f in modules), module_lines),
                     "of .c lines: heads, braces, empty after functions"),
        "circles": (len(rings), "circles of files"),
        "circle_largest": (max(map(len, rings), default=0), "files in one"),
        "circle_files": (sum(map(len, rings)), "files in all of them"),
        "circle_rooms": (sum(map(len, room_rings)), "rooms in circles"),
        "tests_total": (sum(tests.values()), "lines of programs in tests/")}
    return {"rooms": rooms, "total": total, "besides": besides,
            "figures": figures, "circles": rings, "room_circles": room_rings,
            "tests": dict(tests.most_common())}


def listed(counts):
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def show(house):
    columns = (".c", ".h", "lines", "code", "functions")
    row = ("{:<18}" + "{:>10}" * len(columns)).format
    print(row("room", *columns))
    for name, room in [*sorted(house["rooms"].items(),
                               key=lambda item: -item[1]["code"]),
                       ("all", house["total"])]:
        print(row(name, *(room[column] for column in columns)))
    print(f"lines besides: {listed(house['besides'])}\n")
    for name, (value, what) in house["figures"].items():
        print(f"{name:<18}{value:>10}  {what}")
    print("circles of rooms:",
          "; ".join(map(" ".join, house["room_circles"])) or "none")
    texts = [f"tests: {listed(house['tests'])}"]
    for circle in house["circles"]:
        room = room_of(circle[0])
        texts.append(f"{len(circle):4}  {room}: " + " ".join(
            unit.removeprefix(room + "/") for unit in circle))
    for text in texts:
        print(textwrap.fill(text, 79, subsequent_indent=" " * 6))


def misses(checkout, file):
    """A line for each limit that is not kept; ValueError: no such limits."""
    folders, figures = (), measure(checkout)["figures"]
    for line in file:
        words = line.partition("#")[0].split()
        if words[:1] == ["below"]:
            folders = tuple(words[1:])
            figures = measure(checkout, folders)["figures"]
            continue
        match = re.fullmatch(r"(\w+?)(_min|_max)? (\S+)", " ".join(words))
        if words and not (match and match[1] in figures):
            raise ValueError(f"no figure and its limit: {line}")
        if match:
            value, limit = figures[match[1]][0], float(match[3])
            least = match[2] == "_min"
            if value < limit if least else value > limit:
                yield (" ".join((*folders, match[1])) + f": {value}, to be at "
                       f"{'least' if least else 'most'} {match[3]}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--targets", metavar="FILE")
    parser.add_argument("--below", metavar="FOLDER", nargs="+", default=())
    parser.add_argument("checkout", nargs="?", default=".")
    args = parser.parse_args()
    try:
        house = measure(args.checkout, args.below)
        if args.targets:
            with open(args.targets) as file:
                house["misses"] = list(misses(args.checkout, file))
    except (OSError, ValueError) as error:
        parser.error(error)
    if args.json:
        house["figures"] = {name: value for name, (value, _)
                            in house["figures"].items()}
        print(json.dumps(house, indent=1))
    else:
        show(house)
        for line in house.get("misses", ()):
            print("MISSED", line)
    return 1 if house.get("misses") else 0


if __name__ == "__main__":
    sys.exit(main())
