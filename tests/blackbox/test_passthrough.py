# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 3 and 7: routes, and what a reverse proxy may touch."""

import os
import random
import re
from urllib.parse import unquote

from once import tap
from once.http import build
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered


def routed(bench, paths):
    """Every path goes to an upstream that answers with the route's path."""
    upstreams = {path: bench.upstream(answer(200, path.encode()))
                 for path in paths}
    config = bench.config("http://127.0.0.1:9")
    config["upstreams"] = {f"u{n}": upstreams[path].url
                           for n, path in enumerate(paths)}
    config["routes"] = [{"path": path, "upstream": f"u{n}"}
                        for n, path in enumerate(paths)]
    return upstreams, bench.serve(config)


PATHS = ["/v1/charges", "/v1/charges/{id}", "/v1/{kind}/{id}/refunds",
         "/files/*", "/"]


@test
def the_first_route_that_matches_serves(bench):
    _, gateway = routed(bench, PATHS)
    with gateway.client() as client:
        for target, path in (
                ("/v1/charges", "/v1/charges"),
                ("/v1/charges/", "/v1/charges"),
                ("/v1/charges?x=/files/", "/v1/charges"),
                ("/v1/charges/ch_1", "/v1/charges/{id}"),
                ("/v1/charges/a%20b", "/v1/charges/{id}"),
                ("/v1/x/y/refunds", "/v1/{kind}/{id}/refunds"),
                ("/files/a/b/c", "/files/*"), ("/files/", "/files/*"),
                ("/", "/"), ("/?q", "/")):
            got = client.exchange("GET", target)
            equal((target, got.status, got.body), (target, 200,
                                                   path.encode()))
        for target in ("/v1", "/v1/charges/a/b", "/v1/x/y", "/filesx",
                       "/V1/charges"):
            got = client.exchange("GET", target)
            equal((target, got.problem), (target, "no-route"))


@each([(target, target) for target in (
    "/v1//charges", "//v1/charges", "/v1/./charges", "/v1/x/../charges",
    "/../v1/charges", "/%76%31/charges", "/v1/%2e/charges",
    "/v1/x/%2E%2e/charges", "/v1/charges//", "/v1/charges/.",
    "/v1/charges/x/..", "http://other/v1/charges", "/v1/%63harges",
    "/%76%31/%63%68%61%72%67%65%73", "/v1/charge%73", "/v1/charges/",
    "/v1/charges///", "/./v1/./charges/./", "/../../v1/charges",
    "/v1/charges/%2e", "/v1/charges/%2E/", "/v1/charges/x/%2e%2E",
    "/v1/x/.%2e/charges", "/v1/x/%2e./charges", "///v1///charges///",
    "//..//v1/charges", "/v1/x/..//charges", "/v1/charges?", "/v1/charges??",
    "/v1/charges?/../x", "/v1/charges/?x=1", "/v1/charges?%00\\",
    "HTTP://other/v1/charges", "https://other:8443/v1/charges",
    "http://other//v1/charges", "http://[::1]:80/v1/./charges",
    "http://other/x/../v1/charges")])
def no_spelling_slips_past_its_route(bench, target):
    upstream, gateway = bench.pair()
    for replayed in (False, True):
        got = gateway.ask("k", target=target)
        equal((got.status, got.replayed), (201, replayed))
    equal(upstream.count(), 1)


# Servers read them in different ways, or not at all.
REFUSED = [
    "/v1/charges%00", "/v1/charges%00/x", "/%00/../v1/charges",
    "/v1\\charges", "\\v1\\charges", "/v1/charges\\", "/v1/..\\charges",
    "/v1/charges#", "/v1/charges#x", "/v1/charges?x#y", "#/v1/charges",
    "/v1/charges%", "/v1/charges%2", "/v1/charges%zz", "/v1/%u0063harges",
    "/v1//../v1/charges", "/x//%2e%2e/v1/charges", "/v1%2Fx/../charges",
    "/v1/x/%2F../charges", "*", "?/v1/charges", "v1/charges", "./v1/charges",
    "%2Fv1/charges", "other/v1/charges", "http:/v1/charges",
    "http:///v1/charges", "http://?/v1/charges", "http://u@h/v1/charges",
    "http://h:x/v1/charges", "http://h\\/v1/charges", "ftp://h/v1/charges",
    "/v1/caf\xe9", "/v1/charges\x7f", "/v1/\x01charges"]


