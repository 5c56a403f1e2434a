# SPDX-License-Identifier: BSD-2-Clause
"""The schema and `onceproxy check` agree: on the files of tests/wrong, on the
examples of onceproxy.json(5) and on the samples."""

import glob
import json
import os

from once import tap
from once.demo import sample, source, uncommented
from once.gateway import command
from once.manual import Examples
from once.tap import Skip, each, equal, test
from once.wrong_files import wrong_files

EXAMPLES = Examples("onceproxy.json.5")

# What no schema can know: other members, other files, the host, sums.
BEYOND_A_SCHEMA = {
    "admin-all", "admin-clients", "admin-open", "asked-path", "asking-joined",
    "asking-joined-header", "asking-keyless", "asking-namespace",
    "asking-number", "asking-shared", "asking-shared-names",
    "asking-shared-scope", "asking-tenant", "asking-token",
    "asking-token-named", "asking-tokens", "asking-unnamed", "cluster-url",
    "jwt-url", "lease-tiny", "listen-twice", "route-name-twice",
    "scope-forwarded", "scope-path-colon", "scope-path-typo",
    "store-password-env", "tls-no-file", "twice", "upstream-as-url",
    "upstream-name", "upstream-port",
    "upstream-unknown", "upstream-unknown-of-route", "witness-attempt",
    "witness-broker", "witness-hop", "witness-key-id", "witness-key-id-key",
    "witness-key-id-same", "witness-name", "witness-redis",
    "witness-unnamed"}


def schema():
    try:
        import jsonschema
    except ImportError:
        raise Skip("no python3 with jsonschema") from None
    with open(source("etc/onceproxy.schema.json"), encoding="utf-8") as file:
        return jsonschema.Draft202012Validator(json.load(file))


@each(wrong_files().items())
def the_schema_sees_what_is_wrong_in(bench, wrong):
    validator = schema()
    try:
        config = uncommented(wrong.text())
    except ValueError:
        return  # no JSON: an editor says so without any schema
    file = bench.file(wrong.text().encode())
    accepted = command("check", "-c", file).returncode == 0
    valid = validator.is_valid(config)
    equal(valid, accepted or wrong.name in BEYOND_A_SCHEMA)


@test
def what_the_schema_cannot_see_is_still_there(bench):
    equal(BEYOND_A_SCHEMA - set(wrong_files()), set())


def whole(text):
    if text.startswith("{"):
        return json.loads(text)
    members = json.loads("{" + text + "}")
    idempotency = members.pop("idempotency", {})
    return {"listen": ["127.0.0.1:0"], "upstreams": {"a": "http://h"},
            "routes": [{"path": "/p", "upstream": "a",
                        "idempotency": idempotency}], **members}


@each([(name, name) for name in EXAMPLES.configurations()])
def the_schema_accepts_the_example(bench, name):
    errors = schema().iter_errors(whole(EXAMPLES.take(name)))
    equal([error.message for error in errors], [])


SAMPLES = ["etc/onceproxy.json", "contrib/container/onceproxy.json",
           "contrib/container/compose.json"] + [
    os.path.join("etc/examples", os.path.basename(file))
    for file in sorted(glob.glob(source("etc/examples/*.json")))]


@each([(name, name) for name in SAMPLES])
def the_schema_accepts_the_sample(bench, name):
    errors = schema().iter_errors(sample(name))
    equal([error.message for error in errors], [])


# --- one member each, written in a way that is nearly right -----------------

