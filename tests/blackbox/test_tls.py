# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 3 and 7: TLS from clients, with and without client
certificates, and new certificates by a reload."""

import os
import shutil
import signal
import ssl
import time
import warnings

from once import tap
from once.certificates import NEW_KEY, RSA_KEY, Authority
from once.gateway import command, without_places, write
from once.http import Broken, Client, ask, build, connect, keyed
from once.tap import each, equal, test
from once.upstream import answer


def listen_tls(certificate, client_ca=None):
    tls = {"certificate": certificate.file, "key": certificate.key}
    if client_ca:
        tls["client_ca"] = client_ca.file
    return {"address": "127.0.0.1:0", "tls": tls}


class Served:
    """A gateway with a TLS address and, as its second, a plain one."""

    def __init__(self, bench, client_ca=None, reply=None, **members):
        self.authority = Authority(bench.folder())
        self.certificate = self.authority.issue("localhost")
        self.upstream = bench.upstream(reply)
        self.config = bench.config(
            self.upstream, listen=[listen_tls(self.certificate, client_ca),
                                   "127.0.0.1:0"], **members)
        self.gateway = bench.serve(self.config)
        self.context = self.authority.client()

    def client(self, context=None):
        return self.gateway.client(tls=context or self.context)

    def ask(self, *args, context=None, **kwargs):
        with self.client(context) as client:
            client.send(keyed(*args, **kwargs))
            return client.read()

    def reload(self, event="reloaded"):
        since = len(self.gateway.events)
        write(self.gateway.file, self.config)
        self.gateway.signal(signal.SIGHUP)
        return self.gateway.wait_for_log(event, since)


@each([("1.2", ssl.TLSVersion.TLSv1_2), ("1.3", ssl.TLSVersion.TLSv1_3)])
def a_payment_is_executed_once_over_tls(bench, version):
    served = Served(bench)
    served.context.minimum_version = version
    served.context.maximum_version = version
    for replayed in (False, True):
        got = served.ask("k")
        equal((got.status, got.replayed), (201, replayed))
    equal(served.upstream.count(), 1)
    equal(served.upstream.requests[0].get("X-Forwarded-Proto"), "https")
    # The plain address of the same gateway stays plain, and has the same keys.
    got = ask(served.gateway.addresses[1], keyed("k"))
    equal((got.status, got.replayed), (201, True))
    ask(served.gateway.addresses[1], keyed("l"))
    equal(served.upstream.requests[1].get("X-Forwarded-Proto"), "http")


@test
def many_requests_go_over_one_tls_connection(bench):
    served = Served(bench)
    with served.client() as client:
        for number in range(50):
            client.send(keyed(f"k{number}"))
            equal(client.read().status, 201)
    equal(served.upstream.count(), 50)


@test
def large_bodies_are_whole_in_both_directions(bench):
    body = os.urandom(900_000)
    served = Served(bench, reply=answer(200, body[::-1]))
    got = served.ask("k", body=body)
    equal(len(got.body), len(body))
    assert got.body == body[::-1]
    assert served.upstream.requests[0].body == body
    assert served.ask("k", body=body).body == body[::-1]


@test
def tls_1_1_is_refused(bench):
    served = Served(bench)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname = False
    old.verify_mode = ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = ssl.TLSVersion.TLSv1_1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    assert is_refused(served, old)
    equal(served.ask("k").status, 201)


GOOD = ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"]
BAD = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA", "AES256-SHA256",
       "ECDHE-RSA-AES128-SHA256", "ECDHE-RSA-AES256-SHA",
       "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-SHA",
       "DHE-RSA-AES128-SHA256"]


@test
def tls_1_2_is_for_suites_with_forward_secrecy_and_aead_alone(bench):
    authority = Authority(bench.folder())
    upstream = bench.upstream()
    gateway = bench.serve(bench.config(upstream, listen=[
        listen_tls(authority.issue("localhost", new_key=key))
        for key in (NEW_KEY, RSA_KEY)]))

    def is_served(suite, address):
        context = authority.client()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(suite + ":@SECLEVEL=0")
        try:
            with Client(address, tls=context) as client:
                equal(client.sock.cipher()[0], suite)
                return client.exchange("GET", "/x").status == 201
        except (ssl.SSLError, ConnectionError):
            return False
    for suite in GOOD + BAD:
        equal((suite, any(is_served(suite, address)
                          for address in gateway.addresses)),
              (suite, suite in GOOD))


def is_refused(served, context):
    """Whether the client gets no answer; with TLS 1.3 it learns that late."""
    try:
        got = served.ask("refused", context=context)
    except (ssl.SSLError, OSError, Broken):
        got = None
    return got is None and served.upstream.count(key="refused") == 0


# --- clients without TLS ---

def read_to_end(sock):
    got = b""
    sock.settimeout(60)
    while piece := sock.recv(65536):
        got += piece
    return got


@each([("a request", b"POST /v1/charges HTTP/1.1\r\nHost: x\r\n"
        b"Content-Length: 65536\r\n\r\n" + 65536 * b"x", "POST "),
       ("the header of a proxy", b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY")])
def plain_text_on_an_address_with_tls_is_told_so(bench, sent, began):
    served = Served(bench, workers=1)
    with connect(served.gateway.addresses[0]) as sock:
        sock.sendall(sent)
        answer = read_to_end(sock)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n"), answer
    assert b"https://" in answer, answer
    equal(served.upstream.count(), 0)
    line = served.gateway.wait_for_log("client_plain")
    equal((line["level"], line["connections"], line["client"]),
          ("info", 1, "127.0.0.1"))
    assert began.startswith(line["began"]) and line["began"], line
    equal(served.ask("k").status, 201)
    equal(served.upstream.count(), 1)


@test
def what_is_neither_tls_nor_http_is_logged_and_not_answered(bench):
    served = Served(bench, workers=1)
    since = time.monotonic()
    for _ in range(5):
        with connect(served.gateway.addresses[0]) as sock:
            sock.sendall(b"\x00\x01hello, is anybody there?\n")
            equal(read_to_end(sock), b"")
    served.gateway.wait_for_log("client_plain")
    # Many in a row do not flood the log: one line in ten seconds.
    told = served.gateway.find_log("client_plain")
    assert len(told) <= 1 + (time.monotonic() - since) // 10, told
    # A handshake that is left, and one that is well, say nothing.
    connect(served.gateway.addresses[0]).close()
    equal(served.ask("k").status, 201)
    equal(len(served.gateway.find_log("client_plain")), len(told))


# --- certificates of clients ---

@test
def only_clients_with_a_certificate_of_the_authority_are_served(bench):
    clients = Authority(bench.folder(), "clients")
    served = Served(bench, client_ca=clients)
    stranger = Authority(bench.folder(), "stranger")
    known = served.authority.client(clients.issue("shop"))
    assert is_refused(served, served.authority.client())
    assert is_refused(served, served.authority.client(stranger.issue("shop")))
    equal(served.ask("k", context=known).status, 201)
    # Nor may the authority of the server's certificate vouch for clients.
    assert is_refused(served, served.authority.client(
        served.authority.issue("shop")))
    equal(served.ask("k", context=known).replayed, True)


@each([("none", None, "presented none"),
       ("one of a stranger", "stranger", "NOT trusted")])
def the_log_says_why_a_client_certificate_was_refused(bench, whose, words):
    clients = Authority(bench.folder(), "clients")
    served = Served(bench, client_ca=clients, workers=1)
    own = () if whose is None else (
        Authority(bench.folder(), whose).issue("shop"),)
    assert is_refused(served, served.authority.client(*own))
    line = served.gateway.wait_for_log("client_certificate")
    equal((line["level"], line["connections"], line["client"]),
          ("warn", 1, "127.0.0.1"))
    assert words in line["why"], line
    # A handshake that is left, and one that is well, say nothing more.
    connect(served.gateway.address).close()
    known = served.authority.client(clients.issue("shop"))
    equal(served.ask("k", context=known).status, 201)
    # Nor do many in a row flood the log: one line in ten seconds.
    since = time.monotonic()
    for _ in range(5):
        assert is_refused(served, served.authority.client(*own))
    told = served.gateway.find_log("client_certificate")[1:]
    assert len(told) <= 1 + (time.monotonic() - since) // 10, told


# --- handshakes ---

def hello_of(context):
    """A handshake without a socket: its two ends and the first message."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return tls, incoming, outgoing


