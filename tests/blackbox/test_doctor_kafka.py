# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: what `onceproxy doctor` finds of topics and of those who
have them: on a real Kafka, and on one that is only pretended."""

import itertools
import json
import os

from once import tap
from once.gateway import command, write
from once.kafka import START_S
from once.kafka_topic import Topic, need_reader
from once.relays import topic_relay
from once.tap import equal, test
from once.wait import eventually

NUMBERS = itertools.count()


class Patient:
    """A source of topics, and what doctor says of it."""

    def __init__(self, bench, kafka, partitions=1, **members):
        need_reader()
        self.bench, self.kafka = bench, kafka
        self.name = f"patient-{next(NUMBERS)}"
        self.config = bench.config(bench.upstream(), instance="one")
        if partitions:
            self.topic = Topic(kafka, self.name, partitions)
            self.topic.source(self.config, **members)
        else:
            source = self.config.setdefault("sources", {})
            self.config["brokers"] = {"events": {"kafka": kafka.addresses}}
            source["charges"] = {
                "broker": "events", "topics": [self.name],
                "request": {"path": "/v1/charges",
                            "headers": {"Authorization": "Bearer t"}},
                **members}
        self.file = os.path.join(bench.folder(), "onceproxy.json")

    @property
    def source(self):
        return self.config["sources"]["charges"]

    def look(self):
        """The findings about brokers, sources and relays, by name; the words
        and cures of several with one name are a line each."""
        write(self.file, self.config)
        said = command("doctor", "-c", self.file, "--json")
        equal(said.stderr, "")
        self.status = said.returncode
        found = {}
        for f in json.loads(said.stdout)["findings"]:
            if f["name"].startswith(("broker_", "source_", "relay_")):
                first = found.setdefault(f["name"], f)
                if first is not f:
                    first["words"] += "\n" + f["words"]
                    first["cure"] += "\n" + f["cure"]
        return found

    def ill(self):
        return sorted(name for name, f in self.look().items()
                      if f["level"] in ("fail", "warn"))

    def finds(self, name, level):
        found = self.look()[name]
        equal(found["level"], level, found)
        assert found["cure"] and "{}" not in str(found), found
        return found["words"]


@test
def a_topic_that_is_read_is_well(bench):
    kafka = bench.own_kafka(3)
    patient = Patient(bench, kafka)
    gateway = bench.serve(patient.config)
    patient.topic.add(b"{}", "k")
    gateway.wait_for_log("message", outcome="executed", timeout=START_S)
    patient.topic.wait_finished()
    equal(patient.ill(), [])
    equal(patient.look()["source_waits"]["words"],
          "charges: 0 messages are unread")


@test
def messages_that_nobody_reads_are_told(bench):
    patient = Patient(bench, bench.kafka, partitions=2)
    patient.topic.add(b"{}", "j")
    patient.topic.add(b"{}", "k", partition=1)
    patient.topic.add(b"{}", "m", partition=1)
    words = patient.finds("source_waits", "warn")
    assert f": 3, and nobody is in the group {patient.topic.group}" in words, \
        words
    patient.kafka.commit(patient.topic.group, patient.name, {
        n: end for n, (_, end) in patient.kafka.ends(patient.name).items()})
    equal(patient.look()["source_waits"]["words"],
          "charges: 0 messages are unread")


@test
def topics_that_are_not_there_are_told(bench):
    patient = Patient(bench, bench.kafka, partitions=0,
                      results={"topic": "no.results"})
    assert f"there is no topic {patient.name}" in patient.finds(
        "source_missing", "fail")
    words = patient.finds("source_places", "fail").splitlines()
    for line, name in zip(words, ("no.results", f"{patient.name}.dead"),
                          strict=True):
        assert line.endswith(f": {name}"), words
    for name in (patient.name, "no.results", f"{patient.name}.dead"):
        patient.kafka.topic(name)
    equal([n for n in patient.ill() if n != "source_copies"], [])


@test
def what_is_lost_with_one_broker_is_told(bench):
    kafka = bench.own_kafka(3)
    patient = Patient(bench, kafka)
    patient.source["dead_letters"] = {
        "topic": kafka.topic("single", nodes=[1])}
    eventually(lambda: "single has one replica" in
               patient.look()["source_copies"]["words"],
               "the nodes know the new topic")
    patient.finds("source_copies", "warn")
    patient.source["dead_letters"] = {
        "topic": kafka.topic("unsure", min_insync_replicas=1)}
    eventually(lambda: "unsure has min.insync.replicas 1" in
               patient.look()["source_copies"]["words"],
               "the nodes know the new topic")
    patient.source["dead_letters"] = {
        "topic": kafka.topic("sure", min_insync_replicas=2)}
    eventually(lambda: patient.ill() == [], "nothing is found")


@test
def offsets_that_are_kept_for_too_short_a_time_are_told(bench):
    kafka = bench.own_kafka(offsets_retention_minutes="1440")
    patient = Patient(bench, kafka, max_age="3d")
    words = patient.finds("source_offsets", "warn")
    assert "offsets.retention.minutes is 1440" in words, words
    assert "4320" in words, words
    patient.source["max_age"] = "12h"
    equal(patient.look()["source_offsets"]["level"], "ok")


@test
def a_broker_that_is_away_is_told(bench):
    kafka = bench.own_kafka()
    patient = Patient(bench, kafka)
    kafka.kill()
    found = patient.look()
    equal((found["broker_unreachable"]["level"],
           found["broker_unreachable"]["where"],
           found["source_copies"]["level"]),
          ("fail", "/brokers/events", "skip"))
    assert "refused" in found["broker_unreachable"]["words"], found


@test
def what_is_pretended_can_be_looked_at_too(bench):
    kafka = bench.mock_kafka()
    patient = Patient(bench, kafka, partitions=0)
    kafka.call("topic_create", patient.name, 2, 1)
    found = patient.look()
    equal([n for n, f in found.items() if f["level"] == "fail"], [])
    equal(found["source_waits"]["words"], "charges: 0 messages are unread")


def of_guarded(bench):
    """A Kafka that gives rights, and a patient who has none."""
    kafka = bench.guarded_kafka
    patient = Patient(bench, kafka)
    broker = patient.config["brokers"]["events"]
    broker["kafka"] = kafka.logins
    broker["settings"].update(kafka.settings_of())
    return kafka, patient


@test
def rights_that_are_missing_are_told_and_how_they_are_given(bench):
    kafka, patient = of_guarded(bench)
    topic = patient.topic
    words = patient.finds("source_rights", "fail")
    for missing in (f"read the topic {topic.name}",
                    f"write to the topic {topic.dead}"):
        assert missing in words, words
    equal(patient.status, 1)
    kafka.allow("topic", topic.name, "Read")
    words = patient.finds("source_rights", "fail")
    assert f"read as the group {topic.group}" in words, words
    kafka.allow("group", topic.group, "Read")
    kafka.allow("topic", topic.dead, "Describe")
    words = patient.finds("source_rights", "fail")
    assert f"write to the topic {topic.dead}" in words, words
    kafka.allow("topic", topic.dead, "Write")
    kafka.allow("transactional-id", topic.transactional_id(), "Write")
    eventually(lambda: patient.finds("source_rights", "fail").endswith(
        f": read the topic {topic.dead}"), "they are read, too", START_S)
    kafka.allow("topic", topic.dead, "Read")
    eventually(lambda: patient.look()["source_rights"]["level"] == "ok",
               "nothing is missing", START_S)
    equal(kafka.consume(topic.dead, committed=False), [])


@test
def a_group_is_given_by_a_command_that_kafka_takes(bench):
    """It refuses all of one that has a Write of a group."""
    kafka, patient = of_guarded(bench)
    topic = patient.topic
    kafka.allow("topic", topic.name, "Read")
    kafka.allow("topic", topic.dead, "Write", "Read")
    kafka.allow("transactional-id", topic.transactional_id(), "Write")
    words = f": read as the group {topic.group}"
    eventually(lambda: patient.finds("source_rights", "fail").endswith(words),
               words, START_S)
    cure = patient.look()["source_rights"]["cure"]
    assert cure.endswith("--operation Read --operation Describe "
                         f"--group {topic.group}"), cure


@test
def a_right_to_describe_a_topic_alone_is_told(bench):
    kafka, patient = of_guarded(bench)
    topic = patient.topic
    kafka.allow("topic", topic.name, "Describe")
    kafka.allow("topic", topic.dead, "Write", "Read")
    kafka.allow("group", topic.group, "Read")
    kafka.allow("transactional-id", topic.transactional_id(), "Write")
    words = patient.finds("source_rights", "fail")
    assert words.endswith(f": read the topic {topic.name}"), words
    cure = patient.look()["source_rights"]["cure"]
    assert f"--topic {topic.name}" in cure, cure


@test
def names_that_a_source_may_not_use_are_told(bench):
    kafka = bench.guarded_kafka
    patient = Patient(bench, kafka)
    broker = patient.config["brokers"]["events"]
    broker["kafka"] = kafka.logins
    broker["settings"].update(kafka.settings_of())
    topic, name = patient.topic, patient.topic.transactional_id()
    kafka.allow("topic", topic.name, "Read")
    kafka.allow("topic", topic.dead, "Write", "Read")
    kafka.allow("group", topic.group, "Describe")
    kafka.allow("transactional-id", name, "Describe")

    def missing():
        found = patient.look()["source_rights"]
        return found["words"] if found["level"] == "fail" else None
    both = [f"read as the group {topic.group}",
            f"use the transactional id {name}"]
    eventually(lambda: missing() and [line.split(": ")[1] for line in
                                      missing().splitlines()] == both,
               both, START_S)
    cures = patient.look()["source_rights"]["cure"].splitlines()
    assert f"--group {topic.group}" in cures[0], cures
    assert "--transactional-id onceproxy-charges-" in cures[1], cures
    kafka.allow("group", topic.group, "Read")
    eventually(lambda: missing() and "group" not in missing(),
               "the group may be read as", START_S)
    assert missing().endswith(f": use the transactional id {name}")
    cure = patient.look()["source_rights"]["cure"]
    assert "prefixed --transactional-id onceproxy-charges-" in cure, cure
    kafka.allow("transactional-id", name, "Write")
    eventually(lambda: missing() is None, "nothing is missing", START_S)


@test
def who_uses_a_name_is_not_disturbed_by_the_question(bench):
    """Neither a source nor a relay: no transaction of theirs ends."""
    patient = Patient(bench, bench.kafka)
    topic = patient.topic
    patient.source["results"] = {"topic": topic.results}
    patient.source["dead_letters"] = {"topic": topic.dead}
    place = bench.kafka.topic(f"{patient.name}.outcomes")
    settings = patient.config["brokers"]["events"]["settings"]
    topic_relay(patient.config, bench.kafka, place, settings=settings)
    gateway = bench.serve(patient.config)
    for number in range(3):
        topic.add(b"{}", f"k{number}")
        gateway.wait_until(
            lambda n=number: len(gateway.find_log("message")) > n,
            "it is acknowledged", START_S)
        eventually(lambda n=number: len(bench.kafka.consume(place)) ==
                   2 * (n + 1), "its events are there", START_S)
        equal([n for n in patient.ill() if n != "source_copies"], [])
    for event in ("source_stands", "source_broker_down", "relay_down"):
        equal(gateway.find_log(event), [])
    equal(len(gateway.find_log("relay_begins")), 1)
    equal(len(bench.kafka.consume(topic.results)), 3)


@test
def a_right_that_a_relay_lacks_is_told_and_nothing_is_written(bench):
    kafka = bench.guarded_kafka
    patient = Patient(bench, kafka)
    topic = kafka.topic(f"{patient.name}.outcomes")
    topic_relay(patient.config, kafka, topic, settings=kafka.settings_of())
    patient.config["brokers"]["events"]["kafka"] = kafka.logins
    kafka.allow("topic", topic, "Describe")
    words = eventually(
        lambda: [f["words"] for f in [patient.look()["relay_rights"]]
                 if f["level"] == "fail"], "it lacks a right", START_S)[0]
    assert f"write to the topic {topic}" in words, words
    assert f"--topic {topic}" in patient.look()["relay_rights"]["cure"]
    equal(patient.look()["relay_topic"]["level"], "ok")
    kafka.allow("topic", topic, "Write", "Read")
    gateway = bench.serve(patient.config)  # so that the store has an id
    gateway.wait_for_log("relay_down", timeout=START_S)
    gateway.stop()

    def missing():
        found = patient.look()["relay_rights"]
        return found["words"] if found["level"] == "fail" else None
    words = eventually(
        lambda: missing() if topic not in (missing() or topic) else None,
        "the topic is no trouble", START_S)
    name = words.split()[-1]
    assert name.startswith("onceproxy-relay-ledger-"), words
    equal([line.split(": ")[1] for line in words.splitlines()],
          [f"use the transactional id {name}", f"read as the group {name}"])
    cure = patient.look()["relay_rights"]["cure"]
    assert "prefixed --transactional-id onceproxy-relay-ledger-" in cure, cure
    kafka.allow("transactional-id", name, "Write")
    eventually(lambda: missing() and "transactional" not in missing(),
               "the id may be used", START_S)
    kafka.allow("group", name, "Read")
    eventually(lambda: missing() is None, "nothing is missing", START_S)
    equal(kafka.consume(topic, committed=False), [])


@test
def a_login_that_is_refused_is_told(bench):
    kafka = bench.guarded_kafka
    patient = Patient(bench, kafka)
    broker = patient.config["brokers"]["events"]
    broker["kafka"] = kafka.logins
    broker["settings"].update(kafka.settings_of(password="wrong"))
    words = patient.finds("broker_login", "fail")
    assert "Invalid username or password" in words, words
    equal(patient.status, 1)


@test
def topics_that_take_less_than_may_be_put_there_are_told(bench):
    patient = Patient(bench, bench.kafka)
    name = patient.name
    for kind in ("done", "dead"):
        bench.kafka.topic(f"{name}.{kind}.small", max_message_bytes=10000)
    patient.source["results"] = {"topic": f"{name}.done.small"}
    words = patient.finds("source_sizes", "warn")
    assert f"{name}.done.small is 10000" in words, words
    patient.source["results"] = {"topic": patient.topic.results}
    patient.source["dead_letters"] = {"topic": f"{name}.dead.small"}
    words = patient.finds("source_sizes", "warn")
    assert f"{name}.dead.small is 10000" in words, words
    assert "should be at least 16384" in words, words
    del patient.source["dead_letters"]
    equal(patient.look()["source_sizes"]["level"], "ok")


@test
def a_group_that_we_may_not_read_as_is_told(bench):
    kafka = bench.mock_kafka()
    patient = Patient(bench, kafka, partitions=0)
    kafka.call("topic_create", patient.name, 1, 1)
    kafka.fail("OffsetFetch", 30, 30, 30, 30)
    words = patient.finds("source_rights", "fail")
    assert "read as the group onceproxy" in words, words


tap.main()
