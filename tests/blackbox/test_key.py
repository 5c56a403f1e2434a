# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 4: what a key is, and when two are the same."""

import json
import re

from once import tap
from once.gateway import command
from once.http import TENANT, build
from once.tap import each, equal, test

UUID = "7f0c6f0a-7b3e-4a5e-9c1d-0123456789ab"


@each([
    ("empty", ""), ("an empty string", '""'), ("a space inside", "a b"),
    ("a comma", "a,b"), ("a semicolon", "a;b"), ("a quote inside", 'a"b'),
    ("an open string", '"abc'), ("a lone quote", '"'),
    ("words behind a string", '"abc" x'), ("two strings", '"a", "b"'),
    ("a broken escape", '"a\\b"'), ("8-bit", "caf\xe9"),
    ("8-bit in a string", '"caf\xe9"'), ("256 bytes", "k" * 256),
    ("256 bytes in a string", '"' + "k" * 256 + '"'),
    ("a dot", "."), ("two dots", ".."), ("two dots in a string", '".."'),
    ("a bare key with a parameter", "abc;x=1"),
    ("a string with broken parameters", '"abc";='),
])
def a_bad_key_is_refused(bench, key):
    upstream, gateway = bench.pair()
    got = gateway.ask(key)
    equal((got.status, got.problem), (400, "key-invalid"))
    equal(got.json()["retry"], "fix-request")
    equal(upstream.count(), 0)


@each([
    ("one letter", "k"), ("255 bytes", "k" * 255),
    ("255 bytes in a string", '"' + "k" * 255 + '"'),
    ("marks", "!#$%&'()*+-./:<=>?@[]^_`{|}~\\"),
    ("spaces in a string", '"a b"'), ("escapes", '"a\\"b\\\\c"'),
    ("a comma in a string", '"a,b"'),
])
def a_good_key_is_taken_and_reaches_the_upstream_unchanged(bench, key):
    upstream, gateway = bench.pair()
    equal(gateway.ask(key).status, 201)
    assert gateway.ask(key).replayed
    equal(upstream.count(), 1)
    assert f"Idempotency-Key: {key}\r\n".encode() in upstream.requests[0].raw


@each([("as a string", '"abc"'), ("with a parameter", '"abc";v=1'),
       ("with several", '"abc"; a; b="x;y";c=?1'),
       ("with white space around it", ' \t"abc" ')])
def it_is_the_same_key_as_bare_abc(bench, spelling):
    upstream, gateway = bench.pair()
    equal(gateway.ask("abc").status, 201)
    got = gateway.ask(spelling)
    assert got.replayed, got
    equal(upstream.count(), 1)


@test
def the_escapes_of_a_string_are_undone(bench):
    upstream, gateway = bench.pair()
    gateway.ask('"a\\\\b"')
    assert gateway.ask("a\\b").replayed
    equal(upstream.count(), 1)


@test
def keys_differ_by_case(bench):
    upstream, gateway = bench.pair()
    gateway.ask("abc")
    assert not gateway.ask("ABC").replayed
    equal(upstream.count(), 2)


@test
def the_fields_name_is_read_without_case(bench):
    upstream, gateway = bench.pair()
    gateway.ask("abc")
    assert gateway.ask(fields=[("iDEMPOTENCY-kEY", "abc")]).replayed


@test
def two_lines_are_refused_even_if_equal(bench):
    upstream, gateway = bench.pair()
    for second in ("abc", "abd"):
        got = gateway.ask("abc", fields=[("idempotency-key", second)])
        equal((got.status, got.problem), (400, "key-invalid"))
    equal(upstream.count(), 0)


@test
def two_accepted_fields_are_refused(bench):
    upstream, gateway = bench.pair(
        idempotency={"header": ["Idempotency-Key", "PayPal-Request-Id"]})
    got = gateway.ask("abc", fields=[("PayPal-Request-Id", "abc")])
    equal((got.status, got.problem), (400, "key-invalid"))
    equal(upstream.count(), 0)


@test
def any_accepted_field_names_the_same_key(bench):
    upstream, gateway = bench.pair(
        idempotency={"header": ["Idempotency-Key", "PayPal-Request-Id"]})
    gateway.ask("abc")
    assert gateway.ask(fields=[("PayPal-Request-Id", "abc")]).replayed


