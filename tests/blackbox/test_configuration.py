# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3: what the file may say, and how errors are shown."""

import copy
import json
import os
import pwd
import re
import subprocess

from once import http, tap
from once.gateway import command, program, without_places, write
from once.tap import each, equal, test

GOOD = {
    "listen": ["127.0.0.1:0"],
    "store": {"redis": "redis://127.0.0.1:6379/0"},
    "upstreams": {"payments": "http://127.0.0.1:9000"},
    "routes": [
        {"name": "charges", "methods": ["POST"], "path": "/v1/charges",
         "upstream": "payments", "idempotency": {}},
        {"name": "rest", "path": "/*", "upstream": "payments"},
    ],
}
GONE = object()


def changed(*changes):
    """GOOD with changes: each is (pointer, value), where GONE removes."""
    config = copy.deepcopy(GOOD)
    for pointer, value in changes:
        *way, last = [int(p) if p.isdigit() else p
                      for p in pointer.split("/")[1:]]
        place = config
        for step in way:
            if isinstance(place, dict):
                place = place.setdefault(step, {})
            else:
                place = place[step]
        if value is GONE:
            del place[last]
        else:
            place[last] = value
    return config


def check(bench, config, **env):
    """Exit status, and the errors as (pointer, message)."""
    file = os.path.join(bench.folder(), "onceproxy.json")
    write(file, config)
    done = command("check", "-c", file, env=env)
    lines = without_places(done.stdout, file).splitlines()
    for line in lines:
        assert line.startswith(file + ": "), line
    rest = [line[len(file) + 2:] for line in lines
            if not line.startswith(f"{file}: warning: ")]
    if done.returncode == 0:
        equal(rest, ["ok"])
        return 0, []
    return done.returncode, [tuple(line.split(": ", 1)) for line in rest]


@each([
    ("the shortest file", []),
    ("an upstream as an object",
     [("/upstreams/payments",
       {"targets": ["http://a:1", "https://b"], "connect_timeout": "2s",
        "timeout": "30s", "keepalive": 64, "reuse": "never",
        "max_idle": "4s", "close_delimited": True, "host": "target",
        "forwarded": "trust"})]),
    ("addresses of all kinds",
     [("/listen", ["0.0.0.0:8080", "[::1]:8080", "unix:/run/x",
                   {"address": "127.0.0.1:0"}])]),
    ("durations of all units",
     [("/drain_timeout", "250ms"), ("/routes/0/idempotency/lease", "5m"),
      ("/routes/0/idempotency/retention", "24h"),
      ("/routes/0/idempotency/unknown_retention", "30d")]),
    ("sizes in units and in bytes",
     [("/limits", {"in_flight_bytes": "256MiB", "request_headers": 32768}),
      ("/routes/0/idempotency/max_request_body", "64KiB")]),
    ("a cache that is switched off", [("/cache", {"size": 0})]),
    ("workers as many as processors", [("/workers", 0)]),
    ("every member of idempotency",
     [("/routes/0/idempotency",
       {"header": ["Idempotency-Key", "PayPal-Request-Id"], "required": False,
        "derive_key": ["/order_id", "/action"], "key_format": "uuid",
        "max_length": 64, "scope": ["Authorization", "X-Tenant"],
        "namespace": "eu",
        "fingerprint": {"include": ["method", "body"],
                        "headers": ["Content-Type"], "json": True,
                        "ignore": ["/sent_at"]},
        "retention": "24h", "unknown_retention": "30d", "lease": "15s",
        "in_flight": "wait", "wait_timeout": "10s",
        "outcomes": {"503": "store", "5xx": "unknown"},
        "on_unknown": {"reconcile": "/v1/charges/by-key/{key}"},
        "send_derived": True,
        "max_attempts": 5, "on_store_down": "forward",
        "max_request_body": "1MiB", "max_response_body": "1MiB",
        "omit_headers": ["Server"], "replay_header": "",
        "attempt_header": ""})]),
    ("defaults", [("/defaults", {"lease": "5s"})]),
    ("a store over Unix", [("/store/redis", "unix:/run/redis?db=3")]),
    ("a store with a user",
     [("/store/redis", "redis://me:word@10.0.0.1:6379/2")]),
    ("a cluster", [("/store", {"cluster": ["a:1", "b:2"]})]),
    ("sentinels", [("/store", {"sentinels": ["a:1"], "master": "m"})]),
    ("no store at all", [("/store", GONE)]),
    ("an administrator on loopback",
     [("/admin", {"listen": "127.0.0.1:9090"})]),
    ("one scope for all, said on purpose",
     [("/routes/0/idempotency/scope", [])]),
])
def check_takes(bench, changes):
    equal(check(bench, changed(*changes)), (0, []))