@test
def a_path_with_no_one_reading_is_refused_and_goes_nowhere(bench):
    upstream, gateway = bench.pair()
    served = [(target, got.status) for target in REFUSED
              for got in [gateway.ask("k", target=target)]
              if got.status != 400]
    equal(served, [])
    equal(upstream.count(), 0)
    equal(gateway.ask("k").status, 201)


# Of two readings, one of which is /v1/charges: "%2F" is a slash, or none.
TWO_READINGS = [
    "/static/..%2Fv1/charges", "/static/..%2fv1%2fcharges", "/v1%2Fcharges",
    "/static%2F..%2Fv1/charges", "/static/%2e%2e%2Fv1/charges",
    "/static/x/..%2F..%2Fv1/charges", "/static/../v1%2fcharges",
    "/v1/x/..%2Fcharges", "/v1/x%2F..%2fcharges", "/%2Fv1/charges",
    "/v1/charges%2F", "/v1/charges%2f%2F", "/v1%2F%2E%2fcharges",
    "/v1/charges/..%2Fcharges", "/v1%2F..%2Fv1/charges?x",
    "http://other/static/..%2Fv1/charges"]


def behind_static(bench):
    """A route that is passed through stands before the one with keys."""
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["routes"].insert(0, {"path": "/static/*", "upstream": "api"})
    return upstream, bench.serve(config)


@each([(target, target) for target in TWO_READINGS])
def a_path_of_two_readings_does_not_pass_a_route_by(bench, target):
    upstream, gateway = behind_static(bench)
    got = gateway.ask("k", target=target)
    equal((got.status, got.problem), (400, "bad-request"))
    gateway.wait_for_log("request", outcome="bad-request", status=400,
                         route="-")
    equal(upstream.count(), 0)
    # Neither reading of it is that of a route with keys.
    equal(gateway.send(build("GET", target)).status, 201)
    assert target.endswith(upstream.requests[0].target), upstream.requests


@test
def two_readings_that_mean_the_same_route_are_served(bench):
    upstream, gateway = behind_static(bench)
    for target in ("/static/a%2Fb", "/static/x/..%2Fy", "/other/a%2Fb",
                   "/static/a%2F..%2Fb", "/x%2Fv1/charges"):
        equal((target, gateway.ask("k", target=target).status),
              (target, 201))
        equal(upstream.requests[-1].target, target)


@test
def a_variable_of_two_readings_names_no_namespace(bench):
    """An account's payment must not have its record under another's."""
    upstream = bench.upstream()
    config = bench.config(upstream, {"namespace": "{account}"})
    config["routes"][0]["path"] = "/v1/{account}/charges"
    config["routes"].pop()
    gateway = bench.serve(config)
    equal(gateway.ask("k", target="/v1/a/charges").status, 201)
    equal(gateway.ask("k", target="/v1/a%2Fb/charges").status, 201)
    equal(gateway.ask("k", target="/v1/b%2F..%2Fa/charges").problem,
          "bad-request")
    equal(upstream.count(), 2)


def readings(path):
    """What servers make of a path: "%2F" decoded before dots are resolved,
    never, or after, and then they may be resolved once more; doubled slashes
    joined first or last."""
    def resolve(text):
        out = []
        for piece in text.split("/")[1:]:
            if unquote(piece) == "..":
                out = out[:-1]
            elif unquote(piece) != ".":
                out.append(piece)
        return "/" + "/".join(out)

    def join(text):
        return re.sub("/+", "/", text)

    def keep(text):
        return text

    for first in (join, keep):
        raw = resolve(first(path))
        coded = resolve(first(unquote(path)))
        for seen in (raw, coded, unquote(raw), resolve(first(unquote(raw)))):
            yield join(seen).rstrip("/")