@test
def a_field_that_is_not_accepted_is_no_key(bench):
    upstream, gateway = bench.pair(idempotency={"header": "X-Key"})
    equal(gateway.ask("abc").problem, "key-missing")


@each([("required", True, 400, "key-missing", 0),
       ("not required", False, 201, None, 2)])
def a_request_without_a_key(bench, required, status, problem, count):
    upstream, gateway = bench.pair(idempotency={"required": required})
    for _ in range(2):
        got = gateway.ask(None)
        equal((got.status, got.problem), (status, problem))
    equal(upstream.count(), count)


@test
def max_length_counts_the_bytes_of_the_key(bench):
    upstream, gateway = bench.pair(idempotency={"max_length": 4})
    equal(gateway.ask("abcd").status, 201)
    equal(gateway.ask('"abcd"').status, 201)
    equal(gateway.ask("abcde").problem, "key-invalid")


@each([("a UUID", UUID, 201), ("a UUID as a string", f'"{UUID}"', 201),
       ("a short UUID", UUID[:-1], 400), ("a word", "abc", 400),
       ("a UUID without its dashes", UUID.replace("-", "a"), 400)])
def key_format_uuid(bench, key, status):
    _, gateway = bench.pair(idempotency={"key_format": "uuid"})
    equal(gateway.ask(key).status, status)


@each([("a string", '"abc"', 201), ("a bare key", "abc", 400)])
def key_format_quoted(bench, key, status):
    _, gateway = bench.pair(idempotency={"key_format": "quoted"})
    equal(gateway.ask(key).status, status)


@test
def a_key_derived_from_the_body_is_the_whole_body(bench):
    upstream, gateway = bench.pair(idempotency={"derive_key": "body"})
    equal(gateway.ask(body=b"one").status, 201)
    assert gateway.ask(body=b"one").replayed
    assert not gateway.ask(body=b"two").replayed
    equal(upstream.count(), 2)
    equal(upstream.requests[0].all("Idempotency-Key"), [])


@test
def a_key_derived_from_members_is_their_values(bench):
    upstream, gateway = bench.pair(idempotency={
        "derive_key": ["/order/id", "/action"],
        "fingerprint": {"include": ["method"]}})

    def replayed(body):
        got = gateway.ask(body=body)
        equal(got.status, 201, body)
        return got.replayed
    assert not replayed(b'{"order":{"id":7},"action":"pay"}')
    assert replayed(b'{"action":"pay","x":1,"order":{"id":7}}')
    assert not replayed(b'{"order":{"id":"7"},"action":"pay"}')
    assert not replayed(b'{"order":{"id":8},"action":"pay"}')
    assert not replayed(b'{"order":{"id":7},"action":"refund"}')


@each([("a member is missing", b'{"order":1}', "/action is missing, null"),
       ("a member is null", b'{"order":null,"action":"pay"}',
        "/order is missing, null"),
       ("a member is empty", b'{"order":"","action":"pay"}',
        "/order is missing, null or empty"),
       ("no JSON", b"order=1", "is not JSON"),
       ("an empty body", b"", "is empty")])
def a_body_that_derives_no_key_is_a_missing_key(bench, body, words):
    upstream, gateway = bench.pair(
        idempotency={"derive_key": ["/order", "/action"]})
    got = gateway.ask(body=body)
    equal((got.status, got.problem), (400, "key-missing"))
    assert words in got.json()["detail"], got.body
    line = gateway.wait_for_log("request", outcome="key-missing")
    assert words in line["detail"], line
    equal(upstream.count(), 0)


@test
def an_empty_body_derives_no_key(bench):
    _, gateway = bench.pair(idempotency={"derive_key": "body"})
    equal(gateway.ask(body=b"").problem, "key-missing")


@test
def without_a_header_what_clients_send_is_not_looked_at(bench):
    """Some make a new key for each try."""
    upstream, gateway = bench.pair(
        idempotency={"header": [], "derive_key": ["/paymentId"]})
    for key, replayed in (("one", False), ("two", True), (None, True)):
        got = gateway.ask(key, body=b'{"paymentId":7}')
        equal((got.status, got.replayed), (201, replayed))
    equal(gateway.ask("one", body=b'{"paymentId":8}').replayed, False)
    for request in upstream.requests:
        equal(request.all("Idempotency-Key"), [])
    equal(upstream.count(), 2)