BAD = [
    ("an unknown member", "/colour", [("/colour", 1)]),
    ("an unknown member of an upstream", "/upstreams/payments/colour",
     [("/upstreams/payments",
       {"targets": ["http://a:1"], "colour": 1})]),
    ("a wrong type", "/workers", [("/workers", "two")]),
    ("a duration with a fraction", "/drain_timeout",
     [("/drain_timeout", "1.5s")]),
    ("a negative duration", "/drain_timeout", [("/drain_timeout", "-1s")]),
    ("a duration beyond all bounds", "/drain_timeout",
     [("/drain_timeout", "99999999999999999999d")]),
    ("a size of nothing", "/limits/in_flight_bytes",
     [("/limits", {"in_flight_bytes": 0})]),
    ("a negative count", "/limits/connections",
     [("/limits", {"connections": -1})]),
    ("an empty listen", "/listen", [("/listen", [])]),
    ("no upstreams", "/", [("/upstreams", GONE),
                           ("/routes", [])]),
    ("no routes", "/", [("/routes", GONE)]),
    ("a pointer that is none", "/routes/0/idempotency/fingerprint/ignore/0",
     [("/routes/0/idempotency/fingerprint", {"ignore": ["a"]})]),
    ("a field name that is none", "/routes/0/idempotency/scope/0",
     [("/routes/0/idempotency/scope", ["X Y"])]),
    ("an encryption key that is too short", "/store/encryption_keys/0/key",
     [("/store/encryption_keys", [{"id": "a", "key": "QUJD"}])]),
    ("a file that is not there", "/problem_base",
     [("/problem_base", {"file": "/nowhere/secret"})]),
    ("bad defaults", "/defaults/lease", [("/defaults", {"lease": "soon"})]),
]


@each(BAD)
def check_refuses(bench, pointer, changes):
    status, errors = check(bench, changed(*changes))
    equal(status, 1)
    assert pointer in [p for p, _ in errors], errors
    assert all(words for _, words in errors), errors


POLICY = "/routes/0/idempotency"


@test
def a_scope_that_the_gateway_removes_or_writes_is_refused(bench):
    """Such a field is the gateway's word, or nobody's: it names no tenant."""
    names = ["Connection", "Keep-Alive", "Proxy-Authorization", "TE", "Host",
             "Content-Length", "X-Forwarded-For", "X-Forwarded-Host",
             "x-forwarded-proto", "X-Forwarded-Port", "Via", "X-Request-Id",
             "X_Request_Id", "X_Forwarded_Host"]
    status, errors = check(bench, changed(
        (POLICY + "/scope", ["Authorization", *names])))
    equal(status, 1)
    equal([pointer for pointer, _ in errors],
          [f"{POLICY}/scope/{n + 1}" for n in range(len(names))])
    # Those of defaults are said where they stand, once.
    status, errors = check(bench, changed(("/defaults/scope", ["Via"])))
    equal([pointer for pointer, _ in errors], ["/defaults/scope/0"])
    equal(check(bench, changed((POLICY + "/scope", [
        "X-Account", "Forwarded", "Cookie", "X_Shop"]))), (0, []))


