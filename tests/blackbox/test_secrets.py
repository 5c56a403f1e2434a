# SPDX-License-Identifier: BSD-2-Clause
"""Keys, passwords and secrets are in no memory that a core dump would have,
nor in the memory that a process begins with, wherever the configuration takes
them from."""

import base64
import hashlib
import re
import signal

from once import http, tap
from once.gateway import is_sanitized
from once.redis import RedisError
from once.tap import equal, test
from once.upstream import refused_port
from once.wait import eventually

RAW_KEY = hashlib.sha256(b"one").digest()
OLD_KEY = hashlib.sha256(b"two").digest()
PASSWORD = b"the-password-of-redis-419"
STORE_SECRET = b"what-names-of-records-are-keyed-with"
TOKEN = b"the-token-of-the-operators"


def pieces(secret):
    """The parts of it that must not be found: half of it is too much."""
    half = len(secret) // 2
    return {secret[:half], secret[half:]}


def dumped(pid):
    """The memory that a core dump of the process would have: all mappings but
    those that are marked to be left out (dd), that cannot be read, or that
    were never written to."""
    with open(f"/proc/{pid}/smaps") as lines:
        text = lines.read()
    head = r"^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)\n"
    starts = list(re.finditer(head, text, re.M))
    ends = [found.start() for found in starts[1:]] + [len(text)]
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for found, end in zip(starts, ends):
            about = text[found.end():end]
            flags = re.search(r"^VmFlags: (.*)", about, re.M)[1].split()
            resident = int(re.search(r"^Rss: +(\d+)", about, re.M)[1])
            if "dd" in flags or "io" in flags or "r" not in found[3] or \
                    not resident:
                continue
            yield found[0].strip(), read(
                memory, int(found[1], 16), int(found[2], 16))


def read(memory, at, end):
    data = b""
    while at < end:
        memory.seek(at)
        try:
            more = memory.read(min(end - at, 1 << 24))
        except OSError:
            break
        if not more:
            break
        data += more
        at += len(more)
    return data


def found_in(gateway, secrets):
    seen = []
    for mapping, data in dumped(gateway.pid):
        for secret in secrets:
            for piece in pieces(secret):
                at = data.find(piece)
                if at >= 0:
                    seen.append((mapping, piece, data[at - 64:at + 96]))
    return seen


def nothing_in(gateway, secrets):
    equal(found_in(gateway, secrets), [])


@test
def what_is_not_secret_would_be_found(bench):
    """Shows that these tests see what is in memory."""
    _, gateway = bench.pair(problem_base="urn:found-in-memory-419:")
    assert found_in(gateway, [b"urn:found-in-memory-419:"])


def redis_with_password(bench):
    redis = bench.own_redis()
    redis("CONFIG", "SET", "requirepass", PASSWORD)
    redis("AUTH", PASSWORD)
    return redis


def config(bench, redis, token=None, **store):
    """Secrets from files, and in the configuration file itself."""
    text = base64.b64encode(RAW_KEY)
    old = base64.b64encode(OLD_KEY).decode()
    return bench.config(
        bench.upstream(), redis=redis,
        admin={"listen": "127.0.0.1:0", "token": token or TOKEN.decode()},
        store={"secret": {"file": bench.file(STORE_SECRET + b"\n")},
               "encryption_keys": [
                   {"id": "new", "key": {"file": bench.file(text)}},
                   {"id": "old", "key": old}], **store})


ALL = [PASSWORD, STORE_SECRET, TOKEN, RAW_KEY, OLD_KEY,
       base64.b64encode(RAW_KEY), base64.b64encode(OLD_KEY)]


def status(gateway, token):
    return http.ask(gateway.ready["admin"], http.build(
        "GET", "/status", [("Authorization", "Bearer " + token.decode())],
        host="localhost")).status


def used(gateway):
    """It claims, stores, replays and refuses, and serves an operator."""
    equal(status(gateway, TOKEN), 200)
    gateway.ask("k")
    equal(gateway.ask("k").replayed, True)
    equal(gateway.ask("k", body=b"other").problem, "key-reused")


@test
def no_secret_is_where_a_core_dump_would_have_it(bench):
    redis = redis_with_password(bench)
    gateway = bench.serve(config(
        bench, redis, password={"file": bench.file(PASSWORD + b"\n")}))
    used(gateway)
    nothing_in(gateway, ALL)


def on_a_port(redis):
    """Lets it listen on TCP too."""
    for _ in range(10):
        kept, port = refused_port()
        kept.close()
        try:
            redis("CONFIG", "SET", "port", port)
            return port
        except RedisError:  # somebody was quicker
            pass
    raise AssertionError("no port is free")


@test
def nor_is_one_that_stands_in_the_file_itself_or_in_a_url(bench):
    redis = redis_with_password(bench)
    port = on_a_port(redis)
    gateway = bench.serve(config(
        bench, f"redis://default:{PASSWORD.decode()}@127.0.0.1:{port}"))
    used(gateway)
    nothing_in(gateway, ALL)


@test
def nor_is_it_after_a_reload_and_when_redis_was_lost(bench):
    redis = redis_with_password(bench)
    gateway = bench.serve(config(
        bench, redis, password={"file": bench.file(PASSWORD + b"\n")}))
    used(gateway)
    for _ in range(3):
        count = len(gateway.find_log("reloaded"))
        gateway.signal(signal.SIGHUP)
        eventually(lambda: len(gateway.find_log("reloaded")) > count)
    # Connections are made anew, some in vain.
    redis.kill()
    gateway.wait_for_log("store_down")
    redis.start()
    redis("CONFIG", "SET", "requirepass", PASSWORD)
    redis("AUTH", PASSWORD)
    eventually(lambda: gateway.ask("l").status == 201)
    nothing_in(gateway, ALL)


@test
def what_the_environment_had_is_gone_from_there_and_still_known(bench):
    redis = redis_with_password(bench)
    variables = {"ONCE_TOKEN": TOKEN.decode(),
                 "ONCE_KEY": base64.b64encode(RAW_KEY).decode(),
                 "ONCE_PASSWORD": PASSWORD.decode()}
    values = config(bench, redis, token={"env": "ONCE_TOKEN"},
                    password={"env": "ONCE_PASSWORD"})
    values["store"]["encryption_keys"][0]["key"] = {"env": "ONCE_KEY"}
    gateway = bench.serve(values, env=variables)
    with open(f"/proc/{gateway.pid}/environ", "rb") as file:
        environ = file.read()
    for name, value in variables.items():
        assert name.encode() + b"=\0" in environ, environ
        assert value.encode() not in environ
    used(gateway)
    # A sanitizer has its own copy of what a process begins with.
    if not is_sanitized():
        nothing_in(gateway, ALL)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    equal(gateway.find_log("reload_partial"), [])
    equal((status(gateway, TOKEN), status(gateway, b"wrong")), (200, 401))


tap.main()
