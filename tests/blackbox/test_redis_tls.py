# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, store.redis and store.tls: Redis over TLS, the server
and its name verified, also those of a cluster and those that Sentinels name."""

import os
import shlex
import shutil
import signal
import subprocess

from once import tap
from once.certificates import Authority
from once.gateway import command, without_places, write
from once.sentinels import LONG
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually


def server_options(authority, alternative="IP:127.0.0.1", clients="no"):
    """What makes a redis-server speak TLS."""
    own = authority.issue("redis", alternative)
    return ["--tls-cert-file", own.file, "--tls-key-file", own.key,
            "--tls-ca-cert-file", authority.file, "--tls-auth-clients",
            clients]


def as_lines(options):
    pairs = zip(options[::2], options[1::2])
    return "".join(f"{name[2:]} {value}\n" for name, value in pairs)


class Secured:
    """A Redis with TLS, and an authority that issued its certificate."""

    def __init__(self, bench, alternative="IP:127.0.0.1", clients="no"):
        self.authority = Authority(bench.folder())
        self.redis = bench.own_redis(
            *server_options(self.authority, alternative, clients))
        self.port = self.redis.port("tls-port")
        self.url = f"rediss://127.0.0.1:{self.port}/3"

    def store(self, **tls):
        return {"redis": self.url,
                "tls": {"ca": self.authority.file, **tls}}


def pays(bench, store, **more):
    upstream, gateway = bench.pair(
        store=store, cache={"size": 0}, **more)
    first, second = gateway.ask("k"), gateway.ask("k")
    equal((first.status, first.replayed), (201, False))
    equal((second.status, second.replayed), (201, True))
    equal(len(upstream.requests), 1)
    return upstream, gateway


def checks(bench, store):
    """What check says of it."""
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, bench.config("http://127.0.0.1:9", store=store))
    done = command("check", "-c", name)
    return done.returncode, without_places(
        done.stdout, name).replace(f"{name}: ", "")


def taken_or_none(gateway, key):
    """The answer, unless Redis could not be reached."""
    got = gateway.ask(key)
    return None if got.status == 503 else got


def error_of(gateway, event="store_down"):
    """The words with which the log says why Redis cannot be reached."""
    return gateway.wait_for_log(event)["error"]


@test
def a_payment_is_made_once_over_tls(bench):
    secured = Secured(bench)
    pays(bench, secured.store())
    equal(int(secured.redis("CONFIG", "GET", "port")[1]), 0)


@test
def a_large_answer_comes_back_byte_for_byte(bench):
    secured = Secured(bench)
    body = os.urandom(700 * 1024)
    upstream, gateway = bench.pair(
        answer(200, body), store=secured.store(), cache={"size": 0})
    for _ in range(3):
        assert gateway.ask("k").body == body
    equal(len(upstream.requests), 1)


@test
def redis_may_ask_for_a_certificate(bench):
    secured = Secured(bench, clients="yes")
    own = secured.authority.issue("gateway")
    pays(bench, secured.store(certificate=own.file, key=own.key))


@test
def a_name_other_than_the_host_may_be_demanded(bench):
    secured = Secured(bench, alternative="DNS:redis.example")
    pays(bench, secured.store(server_name="redis.example"))


@each([
    ("of an unknown authority", "IP:127.0.0.1", True,
     "issuer is unknown"),
    ("for another host", "IP:127.0.0.2", False,
     "name in the certificate does not match"),
])
def a_certificate_is_refused(bench, alternative, other, words):
    secured = Secured(bench, alternative)
    if other:
        secured.authority = Authority(bench.folder(), "other")
    upstream, gateway = bench.upstream(), None
    gateway = bench.serve(
        bench.config(upstream, store=secured.store()), ready=False)
    assert words in error_of(gateway), error_of(gateway)
    doctor = command("doctor", "-c", gateway.file)
    assert words in doctor.stdout, doctor.stdout
    equal(secured.redis("DBSIZE"), 0)
    equal(len(upstream.requests), 0)


@each([("who asks for a certificate", "yes"), ("who asks for none", "no")])
def doctor_looks_at_all_of_it(bench, clients):
    """Tickets come behind the handshake, and are no replies."""
    secured = Secured(bench, clients=clients)
    secured.redis("CONFIG", "SET", "appendonly", "yes")
    own = secured.authority.issue("gateway")
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, bench.config(bench.upstream(), store=secured.store(
        certificate=own.file, key=own.key)))
    done = command("doctor", "-v", "-c", name)
    for finding in ("redis_unreachable", "rights", "writes"):
        assert [line[:2] for line in done.stdout.splitlines()
                if line.endswith(f"[{finding}]")] == ["ok"], done.stdout


@test
def a_cure_of_doctor_is_a_command_that_reaches_it(bench):
    secured = Secured(bench, clients="yes")
    own = secured.authority.issue("gateway")
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, bench.config(bench.upstream(), store=secured.store(
        certificate=own.file, key=own.key)))

    def found():
        said = command("doctor", "-c", name).stdout.splitlines()
        return [line for line in said if line.endswith("[appendfsync]")]
    secured.redis("CONFIG", "SET", "appendonly", "yes")
    line, = found()
    cure = line.split("To do: ")[1].split(",")[0]
    subprocess.run(shlex.split(cure.replace("redis-cli", "redis-cli -e")),
                   check=True, capture_output=True)
    equal(found(), [], cure)


@test
def a_replica_follows_that_is_started_as_doctor_says(bench):
    """To a port with TLS, and so not in plain text."""
    secured = Secured(bench)
    secured.redis("CONFIG", "SET", "repl-diskless-sync-delay", "0")
    secured.url = f"rediss://127.0.0.1:{secured.port}"
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, bench.config(bench.upstream(), store=secured.store()))
    line, = [line for line in command("doctor", "-c", name).stdout.splitlines()
             if line.endswith("[no_replica]")]
    words = line.split("redis-server with: ")[1].split("  [")[0]
    options = [word for option in words.split(" and ")
               for word in ("--" + option).split()]
    equal(options[2], str(secured.port))
    bench.own_redis(*server_options(secured.authority), *options)
    eventually(lambda: b"state=online"
               in secured.redis("INFO", "replication"), "it follows")


@test
def a_start_on_a_redis_that_evicts_is_refused(bench):
    secured = Secured(bench)
    secured.redis("CONFIG", "SET", "maxmemory", "100mb",
                  "maxmemory-policy", "allkeys-lru")
    gateway = bench.serve(bench.config(
        bench.upstream(), store=secured.store()), ready=False)
    equal(gateway.wait(), 1)
    assert any("may evict" in line for line in gateway.lines), gateway.lines


@test
def a_redis_that_wants_our_certificate_says_so(bench):
    secured = Secured(bench, clients="yes")
    gateway = bench.serve(
        bench.config(bench.upstream(), store=secured.store()), ready=False)
    words = error_of(gateway)
    assert "wants a client certificate" in words, words


@test
def a_redis_without_tls_is_not_waited_for_long(bench):
    redis = bench.own_redis()
    gateway = bench.serve(bench.config(bench.upstream(), store={
        "redis": f"rediss://127.0.0.1:{redis.port()}"}), ready=False)
    error_of(gateway)
    done = command("doctor", "-c", gateway.file)
    assert "if it speaks no TLS, write redis:// instead of rediss://" in \
        done.stdout, done.stdout


@test
def certificates_that_change_are_taken_by_a_reload(bench):
    secured = Secured(bench, clients="yes")
    own = secured.authority.issue("gateway")
    folder = bench.folder()
    ca, certificate, key = (
        shutil.copy(path, os.path.join(folder, name)) for path, name in (
            (secured.authority.file, "ca.pem"), (own.file, "own.pem"),
            (own.key, "own.key")))
    store = {"redis": secured.url,
             "tls": {"ca": ca, "certificate": certificate, "key": key}}
    upstream, gateway = pays(bench, store)
    # Another authority on both sides.
    later = Authority(bench.folder(), "later")
    words = server_options(later, clients="yes")
    secured.redis("CONFIG", "SET", *(word.removeprefix("--")
                                     for word in words))
    renewed = later.issue("gateway")
    for path, to in ((later.file, ca), (renewed.file, certificate),
                     (renewed.key, key)):
        shutil.copy(path, to)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    secured.redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    secured.redis("CLIENT", "KILL", "TYPE", "pubsub")
    got = eventually(
        lambda: taken_or_none(gateway, "k2"), "it is connected again")
    equal((got.status, got.replayed), (201, False))
    equal(gateway.ask("k").replayed, True)
    equal(len(upstream.requests), 2)


@test
def those_of_another_redis_wait_for_a_restart_as_that_does(bench):
    """A file that is for the next start breaks nothing of the present one."""
    secured = Secured(bench)
    _, gateway = pays(bench, secured.store())
    config = dict(gateway.config)
    config["store"] = {**config["store"], "redis": "rediss://127.0.0.1:1/3",
                       "tls": {"ca": Authority(bench.folder(), "next").file}}
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    secured.redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    secured.redis("CLIENT", "KILL", "TYPE", "pubsub")
    eventually(lambda: taken_or_none(gateway, "k2"), "it is connected again")
    equal(gateway.ask("k").replayed, True)


@test
def all_servers_of_a_cluster_speak_tls(bench):
    authority = Authority(bench.folder())
    own = authority.issue("gateway")
    cluster = bench.own_cluster(
        replicas=0, tls=["--tls-cluster", "yes",
                         *server_options(authority, clients="yes")])
    upstream, gateway = bench.pair(store={
        "cluster": [f"127.0.0.1:{cluster.nodes[0].tls_port}"],
        "tls": {"ca": authority.file, "certificate": own.file,
                "key": own.key}}, redis=cluster, cache={"size": 0})
    for key in range(24):  # on all of them
        equal(gateway.ask(f"k{key}").replayed, False)
        equal(gateway.ask(f"k{key}").replayed, True)
    equal(len(upstream.requests), 24)
    assert all(node("DBSIZE") > 0 for node in cluster.nodes)
    events = command("doctor", "-c", gateway.file)
    assert events.returncode in (0, 1), events.stdout + events.stderr


@test
def sentinels_and_those_they_name_speak_tls(bench):
    authority = Authority(bench.folder())
    lines = as_lines(server_options(
        authority, "IP:127.0.0.1,DNS:redis.example"))
    sentinels = bench.sentinels(replicas=1, tls=lines +
                                "tls-replication yes\n")
    upstream, gateway = bench.pair(
        redis=sentinels, cache={"size": 0}, store={
            "tls": {"ca": authority.file, "server_name": "redis.example"}})
    equal(gateway.ask("k").replayed, False)
    sentinels.master().kill()
    got = eventually(lambda: taken_or_none(gateway, "k2"),
                        "the new master is found", LONG)
    equal((got.status, got.replayed), (201, False))
    equal(len(upstream.requests), 2)


@test
def an_empty_tls_means_the_systems_authorities(bench):
    """Which know nobody here."""
    authority = Authority(bench.folder())
    cluster = bench.own_cluster(
        masters=3, replicas=0,
        tls=["--tls-cluster", "yes", *server_options(authority)])
    gateway = bench.serve(bench.config(bench.upstream(), redis=cluster, store={
        "cluster": [f"127.0.0.1:{cluster.nodes[0].tls_port}"], "tls": {}}),
        ready=False)
    words = error_of(gateway, "node_down")
    assert "issuer is unknown" in words, words


@test
def a_stream_is_read_over_tls(bench):
    secured = Secured(bench, clients="yes")
    own = secured.authority.issue("gateway")
    upstream, gateway = bench.pair(
        brokers={"queue": {"redis": secured.url, "tls": {
            "ca": secured.authority.file, "certificate": own.file,
            "key": own.key}}},
        sources={"charges": {"broker": "queue", "stream": "charges",
                             "request": {"path": "/v1/charges", "headers": {
                                 "Authorization": "Bearer t"}}}},
        admin={"listen": "127.0.0.1:0"})
    secured.redis("SELECT", 3)
    secured.redis("XADD", "charges", "*", "body", '{"amount": 1}')
    gateway.wait_for_log("message", outcome="executed")
    equal(upstream.count(), 1)


# --- what check says ---

@test
def check_reads_the_files(bench):
    authority = Authority(bench.folder())
    own, other = authority.issue("a"), authority.issue("b")
    url = "rediss://me:secret@redis.example:6390/2"
    equal(checks(bench, {"redis": url}), (0, "ok\n"))
    equal(checks(bench, {"redis": url, "tls": {}}), (0, "ok\n"))
    equal(checks(bench, {"redis": url, "tls": {
        "ca": "/gone", "certificate": own.file, "key": other.key}}), (
        1, "/store/tls/ca: /gone cannot be read: No such file or directory\n"
           f"/store/tls/key: {other.key} is not the key of the certificate in "
           f"{own.file}\n"))
    equal(checks(bench, {"redis": url, "tls": {"certificate": own.file}}), (
        1, '/store/tls/certificate: "store.tls.key" is needed too\n'))


@each([("managed", "managed"), ("without TLS", "redis://h:1"),
       ("a Unix socket", "unix:/run/redis")])
def check_refuses_tls_where_none_is(bench, url):
    equal(checks(bench, {"redis": url, "tls": {"server_name": "x"}}), (
        1, '/store/tls/server_name: only "rediss://...", a cluster and '
           "Sentinels have this: where that Redis speaks TLS, its URL begins "
           'with "rediss://"\n'))


@test
def a_wrong_address_is_the_only_complaint(bench):
    code, said = checks(bench, {
        "redis": "rediss://127.0.0.1:1/x", "tls": {"server_name": "x"}})
    equal((code, said.count("\n")), (1, 1), said)
    assert said.startswith("/store/redis: "), said


tap.main()
