# SPDX-License-Identifier: BSD-2-Clause
"""What messages are read from, a Redis stream and a PostgreSQL outbox, and
those who read them: onceproxy, and what people write in Node."""

import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import rivals

TARGET = "/v1/charges/s200"
# As request.lua sends it.
BODY = ('{"amount":4200,"currency":"eur","customer":"cus_9s6XKzkNRiz8i3",'
        '"description":"an order of the usual kind","metadata":'
        '{"order":"6735","basket":"3a9c5f1e77"},"capture":true,"x":"12"}')
HEADERS = {"Authorization": "Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc",
           "User-Agent": "bench/1.0", "Accept": "application/json"}
INSTANCE = "bench"
# Of a stream: the group and the name under which each reads it.
READERS = {"onceproxy": ("onceproxy", INSTANCE),
           "node": ("consumers", "consumer")}


class Redis:
    """A connection; call it with the words of a command."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        parts = [w if isinstance(w, bytes) else str(w).encode()
                 for w in words]
        return b"*%d\r\n" % len(parts) + b"".join(
            b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)

    def __call__(self, *words):
        self.socket.sendall(self.send(*words))
        return self.read()

    def many(self, commands):
        """Hundreds at once."""
        commands = list(commands)
        for at in range(0, len(commands), 500):
            part = commands[at:at + 500]
            self.socket.sendall(b"".join(self.send(*c) for c in part))
            for _ in part:
                self.read()

    def read(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if kind == b"$":
            if rest == b"-1":
                return None
            return self.file.read(int(rest) + 2)[:-2].decode()
        return int(rest) if kind == b":" else rest.decode()

    def info(self, name):
        """A number of INFO's."""
        for line in self("INFO", "all").split("\r\n"):
            if line.startswith(name + ":"):
                return int(line.split(":")[1])
        raise KeyError(name)


class Stream:
    """A stream of so many messages, read by one of READERS."""

    look_s = 0.02  # between two questions of how much is done

    def __init__(self, stage, name, reader):
        self.path, self.name = stage.redis_path, name
        self.redis = Redis(self.path)
        self.group, self.consumer = READERS[reader]

    def conf(self):
        """Of a gateway: the broker, and where in it the source is."""
        return {"redis": "unix:" + self.path}, {"stream": self.name}

    def fill(self, count):
        self.redis.many(
            ("XADD", self.name, "*", "body", BODY, "idempotency-key",
             f"{self.name}-{i}") for i in range(count))
        self.redis("XGROUP", "CREATE", self.name, self.group, "0")

    def done(self):
        group, = self.redis("XINFO", "GROUPS", self.name)
        got = dict(zip(group[::2], group[1::2]))
        return (got["entries-read"] or 0) - got["pending"]

    def left(self):
        """The keys that are not acknowledged."""
        got = self.redis("XPENDING", self.name, self.group, "-", "+", 100000)
        entries = [self.redis("XRANGE", self.name, e[0], e[0])[0]
                   for e in got]
        return [dict(zip(f[::2], f[1::2]))["idempotency-key"]
                for _, f in entries]

    def redeliver(self):
        """All of it is pending for its reader, as after an acknowledgement
        that was lost."""
        self.redis("XGROUP", "SETID", self.name, self.group, "0",
                   "ENTRIESREAD", "0")
        self.redis("EVAL", "redis.call('XREADGROUP', 'GROUP', ARGV[1], "
                   "ARGV[2], 'STREAMS', KEYS[1], '>')", 1, self.name,
                   self.group, self.consumer)

    def mark(self, count):
        """As consumer.js does it for what is executed."""
        self.redis.many(("SET", f"{self.name}:done:{self.name}-{i}", "1",
                         "EX", "86400") for i in range(count))

    def drop(self):
        self.redis("UNLINK", self.name)


