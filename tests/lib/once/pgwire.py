# SPDX-License-Identifier: BSD-2-Clause
"""A connection to a PostgreSQL on a Unix socket: simple queries alone, whose
values are texts.  psql is a process for each; this one can have a transaction
open while others happen."""

import socket
import struct

from .wait import PATIENCE


class PostgresError(Exception):
    """An error of the server; state is its SQLSTATE."""

    def __init__(self, fields):
        self.state = fields.get("C", "")
        super().__init__(f"{self.state} {fields.get('M', '')}")


class PostgresClient:
    """folder: of the server's socket."""

    def __init__(self, folder, timeout=PATIENCE, name="test", port=5432):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(timeout)
        try:
            self.sock.connect(f"{folder}/.s.PGSQL.{port}")
            self.file = self.sock.makefile("rb")
            words = ("user", "postgres", "database", "postgres",
                     "application_name", name)
            body = struct.pack("!I", 196608) + b"".join(
                word.encode() + b"\0" for word in words) + b"\0"
            self.sock.sendall(struct.pack("!I", len(body) + 4) + body)
            self.answer()
        except BaseException:
            self.sock.close()
            raise

    def __call__(self, sql):
        """Its rows: lists of texts, None for null."""
        self.send(sql)
        return self.answer()

    def send(self, sql):
        body = sql.encode() + b"\0"
        self.sock.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)

    def answer(self):
        """All until the server is ready for the next one."""
        rows, error = [], None
        while True:
            kind, body = self.message()
            if kind == b"D":
                rows.append(row_of(body))
            elif kind == b"E":
                error = PostgresError(error_fields(body))
            elif kind == b"Z":
                if error is not None:
                    raise error
                return rows

    def message(self):
        head = self.file.read(5)
        if len(head) < 5:
            raise ConnectionError("PostgreSQL closed the connection")
        size = struct.unpack("!I", head[1:])[0] - 4
        body = self.file.read(size)
        if len(body) < size:
            raise ConnectionError("PostgreSQL closed the connection")
        if head[:1] == b"E" and body.startswith((b"SFATAL", b"SPANIC")):
            raise PostgresError(error_fields(body))
        return head[:1], body

    def close(self):
        """The file has the socket open, too."""
        self.file.close()
        self.sock.close()


def row_of(body):
    values, at = [], 2
    for _ in range(struct.unpack("!H", body[:2])[0]):
        size, = struct.unpack("!i", body[at:at + 4])
        at += 4
        values.append(None if size < 0 else body[at:at + size].decode())
        at += max(size, 0)
    return values


def error_fields(body):
    return {field[:1].decode(): field[1:].decode("utf-8", "replace")
            for field in body.split(b"\0") if field}


def literal(text):
    """A text, as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
