# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 3 and 7: how an upstream is reached, and that the gateway
does nothing of what HTTP clients do by themselves."""

import gzip
import os
import shutil
import signal
import socket
import ssl
import threading

from once import tap
from once.certificates import Authority
from once.gateway import command, write
from once.http import build
from once.tap import each, equal, test
from once.upstream import (
    answer, close_unanswered, refuse_plainly, refused_port)


def asked(gateway, key="k"):
    """The answers to a request with a key and to one that passes through."""
    return [(got.status, got.problem) for got in (
        gateway.ask(key), gateway.send(build("GET", "/x")))]


TAKEN = [(201, None)] * 2
REFUSED = [(502, "upstream-unreachable")] * 2


# --- whose connection it is ---------------------------------------------------

@each([(scheme, scheme) for scheme in ("Negotiate", "NTLM", "negotiate")])
def a_connection_that_is_logged_in_serves_no_other_client(bench, scheme):
    users = {}

    def reply(connection, request):
        users.setdefault(connection.number, []).append(
            request.get("Authorization"))
        connection.send(answer())

    _, gateway = bench.pair(reply, idempotency={"scope": ["X-Tenant"]})
    for number in range(2):
        for login in [("Authorization", f"{scheme} YII=")], []:
            equal(gateway.ask(f"k{number}{len(login)}", tenant=None, fields=[
                ("X-Tenant", "a"), *login]).status, 201)
            equal(gateway.send(build("GET", "/x", login)).status, 201)
    equal({len(set(seen)) for seen in users.values()}, {1})
    assert len(users) < 8, "others are kept"


# --- TLS --------------------------------------------------------------------

@test
def an_authority_of_ones_own_is_trusted(bench):
    authority = Authority(bench.folder())
    upstream = bench.upstream(tls=authority.server())
    gateway = bench.gateway(upstream, options={"ca": authority.file})
    for number in range(3):
        equal(asked(gateway, f"k{number}"), TAKEN)
    equal(upstream.count(), 6)
    assert len(upstream.connections) < 6, "connections are kept"


@each([("an authority of the system only", None, "IP:127.0.0.1"),
       ("another authority", "other", "IP:127.0.0.1"),
       ("another address", "own", "IP:127.0.0.2"),
       ("a name that is not the one asked for", "own", "DNS:localhost")])
def a_certificate_that_does_not_fit_is_sent_nothing(bench, ca, alternative):
    own = Authority(bench.folder())
    other = Authority(bench.folder(), "other")
    upstream = bench.upstream(tls=own.server(alternative))
    files = {"own": own.file, "other": other.file}
    gateway = bench.gateway(
        upstream, options={"ca": files[ca]} if ca else {})
    for _ in range(2):
        equal(asked(gateway), REFUSED)
    equal(upstream.count(), 0)


def server_of(authority, days):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(
        *authority.issue("server", "IP:127.0.0.1", days=days))
    return context


@each([("an authority that is not trusted", "other", (0, 2),
        "its certificate is not of an authority that we trust"),
       ("a certificate that is over", "own", (-3, -1),
        "its certificate is over"),
       ("a certificate that is not valid yet", "own", (1, 3),
        "its certificate is not valid yet"),
       ("a name that is not the one asked for", "own", None,
        "its certificate is for another name or address"),
       ("plain HTTP", "own", "plain",
        "what answers there speaks no TLS")])
def the_log_says_why_a_handshake_failed_and_with_whom(bench, ca, how, words):
    own = Authority(bench.folder())
    trusted = own if ca == "own" else Authority(bench.folder(), "other")
    with socket.create_server(("127.0.0.1", 0)) as plain:
        if how == "plain":
            threading.Thread(target=refuse_plainly, args=[plain],
                             daemon=True).start()
            url = "https://127.0.0.1:%d" % plain.getsockname()[1]
        else:
            url = bench.upstream(tls=own.server("DNS:localhost") if not how
                                 else server_of(own, how)).url
        gateway = bench.gateway(url, options={"ca": trusted.file})
        equal(asked(gateway), REFUSED)
        plain.shutdown(socket.SHUT_RDWR)
    for event in ("not_sent", "pass_failed"):
        line = gateway.wait_for_log(event)
        equal((line["error"], line["target"]),
              (f"the TLS handshake failed: {words}", url))


@test
def the_name_of_the_url_is_what_is_verified(bench):
    """Verifies the upstream's name, not the Host that the client sent."""
    own = Authority(bench.folder())
    upstream = bench.upstream(tls=own.server("DNS:localhost"))
    gateway = bench.gateway(f"https://localhost:{upstream.port}",
                            options={"ca": own.file})
    equal(asked(gateway), TAKEN)
    equal(upstream.requests[0].get("Host"), "api.example")


