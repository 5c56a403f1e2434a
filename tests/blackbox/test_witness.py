# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 14: what became of an attempt is known from the API's own
database, which a real PostgreSQL is here; the API commits in it, and dies or
stops wherever it likes."""

import itertools
import json
import signal
import time
from datetime import datetime

from once import tap
from once.admin import Admin
from once.gateway import frozen, is_without, write
from once.http import keyed
from once.ledger import Ledger
from once.messages import Stream, source
from once.pgwire import PostgresClient
from once.postgres import programs
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

OWN, ROW = b'{"id":"own"}', b'{"id":"row"}'


def begin(bench, enforced=True, witness=None, options=None, gateways=1,
          idempotency=None, ledger=None, stream=None, **members):
    """A ledger, and gateways before its API, which know its witness."""
    ledger = ledger or Ledger(bench.postgres_for_all, enforced)
    upstream = bench.upstream(answer(402))
    redis = members.pop("redis", bench.redis)
    config = bench.config(
        upstream, {"on_unknown": ledger.policy(**(witness or {})),
                   **(idempotency or {})},
        options, redis, brokers=ledger.brokers(), workers=1, **members)
    if stream is not None:
        source(config, stream)
    served = [bench.serve({**config, "state_dir": bench.folder()})
              for _ in range(gateways)]
    for n, gateway in enumerate(served):
        wait_known(redis, gateway, f"warm-{n}-", enforced)
    ledger.postgres(f"TRUNCATE {ledger.name}_witness CASCADE")
    upstream.requests.clear()
    upstream.reply = ledger
    return ledger, upstream, served if gateways > 1 else served[0]


def wait_known(redis, gateway, name, enforced):
    """What was sent before it was known is not asked about."""
    tries = itertools.count()
    if enforced:
        eventually(lambda: gateway.ask(f"{name}{next(tries)}").status == 402,
                   "the witness bears an answer out")
    else:
        eventually(lambda: [
            key for key in redis.keys() if b":trust:" in key],
            "the witness is known")


def settled(gateway, key="k", **more):
    """What the key's retries get once its outcome is known."""
    def known():
        got = gateway.ask(key, **more)
        return got.problem not in ("outcome-unknown", "in-flight") and got
    return eventually(known, "the outcome is known")


def asks(gateway, answer, key="k"):
    """Retries are told that nobody knows it, until this came of a question."""
    def came():
        got = gateway.ask(key)
        assert got.problem in ("outcome-unknown", "in-flight"), got
        return got.problem == "outcome-unknown" and \
            gateway.find_log("asked", answer=answer) and got
    return eventually(came, f"it is asked: {answer}")


def said(got):
    return got.status, got.body, got.replayed


@test
def the_api_is_told_what_its_witness_needs(bench):
    """A client's own fields of these names do not reach it."""
    ledger, upstream, gateway = begin(bench)
    got = gateway.ask("k", fields=[("Idempotency-Key-Id", "x"),
                                   ("idempotency_key_id", "y")])
    equal(said(got), (201, OWN, False))
    request = upstream.requests[0]
    equal(request.all("Idempotency-Attempt"), ["1"])
    [key_id] = request.all("Idempotency-Key-Id")
    equal(request.get("idempotency_key_id"), None)
    equal(ledger.postgres.rows("SELECT key_id FROM ledger_witness"),
          [{"key_id": key_id}])
    gateway.wait_for_log("request", key_id=key_id)


@test
def an_api_that_was_killed_before_its_commit_is_sent_it_again(bench):
    ledger, upstream, gateway = begin(bench)
    ledger.dies("open")
    first = gateway.ask("k")
    equal((first.status, first.problem), (502, "outcome-unknown"))
    equal(first.get("Retry-After"), "1")
    equal(said(settled(gateway)), (201, OWN, False))
    equal(said(gateway.ask("k")), (201, OWN, True))
    equal(ledger.payments(), [2])
    equal(ledger.rows(), [(1, "revoked"), (2, "done")])
    equal([r.get("Idempotency-Attempt") for r in upstream.requests],
          ["1", "2"])


