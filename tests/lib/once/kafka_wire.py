# SPDX-License-Identifier: BSD-2-Clause
"""Requests to a Kafka that Debian's client does not have: committed offsets
with their metadata, groups, records deleted.  Kafka's protocol, old versions
without tagged fields."""

import socket
import struct

from .wait import PATIENCE

PRODUCE, DELETE_RECORDS, OFFSET_COMMIT, OFFSET_FETCH = 0, 21, 8, 9
FIND_COORDINATOR, DESCRIBE_GROUPS, DELETE_GROUPS = 10, 15, 42
NO_GENERATION = -1
NOT_COORDINATOR = 16


class KafkaError(OSError):
    """A request was refused; code is Kafka's number."""

    def __init__(self, words, code):
        super().__init__(f"{words}: Kafka's error {code}")
        self.code = code

    @property
    def passes(self):
        """The coordinator is about to be there, or elsewhere."""
        return self.code in (14, 15, NOT_COORDINATOR)


def check(words, code):
    if code:
        raise KafkaError(words, code)


def text(value):
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        found = self.data[self.at:self.at + count]
        self.at += count
        return found

    def number(self, form):
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def int16(self):
        return self.number("h")

    def int32(self):
        return self.number("i")

    def int64(self):
        return self.number("q")

    def text(self):
        """None where it is null."""
        count = self.int16()
        return None if count < 0 else self.take(count).decode()

    def data32(self):
        return self.take(max(0, self.int32()))

    def array(self, one):
        """What one() reads, so many times."""
        return [one() for _ in range(self.int32())]


def crc32c(data):
    """As Kafka's batches of records have it."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def batch(offset, wrong):
    """Of one record, whose value is {}; wrong: of its checksum."""
    record = b"\0\0\0\1\4{}\0"
    rest = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + bytes(
        [2 * len(record)]) + record
    rest = struct.pack(">ibI", -1, 2, crc32c(rest) ^ wrong) + rest
    return struct.pack(">qi", offset, len(rest)) + rest


class Wire:
    """A connection to one node."""

    def __init__(self, host, port):
        self.host, self.port = host, port
        self.number = 0
        self.sock = socket.create_connection((host, port), PATIENCE)
        self.file = self.sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.sock.close()

    def ask(self, kind, version, body):
        """A Reader of the answer."""
        self.number += 1
        head = struct.pack(">hhi", kind, version, self.number) + text("test")
        self.sock.sendall(struct.pack(">i", len(head + body)) + head + body)
        return Reader(self.answer())

    def answer(self):
        size = self.file.read(4)
        if len(size) < 4:
            raise ConnectionError("the node closed the connection")
        data = self.file.read(struct.unpack(">i", size)[0])
        number, = struct.unpack(">i", data[:4])
        assert number == self.number, (number, self.number)
        return data[4:]

    # --- groups ------------------------------------------------------------

    def coordinator(self, group):
        """(host, port) of the node that coordinates the group; None: there is
        none now."""
        got = self.ask(FIND_COORDINATOR, 0, text(group))
        if got.int16():
            return None
        got.int32()
        return got.text(), got.int32()

    def committed(self, group, topic, partitions):
        """By partition, (offset, metadata); an offset below 0: none."""
        got = self.ask(OFFSET_FETCH, 1, text(group) + array([
            text(topic) + array([struct.pack(">i", n) for n in partitions])]))
        found = {}

        def one_partition():
            number, offset, metadata = got.int32(), got.int64(), got.text()
            check(f"offset of {topic} {number}", got.int16())
            found[number] = (offset, metadata)
        got.array(lambda: (got.text(), got.array(one_partition)))
        # A node that does not coordinate the group tells of none at all.
        check(f"offsets of {topic}", NOT_COORDINATOR
              if len(found) < len(partitions) else 0)
        return found

    def commit(self, group, topic, pairs, generation=NO_GENERATION,
               member=""):
        """pairs: by partition, (offset, metadata)."""
        got = self.ask(OFFSET_COMMIT, 2, text(group) + struct.pack(
            ">i", generation) + text(member) + struct.pack(">q", -1) + array([
                text(topic) + array([
                    struct.pack(">iq", number, offset) + text(metadata)
                    for number, (offset, metadata) in pairs.items()])]))
        got.array(lambda: (got.text(), got.array(
            lambda: check(f"commit of {topic} {got.int32()}", got.int16()))))

    def describe(self, group):
        """Its state, and by client id what each member has: a list of
        (client id, {topic: [partition, …]})."""
        got = self.ask(DESCRIBE_GROUPS, 0, array([text(group)]))
        found = []

        def one_member():
            got.text()
            name = got.text()
            got.text()
            got.data32()
            found.append((name, assignment(got.data32())))

        def one_group():
            check(f"describe {group}", got.int16())
            got.text()
            state = got.text()
            got.text()
            got.text()
            got.array(one_member)
            return state
        return got.array(one_group)[0], found

    def delete_group(self, group):
        got = self.ask(DELETE_GROUPS, 0, array([text(group)]))
        got.int32()
        got.array(lambda: check(f"delete {got.text()}", got.int16()))

    # --- records -----------------------------------------------------------

    def produce_odd(self, topic, partition, offset):
        """Two records, of which the first has a wrong checksum, and the second
        that offset; the node must lead the partition, and not look at them."""
        records = batch(0, 1) + batch(offset, 0)
        got = self.ask(PRODUCE, 3, struct.pack(">hhi", -1, -1, 10000) + array([
            text(topic) + array([
                struct.pack(">ii", partition, len(records)) + records])]))

        def one_partition():
            number, code = got.int32(), got.int16()
            check(f"produce to {topic} {number}", code)
            got.int64()
            got.int64()
        got.array(lambda: (got.text(), got.array(one_partition)))

    def delete_records(self, topic, partition, before):
        """The node must lead the partition."""
        got = self.ask(DELETE_RECORDS, 0, array([
            text(topic) + array([struct.pack(">iq", partition, before)])])
            + struct.pack(">i", int(PATIENCE * 1000)))
        got.int32()

        def one_partition():
            got.int32()
            got.int64()
            check(f"delete records of {topic}", got.int16())
        got.array(lambda: (got.text(), got.array(one_partition)))


def assignment(data):
    """{topic: [partition, …]} of what a member was assigned."""
    if not data:
        return {}
    got = Reader(data)
    got.int16()
    return dict(got.array(lambda: (got.text(), got.array(got.int32))))
