# SPDX-License-Identifier: BSD-2-Clause
"""The table of tests/wrong: configurations as newcomers write them, each as
what is changed in another one, and what is answered to it."""

import re

from .demo import source

NAME = re.compile(r"([a-z0-9-]+):(?: ([a-z-]+))?")
LINES = re.compile(r" +(\d+)(?:-(\d+))?\|(.*)")
MORE_LINES = re.compile(r" +\|(.*)")
ANSWER = re.compile(r"  (\d+:\d+) (.*)")
MORE_WORDS = re.compile(r" {8}(\S.*)")


class WrongFile:
    """One entry: its text, and what is said of it, (place, words)."""

    def __init__(self, name, of):
        self.name = name
        self.of = of  # the entry that this one is made of, or None
        self.changes = []  # (first line, last line, lines in their place)
        self.answers = []

    def add(self, line):
        """Takes a line of the table that belongs to this entry."""
        if found := LINES.fullmatch(line):
            first, last, text = found.groups()
            self.changes.append((int(first), int(last or first), [text]))
        elif found := MORE_LINES.fullmatch(line):
            self.changes[-1][2].append(found.group(1))
        elif found := ANSWER.fullmatch(line):
            self.answers.append(found.groups())
        elif found := MORE_WORDS.fullmatch(line):
            place, words = self.answers.pop()
            self.answers.append((place, f"{words} {found.group(1)}"))
        else:
            raise ValueError(f"{self.name}: what does this say: {line!r}")

    def lines(self):
        lines = self.of.lines() if self.of else []
        # From behind, so that the numbers of the other one hold.
        for first, last, instead in sorted(self.changes, reverse=True):
            lines[first - 1:last] = instead
        return lines

    def text(self):
        return "".join(line + "\n" for line in self.lines())


def wrong_files():
    """All entries of the table by name, the right ones included."""
    with open(source("tests/wrong/table.txt"), encoding="utf-8") as file:
        table = file.read().split("\n\n")[-1]  # behind what explains it
    files, entry = {}, None
    for line in table.splitlines():
        if found := NAME.fullmatch(line):
            name, of = found.groups()
            if name in files:
                raise ValueError(f"{name} stands there twice")
            entry = files[name] = WrongFile(name, of and files[of])
        else:
            entry.add(line)
    return files
