# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: `onceproxy check`, and what it explains."""

import json
import os
import re

from once import tap
from once.certificates import Authority
from once.demo import source
from once.gateway import command
from once.tap import each, equal, test

SECRETS = ("s3cret-1", "s3cret-2", "s3cret-3", "s3cret-4", "s3cret-5",
           "s3cret-6", "s3cret-7", "s3cret-8")
HOOK = "https://h/s3cret-8"
KEY = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="


def check(bench, config, *args, **env):
    file = bench.file(json.dumps(config).encode())
    done = command("check", "-c", file, *args, env=env)
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    return done.stdout


def explain(bench, config, width=None):
    """The text for people, as a dict from a part's title to its lines."""
    env = {"COLUMNS": str(width)} if width else {}
    text = check(bench, config, "--explain", **env)
    first, *parts = text.split("\n\n")
    assert first.endswith(": ok"), text
    return {part.split(":\n")[0]: part.split(":\n", 1)[1].splitlines()
            for part in parts}


def settings(lines):
    """Of a part's lines: the settings, and which of them are marked."""
    found, marked = {}, set()
    for line in lines:
        if line[3:4] != " ":
            name, value = re.match(r"[ *+]  (\S+) +(.*)$", line).groups()
            found[name] = value
            if line[0] == "*":
                marked.add(name)
        else:
            found[name] += " " + line.strip()
    return found, marked


def least():
    return {"listen": ["127.0.0.1:0"],
            "upstreams": {"api": "http://127.0.0.1:9"},
            "routes": [{"name": "charges", "methods": ["POST"],
                        "path": "/v1/charges", "upstream": "api",
                        "idempotency": {}},
                       {"path": "/*", "upstream": "api"}]}


def options(group):
    found = []
    for table in ("options.h", "route_options.h", "message_options.h",
                  "relay_options.h", "answer_options.h", "scope_options.h",
                  "unknown_options.h"):
        with open(source(f"src/tbl/{table}"), encoding="ascii") as file:
            found += re.findall(
                rf'^OPT\({group}, "([^"]+)"', file.read(), re.M)
    return found


def has_postgres(bench):
    config = {**least(), "brokers": {"shop": {"postgres": "postgresql://h"}}}
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    return "built without PostgreSQL" not in done.stdout


def redis_tls(bench):
    """What leads to a Redis by TLS."""
    authority = Authority(bench.folder())
    own = authority.issue("gate")
    return {"ca": authority.file, "certificate": own.file, "key": own.key,
            "server_name": "redis.example"}

def has_kafka(bench):
    config = {**least(), "brokers": {"events": {"kafka": ["h:1"]}}}
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    return "built without Kafka" not in done.stdout


def messages(bench):
    """Brokers, sources and relays, as far as they are built in."""
    token = os.path.join(bench.folder(), "token")
    with open(token, "w", encoding="ascii") as file:
        file.write(SECRETS[3])
    tls = redis_tls(bench)
    brokers = {"queue": {"redis": f"rediss://me:{SECRETS[4]}@127.0.0.1:7/1",
                         "tls": tls, "timeout": "1s"}}
    common = {
        "in_flight": 7, "retry": {"first": "2s", "most": "1m", "attempts": 3},
        "hold": "2h", "refused": "ack", "max_age": "3d", "keep_dead": 500,
        "behind": "go-on"}
    relays = {"hooks": {
        "webhook": HOOK, "answer": True, "routes": ["all"],
        "secrets": ["whsec_" + KEY], "states": ["COMPLETED"]}}
    sources = {"charges": {
        **common, "broker": "queue", "stream": "in", "group": "g",
        "start": "latest",
        "request": {
            "method": "PUT", "path": "/b?x={json:/a~1b}&y={id}",
            "headers": {"Authorization": {"file": token},
                        "X-From": "{header:from}, {id}"},
            "body": {"field": "payload"}, "content_type": "text/plain",
            "cloudevents": "binary"},
        "key": {"header": "event_id"}, "order_by": ["/account"],
        "results": {"stream": "out"}, "dead_letters": {"stream": "no"}}}
    if has_postgres(bench):
        brokers["shop"] = {
            "postgres":
                f"postgresql://me:{SECRETS[5]}@h:1,h2/x?sslmode=disable"}
        sources["outbox"] = {
            **common, "broker": "shop", "table": "shop.outbox",
            "columns": {"id": "i", "entity": "e", "type": "t",
                        "payload": "p", "headers": "h", "order": "o"},
            "finish": {"set": "done"}, "notify": "outbox", "poll": "2s",
            "request": {"path": "/b", "headers": {
                "Authorization": "{entity}-{type}"}},
            "key": ["/order"], "order_by": "entity",
            "results": {"table": "out"}, "dead_letters": {"table": "no"}}
        relays["ledger"] = {
            "broker": "shop", "table": "shop.ledger", "answer": True,
            "routes": ["all"], "states": ["COMPLETED", "FAILED"]}
    if has_kafka(bench):
        brokers["events"] = {
            "kafka": ["h:1", "i:2"],
            "settings": {"client.rack": "a", "sasl.password": SECRETS[6]}}
        sources["orders"] = {
            **common, "broker": "events", "topics": ["a", "b"], "group": "g",
            "start": "latest", "request": {"path": "/b", "headers": {
                "Authorization": "{key}"}},
            "order_by": "key", "results": {"topic": "out"},
            "dead_letters": {"topic": "no"}}
        relays["topic"] = {
            "broker": "events", "topic": "outcomes", "answer": True,
            "routes": ["all"], "states": ["COMPLETED"]}
    return {"brokers": brokers, "sources": sources, "relays": relays}


