# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 2 and 3: where clients connect to."""

import grp
import json
import os
import signal
import socket
import stat
import threading

from once import tap
from once.certificates import Authority
from once.gateway import command
from once.http import ask, build, connect, keyed
from once.tap import each, equal, test
from once.wait import eventually


def is_there(path):
    return os.path.lexists(path)


@test
def all_addresses_are_served_by_all_workers(bench):
    path = os.path.join(bench.folder(), "s")
    upstream = bench.upstream()
    gateway = bench.serve(bench.config(upstream, workers=2, listen=[
        "127.0.0.1:0", "127.0.0.1:0", "[::1]:0", "localhost:0",
        f"unix:{path}"]))
    equal(len(gateway.addresses), 5)
    equal(len(set(gateway.addresses)), 5)
    assert gateway.addresses[2].startswith("[::1]:"), gateway.addresses
    for number, address in enumerate(gateway.addresses):
        for turn in range(8):
            got = ask(address, keyed(f"k{turn}"))
            equal((got.status, got.replayed), (201, number > 0))
    equal(upstream.count(), 8)
    for client in ("127.0.0.1", "::1", "unix"):
        gateway.wait_for_log("request", client=client)


@test
def a_port_alone_is_all_addresses_of_ipv4_and_ipv6(bench):
    gateway = bench.serve(bench.config(
        bench.upstream(), listen=[":0"], admin={"listen": ":0",
                                                "token": "secret"}))
    port = gateway.addresses[0].rpartition(":")[2]
    for address, client in ((f"127.0.0.1:{port}", "127.0.0.1"),
                            (f"[::1]:{port}", "::1")):
        equal(ask(address, keyed(client)).status, 201)
        gateway.wait_for_log("request", client=client)
    # It is another gateway's, of one kind of address or both.
    for address in (f":{port}", f"0.0.0.0:{port}", f"[::1]:{port}"):
        file = bench.file(json.dumps(bench.config(
            "http://127.0.0.1:9", listen=[address])).encode())
        done = command("serve", "-c", file)
        equal(done.returncode, 1)
        assert "Address already in use" in done.stderr, done.stderr


# --- Unix sockets ---

@test
def mode_and_group_of_a_socket_are_set(bench):
    path = os.path.join(bench.folder(), "s")
    group = grp.getgrgid(os.getgroups()[-1] if os.getgroups()
                         else os.getgid())
    gateway = bench.serve(bench.config(bench.upstream(), listen=[
        {"address": f"unix:{path}", "mode": "0620", "group": group.gr_name}]))
    found = os.lstat(path)
    equal((stat.S_IMODE(found.st_mode), found.st_gid), (0o620, group.gr_gid))
    equal(gateway.ask("k").status, 201)


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class Umask:
    """Of this process, and of gateways that it starts."""

    def __init__(self, mask):
        self.mask = mask

    def __enter__(self):
        self.mask = os.umask(self.mask)

    def __exit__(self, *_):
        os.umask(self.mask)


@each([("nothing", 0, None, 0o660), ("all", 0o777, None, 0o660),
       ("nothing, and one is said", 0, "0600", 0o600),
       ("writing, and one is said", 0o222, "0666", 0o666)])
def a_socket_has_its_mode_when_the_umask_takes(bench, umask, mode, wanted):
    """From the first moment on none is wider."""
    path, admin = (os.path.join(bench.folder(), name) for name in "sa")
    listen = f"unix:{path}" if mode is None else {"address": f"unix:{path}",
                                                  "mode": mode}
    seen, over = set(), threading.Event()

    def look():
        while not over.is_set():
            if is_there(path):
                seen.add(mode_of(path))
    config = bench.config(bench.upstream(), listen=[listen],
                          admin={"listen": f"unix:{admin}"})
    task = bench.background(look)
    with Umask(umask):
        gateway = bench.serve(config, ready=False)
        gateway.wait_ready()
    over.set()
    task.result()
    equal((mode_of(path), mode_of(admin)), (wanted, 0o660))
    equal([mode for mode in seen if mode & ~wanted], [])
    equal(gateway.ask("k").status, 201)


@each([("that leads nowhere", None), ("to a file", "file"),
       ("to a socket", "socket")])