@test
def whatever_reading_a_path_has_it_does_not_pass_its_route_by(bench):
    """Nothing goes on without a key that a server may take for the route that
    needs one."""
    dice = random.Random(int(os.environ.get("ONCE_SEED", "1")))
    upstream, gateway = behind_static(bench)
    pieces = ["v1/charges", "v1%2Fcharges", "v1", "charges", "x", "..", ".",
              "%2e%2E", ""]
    weights = [8, 2, 2, 2, 1, 6, 1, 1, 1]
    told = {"passed": 0, "key-missing": 0, "bad-request": 0}
    for _ in range(600):
        path = "".join(
            dice.choice(["/", "/", "/", "%2F", "%2f"]) + piece
            for piece in dice.choices(pieces, weights, k=dice.randint(1, 5)))
        path = dice.choice(["/static", "/x/..", ""]) + path
        path = path if path[0] == "/" else "/" + path
        got = gateway.ask(None, target=path)
        keyed = "/v1/charges" in readings(path)
        told[got.problem or "passed"] += 1
        assert not keyed or got.status == 400, (path, got.status)
    equal([r.target for r in upstream.requests
           if "/v1/charges" in readings(r.target)], [])
    assert min(told.values()) > 10, told


# Byte for byte other paths than /v1/charges, to us and to an upstream.
OTHERS = [
    "/v1/charges;x=1", "/v1/charges;", "/v1/charges%3Bx", "/v1;a/charges",
    "/v1/charges%5C", "/v1%5Ccharges", "/v1/..%5Ccharges", "/v1/charges%3F",
    "/v1/charges%3f/x", "/v1/charges%23", "/v1/charges%20", "/v1/charges+",
    "/v1/charges%0a", "/v1/%2563harges", "/v1%252Fcharges", "/V1/charges",
    "/v1/Charges", "/v1/charges.", "/v1/charges/..", "/v1/..;/charges",
    "/v1/%C0%AE%C0%AE/charges", "/v1%c0%afcharges", "/v1%e0%80%afcharges",
    "/v1%EF%BC%8Fcharges", "/v1/c%CC%A7harges", "/other/v1/charges",
    "/http://other/v1/charges", "/?/v1/charges", "/x?/../v1/charges"]


@test
def what_is_another_path_passes_with_the_bytes_it_came_with(bench):
    upstream, gateway = bench.pair()
    for target in OTHERS:
        for _ in range(2):
            got = gateway.ask("k", target=target)
            equal((target, got.status, got.replayed), (target, 201, False))
            equal(upstream.requests[-1].target, target)
    equal(upstream.count(), 2 * len(OTHERS))


@each([(target, target, wanted) for target, wanted in (
    ("http://other", "/"), ("http://other?x", "/?x"),
    ("HTTP://other:81?", "/?"))])
def an_absolute_target_without_a_path_is_the_root(bench, target, wanted):
    upstream, gateway = bench.pair()
    equal(gateway.send(build("GET", target)).status, 201)
    equal(upstream.requests[0].target, wanted)


@each([(target, target) for target in (
    "/v1/ch_1/refund", "/v1/a%2Fb/refund", "/v1/%2F/refund/",
    "/v1/..%2Fx/refund", "//v1/a%2fb/./refund", "/v1/x/../a%2Fb/refund")])