def witnessed(bench):
    if not has_postgres(bench):
        return []
    return [{"path": "/d", "upstream": "b/c", "idempotency": {
        "on_unknown": {"witness": {
            "broker": "shop", "table": "api.w", "wait": "1s", "status": 201,
            "then": {"reconcile": {
                "path": "/by/{key}", "absent": [404], "settle": "0s"}},
            "enforced_by": "api.payments"}}}}]


def everything(bench):
    """Every option, with a value that is not its default."""
    tls = Authority(bench.folder()).issue("gate")
    upstream = {
        "targets": ["http://127.0.0.1:9/base", "unix:/run/x"],
        "connect_timeout": "3s", "timeout": "1500ms", "keepalive": 3,
        "reuse": "never", "max_idle": "2s", "max_age": "1m",
        "close_delimited": True, "host": "target", "forwarded": "trust",
        "trust_overrides": True,
        "health": {"path": "/well", "interval": "9s"}, "ca": "/ca.pem",
        "certificate": "/c.pem", "key": "/k.pem"}
    idempotency = {
        "header": ["A-Key", "B-Key"], "required": False,
        "derive_key": ["/a~1b/c~0d", "/e"], "key_format": "uuid",
        "max_length": 36, "min_length": 22, "scope": [], "namespace": "n",
        "scope_missing": "forward", "problems": {"key-reused": 400},
        "preset": "paypal",
        "fingerprint": {"include": ["method", "body"], "headers": ["X-A"],
                        "json": True, "ignore": ["/t", {"query": "ts"}],
                        "only": ["/a"]},
        "retention": "36h", "unknown_retention": "60d", "lease": "1500ms",
        "in_flight": "wait", "wait_timeout": "90s",
        "outcomes": {"4xx": "release", "404": "store", "503": "store",
                     "2xx": "unknown"},
        "on_unknown": {"reconcile": {
            "path": "/by/{key}?x=1", "settle": "1m", "absent": [404],
            "status": 201, "keys_unique": True,
            "headers": {"X-Ours": "of {key}"}}},
        "max_attempts": 9, "send_derived": True,
        "entity": ["/order_id"], "newer_only": "/version",
        "serialize": True, "label": ["/order_id"],
        "on_store_down": "forward", "max_request_body": 1000,
        "max_response_body": "2MiB", "omit_headers": ["X-B"],
        "replay_header": "", "attempt_header": "X-Attempt",
        "key_id_header": "X-Key-Id",
        "echo_key": True, "replay_json": ["/t"],
        "cors": {"origins": ["https://shop.example"], "max_age": "2h"}}
    return {
        "listen": ["127.0.0.1:0",
                   {"address": "unix:/run/y", "mode": "0660", "group": "g"},
                   {"address": "127.0.0.1:1", "proxy_protocol": [
                       "10.0.0.0/8", "2001:db8::/32"], "tls": {
                       "certificate": tls.file, "key": tls.key}}],
        "workers": 3, "instance": "gate-1", "state_dir": "/state",
        "drain_timeout": "7s",
        "log": {"level": "debug", "access": False},
        "limits": {"connections": 5, "request_headers": "8KiB",
                   "header_timeout": "1s", "idle_timeout": "2m",
                   "in_flight_bytes": "1GiB", "probes": 2},
        "admin": {"listen": "127.0.0.1:9090", "token": SECRETS[0],
                  "tokens": {"alice": SECRETS[0], "bob": {
                      "token": SECRETS[0], "read_only": True}}},
        "store": {"redis": f"rediss://me:{SECRETS[1]}@127.0.0.1:6380/3",
                  "tls": redis_tls(bench),
                  "prefix": "p", "timeout": "1s", "shards": 8,
                  "wait_timeout": "1s",
                  "events": {"maxlen": 10, "overflow": "refuse"},
                  "secret": SECRETS[2], "allow_eviction": True,
                  "compression": "none",
                  "encryption_keys": [{"id": "a", "key": KEY}],
                  "encryption_strict": True},
        "cache": {"size": 0},
        "upstreams": {"api": upstream, "b/c": "http://h"},
        "problem_base": "https://x/", "defaults": {"lease": "9s"},
        "routes": [
            {"name": "all", "methods": ["POST", "PUT"], "path": "/a/{x}/*",
             "upstream": "api", "status_path": "/a/keys/{key}",
             "policy_path": "/a/policy", "idempotency": idempotency},
            {"path": "/b", "upstream": "b/c", "idempotency": {
                "derive_key": "body", "on_unknown": "retry",
                "scope": ["Authorization", {"basic": "user"}]}},
             {"path": "/c", "upstream": "b/c", "mode": "observe",
              "idempotency": {}},
            *witnessed(bench),
            {"path": "/*", "upstream": "b/c"}],
        **messages(bench)}


