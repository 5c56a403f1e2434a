# SPDX-License-Identifier: BSD-2-Clause
"""A real Apache Kafka of one node or of several, each of which is a controller
too, in folders of their own; contrib/check --all fetches the program.

What speaks to it is no part of onceproxy: Debian's python3-confluent-kafka for
records and topics (KafkaClient), and a few requests of our own for what that
does not show (once/kafka_wire.py)."""

import base64
import glob
import os
import random
import shutil
import signal
import threading
from typing import NamedTuple

from .folder import drop_folder, make_folder
from .kafka_wire import KafkaError, Wire
from .ports import free_ports
from .process import Process
from .skip import Skip
from .wait import PATIENCE, eventually

try:
    import confluent_kafka
    import confluent_kafka.admin
except ImportError:
    confluent_kafka = None

START_S = 3 * PATIENCE
LOOK_S = 3  # for one answer, which a node that has died does not give
SESSION_MS = 3000  # a node that was killed comes back no sooner
JAVA = ["-Xmx256m", "-Xms32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData", "-Xshare:auto"]
LOG4J = """\
log4j.rootLogger=INFO, out
log4j.logger.org.apache.kafka.common.config=WARN
log4j.logger.kafka.server.KafkaConfig=WARN
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c %m%n
"""
# What makes it small, quick to start, and quick to see that a peer is gone.
SETTINGS = {
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": 300,
    "broker.session.timeout.ms": SESSION_MS,
    "controlled.shutdown.enable": "false",
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "log.cleaner.dedupe.buffer.size": 2 << 20,
    "log.cleaner.io.buffer.size": 64 << 10,
    "log.index.size.max.bytes": 256 << 10,
    "log.segment.bytes": 16 << 20,
    "metadata.log.segment.bytes": 8 << 20,
    "num.io.threads": 2,
    "num.network.threads": 2,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.segment.bytes": 1 << 20,
    "replica.lag.time.max.ms": SESSION_MS,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.segment.bytes": 1 << 20,
}


class Record(NamedTuple):
    """headers: a list of (name, bytes); timestamp in ms."""
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list
    timestamp: int

    def header(self, name):
        """The value of the only header of that name as text, or None."""
        found = [value for known, value in self.headers if known == name]
        assert len(found) < 2, (name, self.headers)
        return found[0].decode() if found else None


def need_client():
    if confluent_kafka is None:
        raise Skip("there is no python3-confluent-kafka")


def jars():
    """The folder of the program's jars."""
    found = os.path.join(os.environ.get("top_builddir", "."),
                         "tests/kafka/jars")
    if not glob.glob(f"{found}/kafka_*.jar") or not shutil.which("java"):
        raise Skip("there is no Kafka: contrib/check --all fetches one")
    need_client()
    return found


class Node:
    """One of a Kafka; number: from 1."""

    def __init__(self, kafka, number, port, control):
        self.kafka, self.number = kafka, number
        self.port, self.control = port, control
        self.process = None
        self.folder = make_folder()
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data)
        self.write("log4j.properties", LOG4J)
        identity = base64.urlsafe_b64encode(random.randbytes(16))
        self.write("data/meta.properties", lines({
            "version": 1, "cluster.id": kafka.cluster, "node.id": number,
            "directory.id": identity.decode().rstrip("=")}))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w",
                  encoding="ascii") as out:
            out.write(text)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def launch(self):
        """Only begins to start it."""
        kafka = self.kafka
        count = len(kafka.nodes)
        most = min(count, 2)
        doors = ",".join(
            f"{name}://127.0.0.1:{port}" for name, port in
            {"PLAINTEXT": self.port, **kafka.doors}.items())
        self.write("properties", lines({
            **SETTINGS, "process.roles": "broker,controller",
            "node.id": self.number, "log.dirs": self.data,
            "controller.quorum.voters": ",".join(
                f"{n.number}@127.0.0.1:{n.control}" for n in kafka.nodes),
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{doors},CONTROLLER://127.0.0.1:{self.control}",
            "advertised.listeners": doors,
            "default.replication.factor": count,
            "min.insync.replicas": most,
            "offsets.topic.replication.factor": count,
            "transaction.state.log.replication.factor": count,
            "transaction.state.log.min.isr": most, **kafka.node_settings}))
        self.process = Process([
            *kafka.words, "java", *kafka.java,
            f"-Dlog4j.configuration=file:{self.folder}/log4j.properties",
            "-cp", f"{kafka.jars}/*", "kafka.Kafka",
            f"{self.folder}/properties"], cwd=self.folder)

    def wait_started(self):
        self.process.wait_for_line("Kafka Server started", START_S)

    def start(self):
        self.launch()
        self.wait_started()

    def freeze(self):
        self.process.freeze()

    def thaw(self):
        self.process.thaw()

    def kill(self):
        self.process.kill()

    def stop(self):
        """As an administrator does."""
        self.process.signal(signal.SIGTERM)
        self.process.wait(START_S)

    def restart(self):
        """Killed, and started on the same ports."""
        self.kill()
        self.start()