@test
def clients_in_the_middle_of_a_handshake_hold_up_nobody(bench):
    served = Served(bench, workers=1)
    hello = hello_of(served.context)[2].read()
    slow = []
    for length in (0, 1, 5, 6, len(hello) // 2, len(hello) - 1, len(hello)):
        slow += [connect(served.gateway.address) for _ in range(3)]
        for sock in slow[-3:]:
            sock.sendall(hello[:length])
    for number in range(20):
        equal(served.ask(f"k{number}").status, 201)
        equal(ask(served.gateway.addresses[1], keyed(f"p{number}")).status,
              201)
    for sock in slow:
        sock.close()
    equal(served.ask("last").status, 201)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        after_name = file.read().rsplit(")", 1)[1].split()
    return sum(map(int, after_name[11:13])) / os.sysconf("SC_CLK_TCK")


@test
def a_handshake_that_waits_costs_no_time_of_the_processor(bench):
    served = Served(bench, workers=1, limits={"header_timeout": "2s"})
    hello = hello_of(served.context)[2].read()
    with connect(served.gateway.address) as sock:
        before = cpu_seconds(served.gateway.pid)
        sock.sendall(hello[:100])
        equal(sock.recv(100), b"")  # it is cut in the end
        used = cpu_seconds(served.gateway.pid) - before
    assert used < 0.5, f"{used} s of 2 s"


@test
def a_handshake_of_single_bytes_comes_to_its_end(bench):
    served = Served(bench, workers=1)
    tls, incoming, outgoing = hello_of(served.context)
    with connect(served.gateway.address) as sock:
        while True:
            for byte in outgoing.read():
                sock.sendall(bytes([byte]))
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                if not outgoing.pending:
                    incoming.write(sock.recv(1))
        tls.write(keyed("k"))
        for byte in outgoing.read():
            sock.sendall(bytes([byte]))
        while True:
            try:
                said = tls.read(100)
                break
            except ssl.SSLWantReadError:
                incoming.write(sock.recv(65536))
    assert said.startswith(b"HTTP/1.1 201"), said


@each([("nothing is sent", 0), ("half of the first message", 100)])
def a_handshake_that_stalls_is_cut(bench, length):
    served = Served(bench, limits={"header_timeout": "2s"})
    hello = hello_of(served.context)[2].read()
    with connect(served.gateway.address) as sock:
        sock.sendall(hello[:length])
        equal(sock.recv(100), b"")
    equal(served.ask("k").status, 201)


@test
def a_handshake_that_trickles_is_cut(bench):
    served = Served(bench, limits={"header_timeout": "1s"})
    hello = hello_of(served.context)[2].read()
    with connect(served.gateway.address) as sock:
        sock.settimeout(0.1)
        assert trickle_is_cut(sock, hello)


def trickle_is_cut(sock, data):
    """Sends a byte each time that the other side has been silent for a
    while."""
    for byte in data:
        try:
            sock.sendall(bytes([byte]))
            if sock.recv(100) == b"":
                return True
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return True
    return False


@test
def a_gateway_ends_while_handshakes_wait(bench):
    served = Served(bench)
    hello = hello_of(served.context)[2].read()
    socks = [connect(served.gateway.address) for _ in range(5)]
    for sock in socks:
        sock.sendall(hello[:50])
    equal(served.ask("k").status, 201)
    served.gateway.stop()
    for sock in socks:
        sock.close()


@test
def one_connection_too_many_is_closed_before_its_handshake(bench):
    served = Served(bench, workers=1, limits={"connections": 2})
    with served.client() as one, served.client():
        one.send(keyed("k"))
        equal(one.read().status, 201)
        with connect(served.gateway.address) as sock:
            equal(sock.recv(1), b"")
        equal(ask(served.gateway.addresses[1],
                  build("GET", "/x")).problem, "overloaded")
        one.send(keyed("k"))
        equal(one.read().replayed, True)


# --- reloads ---

def serial(sock):
    return sock.getpeercert()["serialNumber"]


@test
def a_reload_takes_new_certificates_and_drops_no_connection(bench):
    served = Served(bench)
    hold = served.upstream.hold()
    with served.client() as old, served.client() as idle:
        old.send(keyed("k"))
        hold.wait_arrived()
        before = serial(old.sock)
        # The same files with other content, as a renewal leaves them.
        renewed = served.authority.issue("localhost")
        shutil.copy(renewed.file, served.certificate.file)
        shutil.copy(renewed.key, served.certificate.key)
        served.reload()
        with served.client() as new:
            assert serial(new.sock) != before
        hold.release()
        equal(old.read().status, 201)
        for client in (old, idle):
            client.send(keyed("k"))
            equal(client.read().replayed, True)
        equal(serial(old.sock), before)
    equal(served.gateway.find_log("reload_partial"), [])


@test
def a_reload_takes_files_of_other_names_and_client_authorities(bench):
    served = Served(bench)
    clients = Authority(bench.folder(), "clients")
    served.config["listen"][0] = listen_tls(
        served.authority.issue("localhost"), clients)
    served.reload()
    assert is_refused(served, served.context)
    known = served.authority.client(clients.issue("shop"))
    equal(served.ask("k", context=known).status, 201)
    equal(served.gateway.find_log("reload_partial"), [])


@test
def a_reload_with_a_wrong_key_is_refused_and_the_old_pair_stays(bench):
    served = Served(bench)
    other = served.authority.issue("localhost")
    shutil.copy(other.key, served.certificate.key)
    equal(served.reload("reload_refused")["member"], "/listen/0/tls/key")
    equal(served.ask("k").status, 201)


@test
def another_address_needs_a_new_start_and_the_old_one_is_served_on(bench):
    served = Served(bench)
    served.config["listen"][0]["address"] = "127.0.0.1:1"
    equal(served.reload("reload_partial")["member"], "/listen")
    equal(served.ask("k").status, 201)


# --- what check says ---

@each([
    ("a certificate that is not there", "certificate", "/gone",
     "/gone cannot be read: No such file or directory"),
    ("a certificate that is none", "certificate", __file__,
     f"{__file__} contains no PEM certificate"),
    ("a key that is not there", "key", "/gone",
     "/gone cannot be read: No such file or directory"),
    ("a key that is none", "key", __file__,
     f"{__file__} contains no PEM key, or one with a password"),
    ("a folder for a key", "key", "/", "/ cannot be read: Is a directory"),
    ("an authority that is not there", "client_ca", "/gone",
     "/gone cannot be read: No such file or directory"),
    ("an authority that is none", "client_ca", __file__,
     f"{__file__} contains no PEM certificate"),
])
def check_finds(bench, member, file, words):
    good = Authority(bench.folder()).issue("localhost", days=(-1, 60))
    config = bench.config("http://127.0.0.1:9",
                          listen=["127.0.0.1:0", listen_tls(good)])
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, config)
    equal(command("check", "-c", name).stdout, f"{name}: ok\n")
    config["listen"][1]["tls"][member] = file
    write(name, config)
    done = command("check", "-c", name)
    equal((done.returncode, without_places(done.stdout, name)),
          (1, f"{name}: /listen/1/tls/{member}: {words}\n"))


