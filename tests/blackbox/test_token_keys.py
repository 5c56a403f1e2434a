# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3: the keys that verify tokens, by their URL."""

import json
import os
import signal
import threading
import time

from once import tap
from once.certificates import Authority
from once.gateway import command, write
from once.http import build
from once.messages import Stream, source
from once.tap import each, equal, test
from once.tokens import Issuer, Key
from once.upstream import answer, refused_port
from once.wait import PATIENCE

BODY = b"x" * 70_000  # it comes in pieces


class World:
    """A gateway whose tenant is a claim, and who publishes the keys."""

    def __init__(self, bench, tls=False, publishes=True, serves=True):
        self.bench, self.folder = bench, bench.folder()
        self.key = Key(self.folder, "HS256", "one")
        self.authority = Authority(self.folder) if tls else None
        self.issuer = Issuer(
            self.key, tls=self.authority.server() if tls else None)
        bench.upstreams.append(self.issuer)
        if not publishes:
            self.issuer.reply = answer(500)
        self.upstream = bench.upstream()
        self.scope = {"jwt": "sub", "keys": self.issuer.keys_url}
        if tls:
            self.scope["ca"] = self.authority.file
        self.config = bench.config(
            self.upstream, {"scope": [self.scope]}, workers=1,
            admin={"listen": "unix:" + os.path.join(self.folder, "admin")})
        self.config["routes"][0]["status_path"] = "/v1/keys/{key}"
        self.gateway = bench.serve(self.config) if serves else None
        if serves and publishes:
            self.gateway.wait_for_log("token_keys_new")

    def token(self, key=None):
        return "Bearer " + (key or self.key).token({"sub": "shop"})

    def new_key(self, kid="two"):
        return Key(self.folder, "HS256", kid)

    def ask(self, key=None, **more):
        return self.gateway.ask("k", tenant=self.token(key), **more)

    def asked(self, key, **more):
        """The same, on a thread of its own: a function that waits for the
        answer."""
        found = []
        thread = threading.Thread(
            target=lambda: found.append(self.ask(key, **more)), daemon=True)
        thread.start()

        def result():
            thread.join(PATIENCE)
            return found[0]
        return result

    def reload(self):
        since = len(self.gateway.events)
        write(self.gateway.file, self.config)
        self.gateway.signal(signal.SIGHUP)
        self.gateway.wait_for_log("reloaded", since)


def invalid(got):
    return (got.status, got.problem) == (401, "token-invalid")


def unverified(got):
    return (got.status, got.problem, got.get("Retry-After")) == (
        503, "token-unverified", "5")


# --- they are fetched ---

@test
def a_token_is_verified_by_keys_that_were_fetched(bench):
    world = World(bench, tls=True)
    equal([world.ask().status, world.ask().replayed], [201, True])
    equal(world.upstream.count(), 1)
    assert invalid(world.ask(Key(bench.folder(), "HS256", "one")))
    asked, = world.issuer.requests
    equal((asked.method, asked.target, asked.get("Host")),
          ("GET", "/jwks?of=shop", world.issuer.address))
    line, = world.gateway.find_log("token_keys_new")
    equal((line["route"], line["url"], line["again_s"]),
          ("charges", world.issuer.keys_url, 300))


@each([("seconds", "max-age=1234", 1234), ("others", 'public, MAX-AGE=7200',
                                            7200),
       ("too few", "max-age=1", 300), ("too many", "max-age=9999999", 86400),
       ("none", "public", 300), ("no store", "max-age=7200, no-store", 300),
       ("words", "max-age=soon", 300)])
def they_are_kept_as_their_cache_control_says(bench, said, kept_s):
    world = World(bench, publishes=False, serves=False)
    world.issuer.publish(world.key, fields=[("Cache-Control", said)])
    line = bench.serve(world.config).wait_for_log("token_keys_new")
    equal(line["again_s"], kept_s)


