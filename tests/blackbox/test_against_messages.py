# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: what --against says of other headers of a source is what
becomes of a message that comes again under them."""

import base64
import json
import os
import signal
import time

from once import tap
from once.gateway import command, write
from once.messages import Stream, source
from once.tap import each, equal
from once.tokens import Key, write_keys

HEADERS = "/sources/charges/request/headers"


def basic(user, password):
    return "Basic " + base64.b64encode(
        f"{user}:{password}".encode()).decode()


def bearer(world, subject, left_s=3600, **claims):
    return "Bearer " + world.key.token(
        {"sub": subject, "exp": int(time.time()) + left_s, **claims})


class World:
    """A stream that a gateway reads, whose source has those headers."""

    def __init__(self, bench, policy, headers):
        self.bench = bench
        self.key = Key(bench.folder(), "HS256", "one")
        self.keys = os.path.join(bench.folder(), "keys.json")
        write_keys(self.keys, self.key)
        self.upstream = bench.upstream()
        self.stream = Stream(bench.own_redis())
        self.config = bench.config(self.upstream, policy(self))
        self.config["routes"][0]["path"] = "/v1/{x}"
        source(self.config, self.stream)
        self.set(headers)
        self.env = {"ONE_TOKEN": "s3cret-0ne", "OTHER_TOKEN": "s3cret-0ther"}
        self.gateway = bench.serve(self.config, env=self.env)

    def set(self, headers):
        self.headers = {name: value(self) if callable(value) else value
                        for name, value in headers.items()}
        self.config["sources"]["charges"]["request"]["headers"] = self.headers

    def file(self):
        return self.bench.file(json.dumps(self.config).encode(), "after.json")

    def check(self, against):
        """What it says of headers, as (pointer, words); no value of one."""
        done = command("check", "-c", self.file(), "--json", "--against",
                       against, env=self.env)
        for value in [*self.headers.values(), *self.env.values()]:
            assert str(value) not in done.stdout + done.stderr, value
        return [(w["pointer"], w["words"])
                for w in json.loads(done.stdout)["warnings"]
                if "comes again" in w["words"]]

    def deliver(self, key):
        """The outcome of a message with that key."""
        since = len(self.gateway.events)
        self.stream.add(body=b"{}", idempotency_key=key, of="m3mber")
        return self.gateway.wait_for_log("message", since)["outcome"]

    def reload(self):
        since = len(self.gateway.events)
        write(self.gateway.file, self.config)
        self.gateway.signal(signal.SIGHUP)
        self.gateway.wait_for_log("reloaded", since)
        return [(e["member"], e["error"]) for e in
                self.gateway.find_log("reload_keys", since)]


def scope(*entries, **more):
    return lambda world: {"scope": list(entries), **more}


def by_token(world):
    return {"scope": [{"jwt": "sub", "keys": world.keys}]}


def token(subject, **claims):
    return {"Authorization": lambda world: bearer(world, subject, **claims)}


COMPARED = {"headers": ["X-Currency"]}
ONE, OTHER = {"X-Tenant": "t3nant-0ne"}, {"X-Tenant": "t3nant-0ther"}
SECRET, OTHER_SECRET = {"env": "ONE_TOKEN"}, {"env": "OTHER_TOKEN"}
AGAIN, MISMATCH = "is executed again", "(mismatch)"
# The policy, headers, those of the next configuration; the header that is said.
CASES = [
    ("a header that names the tenant", scope("X-Tenant"), ONE, OTHER,
     "X-Tenant", AGAIN),
    ("other capitals", scope("X-Tenant"), ONE, {"x-tenant": "t3nant-0ne"},
     None, None),
    ("a header that names nothing", scope("X-Tenant"),
     {**ONE, "X-Trace": "tr4ce-a"}, {**ONE, "X-Trace": "tr4ce-b"}, None, None),
    ("one of several is added", scope("X-Tenant", {"path": "x"}), {}, ONE,
     "X-Tenant", AGAIN),
    ("one of several is gone", scope("X-Tenant", {"path": "x"}), ONE, {},
     "X-Tenant", AGAIN),
    ("a secret", scope("Authorization"), {"Authorization": SECRET},
     {"Authorization": OTHER_SECRET}, "Authorization", AGAIN),
    ("a secret that stands elsewhere", scope("Authorization"),
     {"Authorization": SECRET}, {"Authorization": "s3cret-0ne"}, None, None),
    ("another password", scope({"basic": "user"}),
     {"Authorization": basic("a", "one")},
     {"Authorization": basic("a", "other")}, None, None),
    ("another user", scope({"basic": "user"}),
     {"Authorization": basic("a", "one")},
     {"Authorization": basic("b", "one")}, "Authorization", AGAIN),
    ("a token of the same subject", by_token, token("shop"),
     token("shop", left_s=7200, jti="2"), None, None),
    ("another subject's token", by_token, token("shop"), token("other"),
     "Authorization", AGAIN),
    ("another issuer's token", by_token, token("shop"),
     token("shop", iss="other"), "Authorization", AGAIN),
    ("a header that is compared", scope("X-Tenant", fingerprint=COMPARED),
     {**ONE, "X-Currency": "curr3ncy-a"}, {**ONE, "X-Currency": "curr3ncy-b"},
     "X-Currency", MISMATCH),
    ("a header that is compared, and was none",
     scope("X-Tenant", fingerprint=COMPARED),
     ONE, {**ONE, "X-Currency": "curr3ncy-a"}, "X-Currency", MISMATCH),
    ("what each message has in it", scope("X-Tenant"),
     {"X-Tenant": "0ne-{header:of}"}, {"X-Tenant": "0ther-{header:of}"},
     "X-Tenant", AGAIN)]
OUTCOMES = {None: "duplicate", AGAIN: "executed", MISMATCH: "mismatch"}


@each(CASES)
def against_says_what_other_headers_do(bench, policy, before, after, header,
                                       words):
    """The reload says the same, and the message that comes again is what they
    say."""
    world = World(bench, policy, before)
    equal([world.deliver("k"), world.deliver("k")], ["executed", "duplicate"])
    world.set(after)
    told = world.check(world.gateway.file)
    equal([(p, f'"{header}"' in said, words in said) for p, said in told],
          [] if header is None else [(HEADERS, True, True)])
    equal(world.reload(), told)
    equal(world.deliver("k"), OUTCOMES[words])


tap.main()
