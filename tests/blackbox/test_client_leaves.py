# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 6, "client gone": the payment goes on and is stored; half
a request claims and forwards nothing."""

from once import tap
from once.http import build, keyed
from once.tap import each, equal, test
from once.wait import eventually

LEAVING = [("with FIN", lambda client: client.close()),
           ("with RST", lambda client: client.reset())]


@each(LEAVING)
def a_client_that_leaves_while_its_payment_runs(bench, leave):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    client = gateway.client()
    client.send(keyed("k"))
    hold.wait_arrived()
    leave(client)
    equal(gateway.ask("k").problem, "in-flight")
    hold.release()
    eventually(lambda: gateway.ask("k").replayed, "the stored answer")
    equal(upstream.count(), 1)


@test
def fifty_clients_that_leave_lose_no_payment(bench):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    for number in range(50):
        client = gateway.client()
        client.send(keyed(f"k{number}"))
        upstream.wait_for(number + 1)
        client.reset()
    hold.release()
    for number in range(50):
        eventually(lambda n=number: gateway.ask(f"k{n}").replayed)
    equal(upstream.count(), 50)


@test
def a_client_that_half_closes_still_gets_its_answer(bench):
    upstream, gateway = bench.pair()
    hold = upstream.hold()
    with gateway.client() as client:
        client.send(keyed("k"))
        client.half_close()
        hold.wait_arrived()
        hold.release()
        equal(client.read().status, 201)
    equal(upstream.count(), 1)


@test
def a_client_that_half_closes_beside_others_still_gets_its_answer(bench):
    upstream, gateway = bench.pair(workers=1)
    hold = upstream.hold()
    with gateway.client() as older, gateway.client() as client:
        older.send(b"GET /x HT")
        client.send(keyed("k"))
        client.half_close()
        hold.wait_arrived()
        hold.release()
        equal(client.read().status, 201)


PARTS = [("in the head", keyed("k")[:60]),
         ("before the body", keyed("k", body=b"x" * 1000)[:-1000]),
         ("in the body", keyed("k", body=b"x" * 1000)[:-1]),
         ("in a chunk",
          keyed("k", body=None, fields=[("Transfer-Encoding", "chunked")])
          + b"ff\r\nhalf a chunk"),
         ("before the last chunk",
          keyed("k", body=None, fields=[("Transfer-Encoding", "chunked")])
          + b"2\r\nhi\r\n")]


@each([(f"{where} {how}", data, leave) for where, data in PARTS
       for how, leave in LEAVING])
def a_client_that_leaves_before_its_request_is_whole(bench, data, leave):
    upstream, gateway = bench.pair()
    client = gateway.client()
    client.send(data)
    leave(client)
    # Served after it, with another body: the key was never claimed.
    got = gateway.ask("k", body=b"another")
    equal((got.status, got.replayed), (201, False))
    equal(upstream.requests[0].get("Idempotency-Attempt"), "1")
    equal(upstream.count(), 1)


@test
def a_client_that_stalls_in_its_head_is_cut(bench):
    upstream, gateway = bench.pair(limits={"header_timeout": "300ms"})
    with gateway.client() as client:
        client.send(keyed("k")[:60])
        got = client.read()
        assert got is None or got.status == 408, got
    equal(upstream.count(), 0)


@test
def a_client_that_stalls_in_its_body_is_cut_and_claims_nothing(bench):
    upstream, gateway = bench.pair(
        limits={"header_timeout": "300ms", "idle_timeout": "300ms"})
    with gateway.client() as client:
        client.send(keyed("k", body=b"x" * 1000)[:-1])
        got = client.read()
        assert got is None or got.status == 408, got
    equal(upstream.count(), 0)
    equal(gateway.ask("k", body=b"another").status, 201)


@test
def an_idle_connection_is_closed_after_idle_timeout(bench):
    _, gateway = bench.pair(limits={"idle_timeout": "300ms"})
    with gateway.client() as client:
        equal(client.exchange("GET", "/x").status, 201)
        assert client.is_closed(), "it stayed open"


@test
def a_payment_longer_than_idle_timeout_is_not_cut(bench):
    upstream, gateway = bench.pair(limits={"idle_timeout": "300ms"})
    hold = upstream.hold()
    with gateway.client() as client:
        client.send(keyed("k"))
        hold.wait_arrived()
        with gateway.client() as other:  # idle for as long as the limit
            other.send(build("GET", "/none")[:10])
            other.reader.to_end()
        hold.release()
        equal(client.read().status, 201)


tap.main()
