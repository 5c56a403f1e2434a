# SPDX-License-Identifier: BSD-2-Clause
"""What stands in a topic of Kafka and cannot be read."""

from once import tap
from once.gateway import is_without
from once.tap import equal, test
from once.topics import Topic, topic_source


@test
def nothing_behind_what_cannot_be_read_is_executed_or_committed(bench):
    kafka, upstream = bench.mock_kafka(), bench.upstream()
    topic = Topic(kafka, partitions=2)
    config = bench.config(upstream)
    topic_source(config, topic, settings={"check.crcs": "true"})
    gateway = bench.serve(config)
    topic.add({"n": 1}, partition=0)
    gateway.wait_for_log("message", outcome="executed")
    with kafka.wire_to_leader(topic.name, 0) as wire:
        wire.produce_odd(topic.name, 0, 2)
    refused = gateway.wait_for_log("source_refused")
    assert "CRC32C" in refused["error"], refused
    topic.add({"n": 3}, partition=1)
    gateway.wait_until(
        lambda: len(gateway.find_log("message")) == 2, "another partition")
    gateway.stop()
    equal([r.body for r in upstream.requests], [b'{"n": 1}', b'{"n": 3}'])
    equal(topic.committed(), {0: 1, 1: 1})


if is_without("kafka"):
    print("1..0 # SKIP built without Kafka")
else:
    tap.main()
