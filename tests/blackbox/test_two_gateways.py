# SPDX-License-Identifier: BSD-2-Clause
"""Two gateways over one Redis are one gateway."""

import signal
import threading

from once import tap
from once.tap import each, equal, test
from once.upstream import Hold, answer, close_unanswered

CLIENTS = 50


@test
def fifty_clients_with_one_key_on_two_gateways_are_one_execution(bench):
    upstream = bench.upstream()
    hold = upstream.hold()
    gateways = [bench.gateway(upstream) for _ in range(2)]
    start = threading.Barrier(CLIENTS)
    done = threading.Semaphore(0)

    def client(number):
        start.wait(20)
        got = gateways[number % 2].ask("k")
        done.release()
        return got
    tasks = [bench.background(client, n) for n in range(CLIENTS)]
    for _ in range(CLIENTS - 1):  # all but the one that is executed
        assert done.acquire(timeout=20), "a client was not answered"
    hold.release()
    answers = [task.result() for task in tasks]

    equal(upstream.count(), 1)
    created = [a for a in answers if a.status == 201]
    others = [a for a in answers if a.status != 201]
    equal((len(created), len(others)), (1, CLIENTS - 1))
    for got in others:
        equal((got.status, got.problem), (409, "in-flight"))
        assert int(got.get("Retry-After")) >= 1
    for gateway in gateways:
        again = gateway.ask("k")
        equal((again.status, again.replayed, again.body),
              (201, True, created[0].body))
    equal(upstream.count(), 1)


@test
def many_keys_in_a_race_are_each_executed_once(bench):
    upstream = bench.upstream()
    gateways = [bench.gateway(upstream) for _ in range(2)]

    def client(number):
        """Sends each key until it has its answer."""
        for key in range(20):
            while True:
                got = gateways[number % 2].ask(f"k{key}")
                if got.status == 201:
                    break
                equal(got.problem, "in-flight")
    for task in [bench.background(client, n) for n in range(8)]:
        task.result()
    for key in range(20):
        equal(upstream.count(key=f"k{key}"), 1)


@test
def what_one_gateway_left_unknown_the_other_holds(bench):
    upstream = bench.upstream()
    gateways = [bench.gateway(upstream, options={"timeout": "300ms"})
                for _ in range(2)]
    hold = upstream.hold()
    equal(gateways[0].ask("k").problem, "outcome-unknown")
    equal(gateways[1].ask("k").problem, "outcome-unknown")
    hold.release()
    equal(upstream.count(), 1)


def asked_again(gateway, key):
    """Sends it until the lease of the former owner has expired; the answer
    then."""
    while (got := gateway.ask(key)).problem == "in-flight":
        pass
    return got


FIRST = {"answer": answer(201, b"of the first"), "refusal": answer(503),
         "doubt": close_unanswered}


@each([(f"its {key}", key) for key in FIRST])
def an_owner_that_slept_while_another_took_its_place_is_fenced(bench, key):
    """Whatever the upstream answered to it."""
    upstream = bench.upstream()
    holds = {"1": Hold(), "2": Hold()}

    def reply(connection, request):
        attempt = request.get("Idempotency-Attempt")
        holds[attempt].wait()
        said = FIRST[key] if attempt == "1" else answer(201, b"of the second")
        if callable(said):
            said(connection, request)
        else:
            connection.send(said)
    upstream.reply = reply
    policy = {"lease": "2s", "on_unknown": "retry"}
    one, two = (bench.gateway(upstream, policy) for _ in range(2))
    first = bench.background(one.ask, "k")
    holds["1"].wait_arrived()
    one.signal(signal.SIGSTOP)
    second = bench.background(asked_again, two, "k")
    holds["2"].wait_arrived()
    holds["1"].release()
    one.signal(signal.SIGCONT)
    got = first.result()
    equal((got.status, got.problem), (409, "in-flight"))
    line = one.wait_for_log("fenced")
    equal((line.get("status"), line.get("reason")), {
        "answer": (201, None), "refusal": (503, None),
        "doubt": (None, "broken")}[key])
    assert int(got.get("Retry-After")) >= 1
    equal(two.ask("k").problem, "in-flight")
    holds["2"].release()
    equal(second.result().body, b"of the second")
    equal(one.ask("k").body, b"of the second")
    equal(upstream.count(), 2)


@test
def attempts_that_are_used_up_do_not_discard_the_truth_about_the_last(bench):
    """Its owner slept, and its lease ran out; nobody executes the key now."""
    upstream = bench.upstream(answer(201, b"it happened"))
    hold = upstream.hold()
    policy = {"lease": "2s", "on_unknown": "retry", "max_attempts": 1}
    one, two = (bench.gateway(upstream, policy) for _ in range(2))
    first = bench.background(one.ask, "k")
    hold.wait_arrived()
    one.signal(signal.SIGSTOP)
    equal(asked_again(two, "k").problem, "attempts-exhausted")
    hold.release()
    one.signal(signal.SIGCONT)
    equal((first.result().status, first.result().body), (201, b"it happened"))
    again = two.ask("k")
    equal((again.status, again.replayed, again.body),
          (201, True, b"it happened"))
    equal(upstream.count(), 1)


@test
def an_owner_that_is_fenced_and_short_of_memory_gives_no_answer_of_its_own(
        bench):
    """The record's answer and its own do not fit into memory together."""
    upstream = bench.upstream()
    holds = {"1": Hold(), "2": Hold()}
    sizes = {"1": 400_000, "2": 900_000}

    def reply(connection, request):
        attempt = request.get("Idempotency-Attempt")
        holds[attempt].wait()
        connection.send(answer(201, attempt.encode() * sizes[attempt]))
    upstream.reply = reply
    policy = {"lease": "2s", "on_unknown": "retry"}
    one, two = (bench.gateway(
        upstream, policy, workers=1, limits={"in_flight_bytes": "1MiB"})
        for _ in range(2))
    first = bench.background(one.ask, "k")
    holds["1"].wait_arrived()
    one.signal(signal.SIGSTOP)
    holds["2"].release()
    second = asked_again(two, "k")
    equal((second.status, second.body[:1]), (201, b"2"))
    holds["1"].release()
    one.signal(signal.SIGCONT)
    got = first.result()
    equal((got.status, got.problem), (503, "overloaded"))
    again = one.ask("k")
    equal((again.status, again.body), (201, second.body))
    equal(upstream.count(), 2)


@test
def what_one_gateway_released_the_other_executes(bench):
    upstream = bench.upstream(
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
    gateways = [bench.gateway(upstream) for _ in range(2)]
    for number in range(1, 4):
        equal(gateways[number % 2].ask("k").status, 503)
        equal(upstream.requests[-1].get("Idempotency-Attempt"), str(number))


tap.main()
