# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: where in the file what is wrong stands, in words that
lead to what was meant; and section 3: comments."""

import json
import signal

from once import tap
from once.gateway import command
from once.tap import each, equal, test

# Of contract, section 3, with an upstream that there is not.
EXAMPLE = """{
  "listen": ["0.0.0.0:8080"],
  "store": {"redis": "redis://127.0.0.1:6379/0"},
  "upstreams": {"payments": "http://127.0.0.1:9000"},
  "routes": [
    {
      "methods": ["POST"],
      "path": "/v1/charges",
      "idempotency": {},
      // typed in a hurry
      /* and é late */
      "upstream": "x"
    },
    {"name": "rest", "path": "/*", "upstream": "payments"}
  ]
}
"""
GOOD = EXAMPLE.replace('"x"', '"payments"')


def check(bench, text, *args):
    """Exit status and lines, less the file's name."""
    data = text.encode() if isinstance(text, str) else text
    file = bench.file(data)
    done = command("check", "-c", file, *args)
    equal(done.stderr, "")
    lines = done.stdout.splitlines()
    for line in lines:
        assert line.startswith(file), line
    return done.returncode, [line[len(file):] for line in lines]


@test
def an_error_has_line_column_pointer_and_words(bench):
    equal(check(bench, EXAMPLE),
          (1, [':12:19: /routes/0/upstream: no upstream is named "x"; '
               'did you mean "payments"?']))
    got = command("check", "-c", bench.file(EXAMPLE.encode()), "--json")
    equal(json.loads(got.stdout)["errors"],
          [{"line": 12, "column": 19, "pointer": "/routes/0/upstream",
            "words": 'no upstream is named "x"; did you mean "payments"?'}])


@test
def a_missing_member_has_the_place_of_what_it_is_missing_in(bench):
    status, lines = check(bench, EXAMPLE.replace('"upstream": "x"', '"x": 1'))
    equal((status, lines), (1, [
        ':6:5: /routes/0: "upstream" is missing',
        ":12:7: /routes/0/x: there is no such member"]))
    equal(check(bench, "\n  {}\n"), (1, [
        f':2:3: /: "{name}" is missing'
        for name in ("listen", "upstreams", "routes")]))


@test
def a_line_break_in_a_name_is_no_line_break(bench):
    text = GOOD.replace('"listen"', '"a\\nb": 1, "listen"')
    equal(check(bench, text),
          (1, [":2:3: /a\\u000ab: there is no such member"]))


@test
def errors_come_in_the_order_of_the_file(bench):
    status, lines = check(bench, """{
  "workers": -1, "colour": "red",
  "routes": [{"path": "v1", "upstream": "y"}],
  "upstreams": {"x": "ftp://x"}, "listen": ["127.0.0.1"]
}""")
    equal(status, 1)
    equal([line.split(": ")[0] for line in lines],
          [":2:14", ":2:18", ":3:23", ":3:41", ":4:22", ":4:45"])


@test
def columns_are_counted_in_characters(bench):
    text = '{"listen": [":1"], "instance": "é", "workers": "€"}'
    places = [line.split(": ")[0] for line in check(bench, text)[1]]
    assert f":1:{text.index(chr(0x20ac))}" in places, places


@test
def entries_of_lists_are_called_by_their_names(bench):
    _, lines = check(bench, EXAMPLE.replace(
        '"methods"', '"name": "charges", "methods"'))
    assert lines[0].startswith(
        ':12:19: /routes/0/upstream: route "charges": no upstream'), lines
    config = json.loads(json.dumps({
        "listen": ["127.0.0.1:0"], "upstreams": {}, "routes": [],
        "store": {"encryption_keys": [{"id": "2026-11", "key": "short"}]}}))
    _, lines = check(bench, json.dumps(config))
    assert '/0/key: key "2026-11": must be 32 bytes' in lines[0], lines


@each([
    ("a member", '"workrs": 1', 'did you mean "workers"?'),
    ("a member in capitals", '"Workers": 1', 'did you mean "workers"?'),
    ("one of a section", '"log": {"levl": "info"}', 'did you mean "level"?'),
    ("a section as a path", '"log.level": "info"',
     'did you mean "level" in "log"?'),
    ("a member of another object", '"retention": "24h"',
     'it belongs in "defaults" or a route\'s "idempotency"'),
    ("a member of a section", '"ignore": []', 'did you mean "ignore" in '
     '"fingerprint" of "defaults" or a route\'s "idempotency"?'),
    ("a choice", '"log": {"level": "warning"}', 'did you mean "warn"?'),
    ("a choice of idempotency", '"defaults": {"in_flight": "waits"}',
     'did you mean "wait"?'),
    ("an outcome", '"defaults": {"outcomes": {"5xx": "realease"}}',
     'did you mean "release"?'),
])
def what_was_meant_is_said(bench, member, words):
    status, lines = check(bench, GOOD.replace("{", "{" + member + ", ", 1))
    equal((status, len(lines)), (1, 1), lines)
    assert words in lines[0], lines


MESSAGES = GOOD.replace("{", """{
  "brokers": {"q": {"redis": "redis://127.0.0.1:6379"}},
  "sources": {"s": {"broker": "q", "stream": "in", "request": {
    "path": "/v1/charges", "headers": {"Authorization": "x"}}}},
  "relays": {"r": {"webhook": "https://h", "routes": ["/v1/charges"],
    "secrets": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]}},
""", 1)


