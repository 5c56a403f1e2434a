# SPDX-License-Identifier: BSD-2-Clause
"""The manual as HTML: each link leads somewhere, those of the alerts too."""

import html.parser
import os
import re
import shutil
import subprocess

from once import tap
from once.demo import source
from once.tap import Skip, equal, test

PACKAGED = "file:///usr/share/doc/onceproxy/html/"


def pages():
    """Of the manual, as make built them, in the order of its list."""
    with open(source("src/Makefile.inc"), encoding="utf-8") as file:
        made = re.search(r"^man_MANS =((?:.*\\\n)*.*)", file.read(), re.M)
    top = os.environ.get("top_builddir") or "."
    return [os.path.join(top, name)
            for name in made.group(1).replace("\\", "").split()]


class Page(html.parser.HTMLParser):
    """What a page links to, and what in it can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        of = dict(attrs)
        self.links += [of["href"]] if "href" in of else []
        self.ids += [of["id"]] if "id" in of else []


def made(bench):
    """Pages by their file names."""
    if not shutil.which("mandoc"):
        raise Skip("there is no mandoc")
    folder = os.path.join(bench.folder(), "html")
    done = subprocess.run(
        [source("src/man/html.sh"), source("src/man/style.css"), folder,
         *pages()], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""))
    return {name: Page(os.path.join(folder, name))
            for name in os.listdir(folder)}


def leads_nowhere(known, name, link):
    file, _, anchor = link.partition("#")
    if re.fullmatch(r"https://manpages\.debian\.org/[a-z_.-]+\.\d", link):
        return "onceproxy" in link
    page = known.get(file or name)
    return page is None or (anchor != "" and anchor not in page.ids)


@test
def every_link_of_every_page_leads_somewhere(bench):
    known = made(bench)
    links = [(name, link) for name, page in known.items()
             for link in page.links]
    assert len(links) > 500, len(links)
    equal([pair for pair in links if leads_nowhere(known, *pair)], [])
    equal([link for link in known["index.html"].links
           if link != "style.css"],
          [os.path.basename(page) + ".html" for page in pages()])
    # The heading links to itself, and the table of contents to it.
    equal({name for name, page in known.items()
           if page.links.count("#SEE_ALSO") < 2}, {"style.css", "index.html"})
    equal([name for name, page in known.items()
           if len(page.ids) != len(set(page.ids))], [])


@test
def every_alert_leads_to_its_entry(bench):
    known = made(bench)
    with open(source("contrib/prometheus/onceproxy.rules.yml"),
              encoding="utf-8") as file:
        text = file.read()
    links = re.findall(rf'runbook_url: "{PACKAGED}(\S+#\w+)"', text)
    equal(len(links), text.count("- alert: "))
    equal([link for link in links if leads_nowhere(known, "", link)], [])


@test
def without_mandoc_it_says_so(bench):
    done = subprocess.run(
        ["/bin/sh", source("src/man/html.sh"), "", bench.folder()],
        env={"PATH": ""}, capture_output=True, text=True, check=False)
    equal((done.returncode, "there is no mandoc" in done.stderr), (1, True))


tap.main()