@test
def check_finds_a_key_of_another_certificate(bench):
    authority = Authority(bench.folder())
    good, other = authority.issue("localhost"), authority.issue("localhost")
    good = good._replace(key=other.key)
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, bench.config("http://127.0.0.1:9", listen=[listen_tls(good)]))
    done = command("check", "-c", name)
    equal((done.returncode, without_places(done.stdout, name)),
          (1, f"{name}: /listen/0/tls/key: {good.key} is not the key of the "
              f"certificate in {good.file}\n"))


@test
def check_finds_that_a_certificate_and_its_key_are_swapped(bench):
    good = Authority(bench.folder()).issue("localhost")
    swapped = good._replace(file=good.key, key=good.file)
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, bench.config("http://127.0.0.1:9",
                             listen=[listen_tls(swapped)]))
    done = command("check", "-c", name)
    at = f"{name}: /listen/0/tls/"
    equal((done.returncode, without_places(done.stdout, name)),
          (1, f"{at}certificate: {good.key} contains no PEM certificate; it "
              f"has a key\n{at}key: {good.file} contains no PEM key, or one "
              "with a password; it has a certificate\n"))


# --- their time ---

@each([("that is over", (-3, -1), "is over: it ended on"),
       ("that is not valid yet", (1, 3), "is not valid before")])
