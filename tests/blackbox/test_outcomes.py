# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3 (outcomes): what an upstream's status means."""

from once import tap
from once.tap import each, equal, test
from once.upstream import answer

HEADER = "Idempotency-Outcome"


def outcome_of(bench, reply, idempotency=None):
    """What became of the key: "store", "release" or "unknown", and the
    first answer."""
    upstream, gateway = bench.pair(reply, idempotency=idempotency)
    first = gateway.ask("k")
    upstream.reply = answer(201, b"second")
    again = gateway.ask("k")
    if again.replayed:
        equal((again.status, again.body), (first.status, first.body))
        equal(upstream.count(), 1)
        return "store", first
    if again.problem == "outcome-unknown":
        equal((again.status, upstream.count()), (409, 1))
        return "unknown", first
    equal((again.status, again.body, upstream.count()), (201, b"second", 2))
    equal(upstream.requests[1].get("Idempotency-Attempt"), "2")
    return "release", first


@each([(str(status), status, outcome) for status, outcome in (
    (200, "store"), (302, "store"), (400, "store"), (404, "store"),
    (408, "release"), (425, "release"), (429, "release"), (500, "store"),
    (501, "store"), (502, "unknown"), (503, "release"), (504, "unknown"),
    (599, "store"))])
def by_default_a_status_means(bench, status, outcome):
    got, first = outcome_of(bench, answer(status, b"words"))
    equal(got, outcome)
    if outcome != "unknown":
        equal((first.status, first.body), (status, b"words"))


@test
def a_released_answer_is_the_upstreams_with_its_own_fields(bench):
    got, first = outcome_of(
        bench, answer(429, b"slow down", [("Retry-After", "7")]))
    equal(got, "release")
    equal((first.get("Retry-After"), first.body), ("7", b"slow down"))


@test
def a_route_gives_statuses_and_classes_another_meaning(bench):
    entries = {"5xx": "release", "503": "store", "4xx": "unknown",
               "201": "release"}
    for status, outcome in ((500, "release"), (502, "release"),
                            (503, "store"), (404, "unknown"),
                            (429, "unknown"), (200, "store")):
        got, _ = outcome_of(bench, answer(status), {
            "outcomes": entries, "namespace": f"n{status}"})
        equal((status, got), (status, outcome))


@each([("store for a 503", "store", 503, "store"),
       ("release for a 200", "release", 200, "release"),
       ("unknown for a 200", "unknown", 200, "unknown"),
       ("a strange word counts as none", "perhaps", 503, "release"),
       ("an empty one counts as none", "", 200, "store")])
def the_upstream_decides_by_a_field(bench, word, status, outcome):
    got, first = outcome_of(bench, answer(status, b"x", [(HEADER, word)]))
    equal(got, outcome)
    equal(first.all(HEADER), [])


@test
def the_field_is_removed_from_replays_too(bench):
    upstream, gateway = bench.pair(
        answer(201, b"x", [(HEADER.lower(), "store"), ("X-Kept", "1")]))
    for _ in range(2):
        got = gateway.ask("k")
        equal((got.all(HEADER), got.get("X-Kept")), ([], "1"))


@test
def the_field_means_nothing_on_a_pass_through_route(bench):
    upstream, gateway = bench.pair(answer(200, b"x", [(HEADER, "unknown")]))
    equal(gateway.ask("k", target="/other").status, 200)


@test
def the_upstreams_own_words_about_an_unknown_outcome_are_passed_on(bench):
    got, first = outcome_of(bench, answer(502, b"words of a proxy"))
    equal(got, "unknown")
    equal((first.status, first.body), (502, b"words of a proxy"))


@test
def two_words_of_the_upstream_are_no_word(bench):
    got, first = outcome_of(bench, answer(201, b"made", fields=[
        ("Idempotency-Outcome", "release"), ("Idempotency-Outcome", "store")]))
    equal((got, first.status), ("unknown", 201))


tap.main()