def has_member(found, path):
    for name in path.split("."):
        if name not in found:
            return False
        found = found[name]
    return True


def merged(whole, part):
    """Whether everything in part is in whole too."""
    if isinstance(part, dict):
        return all(k in whole and merged(whole[k], v)
                   for k, v in part.items())
    if isinstance(part, list) and part and isinstance(part[0], dict):
        return all(merged(w, p) for w, p in zip(whole, part))
    return whole == part


# --- as JSON ---------------------------------------------------------------

@test
def the_json_is_a_configuration_that_comes_to_the_same(bench):
    for config in (least(), everything(bench)):
        shown = check(bench, config, "--explain", "--json")
        again = json.loads(shown)
        for key in again["store"].get("encryption_keys", []):
            key["key"] = KEY  # which was hidden
        for relay in again.get("relays", {}).values():
            if "secrets" in relay:
                relay["secrets"] = ["whsec_" + KEY]
                relay["webhook"] = HOOK
        once_more = check(bench, again, "--explain", "--json")
        equal(json.loads(once_more), json.loads(shown))


@test
def the_json_has_what_the_file_says(bench):
    config = everything(bench)
    shown = json.loads(check(bench, config, "--explain", "--json"))
    equal(shown["store"]["redis"], "rediss://127.0.0.1:6380/3")
    equal(shown["store"]["user"], "me")
    equal(shown["upstreams"]["b/c"]["targets"], ["http://h"])
    equal(shown["listen"][0], {"address": "127.0.0.1:0"})
    equal(shown["brokers"]["queue"]["redis"], "rediss://127.0.0.1:7/1")
    equal(shown["brokers"]["queue"]["user"], "me")
    equal(shown["admin"].pop("tokens"), {
        "alice": {"token": "(hidden)", "read_only": False},
        "bob": {"token": "(hidden)", "read_only": True}})
    del config["admin"]["token"], config["admin"]["tokens"]
    for broker in config["brokers"].values():
        broker.pop("redis", None)
        broker.pop("postgres", None)
        broker.get("settings", {}).pop("sasl.password", None)
    del config["sources"]["charges"]["request"]["headers"]["Authorization"]
    del config["relays"]["hooks"]["secrets"]
    config["relays"]["hooks"]["webhook"] = "https://h/(hidden)"
    for name in ("redis", "secret", "encryption_keys"):
        del config["store"][name]
    del config["upstreams"]["b/c"], config["listen"][0]
    del shown["listen"][0]
    outcomes = config["routes"][0]["idempotency"].pop("outcomes")
    assert merged(shown, config), shown
    got = shown["routes"][0]["idempotency"]["outcomes"]
    for name, outcome in outcomes.items():
        equal(got.get(name, got[name[0] + "xx"]), outcome, name)
    assert "408" not in got, got


