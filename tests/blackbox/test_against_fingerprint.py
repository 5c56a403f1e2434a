# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: what a gateway does in another way with retries of the
keys that there are, under another fingerprint, --against says."""

import json
import signal

from once import tap
from once.gateway import command, write
from once.http import keyed
from once.tap import each, equal, test

NO_QUERY, NO_BODY = ["method", "path", "body"], ["method", "path", "query"]
FINGERPRINTS = [{"fingerprint": fingerprint} for fingerprint in [
    {},
    {"include": ["body", "query", "path", "method"], "json": False},
    {"include": NO_BODY},
    {"include": NO_BODY, "json": True},
    {"include": NO_BODY, "ignore": ["/at"]},
    {"include": NO_QUERY},
    {"include": NO_QUERY, "ignore": [{"query": "q"}]},
    {"include": ["path", "query", "body"]},
    {"json": True},
    {"ignore": ["/at"]},
    {"ignore": ["/b"]},
    {"ignore": ["/b", "/at"]},
    {"ignore": ["/at", "/b", "/b/c"]},
    {"ignore": ["/at", "/b/c"]},
    {"ignore": ["/at", {"query": "q"}]},
    {"ignore": [{"query": "q"}]},
    {"ignore": [{"query": "q"}, {"query": "r"}]},
    {"ignore": [{"query": "r"}, {"query": "q"}]},
    {"only": ["/a"]},
    {"only": ["/a"], "ignore": ["/at"]},
    {"only": ["/b", "/a"]},
    {"only": ["/a", "/b"]},
    {"headers": ["X-A"]},
    {"headers": ["x-a"]},
    {"headers": ["X-A", "X-B"]},
    {"headers": ["X-B", "X-A"]},
]]
REQUESTS = [
    dict(body=b'{"a":1}'), dict(body=b'{"a":1,"at":1}'),
    dict(body=b'{"a":1,"b":{"c":1}}'), dict(body=b'{"a":1,"b":{}}'),
    dict(body=b"no JSON"), dict(body=b"no JSON", target="/v1?q=1"),
    dict(body=b"no JSON", target="/v1?r=1"),
    dict(body=b'{"a":1}', target="/v1?q=1"),
    dict(body=b'{"a":1}', fields=[("X-A", "1"), ("X-B", "2")])]

ENTITY = {"entity": ["/a"], "serialize": True}
ENTITIES = [{**entity, "fingerprint": fingerprint} for entity, fingerprint in [
    ({}, {"json": True}),
    (ENTITY, {"json": True}),
    ({}, {"ignore": ["/at"]}),
    (ENTITY, {"ignore": ["/at"]}),
    ({**ENTITY, "entity": ["/v"]}, {"ignore": ["/at"]}),
    ({**ENTITY, "newer_only": "/v"}, {"ignore": ["/at"]}),
    ({**ENTITY, "newer_only": "/v"}, {"json": True}),
    (ENTITY, {"ignore": ["/at", "/b"]}),
    (ENTITY, {"ignore": [{"query": "q"}]}),
    (ENTITY, {"only": ["/a"]}),
    (ENTITY, {"include": NO_BODY}),
    (ENTITY, {"include": NO_QUERY, "json": True}),
]]
OF_ENTITIES = [
    dict(body=b'{"a":1,"v":1}'), dict(body=b'{"a":1,"v":1,"at":1}'),
    dict(body=b'{"a":1,"v":1,"b":1}'),
    dict(body=b'{"a":1,"v":1}', target="/v1?q=1")]


def ask_all(gateway, asked):
    """Of pairs of a key and a request, whether each is a replay; else it was
    refused, or executed."""
    with gateway.client() as client:
        for key, request in asked:
            # What an entity is belongs to the tenant: none meets another's.
            client.send(keyed("k", tenant=key, **{"target": "/v1", **request}))
        answers = [client.read() for _ in asked]
    for answer in answers:
        assert answer.problem in (None, "key-reused"), answer
    return [answer.replayed for answer in answers]


def with_policy(config, policy):
    routes = [{"path": "/v1", "upstream": "api", "idempotency": policy}]
    return {**config, "routes": routes}


def tables(bench, policies, requests):
    """What a gateway with each policy does, under each of them, with all
    requests that have the key of each."""
    config = bench.config(bench.upstream())
    gateway = bench.serve(with_policy(config, policies[0]))

    def load(policy):
        since = len(gateway.events)
        write(gateway.file, with_policy(config, policy))
        gateway.signal(signal.SIGHUP)
        gateway.wait_for_log("reloaded", since)

    keys = {first: [f"{first}-{i}" for i in range(len(requests))]
            for first in range(len(policies))}
    for first, policy in enumerate(policies):
        load(policy)
        equal(any(ask_all(gateway, list(zip(keys[first], requests)))), False)
    found = {}
    for loaded, policy in enumerate(policies):
        load(policy)
        for first, names in keys.items():
            found[first, loaded] = ask_all(gateway, [
                (key, request) for key in names for request in requests])
    return found


def file_of(bench, name, policies):
    """A configuration with a route for each of them."""
    routes = [{"name": f"r{i}", "path": f"/v1/{i}", "upstream": "api",
               "idempotency": policy}
              for i, policy in enumerate(policies)]
    return bench.file(json.dumps({
        "listen": ["127.0.0.1:0"], "routes": routes,
        "upstreams": {"api": "http://127.0.0.1:9"}}).encode(), name)


def said(bench, before, after):
    """The routes of which --against says that a retry may be refused, and that
    what was refused may be a retry."""
    done = command("check", "-c", file_of(bench, "after.json", after),
                   "--json", "--against",
                   file_of(bench, "before.json", before))
    found = json.loads(done.stdout)["warnings"]
    for warning in found:
        assert "compared in another way" in warning["words"] or \
            " changes from " not in warning["words"], warning
    return {int(warning["pointer"].split("/")[2]) for warning in found
            if " changes from " in warning["words"]}


@each([("and more is ignored, or less", FINGERPRINTS, REQUESTS),
       ("beside what is changed", ENTITIES, OF_ENTITIES)])
def against_says_what_becomes_of_retries(bench, policies, requests):
    found = tables(bench, policies, requests)
    pairs = [(i, k) for i in range(len(policies))
             for k in range(len(policies))]
    words = said(bench, [policies[i] for i, _ in pairs],
                 [policies[k] for _, k in pairs])
    # It may say so, too, of what another member has no use for.
    equal([(policies[i], policies[k]) for n, (i, k) in enumerate(pairs)
           if found[i, i] != found[i, k] and n not in words], [])


@test
def against_says_nothing_of_another_order(bench):
    pairs = [({"include": ["method", "path", "query", "body"]},
              {"include": ["body", "query", "path", "method"]}),
             ({"ignore": ["/a", {"query": "q"}]},
              {"ignore": [{"query": "q"}, "/a"]})]
    before, after = ([{"fingerprint": fingerprint} for fingerprint in each_of]
                     for each_of in zip(*pairs))
    equal(said(bench, before, after), set())


tap.main()