class KafkaClient:
    """Speaks to the nodes at addresses.  Calls may come from any thread."""

    def __init__(self, addresses):
        need_client()
        self.addresses = addresses
        self.lock = threading.Lock()
        self.made = {}  # the producer and the admin client

    def settings(self, **more):
        return {"bootstrap.servers": ",".join(self.addresses),
                "logger": QUIET, "topic.metadata.refresh.interval.ms": 1000,
                "reconnect.backoff.max.ms": 500, "socket.nagle.disable": True,
                **{name.replace("_", "."): value
                   for name, value in more.items()}}

    def made_once(self, name, make):
        with self.lock:
            if name not in self.made:
                self.made[name] = make()
            return self.made[name]

    @property
    def admin(self):
        return self.made_once("admin", lambda: (
            confluent_kafka.admin.AdminClient(self.settings())))

    @property
    def producer(self):
        return self.made_once("producer", lambda: (
            confluent_kafka.Producer(self.settings(
                linger_ms=0, acks="all",
                max_in_flight_requests_per_connection=1))))

    # --- topics ------------------------------------------------------------

    def topic(self, name, partitions=1, nodes=None, **settings):
        """Makes a topic, and waits until each partition has a leader; nodes:
        the numbers of those that have it, of which the first one leads."""
        where = {"replica_assignment": [nodes] * partitions} if nodes else {
            "replication_factor": -1}
        new = confluent_kafka.admin.NewTopic(
            name, partitions, **where, config={
                key.replace("_", "."): str(value)
                for key, value in settings.items()})
        self.admin.create_topics([new])[name].result(PATIENCE)
        self.wait_partitions(name, partitions)
        return name

    def wait_partitions(self, name, count):
        eventually(lambda: all(self.leader_number(name, partition)
                               for partition in range(count)),
                   f"{name} has {count} partitions with leaders")
        self.metadata(self.producer, name)  # it knows it now

    def configure_topic(self, name, **settings):
        """Only these settings are not the broker's own."""
        resource = confluent_kafka.admin.ConfigResource(
            "topic", name, set_config={
                key.replace("_", "."): str(value)
                for key, value in settings.items()})
        self.admin.alter_configs([resource])[resource].result(PATIENCE)

    def delete_topic(self, name):
        self.admin.delete_topics([name])[name].result(PATIENCE)
        eventually(lambda: self.partitions(name) == [],
                   f"{name} is deleted")

    def more_partitions(self, name, count):
        new = confluent_kafka.admin.NewPartitions(name, count)
        self.admin.create_partitions([new])[name].result(PATIENCE)
        self.wait_partitions(name, count)

    @staticmethod
    def metadata(client, name):
        """What a client is told of a topic.  A question to a node that dies
        before it answers waits for that node: it is a short one, asked
        again, of another."""
        def told():
            try:
                return client.list_topics(name, timeout=LOOK_S)
            except confluent_kafka.KafkaException as error:
                if error.args[0].code() not in (
                        confluent_kafka.KafkaError._TIMED_OUT,
                        confluent_kafka.KafkaError._TRANSPORT):
                    raise
                return None
        return eventually(told, f"a node tells of {name}")

    def described(self, name):
        """By number, the partitions of a topic."""
        return self.metadata(self.admin, name).topics[name].partitions

    def partitions(self, name):
        """The numbers of a topic's partitions; none: there is no topic."""
        return sorted(self.described(name))

    def leader_number(self, name, partition=0):
        """None: it has none now."""
        found = self.described(name).get(partition)
        if found is None or found.leader < 0:
            return None
        return found.leader

    def delete_before(self, name, partition, offset):
        """As retention does; -1: all that there is."""
        with self.wire_to_leader(name, partition) as wire:
            wire.delete_records(name, partition, offset)

    # --- records -----------------------------------------------------------

    def produce(self, topic, *values, **members):
        """One record after the other, with these members (key, headers,
        partition, timestamp) each; waits until they are written.  Their
        (partition, offset)."""
        records = [(value, members) for value in values]
        return self.produce_all(topic, records)

    def produce_all(self, topic, records):
        """records: (value, members) each.  A topic that was just made refuses a
        batch now and then, and the next one would overtake it: so the first one
        of each partition is there before others are sent."""
        done, wrong, seen = {}, [], set()

        def on_delivery(number):
            def told(error, message):
                if error is not None:
                    wrong.append(error)
                else:
                    done[number] = (message.partition(), message.offset())
            return told
        for number, (value, members) in enumerate(records):
            self.producer.produce(topic, value, **members,
                                  on_delivery=on_delivery(number))
            if members.get("partition") not in seen:
                seen.add(members.get("partition"))
                self.producer.flush(START_S)
        left = self.producer.flush(START_S)
        assert not wrong and left == 0, (wrong[:1], left)
        return [done[number] for number in sorted(done)]

    def consume(self, topic, committed=True):
        """All records of a topic that a reader sees now, in the order of
        their partitions; committed: those of transactions that are neither
        aborted nor open."""
        consumer = confluent_kafka.Consumer(self.settings(
            group_id="none", enable_auto_commit=False,
            enable_partition_eof=True, auto_offset_reset="earliest",
            fetch_wait_max_ms=10, allow_auto_create_topics=False,
            isolation_level="read_committed" if committed
            else "read_uncommitted"))
        try:
            numbers = self.partitions(topic)
            consumer.assign([confluent_kafka.TopicPartition(
                topic, n, confluent_kafka.OFFSET_BEGINNING)
                for n in numbers])
            return sorted(read_to_ends(consumer, set(numbers)))
        finally:
            consumer.close()

    def ends(self, topic):
        """By partition, the first offset that there is, and the next one."""
        looker = self.made_once("looker", lambda: (
            confluent_kafka.Consumer(self.settings(
                group_id="none", enable_auto_commit=False))))

        def side(number, which):
            # get_watermark_offsets() may wait for ever where a leader dies.
            asked, = looker.offsets_for_times([confluent_kafka.TopicPartition(
                topic, number, which)], LOOK_S)
            if asked.error is not None:
                raise confluent_kafka.KafkaException(asked.error)
            if asked.offset < 0:  # nobody has answered
                raise confluent_kafka.KafkaException(
                    confluent_kafka.KafkaError._TIMED_OUT)
            return asked.offset

        def found(number):
            try:
                return (side(number, confluent_kafka.OFFSET_BEGINNING),
                        side(number, confluent_kafka.OFFSET_END))
            except confluent_kafka.KafkaException:
                return None  # another node is about to lead it
        return {n: eventually(lambda n=n: found(n), f"{topic} has ends",
                              START_S)
                for n in self.partitions(topic)}

    # --- groups ------------------------------------------------------------

    def wire_to_leader(self, topic, partition):
        number = eventually(lambda: self.leader_number(topic, partition),
                            f"{topic} has a leader")
        broker = self.metadata(self.admin, topic).brokers[number]
        return Wire(broker.host, broker.port)

    def coordinator_number(self, group):
        with self.wire_to_coordinator(group) as wire:
            port = wire.port
        return next(n.number for n in self.nodes if n.port == port)

    def wire_to_coordinator(self, group):
        """A connection to the node that coordinates the group."""
        def found():
            for address in self.addresses:
                host, _, port = address.rpartition(":")
                try:
                    with Wire(host, int(port)) as wire:
                        return wire.coordinator(group)
                except OSError:
                    continue
            return None
        return Wire(*eventually(found, f"{group} has a coordinator"))

    def on_coordinator(self, group, act):
        """The value of act(connection), once the coordinator can."""
        def done():
            try:
                with self.wire_to_coordinator(group) as wire:
                    return [act(wire)]
            except KafkaError as error:
                if not error.passes:
                    raise
            except OSError:
                pass
            return None
        return eventually(done, f"the coordinator of {group} answers")[0]

    def committed(self, group, topic):
        """By partition, (offset, metadata); only those that have one."""
        numbers = self.partitions(topic)
        found = self.on_coordinator(
            group, lambda w: w.committed(group, topic, numbers))
        return {n: pair for n, pair in found.items() if pair[0] >= 0}

    def commit(self, group, topic, offsets):
        """Sets a group that has no members: {partition: offset} or
        {partition: (offset, metadata)}."""
        pairs = {n: o if isinstance(o, tuple) else (o, "")
                 for n, o in offsets.items()}
        self.on_coordinator(group, lambda w: w.commit(group, topic, pairs))

    def delete_group(self, group):
        """A group without members."""
        self.on_coordinator(group, lambda w: w.delete_group(group))

    def group(self, group):
        """Its state ("Stable", "Empty", "Dead", …), and of each member its
        client id and what it has: [(name, {topic: [partition, …]}), …]."""
        return self.on_coordinator(group, lambda w: w.describe(group))

    def wait_members(self, group, count, timeout=PATIENCE):
        """Waits until so many share the group, and nothing moves."""
        def settled():
            state, members = self.group(group)
            return len(members) == count and (
                state == "Stable" or count == 0)
        eventually(settled, f"{group} has {count} members", timeout)


