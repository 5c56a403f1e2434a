# SPDX-License-Identifier: BSD-2-Clause
"""The manual pages are well-formed and complete, and their examples valid."""

import base64
import json
import os
import re
import shutil
import subprocess

from once import tap
from once.certificates import Authority
from once.demo import source
from once.gateway import command
from once.manual import Examples, page, plain
from once.tap import Skip, each, equal, test

EXAMPLES = Examples("onceproxy.json.5")

NAMES = ["onceproxy.8", "onceproxy.json.5", "onceproxy-attacks.7",
         "onceproxy-brokers.7", "onceproxy-clients.7", "onceproxy-doctor.7",
         "onceproxy-faq.7", "onceproxy-kafka.7", "onceproxy-limits.7",
         "onceproxy-log.7", "onceproxy-messages.7", "onceproxy-metrics.7",
         "onceproxy-postgres.7", "onceproxy-relays.7", "onceproxy-runbook.7",
         "onceproxy-setup.7", "onceproxy-store.7", "onceproxy-tutorial.7",
         "onceproxy-unknown.7"]
PAGES = [(f"{n[:-2]}({n[-1]})", n) for n in NAMES]


def table(name, pattern):
    found = []
    names = {"options": ("options", "route_options", "answer_options",
                         "message_options", "relay_options", "scope_options",
                         "unknown_options")}.get(
        name, (name,))
    for part in names:
        with open(source(f"src/tbl/{part}.h"), encoding="utf-8") as file:
            found += re.findall(pattern, file.read(), re.M)
    return found


@each(PAGES)
def troff_has_nothing_to_complain_of(bench, name):
    if not shutil.which("groff"):
        raise Skip("there is no groff")
    done = subprocess.run(
        ["groff", "-mandoc", "-Tutf8", "-ww"], input=page(name), text=True,
        capture_output=True, check=False)
    if "can't open" in done.stderr or "fatal" in done.stderr:
        raise Skip("this groff has no mdoc")
    equal((done.returncode, done.stderr), (0, ""))


@each(PAGES)
def nothing_is_left_to_be_filled_in(bench, name):
    equal(re.findall("^@.*@$|@[A-Z]+@", page(name), re.M), [])


@each(PAGES)
def mandoc_has_nothing_to_complain_of(bench, name):
    if not shutil.which("mandoc"):
        raise Skip("there is no mandoc")
    done = subprocess.run(
        ["mandoc", "-Tlint", "-Wstyle"], input=page(name), text=True,
        capture_output=True, check=False)
    # Other manuals need not be installed where this runs; and ALERTS is meant.
    known = ("referenced manual not found", "Sh ALERTS instead of CAVEATS",
             "operating system explicitly specified")
    equal([line for line in done.stdout.splitlines()
           if not any(words in line for words in known)], [])


# Macros that are also words: mdoc would not print these as they are.
WORDS = {"Ad", "An", "At", "Em", "Er", "Es", "Fa", "Fr", "In", "Ms", "No",
         "Re", "So", "Ta"}


@each(PAGES)
def no_word_is_taken_for_a_macro(bench, name):
    lines = re.findall(r"^\.(?:It|Sh|Ss|Dq) (.*)", page(name), re.M)
    equal([line for line in lines if WORDS & set(line.split())], [])


@test
def every_page_is_installed(bench):
    with open(source("src/Makefile.inc"), encoding="utf-8") as file:
        made = re.search(r"^man_MANS =((?:.*\\\n)*.*)", file.read(), re.M)
    equal(sorted(made.group(1).replace("\\", "").split()),
          sorted(f"src/man/{name}" for name in NAMES))


# --- references ---

# A section of another page in a page, of the same one, and in other texts.
XR = r"Xr (onceproxy\S*) (\d)"
IN_PAGES = [
    rf"{XR} ,(?:\n| No | Sx )([A-Z][^\n]*?)[ .,;:)]*\n",
    rf"\.Dq (.+)\n(?:in|of)\n\.{XR}",
    rf"\b((?:[A-Z']+\s)*[A-Z']+) (?:in|of)\n\.{XR}",
]
IN_ITSELF = r"^\.(?:Pq )?(?:see )?Sx ([^\n]+?)[ .,;:)]*$"
IN_TEXTS = r"(onceproxy[a-z.-]*)\((\d)\),\s((?:[A-Z]+,? )*[A-Z]+)\b"


def references(name):
    """Of a page: pairs of a page and a section."""
    text = plain(page(name))
    found = [(name, title) for title in re.findall(IN_ITSELF, text, re.M)]
    for pattern in IN_PAGES:
        for got in re.findall(pattern, text):
            first = got[0].startswith("onceproxy")
            where, number, title = got if first else (*got[1:], got[0])
            found.append((f"{where}.{number}", " ".join(title.split())))
    return found


# What make writes beside them while this runs has other names.
KINDS = (".c", ".h", ".in", ".inc", ".js", ".json", ".py", ".socket", ".yml",
         "README")


