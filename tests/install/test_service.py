# SPDX-License-Identifier: BSD-2-Clause
"""The unit of systemd: it is well-formed and hardened, and the gateway and its
private Redis work under it."""

import os
import re
import shutil
import signal
import stat
import subprocess
import sys

from once import tap
from once.certificates import Authority
from once.confine import settings
from once.demo import source
from once.gateway import program
from once.http import ask, build, keyed
from once.tap import Skip, equal, test
from once.wait import eventually

EXPOSURE_MAX = 1.5


def unit():
    """The unit as make filled it in."""
    top = os.environ.get("top_builddir") or "."
    path = os.path.join(top, "contrib/systemd/onceproxy.service")
    if not os.path.exists(path):
        raise Skip("configured without units")
    return path


def analyze(*args):
    if not shutil.which("systemd-analyze"):
        raise Skip("there is no systemd-analyze (Debian: systemd)")
    return subprocess.run(["systemd-analyze", *args], text=True,
                          capture_output=True, check=False)


def default_of(option):
    with open(source("src/tbl/options.h"), encoding="utf-8") as file:
        text = file.read().split(f'"{option}"')[1].split("\nOPT(")[0]
    return re.search(r'"?(\w+)"?\)\n?$', text.rstrip() + "\n")[1]


def seconds(text):
    return int(text.rstrip("s"))


@test
def systemd_takes_the_unit(bench):
    path = os.path.join(bench.folder(), "onceproxy.service")
    with open(unit(), encoding="utf-8") as file:
        text = re.sub(r"=\S*/onceproxy ", f"={program()} ", file.read())
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    done = analyze("verify", "--man=no", path)
    equal((done.returncode, done.stdout + done.stderr), (0, ""))


@test
def it_is_as_hardened_as_a_gateway_can_be(bench):
    done = analyze("security", "--offline=true", "--no-pager", unit())
    found = re.search(r"Overall exposure level .*: ([0-9.]+) ", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= EXPOSURE_MAX, done.stdout


@test
def the_time_to_stop_has_room_for_a_drain_and_the_end_of_redis(bench):
    said = settings(unit())
    assert (seconds(said["TimeoutStopSec"][0])
            > seconds(default_of("drain_timeout")) + 10)
    # Redis must serve to the end of the drain.
    equal(said["KillMode"], ["mixed"])


@test
def the_descriptors_are_enough_for_the_connections(bench):
    assert (int(settings(unit())["LimitNOFILE"][0])
            > 2 * int(default_of("limits.connections")))


def confined(bench):
    """A program that runs the gateway under the unit's restrictions."""
    analyze("--version")
    path = os.path.join(bench.folder(), "confined")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n"
                   f'exec {sys.executable} -m once.confine {unit()} '
                   f'{program()} "$@"\n')
    os.chmod(path, 0o755)
    return path


def is_filtered(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return "\nSeccomp:\t2\n" in file.read()


def config_of(bench, **members):
    return bench.config(bench.upstream(), redis="managed",
                        admin={"listen": "127.0.0.1:0"}, **members)


# The search for leaks needs ptrace(2), which the unit does not allow.
CALM = {"ASAN_OPTIONS": "detect_leaks=0"}


@test
def the_gateway_and_its_private_redis_work_under_the_filter(bench):
    path = os.path.join(bench.folder(), "s")
    config = config_of(bench, listen=[
        "127.0.0.1:0", {"address": f"unix:{path}", "mode": "0660"}])
    gateway = bench.serve(config, env=CALM, program=confined(bench))
    redis = gateway.find_log("managed_started")[0]["pid"]
    assert is_filtered(gateway.pid) and is_filtered(redis)
    equal(stat.S_IMODE(os.lstat(path).st_mode), 0o660)
    for address in gateway.addresses:
        for turn in range(3):
            got = ask(address, keyed(f"k{address[:4]}"))
            equal((got.status, got.replayed), (201, turn > 0))
    got = ask(gateway.ready["admin"], build("GET", "/metrics",
                                              host="localhost"))
    for name in ("process_resident_memory_bytes", "process_open_fds"):
        assert re.search(rf"^{name} [1-9]", got.body.decode(), re.M), name
    since = len(gateway.events)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded", since)
    gateway.stop()


@test
def a_private_redis_that_dies_is_started_again_under_the_filter(bench):
    gateway = bench.serve(config_of(bench), env=CALM,
                          program=confined(bench))
    os.kill(gateway.find_log("managed_started")[0]["pid"], signal.SIGKILL)
    gateway.wait_for_log("managed_died")
    eventually(lambda: gateway.ask("k").status == 201, "it serves again")
    # It rewrites its append-only file in a process of its own.
    socket = os.path.join(gateway.config["state_dir"], "redis/redis.sock")
    log = os.path.join(gateway.config["state_dir"], "redis/redis.log")
    subprocess.run(["redis-cli", "-s", socket, "BGREWRITEAOF"], check=True,
                   capture_output=True)

    def rewritten():
        with open(log, encoding="utf-8", errors="replace") as file:
            return "AOF rewrite finished successfully" in file.read()
    eventually(rewritten, "the file is rewritten")
    gateway.stop()


@test
def tls_on_both_sides_and_names_work_under_the_filter(bench):
    authority = Authority(bench.folder())
    cert = authority.issue("localhost", "IP:127.0.0.1")
    upstream = bench.upstream(tls=authority.server("DNS:localhost"))
    config = bench.config(
        f"https://localhost:{upstream.port}", redis="managed",
        options={"ca": authority.file}, listen=[{
            "address": "127.0.0.1:0",
            "tls": {"certificate": cert.file, "key": cert.key}}])
    gateway = bench.serve(config, env=CALM, program=confined(bench))
    for turn in range(2):
        got = ask(gateway.address, keyed("k"), tls=authority.client())
        equal((got.status, got.replayed), (201, turn > 0))
    gateway.stop()


tap.main()