def a_symbolic_link_in_the_place_of_a_socket_is_refused(bench, kind):
    path = os.path.join(bench.folder(), "s")
    target = os.path.join(bench.folder(), "target")
    if kind == "file":
        target = bench.file(b"precious")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(target)
    os.symlink(target, path)
    gateway = bench.serve(bench.config(
        bench.upstream(), listen=["127.0.0.1:0"],
        admin={"listen": f"unix:{path}"}), ready=False)
    equal(gateway.wait(), 1)
    said = gateway.find_log("fatal")[0]["error"]
    assert path in said and "symbolic link" in said, said
    assert os.path.islink(path)
    equal(is_there(target), kind is not None)


@test
def a_group_that_is_none_is_said_and_nothing_is_left(bench):
    path = os.path.join(bench.folder(), "s")
    gateway = bench.serve(bench.config(bench.upstream(), listen=[
        {"address": f"unix:{path}", "group": "no-such-group"}]), ready=False)
    equal(gateway.wait(), 1)
    assert 'is no group "no-such-group"' in (
        gateway.find_log("fatal")[0]["error"])
    assert not is_there(path)


@test
def a_socket_that_a_killed_gateway_left_is_replaced(bench):
    path = os.path.join(bench.folder(), "s")
    config = bench.config(bench.upstream(), listen=[f"unix:{path}"])
    bench.serve(config).kill()
    assert is_there(path)
    gateway = bench.serve(config)
    equal(gateway.ask("k").status, 201)
    gateway.stop()
    assert not is_there(path)


@test
def a_socket_that_is_served_is_not_taken_away(bench):
    path = os.path.join(bench.folder(), "s")
    config = bench.config(bench.upstream(), listen=[f"unix:{path}"])
    first = bench.serve(config)
    second = bench.serve({**config, "state_dir": bench.folder()},
                         ready=False)
    equal(second.wait(), 1)
    assert "in use" in second.find_log("fatal")[0]["error"]
    equal(first.ask("k").status, 201)


@test
def a_file_that_is_no_socket_is_not_removed(bench):
    path = bench.file(b"precious", "s")
    gateway = bench.serve(bench.config(bench.upstream(),
                                       listen=[f"unix:{path}"]), ready=False)
    equal(gateway.wait(), 1)
    with open(path, "rb") as file:
        equal(file.read(), b"precious")


@test
def the_next_gateway_keeps_its_socket_when_the_last_one_has_drained(bench):
    path = os.path.join(bench.folder(), "s")
    upstream = bench.upstream()
    config = bench.config(upstream, listen=[f"unix:{path}"])
    first = bench.serve(config)
    hold = upstream.hold()
    with first.client() as client:
        client.send(keyed("k"))
        hold.wait_arrived()
        first.signal(signal.SIGTERM)
        first.wait_for_log("draining")
        eventually(lambda: not is_served(path), "it has stopped listening")
        second = bench.serve({**config, "state_dir": bench.folder()})
        hold.release()
        equal(client.read().status, 201)
    equal(first.wait(), 0)
    equal(second.ask("k").replayed, True)


@test
def also_where_its_file_has_the_number_of_the_last_ones(bench):
    """Once nobody is connected to that any more, on many file systems."""
    path = os.path.join(bench.folder(), "s")
    upstream = bench.upstream()
    config = bench.config(upstream, listen=["127.0.0.1:0", f"unix:{path}"])
    first = bench.serve(config)
    hold = upstream.hold()
    with first.client() as client:
        client.send(keyed("k"))
        hold.wait_arrived()
        first.signal(signal.SIGTERM)
        first.wait_for_log("draining")
        eventually(lambda: not is_served(path), "it has stopped listening")
        bench.serve({**config, "state_dir": bench.folder()})
        hold.release()
        equal(client.read().status, 201)
    equal(first.wait(), 0)
    equal(ask(f"unix:{path}", keyed("k")).replayed, True)


def is_served(path):
    try:
        connect(f"unix:{path}").close()
    except ConnectionRefusedError:
        return False
    return True


@test
def an_address_of_another_machine_is_said(bench):
    gateway = bench.serve(bench.config(
        bench.upstream(), listen=["192.0.2.1:0"]), ready=False)
    equal(gateway.wait(), 1)
    said = gateway.find_log("fatal")[0]["error"]
    assert said.startswith("192.0.2.1:0: cannot bind: "), said
    assert said.endswith("(ip address says which ones this machine has)"), said


@test
def an_address_that_is_taken_is_said(bench):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        gateway = bench.serve(bench.config(
            bench.upstream(), listen=["127.0.0.1:0", address]), ready=False)
        equal(gateway.wait(), 1)
    said = gateway.find_log("fatal")[0]["error"]
    assert said.startswith(address + ": cannot bind"), said
    assert said.endswith("(ss -ltnp says by whom)"), said


