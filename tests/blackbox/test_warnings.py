# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: what `check` warns of, --strict, and --against."""

import json
import os
import signal

from once import tap
from once.certificates import Authority
from once.gateway import command, write
from once.tap import each, equal, test
from once.tokens import Key, write_keys

POLICY = "/routes/0/idempotency"


def least(**idempotency):
    return {"listen": ["127.0.0.1:0"],
            "upstreams": {"api": "http://127.0.0.1:9"},
            "routes": [{"name": "charges", "methods": ["POST"],
                        "path": "/v1/charges", "upstream": "api",
                        "idempotency": idempotency},
                       {"path": "/*", "upstream": "api"}]}


def with_mode(mode):
    config = least()
    config["routes"][0]["mode"] = mode
    return config


def with_path(path):
    config = least()
    config["routes"][0]["path"] = path
    return config


def with_methods(*methods):
    config = least()
    config["routes"][0]["methods"] = list(methods)
    return config


def behind(path, methods=("GET",), **own):
    """A route with paths of the gateway's own behind a route of GET."""
    config = least()
    config["routes"][0].update(own)
    config["routes"].insert(0, {"name": "all", "methods": list(methods),
                                "path": path, "upstream": "api"})
    return config


def check(bench, config, *args):
    """Exit status; warnings as (pointer, words); whether it said "ok"."""
    file = os.path.join(bench.folder(), "onceproxy.json")
    write(file, config)
    done = command("check", "-c", file, "--json", *args)
    plain = command("check", "-c", file, *args)
    equal((plain.returncode, plain.stderr), (done.returncode, ""))
    found = json.loads(done.stdout)
    equal(found["errors"], [], found)
    lines = [f"{file}:{w['line']}:{w['column']}: warning: {w['pointer']}: "
             f"{w['words']}" for w in found["warnings"]]
    said = plain.stdout.splitlines()
    well = said[-1] == f"{file}: ok"
    equal(said[:-1] if well else said, lines)
    return done.returncode, [(w["pointer"], w["words"])
                             for w in found["warnings"]], well


def certified(bench, days):
    """A configuration whose listener has a certificate of these days."""
    own = Authority(bench.folder()).issue("gate", days=days)
    return {**least(), "listen": [{"address": "127.0.0.1:0", "tls": {
        "certificate": own.file, "key": own.key}}]}


def keys_of(bench):
    """A file with what verifies tokens."""
    folder = bench.folder()
    file = os.path.join(folder, "keys.json")
    write_keys(file, Key(folder, "HS256", "one"))
    return file



def at_path(config, path):
    config["routes"][0]["path"] = path
    return config


