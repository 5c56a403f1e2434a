# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: SIGTERM and SIGINT finish what is in flight."""

import contextlib
import signal
import socket
import time

from once import tap
from once.certificates import Authority
from once.http import build, connect, keyed
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually
from once.wire import Wire


def is_refused(address):
    try:
        connect(address).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass  # it was waiting to be accepted when the listener closed
    return False


@each([("SIGTERM", signal.SIGTERM), ("SIGINT", signal.SIGINT)])
def what_is_in_flight_ends_and_the_listener_is_closed(bench, number):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    with gateway.client() as client:
        client.send(keyed("k"))
        hold.wait_arrived()
        gateway.signal(number)
        gateway.wait_for_log("draining")
        eventually(lambda: is_refused(gateway.address), "it is closed")
        assert gateway.running()
        hold.release()
        equal(client.read().status, 201)
        assert client.is_closed()
    equal(gateway.wait(), 0)
    again = bench.gateway(upstream).ask("k")
    equal((again.status, again.replayed), (201, True))
    equal(upstream.count(), 1)


@test
def a_hundred_in_flight_all_end_and_are_stored(bench):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    tasks = [bench.background(gateway.ask, f"k{n}") for n in range(100)]
    upstream.wait_for(100)
    gateway.signal(signal.SIGTERM)
    gateway.wait_for_log("draining")
    hold.release()
    equal([task.result().status for task in tasks], [201] * 100)
    equal(gateway.wait(), 0)
    other = bench.gateway(upstream)
    for number in range(100):
        assert other.ask(f"k{number}").replayed
    equal(upstream.count(), 100)


@test
def an_idle_gateway_ends_at_once_whatever_clients_are_connected(bench):
    _, gateway = bench.pair(drain_timeout="60s")
    clients = [gateway.client() for _ in range(5)]
    for number, client in enumerate(clients):
        if number:
            client.send(keyed(f"k{number}"))
            equal(client.read().status, 201)
    gateway.stop()
    for client in clients:
        client.close()


@test
def a_request_on_an_old_connection_is_told_that_we_drain(bench):
    # With one worker: a second one would end, and close, at once.
    upstream, gateway = bench.pair(workers=1)
    hold = upstream.hold()
    old = gateway.client()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    upstream.reply = answer()
    old.send(keyed("late")[:40])
    gateway.signal(signal.SIGTERM)
    eventually(lambda: is_refused(gateway.address), "it drains")
    got = None
    try:
        old.send(keyed("late")[40:])
        got = old.read()
    except (ConnectionError, AssertionError):
        pass  # or it was closed, with nothing executed
    if got is not None:
        equal((got.status, got.problem), (503, "draining"))
        assert int(got.get("Retry-After")) >= 1
        equal(got.get("Connection"), "close")
    hold.release()
    equal(first.result().status, 201)
    equal(gateway.wait(), 0)
    equal(upstream.count(key="late"), 0)


def sent_as_it_drains(bench, connect, fields=(), **members):
    """A gateway that drains, and clients that have sent their requests by then.
    Who has just connected has a second for that: where a machine takes longer,
    it is all made again."""
    while True:
        upstream, gateway = bench.pair(**members)
        began = time.monotonic()
        clients = connect(gateway)
        eventually(lambda: is_refused(gateway.address), "it drains")
        for number, client in enumerate(clients):
            with contextlib.suppress(ConnectionError):
                client.send(keyed(f"k{number}", fields))
        if time.monotonic() - began < 0.9:
            return upstream, gateway, clients
        for client in clients:
            client.close()


@test
def whom_a_route_serves_is_told_so_in_its_words(bench):
    """A page of another origin may read it, and an agent knows its code."""
    shop = "https://shop.example"

    def connect(gateway):
        client = gateway.client()
        gateway.signal(signal.SIGTERM)
        return [client]
    upstream, gateway, [client] = sent_as_it_drains(
        bench, connect, [("Origin", shop)],
        idempotency={"preset": "acp", "cors": {"origins": [shop]}})
    got = client.read()
    client.close()
    equal((got.status, got.get("Access-Control-Allow-Origin"),
           got.json()["code"]), (503, shop, "draining"))
    gateway.wait_for_log("request", outcome="draining", route="charges")
    equal((gateway.wait(), upstream.count()), (0, 0))


def check_told(client, upstream):
    """503 draining, and nothing was forwarded."""
    got = client.read()
    equal((got.status, got.problem, got.get("Connection")),
          (503, "draining", "close"))
    assert int(got.get("Retry-After")) >= 1
    assert client.is_closed()
    equal(upstream.count(), 0)


@each([("plain", False), ("over TLS", True)])
def a_client_that_had_just_connected_is_told_that_we_drain(bench, tls):
    authority = Authority(bench.folder()) if tls else None
    listen = [{"address": "127.0.0.1:0", "tls": authority.issue(
        "localhost")._asdict()}] if tls else ["127.0.0.1:0"]
    if tls:
        listen[0]["tls"]["certificate"] = listen[0]["tls"].pop("file")
    context = authority.client() if tls else None
    if tls:
        context.check_hostname = False

    def connect(gateway):
        clients = [gateway.client(tls=context) for _ in range(3)]
        gateway.signal(signal.SIGTERM)
        return clients
    upstream, gateway, clients = sent_as_it_drains(
        bench, connect, listen=listen)
    for client in clients:
        check_told(client, upstream)
    equal(gateway.wait(), 0)


