# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 1: the promise, one test for each of its sentences."""

from once import tap
from once.http import keyed
from once.tap import equal, test
from once.upstream import answer, close_unanswered


@test
def a_key_is_executed_once_whatever_the_number_of_retries(bench):
    upstream, gateway = bench.pair()
    answers = [gateway.ask("pay-1") for _ in range(10)]
    equal([a.status for a in answers], [201] * 10)
    equal(upstream.count(), 1)


@test
def every_retry_is_given_the_bytes_of_the_first_answer(bench):
    upstream, gateway = bench.pair()
    first = gateway.ask("pay-1")
    upstream.reply = answer(500, b"another")
    assert not first.replayed
    for _ in range(3):
        again = gateway.ask("pay-1")
        assert again.replayed
        equal((again.status, again.body), (first.status, first.body))
        equal(again.get("Date"), first.get("Date"))


@test
def another_tenant_with_the_same_key_is_executed_by_itself(bench):
    upstream = bench.upstream(
        lambda connection, request: connection.send(
            answer(201, request.get("Authorization").encode())))
    gateway = bench.gateway(upstream)
    for tenant in ("Bearer a", "Bearer b"):
        for _ in range(2):
            equal(gateway.ask("pay-1", tenant=tenant).body, tenant.encode())
    equal(upstream.count(), 2)


@test
def an_outcome_that_cannot_be_known_is_said_and_never_guessed(bench):
    upstream, gateway = bench.pair(close_unanswered)
    first = gateway.ask("pay-1")
    equal((first.status, first.problem), (502, "outcome-unknown"))
    upstream.reply = answer()
    for _ in range(3):
        again = gateway.ask("pay-1")
        equal((again.status, again.problem), (409, "outcome-unknown"))
    equal(upstream.count(), 1)


@test
def keys_on_one_connection_are_each_executed_once(bench):
    upstream, gateway = bench.pair()
    with gateway.client() as client:
        for number in range(20):
            client.send(keyed(f"pay-{number % 10}"))
            equal(client.read().status, 201)
    equal([upstream.count(key=f"pay-{n}") for n in range(10)], [1] * 10)


tap.main()
