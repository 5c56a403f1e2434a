# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3 (outcomes): what an upstream's status means."""

from once import tap
from once.tap import each, equal, test
from once.upstream import answer

HEADER = "Idempotency-Outcome"


def outcome_of(bench, reply, idempotency=None):
    """What became of the key: "store", "release", "forget" or "unknown", and
    the first answer."""
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
    attempt = upstream.requests[1].get("Idempotency-Attempt")
    return {"1": "forget", "2": "release"}[attempt], first


@each([(str(status), status, outcome) for status, outcome in (
    (200, "store"), (302, "store"), (400, "store"), (401, "forget"),
    (402, "store"), (403, "forget"), (404, "store"), (407, "store"),
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
               "201": "release", "403": "forget", "409": "forget"}
    for status, outcome in ((500, "release"), (502, "release"),
                            (503, "store"), (404, "unknown"),
                            (401, "unknown"), (409, "forget"),
                            (429, "unknown"), (200, "store")):
        got, _ = outcome_of(bench, answer(status), {
            "outcomes": entries, "namespace": f"n{status}"})
        equal((status, got), (status, outcome))


@each([("store for a 503", "store", 503, "store"),
       ("release for a 200", "release", 200, "release"),
       ("unknown for a 200", "unknown", 200, "unknown"),
       ("forget for a 200", "Forget", 200, "forget"),
       ("store for a 401", "store", 401, "store"),
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


# --- what is forgotten ------------------------------------------------------

def refused(gateway, times, **fields):
    """So many requests with a key are 401, each of another token."""
    for n in range(times):
        got = gateway.ask(f"k{n}", tenant=f"Bearer made-up-{n}", **fields)
        equal((got.status, got.body), (401, b"who are you?"))


WHO = answer(401, b"who are you?")


@test
def invented_tokens_leave_nothing_in_redis(bench):
    """Each would take a record for a day: whoever is let in by nobody could
    fill Redis."""
    upstream, gateway = bench.pair(WHO)
    refused(gateway, 50)
    equal((upstream.count(), bench.redis.left()), (50, []))
    gateway.wait_for_log("request", outcome="released", status=401)


@test
def a_renewed_token_is_not_given_the_old_401(bench):
    upstream, gateway = bench.pair(
        WHO, idempotency={"scope": ["X-Account"]})
    account = [("X-Account", "a")]
    equal(gateway.ask("k", account, tenant="Bearer old").status, 401)
    upstream.reply = answer(201, b"paid")
    for replayed in (False, True):
        got = gateway.ask("k", account, tenant="Bearer new")
        equal((got.status, got.replayed), (201, replayed))
    equal(upstream.requests[1].get("Idempotency-Attempt"), "1")


@test
def what_is_forgotten_leaves_its_entity_free(bench):
    upstream, gateway = bench.pair(WHO, idempotency={
        "entity": ["/order"], "serialize": True, "newer_only": "/version"})
    body = b'{"order": 1, "version": %d}'
    refused(gateway, 1, body=body % 5)
    equal(bench.redis.left(), [])
    # The version that was completed stays, its holder does not.
    upstream.reply = answer(201)
    equal(gateway.ask("a", body=body % 7).status, 201)
    before = [bench.redis("GET", n) for n in bench.redis.keys()
              if b":e:" in n]
    upstream.reply = WHO
    equal(gateway.ask("b", body=body % 8).status, 401)
    after = [bench.redis("GET", n) for n in bench.redis.keys()
             if b":e:" in n]
    assert len(before) == len(after) == 1, (before, after)
    equal(after[0].split()[:2], [b"-", b"-"])
    equal(after[0].split()[2:], before[0].split()[2:])
    equal(len([n for n in bench.redis.keys() if b":r:" in n]), 1)
    equal(gateway.ask("c", body=body % 7).problem, "stale-version")


@test
def a_retry_that_waits_for_what_is_forgotten_executes(bench):
    upstream, gateway = bench.pair(WHO, idempotency={"in_flight": "wait"},
                                   log={"level": "debug"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    second = bench.background(gateway.ask, "k")
    gateway.wait_for_steps("WAITED", 1)
    upstream.reply = answer(201, b"paid")
    hold.release()
    equal((first.result().status, second.result().status), (401, 201))
    equal([r.get("Idempotency-Attempt") for r in upstream.requests],
          ["1", "1"])


@test
def an_attempt_that_is_not_the_first_is_remembered(bench):
    """Otherwise its number would be another attempt's too."""
    upstream, gateway = bench.pair(answer(503))
    for reply, status in ((answer(503), 503), (WHO, 401), (WHO, 401),
                          (answer(201), 201)):
        upstream.reply = reply
        equal(gateway.ask("k").status, status)
    equal([r.get("Idempotency-Attempt") for r in upstream.requests],
          ["1", "2", "3", "4"])


@test
def an_attempt_after_an_unknown_one_is_remembered(bench):
    upstream, gateway = bench.pair(
        answer(504), idempotency={"on_unknown": "retry"})
    equal(gateway.ask("k").status, 504)
    upstream.reply = WHO
    equal(gateway.ask("k").status, 401)
    upstream.reply = answer(201)
    equal(gateway.ask("k").status, 201)
    equal([r.get("Idempotency-Attempt") for r in upstream.requests],
          ["1", "2", "3"])


# --- which attempts count ---------------------------------------------------

def refusals(gateway, status, times=6):
    """So many requests with a key are answered so by the upstream."""
    for _ in range(times):
        got = gateway.ask("k")
        equal((got.status, got.problem), (status, None))


def numbers(upstream):
    return [r.get("Idempotency-Attempt") for r in upstream.requests]


def said(word, status):
    return answer(status, b"", [(HEADER, word)])


BUSY = answer(429, b"", [("Retry-After", "1")])


@each([("429", BUSY, {}), ("429, preset stripe", BUSY, {"preset": "stripe"}),
       ("408", answer(408), {}), ("425", answer(425), {}),
       *((str(status), answer(status), {"outcomes": {str(status): "release"}})
         for status in (301, 307, 308, 401, 403)),
       ("the word release", said("release", 503), {}),
       ("the word release, of a 200", said("Release", 200), {})])
def what_was_refused_before_any_work_does_not_count(bench, reply, members):
    upstream, gateway = bench.pair(
        reply, idempotency={"max_attempts": 5, **members})
    refusals(gateway, int(reply.split()[1]))
    upstream.reply = answer(201, b"paid")
    for replayed in (False, True):
        got = gateway.ask("k")
        equal((got.status, got.body, got.replayed), (201, b"paid", replayed))
    equal(numbers(upstream), [str(n) for n in range(1, 8)])


@each([("401", WHO), ("the word forget", said("forget", 503))])
def what_is_forgotten_does_not_count(bench, reply):
    """Not only in a first attempt, of which nothing stays."""
    upstream, gateway = bench.pair(reply, idempotency={"max_attempts": 2})
    status = int(reply.split()[1])
    refusals(gateway, status)
    upstream.reply = answer(503)
    refusals(gateway, 503, times=1)
    upstream.reply = reply
    refusals(gateway, status)
    upstream.reply = answer(201)
    equal(gateway.ask("k").status, 201)
    equal(numbers(upstream), ["1"] * 7 + [str(n) for n in range(2, 9)])


@each([("503", answer(503), {}),
       ("503, preset stripe", answer(503), {"preset": "stripe"}),
       ("a strange word", said("perhaps", 503), {}),
       *((str(status), answer(status), {"outcomes": {str(status): "release"}})
         for status in (302, 409, 500))])
def what_else_is_released_counts(bench, reply, members):
    upstream, gateway = bench.pair(
        reply, idempotency={"max_attempts": 5, **members})
    refusals(gateway, int(reply.split()[1]), times=5)
    upstream.reply = answer(201)
    equal(gateway.ask("k").problem, "attempts-exhausted")
    equal(upstream.count(), 5)


@test
def an_attempt_that_does_not_count_takes_no_other_back(bench):
    upstream, gateway = bench.pair(idempotency={"max_attempts": 2})
    for reply in (answer(503), BUSY, BUSY, answer(503)):
        upstream.reply = reply
        refusals(gateway, int(reply.split()[1]), times=1)
    upstream.reply = answer(201)
    equal(gateway.ask("k").problem, "attempts-exhausted")
    equal(numbers(upstream), ["1", "2", "3", "4"])


@test
def two_words_of_the_upstream_are_no_word(bench):
    got, first = outcome_of(bench, answer(201, b"made", fields=[
        ("Idempotency-Outcome", "release"), ("Idempotency-Outcome", "store")]))
    equal((got, first.status), ("unknown", 201))


tap.main()
