# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: `onceproxy events`, the events streams for people and
for scripts."""

import json
import os
import signal
import subprocess

from once import tap
from once.gateway import command, program, write
from once.rediscluster import slot_of
from once.tap import each, equal, test
from once.upstream import close_unanswered
from once.wait import PATIENCE, eventually

STORE = {"events": {"maxlen": 100000}, "shards": 4}


def started(bench, reply=None, redis=None, **store):
    upstream = bench.upstream(reply)
    gateway = bench.gateway(upstream, redis=redis, store={**STORE, **store})
    return upstream, gateway


def events(gateway, *args, code=0, errors=""):
    """What it prints, as lines."""
    done = command("events", "-c", gateway.file, *args)
    equal((done.returncode, done.stderr), (code, errors), done.stdout)
    return done.stdout.splitlines()


def as_json(gateway, *args, **more):
    return [json.loads(line)
            for line in events(gateway, "--json", *args, **more)]


def paid(gateway, *keys):
    for key in keys:
        equal(gateway.ask(key).status, 201)


class Following:
    """`onceproxy events --follow` in the background."""

    def __init__(self, bench, gateway, *args):
        self.out = open(os.path.join(bench.folder(), "out"), "wb+")
        self.err = open(os.path.join(bench.folder(), "err"), "wb+")
        self.child = subprocess.Popen(
            [program(), "events", "-c", gateway.file, "--follow", *args],
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)
        bench.processes.append(self)

    @staticmethod
    def text(file):
        with open(file.name, encoding="utf-8") as again:
            return again.read().splitlines()

    def lines(self):
        return self.text(self.out)

    def wait_for(self, count):
        eventually(lambda: len(self.lines()) >= count, f"{count} lines")
        equal(len(self.lines()), count)
        return self.lines()

    def wait_said(self, words):
        eventually(lambda: any(words in line for line in self.text(self.err)),
                   words)

    def end(self, number=signal.SIGINT):
        self.child.send_signal(number)
        return self.child.wait(PATIENCE)

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.out.close()
        self.err.close()


@test
def a_change_is_a_line_in_the_order_of_time(bench):
    upstream, gateway = started(bench)
    paid(gateway, *"abcdefgh")
    lines = events(gateway)
    equal(len(lines), 16)
    equal(lines, sorted(lines, key=lambda line: line.split()[0]))
    (when, change, status, attempt, key_id, position, route,
     label) = lines[0].split()
    equal((change, status, attempt, len(key_id), route, label),
          ("NONE>PROCESSING", "-", "1", 32, "charges", "-"))
    assert when.endswith("Z") and position.count("-") == 2, lines[0]
    assert len({line.split()[5].split("-")[0] for line in lines}) > 1
    assert sum(" PROCESSING>COMPLETED 201 1 " in line for line in lines) == 8


@test
def a_script_gets_an_object_a_line(bench):
    upstream, gateway = started(bench)
    paid(gateway, "a")
    claimed, done = as_json(gateway)
    equal(list(done), ["id", "key_id", "route", "from", "to", "status",
                       "attempt", "time", "instance", "request_id", "label"])
    equal((done["from"], done["to"], done["status"], done["attempt"]),
          ("PROCESSING", "COMPLETED", 201, 1))
    equal((claimed["from"], claimed["status"]), ("NONE", None))
    equal(claimed["key_id"], done["key_id"])


@test
def each_shard_is_read_page_after_page(bench):
    """More than is asked of Redis at once."""
    upstream, gateway = started(bench)
    for number in range(3000):
        bench.redis("XADD", f"onceproxy:{{{number % 4}}}:events",
                    f"{1700000000000 + number}-0", "id", str(number))
    equal([event["key_id"] for event in as_json(gateway)],
          [str(number) for number in range(3000)])


@test
def it_begins_where_it_is_told_to(bench):
    upstream, gateway = started(bench)
    for number in range(8):
        bench.redis("XADD", f"onceproxy:{{{number % 4}}}:events",
                    f"{1700000000000 + 1000 * number}-0", "id", str(number))

    def begun(text):
        return [event["key_id"] for event in as_json(gateway, "--from", text)]
    # Inclusive: the event itself comes again.
    equal(begun("2-1700000006000-0"), ["6", "7"])
    equal(begun("2-1700000006000-1"), ["7"])
    equal(begun("1700000006000-0"), ["6", "7"])
    equal(begun("2023-11-14T22:13:25Z"), ["5", "6", "7"])
    equal(begun("2023-11-14T23:13:25.001+01:00"), ["6", "7"])
    equal(begun("1h"), [])
    equal(begun("now"), [])
    equal(len(begun("9999d")), 8)


@each([("a word", "yesterday"), ("a number", "12"), ("no zone",
       "2026-11-20T09:00:00"), ("a shard too many", "1-2-3-4"),
       ("nothing", "")])
def another_beginning_is_wrong_usage(bench, text):
    config = bench.config("http://127.0.0.1:9", store=STORE)
    file = os.path.join(bench.folder(), "onceproxy.json")
    write(file, config)
    done = command("events", "-c", file, "--from", text)
    equal((done.returncode, done.stdout), (2, ""))
    assert f"--from cannot be {text}" in done.stderr, done.stderr


@test
def without_events_in_the_configuration_it_says_so(bench):
    upstream, gateway = bench.pair()
    events(gateway, code=1, errors=f"onceproxy events: {gateway.file}: "
           "no event is written without store.events\n")


@test
def an_empty_stream_is_no_error(bench):
    upstream, gateway = started(bench)
    equal(events(gateway), ["There are no events."])
    equal(events(gateway, "--json"), [])


@test
def a_redis_that_is_away_is_an_error(bench):
    redis = bench.own_redis()
    upstream, gateway = started(bench, redis=redis)
    redis.kill()
    for args in (), ("--follow",):
        done = command("events", "-c", gateway.file, *args)
        equal((done.returncode, done.stdout), (1, ""))
        assert "onceproxy events: Redis cannot be read: " in done.stderr, done


@test
def what_is_no_stream_is_an_error(bench):
    upstream, gateway = started(bench)
    bench.redis("SET", "onceproxy:{1}:events", "text")
    done = command("events", "-c", gateway.file)
    equal((done.returncode, done.stdout), (1, ""))
    assert "WRONGTYPE" in done.stderr, done.stderr


@test
def what_was_trimmed_is_said(bench):
    upstream, gateway = started(bench)
    for number in range(10):
        bench.redis("XADD", "onceproxy:{0}:events",
                    f"{1700000000000 + number}-0", "id", str(number))
    bench.redis("XTRIM", "onceproxy:{0}:events", "MAXLEN", 4)
    # All that there is was asked for.
    equal(len(events(gateway)), 4)
    words = ("onceproxy events: shard 0: what is older than "
             "2023-11-14T22:13:20.006Z is trimmed, so events that were asked "
             "for may be missing\n")
    equal(len(events(gateway, "--from", "0-1700000000005-0", code=1,
                     errors=words)), 4)
    equal(len(events(gateway, "--from", "0-1700000000006-0")), 4)


@test
def it_follows_what_happens(bench):
    upstream, gateway = started(bench)
    paid(gateway, "a")
    following = Following(bench, gateway)
    following.wait_for(2)
    paid(gateway, *"bcdef")
    lines = following.wait_for(12)
    equal(sorted(lines), sorted(events(gateway)))
    equal(following.end(), 0)
    equal(following.text(following.err), [])


@test
def from_now_on_it_gives_only_what_is_new(bench):
    upstream, gateway = started(bench)
    paid(gateway, "a")
    following = Following(bench, gateway, "--from", "now")
    eventually(lambda: b"cmd=xread" in bench.redis("CLIENT", "LIST"),
               "it waits")
    paid(gateway, "b")
    equal(len(following.wait_for(2)), 2)
    equal(following.end(signal.SIGTERM), 0)


@test
def it_goes_on_after_redis_was_away_and_misses_nothing(bench):
    redis = bench.own_redis("--appendonly", "yes", "--appendfsync", "always")
    upstream, gateway = started(bench, redis=redis)
    following = Following(bench, gateway)
    paid(gateway, "a", "b")
    following.wait_for(4)
    redis.kill()
    following.wait_said("trying again")
    redis.start()
    eventually(lambda: gateway.ask("c").status == 201, "Redis is back")
    following.wait_said("Redis can be read again")
    eventually(lambda: sorted(following.lines()) == sorted(events(gateway)),
               "all events")
    equal(following.end(), 0)


@test
def what_redis_lost_is_said(bench):
    redis = bench.own_redis()
    upstream, gateway = started(bench, redis=redis)
    following = Following(bench, gateway)
    paid(gateway, "a")
    following.wait_for(2)
    redis.restart()
    following.wait_said("no longer has the last events that were shown")
    equal(following.end(), 1)


@test
def what_was_trimmed_before_it_was_read_is_counted(bench):
    upstream, gateway = started(bench, close_unanswered)
    following = Following(bench, gateway)
    bench.redis("XADD", "onceproxy:{0}:events", "*", "id", "first")
    following.wait_for(1)
    following.child.send_signal(signal.SIGSTOP)
    for number in range(10):
        bench.redis("XADD", "onceproxy:{0}:events", "*", "id", str(number))
    # The blocked question has its answer by now: the next one will not.
    bench.redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    bench.redis("XTRIM", "onceproxy:{0}:events", "MAXLEN", 4)
    following.child.send_signal(signal.SIGCONT)
    # It is written character by character.
    following.wait_said(" events were trimmed before they could be read")
    assert any("shard 0: " in line for line in following.text(following.err))
    equal(following.end(), 1)


@each([("once", ()), ("following", ("--follow",))])
def it_ends_when_nobody_reads_it_any_more(bench, args):
    upstream, gateway = started(bench)
    for number in range(5000):
        bench.redis("XADD", "onceproxy:{0}:events", "*", "id", str(number))
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" | head -n 1', "-", program(),
         "events", "-c", gateway.file, *args], capture_output=True, text=True,
        timeout=PATIENCE, check=False)
    equal((done.returncode, done.stderr), (0, ""))
    equal(len(done.stdout.splitlines()), 1)


@test
def it_ends_when_nobody_reads_and_nothing_happens(bench):
    upstream, gateway = started(bench)
    paid(gateway, "a")
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" | head -n 1', "-", program(),
         "events", "-c", gateway.file, "--follow"], capture_output=True,
        text=True, timeout=PATIENCE, check=False)
    equal((done.returncode, done.stderr), (0, ""))


@test
def output_that_cannot_be_written_is_an_error(bench):
    upstream, gateway = started(bench)
    paid(gateway, "a")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([program(), "events", "-c", gateway.file],
                              stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE, check=False)
    equal((done.returncode, done.stderr),
          (1, "onceproxy events: its output cannot be written\n"))


@test
def text_of_others_does_not_speak_to_a_terminal(bench):
    upstream, gateway = started(bench)
    bench.redis("XADD", "onceproxy:{0}:events", "1-1", "id", "a\x1b[31m",
                "route", "b\nc", "status", "many", "attempt", "-1")
    line, = events(gateway)
    equal(line, "1970-01-01T00:00:00.001Z ->- - - a\\u001b[31m 0-1-1 "
                "b\\u000ac -")


@test
def its_own_user_needs_few_rights(bench):
    redis = bench.own_redis()
    upstream, gateway = started(bench, redis=redis)
    paid(gateway, "a")
    redis("ACL", "SETUSER", "reader", "on", ">secret", "resetkeys", "-@all",
          "~onceproxy:*", "+xread", "+xinfo|stream")
    config = dict(gateway.config, store={
        **gateway.config["store"], "user": "reader", "password": "secret"})
    file = os.path.join(bench.folder(), "onceproxy.json")
    write(file, config)
    done = command("events", "-c", file)
    equal((done.returncode, done.stderr), (0, ""))
    equal(len(done.stdout.splitlines()), 2)


@test
def a_database_with_a_number_is_read(bench):
    redis = bench.own_redis()
    upstream, gateway = started(bench, redis=redis.url + "?db=3")
    paid(gateway, "a")
    equal(len(events(gateway)), 2)


@test
def the_managed_redis_is_read(bench):
    upstream, gateway = started(bench, redis="managed")
    paid(gateway, "a")
    equal(len(events(gateway)), 2)


@test
def a_cluster_is_read_as_one_and_followed(bench):
    cluster = bench.own_cluster(replicas=0)
    upstream, gateway = started(bench, redis=cluster, shards=16)
    following = Following(bench, gateway)
    keys = [f"k{number}" for number in range(20)]
    paid(gateway, *keys)
    eventually(lambda: len(following.lines()) == 40, "all are followed")
    lines = events(gateway)
    equal(sorted(lines), sorted(following.lines()))
    # A slot moves while it follows.
    slot = slot_of("{0}")
    owner = cluster.owner(slot)
    cluster.move(slot, next(n for n in cluster.nodes if n is not owner))
    paid(gateway, *[f"l{number}" for number in range(20)])
    eventually(lambda: len(following.lines()) == 80, "it follows the slot")
    equal(len(events(gateway)), 80)
    equal(following.end(), 0)


@test
def it_follows_the_master_that_sentinels_name(bench):
    sentinels = bench.sentinels()
    upstream, gateway = started(bench, redis=sentinels)
    following = Following(bench, gateway)
    paid(gateway, "a")
    following.wait_for(2)
    sentinels.wait_copied()
    sentinels.switch()
    eventually(lambda: gateway.ask("b").status == 201, "it pays again", 60)
    eventually(lambda: sorted(following.lines()) == sorted(events(gateway)),
               "the new master is read", 60)
    assert len(following.lines()) >= 4
    following.end()


tap.main()
