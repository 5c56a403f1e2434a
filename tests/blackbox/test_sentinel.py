# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, store.sentinels: Redis Sentinels say where the master
is, the gateway follows it, and nothing is executed twice."""

import itertools
import json
import os
import socket
import threading

from once import tap
from once.gateway import command, write
from once.http import ask, build
from once.redis import RedisClient
from once.sentinels import LONG, MASTER
from once.tap import each, equal, test
from once.wait import eventually


def started(bench, made=None, store=None, **more):
    sentinels = made or bench.sentinels(**more)
    upstream, gateway = bench.pair(
        redis=sentinels, store=store or {}, admin={"listen": "127.0.0.1:0"},
        cache={"size": 0})
    return sentinels, upstream, gateway


def taken(gateway, key, **more):
    """Pays until Redis takes the claim; the answer, which is the first."""
    def got():
        answer = gateway.ask(key, **more)
        if answer.status == 503:
            equal((answer.problem, answer.json()["retry"]),
                  ("store-unavailable", "same-key"))
            return None
        # A claim that came too late is given back.
        return answer if answer.problem != "in-flight" else None
    answer = eventually(got, f"{key} is taken", LONG)
    equal((answer.status, answer.replayed), (201, False))
    return answer


def refused(gateway, key="refused"):
    """No claim is possible, in several tries."""
    for _ in range(5):
        got = gateway.ask(key)
        equal((got.status, got.problem), (503, "store-unavailable"))


def readiness(gateway):
    return ask(gateway.ready["admin"], build("GET", "/readyz")).status


def place(entry, which):
    return entry[which], entry[which + "_port"]


def is_at(gateway, event, server, **more):
    """Waits until the log says that the master was found there, or moved
    there."""
    gateway.wait_for_log(event, to=server.host, to_port=server.port,
                         timeout=LONG, **more)


# --- finding it ----------------------------------------------------------

@test
def the_sentinels_say_where_the_master_is(bench):
    sentinels, upstream, gateway = started(bench)
    equal(taken(gateway, "k").status, 201)
    assert gateway.ask("k").replayed
    equal(upstream.count(), 1)
    is_at(gateway, "master_found", sentinels.servers[0])
    assert sentinels.servers[0]("DBSIZE") > 0
    equal(readiness(gateway), 200)
    status = ask(gateway.ready["admin"], build(
        "GET", "/status", host="localhost")).json()
    equal(status["store"]["master"], sentinels.servers[0].address)


PASSWORDS = [("the master alone has one", "secret", None),
             ("the Sentinels have the same", "secret", "secret")]


@each(PASSWORDS)
def a_password_is_said_to_the_master_and_to_sentinels(
        bench, password, watch_password):
    sentinels, _, gateway = started(
        bench, password=password, watch_password=watch_password,
        replicas=1, sentinels=1)
    taken(gateway, "k")
    equal(gateway.find_log("sentinel_lost"), [])


@test
def a_sentinel_with_another_password_is_said(bench):
    sentinels, _, gateway = started(
        bench, password="secret", watch_password="other", replicas=0,
        sentinels=1, store={"timeout": "500ms"})
    said = gateway.wait_for_log("sentinel_lost")
    assert "NOAUTH" in said["error"], said
    refused(gateway)


@test
def a_user_of_sentinel_needs_what_the_manual_says(bench):
    sentinels = bench.sentinels(replicas=0, sentinels=1)
    server, sentinel = sentinels.servers[0], sentinels.sentinels[0]
    server("ACL", "SETUSER", "gate", "on", ">secret", "~*", "&*", "+@all")
    sentinel("ACL", "SETUSER", "gate", "on", ">secret", "resetchannels",
             "-@all", "+ping", "+client|setname", "+psubscribe",
             "+sentinel|master", "+sentinel|get-master-addr-by-name",
             "&+switch-master")
    _, _, gateway = started(
        bench, sentinels, store={"user": "gate", "password": "secret"})
    taken(gateway, "k")

    def listening():
        """The gateway's connections to the Sentinel, as that sees them."""
        return [line for line in sentinel(
            "CLIENT", "LIST").decode().split("\n") if "user=gate" in line]
    eventually(lambda: len(listening()) == 2 and any(
        "psub=1" in line for line in listening()), "one asks, one listens")
    equal(gateway.find_log("sentinel_lost"), [])