@test
def an_api_that_was_killed_after_its_commit_is_not_sent_it_again(bench):
    ledger, upstream, gateway = begin(bench)
    ledger.columns["headers"] = {"X-Kept": "1"}
    ledger.dies("committed")
    first = gateway.ask("k", fields=[("X-Request-Id", "first-1")])
    equal((first.status, first.problem), (502, "outcome-unknown"))
    for _ in range(2):
        got = settled(gateway)
        equal(said(got), (201, ROW, True))
        equal((got.get("X-Kept"), got.get("Original-Request-Id")),
              ("1", "first-1"))
    equal((ledger.payments(), upstream.count()), ([1], 1))
    equal(ledger.rows(), [(1, "done")])


@test
def nobody_decides_while_the_api_has_it_open(bench):
    """Its row is locked; nothing is changed by asking."""
    ledger, upstream, gateway = begin(bench, options={"timeout": "2s"})
    hold = ledger.stop("open")
    equal(gateway.ask("k").status, 504)
    equal(asks(gateway, "unknown").get("Retry-After"), "1")
    equal(ledger.rows(), [])
    hold.release()
    equal(said(settled(gateway)), (201, ROW, True))
    equal((ledger.payments(), upstream.count()), ([1], 1))


@test
def what_the_api_begins_after_it_was_revoked_fails(bench):
    """It has been sent, and lies in a socket: no time is long enough for
    that."""
    ledger, upstream, gateway = begin(bench, options={"timeout": "2s"})
    hold = ledger.stop("come")
    equal(gateway.ask("k").status, 504)
    equal(said(settled(gateway)), (201, OWN, False))
    hold.release()
    eventually(lambda: not ledger.postgres(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'api'"))
    equal(ledger.payments(), [2])
    equal(ledger.rows(), [(1, "revoked"), (2, "done")])


@test
def a_no_is_not_believed_where_the_row_says_yes(bench):
    """A balancer's, or of an API that fails behind its commit."""
    ledger, upstream, gateway = begin(bench)
    ledger.status = 422
    equal(said(gateway.ask("k")), (201, ROW, False))
    equal(said(gateway.ask("k")), (201, ROW, True))
    equal((ledger.payments(), upstream.count()), ([1], 1))


@each([("stored", 422, True), ("released", 503, False),
       ("forgotten on other routes", 401, False)])
def a_no_is_what_outcomes_say_where_there_is_no_row(bench, status, stored):
    ledger, upstream, gateway = begin(bench)
    upstream.reply = answer(status, b"no")
    equal(said(gateway.ask("k")), (status, b"no", False))
    equal(ledger.rows(), [(1, "revoked")])
    if stored:
        equal(said(gateway.ask("k")), (status, b"no", True))
        return
    upstream.reply = ledger
    equal(said(gateway.ask("k")), (201, OWN, False))
    equal(upstream.requests[1].get("Idempotency-Attempt"), "2")
    equal(ledger.rows(), [(1, "revoked"), (2, "done")])


@test
def a_no_is_not_believed_while_the_database_is_away(bench):
    postgres = bench.postgres()
    ledger, upstream, gateway = begin(bench, ledger=Ledger(postgres))
    upstream.reply = answer(422, b"declined")
    postgres.kill()
    first = gateway.ask("k")
    equal((first.status, first.problem), (502, "outcome-unknown"))
    asks(gateway, "away")
    upstream.reply = ledger
    postgres.start()
    equal(said(settled(gateway)), (201, OWN, False))
    equal(ledger.rows(), [(1, "revoked"), (2, "done")])


@test
def what_was_not_sent_is_not_asked_about(bench):
    ledger, upstream, gateway = begin(bench)
    upstream.stop()
    equal(gateway.ask("k").problem, "upstream-unreachable")
    equal(ledger.rows(), [])


@test
def a_retry_of_two_gateways_is_executed_once(bench):
    ledger, upstream, gateways = begin(bench, gateways=2)
    ledger.dies("open")
    equal(gateways[0].ask("k").status, 502)
    going = [bench.background(settled, gateway)
             for gateway in gateways for _ in range(3)]
    for one in going:
        equal(one.result().body, OWN)
    equal(ledger.payments(), [2])


@test
def an_owner_that_comes_late_hears_what_the_record_says(bench):
    """Its gateway was frozen beyond its lease; the row was believed."""
    ledger, upstream, gateways = begin(
        bench, gateways=2, idempotency={"lease": "1s"})
    hold = ledger.stop("committed")
    got = bench.background(gateways[0].ask, "k")
    hold.wait_arrived()
    with frozen(gateways[0]):
        equal(said(settled(gateways[1])), (201, ROW, True))
        hold.release()
    equal(got.result().body, ROW)
    equal((ledger.payments(), upstream.count()), ([1], 1))
    gateways[0].wait_for_log("fenced")


@test
def a_no_of_an_attempt_that_was_revoked_is_not_handed_out(bench):
    """Its gateway was frozen, and another one has executed it since."""
    ledger, upstream, gateways = begin(
        bench, gateways=2, idempotency={"lease": "1s"})
    hold = ledger.stop("come")
    got = bench.background(gateways[0].ask, "k")
    hold.wait_arrived()
    with frozen(gateways[0]):
        equal(said(settled(gateways[1])), (201, OWN, False))
        hold.release()
    equal(got.result().body, OWN)
    equal(ledger.payments(), [2])


BY_KEY = "/v1/charges/by-key/"


def asked_on(settle):
    return {"then": {"reconcile": {
        "path": BY_KEY + "{key}", "settle": settle, "absent": [404]}}}


ASKED_ON = asked_on("0s")


@test
def started_is_held(bench):
    ledger, upstream, gateway = begin(bench)
    ledger.starts = True
    ledger.dies("started")
    equal(gateway.ask("k").status, 502)
    equal(asks(gateway, "unknown").status, 409)
    equal((ledger.payments(), ledger.rows()), ([], [(1, "started")]))


@each([("at once", "0s"), ("once it has settled", "2s")])
def what_was_started_is_revoked_when_the_api_says_no(bench, settle):
    """It may not go on after that."""
    ledger, upstream, gateway = begin(
        bench, witness=asked_on(settle), options={"timeout": "2s"})
    ledger.starts = True
    hold = ledger.stop("started")
    equal(gateway.ask("k").status, 504)
    equal(said(settled(gateway)), (201, OWN, False))
    hold.release()
    eventually(lambda: not ledger.postgres(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'api'"))
    equal(ledger.payments(), [2])
    equal(ledger.rows(), [(1, "revoked"), (2, "done")])


@test
def started_settles_from_when_it_could_be_seen(bench):
    """Its transaction was open for longer than that, as a commit that waits
    for a standby; only now the API goes on, and calls the network."""
    ledger, upstream, gateway = begin(
        bench, witness=asked_on("3s"), options={"timeout": "1s"})
    ledger.starts = True
    commits, calls = ledger.stop("starting"), ledger.stop("started")
    equal(gateway.ask("k").status, 504)
    eventually(lambda: ledger.postgres(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'api' AND "
        "xact_start < clock_timestamp() - interval '4 s'"), "it is old")
    asks(gateway, "unknown")
    commits.release()
    calls.wait_arrived()
    eventually(lambda: gateway.ask("k").status != 409 or gateway.find_log(
        "asked", detail="it is started"), "its row is found")
    calls.release()
    equal(settled(gateway).problem, "response-not-kept")
    equal((ledger.payments(), upstream.count(method="POST")), ([1], 1))
    equal(ledger.rows(), [(1, "done")])


@test
def what_was_started_is_completed_once_the_api_says_yes(bench):
    ledger, upstream, gateway = begin(bench, witness=ASKED_ON)
    upstream.replies[BY_KEY + "k"] = answer(200, b"asked")
    ledger.starts = True
    ledger.dies("started")
    equal(gateway.ask("k").status, 502)
    equal(said(settled(gateway)), (200, b"asked", True))
    equal(upstream.count(method="POST"), 1)


@test
def what_the_attempt_behind_it_has_started_is_held(bench):
    """The API's no was about the attempt before, and a balancer says another
    one while this is at work."""
    ledger, upstream, gateway = begin(bench, witness=ASKED_ON)
    ledger.starts = True
    ledger.dies("started")
    equal(gateway.ask("k").status, 502)

    def busy(connection, request):
        if request.method != "POST":
            connection.send(answer(404))
            return
        ledger.postgres(
            "INSERT INTO ledger_witness (key_id, attempt, verdict) VALUES "
            f"('{request.get('Idempotency-Key-Id')}', "
            f"{request.get('Idempotency-Attempt')}, 'started')")
        connection.send(answer(503))

    def sent():
        got = gateway.ask("k")
        return upstream.count(method="POST") == 2 and got
    upstream.reply = busy
    got = eventually(sent, "the next attempt is sent")
    equal((got.status, got.problem), (502, "outcome-unknown"))
    equal(ledger.rows(), [(1, "revoked"), (2, "started")])


@each([("one that is not stored", {"status": 503}),
       ("one without meaning", {"status": 99})])
def a_row_is_judged_as_an_answer_is(bench, columns):
    ledger, upstream, gateway = begin(bench)
    ledger.columns = columns
    ledger.dies("committed")
    equal(gateway.ask("k").status, 502)
    asks(gateway, "unknown")
    equal((ledger.payments(), upstream.count()), ([1], 1))


@each([("the row's", {"status": 202}, {}, (202, b"")),
       ("the configuration's", {}, {"status": 203}, (203, b"")),
       ("nobody's", {}, {}, (409, None))])
def what_a_row_does_not_say(bench, columns, witness, wanted):
    ledger, upstream, gateway = begin(bench, witness=witness)
    ledger.columns = columns
    ledger.dies("committed")
    equal(gateway.ask("k").status, 502)
    for _ in range(2):
        got = settled(gateway)
        equal(got.status, wanted[0])
        if wanted[1] is not None:
            equal((got.body, got.replayed), (wanted[1], True))
        else:
            equal(got.problem, "response-not-kept")
            equal(got.json()["original_status"], None)
            equal(got.json()["retry"], "new-key")
    equal((ledger.payments(), upstream.count()), ([1], 1))


@test
def rows_of_a_life_before_are_met_where_the_api_refuses(bench):
    """The record is gone, and attempts begin at 1 again."""
    ledger, upstream, gateway = begin(
        bench, admin={"listen": "127.0.0.1:0"})
    equal(said(gateway.ask("k")), (201, OWN, False))
    key_id = upstream.requests[0].get("Idempotency-Key-Id")
    equal(Admin(gateway).send("DELETE", f"/keys/{key_id}").status, 200)
    # Caches hear of a deletion in a moment.
    again = eventually(lambda: not (got := gateway.ask("k")).replayed and got)
    equal(said(again), (201, ROW, False))
    equal((ledger.payments(), upstream.count()), ([1], 2))


@test
def a_revocation_of_a_life_before_releases_the_key(bench):
    ledger, upstream, gateway = begin(
        bench, admin={"listen": "127.0.0.1:0"}, cache={"size": 0})
    ledger.dies("open")
    equal(gateway.ask("k").status, 502)
    key_id = upstream.requests[0].get("Idempotency-Key-Id")
    equal(said(settled(gateway)), (201, OWN, False))
    ledger.postgres("DELETE FROM ledger_payments; "
                    "DELETE FROM ledger_witness WHERE verdict = 'done'")
    equal(Admin(gateway).send("DELETE", f"/keys/{key_id}").status, 200)
    first = gateway.ask("k")
    equal((first.status, first.problem), (409, "in-flight"))
    equal(said(gateway.ask("k")), (201, OWN, False))
    equal(ledger.payments(), [2])


def reload(gateway, on_unknown, **members):
    with open(gateway.file, encoding="utf-8") as file:
        config = json.load(file)
    config["routes"][0]["idempotency"].update(members, on_unknown=on_unknown)
    reloads = len(gateway.find_log("reloaded"))
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_until(lambda: len(gateway.find_log("reloaded")) > reloads,
                       "it is reloaded")


@test
def what_a_lost_redis_had_forgotten_is_not_paid_again(bench):
    """While its row stands, whichever attempt it was."""
    redis = bench.own_redis("--appendonly", "yes")
    ledger, upstream, gateways = begin(bench, gateways=2, redis=redis)
    equal(said(gateways[0].ask("k")), (201, OWN, False))
    ledger.dies("open")
    equal(gateways[0].ask("l").status, 502)
    equal(said(settled(gateways[0], "l")), (201, OWN, False))
    redis("FLUSHALL")
    for key in ("k", "l"):
        equal(settled(gateways[1], key).body, ROW)
    equal((ledger.payments(), upstream.count()), ([1, 2], 6))


@test
def attempts_that_were_revoked_count(bench):
    ledger, upstream, gateway = begin(bench, idempotency={"max_attempts": 2})
    for _ in range(2):
        ledger.dies("open")
        eventually(lambda: gateway.ask("k").status == 502, "it is sent")
    got = settled(gateway)
    equal((got.status, got.problem), (409, "attempts-exhausted"))
    equal(ledger.rows(), [(1, "revoked"), (2, "revoked")])
    equal((ledger.payments(), upstream.count()), ([], 2))


def wait_untold(gateway, key="k", words="was not told"):
    """It is asked about, and not believed that nothing was done."""
    def held():
        equal(gateway.ask(key).status, 409)
        return any(words in line.get("detail", "")
                   for line in gateway.find_log("asked", answer="unknown"))
    eventually(held, "it is not believed")


@test
def what_was_sent_while_there_was_no_witness_is_held(bench):
    """The API was not told what to write: that it has no row says nothing."""
    ledger, upstream, gateway = begin(bench)
    reload(gateway, "hold")
    upstream.reply = close_unanswered
    equal(gateway.ask("k").problem, "outcome-unknown")
    equal(upstream.requests[-1].get("Idempotency-Key-Id"), None)
    upstream.reply = answer(402)
    reload(gateway, ledger.policy())
    wait_known(bench.redis, gateway, "again-", True)
    upstream.reply = ledger

    wait_untold(gateway)
    equal(ledger.payments(), [])


@test
def what_was_started_is_not_asked_for_by_a_key_that_was_not_sent(bench):
    ledger, upstream, gateway = begin(
        bench, witness={"then": "hold"},
        idempotency={"derive_key": ["/amount"]})
    asked = []

    def api(connection, request):
        if request.method == "GET":
            asked.append(request.target)
            connection.send(answer(404))
            return
        client = PostgresClient(ledger.postgres.folder, name="api")
        ledger.write(client, request.get("Idempotency-Key-Id"), 1,
                     {"verdict": "started"})
        client.close()
        connection.close()
    upstream.reply = api
    equal(gateway.ask(None).problem, "outcome-unknown")
    reload(gateway, ledger.policy(then={"reconcile": {
        "path": "/by-key/{key}", "settle": "0s"}}), send_derived=True)
    wait_untold(gateway, None)
    equal((asked, upstream.count(method="POST")), ([], 1))


@each([("enforced", True), ("guarded", False)])
def what_is_under_way_when_the_witness_goes_is_held(bench, enforced):
    """It is sent as it was meant to be; but the API, or its database, may not
    write rows any more, until the witness comes back."""
    ledger, upstream, gateway = begin(bench, enforced)
    head, body = keyed("k", [("Expect", "100-continue")]).split(b"\r\n\r\n")
    with gateway.client() as client:
        client.send(head + b"\r\n\r\n")
        assert b" 100 " in client.reader.until(b"\r\n\r\n")
        reload(gateway, "hold")
        upstream.reply = close_unanswered
        client.send(body)
        equal(client.read().problem, "outcome-unknown")
    upstream.reply = answer(402)
    reload(gateway, ledger.policy())
    wait_known(bench.redis, gateway, "again-", enforced)
    upstream.reply = ledger
    equal(gateway.ask("later").status, 201)
    wait_untold(gateway, words="before the first gateway knew")
    equal(upstream.count(key="k"), 1)


@test
def what_came_while_there_was_no_witness_is_held_too(bench):
    """It is sent when there is one, as it was meant to be before."""
    ledger, upstream, gateway = begin(bench, enforced=False)
    reload(gateway, "hold")
    head, body = keyed("k", [("Expect", "100-continue")]).split(b"\r\n\r\n")
    with gateway.client() as client:
        client.send(head + b"\r\n\r\n")
        assert b" 100 " in client.reader.until(b"\r\n\r\n")
        reload(gateway, ledger.policy())
        equal(gateway.ask("before").status, 201)
        upstream.reply = close_unanswered
        client.send(body)
        equal(client.read().problem, "outcome-unknown")
    equal(upstream.requests[-1].get("Idempotency-Key-Id"), None)
    upstream.reply = ledger
    equal(gateway.ask("later").status, 201)

    wait_untold(gateway)
    equal(upstream.count(key="k"), 1)


@each([("without the witness", {"on_unknown": "hold"}),
       ("that tells it in another field", {"key_id_header": "X-Key-Id"})])
def what_was_sent_by_a_gateway_is_held(bench, members):
    """While that is rolled out: another gateway trusts the witness already."""
    ledger, upstream, gateway = begin(bench, enforced=False)
    with open(gateway.file, encoding="utf-8") as file:
        config = json.load(file)
    config["routes"][0]["idempotency"].update(members)
    before = bench.serve({**config, "state_dir": bench.folder()})
    upstream.reply = close_unanswered
    equal(before.ask("k").problem, "outcome-unknown")
    upstream.reply = ledger
    equal(gateway.ask("later").status, 201)
    wait_untold(gateway)
    equal(upstream.count(key="k"), 1)


@test
def a_key_with_two_unknown_attempts_is_held(bench):
    """They were sent while the route was one that retries, and the API was not
    told what to write.  An operator releases both."""
    ledger, upstream, gateway = begin(
        bench, admin={"listen": "127.0.0.1:0"})
    reload(gateway, "retry")
    upstream.reply = close_unanswered
    for _ in range(2):
        got = gateway.ask("k")
        equal(got.problem, "outcome-unknown")
    equal([r.get("Idempotency-Key-Id") for r in upstream.requests],
          [None, None])
    upstream.reply = ledger
    reload(gateway, ledger.policy())
    equal(asks(gateway, "unknown").status, 409)
    eventually(lambda: any("was not told" in line["detail"]
                           for line in gateway.find_log("asked")),
               "it is said why")
    equal((upstream.count(), ledger.rows()), (2, []))
    key_id = got.json()["instance"].rsplit(":", 1)[-1]
    admin = Admin(gateway)
    eventually(lambda: admin.post(f"/keys/{key_id}/release").status == 200,
               "nobody asks about it")
    equal(ledger.rows(), [(1, "revoked"), (2, "revoked")])
    equal(said(gateway.ask("k")), (201, OWN, False))


# --- an API that nobody proves to write ---


@test
def an_attempt_is_not_asked_about_before_the_witness_is_proven(bench):
    ledger, upstream, gateway = begin(bench, enforced=False)
    equal(gateway.ask("before").status, 201)
    ledger.writes = False
    ledger.dies("committed")  # a canary, which pays and does not say so
    equal(gateway.ask("k").status, 502)
    held = eventually(lambda: (got := gateway.ask("k")).problem ==
                      "outcome-unknown" and got)
    equal(held.status, 409)
    equal(upstream.count(key="k"), 1)
    equal(ledger.postgres("SELECT count(*) FROM ledger_witness"), ["1"])


@test
def it_is_asked_about_once_a_later_answer_had_its_row(bench):
    ledger, upstream, gateway = begin(bench, enforced=False)
    ledger.dies("open")
    equal(gateway.ask("k").status, 502)
    # For a moment the sweep has the record, and asks in vain.
    eventually(lambda: gateway.ask("k").problem == "outcome-unknown")
    # The first may be sent in the very millisecond of that.
    for number in range(3):
        equal(gateway.ask(f"later{number}").status, 201)
    equal(said(settled(gateway)), (201, OWN, False))
    equal(upstream.count(key="k"), 2)


@test
def an_answer_without_its_row_ends_all_trust(bench):
    ledger, upstream, gateway = begin(bench, enforced=False)
    equal(gateway.ask("before").status, 201)
    ledger.writes = False
    equal(gateway.ask("absent").status, 201)
    gateway.wait_for_log("witness_absent")
    ledger.writes = True
    ledger.dies("open")
    equal(gateway.ask("k").status, 502)
    equal(gateway.ask("later").status, 201)
    eventually(lambda: gateway.ask("k").problem == "outcome-unknown")
    equal(upstream.count(key="k"), 1)


@test
def the_end_of_trust_survives_a_failover(bench):
    """The replica that takes the master's place was not there when it came."""
    master, replica = bench.own_redis(), bench.own_redis()
    replica.follow(master)
    proxy = bench.proxy(master.url)
    ledger, upstream, gateway = begin(
        bench, enforced=False, redis=master, store={
            "redis": proxy.url, "wait_replicas": 1, "timeout": "5s",
            "wait_timeout": "700ms"})

    def ends(redis):
        key, = (key for key in redis.keys() if b":trust:" in key)
        return redis("GET", key).split(b"\n")[2] != b"0"
    eventually(lambda: gateway.ask("before").status == 201, "it is paid")
    ledger.writes = False
    hold = ledger.stop("come")
    absent = bench.background(gateway.ask, "absent")
    hold.wait_arrived()
    replica.freeze()
    master("CLIENT", "KILL", "TYPE", "replica")
    hold.release()
    absent.result()
    eventually(lambda: ends(master), "it is at an end")
    master.kill()
    replica.thaw()
    replica("REPLICAOF", "NO", "ONE")
    equal(ends(replica), False)
    bench.own_redis().follow(replica)
    proxy.retarget(replica.url)
    proxy.reset_all()
    eventually(lambda: ends(replica), "it still is")


@test
def an_answer_that_comes_for_what_was_revoked_ends_all_trust(bench):
    """The API pays without its row, long after its gateway was frozen."""
    ledger, upstream, gateways = begin(
        bench, enforced=False, gateways=2, idempotency={"lease": "1s"})
    hold = ledger.stop("come")
    got = bench.background(gateways[0].ask, "k")
    hold.wait_arrived()
    with frozen(gateways[0]):
        eventually(lambda: gateways[1].ask("k").problem == "outcome-unknown")
        # The first may be sent in the very millisecond of that.
        for number in range(3):
            equal(gateways[1].ask(f"proof{number}").status, 201)
        equal(said(settled(gateways[1])), (201, OWN, False))
        ledger.writes = False
        hold.release()
    equal(got.result().body, OWN)
    gateways[0].wait_for_log("witness_broken")


@test
def what_was_believed_before_a_freeze_is_believed_no_more(bench):
    """Another gateway has found meanwhile that the API writes no row."""
    ledger, upstream, gateways = begin(
        bench, enforced=False, gateways=2, admin={"listen": "127.0.0.1:0"})
    one, two = gateways
    equal(one.ask("before").status, 201)
    eventually(lambda: Admin(one).get("/status")["witnesses"][0]["state"] ==
               "proven", "it is proven")
    hold = upstream.hold(answer(503))
    got = bench.background(one.ask, "k")
    hold.wait_arrived()
    upstream.reply = ledger
    with frozen(one):
        ledger.writes = False
        equal(two.ask("absent").status, 201)
        two.wait_for_log("witness_absent")
        hold.release()
        later = time.monotonic() + 9
        eventually(lambda: time.monotonic() > later, timeout=30)
    equal(got.result().problem, "outcome-unknown")
    equal(ledger.rows(), [(1, "done")])


# --- around it ---


@test
def an_answer_that_redis_has_not_is_not_handed_out(bench):
    """The row may be believed meanwhile: it says the same in other words."""
    redis = bench.own_redis("--appendonly", "yes")
    ledger, upstream, gateway = begin(bench, redis=redis)
    hold = ledger.stop("committed")
    got = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis.kill()
    hold.release()
    equal((got.result().status, got.result().problem),
          (503, "store-unavailable"))
    redis.restart()
    equal(settled(gateway).status, 201)
    equal((ledger.payments(), upstream.count()), ([1], 1))


@each([("before its commit", "open", [2]),
       ("after it", "committed", [1])])
def a_message_goes_on_by_itself(bench, point, payments):
    stream = Stream(bench.own_redis("--appendonly", "yes",
                                    "--appendfsync", "always"))
    ledger, upstream, gateway = begin(bench, stream=stream)
    ledger.dies(point)
    stream.add(body=b'{"amount":5}', idempotency_key="k1")
    gateway.wait_until(lambda: [
        one for one in gateway.find_log("message")
        if one["outcome"] in ("executed", "duplicate")], "it is executed")
    equal(ledger.payments(), payments)
    equal(stream.pending(), [])


@test
def messages_that_are_held_ask_at_growing_distances(bench):
    """Though each hears when it has asked itself, when the other has, and when
    the sweep has: a question comes a second after the one before, or later."""
    stream = Stream(bench.own_redis())
    ledger, upstream, gateway = begin(bench, stream=stream)
    ledger.starts = True
    ledger.dies("started")
    for _ in range(2):
        stream.add(body=b'{"amount":5}', idempotency_key="k1")
    gateway.wait_until(lambda: len(gateway.find_log("message_held")) == 2,
                       "both are held")
    since = len(gateway.events)
    key = gateway.find_log("message_held")[0]["key_id"]
    lines = gateway.wait_until(
        lambda: gateway.find_log("asked", since, key_id=key)[2:] and
        gateway.find_log("asked", since, key_id=key),
        "it is asked three times more")
    first, third = (datetime.fromisoformat(line["ts"].replace("Z", "+00:00"))
                    for line in (lines[0], lines[2]))
    assert (third - first).total_seconds() > 0.9, lines
    equal((upstream.count(), ledger.rows()), (1, [(1, "started")]))


# A witness in parts, of each of which a row has each place.
PARTED = """
DROP TABLE {0}_witness CASCADE;
CREATE TABLE {0}_witness (key_id text, attempt integer,
    verdict text NOT NULL DEFAULT 'done', status integer, headers jsonb,
    body bytea, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key_id, attempt), UNIQUE (key_id, attempt, verdict))
    PARTITION BY HASH (key_id);
CREATE TABLE {0}_even PARTITION OF {0}_witness
    FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE {0}_odd PARTITION OF {0}_witness
    FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO {0}_witness (key_id, attempt, verdict, at)
    SELECT 'k' || n, 1, 'revoked', now() - (n % 2) * interval '100 days'
    FROM generate_series(1, 200) AS n"""


@test
def only_revocations_of_long_ago_are_cleaned_away(bench):
    ledger = Ledger(bench.postgres_for_all, False)
    ledger.postgres(PARTED.format(ledger.name))
    bench.gateway(bench.upstream(), {"on_unknown": ledger.policy()},
                  brokers=ledger.brokers())
    old = (f"SELECT count(*) FROM {ledger.name}_witness "
           "WHERE at < now() - interval '99 days'")
    eventually(lambda: ledger.postgres(old) == ["0"], "it has cleaned")
    equal(ledger.postgres(f"SELECT count(*) FROM {ledger.name}_witness"),
          ["100"])


@test
def history_says_who_asked(bench):
    ledger, upstream, gateway = begin(
        bench, admin={"listen": "127.0.0.1:0"})
    ledger.dies("committed")
    equal(gateway.ask("k").status, 502)
    settled(gateway)
    key_id = upstream.requests[0].get("Idempotency-Key-Id")
    record = Admin(gateway).get(f"/keys/{key_id}")
    equal(record["state"], "COMPLETED")
    assert any("happened" in str(act) for act in record["history"]), record
    asked = gateway.wait_for_log("asked", answer="happened")
    equal(asked["key_id"], key_id)
    assert asked["by"] in ("request", "sweep"), asked


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
