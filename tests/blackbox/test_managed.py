# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, store.redis "managed": a private Redis that lives and
dies with its gateway, and keeps its records."""

import os
import signal

from once import tap
from once.tap import equal, test
from once.wait import eventually


def redises_of(folder):
    """The redis-servers that work below a folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if not file.read().startswith("redis"):
                    continue
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    continue
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue  # it ended meanwhile
        if cwd == folder or cwd.startswith(folder + "/"):
            found.append(int(pid))
    return found


class Managed:
    """A gateway with a managed store; it can be started again."""

    def __init__(self, bench, idempotency=None):
        self.bench = bench
        self.upstream = bench.upstream()
        self.config = bench.config(self.upstream, idempotency,
                                   redis="managed")
        self.folder = os.path.realpath(self.config["state_dir"])
        self.start()

    def start(self):
        self.gateway = self.bench.serve(self.config)
        self.ask = self.gateway.ask

    def redis(self):
        """The process id of the one private Redis."""
        found = redises_of(self.folder)
        equal(len(found), 1, "private Redis servers")
        return found[0]


@test
def replays_survive_a_restart_of_the_gateway(bench):
    managed = Managed(bench)
    first = managed.ask("k")
    equal(first.status, 201)
    managed.gateway.stop()
    managed.start()
    again = managed.ask("k")
    equal((again.replayed, again.body), (True, first.body))
    equal(managed.upstream.count(), 1)


@test
def the_private_redis_ends_with_its_gateway(bench):
    managed = Managed(bench)
    managed.redis()
    managed.gateway.stop()
    equal(redises_of(managed.folder), [])


@test
def a_private_redis_that_dies_is_started_again_with_its_records(bench):
    managed = Managed(bench)
    equal(managed.ask("k").status, 201)
    before = managed.redis()
    os.kill(before, signal.SIGKILL)
    managed.gateway.wait_for_log("managed_died")
    eventually(lambda: managed.ask("k").replayed, "the replay")
    assert managed.redis() != before
    eventually(lambda: managed.ask("new").status == 201, "new payments")
    equal(managed.upstream.count(key="k"), 1)


@test
def a_gateway_that_was_killed_leaves_no_orphan_and_no_lost_record(bench):
    managed = Managed(bench)
    for number in range(20):
        equal(managed.ask(f"k{number}").status, 201)
    before = managed.redis()
    managed.gateway.kill()
    managed.start()
    assert managed.redis() != before
    for number in range(20):
        assert managed.ask(f"k{number}").replayed
    equal(managed.upstream.count(), 20)
    managed.gateway.stop()
    equal(redises_of(managed.folder), [])


@test
def a_private_redis_does_not_outlive_a_gateway_that_was_killed(bench):
    managed = Managed(bench)
    managed.redis()
    managed.gateway.kill()
    eventually(lambda: redises_of(managed.folder) == [], "it is gone")


@test
def a_payment_that_ran_when_the_gateway_was_killed_is_held(bench):
    managed = Managed(bench, {"lease": "500ms"})
    hold = managed.upstream.hold()
    first = bench.background(managed.ask, "k")
    hold.wait_arrived()
    managed.gateway.kill()
    first.thread.join(10)
    managed.start()

    def unknown():
        got = managed.ask("k")
        equal(got.status, 409)
        return got.problem == "outcome-unknown"
    eventually(unknown)
    hold.release()
    equal(managed.upstream.count(), 1)


@test
def a_payment_that_runs_while_the_private_redis_dies_is_not_lost(bench):
    managed = Managed(bench)
    hold = managed.upstream.hold()
    first = bench.background(managed.ask, "k")
    hold.wait_arrived()
    os.kill(managed.redis(), signal.SIGKILL)
    managed.gateway.wait_for_log("managed_died")
    hold.release()
    first.result()
    eventually(lambda: managed.ask("k").replayed, "the stored answer")
    equal(managed.upstream.count(), 1)


@test
def the_state_folder_is_for_its_owner_only(bench):
    managed = Managed(bench)
    equal(managed.ask("k").status, 201)
    for folder, _, files in os.walk(managed.folder):
        for name in files:
            path = os.path.join(folder, name)
            if folder == managed.folder:
                continue
            mode = os.stat(path).st_mode & 0o777
            above = os.stat(folder).st_mode & 0o777
            assert not mode & 0o077 or not above & 0o077, (path, oct(mode))


@test
def no_port_is_opened_for_it(bench):
    managed = Managed(bench)
    pid = managed.redis()
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}", encoding="utf-8") as file:
            for line in file.readlines()[1:]:
                assert f"socket:[{line.split()[9]}]" not in inodes, line


@test
def two_gateways_do_not_share_one_state_folder(bench):
    managed = Managed(bench)
    equal(managed.ask("k").status, 201)
    other = bench.serve(managed.config, ready=False)
    equal(other.wait(), 1)
    assert managed.ask("k").replayed
    managed.redis()


tap.main()
