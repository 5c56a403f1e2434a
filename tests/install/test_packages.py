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
    known = packages("build_packages") | packages("run_packages")
    equal(named - known, {"debhelper-compat"})


@test
def the_version_of_the_package_is_that_of_the_program(bench):
    version = re.search(r"AC_INIT\(\[onceproxy\], \[([^]]+)\]",
                        read("configure.ac"))[1]
    assert read("contrib/debian/changelog").startswith(
        f"onceproxy ({version}-")


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
    said = command("check", "-c", file).stdout.splitlines()
    equal([line for line in said if ": warning: " not in line],
          [f"{file}: ok"])
    assert '"127.0.0.1:9090"' in read("contrib/container/onceproxy.json")


tap.main()