@test
def a_scope_that_is_dropped_is_refused_unless_the_upstream_is_trusted(bench):
    change = (POLICY + "/scope", ["X-Original-URL"])
    status, errors = check(bench, changed(change))
    equal((status, [pointer for pointer, _ in errors]),
          (1, [POLICY + "/scope/0"]))
    equal(check(bench, changed(change, ("/upstreams/payments", {
        "targets": ["http://127.0.0.1:9000"], "trust_overrides": True}))),
        (0, []))


@test
def an_unknown_upstream_is_said_in_these_words(bench):
    equal(check(bench, changed(("/routes/1/name", GONE),
                               ("/routes/1/upstream", "x"))),
          (1, [("/routes/1/upstream",
                'no upstream is named "x"; did you mean "payments"?')]))


@test
def all_errors_come_in_one_go(bench):
    status, errors = check(bench, changed(
        ("/colour", 1), ("/workers", "two"), ("/drain_timeout", "soon"),
        ("/routes/0/upstream", "x"), ("/routes/1/path", GONE)))
    equal(status, 1)
    equal(sorted(p for p, _ in errors),
          ["/colour", "/drain_timeout", "/routes/0/upstream", "/routes/1",
           "/workers"])


@test
def a_syntax_error_has_line_and_column(bench):
    file = bench.file(b'{\n  "listen": ["a:1"],\n  oops\n}\n')
    done = command("check", "-c", file)
    equal((done.returncode, done.stdout.count("\n")), (1, 1))
    assert done.stdout.startswith(f"{file}:3:3: "), done.stdout


@test
def a_duplicate_member_is_an_error(bench):
    text = json.dumps(GOOD)[:-1] + ', "workers": 1, "workers": 2}'
    status, errors = check(bench, text)
    equal(status, 1)
    assert "workers" in " ".join(errors[0]), errors


@each([("an empty file", ""), ("a list", "[]"), ("a string", '"x"'),
       ("junk behind the object", json.dumps(GOOD) + "x"),
       ("bytes that are no text", '{"listen": "\\ud800"}')])
def a_file_that_is_no_object_is_refused(bench, text):
    equal(check(bench, text)[0], 1)


@test
def strings_may_come_from_the_environment_and_from_files(bench):
    secret = bench.file(b"urn:of-a-file:\n")
    for where, base in (({"env": "ONCE_BASE"}, "urn:of-the-env:"),
                        ({"file": secret}, "urn:of-a-file:")):
        upstream = bench.upstream()
        gateway = bench.gateway(upstream, problem_base=where,
                                env={"ONCE_BASE": "urn:of-the-env:"})
        equal(gateway.ask(None).json()["type"], base + "key-missing")


@test
def only_one_newline_of_a_file_is_dropped(bench):
    where = {"file": bench.file(b"urn:x:\n\n")}
    status, errors = check(bench, changed(("/problem_base", where)))
    equal((status, [p for p, _ in errors]), (1, ["/problem_base"]))
    where = {"file": bench.file(b"urn:x:\n")}
    equal(check(bench, changed(("/problem_base", where)))[0], 0)


@each([("an editor of Windows", b"s3cret\r\n", False),
       ("a newline", b"s3cret\n", True), ("nothing", b"s3cret", True),
       ("a CR that is meant", b"s3cret\r", True),
       ("many lines of Windows", b"one\r\ntwo\r\n", True)])
def a_secret_of_a_file_that_ends_as_by(bench, end, valid):
    """Its CR would be of the password, and nobody sees why that is wrong."""
    name = bench.file(end)
    code, errors = check(bench, changed(("/store/secret", {"file": name})))
    equal((code, [pointer for pointer, _ in errors]),
          (0, []) if valid else (1, ["/store/secret"]))
    assert valid or f"{name} ends with CR LF" in errors[0][1], errors


