# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 8: the page for people as it is served, and what pages of
other sites can make a browser do to the admin interface: nothing."""

import base64
import hashlib
import os
import re
import socket

from once import http, tap
from once.tap import Skip, each, equal, test
from once.upstream import answer, close_unanswered

JSON = ("Content-Type", "application/json")


def start(bench, **admin):
    """A gateway with an admin interface, and the key_id of an UNKNOWN."""
    upstream = bench.upstream(close_unanswered)
    admin.setdefault("listen", "127.0.0.1:0")
    gateway = bench.gateway(upstream, admin=admin)
    key_id = gateway.ask("k").json()["instance"].rsplit(":", 1)[-1]
    upstream.reply = answer()
    return gateway, key_id


def send(gateway, method, target, fields=(), host=None, body=None):
    address = gateway.ready["admin"]
    return http.ask(address, http.build(method, target, fields, body,
                                        host or address))


def release(gateway, key_id, *fields, host=None, body=b"{}"):
    return send(gateway, "POST", f"/keys/{key_id}/release", fields, host,
                body)


def state(gateway, key_id):
    return send(gateway, "GET", "/keys/" + key_id).json()["state"]


def refused(got, status, problem):
    equal((got.status, got.problem), (status, problem), got)


# --- the page ---------------------------------------------------------------

def sources(page, element):
    """What the policy must call each such element of the page."""
    return ["'sha256-" + base64.b64encode(hashlib.sha256(
        text).digest()).decode() + "'"
        for text in re.findall(b"<%s>(.*?)</%s>" % (element, element), page,
                               re.S)]


def policy(got):
    return dict(part.strip().split(" ", 1) for part in
                got.get("Content-Security-Policy").split(";"))


@test
def the_page_is_served_with_a_policy_that_lets_nothing_else_in(bench):
    gateway, _ = start(bench)
    got = send(gateway, "GET", "/")
    equal((got.status, got.get("Content-Type")),
          (200, "text/html; charset=utf-8"))
    equal((got.get("X-Content-Type-Options"), got.get("Referrer-Policy"),
           got.get("Cache-Control")), ("nosniff", "no-referrer", "no-store"))
    said = policy(got)
    equal((said["default-src"], said["connect-src"]), ("'none'", "'self'"))
    for name in ("frame-ancestors", "base-uri", "form-action"):
        equal(said[name], "'none'")
    equal([said["script-src"]], sources(got.body, b"script"))
    equal([said["style-src"]], sources(got.body, b"style"))


@test
def the_page_stands_alone(bench):
    """The page names nothing on other hosts, makes no markup of text, and has
    no handlers or styles that the policy would block."""
    gateway, _ = start(bench)
    page = send(gateway, "GET", "/").body.decode()
    addresses = set(re.findall(r"\w+://[^'\" ]*", page))
    equal(addresses, {"http://www.w3.org/2000/svg"})
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write",
                 "eval(", "localStorage", " style=", " onclick", " src="):
        assert word not in page, word


@test
def the_page_is_served_to_head(bench):
    gateway, _ = start(bench)
    got = send(gateway, "HEAD", "/")
    equal((got.status, got.body), (200, b""))
    assert got.get("Content-Security-Policy")
    refused(send(gateway, "POST", "/"), 405, "method-not-allowed")


@test
def without_the_token_the_page_comes_with_401_and_holds_no_data(bench):
    gateway, key_id = start(bench, token="s3cret")
    got = send(gateway, "GET", "/")
    equal((got.status, got.get("Content-Type")),
          (401, "text/html; charset=utf-8"))
    assert got.get("WWW-Authenticate").startswith("Bearer")
    assert got.get("Content-Security-Policy")
    for data in (key_id, "charges", "s3cret", gateway.file,
                 gateway.address, bench.redis.path):
        assert data.encode() not in got.body, data
    bearer = ("Authorization", "Bearer s3cret")
    whole = send(gateway, "GET", "/", [bearer])
    equal((whole.status, whole.body), (200, got.body))
    for method, target in (("POST", "/"), ("GET", "/x"), ("GET", "/keys")):
        refused(send(gateway, method, target), 401, "unauthorized")


# --- pages of other sites ---------------------------------------------------

@test
def a_page_of_another_site_changes_nothing(bench):
    gateway, key_id = start(bench)
    for field in (("Origin", "http://evil.example"), ("Origin", "null"),
                  ("Origin", "http://127.0.0.1:1"),
                  ("Sec-Fetch-Site", "cross-site"),
                  ("Sec-Fetch-Site", "same-site")):
        refused(release(gateway, key_id, field, JSON), 403, "forbidden")
        refused(send(gateway, "DELETE", "/keys/" + key_id, [field]), 403,
                "forbidden")
    equal(state(gateway, key_id), "UNKNOWN")


@test
def a_name_that_was_bound_anew_shows_and_changes_nothing(bench):
    """DNS rebinding: to the browser everything is of one origin,
    evil.example."""
    gateway, key_id = start(bench)
    port = gateway.ready["admin"].split(":")[1]
    for host in ("evil.example", f"evil.example:{port}",
                 "localhost.evil.example", "127.0.0.1.evil.example",
                 "10.0.0.1", "[2001:db8::1]", f"[::2]:{port}", "0.0.0.0"):
        own = ("Origin", "http://" + host)
        refused(release(gateway, key_id, own, JSON, host=host), 403,
                "forbidden")
        for target in ("/", "/status", "/keys", "/metrics"):
            refused(send(gateway, "GET", target, host=host), 403,
                    "forbidden")
        equal(send(gateway, "GET", "/readyz", host=host).status, 200)
    equal(state(gateway, key_id), "UNKNOWN")


@test
def a_form_changes_nothing(bench):
    gateway, key_id = start(bench)
    browser = ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Old/1.0")
    for kind in ("text/plain", "application/x-www-form-urlencoded",
                 "multipart/form-data; boundary=b",
                 "text/plain; application/json", "application/jsonp"):
        fields = (browser, ("Content-Type", kind))
        refused(release(gateway, key_id, *fields), 415, "not-json")
        refused(release(gateway, key_id, *fields, body=b""), 415, "not-json")
    equal(state(gateway, key_id), "UNKNOWN")


@each([("as curl --json", [JSON], None),
       ("as curl -d", [("User-Agent", "curl/7.88.1"),
                       ("Content-Type",
                        "application/x-www-form-urlencoded")], None),
       ("without a type", [], None),
       ("with a character set",
        [("Content-Type", "Application/JSON; charset=utf-8")], None),
       ("by localhost", [JSON], "localhost"),
       ("by another port, through a tunnel", [JSON], "LOCALHOST:8022"),
       ("by 127.9.8.7", [JSON], "127.9.8.7:1"),
       ("by [::1]", [JSON], "[::1]:9090"),
       ("as the page does",
        [("Sec-Fetch-Site", "same-origin"), ("Origin", "SELF"), JSON], None)])
def an_operator_releases(bench, fields, host):
    gateway, key_id = start(bench)
    own = "http://" + gateway.ready["admin"]
    fields = [(n, own if v == "SELF" else v) for n, v in fields]
    equal(release(gateway, key_id, *fields, host=host).status, 200)


@test
def with_a_token_any_name_will_do(bench):
    """A page of another site does not have it."""
    gateway, key_id = start(bench, token="s3cret")
    bearer = ("Authorization", "Bearer s3cret")
    equal(release(gateway, key_id, bearer, host="admin.example").status, 200)
    refused(release(gateway, key_id, bearer, ("Origin", "http://a.example"),
                    host="admin.example"), 403, "forbidden")


@test
def on_a_unix_socket_any_name_will_do(bench):
    path = os.path.join(bench.folder(), "admin")
    gateway, key_id = start(bench, listen="unix:" + path)
    equal(release(gateway, key_id, host="admin.example").status, 200)


@test
def a_client_of_old_that_names_no_host_is_no_browser(bench):
    gateway, _ = start(bench)
    got = http.ask(gateway.ready["admin"], b"GET /status HTTP/1.0\r\n\r\n")
    equal(got.status, 200)


@test
def the_address_that_it_listens_on_will_do(bench):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        raise Skip("there is no IPv6 here") from None
    gateway, key_id = start(bench, listen="[::1]:0")
    equal(release(gateway, key_id).status, 200)


tap.main()
