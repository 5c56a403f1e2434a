# SPDX-License-Identifier: BSD-2-Clause
"""README: its example is valid, its session runs exactly as printed, its
commands and files exist.  And the examples of onceproxy(8)."""

import json
import os
import re
import shlex
import shutil
import subprocess

from once import http, tap
from once.demo import PaymentApi, source
from once.gateway import command, program
from once.manual import Examples, page
from once.tap import Skip, each, equal, test


def readme():
    with open(source("README"), encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """The text that is indented by four spaces, each piece as one string."""
    pieces = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", text, re.M)
    return [re.sub("^    ", "", piece, flags=re.M) for piece in pieces]


def commands(text):
    """The lines of a shell example, continued ones joined."""
    return text.replace("\\\n", " ").strip().split("\n")


BLOCKS = blocks(readme())
SESSION = "\n".join(b for b in BLOCKS if b.startswith("$ "))


@test
def it_is_a_first_page(bench):
    assert len(readme().split("\n")) <= 200
    for line in readme().split("\n"):
        assert len(line) <= 80, line


@test
def its_configuration_is_valid(bench):
    found = [b for b in BLOCKS if b.startswith("{")]
    assert found
    for text in found:
        done = command("check", "-c", bench.file(text.encode()))
        equal(done.returncode, 0, done.stdout)


@test
def its_configuration_is_well_wherever_it_is_tried(bench):
    """As doctor sees it, with the Redis and the API that it names."""
    text, = (b for b in BLOCKS if b.startswith("{"))
    config = json.loads(text)
    config["store"]["redis"] = bench.own_redis(
        "--appendonly", "yes", "--appendfsync", "always").url
    config["upstreams"]["payments"] = bench.upstream().url
    done = subprocess.run(
        [program(), "doctor", "-c", bench.file(json.dumps(config).encode())],
        capture_output=True, text=True, check=False, cwd=bench.folder())
    equal(re.findall(r"(?m)^fail .*", done.stdout), [], done.stdout)
    equal(done.returncode, 0, done)


def curl(line, address):
    """The output of such a line: the lines of the head, and the body."""
    if not shutil.which("curl"):
        raise Skip("there is no curl")
    words = shlex.split(line.replace("127.0.0.1:8080", address))
    equal(words.pop(0), "curl")
    done = subprocess.run(["curl", "-sS", *words], capture_output=True,
                          text=True, check=True)
    return done.stdout.replace("\r", "").split("\n")


@test
def its_session_happens_as_it_stands_there(bench):
    api = bench.process(PaymentApi())
    gateway = bench.gateway(api.url)
    answers = re.findall(r"^\$ (.*)\n((?:(?!\$ ).+\n?)*)",
                         SESSION.replace("\\\n", " "), re.M)
    equal(len(answers), 2)
    for line, shown in answers:
        said = curl(line, gateway.address)
        for wanted in shown.split("\n"):
            status = re.match(r"HTTP/1.1 \d+", wanted)
            wanted = status.group() if status else wanted
            assert any(s.startswith(wanted) for s in said), (wanted, said)
    equal(len(api.charges()), 1)


@test
def a_second_api_of_the_demo_has_a_path_of_its_own(bench):
    api = bench.process(PaymentApi("--path", "/v1/payouts"))
    config = bench.config(api.url)
    config["routes"][0]["path"] = "/v1/payouts"
    gateway = bench.serve(config)
    for status in (201, 201):
        equal(gateway.ask("k", target="/v1/payouts").status, status)
    equal(gateway.ask("k", target="/v1/charges").status, 404)
    got = gateway.send(http.build("GET", "/v1/payouts"))
    equal(len(got.json()["data"]), 1)


@test
def its_commands_exist(bench):
    help_texts = {}
    lines = [line for block in BLOCKS for line in commands(block)
             if line.startswith(("onceproxy ", "contrib/"))]
    assert len(lines) >= 6, lines
    for line in lines:
        words = shlex.split(line)
        if words[0] != "onceproxy":
            assert os.access(source(words[0]), os.X_OK), line
            continue
        if words[1] not in help_texts:
            help_texts[words[1]] = command(words[1], "--help").stdout
        for word in words[2:]:
            if word.startswith("--") or (
                    words[1] == "keys" and word == words[2]):
                assert word in help_texts[words[1]], line


@test
def what_it_names_is_there(bench):
    text = readme()
    tree = r"(?<![\w/])((?:src|tests|etc|contrib)/[\w./-]*)"
    for name in re.findall(tree, text):
        assert os.path.exists(source(name.rstrip("."))), name
    for name, number in re.findall(r"(onceproxy[\w.-]*)\((\d)\)", text):
        file = source(f"src/man/{name}.{number}.in")
        assert os.path.exists(file), file


@test
def it_installs_what_the_scripts_install(bench):
    with open(source("contrib/lib-debian.sh"), encoding="utf-8") as file:
        wanted = re.search(r'build_packages="([^"]*)"', file.read()).group(1)
    line = next(line for block in BLOCKS for line in commands(block)
                if line.startswith("apt-get install"))
    # The first two come with the compiler; the third is for "make dist".
    wanted = set(wanted.split()) - {"libc6-dev", "xz-utils"}
    equal(wanted - set(line.split()), set())


@test
def it_says_what_configure_looks_for(bench):
    """In one place, for people without apt: each library, least version."""
    done = subprocess.run(
        ["bash", "-euc", 'top=$1; . "$top/contrib/lib-debian.sh"; '
         "wanted_libraries", "bash", source("")],
        capture_output=True, text=True, check=True)
    wanted = re.findall(r"(\S+) >= (\S+)", done.stdout)
    assert len(wanted) >= 12, wanted
    text = " ".join(readme().split())
    equal([pair for pair in wanted if " ".join(pair) not in text], [])


ROW = re.compile(r"(?m)^ +(?:[a-j] )?([a-z][a-z-]+)((?: +(?:\d+|-))+)"
                 r"( +0\.\d+)?$")


def rows(text):
    """Of a table: the numbers by the name before them; 0 for "-"."""
    return {name: [int(n) if n.isdigit() else 0 for n in numbers.split()]
            for name, numbers, _ in ROW.findall(text)}


@test
def its_table_is_the_kill_tests(bench):
    with open(source("contrib/killtest/README"), encoding="utf-8") as file:
        measured = rows(file.read())
    shown = rows(readme())
    equal(len(shown), 5)
    for name, numbers in shown.items():
        doubled, _, _, contradicted, stuck, unknown, of = measured[name]
        equal((name, numbers), (name, [doubled, contradicted, stuck, unknown]))
        assert f"of {of} payments" in " ".join(readme().split())


@test
def it_says_of_statuses_what_the_clients_page_says(bench):
    def of(text, row):
        return {means: set(re.findall(r"\d+", " ".join(
            statuses for statuses, m in re.findall(row, text) if m == means)))
            for means in ("the outcome", "nothing happened", "nobody knows")}
    equal(of(readme(), r"(?m)^    (\S.*?)  +(the \w+|no\w+ \w+)  "),
          of(page("onceproxy-clients.7"), r"\.It (.*)\n(\w+ \w+): a retry "))


# --- the pages beside it ---

BESIDE = ("CHANGELOG", "CONTRIBUTING", "SECURITY")


def beside(name):
    with open(source(name), encoding="utf-8") as file:
        return file.read()


@each([(name, name) for name in BESIDE])
def it_names(bench, name):
    assert name in readme()
    assert all(len(line) <= 80 for line in beside(name).split("\n"))


@test
def this_version_has_its_chapter_in_the_changelog(bench):
    version = command("--version").stdout.split()[1]
    assert re.search(rf"^{re.escape(version)}\b.*\n---", beside("CHANGELOG"),
                     re.M), version
    assert beside("contrib/debian/changelog").startswith(
        f"onceproxy ({version}-")


@test
def what_they_name_of_the_source_exists(bench):
    for name in BESIDE:
        named = re.findall(r"\b(?:contrib|src|tests)/[\w/.-]*\w", beside(name))
        equal([path for path in named if not os.path.exists(source(path))],
              [])


# --- onceproxy(8) and the pages about messages ---

@each([("onceproxy(8)", "onceproxy.8", 4),
       ("onceproxy-messages(7)", "onceproxy-messages.7", 8),
       ("onceproxy-kafka(7)", "onceproxy-kafka.7", 1)])
def the_commands_are_taken_of(bench, name, least):
    """They run until they ask a gateway, and there is none; those of redis-cli
    are run by blackbox/test_events.py."""
    examples = Examples(name)
    config = bench.config(bench.upstream(),
                          admin={"listen": f"unix:{bench.folder()}/none"})
    file = bench.file(json.dumps(config).encode())
    answer = bench.file(b"{}")
    tried = 0
    for text in examples.nameless + list(examples.texts.values()):
        for line in commands(text):
            if not line.startswith(("onceproxy keys", "onceproxy messages")):
                continue
            line = line.replace("KEY_ID", "0" * 32)
            words = shlex.split(line.replace("answer.json", answer))
            done = command(*words[1:], "-c", file)
            equal(done.returncode, 1, line + done.stderr)
            tried += 1
    assert tried >= least, tried


@each([(row, row) for row in ("serve", "check", "keys")])
def the_synopsis_has_the_command(bench, name):
    equal(command(name, "--help").returncode, 0)


tap.main()
