# SPDX-License-Identifier: BSD-2-Clause
"""What the file may say of webhooks, and how errors are shown."""

import base64
import json

from once import tap
from once.gateway import command
from once.tap import each, equal, test


def coded(length):
    return base64.b64encode(bytes(range(length))).decode()


GOOD = {"webhook": "https://example.com/hook",
        "secrets": ["whsec_" + coded(24)]}


def config_of(relay):
    return {
        "listen": ["127.0.0.1:0"],
        "upstreams": {"payments": "http://127.0.0.1:9000"},
        "routes": [{"name": "charges", "path": "/v1/charges",
                    "upstream": "payments", "idempotency": {}}],
        "brokers": {"queue": {"redis": "redis://h"}},
        "relays": {"hooks": relay}}


def check(bench, relay, *args):
    file = bench.file(json.dumps(config_of(relay)).encode())
    return command("check", "-c", file, "--json", *args).stdout


def errors(bench, relay):
    return [(e["pointer"], e["words"])
            for e in json.loads(check(bench, relay))["errors"]]


@each([
    ("the shortest", {}),
    ("a URL without a path", {"webhook": "http://[::1]:8080"}),
    ("a path and a query", {"webhook": "HTTPS://h/a/b/?c=/d&e=%2F"}),
    ("the longest secret", {"secrets": ["whsec_" + coded(64)]}),
    ("a seed", {"secrets": ["whsk_" + coded(32)]}),
    ("several secrets", {"secrets": ["whsk_" + coded(32), "whsec_" + coded(32),
                                     "whsec_" + coded(24)]}),
    ("a choice", {"routes": ["charges"], "states": ["FAILED"],
                  "answer": True}),
])
def check_accepts(bench, members):
    equal(errors(bench, {**GOOD, **members}), [])


SECRET = "must be \"whsec_\" and 24 to 64 bytes in base64"


@each([
    ("no scheme", "/webhook", {"webhook": "example.com/hook"}, "must be a URL"),
    ("a socket", "/webhook", {"webhook": "unix:/run/x"}, "must be a URL"),
    ("no host", "/webhook", {"webhook": "https:///hook"}, ""),
    ("a password", "/webhook", {"webhook": "https://a:b@h/"}, "password"),
    ("a port that is none", "/webhook", {"webhook": "https://h:0/"}, "port"),
    ("a fragment", "/webhook", {"webhook": "https://h/a#b"}, "visible ASCII"),
    ("a blank", "/webhook", {"webhook": "https://h/a b"}, "visible ASCII"),
    ("a path that walks up", "/webhook", {"webhook": "https://h/../a"},
     "segment"),
    ("a number", "/webhook", {"webhook": 7}, ""),
    ("no secrets", "", {"secrets": None}, '"secrets" is missing'),
    ("an empty list", "/secrets", {"secrets": []}, "must not be empty"),
    ("a secret alone", "/secrets", {"secrets": "x"}, "must be a list"),
    ("a short one", "/secrets/0", {"secrets": ["whsec_" + coded(23)]}, SECRET),
    ("a long one", "/secrets/0", {"secrets": ["whsec_" + coded(65)]}, SECRET),
    ("no prefix", "/secrets/0", {"secrets": [coded(32)]}, SECRET),
    ("no base64", "/secrets/0", {"secrets": ["whsec_" + "!" * 32]}, SECRET),
    ("a public key", "/secrets/1",
     {"secrets": ["whsec_" + coded(24), "whpk_" + coded(32)]}, SECRET),
    ("a short seed", "/secrets/0", {"secrets": ["whsk_" + coded(31)]}, SECRET),
    ("a whole key pair", "/secrets/0", {"secrets": ["whsk_" + coded(64)]},
     SECRET),
    ("a broker besides", "/broker", {"broker": "queue"},
     'combined with "webhook"'),
    ("a table besides", "/table", {"table": "t"},
     'combined with "webhook"'),
])
def check_refuses(bench, pointer, members, words):
    relay = {name: value for name, value in {**GOOD, **members}.items()
             if value is not None}
    found = errors(bench, relay)
    equal([p for p, _ in found], ["/relays/hooks" + pointer])
    assert words in found[0][1], found


@test
def secrets_without_a_webhook_are_a_mistake(bench):
    found = errors(bench, {"secrets": GOOD["secrets"]})
    assert ("/relays/hooks/secrets", "only a webhook has secrets") in found


@test
def no_secret_is_shown(bench):
    hidden = [coded(24), coded(32)]
    shown = check(bench, {**GOOD, "secrets": [
        "whsec_" + hidden[0], "whsk_" + hidden[1]]}, "--explain")
    assert not any(text in shown for text in hidden), shown
    equal(json.loads(shown)["relays"]["hooks"]["secrets"], ["(hidden)"] * 2)
    # Nor is a bad one, in its error.
    bad = "whsec_" + coded(20)
    assert bad not in check(bench, {**GOOD, "secrets": [bad]})


tap.main()
