# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3: scopes that a new password or certificate does not
change, and that no other tenant has."""

import base64
import hashlib
import json
import os
import signal
import ssl
import subprocess

from once import tap
from once.certificates import NEW_KEY, Authority, Certificate, openssl
from once.gateway import command
from once.http import ask, keyed
from once.tap import each, equal, test


def basic(user, password, scheme="Basic"):
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return f"{scheme} {token}"


def admin(bench):
    return {"listen": "unix:" + os.path.join(bench.folder(), "admin")}


def idempotent(bench, scope, path="/v1/charges", **members):
    upstream = bench.upstream()
    routes = [{"path": path, "methods": ["POST"], "upstream": "api",
               "idempotency": {"scope": scope, **members}}]
    return upstream, bench.serve(bench.config(upstream, routes=routes))


def replayed(gateway, *args, **kwargs):
    got = gateway.ask(*args, **kwargs)
    equal(got.status, 201)
    return got.replayed


# --- HTTP Basic ---

@test
def a_new_password_keeps_the_keys_of_its_user(bench):
    upstream, gateway = idempotent(bench, [{"basic": "user"}])
    assert not replayed(gateway, "k", tenant=basic("shop", "old"))
    for tenant in (basic("shop", "new"), basic("shop", ""),
                   basic("shop", "a:b"), basic("shop", "old", "basic"),
                   basic("shop", "old", "BASIC  ")):
        assert replayed(gateway, "k", tenant=tenant), tenant
    for user in ("Shop", "sho", "shop ", "shop\u00e9", "old"):
        assert not replayed(gateway, "k", tenant=basic(user, "old")), user
    equal(upstream.count(), 6)
    equal(upstream.requests[0].get("Authorization"), basic("shop", "old"))


@each([("no credentials", None), ("a bearer token", "Bearer abc"),
       ("no user", basic("", "secret"))])
def nobody_is_named_by(bench, tenant):
    upstream, gateway = idempotent(bench, [{"basic": "user"}])
    got = gateway.ask("k", tenant=tenant)
    equal((got.status, got.problem), (400, "scope-missing"))
    equal(upstream.count(), 0)


@each([("a header", ["X-Tenant"], "the header X-Tenant"),
       ("a user", [{"basic": "user"}], "the user of Basic authorization"),
       ("three", ["X-A", {"basic": "user"}, "X-B"],
        "the header X-A, the user of Basic authorization or the header X-B")])
def who_names_no_tenant_is_told_how(bench, scope, words):
    _, gateway = idempotent(bench, scope)
    got = gateway.ask("k", tenant=None)
    equal((got.status, got.problem), (400, "scope-missing"))
    assert f"whose key it is, by {words}; " in got.json()["detail"], got.raw


@each([("nothing at all", "Basic"), ("no colon", "Basic YWJj"),
       ("no padding", "Basic YTpiYg"), ("another padding", "Basic YTpi="),
       ("bits that are left", "Basic YTpiYn=="),
       ("another alphabet", "Basic Pz8_Og=="),
       ("a blank inside", "Basic YT piYg=="),
       ("a tab", "Basic\tYTpiYg=="), ("two of them", "Basic YTpi, Basic YTpi"),
       ("a comma", "Basic,YTpi"), ("a line break", "Basic YQo6Yg=="),
       ("a NUL", "Basic YQA6Yg==")])
def credentials_that_others_could_read_otherwise_are_refused(bench, tenant):
    """Also where another scope has a value: the upstream could see a user
    where the gateway sees none, and all such users would be one."""
    upstream, gateway = idempotent(bench, [{"basic": "user"}, "X-Tenant"])
    got = gateway.ask("k", tenant=tenant, fields=[("X-Tenant", "a")])
    equal((got.status, got.problem), (400, "scope-missing"))
    equal(upstream.count(), 0)


@test
def two_lines_of_authorization_are_refused(bench):
    upstream, gateway = idempotent(bench, [{"basic": "user"}])
    got = gateway.ask("k", tenant=basic("a", "b"),
                      fields=[("authorization", basic("c", "d"))])
    equal((got.status, got.problem), (400, "bad-request"))
    got = gateway.ask("k", tenant=basic("a", "b"),
                      fields=[("Connection", "Authorization")])
    equal((got.status, got.problem), (400, "bad-request"))
    equal(upstream.count(), 0)


# --- nobody ---

@test
def who_names_no_tenant_may_be_passed_on_to_hear_it_from_the_api(bench):
    upstream, gateway = idempotent(
        bench, [{"basic": "user"}], scope_missing="forward")
    for _ in range(2):
        got = gateway.ask("k", tenant=None)
        equal((got.status, got.replayed), (201, False))
    equal(upstream.count(), 2)
    equal(upstream.requests[1].get("Idempotency-Key"), "k")
    equal(upstream.requests[1].get("Idempotency-Attempt"), None)
    gateway.wait_for_log("request", outcome="passed", status=201)
    got = gateway.ask(None, tenant=None)
    equal((got.status, got.problem), (400, "key-missing"))
    got = gateway.ask("k", tenant="Basic YTpiYg")
    equal((got.status, got.problem), (400, "scope-missing"))
    equal(upstream.count(), 2)


@test
def a_derived_key_of_nobody_is_passed_on_whole(bench):
    upstream, gateway = idempotent(
        bench, ["X-Tenant"], scope_missing="forward", derive_key="body",
        send_derived=True)
    body = b"x" * 200_000
    equal(gateway.ask(None, body=body).status, 201)
    equal(upstream.requests[0].body, body)
    equal(upstream.requests[0].get("Idempotency-Key"), None)


# --- a variable of the path ---

@test
def an_account_in_the_path_names_the_tenant(bench):
    upstream, gateway = idempotent(
        bench, [{"path": "account"}], "/v1/{account}/charges",
        fingerprint={"include": ["body"]})

    def seen(account, tenant):
        return replayed(gateway, "k", target=f"/v1/{account}/charges",
                        tenant=tenant)
    assert not seen("alice", "Bearer 1")
    assert seen("alice", "Bearer 2")
    assert seen("al%69ce", None)
    assert not seen("Alice", None)
    assert not seen("bob", "Bearer 1")
    equal(upstream.count(), 3)


# --- certificates ---

class Mutual:
    """A gateway that demands certificates of its clients."""

    def __init__(self, bench, part):
        self.authority = Authority(bench.folder(), "shops")
        own = Authority(bench.folder())
        server = own.issue("localhost")
        self.own = own
        self.upstream = bench.upstream()
        self.gateway = bench.serve(bench.config(
            self.upstream, admin=admin(bench),
            listen=[{"address": "127.0.0.1:0", "tls": {
                "certificate": server.file, "key": server.key,
                "client_ca": self.authority.file}}, "127.0.0.1:0"],
            routes=[{"path": "/v1/charges", "upstream": "api",
                     "methods": ["POST"],
                     "idempotency": {"scope": [{"certificate": part}]}}]))

    def ask(self, certificate):
        context = self.own.client(certificate)
        with self.gateway.client(tls=context) as client:
            seen = []
            for _ in range(2):
                client.send(keyed("k", tenant=None))
                got = client.read()
                equal(got.status, 201)
                seen.append(got.replayed)
            assert seen[1]
            return seen[0]


@each([("a subject, which it keeps", "subject", True),
       ("a fingerprint, which it does not", "fingerprint", False)])
def a_renewed_certificate_has(bench, part, kept):
    mutual = Mutual(bench, part)
    first = mutual.authority.issue("alice")
    renewed = mutual.authority.issue("alice")
    assert not mutual.ask(first)
    assert mutual.ask(first)
    equal(mutual.ask(renewed), kept)
    assert not mutual.ask(mutual.authority.issue("bob"))
    got = ask(mutual.gateway.addresses[1], keyed("k"))
    equal((got.status, got.problem), (400, "scope-missing"))


# --- for operators ---

def shown(gateway, *scope):
    words = [w for s in scope for w in ("--scope", s)]
    done = command("keys", "show", "-c", gateway.file, "--key", "k", *words,
                   "--json")
    return done.returncode, (json.loads(done.stdout) if done.stdout else
                             done.stderr)


@test
def operators_name_such_a_scope_by_hand(bench):
    upstream = bench.upstream()
    gateway = bench.serve(bench.config(
        upstream, admin=admin(bench),
        routes=[{"path": "/v1/{account}/charges", "upstream": "api",
                 "methods": ["POST"], "idempotency": {"scope": [
                     {"basic": "user"}, {"path": "account"}]}}]))
    gateway.ask("k", target="/v1/a1/charges", tenant=basic("shop", "x"))
    code, record = shown(gateway, "basic.user: shop", "path.account: a1")
    equal((code, record["state"]), (0, "COMPLETED"))
    code, _ = shown(gateway, "basic.user: shop", "path.account: a2")
    equal(code, 1)
    code, said = shown(gateway, "Authorization: shop")
    assert code == 1 and "basic.user" in said, said


@each([("subject", lambda der: "CN=alice"),
       ("fingerprint", lambda der: hashlib.sha256(der).hexdigest())])
def operators_name_by_hand_a_certificates(bench, value_of):
    """The part is named as other programs write it."""
    part = "subject" if value_of(b"") == "CN=alice" else "fingerprint"
    mutual = Mutual(bench, part)
    alice = mutual.authority.issue("alice")
    mutual.ask(alice)
    with open(alice.file, encoding="ascii") as file:
        pem = file.read()
    der = ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN"):])
    code, record = shown(
        mutual.gateway, f"certificate.{part}: {value_of(der)}")
    equal((code, record["state"]), (0, "COMPLETED"))


@test
def a_subject_of_many_parts_is_named_as_openssl_prints_it(bench):
    """By the command of the manual."""
    mutual = Mutual(bench, "subject")
    own = os.path.join(mutual.authority.folder, "carol")
    openssl("req", "-x509", *NEW_KEY, "-days", "2", "-utf8", "-subj",
            "/C=DE/O=Carol, Ltd/OU=Zahlung é/CN=carol", "-keyout",
            own + ".key", "-out", own + ".pem")
    # Whoever has issued itself is believed where it is an authority.
    with open(mutual.authority.file, "a", encoding="ascii") as authorities:
        with open(own + ".pem", encoding="ascii") as file:
            authorities.write(file.read())
    mutual.gateway.signal(signal.SIGHUP)
    mutual.gateway.wait_for_log("reloaded")
    mutual.ask(Certificate(own + ".pem", own + ".key"))
    line = subprocess.run(
        ["openssl", "x509", "-noout", "-subject", "-nameopt",
         "RFC2253,-esc_msb", "-in", own + ".pem"],
        capture_output=True, text=True, check=True).stdout.strip()
    equal(line, "subject=CN=carol,OU=Zahlung é,O=Carol\\, Ltd,C=DE")
    code, record = shown(mutual.gateway, "certificate.subject: "
                         + line.partition("=")[2])
    equal((code, record["state"]), (0, "COMPLETED"))


# --- check ---

@each([
    ("two kinds", [{"basic": "user", "path": "x"}],
     "must have exactly one of"),
    ("no kind", [{}], "must have exactly one of"),
    ("twice", [{"basic": "user"}, {"basic": "user"}], "appears twice"),
    ("not the user", [{"basic": "password"}], 'must be "user"'),
    ("no such variable", [{"path": "account"}],
     "the path of the route has no {account}"),
    ("no certificates", [{"certificate": "subject"}], "tls.client_ca"),
    ("a part of one", [{"certificate": "serial"}],
     'must be "fingerprint" or "subject"'),
    ("a number", [7], "must be the name of a header, or an object")])
def check_refuses(bench, scope, words):
    config = {"listen": ["127.0.0.1:0"],
              "upstreams": {"api": "http://127.0.0.1:9"},
              "routes": [{"path": "/", "upstream": "api",
                          "idempotency": {"scope": scope}}]}
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(done.returncode, 1)
    assert "/routes/0/idempotency/scope" in done.stdout, done.stdout
    assert words in done.stdout, done.stdout


@test
def a_source_of_a_route_of_certificates_is_told_the_way_out(bench):
    authority = Authority(bench.folder())
    own = authority.issue("gate")
    config = {"listen": [{"address": "127.0.0.1:0", "tls": {
                  "certificate": own.file, "key": own.key,
                  "client_ca": authority.file}}],
              "upstreams": {"api": "http://127.0.0.1:9"},
              "routes": [{"path": "/", "upstream": "api", "idempotency": {
                  "scope": [{"certificate": "subject"}]}}],
              "brokers": {"q": {"redis": "redis://127.0.0.1:9"}},
              "sources": {"s": {"broker": "q", "stream": "s",
                                "request": {"path": "/"}}}}
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(done.returncode, 1)
    line, = done.stdout.splitlines()
    assert "/sources/s/request/path: " in line, line
    assert "give messages a route of their own, with another" in line, line


tap.main()
