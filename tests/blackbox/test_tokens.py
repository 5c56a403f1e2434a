# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 3 and 6: a signed token (JWT) names the tenant; one that
is not to be believed gets nobody's answer."""

import base64
import hashlib
import hmac
import json
import os
import time

from once import tap
from once.admin import Admin
from once.gateway import command
from once.tap import each, equal, test
from once.tokens import Key, text64, write_keys
from once.upstream import answer, then_close

ISSUER, AUDIENCE = "https://id.example", "payments"
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA",
              "HS256"]


def claims(sub="alice", **others):
    now = int(time.time())
    made = {"iss": ISSUER, "aud": AUDIENCE, "sub": sub, "exp": now + 600,
            "nbf": now - 5, "iat": now - 5, **others}
    return {name: value for name, value in made.items() if value is not None}


class World:
    """A gateway whose scope is a claim, and the keys of the issuer."""

    def __init__(self, bench, algorithms=("HS256",), claim="sub", scope=(),
                 **others):
        self.folder = bench.folder()
        self.keys = {name: Key(self.folder, name, name.lower())
                     for name in algorithms}
        self.file = os.path.join(self.folder, "keys.json")
        write_keys(self.file, *self.keys.values())
        self.upstream = bench.upstream()
        rules = {"issuer": ISSUER, "audience": AUDIENCE, **others}
        entry = {"jwt": claim, "keys": self.file,
                 **{n: v for n, v in rules.items() if v is not None}}
        self.config = bench.config(
            self.upstream,
            admin={"listen": "unix:" + os.path.join(bench.folder(), "admin")},
            routes=[{"name": "charges", "path": "/v1/charges",
                     "methods": ["POST"], "upstream": "api",
                     "idempotency": {"scope": [entry, *scope]}}])
        self.gateway = bench.serve(self.config)

    def key(self):
        return next(iter(self.keys.values()))

    def ask(self, token, key="k", **kwargs):
        return self.gateway.ask(key, tenant=f"Bearer {token}", **kwargs)

    def replayed(self, token, **kwargs):
        got = self.ask(token, **kwargs)
        equal(got.status, 201, got.body)
        return got.replayed

    def refused(self, token, words=None, **kwargs):
        before = self.upstream.count()
        got = self.ask(token, **kwargs)
        equal((got.status, got.problem), (401, "token-invalid"), token)
        equal(got.get("WWW-Authenticate"), "Bearer")
        equal(got.get("Idempotent-Replayed"), None)
        equal(self.upstream.count(), before)
        detail = got.json()["detail"]
        assert words is None or words in detail, got.body
        self.gateway.wait_for_log(
            "request", outcome="token-invalid", detail=detail)
        return got


@test
def a_route_that_observes_counts_a_bad_token_as_it_would_be_refused(bench):
    world = World(bench)
    world.refused(world.key().token(claims(exp=1)))
    refused = world.gateway.wait_for_log("request")
    world.config["routes"][0]["mode"] = "observe"
    world.config["admin"]["listen"] += "-2"
    gateway = bench.serve(world.config)
    equal(gateway.ask("k", tenant="Bearer x.y.z").status, 201)
    (route,) = Admin(gateway).get("/observed")["routes"]
    equal(route["would"], {refused["outcome"]: 1})
    equal(gateway.wait_for_log("request")["outcome"], "passed")


@each([(name, name) for name in ALGORITHMS])
def a_renewed_token_keeps_its_keys(bench, algorithm):
    world = World(bench, [algorithm])
    key = world.key()
    first = key.token(claims())
    assert not world.replayed(first)
    assert world.replayed(key.token(claims(exp=int(time.time()) + 9999)))
    assert world.replayed(key.token(claims(aud=["a", AUDIENCE]), cty="x"))
    equal(world.upstream.count(), 1)
    equal(world.upstream.requests[0].get("Authorization"), f"Bearer {first}")
    assert not world.replayed(key.token(claims("bob")))
    last = first[:-2] + ("A" if first[-2] != "A" else "B") + first[-1]
    world.refused(last)


