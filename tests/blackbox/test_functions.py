# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, store.scripting "function": the same promise, kept by a
library of functions that the gateway loads into Redis where it is missing."""

import os
import re
import subprocess
import sys

from once import tap
from once.demo import source
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

FUNCTIONS = {"scripting": "function"}
NAME = re.compile(rb"onceproxy_[0-9a-f]{16}")
TEST_BUILD = os.environ.get("ONCEPROXY_TEST_BUILD", "")


def started(bench, redis=None, **members):
    """No cache: answers are what Redis has, not what a worker remembers."""
    redis = redis or bench.own_redis()
    return redis, *bench.pair(redis=redis, store=FUNCTIONS,
                              cache={"size": 0}, **members)


def libraries(redis):
    return sorted(library[1] for library in redis("FUNCTION", "LIST"))


@test
def no_script_is_run_and_one_library_is_there(bench):
    redis, upstream, gateway = started(bench)
    for number in range(20):
        equal(gateway.ask(f"k{number % 10}").status, 201)
    equal(upstream.count(), 10)
    name, = libraries(redis)
    assert NAME.fullmatch(name), name
    equal((redis.calls("eval"), redis.calls("evalsha")), (0, 0))
    assert redis.calls("fcall") >= 30


def ask_many(bench, gateway, first, count=40):
    """Each key twice, all at once; every answer is final."""
    tasks = [bench.background(gateway.ask, f"k{first + n % count}")
             for n in range(2 * count)]
    got = [task.result() for task in tasks]
    equal({a.status for a in got} - {201, 409}, set())
    equal({a.problem for a in got if a.status == 409} - {"in-flight"}, set())


@test
def what_was_flushed_is_given_again_once_for_all_that_miss_it(bench):
    redis, upstream, gateway = started(bench, workers=1)
    eventually(lambda: libraries(redis), "it is there")
    for turn in range(3):
        before = redis.calls("function|load")  # the sweep may need it, too
        redis("FUNCTION", "FLUSH")
        ask_many(bench, gateway, 100 * turn)
        equal(redis.calls("function|load"), before + 1)
        equal(len(libraries(redis)), 1)
    equal(upstream.count(), 120)
    equal(gateway.find_log("store_refused"), [])


@test
def a_redis_that_forgot_all_is_given_them_again(bench):
    redis, upstream, gateway = started(bench)
    equal(gateway.ask("k").status, 201)
    redis.restart()
    eventually(lambda: gateway.ask("another").status == 201)
    equal(upstream.count(key="another"), 1)
    equal(len(libraries(redis)), 1)
    assert redis.calls("function|load") > 0, "it has forgotten nothing"


@test
def a_redis_that_remembers_has_them_at_once(bench):
    redis = bench.own_redis("--appendonly", "yes", "--appendfsync", "always")
    redis, upstream, gateway = started(bench, redis)
    equal(gateway.ask("k").status, 201)
    redis.restart()
    assert eventually(lambda: gateway.ask("k").replayed)
    equal(redis.calls("function|load"), 0)
    equal(upstream.count(), 1)


@test
def a_promoted_replica_has_them_too(bench):
    redis = bench.own_redis()
    replica = bench.own_redis()
    replica.follow(redis)
    redis, upstream, gateway = started(bench, redis)
    equal(gateway.ask("k").status, 201)
    eventually(lambda: libraries(replica) == libraries(redis)
               and replica("DBSIZE") == redis("DBSIZE"))
    replica("REPLICAOF", "NO", "ONE")
    after = bench.gateway(upstream, redis=replica, store=FUNCTIONS)
    assert after.ask("k").replayed
    equal(after.ask("k2").status, 201)
    equal(upstream.count(), 2)


@test
def each_node_of_a_cluster_is_given_them(bench):
    cluster = bench.cluster()
    upstream, gateway = bench.pair(
        redis=cluster, store=FUNCTIONS, cache={"size": 0})
    for number in range(40):
        equal(gateway.ask(f"k{number}").status, 201)
    for number in range(40):
        assert gateway.ask(f"k{number}").replayed
    equal(upstream.count(), 40)
    equal([libraries(master) for master in cluster.masters],
          [libraries(cluster.masters[0])] * len(cluster.masters))
    for master in cluster.masters:
        ran = master("INFO", "commandstats")
        assert b"cmdstat_fcall:" in ran and b"cmdstat_eval" not in ran, ran


# --- a Redis that takes no writes ------------------------------------------

def fill(redis):
    redis("CONFIG", "SET", "maxmemory", 1)


def orphan(redis):
    redis("CONFIG", "SET", "min-replicas-to-write", 1)


@each([("full, script", fill, "script", "OOM"),
       ("full, function", fill, "function", "OOM"),
       ("too few replicas, script", orphan, "script", "NOREPLICAS"),
       ("too few replicas, function", orphan, "function", "NOREPLICAS")])
def old_answers_are_given_and_new_claims_refused(bench, harm, way, word):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(redis=redis, store={"scripting": way},
                                   cache={"size": 0}, workers=1)
    first = gateway.ask("old")
    eventually(lambda: redis("EXISTS", "onceproxy:{0}:store"),
               "the store has its id")
    harm(redis)
    for _ in range(3):
        again = gateway.ask("old")
        assert again.replayed
        equal(again.body, first.body)
        equal(gateway.ask("old", body=b"another").problem, "key-reused")
        equal(gateway.ask("new").problem, "store-unavailable")
    equal(upstream.count(), 1)
    said = gateway.wait_for_log("store_refused", operation="claim")
    assert said["error"].startswith(word), said
    equal({e["error"].split()[0] for e in gateway.find_log("store_refused")},
          {word})
    redis("CONFIG", "SET", "maxmemory", 0, "min-replicas-to-write", 0)
    equal(gateway.ask("new").status, 201)


@test
def a_full_redis_takes_the_outcomes_of_what_is_in_flight(bench):
    redis, upstream, gateway = started(bench)
    hold = upstream.hold()
    task = bench.background(gateway.ask, "k")
    upstream.wait_for(1)
    upstream.reply = answer()
    fill(redis)
    hold.release()
    equal(task.result().status, 201)
    assert gateway.ask("k").replayed
    equal(gateway.find_log("settle_late"), [])


# --- two versions ----------------------------------------------------------

def another_version(bench):
    """The scripts as they are embedded, each with one more line."""
    folder = bench.folder()
    for name in os.listdir(source("src/store/record/lua")):
        with open(source(f"src/store/record/lua/{name}"),
                  encoding="utf-8") as file:
            text = file.read()
        if not name.endswith(".lua") or "KEYS:" not in text:
            continue
        text = with_included(text)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(text + "-- another version\n")
    return folder


def with_included(text):
    return re.sub(r"^\t*-- include (.*)$", lambda found: included(found[1]),
                  text, flags=re.M)


def included(name):
    with open(source(f"src/store/record/lua/{name}"), encoding="utf-8") as file:
        return with_included(file.read())


@test
def gateways_of_two_versions_leave_each_other_their_libraries(bench):
    redis, upstream, gateway = started(bench)
    config = bench.config(upstream, redis=redis, store=FUNCTIONS,
                          cache={"size": 0})
    newer = bench.serve(config, program=TEST_BUILD,
                        env={"ONCE_SCRIPTS": another_version(bench),
                             # The test build keeps the scripts that it reads
                             # there.
                             "ASAN_OPTIONS": "detect_leaks=0"})
    equal(gateway.ask("k1").status, 201)
    equal(newer.ask("k2").status, 201)
    assert newer.ask("k1").replayed and gateway.ask("k2").replayed
    both = libraries(redis)
    equal(len(both), 2)
    redis("FUNCTION", "FLUSH")
    for number in range(20):
        equal((gateway if number % 2 else newer).ask(f"f{number}").status, 201)
    equal(libraries(redis), both)
    equal(upstream.count(), 22)


# --- who may not -----------------------------------------------------------

@test
def a_start_says_which_right_is_missing(bench):
    redis = bench.own_redis()
    redis("ACL", "SETUSER", "default", "-function|load")
    gateway = bench.serve(
        bench.config(bench.upstream(), redis=redis, store=FUNCTIONS),
        ready=False)
    assert gateway.wait() != 0
    assert "function|load" in "\n".join(gateway.lines), gateway.lines


@test
def a_library_that_is_refused_is_said_and_nothing_is_sent(bench):
    redis, upstream, gateway = started(bench)
    redis("ACL", "SETUSER", "default", "-function|load")
    redis("FUNCTION", "FLUSH")
    equal(gateway.ask("k").problem, "store-unavailable")
    said = gateway.wait_for_log("store_refused", operation="function load")
    assert "NOPERM" in said["error"], said
    equal(upstream.count(), 0)
    redis("ACL", "SETUSER", "default", "+function|load")
    equal(gateway.ask("k").status, 201)


# --- the promise -----------------------------------------------------------

@each([(file, file) for file in
       ("test_promise", "test_unknown", "test_on_unknown", "test_waiting",
        "test_events", "test_keys_command")])
def all_of_this_holds_with_functions(bench, file):
    done = subprocess.run(
        [sys.executable, source(f"tests/blackbox/{file}.py")],
        env=dict(os.environ, ONCE_SCRIPTING="function"),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="backslashreplace",
        check=False)
    assert done.returncode == 0, done.stdout


# These tests run whole files of others.
tap.LIMIT_S = 300
tap.main()