@test
def of_a_file_that_may_not_be_read_it_is_said_who_may_not(bench):
    secret = bench.file(b"secret")
    os.chmod(secret, 0)
    config = os.path.join(bench.folder(), "onceproxy.json")
    write(config, changed(
        ("/store/password", {"file": secret}),
        ("/routes/0/idempotency/scope", [{"jwt": "sub", "keys": secret}])))
    # Root may read all, unless it is taken away.
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    done = subprocess.run(
        [*(without if os.geteuid() == 0 else []), program(), "check", "-c",
         config], capture_output=True, text=True, check=False)
    user = pwd.getpwuid(os.geteuid()).pw_name
    equal((done.returncode, without_places(done.stdout, config)),
          (1, "".join(f"{config}: {place}{secret} cannot be read: "
                      f"Permission denied (to the user {user})\n"
                      for place in ("/store/password: ",
                                    "/routes/0/idempotency/scope/0/keys: "
                                    'route "charges": '))),
          done.stderr)


@test
def the_short_form_of_an_upstream_works(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["upstreams"] = {"api": upstream.url}
    equal(bench.serve(config).ask("pay-1").status, 201)


@test
def defaults_hold_for_every_route_and_routes_differ_from_them(bench):
    upstream = bench.upstream()
    config = bench.config(upstream, defaults={"header": "X-Key",
                                              "scope": []})
    config["routes"].insert(0, {
        "path": "/own", "upstream": "api",
        "idempotency": {"header": "Y-Key"}})
    gateway = bench.serve(config)
    for target, name in (("/v1/charges", "X-Key"), ("/own", "Y-Key")):
        for replayed in (False, True):
            got = gateway.ask(fields=[(name, target)], target=target,
                              tenant=None)
            equal((got.status, got.replayed), (201, replayed))


@test
def an_idempotent_route_without_methods_serves_those_that_change_something(
        bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    del config["routes"][0]["methods"]
    gateway = bench.serve(config)
    with gateway.client() as client:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            got = client.exchange(method, "/v1/charges", fields=[
                ("Authorization", "Bearer t")], body=b"{}")
            equal((method, got.status, got.problem),
                  (method, 400, "key-missing"))
        for method in ("GET", "HEAD", "OPTIONS"):
            equal(client.exchange(method, "/v1/charges").status, 201)
    equal(upstream.count(), 3)
    config["routes"] = config["routes"][:1]
    gateway = bench.serve(config)
    equal(gateway.send(http.build("GET", "/v1/charges")).problem,
          "no-route")


@test
def a_pass_through_route_without_methods_serves_all(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["routes"] = [{"path": "/*", "upstream": "api"}]
    gateway = bench.serve(config)
    with gateway.client() as client:
        for method in ("GET", "POST", "DELETE", "PROPFIND"):
            equal(client.exchange(method, "/x").status, 201)
    equal(upstream.count(), 4)


@test
def methods_may_be_the_name_of_one(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["routes"][0]["methods"] = "PUT"
    config["routes"] = config["routes"][:1]
    gateway = bench.serve(config)
    equal(gateway.ask("k").problem, "no-route")
    equal(gateway.ask("k", method="PUT").status, 201)
    config["routes"][0]["methods"] = "put"
    equal(check(bench, config),
          (1, [("/routes/0/methods",
                'route "charges": must be in upper case; '
                'did you mean "PUT"?')]))


@each([("the package", "etc/onceproxy.json"),
       ("the container", "contrib/container/onceproxy.json")])
def a_sample_that_is_shipped_is_good_and_its_comments_teach(bench, name):
    sample = os.path.join(os.environ.get("top_srcdir", "."), name)
    done = command("check", "-c", sample,
                   env={"ONCEPROXY_ADMIN_TOKEN": "0" * 64})
    said = done.stdout.splitlines()
    equal((done.returncode, said[-1]), (0, f"{sample}: ok"))
    # What listens on all addresses of a container has no TLS of its own.
    assert all("/listen/0" in line for line in said[:-1]), said
    with open(sample, encoding="utf-8") as file:
        text = file.read()
    equal([member for member in json.loads(re.sub("//[^\n]*", "", re.sub(
               '"[a-z]+://', '"', text)))
           if not re.search(rf'//[^\n]*\n  "{member}"', text)], [])


tap.main()
