# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 10: events, as a consumer group reads them."""

import os
import shlex
import subprocess

from once import tap
from once.http import ask, build
from once.tap import equal, test
from once.upstream import answer, close_unanswered
from once.wait import PATIENCE, eventually

SHARDS = 2
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
PAID = ["NONE>PROCESSING 1", "PROCESSING>COMPLETED 1 201"]


def started(bench, reply=None, idempotency=None, maxlen=1000, redis=None,
            **members):
    """An upstream, a gateway that writes events, and a consumer of them."""
    store = {"events": {"maxlen": maxlen}, "shards": SHARDS,
             **members.pop("store", {})}
    upstream = bench.upstream(reply)
    consumer = Consumer(redis or bench.redis)
    gateway = bench.gateway(
        upstream, idempotency, redis=redis, store=store,
        admin={"listen": "127.0.0.1:0"}, **members)
    return upstream, gateway, consumer


class Consumer:
    """A consumer group on the streams of all shards, from the first entry on,
    that acknowledges what it has read."""

    def __init__(self, redis, stream="events"):
        self.redis = redis
        self.streams = [f"onceproxy:{{{n}}}:{stream}" for n in range(SHARDS)]
        self.entries = []
        for name in self.streams:
            redis("XGROUP", "CREATE", name, "ledger", "0", "MKSTREAM")

    def read(self):
        """All events so far, as fields."""
        got = self.redis(
            "XREADGROUP", "GROUP", "ledger", "one", "COUNT", 10000,
            "STREAMS", *self.streams, *[">"] * len(self.streams))
        for stream, entries in got or []:
            for entry_id, words in entries:
                words = [word.decode() for word in words]
                self.entries.append(dict(zip(words[::2], words[1::2])))
                equal(self.redis("XACK", stream, "ledger", entry_id), 1)
        return self.entries

    def stories(self):
        """The changes of each key_id, in order."""
        stories = {}
        for entry in self.read():
            stories.setdefault(entry["id"], []).append(told(entry))
        return stories

    def story(self):
        """Those of the only key there is."""
        stories = list(self.stories().values())
        equal(len(stories), 1)
        return stories[0]

    def wait_for(self, words):
        """Waits until those are the events."""
        eventually(lambda: words in map(told, self.read()), words)


def told(entry):
    words = [f"{entry['from']}>{entry['to']}", entry["attempt"]]
    return " ".join(words + [entry[k] for k in ("status",) if k in entry])


def operator(gateway, method, target, body=b"{}"):
    got = ask(gateway.ready["admin"], build(
        method, target, body=None if method == "DELETE" else body,
        host="localhost"))
    equal(got.status, 200, got)


def key_id_of(problem):
    return problem.json()["instance"].rsplit(":", 1)[-1]


@test
def a_payment_is_told_from_its_claim_to_its_answer(bench):
    upstream, gateway, consumer = started(bench)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    equal(consumer.story(), PAID[:1])
    equal(gateway.ask("k").problem, "in-flight")
    hold.release()
    equal(first.result().status, 201)
    # When the client has its answer, the event is in the stream.
    equal(consumer.story(), PAID)
    for _ in range(3):
        assert gateway.ask("k").replayed
    equal(gateway.ask("k", body=b"another").problem, "key-reused")
    equal(consumer.story(), PAID)
    for entry in consumer.entries:
        equal((len(entry["id"]), entry["route"]), (32, "charges"))
    equal(bench.redis("XPENDING", consumer.streams[0], "ledger")[0], 0)


@test
def what_is_released_is_free_and_its_retry_is_another_attempt(bench):
    upstream, gateway, consumer = started(bench, answer(503))
    equal(gateway.ask("k").status, 503)
    upstream.reply = answer()
    equal(gateway.ask("k").status, 201)
    equal(consumer.story(), [
        "NONE>PROCESSING 1", "PROCESSING>NONE 1",
        "NONE>PROCESSING 2", "PROCESSING>COMPLETED 2 201"])


@test
def an_outcome_that_nobody_knows_is_also_a_dead_letter(bench):
    dead = Consumer(bench.redis, "dead")
    upstream, gateway, consumer = started(
        bench, close_unanswered,
        idempotency={"on_unknown": "retry", "max_attempts": 2})
    for _ in range(2):
        equal(gateway.ask("k").status, 502)
    equal(gateway.ask("k").problem, "attempts-exhausted")
    equal(consumer.story(), [
        "NONE>PROCESSING 1", "PROCESSING>UNKNOWN 1",
        "UNKNOWN>PROCESSING 2", "PROCESSING>UNKNOWN 2", "UNKNOWN>FAILED 2"])
    equal(dead.story(), [
        "PROCESSING>UNKNOWN 1", "PROCESSING>UNKNOWN 2", "UNKNOWN>FAILED 2"])