@test
def the_json_has_every_option(bench):
    shown = json.loads(
        check(bench, everything(bench), "--explain", "--json"))
    table = shown["sources"].get("outbox")
    topics = shown["sources"].get("orders")
    for group in ("BROKER", "SOURCE", "RELAY"):
        found = shown.get(group.lower() + "s", {}).values()
        for path in options(group):
            if table is None and (group == "RELAY" or path.split(".")[0] in (
                    "postgres", "table", "columns", "finish", "notify",
                    "poll")) or path in ("cluster", "sentinels", "master"):
                continue
            if topics is None and path in (
                    "kafka", "settings", "topics", "topic", "nulls"):
                continue
            assert any(has_member(one, path) for one in found), path
    idempotency = shown["routes"][0]["idempotency"]
    if table is not None:
        witness = shown["routes"][3]["idempotency"]["on_unknown"]["witness"]
        equal(set(options("WITNESS")), set(witness))
    equal(set(options("RECONCILE")),
          set(idempotency["on_unknown"]["reconcile"]))
    for group, found in (("ROOT", shown), ("IDEMPOTENCY", idempotency),
                         ("UPSTREAM", shown["upstreams"]["api"]),
                         ("ROUTE", shown["routes"][0])):
        for path in options(group):
            at = found
            for name in path.split("."):
                if path in ("store.cluster", "store.sentinels",
                            "store.master"):
                    break  # they exclude store.redis
                assert name in at, (path, at)
                at = at[name]


@test
def secrets_are_hidden(bench):
    config = everything(bench)
    for args in (["--explain"], ["--explain", "--json"]):
        text = check(bench, config, *args)
        for secret in (*SECRETS, KEY):
            assert secret not in text, text
        assert "(hidden)" in text


@test
def errors_are_json_too(bench):
    config = dict(least(), colour="red", workers=-1)
    file = bench.file(json.dumps(config).encode())
    done = command("check", "-c", file, "--json")
    equal(done.returncode, 1)
    got = json.loads(done.stdout)
    equal(got["file"], file)
    equal([e["pointer"] for e in got["errors"]], ["/colour", "/workers"])
    assert all(e["words"] for e in got["errors"])
    equal(json.loads(check(bench, least(), "--json"))["errors"], [])
    done = command("check", "-c", file, "--explain", "--json")
    equal(done.returncode, 1)
    equal(len(json.loads(done.stdout)["errors"]), 2)


# --- for people ------------------------------------------------------------

STATUSES = ("500 stored, 502 504 unknown, 408 425 429 503 free again, "
            "301 307 308 401 403 forgotten")


@each([("a class", {"5xx": "unknown", "503": "release"},
        "5xx unknown, 408 425 429 503 free again, "
        "301 307 308 401 403 forgotten"),
       ("one of a class", {"4xx": "forget", "422": "store", "201": "unknown"},
        "422 500 stored, 201 502 504 unknown, 503 free again, "
        "301 307 308 4xx forgotten")])
def it_says_what_each_status_means(bench, outcomes, words):
    config = least()
    config["routes"][0]["idempotency"] = {"outcomes": outcomes}
    parts = explain(bench, config, 300)
    lines = next(v for k, v in parts.items() if "Routes" in k)
    equal([line.split("statuses")[1].strip() for line in lines
           if "statuses" in line], [words])