WARNINGS = [
    ("on_unknown: retry", lambda bench: least(on_unknown="retry"),
     POLICY + "/on_unknown", "twice"),
    ("on_store_down: forward", lambda bench: least(on_store_down="forward"),
     POLICY + "/on_store_down", "without the promise"),
    ("one scope for all", lambda bench: least(scope=[]),
     POLICY + "/scope", "share one scope"),
    ("a fingerprint of nothing",
     lambda bench: least(fingerprint={"include": []}),
     POLICY + "/fingerprint/include", "no part of a request"),
    ("a fingerprint of what each retry has anew",
     lambda bench: least(fingerprint={"headers": ["X-A", "DATE"]}),
     POLICY + "/fingerprint/headers", "taken for another request"),
    ("an entity of all values of its namespace", lambda bench: at_path(
        least(entity=["/id"], serialize=True, namespace="of/{merchant}"),
        "/{merchant}/x"),
     POLICY + "/entity", 'put {"path": "merchant"} into "scope"'),
    ("a short memory of the unknown",
     lambda bench: least(unknown_retention="59m"),
     POLICY + "/unknown_retention", "executed again"),
    ("payments that are not remembered",
     lambda bench: least(outcomes={"2xx": "release"}),
     POLICY + "/outcomes", "executed again"),
    ("a fingerprint without a body",
     lambda bench: least(fingerprint={"include": ["path"]}),
     POLICY + "/fingerprint/include", "the body is not compared"),
    ("a part that is not compared elsewhere, either", lambda bench: {
        **least(fingerprint={"include": ["path"]}),
        "defaults": {"fingerprint": {"ignore": ["/at"]}}},
     POLICY + "/fingerprint/include", "the body is not compared"),
    ("a session for a tenant", lambda bench: least(scope=["cookie"]),
     POLICY + "/scope", "change, at each login"),
    ("a token for a tenant, of clients who renew it", lambda bench: {
        **least(), "routes": [*least()["routes"], {
            "path": "/b", "upstream": "api", "methods": ["PUT"],
            "idempotency": {"scope": [
                {"jwt": "sub", "keys": keys_of(bench)}]}}][::2]},
     POLICY, "clients renew their tokens"),
    ("a lease that ends while it is renewed", lambda bench: {
        **least(lease="400ms"), "store": {"timeout": "401ms"}},
     POLICY + "/lease", "its renewal may take 401ms"),
    ("a preflight that needs a key",
     lambda bench: with_methods("POST", "OPTIONS"),
     "/routes/0/methods/1", "before it sends a request from another site"),
    ("answers in doubt that are not remembered",
     lambda bench: least(outcomes={"5xx": "release", "502": "unknown"}),
     POLICY + "/outcomes", "before it answers 500, 502 or 504"),
    ("a gateway's timeout that is forgotten",
     lambda bench: least(outcomes={"504": "forget"}),
     POLICY + "/outcomes", "the retry is executed"),
    ("a key that each sending has anew",
     lambda bench: least(header=["Idempotency-Key", "x-request-id"]),
     POLICY + "/header", "name the header of a key"),
    ("a key that all payments have",
     lambda bench: least(header="User-Agent"),
     POLICY + "/header", "is answered as a retry"),
    ("a scope that all tenants have",
     lambda bench: least(scope=["content-type"]),
     POLICY + "/scope", "shows one client another's answer"),
    ("a claim that all tenants have", lambda bench: least(scope=[
        {"jwt": "aud", "keys": keys_of(bench)}]),
     POLICY + "/scope", "whoever sends another's key gets another's answer"),
    ("a claim that a renewed token has anew", lambda bench: least(scope=[
        {"jwt": "jti", "keys": keys_of(bench)}]),
     POLICY + "/scope", "a retry with it is executed again"),
    ("a key of the whole body where a part does not count",
     lambda bench: least(derive_key="body",
                         fingerprint={"ignore": ["/sent_at"]}),
     POLICY + "/fingerprint/ignore", "the retry is executed"),
    ("a key of the whole body where some parts count",
     lambda bench: least(derive_key="body", fingerprint={"only": ["/id"]}),
     POLICY + "/fingerprint/only", "the retry is executed"),
    ("a key of the whole body that is compared by value",
     lambda bench: least(derive_key="body", fingerprint={"json": True}),
     POLICY + "/fingerprint/json", "the retry is executed"),
    ("an API that is ill taken for one that knows",
     lambda bench: least(on_unknown={"reconcile": {
         "path": "/by/{key}", "absent": [404, 503]}}),
     POLICY + "/on_unknown/reconcile/absent", "503 may say"),
    ("an API that knows nobody taken for one that knows",
     lambda bench: least(on_unknown={"reconcile": {
         "path": "/by/{key}", "absent": [401]}}),
     POLICY + "/on_unknown/reconcile/absent", "401 may say"),
    ("a payment that is found and told as refused",
     lambda bench: least(on_unknown={"reconcile": {
         "path": "/by/{key}", "absent": [404], "status": 404}}),
     POLICY + "/on_unknown/reconcile/status", "say 200 or 201"),
    ("an answer without what its body is",
     lambda bench: least(omit_headers=["Server", "content-encoding"]),
     POLICY + "/omit_headers", "cannot be read"),
    ("a mark in the place of a header",
     lambda bench: least(replay_header="Content-Type"),
     POLICY + "/replay_header", "name one that no answer has"),
    ("who names no tenant", lambda bench: least(scope_missing="forward"),
     POLICY + "/scope_missing", "without the promise"),
    ("a method of nobody", lambda bench: with_methods("POST", "*"),
     "/routes/0/methods/1", "no usual method"),
    ("a method that is mistyped", lambda bench: with_methods("POTS"),
     "/routes/0/methods/0", 'did you mean "POST"?'),
    ("a variable twice", lambda bench: with_path("/v1/{x}/{x}"),
     "/routes/0/path", "{x} appears twice"),
    ("a password besides its user", lambda bench: least(scope=[
        "Authorization", {"basic": "user"}]),
     POLICY + "/scope", "the password is in the scope besides its user"),
    ("no route", lambda bench: {
        **least(), "upstreams": {}, "routes": []},
     "/routes", "each request is answered 404"),
    ("a variable of a target", lambda bench: {
        **least(), "upstreams": {"api": "http://h/{x}"}},
     "/upstreams/api", "its URL has no variables"),
    ("certificates for plain HTTP", lambda bench: {
        **least(), "upstreams": {"api": {
            "targets": ["http://h"], "ca": "/etc/ssl/certs/ca.pem"}}},
     "/upstreams/api", "no target begins with https://"),
    ("a tenant named by tokens that are renewed",
     lambda bench: least(preset="paypal", scope=["Authorization"]),
     POLICY + "/scope", "executed again"),
    ("an unknown outcome that looks refused",
     lambda bench: least(problems={"outcome-unknown": 402}),
     POLICY + "/problems", "take the payment for refused"),
    ("a short retention", lambda bench: least(retention="59m"),
     POLICY + "/retention", "forgotten within the hour"),
    ("a scope of certificates as a header",
     lambda bench: least(scope=["certificate"]),
     POLICY + "/scope", 'did you mean {"certificate": "subject"}?'),
    ("a scope of paths as a header", lambda bench: least(scope=["path"]),
     POLICY + "/scope", 'did you mean {"path": NAME}?'),
    ("a scope that is the key", lambda bench: least(scope=["X-Key"],
                                                    header="X-Key"),
     POLICY + "/header", 'by something else in "scope"'),
    ("credentials for a key", lambda bench: least(
        scope=[{"basic": "user"}], header="authorization"),
     POLICY + "/header", "and so no key"),
    ("a token besides its claim", lambda bench: least(scope=[
        "authorization", {"jwt": "sub", "keys": keys_of(bench)}]),
     POLICY + "/scope", 'leave "Authorization" out'),
    ("a scope that each request has in another way",
     lambda bench: least(scope=["traceparent"]),
     POLICY + "/scope", "it is executed again"),
    ("a route that only observes", lambda bench: with_mode("observe"),
     "/routes/0/mode", "nothing is held back"),
    ("a scope in British spelling",
     lambda bench: least(scope=["Authorisation"]),
     POLICY + "/scope", 'did you mean "Authorization"?'),
    ("a status_path that an earlier route serves",
     lambda bench: behind("/*", status_path="/v1/keys/{key}"),
     "/routes/1/status_path", "put this route first, or name another"),
    ("a policy_path that an earlier route serves",
     lambda bench: behind("/.well-known/{x}",
                          policy_path="/.well-known/idempotency"),
     "/routes/1/policy_path", '"path" of the route "all"'),
    ("a policy_path that a status_path serves",
     lambda bench: behind("/a", status_path="/v1/{key}/policy",
                          policy_path="/v1/x/policy"),
     "/routes/1/policy_path", '"status_path" of the route "charges"'),
    ("a reconcile that does not say what is absent",
     lambda bench: least(on_unknown={"reconcile": "/v1/by-key/{key}"}),
     POLICY + "/on_unknown/reconcile", "mistyped"),
    ("the long form without it",
     lambda bench: least(on_unknown={"reconcile": {"path": "/by/{key}"}}),
     POLICY + "/on_unknown/reconcile", "mistyped"),
    ("one of a route that does not, where the defaults do",
     lambda bench: {**least(on_unknown={"reconcile": "/v1/by-key/{key}"}),
                    "defaults": {"on_unknown": {"reconcile": {
                        "path": "/by/{key}", "absent": [404]}}}},
     POLICY + "/on_unknown/reconcile", "mistyped"),
    ("an upstream of no route",
     lambda bench: {**least(), "upstreams": {
         "api": "http://h", "a/b": "http://i"}},
     "/upstreams/a~1b", "no route names it"),
    ("a call that a drain cuts", lambda bench: {
        **least(), "upstreams": {"api": {"targets": ["http://h"],
                                         "timeout": "31s"}}},
     "/upstreams/api/timeout", "may take 31s, and a drain waits for it 30s"),
    ("a call that never ends", lambda bench: {
        **least(), "upstreams": {"api": {"targets": ["http://h"],
                                         "timeout": "90d"}}},
     "/upstreams/api/timeout", "90d, which is longer than any call should"),
    ("a drain that cuts a call", lambda bench: {
        **least(), "drain_timeout": "29s"},
     "/upstreams/api", "drain_timeout"),
    ("reads with keys", lambda bench: with_methods("POST", "GET"),
     "/routes/0/methods/1", "only reads"),
    ("heads with keys", lambda bench: with_methods("HEAD"),
     "/routes/0/methods/0", "only reads"),
    ("a Redis that may forget",
     lambda bench: {**least(), "store": {"allow_eviction": True}},
     "/store/allow_eviction", "executed again"),
    ("UUIDs that are too long", lambda bench: least(
        key_format="uuid", max_length=35),
     POLICY + "/max_length", "no key is accepted"),
    ("a derived key that there is not", lambda bench: least(
        send_derived=True), POLICY + "/send_derived", "none is derived"),
    ("a part that is not compared", lambda bench: least(fingerprint={
        "include": ["path"], "ignore": ["/at"]}),
     POLICY + "/fingerprint/ignore", "nothing of the body"),
    ("a parameter that is not compared", lambda bench: least(fingerprint={
        "include": ["body"], "ignore": [{"query": "at"}]}),
     POLICY + "/fingerprint/ignore", "nothing of the query"),
    ("what is not among the only ones", lambda bench: least(fingerprint={
        "only": ["/amount"], "ignore": ["/amount"]}),
     POLICY + "/fingerprint/ignore", "only what"),
    ("an entity of nothing", lambda bench: least(entity=["/account"]),
     POLICY + "/entity", "it changes nothing"),
    ("a reconcile after its key", lambda bench: least(
        unknown_retention="1h", on_unknown={"reconcile": {
            "path": "/by/{key}", "absent": [404], "settle": "1h"}}),
     POLICY + "/unknown_retention", "before the upstream is asked"),
    ("a body beyond all memory", lambda bench: {
        **least(max_request_body="2MiB"),
        "limits": {"in_flight_bytes": "1MiB"}},
     POLICY + "/max_request_body", "longer than 1MiB"),
    ("a wait for nobody", lambda bench: {
        **least(), "store": {"wait_timeout": "50ms"}},
     "/store/wait_timeout", '"wait_replicas" is 0'),
    ("a wait that is cut", lambda bench: {
        **least(), "store": {"redis": "redis://127.0.0.1", "timeout": "1s",
                             "wait_replicas": 1, "wait_timeout": "401ms"}},
     "/store/wait_timeout", "only 400ms are waited"),
    ("a token of no interface", lambda bench: {
        **least(), "admin": {"token": "s3cret"}},
     "/admin/token", 'no admin interface without "admin.listen"'),
    ("a token that is soon found", lambda bench: {
        **least(), "admin": {"listen": "127.0.0.1:0", "token": "x"}},
     "/admin/token", "so short a token"),
    ("a token of two lines",
     lambda bench: {**least(), "admin": {"listen": "127.0.0.1:0",
                                         "token": "one\ntwo"}},
     "/admin/token", "no request can carry it"),
    ("a certificate that is over", lambda bench: certified(bench, (-3, -1)),
     "/listen/0/tls/certificate", "is over"),
    ("a certificate that ends soon", lambda bench: certified(bench, (-3, 13)),
     "/listen/0/tls/certificate", "ends soon"),
    ("a token without TLS",
     lambda bench: {**least(), "listen": ["0.0.0.0:0"]},
     "/listen/0", "Authorization"),
    ("a token without TLS on all addresses",
     lambda bench: {**least(), "listen": [":0"]},
     "/listen/0", "without TLS"),
]