@each([("with its certificate", True), ("without", False)])
def an_upstream_may_ask_who_the_gateway_is(bench, known):
    own = Authority(bench.folder())
    upstream = bench.upstream(tls=own.server(client_ca=own.file))
    options = {"ca": own.file}
    if known:
        certificate, key = own.issue("gateway", "DNS:gateway.test")
        options.update(certificate=certificate, key=key)
    gateway = bench.gateway(upstream, options=options)
    if known:
        equal(asked(gateway), TAKEN)
        return
    # With TLS 1.3 a client is refused only after it may have sent something.
    for status, problem in asked(gateway):
        equal(status, 502)
        assert problem in ("upstream-unreachable", "outcome-unknown",
                           "upstream-failed"), problem
    equal(upstream.count(), 0)


def secured(bench, **files):
    """A configuration of an upstream with such files."""
    return bench.config("https://127.0.0.1:9", options=files)


@each([
    ("an authority that is not there", {"ca": "/gone"},
     "/ca: /gone cannot be read: No such file or directory"),
    ("an authority that is none", {"ca": __file__},
     f"/ca: {__file__} contains no PEM certificate"),
    ("a certificate that is not there", {"certificate": "/gone"},
     "/certificate: /gone cannot be read: No such file or directory"),
    ("a key that is not there", {"key": "/gone"},
     "/key: /gone cannot be read: No such file or directory"),
    ("a key of another certificate", {"key": "other"},
     "/key: {other} is not the key of the certificate in {own}"),
])
def files_that_cannot_be_used_are_found_before_a_payment(
        bench, wrong, words):
    """At check, at a start, and at a reload, which leaves what was there."""
    authority = Authority(bench.folder())
    own, other = authority.issue("a"), authority.issue("b")
    good = {"ca": authority.file, "certificate": own.file, "key": own.key}
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, secured(bench, **good))
    equal(command("check", "-c", name).stdout, f"{name}: ok\n")
    files = {member: other.key if file == "other" else file
             for member, file in wrong.items()}
    config = secured(bench, **{**good, **files})
    write(name, config)
    said = words.format(other=other.key, own=own.file)
    for verb in ("check", "serve"):
        done = command(verb, "-c", name)
        equal(done.returncode, 1)
        (line,) = (done.stdout + done.stderr).splitlines()
        assert line.endswith(f": /upstreams/api{said}"), line
    upstream, gateway = bench.pair()
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    line = gateway.wait_for_log("reload_refused")
    equal(f"{line['member']}: {line['error']}", "/upstreams/api" + said)
    equal(gateway.ask("k").status, 201)
    equal(upstream.count(), 1)


@test
def each_file_that_cannot_be_used_is_an_error_of_its_own(bench):
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, secured(bench, ca="/gone", certificate="/no", key="/none"))
    done = command("check", "-c", name)
    equal([line.split(": ")[1:3] for line in done.stdout.splitlines()],
          [[f"/upstreams/api/{member}", f"{file} cannot be read"]
           for member, file in (("ca", "/gone"), ("certificate", "/no"),
                                ("key", "/none"))], done)


@test
def a_reload_takes_files_that_were_renewed(bench):
    """The same names, with another authority."""
    old, new = (Authority(bench.folder(), n) for n in ("old", "new"))
    upstream = bench.upstream(tls=new.server())
    gateway = bench.gateway(upstream, options={"ca": old.file})
    equal(asked(gateway), REFUSED)
    shutil.copy(new.file, old.file)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    equal(asked(gateway), TAKEN)


# --- targets ----------------------------------------------------------------