class Kafka(KafkaClient):
    """addresses is what a broker's "kafka" says."""

    doors = {}  # ports besides, by their listeners' names: of a single node

    def __init__(self, nodes=1, words=(), java=JAVA, **settings):
        """words: in front of each node's command; settings: of each, "_" for
        "."."""
        self.jars = jars()
        self.words, self.java = words, java
        self.node_settings = {name.replace("_", "."): value
                              for name, value in settings.items()}
        self.cluster = base64.urlsafe_b64encode(
            random.randbytes(16)).decode().rstrip("=")
        ports = free_ports(2 * nodes)
        self.nodes = []
        for number in range(1, nodes + 1):
            self.nodes.append(Node(self, number, ports.pop(), ports.pop()))
        super().__init__([node.address for node in self.nodes])
        self.start()

    def start(self):
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait_started()

    def leader(self, topic, partition=0):
        """The node that leads a partition."""
        number = eventually(
            lambda: self.leader_number(topic, partition),
            f"{topic} has a leader")
        return self.nodes[number - 1]

    def coordinator(self, group):
        """The node that coordinates a group."""
        with self.wire_to_coordinator(group) as wire:
            port = wire.port
        return next(node for node in self.nodes if node.port == port)

    def freeze(self):
        for node in self.nodes:
            node.freeze()

    def thaw(self):
        for node in self.nodes:
            node.thaw()

    def kill(self):
        for node in self.nodes:
            node.kill()

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        for node in self.nodes:
            node.kill()
            drop_folder(node.folder)


class Quiet:
    """What clients of tests have to say of nodes that were killed."""

    def log(self, *_args, **_more):
        pass


QUIET = Quiet()


def read_to_ends(consumer, left):
    """What it reads until it has come to the end of all partitions left."""
    end = confluent_kafka.KafkaError._PARTITION_EOF
    records = []
    while left:
        message = consumer.poll(START_S)
        assert message is not None, f"partitions {left} have no end"
        if message.error() is None:
            records.append(Record(
                message.partition(), message.offset(), message.key(),
                message.value(), message.headers() or [],
                message.timestamp()[1]))
        else:
            assert message.error().code() == end, message.error()
            left.discard(message.partition())
    return records


def lines(settings):
    """A file of properties."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())
