# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 5: an outcome that waits on disk, and the record that it is
for is damaged, or was written by a later release.  It stays until the operator
deletes the record, and takes its place."""

import json

from once import tap
from once.http import ask, build
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
DAMAGES = [("damaged", lambda value: value[:20] + b"?????" + value[25:]),
           ("of a later release", lambda value: b"o9" + value[2:])]
PAID = answer(201, b"of the API")
LARGE = answer(201, b"x" * 100_000)


class Payment:
    """It is executed; its record is damaged before Redis hears of that."""

    def __init__(self, bench, damage, reply=PAID, away=True, back=True,
                 **idempotency):
        self.bench = bench
        self.redis = bench.own_redis(*DURABLE)
        self.upstream = bench.upstream()
        self.proxy = bench.proxy(self.redis.url)
        self.gateway = bench.gateway(
            self.upstream, redis=self.proxy.url, workers=1,
            admin={"listen": "127.0.0.1:0"}, cache={"size": 0},
            idempotency=idempotency, store={"timeout": "2s"})
        hold = self.upstream.hold(reply)
        first = bench.background(self.gateway.ask, "k")
        hold.wait_arrived()
        self.name = next(k for k in self.redis.keys() if b":r:" in k)
        self.key_id = self.name[-32:].decode()
        if away:
            self.proxy.refuse()
            self.proxy.reset_all()
            self.gateway.wait_for_log("store_down")
        self.whole = self.redis("GET", self.name)
        self.put(damage(self.whole))
        hold.release()
        self.first = first.result()
        self.upstream.reply = answer(201, b"a second payment")
        if away and back:
            self.return_to_redis()

    def return_to_redis(self):
        self.proxy.accept()
        self.gateway.wait_for_log("store_up")

    def put(self, value):
        self.redis("SET", self.name, value, "PX", "3600000")

    def blocked(self):
        said = self.gateway.wait_for_log("journal_blocked")
        equal(said["key_id"], self.key_id)

    def admin(self, method, target=""):
        return ask(self.gateway.ready["admin"], build(
            method, target or f"/keys/{self.key_id}", host="localhost"))

    def metric(self, name):
        text = self.admin("GET", "/metrics").body.decode()
        return next(float(line.split()[-1]) for line in text.splitlines()
                    if line.startswith(name + " "))

    def is_replayed(self, gateway=None, body=b"of the API"):
        got = (gateway or self.gateway).ask("k")
        equal((got.status, got.body, got.replayed), (201, body, True))
        equal(self.upstream.count(), 1)


@each(DAMAGES)
def the_outcome_stays_and_takes_the_place_of_what_is_deleted(bench, damage):
    payment = Payment(bench, damage)
    equal(payment.first.body, b"of the API")
    payment.blocked()
    # Others are delivered all the same, and it is said once.
    for kind in ("journal_delivered", "journal_late"):
        equal(payment.gateway.find_log(kind), [])
    eventually(lambda: payment.metric(
        "onceproxy_journal_blocked_entries") == 1)
    equal(payment.admin("GET", "/status").json()["journal"]["blocked"], 1)
    payment.redis("CONFIG", "RESETSTAT")
    eventually(lambda: payment.redis.calls("evalsha") > 30, "it is tried")
    equal(len(payment.gateway.find_log("journal_blocked")), 1)
    assert len(payment.gateway.find_log("record_broken")) <= 1
    equal(payment.gateway.ask("k").problem, "outcome-unknown")
    # No other gateway comes in between.
    equal(payment.admin("DELETE").status, 200)
    other = bench.gateway(payment.upstream, redis=payment.redis)
    payment.is_replayed(other)
    equal(payment.gateway.wait_for_log("operator", act="delete")["after"],
          "COMPLETED")
    payment.gateway.wait_for_log("journal_delivered")
    eventually(lambda: payment.metric(
        "onceproxy_journal_blocked_entries") == 0)
    payment.is_replayed()


@test
def once_it_can_be_read_again_it_is_completed(bench):
    payment = Payment(bench, DAMAGES[0][1])
    payment.blocked()
    payment.put(payment.whole)
    payment.gateway.wait_for_log("journal_delivered")
    payment.is_replayed()


@test
def once_it_is_gone_it_is_made_again(bench):
    payment = Payment(bench, DAMAGES[0][1], LARGE)
    payment.blocked()
    payment.redis("DEL", payment.name)
    payment.gateway.wait_for_log("journal_delivered")
    payment.is_replayed(body=b"x" * 100_000)


@test
def a_doubt_stays_too(bench):
    payment = Payment(bench, DAMAGES[0][1], close_unanswered)
    payment.blocked()
    equal(payment.admin("DELETE").status, 200)
    payment.gateway.wait_for_log("journal_delivered", step="unknown")
    equal(payment.gateway.ask("k").problem, "outcome-unknown")
    equal(payment.upstream.count(), 1)


@each([("an answer", PAID, "completed"),
       ("a doubt", close_unanswered, "unknown")])
def no_claim_comes_before_what_another_gateway_has_of_it(bench, reply, state):
    """The operator deletes the record where nothing is known of it."""
    payment = Payment(bench, DAMAGES[0][1], reply, back=False)
    other = bench.gateway(payment.upstream, redis=payment.redis, workers=1,
                          admin={"listen": "127.0.0.1:0"}, cache={"size": 0})
    deleted = ask(other.ready["admin"], build(
        "DELETE", f"/keys/{payment.key_id}", host="localhost"))
    equal((deleted.status, deleted.json()["state"]), (200, "UNKNOWN"))
    equal(other.ask("k").problem, "outcome-unknown")
    payment.return_to_redis()
    payment.gateway.wait_for_log("journal_delivered")
    if state == "completed":
        payment.is_replayed(other)
    else:
        equal(other.ask("k").problem, "outcome-unknown")
        # What is known of it now says whose it is.
        equal(other.ask("k", body=b"{}").problem, "key-reused")
    equal(payment.upstream.count(), 1)
    [record] = [name for name in payment.redis.keys() if b":r:" in name]
    held = payment.redis.indexed(b":held")
    equal(len(held), state == "unknown")
    equal(record, payment.name)


@each([("hold", "hold", 201), ("retry", "retry", 503)])
def a_live_answer_goes_to_the_journal(bench, policy, status):
    payment = Payment(bench, DAMAGES[0][1], away=False, on_unknown=policy)
    equal(payment.first.status, status)
    payment.blocked()
    equal(payment.admin("DELETE").status, 200)
    payment.is_replayed()


@test
def the_drain_does_not_wait_for_it(bench):
    payment = Payment(bench, DAMAGES[0][1])
    payment.blocked()
    payment.gateway.stop()
    # And the next process knows of it.
    after = bench.serve(payment.gateway.config)
    after.wait_for_log("journal_blocked")
    payment.redis("DEL", payment.name)
    after.wait_for_log("journal_delivered")
    payment.is_replayed(after)


tap.main()