def check_warns_of_a_certificate(bench, days, words):
    authority = Authority(bench.folder())
    certificate = authority.issue("localhost", days=days)
    config = bench.config(bench.upstream(), listen=[
        "127.0.0.1:0", listen_tls(certificate)])
    # It is served all the same: the other listener is well.
    gateway = bench.serve(config)
    said = gateway.find_log("certificate_invalid", level="error")[0]
    assert words in said["error"] and certificate.file in said["error"], said
    equal(gateway.ask("k").status, 201)
    done = command("check", "-c", gateway.file)
    equal((done.returncode,
           command("check", "-c", gateway.file, "--strict").returncode),
          (0, 1))
    assert ("warning: /listen/1/tls/certificate: the certificate in"
            in done.stdout), done
    assert words in done.stdout, done.stdout
    # A reload brings the one that was renewed.
    renewed = authority.issue("localhost", days=(-1, 60))
    shutil.copy(renewed.file, certificate.file)
    shutil.copy(renewed.key, certificate.key)
    equal(command("check", "-c", gateway.file, "--strict").returncode, 0)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    got = ask(gateway.addresses[1], keyed("k"), tls=authority.client())
    equal(got.replayed, True)
    equal(len(gateway.find_log("certificate_invalid")), 1)


@each([("an intermediate one", False), ("a root, which no client looks at",
                                        True)])
def what_stands_behind_a_certificate_is_judged(bench, is_root):
    authority = Authority(bench.folder())
    certificate = authority.issue("localhost", days=(-1, 60))
    old = authority.issue("old", days=(-3, -1), is_root=is_root)
    with open(certificate.file, "a", encoding="ascii") as chain:
        with open(old.file, encoding="ascii") as file:
            chain.write(file.read())
    name = os.path.join(bench.folder(), "onceproxy.json")
    write(name, bench.config("http://127.0.0.1:9",
                             listen=[listen_tls(certificate)]))
    done = command("check", "-c", name)
    equal("is over" in done.stdout, not is_root, done.stdout)


tap.main()