@each([("no derived key", {"header": []}, "no request would have a key"),
       ("a derived key that is sent",
        {"header": [], "derive_key": "body", "send_derived": True},
        "no header to send it in")])
def without_a_header_check_wants(bench, idempotency, words):
    config = bench.config("http://127.0.0.1:9", idempotency=idempotency)
    done = command("check", "-c", bench.file(json.dumps(config).encode()))
    equal(done.returncode, 1, done.stdout)
    assert words in done.stdout, done.stdout


@test
def a_key_that_was_sent_wins_over_a_derived_one(bench):
    upstream, gateway = bench.pair(idempotency={"derive_key": "body"})
    gateway.ask("abc", body=b"one")
    assert not gateway.ask(body=b"one").replayed
    assert gateway.ask("abc", body=b"one").replayed


@test
def derived_keys_have_a_scope_too(bench):
    upstream, gateway = bench.pair(idempotency={"derive_key": "body"})
    gateway.ask(body=b"one", tenant="Bearer a")
    assert not gateway.ask(body=b"one", tenant="Bearer b").replayed
    equal(gateway.ask(body=b"one", tenant=None).problem, "scope-missing")


@test
def namespaces_keep_keys_apart(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["routes"] = [
        {"path": f"/{name}", "upstream": "api",
         "idempotency": {"namespace": name,
                         "fingerprint": {"include": ["body"]}}}
        for name in ("eu", "us")]
    gateway = bench.serve(config)
    for target in ("/eu", "/us"):
        assert not gateway.ask("abc", target=target).replayed
        assert gateway.ask("abc", target=target).replayed


@test
def routes_of_one_namespace_share_their_keys(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["routes"] = [
        {"path": f"/{name}", "upstream": "api", "idempotency": {}}
        for name in ("a", "b")]
    gateway = bench.serve(config)
    equal(gateway.ask("abc", target="/a").status, 201)
    equal(gateway.ask("abc", target="/b").problem, "key-reused")


@test
def namespace_scope_and_key_never_blur_into_one_another(bench):
    upstream, gateway = bench.pair(
        idempotency={"scope": ["X-A", "X-B"]})
    pairs = [("ab", "c", "k"), ("a", "bc", "k"), ("a", "b", "ck"),
             ("abc", "", "k"), ("", "abc", "k")]
    for a, b, key in pairs:
        got = gateway.ask(key, fields=[("X-A", a), ("X-B", b)])
        equal((got.status, got.replayed), (201, False), (a, b, key))
    equal(upstream.count(), len(pairs))


@test
def neither_keys_nor_tokens_stand_in_redis_in_the_clear(bench):
    upstream, gateway = bench.pair()
    equal(gateway.ask("secret-key-of-mine").status, 201)
    contents = bench.redis.contents()
    assert contents
    for word in (b"secret-key-of-mine", TENANT.encode(),
                 b"token-of-tenant-a"):
        assert word not in contents, word


@test
def key_id_is_32_hex_digits_and_the_same_everywhere(bench):
    upstream, gateway = bench.pair()
    gateway.ask("abc")
    problem = gateway.ask("abc", body=b"another").json()
    found = re.fullmatch("urn:onceproxy:key:([0-9a-f]{32})",
                         problem["instance"])
    assert found, problem["instance"]
    gateway.wait_for_log("request", outcome="mismatch", key_id=found[1])
    gateway.wait_for_log("request", outcome="executed", key_id=found[1])


@test
def a_store_secret_changes_the_names_of_records(bench):
    upstream = bench.upstream()
    names = set()
    for secret in (None, "one", "two"):
        store = {"secret": secret} if secret else {}
        gateway = bench.gateway(upstream, store=store)
        assert not gateway.ask("abc").replayed
        assert gateway.ask("abc").replayed
        names.add(gateway.wait_for_log("request",
                                       outcome="executed")["key_id"])
    equal(len(names), 3)


@test
def a_key_in_a_trailer_is_no_key(bench):
    upstream, gateway = bench.pair()
    head = build(fields=[("Authorization", TENANT),
                         ("Transfer-Encoding", "chunked")])
    got = gateway.send(head + b"1\r\nx\r\n0\r\nIdempotency-Key: abc\r\n\r\n")
    equal(got.problem, "key-missing")
    equal(upstream.count(), 0)


tap.main()