@test
def each_token_is_verified_by_the_key_it_names(bench):
    world = World(bench, ALGORITHMS)
    for number, key in enumerate(world.keys.values()):
        equal(world.replayed(key.token(claims())), number > 0)
    for key in world.keys.values():
        for other in world.keys:
            if other != key.algorithm:
                world.refused(key.token(claims(), kid=other.lower()))


def tampered(world):
    """Tokens that are not to be believed, by what is wrong with them."""
    rs, hs = world.keys["RS256"], world.keys["HS256"]
    now = int(time.time())
    good = hs.token(claims())
    header, payload, signature = good.split(".")
    victim = json.dumps(claims("victim")).encode()
    stranger = Key(world.folder, "HS256", "hs256")

    def by_public_key(data):
        """HS256 with what everybody knows of an RSA key as the secret."""
        start = text64(json.dumps({"alg": "HS256", "kid": "rs256"}).encode())
        signed = f"{start}.{text64(victim)}"
        mac = hmac.new(data, signed.encode(), hashlib.sha256).digest()
        return f"{signed}.{text64(mac)}"

    def none(name, last=""):
        start = text64(json.dumps({"alg": name}).encode())
        return f"{start}.{text64(victim)}.{last}"

    return {
        "nothing": "", "a word": "abc", "two parts": f"{header}.{payload}",
        "four parts": good + ".x", "only dots": "..",
        "no signature": f"{header}.{payload}.",
        "another signature": stranger.token(claims()),
        "another payload": f"{header}.{text64(victim)}.{signature}",
        "padding": good + "=", "a blank inside": f"{header}.{payload} .x",
        "the other base64": header + "+." + payload + "." + signature,
        "two of them": f"{good},{good}",
        "none": none("none"), "None": none("None"), "NONE": none("NONE"),
        "none with a signature": none("none", signature),
        "an empty algorithm": none("", signature),
        "no algorithm": hs.token(claims(), header={"kid": "hs256"}),
        "an algorithm that is a list": hs.token(claims(), alg=["HS256"]),
        "an algorithm in small letters": hs.token(claims(), alg="hs256"),
        "an algorithm that is not taken": hs.token(claims(), alg="HS512"),
        "the algorithm of another key": hs.token(claims(), alg="EdDSA"),
        "a secret that is a public key": by_public_key(rs.pem()),
        "a secret that is its text": by_public_key(rs.pem().strip()),
        "a secret that is its modulus": by_public_key(
            rs.public()["n"].encode()),
        "another kid": hs.token(claims(), kid="x"),
        "a kid that is a number": hs.token(claims(), kid=7),
        "a kid that is a path": hs.token(claims(), kid="../../dev/null"),
        "a kid with a NUL": hs.token(claims(), kid="hs256\0"),
        "a key of its own": stranger.token(
            claims(), jwk=stranger.public(), kid="mine"),
        "a key elsewhere": stranger.token(
            claims(), jku="http://127.0.0.1:1/keys", kid="mine"),
        "an extension": hs.token(claims(), crit=["exp"]),
        "an algorithm twice": hs.token_of(
            b'{"alg":"HS256","alg":"HS256","kid":"hs256"}', claims()),
        "a subject twice": hs.token_of(
            {"alg": "HS256", "kid": "hs256"},
            b'{"sub":"alice","sub":"victim","iss":"%s","aud":"%s"}'
            % (ISSUER.encode(), AUDIENCE.encode())),
        "a header that is no object": hs.token_of(b'"HS256"', claims()),
        "a payload that is no JSON": hs.token(b"sub=alice"),
        "a payload that is a list": hs.token(b'["alice"]'),
        "a payload that is no UTF-8": hs.token(b'{"sub":"\xff"}'),
        "a payload that is nested deep": hs.token(b"[" * 4000),
        "something behind the payload": hs.token(victim + b"{}"),
        "expired": hs.token(claims(exp=now - 70)),
        "expired long ago": hs.token(claims(exp=0)),
        "expired before the epoch": hs.token(claims(exp=-1)),
        "an end that is a text": hs.token(claims(exp=str(now + 99))),
        "an end beyond all times": hs.token(claims(exp=10**30)),
        "not yet valid": hs.token(claims(nbf=now + 90)),
        "a beginning that is a list": hs.token(claims(nbf=[now])),
        "another issuer": hs.token(claims(iss="https://evil.example")),
        "no issuer": hs.token(claims(iss=None)),
        "an issuer with a NUL": hs.token(claims(iss=ISSUER + "\0")),
        "a list of issuers": hs.token(claims(iss=[ISSUER])),
        "another audience": hs.token(claims(aud="shop")),
        "no audience": hs.token(claims(aud=None)),
        "audiences without ours": hs.token(claims(aud=["a", "b"])),
        "an audience with a NUL": hs.token(claims(aud=AUDIENCE + "\0")),
        "no subject": hs.token(claims(None)),
        "an empty subject": hs.token(claims("")),
        "a subject that is a list": hs.token(claims(["alice"])),
        "a subject that is true": hs.token(claims(True)),
        "a subject that is null": hs.token_of(
            {"alg": "HS256", "kid": "hs256"},
            b'{"sub":null,"iss":"%s","aud":"%s"}'
            % (ISSUER.encode(), AUDIENCE.encode())),
        "a huge one": hs.token(claims(x="y" * 9000)) + "A",
    }


