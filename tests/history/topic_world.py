# SPDX-License-Identifier: BSD-2-Clause
"""The world of a history whose messages are records of a topic, in a Kafka of
one node, or of three in the long tier: what happens to its nodes, to the group
and to the log, and what its topics have in the end.

A node is killed and comes back with all that it has acknowledged, and there is
never more than one away: so nothing is lost but what was deleted here."""

import json
import time

from once import tier
from once.deliveries import Dead, Entry, Result
from once.kafka import confluent_kafka
from once.kafka_topic import Topic
from once.kafka_wire import KafkaError, Wire
from once.wait import PATIENCE, eventually

from flow import BACKLOG, body_of
from message_world import FAULTS, GENTLE, MessageWorld

PARTITIONS = 4
SESSION_S = 3  # of a member (SETTINGS of once/kafka_topic.py)
JOIN_S = 15  # a member that has nothing by then goes away again
TROUBLE = (OSError, AssertionError) + (
    (confluent_kafka.KafkaException,) if confluent_kafka else ())
BROKER = {"kill": 3, "freeze": 3, "member": 5, "reset": 3}
NODES = {**BROKER, "kill": 2, "leader": 3, "coordinator": 3}


class TopicWorld(MessageWorld):
    # Two of one name would throw each other out of the group.
    INSTANCES = ("one", "two", "three", "four")

    def choose_faults(self):
        broker = NODES if self.node_count > 1 else BROKER
        return self.options.choice((
            {**FAULTS, "broker": broker}, {**FAULTS, "broker": broker},
            # What leaves no doubt about how many messages were lost.
            {**GENTLE, "broker": {"freeze": 3, "member": 3, "trim": 4}}))

    @property
    def node_count(self):
        return 3 if tier.LONG else 1

    def make_broker(self):
        self.broker = self.bench.own_kafka(self.node_count)
        self.topic = Topic(self.broker, "charges", PARTITIONS)
        self.written = {}  # positions by (partition, offset)
        self.order = self.options.choice((["/account"], "key"))
        self.told.unmarked = True
        self.told.tells_again = True  # where partitions move soon after it

    def add_source(self, config, members):
        if self.flow.ordered:
            members["order_by"] = self.order
        self.topic.source(
            config, results={"topic": self.topic.results}, **members)

    def producers(self):
        self.producer = Producer(self)
        return [self.producer.run]

    def freezing_s(self, random):
        """At times for longer than its session."""
        return random.choice((0, 0, SESSION_S)) + random.uniform(0.1, 1.5)

    # --- faults: the nodes -------------------------------------------------

    def kill_node(self, node, random):
        node.kill()
        self.over.wait(random.choice((0, random.uniform(0, 3))))
        node.start()
        eventually(self.has_leaders, "each partition has its leader",
                   3 * PATIENCE)

    def has_leaders(self):
        """And all nodes again, so that the next one may go."""
        try:
            described = self.broker.described(self.topic.name)
        except TROUBLE:
            return False
        return len(described) == PARTITIONS and all(
            p.leader > 0 and len(p.isrs) == self.node_count
            for p in described.values())

    def broker_kill(self, random):
        self.kill_node(random.choice(self.broker.nodes), random)

    def broker_leader(self, random):
        partition = random.randrange(PARTITIONS)
        self.kill_node(self.broker.leader(self.topic.name, partition), random)

    def broker_coordinator(self, random):
        self.kill_node(self.broker.coordinator(self.topic.group), random)

    def broker_freeze(self, random):
        node = random.choice(self.broker.nodes)
        node.freeze()
        self.over.wait(random.choice((0.1, 1, 5)) * random.uniform(0.5, 1))
        node.thaw()

    # --- faults: the group and the log -------------------------------------

    def join(self, random, act):
        """Somebody else joins the group, reads nothing, does act(with what it
        was given) and leaves."""
        given = []
        member = confluent_kafka.Consumer(self.broker.settings(
            group_id=self.topic.group, enable_auto_commit=False,
            enable_auto_offset_store=False, session_timeout_ms=3000,
            heartbeat_interval_ms=300, auto_offset_reset="earliest",
            partition_assignment_strategy="range", client_id="member"))
        try:
            member.subscribe(
                [self.topic.name],
                on_assign=lambda consumer, list_: (
                    consumer.assign([]), given.append(list_)))
            end = time.monotonic() + JOIN_S
            while not given and time.monotonic() < end and \
                    not self.over.is_set():
                member.poll(0.1)
            if given:
                act(member, given[-1])
                self.over.wait(random.choice((0, random.uniform(0, 2))))
        except confluent_kafka.KafkaException:
            pass  # it was thrown out again
        finally:
            member.close()

    def broker_member(self, random):
        """Partitions move, twice."""
        self.join(random, lambda member, given: None)

    def broker_reset(self, random):
        """Somebody sets what the group has committed, of all or of some
        partitions, back to the beginning, or to anywhere before."""
        def commit(member, given):
            with self.lock:
                self.told.resets += 1
            share = random.choice((0, 0, random.random()))
            ends = self.topic.kafka.committed(
                self.topic.group, self.topic.name)
            member.commit(asynchronous=False, offsets=[
                confluent_kafka.TopicPartition(
                    self.topic.name, number, int(offset * share))
                for number, (offset, _) in ends.items()])
        self.join(random, commit)

    def broker_trim(self, random):
        """What is oldest of a partition, of which some was not read.  Where a
        group never stood nobody can tell what it has lost."""
        numbers = [n for n, offset in self.offsets().items() if offset >= 0]
        if not numbers:
            return
        number = random.choice(numbers)
        begin, end = self.topic.kafka.ends(self.topic.name)[number]
        offset = max(begin, end - random.choice((0, 3, 30)))
        gone = [r for r in self.records() if r.partition == number and
                r.offset < offset]
        with self.lock:
            for record in gone:
                position = position_of(self.topic.name, record)
                self.told.entries[position] = entry_of(record.value)
                self.told.gone.add(position)
                self.told.trimmed.add(position)
        self.topic.kafka.delete_before(self.topic.name, number, offset)

    # --- what is there -----------------------------------------------------

    def records(self):
        return self.broker.consume(self.topic.name)

    def offsets(self):
        """By partition, what is committed now; raises KafkaError where nobody
        can tell."""
        for node in self.broker.nodes:
            try:
                with Wire("127.0.0.1", node.port) as wire:
                    return {n: offset for n, (offset, _) in wire.committed(
                        self.topic.group, self.topic.name,
                        range(PARTITIONS)).items()}
            except KafkaError:
                continue  # another node is the coordinator
        raise KafkaError("no coordinator", 15)

    def ended_positions(self):
        offsets = self.offsets()
        with self.lock:
            return [(position, None) for (number, offset), position in
                    self.written.items() if offset < offsets.get(number, -1)
                    and position not in self.told.gone]

    def entries_at(self, position):
        with self.lock:
            if position not in self.told.entries:
                self.told.entries.update(self.entries())
            return [e for p, e in self.told.entries.items() if p == position]

    def entries(self):
        """Those that are there now; none, where nobody can tell."""
        try:
            return {position_of(self.topic.name, r): entry_of(r.value)
                    for r in self.records()}
        except TROUBLE:
            return {}

    def unfinished(self):
        offsets = self.offsets()
        return sum(max(0, end - max(offsets.get(number, 0), begin, 0))
                   for number, (begin, end) in
                   self.broker.ends(self.topic.name).items())

    def heal_broker(self):
        eventually(self.has_leaders, "Kafka answers", 3 * PATIENCE)
        self.producer.end()

    def is_through(self):
        try:
            return self.unfinished() == 0
        except TROUBLE:
            return False

    def tell_broker(self):
        told, topic = self.told, self.topic
        offsets = self.broker.committed(topic.group, topic.name)
        for record in self.records():
            position = position_of(topic.name, record)
            told.entries[position] = entry_of(record.value)
            if record.offset >= offsets.get(record.partition, (0, ""))[0]:
                told.pending.add(position)
        told.results = [self.result_of(r)
                        for r in self.broker.consume(topic.results)]
        told.dead = [
            Dead(r.header("onceproxy-position"), r.header("onceproxy-reason"),
                 r.timestamp / 1000 - time.time() + self.now())
            for r in self.broker.consume(topic.dead)]

    def result_of(self, record):
        return Result(
            record.header("onceproxy-position"),
            self.ids.get(record.header("onceproxy-key-id")),
            json.loads(record.value)["execution"],
            int(record.header("onceproxy-status")),
            record.header("onceproxy-duplicate") is not None)


