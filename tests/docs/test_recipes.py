# SPDX-License-Identifier: BSD-2-Clause
"""onceproxy-setup(7), -brokers(7), -relays(7), -runbook(7): each recipe is
cooked as printed, except for addresses, names and paths."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

from once import tap
from once.admin import Admin
from once.certificates import Authority
from once.demo import PaymentApi, source
from once.gateway import command, is_without
from once.http import Broken, ask, build, connect, keyed
from once.kafka import START_S
from once.kafka_topic import need_reader
from once.manual import Examples
from once.messages import Beside, Stream, as_text
from once.ports import own_address
from once.postgres import programs
from once.process import Process
from once.redis import RedisClient, RedisError
from once.rediscluster import Node
from once.relays import relay
from once.sentinels import (
    DEBUG, LONG, PORT, SENTINEL_PORT, Sentinel, Server)
from once.tap import Skip, each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

RULES = "contrib/prometheus/onceproxy.rules.yml"
EXAMPLES = Examples("onceproxy-setup.7", "onceproxy-brokers.7",
                    "onceproxy-relays.7", "onceproxy-runbook.7")


# --- the kitchen ---

def needs(program):
    """Its path; /usr/sbin is not on everybody's PATH."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    found = shutil.which(program, path=path)
    if not found:
        raise Skip(f"there is no {program}")
    return found


def served(bench, name, changes, **members):
    """A gateway with the page's configuration, and these members added."""
    config = json.loads(EXAMPLES.take(name, changes))
    config.update({"state_dir": bench.folder(), **members})
    return bench.serve(config)


