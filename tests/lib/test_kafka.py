# SPDX-License-Identifier: BSD-2-Clause
"""The tests' own Kafka does what they need of it."""

from once.kafka import confluent_kafka
from once.kafka_mock import DISCONNECT
from once.kafka_wire import KafkaError
from once.tap import equal, main, test
from once.wait import eventually

MESSAGE_TOO_LARGE = 10


@test
def what_is_produced_is_consumed_with_all_its_members(bench):
    kafka = bench.kafka
    topic = kafka.topic("members", 3)
    equal(kafka.partitions(topic), [0, 1, 2])
    equal(kafka.produce(topic, b"v", key=b"k", partition=1, timestamp=5000,
                        headers=[("a", b"1"), ("b", None)]), [(1, 0)])
    equal(kafka.produce(topic, b"w", None, partition=1), [(1, 1), (1, 2)])
    records = kafka.consume(topic)
    equal([tuple(r)[:3] for r in records],
          [(1, 0, b"k"), (1, 1, None), (1, 2, None)])
    equal((records[0].value, records[0].headers, records[0].timestamp),
          (b"v", [("a", b"1"), ("b", None)], 5000))
    equal((records[0].header("a"), records[0].header("z"),
           records[2].value), ("1", None, None))


@test
def only_committed_transactions_are_seen_by_those_who_ask_for_them(bench):
    kafka = bench.kafka
    topic = kafka.topic("transactions")
    producer = confluent_kafka.Producer(kafka.settings(transactional_id="t"))
    producer.init_transactions(20)
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce(topic, end.__name__.encode())
        producer.flush(20)
        equal(len(kafka.consume(topic, False)) > len(kafka.consume(topic)),
              True)
        end(20)
    equal([r.value for r in kafka.consume(topic)], [b"commit_transaction"])
    equal(len(kafka.consume(topic, committed=False)), 2)


@test
def offsets_are_committed_with_metadata_and_reset(bench):
    kafka = bench.kafka
    topic = kafka.topic("offsets", 2)
    equal(kafka.committed("offsets", topic), {})
    kafka.commit("offsets", topic, {0: (7, "what is done"), 1: 3})
    equal(kafka.committed("offsets", topic),
          {0: (7, "what is done"), 1: (3, "")})
    kafka.commit("offsets", topic, {0: 0})
    equal(kafka.committed("offsets", topic)[0], (0, ""))
    kafka.delete_group("offsets")
    equal(kafka.committed("offsets", topic), {})


@test
def a_group_shows_its_members_and_refuses_strangers(bench):
    kafka = bench.kafka
    topic = kafka.topic("groups", 2)
    kafka.produce(topic, b"v", partition=0)
    consumer = confluent_kafka.Consumer(kafka.settings(
        group_id="groups", client_id="me", auto_offset_reset="earliest"))
    consumer.subscribe([topic])
    eventually(lambda: consumer.poll(0.1), "a message")
    kafka.wait_members("groups", 1)
    equal(kafka.group("groups"), ("Stable", [("me", {topic: [0, 1]})]))
    try:
        kafka.commit("groups", topic, {0: 0})
        raise AssertionError("a stranger committed")
    except KafkaError as error:
        equal(error.code, 25)  # UNKNOWN_MEMBER_ID
    consumer.close()
    kafka.wait_members("groups", 0)


@test
def topics_are_deleted_and_made_again_and_grow_and_shrink(bench):
    kafka = bench.kafka
    topic = kafka.topic("again")
    kafka.produce(topic, b"a", b"b", b"c")
    kafka.delete_before(topic, 0, 2)
    equal([(r.offset, r.value) for r in kafka.consume(topic)], [(2, b"c")])
    kafka.delete_topic(topic)
    kafka.topic(topic)
    equal(kafka.consume(topic), [])
    equal(kafka.produce(topic, b"d"), [(0, 0)])
    kafka.more_partitions(topic, 2)
    equal(kafka.produce(topic, b"e", partition=1), [(1, 0)])


@test
def it_freezes_dies_and_comes_back_on_its_port_with_its_data(bench):
    kafka = bench.own_kafka()
    topic = kafka.topic("durable")
    kafka.produce(topic, b"a")
    kafka.freeze()
    kafka.thaw()
    kafka.produce(topic, b"b")
    before = kafka.addresses
    kafka.restart()
    equal(kafka.addresses, before)
    kafka.produce(topic, b"c")
    equal([r.value for r in kafka.consume(topic)], [b"a", b"b", b"c"])


@test
def of_three_nodes_another_takes_over(bench):
    kafka = bench.own_kafka(3)
    topic = kafka.topic("replicated")
    kafka.produce(topic, b"a")
    kafka.commit("group", topic, {0: 1})
    first = kafka.leader(topic)
    first.kill()
    eventually(lambda: kafka.leader(topic) is not first, "another leads")
    kafka.produce(topic, b"b")
    equal([r.value for r in kafka.consume(topic)], [b"a", b"b"])
    equal(kafka.committed("group", topic), {0: (1, "")})
    first.start()
    second = kafka.leader(topic)
    second.kill()
    eventually(lambda: kafka.leader(topic) is not second, "another leads")
    equal([r.value for r in kafka.consume(topic)], [b"a", b"b"])


@test
def the_pretended_one_keeps_records_and_offsets(bench):
    kafka = bench.mock_kafka(3)
    topic = kafka.topic("charges", 2)
    equal(kafka.produce(topic, b"v", key=b"k", partition=1, timestamp=5000,
                        headers=[("a", b"1")]), [(1, 0)])
    record, = kafka.consume(topic)
    equal((record.partition, record.offset, record.key, record.value,
           record.headers, record.timestamp),
          (1, 0, b"k", b"v", [("a", b"1")], 5000))
    kafka.commit("group", topic, {1: (1, "what is done")})
    equal(kafka.committed("group", topic), {1: (1, "what is done")})


@test
def the_pretended_one_fails_as_it_is_told(bench):
    kafka = bench.mock_kafka(2)
    topic = kafka.topic("charges")
    kafka.move_leader(topic, 0, 2)
    equal(kafka.leader_number(topic), 2)
    kafka.fail("Produce", MESSAGE_TOO_LARGE)
    try:
        kafka.produce(topic, b"a")
        raise AssertionError("it did not fail")
    except AssertionError as error:
        assert "MSG_SIZE_TOO_LARGE" in str(error), error
    kafka.fail("Produce", DISCONNECT, DISCONNECT)
    kafka.fail_at(2, "Fetch", (0, 20), (0, 10))
    kafka.produce(topic, b"b")
    equal([r.value for r in kafka.consume(topic)], [b"b"])
    kafka.move_coordinator("group", 1)
    kafka.commit("group", topic, {0: 1})
    kafka.move_coordinator("group", 2)
    equal(kafka.committed("group", topic), {0: (1, "")})
    kafka.down(2)
    kafka.up(2)
    kafka.delay(2, 5)
    kafka.produce(topic, b"c")


main()