@each(WARNINGS)
def check_warns(bench, config, pointer, words):
    config = config(bench)
    status, found, well = check(bench, config)
    equal((status, [p for p, _ in found], well), (0, [pointer], True))
    assert words in found[0][1], found
    equal(found[0][1].startswith('route "charges": '),
          pointer.startswith("/routes/"), found)
    status, again, well = check(bench, config, "--strict")
    equal((status, again, well), (1, found, False))


@each([
    ("what says that nothing happened", lambda bench: least(
        outcomes={"503": "release", "501": "forget", "5xx": "unknown"})),
    ("a key beside a name of nobody's", lambda bench: least(
        header=["Idempotency-Key", "PayPal-Request-Id"])),
    ("an issuer and whose its token is", lambda bench: least(scope=[
        {"jwt": "iss", "keys": keys_of(bench)},
        {"jwt": "sub", "keys": keys_of(bench)}])),
    ("an audience and a tenant's header", lambda bench: least(scope=[
        "X-Tenant", {"jwt": "aud", "keys": keys_of(bench)}])),
    ("members of a body that make the key", lambda bench: least(
        derive_key=["/id"], fingerprint={"ignore": ["/sent_at"]})),
    ("a key of the whole body, which is compared as it is",
     lambda bench: least(derive_key="body")),
    ("an answer without a mark", lambda bench: least(
        omit_headers=["Set-Cookie"], replay_header="")),
    ("what says that there is none", lambda bench: least(on_unknown={
        "reconcile": {"path": "/by/{key}", "absent": [404, 410, 422],
                      "status": 201}})),
])
def check_says_nothing_of(bench, config):
    equal(check(bench, config(bench), "--strict"), (0, [], True))


@test
def one_attempt_and_a_retry_are_warned_of(bench):
    retry = least(on_unknown="retry", max_attempts=1)
    equal([p for p, _ in check(bench, retry)[1]],
          [POLICY + "/on_unknown", POLICY + "/max_attempts"])
    retry["routes"][0]["idempotency"]["max_attempts"] = 2
    equal([p for p, _ in check(bench, retry)[1]], [POLICY + "/on_unknown"])


