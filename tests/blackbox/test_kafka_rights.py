# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 11 and 12: sources and relays of a Kafka that asks who
somebody is and what he may.  Each right that is missing is told by its name,
once, until it is given.  Skipped where there is no Kafka (contrib/check
--kafka)."""

import itertools
import signal

from once import tap
from once.admin import Admin
from once.gateway import write
from once.kafka import START_S
from once.kafka_guarded import GuardedKafka
from once.kafka_topic import Topic
from once.relays import TopicLedger, topic_relay
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

NUMBERS = itertools.count()


class Guarded:
    """A gateway that comes in as a user who may do nothing at first."""

    def __init__(self, bench, reply=None):
        self.bench, self.kafka = bench, bench.guarded_kafka
        self.topic = Topic(self.kafka, f"guarded-{next(NUMBERS)}")
        self.upstream = bench.upstream(reply)
        self.config = bench.config(self.upstream, instance="one",
                                   admin={"listen": "127.0.0.1:0"})
        self.seen = 0

    def source(self, **members):
        self.topic.source(self.config, **members)
        self.login()
        return self

    def login(self, **how):
        broker = self.config["brokers"]["events"]
        broker["kafka"] = self.kafka.logins
        broker["settings"].update(GuardedKafka.settings_of(**how))

    def serve(self):
        self.gateway = self.bench.serve(self.config)
        self.admin = Admin(self.gateway)
        return self.gateway

    def wait(self, event, *words, **members):
        """The next line of that event with these words in its error."""
        def found():
            lines = self.gateway.events[self.seen:]
            return [(number, line) for number, line in enumerate(lines)
                    if line["event"] == event and
                    all(w in line.get("error", "") for w in words) and
                    members.items() <= line.items()]
        self.gateway.wait_until(found, f"{event} with {words} {members}",
                                START_S)
        number, line = found()[0]
        self.seen += number + 1
        return line

    def shown(self, what="sources"):
        found, = self.admin.get(f"/{what}")[what]
        return found

    def wait_well(self, what="sources"):
        eventually(lambda: "error" not in self.shown(what),
                   "no error is shown", START_S)

    def may_read(self):
        self.kafka.allow("topic", self.topic.name, "Read")
        self.kafka.allow("group", self.topic.group, "Read")

    def may_put(self, topic):
        self.kafka.allow("transactional-id", self.topic.transactional_id(),
                         "Write")
        self.kafka.allow("topic", topic, "Write")

    def never_down(self):
        equal(self.gateway.find_log("source_broker_down"), [])


@test
def a_partition_that_was_added_is_read_whole_once_it_may_be(bench):
    """From its beginning, although its source began with the latest."""
    g = Guarded(bench).source(start="latest")
    g.may_read()
    gateway = g.serve()
    g.wait("source_partitions")
    eventually(lambda: g.kafka.committed(g.topic.group, g.topic.name),
               "where it began is known", START_S)
    gateway.stop()
    g.kafka.wait_members(g.topic.group, 0)
    g.kafka.forbid("topic", g.topic.name)
    g.kafka.allow("topic", g.topic.name, "Describe")
    g.kafka.more_partitions(g.topic.name, 2)
    keys = [g.topic.add(b"{}", f"k{n}", partition=1) and f"k{n}"
            for n in range(5)]
    g.seen = 0
    g.serve()
    g.wait("source_refused", "Read")
    g.kafka.allow("topic", g.topic.name, "Read")
    g.gateway.wait_until(
        lambda: [g.upstream.count(key=key) for key in keys] == [1] * 5,
        "all of it is executed", START_S)


# --- who it is ---------------------------------------------------------------

@test
def a_wrong_password_is_one_event_and_a_right_one_the_cure(bench):
    g = Guarded(bench).source()
    g.may_read()
    g.login(password="wrong")
    gateway = g.serve()
    line = g.wait("source_broker_down", g.kafka.logins[0])
    assert "Invalid username or password" in line["error"], line
    g.wait("source_stands", g.kafka.logins[0], reason="broker")
    assert "Invalid username" in g.shown()["error"], g.shown()
    equal(gateway.find_log("source_refused"), [])
    equal(len(gateway.find_log("source_broker_down")), 1)
    g.login()
    write(gateway.file, g.config)
    gateway.signal(signal.SIGHUP)
    g.topic.add(b"{}", "k")
    g.wait("message", outcome="executed")
    shown = g.shown()
    equal((shown["standing"], shown["broker_up"]), (None, True))


@test
def a_topic_is_read_over_tls_with_the_authority_that_is_given(bench):
    g = Guarded(bench).source()
    g.may_read()
    broker = g.config["brokers"]["events"]
    broker["kafka"] = g.kafka.secure_logins
    broker["settings"].update({
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": g.kafka.authority.file})
    g.serve()
    g.topic.add(b"{}", "k")
    g.wait("message", outcome="executed")


@test
def a_certificate_of_another_authority_is_told(bench):
    g = Guarded(bench).source()
    broker = g.config["brokers"]["events"]
    broker["kafka"] = g.kafka.secure_logins
    broker["settings"]["security.protocol"] = "SASL_SSL"
    g.serve()
    line = g.wait("source_broker_down", g.kafka.secure_logins[0])
    assert "certificate" in line["error"], line
    equal(g.gateway.find_log("source_refused"), [])


# --- what it may -------------------------------------------------------------

@test
def rights_to_read_that_are_missing_are_told_until_they_are_given(bench):
    g = Guarded(bench).source()
    name, group = f'"{g.topic.name}"', f'"{g.topic.group}"'
    gateway = g.serve()
    g.wait("source_stands", "right", reason="broker")
    gateway.wait_until(lambda: len(gateway.find_log("source_refused")) == 2,
                       "group and topic are told", START_S)
    told = [line["error"] for line in gateway.find_log("source_refused")]
    equal(sorted(told), sorted([
        f"no right to read as the group {group}: Read",
        f"no right to read the topic {name}: Read"]))
    g.kafka.allow("topic", g.topic.name, "Read")
    g.wait("source_accepted", name)
    assert group in g.shown()["error"], g.shown()
    g.kafka.allow("group", g.topic.group, "Read")
    g.wait("source_goes", reason="broker")
    g.topic.add(b"{}", "k")
    g.wait("message", outcome="executed")
    g.wait_well()
    g.never_down()
    equal(len(gateway.find_log("source_stands")), 1)
    equal(len(gateway.find_log("source_refused")), 2)


@test
def rights_to_read_that_are_taken_away_are_told(bench):
    g = Guarded(bench).source()
    g.may_read()
    g.may_put(g.topic.dead)
    g.serve()
    g.topic.add(b"{}", "a")
    g.wait("message", outcome="executed")
    g.wait_well()
    g.kafka.forbid("topic", g.topic.name)
    g.wait("source_stands", f'"{g.topic.name}"', "Read")
    g.kafka.allow("topic", g.topic.name, "Read")
    g.wait("source_goes")
    g.topic.add(b"{}", "b")
    g.wait("message", outcome="executed")
    g.kafka.forbid("group", g.topic.group)
    g.wait("source_stands", f'"{g.topic.group}": Read')
    g.kafka.allow("group", g.topic.group, "Read")
    g.wait("source_goes")
    g.topic.add(b"{}", "c")
    g.wait("message", outcome="executed")
    g.wait_well()
    g.never_down()


@test
def a_right_to_describe_alone_is_not_enough_to_read(bench):
    g = Guarded(bench).source()
    g.kafka.allow("group", g.topic.group, "Read")
    g.kafka.allow("topic", g.topic.name, "Describe")
    g.serve()
    g.wait("source_stands", f'"{g.topic.name}": Read', reason="broker")
    g.kafka.allow("topic", g.topic.name, "Read")
    g.wait("source_goes")
    g.topic.add(b"{}", "k")
    g.wait("message", outcome="executed")
    g.never_down()


def puts(g, kind, topic):
    """What is put there needs rights, one after the other; each executed
    message waits for them."""
    g.may_read()
    gateway = g.serve()
    g.topic.add(b"{}", "k")
    name = g.topic.transactional_id()
    line = g.wait("source_stands", f'transactional id "{name}"', "Write")
    equal(line["reason"], kind)
    assert name in g.shown()["error"], g.shown()
    g.kafka.allow("transactional-id", name, "Write")

    def names_topic():
        return f'write to the topic "{topic}"' in g.shown()["error"]
    eventually(names_topic, "the topic is named", START_S)
    g.kafka.allow("topic", topic, "Write")
    g.wait("message")
    g.kafka.allow("topic", g.topic.dead, "Write", "Read")
    g.wait_well()
    g.never_down()
    equal(len(gateway.find_log("source_stands")), 1)
    equal(len(g.upstream.requests), 1)
    equal(len(g.kafka.consume(topic)), 1)


@test
def rights_to_put_results_that_are_missing_are_told(bench):
    g = Guarded(bench)
    g.source(results={"topic": g.topic.results})
    puts(g, "results", g.topic.results)


@test
def rights_to_put_dead_letters_that_are_missing_are_told(bench):
    g = Guarded(bench, answer(422)).source()
    puts(g, "dead-letters", g.topic.dead)


@each([(f"the {kind} of {what}", answer(status), what, kind)
       for what, kind, status in (("results", "transactional-id", 201),
                                  ("results", "topic", 201),
                                  ("dead-letters", "transactional-id", 422),
                                  ("dead-letters", "topic", 422))])
def a_right_to_put_that_is_taken_away_is_named(bench, reply, what, kind):
    g = Guarded(bench, reply)
    places = {"results": g.topic.results, "dead-letters": g.topic.dead}
    g.source(results={"topic": g.topic.results})
    g.may_read()
    for place in places.values():
        g.may_put(place)
    g.serve()
    g.topic.add(b"{}", "a")
    g.wait("message")
    name = {"topic": places[what],
            "transactional-id": g.topic.transactional_id()}[kind]
    g.kafka.forbid(kind, name)
    g.topic.add(b"{}", "b")
    line = g.wait("source_stands", "no right to")
    assert f'{kind.replace("-", " ")} "{name}": ' in line["error"], line
    equal(line["reason"], what)
    g.kafka.allow(kind, name, "Write")
    g.wait("message")
    g.never_down()
    equal(len(g.upstream.requests), 2)


# --- relays ------------------------------------------------------------------

@test
def rights_that_a_relay_misses_are_told_until_they_are_given(bench):
    g = Guarded(bench)
    ledger = TopicLedger(g.kafka, bench.own_redis(), 1)
    g.config["store"]["shards"] = 1
    g.config["store"]["redis"] = ledger.redis.url
    topic_relay(g.config, g.kafka, ledger.place)
    g.login()
    gateway = g.serve()
    equal(gateway.ask("k").status, 201)
    line = g.wait("relay_down", "no right to use the transactional id")
    name = line["error"].split('"')[1]
    g.kafka.allow("transactional-id", name, "Write")
    g.wait("relay_down", f'topic "{ledger.place}"', "Write")
    g.kafka.allow("topic", ledger.place, "Write", "Read")
    g.wait("relay_down", f'group "{name}"', "Read")
    g.kafka.allow("group", name, "Read")
    g.wait("relay_up")
    ledger.wait_whole()
    g.wait_well("relays")
    equal(g.shown("relays")["lag"], 0)


tap.main()