def position_at(topic, partition, offset, timestamp):
    return f"{topic}/{partition}/{offset}@{timestamp}"


def position_of(topic, record):
    return position_at(
        topic, record.partition, record.offset, record.timestamp)


def entry_of(value):
    body = json.loads(value)
    return Entry(body["key"], body["account"])


class Producer:
    """Adds what the supply has, some a second time; what an account has is in
    one partition.  A record may be there twice, when its node was away."""

    LOOKS = 10  # it looks how far the readers are after so many

    def __init__(self, world):
        self.world = world
        self.client = confluent_kafka.Producer(
            world.broker.settings(linger_ms=0, acks="all"))
        self.added = 0

    def run(self):
        world = self.world
        while not world.over.is_set():
            if self.added % self.LOOKS == 0 and self.is_behind():
                world.over.wait(0.1)
                continue
            random, entries = world.supply.take()
            for entry in entries:
                self.add(entry)
            if random.random() < 0.5:
                world.over.wait(random.uniform(0, 0.05))

    def add(self, entry):
        self.added += 1
        self.client.produce(
            self.world.topic.name, body_of(entry), key=entry.entity,
            headers=[("idempotency-key", entry.key.encode())],
            on_delivery=self.on_delivery)
        self.client.poll(0)

    def on_delivery(self, error, message):
        if error is None:
            where = message.partition(), message.offset()
            with self.world.lock:
                self.world.written[where] = position_at(
                    message.topic(), *where, message.timestamp()[1])

    def is_behind(self):
        """The readers have too much to do, or nobody can tell."""
        self.client.poll(0)
        try:
            offsets = self.world.offsets()
        except OSError:
            return True
        return self.added - sum(max(0, o) for o in offsets.values()) > BACKLOG

    def end(self):
        """Waits until nothing is under way any more."""
        left = self.client.flush(3 * PATIENCE)
        assert left == 0, f"{left} records were not written"