@test
def check_warns_of_a_source_that_names_its_tenant_twice(bench):
    """Any one of several kinds names one, and two of them name another."""
    config = {**least(scope=[{"jwt": "sub", "keys": keys_of(bench)}]),
              "brokers": {"queue": {"redis": "redis://127.0.0.1"}},
              "sources": {"shop": {
                  "broker": "queue", "stream": "charges", "request": {
                      "path": "/v1/charges",
                      "headers": {"Authorization": "Bearer t"}}}}}
    scope = config["routes"][0]["idempotency"]["scope"]
    scope.append("X-Shop-Key")
    headers = config["sources"]["shop"]["request"]["headers"]
    equal(check(bench, config)[1], [])
    headers["X-Shop-Key"] = "s"
    (pointer, said), = check(bench, config)[1]
    equal(pointer, "/sources/shop/request/headers")
    assert "leave the one" in said, said
    scope[:] = ["Authorization", "X-Shop-Key"]
    equal(check(bench, config)[1], [])


@each([
    ("what says nothing of it", lambda bench: least()),
    ("hold", lambda bench: least(on_unknown="hold")),
    ("a reconcile that says what is absent",
     lambda bench: least(on_unknown={"reconcile": {
         "path": "/by/{key}", "absent": [404]}})),
    ("a pass-through that lasts", lambda bench: {
        **least(), "upstreams": {"api": "http://h", "long": {
            "targets": ["http://i"], "timeout": "10m"}},
        "routes": [*least()["routes"], {
            "name": "rest", "methods": ["GET"], "path": "/*",
            "upstream": "long"}]}),
    ("a drain that lasts as long as a call", lambda bench: {
        **least(), "drain_timeout": "1m", "upstreams": {"api": {
            "targets": ["http://h"], "timeout": "60s"}}}),
    ("UUIDs", lambda bench: least(key_format="uuid", max_length=36)),
    ("a derived key", lambda bench: least(
        derive_key="body", send_derived=True)),
    ("a derived key of another route", lambda bench: {
        **least(), "defaults": {"send_derived": True}, "routes": [
            {"path": "/b", "upstream": "api",
             "idempotency": {"derive_key": "body"}}, *least()["routes"]]}),
    ("an entity that is looked at", lambda bench: least(
        entity=["/account"], serialize=True)),
    ("a body that has memory", lambda bench: {
        **least(max_request_body="2MiB"),
        "limits": {"in_flight_bytes": "2MiB"}}),
    ("a wait that is not cut", lambda bench: {
        **least(), "store": {"redis": "redis://127.0.0.1", "timeout": "1s",
                             "wait_replicas": 1, "wait_timeout": "400ms"}}),
    ("a claim without its token", lambda bench: least(scope=[
        {"jwt": "sub", "keys": keys_of(bench)}, "X-Tenant"])),
    ("a retention of an hour", lambda bench: least(retention="1h")),
    ("a certificate of a month", lambda bench: certified(bench, (-3, 30))),
    ("a tenant who is no secret", lambda bench: {
        **least(scope=["X-Account"]), "listen": ["0.0.0.0:0"]}),
    ("a Unix socket", lambda bench: {**least(), "listen": ["unix:/run/x"]}),
])
def check_does_not_warn(bench, config):
    equal(check(bench, config(bench), "--strict"), (0, [], True))


def to_itself(listen, target):
    config = least()
    config["routes"][0]["idempotency"] = {"scope": ["X-Account"]}
    return {**config, "listen": listen, "upstreams": {"api": target}}


@each([
    ("its own address", ["127.0.0.1:8080"], "http://127.0.0.1:8080"),
    ("by name", ["127.0.0.1:8080"], "http://localhost:8080/"),
    ("of all addresses", [":80"], "http://127.0.0.1"),
    ("of all of IPv6", ["[::]:8080"], "http://[::1]:8080"),
    ("a Unix socket", ["unix:/run/a", "unix:/run/b"], "unix:/run/b"),
    ("the second target", ["10.0.0.1:80"],
     {"targets": ["http://10.0.0.2", "http://10.0.0.1"]}),
])
def an_upstream_that_is_the_gateway_is_warned_of(bench, listen, target):
    (pointer, words), = check(bench, to_itself(listen, target))[1]
    equal(pointer, "/upstreams/api")
    assert f'("{listen[-1]}")' in words, words


@each([
    ("another port", ["127.0.0.1:8080"], "http://127.0.0.1:8081"),
    ("another address", ["127.0.0.1:8080"], "http://127.0.0.2:8080"),
    ("another host", [":8080"], "http://api:8080"),
    ("any port", ["127.0.0.1:0"], "http://127.0.0.1:80"),
    ("another socket", ["unix:/run/a"], "unix:/run/b"),
    ("another path there", ["127.0.0.1:80"], "http://127.0.0.1/inner"),
])
def an_upstream_that_is_another_is_not_warned_of(bench, listen, target):
    equal(check(bench, to_itself(listen, target))[1], [])


def routes(*paths):
    """Routes of (methods, path, idempotent)."""
    return {**least(), "routes": [
        {"name": f"r{i}", "path": path, "upstream": "api",
         **({"methods": methods} if methods else {}),
         **({"idempotency": {}} if idempotent else {})}
        for i, (methods, path, idempotent) in enumerate(paths)]}


@each([
    ("everything", [None, "/*", False], [["POST"], "/v1/charges", True], True),
    ("the same path", [None, "/v1/charges", False],
     [["POST"], "/v1/charges", True], True),
    ("one of its methods", [["PUT", "GET"], "/v1/*", False],
     [["POST", "PUT"], "/v1/charges", True], True),
    ("a variable", [None, "/v1/{x}", False],
     [["POST"], "/v1/charges", True], True),
    ("another method", [["GET"], "/*", False],
     [["POST"], "/v1/charges", True], False),
    ("a part of it", [None, "/v1/new", False],
     [["POST"], "/v1/{x}", True], False),
    ("less than the rest", [None, "/v1/{x}", False],
     [["POST"], "/v1/*", True], False),
    ("another path", [None, "/v1/charges/x", False],
     [["POST"], "/v1/charges", True], False),
    ("one that is idempotent", [["POST"], "/*", True],
     [["POST"], "/v1/charges", True], True),
    ("one that is idempotent, of another method", [["PUT"], "/*", True],
     [["POST"], "/v1/charges", True], False),
    ("one behind it that is not", [["POST"], "/*", True],
     [["POST"], "/v1/charges", False], False),
])
def a_route_that_hides_a_later_one_is_warned_of(bench, first, then, hides):
    _, found, _ = check(bench, routes(first, then))
    equal([pointer for pointer, _ in found], ["/routes/0"] if hides else [])
    assert not hides or '"r1"' in found[0][1], found


