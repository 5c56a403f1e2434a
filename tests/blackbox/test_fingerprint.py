# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 3 and 6: the same key may only ask for the same thing."""

import json

from once import tap
from once.gateway import command
from once.http import keyed
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered, then_close


def gateway_for(bench, **fingerprint):
    """Every method and path is idempotent, with this fingerprint."""
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["routes"] = [{"path": "/*", "upstream": "api",
                         "idempotency": {"fingerprint": fingerprint}}]
    return upstream, bench.serve(config)


def compare(bench, first, second, same, **fingerprint):
    upstream, gateway = gateway_for(bench, **fingerprint)
    equal(gateway.ask("k", **first).status, 201)
    got = gateway.ask("k", **second)
    if same:
        equal((got.status, got.replayed), (201, True))
    else:
        equal((got.status, got.problem), (422, "key-reused"))
    equal(upstream.count(), 1)


@each([
    ("body", dict(body=b"a"), dict(body=b"b")),
    ("length of the body", dict(body=b"a"), dict(body=b"a ")),
    ("a NUL at the end of the body", dict(body=b"a"), dict(body=b"a\0")),
    ("path", dict(target="/a"), dict(target="/b")),
    ("query", dict(target="/a?x=1"), dict(target="/a?x=2")),
    ("the presence of a query", dict(target="/a"), dict(target="/a?")),
    ("method", dict(method="POST"), dict(method="PUT")),
    ("what is path and what is query", dict(target="/a?b"),
     dict(target="/ab?")),
    ("what is query and what is body", dict(target="/a?b", body=b"c"),
     dict(target="/a?bc", body=b"")),
    ("the spelling of a path", dict(target="/a"), dict(target="/%61")),
    ("JSON that is compared by bytes", dict(body=b'{"a":1}'),
     dict(body=b'{"a": 1}')),
])
def another_request_is_told_by_its(bench, first, second):
    compare(bench, first, second, False)


@each([("one more", dict(target="/a"), dict(target="/a/")),
       ("one less", dict(target="/a/?x"), dict(target="/a?x"))])
def a_slash_at_the_end_of_a_path_does_not_count(bench, first, second):
    compare(bench, first, second, True)


OVERRIDES = [("X-HTTP-Method-Override", "DELETE"), ("X-HTTP-Method", "PUT"),
             ("X-Method-Override", "PATCH"), ("X-Original-URL", "/b"),
             ("X-Rewrite-URL", "/b?c=d")]


