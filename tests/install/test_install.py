# SPDX-License-Identifier: BSD-2-Clause
"""`make install` puts each file where a distribution expects it, keeps what
the operator has changed, and `make uninstall` leaves nothing."""

import os
import re
import shutil
import stat
import subprocess

from once import tap
from once.tap import Skip, equal, test

WANTED = {
    "@sbindir@/onceproxy": 0o755,
    "@sysconfdir@/onceproxy/onceproxy.json": 0o644,
    "@pkgdatadir@/onceproxy.schema.json": 0o644,
    "@pkgdatadir@/prometheus/onceproxy.rules.yml": 0o644,
    "@pkgdatadir@/grafana/onceproxy.json": 0o644,
    "@datadir@/bash-completion/completions/onceproxy": 0o644,
    "@datadir@/zsh/site-functions/_onceproxy": 0o644,
    "@docdir@/CHANGELOG": 0o644,
    "@docdir@/README": 0o644,
    "@docdir@/SECURITY": 0o644,
    "@docdir@/examples/kafka.json": 0o644,
    "@docdir@/examples/kubernetes.json": 0o644,
    "@docdir@/examples/onceproxy.json": 0o644,
    "@docdir@/examples/onceproxy.socket": 0o644,
    "@docdir@/examples/outbox.json": 0o644,
    "@docdir@/examples/stripe.json": 0o644,
    "@docdir@/examples/tenants.json": 0o644,
    "@docdir@/examples/witness.json": 0o644,
    "@man8dir@/onceproxy.8": 0o644,
    "@man5dir@/onceproxy.json.5": 0o644,
    "@man7dir@/onceproxy-attacks.7": 0o644,
    "@man7dir@/onceproxy-brokers.7": 0o644,
    "@man7dir@/onceproxy-clients.7": 0o644,
    "@man7dir@/onceproxy-doctor.7": 0o644,
    "@man7dir@/onceproxy-faq.7": 0o644,
    "@man7dir@/onceproxy-kafka.7": 0o644,
    "@man7dir@/onceproxy-limits.7": 0o644,
    "@man7dir@/onceproxy-log.7": 0o644,
    "@man7dir@/onceproxy-messages.7": 0o644,
    "@man7dir@/onceproxy-metrics.7": 0o644,
    "@man7dir@/onceproxy-postgres.7": 0o644,
    "@man7dir@/onceproxy-runbook.7": 0o644,
    "@man7dir@/onceproxy-setup.7": 0o644,
    "@man7dir@/onceproxy-unknown.7": 0o644,
    "@man7dir@/onceproxy-relays.7": 0o644,
    "@man7dir@/onceproxy-store.7": 0o644,
    "@man7dir@/onceproxy-tutorial.7": 0o644,
}
UNITS = {
    "@systemdsystemunitdir@/onceproxy.service": 0o644,
    "@sysusersdir@/onceproxy.conf": 0o644,
    "@tmpfilesdir@/onceproxy.conf": 0o644,
}


def top():
    return os.environ.get("top_builddir") or "."


def variables():
    """A variable as configure has put it into the Makefile."""
    with open(os.path.join(top(), "Makefile"), encoding="utf-8") as file:
        return dict(re.findall(r"^(\w+) = (.*)$", file.read(), re.M))


def expand(name, known):
    """A path of WANTED, or of the Makefile, with all variables replaced."""
    while re.search(r"[@$]", name):
        name = re.sub(r"@(\w+)@|\$[({](\w+)[)}]",
                      lambda m: known[m[1] or m[2]], name)
    return name


def wanted(goals=()):
    known = variables()
    files = dict(WANTED)
    if "install-html" in goals:
        pages = [os.path.basename(n) for n in WANTED if n.startswith("@man")]
        files.update({f"@docdir@/html/{name}": 0o644 for name in (
            "index.html", "style.css", *(p + ".html" for p in pages))})
    if known["systemdsystemunitdir"] != "no":
        files.update(UNITS)
    return {expand(name, known): mode for name, mode in files.items()}


def make(root, *goals):
    """What a make of its own says, no part of the one that runs this test."""
    env = {k: v for k, v in os.environ.items()
           if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(
        ["make", "-C", top(), *goals, f"DESTDIR={root}"], env=env, text=True,
        capture_output=True, check=False)
    equal(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout


def found(root):
    return {"/" + os.path.relpath(os.path.join(folder, name), root):
            stat.S_IMODE(os.lstat(os.path.join(folder, name)).st_mode)
            for folder, _, names in os.walk(root) for name in names}


def configuration(root):
    return root + expand("@sysconfdir@/onceproxy/onceproxy.json", variables())


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@test
def each_file_is_where_it_is_expected_and_none_is_left_behind(bench):
    root = bench.folder()
    goals = ["install", *(["install-html"] if shutil.which("mandoc") else [])]
    make(root, *goals)
    equal(found(root), wanted(goals))
    done = subprocess.run(
        [root + expand("@sbindir@/onceproxy", variables()), "check", "-c",
         configuration(root)], capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stdout)
    make(root, "uninstall")
    equal(found(root), {})
    ours = [folder for folder, _, _ in os.walk(root)
            if os.path.basename(folder) == "onceproxy"]
    equal(ours, [])


@test
def what_the_operator_has_changed_stays(bench):
    root = bench.folder()
    path = configuration(root)
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write("{}\n")
    make(root, "install")
    make(root, "uninstall")
    equal(found(root), {path[len(root):]: 0o644})
    equal(read(path), "{}\n")


@test
def what_is_left_to_do_names_what_was_installed(bench):
    """Neither PATH nor systemd need look below that prefix."""
    known = variables()
    if known["systemdsystemunitdir"] == "no":
        raise Skip("configured without units")
    said = make("", "-s", "--no-print-directory", "install-data-hook")
    equal(sorted(re.findall(r"(?<!\S)/\S+", said)), sorted(
        [expand("@sbindir@/onceproxy", known), configuration(""),
         *(expand(name, known) for name in UNITS)]))


@test
def the_paths_in_the_units_are_those_of_the_installation(bench):
    known = variables()
    if known["systemdsystemunitdir"] == "no":
        raise Skip("configured without units")
    root = bench.folder()
    make(root, "install")
    texts = {name: read(root + expand(name, known)) for name in UNITS}
    equal([n for n, text in texts.items() if re.search(r"@\w+@", text)], [])
    service, users, files = texts.values()
    started = re.search(r"^ExecStart=(\S+) serve -c (\S+)$", service, re.M)
    assert os.access(root + started[1], os.X_OK), started[1]
    equal(root + started[2], configuration(root))
    state = expand("@localstatedir@/lib/onceproxy", known)
    assert f"\nReadWritePaths=-{state}\n" in service
    assert re.search(rf"^d +{state} +0700 onceproxy onceproxy", files, re.M)
    assert re.search(r"^u +onceproxy ", users, re.M)


tap.main()