def a_coded_slash_in_a_variable_does_not_hide_the_route(bench, target):
    """To many upstreams it is just a byte of the segment."""
    upstream = bench.upstream()
    config = bench.config(upstream)
    config["routes"][0]["path"] = "/v1/{id}/refund"
    # Another route for what it is where "%2F" is a slash would be refused.
    config["routes"].pop()
    gateway = bench.serve(config)
    for replayed in (False, True):
        got = gateway.ask("k", target=target)
        equal((got.status, got.replayed), (201, replayed))
    equal(upstream.count(), 1)
    equal(upstream.requests[0].target, target)


@each([(target, target) for target in (
    "/a%2Fb//c/../d/./%7e?q=%20&&x=/../;#"[:-1], "/a?", "/a?b?c", "/a;x=1",
    "/a%5Cb", "/a|b^`{}\"<>", "/a/../b", "//a", "/a'()*!,$&+=:@")])
def the_targets_bytes_reach_the_upstream_unchanged(bench, target):
    upstream, gateway = bench.pair()
    equal(gateway.send(build("GET", target)).status, 201)
    equal(upstream.requests[0].target, target)


@test
def of_an_absolute_target_the_rest_goes_on_and_the_authority_is_host(bench):
    upstream, gateway = bench.pair()
    gateway.send(build("GET", "http://there:81/a?b", host="here"))
    equal(upstream.requests[0].first, "GET /a?b HTTP/1.1")
    equal(upstream.requests[0].get("Host"), "there:81")


@test
def methods_choose_the_route(bench):
    upstream, gateway = bench.pair()
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        equal(gateway.send(build(method, "/v1/charges")).status, 201)
        equal(upstream.requests[-1].method, method)
    equal(gateway.send(build("POST", "/v1/charges")).problem, "key-missing")


@test
def hop_by_hop_fields_of_a_client_end_here(bench):
    upstream, gateway = bench.pair()
    got = gateway.send(build("GET", "/x", [
        ("Connection", "close, X-Named"), ("X-Named", "1"),
        ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "keep-alive"),
        ("Proxy-Authorization", "secret"), ("TE", "trailers"),
        ("Trailer", "X-T"), ("Upgrade", "websocket"), ("X-Kept", "1")]))
    equal(got.status, 201)
    request = upstream.requests[0]
    for name in ("X-Named", "Keep-Alive", "Proxy-Connection", "TE",
                 "Proxy-Authorization", "Trailer", "Upgrade"):
        equal((name, request.all(name)), (name, []))
    equal(request.all("X-Kept"), ["1"])
    assert "x-named" not in str(request.all("Connection")).lower()


@test
def hop_by_hop_fields_of_an_upstream_end_here(bench):
    upstream, gateway = bench.pair(answer(200, b"x", [
        ("Connection", "X-Named"), ("X-Named", "1"),
        ("Keep-Alive", "timeout=5"), ("Proxy-Authenticate", "Basic"),
        ("Upgrade", "h2c"), ("Trailer", "X-T"), ("X-Kept", "1")]))
    for _ in range(2):
        for got in (gateway.send(build("GET", "/x")), gateway.ask("k")):
            for name in ("X-Named", "Proxy-Authenticate", "Upgrade",
                         "Trailer"):
                equal((name, got.all(name)), (name, []))
            equal(got.all("X-Kept"), ["1"])


@test
def the_upstream_learns_who_asked_and_by_what_way(bench):
    upstream, gateway = bench.pair()
    gateway.send(build("GET", "/x", host="api.example:8080"))
    request = upstream.requests[0]
    equal(request.get("Host"), "api.example:8080")
    equal(request.get("X-Forwarded-For"), "127.0.0.1")
    equal(request.get("X-Forwarded-Proto"), "http")
    equal(request.get("X-Forwarded-Host"), "api.example:8080")
    assert request.get("Via").startswith("1.1 "), request.get("Via")