@test
def and_so_is_one_that_waited_to_be_accepted(bench):
    def connect(gateway):
        gateway.freeze()
        gateway.signal(signal.SIGTERM)
        clients = [gateway.client() for _ in range(5)]
        gateway.thaw()
        return clients
    upstream, gateway, clients = sent_as_it_drains(bench, connect, workers=1)
    for client in clients:
        check_told(client, upstream)
    equal(gateway.wait(), 0)


@test
def what_waits_on_a_socket_of_others_is_left_to_them(bench):
    """The service manager has it too, and the next gateway serves there."""
    passed = socket.create_server(("127.0.0.1", 0))
    upstream = bench.upstream()
    config = bench.config(upstream, workers=1)
    first = bench.serve(config, passed=[("clients", passed)])
    first.freeze()
    first.signal(signal.SIGTERM)
    client = first.client()
    config["state_dir"] = bench.folder()
    second = bench.serve(config, passed=[("clients", passed)])
    client.send(keyed("k"))
    equal(client.read().status, 201)
    first.thaw()
    equal(first.wait(), 0)
    equal(second.ask("k").replayed, True)
    passed.close()


@test
def a_request_that_has_begun_is_waited_for_and_told(bench):
    upstream, gateway = bench.pair(workers=1, drain_timeout="60s")
    data = keyed("k")
    with gateway.client() as client:
        equal(client.exchange("GET", "/x").status, 201)
        upstream.requests.clear()
        client.send(data[:40])
        equal(gateway.send(build("GET", "/none", host=None)).status, 400)
        gateway.signal(signal.SIGTERM)
        eventually(lambda: is_refused(gateway.address), "it drains")
        until = time.monotonic() + 1.5  # longer than it waits for new ones
        eventually(lambda: time.monotonic() > until)
        client.send(data[40:])
        check_told(client, upstream)
    equal(gateway.wait(), 0)


@test
def one_that_stays_half_sent_ends_with_its_time(bench):
    upstream, gateway = bench.pair(
        workers=1, drain_timeout="60s", limits={"header_timeout": "1s"})
    with gateway.client() as client:
        client.send(keyed("k")[:40])
        equal(gateway.send(build("GET", "/none", host=None)).status, 400)
        gateway.signal(signal.SIGTERM)
        equal(client.read().status, 408)
    equal(gateway.wait(), 0)
    equal(upstream.count(), 0)


@test
def what_is_not_done_by_drain_timeout_is_unknown(bench):
    upstream = bench.upstream()
    hold = upstream.hold()
    gateway = bench.gateway(upstream, drain_timeout="300ms")
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    gateway.signal(signal.SIGTERM)
    got = first.result()
    equal((got.status, got.problem), (504, "outcome-unknown"))
    equal(gateway.wait(), 0)
    gateway.wait_for_log("drain_timeout")
    again = bench.gateway(upstream).ask("k")
    equal((again.status, again.problem), (409, "outcome-unknown"))
    hold.release()
    equal(upstream.count(), 1)


@test
def a_payment_whose_client_left_is_drained_too(bench):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    client = gateway.client()
    client.send(keyed("k"))
    hold.wait_arrived()
    client.reset()
    gateway.signal(signal.SIGTERM)
    gateway.wait_for_log("draining")
    hold.release()
    equal(gateway.wait(), 0)
    assert bench.gateway(upstream).ask("k").replayed
    equal(upstream.count(), 1)


@test
def a_gateway_drains_without_redis(bench):
    redis = bench.own_redis()
    upstream, gateway = bench.pair(redis=redis, drain_timeout="500ms")
    equal(gateway.ask("k").status, 201)
    redis.kill()
    gateway.stop()


@test
def a_claim_that_redis_cannot_be_given_back_is_the_next_ones_to_give(bench):
    """Redis has executed it, nobody got the reply, and the line is down.  A
    worker that had an answer knows which store it is, whatever its address."""
    redis = bench.own_redis("--appendonly", "yes")
    wire = Wire(redis)
    bench.wires.append(wire)
    upstream, gateway = bench.pair(
        redis=wire.url, idempotency={"lease": "100s"}, drain_timeout="500ms",
        workers=1)
    equal(gateway.ask("before").status, 201)

    def caught(line, data):
        wire.listener.shutdown(socket.SHUT_RDWR)
        line.cut()
        line.far.sendall(data)
    wire.catch = caught
    equal(gateway.ask("k").problem, "store-unavailable")
    eventually(lambda: len([key for key in redis.keys() if b":r:" in key])
               == 2, "the claim is executed")
    gateway.stop()
    other = bench.serve({**gateway.config, "store": {
        **gateway.config["store"], "redis": redis.url}})
    other.wait_for_log("journal_delivered", step="release")
    got = other.ask("k")
    equal((got.status, got.replayed), (201, False))
    equal(upstream.count(), 2)


tap.main()