@test
def a_lease_that_runs_out_is_told_without_a_client(bench):
    upstream, gateway, consumer = started(
        bench, idempotency={"lease": "1s"})
    upstream.hold()
    bench.background(gateway.ask, "k")
    upstream.wait_for(1)
    gateway.kill()
    bench.serve(gateway.config)
    consumer.wait_for("PROCESSING>UNKNOWN 1")
    equal(consumer.story(), ["NONE>PROCESSING 1", "PROCESSING>UNKNOWN 1"])


@test
def what_an_operator_decides_is_told(bench):
    upstream, gateway, consumer = started(bench, close_unanswered)
    story = []

    def becomes_unknown(before, attempt):
        key_id = key_id_of(gateway.ask("k"))
        story.extend([f"{before}>PROCESSING {attempt}",
                      f"PROCESSING>UNKNOWN {attempt}"])
        return key_id
    key_id = becomes_unknown("NONE", 1)
    operator(gateway, "POST", f"/keys/{key_id}/release")
    story.append("UNKNOWN>NONE 1")
    becomes_unknown("NONE", 2)
    operator(gateway, "POST", f"/keys/{key_id}/complete",
             b'{"status": 202, "body": "by hand"}')
    story.append("UNKNOWN>COMPLETED 2 202")
    equal(gateway.ask("k").status, 202)
    operator(gateway, "DELETE", f"/keys/{key_id}")
    story.append("COMPLETED>NONE 2")
    equal(consumer.story(), story)


@test
def what_the_upstream_says_about_an_unknown_outcome_is_told(bench):
    upstream, gateway, consumer = started(
        bench, close_unanswered,
        idempotency={"on_unknown": {
            "reconcile": {"path": "/by/{key}", "settle": "0s"}}})
    in_doubt = ["NONE>PROCESSING 1", "PROCESSING>UNKNOWN 1"]
    asked = ["UNKNOWN>PROCESSING 1"]
    for key in ("happened", "did-not", "nobody-knows"):
        equal(gateway.ask(key).status, 502)
    upstream.reply = answer()
    upstream.replies["/by/happened"] = answer(200)
    upstream.replies["/by/did-not"] = answer(404)
    upstream.replies["/by/nobody-knows"] = answer(500)
    equal([gateway.ask(key).status
           for key in ("happened", "did-not", "nobody-knows")],
          [200, 201, 409])
    equal(sorted(consumer.stories().values()), sorted([
        in_doubt + asked + ["PROCESSING>COMPLETED 1 200"],
        in_doubt + asked + ["PROCESSING>NONE 1", "NONE>PROCESSING 2",
                            "PROCESSING>COMPLETED 2 201"],
        in_doubt + asked + ["PROCESSING>UNKNOWN 1"]]))


@test
def a_claim_of_which_nothing_was_sent_is_told_and_taken_back(bench):
    upstream, gateway, consumer = started(bench)
    upstream.stop()
    equal(gateway.ask("k").problem, "upstream-unreachable")
    equal(consumer.story(), ["NONE>PROCESSING 1", "PROCESSING>NONE 1"])


@test
def an_outcome_out_of_the_journal_is_told_with_its_status(bench):
    redis = bench.own_redis(*DURABLE)
    upstream, gateway, consumer = started(
        bench, answer(201, b"x" * 4096), redis=redis)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis.kill()
    hold.release()
    equal(first.result().status, 201)
    redis.start()
    consumer.wait_for(PAID[1])
    equal(consumer.story(), PAID)