@test
def routes_that_one_hides_are_told_in_one_line(bench):
    charge = [["POST"], "/v1/charges", True]
    _, found, _ = check(bench, routes([None, "/*", False], charge, charge,
                                      [["GET"], "/v1", False], charge))
    equal([pointer for pointer, _ in found],
          ["/routes/0", "/routes/1", "/routes/2"])
    assert 'hides the routes "r1", "r2", "r4" behind it' in found[0][1], \
        found
    assert 'put those first' in found[0][1], found


@each([
    ("no idempotency", {}, "keys nobody looks at"),
    ("another one", {"idempotency": {"scope": ["X-Account"]}},
     'own "idempotency" is not used'),
    ("one that only observes", {"idempotency": {}, "mode": "observe"},
     "keys promise nothing"),
])
def a_route_that_is_hidden_is_told_what_it_loses(bench, first, words):
    config = least()
    config["routes"].insert(0, {"name": "first", "methods": ["POST"],
                                "path": "/v1/*", "upstream": "api", **first})
    (pointer, said), *more = check(bench, config)[1]
    equal(pointer, "/routes/0")
    equal([p for p, _ in more], ["/routes/0/mode"] if "mode" in first else [])
    assert 'hides the route "charges"' in said and words in said, said


@each([("a home", "~/state"), ("a variable", "${HOME}/state"),
       ("a variable without braces", "$HOME/state")])
def a_state_dir_that_only_a_shell_would_understand_is_warned_of(bench, path):
    config = least()
    config["state_dir"] = path
    (pointer, words), = check(bench, config)[1]
    equal(pointer, "/state_dir")
    assert "of exactly this name" in words, words
    for plain in "/srv/~a/state", "/srv/5$/state":
        config["state_dir"] = plain
        equal(check(bench, config)[1], [])


REDIS = "redis://127.0.0.1:6379"


@each([("of the store", "/store/password", {"store": {
           "redis": REDIS, "password": "/etc/onceproxy/redis-password"}}),
       ("of the records", "/store/secret", {"store": {
           "redis": REDIS, "secret": "/run/secrets/store"}}),
       ("of operators", "/admin/token", {"admin": {
           "listen": "127.0.0.1:0", "token": "/tmp"}}),
       ("of a broker", "/brokers/q/password", {"brokers": {"q": {
           "redis": REDIS, "password": "/etc/onceproxy/redis-password"}}})])
def a_secret_that_is_the_path_of_a_file_is_warned_of(bench, place, members):
    found = dict(check(bench, {**least(), **members})[1])
    assert 'did you mean {"file": PATH}?' in found[place], found


@test
def a_secret_of_base64_or_from_a_file_is_not_taken_for_a_path(bench):
    for password in "/a+b/c", "/ab/c=", "/abc", {
            "file": bench.file(b"/etc/onceproxy/redis-password\n")}:
        config = {**least(), "store": {"redis": REDIS, "password": password}}
        equal(check(bench, config)[1], [])


SECRET = "${P4Y_T0KEN}"
KEY32 = "whsec_" + "A" * 32


@each([
    ("a token", {"admin": {"listen": "127.0.0.1:0", "token": SECRET}},
     "/admin/token"),
    ("the URL of a Redis",
     {"store": {"redis": f"redis://:{SECRET}@127.0.0.1"}}, "/store/redis"),
    ("a password", {"store": {"redis": "redis://127.0.0.1",
                              "password": SECRET}}, "/store/password"),
    ("a password without braces", {"store": {
        "redis": "redis://127.0.0.1", "password": "$P4Y_T0KEN"}},
     "/store/password"),
    ("the key of names", {"store": {"secret": "a" + SECRET}},
     "/store/secret"),
    ("the URL of a broker",
     {"brokers": {"b": {"redis": f"redis://u:{SECRET}@127.0.0.1"}}},
     "/brokers/b/redis"),
    ("the password of a broker",
     {"brokers": {"b": {"redis": "redis://127.0.0.1", "password": SECRET}}},
     "/brokers/b/password"),
    ("the URL of a webhook",
     {"relays": {"r": {"webhook": f"http://h/{SECRET}",
                       "secrets": [KEY32]}}}, "/relays/r/webhook"),
    ("a target", {"upstreams": {"api": {"targets": [
        "http://h", f"http://i/{SECRET}"]}}}, "/upstreams/api/targets/1"),
])
def a_variable_that_nothing_replaces_is_warned_of(bench, members, pointer):
    (found, words), = check(bench, {**least(), **members})[1]
    equal(found, pointer)
    assert 'write {"env": "NAME"}' in words, words
    assert "P4Y" not in words, words


@each([("the scope", {"scope": ["X-A", {"path": "id"}], "entity": ["/a"]}),
       ("the entity itself", {"entity": {"path": "id"}})])
def an_entity_may_be_parted_by(bench, members):
    _, found, _ = check(bench, at_path(
        least(namespace="of/{id}", serialize=True, **members), "/v1/{id}"))
    equal([one for one in found if one[0].endswith("/entity")], [])


@test
def what_stands_elsewhere_is_taken_as_it_is(bench):
    file = bench.file(SECRET.encode())
    config = {**least(namespace="${id}", on_unknown={"reconcile": {
        "path": "/v1/$a/${key}", "absent": [404],
        "keys_unique": True}}),
        "store": {"secret": {"file": file}}}
    config["routes"][0]["path"] = "/v1/charges/{id}"
    equal(check(bench, config), (0, [], True))


@each([("a colon", "/v1/:id/refund"), ("angles", "/v1/<id>"),
       ("a type", "/v1/<int:id>")])
def a_variable_of_other_programs_is_warned_of(bench, path):
    _, found, _ = check(bench, routes(
        [["POST"], path, True], [["POST"], "/v1/x:void", True],
        [["POST"], "/v2/a<b", True], [["POST"], "/v2/<>", True]))
    equal([pointer for pointer, _ in found], ["/routes/0/path"])
    assert "{id}" in found[0][1], found


@test
def what_defaults_say_is_warned_of_once_and_there(bench):
    config = {**least(), "defaults": {"on_unknown": "retry", "scope": []}}
    config["routes"].insert(0, {"path": "/own", "upstream": "api",
                                "idempotency": {"scope": ["X-Account"]}})
    _, found, _ = check(bench, config)
    equal(sorted(pointer for pointer, _ in found),
          ["/defaults/on_unknown", "/defaults/scope"])


