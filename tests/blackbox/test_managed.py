# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, store.redis "managed": a private Redis that lives and
dies with its gateway, and keeps its records."""

import os
import signal

from once import tap
from once.process import Process
from once.redis import RedisClient
from once.tap import each, equal, test
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

    def __init__(self, bench, idempotency=None, **members):
        self.bench = bench
        self.upstream = bench.upstream()
        self.config = bench.config(self.upstream, idempotency,
                                   redis="managed", **members)
        self.folder = os.path.realpath(self.config["state_dir"])
        self.redis_folder = os.path.join(self.folder, "redis")
        self.start()

    def start(self):
        self.gateway = self.bench.serve(self.config)
        self.ask = self.gateway.ask

    def redis(self):
        """The process id of the one private Redis."""
        found = redises_of(self.folder)
        equal(len(found), 1, "private Redis servers")
        return found[0]

    def client(self):
        return RedisClient(os.path.join(self.redis_folder, "redis.sock"))

    def pid_file(self):
        return os.path.join(self.redis_folder, "redis.pid")


def fatal(bench, config):
    """What a gateway says that does not start."""
    gateway = bench.serve(config, ready=False)
    equal(gateway.wait(), 1)
    return gateway.find_log("fatal")[0]["error"]


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
    """Each time, and no answer comes from the gateway's memory."""
    managed = Managed(bench, cache={"size": 0})
    equal(managed.ask("k").status, 201)
    for new in ("k1", "k2", "k3"):
        before = managed.redis()
        os.kill(before, signal.SIGKILL)
        eventually(lambda key=new: managed.ask(key).status == 201,
                   "new payments")
        assert managed.redis() != before
        managed.gateway.wait_for_log("managed_died", pid=before)
        eventually(lambda: managed.ask("k").replayed, "the replay")
    equal(managed.upstream.count(), 4)


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
    managed = Managed(bench, {"lease": "2s"})
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
    assert "another gateway" in fatal(bench, managed.config)
    assert managed.ask("k").replayed
    managed.redis()


@test
def it_loses_nothing_that_it_has_said(bench):
    client = Managed(bench).client()
    for name, value in (("appendonly", b"yes"), ("appendfsync", b"always"),
                        ("maxmemory-policy", b"noeviction"),
                        ("port", b"0")):
        equal(client("CONFIG", "GET", name), [name.encode(), value])
    client.close()


@test
def one_that_an_earlier_gateway_left_is_ended_first(bench):
    managed = Managed(bench)
    first = managed.ask("k")
    managed.gateway.stop()
    # An orphan: nothing has told this one that its gateway is gone.
    orphan = bench.process(Process(
        [os.environ.get("REDIS_SERVER", "redis-server"), "redis.conf"],
        cwd=managed.redis_folder))

    orphan.wait_for_rest()
    eventually(lambda: os.path.exists(managed.pid_file()), "its pid file")
    managed.start()
    orphan.wait()
    equal(managed.gateway.find_log("managed_replaced")[0]["pid"], orphan.pid)
    again = managed.ask("k")
    equal((again.replayed, again.body), (True, first.body))


@each([(text or "another program's", text) for text in (
    None, "empty", "x", "0", "-1", "1", "99999999")])
def a_process_that_is_no_redis_of_ours_is_left_alone(bench, text):
    managed = Managed(bench)
    managed.gateway.stop()
    other = bench.process(Process(["sleep", "1000"],
                                  cwd=managed.redis_folder))
    with open(managed.pid_file(), "w", encoding="ascii") as file:
        file.write(text.replace("empty", "") if text else str(other.pid))
    managed.start()
    equal(managed.gateway.find_log("managed_replaced"), [])
    equal(other.child.poll(), None)


@test
def a_socket_whose_path_is_too_long_is_refused(bench):
    folder = bench.folder()
    config = bench.config(bench.upstream(), redis="managed",
                          state_dir=folder + "/" + 120 * "x")
    assert "state_dir is too long" in fatal(bench, config)


@test
def a_redis_that_cannot_start_is_refused(bench):
    managed = Managed(bench)
    equal(managed.ask("k").status, 201)
    managed.gateway.stop()
    # Its append-only file is damaged in the middle.
    with open(os.path.join(managed.redis_folder, "appendonlydir",
                           "appendonly.aof.manifest"), "w",
              encoding="ascii") as file:
        file.write("nonsense\n")
    assert "redis.log" in fatal(bench, managed.config)


tap.main()