def texts():
    """Paths of what is beside the pages."""
    for room in ("contrib", "etc", "src", "tests"):
        for folder, _, names in os.walk(source(room)):
            yield from (os.path.join(folder, n) for n in names
                        if n.endswith(KINDS))
    yield from (source(n) for n in ("CHANGELOG", "README", "SECURITY"))


def references_of_texts():
    found = []
    for path in texts():
        with open(path, encoding="utf-8", errors="replace") as file:
            got = re.findall(IN_TEXTS, file.read())
        found += [(f"{where}.{number}", title) for where, number, title in got]
    return found


def is_there(name, title):
    """A sentence may go on behind the title and a comma."""
    return name in NAMES and any(
        (title + ",").startswith(heading + ",") for heading in
        re.findall(r"^\.S[hs] (.*)", plain(page(name)), re.M))


@test
def every_section_that_is_referred_to_exists(bench):
    inside = [r for name in NAMES for r in references(name)]
    beside = references_of_texts()
    assert len(inside) > 20 and len(beside) > 10, (inside, beside)
    equal([r for r in inside + beside if not is_there(*r)], [])


# --- attacks ---

ATTACKS = plain(page("onceproxy-attacks.7")).partition("\n.Dd ")[2]


@test
def every_test_that_shows_an_attack_exists(bench):
    names = set(re.findall(r"\btest_\w+", ATTACKS)) - {"test_front"}
    assert len(names) > 30, names
    paths = {f"tests/blackbox/{name}.py" for name in names}
    paths |= set(re.findall(r"\btests/[\w/.]*\w", ATTACKS))
    equal([path for path in sorted(paths)
           if not os.path.exists(source(path))], [])


@test
def what_an_attack_meets_exists(bench):
    """Members, events and metrics."""
    known = {path.split(".")[-1] for path in table(
        "options", r'^OPT\(\w+, "([^"]+)"')}
    known |= set(table("events", r"^EVENT\((\w+),"))
    known |= set(table("metrics", r'"((?:onceproxy|process)_\w+)"'))
    named = re.findall(r"\b[a-z]+_[a-z_]+\b", ATTACKS)
    equal([name for name in named if name not in known
           and not name.startswith("test_")], [])


# --- whole ---

# Tables whose lines are written by hand, and the section with an item for each.
TABLES = [
    ("events", r"^EVENT\((\w+),", "onceproxy-log.7", "LOG", 40),
    # What leaves together in one turn is counted one by one.
    ("scripts", r'^SCRIPT\((?!claims|completes|seeks)\w+, "([^"]+)"',
     "onceproxy-metrics.7", "OPERATIONS OF REDIS", 20),
    ("message_outcomes", r'^MESSAGE_(?:OUTCOME|REASON)\(\w+, "([^"]+)"',
     "onceproxy-messages.7", "WHAT HAPPENS TO A MESSAGE", 15),
]


def section(text, title):
    """From a heading to the next of its kind."""
    kind, rest = re.search(
        rf"^\.(Sh|Ss) {re.escape(title)}\n((?:.*\n)*)", text, re.M).groups()
    return re.split(rf"^\.(?:Sh|{kind}) ", rest, maxsplit=1, flags=re.M)[0]


@each([(row[0], *row) for row in TABLES])
def every_line_is_in_the_manual_of(bench, name, pattern, where, title, least):
    text = section(plain(page(where)), title)
    items = re.findall(r'^\.It Sy "?([^"\n]+)"?', text, re.M)
    lines = table(name, pattern)
    assert len(lines) >= least, lines
    equal([n for n in lines if n not in items], [])


@test
def every_member_stands_in_one_list(bench):
    """Those of a group may be shared out among several."""
    items = re.findall(r'^\.It Sy "([^"]+)"',
                       plain(page("onceproxy.json.5")), re.M)
    lines = table("options", r'^OPT\(\w+, "([^"]+)"')
    equal({n: items.count(n) for n in lines},
          {n: lines.count(n) for n in lines})


@test
def every_table_that_is_printed_has_its_place(bench):
    with open(source("src/man/manual.c"), encoding="utf-8") as file:
        names = re.findall(r'\{"(\w+)", (?:put_|word|#?name|"\+")', file.read())
    text = ""
    for name in NAMES:
        with open(source(f"src/man/{name}.in"), encoding="utf-8") as file:
            text += file.read()
    assert len(names) > 10, names
    equal([n for n in names if text.count(f"\n@{n}@\n") != 1], [])


# --- what is dropped ---

CHUNKED = (b"POST /x HTTP/1.1\r\nHost: a\r\n"
           b"Transfer-Encoding: chunked\r\n\r\n")
PAY = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"


@each([("extensions", CHUNKED + b"5;a=b\r\nhello\r\n0\r\n\r\n"),
       ("trailers", CHUNKED + b"5\r\nhello\r\n0\r\nA: b\r\n\r\n"),
       ("empty lines", b"\r\n\r\n" + PAY)])