@test
def warnings_come_in_the_order_of_the_file_with_their_place(bench):
    file = bench.file(b"""{
  "listen": ["0.0.0.0:0"],
  "upstreams": {"api": "http://h", "b": "http://i"},
  "routes": [{"path": "/", "upstream": "api", "idempotency": {
    "retention": "1s", "on_unknown": "retry"}}]
}""")
    done = command("check", "-c", file)
    equal(done.returncode, 0)
    equal([line[len(file):].split(" ")[0]
           for line in done.stdout.splitlines()],
          [":2:14:", ":3:36:", ":5:18:", ":5:38:", ":"])


@test
def an_error_hides_no_exit_status_and_explain_goes_on(bench):
    config = least(on_unknown="retry")
    file = bench.file(json.dumps({**config, "colour": 1}).encode())
    equal(command("check", "-c", file).returncode, 1)
    file = bench.file(json.dumps(config).encode())
    done = command("check", "-c", file, "--explain")
    equal(done.returncode, 0)
    assert "warning: " in done.stdout and "Settings" in done.stdout
    equal(command("check", "-c", file, "--explain", "--strict").returncode, 1)


# --- what a reload changes of keys that exist ---

ASKING = {"reconcile": {"path": "/v1/charges/by-key/{key}", "absent": [404]}}

CHANGES = [
    ("namespace", {"namespace": "eu"}, "/namespace", "executed again"),
    ("scope", {"scope": ["X-Account"]}, "/scope", "executed again"),
    ("header", {"header": "X-Key"}, "/header", "executed again"),
    ("derive_key", {"derive_key": "body"}, "/derive_key", "executed again"),
    ("fingerprint.include", {"fingerprint": {"include": ["body"]}},
     "/fingerprint/include", "key-reused"),
    ("fingerprint.headers", {"fingerprint": {"headers": ["X-A"]}},
     "/fingerprint/headers", "key-reused"),
    ("fingerprint.json", {"fingerprint": {"json": True}},
     "/fingerprint/json", "key-reused"),
]


@each(CHANGES)
def against_says_what_changes_of_keys(bench, change, pointer, words):
    running = bench.file(json.dumps(least()).encode())
    config = least(**change)
    _, found, well = check(bench, config, "--against", running)
    equal(([p for p, _ in found], well), ([POLICY + pointer], True))
    assert words in found[0][1] and '"charges"' in found[0][1], found
    equal(check(bench, config, "--against", running, "--strict")[0], 1)


@each([("another API", ["http://127.0.0.1:2"], ASKING, True),
       ("one that nobody asks", ["http://127.0.0.1:2"], "hold", False),
       ("one more target", ["http://127.0.0.1:2", "http://127.0.0.1:1"],
        ASKING, False)])
def against_says_that_another_api_is_asked_what_is_unknown(
        bench, targets, asked, found):
    config = least(on_unknown="hold")
    config["upstreams"] = {"api": "http://127.0.0.1:1"}
    running = bench.file(json.dumps(config).encode())
    config = {**least(on_unknown=asked),
              "upstreams": {"api": {"targets": targets}}}
    said = check(bench, config, "--against", running)[1]
    equal([w.endswith("or it is executed again") for p, w in said
           if p == "/routes/0/upstream"], [True] if found else [])


@test
def against_says_nothing_of_what_keeps_its_keys(bench):
    running = bench.file(json.dumps(least()).encode())
    config = least(retention="36h", in_flight="wait", scope=["Authorization"],
                   namespace="default")
    config["routes"].insert(0, {"path": "/new", "upstream": "api",
                                "idempotency": {"header": "X-Key"}})
    config["routes"][1]["path"] = "/v1/*"
    equal(check(bench, config, "--against", running), (0, [], True))
    config = least(header=["X-Key", "idempotency-key"],
                   scope=["authorization"])
    equal(check(bench, config, "--against", running), (0, [], True))


@test
def against_finds_a_route_by_its_name_or_path(bench):
    running = bench.file(json.dumps(least()).encode())
    config = least(namespace="eu")
    config["routes"][0]["name"] = "renamed"
    _, found, _ = check(bench, config, "--against", running)
    equal([p for p, _ in found], [POLICY + "/namespace"])
    assert '"default" to "eu"' in found[0][1], found


@each([("another order", ["X-A", {"basic": "user"}, "X-B"],
        ["X-B", {"basic": "user"}, "X-A"], True),
       ("other capitals", ["X-A", "X-B"], ["x-a", "x-b"], False)])
def against_compares_a_scope_in_its_order(bench, before, after, found):
    running = bench.file(json.dumps(least(scope=before)).encode())
    said = check(bench, least(scope=after), "--against", running)[1]
    equal([p for p, _ in said if p == POLICY + "/scope"],
          [POLICY + "/scope"] if found else [])


def writes(path="/v1/*", **policy):
    return {"name": "writes", "path": path, "upstream": "api",
            "idempotency": policy}


def front(path, **policy):
    return {"name": "front", "path": path, "upstream": "api",
            "idempotency": policy}


COMES_ELSEWHERE = [
    ("a text in front", [front("/v1/charges", namespace="eu"), writes()],
     "/routes/0/idempotency/namespace"),
    ("a variable in front", [front("/v1/{x}", scope=["X-A"]), writes()],
     "/routes/0/idempotency/scope"),
    ("two segments in front", [front("/v1/{x}/{y}", header="X-A"), writes()],
     "/routes/0/idempotency/header"),
    ("it is gone, and another takes all",
     [front("/*", namespace="eu")], "/routes/0/idempotency/namespace"),
    ("a method in front",
     [{**front("/v1/*", namespace="eu"), "methods": ["PUT"]}, writes()],
     "/routes/0/idempotency/namespace"),
    ("one without keys in front",
     [{"name": "front", "path": "/v1/charges", "upstream": "api"}, writes()],
     "/routes/0")]


@each(COMES_ELSEWHERE)
def against_says_where_another_route_takes_what_had_keys(
        bench, routes, pointer):
    config = {**least(), "routes": [writes()]}
    running = bench.file(json.dumps(config).encode())
    _, found, _ = check(bench, {**config, "routes": routes}, "--against",
                        running)
    words = [w for p, w in found if p == pointer and '"writes"' in w]
    equal(len(words), 1, found)
    assert "executed" in words[0], words


