# SPDX-License-Identifier: BSD-2-Clause
"""A client of the admin interface."""

import json

from . import http
from .tap import equal


class Admin:
    """A gateway's admin interface."""

    def __init__(self, gateway, token=None):
        self.address = gateway.ready["admin"]
        self.token = token
        self.host = "localhost" if "unix:" in self.address else self.address

    def send(self, method, target, body=None, fields=(), host=None):
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        if self.token:
            fields = [("Authorization", f"Bearer {self.token}"), *fields]
        return http.ask(self.address,
                        http.build(method, target, fields, body,
                                   host or self.host))

    def get(self, target):
        got = self.send("GET", target)
        equal(got.status, 200, got.body)
        equal(got.get("Content-Type"), "application/json")
        return got.json()

    def post(self, target, body=None):
        return self.send("POST", target, {} if body is None else body)

    def act(self, key_id, act, body=None):
        got = self.post(f"/keys/{key_id}/{act}", body)
        equal(got.status, 200, got.body)
        return got.json()