NAMES = [
    "nothing", "a word", "two parts", "four parts", "only dots",
    "no signature", "another signature", "another payload", "padding",
    "a blank inside", "the other base64", "two of them", "none", "None",
    "NONE", "none with a signature", "an empty algorithm", "no algorithm",
    "an algorithm that is a list", "an algorithm in small letters",
    "an algorithm that is not taken", "the algorithm of another key",
    "a secret that is a public key", "a secret that is its text",
    "a secret that is its modulus", "another kid", "a kid that is a number",
    "a kid that is a path", "a kid with a NUL", "a key of its own",
    "a key elsewhere", "an extension", "an algorithm twice",
    "a subject twice", "a header that is no object",
    "a payload that is no JSON", "a payload that is a list",
    "a payload that is no UTF-8", "a payload that is nested deep",
    "something behind the payload", "expired", "expired long ago",
    "expired before the epoch", "an end that is a text",
    "an end beyond all times", "not yet valid", "a beginning that is a list",
    "another issuer", "no issuer", "an issuer with a NUL",
    "a list of issuers", "another audience", "no audience",
    "audiences without ours", "an audience with a NUL", "no subject",
    "an empty subject", "a subject that is a list", "a subject that is true",
    "a subject that is null", "a huge one"]


@each([(name, name) for name in NAMES])
def a_hostile_token_is_refused(bench, name):
    """Also where its key is known and has an answer, and where another scope
    has a value."""
    world = World(bench, ["RS256", "HS256"], scope=["X-Tenant"])
    tenant = [("X-Tenant", "t")]
    hs = world.keys["HS256"]
    for sub in ("alice", "victim"):
        assert not world.replayed(hs.token(claims(sub)), fields=tenant)
    tokens = tampered(world)
    equal(set(tokens), set(NAMES))
    world.refused(tokens[name], fields=tenant)
    line = world.gateway.wait_for_log("request", status=401)
    equal(line["outcome"], "token-invalid")


@test
def clocks_may_be_a_minute_apart(bench):
    world = World(bench)
    now = int(time.time())
    assert not world.replayed(world.key().token(claims(exp=now - 30)))
    assert world.replayed(world.key().token(claims(nbf=now + 30)))
    assert world.replayed(world.key().token(claims(exp=now + 90.5)))
    assert world.replayed(world.key().token(claims(exp=None, nbf=None)))


@test
def no_two_subjects_are_one(bench):
    """Whatever is in their claims: types, NULs, other spellings."""
    world = World(bench, issuer=None, audience=None)
    key = world.key()
    different = [
        claims("1"), claims(1), claims("a"), claims("a\0b"), claims("A"),
        claims("a "), claims("\u00e4"), claims("a\u0308"), claims("n1"),
        claims("1", iss="x"), claims("1", iss=None), claims("1", iss=""),
        claims("s1", iss="https://id.example/"), claims(12), claims(1.5),
        claims("a\0c")]
    for made in different:
        assert not world.replayed(key.token(made)), made
    for made in different:
        assert world.replayed(key.token(made)), made
    assert world.replayed(key.token_of(
        {"alg": "HS256", "kid": "hs256"},
        json.dumps(claims()).replace('"alice"', "1.0").encode()))