class Postgres:
    """A server in the stage's folder; call it with SQL."""

    def __init__(self, stage):
        self.bin = os.path.dirname(sorted(
            glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1])
        self.folder = stage.path("postgres")
        os.mkdir(self.folder)
        self.user = []
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres",
                         "--clear-groups"]
        data = os.path.join(self.folder, "data")
        subprocess.run(
            [*self.user, f"{self.bin}/initdb", "-D", data, "-U", "postgres",
             "-A", "trust", "-N", "--no-locale", "-E", "UTF8"], check=True,
            stdout=subprocess.DEVNULL, cwd=self.folder)
        # Which disk there is says nothing of a gateway.
        self.server = stage.server(
            [*stage.pinned("client"), *self.user, f"{self.bin}/postgres",
             "-D", data, "-k", self.folder, "-c", "listen_addresses=",
             "-c", "fsync=off", "-c", "synchronous_commit=off"])
        while self.psql("SELECT 1").returncode != 0:
            time.sleep(0.05)

    def psql(self, sql):
        return subprocess.run(
            [f"{self.bin}/psql", "-h", self.folder, "-U", "postgres", "-d",
             "postgres", "-XAtq", "-v", "ON_ERROR_STOP=1"], input=sql,
            capture_output=True, text=True, check=False)

    def __call__(self, sql):
        done = self.psql(sql)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def url(self):
        return ("postgresql://postgres@/postgres?host="
                + self.folder.replace("/", "%2F"))

    def transactions(self):
        return int(self("SELECT xact_commit + xact_rollback FROM "
                        "pg_stat_database WHERE datname = 'postgres'")[0])


class Outbox:
    """The table outbox with so many rows, as Debezium has them."""

    look_s = 0.25

    def __init__(self, postgres):
        self.postgres, self.count, self.name = postgres, 0, "outbox"
        postgres("CREATE TABLE outbox (id bigserial PRIMARY KEY, "
                 "aggregatetype text, aggregateid text, type text, "
                 "payload jsonb, headers jsonb)")

    def conf(self):
        return {"postgres": self.postgres.url()}, {
            "table": "outbox", "columns": {"headers": "headers"}}

    def fill(self, count):
        word = f"row-{time.time_ns()}"
        self.postgres(
            "TRUNCATE outbox; INSERT INTO outbox (aggregatetype, aggregateid,"
            f" type, payload, headers) SELECT 'x', n::text, 'charge', '{BODY}'"
            f", jsonb_build_object('Idempotency-Key', '{word}-' || n) FROM "
            f"generate_series(0, {count - 1}) AS n; ANALYZE outbox")
        self.count, self.name = count, word

    def done(self):
        return self.count - int(self.postgres(
            "SELECT count(*) FROM outbox")[0])

    def left(self):
        return self.postgres(
            "SELECT headers->>'Idempotency-Key' FROM outbox")

    def drop(self):
        self.postgres("TRUNCATE outbox")


# --- those who read them ---

def onceproxy(stage, port, source=None, upstream=None, instance=INSTANCE):
    """argv of a gateway with that source: a Stream, an Outbox, a Topic, or
    none."""
    argv = rivals.onceproxy(
        stage, port, f"messages-{time.time_ns()}",
        store={"redis": "unix:" + stage.redis_path, "prefix": "messages"})
    with open(argv[-1], encoding="utf-8") as file:
        conf = json.load(file)
    conf["instance"] = instance
    conf["store"]["timeout"] = "2s"  # for busy machines
    if upstream:
        conf["upstreams"]["api"]["targets"] = [upstream]
        conf["routes"][0]["idempotency"]["lease"] = "2s"
    if stage.options.keepalive:
        conf["upstreams"]["api"]["keepalive"] = stage.options.keepalive
    if source is not None:
        broker, where = source.conf()
        conf["brokers"] = {"queue": broker}
        conf["sources"] = {"charges": {
            "broker": "queue", **where,
            "in_flight": stage.options.in_flight,
            "request": {"path": TARGET, "headers": HEADERS}}}
    with open(argv[-1], "w", encoding="utf-8") as file:
        json.dump(conf, file)
    return argv


def node_modules(stage):
    """The folder of the Node programs, with their packages."""
    modules = stage.path("node")
    if not os.path.exists(modules):
        shutil.copytree(os.path.join(rivals.HERE, "node"), modules)
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=modules,
                       stdout=subprocess.DEVNULL, check=True)
    return modules


def consumer(stage, source, upstream, mark):
    return ["node", os.path.join(node_modules(stage), "consumer.js"),
            stage.redis_path, upstream, source.name, mark]


def topic_consumer(stage, source, upstream, mark):
    return ["node", os.path.join(node_modules(stage), "topic.js"),
            stage.redis_path, upstream, source.kafka.addresses[0],
            source.name, mark, *filter(None, [source.results])]


def topic_reader(source, log, settings):
    """A plain consumer, which writes down what comes and does nothing."""
    return [sys.executable, os.path.join(rivals.HERE, "reader.py"), log,
            source.name, json.dumps({
                "bootstrap.servers": ",".join(source.kafka.addresses),
                "group.id": source.group, **settings})]


def poller(stage, source, upstream):
    return ["node", os.path.join(node_modules(stage), "poller.js"),
            source.postgres.folder, upstream]
