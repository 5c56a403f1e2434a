# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3 (derive_key, fingerprint): what a body says, whatever
its client or its try wrote it like: forms, uploads, gzip."""

import gzip

from once import tap
from once.tap import each, equal, test

FORM = ("Content-Type", "application/x-www-form-urlencoded")
JSON = ("Content-Type", "application/json")
GZIP = ("Content-Encoding", "gzip")


def upload(boundary, parts=(b"1", b"xyz"), head=b"", end=b"--\r\n"):
    """A body as clients write it, and its field."""
    line = b"--" + boundary
    body = b""
    for number, part in enumerate(parts):
        body += (line + b'\r\nContent-Disposition: form-data; name="%d"\r\n'
                 % number + head + b"\r\n" + part + b"\r\n")
    return {"body": body + line + end, "fields": [
        ("Content-Type",
         'multipart/form-data; boundary="%s"' % boundary.decode())]}


def zipped(body, mtime=0, fields=(JSON,)):
    return {"body": gzip.compress(body, mtime=mtime),
            "fields": [GZIP, *fields]}


def form(body):
    return {"body": body, "fields": [FORM]}


def compare(bench, first, second, same, **idempotency):
    upstream, gateway = bench.pair(idempotency=idempotency)
    equal(gateway.ask("k", **first).status, 201)
    got = gateway.ask("k", **second)
    equal((got.status, got.problem),
          (201, None) if same else (422, "key-reused"))
    equal([one.body for one in upstream.requests], [first["body"]])


@each([
    ("its boundary", upload(b"b1"), upload(b"another-2"), True),
    ("a part", upload(b"b1"), upload(b"b2", (b"1", b"xyZ")), False),
    ("a part's head", upload(b"b1"),
     upload(b"b2", head=b"Content-Type: text/plain\r\n"), False),
    ("where a part ends", upload(b"b1", (b"1", b"2")),
     upload(b"b2", (b"12", b"")), False),
    ("a part less", upload(b"b1", (b"1", b"2")), upload(b"b2", (b"1",)),
     False),
    ("what is no whole upload", upload(b"b1", end=b"x"),
     upload(b"b2", end=b"x"), False),
    ("what follows it", upload(b"b1"), upload(b"b2", end=b"--\r\nmore"),
     False),
])
def of_an_upload_all_counts_but_its_boundary(bench, first, second, same):
    compare(bench, first, second, same)


@each([("an upload", upload(b"b1"), upload(b"another-2")),
       ("gzip", zipped(b"{}"), zipped(b"{}", mtime=7))])
def a_key_of_the_body_is_that_of_each_retry(bench, first, again):
    """A client packs it anew: a boundary, or a time, is another one."""
    upstream, gateway = bench.pair(idempotency={"derive_key": "body"})
    equal(gateway.ask(None, **first).status, 201)
    got = gateway.ask(None, **again)
    equal((got.status, got.replayed), (201, True))
    equal(upstream.count(), 1)


@each([("none", "multipart/form-data"),
       ("two", "multipart/form-data; boundary=b1; boundary=b2"),
       ("an empty one", "multipart/form-data; boundary="),
       ("too long", "multipart/form-data; boundary=" + "b" * 71)])
def without_one_boundary_it_is_compared_by_bytes(bench, kind):
    fields = [("Content-Type", kind)]
    compare(bench, {**upload(b"b1"), "fields": fields},
            {**upload(b"b2"), "fields": fields}, False)


@each([
    ("the order of its fields", b"a=1&b=2", b"b=2&a=1", True),
    ("how a byte is written", b"a=x+y&b=%41", b"a=x%20y&b=A", True),
    ("a value", b"a=1&b=2", b"a=1&b=3", False),
    ("the order of a field's values", b"a=1&b=0&a=2", b"a=2&a=1&b=0", False),
    ("a field's values, together", b"a=1&b=0&a=2", b"b=0&a=1&a=2", True),
    ("how often a field comes", b"a=1&a=1", b"a=1", False),
    ("a field without a value", b"a=1&b", b"a=1", False),
    ("where a name ends", b"ab=c", b"a=bc", False)])
def a_form_is_compared_by_value_where_json_is(
        bench, first, second, same):
    compare(bench, form(first), form(second), same,
            fingerprint={"json": True})


@test
def a_form_is_compared_by_bytes_otherwise(bench):
    compare(bench, form(b"a=1&b=2"), form(b"b=2&a=1"), False)


@test
def a_form_is_no_json(bench):
    compare(bench, form(b"a=1"), {"body": b'{"a":"1"}', "fields": [JSON]},
            False, fingerprint={"json": True})


@each([("by pointers", {"only": ["/a"]}), ("by value", {"json": True})])
def json_that_its_client_calls_a_form_is_json(bench, fingerprint):
    """As curl -d does, and many others."""
    compare(bench, form(b'{"a":1,"b":2}'), form(b'{"b":2, "a":1}'), True,
            fingerprint=fingerprint)


@each([("left out", b"a=1&t=5", b"a=1&t=6", {"ignore": ["/t"]}, True),
       ("twice, not left out", b"a=1&t=5&t=7", b"a=1&t=6&t=7",
        {"ignore": ["/t"]}, False),
       ("alone", b"a=1&t=5", b"a=1&t=6", {"only": ["/a"]}, True),
       ("alone, twice", b"a=1&a=5&t=1", b"a=1&a=5&t=2", {"only": ["/a"]},
        True),
       ("alone, twice, others", b"a=1&a=5", b"a=1&a=6", {"only": ["/a"]},
        False),
       ("in broken JSON", b'{"a":1,"a":2', b'{"a":1,"a":3',
        {"only": ["/a"]}, False),
       ("alone, another", b"a=1&t=5", b"a=2&t=5", {"only": ["/a"]}, False)])
def pointers_reach_a_forms_fields(bench, first, second, fingerprint, same):
    compare(bench, form(first), form(second), same, fingerprint=fingerprint)


@each([("another time in it", b'{"a":1}', 7, {}, True),
       ("another content", b'{"a":2}', 0, {}, False),
       ("other white space", b'{ "a": 1 }', 0, {}, False),
       ("by value", b'{ "a": 1 }', 7, {"json": True}, True),
       ("another value", b'{ "a": 2 }', 7, {"json": True}, False)])
def gzip_is_compared_decoded(bench, body, mtime, fingerprint, same):
    compare(bench, zipped(b'{"a":1}'), zipped(body, mtime), same,
            fingerprint=fingerprint)


@each([("by bytes", {}), ("by value", {"json": True})])
def plain_and_gzipped_is_two_requests(bench, fingerprint):
    compare(bench, zipped(b'{"a":1}'), {"body": b'{"a":1}', "fields": [JSON]},
            False, fingerprint=fingerprint)


BROKEN = [("cut", gzip.compress(b"x" * 100)[:-9]), ("none", b'{"a":1}'),
          ("with more behind", gzip.compress(b"x") + b"y")]


@each([(f"{words}, {end or 'again'}", body, end)
       for words, body in BROKEN for end in ("", "longer")])
def broken_gzip_is_compared_by_bytes(bench, body, end):
    compare(bench, {"body": body, "fields": [GZIP]},
            {"body": body + end.encode(), "fields": [GZIP]}, not end)


@each([("a form", form(b"x=1&id=tr_1"), form(b"id=tr_1&x=2"),
        form(b"id=tr_2&x=1")),
       ("gzip", zipped(b'{"id":"tr_1","x":1}'),
        zipped(b'{"id":"tr_1","x":2}', 7), zipped(b'{"id":"tr_2"}'))])
def a_key_is_derived_of(bench, first, again, other):
    upstream, gateway = bench.pair(idempotency={
        "derive_key": ["/id"], "fingerprint": {"only": ["/id"]}})
    for asked, replayed in ((first, False), (again, True), (other, False)):
        got = gateway.ask(None, **asked)
        equal((got.status, got.replayed), (201, replayed), asked)
    equal(upstream.count(), 2)


@each([("a form", form(b"order=7&x=1"), form(b"x=2&order=7")),
       ("gzip", zipped(b'{"order":"7","x":1}'),
        zipped(b'{"x":2,"order":"7"}'))])
def an_entity_and_a_label_are_found_in(bench, first, other):
    upstream, gateway = bench.pair(idempotency={
        "entity": ["/order"], "serialize": True, "label": ["/order"]})
    hold = upstream.hold()
    task = bench.background(lambda: gateway.ask("k1", **first))
    hold.wait_arrived()
    equal(gateway.ask("k2", **other).problem, "entity-busy")
    hold.release()
    equal(task.result().status, 201)
    line = gateway.wait_for_log("request", outcome="executed")
    equal(line["label"], "7")


@each([("a form without it", form(b"x=1")), ("it is empty", form(b"id=")),
       ("it comes twice", form(b"id=1&id=2"))])
def no_key_is_derived_of(bench, asked):
    upstream, gateway = bench.pair(idempotency={"derive_key": ["/id"]})
    got = gateway.ask(None, **asked)
    equal((got.status, got.problem), (400, "key-missing"))
    equal(upstream.count(), 0)


BOMB = zipped(b'{"id":"' + b"1" * 100_000 + b'"}')


@each([("too large", BOMB),
       *((words, {"body": body, "fields": [GZIP]}) for words, body in BROKEN)])
def gzip_that_is_not_read_is_refused_where_a_pointer_needs_it(bench, asked):
    """Also where a request without a key would pass."""
    upstream, gateway = bench.pair(idempotency={
        "derive_key": ["/id"], "required": False,
        "max_request_body": "64KiB"})
    got = gateway.ask(None, **asked)
    equal((got.status, got.problem), (413, "request-too-large"))
    equal(upstream.count(), 0)


@test
def what_is_decoded_is_charged_until_it_is_sent(bench):
    upstream, gateway = bench.pair(
        idempotency={"max_request_body": "1MiB"},
        limits={"in_flight_bytes": "1MiB"})
    hold = upstream.hold()
    first = bench.background(
        lambda: gateway.ask("k", **zipped(b"x" * 500_000)))
    hold.wait_arrived()
    second = bench.background(
        lambda: gateway.ask("k2", **zipped(b"x" * 500_000)))
    upstream.wait_for(2)
    hold.release()
    equal((first.result().status, second.result().status), (201, 201))


@each([("again", 0), ("another time in it", 7)])
def and_is_compared_by_bytes_otherwise(bench, mtime):
    other = zipped(b'{"id":"' + b"1" * 100_000 + b'"}', mtime)
    compare(bench, BOMB, other, mtime == 0, max_request_body="64KiB")


@test
def decoded_bytes_are_charged(bench):
    upstream, gateway = bench.pair(
        idempotency={"max_request_body": "64MiB"},
        limits={"in_flight_bytes": "1MiB"})
    got = gateway.ask("k", **zipped(b"x" * 3_000_000))
    equal((got.status, got.problem), (503, "overloaded"))
    equal(gateway.ask("k", **zipped(b"x" * 1000)).status, 201)
    equal(upstream.count(), 1)


tap.main()