@each([("no token", None), ("HTTP Basic", "Basic YTpi"),
       ("another scheme", "Bearers abc")])
def who_has_no_token_names_nobody(bench, tenant):
    world = World(bench)
    got = world.gateway.ask("k", tenant=tenant)
    equal((got.status, got.problem), (400, "scope-missing"))
    equal(world.upstream.count(), 0)


@test
def two_lines_with_tokens_are_refused(bench):
    world = World(bench)
    token = world.key().token(claims())
    got = world.ask(token, fields=[("authorization", f"Bearer {token}")])
    equal((got.status, got.problem), (400, "bad-request"))
    equal(world.upstream.count(), 0)


@test
def a_claim_may_have_any_name(bench):
    world = World(bench, claim="https://id.example/tenant~1")
    claim = {"https://id.example/tenant~1": "t"}
    assert not world.replayed(world.key().token(claims("a", **claim)))
    assert world.replayed(world.key().token(claims("b", **claim)))
    world.refused(world.key().token(claims("a")), "claim")


# --- the keys change ---

@test
def the_keys_are_read_again_when_their_file_changes(bench):
    world = World(bench)
    old, new = world.key(), Key(world.folder, "ES256", "new")
    assert not world.replayed(old.token(claims()))
    world.refused(new.token(claims()), "is not known")
    write_keys(world.file, old, new)
    equal(world.gateway.wait_for_log("token_keys_new")["route"], "charges")
    assert world.replayed(new.token(claims()))
    with open(world.file + ".new", "w", encoding="ascii") as file:
        file.write('{"keys": [')
    os.replace(file.name, world.file)
    said = world.gateway.wait_for_log("token_keys_wrong")["error"]
    equal(said, f"{world.file} is no JSON: at 1:10 this [ is never closed")
    assert world.replayed(new.token(claims()))
    os.unlink(world.file)
    world.gateway.wait_for_log("token_keys_wrong", error=(
        f"{world.file} cannot be read: No such file or directory"))
    assert world.replayed(new.token(claims()))
    since = len(world.gateway.events)
    write_keys(world.file, new)
    world.gateway.wait_for_log("token_keys_new", since)
    world.refused(old.token(claims()))
    assert world.replayed(new.token(claims()))


@test
def a_file_that_several_routes_name_is_said_once(bench):
    world = World(bench)
    first = world.config["routes"][0]
    world.config["routes"] += [
        {**first, "name": f"refunds{i}", "path": f"/v1/refunds{i}"}
        for i in range(7)]
    world.config["admin"]["listen"] += "-2"
    gateway = bench.serve(world.config)
    write_keys(world.file, world.key(), Key(world.folder, "ES256", "new"))
    gateway.wait_for_log("token_keys_new")
    with open(world.file, "w", encoding="ascii") as file:
        file.write("{")
    since = len(gateway.events)
    gateway.wait_for_log("token_keys_wrong")
    write_keys(world.file, world.key())
    gateway.wait_for_log("token_keys_new", since)
    # One line for each change; two where it came while the files were read.
    for how in ("new", "wrong"):
        told = gateway.find_log(f"token_keys_{how}")
        assert len(told) <= 4, told


@test
def a_token_without_a_kid_needs_an_only_key(bench):
    world = World(bench, ["ES256", "HS256"])
    hs = world.keys["HS256"]
    assert not world.replayed(hs.token(claims(), header={"alg": "HS256"}))
    write_keys(world.file, hs, Key(world.folder, "HS256", "other"))
    world.gateway.wait_for_log("token_keys_new")
    world.refused(hs.token(claims(), header={"alg": "HS256"}),
                  "names no key (kid)")
    assert world.replayed(hs.token(claims()))


@test
def a_token_of_no_known_key_is_told_which_that_is(bench):
    world = World(bench, ["HS256"])
    hs = world.keys["HS256"]
    world.refused(hs.token(claims(), kid="2026-12"),
                  'kid "2026-12", is not known')
    world.refused(hs.token(claims(), kid="\u202ex"), 'kid "?", is not known')
    other = Key(world.folder, "ES256", "e")
    world.refused(other.token(claims(), header={"alg": "ES256"}),
                  "No key of the token's algorithm")


