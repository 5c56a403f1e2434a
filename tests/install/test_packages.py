# SPDX-License-Identifier: BSD-2-Clause
"""The Debian package and the container: their lists of packages are those of
contrib/, and the files that they name exist.  contrib/build-deb and
contrib/try-deb really build, install and purge the package."""

import os
import re
import subprocess

from once import tap
from once.demo import source
from once.gateway import command
from once.tap import Skip, equal, test

CONTAINER = "contrib/container/Containerfile"
# In the place of apt-get: another package manager has the lock two times.
BUSY_APT_GET = """#!/bin/sh
echo x >>"$CALLS"
[ $(wc -l <"$CALLS") -gt 2 ] && echo "$@" && exit
echo "E: Could not get lock /var/lib/apt/lists/lock. It is held" >&2
exit 100
"""
# What dpkg-dev and debhelper depend on, and what only `make check` needs.
IMPLIED = {"autoconf", "automake", "gcc", "libc6-dev", "make", "xz-utils"}


def read(path):
    with open(source(path), encoding="utf-8") as file:
        return file.read()


def shell(words):
    """Standard output of bash, with contrib/lib-debian.sh read."""
    return subprocess.run(
        ["bash", "-euc", f'. "{source("contrib/lib-debian.sh")}"; {words}'],
        check=True, capture_output=True, text=True).stdout


def packages(name):
    return set(shell(f'echo "${name}"').split())


def instructions(name):
    """The arguments of all lines of that kind, continued ones joined."""
    text = re.sub(r"^#.*\n", "", read(CONTAINER), flags=re.M)
    text = text.replace("\\\n", " ")
    return re.findall(rf"^{name} (.*)$", text, re.M)


@test
def the_package_builds_with_what_contrib_installs(bench):
    control = read("contrib/debian/control")
    field = re.search(r"^Build-Depends:((?:\n .*)+)", control, re.M)[1]
    named = {re.split(r"[:( ]", line.strip())[0]
             for line in field.split(",")}
    equal(packages("build_packages") - named, IMPLIED)
    known = set().union(*(packages(name) for name in (
        "build_packages", "run_packages", "deb_packages")))
    equal(named - known, {"debhelper-compat"})


@test
def the_version_of_the_package_is_that_of_the_program(bench):
    version = re.search(r"AC_INIT\(\[onceproxy\], \[([^]]+)\]",
                        read("configure.ac"))[1]
    assert read("contrib/debian/changelog").startswith(
        f"onceproxy ({version}-")
    assert f"image.version={version} " in instructions("LABEL")[0] + " "
    assert f"onceproxy:{version}\n" in read(CONTAINER)
    assert f" onceproxy:{version} check\n" in read(
        "contrib/container/onceproxy.json")


@test
def the_packages_of_all_lists_exist_in_debian(bench):
    names = set().union(*(packages(name) for name in (
        "build_packages", "run_packages", "test_packages", "deb_packages",
        "container_packages")))
    try:
        known = set(subprocess.run(
            ["apt-cache", "pkgnames"], capture_output=True, text=True,
            check=True).stdout.split())
    except (OSError, subprocess.CalledProcessError):
        raise Skip("there is no apt-cache") from None
    if "libc6" not in known or "debhelper" not in known:
        raise Skip("apt knows no packages here (apt-get update)")
    equal(names - known, set())


@test
def another_package_manager_is_waited_for(bench):
    folder = bench.folder()
    with open(os.path.join(folder, "apt-get"), "w", encoding="utf-8") as file:
        file.write(BUSY_APT_GET)
    os.chmod(file.name, 0o755)
    said = shell('as_root() { "$@"; }; sleep() { :; }; '
                 f'export PATH={folder}:$PATH CALLS={folder}/calls; '
                 "apt_get update")
    equal(said.count("another package manager"), 2)
    # The lock of dpkg itself is apt-get's own to wait for.
    assert said.endswith("-o DPkg::Lock::Timeout=300 update\n"), said


@test
def what_a_tool_says_is_in_a_file_and_the_end_is_shown_if_it_fails(bench):
    log = os.path.join(bench.folder(), "log")
    said = shell(f"quietly {log} well seq 100; "
                 f"quietly {log} badly sh -c 'seq 101 200; exit 3' 2>&1 "
                 "|| echo $?")
    equal(re.sub(r"well: \d+ s$", "well: SECONDS s", said, count=1,
                 flags=re.M).splitlines(),
          [f"==> well (output: {log})", "==> well: SECONDS s",
           f"==> badly (output: {log})",
           f"==> failed: badly (all that it said: {log})",
           *(str(number) for number in range(161, 201)), "3"])
    with open(log, encoding="utf-8") as file:
        equal(len(file.readlines()), 200)


@test
def where_there_is_no_dpkg_the_libraries_are_named(bench):
    said = shell(f'top={source("")}; command() {{ return 1; }}; '
                 "need_packages libuv1-dev")
    assert "libuv1-dev" in said and "\n  libuv >= 1.40.0\n" in said, said


@test
def what_the_container_copies_and_runs_is_there(bench):
    copied = [word for line in instructions("COPY")
              if not line.startswith("--from")
              for word in line.split()[:-1]]
    assert copied
    equal([p for p in copied if not os.path.exists(source(p))], [])
    runs = " ".join(instructions("RUN"))
    assert os.access(source("contrib/build-deb"), os.X_OK)
    assert "contrib/build-deb /deb" in runs
    # Its lists and functions are those of contrib/lib-debian.sh.
    for word in re.findall(r"\$(\w+)", runs):
        assert packages(word), word
    functions = set(re.findall(r"^declare -f (\w+)", shell("declare -F"),
                               re.M))
    assert {"need_packages", "without_services"} <= functions


@test
def the_container_does_not_run_as_root_and_is_asked_for_its_health(bench):
    equal(instructions("USER"), ["onceproxy:onceproxy"])
    equal(instructions("STOPSIGNAL"), ["SIGTERM"])
    health = instructions("HEALTHCHECK")[0]
    assert "http://127.0.0.1:9090/healthz" in health
    assert "curl" in packages("container_packages")
    file = source("contrib/container/onceproxy.json")
    said = command("check", "-c", file, env={
        "ONCEPROXY_ADMIN_TOKEN": "0" * 64}).stdout.splitlines()
    equal([line for line in said if ": warning: " not in line],
          [f"{file}: ok"])
    assert '"0.0.0.0:9090"' in read("contrib/container/onceproxy.json")


tap.main()