def shell(bench, name, changes, env=None, folder=None, patience=120):
    """Runs commands of the page with our onceproxy and redis-cli."""
    text = EXAMPLES.take(name, changes)
    bin_folder = bench.folder()
    os.symlink(os.environ.get("ONCEPROXY", shutil.which("onceproxy")),
               os.path.join(bin_folder, "onceproxy"))
    path = bin_folder + ":" + os.environ["PATH"]
    done = subprocess.run(
        ["sh", "-euc", text], cwd=folder or bench.folder(),
        capture_output=True, text=True, check=False, timeout=patience,
        env=dict(os.environ, PATH=path, **(env or {})))
    equal(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout


# --- an API with keys of its own ---

class KeepingApi:
    """An API with keys of its own: executes once, then replays."""

    def __init__(self):
        self.charges = {}
        self.requests = []
        self.lose = 0  # how many answers, from now on

    def __call__(self, connection, request):
        self.requests.append(request)
        if request.method == "GET":
            connection.send(answer(200, b"[]"))
            return
        name = (request.get("Authorization"), request.get("Stripe-Account"),
                request.get("Idempotency-Key"))
        made = self.charges.setdefault(name, len(self.charges) + 1)
        if self.lose:
            self.lose -= 1
            connection.close()
            return
        connection.send(answer(200, b'{"id":"ch_%d"}' % made))


@test
def what_an_api_with_keys_lost_is_asked_for_again(bench):
    api = KeepingApi()
    upstream = bench.upstream(api)
    gateway = served(bench, "stripe.json", {
        "0.0.0.0:8080": "127.0.0.1:0", "127.0.0.1:9090": "127.0.0.1:0",
        "redis://127.0.0.1:6379/0": bench.redis.url,
        "https://api.stripe.com": upstream.url})
    api.lose = 1
    equal(gateway.ask("k").problem, "outcome-unknown")
    got = gateway.ask("k")
    equal((got.status, got.body), (200, b'{"id":"ch_1"}'))
    assert gateway.ask("k").replayed
    equal(len(api.charges), 1)
    equal(len(api.requests), 2)
    # Another account is another tenant, and requests without a key pass
    # through.
    got = gateway.ask("k", fields=[("Stripe-Account", "acct_2")])
    equal(got.body, b'{"id":"ch_2"}')
    for _ in range(2):
        equal(gateway.ask(None).status, 200)
    equal(len(api.requests), 5)
    equal(api.requests[0].get("Host"), upstream.address)


@test
def a_key_in_use_over_there_is_no_outcome(bench):
    replies = [answer(409, b'{"error":{"code":"idempotency_key_in_use"}}'),
               answer(200)]
    upstream = bench.upstream(
        lambda connection, request: connection.send(replies.pop(0)))
    gateway = served(bench, "stripe.json", {
        "0.0.0.0:8080": "127.0.0.1:0", "127.0.0.1:9090": "127.0.0.1:0",
        "redis://127.0.0.1:6379/0": bench.redis.url,
        "https://api.stripe.com": upstream.url})
    equal(gateway.ask("k").status, 409)
    equal(gateway.ask("k").status, 200)
    equal(gateway.ask("k").replayed, True)


# --- balancers ---

def behind(bench, upstream, admin="127.0.0.1:0"):
    """A gateway as configured behind a balancer."""
    return served(bench, "behind.json", {
        "10.0.0.11:8080": "127.0.0.1:0", "10.0.0.11:9090": admin,
        "/etc/onceproxy/admin-token": bench.file(b"secret\n"),
        "redis://10.0.0.2:6379/0": bench.redis.url,
        "http://10.0.1.1:9000": upstream.url,
        "http://10.0.1.2:9000": upstream.url})


def nginx(bench, server):
    """Runs nginx with that as its http block."""
    folder = bench.folder()
    file = bench.file(f"""
daemon off;
master_process off;
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
access_log off;
client_body_temp_path {folder};
proxy_temp_path {folder};
fastcgi_temp_path {folder};
uwsgi_temp_path {folder};
scgi_temp_path {folder};
{server}
}}
""".encode(), "nginx.conf")
    return bench.process(Process(
        [needs("nginx"), "-p", folder, "-e", "stderr", "-c", file]))


def listens(process, address):
    """Waits until somebody accepts there."""
    def try_it():
        assert process.running(), "\n".join(process.lines)
        try:
            connect(address).close()
        except OSError:
            return False
        return True
    eventually(try_it, f"somebody at {address}")


def behind_nginx(bench, first, second):
    address = own_address()
    process = nginx(bench, EXAMPLES.take("nginx.conf", {
        "10.0.0.11:8080": first, "10.0.0.12:8080": second,
        "$scheme;": "https;",  # as set where TLS ends at the balancer
        "listen 80;": f"listen {address};"}))
    listens(process, address)
    return address


@test
def nginx_goes_on_to_the_gateway_that_is_there(bench):
    upstream = bench.upstream()
    gateways = [behind(bench, upstream) for _ in range(2)]
    address = behind_nginx(bench, *(g.address for g in gateways))
    for number in range(4):
        equal(ask(address, keyed(f"a{number}")).status, 201)
    gateways[0].stop()
    for number in range(4):
        got = ask(address, keyed(f"b{number}"))
        equal((got.status, got.replayed), (201, False))
        assert ask(address, keyed(f"a{number}")).replayed
    equal(upstream.count(), 8)
    seen = upstream.requests[0]
    equal((seen.get("X-Forwarded-Proto"), seen.get("X-Forwarded-Host"),
           seen.get("Host")), ("https", "api.example", "api.example"))
    assert seen.get("X-Forwarded-For").startswith("127.0.0.1, "), seen.fields


@test
def nginx_sends_no_post_twice(bench):
    silent = [bench.upstream(close_unanswered) for _ in range(2)]
    address = behind_nginx(bench, *(s.address for s in silent))
    equal(ask(address, keyed(None)).status, 502)
    equal(sum(s.count() for s in silent), 1)


def behind_haproxy(bench, first, second, ports):
    address = own_address()
    text = EXAMPLES.take("haproxy.cfg", {
        "bind :80": f"bind {address}",
        "check port 9090": "check",
        "10.0.0.11:8080": f"{first} port {ports[0]}",
        "10.0.0.12:8080": f"{second} port {ports[1]}"})
    process = bench.process(Process(
        [needs("haproxy"), "-db", "-f", bench.file(text.encode())]))
    listens(process, address)
    return process, address


def port_of(address):
    return address.rsplit(":", 1)[1]


@test
def haproxy_takes_a_gateway_out_while_it_drains(bench):
    needs("haproxy")
    upstream = bench.upstream()
    gateways = [behind(bench, upstream) for _ in range(2)]
    ports = [port_of(g.ready["admin"]) for g in gateways]
    haproxy, address = behind_haproxy(
        bench, *(g.address for g in gateways), ports)
    hold = upstream.hold()
    first = bench.background(ask, address, keyed("held"))
    hold.wait_arrived()
    upstream.reply = answer(201)
    busy = next(g for g in gateways if asks(g, "onceproxy_in_flight 1"))
    busy.signal(signal.SIGTERM)
    name = "ab"[gateways.index(busy)]
    haproxy.wait_for_line(f"Server onceproxy/{name} is DOWN")
    for number in range(4):
        equal(ask(address, keyed(f"k{number}")).status, 201)
    hold.release()
    equal(first.result().status, 201)
    equal(upstream.count(), 5)
    seen = upstream.requests[0]
    equal((seen.get("X-Forwarded-Proto"), seen.get("X-Forwarded-Host")),
          ("http", "api.example"))


def asks(gateway, line):
    got = ask(gateway.ready["admin"], build(
        "GET", "/metrics", [("Authorization", "Bearer secret")]))
    return line in got.body.decode().split("\n")


@test
def haproxy_sends_nothing_twice(bench):
    needs("haproxy")
    ready = bench.upstream(answer(200))
    silent = [bench.upstream(close_unanswered) for _ in range(2)]
    _, address = behind_haproxy(bench, *(s.address for s in silent),
                                [ready.port] * 2)
    equal(ask(address, keyed(None)).status, 502)
    equal(sum(s.count() for s in silent), 1)


@test
def who_waits_waits_longer_than_who_is_behind_it(bench):
    config = json.loads(EXAMPLES.take("behind.json"))
    upstream = config["upstreams"]["payments"]
    seconds = sum(int(upstream[n].rstrip("s")) * times for n, times in
                  (("connect_timeout", len(upstream["targets"])),
                   ("timeout", 1)))
    idle = int(config["limits"]["idle_timeout"].rstrip("s"))

    def time_of(file, pattern):
        return int(re.search(pattern, EXAMPLES.take(file)).group(1))
    for file, read, keep in (
            ("nginx.conf", r"proxy_read_timeout (\d+)s",
             r"keepalive_timeout (\d+)s"),
            ("haproxy.cfg", r"timeout server (\d+)s",
             r"timeout http-keep-alive (\d+)s")):
        assert time_of(file, read) > seconds, file
        assert time_of(file, keep) < idle, file


# --- Redis with users and TLS ---

class TlsRedis:
    """A Redis with the page's file and users, which speaks TLS alone."""

    def __init__(self, bench):
        needs("redis-cli")
        self.servers = Authority(bench.folder(), "servers")
        self.gateways = Authority(bench.folder(), "gateways")
        made = self.servers.issue("redis", "DNS:redis.internal")
        users = os.path.join(bench.folder(), "users.acl")
        with open(users, "w", encoding="ascii"):
            pass
        file = bench.file(EXAMPLES.take("redis.conf", {
            "/etc/redis/users.acl": users, "/etc/redis/redis.pem": made.file,
            "/etc/redis/redis.key": made.key, "tls-port 6379": "tls-port 0",
            "/etc/redis/gateways-ca.pem": self.gateways.file,
            "unixsocket /run/redis/redis.sock": ""}).encode(), "redis.conf")
        self.redis = bench.own_redis("--include", file)
        self.address = f"127.0.0.1:{self.redis.port('tls-port')}"
        shell(bench, "users.sh", {"/run/redis/redis.sock": self.redis.path},
              {"OPERATOR": "people's", "GATEWAY": "gate's"})

    def changes(self):
        """Of the gateway's file."""
        made = self.gateways.issue("gateway")
        return {"redis.internal:6379": self.address,
                '"tls": {': '"tls": {"server_name": "redis.internal", ',
                "/etc/onceproxy/redis-ca.pem": self.servers.file,
                "/etc/onceproxy/gateway.pem": made.file,
                "/etc/onceproxy/gateway.key": made.key}


@test
def a_gateway_needs_no_more_of_redis_than_its_user_may(bench):
    behind_tls = TlsRedis(bench)
    upstream = bench.upstream()
    gateway = served(bench, "redis.json", {
        "0.0.0.0:8080": "127.0.0.1:0", "127.0.0.1:9090": "127.0.0.1:0",
        **behind_tls.changes(),
        "/etc/onceproxy/redis-password": bench.file(b"gate's\n"),
        "/etc/onceproxy/record-names": bench.file(b"a secret\n"),
        '"store": {': '"store": {"events": {"maxlen": 1000}, "timeout": "5s",',
        '"idempotency": {}': '"idempotency": {"max_attempts": 1}',
        "http://127.0.0.1:9000": upstream.url})
    equal(gateway.ask("k").status, 201)
    assert gateway.ask("k").replayed
    equal(gateway.ask("k", body=b"{}").problem, "key-reused")
    upstream.reply = answer(503)
    equal(gateway.ask("released").status, 503)
    upstream.reply = close_unanswered
    for key in ("a", "b", "c"):
        equal(gateway.ask(key).problem, "outcome-unknown")
    settle_all(gateway)
    for event in ("store_refused", "store_unexamined", "store_deaf",
                  "event_lost"):
        equal(gateway.find_log(event), [])
    redis = RedisClient(behind_tls.redis.path)
    redis("AUTH", "operator", "people's")
    equal(redis("ACL", "LOG"), [])


def settle_all(gateway):
    """An operator lists, shows, completes, releases and deletes."""
    def operate(method, path, body=None):
        got = ask(gateway.ready["admin"], build(
            method, path, [("Content-Type", "application/json")], body,
            host="localhost"))
        equal(got.status // 100, 2, got)
        return got
    listed = operate("GET", "/keys").json()["keys"]
    equal([k["state"] for k in listed], ["UNKNOWN"] * 3)
    ids = [k["key_id"] for k in listed]
    operate("GET", f"/keys/{ids[0]}")
    operate("POST", f"/keys/{ids[0]}/complete", b'{"status": 201}')
    operate("POST", f"/keys/{ids[1]}/release", b"{}")
    operate("DELETE", f"/keys/{ids[2]}")
    for path in ("/metrics", "/status", "/readyz"):
        operate("GET", path)


@test
def the_user_of_redis_may_do_what_the_scripts_do(bench):
    granted = set(re.findall(r" \+([a-z]+)(?![a-z@])",
                             EXAMPLES.take("users.sh").split("reset on")[1]))
    wanted = {"eval", "evalsha", "ping", "info", "select", "client",
              "psubscribe", "xadd"}
    folder = source("src/store/record/lua")
    for name in os.listdir(folder):
        if name.startswith("stream"):  # of a broker
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            wanted |= {word.lower() for word in re.findall(
                r"redis\.p?call\('(\w+)'", file.read())}
    equal(granted, wanted)


@test
def without_the_certificate_nobody_comes_to_redis(bench):
    behind_tls = TlsRedis(bench)
    with connect(behind_tls.address) as sock:
        sock.sendall(b"PING\r\n\r\n")
        try:
            equal(sock.recv(100)[:1] in (b"+", b"-"), False)
        except ConnectionResetError:
            pass
    redis = RedisClient(behind_tls.redis.path)
    for words in (("PING",), ("AUTH", "gateway", "no")):
        try:
            raise AssertionError(redis(*words))
        except RedisError:
            pass
    redis("AUTH", "gateway", "gate's")
    for words in (("FLUSHALL",), ("CONFIG", "GET", "*"), ("KEYS", "*"),
                  ("SCRIPT", "FLUSH"), ("GET", "other:1")):
        try:
            raise AssertionError(redis(*words))
        except RedisError as error:
            assert str(error).startswith("NOPERM"), error


# --- several gateways ---

@test
def several_gateways_with_one_file_are_one(bench):
    upstream = bench.upstream()
    secret = bench.file(b"a secret\n")
    gateways = [served(bench, "several.json", {
        "0.0.0.0:8080": "127.0.0.1:0", "127.0.0.1:9090": "127.0.0.1:0",
        "redis://10.0.0.2:6379/0": bench.redis.url,
        "/etc/onceproxy/record-names": secret,
        "http://10.0.1.1:9000": upstream.url},
        log={"level": "debug"}) for _ in range(2)]
    equal(gateways[0].ask("k").status, 201)
    assert gateways[1].ask("k").replayed
    hold = upstream.hold()
    first = bench.background(gateways[0].ask, "slow")
    hold.wait_arrived()
    retry = bench.background(gateways[1].ask, "slow")
    gateways[1].wait_for_steps("WAITED", 1)
    hold.release()
    equal((first.result().status, retry.result().status), (201, 201))
    equal(upstream.count(), 2)


# --- a cluster ---

@test
def one_redis_grows_to_a_cluster_under_load(bench):
    needs("redis-cli")
    file = bench.file(EXAMPLES.take("cluster.conf").encode(), "redis.conf")
    first = Node("--cluster-enabled", "no", "--appendonly", "yes",
                 "--appendfsync", "always")
    bench.redises.append(first)
    upstream = bench.upstream()

    def gateway(store):
        return bench.serve({**bench.config(upstream), "store": store})
    old = gateway({"redis": f"redis://{first.address}", "timeout": "5s"})
    equal([old.ask(f"k{n}").status for n in range(40)], 40 * [201])

    first.kill()
    first.options, first.file = (), file
    first.start()
    shell(bench, "grow-first.sh", {"10.0.0.2:6379": first.address})
    # Each worker finds its own way back.
    for n in range(40):
        eventually(lambda: old.ask(f"k{n}").replayed, f"k{n} is replayed")

    others = [Node(file=file) for _ in range(3)]
    bench.redises += others
    new = gateway(json.loads("{" + EXAMPLES.take("grow.json", {
        "10.0.0.2:6379": first.address, "10.0.0.3:6379": others[0].address,
        "10.0.0.4:6379": others[1].address}) + "}")["store"])
    over = threading.Event()
    done = []

    def client():
        while not over.wait(0.03):
            key = f"while-{len(done)}"
            eventually(lambda: new.ask(key).status == 201, key, 60)
            done.append(key)
    clients = bench.background(client)
    shell(bench, "grow-rest.sh", {
        "10.0.0.2:6379": first.address, "10.0.0.3:6379": others[0].address,
        "10.0.0.4:6379": others[1].address, "$server:6379": "$server",
        "10.0.0.5 10.0.0.6 10.0.0.7": others[2].address})
    over.set()
    clients.result(60)
    eventually(lambda: sum(len(n("ROLE")[2]) for n in (
        first, *others[:2])) == 1, "the replica follows")
    eventually(lambda: all(node("DBSIZE") for node in others),
               "each has its part")
    for key in (*(f"k{n}" for n in range(40)), *done):
        eventually(lambda: new.ask(key).replayed, f"{key} is replayed")
    equal(upstream.count(), 40 + len(done))
    # A gateway that was left with the old file executes nothing of what moved.
    told = [old.ask(f"moved{n}").status for n in range(20)]
    equal(set(told), {201, 503})
    equal(sum(upstream.count(key=f"moved{n}") for n in range(20)),
          told.count(201))


# --- answers that rest encrypted ---

class Vault:
    """Gateways with the keys that the page makes, in the page's order."""

    def __init__(self, bench):
        self.bench = bench
        folder = bench.folder()
        self.files = {f"/etc/onceproxy/answers-{year}":
                      os.path.join(folder, str(year))
                      for year in (2026, 2027)}
        old, new = self.files
        for name, path in self.files.items():
            shell(bench, "seal.sh", {old: path})
            equal(os.stat(path).st_mode & 0o777, 0o600, name)
        self.upstream = bench.upstream(answer(201, b"the payer's own"))
        self.changes = {
            "0.0.0.0:8080": "127.0.0.1:0",
            "/etc/onceproxy/record-names": bench.file(b"a secret\n"),
            "redis://10.0.0.2:6379/0": bench.redis.url,
            "http://10.0.1.1:9000": self.upstream.url}

    def start(self, keys=None):
        """With the page's file, or with other keys of the page."""
        old, _ = self.files
        folder = self.bench.folder()
        config = json.loads(EXAMPLES.take("sealed.json", {
            **self.changes, old: self.files[old],
            "127.0.0.1:9090": f"unix:{folder}/admin"}))
        config.update({"state_dir": folder, "cache": {"size": 0}})
        if keys:
            config["store"].update(json.loads(
                "{" + EXAMPLES.take(keys, self.files) + "}"))
        return self.bench.serve(config)


@test
def a_new_key_comes_in_two_steps_and_the_old_one_goes(bench):
    vault = Vault(bench)
    first = vault.start()
    equal(first.ask("one").status, 201)
    assert b"payer" not in bench.redis.contents()
    ready = vault.start("rotate.1")
    new = vault.start("rotate.2")
    for gateway in (ready, new):
        equal(gateway.ask("one").replayed, True)
    equal(new.ask("two").status, 201)
    equal(ready.ask("two").replayed, True)
    # The very first gateway does not have the new key.
    got = first.ask("two")
    equal((got.status, got.problem), (500, "store-unavailable"))
    line = first.wait_for_log("encryption_key_missing")
    equal(line["encryption_key"], "2027")
    done = command("keys", "-c", first.file, "show", line["key_id"])
    equal(done.returncode, 0)
    assert "unreadable" in done.stdout and '"2027"' in done.stdout, done
    done = command("doctor", "-c", first.file)
    assert 'for example with "2027"' in done.stdout, done.stdout
    equal(vault.upstream.count(), 2)


@test
def a_key_may_be_a_credential(bench):
    text = EXAMPLES.take("answers.conf")
    unit = bench.file(b"[Service]\nType=notify\nExecStart=/bin/true\n"
                      + text.encode(), "onceproxy.service")
    analyze = needs("systemd-analyze")
    done = subprocess.run([analyze, "verify", "--man=no", unit],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, "LoadCredential" in done.stderr), (0, False),
          done.stderr)


# --- an upgrade ---

class Traffic:
    """Payments, one after the other on connections of their own, until it is
    stopped.  It retries where the page says that a client must."""

    def __init__(self, bench, address):
        self.address, self.going, self.answers = address, True, []
        self.task = bench.background(self.run)

    def run(self):
        while self.going:
            try:
                got = ask(self.address, keyed(f"k{len(self.answers)}"))
            except (Broken, ConnectionError):
                got = None
            if got is not None and got.problem != "draining":
                self.answers.append(got)

    def more(self, count):
        wanted = len(self.answers) + count
        eventually(lambda: len(self.answers) >= wanted, f"{wanted} answers")


@test
def an_upgrade_on_the_same_sockets_loses_no_request(bench):
    upstream = bench.upstream()
    unit = EXAMPLES.take("onceproxy.socket")
    assert "FileDescriptorName=clients" in unit
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    address = "127.0.0.1:%d" % listener.getsockname()[1]
    config = bench.config(upstream, listen=[address])
    blue = bench.serve(dict(config), passed=[("clients", listener)])
    traffic = Traffic(bench, address)
    traffic.more(20)
    green = bench.serve(dict(config), passed=[("clients", listener)])
    traffic.more(20)
    blue.signal(signal.SIGTERM)
    equal(blue.wait(), 0)
    traffic.more(20)
    traffic.going = False
    traffic.task.result()
    equal({a.status for a in traffic.answers}, {201})
    equal(upstream.count(), len(traffic.answers))
    assert green.find_log("request") and blue.find_log("request")


@test
def systemd_takes_the_units(bench):
    analyze = needs("systemd-analyze")
    folder = bench.folder()
    program = os.environ.get("ONCEPROXY", shutil.which("onceproxy"))
    for name, changes in (
            ("onceproxy.socket", {}),
            ("onceproxy@.service", {"/usr/local/sbin/onceproxy": program})):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(EXAMPLES.take(name, changes))
    os.symlink("onceproxy@.service",
               os.path.join(folder, "onceproxy@blue.service"))
    done = subprocess.run(
        [analyze, "verify", "--man=no", "onceproxy.socket",
         "onceproxy@blue.service"], cwd=folder, capture_output=True, text=True,
        check=False)
    ours = [line for line in (done.stdout + done.stderr).split("\n")
            if "onceproxy" in line]
    equal(ours, [])


@test
def the_commands_of_the_upgrade_are_in_order(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, admin={"listen": "127.0.0.1:0"})
    folder, done = bench.folder(), os.path.join(bench.folder(), "done")
    with open(os.path.join(folder, "systemctl"), "w", encoding="ascii") as out:
        out.write(f'#!/bin/sh\necho "$@" >>{done}\n')
    os.chmod(out.name, 0o755)
    needs("curl")
    shell(bench, "upgrade.sh", {
        "/etc/onceproxy/green.json": gateway.file,
        "127.0.0.1:9091": gateway.ready["admin"],
        "systemctl": os.path.join(folder, "systemctl")})
    with open(done, encoding="ascii") as said:
        equal(said.read(), "start onceproxy@green\nstop onceproxy@blue\n")


# --- a lost Redis ---

class Ledger:
    """An API that can be asked about a payment by its key."""

    def __init__(self):
        self.paid = {}  # key: times
        self.silent = False  # takes payments, and neither makes nor answers
        self.silences = 0

    def __call__(self, connection, request):
        key = request.get("Idempotency-Key")
        if request.method == "GET":
            key = request.target.rsplit("/", 1)[1]
            connection.send(answer(200, self.words(key))
                            if key in self.paid else answer(404))
            return
        if self.silent:
            self.silences += 1
            connection.close()
            return
        self.paid[key] = self.paid.get(key, 0) + 1
        connection.send(answer(201, self.words(key)))

    @staticmethod
    def words(key):
        return b'{"id":"ch_%s"}' % key.encode()


def asking_first(bench, gateway, ledger):
    """nginx between a gateway and its API; the members that the gateway
    needs."""
    between = own_address()
    process = nginx(bench, EXAMPLES.take("ask-first.conf", {
        "127.0.0.1:9001": between,
        "http://127.0.0.1:9000": ledger.url}))
    listens(process, between)
    members = json.loads("{" + EXAMPLES.take("ask-first.json", {
        "127.0.0.1:9001": between}) + "}")
    gateway.config.update(members)
    with open(gateway.file, "w", encoding="utf-8") as out:
        json.dump(gateway.config, out)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")


@test
def what_a_lost_redis_had_forgotten_is_not_paid_again(bench):
    needs("nginx")
    ledger = Ledger()
    upstream = bench.upstream(ledger)
    redis = bench.own_redis()
    gateway = bench.gateway(upstream, redis=redis, workers=1)
    equal(gateway.ask("before").status, 201)
    redis.kill()
    eventually(lambda: gateway.ask("before").problem == "store-unavailable",
               "a refusal")
    asking_first(bench, gateway, upstream)
    redis.start()
    gateway.wait_for_log("store_up", since=gateway.events.index(
        gateway.find_log("reloaded")[0]))
    for key, status in (("before", 200), ("new", 201)):
        got = gateway.ask(key)
        equal((got.status, got.get("Retry-After")), (503, "1"))
        got = gateway.ask(key)
        equal((got.status, got.body), (status, Ledger.words(key)))
        assert gateway.ask(key).replayed
    equal(ledger.paid, {"before": 1, "new": 1})
    # What the API was sent, and may yet make, it is not sent again.
    ledger.silent = True
    equal([gateway.ask("late").status for _ in range(3)], [503, 502, 409])
    equal(gateway.ask("late").problem, "attempts-exhausted")
    equal(ledger.silences, 1)


@test
def the_log_tells_which_keys_were_executed(bench):
    upstream, gateway = bench.pair()
    for key in ("a", "b"):
        gateway.ask(key)
        gateway.ask(key)
    gateway.ask("c", body=None, tenant=None)
    gateway.stop()
    folder = bench.folder()
    with open(os.path.join(folder, "a.log"), "w", encoding="utf-8") as out:
        out.write("\n".join(gateway.lines) + "\n")
    shell(bench, "executed.sh", {"/var/log/onceproxy": folder}, folder=folder)
    with open(os.path.join(folder, "executed-keys"), encoding="ascii") as said:
        equal(said.read().split(), sorted(
            e["key_id"] for e in gateway.find_log("request",
                                                  outcome="executed")))


# --- at night ---

class Night:
    """A payment whose outcome is unknown, and the page's commands."""

    def __init__(self, bench):
        self.bench = bench
        self.api = bench.process(PaymentApi())
        self.gateway = bench.gateway(
            self.api.url, {"label": ["/order"]},
            admin={"listen": own_address()})
        got = self.ask("?drop=1")
        equal(got.problem, "outcome-unknown")
        self.key_id = got.json()["instance"].rsplit(":", 1)[1]
        self.env = {"HOME": bench.folder()}

    def ask(self, query="", tenant="Bearer alice"):
        return self.gateway.ask(
            "order-17", tenant=tenant, target=f"/v1/charges{query}",
            body=b'{"amount": 1000, "order": "order-17"}')

    def alert(self):
        """Of unknown outcomes: whether its condition is met, and its words."""
        with open(source(RULES), encoding="utf-8") as file:
            text = re.search(r"- alert: OnceproxyOutcomesUnknown\n((?: .*\n)+)",
                             file.read()).group(1)
        name = re.search(r"expr: max by \(job\) \((.*)\) > 0\n", text).group(1)
        samples = Admin(self.gateway).send("GET", "/metrics").body.decode()
        value, = re.findall(rf"^{re.escape(name)} (\d+)$", samples, re.M)
        return int(value) > 0, " ".join(text.split())

    def run(self, name, folder=None):
        """The page's configuration is the default one."""
        text = EXAMPLES.texts[name]
        own = {"onceproxy keys": f"onceproxy keys -c {self.gateway.file}",
               "KEY_ID": self.key_id,
               "http://127.0.0.1:9000": self.api.url}
        changes = {old: new for old, new in own.items() if old in text}
        return shell(self.bench, name, changes, self.env, folder)


@test
def from_the_alert_at_night_to_the_answer(bench):
    """A payment that was made."""
    needs("curl")
    night = Night(bench)
    fires, words = night.alert()
    assert fires, words
    assert EXAMPLES.texts["night-list.sh"].strip() in words, words
    listed = night.run("night-list.sh")
    assert night.key_id in listed and "order-17" in listed, listed
    shown = night.run("night-show.sh")
    equal(shown.count("UNKNOWN"), 3, shown)
    assert "broken" in shown, shown
    ledger = json.loads(night.run("night-ask.sh"))["data"]
    equal([c["id"] for c in ledger], ["ch_1"])
    folder = bench.folder()
    with open(os.path.join(folder, "answer.json"), "w",
              encoding="utf-8") as out:
        json.dump(ledger[0], out)
    night.run("night-complete.sh", folder)
    got = night.ask("?drop=1")
    equal((got.status, got.json()["id"], got.replayed), (201, "ch_1", True))
    line = night.gateway.wait_for_log("operator", key_id=night.key_id)
    assert "ch_1 is in the ledger" in json.dumps(line), line
    equal(len(night.api.charges()), 1)
    done, = Admin(night.gateway).get(f"/keys/{night.key_id}")["history"]
    equal((done["act"], done["note"]), ("complete", "ch_1 is in the ledger"))
    equal(night.alert()[0], False)


@test
def at_night_one_name_may_be_of_two_tenants(bench):
    """The key with its scope says whose it is, and so does the request id."""
    night = Night(bench)
    other = night.ask("?drop=1", "Bearer bob")
    other_id = other.json()["instance"].rsplit(":", 1)[1]
    keys = ["keys", "-c", night.gateway.file]
    found = command(*keys, "find", "order-17").stdout
    assert night.key_id in found and other_id in found, found
    for words, key_id in (
            (["show", "--key", "order-17", "--scope",
              "Authorization: Bearer alice"], night.key_id),
            (["show", "--key", "order-17", "--scope",
              "Authorization: Bearer bob"], other_id),
            (["find", other.get("X-Request-Id")], other_id)):
        shown = command(*keys, *words).stdout
        equal({i for i in (night.key_id, other_id) if i in shown}, {key_id})


@test
def at_night_a_payment_that_was_not_made_is_released(bench):
    night = Night(bench)
    night.run("night-release.sh")
    equal(night.ask("?drop=1").problem, "outcome-unknown")
    equal(len(night.api.charges()), 2)


# --- webhooks ---

HOOK_SECRET = []


def hook_secret(bench):
    """What the recipe's command makes, the same for all that follows."""
    if not HOOK_SECRET:
        needs("openssl")
        folder = bench.folder()
        shell(bench, "webhook-secret.sh", {}, folder=folder)
        with open(os.path.join(folder, "hook-secret"), "rb") as file:
            HOOK_SECRET.append(file.read())
    return HOOK_SECRET[0]


def with_a_hook(bench, url):
    members = json.loads("{" + EXAMPLES.take("webhook.json", {
        "https://books.example.com/hook": url,
        "/etc/onceproxy/hook-secret": bench.file(hook_secret(bench))}) + "}")
    return bench.pair(**members)


def receiver(bench, name, program):
    """Its process, and where it listens."""
    address = own_address()
    port = address.split(":")[1]
    script = bench.file(EXAMPLES.take(name, {"9002": port}).encode(), name)
    start = EXAMPLES.take("webhook-start.sh", {
        "hook-secret": bench.file(hook_secret(bench)),
        "python3": program, "hook.py": script})
    process = bench.process(Process(["sh", "-c", f"exec env {start}"]))
    listens(process, address)
    return process, address


@each([("Node", "webhook.js", "node"),
       ("Python", "webhook.py", sys.executable)])
def a_webhook_is_verified_in_a_few_lines(bench, name, program):
    process, address = receiver(bench, name, needs(program))
    upstream, gateway = with_a_hook(bench, f"http://{address}/hook")
    equal(gateway.ask("k").status, 201)
    upstream.reply = close_unanswered
    equal(gateway.ask("lost").problem, "outcome-unknown")

    def taken():  # Python's server logs each request besides
        return [line for line in process.lines if "{" in line]
    process.wait_until(lambda: len(taken()) >= 2, "two events")
    told = {}
    for line in taken():
        event_id, _, body = line.partition(" ")
        event = json.loads(body)
        equal(event["id"], event_id)
        told[event["to"]] = event["answer"] and event["answer"]["status"]
    equal(told, {"COMPLETED": 201, "UNKNOWN": None})
    # Anything else is refused.
    for signature in ("v1,", "v1," + "A" * 43 + "="):
        got = ask(address, build("POST", "/hook", [
            ("webhook-id", "1-2-3"), ("webhook-timestamp", "1700000000"),
            ("webhook-signature", signature)], b"{}"))
        equal(got.status, 401)
    equal(len(taken()), 2)


@test
def a_webhook_behind_a_gateway_is_done_once(bench):
    books = bench.upstream()
    front = bench.config(books)
    front.update(json.loads(
        "{" + EXAMPLES.take("webhook-front.json", {}) + "}"))
    front["upstreams"] = {"books": books.url}
    front["store"]["prefix"] = "front"
    front = bench.serve(front)
    proxy = bench.proxy(front.address)
    proxy.cut_replies(every=2, times=None)
    upstream, gateway = with_a_hook(bench, f"http://{proxy.address}/hook")
    for n in range(4):
        equal(gateway.ask(f"k{n}").status, 201)
    eventually(lambda: len(front.find_log("request", outcome="replayed")) >= 1,
               "one came again")
    books.wait_for(4)
    equal(len(books.requests), 4)
    said = shell(bench, "webhook-look.sh", {
        "/etc/onceproxy/onceproxy.json": gateway.file})
    equal(said.count("PROCESSING>COMPLETED"), 4)


# --- Sentinels ---

class Replicated:
    """What the recipe makes of one Redis, step by step."""

    def __init__(self, bench):
        self.bench = bench
        self.world = bench.sentinels(replicas=0, sentinels=0)
        self.hosts = [f"{self.world.net}.{n}" for n in (1, 2, 3)]
        self.places = dict(zip(("10.0.0.2", "10.0.0.3", "10.0.0.4"),
                               self.hosts))

    def shell(self, name):
        """On the second machine, as the page says."""
        return shell(self.bench, name, {"10.0.0.3": self.hosts[1]})

    def file(self, name, host):
        """That of a server on host."""
        return EXAMPLES.take(name, {
            "10.0.0.2": self.hosts[0], "10.0.0.3": host,
            "/var/lib/redis": self.bench.folder()})

    def replicate(self):
        for host in self.hosts[1:]:
            self.world.servers.append(Server(
                host, PORT, self.file("replica.conf", host) +
                f"bind-source-addr {host}\nreplica-announce-ip {host}\n"
                "repl-diskless-sync-delay 0\n"))
        eventually(lambda: ":up" in self.shell("replica-up.sh"))

    def watch(self):
        for host in self.hosts:
            sentinel = Sentinel(
                host, SENTINEL_PORT, self.file("sentinel.conf", host) +
                f"bind-source-addr {host}\nsentinel announce-ip {host}\n")
            self.world.sentinels.append(sentinel)
            sentinel("SENTINEL", "DEBUG", *DEBUG)
            equal(EXAMPLES.take("sentinel-start.sh", {
                "/etc/redis/sentinel.conf": sentinel.file}).split()[1:],
                sentinel.argv()[1:])
        self.world.wait_together()
        assert self.shell("ckquorum.sh").startswith("OK 3 usable"), \
            self.shell("ckquorum.sh")


@test
def one_redis_becomes_a_replicated_one_and_no_payment_stops(bench):
    needs("redis-cli")
    made = Replicated(bench)
    master = made.world.servers[0]
    upstream = bench.upstream()
    config = bench.config(upstream, redis=f"redis://{master.address}/0",
                          store={"prefix": "payments"}, cache={"size": 0})
    gateways = [bench.serve(dict(config, state_dir=bench.folder()))
                for _ in (1, 2)]
    equal([g.ask(f"k{n}").status for n, g in enumerate(gateways)], [201] * 2)
    made.replicate()
    made.watch()
    equal(gateways[0].ask("k2").status, 201)
    store = json.loads("{%s}" % EXAMPLES.take(
        "sentinels.json", made.places))["store"]
    config["store"] = {**store, "timeout": "2s"}
    # One after the other: for a while only one of them knows the Sentinels.
    for number in (0, 1):
        gateways[number].stop()
        gateways[number] = bench.serve(
            dict(config, state_dir=bench.folder()))
        shell(bench, "sentinels-doctor.sh", {
            "/etc/onceproxy/onceproxy.json": gateways[number].file})
        for gateway in gateways:
            for key in range(3):
                assert gateway.ask(f"k{key}").replayed
        equal(gateways[1 - number].ask(f"new{number}").status, 201)
    made.world.wait_copied()
    equal(made.shell("failover.sh").strip(), "OK")
    made.world.wait_moved(master)
    for gateway in gateways:
        gateway.wait_for_log("master_moved", timeout=LONG)
        for key in ("k0", "k1", "k2", "new0", "new1"):
            eventually(lambda g=gateway, k=key: g.ask(k).replayed)
    equal(upstream.count(), 5)


# --- messages ---

LASTING = ("--appendonly", "yes", "--appendfsync", "always")


def token_of(bench):
    return {"/etc/onceproxy/payments-token": bench.file(b"Bearer shop\n")}


def with_messages(bench, name, upstream, changes):
    return served(bench, name, {
        "127.0.0.1:8080": "127.0.0.1:0", "127.0.0.1:9090": "127.0.0.1:0",
        "redis://10.0.0.2:6379/0": bench.own_redis(*LASTING).url,
        "http://10.0.1.1:9000": upstream.url, **changes})


@test
def a_stream_is_paid_from_by_a_user_of_its_own(bench):
    upstream = bench.upstream()
    queue = bench.own_redis(*LASTING)
    there = {"-h 10.0.0.3": f"-s {queue.path}"}
    shell(bench, "stream-user.sh", there)
    broker = {
        "10.0.0.3:6379": f"127.0.0.1:{queue.port()}",
        "/etc/onceproxy/queue-password": bench.file(b"s3cret\n"),
        "/etc/onceproxy/payments-token": bench.file(b"Bearer shop\n")}
    gateway = with_messages(bench, "stream.json", upstream, broker)
    shell(bench, "stream-check.sh", {
        "/etc/onceproxy/onceproxy.json": gateway.file})
    shell(bench, "stream-add.sh", there)
    gateway.wait_for_log("message", outcome="executed")
    said = shell(bench, "stream-look.sh", there)
    equal(said.split("\n")[0], "0")
    assert "onceproxy-status" in said and "201" in said, said
    shell(bench, "stream-add.sh", there)
    gateway.wait_for_log("message", outcome="duplicate")
    queue("XADD", "charges", "*", "Idempotency-Key", "k", "body", "{")
    gateway.wait_for_log("message", reason="malformed")
    equal([(r.get("Authorization"), r.body) for r in upstream.requests],
          [("Bearer shop", b'{"account": "a7", "amount": 1000}')])
    # Its user was refused nothing, until the end.
    gateway.stop()
    equal(queue("ACL", "LOG"), [])


@test
def outcomes_of_an_outbox_are_in_kafka_once(bench):
    server, broker = outbox_of(bench)
    need_reader()
    needs("kcat")
    kafka = bench.own_kafka()
    made = EXAMPLES.take("outcomes-make.sh")
    kafka.topic(*re.findall(r"--topic (\S+)", made),
                int(re.search(r"--partitions (\d+)", made).group(1)))
    upstream = bench.upstream()
    gateway = with_messages(bench, "outbox.json", upstream, broker)
    gateway.stop()
    shop = {old: new for old, new in broker.items() if "token" not in old}
    redis = gateway.config["store"]["redis"]
    for name, changes in (
            ("outcomes.json", {**shop, '["10.0.0.5:9092", "10.0.0.6:9092"]':
                               json.dumps(kafka.addresses)}),
            ("outcomes-refuse.json", {"redis://10.0.0.2:6379/0": redis})):
        gateway.config.update(json.loads(
            "{" + EXAMPLES.take(name, changes) + "}"))
    gateway = bench.serve(gateway.config)
    for _ in range(3):
        server(EXAMPLES.take("outbox-add.sql"))

    def told():
        return [json.loads(line) for line in shell(
            bench, "outcomes-look.sh", {
                "10.0.0.5:9092": kafka.addresses[0]}).split("\n") if line]
    eventually(lambda: len(told()) >= 3, "three outcomes", START_S)
    gateway.stop()
    equal([(m["to"], m["status"], m["answer"]["status"]) for m in told()],
          [("COMPLETED", 201, 201)] * 3)
    equal(len({m["key_id"] for m in told()}), 3)


NEW = ("orders-2", "orders-2.done", "orders-2.dead")


def with_topics(bench):
    """A Kafka with the topics of the page, which Kafka's own tools need not be
    here for; and where it is."""
    need_reader()
    needs("kcat")
    kafka = bench.own_kafka()
    text = EXAMPLES.take("topic-make.sh")
    names = re.search(r"for topic in (.*);", text).group(1).split()
    count, most = (int(re.search(pattern, text).group(1)) for pattern in (
        r"--partitions (\d+)", r"max.message.bytes=(\d+)"))
    for name in (*names, *NEW):
        kafka.topic(name, count, **({"max_message_bytes": most}
                                    if name.endswith(".dead") else {}))
    return kafka, {"10.0.0.5:9092": kafka.addresses[0]}


def read_by(bench, kafka, upstream, token=None):
    return with_messages(bench, "topic.json", upstream, {
        '"listen": "127.0.0.1:9090"': f'"listen": "{own_address()}"',
        '["10.0.0.5:9092", "10.0.0.6:9092"]': json.dumps(kafka.addresses),
        **(token or token_of(bench))})


@test
def orders_of_a_topic_are_paid_once(bench):
    upstream = bench.upstream()
    kafka, there = with_topics(bench)
    gateway = read_by(bench, kafka, upstream)

    def seen(name, words):
        """Once, when the mark of its transaction is in the log as well."""
        eventually(lambda: shell(bench, name, there).count(words) == 1, words)
    shell(bench, "topic-add.sh", there)
    gateway.wait_for_log("message", outcome="executed", timeout=START_S)
    seen("topic-look.sh", "onceproxy-status=201")
    shell(bench, "topic-add.sh", there)
    gateway.wait_for_log("message", outcome="duplicate")
    seen("topic-look.sh", "onceproxy-duplicate")
    equal([json.loads(r.body)["order_id"] for r in upstream.requests], ["17"])
    kafka.produce("orders", b"{")
    gateway.wait_for_log("message", reason="malformed")
    seen("dead-look-kafka.sh", "onceproxy-reason=malformed")


def order(number):
    return json.dumps({"order_id": str(number)}).encode()


@test
def nothing_of_a_topic_that_was_moved_is_paid_twice(bench):
    upstream = bench.upstream()
    kafka, _ = with_topics(bench)
    token = token_of(bench)
    gateway = read_by(bench, kafka, upstream, token)
    members = json.loads("{" + EXAMPLES.take("moved.json", {
        '["10.0.0.5:9092", "10.0.0.6:9092"]': json.dumps(kafka.addresses),
        '["10.0.0.8:9092", "10.0.0.9:9092"]': json.dumps(kafka.addresses),
        **token}) + "}")
    equal(members["sources"]["orders"],
          gateway.config["sources"]["orders"])

    def run(name):
        return shell(bench, name, {
            "onceproxy messages": f"onceproxy messages -c {gateway.file}"})
    kafka.produce("orders", *(order(n) for n in range(20)), key=b"a7")
    upstream.wait_until(lambda: upstream.count() >= 3, "some", START_S)
    gateway.config.update(members)
    with open(gateway.file, "w", encoding="utf-8") as out:
        json.dump(gateway.config, out)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    run("moved-pause.sh")
    # Some of them are copies.
    kafka.produce("orders-2", *(order(n) for n in range(15, 30)), key=b"a7")
    eventually(lambda: re.search(r"^orders +\S+ +\S+ +- +0 +0 +0 +0 ",
                                 run("moved-look.sh"), re.M), "it is empty",
               START_S)
    equal(upstream.count(), 20)
    run("moved-resume.sh")
    upstream.wait_until(lambda: upstream.count() >= 30, "all", START_S)
    equal([json.loads(r.body)["order_id"] for r in upstream.requests],
          [str(n) for n in range(30)])
    equal(len(gateway.find_log("message", outcome="duplicate")), 5)


class DeadLetters:
    """Messages of the stream that could not be executed, and the page's
    commands; its configuration is the default one."""

    def __init__(self, bench):
        self.bench = bench
        self.upstream = bench.upstream()
        self.queue = bench.own_redis(*LASTING)
        self.beside = Beside(Stream(self.queue), b'{"account": "beside"}')
        self.there = {"-h 10.0.0.3": f"-s {self.queue.path}"}
        shell(bench, "stream-user.sh", self.there)
        self.gateway = with_messages(bench, "stream.json", self.upstream, {
            '"listen": "127.0.0.1:9090"': f'"listen": "{own_address()}"',
            '"order_by": ["/account"]': '"order_by": ["/account"], "retry": '
                                        '{"first": "1ms", "attempts": 2}',
            "redis://gateway@10.0.0.3:6379": self.queue.url,
            '"password": {"file"': '"user": "gateway", "password": {"file"',
            "/etc/onceproxy/queue-password": bench.file(b"s3cret\n"),
            **token_of(bench)})

    def releases(self):
        """An upstream that releases all but what comes beside them: so it is
        the message that it refuses, and no outage."""
        def serve(connection, request):
            if Beside.is_one(request.get("Idempotency-Key")):
                connection.send(answer())
                return
            self.beside.execute()
            connection.send(answer(503))
        return serve

    def add(self, key, account, reason):
        """A message that ends as a dead letter for that reason."""
        position = self.queue(
            "XADD", "charges", "*", "Idempotency-Key", key, "body",
            json.dumps({"account": account, "amount": 1000}))
        return self.gateway.wait_for_log("message", reason=reason,
                                         position=as_text(position))

    def message_id(self, line):
        listed = self.run("dead-left.sh")
        wanted = [row.split() for row in listed.split("\n")
                  if line["key_id"] in row]
        (row,) = wanted
        return row[0]

    def run(self, name, changes=None):
        text = EXAMPLES.texts[name]
        own = {"onceproxy keys": f"onceproxy keys -c {self.gateway.file}",
               "onceproxy messages":
                   f"onceproxy messages -c {self.gateway.file}",
               **self.there, **(changes or {})}
        return shell(self.bench, name, {
            old: new for old, new in own.items() if old in text})


@test
def dead_letters_are_looked_at_replayed_and_dropped(bench):
    needs("redis-cli")
    dead = DeadLetters(bench)
    dead.upstream.reply = answer(422, b'{"error":"no account a7"}')
    refused = dead.add("k1", "a7", "refused")
    dead.add("k2", "a7", "behind")
    dead.upstream.reply = dead.releases()
    dead.add("k3", "b", "exhausted")
    dropped = dead.add("k4", "c", "exhausted")
    ids = {"KEY_ID": refused["key_id"], " ID": " " + dead.message_id(refused)}
    said = dead.run("dead-list.sh", ids)
    equal([said.count(w) for w in ("refused", "exhausted")], [2, 2], said)
    assert "no account a7" in said, said
    assert "onceproxy-reason" in dead.run("dead-look.sh"), "fields"
    dead.upstream.reply = answer(201)
    dead.run("dead-drop.sh", {" ID": " " + dead.message_id(dropped)})
    dead.run("dead-again.sh", ids)
    dead.run("dead-replay.sh")
    eventually(lambda: "charges" not in dead.run("dead-left.sh"), "none left")
    # The first attempt of k3 and k4 had nothing executed before it.
    equal([dead.upstream.count(key=k) for k in ("k1", "k2", "k3", "k4")],
          [2, 1, 4, 3])


def server_of(bench, *names):
    if not programs() or is_without("postgres"):
        raise Skip("there is no PostgreSQL, or the program was built without")
    server = bench.postgres()
    for name in names:
        server(EXAMPLES.take(name))
    return server, server.url.replace("//postgres@", "//gateway@")


def outbox_of(bench):
    server, url = server_of(bench, "outbox.sql", "outbox-user.sql")
    return server, {"postgresql://gateway@10.0.0.4/shop": url,
                    "/etc/onceproxy/shop-password": bench.file(b"s3cret\n"),
                    **token_of(bench)}


@test
def an_outbox_is_emptied_by_a_user_of_its_own(bench):
    upstream = bench.upstream()
    server, broker = outbox_of(bench)
    gateway = with_messages(bench, "outbox.json", upstream, broker)
    server(EXAMPLES.take("outbox-add.sql"))
    gateway.wait_for_log("message", outcome="executed")
    equal(server("SELECT * FROM outbox"), [])
    request, = upstream.requests
    equal((request.target, request.get("Authorization"),
           json.loads(request.body)),
          ("/v1/events/paid", "Bearer shop", {"amount": 1000}))
    checked = command("check", "--strict", "-c", gateway.file)
    equal((checked.returncode, checked.stdout), (0, f"{gateway.file}: ok\n"))
    server("INSERT INTO outbox (aggregatetype, aggregateid, type, payload)"
           " VALUES ('order', '17', '..', '{}')")
    gateway.wait_for_log("message", reason="malformed")
    equal(server("SELECT id, entity, headers->>'onceproxy-reason' "
                 "FROM outbox_dead"), ["2|17|malformed"])
    equal(gateway.find_log("source_refused"), [])


@test
def rows_of_an_outbox_may_stay(bench):
    upstream = bench.upstream()
    server, broker = outbox_of(bench)
    server(EXAMPLES.take("outbox-stay.sql"))
    gateway = with_messages(bench, "outbox.json", upstream, {
        '"notify": "outbox"':
            '"notify": "outbox", "finish": {"set": "published_at"}',
        **broker})
    server(EXAMPLES.take("outbox-add.sql"))
    gateway.wait_for_log("message", outcome="executed")
    equal(server("SELECT id FROM outbox WHERE published_at IS NOT NULL"),
          ["1"])
    equal(gateway.find_log("source_refused"), [])


@test
def an_outbox_may_be_a_table_of_ones_own(bench):
    upstream = bench.upstream()
    server, url = server_of(bench, "own.sql")
    config = json.loads(EXAMPLES.take("outbox.json", {
        "127.0.0.1:8080": "127.0.0.1:0", "127.0.0.1:9090": "127.0.0.1:0",
        "redis://10.0.0.2:6379/0": bench.own_redis(*LASTING).url,
        "http://10.0.1.1:9000": upstream.url,
        "postgresql://gateway@10.0.0.4/shop": url,
        "/v1/events/{type}\",": "/v1/orders\",",
        "/etc/onceproxy/shop-password": bench.file(b"s3cret\n"),
        **token_of(bench)}))
    config["sources"] = json.loads(
        "{" + EXAMPLES.take("own.json", token_of(bench)) + "}")
    gateway = bench.serve({**config, "state_dir": bench.folder()})
    for order in (b"a", b"a", b"b"):
        server("INSERT INTO orders_out (customer, payload) VALUES "
               "('c1', '{\"order_id\": \"%s\"}')" % order.decode())
    gateway.wait_until(lambda: len(gateway.find_log("message")) == 3,
                       "three messages end")
    equal([json.loads(r.body) for r in upstream.requests],
          [{"order_id": "a"}, {"order_id": "b"}])
    found = server(EXAMPLES.take("own-look.sql"))
    equal(sorted(line.split("|")[:2] for line in found),
          [["1", "201"], ["2", "201"], ["3", "201"]])
    server("INSERT INTO orders_out (customer, payload) VALUES ('c', '1')")
    gateway.wait_for_log("message", reason="key-missing")
    equal(server("SELECT entity, type IS NULL FROM orders_out_dead"),
          ["c|t"])
    equal(gateway.find_log("source_refused"), [])


@test
def a_row_and_a_request_of_one_key_are_one_execution(bench):
    upstream = bench.upstream()
    server, broker = outbox_of(bench)
    server("ALTER TABLE outbox ADD headers jsonb")
    gateway = with_messages(bench, "outbox.json", upstream, {
        '"idempotency": {}': EXAMPLES.take("fingerprint.json").rstrip(),
        '"table": "outbox"':
            '"table": "outbox", "columns": {"headers": "headers"}',
        **broker})
    body = b'{"id":7,"amount":1000}'
    got = gateway.ask("k", body=body, target="/v1/events/paid",
                      tenant="Bearer shop",
                      fields=[("Content-Type", "application/json")])
    equal(got.status, 201)
    server("INSERT INTO outbox (aggregatetype, aggregateid, type, payload, "
           "headers) VALUES ('order', '7', 'paid', '%s', "
           "'{\"Idempotency-Key\": \"k\"}')" % body.decode())
    equal(gateway.wait_for_log("message")["outcome"], "duplicate")
    equal(upstream.count(key="k"), 1)


@test
def a_relay_needs_no_right_to_make_its_tables(bench):
    server, url = server_of(bench, "ledger.sql")
    server("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    made = server("\\d ledger*")
    config = relay(bench.config(bench.upstream()), server)
    config["brokers"]["shop"]["postgres"] = url
    gateway = bench.serve(config)
    equal(gateway.ask("k").status, 201)
    eventually(lambda: server("SELECT count(*) FROM ledger") == ["2"])
    equal(gateway.find_log("relay_down"), [])
    gateway.stop()
    # A relay that makes them makes the same.
    server("DROP TABLE ledger, ledger_position; "
           "GRANT CREATE ON SCHEMA public TO gateway")
    bench.serve(config).wait_for_log("relay_up")
    equal(server("\\d ledger*"), made)


@test
def every_example_of_the_pages_was_tried(bench):
    EXAMPLES.all_were_tried()


tap.main()