# --- a question that names the tenant ---

@test
def the_api_is_asked_about_the_claim_and_no_number(bench):
    """It knows nothing of how a record has it; and 42 is not "42"."""
    world = World(bench)
    world.config["store"]["encryption_keys"] = [
        {"id": "a", "key": base64.b64encode(32 * b"k").decode()}]
    world.config["admin"]["listen"] += "-2"
    world.config["routes"][0]["idempotency"]["on_unknown"] = {"reconcile": {
        "path": "/v1/{scope:0}/by-key/{key}", "settle": "0s", "absent": [404],
        "headers": {"X-Tenant": "{scope:0}"}}}
    gateway = bench.serve(world.config)
    world.upstream.reply = then_close(b"")
    for path in ("/v1/alice/by-key/k", "/v1/42/by-key/k"):
        world.upstream.replies[path] = answer(201, b"alice's")
    for sub in (42, "alice"):
        got = gateway.ask(
            "k", tenant="Bearer " + world.key().token(claims(sub)))
        equal(got.problem, "outcome-unknown")
    gateway.wait_for_log("asked", answer="happened")
    equal([(r.target, r.get("X-Tenant")) for r in world.upstream.requests
           if r.method == "GET"], [("/v1/alice/by-key/k", "alice")])


# --- for operators ---

@test
def an_operator_finds_a_key_by_its_claim(bench):
    world = World(bench, issuer=None)

    def state(*scope):
        words = [word for name in scope for word in ("--scope", name)]
        done = command("keys", "show", "-c", world.gateway.file, "--key", "k",
                       *words, "--json")
        return json.loads(done.stdout)["state"] if done.stdout else None
    world.ask(world.key().token(claims()))
    world.ask(world.key().token(claims(42)))
    issuer = f"jwt.iss: {ISSUER}"
    equal(state("jwt.sub: alice", issuer), "COMPLETED")
    equal(state("jwt.sub: 42", issuer), "COMPLETED")
    equal(state("jwt.sub: alice"), None)
    equal(state("jwt.sub: 43", issuer), None)


# --- check ---