@test
def routes_with_one_url_share_what_is_fetched(bench):
    world = World(bench, serves=False)
    first = world.config["routes"][0]
    world.config["routes"] = [
        {**first, "name": f"r{i}", "path": f"/v{i}/charges",
         "status_path": f"/v{i}/keys/{{key}}"} for i in range(4)]
    gateway = world.gateway = bench.serve(world.config)
    gateway.wait_for_log("token_keys_new")
    for i in range(4):
        equal(world.ask(target=f"/v{i}/charges").status, 201 if i == 0 else 422)
    new = world.new_key()
    assert invalid(world.ask(new))
    equal(len(world.issuer.requests), 2)
    equal(len(gateway.find_log("token_keys_new")), 1)


# --- a key that is not known ---

@test
def a_new_key_is_asked_for_and_waited_for(bench):
    world = World(bench)
    new = world.new_key()
    world.issuer.publish(world.key, new)
    hold = world.issuer.hold()
    result = world.asked(new, body=BODY)
    hold.wait_arrived()
    equal(world.ask().status, 201)  # others go on meanwhile
    hold.release()
    got = result()
    equal((got.status, got.problem), (422, "key-reused"))
    got = world.ask(new)
    equal((got.status, got.replayed), (201, True))
    equal(len(world.issuer.requests), 2)


@test
def the_body_of_who_waited_reaches_the_api_whole(bench):
    world = World(bench)
    new = world.new_key()
    world.issuer.publish(new)
    equal(world.ask(new, body=BODY).status, 201)
    equal([r.body for r in world.upstream.requests], [BODY])


@test
def who_asks_about_a_key_waits_likewise(bench):
    world = World(bench)
    new = world.new_key()
    world.issuer.publish(new)
    got = world.gateway.send(build(
        "GET", "/v1/keys/k", [("Authorization", world.token(new))]))
    equal((got.status, got.json()["state"]), (200, "none"))


@test
def an_unknown_key_is_asked_for_once_in_a_while(bench):
    world = World(bench)
    for kid in ("two", "three", "two"):
        assert invalid(world.ask(world.new_key(kid)))
    equal(len(world.issuer.requests), 2)
    equal(world.upstream.count(), 0)


@test
def a_fetch_that_hangs_holds_a_request_for_two_seconds(bench):
    world = World(bench)
    hold = world.issuer.hold()
    began = time.monotonic()
    assert invalid(world.ask(world.new_key()))
    assert 1.9 < time.monotonic() - began < PATIENCE
    equal(world.ask().status, 201)
    world.gateway.stop()
    hold.release()


@test
def a_token_that_is_wrong_otherwise_asks_nobody(bench):
    world = World(bench)
    for wrong in ("x", "a.b.c", world.key.token({"sub": "shop", "exp": 1}),
                  world.key.token({"sub": "shop"}, header={"alg": "none"})):
        got = world.gateway.ask("k", tenant="Bearer " + wrong)
        assert invalid(got), got
    equal(len(world.issuer.requests), 1)


# --- nobody gives any ---

@test
def before_any_were_fetched_a_token_is_not_refused_but_put_off(bench):
    world = World(bench, publishes=False)
    world.config["routes"][0]["idempotency"]["scope_missing"] = "forward"
    world.reload()
    line = world.gateway.wait_for_log("token_keys_wrong")
    equal((line["route"], line["url"], line["error"]), (
        "charges", world.issuer.keys_url,
        world.issuer.keys_url + " answers with 500"))
    for token in (world.token(), "Bearer x"):
        got = world.gateway.ask("k", tenant=token)
        assert unverified(got), got
    got = world.gateway.send(build(
        "GET", "/v1/keys/k", [("Authorization", world.token())]))
    assert unverified(got), got
    equal(world.upstream.count(), 0)
    world.gateway.wait_for_log("request", outcome="token-unverified")
    world.issuer.publish(world.key)
    world.gateway.wait_for_log("token_keys_new")
    equal(world.ask().status, 201)
    equal(len(world.gateway.find_log("token_keys_wrong")), 1)


@test
def a_request_that_comes_first_waits_for_the_first_keys(bench):
    world = World(bench, serves=False)
    hold = world.issuer.hold()
    world.gateway = bench.serve(world.config)
    result = world.asked(world.key)
    hold.wait_arrived()
    hold.release()
    equal(result().status, 201)


def elsewhere(bench):
    """A redirect to who publishes a key of the same id."""
    other = Issuer(Key(bench.folder(), "HS256", "one"))
    bench.upstreams.append(other)
    return answer(307, b"", [("Location", other.keys_url)])


