# SPDX-License-Identifier: BSD-2-Clause
"""A result, or the copy of a dead letter, that is larger than its topic takes
is not put, nor cut, nor lost: its message is held, and others go on.  Skipped
where there is no Kafka (contrib/check --all)."""

from once import tap
from once.admin import Admin
from once.kafka import START_S
from once.kafka_letters import QUICK, Letters
from once.tap import equal, test
from once.upstream import answer
from once.wait import eventually

MOST = 20000  # bytes of what the topic of dead letters takes
LARGE = b'"' + b"x" * 2 * MOST + b'"'


class Sized(Letters):
    """Its topic of dead letters takes small ones only."""

    def __init__(self, bench, **members):
        super().__init__(bench, {**QUICK, **members})
        self.kafka.configure_topic(self.topic.dead, max_message_bytes=MOST)
        self.of["large"] = answer(422)
        self.serve()

    def add_large(self, order=b"a"):
        """The first message of all, which is held then."""
        self.topic.add(LARGE, "large", order=order)
        return self.wait_large()

    def wait_large(self):
        told = self.gateway.wait_for_log(
            "message_letter_too_large", timeout=START_S)
        equal(told["reason"], "refused")
        assert "too large" in told["error"], told
        held, = self.wait_listed(1, "held")
        equal(held["reason"], "letter-too-large")
        assert "too large" in held["detail"], held
        return held

    def committed(self):
        found = self.kafka.committed(self.topic.group, self.topic.name)
        return found.get(0, (0, ""))[0]

    def wait_committed(self, offset):
        eventually(lambda: self.committed() == offset,
                   f"{offset} is committed", START_S)

    def drop(self, message):
        eventually(lambda: self.admin.post(
            f"/messages/{message['id']}/drop").status == 200,
            "it is dropped", START_S)

    def each_once(self, *keys):
        for key in keys:
            equal(self.upstream.count(key=key), 1, key)

    def never_stood(self):
        equal(self.gateway.find_log("source_stands"), [])
        source, = self.admin.get("/sources")["sources"]
        equal(source["standing"], None)


@test
def others_go_on_and_so_do_their_dead_letters(bench):
    b = Sized(bench)
    b.add_large()
    b.of["bad"] = answer(422)
    b.add("one", "bad", "two")
    b.wait_executed("one", "two")
    b.wait_put(1)
    b.each_once("large", "one", "bad", "two")
    equal(b.put(), [("bad", "refused")])
    equal(b.committed(), 0)
    b.never_stood()


@test
def it_is_put_whole_once_the_topic_takes_it(bench):
    b = Sized(bench)
    held = b.add_large()
    b.kafka.configure_topic(b.topic.dead, max_message_bytes=4 * MOST)
    b.wait_put(1)
    copy, = b.kafka.consume(b.topic.dead)
    equal((copy.value, copy.header("onceproxy-reason")), (LARGE, "refused"))
    b.wait_listed(0, "held")
    dead, = b.listed()
    equal(dead["id"], held["id"])
    b.wait_committed(1)
    b.each_once("large")
    b.never_stood()


@test
def another_gateway_holds_it_too_and_executes_nothing(bench):
    b = Sized(bench)
    b.add_large()
    b.add("one")
    b.wait_executed("one")
    b.gateway.wait_for_log("message", outcome="executed")  # and known
    b.gateway.kill()
    b.serve()
    held = b.wait_large()
    b.drop(held)
    b.wait_committed(2)
    b.wait_listed(0)
    equal((b.listed("held"), b.put()), ([], []))
    b.each_once("large", "one")
    b.never_stood()


@test
def only_its_order_waits_for_it(bench):
    b = Sized(bench, order_by="key")
    held = b.add_large(order=b"a")
    b.add("behind", order=b"a")
    b.add("other", order=b"b")
    b.wait_executed("other")
    b.wait_listed(1, "waiting")
    b.drop(held)
    b.wait_executed("other", "behind")
    b.wait_committed(3)
    # It may have been parked until the drop was seen to be over.
    assert b.put() in ([], [("behind", "behind")]), b.put()
    b.wait_listed(0, "parked")
    b.wait_listed(0)
    b.each_once("large", "behind", "other")
    b.never_stood()


@test
def what_is_behind_it_follows_it_to_the_dead_letters(bench):
    b = Sized(bench, order_by="key")
    b.add_large()
    b.add("behind")
    b.kafka.configure_topic(b.topic.dead, max_message_bytes=4 * MOST)
    b.wait_listed(1, "parked")
    b.wait_put(2)
    equal(b.put(), [("large", "refused"), ("behind", "behind")])
    equal(b.done, [])


class SmallResults(Sized):
    """Its topic of results takes small ones only."""

    def serve(self, instance="one"):
        self.members = {
            **self.members, "results": {"topic": self.topic.results}}
        self.kafka.configure_topic(self.topic.results, max_message_bytes=MOST)
        self.of["large"] = answer(200, b"x" * 2 * MOST)
        return super().serve(instance)


@test
def a_result_that_is_too_large_holds_its_message_alone(bench):
    b = SmallResults(bench)
    b.topic.add(b"1", "large")
    told = b.gateway.wait_for_log(
        "message_result_too_large", timeout=START_S)
    equal(told["outcome"], "executed")
    held, = b.wait_listed(1, "held")
    equal(held["reason"], "result-too-large")
    assert "too large" in held["detail"], held
    b.add("one")
    b.wait_executed("large", "one")
    b.add("two")
    b.wait_executed("large", "one", "two")
    equal(b.committed(), 0)
    b.kafka.configure_topic(b.topic.results, max_message_bytes=4 * MOST)
    b.wait_listed(0, "held")
    b.wait_committed(3)
    b.each_once("large", "one", "two")
    sizes = sorted(len(r.value) for r in b.kafka.consume(b.topic.results))
    equal((len(sizes), sizes[-1]), (3, 2 * MOST))
    b.never_stood()


@test
def a_message_whose_result_is_too_large_is_dropped_without_it(bench):
    b = SmallResults(bench)
    b.topic.add(b"1", "large")
    held, = b.wait_listed(1, "held")
    b.drop(held)
    b.wait_committed(1)
    equal(b.kafka.consume(b.topic.results), [])
    b.each_once("large")
    b.never_stood()


@test
def many_of_them_keep_nobody(bench):
    b = Sized(bench)
    keys = [f"large{n}" for n in range(20)]
    b.of.update({key: answer(422) for key in keys})
    for key in keys:
        b.topic.add(LARGE, key)
    b.wait_listed(20, "held")
    b.add("one")
    b.wait_executed("one")
    page = Admin(b.gateway).send("GET", "/metrics").body.decode()
    assert 'onceproxy_messages_total{source="charges",outcome="held"} 20' \
        in page, page
    b.each_once(*keys)
    b.never_stood()


tap.main()