PAIR = [
    ("a method in small letters", {"methods": ["post"]}, {}, False),
    ("a method of its own", {"methods": ["X-PAY", "POST"]}, {}, True),
    ("a path with a star in it", {"path": "/a/*/b"}, {}, False),
    ("the root", {"path": "/"}, {}, True),
    ("all paths", {"path": "/*"}, {}, True),
    ("a path with variables", {"path": "/a/{x}/b/*"}, {}, True),
    ("a path with a slash behind it", {"path": "/a/"}, {}, False),
    ("a token without keys", {}, {"scope": [{"jwt": "sub"}]}, False),
    ("keys without a token", {},
     {"scope": [{"basic": "user", "keys": "/f"}]}, False),
    ("two kinds in one", {},
     {"scope": [{"basic": "user", "path": "x"}]}, False),
    ("nothing", {}, {"scope": [{}]}, False),
    ("a user", {}, {"scope": [{"basic": "user"}, "X-Tenant"]}, True),
    ("a label in brackets", {}, {"label": ["key"]}, False),
    ("the key for a label", {}, {"label": "key"}, True),
    ("pointers for a label", {}, {"label": ["/a~1b", "/c"]}, True),
    ("a tilde in a pointer", {}, {"label": ["/a~b"]}, False),
    ("a word for a label", {}, {"label": "order"}, False),
    ("a namespace of a variable", {"path": "/a/{x}"},
     {"namespace": "p/{x}"}, True),
    ("a namespace of the key", {}, {"namespace": "p/{key}"}, False),
    ("a problem of another name", {}, {"problems": {"reused": 400}}, False),
    ("a problem", {}, {"problems": {"key-reused": 400}}, True),
    ("a query that is asked", {},
     {"on_unknown": {"reconcile": "/a?k={key}&o={json:/o}"}}, True),
    ("a path without a key", {}, {"on_unknown": {"reconcile": "/a"}}, False),
    ("no replay header", {}, {"replay_header": ""}, True),
    ("a header with a blank", {}, {"replay_header": "a b"}, False),
    ("two headers", {}, {"header": ["A", "B"]}, True),
    ("no header", {}, {"header": [], "derive_key": "body"}, True),
    ("a derived key", {}, {"derive_key": "body"}, True),
    ("a key derived of nothing", {}, {"derive_key": []}, False),
]


@each(PAIR)
def both_say_the_same_of(bench, route, policy, well):
    config = {"listen": ["127.0.0.1:0"], "upstreams": {"a": "http://h"},
              "routes": [{"path": "/p", "upstream": "a",
                          "idempotency": policy, **route}]}
    file = bench.file(json.dumps(config).encode())
    done = command("check", "-c", file)
    said = done.returncode == 0, schema().is_valid(config)
    equal(said, (well, well), done.stdout)


ADDRESSES = [
    ("127.0.0.1:80", True), ("[::1]:80", True), (":80", True),
    ("localhost:0", True), ("unix:/run/a", True), ("::1:80", False),
    ("*:80", False), ("http://a:80", False), ("a", False), ("", False)]


@each([(a or "nothing", a, well) for a, well in ADDRESSES])
def both_say_the_same_of_the_address(bench, address, well):
    config = {"listen": [address], "upstreams": {}, "routes": []}
    file = bench.file(json.dumps(config).encode())
    done = command("check", "-c", file)
    equal((done.returncode == 0, schema().is_valid(config)), (well, well),
          done.stdout)


URLS = [
    ("http://h", True), ("HTTPS://h:1/base", True), ("unix:/run/a", True),
    ("http://[::1]:80", True), ("http://h/a@b", True), ("h:80", False),
    ("http://u@h", False), ("http://h?q", False), ("ftp://h", False)]


@each([(url, url, well) for url, well in URLS])
def both_say_the_same_of_the_upstream(bench, url, well):
    config = {"listen": ["127.0.0.1:0"], "upstreams": {"a": url},
              "routes": []}
    file = bench.file(json.dumps(config).encode())
    done = command("check", "-c", file)
    equal((done.returncode == 0, schema().is_valid(config)), (well, well),
          done.stdout)


STORES = [
    ("managed", {"redis": "managed"}, True),
    ("a database", {"redis": "redis://u:p@h:1/3"}, True),
    ("TLS", {"redis": "REDISS://h"}, True),
    ("a socket", {"redis": "unix:/run/r?db=1"}, True),
    ("a misspelled word", {"redis": "manged"}, False),
    ("a word behind it", {"redis": "redis://h/db"}, False),
    ("two ways", {"redis": "redis://h", "cluster": ["h:1"]}, False),
    ("no master", {"sentinels": ["h:1"]}, False),
    ("Sentinels", {"sentinels": ["h:1"], "master": "m"}, True)]


@each(STORES)
def both_say_the_same_of_the_store(bench, store, well):
    config = {"listen": ["127.0.0.1:0"], "upstreams": {}, "routes": [],
              "store": store}
    file = bench.file(json.dumps(config).encode())
    done = command("check", "-c", file)
    equal((done.returncode == 0, schema().is_valid(config)), (well, well),
          done.stdout)


tap.main()