@test
def it_says_what_each_route_does(bench):
    config = everything(bench)
    config["routes"].append({"path": "/h", "upstream": "api",
                             "idempotency": {"in_flight": "wait"}})
    parts = explain(bench, config, 300)
    lines = next(v for k, v in parts.items() if "Routes" in k)
    routes = {}
    for line in lines:
        if not line.startswith("    "):
            told = routes[line.strip()] = {}
        else:
            name, text = re.split("  +", line.strip(), maxsplit=1)
            told[name] = text
    equal("/d" in routes, has_postgres(bench))
    if "/d" in routes:
        equal(routes.pop("/d")["unknown"],
              "ask api.w of shop, without a client, too: a row that is done "
              "is the answer, none frees the key; started: after 0s, ask "
              "/by/{key}; proven by api.payments")
    equal(routes, {
        "all": {"request": "POST, PUT /a/{x}/*", "upstream": "api",
                "preset": "paypal",
                "key": "A-Key, B-Key, or from /a~1b/c~0d, /e, or none",
                "namespace": "n", "scope": "one for all",
                "label": "/order_id", "in flight": "waits 90s",
               "unknown": "after 1m, ask /by/{key}?x=1, without a client, "
               "too",
               "statuses": "404 stored, 2xx 500 502 504 unknown, "
               "4xx free again, 301 307 308 forgotten", "kept": "36h",
               "a key": "GET /a/keys/{key} tells its state",
               "policy": "GET /a/policy tells it"},
        "/b": {"request": "POST, PUT, PATCH, DELETE /b", "upstream": "b/c",
               "key": "Idempotency-Key, or from body",
               "namespace": "default",
               "scope": "Authorization, basic user: all that a request has "
               "of these is its tenant",
               "unverified": "the password: who sends the same tenant and "
               "key gets the stored answer",
               "label": "none", "in flight": "409",
               "unknown": "retry", "statuses": STATUSES, "kept": "7d"},
        "/c": {"request": "POST, PUT, PATCH, DELETE /c", "upstream": "b/c",
               "key": "Idempotency-Key, only observed",
               "namespace": "default", "scope": "Authorization",
               "label": "none",
               "retries": "pass through, and are counted"},
        "/*": {"request": "any /*", "upstream": "b/c, passed through"},
        "/h": {"request": "POST, PUT, PATCH, DELETE /h", "upstream": "api",
               "key": "Idempotency-Key", "namespace": "default",
               "scope": "Authorization", "label": "none",
               "in flight": "waits 10s", "unknown": "hold",
               "statuses": STATUSES, "kept": "1d"}})


@each([("a path", [{"path": "id"}], "the path"),
       ("a user and a path", ["X-Shop", {"basic": "user"}, {"path": "id"}],
        "the password and the path"),
       ("a header", ["X-Shop"], None),
       ("a token beside a path", [{"path": "id"}, {
           "jwt": "sub", "keys": "KEYS"}], None)])
def it_says_what_of_a_tenant_nobody_verifies(bench, scope, what):
    keys = os.path.join(bench.folder(), "keys")
    with open(keys, "w", encoding="ascii") as out:
        json.dump({"keys": [{"kty": "oct", "k": "A" * 43,
                             "alg": "HS256"}]}, out)
    config = least()
    config["routes"][0].update(path="/v1/{id}", idempotency={"scope": [
        {**s, "keys": keys} if "jwt" in s else s for s in scope]})
    parts = explain(bench, config, 300)
    lines = [l.strip() for k, v in parts.items() if "Routes" in k for l in v
             if l.strip().startswith("unverified")]
    equal(lines, [f"unverified  {what}: who sends the same tenant and key "
                  "gets the stored answer"] if what else [])


@test
def every_setting_is_there_and_defaults_are_marked(bench):
    parts = explain(bench, least())
    found, marked = settings(parts["Settings (* is the default)"])
    equal(set(found), set(options("ROOT")) - {
        "upstreams", "routes", "defaults", "brokers", "sources",
        "relays"})
    equal(set(found) - marked, {"listen"})
    equal((found["drain_timeout"], found["admin.listen"]), ("30s", "none"))
    found, marked = settings(parts["Upstream api"])
    equal(set(found), set(options("UPSTREAM")))
    equal(set(found) - marked, {"targets"})
    found, marked = settings(
        parts["Idempotency, unless a route says otherwise"])
    equal(set(found), set(options("IDEMPOTENCY")))
    equal(set(found), marked)
    equal(len(parts), 4)