@test
def a_gateway_waits_for_sentinels_and_for_the_name_of_the_master(bench):
    sentinels = bench.sentinels(replicas=0, sentinels=1)
    sentinel = sentinels.sentinels[0]
    sentinel.kill()
    _, upstream, gateway = started(
        bench, sentinels, store={"master": "late", "timeout": "500ms"})
    gateway.wait_for_log("sentinel_lost", sentinel=sentinel.address)
    gateway.wait_for_log("master_unknown", master="late")
    refused(gateway)
    sentinels.start_again(sentinel)
    sentinel("SENTINEL", "MONITOR", "late", sentinels.servers[0].host,
             sentinels.servers[0].port, 1)
    taken(gateway, "k")
    gateway.wait_for_log("sentinel_back")
    equal(upstream.count(), 1)


@test
def a_name_that_no_sentinel_knows_is_said_once(bench):
    sentinels, _, gateway = started(
        bench, replicas=0, sentinels=2,
        store={"master": "nobody", "timeout": "500ms"})
    for sentinel in sentinels.sentinels:
        said = gateway.wait_for_log(
            "sentinel_lost", sentinel=sentinel.address)
        assert "No such master" in said["error"], said
    gateway.wait_for_log("master_unknown", master="nobody")
    refused(gateway)
    equal(len(gateway.find_log("sentinel_lost")), 2)
    equal(len(gateway.find_log("master_unknown")), 1)


# --- the master is lost --------------------------------------------------

@test
def a_killed_master_costs_503_and_nothing_else(bench):
    """Payments that are on their way are stored in the new master, whatever
    was answered is replayed, and nothing is executed twice."""
    sentinels, upstream, gateway = started(bench, down_after_ms=4000)
    old = sentinels.servers[0]
    keys = [f"before{n}" for n in range(8)]
    answers = {key: taken(gateway, key) for key in keys}
    hold = upstream.hold()
    on_the_way = [bench.background(gateway.ask, f"way{n}") for n in range(3)]
    upstream.wait_for(len(keys) + 3)
    sentinels.wait_copied()
    old.kill()
    gateway.wait_for_log("store_down")
    refused(gateway, "meanwhile")
    equal(readiness(gateway), 503)
    hold.release()
    new = sentinels.wait_moved(old)
    is_at(gateway, "master_moved", new)
    taken(gateway, "meanwhile")
    for task in on_the_way:
        equal(task.result().status, 201)
    for number in range(3):
        eventually(lambda n=number: gateway.ask(f"way{n}").replayed)
    for key, answer in answers.items():
        again = gateway.ask(key)
        assert again.replayed, again
        equal(again.body, answer.body)
    equal(upstream.count(), len(keys) + 4)
    equal(readiness(gateway), 200)
    moved = gateway.find_log("master_moved")
    equal(len(moved), 1)
    equal(place(moved[0], "from"), (old.host, old.port))
    # It comes back as a replica, and nobody uses it.
    sentinels.start_again(old)
    eventually(lambda: old.info("role") == "slave", "a replica", LONG)
    taken(gateway, "after")
    equal(len(gateway.find_log("master_moved")), 1)


@test
def a_failover_that_an_operator_asks_for_is_followed_each_time(bench):
    sentinels, upstream, gateway = started(bench)
    for number in range(2):
        taken(gateway, f"k{number}")
        sentinels.wait_copied()
        new = sentinels.switch()
        is_at(gateway, "master_moved", new)
        eventually(lambda n=number: gateway.ask(f"k{n}").replayed,
                   "the answer is there", LONG)
        sentinels.wait_together()
    equal(upstream.count(), 2)
    equal(len(gateway.find_log("master_moved")), 2)