FAULTS = [
    ("an error", answer(503), "answers with 503"),
    ("nothing", answer(204, b"", length=False), "answers with 204"),
    ("a redirect", elsewhere, "answers with 307, a redirect, which is not"),
    ("a page", answer(200, b"<html>"), "has no JWK Set"),
    ("no keys", answer(200, b'{"keys": []}'), "has no key for RS256"),
    ("a broken key", answer(200, b'{"keys": [{"kty": "oct", "k": "eA"}]}'),
     "has a key, /keys/0, that"),
    ("too much", answer(200, b" " * (1 << 20) + b"{}"),
     "answers with more than 1 MiB"),
    ("half of it", answer(200, b'{"keys"').replace(b": 7", b": 70"),
     "cannot be fetched: "),
    ("no http", b"SSH-2.0-x\r\n", "cannot be fetched: ")]


@each([(name, *rest) for name, *rest in FAULTS])
def a_fault_of_it_keeps_the_last_good_keys(bench, reply, words):
    world = World(bench)
    reply = reply if isinstance(reply, bytes) else reply(bench)

    def and_close(connection, request):
        connection.send(reply)
        connection.close()
    world.issuer.reply = and_close
    assert invalid(world.ask(world.new_key()))
    line = world.gateway.wait_for_log("token_keys_wrong")
    assert line["error"].startswith(f"{world.issuer.keys_url} {words}"), line
    equal(line["again_s"], 30)
    equal(world.ask().status, 201)


@test
def keys_are_kept_while_nobody_is_there(bench):
    world = World(bench)
    world.issuer.stop()
    assert invalid(world.ask(world.new_key()))
    world.gateway.wait_for_log("token_keys_wrong")
    equal(world.ask().status, 201)
    world.config["log"] = {"level": "debug"}
    world.reload()  # the URL is the same
    equal(world.ask().replayed, True)


@test
def a_reload_with_another_url_asks_that(bench):
    world = World(bench)
    new = world.new_key()
    other = Issuer(new)
    bench.upstreams.append(other)
    world.scope["keys"] = other.keys_url
    world.reload()
    equal(world.ask(new).status, 201)
    assert invalid(world.ask())


# --- who is believed ---

@test
def a_redirect_is_not_followed(bench):
    world = World(bench, serves=False)
    stranger = Key(bench.folder(), "HS256", "one")
    other = Issuer(stranger)
    bench.upstreams.append(other)
    world.issuer.reply = answer(302, b"", [("Location", other.keys_url)])
    world.gateway = bench.serve(world.config)
    assert unverified(world.ask(stranger))
    equal((other.requests, world.upstream.count()), ([], 0))


@each([("another authority", "other"), ("another name", "name"),
       ("no longer valid", "days")])
def a_stranger_gives_no_keys(bench, how):
    world = World(bench, tls=True, serves=False)
    authority = Authority(bench.folder())
    if how != "other":
        world.scope["ca"] = authority.file
    context = authority.server(
        "DNS:id.example" if how == "name" else "IP:127.0.0.1")
    if how == "days":
        context.load_cert_chain(*authority.issue(
            "server", "IP:127.0.0.1", days=(-2, -1)))
    world.issuer.tls = context
    world.gateway = bench.serve(world.config)
    assert unverified(world.ask())
    line = world.gateway.wait_for_log("token_keys_wrong")
    assert " cannot be fetched: " in line["error"], line
    equal((world.issuer.requests, world.upstream.count()), ([], 0))


# --- messages ---

@test
def a_message_waits_for_the_keys_of_its_token(bench):
    world = World(bench, publishes=False, serves=False)
    stream = Stream(bench.own_redis())
    source(world.config, stream, request={"headers": {
        "Authorization": world.token()}})
    world.config["log"] = {"level": "debug"}
    world.gateway = bench.serve(world.config)
    world.gateway.wait_for_log("token_keys_wrong")
    stream.add(body=b"{}", idempotency_key="k")
    world.gateway.wait_for_steps("LOOK", 2)
    world.issuer.publish(world.key)
    world.gateway.wait_for_log("message", outcome="executed")
    equal((world.upstream.count(), stream.entries("charges:dead")), (1, []))