@test
def what_earlier_proxies_said_is_appended_to(bench):
    upstream, gateway = bench.pair()
    got = gateway.send(build("GET", "/x", [
        ("Via", "1.0 first"), ("X-Forwarded-For", "10.0.0.1"),
        ("X-Forwarded-For", "10.0.0.2"), ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "forged")]))
    request = upstream.requests[0]
    equal(", ".join(request.all("X-Forwarded-For")),
          "10.0.0.1, 10.0.0.2, 127.0.0.1")
    via = ", ".join(request.all("Via"))
    assert via.startswith("1.0 first, 1.1 "), via
    equal(request.get("X-Forwarded-Proto"), "http")
    equal(request.get("X-Forwarded-Host"), "api.example")
    equal(got.get("Via"), None)  # answers stay as the upstream gave them


# Fields that a client must not get dropped (by naming them in Connection).
NAMES = ["Idempotency-Key", "Authorization", "X-Mode", "Idempotency-Attempt",
         "Idempotent-Replayed", "Host", "Content-Length", "Transfer-Encoding",
         "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Via",
         "X-Request-Id", "Original-Request-Id", "Idempotency-Outcome"]
NAMED = {
    "alone": ["{}"], "behind close": ["close, {}"],
    "in front of others": ["{}, close, X-Named"],
    "in small letters": ["keep-alive,lower {}"], "in capitals": ["upper {}"],
    "with tabs": ["close\t,\t{}\t"], "behind nothing": [", ,{}"],
    "on a second line": ["close", "{}"],
}


def connection_lines(lines, name):
    return [("Connection", line.replace("lower {}", name.lower())
             .replace("upper {}", name.upper()).replace("{}", name))
            for line in lines]


@each(list(NAMED.items()))
def connection_cannot_hide_a_field(bench, lines):
    upstream, gateway = bench.pair(
        idempotency={"fingerprint": {"headers": ["X-Mode"]}})
    served = []
    for name in NAMES:
        fields = connection_lines(lines, name)
        for got in (gateway.ask("k", fields),
                    gateway.ask("k", fields, target="/x"),
                    gateway.send(build("GET", "/x", fields))):
            if (got.status, got.problem) != (400, "bad-request"):
                served.append((name, got.status))
    equal(served, [])
    equal(upstream.count(), 0)
    got = gateway.ask("k", [("Connection", "X-Named"), ("X-Named", "1")])
    equal(got.status, 201)


@test
def a_client_cannot_set_what_the_gateway_sets(bench):
    upstream, gateway = bench.pair()
    gateway.ask("k", [
        ("Idempotency-Attempt", "7"), ("IDEMPOTENCY-ATTEMPT", "8"),
        ("x-forwarded-PROTO", "https"), ("X-FORWARDED-HOST", "forged"),
        ("X-Forwarded-Host", "forged too")])
    request = upstream.requests[0]
    for name, value in (("Idempotency-Attempt", "1"),
                        ("X-Forwarded-Proto", "http"),
                        ("X-Forwarded-Host", "api.example"),
                        ("X-Forwarded-For", "127.0.0.1")):
        equal((name, request.all(name)), (name, [value]))


OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
             "X-Original-URL", "X-Rewrite-URL")
# What a gateway with default names sets or goes by.
ALIASES = [name.replace("-", "_", n) for name in (
    "Idempotency-Attempt", "Idempotency-Key", "X-Forwarded-For",
    "X-Forwarded-Proto", "X-Forwarded-Host", "X-Request-Id",
    "Transfer-Encoding", "Content-Length", "Keep-Alive", "Proxy-Connection",
    "Proxy-Authorization", *OVERRIDES) for n in (1, -1)]


def reached(upstream, names):
    """The fields of these names that the last request had, "_" for "-"."""
    wanted = [name.lower().replace("_", "-") for name in names]
    return [name for name, _ in upstream.requests[-1].fields
            if name.lower().replace("_", "-") in wanted]