@test
def a_demoted_master_that_still_answers_is_left(bench):
    """No Sentinel can tell: the gateway learns it from the server alone."""
    sentinels, upstream, gateway = started(
        bench, replicas=1, sentinels=1, down_after_ms=600000)
    old, other = sentinels.servers
    taken(gateway, "before")
    sentinels.wait_copied()
    sentinels.sentinels[0].freeze()
    other("REPLICAOF", "NO", "ONE")
    old("REPLICAOF", other.host, other.port)
    # A claim is refused by it, and that is enough.
    equal(gateway.ask("k").problem, "store-unavailable")
    gateway.wait_for_log("store_down", error="Redis is a replica")
    refused(gateway, "k")
    sentinel = sentinels.sentinels[0]
    sentinel.thaw()
    sentinel("SENTINEL", "REMOVE", MASTER)
    sentinel("SENTINEL", "MONITOR", MASTER, other.host, other.port, 1)
    taken(gateway, "k")
    assert gateway.ask("before").replayed
    equal(upstream.count(), 2)


# --- Sentinels are lost --------------------------------------------------

@test
def one_sentinel_of_three_is_enough(bench):
    sentinels = bench.sentinels()
    for sentinel in sentinels.sentinels[:2]:
        sentinel.kill()
    _, upstream, gateway = started(bench, sentinels)
    taken(gateway, "before")
    for sentinel in sentinels.sentinels[:2]:
        gateway.wait_for_log("sentinel_lost", sentinel=sentinel.address)
    sentinels.wait_copied()
    new = sentinels.switch()
    is_at(gateway, "master_moved", new)
    taken(gateway, "after")
    assert gateway.ask("before").replayed
    equal(upstream.count(), 2)


@test
def a_sentinel_that_falls_silent_is_replaced_by_the_others(bench):
    sentinels, upstream, gateway = started(
        bench, store={"timeout": "500ms"})
    taken(gateway, "before")
    sentinels.sentinels[0].freeze()
    gateway.wait_for_log("sentinel_lost",
                         sentinel=sentinels.sentinels[0].address)
    sentinels.wait_copied()
    is_at(gateway, "master_moved", sentinels.switch())
    taken(gateway, "after")
    sentinels.sentinels[0].thaw()
    gateway.wait_for_log("sentinel_back", timeout=LONG)
    equal(len(gateway.find_log("master_moved")), 1)
    equal(upstream.count(), 2)