@test
def a_target_may_be_a_unix_socket(bench):
    path = os.path.join(bench.folder(), "s")
    upstream = bench.upstream(unix=path)
    gateway = bench.gateway("unix:" + path)
    equal(asked(gateway), TAKEN)
    equal(upstream.requests[0].get("Host"), "api.example")
    upstream.stop()
    os.unlink(path)
    equal(asked(gateway, "n"), REFUSED)


@test
def the_turns_of_a_target_that_is_down_are_shared_out(bench):
    keep, port = refused_port()
    good = [bench.upstream(), bench.upstream()]
    gateway = bench.gateway("http://h", options={"targets": [
        good[0].url, f"http://127.0.0.1:{port}", good[1].url]}, workers=1)
    for number in range(10):
        equal(asked(gateway, f"k{number}"), TAKEN)
    equal(sum(u.count() for u in good), 20)
    for upstream in good:
        assert upstream.count() >= 8, [u.count() for u in good]
    keep.close()


@test
def a_target_that_cannot_be_reached_is_left_out_for_a_while(bench):
    """A target whose certificate is not trusted, so that attempts can be
    counted."""
    stranger = bench.upstream(tls=Authority(bench.folder()).server())
    good = bench.upstream()
    gateway = bench.gateway("http://h", options={
        "targets": [stranger.url, good.url]}, workers=1)
    for number in range(15):
        equal(asked(gateway, f"k{number}"), TAKEN)
    equal((stranger.count(), good.count()), (0, 30))
    assert 1 <= len(stranger.connections) <= 7, len(stranger.connections)


@test
def all_targets_unreachable_is_said_once_and_releases(bench):
    kept = [refused_port() for _ in range(3)]
    gateway = bench.gateway("http://h", options={
        "targets": [f"http://127.0.0.1:{port}" for _, port in kept]})
    for _ in range(4):
        equal(asked(gateway), REFUSED)
    for keep, _ in kept:
        keep.close()


@test
def no_other_target_is_asked_once_bytes_were_sent(bench):
    bad, good = bench.upstream(close_unanswered), bench.upstream()
    gateway = bench.gateway("http://h", options={
        "targets": [bad.url, good.url]}, workers=1)
    answers = asked(gateway, "k1") + asked(gateway, "k2")
    equal(sorted(a[0] for a in answers), [201, 201, 502, 502])
    equal((bad.count(), good.count()), (2, 2))


@test
def the_access_line_says_which_target_was_sent_to(bench):
    """With a key and without one; not those that were tried in vain."""
    keep, port = refused_port()
    good = [bench.upstream(), bench.upstream()]
    gateway = bench.gateway("http://h", options={"targets": [
        good[0].url, f"http://127.0.0.1:{port}", good[1].url]}, workers=1)
    for number in range(6):
        equal(asked(gateway, f"k{number}"), TAKEN)
        if number == 2:  # the turns are changed about
            equal(gateway.ask("between").status, 201)
    for upstream in good:
        routes = set()
        for request in upstream.requests:
            line = gateway.wait_for_log(
                "request", request_id=request.get("X-Request-Id"))
            equal(line["upstream"], upstream.url)
            routes.add((line["route"], line["outcome"]))
        equal(routes, {("charges", "executed"), ("rest", "passed")})
    keep.close()


@test
def where_nothing_was_sent_no_target_is_logged(bench):
    keep, port = refused_port()
    upstream = bench.upstream()
    gateway = bench.gateway(upstream)
    equal(asked(gateway), TAKEN)
    gateway.ask("k")
    assert "upstream" not in gateway.wait_for_log(
        "request", outcome="replayed")
    other = bench.gateway(f"http://127.0.0.1:{port}")
    equal(asked(other, "n"), REFUSED)
    for route in ("charges", "rest"):
        assert "upstream" not in other.wait_for_log(
            "request", outcome="unreachable", route=route)
    keep.close()


@test
def what_broke_on_its_way_has_its_target_too(bench):
    upstream = bench.upstream(close_unanswered)
    gateway = bench.gateway(upstream)
    asked(gateway)
    for outcome in ("unknown", "upstream-failed"):
        line = gateway.wait_for_log("request", outcome=outcome)
        equal(line["upstream"], upstream.url)
    equal(gateway.wait_for_log("pass_failed")["target"], upstream.url)