@test
def a_message_of_a_new_key_waits_while_its_url_is_away(bench):
    world = World(bench, serves=False)
    stream = Stream(bench.own_redis())
    new = world.new_key()
    source(world.config, stream, request={"headers": {
        "Authorization": "Bearer " + new.token({"sub": "shop"})}})
    world.config["log"] = {"level": "debug"}
    world.gateway = bench.serve(world.config)
    world.gateway.wait_for_log("token_keys_new")
    world.issuer.reply = answer(500)
    stream.add(body=b"{}", idempotency_key="k")
    world.gateway.wait_for_log("token_keys_wrong")
    steps = len(world.gateway.find_log("step"))
    world.gateway.wait_until(
        lambda: len(world.gateway.find_log("step")) > steps + 4,
        "it is looked at again")
    equal((world.upstream.count(), stream.entries("charges:dead")), (0, []))
    equal(world.gateway.find_log("message"), [])


# --- for operators ---

def checked(bench, *args, **scope):
    config = {"listen": ["127.0.0.1:0"],
              "upstreams": {"api": "http://127.0.0.1:9"},
              "routes": [{"path": "/", "upstream": "api", "idempotency": {
                  "scope": [{"jwt": "sub", **scope}]}}]}
    return command("check", "-c", bench.file(json.dumps(config).encode()),
                   *args, env={"COLUMNS": "200"})


@each([
    ("plain http", "http://id.example/jwks", 'must begin with "https://"'),
    ("a socket", "unix:///run/keys", 'must begin with "https://"'),
    ("another scheme", "ftp://id.example/jwks", "must be a URL: http"),
    ("no host", "https:///jwks", "host"),
    ("a password", "https://a:b@id.example/jwks", "user or password"),
    ("port 0", "https://id.example:0/jwks", "between 1 and 65535"),
    ("a fragment", "https://id.example/jwks#a", "visible ASCII"),
    ("a blank", "https://id.example/a?b c", "visible ASCII")])
def check_refuses_a_url(bench, url, words):
    said = checked(bench, keys=url)
    equal(said.returncode, 1)
    assert "/routes/0/idempotency/scope/0/keys: " in said.stdout, said
    assert words in said.stdout, said


@test
def check_takes_a_url_and_asks_nobody(bench):
    sock, port = refused_port()
    with sock:
        for url in (f"https://127.0.0.1:{port}/", f"http://localhost:{port}",
                    f"HTTPS://id.example:{port}/realms/a/certs?b=c"):
            said = checked(bench, "--explain", keys=url)
            equal(said.returncode, 0, said.stdout)
            assert f"    tokens     fetched from {url}\n" in said.stdout, said


@test
def check_looks_at_the_authorities_of_a_url(bench):
    keys = bench.file(b'{"keys": [{"kty": "oct", "k": "%s"}]}' % (b"A" * 43))
    for members, words in (
            ({"keys": keys, "ca": keys}, "only a URL of keys can have this"),
            ({"keys": "https://id.example/", "ca": keys},
             "contains no PEM certificate"),
            ({"keys": "https://id.example/", "ca": "/nowhere"},
             "No such file")):
        said = checked(bench, **members)
        equal(said.returncode, 1)
        assert "/routes/0/idempotency/scope/0/ca: " in said.stdout, said
        assert words in said.stdout, said


@test
def doctor_asks_for_the_keys(bench):
    world = World(bench, tls=True, serves=False)
    file = os.path.join(world.folder, "onceproxy.json")

    def found():
        write(file, world.config)
        said = json.loads(command("doctor", "-c", file, "--json").stdout)
        return next(f for f in said["findings"] if f["name"] == "token_keys")
    equal(found()["level"], "ok")
    world.issuer.reply = answer(404)
    finding = found()
    equal((finding["level"], finding["where"]),
          ("fail", "/routes/0/idempotency/scope/0"))
    assert finding["words"].endswith(
        f"{world.issuer.keys_url} answers with 404"), finding
    assert world.issuer.keys_url in finding["cure"], finding
    del world.scope["ca"]
    assert "cannot be fetched: " in found()["words"]
    equal(len(world.issuer.requests), 2)


tap.main()