@each([("a scope", {"scope": [{"path": "a"}]}, "scope"),
       ("a namespace", {"namespace": "of-{a}"}, "namespace")])
def against_says_where_a_variable_stands_elsewhere(bench, policy, member):
    config = {**least(), "routes": [writes("/v1/{a}/{b}", **policy)]}
    running = bench.file(json.dumps(config).encode())
    config["routes"][0]["path"] = "/v1/{b}/{a}"
    _, found, _ = check(bench, config, "--against", running)
    equal([p for p, _ in found], [POLICY + "/" + member])
    assert "stands elsewhere in the path" in found[0][1], found


@test
def against_compares_no_keys_where_none_are_looked_at(bench):
    config = {**least(), "routes": [{**writes(), "mode": "observe"}]}
    running = bench.file(json.dumps(config).encode())
    config["routes"][0]["idempotency"] = {"namespace": "eu"}
    _, found, _ = check(bench, config, "--against", running)
    assert not [w for p, w in found if "namespace" in p], found


@test
def against_says_where_a_route_in_front_is_gone(bench):
    """The one behind it has the keys from then on, and had none of them."""
    config = {**least(), "routes": [front("/v1/a", namespace="eu"), writes()]}
    running = bench.file(json.dumps(config).encode())
    _, found, _ = check(bench, {**config, "routes": [writes()]}, "--against",
                        running)
    equal([p for p, _ in found], ["/routes/0/idempotency"])
    assert 'from "eu" to "default"' in found[0][1], found


@each([("the same keys", [front("/v1/charges"), writes()]),
       ("what is hidden",
        [writes(), front("/v1/charges", namespace="eu")]),
       ("other paths", [front("/v2/{x}", namespace="eu"), writes()]),
       ("another method",
        [{**front("/v1/*", namespace="eu"), "methods": ["REPORT"]},
         writes()])])
def against_says_nothing_of_a_route_that_takes_no_keys(bench, routes):
    config = {**least(), "routes": [writes()]}
    running = bench.file(json.dumps(config).encode())
    _, found, _ = check(bench, {**config, "routes": routes}, "--against",
                        running)
    equal([words for _, words in found if "writes" in words
           and "comes here" in words], [])


@each([("another path", [writes("/v2/*", namespace="eu")], []),
       ("another path behind one with its keys",
        [front("/v1/*"), writes("/v2/*", namespace="eu")], []),
       ("it is hidden",
        [front("/v1/*"), writes("/v1/charges", namespace="eu")], []),
       ("other methods", [
           {**writes(namespace="eu"), "methods": ["GET"]}, front("/v1/*")],
        []),
       ("a part of its paths", [writes("/v1/a", namespace="eu")], ["eu"]),
       ("one of its methods",
        [{**writes(namespace="eu"), "methods": ["REPORT", "PUT"]}], ["eu"]),
       ("all but what is in front", [
           {**front("/v1/*"), "methods": ["POST"]}, writes(namespace="eu")],
        ["eu"])])
def against_compares_a_route_of_a_name_by_its_requests(bench, routes, found):
    """A name alone brings no keys."""
    config = {**least(), "routes": [writes("/v1/*")]}
    running = bench.file(json.dumps(config).encode())
    said = check(bench, {**config, "routes": routes}, "--against", running)[1]
    equal([words.split('"')[-2] for _, words in said
           if "changes from" in words], found)


LOST = [
    ("it has no keys", lambda routes: routes[0].pop("idempotency"), 0),
    ("it is gone", lambda routes: routes.pop(0), 0),
    ("it has another path",
     lambda routes: routes[0].update(path="/v1/charge"), 1),
    ("it has other methods",
     lambda routes: routes[0].update(methods=["PUT"]), 1),
    ("it observes", lambda routes: routes[0].update(mode="observe"), 0)]


@each(LOST)
def against_says_where_no_key_is_looked_at_any_more(bench, change, index):
    running = bench.file(json.dumps(least()).encode())
    config = least()
    change(config["routes"])
    _, found, _ = check(bench, config, "--against", running)
    equal([p for p, _ in found if p != "/routes/0/mode"],
          [f"/routes/{index}"])
    assert "each retry is executed" in found[0][1], found


@test
def against_says_nothing_where_nobody_serves_it_any_more(bench):
    running = bench.file(json.dumps(least()).encode())
    config = least()
    config["routes"][0]["path"] = "/v2/charges"
    del config["routes"][1]
    equal(check(bench, config, "--against", running), (0, [], True))


@test
def against_says_where_the_private_redis_would_be_another(bench):
    config = least()
    running = bench.file(json.dumps({**config, "state_dir": "/a"}).encode())
    _, found, _ = check(bench, {**config, "state_dir": "/b"}, "--against",
                        running)
    equal([p for p, _ in found], ["/state_dir"])


@each([("prefix", {"prefix": "other"}), ("secret", {"secret": "s"}),
       ("redis", {"redis": "redis://127.0.0.1:6379/1"}),
       ("shards", {"shards": 8})])
def against_says_what_changes_of_the_store(bench, store):
    before = {**least(), "store": {"redis": "redis://127.0.0.1:6379/0"}}
    running = bench.file(json.dumps(before).encode())
    config = {**least(), "store": {**before["store"], **store}}
    _, found, _ = check(bench, config, "--against", running)
    equal([p for p, _ in found], ["/store/" + list(store)[0]])
    assert "restart" in found[0][1], found


@each([("the name alone", "reconcile"), ("another word", "ask")])
def what_an_error_suggests_is_not_warned_of(bench, value):
    file = bench.file(json.dumps(least(on_unknown=value)).encode())
    line = command("check", "-c", file).stdout.splitlines()[0]
    suggested = json.loads(line[line.index('{"reconcile"'):])
    equal(check(bench, least(on_unknown=suggested)), (0, [], True))


RESTART = "a reload does not change this; restart the gateway"


@each([("a count", "workers", 3), ("a table", "limits", {"connections": 99}),
       ("addresses", "listen", ["127.0.0.1:1"]),
       ("a token", "admin", {"listen": "127.0.0.1:2",
                             "token": "of-an-admin"})])