# --- sockets that the service manager has opened ---

def tcp_listener():
    return socket.create_server(("127.0.0.1", 0))


def unix_listener(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(path)
    sock.listen(64)
    return sock


def address_of(sock):
    name = sock.getsockname()
    return f"unix:{name}" if isinstance(name, str) else f"{name[0]}:{name[1]}"


@test
def passed_sockets_are_served_instead_of_listen(bench):
    path = os.path.join(bench.folder(), "s")
    own = os.path.join(bench.folder(), "own")
    with tcp_listener() as tcp, unix_listener(path) as unix:
        config = bench.config(bench.upstream(), workers=2,
                              listen=[f"unix:{own}"])
        gateway = bench.serve(config, passed=[
            ("onceproxy.socket", tcp), ("onceproxy.socket", unix)])
        equal(gateway.addresses, [address_of(tcp), f"unix:{path}"])
        assert not is_there(own)
        for number, address in enumerate(gateway.addresses * 4):
            got = ask(address, keyed("k"))
            equal((got.status, got.replayed), (201, number > 0))
        gateway.stop()
        # They belong to the manager, which passes them to the next process.
        assert is_there(path)
        again = bench.serve(config, passed=[("", tcp), ("", unix)])
        equal(again.ask("k").replayed, True)


@test
def a_client_that_came_while_nobody_served_is_served(bench):
    with tcp_listener() as tcp:
        with connect(address_of(tcp)) as early:
            early.sendall(build("GET", "/x"))
            bench.serve(bench.config(bench.upstream()), passed=[("", tcp)])
            assert early.recv(100).startswith(b"HTTP/1.1 201")


@test
def a_passed_socket_is_served_as_the_entry_of_its_address(bench):
    authority = Authority(bench.folder())
    cert = authority.issue("localhost")
    tls = {"certificate": cert.file, "key": cert.key}
    with tcp_listener() as one, tcp_listener() as two:
        config = bench.config(bench.upstream(), listen=[
            {"address": address_of(two), "tls": tls}, "127.0.0.1:1"])
        # The second is TLS by its address, so the first, by its place, is not.
        bench.serve(config, passed=[("", two), ("", one)])
        equal(ask(address_of(one), build("GET", "/x")).status, 201)
        equal(ask(address_of(two), build("GET", "/x"),
                  tls=authority.client()).status, 201)


@test
def passed_sockets_of_unknown_addresses_take_the_entries_in_order(bench):
    authority = Authority(bench.folder())
    cert = authority.issue("localhost")
    tls = {"certificate": cert.file, "key": cert.key}
    with tcp_listener() as one, tcp_listener() as two:
        config = bench.config(bench.upstream(), listen=[
            "127.0.0.1:1", {"address": "127.0.0.1:2", "tls": tls}])
        bench.serve(config, passed=[("", one), ("", two)])
        equal(ask(address_of(one), build("GET", "/x")).status, 201)
        equal(ask(address_of(two), build("GET", "/x"),
                  tls=authority.client()).status, 201)


@test
def a_passed_socket_named_admin_is_the_admin_interface(bench):
    with tcp_listener() as tcp:
        config = bench.config(bench.upstream(),
                              admin={"listen": "127.0.0.1:0"})
        gateway = bench.serve(config, passed=[("admin", tcp)])
        equal(gateway.ready["admin"], address_of(tcp))
        equal(ask(address_of(tcp), build("GET", "/healthz")).status, 200)
        equal(gateway.ask("k").status, 201)


@each([
    ("more of them than entries", ["127.0.0.1:1", "127.0.0.1:2"], {},
     ["", "", ""], "more sockets"),
    ("an admin interface that is not configured", ["127.0.0.1:1"], {},
     ["admin"], '"admin"'),
])
def passed_sockets_that_fit_nowhere_are_refused(bench, listen, members, names,
                                                words):
    socks = [tcp_listener() for _ in names]
    config = bench.config(bench.upstream(), listen=listen, **members)
    gateway = bench.serve(config, ready=False,
                          passed=list(zip(names, socks)))
    equal(gateway.wait(), 1)
    assert words in gateway.find_log("fatal")[0]["error"]
    for sock in socks:
        sock.close()


@test
def a_passed_socket_that_does_not_listen_is_refused(bench):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        gateway = bench.serve(bench.config(bench.upstream()), ready=False,
                              passed=[("", sock)])
        equal(gateway.wait(), 1)
        assert "stream" in gateway.find_log("fatal")[0]["error"]


tap.main()