def rsa(bits):
    return {"kty": "RSA", "n": text64(b"\xc1" * (bits // 8)), "e": "AQAB"}


SHORT = {"kty": "oct", "k": text64(b"x" * 31)}
LONG = {"kty": "oct", "k": text64(b"x" * 32)}


@each([
    ("no such file", None, "cannot be read"),
    ("a PEM file", b"-----BEGIN PUBLIC KEY-----\n", "has no JWK Set"),
    ("a comma too few", b'{"keys": [\n  {"kty": "oct"\n   "k": "x"}\n]}',
     " is no JSON: at 3:4 a comma is missing before this"),
    ("a bracket too few", b'{"keys": [{}]', "at 1:1 this { is never closed"),
    ("a bracket of another kind", b'{"keys": [\n  {]}',
     'at 2:4 this object is closed by "}", not by "]" (what is open there '
     "begins at 2:3)"),
    ("a member twice", b'{"keys": [],\n "keys": []}',
     "has no JWK Set: at 2:2 a member appears twice"),
    ("a comment", b'{"keys": [] // none\n}', "has no JWK Set: a comment"),
    ("a mark", b'\xef\xbb\xbf{"keys": []}', "a byte order mark"),
    ("no keys", {"keys": []}, "has no key for"),
    ("a key alone", LONG, "has no JWK Set"),
    ("a short secret", {"keys": [SHORT]},
     "has a key, /keys/0, that has no \"k\" of 32 bytes"),
    ("a short RSA key", {"keys": [LONG, rsa(1024)]},
     "/keys/1, that has less than 2048 bits"),
    ("a point that is none", {"keys": [{
        "kty": "EC", "crv": "P-256", "x": text64(b"x" * 31),
        "y": text64(b"y" * 32)}]}, "of 32 bytes"),
    ("two of one id", {"keys": [{**LONG, "kid": "a"}, {**LONG, "kid": "a"}]},
     "/keys/1, that has the \"kid\" of another one"),
    ("keys for others", {"keys": [
        {**LONG, "use": "enc"}, {**LONG, "alg": "HS512"},
        {**LONG, "key_ops": ["sign"]}, {**rsa(2048), "alg": "PS512"},
        {"kty": "EC", "crv": "P-521"}]},
     'has no key for RS256, RS384, RS512, PS256, ES256, ES384, EdDSA or HS256; '
     'left out: /keys/0 ("use" is "enc"), /keys/1 ("alg" is "HS512"), '
     '/keys/2 ("key_ops" has no "verify"), /keys/3 ("alg" is "PS512"), '
     '/keys/4 ("crv" is "P-521")')])
def check_refuses_keys(bench, made, words):
    file = os.path.join(bench.folder(), "keys")
    if made is not None:
        data = made if isinstance(made, bytes) else json.dumps(made).encode()
        file = bench.file(data)
    said = complaints(bench, {"jwt": "sub", "keys": file})
    assert "/routes/0/idempotency/scope/0/keys" in said, said
    assert words in said, said


def complaints(bench, entry):
    config = {"listen": ["127.0.0.1:0"],
              "upstreams": {"api": "http://127.0.0.1:9"},
              "routes": [{"path": "/", "upstream": "api",
                          "idempotency": {"scope": [entry]}}]}
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(done.returncode, 1)
    return done.stdout


@test
def check_warns_of_a_private_key(bench):
    pair = {**rsa(2048), "kid": "shop", "d": text64(b"d" * 256)}
    public = {name: pair[name] for name in pair if name != "d"}
    secret = {**LONG, "d": "of no meaning"}  # oct has no private part
    for keys, warned in (([pair], True), ([LONG, pair], True),
                         ([public, secret], False)):
        file = bench.file(json.dumps({"keys": keys}).encode())
        config = {"listen": ["127.0.0.1:0"],
                  "upstreams": {"api": "http://127.0.0.1:9"},
                  "routes": [{"path": "/", "upstream": "api", "idempotency": {
                      "scope": [{"jwt": "sub", "keys": file}]}}]}
        done = command("check", "-c", bench.file(json.dumps(config).encode()))
        equal(done.returncode, 0, done.stdout)
        equal("/routes/0/idempotency/scope: the file of keys has a private "
              "key (shop)" in done.stdout, warned, done.stdout)
        assert text64(b"d" * 256) not in done.stdout


@test
def check_explains_which_keys_are_left_out(bench):
    file = bench.file(json.dumps({"keys": [
        {**LONG, "kid": "a"}, {"kty": "RSA", "use": "enc", "kid": "b"}, LONG,
        {"kty": 7}, {}, {**rsa(2048), "kid": "c"}]}).encode())
    config = {"listen": ["127.0.0.1:0"],
              "upstreams": {"api": "http://127.0.0.1:9"},
              "routes": [{"path": "/", "upstream": "api", "idempotency": {
                  "scope": [{"jwt": "sub", "keys": file}]}}]}

    def explained():
        done = command("check", "-c", bench.file(json.dumps(config).encode()),
                       "--explain", env={"COLUMNS": "200"})
        equal(done.returncode, 0, done.stdout)
        return done.stdout
    for line in ("    tokens     a (HS256), one without a kid (HS256), c "
                 "(RS256)\n",
                 '    left out   /keys/1 ("use" is "enc"), /keys/3 ("kty" is '
                 'no text), /keys/4 (has no "kty")\n'):
        assert line in explained(), (line, explained())
    with open(file, "w", encoding="ascii") as out:
        json.dump({"keys": [{**LONG, "kid": "a"}]}, out)
    assert "    tokens     a (HS256)\n" in explained()
    assert "left out" not in explained()


@test
def check_refuses_what_is_half_a_token(bench):
    assert '"keys" is needed too' in complaints(bench, {"jwt": "sub"})
    for name in ("keys", "issuer", "audience"):
        said = complaints(bench, {"basic": "user", name: "x"})
        assert f'/scope/0/{name}: only "jwt" can have this' in said, said


tap.main()
