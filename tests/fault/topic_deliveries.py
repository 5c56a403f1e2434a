# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix in which the payment is a record of a topic, which a
Kafka has that all cells of a program use; their scenarios are those of
deliveries.py.  A record is kept in memory until it ends, so it is not read
again; what is put is read with Kafka's own tools."""

import itertools
import threading

from once.kafka import Kafka
from once.kafka_topic import Topic
from once.wait import eventually

from deliveries import (Elsewhere, Forgotten, Held, InOrder, Message,
                        MessageCell, NotStored, Parked, Refused, Released,
                        Standing, Unsent)
from deliveries import REACHED as ALL
from faults import SHORT, Fault
from matrix import AMOUNT, torture

shared = []  # the Kafka
making = threading.Lock()
numbers = itertools.count()


class NoTopic(Standing):
    """Results cannot be put: there is no topic for them."""

    members = {}

    def prepare(self, cell):
        cell.kafka.delete_topic(cell.topic.results)

    def heal(self, cell):
        cell.kafka.topic(cell.topic.results)


SCENARIOS = {Standing: NoTopic, **{s: s for s in (
    Elsewhere, Forgotten, Held, InOrder, Message, NotStored, Parked, Refused,
    Released, Unsent)}}
REACHED = {step: [SCENARIOS[scenario] for scenario in reached
                  if scenario in SCENARIOS] for step, reached in ALL.items()}


def kafka():
    with making:
        if not shared:
            shared.append(Kafka())
        return shared[0]


def end_kafka():
    while shared:
        shared.pop().stop()


class TopicCell(MessageCell):
    # Kafka's library may stop to read, and is made anew after two minutes.
    end_s = 180

    def _read(self):
        self.kafka = kafka()
        self.topic = Topic(self.kafka, f"cell-{next(numbers)}")
        # Of all that read one Kafka, nobody else has that name.
        self.config["instance"] = f"{self.topic.name}-one"
        self.results, self.dead = self.topic.results, self.topic.dead
        # So that it is soon known that there is no such topic.
        self.topic.source(self.config, settings={
            "topic.metadata.propagation.max.ms": "500"}, **{
            "results": {"topic": self.topic.results},
            "retry": {"first": "100ms", "most": "200ms", "attempts": 5},
            **self.scenario.members})

    def add(self, number):
        """The first has the key of the client's payments."""
        self.added += 1
        self.topic.add(AMOUNT, "k" if number == 0 else f"k{number}")

    def serve_another(self):
        """Of another name, since two of one throw each other out."""
        config, self.config = self.config, {
            **self.config, "instance": f"{self.topic.name}-two"}
        try:
            return super().serve_another()
        finally:
            self.config = config

    def pending(self):
        found = self.kafka.committed(self.topic.group, self.topic.name)
        return list(range(found.get(0, (0, ""))[0], self.added))

    def put_into(self, place):
        names = "onceproxy-position", "onceproxy-done"
        found = [{name: record.header(name) for name in names}
                 for record in self.kafka.consume(place, True)]
        return [{name: value for name, value in headers.items()
                 if value is not None} for headers in found]


class ReaderFrozen(Fault):
    """For so long that another gateway has the partition, and all is done."""

    lease = SHORT
    freezes = True

    def strike(self, cell):
        cell.heal()
        cell.others.append(cell.serve_another())
        eventually(cell.is_through, "the other gateway is through",
                   cell.end_s)


def torture_topics(title, *faults):
    torture(title, *faults, machines=("delivery",), reached=REACHED,
            cell=TopicCell)
