# SPDX-License-Identifier: BSD-2-Clause
"""state_dir: nobody else may say where the gateway's files are made."""

import os
import stat

from once import tap
from once.tap import each, equal, test


def managed(bench, state_dir):
    config = bench.config(bench.upstream(), state_dir=state_dir)
    config["store"] = {"redis": "managed", "timeout": "2s"}
    return config


def refusal(bench, config):
    """What a gateway says that does not start."""
    gateway = bench.serve(config, ready=False)
    equal(gateway.wait(), 1)
    return gateway.find_log("fatal")[0]["error"]


@each([("", 0o777, "every user of this machine may write to it; make it "
        "private (chmod 0700)"),
       ("and sticky", 0o1777, "every user of this machine has files there; "
        "name a folder in which nothing else is"),
       ("but not to be read", 0o733, "private (chmod 0700)")])
def a_state_dir_that_all_may_write_to_is_refused(bench, mode, words):
    state_dir = bench.folder()
    os.chmod(state_dir, mode)
    for config in (managed(bench, state_dir),
                   bench.config(bench.upstream(), state_dir=state_dir)):
        said = refusal(bench, config)
        assert state_dir in said and words in said, said
    equal(os.listdir(state_dir), [])


@each([("journal", "journal", False), ("redis", "redis", True)])
def a_folder_in_it_that_all_may_write_to_is_refused(bench, name, is_managed):
    state_dir = bench.folder()
    path = os.path.join(state_dir, name)
    os.mkdir(path)
    os.chmod(path, 0o777)
    said = refusal(bench, managed(bench, state_dir) if is_managed else
                   bench.config(bench.upstream(), state_dir=state_dir))
    assert path in said and "every user" in said, said


@each([(name, name, is_folder) for name, is_folder in (
    ("journal", True), ("redis", True), ("lock", False),
    ("redis/redis.conf.new", False), ("redis/redis.pid", False),
    ("redis/redis.log", False), ("redis/appendonlydir", True),
    ("redis/dump.rdb", False))])
def a_symbolic_link_in_it_is_refused(bench, name, is_folder):
    state_dir, elsewhere = bench.folder(), bench.folder()
    target = os.path.join(elsewhere, "target")
    if is_folder:
        os.mkdir(target)
    else:
        target = bench.file(b"precious")
    path = os.path.join(state_dir, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(target, path)
    said = refusal(bench, managed(bench, state_dir) if name != "journal" else
                   bench.config(bench.upstream(), state_dir=state_dir))
    assert path in said and "symbolic link" in said, said
    if is_folder:
        equal(os.listdir(target), [])
    else:
        with open(target, "rb") as file:
            equal(file.read(), b"precious")


@each([(name, name) for name in (
    "lock", "redis/redis.conf.new", "redis/redis.pid", "redis/redis.log")])
def a_hard_link_in_it_is_refused(bench, name):
    state_dir = bench.folder()
    target = os.path.join(state_dir, "precious")
    with open(target, "wb") as file:
        file.write(b"precious")
    path = os.path.join(state_dir, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.link(target, path)
    said = refusal(bench, managed(bench, state_dir))
    assert path in said and "hard link" in said, said
    with open(target, "rb") as file:
        equal(file.read(), b"precious")


@test
def state_dir_itself_may_be_a_link(bench):
    real, link = bench.folder(), os.path.join(bench.folder(), "link")
    os.symlink(real, link)
    gateway = bench.serve(managed(bench, link))
    equal(gateway.ask("k").status, 201)
    for name in ("journal", "redis"):
        found = os.lstat(os.path.join(real, name))
        equal(stat.S_IMODE(found.st_mode), 0o700)
    gateway.stop()


tap.main()
