# SPDX-License-Identifier: BSD-2-Clause
"""etc/examples: each file is one that a gateway takes without a warning, and
does what its first lines say.  (test_kubernetes.py and test_unknown.py run what
is theirs.)"""

import glob
import json
import os
import time

from once import http, tap
from once.demo import PaymentApi, sample, source
from once.gateway import command, is_without
from once.kafka_topic import need_reader
from once.postgres import Outbox, programs
from once.tap import Skip, each, equal, test
from once.tokens import Key, write_keys
from once.upstream import answer
from once.wait import eventually

FILES = sorted(glob.glob(source("etc/examples/*.json")))
NEEDS = {"outbox": "postgres", "witness": "postgres", "kafka": "kafka"}
# TLS ends in front of what listens on all addresses of a pod.
WARNED = {"kubernetes": ["/listen/0"]}


def name_of(file):
    return os.path.basename(file).removesuffix(".json")


def secrets(bench):
    """What the examples read below /etc/onceproxy, in a folder of ours."""
    folder = bench.folder()
    write_keys(os.path.join(folder, "issuer-keys.json"),
               Key(folder, "EdDSA", "now"))
    os.mkdir(os.path.join(folder, "secrets"))
    for name in ("shop-password", "kafka-password", "token",
                 "secrets/admin-token", "secrets/redis-password"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii",
                  opener=lambda p, f: os.open(p, f, 0o600)) as out:
            out.write("Bearer " * (name == "token") + "7" * 64)
    return folder


@each([(name_of(file), file) for file in FILES])
def is_taken_without_a_warning(bench, file):
    name = name_of(file)
    if name in NEEDS and is_without(NEEDS[name]):
        raise Skip(f"built without {NEEDS[name]}")
    with open(file, encoding="utf-8") as text:
        text = text.read()
    assert text.startswith("// "), "its first line says what it is for"
    text = text.replace("/etc/onceproxy", secrets(bench))
    own = bench.file(text.encode())
    done = command("check", "-c", own)
    *warnings, last = done.stdout.splitlines()
    equal((done.returncode, last), (0, f"{own}: ok"))
    equal([line.split(": ")[2] for line in warnings], WARNED.get(name, []))


@test
def each_is_installed(bench):
    with open(source("etc/Makefile.inc"), encoding="utf-8") as file:
        listed = file.read()
    equal([f for f in FILES if f"etc/examples/{name_of(f)}.json" not in
           listed], [])


# --- what they do -----------------------------------------------------------

def example(bench, name, upstream):
    """Its configuration, with places that are free here."""
    config = sample(f"etc/examples/{name}.json")
    config.update(listen=["127.0.0.1:0"], admin={"listen": "127.0.0.1:0"},
                  state_dir=bench.folder(), store={"redis": bench.redis.url})
    payments = config["upstreams"]["payments"]
    if isinstance(payments, str):
        config["upstreams"]["payments"] = upstream.url
    else:
        payments["targets"] = [upstream.url]
    return config


@test
def an_api_like_stripes_answers_as_its_clients_expect(bench):
    upstream = bench.upstream(answer(500, b"{}"))
    gateway = bench.serve(example(bench, "stripe", upstream))
    for replayed in (False, True):  # 500 is an answer
        got = gateway.ask("k")
        equal((got.status, got.replayed), (500, replayed))
    got = gateway.ask("k", body=b"another")
    equal((got.status, got.json()["error"]["type"]),
          (400, "idempotency_error"))
    equal(gateway.ask().status, 500)  # no key, just paid
    equal(upstream.count(), 2)
    said = gateway.send(http.build("GET", "/.well-known/idempotency")).json()
    equal((said["outcomes"]["409"], said["status_path"]),
          ("release", "/idempotency/{key}"))
    told = gateway.send(http.build("GET", "/idempotency/k", [
        ("Authorization", http.TENANT)]))
    equal(told.status, 200)


@test
def two_tenants_pay_with_the_same_key(bench):
    api = bench.process(PaymentApi())
    config = example(bench, "tenants", api)
    scope, = config["routes"][0]["idempotency"]["scope"]
    issuer = Key(bench.folder(), "EdDSA", "now")
    scope["keys"] = os.path.join(bench.folder(), "keys")
    write_keys(scope["keys"], issuer)
    gateway = bench.serve(config)

    def pay(shop, more):
        token = issuer.token({"sub": shop, "iss": scope["issuer"],
                              "aud": scope["audience"],
                              "exp": int(time.time()) + 600 + more})
        got = gateway.ask("order-17", tenant=f"Bearer {token}")
        return got.json()["id"], got.replayed
    equal([pay("shop-a", 0), pay("shop-b", 0), pay("shop-a", 1),
           pay("shop-b", 1)],
          [("ch_1", False), ("ch_2", False), ("ch_1", True), ("ch_2", True)])
    equal(gateway.ask("order-17", tenant="Bearer a.b.c").problem,
          "token-invalid")


def with_token(config, source_name):
    headers = config["sources"][source_name]["request"]["headers"]
    headers["Authorization"] = "Bearer " + "7" * 64
    return config


@test
def a_row_of_an_outbox_is_paid_once(bench):
    if not programs() or is_without("postgres"):
        raise Skip("there is no PostgreSQL, or the program was built without")
    upstream = bench.upstream()
    outbox = Outbox(bench.postgres_for_all)
    config = with_token(example(bench, "outbox", upstream), "outbox")
    config["brokers"]["shop"] = {"postgres": outbox.postgres.url}
    gateway = bench.serve(config)
    outbox.add({"amount": 1000})
    gateway.wait_for_log("message", outcome="executed")
    eventually(lambda: outbox.unread() == [], "the row is gone")
    request, = upstream.requests
    equal((request.target, json.loads(request.body)),
          ("/v1/charges", {"amount": 1000}))


@test
def an_order_that_comes_again_has_the_first_ones_result(bench):
    need_reader()
    upstream = bench.upstream()
    kafka = bench.mock_kafka()
    for topic in ("orders", "orders.done", "orders.dead"):
        kafka.topic(topic)
    config = with_token(example(bench, "kafka", upstream), "orders")
    config["brokers"]["events"] = {"kafka": kafka.addresses}
    gateway = bench.serve(config)
    for outcome in ("executed", "duplicate"):
        kafka.produce("orders", b'{"order_id": "17"}', key=b"a7")
        gateway.wait_for_log("message", outcome=outcome, timeout=30)
    equal(upstream.count(), 1)


tap.main()
