# SPDX-License-Identifier: BSD-2-Clause
"""A source whose messages come to a route that believes signed tokens: where
its own one is refused, it stands still, and no message is to blame."""

import os
import signal
import time

from once import tap
from once.admin import Admin
from once.gateway import write
from once.messages import Stream, source
from once.tap import each, equal, test
from once.tokens import Key, write_keys
from once.wait import eventually

LEEWAY_S = 60  # src/conf/token/token.h
SOON_S = 2


class World:
    """A stream whose source has a token of its own."""

    def __init__(self, bench, token, **members):
        folder = bench.folder()
        self.key = Key(folder, "HS256", "one")
        self.file = os.path.join(folder, "keys.json")
        write_keys(self.file, self.key)
        self.upstream = bench.upstream()
        self.stream = Stream(bench.own_redis())
        self.config = bench.config(
            self.upstream,
            admin={"listen": "unix:" + os.path.join(bench.folder(), "admin")},
            routes=[{"name": "charges", "path": "/v1/charges",
                     "methods": ["POST"], "upstream": "api", "idempotency": {
                         "scope": [{"jwt": "sub", "keys": self.file}]}}])
        source(self.config, self.stream, request={"headers": {
            "Authorization": token(self)}}, **members)
        self.gateway = bench.serve(self.config)

    def bearer(self, left_s, key=None):
        """A token that is believed for so long yet."""
        return "Bearer " + (key or self.key).token(
            {"sub": "shop", "exp": int(time.time()) - LEEWAY_S + left_s})

    def renew(self, bearer):
        headers = self.config["sources"]["charges"]["request"]["headers"]
        headers["Authorization"] = bearer
        since = len(self.gateway.events)
        write(self.gateway.file, self.config)
        self.gateway.signal(signal.SIGHUP)
        self.gateway.wait_for_log("reloaded", since)

    def add(self, key):
        self.stream.add(body=b"{}", idempotency_key=key)

    def source(self):
        found, = Admin(self.gateway).get("/sources")["sources"]
        return found

    def wait_executed(self, keys):
        self.gateway.wait_until(lambda: len(self.gateway.find_log(
            "message", outcome="executed")) == len(keys), "all are executed")
        equal([self.upstream.count(key=key) for key in keys],
              [1] * len(keys))
        equal(self.stream.entries("charges:dead"), [])


@test
def a_token_that_expires_stops_its_source_until_it_is_renewed(bench):
    w = World(bench, lambda w: w.bearer(SOON_S))
    keys = []

    def stands_at_another_one():
        keys.append(f"k{len(keys)}")
        w.add(keys[-1])
        w.gateway.wait_until(
            lambda: w.source()["standing"] == "token" or
            len(w.gateway.find_log("message")) == len(keys), "it is read")
        return w.source()["standing"] == "token"
    eventually(stands_at_another_one, "the token has expired")
    told = w.gateway.wait_for_log("source_stands", reason="token")
    for words in ('"charges"', "own token", "has expired"):
        assert words in told["error"], told
    equal(w.upstream.count(), len(keys) - 1)
    for key in ("more-1", "more-2"):
        keys.append(key)
        w.add(key)
    w.renew(w.bearer(3600))
    w.wait_executed(keys)
    equal(w.source()["standing"], None)


@test
def a_key_of_the_issuer_that_is_missing_is_waited_for(bench):
    new = Key(bench.folder(), "HS256", "new")
    w = World(bench, lambda w: w.bearer(3600, new))
    w.add("k")
    told = w.gateway.wait_for_log("source_stands", reason="token")
    assert "is not known" in told["error"], told
    write_keys(w.file, w.key, new)
    w.gateway.wait_for_log("source_goes", reason="token")
    w.wait_executed(["k"])


@test
def what_names_nobody_is_no_messages_fault_either(bench):
    """A file with the token alone."""
    w = World(bench, lambda w: w.bearer(3600).removeprefix("Bearer "))
    w.add("k")
    told = w.gateway.wait_for_log("source_stands", reason="token")
    assert "it wants a bearer token" in told["error"], told
    w.renew(w.bearer(3600))
    w.wait_executed(["k"])


@each([("of each message its own", "{header:token}", lambda w: {
    "token": w.bearer(-10).encode()}),
       ("with a part of each message", "Bearer {header:token}", lambda w: {
           "token": b"x.y.z"})])
def a_token_of_a_message_is_its_own_fault(bench, value, fields):
    w = World(bench, lambda w: value)
    w.stream.add(body=b"{}", idempotency_key="bad", **fields(w))
    line = w.gateway.wait_for_log("message", outcome="malformed")
    assert "token-invalid" in line["detail"], line
    equal(w.source()["standing"], None)
    equal(w.upstream.count(), 0)
    equal(len(w.stream.entries("charges:dead")), 1)


tap.main()
