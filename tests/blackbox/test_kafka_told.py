# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 11 and 13: what operators are told of a topic's source
while something is wrong: once, by its name, and until it is well again.
Skipped where there is no Kafka (contrib/check --all)."""

import itertools
import os

from once import tap
from once.admin import Admin
from once.gateway import command
from once.kafka import START_S
from once.kafka_topic import Topic
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

NUMBERS = itertools.count()
# As it is by default: no test is to wait for librdkafka's own look.
RARELY = {"topic.metadata.refresh.interval.ms": "300000"}


class Told:
    """A topic and the gateway that reads it."""

    def __init__(self, bench, kafka=None, reply=None, **members):
        self.bench, self.kafka = bench, kafka or bench.kafka
        self.topic = Topic(self.kafka, f"told-{next(NUMBERS)}")
        self.upstream = bench.upstream(reply)
        self.members = members
        admin = os.path.join(bench.folder(), "admin")
        self.config = self.topic.source(
            bench.config(self.upstream, admin={"listen": f"unix:{admin}"}),
            settings=RARELY, **members)

    @property
    def source(self):
        return self.config["sources"]["charges"]

    def serve(self):
        self.gateway = self.bench.serve(self.config)
        self.admin = Admin(self.gateway)
        return self.gateway

    def shown(self):
        found, = self.admin.get("/sources")["sources"]
        return found

    def wait(self, event, word, **members):
        """The line of that event whose error has that word."""
        def found():
            return [line for line in self.gateway.find_log(event, **members)
                    if word in line.get("error", "")]
        self.gateway.wait_until(found, f"{event} with {word}", START_S)
        return found()[0]

    def once(self, event, word=""):
        """How often it was said."""
        found = [line for line in self.gateway.find_log(event)
                 if word in line.get("error", "")]
        equal(len(found), 1, found)

    def never_down(self):
        equal(self.gateway.find_log("source_broker_down"), [])

    def wait_well(self):
        """Nothing is said of it any more, wherever operators look."""
        eventually(lambda: "error" not in self.shown(), "no error is shown",
                   START_S)
        shown = self.shown()
        equal((shown["standing"], shown["broker_up"]), (None, True))
        said = self.told()
        assert "charges" in said and "no topic" not in said, said

    def told(self):
        """By the command."""
        done = command("messages", "-c", self.gateway.file, "sources")
        equal(done.returncode, 0, done.stderr)
        return done.stdout


# --- what is read ------------------------------------------------------------

@test
def a_topic_that_is_missing_is_told_once_and_read_when_it_is_made(bench):
    t = Told(bench)
    t.source["topics"] = ["not.there"]
    t.source["dead_letters"] = {"topic": t.topic.dead}
    t.serve()
    line = t.wait("source_stands", "not.there")
    equal(line["reason"], "broker")
    shown = t.shown()
    equal((shown["standing"], shown["broker_up"]), ("broker", True))
    assert 'no topic "not.there"' in shown["error"], shown
    assert 'no topic "not.there"' in t.told(), t.told()
    t.kafka.topic("not.there")
    t.gateway.wait_for_log("source_goes", timeout=START_S)
    t.kafka.produce("not.there", b"{}", headers=[("idempotency-key", b"k")])
    t.gateway.wait_for_log("message", outcome="executed", timeout=START_S)
    t.wait_well()
    for event in ("source_stands", "source_goes", "source_refused",
                  "source_accepted"):
        t.once(event)
    t.never_down()


@test
def a_topic_that_is_deleted_is_told_and_read_when_it_is_made_again(bench):
    t = Told(bench)
    t.serve()
    t.topic.add(b"{}", "before")
    t.gateway.wait_for_log("message", timeout=START_S)
    t.kafka.delete_topic(t.topic.name)
    line = t.wait("source_stands", f'"{t.topic.name}"')
    equal(line["reason"], "broker")
    t.kafka.topic(t.topic.name)
    t.gateway.wait_for_log("source_goes", timeout=START_S)
    t.topic.add(b"{}", "after")
    t.gateway.wait_until(lambda: len(t.gateway.find_log("message")) == 2,
                         "it is read", START_S)
    t.wait_well()
    t.once("source_stands")
    t.never_down()


@test
def one_of_several_topics_that_is_missing_keeps_no_other_waiting(bench):
    t = Told(bench)
    t.source["topics"].append("other.missing")
    t.source["dead_letters"] = {"topic": t.topic.dead}
    t.serve()
    t.wait("source_refused", '"other.missing"')
    t.topic.add(b"{}", "k")
    t.gateway.wait_for_log("message", outcome="executed", timeout=START_S)
    shown = t.shown()
    equal(shown["standing"], None)
    assert "other.missing" in shown["error"], shown
    t.kafka.topic("other.missing")
    t.wait("source_accepted", '"other.missing"')
    t.wait_well()
    equal(t.gateway.find_log("source_stands"), [])


# --- what is put -------------------------------------------------------------

def put(bench, kind):
    """Something of that kind was put; and its topic."""
    dead = kind == "dead-letters"
    t = Told(bench, reply=answer(422 if dead else 201))
    if not dead:
        t.source["results"] = {"topic": t.topic.results}
    t.serve()
    t.topic.add(b"{}", "before")
    t.gateway.wait_for_log("message", timeout=START_S)
    return t, t.topic.dead if dead else t.topic.results


KINDS = [(kind, kind) for kind in ("results", "dead-letters")]


@each(KINDS)
def what_cannot_be_put_because_its_topic_is_deleted_is_told_by_its_name(
        bench, kind):
    t, name = put(bench, kind)
    t.kafka.delete_topic(name)
    t.topic.add(b"{}", "after")
    line = t.wait("source_stands", f'"{name}"')
    equal(line["reason"], kind)
    assert name in t.shown()["error"], t.shown()
    t.kafka.topic(name)
    t.gateway.wait_until(lambda: len(t.gateway.find_log("message")) == 2,
                         "it is put", START_S)
    t.wait_well()
    t.once("source_stands")
    t.once("source_goes")
    t.never_down()
    equal(len(t.upstream.requests), 2)


# --- the brokers -------------------------------------------------------------

@test
def what_was_last_said_of_a_connection_is_told(bench):
    kafka = bench.own_kafka()
    t = Told(bench, kafka)
    t.serve()
    t.gateway.wait_for_log("source_partitions", partitions=1, timeout=START_S)
    kafka.kill()
    t.wait("source_broker_down", kafka.addresses[0])
    eventually(lambda: "Connection refused" in t.shown().get("error", ""),
               "why is shown", START_S)
    kafka.start()
    t.gateway.wait_for_log("source_goes", timeout=START_S)
    t.wait_well()
    t.once("source_broker_down")
    t.once("source_stands")


tap.main()