@test
def nothing_is_told_that_did_not_happen_and_nothing_is_missed(bench):
    """Connections to Redis are cut again and again.  In the end streams and
    records agree, and each answer that a client got has exactly one event."""
    upstream, gateway, consumer = started(bench, maxlen=100000)
    done = []

    def client(number):
        for turn in range(30):
            got = gateway.ask(f"k{number}-{turn}")
            done.append((got.status, got.problem))
    tasks = [bench.background(client, n) for n in range(4)]

    def cut():
        bench.redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        return len(done) >= 4 * 30
    eventually(cut, "all are answered", 2 * PATIENCE)
    for task in tasks:
        task.result()
    # Waits until lost claims are given back, and outcomes delivered.
    eventually(lambda: all(
        ">COMPLETED" in story[-1] or ">NONE" in story[-1]
        for story in consumer.stories().values()), "all have ended")
    stories = consumer.stories()
    for key_id, story in stories.items():
        at = "NONE"
        for entry in story:
            before, after = entry.split(" ")[0].split(">")
            equal(before, at, story)
            at = after
        records = [name for name in bench.redis.keys()
                   if name.endswith(f":r:{key_id}".encode())]
        letters = [bench.redis("GETRANGE", name, 2, 2) for name in records]
        equal(letters, [b"C" if at == "COMPLETED" else b"R"], story)
    paid = sum(status == 201 for status, _ in done)
    completed = [story for story in stories.values()
                 if "COMPLETED" in story[-1]]
    assert len(completed) >= paid, (len(completed), paid)
    equal(upstream.count(), len(completed))


@test
def the_streams_are_cut_to_about_maxlen(bench):
    upstream, gateway, consumer = started(bench, maxlen=100)
    with gateway.client() as client:
        for number in range(300):
            equal(client.exchange(
                fields=[("Idempotency-Key", f"k{number}"),
                        ("Authorization", "a")], body=b"").status, 201)
    for stream in consumer.streams:
        # A node of a stream has 100 entries, and only whole nodes are dropped.
        left = bench.redis("XLEN", stream)
        assert 100 <= left <= 200, left


@test
def by_default_there_are_no_events(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(close_unanswered, redis=redis)
    gateway.ask("k")
    upstream.reply = answer()
    gateway.ask("l")
    for name in redis.keys():
        assert not name.endswith((b":events", b":dead")), name
    assert b"cmdstat_xadd" not in redis("INFO", "commandstats")


@test
def an_event_that_redis_refuses_costs_no_payment_and_is_said(bench):
    upstream, gateway, consumer = started(bench)
    for stream in consumer.streams:
        bench.redis("SET", stream, "not a stream")
    equal(gateway.ask("k").status, 201)
    assert "WRONGTYPE" in gateway.wait_for_log("event_lost")["error"]
    assert gateway.ask("k").replayed
    equal(upstream.count(), 1)


@test
def serve_refuses_a_user_who_may_not_write_events(bench):
    redis = bench.own_redis()
    redis("ACL", "SETUSER", "gate", "on", ">secret", "~*", "&*", "+@all",
          "-xadd")
    store = {"user": "gate", "password": "secret"}
    config = bench.config("http://127.0.0.1:9", redis=redis, store=store)
    bench.serve(config).stop()
    config["store"]["events"] = {"maxlen": 10}
    gateway = bench.serve(config, ready=False)
    assert "XADD" in gateway.wait_for_log("fatal")["error"]
    equal(gateway.wait(), 1)


def manual_commands():
    """The lines of redis-cli in the manual's section about events."""
    top = os.environ.get("top_srcdir", os.path.dirname(__file__) + "/../..")
    with open(os.path.join(top, "src/man/onceproxy-log.7.in"),
              encoding="utf-8") as file:
        section = file.read().split(".Sh READING THE EVENTS\n", 1)[1]
    section = section.split("\n.Sh", 1)[0].replace("\\e\n", " ")
    return [line.replace("\\-", "-") for line in section.splitlines()
            if line.startswith("redis\\-cli ")]


@test
def the_commands_of_the_manual_read_them(bench):
    upstream, gateway, consumer = started(bench, store={"shards": 1})
    output, entry = [], ""
    for number, line in enumerate(manual_commands()):
        words = shlex.split(line.replace("ENTRY", entry))
        equal(words[0], "redis-cli")
        done = subprocess.run(
            ["redis-cli", "-s", bench.redis.path, *words[1:]], check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE)
        equal(done.returncode, 0, done.stderr)
        assert "ERR" not in done.stdout + done.stderr, (line, done)
        output.append(done.stdout)
        if number == 0:
            equal(gateway.ask("k").status, 201)
            entry = bench.redis(
                "XRANGE", consumer.streams[0], "-", "+")[0][0].decode()
    assert any("PROCESSING" in text for text in output), output
    equal(gateway.ask("k").replayed, True)


tap.main()