@test
def without_any_sentinel_the_last_master_is_kept(bench):
    sentinels, upstream, gateway = started(bench, replicas=0, sentinels=2)
    taken(gateway, "before")
    for sentinel in sentinels.sentinels:
        sentinel.kill()
    gateway.wait_for_log("master_unknown")
    sentinels.servers[0]("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    eventually(lambda: gateway.ask("before").replayed)
    taken(gateway, "after")


# --- Sentinels that are behind -------------------------------------------

@test
def a_sentinel_that_missed_a_failover_is_not_believed(bench):
    """One that is behind is first in the list, and names a dead master."""
    sentinels = bench.sentinels(replicas=1)
    old = sentinels.servers[0]
    new = sentinels.switch()
    old.kill()
    behind = sentinels.stranger(0, old)
    _, upstream, gateway = started(bench, sentinels, store={
        "sentinels": [behind.address, *sentinels.store["sentinels"]]})
    taken(gateway, "k")
    is_at(gateway, "master_found", new)
    # Nor when it is the only one left.
    for sentinel in sentinels.sentinels:
        sentinel.freeze()
    for sentinel in sentinels.sentinels:
        gateway.wait_for_log("sentinel_lost", sentinel=sentinel.address)
    taken(gateway, "more")
    equal(gateway.find_log("master_moved"), [])


BEHIND = [("that is dead", lambda s: s.servers[0].kill()),
          ("that is a replica now", lambda s: None)]


@each(BEHIND)
def one_that_alone_is_there_leads_to_a_server(bench, befall):
    """... and the next one to answer leads away from there."""
    sentinels = bench.sentinels(replicas=1, down_after_ms=600000)
    old = sentinels.servers[0]
    new = sentinels.switch()
    eventually(lambda: old.info("role") == "slave")
    for sentinel in sentinels.sentinels:
        sentinel.freeze()
    # What they still had on its way there would bring the next one up to date.
    old("ACL", "SETUSER", "default", "resetchannels")
    befall(sentinels)
    behind = sentinels.stranger(0, old)
    _, upstream, gateway = started(bench, sentinels, store={
        "timeout": "500ms",
        "sentinels": [behind.address, *sentinels.store["sentinels"]]})
    is_at(gateway, "master_found", old)
    gateway.wait_for_log("store_down", timeout=LONG)
    refused(gateway)
    equal(upstream.count(), 0)
    # One for each worker, one for the admin interface: none accepts it.
    assert len(gateway.find_log("store_down")) <= 3, "up and down"
    for sentinel in sentinels.sentinels:
        sentinel.thaw()
    taken(gateway, "k")
    is_at(gateway, "master_moved", new)


# --- Sentinels that say anything -----------------------------------------

class Teller:
    """Pretends to be a Sentinel: named is its answer to
    GET-MASTER-ADDR-BY-NAME, epoch the one in its answer to SENTINEL MASTER;
    raw bytes."""

    def __init__(self, named, epoch=b"$1\r\n1\r\n"):
        self.named, self.epoch = named, epoch
        # Not for the first connection: that is the gateway's check before it
        # serves.
        self.asked = threading.Event()
        self.speaks = threading.Event()  # cleared: nothing is said
        self.speaks.set()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for number in itertools.count():
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock, number),
                             daemon=True).start()

    def serve(self, sock, number):
        try:
            with sock, sock.makefile("rb") as file:
                while line := file.readline():
                    words = [file.read(int(file.readline()[1:]) + 2)[:-2]
                             for _ in range(int(line[1:]))]
                    if number > 0:
                        self.speaks.wait()
                    sock.sendall(self.answer(words))
                    if number > 0 and b"GET-MASTER-ADDR-BY-NAME" in words:
                        self.asked.set()
        except OSError:
            pass

    def answer(self, words):
        if words[:2] == [b"SENTINEL", b"MASTER"]:
            return b"*2\r\n$12\r\nconfig-epoch\r\n" + self.epoch
        if words[0] == b"SENTINEL":
            return self.named
        if words[0] == b"PSUBSCRIBE":
            return b"*3\r\n$10\r\npsubscribe\r\n$14\r\n+switch-master" \
                b"\r\n:1\r\n"
        return b"+OK\r\n"

    @property
    def store(self):
        return {"sentinels": [self.address], "master": "m"}

    def stop(self):
        self.server.close()


def teller(bench, *said):
    bench.wires.append(Teller(*said))
    return bench.wires[-1]


def told(address):
    host, port = address.rsplit(":", 1)
    return b"*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (
        len(host), host.encode(), len(port), port.encode())


@test
def a_host_with_a_name_is_looked_up(bench):
    proxy = bench.proxy(bench.redis.url, unix=False)
    sentinel = teller(bench, told(
        proxy.address.replace("127.0.0.1", "localhost")))
    _, gateway = bench.pair(redis=sentinel)
    taken(gateway, "k")
    gateway.wait_for_log("master_found", to="localhost")


WRONG = [
    b"*-1\r\n",
    b"-ERR unknown\r\n",
    b":6379\r\n",
    told("127.0.0.1:"),
    told("127.0.0.1:0"),
    told("a\nb:6379"),
    told("a" * 300 + ":6379"),
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n1\r\n",
]


@test
def the_first_to_answer_is_not_believed_alone(bench):
    """It is behind, and only a majority may overrule it."""
    behind = teller(bench, told("127.0.0.1:1"), b"$1\r\n0\r\n")
    proxy = bench.proxy(bench.redis.url, unix=False)
    others = [teller(bench, told(proxy.address)) for _ in (1, 2)]
    for other in others:
        other.speaks.clear()
    _, gateway = bench.pair(redis=behind, store={
        "timeout": "60s",
        "sentinels": [t.address for t in (behind, *others)]})
    assert behind.asked.wait(LONG)
    for other in others:
        other.speaks.set()
    taken(gateway, "k")
    gateway.wait_for_log("master_found", to_port=proxy.port)
    equal(gateway.find_log("master_moved"), [])


