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
from .pgwire import PostgresClient, PostgresError
from .process import Process
from .wait import PATIENCE, Late, eventually

FAST = ["fsync=off", "full_page_writes=off",
        "listen_addresses=", "max_connections=60"]

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


def is_up(folder):
    try:
        PostgresClient(folder).close()
    except (OSError, PostgresError):
        return False
    return True


class Postgres:
    """url is what a broker's "postgres" says; call it to run SQL.  primary: the
    server whose standby it is; like: one that has ended, of which it is a
    copy."""

    def __init__(self, primary=None, like=None):
        self.bin = programs()
        self.folder = make_folder()
        self.user = "postgres"
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self.data = os.path.join(self.folder, "data")
        if like is not None:
            subprocess.run(["cp", "-a", like.data, self.data], check=True)
        elif primary is None:
            self.run("initdb", "-D", self.data, "-U", self.user, "-A", "trust",
                     "-N", "--no-locale", "-E", "UTF8")
        else:
            self.copy(primary)
        self.process = None
        self.start()

    def run(self, program, *words):
        """One of the server's own programs, to its end."""
        subprocess.run(
            [*as_user(), os.path.join(self.bin, program), *words],
            check=True, stdout=subprocess.DEVNULL, cwd=self.folder,
            timeout=PATIENCE * 3)

    def copy(self, primary):
        """Becomes its standby, when it is started."""
        self.run("pg_basebackup", "-h", primary.folder, "-U", self.user,
                 "-D", self.data, "-R", "-N", "-c", "fast")

    @property
    def url(self):
        return (f"postgresql://{self.user}@/postgres"
                f"?host={self.folder.replace('/', '%2F')}")

    def start(self, folder=None):
        """folder: of its socket."""
        options = [word for setting in FAST for word in ("-c", setting)]
        self.process = Process(
            [*as_user(), os.path.join(self.bin, "postgres"), "-D", self.data,
             "-k", folder or self.folder, *options], cwd=self.folder)
        eventually(lambda: is_up(folder or self.folder), "PostgreSQL is up",
                   3 * PATIENCE)

    def look_into(self, sql):
        """What it has, where it has ended: it is started where nobody else
        finds it."""
        self.start(self.data)
        client = PostgresClient(self.data)
        try:
            return client(sql)
        finally:
            client.close()
            self.kill()

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

    def empty(self):
        """Ends all sessions, drops all tables, and all users but its own."""
        self("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
             "WHERE backend_type = 'client backend' "
             "AND pid <> pg_backend_pid(); "
             "DROP SCHEMA public CASCADE; CREATE SCHEMA public; "
             "GRANT USAGE ON SCHEMA public TO PUBLIC")
        for role in self("SELECT quote_ident(rolname) FROM pg_roles "
                         "WHERE rolname !~ '^pg_' AND NOT rolsuper"):
            self(f"DROP OWNED BY {role}; DROP ROLE {role}")

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
        """No connection is accepted any more; those that are there work."""
        self.process.signal(signal.SIGSTOP)

    def thaw(self):
        self.process.signal(signal.SIGCONT)

    def children(self):
        """The processes of its sessions, and its own; newest last."""
        pid = self.process.pid
        try:
            with open(f"/proc/{pid}/task/{pid}/children",
                      encoding="ascii") as file:
                return [int(word) for word in file.read().split()]
        except OSError:
            return []

    def signal_all(self, number):
        """To all of its processes; it makes no new ones meanwhile."""
        self.freeze()
        for pid in self.children():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        self.process.signal(number)

    def freeze_all(self):
        self.signal_all(signal.SIGSTOP)

    def thaw_all(self):
        self.signal_all(signal.SIGCONT)

    def kill(self, number=signal.SIGQUIT):
        """Immediately, as a power cut; its sessions die with it.  SIGINT: it
        finishes what is under way, and tells its standby all."""
        self.process.signal(number)
        self.wait_ended()

    def cut(self):
        """kill -9 of all its processes."""
        self.signal_all(signal.SIGKILL)
        self.wait_ended()

    def wait_ended(self):
        eventually(lambda: self.process.ended and not self.process.running(),
                   "PostgreSQL has ended")

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        self.thaw_all()
        self.kill()
        drop_folder(self.folder)


class PostgresPair:
    """A primary, whose folder may change, and its standby, which is told of a
    commit after that was answered."""

    def __init__(self):
        self.servers = [Postgres()]
        try:
            self.servers.append(Postgres(self.servers[0]))
        except BaseException:
            self.stop()
            raise
        self.primary, self.standby = self.servers
        hosts = ",".join(s.folder.replace("/", "%2F") for s in self.servers)
        self.url = (f"postgresql://postgres@/postgres?host={hosts}"
                    "&target_session_attrs=read-write")

    @property
    def folder(self):
        return self.primary.folder

    def __call__(self, sql):
        return self.primary(sql)

    def rows(self, sql):
        return self.primary.rows(sql)

    def wait_copied(self):
        """The standby has all that the primary has."""
        eventually(lambda: self.primary(
            "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' "
            "AND replay_lsn = pg_current_wal_lsn()"),
            "the standby has all", 3 * PATIENCE)

    def promote(self):
        """The standby, once its primary has ended."""
        self.standby("SELECT pg_promote(false)")
        try:
            eventually(lambda: self.standby(
                "SELECT pg_is_in_recovery()") == ["f"],
                "the standby is a primary", 3 * PATIENCE)
        except Late as late:
            lines = "\n".join(self.standby.process.lines[-30:])
            raise Late(f"{late}\n{lines}") from None
        self.primary, self.standby = self.standby, self.primary

    def copy_again(self):
        """What was the primary becomes the standby; it has ended."""
        shutil.rmtree(self.standby.data)
        self.standby.copy(self.primary)
        self.standby.start()

    def stop(self):
        for server in self.servers:
            server.stop()


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