def what_is_dropped_does_not_reach_the_upstream(bench, data):
    """onceproxy-limits(7), MALFORMED REQUESTS."""
    upstream, gateway = bench.pair()
    equal(gateway.send(data).status, 201)
    seen = upstream.requests[0]
    equal((seen.body, seen.get("Trailer"), seen.get("A")),
          (b"hello", None, None))
    assert b"\n" not in seen.raw.replace(b"\r\n", b""), seen.raw


# --- examples ---

def completed(text):
    """A whole configuration, made of one or of some members of it."""
    if text.startswith("{"):
        return json.loads(text)
    members = json.loads("{" + text + "}")
    idempotency = members.pop("idempotency", {})
    return {
        "listen": ["127.0.0.1:0"],
        "upstreams": {"payments": "http://127.0.0.1:9000"},
        "routes": [{"path": "/v1/charges", "upstream": "payments",
                    "idempotency": idempotency}],
        **members}


def files_of_the_examples(bench):
    """The files that examples name below /etc, and ours in their place."""
    authority = Authority(bench.folder())
    own = authority.issue("gateway")
    key = base64.b64encode(bytes(32))
    return {
        "/etc/onceproxy/chain.pem": own.file,
        "/etc/onceproxy/key.pem": own.key,
        "/etc/onceproxy/shops.pem": authority.file,
        "/etc/onceproxy/bank-ca.pem": authority.file,
        "/etc/onceproxy/redis-ca.pem": authority.file,
        "/etc/onceproxy/issuer-keys.json": bench.file(
            EXAMPLES.take("token-keys").encode()),
        "/etc/onceproxy/gateway.pem": own.file,
        "/etc/onceproxy/gateway.key": own.key,
        "/etc/onceproxy/redis-password": bench.file(b"secret\n"),
        "/etc/onceproxy/record-names": bench.file(b"secret\n"),
        "/etc/onceproxy/store-2026": bench.file(key),
        "/etc/onceproxy/store-2025": bench.file(key),
        "/etc/onceproxy/token": bench.file(b"Bearer secret\n"),
        "/etc/onceproxy/queue-password": bench.file(b"secret\n"),
        "/etc/onceproxy/shop-password": bench.file(b"secret\n"),
        "/etc/onceproxy/kafka-password": bench.file(b"secret\n"),
        "/etc/onceproxy/hook-secret": bench.file(b"whsec_" + key),
        "/etc/onceproxy/hook-before": bench.file(b"whsec_" + key),
    }


@test
def every_example_of_a_configuration_is_valid(bench):
    files = files_of_the_examples(bench)
    for name in EXAMPLES.configurations():
        text = EXAMPLES.take(name)
        text = EXAMPLES.take(name, {f: files[f] for f in files if f in text})
        assert "/etc/" not in text, text
        whole = json.dumps(completed(text)).encode()
        done = command("check", "-c", bench.file(whole),
                       env={"ADMIN_TOKEN": "secret"})
        assert "a 404 for a mistyped path" not in done.stdout, name
        said = re.sub(r".*: (built without (PostgreSQL|Kafka)|warning: .*)\n",
                      "", done.stdout)
        if said:
            equal((done.returncode, said.count("\n")), (0, 1),
                  name + ": " + said)
    equal(EXAMPLES.left(), [])


def objects(groups, group, value):
    """Adds an object with the members of a group, if it is one."""
    if isinstance(value, dict):
        groups.setdefault(group, []).append(value)


def groups_of(config):
    """The objects of a configuration, by the group of options that they
    have."""
    groups = {"ROOT": [config]}
    for entry in config["listen"]:
        objects(groups, "LISTEN", entry)
    for upstream in config["upstreams"].values():
        objects(groups, "UPSTREAM", upstream)
    for route in config["routes"]:
        objects(groups, "ROUTE", route)
        policy = route.get("idempotency", {})
        objects(groups, "IDEMPOTENCY", route.get("idempotency"))
        for entry in policy.get("scope", []):
            objects(groups, "SCOPE", entry)
        if isinstance(policy.get("on_unknown"), dict):
            for name in ("reconcile", "witness"):
                objects(groups, name.upper(), policy["on_unknown"].get(name))
    objects(groups, "IDEMPOTENCY", config.get("defaults"))
    for broker in config.get("brokers", {}).values():
        objects(groups, "BROKER", broker)
    for one in config.get("sources", {}).values():
        objects(groups, "SOURCE", one)
    for one in config.get("relays", {}).values():
        objects(groups, "RELAY", one)
    for token in config.get("admin", {}).get("tokens", {}).values():
        objects(groups, "ADMIN_TOKEN", token)
    for key in config.get("store", {}).get("encryption_keys", []):
        objects(groups, "ENCRYPTION_KEY", key)
    return groups


def has(value, path):
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


@test
def every_option_has_an_example(bench):
    shown = [groups_of(completed(t))
             for t in EXAMPLES.configurations().values()]
    missing = [
        (group, path)
        for group, path in table("options", r'^OPT\((\w+), "([^"]+)"')
        if not any(has(value, path) for groups in shown
                   for value in groups.get(group, []))]
    equal(missing, [])


tap.main()
