# SPDX-License-Identifier: BSD-2-Clause
"""What valgrind's callgrind writes: how many instructions each function took
by itself, and how often it was called."""

import collections
import re

SUBJECT = re.compile(r"(c?)(fn|fl|fi|fe|ob|file)=(?:\((\d+)\))? ?(.*)")
Function = collections.namedtuple("Function", "name file object")


class Profile:
    """self.cost and self.called are counted by Function; a call of a function
    of malloc.c from within malloc.c is not one."""

    def __init__(self, path):
        self.cost = collections.Counter()
        self.called = collections.Counter()
        self.names = {}
        self.now = {"fl": "", "fn": "", "ob": ""}
        self.there = {}
        skip = False
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                line = line.rstrip("\n")
                if skip:
                    skip = False  # what a call cost is in the one called
                elif line.startswith("calls="):
                    self.call(int(line[6:].split()[0]))
                    skip = True
                elif found := SUBJECT.fullmatch(line):
                    self.subject(*found.groups())
                elif line[:1] in "+-*" or line[:1].isdigit():
                    words = line.split()
                    if len(words) == 2:
                        self.cost[self.function(self.now)] += int(words[1])

    def subject(self, called, kind, number, name):
        """Names are written once, then only their numbers."""
        space = {"fn": "fn", "ob": "ob"}.get(kind, "fl")
        if number:
            if name:
                self.names[space, number] = name
            name = self.names[space, number]
        if called:
            self.there[space] = name
        elif kind not in ("fi", "fe"):
            # A file that is inlined counts as the one it is inlined in.
            self.now[space] = name

    @staticmethod
    def function(place):
        # callgrind counts a recursion as another function.
        return Function(re.sub(r"'\d+$", "", place["fn"]), place["fl"],
                        place["ob"])

    def call(self, times):
        there = {**self.now, **self.there}
        self.there = {}
        if not (there["fl"].endswith("malloc.c") and
                self.now["fl"].endswith("malloc.c")):
            self.called[self.function(there)] += times

    def total(self):
        return sum(self.cost.values())