@each([(name, name) for name in (
    "idempotency", "brokers", "redis", "sources", "broker", "stream",
    "request", "relays", "webhook", "secrets", "routes", "upstreams")])
def a_mistyped_name_is_told_with_the_right_one(bench, name):
    equal(check(bench, MESSAGES)[0], 0)
    wrong = name.replace("e", "ee", 1) if "e" in name else name + "s"
    status, lines = check(
        bench, MESSAGES.replace(f'"{name}": ', f'"{wrong}": ', 1))
    equal(status, 1, lines)
    wanted = f'/{wrong}: there is no such member; did you mean "{name}"?'
    assert any(line.endswith(wanted) for line in lines), lines


@each([("a member", '"colour": 1'),
       ("an object", '"log": "loud"'),
       ("a list", '"brokers": {"k": {"kafka": "a,b"}}'),
       ("permissions", '"admin": {"listen": -1}'),
       ("a choice", '"log": {"level": "loud"}')])
def what_is_not_near_is_not_suggested(bench, member):
    _, lines = check(bench, GOOD.replace("{", "{" + member + ", ", 1))
    assert "did you mean" not in lines[0], lines


@each([
    ("a comma behind the last one", '"a": 1,}', 3, 7),
    ("no comma", '"a": 1 "b": 2}', 3, 8),
    ("a name without quotes", "a: 1}", 3, 1),
    ("single quotes", "'a': 1}", 3, 1),
    ("text without quotes", '"a": 24h}', 3, 6),
    ("Python's words", '"a": True}', 3, 6),
    ("a comment of other languages", "# a\n}", 3, 1),
    ("a comment without an end", "/* }", 3, 1),
    ("a string without an end", '"a": "b\n}', 3, 6),
    ("no end", '"a": [1', 3, 6),
    ("no end at all", '"a": 1', 1, 1),
])
def an_error_of_syntax_has_line_and_column(bench, text, line, column):
    status, lines = check(bench, '{ // x\n"listen": [],\n' + text)
    equal((status, len(lines)), (1, 1))
    assert lines[0].startswith(f":{line}:{column}: "), lines
    assert len(lines[0].split(": ", 1)[1]) > 10, lines


@test
def what_is_no_utf_8_has_its_place(bench):
    status, lines = check(bench, b'{"listen":\n ["caf\xe9"]}')
    equal((status, lines[0][:6]), (1, ":2:3: "))


@each([("little end first", "utf-16-le", b""),
       ("big end first", "utf-16-be", b""),
       ("little end first, with a mark", "utf-16-le", b"\xff\xfe"),
       ("big end first, with a mark", "utf-16-be", b"\xfe\xff")])
def utf_16_is_called_by_its_name(bench, encoding, mark):
    status, lines = check(bench, mark + GOOD.encode(encoding))
    equal((status, len(lines)), (1, 1), lines)
    assert lines[0].startswith(":1:1: the file is in UTF-16, "), lines
    assert lines[0].endswith("it must be in UTF-8"), lines


@test
def comments_and_a_schema_are_taken(bench):
    text = """// of the shop
{
  "$schema": "https://example.org/onceproxy.schema.json", // for editors
  /* the addresses:
   * "all" of them */
  "listen": ["127.0.0.1:0"],
  "upstreams": {"a": "http://127.0.0.1:9//x"}, // no comment begins in a string
  "problem_base": "urn:/*no-comment*/:",
  "routes": []/* none */
} // the end"""
    text = text.replace(":9//x", ":9/x")
    status, lines = check(bench, text)
    equal((status, lines[-1]), (0, ": ok"))
    shown = json.loads(command("check", "-c", bench.file(text.encode()),
                               "--explain", "--json").stdout)
    equal(shown["problem_base"], "urn:/*no-comment*/:")
    assert "$schema" not in shown
    equal(check(bench, b"\xef\xbb\xbf" + text.encode()), (0, lines))


@test
def serve_and_a_reload_say_the_place(bench):
    done = command("serve", "-c", bench.file(EXAMPLE.encode()))
    equal(done.returncode, 1)
    assert ":12:19: /routes/0/upstream: " in done.stderr, done.stderr
    gateway = bench.serve(bench.config(bench.upstream()))
    with open(gateway.file, "w", encoding="utf-8") as file:
        file.write(EXAMPLE)
    gateway.signal(signal.SIGHUP)
    line = gateway.wait_for_log("reload_refused")
    equal((line["member"], line["line"], line["column"]),
          ("/routes/0/upstream", 12, 19))


@test
def what_a_reload_does_not_change_has_its_place(bench):
    config = bench.config(bench.upstream())
    gateway = bench.serve(config)
    text = json.dumps({**config, "workers": None})[1:-1]
    with open(gateway.file, "w", encoding="utf-8") as file:
        file.write('{\n' + text.replace(
            '"workers": null', '\n  "workers": 3') + "}")
    gateway.signal(signal.SIGHUP)
    line = gateway.wait_for_log("reload_partial")
    equal((line["member"], line["line"], line["column"]), ("/workers", 3, 14))


tap.main()
