# SPDX-License-Identifier: BSD-2-Clause
"""Files as newcomers write them (tests/wrong), and what `check` answers: the
place, and words that lead to what was meant."""

import os

from once import tap
from once.demo import source
from once.gateway import command
from once.tap import each, equal, test

# File, line and column, words.
ANSWERS = [
    ("absent-low", "27:15", 'must be a status from 300 to 599'),
    ("absent-number", "26:23", 'did you mean [404]?'),
    ("absent-quoted", "26:23", 'did you mean [404]?'),
    ("absent-string", "27:15", 'without quotes; did you mean 404?'),
    ("admin-all", "6:15", 'clients have this address already ("listen"):'),
    ("admin-clients", "6:15", 'clients have this address already'),
    ("admin-open", "6:15", 'others can reach this address:'),
    ("admin-port-alone", "7:5", 'did you mean "listen": "127.0.0.1:9090"?'),
    ("admin-port", "6:15", 'did you mean "127.0.0.1:9090"?'),
    ("admin-string", "5:12",
     'must be an object; did you mean {"listen": "127.0.0.1:9090"}?'),
    ("attempts-zero", "23:25", 'must be between 1 and 1000000'),
    ("backslash-path", "2:19", 'a backslash in a string is written \\\\'),
    ("body-size", "23:29", 'did you mean "10MiB"?'),
    ("brace-too-few", "29:5", 'or is a } missing further up? (what is open '
     'here begins at 15:5)'),
    ("brace-inner", "8:12", 'this { seems to have no }, by the indentation'),
    ("brace-and-bracket", "7:3", 'this object is closed by "}", not by "]" '
     '(what is open here begins at 5:12)'),
    ("brace-too-many", "30:2", 'the configuration ends before this; is'),
    ("broker-for-brokers", "11:3", 'did you mean "brokers"?'),
    ("broker-for-brokers", "16:3", 'did you mean "sources"?'),
    ("broker-for-brokers", "35:7", 'did you mean "upstream"?'),
    ("cache-size", "30:3", 'did you mean "cache": {"size": "64MiB"}?'),
    ("camel-case", "23:9", 'did you mean "on_unknown"?'),
    ("cluster-comma", "9:16", 'did you mean ["a:6379", "b:6379"]?'),
    ("cluster-url", "10:7", 'must be HOST:PORT, not a URL'),
    ("comment-member", "30:3", 'a comment begins with //'),
    ("derive-dots", "24:11", 'must be a JSON pointer like "/order_id"'),
    ("derive-list", "24:11", 'did you mean "/order_id"?'),
    ("derive-name", "23:23", 'did you mean ["/order_id"]?'),
    ("derive-word", "23:23", 'must be "body" or a list of JSON pointers'),
    ("empty", "1:1", 'the file is empty'),
    ("env-capitals", "7:14", 'must be a string, {"env": NAME} or {"file":'),
    ("equals-sign", "2:12", '":" is missing between a member\'s name and'),
    ("fingerprint-excludes", "24:11", 'did you mean "ignore"?'),
    ("fingerprint-list", "23:24",
     'must be an object like {"include": ...}; {}'),
    ("hash-comment", "8:3", 'a comment begins with //'),
    ("header-colon", "23:19", 'must be the name of a header'),
    ("header-number", "23:19", 'must be a string, or a list of strings'),
    ("headers", "23:9", 'did you mean "header"?'),
    ("health-string", "16:17", 'did you mean {"path": "/x"}?'),
    ("hidden", "15:5", 'hides the route "charges" behind it'),
    ("idempotency-true", "22:22",
     'must be an object like {"header": ...}; {}'),
    ("idempotent-for-idempotency", "22:7", 'did you mean "idempotency"?'),
    ("ignore-string", "24:21", 'did you mean ["/sent/at"]?'),
    ("in-flight-queue", "23:22", 'must be "reject" or "wait"'),
    ("in-flight-true", "23:22", 'must be "reject" or "wait", not true'),
    ("include-string", "24:22", 'did you mean ["body"]?'),
    ("jwt-no-keys", "25:20", '"keys" is needed too'),
    ("jwt-url", "26:21", 'must be a file, which is read again'),
    ("key-format", "23:23", 'did you mean "uuid"?'),
    ("label-dots", "24:11", 'did you mean "/order/id"?'),
    ("label-list", "23:18", 'did you mean "key"?'),
    ("label-key-among", "23:18", "the key is not one of several"),
    ("label-pointer", "23:18", 'did you mean ["/order"]?'),
    ("lease-millis", "23:18", 'did you mean "15s"?'),
    ("lease-tiny", "23:18", 'must be between 100ms and 1d'),
    ("level-at-top", "30:3", 'did you mean "level" in "log"?'),
    ("line-break-in-string", "12:17",
     'this string has no closing quote on its line'),
    ("list-for-object", "22:30",
     'a list has no names; an object stands in {}'),
    ("list", "1:1", 'must be an object like {"listen": ...}'),
    ("listen-host", "3:5", '"address" is missing'),
    ("listen-host", "4:7", 'did you mean "address": "0.0.0.0:8080"?'),
    ("listen-host", "5:7", 'did you mean "address": "0.0.0.0:8080"?'),
    ("listen-no-port", "3:5", 'the port is missing'),
    ("listen-number", "2:13", 'did you mean [":8080"]?'),
    ("listen-port-alone", "3:5", 'a port alone begins with a colon: ":80'),
    ("listen-port", "3:5", 'must be a string like "127.0.0.1:8080" or'),
    ("listen-star", "3:5", 'all addresses are a port alone: ":8080"'),
    ("listen-string", "2:13", 'did you mean ["127.0.0.1:8080"]?'),
    ("listen-twice", "4:5",
     'this address appears twice (first at /listen/0)'),
    ("listen-path", "3:5", 'did you mean "unix:/run/onceproxy.sock"?'),
    ("listen-url", "3:5",
     'must be HOST:PORT, not a URL; did you mean "127.0.0.1:8080"?'),
    ("listen-v6", "3:5", 'an IPv6 address stands in brackets:'),
    ("lock-timeout", "23:9", 'did you mean "lease"?'),
    ("log-level", "31:14", 'did you mean "warn"?'),
    ("log-string", "30:10",
     'must be an object; did you mean {"level": "debug"}?'),
    ("max-attempt", "23:9", 'did you mean "max_attempts"?'),
    ("merge-markers", "9:1", 'a merge has left this line: keep one of'),
    ("method-for-methods", "20:7", 'did you mean "methods"?'),
    ("method-lower", "18:9", 'upper case; did you mean "POST"?'),
    ("methods-comma", "17:18", 'did you mean ["POST", "PUT"]?'),
    ("missing-brace", "1:1", 'this { is never closed'),
    ("missing-comma", "5:3", 'a comma is missing before this'),
    ("mode-dry-run", "23:15", 'did you mean "observe"?'),
    ("mode-shadow", "23:15", 'did you mean "observe"?'),
    ("namespace-kind", "23:22", '{NAME} is a segment of the path of the'),
    ("newer-only-name", "29:23", 'did you mean "/version"?'),
    ("no-break-space", "9:13", 'such as a no-break space, stands here'),
    ("no-listen", "1:1", '"listen" is missing'),
    ("no-path", "15:5", '"path" is missing'),
    ("no-quotes", "2:3", "a member's name stands in double quotes"),
    ("no-upstream", "15:5", '"upstream" is missing'),
    ("octal", "3:40", 'a number does not begin with 0; text stands'),
    ("on-unknown-ignore", "23:23", 'must be "hold", "retry" or an object:'),
    ("on-unknown-list", "23:23",
     'must be "hold", "retry" or an object: {"reconcile"'),
    ("on-unknown-no-key", "24:24", 'must have {key}, {path:NAME} or'),
    ("on-unknown-path-name", "24:24",
     'did you mean {path:order} (of the path'),
    ("on-unknown-reconcile", "23:23",
     '"reconcile" is an object with the path that'),
    ("on-unknown-url", "24:24", 'must begin with "/"'),
    ("open-comment", "8:3", 'this comment is never closed'),
    ("outcomes-number", "24:18", 'must be "store", "release", "forget" or'),
    ("outcomes-range", "24:22", 'must be a status from "200" to "599" or a'),
    ("outcomes-retry", "24:18", 'must be "store", "release", "forget" or '
     '"unknown"; a retry is executed again after "release" (nothing happened); '
     'where something may have happened, say "unknown", and what a retry does '
     'then is "on_unknown"'),
    ("outcomes-hold", "24:18", 'must be "store", "release", "forget" or '
     '"unknown"; after such a status, say "unknown", and what a retry does '
     'then is "on_unknown"'),
    ("path-angles", "20:15", '"<id>" fits only itself; a variable is {id}'),
    ("path-colon", "20:15", '":id" fits only itself; a variable is {id}'),
    ("path-no-slash", "20:15", 'must begin with "/"'),
    ("path-regex", "20:15", 'must begin with "/"'),
    ("path-star-middle", "20:15", '"*" may only be the last segment; a '
     'segment in the middle is {NAME}'),
    ("path-star-twice", "20:15", '"*" must be a whole segment, and stands'),
    ("path-url", "20:15", 'must be the path alone, without the host'),
    ("problem-name", "24:24", 'did you mean "key-reused"?'),
    ("problem-status", "24:18", 'those that can are "in-flight",'),
    ("python-true", "2:21", 'true is written in small letters'),
    ("request-string", "41:18", 'did you mean {"path": "/v1/charges"}?'),
    ("required-string", "23:21", 'must be true or false, without quotes'),
    ("retention-number", "23:22", 'did you mean "24h"?'),
    ("retention-days", "23:22", 'did you mean "7s" or "7d"?'),
    ("retention-month", "23:22", 'did you mean "30d"?'),
    ("retention-on-route", "23:7",
     'there is no such member here; it belongs in'),
    ("retention-two-units", "23:22", 'did you mean "36h"?'),
    ("retention-week", "23:22", 'did you mean "7d"?'),
    ("retention-words", "23:22", 'did you mean "24h"?'),
    ("retention-year", "23:22", 'did you mean "365d"?'),
    ("route-name-twice", "25:15", 'another route has this name: /routes/0'),
    ("route-for-routes", "14:3", 'did you mean "routes"?'),
    ("routes-object", "14:13", 'must be a list: [{...}, ...]'),
    ("route-with-more", "14:3", 'did you mean "routes"?'),
    ("route-with-more", "18:9", '/route/0/methods/0: route "charges": must '
     'be in upper case; did you mean "POST"?'),
    ("scope-comma", "23:18", 'did you mean ["Authorization", "X-Tenant"]?'),
    ("scope-forwarded", "24:11", 'the gateway removes this header or writes'),
    ("scope-header", "24:11", 'did you mean "X-Tenant"?'),
    ("scope-iss", "28:13", 'did you mean "issuer"?'),
    ("scope-object", "23:18", 'did you mean [{...}]?'),
    ("scope-path-colon", "25:21",
     'did you mean {account} there, instead of ":account"?'),
    ("scope-path-typo", "26:21", 'did you mean "account"?'),
    ("scope-string", "23:18", 'did you mean ["Authorization"]?'),
    ("single-quotes", "8:3", "a member's name stands in double quotes,"),
    ("socket-mode", "5:15", 'did you mean "0660"?'),
    ("source-topic", "40:7",
     'did you mean "stream"? "queue" is a broker of Redis'),
    ("status-string", "26:23", 'without quotes; did you mean 201?'),
    ("store-db", "9:14", 'only a number from 0 to 65535 may follow'),
    ("store-host", "9:5", 'did you mean "redis"?'),
    ("store-host", "10:5", 'did you mean "redis"?'),
    ("store-in-idempotency", "23:9", 'there is no such member'),
    ("store-manged", "9:14", 'did you mean "managed"?'),
    ("store-memory", "8:12", 'must be an object like {"redis": ...}'),
    ("store-no-scheme", "9:14", 'did you mean "redis://127.0.0.1:6379"?'),
    ("store-socket-path", "9:14",
     'did you mean "unix:/run/redis/redis.sock"?'),
    ("store-password-dollar", "10:17",
     'must be a string, {"env": NAME} or {"file":'),
    ("store-password-env", "10:17", 'ONCEPROXY_NOT_SET is not set in the'),
    ("store-sentinel-no-master", "9:18", '"store.master" is needed too'),
    ("store-ssl", "9:14", 'with TLS it begins with "rediss://"'),
    ("store-string", "8:12",
     'did you mean {"redis": "redis://127.0.0.1:6379"}?'),
    ("store-two", "10:16",
     'cannot be combined with "store.redis": leave one of them out'),
    ("targets-string", "13:18", 'did you mean ["http://127.0.0.1:9000"]?'),
    ("timeout-on-route", "23:7", 'did you mean "upstreams.NAME.timeout"?'),
    ("tls-at-top", "30:3", 'did you mean "listen": [{"address": "0.0.0.0:'),
    ("tls-cert", "6:9", 'did you mean "certificate"?'),
    ("tls-flag", "5:14", 'must be an object like {"certificate": ...}'),
    ("tls-no-file", "6:24", '/gone/c.pem cannot be read: No such file or'),
    ("tls-no-file", "7:16", '/gone/k.pem cannot be read: No such file or'),
    ("token-dollar", "7:14", 'write {"env": "NAME"} instead'),
    ("trailing-comma", "27:29",
     'there is a comma too many here, before the }'),
    ("status-class", "24:18", 'did you mean "5xx"?'),
    ("ttl", "23:9", 'did you mean "retention"?'),
    ("twice", "9:3", 'appears twice (first at 5:3)'),
    ("unclosed-string", "20:15",
     'this string has no closing quote on its line'),
    ("unknown-log", "30:3", 'did you mean "log"?'),
    ("unquoted-duration", "2:20", 'this is neither a number, true, false nor'),
    ("upstream-as-url", "21:19", 'must be a name in "upstreams", not a URL'),
    ("upstream-for-upstreams", "11:3", 'did you mean "upstreams"?'),
    ("upstream-https-typo", "12:17", 'must be a URL: http://HOST[:PORT],'),
    ("upstream-list", "12:17", 'several URLs are {"targets": ["http://'),
    ("upstream-name", "21:19", 'did you mean "payments"?'),
    ("upstream-no-scheme", "12:17",
     'did you mean "http://127.0.0.1:9000"?'),
    ("upstream-port", "12:17", 'the port must be between 1 and 65535'),
    ("upstream-password", "12:17",
     "an upstream's URL must not have a user or"),
    ("upstream-query", "12:17", "an upstream's URL must not have a query"),
    ("upstream-target", "13:7", 'did you mean "targets"?'),
    ("upstream-unknown", "21:19", 'did you mean "payments"?'),
    ("upstream-unknown-of-route", "21:19",
     'route "billing": no upstream is named "bilinj"; did you mean "billing"'),
    ("upstreams-list", "11:16", 'must be an object of names: {"NAME": "http'),
    ("upstream-url", "13:7", 'did you mean "targets"?'),
    ("variable-bare", "24:24", 'or {json:/order_id} (of the body)?'),
    ("variable-jsn", "24:24", 'did you mean {json:/order_id}?'),
    ("variable-kind", "24:24", 'but {key}, {path:NAME} and {json:/pointer}'),
    ("variable-pointer", "24:24", 'did you mean {json:/order_id}?'),
    ("variable-spelling", "24:24", 'did you mean {key}?'),
    ("workers-auto", "30:14", 'must be a whole number'),
    ("yaml", "1:1", 'a configuration begins with {'),
]


