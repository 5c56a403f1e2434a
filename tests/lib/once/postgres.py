# SPDX-License-Identifier: BSD-2-Clause
"""A real PostgreSQL on a Unix socket in a folder of its own, and an outbox in
it."""

import glob
import json
import os
import shutil
import signal
import subprocess

from . import http
from .folder import drop_folder, make_folder
from .process import Process
from .wait import PATIENCE, eventually

FAST = ["fsync=off", "full_page_writes=off",
        "listen_addresses=", "max_connections=40"]

# Sessions that sleep, as Postgres.begin makes them.
OPEN = ("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'")


def programs():
    """The folder of the newest server's programs; None: there is no server."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1]) if found else None


def as_user():
    """What a command begins with that must not be root's."""
    if os.getuid() != 0:
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres",
            "--clear-groups", "--pdeathsig=KILL"]


class Postgres:
    """url is what a broker's "postgres" says; call it to run SQL."""

    def __init__(self):
        self.bin = programs()
        self.folder = make_folder()
        self.user = "postgres"
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self.data = os.path.join(self.folder, "data")
        subprocess.run(
            [*as_user(), os.path.join(self.bin, "initdb"), "-D", self.data,
             "-U", self.user, "-A", "trust", "-N", "--no-locale",
             "-E", "UTF8"],
            check=True, stdout=subprocess.DEVNULL, cwd=self.folder,
            timeout=PATIENCE * 3)
        self.process = None
        self.start()

    @property
    def url(self):
        return (f"postgresql://{self.user}@/postgres"
                f"?host={self.folder.replace('/', '%2F')}")

    def start(self):
        options = [word for setting in FAST for word in ("-c", setting)]
        self.process = Process(
            [*as_user(), os.path.join(self.bin, "postgres"), "-D", self.data,
             "-k", self.folder, *options], cwd=self.folder)
        eventually(self.is_up, "PostgreSQL is up")

    def is_up(self):
        return self.psql("SELECT 1").returncode == 0

    def psql(self, sql):
        return subprocess.run(
            [os.path.join(self.bin, "psql"), "-h", self.folder, "-U",
             self.user, "-d", "postgres", "-XAtq", "-v", "ON_ERROR_STOP=1"],
            input=sql, capture_output=True, text=True, check=False,
            timeout=PATIENCE)

    def __call__(self, sql):
        """The lines of what it answers."""
        done = self.psql(sql)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def rows(self, sql):
        """The rows of a query, as dicts."""
        return [json.loads(line) for line in
                self(f"SELECT row_to_json(found) FROM ({sql}) AS found")]

    def begin(self, sql):
        """A transaction that does this, and stays open until end()."""
        Process([os.path.join(self.bin, "psql"), "-h", self.folder, "-U",
                 self.user, "-d", "postgres", "-Xq", "-c",
                 f"BEGIN; {sql}; SELECT pg_sleep(3600)"])
        eventually(lambda: self(OPEN), "the transaction is open")

    def end(self):
        """Rolls all of them back."""
        self(f"SELECT pg_terminate_backend(pid) FROM ({OPEN}) AS open")
        eventually(lambda: not self(OPEN), "no transaction is open")

    def freeze(self):
        self.process.signal(signal.SIGSTOP)

    def thaw(self):
        self.process.signal(signal.SIGCONT)

    def kill(self):
        """Immediately, as a power cut; its sessions die with it."""
        self.process.signal(signal.SIGQUIT)
        eventually(lambda: self.process.ended, "PostgreSQL has ended")

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        self.process.signal(signal.SIGCONT)
        self.process.signal(signal.SIGQUIT)
        eventually(lambda: self.process.ended, "PostgreSQL has ended")
        drop_folder(self.folder)


class Outbox:
    """A table as Debezium's outbox has it."""

    def __init__(self, postgres, name="outbox", key="bigserial"):
        self.postgres, self.name = postgres, name
        default = " DEFAULT gen_random_uuid()" if key == "uuid" else ""
        postgres(f"CREATE TABLE {name} (id {key} PRIMARY KEY{default}, "
                 "aggregatetype text, aggregateid text, type text, "
                 "payload jsonb, headers jsonb, made timestamptz "
                 "NOT NULL DEFAULT now(), published_at timestamptz)")

    def add(self, payload, entity="a", kind="charge", headers=None):
        """Adds a row; its id."""
        def text(value):
            return "'" + json.dumps(value).replace("'", "''") + "'"
        return self.postgres(
            f"INSERT INTO {self.name} (aggregatetype, aggregateid, type, "
            f"payload, headers) VALUES ('x', '{entity}', '{kind}', "
            f"{text(payload)}, {text(headers or {})}) RETURNING id")[0]

    def unread(self, where="true"):
        return self.postgres(
            f"SELECT id FROM {self.name} WHERE {where} ORDER BY id")


def outbox_source(config, outbox, name="outbox", **members):
    """Adds a source of that table to a configuration."""
    request = {"path": "/v1/charges", "headers": {
        "Authorization": http.TENANT}, **members.pop("request", {})}
    config.setdefault("brokers", {})["shop"] = {
        "postgres": outbox.postgres.url}
    config.setdefault("sources", {})[name] = {
        "broker": "shop", "table": outbox.name, "poll": "50ms",
        "columns": {"headers": "headers"}, "request": request, **members}
