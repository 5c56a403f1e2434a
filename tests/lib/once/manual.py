# SPDX-License-Identifier: BSD-2-Clause
"""The manual pages as make built them, and the examples in them.

An example is a literal block; the line above it names it: .\\" try: NAME"""

import os
import re

from .tap import Skip, equal, is_chosen, skipped


def page(name):
    """The page's source."""
    top = os.environ.get("top_builddir") or "."
    with open(os.path.join(top, "src/man", name), encoding="utf-8") as file:
        return file.read()


def plain(text):
    """The text as a reader sees it."""
    return text.replace("\\&", "").replace("\\-", "-").replace("\\e", "\\")


NAMED = re.compile(r'^(?:\.\\" try: (\S+)\n)?\.Bd -literal.*\n'
                   r"((?:.*\n)*?)\.Ed$", re.M)


OTHER_FILES = {"token-keys"}


class Examples:
    """The examples of pages by name; remembers which were taken."""

    def __init__(self, *names):
        self.texts = {}
        self.nameless = []
        for label, text in NAMED.findall("".join(map(page, names))):
            if label:
                assert label not in self.texts, f"{label} twice in {names}"
                self.texts[label] = plain(text)
            else:
                self.nameless.append(plain(text))
        self.taken = set()

    def take(self, name, changes=None):
        """An example, with replacements for what differs here; whatever is to
        be replaced must be in it."""
        self.taken.add(name)
        return put_in(self.texts[name], changes or {})

    def configurations(self):
        """Those that are parts of one, and no file of its own, by name."""
        return {name: text for name, text in self.texts.items()
                if name not in OTHER_FILES}

    def left(self):
        """The examples that nobody took."""
        return sorted(set(self.texts) - self.taken) + self.nameless

    def all_were_tried(self):
        """For the last test of a file that runs a page."""
        if not is_chosen("\0"):
            raise Skip("only some tests are run")
        if skipped and self.left():
            raise Skip(f"{len(skipped)} tests of the page's were skipped")
        equal(self.left(), [])


def put_in(text, changes):
    for old, new in changes.items():
        assert old in text, f"{old} is not in\n{text}"
    return re.sub("|".join(map(re.escape, changes)) or "(?!)",
                  lambda found: changes[found.group()], text)
