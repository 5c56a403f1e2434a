# SPDX-License-Identifier: BSD-2-Clause
"""A Kafka that is only pretended, by librdkafka's own mock cluster in a thread
of the test: groups, rebalances, errors and delays at will, without Java.  What
it does not have (transactions that take effect, groups that are described or
deleted, static members) is for once/kafka.py."""

import ctypes

from .kafka import KafkaClient
from .skip import Skip

PRODUCER = 0
# By their names, the requests that can fail (Kafka's ApiKeys).
REQUESTS = {
    "Produce": 0, "Fetch": 1, "ListOffsets": 2, "Metadata": 3,
    "OffsetCommit": 8, "OffsetFetch": 9, "FindCoordinator": 10,
    "JoinGroup": 11, "Heartbeat": 12, "LeaveGroup": 13, "SyncGroup": 14,
    "InitProducerId": 22, "AddPartitionsToTxn": 24, "AddOffsetsToTxn": 25,
    "EndTxn": 26, "TxnOffsetCommit": 28}
# And Kafka's error codes; a negative one of librdkafka closes the connection.
DISCONNECT = -195


def library():
    try:
        lib = ctypes.CDLL("librdkafka.so.1")
    except OSError:
        raise Skip("there is no librdkafka.so.1") from None
    for name in ("rd_kafka_conf_new", "rd_kafka_new",
                 "rd_kafka_mock_cluster_new"):
        getattr(lib, name).restype = ctypes.c_void_p
    lib.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return lib


class MockKafka(KafkaClient):
    """addresses is what a broker's "kafka" says.  Nodes have numbers from
    1."""

    def __init__(self, nodes=1):
        self.lib = library()
        words = ctypes.create_string_buffer(512)
        size = ctypes.c_size_t(len(words))
        conf = ctypes.c_void_p(self.lib.rd_kafka_conf_new())
        self.lib.rd_kafka_conf_set(conf, b"log_level", b"0", words, size)
        self.handle = ctypes.c_void_p(self.lib.rd_kafka_new(
            PRODUCER, conf, words, size))
        assert self.handle, words.value
        self.cluster = ctypes.c_void_p(
            self.lib.rd_kafka_mock_cluster_new(self.handle, nodes))
        assert self.cluster
        super().__init__(self.lib.rd_kafka_mock_cluster_bootstraps(
            self.cluster).decode().split(","))
        self.nodes = nodes

    def call(self, name, *args):
        """Strings and numbers only."""
        error = getattr(self.lib, "rd_kafka_mock_" + name)(
            self.cluster, *[ctypes.c_char_p(a.encode()) if isinstance(a, str)
                            else ctypes.c_int32(a) for a in args])
        assert error == 0, f"{name}{args}: error {error}"

    def topic(self, name, partitions=1, replicas=None, **_settings):
        self.call("topic_create", name, partitions, replicas or self.nodes)
        self.wait_partitions(name, partitions)
        return name

    def down(self, node):
        """Its connections are closed, and no new ones taken."""
        self.call("broker_set_down", node)

    def up(self, node):
        self.call("broker_set_up", node)

    def delay(self, node, ms):
        """Each answer of the node takes so long."""
        self.call("broker_set_rtt", node, ms)

    def move_leader(self, topic, partition, node):
        self.call("partition_set_leader", topic, partition, node)

    def move_coordinator(self, name, node, kind="group"):
        """kind: or "transaction"."""
        self.call("coordinator_set", kind, name, node)

    def fail(self, request, *errors):
        """The next requests of that name are answered with these errors, one
        each."""
        self.lib.rd_kafka_mock_push_request_errors_array(
            self.cluster, ctypes.c_int16(REQUESTS[request]),
            ctypes.c_size_t(len(errors)),
            (ctypes.c_int * len(errors))(*errors))

    def fail_at(self, node, request, *pairs):
        """The same at one node; pairs: (error, ms that the answer takes)."""
        self.call("broker_push_request_error_rtts", node, REQUESTS[request],
                  len(pairs), *[n for pair in pairs for n in pair])

    def stop(self):
        self.lib.rd_kafka_mock_cluster_destroy(self.cluster)
        self.lib.rd_kafka_destroy(self.handle)