# --- what other HTTP clients do ---------------------------------------------

PROXIES = ("http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY",
           "all_proxy", "ALL_PROXY")


@each([("plain", False), ("TLS", True)])
def proxies_of_the_environment_are_not_used(bench, tls):
    own = Authority(bench.folder()) if tls else None
    upstream = bench.upstream(tls=own.server() if tls else None)
    decoy = bench.upstream()
    env = {name: decoy.url for name in PROXIES}
    env.update(NO_PROXY="", no_proxy="")
    gateway = bench.gateway(upstream, env=env,
                            options={"ca": own.file} if tls else {})
    equal(asked(gateway), TAKEN)
    equal((upstream.count(), len(decoy.connections)), (2, 0))


@test
def files_of_the_home_folder_are_not_read(bench):
    upstream, decoy = bench.upstream(), bench.upstream()
    home = bench.folder()
    for name, text in (
            (".netrc", "machine 127.0.0.1\nlogin alice\npassword secret\n"),
            (".curlrc", f'proxy = "{decoy.url}"\nuser = "alice:secret"\n')):
        with open(os.path.join(home, name), "w", encoding="ascii") as out:
            out.write(text)
        os.chmod(os.path.join(home, name), 0o600)
    gateway = bench.gateway(upstream, env={
        "HOME": home, "CURL_HOME": home,
        "NETRC": os.path.join(home, ".netrc")})
    equal(asked(gateway), TAKEN)
    equal(upstream.requests[1].all("Authorization"), [])
    equal(len(decoy.connections), 0)


@each([("301", 301, 3), ("302", 302, 2), ("303", 303, 2), ("307", 307, 3),
       ("308", 308, 3)])
def redirects_are_the_clients_business(bench, status, count):
    """By 301, 307 and 308 nothing has happened there: they are forgotten."""
    decoy = bench.upstream()
    upstream, gateway = bench.pair(
        answer(status, b"there", [("Location", decoy.url + "/there")]))
    for got in (gateway.ask("k"), gateway.ask("k"),
                gateway.send(build("GET", "/x"))):
        equal((got.status, got.get("Location"), got.body),
              (status, decoy.url + "/there", b"there"))
    equal((upstream.count(), len(decoy.connections)), (count, 0))


@test
def a_401_is_not_answered_with_credentials(bench):
    upstream, gateway = bench.pair(
        answer(401, b"who?", [("WWW-Authenticate", 'Basic realm="x"')]))
    equal(gateway.ask("k").status, 401)
    equal(gateway.send(build("GET", "/x")).get("WWW-Authenticate"),
          'Basic realm="x"')
    equal(upstream.count(), 2)


@test
def cookies_are_not_kept(bench):
    upstream, gateway = bench.pair(
        answer(201, b"x", [("Set-Cookie", "session=a; Path=/")]))
    for number in range(3):
        got = gateway.ask(f"k{number}")
        equal(got.get("Set-Cookie"), "session=a; Path=/")
        gateway.send(build("GET", "/x"))
    equal([r.all("Cookie") for r in upstream.requests], [[]] * 6)


@each([(coding, coding) for coding in ("gzip", "deflate", "br", "zstd")])
def coded_bodies_stay_coded(bench, coding):
    """Even where the bytes are not in that coding at all."""
    packed = gzip.compress(b"x" * 5000)
    upstream, gateway = bench.pair(
        answer(201, packed, [("Content-Encoding", coding)]))
    for got in (gateway.ask("k"), gateway.ask("k"),
                gateway.send(build("GET", "/x"))):
        equal((got.get("Content-Encoding"), got.body == packed),
              (coding, True))
    equal([request.all("Accept-Encoding") for request in upstream.requests],
          [["identity"], []])


@test
def hsts_and_alternative_services_are_not_followed(bench):
    decoy = bench.upstream()
    upstream, gateway = bench.pair(answer(201, b"x", [
        ("Strict-Transport-Security", "max-age=31536000"),
        ("Alt-Svc", f'http/1.1="127.0.0.1:{decoy.port}"')]))
    for number in range(3):
        equal(asked(gateway, f"k{number}"), TAKEN)
    equal((upstream.count(), len(decoy.connections)), (6, 0))


tap.main()