@test
def what_overrides_method_and_path_counts(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["upstreams"]["api"] = {
        "targets": [upstream.url], "trust_overrides": True}
    config["routes"] = [
        {"path": "/*", "upstream": "api", "idempotency": {}}]
    gateway = bench.serve(config)
    asked = [[], *([field] for field in OVERRIDES), OVERRIDES,
             [(OVERRIDES[0][0], "PATCH")], [("X-Rewrite-URL", "/b?c=e")]]
    for one, fields in enumerate(asked):
        equal(gateway.ask(f"k{one}", fields=fields).status, 201, fields)
        for other, another in enumerate(asked):
            got = gateway.ask(f"k{one}", fields=another)
            same = one == other or (
                # By either name it is the method that is asked for.
                {one, other} == {3, 7})
            equal((got.status, got.replayed),
                  (201, True) if same else (422, False), (fields, another))
    equal(upstream.count(), len(asked))


@test
def fields_do_not_count(bench):
    compare(bench, dict(fields=[("X-A", "1")]), dict(fields=[("X-A", "2")]),
            True)


@each([("another value", [("X-A", "2")], False), ("none", [], False),
       ("the same value", [("x-a", "1")], True),
       ("two values", [("X-A", "1"), ("X-A", "1")], False)])
def fields_count_where_they_are_named(bench, fields, same):
    compare(bench, dict(fields=[("X-A", "1")]), dict(fields=fields), same,
            headers=["X-A"])


@each([("a path", ["method", "query", "body"], dict(target="/b"), True),
       ("a body", ["method", "path", "query"], dict(body=b"b"), True),
       ("a method", ["path", "body"], dict(method="PUT"), True),
       ("a query", ["path", "body"], dict(target="/a?x"), True),
       ("nothing else", ["method"], dict(target="/b", body=b"b"), True),
       ("a path, but not the body", ["body"],
        dict(target="/b", body=b"b"), False)])
def what_is_not_included_does_not_count(bench, include, second, same):
    first = dict(target="/a", body=b"a")
    compare(bench, first, {**first, **second}, same, include=include)


@each([
    ("order of members", b'{"a":1,"b":2}', b'{"b":2,"a":1}', True),
    ("white space", b'{"a":[1,2]}', b' {\n"a" : [ 1,\t2 ] }\r\n', True),
    ("escapes", b'{"a":"\xc3\xa9/"}', b'{"\\u0061":"\\u00e9\\/"}', True),
    ("order in a list", b"[1,2]", b"[2,1]", False),
    ("numbers and strings", b'{"a":7}', b'{"a":"7"}', False),
    ("null and absence", b'{"a":null}', b"{}", False),
    ("true and 1", b"[true]", b"[1]", False),
    ("integers beyond 64 bits", b"[18446744073709551617]",
     b"[18446744073709551618]", False),
    ("integers beyond 53 bits", b"[9007199254740993]",
     b"[9007199254740992]", False),
    ("fractions beyond a double", b"[0.1000000000000000055511]",
     b"[0.1000000000000000055512]", False),
    ("exponents beyond a double", b"[1e400]", b"[1e401]", False),
    ("duplicate members", b'{"a":1,"a":2}', b'{"a":2}', False),
    ("JSON and what is none", b'{"a":1}', b'{"a":1', False),
    ("two that are no JSON", b"{oops", b"{oops ", False),
    ("the same that is no JSON", b"{oops", b"{oops", True),
    ("empty bodies", b"", b"", True),
])
def json_is_compared_by_value(bench, first, second, same):
    compare(bench, dict(body=first), dict(body=second), same, json=True)


@each([
    ("a member", ["/at"], b'{"a":1,"at":1}', b'{"at":2,"a":1}', True),
    ("its absence", ["/at"], b'{"a":1,"at":1}', b'{"a":1}', True),
    ("a member inside", ["/m/at"], b'{"m":{"at":1,"b":2}}',
     b'{"m":{"b":2,"at":[]}}', True),
    ("in a list", ["/l/1"], b'{"l":[1,2,3]}', b'{"l":[1,9,3]}', True),
    ("not its neighbour", ["/at"], b'{"a":1,"at":1}', b'{"a":2,"at":1}',
     False),
    ("a slash in a name", ["/a~1b"], b'{"a/b":1}', b'{"a/b":2}', True),
])
def ignored_members_do_not_count(bench, ignore, first, second, same):
    compare(bench, dict(body=first), dict(body=second), same, ignore=ignore)


A, B = b'{"a": 1, "b": {"c": 2}}', b'{"b": {"c": 2, "d": 1}, "a": 1.0}'


@each([("others differ", ["/a", "/b/c"], A, B, True),
       ("one differs", ["/a", "/b/c"], A, b'{"a": 1, "b": {"c": 3}}', False),
       ("one is missing", ["/a", "/x"], A, b'{"a": 1, "x": null}', False),
       ("both are missing", ["/x"], A, B, True),
       ("a value moves", ["/a", "/x"], A, b'{"x": 1}', False),
       ("no JSON", ["/a"], b"a=1", b"a=2", False),
       ("JSON and none", ["/x"], A, b"x", False)])
def only_some_members_count(bench, only, first, second, same):
    compare(bench, dict(body=first), dict(body=second), same, only=only)


@each([("its value", "/a?x=1&ts=2", "/a?x=1&ts=3", True),
       ("where it stands", "/a?ts=2&x=1", "/a?x=1&ts=2", True),
       ("that it is there", "/a?ts=2", "/a", True),
       ("how often", "/a?x&ts&ts=1", "/a?x", True),
       ("another one", "/a?x=1&ts=2", "/a?x=2&ts=2", False),
       ("another spelling", "/a?t%73=1", "/a?t%73=2", False),
       ("another order", "/a?x=1&y=2", "/a?y=2&x=1", False),
       ("a value of its name", "/a?x=ts", "/a?x=t", False),
       ("another cut", "/a?x=1&y=2", "/a?x=1%26y=2", False),
       ("letters", "/a?TS=1", "/a?TS=2", False)])
def an_ignored_parameter_may_differ_in(bench, first, second, same):
    compare(bench, dict(target=first), dict(target=second), same,
            ignore=[{"query": "ts"}])


@each([("an object without a name", {"ignore": [{"query": "a", "b": 1}]},
        'ignore/0: route "charges": must be {"query": NAME}'),
       ("a number", {"ignore": ["/a", 7]},
        '/ignore/1: route "charges": must be a string'),
       ("only without a body", {"include": ["path"], "only": ["/a"]},
        '/only: route "charges": without "body"')])
def check_refuses_a_fingerprint_with(bench, fingerprint, words):
    config = bench.config("http://127.0.0.1:9", {"fingerprint": fingerprint},
                          redis="redis://127.0.0.1:9")
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(done.returncode, 1)
    assert words in done.stdout, done.stdout


@test
def a_mismatch_is_told_in_every_state(bench):
    upstream, gateway = gateway_for(bench)
    hold = upstream.hold(close_unanswered)
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    equal(gateway.ask("k", body=b"b").problem, "key-reused")
    hold.release()
    equal(first.result().problem, "outcome-unknown")
    equal(gateway.ask("k", body=b"b").problem, "key-reused")
    equal(upstream.count(), 1)


@each([
    ("usual parts", {}, "method, path, query and body"),
    ("less", {"include": ["method", "body"]}, "method and body"),
    ("one part", {"include": ["body"]}, "body"),
    ("what is ignored", {"ignore": ["/ref", "/at/x~1y", {"query": "ts"}]},
     "method, path, query (all but ts) and body "
     "(of JSON all but /ref, /at/x~1y)"),
    ("members alone", {"only": ["/amount"]},
     "method, path, query and body (of JSON only /amount)"),
    ("headers", {"headers": ["X-A"]},
     "method, path, query, body and header X-A"),
])
def a_mismatch_says_what_is_compared(bench, fingerprint, words):
    _, gateway = gateway_for(bench, **fingerprint)
    gateway.ask("k", body=b'{"amount":1}')
    got = gateway.ask("k", body=b'{"amount":2}', fields=[("X-A", "2")])
    equal(got.json()["detail"],
          "An earlier request with this idempotency key differs from this one "
          f"in what is compared here: {words}. A new request needs a new key; "
          "a retry is sent as the first request was.")


@test
def a_released_key_may_ask_for_something_else(bench):
    upstream, gateway = gateway_for(bench)
    upstream.reply = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    equal(gateway.ask("k", body=b"a").status, 503)
    upstream.reply = b"HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n"
    equal(gateway.ask("k", body=b"b").status, 201)


@test
def framing_of_the_body_does_not_count(bench):
    upstream, gateway = gateway_for(bench)
    equal(gateway.ask("k", body=b"hello").status, 201)
    head = keyed("k", body=None, fields=[("Transfer-Encoding", "chunked")])
    got = gateway.send(head + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")
    assert got.replayed, got


BY_REF, BY_ACCOUNT = "/by-ref/{json:/ref}", "/by-account/{path:account}/{key}"


@each([
    ("a member that is ignored", BY_REF, {"ignore": ["/ref"]},
     b'{"amount":1,"ref":"r1"}', b'{"amount":1,"ref":"r2"}', "a", "a"),
    ("a body that is not included", BY_REF, {"include": ["method", "path"]},
     b'{"ref":"r1"}', b'{"ref":"r2"}', "a", "a"),
    ("a member that only one of them has", BY_REF, {"ignore": ["/ref"]},
     b'{"ref":"r1"}', b'{}', "a", "a"),
    ("a path that is not included", BY_ACCOUNT, {"include": ["body"]},
     b"{}", b"{}", "a", "b"),
])
def what_is_asked_about_counts_always(bench, path, fingerprint, body, other,
                                      account, other_account):
    """The question is made of the retry, and is about the first request: where
    it would be another one, nothing is asked, and nothing is executed."""
    upstream = bench.upstream(then_close(b""))
    config = bench.config(upstream, idempotency={
        "fingerprint": fingerprint, "on_unknown": {
            "reconcile": {"path": path, "settle": "0s"}}})
    config["routes"][0]["path"] = "/{account}/charges"
    gateway = bench.serve(config)

    def ask(body, account):
        return gateway.ask("k", body=body, target=f"/{account}/charges")
    equal(ask(body, account).problem, "outcome-unknown")
    upstream.reply = answer(404)
    equal(ask(other, other_account).problem, "outcome-unknown")
    equal(upstream.count(), 1)
    upstream.replies["/by-ref/r1"] = answer(200, b"happened")
    upstream.replies["/by-account/a/k"] = answer(200, b"happened")
    got = ask(body, account)
    equal((got.status, got.body, got.replayed), (200, b"happened", True))
    equal(upstream.count(method="POST"), 1)


@each([("the version", "/v", b'{"e":"x","v":5}', b'{"e":"x","v":9}'),
       ("the entity", "/e", b'{"e":"x","v":5}', b'{"e":"y","v":5}')])
def what_is_changed_counts_always(bench, ignored, body, other):
    """An attempt that is not sent leaves the one before as it was; the record
    has one entity and one version."""
    upstream, gateway = bench.pair(
        then_close(b""), idempotency={
            "entity": ["/e"], "newer_only": "/v", "on_unknown": "retry",
            "fingerprint": {"ignore": [ignored]}})
    equal(gateway.ask("k", body=body).problem, "outcome-unknown")
    upstream.reply = answer()
    equal(gateway.ask("k", body=other).problem, "key-reused")
    # The same in another spelling is the same.
    equal(gateway.ask("k", body=body.replace(b"5", b"5.0")
                      if ignored == "/v" else body).status, 201)
    equal(upstream.count(), 2)


tap.main()