def against_says_what_needs_a_restart(bench, member, value):
    before = {**least(), "admin": {"listen": "127.0.0.1:2"}}
    running = bench.file(json.dumps(before).encode())
    config = {**before, member: value}
    status, found, well = check(bench, config, "--against", running)
    pointer = "/" + member + {"limits": "/connections", "admin": "/token"
                              }.get(member, "")
    equal((status, found, well), (0, [(pointer, RESTART)], True))
    equal(check(bench, config, "--against", running, "--strict")[0], 1)


@test
def against_says_where_a_first_relay_is_refused(bench):
    """So is the reload: events are written from the start on, or not."""
    running = bench.file(json.dumps(least()).encode())
    hooks = {"hooks": {"webhook": "https://example.com/hook",
                       "secrets": ["whsec_" + "A" * 32]}}
    file = bench.file(json.dumps({**least(), "relays": hooks}).encode(),
                      "after.json")
    done = command("check", "-c", file, "--against", running)
    equal(done.returncode, 1, done)
    assert "/relays: a reload does not begin to write" in done.stdout, done


@test
def against_needs_a_valid_file(bench):
    file = bench.file(json.dumps(least()).encode())
    wrong = bench.file(b"{}")
    done = command("check", "-c", file, "--against", wrong)
    equal(done.returncode, 1)
    assert wrong in done.stderr and "listen" in done.stderr, done.stderr
    equal(command("check", "-c", file, "--against").returncode, 2)


@test
def against_on_a_cluster_says_that_an_entity_stays(bench):
    """It would refuse the reload: records are in their entity's shard."""
    config = {**least(derive_key=["/order", "/account"], entity=["/order"],
                      serialize=True),
              "store": {"cluster": ["127.0.0.1:1"]}}
    before = bench.file(json.dumps(config).encode())
    for entity, status in ((["/order"], 0), (["/account"], 1), (None, 1)):
        policy = config["routes"][0]["idempotency"]
        policy["entity"] = entity
        if entity is None:
            del policy["entity"], policy["serialize"]
        file = bench.file(json.dumps(config).encode(), "after.json")
        done = command("check", "-c", file, "--against", before)
        equal(done.returncode, status, done)
        equal("/routes/0/idempotency/entity: " in done.stdout, status == 1,
              done.stdout)


# --- what it changes of messages ---

def reading(name="orders", broker="queue", stream="orders",
            path="/v1/charges", body=None, **members):
    """Members of a configuration that reads that stream."""
    return {
        "brokers": {broker: {
            "redis": "redis://127.0.0.1:1/0"}},
        "sources": {name: {
            "broker": broker, "stream": stream, "request": {
                "path": path, "headers": {
                    "Authorization": "Basic YTpi", "X-Tenant": "t"},
                **({"body": body} if body else {})},
            **members}}}


OTHER_MESSAGES = [
    ("another key", {"key": ["/id"]}, {"key": ["/id", "/account"]},
     "/sources/orders/key", "executed again"),
    ("no key", {"key": ["/id"]}, {}, "/sources/orders/key",
     "executed again"),
    ("another path", {}, {"path": "/v1/charges/"},
     "/sources/orders/request/path", "executed again"),
    ("another field of its body", {}, {"body": {"field": "x"}},
     "/sources/orders/request/body/field", "mismatch"),
    ("another name of its broker", {}, {"broker": "events"},
     "/sources/orders/broker", "executed again")]


@each(OTHER_MESSAGES)
def against_says_what_changes_of_messages(bench, before, after, pointer,
                                          words):
    file = bench.file(json.dumps({**least(), **reading(**before)}).encode())
    _, found, _ = check(bench, {**least(), **reading(**after)}, "--against",
                        file)
    said = [w for p, w in found if p == pointer and words in w]
    equal(len(said), 1, found)


@each([("the same", {"key": ["/id"]}),
       ("another stream", {"key": ["/id"], "stream": "other"}),
       ("a broker whose name is in no key",
        {"key": ["/id"], "broker": "events"}),
       ("another source", {"key": ["/id"], "stream": "other",
                           "name": "payments"})])
def against_says_nothing_of_messages_that_keep_their_keys(bench, after):
    file = bench.file(json.dumps(
        {**least(), **reading(key=["/id"])}).encode())
    config = {**least(), **reading(**after)}
    equal(check(bench, config, "--against", file)[1], check(bench, config)[1])


@test
def a_reload_says_what_it_changes_of_keys(bench):
    config = bench.config(bench.upstream())
    gateway = bench.serve(config)
    name = next(route["name"] if "name" in route else route["path"]
                for route in config["routes"] if "idempotency" in route)
    for route in config["routes"]:
        if "idempotency" in route:
            route["idempotency"]["namespace"] = "eu"
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    line = gateway.wait_for_log("reload_keys")
    gateway.wait_for_log("reloaded")
    assert f'"{name}"' in line["error"], line
    assert line["member"].endswith("/namespace") and line["line"] > 1, line
    equal(len(gateway.find_log("reload_keys")),
          sum("idempotency" in route for route in config["routes"]))


def warned(gateway, since=0):
    return [(e["line"], e["column"], e["member"], e["error"])
            for e in gateway.find_log("configuration_warning", since)]


def checked(gateway):
    found = json.loads(command("check", "-c", gateway.file, "--json").stdout)
    return [(w["line"], w["column"], w["pointer"], w["words"])
            for w in found["warnings"]]


@test
def the_log_has_what_check_warns_of_at_the_start_and_at_a_reload(bench):
    config = bench.config(bench.upstream(), {"on_unknown": "retry"})
    gateway = bench.serve(config)
    equal(warned(gateway), checked(gateway))
    equal(len(warned(gateway)), 1)
    config["routes"][0]["idempotency"] = {
        "on_store_down": "forward", "scope": []}
    since = len(gateway.events)
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded", since)
    equal(warned(gateway, since), checked(gateway))
    equal(len(warned(gateway, since)), 2)


@test
def the_log_has_no_warning_where_check_has_none(bench):
    gateway = bench.serve(bench.config(bench.upstream()))
    equal((warned(gateway), checked(gateway)), ([], []))


@test
def a_reload_that_keeps_the_keys_says_nothing(bench):
    config = bench.config(bench.upstream())
    gateway = bench.serve(config)
    write(gateway.file, {**config, "drain_timeout": "7s"})
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    equal(gateway.find_log("reload_keys"), [])


tap.main()