def files():
    return sorted({name for name, _, _ in ANSWERS})


@each([(name, name) for name in files()])
def a_wrong_file_is_answered_with_what_is_wrong(bench, name):
    file = source(f"tests/wrong/{name}.json")
    done = command("check", "-c", file, "--strict")
    equal((done.returncode, done.stderr), (1, ""), done.stdout)
    wanted = [(place, words) for n, place, words in ANSWERS if n == name]
    lines = done.stdout.splitlines()
    equal(len(lines), len(wanted), done.stdout)
    for line, (place, words) in zip(lines, wanted):
        assert line.startswith(f"{file}:{place}: "), line
        assert words in line, line


@test
def every_wrong_file_has_its_answer(bench):
    names = {name.removesuffix(".json")
             for name in os.listdir(source("tests/wrong"))}
    equal(names, set(files()))


# No file of the source may be like these.
@each([("Latin-1 in a comment", b"// f\xfcr\n{}", "1:5",
        "this comment is not UTF-8: save the file as UTF-8"),
       ("a NUL byte in a comment", b"{}\n/* \0 */", "2:4",
        "a NUL byte stands here: take it out"),
       ("carriage returns alone", b"// x\r{\r}\r", "1:1",
        "lines end with a line feed; with a carriage return alone, as here, "
        "all that follows a // is comment"),
       ("comments alone", b"// x\n", "1:1",
        "the file has only blanks and comments")])
def bytes_are_wrong(bench, data, place, words):
    file = bench.file(data)
    done = command("check", "-c", file)
    equal((done.returncode, done.stdout), (1, f"{file}:{place}: {words}\n"))


tap.main()