@test
def what_a_file_sets_is_not_marked(bench):
    parts = explain(bench, everything(bench))
    found, marked = settings(parts["Settings (* is the default)"])
    equal(marked, {"store.cluster", "store.sentinels", "store.master",
                   "store.scripting", "store.wait_replicas"})
    found, marked = settings(parts["Upstream api"])
    equal(marked, set())
    found, _ = settings(parts["Idempotency of route all"])
    equal(set(found), set(options("IDEMPOTENCY")))
    found, _ = settings(parts["Idempotency of route /b"])
    equal(found, {"derive_key": "body", "on_unknown": "retry",
                  "scope": "Authorization, basic user",
                  "retention": "7d"})  # which a source leads to
    found, marked = settings(parts["Source charges"])
    equal((found["stream"], found["results"]), ("in", "stream out"))
    equal(marked, set())
    found, marked = settings(
        parts["Idempotency, unless a route says otherwise"])
    equal(set(found) - marked, {"lease"})


@each([("80 columns", 80), ("100 columns", 100), ("no width", None),
       ("a width too small", 10)])
def no_line_is_wider_than_the_terminal(bench, width):
    config = least()
    config["routes"] += [
        {"name": f"r{i}", "path": "/v1/customers/{id}/payment_methods/x" * 2
         + str(i), "upstream": "api", "methods": ["POST", "PATCH", "DELETE"],
         "idempotency": {"header": "PayPal-Request-Id", "scope": [
             "Authorization", "X-Tenant-Name"], "on_unknown": {
                 "reconcile": "/v1/payments/by-key/{key}"}}}
        for i in range(3)]
    env = {"COLUMNS": str(width)} if width else {}
    text = check(bench, config, "--explain", **env)
    body = text.split(": ok\n", 1)[1]
    longest = max(len(line) for line in body.splitlines())
    assert longest <= max(width or 80, 80), longest
    # Nothing is lost by it, and no word is cut.
    for word in ("PayPal-Request-Id", "Authorization, X-Tenant-Name",
                 "POST, PATCH, DELETE"):
        assert word in text, text


@each([("80 columns", 80), ("100 columns", 100)])
def a_status_and_its_outcome_stay_in_one_line(bench, width):
    config = least()
    config["routes"][0]["idempotency"] = {"preset": "paypal"}
    lines = check(bench, config, "--explain", COLUMNS=str(width)).splitlines()
    words = " (store|release|forget|unknown)(,|$)"
    at = 0
    for line in lines:
        if re.match("[ *+]  outcomes ", line):
            at = line.index("301")
        elif not line.startswith(" " * 20):
            at = 0
        if at:
            assert re.fullmatch(f"([0-9]..{words} ?)+", line[at:]), line
    assert "425 release" in "".join(lines), lines


@test
def what_the_file_has_does_not_speak_to_the_terminal(bench):
    config = least()
    config["routes"][0]["name"] = "a\u00e9\u001b[2J"
    file = bench.file(json.dumps(config).encode())
    done = command("check", "-c", file, "--explain")
    assert "\x1b" not in done.stdout, done.stdout


@test
def without_explain_it_says_ok_and_no_more(bench):
    config = least()
    file = os.path.join(bench.folder(), "x.json")
    with open(file, "w", encoding="ascii") as out:
        json.dump(config, out)
    done = command("check", "-c", file)
    equal((done.returncode, done.stdout), (0, f"{file}: ok\n"))


@each([("nothing", {}, "*  store.events.overflow    drop"),
       ("a length", {"maxlen": 9}, "*  store.events.overflow    drop"),
       ("the default", {"maxlen": 9, "overflow": "drop"},
        "*  store.events.overflow    drop"),
       ("another", {"maxlen": 9, "overflow": "refuse"},
        "   store.events.overflow    refuse")])
def what_is_done_beyond_maxlen_is_shown_with_its_default(bench, events, line):
    config = bench.config("http://127.0.0.1:9")
    if events:
        config["store"]["events"] = events
    shown = check(bench, config, "--explain").splitlines()
    equal([one for one in shown if "overflow" in one], [line])


tap.main()
