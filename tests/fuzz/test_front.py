# SPDX-License-Identifier: BSD-2-Clause
"""Pipelines, right ones and wrong ones, through a running gateway: the upstream
sees what a strict reader of the same bytes finds in them, and nothing else.

ONCE_SEED         the seed, else 1, or in the long tier a new one
ONCE_FUZZ_S       so many seconds, whatever the number
ONCE_CONNECTION   only this one"""

import asyncio
import os

from once import tap
from once.certificates import Authority
from once.tap import each, test

from differ import Differ

SEED = tap.first_seed()
ONLY = os.environ.get("ONCE_CONNECTION")
SECONDS = int(os.environ.get("ONCE_FUZZ_S") or 0)
CONNECTIONS = 1 if ONLY else 1 << 40 if SECONDS else 6000
tap.LIMIT_S = SECONDS + 120


def settings(bench, authority, port):
    """Payments, with a key and with one that may be missing; the rest passes.
    """
    server = authority.issue("localhost")
    config = bench.config(
        f"http://127.0.0.1:{port}", {"retention": "5m",
                                     "unknown_retention": "5m"},
        options={"timeout": "60s"}, log={"access": False},
        limits={"request_headers": "16KiB"})
    config["listen"].append({"address": "127.0.0.1:0", "tls": {
        "certificate": server.file, "key": server.key}})
    optional = {"name": "optional", "methods": ["PUT"],
                "path": "/v1/optional", "upstream": "api",
                "idempotency": {"required": False, "retention": "5m",
                                "unknown_retention": "5m"}}
    config["routes"].insert(1, optional)
    return config


def differ(bench, seed, program=None, env=None, connections=CONNECTIONS):
    """What differs, and how often."""
    authority = Authority(bench.folder())
    found = Differ(seed, authority.client())

    def make_gateway(port):
        return bench.serve(settings(bench, authority, port), env,
                           program=program).addresses
    asyncio.run(found.run(make_gateway, int(ONLY or 0), connections,
                          SECONDS or tap.LIMIT_S - 60))
    return found


@test
def the_upstream_sees_what_a_strict_reader_finds(bench):
    tap.comment(f"ONCE_SEED={SEED} repeats this")
    found = differ(bench, SEED)
    assert not found.wrong, "\n".join(
        [f"{len(found.wrong)} differ, with seed {SEED}:", *found.wrong])


@each([(name, name) for name in (
    "one_host", "one_key", "one_reading", "no_alias", "connection_names")])
def a_gateway_that_is_lenient_is_seen(bench, invariant):
    """The same, with an invariant taken out."""
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program or not os.access(program, os.X_OK):
        raise tap.Skip("there is no test build")
    found = differ(bench, SEED, program,
                   {"ONCE_INVARIANTS_OFF": invariant}, 20000)
    assert found.wrong, "it was not"


tap.main()