@test
def what_is_no_address_is_not_gone_to(bench):
    tellers = [teller(bench, said) for said in WRONG]
    tellers.append(teller(bench, told("127.0.0.1:6379"), b"$2\r\n-1\r\n"))
    upstream, gateway = bench.pair(redis=tellers[0], store={
        "timeout": "500ms", "sentinels": [t.address for t in tellers]})
    for each_one in tellers:
        gateway.wait_for_log("sentinel_lost", sentinel=each_one.address)
    gateway.wait_for_log("master_unknown")
    refused(gateway)
    # One of them is right again.
    proxy = bench.proxy(bench.redis.url, unix=False)
    tellers[4].named = told(proxy.address)
    taken(gateway, "k")
    gateway.wait_for_log("sentinel_back", sentinel=tellers[4].address)
    equal(upstream.count(), 1)


# --- commands ------------------------------------------------------------

def doctor(bench, sentinels, **store):
    """Its findings that are not well, by name."""
    upstream = bench.upstream()
    file = os.path.join(bench.folder(), "onceproxy.json")
    write(file, bench.config(upstream, redis=sentinels, store=store,
                             limits={"connections": 100}))
    done = command("doctor", "-c", file, "--json")
    found = json.loads(done.stdout)["findings"]
    bad = [f for f in found if f["level"] in ("fail", "warn")]
    equal(done.returncode, int(any(f["level"] == "fail" for f in bad)))
    return bad


def levels(found):
    return sorted((f["name"], f["level"]) for f in found)


@test
def doctor_looks_at_the_master_and_at_each_sentinel(bench):
    sentinels = bench.sentinels(replicas=1)
    equal(doctor(bench, sentinels), [])
    sentinels.sentinels[1].kill()
    found = doctor(bench, sentinels)
    equal(levels(found), [("sentinel_lost", "warn")])
    assert sentinels.sentinels[1].address in found[0]["words"], found
    equal(found[0]["where"], "/store/sentinels/1")
    sentinels.sentinels[0]("SENTINEL", "REMOVE", MASTER)
    found = doctor(bench, sentinels)
    equal(levels(found), [("sentinel_lost", "warn")] * 2 +
          [("sentinels_few", "fail")])
    assert "No such master" in found[0]["words"], found
    # The one that is left still leads to the master.
    sentinels.sentinels[2].kill()
    found = doctor(bench, sentinels)
    assert ("redis_unreachable", "fail") in levels(found), found
    equal(next(f for f in found if f["name"] == "redis_unreachable")["where"],
          "/store/sentinels")


@test
def doctor_says_which_sentinel_is_behind(bench):
    sentinels = bench.sentinels(replicas=1)
    old = sentinels.servers[0]
    sentinels.switch()
    old.kill()
    behind = sentinels.stranger(0, old)
    sentinels.sentinels.append(behind)
    found = [f for f in doctor(bench, sentinels) if "sentinel" in f["name"]]
    equal(levels(found), [("sentinel_behind", "warn")])
    equal(found[0]["where"], "/store/sentinels/3")
    assert old.host in found[0]["words"], found
    sentinels.sentinels.remove(behind)


@test
def serve_starts_in_the_middle_of_a_failover(bench):
    """The master that they name was demoted: that will pass."""
    sentinels = bench.sentinels(
        replicas=1, sentinels=1, down_after_ms=600000)
    old, other = sentinels.servers
    other("REPLICAOF", "NO", "ONE")
    old("REPLICAOF", other.host, other.port)
    sentinel = sentinels.sentinels[0]
    _, upstream, gateway = started(bench, sentinels)
    refused(gateway)
    sentinel("SENTINEL", "REMOVE", MASTER)
    sentinel("SENTINEL", "MONITOR", MASTER, other.host, other.port, 1)
    taken(gateway, "k")


tap.main()
