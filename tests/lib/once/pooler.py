# SPDX-License-Identifier: BSD-2-Clause
"""A PgBouncer before a PostgreSQL."""

import os
import shutil

from .folder import drop_folder, make_folder
from .pgwire import PostgresClient, PostgresError
from .postgres import as_user
from .process import Process
from .wait import PATIENCE, eventually

POOLER = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")


class Pooler:
    """A PgBouncer before that server."""

    def __init__(self, postgres, mode):
        self.folder = make_folder()
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self.file = os.path.join(self.folder, "pgbouncer.ini")
        with open(self.file, "w", encoding="ascii") as file:
            file.write(
                f"[databases]\npostgres = host={postgres.folder} "
                f"user=postgres pool_mode={mode}\n[pgbouncer]\n"
                "auth_type = any\nlisten_port = 5432\n"
                f"unix_socket_dir = {self.folder}\nserver_fast_close = 1\n"
                "ignore_startup_parameters = extra_float_digits\n")
        self.url = postgres.url.replace(
            postgres.folder.replace("/", "%2F"),
            self.folder.replace("/", "%2F"))
        self.start()

    def start(self):
        self.process = Process([*as_user(), POOLER, self.file])
        eventually(self.answers, "PgBouncer answers", PATIENCE)

    def answers(self):
        try:
            PostgresClient(self.folder).close()
        except (OSError, PostgresError):
            return False
        return True

    def restart(self):
        self.process.kill()
        eventually(lambda: not self.process.running(), "it has ended")
        self.start()

    def stop(self):
        self.process.kill()
        drop_folder(self.folder)