@each([("with a key", "k", "/v1/charges"), ("without", None, "/other")])
def what_cgi_takes_for_another_field_stays_here(bench, key, target):
    """In CGI, and all that took its names over, "_" is "-"."""
    upstream, gateway = bench.pair()
    kept = [("X_Other", "1"), ("Content_Type", "a/b"), ("Accept_Language", "x")]
    got = gateway.ask(key, [(name.upper(), "99") for name in ALIASES] + kept,
                      target=target)
    equal(got.status, 201)
    equal([name for name, value in upstream.requests[0].fields
           if value == "99"], [])
    for name, value in kept:
        equal(upstream.requests[0].all(name), [value])


@test
def what_cgi_takes_for_a_field_of_the_route_stays_here(bench):
    upstream, gateway = bench.pair(idempotency={
        "header": ["Pay_Id", "A-Key"], "scope": ["X-Tenant", "X_Shop"],
        "attempt_header": "X_Attempt", "fingerprint": {"headers": ["X-V"]}})
    got = gateway.send(build("POST", "/v1/charges", [
        ("Pay_Id", "k"), ("X-Tenant", "t"), ("X_Shop", "s"), ("X-V", "1"),
        *((name, "99") for name in (
            "Pay-Id", "A_Key", "X_Tenant", "X-Shop", "X-Attempt", "X_V"))],
        b"{}"))
    equal(got.status, 201)
    names = ("Pay_Id", "A-Key", "X-Tenant", "X_Shop", "X_Attempt", "X-V")
    equal(sorted(reached(upstream, names)),
          ["Pay_Id", "X-Tenant", "X-V", "X_Attempt", "X_Shop"])
    equal(upstream.requests[0].get("X_Attempt"), "1")


@each([("with a key", "k", "/v1/charges"), ("without", None, "/other")])
def another_method_or_path_stays_here_unless_it_is_trusted(bench, key, target):
    fields = [(name, "/v1/charges") for name in OVERRIDES]
    fields.append(("X_Original_URL", "/v1/charges"))
    upstream, gateway = bench.pair()
    equal(gateway.ask(key, fields, target=target).status, 201)
    equal(reached(upstream, OVERRIDES), [])
    upstream, gateway = bench.pair(options={"trust_overrides": True})
    equal(gateway.ask(key and "another", fields, target=target).status, 201)
    equal(reached(upstream, OVERRIDES), [*OVERRIDES, "X_Original_URL"])


@test
def an_upstream_cannot_say_what_the_gateway_says(bench):
    upstream, gateway = bench.pair(answer(201, b"x", [
        ("Idempotent-Replayed", "true"), ("Original-Request-Id", "forged"),
        ("X-Request-Id", "theirs"), ("Idempotency-Outcome", "store")]))
    first, again = gateway.ask("k"), gateway.ask("k")
    equal((first.replayed, again.replayed), (False, True))
    equal(again.get("Original-Request-Id"), first.get("X-Request-Id"))
    for got in (first, again, gateway.send(build("GET", "/x"))):
        assert b"forged" not in got.raw, got.raw
        equal(got.all("Idempotency-Outcome"), [])


@test
def a_client_of_http_1_0_is_told_in_via(bench):
    upstream, gateway = bench.pair()
    got = gateway.send(b"GET /x HTTP/1.0\r\nVia: 1.1 first\r\n\r\n")
    equal(got.status, 201)
    request = upstream.requests[0]
    assert request.get("Via").startswith("1.1 first, 1.0 "), request.get("Via")
    equal(request.first, "GET /x HTTP/1.1")
    equal(request.all("X-Forwarded-Host"), [])
    equal(request.get("Host"), upstream.address)


def keeps(gateway, head):
    """Whether the connection serves another request after this one."""
    with gateway.client() as client:
        client.send(head)
        got = client.read()
        equal(got.status, 201)
        kept = (got.get("Connection") or "").lower() == "keep-alive"
        assert kept or got.get("Connection") == "close", got.raw
        if not kept:
            equal(client.reader.to_end(), b"")
            return False
        client.send(head)
        equal(client.read().status, 201)
        return True


@each([("no word", b"", False), ("keep-alive", b"keep-alive", True),
       ("Keep-Alive", b"Keep-Alive", True), ("close", b"close", False),
       ("both", b"keep-alive, close", False),
       ("both, the other way", b"close, keep-alive", False),
       ("among others", b"x, keep-alive", True)])
def a_client_of_http_1_0_keeps_its_connection_if_it_says_so(bench, word, kept):
    upstream, gateway = bench.pair()
    line = b"Connection: " + word + b"\r\n" if word else b""
    equal(keeps(gateway, b"GET /x HTTP/1.0\r\n" + line + b"\r\n"), kept)
    equal(keeps(gateway, b"POST /v1/charges HTTP/1.0\r\n" + line
                + b"Idempotency-Key: k\r\nAuthorization: a\r\n"
                b"Content-Length: 2\r\n\r\nhi"), kept)
    for name in ("Keep-Alive", "Proxy-Connection"):
        equal(keeps(gateway, b"GET /x HTTP/1.0\r\n" + name.encode()
                    + b": keep-alive\r\n\r\n"), False)


@each([("a small answer", 5, True), ("one without a length", 200_000, False)])
def a_client_of_http_1_0_is_given_no_chunks(bench, size, kept):
    """What has no length ends with the connection."""
    body = b"x" * size
    upstream, gateway = bench.pair(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"%x\r\n" % size + body + b"\r\n0\r\n\r\n")
    with gateway.client() as client:
        client.send(b"GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        if not kept:
            head, _, rest = client.reader.to_end().partition(b"\r\n\r\n")
            assert b"chunked" not in head and b"Content-Le" not in head, head
            equal(rest == body, True)
            return
        got = client.read()
        equal((got.body, got.get("Content-Length"),
               got.all("Transfer-Encoding")), (body, str(size), []))
        equal(got.get("Connection"), "Keep-Alive")


@test
def a_client_on_a_unix_socket_is_unknown(bench):
    upstream = bench.upstream()
    path = bench.folder() + "/s"
    gateway = bench.gateway(upstream, listen=["unix:" + path])
    gateway.send(build("GET", "/x", [("X-Forwarded-For", "10.0.0.1, ")]))
    equal(upstream.requests[0].get("X-Forwarded-For")[:9], "10.0.0.1,")
    assert upstream.requests[0].get("X-Forwarded-For").endswith(" unknown")


@test
def forwarded_fields_are_kept_where_they_are_trusted(bench):
    upstream, gateway = bench.pair(options={"forwarded": "trust"})
    gateway.send(build("GET", "/x", [("X-Forwarded-Proto", "https"),
                                     ("X-Forwarded-Host", "shop")]))
    request = upstream.requests[0]
    equal(request.get("X-Forwarded-Proto"), "https")
    equal(request.get("X-Forwarded-Host"), "shop")


@test
def a_target_may_be_given_its_own_name_as_host(bench):
    upstream, gateway = bench.pair(options={"host": "target"})
    gateway.send(build("GET", "/x"))
    equal(upstream.requests[0].get("Host"), upstream.address)


@test
def a_path_of_an_upstreams_url_stands_in_front(bench):
    upstream = bench.upstream()
    gateway = bench.gateway(upstream.url + "/base")
    gateway.send(build("GET", "/x?y"))
    equal(upstream.requests[0].target, "/base/x?y")


@test
def other_fields_pass_in_their_order_and_bytes(bench):
    upstream, gateway = bench.pair()
    fields = [("X-B", "1"), ("x-a", "caf\xe9"), ("X-B", "2"), ("X-Empty", ""),
              ("Cookie", "a=b; c=d"), ("Accept-Encoding", "br"),
              ("Authorization", "Bearer x"), ("X-Tab", "a\tb")]
    gateway.send(build("GET", "/x", fields))
    names = {name.lower() for name, _ in fields}
    equal([f for f in upstream.requests[0].fields if f[0].lower() in names],
          fields)
    for name in ("Accept", "User-Agent", "Content-Type", "Content-Length",
                 "Transfer-Encoding", "Expect"):
        equal((name, upstream.requests[0].all(name)), (name, []))


@each([("with a key", "k", {}, ["identity"]),
       ("without one", None, {}, ["gzip, br"]),
       ("observed", "k", {"mode": "observe"}, ["gzip, br"])])
def what_is_stored_has_no_coding_of_one_client(bench, key, route, wanted):
    """Contract, section 3 (upstreams): a retry may take no gzip."""
    upstream = bench.upstream()
    config = bench.config(upstream, idempotency={"required": False})
    config["routes"][0].update(route)
    gateway = bench.serve(config)
    asked = [("Accept-Encoding", "gzip, br")]
    equal(gateway.ask(key, fields=asked).status, 201)
    equal(upstream.requests[0].all("Accept-Encoding"), wanted)


@test
def a_body_goes_on_with_a_length_of_the_gateways_own(bench):
    upstream, gateway = bench.pair()
    data = bytes(range(256)) * 100
    gateway.send(build("PUT", "/x", body=data))
    head = build("PUT", "/x", [("Transfer-Encoding", "chunked")])
    gateway.send(head + b"3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n")
    gateway.send(build("PUT", "/x", body=b""))
    bodies = [r.body for r in upstream.requests]
    equal(bodies == [data, b"abcde", b""], True)
    equal(upstream.requests[2].get("Content-Length"), "0")


@test
def answers_that_end_by_closing_are_taken(bench):
    def script(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\n\r\nto the end")
        connection.close()
    upstream, gateway = bench.pair(script)
    equal(gateway.send(build("GET", "/x")).body, b"to the end")


@test
def an_upstream_that_fails_is_said_so(bench):
    upstream, gateway = bench.pair(close_unanswered)
    got = gateway.send(build("GET", "/x"))
    equal((got.status, got.problem), (502, "upstream-failed"))
    assert "instance" not in got.json()


@test
def an_upstream_that_is_silent_is_504(bench):
    upstream, gateway = bench.pair(options={"timeout": "300ms"})
    hold = upstream.hold()
    got = gateway.send(build("GET", "/x"))
    equal((got.status, got.problem), (504, "upstream-failed"))
    hold.release()


@test
def a_key_on_a_pass_through_route_is_a_field_like_any_other(bench):
    upstream, gateway = bench.pair()
    for _ in range(2):
        got = gateway.ask("k", target="/other")
        equal((got.status, got.replayed), (201, False))
    equal(upstream.count(), 2)
    equal(upstream.requests[0].get("Idempotency-Key"), "k")
    equal(bench.redis.keys(), [])


@test
def upstreams_on_several_targets_take_turns(bench):
    both = [bench.upstream(), bench.upstream()]
    gateway = bench.gateway(
        both[0], options={"targets": [u.url for u in both]}, workers=1)
    for _ in range(10):
        gateway.send(build("GET", "/x"))
    equal([u.count() for u in both], [5, 5])


@test
def a_path_that_climbs_does_not_leave_its_upstreams_base_path(bench):
    """Above the root, in one reading at least."""
    upstream = bench.upstream()
    gateway = bench.gateway(upstream.url + "/base")
    for target in ("/../base/v1/charges", "/x/../../base/v1/charges",
                   "/%2e%2e/base/v1/charges", "/.%2E/v1/charges",
                   "//..//v1/charges", "/..%2Fbase/v1/charges",
                   "/x%2Fy/..%2F..%2F..%2Fbase/v1/charges", "/../x", "/..",
                   "http://other/../base/v1/charges"):
        got = gateway.ask("k", target=target)
        equal((got.status, got.problem), (400, "bad-request"), target)
    equal(upstream.count(), 0)
    equal(gateway.ask("k", target="/x/../v1/charges").status, 201)
    equal(upstream.requests[0].target, "/base/x/../v1/charges")


tap.main()
